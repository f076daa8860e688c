/* Blocks of rows with their limits over a ball, and points that try to lie outside of them. */
#ifndef SURETY_TESTS_LIMITS_H
#define SURETY_TESTS_LIMITS_H

#include "attack/attacker.h"
#include "check.h"
#include "draw.h"
#include "tolerance.h"
#include "voters/ball.h"
#include "voters/kind.h"
#include "voters/range.h"

enum { L = SURETY_LANES };

/* A third of them with a tolerance, which free_ball frees. */
static inline surety_ball random_ball(draw *r, size_t d) {
    surety_ball ball = {.norm = (surety_norm)draw_size(r, 0, 2), .has_box = draw_size(r, 0, 3) > 0, .hi = 1};
    double least = ball.norm == SURETY_LINF ? 0.001 : 0.01;
    ball.radius = least * exp(draw_real(r, 0, 6));
    if (ball.norm == SURETY_L1) ball.radius *= sqrt((double)d);
    if (draw_size(r, 0, 2) == 0) ball.tolerance = random_tolerance(r, d, 0.5);
    return ball;
}

static inline void free_ball(const surety_ball *ball) {
    surety_tolerance_free((surety_tolerance *)(uintptr_t)ball->tolerance);
}

/* Rows like images: many zeros and ones, the rest between. Without a box anything goes. */
static inline void random_rows(draw *r, const surety_ball *ball, size_t d, float *x) {
    for (size_t i = 0; i < L; i++)
        for (size_t j = 0; j < d; j++) {
            double value = draw_real(r, -0.7, 1.7);
            if (ball->has_box) value = fmin(fmax(value, 0), 1);
            x[i * surety_padded(d) + j] = (float)value;
        }
}

/* A block of rows with its limits: low[(t, y, k), lane] of h_ty - h_tk for every pair of classes; of two
 * classes (1, 0) is h and (0, 1) is -h. */
typedef struct block {
    surety_voters *v;
    surety_ball ball;
    surety_range *range;
    size_t H, K, d, stride;
    float *x, *point, *low, *h, *scratch;
    const float *rows[L];
    double radius[L];
} block;

static inline size_t pairs(const block *k) {
    return k->H * k->K * k->K;
}

/* low (H, K, K, lanes); a class against itself has 0. */
static inline void limits(const block *k, const float *const *x, size_t rows, const double *radius,
                          float *low) {
    size_t K = k->K;
    float *one = calloc(k->H * (K - 1) * L, sizeof *one);
    memset(low, 0, pairs(k) * L * sizeof *low);
    for (size_t y = 0; y < K; y++) {
        uint8_t label[L];
        memset(label, (int)y, sizeof label);
        surety_range_run(k->range, x, rows, radius, label, one);
        for (size_t n = 0; n < k->H * (K - 1); n++) {
            size_t t = n / (K - 1), other = n % (K - 1), c = other + (other >= y);
            memcpy(low + ((t * K + y) * K + c) * L, one + n * L, L * sizeof *low);
        }
    }
    free(one);
}

/* h_ty - h_tk of the last forward, as the vote takes it; n counts (t, y, k). */
static inline double difference(const block *k, size_t n, size_t lane) {
    size_t K = k->K, t = n / (K * K), y = n / K % K, c = n % K;
    if (y == c) return 0;
    if (K == 2) return (y ? 1 : -1) * (double)k->h[t * L + lane];
    return (double)k->h[(t * K + y) * L + lane] - (double)k->h[(t * K + c) * L + lane];
}

static inline void fill(block *k, draw *r, surety_voters *v, surety_ball ball) {
    surety_error err = SURETY_ERROR_NONE;
    size_t d = surety_voters_features(v), H = surety_voters_count(v);
    *k = (block){.v = v, .ball = ball, .H = H, .K = v->classes, .d = d, .stride = surety_padded(d)};
    check_ok(surety_range_new(&k->range, v, &ball, 0, &err));
    check_ok(surety_alloc(&k->x, L * k->stride, sizeof(float), &err));
    check_ok(surety_alloc(&k->point, L * k->stride, sizeof(float), &err));
    check_ok(surety_alloc(&k->low, pairs(k) * L, sizeof(float), &err));
    check_ok(surety_alloc(&k->h, H * v->width * L, sizeof(float), &err));
    check_ok(surety_alloc(&k->scratch, v->kind->scratch(v), sizeof(float), &err));
    random_rows(r, &ball, d, k->x);
    for (size_t i = 0; i < L; i++) k->rows[i] = k->x + i * k->stride, k->radius[i] = ball.radius;
    limits(k, k->rows, L, k->radius, k->low);
}

static inline void empty(block *k) {
    surety_range_free(k->range);
    surety_free(k->x);
    surety_free(k->point);
    surety_free(k->low);
    surety_free(k->h);
    surety_free(k->scratch);
    surety_voters_free(k->v);
    free_ball(&k->ball);
}

