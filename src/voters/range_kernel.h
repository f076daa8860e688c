/* How far a linear function <w, x> can move over ball-and-box, sixteen examples at once (docs/theory.md 8.1).
 * Arrays in lanes: (index, SURETY_LANES). */
#ifndef SURETY_VOTERS_RANGE_KERNEL_H
#define SURETY_VOTERS_RANGE_KERNEL_H

#include "base/cpu.h"
#include "surety/voters.h"

/* One row of weights against a block of examples. */
typedef struct surety_span_job {
    size_t d;
    const float *w;        /* (d) */
    const float *moves;    /* (d) w_j r_j, away from 0 where it is rounded; w itself where all units are 1 */
    double length;         /* ||w r||_2, to start the search of l2 from */
    const uint32_t *order; /* l1: the features with w_j r_j != 0 by falling |w_j r_j|, `kept` of them */
    size_t kept;
    surety_norm norm;
    const float *x;         /* (d, lanes) the examples */
    const float *up, *down; /* (d, lanes) room of each feature: how far it may rise and fall, in units of r_j,
                               rounded up */
    const double *b;        /* (lanes) radius */
} surety_span_job;

/* What comes out, each (lanes). */
typedef struct surety_span {
    double *z;           /* <w, x> up to the rounding of d + 1 doubles */
    double *size;        /* sum_j (d - j + 2) |w_j| |x_j|, to the same accuracy */
    double *rise, *fall; /* upper limits of <w, e> and <-w, e> over ball-and-box, each low by at most
                            (d + 32) 2^-52 of itself */
} surety_span;

typedef void (*surety_span_kernel)(const surety_span_job *job, surety_span out);
surety_span_kernel surety_span_kernel_at(surety_level level);

#endif
