/* Limits of trees over a ball, exact as far as a budget of steps goes, and the search for a point that makes
 * a vote of trees wrong (docs/theory.md 10.3, 10.4).
 *
 * A *direction* is a difference of two scores (or one score, or minus one) whose least value over the ball is
 * wanted. Values of leaves are counted in whole numbers of a small unit, each rounded down, so that sums are
 * exact whatever their order, and lower limits of the real ones.
 *
 * A *box* is lo < x <= hi for every feature. In a box and within the budget of movement of the ball each tree
 * has a least leaf that can be reached; the sum over trees is the treewise limit. Where all least leaves can
 * be reached at once the limit is attained. Else two of them want a feature on both sides of a threshold
 * (boxes have the Helly property), or all together need more movement than the ball has: the box is cut
 * there, which takes its least leaf from at least one tree, and both parts are searched, the lower one first.
 * A part whose limit is above the target is done. */
#include <math.h>
#include <string.h>

#include "voters/ball.h"
#include "voters/trees_set.h"

enum {
    LEVELS = 4096, /* cuts at a time; more: the search gives up */
    CANDIDATES =
        8,      /* cuts that are tried before one is made; where movement costs, every tree is looked at */
    COSTLY = 2, /* again for each, and fewer are tried */
    L = SURETY_LANES
};

#define LEAST 0x1p-126f /* as in trees.c */

/* A tree that tests a feature on which the box leaves a choice. */
typedef struct live_tree {
    uint32_t tree, leaf; /* leaf: the node with the least value */
    int64_t least;
} live_tree;

typedef struct cut {
    uint32_t feature;
    float at, lo, hi; /* threshold; the box before */
    double spent;
    size_t changes; /* before */
    int right, second;
} cut;

/* A live tree that tests a feature; the next mention of the same feature. */
typedef struct mention {
    uint32_t live, next;
} mention;

#define NOBODY UINT32_MAX

/* What the least leaves want of a feature. */
typedef struct wish {
    float lo, hi;
    uint32_t stamp, ups, downs;
} wish;

typedef struct direction {
    int plus, minus; /* columns, or -1 */
    size_t first, end;
    const double *factor; /* of each voter, or NULL: 1 */
    double unit;
} direction;

typedef struct trees_range {
    const surety_voters *v;
    const surety_tree_set *s;
    surety_ball ball;
    uint64_t budget, steps; /* steps that are left */
    int inward;             /* points have to lie in the ball truly; else ends are rounded outward */
    const float *x;
    float *lo, *hi;      /* (d) the box */
    double limit, spent; /* of movement: the p-th power of the radius, and what the box needs already */
    direction way;
    int64_t *value;  /* (nodes): of leaves that were seen */
    uint32_t *group; /* (T): the voter of a tree */
    live_tree *live; /* (T) */
    size_t lives;
    int64_t sum, pruned; /* treewise limit in the box; the least limit of parts that are done */
    mention *mention;    /* (nodes) */
    size_t mentions, change_count, level_count;
    uint32_t *head; /* (d) */
    wish *wish;     /* (d) */
    uint32_t *wished;
    size_t wishes;
    uint32_t stamp;
    live_tree *change; /* (changes_most): live trees as they were; .tree is the number among the live ones */
    size_t changes_most;
    cut *level;     /* (LEVELS) */
    double *factor; /* (H) */
    float *point, *h, *scratch;
} trees_range;

/* ---- making ---- */

