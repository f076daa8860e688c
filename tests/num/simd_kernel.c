/* See simd_check.h. Comparisons give 1 or 0 per lane; sum and largest fill all lanes; the parts use 5 lanes
 * and show what they leave alone by starting from c. */
#include "num/simd.h"

#include <float.h>

#include "num/simd_check.h"

static v16 truth(v16_mask mask) {
    return v16_select(mask, v16_set1(1), v16_zero());
}

static v16 sine_or_cosine(v16 a, int which) {
    v16 sine, cosine;
    v16_sincospi(a, &sine, &cosine);
    return which ? cosine : sine;
}

static v16 part_of(v16 a, int which) {
    v16 mantissa, n = v16_split(v16_max(v16_abs(a), v16_set1(FLT_MIN)), &mantissa);
    return which ? mantissa : n;
}

static v16 stored_part(v16 a, v16 c) {
    float lanes[16];
    v16_store(lanes, c);
    v16_store_part(lanes, a, 5);
    return v16_load(lanes);
}

static v16 top23_of(const float *a) {
    v16u bits;
    memcpy(&bits, a, sizeof bits);
    return v16_top23(bits);
}

static v16 result(simd_op op, const float *at, v16 a, v16 b, v16 c) {
    switch (op) {
        case SIMD_zero:
            return v16_zero();
        case SIMD_set1:
            return v16_set1(at[3]);
        case SIMD_add:
            return v16_add(a, b);
        case SIMD_sub:
            return v16_sub(a, b);
        case SIMD_mul:
            return v16_mul(a, b);
        case SIMD_div:
            return v16_div(a, b);
        case SIMD_fma:
            return v16_fma(a, b, c);
        case SIMD_fnma:
            return v16_fnma(a, b, c);
        case SIMD_min:
            return v16_min(a, b);
        case SIMD_max:
            return v16_max(a, b);
        case SIMD_sqrt:
            return v16_sqrt(a);
        case SIMD_abs:
            return v16_abs(a);
        case SIMD_neg:
            return v16_neg(a);
        case SIMD_flip:
            return v16_flip(a, b);
        case SIMD_exponent:
            return part_of(a, 0);
        case SIMD_mantissa:
            return part_of(a, 1);
        case SIMD_lt:
            return truth(v16_lt(a, b));
        case SIMD_le:
            return truth(v16_le(a, b));
        case SIMD_eq:
            return truth(v16_eq(a, b));
        case SIMD_bits:
            return v16_set1((float)v16_bits(v16_lt(a, b)));
        case SIMD_top23:
            return top23_of(at);
        case SIMD_load_part:
            return v16_load_part(at, 5);
        case SIMD_store_part:
            return stored_part(a, c);
        case SIMD_sum:
            return v16_set1(v16_sum(a));
        case SIMD_largest:
            return v16_set1(v16_largest(a));
        case SIMD_exp:
            return v16_exp(a);
        case SIMD_tanh:
            return v16_tanh(a);
        case SIMD_log:
            return v16_log(a);
        case SIMD_sine:
            return sine_or_cosine(a, 0);
        case SIMD_cosine:
            return sine_or_cosine(a, 1);
        case SIMD_sigmoid:
            return v16_sigmoid(a);
        case SIMD_COUNT:
            break;
    }
    return v16_zero();
}

void SURETY_KERNEL(simd_check)(simd_op op, const float *a, const float *b, const float *c, float *out) {
    v16_store(out, result(op, a, v16_load(a), v16_load(b), v16_load(c)));
}
