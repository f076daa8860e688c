#include "data/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "io/looks.h"
#include "io/zip.h"

typedef enum format { IDX, NPY, NPZ, LIBSVM, CSV } format;

static int ends_with(const char *text, size_t length, const char *end) {
    size_t n = strlen(end);
    return length >= n && !memcmp(text + length - n, end, n);
}

/* By name, so that a damaged file is called a damaged file of its kind; else by the first bytes. */
static format format_of(const char *path, const surety_file *file) {
    static const struct {
        const char *end;
        format is;
    } names[] = {{".npy", NPY},       {".npz", NPZ},    {".csv", CSV},        {".tsv", CSV},
                 {".libsvm", LIBSVM}, {".svm", LIBSVM}, {".svmlight", LIBSVM}};
    const char *name = surety_path_name(path);
    size_t length = strlen(name);
    if (ends_with(name, length, ".gz")) length -= 3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ends_with(name, length, names[i].end)) return names[i].is;
    const char *idx = strstr(name, "idx"); /* "-idx3-ubyte", ".idx", ".idx.gz" */
    if (idx && (!idx[3] || idx[3] == '.' || (idx[3] >= '1' && idx[3] <= '9'))) return IDX;
    if (file->size >= 6 && !memcmp(file->data, "\x93NUMPY", 6)) return NPY;
    if (surety_is_zip(file->data, file->size)) return NPZ;
    if (file->size >= 2 && !file->data[0] && !file->data[1]) return IDX;
    return surety_libsvm_is(file) ? LIBSVM : CSV;
}

/* A text file that is something else by its first bytes, whatever it is called. */
static surety_status check_looks(const surety_file *file, surety_error *err) {
    const char *words = surety_looks_like_no_table(file->data, file->size);
    if (!words) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "this is no table: it looks like %s", words);
    surety_fail_place(err, "byte 0");
    surety_fail_expected(err, "a table: CSV, NPY, NPZ, LIBSVM or IDX");
    return SURETY_E_INPUT;
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

/* The first member of an NPZ archive that has one of these names; out is empty if there is none. Names of the
 * members go into seen. */
static surety_status find_member(surety_file *out, const surety_file *archive, const char *const *names,
                                 size_t count, char seen[200], surety_error *err) {
    size_t used = 0;
    *out = (surety_file){0};
    for (size_t at = 0;;) {
        surety_zip_member m;
        SURETY_TRY(surety_zip_next(archive, &at, &m, err));
        if (!m.name) return SURETY_OK;
        for (size_t i = 0; i < count; i++)
            if (m.length == strlen(names[i]) + 4 && !memcmp(m.name, names[i], m.length - 4) &&
                !memcmp(m.name + m.length - 4, ".npy", 4))
                return surety_zip_read(out, archive, &m, err);
        if (used < 199 && m.length < 60)
            used +=
                (size_t)snprintf(seen + used, 200 - used, "%s%.*s", used ? ", " : "", (int)m.length, m.name);
    }
}

static surety_status read_npz(surety_table *table, surety_file *file, const surety_source *source,
                              int *labelled, surety_error *err) {
    static const char *const features[] = {"X", "x", "features"}, *const labels[] = {"y", "Y", "labels"};
    surety_file member;
    char seen[200] = "none";
    SURETY_TRY(find_member(&member, file, features, 3, seen, err));
    if (!member.data) {
        surety_fail(err, SURETY_E_INPUT, "the archive has no member X.npy or features.npy; its members: %s",
                    seen);
        surety_fail_expected(err, "numpy.savez(FILE, X=.., y=..)");
        return SURETY_E_INPUT;
    }
    surety_status status = read_npy(table, &member, source->path, err);
    surety_file_close(&member);
    if (status == SURETY_OK) status = find_member(&member, file, labels, 3, seen, err);
    *labelled = status == SURETY_OK && member.data;
    if (*labelled && !source->labels) status = parse_labels(table, &member, "y.npy", err);
    surety_file_close(&member);
    return status;
}

/* Columns, and labels where the file holds them. *labelled: it does. */
static surety_status parse_features(surety_table *table, surety_file *file, const surety_source *source,
                                    int *labelled, surety_error *err) {
    format kind = format_of(source->path, file);
    *labelled = kind == CSV || kind == LIBSVM;
    if (*labelled) SURETY_TRY(check_looks(file, err));
    if (kind == CSV) return surety_csv_read(table, file, source, err);
    if (kind == LIBSVM)
        SURETY_TRY(surety_libsvm_read(table, file, source, err));
    else
        SURETY_TRY(kind == IDX   ? surety_idx_features(table, file, err)
                   : kind == NPY ? read_npy(table, file, source->path, err)
                                 : read_npz(table, file, source, labelled, err));
    return surety_table_choose(table, &source->wanted, NULL, err);
}

