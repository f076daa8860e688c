/* What S' says about the columns. Sums run in double over the rows of S' in the order of the file, so that
 * another program can repeat every bit:
 *   median    of the values that are there; the mean of the two in the middle
 *   standard  shift = mean, factor = 1 / sqrt(mean of (x - mean)^2)
 *   minmax    shift = smallest, factor = 1 / (largest - smallest)
 * each rounded to float at its end. */
#include "data/fit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST = 32 << 20, /* bytes of a preparation: a model's header may have 64 MB */
    WIDE = 16           /* columns that are gathered in one pass over the rows: a line of memory */
};

typedef struct fitting {
    const surety_preparation *like;
    const surety_table *table;
    uint32_t *rows; /* sorted */
    size_t count;
    float *values;  /* (WIDE, count) of the columns that are at work, those that are there */
    size_t n[WIDE]; /* how many */
} fitting;

static int by_row(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Mean of squares around the mean, and the mean. */
static double spread(const float *x, size_t n, double *mean) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    return squares / (double)n;
}

static surety_status cannot_scale(const char *name, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT,
                "the column '%.64s' cannot be scaled: its values are too large or too close", name);
    surety_fail_expected(err, "values between 1e-30 and 1e30; --scale none, or --drop '%.64s'", name);
    return SURETY_E_INPUT;
}

static int fills(const surety_preparation *r) {
    return r->missing == SURETY_MISSING_MEDIAN || r->missing == SURETY_MISSING_FLAG;
}

/* x: the n values that are there, in the order of rows; perhaps sorted when this returns. */
static surety_status fit_number(const fitting *f, const char *name, json_t **column, float *x, size_t n,
                                surety_error *err) {
    const surety_preparation *r = f->like;
    double shift = 0, factor = 1;
    float low = n ? x[0] : 0, high = low;
    if (n && r->scaling == SURETY_SCALE_STANDARD) factor = 1 / sqrt(spread(x, n, &shift));
    for (size_t i = 0; i < n; i++) {
        if (x[i] < low) low = x[i];
        if (x[i] > high) high = x[i];
    }
    int constant = !n || (r->scaling != SURETY_SCALE_NONE && low == high);
    if (fills(r) && !constant) SURETY_TRY(surety_sort(x, n, sizeof *x, by_value, err));
    if (fills(r) && !constant)
        *column = surety_json_put(
            *column, "median",
            surety_json_real((double)(float)(((double)x[(n - 1) / 2] + (double)x[n / 2]) / 2)));
    if (r->missing == SURETY_MISSING_FLAG && n < f->count && n)
        *column = surety_json_put(*column, "flag", json_true());
    if (constant) {
        *column = surety_json_put(*column, "constant", json_true());
        return SURETY_OK;
    }
    if (r->scaling == SURETY_SCALE_NONE) return SURETY_OK;
    if (r->scaling == SURETY_SCALE_MINMAX) shift = (double)low, factor = 1 / ((double)high - (double)low);
    if (!(factor >= (double)FLT_MIN && factor <= (double)FLT_MAX)) return cannot_scale(name, err);
    *column = surety_json_put(*column, "factor", surety_json_real((double)(float)factor));
    *column = surety_json_put(*column, "shift", surety_json_real((double)(float)shift));
    return SURETY_OK;
}

static surety_status too_many(const char *name, size_t count, size_t rows, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the column '%.64s' has %zu categories in %zu rows of S'", name, count,
                rows);
    surety_fail_expected(
        err, "at most %d; a column of names or numbers tells nothing about new rows: --drop '%.64s'",
        SURETY_CATEGORIES_MOST, name);
    return SURETY_E_INPUT;
}

/* Categories of S', in the order of the table's, which are sorted. */
static surety_status fit_category(const fitting *f, size_t j, const char *name, json_t **column,
                                  surety_error *err) {
    const surety_labels *known = &f->table->categories[j];
    json_t *list = json_array();
    uint8_t *seen = NULL;
    size_t found = 0, missing = 0;
    surety_status status = surety_alloc(&seen, known->count + 1, 1, err);
    for (size_t i = 0; i < f->count && status == SURETY_OK; i++) {
        uint32_t code = known->of[f->rows[i]];
        if (code == SURETY_NO_CATEGORY)
            missing++;
        else
            found += !seen[code], seen[code] = 1;
    }
    if (status == SURETY_OK && found > SURETY_CATEGORIES_MOST) status = too_many(name, found, f->count, err);
    for (size_t k = 0; k < known->count && status == SURETY_OK; k++)
        if (seen[k]) list = surety_json_append(list, surety_json_string(known->names[k]));
    surety_free(seen);
    if (status != SURETY_OK) {
        json_decref(list);
        return status;
    }
    *column = surety_json_put(*column, "categories", list);
    if (found < 2) *column = surety_json_put(*column, "constant", json_true());
    if (f->like->missing == SURETY_MISSING_FLAG && missing && found)
        *column = surety_json_put(*column, "flag", json_true());
    return SURETY_OK;
}

