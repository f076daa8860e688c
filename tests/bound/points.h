/* Reproducible doubles for the tests of this room. */
#ifndef SURETY_TESTS_BOUND_POINTS_H
#define SURETY_TESTS_BOUND_POINTS_H

#include <math.h>

#include "base/random.h"

/* Uniform in (0,1) with 53 bits: draw number i of stream s. */
static inline double point_uniform(uint32_t s, uint32_t i) {
    uint32_t bits[4];
    surety_address where = {s, 0, 0, 0, 99};
    surety_random_bits(2021, &where, i, bits);
    return (double)((uint64_t)bits[0] << 21 ^ bits[1] >> 11) * 0x1p-53 + 0x1p-54;
}

/* Log-uniform in (lo, hi). */
static inline double point_log_uniform(uint32_t s, uint32_t i, double lo, double hi) {
    return exp(log(lo) + (log(hi) - log(lo)) * point_uniform(s, i));
}

#endif
