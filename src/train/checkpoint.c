/* Layout: MAGIC | length of the settings (8 bytes) | settings | the chunks of the state | SHA-256 of all
 * that, as text. Numbers are in the byte order of the machine: a checkpoint is for going on, not for taking
 * along. */
#include "train/checkpoint.h"

#include <string.h>

#include "io/json.h"
#include "io/read.h"
#include "io/sha256.h"
#include "io/write.h"

static const char magic[16] = "surety training\n";

typedef struct chunk {
    void *data;
    size_t size;
} chunk;

enum { CHUNKS = 11 + 4 * SURETY_TENSORS };

/* All that a training changes, in order; the same list serves writing and reading. */
static size_t list_chunks(surety_train_state *s, chunk *list) {
    size_t n = 0, weights = s->H * sizeof(double);
    double *of_weights[] = {s->theta, s->theta_m, s->theta_v, s->best_theta, s->prior_theta};
    list[n++] = (chunk){&s->phase, sizeof s->phase};
    list[n++] = (chunk){&s->epoch, sizeof s->epoch};
    list[n++] = (chunk){&s->steps, sizeof s->steps};
    list[n++] = (chunk){s->best, sizeof s->best};
    for (size_t i = 0; i < 5; i++) list[n++] = (chunk){of_weights[i], weights};
    for (size_t i = 0; i < SURETY_PHASES; i++)
        list[n++] = (chunk){s->values[i], s->epochs[i] * sizeof(double)};
    for (size_t k = 0; k < s->tensors; k++) {
        surety_tensor t = surety_voters_tensor(s->voters, k);
        float *of_tensor[] = {t.values, s->m[k], s->v[k], s->best_tensors[k]};
        for (size_t i = 0; i < 4; i++) list[n++] = (chunk){of_tensor[i], t.rows * t.stride * sizeof(float)};
    }
    return n;
}

static size_t total_size(const chunk *list, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++) size += list[i].size;
    return size;
}

surety_status surety_checkpoint_save(const char *path, const char *settings, const surety_train_state *state,
                                     surety_error *err) {
    surety_train_state shallow = *state;
    uint64_t length = strlen(settings);
    chunk list[CHUNKS];
    size_t count = list_chunks(&shallow, list), at = 0;
    size_t size = sizeof magic + sizeof length + length + total_size(list, count);
    uint8_t *bytes;
    SURETY_TRY(surety_alloc(&bytes, size + SURETY_SHA256_TEXT, 1, err));
    const chunk head[] = {{(void *)(uintptr_t)magic, sizeof magic},
                          {&length, sizeof length},
                          {(void *)(uintptr_t)settings, length}};
    for (size_t i = 0; i < 3; i++) memcpy(bytes + at, head[i].data, head[i].size), at += head[i].size;
    for (size_t i = 0; i < count; i++)
        if (list[i].size) memcpy(bytes + at, list[i].data, list[i].size), at += list[i].size;
    surety_status status = surety_sha256(bytes, size, (char *)bytes + size, err);
    if (status == SURETY_OK) status = surety_write_file(path, bytes, size + SURETY_SHA256_TEXT - 1, err);
    surety_free(bytes);
    return status;
}

/* Names the first setting that differs. Both are canonical JSON objects of objects or values. */
static surety_status name_difference(const char *was, size_t was_size, const char *is, surety_error *err) {
    json_t *old = NULL, *now = NULL, *value, *inner;
    const char *key, *inner_key;
    surety_status status = surety_json_parse(&old, was, was_size, "checkpoint", err);
    if (status == SURETY_OK) status = surety_json_parse(&now, is, strlen(is), "settings", err);
    json_object_foreach(now, key, value) {
        json_t *other = json_object_get(old, key);
        if (status != SURETY_OK || json_equal(value, other)) continue;
        const char *which = key;
        json_object_foreach(value, inner_key, inner) {
            if (which == key && !json_equal(inner, json_object_get(other, inner_key))) which = inner_key;
        }
        status = surety_fail(err, SURETY_E_USAGE,
                             "this training was begun with another %s: nothing was changed", which);
        surety_fail_expected(err, "the settings it was begun with, or another --checkpoint file");
    }
    json_decref(old);
    json_decref(now);
    if (status != SURETY_OK) return status;
    return surety_fail(err, SURETY_E_USAGE,
                       "this training was begun with other settings: nothing was changed");
}

static surety_status take(const surety_file *file, const char *settings, surety_train_state *state,
                          surety_error *err) {
    chunk list[CHUNKS];
    size_t count = list_chunks(state, list), at = sizeof magic + sizeof(uint64_t);
    uint64_t length;
    char sum[SURETY_SHA256_TEXT];
    if (file->size < at + sizeof sum || memcmp(file->data, magic, sizeof magic))
        return surety_fail(err, SURETY_E_INPUT, "this is not a checkpoint of a training");
    size_t body = file->size - (sizeof sum - 1);
    SURETY_TRY(surety_sha256(file->data, body, sum, err));
    if (memcmp(sum, file->data + body, sizeof sum - 1)) {
        surety_fail(err, SURETY_E_INPUT, "the checkpoint is damaged: its SHA-256 is %s", sum);
        surety_fail_expected(err, "%.64s, as its last bytes say", (const char *)file->data + body);
        return SURETY_E_INPUT;
    }
    memcpy(&length, file->data + sizeof magic, sizeof length);
    if (length > body - at) return surety_fail(err, SURETY_E_INPUT, "the checkpoint's settings are cut off");
    if (length != strlen(settings) || memcmp(file->data + at, settings, length))
        return name_difference((const char *)file->data + at, length, settings, err);
    at += length;
    if (body - at != total_size(list, count))
        return surety_fail(err, SURETY_E_INPUT, "the checkpoint holds %zu bytes of state, not %zu", body - at,
                           total_size(list, count));
    for (size_t i = 0; i < count; i++)
        if (list[i].size) memcpy(list[i].data, file->data + at, list[i].size), at += list[i].size;
    surety_voters_changed(state->voters);
    return SURETY_OK;
}

surety_status surety_checkpoint_load(const char *path, const char *settings, surety_train_state *state,
                                     surety_error *err) {
    surety_file file = {0};
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_status status = take(&file, settings, state, err);
    surety_file_close(&file);
    if (status != SURETY_OK) surety_fail_file(err, path);
    return status;
}
