/* scikit-learn's trees, as python/surety_sklearn.py writes them: a safetensors file with the nodes of all
 * trees one behind the other. Doubles throughout; x <= t goes left, x a float, t a double. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "model/import.h"
#include "model/safetensors.h"

enum { FIRST, COLUMN, LEFT, RIGHT, FEATURE, MISSING, THRESHOLD, VALUE, START, TENSORS };

static const struct {
    const char *name;
    surety_stored_type type;
} wanted[TENSORS] = {
    [FIRST] = {"first", SURETY_STORED_I32},         [COLUMN] = {"column", SURETY_STORED_I32},
    [LEFT] = {"left", SURETY_STORED_I32},           [RIGHT] = {"right", SURETY_STORED_I32},
    [FEATURE] = {"feature", SURETY_STORED_I32},     [MISSING] = {"missing", SURETY_STORED_I32},
    [THRESHOLD] = {"threshold", SURETY_STORED_F64}, [VALUE] = {"value", SURETY_STORED_F64},
    [START] = {"start", SURETY_STORED_F64},
};

typedef struct stored {
    surety_stored list[SURETY_TENSORS_MOST];
    const surety_stored *of[TENSORS];
    size_t trees, nodes;
    json_t *metadata;
} stored;

static surety_status lacks(surety_error *err, const char *place) {
    surety_fail(err, SURETY_E_INPUT, "this is no file of surety_sklearn.save, or a part of it is missing");
    surety_fail_place(err, "%s", place);
    surety_fail_expected(err, "a file that python/surety_sklearn.py of this version wrote");
    return SURETY_E_INPUT;
}

static int32_t number(const stored *s, size_t which, size_t i) {
    int32_t value;
    memcpy(&value, s->of[which]->data + i * sizeof value, sizeof value);
    return value;
}

static double real(const stored *s, size_t which, size_t i) {
    double value;
    memcpy(&value, s->of[which]->data + i * sizeof value, sizeof value);
    return value;
}

/* ---- trees ---- */

static surety_status fill_tree(const surety_ensemble *e, const stored *s, size_t from, surety_raw_tree *t) {
    for (size_t i = 0; i < t->nodes; i++) {
        double at = real(s, THRESHOLD, from + i);
        float f = at > (double)FLT_MAX ? FLT_MAX : (float)at; /* infinity: all but missing values */
        t->left[i] = number(s, LEFT, from + i);
        t->right[i] = number(s, RIGHT, from + i);
        t->feature[i] = number(s, FEATURE, from + i);
        t->missing[i] = number(s, MISSING, from + i) != 0;
        t->threshold[i] = (double)f > at ? nextafterf(f, -HUGE_VALF) : f;
        for (size_t k = 0; k < e->vector; k++)
            t->value[i * e->vector + k] = real(s, VALUE, (from + i) * e->vector + k);
    }
    return SURETY_OK;
}

static surety_status add_tree(surety_ensemble *e, const stored *s, size_t i, surety_error *err) {
    int64_t from = number(s, FIRST, i), to = i + 1 < s->trees ? number(s, FIRST, i + 1) : (int64_t)s->nodes;
    int32_t column = number(s, COLUMN, i);
    surety_raw_tree t = {0};
    if (from < 0 || to <= from || to > (int64_t)s->nodes) return lacks(err, "tensor 'first'");
    surety_status status = surety_raw_tree_new(&t, (size_t)(to - from), e->vector, err);
    if (status == SURETY_OK) status = fill_tree(e, s, (size_t)from, &t);
    if (status == SURETY_OK) status = surety_ensemble_add(e, &t, column < 0 ? SIZE_MAX : (size_t)column, err);
    surety_raw_tree_free(&t);
    return status;
}

/* ---- the rest ---- */

