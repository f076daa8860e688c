/* LightGBM's text format (docs/trees.md): gbdt, dart, rf; doubles throughout; x <= t goes left. A threshold
 * becomes the largest float that is not above it: for inputs that are floats the same test. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "model/import.h"

/* Lines "key=value" up to an empty line or the end; text and what is left of it. */
typedef struct section {
    const char *from, *to;
} section;

static surety_status lacks(surety_error *err, const char *place, const char *expected) {
    surety_fail(err, SURETY_E_INPUT, "this is no model of LightGBM, or a part of it is missing");
    surety_fail_place(err, "%s", place);
    surety_fail_expected(err, "%s; a text file of Booster.save_model", expected);
    return SURETY_E_INPUT;
}

/* The value of a key in a section, up to its line's end; NULL: there is none. "" as key=: a flag line. */
static const char *find(section s, const char *key) {
    size_t length = strlen(key);
    for (const char *at = s.from; at < s.to;) {
        const char *end = memchr(at, '\n', (size_t)(s.to - at));
        if (!end) end = s.to;
        if ((size_t)(end - at) >= length && !memcmp(at, key, length)) {
            const char *behind = at + length;
            if (behind == end || *behind == '\r') return behind;
            if (*behind == '=') return behind + 1;
        }
        at = end + 1;
    }
    return NULL;
}

static int count_of(section s, const char *key, size_t *out) {
    const char *text = find(s, key);
    char *end = NULL;
    double number = text ? surety_number(text, &end) : -1;
    int fine = text && end != text && number >= 0 && number <= 0x1p31 && number == floor(number);
    *out = fine ? (size_t)number : 0;
    return fine;
}

/* count numbers of a line, separated by blanks. */
static int numbers_of(section s, const char *key, size_t count, double *out) {
    const char *at = find(s, key);
    for (size_t i = 0; at && i < count; i++) {
        char *end;
        if (*at == '\n') return 0;
        out[i] = surety_number(at, &end);
        if (end == at || (*end != ' ' && *end != '\n' && *end != '\r' && *end)) return 0;
        at = *end == ' ' ? end + 1 : end;
    }
    return at && (*at == '\n' || *at == '\r' || !*at);
}

/* ---- trees ---- */

enum { CATEGORICAL = 1, DEFAULT_LEFT = 2, ZERO = 1, NOT_A_NUMBER = 2 };

/* The largest float not above t; LightGBM's largest doubles stand for "everything". */
static float float_below(double t) {
    float f = t > (double)FLT_MAX ? FLT_MAX : (float)t;
    return (double)f > t ? nextafterf(f, -HUGE_VALF) : f;
}

static surety_status fill_node(surety_raw_tree *t, size_t i, size_t inner, const double *row[5],
                               const char *place, surety_error *err) {
    unsigned type = (unsigned)row[4][i], missing = type >> 2 & 3;
    double threshold = row[1][i];
    if (type & CATEGORICAL) return surety_import_refuse(err, place, "a split by categories");
    if (missing == ZERO)
        return surety_import_refuse(err, place, "zeros that count as missing (zero_as_missing)");
    if (!(row[0][i] >= 0 && row[0][i] < 0x1p31) || isnan(threshold))
        return lacks(err, place, "features and thresholds that are numbers");
    t->feature[i] = (int64_t)row[0][i];
    t->threshold[i] = float_below(threshold);
    t->missing[i] = missing == NOT_A_NUMBER ? (type & DEFAULT_LEFT) != 0 : 0 <= threshold; /* NaN is 0 */
    for (size_t side = 0; side < 2; side++) {
        double child = row[2 + side][i];
        if (!(fabs(child) < 0x1p31)) return lacks(err, place, "children that are numbers");
        /* a leaf is -1 - its number; ours lie behind the inner nodes */
        *(side ? &t->right[i] : &t->left[i]) =
            child < 0 ? (int64_t)inner - 1 - (int64_t)child : (int64_t)child;
    }
    return SURETY_OK;
}

static surety_status fill_tree(surety_raw_tree *t, section s, size_t inner, double *memory, const char *place,
                               surety_error *err) {
    static const char *const keys[] = {"split_feature", "threshold", "left_child", "right_child",
                                       "decision_type"};
    const double *row[5];
    for (size_t k = 0; k < 5; k++) {
        row[k] = memory + k * inner;
        if (inner && !numbers_of(s, keys[k], inner, memory + k * inner)) return lacks(err, place, keys[k]);
    }
    if (!numbers_of(s, "leaf_value", inner + 1, t->value + inner)) return lacks(err, place, "leaf_value");
    for (size_t i = inner; i < t->nodes; i++) t->left[i] = -1;
    for (size_t i = 0; i < inner; i++) SURETY_TRY(fill_node(t, i, inner, row, place, err));
    return SURETY_OK;
}

