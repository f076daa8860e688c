/* The kind `trees`: axis-parallel decision trees, the models people have (docs/theory.md 10.1, 10.2). Their
 * sums are those of their maker: its type, its order, one rounding per tree; the decision is the maker's too.
 * Limits over a ball are in trees_range.c. */
#include "voters/trees.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "voters/trees_set.h"

enum { L = SURETY_LANES };

/* Outputs that decide are never 0. */
#define LEAST 0x1p-126f

/* ---- tensors ---- */

static const struct {
    const char *name;
    surety_element type;
} layout[SURETY_TREES_TENSORS] = {
    [SURETY_TREES_START] = {"start", SURETY_ELEMENT_F64},
    [SURETY_TREES_RULES] = {"rule", SURETY_ELEMENT_F64},
    [SURETY_TREES_SCALE] = {"scale", SURETY_ELEMENT_F64},
    [SURETY_TREES_LEAVES] = {"leaves", SURETY_ELEMENT_F64}, /* or F32 */
    [SURETY_TREES_THRESHOLD] = {"nodes.threshold", SURETY_ELEMENT_F32},
    [SURETY_TREES_FEATURE] = {"nodes.feature", SURETY_ELEMENT_I32},
    [SURETY_TREES_MISSING] = {"nodes.missing", SURETY_ELEMENT_I32},
    [SURETY_TREES_LEFT] = {"nodes.left", SURETY_ELEMENT_I32},
    [SURETY_TREES_RIGHT] = {"nodes.right", SURETY_ELEMENT_I32},
    [SURETY_TREES_ROOTS] = {"roots", SURETY_ELEMENT_I32},
    [SURETY_TREES_COLUMNS] = {"columns", SURETY_ELEMENT_I32},
    [SURETY_TREES_GROUPS] = {"groups", SURETY_ELEMENT_I32},
    [SURETY_TREES_USES] = {"uses", SURETY_ELEMENT_I32},
};

static const int32_t *numbers(const surety_voters *v, size_t which) {
    return v->tensors[which].numbers;
}

static size_t count_of(const surety_voters *v, size_t which) {
    return v->tensors[which].shape[0];
}

static surety_status attach(surety_voters *v, surety_error *err) {
    surety_tree_set *s;
    SURETY_TRY(surety_alloc(&s, 1, sizeof *s, err));
    v->own = s;
    const surety_tensor *leaves = &v->tensors[SURETY_TREES_LEAVES];
    s->T = count_of(v, SURETY_TREES_ROOTS);
    s->C = v->tensors[SURETY_TREES_START].length;
    s->vector = leaves->rank == 2 ? s->C : 1;
    s->nodes = count_of(v, SURETY_TREES_THRESHOLD) + leaves->shape[0];
    SURETY_TRY(surety_alloc(&s->node, s->nodes, sizeof *s->node, err));
    SURETY_TRY(surety_alloc(&s->parent, s->nodes, sizeof *s->parent, err));
    SURETY_TRY(surety_alloc(&s->leaf, s->nodes, sizeof *s->leaf, err));
    SURETY_TRY(surety_alloc(&s->root, s->T, sizeof *s->root, err));
    SURETY_TRY(surety_alloc(&s->steps, s->T, sizeof *s->steps, err));
    SURETY_TRY(surety_alloc(&s->most, s->T, sizeof *s->most, err));
    SURETY_TRY(surety_alloc(&s->size, v->H * s->C, sizeof *s->size, err));
    return surety_alloc(&s->count, v->H * s->C, sizeof *s->count, err);
}

static void detach(surety_voters *v) {
    surety_tree_set *s = v->own;
    if (!s) return;
    surety_tree_growth_free(s->growth);
    void *parts[] = {s->node, s->parent, s->leaf, s->root, s->steps, s->most, s->size, s->count, s};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    v->own = NULL;
}

static surety_status fill_empty(surety_voters *v, const surety_shape *const *shapes, surety_error *err) {
    for (size_t i = 0; i < SURETY_TREES_TENSORS; i++)
        SURETY_TRY(
            surety_tensor_new(v, layout[i].name, shapes[i]->type, shapes[i]->rank, shapes[i]->shape, 0, err));
    return attach(v, err);
}

