/* The part of the soft forest between its two products, per CPU level. Arrays in lanes: (index,
 * SURETY_LANES). */
#ifndef SURETY_VOTERS_FOREST_KERNEL_H
#define SURETY_VOTERS_FOREST_KERNEL_H

#include "base/cpu.h"
#include "surety/voters.h"

typedef struct surety_forest_kernels {
    /* p (2, N, lanes) = sigmoid of the split arguments z (rows, ldz), then 1 - p, each to full relative
     * accuracy (where a vote is saturated, one of them is tiny and its direction still counts); h (H, lanes)
     * = tree values. */
    void (*forward)(const float *z, size_t ldz, size_t rows, size_t H, size_t depth, const float *scores,
                    float *p, float *h);
    /* dz (rows, ldz) = derivative of sum_t a_t h_t in every split's argument; ds (rows, lds) in every leaf's
     * score, or NULL. lanes: scratch of (N + H 2^l) x SURETY_LANES floats. */
    void (*backward)(const float *p, const float *a, size_t rows, size_t H, size_t depth, const float *scores,
                     float *dz, size_t ldz, float *ds, size_t lds, float *lanes);
    /* As forward, but every argument lies anywhere between z_lo and z_hi (N, lanes): p and h where y h is
     * smallest, y (lanes) of +1 or -1; ends (N, lanes), or NULL, is +1 at z_hi and -1 at z_lo. */
    void (*worst)(const float *z_lo, const float *z_hi, const float *y, size_t H, size_t depth,
                  const float *scores, float *p, float *h, float *ends);
    /* h (count, lanes) = tanh(z), transposed from z (rows, ldz); slope (count, lanes) = 1 - h^2, to full
     * relative accuracy. */
    void (*tanh_lanes)(const float *z, size_t ldz, size_t rows, size_t count, float *h, float *slope);
    /* The same at the end of [z_lo, z_hi] (count, lanes) where y h is smaller. */
    void (*tanh_worst)(const float *z_lo, const float *z_hi, const float *y, size_t count, float *h,
                       float *slope, float *ends);
    /* dz (rows, ldz) = a slope, transposed from lanes. */
    void (*tanh_backward)(const float *slope, const float *a, size_t rows, size_t count, float *dz,
                          size_t ldz);
    /* g[j] *= mask[j], j < count. */
    void (*mask)(const uint8_t *mask, size_t count, float *g);
    /* votes (lanes) = sum_t q_t (h_t or its sign), h (H, lanes); real (lanes), or NULL, = sum_t q_t h_t. */
    void (*vote)(const float *h, const double *q, size_t H, surety_voter_set set, double *votes,
                 double *real);
} surety_forest_kernels;

const surety_forest_kernels *surety_forest_kernels_at(surety_level level);

#endif
