/* train: several processes that meet, here threads with a barrier, train the same model as one, byte for
 * byte: batches cut by examples and by voters, fewer examples than processes, histograms. What differs
 * between them is refused. */
#include "meeting.h"
#include "plain.h"
#include "surety/train.h"

enum { M = 150, D = 6 };

static float x[M][D];
static int64_t y[M];
static surety_data *data;

static int set_up(void **state) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = plain_settings();
    surety_arrays a = {.m = M, .d = D, .features = x[0], .labels = y};
    uint32_t random = 1;
    (void)state;
    for (int i = 0; i < M; i++) {
        y[i] = i % 3;
        for (int j = 0; j < D; j++) {
            random = random * 1664525u + 1013904223u;
            x[i][j] = (float)(random >> 8) / (float)(1 << 25) + 0.2f * (float)(i % 3);
        }
    }
    s.learn_size = 40, s.test_size = 20;
    return surety_data_from_arrays(&a, &s, &data, &err) != SURETY_OK;
}

static int tear_down(void **state) {
    (void)state;
    surety_data_free(data);
    return 0;
}

/* ---- processes that meet ---- */

typedef struct trained {
    surety_train_settings settings;
    surety_model *model;
    surety_status status;
    surety_error err;
} trained;

static void train(trained *t, const surety_everyone *everyone) {
    surety_train_result result = {0};
    surety_run run = {.threads = 1, .everyone = everyone};
    t->status = surety_train(&t->settings, data, NULL, &t->model, &result, &run, &t->err);
    surety_train_result_free(&result);
}

static void *run_process(void *arg) {
    const process *p = arg;
    train(p->arg, &p->everyone);
    return NULL;
}

static void run_all(trained *of, size_t size, const surety_train_settings *settings) {
    for (size_t r = 0; r < size; r++) of[r] = (trained){.settings = settings[r % 2]};
    meeting_run(size, run_process, of, sizeof *of);
}

static surety_train_settings training(void) {
    surety_train_settings s = surety_train_defaults();
    s.voters.count = 3;
    s.defense.ball.norm = SURETY_LINF;
    s.defense.ball.radius = 0.05;
    s.defense.steps = 2;
    s.voter_set = SURETY_REAL;
    s.objective = SURETY_OBJECTIVE_BASELINE;
    s.step1_epochs = s.step2_epochs = 2;
    s.batch = 40;
    return s;
}

static void check_same(const surety_train_settings *s) {
    const surety_train_settings both[] = {*s, *s};
    trained alone = {.settings = *s};
    surety_error err = SURETY_ERROR_NONE;
    char expected[65], found[65];
    train(&alone, NULL);
    err = alone.err;
    check_ok(alone.status);
    check_ok(surety_model_sha256(alone.model, expected, &err));
    surety_model_free(alone.model);
    for (size_t size = 1; size <= MEETING_MOST; size++) {
        trained of[MEETING_MOST];
        run_all(of, size, both);
        for (size_t r = 0; r < size; r++) {
            err = of[r].err;
            check_ok(of[r].status);
            check_ok(surety_model_sha256(of[r].model, found, &err));
            assert_string_equal(found, expected);
            surety_model_free(of[r].model);
        }
    }
}

static void attacked_batches(void **state) {
    surety_train_settings s = training();
    (void)state;
    s.defense.kind = SURETY_ATTACK_PGD;
    check_same(&s);
    s.batch = 7; /* one block: most processes have none */
    s.holdout = 0.2;
    check_same(&s);
}

static void certified_batches(void **state) {
    surety_train_settings s = training();
    (void)state;
    s.defense.kind = SURETY_WORST_CASE;
    check_same(&s);
    s.mix = 0.3;
    check_same(&s);
}

static void step_2(void **state) {
    surety_train_settings s = training();
    (void)state;
    s.defense.kind = SURETY_ATTACK_NONE;
    s.objective = SURETY_OBJECTIVE_WORST_CASE;
    check_same(&s);
}

static void grown_trees(void **state) {
    surety_train_settings s = training();
    (void)state;
    s.voters.kind = "trees";
    s.step1_epochs = s.voters.count;
    s.defense.kind = SURETY_WORST_CASE;
    check_same(&s);
}

static void networks(void **state) {
    surety_train_settings s = training();
    (void)state;
    s.voters.kind = "lipschitz";
    s.voters.layers[0] = 8, s.voters.layers[1] = 4;
    s.defense.kind = SURETY_WORST_CASE;
    check_same(&s);
}

static void what_differs_is_refused(void **state) {
    surety_train_settings s[] = {training(), training()};
    trained of[2];
    (void)state;
    s[1].seed = 7;
    run_all(of, 2, s);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(of[r].status, SURETY_E_CHECK);
        assert_non_null(strstr(of[r].err.what, "process 1 has another settings"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attacked_batches), cmocka_unit_test(certified_batches),
        cmocka_unit_test(step_2),           cmocka_unit_test(grown_trees),
        cmocka_unit_test(networks),         cmocka_unit_test(what_differs_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
