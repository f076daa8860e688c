/* Predicting from file to file, a wave of rows at a time: an NPY input is streamed, other tables are read as
 * a whole. Votes, classes and proofs of a wave are written in the order of its rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/parallel.h"
#include "data/fit.h"
#include "io/csv.h"
#include "io/npy.h"
#include "model/model.h"
#include "voters/prove.h"

enum { WAVE = 4096 }; /* points in memory at once */

typedef struct predicting {
    const surety_model *model;
    const surety_preparation *preparation; /* the model's, or NULL */
    surety_npy in;                         /* or */
    int is_table;
    surety_table table;
    surety_preparation *plain; /* for tables, where the model has none */
    surety_binding binding;
    size_t columns; /* of the input's rows */
    float *raw;     /* (WAVE, columns) */
    surety_npy_writer *out, *votes_out, *scores_out;
    surety_writer *classes_out;
    size_t points, d, width;
    int axes;           /* of the input before its columns: rows, or rows and points */
    size_t score_count; /* raw scores of a point, or 0 */
    surety_element score_type;
    int missing;             /* may be NaN */
    float *x, *outputs;      /* (WAVE, d), (WAVE, H, width) */
    double *votes;           /* (WAVE, width) */
    uint8_t *classes;        /* (WAVE) */
    double *scores;          /* (WAVE, score_count) */
    surety_prover **provers; /* per thread, or NULL: no proofs are wanted */
    size_t threads, count;   /* count: points of this wave */
    int radii;
    surety_proof *proofs; /* (WAVE) */
} predicting;

static surety_status not_finite(const char *input, size_t row, size_t feature, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "feature %zu is not a finite number", feature);
    surety_fail_place(err, "row %zu", row);
    surety_fail_file(err, input);
    return SURETY_E_INPUT;
}

/* Columns of an array into features: all of a table's, or features in the user's units, or features as they
 * are.
 */
static surety_status prepare(predicting *p, size_t first, size_t count, surety_preparation_counts *counts,
                             surety_error *err) {
    const surety_preparation *r = p->preparation;
    surety_raw_rows rows = {.m = count, .values = p->raw, .first = first};
    if (r && p->columns == surety_preparation_columns(r))
        return surety_preparation_apply(r, &rows, p->x, p->d, counts, err);
    for (size_t i = 0; i < count && r; i++) surety_preparation_scale(r, p->raw + i * p->d, p->x + i * p->d);
    if (!r) memcpy(p->x, p->raw, count * p->d * sizeof *p->x);
    return SURETY_OK;
}

static surety_status read_wave(predicting *p, const char *input, size_t first, size_t count,
                               surety_preparation_counts *counts, surety_error *err) {
    size_t W = p->columns;
    for (size_t i = 0; i < count && p->is_table; i++)
        SURETY_TRY(surety_bound_row(&p->binding, first + i, p->x + i * p->d, counts, err));
    if (p->is_table) return SURETY_OK;
    surety_status status = surety_npy_read_floats(&p->in, first * W, count * W, p->raw, err);
    if (status != SURETY_OK) {
        surety_fail_file(err, input);
        return status;
    }
    for (size_t i = 0; i < count * W && p->in.dtype == SURETY_U1; i++)
        p->raw[i] /= 255.0f; /* as readers do */
    status = prepare(p, first, count, counts, err);
    if (status != SURETY_OK) surety_fail_file(err, input);
    int keeps = p->missing || (p->preparation && p->preparation->missing == SURETY_MISSING_KEEP);
    for (size_t i = 0; i < count * p->d && status == SURETY_OK; i++)
        if (isinf(p->x[i]) || (isnan(p->x[i]) && !keeps))
            return not_finite(input, first + i / p->d, i % p->d, err);
    return status;
}

static surety_status write_proof(predicting *p, const surety_proof *proof, surety_error *err) {
    char text[48], radius[32];
    int length = p->radii ? snprintf(text, sizeof text, ",%d,%s", proof->proved,
                                     surety_shortest(proof->radius, radius))
                          : snprintf(text, sizeof text, ",%d", proof->proved);
    return surety_writer_append(p->classes_out, text, (size_t)length, err);
}

