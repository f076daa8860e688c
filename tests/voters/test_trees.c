/* Trees against brute force: random small ensembles, all norms, thresholds on feature values and on their
 * float neighbours, missing values. Whoever tests another's proof must not share its code: here every cell of
 * the grid of thresholds is entered at the point nearest to x, the vote is asked there, distances are
 * measured in long double.
 *
 * Leaves are multiples of 1/8 and the cut lies between them, so that no rounding decides: what the search
 * says must be the truth, in both directions. */
#include <math.h>

#include "check.h"
#include "draw.h"
#include "voters/kind.h"
#include "voters/range.h"
#include "voters/trees.h"

enum { FEATURES = 4, TREES = 6, NODES = 256, VALUES = 64, BUDGET = 100000 };

static surety_error err = SURETY_ERROR_NONE;

/* ---- random ensembles ---- */

typedef struct bush {
    size_t d, H, T, C, vector, N, M;
    surety_element type;
    float threshold[NODES];
    int32_t feature[NODES], missing[NODES], left[NODES], right[NODES], roots[TREES], columns[TREES],
        groups[TREES];
    double leaves[NODES * 4], start[4], rule[SURETY_TREES_FACTS], scale[TREES];
} bush;

/* Few different values, so that thresholds and features meet; now and then a float beside one (not beside 0:
 * 0.5 + 2^-149 is no long double). */
static float grid(draw *r) {
    float value = (float)(0.1 * (double)draw_size(r, 0, 10));
    size_t beside = value > 0 ? draw_size(r, 0, 7) : 2;
    return beside == 0 ? nextafterf(value, 2) : beside == 1 ? nextafterf(value, -2) : value;
}

static int32_t grow(bush *b, draw *r, size_t depth) {
    if (!depth || draw_size(r, 0, 5) == 0) {
        for (size_t k = 0; k < b->vector; k++)
            b->leaves[b->M * b->vector + k] = ((double)draw_size(r, 0, 16) - 8) / 8;
        return -1 - (int32_t)b->M++;
    }
    size_t i = b->N++;
    b->threshold[i] = grid(r);
    b->feature[i] = (int32_t)draw_size(r, 0, b->d - 1);
    b->missing[i] = (int32_t)draw_size(r, 0, 1);
    b->left[i] = grow(b, r, depth - 1);
    b->right[i] = grow(b, r, depth - 1);
    return (int32_t)i;
}

static bush random_bush(draw *r) {
    bush b = {.d = draw_size(r, 1, FEATURES), .T = draw_size(r, 1, TREES), .type = draw_size(r, 0, 1)};
    static const size_t columns[] = {1, 1, 2, 3};
    b.C = columns[draw_size(r, 0, 3)];
    b.vector = b.C > 1 && draw_size(r, 0, 1) ? b.C : 1;
    b.rule[SURETY_TREES_DIVIDE] = draw_size(r, 0, 2) ? 1 : 2;
    size_t several = draw_size(r, 0, 3) == 0;
    b.H = several ? b.T : 1;
    b.rule[SURETY_TREES_RULE] = several    ? SURETY_TREES_SHARE
                                : b.C == 1 ? SURETY_TREES_CUT
                                           : SURETY_TREES_LARGEST + draw_size(r, 0, 2);
    if (b.C == 1) b.rule[SURETY_TREES_AT] = 0.09375; /* never met */
    for (size_t c = 0; c < b.C; c++) b.start[c] = 0.25 * (double)draw_size(r, 0, 2);
    if (b.C > 1) b.start[0] += 0.03125, b.start[b.C - 1] -= 0.015625; /* no ties */
    for (size_t t = 0; t < b.T; t++) {
        b.columns[t] = b.vector > 1 ? 0 : (int32_t)draw_size(r, 0, b.C - 1);
        b.groups[t] = (int32_t)t;
        b.scale[t] = 64;
        b.roots[t] = grow(&b, r, draw_size(r, 1, 3));
    }
    return b;
}