static int fits(const surety_shape *const *s) {
    size_t N = s[SURETY_TREES_THRESHOLD]->shape[0], T = s[SURETY_TREES_ROOTS]->shape[0],
           C = s[SURETY_TREES_START]->shape[0];
    const surety_shape *leaves = s[SURETY_TREES_LEAVES], *start = s[SURETY_TREES_START];
    if (start->rank == 2 && (start->shape[1] != C || C < 3 || C > SURETY_DUEL_CLASSES || leaves->rank != 1))
        return 0;
    for (size_t i = SURETY_TREES_THRESHOLD; i <= SURETY_TREES_RIGHT; i++)
        if (s[i]->shape[0] != N) return 0;
    return N <= SURETY_TREE_NODES && T <= SURETY_TREE_NODES && leaves->shape[0] == N + T &&
           (leaves->rank == 1 || leaves->shape[1] == C) && s[SURETY_TREES_COLUMNS]->shape[0] == T &&
           s[SURETY_TREES_RULES]->shape[0] == SURETY_TREES_FACTS &&
           s[SURETY_TREES_SCALE]->shape[0] == s[SURETY_TREES_GROUPS]->shape[0] && C <= SURETY_CLASSES_MOST;
}

static surety_status open_shapes(surety_voters **out, const surety_shape *shapes, size_t count,
                                 surety_error *err) {
    const surety_shape *s[SURETY_TREES_TENSORS];
    for (size_t i = 0; i < SURETY_TREES_TENSORS; i++) {
        int either = i == SURETY_TREES_LEAVES || i == SURETY_TREES_START;
        s[i] = surety_shape_find(shapes, count, layout[i].name, either ? 0 : 1, err);
        if (!s[i]) return SURETY_E_INPUT;
        if (s[i]->rank > 2)
            return surety_shape_wrong(layout[i].name, "it has too many axes", "one or two", err);
        int may = i == SURETY_TREES_LEAVES && s[i]->type == SURETY_ELEMENT_F32;
        if (s[i]->type != layout[i].type && !may)
            return surety_shape_wrong(layout[i].name, "it has another dtype", "that of docs/trees.md", err);
    }
    if (!fits(s))
        return surety_shape_wrong("leaves", "the shapes of the trees' tensors do not fit each other",
                                  "those of docs/trees.md", err);
    size_t C = s[SURETY_TREES_START]->shape[0];
    SURETY_TRY(surety_voters_begin(out, &surety_kind_trees, s[SURETY_TREES_GROUPS]->shape[0],
                                   s[SURETY_TREES_USES]->shape[0], C > 2 ? C : 2, err));
    surety_status status = fill_empty(*out, s, err);
    if (status != SURETY_OK) surety_voters_free(*out), *out = NULL;
    return status;
}

/* ---- checking what a file says ---- */

static surety_status wrong(const surety_voters *v, size_t tensor, size_t i, const char *what,
                           const char *expected, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "%s", what);
    surety_fail_place(err, "tensor '%s', element %zu", v->tensors[tensor].name, i);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

/* Whole numbers of a tensor lie in [least, most]. */
static surety_status check_numbers(const surety_voters *v, size_t tensor, int64_t least, int64_t most,
                                   const char *what, surety_error *err) {
    for (size_t i = 0; i < v->tensors[tensor].length; i++) {
        int64_t n = v->tensors[tensor].numbers[i];
        if (n < least || n > most) return wrong(v, tensor, i, what, "a number of docs/trees.md", err);
    }
    return SURETY_OK;
}

/* One link to a node or leaf: the only one, from a parent that comes before it. depth holds, for inner nodes
 * and then leaves, 1 + how many nodes are above; 0: no link yet. */
