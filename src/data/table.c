#include "data/table.h"

#include <string.h>

typedef enum format { IDX, NPY, CSV } format;

static int ends_with(const char *text, size_t length, const char *end) {
    size_t n = strlen(end);
    return length >= n && !memcmp(text + length - n, end, n);
}

/* By name, so that a damaged file is called a damaged file of its kind; else by the first bytes. */
static format format_of(const char *path, const surety_file *file) {
    const char *name = surety_path_name(path);
    size_t length = strlen(name);
    if (ends_with(name, length, ".gz")) length -= 3;
    if (ends_with(name, length, ".npy")) return NPY;
    if (ends_with(name, length, ".csv")) return CSV;
    const char *idx = strstr(name, "idx"); /* "-idx3-ubyte", ".idx", ".idx.gz" */
    if (idx && (!idx[3] || idx[3] == '.' || (idx[3] >= '1' && idx[3] <= '9'))) return IDX;
    if (file->size >= 6 && !memcmp(file->data, "\x93NUMPY", 6)) return NPY;
    return file->size >= 2 && !file->data[0] && !file->data[1] ? IDX : CSV;
}

/* ---- labels ---- */

static surety_status npy_labels(surety_table *table, const surety_npy *array, surety_error *err) {
    if (array->ndim != 1 || array->count != table->rows) {
        surety_fail(err, SURETY_E_INPUT, "labels of %d dimension(s), %zu values, for %zu rows of features",
                    array->ndim, array->count, table->rows);
        surety_fail_expected(err, "one dimension with one label per row");
        return SURETY_E_INPUT;
    }
    double *values = NULL;
    SURETY_TRY(surety_alloc(&values, table->rows, sizeof *values, err));
    surety_npy_doubles(array, 0, table->rows, values);
    surety_status status = surety_labels_numbers(table, values, err);
    surety_free(values);
    return status;
}

/* ---- the labels' file beside the features ---- */

/* path with the last occurrence of from in its file name replaced by to, or NULL in *out if there is none. */
static surety_status replace(char **out, const char *path, const char *from, const char *to,
                             surety_error *err) {
    const char *found = NULL;
    *out = NULL;
    for (const char *p = surety_path_name(path); (p = strstr(p, from)) != NULL; p++) found = p;
    if (!found) return SURETY_OK;
    SURETY_TRY(surety_join(out, path, to, "", err)); /* long enough */
    size_t before = (size_t)(found - path), n = strlen(to);
    memcpy(*out + before, to, n);
    memcpy(*out + before + n, found + strlen(from), strlen(found + strlen(from)) + 1);
    return SURETY_OK;
}

/* "idx3" and such become "idx1". */
static void one_dimension(char *path) {
    char *idx = strstr(path + (surety_path_name(path) - path), "idx");
    if (idx && idx[3] >= '2' && idx[3] <= '9') idx[3] = '1';
}