/* The values of the columns from `first` on that are there. */
static void gather(fitting *f, size_t first) {
    size_t left = f->like->column_count - first, wide = left < WIDE ? left : WIDE;
    memset(f->n, 0, sizeof f->n);
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; k < wide; k++) {
            float value = surety_table_value(f->table, f->rows[i], first + k);
            if (!isnan(value)) f->values[k * f->count + f->n[k]++] = value;
        }
}

static surety_status fit_columns(fitting *f, json_t **columns, surety_error *err) {
    for (size_t j = 0; j < f->like->column_count; j++) {
        const surety_column_preparation *c = &f->like->columns[j];
        json_t *column = SURETY_JSON_OBJECT({"name", surety_json_string(c->name)});
        int as_it_is = f->like->scaling == SURETY_SCALE_NONE && f->like->missing == SURETY_MISSING_ERROR;
        size_t k = j % WIDE;
        surety_status status = SURETY_OK;
        if (!k && !as_it_is) gather(f, j);
        if (c->categorical)
            status = fit_category(f, j, c->name, &column, err);
        else if (!as_it_is)
            status = fit_number(f, c->name, &column, f->values + k * f->count, f->n[k], err);
        if (status != SURETY_OK) {
            json_decref(column);
            return status;
        }
        *columns = surety_json_append(*columns, column);
    }
    return SURETY_OK;
}

static surety_status check_fitted(const surety_preparation *r, size_t count, surety_error *err) {
    if (!r->features) {
        surety_fail(err, SURETY_E_INPUT, "all columns are constant in the %zu rows of S'", count);
        surety_fail_expected(err, "columns with different values; more rows in S'");
        return SURETY_E_INPUT;
    }
    if (!r->text || strlen(r->text) < LONGEST) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the preparation of %zu columns is too long for a model",
                r->column_count);
    surety_fail_expected(err, "fewer columns or categories, or shorter names");
    return SURETY_E_INPUT;
}

static surety_status fit(fitting *f, surety_preparation **out, surety_error *err) {
    json_t *columns = json_array(), *root = NULL;
    surety_status status = surety_sort(f->rows, f->count, sizeof *f->rows, by_row, err);
    if (status == SURETY_OK) status = fit_columns(f, &columns, err);
    if (status != SURETY_OK) {
        json_decref(columns);
        return status;
    }
    root = surety_json_put(surety_json_copy(f->like->root), "columns", columns);
    SURETY_TRY(surety_preparation_read(out, root, err));
    return check_fitted(*out, f->count, err);
}

surety_status surety_preparation_fit(surety_preparation **out, const surety_preparation *like,
                                     const surety_table *table, const uint32_t *rows, size_t count,
                                     surety_error *err) {
    fitting f = {.like = like, .table = table, .count = count};
    *out = NULL;
    surety_status status = surety_alloc(&f.rows, count, sizeof *f.rows, err);
    size_t wide = like->column_count < WIDE ? like->column_count : WIDE;
    if (status == SURETY_OK) status = surety_alloc(&f.values, count * wide, sizeof *f.values, err);
    if (status == SURETY_OK) {
        if (count) memcpy(f.rows, rows, count * sizeof *rows);
        status = fit(&f, out, err);
    }
    surety_free(f.rows);
    surety_free(f.values);
    if (status == SURETY_OK) return SURETY_OK;
    surety_preparation_free(*out);
    *out = NULL;
    surety_fail_file(err, table->name);
    return status;
}

/* ---- rows ---- */

void surety_unbind(surety_binding *b) {
    for (size_t j = 0; b->numbers && j < b->preparation->column_count; j++) surety_free(b->numbers[j]);
    surety_free((void *)b->numbers);
    surety_free(b->row);
    *b = (surety_binding){0};
}

surety_status surety_bind(surety_binding *b, const surety_preparation *r, const surety_table *t,
                          surety_error *err) {
    *b = (surety_binding){.preparation = r, .table = t};
    surety_status status = surety_alloc(&b->row, r->column_count, sizeof *b->row, err);
    if (status == SURETY_OK) status = surety_alloc(&b->numbers, r->column_count, sizeof *b->numbers, err);
    for (size_t j = 0; j < r->column_count && status == SURETY_OK; j++) {
        if (!r->columns[j].categorical) continue;
        const surety_labels *known = &t->categories[j];
        status = surety_alloc(&b->numbers[j], known->count, sizeof **b->numbers, err);
        for (size_t k = 0; k < known->count && status == SURETY_OK; k++)
            b->numbers[j][k] = surety_preparation_category(r, j, known->names[k]);
    }
    if (status != SURETY_OK) surety_unbind(b);
    return status;
}

surety_status surety_bound_row(const surety_binding *b, size_t row, float *z,
                               surety_preparation_counts *counts, surety_error *err) {
    const surety_preparation *r = b->preparation;
    size_t column = 0;
    surety_table_row(b->table, row, b->row);
    for (size_t j = 0; j < r->column_count; j++)
        if (b->numbers[j] && !isnan(b->row[j])) b->row[j] = b->numbers[j][(size_t)b->row[j]];
    surety_row_fault fault = surety_preparation_row(r, b->row, z, counts, &column);
    if (fault == SURETY_ROW_FINE) return SURETY_OK;
    surety_preparation_fault(r, fault, column, err);
    surety_table_place(b->table, row, column, err);
    return SURETY_E_INPUT;
}
