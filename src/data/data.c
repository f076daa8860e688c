/* From files to S', S and T: pick two classes, split, check every feature (docs/theory.md 1 and 6). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "data/dataset.h"
#include "data/equal.h"
#include "data/table.h"

struct surety_data {
    surety_set sets[SURETY_SETS];
    struct {
        float *x;
        int8_t *y;
        uint32_t *row;
    } own[SURETY_SETS]; /* what the sets point to */
    surety_data_info info;
    char *paths[4]; /* of info.file */
};

const char *surety_set_text(surety_set_name which) {
    static const char *const names[SURETY_SETS] = {"prior", "learn", "test"};
    return (unsigned)which < SURETY_SETS ? names[which] : "unknown";
}

surety_set surety_set_slice(const surety_set *set, size_t first, size_t count) {
    surety_set part = *set;
    if (first > set->m) first = set->m;
    part.m = count < set->m - first ? count : set->m - first;
    part.x += first * set->stride;
    part.y += first;
    part.row += first;
    return part;
}

/* ---- settings ---- */

surety_data_settings surety_data_defaults(void) {
    return (surety_data_settings){.learn_size = 5000, .boxed = 1, .box_lo = 0, .box_hi = 1};
}

static surety_status usage(surety_error *err, const char *what, const char *expected) {
    surety_fail(err, SURETY_E_USAGE, "%s", what);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_USAGE;
}

static surety_status check_files(const surety_data_settings *s, surety_error *err) {
    if (!s->task && !s->train) return usage(err, "no data", "a task, or a training file");
    if (s->task &&
        (s->train || s->test || s->train_labels || s->test_labels || s->label_column || s->test_size))
        return usage(err, "a task has its own files and test set", "either a task or own files");
    if (s->task && s->classes_given)
        return usage(err, "a task has its own classes", "classes with own files only");
    if (s->task) return surety_task_find(s->task, err) ? SURETY_OK : SURETY_E_USAGE;
    if (!s->test && !s->test_size)
        return usage(err, "no test set", "a test file, or how many training rows to set aside (--test-size)");
    if (s->test && s->test_size) return usage(err, "a test file and a test size", "one of the two");
    if (s->test_labels && !s->test) return usage(err, "labels of a test file that is not given", "the file");
    return SURETY_OK;
}

surety_status surety_data_check(const surety_data_settings *s, surety_error *err) {
    SURETY_TRY(check_files(s, err));
    if (s->classes_given && s->classes[0] == s->classes[1])
        return usage(err, "the two classes are the same", "two different labels");
    if (s->learn_size < 1 || s->learn_size > UINT32_MAX)
        return usage(err, "learn_size is out of range", "1 to 4294967295 examples");
    if (s->test_size > UINT32_MAX) return usage(err, "test_size is out of range", "0 to 4294967295 examples");
    if (s->boxed && !(isfinite(s->box_lo) && isfinite(s->box_hi) && s->box_lo < s->box_hi))
        return usage(err, "the box is empty or not finite", "two finite numbers, the smaller first");
    if (s->seed >= SURETY_SEED_LIMIT) return usage(err, "seed is out of range", "0 to 2^63 - 1");
    if ((unsigned)s->header > SURETY_HEADER_NO)
        return usage(err, "header is out of range", "auto, yes or no");
    return SURETY_OK;
}

/* ---- reading ---- */

typedef struct opened {
    surety_table train, test; /* test empty: T comes from train */
    int has_test;
} opened;

static void close_tables(opened *o) {
    surety_table_close(&o->train);
    surety_table_close(&o->test);
}

typedef struct sum_check {
    const surety_dataset *dataset;
    int first; /* TRAIN_IMAGES or TEST_IMAGES */
} sum_check;

static surety_status check_sum(void *arg, int which, const char *sum, surety_error *err) {
    const sum_check *c = arg;
    return surety_dataset_check(c->dataset, c->first + which, sum, err);
}

