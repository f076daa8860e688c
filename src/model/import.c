/* From an ensemble of trees that others made (import.h) to a model: checks, the decision rule, tensors of the
 * kind `trees`. The same for every format (docs/trees.md). */
#include "model/import.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/number.h"
#include "io/looks.h"
#include "model/model.h"

static const struct {
    const char *name;
    surety_import_fn read;
} formats[] = {
    {"xgboost", surety_import_xgboost},
    {"lightgbm", surety_import_lightgbm},
    {"sklearn", surety_import_sklearn},
};
enum { FORMATS = sizeof formats / sizeof *formats };

const char *surety_import_format(size_t index) {
    return index < FORMATS ? formats[index].name : NULL;
}

surety_status surety_import_refuse(surety_error *err, const char *place, const char *what, ...) {
    char text[400];
    va_list args;
    va_start(args, what);
    surety_vformat(text, sizeof text, what, args);
    va_end(args);
    surety_fail(err, SURETY_E_INPUT, "%s", text);
    if (place) surety_fail_place(err, "%s", place);
    surety_fail_expected(err, "a model that docs/trees.md lists: nothing is approximated");
    return SURETY_E_INPUT;
}

/* ---- trees ---- */

static surety_status append(surety_list *list, const void *value, size_t size, surety_error *err) {
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 1024;
        void *more = NULL;
        SURETY_TRY(surety_alloc(&more, room, size, err));
        if (list->count) memcpy(more, list->at, list->count * size);
        surety_free(list->at);
        list->at = more, list->room = room;
    }
    memcpy((char *)list->at + list->count++ * size, value, size);
    return SURETY_OK;
}

static surety_status append_number(surety_list *list, int64_t value, surety_error *err) {
    int32_t number = (int32_t)value;
    return append(list, &number, sizeof number, err);
}

surety_status surety_raw_tree_new(surety_raw_tree *t, size_t nodes, size_t vector, surety_error *err) {
    *t = (surety_raw_tree){.nodes = nodes};
    surety_status status = surety_alloc(&t->left, nodes, sizeof *t->left, err);
    if (status == SURETY_OK) status = surety_alloc(&t->right, nodes, sizeof *t->right, err);
    if (status == SURETY_OK) status = surety_alloc(&t->feature, nodes, sizeof *t->feature, err);
    if (status == SURETY_OK) status = surety_alloc(&t->threshold, nodes, sizeof *t->threshold, err);
    if (status == SURETY_OK) status = surety_alloc(&t->missing, nodes, 1, err);
    if (status == SURETY_OK) status = surety_alloc(&t->value, nodes * vector, sizeof *t->value, err);
    return status;
}

void surety_raw_tree_free(surety_raw_tree *t) {
    void *parts[] = {t->left, t->right, t->feature, t->threshold, t->missing, t->value};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    *t = (surety_raw_tree){0};
}

/* The walk through a tree: which nodes were seen, in which order, and their parents' places. */
typedef struct walk {
    const surety_raw_tree *tree;
    uint8_t *depth; /* (nodes) 0: not seen, else 1 + tests above */
    size_t *order;  /* (nodes) */
    size_t seen;
} walk;

static surety_status bad_node(const surety_ensemble *e, size_t node, const char *what, const char *expected,
                              surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "%s", what);
    surety_fail_place(err, "tree %zu, node %zu", e->roots.count, node);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

static surety_status see(const surety_ensemble *e, walk *w, size_t parent, int64_t child, surety_error *err) {
    if (child < 0 || (uint64_t)child >= w->tree->nodes)
        return bad_node(e, parent, "its child is not there", "numbers of nodes of the tree", err);
    if (w->depth[child])
        return bad_node(e, parent, "its child has a parent already, or is above it", "a tree, without cycles",
                        err);
    if (w->depth[parent] > SURETY_TREE_DEPTH)
        return bad_node(e, parent, "the tree is too deep", "at most 64 tests from root to leaf", err);
    w->depth[child] = (uint8_t)(w->depth[parent] + 1);
    w->order[w->seen++] = (size_t)child;
    return SURETY_OK;
}

