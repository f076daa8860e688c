/* certify, train: processes that have the features of their own rows alone, here threads with a barrier, say
 * of the data what one process says and make the same certificate and the same models. What asks for the rows
 * of others is refused. */
#include <math.h>
#include <stdio.h>

#include "draw.h"
#include "io/files.h"
#include "meeting.h"
#include "plain.h"
#include "surety/certify.h"
#include "surety/train.h"

enum { M = 200, TEST = 41, D = 6, UNIT = 5 /* column of texts, some rows of one unit */ };

static float x[M][D], test_x[TEST][D];
static int64_t y[M], test_y[TEST];
static char names[M + TEST][16];
static const char *of_unit[M], *of_test_unit[TEST];
static int with_units, trees_alone;
static surety_missing missing = SURETY_MISSING_MEDIAN;
static surety_model *model;

static void draw_row(draw *random, float *row, int64_t label) {
    for (int j = 0; j < UNIT; j++) row[j] = (float)(draw_real(random, 0, 0.6) + 0.2 * (double)label);
    if (draw_real(random, 0, 1) < 0.1) row[2] = NAN; /* a median stands for it */
}

static surety_status open_world(const surety_everyone *everyone, surety_data **out, surety_error *err) {
    surety_data_settings s = surety_data_defaults();
    surety_arrays a = {.m = M,
                       .d = D,
                       .features = x[0],
                       .labels = y,
                       .test_m = TEST,
                       .test_features = test_x[0],
                       .test_labels = test_y};
    const char *const *const texts[D] = {[UNIT] = of_unit}, *const *const test_texts[D] = {[UNIT] =
                                                                                               of_test_unit};
    const char *const drop[] = {"6"};
    a.texts = texts, a.test_texts = test_texts;
    if (with_units)
        s.unit = "6";
    else
        s.drop = drop, s.drop_count = 1;
    s.learn_size = with_units ? 30 : 73, s.missing = missing, s.copies = SURETY_COPIES_KEEP,
    s.everyone = everyone, s.own_rows = 1;
    return surety_data_from_arrays(&a, &s, out, err);
}

static surety_train_settings training(void) {
    surety_train_settings s = surety_train_defaults();
    s.voters.count = 4;
    s.step1_epochs = 3;
    s.objective = SURETY_OBJECTIVE_BASELINE;
    s.defense.kind = SURETY_ATTACK_NONE;
    s.defense.ball.norm = SURETY_LINF;
    s.defense.ball.radius = 0.1, s.defense.ball.has_box = 0;
    return s;
}

static int set_up(void **state) {
    draw random = {3};
    surety_data *data = NULL;
    surety_error err = SURETY_ERROR_NONE;
    surety_train_settings s = training();
    surety_train_result result = {0};
    (void)state;
    for (int i = 0; i < M; i++) draw_row(&random, x[i], y[i] = i % 3);
    for (int i = 0; i < TEST; i++) draw_row(&random, test_x[i], test_y[i] = i % 3);
    for (int i = 0; i < M + TEST; i++) {
        snprintf(names[i], sizeof names[i], "u%d", i < M ? i / 3 : i);
        *(i < M ? &of_unit[i] : &of_test_unit[i - M]) = names[i];
    }
    memcpy(x[9], x[7], sizeof *x); /* copies, in several sets */
    memcpy(test_x[4], x[30], sizeof *x);
    check_ok(open_world(NULL, &data, &err));
    check_ok(surety_train(&s, data, NULL, &model, &result, NULL, &err));
    surety_train_result_free(&result);
    surety_data_free(data);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    surety_model_free(model);
    return 0;
}

/* Trees with thresholds at equal distances, at quantiles; the last epoch kept, or chosen by S or by a
 * hold-out. */
enum { TREES = 3 };

static surety_train_settings trees_number(int k) {
    surety_train_settings s = training();
    s.voters.kind = "trees";
    s.voters.depth = 3;
    s.voters.mask = 0.3;
    s.step1_epochs = 4;
    s.lr = 0.5;
    s.loss = SURETY_LOSS_LOGISTIC;
    s.voter_set = SURETY_REAL;
    s.defense.kind = k == 2 ? SURETY_ATTACK_NONE : SURETY_WORST_CASE;
    s.defense.ball.radius = k ? 0.003 : 0.1;
    s.keep_last = k == 0;
    s.holdout = k == 2 ? 0.3 : 0;
    s.balance = k == 1;
    return s;
}

/* Batches attacked, by their worst case, both; votes of S in step 2, attacked again or from a table; an epoch
 * chosen by S, or by a hold-out. Then trees. */
enum { TRAININGS = 6 + TREES };

