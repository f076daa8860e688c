/* Trees that grow, against naive twins: the value of an epoch against the limits of trees_range.c, which
 * share no code with growing; the first split against all others, each with its values found by trial; leaf
 * values against their neighbours; what is trimmed against what was not. */
#include <float.h>
#include <math.h>

#include "check.h"
#include "draw.h"
#include "surety/train.h"
#include "tolerance.h"
#include "voters/ball.h"
#include "voters/kind.h"
#include "voters/range.h"
#include "voters/trees_grow.h"

enum { ROWS = 120, FEATURES = 5, STRIDE = 16 };

static surety_error err = SURETY_ERROR_NONE;

typedef struct sample {
    _Alignas(64) float x[ROWS * STRIDE];
    uint8_t y[ROWS];
    uint32_t row[ROWS];
    surety_set set;
} sample;

/* Rows whose class is told by two features, with noise; a part of the values is missing if asked for. */
static void fill(sample *s, draw *r, size_t classes, int missing) {
    memset(s->x, 0, sizeof s->x);
    for (size_t i = 0; i < ROWS; i++) {
        float *x = s->x + i * STRIDE;
        for (size_t j = 0; j < FEATURES; j++) x[j] = (float)draw_size(r, 0, 100) / 100;
        double z = (double)(x[0] + x[1]) + 0.02 * (double)draw_size(r, 0, 20);
        s->y[i] = (uint8_t)fmin(z * (double)classes / 2.4, (double)classes - 1);
        s->row[i] = (uint32_t)i;
        for (size_t j = 0; missing && j < FEATURES; j++)
            if (!draw_size(r, 0, 6)) x[j] = NAN;
    }
    s->set = (surety_set){
        .m = ROWS, .d = FEATURES, .stride = STRIDE, .x = s->x, .y = s->y, .row = s->row, .classes = classes};
}

static surety_voters *make(size_t trees, size_t depth, size_t classes) {
    surety_voters_settings settings = {.kind = "trees", .count = trees, .depth = depth, .classes = classes};
    surety_voters *v;
    check_ok(surety_voters_new(&settings, FEATURES, 0, &v, &err));
    return v;
}

static const double even[SURETY_CLASSES_MOST] = {1, 1, 1, 1, 1, 1};

static double grow(surety_voters *v, const surety_set *set, const surety_set *choose, const surety_ball *ball,
                   size_t epochs, double rate) {
    double value = NAN;
    for (size_t e = 0; e < epochs; e++) {
        surety_growth g = {.set = set,
                           .choose = choose,
                           .ball = ball,
                           .epoch = e,
                           .epochs = epochs,
                           .rate = rate,
                           .balance = even,
                           .seed = 3};
        check_ok(surety_voters_grow(v, &g, &err));
        value = g.value;
    }
    surety_voters_changed(v);
    return value;
}

/* The treewise limit of the margin of each row, through the range of the kind. */
static double least_margin(surety_range *range, const surety_voters *v, const surety_set *set, size_t i,
                           double radius) {
    const float *x[1] = {set->x + i * set->stride};
    float low[SURETY_LANES * SURETY_CLASSES_MOST];
    surety_range_run(range, x, 1, &radius, set->y + i, low);
    double least = HUGE_VAL;
    for (size_t k = 0; k + 1 < set->classes; k++) least = fmin(least, (double)low[k * SURETY_LANES]);
    return least * v->tensors[SURETY_TREES_SCALE].doubles[0];
}

static void check_value(const surety_voters *v, const surety_set *set, const surety_ball *ball,
                        double value) {
    surety_range *range;
    double sum = 0;
    check_ok(surety_range_new(&range, v, ball, 0, &err));
    for (size_t i = 0; i < set->m; i++)
        sum += 1 / (1 + exp(2 * least_margin(range, v, set, i, ball->radius)));
    surety_range_free(range);
    sum /= (double)set->m;
    check(fabs(sum - value) < 2e-4, "value %.9g, limits say %.9g", value, sum);
}

static surety_ball linf(double radius) {
    surety_ball ball = surety_ball_defaults();
    ball.norm = SURETY_LINF, ball.radius = radius;
    return ball;
}

