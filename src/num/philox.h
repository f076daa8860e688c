/* Philox-4x32-10 on vectors (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC
 * 2011), with exactly the bits of surety_random_bits in base/random.h. For files *_kernel.c.
 *
 * A round maps the counter (c0, c1, c2, c3) to
 *
 *   (hi(M1 c2) ^ c1 ^ k0,  lo(M1 c2),  hi(M0 c0) ^ c3 ^ k1,  lo(M0 c0))
 *
 * and the key (k0, k1) grows by (W0, W1). Each word lives in the low half of a 64-bit lane, one lane per
 * cell: the multiplication reads low halves only, so what the high halves hold does not matter until the end,
 * and lo() costs nothing.
 */
#ifndef SURETY_NUM_PHILOX_H
#define SURETY_NUM_PHILOX_H

#include "base/random.h"
#include "num/simd.h"

/* lanes64: the widest vector of uint64_t.
 * philox_multiply: the 64-bit product of the low halves of lanes.
 * philox_high: high halves as low halves; a shuffle, as shifts share their unit with multiplications.
 * PHILOX_CELLS, PHILOX_EVEN, PHILOX_ODD: the order of cells in the lanes and two interleavings, such that the
 * even lanes of a and b hold the first half of the draws in order, the odd lanes the second half.
 * philox_place: puts these halves of group g among the draws of a call. */
#if defined(SURETY_LEVEL_avx512)
typedef uint64_t lanes64 __attribute__((vector_size(64)));
#define PHILOX_CELLS 0, 4, 1, 5, 2, 6, 3, 7
#define PHILOX_EVEN 0, 8, 2, 10, 4, 12, 6, 14
#define PHILOX_ODD 1, 9, 3, 11, 5, 13, 7, 15
static inline lanes64 philox_multiply(lanes64 a, lanes64 b) {
    return (lanes64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}
static inline lanes64 philox_high(lanes64 a) {
    return (lanes64)_mm512_shuffle_epi32((__m512i)a, _MM_PERM_DDBB);
}
static inline void philox_place(v16u *bits, int g, lanes64 even, lanes64 odd) {
    bits[2 * g] = (v16u)even, bits[2 * g + 1] = (v16u)odd;
}
#elif defined(SURETY_LEVEL_avx2)
typedef uint64_t lanes64 __attribute__((vector_size(32)));
#define PHILOX_CELLS 0, 2, 1, 3
#define PHILOX_EVEN 0, 4, 2, 6
#define PHILOX_ODD 1, 5, 3, 7
static inline lanes64 philox_multiply(lanes64 a, lanes64 b) {
    return (lanes64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}
static inline lanes64 philox_high(lanes64 a) {
    return (lanes64)_mm256_shuffle_epi32((__m256i)a, _MM_SHUFFLE(3, 3, 1, 1));
}
static inline void philox_place(v16u *bits, int g, lanes64 even, lanes64 odd) {
    bits[g].lo = (__m256i)even, bits[g].hi = (__m256i)odd;
}
#else
typedef uint64_t lanes64 __attribute__((vector_size(16)));
#define PHILOX_CELLS 0, 1
#define PHILOX_EVEN 0, 2
#define PHILOX_ODD 1, 3
static inline lanes64 philox_multiply(lanes64 a, lanes64 b) {
    return (a & UINT32_MAX) * (b & UINT32_MAX);
}
static inline lanes64 philox_high(lanes64 a) {
    return a >> 32;
}
static inline void philox_place(v16u *bits, int g, lanes64 even, lanes64 odd) {
    bits[g / 2].q[g % 2 * 2] = (v4u)even, bits[g / 2].q[g % 2 * 2 + 1] = (v4u)odd;
}
#endif

enum {
    PHILOX_ROUNDS = 10,
    PHILOX_LANES = sizeof(lanes64) / 8, /* cells of one group, which draws 4 for each */
    PHILOX_GROUPS = 8 / PHILOX_LANES,   /* groups of 32 draws */
    PHILOX_STEPS = PHILOX_LANES / 2 > 2 ? PHILOX_LANES / 2 : 2 /* most of philox_bits */
};

/* An address without its cell, spread over the lanes, and the keys of all rounds. */
typedef struct philox {
    lanes64 counter[4]; /* counter[0] holds the offsets of the lanes' cells */
    lanes64 key[PHILOX_ROUNDS][2];
} philox;

static inline lanes64 lanes64_set1(uint32_t value) {
    return value - (lanes64){0};
}

static inline philox philox_at(uint64_t seed, const surety_address *a) {
    philox p;
    uint32_t words[4], k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    surety_random_counter(a, 0, words);
    p.counter[0] = (lanes64){PHILOX_CELLS};
    for (int i = 1; i < 4; i++) p.counter[i] = lanes64_set1(words[i]);
    for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
        p.key[i][0] = lanes64_set1(k0), p.key[i][1] = lanes64_set1(k1);
    return p;
}

/* The bits of coordinates 4*cell .. 4*cell + 32*n - 1, n = 1 .. PHILOX_STEPS, a constant where it is inlined.
 * Groups pass each round side by side: ten multiplications in a row leave the units idle, and out-of-order
 * execution does not reach far enough to find the next group by itself. Four groups keep them busy (n = 2 is
 * 1.4 times as fast as n = 1 at avx2, n = 4 is 1.16 times as fast as n = 2 at avx512). */
static inline __attribute__((always_inline)) void philox_bits(const philox *p, uint32_t cell, v16u *bits,
                                                              const int n) {
    const lanes64 M0 = lanes64_set1(0xD2511F53u), M1 = lanes64_set1(0xCD9E8D57u);
    const lanes64 low = lanes64_set1(UINT32_MAX);
    const int groups = n * PHILOX_GROUPS;
    enum { MOST = PHILOX_STEPS * PHILOX_GROUPS };
    lanes64 c0[MOST], c1[MOST], c2[MOST], c3[MOST];
    UNROLL for (int g = 0; g < groups; g++) {
        c0[g] = p->counter[0] + (cell + (uint32_t)(g * PHILOX_LANES));
        c1[g] = p->counter[1], c2[g] = p->counter[2], c3[g] = p->counter[3];
    }
    UNROLL for (int i = 0; i < PHILOX_ROUNDS; i++) UNROLL for (int g = 0; g < groups; g++) {
        lanes64 p0 = philox_multiply(c0[g], M0), p1 = philox_multiply(c2[g], M1);
        c0[g] = philox_high(p1) ^ c1[g] ^ p->key[i][0];
        c2[g] = philox_high(p0) ^ c3[g] ^ p->key[i][1];
        c1[g] = p1;
        c3[g] = p0;
    }
    /* Words 0 and 1 side by side in the lanes of a, words 2 and 3 in those of b. */
    UNROLL for (int g = 0; g < groups; g++) {
        lanes64 a = (c0[g] & low) | c1[g] << 32, b = (c2[g] & low) | c3[g] << 32;
        philox_place(bits, g, __builtin_shufflevector(a, b, PHILOX_EVEN),
                     __builtin_shufflevector(a, b, PHILOX_ODD));
    }
}

#endif