static surety_status read_features(surety_table *table, const surety_source *source, int *labelled,
                                   surety_error *err) {
    surety_file file = {0};
    surety_status status = open_checked(table, 0, source, source->path, &file, err);
    if (status == SURETY_OK) status = parse_features(table, &file, source, labelled, err);
    surety_file_close(&file);
    if (status != SURETY_OK) surety_fail_file(err, source->path);
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
    int labelled = 0;
    SURETY_TRY(read_features(table, source, &labelled, err));
    if (table->rows > UINT32_MAX) {
        surety_fail(err, SURETY_E_INPUT, "%zu rows are more than can be numbered", table->rows);
        surety_fail_file(err, source->path);
        return SURETY_E_INPUT;
    }
    if (!labelled) return source->wanted.label_optional ? SURETY_OK : read_labels(table, source, err);
    if (!source->labels) return SURETY_OK;
    surety_fail(err, SURETY_E_USAGE, "the file holds its own labels, so %s cannot be its labels",
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
    for (size_t j = 0; table->categories && j < table->d; j++) surety_labels_free(&table->categories[j]);
    surety_free(table->categories);
    surety_labels_free(&table->labels);
    surety_labels_free(&table->units);
    surety_labels_free(&table->groups);
    surety_columns_free(&table->columns);
    surety_free(table->values);
    surety_npy_close(&table->array);
    surety_file_close(&table->file);
    *table = (surety_table){0};
}

/* ---- values ---- */

static float value_at(const surety_table *t, size_t row, size_t column) {
    float value = 0;
    if (t->floats) return t->floats[row * t->stride + column];
    if (t->bytes) return (float)t->bytes[row * t->d + column] / 255.0f;
    surety_npy_floats(&t->array, row * t->d + column, 1, &value);
    return value;
}

static float category_at(const surety_labels *categories, size_t row) {
    uint32_t number = categories->of[row];
    return number == SURETY_NO_CATEGORY ? (float)NAN : (float)number;
}

float surety_table_value(const surety_table *t, size_t row, size_t column) {
    return t->categories && t->categories[column].of ? category_at(&t->categories[column], row)
                                                     : value_at(t, row, column);
}

void surety_table_row(const surety_table *t, size_t row, float *out) {
    size_t first = row * t->d;
    if (t->floats)
        memcpy(out, t->floats + row * t->stride, t->d * sizeof *out);
    else if (!t->bytes)
        surety_npy_floats(&t->array, first, t->d, out);
    else
        for (size_t j = 0; j < t->d; j++) out[j] = (float)t->bytes[first + j] / 255.0f;
    for (size_t j = 0; t->categories && j < t->d; j++)
        if (t->categories[j].of) out[j] = category_at(&t->categories[j], row);
}

/* ---- columns of arrays ---- */

/* As it is in the file: bytes are not divided. */
static double raw_value(const surety_table *t, size_t row, size_t column) {
    double value = 0;
    if (t->floats) return (double)t->floats[row * t->stride + column];
    if (t->bytes) return t->bytes[row * t->d + column];
    surety_npy_doubles(&t->array, row * t->d + column, 1, &value);
    return value;
}

static int is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* A text of the caller as a file would give it: no blanks around it, nothing where it is missing. */
static surety_text text_of(const char *given) {
    if (!given) return (surety_text){0};
    surety_text t = {given, strlen(given)};
    while (t.length && is_blank(t.at[0])) t.at++, t.length--;
    while (t.length && is_blank(t.at[t.length - 1])) t.length--;
    if (surety_text_missing(&t)) t = (surety_text){0};
    return t;
}

/* A column as categories, as units or as groups. */
static surety_status categories_of(surety_labels *out, const surety_table *t, size_t column,
                                   surety_error *err) {
    char(*memory)[32] = NULL;
    surety_text *texts = NULL;
    size_t bad = 0;
    surety_status status = surety_alloc(&memory, t->rows, sizeof *memory, err);
    if (status == SURETY_OK) status = surety_alloc(&texts, t->rows, sizeof *texts, err);
    for (size_t i = 0; i < t->rows && status == SURETY_OK; i++) {
        if (t->texts && t->texts[column]) {
            texts[i] = text_of(t->texts[column][i]);
            continue;
        }
        double value = raw_value(t, i, column);
        if (!isnan(value))
            texts[i].at = surety_shortest(value, memory[i]), texts[i].length = strlen(memory[i]);
    }
    if (status == SURETY_OK) {
        status = surety_categories_make(out, texts, t->rows, &bad, err);
        if (status == SURETY_E_INPUT) surety_table_file_place(t, bad, column, err);
    }
    surety_free(texts);
    surety_free(memory);
    return status;
}

/* How many values of used columns change when they become floats. */
static void count_rounded(surety_table *t) {
    if (t->floats || t->bytes || t->array.dtype == SURETY_F4) return;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->columns.count; j++) {
            double value = raw_value(t, i, t->columns.from[j]);
            t->rounded += isfinite(value) && (double)(float)value != value;
        }
}

