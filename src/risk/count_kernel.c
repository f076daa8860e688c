#include "risk/count_kernel.h"

#include <math.h>
#include <string.h>

#include "num/level.h"
#include "risk/vote.h"

enum { L = SURETY_COUNT_LANES };
typedef double v8 __attribute__((vector_size(8 * L), may_alias));
typedef long long m8 __attribute__((vector_size(8 * L))); /* what comparing two v8 gives: -1 or 0 */

/* Vectors as arguments would pass through memory at some levels, so these are macros. */
#define AT(p) (*(v8 *)(p))
#define GET(p) (*(const v8 *)(p))
#define ALL(a) ((a) - (v8){0})
#define WHERE(mask, a) ((v8)((mask) & (m8)(a)))
#define PICK(mask, a, b) ((v8)(((mask) & (m8)(a)) | (~(mask) & (m8)(b))))

/* surety_loss_units in lanes. */
#define UNITS(to, t)                                            \
    do {                                                        \
        v8 x_ = (t)*0x1p31, near_ = (x_ + 0x1.8p52) - 0x1.8p52; \
        to = 0x1p31 - (near_ - WHERE(near_ > x_, ALL(1.)));     \
    } while (0)

static inline double sum(const v8 *lanes) {
    double total = 0;
    for (int i = 0; i < L; i++) total += (*lanes)[i];
    return total;
}

static inline double lowest(const v8 *lanes) {
    double least = (*lanes)[0];
    for (int i = 1; i < L; i++) least = (*lanes)[i] < least ? (*lanes)[i] : least;
    return least;
}

static void votes_and_losses(const surety_count *c) {
    for (size_t h = 0; h < c->H; h++) {
        double q = c->q[h], p = c->p[h], w = c->w[h];
        v8 loss = {0}, low = ALL(INFINITY);
        for (size_t j = 0; j < c->n; j += L) {
            v8 t = GET(c->t + h * c->n + j), units;
            UNITS(units, t);
            AT(c->vote + j) += q * t;
            AT(c->prior + j) += p * t;
            AT(c->expect + j) += w * units;
            loss += units;
            m8 lower = t < low;
            low = PICK(lower, t, low);
        }
        c->loss[h] = sum(&loss);
        c->low[h] = lowest(&low);
    }
}

static void misses(const surety_count *c) {
    for (size_t h = 0; h < c->H; h++) {
        double w = c->w[h], low = c->low[h];
        v8 loss = {0};
        for (size_t j = 0; j < c->n; j += L) {
            v8 t = GET(c->t + h * c->n + j), units;
            UNITS(units, t);
            loss += WHERE(GET(c->prior + j) > 0, units);
            AT(c->missed + j) += WHERE(t > low, ALL(w));
        }
        c->right_loss[h] = sum(&loss);
    }
}

static void count(const surety_count *c) {
    double *const sums[] = {c->vote, c->prior, c->expect, c->missed};
    for (int i = 0; i < 4; i++) memset(sums[i], 0, c->n * sizeof(double));
    votes_and_losses(c);
    misses(c);
}

static void losses(const surety_count *c) {
    memset(c->expect, 0, c->n * sizeof(double));
    for (size_t h = 0; h < c->H; h++) {
        double w = c->w[h];
        v8 loss = {0}, right = {0};
        for (size_t j = 0; j < c->n; j += L) {
            v8 units;
            UNITS(units, GET(c->t + h * c->n + j));
            AT(c->expect + j) += w * units;
            loss += units;
            right += WHERE(GET(c->prior + j) > 0, units);
        }
        c->loss[h] = sum(&loss);
        c->right_loss[h] = sum(&right);
    }
}

static int check(double *t, size_t many, int make_signs) {
    int bad = 0;
    for (size_t k = 0; k < many; k++) bad |= !(fabs(t[k]) <= 1);
    if (make_signs && !bad)
        for (size_t k = 0; k < many; k++) t[k] = surety_vote_sign(t[k]);
    return !bad;
}

const surety_count_kernels SURETY_KERNEL(count);
const surety_count_kernels SURETY_KERNEL(count) = {count, losses, check};
