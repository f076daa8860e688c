/* What was opened, and what could be: the JSON of the data room, and the list of tasks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/classes.h"
#include "data/copies.h"
#include "data/dataset.h"

/* ---- a data set ---- */

/* The list, or NULL if an element of it is missing. */
static json_t *complete(json_t *list, int failed) {
    if (!failed) return list;
    json_decref(list);
    return NULL;
}

static json_t *files_json(const surety_data_info *info) {
    json_t *list = json_array();
    int failed = !list;
    for (size_t i = 0; i < info->files; i++) {
        const surety_data_file *f = &info->file[i];
        failed |= json_array_append_new(list, SURETY_JSON_OBJECT({"role", surety_json_string(f->role)},
                                                                 {"path", surety_json_string(f->path)},
                                                                 {"bytes", surety_json_count(f->bytes)},
                                                                 {"sha256", surety_json_string(f->sha256)}));
    }
    return complete(list, failed);
}

static json_t *split_json(const surety_data_info *info) {
    static const char *const orders[] = {"file", "shuffled", "given"};
    return SURETY_JSON_OBJECT(
        {"order", surety_json_string(orders[info->order])},
        {"seed", info->order == SURETY_ORDER_SHUFFLED ? surety_json_count(info->seed) : json_null()},
        {"learn_size", surety_json_count(info->learn_size)},
        {"test_size", info->test_size ? surety_json_count(info->test_size) : json_null()},
        {"text", surety_json_string(info->split)});
}

static json_t *box_json(const surety_data_info *info) {
    if (!info->boxed) return json_null();
    return json_pack("[f, f]", info->box_lo, info->box_hi);
}

json_t *surety_labels_json(const char *const *labels, size_t count, int whole) {
    json_t *list = json_array();
    int failed = !list;
    for (size_t k = 0; k < count; k++)
        failed |= json_array_append_new(
            list, whole ? json_integer(strtoll(labels[k], NULL, 10)) : surety_json_string(labels[k]));
    return complete(list, failed);
}

static json_t *names_json(const char *const *names, size_t count) {
    return names ? surety_labels_json(names, count, 0) : json_null();
}

static json_t *counts_json(const size_t *counts, size_t count) {
    json_t *list = json_array();
    int failed = !list;
    for (size_t k = 0; k < count; k++) failed |= json_array_append_new(list, surety_json_count(counts[k]));
    return complete(list, failed);
}

static json_t *class_counts_json(const surety_data_info *info) {
    return SURETY_JSON_OBJECT({"prior", counts_json(info->class_m[SURETY_SET_PRIOR], info->classes)},
                              {"learn", counts_json(info->class_m[SURETY_SET_LEARN], info->classes)},
                              {"test", counts_json(info->class_m[SURETY_SET_TEST], info->classes)});
}

static json_t *class_digests_json(const surety_data_info *info) {
    json_t *list = json_array();
    int failed = !list;
    for (size_t k = 0; k < info->classes; k++)
        failed |= json_array_append_new(list, surety_json_string(info->class_sha256[k]));
    return complete(list, failed);
}

static json_t *digests_json(const surety_data_info *info) {
    return SURETY_JSON_OBJECT({"prior", surety_json_string(info->set_sha256[SURETY_SET_PRIOR])},
                              {"learn", surety_json_string(info->set_sha256[SURETY_SET_LEARN])},
                              {"test", surety_json_string(info->set_sha256[SURETY_SET_TEST])},
                              {"classes", class_digests_json(info)});
}

static json_t *set_counts_json(const uint64_t counts[SURETY_SETS]) {
    return SURETY_JSON_OBJECT({"prior", surety_json_count(counts[SURETY_SET_PRIOR])},
                              {"learn", surety_json_count(counts[SURETY_SET_LEARN])},
                              {"test", surety_json_count(counts[SURETY_SET_TEST])});
}

static json_t *units_json(const surety_data_info *info) {
    const uint64_t units[SURETY_SETS] = {info->units[0], info->units[1], info->units[2]};
    return info->unit ? set_counts_json(units) : json_null();
}

/* Features that are not simply columns without names. */
static json_t *features_json(const surety_data_info *info) {
    json_t *list = info->preparation ? json_array() : json_null();
    for (size_t j = 0; info->preparation && j < info->d; j++)
        list = surety_json_append(list,
                                  SURETY_JSON_OBJECT({"name", surety_json_string(info->feature_names[j])},
                                                     {"moves", json_boolean(info->moves[j])},
                                                     {"shift", surety_json_real((double)info->shift[j])},
                                                     {"factor", surety_json_real((double)info->factor[j])}));
    return list;
}

static json_t *separator_json(const surety_data_info *info) {
    const char text[2] = {info->separator, 0};
    return surety_json_string(info->separator == '\t'  ? "tab"
                              : info->separator == ' ' ? "blank"
                              : info->separator        ? text
                                                       : NULL);
}

static json_t *columns_json(const surety_data_info *info) {
    return SURETY_JSON_OBJECT({"used", surety_json_count(info->columns)}, {"separator", separator_json(info)},
                              {"index_column", surety_json_string(info->index_column)},
                              {"rounded", surety_json_count(info->rounded)},
                              {"constant", names_json(info->constant_names, info->constants)},
                              {"filled", set_counts_json(info->filled)},
                              {"kept", set_counts_json(info->kept)},
                              {"unseen", set_counts_json(info->unseen)});
}

