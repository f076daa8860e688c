/* risk: votes in, guarantees out. Files and arrays agree, every bad input is refused with its place, and what
 * comes out is what the layers below give when they are called by hand. */
#include "check.h"

#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "io/json.h"
#include "io/npy.h"
#include "surety/risk.h"

enum { M = 37, N = 4, H = 5 };

typedef struct ensemble {
    char folder[64];
    char votes[128], doubles[128], flat[128], labels[128], binary[128], prior[128], posterior[128], bad[128];
    char votes_of_classes[128], labels_of_classes[128];
    float v[M * N * H];
    int8_t y[M];
    double p[H], q[H];
} ensemble;

static void write_npy(const char *path, surety_dtype dtype, int ndim, const size_t *shape,
                      const void *values) {
    surety_error err = SURETY_ERROR_NONE;
    surety_npy_writer *writer = NULL;
    size_t count = 1;
    for (int k = 0; k < ndim; k++) count *= shape[k];
    check_ok(surety_npy_writer_open(&writer, path, dtype, ndim, shape, &err));
    check_ok(surety_npy_writer_append(writer, values, count, &err));
    check_ok(surety_npy_writer_commit(writer, &err));
}

static int make_ensemble(void **state) {
    static ensemble e;
    strcpy(e.folder, "/tmp/surety-votes-XXXXXX");
    assert_non_null(mkdtemp(e.folder));
    static double doubles[M * N * H];
    static int64_t binary[M];
    surety_address a = {0, 0, 0, 0, 202};
    for (uint32_t k = 0; k < M * N * H; k++) {
        e.v[k] = 2 * surety_random_uniform(1, &a, k) - 0.7f;
        if (e.v[k] > 1) e.v[k] = 1;
        if (k % 11 == 0) e.v[k] = 0;
    }
    for (uint32_t i = 0; i < M; i++) {
        e.y[i] = surety_random_uniform(2, &a, i) < 0.5f ? -1 : 1;
        binary[i] = e.y[i] > 0;
        for (size_t k = 0; k < N * H; k++) e.v[i * N * H + k] *= e.y[i];
    }
    for (size_t k = 0; k < M * N * H; k++) doubles[k] = (double)e.v[k];
    const double p[] = {.1, .2, .3, .25, .15}, q[] = {0, .5, .25, .25, 0};
    memcpy(e.p, p, sizeof p), memcpy(e.q, q, sizeof q);
    const char *const names[] = {"votes", "doubles",   "flat", "labels",  "binary",
                                 "prior", "posterior", "bad",  "classes", "names"};
    char *const paths[] = {e.votes, e.doubles,   e.flat, e.labels,           e.binary,
                           e.prior, e.posterior, e.bad,  e.votes_of_classes, e.labels_of_classes};
    for (int k = 0; k < 10; k++) snprintf(paths[k], 128, "%s/%s.npy", e.folder, names[k]);
    write_npy(e.votes, SURETY_F4, 3, (size_t[]){M, N, H}, e.v);
    write_npy(e.doubles, SURETY_F8, 3, (size_t[]){M, N, H}, doubles);
    write_npy(e.flat, SURETY_F4, 2, (size_t[]){M, H}, e.v);
    write_npy(e.labels, SURETY_I1, 1, (size_t[]){M}, e.y);
    write_npy(e.binary, SURETY_I8, 1, (size_t[]){M}, binary);
    write_npy(e.prior, SURETY_F8, 1, (size_t[]){H}, p);
    write_npy(e.posterior, SURETY_F8, 1, (size_t[]){H}, q);
    *state = &e;
    return 0;
}

static int remove_ensemble(void **state) {
    ensemble *e = *state;
    char *const paths[] = {e->votes, e->doubles,   e->flat, e->labels,           e->binary,
                           e->prior, e->posterior, e->bad,  e->votes_of_classes, e->labels_of_classes};
    for (int k = 0; k < 10; k++) unlink(paths[k]);
    return rmdir(e->folder);
}

