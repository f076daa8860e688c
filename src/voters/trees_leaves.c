/* The leaves that rows truly reach, and their values once more (docs/theory.md 10.5).
 *
 * While a tree grows, a row is on one side of each threshold. In the end its ball may reach several leaves,
 * and it counts in the worst one: the loss is sum_i g_i exp(-min over leaves l of row i of y_i w_l). One leaf
 * at a time, the others fixed: with rest_i the worst of the others, row i counts in l while y_i w < rest_i.
 * The derivative in w, N(w) e^w - P(w) e^-w, grows with w, because P, the weight of rows with sign 1 and w <
 * rest_i, falls, and N, that of rows with sign -1 and -w < rest_i, grows: its root is found by bisection, in
 * stages, each with the sums at all points that it may ask for: several processes add them up at once. */
#include <math.h>

#include "base/parallel.h"
#include "voters/trees_grow.h"

enum { ROUNDS = 4, STAGES = 4, PARTS = 8 /* of an interval, in a stage */ };

size_t surety_tree_reachable(const surety_grid *grid, const surety_tree_split *split, size_t depth,
                             const uint8_t *cells, uint32_t *found) {
    uint32_t stack[SURETY_GROW_DEPTH + 2], inner = (UINT32_C(1) << depth) - 1;
    size_t count = 0, open = 0;
    stack[open++] = 0;
    while (open) {
        uint32_t at = stack[--open];
        if (at >= inner || split[at].feature == SURETY_GROW_NONE) {
            found[count++] = at;
            continue;
        }
        int ways = surety_split_ways(grid, &split[at], cells);
        if (ways == (SURETY_GO_LEFT | SURETY_GO_RIGHT)) {
            uint32_t from, to;
            surety_split_open(grid, split, at, (size_t)split[at].feature, &from, &to);
            if (split[at].at >= to) ways = SURETY_GO_LEFT;
            if (split[at].at < from) ways = SURETY_GO_RIGHT;
        }
        if (ways & SURETY_GO_RIGHT) stack[open++] = 2 * at + 2;
        if (ways & SURETY_GO_LEFT) stack[open++] = 2 * at + 1;
    }
    return count;
}

/* Rows, by their place in the list of rows, and leaves that meet. */
typedef struct meetings {
    uint32_t *first, *leaf; /* row n reaches leaf[first[n] .. first[n + 1]) */
    uint32_t *begin, *row;  /* leaf l is reached by row[begin[l] .. begin[l + 1]) */
    double *rest;           /* (longest list of rows): rest_i */
    int64_t *weight;
    int64_t *reached; /* (nodes): how many rows of all processes reach each leaf */
} meetings;