static surety_status check_link(const surety_voters *v, size_t tensor, size_t i, int64_t above,
                                uint8_t *depth, uint8_t deep, surety_error *err) {
    size_t N = count_of(v, SURETY_TREES_THRESHOLD), M = count_of(v, SURETY_TREES_LEAVES);
    int64_t to = v->tensors[tensor].numbers[i];
    size_t at = to < 0 ? N + (size_t)(-1 - to) : (size_t)to;
    if (to >= (int64_t)N || at >= N + M)
        return wrong(v, tensor, i, "it links to a node that is not there", "a node or a leaf", err);
    if (to >= 0 && to <= above)
        return wrong(v, tensor, i, "it links back", "children behind their parents: a cycle never ends", err);
    if (depth[at]) return wrong(v, tensor, i, "it links to a node that has a parent already", "trees", err);
    if (deep > SURETY_TREE_DEPTH)
        return wrong(v, tensor, i, "the tree is too deep", "at most 64 tests from root to leaf", err);
    depth[at] = (uint8_t)(deep + 1);
    return SURETY_OK;
}

/* Every node and leaf is linked to once: there are as many links as nodes and leaves. */
static surety_status check_links(const surety_voters *v, surety_error *err) {
    size_t N = count_of(v, SURETY_TREES_THRESHOLD);
    uint8_t *depth;
    SURETY_TRY(surety_alloc(&depth, N + count_of(v, SURETY_TREES_LEAVES), 1, err));
    surety_status status = SURETY_OK;
    for (size_t t = 0; t < count_of(v, SURETY_TREES_ROOTS) && status == SURETY_OK; t++)
        status = check_link(v, SURETY_TREES_ROOTS, t, -1, depth, 0, err);
    for (size_t i = 0; i < N && status == SURETY_OK; i++) {
        if (!depth[i]) status = wrong(v, SURETY_TREES_LEFT, i, "no tree has this node", "trees", err);
        for (size_t side = SURETY_TREES_LEFT; side <= SURETY_TREES_RIGHT && status == SURETY_OK; side++)
            status = check_link(v, side, i, (int64_t)i, depth, depth[i], err);
    }
    surety_free(depth);
    return status;
}

static surety_status check_groups(const surety_voters *v, surety_error *err) {
    const int32_t *first = numbers(v, SURETY_TREES_GROUPS);
    for (size_t g = 0; g < v->H; g++)
        if (g ? first[g] <= first[g - 1] : first[g] != 0)
            return wrong(v, SURETY_TREES_GROUPS, g, "it is not the first tree of a voter",
                         "ascending numbers from 0", err);
    if ((size_t)first[v->H - 1] < count_of(v, SURETY_TREES_ROOTS)) return SURETY_OK;
    return wrong(v, SURETY_TREES_GROUPS, v->H - 1, "there is no such tree", "a number below that of trees",
                 err);
}

static surety_status check_rule(const surety_voters *v, surety_error *err) {
    const double *fact = v->tensors[SURETY_TREES_RULES].doubles;
    size_t C = surety_tree_set_of(v)->C;
    double rule = fact[SURETY_TREES_RULE];
    if (!(rule >= 0 && rule < SURETY_TREE_RULES && rule == floor(rule)))
        return wrong(v, SURETY_TREES_RULES, SURETY_TREES_RULE, "it is no rule", "0 to 5", err);
    if (rule != SURETY_TREES_SHARE && v->H > 1)
        return wrong(v, SURETY_TREES_RULES, SURETY_TREES_RULE, "several voters with a decision each",
                     "one voter, or the rule 0", err);
    if ((rule == SURETY_TREES_CUT && C > 2) || (rule > SURETY_TREES_CUT && C < 2) ||
        (rule == SURETY_TREES_DUELS) != surety_trees_duel(v))
        return wrong(v, SURETY_TREES_RULES, SURETY_TREES_RULE, "the rule does not fit the scores",
                     "a cut for two classes; the largest of several scores; duels", err);
    if (!(fact[SURETY_TREES_SLACK] >= 0))
        return wrong(v, SURETY_TREES_RULES, SURETY_TREES_SLACK, "a slack below 0", "at least 0", err);
    if (!(fact[SURETY_TREES_DIVIDE] > 0))
        return wrong(v, SURETY_TREES_RULES, SURETY_TREES_DIVIDE, "a divisor not above 0", "above 0", err);
    for (size_t g = 0; g < v->H; g++)
        if (!(v->tensors[SURETY_TREES_SCALE].doubles[g] > 0))
            return wrong(v, SURETY_TREES_SCALE, g, "a scale not above 0", "above 0", err);
    return SURETY_OK;
}

