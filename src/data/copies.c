/* Copies (docs/data.md).
 *
 * Counting. Each row has a place on a line: s(x) = sum_j c_j x_j / range_j with c_j in (0,1). Rows whose
 * columns differ by at most tolerance * range_j (or are missing in both, which adds nothing) have places at
 * most tolerance * sum_j c_j apart, so that sorting by s and comparing the rows in that window finds every
 * near pair, none by chance. For 70000 rows of 784 features the window holds about one row. The c_j differ,
 * so that features with a constant sum do not bring all rows to one place.
 *
 * Dropping. Which of equal rows stays is drawn: with different labels, each is kept as often as it occurs, as
 * if the label of a distinct input were drawn anew. The first in the file would favour a class in a sorted
 * file, and the choice must not depend on the order of the shuffle: rows with many copies would come early,
 * into S. */
#include "data/copies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/number.h"
#include "base/parallel.h"
#include "base/random.h"
#include "io/read.h"
#include "io/sha256.h"

#define TOLERANCE 1e-6 /* of a feature's range: above the jitter of float32, far below honest differences */
enum {
    POLLED = 1024, /* rows between two looks at stop */
    HEAD = 4       /* columns of a row that are looked at one by one, before the rest of it is read */
};
#define MANY 0.01 /* of S: as much as copies could move a risk without anybody noticing */

/* ---- words ---- */

static const char *const rules[] = {"refuse", "keep", "drop"};

surety_status surety_copies_parse(const char *name, surety_copies_rule *rule, surety_error *err) {
    size_t index = 0;
    SURETY_TRY(surety_name_find("rule for copies", name, rules, sizeof rules / sizeof *rules, &index, err));
    *rule = (surety_copies_rule)index;
    return SURETY_OK;
}

const char *surety_copies_name(surety_copies_rule rule) {
    return rules[rule];
}

int surety_copies_many(const surety_copies *c) {
    return (double)c->near_learn_in_prior > MANY * (double)c->learn ||
           (double)c->learn_repeats > MANY * (double)c->learn;
}

void surety_copies_text(const surety_copies *c, char text[SURETY_COPIES_TEXT]) {
    size_t size = SURETY_COPIES_TEXT, used = 0;
    if (c->dropped)
        used = (size_t)snprintf(text, size, "%llu equal rows dropped; ", (unsigned long long)c->dropped);
    if (!(c->near_learn_in_prior | c->near_test_in_prior | c->test_in_learn | c->learn_repeats)) {
        snprintf(text + used, size - used,
                 "no row of S or T also occurs in S', none of T in S, none of S twice");
        return;
    }
    used += (size_t)snprintf(text + used, size - used,
                             "of S %llu of %llu rows also occur in S' and %llu repeat a row of S; of T %llu "
                             "of %llu occur in S', %llu in S",
                             (unsigned long long)c->learn_in_prior, (unsigned long long)c->learn,
                             (unsigned long long)c->learn_repeats, (unsigned long long)c->test_in_prior,
                             (unsigned long long)c->test, (unsigned long long)c->test_in_learn);
    if (c->near_learn_in_prior > c->learn_in_prior || c->near_test_in_prior > c->test_in_prior)
        surety_format(text + used, size - used,
                      "; with those within %g of each feature's range, %llu of S and %llu of T occur in S'",
                      c->tolerance, (unsigned long long)c->near_learn_in_prior,
                      (unsigned long long)c->near_test_in_prior);
}

surety_status surety_data_check_copies(const surety_data_info *info, surety_error *err) {
    const surety_copies *c = &info->copies;
    if (info->copies_rule == SURETY_COPIES_KEEP || !surety_copies_many(c)) return SURETY_OK;
    int repeats = c->learn_repeats > c->near_learn_in_prior;
    uint64_t found = repeats ? c->learn_repeats : c->near_learn_in_prior;
    surety_fail(err, SURETY_E_CHECK,
                "%llu of the %llu examples of S (%.1f %%) %s, so S %s: a limit from S would be too small",
                (unsigned long long)found, (unsigned long long)c->learn,
                100 * (double)found / (double)c->learn,
                repeats                      ? "repeat another example of S"
                : found == c->learn_in_prior ? "also occur in S'"
                                             : "also occur in S', up to 1e-6 of a feature's range",
                repeats ? "has fewer examples than it seems" : "is not independent of the training");
    surety_fail_expected(
        err, "%s--copies keep, which goes on and says so in every certificate",
        info->copies_rule == SURETY_COPIES_DROP || info->unit
            ? "rows that are not nearly equal, or "
            : "--copies drop, which keeps one of equal rows before the split (the promise is "
              "then about distinct rows), or ");
    return SURETY_E_CHECK;
}

