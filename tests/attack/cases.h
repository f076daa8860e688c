/* What the tests of attacks share: random votes and examples. */
#ifndef SURETY_TESTS_ATTACK_CASES_H
#define SURETY_TESTS_ATTACK_CASES_H

#include "attack/attacker.h"
#include "check.h"
#include "draw.h"
#include "surety/evaluate.h"
#include "voters/voters.h"

/* A vote over random voters, with its own memory. */
typedef struct random_vote {
    surety_voters *voters;
    double *weights;
    surety_vote vote;
} random_vote;

/* Half of them of two classes, the others of 3 to 7. */
static inline random_vote random_vote_new(draw *r, size_t d, int linear) {
    surety_error err = SURETY_ERROR_NONE;
    random_vote v = {0};
    size_t H = draw_size(r, 1, 6), K = draw_size(r, 0, 1) ? 2 : draw_size(r, 3, 7);
    double sum = 0;
    surety_voters_settings s = {.kind = "soft-forest",
                                .count = H,
                                .depth = draw_size(r, 1, 3),
                                .mask = draw_real(r, 0, 0.9),
                                .classes = K};
    if (linear) s = (surety_voters_settings){.kind = "linear", .count = H, .classes = K};
    check_ok(surety_voters_new(&s, d, draw_bits(r) >> 1, &v.voters, &err));
    v.weights = malloc(H * sizeof *v.weights);
    for (size_t t = 0; t < H; t++) sum += v.weights[t] = draw_real(r, 0.01, 1);
    for (size_t t = 0; t < H; t++) v.weights[t] /= sum;
    v.vote = (surety_vote){v.voters, v.weights, draw_size(r, 0, 1) ? SURETY_REAL : SURETY_SIGNED};
    return v;
}

static inline void random_vote_free(random_vote *v) {
    surety_voters_free(v->voters);
    free(v->weights);
}

/* The margin of the vote at one point for class y, by a plain loop over the voters' outputs. */
static inline double plain_margin(const surety_vote *vote, const float *x, size_t y) {
    surety_error err = SURETY_ERROR_NONE;
    size_t H = surety_voters_count(vote->voters), K = surety_voters_width(vote->voters), ties;
    float *h = malloc(H * K * sizeof *h);
    double least = 2;
    check_ok(surety_voters_outputs(vote->voters, x, surety_voters_features(vote->voters), 1, h, NULL, &err));
    for (size_t k = 0; k < K; k++) {
        double sum = 0;
        for (size_t t = 0; t < H && (K == 1 || k != y); t++) {
            const float *s = h + t * K;
            size_t top = 0;
            double v = K == 1 ? (y ? 1 : -1) * (double)s[0] : (double)s[y] - (double)s[k];
            for (size_t c = ties = 0; c < K; c++) top = s[c] > s[top] ? c : top;
            for (size_t c = 0; c < K; c++) ties += s[c] == s[top];
            if (vote->voter_set == SURETY_SIGNED && K == 1) v = v > 0 ? 1 : v < 0 ? -1 : 0;
            if (vote->voter_set == SURETY_SIGNED && K > 1)
                v = ties > 1 ? 0 : (top == y ? 1. : top == k ? -1. : 0.);
            sum += vote->weights[t] * v;
        }
        if ((K == 1 || k != y) && sum < least) least = sum;
    }
    free(h);
    return fmin(1, fmax(-1, least));
}

/* Labelled examples of K classes with their own memory; in the box, often on its faces, or anywhere. */
typedef struct random_set {
    float *x;
    uint8_t *y;
    uint32_t *row;
    surety_set set;
} random_set;

static inline random_set random_set_new(draw *r, size_t m, size_t d, const surety_ball *ball, double scale,
                                        size_t K) {
    surety_error err = SURETY_ERROR_NONE;
    random_set s = {0};
    size_t stride = surety_padded(d);
    check_ok(surety_alloc(&s.x, m * stride, sizeof *s.x, &err));
    check_ok(surety_alloc(&s.y, m, sizeof *s.y, &err));
    check_ok(surety_alloc(&s.row, m, sizeof *s.row, &err));
    float lo = (float)ball->lo, hi = (float)ball->hi;
    for (size_t i = 0; i < m; i++) {
        s.y[i] = (uint8_t)draw_size(r, 0, K - 1);
        s.row[i] = (uint32_t)(7 * i + 3);
        for (size_t j = 0; j < d; j++) {
            float x = (float)(scale * draw_normal(r)), u = (float)draw_real(r, 0, 1);
            if (ball->has_box) x = u < 0.3f ? lo : u > 0.8f ? hi : (float)draw_real(r, ball->lo, ball->hi);
            if (ball->has_box) x = x < lo ? lo : x > hi ? hi : x;
            s.x[i * stride + j] = x;
        }
    }
    s.set = (surety_set){.m = m,
                         .d = d,
                         .stride = stride,
                         .x = s.x,
                         .y = s.y,
                         .row = s.row,
                         .which = SURETY_SET_LEARN,
                         .classes = K};
    return s;
}

static inline void random_set_free(random_set *s) {
    surety_free(s->x), surety_free(s->y), surety_free(s->row);
}

/* ||(x - x0) / r||_p in long double. */
static inline long double true_distance(const surety_ball *ball, const float *x, const float *x0, size_t d) {
    long double sum = 0, most = 0;
    surety_norm norm = ball->norm;
    for (size_t j = 0; j < d; j++) {
        long double e = fabsl((long double)x[j] - (long double)x0[j]);
        if (ball->tolerance && e > 0) e /= (long double)ball->tolerance->unit[j];
        most = fmaxl(most, e);
        sum += norm == SURETY_L2 ? e * e : e;
    }
    return norm == SURETY_LINF ? most : norm == SURETY_L2 ? sqrtl(sum) : sum;
}

#endif
