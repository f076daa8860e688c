/* Predicting from file to file, a wave of rows at a time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "io/csv.h"
#include "io/npy.h"
#include "model/model.h"

enum { WAVE = 4096 }; /* points in memory at once */

typedef struct predicting {
    const surety_model *model;
    surety_npy in;
    surety_npy_writer *out, *votes_out, *scores_out;
    surety_writer *classes_out;
    size_t points, d, width, columns; /* columns: raw scores, or 0 */
    surety_element score_type;
    int missing;        /* may be NaN */
    float *x, *outputs; /* (WAVE, d), (WAVE, H, width) */
    double *votes;      /* (WAVE, width) */
    uint8_t *classes;   /* (WAVE) */
    double *scores;     /* (WAVE, columns) */
} predicting;

static surety_status read_wave(predicting *p, const char *input, size_t first, size_t count,
                               surety_error *err) {
    surety_status status = surety_npy_read_floats(&p->in, first * p->d, count * p->d, p->x, err);
    if (status != SURETY_OK) {
        surety_fail_file(err, input);
        return status;
    }
    for (size_t i = 0; i < count * p->d; i++)
        if (!isfinite(p->x[i]) && !(p->missing && isnan(p->x[i]))) {
            surety_fail(err, SURETY_E_INPUT, "feature %zu is not a finite number", i % p->d);
            surety_fail_place(err, "row %zu", first + i / p->d);
            surety_fail_file(err, input);
            return SURETY_E_INPUT;
        }
    return SURETY_OK;
}

/* The answers of points first, first + 1, .., each behind a line end. */
static surety_status write_classes(predicting *p, size_t first, size_t count, const surety_predict_result *r,
                                   surety_error *err) {
    for (size_t i = 0; i < count; i++) {
        char place[64], number[4];
        size_t row = (first + i) / r->n, point = (first + i) % r->n;
        int length = p->in.ndim == 3 ? snprintf(place, sizeof place, "\n%zu,%zu,", row, point)
                                     : snprintf(place, sizeof place, "\n%zu,", row);
        SURETY_TRY(surety_writer_append(p->classes_out, place, (size_t)length, err));
        uint8_t k = p->classes[i];
        const char *name = k == SURETY_TIED ? "tied" : surety_model_class(p->model, k, number);
        SURETY_TRY(surety_csv_field(p->classes_out, name, err));
    }
    return SURETY_OK;
}

/* In their own type: floats are written as floats. */
static surety_status write_scores(predicting *p, const surety_voters *v, size_t count, const surety_run *run,
                                  surety_error *err) {
    SURETY_TRY(surety_voters_score(v, p->x, p->d, count, p->scores, run, err));
    if (p->score_type == SURETY_ELEMENT_F64)
        return surety_npy_writer_append(p->scores_out, p->scores, count * p->columns, err);
    for (size_t i = 0; i < count * p->columns; i++) {
        float score = (float)p->scores[i];
        SURETY_TRY(surety_npy_writer_append(p->scores_out, &score, 1, err));
    }
    return SURETY_OK;
}

