/* Counting the votes on one example; per CPU level. Sums over voters run in the order of the voters for every
 * perturbation, as surety/risk.h defines the vote; perturbations lie side by side in lanes. So the bits are
 * the same at every level. */
#ifndef SURETY_RISK_COUNT_KERNEL_H
#define SURETY_RISK_COUNT_KERNEL_H

#include <stddef.h>

#include "base/cpu.h"

enum { SURETY_COUNT_LANES = 8 }; /* n below is a multiple of it; pads are t = 1, which lose nothing */

typedef struct surety_count {
    size_t H, n;
    const double *q, *p, *w; /* (H) Q, P, and Q as used in expectations */
    const double *t;         /* (H, n) y v */

    double *vote, *prior, *expect; /* (n) sum_h q t, sum_h p t, sum_h w loss */
    double *missed;                /* (n) weight w of the voters whose least t is not here */
    double *loss, *right_loss;     /* (H) sum_j of losses, and where the prior's vote is > 0 */
    double *low;                   /* (H) min_j t */
} surety_count;

typedef struct surety_count_kernels {
    void (*count)(const surety_count *c);
    /* expect, loss and right_loss only, with prior as it is. */
    void (*losses)(const surety_count *c);
    /* Makes t[0..count) signs if asked to; whether all were in [-1,1]. */
    int (*check)(double *t, size_t count, int make_signs);
} surety_count_kernels;

/* (1 - t)/2 in units of 2^-32, rounded up: 2^31 - floor(2^31 t), see accumulate.c. floor(x) for |x| <= 2^51
 * in a form that every compiler turns into a few vector operations: adding and taking away 1.5 2^52 leaves an
 * integer at a distance below 1, whatever the rounding mode. */
static inline double surety_loss_units(double t) {
    double x = t * 0x1p31, near = (x + 0x1.8p52) - 0x1.8p52;
    return 0x1p31 - (near > x ? near - 1 : near);
}

#endif