static surety_status open_task(opened *o, const surety_data_settings *s, const surety_task *task,
                               surety_error *err) {
    surety_place place;
    const surety_dataset *dataset = surety_dataset_named(task->dataset, err);
    if (!dataset) return SURETY_E_USAGE;
    SURETY_TRY(surety_dataset_find(&place, dataset, s->data_dir, err));
    sum_check train = {dataset, TRAIN_IMAGES}, test = {dataset, TEST_IMAGES};
    surety_source from = {.path = place.path[TRAIN_IMAGES],
                          .labels = place.path[TRAIN_LABELS],
                          .role = "train",
                          .labels_role = "train_labels",
                          .check = check_sum,
                          .check_arg = &train};
    surety_status status = surety_table_open(&o->train, &from, err);
    from.path = place.path[TEST_IMAGES], from.labels = place.path[TEST_LABELS];
    from.role = "test", from.labels_role = "test_labels", from.check_arg = &test;
    if (status == SURETY_OK) status = surety_table_open(&o->test, &from, err);
    o->has_test = 1;
    surety_place_free(&place);
    return status;
}

static surety_status open_own(opened *o, const surety_data_settings *s, surety_error *err) {
    surety_source from = {.path = s->train,
                          .labels = s->train_labels,
                          .role = "train",
                          .labels_role = "train_labels",
                          .label_column = s->label_column,
                          .header = s->header};
    SURETY_TRY(surety_table_open(&o->train, &from, err));
    if (!s->test) return SURETY_OK;
    from.path = s->test, from.labels = s->test_labels;
    from.role = "test", from.labels_role = "test_labels";
    SURETY_TRY(surety_table_open(&o->test, &from, err));
    o->has_test = 1;
    return SURETY_OK;
}

/* The two files must fit, and must not be the same rows twice. */
static surety_status compare_tables(const opened *o, surety_error *err) {
    const surety_data_file *train = o->train.used, *test = o->test.used;
    if (!o->has_test) return SURETY_OK;
    if (o->train.d != o->test.d || o->train.scale != o->test.scale) {
        surety_fail(err, SURETY_E_INPUT, "%zu features%s, but the training file has %zu%s", o->test.d,
                    o->test.scale > 1 ? " in bytes" : "", o->train.d, o->train.scale > 1 ? " in bytes" : "");
        surety_fail_expected(err, "the same features in both files");
        surety_fail_file(err, test->path);
        return SURETY_E_INPUT;
    }
    if (o->train.names[0] && o->test.names[0] && strcmp(o->train.names, o->test.names) != 0) {
        surety_fail(err, SURETY_E_INPUT, "the columns have other names than in the training file");
        surety_fail_expected(err, "the same names in the same order as in %s", train->path);
        surety_fail_place(err, "line 1");
        surety_fail_file(err, test->path);
        return SURETY_E_INPUT;
    }
    if (strcmp(train->sha256, test->sha256) != 0) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the test file has the same content as the training file");
    surety_fail_expected(err, "other rows than those of %s, or a test size instead of a test file",
                         train->path);
    surety_fail_file(err, test->path);
    return SURETY_E_INPUT;
}

/* ---- classes ---- */

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The different labels of a table, ascending, into *values (surety_free). */
static surety_status distinct_labels(const surety_table *t, int64_t **values, size_t *count,
                                     surety_error *err) {
    SURETY_TRY(surety_alloc(values, t->rows, sizeof **values, err));
    memcpy(*values, t->labels, t->rows * sizeof **values);
    qsort(*values, t->rows, sizeof **values, by_value);
    *count = 0;
    for (size_t i = 0; i < t->rows; i++)
        if (!*count || (*values)[*count - 1] != (*values)[i]) (*values)[(*count)++] = (*values)[i];
    return SURETY_OK;
}

/* "0, 1, 2 .. (60000 in all)" */
static void list_labels(char *text, size_t size, const int64_t *values, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count && i < 12; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)values[i]);
    if (count > 12) snprintf(text + n, size - n, " .. (%zu in all)", count);
}

static int occurs(const int64_t *values, size_t count, int64_t label) {
    return bsearch(&label, values, count, sizeof label, by_value) != NULL;
}

