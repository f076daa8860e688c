/* Models in memory: what they own, what they check, texts by key. */
#include "model/model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "surety/bound.h"
#include "voters/ball.h"

static surety_status bad(surety_error *err, const char *tensor, size_t index, const char *what) {
    surety_fail(err, SURETY_E_INPUT, "%s", what);
    surety_fail_place(err, "tensor '%s', element %zu", tensor, index);
    return SURETY_E_INPUT;
}

/* Every weight finite and not negative (a prior: above 0), the sum 1 within 1e-9. */
static surety_status check_weights(const double *weights, size_t H, const char *name, int positive,
                                   surety_error *err) {
    double sum = 0;
    for (size_t t = 0; t < H; t++) {
        if (!(weights[t] >= 0) || !isfinite(weights[t])) return bad(err, name, t, "it is not a probability");
        if (positive && weights[t] == 0) return bad(err, name, t, "a prior gives no voter the weight 0");
        sum += weights[t];
    }
    if (fabs(sum - 1) <= 1e-9) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "its weights sum to %.12g", sum);
    surety_fail_place(err, "tensor '%s'", name);
    surety_fail_expected(err, "1 within 1e-9");
    return SURETY_E_INPUT;
}

static int is_finite(const surety_tensor *t, size_t at) {
    return t->type == SURETY_ELEMENT_F32   ? isfinite(t->values[at])
           : t->type == SURETY_ELEMENT_F64 ? isfinite(t->doubles[at])
                                           : 1;
}

/* Finite, and 0 where it is masked: no training makes another value, but the vote would use it. */
static surety_status check_tensor(const surety_tensor *t, surety_error *err) {
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->length; j++) {
            size_t at = i * t->stride + j;
            if (!is_finite(t, at)) return bad(err, t->name, i * t->length + j, "it is not a finite number");
            if (t->mask && !t->mask[at] && t->values[at] != 0)
                return bad(err, t->name, i * t->length + j, "it is masked, but not 0");
        }
    return SURETY_OK;
}

surety_status surety_model_new(surety_voters *voters, const double *prior, const double *posterior,
                               const surety_model_facts *facts, surety_model **out, surety_error *err) {
    size_t H = surety_voters_count(voters);
    *out = NULL;
    SURETY_TRY(check_weights(prior, H, "prior", 1, err));
    SURETY_TRY(check_weights(posterior, H, "posterior", 0, err));
    for (size_t k = 0; k < surety_voters_tensors(voters); k++) {
        surety_tensor t = surety_voters_tensor(voters, k);
        SURETY_TRY(check_tensor(&t, err));
    }
    SURETY_TRY(surety_voters_check(voters, err));
    SURETY_TRY(surety_facts_validate(facts, err));
    SURETY_TRY(surety_ball_fits(&facts->ball, surety_voters_features(voters), err));
    surety_model *m;
    SURETY_TRY(surety_alloc(&m, 1, sizeof *m, err));
    m->facts = *facts;
    m->texts = json_object();
    surety_status status = m->texts ? SURETY_OK : surety_fail(err, SURETY_E_MEMORY, "no memory for a model");
    if (status == SURETY_OK) status = surety_alloc(&m->prior, H, sizeof *prior, err);
    if (status == SURETY_OK) status = surety_alloc(&m->posterior, H, sizeof *posterior, err);
    if (status == SURETY_OK && facts->ball.tolerance)
        status = surety_tolerance_copy(facts->ball.tolerance, &m->tolerance, err);
    m->facts.ball.tolerance = m->tolerance;
    if (status != SURETY_OK) {
        surety_model_free(m);
        return status;
    }
    memcpy(m->prior, prior, H * sizeof *prior);
    memcpy(m->posterior, posterior, H * sizeof *posterior);
    m->voters = voters;
    *out = m;
    return SURETY_OK;
}

void surety_model_free(surety_model *m) {
    if (!m) return;
    surety_voters_free(m->voters);
    surety_free(m->prior);
    surety_free(m->posterior);
    surety_tolerance_free(m->tolerance);
    for (int k = 0; k < SURETY_MODEL_ROWS; k++) surety_free(m->rows[k]);
    json_decref(m->texts);
    json_decref(m->label_texts);
    surety_free(m->labels);
    surety_preparation_free(m->preparation);
    surety_free(m);
}

