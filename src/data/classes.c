/* Which labels become classes, and in which order: the ones that were named, else all that occur. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

/* A label in a message: text in quotes, a number without. */
static void quote(char text[64], const char *label, int whole) {
    snprintf(text, 64, whole ? "%s" : "'%.60s'", label);
}

/* "0, 1, 2 .. (60000 in all)" */
static void list_labels(char *text, size_t size, const char *const *names, size_t count, int whole) {
    char name[64];
    size_t n = 0;
    for (size_t i = 0; i < count && i < 12 && n + 120 < size; i++) {
        quote(name, names[i], whole);
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", name);
    }
    if (count > 12) snprintf(text + n, size - n, " .. (%zu in all)", count);
}

/* The number of a label by its text, or labels->count. A number may be written in any way: 07 is 7. */
static size_t find(const surety_labels *labels, const char *text) {
    char number[24], *end = NULL;
    size_t i = 0;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (labels->whole && end != text && !*end && !errno) {
        snprintf(number, sizeof number, "%lld", value);
        text = number;
    }
    while (i < labels->count && strcmp(labels->names[i], text) != 0) i++;
    return i;
}

/* ---- choosing ---- */

static surety_status too_few_or_many(const surety_table *train, surety_error *err) {
    const surety_labels *labels = &train->labels;
    char name[64];
    quote(name, labels->names[0], labels->whole);
    if (labels->count < 2) {
        surety_fail(err, SURETY_E_INPUT, "all labels are %s", name);
        surety_fail_expected(err, "at least two classes");
    } else {
        surety_fail(err, SURETY_E_INPUT, "%zu different labels are too many for classes", labels->count);
        surety_fail_expected(err,
                             "at most %d classes, or some of them by name (--classes A,B,..); if the labels "
                             "are measurements (regression), surety cannot predict them",
                             SURETY_CLASSES_MOST);
    }
    surety_fail_file(err, train->labels_name);
    return SURETY_E_INPUT;
}