static void meetings_free(meetings *k) {
    void *parts[] = {k->first, k->leaf, k->begin, k->row, k->rest, k->weight, k->reached};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

/* The rows of each leaf, from the leaves of each row. */
static surety_status turn_around(meetings *k, size_t m, size_t nodes, surety_error *err) {
    uint32_t longest = 0;
    SURETY_TRY(surety_alloc(&k->reached, nodes, sizeof *k->reached, err));
    SURETY_TRY(surety_alloc(&k->begin, nodes + 2, sizeof *k->begin, err));
    SURETY_TRY(surety_alloc(&k->row, k->first[m], sizeof *k->row, err));
    uint32_t *begin = k->begin;
    for (uint32_t e = 0; e < k->first[m]; e++) begin[k->leaf[e] + 2]++;
    for (size_t l = 0; l <= nodes; l++) {
        if (begin[l + 1] > longest) longest = begin[l + 1];
        if (l) k->reached[l - 1] = begin[l + 1];
        begin[l + 1] += begin[l];
    }
    for (size_t i = 0; i < m; i++)
        for (uint32_t e = k->first[i]; e < k->first[i + 1]; e++)
            k->row[begin[k->leaf[e] + 1]++] = (uint32_t)i;
    SURETY_TRY(surety_alloc(&k->rest, longest, sizeof *k->rest, err));
    return surety_alloc(&k->weight, longest, sizeof *k->weight, err);
}

static surety_status meet(meetings *k, const surety_grow_rows *r, const surety_tree_split *split,
                          surety_error *err) {
    size_t m = r->count, d = r->grid->d, nodes = ((size_t)2 << r->depth) - 1;
    uint32_t *found;
    SURETY_TRY(surety_alloc(&found, (size_t)1 << r->depth, sizeof *found, err));
    surety_status status = surety_alloc(&k->first, m + 1, sizeof *k->first, err);
    for (size_t n = 0; status == SURETY_OK && n < m; n++) {
        const uint8_t *cells = r->celled->cell + r->row[n] * d;
        size_t count =
            r->weight[r->row[n]] ? surety_tree_reachable(r->grid, split, r->depth, cells, found) : 0;
        if (k->first[n] > UINT32_MAX - count)
            status = surety_fail(err, SURETY_E_MEMORY, "rows and leaves meet too often; a smaller --depth");
        else
            k->first[n + 1] = k->first[n] + (uint32_t)count;
    }
    if (status == SURETY_OK) status = surety_alloc(&k->leaf, k->first[m], sizeof *k->leaf, err);
    for (size_t n = 0; status == SURETY_OK && n < m; n++)
        if (r->weight[r->row[n]])
            surety_tree_reachable(r->grid, split, r->depth, r->celled->cell + r->row[n] * d,
                                  k->leaf + k->first[n]);
    surety_free(found);
    return status == SURETY_OK ? turn_around(k, m, nodes, err) : status;
}

/* The rows that count in a leaf: those with sign 1 are rest and weight [0, plus), those with sign -1 [minus,
 * end). P, N: the weights of those that can go nowhere else, which always count. */
typedef struct listing {
    size_t plus, minus, end;
    int64_t P, N;
} listing;

static listing list_rows(meetings *k, const surety_grow_rows *r, uint32_t l, const double *value) {
    size_t end = k->begin[l + 1] - k->begin[l];
    listing list = {.minus = end, .end = end};
    for (uint32_t b = k->begin[l]; b < k->begin[l + 1]; b++) {
        uint32_t n = k->row[b], i = r->row[n];
        int64_t weight = r->sign[i] > 0 ? r->weight[i] >> 32 : r->weight[i];
        if (k->first[n + 1] - k->first[n] == 1) {
            *(r->sign[i] > 0 ? &list.P : &list.N) += weight;
            continue;
        }
        double rest = HUGE_VAL;
        for (uint32_t e = k->first[n]; e < k->first[n + 1]; e++)
            if (k->leaf[e] != l) rest = fmin(rest, r->sign[i] * value[k->leaf[e]]);
        size_t to = r->sign[i] > 0 ? list.plus++ : --list.minus;
        k->rest[to] = rest;
        k->weight[to] = weight;
    }
    return list;
}

/* P and N at the points from + n step, n = 0 .. PARTS, over the rows of all processes. */
static surety_status weigh_points(const meetings *k, const listing *list, double from, double step,
                                  int64_t (*at)[2], const surety_run *run, surety_error *err) {
    for (size_t n = 0; n <= PARTS; n++) {
        double w = from + (double)n * step;
        int64_t P = list->P, N = list->N;
        for (size_t i = 0; i < list->plus; i++) P += w < k->rest[i] ? k->weight[i] : 0;
        for (size_t i = list->minus; i < list->end; i++) N += -w < k->rest[i] ? k->weight[i] : 0;
        at[n][0] = P, at[n][1] = N;
    }
    return surety_sum_everyone(run, at[0], (size_t)2 * (PARTS + 1), err);
}

/* Is the derivative at w above 0? */
static int rises(const int64_t *at, double w, double smooth) {
    return ((double)at[1] + smooth) * exp(2 * w) > (double)at[0] + smooth;
}

static surety_status solve_leaf(const meetings *k, const listing *list, double smooth, double *value,
                                const surety_run *run, surety_error *err) {
    double from = -1, step = 2;
    int64_t at[PARTS + 1][2];
    for (int stage = 0; stage < STAGES; stage++) {
        size_t a = 0, b = PARTS;
        step /= PARTS;
        SURETY_TRY(weigh_points(k, list, from, step, at, run, err));
        if (!stage && !rises(at[PARTS], 1, smooth)) return *value = 1, SURETY_OK;
        if (!stage && rises(at[0], -1, smooth)) return *value = -1, SURETY_OK;
        while (b - a > 1) {
            size_t mid = (a + b) / 2;
            *(rises(at[mid], from + (double)mid * step, smooth) ? &b : &a) = mid;
        }
        from += (double)a * step;
    }
    *value = from + 0.5 * step;
    return SURETY_OK;
}

static surety_status solve_all(meetings *k, const surety_grow_rows *r, double *value, surety_error *err) {
    size_t nodes = ((size_t)2 << r->depth) - 1;
    SURETY_TRY(surety_sum_everyone(r->run, k->reached, nodes, err));
    for (int round = 0; round < ROUNDS; round++)
        for (uint32_t l = 0; l < nodes; l++) {
            if (!k->reached[l]) continue;
            listing list = list_rows(k, r, l, value);
            SURETY_TRY(solve_leaf(k, &list, r->smooth, &value[l], r->run, err));
        }
    return SURETY_OK;
}

surety_status surety_leaves_solve(const surety_grow_rows *r, const surety_tree_split *split, double *value,
                                  surety_error *err) {
    meetings k = {0};
    surety_status status = meet(&k, r, split, err);
    if (status == SURETY_OK) status = solve_all(&k, r, value, err);
    meetings_free(&k);
    return status;
}
