#include "base/random.h"

#include <Random123/philox.h>

void surety_random_bits(uint64_t seed, const surety_address *a, uint32_t cell, uint32_t bits[4]) {
    philox4x32_ctr_t counter;
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    surety_random_counter(a, cell, counter.v);
    counter = philox4x32(counter, key);
    for (int i = 0; i < 4; i++) bits[i] = counter.v[i];
}

float surety_random_uniform(uint64_t seed, const surety_address *a, uint64_t coordinate) {
    uint32_t bits[4];
    surety_random_bits(seed, a, (uint32_t)(coordinate / 4), bits);
    return surety_random_unit(bits[coordinate % 4]);
}

float surety_random_noise(uint64_t seed, const surety_address *a, uint64_t coordinate) {
    uint32_t bits[4], word = (uint32_t)(coordinate / 64 * 32 + coordinate % 32);
    surety_random_bits(seed, a, word / 4, bits);
    uint32_t k = coordinate / 32 % 2 ? bits[word % 4] >> 16 : bits[word % 4] & 0xffff;
    return ((float)k + 0.5f) * 0x1p-15f - 1;
}

uint32_t surety_random_below(uint64_t seed, surety_address a, uint64_t coordinate, uint32_t below) {
    uint32_t excess = (uint32_t)(-below) % below; /* 2^32 mod below: that many draws would be too many */
    for (;; a.restart++) {
        uint32_t bits[4];
        surety_random_bits(seed, &a, (uint32_t)(coordinate / 4), bits);
        if (bits[coordinate % 4] >= excess) return bits[coordinate % 4] % below;
    }
}

void surety_random_order(uint64_t seed, const surety_address *a, uint32_t *order, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = surety_random_below(seed, *a, i - 1, i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}