static surety_status check_tensors(surety_ensemble *e, stored *s, size_t count, surety_error *err) {
    for (size_t k = 0; k < TENSORS; k++) {
        char place[64];
        snprintf(place, sizeof place, "tensor '%s'", wanted[k].name);
        for (size_t i = 0; i < count; i++)
            if (!strcmp(s->list[i].name, wanted[k].name)) s->of[k] = &s->list[i];
        if (!s->of[k] || s->of[k]->dtype != wanted[k].type || s->of[k]->rank != (k == VALUE ? 2 : 1))
            return lacks(err, place);
    }
    s->trees = s->of[FIRST]->count;
    s->nodes = s->of[LEFT]->count;
    e->columns = s->of[START]->count;
    e->vector = s->of[VALUE]->shape[1];
    for (size_t k = LEFT; k <= VALUE; k++)
        if (s->of[k]->shape[0] != s->nodes) return lacks(err, "tensor 'left'");
    if (s->of[COLUMN]->count != s->trees || e->columns > SURETY_CLASSES_MOST ||
        (e->vector != 1 && e->vector != e->columns))
        return lacks(err, "tensor 'column'");
    for (size_t c = 0; c < e->columns; c++) e->start[c] = real(s, START, c);
    return SURETY_OK;
}

static const char *text_of(const stored *s, const char *key) {
    const char *text = json_string_value(json_object_get(s->metadata, key));
    return text ? text : "";
}

/* A list of texts in a text. */
static surety_status read_list(const stored *s, const char *key, size_t count, json_t **out,
                               surety_error *err) {
    const char *text = text_of(s, key);
    if (!*text) return SURETY_OK;
    SURETY_TRY(surety_json_parse(out, text, strlen(text), key, err));
    return json_array_size(*out) == count ? SURETY_OK : lacks(err, key);
}

static surety_status read_rule(surety_ensemble *e, const stored *s, surety_error *err) {
    const char *rule = text_of(s, "rule");
    e->divide = surety_number(text_of(s, "divide"), NULL);
    if (!(e->divide > 0)) return lacks(err, "key divide");
    e->forest = !strcmp(rule, "shares");
    e->probability = e->forest && e->columns == 2;
    if (!strcmp(rule, "sigmoid") && e->columns == 1)
        return surety_ensemble_sigmoid(e, surety_number(text_of(s, "steep"), NULL), err);
    e->rule = SURETY_TREES_LARGEST;
    if (!strcmp(rule, "softmax")) e->rule = SURETY_TREES_SOFTMAX64, e->slack = 0x1p-40;
    if (!strcmp(rule, "sign"))
        e->rule = SURETY_TREES_CUT, e->cut = -0x1p-1074; /* a score of 0 is the second's */
    int known = e->forest || !strcmp(rule, "largest") || !strcmp(rule, "softmax") || !strcmp(rule, "sign");
    return known && (e->columns > 1) == (e->rule != SURETY_TREES_CUT) ? SURETY_OK : lacks(err, "key rule");
}

static surety_status read_all(surety_ensemble *e, stored *s, size_t count, surety_error *err) {
    double d = surety_number(text_of(s, "features"), NULL);
    if (strcmp(text_of(s, "format"), "surety-sklearn 1") != 0) return lacks(err, "key format");
    if (!(d >= 1 && d <= 0x1p30)) return lacks(err, "key features");
    e->d = (size_t)d;
    e->type = SURETY_ELEMENT_F64;
    snprintf(e->source, sizeof e->source, "scikit-learn %.12s %.32s", text_of(s, "version"),
             text_of(s, "model"));
    SURETY_TRY(check_tensors(e, s, count, err));
    SURETY_TRY(read_rule(e, s, err));
    SURETY_TRY(read_list(s, "feature_names", e->d, &e->feature_names, err));
    SURETY_TRY(read_list(s, "classes", e->columns > 2 ? e->columns : 2, &e->class_names, err));
    for (size_t i = 0; i < s->trees; i++) SURETY_TRY(add_tree(e, s, i, err));
    return SURETY_OK;
}

surety_status surety_import_sklearn(surety_ensemble *e, const surety_file *file, const char *path,
                                    surety_error *err) {
    stored s = {0};
    size_t count = 0;
    SURETY_TRY(surety_safetensors_parse(file->data, file->size, path, &s.metadata, s.list, &count, err));
    surety_status status = read_all(e, &s, count, err);
    json_decref(s.metadata);
    return status;
}