const surety_voters *surety_model_voters(const surety_model *m) {
    return m->voters;
}
const double *surety_model_prior(const surety_model *m) {
    return m->prior;
}
const double *surety_model_posterior(const surety_model *m) {
    return m->posterior;
}
const surety_model_facts *surety_model_about(const surety_model *m) {
    return &m->facts;
}

const surety_preparation *surety_model_preparation(const surety_model *m) {
    return m->preparation;
}

surety_features surety_model_features(const surety_model *m) {
    return m->preparation ? surety_preparation_describe(m->preparation)
                          : (surety_features){.d = surety_voters_features(m->voters)};
}

surety_vote surety_model_vote(const surety_model *m, surety_weighting weighting) {
    return (surety_vote){m->voters, weighting == SURETY_WEIGHTS_PRIOR ? m->prior : m->posterior,
                         m->facts.voter_set};
}

/* ---- texts ---- */

int surety_text_key(const char *key) {
    size_t length = strlen(key);
    return length >= 1 && length <= 63 && strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_.") == length &&
           !surety_facts_key(key);
}

surety_status surety_model_set_text(surety_model *m, const char *key, const char *value, surety_error *err) {
    if (!surety_text_key(key))
        return surety_fail(err, SURETY_E_USAGE, "'%.80s' cannot be the key of a text", key);
    if (!value || !surety_utf8_valid(value))
        return surety_fail(err, SURETY_E_USAGE, "the text of '%s' is not UTF-8", key);
    if (json_object_set_new(m->texts, key, json_string(value)))
        return surety_fail(err, SURETY_E_MEMORY, "no memory for a text");
    if (!strcmp(key, "data.preparation")) return surety_model_read_preparation(m, err);
    int labels = !strcmp(key, "data.classes") || !strcmp(key, "import.classes");
    return labels ? surety_model_read_labels(m, err) : SURETY_OK;
}

surety_status surety_model_set_count(surety_model *m, const char *key, uint64_t value, surety_error *err) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return surety_model_set_text(m, key, text, err);
}

surety_status surety_model_set_real(surety_model *m, const char *key, double value, surety_error *err) {
    return surety_model_set_reals(m, key, &value, 1, err);
}

surety_status surety_model_set_reals(surety_model *m, const char *key, const double *values, size_t count,
                                     surety_error *err) {
    enum { WIDTH = 26 };
    char *text;
    size_t at = 0;
    SURETY_TRY(surety_alloc(&text, count + 1, WIDTH, err));
    for (size_t i = 0; i < count; i++)
        at += (size_t)surety_format(text + at, WIDTH, "%s%.17g", i ? "," : "", values[i]);
    surety_status status = surety_model_set_text(m, key, text, err);
    surety_free(text);
    return status;
}

const char *surety_model_text(const surety_model *m, const char *key) {
    return json_string_value(json_object_get(m->texts, key));
}

const char *surety_model_key(const surety_model *m, size_t index) {
    void *at = json_object_iter(m->texts);
    while (at && index--) at = json_object_iter_next(m->texts, at);
    return at ? json_object_iter_key(at) : NULL;
}

