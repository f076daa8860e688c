/* What is in outputs after a failure (surety/surety.h): whatever a call fails for, a handle is NULL and a
 * struct that has a free is all zero, though it held garbage before. Each call is made to fail by its input,
 * by a stop, and for want of memory at each of its allocations; with the sanitizers nothing may leak. */
#include "base/memory.h"
#include "draw.h"
#include "io/files.h"
#include "plain.h"
#include "surety/surety.h"

enum { ROWS = 60, D = 3, H = 4 };

static surety_data *data;
static surety_model *model;
static float features[ROWS * D];
static int64_t labels[ROWS];
static sig_atomic_t stopped;
static const surety_run run = {.threads = 1, .stop = &stopped};
static int bad; /* 1: the call gets an input that it refuses */

static surety_arrays arrays(void) {
    return (surety_arrays){.m = ROWS, .d = D, .features = features, .labels = labels};
}

static surety_data_settings split(void) {
    surety_data_settings s = plain_settings();
    s.test_size = 10;
    return s;
}

static surety_train_settings training(void) {
    surety_train_settings s = surety_train_defaults();
    s.voters.count = H;
    s.defense.steps = 1;
    s.step1_epochs = s.step2_epochs = 1;
    return s;
}

static surety_certify_settings promise(void) {
    surety_certify_settings s = surety_certify_defaults(model);
    s.threat.samples = 2, s.threat.steps = 1;
    s.looks = 1;
    s.despite_test = 1;
    return s;
}

/* Votes of one voter that is never wrong, as files. */
static surety_votes_promise of_votes(void) {
    surety_votes_promise s = {.votes = surety_votes_defaults()};
    s.votes.votes = files_path("v.npy"), s.votes.labels = files_path("y.txt");
    s.votes.looks = 1;
    return s;
}

static int begin(void **state) {
    surety_error err = SURETY_ERROR_NONE;
    draw d = {7};
    if (files_begin(state)) return -1;
    double votes[ROWS];
    char text[4 * ROWS] = "";
    for (size_t i = 0; i < ROWS; i++) {
        labels[i] = (int64_t)(i % 2);
        for (size_t j = 0; j < D; j++) features[i * D + j] = (float)draw_real(&d, 0.1 * (double)(i % 2), 0.9);
        votes[i] = i % 2 ? 1 : -1;
        strcat(text, i % 2 ? "1\n" : "-1\n");
    }
    surety_arrays a = arrays();
    surety_data_settings s = split();
    surety_train_settings t = training();
    surety_checkpointing none = {0};
    surety_train_result result;
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    check_ok(surety_train(&t, data, &none, &model, &result, NULL, &err));
    surety_train_result_free(&result);
    check_ok(surety_model_save(model, files_path("m"), &err));
    files_text("bad", "nothing that surety wrote");
    files_text("y.txt", text);
    files_text("t.csv", "a,y\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,1\n");
    files_npy("v.npy", SURETY_F8, votes, ROWS, 1);
    surety_certify_settings p = promise();
    surety_certificate c;
    check_ok(surety_certify(model, data, &p, &c, NULL, &err));
    check_ok(surety_certificate_save(&c, files_path("c"), &err));
    surety_certificate_free(&c);
    surety_votes_promise v = of_votes();
    surety_votes_certificate vc;
    check_ok(surety_certify_votes(&v, &vc, NULL, &err));
    check_ok(surety_votes_certificate_save(&vc, files_path("vc"), &err));
    return 0;
}

static int end(void **state) {
    surety_model_free(model);
    surety_data_free(data);
    return files_end(state);
}

/* A set of the data, or one without examples. */
static surety_set set_of(surety_set_name which) {
    return surety_set_slice(surety_data_set(data, which), 0, bad ? 0 : SIZE_MAX);
}

static const double weights[H] = {0.25, 0.25, 0.25, 0.25}, no_weights[H] = {1, 1, 0, 0};

/* ---- calls: each fills an output that holds garbage, says whether it is empty now, and frees it ---- */

static void *garbage(void) {
    return (void *)&labels; /* freeing it would end the program */
}