static surety_status add_tree(surety_ensemble *e, section s, size_t column, surety_error *err) {
    size_t leaves = 0, categories = 0, linear = 0;
    char place[64];
    double *memory = NULL;
    surety_raw_tree t = {0};
    snprintf(place, sizeof place, "tree %zu", e->roots.count);
    /* a leaf is two bytes of text at least: more leaves than that are not there, and get no memory */
    if (!count_of(s, "num_leaves", &leaves) || !leaves || leaves > SURETY_TREE_NODES ||
        leaves > (size_t)(s.to - s.from) / 2)
        return lacks(err, place, "num_leaves");
    if (count_of(s, "num_cat", &categories) && categories)
        return surety_import_refuse(err, place, "splits by categories");
    if (count_of(s, "is_linear", &linear) && linear) return surety_import_refuse(err, place, "linear leaves");
    surety_status status = surety_alloc(&memory, 5 * leaves, sizeof *memory, err);
    if (status == SURETY_OK) status = surety_raw_tree_new(&t, 2 * leaves - 1, 1, err);
    if (status == SURETY_OK) status = fill_tree(&t, s, leaves - 1, memory, place, err);
    if (status == SURETY_OK) status = surety_ensemble_add(e, &t, column, err);
    surety_raw_tree_free(&t);
    surety_free(memory);
    return status;
}

/* ---- the head ---- */

static surety_status read_objective(surety_ensemble *e, section head, surety_error *err) {
    const char *text = find(head, "objective"), *at;
    size_t classes = 0, width = 0;
    double steep = 1;
    char name[40] = "none";
    if (text) snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " \r\n"), text);
    if (!count_of(head, "num_class", &classes)) return lacks(err, "key num_class", "num_class");
    if (count_of(head, "num_tree_per_iteration", &width) && width != classes)
        return surety_import_refuse(err, "key num_tree_per_iteration", "%zu trees for %zu classes", width,
                                    classes);
    if (!strcmp(name, "binary")) {
        e->columns = 1;
        at = strstr(text, "sigmoid:");
        if (at && at < text + strcspn(text, "\n")) steep = surety_number(at + 8, NULL);
        return classes == 1 ? surety_ensemble_sigmoid(e, steep, err) : lacks(err, "key num_class", "1");
    }
    if (strcmp(name, "multiclass") != 0)
        return surety_import_refuse(err, "key objective", "the objective '%.39s'", name);
    if (classes < 2 || classes > SURETY_CLASSES_MOST)
        return surety_import_refuse(err, "key num_class", "%zu classes", classes);
    e->columns = classes;
    e->rule = SURETY_TREES_SOFTMAX64, e->slack = 0x1p-50;
    return SURETY_OK;
}

static surety_status read_names(surety_ensemble *e, section head, surety_error *err) {
    const char *text = find(head, "feature_names");
    json_t *names = text ? json_array() : NULL;
    for (const char *at = text; names && at < head.to && *at != '\n' && *at != '\r';) {
        size_t length = strcspn(at, " \r\n");
        names = surety_json_append(names, json_stringn(at, length));
        at += length + (at[length] == ' ');
    }
    if (text && !names) return surety_import_refuse(err, "key feature_names", "names that are not UTF-8");
    e->feature_names = names;
    return SURETY_OK;
}

/* From "key" on to the line before the next one that begins with it, or to the end. */
static section next_section(const char *from, const char *to, const char *key) {
    const char *next = strstr(from + 1, key);
    return (section){from, next && next < to ? next + 1 : to};
}

static surety_status read_text(surety_ensemble *e, const char *text, surety_error *err) {
    const char *trees = strstr(text, "\nTree="), *end = strstr(text, "\nend of trees");
    size_t last = 0, count = 0;
    if (!trees || !end) return lacks(err, "the end", "trees, and 'end of trees' behind them");
    section head = {text, trees};
    const char *version = find(head, "version");
    snprintf(e->source, sizeof e->source, "lightgbm %.*s", version ? (int)strcspn(version, "\r\n") % 40 : 0,
             version ? version : "");
    e->type = SURETY_ELEMENT_F64;
    if (!count_of(head, "max_feature_idx", &last))
        return lacks(err, "key max_feature_idx", "max_feature_idx");
    e->d = last + 1;
    SURETY_TRY(read_objective(e, head, err));
    SURETY_TRY(read_names(e, head, err));
    for (const char *at = trees; at < end; count++) {
        section s = next_section(at, end, "\nTree=");
        SURETY_TRY(add_tree(e, (section){at + 1, s.to}, count % e->columns, err));
        at = s.to < end ? s.to - 1 : end;
    }
    if (count % e->columns) return lacks(err, "the end", "as many trees of each class");
    if (find(head, "average_output")) e->divide = (double)(count / e->columns), e->undivided = 1;
    return SURETY_OK;
}

surety_status surety_import_lightgbm(surety_ensemble *e, const surety_file *file, const char *path,
                                     surety_error *err) {
    char *text = NULL;
    (void)path;
    if (memchr(file->data, 0, file->size)) return lacks(err, "byte 0", "a text without zero bytes");
    SURETY_TRY(surety_alloc(&text, file->size + 1, 1, err));
    memcpy(text, file->data, file->size);
    surety_status status = read_text(e, text, err);
    surety_free(text);
    return status;
}
