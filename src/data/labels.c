/* The labels of a table: from numbers or texts to a list of different names in order, and a number per row.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table.h"
#include "io/json.h"

enum { DIGITS = 21 }; /* characters of a 64-bit number and the 0 behind it */

void surety_labels_free(surety_labels *labels) {
    surety_free(labels->names);
    surety_free(labels->of);
    surety_free(labels->text);
    *labels = (surety_labels){0};
}

/* Sorts, and moves the different elements to the front, *count of them. */
static surety_status distinct(void *list, size_t *count, size_t size,
                              int (*compare)(const void *, const void *), surety_error *err) {
    char *at = list;
    size_t n = 0;
    SURETY_TRY(surety_sort(list, *count, size, compare, err));
    for (size_t i = 0; i < *count; i++)
        if (!n || compare(at + (n - 1) * size, at + i * size) != 0)
            memmove(at + n++ * size, at + i * size, size);
    *count = n;
    return SURETY_OK;
}

/* A row's label: where it is in the sorted list of the different ones. */
static uint32_t number_of(const void *label, const void *sorted, size_t count, size_t size,
                          int (*compare)(const void *, const void *)) {
    const char *found = bsearch(label, sorted, count, size, compare);
    return (uint32_t)((size_t)(found - (const char *)sorted) / size);
}

static surety_status reserve(surety_labels *l, size_t rows, size_t count, size_t bytes, surety_error *err) {
    l->count = count;
    SURETY_TRY(surety_alloc(&l->of, rows, sizeof *l->of, err));
    SURETY_TRY(surety_alloc(&l->names, count, sizeof *l->names, err));
    return surety_alloc(&l->text, bytes, 1, err);
}

/* ---- numbers ---- */

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

surety_status surety_labels_integers(surety_table *t, const int64_t *values, surety_error *err) {
    surety_labels *l = &t->labels;
    int64_t *sorted = NULL;
    SURETY_TRY(surety_alloc(&sorted, t->rows, sizeof *sorted, err));
    memcpy(sorted, values, t->rows * sizeof *sorted);
    size_t count = t->rows;
    surety_status status = distinct(sorted, &count, sizeof *sorted, by_value, err);
    if (status == SURETY_OK) status = reserve(l, t->rows, count, count * DIGITS, err);
    for (size_t k = 0; k < count && status == SURETY_OK; k++) {
        l->names[k] = l->text + k * DIGITS;
        snprintf(l->text + k * DIGITS, DIGITS, "%" PRId64, sorted[k]);
    }
    for (size_t i = 0; i < t->rows && status == SURETY_OK; i++)
        l->of[i] = number_of(&values[i], sorted, count, sizeof *sorted, by_value);
    l->whole = 1;
    surety_free(sorted);
    return status;
}

surety_status surety_labels_numbers(surety_table *t, const double *values, surety_error *err) {
    int64_t *whole = NULL;
    size_t i = 0;
    SURETY_TRY(surety_alloc(&whole, t->rows, sizeof *whole, err));
    for (; i < t->rows && values[i] == floor(values[i]) && fabs(values[i]) < 0x1p53; i++) /* NaN: neither */
        whole[i] = (int64_t)values[i];
    surety_status status = SURETY_OK;
    if (i == t->rows) {
        status = surety_labels_integers(t, whole, err);
    } else {
        status = surety_fail(err, SURETY_E_INPUT, "the label %g is not a whole number", values[i]);
        surety_fail_expected(err, "whole numbers or texts as labels; measurements are no classes");
        surety_table_label_place(t, i, err);
    }
    surety_free(whole);
    return status;
}

/* ---- texts ---- */

static int is_blank(char c) {
    return c == ' ' || c == '\t';
}

static surety_text trimmed(surety_text t) {
    while (t.length && is_blank(t.at[0])) t.at++, t.length--;
    while (t.length && is_blank(t.at[t.length - 1])) t.length--;
    return t;
}