char *surety_data_info_json(const surety_data_info *info) {
    static const char *const headers[] = {"auto", "yes", "no"};
    return surety_json_text(SURETY_JSON_OBJECT(
        {"task", surety_json_string(info->task)}, {"train", surety_json_count(info->train)},
        {"test", surety_json_count(info->test)}, {"learn", surety_json_count(info->m[SURETY_SET_LEARN])},
        {"prior", surety_json_count(info->m[SURETY_SET_PRIOR])}, {"unit", surety_json_string(info->unit)},
        {"units", units_json(info)}, {"d", surety_json_count(info->d)},
        {"height", surety_json_count(info->height)}, {"width", surety_json_count(info->width)},
        {"classes", surety_labels_json(info->labels, info->classes, info->whole)},
        {"class_names", names_json(info->class_names, info->classes)},
        {"class_counts", class_counts_json(info)},
        {"left_out", SURETY_JSON_OBJECT({"train", surety_json_count(info->left_out[0])},
                                        {"test", surety_json_count(info->left_out[1])})},
        {"label_column", surety_json_string(info->label_column)},
        {"header", surety_json_string(headers[info->header])}, {"scale", surety_json_real(info->scale)},
        {"columns", columns_json(info)}, {"scaling", surety_json_string(surety_scaling_name(info->scaling))},
        {"radius_unit", surety_json_string(surety_scaling_unit(info->scaling))},
        {"missing", surety_json_string(surety_missing_name(info->missing))},
        {"features", features_json(info)}, {"box", box_json(info)}, {"split", split_json(info)},
        {"copies_rule", surety_json_string(surety_copies_name(info->copies_rule))},
        {"copies", surety_copies_json(&info->copies)}, {"sha256", digests_json(info)},
        {"files", files_json(info)}));
}

/* ---- the tasks ---- */

/* What is known about one dataset. */
typedef struct finding {
    const surety_dataset *dataset;
    surety_place place;
    int found;
    char problem[1600];
} finding;

enum { FINDINGS = SURETY_TASK_COUNT }; /* at most one dataset per task */

typedef struct findings {
    surety_task_place places[FINDINGS];
    finding of[FINDINGS];
    size_t count;
} findings;

/* A dataset that is missing or damaged is a finding; no memory is an error. */
static surety_status examine(finding *f, const char *data_dir, surety_error *err) {
    surety_error problem = SURETY_ERROR_NONE;
    surety_status status = surety_dataset_find(&f->place, f->dataset, data_dir, &problem);
    if (status == SURETY_OK) status = surety_dataset_verify(f->dataset, &f->place, &problem);
    f->found = status == SURETY_OK;
    if (status == SURETY_OK) return SURETY_OK;
    if (status != SURETY_E_INPUT) {
        if (err && err->code == SURETY_OK) *err = problem;
        return status;
    }
    snprintf(f->problem, sizeof f->problem, "%s%s%s%s%s", problem.file, problem.file[0] ? ": " : "",
             problem.what, problem.expected[0] ? "; expected: " : "", problem.expected);
    return SURETY_OK;
}

static surety_status find_or_examine(findings *all, const char *name, const char *data_dir, finding **out,
                                     surety_error *err) {
    const surety_dataset *dataset = surety_dataset_named(name, err);
    if (!dataset) return SURETY_E_USAGE;
    for (size_t i = 0; i < all->count; i++)
        if (all->of[i].dataset == dataset) return *out = &all->of[i], SURETY_OK;
    *out = &all->of[all->count++];
    (*out)->dataset = dataset;
    return examine(*out, data_dir, err);
}

surety_status surety_data_list_make(const char *data_dir, surety_data_list *out, surety_error *err) {
    findings *all = NULL;
    size_t count = 0;
    const surety_task *task = surety_tasks(&count);
    *out = (surety_data_list){0};
    SURETY_TRY(surety_alloc(&all, 1, sizeof *all, err));
    *out = (surety_data_list){count, all->places, all};
    surety_status status = SURETY_OK;
    for (size_t i = 0; i < count && status == SURETY_OK; i++) {
        finding *f = NULL;
        status = find_or_examine(all, task[i].dataset, data_dir, &f, err);
        if (status == SURETY_OK)
            all->places[i] =
                (surety_task_place){&task[i], f->found, f->place.folder, f->found ? NULL : f->problem};
    }
    if (status != SURETY_OK) surety_data_list_free(out);
    return status;
}

void surety_data_list_free(surety_data_list *list) {
    findings *all = list->owned;
    for (size_t i = 0; all && i < all->count; i++) surety_place_free(&all->of[i].place);
    surety_free(all);
    *list = (surety_data_list){0};
}

static json_t *place_json(const surety_task_place *p) {
    const surety_task *t = p->task;
    return SURETY_JSON_OBJECT(
        {"name", surety_json_string(t->name)}, {"dataset", surety_json_string(t->dataset)},
        {"classes", surety_labels_json(t->labels, t->classes, 1)},
        {"class_names", names_json(t->class_names, t->classes)}, {"train", surety_json_count(t->train)},
        {"test", surety_json_count(t->test)}, {"found", json_boolean(p->found)},
        {"folder", surety_json_string(p->folder)}, {"problem", surety_json_string(p->problem)});
}

char *surety_data_list_json(const surety_data_list *list) {
    json_t *tasks = json_array();
    int failed = !tasks;
    for (size_t i = 0; i < list->count; i++)
        failed |= json_array_append_new(tasks, place_json(&list->places[i]));
    if (failed) {
        json_decref(tasks);
        tasks = NULL;
    }
    return surety_json_text(SURETY_JSON_OBJECT({"tasks", tasks}));
}