static surety_status check_node(const surety_ensemble *e, const surety_raw_tree *t, size_t i,
                                surety_error *err) {
    for (size_t k = 0; t->left[i] < 0 && k < e->vector; k++)
        if (!isfinite(t->value[i * e->vector + k]))
            return bad_node(e, i, "its value is not a finite number", "a number in every leaf", err);
    if (t->left[i] < 0) return SURETY_OK;
    if (t->feature[i] < 0 || (uint64_t)t->feature[i] >= e->d)
        return bad_node(e, i, "it tests a feature that is not there", "one of the model's features", err);
    if (!isfinite(t->threshold[i]))
        return bad_node(e, i, "its threshold is not a finite number", "a number in every test", err);
    return SURETY_OK;
}

/* Level by level: inner nodes and leaves get numbers in the order in which they are met, and number[i] is
 * what a parent writes of its child i. */
static surety_status look_through(const surety_ensemble *e, walk *w, int64_t *number, surety_error *err) {
    const surety_raw_tree *t = w->tree;
    int64_t inner = (int64_t)e->threshold.count, leaf = (int64_t)(e->leaves.count / e->vector);
    w->depth[0] = 1;
    w->order[w->seen++] = 0;
    for (size_t n = 0; n < w->seen; n++) {
        size_t i = w->order[n];
        SURETY_TRY(check_node(e, t, i, err));
        number[i] = t->left[i] < 0 ? -1 - leaf++ : inner++;
        if (t->left[i] < 0) continue;
        SURETY_TRY(see(e, w, i, t->left[i], err));
        SURETY_TRY(see(e, w, i, t->right[i], err));
    }
    return inner < SURETY_TREE_NODES
               ? SURETY_OK
               : surety_import_refuse(err, NULL, "more than %d nodes", SURETY_TREE_NODES);
}

static surety_status write_node(surety_ensemble *e, const surety_raw_tree *t, size_t i, const int64_t *number,
                                surety_error *err) {
    for (size_t k = 0; t->left[i] < 0 && k < e->vector; k++)
        SURETY_TRY(append(&e->leaves, &t->value[i * e->vector + k], sizeof(double), err));
    if (t->left[i] < 0) return SURETY_OK;
    SURETY_TRY(append(&e->threshold, &t->threshold[i], sizeof(float), err));
    SURETY_TRY(append_number(&e->feature, t->feature[i], err));
    SURETY_TRY(append_number(&e->missing, t->missing[i], err));
    SURETY_TRY(append_number(&e->left, number[t->left[i]], err));
    return append_number(&e->right, number[t->right[i]], err);
}

static double largest(const surety_ensemble *e, const walk *w) {
    double most = 0;
    for (size_t n = 0; n < w->seen; n++)
        for (size_t k = 0; w->tree->left[w->order[n]] < 0 && k < e->vector; k++)
            most = fmax(most, fabs(w->tree->value[w->order[n] * e->vector + k]));
    return most;
}

static surety_status add(surety_ensemble *e, walk *w, int64_t *number, size_t column, surety_error *err) {
    SURETY_TRY(look_through(e, w, number, err));
    for (size_t n = 0; n < w->seen; n++) SURETY_TRY(write_node(e, w->tree, w->order[n], number, err));
    double most = largest(e, w);
    SURETY_TRY(append(&e->most, &most, sizeof most, err));
    SURETY_TRY(append_number(&e->roots, number[0], err));
    return append_number(&e->tree_columns, (int64_t)column, err);
}

