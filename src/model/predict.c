/* Predicting from file to file, a wave of rows at a time. */
#include <math.h>

#include "base/parallel.h"
#include "io/npy.h"
#include "model/model.h"

enum { WAVE = 4096 }; /* points in memory at once */

typedef struct predicting {
    const surety_model *model;
    surety_npy in;
    surety_npy_writer *out, *votes_out;
    size_t points, d;
    float *x, *outputs; /* (WAVE, d), (WAVE, H) */
    double *votes;      /* (WAVE) */
} predicting;

static surety_status read_wave(predicting *p, const char *input, size_t first, size_t count,
                               surety_error *err) {
    surety_status status = surety_npy_read_floats(&p->in, first * p->d, count * p->d, p->x, err);
    if (status != SURETY_OK) {
        surety_fail_file(err, input);
        return status;
    }
    for (size_t i = 0; i < count * p->d; i++)
        if (!isfinite(p->x[i])) {
            surety_fail(err, SURETY_E_INPUT, "feature %zu is not a finite number", i % p->d);
            surety_fail_place(err, "row %zu", first + i / p->d);
            surety_fail_file(err, input);
            return SURETY_E_INPUT;
        }
    return SURETY_OK;
}

static surety_status predict_wave(predicting *p, const surety_vote *vote, size_t count,
                                  surety_predict_result *r, const surety_run *run, surety_error *err) {
    size_t H = surety_voters_count(vote->voters);
    SURETY_TRY(surety_vote_predict(vote, p->x, p->d, count, p->votes, run, err));
    for (size_t i = 0; i < count; i++) {
        r->positive += p->votes[i] > 0;
        r->tied += p->votes[i] == 0;
        r->vote_min = fmin(r->vote_min, p->votes[i]);
        r->vote_max = fmax(r->vote_max, p->votes[i]);
    }
    SURETY_TRY(surety_npy_writer_append(p->out, p->votes, count, err));
    if (!p->votes_out) return SURETY_OK;
    SURETY_TRY(surety_voters_outputs(vote->voters, p->x, p->d, count, p->outputs, run, err));
    return surety_npy_writer_append(p->votes_out, p->outputs, count * H, err);
}

static surety_status check_input(predicting *p, const char *input, surety_predict_result *r,
                                 surety_error *err) {
    size_t d = surety_voters_features(p->model->voters);
    SURETY_TRY(surety_npy_stream(&p->in, input, err));
    if ((p->in.ndim != 2 && p->in.ndim != 3) || p->in.shape[p->in.ndim - 1] != d || !p->in.count) {
        surety_fail(err, SURETY_E_INPUT, "the array has another shape: %d axes, the last of length %zu",
                    p->in.ndim, p->in.ndim ? p->in.shape[p->in.ndim - 1] : 0);
        surety_fail_file(err, input);
        surety_fail_expected(err, "(m, %zu) or (m, n, %zu), m at least 1: the model has %zu features", d, d,
                             d);
        return SURETY_E_INPUT;
    }
    p->d = d;
    p->points = p->in.count / d;
    r->m = p->in.shape[0];
    r->n = p->in.ndim == 3 ? p->in.shape[1] : 1;
    return SURETY_OK;
}

static surety_status predict(predicting *p, surety_weighting weighting, const char *input, const char *out,
                             const char *votes_out, surety_predict_result *r, const surety_run *run,
                             surety_error *err) {
    surety_vote vote = surety_model_vote(p->model, weighting);
    size_t H = surety_voters_count(vote.voters);
    SURETY_TRY(check_input(p, input, r, err));
    int axes = p->in.ndim - 1;
    size_t shape[3] = {r->m, axes == 2 ? r->n : H, H};
    SURETY_TRY(surety_alloc(&p->x, WAVE * p->d, sizeof *p->x, err));
    SURETY_TRY(surety_alloc(&p->outputs, WAVE * H, sizeof *p->outputs, err));
    SURETY_TRY(surety_alloc(&p->votes, WAVE, sizeof *p->votes, err));
    SURETY_TRY(surety_npy_writer_open(&p->out, out, SURETY_F8, axes, shape, err));
    if (votes_out)
        SURETY_TRY(surety_npy_writer_open(&p->votes_out, votes_out, SURETY_F4, axes + 1, shape, err));
    for (size_t first = 0; first < p->points; first += WAVE) {
        size_t count = p->points - first < WAVE ? p->points - first : WAVE;
        SURETY_TRY(surety_stopped(run, err));
        SURETY_TRY(read_wave(p, input, first, count, err));
        SURETY_TRY(predict_wave(p, &vote, count, r, run, err));
        surety_report(run, "predict", first + count, p->points, "");
    }
    surety_npy_writer *done = p->out, *votes_done = p->votes_out;
    p->out = p->votes_out = NULL; /* commit frees them in every case */
    surety_status status = surety_npy_writer_commit(done, err);
    if (status != SURETY_OK)
        surety_npy_writer_abort(votes_done);
    else if (votes_done)
        status = surety_npy_writer_commit(votes_done, err);
    return status;
}

surety_status surety_model_predict(const surety_model *model, surety_weighting weighting, const char *input,
                                   const char *out, const char *votes_out, surety_predict_result *result,
                                   const surety_run *run, surety_error *err) {
    predicting p = {.model = model};
    *result = (surety_predict_result){.vote_min = 1, .vote_max = -1};
    surety_status status = predict(&p, weighting, input, out, votes_out, result, run, err);
    surety_npy_writer_abort(p.out);
    surety_npy_writer_abort(p.votes_out);
    surety_npy_close(&p.in);
    surety_free(p.x);
    surety_free(p.outputs);
    surety_free(p.votes);
    return status;
}

char *surety_predict_result_json(const surety_predict_result *r) {
    return surety_json_text(SURETY_JSON_OBJECT(
        {"m", surety_json_count(r->m)}, {"n", surety_json_count(r->n)},
        {"positive", surety_json_count(r->positive)}, {"tied", surety_json_count(r->tied)},
        {"vote_min", surety_json_real(r->vote_min)}, {"vote_max", surety_json_real(r->vote_max)}));
}