static surety_status voters(int *empty, surety_error *err) {
    surety_voters *out = garbage();
    surety_voters_settings s = surety_voters_defaults();
    s.depth = bad ? 0 : 2;
    surety_status status = surety_voters_new(&s, D, 1, &out, err);
    *empty = !out;
    surety_voters_free(out);
    return status;
}

static surety_status networks(int *empty, surety_error *err) {
    surety_voters *out = garbage();
    surety_voters_settings s = surety_voters_defaults();
    s.kind = "lipschitz";
    s.layers[0] = bad ? 0 : 8;
    surety_status status = surety_voters_new(&s, D, 1, &out, err);
    *empty = !out;
    surety_voters_free(out);
    return status;
}

static surety_status prover(int *empty, surety_error *err) {
    surety_prover *out = garbage();
    surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
    surety_ball ball = surety_ball_defaults();
    ball.radius = bad ? -1 : 0.1;
    surety_status status = surety_prover_new(&vote, &ball, 10, &out, err);
    *empty = !out;
    surety_prover_free(out);
    return status;
}

static surety_status data_from_arrays(int *empty, surety_error *err) {
    surety_data *out = garbage();
    surety_arrays a = arrays();
    surety_data_settings s = split();
    s.learn_share = bad ? 2 : 0.4;
    surety_status status = surety_data_from_arrays(&a, &s, &out, err);
    *empty = !out;
    surety_data_free(out);
    return status;
}

static surety_status data_open(int *empty, surety_error *err) {
    surety_data *out = garbage();
    surety_data_settings s = surety_data_defaults();
    s.train = files_path(bad ? "bad" : "t.csv");
    surety_status status = surety_data_open(&s, &out, err);
    *empty = !out;
    surety_data_free(out);
    return status;
}

static surety_status tolerance(int *empty, surety_error *err) {
    surety_tolerance *out = garbage();
    surety_features f = {.d = 2};
    surety_status status = surety_tolerance_new(&f, (double[]){1, bad ? -1 : 0.5}, NULL, NULL, &out, err);
    *empty = !out;
    surety_tolerance_free(out);
    return status;
}

static surety_status tolerance_read(int *empty, surety_error *err) {
    surety_tolerance *out = garbage();
    surety_features f = {.d = 1, .names = (const char *const[]){"a"}};
    const char *path = files_text("tolerance", bad ? "feature\na\n" : "feature,radius\na,1\n");
    surety_status status = surety_tolerance_read(path, &f, &out, err);
    *empty = !out;
    surety_tolerance_free(out);
    return status;
}

static surety_status risk(int *empty, surety_error *err) {
    surety_risk *out = garbage();
    surety_risk_settings s = {.voter_count = H, .samples = 1, .posterior = bad ? no_weights : weights};
    surety_status status = surety_risk_new(&s, &out, err);
    *empty = !out;
    surety_risk_free(out);
    return status;
}

static surety_status ledger(int *empty, surety_error *err) {
    surety_ledger *out = garbage();
    surety_status status = surety_ledger_new(bad ? 1 : 0.05, &out, err);
    *empty = !out;
    surety_ledger_free(out);
    return status;
}

static surety_status model_load(int *empty, surety_error *err) {
    surety_model *out = garbage();
    surety_status status = surety_model_load(files_path(bad ? "bad" : "m"), &out, err);
    *empty = !out;
    surety_model_free(out);
    return status;
}

/* Nothing is wrong with a file that cannot be imported; none of these can. */
static surety_status model_import(int *empty, surety_error *err) {
    surety_model *out = garbage();
    surety_status status = surety_model_import(files_path("bad"), NULL, &out, err);
    *empty = !out;
    surety_model_free(out);
    return bad ? status : SURETY_OK;
}

static surety_status model_encode(int *empty, surety_error *err) {
    uint8_t *out = garbage();
    size_t size = 1;
    surety_status status = surety_model_encode(model, &out, &size, err);
    *empty = !out && !size;
    surety_bytes_free(out);
    return bad ? SURETY_E_INPUT : status; /* every model has bytes */
}

