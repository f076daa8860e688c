/* Training of the kind `trees`: boosting, against every point of a linf ball or without one
 * (docs/theory.md 10.5). An epoch grows one tree; of K > 2 classes one for each *duel*, two classes a < b,
 * whose rows alone it sees.
 *
 * limit_ik is the sum over the trees of the duel of y_i and k of the worst leaf that the ball of row i may
 * reach, counted for y_i: above 0, the duel is proved. There a row weighs g = 4 s(-limit)^2 s(limit), s the
 * sigmoid: little where it is hopeless, little where it is proved.
 *
 * While they grow, trees lie in tensors with room for all: full trees of the depth asked for, a test that
 * everything passes to the right (threshold -FLT_MAX) where there is none. Everything else follows from these
 * and the data, so that a checkpoint is the tensors. */
#include "voters/trees_grow.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/parallel.h"

enum { ROWS = 512 }; /* of a block */

/* What is added to each sum of weights, in rows of weight 1. */
#define SMOOTH 0.5

/* The rows of a set that are this process's, and their limits. */
typedef struct party {
    surety_set set;
    surety_celled celled;
    const uint8_t *y;           /* (m) */
    uint32_t *by_class, *begin; /* (m): rows of class k are by_class[begin[k] .. begin[k + 1]) */
    uint32_t *row;              /* (m): those of the duel at work, count of them */
    size_t count;
    double *limit; /* (m, K) */
} party;

struct surety_tree_growth {
    surety_grid grid;
    party train, other; /* the set that chooses, or no rows */
    uint32_t *start, *slots;
    size_t classes, duels, depth; /* duels: trees of an epoch */
    double *g;                    /* (m), rows of train, as the next two */
    int64_t *weight;              /* (m) */
    int8_t *sign;                 /* (m) */
    surety_splitter *splitter;
    surety_tree_split *split; /* (2^depth - 1) */
    double *value;            /* (2^(depth + 1) - 1) */
    size_t a, b;              /* the duel at work */
    party *to;                /* the loop at work */
};

