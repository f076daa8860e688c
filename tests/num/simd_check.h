/* Every operation of num/simd.h over arrays, compiled per CPU level (simd_kernel.c) for test_simd.c. */
#ifndef SURETY_TESTS_SIMD_CHECK_H
#define SURETY_TESTS_SIMD_CHECK_H

#include <stdint.h>

#include "num/level.h"

/* Functions of three vectors a, b, c of 16 floats: out has 16 floats. */
/* clang-format off */
#define SIMD_OPS(X)                                                                                    \
    X(zero) X(set1) X(add) X(sub) X(mul) X(div) X(fma) X(fnma) X(min) X(max) X(sqrt) X(abs) X(neg)       \
    X(lt) X(le) X(eq) X(bits) X(top23) X(load_part) X(store_part) X(sum) X(largest) X(exp)               \
    X(tanh) X(log) X(sine) X(cosine) X(sigmoid) X(flip) X(exponent) X(mantissa)
/* clang-format on */

#define SIMD_NAME(name) SIMD_##name,
typedef enum simd_op { SIMD_OPS(SIMD_NAME) SIMD_COUNT } simd_op;
#undef SIMD_NAME

#define SIMD_DECLARE(level) \
    void surety_simd_check_##level(simd_op op, const float *a, const float *b, const float *c, float *out);
SURETY_EACH_LEVEL(SIMD_DECLARE)
#undef SIMD_DECLARE

#endif