/* Of duels the lower class comes first. */
static surety_status check_columns(const surety_voters *v, surety_error *err) {
    const int32_t *column = numbers(v, SURETY_TREES_COLUMNS);
    int32_t K = (int32_t)v->classes;
    for (size_t t = 0; surety_trees_duel(v) && t < count_of(v, SURETY_TREES_COLUMNS); t++)
        if (column[t] / K >= column[t] % K)
            return wrong(v, SURETY_TREES_COLUMNS, t, "it is no duel", "a K + b of two classes a < b", err);
    return SURETY_OK;
}

/* No sum can overflow, nor be rounded by a type that is not the leaves'. */
static surety_status check_sums(const surety_voters *v, surety_error *err) {
    const surety_tensor *leaves = &v->tensors[SURETY_TREES_LEAVES], *start = &v->tensors[SURETY_TREES_START];
    double sum = 0, limit = leaves->type == SURETY_ELEMENT_F32 ? 0x1p120 : 0x1p900;
    for (size_t i = 0; i < leaves->length; i++)
        sum += fabs(leaves->type == SURETY_ELEMENT_F32 ? (double)leaves->values[i] : leaves->doubles[i]);
    for (size_t c = 0; c < start->length; c++) {
        sum += fabs(start->doubles[c]);
        if (leaves->type == SURETY_ELEMENT_F32 && (double)(float)start->doubles[c] != start->doubles[c])
            return wrong(v, SURETY_TREES_START, c, "it is not a float, as the leaves are", "a float", err);
    }
    return sum < limit ? SURETY_OK : wrong(v, SURETY_TREES_LEAVES, 0, "their sum is too large", "2^120", err);
}

static surety_status check(const surety_voters *v, surety_error *err) {
    int64_t C = (int64_t)surety_tree_set_of(v)->C;
    int wide = v->tensors[SURETY_TREES_LEAVES].rank == 2;
    SURETY_TRY(check_numbers(v, SURETY_TREES_FEATURE, 0, (int64_t)v->d - 1,
                             "it tests a feature that is not there", err));
    SURETY_TRY(check_numbers(v, SURETY_TREES_MISSING, 0, 1, "it is neither 0 nor 1", err));
    SURETY_TRY(check_numbers(v, SURETY_TREES_COLUMNS, 0, wide ? 0 : C - 1,
                             "it adds to a score that is not there", err));
    SURETY_TRY(check_numbers(v, SURETY_TREES_USES, 0, INT32_MAX, "it is below 0", err));
    SURETY_TRY(check_groups(v, err));
    SURETY_TRY(check_rule(v, err));
    SURETY_TRY(check_columns(v, err));
    SURETY_TRY(check_sums(v, err));
    return check_links(v, err);
}

/* ---- what is derived ---- */

/* Puts a node or leaf of the tensors, which code names, to place `at`; its children to *next and behind. */
static void place(const surety_voters *v, surety_tree_set *s, uint32_t at, int32_t code, uint32_t *next) {
    surety_tree_node *n = &s->node[at];
    if (code < 0) {
        s->leaf[at] = (uint32_t)(-1 - code);
        *n = (surety_tree_node){HUGE_VALF, SURETY_TREE_MISSING, at};
        return;
    }
    *n = (surety_tree_node){v->tensors[SURETY_TREES_THRESHOLD].values[code],
                            (uint32_t)numbers(v, SURETY_TREES_FEATURE)[code] |
                                (numbers(v, SURETY_TREES_MISSING)[code] ? SURETY_TREE_MISSING : 0),
                            *next};
    s->leaf[*next] = (uint32_t)numbers(v, SURETY_TREES_LEFT)[code]; /* codes, until they are placed */
    s->leaf[*next + 1] = (uint32_t)numbers(v, SURETY_TREES_RIGHT)[code];
    s->parent[*next] = s->parent[*next + 1] = at;
    *next += 2;
}

/* Level by level, so that children lie side by side. */
static uint32_t place_tree(const surety_voters *v, surety_tree_set *s, size_t t, uint32_t first) {
    uint32_t next = first + 1, at = first, end = next;
    s->root[t] = s->parent[first] = first;
    s->leaf[first] = (uint32_t)numbers(v, SURETY_TREES_ROOTS)[t];
    for (s->steps[t] = 0;; s->steps[t]++, end = next) {
        for (; at < end; at++) place(v, s, at, (int32_t)s->leaf[at], &next);
        if (next == end) return next;
    }
}

