/* Data sets: settings, opening the files of a task or one's own, what others may ask. */
#include "data/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/dataset.h"

const char *surety_set_text(surety_set_name which) {
    static const char *const names[SURETY_SETS] = {"prior", "learn", "test"};
    return (unsigned)which < SURETY_SETS ? names[which] : "unknown";
}

surety_set surety_set_slice(const surety_set *set, size_t first, size_t count) {
    surety_set part = *set;
    if (first > set->m) first = set->m;
    part.m = count < set->m - first ? count : set->m - first;
    size_t end = first + part.m, has = set->m - set->behind;
    part.before = set->before > end ? part.m : set->before > first ? set->before - first : 0;
    part.behind = end > has ? end - has : 0;
    if (part.behind > part.m - part.before) part.behind = part.m - part.before;
    if (first > set->before) part.x += (first - set->before) * set->stride;
    part.y += first;
    part.row += first;
    if (set->unit) part.unit += first;
    if (set->group) part.group += first;
    return part;
}

/* ---- settings ---- */

surety_data_settings surety_data_defaults(void) {
    return (surety_data_settings){
        .learn_share = 0.4, .test_share = 0.2, .boxed = SURETY_BOX_AUTO, .box_lo = 0, .box_hi = 1};
}

surety_status surety_data_usage(surety_error *err, const char *what, const char *expected) {
    surety_fail(err, SURETY_E_USAGE, "%s", what);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_USAGE;
}

static surety_status check_files(const surety_data_settings *s, surety_error *err) {
    if (!s->task && !s->train) return surety_data_usage(err, "no data", "a task, or a training file");
    if (s->task && s->fresh) return surety_data_usage(err, "a task, and fresh rows", "one of the two");
    if (s->task && (s->train || s->test || s->train_labels || s->test_labels || s->label_column ||
                    s->test_size || s->drop_count || s->categorical_count))
        return surety_data_usage(err, "a task has its own files and test set", "either a task or own files");
    if (s->task && s->class_count)
        return surety_data_usage(err, "a task has its own classes", "classes with own files only");
    if (s->task) return surety_task_find(s->task, err) ? SURETY_OK : SURETY_E_USAGE;
    if (s->fresh && s->test_size)
        return surety_data_usage(err, "fresh rows, and a test size", "all fresh rows in S");
    if (s->test && s->test_size)
        return surety_data_usage(err, "a test file and a test size", "one of the two");
    if (s->test_labels && !s->test)
        return surety_data_usage(err, "labels of a test file that is not given", "the file");
    return SURETY_OK;
}

size_t surety_data_named(const surety_data_settings *s) {
    return s->class_count == 1 && !strcmp(s->classes[0], "all") ? 0 : s->class_count;
}

surety_status surety_data_class_twice(const char *label, surety_error *err) {
    surety_fail(err, SURETY_E_USAGE, "the class '%.64s' is named twice", label);
    surety_fail_expected(err, "different labels");
    return SURETY_E_USAGE;
}

static surety_status check_classes(const surety_data_settings *s, surety_error *err) {
    size_t count = surety_data_named(s);
    if (count == 1 || count > SURETY_CLASSES_MOST)
        return surety_data_usage(err, "too few or too many classes", "2 to 255 labels, or all");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(s->classes[i], s->classes[k])) return surety_data_class_twice(s->classes[i], err);
    return SURETY_OK;
}

surety_status surety_data_check_split(const surety_data_settings *s, surety_error *err) {
    SURETY_TRY(check_classes(s, err));
    if (s->learn_size > UINT32_MAX || (!s->learn_size && !(s->learn_share > 0 && s->learn_share < 1)))
        return surety_data_usage(err, "learn_size is out of range",
                                 "1 to 4294967295 examples, or a share above 0 and below 1");
    if (s->test_size > UINT32_MAX || (!s->test_size && !(s->test_share >= 0 && s->test_share < 1)))
        return surety_data_usage(err, "test_size is out of range",
                                 "0 to 4294967295 examples, or a share from 0 and below 1");
    if ((unsigned)s->missing > SURETY_MISSING_KEEP || (unsigned)s->scaling > SURETY_SCALE_MINMAX)
        return surety_data_usage(err, "missing or scaling is out of range", "a value of surety/data.h");
    if (s->boxed < SURETY_BOX_AUTO || s->boxed > SURETY_BOX_GIVEN)
        return surety_data_usage(err, "boxed is out of range", "a value of surety/data.h");
    if (s->boxed == SURETY_BOX_GIVEN &&
        !(isfinite(s->box_lo) && isfinite(s->box_hi) && s->box_lo < s->box_hi))
        return surety_data_usage(err, "the box is empty or not finite",
                                 "two finite numbers, the smaller first");
    if ((unsigned)s->copies > SURETY_COPIES_DROP)
        return surety_data_usage(err, "copies is out of range", "refuse, keep or drop");
    if (s->seed >= SURETY_SEED_LIMIT) return surety_data_usage(err, "seed is out of range", "0 to 2^63 - 1");
    return SURETY_OK;
}

surety_status surety_data_validate(const surety_data_settings *s, surety_error *err) {
    SURETY_TRY(check_files(s, err));
    SURETY_TRY(surety_data_check_split(s, err));
    if ((unsigned)s->header > SURETY_HEADER_NO)
        return surety_data_usage(err, "header is out of range", "auto, yes or no");
    return SURETY_OK;
}

/* ---- reading ---- */