static void value_is_that_of_the_limits(void **state) {
    (void)state;
    draw r = {7};
    static sample train, other;
    for (long n = 0; n < check_count(24, 400); n++) {
        size_t classes = draw_size(&r, 2, 4);
        int missing = n % 3 == 0, judged = n % 2 == 0;
        static const double radii[] = {0, 0.03, 0.1, 0.25};
        surety_ball ball = linf(radii[draw_size(&r, 0, 3)]);
        surety_tolerance *tolerance = n % 4 == 1 ? random_tolerance(&r, FEATURES, 0.5) : NULL;
        ball.tolerance = tolerance;
        fill(&train, &r, classes, missing);
        fill(&other, &r, classes, missing);
        surety_voters *v = make(6, draw_size(&r, 1, 5), classes);
        double value = grow(v, &train.set, judged ? &other.set : NULL, n % 5 ? &ball : NULL, 6, 0.3);
        if (n % 5 == 0) ball.radius = 0;
        surety_voters *full = v, *small = NULL;
        check_ok(v->kind->trim(&small, full, &err));
        check_ok(surety_voters_check(small, &err));
        check_value(small, judged ? &other.set : &train.set, &ball, value);
        surety_voters_free(small);
        surety_voters_free(full);
        surety_tolerance_free(tolerance);
    }
}

static void trimmed_answers_are_the_same(void **state) {
    (void)state;
    draw r = {11};
    static sample train;
    for (long n = 0; n < check_count(10, 100); n++) {
        size_t classes = draw_size(&r, 2, 3);
        surety_ball ball = linf(0.05);
        fill(&train, &r, classes, n % 2);
        surety_voters *v = make(8, 4, classes), *small;
        grow(v, &train.set, NULL, &ball, 5, 0.2); /* three trees stay empty */
        check_ok(v->kind->trim(&small, v, &err));
        size_t nodes;
        check(surety_voters_trees(small, &nodes) <= 5 * (classes > 2 ? classes : 1), "empty trees stay");
        static double a[ROWS * 9], b[ROWS * 9];
        check_ok(surety_voters_score(v, train.x, STRIDE, ROWS, a, NULL, &err));
        check_ok(surety_voters_score(small, train.x, STRIDE, ROWS, b, NULL, &err));
        size_t columns = classes > 2 ? classes * classes : 1;
        check(!memcmp(a, b, ROWS * columns * sizeof *a), "trimming changed scores");
        surety_voters_free(small);
        surety_voters_free(v);
    }
}

/* ---- the first tree, by trial ---- */

/* Where row i is for a test: 1 left, 2 right, 3 both; straight from the definition. */
static int side(const surety_set *set, size_t i, size_t j, float t, int missing, double radius) {
    float x = set->x[i * set->stride + j];
    if (isnan(x)) return missing ? 1 : 2;
    double lo = fmax((double)x - radius, 0), hi = fmin((double)x + radius, 1);
    return (hi <= (double)t) ? 1 : (lo > (double)t) ? 2 : 3;
}

static double part_loss(double left, double right, const double sums[4][2], double smooth) {
    double loss = smooth * (exp(left) + exp(-left) + exp(right) + exp(-right));
    loss += sums[1][1] * exp(-left) + sums[1][0] * exp(left);
    loss += sums[2][1] * exp(-right) + sums[2][0] * exp(right);
    return loss + sums[3][1] * exp(-fmin(left, right)) + sums[3][0] * exp(fmax(left, right));
}

/* The least loss of a split over values of its two sides, found by a walk on ever finer grids: the loss is
 * convex. */
static double try_split(const surety_set *set, size_t j, float t, int missing, double radius, double smooth) {
    double sums[4][2] = {{0}};
    for (size_t i = 0; i < set->m; i++) sums[side(set, i, j, t, missing, radius)][set->y[i]] += 0.5;
    double at[2] = {0, 0}, best = part_loss(0, 0, (const double(*)[2])sums, smooth);
    for (double step = 0.5; step > 1e-5; step /= 2)
        for (int moved = 1; moved;) {
            moved = 0;
            for (int way = 0; way < 8; way++) {
                static const int to[8][2] = {{1, 0}, {-1, 0},  {0, 1},  {0, -1},
                                             {1, 1}, {-1, -1}, {1, -1}, {-1, 1}};
                double l = fmin(fmax(at[0] + to[way][0] * step, -1), 1),
                       q = fmin(fmax(at[1] + to[way][1] * step, -1), 1);
                double loss = part_loss(l, q, (const double(*)[2])sums, smooth);
                if (loss < best - 1e-12) best = loss, at[0] = l, at[1] = q, moved = 1;
            }
        }
    return best;
}

