/* Certificates on small data of our own: what is refused, what is written, and that no change to a
 * certificate, the model or the data goes unnoticed. */
#include <math.h>
#include <pthread.h>

#include "certify/certificate.h"
#include "comma.h"
#include "draw.h"
#include "io/files.h"
#include "io/npy.h"
#include "io/sha256.h"
#include "plain.h"
#include "surety/evaluate.h"
#include "surety/train.h"

enum { ROWS = 240, LEARN = 100, D = 5 };

static surety_data *data;
static surety_model *model;
static surety_certify_settings settings;
static const surety_run one_thread = {.threads = 1};

/* ---- a small world ---- */

/* Two overlapping clouds in [0,1]^D; labels 0 and 1, features float32. */
static void write_world(const char *x_name, const char *y_name, int changed_row) {
    surety_error err = SURETY_ERROR_NONE;
    surety_npy_writer *x, *y;
    draw d = {42};
    check_ok(surety_npy_writer_open(&x, files_path(x_name), SURETY_F4, 2, (size_t[]){ROWS, D}, &err));
    check_ok(surety_npy_writer_open(&y, files_path(y_name), SURETY_U1, 1, (size_t[]){ROWS}, &err));
    for (int i = 0; i < ROWS; i++) {
        uint8_t label = (uint8_t)(i % 2);
        float row[D];
        for (int j = 0; j < D; j++)
            row[j] = (float)fmin(1, fmax(0, 0.35 + 0.3 * label + 0.15 * draw_normal(&d)));
        if (i == changed_row) label = !label;
        check_ok(surety_npy_writer_append(x, row, D, &err));
        check_ok(surety_npy_writer_append(y, &label, 1, &err));
    }
    check_ok(surety_npy_writer_commit(x, &err));
    check_ok(surety_npy_writer_commit(y, &err));
}

static surety_data_settings world(void) {
    surety_data_settings s = plain_settings();
    s.train = files_path("X_train.npy");
    s.learn_size = LEARN;
    s.test_size = 40;
    return s;
}

static surety_train_settings training(surety_objective objective) {
    surety_train_settings s = surety_train_defaults();
    s.objective = objective;
    s.voter_set = SURETY_REAL; /* sums of real losses notice the slightest change of a perturbation */
    s.defense.ball.norm = SURETY_LINF;
    s.defense.ball.radius = 0.05;
    s.defense.steps = 3;
    s.voters.count = 4;
    s.step1_epochs = s.step2_epochs = 2;
    s.batch = 16;
    s.lr = 0.05;
    return s;
}

static void train(const surety_train_settings *s, surety_model **out) {
    surety_error err = SURETY_ERROR_NONE;
    surety_train_result result;
    surety_checkpointing none = {0};
    check_ok(surety_train(s, data, &none, out, &result, &one_thread, &err));
    surety_train_result_free(&result);
}

static int begin(void **state) {
    surety_error err = SURETY_ERROR_NONE;
    if (files_begin(state)) return -1;
    write_world("X_train.npy", "y_train.npy", -1);
    surety_data_settings s = world();
    surety_train_settings t = training(SURETY_OBJECTIVE_SEEGER);
    check_ok(surety_data_open(&s, &data, &err));
    train(&t, &model);
    check_ok(surety_model_save(model, files_path("m.safetensors"), &err));
    settings = surety_certify_defaults(model);
    settings.threat.samples = 5;
    settings.threat.steps = 3;
    settings.threat.step_size = settings.threat.ball.radius / 3; /* short: every step counts */
    settings.looks = 1;
    settings.model_file = strdup(files_path("m.safetensors"));
    return 0;
}

static int end(void **state) {
    free((char *)(uintptr_t)settings.model_file);
    surety_model_free(model);
    surety_data_free(data);
    return files_end(state);
}

static void make(surety_certificate *c, const surety_certify_settings *s) {
    surety_error err = SURETY_ERROR_NONE;
    check_ok(surety_certify(model, data, s, c, &one_thread, &err));
}

static const char *save(const char *name, const surety_certify_settings *s) {
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate c;
    make(&c, s);
    const char *path = files_path(name);
    check_ok(surety_certificate_save(&c, path, &err));
    surety_certificate_free(&c);
    return path;
}

static surety_status verify(surety_verification *v, const char *path, surety_error *err) {
    surety_verify_settings s = surety_verify_defaults();
    s.data.train = files_path("X_train.npy");
    return surety_verify(path, &s, v, &one_thread, err);
}

/* ---- what a certificate says ---- */

