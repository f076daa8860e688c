/* A further kind is one file and one line of the registry: constant.c, a kind without gradients, goes through
 * training, attack, evaluation, worst case and the model file; what it cannot do is refused with a sentence.
 */
#include <math.h>
#include <unistd.h>

#include "check.h"
#include "plain.h"
#include "surety/evaluate.h"
#include "surety/train.h"
#include "voters/constant.h"

static surety_error err = SURETY_ERROR_NONE;
static char folder[] = "/tmp/surety-kinds-XXXXXX";

/* One feature; 70 of 100 rows are of the class 1, in every stretch of ten. */
static surety_data *small_data(void) {
    char path[128];
    surety_data *data = NULL;
    snprintf(path, sizeof path, "%s/data.csv", folder);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 300; i++) fprintf(file, "%.3f,%d\n", i / 300., i % 10 < 7);
    fclose(file);
    surety_data_settings s = plain_settings();
    s.train = path, s.learn_size = 100, s.test_size = 100;
    check_ok(surety_data_open(&s, &data, &err));
    return data;
}

static surety_train_settings settings(void) {
    surety_train_settings s = surety_train_defaults();
    s.voters.kind = "constant", s.voters.count = 3;
    s.defense.kind = SURETY_ATTACK_NONE;
    s.objective = SURETY_OBJECTIVE_SEEGER;
    s.step1_epochs = 3, s.step2_epochs = 2;
    return s;
}

static void test_registry(void **state) {
    surety_voters *v = NULL;
    surety_error wrong = SURETY_ERROR_NONE;
    surety_voters_settings s = {.kind = "constnt", .count = 2};
    (void)state;
    assert_string_equal(surety_kind_name(0), "soft-forest");
    assert_string_equal(surety_kind_name(1), "linear");
    assert_string_equal(surety_kind_name(2), "trees");
    assert_string_equal(surety_kind_name(3), "lipschitz");
    assert_string_equal(surety_kind_name(4), "constant");
    assert_null(surety_kind_name(5));
    assert_int_equal(surety_voters_new(&s, 4, 0, &v, &wrong), SURETY_E_USAGE);
    assert_non_null(strstr(wrong.what, "did you mean 'constant'"));
}

static void test_grows(void **state) {
    surety_data *data = small_data();
    surety_train_settings s = settings();
    surety_model *model = NULL, *again = NULL;
    surety_train_result result;
    char path[128];
    (void)state;
    check_ok(surety_train(&s, data, NULL, &model, &result, NULL, &err));
    const surety_voters *v = surety_model_voters(model);
    double mean = 0;
    const surety_set *prior_set = surety_data_set(data, SURETY_SET_PRIOR);
    for (size_t i = 0; i < prior_set->m; i++) mean += surety_sign(prior_set->y[i]) / (double)prior_set->m;
    for (size_t t = 0; t < result.step1_best; t++)
        check_that(surety_voters_tensor(v, 0).values[t], ==, (float)mean);
    snprintf(path, sizeof path, "%s/model", folder);
    check_ok(surety_model_save(model, path, &err));
    check_ok(surety_model_load(path, &again, &err));
    assert_string_equal(surety_voters_kind(surety_model_voters(again)), "constant");
    assert_true(surety_voters_same(v, surety_model_voters(again)));

    surety_risks risks;
    surety_ball ball = surety_ball_defaults();
    check_ok(surety_evaluate_worst(again, surety_data_set(data, SURETY_SET_TEST), &ball, &risks, NULL, &err));
    size_t negative = 0;
    const surety_set *test = surety_data_set(data, SURETY_SET_TEST);
    for (size_t i = 0; i < test->m; i++) negative += !test->y[i];
    check_that(fabs(risks.averaged_max - (double)negative / (double)test->m), <, 1e-12);
    surety_risks_free(&risks);
    surety_model_free(again);
    surety_model_free(model);
    surety_train_result_free(&result);
    surety_data_free(data);
}

static void test_what_it_cannot(void **state) {
    surety_data *data = small_data();
    surety_train_settings s = settings();
    surety_model *model = NULL;
    surety_train_result result;
    surety_error wrong = SURETY_ERROR_NONE;
    surety_attack_result found;
    (void)state;
    s.objective = SURETY_OBJECTIVE_BASELINE;
    check_ok(surety_train(&s, data, NULL, &model, &result, NULL, &err));
    surety_threat attack = surety_threat_defaults();
    const surety_set *test = surety_data_set(data, SURETY_SET_TEST);
    assert_int_equal(surety_evaluate_attacked(model, test, &attack, &found, NULL, &wrong), SURETY_E_USAGE);
    assert_string_equal(wrong.what,
                        "pgd needs a gradient to the input, which voters of the kind constant do not have");
    attack.kind = SURETY_ATTACK_UNIF;
    check_ok(surety_evaluate_attacked(model, test, &attack, &found, NULL, &err));
    double risk = (double)found.fooled / (double)found.m;
    check_that(risk, >, 0.2);
    check_that(risk, <, 0.4);
    surety_model_free(model);
    surety_train_result_free(&result);
    surety_data_free(data);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_what_it_cannot),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
