/* Certificates of votes that any classifier gave, and the log of looks: what is refused, noticed, counted and
 * rounded. */
#include <math.h>

#include "certify/certificate.h"
#include "draw.h"
#include "io/files.h"
#include "io/npy.h"

enum { M = 60, N = 2, FAILED = 3 };

static const surety_run one_thread = {.threads = 1};

/* Class numbers of one voter; on the first examples one of the N votes is wrong. */
static void write_votes(const char *name, size_t failed) {
    surety_error err = SURETY_ERROR_NONE;
    surety_npy_writer *votes, *labels;
    check_ok(surety_npy_writer_open(&votes, files_path(name), SURETY_U1, 3, (size_t[]){M, N, 1}, &err));
    check_ok(surety_npy_writer_open(&labels, files_path("y.npy"), SURETY_U1, 1, (size_t[]){M}, &err));
    for (size_t i = 0; i < M; i++) {
        uint8_t y = (uint8_t)(i % 2), v[N] = {y, (uint8_t)(i < failed ? !y : y)};
        check_ok(surety_npy_writer_append(votes, v, N, &err));
        check_ok(surety_npy_writer_append(labels, &y, 1, &err));
    }
    check_ok(surety_npy_writer_commit(votes, &err));
    check_ok(surety_npy_writer_commit(labels, &err));
}

static surety_votes_promise promise(const char *votes) {
    surety_votes_promise s = {.votes = surety_votes_defaults(), .threat = "x"}; /* the shortest of words */
    s.votes.votes = files_path(votes);
    s.votes.labels = files_path("y.npy");
    return s;
}

static int begin(void **state) {
    if (files_begin(state) || setenv("XDG_STATE_HOME", files_folder, 1)) return -1;
    write_votes("v.npy", FAILED);
    write_votes("other.npy", FAILED + 1);
    return 0;
}

static void test_it_agrees_with_its_files_only(void **state) {
    (void)state;
    static surety_votes_certificate c;
    static surety_verification v;
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_promise s = promise("v.npy"), other = promise("other.npy");
    check_ok(surety_certify_votes(&s, &c, &one_thread, &err));
    check_that(c.counts.max_wrong + c.counts.max_tied, ==, FAILED);
    check_that(c.value, >=, surety_binomial_limit(FAILED, M, 0.05));
    check_that(c.value, <=, 1.0000001 * surety_binomial_limit(FAILED, M, 0.05));
    check_ok(surety_votes_certificate_save(&c, files_path("c.json"), &err));
    surety_certificate_head head;
    check_ok(surety_certificate_head_load(files_path("c.json"), &head, &err));
    check_that(head.value, ==, c.value);
    assert_true(head.of_votes);
    assert_string_equal(head.answers, c.sha256.votes);
    assert_string_equal(head.learn, surety_votes_certificate_learn(&c));
    assert_string_equal(head.digest, c.digest);
    check_ok(surety_verify_votes(files_path("c.json"), &s, &v, &one_thread, &err));
    check(v.agrees && v.counted && !v.differences && !v.reason[0], "%s", v.reason);
    check_that(v.value, ==, c.value);
    check_that(v.found, ==, c.value);
    assert_string_equal(v.claim, c.claim);
    check_ok(surety_verify_votes(files_path("c.json"), &other, &v, &one_thread, &err));
    check(!v.agrees, "other votes were not noticed");
    check_contains(v.reason, "sha256.votes");
    check_that(v.found, >, v.value);
    assert_int_not_equal(surety_verify_votes(files_path("none.json"), &s, &v, &one_thread, &err), SURETY_OK);
    assert_false(v.agrees);
}

static void test_refusals(void **state) {
    (void)state;
    static surety_votes_certificate c;
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_promise s = promise("v.npy");
    s.votes.looks = 0;
    assert_int_equal(surety_certify_votes(&s, &c, &one_thread, &err), SURETY_E_CHECK);
    check_contains(err.what, "not paid for");
    check_contains(err.expected, "--looks");
    s = promise("v.npy"), s.threat = NULL, err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_certify_votes(&s, &c, &one_thread, &err), SURETY_E_USAGE);
    check_contains(err.expected, "--threat");
    assert_int_equal(c.claim[0], 0);
}

