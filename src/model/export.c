/* Exporting a model: the table of formats, settings, test vectors. */
#include "model/export.h"

#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/random.h"
#include "io/write.h"

/* clang-format off */
static const struct {
    const char *name;
    surety_export_fn write;
} formats[] = {
    {"c", surety_export_c},
};
/* clang-format on */
enum { FORMATS = sizeof formats / sizeof *formats };

const char *surety_export_format(size_t index) {
    return index < FORMATS ? formats[index].name : NULL;
}

surety_export_settings surety_export_defaults(void) {
    return (surety_export_settings){.format = formats[0].name, .prefix = "model"};
}

/* ---- test vectors ---- */

enum { FEWEST = 8, MOST = 64, NUMBERS = 8192 /* about so many values in all */, TRIES = 16 };

static float draw(uint32_t sample, uint32_t which, size_t j) {
    return surety_random_uniform(
        2, &(surety_address){.row = sample, .sample = which, .purpose = SURETY_FOR_EXPORT}, j);
}

/* The columns of a row whose features would be z, some of them missing where they may be. */
static void columns_of(const surety_preparation *r, uint32_t sample, const float *z, float *x) {
    for (size_t j = 0; j < r->column_count; j++) {
        const surety_column_preparation *c = &r->columns[j];
        if (c->categorical)
            x[j] = floorf(draw(sample, 0, j) * (float)(c->category_count + 1)) - 1;
        else
            x[j] = c->constant ? draw(sample, 0, j)
                               : (float)((double)z[c->first] / (double)c->factor + (double)c->shift);
        if (r->missing != SURETY_MISSING_ERROR && draw(sample, 1, j) < 0.125f) x[j] = (float)NAN;
    }
}

/* Point number `sample`: columns x, features z. 0: it cannot be prepared. */
static int make_point(const surety_model *m, uint32_t sample, float *x, float *z) {
    const surety_preparation *r = m->preparation;
    size_t d = surety_voters_features(m->voters), bad;
    surety_preparation_counts counts = {0};
    surety_voters_probe(m->voters, sample, z);
    if (r) {
        columns_of(r, sample, z, x);
        return surety_preparation_row(r, x, z, &counts, &bad) == SURETY_ROW_FINE;
    }
    for (size_t j = 0; j < d && surety_voters_can(m->voters, SURETY_CAN_MISS); j++)
        if (draw(sample, 1, j) < 0.125f) z[j] = (float)NAN;
    memcpy(x, z, d * sizeof *x);
    return 1;
}

static surety_status fill_vectors(surety_vectors *out, const surety_model *m, float *z, surety_error *err) {
    size_t wanted = out->count, d = surety_voters_features(m->voters);
    surety_vote vote = surety_model_vote(m, SURETY_WEIGHTS_POSTERIOR);
    out->count = 0;
    for (uint32_t sample = 0; out->count < wanted && sample < TRIES * wanted; sample++) {
        if (!make_point(m, sample, out->x + out->count * out->columns, z)) continue;
        SURETY_TRY(surety_vote_ask(
            &vote, z, d, 1, (surety_asked){out->votes + out->count * out->width, out->classes + out->count},
            NULL, err));
        out->count++;
    }
    if (out->count) return SURETY_OK;
    return surety_fail(err, SURETY_E_INPUT, "no test vector can be made: every point is refused");
}

surety_status surety_vectors_make(surety_vectors *out, const surety_model *m, surety_error *err) {
    size_t d = surety_voters_features(m->voters);
    *out = (surety_vectors){.columns = m->preparation ? m->preparation->column_count : d,
                            .width = surety_voters_width(m->voters)};
    out->count = NUMBERS / out->columns;
    out->count = out->count < FEWEST ? FEWEST : out->count > MOST ? MOST : out->count;
    float *z = NULL;
    surety_status status = surety_alloc(&z, d, sizeof *z, err);
    if (status == SURETY_OK) status = surety_alloc(&out->x, out->count * out->columns, sizeof *out->x, err);
    if (status == SURETY_OK)
        status = surety_alloc(&out->votes, out->count * out->width, sizeof *out->votes, err);
    if (status == SURETY_OK) status = surety_alloc(&out->classes, out->count, sizeof *out->classes, err);
    if (status == SURETY_OK) status = fill_vectors(out, m, z, err);
    surety_free(z);
    if (status != SURETY_OK) surety_vectors_free(out);
    return status;
}

void surety_vectors_free(surety_vectors *v) {
    surety_free(v->x);
    surety_free(v->votes);
    surety_free(v->classes);
    *v = (surety_vectors){0};
}

/* ---- text and file ---- */

static surety_status validate(const surety_export_settings *s, size_t *format, surety_error *err) {
    const char *names[FORMATS], *p = s->prefix;
    size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");
    for (size_t i = 0; i < FORMATS; i++) names[i] = formats[i].name;
    SURETY_TRY(surety_name_find("format of an export", s->format, names, FORMATS, format, err));
    if (!length || p[length] || length > SURETY_EXPORT_PREFIX || p[0] < 'a') {
        surety_fail(err, SURETY_E_USAGE, "'%.64s' cannot begin the names of an export", p);
        surety_fail_expected(err, "1 to %d of a-z, 0-9 and _, a letter first", SURETY_EXPORT_PREFIX);
        return SURETY_E_USAGE;
    }
    return SURETY_OK;
}

surety_status surety_export_text(const surety_model *m, const surety_export_settings *s, surety_c_text *out,
                                 surety_export_result *result, surety_error *err) {
    size_t format = 0;
    char sum[65];
    *out = (surety_c_text){0};
    *result = (surety_export_result){0};
    SURETY_TRY(validate(s, &format, err));
    SURETY_TRY(surety_model_sha256(m, sum, err));
    if (s->digest && strcmp(sum, s->certified) != 0) {
        surety_fail(err, SURETY_E_CHECK, "the certificate is about another model, %.12s..", s->certified);
        surety_fail_expected(err, "that of this one, %.12s..", sum);
        return SURETY_E_CHECK;
    }
    surety_status status = formats[format].write(m, s, out, result, err);
    if (status == SURETY_OK) status = surety_c_end(out, err);
    if (status != SURETY_OK) surety_c_free(out);
    result->bytes = out->length;
    return status;
}

surety_status surety_model_export(const surety_model *m, const char *path, const surety_export_settings *s,
                                  surety_export_result *result, surety_error *err) {
    surety_c_text text;
    SURETY_TRY(surety_export_text(m, s, &text, result, err));
    surety_status status = surety_write_file(path, text.text, text.length, err);
    surety_c_free(&text);
    return status;
}

char *surety_export_result_json(const surety_export_result *r) {
    return surety_json_text(SURETY_JSON_OBJECT(
        {"bytes", surety_json_count(r->bytes)}, {"data_bytes", surety_json_count(r->data)},
        {"stack_bytes", surety_json_count(r->stack)}, {"comparisons", surety_json_count(r->comparisons)},
        {"products", surety_json_count(r->products)}, {"vectors", surety_json_count(r->vectors)}));
}