/* The answers of points first, first + 1, .., each behind a line end. */
static surety_status write_classes(predicting *p, size_t first, size_t count, const surety_predict_result *r,
                                   surety_error *err) {
    for (size_t i = 0; i < count; i++) {
        char place[64], number[4];
        size_t row = (first + i) / r->n, point = (first + i) % r->n;
        int length = p->axes == 2 ? snprintf(place, sizeof place, "\n%zu,%zu,", row, point)
                                  : snprintf(place, sizeof place, "\n%zu,", row);
        SURETY_TRY(surety_writer_append(p->classes_out, place, (size_t)length, err));
        uint8_t k = p->classes[i];
        const char *name = k == SURETY_TIED ? "tied" : surety_model_class(p->model, k, number);
        SURETY_TRY(surety_csv_field(p->classes_out, name, err));
        if (p->provers) SURETY_TRY(write_proof(p, &p->proofs[i], err));
    }
    return SURETY_OK;
}

static surety_status prove_block(void *arg, size_t block, int thread, surety_error *err) {
    predicting *p = arg;
    size_t first = block * SURETY_BLOCK,
           rows = p->count - first < SURETY_BLOCK ? p->count - first : SURETY_BLOCK;
    (void)err;
    surety_prover_rows(p->provers[thread], p->x + first * p->d, p->d, rows, p->radii, p->proofs + first);
    return SURETY_OK;
}

static surety_status prove_wave(predicting *p, size_t count, surety_predict_result *r, const surety_run *run,
                                surety_error *err) {
    p->count = count;
    SURETY_TRY(surety_parallel(run, NULL, (count + SURETY_BLOCK - 1) / SURETY_BLOCK, prove_block, p, err));
    for (size_t i = 0; i < count; i++) r->proved += p->proofs[i].proved != 0;
    return SURETY_OK;
}

/* The ball, with the slack that features which were scaled need (surety_ball). */
static surety_status open_provers(predicting *p, const surety_vote *vote, const surety_predict_files *files,
                                  const surety_run *run, surety_error *err) {
    surety_ball ball = *files->prove;
    if (p->preparation && p->preparation->scaling != SURETY_SCALE_NONE)
        ball.slack = fmax(ball.slack, SURETY_SCALED);
    p->threads = (size_t)surety_threads(run);
    p->radii = files->radius;
    SURETY_TRY(surety_alloc(&p->proofs, WAVE, sizeof *p->proofs, err));
    SURETY_TRY(surety_alloc(&p->provers, p->threads, sizeof *p->provers, err));
    for (size_t t = 0; t < p->threads; t++)
        SURETY_TRY(surety_prover_new(vote, &ball, files->budget, &p->provers[t], err));
    return SURETY_OK;
}

/* In their own type: floats are written as floats. */
static surety_status write_scores(predicting *p, const surety_voters *v, size_t count, const surety_run *run,
                                  surety_error *err) {
    SURETY_TRY(surety_voters_score(v, p->x, p->d, count, p->scores, run, err));
    if (p->score_type == SURETY_ELEMENT_F64)
        return surety_npy_writer_append(p->scores_out, p->scores, count * p->score_count, err);
    for (size_t i = 0; i < count * p->score_count; i++) {
        float score = (float)p->scores[i];
        SURETY_TRY(surety_npy_writer_append(p->scores_out, &score, 1, err));
    }
    return SURETY_OK;
}

static surety_status predict_wave(predicting *p, const surety_vote *vote, size_t first, size_t count,
                                  surety_predict_result *r, const surety_run *run, surety_error *err) {
    size_t each = surety_voters_count(vote->voters) * p->width;
    SURETY_TRY(surety_vote_ask(vote, p->x, p->d, count, (surety_asked){p->votes, p->classes}, run, err));
    for (size_t i = 0; i < count; i++)
        ++*(p->classes[i] == SURETY_TIED ? &r->tied : &r->chosen[p->classes[i]]);
    for (size_t i = 0; i < count * p->width; i++) {
        r->vote_min = fmin(r->vote_min, p->votes[i]);
        r->vote_max = fmax(r->vote_max, p->votes[i]);
    }
    if (p->out) SURETY_TRY(surety_npy_writer_append(p->out, p->votes, count * p->width, err));
    if (p->provers) SURETY_TRY(prove_wave(p, count, r, run, err));
    if (p->classes_out) SURETY_TRY(write_classes(p, first, count, r, err));
    if (p->scores_out) SURETY_TRY(write_scores(p, vote->voters, count, run, err));
    if (!p->votes_out) return SURETY_OK;
    SURETY_TRY(surety_voters_outputs(vote->voters, p->x, p->d, count, p->outputs, run, err));
    return surety_npy_writer_append(p->votes_out, p->outputs, count * each, err);
}

