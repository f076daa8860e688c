/* XGBoost's JSON and UBJSON (docs/trees.md): gbtree and dart. Floats throughout; x < t goes left, which for
 * floats is x <= the float below t. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "model/import.h"

typedef struct booster {
    const json_t *learner, *model, *weights; /* weights: of dart, one per tree */
    const char *objective;
    long version[3];
    size_t classes, trees; /* num_class, and trees that count */
} booster;

static surety_status lacks(surety_error *err, const char *key, const char *expected) {
    surety_fail(err, SURETY_E_INPUT, "this is no model of XGBoost, or a part of it is missing");
    surety_fail_place(err, "key %s", key);
    surety_fail_expected(err, "%s; a file of Booster.save_model (.json or .ubj)", expected);
    return SURETY_E_INPUT;
}

/* A number that XGBoost writes as a text. */
static int number_of(const json_t *object, const char *key, double *out) {
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    char *end = NULL;
    *out = text ? surety_number(text, &end) : json_number_value(value);
    return text ? end != text && !*end : json_is_number(value);
}

static int count_of(const json_t *object, const char *key, size_t *out) {
    double number = 0;
    int fine = number_of(object, key, &number) && number >= 0 && number <= 0x1p31 && number == floor(number);
    *out = fine ? (size_t)number : 0;
    return fine;
}

/* ---- what kind of model it is ---- */

static surety_status find_model(booster *b, const json_t *root, surety_error *err) {
    b->learner = json_object_get(root, "learner");
    const json_t *version = json_object_get(root, "version"),
                 *g = json_object_get(b->learner, "gradient_booster");
    const char *name = json_string_value(json_object_get(g, "name"));
    if (!name) return lacks(err, "learner.gradient_booster.name", "gbtree or dart");
    for (size_t i = 0; i < 3; i++) b->version[i] = (long)json_integer_value(json_array_get(version, i));
    if (strcmp(name, "dart") && strcmp(name, "gbtree"))
        return surety_import_refuse(err, "key learner.gradient_booster.name", "the booster '%.40s'", name);
    if (!strcmp(name, "dart")) {
        b->weights = json_object_get(g, "weight_drop");
        g = json_object_get(g, "gbtree");
        if (!json_is_array(b->weights)) return lacks(err, "learner.gradient_booster.weight_drop", "a list");
    }
    b->model = json_object_get(g, "model");
    if (!json_is_array(json_object_get(b->model, "trees")))
        return lacks(err, "learner.gradient_booster.model.trees", "a list of trees");
    return SURETY_OK;
}

/* base_score: a number, a text, or a list of them in a text ("[5E-1]"); of a list the first. */
static surety_status read_base(const booster *b, const surety_ensemble *e, double *base, surety_error *err) {
    const json_t *value = json_object_get(json_object_get(b->learner, "learner_model_param"), "base_score");
    const char *text = json_string_value(value);
    size_t count = 0;
    if (json_is_number(value)) base[count++] = json_number_value(value);
    int list = text && *text == '[', whole = json_is_number(value);
    if (list) text++;
    while (text && count < e->columns) {
        char *end;
        base[count] = surety_number(text, &end);
        if (end == text) break;
        count++;
        whole = !strcmp(end, list ? "]" : "");
        text = *end == ',' ? end + 1 : NULL;
    }
    if (!whole || (count != 1 && count != e->columns))
        return lacks(err, "learner_model_param.base_score", "a number, or one for each class");
    for (size_t c = 0; c < e->columns; c++) base[c] = (double)(float)base[count == 1 ? 0 : c];
    return SURETY_OK;
}