static int by_bytes(surety_text a, surety_text b) {
    int order = memcmp(a.at, b.at, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* In the order of their names; those that differ by blanks are different still. */
static int by_name(const void *a, const void *b) {
    surety_text x = *(const surety_text *)a, y = *(const surety_text *)b;
    int order = by_bytes(trimmed(x), trimmed(y));
    return order ? order : by_bytes(x, y);
}

/* Without blanks, in small letters. */
static int next_letter(surety_text *t) {
    while (t->length && is_blank(t->at[0])) t->at++, t->length--;
    if (!t->length) return -1;
    t->length--;
    unsigned char c = (unsigned char)*t->at++;
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int by_letters(const void *a, const void *b) {
    surety_text x = *(const surety_text *)a, y = *(const surety_text *)b;
    int c, d;
    do c = next_letter(&x), d = next_letter(&y);
    while (c == d && c >= 0);
    return c - d;
}

static surety_status bad_label(const surety_table *t, size_t row, const char *expected, surety_error *err) {
    surety_fail_expected(err, "%s", expected);
    surety_table_label_place(t, row, err);
    return SURETY_E_INPUT;
}

static surety_status check_text(const surety_table *t, const surety_text *texts, size_t row,
                                surety_error *err) {
    if (!trimmed(texts[row]).length) {
        surety_fail(err, SURETY_E_INPUT, "the label is empty");
        return bad_label(t, row, "a label in every row: a whole number or a text", err);
    }
    if (!memchr(texts[row].at, 0, texts[row].length)) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the label holds a zero byte");
    return bad_label(t, row, "text in UTF-8", err);
}

/* Names are JSON in models and certificates. */
static surety_status check_utf8(const surety_table *t, size_t number, surety_error *err) {
    const char *name = t->labels.names[number];
    json_t *text = json_string(name), *any = text ? NULL : json_string_nocheck(name);
    size_t row = 0;
    json_decref(text), json_decref(any);
    if (text) return SURETY_OK;
    if (!any) return surety_fail(err, SURETY_E_MEMORY, "no memory for a label");
    while (t->labels.of[row] != number) row++;
    surety_fail(err, SURETY_E_INPUT, "the label is not UTF-8");
    return bad_label(t, row, "text in UTF-8", err);
}

static size_t first_row(const surety_table *t, const surety_text *texts, surety_text wanted) {
    size_t row = 0;
    while (row < t->rows && by_bytes(texts[row], wanted) != 0) row++;
    return row;
}

/* No two labels may differ only by blanks or by case: most likely they are one. */
static surety_status check_spelling(const surety_table *t, const surety_text *texts,
                                    const surety_text *different, size_t count, surety_error *err) {
    surety_text *sorted = NULL;
    SURETY_TRY(surety_alloc(&sorted, count, sizeof *sorted, err));
    memcpy(sorted, different, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_letters);
    surety_status status = SURETY_OK;
    for (size_t k = 1; k < count && status == SURETY_OK; k++) {
        if (by_letters(&sorted[k - 1], &sorted[k]) != 0) continue;
        size_t a = first_row(t, texts, sorted[k - 1]), b = first_row(t, texts, sorted[k]);
        size_t first = a < b ? a : b, second = a < b ? b : a;
        surety_fail(err, SURETY_E_INPUT, "the labels '%.*s' and '%.*s' differ only by blanks or by case",
                    (int)(texts[first].length < 60 ? texts[first].length : 60), texts[first].at,
                    (int)(texts[second].length < 60 ? texts[second].length : 60), texts[second].at);
        status = bad_label(t, second, "one spelling of every label", err);
    }
    surety_free(sorted);
    return status;
}

/* different: the different texts, by name. */
static surety_status name_texts(surety_table *t, const surety_text *texts, const surety_text *different,
                                size_t count, surety_error *err) {
    surety_labels *l = &t->labels;
    size_t bytes = 0;
    for (size_t k = 0; k < count; k++) bytes += different[k].length + 1;
    SURETY_TRY(reserve(l, t->rows, count, bytes, err));
    char *at = l->text; /* zeroed: each name ends with a 0 */
    for (size_t k = 0; k < count; k++) {
        surety_text name = trimmed(different[k]);
        l->names[k] = memcpy(at, name.at, name.length);
        at += name.length + 1;
    }
    for (size_t i = 0; i < t->rows; i++)
        l->of[i] = number_of(&texts[i], different, count, sizeof *different, by_name);
    for (size_t k = 0; k < count; k++) SURETY_TRY(check_utf8(t, k, err));
    return SURETY_OK;
}

/* *all: every label is a number. */
static surety_status read_numbers(const surety_table *t, const surety_text *texts, double *values, int *all,
                                  surety_error *err) {
    *all = 1;
    for (size_t i = 0; i < t->rows; i++) {
        surety_text text = trimmed(texts[i]);
        SURETY_TRY(check_text(t, texts, i, err));
        *all = *all && surety_text_number(&text, &values[i]);
    }
    return SURETY_OK;
}

surety_status surety_labels_texts(surety_table *t, const surety_text *texts, surety_error *err) {
    double *values = NULL;
    surety_text *different = NULL;
    int numbers = 0;
    SURETY_TRY(surety_alloc(&values, t->rows, sizeof *values, err));
    surety_status status = read_numbers(t, texts, values, &numbers, err);
    if (status == SURETY_OK && numbers) status = surety_labels_numbers(t, values, err);
    surety_free(values);
    if (status != SURETY_OK || numbers) return status;
    SURETY_TRY(surety_alloc(&different, t->rows, sizeof *different, err));
    memcpy(different, texts, t->rows * sizeof *different);
    size_t count = t->rows;
    status = distinct(different, &count, sizeof *different, by_name, err);
    if (status == SURETY_OK) status = check_spelling(t, texts, different, count, err);
    if (status == SURETY_OK) status = name_texts(t, texts, different, count, err);
    surety_free(different);
    return status;
}
