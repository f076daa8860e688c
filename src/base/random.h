/* Random numbers by address (docs/architecture.md, "Random numbers are addressed").
 *
 * A draw is Philox-4x32-10 with key = seed and a counter that says what the draw is for. Nothing is consumed,
 * so a draw cannot depend on threads, batches or what was drawn before. The counter's four words:
 *
 *   word 0   coordinate / 4      (the four outputs are coordinates 4c .. 4c+3)
 *   word 1   row in the source file
 *   word 2   epoch (20 bits) << 12 | restart (12 bits)
 *   word 3   sample j (24 bits) << 8 | purpose (8 bits)
 *
 * so different addresses within the limits below never share a counter.
 */
#ifndef SURETY_BASE_RANDOM_H
#define SURETY_BASE_RANDOM_H

#include "surety/base.h"

#define SURETY_SEED_LIMIT (UINT64_C(1) << 63) /* seeds are below it */
#define SURETY_EPOCH_LIMIT (1u << 20)
#define SURETY_RESTART_LIMIT (1u << 12)
#define SURETY_SAMPLE_LIMIT (1u << 24)

/* What a draw is for. The three sets have their own purposes, because a row of the training file and a row of
 * the test file may have the same number. Values are part of the file format of "same seed, same bits": only
 * append. */
typedef enum surety_purpose {
    SURETY_FOR_SPLIT = 1,    /* shuffling a user's rows into S', S (and T) */
    SURETY_FOR_ORDER = 2,    /* batch order of an epoch */
    SURETY_FOR_WEIGHTS = 3,  /* initial split weights; row = voter * nodes + node */
    SURETY_FOR_LEAVES = 4,   /* initial leaves; row = voter */
    SURETY_FOR_MASK = 5,     /* feature masks; row = voter * nodes + node */
    SURETY_FOR_COPIES = 6,   /* which of equal rows is kept; row = the first of them */
    SURETY_FOR_FEATURES = 7, /* which features a split of a tree looks at; row = node, sample = tree */
    SURETY_FOR_START = 16,   /* + set: random start of an attack */
    SURETY_FOR_RADIUS = 32,  /* + set: the radius of that start, where one is drawn */
    SURETY_FOR_NOISE = 48,   /* + set: noise of the u-attacks */
    SURETY_FOR_COIN = 80,    /* + set: the coin of an example (docs/theory.md 12.5) */
    SURETY_FOR_CHECK = 64,   /* points and weights of a gradient check */
    SURETY_FOR_EXPORT = 65   /* test vectors of an export; row = their number */
} surety_purpose;

/* Who asks, and for what. The set is the low nibble of a purpose that says "+ set" above. */
typedef struct surety_address {
    uint32_t row;     /* row in the source file (never the position in a batch) */
    uint32_t epoch;   /* below SURETY_EPOCH_LIMIT */
    uint32_t restart; /* below SURETY_RESTART_LIMIT */
    uint32_t sample;  /* below SURETY_SAMPLE_LIMIT */
    uint8_t purpose;  /* surety_purpose, plus the set where it says so */
} surety_address;

/* The counter of an address for coordinates 4*cell .. 4*cell+3. */
static inline void surety_random_counter(const surety_address *a, uint32_t cell, uint32_t counter[4]) {
    counter[0] = cell;
    counter[1] = a->row;
    counter[2] = a->epoch << 12 | a->restart;
    counter[3] = a->sample << 8 | a->purpose;
}

/* 32 random bits each for coordinates 4*cell .. 4*cell+3. */
void surety_random_bits(uint64_t seed, const surety_address *a, uint32_t cell, uint32_t bits[4]);

/* 32 bits to a float strictly inside (0,1), symmetric around 1/2 and exact: (top 23 bits + 1/2) / 2^23. */
static inline float surety_random_unit(uint32_t bits) {
    return ((float)(bits >> 9) + 0.5f) * 0x1p-23f;
}

/* Uniform in (0,1) at one coordinate. */
float surety_random_uniform(uint64_t seed, const surety_address *a, uint64_t coordinate);

/* Noise at one coordinate, uniform on 2^16 numbers in (-1,1) symmetric around 0, exact: (k + 1/2) / 2^15 - 1.
 * Half a word is enough for it and costs half: of words 32g .. 32g+31, the low halves k are coordinates 64g
 * .. 64g+31, the high halves 64g+32 .. 64g+63. */
float surety_random_noise(uint64_t seed, const surety_address *a, uint64_t coordinate);

/* A whole number uniform in [0, below), exactly (bits that would favour small numbers are drawn again at the
 * next restart), below >= 1. For shuffles. */
uint32_t surety_random_below(uint64_t seed, surety_address a, uint64_t coordinate, uint32_t below);

/* order[0..count) becomes a uniformly drawn permutation of 0..count-1 (Fisher-Yates), the same for the same
 * address. */
void surety_random_order(uint64_t seed, const surety_address *a, uint32_t *order, uint32_t count);

#endif