static void test_agrees_and_says_what_it_must(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate c, again;
    surety_verification *v = malloc(sizeof *v);
    make(&c, &settings);
    assert_string_equal(c.bound, "average_max_seeger");
    assert_string_equal(c.attack.name, "pgdu"); /* the defense */
    check_that(c.value, >=, 2 * c.surrogate);
    assert_int_equal(c.inputs.m, LEARN);
    assert_int_equal(c.inputs.n, 5);
    assert_int_equal(c.inputs.priors_compared, 2);
    const char *parts[] = {"confidence 95 %",
                           "100 examples of S",
                           "at least one of 5 perturbations",
                           "pgdu",
                           "linf distance 0.05",
                           "[0, 1]",
                           "independently from one distribution",
                           "2 candidates",
                           "at most 1 (--looks)",
                           "prior"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        check(strstr(c.claim, parts[i]) != NULL, "no '%s' in: %s", parts[i], c.claim);
    check_ok(surety_certificate_save(&c, files_path("c.json"), &err));
    check_ok(surety_certificate_load(files_path("c.json"), &again, &err));
    surety_certificate_head head;
    check_ok(surety_certificate_head_load(files_path("c.json"), &head, &err));
    check_that(head.value, ==, c.value);
    assert_false(head.of_votes);
    assert_string_equal(head.learn, c.data.sha256_learn);
    assert_string_equal(head.answers, c.model.sha256);
    assert_string_equal(head.digest, c.digest);
    assert_false(head.clean || head.distinct); /* pgdu starts at random */
    char *a = surety_certificate_json(&c), *b = surety_certificate_json(&again);
    assert_string_equal(a, b);
    assert_null(strstr(a, files_folder)); /* no path of this machine */
    surety_text_free(a);
    surety_text_free(b);
    check_ok(verify(v, files_path("c.json"), &err));
    check(v->agrees && !strcmp(v->level, "bits") && !v->differences, "%s", v->reason);
    check_that(v->found, ==, c.value);
    check_that(v->value, ==, c.value);
    char *text = surety_verification_json(v);
    assert_non_null(strstr(text, "\"agrees\": true"));
    surety_text_free(text);
    surety_certificate_free(&c);
    surety_certificate_free(&again);
    free(v);
}

static void test_bits_for_any_number_of_threads(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    char *texts[3];
    for (int t = 0; t < 3; t++) {
        surety_certificate c;
        check_ok(surety_certify(model, data, &settings, &c, &(surety_run){.threads = t + 1}, &err));
        texts[t] = surety_certificate_json(&c);
        surety_certificate_free(&c);
    }
    assert_string_equal(texts[0], texts[1]);
    assert_string_equal(texts[0], texts[2]);
    for (int t = 0; t < 3; t++) surety_text_free(texts[t]);
}

/* The percentage in the sentence is never below the value, the confidence never above 1 - delta. */
static void test_sentence_errs_on_the_safe_side(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate c;
    draw d = {7};
    make(&c, &settings);
    for (long i = 0; i < check_count(2000, 100000); i++) {
        double percent, sure;
        c.value = pow(10, draw_real(&d, -6, 0));
        c.delta = pow(10, draw_real(&d, -12, -0.01));
        c.vacuous = 0;
        check_ok(surety_certificate_word(&c, &err));
        const char *at = strstr(c.claim, "at most ");
        assert_int_equal(sscanf(at, "at most %lf %%", &percent), 1);
        assert_int_equal(sscanf(c.claim, "With confidence %lf %%", &sure), 1);
        check(percent >= 100 * c.value && percent <= 100 * c.value * 1.1 + 1e-4, "%g for %g", percent,
              c.value);
        check(sure <= 100 * (1 - c.delta) + 1e-11 && sure >= 99.999 * (1 - c.delta), "%.12g for %g", sure,
              c.delta);
    }
    c.value = 1.25, c.vacuous = 1;
    check_ok(surety_certificate_word(&c, &err));
    assert_non_null(strstr(c.claim, "promises nothing"));
    surety_certificate_free(&c);
}

/* What "fails" means, word by word, for every threat. */
static void test_sentence_says_what_was_done(void **state) {
    (void)state;
    const struct {
        surety_threat_kind kind;
        const char *bound, *words;
    } cases[] = {
        {SURETY_ATTACK_NONE, NULL, "wrong or tied on the input itself, unperturbed; "},
        {SURETY_ATTACK_UNIF, NULL,
         "the perturbation that attack unif (the best of 2 random points of the ball) makes of it against "
         "the "
         "vote of the model's prior, within linf distance 0.05 of the input and inside [0, 1]; "},
        {SURETY_ATTACK_FGSM, NULL, "that attack fgsm (one step of size 0.05 from the input itself) makes"},
        {SURETY_ATTACK_IFGSM, NULL, "that attack ifgsm (3 steps of size 0.02 from the input itself) makes"},
        {SURETY_ATTACK_PGD, NULL,
         "that attack pgd (3 steps of size 0.02 from each of 2 random starts, of which the best counts) "
         "makes"},
        {SURETY_ATTACK_IFGSMU, "seeger",
         "one perturbation, drawn at random among the 5 that attack ifgsmu (3 steps of size 0.02 from the "
         "input itself, then noise of at most 0.01 per feature) makes"},
        {SURETY_ATTACK_PGDU, NULL,
         "at least one of 5 perturbations that attack pgdu (3 steps of size 0.02 from each of 2 random "
         "starts, of which the best counts, then noise of at most 0.01 per feature) makes of it against the "
         "vote of the "
         "model's prior, within linf distance 0.05 of the input and inside [0, 1]; "},
        {SURETY_WORST_CASE, NULL,
         "if there is any point within linf distance 0.05 of the input and inside [0, 1] on which it is "
         "wrong or tied: on all other inputs no perturbation of norm up to 0.05 that keeps the input inside "
         "[0, 1], whatever the attack, makes it fail; "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        surety_certify_settings s = settings;
        surety_certificate c;
        s.threat.kind = cases[i].kind;
        s.threat.step_size = 0.02;
        s.threat.restarts = 2;
        s.bound = cases[i].bound;
        make(&c, &s);
        const surety_threat_info *info = surety_threat_about(cases[i].kind);
        check(strstr(c.claim, cases[i].words) != NULL, "no '%s' in: %s", cases[i].words, c.claim);
        check(!strstr(c.claim, "random numbers") == !(info->starts || info->noise), "%s", c.claim);
        surety_certificate_free(&c);
    }
}

/* The last of a list is the last, and features that cannot change are named. */
static void test_sentence_of_curves_and_tables(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate c, told;
    double radius[] = {0, 0.1, 0.2}, none[] = {(double)NAN, (double)NAN, (double)NAN};
    surety_certify_settings s = settings;
    s.threat.kind = SURETY_WORST_CASE;
    make(&c, &s);
    told = c; /* shares the arrays: not freed */
    told.vacuous = 0;
    strcpy(told.statement, surety_statement_name(SURETY_SAY_CURVE));
    told.curve_count = 2;
    told.curve[0] = (surety_curve_limit){.radius = 0.25, .value = 0.125};
    told.curve[1] = (surety_curve_limit){.radius = 0.5, .value = 0.25};
    check_ok(surety_certificate_word(&told, &err));
    check_contains(
        told.claim,
        "% of the new inputs of its two classes at r = 0.25 and 25.01 % at r = 0.5 (between two radii");
    strcpy(told.statement, surety_statement_name(SURETY_SAY_PROMISES));
    told.promise_count = 4;
    for (int i = 0; i < 4; i++)
        told.promises[i] = (surety_promise_tested){.radius = i / 8., .limit = (i + 1) / 8., .kept = i < 3};
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim,
                   "keeps the first 3 of the 4 promises that were to be tested in this order: it");
    check_contains(told.claim,
                   "on at most 12.5 % of the new inputs of its two classes at r = 0, 25 % at r = 0.125 and "
                   "37.5 % at r = 0.25, ");
    strcpy(told.statement, surety_statement_name(SURETY_SAY_CLASSES));
    told.limit_count = 2;
    told.limits[0] = (surety_class_limit){.label = "a", .value = 0.125};
    told.limits[1] = (surety_class_limit){.label = "b", .value = told.value = 0.25};
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim, "fails, for all of its 2 classes at once, on at most 12.5");
    check_contains(told.claim, "% of the new inputs of class a and 25");
    check_contains(told.claim, "% of the new inputs of class b, so on at most 25");
    check_contains(told.claim, " % of all, where");
    told.limits[1].value = told.value = 1;
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim, "class a and all of those of class b, where");
    strcpy(told.statement, surety_statement_name(SURETY_SAY_CURVE));
    told.tolerance.count = 3;
    told.tolerance.radius = radius, told.tolerance.lo = told.tolerance.hi = none;
    strcpy(told.attack.radius_unit, "tolerances");
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim, "(table of 3 features, of which 1 cannot change)");
    surety_certificate_free(&c);
}

