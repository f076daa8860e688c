/* Random numbers for tests, independent of the library's own: splitmix64. */
#ifndef SURETY_TESTS_DRAW_H
#define SURETY_TESTS_DRAW_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct draw {
    uint64_t state;
} draw;

static inline uint64_t draw_bits(draw *d) {
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform in [lo, hi). */
static inline double draw_real(draw *d, double lo, double hi) {
    return lo + (hi - lo) * ((double)(draw_bits(d) >> 11) * 0x1p-53);
}

/* A whole number in [lo, hi]. */
static inline size_t draw_size(draw *d, size_t lo, size_t hi) {
    return lo + (size_t)(draw_bits(d) % (hi - lo + 1));
}

static inline double draw_normal(draw *d) {
    double u = draw_real(d, 0x1p-53, 1), v = draw_real(d, 0, 1);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

#endif
