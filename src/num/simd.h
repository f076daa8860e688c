/* v16: sixteen floats, the width of every kernel in the house. For files *_kernel.c only, which are compiled
 * once per CPU level:
 *
 *   avx512   one zmm register
 *   avx2     two ymm registers
 *   generic  four vectors of four floats, without fma: v16_fma(a, b, c) rounds a*b, then the sum
 *
 * The same source gives the same bits at avx2 and avx512: lanes are computed alone with correctly rounded
 * operations, v16_sum and v16_largest combine the lanes in one fixed order, and the elementary functions are
 * SLEEF's deterministic sets (finz with FMA, cinz without), whose results do not depend on the vector length.
 * Loads and stores need no alignment.
 */
#ifndef SURETY_NUM_SIMD_H
#define SURETY_NUM_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <sleef.h>

#include "num/level.h"

/* Before loops with constant bounds over arrays of vectors: unrolled whole, the array lives in registers. */
#define UNROLL _Pragma("GCC unroll 16")

#if defined(SURETY_LEVEL_avx512)

typedef __m512 v16;
typedef __m512i v16u;       /* sixteen uint32_t */
typedef __mmask16 v16_mask; /* sixteen truth values */

static inline v16 v16_zero(void) {
    return _mm512_setzero_ps();
}
static inline v16 v16_set1(float a) {
    return _mm512_set1_ps(a);
}
static inline v16 v16_load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void v16_store(float *p, v16 a) {
    _mm512_storeu_ps(p, a);
}
static inline v16 v16_load_part(const float *p, size_t n) {
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}
static inline void v16_store_part(float *p, v16 a, size_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), a);
}
static inline v16 v16_add(v16 a, v16 b) {
    return _mm512_add_ps(a, b);
}
static inline v16 v16_sub(v16 a, v16 b) {
    return _mm512_sub_ps(a, b);
}
static inline v16 v16_mul(v16 a, v16 b) {
    return _mm512_mul_ps(a, b);
}
static inline v16 v16_div(v16 a, v16 b) {
    return _mm512_div_ps(a, b);
}
static inline v16 v16_fma(v16 a, v16 b, v16 c) {
    return _mm512_fmadd_ps(a, b, c);
}
static inline v16 v16_fnma(v16 a, v16 b, v16 c) {
    return _mm512_fnmadd_ps(a, b, c);
}
static inline v16 v16_min(v16 a, v16 b) {
    return _mm512_min_ps(a, b);
}
static inline v16 v16_max(v16 a, v16 b) {
    return _mm512_max_ps(a, b);
}
static inline v16 v16_sqrt(v16 a) {
    return _mm512_sqrt_ps(a);
}
static inline v16 v16_abs(v16 a) {
    return _mm512_abs_ps(a);
}
static inline v16 v16_neg(v16 a) {
    return _mm512_xor_ps(a, _mm512_set1_ps(-0.f));
}
static inline v16_mask v16_lt(v16 a, v16 b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline v16_mask v16_le(v16 a, v16 b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
static inline v16_mask v16_eq(v16 a, v16 b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline v16 v16_select(v16_mask mask, v16 a, v16 b) {
    return _mm512_mask_blend_ps(mask, b, a);
}
static inline unsigned v16_bits(v16_mask mask) {
    return mask;
}
static inline v16 v16_top23(v16u bits) {
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(bits, 9));
}
static inline v16 v16_top16(v16u bits) {
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(bits, 16));
}
static inline v16 v16_low16(v16u bits) {
    return _mm512_cvtepi32_ps(_mm512_and_epi32(bits, _mm512_set1_epi32(0xffff)));
}
static inline __m256 v16_low8(v16 a) {
    return _mm512_castps512_ps256(a);
}
static inline __m256 v16_high8(v16 a) {
    return _mm512_extractf32x8_ps(a, 1);
}
static inline v16 v16_round(v16 a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline v16 v16_scale(v16 a, v16 n) {
    return _mm512_scalef_ps(a, n);
}
static inline v16 v16_split(v16 a, v16 *mantissa) {
    __m512i bits = (__m512i)a, n = _mm512_srai_epi32(_mm512_sub_epi32(bits, (__m512i)v16_set1(0.75f)), 23);
    *mantissa = (__m512)_mm512_sub_epi32(bits, _mm512_slli_epi32(n, 23));
    return _mm512_cvtepi32_ps(n);
}
static inline v16 v16_flip(v16 a, v16 sign) {
    return _mm512_xor_ps(a, _mm512_and_ps(sign, _mm512_set1_ps(-0.f)));
}
static inline v16 v16_tanh(v16 a) {
    return Sleef_finz_tanhf16_u10avx512f(a);
}
static inline v16 v16_log(v16 a) {
    return Sleef_finz_logf16_u10avx512f(a);
}
static inline void v16_sincospi(v16 a, v16 *sine, v16 *cosine) {
    Sleef___m512_2 both = Sleef_finz_sincospif16_u35avx512f(a);
    *sine = both.x;
    *cosine = both.y;
}

#elif defined(SURETY_LEVEL_avx2)

typedef struct v16 {
    __m256 lo, hi;
} v16;
typedef struct v16u {
    __m256i lo, hi;
} v16u;
typedef v16 v16_mask; /* lanes of all ones or all zeros */

/* An operation on v16 from the one on __m256. */
#define V16_1(name, op)                 \
    static inline v16 name(v16 a) {     \
        v16 out = {op(a.lo), op(a.hi)}; \
        return out;                     \
    }
#define V16_2(name, op)                             \
    static inline v16 name(v16 a, v16 b) {          \
        v16 out = {op(a.lo, b.lo), op(a.hi, b.hi)}; \
        return out;                                 \
    }
#define V16_3(name, op)                                         \
    static inline v16 name(v16 a, v16 b, v16 c) {               \
        v16 out = {op(a.lo, b.lo, c.lo), op(a.hi, b.hi, c.hi)}; \
        return out;                                             \
    }
#define V8_ROUND(a) _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
/* In two halves, as 2^n itself may be out of range; only the second one can round. */
static inline __m256 v8_scale(__m256 a, __m256 n) {
    const __m256i one = _mm256_castps_si256(_mm256_set1_ps(1));
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    __m256i first = _mm256_slli_epi32(half, 23),
            second = _mm256_slli_epi32(_mm256_sub_epi32(whole, half), 23);
    a = _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_add_epi32(first, one)));
    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_add_epi32(second, one)));
}
static inline __m256 v8_split(__m256 a, __m256 *mantissa) {
    __m256i bits = (__m256i)a,
            n = _mm256_srai_epi32(_mm256_sub_epi32(bits, (__m256i)_mm256_set1_ps(0.75f)), 23);
    *mantissa = (__m256)_mm256_sub_epi32(bits, _mm256_slli_epi32(n, 23));
    return _mm256_cvtepi32_ps(n);
}
#define V8_FLIP(a, sign) _mm256_xor_ps(a, _mm256_and_ps(sign, _mm256_set1_ps(-0.f)))
#define V16_ABS(a) _mm256_andnot_ps(_mm256_set1_ps(-0.f), a)
#define V16_NEG(a) _mm256_xor_ps(_mm256_set1_ps(-0.f), a)
#define V16_LT(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define V16_LE(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define V16_EQ(a, b) _mm256_cmp_ps(a, b, _CMP_EQ_OQ)
#define V16_SELECT(mask, a, b) _mm256_blendv_ps(b, a, mask)
V16_2(v16_add, _mm256_add_ps)
V16_2(v16_sub, _mm256_sub_ps)
V16_2(v16_mul, _mm256_mul_ps)
V16_2(v16_div, _mm256_div_ps)
V16_3(v16_fma, _mm256_fmadd_ps)
V16_3(v16_fnma, _mm256_fnmadd_ps)
V16_2(v16_min, _mm256_min_ps)
V16_2(v16_max, _mm256_max_ps)
V16_1(v16_sqrt, _mm256_sqrt_ps)
V16_1(v16_abs, V16_ABS)
V16_1(v16_neg, V16_NEG)
V16_2(v16_lt, V16_LT)
V16_2(v16_le, V16_LE)
V16_2(v16_eq, V16_EQ)
V16_3(v16_select, V16_SELECT)
V16_1(v16_round, V8_ROUND)
V16_2(v16_scale, v8_scale)
V16_2(v16_flip, V8_FLIP)
V16_1(v16_tanh, Sleef_finz_tanhf8_u10avx2)
V16_1(v16_log, Sleef_finz_logf8_u10avx2)