static void stop(void *state) {
    trees_range *g = state;
    if (!g) return;
    void *parts[] = {g->lo,     g->hi,     g->value, g->group,  g->live,  g->mention, g->head,    g->wish,
                     g->wished, g->change, g->level, g->factor, g->point, g->h,       g->scratch, g};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

static surety_status allocate(trees_range *g, surety_error *err) {
    size_t d = g->v->d, T = g->s->T, nodes = g->s->nodes;
    g->changes_most = 65536 + 64 * T;
    SURETY_TRY(surety_alloc(&g->lo, d, sizeof *g->lo, err));
    SURETY_TRY(surety_alloc(&g->hi, d, sizeof *g->hi, err));
    SURETY_TRY(surety_alloc(&g->value, nodes, sizeof *g->value, err));
    SURETY_TRY(surety_alloc(&g->group, T, sizeof *g->group, err));
    SURETY_TRY(surety_alloc(&g->live, T, sizeof *g->live, err));
    SURETY_TRY(surety_alloc(&g->mention, nodes, sizeof *g->mention, err));
    SURETY_TRY(surety_alloc(&g->head, d, sizeof *g->head, err));
    SURETY_TRY(surety_alloc(&g->wish, d, sizeof *g->wish, err));
    SURETY_TRY(surety_alloc(&g->wished, d, sizeof *g->wished, err));
    SURETY_TRY(surety_alloc(&g->change, g->changes_most, sizeof *g->change, err));
    SURETY_TRY(surety_alloc(&g->level, LEVELS, sizeof *g->level, err));
    SURETY_TRY(surety_alloc(&g->factor, g->v->H, sizeof *g->factor, err));
    SURETY_TRY(surety_alloc(&g->point, surety_padded(d), sizeof *g->point, err));
    SURETY_TRY(surety_alloc(&g->h, g->v->H * g->v->width * L, sizeof *g->h, err));
    return surety_alloc(&g->scratch, g->v->kind->scratch(g->v), sizeof *g->scratch, err);
}

static surety_status start(void **state, const surety_voters *v, const surety_ball *ball, uint64_t budget,
                           surety_error *err) {
    trees_range *g;
    SURETY_TRY(surety_alloc(&g, 1, sizeof *g, err));
    *g = (trees_range){.v = v, .s = surety_tree_set_of(v), .ball = *ball, .budget = budget};
    *state = g;
    SURETY_TRY(allocate(g, err));
    for (size_t i = 0; i < v->H; i++)
        for (size_t t = surety_trees_first(v, i); t < surety_trees_first(v, i + 1); t++)
            g->group[t] = (uint32_t)i;
    return SURETY_OK;
}

/* ---- the ball as a box and a budget of movement ---- */

/* x + b rounded to a float, downwards or upwards, from the exact sum. */
static float end_of(double x, double b, int up) {
    double sum = x + b, part = sum - x, error = (x - (sum - part)) + (b - part);
    float f = (float)sum;
    int below = (double)f < sum || ((double)f == sum && error > 0);
    int above = (double)f > sum || ((double)f == sum && error < 0);
    return up && below ? nextafterf(f, HUGE_VALF) : !up && above ? nextafterf(f, -HUGE_VALF) : f;
}

/* How far feature j may go by itself: b r_j, rounded as ends are. */
static double reach(const surety_ball *ball, size_t j, double b, int inward) {
    if (!ball->tolerance) return b;
    double unit = surety_ball_unit(ball, j), far = b * unit, error = fma(b, unit, -far);
    if (inward) return error < 0 ? nextafter(far, 0) : far;
    return error > 0 ? nextafter(far, HUGE_VAL) : far;
}

void surety_tree_ends(const surety_ball *ball, size_t j, float x, double b, int inward, float *lo,
                      float *hi) {
    double far = reach(ball, j, b, inward);
    float least, most;
    surety_ball_ends(ball, j, x, &least, &most);
    *lo = fmaxf(end_of((double)x, -far, inward), fminf(least, x));
    *hi = fminf(end_of((double)x, far, !inward), fmaxf(most, x));
}

/* The box of the ball around x; how far each feature may go. A missing value does not move. */
static void set_box(trees_range *g, const float *x, double b) {
    g->x = x;
    for (size_t j = 0; j < g->v->d; j++) {
        surety_tree_ends(&g->ball, j, x[j], b, g->inward, &g->lo[j], &g->hi[j]);
        g->lo[j] = nextafterf(g->lo[j], -HUGE_VALF);
    }
    double power = g->ball.norm == SURETY_L2 ? b * b : b;
    g->limit = power * (g->inward ? 1 - 0x1p-40 : 1 + 0x1p-40);
    g->spent = 0;
}

/* What it costs to have feature f in (lo, hi]: its part of the p-th power of the norm. */
static double cost(const trees_range *g, uint32_t f, float lo, float hi) {
    double x = (double)g->x[f], away = 0;
    if (g->ball.norm == SURETY_LINF) return 0;
    if (x > (double)hi) away = x - (double)hi;
    if (x <= (double)lo) away = (double)(g->inward ? nextafterf(lo, HUGE_VALF) : lo) - x;
    if (away > 0) away /= surety_ball_unit(&g->ball, f);
    return g->ball.norm == SURETY_L2 ? away * away : away;
}

/* What all costs if feature f comes from its interval to (lo, hi]. */
static double spend(const trees_range *g, uint32_t f, float lo, float hi, double spent) {
    if (g->ball.norm == SURETY_LINF) return spent;
    double before = cost(g, f, g->lo[f], g->hi[f]), now = cost(g, f, lo, hi);
    return now == before ? spent : spent - before + now;
}

/* ---- a tree in the box ---- */

typedef struct looking {
    trees_range *g;
    size_t tree;
    int first;     /* the first look: values are counted, features noted */
    size_t leaves; /* that were reached */
    int64_t least;
    uint32_t leaf;
} looking;

static int64_t count_value(const trees_range *g, size_t tree, uint32_t leaf) {
    const direction *w = &g->way;
    double value = 0;
    int column = g->v->tensors[SURETY_TREES_COLUMNS].numbers[tree];
    if (g->s->vector == 1) {
        double a = surety_leaf_value(g->v, leaf, 0);
        value = (column == w->plus ? a : 0) - (column == w->minus ? a : 0);
    } else {
        value = (w->plus >= 0 ? surety_leaf_value(g->v, leaf, (size_t)w->plus) : 0) -
                (w->minus >= 0 ? surety_leaf_value(g->v, leaf, (size_t)w->minus) : 0);
    }
    if (w->factor) value *= w->factor[g->group[tree]];
    return (int64_t)floor(value * w->unit);
}

static void mention_feature(trees_range *g, uint32_t f) {
    uint32_t last = g->head[f];
    if (last != NOBODY && g->mention[last].live == g->lives) return;
    g->mention[g->mentions] = (mention){(uint32_t)g->lives, last};
    g->head[f] = (uint32_t)g->mentions++;
}

static void visit(looking *k, uint32_t at, double spent) {
    trees_range *g = k->g;
    const surety_tree_node *n = &g->s->node[at];
    uint32_t f = SURETY_TREE_FEATURE(n->test);
    if (n->left == at) {
        if (k->first) g->value[at] = count_value(g, k->tree, g->s->leaf[at]);
        if (!k->leaves++ || g->value[at] < k->least) k->least = g->value[at], k->leaf = at;
        return;
    }
    if (g->x[f] != g->x[f]) {
        visit(k, n->left + !(n->test & SURETY_TREE_MISSING), spent);
        return;
    }
    float t = n->threshold, lo = g->lo[f], hi = g->hi[f];
    if (hi <= t || !(lo < t)) {
        visit(k, n->left + !(hi <= t), spent);
        return;
    }
    double left = spend(g, f, lo, t, spent), right = spend(g, f, t, hi, spent);
    if (k->first) mention_feature(g, f);
    if (left <= g->limit) {
        g->hi[f] = t;
        visit(k, n->left, left);
        g->hi[f] = hi;
    }
    if (right <= g->limit) {
        g->lo[f] = t;
        visit(k, n->left + 1, right);
        g->lo[f] = lo;
    }
}

static looking look(trees_range *g, size_t tree, int first) {
    looking k = {.g = g, .tree = tree, .first = first};
    visit(&k, g->s->root[tree], g->spent);
    return k;
}

/* Does the tree have a say in this direction? */
static int matters(const trees_range *g, size_t tree) {
    int column = g->v->tensors[SURETY_TREES_COLUMNS].numbers[tree];
    return g->s->vector > 1 || column == g->way.plus || column == g->way.minus;
}

/* The treewise limit of the direction, and the live trees. */
static void look_at_all(trees_range *g) {
    for (size_t j = 0; j < g->v->d; j++) g->head[j] = NOBODY;
    g->mentions = g->lives = 0;
    g->sum = 0;
    for (size_t t = g->way.first; t < g->way.end; t++) {
        if (!matters(g, t)) continue;
        size_t before = g->mentions;
        looking k = look(g, t, 1);
        g->sum += k.least;
        if (g->mentions > before) g->live[g->lives++] = (live_tree){(uint32_t)t, k.leaf, k.least};
    }
}

/* ---- what the least leaves want ---- */

static wish *wish_of(trees_range *g, uint32_t f) {
    wish *w = &g->wish[f];
    if (w->stamp != g->stamp) {
        *w = (wish){g->lo[f], g->hi[f], g->stamp, 0, 0};
        g->wished[g->wishes++] = f;
    }
    return w;
}

static void add_wishes(trees_range *g, uint32_t leaf) {
    for (uint32_t at = leaf, up; (up = g->s->parent[at]) != at; at = up) {
        const surety_tree_node *n = &g->s->node[up];
        uint32_t f = SURETY_TREE_FEATURE(n->test);
        if (g->x[f] != g->x[f]) continue;
        if (at == n->left && n->threshold < g->hi[f]) {
            wish *w = wish_of(g, f);
            w->hi = fminf(w->hi, n->threshold);
            w->downs++;
        } else if (at != n->left && n->threshold > g->lo[f]) {
            wish *w = wish_of(g, f);
            w->lo = fmaxf(w->lo, n->threshold);
            w->ups++;
        }
    }
}

/* A cut that could be made, and how much it is wanted. */
typedef struct candidate {
    uint32_t feature;
    float at;
    double rank;
} candidate;

static size_t add_candidate(candidate *list, size_t count, candidate c) {
    size_t at = count < CANDIDATES ? count : CANDIDATES;
    while (at > 0 && list[at - 1].rank < c.rank) {
        if (at < CANDIDATES) list[at] = list[at - 1];
        at--;
    }
    if (at < CANDIDATES) list[at] = c;
    return count < CANDIDATES ? count + 1 : count;
}

/* The cuts that part wishes which cannot all come true; 0: they can. */
static size_t find_cuts(trees_range *g, candidate *list) {
    size_t count = 0;
    double spent = g->spent;
    g->wishes = 0;
    g->stamp++;
    for (size_t i = 0; i < g->lives; i++) add_wishes(g, g->live[i].leaf);
    for (size_t i = 0; i < g->wishes; i++) {
        uint32_t f = g->wished[i];
        const wish *w = &g->wish[f];
        if (w->lo < w->hi) {
            spent = spend(g, f, w->lo, w->hi, spent);
            continue;
        }
        uint32_t fewer = w->ups < w->downs ? w->ups : w->downs;
        count = add_candidate(list, count, (candidate){f, w->hi, fewer + 1e-6 * (w->ups + w->downs)});
    }
    if (count || spent <= g->limit) return count;
    for (size_t i = 0; i < g->wishes; i++) { /* too much movement: cut where most of it is */
        uint32_t f = g->wished[i];
        const wish *w = &g->wish[f];
        double more = cost(g, f, w->lo, w->hi) - cost(g, f, g->lo[f], g->hi[f]);
        if (more > 0)
            count = add_candidate(list, count, (candidate){f, g->x[f] > w->hi ? w->hi : w->lo, more});
    }
    return count;
}

/* ---- cutting ---- */

/* How much the limit rises on one side of a cut; nothing is changed. INT64_MAX: the ball ends before it. */
static int64_t rise(trees_range *g, uint32_t f, float at, int right) {
    float lo = g->lo[f], hi = g->hi[f];
    double spent = g->spent, now = spend(g, f, right ? at : lo, right ? hi : at, spent);
    int64_t more = 0;
    if (now > g->limit) return INT64_MAX;
    g->lo[f] = right ? at : lo, g->hi[f] = right ? hi : at, g->spent = now;
    if (now == spent)
        for (uint32_t m = g->head[f]; m != NOBODY; m = g->mention[m].next) {
            const live_tree *t = &g->live[g->mention[m].live];
            more += look(g, t->tree, 0).least - t->least;
        }
    else
        for (size_t i = 0; i < g->lives; i++) more += look(g, g->live[i].tree, 0).least - g->live[i].least;
    g->lo[f] = lo, g->hi[f] = hi, g->spent = spent;
    return more;
}

static void update(trees_range *g, size_t i) {
    live_tree *t = &g->live[i];
    looking k = look(g, t->tree, 0);
    if (k.leaf == t->leaf) return;
    g->change[g->change_count++] = (live_tree){(uint32_t)i, t->leaf, t->least};
    g->sum += k.least - t->least;
    t->leaf = k.leaf, t->least = k.least;
}

/* Goes to one side of the cut on top. 0: there is nothing, the ball ends before it. */
static int enter(trees_range *g, cut *c) {
    uint32_t f = c->feature;
    double now = spend(g, f, c->right ? c->at : c->lo, c->right ? c->hi : c->at, c->spent);
    if (now > g->limit) return 0;
    g->lo[f] = c->right ? c->at : c->lo, g->hi[f] = c->right ? c->hi : c->at, g->spent = now;
    if (now == c->spent)
        for (uint32_t m = g->head[f]; m != NOBODY; m = g->mention[m].next) update(g, g->mention[m].live);
    else
        for (size_t i = 0; i < g->lives; i++) update(g, i);
    return 1;
}

static void leave(trees_range *g, const cut *c) {
    g->lo[c->feature] = c->lo, g->hi[c->feature] = c->hi, g->spent = c->spent;
    while (g->change_count > c->changes) {
        const live_tree *was = &g->change[--g->change_count];
        live_tree *t = &g->live[was->tree];
        g->sum += was->least - t->least;
        t->leaf = was->leaf, t->least = was->least;
    }
}

/* The best of the candidates: that whose lower side rises most. */
static cut choose(trees_range *g, const candidate *list, size_t count) {
    cut best = {.spent = g->spent, .changes = g->change_count};
    int64_t most = -1, most_other = -1;
    if (g->ball.norm != SURETY_LINF && count > COSTLY) count = COSTLY;
    for (size_t i = 0; i < count; i++) {
        int64_t left = rise(g, list[i].feature, list[i].at, 0),
                right = rise(g, list[i].feature, list[i].at, 1);
        int64_t low = left < right ? left : right, high = left < right ? right : left;
        if (low < most || (low == most && high <= most_other)) continue;
        most = low, most_other = high;
        best.feature = list[i].feature, best.at = list[i].at, best.right = right < left;
    }
    best.lo = g->lo[best.feature], best.hi = g->hi[best.feature];
    return best;
}

/* ---- searching ---- */

typedef enum finding { ABOVE, REACHED, OPEN } finding;

/* Is this the end of the search? Called where the limit is attained. */
typedef int (*reached_fn)(trees_range *g, void *arg);

/* Backs out of parts that are done, into the next one; 0: all are. */
static int next_part(trees_range *g) {
    while (g->level_count) {
        cut *c = &g->level[g->level_count - 1];
        leave(g, c);
        if (!c->second) {
            c->second = 1;
            c->right = !c->right;
            if (enter(g, c)) return 1;
            leave(g, c);
        }
        g->level_count--;
    }
    return 0;
}

/* Is the direction above the target everywhere in the box? */
static finding search(trees_range *g, int64_t target, reached_fn reached, void *arg) {
    candidate list[CANDIDATES];
    finding found = ABOVE;
    g->level_count = g->change_count = 0;
    g->pruned = INT64_MAX;
    for (int on = 1; on;) {
        if (g->sum > target) {
            if (g->sum < g->pruned) g->pruned = g->sum;
            on = next_part(g);
            continue;
        }
        size_t count = find_cuts(g, list);
        if (!count) {
            if (!reached || reached(g, arg)) {
                found = REACHED;
                break;
            }
            on = next_part(g);
            continue;
        }
        if (!g->steps || g->level_count == LEVELS || g->change_count + 2 * g->lives > g->changes_most) {
            found = OPEN;
            break;
        }
        g->steps--;
        cut *c = &g->level[g->level_count++];
        *c = choose(g, list, count);
        if (!enter(g, c)) on = next_part(g);
    }
    while (g->level_count) leave(g, &g->level[--g->level_count]);
    return found;
}

/* ---- directions of voters ---- */

/* y against k. Of two classes k is not looked at. */
static direction direction_of(const surety_voters *v, size_t first, size_t end, uint8_t y, size_t k) {
    int C = (int)surety_tree_set_of(v)->C;
    direction w = {.plus = y, .minus = (int)k, .first = first, .end = end};
    if (surety_trees_duel(v)) {
        int column = (int)surety_duel_column(v->classes, y, k);
        w.plus = y > k ? column : -1;
        w.minus = y > k ? -1 : column;
        return w;
    }
    if (v->width > 1) return w;
    int one = C == 1 || surety_trees_fact(v, SURETY_TREES_RULE) == SURETY_TREES_CUT;
    w.plus = y ? C - 1 : one ? -1 : 0;
    w.minus = !y ? C - 1 : one ? -1 : 0;
    return w;
}

/* What is known of a direction of voter i before any row: the limit of its margin is
 * (begin + sum of leaves - error) / divide - cut. */
typedef struct frame {
    double begin, error, divide, cut, slack;
} frame;

static double start_of(const surety_voters *v, int column) {
    return column < 0 ? 0 : v->tensors[SURETY_TREES_START].doubles[column];
}

/* Sums of n values in the maker's type are off by at most gamma_n of their sizes; n counts trees, division
 * and one more. Ours in double add a little. */
static frame frame_of(const surety_voters *v, size_t i, uint8_t y, direction *w) {
    const surety_tree_set *s = surety_tree_set_of(v);
    double size = 0, n = 0,
           u = v->tensors[SURETY_TREES_LEAVES].type == SURETY_ELEMENT_F32 ? 0x1p-24 : 0x1p-53;
    const int columns[] = {w->plus, w->minus};
    for (size_t c = 0; c < 2; c++) {
        if (columns[c] < 0) continue;
        size_t at = i * s->C + (size_t)columns[c];
        size += s->size[at];
        n = fmax(n, (double)s->count[at] + 2);
    }
    frame f = {.begin = start_of(v, w->plus) - start_of(v, w->minus),
               .divide = surety_trees_fact(v, SURETY_TREES_DIVIDE),
               .slack = surety_trees_fact(v, SURETY_TREES_SLACK)};
    if (v->width == 1) f.cut = (y ? 1 : -1) * surety_trees_fact(v, SURETY_TREES_AT);
    size += f.divide * (fabs(f.cut) + f.slack);
    f.error = n * u < 0.5 ? (n * u / (1 - n * u) + 16 * 0x1p-53) * size : HUGE_VAL;
    w->unit = ldexp(1, 58 - (size > 0 ? ilogb(size) : 0));
    return f;
}

/* Sums that are above this many units have a margin above the slack. */
static int64_t target_of(const frame *f, const direction *w) {
    double target = f->divide * (f->cut + f->slack) - f->begin + f->error;
    double units = target * w->unit + 2 * (double)(w->end - w->first) + 4;
    return units < 0x1p62 ? (int64_t)ceil(units + fabs(units) * 0x1p-50) : INT64_MAX;
}

/* The limit of the output from that of the sum. */
static float output_limit(const trees_range *g, size_t i, const frame *f, int64_t sum, int proved) {
    double least = ((double)sum - 2 * (double)(g->way.end - g->way.first)) / g->way.unit;
    double margin = (f->begin + least - f->error) / f->divide - f->cut;
    double out = margin / g->v->tensors[SURETY_TREES_SCALE].doubles[i];
    out -= fabs(out) * 0x1p-50 + (g->v->width > 1 ? 0x1p-23 : 0);
    float low = (float)out;
    if ((double)low > out) low = nextafterf(low, -HUGE_VALF);
    low = low > 1 ? 1 : low > -1 ? low : -1; /* not a number: -1 */
    if (surety_trees_fact(g->v, SURETY_TREES_RULE) == SURETY_TREES_SHARE) return low;
    return proved ? fmaxf(low, LEAST) : fminf(low, -LEAST);
}

/* Voter i on the row of the box, y against k. */
static float limit(trees_range *g, size_t i, uint8_t y, size_t k) {
    g->way = direction_of(g->v, surety_trees_first(g->v, i), surety_trees_first(g->v, i + 1), y, k);
    frame f = frame_of(g->v, i, y, &g->way);
    int64_t target = target_of(&f, &g->way);
    look_at_all(g);
    int64_t treewise = g->sum;
    int proved = search(g, target, NULL, NULL) == ABOVE;
    return output_limit(g, i, &f, proved ? g->pruned : treewise, proved);
}

/* Duels: class k is ahead of y by what its duel with y gives, or less, if it wins all its duels, else by
 * nothing; y is ahead of all by the least of its duels if it wins them. So where all duels of y are proved
 * that least limit holds against each class, else the limit of the duel or 0. */
static void join_duels(float *low, size_t others) {
    float least = low[0];
    for (size_t c = 1; c < others; c++) least = fminf(least, low[c * L]);
    for (size_t c = 0; c < others; c++) low[c * L] = least > 0 ? least : fminf(low[c * L], 0);
}

static void run(void *state, const float *const *x, size_t rows, const double *radius, const uint8_t *y,
                float *low) {
    trees_range *g = state;
    size_t others = g->v->classes - 1;
    g->inward = 0;
    for (size_t r = 0; r < rows; r++) {
        set_box(g, x[r], radius[r]);
        g->steps = g->budget;
        for (size_t i = 0; i < g->v->H; i++)
            for (size_t c = 0; c < others; c++)
                low[(i * others + c) * L + r] = limit(g, i, y[r], c + (c >= y[r]));
        if (surety_trees_duel(g->v)) join_duels(low + r, others);
    }
}

/* ---- finding a point ---- */

typedef struct hunt {
    const surety_vote *vote;
    uint8_t y;
} hunt;

/* Is the vote wrong at the point? */
static int fools(trees_range *g, const hunt *k) {
    const float *x[1] = {g->point};
    double margin[L];
    uint8_t y[L];
    memset(y, k->y, sizeof y);
    memset(g->h, 0, g->v->H * g->v->width * L * sizeof *g->h);
    g->v->kind->forward(g->v, x, 1, g->h, g->scratch);
    surety_margin_lanes(k->vote, g->h, y, margin, NULL, NULL);
    return !(margin[0] > 0);
}

/* The point nearest to x that the least leaves share. */
static int try_point(trees_range *g, void *arg) {
    for (size_t j = 0; j < g->v->d; j++) {
        const wish *w = &g->wish[j];
        int wished = w->stamp == g->stamp;
        float lo = wished ? w->lo : g->lo[j], hi = wished ? w->hi : g->hi[j], x = g->x[j];
        g->point[j] = x > hi ? hi : x <= lo ? nextafterf(lo, HUGE_VALF) : x;
    }
    return fools(g, arg);
}

/* The vote's margin of y against k, as a direction of all voters. Its limit is 0 in units. */
static int64_t aim(trees_range *g, const surety_vote *vote, uint8_t y, size_t k) {
    const surety_voters *v = g->v;
    double *factor = g->factor;
    double begin = 0, size = 0;
    frame f = {0};
    g->way = direction_of(v, 0, g->s->T, y, k);
    for (size_t i = 0; i < v->H; i++) {
        direction w = g->way;
        f = frame_of(v, i, y, &w);
        factor[i] = v->H > 1 ? vote->weights[i] / v->tensors[SURETY_TREES_SCALE].doubles[i] : 1;
        begin += factor[i] * (f.begin - f.divide * f.cut);
        size += factor[i] * f.divide * v->tensors[SURETY_TREES_SCALE].doubles[i] + factor[i] * fabs(f.begin);
        for (size_t t = surety_trees_first(v, i); t < surety_trees_first(v, i + 1); t++)
            size += 2 * factor[i] * g->s->most[t];
    }
    g->way.factor = factor;
    g->way.unit = ldexp(1, 58 - (size > 0 ? ilogb(size) : 0));
    look_at_all(g);
    return (int64_t)floor(-begin * g->way.unit) + 2 * (int64_t)g->s->T;
}

static int find(void *state, const surety_vote *vote, const float *x, uint8_t y, double radius,
                float *point) {
    trees_range *g = state;
    hunt k = {vote, y};
    size_t others = g->v->classes - 1;
    double gap[SURETY_CLASSES_MOST];
    g->inward = 1;
    g->steps = g->budget;
    set_box(g, x, radius);
    memcpy(g->point, x, g->v->d * sizeof *x);
    int found = fools(g, &k);
    for (size_t c = 0; !found && c < others; c++) {
        int64_t target = aim(g, vote, y, c + (c >= y));
        gap[c] = (double)(g->sum - target) / g->way.unit;
    }
    for (size_t tried = 0; !found && tried < others; tried++) { /* the nearest class first */
        size_t best = 0;
        for (size_t c = 1; c < others; c++)
            if (gap[c] < gap[best]) best = c;
        if (gap[best] > 0) break;
        gap[best] = HUGE_VAL;
        int64_t target = aim(g, vote, y, best + (best >= y));
        found = search(g, target, try_point, &k) == REACHED;
    }
    memcpy(point, found ? g->point : x, g->v->d * sizeof *x);
    return found;
}

const surety_range_kind surety_trees_range = {start, stop, run, find};
