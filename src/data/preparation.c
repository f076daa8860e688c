/* A preparation: its JSON, and what it does to a row (docs/data.md). Texts stay in the JSON that it was made
 * from.
 */
#include "data/preparation.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/number.h"

/* ---- names of settings ---- */

static const char *const missing_names[] = {"error", "median", "flag", "keep"};
static const char *const scaling_names[] = {"auto", "none", "standard", "minmax"};

surety_status surety_missing_parse(const char *name, surety_missing *rule, surety_error *err) {
    size_t index = 0;
    SURETY_TRY(surety_name_find("rule for missing values", name, missing_names, 4, &index, err));
    *rule = (surety_missing)index;
    return SURETY_OK;
}

const char *surety_missing_name(surety_missing rule) {
    return missing_names[rule];
}

surety_status surety_scaling_parse(const char *name, surety_scaling *scaling, surety_error *err) {
    size_t index = 0;
    SURETY_TRY(surety_name_find("scale", name, scaling_names, 4, &index, err));
    *scaling = (surety_scaling)index;
    return SURETY_OK;
}

const char *surety_scaling_name(surety_scaling scaling) {
    return scaling_names[scaling];
}

const char *surety_scaling_unit(surety_scaling scaling) {
    return scaling == SURETY_SCALE_STANDARD ? "standard deviations"
           : scaling == SURETY_SCALE_MINMAX ? "shares of the range"
                                            : "units of the data";
}

/* ---- from JSON ---- */