/* How base_score becomes a margin, and scores a decision. */
static surety_status settle_objective(const booster *b, surety_ensemble *e, surety_error *err) {
    const char *name = b->objective;
    int logistic = !strcmp(name, "binary:logistic"), raw = !strcmp(name, "binary:logitraw");
    double base[SURETY_CLASSES_MOST] = {0}, P = e->settings->threshold;
    SURETY_TRY(read_base(b, e, base, err));
    for (size_t c = 0; c < e->columns; c++) {
        if (logistic && !(base[c] > 0 && base[c] < 1))
            return lacks(err, "learner_model_param.base_score", "a probability");
        e->start[c] = logistic ? (double)-logf(1.0f / (float)base[c] - 1.0f) : base[c];
        if (!isfinite(e->start[c])) return lacks(err, "learner_model_param.base_score", "a finite number");
    }
    if (logistic) return surety_ensemble_sigmoid(e, 1, err);
    e->rule = e->columns == 1 ? SURETY_TREES_CUT : SURETY_TREES_LARGEST;
    e->probability = raw;
    if (raw && P > 0 && P < 1) e->cut = (double)(float)log(P / (1 - P));
    if (!strcmp(name, "multi:softprob")) e->rule = SURETY_TREES_SOFTMAX32, e->slack = 0x1p-22;
    return SURETY_OK;
}

static surety_status read_objective(booster *b, surety_ensemble *e, surety_error *err) {
    static const char *const two[] = {"binary:logistic", "binary:logitraw", "binary:hinge"};
    static const char *const many[] = {"multi:softmax", "multi:softprob"};
    const json_t *param = json_object_get(b->learner, "learner_model_param");
    size_t targets = 1;
    int known = 0, several = 0;
    b->objective = json_string_value(json_object_get(json_object_get(b->learner, "objective"), "name"));
    if (!b->objective) return lacks(err, "learner.objective.name", "an objective");
    for (size_t i = 0; i < 3; i++) known |= !strcmp(b->objective, two[i]);
    for (size_t i = 0; i < 2; i++) several |= !strcmp(b->objective, many[i]);
    if (!known && !several)
        return surety_import_refuse(err, "key learner.objective.name", "the objective '%.60s'", b->objective);
    if (!count_of(param, "num_feature", &e->d) || !e->d)
        return lacks(err, "learner_model_param.num_feature", "a number of features");
    if (!count_of(param, "num_class", &b->classes))
        return lacks(err, "learner_model_param.num_class", "a number");
    if (json_object_get(param, "num_target") && (!count_of(param, "num_target", &targets) || targets != 1))
        return surety_import_refuse(err, "key learner_model_param.num_target", "%zu targets", targets);
    if (several ? b->classes < 2 || b->classes > SURETY_CLASSES_MOST : b->classes > 1)
        return surety_import_refuse(err, "key learner_model_param.num_class", "%zu classes of %s", b->classes,
                                    b->objective);
    e->columns = several ? b->classes : 1;
    e->type = SURETY_ELEMENT_F32;
    return settle_objective(b, e, err);
}

/* Trees up to best_iteration, unless all are wanted. */
static surety_status count_trees(booster *b, const surety_ensemble *e, surety_error *err) {
    size_t parallel = 1, best = 0, all = json_array_size(json_object_get(b->model, "trees"));
    const json_t *param = json_object_get(b->model, "gbtree_model_param");
    if (json_object_get(param, "num_parallel_tree") && !count_of(param, "num_parallel_tree", &parallel))
        return lacks(err, "gbtree_model_param.num_parallel_tree", "a number");
    if (!parallel) parallel = 1;
    if (b->weights && json_array_size(b->weights) != all)
        return lacks(err, "learner.gradient_booster.weight_drop", "a weight for each tree");
    b->trees = all;
    const json_t *attributes = json_object_get(b->learner, "attributes");
    if (e->settings->all_iterations || !json_object_get(attributes, "best_iteration")) return SURETY_OK;
    if (!count_of(attributes, "best_iteration", &best) || (best + 1) * parallel * e->columns > all)
        return lacks(err, "learner.attributes.best_iteration",
                     "an iteration that is there, or --iterations all");
    b->trees = (best + 1) * parallel * e->columns;
    return SURETY_OK;
}

/* ---- trees ---- */

static int is_true(const json_t *value) {
    return json_is_true(value) || json_integer_value(value) != 0;
}