/* The used columns, side by side. */
static surety_status gather(surety_table *t, surety_error *err) {
    const surety_columns *c = &t->columns;
    surety_labels *categories = NULL;
    float *values = NULL;
    SURETY_TRY(surety_alloc(&values, t->rows * c->count, sizeof *values, err));
    surety_status status = surety_alloc(&categories, c->count, sizeof *categories, err);
    for (size_t j = 0; j < c->count && status == SURETY_OK; j++) {
        for (size_t i = 0; i < t->rows; i++) values[i * c->count + j] = value_at(t, i, c->from[j]);
        if (c->roles[c->from[j]] == SURETY_ROLE_CATEGORY)
            status = categories_of(&categories[j], t, c->from[j], err);
    }
    if (status == SURETY_OK && c->unit != SURETY_NO_COLUMN)
        status = categories_of(&t->units, t, c->unit, err);
    surety_free(t->values);
    t->values = values;
    t->categories = categories; /* of the columns that are used, as d is now */
    t->floats = values;
    t->d = t->stride = c->count;
    t->height = t->width = 0;
    return status;
}

/* What is used as a number is one. */
static surety_status check_numbers(const surety_table *t, surety_error *err) {
    const surety_columns *c = &t->columns;
    for (size_t j = 0; t->texts && j < c->file; j++) {
        if (!t->texts[j] || c->roles[j] != SURETY_ROLE_NUMBER) continue;
        surety_fail(err, SURETY_E_INPUT, "the column '%.64s' holds texts, no numbers", c->names[j]);
        surety_fail_expected(
            err, "numbers; or say what it is: a column of categories, of units, or to be dropped");
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

surety_status surety_table_choose(surety_table *t, const surety_wanted *wanted, const char *const *names,
                                  surety_error *err) {
    surety_wanted beside = *wanted;
    surety_text *texts = NULL;
    beside.label_beside = 1;
    t->index_column = SURETY_NO_COLUMN;
    if (names) SURETY_TRY(surety_alloc(&texts, t->d, sizeof *texts, err));
    for (size_t j = 0; names && j < t->d; j++) texts[j] = (surety_text){names[j], strlen(names[j])};
    surety_status status = surety_columns_make(&t->columns, texts, t->d, &beside, err);
    surety_free(texts);
    if (status == SURETY_OK) status = check_numbers(t, err);
    if (status != SURETY_OK) return status;
    count_rounded(t);
    if (t->columns.group != SURETY_NO_COLUMN) SURETY_TRY(categories_of(&t->groups, t, t->columns.group, err));
    return surety_columns_all(&t->columns) ? SURETY_OK : gather(t, err);
}

/* ---- two tables ---- */

static surety_status join_column(const surety_labels *first, surety_labels *second, size_t rows,
                                 surety_error *err) {
    const char **names = NULL;
    uint32_t *numbers = NULL;
    size_t count = first->count;
    SURETY_TRY(surety_alloc(&names, first->count + second->count, sizeof *names, err));
    surety_status status = surety_alloc(&numbers, second->count, sizeof *numbers, err);
    if (status != SURETY_OK) {
        surety_free(names);
        return status;
    }
    memcpy(names, first->names, first->count * sizeof *names);
    for (size_t k = 0, at = 0; k < second->count; k++) { /* both are sorted */
        while (at < first->count && strcmp(first->names[at], second->names[k]) < 0) at++;
        int there = at < first->count && !strcmp(first->names[at], second->names[k]);
        numbers[k] = (uint32_t)(there ? at : count);
        if (!there) names[count++] = second->names[k];
    }
    for (size_t i = 0; i < rows; i++)
        if (second->of[i] != SURETY_NO_CATEGORY) second->of[i] = numbers[second->of[i]];
    surety_free(second->names);
    second->names = names;
    second->count = count;
    surety_free(numbers);
    return SURETY_OK;
}

surety_status surety_table_join(const surety_table *t, surety_table *other, surety_error *err) {
    for (size_t j = 0; t->categories && j < t->d; j++)
        if (t->categories[j].of)
            SURETY_TRY(join_column(&t->categories[j], &other->categories[j], other->rows, err));
    return t->units.of && other->units.of ? join_column(&t->units, &other->units, other->rows, err)
                                          : SURETY_OK;
}

/* ---- places ---- */

void surety_table_place(const surety_table *t, size_t row, size_t column, surety_error *err) {
    surety_table_file_place(t, row, t->columns.from ? t->columns.from[column] : column, err);
}

void surety_table_file_place(const surety_table *t, size_t row, size_t from, surety_error *err) {
    if (t->separator)
        surety_fail_place(err, "line %zu, column %zu", row + t->first_line, from + 1);
    else if (t->first_line)
        surety_fail_place(err, "line %zu, index %zu", row + t->first_line, from + 1);
    else
        surety_fail_place(err, "row %zu, column %zu (from 0)", row, from);
    surety_fail_file(err, t->name);
}

void surety_table_label_place(const surety_table *t, size_t row, surety_error *err) {
    if (t->separator)
        surety_fail_place(err, "line %zu, column %zu", row + t->first_line, t->columns.label + 1);
    else if (t->first_line)
        surety_fail_place(err, "line %zu", row + t->first_line);
    else
        surety_fail_place(err, "row %zu", row);
    surety_fail_file(err, t->labels_name);
}