/* Whatever is promised, and however long the names are, the conditions at the end of a sentence are there;
 * where units are counted, they are what a share is a share of. */
static void test_sentence_is_never_cut_off(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static const struct {
        surety_statement statement;
        const char *words;
    } many[] = {
        {SURETY_SAY_PROMISES,
         "on at most that share of the new units of its two classes which is listed for the radius r of each "
         "(promises), "},
        {SURETY_SAY_CURVE,
         "on at most that share of the new units of its two classes which is listed for each radius (curve)"},
        {SURETY_SAY_CLASSES, "of the new inputs of each class that is listed for it (classes)"},
        {SURETY_SAY_GROUPS, "of the new inputs of each group that is listed for it (groups)"}};
    surety_certificate c, told;
    surety_certify_settings s = settings;
    s.threat.kind = SURETY_WORST_CASE;
    make(&c, &s);
    told = c; /* shares the arrays: not freed */
    told.vacuous = 0, told.value = 0.987654321;
    memset(told.data.unit, 'u', sizeof told.data.unit - 1);
    memset(told.group_column, 'g', sizeof told.group_column - 1);
    memset(told.majority.label, 'm', sizeof told.majority.label - 1);
    told.test.refuted = 1;
    told.copies.near_learn_in_prior = told.copies.learn_repeats = told.copies.learn = told.inputs.m;
    told.promise_count = SURETY_POINTS;
    told.limit_count = told.group_count = 10;
    for (int i = 0; i < SURETY_POINTS; i++)
        told.promises[i] =
            (surety_promise_tested){.radius = (i + 0.1) / 700, .limit = 0.987654321012 - i / 900., .kept = 1};
    for (int k = 0; k < 10; k++) {
        told.limits[k] = (surety_class_limit){.value = 0.123456};
        memset(told.limits[k].label, 'a' + k, sizeof told.limits[k].label - 1);
        told.groups[k] = told.limits[k];
    }
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        told.curve_count = many[i].statement == SURETY_SAY_CURVE ? 17 : 0;
        strcpy(told.statement, surety_statement_name(many[i].statement));
        check_ok(surety_certificate_word(&told, &err));
        check_contains(told.claim, many[i].words);
        check_contains(told.claim, "the promise holds only if rows repeat by nature");
        check_contains(told.claim, "this certificate among at most 1 (--looks).");
    }
    strcpy(told.statement, surety_statement_name(SURETY_SAY_PROMISES));
    told.promise_count = 2;
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim, " % of the new units of its two classes at r = ");
    strcpy(told.statement, surety_statement_name(SURETY_SAY_CURVE));
    told.curve_count = 1;
    told.curve[0] = (surety_curve_limit){.radius = 0.25, .value = 0.125};
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim, " % of the new units of its two classes at r = 0.25 (");
    memset(told.claim, 'x', SURETY_CLAIM - 1);
    assert_int_equal(surety_claim_whole(told.claim, &err), SURETY_E_CHECK);
    check_contains(err.what, "would be cut off");
    told.claim[SURETY_CLAIM - 2] = 0;
    check_ok(surety_claim_whole(told.claim, &err));
    surety_certificate_free(&c);
}