static surety_status predict_wave(predicting *p, const surety_vote *vote, size_t first, size_t count,
                                  surety_predict_result *r, const surety_run *run, surety_error *err) {
    size_t each = surety_voters_count(vote->voters) * p->width;
    SURETY_TRY(surety_vote_ask(vote, p->x, p->d, count, p->votes, p->classes, run, err));
    for (size_t i = 0; i < count; i++)
        ++*(p->classes[i] == SURETY_TIED ? &r->tied : &r->chosen[p->classes[i]]);
    for (size_t i = 0; i < count * p->width; i++) {
        r->vote_min = fmin(r->vote_min, p->votes[i]);
        r->vote_max = fmax(r->vote_max, p->votes[i]);
    }
    if (p->out) SURETY_TRY(surety_npy_writer_append(p->out, p->votes, count * p->width, err));
    if (p->classes_out) SURETY_TRY(write_classes(p, first, count, r, err));
    if (p->scores_out) SURETY_TRY(write_scores(p, vote->voters, count, run, err));
    if (!p->votes_out) return SURETY_OK;
    SURETY_TRY(surety_voters_outputs(vote->voters, p->x, p->d, count, p->outputs, run, err));
    return surety_npy_writer_append(p->votes_out, p->outputs, count * each, err);
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

/* All files that are wanted, so that a full disk or a bad path is known before the work. */
static surety_status open_files(predicting *p, const surety_predict_files *files,
                                const surety_predict_result *r, surety_error *err) {
    size_t H = surety_voters_count(p->model->voters), shape[4] = {r->m, r->n};
    int axes = p->in.ndim - 1, wide = p->width > 1;
    const char *heading = axes == 2 ? "row,point,class" : "row,class";
    shape[axes] = p->width;
    if (files->out)
        SURETY_TRY(surety_npy_writer_open(&p->out, files->out, SURETY_F8, axes + wide, shape, err));
    shape[axes] = H, shape[axes + 1] = p->width;
    if (files->votes)
        SURETY_TRY(
            surety_npy_writer_open(&p->votes_out, files->votes, SURETY_F4, axes + 1 + wide, shape, err));
    shape[axes] = p->columns;
    if (files->scores)
        SURETY_TRY(surety_npy_writer_open(&p->scores_out, files->scores,
                                          p->score_type == SURETY_ELEMENT_F64 ? SURETY_F8 : SURETY_F4,
                                          axes + (p->columns > 1), shape, err));
    if (!files->classes) return SURETY_OK;
    SURETY_TRY(surety_writer_open(&p->classes_out, files->classes, 0, err));
    return surety_writer_append(p->classes_out, heading, strlen(heading), err);
}

/* The vote last: without it the others look unfinished. Commit frees in every case. */
static surety_status commit(predicting *p, surety_error *err) {
    surety_npy_writer *out = p->out, *votes = p->votes_out, *scores = p->scores_out;
    surety_writer *classes = p->classes_out;
    if (classes) {
        SURETY_TRY(surety_writer_append(classes, "\n", 1, err));
        p->classes_out = NULL;
        SURETY_TRY(surety_writer_commit(classes, err));
    }
    p->votes_out = NULL;
    if (votes) SURETY_TRY(surety_npy_writer_commit(votes, err));
    p->scores_out = NULL;
    if (scores) SURETY_TRY(surety_npy_writer_commit(scores, err));
    p->out = NULL;
    return out ? surety_npy_writer_commit(out, err) : SURETY_OK;
}

static surety_status predict(predicting *p, surety_weighting weighting, const surety_predict_files *files,
                             surety_predict_result *r, const surety_run *run, surety_error *err) {
    surety_vote vote = surety_model_vote(p->model, weighting);
    size_t each = surety_voters_count(vote.voters) * p->width;
    SURETY_TRY(check_input(p, files->input, r, err));
    SURETY_TRY(surety_alloc(&p->x, WAVE * p->d, sizeof *p->x, err));
    SURETY_TRY(surety_alloc(&p->outputs, files->votes ? WAVE * each : 1, sizeof *p->outputs, err));
    SURETY_TRY(surety_alloc(&p->votes, WAVE * p->width, sizeof *p->votes, err));
    SURETY_TRY(surety_alloc(&p->classes, WAVE, sizeof *p->classes, err));
    if (files->scores) SURETY_TRY(surety_voters_need(vote.voters, SURETY_CAN_SCORE, "--scores", err));
    p->missing = surety_voters_can(vote.voters, SURETY_CAN_MISS);
    p->columns = surety_voters_columns(vote.voters, &p->score_type);
    SURETY_TRY(surety_alloc(&p->scores, WAVE * p->columns, sizeof *p->scores, err));
    SURETY_TRY(open_files(p, files, r, err));
    for (size_t first = 0; first < p->points; first += WAVE) {
        size_t count = p->points - first < WAVE ? p->points - first : WAVE;
        SURETY_TRY(surety_stopped(run, err));
        SURETY_TRY(read_wave(p, files->input, first, count, err));
        SURETY_TRY(predict_wave(p, &vote, first, count, r, run, err));
        surety_report(run, "predict", first + count, p->points, "");
    }
    return commit(p, err);
}

surety_status surety_model_predict(const surety_model *model, surety_weighting weighting,
                                   const surety_predict_files *files, surety_predict_result *result,
                                   const surety_run *run, surety_error *err) {
    predicting p = {.model = model, .width = surety_voters_width(model->voters)};
    *result = (surety_predict_result){.vote_min = 1, .vote_max = -1};
    surety_status status = predict(&p, weighting, files, result, run, err);
    surety_npy_writer_abort(p.out);
    surety_npy_writer_abort(p.votes_out);
    surety_npy_writer_abort(p.scores_out);
    surety_writer_abort(p.classes_out);
    surety_npy_close(&p.in);
    surety_free(p.x);
    surety_free(p.outputs);
    surety_free(p.votes);
    surety_free(p.classes);
    surety_free(p.scores);
    return status;
}

static json_t *chosen_json(const surety_predict_result *r, const surety_model *m) {
    json_t *list = json_array();
    int failed = !list;
    for (size_t k = 0; k < surety_voters_classes(m->voters); k++) {
        char number[4];
        failed |= json_array_append_new(
            list, SURETY_JSON_OBJECT({"class", surety_json_string(surety_model_class(m, k, number))},
                                     {"points", surety_json_count(r->chosen[k])}));
    }
    if (failed) json_decref(list), list = NULL;
    return list;
}

char *surety_predict_result_json(const surety_predict_result *r, const surety_model *m) {
    int two = surety_voters_classes(m->voters) == 2;
    return surety_json_text(
        SURETY_JSON_OBJECT({"m", surety_json_count(r->m)}, {"n", surety_json_count(r->n)},
                           {"positive", two ? surety_json_count(r->chosen[1]) : json_null()},
                           {"tied", surety_json_count(r->tied)}, {"vote_min", surety_json_real(r->vote_min)},
                           {"vote_max", surety_json_real(r->vote_max)}, {"classes", chosen_json(r, m)}));
}
