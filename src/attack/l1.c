#include "attack/l1.h"

#include <math.h>
#include <string.h>

/* Soft thresholding: e_j becomes sign(e_j) max(|e_j| - tau, 0) with sum_j max(|e_j| - tau, 0) = radius.
 * Michelot's iteration: tau from all coordinates still above the last tau; the set only shrinks, so it ends
 * after at most d rounds (a handful in practice), at the exact tau up to the rounding of doubles. Where e is
 * so large that |e_j| - tau has lost its digits, what is left is scaled to the radius. */
int surety_l1_shrink(double *e, double radius, size_t d) {
    double tau = 0, before = -1;
    while (tau > before) {
        double sum = 0;
        size_t active = 0;
        for (size_t j = 0; j < d; j++)
            if (fabs(e[j]) > tau) sum += fabs(e[j]), active++;
        before = tau;
        if (active && (sum - radius) / (double)active > tau) tau = (sum - radius) / (double)active;
    }
    if (tau <= 0) return 0;
    double total = 0;
    for (size_t j = 0; j < d; j++) total += fmax(0, fabs(e[j]) - tau);
    double factor = total > radius ? radius / total : 1;
    for (size_t j = 0; j < d; j++) {
        double left = fabs(e[j]) - tau;
        e[j] = left > 0 ? copysign(factor * left, e[j]) : 0;
    }
    return 1;
}

void surety_l1_project(float *x, const float *x0, double radius, size_t d, double *e) {
    for (size_t j = 0; j < d; j++) e[j] = (double)x[j] - (double)x0[j];
    if (!surety_l1_shrink(e, radius, d)) return;
    for (size_t j = 0; j < d; j++) x[j] = e[j] != 0 ? (float)((double)x0[j] + e[j]) : x0[j];
}

void surety_l1_step(const float *x, const float *g, float step, float lo, float hi, size_t d, float *out) {
    size_t best = d;
    float most = 0;
    for (size_t j = 0; j < d; j++) {
        float size = fabsf(g[j]);
        if (size > most && (g[j] > 0 ? x[j] < hi : x[j] > lo)) most = size, best = j;
    }
    float moved = best < d ? x[best] + copysignf(step, g[best]) : 0;
    memcpy(out, x, d * sizeof *out);
    if (best == d) return;
    out[best] = moved < lo ? lo : moved > hi ? hi : moved;
}