/* What a condition needs stands in it: the law of labels too, and which labels replace a right one. */
static void test_sentence_of_conditions(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate c, told;
    make(&c, &settings);
    told = c; /* shares the arrays: not freed */
    told.value = 0.25, told.vacuous = 0;
    told.assumed.value = 0.2, told.assumed.noise_share = 0.125, told.assumed.shift_budget = 0.5;
    strcpy(told.assumed.noise, surety_label_noise_name(SURETY_NOISE_FLIPS));
    strcpy(told.assumed.shift, surety_shift_name(SURETY_SHIFT_TV));
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim, "replaced by another one with one probability, the same for every input and");
    check_contains(told.claim, "new inputs with their labels come from another distribution, whose total");
    told.data.class_count = 3;
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim, "by another one, all others being as likely, with one probability, the same");
    check_contains(told.claim, "at least 12.5 % and at most 66.6 %");
    told.data.fresh = 1;
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim, "rows declared fresh, none of which trained the model, ");
    strcpy(told.data.unit, "who"); /* rows are compared with those of the training, units are not */
    check_ok(surety_certificate_word(&told, &err));
    check_contains(told.claim,
                   "units declared fresh, none of whose rows trained the model, and which are "
                   "other units than those that did by the word of whoever declared it, ");
    surety_certificate_free(&c);
}

static void test_best_pays_for_its_events(void **state) {
    (void)state;
    surety_certificate one, best;
    surety_certify_settings s = settings;
    double smallest = HUGE_VAL;
    s.bound = "best";
    make(&best, &s);
    assert_int_equal(best.event_count, 3);
    double spent = 0;
    for (size_t i = 0; i < 3; i++) {
        assert_true(best.events[i].spent);
        check_that(best.events[i].share, >, 0);
        spent += best.events[i].share;
    }
    check_that(spent, <=, s.delta);
    check_that(spent, >, 0.999 * s.delta);
    /* the same bounds one by one, each with its third of delta: best is the smallest of them */
    const char *names[] = {"average_max_seeger", "average_max", "average_max_tv", "average_max_voters_union",
                           "vote_anchored_max"};
    s.delta = best.events[0].share;
    for (size_t i = 0; i < 5; i++) {
        s.bound = names[i];
        make(&one, &s);
        smallest = fmin(smallest, one.value);
        assert_int_equal(one.event_count, 1);
        surety_certificate_free(&one);
    }
    check_that(best.value, ==, smallest);
    surety_certificate_free(&best);
}

static void test_more_looks_cost(void **state) {
    (void)state;
    surety_certificate c;
    surety_certify_settings s = settings;
    double before = 0;
    for (s.looks = 1; s.looks <= 1000; s.looks *= 10) {
        make(&c, &s);
        check_that(c.value, >, before);
        before = c.value;
        surety_certificate_free(&c);
    }
}

/* ---- what is refused ---- */

static void refused(const surety_model *m, const surety_certify_settings *s, surety_status code,
                    const char *word) {
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate c;
    surety_status status = surety_certify(m, data, s, &c, &one_thread, &err);
    check(status == code && (strstr(err.what, word) || strstr(err.expected, word)), "%s: %s",
          surety_status_name(status), err.what);
    assert_int_equal(c.claim[0], 0);
    assert_int_equal(surety_certify(m, data, s, &c, &one_thread, NULL), code);
}

static void test_refusals(void **state) {
    (void)state;
    surety_certify_settings s = settings;
    s.looks = 0;
    refused(model, &s, SURETY_E_CHECK, "not paid for");
    s = settings, s.delta = 0;
    refused(model, &s, SURETY_E_USAGE, "delta");
    s = settings, s.bound = "average_max_seger";
    refused(model, &s, SURETY_E_USAGE, "average_max_seeger");
    s = settings, s.bound = "vote_holdout";
    refused(model, &s, SURETY_E_CHECK, "half of S");
    s = settings, s.bound = "worst_case";
    refused(model, &s, SURETY_E_CHECK, "every point");
    s = settings, s.bound = "vote_frozen_max";
    refused(model, &s, SURETY_E_CHECK, "candidate prior");
    s = settings, s.threat.samples = 0;
    refused(model, &s, SURETY_E_USAGE, "samples");
    s = settings, s.model_file = files_path("X_train.npy");
    refused(model, &s, SURETY_E_CHECK, "not the model");
}

static void test_baseline_is_frozen_by_default(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m;
    surety_certificate c;
    surety_train_settings t = training(SURETY_OBJECTIVE_BASELINE);
    surety_certify_settings s = settings;
    train(&t, &m);
    s.model_file = NULL;
    check_ok(surety_certify(m, data, &s, &c, &one_thread, &err));
    assert_string_equal(c.bound, "vote_frozen_max");
    assert_true(c.inputs.frozen);
    check_is(isnan, c.surrogate);
    check_that(c.inputs.kl, ==, 0);
    check_that(fabs(c.value / surety_binomial_limit(c.counts.prior_max_wrong, LEARN, c.delta / 2) - 1), <,
               1e-12);
    surety_certificate_free(&c);
    surety_model_free(m);
}

/* The threat of the model's own defense; pgdu where nobody knows what it was. */
static void test_default_threats(void **state) {
    (void)state;
    const struct {
        const char *defense;
        surety_threat_kind threat;
    } cases[] = {{"none", SURETY_ATTACK_NONE},
                 {"pgdu", SURETY_ATTACK_PGDU},
                 {"certified", SURETY_WORST_CASE},
                 {"of another house", SURETY_ATTACK_PGDU}};
    surety_model_facts *facts = (surety_model_facts *)(uintptr_t)surety_model_about(model), was = *facts;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(facts->defense, cases[i].defense);
        assert_int_equal(surety_certify_defaults(model).threat.kind, cases[i].threat);
    }
    *facts = was;
}

static void test_shared_row_is_refused(void **state) {
    (void)state;
    uint32_t *row = (uint32_t *)(uintptr_t)surety_data_set(data, SURETY_SET_LEARN)->row, was = row[3];
    row[3] = surety_data_set(data, SURETY_SET_PRIOR)->row[7];
    refused(model, &settings, SURETY_E_CHECK, "in S and in S'");
    row[3] = row[4];
    refused(model, &settings, SURETY_E_CHECK, "twice");
    row[3] = was;
}

