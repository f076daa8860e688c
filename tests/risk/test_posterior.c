/* risk: learning the posterior. The minimum is checked from outside: nothing on the line of Gibbs posteriors,
 * no random distribution and no small step from the answer is better; the reported gradient is that of
 * differences. */
#include "check.h"
#include "draw.h"

#include <math.h>

#include "risk/simplex.h"
#include "surety/risk.h"

enum { MAX_H = 30, MAX_M = 60 };

static const surety_bound_id smooth[] = {SURETY_BOUND_CHROMATIC_SEEGER, SURETY_BOUND_CHROMATIC_MCALLESTER,
                                         SURETY_BOUND_SEEGER, SURETY_BOUND_AVERAGE_MAX,
                                         SURETY_BOUND_AVERAGE_MAX_SEEGER};

static double uniform(draw *d) {
    return draw_real(d, 0, 1);
}

/* Voters of different quality on m examples, copies of each to make m large: what counts are the mean losses.
 */
typedef struct problem {
    size_t H, m, copies;
    surety_risks risks;
    double p[MAX_H];
    surety_bound_input input;
} problem;

static void draw_problem(draw *s, problem *t) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *risk = NULL;
    t->H = 1 + (size_t)(uniform(s) * MAX_H), t->m = 1 + (size_t)(uniform(s) * MAX_M);
    t->copies = uniform(s) < .5 ? 1 : 1 + (size_t)(uniform(s) * 100);
    double wrong[MAX_H], most = uniform(s);
    for (size_t h = 0; h < t->H; h++) t->p[h] = 3 * uniform(s), wrong[h] = most * uniform(s);
    surety_simplex_softmax(t->p, t->H, t->p);
    surety_risk_settings settings = {t->H, 1, 0, t->p, t->p, 2};
    check_ok(surety_risk_new(&settings, &risk, &err));
    int real = uniform(s) < .5, perfect = uniform(s) < .3;
    for (size_t i = 0; i < t->m; i++) {
        float votes[MAX_H];
        for (size_t h = 0; h < t->H; h++)
            votes[h] = real ? (float)(1 - 2 * wrong[h] * uniform(s)) : uniform(s) < wrong[h] ? -1.f : 1.f;
        if (perfect) votes[0] = 1, votes[t->H / 2] = 1;
        for (size_t k = 0; k < t->copies; k++) check_ok(surety_risk_add(risk, votes, t->H, 1, &err));
    }
    check_ok(surety_risk_result(risk, &t->risks, &err));
    surety_risk_free(risk);
    t->input = surety_bound_input_defaults();
    t->input.priors_compared = uniform(s) < .5 ? 1 : 20;
    t->input.looks = uniform(s) < .5 ? 1 : 1000;
}

static double bound_at(const problem *t, surety_bound_id id, const double *q) {
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_input in = t->input;
    surety_bound_value value;
    check_ok(surety_risks_input(&t->risks, q, t->p, &in, &err));
    in.frozen = 0;
    check_ok(surety_posterior_mean(q, t->risks.mean_loss, t->H, &in.averaged.gibbs, &err));
    check_ok(surety_posterior_mean(q, t->risks.mean_max_loss, t->H, &in.averaged_max.gibbs, &err));
    check_ok(surety_bound_compute(id, &in, &value, &err));
    assert_true(value.available);
    return value.vote;
}

static void not_better(const problem *t, surety_bound_id id, const double *q, double best, const char *what) {
    double value = bound_at(t, id, q);
    check(value >= best * (1 - 1e-12), "%s: %s gives %.15g, learned %.15g", surety_bound_list()[id].name,
          what, value, best);
}

static void nothing_is_better(draw *s, const problem *t, surety_bound_id id, const double *q, double best) {
    double other[MAX_H];
    for (double beta = 1e-3; beta < 1e6; beta *= 1.3) {
        for (size_t h = 0; h < t->H; h++) other[h] = log(t->p[h]) - beta * t->risks.mean_loss[h];
        surety_simplex_softmax(other, t->H, other);
        not_better(t, id, other, best, "a Gibbs posterior");
    }
    for (int k = 0; k < 20; k++) {
        double scale = exp(8 * uniform(s) - 4);
        for (size_t h = 0; h < t->H; h++) other[h] = scale * uniform(s);
        surety_simplex_softmax(other, t->H, other);
        not_better(t, id, other, best, "a random posterior");
        for (size_t h = 0; h < t->H; h++) other[h] = q[h] * exp(.1 * (uniform(s) - .5));
        surety_simplex_scale(other, t->H);
        not_better(t, id, other, best, "a step");
    }
}