static surety_votes_settings files_of(const ensemble *e) {
    surety_votes_settings s = surety_votes_defaults();
    s.votes = e->votes, s.labels = e->labels, s.prior = e->prior, s.posterior = e->posterior;
    return s;
}

static surety_votes_settings arrays_of(const ensemble *e) {
    surety_votes_settings s = surety_votes_defaults();
    s.vote_array = e->v, s.label_array = e->y, s.prior_array = e->p, s.posterior_array = e->q;
    s.m = M, s.n = N, s.H = H;
    return s;
}

static char *run_text(const surety_votes_settings *s, int threads) {
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_result r;
    surety_run run = {.threads = threads};
    check_ok(surety_bound_votes(s, &r, &run, &err));
    char *text = surety_votes_result_json(&r);
    assert_non_null(text);
    surety_votes_result_free(&r);
    return text;
}

/* Whole documents are compared: any number that differed would show. */
static void every_way_in_gives_the_same_document(void **state) {
    const ensemble *e = *state;
    for (int kind = 0; kind < 6; kind++) {
        surety_votes_settings a = files_of(e), b = arrays_of(e), c = files_of(e);
        a.signed_votes = b.signed_votes = c.signed_votes = kind & 1;
        a.hold_out = b.hold_out = c.hold_out = kind == 3 ? 10 : 0;
        if (kind > 3) {
            a.learn = b.learn = c.learn = 1;
            a.posterior = c.posterior = NULL, b.posterior_array = NULL;
        }
        c.votes = e->doubles, c.labels = e->binary;
        char *from_files = run_text(&a, 1), *from_arrays = run_text(&b, 3), *from_doubles = run_text(&c, 2);
        assert_string_equal(from_files, from_arrays);
        assert_string_equal(from_files, from_doubles);
        surety_text_free(from_files), surety_text_free(from_arrays), surety_text_free(from_doubles);
    }
}

static void agrees_with_the_layers_below(void **state) {
    const ensemble *e = *state;
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_settings s = arrays_of(e);
    s.hold_out = 7, s.signed_votes = 1, s.delta = .1, s.priors_compared = 3, s.looks = 2;
    surety_votes_result r;
    check_ok(surety_bound_votes(&s, &r, NULL, &err));
    surety_risk *part[2];
    surety_risks risks[2];
    surety_risk_settings settings = {H, N, 1, e->q, e->p, 2};
    for (int k = 0; k < 2; k++) check_ok(surety_risk_new(&settings, &part[k], &err));
    for (size_t i = 0; i < M; i++)
        check_ok(surety_risk_add(part[i >= M - 7], e->v + i * N * H, H, e->y[i], &err));
    for (int k = 0; k < 2; k++) check_ok(surety_risk_result(part[k], &risks[k], &err));
    assert_int_equal(r.risks.m, M - 7);
    assert_memory_equal(r.risks.loss, risks[0].loss, H * sizeof *risks[0].loss);
    assert_memory_equal(&r.risks.averaged, &risks[0].averaged, 7 * sizeof(double));
    assert_int_equal(r.input.averaged_max.held_out_m, 7);
    assert_int_equal(r.input.averaged_max.held_out_wrong, risks[1].max_wrong + risks[1].max_tied);
    surety_bound_input in = surety_bound_input_defaults();
    in.delta = .1, in.priors_compared = 3, in.looks = 2;
    check_ok(surety_risks_input(&risks[0], e->q, e->p, &in, &err));
    in.averaged_max.held_out_m = 7, in.averaged_max.held_out_wrong = r.input.averaged_max.held_out_wrong;
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        surety_bound_value value;
        check_ok(surety_bound_compute((surety_bound_id)id, &in, &value, &err));
        assert_int_equal(value.available, r.bounds[id].available);
        if (!value.available) continue;
        /* the margin of the computed vote: at least one ulp where voters stand in for the vote, never more
         * than 1e-14; nothing where the vote itself was counted */
        int through_voters = surety_bound_list()[id].margin == SURETY_MARGIN_VOTE;
        check_that(r.bounds[id].vote, <=, value.vote + 1e-14);
        if (through_voters)
            check_that(r.bounds[id].vote, >, value.vote);
        else
            check_that(r.bounds[id].vote, ==, value.vote);
    }
    for (int k = 0; k < 2; k++) surety_risk_free(part[k]), surety_risks_free(&risks[k]);
    surety_votes_result_free(&r);
}