static surety_status no_such_label(const surety_table *train, const char *wanted, surety_error *err) {
    const surety_labels *labels = &train->labels;
    const char *near = labels->whole ? NULL : surety_nearest(wanted, labels->names, labels->count);
    char text[1000], name[64];
    quote(name, wanted, labels->whole);
    list_labels(text, sizeof text, labels->names, labels->count, labels->whole);
    surety_fail(err, SURETY_E_INPUT, "the class %s does not occur%s%.60s%s", name,
                near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    surety_fail_expected(err, "classes (--classes A,B,..) of those that occur: %s", text);
    surety_fail_file(err, train->labels_name);
    return SURETY_E_INPUT;
}

/* The labels that become class 0, 1, ... Rows declared fresh need not have all of them: their classes are a
 * model's. */
static surety_status choose_named(const char **names, const surety_table *train, const char *const *wanted,
                                  size_t count, int fresh, surety_error *err) {
    for (size_t k = 0; k < count; k++) {
        size_t number = find(&train->labels, wanted[k]);
        if (number == train->labels.count && !fresh) return no_such_label(train, wanted[k], err);
        names[k] = number < train->labels.count ? train->labels.names[number] : wanted[k];
        for (size_t j = 0; j < k; j++)
            if (!strcmp(names[j], names[k])) return surety_data_class_twice(wanted[k], err);
    }
    return SURETY_OK;
}

static surety_status keep_labels(surety_data *data, const char *const *names, size_t count,
                                 surety_error *err) {
    size_t bytes = 0;
    for (size_t k = 0; k < count; k++) bytes += strlen(names[k]) + 1;
    SURETY_TRY(surety_alloc(&data->label_text, bytes, 1, err));
    char *at = data->label_text;
    for (size_t k = 0; k < count; k++) {
        data->labels[k] = memcpy(at, names[k], strlen(names[k]) + 1);
        at += strlen(names[k]) + 1;
    }
    return SURETY_OK;
}

static void note(surety_data *data, const surety_labels *labels, const surety_task *task, size_t count) {
    surety_data_info *info = &data->info;
    info->classes = count;
    info->labels = data->labels;
    info->whole = labels->whole;
    info->class_names = task ? task->class_names : NULL;
    info->class_sha256 = data->class_sha256;
    for (int s = 0; s < SURETY_SETS; s++) info->class_m[s] = data->class_m[s];
}

/* NA and its like, which say that a field is empty, are a class only by name. */
static surety_status check_missing(const surety_table *train, surety_error *err) {
    for (size_t n = 0; n < train->labels.count; n++) {
        const char *name = train->labels.names[n];
        size_t row = 0;
        if (!surety_text_missing(&(surety_text){name, strlen(name)})) continue;
        while (train->labels.of[row] != n) row++;
        surety_fail(err, SURETY_E_INPUT, "the label '%s' says that a value is missing", name);
        surety_fail_expected(
            err, "a label in every row; or name the classes (--classes A,B,..), with '%s' if it is one",
            name);
        surety_table_label_place(train, row, err);
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

/* A label of the test rows that no training row has would be dropped silently. */
static surety_status check_test(const surety_table *test, const surety_table *train, surety_error *err) {
    char text[1000], name[64];
    for (size_t n = 0; n < test->labels.count; n++) {
        size_t row = 0;
        if (find(&train->labels, test->labels.names[n]) < train->labels.count) continue;
        while (test->labels.of[row] != n) row++;
        quote(name, test->labels.names[n], test->labels.whole);
        list_labels(text, sizeof text, train->labels.names, train->labels.count, train->labels.whole);
        surety_fail(err, SURETY_E_INPUT, "the label %s does not occur in the training rows", name);
        surety_fail_expected(
            err, "one of %s; or name the classes (--classes A,B,..), which leaves out all others", text);
        surety_table_label_place(test, row, err);
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

surety_status surety_classes_choose(surety_data *data, const surety_tables *tables,
                                    const surety_data_settings *s, const surety_task *task,
                                    surety_error *err) {
    const surety_table *train = &tables->train;
    const char *const *wanted = task ? task->labels : s->classes;
    const char *names[SURETY_CLASSES_MOST];
    size_t count = task ? task->classes : surety_data_named(s);
    if (count) {
        SURETY_TRY(choose_named(names, train, wanted, count, s->fresh, err));
    } else {
        count = train->labels.count;
        if (count < 2 || count > SURETY_CLASSES_MOST) return too_few_or_many(train, err);
        for (size_t k = 0; k < count; k++) names[k] = train->labels.names[k];
        SURETY_TRY(check_missing(train, err));
        if (tables->has_test) SURETY_TRY(check_test(&tables->test, train, err));
    }
    SURETY_TRY(keep_labels(data, names, count, err));
    note(data, &train->labels, task, count);
    return SURETY_OK;
}

surety_status surety_classes_of_rows(const surety_data_info *info, const surety_table *table, uint8_t *out,
                                     surety_error *err) {
    const surety_labels *labels = &table->labels;
    uint8_t *class_of = NULL; /* by the number of the label */
    SURETY_TRY(surety_alloc(&class_of, labels->count, 1, err));
    memset(class_of, SURETY_CLASSES_MOST, labels->count);
    for (size_t k = 0; k < info->classes; k++) {
        size_t number = find(labels, info->labels[k]);
        if (number < labels->count) class_of[number] = (uint8_t)k;
    }
    for (size_t i = 0; i < table->rows; i++) out[i] = class_of[labels->of[i]];
    surety_free(class_of);
    return SURETY_OK;
}

/* ---- after the split ---- */

/* Voters cannot learn a class that S' does not have. Of two classes that shows at once, in their errors; a
 * rare one of many would be overlooked. */
static surety_status check_prior(const surety_data_info *info, const surety_table *train, surety_error *err) {
    char name[64];
    size_t k = 0;
    while (k < info->classes && info->class_m[SURETY_SET_PRIOR][k]) k++;
    if (k == info->classes || info->classes == 2) return SURETY_OK;
    quote(name, info->labels[k], info->whole);
    surety_fail(err, SURETY_E_INPUT, "no row of the class %s is left for S': %zu in S, %zu in T", name,
                info->class_m[SURETY_SET_LEARN][k], info->class_m[SURETY_SET_TEST][k]);
    surety_fail_expected(err,
                         "every class in S': a smaller S (--learn-size), more rows of the class, or "
                         "--classes without it");
    surety_fail_file(err, train->labels_name);
    return SURETY_E_INPUT;
}

surety_status surety_classes_check_sets(const surety_data_info *info, const surety_tables *tables,
                                        surety_error *err) {
    const size_t *test = info->class_m[SURETY_SET_TEST];
    char name[64];
    size_t k = 0;
    if (!info->fresh) SURETY_TRY(check_prior(info, &tables->train, err));
    while (k < info->classes && test[k] < info->m[SURETY_SET_TEST]) k++;
    if (!tables->has_test || k == info->classes) return SURETY_OK;
    quote(name, info->labels[k], info->whole);
    if (test[k])
        surety_fail(err, SURETY_E_INPUT, "all test rows are of the class %s", name);
    else
        surety_fail(err, SURETY_E_INPUT, "no test row is of any of the classes");
    surety_fail_expected(err, "rows of at least two of the classes");
    surety_fail_file(err, tables->test.labels_name);
    return SURETY_E_INPUT;
}
