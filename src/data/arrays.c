/* Data sets from arrays of the caller: they become tables, as files do. */
#include <string.h>

#include "data/data.h"

typedef struct array {
    const float *features;
    size_t m, d, stride;
    const int64_t *labels;
    const char *name, *labels_name;
    const char *const *label_names;
    size_t label_count;
    const char *const *names;
    const char *const *const *texts;
} array;

static surety_status check_array(const array *a, surety_error *err) {
    surety_status status = SURETY_OK;
    if (!a->features || !a->m || !a->d)
        status =
            surety_data_usage(err, "an array without rows or without features", "(m, d), both at least 1");
    else if (a->m > UINT32_MAX)
        status = surety_data_usage(err, "more rows than can be numbered", "at most 4294967295");
    else if (a->stride && a->stride < a->d)
        status = surety_data_usage(err, "the rows overlap", "a stride of at least d floats, or 0 for d");
    if (status != SURETY_OK) surety_fail_file(err, a->name);
    if (status != SURETY_OK || a->labels) return status;
    surety_data_usage(err, "there are no labels", "one label per row");
    surety_fail_file(err, a->labels_name);
    return SURETY_E_USAGE;
}

/* Labels that are numbers into a list of names. */
static surety_status name_labels(surety_table *t, const array *a, surety_error *err) {
    surety_text *texts = NULL;
    SURETY_TRY(surety_alloc(&texts, t->rows, sizeof *texts, err));
    surety_status status = SURETY_OK;
    for (size_t i = 0; i < t->rows && status == SURETY_OK; i++) {
        if (a->labels[i] >= 0 && (uint64_t)a->labels[i] < a->label_count && a->label_names[a->labels[i]]) {
            const char *name = a->label_names[a->labels[i]];
            texts[i] = (surety_text){name, strlen(name)};
            continue;
        }
        status = surety_fail(err, SURETY_E_INPUT, "there is no name %lld among the %zu label_names",
                             (long long)a->labels[i], a->label_count);
        surety_table_label_place(t, i, err);
    }
    if (status == SURETY_OK) status = surety_labels_texts(t, texts, err);
    surety_free(texts);
    return status;
}

/* Features stay where they are until the sets are filled. */
static surety_status fill_table(surety_table *t, const array *a, const surety_wanted *wanted,
                                surety_error *err) {
    SURETY_TRY(check_array(a, err));
    t->rows = a->m;
    t->d = a->d;
    t->scale = 1;
    t->floats = a->features;
    t->stride = a->stride ? a->stride : a->d;
    t->texts = a->texts;
    t->name = a->name;
    t->labels_name = a->labels_name;
    SURETY_TRY(a->label_names ? name_labels(t, a, err) : surety_labels_integers(t, a->labels, err));
    surety_status status = surety_table_choose(t, wanted, a->names, err);
    if (status != SURETY_OK) surety_fail_file(err, a->name);
    return status;
}

static surety_status fill_tables(surety_tables *o, const surety_arrays *a, const surety_data_settings *s,
                                 surety_error *err) {
    const array train = {a->features,      a->m,           a->d,           a->stride,      a->labels,
                         "array features", "array labels", a->label_names, a->label_count, a->names,
                         a->texts};
    const array test = {
        a->test_features,      a->test_m,           a->d,           a->test_stride, a->test_labels,
        "array test_features", "array test_labels", a->label_names, a->label_count, a->names,
        a->test_texts};
    surety_wanted wanted = surety_data_wanted(s);
    o->has_test = a->test_m || a->test_features;
    SURETY_TRY(fill_table(&o->train, &train, &wanted, err));
    SURETY_TRY(surety_tables_begin(o, s, 0, err));
    if (!o->has_test) return SURETY_OK;
    wanted.preparation = o->preparation;
    SURETY_TRY(fill_table(&o->test, &test, &wanted, err));
    return surety_table_join(&o->train, &o->test, err);
}

static surety_status check_settings(const surety_arrays *a, const surety_data_settings *s,
                                    surety_error *err) {
    int has_test = a->test_m || a->test_features;
    if (s->task || s->train || s->test || s->train_labels || s->test_labels || s->label_column)
        return surety_data_usage(err, "arrays, and a task or files", "one of them");
    if (has_test && (s->test_size || (a->split && a->split->m[SURETY_SET_TEST])))
        return surety_data_usage(err, "test arrays, and rows of the others for T", "one of the two");
    if (a->split && s->copies == SURETY_COPIES_DROP)
        return surety_data_usage(err, "copies dropped from a split by indices", "copies kept or refused");
    if (a->split && (s->unit || (s->preparation && s->preparation->unit)))
        return surety_data_usage(err, "units, and a split by indices", "one of the two");
    if (s->fresh && (a->split || s->test_size))
        return surety_data_usage(err, "fresh rows that are split", "all fresh rows in S");
    return surety_data_check_split(s, err);
}

surety_status surety_data_from_arrays(const surety_arrays *arrays, const surety_data_settings *settings,
                                      surety_data **out, surety_error *err) {
    surety_tables tables = {0};
    *out = NULL;
    SURETY_TRY(check_settings(arrays, settings, err));
    surety_status status = fill_tables(&tables, arrays, settings, err);
    if (status == SURETY_OK) status = surety_data_build(out, &tables, settings, NULL, arrays->split, err);
    surety_tables_close(&tables);
    return status;
}
