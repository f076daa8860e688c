/* Models as bytes and files. Tensors in this order: prior, posterior, rows.prior and rows.learn (if it
 * remembers rows), the voters' own, mask: so that all are aligned. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/looks.h"
#include "io/sha256.h"
#include "io/write.h"
#include "model/model.h"
#include "model/safetensors.h"

enum { MASK_OF = 0 }; /* the tensor that has a mask, if any */

static const surety_stored_type stored_as[] = {[SURETY_ELEMENT_F32] = SURETY_STORED_F32,
                                               [SURETY_ELEMENT_F64] = SURETY_STORED_F64,
                                               [SURETY_ELEMENT_I32] = SURETY_STORED_I32};

static const char *const row_names[SURETY_MODEL_ROWS] = {"rows.prior", "rows.learn"};

/* Tensors before the voters' own. */
static size_t before_voters(const surety_model *m) {
    return m->rows[0] ? 2 + SURETY_MODEL_ROWS : 2;
}

/* ---- writing ---- */

static size_t list_tensors(const surety_model *m, surety_stored *list) {
    size_t n = 0, H = surety_voters_count(m->voters);
    list[n++] = (surety_stored){.name = "prior", .dtype = SURETY_STORED_F64, .rank = 1, .shape = {H}};
    list[n++] = (surety_stored){.name = "posterior", .dtype = SURETY_STORED_F64, .rank = 1, .shape = {H}};
    for (int k = 0; m->rows[0] && k < SURETY_MODEL_ROWS; k++) {
        list[n] = (surety_stored){.dtype = SURETY_STORED_U64, .rank = 1, .shape = {m->row_count[k]}};
        strcpy(list[n++].name, row_names[k]);
    }
    for (size_t k = 0; k < surety_voters_tensors(m->voters); k++) {
        surety_tensor t = surety_voters_tensor(m->voters, k);
        surety_stored *s = &list[n++];
        *s = (surety_stored){.dtype = stored_as[t.type], .rank = t.rank};
        strcpy(s->name, t.name);
        memcpy(s->shape, t.shape, sizeof s->shape);
    }
    if (surety_voters_tensor(m->voters, MASK_OF).mask) {
        list[n] = list[before_voters(m)];
        strcpy(list[n].name, "mask");
        list[n++].dtype = SURETY_STORED_U8;
    }
    return n;
}

static void copy_tensors(const surety_model *m, const surety_stored *list, size_t count, uint8_t *body) {
    memcpy(body + list[0].begin, m->prior, list[0].bytes);
    memcpy(body + list[1].begin, m->posterior, list[1].bytes);
    for (int k = 0; m->rows[0] && k < SURETY_MODEL_ROWS; k++)
        memcpy(body + list[2 + k].begin, m->rows[k], list[2 + k].bytes);
    const surety_stored *of_voters = list + before_voters(m);
    for (size_t k = 0; k < surety_voters_tensors(m->voters); k++) {
        surety_tensor t = surety_voters_tensor(m->voters, k);
        size_t size = surety_element_size(t.type);
        for (size_t i = 0; i < t.rows; i++)
            memcpy(body + of_voters[k].begin + i * t.length * size, (char *)t.bytes + i * t.stride * size,
                   t.length * size);
    }
    surety_tensor w = surety_voters_tensor(m->voters, MASK_OF);
    for (size_t i = 0; w.mask && i < w.rows; i++)
        memcpy(body + list[count - 1].begin + i * w.length, w.mask + i * w.stride, w.length);
}

surety_status surety_model_encode(const surety_model *m, uint8_t **out, size_t *size, surety_error *err) {
    surety_stored list[SURETY_TENSORS_MOST];
    size_t count = list_tensors(m, list), header_size = 0;
    uint8_t *header = NULL;
    json_t *all = surety_json_copy(m->texts);
    *out = NULL, *size = 0;
    surety_status status = surety_facts_write(&m->facts, m->voters, all, err);
    json_t *metadata = surety_texts_sorted(all);
    json_decref(all);
    if (status == SURETY_OK)
        status = surety_safetensors_header(metadata, list, count, &header, &header_size, err);
    json_decref(metadata);
    if (status != SURETY_OK) return status;
    size_t bytes = header_size + list[count - 1].begin + list[count - 1].bytes;
    status = surety_alloc(out, bytes, 1, err);
    if (status == SURETY_OK) {
        *size = bytes;
        memcpy(*out, header, header_size);
        copy_tensors(m, list, count, *out + header_size);
    }
    surety_free(header);
    return status;
}

