/* What the tests of attacks share: random votes and examples. */
#ifndef SURETY_TESTS_ATTACK_CASES_H
#define SURETY_TESTS_ATTACK_CASES_H

#include "attack/attacker.h"
#include "check.h"
#include "draw.h"
#include "surety/evaluate.h"

/* A vote over random voters, with its own memory. */
typedef struct random_vote {
    surety_voters *voters;
    double *weights;
    surety_vote vote;
} random_vote;

static inline random_vote random_vote_new(draw *r, size_t d, int linear) {
    surety_error err = SURETY_ERROR_NONE;
    random_vote v = {0};
    size_t H = draw_size(r, 1, 6);
    double sum = 0;
    if (linear) {
        check_ok(surety_voters_new(&v.voters, &(surety_voters_settings){.kind = "linear", .voters = H}, d,
                                   draw_bits(r) >> 1, &err));
    } else {
        surety_voters_settings s = {"soft-forest", H, draw_size(r, 1, 3), draw_real(r, 0, 0.9), 2};
        check_ok(surety_voters_new(&v.voters, &s, d, draw_bits(r) >> 1, &err));
    }
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

/* Labelled examples with their own memory; in the box, often on its faces, or anywhere. */
typedef struct random_set {
    float *x;
    uint8_t *y;
    uint32_t *row;
    surety_set set;
} random_set;

static inline random_set random_set_new(draw *r, size_t m, size_t d, const surety_ball *ball, double scale) {
    surety_error err = SURETY_ERROR_NONE;
    random_set s = {0};
    size_t stride = surety_padded(d);
    check_ok(surety_alloc(&s.x, m * stride, sizeof *s.x, &err));
    check_ok(surety_alloc(&s.y, m, sizeof *s.y, &err));
    check_ok(surety_alloc(&s.row, m, sizeof *s.row, &err));
    float lo = (float)ball->lo, hi = (float)ball->hi;
    for (size_t i = 0; i < m; i++) {
        s.y[i] = (uint8_t)draw_size(r, 0, 1);
        s.row[i] = (uint32_t)(7 * i + 3);
        for (size_t j = 0; j < d; j++) {
            float x = (float)(scale * draw_normal(r)), u = (float)draw_real(r, 0, 1);
            if (ball->has_box) x = u < 0.3f ? lo : u > 0.8f ? hi : (float)draw_real(r, ball->lo, ball->hi);
            if (ball->has_box) x = x < lo ? lo : x > hi ? hi : x;
            s.x[i * stride + j] = x;
        }
    }
    s.set = (surety_set){m, d, stride, s.x, s.y, s.row, SURETY_SET_LEARN, 2};
    return s;
}

static inline void random_set_free(random_set *s) {
    surety_free(s->x), surety_free(s->y), surety_free(s->row);
}

/* ||x - x0||_p in long double. */
static inline long double true_distance(surety_norm norm, const float *x, const float *x0, size_t d) {
    long double sum = 0, most = 0;
    for (size_t j = 0; j < d; j++) {
        long double e = fabsl((long double)x[j] - (long double)x0[j]);
        most = fmaxl(most, e);
        sum += norm == SURETY_L2 ? e * e : e;
    }
    return norm == SURETY_LINF ? most : norm == SURETY_L2 ? sqrtl(sum) : sum;
}

#endif