static surety_train_settings training_number(int k) {
    surety_train_settings s = training();
    if (k >= TRAININGS - TREES) return trees_number(k - (TRAININGS - TREES));
    s.batch = 17;
    s.defense.steps = 2;
    s.defense.kind =
        (const surety_threat_kind[]){SURETY_ATTACK_PGD,  SURETY_WORST_CASE,  SURETY_WORST_CASE,
                                     SURETY_ATTACK_PGDU, SURETY_ATTACK_NONE, SURETY_ATTACK_PGD}[k];
    s.keep_last = k == 1;
    s.mix = k == 2 ? 0.5 : 0;
    if (k == 2) s.objective = SURETY_OBJECTIVE_WORST_CASE;
    if (k == 3 || k == 4) s.objective = SURETY_OBJECTIVE_SEEGER;
    if (k == 5) s.holdout = 0.2;
    s.step2_epochs = 2;
    return s;
}

/* ---- what a process says ---- */

typedef struct answers {
    size_t has[SURETY_SETS]; /* rows */
    char *info, *sampled, *worst, *radius, *attacked;
    double clean;
    surety_status status, lists;
    struct {
        uint8_t *bytes;
        size_t size;
    } trained[TRAININGS]; /* the model of each training */
    surety_error err;
} answers;

static surety_status certify(const surety_data *data, surety_threat_kind kind, double promise, char **out,
                             const surety_run *run, surety_error *err) {
    surety_certificate c = {0};
    surety_certify_settings s = surety_certify_defaults(model);
    s.threat = surety_threat_defaults();
    s.threat.kind = kind, s.threat.samples = 2, s.threat.steps = 3, s.looks = 2;
    s.threat.ball = training().defense.ball;
    if (promise > 0) s.statement = SURETY_SAY_RADIUS, s.promise = promise;
    surety_status status = surety_certify(model, data, &s, &c, run, err);
    if (status == SURETY_OK) *out = surety_certificate_json(&c);
    surety_certificate_free(&c);
    return status;
}

static surety_status evaluate(answers *a, const surety_data *data, const surety_run *run) {
    surety_clean clean = {0};
    surety_attack_result attacked = {0};
    surety_threat threat = surety_threat_defaults();
    surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
    const surety_set *test = surety_data_set(data, SURETY_SET_TEST);
    threat.kind = SURETY_ATTACK_PGD, threat.steps = 3, threat.ball = training().defense.ball;
    surety_status status =
        surety_evaluate_clean(&vote, test, surety_data_describe(data), &clean, run, &a->err);
    a->clean = clean.error;
    surety_clean_free(&clean);
    if (status == SURETY_OK) status = surety_attack_set(&threat, &vote, test, NULL, &attacked, run, &a->err);
    if (status == SURETY_OK) a->attacked = surety_attack_result_json(&attacked);
    return status;
}

static surety_status ask_model(answers *a, const surety_data *data, const surety_run *run) {
    surety_train_settings s = training();
    a->lists = surety_evaluate_examples(model, surety_data_set(data, SURETY_SET_TEST), NULL, &s.defense,
                                        files_path("list.csv"), run, NULL);
    SURETY_TRY(certify(data, SURETY_ATTACK_PGDU, 0, &a->sampled, run, &a->err));
    SURETY_TRY(certify(data, SURETY_WORST_CASE, 0, &a->worst, run, &a->err));
    SURETY_TRY(certify(data, SURETY_WORST_CASE, .8, &a->radius, run, &a->err));
    return evaluate(a, data, run);
}

/* The model's bytes; NULL: it is dropped. */
static surety_status train_so(const surety_train_settings *s, const surety_data *data, const surety_run *run,
                              uint8_t **bytes, size_t *size, surety_error *err) {
    surety_model *trained = NULL;
    surety_train_result result = {0};
    surety_status status = surety_train(s, data, NULL, &trained, &result, run, err);
    if (status == SURETY_OK && bytes) status = surety_model_encode(trained, bytes, size, err);
    surety_train_result_free(&result);
    surety_model_free(trained);
    return status;
}

static surety_status train(answers *a, int k, const surety_data *data, const surety_run *run) {
    surety_train_settings s = training_number(k);
    return train_so(&s, data, run, &a->trained[k].bytes, &a->trained[k].size, &a->err);
}

static void answer(answers *a, const surety_everyone *everyone) {
    surety_data *data = NULL;
    surety_run run = {.threads = 1, .everyone = everyone};
    a->status = open_world(everyone, &data, &a->err);
    if (a->status != SURETY_OK) return;
    for (int k = 0; k < SURETY_SETS; k++) {
        const surety_set *set = surety_data_set(data, (surety_set_name)k);
        a->has[k] = set->m - set->before - set->behind;
    }
    a->info = surety_data_info_json(surety_data_describe(data));
    if (!trees_alone) a->status = ask_model(a, data, &run);
    for (int k = trees_alone ? TRAININGS - TREES : 0; k < TRAININGS && a->status == SURETY_OK; k++)
        a->status = train(a, k, data, &run);
    surety_data_free(data);
}