static void test_other_data_is_refused(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data *other, *was = data;
    surety_data_settings s = world();
    s.seed = 1;
    check_ok(surety_data_open(&s, &other, &err));
    data = other;
    refused(model, &settings, SURETY_E_CHECK, "not the data");
    data = was;
    surety_data_free(other);
}

/* ---- tampering ---- */

static void write_json(const char *name, json_t *root, int with_new_digest) {
    if (with_new_digest) {
        char sum[65];
        json_object_del(root, "digest");
        char *canonical = surety_json_canonical(json_incref(root));
        assert_int_equal(surety_sha256(canonical, strlen(canonical), sum, NULL), SURETY_OK);
        json_object_set_new(root, "digest", json_string(sum));
        free(canonical);
    }
    char *text = surety_json_text(json_incref(root));
    files_text(name, text);
    free(text);
}

/* The changed certificate must be refused as malformed, or derived again and found wrong: for a reason. */
static void must_fail(json_t *root, const char *what, long *refusals, long *disagreements) {
    static surety_verification v;
    int digest = !strncmp(what, ".digest", 7); /* a new one would repair it */
    for (int new_digest = 0; new_digest < 2 - digest; new_digest++) {
        surety_error err = SURETY_ERROR_NONE;
        write_json("t.json", root, new_digest);
        surety_status status = verify(&v, files_path("t.json"), &err);
        check(status == SURETY_OK || (status == SURETY_E_INPUT && err.what[0] && err.file[0]), "%s: %s %s",
              what, surety_status_name(status), err.what);
        check(!v.agrees, "%s (%s digest) was not noticed", what, new_digest ? "new" : "old");
        check(status != SURETY_OK || v.reason[0], "%s: no reason", what);
        ++*(status == SURETY_OK ? disagreements : refusals);
    }
}

/* A copy of the certificate with the value at path (keys and indices) replaced; NULL: removed. */
static json_t *changed(const json_t *root, const char *const *keys, size_t depth, json_t *value) {
    json_t *copy = json_deep_copy(root), *at = copy;
    for (size_t i = 0; i + 1 < depth; i++)
        at =
            json_is_array(at) ? json_array_get(at, strtoul(keys[i], NULL, 10)) : json_object_get(at, keys[i]);
    const char *last = keys[depth - 1];
    if (json_is_array(at) && value) json_array_set_new(at, strtoul(last, NULL, 10), value);
    if (json_is_array(at) && !value) json_array_remove(at, strtoul(last, NULL, 10));
    if (json_is_object(at) && value) json_object_set_new(at, last, value);
    if (json_is_object(at) && !value) json_object_del(at, last);
    return copy;
}

/* Other values that a leaf could be given. Settings of the attack that are real numbers are changed by much:
 * an attack that differs in the twelfth digit is another true certificate with the same counts. */
static size_t others(const json_t *leaf, int is_setting, json_t **out) {
    size_t n = 0;
    if (json_is_integer(leaf)) {
        out[n++] = json_integer(json_integer_value(leaf) + 1);
        if (json_integer_value(leaf) > 0) out[n++] = json_integer(json_integer_value(leaf) - 1);
        out[n++] = json_integer(-1);
    } else if (json_is_real(leaf)) {
        double x = json_real_value(leaf);
        out[n++] = json_real(0.7 * x + 0.013);
        if (!is_setting) out[n++] = json_real(nextafter(x, 1e9));
        if (!is_setting) out[n++] = json_real(nextafter(x, -1e9));
        out[n++] = json_string("0.5");
    } else if (json_is_string(leaf)) {
        char *text = strdup(json_string_value(leaf));
        text[strlen(text) / 2] = text[strlen(text) / 2] == 'a' ? 'b' : 'a';
        out[n++] = json_string(text);
        out[n++] = json_string("");
        free(text);
    } else if (json_is_boolean(leaf)) {
        out[n++] = json_boolean(json_is_false(leaf));
    } else {
        out[n++] = json_integer(1);
        out[n++] = json_real(0.25);
        out[n++] = json_string("x");
    }
    out[n++] = json_is_null(leaf) ? json_true() : json_null();
    return n;
}

typedef struct walk {
    json_t *root;
    const char *keys[8];
    size_t depth;
    long leaves, refusals, disagreements;
} walk;

static void try_change(walk *w, json_t *value, const char *how) {
    char what[256] = "";
    for (size_t i = 0; i < w->depth; i++)
        snprintf(what + strlen(what), sizeof what - strlen(what), ".%s", w->keys[i]);
    snprintf(what + strlen(what), sizeof what - strlen(what), " %s", how);
    json_t *copy = changed(w->root, w->keys, w->depth, value);
    must_fail(copy, what, &w->refusals, &w->disagreements);
    json_decref(copy);
}

static void tamper(walk *w, const json_t *at) {
    const char *key;
    json_t *value;
    if (json_is_object(at)) {
        w->keys[w->depth++] = "unknown_key";
        try_change(w, json_integer(1), "added");
        json_object_foreach((json_t *)(uintptr_t)at, key, value) {
            w->keys[w->depth - 1] = key;
            try_change(w, NULL, "removed");
            tamper(w, value);
        }
        w->depth--;
    } else if (json_is_array(at)) {
        w->depth++;
        for (size_t i = 0; i < json_array_size(at); i++) {
            char index[32];
            snprintf(index, sizeof index, "%zu", i);
            w->keys[w->depth - 1] = index;
            if (i == 0) try_change(w, NULL, "removed");
            tamper(w, json_array_get(at, i));
        }
        w->depth--;
    } else {
        int is_setting = w->depth == 2 && !strcmp(w->keys[0], "attack");
        json_t *values[8];
        size_t count = others(at, is_setting, values);
        char how[64];
        w->leaves++;
        for (size_t i = 0; i < count; i++) {
            snprintf(how, sizeof how, "changed (%zu)", i);
            try_change(w, values[i], how);
        }
    }
}