static json_t *document(const surety_votes_settings *s) {
    surety_error err = SURETY_ERROR_NONE;
    json_t *root = NULL;
    char *text = run_text(s, 1);
    check_ok(surety_json_parse(&root, text, strlen(text), "answer", &err));
    surety_text_free(text);
    return root;
}

static double number(json_t *root, const char *a, const char *b, const char *c) {
    json_t *at = json_object_get(root, a);
    if (b) at = json_object_get(at, b);
    if (c) at = json_object_get(at, c);
    check(json_is_number(at), "no number at %s.%s.%s", a, b ? b : "", c ? c : "");
    return json_number_value(at);
}

static void the_document_has_its_keys(void **state) {
    const ensemble *e = *state;
    surety_votes_settings s = arrays_of(e);
    json_t *root = document(&s);
    check_that(number(root, "m", NULL, NULL), ==, M);
    check_that(number(root, "n", NULL, NULL), ==, N);
    check_that(number(root, "voter_count", NULL, NULL), ==, H);
    check_that(number(root, "kl", NULL, NULL), >, 0);
    const char *const risks[] = {"averaged", "averaged_max", "rbar", "abar", "gmax", "tv", "tandem"};
    for (int k = 0; k < 7; k++) check_that(number(root, "risks", risks[k], NULL), <=, 1);
    const char *const both[] = {
        "chromatic_seeger", "chromatic_mcallester", "average_max",  "average_max_tv",
        "seeger",           "average_max_seeger",   "voters_union", "average_max_voters_union"};
    for (int k = 0; k < 8; k++) {
        double surrogate = number(root, "bounds", both[k], "surrogate"),
               vote = number(root, "bounds", both[k], "vote");
        check_that(fabs(vote - 2 * surrogate), <, 1e-13);
        check_that(number(root, "bounds", both[k], "vote_clipped"), ==, (vote < 1 ? vote : 1));
    }
    json_t *bounds = json_object_get(root, "bounds");
    assert_null(json_object_get(bounds, "vote_frozen_max"));
    assert_non_null(json_object_get(json_object_get(root, "unavailable"), "vote_frozen_max"));
    number(root, "bounds", "vote_anchored_max", "vote");
    number(root, "bounds", "tandem", "vote");
    json_decref(root);
    s.posterior_array = NULL; /* then Q is P */
    root = document(&s);
    check_that(number(root, "kl", NULL, NULL), ==, 0);
    assert_true(json_is_null(
        json_object_get(json_object_get(json_object_get(root, "bounds"), "vote_frozen_max"), "surrogate")));
    number(root, "bounds", "vote_frozen_averaged", "vote");
    json_decref(root);
}

static void learning_helps_and_says_so(void **state) {
    const ensemble *e = *state;
    surety_votes_settings s = arrays_of(e);
    s.posterior_array = NULL, s.learn = 1, s.signed_votes = 1;
    json_t *root = document(&s);
    double start = number(root, "learning", "start", NULL), value = number(root, "learning", "value", NULL);
    check_that(value, <, start);
    check_that(number(root, "learning", "gradient_norm", NULL), <, 1e-8);
    check_that(fabs(number(root, "bounds", "average_max_seeger", "vote") - value), <, 1e-13);
    json_decref(root);
}

