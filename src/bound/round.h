/* Directed rounding: each function returns a double on the named side of the exact result of the operation on
 * its arguments, with every constant accounted for.
 *
 * Assumed: IEEE doubles evaluated as such (checked below), rounding to nearest (nobody changed the mode), a
 * fused multiply-add that is one (C11 7.12.13.1; in software where the CPU has none), and log, log1p, exp,
 * expm1 within one ulp, as the GNU C library's manual states for x86_64 and aarch64 ("Known Maximum Errors in
 * Math Functions"); the margins below allow three times that.
 *
 * For +, *, / and square root the rounding error of the nearest result is known exactly (its sign by an fma
 * or by Knuth's two-sum), so the result moves by one ulp only where it must: add_up(0, x) is x, not its
 * neighbour. That sign is lost when the error itself underflows; below TINY the neighbour is taken always.
 */
#ifndef SURETY_BOUND_ROUND_H
#define SURETY_BOUND_ROUND_H

#include <float.h>
#include <math.h>

#include "base/error.h"

_Static_assert(FLT_EVAL_METHOD == 0, "doubles must be evaluated as doubles");

#define SURETY_U 0x1p-53 /* unit roundoff: |fl(x) - x| <= u |x| */

/* The error of a product or quotient of size s is a multiple of 2^-1074 or smaller than u s: it is
 * representable while s >= 2^-1074 2^106 = 2^-968. */
#define SURETY_TINY 0x1p-960

static inline double surety_up(double x) {
    return nextafter(x, (double)INFINITY);
}

static inline double surety_down(double x) {
    return nextafter(x, -(double)INFINITY);
}

/* The exact error (a + b) - fl(a + b), two-sum; additions never underflow inexactly. */
static inline double surety_sum_error(double a, double b, double sum) {
    double b_part = sum - a, a_part = sum - b_part;
    return (a - a_part) + (b - b_part);
}

static inline double surety_add_up(double a, double b) {
    double sum = a + b;
    return surety_sum_error(a, b, sum) > 0 ? surety_up(sum) : sum;
}

static inline double surety_add_down(double a, double b) {
    double sum = a + b;
    return surety_sum_error(a, b, sum) < 0 ? surety_down(sum) : sum;
}

/* a * b for a, b >= 0. */
static inline double surety_mul_up(double a, double b) {
    double product = a * b;
    if (a == 0 || b == 0) return 0;
    return product < SURETY_TINY || fma(a, b, -product) > 0 ? surety_up(product) : product;
}

/* a / b for a >= 0, b > 0. The remainder a - q b is exact, and so is its sign. */
static inline double surety_div_up(double a, double b) {
    double quotient = a / b;
    if (a == 0) return 0;
    return a < SURETY_TINY || quotient < SURETY_TINY || fma(-quotient, b, a) > 0 ? surety_up(quotient)
                                                                                 : quotient;
}

static inline double surety_div_down(double a, double b) {
    double quotient = a / b;
    if (quotient == 0) return 0;
    return a < SURETY_TINY || quotient < SURETY_TINY || fma(-quotient, b, a) < 0 ? surety_down(quotient)
                                                                                 : quotient;
}

static inline double surety_sqrt_up(double a) {
    double root = sqrt(a);
    if (a == 0) return 0;
    return a < SURETY_TINY || fma(-root, root, a) > 0 ? surety_up(root) : root;
}

/* Logarithms: y is off by at most one ulp <= 2u|y|; 8u|y| minus the rounding u|y| of adding it leaves more
 * than three times that. log(1) is 0 exactly (C11 F.10.3.7) and stays so. */
static inline double surety_log_up(double x) {
    double y = log(x);
    return y + 8 * SURETY_U * fabs(y);
}

static inline double surety_log_down(double x) {
    double y = log(x);
    return y - 8 * SURETY_U * fabs(y);
}

/* The nearest double that is not below (above) a whole number. */
static inline double surety_whole_up(uint64_t n) {
    double x = (double)n;
    return x < 0x1p64 && (uint64_t)x < n ? surety_up(x) : x;
}

static inline double surety_whole_down(uint64_t n) {
    double x = (double)n;
    return x >= 0x1p64 || (uint64_t)x > n ? surety_down(x) : x;
}

#endif
