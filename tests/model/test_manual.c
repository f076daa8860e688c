/* What surety/surety.h promises of all the library: versions, what may be freed, what threads may share. */
#include <pthread.h>

#include "check.h"
#include "surety/surety.h"

static void versions_agree(void **state) {
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SURETY_VERSION_MAJOR, SURETY_VERSION_MINOR, SURETY_VERSION_PATCH);
    assert_string_equal(text, SURETY_VERSION);
    assert_string_equal(text, surety_version());
}

static void nothing_can_be_freed(void **state) {
    (void)state;
    surety_text_free(NULL);
    surety_bytes_free(NULL);
    surety_ledger_free(NULL);
    surety_data_free(NULL);
    surety_tolerance_free(NULL);
    surety_part_free(NULL);
    surety_model_free(NULL);
    surety_risk_free(NULL);
    surety_voters_free(NULL);
    surety_prover_free(NULL);
    static surety_certificate certificate;
    static surety_row row;
    surety_certificate_free(&certificate);
    surety_row_free(&row);
    surety_looks_free(&(surety_looks){0});
    surety_data_list_free(&(surety_data_list){0});
    surety_clean_free(&(surety_clean){0});
    surety_risks_free(&(surety_risks){0});
    surety_votes_result_free(&(surety_votes_result){0});
    surety_train_result_free(&(surety_train_result){0});
}

enum { M = 40, D = 9, THREADS = 3, TIMES = 20 };

/* One model of each kind, which all threads ask. */
typedef struct shared {
    const surety_model *model;
    const float *x;
    double expected[M];
    uint8_t classes[M];
} shared;

/* What one thread finds: how many answers differ from those of the first. */
static void *ask_often(void *arg) {
    const shared *s = arg;
    surety_error err = SURETY_ERROR_NONE;
    surety_run run = {.threads = 1};
    surety_vote vote = surety_model_vote(s->model, SURETY_WEIGHTS_POSTERIOR);
    size_t differ = 0;
    for (int i = 0; i < TIMES; i++) {
        double votes[M];
        uint8_t classes[M];
        differ += surety_vote_predict(&vote, s->x, D, M, votes, &run, &err) != SURETY_OK ||
                  memcmp(votes, s->expected, sizeof votes) != 0;
        differ += surety_vote_classes(&vote, s->x, D, M, classes, &run, &err) != SURETY_OK ||
                  memcmp(classes, s->classes, sizeof classes) != 0;
        char *json = surety_model_json(s->model);
        differ += !json;
        surety_text_free(json);
    }
    return (void *)(uintptr_t)differ;
}

static void threads_share_a_model(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static float x[M * D];
    for (size_t i = 0; i < M * D; i++) x[i] = (float)(i * 37 % 101) / 101;
    const char *kinds[] = {"soft-forest", "linear", "lipschitz"};
    for (size_t k = 0; k < 3; k++) {
        surety_voters_settings settings = surety_voters_defaults();
        surety_model_facts facts = surety_model_facts_defaults();
        surety_voters *voters;
        surety_model *model;
        double weights[4] = {0.25, 0.25, 0.25, 0.25};
        settings.kind = kinds[k], settings.count = 4, settings.layers[0] = 6;
        facts.voter_set = SURETY_REAL;
        check_ok(surety_voters_new(&settings, D, 7, &voters, &err));
        check_ok(surety_model_new(voters, weights, weights, &facts, &model, &err));
        shared s = {.model = model, .x = x};
        surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
        check_ok(surety_vote_predict(&vote, x, D, M, s.expected, NULL, &err));
        check_ok(surety_vote_classes(&vote, x, D, M, s.classes, NULL, &err));
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, ask_often, &s), 0);
        for (int t = 0; t < THREADS; t++) {
            void *differ;
            assert_int_equal(pthread_join(threads[t], &differ), 0);
            assert_int_equal((uintptr_t)differ, 0);
        }
        surety_model_free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_agree),
        cmocka_unit_test(nothing_can_be_freed),
        cmocka_unit_test(threads_share_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
