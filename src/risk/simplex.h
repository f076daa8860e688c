/* Probability vectors over the voters: scaling, softmax, and safe sums under one. */
#ifndef SURETY_RISK_SIMPLEX_H
#define SURETY_RISK_SIMPLEX_H

#include "surety/base.h"

/* Divides by the sum. */
void surety_simplex_scale(double *weights, size_t H);

/* q = softmax(theta), largest theta taken out first; q may be theta. */
void surety_simplex_softmax(const double *theta, size_t H, double *q);

/* What a computed sum of terms q_h x_h, x_h >= 0, must be multiplied by to be an upper limit of the exact sum
 * with Q scaled to sum to 1, if at most k roundings of relative size 2^-53 went into it. */
double surety_simplex_raise(const double *q, size_t H, double k);

/* A weight as such sums use it: a tiny one is raised to 2^-400, so that no product underflows, not even the
 * square of one, and the roundings are relative indeed. */
static inline double surety_simplex_weight(double q) {
    return q > 0 && q < 0x1p-400 ? 0x1p-400 : q;
}

#endif