/* The program's outputs at k->point must lie in the limits. */
static inline void check_points(block *k, const char *what) {
    const float *rows[L];
    for (size_t i = 0; i < L; i++) rows[i] = k->point + i * k->stride;
    k->v->kind->forward(k->v, rows, L, k->h, k->scratch);
    for (size_t n = 0; n < pairs(k); n++)
        for (size_t i = 0; i < L; i++) {
            double v = difference(k, n, i), low = (double)k->low[n * L + i];
            check(v >= low, "%s, %s %s d %zu K %zu b %g: %.9g is below %.9g", what, surety_voters_kind(k->v),
                  surety_norm_name(k->ball.norm), k->d, k->K, k->ball.radius, v, low);
        }
}

/* Is the float point in ball and box, as real arithmetic measures it (up to 1e-12, far below a margin)? */
static inline int inside(const block *k, size_t i) {
    const float *p = k->point + i * k->stride, *x = k->rows[i];
    for (size_t j = 0; j < k->d; j++) {
        float lo, hi;
        surety_ball_ends(&k->ball, j, x[j], &lo, &hi);
        if (!(p[j] >= lo && p[j] <= hi)) return 0;
    }
    return surety_ball_distance(&k->ball, p, x, k->d) <= k->ball.radius * (1 + 1e-12);
}

/* ---- points at random and at the ends of an argument ---- */

/* Pulls the point towards x until it is inside. */
static inline void pull_inside(block *k, size_t i) {
    float *p = k->point + i * k->stride;
    const float *x = k->rows[i];
    for (size_t j = 0; j < k->d; j++) {
        float lo, hi;
        surety_ball_ends(&k->ball, j, x[j], &lo, &hi);
        p[j] = surety_ball_unit(&k->ball, j) > 0 ? fminf(fmaxf(p[j], lo), hi) : x[j];
    }
    for (double scale = 1; !inside(k, i); scale *= 0.9999999)
        for (size_t j = 0; j < k->d; j++)
            p[j] = (float)((double)x[j] + ((double)p[j] - (double)x[j]) * scale);
}

/* x + e with e the best direction for +-w: mu w clipped for l2 and a random mu, the largest few features for
 * l1, the corner for linf; or noise. */
static inline void place_point(block *k, draw *r, size_t i, int noise) {
    const surety_tensor w = surety_voters_tensor(k->v, 0);
    const float *row = w.values + draw_size(r, 0, w.rows - 1) * w.stride, *x = k->rows[i];
    double sign = draw_size(r, 0, 1) ? 1 : -1, b = k->ball.radius, norm = 1e-30, cut = draw_real(r, 0, 1);
    float *p = k->point + i * k->stride;
    for (size_t j = 0; j < k->d; j++) norm += pow((double)row[j] * surety_ball_unit(&k->ball, j), 2);
    double mu = b / sqrt(norm) * exp(draw_real(r, 0, 1.5));
    for (size_t j = 0; j < k->d; j++) {
        double unit = surety_ball_unit(&k->ball, j),
               e = noise ? draw_normal(r) : sign * (double)row[j] * unit;
        if (k->ball.norm == SURETY_LINF) e = e > 0 ? b : -b;
        if (k->ball.norm == SURETY_L2 && !noise) e *= mu;
        if (k->ball.norm == SURETY_L1 && !noise) e = fabs(e) * 3 > cut * sqrt(norm) ? (e > 0 ? b : -b) : 0;
        if (noise && k->ball.norm == SURETY_LINF) e *= draw_real(r, 0, 1);
        p[j] = (float)((double)x[j] + e * unit);
    }
    double far = surety_ball_distance(&k->ball, p, x, k->d);
    for (size_t j = 0; noise && far > b && j < k->d; j++)
        p[j] = (float)((double)x[j] + ((double)p[j] - (double)x[j]) * b / far);
    pull_inside(k, i);
}

/* pgd with many restarts on one voter after another, any label; its points are in the ball by contract. */
static inline void attack_block(block *k, draw *r, size_t restarts) {
    surety_error err = SURETY_ERROR_NONE;
    surety_threat s = surety_threat_defaults();
    s.ball = k->ball;
    s.restarts = restarts;
    s.steps = 8;
    s.step_size = k->ball.radius / 3;
    s.early_stop = 0;
    s.seed = draw_bits(r) >> 1;
    surety_attacker *a;
    check_ok(surety_attacker_new(&a, &s, k->v, &err));
    double *weights = calloc(k->H, sizeof *weights);
    surety_examples e = {.rows = L};
    for (size_t i = 0; i < L; i++) e.x[i] = k->rows[i], e.row[i] = (uint32_t)i;
    for (size_t t = 0; t < k->H; t++) {
        for (size_t i = 0; i < L; i++) e.y[i] = (uint8_t)draw_size(r, 0, k->K - 1);
        weights[t] = 1;
        surety_vote vote = {k->v, weights, SURETY_REAL};
        const surety_attacked *found = surety_attacker_run(a, &vote, &e);
        for (size_t i = 0; i < L; i++) memcpy(k->point + i * k->stride, found->x[i], k->d * sizeof(float));
        check_points(k, "pgd");
        weights[t] = 0;
    }
    free(weights);
    surety_attacker_free(a);
}

#endif