static void add_sizes(const surety_voters *v, surety_tree_set *s, size_t g, size_t t) {
    size_t c = (size_t)numbers(v, SURETY_TREES_COLUMNS)[t];
    size_t from = s->vector > 1 ? 0 : c, to = s->vector > 1 ? s->C : c + 1;
    for (; from < to; from++) s->size[g * s->C + from] += s->most[t], s->count[g * s->C + from]++;
}

static void prepare(surety_voters *v) {
    surety_tree_set *s = v->own;
    uint32_t next = 0;
    v->depth = 0;
    for (size_t t = 0; t < s->T; t++) {
        uint32_t first = next;
        next = place_tree(v, s, t, first);
        if (s->steps[t] > v->depth) v->depth = s->steps[t];
        s->most[t] = 0;
        for (uint32_t at = first; at < next; at++)
            for (size_t k = 0; s->node[at].left == at && k < s->vector; k++)
                s->most[t] = fmax(s->most[t], fabs(surety_leaf_value(v, s->leaf[at], k)));
    }
    for (size_t g = 0; g < v->H; g++) {
        for (size_t c = 0; c < s->C; c++) {
            s->size[g * s->C + c] = fabs(v->tensors[SURETY_TREES_START].doubles[c]);
            s->count[g * s->C + c] = 0;
        }
        for (size_t t = surety_trees_first(v, g); t < surety_trees_first(v, g + 1); t++)
            add_sizes(v, s, g, t);
    }
}

/* ---- asking ---- */

/* Sixteen rows walk through a tree side by side: their loads do not wait for each other. */
static void walk(const surety_tree_node *nodes, size_t steps, const float *const *x, uint32_t *at) {
    for (size_t s = 0; s < steps; s++) {
        uint32_t moved = 0;
        for (size_t r = 0; r < L; r++) {
            const surety_tree_node *n = &nodes[at[r]];
            float value = x[r][SURETY_TREE_FEATURE(n->test)];
            uint32_t missing = (uint32_t)(value != value) & (n->test >> 31);
            uint32_t next = n->left + 1 - ((uint32_t)(value <= n->threshold) | missing);
            moved |= next ^ at[r];
            at[r] = next;
        }
        if (!moved) return;
    }
}

/* scores (C, lanes) of voter g, in the maker's type and order. */
static void add_trees(const surety_voters *v, size_t g, const float *const *x, double *scores) {
    const surety_tree_set *s = v->own;
    const surety_tensor *leaves = &v->tensors[SURETY_TREES_LEAVES];
    for (size_t n = 0; n < s->C * L; n++) scores[n] = v->tensors[SURETY_TREES_START].doubles[n / L];
    for (size_t t = surety_trees_first(v, g); t < surety_trees_first(v, g + 1); t++) {
        size_t first = s->vector > 1 ? 0 : (size_t)numbers(v, SURETY_TREES_COLUMNS)[t];
        uint32_t at[L];
        for (size_t r = 0; r < L; r++) at[r] = s->root[t];
        walk(s->node, s->steps[t], x, at);
        for (size_t k = 0; k < s->vector; k++)
            for (size_t r = 0; r < L; r++) {
                double *to = &scores[(first + k) * L + r];
                size_t from = s->leaf[at[r]] * s->vector + k;
                *to = leaves->type == SURETY_ELEMENT_F32 ? (double)((float)*to + leaves->values[from])
                                                         : *to + leaves->doubles[from];
            }
    }
}

static void divide_all(const surety_voters *v, double *scores) {
    double divide = surety_trees_fact(v, SURETY_TREES_DIVIDE);
    int wide = v->tensors[SURETY_TREES_LEAVES].type == SURETY_ELEMENT_F64;
    for (size_t n = 0; divide != 1 && n < surety_tree_set_of(v)->C * L; n++)
        scores[n] = wide ? scores[n] / divide : (double)((float)scores[n] / (float)divide);
}

/* exp(a) for a <= 0 within two ulps, at least exp(-700): a = n ln 2 + r, and the series of exp(r) up to
 * r^13/13!. Plain products and sums, not libm: the same bits everywhere, also in an export (trees_export.c).
 */
