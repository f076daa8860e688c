#include "certify/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "surety/bound.h"
#include "surety/data.h"

enum { PATH = 96, VALUE = 128, MOST_COUNTS = 1 << 20 };

static const void *at(const surety_field *f, const void *base) {
    return (const char *)base + f->offset;
}

static size_t count_of(const surety_field *f, const void *base) {
    return *(const size_t *)(const void *)((const char *)base + f->count);
}

const char *surety_shortest(double x, char text[32]) {
    for (int digits = 1; digits <= 17; digits++) {
        surety_format(text, 32, "%.*g", digits, x);
        if (surety_number(text, NULL) == x) break;
    }
    return text;
}

/* ---- writing ---- */

static const char *const *texts_at(const surety_field *f, const void *base) {
    return *(const char *const *const *)at(f, base);
}

static json_t *element_json(const surety_field *f, const void *base, size_t i) {
    if (f->kind == SURETY_FIELD_TEXTS) return surety_json_string(texts_at(f, base)[i]);
    if (f->kind == SURETY_FIELD_COUNTS) return surety_json_count((*(uint64_t *const *)at(f, base))[i]);
    if (f->kind == SURETY_FIELD_REALS) return surety_json_real((*(double *const *)at(f, base))[i]);
    return surety_record_json(f->table, (const char *)at(f, base) + i * f->element);
}

static json_t *list_json(const surety_field *f, const void *base) {
    json_t *list = json_array();
    size_t count = count_of(f, base);
    int failed = !list;
    for (size_t i = 0; i < count && !failed; i++)
        failed = json_array_append_new(list, element_json(f, base, i));
    if (!failed) return list;
    json_decref(list);
    return NULL;
}

static json_t *field_json(const surety_field *f, const void *base) {
    const void *p = at(f, base);
    switch (f->kind) {
        case SURETY_FIELD_TEXT:
        case SURETY_FIELD_SHA256:
            return f->may_be_null && !*(const char *)p ? json_null() : surety_json_string(p);
        case SURETY_FIELD_REAL:
            return surety_json_real(*(const double *)p);
        case SURETY_FIELD_COUNT:
            return *(const uint64_t *)p == SURETY_ABSENT ? json_null()
                                                         : surety_json_count(*(const uint64_t *)p);
        case SURETY_FIELD_FLAG:
            return json_boolean(*(const int *)p);
        case SURETY_FIELD_OBJECT:
            return surety_record_json(f->table, p);
        default:
            return list_json(f, base);
    }
}

json_t *surety_record_json(const surety_fields *table, const void *base) {
    json_t *object = json_object();
    int failed = !object;
    for (size_t i = 0; i < table->count && !failed; i++)
        failed = json_object_set_new(object, table->fields[i].key, field_json(&table->fields[i], base)) != 0;
    if (!failed) return object;
    json_decref(object);
    return NULL;
}

/* ---- reading ---- */

