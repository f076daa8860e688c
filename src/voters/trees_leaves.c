/* The leaves that rows truly reach, and their values once more (docs/theory.md 10.5).
 *
 * While a tree grows, a row is on one side of each threshold. In the end its ball may reach several leaves,
 * and it counts in the worst one: the loss is sum_i g_i exp(-min over leaves l of row i of y_i w_l). One leaf
 * at a time, the others fixed: with rest_i the worst of the others, row i counts in l while y_i w < rest_i.
 * The derivative in w, N(w) e^w - P(w) e^-w, grows with w, because P, the weight of rows with sign 1 and w <
 * rest_i, falls, and N, that of rows with sign -1 and -w < rest_i, grows: its root is found by bisection. */
#include <math.h>

#include "voters/trees_grow.h"

enum { ROUNDS = 4, HALVINGS = 12 };

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
} meetings;

static void meetings_free(meetings *k) {
    void *parts[] = {k->first, k->leaf, k->begin, k->row, k->rest, k->weight};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

/* The rows of each leaf, from the leaves of each row. */
static surety_status turn_around(meetings *k, size_t m, size_t nodes, surety_error *err) {
    uint32_t longest = 0;
    SURETY_TRY(surety_alloc(&k->begin, nodes + 2, sizeof *k->begin, err));
    SURETY_TRY(surety_alloc(&k->row, k->first[m], sizeof *k->row, err));
    uint32_t *begin = k->begin;
    for (uint32_t e = 0; e < k->first[m]; e++) begin[k->leaf[e] + 2]++;
    for (size_t l = 0; l <= nodes; l++) {
        if (begin[l + 1] > longest) longest = begin[l + 1];
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

/* The rows that count in leaf l: rest and weight, those with sign 1 first; how many these are. Rows that can
 * go nowhere else have an infinite rest. */
static size_t list_rows(meetings *k, const surety_grow_rows *r, uint32_t l, const double *value) {
    size_t plus = 0, end = k->begin[l + 1] - k->begin[l], minus = end;
    for (uint32_t b = k->begin[l]; b < k->begin[l + 1]; b++) {
        uint32_t n = k->row[b], i = r->row[n];
        double rest = HUGE_VAL;
        for (uint32_t e = k->first[n]; e < k->first[n + 1]; e++)
            if (k->leaf[e] != l) rest = fmin(rest, r->sign[i] * value[k->leaf[e]]);
        size_t to = r->sign[i] > 0 ? plus++ : --minus;
        k->rest[to] = rest;
        k->weight[to] = r->sign[i] > 0 ? r->weight[i] >> 32 : r->weight[i];
    }
    return plus;
}

/* Is the derivative at w above 0? */
static int rises(const meetings *k, size_t plus, size_t end, double w, double smooth) {
    int64_t P = 0, N = 0;
    for (size_t n = 0; n < plus; n++) P += w < k->rest[n] ? k->weight[n] : 0;
    for (size_t n = plus; n < end; n++) N += -w < k->rest[n] ? k->weight[n] : 0;
    return ((double)N + smooth) * exp(2 * w) > (double)P + smooth;
}

static double solve_leaf(const meetings *k, size_t plus, size_t end, double smooth) {
    double lo = -1, hi = 1;
    if (!rises(k, plus, end, hi, smooth)) return hi;
    if (rises(k, plus, end, lo, smooth)) return lo;
    for (int n = 0; n < HALVINGS; n++) {
        double mid = 0.5 * (lo + hi);
        if (rises(k, plus, end, mid, smooth))
            hi = mid;
        else
            lo = mid;
    }
    return 0.5 * (lo + hi);
}

surety_status surety_leaves_solve(const surety_grow_rows *r, const surety_tree_split *split, double *value,
                                  surety_error *err) {
    meetings k = {0};
    size_t nodes = ((size_t)2 << r->depth) - 1;
    surety_status status = meet(&k, r, split, err);
    for (int round = 0; status == SURETY_OK && round < ROUNDS; round++)
        for (uint32_t l = 0; l < nodes; l++) {
            size_t end = k.begin[l + 1] - k.begin[l];
            if (!end) continue;
            size_t plus = list_rows(&k, r, l, value);
            value[l] = solve_leaf(&k, plus, end, r->smooth);
        }
    meetings_free(&k);
    return status;
}
