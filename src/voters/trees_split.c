/* Growing one tree (docs/theory.md 10.5). With w the values of leaves and g the weights of rows, a split
 * lowers the sum over rows of g exp(-worst y w): rows on both sides of the threshold count on the worse one.
 * Of the sums P, N of weights on a side, by sign, the best value there is 1/2 ln(P/N), cut at +-1.
 *
 *   left side the lower one:  left (T+ - R+, L-), right (R+, T- - L-)
 *   right side the lower one: left (L+, T- - R-), right (T+ - L+, R-)
 *
 * L, R being the sums of rows that are to the left and to the right, T those of all. A row on both sides goes
 * on with the side that is worse for it, so that the rows of the children are those of their parent, and so
 * are their sums: those of the larger child come by subtraction. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "voters/trees_grow.h"

enum { FEATURES = 64 }; /* of a block of the search for splits */

#define E 2.718281828459045
#define E2 7.38905609893065
#define LEAST_GAIN 1e-7 /* relative: less is rounding */

/* A split and what it gives. */
typedef struct found {
    double loss, low, high; /* values of left and right */
    surety_tree_split split;
} found;

struct surety_splitter {
    size_t depth, slots;
    uint32_t *order, *spare; /* (m): rows, those of a node side by side */
    int64_t *sums;           /* (depth, slots) */
    found *best;             /* per block of features */
    /* the node at work */
    const surety_grow_rows *rows;
    const surety_tree_split *split;
    const int64_t *node_sums;
    int64_t total;
    size_t node;
};