static surety_status refuse(surety_error *err, const char *path, const char *what, const char *expected) {
    surety_fail(err, SURETY_E_INPUT, "%s", what);
    surety_fail_place(err, "key %s", path);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

static surety_status read_text(const surety_field *f, char *out, const json_t *value, const char *path,
                               surety_error *err) {
    const char *text = json_string_value(value);
    if (!text) return refuse(err, path, "it is not a text", "a text");
    if (f->kind == SURETY_FIELD_SHA256) {
        if (strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64)
            return refuse(err, path, "it is not a SHA-256", "64 lower-case hexadecimal digits");
    } else if (!*text || strlen(text) >= f->size) {
        surety_fail(err, SURETY_E_INPUT, "a text of %zu bytes", strlen(text));
        surety_fail_place(err, "key %s", path);
        surety_fail_expected(err, "1 to %zu bytes", f->size - 1);
        return SURETY_E_INPUT;
    }
    memcpy(out, text, strlen(text) + 1);
    return SURETY_OK;
}

static surety_status read_number(const surety_field *f, void *out, const json_t *value, const char *path,
                                 surety_error *err) {
    int whole = f->kind != SURETY_FIELD_REAL;
    if (whole ? !json_is_integer(value) : !json_is_number(value))
        return refuse(err, path, whole ? "it is not a whole number" : "it is not a number",
                      whole ? "a whole number" : "a number");
    double x = json_number_value(value);
    if (!(x >= f->min && x <= f->max)) {
        surety_fail(err, SURETY_E_INPUT, "%.17g is out of range", x);
        surety_fail_place(err, "key %s", path);
        surety_fail_expected(err, "at least %g and at most %g", f->min, f->max);
        return SURETY_E_INPUT;
    }
    if (whole)
        *(uint64_t *)out = (uint64_t)json_integer_value(value);
    else
        *(double *)out = x;
    return SURETY_OK;
}

static surety_status read_list(const surety_field *f, void *base, const json_t *value, const char *path,
                               surety_error *err) {
    size_t count = json_array_size(value), *stated = (size_t *)(void *)((char *)base + f->count);
    if (!json_is_array(value) || count < (size_t)f->min || count > f->size) {
        surety_fail(err, SURETY_E_INPUT, "it is not a list of %zu to %zu objects", (size_t)f->min, f->size);
        surety_fail_place(err, "key %s", path);
        return SURETY_E_INPUT;
    }
    *stated = count;
    for (size_t i = 0; i < count; i++) {
        char inner[PATH];
        snprintf(inner, sizeof inner, "%.70s[%zu]", path, i);
        SURETY_TRY(surety_record_read(f->table, (char *)base + f->offset + i * f->element,
                                      json_array_get(value, i), inner, err));
    }
    return SURETY_OK;
}

static surety_status read_counts(const surety_field *f, void *base, const json_t *value, const char *path,
                                 surety_error *err) {
    size_t count = json_array_size(value), *stated = (size_t *)(void *)((char *)base + f->count);
    if (!json_is_array(value) || count < 1 || count > MOST_COUNTS || (*stated && count != *stated))
        return refuse(err, path, "it is not a list of whole numbers, one per voter", "as many as voters");
    uint64_t *numbers;
    SURETY_TRY(surety_alloc(&numbers, count, sizeof *numbers, err));
    *(uint64_t **)(void *)((char *)base + f->offset) = numbers;
    *stated = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(value, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return refuse(err, path, "it holds something else than whole numbers", "whole numbers from 0");
        numbers[i] = (uint64_t)json_integer_value(number);
    }
    return SURETY_OK;
}

surety_status surety_record_texts(const char ***out, const char *const *texts, size_t count,
                                  surety_error *err) {
    size_t bytes = count * sizeof *texts;
    for (size_t i = 0; i < count; i++) bytes += strlen(texts[i]) + 1;
    SURETY_TRY(surety_alloc(out, bytes, 1, err));
    char *to = (char *)(*out + count);
    for (size_t i = 0; i < count; i++) {
        (*out)[i] = strcpy(to, texts[i]);
        to += strlen(texts[i]) + 1;
    }
    return SURETY_OK;
}

static surety_status read_texts(const surety_field *f, void *base, const json_t *value, const char *path,
                                surety_error *err) {
    const char **texts;
    size_t count = json_array_size(value), i = 0;
    if (!json_is_array(value) || count < (size_t)f->min || count > f->size)
        return refuse(err, path, "it is not a list of so many texts", "labels of classes, names of features");
    SURETY_TRY(surety_alloc(&texts, count, sizeof *texts, err));
    while (i < count && (texts[i] = json_string_value(json_array_get(value, i)))) i++;
    *(size_t *)(void *)((char *)base + f->count) = count;
    surety_status status = i < count ? refuse(err, path, "it holds something else than texts", "texts")
                                     : surety_record_texts((const char ***)(void *)((char *)base + f->offset),
                                                           texts, count, err);
    surety_free(texts);
    return status;
}

static surety_status read_reals(const surety_field *f, void *base, const json_t *value, const char *path,
                                surety_error *err) {
    size_t count = count_of(f, base);
    double *numbers;
    if (!json_is_array(value) || json_array_size(value) != count)
        return refuse(err, path, "it is not a list of as many numbers as there are names", "as many");
    SURETY_TRY(surety_alloc(&numbers, count, sizeof *numbers, err));
    *(double **)(void *)((char *)base + f->offset) = numbers;
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(value, i);
        if (!json_is_number(number) && !json_is_null(number))
            return refuse(err, path, "it holds something else than numbers", "numbers, or null");
        numbers[i] = json_is_null(number) ? (double)NAN : json_number_value(number);
    }
    return SURETY_OK;
}

