/* Reading votes (docs/votes.md). What an array holds follows from its type and shape, never from what its
 * numbers look like, with one exception: whole numbers are signed votes of two classes if one of them is
 * negative, else class numbers.
 *
 * K is the last length of scores, 2 for votes in [-1,1]; for class numbers what the settings say, else the
 * number of names, else one more than the largest number among votes and labels.
 */
#include "risk/source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "risk/labels.h"

static surety_status refuse(const surety_vote_source *s, const char *place, const char *expected,
                            surety_error *err) {
    if (s->path) surety_fail_file(err, s->path);
    surety_fail_place(err, "%s", place);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

/* The index of value `at` of example i; rank: how many axes of it count. */
static const char *index_of(const surety_vote_source *s, size_t i, size_t at, int rank, char text[96]) {
    size_t K = rank == 4 ? s->K : 1, h = at / K % s->H, j = at / K / s->H;
    if (rank == 4)
        snprintf(text, 96, "index [%zu, %zu, %zu, %zu]", i, j, h, at % K);
    else if (s->flat)
        snprintf(text, 96, "index [%zu, %zu]", i, h);
    else
        snprintf(text, 96, "index [%zu, %zu, %zu]", i, j, h);
    return text;
}

/* ---- one example ---- */

static size_t example_size(const surety_vote_source *s) {
    return s->n * s->H * (s->kind == SURETY_BALLOT_SCORES ? s->K : 1);
}

size_t surety_vote_source_scratch(const surety_vote_source *s) {
    return example_size(s) + (s->n * s->H + sizeof(double) - 1) / sizeof(double);
}

/* Values first .. first+count-1 of all votes. */
static surety_status fetch(const surety_vote_source *s, size_t first, size_t count, double *row,
                           surety_error *err) {
    if (s->path) {
        surety_status status = surety_npy_read_doubles(&s->file, first, count, row, err);
        if (status != SURETY_OK) surety_fail_file(err, s->path);
        return status;
    }
    for (size_t k = 0; k < count; k++)
        row[k] = s->numbers ? (double)s->numbers[first + k] : (double)s->classes[first + k];
    return SURETY_OK;
}

static surety_status add_votes(const surety_vote_source *s, size_t i, const double *row, surety_risk *risk,
                               surety_error *err) {
    char place[96];
    size_t bad = surety_votes_first_bad(row, s->n * s->H);
    if (bad == s->n * s->H) return surety_risk_add_double(risk, row, s->H, s->labels[i] ? 1 : -1, err);
    surety_fail(err, SURETY_E_INPUT, "the vote is %g", row[bad]);
    return refuse(s, index_of(s, i, bad, 3, place), "votes in [-1, 1]", err);
}

static surety_status add_scores(const surety_vote_source *s, size_t i, const double *row, surety_risk *risk,
                                surety_error *err) {
    char place[96], expected[96];
    for (size_t v = 0; v < s->n * s->H; v++) {
        double sum;
        size_t bad = surety_scores_first_bad(row + v * s->K, s->K, &sum);
        if (bad < s->K) {
            surety_fail(err, SURETY_E_INPUT, "the score is %g", row[v * s->K + bad]);
            return refuse(s, index_of(s, i, v * s->K + bad, 4, place), "scores in [0, 1]", err);
        }
        if (surety_scores_sum_fits(sum)) continue;
        surety_fail(err, SURETY_E_INPUT, "the scores of the voter sum to %g", sum);
        snprintf(expected, sizeof expected, "%zu scores with the sum 1, within 1e-5", s->K);
        return refuse(s, index_of(s, i, v, 3, place), expected, err);
    }
    return surety_risk_add_scores_double(risk, row, s->H * s->K, s->labels[i], err);
}

static surety_status add_classes(const surety_vote_source *s, size_t i, const double *row, uint8_t *bytes,
                                 surety_risk *risk, surety_error *err) {
    char place[96], expected[96];
    for (size_t v = 0; v < s->n * s->H; v++) {
        bytes[v] = (uint8_t)(row[v] < 256 ? row[v] : 0);
        if (row[v] < (double)s->K || row[v] == SURETY_NO_CLASS) continue;
        surety_fail(err, SURETY_E_INPUT, "the vote is class %.0f", row[v]);
        snprintf(expected, sizeof expected, "classes 0 to %zu, or %d for none", s->K - 1, SURETY_NO_CLASS);
        return refuse(s, index_of(s, i, v, 3, place), expected, err);
    }
    return surety_risk_add_labels(risk, bytes, s->H, s->labels[i], err);
}

surety_status surety_vote_source_add(const surety_vote_source *s, size_t i, double *scratch,
                                     surety_risk *risk, surety_error *err) {
    SURETY_TRY(fetch(s, i * example_size(s), example_size(s), scratch, err));
    if (s->kind == SURETY_BALLOT_VOTES) return add_votes(s, i, scratch, risk, err);
    if (s->kind == SURETY_BALLOT_SCORES) return add_scores(s, i, scratch, risk, err);
    return add_classes(s, i, scratch, (uint8_t *)(scratch + example_size(s)), risk, err);
}

/* ---- opening votes ---- */

/* What whole numbers look like from afar. */
typedef struct whole {
    int negative, zero;
    double most; /* the largest class number, SURETY_NO_CLASS left out; -1: none */
} whole;

static void look_at(const double *values, size_t count, whole *w) {
    for (size_t k = 0; k < count; k++) {
        w->negative |= values[k] < 0;
        w->zero |= values[k] == 0;
        if (values[k] != SURETY_NO_CLASS && values[k] > w->most) w->most = values[k];
    }
}

static surety_status look_at_votes(const surety_vote_source *s, whole *w, surety_error *err) {
    double some[1024];
    size_t count = s->m * s->n * s->H;
    *w = (whole){.most = -1};
    for (size_t first = 0, many; first < count; first += many) {
        many = count - first < 1024 ? count - first : 1024;
        SURETY_TRY(fetch(s, first, many, some, err));
        look_at(some, many, w);
    }
    return SURETY_OK;
}

static surety_status open_file(surety_vote_source *s, surety_error *err) {
    const char *expected = "votes of shape (m, n, H) or (m, H), or scores (m, n, H, K), no length 0";
    SURETY_TRY(surety_npy_stream(&s->file, s->path, err));
    const surety_npy *a = &s->file;
    int integers = a->dtype != SURETY_F4 && a->dtype != SURETY_F8;
    if (a->ndim == 4 && integers)
        expected = "class numbers of shape (m, n, H) or (m, H), or scores as floats";
    if (a->ndim < 2 || a->ndim > 4 || a->count == 0 || (a->ndim == 4 && integers))
        return surety_npy_shape_error(a, s->path, expected, err);
    s->flat = a->ndim == 2;
    s->m = a->shape[0];
    s->n = s->flat ? 1 : a->shape[1];
    s->H = a->shape[s->flat ? 1 : 2];
    if (a->ndim == 4) s->kind = SURETY_BALLOT_SCORES, s->K = a->shape[3];
    if (a->ndim < 4 && integers) s->kind = SURETY_BALLOT_CLASSES;
    return SURETY_OK;
}

static surety_status open_arrays(surety_vote_source *s, const surety_votes_settings *set, surety_error *err) {
    s->m = set->m, s->n = set->n, s->H = set->H;
    s->numbers = set->vote_array ? set->vote_array : set->score_array;
    s->classes = set->class_votes;
    if (s->classes) s->kind = SURETY_BALLOT_CLASSES;
    if (set->score_array) s->kind = SURETY_BALLOT_SCORES, s->K = set->classes;
    if (s->m && s->n && s->H && (s->K || !set->score_array)) return SURETY_OK;
    if (set->score_array)
        return surety_fail(err, SURETY_E_INPUT, "the array of scores is empty: (%zu, %zu, %zu, %zu)", s->m,
                           s->n, s->H, s->K);
    return surety_fail(err, SURETY_E_INPUT, "the array of votes is empty: (%zu, %zu, %zu)", s->m, s->n, s->H);
}

/* ---- labels ---- */

static surety_status bad_label(const surety_vote_labels *l, size_t i, const char *path, const char *expected,
                               surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the label is %g", l->values[i]);
    surety_fail_file(err, path ? path : "");
    surety_vote_labels_place(l, i, err);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

/* Labels that are all -1/+1 or all 0/1. */
static surety_status take_two(const surety_vote_labels *l, uint8_t *labels, const char *path,
                              surety_error *err) {
    const char *either =
        "labels -1 and +1, or 0 and 1; more than two classes: class numbers from 0 on, and votes that are "
        "whole numbers or scores, not floats in [-1, 1]";
    double low = 0; /* the label that is not +1, once it is known */
    int known = 0;
    for (size_t i = 0; i < l->count; i++) {
        double v = l->values[i];
        if (v != 1 && v != -1 && v != 0) return bad_label(l, i, path, either, err);
        if (v != 1 && known && v != low)
            return bad_label(l, i, path, low < 0 ? "-1 or +1 as before" : "0 or 1 as before", err);
        if (v != 1) known = 1, low = v;
        labels[i] = v == 1;
    }
    return SURETY_OK;
}

/* Labels that are class numbers. */
static surety_status take_classes(const surety_vote_labels *l, size_t K, uint8_t *labels, const char *path,
                                  surety_error *err) {
    char expected[64];
    snprintf(expected, sizeof expected, "class numbers 0 to %zu", K - 1);
    for (size_t i = 0; i < l->count; i++) {
        double v = l->values[i];
        if (!(v >= 0 && v < (double)K && v == floor(v))) return bad_label(l, i, path, expected, err);
        labels[i] = (uint8_t)v;
    }
    return SURETY_OK;
}

/* ---- K ---- */

static surety_status bad_count(const surety_vote_source *s, size_t K, surety_error *err) {
    if (K == 1 && s->kind == SURETY_BALLOT_CLASSES)
        surety_fail(err, SURETY_E_INPUT, "all votes and all labels are of one class");
    else
        surety_fail(err, SURETY_E_INPUT, "%zu class%s", K, K == 1 ? "" : "es");
    return refuse(s, "", "2 to 255 classes, numbered from 0", err);
}

/* The classes of whole numbers w among labels l. */
static size_t count_classes(const whole *w, const surety_vote_labels *l, size_t given) {
    whole y = {.most = -1};
    look_at(l->values, l->count, &y);
    if (given || l->name_count) return given ? given : l->name_count;
    if (y.negative) return 2; /* labels -1 and +1 */
    double most = fmax(w->most, y.most);
    return most < 1e6 ? (size_t)most + 1 : 1000000;
}

static surety_status names_fit(const surety_vote_source *s, const surety_vote_labels *l, const char *path,
                               surety_error *err) {
    if (!l->name_count || l->name_count == s->K) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the labels have %zu name%s, the votes %zu classes", l->name_count,
                l->name_count == 1 ? "" : "s", s->K);
    surety_fail_file(err, path);
    surety_fail_expected(err, "a name for every class, or class numbers: sorted names number the classes");
    return SURETY_E_INPUT;
}

/* Whole numbers without a negative one beside labels -1 and +1: is 0 a class or an abstention? */
static surety_status check_zeros(const surety_vote_source *s, const whole *w, const surety_vote_labels *l,
                                 surety_error *err) {
    whole y = {.most = -1};
    look_at(l->values, l->count, &y);
    if (!y.negative || y.most > 1 || !w->zero || s->file.dtype >= SURETY_U1 || !s->path) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the votes are whole numbers from 0 on, the labels -1 and +1");
    return refuse(s, "", "votes 0 and 1 with labels 0 and 1, or votes as floats if 0 abstains", err);
}

static surety_status find_classes(surety_vote_source *s, const surety_vote_labels *l,
                                  const surety_votes_settings *set, surety_error *err) {
    whole w = {.most = -1};
    if (s->kind == SURETY_BALLOT_CLASSES) {
        SURETY_TRY(look_at_votes(s, &w, err));
        s->whole = 1;
        if (w.negative)
            s->kind = SURETY_BALLOT_VOTES;
        else
            SURETY_TRY(check_zeros(s, &w, l, err));
    }
    if (s->kind == SURETY_BALLOT_VOTES) s->K = 2;
    if (s->kind == SURETY_BALLOT_CLASSES) s->K = count_classes(&w, l, set->classes);
    if (s->K < 2 || s->K > SURETY_RISK_CLASSES) return bad_count(s, s->K, err);
    if (set->classes && set->classes != s->K) {
        surety_fail(err, SURETY_E_INPUT, "the votes are of %zu classes, not of %zu", s->K, set->classes);
        return refuse(s, "", "the number of classes of these votes, or none given", err);
    }
    return names_fit(s, l, set->labels, err);
}

/* K from the votes and the labels l, then the labels as class numbers. */
static surety_status settle(surety_vote_source *s, surety_vote_labels *l, const surety_votes_settings *set,
                            surety_error *err) {
    SURETY_TRY(find_classes(s, l, set, err));
    SURETY_TRY(surety_alloc(&s->labels, s->m, sizeof *s->labels, err));
    s->names = l->names, l->names = NULL;
    if (s->K == 2) return take_two(l, s->labels, set->labels, err);
    return take_classes(l, s->K, s->labels, set->labels, err);
}

static surety_status array_labels(surety_vote_labels *l, const surety_votes_settings *set,
                                  surety_error *err) {
    *l = (surety_vote_labels){.count = set->m};
    SURETY_TRY(surety_alloc(&l->values, set->m, sizeof *l->values, err));
    for (size_t i = 0; i < set->m; i++) {
        l->values[i] = set->label_array ? (double)set->label_array[i] : (double)set->class_labels[i];
        if (!set->label_array || fabs(l->values[i]) == 1) continue;
        return bad_label(l, i, NULL, "-1 or +1", err);
    }
    return SURETY_OK;
}

surety_status surety_vote_source_open(surety_vote_source *s, const surety_votes_settings *set,
                                      surety_error *err) {
    surety_vote_labels labels = {0};
    *s = (surety_vote_source){.path = set->votes};
    SURETY_TRY(s->path ? open_file(s, err) : open_arrays(s, set, err));
    surety_status status =
        s->path ? surety_vote_labels_read(&labels, set->labels, s->m, err) : array_labels(&labels, set, err);
    if (status == SURETY_OK) status = settle(s, &labels, set, err);
    surety_vote_labels_free(&labels);
    return status;
}

void surety_vote_source_close(surety_vote_source *s) {
    surety_npy_close(&s->file);
    surety_free(s->labels);
    surety_free(s->names);
    *s = (surety_vote_source){0};
}
