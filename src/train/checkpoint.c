/* Layout: MAGIC, which tells the version | length of the settings (8 bytes) | settings | the chunks of the
 * state | SHA-256 of all that, as text. Numbers are in the byte order of the machine: a checkpoint resumes a
 * training on the same kind of machine, it is no format for exchange. */
#include "train/checkpoint.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "io/json.h"
#include "io/read.h"
#include "io/sha256.h"
#include "io/write.h"
#include "surety/version.h"

/* Another version may train with other last bits: what it began, it ends. */
static const char magic[32] = "surety training, " SURETY_VERSION "\n";
enum { NAME = sizeof "surety training" - 1 };
static_assert(sizeof "surety training, " SURETY_VERSION "\n" <= sizeof magic, "the version does not fit");

/* A run of numbers and the range they must lie in. width: 8 doubles, 4 floats, 0 integers, which counts_fit
 * or the kind checks. */
typedef struct chunk {
    void *data;
    size_t size, width;
    double least, most;
} chunk;

enum { CHUNKS = 11 + 4 * SURETY_TENSORS };

/* All that a training changes, in order; the same list serves writing and reading. Parameters are finite,
 * moments and values are numbers, second moments are not negative. */
static size_t list_chunks(surety_train_state *s, chunk *list) {
    const double any = (double)INFINITY, finite = DBL_MAX, finite_float = (double)FLT_MAX;
    size_t n = 0, weights = s->H * sizeof(double);
    int learns = surety_voters_can(s->voters, SURETY_CAN_LEARN);
    list[n++] = (chunk){.data = &s->phase, sizeof s->phase};
    list[n++] = (chunk){.data = &s->epoch, sizeof s->epoch};
    list[n++] = (chunk){.data = &s->steps, sizeof s->steps};
    list[n++] = (chunk){.data = s->best, sizeof s->best};
    list[n++] = (chunk){s->theta, weights, 8, -finite, finite};
    list[n++] = (chunk){s->theta_m, weights, 8, -any, any};
    list[n++] = (chunk){s->theta_v, weights, 8, 0, any};
    list[n++] = (chunk){s->best_theta, weights, 8, -finite, finite};
    list[n++] = (chunk){s->prior_theta, weights, 8, -finite, finite};
    for (size_t i = 0; i < SURETY_PHASES; i++)
        list[n++] = (chunk){s->values[i], s->epochs[i] * sizeof(double), 8, -any, any};
    for (size_t k = 0; k < s->tensors; k++) {
        surety_tensor t = surety_voters_tensor(s->voters, k);
        size_t size = surety_tensor_size(&t), moments = learns ? size : 0;
        size_t width = t.type == SURETY_ELEMENT_I32 ? 0 : surety_element_size(t.type);
        double most = t.type == SURETY_ELEMENT_F64 ? finite : finite_float;
        list[n++] = (chunk){t.bytes, size, width, -most, most};
        list[n++] = (chunk){s->m[k], moments, 4, -any, any};
        list[n++] = (chunk){s->v[k], moments, 4, 0, any};
        list[n++] = (chunk){s->best_tensors[k], size, width, -most, most};
    }
    return n;
}

/* A checkpoint is written after an epoch: at least one of this phase is done, and the best is among those. */
static int counts_fit(const surety_train_state *s) {
    if (s->phase >= SURETY_PHASES || s->epoch < 1 || s->epoch > s->epochs[s->phase]) return 0;
    if (s->best[s->phase] < 1 || s->best[s->phase] > s->epoch || s->steps > INT64_MAX) return 0;
    return s->phase == SURETY_STEP1
               ? !s->best[SURETY_STEP2]
               : s->best[SURETY_STEP1] >= 1 && s->best[SURETY_STEP1] <= s->epochs[SURETY_STEP1];
}

static int chunk_fits(const chunk *c) {
    for (size_t i = 0; c->width && i < c->size / c->width; i++) {
        double value = c->width == 8 ? ((const double *)c->data)[i] : (double)((const float *)c->data)[i];
        if (!(value >= c->least && value <= c->most)) return 0; /* also what is not a number */
    }
    return 1;
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
    const chunk head[] = {{.data = (void *)(uintptr_t)magic, sizeof magic},
                          {.data = &length, sizeof length},
                          {.data = (void *)(uintptr_t)settings, length}};
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

static void swap_best(surety_train_state *s) {
    for (size_t k = 0; k < s->tensors; k++) {
        surety_tensor t = surety_voters_tensor(s->voters, k);
        uint8_t *a = t.bytes, *b = s->best_tensors[k];
        for (size_t i = 0; i < surety_tensor_size(&t); i++) {
            uint8_t byte = a[i];
            a[i] = b[i], b[i] = byte;
        }
    }
}

/* Do the parameters make sense, those of the best epoch too? */
static int voters_fit(surety_train_state *s) {
    int fit = surety_voters_check(s->voters, NULL) == SURETY_OK;
    if (!fit || !s->best[SURETY_STEP1]) return fit;
    swap_best(s);
    fit = surety_voters_check(s->voters, NULL) == SURETY_OK;
    swap_best(s);
    return fit;
}

static surety_status take(const surety_file *file, const char *settings, surety_train_state *state,
                          surety_error *err) {
    chunk list[CHUNKS];
    size_t count = list_chunks(state, list), at = sizeof magic + sizeof(uint64_t);
    uint64_t length;
    char sum[SURETY_SHA256_TEXT];
    if (file->size < at + sizeof sum || memcmp(file->data, magic, NAME))
        return surety_fail(err, SURETY_E_INPUT, "this is not a checkpoint of a training");
    if (memcmp(file->data, magic, sizeof magic)) {
        surety_fail(err, SURETY_E_INPUT, "another version of surety wrote this checkpoint");
        surety_fail_expected(
            err, "one of surety " SURETY_VERSION "; end the training with the version that began it");
        return SURETY_E_INPUT;
    }
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
    int fits = counts_fit(state);
    for (size_t i = 0; i < count && fits; i++) fits = chunk_fits(&list[i]);
    if (fits) fits = voters_fit(state);
    if (fits) {
        surety_voters_changed(state->voters);
        return SURETY_OK;
    }
    surety_fail(err, SURETY_E_INPUT, "the checkpoint holds numbers that no training has");
    surety_fail_expected(err, "a checkpoint as it was written; without it, the training begins anew");
    return SURETY_E_INPUT;
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