void surety_tables_close(surety_tables *o) {
    surety_table_close(&o->train);
    surety_table_close(&o->test);
    surety_preparation_free(o->preparation);
}

surety_wanted surety_data_wanted(const surety_data_settings *s) {
    return (surety_wanted){.label = s->label_column,
                           .unit = s->unit,
                           .group = s->group,
                           .drop = s->drop,
                           .drop_count = s->drop_count,
                           .categorical = s->categorical,
                           .categorical_count = s->categorical_count,
                           .preparation = s->preparation};
}

/* Bytes, rows of more than one axis, and what a task says are taken as they are. */
static surety_scaling scaling_of(const surety_table *t, const surety_data_settings *s, int task) {
    if (s->scaling != SURETY_SCALE_AUTO) return s->scaling;
    return task || t->bytes || t->scale > 1 || t->height ? SURETY_SCALE_NONE : SURETY_SCALE_STANDARD;
}

surety_status surety_tables_begin(surety_tables *o, const surety_data_settings *s, int task,
                                  surety_error *err) {
    if (s->preparation)
        return surety_preparation_read(&o->preparation, json_incref(s->preparation->root), err);
    return surety_preparation_begin(&o->preparation, &o->train.columns, s->missing,
                                    scaling_of(&o->train, s, task), err);
}

typedef struct sum_check {
    const surety_dataset *dataset;
    int first; /* TRAIN_IMAGES or TEST_IMAGES */
} sum_check;

static surety_status check_sum(void *arg, int which, const char *sum, surety_error *err) {
    const sum_check *c = arg;
    return surety_dataset_check(c->dataset, c->first + which, sum, err);
}

static surety_status open_task(surety_tables *o, const surety_data_settings *s, const surety_task *task,
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
    if (status == SURETY_OK) status = surety_tables_begin(o, s, 1, err);
    from.path = place.path[TEST_IMAGES], from.labels = place.path[TEST_LABELS];
    from.role = "test", from.labels_role = "test_labels", from.check_arg = &test;
    if (status == SURETY_OK) status = surety_table_open(&o->test, &from, err);
    o->has_test = 1;
    surety_place_free(&place);
    return status;
}

static surety_status open_own(surety_tables *o, const surety_data_settings *s, surety_error *err) {
    surety_source from = {.path = s->train,
                          .labels = s->train_labels,
                          .role = s->fresh ? "fresh" : "train",
                          .labels_role = s->fresh ? "fresh_labels" : "train_labels",
                          .wanted = surety_data_wanted(s),
                          .header = s->header,
                          .separator = s->separator};
    SURETY_TRY(surety_table_open(&o->train, &from, err));
    SURETY_TRY(surety_tables_begin(o, s, 0, err));
    if (!s->test) return SURETY_OK;
    from.wanted.preparation = o->preparation;
    if (!from.wanted.label || !s->preparation) from.wanted.label = o->preparation->label;
    from.path = s->test, from.labels = s->test_labels;
    from.role = "test", from.labels_role = "test_labels";
    SURETY_TRY(surety_table_open(&o->test, &from, err));
    o->has_test = 1;
    return surety_table_join(&o->train, &o->test, err);
}

/* All processes have read the same: from here on they rely on each other's rows. */
static surety_status agree(const surety_tables *o, const surety_data_settings *s, surety_error *err) {
    const surety_run run = surety_data_together(s);
    const surety_table *tables[] = {&o->train, &o->test};
    char digests[4 * SURETY_SHA256_TEXT] = "";
    for (size_t k = 0, used = 0; k < 2; k++)
        for (size_t i = 0; i < tables[k]->files; i++)
            used += (size_t)snprintf(digests + used, sizeof digests - used, "%s", tables[k]->used[i].sha256);
    return surety_agree("data", digests, &run, err);
}

surety_status surety_data_open(const surety_data_settings *settings, surety_data **out, surety_error *err) {
    surety_tables tables = {0};
    *out = NULL;
    SURETY_TRY(surety_data_validate(settings, err));
    const surety_task *task = settings->task ? surety_task_find(settings->task, err) : NULL;
    surety_status status = task ? open_task(&tables, settings, task, err) : open_own(&tables, settings, err);
    if (status == SURETY_OK) status = agree(&tables, settings, err);
    if (status == SURETY_OK) status = surety_data_build(out, &tables, settings, task, NULL, err);
    surety_tables_close(&tables);
    return status;
}

void surety_data_free(surety_data *data) {
    if (!data) return;
    for (int s = 0; s < SURETY_SETS; s++) {
        surety_free(data->own[s].x);
        surety_free(data->own[s].y);
        surety_free(data->own[s].row);
        surety_free(data->own[s].digests);
        surety_free(data->own[s].unit);
        surety_free(data->own[s].group);
    }
    for (int i = 0; i < 4; i++) surety_free(data->paths[i]);
    surety_free(data->label_text);
    surety_free(data->label_column);
    surety_free(data->index_column);
    surety_free(data->group_text);
    surety_free(data->group_names);
    surety_free(data->group_texts);
    surety_preparation_free(data->preparation);
    surety_free(data);
}

const surety_set *surety_data_set(const surety_data *data, surety_set_name which) {
    return (unsigned)which < SURETY_SETS ? &data->sets[which] : NULL;
}

const surety_preparation *surety_data_preparation(const surety_data *data) {
    return data->preparation;
}

const surety_data_info *surety_data_describe(const surety_data *data) {
    return &data->info;
}