static surety_voters *voters_of(const bush *b) {
    surety_element F64 = SURETY_ELEMENT_F64, I32 = SURETY_ELEMENT_I32;
    const surety_shape shapes[] = {{"start", F64, 1, {b->C}},
                                   {"rule", F64, 1, {SURETY_TREES_FACTS}},
                                   {"scale", F64, 1, {b->H}},
                                   {"leaves", b->type, b->vector > 1 ? 2 : 1, {b->M, b->vector}},
                                   {"nodes.threshold", SURETY_ELEMENT_F32, 1, {b->N}},
                                   {"nodes.feature", I32, 1, {b->N}},
                                   {"nodes.missing", I32, 1, {b->N}},
                                   {"nodes.left", I32, 1, {b->N}},
                                   {"nodes.right", I32, 1, {b->N}},
                                   {"roots", I32, 1, {b->T}},
                                   {"columns", I32, 1, {b->T}},
                                   {"groups", I32, 1, {b->H}},
                                   {"uses", I32, 1, {b->d}}};
    const void *from[] = {b->start, b->rule,  b->scale, b->leaves,  b->threshold, b->feature, b->missing,
                          b->left,  b->right, b->roots, b->columns, b->groups,    NULL};
    surety_voters *v = NULL;
    check_ok(surety_voters_open(&v, "trees", shapes, sizeof shapes / sizeof *shapes, &err));
    for (size_t k = 0; k < surety_voters_tensors(v); k++) {
        surety_tensor t = surety_voters_tensor(v, k);
        if (from[k]) memcpy(t.bytes, from[k], t.length * surety_element_size(t.type));
        for (size_t i = 0; !strcmp(t.name, "leaves") && t.type == SURETY_ELEMENT_F32 && i < t.length; i++)
            t.values[i] = (float)b->leaves[i];
    }
    check_ok(surety_voters_check(v, &err));
    surety_voters_changed(v);
    return v;
}

/* ---- the naive tree ---- */

static size_t leaf_of(const bush *b, size_t t, const float *x) {
    int32_t at = b->roots[t];
    while (at >= 0) {
        float value = x[b->feature[at]];
        int left = isnan(value) ? b->missing[at] : value <= b->threshold[at];
        at = left ? b->left[at] : b->right[at];
    }
    return (size_t)(-1 - at);
}

/* y times the margin of a voter against class k, as numbers without any rounding. */
static double naive(const bush *b, size_t g, const float *x, uint8_t y, size_t k) {
    double s[4];
    for (size_t c = 0; c < b->C; c++) s[c] = b->start[c];
    for (size_t t = 0; t < b->T; t++)
        for (size_t i = 0; (b->H == 1 || t == g) && i < b->vector; i++)
            s[b->vector > 1 ? i : (size_t)b->columns[t]] += b->leaves[leaf_of(b, t, x) * b->vector + i];
    double divide = b->rule[SURETY_TREES_DIVIDE];
    if (b->C == 1) return (y ? 1 : -1) * (s[0] / divide - b->rule[SURETY_TREES_AT]);
    if (b->C == 2) return (y ? 1 : -1) * (s[1] - s[0]) / divide;
    return (s[y] - s[k]) / divide;
}

/* The least margin of the vote, all voters having the same weight. */
static double naive_vote(const bush *b, const float *x, uint8_t y) {
    double least = HUGE_VAL;
    size_t K = b->C > 2 ? b->C : 2;
    for (size_t k = 0; k < K; k++) {
        double sum = 0;
        for (size_t g = 0; g < b->H; g++) sum += naive(b, g, x, y, k);
        if (k != y) least = fmin(least, sum);
    }
    return least;
}

/* ---- brute force over the cells ---- */

typedef struct brute {
    const bush *b;
    const surety_ball *ball;
    const float *x;
    uint8_t y;
    float values[FEATURES][VALUES];
    size_t count[FEATURES];
    double inside, around; /* least margin over points truly in the ball, and over those near its edge too */
    int edge;              /* a wrong point lies at the edge, where limits need not be exact */
} brute;

/* In box and range. A value that lies outside its range already may stay and come back. */
static int allowed(const brute *k, size_t j, float value) {
    const surety_tolerance *t = k->ball->tolerance;
    if (k->ball->has_box && (value < (float)k->ball->lo || value > (float)k->ball->hi)) return 0;
    return !t || (value >= fminf(t->least[j], k->x[j]) && value <= fmaxf(t->most[j], k->x[j]));
}

/* |x_j - x0_j| in units of the feature. */
static long double moved(const brute *k, size_t j, float value) {
    const surety_tolerance *t = k->ball->tolerance;
    long double e = fabsl((long double)value - (long double)k->x[j]);
    return e > 0 && t ? e / (long double)t->unit[j] : e;
}

static void add_value(brute *k, size_t j, float value) {
    if (!allowed(k, j, value)) return;
    if (k->count[j] < VALUES) k->values[j][k->count[j]++] = value;
}

