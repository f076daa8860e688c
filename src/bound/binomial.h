/* The exact binomial limit with delta given by its logarithm, so that delta/(T_p H) cannot underflow. */
#ifndef SURETY_BOUND_BINOMIAL_H
#define SURETY_BOUND_BINOMIAL_H

#include "bound/kl.h"

/* surety_binomial_limit at delta = e^-C, C > 0, with 0 <= k <= m, 1 <= m <= SURETY_M_LIMIT. */
double surety_binomial_limit_log(uint64_t k, uint64_t m, double C);

#endif