static void party_free(party *p) {
    void *parts[] = {p->celled.cell, p->by_class, p->begin, p->row, p->limit};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

void surety_tree_growth_free(surety_tree_growth *g) {
    if (!g) return;
    surety_grid_free(&g->grid);
    surety_splitter_free(g->splitter);
    party_free(&g->train);
    party_free(&g->other);
    void *parts[] = {g->start, g->slots, g->g, g->weight, g->sign, g->split, g->value, g};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

/* ---- what does not change ---- */

/* The sums that each row adds to: those of the cells that are not the usual one. */
static surety_status list_slots(surety_tree_growth *g, surety_error *err) {
    const surety_grid *grid = &g->grid;
    size_t m = g->train.celled.m, d = grid->d, count = 0;
    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (size_t i = 0; i < m; i++) {
            const uint8_t *cell = g->train.celled.cell + i * d;
            if (pass) g->start[i] = (uint32_t)count;
            for (size_t j = 0; j < d; j++) {
                if (cell[j] == grid->usual[j]) continue;
                uint32_t at = cell[j] == SURETY_CELL_MISSING ? grid->cells[j] : cell[j];
                if (pass) g->slots[count] = grid->slot[j] + at;
                count++;
            }
        }
        if (pass) break;
        if (count > UINT32_MAX) return surety_fail(err, SURETY_E_MEMORY, "too many rows to grow trees on");
        SURETY_TRY(surety_alloc(&g->start, m + 1, sizeof *g->start, err));
        SURETY_TRY(surety_alloc(&g->slots, count, sizeof *g->slots, err));
    }
    g->start[m] = (uint32_t)count;
    return SURETY_OK;
}

static surety_status sort_rows(party *p, size_t classes, surety_error *err) {
    size_t m = p->celled.m;
    p->y = p->set.y + p->celled.first;
    SURETY_TRY(surety_alloc(&p->by_class, m, sizeof *p->by_class, err));
    SURETY_TRY(surety_alloc(&p->begin, classes + 2, sizeof *p->begin, err));
    SURETY_TRY(surety_alloc(&p->row, m, sizeof *p->row, err));
    SURETY_TRY(surety_alloc(&p->limit, m * classes, sizeof *p->limit, err));
    for (size_t i = 0; i < m; i++) p->begin[p->y[i] + 2]++;
    for (size_t k = 0; k <= classes; k++) p->begin[k + 1] += p->begin[k];
    for (size_t i = 0; i < m; i++) p->by_class[p->begin[p->y[i] + 1]++] = (uint32_t)i;
    return SURETY_OK;
}

static surety_status allocate(surety_tree_growth *g, surety_error *err) {
    size_t m = g->train.celled.m, nodes = ((size_t)2 << g->depth) - 1;
    SURETY_TRY(sort_rows(&g->train, g->classes, err));
    SURETY_TRY(sort_rows(&g->other, g->classes, err));
    SURETY_TRY(surety_alloc(&g->g, m, sizeof *g->g, err));
    SURETY_TRY(surety_alloc(&g->weight, m, sizeof *g->weight, err));
    SURETY_TRY(surety_alloc(&g->sign, m, sizeof *g->sign, err));
    SURETY_TRY(surety_alloc(&g->split, nodes / 2, sizeof *g->split, err));
    return surety_alloc(&g->value, nodes, sizeof *g->value, err);
}

/* ---- limits ---- */

static void pick_rows(party *p, size_t a, size_t b) {
    const size_t of[] = {a, b};
    p->count = 0;
    for (size_t n = 0; n < 2; n++) {
        size_t count = p->begin[of[n] + 1] - p->begin[of[n]];
        memcpy(p->row + p->count, p->by_class + p->begin[of[n]], count * sizeof *p->row);
        p->count += count;
    }
}

/* Duel number n, counted through a and then b. */
static void open_duel(surety_tree_growth *g, size_t n) {
    for (g->a = 0, g->b = n + 1; g->b >= g->classes; g->a++) g->b = g->b - g->classes + g->a + 2;
    pick_rows(&g->train, g->a, g->b);
    pick_rows(&g->other, g->a, g->b);
}

/* Where the limit of row i in the duel at work is. */
static double *limit_of(const surety_tree_growth *g, const party *p, uint32_t i) {
    return &p->limit[i * g->classes + (p->y[i] == g->b ? g->a : g->b)];
}

/* Adds the tree at work to the limits of a block of rows. */
static surety_status add_block(void *arg, size_t block, int thread, surety_error *err) {
    const surety_tree_growth *g = arg;
    const party *p = g->to;
    uint32_t *found;
    (void)thread;
    SURETY_TRY(surety_alloc(&found, (size_t)1 << g->depth, sizeof *found, err));
    size_t end = (block + 1) * ROWS < p->count ? (block + 1) * ROWS : p->count;
    for (size_t at = block * ROWS; at < end; at++) {
        uint32_t i = p->row[at];
        size_t n = surety_tree_reachable(&g->grid, g->split, g->depth, p->celled.cell + i * p->set.d, found);
        int sign = p->y[i] == g->b ? 1 : -1;
        double least = sign * g->value[found[0]];
        for (size_t k = 1; k < n; k++) least = fmin(least, sign * g->value[found[k]]);
        *limit_of(g, p, i) += least;
    }
    surety_free(found);
    return SURETY_OK;
}

static surety_status add_tree(surety_tree_growth *g, const surety_run *run, surety_error *err) {
    g->to = &g->train;
    SURETY_TRY(surety_parallel(run, NULL, (g->to->count + ROWS - 1) / ROWS, add_block, g, err));
    g->to = &g->other;
    return surety_parallel(run, NULL, (g->to->count + ROWS - 1) / ROWS, add_block, g, err);
}

/* ---- trees in tensors ---- */

static size_t inner_of(const surety_tree_growth *g) {
    return ((size_t)1 << g->depth) - 1;
}

/* The leftmost leaf below a node of the heap. */
static size_t leaf_below(size_t node, size_t inner) {
    while (node < inner) node = 2 * node + 1;
    return node - inner;
}

static void write_tree(surety_voters *v, const surety_tree_growth *g, size_t tree) {
    size_t inner = inner_of(g);
    double most = 0;
    double *leaves = v->tensors[SURETY_TREES_LEAVES].doubles + tree * (inner + 1);
    for (size_t i = 0; i < inner; i++) {
        const surety_tree_split *s = &g->split[i];
        size_t to = tree * inner + i;
        int is = s->feature != SURETY_GROW_NONE;
        v->tensors[SURETY_TREES_FEATURE].numbers[to] = is ? s->feature : 0;
        v->tensors[SURETY_TREES_THRESHOLD].values[to] = is ? g->grid.threshold[s->at] : -FLT_MAX;
        v->tensors[SURETY_TREES_MISSING].numbers[to] = is ? s->missing : 0;
    }
    for (size_t leaf = 0; leaf <= inner; leaf++) { /* of the highest node that is none */
        size_t node = leaf + inner, is = node;
        for (; node; node = (node - 1) / 2)
            if (g->split[(node - 1) / 2].feature == SURETY_GROW_NONE) is = (node - 1) / 2;
        leaves[leaf] = g->value[is];
        most = fmax(most, fabs(leaves[leaf]));
    }
    if (v->H > 1 && most > 0) v->tensors[SURETY_TREES_SCALE].doubles[tree] = most;
}

static surety_status read_tree(const surety_voters *v, surety_tree_growth *g, size_t tree,
                               surety_error *err) {
    size_t inner = inner_of(g);
    const double *leaves = v->tensors[SURETY_TREES_LEAVES].doubles + tree * (inner + 1);
    for (size_t i = 0; i < inner; i++) {
        float t = v->tensors[SURETY_TREES_THRESHOLD].values[tree * inner + i];
        int32_t j = v->tensors[SURETY_TREES_FEATURE].numbers[tree * inner + i];
        surety_tree_split s = {.feature = SURETY_GROW_NONE};
        if (t > -FLT_MAX) {
            uint32_t at = g->grid.first[j];
            while (at < g->grid.first[j + 1] && g->grid.threshold[at] != t) at++;
            if (at == g->grid.first[j + 1])
                return surety_fail(err, SURETY_E_INPUT, "a tree has a threshold that its data do not give");
            s = (surety_tree_split){j, at,
                                    (uint8_t)v->tensors[SURETY_TREES_MISSING].numbers[tree * inner + i]};
        }
        g->split[i] = s;
    }
    for (size_t i = 0; i <= 2 * inner; i++) g->value[i] = leaves[leaf_below(i, inner)];
    return SURETY_OK;
}

/* ---- beginning ---- */

static surety_status begin(surety_voters *v, const surety_growth *to, surety_error *err) {
    surety_tree_growth *g;
    SURETY_TRY(surety_alloc(&g, 1, sizeof *g, err));
    surety_tree_set_of(v)->growth = g;
    g->train.set = *to->set;
    g->other.set = to->choose ? *to->choose : surety_set_slice(to->set, 0, 0);
    g->train.celled.set = &g->train.set, g->other.celled.set = &g->other.set;
    g->classes = v->classes;
    g->duels = v->classes * (v->classes - 1) / 2;
    size_t each = v->tensors[SURETY_TREES_LEAVES].shape[0] / v->tensors[SURETY_TREES_ROOTS].shape[0];
    while ((size_t)1 << g->depth < each) g->depth++;
    SURETY_TRY(surety_grid_new(&g->grid, &g->train.celled, &g->other.celled, to->ball, to->run, err));
    SURETY_TRY(list_slots(g, err));
    SURETY_TRY(allocate(g, err));
    SURETY_TRY(surety_splitter_new(&g->splitter, &g->grid, g->train.celled.m, g->depth, err));
    for (size_t t = 0; t < to->epoch * g->duels; t++) { /* a training that goes on */
        open_duel(g, t % g->duels);
        SURETY_TRY(read_tree(v, g, t, err));
        SURETY_TRY(add_tree(g, to->run, err));
    }
    return SURETY_OK;
}

/* ---- an epoch ---- */

static double sigmoid(double z) {
    return 1 / (1 + exp(-z));
}

static double row_weight(double limit) {
    double wrong = sigmoid(-limit);
    return 4 * wrong * wrong * (1 - wrong);
}

/* Of values from 0 to `most`, one for each of m rows: a whole number whose sum over the rows stays below
 * 2^62. Such sums are the same in any order, and so for any number of processes. */
static int64_t countable(double value, double most, size_t m) {
    return (int64_t)(value / most * (0x1p61 / (double)m) + 0.5);
}

/* The sum of g over the rows of the duel, of all processes. */
static surety_status sum_weights(const surety_tree_growth *g, double *sum, const surety_run *run,
                                 surety_error *err) {
    const party *p = &g->train;
    double most = 0;
    int64_t all = 0;
    for (size_t n = 0; n < p->count; n++) most = fmax(most, g->g[p->row[n]]);
    SURETY_TRY(surety_most_everyone(run, &most, 1, err));
    for (size_t n = 0; n < p->count && most > 0; n++) all += countable(g->g[p->row[n]], most, p->set.m);
    SURETY_TRY(surety_sum_everyone(run, &all, 1, err));
    *sum = (double)all * most * ((double)p->set.m / 0x1p61);
    return SURETY_OK;
}

/* Weights as whole numbers, all together 2^30; one: what a row of weight 1 is. */
static surety_status weigh_rows(surety_tree_growth *g, const double *balance, double *one,
                                const surety_run *run, surety_error *err) {
    const party *p = &g->train;
    double sum;
    for (size_t n = 0; n < p->count; n++) {
        uint32_t i = p->row[n];
        g->g[i] = balance[p->y[i]] * row_weight(*limit_of(g, p, i));
    }
    SURETY_TRY(sum_weights(g, &sum, run, err));
    *one = sum > 0 ? 0x1p30 / sum : 1;
    for (size_t n = 0; n < p->count; n++) {
        uint32_t i = p->row[n];
        int64_t w = (int64_t)(g->g[i] * *one + 0.5);
        g->sign[i] = p->y[i] == g->b ? 1 : -1;
        g->weight[i] = g->sign[i] > 0 ? w * (INT64_C(1) << 32) : w;
    }
    return SURETY_OK;
}

/* Mean of a smooth stand-in for "not proved", s(-2 limit) of the least limit. */
static surety_status judge(const surety_tree_growth *g, double *value, const surety_run *run,
                           surety_error *err) {
    const party *p = g->other.set.m ? &g->other : &g->train;
    int64_t sum = 0;
    for (size_t i = 0; i < p->celled.m; i++) {
        const double *limit = p->limit + i * g->classes;
        double least = HUGE_VAL;
        for (size_t k = 0; k < g->classes; k++)
            if (k != p->y[i]) least = fmin(least, limit[k]);
        sum += countable(sigmoid(-2 * least), 1, p->set.m);
    }
    SURETY_TRY(surety_sum_everyone(run, &sum, 1, err));
    *value = (double)sum / 0x1p61;
    return SURETY_OK;
}

/* The next tree of the duel at work. What it adds is read from the tensors, as after a kill. */
static surety_status grow_tree(surety_voters *v, surety_tree_growth *g, const surety_growth *to, size_t tree,
                               surety_error *err) {
    double one;
    SURETY_TRY(weigh_rows(g, to->balance, &one, to->run, err));
    surety_grow_rows rows = {.grid = &g->grid,
                             .celled = &g->train.celled,
                             .row = g->train.row,
                             .count = g->train.count,
                             .start = g->start,
                             .slots = g->slots,
                             .weight = g->weight,
                             .sign = g->sign,
                             .smooth = SMOOTH * one,
                             .mask = to->mask,
                             .seed = to->seed,
                             .tree = (uint32_t)tree,
                             .depth = g->depth,
                             .run = to->run};
    SURETY_TRY(surety_splitter_run(g->splitter, &rows, g->split, g->value, err));
    SURETY_TRY(surety_leaves_solve(&rows, g->split, g->value, err));
    for (size_t i = 0; i <= 2 * inner_of(g); i++) g->value[i] *= to->rate;
    write_tree(v, g, tree);
    SURETY_TRY(read_tree(v, g, tree, err));
    return add_tree(g, to->run, err);
}

surety_status surety_trees_grow(surety_voters *v, surety_growth *to, surety_error *err) {
    surety_tree_set *s = v->own;
    if (!s->growth) SURETY_TRY(begin(v, to, err));
    surety_tree_growth *g = s->growth;
    for (size_t n = 0; n < g->duels; n++) {
        open_duel(g, n);
        SURETY_TRY(grow_tree(v, g, to, to->epoch * g->duels + n, err));
    }
    return judge(g, &to->value, to->run, err);
}

/* ---- making and trimming ---- */

/* H voters, one or T, of T trees with N tests. */
static surety_status empty(surety_voters **out, size_t H, size_t T, size_t N, size_t d, size_t classes,
                           surety_error *err) {
    size_t duel = classes > 2, C = duel ? classes : 1;
    surety_shape shapes[SURETY_TREES_TENSORS] = {
        [SURETY_TREES_START] = {"start", SURETY_ELEMENT_F64, 1 + duel, {C, C}},
        [SURETY_TREES_RULES] = {"rule", SURETY_ELEMENT_F64, 1, {SURETY_TREES_FACTS}},
        [SURETY_TREES_SCALE] = {"scale", SURETY_ELEMENT_F64, 1, {H}},
        [SURETY_TREES_LEAVES] = {"leaves", SURETY_ELEMENT_F64, 1, {N + T}},
        [SURETY_TREES_THRESHOLD] = {"nodes.threshold", SURETY_ELEMENT_F32, 1, {N}},
        [SURETY_TREES_FEATURE] = {"nodes.feature", SURETY_ELEMENT_I32, 1, {N}},
        [SURETY_TREES_MISSING] = {"nodes.missing", SURETY_ELEMENT_I32, 1, {N}},
        [SURETY_TREES_LEFT] = {"nodes.left", SURETY_ELEMENT_I32, 1, {N}},
        [SURETY_TREES_RIGHT] = {"nodes.right", SURETY_ELEMENT_I32, 1, {N}},
        [SURETY_TREES_ROOTS] = {"roots", SURETY_ELEMENT_I32, 1, {T}},
        [SURETY_TREES_COLUMNS] = {"columns", SURETY_ELEMENT_I32, 1, {T}},
        [SURETY_TREES_GROUPS] = {"groups", SURETY_ELEMENT_I32, 1, {H}},
        [SURETY_TREES_USES] = {"uses", SURETY_ELEMENT_I32, 1, {d}},
    };
    SURETY_TRY(surety_voters_open(out, surety_kind_trees.name, shapes, SURETY_TREES_TENSORS, err));
    (*out)->tensors[SURETY_TREES_RULES].doubles[SURETY_TREES_RULE] =
        duel ? SURETY_TREES_DUELS : SURETY_TREES_SHARE;
    (*out)->tensors[SURETY_TREES_RULES].doubles[SURETY_TREES_DIVIDE] = 1;
    for (size_t i = 0; i < H; i++) {
        (*out)->tensors[SURETY_TREES_SCALE].doubles[i] = 1;
        (*out)->tensors[SURETY_TREES_GROUPS].numbers[i] = (int32_t)i;
    }
    return SURETY_OK;
}

surety_status surety_trees_make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                                uint64_t seed, surety_error *err) {
    (void)seed;
    size_t K = settings->classes > 2 ? settings->classes : 2, duels = K * (K - 1) / 2, D = settings->depth;
    if (D < 1 || D > SURETY_GROW_DEPTH)
        return surety_fail(err, SURETY_E_USAGE, "trees have a depth of 1 to %d, not %zu", SURETY_GROW_DEPTH,
                           D);
    if (!(settings->mask >= 0 && settings->mask < 1))
        return surety_fail(err, SURETY_E_USAGE, "a mask is at least 0 and below 1, not %g", settings->mask);
    if (K > 2 && settings->apart)
        return surety_fail(err, SURETY_E_USAGE,
                           "trees of %zu classes meet in duels, whose weights cannot be learned: "
                           "the objective is baseline",
                           K);
    if (K > SURETY_DUEL_CLASSES)
        return surety_fail(err, SURETY_E_USAGE, "trees are grown for at most %d classes, not %zu",
                           SURETY_DUEL_CLASSES, K);
    if (settings->count > ((size_t)SURETY_TREE_NODES >> D) / duels)
        return surety_fail(err, SURETY_E_USAGE, "%zu trees of depth %zu%s have too many leaves",
                           settings->count, D, K > 2 ? " for each pair of classes" : "");
    size_t T = settings->count * duels, a = 0, b = 0, inner = ((size_t)1 << D) - 1;
    SURETY_TRY(empty(out, settings->apart ? T : 1, T, T * inner, d, settings->classes, err));
    surety_tensor *of = (*out)->tensors;
    for (size_t t = 0; t < T; t++) {
        of[SURETY_TREES_ROOTS].numbers[t] = (int32_t)(t * inner);
        if (t % duels == 0) a = b = 0;
        if (++b == K) b = ++a + 1;
        of[SURETY_TREES_COLUMNS].numbers[t] = K > 2 ? (int32_t)surety_duel_column(K, a, b) : 0;
        for (size_t i = 0; i < inner; i++)
            for (size_t side = 0; side < 2; side++) {
                size_t child = 2 * i + 1 + side;
                of[SURETY_TREES_LEFT + side].numbers[t * inner + i] =
                    child < inner ? (int32_t)(t * inner + child)
                                  : -1 - (int32_t)(t * (inner + 1) + child - inner);
            }
    }
    for (size_t i = 0; i < T * inner; i++) of[SURETY_TREES_THRESHOLD].values[i] = -FLT_MAX;
    surety_voters_changed(*out);
    return SURETY_OK;
}

