/* All rows are sorted by a hash of their features; rows of the same hash are compared number by number, so
 * the counts are exact. -0 and 0 are the same number. */
#include "data/equal.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    uint64_t hash;
    const float *x;
    uint8_t set, done;
} entry;

/* Multiply and fold over 8 bytes at a time; the padding is zero in every row. */
static uint64_t hash_row(const float *x, size_t stride) {
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t j = 0; j + 2 <= stride; j += 2) {
        uint64_t word;
        float two[2] = {x[j] + 0.0f, x[j + 1] + 0.0f}; /* -0 + 0 is 0 */
        memcpy(&word, two, sizeof word);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h;
}

static int by_hash(const void *a, const void *b) {
    uint64_t x = ((const entry *)a)->hash, y = ((const entry *)b)->hash;
    return (x > y) - (x < y);
}

static size_t collect(entry *entries, const surety_set sets[SURETY_SETS]) {
    size_t count = 0;
    for (int s = 0; s < SURETY_SETS; s++)
        for (size_t i = 0; i < sets[s].m; i++) {
            const float *x = sets[s].x + i * sets[s].stride;
            entries[count++] = (entry){hash_row(x, sets[s].stride), x, (uint8_t)s, 0};
        }
    return count;
}

static int same_row(const float *a, const float *b, size_t stride) {
    size_t j = 0;
    while (j < stride && a[j] == b[j]) j++;
    return j == stride;
}

/* Rows equal to e[0] among e[0..count), all of one hash: counted per set and marked done. */
static void count_equal(entry *e, size_t count, size_t stride, size_t shared[SURETY_SETS][SURETY_SETS]) {
    size_t members[SURETY_SETS] = {0};
    for (size_t i = 0; i < count; i++) {
        if (e[i].done || !same_row(e[0].x, e[i].x, stride)) continue;
        if (i > 0) e[i].done = 1;
        members[e[i].set]++;
    }
    for (int a = 0; a < SURETY_SETS; a++)
        for (int b = 0; b < SURETY_SETS; b++)
            if (a != b && members[b]) shared[a][b] += members[a];
}

surety_status surety_equal_rows(const surety_set sets[SURETY_SETS], size_t shared[SURETY_SETS][SURETY_SETS],
                                surety_error *err) {
    entry *entries = NULL;
    size_t total = sets[0].m + sets[1].m + sets[2].m;
    memset(shared, 0, sizeof(size_t[SURETY_SETS][SURETY_SETS]));
    SURETY_TRY(surety_alloc(&entries, total, sizeof *entries, err));
    size_t count = collect(entries, sets);
    qsort(entries, count, sizeof *entries, by_hash);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && entries[end].hash == entries[first].hash;) end++;
        for (size_t i = first; i < end; i++)
            if (!entries[i].done) count_equal(entries + i, end - i, sets[0].stride, shared);
    }
    surety_free(entries);
    return SURETY_OK;
}