static void judge(brute *k, const float *point) {
    long double sum = 0, most = 0, b = (long double)k->ball->radius;
    int outer = 1; /* linf: within the ends rounded outward */
    for (size_t j = 0; j < k->b->d; j++) {
        if (isnan(k->x[j])) continue;
        long double e = moved(k, j, point[j]), before = moved(k, j, nextafterf(point[j], k->x[j]));
        most = fmaxl(most, e);
        sum += k->ball->norm == SURETY_L2 ? e * e : e;
        outer &= e <= b || (!isinf(e) && before < b);
    }
    long double far = k->ball->norm == SURETY_LINF ? most : k->ball->norm == SURETY_L2 ? sqrtl(sum) : sum;
    double margin = naive_vote(k->b, point, k->y);
    if (far <= b) k->inside = fmin(k->inside, margin);
    if (k->ball->norm == SURETY_LINF ? outer : far <= b) k->around = fmin(k->around, margin);
    if (k->ball->norm != SURETY_LINF && fabsl(far - b) <= 0x1p-22L && margin <= 0) k->edge = 1;
}

static void enter(brute *k, size_t j, float *point) {
    if (j == k->b->d) {
        judge(k, point);
        return;
    }
    for (size_t i = 0; i < k->count[j]; i++) {
        point[j] = k->values[j][i];
        enter(k, j + 1, point);
    }
}

static void run_brute(brute *k) {
    float point[FEATURES];
    k->inside = k->around = HUGE_VAL;
    for (size_t j = 0; j < k->b->d; j++) {
        k->values[j][0] = k->x[j];
        k->count[j] = 1;
        for (size_t i = 0; i < k->b->N && !isnan(k->x[j]); i++) {
            if ((size_t)k->b->feature[i] != j) continue;
            add_value(k, j, k->b->threshold[i]);
            add_value(k, j, nextafterf(k->b->threshold[i], HUGE_VALF));
        }
    }
    enter(k, 0, point);
}

/* ---- one example ---- */

typedef struct tally {
    size_t proved, fooled, open, edges;
} tally;

static surety_ball random_ball(draw *r) {
    surety_ball ball = {
        .norm = (surety_norm)draw_size(r, 0, 2), .has_box = (int)draw_size(r, 0, 1), .lo = 0.2, .hi = 0.8};
    static const double exact[] = {0, 0.1, 0.2, 0.3, 0.5};
    ball.radius = draw_size(r, 0, 1) ? exact[draw_size(r, 0, 4)] : draw_real(r, 0, 0.7);
    return ball;
}

/* Units of which one may be 0, and a range around the middle. */
typedef struct units {
    double unit[FEATURES];
    float least[FEATURES], most[FEATURES];
    surety_tolerance tolerance;
} units;

static void random_units(units *u, size_t d, draw *r) {
    static const double some[] = {0, 0.25, 0.3, 1, 2};
    for (size_t j = 0; j < d; j++) {
        u->unit[j] = some[draw_size(r, 0, 4)];
        u->least[j] = draw_size(r, 0, 1) ? 0.3f : -HUGE_VALF;
        u->most[j] = draw_size(r, 0, 1) ? 0.7f : HUGE_VALF;
    }
    u->tolerance = (surety_tolerance){.d = d, .unit = u->unit, .least = u->least, .most = u->most};
}

static float clip(float x, const surety_ball *ball) {
    return !ball->has_box ? x : fminf(fmaxf(x, (float)ball->lo), (float)ball->hi);
}

static void check_point(const brute *k, const float *point) {
    long double sum = 0, most = 0, b = (long double)k->ball->radius;
    for (size_t j = 0; j < k->b->d; j++) {
        if (isnan(k->x[j])) {
            check_is(isnan, point[j]);
            continue;
        }
        long double e = moved(k, j, point[j]);
        most = fmaxl(most, e);
        sum += k->ball->norm == SURETY_L2 ? e * e : e;
        check(allowed(k, j, point[j]), "feature %zu left box or range: %g", j, (double)point[j]);
    }
    long double far = k->ball->norm == SURETY_LINF ? most : k->ball->norm == SURETY_L2 ? sqrtl(sum) : sum;
    check(far <= b, "the point is %.20Lg away, the radius is %.20Lg", far, b);
    check(naive_vote(k->b, point, k->y) <= 0, "the vote is right at the point that was found");
}