json_t *surety_copies_json(const surety_copies *c) {
    return SURETY_JSON_OBJECT({"learn_in_prior", surety_json_count(c->learn_in_prior)},
                              {"test_in_prior", surety_json_count(c->test_in_prior)},
                              {"test_in_learn", surety_json_count(c->test_in_learn)},
                              {"learn_repeats", surety_json_count(c->learn_repeats)},
                              {"near_learn_in_prior", surety_json_count(c->near_learn_in_prior)},
                              {"near_test_in_prior", surety_json_count(c->near_test_in_prior)},
                              {"tolerance", surety_json_real(c->tolerance)},
                              {"dropped", surety_json_count(c->dropped)});
}

/* ---- counting ---- */

/* A row and its place on the line. */
typedef struct place {
    double s;
    uint32_t row, i; /* of its table, in its set */
} place;

typedef struct counting {
    const surety_run *run;
    const surety_given_rows *sets;
    size_t d;
    float *x, *other;       /* (d): two rows */
    double *range, *weight; /* (d): of the features; c_j / range_j */
    double window;
    place *of[SURETY_SETS]; /* (m) sorted by s */
} counting;

static int by_place(const void *a, const void *b) {
    const place *x = a, *y = b;
    return x->s != y->s ? (x->s > y->s) - (x->s < y->s) : (x->i > y->i) - (x->i < y->i);
}

/* By the range from `from` to `to`; one that begins at infinity is of no value. */
static void widen(double *low, double *high, double from, double to) {
    if (from < *low) *low = from;
    if (to > *high) *high = to;
}

/* The smallest and the largest value of every feature in S' and S, into range and weight: each process looks
 * at its share of the rows. */
static surety_status find_ends(counting *c, surety_error *err) {
    size_t size = c->run->everyone ? c->run->everyone->size : 1, d = c->d;
    double *ends = NULL, *own; /* (size, 2, d) */
    SURETY_TRY(surety_alloc(&ends, size, 2 * d * sizeof *ends, err));
    own = ends + (c->run->everyone ? c->run->everyone->rank : 0) * 2 * d;
    for (size_t j = 0; j < d; j++) own[j] = c->range[j] = INFINITY, own[d + j] = c->weight[j] = -INFINITY;
    for (int k = SURETY_SET_PRIOR; k <= SURETY_SET_LEARN; k++) {
        size_t i = 0, end = c->sets[k].m;
        surety_my_share(c->run, &i, &end);
        for (; i < end; i++) {
            surety_table_row(c->sets[k].table, c->sets[k].rows[i], c->x);
            for (size_t j = 0; j < d; j++) widen(&own[j], &own[d + j], (double)c->x[j], (double)c->x[j]);
        }
    }
    surety_status status = surety_share_everyone(c->run, ends, size, 1, 2 * d * sizeof *ends, err);
    for (size_t r = 0; r < size; r++)
        for (size_t j = 0; j < d; j++)
            widen(&c->range[j], &c->weight[j], ends[2 * d * r + j], ends[2 * d * r + d + j]);
    surety_free(ends);
    return status;
}

static surety_status measure_ranges(counting *c, surety_error *err) {
    double sum = 0;
    SURETY_TRY(find_ends(c, err));
    for (size_t j = 0; j < c->d; j++) {
        double golden = (double)(j + 1) * 0.6180339887498949, share = golden - floor(golden);
        c->range[j] = c->weight[j] >= c->range[j] ? c->weight[j] - c->range[j] : 0; /* no value at all */
        c->weight[j] = c->range[j] > 0 ? share / c->range[j] : 0;
        sum += share;
    }
    c->window = 2 * TOLERANCE * sum; /* twice what is needed: rounding of s is far below the rest */
    return SURETY_OK;
}