static void first_split_is_the_best(void **state) {
    (void)state;
    draw r = {5};
    static sample train;
    double smooth = 0.5;
    for (long n = 0; n < check_count(6, 60); n++) {
        /* no x +- radius meets a threshold, where roundings would say on which side a row is */
        double radius = 0.0737 + 0.01 * (double)draw_size(&r, 0, 9);
        surety_ball ball = linf(radius);
        fill(&train, &r, 2, n % 2);
        surety_voters *v = make(1, 1, 2);
        grow(v, &train.set, NULL, &ball, 1, 1);
        surety_celled cells = {.set = &train.set}, none = {.set = &(surety_set){.d = FEATURES}};
        surety_grid grid;
        check_ok(surety_grid_new(&grid, &cells, &none, &ball, NULL, &err));
        double best = HUGE_VAL, chosen = HUGE_VAL;
        for (size_t j = 0; j < FEATURES; j++)
            for (uint32_t k = grid.first[j]; k < grid.first[j + 1]; k++)
                for (int missing = 0; missing < 2; missing++) {
                    float t = grid.threshold[k];
                    double loss = try_split(&train.set, j, t, missing, radius, smooth);
                    best = fmin(best, loss);
                    if (v->tensors[SURETY_TREES_FEATURE].numbers[0] == (int32_t)j &&
                        v->tensors[SURETY_TREES_THRESHOLD].values[0] == t &&
                        v->tensors[SURETY_TREES_MISSING].numbers[0] == missing)
                        chosen = loss;
                }
        check(chosen <= best * (1 + 1e-4), "the split has loss %.9g, the best %.9g", chosen, best);
        surety_grid_free(&grid);
        surety_free(cells.cell);
        surety_free(none.cell);
        surety_voters_free(v);
    }
}

/* A few values of any sign and size: one threshold between any two neighbours. Many: as many below each as
 * its rank says, but for ties. */
static void thresholds_lie_between_values(void **state) {
    (void)state;
    draw r = {7};
    static sample s;
    for (long n = 0; n < check_count(20, 400); n++) {
        float values[50] = {-0.0F, 0, FLT_MIN / 4, -FLT_MIN / 4, -1e30F, 1e30F};
        size_t few = draw_size(&r, 2, 50);
        fill(&s, &r, 2, 0);
        for (size_t k = 6; k < few; k++)
            values[k] = (float)(draw_real(&r, -1, 1) * exp(draw_real(&r, -9, 9)));
        for (size_t i = 0; i < ROWS; i++) {
            s.x[i * STRIDE] = values[draw_size(&r, 0, few - 1)];
            s.x[i * STRIDE + 1] = (float)draw_real(&r, -1, 1);
        }
        surety_celled cells = {.set = &s.set}, none = {.set = &(surety_set){.d = FEATURES}};
        surety_grid g;
        check_ok(surety_grid_new(&g, &cells, &none, NULL, NULL, &err));
        for (uint32_t j = 0; j < 2; j++) {
            const float *t = g.threshold + g.first[j];
            size_t count = g.first[j + 1] - g.first[j], parted = 0;
            for (size_t k = 0; k < count; k++) {
                size_t below = 0, between = 0;
                for (size_t i = 0; i < ROWS; i++) {
                    float x = s.x[i * STRIDE + j];
                    below += x <= t[k];
                    between += x <= t[k] && (!k || x > t[k - 1]);
                }
                check(between > 0 && below < ROWS, "column %u: nothing below or above %g", j, (double)t[k]);
                check(!j || fabs((double)below - (double)((k + 1) * ROWS) / (SURETY_GRID_MOST + 1.0)) <= 2,
                      "%zu rows below threshold %zu", below, k);
            }
            for (size_t a = 0; a < ROWS && !j; a++) { /* each value once, but the least */
                int first = 1, least = 1;
                for (size_t b = 0; b < ROWS; b++) {
                    first &= b >= a || s.x[b * STRIDE] != s.x[a * STRIDE];
                    least &= s.x[b * STRIDE] >= s.x[a * STRIDE];
                }
                parted += first && !least;
            }
            check(j || count == parted, "%zu thresholds for %zu neighbours", count, parted);
        }
        surety_grid_free(&g);
        surety_free(cells.cell);
        surety_free(none.cell);
    }
}

/* The robust loss of one tree: each row in its worst leaf, found by walking through the tensors. */
static double worst_leaf(const surety_voters *v, const surety_set *set, size_t i, int32_t at, double radius) {
    const surety_tensor *of = v->tensors;
    if (at < 0) return surety_sign(set->y[i]) * of[SURETY_TREES_LEAVES].doubles[-1 - at];
    int ways = side(set, i, (size_t)of[SURETY_TREES_FEATURE].numbers[at],
                    of[SURETY_TREES_THRESHOLD].values[at], of[SURETY_TREES_MISSING].numbers[at], radius);
    double least = HUGE_VAL;
    if (ways & 1) least = worst_leaf(v, set, i, of[SURETY_TREES_LEFT].numbers[at], radius);
    if (ways & 2) least = fmin(least, worst_leaf(v, set, i, of[SURETY_TREES_RIGHT].numbers[at], radius));
    return least;
}