static surety_status fill_tree(surety_raw_tree *t, const json_t *tree, float weight, surety_error *err) {
    const json_t *left = json_object_get(tree, "left_children"),
                 *right = json_object_get(tree, "right_children"),
                 *feature = json_object_get(tree, "split_indices"),
                 *at = json_object_get(tree, "split_conditions"),
                 *missing = json_object_get(tree, "default_left"),
                 *type = json_object_get(tree, "split_type");
    const json_t *lists[] = {left, right, feature, at, missing};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (json_array_size(lists[i]) != t->nodes)
            return lacks(err, "trees[].left_children", "lists of one length for the nodes of a tree");
    for (size_t i = 0; i < t->nodes; i++) {
        float value = (float)json_number_value(json_array_get(at, i));
        t->left[i] = json_integer_value(json_array_get(left, i));
        t->right[i] = json_integer_value(json_array_get(right, i));
        t->feature[i] = json_integer_value(json_array_get(feature, i));
        t->missing[i] = (uint8_t)is_true(json_array_get(missing, i));
        t->value[i] = (double)(value * weight);
        t->threshold[i] = isfinite(value) ? nextafterf(value, -HUGE_VALF) : value;
        if (!json_is_number(json_array_get(at, i)) || !json_is_integer(json_array_get(left, i)))
            return lacks(err, "trees[].split_conditions", "numbers");
        if (t->left[i] < -1 || (t->left[i] < 0) != (t->right[i] < 0))
            return lacks(err, "trees[].left_children", "two children, or -1 twice");
        if (t->left[i] >= 0 && is_true(json_array_get(type, i)))
            return surety_import_refuse(err, "key trees[].split_type", "a split by categories");
    }
    return SURETY_OK;
}

static surety_status add_tree(const booster *b, surety_ensemble *e, size_t i, surety_error *err) {
    const json_t *tree = json_array_get(json_object_get(b->model, "trees"), i);
    const json_t *info = json_array_get(json_object_get(b->model, "tree_info"), i);
    surety_raw_tree t;
    size_t vector = 1;
    if (count_of(json_object_get(tree, "tree_param"), "size_leaf_vector", &vector) && vector > 1)
        return surety_import_refuse(err, "key trees[].tree_param.size_leaf_vector", "leaves of %zu values",
                                    vector);
    if (!json_is_integer(info)) return lacks(err, "model.tree_info", "a class number for each tree");
    float weight = b->weights ? (float)json_number_value(json_array_get(b->weights, i)) : 1;
    surety_status status =
        surety_raw_tree_new(&t, json_array_size(json_object_get(tree, "left_children")), 1, err);
    if (status == SURETY_OK) status = fill_tree(&t, tree, weight, err);
    if (status == SURETY_OK) status = surety_ensemble_add(e, &t, (size_t)json_integer_value(info), err);
    surety_raw_tree_free(&t);
    return status;
}

static surety_status read_model(surety_ensemble *e, const json_t *root, surety_error *err) {
    booster b = {0};
    SURETY_TRY(find_model(&b, root, err));
    SURETY_TRY(read_objective(&b, e, err));
    SURETY_TRY(count_trees(&b, e, err));
    snprintf(e->source, sizeof e->source, "xgboost %ld.%ld.%ld", b.version[0], b.version[1], b.version[2]);
    json_t *names = json_object_get(b.learner, "feature_names");
    if (json_array_size(names) == e->d) e->feature_names = json_incref(names);
    for (size_t i = 0; i < b.trees; i++) SURETY_TRY(add_tree(&b, e, i, err));
    return SURETY_OK;
}

surety_status surety_import_xgboost(surety_ensemble *e, const surety_file *file, const char *path,
                                    surety_error *err) {
    json_t *root = NULL;
    int binary = file->size > 1 && file->data[0] == '{' && file->data[1] && strchr("iUIlL", file->data[1]);
    if (file->size > 4 && !memcmp(file->data, "binf", 4))
        return surety_import_refuse(err, "byte 0", "XGBoost's old binary format; save it as JSON or UBJSON");
    SURETY_TRY(binary ? surety_ubjson_parse(&root, file->data, file->size, path, err)
                      : surety_json_parse(&root, (const char *)file->data, file->size, path, err));
    surety_status status = read_model(e, root, err);
    json_decref(root);
    return status;
}
