/* Print's random numbers: the Mersenne Twister twice, and what its trees start from. */
#include <math.h>

#include "study/print.h"

enum { N = SURETY_TWISTER_WORDS, M = 397 };

void surety_twister_seed(surety_twister *t, uint32_t seed) {
    t->state[0] = seed;
    for (uint32_t i = 1; i < N; i++)
        t->state[i] = 1812433253u * (t->state[i - 1] ^ t->state[i - 1] >> 30) + i;
    t->used = N;
}

static uint32_t twist(uint32_t high, uint32_t low) {
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return y >> 1 ^ (-(y & 1) & 0x9908b0dfu);
}

/* Three loops, so that each has one distance between what it reads and writes and runs in vectors. */
static void refill(surety_twister *t) {
    uint32_t *s = t->state;
    for (size_t i = 0; i < N - M; i++) s[i] = s[i + M] ^ twist(s[i], s[i + 1]);
    for (size_t i = N - M; i < N - 1; i++) s[i] = s[i + M - N] ^ twist(s[i], s[i + 1]);
    s[N - 1] = s[M - 1] ^ twist(s[N - 1], s[0]);
    for (size_t i = 0; i < N; i++) {
        uint32_t y = s[i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        t->words[i] = y ^ y >> 18;
    }
    t->used = 0;
}

uint32_t surety_twister_word(surety_twister *t) {
    if (t->used == N) refill(t);
    return t->words[t->used++];
}

void surety_twister_drop(surety_twister *t, size_t words) {
    while (words--) surety_twister_word(t);
}

double surety_twister_double(surety_twister *t) {
    uint32_t a = surety_twister_word(t) >> 5, b = surety_twister_word(t) >> 6;
    return (a * 0x1p26 + b) * 0x1p-53;
}

static float unit(uint32_t word) {
    return (float)(int32_t)(word & 0xffffff) * 0x1p-24f;
}

float surety_twister_float(surety_twister *t) {
    return unit(surety_twister_word(t));
}

void surety_twister_floats(surety_twister *t, float *out, size_t count) {
    while (count) {
        if (t->used == N) refill(t);
        size_t part = N - t->used < count ? N - t->used : count;
        for (size_t i = 0; i < part; i++) out[i] = unit(t->words[t->used + i]);
        t->used += part;
        out += part;
        count -= part;
    }
}

/* 53 random bits of two words, the low ones. */
static double wide(surety_twister *t) {
    uint64_t a = surety_twister_word(t), b = surety_twister_word(t);
    return (double)((a << 32 | b) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

/* Glorot normal by Box and Muller: in float, eight pairs (u[j], u[j+8]) per sixteen weights, 3 d words after
 * 3 d that a mask took which nothing used; the leaves in double, pair after pair. */
void surety_print_start(surety_twister *t, uint32_t tree, size_t d, float *W, float leaves[4]) {
    const float turn = 6.28318530717958647693f, scale = (float)sqrt(2. / (double)(d + 3));
    surety_twister_seed(t, tree);
    surety_twister_drop(t, 3 * d);
    surety_twister_floats(t, W, 3 * d);
    for (size_t i = 0; i < 3 * d; i += 16)
        for (size_t j = i; j < i + 8; j++) {
            float r = sqrtf(-2 * logf(1 - W[j])), angle = turn * W[j + 8];
            W[j] = scale * (r * cosf(angle));
            W[j + 8] = scale * (r * sinf(angle));
        }
    for (size_t j = 0; j < 4; j += 2) {
        double v1 = wide(t), v2 = wide(t), r = sqrt(-2 * log1p(-v2)), angle = 2 * 3.14159265358979323846 * v1;
        leaves[j] = (float)(sqrt(.4) * r * cos(angle));
        leaves[j + 1] = (float)(sqrt(.4) * r * sin(angle));
    }
}