static void tamper_all(const char *path, long least) {
    surety_error err = SURETY_ERROR_NONE;
    walk w = {0};
    check_ok(surety_json_load(&w.root, path, &err));
    tamper(&w, w.root);
    check(w.leaves >= least, "%ld leaves", w.leaves);
    print_message("# %ld leaves: %ld changes refused, %ld found to disagree\n", w.leaves, w.refusals,
                  w.disagreements);
    check_that(w.disagreements, >, 3 * w.leaves);
    json_decref(w.root);
}

static void test_every_tampering_is_noticed(void **state) {
    (void)state;
    tamper_all(save("c.json", &settings), 100);
}

static void test_every_tampering_of_best_is_noticed(void **state) {
    (void)state;
    surety_certify_settings s = settings;
    if (check_count(0, 1) == 0) skip();
    s.bound = "best";
    tamper_all(save("b.json", &s), 100);
    s.bound = "voters_union";
    s.threat.kind = SURETY_ATTACK_UNIF;
    tamper_all(save("u.json", &s), 100);
}

/* Changes one key of c.json, seals it again and verifies. */
static surety_status verify_with(const char *object, const char *key, json_t *value, surety_verification *v,
                                 surety_error *err) {
    json_t *root = NULL;
    *err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_json_load(&root, files_path("c.json"), err), SURETY_OK);
    json_object_set_new(object ? json_object_get(root, object) : root, key, value);
    write_json("t.json", root, 1);
    json_decref(root);
    return verify(v, files_path("t.json"), err);
}

/* What could not have been made is refused for that reason; what is absent is called null. */
static void test_reasons(void **state) {
    (void)state;
    static surety_verification v;
    surety_error err;
    save("c.json", &settings);
    check_ok(verify_with(NULL, "bound", json_string("vote_frozen_max"), &v, &err));
    check(!v.agrees, "a bound for other votes was not noticed");
    check_contains(v.reason, "candidate prior");
    check_ok(verify_with("attack", "budget", json_integer(5), &v, &err));
    check(!v.agrees && v.differences == 1, "%zu differences", v.differences);
    assert_string_equal(v.difference[0].field, "attack.budget");
    assert_string_equal(v.difference[0].stated, "5");
    assert_string_equal(v.difference[0].found, "null");
}

/* Numbers that no certificate has are refused when it is read. */
static void test_ranges(void **state) {
    (void)state;
    static surety_verification v;
    surety_error err;
    const struct {
        const char *object, *key;
        double low, high;
    } cases[] = {{NULL, "value", -0.1, 1.5e9},
                 {NULL, "surrogate", -0.1, 1.5e9},
                 {NULL, "delta", -0.1, 1.5},
                 {NULL, "promised_risk", -0.1, 1.5},
                 {NULL, "radius", -0.1, 1.5e300},
                 {"inputs", "delta_share", -0.1, 1.5},
                 {"inputs", "kl", -0.1, 1.5e9},
                 {"risks", "gmax", -0.1, 1.5},
                 {"test", "chance", -0.1, 1.5},
                 {"attack", "eps", -0.1, 1.5e300},
                 {"attack", "slack", -0.1, 1.5},
                 {"attack", "box_lo", -1.5e300, 1.5e300},
                 {"attack", "step_size", -0.1, 1.5e300},
                 {"attack", "noise", -0.1, 1.5e300},
                 {"attack", "box_hi", -1.5e300, 1.5e300}};
    save("c.json", &settings);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int high = 0; high < 2; high++) {
            json_t *value = json_real(high ? cases[i].high : cases[i].low);
            surety_status status = verify_with(cases[i].object, cases[i].key, value, &v, &err);
            check(status == SURETY_E_INPUT && strstr(err.place, cases[i].key), "%s: %s %s", cases[i].key,
                  surety_status_name(status), err.place);
        }
}

/* From the counts alone: signed voters are bounded by their whole errors. */
static void test_numbers_of_signed_voters(void **state) {
    (void)state;
    static surety_verification v;
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate c;
    surety_model *m;
    surety_train_settings t = training(SURETY_OBJECTIVE_SEEGER);
    surety_certify_settings s = settings;
    surety_verify_settings how = surety_verify_defaults();
    t.voter_set = SURETY_SIGNED;
    train(&t, &m);
    check_ok(surety_model_save(m, files_path("signed.safetensors"), &err));
    s.model_file = files_path("signed.safetensors");
    s.bound = "average_max_voters_union";
    check_ok(surety_certify(m, data, &s, &c, &one_thread, &err));
    check_ok(surety_certificate_save(&c, files_path("signed.json"), &err));
    how.numbers = 1;
    check_ok(surety_verify(files_path("signed.json"), &how, &v, &one_thread, &err));
    check(v.agrees && !v.counted, "%s", v.reason);
    assert_string_equal(v.level, "numbers");
    check_that(v.found, ==, c.value);
    surety_certificate_free(&c);
    surety_model_free(m);
}