surety_status surety_ensemble_add(surety_ensemble *e, const surety_raw_tree *tree, size_t column,
                                  surety_error *err) {
    walk w = {.tree = tree};
    int64_t *number = NULL;
    if (!tree->nodes) return bad_node(e, 0, "the tree has no nodes", "at least a leaf", err);
    if (column >= e->columns)
        return bad_node(e, 0, "the tree adds to a class that is not there", "one of the classes", err);
    surety_status status = surety_alloc(&w.depth, tree->nodes, 1, err);
    if (status == SURETY_OK) status = surety_alloc(&w.order, tree->nodes, sizeof *w.order, err);
    if (status == SURETY_OK) status = surety_alloc(&number, tree->nodes, sizeof *number, err);
    if (status == SURETY_OK) status = add(e, &w, number, column, err);
    surety_free(w.depth);
    surety_free(w.order);
    surety_free(number);
    return status;
}

static void ensemble_free(surety_ensemble *e) {
    surety_list *lists[] = {&e->threshold, &e->feature,      &e->missing, &e->left, &e->right,
                            &e->roots,     &e->tree_columns, &e->leaves,  &e->most};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) surety_free(lists[i]->at);
    json_decref(e->feature_names);
    json_decref(e->class_names);
}

/* ---- decisions ---- */

/* The probability of the second class, as XGBoost computes it in float; LightGBM and scikit-learn in double.
 */
static double sigmoid(const surety_ensemble *e, double steep, double score) {
    if (e->type == SURETY_ELEMENT_F64) return 1 / (1 + exp(-steep * score));
    return (double)(1.0f / (expf(fminf(-(float)score, 88.7f)) + 1.0f + 1e-16f));
}

/* The largest score whose probability is not above the threshold, by bisection over all numbers of the type;
 * those of one sign are ordered as their bits are. */
static double last_below(const surety_ensemble *e, double steep, double threshold) {
    double low = -700 / steep, high = 700 / steep;
    for (int i = 0; i < 1100; i++) {
        double middle = low < 0 && high > 0 ? 0 : low / 2 + high / 2;
        if (e->type == SURETY_ELEMENT_F32) middle = (double)(float)middle;
        if (middle <= low || middle >= high) break;
        *(sigmoid(e, steep, middle) > threshold ? &high : &low) = middle;
    }
    return low;
}

surety_status surety_ensemble_sigmoid(surety_ensemble *e, double steep, surety_error *err) {
    double threshold = e->settings->threshold > 0 ? e->settings->threshold : 0.5;
    int wide = e->type == SURETY_ELEMENT_F64;
    if (!(steep > 0 && steep < 1e6)) return surety_import_refuse(err, NULL, "a sigmoid of slope %g", steep);
    if (!wide) threshold = (double)(float)threshold;
    e->rule = SURETY_TREES_CUT;
    e->cut = last_below(e, steep, threshold);
    /* A C library's exp within an ulp, a sum and a quotient: p is within 4 ulps of itself, and the score at
     * which it meets the threshold within that over 1 - threshold. */
    e->slack = (wide ? 0x1p-51 : 0x1p-22) / (1 - threshold) / steep;
    e->probability = 1;
    return SURETY_OK;
}

static surety_status settle_threshold(surety_ensemble *e, surety_error *err) {
    double threshold = e->settings->threshold;
    if (threshold == 0) return SURETY_OK;
    if (!(threshold > 0 && threshold < 1))
        return surety_fail(err, SURETY_E_USAGE, "a threshold is a probability above 0 and below 1, not %g",
                           threshold);
    if (!e->probability)
        return surety_fail(err, SURETY_E_USAGE,
                           "this model has no probability of a second class to compare with a threshold");
    if (!e->forest) return SURETY_OK; /* done by surety_ensemble_sigmoid */
    e->rule = SURETY_TREES_CUT;
    e->cut = threshold;
    return SURETY_OK;
}

/* ---- the model ---- */

/* A tensor of the model, and where its values are. */
typedef struct part {
    surety_shape shape;
    const void *from;
} part;