/* s: (m), zeroed. */
static surety_status place_rows(const counting *c, const surety_given_rows *set, double *s, place *out,
                                surety_error *err) {
    size_t i = 0, end = set->m;
    surety_my_share(c->run, &i, &end);
    for (; i < end; i++) {
        if (i % POLLED == POLLED - 1) SURETY_TRY(surety_reading_poll(i, set->m, err));
        surety_table_row(set->table, set->rows[i], c->x);
        for (size_t j = 0; j < c->d; j++)
            if (!isnan(c->x[j])) s[i] += c->weight[j] * (double)c->x[j];
    }
    SURETY_TRY(surety_share_everyone(c->run, s, set->m, 1, sizeof *s, err));
    for (i = 0; i < set->m; i++) out[i] = (place){s[i], set->rows[i], (uint32_t)i};
    return surety_sort(out, set->m, sizeof *out, by_place, err);
}

static surety_status place_set(const counting *c, const surety_given_rows *set, place **out,
                               surety_error *err) {
    double *s = NULL;
    SURETY_TRY(surety_alloc(out, set->m, sizeof **out, err));
    SURETY_TRY(surety_alloc(&s, set->m, sizeof *s, err));
    surety_status status = place_rows(c, set, s, *out, err);
    surety_free(s);
    return status;
}

/* Columns [first, end) of x and y. */
static int alike(const counting *c, const float *x, const float *y, size_t first, size_t end,
                 double tolerance) {
    for (size_t j = first; j < end; j++)
        if (!(fabs((double)x[j] - (double)y[j]) <= tolerance * c->range[j] ||
              (isnan(x[j]) && isnan(y[j])))) /* missing in both */
            return 0;
    return 1;
}

/* The row in c->x and one of a table. Most differ in one of the first columns, which are read alone. */
static int within(const counting *c, const surety_table *t, size_t row, double tolerance) {
    size_t head = c->d < HEAD ? c->d : HEAD;
    for (size_t j = 0; j < head; j++) {
        c->other[j] = surety_table_value(t, row, j);
        if (!alike(c, c->x, c->other, j, j + 1, tolerance)) return 0;
    }
    if (head == c->d) return 1;
    surety_table_row(t, row, c->other);
    return alike(c, c->x, c->other, head, c->d, tolerance);
}

/* The first of m places that is not below s. */
static size_t first_from(const place *list, size_t m, double s) {
    size_t low = 0, high = m;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].s < s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is the row in c->x, which has this place, one of set b up to the tolerance? */
static int occurs(const counting *c, const place *row, int b, double tolerance) {
    const surety_given_rows *B = &c->sets[b];
    const place *list = c->of[b];
    double reach = tolerance > 0 ? c->window : 0;
    size_t k = first_from(list, B->m, row->s - reach);
    for (; k < B->m && list[k].s <= row->s + reach; k++)
        if (within(c, B->table, list[k].row, tolerance)) return 1;
    return 0;
}

/* Rows of set a that occur in set b: equal ones, and near ones. */
static surety_status count_pair(const counting *c, int a, int b, uint64_t *equal, uint64_t *near,
                                surety_error *err) {
    int64_t found[2] = {0}; /* by this process, of its share */
    size_t i = 0, end = c->sets[a].m;
    surety_my_share(c->run, &i, &end);
    for (; i < end; i++) {
        if (i % POLLED == POLLED - 1) SURETY_TRY(surety_reading_poll(i, c->sets[a].m, err));
        const place *row = &c->of[a][i];
        surety_table_row(c->sets[a].table, row->row, c->x);
        int same = occurs(c, row, b, 0);
        found[0] += same;
        if (near) found[1] += same || occurs(c, row, b, TOLERANCE);
    }
    SURETY_TRY(surety_sum_everyone(c->run, found, 2, err));
    *equal = (uint64_t)found[0];
    if (near) *near = (uint64_t)found[1];
    return SURETY_OK;
}

/* Rows of a set that are near one before them in the set: of equal rows, all but one. */
static uint64_t count_repeats(const counting *c, int set) {
    const surety_table *t = c->sets[set].table;
    const place *list = c->of[set];
    size_t m = c->sets[set].m;
    uint64_t repeats = 0;
    for (size_t i = 0; i < m; i++) {
        size_t k = first_from(list, m, list[i].s - c->window);
        surety_table_row(t, list[i].row, c->x);
        while (k < m && list[k].s <= list[i].s + c->window &&
               (list[k].i >= list[i].i || !within(c, t, list[k].row, TOLERANCE)))
            k++;
        repeats += k < m && list[k].s <= list[i].s + c->window;
    }
    return repeats;
}

