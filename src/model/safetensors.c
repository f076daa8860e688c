/* The container: 8 bytes, the length of the header, little-endian; the header, JSON, {"__metadata__": texts,
 * NAME: {dtype, shape, data_offsets}, ..}, padded with blanks to a multiple of 64; then the tensors, one
 * behind the other. Files come from outside: sizes are multiplied with checks for overflow, and a tensor's
 * bytes must be just those between its offsets, without hole, overlap or rest, so that every byte of a file
 * means something. */
#include "model/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[SURETY_STORED_TYPES] = {[SURETY_STORED_F64] = {"F64", 8},
                                 [SURETY_STORED_F32] = {"F32", 4},
                                 [SURETY_STORED_U8] = {"U8", 1},
                                 [SURETY_STORED_U64] = {"U64", 8},
                                 [SURETY_STORED_I32] = {"I32", 4}};

static surety_status bad(surety_error *err, const char *tensor, const char *what, const char *expected) {
    surety_fail(err, SURETY_E_INPUT, "%s", what);
    surety_fail_place(err, "tensor '%.60s'", tensor);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

/* A whole number of a JSON array that fits size_t. */
static int read_size(const json_t *array, size_t index, size_t *out) {
    const json_t *value = json_array_get(array, index);
    if (!json_is_integer(value) || json_integer_value(value) < 0) return 0;
    *out = (size_t)json_integer_value(value);
    return 1;
}

static surety_status read_shape(const json_t *shape, surety_stored *t, surety_error *err) {
    t->rank = json_array_size(shape);
    t->count = 1;
    if (!json_is_array(shape) || t->rank < 1 || t->rank > SURETY_TENSOR_RANK)
        return bad(err, t->name, "its shape cannot be used", "a list of 1 to 3 whole numbers");
    for (size_t i = 0; i < t->rank; i++)
        if (!read_size(shape, i, &t->shape[i]) || !t->shape[i] ||
            __builtin_mul_overflow(t->count, t->shape[i], &t->count))
            return bad(err, t->name, "its shape cannot be used", "whole numbers above 0 whose product fits");
    return SURETY_OK;
}

static surety_status read_entry(const char *name, const json_t *entry, size_t body, surety_stored *t,
                                surety_error *err) {
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    size_t end = 0;
    if (strlen(name) >= SURETY_TENSOR_NAME)
        return bad(err, name, "its name is too long", "at most 63 characters");
    strcpy(t->name, name);
    if (!json_is_object(entry) || json_object_size(entry) != 3 || !dtype || !json_is_array(offsets))
        return bad(err, name, "it is not described as it should be",
                   "dtype, shape and data_offsets, nothing else");
    for (t->dtype = 0; t->dtype < SURETY_STORED_TYPES && strcmp(dtype, dtypes[t->dtype].name);) t->dtype++;
    if (t->dtype == SURETY_STORED_TYPES)
        return bad(err, name, "its dtype is unknown here", "F64, F32, U8, U64 or I32");
    SURETY_TRY(read_shape(json_object_get(entry, "shape"), t, err));
    if (json_array_size(offsets) != 2 || !read_size(offsets, 0, &t->begin) || !read_size(offsets, 1, &end) ||
        end < t->begin || end > body)
        return bad(err, name, "its data_offsets do not lie in the file", "[begin, end] with begin <= end");
    if (__builtin_mul_overflow(t->count, dtypes[t->dtype].size, &t->bytes) || t->bytes != end - t->begin)
        return bad(err, name, "its data_offsets do not fit its shape and dtype",
                   "end - begin = size of the shape");
    return SURETY_OK;
}

static int by_begin(const void *a, const void *b) {
    size_t x = ((const surety_stored *)a)->begin, y = ((const surety_stored *)b)->begin;
    return (x > y) - (x < y);
}

/* No hole, no overlap, nothing behind, everything aligned. */
static surety_status check_order(surety_stored *list, size_t count, const uint8_t *data, size_t header,
                                 size_t body, surety_error *err) {
    size_t at = 0;
    qsort(list, count, sizeof *list, by_begin);
    for (size_t i = 0; i < count; i++) {
        if (list[i].begin != at)
            return bad(err, list[i].name,
                       list[i].begin > at ? "there is a hole before it" : "it overlaps another one",
                       "tensors one behind the other");
        if ((8 + header + at) % dtypes[list[i].dtype].size)
            return bad(err, list[i].name, "it is not aligned", "a multiple of its element's size");
        list[i].data = data + 8 + header + at;
        at += list[i].bytes;
    }
    if (at == body) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "%zu bytes behind the last tensor belong to nothing", body - at);
    surety_fail_place(err, "byte %zu", 8 + header + at);
    return SURETY_E_INPUT;
}