enum { PARTS = 13 };

/* Twice what margins can come to, so that outputs lie in [-1, 1] and scores above 0. */
static double scale_of(const surety_ensemble *e) {
    double size[SURETY_CLASSES_MOST], sum = 0, most = 0;
    const double *of_tree = e->most.at;
    const int32_t *column = e->tree_columns.at;
    if (e->rule == SURETY_TREES_SHARE) return 1; /* class shares of a tree */
    for (size_t c = 0; c < e->columns; c++) {
        size[c] = fabs(e->start[c]);
        for (size_t t = 0; t < e->most.count; t++)
            if (e->vector > 1 || (size_t)column[t] == c) size[c] += of_tree[t];
        sum += size[c], most = fmax(most, size[c]);
    }
    double scale = 2 * ((sum + (double)e->columns * most) / e->divide + fabs(e->cut));
    return scale > 0 ? scale : 1;
}

static surety_status make_voters(surety_voters **out, const part *parts, surety_error *err) {
    surety_shape shapes[PARTS];
    for (size_t i = 0; i < PARTS; i++) shapes[i] = parts[i].shape;
    SURETY_TRY(surety_voters_open(out, "trees", shapes, PARTS, err));
    for (size_t k = 0; k < surety_voters_tensors(*out); k++) {
        surety_tensor t = surety_voters_tensor(*out, k);
        for (size_t i = 0; i < PARTS; i++)
            if (!strcmp(parts[i].shape.name, t.name))
                memcpy(t.bytes, parts[i].from, t.length * surety_element_size(t.type));
    }
    return SURETY_OK;
}

/* What has to be made for the tensors: one block of memory each. */
typedef struct made {
    int32_t *groups, *uses;
    double *scale, *weights;
    float *leaves;
} made;

static surety_status prepare(const surety_ensemble *e, size_t H, made *m, surety_error *err) {
    const int32_t *feature = e->feature.at;
    SURETY_TRY(surety_alloc(&m->groups, H, sizeof *m->groups, err));
    SURETY_TRY(surety_alloc(&m->uses, e->d, sizeof *m->uses, err));
    SURETY_TRY(surety_alloc(&m->scale, H, sizeof *m->scale, err));
    SURETY_TRY(surety_alloc(&m->weights, H, sizeof *m->weights, err));
    SURETY_TRY(surety_alloc(&m->leaves, e->leaves.count, sizeof *m->leaves, err));
    for (size_t i = 0; i < e->feature.count; i++) m->uses[feature[i]]++;
    for (size_t g = 0; g < H; g++)
        m->groups[g] = (int32_t)g, m->scale[g] = scale_of(e), m->weights[g] = 1 / (double)H;
    for (size_t i = 0; i < e->leaves.count; i++) m->leaves[i] = (float)((const double *)e->leaves.at)[i];
    return SURETY_OK;
}

/* LightGBM calls features without names Column_0, Column_1, .. */
static int is_name(const char *name, size_t j) {
    char number[32];
    snprintf(number, sizeof number, "Column_%zu", j);
    return name && name[0] && strcmp(name, number) != 0;
}

/* Columns of tables are matched by the names of the model's features, if it has some, and taken as they are.
 */
static surety_status set_names(const surety_ensemble *e, surety_model *m, surety_error *err) {
    json_t *columns = json_array();
    int named = e->feature_names != NULL;
    for (size_t j = 0; j < e->d && named; j++) {
        const char *name = json_string_value(json_array_get(e->feature_names, j));
        named = is_name(name, j);
        if (named)
            columns = surety_json_append(columns, SURETY_JSON_OBJECT({"name", surety_json_string(name)}));
    }
    if (!named) return json_decref(columns), SURETY_OK;
    json_t *root = SURETY_JSON_OBJECT(
        {"columns", columns}, {"dropped", json_array()}, {"file_columns", surety_json_count(e->d)},
        {"label", json_null()}, {"label_column", json_null()}, {"missing", json_string("keep")},
        {"named", json_true()}, {"scale", json_string("none")}, {"unit", json_null()});
    char *text = surety_json_canonical(root);
    surety_status status = text ? surety_model_set_text(m, "data.preparation", text, err)
                                : surety_fail(err, SURETY_E_MEMORY, "no memory for names");
    free(text);
    return status;
}