void surety_splitter_free(surety_splitter *s) {
    if (!s) return;
    void *parts[] = {s->order, s->spare, s->sums, s->best, s};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

static size_t blocks_of(const surety_grid *g) {
    return (g->d + FEATURES - 1) / FEATURES;
}

surety_status surety_splitter_new(surety_splitter **out, const surety_grid *grid, size_t m, size_t depth,
                                  surety_error *err) {
    surety_splitter *s;
    *out = NULL;
    SURETY_TRY(surety_alloc(&s, 1, sizeof *s, err));
    *out = s;
    s->depth = depth;
    s->slots = grid->slot[grid->d];
    SURETY_TRY(surety_alloc(&s->order, m, sizeof *s->order, err));
    SURETY_TRY(surety_alloc(&s->spare, m, sizeof *s->spare, err));
    SURETY_TRY(surety_alloc(&s->sums, depth * s->slots, sizeof *s->sums, err));
    return surety_alloc(&s->best, blocks_of(grid), sizeof *s->best, err);
}

/* ---- sums ---- */

/* Of the rows of a node, those of all processes. */
static surety_status add_rows(const surety_grow_rows *r, const uint32_t *rows, size_t count, int64_t *sums,
                              size_t slots, int64_t *of_all, surety_error *err) {
    int64_t total = 0;
    memset(sums, 0, slots * sizeof *sums);
    for (size_t n = 0; n < count; n++) {
        uint32_t i = rows[n];
        int64_t w = r->weight[i];
        if (!w) continue;
        total += w;
        for (uint32_t e = r->start[i]; e < r->start[i + 1]; e++) sums[r->slots[e]] += w;
    }
    SURETY_TRY(surety_sum_everyone(r->run, sums, slots, err));
    SURETY_TRY(surety_sum_everyone(r->run, &total, 1, err));
    const surety_grid *g = r->grid;
    for (size_t j = 0; j < g->d; j++) { /* the usual cell has what is left */
        int64_t rest = total;
        for (uint32_t k = g->slot[j]; k < g->slot[j + 1]; k++) rest -= sums[k];
        sums[g->slot[j] + g->usual[j]] += rest;
    }
    *of_all = total;
    return SURETY_OK;
}

/* ---- one node ---- */

static inline double loss_of(double P, double N) {
    double root = 2 * sqrt(P * N), plus = P * (1 / E) + N * E, minus = P * E + N * (1 / E);
    return P > E2 * N ? plus : N > E2 * P ? minus : root;
}

static double value_of(double P, double N) {
    return fmin(fmax(0.5 * log(P / N), -1), 1);
}

/* The thresholds of one feature, n of them: sums of rows to the left and to the right of each. */
typedef struct sides {
    double L_plus[SURETY_GRID_MOST + 1], L_minus[SURETY_GRID_MOST + 1];
    double R_plus[SURETY_GRID_MOST + 1], R_minus[SURETY_GRID_MOST + 1];
    double loss[SURETY_GRID_MOST + 1];
} sides;

/* loss: infinite where neither case is consistent. */
static void weigh(sides *s, size_t n, double plus, double minus, double smooth) {
    for (size_t i = 0; i < n; i++) {
        double lp = s->L_plus[i] + smooth, lm = s->L_minus[i] + smooth, rp = s->R_plus[i] + smooth,
               rm = s->R_minus[i] + smooth;
        double a_p = plus + 2 * smooth - rp, a_m = minus + 2 * smooth - lm; /* left's P, right's N */
        double b_m = minus + 2 * smooth - rm, b_p = plus + 2 * smooth - lp; /* left's N, right's P */
        double first = loss_of(a_p, lm) + loss_of(rp, a_m), second = loss_of(lp, b_m) + loss_of(b_p, rm);
        first = a_p * a_m <= rp * lm ? first : HUGE_VAL;
        second = lp * rm >= b_p * b_m ? second : HUGE_VAL;
        s->loss[i] = first < second ? first : second;
    }
}

static void gather(sides *s, const surety_grid *g, size_t j, const int64_t *sums, int64_t to_left,
                   int64_t to_right) {
    int64_t up_to[256];
    size_t cells = g->cells[j], first = g->first[j], n = g->first[j + 1] - first;
    up_to[0] = 0;
    for (size_t c = 0; c < cells; c++) up_to[c + 1] = up_to[c] + sums[c];
    for (size_t i = 0; i < n; i++) {
        uint8_t from = g->right[first + i];
        int64_t left = up_to[g->left[first + i]] + to_left,
                right = (from < cells ? up_to[cells] - up_to[from] : 0) + to_right;
        s->L_plus[i] = surety_grow_plus(left), s->L_minus[i] = surety_grow_minus(left);
        s->R_plus[i] = surety_grow_plus(right), s->R_minus[i] = surety_grow_minus(right);
    }
}

static void look_at(const surety_splitter *s, size_t j, int missing, found *best) {
    const surety_grow_rows *r = s->rows;
    const surety_grid *g = r->grid;
    const int64_t *sums = s->node_sums + g->slot[j];
    int64_t nan = sums[g->cells[j]];
    double plus = surety_grow_plus(s->total), minus = surety_grow_minus(s->total);
    size_t n = g->first[j + 1] - g->first[j];
    sides side;
    gather(&side, g, j, sums, missing ? nan : 0, missing ? 0 : nan);
    weigh(&side, n, plus, minus, r->smooth);
    uint32_t from, to;
    surety_split_open(g, s->split, s->node, j, &from, &to);
    for (size_t i = from - g->first[j]; i + g->first[j] < to; i++) {
        if (!(side.loss[i] < best->loss)) continue;
        *best =
            (found){.loss = side.loss[i], .split = {(int32_t)j, g->first[j] + (uint32_t)i, (uint8_t)missing}};
        double lp = side.L_plus[i] + r->smooth, lm = side.L_minus[i] + r->smooth,
               rp = side.R_plus[i] + r->smooth, rm = side.R_minus[i] + r->smooth, both = 2 * r->smooth;
        double a_p = plus + both - rp, a_m = minus + both - lm, b_m = minus + both - rm,
               b_p = plus + both - lp;
        int first = a_p * a_m <= rp * lm && loss_of(a_p, lm) + loss_of(rp, a_m) == side.loss[i];
        best->low = first ? value_of(a_p, lm) : value_of(lp, b_m);
        best->high = first ? value_of(rp, a_m) : value_of(b_p, rm);
    }
}

/* Which features of a block a node sees, one bit each: number k has u_k >= mask, where u_k has the first
 * DIGITS binary digits of a uniform number. Two words of bits are one digit of all features. */
static uint64_t draw_features(const surety_splitter *s, size_t block) {
    enum { DIGITS = 8, FEW = 8 };
    const surety_grow_rows *r = s->rows;
    uint64_t above = 0, equal = UINT64_MAX; /* u_k > mask, u_k = mask, as far as digits have been drawn */
    double rest = ceil(r->mask * (1 << DIGITS)) / (1 << DIGITS);
    if (r->grid->d <= FEW) return UINT64_MAX;
    for (uint32_t digit = 0; digit < DIGITS && rest > 0; digit++) {
        surety_address address = {.row = (uint32_t)s->node,
                                  .sample = r->tree,
                                  .purpose = SURETY_FOR_FEATURES,
                                  .restart = digit / 2};
        uint32_t bits[4];
        surety_random_bits(r->seed, &address, (uint32_t)block, bits);
        const uint32_t *two = bits + digit % 2 * 2;
        uint64_t ones = (uint64_t)two[1] << 32 | two[0];
        int is = (rest *= 2) >= 1;
        rest -= is;
        above |= is ? 0 : equal & ones;
        equal &= is ? ones : ~ones;
    }
    return above | equal;
}

/* The best split of a block of features, among those that are drawn for the node. */
static surety_status look_block(void *arg, size_t block, int thread, surety_error *err) {
    surety_splitter *s = arg;
    const surety_grow_rows *r = s->rows;
    (void)thread, (void)err;
    uint64_t seen = draw_features(s, block);
    found best = {.loss = HUGE_VAL, .split = {.feature = SURETY_GROW_NONE}};
    size_t end = (block + 1) * FEATURES < r->grid->d ? (block + 1) * FEATURES : r->grid->d;
    for (size_t j = block * FEATURES; j < end; j++) {
        if (!(seen >> j % FEATURES & 1)) continue;
        const int64_t *sums = s->node_sums + r->grid->slot[j];
        if (sums[r->grid->usual[j]] == s->total) continue; /* all are in one cell */
        look_at(s, j, 0, &best);
        if (sums[r->grid->cells[j]]) look_at(s, j, 1, &best);
    }
    s->best[block] = best;
    return SURETY_OK;
}

static surety_status find_split(surety_splitter *s, size_t node, const int64_t *sums, int64_t total,
                                found *best, surety_error *err) {
    s->node_sums = sums, s->total = total, s->node = node;
    size_t blocks = blocks_of(s->rows->grid);
    SURETY_TRY(surety_parallel(s->rows->run, NULL, blocks, look_block, s, err));
    double smooth = s->rows->smooth;
    double now = loss_of(surety_grow_plus(total) + 2 * smooth, surety_grow_minus(total) + 2 * smooth);
    *best = (found){.loss = now - now * LEAST_GAIN, .split = {.feature = SURETY_GROW_NONE}};
    for (size_t b = 0; b < blocks; b++)
        if (s->best[b].loss < best->loss) *best = s->best[b];
    return SURETY_OK;
}

/* Rows of a node to its children, in their order; how many go left. */
static size_t part(const surety_splitter *s, uint32_t *rows, size_t count, const found *f) {
    const surety_grow_rows *r = s->rows;
    size_t d = r->grid->d, left = 0, right = 0;
    for (size_t n = 0; n < count; n++) {
        uint32_t i = rows[n];
        int ways = surety_split_ways(r->grid, &f->split, r->celled->cell + i * d);
        if (ways == (SURETY_GO_LEFT | SURETY_GO_RIGHT))
            ways = (f->low < f->high) == (r->sign[i] > 0) ? SURETY_GO_LEFT : SURETY_GO_RIGHT;
        if (ways == SURETY_GO_LEFT)
            rows[left++] = i;
        else
            s->spare[right++] = i;
    }
    memcpy(rows + left, s->spare, right * sizeof *rows);
    return left;
}

typedef struct job {
    surety_tree_split *split;
    double *value;
} job;

/* A node that may be split: its rows, and the sums over them. */
typedef struct growing {
    size_t node, level;
    uint32_t *rows;
    size_t count;
    int64_t *sums, total;
} growing;

static surety_status grow_node(surety_splitter *s, const job *to, const growing *g, surety_error *err) {
    found f;
    SURETY_TRY(find_split(s, g->node, g->sums, g->total, &f, err));
    if (f.split.feature == SURETY_GROW_NONE) return SURETY_OK;
    size_t left = part(s, g->rows, g->count, &f), child = 2 * g->node + 1, level = g->level + 1;
    to->split[g->node] = f.split;
    to->value[child] = f.low, to->value[child + 1] = f.high;
    if (level == s->depth) return SURETY_OK;
    growing of[2] = {{.node = child, .level = level, .rows = g->rows, .count = left},
                     {.node = child + 1, .level = level, .rows = g->rows + left, .count = g->count - left}};
    int64_t more = (int64_t)of[1].count - (int64_t)left; /* rows of the right child */
    SURETY_TRY(surety_sum_everyone(s->rows->run, &more, 1, err));
    growing *few = &of[more < 0], *many = &of[more >= 0];
    few->sums = s->sums + level * s->slots;
    SURETY_TRY(add_rows(s->rows, few->rows, few->count, few->sums, s->slots, &few->total, err));
    many->sums = g->sums, many->total = g->total - few->total;
    for (size_t k = 0; k < s->slots; k++) many->sums[k] -= few->sums[k];
    SURETY_TRY(grow_node(s, to, few, err));
    return grow_node(s, to, many, err);
}

surety_status surety_splitter_run(surety_splitter *s, const surety_grow_rows *rows, surety_tree_split *split,
                                  double *value, surety_error *err) {
    size_t m = rows->count, nodes = ((size_t)1 << rows->depth) - 1;
    job to = {split, value};
    s->rows = rows, s->split = split;
    memcpy(s->order, rows->row, m * sizeof *s->order);
    for (size_t i = 0; i < nodes; i++) split[i] = (surety_tree_split){.feature = SURETY_GROW_NONE};
    for (size_t i = 0; i <= 2 * nodes; i++) value[i] = 0;
    int64_t total;
    SURETY_TRY(add_rows(rows, s->order, m, s->sums, s->slots, &total, err));
    value[0] = value_of(surety_grow_plus(total) + rows->smooth, surety_grow_minus(total) + rows->smooth);
    growing root = {.rows = s->order, .count = m, .sums = s->sums, .total = total};
    return grow_node(s, &to, &root, err);
}
