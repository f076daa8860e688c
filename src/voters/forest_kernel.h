/* Voters between their two products, and votes, per CPU level. Arrays in lanes: (index, SURETY_LANES). */
#ifndef SURETY_VOTERS_FOREST_KERNEL_H
#define SURETY_VOTERS_FOREST_KERNEL_H

#include "base/cpu.h"
#include "surety/data.h"
#include "surety/voters.h"

/* Arguments that may lie anywhere between z_lo and z_hi (N, lanes), and the smallest v that they allow. */
typedef struct surety_argument_range {
    const float *z_lo, *z_hi;
    const uint8_t *y, *other; /* (lanes): class numbers; other: against which, of K > 2 classes */
    float *low;               /* (H, lanes): y h of two classes, else h_y - h_other, at its smallest */
    float *ends;              /* (N, lanes): there +1 at z_hi and -1 at z_lo; or NULL */
} surety_argument_range;

/* A forest as the kernels see it. */
typedef struct surety_forest {
    size_t H, depth;
    size_t width;        /* scores of a leaf: 1 for two classes, else one per class */
    const float *scores; /* (H, width, 2^depth) */
} surety_forest;

/* Where its derivatives go. */
typedef struct surety_forest_slopes {
    float *dz; /* (rows, ldz) in the arguments of the splits */
    size_t ldz;
    float *ds; /* (rows, lds) in the scores (H, 2^l, width), or NULL */
    size_t lds;
    float *lanes; /* scratch of (N + H 2^l width) x SURETY_LANES floats */
} surety_forest_slopes;

typedef struct surety_forest_kernels {
    /* p (2, N, lanes) = sigmoid of the split arguments z (rows, ldz), then 1 - p, each to full relative
     * accuracy (where a vote is saturated, one of them is tiny and its direction still counts); h (H, width,
     * lanes) = tree values. */
    void (*forward)(const surety_forest *s, const float *z, size_t ldz, size_t rows, float *p, float *h);
    /* dz (rows, ldz) = derivative of sum_tk a_tk h_tk in every split's argument; ds likewise in every score.
     */
    void (*backward)(const surety_forest *s, const float *p, const float *a, size_t rows,
                     const surety_forest_slopes *out);
    /* Fills low and ends. p is as forward fills it, where v is smallest. */
    void (*worst)(const surety_forest *s, const surety_argument_range *range, float *p);
    /* h (count, lanes) = tanh(z), transposed from z (rows, ldz); slope (count, lanes) = 1 - h^2, to full
     * relative accuracy. */
    void (*tanh_lanes)(const float *z, size_t ldz, size_t rows, size_t count, float *h, float *slope);
    /* The same at the end of [z_lo, z_hi] (count, lanes) where y h is smaller: that is low. */
    void (*tanh_worst)(const surety_argument_range *range, size_t count, float *slope);
    /* dz (rows, ldz) = a slope, transposed from lanes. */
    void (*tanh_backward)(const float *slope, const float *a, size_t rows, size_t count, float *dz,
                          size_t ldz);
    /* h (H, K, lanes) = softmax over the K arguments of each voter, transposed from z (rows, ldz). */
    void (*softmax_lanes)(const float *z, size_t ldz, size_t rows, size_t H, size_t K, float *h);
    /* Fills low and ends for arguments (H K, lanes); h (H, K, lanes) there. */
    void (*softmax_worst)(const surety_argument_range *range, size_t H, size_t K, float *h);
    /* dz (rows, ldz) = derivative of sum_tk a_tk h_tk, transposed from lanes. */
    void (*softmax_backward)(const float *h, const float *a, size_t rows, size_t H, size_t K, float *dz,
                             size_t ldz);
    /* g[j] *= mask[j], j < count. */
    void (*mask)(const uint8_t *mask, size_t count, float *g);
    /* votes (lanes) = sum_t q_t (h_t or its sign), h (H, lanes); real (lanes), or NULL, = sum_t q_t h_t. */
    void (*vote)(const float *h, const double *q, size_t H, surety_voter_set set, double *votes,
                 double *real);
    /* sums (K, lanes): sum_t q_t (h_y - h_k) over h (H, K, lanes), or over one-hot scores
     * for the signed set; y (lanes) are class numbers. That of k = y is 0 and means nothing. */
    void (*margins)(const float *h, const double *q, size_t H, size_t K, surety_voter_set set,
                    const uint8_t *y, double *sums);
} surety_forest_kernels;

const surety_forest_kernels *surety_forest_kernels_at(surety_level level);

#endif