/* Only texts by key. */
static surety_status take_metadata(json_t *root, json_t **out, surety_error *err) {
    const char *key;
    json_t *value, *metadata = json_object_get(root, "__metadata__");
    if (metadata && !json_is_object(metadata))
        return surety_fail(err, SURETY_E_INPUT, "__metadata__ is not an object of texts");
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return surety_fail(err, SURETY_E_INPUT, "__metadata__: '%.60s' is not a text", key);
    }
    *out = metadata ? json_incref(metadata) : json_object();
    return *out ? SURETY_OK : surety_fail(err, SURETY_E_MEMORY, "no memory for the header");
}

static surety_status take_tensors(const json_t *root, const uint8_t *data, size_t header, size_t body,
                                  surety_stored *list, size_t *count, surety_error *err) {
    const char *key;
    json_t *value;
    *count = 0;
    json_object_foreach((json_t *)(uintptr_t)root, key, value) {
        if (!strcmp(key, "__metadata__")) continue;
        if (*count == SURETY_TENSORS_MOST)
            return surety_fail(err, SURETY_E_INPUT, "there are more than %d tensors", SURETY_TENSORS_MOST);
        SURETY_TRY(read_entry(key, value, body, &list[*count], err));
        ++*count;
    }
    return check_order(list, *count, data, header, body, err);
}

surety_status surety_safetensors_parse(const uint8_t *data, size_t size, const char *name, json_t **metadata,
                                       surety_stored *list, size_t *count, surety_error *err) {
    uint64_t header = 0;
    *metadata = NULL;
    for (size_t i = 0; size >= 8 && i < 8; i++) header |= (uint64_t)data[i] << (8 * i);
    if (size < 8 || header < 2 || header > size - 8 || data[8] != '{') {
        surety_fail(err, SURETY_E_INPUT, "this is not a safetensors file, or it is cut off");
        surety_fail_place(err, "byte 0");
        surety_fail_expected(err, "8 bytes of length and so many bytes of JSON; the file has %zu", size);
        return SURETY_E_INPUT;
    }
    json_t *root;
    SURETY_TRY(surety_json_parse(&root, (const char *)data + 8, (size_t)header, name, err));
    surety_status status =
        json_is_object(root) ? SURETY_OK : surety_fail(err, SURETY_E_INPUT, "the header is not an object");
    if (status == SURETY_OK) status = take_metadata(root, metadata, err);
    if (status == SURETY_OK)
        status = take_tensors(root, data, (size_t)header, size - 8 - (size_t)header, list, count, err);
    json_decref(root);
    if (status != SURETY_OK) json_decref(*metadata), *metadata = NULL;
    return status;
}

static json_t *entry_json(const surety_stored *t) {
    json_t *shape = json_array(), *offsets = json_array();
    int failed = 0;
    for (size_t i = 0; i < t->rank; i++)
        failed |= json_array_append_new(shape, surety_json_count(t->shape[i]));
    failed |= json_array_append_new(offsets, surety_json_count(t->begin));
    failed |= json_array_append_new(offsets, surety_json_count(t->begin + t->bytes));
    if (failed) json_decref(shape), shape = NULL;
    return SURETY_JSON_OBJECT({"dtype", surety_json_string(dtypes[t->dtype].name)}, {"shape", shape},
                              {"data_offsets", offsets});
}

surety_status surety_safetensors_header(json_t *metadata, surety_stored *list, size_t count, uint8_t **out,
                                        size_t *size, surety_error *err) {
    json_t *root = json_object();
    int failed = json_object_set(root, "__metadata__", metadata);
    for (size_t i = 0, at = 0; i < count; i++) {
        list[i].count = 1;
        for (size_t k = 0; k < list[i].rank; k++) list[i].count *= list[i].shape[k];
        list[i].bytes = list[i].count * dtypes[list[i].dtype].size;
        list[i].begin = at;
        at += list[i].bytes;
        failed |= json_object_set_new(root, list[i].name, entry_json(&list[i]));
    }
    char *text = failed ? NULL : surety_json_dump(root, JSON_COMPACT);
    json_decref(root);
    if (!text) return surety_fail(err, SURETY_E_MEMORY, "no memory for the header of the model");
    size_t length = strlen(text), padded = (8 + length + 63) / 64 * 64 - 8;
    surety_status status = surety_alloc(out, 8 + padded, 1, err);
    if (status == SURETY_OK) {
        for (size_t i = 0; i < 8; i++) (*out)[i] = (uint8_t)((uint64_t)padded >> (8 * i));
        memset(*out + 8, ' ', padded);
        memcpy(*out + 8, text, length);
        *size = 8 + padded;
    }
    free(text);
    return status;
}
