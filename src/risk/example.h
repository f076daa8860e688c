/* The inside of an accumulator: add.c lays one example out, accumulate.c counts it. */
#ifndef SURETY_RISK_EXAMPLE_H
#define SURETY_RISK_EXAMPLE_H

#include "risk/accumulate.h"
#include "risk/count_kernel.h"

struct surety_risk {
    size_t H, n, K; /* voters, perturbations, classes (2 or more) */
    size_t columns; /* n (K - 1) */
    int signed_votes, has_prior;
    double raise;     /* covers the rounding of an expectation under Q */
    double *q, *p;    /* (H) weights of the two votes; p is 0 without a prior */
    double *w;        /* (H) Q as used in expectations: surety_simplex_weight */
    int64_t *sums;    /* (sum_count) all that is kept */
    size_t sum_count; /* surety_risk_sums */

    const surety_count_kernels *kernels;

    /* Scratch for one example. */
    double *t, *counted; /* c.t, and the arrays that c is filled with */
    surety_count c;      /* over the columns: t (H, columns), column j (K-1) + (which other class) */
    double *least;       /* K > 2: by_j.t, and the arrays that by_j is filled with */
    double *grouped;
    surety_count by_j; /* over the perturbations: t (H, n) is the least over the classes. K = 2: c itself */
    double *scores;    /* (K) of one voter */
    size_t worst;      /* the first column with the largest e */
    double e_hi;       /* that largest e */
    int wrong, tied;   /* votes over j */
    int prior_wrong;   /* votes of P that are not right */
    int has_coins;
    uint64_t coin; /* of this example */
};

/* Whether the accumulator counts examples of this class and one more fits. */
surety_status surety_risk_check(const surety_risk *risk, unsigned y, surety_error *err);

/* Counts the example laid out in c.t (and by_j.t where K > 2), every t in [-1,1]. */
void surety_risk_count(surety_risk *risk, unsigned y);

#endif