static void check_example(const bush *b, const surety_voters *v, draw *r, tally *all) {
    float x[SURETY_LANES] = {0}, point[SURETY_LANES], low[TREES * 2 * SURETY_LANES];
    double weights[TREES], margin[SURETY_LANES];
    const float *row[1] = {x};
    surety_ball ball = random_ball(r);
    units own;
    random_units(&own, b->d, r);
    if (draw_size(r, 0, 2) == 0) ball.tolerance = &own.tolerance;
    brute k = {.b = b, .ball = &ball, .x = x};
    surety_range *range;
    for (size_t j = 0; j < b->d; j++) x[j] = draw_size(r, 0, 9) ? clip(grid(r), &ball) : NAN;
    k.y = (uint8_t)draw_size(r, 0, surety_voters_classes(v) - 1);
    for (uint8_t y = 0; y < surety_voters_classes(v); y++)
        if (naive_vote(b, x, y) > 0 && draw_size(r, 0, 7)) k.y = y;
    run_brute(&k);
    for (size_t g = 0; g < b->H; g++) weights[g] = 1 / (double)b->H;
    surety_vote vote = {v, weights, SURETY_REAL};
    check_ok(surety_range_new(&range, v, &ball, BUDGET, &err));
    surety_range_run(range, row, 1, &ball.radius, &k.y, low);
    surety_margin_limits(&vote, low, margin);
    int proved = margin[0] > 0, found = surety_range_find(range, &vote, x, k.y, ball.radius, point);
    int tied = b->H > 1 && k.inside == 0; /* weights of 1/3 round: the vote may be on either side of 0 */
    check(!proved || k.inside > 0 || tied, "proved, but the margin can be %g", k.inside);
    check(!found || !proved, "proved and fooled");
    if (found) check_point(&k, point);
    if (!k.edge && !tied) {
        check(found == (k.inside <= 0), "found %d, but the margin can be %g", found, k.inside);
        if (b->H == 1)
            check(proved == (k.around > 0),
                  "proved %d, but the least margin is %g: norm %d, radius %.17g, box %d, %zu trees, %zu "
                  "scores, rule %g",
                  proved, k.around, (int)ball.norm, ball.radius, ball.has_box, b->T, b->C, b->rule[0]);
    }
    all->proved += proved, all->fooled += found, all->open += !proved && !found, all->edges += k.edge;
    surety_range_free(range);
}

static void test_brute_force(void **state) {
    draw r = {.state = 5};
    tally all = {0};
    long ensembles = check_count(1000, 10000);
    (void)state;
    for (long n = 0; n < ensembles; n++) {
        bush b = random_bush(&r);
        if (!b.N) continue;
        surety_voters *v = voters_of(&b);
        for (size_t i = 0; i < 8; i++) check_example(&b, v, &r, &all);
        surety_voters_free(v);
    }
    print_message("# %zu proved, %zu fooled, %zu open, %zu at the edge\n", all.proved, all.fooled, all.open,
                  all.edges);
    check_that(all.proved, >, 1000);
    check_that(all.fooled, >, 1000);
    check_that(all.open, <, all.proved / 4);
}

/* ---- roundings ---- */

/* Leaves of any size, and a cut within a few roundings of the least score of the ball: what is proved must be
 * right as the program adds up floats, at every point. */
static void roundings(draw *r, size_t *proved, size_t *near) {
    bush b = random_bush(r);
    float x[SURETY_LANES] = {0}, low[SURETY_LANES], h[SURETY_LANES], scratch[2 * SURETY_LANES];
    const float *row[1] = {x};
    double radius = 0;
    uint8_t y = 1;
    if (!b.N || b.C > 1 || b.H > 1) return;
    b.type = SURETY_ELEMENT_F32;
    for (size_t i = 0; i < b.M; i++) b.leaves[i] = (double)(float)draw_normal(r);
    for (size_t j = 0; j < b.d; j++) x[j] = grid(r);
    b.rule[SURETY_TREES_AT] = 0;
    double least = naive(&b, 0, x, 1, 0), nudge = ((double)draw_size(r, 0, 64) - 32) * 0x1p-25;
    b.rule[SURETY_TREES_AT] = least * (1 + nudge);
    surety_voters *v = voters_of(&b);
    surety_range *range;
    surety_ball ball = {.norm = SURETY_LINF};
    check_ok(surety_range_new(&range, v, &ball, BUDGET, &err));
    surety_range_run(range, row, 1, &radius, &y, low);
    surety_voters_ask(v, row, 1, h, scratch);
    check(!(low[0] > 0) || h[0] > 0, "proved, but the program's output is %g, the real score less the cut %g",
          (double)h[0], -least * nudge);
    check(low[0] <= h[0], "the limit %g is above the output %g", (double)low[0], (double)h[0]);
    *proved += low[0] > 0;
    *near += (h[0] > 0) != (nudge * least < 0) && nudge != 0; /* a rounding decided */
    surety_range_free(range);
    surety_voters_free(v);
}

static void test_roundings(void **state) {
    draw r = {.state = 6};
    size_t proved = 0, near = 0;
    (void)state;
    for (long n = 0; n < check_count(20000, 200000); n++) roundings(&r, &proved, &near);
    print_message("# %zu proved, %zu where a rounding decided\n", proved, near);
    check_that(proved, >, 100);
    check_that(near, >, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_roundings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