static void refused(const surety_votes_settings *s, surety_status code, const char *place) {
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_result r;
    surety_status got = surety_bound_votes(s, &r, NULL, &err);
    check(got == code && !strcmp(err.place, place) && err.what[0], "%s at '%s': %s", surety_status_name(got),
          err.place, err.what);
    assert_null(r.posterior);
}

static void bad_votes(void **state) {
    ensemble *e = *state;
    surety_votes_settings s = files_of(e), arrays = arrays_of(e);
    const float bad[] = {NAN, 1.5f, -INFINITY};
    for (int k = 0; k < 3; k++) {
        float kept = e->v[(20 * N + 2) * H + 3], early = e->v[(17 * N + 1) * H];
        e->v[(20 * N + 2) * H + 3] = bad[k];
        write_npy(e->bad, SURETY_F4, 3, (size_t[]){M, N, H}, e->v);
        s.votes = e->bad;
        refused(&s, SURETY_E_INPUT, "index [20, 2, 3]");
        refused(&arrays, SURETY_E_INPUT, "index [20, 2, 3]");
        e->v[(17 * N + 1) * H] = bad[k]; /* the first one is named, whoever finds it */
        refused(&arrays, SURETY_E_INPUT, "index [17, 1, 0]");
        write_npy(e->bad, SURETY_F4, 2, (size_t[]){M, N * H}, e->v);
        s.prior = s.posterior = NULL;
        refused(&s, SURETY_E_INPUT, "index [17, 5]");
        s = files_of(e);
        e->v[(20 * N + 2) * H + 3] = kept, e->v[(17 * N + 1) * H] = early;
    }
    s.votes = e->bad;
    write_npy(e->bad, SURETY_F4, 1, (size_t[]){M}, e->v);
    refused(&s, SURETY_E_INPUT, "");
    write_npy(e->bad, SURETY_F4, 3, (size_t[]){M, 0, H}, e->v);
    refused(&s, SURETY_E_INPUT, "");
    write_npy(e->bad, SURETY_F4, 5, (size_t[]){M, N, H, 1, 1}, e->v);
    refused(&s, SURETY_E_INPUT, "");
    arrays.m = 0;
    refused(&arrays, SURETY_E_INPUT, "");
}

static void bad_labels(void **state) {
    ensemble *e = *state;
    surety_votes_settings s = files_of(e), arrays = arrays_of(e);
    double labels[M];
    for (size_t i = 0; i < M; i++) labels[i] = e->y[i];
    s.labels = e->bad;
    const double bad[] = {0, 2, .5, NAN};
    for (int k = 0; k < 4; k++) {
        double kept = labels[30];
        labels[30] = bad[k];
        write_npy(e->bad, SURETY_F8, 1, (size_t[]){M}, labels);
        refused(&s, SURETY_E_INPUT, "index [30]");
        labels[30] = kept;
    }
    write_npy(e->bad, SURETY_F8, 1, (size_t[]){M - 1}, labels);
    refused(&s, SURETY_E_INPUT, "");
    write_npy(e->bad, SURETY_F8, 2, (size_t[]){M, 1}, labels);
    refused(&s, SURETY_E_INPUT, "");
    e->y[5] += 3;
    refused(&arrays, SURETY_E_INPUT, "index [5]");
    e->y[5] -= 3;
}

/* Blanks around a label of a text are no part of it. */
static void blanks_around_labels(void **state) {
    ensemble *e = *state;
    surety_votes_settings s = files_of(e);
    char *expected = run_text(&s, 1);
    FILE *f = fopen(e->bad, "w");
    assert_non_null(f);
    for (size_t i = 0; i < M; i++) fprintf(f, "%s%d%s\n", i % 3 ? " \t" : "\t", e->y[i], i % 2 ? "\r" : " ");
    assert_int_equal(fclose(f), 0);
    s.labels = e->bad;
    char *text = run_text(&s, 1);
    assert_string_equal(text, expected);
    surety_text_free(text);
    surety_text_free(expected);
}

