/* The sampler against the naive loop: attack one example alone, draw its perturbations one by one, ask the
 * voters for each. Every point, every vote and every count of steps is the same to the last bit, for any
 * threat, order, part of the set and number of threads; a counter may fail, and a run may be stopped. */
#include <math.h>

#include "attack/cases.h"
#include "base/parallel.h"
#include "evaluate/sampler.h"
#include "evaluate/vote.h"
#include "voters/worst.h"

static surety_error err = SURETY_ERROR_NONE;

enum { M = 70, D = 20, VOTERS = 40, SAMPLES = 7 };

/* What a run handed out, and how often. */
typedef struct seen {
    const surety_set *set;
    size_t n, H, stride, fails_at; /* H: numbers per vote, outputs or limits */
    float *points, *votes;         /* (M, SAMPLES, stride), (M, SAMPLES, H) */
    int point[M][SAMPLES], example[M];
    size_t order[M], steps[M];
    int count;
} seen;

static surety_status see_point(void *arg, const surety_ended *e, size_t j, const float *x,
                               surety_error *error) {
    seen *s = arg;
    (void)error;
    memcpy(s->points + (e->i * SAMPLES + j) * s->stride, x, s->set->d * sizeof *x);
    s->order[e->i] = e->k;
    s->steps[e->i] = e->steps;
    s->point[e->i][j]++;
    return SURETY_OK;
}

static surety_status see_votes(void *arg, const surety_ended *e, const float *votes, size_t ld,
                               surety_error *error) {
    seen *s = arg;
    if (s->fails_at && __atomic_add_fetch(&s->count, 1, __ATOMIC_RELAXED) >= (int)s->fails_at)
        return surety_fail(error, SURETY_E_CHECK, "example %zu is one too many", e->i);
    check(e->n == s->n, "%zu perturbations, not %zu", e->n, s->n);
    for (size_t j = 0; j < e->n; j++)
        for (size_t t = 0; t < s->H; t++) s->votes[(e->i * SAMPLES + j) * s->H + t] = votes[t * ld + j];
    s->example[e->i]++;
    return SURETY_OK;
}

static seen *seen_new(const surety_set *set, const surety_threat *threat, const surety_voters *v) {
    seen *s = calloc(1, sizeof *s);
    size_t each = threat->kind == SURETY_WORST_CASE ? surety_voters_classes(v) - 1 : surety_voters_width(v);
    s->set = set, s->n = surety_threat_samples(threat), s->H = surety_voters_count(v) * each;
    s->stride = set->stride;
    s->points = calloc(M * SAMPLES * s->stride, sizeof(float));
    s->votes = calloc(M * SAMPLES * s->H, sizeof(float));
    return s;
}

static void seen_free(seen *s) {
    free(s->points);
    free(s->votes);
    free(s);
}

/* The naive loop for example i; the worst case by limits of its own. */
static void check_example(const seen *s, const surety_threat *threat, const surety_vote *vote, size_t i) {
    const surety_voters *v = vote->voters;
    const surety_set one = surety_set_slice(s->set, i, 1);
    surety_examples e = surety_examples_of(&one, 0);
    float *h = calloc(s->H, sizeof *h);
    if (threat->kind == SURETY_WORST_CASE) {
        surety_worst *worst;
        check_ok(surety_worst_new(&worst, v, &threat->ball, threat->budget, vote->voter_set, &err));
        const float *low = surety_worst_run(worst, &e, &threat->ball.radius);
        for (size_t t = 0; t < s->H; t++)
            check_that(s->votes[i * SAMPLES * s->H + t], ==, low[t * SURETY_LANES]);
        surety_worst_free(worst);
    } else {
        surety_attacker *a;
        check_ok(surety_attacker_new(&a, threat, v, &err));
        surety_attacker_run(a, vote, &e);
        for (size_t j = 0; j < s->n; j++) {
            float x[D];
            surety_attacker_sample(a, 0, j, x);
            assert_memory_equal(s->points + (i * SAMPLES + j) * s->stride, x, sizeof x);
            assert_int_equal(s->point[i][j], 1);
            check_ok(surety_voters_outputs(v, x, D, 1, h, NULL, &err));
            assert_memory_equal(s->votes + (i * SAMPLES + j) * s->H, h, s->H * sizeof *h);
            check_that(plain_margin(vote, x, e.y[0]), ==,
                       surety_margin_column(vote, s->votes + (i * SAMPLES + j) * s->H, 1, e.y[0]));
        }
        surety_attacker_free(a);
    }
    assert_int_equal(s->example[i], 1);
    free(h);
}