static surety_status find_labels(char **out, const char *path, surety_error *err) {
    static const char *const names[][2] = {
        {"images", "labels"}, {"features", "labels"}, {"X", "y"}, {".npy", "_labels.npy"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        SURETY_TRY(replace(out, path, names[i][0], names[i][1], err));
        if (!*out) continue;
        one_dimension(*out);
        int there = 0;
        surety_status status = surety_path_look(*out, &there, err);
        if (there) return SURETY_OK;
        surety_free(*out);
        *out = NULL;
        if (status != SURETY_OK) return status;
    }
    surety_fail(err, SURETY_E_INPUT, "there is no file of labels beside it");
    surety_fail_expected(err,
                         "'labels' for 'images' or 'features' in the name, 'y' for 'X', or '_labels' "
                         "before '.npy'; or name it with --train-labels or --test-labels");
    surety_fail_file(err, path);
    return SURETY_E_INPUT;
}

/* ---- reading ---- */

/* Opens a file, checks its sum where one is known, and notes it in used[which]. */
static surety_status open_checked(surety_table *table, int which, const surety_source *source,
                                  const char *path, surety_file *file, surety_error *err) {
    surety_data_file *used = &table->used[which];
    char *copy = NULL;
    SURETY_TRY(surety_join(&copy, path, "", "", err));
    used->path = table->labels_name = copy;
    if (!which) table->name = copy;
    used->role = which ? source->labels_role : source->role;
    table->files = (size_t)which + 1;
    SURETY_TRY(surety_file_open(file, path, err));
    used->bytes = file->size;
    surety_status status = surety_sha256(file->data, file->size, used->sha256, err);
    if (status == SURETY_OK && source->check)
        status = source->check(source->check_arg, which, used->sha256, err);
    return status;
}

static surety_status read_npy(surety_table *table, surety_file *file, const char *path, surety_error *err) {
    surety_npy *a = &table->array;
    SURETY_TRY(surety_npy_parse(a, file, path, err));
    if (a->ndim < 2 || a->count == 0) {
        surety_fail(err, SURETY_E_INPUT, "features of %d dimension(s) and %zu values", a->ndim, a->count);
        surety_fail_expected(err, "an array (m, d) or (m, ...) with m rows");
        return SURETY_E_INPUT;
    }
    table->rows = a->shape[0];
    table->d = a->count / a->shape[0];
    if (a->ndim == 3) table->height = a->shape[1], table->width = a->shape[2];
    table->bytes = a->dtype == SURETY_U1 ? a->data : NULL;
    table->scale = table->bytes ? 255 : 1;
    return SURETY_OK;
}

/* The features' file; *with_labels: it holds the labels too. */
static surety_status read_features(surety_table *table, const surety_source *source, int *with_labels,
                                   surety_error *err) {
    surety_file file = {0};
    surety_status status = open_checked(table, 0, source, source->path, &file, err);
    format kind = status == SURETY_OK ? format_of(source->path, &file) : CSV;
    *with_labels = kind == CSV;
    if (status == SURETY_OK)
        status = kind == IDX   ? surety_idx_features(table, &file, err)
                 : kind == NPY ? read_npy(table, &file, source->path, err)
                               : surety_csv_read(table, &file, source->label_column, source->header, err);
    surety_file_close(&file);
    if (status != SURETY_OK) surety_fail_file(err, source->path);
    return status;
}

static surety_status parse_labels(surety_table *table, surety_file *file, const char *path,
                                  surety_error *err) {
    format kind = format_of(path, file);
    int texts = 0;
    if (kind == IDX) return surety_idx_labels(table, file, err);
    SURETY_TRY(surety_npy_texts(table, file, &texts, err));
    if (texts) return SURETY_OK;
    surety_npy array = {0};
    surety_status status = surety_npy_parse(&array, file, path, err);
    if (status == SURETY_OK) status = npy_labels(table, &array, err);
    surety_npy_close(&array);
    return status;
}

static surety_status read_labels(surety_table *table, const surety_source *source, surety_error *err) {
    char *beside = NULL;
    surety_file file = {0};
    if (!source->labels) SURETY_TRY(find_labels(&beside, source->path, err));
    const char *path = beside ? beside : source->labels;
    surety_status status = open_checked(table, 1, source, path, &file, err);
    if (status == SURETY_OK) status = parse_labels(table, &file, path, err);
    surety_file_close(&file);
    if (status != SURETY_OK) surety_fail_file(err, path);
    surety_free(beside);
    return status;
}

static surety_status read_both(surety_table *table, const surety_source *source, surety_error *err) {
    int with_labels = 0;
    SURETY_TRY(read_features(table, source, &with_labels, err));
    if (table->rows > UINT32_MAX) {
        surety_fail(err, SURETY_E_INPUT, "%zu rows are more than can be numbered", table->rows);
        surety_fail_file(err, source->path);
        return SURETY_E_INPUT;
    }
    if (!with_labels) return read_labels(table, source, err);
    if (!source->labels) return SURETY_OK;
    surety_fail(err, SURETY_E_USAGE, "a CSV file holds its own labels, so %s cannot be its labels",
                source->labels);
    surety_fail_file(err, source->path);
    return SURETY_E_USAGE;
}

surety_status surety_table_open(surety_table *out, const surety_source *source, surety_error *err) {
    *out = (surety_table){0};
    surety_status status = read_both(out, source, err);
    if (status != SURETY_OK) surety_table_close(out);
    return status;
}

void surety_table_close(surety_table *table) {
    for (int i = 0; i < 2; i++) {
        union {
            const char *path;
            void *memory;
        } cast = {table->used[i].path}; /* const for readers, ours to free */
        surety_free(cast.memory);
    }
    surety_labels_free(&table->labels);
    surety_free(table->values);
    surety_npy_close(&table->array);
    surety_file_close(&table->file);
    *table = (surety_table){0};
}

void surety_table_row(const surety_table *table, size_t row, float *out) {
    size_t first = row * table->d;
    if (table->floats)
        memcpy(out, table->floats + row * table->stride, table->d * sizeof *out);
    else if (!table->bytes)
        surety_npy_floats(&table->array, first, table->d, out);
    else
        for (size_t j = 0; j < table->d; j++) out[j] = (float)table->bytes[first + j] / 255.0f;
}

void surety_table_place(const surety_table *table, size_t row, size_t column, surety_error *err) {
    if (table->first_line)
        surety_fail_place(err, "line %zu, column %zu", row + table->first_line,
                          column + 1 + (column >= table->label_column));
    else
        surety_fail_place(err, "row %zu, column %zu (from 0)", row, column);
    surety_fail_file(err, table->name);
}

void surety_table_label_place(const surety_table *table, size_t row, surety_error *err) {
    if (table->first_line)
        surety_fail_place(err, "line %zu, column %zu", row + table->first_line, table->label_column + 1);
    else
        surety_fail_place(err, "row %zu", row);
    surety_fail_file(err, table->labels_name);
}