/* Refused with these words: what is wrong, and what would be right. */
static void refused_for(const surety_votes_settings *s, const char *place, const char *what,
                        const char *expected) {
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_result r;
    assert_int_equal(surety_bound_votes(s, &r, NULL, &err), SURETY_E_INPUT);
    assert_string_equal(err.place, place);
    check_contains(err.what, what);
    check_contains(err.expected, expected);
}

/* The labels as lines, the one at index `odd` replaced, and so many lines behind them. */
static void write_lines(const ensemble *e, size_t odd, const char *text, size_t more) {
    FILE *f = fopen(e->bad, "w");
    assert_non_null(f);
    for (size_t i = 0; i < M; i++)
        if (i == odd)
            fprintf(f, "%s\n", text);
        else
            fprintf(f, "%d\n", e->y[i]);
    for (size_t i = 0; i < more; i++) fputs("1\n", f);
    assert_int_equal(fclose(f), 0);
}

static void bad_lines(void **state) {
    ensemble *e = *state;
    surety_votes_settings s = files_of(e);
    s.labels = e->bad;
    write_lines(e, M, "", 1);
    refused_for(&s, "", "the file has 38 lines", "37 lines, without a heading");
    write_lines(e, M, "", 100000);
    refused_for(&s, "", "the file has 100037 lines", "one label per example: 37 lines");
    write_lines(e, 30, " \t", 0);
    refused_for(&s, "line 31", "the line is empty", "one label per line");
    write_lines(e, 30, " 1\t1", 0);
    refused_for(&s, "line 31", "the line has several columns", "one label per line");
}

/* Up to 31 letters may be a number; more are a name. */
static void long_labels(void **state) {
    ensemble *e = *state;
    surety_votes_settings s = files_of(e);
    char *expected = run_text(&s, 1), one[65] = "1.";
    size_t at = 0;
    while (e->y[at] != 1) at++;
    memset(one + 2, '0', 62);
    s.labels = e->bad;
    write_lines(e, at, one, 0);
    refused_for(&s, "", "the labels have 3 names, the votes 2 classes", "a name for every class");
    one[31] = 0;
    write_lines(e, at, one, 0);
    char *text = run_text(&s, 1);
    assert_string_equal(text, expected);
    surety_text_free(text);
    surety_text_free(expected);
}

/* Whole numbers from 0 on beside labels -1 and +1: an abstention or a class? Without a 0 there is no doubt,
 * nor where the type has no sign. */
static void zeros_beside_signs(void **state) {
    ensemble *e = *state;
    surety_votes_settings s = files_of(e);
    static int8_t votes[M * N * H];
    s.votes = e->bad;
    for (size_t k = 0; k < M * N * H; k++) votes[k] = k % 3 != 0;
    write_npy(e->bad, SURETY_I1, 3, (size_t[]){M, N, H}, votes);
    refused_for(&s, "", "the votes are whole numbers from 0 on, the labels -1 and +1",
                "votes as floats if 0 abstains");
    write_npy(e->bad, SURETY_U1, 3, (size_t[]){M, N, H}, votes);
    char *unsigned_votes = run_text(&s, 1);
    check_contains(unsigned_votes, "\"class_count\": 2");
    surety_text_free(unsigned_votes);
    memset(votes, 1, sizeof votes);
    write_npy(e->bad, SURETY_I1, 3, (size_t[]){M, N, H}, votes);
    char *all_one = run_text(&s, 1);
    check_contains(all_one, "\"class_count\": 2");
    surety_text_free(all_one);
}