static surety_status train(int *empty, surety_error *err) {
    surety_model *out = garbage();
    surety_train_result result;
    memset(&result, 0xa5, sizeof result);
    surety_train_settings s = training();
    surety_checkpointing none = {0};
    s.batch = bad ? 0 : 64;
    surety_status status = surety_train(&s, data, &none, &out, &result, &run, err);
    *empty = !out && !result.step1_risk && !result.step2_objective && !result.clean.answers;
    surety_model_free(out);
    surety_train_result_free(&result);
    return status;
}

static surety_status train_objectives(int *empty, surety_error *err) {
    surety_trained out[2];
    memset(out, 0xa5, sizeof out);
    surety_train_settings s = training();
    s.lr = bad ? 0 : 0.01;
    surety_status status = surety_train_objectives(
        &s, data, (surety_objective[]){SURETY_OBJECTIVE_BASELINE, SURETY_OBJECTIVE_SEEGER}, 2, out, &run,
        err);
    *empty = 1;
    for (int i = 0; i < 2; i++) {
        *empty &= !out[i].model && !out[i].result.step1_risk && !out[i].result.clean.answers;
        surety_model_free(out[i].model);
        surety_train_result_free(&out[i].result);
    }
    return status;
}

static surety_status part(int *empty, surety_error *err) {
    surety_part *out = garbage();
    surety_status status = surety_part_begin(bad ? 3 : 1, 2, &out, err);
    *empty = !out;
    surety_part_free(out);
    return status;
}

static surety_status parts_load(int *empty, surety_error *err) {
    surety_part *out = garbage();
    surety_status status = surety_parts_load((const char *const[]){files_path("bad")}, 1, &out, err);
    *empty = !out;
    surety_part_free(out);
    return bad ? status : SURETY_OK; /* good ones: tests/cli/test_parts.py */
}

static surety_status risk_result(int *empty, surety_error *err) {
    surety_risks out;
    surety_risk *from;
    surety_risk_settings s = {
        .voter_count = H, .samples = 1, .signed_votes = 1, .posterior = weights, .prior = weights};
    memset(&out, 0xa5, sizeof out);
    *empty = 1;
    surety_status status = surety_risk_new(&s, &from, err);
    if (status != SURETY_OK) return status;
    if (!bad) status = surety_risk_add(from, (float[H]){1, 1, 1, 1}, H, 1, err);
    if (status == SURETY_OK) {
        status = surety_risk_result(from, &out, err);
        *empty =
            !out.memory && !out.groups && !out.m && !out.voter_count && !out.signed_votes && !out.has_prior;
        surety_risks_free(&out);
    }
    surety_risk_free(from);
    return status;
}

static surety_status perturbed(int *empty, surety_error *err) {
    surety_risks out;
    surety_set set = set_of(SURETY_SET_TEST);
    surety_certify_settings s = promise();
    memset(&out, 0xa5, sizeof out);
    surety_status status = surety_evaluate_perturbed(model, &set, &s.threat, &out, &run, err);
    *empty = !out.memory && !out.groups && !out.m;
    surety_risks_free(&out);
    return status;
}

static surety_status worst(int *empty, surety_error *err) {
    surety_risks out;
    surety_set set = set_of(SURETY_SET_TEST);
    surety_ball ball = surety_ball_defaults();
    memset(&out, 0xa5, sizeof out);
    surety_status status = surety_evaluate_worst(model, &set, &ball, &out, &run, err);
    *empty = !out.memory && !out.groups && !out.m;
    surety_risks_free(&out);
    return status;
}

static surety_status clean(int *empty, surety_error *err) {
    surety_clean out;
    surety_set set = set_of(SURETY_SET_TEST);
    surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
    memset(&out, 0xa5, sizeof out);
    surety_status status = surety_evaluate_clean(&vote, &set, surety_data_describe(data), &out, &run, err);
    *empty = !out.answers && !out.m && !out.classes;
    surety_clean_free(&out);
    return status;
}

