#include "data/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "io/read.h"

enum { BYTES = SURETY_SHA256_BYTES, POLLED = 1024 /* rows between two looks at stop */ };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are added as little endian");

/* -0 is 0; what is missing has one pattern of bits; a category stands behind the numbers. */
static float digested(const surety_table *t, size_t column, float value) {
    const uint32_t nan = 0x7fc00000;
    if (isnan(value))
        memcpy(&value, &nan, sizeof value);
    else if (t->categories && t->categories[column].of)
        value = 0;
    return value + 0.0f;
}

static surety_status add_text(surety_sha256_sum *sum, const char *text, surety_error *err) {
    const uint32_t length = (uint32_t)strlen(text);
    SURETY_TRY(surety_sha256_add(sum, &length, sizeof length, err));
    return surety_sha256_add(sum, text, length, err);
}

static surety_status add_categories(surety_sha256_sum *sum, const surety_table *t, size_t row,
                                    surety_error *err) {
    for (size_t j = 0; t->categories && j < t->d; j++) {
        const surety_labels *c = &t->categories[j];
        if (!c->of) continue;
        SURETY_TRY(add_text(sum, c->of[row] == SURETY_NO_CATEGORY ? "" : c->names[c->of[row]], err));
    }
    return SURETY_OK;
}

static surety_status digest_rows(uint8_t *out, const surety_table *t, const uint32_t *rows, size_t count,
                                 surety_sha256_sum *sum, float *x, surety_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (i % POLLED == POLLED - 1) SURETY_TRY(surety_reading_poll(i, count, err));
        surety_table_row(t, rows[i], x);
        for (size_t j = 0; j < t->d; j++) x[j] = digested(t, j, x[j]);
        SURETY_TRY(surety_sha256_add(sum, x, t->d * sizeof *x, err));
        SURETY_TRY(add_categories(sum, t, rows[i], err));
        SURETY_TRY(surety_sha256_bytes(sum, out + BYTES * (size_t)rows[i], err));
    }
    return SURETY_OK;
}

surety_status surety_digest_rows(uint8_t **out, const surety_table *t, const uint32_t *rows, size_t count,
                                 const surety_run *run, surety_error *err) {
    surety_sha256_sum *sum = NULL;
    float *x = NULL;
    size_t first = 0, end = t->rows;
    surety_my_share(run, &first, &end);
    for (; count && *rows < first; rows++) count--;
    while (count && rows[count - 1] >= end) count--;
    SURETY_TRY(surety_alloc(out, t->rows, BYTES, err));
    surety_status status = surety_alloc(&x, t->d, sizeof *x, err);
    if (status == SURETY_OK) status = surety_sha256_new(&sum, err);
    if (status == SURETY_OK) status = digest_rows(*out, t, rows, count, sum, x, err);
    if (status == SURETY_OK) status = surety_share_everyone(run, *out, t->rows, 1, BYTES, err);
    surety_sha256_free(sum);
    surety_free(x);
    return status;
}

/* d and m, which begin every digest of several rows. */
static surety_status begin(surety_sha256_sum **sum, size_t d, size_t m, surety_error *err) {
    const uint64_t sizes[2] = {d, m};
    SURETY_TRY(surety_sha256_new(sum, err));
    return surety_sha256_add(*sum, sizes, sizeof sizes, err);
}

static surety_status add_examples(surety_sha256_sum *sum, const surety_set *set, const surety_table *t,
                                  const uint8_t *digests, surety_error *err) {
    for (size_t i = 0; i < set->m; i++) {
        const uint32_t example[2] = {set->row[i], set->y[i]};
        SURETY_TRY(surety_sha256_add(sum, example, sizeof example, err));
        SURETY_TRY(surety_sha256_add(sum, digests + BYTES * (size_t)set->row[i], BYTES, err));
        if (set->unit) SURETY_TRY(add_text(sum, t->units.names[t->units.of[set->row[i]]], err));
    }
    return SURETY_OK;
}

surety_status surety_digest_set(char text[SURETY_SHA256_TEXT], const surety_set *set, const surety_table *t,
                                const uint8_t *digests, surety_error *err) {
    surety_sha256_sum *sum = NULL;
    surety_status status = begin(&sum, t->d, set->m, err);
    if (status == SURETY_OK) status = add_examples(sum, set, t, digests, err);
    if (status == SURETY_OK) status = surety_sha256_text(sum, text, err);
    surety_sha256_free(sum);
    return status;
}

static int by_bytes(const void *a, const void *b) {
    return memcmp(a, b, BYTES);
}

surety_status surety_digest_class(char text[SURETY_SHA256_TEXT], const surety_table *t, size_t k,
                                  const uint8_t *classes, const uint8_t *digests, surety_error *err) {
    surety_sha256_sum *sum = NULL;
    uint8_t *sorted = NULL;
    size_t m = 0;
    for (size_t i = 0; i < t->rows; i++) m += classes[i] == k;
    SURETY_TRY(surety_alloc(&sorted, m, BYTES, err));
    m = 0;
    for (size_t i = 0; i < t->rows; i++)
        if (classes[i] == k) memcpy(sorted + BYTES * m++, digests + BYTES * i, BYTES);
    surety_status status = surety_sort(sorted, m, BYTES, by_bytes, err);
    if (status == SURETY_OK) status = begin(&sum, t->d, m, err);
    if (status == SURETY_OK) status = surety_sha256_add(sum, sorted, BYTES * m, err);
    if (status == SURETY_OK) status = surety_sha256_text(sum, text, err);
    surety_sha256_free(sum);
    surety_free(sorted);
    return status;
}