static surety_status set_texts(const surety_ensemble *e, surety_model *m, surety_error *err) {
    SURETY_TRY(surety_model_set_text(m, "import.source", e->source, err));
    SURETY_TRY(set_names(e, m, err));
    if (!e->class_names) return SURETY_OK;
    char *text = surety_json_dump(e->class_names, JSON_COMPACT);
    surety_status status = text ? surety_model_set_text(m, "import.classes", text, err)
                                : surety_fail(err, SURETY_E_MEMORY, "no memory for names");
    free(text);
    return status;
}

static surety_status build(surety_ensemble *e, made *m, surety_voters **voters, surety_model **out,
                           surety_error *err) {
    size_t N = e->threshold.count, T = e->roots.count, M = e->leaves.count / e->vector;
    size_t H = e->rule == SURETY_TREES_SHARE ? T : 1;
    const double facts[SURETY_TREES_FACTS] = {e->rule, e->cut, e->slack, e->divide, e->undivided};
    surety_model_facts about;
    if (!N) return surety_import_refuse(err, NULL, "no tree of this model tests a feature");
    SURETY_TRY(prepare(e, H, m, err));
    surety_element F64 = SURETY_ELEMENT_F64, I32 = SURETY_ELEMENT_I32;
    const part parts[PARTS] = {
        {{"start", F64, 1, {e->columns}}, e->start},
        {{"rule", F64, 1, {SURETY_TREES_FACTS}}, facts},
        {{"scale", F64, 1, {H}}, m->scale},
        {{"leaves", e->type, e->vector > 1 ? 2 : 1, {M, e->vector}},
         e->type == F64 ? e->leaves.at : (const void *)m->leaves},
        {{"nodes.threshold", SURETY_ELEMENT_F32, 1, {N}}, e->threshold.at},
        {{"nodes.feature", I32, 1, {N}}, e->feature.at},
        {{"nodes.missing", I32, 1, {N}}, e->missing.at},
        {{"nodes.left", I32, 1, {N}}, e->left.at},
        {{"nodes.right", I32, 1, {N}}, e->right.at},
        {{"roots", I32, 1, {T}}, e->roots.at},
        {{"columns", I32, 1, {T}}, e->tree_columns.at},
        {{"groups", I32, 1, {H}}, m->groups},
        {{"uses", I32, 1, {e->d}}, m->uses},
    };
    SURETY_TRY(make_voters(voters, parts, err));
    about = surety_model_facts_defaults();
    about.voter_set = SURETY_REAL;
    about.ball = (surety_ball){.norm = SURETY_LINF}; /* no usual radius, no box */
    snprintf(about.objective, sizeof about.objective, "imported");
    SURETY_TRY(surety_model_new(*voters, m->weights, m->weights, &about, out, err));
    *voters = NULL;
    surety_voters_changed((*out)->voters);
    return set_texts(e, *out, err);
}

/* ---- settings ---- */

static surety_status settle_classes(surety_ensemble *e, surety_error *err) {
    const surety_import_settings *s = e->settings;
    size_t K = e->columns > 2 ? e->columns : 2;
    if (s->class_count && s->class_count != K)
        return surety_fail(err, SURETY_E_USAGE, "%zu names for the %zu classes of the model", s->class_count,
                           K);
    if (!s->class_count) return SURETY_OK;
    json_decref(e->class_names);
    e->class_names = json_array();
    for (size_t k = 0; k < K && e->class_names; k++)
        e->class_names = surety_json_append(e->class_names, surety_json_string(s->classes[k]));
    return e->class_names ? SURETY_OK : surety_fail(err, SURETY_E_MEMORY, "no memory for names");
}

