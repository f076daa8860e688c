/* Raw scores of an imported model compared with its maker's, bit for bit, row by row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "io/npy.h"
#include "model/model.h"

enum { WAVE = 1024 }; /* rows in memory at once */

typedef struct replaying {
    const surety_voters *v;
    surety_npy x, expected;
    size_t m, d, columns, given; /* scores of a row, here and in the file */
    surety_element type;
    double *wide;            /* (WAVE, d) values as they are read */
    float *rows;             /* (WAVE, d) */
    double *scores, *theirs; /* (WAVE, columns) */
} replaying;

static surety_status wrong_shape(const char *path, const char *expected, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the array has another shape");
    surety_fail_file(err, path);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

static surety_status open_files(replaying *p, const char *points, const char *scores, surety_error *err) {
    char expected[128];
    SURETY_TRY(surety_npy_stream(&p->x, points, err));
    snprintf(expected, sizeof expected, "(m, %zu), m at least 1: the model has %zu features", p->d, p->d);
    if (p->x.ndim != 2 || p->x.shape[1] != p->d || !p->x.shape[0]) return wrong_shape(points, expected, err);
    p->m = p->x.shape[0];
    SURETY_TRY(surety_npy_stream(&p->expected, scores, err));
    p->given = p->m ? p->expected.count / p->m : 0;
    snprintf(expected, sizeof expected, "raw scores of the %zu rows, %zu of each", p->m, p->columns);
    int difference = p->given == 1 && p->columns == 2; /* of two scores the difference will do */
    if (p->expected.ndim < 1 || p->expected.ndim > 2 || p->expected.shape[0] != p->m ||
        (p->given != p->columns && !difference))
        return wrong_shape(scores, expected, err);
    return SURETY_OK;
}

static surety_status read_rows(replaying *p, size_t first, size_t count, surety_replay *out,
                               surety_error *err) {
    SURETY_TRY(surety_npy_read_doubles(&p->x, first * p->d, count * p->d, p->wide, err));
    SURETY_TRY(surety_npy_read_doubles(&p->expected, first * p->given, count * p->given, p->theirs, err));
    for (size_t i = 0; i < count * p->d; i++) {
        float f = (float)p->wide[i];
        out->rounded += (double)f != p->wide[i] && !isnan(p->wide[i]);
        p->rows[i] = f;
        if (!isinf(f)) continue;
        surety_fail(err, SURETY_E_INPUT, "feature %zu is not a finite number", i % p->d);
        surety_fail_place(err, "row %zu", first + i / p->d);
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

static surety_status compare(const replaying *p, size_t row, size_t i, surety_error *err) {
    for (size_t c = 0; c < p->given; c++) {
        double ours = p->scores[i * p->columns + c], theirs = p->theirs[i * p->given + c];
        if (p->given < p->columns) ours = p->scores[i * 2 + 1] - p->scores[i * 2];
        if (!memcmp(&ours, &theirs, sizeof ours)) continue;
        surety_fail(err, SURETY_E_CHECK, "the raw score is %.17g here, and %.17g by its maker", ours, theirs);
        surety_fail_place(err, "row %zu, score %zu", row, c);
        surety_fail_expected(err,
                             "the maker's raw scores, not probabilities (XGBoost: output_margin=True), of "
                             "this model on these rows");
        return SURETY_E_CHECK;
    }
    return SURETY_OK;
}

static surety_status replay(replaying *p, surety_replay *out, const surety_run *run, surety_error *err) {
    SURETY_TRY(surety_alloc(&p->wide, WAVE * p->d, sizeof *p->wide, err));
    SURETY_TRY(surety_alloc(&p->rows, WAVE * p->d, sizeof *p->rows, err));
    SURETY_TRY(surety_alloc(&p->scores, WAVE * p->columns, sizeof *p->scores, err));
    SURETY_TRY(surety_alloc(&p->theirs, WAVE * p->columns, sizeof *p->theirs, err));
    for (size_t first = 0; first < p->m; first += WAVE) {
        size_t count = p->m - first < WAVE ? p->m - first : WAVE;
        SURETY_TRY(surety_stopped(run, err));
        SURETY_TRY(read_rows(p, first, count, out, err));
        SURETY_TRY(surety_voters_score(p->v, p->rows, p->d, count, p->scores, run, err));
        for (size_t r = 0; r < count; r++) SURETY_TRY(compare(p, first + r, r, err));
        out->rows += count;
        surety_report(run, "replay", first + count, p->m, "");
    }
    return SURETY_OK;
}

surety_status surety_model_replay(const surety_model *model, const char *points, const char *scores,
                                  surety_replay *out, const surety_run *run, surety_error *err) {
    replaying p = {.v = model->voters, .d = surety_voters_features(model->voters)};
    *out = (surety_replay){0};
    SURETY_TRY(surety_voters_need(p.v, SURETY_CAN_SCORE, "a replay", err));
    p.columns = surety_voters_columns(p.v, &p.type);
    surety_status status = open_files(&p, points, scores, err);
    if (status == SURETY_OK) status = replay(&p, out, run, err);
    if (status != SURETY_OK) surety_fail_file(err, points);
    surety_npy_close(&p.x);
    surety_npy_close(&p.expected);
    void *parts[] = {p.wide, p.rows, p.scores, p.theirs};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    return status;
}

char *surety_import_json(const surety_model *m, const surety_replay *replay) {
    size_t nodes = 0, trees = surety_voters_trees(m->voters, &nodes);
    return surety_json_text(
        SURETY_JSON_OBJECT({"kind", surety_json_string(surety_voters_kind(m->voters))},
                           {"source", surety_json_string(surety_model_imported(m))},
                           {"voter_count", surety_json_count(surety_voters_count(m->voters))},
                           {"trees", surety_json_count(trees)}, {"nodes", surety_json_count(nodes)},
                           {"features", surety_json_count(surety_voters_features(m->voters))},
                           {"classes", surety_json_count(surety_voters_classes(m->voters))},
                           {"depth", surety_json_count(surety_voters_depth(m->voters))},
                           {"replayed", surety_json_count(replay ? replay->rows : 0)},
                           {"equal_bits", replay ? json_true() : json_null()},
                           {"rounded", replay ? surety_json_count(replay->rounded) : json_null()}));
}