static void test_flipped_bits_of_the_model(void **state) {
    (void)state;
    static surety_verification v;
    size_t size = 0;
    save("c.json", &settings);
    char *bytes = files_get(files_path("m.safetensors"), &size);
    size_t step = check_count(61, 1) == 1 ? 1 : 61;
    for (size_t i = 0; i < 8 * size; i += step) {
        surety_error err = SURETY_ERROR_NONE;
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        files_put("m.safetensors", bytes, size);
        check_ok(verify(&v, files_path("c.json"), &err));
        check(!v.agrees && strstr(v.reason, "model.sha256"), "bit %zu: %s", i, v.reason);
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    files_put("m.safetensors", bytes, size);
    free(bytes);
}

static void test_changed_data(void **state) {
    (void)state;
    static surety_verification v;
    surety_error err = SURETY_ERROR_NONE;
    save("c.json", &settings);
    for (int row = 0; row < ROWS; row += 17) {
        write_world("X_train.npy", "y_train.npy", row);
        check_ok(verify(&v, files_path("c.json"), &err));
        check(!v.agrees && strstr(v.reason, "data.files[1].sha256"), "row %d: %s", row, v.reason);
    }
    write_world("X_train.npy", "y_train.npy", -1);
    check_ok(verify(&v, files_path("c.json"), &err));
    assert_true(v.agrees);
}

static void test_files_that_are_none(void **state) {
    (void)state;
    static surety_verification v;
    surety_error err;
    surety_certificate c;
    const char *texts[] = {"",
                           "{}",
                           "[]",
                           "{\"format\": 1}",
                           "{\"format\": \"surety-certificate-2\"}",
                           "null",
                           "{\"format\": \"surety-certificate-1\", \"digest\": \"00\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *path = files_text("bad.json", texts[i]);
        check_bad(surety_certificate_load(path, &c, &err), SURETY_E_INPUT);
        check_bad(verify(&v, path, &err), SURETY_E_INPUT);
        assert_false(v.agrees);
    }
    check_bad(verify(&v, files_path("absent.json"), &err), SURETY_E_INPUT);
    save("c.json", &settings);
    surety_verify_settings s = surety_verify_defaults();
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_verify(files_path("c.json"), &s, &v, &one_thread, &err), SURETY_E_USAGE);
    s.data.train = files_path("X_train.npy");
    s.model = files_path("absent.safetensors");
    check_bad(surety_verify(files_path("c.json"), &s, &v, &one_thread, &err), SURETY_E_INPUT);
}

/* ---- rows from memory ---- */

/* The rows of write_world as arrays. */
static surety_data *in_memory(float x[ROWS * D], int64_t y[ROWS]) {
    surety_error err = SURETY_ERROR_NONE;
    surety_npy array = {0};
    check_ok(surety_npy_open(&array, files_path("X_train.npy"), &err));
    surety_npy_floats(&array, 0, ROWS * D, x);
    surety_npy_close(&array);
    for (int i = 0; i < ROWS; i++) y[i] = i % 2;
    surety_arrays a = {.m = ROWS, .d = D, .features = x, .labels = y};
    surety_data_settings s = world();
    surety_data *out = NULL;
    s.train = NULL;
    check_ok(surety_data_from_arrays(&a, &s, &out, &err));
    return out;
}

/* A certificate from memory names the rows and no files; arrays and files with these rows verify it. One that
 * names files wants the files. */
static void test_rows_from_memory(void **state) {
    (void)state;
    static surety_verification v;
    static float x[ROWS * D];
    static int64_t y[ROWS];
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate file, c;
    surety_data *memory = in_memory(x, y);
    make(&file, &settings);
    check_ok(surety_certify(model, memory, &settings, &c, &one_thread, &err));
    check_that(c.data.file_count, ==, 0);
    check_that(file.data.file_count, ==, 2);
    check_that(c.value, ==, file.value);
    assert_string_equal(c.data.sha256_prior, file.data.sha256_prior);
    assert_string_equal(c.data.sha256_learn, surety_data_describe(data)->set_sha256[SURETY_SET_LEARN]);
    assert_string_equal(c.data.sha256_test, file.data.sha256_test);
    assert_string_equal(c.counts_sha256, file.counts_sha256);
    check_ok(surety_certificate_save(&c, files_path("memory.json"), &err));
    check_ok(surety_certificate_save(&file, files_path("file.json"), &err));
    surety_verify_settings s = surety_verify_defaults();
    s.opened = memory;
    check_ok(surety_verify(files_path("memory.json"), &s, &v, &one_thread, &err));
    check(v.agrees && !strcmp(v.level, "bits"), "%s", v.reason);
    check_ok(verify(&v, files_path("memory.json"), &err));
    check(v.agrees, "%s", v.reason);
    check_ok(surety_verify(files_path("file.json"), &s, &v, &one_thread, &err));
    check(!v.agrees && strstr(v.reason, "data.files"), "%s", v.reason);
    surety_data_free(memory);
    write_world("X_train.npy", "y_train.npy", 7); /* another row */
    check_ok(verify(&v, files_path("memory.json"), &err));
    check(!v.agrees && strstr(v.reason, "data.sha256_"), "%s", v.reason);
    write_world("X_train.npy", "y_train.npy", -1);
    surety_certificate_free(&c), surety_certificate_free(&file);
}

/* ---- memory ---- */

static surety_status load_and_save(void *arg, surety_error *err) {
    surety_certificate c;
    SURETY_TRY(surety_certificate_load(arg, &c, err));
    surety_status status = surety_certificate_save(&c, files_path("copy.json"), err);
    surety_certificate_free(&c);
    return status;
}

static surety_status certify_once(void *arg, surety_error *err) {
    surety_certificate c;
    (void)arg;
    SURETY_TRY(surety_certify(model, data, &settings, &c, &one_thread, err));
    surety_certificate_free(&c);
    return SURETY_OK;
}

/* Without memory a verification may fail in any of the rooms, but it never says that a certificate agrees or
 * does not. (Some readers take a failed allocation for bad input.) */