surety_status surety_model_save(const surety_model *m, const char *path, surety_error *err) {
    uint8_t *bytes;
    size_t size;
    SURETY_TRY(surety_model_encode(m, &bytes, &size, err));
    surety_status status = surety_write_file(path, bytes, size, err);
    surety_free(bytes);
    return status;
}

surety_status surety_model_sha256(const surety_model *m, char text[65], surety_error *err) {
    uint8_t *bytes;
    size_t size;
    SURETY_TRY(surety_model_encode(m, &bytes, &size, err));
    surety_status status = surety_sha256(bytes, size, text, err);
    surety_free(bytes);
    return status;
}

/* ---- reading ---- */

typedef struct parsed {
    json_t *metadata;
    surety_stored list[SURETY_TENSORS_MOST];
    size_t count;
} parsed;

static surety_status wrong(const char *tensor, const char *what, const char *expected, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "%s", what);
    surety_fail_place(err, "tensor '%s'", tensor);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

static surety_status find(const parsed *p, const char *name, surety_stored_type dtype, size_t rank,
                          const surety_stored **out, surety_error *err) {
    static const char *const types[] = {"F64", "F32", "U8", "U64", "I32"};
    *out = NULL;
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->list[i].name, name)) *out = &p->list[i];
    if (!*out) return wrong(name, "it is missing", "a model of this kind to have it", err);
    if ((*out)->dtype != dtype) return wrong(name, "it has another dtype", types[dtype], err);
    if ((*out)->rank != rank)
        return wrong(name, "its shape has another number of axes", "as many as its kind has", err);
    return SURETY_OK;
}

/* Voters of the kind and shape that the file says, parameters still 0. */
static surety_status make_voters(const parsed *p, surety_voters **out, surety_error *err) {
    surety_shape shapes[SURETY_TENSORS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        const surety_stored *s = &p->list[i];
        for (int type = 0; type <= SURETY_ELEMENT_I32; type++) {
            if (s->dtype != stored_as[type]) continue;
            shapes[count] = (surety_shape){.name = s->name, .type = (surety_element)type, .rank = s->rank};
            memcpy(shapes[count++].shape, s->shape, sizeof s->shape);
        }
    }
    return surety_voters_open(out, json_string_value(json_object_get(p->metadata, "kind")), shapes, count,
                              err);
}

static surety_status same_shape(const surety_stored *s, const surety_tensor *t, surety_error *err) {
    for (size_t i = 0; i < t->rank; i++)
        if (s->shape[i] != t->shape[i])
            return wrong(s->name, "its shape does not fit the other tensors", "shapes of one set of voters",
                         err);
    return SURETY_OK;
}

static surety_status take_mask(const parsed *p, surety_voters *v, surety_error *err) {
    surety_tensor w = surety_voters_tensor(v, MASK_OF);
    if (!w.mask) return SURETY_OK;
    const surety_stored *s;
    uint8_t *mask = (uint8_t *)(uintptr_t)w.mask; /* the voters' own, const only towards their users */
    SURETY_TRY(find(p, "mask", SURETY_STORED_U8, w.rank, &s, err));
    SURETY_TRY(same_shape(s, &w, err));
    for (size_t i = 0; i < s->count; i++)
        if (s->data[i] > 1) return wrong("mask", "it holds something else than 0 and 1", "0 or 1", err);
    for (size_t i = 0; i < w.rows; i++) memcpy(mask + i * w.stride, s->data + i * w.length, w.length);
    return SURETY_OK;
}

static surety_status take_tensors(const parsed *p, surety_voters *v, surety_error *err) {
    for (size_t k = 0; k < surety_voters_tensors(v); k++) {
        surety_tensor t = surety_voters_tensor(v, k);
        const surety_stored *s;
        size_t size = surety_element_size(t.type);
        SURETY_TRY(find(p, t.name, stored_as[t.type], t.rank, &s, err));
        SURETY_TRY(same_shape(s, &t, err));
        for (size_t i = 0; i < t.rows; i++)
            memcpy((char *)t.bytes + i * t.stride * size, s->data + i * t.length * size, t.length * size);
    }
    return take_mask(p, v, err);
}

/* Prior or posterior, copied into aligned memory. */
static surety_status take_weights(const parsed *p, const char *name, size_t H, double *out,
                                  surety_error *err) {
    const surety_stored *s;
    SURETY_TRY(find(p, name, SURETY_STORED_F64, 1, &s, err));
    if (s->shape[0] != H)
        return wrong(name, "its shape does not fit the voters", "one weight per voter", err);
    memcpy(out, s->data, s->bytes);
    return SURETY_OK;
}