static void words_of_refusals(void **state) {
    ensemble *e = *state;
    surety_votes_settings s = files_of(e), arrays = arrays_of(e);
    float kept = e->v[H];
    e->v[H] = 1.5f;
    refused_for(&arrays, "index [0, 1, 0]", "the vote is 1.5", "votes in [-1, 1]");
    e->v[H] = kept;
    s.votes = e->bad;
    write_npy(e->bad, SURETY_F4, 5, (size_t[]){M, N, H, 1, 1}, e->v);
    refused_for(&s, "", "the shape (37, 4, 5, 1, 1)", "votes of shape (m, n, H) or (m, H), or scores");
    write_npy(e->bad, SURETY_U1, 4, (size_t[]){M, N, H, 1}, e->v);
    refused_for(&s, "", "the shape (37, 4, 5, 1)",
                "class numbers of shape (m, n, H) or (m, H), or scores as");
    write_npy(e->bad, SURETY_F4, 4, (size_t[]){M, N, H, 1}, e->v);
    refused_for(&s, "", "1 class", "2 to 255 classes");
    s = files_of(e), s.labels = e->bad;
    write_npy(e->bad, SURETY_I1, 1, (size_t[]){M - 1}, e->y);
    refused_for(&s, "", "the shape (36)", "one label per example: (37)");
}

static void bad_weights(void **state) {
    ensemble *e = *state;
    surety_votes_settings s = files_of(e);
    s.prior = e->bad;
    double p[H];
    memcpy(p, e->p, sizeof p);
    write_npy(e->bad, SURETY_F8, 1, (size_t[]){H - 1}, p);
    refused(&s, SURETY_E_INPUT, "");
    p[0] += 2e-6;
    write_npy(e->bad, SURETY_F8, 1, (size_t[]){H}, p);
    refused(&s, SURETY_E_INPUT, "");
    p[0] = e->p[0] + 5e-7; /* near enough: meant as the vector divided by its sum */
    write_npy(e->bad, SURETY_F8, 1, (size_t[]){H}, p);
    surety_text_free(run_text(&s, 1));
    p[0] = 0, p[1] = .3;
    write_npy(e->bad, SURETY_F8, 1, (size_t[]){H}, p);
    refused(&s, SURETY_E_INPUT, "index [0]");
    s = files_of(e), s.posterior = e->bad; /* a posterior may have zeros .. */
    surety_text_free(run_text(&s, 1));
    p[2] = -p[2]; /* .. but no negative weight */
    write_npy(e->bad, SURETY_F8, 1, (size_t[]){H}, p);
    refused(&s, SURETY_E_INPUT, "voter 2");
}

static void bad_settings(void **state) {
    const ensemble *e = *state;
    const double deltas[] = {0, 1, -.1, NAN, 2};
    for (int k = 0; k < 5; k++) {
        surety_votes_settings s = arrays_of(e);
        s.delta = deltas[k];
        refused(&s, SURETY_E_INPUT, "");
    }
    surety_votes_settings s = arrays_of(e);
    s.learn = 1;
    refused(&s, SURETY_E_USAGE, "");
    s = arrays_of(e), s.hold_out = M;
    refused(&s, SURETY_E_INPUT, "");
    s = arrays_of(e), s.priors_compared = 0;
    refused(&s, SURETY_E_INPUT, "priors_compared");
    s = arrays_of(e), s.votes = e->votes;
    refused(&s, SURETY_E_USAGE, "");
    s = files_of(e), s.labels = NULL;
    refused(&s, SURETY_E_USAGE, "");
    s = arrays_of(e), s.learn = 1, s.posterior_array = NULL, s.objective = SURETY_BOUND_TANDEM;
    refused(&s, SURETY_E_USAGE, "");
    s = files_of(e), s.votes = "/nowhere/votes.npy";
    refused(&s, SURETY_E_INPUT, "");
}

/* ---- classes ---- */

enum { K = 3 };

typedef struct ballots {
    uint8_t classes[M * N * H], labels[M];
    float scores[M * N * H * K];
} ballots;

/* Class numbers, and the scores of voters that are sure of them. */
static void fill_ballots(ballots *b) {
    surety_address a = {0, 0, 0, 0, 203};
    for (uint32_t i = 0; i < M; i++) b->labels[i] = (uint8_t)(i % K);
    for (uint32_t k = 0; k < M * N * H; k++) {
        float u = surety_random_uniform(3, &a, k);
        b->classes[k] = (uint8_t)(u < .6f ? b->labels[k / (N * H)] : (uint32_t)(u * 1000) % K);
        for (uint32_t c = 0; c < K; c++) b->scores[k * K + c] = b->classes[k] == c;
    }
}