/* Points of an array: rows of the columns, or of the features. */
static surety_status open_array(predicting *p, const char *input, surety_predict_result *r,
                                surety_error *err) {
    size_t C = p->preparation ? surety_preparation_columns(p->preparation) : p->d;
    SURETY_TRY(surety_npy_stream(&p->in, input, err));
    p->columns = p->in.ndim ? p->in.shape[p->in.ndim - 1] : 0;
    if ((p->in.ndim != 2 && p->in.ndim != 3) || (p->columns != C && p->columns != p->d) || !p->in.count) {
        surety_fail(err, SURETY_E_INPUT, "the array has another shape: %d axes, the last of length %zu",
                    p->in.ndim, p->columns);
        surety_fail_file(err, input);
        surety_fail_expected(err, "(m, %zu) or (m, n, %zu), m at least 1: the model has %zu %s", C, C, C,
                             p->preparation ? "columns" : "features");
        return SURETY_E_INPUT;
    }
    p->points = p->in.count / p->columns;
    p->axes = p->in.ndim - 1;
    r->m = p->in.shape[0];
    r->n = p->in.ndim == 3 ? p->in.shape[1] : 1;
    return surety_alloc(&p->raw, WAVE * p->columns, sizeof *p->raw, err);
}

static surety_status open_table(predicting *p, const surety_predict_files *files, surety_predict_result *r,
                                surety_error *err) {
    surety_data_settings own = surety_data_defaults();
    surety_source source = {
        .path = files->input, .role = "input", .labels_role = "labels", .separator = files->separator};
    if (!p->preparation) SURETY_TRY(surety_preparation_plain(&p->plain, p->d, err));
    if (surety_model_data_settings(p->model, &own, NULL) == SURETY_OK) source.header = own.header;
    source.wanted = (surety_wanted){.label = files->label_column ? files->label_column : own.label_column,
                                    .label_optional = 1,
                                    .drop = files->drop,
                                    .drop_count = files->drop_count,
                                    .preparation = p->preparation ? p->preparation : p->plain};
    p->is_table = 1;
    SURETY_TRY(surety_table_open(&p->table, &source, err));
    SURETY_TRY(surety_bind(&p->binding, source.wanted.preparation, &p->table, err));
    const surety_columns *c = &p->table.columns;
    if (c->label != SURETY_NO_COLUMN)
        snprintf(r->label_column, sizeof r->label_column, "%s", c->names[c->label]);
    p->points = r->m = p->table.rows;
    p->axes = 1;
    r->n = 1;
    return SURETY_OK;
}

/* By name or by its first bytes. */
static surety_status is_array(const char *path, int *is, surety_error *err) {
    size_t length = strlen(path), zipped = length > 3 && !strcmp(path + length - 3, ".gz") ? 3 : 0;
    uint8_t head[6] = {0};
    uint64_t size = 0;
    int fd = -1;
    *is = length >= 4 + zipped && !memcmp(path + length - zipped - 4, ".npy", 4);
    if (*is) return SURETY_OK;
    SURETY_TRY(surety_open_regular(&fd, &size, path, err));
    surety_status status = size >= sizeof head ? surety_read_at(fd, head, sizeof head, 0, err) : SURETY_OK;
    close(fd);
    *is = !memcmp(head, "\x93NUMPY", 6);
    return status;
}

static surety_status open_input(predicting *p, const surety_predict_files *files, surety_predict_result *r,
                                surety_error *err) {
    int array = 0;
    p->d = surety_voters_features(p->model->voters);
    p->preparation = p->model->preparation;
    SURETY_TRY(is_array(files->input, &array, err));
    return array ? open_array(p, files->input, r, err) : open_table(p, files, r, err);
}