/* About one vote that was fixed before S, and nothing else. */
static void test_settings_that_do_not_fit(void **state) {
    (void)state;
    static surety_votes_certificate c;
    static char words[sizeof c.threat + 1];
    memset(words, 'x', sizeof words - 1);
    for (int kind = 0; kind < 9; kind++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_votes_promise s = promise("v.npy");
        const char *what = "a certificate of votes is about one vote";
        if (kind == 0) s.votes.votes = NULL;
        if (kind == 1) s.votes.labels = NULL;
        if (kind == 2) s.votes.posterior = s.votes.labels;
        if (kind == 3) s.votes.learn = 1;
        if (kind == 4) s.votes.hold_out = 1;
        if (kind == 5) s.votes.priors_compared = 2;
        if (kind == 6) s.votes.delta = 0, what = "delta is above 0 and below 1, not 0";
        if (kind == 7) s.threat = words, what = "the words about the threat are longer";
        if (kind == 8) s.of = words, what = "the name of the classifier is longer";
        assert_int_equal(surety_certify_votes(&s, &c, &one_thread, &err), SURETY_E_USAGE);
        check_contains(err.what, what);
        assert_int_equal(c.claim[0], 0);
    }
}

/* A file that is no certificate is named. */
static void test_files_that_are_none(void **state) {
    (void)state;
    static surety_verification v;
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_promise s = promise("v.npy");
    const char *path = files_text("bad.json", "{}");
    check_bad(surety_verify_votes(path, &s, &v, &one_thread, &err), SURETY_E_INPUT);
    check_contains(err.file, "bad.json");
    assert_false(v.agrees);
}

/* What fails, what is assumed, and by whose word. */
static void test_the_sentence(void **state) {
    (void)state;
    static surety_votes_certificate c;
    surety_error err = SURETY_ERROR_NONE;
    surety_npy_writer *plain;
    surety_votes_promise s = promise("v.npy");
    char text[32], limit[96];
    const char *made =
        ", and the perturbations of each example were made as said, from that example and random "
        "numbers of its own.";
    s.of = "the clinic's";
    check_ok(surety_certify_votes(&s, &c, &one_thread, &err));
    snprintf(limit, sizeof limit, "fails on at most %s %% of the new inputs of its 2 classes, where it fails",
             surety_percent_up(c.value, text));
    check_contains(c.claim, "With confidence 95 % over the draw of the 60 examples of S and of the perturb");
    check_contains(c.claim, "the classifier 'the clinic's' whose answers are in the votes (SHA-256 ");
    check_contains(c.claim, limit);
    check_contains(c.claim,
                   "at least one of the 2 perturbations that are made of it so: x; this assumes that S");
    check_contains(c.claim,
                   "beyond what is paid for here: this certificate among at most 1 (--looks). By the");
    check_contains(c.claim,
                   "they are the answers of this classifier, no example of S had a part in making it");
    check_contains(c.claim, made);
    check_ok(surety_npy_writer_open(&plain, files_path("p.npy"), SURETY_U1, 2, (size_t[]){M, 1}, &err));
    for (size_t i = 0; i < M; i++) check_ok(surety_npy_writer_append(plain, &(uint8_t){i % 2}, 1, &err));
    check_ok(surety_npy_writer_commit(plain, &err));
    s = promise("p.npy"), s.threat = NULL;
    check_ok(surety_certify_votes(&s, &c, &one_thread, &err));
    check_contains(c.claim, "examples of S, the classifier whose answers");
    check_contains(c.claim, "wrong or tied on the input itself, unperturbed; this assumes");
    check(!strstr(c.claim, made), "%s", c.claim);
}

/* Each class pays half of delta, and each limit is in the sentence. */
static void test_classes(void **state) {
    (void)state;
    static surety_votes_certificate c;
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_promise s = promise("v.npy");
    const uint64_t failed[] = {2, 1}; /* of the first three examples */
    char text[32], said[2][80];
    s.per_class = 1;
    check_ok(surety_certify_votes(&s, &c, &one_thread, &err));
    check_that(c.limit_count, ==, 2);
    for (size_t k = 0; k < 2; k++) {
        double limit = surety_binomial_limit(failed[k], M / 2, 0.025);
        check(c.limits[k].m == M / 2 && c.limits[k].failed == failed[k], "class %zu", k);
        check(c.limits[k].value >= limit && c.limits[k].value < 1.0000001 * limit, "class %zu", k);
        snprintf(said[k], sizeof said[k], "%s %% of the new inputs of class %zu",
                 surety_percent_up(c.limits[k].value, text), k);
        check_contains(c.claim, said[k]);
    }
    check_that(c.value, ==, c.limits[0].value);
}

