/* Elementary functions and draws over vectors (num.h), on v16 and Philox.
 *
 * Draws come in groups of 32 (philox.h). A uniform is surety_random_unit of base/random.h: with k the top 23
 * bits, u = (k + 1/2) 2^-23; u and 2u - 1 are exact floats, so that one fma computes either without rounding.
 */
#include "num/kernels.h"
#include "num/philox.h"
#include "num/simd.h"

/* Applies a function of v16 to count floats. */
#define MAP(function)                                                               \
    size_t i = 0;                                                                   \
    for (; i + 16 <= count; i += 16) v16_store(out + i, function(v16_load(x + i))); \
    if (i < count) v16_store_part(out + i, function(v16_load_part(x + i, count - i)), count - i)

void SURETY_KERNEL(exp)(const float *x, float *out, size_t count) {
    MAP(v16_exp);
}

void SURETY_KERNEL(sigmoid)(const float *x, float *out, size_t count) {
    MAP(v16_sigmoid);
}

void SURETY_KERNEL(tanh)(const float *x, float *out, size_t count) {
    MAP(v16_tanh);
}

/* The top 23 bits of draws 16*half .. 16*half + 15 of a group. */
static inline v16 top23(const uint32_t bits[PHILOX_DRAWS], int half) {
    v16u words;
    memcpy(&words, bits + 16 * half, sizeof words);
    return v16_top23(words);
}

/* Uniform in (0,1), a group into u. */
static inline void unit_group(const philox *p, size_t first, float u[PHILOX_DRAWS]) {
    uint32_t bits[PHILOX_DRAWS];
    philox_bits(p, (uint32_t)(first / 4), bits);
    for (int half = 0; half < 2; half++)
        v16_store(u + 16 * half, v16_fma(top23(bits, half), v16_set1(0x1p-23f), v16_set1(0x1p-24f)));
}

void SURETY_KERNEL(uniform)(uint64_t seed, const surety_address *a, float *out, size_t count) {
    philox p = philox_at(seed, a);
    float u[PHILOX_DRAWS];
    size_t j = 0;
    for (; j + PHILOX_DRAWS <= count; j += PHILOX_DRAWS) unit_group(&p, j, out + j);
    unit_group(&p, j, u);
    memcpy(out + j, u, (count - j) * sizeof *u);
}

/* Box-Muller: sqrt(-2 ln u) (cos(2 pi v), sin(2 pi v)) for the pairs (u, v) of a group. */
static inline void normal_group(const philox *p, size_t first, float out[PHILOX_DRAWS]) {
    enum { PAIRS = PHILOX_DRAWS / 2 };
    float draws[PHILOX_DRAWS], u[PAIRS], v[PAIRS], sines[PAIRS], cosines[PAIRS];
    unit_group(p, first, draws);
    for (int i = 0; i < PAIRS; i++) u[i] = draws[2 * i], v[i] = draws[2 * i + 1];
    v16 sine, cosine, radius = v16_sqrt(v16_mul(v16_set1(-2), v16_log(v16_load(u))));
    v16_sincospi(v16_mul(v16_set1(2), v16_load(v)), &sine, &cosine);
    v16_store(sines, v16_mul(radius, sine));
    v16_store(cosines, v16_mul(radius, cosine));
    for (int i = 0; i < PAIRS; i++) out[2 * i] = cosines[i], out[2 * i + 1] = sines[i];
}

void SURETY_KERNEL(normal)(uint64_t seed, const surety_address *a, float *out, size_t count) {
    philox p = philox_at(seed, a);
    float last[PHILOX_DRAWS];
    size_t j = 0;
    for (; j + PHILOX_DRAWS <= count; j += PHILOX_DRAWS) normal_group(&p, j, out + j);
    if (j == count) return;
    normal_group(&p, j, last);
    memcpy(out + j, last, (count - j) * sizeof *last);
}

typedef struct noise {
    v16 scale, lo, hi;
} noise;

/* clip(x + scale (2u - 1)); a NaN in x stays (simd.h: v16_max, v16_min). */
static inline v16 noise_add(const noise *n, v16 top, v16 x) {
    v16 centred = v16_fma(top, v16_set1(0x1p-22f), v16_set1(0x1p-23f - 1));
    return v16_min(n->hi, v16_max(n->lo, v16_fma(n->scale, centred, x)));
}

void SURETY_KERNEL(noise)(uint64_t seed, const surety_address *a, const float *x, float scale, float lo,
                          float hi, float *out, size_t count) {
    philox p = philox_at(seed, a);
    noise n = {v16_set1(scale), v16_set1(lo), v16_set1(hi)};
    uint32_t bits[PHILOX_DRAWS];
    size_t j = 0;
    for (; j + PHILOX_DRAWS <= count; j += PHILOX_DRAWS) {
        philox_bits(&p, (uint32_t)(j / 4), bits);
        for (int half = 0; half < 2; half++)
            v16_store(out + j + 16 * half, noise_add(&n, top23(bits, half), v16_load(x + j + 16 * half)));
    }
    philox_bits(&p, (uint32_t)(j / 4), bits);
    for (int half = 0; half < 2 && j < count; half++, j += 16) {
        size_t part = count - j < 16 ? count - j : 16;
        v16_store_part(out + j, noise_add(&n, top23(bits, half), v16_load_part(x + j, part)), part);
    }
}
