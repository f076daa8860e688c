/* The deviance: the one elementary function under kl, its inverse, KL and the binomial limit. */
#ifndef SURETY_BOUND_KL_H
#define SURETY_BOUND_KL_H

#include "bound/round.h"
#include "surety/bound.h"

/* D(a, b) = b - a - a ln(b/a) for a, b >= 0: zero at b = a, positive elsewhere, D(0, b) = b, D(a, 0)
 * infinite. Takes d = b - a beside b, because its relative error is that of d (and of b, once), whatever b
 * rounds to. With exact arguments the relative error is below SURETY_DEVIANCE_ERROR. */
double surety_deviance(double a, double b, double d);

#define SURETY_DEVIANCE_ERROR (12 * SURETY_U) /* derived in kl.c */

/* A weighted mean rounded up: add each (weight, value), then read it. The weights are divided by their sum.
 */
typedef struct surety_mixture {
    double sum;    /* at least the sum of weight * value */
    double weight; /* at most the sum of weights */
} surety_mixture;

static inline void surety_mixture_add(surety_mixture *mix, double weight, double value) {
    mix->sum = surety_add_up(mix->sum, surety_mul_up(weight, value));
    mix->weight = surety_add_down(mix->weight, weight);
}

static inline double surety_mixture_mean(const surety_mixture *mix) {
    return surety_div_up(mix->sum, mix->weight);
}

#endif