static surety_status read_field(const surety_field *f, void *base, const json_t *value, const char *path,
                                surety_error *err) {
    void *out = (char *)base + f->offset;
    if (f->may_be_null && json_is_null(value)) {
        if (f->kind == SURETY_FIELD_REAL) *(double *)out = (double)NAN;
        if (f->kind == SURETY_FIELD_COUNT) *(uint64_t *)out = SURETY_ABSENT;
        return SURETY_OK; /* a text is empty already */
    }
    switch (f->kind) {
        case SURETY_FIELD_TEXT:
        case SURETY_FIELD_SHA256:
            return read_text(f, out, value, path, err);
        case SURETY_FIELD_REAL:
        case SURETY_FIELD_COUNT:
            return read_number(f, out, value, path, err);
        case SURETY_FIELD_FLAG:
            if (!json_is_boolean(value))
                return refuse(err, path, "it is neither true nor false", "true or false");
            *(int *)out = json_is_true(value);
            return SURETY_OK;
        case SURETY_FIELD_OBJECT:
            return surety_record_read(f->table, out, value, path, err);
        case SURETY_FIELD_LIST:
            return read_list(f, base, value, path, err);
        case SURETY_FIELD_TEXTS:
            return read_texts(f, base, value, path, err);
        case SURETY_FIELD_REALS:
            return read_reals(f, base, value, path, err);
        default:
            return read_counts(f, base, value, path, err);
    }
}

static void join(char out[PATH], const char *path, const char *key) {
    snprintf(out, PATH, "%s%s%.60s", path, *path ? "." : "", key);
}

static const surety_field *find(const surety_fields *table, const char *key) {
    for (size_t i = 0; i < table->count; i++)
        if (!strcmp(table->fields[i].key, key)) return &table->fields[i];
    return NULL;
}

surety_status surety_record_read(const surety_fields *table, void *base, const json_t *object,
                                 const char *path, surety_error *err) {
    char inner[PATH];
    if (!json_is_object(object)) return refuse(err, path, "it is not an object", "an object");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        join(inner, path, key);
        if (!find(table, key))
            return refuse(err, inner, "unknown key", "only the keys of docs/certificates.md");
    }
    for (size_t i = 0; i < table->count; i++) {
        const surety_field *f = &table->fields[i];
        join(inner, path, f->key);
        value = json_object_get(object, f->key);
        if (!value) return refuse(err, inner, "the key is missing", "every key of docs/certificates.md");
        SURETY_TRY(read_field(f, base, value, inner, err));
    }
    return SURETY_OK;
}

void surety_record_free(const surety_fields *table, void *base) {
    for (size_t i = 0; i < table->count; i++) {
        const surety_field *f = &table->fields[i];
        if (f->kind == SURETY_FIELD_OBJECT) surety_record_free(f->table, (char *)base + f->offset);
        if (f->kind != SURETY_FIELD_COUNTS && f->kind != SURETY_FIELD_TEXTS && f->kind != SURETY_FIELD_REALS)
            continue;
        void **list = (void **)(void *)((char *)base + f->offset);
        surety_free(*list);
        *list = NULL;
    }
}

/* ---- comparing ---- */

typedef struct comparing {
    const double *allowed;
    surety_differs_fn differs;
    void *arg;
} comparing;

static const char *number_text(const surety_field *f, const void *p, char text[VALUE]) {
    char digits[32];
    text[0] = 0;
    switch (f->kind) {
        case SURETY_FIELD_REAL:
            snprintf(text, VALUE, "%s", surety_shortest(*(const double *)p, digits));
            break;
        case SURETY_FIELD_COUNT:
            snprintf(text, VALUE, "%" PRIu64, *(const uint64_t *)p);
            break;
        case SURETY_FIELD_FLAG:
            snprintf(text, VALUE, "%s", *(const int *)p ? "true" : "false");
            break;
        default:
            snprintf(text, VALUE, "%.*s", VALUE - 1, (const char *)p);
    }
    int is_null = f->kind == SURETY_FIELD_REAL    ? isnan(*(const double *)p)
                  : f->kind == SURETY_FIELD_COUNT ? *(const uint64_t *)p == SURETY_ABSENT
                                                  : !text[0];
    if (is_null) strcpy(text, "null");
    return text;
}

