/* The clean vote by class: linear voters whose answer is known beforehand, on examples that do not matter. */
#include "base/memory.h"
#include "check.h"
#include "evaluate/clean.h"
#include "io/files.h"
#include "voters/voters.h"

enum { M = 40, D = 3, K = 3, H = 2 };

static surety_error err = SURETY_ERROR_NONE;
static float x[M * 16];
static uint8_t y[M];
static uint32_t rows[M];
static const double weights[H] = {0.25, 0.75};
static const size_t prior[K] = {5, 9, 9}; /* class 1 is the first of the largest */
static const surety_data_info info = {.classes = K, .class_m = {prior, prior, prior}};
static const char *const names[K] = {"a", "b", "c"};

/* Class 0 has 8 examples, class 1 none, class 2 the others. */
static surety_set examples(void) {
    for (size_t i = 0; i < M; i++) y[i] = i < 8 ? 0 : 2;
    return (surety_set){.m = M, .d = D, .stride = 16, .x = x, .y = y, .row = rows, .classes = K};
}

/* Both voters answer this class; SURETY_TIED: all scores are equal. */
static surety_voters *voters_for(uint8_t class) {
    surety_voters *v = NULL;
    surety_voters_settings s = {.kind = "linear", .count = H, .classes = K};
    check_ok(surety_voters_new(&s, D, 0, &v, &err));
    for (size_t k = 0; k < surety_voters_tensors(v); k++) {
        surety_tensor t = surety_voters_tensor(v, k);
        for (size_t n = 0; n < t.rows * t.stride; n++) t.values[n] = 0;
    }
    surety_tensor bias = surety_voters_tensor(v, 1);
    for (size_t n = 0; n < H && class < K; n++) {
        size_t at = n * K + class;
        bias.values[at / bias.length * bias.stride + at % bias.length] = 1;
    }
    surety_voters_changed(v);
    return v;
}

static void answers_are_counted(void **state) {
    (void)state;
    const uint8_t classes[] = {0, 1, 2, SURETY_TIED};
    const double errors[] = {32. / M, 1, 8. / M, 1};
    surety_set set = examples();
    for (size_t c = 0; c < 4; c++)
        for (int signed_too = 0; signed_too < 2; signed_too++) {
            surety_clean clean;
            surety_voters *v = voters_for(classes[c]);
            surety_vote vote = {v, weights, signed_too ? SURETY_SIGNED : SURETY_REAL};
            check_ok(surety_evaluate_clean(&vote, &set, &info, &clean, NULL, &err));
            size_t column = classes[c] == SURETY_TIED ? K : classes[c];
            for (size_t n = 0; n < (size_t)K * (K + 1); n++) {
                size_t true_class = n / (K + 1), examples_of[K] = {8, 0, 32};
                check(clean.answers[n] == (n % (K + 1) == column ? examples_of[true_class] : 0),
                      "answer %u, cell %zu: %zu", classes[c], n, (size_t)clean.answers[n]);
            }
            check_that(clean.error, ==, errors[c]);
            check_that(clean.largest, ==, 1);
            check_that(clean.majority_error, ==, 1);
            surety_clean_free(&clean);
            surety_voters_free(v);
        }
}

/* An imported model has no S': its answers are compared with the largest class of the rows asked. */
static void without_a_training_set(void **state) {
    (void)state;
    const size_t nothing[K] = {0};
    const surety_data_info imported = {.classes = K, .class_m = {nothing, nothing, nothing}};
    surety_clean clean;
    surety_set set = examples();
    surety_voters *v = voters_for(0);
    surety_vote vote = {v, weights, SURETY_REAL};
    check_ok(surety_evaluate_clean(&vote, &set, &imported, &clean, NULL, &err));
    check_that(clean.largest, ==, 2);
    check_that(clean.majority_error, ==, 8. / M);
    surety_clean_free(&clean);
    surety_voters_free(v);
}

static void json_says_the_same(void **state) {
    (void)state;
    surety_clean clean;
    surety_set set = examples();
    surety_voters *v = voters_for(2);
    surety_vote vote = {v, weights, SURETY_REAL};
    check_ok(surety_evaluate_clean(&vote, &set, &info, &clean, NULL, &err));
    char *confusion = surety_json_canonical(surety_confusion_json(&clean));
    char *errors = surety_json_canonical(surety_class_errors_json(names, &clean));
    assert_string_equal(confusion, "[[0,0,8,0],[0,0,0,0],[0,0,32,0]]");
    assert_string_equal(errors,
                        "[{\"class\":\"a\",\"examples\":8,\"failed\":8,\"risk\":1.0},"
                        "{\"class\":\"b\",\"examples\":0,\"failed\":0,\"risk\":null},"
                        "{\"class\":\"c\",\"examples\":32,\"failed\":0,\"risk\":0.0}]");
    free(confusion);
    free(errors);
    surety_clean_free(&clean);
    surety_voters_free(v);
}

static surety_status use_everything(void *arg, surety_error *error) {
    surety_clean clean;
    surety_set set = examples();
    surety_vote vote = {arg, weights, SURETY_REAL};
    surety_status status = surety_evaluate_clean(&vote, &set, &info, &clean, NULL, error);
    if (status != SURETY_OK) return status;
    char *confusion = surety_json_text(surety_confusion_json(&clean));
    char *errors = surety_json_text(surety_class_errors_json(names, &clean));
    if (!confusion || !errors) status = surety_fail(error, SURETY_E_MEMORY, "no JSON");
    free(confusion);
    free(errors);
    surety_clean_free(&clean);
    return status;
}

static void bad_calls(void **state) {
    (void)state;
    surety_clean clean;
    surety_set set = examples();
    surety_voters *v = voters_for(0);
    surety_vote vote = {v, weights, SURETY_REAL};
    set.m = 0;
    surety_error none = SURETY_ERROR_NONE;
    assert_int_equal(surety_evaluate_clean(&vote, &set, &info, &clean, NULL, &none), SURETY_E_INPUT);
    files_fail_allocations(use_everything, v);
    surety_voters_free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_counted),
                                       cmocka_unit_test(without_a_training_set),
                                       cmocka_unit_test(json_says_the_same), cmocka_unit_test(bad_calls)};
    return cmocka_run_group_tests_name("clean", tests, NULL, NULL);
}