/* Both classes must occur in the file; where they were not named, no third may. */
static surety_status check_classes(const surety_table *t, const int64_t classes[2], int named,
                                   surety_error *err) {
    int64_t *values = NULL;
    size_t count = 0;
    char text[400];
    surety_status status = distinct_labels(t, &values, &count, err);
    if (status != SURETY_OK) return status;
    list_labels(text, sizeof text, values, count);
    for (int c = 0; c < 2 && status == SURETY_OK; c++)
        if (!occurs(values, count, classes[c]))
            status = surety_fail(err, SURETY_E_INPUT, "the class %lld does not occur", (long long)classes[c]);
    if (status == SURETY_OK && !named && count > 2)
        status = surety_fail(err, SURETY_E_INPUT, "labels of more than two classes");
    if (status != SURETY_OK) {
        surety_fail_expected(err, "two classes (--classes A,B) of those that occur: %s", text);
        surety_fail_file(err, t->used[t->files - 1].path);
    }
    surety_free(values);
    return status;
}

/* The two labels that become -1 and +1. */
static surety_status choose_classes(surety_data_info *info, const surety_data_settings *s,
                                    const surety_task *task, const surety_table *train, surety_error *err) {
    const int64_t *given = task ? task->classes : s->classes;
    if (task || s->classes_given) {
        info->classes[0] = given[0], info->classes[1] = given[1];
        return SURETY_OK;
    }
    int64_t *values = NULL;
    size_t count = 0;
    SURETY_TRY(distinct_labels(train, &values, &count, err));
    info->classes[0] = values[0], info->classes[1] = values[count > 1];
    surety_free(values);
    if (count > 1) return SURETY_OK; /* more than two: check_classes says so */
    surety_fail(err, SURETY_E_INPUT, "all labels are %lld", (long long)info->classes[0]);
    surety_fail_expected(err, "two classes");
    surety_fail_file(err, train->used[train->files - 1].path);
    return SURETY_E_INPUT;
}

/* Rows of the two classes in file order into *rows (surety_free). */
static surety_status pick_rows(const surety_table *t, const int64_t classes[2], uint32_t **rows,
                               size_t *count, surety_error *err) {
    SURETY_TRY(surety_alloc(rows, t->rows, sizeof **rows, err));
    *count = 0;
    for (size_t i = 0; i < t->rows; i++)
        if (t->labels[i] == classes[0] || t->labels[i] == classes[1]) (*rows)[(*count)++] = (uint32_t)i;
    return SURETY_OK;
}

/* ---- splitting ---- */

static surety_status shuffle(uint32_t *rows, size_t count, uint64_t seed, surety_error *err) {
    uint32_t *order = NULL, *copy = NULL;
    const surety_address address = {.purpose = SURETY_FOR_SPLIT};
    surety_status status = surety_alloc(&order, count, sizeof *order, err);
    if (status == SURETY_OK) status = surety_alloc(&copy, count, sizeof *copy, err);
    if (status == SURETY_OK) {
        memcpy(copy, rows, count * sizeof *rows);
        surety_random_order(seed, &address, order, (uint32_t)count);
        for (size_t i = 0; i < count; i++) rows[i] = copy[order[i]];
    }
    surety_free(order);
    surety_free(copy);
    return status;
}

static surety_status check_enough(const surety_data_settings *s, size_t count, const char *path,
                                  surety_error *err) {
    if (count > s->learn_size + s->test_size) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "%zu rows of the two classes are too few", count);
    surety_fail_expected(err, "at least %zu: %zu for S (--learn-size), %zu for T, and one for S'",
                         s->learn_size + s->test_size + 1, s->learn_size, s->test_size);
    surety_fail_file(err, path);
    return SURETY_E_INPUT;
}

