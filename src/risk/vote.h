/* The weighted vote, defined once for the whole house: whoever predicts, attacks or counts calls this, so
 * that the classifier of a guarantee and the classifier in use are the same bits (docs/theory.md 4.1). */
#ifndef SURETY_RISK_VOTE_H
#define SURETY_RISK_VOTE_H

#include <math.h>
#include <stddef.h>

/* sum_h q[h] v[h] in double, in the order of the voters, each product rounded before it is added. Changing
 * the sign of every v changes only the sign of the result. */
static inline double surety_vote(const double *q, const float *v, size_t H) {
    double sum = 0;
    for (size_t h = 0; h < H; h++) sum += q[h] * (double)v[h];
    return sum;
}

/* The vote of a voter of the signed set: sign(v), sign(0) = 0. */
static inline double surety_vote_sign(double v) {
    return (v > 0 ? 1. : 0.) - (v < 0 ? 1. : 0.);
}

/* How far the computed vote can be from the exact sum with Q scaled to sum to 1, as a share of that sum: each
 * of the H products and H - 1 sums is rounded, u = 2^-53. Hence [computed vote wrong] <= 2 E_Q l +
 * surety_vote_margin(H), the last term being what "R <= 2 Rbar" owes to the arithmetic. */
static inline double surety_vote_margin(size_t H) {
    return H == 1 ? 0 : ((double)H + 2) * 0x1p-53;
}

#endif