/* All files that are wanted, so that a full disk or a bad path is known before the work. */
static surety_status open_files(predicting *p, const surety_predict_files *files,
                                const surety_predict_result *r, surety_error *err) {
    size_t H = surety_voters_count(p->model->voters), shape[4] = {r->m, r->n};
    int axes = p->axes, wide = p->width > 1;
    const char *heading = axes == 2 ? "row,point,class" : "row,class";
    shape[axes] = p->width;
    if (files->out)
        SURETY_TRY(surety_npy_writer_open(&p->out, files->out, SURETY_F8, axes + wide, shape, err));
    shape[axes] = H, shape[axes + 1] = p->width;
    if (files->votes)
        SURETY_TRY(
            surety_npy_writer_open(&p->votes_out, files->votes, SURETY_F4, axes + 1 + wide, shape, err));
    shape[axes] = p->score_count;
    if (files->scores)
        SURETY_TRY(surety_npy_writer_open(&p->scores_out, files->scores,
                                          p->score_type == SURETY_ELEMENT_F64 ? SURETY_F8 : SURETY_F4,
                                          axes + (p->score_count > 1), shape, err));
    if (!files->classes) return SURETY_OK;
    SURETY_TRY(surety_writer_open(&p->classes_out, files->classes, 0, err));
    SURETY_TRY(surety_writer_append(p->classes_out, heading, strlen(heading), err));
    const char *more = !files->prove ? "" : files->radius ? ",proved,radius" : ",proved";
    return surety_writer_append(p->classes_out, more, strlen(more), err);
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
    SURETY_TRY(open_input(p, files, r, err));
    SURETY_TRY(surety_alloc(&p->x, WAVE * p->d, sizeof *p->x, err));
    SURETY_TRY(surety_alloc(&p->outputs, files->votes ? WAVE * each : 1, sizeof *p->outputs, err));
    SURETY_TRY(surety_alloc(&p->votes, WAVE * p->width, sizeof *p->votes, err));
    SURETY_TRY(surety_alloc(&p->classes, WAVE, sizeof *p->classes, err));
    if (files->scores) SURETY_TRY(surety_voters_need(vote.voters, SURETY_CAN_SCORE, "--scores", err));
    p->missing = surety_voters_can(vote.voters, SURETY_CAN_MISS);
    p->score_count = surety_voters_columns(vote.voters, &p->score_type);
    SURETY_TRY(surety_alloc(&p->scores, WAVE * p->score_count, sizeof *p->scores, err));
    r->proves = files->prove != NULL;
    if (files->prove) SURETY_TRY(open_provers(p, &vote, files, run, err));
    SURETY_TRY(open_files(p, files, r, err));
    for (size_t first = 0; first < p->points; first += WAVE) {
        size_t count = p->points - first < WAVE ? p->points - first : WAVE;
        SURETY_TRY(surety_stopped(run, err));
        SURETY_TRY(read_wave(p, files->input, first, count, &r->counts, err));
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
    surety_unbind(&p.binding);
    surety_table_close(&p.table);
    surety_preparation_free(p.plain);
    surety_free(p.raw);
    surety_free(p.x);
    surety_free(p.outputs);
    surety_free(p.votes);
    surety_free(p.classes);
    surety_free(p.scores);
    for (size_t t = 0; p.provers && t < p.threads; t++) surety_prover_free(p.provers[t]);
    surety_free((void *)p.provers);
    surety_free(p.proofs);
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
    return surety_json_text(SURETY_JSON_OBJECT(
        {"m", surety_json_count(r->m)}, {"n", surety_json_count(r->n)},
        {"positive", two ? surety_json_count(r->chosen[1]) : json_null()},
        {"tied", surety_json_count(r->tied)}, {"vote_min", surety_json_real(r->vote_min)},
        {"vote_max", surety_json_real(r->vote_max)}, {"classes", chosen_json(r, m)},
        {"proved", r->proves ? surety_json_count(r->proved) : json_null()},
        {"filled", surety_json_count(r->counts.filled)}, {"unseen", surety_json_count(r->counts.unseen)},
        {"label_column", surety_json_string(r->label_column[0] ? r->label_column : NULL)}));
}