static surety_status table_rows(int *empty, surety_error *err) {
    surety_row out[2];
    surety_row_settings s = surety_row_defaults(model);
    memset(out, 0xa5, sizeof out);
    s.threat = promise().threat;
    s.delta = bad ? 2 : 0.05;
    surety_status status =
        surety_evaluate_rows((const surety_model *const[]){model, model}, 2, data, &s, out, &run, err);
    *empty = 1;
    for (int i = 0; i < 2; i++) {
        *empty &= !out[i].test.memory && !out[i].learn.memory && !out[i].radius_unit && !out[i].overlap.m;
        surety_row_free(&out[i]);
    }
    return status;
}

static surety_status bound_votes(int *empty, surety_error *err) {
    surety_votes_result out;
    surety_votes_settings s = of_votes().votes;
    memset(&out, 0xa5, sizeof out);
    if (bad) s.labels = files_path("bad");
    surety_status status = surety_bound_votes(&s, &out, &run, err);
    *empty = !out.risks.memory && !out.prior && !out.posterior && !out.class_names;
    surety_votes_result_free(&out);
    return status;
}

static surety_status certify(int *empty, surety_error *err) {
    surety_certificate out;
    surety_certify_settings s = promise();
    memset(&out, 0xa5, sizeof out);
    s.looks = bad ? 0 : 1;
    surety_status status = surety_certify(model, data, &s, &out, &run, err);
    *empty = !out.claim[0] && !out.counts.loss && !out.data.classes && !out.tolerance.features;
    surety_certificate_free(&out);
    return status;
}

static surety_status certificate_load(int *empty, surety_error *err) {
    surety_certificate out;
    memset(&out, 0xa5, sizeof out);
    surety_status status = surety_certificate_load(files_path(bad ? "vc" : "c"), &out, err);
    *empty = !out.claim[0] && !out.counts.loss && !out.data.classes;
    surety_certificate_free(&out);
    return status;
}

/* Structs that own nothing and could pass for a result. */
static surety_status certify_votes(int *empty, surety_error *err) {
    surety_votes_certificate out;
    surety_votes_promise s = of_votes();
    memset(&out, 0xa5, sizeof out);
    if (bad) s.votes.labels = files_path("bad");
    surety_status status = surety_certify_votes(&s, &out, &run, err);
    *empty = !out.claim[0] && !out.sha256.votes[0] && !out.digest[0];
    return status;
}

static surety_status votes_certificate_load(int *empty, surety_error *err) {
    surety_votes_certificate out;
    memset(&out, 0xa5, sizeof out);
    surety_status status = surety_votes_certificate_load(files_path(bad ? "changed" : "vc"), &out, err);
    *empty = !out.claim[0] && !out.digest[0];
    return status;
}

static surety_status verify(int *empty, surety_error *err) {
    surety_verification out;
    surety_verify_settings s = surety_verify_defaults();
    memset(&out, 0xa5, sizeof out);
    s.opened = data;
    s.model = files_path("m");
    s.numbers = s.retrain = bad;
    surety_status status = surety_verify(files_path("c"), &s, &out, &run, err);
    *empty = !out.agrees;
    return status;
}

static surety_status looks(int *empty, surety_error *err) {
    surety_looks out;
    memset(&out, 0xa5, sizeof out);
    surety_status status = surety_looks_read(NULL, &out, err);
    *empty = !out.look && !out.count;
    surety_looks_free(&out);
    return bad ? SURETY_E_INPUT : status; /* no log is none */
}

static surety_status data_list(int *empty, surety_error *err) {
    surety_data_list out;
    memset(&out, 0xa5, sizeof out);
    surety_status status = surety_data_list_make(files_folder, &out, err);
    *empty = !out.places && !out.count && !out.owned;
    surety_data_list_free(&out);
    return bad ? SURETY_E_INPUT : status;
}

/* ---- they fail ---- */

typedef struct call {
    const char *name;
    surety_status (*make)(int *empty, surety_error *err);
} call;