static double tree_loss(const surety_voters *v, const surety_set *set, double radius, double smooth) {
    double loss = 0;
    const surety_tensor *leaves = &v->tensors[SURETY_TREES_LEAVES];
    for (size_t i = 0; i < set->m; i++)
        loss += 0.5 * exp(-worst_leaf(v, set, i, v->tensors[SURETY_TREES_ROOTS].numbers[0], radius));
    for (size_t l = 0; l < leaves->length; l++)
        loss += smooth * (exp(leaves->doubles[l]) + exp(-leaves->doubles[l]));
    return loss;
}

/* No leaf can be moved alone to lower the loss by more than what further rounds would give. */
static void leaves_are_settled(void **state) {
    (void)state;
    draw r = {9};
    static sample train;
    for (long n = 0; n < check_count(6, 60); n++) {
        /* balls that reach many leaves, few, one */
        double radius = (const double[]){0.12, 0.0137, 0.003}[n / 2 % 3];
        surety_ball ball = linf(radius);
        fill(&train, &r, 2, n % 2);
        surety_voters *v = make(1, 4, 2), *small;
        grow(v, &train.set, NULL, &ball, 1, 1);
        check_ok(v->kind->trim(&small, v, &err));
        double *leaves = small->tensors[SURETY_TREES_LEAVES].doubles;
        double loss = tree_loss(small, &train.set, radius, 0.5);
        for (size_t l = 0; l < small->tensors[SURETY_TREES_LEAVES].length; l++)
            for (int way = -1; way <= 1; way += 2) {
                double before = leaves[l];
                leaves[l] = fmin(fmax(before + way * 0.02, -1), 1);
                double moved = tree_loss(small, &train.set, radius, 0.5);
                check(moved >= loss * (1 - 2e-3), "leaf %zu at %.6g: %.9g by %+d, now %.9g", l, before, moved,
                      way, loss);
                leaves[l] = before;
            }
        surety_voters_free(small);
        surety_voters_free(v);
    }
}

/* ---- duels ---- */

enum { K_MOST = 5 };

/* The class that wins all its duels, straight from the scores, or SURETY_TIED. */
static uint8_t winner(const double *score, size_t K) {
    for (size_t c = 0; c < K; c++) {
        size_t won = 0;
        for (size_t k = 0; k < K; k++) won += k < c ? score[k * K + c] > 0 : k > c ? score[c * K + k] < 0 : 0;
        if (won + 1 == K) return (uint8_t)c;
    }
    return SURETY_TIED;
}

static void ask(const surety_voters *v, const float *x, uint8_t *answer, float *h, double *score) {
    static float scratch[4096];
    const float *rows[1] = {x};
    const double one = 1;
    float all[K_MOST * SURETY_LANES];
    uint8_t answers[SURETY_LANES];
    check(v->kind->scratch(v) <= 4096, "scratch");
    surety_voters_ask(v, rows, 1, all, scratch);
    surety_vote_answers(&(surety_vote){v, &one, SURETY_REAL}, all, 1, answers);
    *answer = answers[0];
    for (size_t k = 0; k < v->classes; k++) h[k] = all[k * SURETY_LANES];
    check_ok(surety_voters_score(v, x, STRIDE, 1, score, NULL, &err));
}

/* Answers are those of the scores; the winner is ahead of each class by as much, and by no more than a duel
 * gives; limits hold at points of the ball and say right only of the winner. */