static surety_status settle_each_tree(surety_ensemble *e, surety_error *err) {
    if (!e->settings->each_tree) return SURETY_OK;
    if (!e->forest || e->roots.count < 2)
        return surety_fail(err, SURETY_E_USAGE, "only the trees of a forest are votes of their own");
    e->rule = SURETY_TREES_SHARE;
    e->cut = 0, e->divide = 1;
    return SURETY_OK;
}

/* By its first bytes. */
static size_t format_of(const surety_file *f) {
    if (f->size > 4 && !memcmp(f->data, "tree", 4)) return 1;
    return f->size > 8 && f->data[8] == '{' && f->data[0] != '{' ? 2 : 0;
}

/* A file that begins as none of the formats; the readers say what is wrong with one that does. */
static surety_status no_format(const surety_file *f, const char *path, surety_error *err) {
    const char *words = surety_looks_like(f->data, f->size);
    if (words && !strcmp(words, SURETY_LOOKS_TEXT)) words = NULL;
    surety_fail(err, SURETY_E_INPUT, "no model of trees that can be imported%s%s",
                words ? ": it looks like " : "", words ? words : "");
    surety_fail_file(err, path);
    surety_fail_expected(err,
                         "what Booster.save_model of XGBoost (.json, .ubj) or LightGBM writes, or "
                         "python/surety_sklearn.py for scikit-learn");
    return SURETY_E_INPUT;
}

static surety_status choose_format(const surety_import_settings *s, const surety_file *f, const char *path,
                                   size_t *format, surety_error *err) {
    const char *names[FORMATS + 1];
    for (size_t i = 0; i < FORMATS; i++) names[i] = formats[i].name;
    names[FORMATS] = "auto";
    SURETY_TRY(surety_name_find("format", s->format ? s->format : "auto", names, FORMATS + 1, format, err));
    if (*format < FORMATS) return SURETY_OK;
    *format = format_of(f);
    int known =
        *format || (f->size && f->data[0] && strchr("{ \t\r\n", f->data[0])) ||
        (f->size > 4 && !memcmp(f->data, "binf", 4)); /* XGBoost's old format: its reader has a sentence */
    return known ? SURETY_OK : no_format(f, path, err);
}

static surety_status import(surety_ensemble *e, const surety_file *file, const char *path, surety_model **out,
                            surety_error *err) {
    size_t format = 0;
    made m = {0};
    surety_voters *voters = NULL;
    SURETY_TRY(choose_format(e->settings, file, path, &format, err));
    surety_status status = formats[format].read(e, file, path, err);
    if (status == SURETY_OK) status = settle_threshold(e, err);
    if (status == SURETY_OK) status = settle_classes(e, err);
    if (status == SURETY_OK) status = settle_each_tree(e, err);
    if (status == SURETY_OK) status = build(e, &m, &voters, out, err);
    surety_voters_free(voters);
    void *parts[] = {m.groups, m.uses, m.scale, m.weights, m.leaves};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    return status;
}

surety_status surety_model_import(const char *path, const surety_import_settings *settings,
                                  surety_model **out, surety_error *err) {
    static const surety_import_settings automatic = {.format = "auto"};
    surety_file file;
    *out = NULL;
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_ensemble e = {.settings = settings ? settings : &automatic, .divide = 1, .vector = 1};
    surety_status status = import(&e, &file, path, out, err);
    if (status != SURETY_OK) {
        surety_model_free(*out);
        *out = NULL;
        surety_fail_file(err, path);
    }
    ensemble_free(&e);
    surety_file_close(&file);
    return status;
}

const char *surety_model_imported(const surety_model *model) {
    return strcmp(model->facts.objective, "imported") ? NULL : surety_model_text(model, "import.source");
}
