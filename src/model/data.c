/* What a model remembers of its data, in texts:
 *   data.task                         its name, or empty
 *   data.prior, data.learn, data.test digests of the three sets, and
 *   data.class_rows                   of the training rows of each class (docs/certificates.md, "Digests of
 *                                     rows"): the same whether rows came from a file or from memory
 *   data.classes, data.box            labels that are -1 and +1; the box, or none
 *   data.split                        the seed of the shuffle, "file order" or "given"
 *   data.learn_size, data.test_size
 * No paths, no checksums of files. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
#include "model/model.h"

enum { KEYS = 10, TEXT = 160 };

typedef struct remembered {
    const char *key;
    char text[TEXT];
} remembered;

static void describe_split(const surety_data_info *info, char text[TEXT]) {
    if (info->order == SURETY_ORDER_SHUFFLED)
        snprintf(text, TEXT, "%" PRIu64, info->seed);
    else
        snprintf(text, TEXT, "%s", info->order == SURETY_ORDER_FILE ? "file order" : "given");
}

static void describe_box(const surety_data_info *info, char text[TEXT]) {
    if (info->boxed)
        surety_format(text, TEXT, "%.17g,%.17g", info->box_lo, info->box_hi);
    else
        snprintf(text, TEXT, "none");
}

static void describe(const surety_data_info *info, remembered *list) {
    static const char *const keys[KEYS] = {"data.task",       "data.prior",   "data.learn", "data.test",
                                           "data.class_rows", "data.classes", "data.split", "data.learn_size",
                                           "data.test_size",  "data.box"};
    for (size_t i = 0; i < KEYS; i++) list[i].key = keys[i];
    snprintf(list[0].text, TEXT, "%s", info->task ? info->task : "");
    for (int k = 0; k < SURETY_SETS; k++) snprintf(list[1 + k].text, TEXT, "%s", info->set_sha256[k]);
    snprintf(list[4].text, TEXT, "%s,%s", info->class_sha256[0], info->class_sha256[1]);
    snprintf(list[5].text, TEXT, "%" PRId64 ",%" PRId64, info->classes[0], info->classes[1]);
    describe_split(info, list[6].text);
    snprintf(list[7].text, TEXT, "%zu", info->learn_size);
    snprintf(list[8].text, TEXT, "%zu", info->test_size);
    describe_box(info, list[9].text);
}

surety_status surety_model_set_data(surety_model *m, const surety_data_info *info, surety_error *err) {
    remembered list[KEYS];
    describe(info, list);
    for (size_t i = 0; i < KEYS; i++) SURETY_TRY(surety_model_set_text(m, list[i].key, list[i].text, err));
    return SURETY_OK;
}

surety_status surety_model_check_data(const surety_model *m, const surety_data_info *info,
                                      surety_error *err) {
    remembered list[KEYS];
    describe(info, list);
    for (size_t i = 0; i < KEYS; i++) {
        const char *was = surety_model_text(m, list[i].key);
        if (was && !strcmp(was, list[i].text)) continue;
        surety_fail(err, SURETY_E_CHECK, "these are not the data the model was trained on: %s is '%s'",
                    list[i].key, list[i].text);
        surety_fail_expected(err, "'%s'", was ? was : "nothing: the model was trained on no data");
        return SURETY_E_CHECK;
    }
    return SURETY_OK;
}

static surety_status bad(const char *key, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the model does not say which data it was trained on");
    surety_fail_place(err, "key %s", key);
    return SURETY_E_INPUT;
}

/* A,B */
static int read_classes(const char *text, int64_t *classes) {
    char *end = NULL;
    if (!text) return 0;
    classes[0] = strtoll(text, &end, 10);
    if (end == text || *end != ',') return 0;
    const char *second = end + 1;
    classes[1] = strtoll(second, &end, 10);
    return end != second && !*end;
}

/* LO,HI or none */
static int read_box(const char *text, surety_data_settings *s) {
    char *end = NULL;
    if (!text) return 0;
    s->boxed = strcmp(text, "none") != 0;
    if (!s->boxed) return 1;
    s->box_lo = surety_number(text, &end);
    if (end == text || *end != ',') return 0;
    const char *second = end + 1;
    s->box_hi = surety_number(second, &end);
    return end != second && !*end && s->box_lo < s->box_hi;
}

/* The seed of a shuffle; 0 for file order, where it is not used. */
static int read_split(const char *text, uint64_t *seed) {
    char *end = NULL;
    *seed = 0;
    if (!text || !strcmp(text, "file order")) return text != NULL;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *seed < SURETY_SEED_LIMIT;
}

surety_status surety_model_data_settings(const surety_model *m, surety_data_settings *s, surety_error *err) {
    const char *task = surety_model_text(m, "data.task");
    const char *split = surety_model_text(m, "data.split");
    uint64_t learn, test;
    if (!task) return bad("data.task", err);
    if (split && !strcmp(split, "given")) {
        surety_fail(err, SURETY_E_USAGE, "the model's sets were split by indices, which no setting repeats");
        surety_fail_expected(err, "the arrays and the indices that trained it, from a program");
        return SURETY_E_USAGE;
    }
    if (!read_classes(surety_model_text(m, "data.classes"), s->classes)) return bad("data.classes", err);
    if (!read_split(split, &s->seed)) return bad("data.split", err);
    if (!read_box(surety_model_text(m, "data.box"), s)) return bad("data.box", err);
    SURETY_TRY(surety_model_count(m, "data.learn_size", &learn, err));
    SURETY_TRY(surety_model_count(m, "data.test_size", &test, err));
    s->task = task[0] ? task : NULL;
    s->classes_given = 1;
    s->learn_size = (size_t)learn;
    s->test_size = (size_t)test;
    return SURETY_OK;
}