static void duels_decide(void **state) {
    (void)state;
    draw r = {21};
    static sample train;
    size_t tied = 0, proved = 0;
    for (long n = 0; n < check_count(6, 60); n++) {
        size_t K = draw_size(&r, 3, K_MOST);
        surety_ball ball = linf(0.04);
        fill(&train, &r, K, n % 2);
        surety_voters *full = make(5, 3, K), *v;
        grow(full, &train.set, NULL, &ball, 5, 0.3);
        check_ok(full->kind->trim(&v, full, &err));
        check_ok(surety_voters_check(v, &err));
        surety_range *range;
        check_ok(surety_range_new(&range, v, &ball, 100, &err));
        for (size_t i = 0; i < ROWS; i++) {
            _Alignas(64) float x[STRIDE] = {0}, low[K_MOST * SURETY_LANES];
            const float *row = train.x + i * STRIDE, *rows[1] = {row};
            uint8_t y = train.y[i];
            surety_range_run(range, rows, 1, &ball.radius, &y, low);
            for (int point = 0; point < 8; point++) {
                for (size_t j = 0; j < FEATURES; j++)
                    x[j] = isnan(row[j]) || !point
                               ? row[j]
                               : fminf(fmaxf(row[j] + (draw_size(&r, 0, 1) ? 0.0399f : -0.0399f), 0), 1);
                uint8_t answer;
                float h[K_MOST];
                double score[K_MOST * K_MOST], scale = v->tensors[SURETY_TREES_SCALE].doubles[0];
                ask(v, x, &answer, h, score);
                check(answer == winner(score, K), "answer %d, duels say %d", answer, winner(score, K));
                tied += answer == SURETY_TIED;
                int right = 1;
                for (size_t k = 0, c = 0; k < K; k++) {
                    if (k == y) continue;
                    float limit = low[c++ * SURETY_LANES];
                    check(h[y] - h[k] >= limit, "class %zu: %g, limit %g", k, (double)(h[y] - h[k]),
                          (double)limit);
                    right &= limit > 0;
                    if (answer == SURETY_TIED || k == answer) continue;
                    double duel = (answer > k ? 1 : -1) * score[answer > k ? k * K + answer : answer * K + k];
                    check((double)(h[answer] - h[k]) <= duel / scale + 1e-6, "ahead by more than the duel");
                }
                check(!right || answer == y, "proved, and wrong");
                proved += (size_t)right;
            }
        }
        surety_range_free(range);
        surety_voters_free(v);
        surety_voters_free(full);
    }
    check(tied && proved, "%zu tied, %zu proved", tied, proved);
}

/* All columns are the same, so the first one that a split sees is taken: the first of all with probability
 * 1 - mask. */
static void a_mask_hides_features(void **state) {
    (void)state;
    enum { M = 40, WIDE = 70, PADDED = 80, TREES = 600 };
    static float x[M * PADDED];
    static uint8_t y[M];
    static uint32_t row[M];
    for (uint32_t i = 0; i < M; i++) {
        y[i] = i % 2, row[i] = i;
        for (size_t j = 0; j < WIDE; j++) x[i * PADDED + j] = (float)(i % 2) + 0.01f * (float)(i / 2);
    }
    surety_set set = {.m = M, .d = WIDE, .stride = PADDED, .x = x, .y = y, .row = row, .classes = 2};
    static const double masks[] = {0, 0.25, 0.5, 0.75, 0.9};
    for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
        surety_voters_settings settings = {.kind = "trees", .count = TREES, .depth = 1, .mask = masks[k]};
        surety_voters *v;
        check_ok(surety_voters_new(&settings, WIDE, 0, &v, &err));
        size_t first = 0;
        for (size_t e = 0; e < TREES; e++) {
            surety_growth g = {.set = &set,
                               .epoch = e,
                               .epochs = TREES,
                               .rate = 1e-9,
                               .mask = masks[k],
                               .balance = even,
                               .seed = 3};
            check_ok(surety_voters_grow(v, &g, &err));
            int32_t j = v->tensors[SURETY_TREES_FEATURE].numbers[e];
            first += j == 0;
        }
        double expected = TREES * (1 - masks[k]), spread = 5 * sqrt(expected * masks[k]) + 3;
        check(fabs((double)first - expected) <= spread, "mask %g: %zu of %d see the first feature", masks[k],
              first, TREES);
        surety_voters_free(v);
    }
}

static void other_norms_are_refused(void **state) {
    (void)state;
    surety_train_settings s = surety_train_defaults();
    s.voters.kind = "trees";
    surety_train_kind(&s);
    s.defense.kind = SURETY_WORST_CASE;
    for (int norm = SURETY_L2; norm <= SURETY_L1; norm++) {
        surety_error said = SURETY_ERROR_NONE;
        s.defense.ball = linf(0.1);
        s.defense.ball.norm = (surety_norm)norm;
        surety_status status = surety_train_validate(&s, &said);
        check(status == (norm == SURETY_LINF ? SURETY_OK : SURETY_E_USAGE), "norm %d: %d, %s", norm,
              (int)status, said.what);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_is_that_of_the_limits), cmocka_unit_test(trimmed_answers_are_the_same),
        cmocka_unit_test(first_split_is_the_best),     cmocka_unit_test(thresholds_lie_between_values),
        cmocka_unit_test(leaves_are_settled),          cmocka_unit_test(duels_decide),
        cmocka_unit_test(a_mask_hides_features),       cmocka_unit_test(other_norms_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