#define CALL(name) \
    { #name, name }

static const call calls[] = {CALL(voters),         CALL(networks),
                             CALL(prover),         CALL(data_from_arrays),
                             CALL(data_open),      CALL(tolerance),
                             CALL(tolerance_read), CALL(risk),
                             CALL(ledger),         CALL(model_load),
                             CALL(model_import),   CALL(model_encode),
                             CALL(train),          CALL(train_objectives),
                             CALL(part),           CALL(parts_load),
                             CALL(risk_result),    CALL(perturbed),
                             CALL(worst),          CALL(clean),
                             CALL(table_rows),     CALL(bound_votes),
                             CALL(certify),        CALL(certificate_load),
                             CALL(certify_votes),  CALL(votes_certificate_load),
                             CALL(verify),         CALL(looks),
                             CALL(data_list)};
enum { CALLS = sizeof calls / sizeof *calls };

static void test_bad_input(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_certificate changed;
    check_ok(surety_votes_certificate_load(files_path("vc"), &changed, &err));
    char *text = surety_votes_certificate_json(&changed), *at = strstr(text, "\"delta\": 0.05");
    assert_non_null(at);
    at[strlen("\"delta\": 0.0")] = '6'; /* its digest does not fit: a check that says no */
    files_text("changed", text);
    surety_text_free(text);
    for (size_t i = 0; i < CALLS; i++) {
        int empty = 0, empty_before;
        bad = 0;
        err = (surety_error)SURETY_ERROR_NONE;
        check(calls[i].make(&empty_before, &err) == SURETY_OK, "%s: %s %s", calls[i].name, err.what,
              err.place);
        bad = 1;
        surety_status status = calls[i].make(&empty, NULL);
        bad = 0;
        check(status != SURETY_OK, "%s passes", calls[i].name);
        int never = calls[i].make == model_encode || calls[i].make == data_list || calls[i].make == looks;
        check(empty || never, "%s: status %d and an output", calls[i].name, (int)status);
    }
}

static void test_stopped(void **state) {
    (void)state;
    stopped = 1;
    for (size_t i = 0; i < CALLS; i++) {
        int empty;
        surety_status status = calls[i].make(&empty, NULL);
        check(status == SURETY_OK || empty, "%s: status %d and an output", calls[i].name, (int)status);
    }
    stopped = 0;
}

static void test_no_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < CALLS; i++) {
        surety_status status = SURETY_E_MEMORY;
        for (long k = 0; status != SURETY_OK; k++) {
            int empty;
            long left = k;
            surety_memory_hook(check_fail_at, &left);
            status = calls[i].make(&empty, NULL);
            surety_memory_hook(NULL, NULL);
            check(status == SURETY_OK || (status == SURETY_E_MEMORY && empty),
                  "%s, allocation %ld: status %d, empty %d", calls[i].name, k, (int)status, empty);
        }
    }
}

/* What is changed is as it was. */
static void test_unchanged(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_monitor m, before;
    surety_risk *a;
    surety_risks r;
    check_ok(surety_monitor_start(0.1, 0.05, &m, &err));
    surety_monitor_add(&m, 1);
    before = m;
    const char *path = files_text("state",
                                  "{\"certificate\": \"d\", \"promise\": 0.1, \"alpha\": 0.05, \"seen\": 7, "
                                  "\"failed\": 9, \"alarm\": 0}");
    assert_int_equal(surety_monitor_load("d", path, &m, NULL), SURETY_E_INPUT);
    check_that(m.seen, ==, before.seen);
    check_that(m.failed, ==, before.failed);
    surety_risk_settings s = {.voter_count = H, .samples = 1, .posterior = weights};
    check_ok(surety_risk_new(&s, &a, &err));
    check_ok(surety_risk_add(a, (float[H]){1, 1, 1, -1}, H, 1, &err));
    assert_int_equal(surety_risk_add(a, (float[H]){1, 1, 1, 2}, H, 1, NULL), SURETY_E_INPUT);
    assert_int_equal(surety_risk_reset(a, no_weights, NULL), SURETY_E_INPUT);
    check_ok(surety_risk_result(a, &r, &err));
    check_that(r.m, ==, 1);
    check_that(r.loss[3], ==, SURETY_LOSS_ONE);
    check_that(r.loss[0], ==, 0);
    surety_risks_free(&r);
    surety_risk_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_input), cmocka_unit_test(test_stopped),
                                       cmocka_unit_test(test_no_memory), cmocka_unit_test(test_unchanged)};
    return cmocka_run_group_tests(tests, begin, end);
}
