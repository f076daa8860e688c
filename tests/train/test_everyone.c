/* train: several processes that meet, here threads with a barrier, train the same model as one, byte for
 * byte: batches cut by examples and by voters, fewer examples than processes, histograms. What differs
 * between them is refused. */
#include <pthread.h>

#include "check.h"
#include "plain.h"
#include "surety/train.h"

enum { M = 150, D = 6, MOST = 5 };

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

typedef struct meeting {
    pthread_barrier_t barrier;
    size_t size;
    void *of[MOST]; /* what each one brought */
} meeting;

typedef struct process {
    meeting *with;
    surety_everyone everyone;
    surety_train_settings settings;
    surety_model *model;
    surety_status status;
    surety_error err;
} process;

static surety_status sum(void *arg, int64_t *values, size_t count, surety_error *err) {
    const process *p = arg;
    meeting *m = p->with;
    (void)err;
    m->of[p->everyone.rank] = values;
    pthread_barrier_wait(&m->barrier);
    if (p->everyone.rank == 0)
        for (size_t i = 0; i < count; i++)
            for (size_t r = 1; r < m->size; r++) values[i] += ((const int64_t *)m->of[r])[i];
    pthread_barrier_wait(&m->barrier);
    if (p->everyone.rank) memcpy(values, m->of[0], count * sizeof *values);
    pthread_barrier_wait(&m->barrier);
    return SURETY_OK;
}

static surety_status share(void *arg, void *rows, size_t count, size_t unit, size_t bytes,
                           surety_error *err) {
    const process *p = arg;
    meeting *m = p->with;
    (void)err;
    m->of[p->everyone.rank] = rows;
    pthread_barrier_wait(&m->barrier);
    for (size_t r = 0; r < m->size; r++) {
        size_t begin = surety_share_begin(count, unit, r, m->size),
               end = surety_share_begin(count, unit, r + 1, m->size);
        if (r != p->everyone.rank)
            memcpy((char *)rows + begin * bytes, (const char *)m->of[r] + begin * bytes,
                   (end - begin) * bytes);
    }
    pthread_barrier_wait(&m->barrier);
    return SURETY_OK;
}

static void *run_process(void *arg) {
    process *p = arg;
    surety_train_result result = {0};
    surety_run run = {.threads = 1, .everyone = p->with ? &p->everyone : NULL};
    p->status = surety_train(&p->settings, data, NULL, &p->model, &result, &run, &p->err);
    surety_train_result_free(&result);
    return NULL;
}

static void run_all(process *of, size_t size, const surety_train_settings *settings) {
    meeting m = {.size = size};
    pthread_t threads[MOST];
    assert_int_equal(pthread_barrier_init(&m.barrier, NULL, (unsigned)size), 0);
    for (size_t r = 0; r < size; r++) {
        of[r] = (process){.with = &m, .settings = settings[r % 2]};
        of[r].everyone =
            (surety_everyone){.rank = r, .size = size, .sum = sum, .share = share, .arg = &of[r]};
        assert_int_equal(pthread_create(&threads[r], NULL, run_process, &of[r]), 0);
    }
    for (size_t r = 0; r < size; r++) pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&m.barrier);
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
    process alone = {.settings = *s};
    surety_error err = SURETY_ERROR_NONE;
    char expected[65], found[65];
    run_process(&alone);
    err = alone.err;
    check_ok(alone.status);
    check_ok(surety_model_sha256(alone.model, expected, &err));
    surety_model_free(alone.model);
    for (size_t size = 1; size <= MOST; size++) {
        process of[MOST];
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
    process of[2];
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