static surety_votes_settings class_arrays(const ballots *b) {
    surety_votes_settings s = surety_votes_defaults();
    s.class_votes = b->classes, s.class_labels = b->labels, s.m = M, s.n = N, s.H = H;
    return s;
}

static void write_names(const char *path, const ballots *b) {
    static const char *const names[K] = {"ant", "bee", "cat"};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < M; i++) fprintf(f, "%s\n", names[b->labels[i]]);
    fclose(f);
}

static void classes_by_array_and_file(void **state) {
    const ensemble *e = *state;
    static ballots b;
    fill_ballots(&b);
    surety_votes_settings named = class_arrays(&b), scored = named, files = surety_votes_defaults();
    scored.class_votes = NULL, scored.score_array = b.scores, scored.classes = K, scored.signed_votes = 1;
    files.votes = e->votes_of_classes, files.labels = e->labels_of_classes;
    write_npy(files.votes, SURETY_U1, 3, (size_t[]){M, N, H}, b.classes);
    write_npy(files.labels, SURETY_U1, 1, (size_t[]){M}, b.labels);
    for (int kind = 0; kind < 3; kind++) {
        named.learn = scored.learn = files.learn = kind == 1;
        named.hold_out = scored.hold_out = files.hold_out = kind == 2 ? 10 : 0;
        char *a = run_text(&named, 1), *c = run_text(&scored, 3), *d = run_text(&files, 2);
        assert_string_equal(a, c);
        assert_string_equal(a, d);
        surety_text_free(a), surety_text_free(c), surety_text_free(d);
    }
    char *array = run_text(&scored, 1);
    write_npy(files.votes, SURETY_F4, 4, (size_t[]){M, N, H, K}, b.scores);
    files.signed_votes = 1, files.hold_out = scored.hold_out;
    char *file = run_text(&files, 1);
    assert_string_equal(array, file);
    surety_text_free(array), surety_text_free(file);
    json_t *root = document(&scored);
    check_that(number(root, "class_count", NULL, NULL), ==, K);
    json_t *classes = json_object_get(json_object_get(root, "risks"), "classes");
    assert_int_equal(json_array_size(classes), K);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(classes, 0), "examples")), 9);
    json_decref(root);
    write_names(files.labels, &b);
    root = document(&files);
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "class_names"), 1)), "bee");
    json_decref(root);
}

static void bad_classes(void **state) {
    (void)state;
    static ballots b;
    fill_ballots(&b);
    surety_votes_settings s = class_arrays(&b), scored = s;
    scored.class_votes = NULL, scored.score_array = b.scores;
    refused(&scored, SURETY_E_INPUT, ""); /* K is needed */
    scored.classes = 256;
    refused_for(&scored, "", "256 classes", "2 to 255 classes");
    scored.classes = K, b.scores[(20 * N * H + 7) * K + 1] += .5f;
    refused(&scored, SURETY_E_INPUT,
            b.classes[20 * N * H + 7] == 1 ? "index [20, 1, 2, 1]" : "index [20, 1, 2]");
    b.labels[5] = K;
    refused(&scored, SURETY_E_INPUT, "index [5]");
    b.labels[5] = 0, b.classes[(20 * N + 2) * H + 3] = K;
    s.classes = K;
    refused(&s, SURETY_E_INPUT, "index [20, 2, 3]");
    s.score_array = b.scores;
    refused(&s, SURETY_E_USAGE, "");
    s = class_arrays(&b), s.class_labels = NULL;
    refused(&s, SURETY_E_USAGE, "");
    int8_t two[M] = {0};
    s.label_array = two;
    refused(&s, SURETY_E_USAGE, "");
    s = class_arrays(&b);
    memset(b.classes, 0, sizeof b.classes), memset(b.labels, 0, sizeof b.labels);
    refused_for(&s, "", "all votes and all labels are of one class", "2 to 255 classes");
}