static int same(const surety_field *f, const void *a, const void *b) {
    switch (f->kind) {
        case SURETY_FIELD_REAL: {
            double x = *(const double *)a, y = *(const double *)b;
            return x == y || (isnan(x) && isnan(y));
        }
        case SURETY_FIELD_COUNT:
            return memcmp(a, b, sizeof(uint64_t)) == 0;
        case SURETY_FIELD_FLAG:
            return *(const int *)a == *(const int *)b;
        default:
            return strcmp(a, b) == 0;
    }
}

/* found may exceed stated by so much; a smaller number is on the safe side. */
static int near(const surety_field *f, const void *stated, const void *found, const double *allowed) {
    if (!allowed || f->unit == SURETY_UNIT_EXACT) return 0;
    if (f->unit == SURETY_UNIT_ANY) return 1;
    if (f->kind == SURETY_FIELD_REAL)
        return *(const double *)found <= *(const double *)stated + allowed[f->unit]; /* NaN: no */
    uint64_t a = *(const uint64_t *)stated, b = *(const uint64_t *)found;
    return a != SURETY_ABSENT && b != SURETY_ABSENT && (b <= a || (double)(b - a) <= allowed[f->unit]);
}

static void compare_scalar(const comparing *c, const surety_field *f, const void *stated, const void *found,
                           const char *path) {
    char a[VALUE], b[VALUE];
    if (same(f, stated, found) || near(f, stated, found, c->allowed)) return;
    number_text(f, stated, a);
    number_text(f, found, b);
    if (!strcmp(a, b)) snprintf(a, sizeof a, "another text"); /* they differ behind the cut */
    c->differs(c->arg, path, a, b);
}

static void compare_list(const comparing *c, const surety_field *f, const void *stated, const void *found,
                         const char *path) {
    size_t a = count_of(f, stated), b = count_of(f, found);
    if (a != b) {
        char x[32], y[32];
        snprintf(x, sizeof x, "%zu entries", a);
        snprintf(y, sizeof y, "%zu entries", b);
        c->differs(c->arg, path, x, y);
        return;
    }
    surety_field number = {.kind = SURETY_FIELD_COUNT, .unit = f->unit}, text = {.kind = SURETY_FIELD_TEXT},
                 real = {.kind = SURETY_FIELD_REAL, .unit = f->unit};
    for (size_t i = 0; i < a; i++) {
        char inner[PATH];
        snprintf(inner, sizeof inner, "%.70s[%zu]", path, i);
        if (f->kind == SURETY_FIELD_LIST)
            surety_record_compare(f->table, (const char *)at(f, stated) + i * f->element,
                                  (const char *)at(f, found) + i * f->element, inner, c->allowed, c->differs,
                                  c->arg);
        else if (f->kind == SURETY_FIELD_TEXTS)
            compare_scalar(c, &text, texts_at(f, stated)[i], texts_at(f, found)[i], inner);
        else if (f->kind == SURETY_FIELD_REALS)
            compare_scalar(c, &real, *(double *const *)at(f, stated) + i, *(double *const *)at(f, found) + i,
                           inner);
        else
            compare_scalar(c, &number, *(uint64_t *const *)at(f, stated) + i,
                           *(uint64_t *const *)at(f, found) + i, inner);
    }
}

void surety_record_compare(const surety_fields *table, const void *stated, const void *found,
                           const char *path, const double allowed[SURETY_UNITS], surety_differs_fn differs,
                           void *arg) {
    comparing c = {allowed, differs, arg};
    for (size_t i = 0; i < table->count; i++) {
        const surety_field *f = &table->fields[i];
        char inner[PATH];
        join(inner, path, f->key);
        if (f->kind == SURETY_FIELD_OBJECT)
            surety_record_compare(f->table, at(f, stated), at(f, found), inner, allowed, differs, arg);
        else if (f->kind == SURETY_FIELD_LIST || f->kind == SURETY_FIELD_COUNTS ||
                 f->kind == SURETY_FIELD_TEXTS || f->kind == SURETY_FIELD_REALS)
            compare_list(&c, f, stated, found, inner);
        else
            compare_scalar(&c, f, at(f, stated), at(f, found), inner);
    }
}
