/* The arithmetic of the weighted vote (docs/theory.md 4.1): sum_h q[h] v[h] in double, in the order of the
 * voters, each product rounded before it is added. Whoever predicts, attacks or counts computes these same
 * bits, so that the classifier of a guarantee is the classifier in use. Changing the sign of every v changes
 * only that of the result. */
#ifndef SURETY_RISK_VOTE_H
#define SURETY_RISK_VOTE_H

#include <stddef.h>

/* The vote of a voter of the signed set: sign(v), sign(0) = 0. */
static inline double surety_vote_sign(double v) {
    return (v > 0 ? 1. : 0.) - (v < 0 ? 1. : 0.);
}

/* What "R <= 2 Rbar" owes to the arithmetic. Each of the H products and H - 1 sums is rounded, so the
 * computed vote is off by at most (H + 1) u, u = 2^-53, on Q scaled to sum to 1; a vote computed as wrong
 * then has 1 <= 2 E_Q l + (H + 1) u,   1 <= 4 (E_Q l)^2 + 2 (H + 1) u. The margin covers both, and the
 * rounding of its own addition to a value below 2^2. One voter alone is exact. */
static inline double surety_vote_margin(size_t H) {
    return H == 1 ? 0 : ((double)H + 3) * 0x1p-52;
}

#endif