/* The number behind the second word of a line of the log. */
static double logged(const char *what) {
    double value = NAN;
    sscanf(what, "%*s %*s %lf", &value);
    return value;
}

/* A limit in the log is never below the one that was promised. */
static void test_the_log_rounds_up(void **state) {
    (void)state;
    static surety_votes_certificate votes = {.bound = "vote_frozen_max", .digest = "0123456789abcdef"};
    static surety_certificate c = {.bound = "average_max", .digest = "0123456789abcdef"};
    draw d = {11};
    for (int i = 0; i < 1000; i++) {
        c.value = votes.value = i ? pow(10, draw_real(&d, -6, 0)) : 0.25;
        double a = logged(surety_certificate_look(&c).what);
        double b = logged(surety_votes_certificate_look(&votes).what);
        check(a >= c.value && a < c.value + 2e-6, "%.17g for %.17g", a, c.value);
        check_that(a, ==, b);
    }
}

static surety_look look(const char *command, char learn, char model, const char *what) {
    surety_look out = {0};
    snprintf(out.command, sizeof out.command, "%s", command);
    memset(out.learn, learn, 64), memset(out.model, model, 64);
    snprintf(out.what, sizeof out.what, "%s", what);
    return out;
}

/* A certificate is counted again unless S, model and words are those of one before. */
static void test_what_the_log_counts(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const surety_look events[] = {
        look("certify", 'a', 'm', "0.1"), look("train", 'a', 'm', "0.1"),
        look("certify", 'a', 'm', "0.1"), /* once more */
        look("certify", 'b', 'm', "0.2"), look("certify", 'a', 'n', "0.1"),
        look("certify", 'a', 'm', "0.2"), look("evaluate", 'a', 'm', "0.3"),
        look("certify", 'a', 'm', "0.3"), look("attack", 'b', 'm', "0.1"),
    };
    const uint64_t so_far[] = {1, 1, 1, 1, 2, 3, 3, 4, 4}; /* certificates of the first S */
    surety_looks log;
    check_ok(surety_looks_read(NULL, &log, &err)); /* there is none yet */
    check_that(log.count, ==, 0);
    size_t count = sizeof events / sizeof *events;
    for (size_t i = 0; i < count; i++) check_ok(surety_looks_add(&events[i], &err));
    struct stat about;
    assert_int_equal(stat(files_path("surety/looks"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600); /* nobody else's business */
    check_ok(surety_looks_read(NULL, &log, &err));
    check_that(log.count, ==, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(log.look[i].command, events[i].command);
        assert_string_equal(log.look[i].what, events[i].what);
        assert_int_equal(strlen(log.look[i].time), 20);
        surety_looks begun = {.count = i + 1, .look = log.look};
        check_that(surety_looks_count(&begun, events[0].learn).certificates, ==, so_far[i]);
        assert_int_equal(surety_looks_begins(&log, i), i == 0 || i == 3);
    }
    surety_look_count a = surety_looks_count(&log, events[0].learn);
    surety_look_count b = surety_looks_count(&log, events[3].learn);
    check(a.certificates == 4 && a.evaluations == 1 && a.trainings == 1, "%d", (int)a.certificates);
    check(b.certificates == 1 && b.evaluations == 1 && b.trainings == 0, "%d", (int)b.certificates);
    char *text = surety_looks_json(&log);
    check_contains(text, "\"certificates\": 4,\n      \"evaluations\": 1,\n      \"trainings\": 1,");
    check_contains(text, "\"certificates\": 1,\n      \"evaluations\": 1,\n      \"trainings\": 0,");
    surety_text_free(text);
    surety_looks_free(&log);
    check_ok(surety_looks_read(events[3].learn, &log, &err));
    check_that(log.count, ==, 2);
    surety_looks_free(&log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_agrees_with_its_files_only),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_settings_that_do_not_fit),
        cmocka_unit_test(test_files_that_are_none),
        cmocka_unit_test(test_the_sentence),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_the_log_rounds_up),
        cmocka_unit_test(test_what_the_log_counts),
    };
    return cmocka_run_group_tests(tests, begin, files_end);
}