static surety_threat any_threat(draw *r) {
    surety_threat t = surety_threat_defaults();
    do t.kind = (surety_threat_kind)draw_size(r, 0, SURETY_THREATS - 1);
    while (t.kind == SURETY_ATTACK_SEARCH); /* that is of trees */
    t.ball.norm = (surety_norm)draw_size(r, 0, 2);
    t.ball.radius = draw_real(r, 0, 1);
    t.steps = draw_size(r, 1, 6);
    t.samples = draw_size(r, 1, SAMPLES);
    t.restarts = draw_size(r, 1, 2);
    t.seed = draw_bits(r) >> 1;
    return t;
}

static void test_naive_loop(void **state) {
    (void)state;
    draw r = {41};
    for (long round = 0; round < check_count(60, 1500); round++) {
        surety_threat threat = any_threat(&r);
        random_vote v = random_vote_new(&r, D, 0);
        random_set set = random_set_new(&r, M, D, &threat.ball, 1, surety_voters_classes(v.voters));
        uint32_t order[M];
        for (uint32_t i = 0; i < M; i++) order[i] = (i * 27 + 5) % M; /* 27 and 70 share no factor */
        surety_run run = {.threads = 1 + (int)draw_size(&r, 0, 3)};
        seen *s = seen_new(&set.set, &threat, v.voters);
        surety_sampling what = {.set = &set.set,
                                .order = draw_size(&r, 0, 1) ? order : NULL,
                                .first = draw_size(&r, 0, 20),
                                .end = draw_size(&r, 20, M),
                                .vote = v.vote,
                                .point = see_point,
                                .votes = see_votes,
                                .arg = s};
        check_ok(surety_sample_set(&threat, &what, &run, &err));
        for (size_t k = 0; k < M; k++) {
            size_t i = what.order ? order[k] : k;
            if (k >= what.first && k < what.end)
                check_example(s, &threat, &v.vote, i);
            else
                assert_int_equal(s->example[i], 0);
        }
        seen_free(s);
        random_set_free(&set);
        random_vote_free(&v);
    }
}

/* The first failure is told; nobody waits for the rest. */
static void test_a_counter_fails(void **state) {
    (void)state;
    draw r = {42};
    for (int kind = 0; kind < SURETY_THREATS; kind++)
        for (int threads = 1; threads <= 3 && kind != SURETY_ATTACK_SEARCH; threads++) {
            surety_threat threat = any_threat(&r);
            threat.kind = (surety_threat_kind)kind;
            random_vote v = random_vote_new(&r, D, 0);
            random_set set = random_set_new(&r, M, D, &threat.ball, 1, surety_voters_classes(v.voters));
            surety_run run = {.threads = threads};
            surety_error failed = SURETY_ERROR_NONE;
            seen *s = seen_new(&set.set, &threat, v.voters);
            s->fails_at = 20;
            surety_sampling what = {.set = &set.set, .end = M, .vote = v.vote, .votes = see_votes, .arg = s};
            assert_int_equal(surety_sample_set(&threat, &what, &run, &failed), SURETY_E_CHECK);
            assert_non_null(strstr(failed.what, "one too many"));
            seen_free(s);
            random_set_free(&set);
            random_vote_free(&v);
        }
}

static void test_stops(void **state) {
    (void)state;
    draw r = {43};
    surety_threat threat = any_threat(&r);
    volatile sig_atomic_t stop = 1;
    surety_run run = {.threads = 2, .stop = &stop};
    random_vote v = random_vote_new(&r, D, 0);
    random_set set = random_set_new(&r, M, D, &threat.ball, 1, surety_voters_classes(v.voters));
    seen *s = seen_new(&set.set, &threat, v.voters);
    surety_sampling what = {.set = &set.set, .end = M, .vote = v.vote, .votes = see_votes, .arg = s};
    for (int kind = 0; kind < SURETY_THREATS; kind++) {
        if (kind == SURETY_ATTACK_SEARCH) continue;
        surety_error stopped = SURETY_ERROR_NONE;
        threat.kind = (surety_threat_kind)kind;
        assert_int_equal(surety_sample_set(&threat, &what, &run, &stopped), SURETY_E_STOPPED);
    }
    seen_free(s);
    random_set_free(&set);
    random_vote_free(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_naive_loop),
        cmocka_unit_test(test_a_counter_fails),
        cmocka_unit_test(test_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
