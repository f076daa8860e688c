/* An attack on a whole set as NPY files of points and labels. Points are streamed as they are made. */
#include <string.h>

#include "attack/attacker.h"
#include "io/npy.h"
#include "surety/evaluate.h"

typedef struct writing {
    surety_npy_writer *points, *labels;
    const surety_preparation *preparation;
    float *units; /* (d): a point in the user's units */
    size_t d;
} writing;

static surety_status append(void *arg, size_t i, size_t j, const float *x, surety_error *err) {
    writing *w = arg;
    (void)i, (void)j;
    if (w->preparation) surety_preparation_undo(w->preparation, x, w->units);
    return surety_npy_writer_append(w->points, w->preparation ? w->units : x, w->d, err);
}

/* Opens both, so that a full disk or a bad path is known before the work. */
static surety_status open_files(writing *w, const surety_threat *s, const surety_set *set,
                                const surety_attack_files *files, surety_error *err) {
    const char *labels = files->labels;
    int several = surety_threat_plain(s->kind) != s->kind;
    size_t shape[3] = {set->m, several ? surety_threat_samples(s) : set->d, set->d};
    w->d = set->d;
    SURETY_TRY(surety_alloc(&w->units, w->d, sizeof *w->units, err));
    if (labels && !strcmp(files->points, labels))
        return surety_fail(err, SURETY_E_USAGE, "points and labels cannot go to the same file, %s", labels);
    SURETY_TRY(surety_npy_writer_open(&w->points, files->points, SURETY_F4, several ? 3 : 2, shape, err));
    if (!labels) return SURETY_OK;
    if (set->classes > 2) {
        SURETY_TRY(surety_npy_writer_open(&w->labels, labels, SURETY_U1, 1, shape, err));
        return surety_npy_writer_append(w->labels, set->y, set->m, err);
    }
    SURETY_TRY(surety_npy_writer_open(&w->labels, labels, SURETY_I1, 1, shape, err));
    for (size_t i = 0; i < set->m; i++) {
        int8_t y = (int8_t)surety_sign(set->y[i]);
        SURETY_TRY(surety_npy_writer_append(w->labels, &y, 1, err));
    }
    return SURETY_OK;
}

/* Labels first: points without them would look finished. */
static surety_status commit(writing *w, surety_error *err) {
    surety_npy_writer *labels = w->labels, *points = w->points;
    w->labels = NULL; /* commit frees in every case */
    if (labels) SURETY_TRY(surety_npy_writer_commit(labels, err));
    w->points = NULL;
    return surety_npy_writer_commit(points, err);
}

surety_status surety_attack_write(const surety_threat *s, const surety_vote *vote, const surety_set *set,
                                  const surety_attack_files *files, surety_attack_result *result,
                                  const surety_run *run, surety_error *err) {
    writing w = {.preparation = files->preparation};
    surety_perturbed_sink sink = {append, &w};
    *result = (surety_attack_result){0};
    surety_status status = surety_threat_validate(s, err);
    if (status == SURETY_OK) status = surety_attack_check_set(s, vote->voters, set, err);
    if (status == SURETY_OK) status = open_files(&w, s, set, files, err);
    if (status == SURETY_OK) status = surety_attack_set(s, vote, set, &sink, result, run, err);
    if (status == SURETY_OK) status = commit(&w, err);
    surety_npy_writer_abort(w.points);
    surety_npy_writer_abort(w.labels);
    surety_free(w.units);
    return status;
}