static double exp_of(double a) {
    const double round = 0x1.8p52; /* added, it leaves a whole number in the last bits */
    double factorial = 6227020800, u = 1 / factorial;
    a = a < -700 ? -700 : a;
    double n = a * 0x1.71547652b82fep0 + round - round;
    double r = a - n * 0x1.62e42feep-1 - n * 0x1.a39ef35793c76p-33; /* n times the first is exact */
    for (int k = 13; k > 0; k--) {
        factorial /= k;
        u = u * r + 1 / factorial;
    }
    return ldexp(u, (int)n);
}

/* Softmax as XGBoost does it in float, LightGBM and scikit-learn in double. */
static size_t largest_softmax(const double *scores, size_t C, int wide) {
    double most = scores[0], sum = 0, best = -1, p[SURETY_CLASSES_MOST];
    size_t k, found = 0;
    for (k = 1; k < C; k++) most = fmax(most, scores[k]);
    for (k = 0; k < C; k++)
        sum += p[k] =
            wide ? exp_of(scores[k] - most) : (double)(float)exp_of((double)(float)(scores[k] - most));
    for (k = 0; k < C; k++) {
        double share = wide ? p[k] / sum : (double)((float)p[k] / (float)sum);
        if (share > best) best = share, found = k;
    }
    return found;
}

uint8_t surety_trees_decide(const surety_voters *v, const double *scores) {
    size_t C = surety_tree_set_of(v)->C, best = 0;
    surety_tree_rule rule = (surety_tree_rule)surety_trees_fact(v, SURETY_TREES_RULE);
    if (rule == SURETY_TREES_CUT) return scores[C - 1] > surety_trees_fact(v, SURETY_TREES_AT);
    if (rule != SURETY_TREES_LARGEST)
        return (uint8_t)largest_softmax(scores, C, rule == SURETY_TREES_SOFTMAX64);
    for (size_t k = 1; k < C; k++)
        if (scores[k] > scores[best]) best = k;
    return (uint8_t)best;
}

/* The margin of the second class of two. */
static double margin(const surety_voters *v, const double *scores) {
    size_t C = surety_tree_set_of(v)->C;
    double cut = surety_trees_fact(v, SURETY_TREES_AT);
    if (C == 1 || (surety_tree_rule)surety_trees_fact(v, SURETY_TREES_RULE) == SURETY_TREES_CUT)
        return scores[C - 1] - cut;
    return scores[1] - scores[0];
}

/* Of two classes: the margin over the scale, with the sign of the decision. */
static float output_two(const surety_voters *v, size_t g, const double *scores) {
    float h = (float)(margin(v, scores) / v->tensors[SURETY_TREES_SCALE].doubles[g]);
    h = h > 1 ? 1 : h < -1 ? -1 : h;
    if (surety_trees_fact(v, SURETY_TREES_RULE) == SURETY_TREES_SHARE) return h;
    return surety_trees_decide(v, scores) ? fmaxf(h, LEAST) : fminf(h, -LEAST);
}

/* Of more: scores of the sum 1, whose differences are those of the scores over the scale; the class that was
 * decided has the only largest. h (K, lanes) */
static void output_many(const surety_voters *v, size_t g, const double *scores, float *h) {
    size_t K = v->classes;
    double least = scores[0], sum = 0, S = v->tensors[SURETY_TREES_SCALE].doubles[g];
    float most = 0;
    for (size_t k = 1; k < K; k++) least = fmin(least, scores[k]);
    for (size_t k = 0; k < K; k++) sum += scores[k] - least;
    for (size_t k = 0; k < K; k++) {
        double share = (scores[k] - least + (S - sum) / (double)K) / S;
        h[k * L] = (float)(share < 0 ? 0 : share > 1 ? 1 : share);
    }
    if (surety_trees_fact(v, SURETY_TREES_RULE) == SURETY_TREES_SHARE) return;
    size_t best = surety_trees_decide(v, scores);
    for (size_t k = 0; k < K; k++)
        if (k != best) most = fmaxf(most, h[k * L]);
    if (!(h[best * L] > most)) h[best * L] = nextafterf(most, HUGE_VALF);
}