static surety_status count(counting *c, surety_copies *out, surety_error *err) {
    SURETY_TRY(surety_alloc(&c->x, c->d, sizeof *c->x, err));
    SURETY_TRY(surety_alloc(&c->other, c->d, sizeof *c->other, err));
    SURETY_TRY(surety_alloc(&c->range, c->d, sizeof(double), err));
    SURETY_TRY(surety_alloc(&c->weight, c->d, sizeof(double), err));
    SURETY_TRY(measure_ranges(c, err));
    for (int k = 0; k < SURETY_SETS; k++) SURETY_TRY(place_set(c, &c->sets[k], &c->of[k], err));
    SURETY_TRY(count_pair(c, SURETY_SET_LEARN, SURETY_SET_PRIOR, &out->learn_in_prior,
                          &out->near_learn_in_prior, err));
    SURETY_TRY(
        count_pair(c, SURETY_SET_TEST, SURETY_SET_PRIOR, &out->test_in_prior, &out->near_test_in_prior, err));
    SURETY_TRY(count_pair(c, SURETY_SET_TEST, SURETY_SET_LEARN, &out->test_in_learn, NULL, err));
    out->learn_repeats = count_repeats(c, SURETY_SET_LEARN);
    return SURETY_OK;
}

surety_status surety_copies_count(surety_copies *out, const surety_given_rows sets[SURETY_SETS],
                                  const surety_run *run, surety_error *err) {
    counting c = {.run = run, .sets = sets, .d = sets[SURETY_SET_LEARN].table->d};
    *out = (surety_copies){
        .learn = sets[SURETY_SET_LEARN].m, .test = sets[SURETY_SET_TEST].m, .tolerance = TOLERANCE};
    surety_status status = count(&c, out, err);
    surety_free(c.x);
    surety_free(c.other);
    surety_free(c.range);
    surety_free(c.weight);
    for (int k = 0; k < SURETY_SETS; k++) surety_free(c.of[k]);
    return status;
}

/* ---- dropping ---- */

typedef struct digested {
    const uint8_t *digest;
    uint32_t row;
    uint8_t known;
} digested;

/* Known rows before the others, rows of one kind in their order. */
static int by_digest(const void *a, const void *b) {
    const digested *x = a, *y = b;
    int order = memcmp(x->digest, y->digest, SURETY_SHA256_BYTES);
    if (order) return order;
    if (x->known != y->known) return y->known - x->known;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* One row of equal ones stays. */
static void compare_kinds(surety_kinds *k, const digested *equal, size_t count, uint32_t stays) {
    for (size_t i = 0; i < count; i++) {
        k->other_class += k->classes && k->classes[equal[i].row] != k->classes[stays];
        k->other_group += k->groups && k->groups[equal[i].row] != k->groups[stays];
    }
}

surety_status surety_copies_drop(uint32_t *rows, size_t *count, const uint8_t *digests,
                                 const surety_known *known, uint64_t seed, surety_kinds *kinds,
                                 surety_error *err) {
    digested *all = NULL;
    size_t more = known ? known->count : 0, total = *count + more, kept = 0;
    SURETY_TRY(surety_alloc(&all, total, sizeof *all, err));
    for (size_t i = 0; i < *count; i++)
        all[i] = (digested){digests + SURETY_SHA256_BYTES * (size_t)rows[i], rows[i], 0};
    for (size_t i = 0; i < more; i++)
        all[*count + i] =
            (digested){known->digests + SURETY_SHA256_BYTES * (size_t)known->rows[i], known->rows[i], 1};
    surety_status status = surety_sort(all, total, sizeof *all, by_digest, err);
    for (size_t i = 0, end; i < total && status == SURETY_OK; i = end) {
        for (end = i + 1; end < total && !memcmp(all[i].digest, all[end].digest, SURETY_SHA256_BYTES);) end++;
        const surety_address address = {.purpose = SURETY_FOR_COPIES, .row = all[i].row};
        if (all[i].known) continue;
        rows[kept] = all[i + surety_random_below(seed, address, 0, (uint32_t)(end - i))].row;
        compare_kinds(kinds, all + i, end - i, rows[kept++]);
    }
    if (status == SURETY_OK) status = surety_sort(rows, kept, sizeof *rows, by_row, err);
    *count = kept;
    surety_free(all);
    return status;
}