static surety_status not_there(const char *key, const char *expected, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the model does not say it");
    surety_fail_place(err, "key %s", key);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

surety_status surety_model_count(const surety_model *m, const char *key, uint64_t *value, surety_error *err) {
    const char *text = surety_model_text(m, key);
    char *end = NULL;
    errno = 0;
    if (!text || text[0] < '0' || text[0] > '9') return not_there(key, "a whole number", err);
    *value = strtoull(text, &end, 10);
    return *end || errno ? not_there(key, "a whole number", err) : SURETY_OK;
}

surety_status surety_model_real(const surety_model *m, const char *key, double *value, surety_error *err) {
    size_t count;
    SURETY_TRY(surety_model_reals(m, key, value, 1, &count, err));
    return count == 1 ? SURETY_OK : not_there(key, "one number", err);
}

surety_status surety_model_reals(const surety_model *m, const char *key, double *values, size_t room,
                                 size_t *count, surety_error *err) {
    const char *text = surety_model_text(m, key);
    *count = 0;
    if (!text) return not_there(key, "a list of numbers", err);
    while (*text) {
        char *end;
        double value = surety_number(text, &end);
        if (end == text || (*end && *end != ',')) return not_there(key, "a list of numbers", err);
        if (*count < room) values[*count] = value;
        ++*count;
        text = end + (*end == ',');
    }
    return SURETY_OK;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *surety_texts_sorted(const json_t *texts) {
    const char **keys = NULL, *key;
    json_t *all = (json_t *)(uintptr_t)texts, *value, *sorted = texts ? json_object() : NULL;
    size_t count = 0;
    if (!sorted || surety_alloc(&keys, json_object_size(texts), sizeof *keys, NULL) != SURETY_OK)
        return json_decref(sorted), NULL;
    json_object_foreach(all, key, value) keys[count++] = key;
    qsort(keys, count, sizeof *keys, by_text);
    for (size_t i = 0; i < count && sorted; i++)
        sorted = surety_json_put(sorted, keys[i], json_incref(json_object_get(texts, keys[i])));
    surety_free(keys);
    return sorted;
}

/* ---- what it says of itself ---- */

double surety_model_largest_weight(const surety_model *m, size_t *voter) {
    size_t best = 0;
    for (size_t t = 1; t < surety_voters_count(m->voters); t++)
        if (m->posterior[t] > m->posterior[best]) best = t;
    if (voter) *voter = best;
    return m->posterior[best];
}

const char *surety_model_class(const surety_model *m, size_t k, char number[4]) {
    size_t K = surety_voters_classes(m->voters);
    const char *name = surety_model_text(m, "data.task");
    const surety_task *task = name && name[0] ? surety_task_find(name, NULL) : NULL;
    if (task && task->classes == K) return task->class_names[k];
    if (m->class_count == K) return m->labels[k];
    if (K == 2)
        snprintf(number, 4, "%s", k ? "+1" : "-1");
    else
        snprintf(number, 4, "%u", (unsigned)k % 1000);
    return number;
}

static json_t *classes_json(const surety_model *m) {
    json_t *list = json_array();
    for (size_t k = 0; k < surety_voters_classes(m->voters) && list; k++) {
        char number[4];
        list = surety_json_append(list, surety_json_string(surety_model_class(m, k, number)));
    }
    return list;
}

char *surety_model_json(const surety_model *m) {
    char sha256[65];
    double kl;
    if (surety_model_sha256(m, sha256, NULL) != SURETY_OK ||
        surety_kl_divergence(m->posterior, m->prior, surety_voters_count(m->voters), &kl, NULL) != SURETY_OK)
        return NULL;
    json_t *texts = surety_texts_sorted(m->texts);
    json_t *about = json_object();
    if (surety_facts_write(&m->facts, m->voters, about, NULL)) json_decref(about), about = NULL;
    json_t *prior = surety_json_reals(m->prior, surety_voters_count(m->voters)),
           *posterior = surety_json_reals(m->posterior, surety_voters_count(m->voters));
    return surety_json_text(SURETY_JSON_OBJECT(
        {"kind", surety_json_string(surety_voters_kind(m->voters))},
        {"voter_count", surety_json_count(surety_voters_count(m->voters))},
        {"duels", json_boolean(surety_voters_duels(m->voters))},
        {"features", surety_json_count(surety_voters_features(m->voters))},
        {"depth", surety_json_count(surety_voters_depth(m->voters))},
        {"class_count", surety_json_count(surety_voters_classes(m->voters))}, {"classes", classes_json(m)},
        {"sha256", surety_json_string(sha256)}, {"kl", surety_json_real(kl)},
        {"largest_weight", surety_json_real(surety_model_largest_weight(m, NULL))}, {"about", about},
        {"texts", texts}, {"prior", prior}, {"posterior", posterior}));
}