static int has(const parsed *p, const char *name) {
    size_t i = 0;
    while (i < p->count && strcmp(p->list[i].name, name)) i++;
    return i < p->count;
}

/* Digests of rows, all or none; older models have none. */
static surety_status take_rows(const parsed *p, surety_model *m, surety_error *err) {
    for (int k = 0; k < SURETY_MODEL_ROWS; k++) {
        const surety_stored *s;
        SURETY_TRY(find(p, row_names[k], SURETY_STORED_U64, 1, &s, err));
        SURETY_TRY(surety_model_set_rows(m, (surety_set_name)k, s->data, s->count, err));
        for (size_t i = 1; i < s->count; i++)
            if (m->rows[k][i - 1] > m->rows[k][i])
                return wrong(s->name, "its numbers are not sorted", "digests of rows in ascending order",
                             err);
    }
    return SURETY_OK;
}

static surety_status build(const parsed *p, surety_model **out, surety_voters **voters, double **weights,
                           surety_error *err) {
    surety_model_facts facts;
    SURETY_TRY(make_voters(p, voters, err));
    size_t H = surety_voters_count(*voters), tensors = 2 + surety_voters_tensors(*voters) +
                                                       (surety_voters_tensor(*voters, MASK_OF).mask != NULL);
    int remembers = has(p, row_names[0]) || has(p, row_names[1]);
    if (remembers) tensors += SURETY_MODEL_ROWS;
    SURETY_TRY(take_tensors(p, *voters, err));
    SURETY_TRY(surety_alloc(weights, 2 * H, sizeof(double), err));
    SURETY_TRY(take_weights(p, "prior", H, *weights, err));
    SURETY_TRY(take_weights(p, "posterior", H, *weights + H, err));
    if (p->count != tensors) /* every one it should have is there, so these are too many */
        return surety_fail(err, SURETY_E_INPUT, "the file has %zu tensors, a model of this kind %zu",
                           p->count, tensors);
    SURETY_TRY(surety_facts_read(&facts, p->metadata, err));
    SURETY_TRY(surety_model_new(*voters, *weights, *weights + H, &facts, out, err));
    *voters = NULL;
    if (remembers) SURETY_TRY(take_rows(p, *out, err));
    surety_voters_changed((*out)->voters);
    const char *key;
    json_t *value;
    json_object_foreach(p->metadata, key, value) {
        if (surety_facts_key(key)) continue; /* the tolerance */
        if (!surety_text_key(key))
            return surety_fail(err, SURETY_E_INPUT, "__metadata__: '%.80s' cannot be the key of a text", key);
        if (json_object_set((*out)->texts, key, value))
            return surety_fail(err, SURETY_E_MEMORY, "no memory for a text");
    }
    SURETY_TRY(surety_model_read_labels(*out, err));
    SURETY_TRY(surety_model_read_preparation(*out, err));
    return surety_facts_read_tolerance(*out, p->metadata, err);
}

surety_status surety_model_decode(const uint8_t *bytes, size_t size, const char *name, surety_model **out,
                                  surety_error *err) {
    parsed p = {0};
    surety_voters *voters = NULL;
    double *weights = NULL;
    *out = NULL;
    if (!name) name = "a model in memory";
    surety_status status = surety_safetensors_parse(bytes, size, name, &p.metadata, p.list, &p.count, err);
    if (status == SURETY_OK) status = build(&p, out, &voters, &weights, err);
    if (status != SURETY_OK) {
        surety_model_free(*out);
        *out = NULL;
        surety_fail_file(err, name);
    }
    surety_voters_free(voters);
    surety_free(weights);
    json_decref(p.metadata);
    return status;
}

surety_status surety_model_load(const char *path, surety_model **out, surety_error *err) {
    surety_file file = {0};
    *out = NULL;
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_status status = SURETY_OK;
    const char *words = surety_looks_like(file.data, file.size);
    if (words && strcmp(words, SURETY_LOOKS_MODEL)) {
        status = surety_fail(err, SURETY_E_INPUT, "this is no model: it looks like %s", words);
        surety_fail_expected(err, "a model that surety train wrote (safetensors)");
        surety_fail_file(err, path);
    } else {
        status = surety_model_decode(file.data, file.size, path, out, err);
    }
    surety_file_close(&file);
    return status;
}
