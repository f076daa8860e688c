#include "data/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 21 }; /* characters of a 64-bit number and the 0 behind it */

void surety_labels_free(surety_labels *labels) {
    surety_free(labels->names);
    surety_free(labels->of);
    surety_free(labels->text);
    *labels = (surety_labels){0};
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Different values of a sorted list, moved to its front. */
static size_t distinct(int64_t *values, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!n || values[n - 1] != values[i]) values[n++] = values[i];
    return n;
}

static surety_status name_numbers(surety_labels *out, const int64_t *sorted, const int64_t *values,
                                  size_t rows, surety_error *err) {
    SURETY_TRY(surety_alloc(&out->of, rows, sizeof *out->of, err));
    SURETY_TRY(surety_alloc(&out->names, out->count, sizeof *out->names, err));
    SURETY_TRY(surety_alloc(&out->text, out->count, DIGITS, err));
    for (size_t i = 0; i < out->count; i++) {
        char *name = out->text + i * DIGITS;
        snprintf(name, DIGITS, "%" PRId64, sorted[i]);
        out->names[i] = name;
    }
    for (size_t i = 0; i < rows; i++) {
        const int64_t *found = bsearch(&values[i], sorted, out->count, sizeof *sorted, by_value);
        out->of[i] = (uint32_t)(found - sorted);
    }
    return SURETY_OK;
}

surety_status surety_labels_from_numbers(surety_labels *out, const int64_t *values, size_t rows,
                                         surety_error *err) {
    int64_t *sorted = NULL;
    SURETY_TRY(surety_alloc(&sorted, rows, sizeof *sorted, err));
    memcpy(sorted, values, rows * sizeof *sorted);
    qsort(sorted, rows, sizeof *sorted, by_value);
    *out = (surety_labels){.count = distinct(sorted, rows), .whole = 1};
    surety_status status = name_numbers(out, sorted, values, rows, err);
    surety_free(sorted);
    if (status != SURETY_OK) surety_labels_free(out);
    return status;
}