/* A feature that is not finite or not in the box. Features are compared as floats, so is the box. */
static surety_status check_row(const surety_data_info *info, const surety_table *t, size_t row,
                               const float *x, surety_error *err) {
    float lo = info->boxed ? (float)info->box_lo : -INFINITY,
          hi = info->boxed ? (float)info->box_hi : INFINITY;
    size_t j = 0;
    while (j < t->d && isfinite(x[j]) && x[j] >= lo && x[j] <= hi) j++;
    if (j == t->d) return SURETY_OK;
    if (!isfinite(x[j])) {
        surety_fail(err, SURETY_E_INPUT, "the feature is %s",
                    isnan(x[j]) ? "not a number (NaN)" : "infinite");
        surety_fail_expected(err, "finite numbers that a float can hold");
    } else {
        surety_fail(err, SURETY_E_INPUT, "the feature %g is outside the box [%g, %g]", (double)x[j],
                    info->box_lo, info->box_hi);
        surety_fail_expected(err, "scaled features, another box (--box LO,HI), or none (--box none)");
    }
    surety_table_place(t, row, j, err);
    return SURETY_E_INPUT;
}

/* Fills one set with these rows of a table. */
static surety_status fill_set(surety_data *data, surety_set_name which, const surety_table *t,
                              const uint32_t *rows, size_t m, surety_error *err) {
    surety_set *set = &data->sets[which];
    size_t stride = surety_padded(t->d), floats = 0;
    if (__builtin_mul_overflow(m, stride, &floats))
        return surety_fail(err, SURETY_E_MEMORY, "%zu rows of %zu features are too many", m, t->d);
    SURETY_TRY(surety_alloc(&data->own[which].x, floats, sizeof(float), err));
    SURETY_TRY(surety_alloc(&data->own[which].y, m, sizeof(int8_t), err));
    SURETY_TRY(surety_alloc(&data->own[which].row, m, sizeof(uint32_t), err));
    for (size_t i = 0; i < m; i++) {
        float *x = data->own[which].x + i * stride;
        int positive = t->labels[rows[i]] == data->info.classes[1];
        surety_table_row(t, rows[i], x);
        SURETY_TRY(check_row(&data->info, t, rows[i], x, err));
        data->own[which].y[i] = positive ? 1 : -1;
        data->own[which].row[i] = rows[i];
        data->info.positive[which] += (size_t)positive;
    }
    *set = (surety_set){m, t->d, stride, data->own[which].x, data->own[which].y, data->own[which].row, which};
    data->info.m[which] = m;
    return SURETY_OK;
}

static surety_status fill_test(surety_data *data, const surety_table *test, surety_error *err) {
    uint32_t *rows = NULL;
    size_t count = 0;
    surety_status status = pick_rows(test, data->info.classes, &rows, &count, err);
    if (status == SURETY_OK) status = fill_set(data, SURETY_SET_TEST, test, rows, count, err);
    data->info.test = count;
    surety_free(rows);
    return status;
}

/* rows: those of the two classes, already in the order of the split: S, then T unless it has its own file,
 * then S'. */
static surety_status fill_sets(surety_data *data, const opened *o, const surety_data_settings *s,
                               const uint32_t *rows, size_t count, surety_error *err) {
    size_t learn = s->learn_size, test = o->has_test ? 0 : s->test_size;
    SURETY_TRY(check_enough(s, count, o->train.used[0].path, err));
    SURETY_TRY(fill_set(data, SURETY_SET_LEARN, &o->train, rows, learn, err));
    SURETY_TRY(fill_set(data, SURETY_SET_PRIOR, &o->train, rows + learn + test, count - learn - test, err));
    data->info.train = count - test;
    data->info.test = test;
    if (o->has_test) return fill_test(data, &o->test, err);
    return fill_set(data, SURETY_SET_TEST, &o->train, rows + learn, test, err);
}

static surety_status split(surety_data *data, const opened *o, const surety_data_settings *s,
                           surety_error *err) {
    uint32_t *rows = NULL;
    size_t count = 0;
    surety_status status = pick_rows(&o->train, data->info.classes, &rows, &count, err);
    if (status == SURETY_OK && data->info.shuffled) status = shuffle(rows, count, s->seed, err);
    if (status == SURETY_OK) status = fill_sets(data, o, s, rows, count, err);
    surety_free(rows);
    return status;
}

/* ---- what was opened ---- */