static void verify_with_little_memory(const char *path) {
    static surety_verification v;
    surety_status status = SURETY_E_MEMORY;
    for (long k = 0; status != SURETY_OK; k += check_count(13, 1)) {
        surety_error err = SURETY_ERROR_NONE;
        files_allocations_left = k;
        json_set_alloc_funcs(files_json_malloc, free);
        surety_memory_hook(files_may_allocate, NULL);
        status = verify(&v, path, &err);
        surety_memory_hook(NULL, NULL);
        json_set_alloc_funcs(malloc, free);
        check(status == SURETY_OK || status == SURETY_E_MEMORY || status == SURETY_E_INPUT, "%s %s",
              surety_status_name(status), err.what);
        check(v.agrees == (status == SURETY_OK), "with %ld allocations: %s", k, v.reason);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    save("c.json", &settings);
    char *path = strdup(files_path("c.json"));
    files_fail_allocations(load_and_save, path);
    files_fail_allocations(certify_once, NULL);
    verify_with_little_memory(path);
    free(path);
}

/* ---- a program with a decimal comma ---- */

/* The model as it is loaded, its texts set again; a certificate and a line per example. */
static void write_files(const char *model_name, const char *certificate_name, const char *examples_name) {
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m;
    double risk[2];
    size_t count;
    check_ok(surety_model_load(settings.model_file, &m, &err));
    check_ok(surety_model_reals(m, "step1.risk", risk, 2, &count, &err));
    check_ok(surety_model_set_reals(m, "step1.risk", risk, count, &err));
    check_ok(surety_model_set_data(m, surety_data_describe(data), &err));
    check_ok(surety_model_save(m, files_path(model_name), &err));
    save(certificate_name, &settings);
    check_ok(surety_evaluate_examples(m, surety_data_set(data, SURETY_SET_TEST), NULL, &settings.threat,
                                      files_path(examples_name), &one_thread, &err));
    surety_model_free(m);
}

static void same_files(const char *a, const char *b) {
    size_t sizes[2] = {0};
    char *bytes[2] = {files_get(files_path(a), &sizes[0]), files_get(files_path(b), &sizes[1])};
    assert_true(bytes[0]);
    assert_true(bytes[1]);
    check(sizes[0] == sizes[1] && !memcmp(bytes[0], bytes[1], sizes[0]), "%s and %s differ", a, b);
    free(bytes[0]);
    free(bytes[1]);
}

static void test_decimal_comma(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    write_files("point.safetensors", "point.json", "point.csv");
    comma_begin();
    surety_verification *v = malloc(sizeof *v);
    write_files("comma.safetensors", "comma.json", "comma.csv");
    surety_status status = verify(v, files_path("comma.json"), &err);
    comma_end();
    check(status == SURETY_OK && v->agrees, "%s: %s", err.what, err.expected);
    same_files("point.safetensors", "comma.safetensors");
    same_files("point.json", "comma.json");
    same_files("point.csv", "comma.csv");
    free(v);
}

/* ---- a host with small stacks ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK = 1 << 23 }; /* sanitizers have larger frames */
#else
enum { STACK = 3 << 17 }; /* three quarters of what surety/base.h asks for: compilers differ */
#endif

/* All that a program may do here, on the stack of one thread. */
static void *whole_way(void *arg) {
    static surety_verification v;
    surety_error *err = arg;
    surety_data_settings s = world();
    surety_train_settings t = training(SURETY_OBJECTIVE_SEEGER);
    surety_train_result result = {0};
    surety_checkpointing checkpointing = {.file = files_path("stack.checkpoint")};
    surety_data *mine = NULL;
    surety_model *trained = NULL, *loaded = NULL;
    surety_certificate c = {0};
    surety_status status = surety_data_open(&s, &mine, err);
    if (status == SURETY_OK)
        status = surety_train(&t, mine, &checkpointing, &trained, &result, &one_thread, err);
    if (status == SURETY_OK) status = surety_model_save(trained, files_path("m.safetensors"), err);
    if (status == SURETY_OK) status = surety_model_load(files_path("m.safetensors"), &loaded, err);
    if (status == SURETY_OK) status = surety_certify(loaded, mine, &settings, &c, &one_thread, err);
    if (status == SURETY_OK) status = surety_certificate_save(&c, files_path("stack.json"), err);
    if (status == SURETY_OK) status = verify(&v, files_path("stack.json"), err);
    surety_certificate_free(&c);
    surety_model_free(trained), surety_model_free(loaded);
    surety_data_free(mine);
    surety_train_result_free(&result);
    return status == SURETY_OK && v.agrees ? NULL : arg;
}

/* The thread that calls needs half of the stack that include/surety/base.h asks for. */
static void test_small_stack(void **state) {
    surety_error err = SURETY_ERROR_NONE;
    pthread_attr_t attributes;
    pthread_t thread;
    void *failed = &err;
    (void)state;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, whole_way, &err), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    pthread_attr_destroy(&attributes);
    check(!failed, "%s: %s", err.what, err.expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_and_says_what_it_must),
        cmocka_unit_test(test_bits_for_any_number_of_threads),
        cmocka_unit_test(test_sentence_errs_on_the_safe_side),
        cmocka_unit_test(test_sentence_says_what_was_done),
        cmocka_unit_test(test_sentence_of_curves_and_tables),
        cmocka_unit_test(test_sentence_is_never_cut_off),
        cmocka_unit_test(test_sentence_of_conditions),
        cmocka_unit_test(test_best_pays_for_its_events),
        cmocka_unit_test(test_more_looks_cost),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_baseline_is_frozen_by_default),
        cmocka_unit_test(test_default_threats),
        cmocka_unit_test(test_shared_row_is_refused),
        cmocka_unit_test(test_other_data_is_refused),
        cmocka_unit_test(test_every_tampering_is_noticed),
        cmocka_unit_test(test_every_tampering_of_best_is_noticed),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_numbers_of_signed_voters),
        cmocka_unit_test(test_flipped_bits_of_the_model),
        cmocka_unit_test(test_changed_data),
        cmocka_unit_test(test_files_that_are_none),
        cmocka_unit_test(test_rows_from_memory),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_decimal_comma),
        cmocka_unit_test(test_small_stack),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
