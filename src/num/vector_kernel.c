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

/* Fills out by steps: the bits of several steps first (philox.h wants PHILOX_STEPS at a time, and calls of
 * functions in between would have it load its keys again), then their draws; of the last one only what fits.
 */
enum { AHEAD = 8 }; /* steps, a multiple of PHILOX_STEPS */
#define FILL(step)                                                                                 \
    philox p = philox_at(seed, a);                                                                 \
    v16u bits[AHEAD * DRAWS / 16];                                                                 \
    float last[DRAWS] = {0};                                                                       \
    for (size_t j = 0; j < count;) {                                                               \
        size_t steps = (count - j + DRAWS - 1) / DRAWS;                                            \
        if (steps > AHEAD) steps = AHEAD;                                                          \
        for (size_t i = 0; i < steps; i += PHILOX_STEPS)                                           \
            philox_bits(&p, (uint32_t)((j + i * DRAWS) / 4), bits + i * DRAWS / 16, PHILOX_STEPS); \
        for (size_t i = 0; i < steps; i++, j += DRAWS) {                                           \
            size_t part = count - j < DRAWS ? count - j : DRAWS;                                   \
            step(bits + i * DRAWS / 16, part < DRAWS ? last : out + j);                            \
            if (part < DRAWS) memcpy(out + j, last, part * sizeof *last);                          \
        }                                                                                          \
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

/* A step draws 2 DRAWS coordinates. PHILOX_STEPS at a time while they fit (philox.h), then one by one. */
void SURETY_KERNEL(noise)(const surety_noise *s, const float *x, float *out, size_t count) {
    enum { AT_ONCE = PHILOX_STEPS * 2 * DRAWS };
    philox p = philox_at(s->seed, &s->at);
    noise n = {v16_set1(s->scale), v16_set1(s->lo), v16_set1(s->hi)};
    v16u bits[AT_ONCE / 32];
    size_t j = 0;
    for (; j + AT_ONCE <= count; j += AT_ONCE) {
        philox_bits(&p, (uint32_t)(j / 8), bits, PHILOX_STEPS);
        UNROLL for (size_t i = 0; i < AT_ONCE / 16; i++) {
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

/* Box-Muller on sixteen words, u = (k + 1/2) / 2^16 of the high halves k, v of the low ones:
 *
 *   x + iy = sqrt(-2 ln u) exp(-2 pi i v)
 *
 * with a = v - 1/2 and b = |a| - 1/4: x = r sin(2 pi b), y = r sign(a) cos(2 pi b), |b| < 1/4, so that one
 * polynomial in b^2 each is enough, and one in m - 1 for ln u, u = m 2^n. (Minimax; errors below 4e-7, 1e-7
 * and 1e-7.) */
static inline v16 polynomial(v16 x, const float *terms, const int count) {
    v16 sum = v16_set1(terms[count - 1]);
    UNROLL for (int i = count - 2; i >= 0; i--) sum = v16_fma(sum, x, v16_set1(terms[i]));
    return sum;
}

static inline void direction_pair(v16u bits, v16 *x, v16 *y) {
    static const float log_terms[] = {-0x1.000002p+1f, 0x1.000056p+0f, -0x1.554d14p-1f, 0x1.ff7a56p-2f,
                                      -0x1.9b7f12p-2f, 0x1.6416b2p-2f, -0x1.24a956p-2f, 0x1.179fe0p-3f};
    static const float sin_terms[] = {0x1.921fb4p+2f, -0x1.4abbb6p+5f, 0x1.466772p+6f, -0x1.323350p+6f,
                                      0x1.3c4f96p+5f};
    static const float cos_terms[] = {0x1.fffffep-1f, -0x1.3bd3a6p+4f, 0x1.03bd06p+6f, -0x1.54f61ap+6f,
                                      0x1.c1f06cp+5f};
    v16 m, u = v16_fma(v16_top16(bits), v16_set1(0x1p-16f), v16_set1(0x1p-17f)), n = v16_split(u, &m);
    v16 a = v16_fma(v16_low16(bits), v16_set1(0x1p-16f), v16_set1(0x1p-17f - 0.5f));
    v16 f = v16_sub(m, v16_set1(1)), b = v16_sub(v16_abs(a), v16_set1(0.25f)), s = v16_mul(b, b);
    v16 square = v16_fma(f, polynomial(f, log_terms, 8), v16_mul(n, v16_set1(-0x1.62e43p+0f)));
    v16 r = v16_sqrt(square);
    *x = v16_mul(r, v16_mul(b, polynomial(s, sin_terms, 5)));
    *y = v16_mul(v16_flip(r, a), polynomial(s, cos_terms, 5));
}

/* Sixteen words give 32 coordinates: sixteen x, then their y. */
void SURETY_KERNEL(direction)(uint64_t seed, const surety_address *a, float *out, size_t count) {
    enum { AT_ONCE = PHILOX_STEPS * 2 * DRAWS };
    philox p = philox_at(seed, a);
    v16u bits[AT_ONCE / 32];
    size_t j = 0;
    for (; j + AT_ONCE <= count; j += AT_ONCE) {
        philox_bits(&p, (uint32_t)(j / 8), bits, PHILOX_STEPS);
        for (size_t i = 0; i < AT_ONCE / 32; i++) {
            v16 x, y;
            direction_pair(bits[i], &x, &y);
            v16_store(out + j + 32 * i, x);
            v16_store(out + j + 32 * i + 16, y);
        }
    }
    while (j < count) {
        philox_bits(&p, (uint32_t)(j / 8), bits, 1);
        for (size_t i = 0; i < 2 * DRAWS / 32 && j < count; i++) {
            v16 xy[2];
            direction_pair(bits[i], &xy[0], &xy[1]);
            for (size_t k = 0; k < 2 && j < count; k++, j += 16)
                v16_store_part(out + j, xy[k], count - j < 16 ? count - j : 16);
        }
    }
}
