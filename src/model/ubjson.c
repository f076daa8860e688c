/* UBJSON, as far as XGBoost writes it: objects, arrays (plain, or typed and counted), texts, numbers of all
 * sizes, big endian. Everything is checked against the bytes that are left before it is believed. */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "model/import.h"

typedef struct cursor {
    const uint8_t *start, *at, *end;
    int depth;
    surety_error *err;
} cursor;

static surety_status bad(const cursor *c, const char *what) {
    surety_fail(c->err, SURETY_E_INPUT, "not UBJSON: %s", what);
    surety_fail_place(c->err, "byte %td", c->at - c->start);
    surety_fail_expected(c->err, "a whole file of Booster.save_model (.ubj)");
    return SURETY_E_INPUT;
}

static surety_status no_memory(const cursor *c) {
    return surety_fail(c->err, SURETY_E_MEMORY, "no memory for the model");
}

static size_t size_of(uint8_t marker) {
    switch (marker) {
        case 'i':
        case 'U':
        case 'C':
            return 1;
        case 'I':
            return 2;
        case 'l':
        case 'd':
            return 4;
        case 'L':
        case 'D':
            return 8;
        default:
            return 0;
    }
}

static uint64_t big_endian(const uint8_t *p, size_t size) {
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) bits = bits << 8 | p[i];
    return bits;
}

static int64_t whole(uint8_t marker, uint64_t bits) {
    switch (marker) {
        case 'i':
            return (int8_t)bits;
        case 'I':
            return (int16_t)bits;
        case 'l':
            return (int32_t)bits;
        default:
            return (int64_t)bits; /* U, C, L */
    }
}

static json_t *number(uint8_t marker, uint64_t bits) {
    float f;
    double d;
    uint32_t half = (uint32_t)bits;
    memcpy(&f, &half, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return marker == 'd'   ? json_real((double)f)
           : marker == 'D' ? json_real(d)
                           : json_integer(whole(marker, bits));
}

static surety_status read_number(cursor *c, uint8_t marker, json_t **out) {
    size_t size = size_of(marker);
    if (!size) return bad(c, "an unknown marker");
    if ((size_t)(c->end - c->at) < size) return bad(c, "it ends within a number");
    *out = number(marker, big_endian(c->at, size));
    if (!*out && (marker == 'd' || marker == 'D')) return bad(c, "a number that is not finite");
    c->at += size;
    return *out ? SURETY_OK : no_memory(c);
}

static int next_is(cursor *c, uint8_t letter) {
    if (c->at == c->end || *c->at != letter) return 0;
    c->at++;
    return 1;
}

/* A length with its marker, not more than the bytes that are left. */
static surety_status read_length(cursor *c, size_t *out) {
    if (c->at == c->end) return bad(c, "it ends before a length");
    uint8_t marker = *c->at++;
    size_t size = marker == 'd' || marker == 'D' ? 0 : size_of(marker);
    if (!size || (size_t)(c->end - c->at) < size) return bad(c, "a length is not a whole number");
    int64_t length = whole(marker, big_endian(c->at, size));
    c->at += size;
    if (length < 0 || length > c->end - c->at) return bad(c, "a length is beyond the end of the file");
    *out = (size_t)length;
    return SURETY_OK;
}

static surety_status read_text(cursor *c, const char **text, size_t *length) {
    SURETY_TRY(read_length(c, length));
    *text = (const char *)c->at;
    c->at += *length;
    return SURETY_OK;
}

static surety_status read_value(cursor *c, json_t **out);

/* [$type#count: as many values without markers. */
static surety_status read_typed(cursor *c, json_t *array) {
    size_t count = 0;
    if (c->at == c->end) return bad(c, "it ends within an array");
    uint8_t marker = *c->at++;
    if (!next_is(c, '#')) return bad(c, "an array with a type and without a count");
    SURETY_TRY(read_length(c, &count));
    if (count * size_of(marker) > (size_t)(c->end - c->at)) return bad(c, "it ends within an array");
    for (size_t i = 0; i < count; i++) {
        json_t *value = NULL;
        SURETY_TRY(read_number(c, marker, &value));
        if (json_array_append_new(array, value)) return no_memory(c);
    }
    return SURETY_OK;
}

static surety_status read_array(cursor *c, json_t *array) {
    size_t count = SIZE_MAX;
    if (next_is(c, '$')) return read_typed(c, array);
    if (next_is(c, '#')) SURETY_TRY(read_length(c, &count));
    for (size_t i = 0; i < count && (count != SIZE_MAX || !next_is(c, ']')); i++) {
        json_t *value = NULL;
        SURETY_TRY(read_value(c, &value));
        if (json_array_append_new(array, value)) return no_memory(c);
    }
    return SURETY_OK;
}

static surety_status read_object(cursor *c, json_t *object) {
    while (!next_is(c, '}')) {
        const char *key;
        size_t length;
        json_t *value = NULL, *text;
        SURETY_TRY(read_text(c, &key, &length));
        if (!(text = json_stringn(key, length))) return bad(c, "a key that is not UTF-8");
        surety_status status = read_value(c, &value);
        if (status == SURETY_OK &&
            (memchr(key, 0, length) || json_object_get(object, json_string_value(text))))
            status = bad(c, "a key that occurs twice");
        if (status == SURETY_OK && json_object_set(object, json_string_value(text), value))
            status = no_memory(c);
        json_decref(value);
        json_decref(text);
        if (status != SURETY_OK) return status;
    }
    return SURETY_OK;
}

static surety_status read_nested(cursor *c, uint8_t marker, json_t **out) {
    if (c->depth++ == SURETY_JSON_DEPTH) return bad(c, "nested deeper than 64 levels");
    *out = marker == '{' ? json_object() : json_array();
    if (!*out) return no_memory(c);
    surety_status status = marker == '{' ? read_object(c, *out) : read_array(c, *out);
    c->depth--;
    if (status != SURETY_OK) json_decref(*out), *out = NULL;
    return status;
}

static surety_status read_value(cursor *c, json_t **out) {
    const char *text;
    size_t length;
    if (c->at == c->end) return bad(c, "it ends before a value");
    uint8_t marker = *c->at++;
    switch (marker) {
        case '{':
        case '[':
            return read_nested(c, marker, out);
        case 'T':
        case 'F':
            *out = json_boolean(marker == 'T');
            return SURETY_OK;
        case 'Z':
            *out = json_null();
            return SURETY_OK;
        case 'S':
            SURETY_TRY(read_text(c, &text, &length));
            *out = json_stringn(text, length);
            return *out ? SURETY_OK : bad(c, "a text that is not UTF-8");
        default:
            return read_number(c, marker, out);
    }
}

surety_status surety_ubjson_parse(json_t **out, const uint8_t *data, size_t size, const char *name,
                                  surety_error *err) {
    cursor c = {data, data, data + size, 0, err};
    *out = NULL;
    surety_status status = read_value(&c, out);
    if (status == SURETY_OK && c.at != c.end) status = bad(&c, "there is something behind the end");
    if (status == SURETY_OK) return SURETY_OK;
    json_decref(*out);
    *out = NULL;
    surety_fail_file(err, name);
    return status;
}
