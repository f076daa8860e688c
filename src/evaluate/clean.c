/* The clean vote: how its answers are spread over each class, and its error beside that of always answering
 * the largest class of S', or, where there is no S' (an imported model), the largest class of the rows asked.
 */
#include "evaluate/clean.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "evaluate/sampler.h"

static size_t largest_of(const size_t *counts, size_t K) {
    size_t best = 0;
    for (size_t k = 1; k < K; k++)
        if (counts[k] > counts[best]) best = k;
    return best;
}

/* The largest class of S'; without S', of set. */
static surety_status find_largest(surety_clean *c, const surety_set *set, const size_t *prior,
                                  surety_error *err) {
    size_t K = c->classes, rows = 0, *counts = NULL;
    for (size_t k = 0; k < K; k++) rows += prior[k];
    if (rows) return c->largest = largest_of(prior, K), SURETY_OK;
    SURETY_TRY(surety_alloc(&counts, K, sizeof *counts, err));
    for (size_t i = 0; i < set->m; i++) counts[set->y[i]]++;
    c->largest = largest_of(counts, K);
    surety_free(counts);
    return SURETY_OK;
}

/* Counts the answers. */
static void count(surety_clean *c, const surety_set *set, const uint8_t *answers) {
    size_t K = c->classes, right = 0, majority = 0;
    for (size_t i = 0; i < set->m; i++) {
        uint8_t y = set->y[i];
        c->answers[y * (K + 1) + (answers[i] == SURETY_TIED ? K : answers[i])]++;
        right += answers[i] == y;
        majority += y == c->largest;
    }
    c->error = (double)(set->m - right) / (double)set->m;
    c->majority_error = (double)(set->m - majority) / (double)set->m;
}

/* The vote's answers to all examples. Processes that meet share the work. */
static surety_status ask(const surety_vote *vote, const surety_set *set, uint8_t *answers,
                         const surety_run *run, surety_error *err) {
    size_t first = 0, end = set->m;
    surety_my_rows(run, &first, &end);
    SURETY_TRY(surety_sampling_has(set, first, end, err));
    SURETY_TRY(surety_vote_classes(vote, surety_set_row(set, first), set->stride, end - first,
                                   answers + first, run, err));
    return surety_share_everyone(run, answers, set->m, 1, sizeof *answers, err);
}

surety_status surety_evaluate_clean(const surety_vote *vote, const surety_set *set,
                                    const surety_data_info *info, surety_clean *out, const surety_run *run,
                                    surety_error *err) {
    size_t K = set->classes;
    uint8_t *answers = NULL;
    *out = (surety_clean){0};
    if (!set->m) return surety_fail(err, SURETY_E_INPUT, "there are no examples to ask the vote for");
    SURETY_TRY(surety_alloc(&answers, set->m, sizeof *answers, err));
    *out = (surety_clean){.m = set->m, .classes = K};
    surety_status status = surety_alloc(&out->answers, K * (K + 1), sizeof *out->answers, err);
    if (status == SURETY_OK) status = find_largest(out, set, info->class_m[SURETY_SET_PRIOR], err);
    if (status == SURETY_OK) status = ask(vote, set, answers, run, err);
    if (status == SURETY_OK)
        count(out, set, answers);
    else
        surety_clean_free(out);
    surety_free(answers);
    return status;
}

int surety_clean_constant(const surety_clean *c) {
    size_t given = 0; /* answers that occur */
    for (size_t k = 0; k <= c->classes; k++) {
        uint64_t of = 0;
        for (size_t y = 0; y < c->classes; y++) of += c->answers[y * (c->classes + 1) + k];
        given += of > 0;
    }
    return c->m > 1 && given == 1;
}

void surety_clean_free(surety_clean *clean) {
    surety_free(clean->answers);
    *clean = (surety_clean){0};
}

/* Appends, or gives up: the list becomes NULL. */
static void append(json_t **list, json_t *value) {
    if (json_array_append_new(*list, value) == 0) return;
    json_decref(*list);
    *list = NULL;
}

json_t *surety_class_risks_json(const char *const *names, const uint64_t *examples, const uint64_t *failed,
                                size_t classes) {
    json_t *list = json_array();
    for (size_t k = 0; k < classes; k++)
        append(&list,
               SURETY_JSON_OBJECT({"class", surety_json_string(names[k])},
                                  {"examples", surety_json_count(examples[k])},
                                  {"failed", surety_json_count(failed[k])},
                                  {"risk", surety_json_real((double)failed[k] / (double)examples[k])}));
    return list;
}

json_t *surety_class_errors_json(const char *const *names, const surety_clean *c) {
    uint64_t examples[SURETY_CLASSES_MOST] = {0}, failed[SURETY_CLASSES_MOST] = {0};
    for (size_t n = 0; n < c->classes * (c->classes + 1); n++) {
        size_t y = n / (c->classes + 1), answer = n % (c->classes + 1);
        examples[y] += c->answers[n];
        failed[y] += answer == y ? 0 : c->answers[n];
    }
    return surety_class_risks_json(names, examples, failed, c->classes);
}

json_t *surety_confusion_json(const surety_clean *c) {
    json_t *rows = json_array();
    for (size_t y = 0; y < c->classes; y++) {
        json_t *row = json_array();
        for (size_t k = 0; k <= c->classes; k++)
            append(&row, surety_json_count(c->answers[y * (c->classes + 1) + k]));
        append(&rows, row);
    }
    return rows;
}
