/* Training of the kind `trees`: boosting, against every point of a linf ball or without one
 * (docs/theory.md 10.5). An epoch grows one tree (of K > 2 classes one for each class, against all others).
 *
 * limit_i is the sum over trees of the worst leaf that the ball of row i may reach, y f(x) being the sum. A
 * row weighs g = 4 s(-limit)^2 s(limit), s the sigmoid: little where it is hopeless, little where it is
 * proved. Of K > 2 classes the scores of class k have limits of their own (lower ones for the class of the
 * row, upper ones, with a minus, for the others), and a margin against k is the sum of two.
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

struct surety_tree_growth {
    surety_grid grid;
    surety_set train_set, other_set;
    surety_celled train, other; /* the set that chooses, or no rows */
    uint32_t *start, *slots;
    size_t problems, depth;      /* trees of an epoch */
    double *limit, *other_limit; /* (m, problems) */
    double *g;                   /* (m) */
    int64_t *weight;             /* (m) */
    int8_t *sign;                /* (m) */
    surety_splitter *splitter;
    surety_tree_split *split; /* (2^depth - 1) */
    double *value;            /* (2^(depth + 1) - 1) */
    /* the loop at work */
    const surety_celled *to;
    double *to_limit;
    size_t problem;
};

void surety_tree_growth_free(surety_tree_growth *g) {
    if (!g) return;
    surety_grid_free(&g->grid);
    surety_splitter_free(g->splitter);
    void *parts[] = {g->train.cell, g->other.cell, g->start, g->slots, g->limit, g->other_limit,
                     g->g,          g->weight,     g->sign,  g->split, g->value, g};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

/* ---- what does not change ---- */

/* The sums that each row adds to: those of the cells that are not the usual one. */
static surety_status list_slots(surety_tree_growth *g, surety_error *err) {
    const surety_grid *grid = &g->grid;
    size_t m = g->train_set.m, d = grid->d, count = 0;
    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (size_t i = 0; i < m; i++) {
            const uint8_t *cell = g->train.cell + i * d;
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

static surety_status allocate(surety_tree_growth *g, surety_error *err) {
    size_t m = g->train_set.m, nodes = ((size_t)2 << g->depth) - 1;
    SURETY_TRY(surety_alloc(&g->limit, m * g->problems, sizeof *g->limit, err));
    SURETY_TRY(surety_alloc(&g->other_limit, g->other_set.m * g->problems, sizeof *g->other_limit, err));
    SURETY_TRY(surety_alloc(&g->g, m, sizeof *g->g, err));
    SURETY_TRY(surety_alloc(&g->weight, m, sizeof *g->weight, err));
    SURETY_TRY(surety_alloc(&g->sign, m, sizeof *g->sign, err));
    SURETY_TRY(surety_alloc(&g->split, nodes / 2, sizeof *g->split, err));
    return surety_alloc(&g->value, nodes, sizeof *g->value, err);
}

/* ---- limits ---- */

static int sign_of(const surety_tree_growth *g, uint8_t y, size_t problem) {
    return g->problems == 1 ? surety_sign(y) : y == problem ? 1 : -1;
}

/* Adds the tree at work to the limits of a block of rows. */
static surety_status add_block(void *arg, size_t block, int thread, surety_error *err) {
    const surety_tree_growth *g = arg;
    const surety_set *set = g->to->set;
    uint32_t *found;
    (void)thread;
    SURETY_TRY(surety_alloc(&found, (size_t)1 << g->depth, sizeof *found, err));
    size_t end = (block + 1) * ROWS < set->m ? (block + 1) * ROWS : set->m;
    for (size_t i = block * ROWS; i < end; i++) {
        size_t n = surety_tree_reachable(&g->grid, g->split, g->depth, g->to->cell + i * set->d, found);
        int sign = sign_of(g, set->y[i], g->problem);
        double least = sign * g->value[found[0]];
        for (size_t k = 1; k < n; k++) least = fmin(least, sign * g->value[found[k]]);
        g->to_limit[i * g->problems + g->problem] += least;
    }
    surety_free(found);
    return SURETY_OK;
}

static surety_status add_tree(surety_tree_growth *g, size_t problem, const surety_run *run,
                              surety_error *err) {
    g->problem = problem;
    g->to = &g->train, g->to_limit = g->limit;
    SURETY_TRY(surety_parallel(run, NULL, (g->train_set.m + ROWS - 1) / ROWS, add_block, g, err));
    g->to = &g->other, g->to_limit = g->other_limit;
    return surety_parallel(run, NULL, (g->other_set.m + ROWS - 1) / ROWS, add_block, g, err);
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
    }
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
    g->train_set = *to->set;
    g->other_set = to->choose ? *to->choose : surety_set_slice(to->set, 0, 0);
    g->train.set = &g->train_set, g->other.set = &g->other_set;
    g->problems = v->classes > 2 ? v->classes : 1;
    size_t each = v->tensors[SURETY_TREES_LEAVES].shape[0] / v->tensors[SURETY_TREES_ROOTS].shape[0];
    while ((size_t)1 << g->depth < each) g->depth++;
    SURETY_TRY(surety_grid_new(&g->grid, &g->train, &g->other, to->ball, err));
    SURETY_TRY(list_slots(g, err));
    SURETY_TRY(allocate(g, err));
    SURETY_TRY(surety_splitter_new(&g->splitter, &g->grid, g->train_set.m, g->depth, err));
    for (size_t t = 0; t < to->epoch * g->problems; t++) { /* a training that goes on */
        SURETY_TRY(read_tree(v, g, t, err));
        SURETY_TRY(add_tree(g, t % g->problems, to->run, err));
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

/* The weight of row i in a problem: of K > 2 classes that of its own class counts against all others. */
static double weigh_row(const surety_tree_growth *g, size_t i, size_t problem) {
    const double *limit = g->limit + i * g->problems;
    size_t y = g->train_set.y[i];
    if (g->problems == 1) return row_weight(limit[0]);
    if (problem != y) return row_weight(limit[y] + limit[problem]);
    double sum = 0;
    for (size_t k = 0; k < g->problems; k++)
        if (k != y) sum += row_weight(limit[y] + limit[k]);
    return sum;
}

/* Weights as whole numbers, all together 2^30; what a row of weight 1 is. */
static double weigh_rows(surety_tree_growth *g, size_t problem, const double *balance) {
    double sum = 0;
    for (size_t i = 0; i < g->train_set.m; i++)
        sum += g->g[i] = balance[g->train_set.y[i]] * weigh_row(g, i, problem);
    double one = sum > 0 ? 0x1p30 / sum : 0;
    for (size_t i = 0; i < g->train_set.m; i++) {
        int64_t w = (int64_t)(g->g[i] * one + 0.5);
        g->sign[i] = (int8_t)sign_of(g, g->train_set.y[i], problem);
        g->weight[i] = g->sign[i] > 0 ? w * (INT64_C(1) << 32) : w;
    }
    return one;
}

/* Mean of a smooth stand-in for "not proved", s(-2 margin). */
static double judge(const surety_tree_growth *g) {
    const surety_set *set = g->other_set.m ? &g->other_set : &g->train_set;
    const double *limits = g->other_set.m ? g->other_limit : g->limit;
    double sum = 0;
    for (size_t i = 0; i < set->m; i++) {
        const double *limit = limits + i * g->problems;
        double least = HUGE_VAL, own = g->problems == 1 ? 0 : limit[set->y[i]];
        for (size_t k = 0; k < g->problems; k++)
            if (g->problems == 1 || k != set->y[i]) least = fmin(least, own + limit[k]);
        sum += sigmoid(-2 * least);
    }
    return sum / (double)set->m;
}

static surety_status grow_tree(surety_voters *v, surety_tree_growth *g, surety_growth *to, size_t problem,
                               surety_error *err) {
    size_t tree = to->epoch * g->problems + problem;
    double one = weigh_rows(g, problem, to->balance);
    surety_grow_rows rows = {.grid = &g->grid,
                             .celled = &g->train,
                             .start = g->start,
                             .slots = g->slots,
                             .weight = g->weight,
                             .sign = g->sign,
                             .smooth = SMOOTH * one,
                             .seed = to->seed,
                             .tree = (uint32_t)tree,
                             .depth = g->depth,
                             .run = to->run};
    SURETY_TRY(surety_splitter_run(g->splitter, &rows, g->split, g->value, err));
    SURETY_TRY(surety_leaves_solve(&rows, g->split, g->value, err));
    for (size_t i = 0; i <= 2 * inner_of(g); i++) g->value[i] *= to->rate;
    write_tree(v, g, tree);
    return SURETY_OK;
}

surety_status surety_trees_grow(surety_voters *v, surety_growth *to, surety_error *err) {
    if (to->ball && to->ball->norm != SURETY_LINF) {
        surety_fail(err, SURETY_E_USAGE, "trees are grown against linf balls, not against %s",
                    surety_norm_name(to->ball->norm));
        surety_fail_expected(err,
                             "--norm linf, or another kind: one feature that moves by the whole radius "
                             "of an l2 or l1 ball crosses any threshold");
        return SURETY_E_USAGE;
    }
    surety_tree_set *s = v->own;
    if (!s->growth) SURETY_TRY(begin(v, to, err));
    surety_tree_growth *g = s->growth;
    for (size_t k = 0; k < g->problems; k++) SURETY_TRY(grow_tree(v, g, to, k, err));
    for (size_t k = 0; k < g->problems; k++) {
        SURETY_TRY(read_tree(v, g, to->epoch * g->problems + k, err));
        SURETY_TRY(add_tree(g, k, to->run, err));
    }
    to->value = judge(g);
    return SURETY_OK;
}

/* ---- making and trimming ---- */

/* Voters of one group of T trees with N tests. */
static surety_status empty(surety_voters **out, size_t T, size_t N, size_t d, size_t classes,
                           surety_error *err) {
    size_t C = classes > 2 ? classes : 1;
    surety_shape shapes[SURETY_TREES_TENSORS] = {
        [SURETY_TREES_START] = {"start", SURETY_ELEMENT_F64, 1, {C}},
        [SURETY_TREES_RULES] = {"rule", SURETY_ELEMENT_F64, 1, {SURETY_TREES_FACTS}},
        [SURETY_TREES_SCALE] = {"scale", SURETY_ELEMENT_F64, 1, {1}},
        [SURETY_TREES_LEAVES] = {"leaves", SURETY_ELEMENT_F64, 1, {N + T}},
        [SURETY_TREES_THRESHOLD] = {"nodes.threshold", SURETY_ELEMENT_F32, 1, {N}},
        [SURETY_TREES_FEATURE] = {"nodes.feature", SURETY_ELEMENT_I32, 1, {N}},
        [SURETY_TREES_MISSING] = {"nodes.missing", SURETY_ELEMENT_I32, 1, {N}},
        [SURETY_TREES_LEFT] = {"nodes.left", SURETY_ELEMENT_I32, 1, {N}},
        [SURETY_TREES_RIGHT] = {"nodes.right", SURETY_ELEMENT_I32, 1, {N}},
        [SURETY_TREES_ROOTS] = {"roots", SURETY_ELEMENT_I32, 1, {T}},
        [SURETY_TREES_COLUMNS] = {"columns", SURETY_ELEMENT_I32, 1, {T}},
        [SURETY_TREES_GROUPS] = {"groups", SURETY_ELEMENT_I32, 1, {1}},
        [SURETY_TREES_USES] = {"uses", SURETY_ELEMENT_I32, 1, {d}},
    };
    SURETY_TRY(surety_voters_open(out, surety_kind_trees.name, shapes, SURETY_TREES_TENSORS, err));
    (*out)->tensors[SURETY_TREES_RULES].doubles[SURETY_TREES_RULE] = SURETY_TREES_SHARE;
    (*out)->tensors[SURETY_TREES_RULES].doubles[SURETY_TREES_DIVIDE] = 1;
    (*out)->tensors[SURETY_TREES_SCALE].doubles[0] = 1;
    return SURETY_OK;
}

surety_status surety_trees_make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                                uint64_t seed, surety_error *err) {
    (void)seed;
    size_t K = settings->classes > 2 ? settings->classes : 1, D = settings->depth;
    if (D < 1 || D > SURETY_GROW_DEPTH)
        return surety_fail(err, SURETY_E_USAGE, "trees have a depth of 1 to %d, not %zu", SURETY_GROW_DEPTH,
                           D);
    if (settings->voters > ((size_t)SURETY_TREE_NODES >> D) / K)
        return surety_fail(err, SURETY_E_USAGE, "%zu trees of depth %zu have too many leaves",
                           settings->voters, D);
    size_t T = settings->voters * K, inner = ((size_t)1 << D) - 1;
    SURETY_TRY(empty(out, T, T * inner, d, settings->classes, err));
    surety_tensor *of = (*out)->tensors;
    for (size_t t = 0; t < T; t++) {
        of[SURETY_TREES_ROOTS].numbers[t] = (int32_t)(t * inner);
        of[SURETY_TREES_COLUMNS].numbers[t] = (int32_t)(t % K);
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

/* Trees that say anything; at least one is kept. */
static size_t trim_trees(trimming *k) {
    const surety_voters *v = k->from;
    size_t T = v->tensors[SURETY_TREES_ROOTS].shape[0], kept = 0;
    for (size_t t = 0; t < T; t++) {
        if (!(surety_tree_set_of(v)->most[t] > 0) && (kept || t + 1 < T)) continue;
        int32_t root = trim_node(k, v->tensors[SURETY_TREES_ROOTS].numbers[t]);
        if (k->to) {
            k->to[SURETY_TREES_ROOTS].numbers[kept] = root;
            k->to[SURETY_TREES_COLUMNS].numbers[kept] = v->tensors[SURETY_TREES_COLUMNS].numbers[t];
        }
        kept++;
    }
    return kept;
}

/* What outputs are divided by so that they stay in their range: two classes, the largest |f|; else the
 * largest sum of differences to the least score. */
static double scale_of(const surety_voters *v) {
    const surety_tree_set *s = surety_tree_set_of(v);
    double most = 0;
    for (size_t t = 0; t < s->T; t++) most += s->most[t];
    most *= (v->classes > 2 ? 2 * (double)v->classes : 1) * (1 + 0x1p-30);
    return most > 0 ? most : 1;
}

surety_status surety_trees_trim(surety_voters **out, const surety_voters *v, surety_error *err) {
    trimming count = {.from = v}, fill = {.from = v};
    size_t T = trim_trees(&count);
    SURETY_TRY(empty(out, T, (size_t)count.nodes, v->d, v->classes, err));
    fill.to = (*out)->tensors;
    trim_trees(&fill);
    surety_voters_changed(*out);
    (*out)->tensors[SURETY_TREES_SCALE].doubles[0] = scale_of(*out);
    return SURETY_OK;
}