/* A tree without the tests that tell nothing, behind those that are there already: its code, as in `roots`.
 */
typedef struct trimming {
    const surety_voters *from;
    surety_tensor *to; /* NULL: nodes are counted only */
    int32_t nodes, leaves;
} trimming;

static int32_t trim_node(trimming *k, int32_t code) {
    const surety_tensor *of = k->from->tensors;
    while (code >= 0 && of[SURETY_TREES_THRESHOLD].values[code] == -FLT_MAX)
        code = of[SURETY_TREES_RIGHT].numbers[code];
    if (code < 0) {
        if (k->to) k->to[SURETY_TREES_LEAVES].doubles[k->leaves] = of[SURETY_TREES_LEAVES].doubles[-1 - code];
        return -1 - k->leaves++;
    }
    int32_t at = k->nodes++;
    if (k->to) {
        int32_t j = of[SURETY_TREES_FEATURE].numbers[code];
        k->to[SURETY_TREES_FEATURE].numbers[at] = j;
        k->to[SURETY_TREES_USES].numbers[j]++;
        k->to[SURETY_TREES_THRESHOLD].values[at] = of[SURETY_TREES_THRESHOLD].values[code];
        k->to[SURETY_TREES_MISSING].numbers[at] = of[SURETY_TREES_MISSING].numbers[code];
    }
    int32_t left = trim_node(k, of[SURETY_TREES_LEFT].numbers[code]);
    int32_t right = trim_node(k, of[SURETY_TREES_RIGHT].numbers[code]);
    if (k->to) k->to[SURETY_TREES_LEFT].numbers[at] = left, k->to[SURETY_TREES_RIGHT].numbers[at] = right;
    return at;
}

