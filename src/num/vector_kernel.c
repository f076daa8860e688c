/* Elementary functions and draws over vectors (num.h), on v16 and Philox.
 *
 * A uniform draw is surety_random_unit of base/random.h: with k the top 23 bits, u = (k + 1/2) 2^-23. That is
 * an exact float, as is a draw of noise, so that one fma gives it from k without rounding (and so do a
 * product and a sum, at the level without fma).
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

enum { DRAWS = 32 }; /* of one step */

/* u of the words of one step. */
static inline void uniform_step(const v16u *bits, float u[DRAWS]) {
    for (int i = 0; i < DRAWS / 16; i++)
        v16_store(u + 16 * i, v16_fma(v16_top23(bits[i]), v16_set1(0x1p-23f), v16_set1(0x1p-24f)));
}

/* Box-Muller: sqrt(-2 ln u) (cos(2 pi v), sin(2 pi v)) for the pairs (u, v) of a step. */
static inline void normal_step(const v16u *bits, float out[DRAWS]) {
    enum { PAIRS = DRAWS / 2 };
    float draws[DRAWS], u[PAIRS], v[PAIRS];
    uniform_step(bits, draws);
    for (int i = 0; i < PAIRS; i++) u[i] = draws[2 * i], v[i] = draws[2 * i + 1];
    v16 sine, cosine, radius = v16_sqrt(v16_mul(v16_set1(-2), v16_log(v16_load(u))));
    v16_sincospi(v16_mul(v16_set1(2), v16_load(v)), &sine, &cosine);
    v16_store(u, v16_mul(radius, cosine));
    v16_store(v, v16_mul(radius, sine));
    for (int i = 0; i < PAIRS; i++) out[2 * i] = u[i], out[2 * i + 1] = v[i];
}

/* Fills out by steps: the bits of several steps first (philox.h wants two at a time, and calls of functions
 * in between would have it load its keys again), then their draws; of the last one only what fits. */
enum { AHEAD = 8 }; /* steps, an even number */
#define FILL(step)                                                                      \
    philox p = philox_at(seed, a);                                                      \
    v16u bits[AHEAD * DRAWS / 16];                                                      \
    float last[DRAWS] = {0};                                                            \
    for (size_t j = 0; j < count;) {                                                    \
        size_t steps = (count - j + DRAWS - 1) / DRAWS;                                 \
        if (steps > AHEAD) steps = AHEAD;                                               \
        for (size_t i = 0; i < steps; i += 2)                                           \
            philox_bits(&p, (uint32_t)((j + i * DRAWS) / 4), bits + i * DRAWS / 16, 2); \
        for (size_t i = 0; i < steps; i++, j += DRAWS) {                                \
            size_t part = count - j < DRAWS ? count - j : DRAWS;                        \
            step(bits + i * DRAWS / 16, part < DRAWS ? last : out + j);                 \
            if (part < DRAWS) memcpy(out + j, last, part * sizeof *last);               \
        }                                                                               \
    }

void SURETY_KERNEL(uniform)(uint64_t seed, const surety_address *a, float *out, size_t count) {
    FILL(uniform_step)
}

void SURETY_KERNEL(normal)(uint64_t seed, const surety_address *a, float *out, size_t count) {
    FILL(normal_step)
}

typedef struct noise {
    v16 scale, lo, hi;
} noise;

/* clip(x + scale n) with n from sixteen k (surety_random_noise); a NaN in x stays (simd.h: v16_max, v16_min).
 */
static inline v16 noise_add(const noise *n, v16 k, v16 x) {
    v16 centred = v16_fma(k, v16_set1(0x1p-15f), v16_set1(0x1p-16f - 1));
    return v16_min(n->hi, v16_max(n->lo, v16_fma(n->scale, centred, x)));
}

/* k of coordinates 16i .. 16i + 15 behind the first one of a step's words. */
static inline v16 noise_draw(const v16u *bits, size_t i) {
    return i < DRAWS / 16 ? v16_low16(bits[i]) : v16_top16(bits[i - DRAWS / 16]);
}

/* A step draws 2 DRAWS coordinates. Two steps at a time while they fit (philox.h), then one by one. */
void SURETY_KERNEL(noise)(uint64_t seed, const surety_address *a, const float *x, float scale, float lo,
                          float hi, float *out, size_t count) {
    philox p = philox_at(seed, a);
    noise n = {v16_set1(scale), v16_set1(lo), v16_set1(hi)};
    v16u bits[2 * DRAWS / 16];
    size_t j = 0;
    for (; j + 4 * DRAWS <= count; j += 4 * DRAWS) {
        philox_bits(&p, (uint32_t)(j / 8), bits, 2);
        UNROLL for (size_t i = 0; i < 4 * DRAWS / 16; i++) {
            v16 k = noise_draw(bits + i / 4 * 2, i % 4);
            v16_store(out + j + 16 * i, noise_add(&n, k, v16_load(x + j + 16 * i)));
        }
    }
    while (j < count) {
        philox_bits(&p, (uint32_t)(j / 8), bits, 1);
        for (size_t i = 0; i < 2 * DRAWS / 16 && j < count; i++, j += 16) {
            size_t part = count - j < 16 ? count - j : 16;
            v16_store_part(out + j, noise_add(&n, noise_draw(bits, i), v16_load_part(x + j, part)), part);
        }
    }
}