static surety_status bad(const char *key, const char *expected, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the preparation of the columns makes no sense");
    surety_fail_place(err, "key %s", key);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

/* A number that a float holds, or what it is where the key is not there. */
static int read_float(const json_t *object, const char *key, float absent, float *out) {
    const json_t *value = json_object_get(object, key);
    double number = value ? json_number_value(value) : (double)absent;
    *out = (float)number;
    return (!value || json_is_number(value)) && fabs(number) <= (double)FLT_MAX;
}

static int read_flag(const json_t *object, const char *key, int *out) {
    const json_t *value = json_object_get(object, key);
    *out = json_is_true(value);
    return !value || json_is_boolean(value);
}

/* Texts of a list into out, which has room. */
static int read_texts(const json_t *list, const char **out, size_t *count) {
    *count = json_array_size(list);
    for (size_t i = 0; i < *count; i++)
        if (!(out[i] = json_string_value(json_array_get(list, i)))) return 0;
    return !list || json_is_array(list);
}

static surety_status read_column(surety_column_preparation *c, const json_t *object, const char **categories,
                                 surety_error *err) {
    const json_t *list = json_object_get(object, "categories");
    c->name = json_string_value(json_object_get(object, "name"));
    c->categorical = list != NULL;
    c->categories = categories;
    if (!c->name || !c->name[0]) return bad("data.preparation: columns", "a name of each column", err);
    if (!read_flag(object, "constant", &c->constant) || !read_flag(object, "flag", &c->flag) ||
        !read_texts(list, c->categories, &c->category_count))
        return bad(c->name, "categories as a list of texts, constant and flag true or false", err);
    for (size_t k = 1; k < c->category_count; k++)
        if (strcmp(c->categories[k - 1], c->categories[k]) >= 0)
            return bad(c->name, "categories in the order of their bytes", err);
    if (!read_float(object, "shift", 0, &c->shift) || !read_float(object, "factor", 1, &c->factor) ||
        !read_float(object, "median", 0, &c->median) || !(c->factor > 0))
        return bad(c->name, "finite numbers, and a factor above 0", err);
    return SURETY_OK;
}

static size_t features_of(const surety_column_preparation *c) {
    size_t values = c->constant ? 0 : c->categorical ? c->category_count : 1;
    return values + (c->flag ? 1 : 0);
}

static surety_status read_settings(surety_preparation *r, surety_error *err) {
    const char *missing = json_string_value(json_object_get(r->root, "missing")),
               *scale = json_string_value(json_object_get(r->root, "scale"));
    const json_t *file = json_object_get(r->root, "file_columns");
    if (!missing || surety_missing_parse(missing, &r->missing, NULL) != SURETY_OK)
        return bad("data.preparation: missing", "error, median, flag or keep", err);
    if (!scale || surety_scaling_parse(scale, &r->scaling, NULL) != SURETY_OK ||
        r->scaling == SURETY_SCALE_AUTO)
        return bad("data.preparation: scale", "none, standard or minmax", err);
    if (!read_flag(r->root, "named", &r->named)) return bad("data.preparation: named", "true or false", err);
    if (!json_is_integer(file) || json_integer_value(file) < 0)
        return bad("data.preparation: file_columns", "a whole number", err);
    r->file_columns = (size_t)json_integer_value(file);
    long long at = json_integer_value(json_object_get(r->root, "label_column")); /* 0 if it is null */
    if (at < 0 || (size_t)at > r->file_columns)
        return bad("data.preparation: label_column", "a number of a column, or null", err);
    r->label_at = at ? (size_t)at - 1 : SURETY_NO_COLUMN;
    r->label = json_string_value(json_object_get(r->root, "label"));
    r->unit = json_string_value(json_object_get(r->root, "unit"));
    return SURETY_OK;
}

static surety_status read_columns(surety_preparation *r, surety_error *err) {
    const json_t *columns = json_object_get(r->root, "columns"),
                 *dropped = json_object_get(r->root, "dropped");
    size_t categories = 0, used = 0;
    r->column_count = json_array_size(columns);
    if (!r->column_count) return bad("data.preparation: columns", "a list", err);
    for (size_t j = 0; j < r->column_count; j++)
        categories += json_array_size(json_object_get(json_array_get(columns, j), "categories"));
    SURETY_TRY(surety_alloc(&r->columns, r->column_count, sizeof *r->columns, err));
    SURETY_TRY(surety_alloc(&r->categories, categories, sizeof *r->categories, err));
    SURETY_TRY(surety_alloc(&r->constant_names, r->column_count, sizeof *r->constant_names, err));
    SURETY_TRY(surety_alloc(&r->dropped, json_array_size(dropped), sizeof *r->dropped, err));
    if (!read_texts(dropped, r->dropped, &r->dropped_count))
        return bad("data.preparation: dropped", "a list of names", err);
    for (size_t j = 0; j < r->column_count; j++) {
        surety_column_preparation *c = &r->columns[j];
        SURETY_TRY(read_column(c, json_array_get(columns, j), r->categories + used, err));
        used += c->category_count;
        c->first = r->features;
        r->features += features_of(c);
        if (c->constant) r->constant_names[r->constants++] = c->name;
    }
    return SURETY_OK;
}

/* ---- features ---- */

static size_t name_bytes(const surety_preparation *r) {
    size_t bytes = 0;
    for (size_t j = 0; j < r->column_count; j++) {
        const surety_column_preparation *c = &r->columns[j];
        for (size_t k = 0; k < c->category_count; k++)
            bytes += strlen(c->name) + strlen(c->categories[k]) + 2;
        bytes += strlen(c->name) + sizeof " missing";
    }
    return bytes;
}

static surety_status name_features(surety_preparation *r, surety_error *err) {
    SURETY_TRY(surety_alloc(&r->names, r->features, sizeof *r->names, err));
    SURETY_TRY(surety_alloc(&r->moves, r->features, 1, err));
    SURETY_TRY(surety_alloc(&r->shift, r->features, sizeof *r->shift, err));
    SURETY_TRY(surety_alloc(&r->factor, r->features, sizeof *r->factor, err));
    SURETY_TRY(surety_alloc(&r->memory, name_bytes(r), 1, err));
    char *at = r->memory;
    for (size_t j = 0; j < r->column_count; j++) {
        const surety_column_preparation *c = &r->columns[j];
        size_t f = c->first;
        if (!c->categorical && !c->constant) {
            r->names[f] = c->name;
            r->moves[f] = 1;
            r->shift[f] = c->shift, r->factor[f++] = c->factor;
        }
        for (size_t k = 0; k < c->category_count && !c->constant; k++) {
            r->names[f] = at, r->factor[f++] = 1;
            at += sprintf(at, "%s=%s", c->name, c->categories[k]) + 1;
        }
        if (!c->flag) continue;
        r->names[f] = at, r->factor[f] = 1;
        at += sprintf(at, "%s missing", c->name) + 1;
    }
    return SURETY_OK;
}

/* Nothing that a reader could not guess. */
static int is_plain(const surety_preparation *r) {
    size_t j = 0;
    while (j < r->column_count && !r->columns[j].categorical && !r->columns[j].constant) j++;
    return j == r->column_count && !r->named && r->missing == SURETY_MISSING_ERROR &&
           r->scaling == SURETY_SCALE_NONE && !r->dropped_count && !r->unit;
}

surety_status surety_preparation_read(surety_preparation **out, json_t *root, surety_error *err) {
    surety_preparation *r = NULL;
    *out = NULL;
    surety_status status = root ? surety_alloc(&r, 1, sizeof *r, err) : SURETY_E_MEMORY;
    if (status != SURETY_OK) {
        json_decref(root);
        return surety_fail(err, SURETY_E_MEMORY, "no memory for the preparation of the columns");
    }
    r->root = root;
    status = read_settings(r, err);
    if (status == SURETY_OK) status = read_columns(r, err);
    if (status == SURETY_OK) status = name_features(r, err);
    if (status == SURETY_OK && !is_plain(r) && !(r->text = surety_json_canonical(json_incref(root))))
        status = surety_fail(err, SURETY_E_MEMORY, "no memory for the preparation of the columns");
    if (status == SURETY_OK)
        *out = r;
    else
        surety_preparation_free(r);
    return status;
}

void surety_preparation_free(surety_preparation *r) {
    if (!r) return;
    void *parts[] = {r->columns,       (void *)r->dropped, (void *)r->constant_names,
                     (void *)r->names, r->moves,           r->shift,
                     r->factor,        r->memory,          (void *)r->categories};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    free(r->text);
    json_decref(r->root);
    surety_free(r);
}

surety_status surety_preparation_decode(surety_preparation **out, const char *text, surety_error *err) {
    json_t *root = NULL;
    *out = NULL;
    SURETY_TRY(surety_json_parse(&root, text, strlen(text), "data.preparation", err));
    SURETY_TRY(surety_preparation_read(out, root, err));
    surety_preparation *r = *out;
    size_t j = 0;
    while (j < r->column_count &&
           (!r->columns[j].categorical || r->columns[j].constant ||
            (r->columns[j].category_count >= 2 && r->columns[j].category_count <= SURETY_CATEGORIES_MOST)))
        j++;
    if (r->features && r->text && j == r->column_count) return SURETY_OK;
    surety_preparation_free(r);
    *out = NULL;
    return bad("data.preparation: columns", "features, and 2 to 1000 categories", err);
}

/* ---- before anything is fitted ---- */

static json_t *text_or_null(const surety_columns *c, size_t column) {
    return column == SURETY_NO_COLUMN ? json_null() : surety_json_string(c->names[column]);
}

surety_status surety_preparation_begin(surety_preparation **out, const surety_columns *c,
                                       surety_missing missing, surety_scaling scaling, surety_error *err) {
    json_t *columns = json_array(), *dropped = json_array();
    for (size_t j = 0; j < c->count; j++) {
        json_t *one = SURETY_JSON_OBJECT({"name", surety_json_string(c->names[c->from[j]])});
        if (c->roles[c->from[j]] == SURETY_ROLE_CATEGORY)
            one = surety_json_put(one, "categories", json_array());
        columns = surety_json_append(columns, one);
    }
    for (size_t i = 0; i < c->file; i++)
        if (c->roles[i] == SURETY_ROLE_DROPPED)
            dropped = surety_json_append(dropped, surety_json_string(c->names[i]));
    return surety_preparation_read(
        out,
        SURETY_JSON_OBJECT(
            {"columns", columns}, {"dropped", dropped}, {"file_columns", surety_json_count(c->file)},
            {"label", text_or_null(c, c->label)},
            {"label_column", c->label == SURETY_NO_COLUMN ? json_null() : surety_json_count(c->label + 1)},
            {"missing", surety_json_string(surety_missing_name(missing))}, {"named", json_boolean(c->named)},
            {"scale", surety_json_string(surety_scaling_name(scaling))}, {"unit", text_or_null(c, c->unit)}),
        err);
}

surety_status surety_preparation_plain(surety_preparation **out, size_t d, surety_error *err) {
    surety_columns columns;
    const surety_wanted wanted = {.label_beside = 1};
    SURETY_TRY(surety_columns_make(&columns, NULL, d, &wanted, err));
    surety_status status =
        surety_preparation_begin(out, &columns, SURETY_MISSING_ERROR, SURETY_SCALE_NONE, err);
    surety_columns_free(&columns);
    return status;
}

/* ---- a row ---- */

static surety_row_fault number_row(const surety_preparation *r, const surety_column_preparation *c,
                                   float value, float *z, surety_preparation_counts *counts) {
    int missing = isnan(value);
    if (missing && r->missing == SURETY_MISSING_ERROR) return SURETY_ROW_MISSING;
    if (isinf(value)) return SURETY_ROW_INFINITE;
    if (c->flag) z[c->constant ? 0 : 1] = (float)missing;
    if (c->constant) return SURETY_ROW_FINE;
    if (missing && r->missing == SURETY_MISSING_KEEP) return counts->kept++, *z = value, SURETY_ROW_FINE;
    if (missing) counts->filled++, value = c->median;
    float moved = value - c->shift; /* both steps are rounded: no product may be fused with the difference */
    *z = moved * c->factor;
    return isfinite(*z) ? SURETY_ROW_FINE : SURETY_ROW_LARGE;
}

static surety_row_fault category_row(const surety_preparation *r, const surety_column_preparation *c,
                                     float value, float *z, surety_preparation_counts *counts) {
    int missing = isnan(value);
    size_t count = c->constant ? 0 : c->category_count;
    if (missing && r->missing == SURETY_MISSING_ERROR) return SURETY_ROW_MISSING;
    for (size_t k = 0; k < count; k++) z[k] = value == (float)k ? 1 : 0;
    if (c->flag) z[count] = (float)missing;
    counts->filled += (uint64_t)(missing && count);
    counts->unseen += (uint64_t)(value < 0);
    return SURETY_ROW_FINE;
}

surety_row_fault surety_preparation_row(const surety_preparation *r, const float *values, float *z,
                                        surety_preparation_counts *counts, size_t *bad_column) {
    for (size_t j = 0; j < r->column_count; j++) {
        const surety_column_preparation *c = &r->columns[j];
        surety_row_fault fault = c->categorical ? category_row(r, c, values[j], z + c->first, counts)
                                                : number_row(r, c, values[j], z + c->first, counts);
        if (fault != SURETY_ROW_FINE) return *bad_column = j, fault;
    }
    return SURETY_ROW_FINE;
}

surety_status surety_preparation_fault(const surety_preparation *r, surety_row_fault fault, size_t column,
                                       surety_error *err) {
    const char *name = r->columns[column].name;
    if (fault == SURETY_ROW_MISSING) {
        surety_fail(err, SURETY_E_INPUT, "a value of the column '%.64s' is missing (empty, NA or NaN)", name);
        surety_fail_expected(
            err,
            "a value in every field; or, when the model is trained, --missing median, flag or "
            "keep, or --drop '%.64s'",
            name);
    } else if (fault == SURETY_ROW_INFINITE) {
        surety_fail(err, SURETY_E_INPUT, "the feature is infinite");
        surety_fail_expected(err, "finite numbers that a float can hold");
    } else {
        surety_fail(err, SURETY_E_INPUT, "a value of the column '%.64s' is too large to be scaled", name);
        surety_fail_expected(err, "values like those of S'; or --scale none");
    }
    return SURETY_E_INPUT;
}

/* ---- rows of a caller ---- */

const char *surety_category_text(const char *text, char buffer[32]) {
    char *end = NULL;
    double value = surety_number(text, &end);
    if (end == text || *end || !isfinite(value) || strpbrk(text, "xXpP")) return text;
    return surety_shortest(value + 0.0, buffer);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

float surety_preparation_category(const surety_preparation *r, size_t column, const char *text) {
    const surety_column_preparation *c = &r->columns[column];
    const char **found =
        c->category_count ? bsearch(&text, c->categories, c->category_count, sizeof text, by_text) : NULL;
    return found ? (float)(found - c->categories) : -1;
}

static float cell(const surety_preparation *r, size_t column, float value, const char *text) {
    char buffer[2][32];
    if (!r->columns[column].categorical || (!text && isnan(value))) return value;
    if (!text) text = surety_shortest((double)value + 0.0, buffer[0]);
    return surety_preparation_category(r, column, surety_category_text(text, buffer[1]));
}

surety_status surety_preparation_apply(const surety_preparation *r, const surety_raw_rows *rows, float *x,
                                       size_t stride, surety_preparation_counts *counts, surety_error *err) {
    surety_preparation_counts ignored = {0};
    float *row = NULL;
    SURETY_TRY(surety_alloc(&row, r->column_count, sizeof *row, err));
    surety_status status = SURETY_OK;
    for (size_t i = 0; i < rows->m && status == SURETY_OK; i++) {
        size_t column = 0, at = i * r->column_count;
        for (size_t j = 0; j < r->column_count; j++)
            row[j] = cell(r, j, rows->values[at + j], rows->texts ? rows->texts[at + j] : NULL);
        surety_row_fault fault =
            surety_preparation_row(r, row, x + i * stride, counts ? counts : &ignored, &column);
        if (fault == SURETY_ROW_FINE) continue;
        status = surety_preparation_fault(r, fault, column, err);
        surety_fail_place(err, "row %zu, column %zu (from 0)", rows->first + i, column);
    }
    surety_free(row);
    return status;
}

void surety_preparation_scale(const surety_preparation *r, const float *x, float *z) {
    for (size_t j = 0; j < r->features; j++) {
        float moved = x[j] - r->shift[j];
        z[j] = moved * r->factor[j];
    }
}

void surety_preparation_undo(const surety_preparation *r, const float *z, float *x) {
    for (size_t j = 0; j < r->features; j++)
        x[j] = (float)((double)z[j] / (double)r->factor[j] + (double)r->shift[j]);
}

int surety_preparation_changes(const surety_preparation *r) {
    size_t j = 0;
    while (j < r->column_count && !r->columns[j].categorical && !r->columns[j].constant &&
           !r->columns[j].flag)
        j++;
    return j < r->column_count || r->scaling != SURETY_SCALE_NONE || r->missing == SURETY_MISSING_MEDIAN ||
           r->missing == SURETY_MISSING_FLAG;
}

size_t surety_preparation_columns(const surety_preparation *r) {
    return r->column_count;
}

const char *surety_preparation_column(const surety_preparation *r, size_t column) {
    return column < r->column_count ? r->columns[column].name : NULL;
}

size_t surety_preparation_features(const surety_preparation *r) {
    return r->features;
}

surety_scaling surety_preparation_scaling(const surety_preparation *r) {
    return r->scaling;
}

surety_features surety_preparation_describe(const surety_preparation *r) {
    return (surety_features){
        .d = r->features, .names = r->names, .shift = r->shift, .factor = r->factor, .moves = r->moves};
}