static void answers_free(answers *a) {
    surety_text_free(a->info);
    surety_text_free(a->sampled);
    surety_text_free(a->worst);
    surety_text_free(a->radius);
    surety_text_free(a->attacked);
    for (int k = 0; k < TRAININGS; k++) surety_bytes_free(a->trained[k].bytes);
}

static void *run_process(void *arg) {
    const process *p = arg;
    answer(p->arg, &p->everyone);
    return NULL;
}

static void same_answers(void) {
    surety_error err = SURETY_ERROR_NONE;
    answers alone = {0};
    answer(&alone, NULL);
    err = alone.err;
    check_ok(alone.status);
    check_ok(alone.lists);
    check_contains(alone.info, "\"test_in_prior\"");
    for (size_t size = 1; size <= MEETING_MOST; size++) {
        answers of[MEETING_MOST] = {0};
        size_t rows = 0;
        meeting_run(size, run_process, of, sizeof *of);
        for (size_t r = 0; r < size; r++) {
            err = of[r].err;
            check_ok(of[r].status);
            assert_string_equal(of[r].info, alone.info);
            if (!trees_alone) {
                assert_string_equal(of[r].sampled, alone.sampled);
                assert_string_equal(of[r].worst, alone.worst);
                assert_string_equal(of[r].radius, alone.radius);
                assert_string_equal(of[r].attacked, alone.attacked);
                assert_int_equal(of[r].lists, size == 1 ? SURETY_OK : SURETY_E_USAGE);
            }
            check_that(of[r].clean, ==, alone.clean);
            for (int k = 0; k < TRAININGS; k++) {
                assert_int_equal(of[r].trained[k].size, alone.trained[k].size);
                assert_memory_equal(of[r].trained[k].bytes, alone.trained[k].bytes, alone.trained[k].size);
            }
            for (int k = 0; k < SURETY_SETS; k++) rows += of[r].has[k];
            answers_free(&of[r]);
        }
        assert_int_equal(rows, M + TEST);
    }
    answers_free(&alone);
}

static void own_rows_are_enough(void **state) {
    (void)state;
    same_answers();
}

/* Values that are missing go a way of their own, which is found from the rows of all. */
static void own_rows_are_enough_for_what_is_missing(void **state) {
    (void)state;
    missing = SURETY_MISSING_KEEP, trees_alone = 1;
    same_answers();
    missing = SURETY_MISSING_MEDIAN, trees_alone = 0;
}

/* The rows of a unit may be several processes'. */
static void own_rows_are_enough_for_units(void **state) {
    tear_down(state);
    with_units = 1;
    set_up(state);
    same_answers();
}

/* What one process finds in its rows ends all of them, with the words of one process for all rows. */
static void all_fail_together(void **state) {
    answers alone = {0};
    (void)state;
    missing = SURETY_MISSING_ERROR;
    answer(&alone, NULL);
    assert_int_equal(alone.status, SURETY_E_INPUT);
    check_contains(alone.err.what, "missing");
    for (size_t size = 2; size <= MEETING_MOST; size++) {
        answers of[MEETING_MOST] = {0};
        meeting_run(size, run_process, of, sizeof *of);
        for (size_t r = 0; r < size; r++) {
            assert_int_equal(of[r].status, alone.status);
            assert_memory_equal(&of[r].err, &alone.err, sizeof alone.err);
        }
    }
    missing = SURETY_MISSING_MEDIAN;
}

/* Views of a set that lacks rows. */
static void slices_know_what_is_there(void **state) {
    float values[6 * 16];
    surety_set set = {.m = 10, .d = 1, .stride = 16, .x = values, .before = 3, .behind = 1};
    static const uint8_t labels[10] = {0};
    static const uint32_t rows[10] = {0};
    (void)state;
    set.y = labels, set.row = rows;
    for (int i = 0; i < 6; i++) values[16 * i] = (float)(3 + i); /* its row */
    for (size_t first = 0; first <= 10; first++)
        for (size_t count = 0; first + count <= 10; count++) {
            surety_set part = surety_set_slice(&set, first, count);
            for (size_t i = 0; i < count; i++) {
                int here = first + i >= 3 && first + i < 9;
                assert_int_equal(surety_set_has(&part, i, i + 1), here);
                if (here)
                    check_that(*surety_set_row(&part, i), ==, (double)(first + i));
                else
                    assert_null(surety_set_row(&part, i));
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_rows_are_enough),
        cmocka_unit_test(own_rows_are_enough_for_what_is_missing),
        cmocka_unit_test(own_rows_are_enough_for_units),
        cmocka_unit_test(all_fail_together),
        cmocka_unit_test(slices_know_what_is_there),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