static void allocations_may_fail(const surety_votes_settings *s) {
    surety_status status = SURETY_E_MEMORY;
    for (int k = 0; status != SURETY_OK; k++) {
        long left = k;
        surety_error err = SURETY_ERROR_NONE;
        surety_votes_result r;
        surety_run run = {.threads = 1};
        surety_memory_hook(check_fail_at, &left);
        status = surety_bound_votes(s, &r, &run, &err);
        surety_memory_hook(NULL, NULL);
        if (status != SURETY_OK) assert_int_equal(status, SURETY_E_MEMORY);
        surety_votes_result_free(&r);
        check_that(k, <, 200);
    }
}

static void every_allocation_may_fail(void **state) {
    const ensemble *e = *state;
    static ballots b;
    fill_ballots(&b);
    surety_votes_settings s = files_of(e);
    s.posterior = NULL, s.learn = 1, s.hold_out = 5;
    allocations_may_fail(&s);
    s.prior = NULL, s.votes = e->votes_of_classes, s.labels = e->labels_of_classes;
    write_npy(s.votes, SURETY_U1, 3, (size_t[]){M, N, H}, b.classes);
    write_names(s.labels, &b);
    allocations_may_fail(&s);
}

static long json_left, json_live;

static void *json_may_allocate(size_t size) {
    if (json_left-- <= 0) return NULL;
    json_live++;
    return malloc(size);
}

static void json_freed(void *memory) {
    json_live -= memory != NULL;
    free(memory);
}

/* Whichever allocation of the document fails, what was made of it is released. */
static void no_json_is_lost(void **state) {
    const ensemble *e = *state;
    static ballots b;
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_settings s = files_of(e);
    surety_votes_result r;
    surety_run one = {.threads = 1};
    char *text = NULL;
    fill_ballots(&b);
    s.votes = e->votes_of_classes, s.labels = e->labels_of_classes;
    write_npy(s.votes, SURETY_U1, 3, (size_t[]){M, N, H}, b.classes);
    write_names(s.labels, &b);
    check_ok(surety_bound_votes(&s, &r, &one, &err));
    for (long k = 0; !text; k++) {
        json_left = k, json_live = 0;
        json_set_alloc_funcs(json_may_allocate, json_freed);
        text = surety_votes_result_json(&r);
        json_set_alloc_funcs(malloc, free);
        check(text || !json_live, "allocation %ld failed, and %ld were not released", k, json_live);
        check_that(k, <, 10000);
    }
    surety_text_free(text);
    surety_votes_result_free(&r);
}

static void stops_when_asked(void **state) {
    const ensemble *e = *state;
    surety_votes_settings s = arrays_of(e);
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_result r;
    volatile sig_atomic_t stop = 1;
    surety_run run = {.threads = 2, .stop = &stop};
    assert_int_equal(surety_bound_votes(&s, &r, &run, &err), SURETY_E_STOPPED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_in_gives_the_same_document),
        cmocka_unit_test(agrees_with_the_layers_below),
        cmocka_unit_test(the_document_has_its_keys),
        cmocka_unit_test(learning_helps_and_says_so),
        cmocka_unit_test(bad_votes),
        cmocka_unit_test(bad_labels),
        cmocka_unit_test(blanks_around_labels),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(long_labels),
        cmocka_unit_test(zeros_beside_signs),
        cmocka_unit_test(words_of_refusals),
        cmocka_unit_test(bad_weights),
        cmocka_unit_test(bad_settings),
        cmocka_unit_test(classes_by_array_and_file),
        cmocka_unit_test(bad_classes),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(no_json_is_lost),
        cmocka_unit_test(stops_when_asked),
    };
    return cmocka_run_group_tests_name("votes", tests, make_ensemble, remove_ensemble);
}