/* Duels, scores[c * lanes]: a class that wins against all others is ahead of each by its least score over the
 * scale; where there is none all are equal. Two classes cannot both win. h (K, lanes) */
static void output_duels(const surety_voters *v, const double *scores, float *h) {
    size_t K = v->classes;
    for (size_t k = 0; k < K; k++) h[k * L] = 1 / (float)K;
    for (size_t c = 0; c < K; c++) {
        double least = HUGE_VAL;
        for (size_t k = 0; k < K; k++)
            if (k != c) least = fmin(least, (c > k ? 1 : -1) * scores[surety_duel_column(K, c, k) * L]);
        if (!(least > 0)) continue;
        double ahead = fmin(least / v->tensors[SURETY_TREES_SCALE].doubles[0], 1);
        for (size_t k = 0; k < K; k++)
            h[k * L] = (float)((k == c ? 1 + ahead * (double)(K - 1) : 1 - ahead) / (double)K);
        if (!(h[c * L] > h[(c ? 0 : 1) * L])) h[c * L] = nextafterf(h[(c ? 0 : 1) * L], HUGE_VALF);
    }
}

static size_t scratch(const surety_voters *v) {
    return surety_padded(2 * surety_tree_set_of(v)->C * L); /* doubles */
}

static void fill_rows(const float *const *x, size_t rows, const float **all) {
    for (size_t r = 0; r < L; r++) all[r] = x[r < rows ? r : 0];
}

static void forward(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch_) {
    size_t C = surety_tree_set_of(v)->C;
    double *scores = (double *)(void *)scratch_, of_row[SURETY_CLASSES_MOST];
    const float *all[L];
    fill_rows(x, rows, all);
    for (size_t g = 0; g < v->H; g++) {
        add_trees(v, g, all, scores);
        divide_all(v, scores);
        for (size_t r = 0; r < rows; r++) {
            if (surety_trees_duel(v)) {
                output_duels(v, scores + r, h + r);
                continue;
            }
            for (size_t c = 0; c < C; c++) of_row[c] = scores[c * L + r];
            if (v->width == 1)
                h[g * L + r] = output_two(v, g, of_row);
            else
                output_many(v, g, of_row, h + g * v->width * L + r);
        }
    }
}

static size_t columns(const surety_voters *v, surety_element *type) {
    *type = v->tensors[SURETY_TREES_LEAVES].type;
    return v->H == 1 ? surety_tree_set_of(v)->C : 0;
}

static void raw_scores(const surety_voters *v, const float *const *x, size_t rows, double *out,
                       float *scratch_) {
    size_t C = surety_tree_set_of(v)->C;
    double *scores = (double *)(void *)scratch_;
    const float *all[L];
    fill_rows(x, rows, all);
    add_trees(v, 0, all, scores);
    if (!surety_trees_fact(v, SURETY_TREES_UNDIVIDED)) divide_all(v, scores);
    for (size_t n = 0; n < rows * C; n++) out[n] = scores[n % C * L + n / C];
}

size_t surety_voters_trees(const surety_voters *v, size_t *nodes) {
    int is = v->kind == &surety_kind_trees;
    *nodes = is ? count_of(v, SURETY_TREES_THRESHOLD) : 0;
    return is ? count_of(v, SURETY_TREES_ROOTS) : 0;
}

int surety_voters_duels(const surety_voters *v) {
    return v->kind == &surety_kind_trees && surety_trees_duel(v);
}

const surety_voter_kind surety_kind_trees = {.name = "trees",
                                             .words = "groups of decision trees",
                                             .classes = SURETY_CLASSES_MOST,
                                             .missing = 1,
                                             .duels = 1,
                                             .make = surety_trees_make,
                                             .open = open_shapes,
                                             .check = check,
                                             .attach = attach,
                                             .prepare = prepare,
                                             .detach = detach,
                                             .scratch = scratch,
                                             .forward = forward,
                                             .columns = columns,
                                             .scores = raw_scores,
                                             .grow = surety_trees_grow,
                                             .theta = surety_trees_theta,
                                             .trim = surety_trees_trim,
                                             .range = &surety_trees_range,
                                             .write_c = surety_trees_write_c,
                                             .probe = surety_trees_probe};