static void finds_the_minimum(void **state) {
    (void)state;
    draw s = {21};
    problem t;
    for (long k = 0; k < check_count(60, 3000); k++) {
        draw_problem(&s, &t);
        surety_bound_id id = smooth[k % 5];
        surety_error err = SURETY_ERROR_NONE;
        surety_learned learned;
        double q[MAX_H];
        check_ok(surety_posterior_learn(&t.risks, t.p, id, &t.input, q, &learned, &err));
        check_that(learned.value, <=, learned.start);
        check_that(learned.value, ==, bound_at(&t, id, q));
        check_that(learned.start, ==, bound_at(&t, id, t.p));
        check(learned.gradient_norm < 1e-8, "gradient %g after %llu steps", learned.gradient_norm,
              (unsigned long long)learned.iterations);
        nothing_is_better(&s, &t, id, q, learned.value);
        surety_risks_free(&t.risks);
    }
}

/* Without KL all weight goes to the voters of least loss; nothing else is better. */
static void unions_choose_the_best_voters(void **state) {
    (void)state;
    draw s = {22};
    problem t;
    for (long k = 0; k < check_count(30, 1000); k++) {
        draw_problem(&s, &t);
        surety_bound_id id = k % 2 ? SURETY_BOUND_VOTERS_UNION : SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION;
        surety_error err = SURETY_ERROR_NONE;
        surety_learned learned;
        double q[MAX_H], other[MAX_H];
        check_ok(surety_posterior_learn(&t.risks, t.p, id, &t.input, q, &learned, &err));
        for (size_t h = 0; h < t.H; h++) {
            memset(other, 0, sizeof other);
            other[h] = 1;
            not_better(&t, id, other, learned.value, "one voter");
        }
        surety_risks_free(&t.risks);
    }
}

/* Voters that are all alike leave nothing to learn: Q is P, to the bit, and KL is 0. */
static void equal_voters_keep_the_prior(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const double p[] = {.2, .3, .5};
    surety_risk_settings settings = {3, 1, 0, p, p, 2};
    surety_risk *risk = NULL;
    check_ok(surety_risk_new(&settings, &risk, &err));
    const float right[] = {1, 1, 1}, wrong[] = {-1, -1, -1};
    for (int i = 0; i < 100; i++) check_ok(surety_risk_add(risk, i % 10 ? right : wrong, 3, 1, &err));
    surety_risks risks;
    check_ok(surety_risk_result(risk, &risks, &err));
    surety_bound_input input = surety_bound_input_defaults();
    surety_learned learned;
    double q[3];
    check_ok(surety_posterior_learn(&risks, p, SURETY_BOUND_SEEGER, &input, q, &learned, &err));
    assert_memory_equal(q, p, sizeof p);
    check_that(learned.gradient_norm, <, 1e-12);
    check_ok(surety_risks_input(&risks, q, p, &input, &err));
    check_that(input.kl, ==, 0);
    assert_true(input.frozen);
    assert_int_equal(surety_posterior_learn(&risks, p, SURETY_BOUND_TANDEM, &input, q, &learned, &err),
                     SURETY_E_USAGE);
    check_contains(err.expected, ": chromatic_seeger, ");
    check_contains(err.expected, ", average_max_voters_union");
    assert_int_equal(surety_posterior_learn(&risks, p, SURETY_BOUND_TANDEM, &input, q, &learned, NULL),
                     SURETY_E_USAGE);
    surety_risks_free(&risks);
    surety_risk_free(risk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_minimum),
        cmocka_unit_test(unions_choose_the_best_voters),
        cmocka_unit_test(equal_voters_keep_the_prior),
    };
    return cmocka_run_group_tests_name("posterior", tests, NULL, NULL);
}