static inline v16 v16_split(v16 a, v16 *mantissa) {
    v16 out = {v8_split(a.lo, &mantissa->lo), v8_split(a.hi, &mantissa->hi)};
    return out;
}
static inline v16 v16_set1(float a) {
    v16 out = {_mm256_set1_ps(a), _mm256_set1_ps(a)};
    return out;
}
static inline v16 v16_zero(void) {
    return v16_set1(0);
}
static inline v16 v16_load(const float *p) {
    v16 out = {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
    return out;
}
static inline void v16_store(float *p, v16 a) {
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
static inline unsigned v16_bits(v16_mask mask) {
    return (unsigned)_mm256_movemask_ps(mask.lo) | (unsigned)_mm256_movemask_ps(mask.hi) << 8;
}
#define V8_TOP(half, shift) _mm256_cvtepi32_ps(_mm256_srli_epi32(half, shift))
#define V8_LOW16(half) _mm256_cvtepi32_ps(_mm256_and_si256(half, _mm256_set1_epi32(0xffff)))
static inline v16 v16_top23(v16u bits) {
    v16 out = {V8_TOP(bits.lo, 9), V8_TOP(bits.hi, 9)};
    return out;
}
static inline v16 v16_top16(v16u bits) {
    v16 out = {V8_TOP(bits.lo, 16), V8_TOP(bits.hi, 16)};
    return out;
}
static inline v16 v16_low16(v16u bits) {
    v16 out = {V8_LOW16(bits.lo), V8_LOW16(bits.hi)};
    return out;
}
static inline __m256 v16_low8(v16 a) {
    return a.lo;
}
static inline __m256 v16_high8(v16 a) {
    return a.hi;
}
static inline void v16_sincospi(v16 a, v16 *sine, v16 *cosine) {
    Sleef___m256_2 lo = Sleef_finz_sincospif8_u35avx2(a.lo), hi = Sleef_finz_sincospif8_u35avx2(a.hi);
    sine->lo = lo.x, sine->hi = hi.x;
    cosine->lo = lo.y, cosine->hi = hi.y;
}

#else

typedef float v4 __attribute__((vector_size(16)));
typedef int32_t v4i __attribute__((vector_size(16)));
typedef uint32_t v4u __attribute__((vector_size(16)));
typedef struct v16 {
    v4 q[4];
} v16;
typedef struct v16u {
    v4u q[4];
} v16u;
typedef struct v16_mask {
    v4i q[4]; /* lanes of all ones or all zeros */
} v16_mask;

/* An operation on v16 (type out) from an expression in the quarters a, b, c; or lane by lane in x. */
#define V16_QUARTERS(type, out, expression)            \
    type out;                                          \
    for (int i = 0; i < 4; i++) out.q[i] = expression; \
    return out
#define V16_LANES(a, expression)        \
    for (int i = 0; i < 16; i++) {      \
        float x = a.q[i / 4][i % 4];    \
        a.q[i / 4][i % 4] = expression; \
    }                                   \
    return a

static inline v4 v4_select(v4i mask, v4 a, v4 b) {
    return (v4)((mask & (v4i)a) | (~mask & (v4i)b));
}
static inline v16 v16_set1(float a) {
    V16_QUARTERS(v16, out, ((v4){a, a, a, a}));
}
static inline v16 v16_zero(void) {
    return v16_set1(0);
}
static inline v16 v16_load(const float *p) {
    v16 out;
    memcpy(&out, p, sizeof out);
    return out;
}
static inline void v16_store(float *p, v16 a) {
    memcpy(p, &a, sizeof a);
}
static inline v16 v16_add(v16 a, v16 b) {
    V16_QUARTERS(v16, out, a.q[i] + b.q[i]);
}
static inline v16 v16_sub(v16 a, v16 b) {
    V16_QUARTERS(v16, out, a.q[i] - b.q[i]);
}
static inline v16 v16_mul(v16 a, v16 b) {
    V16_QUARTERS(v16, out, a.q[i] * b.q[i]);
}
static inline v16 v16_div(v16 a, v16 b) {
    V16_QUARTERS(v16, out, a.q[i] / b.q[i]);
}
static inline v16 v16_fma(v16 a, v16 b, v16 c) {
    V16_QUARTERS(v16, out, a.q[i] * b.q[i] + c.q[i]);
}
static inline v16 v16_fnma(v16 a, v16 b, v16 c) {
    V16_QUARTERS(v16, out, c.q[i] - a.q[i] * b.q[i]);
}
static inline v16 v16_min(v16 a, v16 b) {
    V16_QUARTERS(v16, out, v4_select(a.q[i] < b.q[i], a.q[i], b.q[i]));
}
static inline v16 v16_max(v16 a, v16 b) {
    V16_QUARTERS(v16, out, v4_select(a.q[i] > b.q[i], a.q[i], b.q[i]));
}
static inline v16 v16_abs(v16 a) {
    V16_QUARTERS(v16, out, (v4)((v4i)a.q[i] & INT32_MAX));
}
static inline v16 v16_neg(v16 a) {
    V16_QUARTERS(v16, out, -a.q[i]);
}
static inline v16 v16_flip(v16 a, v16 sign) {
    V16_QUARTERS(v16, out, (v4)((v4i)a.q[i] ^ ((v4i)sign.q[i] & INT32_MIN)));
}
static inline v16 v16_split(v16 a, v16 *mantissa) {
    v16 n;
    for (int i = 0; i < 4; i++) {
        v4i whole = ((v4i)a.q[i] - (v4i)(v4){.75f, .75f, .75f, .75f}) >> 23;
        mantissa->q[i] = (v4)((v4i)a.q[i] - (whole << 23));
        n.q[i] = __builtin_convertvector(whole, v4);
    }
    return n;
}
static inline v16_mask v16_lt(v16 a, v16 b) {
    V16_QUARTERS(v16_mask, out, a.q[i] < b.q[i]);
}
static inline v16_mask v16_le(v16 a, v16 b) {
    V16_QUARTERS(v16_mask, out, a.q[i] <= b.q[i]);
}
static inline v16_mask v16_eq(v16 a, v16 b) {
    V16_QUARTERS(v16_mask, out, a.q[i] == b.q[i]);
}
static inline v16 v16_select(v16_mask mask, v16 a, v16 b) {
    V16_QUARTERS(v16, out, v4_select(mask.q[i], a.q[i], b.q[i]));
}
static inline unsigned v16_bits(v16_mask mask) {
    unsigned bits = 0;
    for (int i = 0; i < 16; i++) bits |= (mask.q[i / 4][i % 4] & 1u) << i;
    return bits;
}
static inline v16 v16_top23(v16u bits) {
    V16_QUARTERS(v16, out, __builtin_convertvector((v4i)(bits.q[i] >> 9), v4));
}
static inline v16 v16_top16(v16u bits) {
    V16_QUARTERS(v16, out, __builtin_convertvector((v4i)(bits.q[i] >> 16), v4));
}
static inline v16 v16_low16(v16u bits) {
    V16_QUARTERS(v16, out, __builtin_convertvector((v4i)(bits.q[i] & 0xffff), v4));
}
static inline v16 v16_sqrt(v16 a) {
    V16_LANES(a, __builtin_sqrtf(x));
}
static inline v16 v16_exp(v16 a) {
    V16_LANES(a, Sleef_cinz_expf1_u10purec(x));
}
static inline v16 v16_tanh(v16 a) {
    V16_LANES(a, Sleef_cinz_tanhf1_u10purec(x));
}
static inline v16 v16_log(v16 a) {
    V16_LANES(a, Sleef_cinz_logf1_u10purec(x));
}
static inline void v16_sincospi(v16 a, v16 *sine, v16 *cosine) {
    for (int i = 0; i < 16; i++) {
        Sleef_float_2 both = Sleef_cinz_sincospif1_u35purec(a.q[i / 4][i % 4]);
        sine->q[i / 4][i % 4] = both.x;
        cosine->q[i / 4][i % 4] = both.y;
    }
}

#endif

/* What every level has, besides the arithmetic whose names say it:
 *
 *   v16_fma(a, b, c) = a*b + c        v16_fnma(a, b, c) = c - a*b
 *   v16_min, v16_max: b where the comparison is false, so a NaN in b stays and a NaN in a does not
 *   v16_lt, v16_le, v16_eq: false where a lane is NaN
 *   v16_select(mask, a, b): a where the mask is true, else b
 *   v16_bits(mask): lane i as bit i
 *   v16_load_part, v16_store_part: lanes 0 .. n-1 of memory only, n <= 16; the others load as 0
 *   v16_top23, v16_top16, v16_low16(bits): these bits of each word as a whole number
 *   v16_round: the nearest whole number, ties to even; v16_scale(a, n) = a 2^n, n whole, |n| <= 200
 *   v16_split(a, &m): n with a = m 2^n, 0.75 <= m < 1.5, for normal a > 0
 *   v16_flip(a, s): a, negated where the sign bit of s is set
 *   v16_exp, v16_tanh, v16_log: within 1 ulp; v16_sincospi: sine and cosine of pi*a, within 3.5 ulp
 */

#if !defined(SURETY_LEVEL_avx512)
static inline v16 v16_load_part(const float *p, size_t n) {
    float lanes[16] = {0};
    memcpy(lanes, p, n * sizeof *p);
    return v16_load(lanes);
}
static inline void v16_store_part(float *p, v16 a, size_t n) {
    float lanes[16];
    v16_store(lanes, a);
    memcpy(p, lanes, n * sizeof *p);
}
#endif

/* exp(a) = 2^n exp(s), a = n ln 2 + s, with ln 2 in two parts of which n times the first is exact; for exp(s)
 * the polynomial of SLEEF's expf_u10, in its order: the same bits for every float. Inlined it takes three
 * quarters of the time of a call, and sigmoids are what an attack does most besides products. */
#if defined(SURETY_LEVEL_avx512) || defined(SURETY_LEVEL_avx2)
static inline v16 v16_exp(v16 a) {
    static const float terms[] = {0x1.6d2d92p-10f, 0x1.11114cp-7f, 0x1.5554f4p-5f, 0x1.555556p-3f, 0.5f};
    a = v16_min(v16_set1(104), v16_max(v16_set1(-104), a)); /* already infinite, and 0 */
    v16 n = v16_round(v16_mul(a, v16_set1(0x1.715476p+0f)));
    v16 s = v16_fnma(n, v16_set1(0x1.7f7d1cp-20f), v16_fnma(n, v16_set1(0x1.62e4p-1f), a));
    v16 u = v16_set1(0x1.a057b4p-13f);
    UNROLL for (int i = 0; i < 5; i++) u = v16_fma(u, s, v16_set1(terms[i]));
    return v16_scale(v16_add(v16_fma(v16_mul(s, s), u, s), v16_set1(1)), n);
}
#endif

/* Lanes 0 .. 7 and 8 .. 15 as doubles. */
typedef double v8d __attribute__((vector_size(64)));
static inline void v16_doubles(v16 a, v8d out[2]) {
#if defined(SURETY_LEVEL_avx512)
    out[0] = (v8d)_mm512_cvtps_pd(v16_low8(a));
    out[1] = (v8d)_mm512_cvtps_pd(v16_high8(a));
#else
    typedef float v8 __attribute__((vector_size(32)));
    v8 half[2];
    memcpy(half, &a, sizeof half);
    for (int i = 0; i < 2; i++) out[i] = __builtin_convertvector(half[i], v8d);
#endif
}

/* Lanes combined pairwise, i with i+8, then i+4, i+2, i+1: one tree for all levels. */
#if defined(SURETY_LEVEL_avx512) || defined(SURETY_LEVEL_avx2)
#define V16_TREE(a, op8, op4)                                                  \
    __m256 x8 = op8(v16_low8(a), v16_high8(a));                                \
    __m128 x4 = op4(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1)); \
    __m128 x2 = op4(x4, _mm_movehl_ps(x4, x4));                                \
    return _mm_cvtss_f32(op4(x2, _mm_movehdup_ps(x2)))
static inline float v16_sum(v16 a) {
    V16_TREE(a, _mm256_add_ps, _mm_add_ps);
}
static inline float v16_largest(v16 a) {
    V16_TREE(a, _mm256_max_ps, _mm_max_ps);
}
#else
#define V16_TREE(a, op)                                              \
    float x[16];                                                     \
    v16_store(x, a);                                                 \
    for (int half = 8; half; half /= 2)                              \
        for (int i = 0; i < half; i++) x[i] = op(x[i], x[i + half]); \
    return x[0]
#define V16_PLUS(a, b) ((a) + (b))
#define V16_MORE(a, b) ((a) > (b) ? (a) : (b))
static inline float v16_sum(v16 a) {
    V16_TREE(a, V16_PLUS);
}
static inline float v16_largest(v16 a) {
    V16_TREE(a, V16_MORE);
}
#endif

/* 1/(1+exp(-a)) = e/(1+e) for a < 0, 1/(1+e) otherwise, with e = exp(-|a|) <= 1: nothing overflows and very
 * negative a keep their relative accuracy. */
static inline v16 v16_sigmoid(v16 a) {
    v16 one = v16_set1(1), e = v16_exp(v16_neg(v16_abs(a)));
    return v16_div(v16_select(v16_lt(a, v16_zero()), e, one), v16_add(one, e));
}

/* r[i][j] <-> r[j][i], sixteen vectors. In steps: pairs of rows interleaved by one float, by two, then blocks
 * of four and eight floats exchanged. */
#if defined(SURETY_LEVEL_avx512)
static inline void v16_transpose(v16 *r) {
    v16 t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            __m512d a = _mm512_castps_pd(t[i + k]), b = _mm512_castps_pd(t[i + k + 2]);
            r[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            r[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    for (int i = 0; i < 4; i++)
        for (int h = 0; h < 16; h += 8) {
            t[h + i] = _mm512_shuffle_f32x4(r[h + i], r[h + i + 4], 0x88);
            t[h + i + 4] = _mm512_shuffle_f32x4(r[h + i], r[h + i + 4], 0xdd);
        }
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    }
}
#elif defined(SURETY_LEVEL_avx2)
static inline void v8_transpose(__m256 *r) {
    __m256 t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            r[i + 2 * k] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0x44);
            r[i + 2 * k + 1] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    for (int i = 0; i < 8; i++) r[i] = t[i];
}
static inline void v16_transpose(v16 *r) {
    __m256 block[4][8]; /* top left, top right, bottom left, bottom right */
    for (int i = 0; i < 8; i++) {
        block[0][i] = r[i].lo, block[1][i] = r[i].hi;
        block[2][i] = r[i + 8].lo, block[3][i] = r[i + 8].hi;
    }
    for (int k = 0; k < 4; k++) v8_transpose(block[k]);
    for (int i = 0; i < 8; i++) {
        r[i].lo = block[0][i], r[i].hi = block[2][i];
        r[i + 8].lo = block[1][i], r[i + 8].hi = block[3][i];
    }
}
#else
static inline void v16_transpose(v16 *r) {
    float from[16][16], to[16];
    for (int i = 0; i < 16; i++) v16_store(from[i], r[i]);
    for (int j = 0; j < 16; j++) {
        for (int i = 0; i < 16; i++) to[i] = from[i][j];
        r[j] = v16_load(to);
    }
}
#endif

#endif