/* Trees that say anything; at least one is kept, and all that are voters. */
static size_t trim_trees(trimming *k) {
    const surety_voters *v = k->from;
    size_t T = v->tensors[SURETY_TREES_ROOTS].shape[0], kept = 0;
    for (size_t t = 0; t < T; t++) {
        if (v->H == 1 && !(surety_tree_set_of(v)->most[t] > 0) && (kept || t + 1 < T)) continue;
        int32_t root = trim_node(k, v->tensors[SURETY_TREES_ROOTS].numbers[t]);
        if (k->to) {
            k->to[SURETY_TREES_ROOTS].numbers[kept] = root;
            k->to[SURETY_TREES_COLUMNS].numbers[kept] = v->tensors[SURETY_TREES_COLUMNS].numbers[t];
        }
        kept++;
    }
    return kept;
}

/* What outputs are divided by so that they stay in their range: the largest score. */
static double scale_of(const surety_voters *v) {
    const surety_tree_set *s = surety_tree_set_of(v);
    double most = 0;
    for (size_t c = 0; c < s->C; c++) most = fmax(most, s->size[c]);
    return most > 0 ? most * (1 + 0x1p-30) : 1;
}

surety_status surety_trees_trim(surety_voters **out, const surety_voters *v, surety_error *err) {
    trimming count = {.from = v}, fill = {.from = v};
    size_t T = trim_trees(&count);
    SURETY_TRY(empty(out, v->H, T, (size_t)count.nodes, v->d, v->classes, err));
    fill.to = (*out)->tensors;
    trim_trees(&fill);
    surety_voters_changed(*out);
    double *scale = (*out)->tensors[SURETY_TREES_SCALE].doubles;
    if (v->H > 1)
        memcpy(scale, v->tensors[SURETY_TREES_SCALE].doubles, v->H * sizeof *scale);
    else
        scale[0] = scale_of(*out);
    return SURETY_OK;
}

/* A tree weighs as much as its largest leaf, over which its output is taken: the vote is the sum of the
 * trees. One that says nothing weighs nothing. */
void surety_trees_theta(const surety_voters *v, double *theta) {
    for (size_t t = 0; v->H > 1 && t < v->H; t++)
        theta[t] = surety_tree_set_of(v)->most[t] > 0 ? log(v->tensors[SURETY_TREES_SCALE].doubles[t]) : -800;
}