static surety_status note_files(surety_data *data, const surety_table *t, surety_error *err) {
    surety_data_info *info = &data->info;
    for (size_t i = 0; i < t->files; i++) {
        SURETY_TRY(surety_join(&data->paths[info->files], t->used[i].path, "", "", err));
        info->file[info->files] = t->used[i];
        info->file[info->files].path = data->paths[info->files];
        info->files++;
    }
    return SURETY_OK;
}

static surety_status note(surety_data *data, const opened *o, const surety_data_settings *s,
                          const surety_task *task, surety_error *err) {
    surety_data_info *info = &data->info;
    info->task = task ? task->name : NULL;
    for (int c = 0; task && c < 2; c++) info->class_names[c] = task->class_names[c];
    info->scale = o->train.scale;
    info->boxed = s->boxed, info->box_lo = s->box_lo, info->box_hi = s->box_hi;
    info->d = o->train.d, info->height = o->train.height, info->width = o->train.width;
    info->shuffled = !task;
    info->seed = task ? 0 : s->seed;
    info->learn_size = s->learn_size, info->test_size = s->test_size;
    if (task)
        snprintf(info->split, sizeof info->split,
                 "S: the first %zu training rows of the two classes in file order; S': the rest; T: the test "
                 "file",
                 s->learn_size);
    else
        snprintf(
            info->split, sizeof info->split,
            "training rows of the two classes shuffled by seed %llu; S: the first %zu; T: %s; S': the rest",
            (unsigned long long)s->seed, s->learn_size, s->test ? "the test file" : "the next");
    SURETY_TRY(note_files(data, &o->train, err));
    return note_files(data, &o->test, err);
}

static surety_status count_equal_rows(surety_data *data, surety_error *err) {
    size_t shared[SURETY_SETS][SURETY_SETS];
    SURETY_TRY(surety_equal_rows(data->sets, shared, err));
    data->info.learn_in_prior = shared[SURETY_SET_LEARN][SURETY_SET_PRIOR];
    data->info.test_in_prior = shared[SURETY_SET_TEST][SURETY_SET_PRIOR];
    data->info.test_in_learn = shared[SURETY_SET_TEST][SURETY_SET_LEARN];
    return SURETY_OK;
}

static surety_status build(surety_data *data, opened *o, const surety_data_settings *s, surety_error *err) {
    const surety_task *task = s->task ? surety_task_find(s->task, err) : NULL;
    SURETY_TRY(task ? open_task(o, s, task, err) : open_own(o, s, err));
    SURETY_TRY(compare_tables(o, err));
    SURETY_TRY(choose_classes(&data->info, s, task, &o->train, err));
    int named = task || s->classes_given;
    SURETY_TRY(check_classes(&o->train, data->info.classes, named, err));
    if (o->has_test) SURETY_TRY(check_classes(&o->test, data->info.classes, named, err));
    SURETY_TRY(note(data, o, s, task, err));
    SURETY_TRY(split(data, o, s, err));
    return count_equal_rows(data, err);
}

surety_status surety_data_open(surety_data **out, const surety_data_settings *settings, surety_error *err) {
    surety_data *data = NULL;
    opened tables = {0};
    *out = NULL;
    SURETY_TRY(surety_data_check(settings, err));
    SURETY_TRY(surety_alloc(&data, 1, sizeof *data, err));
    surety_status status = build(data, &tables, settings, err);
    close_tables(&tables);
    if (status == SURETY_OK)
        *out = data;
    else
        surety_data_free(data);
    return status;
}

void surety_data_free(surety_data *data) {
    if (!data) return;
    for (int s = 0; s < SURETY_SETS; s++) {
        surety_free(data->own[s].x);
        surety_free(data->own[s].y);
        surety_free(data->own[s].row);
    }
    for (int i = 0; i < 4; i++) surety_free(data->paths[i]);
    surety_free(data);
}

const surety_set *surety_data_set(const surety_data *data, surety_set_name which) {
    return (unsigned)which < SURETY_SETS ? &data->sets[which] : NULL;
}

const surety_data_info *surety_data_describe(const surety_data *data) {
    return &data->info;
}
