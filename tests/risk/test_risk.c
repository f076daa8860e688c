/* risk: the accumulators beside a naive twin that follows the definitions of docs/theory.md 4.1, 4.2, 4.5 in
 * long double, example by example, without integers and without sharing code. */
#include "check.h"
#include "draw.h"

#include <math.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/random.h"
#include "risk/accumulate.h"
#include "risk/simplex.h"
#include "risk/vote.h"
#include "surety/risk.h"

enum { MAX_H = 40, MAX_N = 12, MAX_M = 40 };

typedef struct problem {
    size_t m, n, H;
    int signed_votes;
    float votes[MAX_M * MAX_N * MAX_H];
    int y[MAX_M];
    double q[MAX_H], p[MAX_H];
} problem;

static double uniform(draw *d) {
    return draw_real(d, 0, 1);
}

/* Votes of every kind that has bitten someone: exact 0 (of both signs), +-1, halves, tiny, ordinary. Few
 * distinct values make ties of the vote and several worst perturbations common. */
static float draw_vote(draw *s, int kind) {
    double u = uniform(s);
    static const float few[] = {0.f, -0.f, 1.f, -1.f, .5f, -.5f, 0.25f};
    if (kind == 0 || u < .2) return few[draw_size(s, 0, 6)];
    if (u < .25) return (float)(2 * uniform(s) - 1) * 0x1p-140f;
    return (float)(2 * uniform(s) - 1);
}

static void draw_weights(draw *s, size_t H, int kind, double *q) {
    for (size_t h = 0; h < H; h++)
        q[h] = kind == 0 ? 0 : kind == 1 ? 3 * uniform(s) : kind == 2 ? 900 * uniform(s) : (double)(h % 2);
    surety_simplex_softmax(q, H, q);
}

static void draw_problem(draw *s, problem *p) {
    p->m = draw_size(s, 1, MAX_M);
    p->n = draw_size(s, 1, MAX_N);
    p->H = draw_size(s, 1, MAX_H);
    p->signed_votes = uniform(s) < .5;
    int kind = (int)draw_size(s, 0, 1);
    for (size_t k = 0; k < p->m * p->n * p->H; k++) p->votes[k] = draw_vote(s, kind);
    for (size_t i = 0; i < p->m; i++) p->y[i] = uniform(s) < .5 ? -1 : 1;
    draw_weights(s, p->H, (int)draw_size(s, 0, 3), p->q);
    draw_weights(s, p->H, (int)draw_size(s, 0, 2), p->p);
}

static double vote_at(const problem *p, size_t i, size_t j, size_t h) {
    double v = (double)p->votes[(i * p->n + j) * p->H + h];
    return p->signed_votes ? (v > 0 ? 1. : v < 0 ? -1. : 0.) : v;
}

static long double loss_at(const problem *p, size_t i, size_t j, size_t h) {
    return (1 - p->y[i] * (long double)vote_at(p, i, j, h)) / 2;
}

/* y times the vote, as a predictor would compute it: from the votes, not from y v. */
static double margin_at(const problem *p, const double *q, size_t i, size_t j) {
    double sum = 0;
    for (size_t h = 0; h < p->H; h++) sum += q[h] * vote_at(p, i, j, h);
    return p->y[i] * sum;
}

typedef struct naive {
    long wrong, tied, max_wrong, max_tied, prior_wrong, prior_max_wrong;
    long double rbar, abar, gmax, tv, tandem;
    long double loss[MAX_H], max_loss[MAX_H], anchored_loss[MAX_H], anchored_max[MAX_H];
    long errors[MAX_H], anchored_errors[MAX_H];
} naive;

static long double expected_loss(const problem *p, size_t i, size_t j) {
    long double e = 0, all = 0;
    for (size_t h = 0; h < p->H; h++) e += p->q[h] * loss_at(p, i, j, h), all += p->q[h];
    return e / all;
}

static void naive_vote(const problem *p, size_t i, naive *r) {
    int wrong = 0, tied = 0, prior_wrong = 0;
    long double worst = 0;
    for (size_t j = 0; j < p->n; j++) {
        double margin = margin_at(p, p->q, i, j);
        wrong += margin < 0, tied += margin == 0;
        prior_wrong += margin_at(p, p->p, i, j) <= 0;
        long double e = expected_loss(p, i, j);
        r->tandem += e * e;
        worst = fmaxl(worst, e);
    }
    r->abar += worst;
    r->wrong += wrong, r->tied += tied, r->prior_wrong += prior_wrong;
    r->max_wrong += wrong > 0, r->max_tied += !wrong && tied, r->prior_max_wrong += prior_wrong > 0;
}

static void naive_voters(const problem *p, size_t i, naive *r) {
    int all_right = 1;
    for (size_t j = 0; j < p->n; j++) all_right &= margin_at(p, p->p, i, j) > 0;
    for (size_t h = 0; h < p->H; h++) {
        long double most = 0;
        int error = 0;
        for (size_t j = 0; j < p->n; j++) {
            long double l = loss_at(p, i, j, h);
            r->loss[h] += l;
            if (margin_at(p, p->p, i, j) > 0) r->anchored_loss[h] += l;
            most = fmaxl(most, l);
            error |= p->y[i] * vote_at(p, i, j, h) <= 0;
        }
        r->max_loss[h] += most;
        r->errors[h] += error;
        if (all_right) r->anchored_max[h] += most, r->anchored_errors[h] += error;
    }
}

/* TV with the best pi: every point mass is tried and rho^h may be any of the voter's worst points (which is
 * what sharing ties means). Votes are compared, not losses: 1 - v would round tiny votes away. */
static void naive_tv(const problem *p, size_t i, naive *r) {
    long double all = 0, best = 2;
    double low[MAX_H];
    for (size_t h = 0; h < p->H; h++) {
        low[h] = 1;
        for (size_t j = 0; j < p->n; j++) low[h] = fmin(low[h], p->y[i] * vote_at(p, i, j, h));
        all += p->q[h];
    }
    for (size_t k = 0; k < p->n; k++) {
        long double mean = 0;
        for (size_t h = 0; h < p->H; h++)
            if (p->y[i] * vote_at(p, i, k, h) > low[h]) mean += p->q[h] / all;
        best = fminl(best, mean);
    }
    r->tv += best;
}

static void naive_all(const problem *p, naive *r) {
    memset(r, 0, sizeof *r);
    long double all = 0, m = p->m, mn = m * p->n;
    for (size_t i = 0; i < p->m; i++) naive_vote(p, i, r), naive_voters(p, i, r), naive_tv(p, i, r);
    for (size_t h = 0; h < p->H; h++) {
        r->rbar += p->q[h] * r->loss[h] / mn, r->gmax += p->q[h] * r->max_loss[h] / m;
        all += p->q[h];
    }
    r->rbar /= all, r->gmax /= all;
    r->abar /= m, r->tv /= m, r->tandem /= mn;
}

static surety_risk_settings settings_of(const problem *p) {
    return (surety_risk_settings){p->H, p->n, p->signed_votes, p->q, p->p, 0};
}

static void add_all(surety_risk *a, const problem *p) {
    surety_error err = SURETY_ERROR_NONE;
    for (size_t i = 0; i < p->m; i++)
        check_ok(surety_risk_add(a, p->votes + i * p->n * p->H, p->H, p->y[i], &err));
}

static void run(const problem *p, surety_risks *out) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *a = NULL;
    surety_risk_settings s = settings_of(p);
    check_ok(surety_risk_new(&s, &a, &err));
    add_all(a, p);
    check_ok(surety_risk_result(a, out, &err));
    surety_risk_free(a);
}

/* Never below, and above by less than the units that were rounded up. */
static void upper(const char *what, double got, long double exact) {
    check((long double)got >= exact - 1e-18L && (long double)got <= exact + 1e-9L,
          "%s is %.17g, exactly %.20Lg", what, got, exact);
}

static void near(double got, double expected, double slack) {
    check(fabs(got - expected) <= slack, "%.17g instead of %.17g", got, expected);
}

static void sums_up(const char *what, size_t h, uint64_t got, long double exact, size_t terms) {
    long double units = exact * 0x1p32L;
    check((long double)got >= units - 1e-6L && (long double)got <= units + (long double)terms,
          "%s of voter %zu is %llu units, exactly %.9Lf", what, h, (unsigned long long)got, units);
}

static void compare(const problem *p, const surety_risks *r) {
    static naive e;
    naive_all(p, &e);
    assert_int_equal(r->m, p->m);
    assert_int_equal(r->wrong, e.wrong);
    assert_int_equal(r->tied, e.tied);
    assert_int_equal(r->max_wrong, e.max_wrong);
    assert_int_equal(r->max_tied, e.max_tied);
    assert_int_equal(r->prior_wrong, e.prior_wrong);
    assert_int_equal(r->prior_max_wrong, e.prior_max_wrong);
    upper("Rbar", r->rbar, e.rbar);
    upper("Abar", r->abar, e.abar);
    upper("Gmax", r->gmax, e.gmax);
    upper("TV", r->tv, e.tv);
    upper("tandem", r->tandem, e.tandem);
    for (size_t h = 0; h < p->H; h++) {
        sums_up("loss", h, r->loss[h], e.loss[h], p->m * p->n);
        sums_up("max_loss", h, r->max_loss[h], e.max_loss[h], p->m);
        sums_up("anchored_loss", h, r->anchored_loss[h], e.anchored_loss[h], p->m * p->n);
        sums_up("anchored_max", h, r->anchored_max[h], e.anchored_max[h], p->m);
        assert_int_equal(r->errors[h], e.errors[h]);
        assert_int_equal(r->anchored_errors[h], e.anchored_errors[h]);
    }
}

/* What docs/theory.md 4.1, 4.2 and 4.5 promise for every set of votes. */
static void promised(const problem *p, const surety_risks *r) {
    double slack = surety_vote_margin(p->H);
    check_that(r->averaged, <=, r->averaged_max);
    check_that(r->abar, <=, r->gmax);
    check_that(r->rbar, <=, r->abar);
    check_that(r->gmax, <=, r->abar + r->tv);
    check_that(r->averaged, <=, 2 * r->rbar + slack);
    check_that(r->averaged_max, <=, 2 * r->abar + slack);
    check_that(r->tandem, <=, r->rbar + 1e-9);
    check_that(r->averaged, <=, 4 * r->tandem + 2 * slack);
    if (p->n == 1) {
        check_that(r->tv_sum, ==, 0);
        check_that(r->wrong, ==, r->max_wrong);
        check_that(r->tied, ==, r->max_tied);
    }
}

static void agrees_with_the_naive_twin(void **state) {
    (void)state;
    draw s = {11};
    static problem p;
    for (long t = 0; t < check_count(200, 20000); t++) {
        draw_problem(&s, &p);
        surety_risks r;
        run(&p, &r);
        compare(&p, &r);
        promised(&p, &r);
        surety_risks_free(&r);
    }
}

/* Two examples, two perturbations, three voters, by hand. Q = (1/2, 1/4, 1/4), P uniform, real votes.
 *   i=0, y=+1: j=0 votes ( 1, -1, 1): vote 1/2, losses (0, 1, 0), e = 1/4
 *              j=1 votes (-1,  1, 1): vote 0 = tie, losses (1, 0, 0), e = 1/2
 *   i=1, y=-1: j=0 votes (-1, -1, 0): y vote 3/4, losses (0, 0, 1/2), e = 1/8
 *              j=1 votes (-1, -1, -1): y vote 1, losses 0, e = 0
 * TV: i=0: j=0 is worst for voters 1 and 2 (2 has a tie), misses Q(0) = 1/2; j=1 for 0 and 2, misses 1/4.
 * Best 1/4. i=1: j=0 is worst for all: 0. */
static void by_hand(void **state) {
    (void)state;
    static problem p = {.m = 2,
                        .n = 2,
                        .H = 3,
                        .y = {1, -1},
                        .q = {.5, .25, .25},
                        .p = {1. / 3, 1. / 3, 1. / 3},
                        .votes = {1, -1, 1, -1, 1, 1, -1, -1, 0, -1, -1, -1}};
    surety_risks r;
    run(&p, &r);
    check_that(r.wrong, ==, 0);
    check_that(r.tied, ==, 1);
    check_that(r.max_wrong, ==, 0);
    check_that(r.max_tied, ==, 1);
    check_that(r.averaged, ==, .25);
    check_that(r.averaged_max, ==, .5);
    near(r.rbar, (.25 + .5 + .125) / 4, 1e-14);
    near(r.abar, (.5 + .125) / 2, 1e-9);
    near(r.gmax, .5 * .5 + .25 * .5 + .25 * .25, 1e-14);
    near(r.tandem, (1. / 16 + 1. / 4 + 1. / 64) / 4, 1e-9);
    near(r.tv, .125, 1e-9);
    const uint64_t one = SURETY_LOSS_ONE;
    check_that(r.loss[0], ==, one);
    check_that(r.loss[1], ==, one);
    check_that(r.loss[2], ==, one / 2);
    check_that(r.max_loss[0], ==, one);
    check_that(r.max_loss[1], ==, one);
    check_that(r.max_loss[2], ==, one / 2);
    check_that(r.worst_loss[0], ==, one);
    check_that(r.worst_loss[1], ==, 0);
    check_that(r.worst_loss[2], ==, one / 2);
    check_that(r.errors[0], ==, 1);
    check_that(r.errors[1], ==, 1);
    check_that(r.errors[2], ==, 1);
    /* P's votes: 1/3, 1/3; y times: 2/3, 1: right everywhere, so nothing is left out. */
    check_that(r.prior_wrong, ==, 0);
    check_that(r.anchored_loss[0], ==, one);
    check_that(r.anchored_max[2], ==, one / 2);
    surety_risks_free(&r);
}

static surety_status add_block(void *arg, size_t i, int thread, surety_error *err) {
    void **args = arg;
    const problem *p = args[0];
    surety_risk **parts = args[1];
    return surety_risk_add(parts[thread], p->votes + i * p->n * p->H, p->H, p->y[i], err);
}

static void same_result(const surety_risks *a, const surety_risks *b) {
    assert_int_equal(a->wrong, b->wrong);
    assert_int_equal(a->abar_sum, b->abar_sum);
    assert_int_equal(a->tv_sum, b->tv_sum);
    assert_int_equal(a->tandem_sum, b->tandem_sum);
    assert_memory_equal(&a->averaged, &b->averaged, 7 * sizeof(double));
    assert_memory_equal(a->loss, b->loss, 7 * a->voter_count * sizeof *a->loss);
}

/* The same bits for any number of threads, any order of examples and any tree of merges. */
static void order_does_not_matter(void **state) {
    (void)state;
    draw s = {12};
    static problem p;
    for (long t = 0; t < check_count(30, 1000); t++) {
        draw_problem(&s, &p);
        surety_error err = SURETY_ERROR_NONE;
        surety_risk_settings settings = settings_of(&p);
        enum { PARTS = 5 };
        surety_risk *parts[PARTS], *threads[PARTS];
        for (int k = 0; k < PARTS; k++) {
            check_ok(surety_risk_new(&settings, &parts[k], &err));
            check_ok(surety_risk_new(&settings, &threads[k], &err));
        }
        uint32_t order[MAX_M];
        surety_address where = {0, (uint32_t)t, 0, 0, SURETY_FOR_ORDER};
        surety_random_order(5, &where, order, (uint32_t)p.m);
        for (size_t k = 0; k < p.m; k++)
            check_ok(surety_risk_add(parts[draw_size(&s, 0, PARTS - 1)], p.votes + order[k] * p.n * p.H, p.H,
                                     p.y[order[k]], &err));
        void *args[] = {&p, threads};
        surety_run run_with = {.threads = PARTS};
        check_ok(surety_parallel(&run_with, NULL, p.m, add_block, args, &err));
        for (int k = PARTS - 1; k > 0; k--) {
            check_ok(surety_risk_merge(parts[k / 2], parts[k], &err));
            check_ok(surety_risk_merge(threads[k - 1], threads[k], &err));
        }
        surety_risks plain, merged, parallel;
        run(&p, &plain);
        check_ok(surety_risk_result(parts[0], &merged, &err));
        check_ok(surety_risk_result(threads[0], &parallel, &err));
        same_result(&plain, &merged);
        same_result(&plain, &parallel);
        surety_risks_free(&plain), surety_risks_free(&merged), surety_risks_free(&parallel);
        for (int k = 0; k < PARTS; k++) surety_risk_free(parts[k]), surety_risk_free(threads[k]);
    }
}

/* float and double votes, any stride, reset: the same sums. */
static void ways_in_agree(void **state) {
    (void)state;
    draw s = {13};
    static problem p;
    static float wide[MAX_N * (MAX_H + 7)];
    static double doubles[MAX_N * MAX_H];
    for (long t = 0; t < check_count(20, 500); t++) {
        draw_problem(&s, &p);
        surety_error err = SURETY_ERROR_NONE;
        surety_risk_settings settings = settings_of(&p);
        surety_risk *a = NULL, *b = NULL;
        settings.posterior = p.p;
        check_ok(surety_risk_new(&settings, &a, &err));
        add_all(a, &p);
        check_ok(surety_risk_reset(a, p.q, &err));
        settings.posterior = p.q;
        check_ok(surety_risk_new(&settings, &b, &err));
        for (size_t i = 0; i < p.m; i++) {
            const float *votes = p.votes + i * p.n * p.H;
            for (size_t j = 0; j < p.n; j++)
                for (size_t h = 0; h < p.H; h++)
                    wide[j * (p.H + 7) + h] = votes[j * p.H + h],
                                         doubles[j * p.H + h] = (double)votes[j * p.H + h];
            check_ok(surety_risk_add(a, wide, p.H + 7, p.y[i], &err));
            check_ok(surety_risk_add_double(b, doubles, p.H, p.y[i], &err));
        }
        surety_risks plain, x, z;
        run(&p, &plain);
        check_ok(surety_risk_result(a, &x, &err));
        check_ok(surety_risk_result(b, &z, &err));
        same_result(&plain, &x);
        same_result(&plain, &z);
        surety_risks_free(&plain), surety_risks_free(&x), surety_risks_free(&z);
        surety_risk_free(a), surety_risk_free(b);
    }
}

/* More perturbations of the same examples can only raise A, Abar and Gmax. */
static void grows_with_nested_samples(void **state) {
    (void)state;
    draw s = {14};
    static problem p, less;
    for (long t = 0; t < check_count(50, 2000); t++) {
        draw_problem(&s, &p);
        surety_risks before = {0}, now;
        for (size_t n = 1; n <= p.n; n++) {
            less = p;
            less.n = n;
            for (size_t i = 0; i < p.m; i++)
                memcpy(less.votes + i * n * p.H, p.votes + i * p.n * p.H, n * p.H * sizeof *p.votes);
            run(&less, &now);
            check_that(now.averaged_max, >=, before.averaged_max);
            check_that(now.abar_sum, >=, before.abar_sum);
            check_that(now.gmax, >=, before.gmax);
            surety_risks_free(&before);
            before = now;
        }
        surety_risks_free(&before);
    }
}

/* Central differences in theta. Rbar and Gmax come from the sums; Abar needs a fresh accumulator for every Q,
 * and its units of 2^-32 limit how small a step may be. */
static void gradients_by_differences(void **state) {
    (void)state;
    draw s = {15};
    static problem p, moved;
    for (long t = 0; t < check_count(20, 300); t++) {
        do draw_problem(&s, &p);
        while (p.H < 2);
        for (size_t k = 0; k < p.m * p.n * p.H; k++) p.votes[k] = (float)(2 * uniform(&s) - 1);
        p.signed_votes = 0;
        double theta[MAX_H], up[MAX_H], down[MAX_H], gradient[MAX_H];
        for (size_t h = 0; h < p.H; h++) theta[h] = 2 * uniform(&s);
        surety_simplex_softmax(theta, p.H, p.q);
        surety_risks r, r_up, r_down;
        run(&p, &r);
        for (int which = SURETY_RBAR; which <= SURETY_GMAX; which++) {
            surety_risks_gradient(&r, (surety_surrogate)which, p.q, gradient);
            for (size_t h = 0; h < p.H; h += 1 + p.H / 5) {
                const double step = 1e-4, kept = theta[h];
                theta[h] = kept + step, surety_simplex_softmax(theta, p.H, up);
                theta[h] = kept - step, surety_simplex_softmax(theta, p.H, down);
                theta[h] = kept;
                const double *means = which == SURETY_RBAR ? r.mean_loss : r.mean_max_loss;
                double a, b;
                surety_error err = SURETY_ERROR_NONE;
                check_ok(surety_posterior_mean(up, means, p.H, &a, &err));
                check_ok(surety_posterior_mean(down, means, p.H, &b, &err));
                if (which == SURETY_ABAR) {
                    moved = p, memcpy(moved.q, up, sizeof up), run(&moved, &r_up);
                    moved = p, memcpy(moved.q, down, sizeof down), run(&moved, &r_down);
                    a = r_up.abar, b = r_down.abar;
                    surety_risks_free(&r_up), surety_risks_free(&r_down);
                }
                double slack = which == SURETY_ABAR ? 1e-5 + .02 / (double)p.m : 1e-8;
                check(fabs((a - b) / (2 * step) - gradient[h]) < slack,
                      "surrogate %d, voter %zu: %g against %g", which, h, (a - b) / (2 * step), gradient[h]);
            }
        }
        surety_risks_free(&r);
    }
}

/* One voter with weight 1 - 1e-16, weights that are denormal, one voter alone. */
static void extreme_weights(void **state) {
    (void)state;
    draw s = {16};
    static problem p;
    const double tiny[] = {0x1p-53, 1e-300, 0x1p-1074, 0};
    for (long t = 0; t < check_count(100, 4000); t++) {
        draw_problem(&s, &p);
        for (size_t h = 0; h < p.H; h++) p.q[h] = h == 0 ? 1 : tiny[t % 4] / (double)(p.H - 1);
        if (t % 4 == 0 && p.H > 1) p.q[0] = 1 - 0x1p-53;
        /* the heavy voter is always right: all that is left comes from the light ones */
        if (t % 3 == 0)
            for (size_t k = 0; k < p.m * p.n; k++) p.votes[k * p.H] = (float)p.y[k / p.n];
        surety_risks r;
        run(&p, &r);
        compare(&p, &r);
        promised(&p, &r);
        double gradient[MAX_H];
        surety_risks_gradient(&r, SURETY_RBAR, p.q, gradient);
        for (size_t h = 0; h < p.H; h++) check_is(isfinite, gradient[h]);
        surety_risks_free(&r);
    }
}

static void expect_refusal(surety_status got, const surety_error *err, surety_status code,
                           const char *place) {
    assert_int_equal(got, code);
    assert_string_equal(err->place, place);
}

static void refusals(void **state) {
    (void)state;
    static problem p = {.m = 1, .n = 2, .H = 3, .y = {1}, .q = {.5, .25, .25}, .p = {.5, .25, .25}};
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *a = NULL, *b = NULL;
    surety_risk_settings s = settings_of(&p);
    check_ok(surety_risk_new(&s, &a, &err));
    const float bad[] = {NAN, INFINITY, -INFINITY, 1.0000001f, -2};
    for (int k = 0; k < 5; k++) {
        p.votes[4] = bad[k];
        err = (surety_error)SURETY_ERROR_NONE;
        expect_refusal(surety_risk_add(a, p.votes, 3, 1, &err), &err, SURETY_E_INPUT,
                       "perturbation 1, voter 1");
        check_contains(err.what, k ? k == 4 ? "a vote is -2" : "a vote is" : "a vote is nan");
    }
    p.votes[4] = 1;
    err = (surety_error)SURETY_ERROR_NONE;
    expect_refusal(surety_risk_add(a, p.votes, 3, 0, &err), &err, SURETY_E_INPUT, "");
    surety_risks r;
    assert_int_equal(surety_risk_result(a, &r, &err), SURETY_E_USAGE); /* nothing was added */
    double wrong_sum[] = {.5, .25, .2499}, negative[] = {1.25, -.25, 0}, not_a_number[] = {.5, .5, NAN};
    err = (surety_error)SURETY_ERROR_NONE;
    expect_refusal(surety_risk_reset(a, wrong_sum, &err), &err, SURETY_E_INPUT, "");
    err = (surety_error)SURETY_ERROR_NONE;
    expect_refusal(surety_risk_reset(a, negative, &err), &err, SURETY_E_INPUT, "voter 1");
    err = (surety_error)SURETY_ERROR_NONE;
    s.prior = not_a_number;
    expect_refusal(surety_risk_new(&s, &b, &err), &err, SURETY_E_INPUT, "voter 2");
    assert_null(b);
    s.prior = NULL;
    check_ok(surety_risk_new(&s, &b, &err));
    assert_int_equal(surety_risk_merge(a, b, &err), SURETY_E_USAGE);
    surety_risk_free(a), surety_risk_free(b);
    s.samples = 0;
    assert_int_equal(surety_risk_new(&s, &a, &err), SURETY_E_USAGE);
    s.samples = (size_t)SURETY_RISK_SAMPLES + 1;
    assert_int_equal(surety_risk_new(&s, &a, &err), SURETY_E_USAGE);
}

/* Another process has counted the same; integers wrap as MPI lets them. */
static surety_status twice(void *arg, int64_t *values, size_t count, surety_error *err) {
    (void)arg, (void)err;
    for (size_t i = 0; i < count; i++) values[i] = (int64_t)(2 * (uint64_t)values[i]);
    return SURETY_OK;
}

/* Sums cannot overflow: the accumulator stops before they could. Doubling it reaches the limit quickly. */
static void stops_before_overflow(void **state) {
    (void)state;
    static problem p = {.m = 1, .n = 1, .H = 1, .y = {1}, .q = {1}, .votes = {-1}};
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *a = NULL;
    surety_risk_settings s = settings_of(&p);
    s.prior = NULL;
    check_ok(surety_risk_new(&s, &a, &err));
    add_all(a, &p);
    for (int k = 0; k < 30; k++) check_ok(surety_risk_merge(a, a, &err));
    assert_int_equal(surety_risk_merge(a, a, &err), SURETY_E_INPUT);
    surety_risks r;
    check_ok(surety_risk_result(a, &r, &err));
    check_that(r.m, ==, UINT64_C(1) << 30);
    check_that(r.rbar, ==, 1);
    check_that(r.averaged, ==, 1);
    check_that(r.loss[0], ==, UINT64_C(1) << 62);
    surety_risks_free(&r);
    /* Nor are processes summed that count too many together. */
    const surety_everyone two = {.size = 2, .sum = twice};
    const surety_run run = {.everyone = &two};
    assert_int_equal(surety_risk_gather(a, &run, &err), SURETY_E_INPUT);
    surety_risk_free(a);
}

/* The vote's margin covers (H + 1) u twice and the rounding of its own addition to a value below 4. */
static void margins_cover_the_roundings(void **state) {
    (void)state;
    check_that(surety_vote_margin(1), ==, 0);
    for (size_t H = 2; H < 2000; H++)
        check(surety_vote_margin(H) >= ((double)H + 2) * 0x1p-52, "margin of %zu voters", H);
}

/* Of units only the failures are known: every other sum is as large as it can be, and every class is that of
 * the rows. */
static void units_know_their_failures_only(void **state) {
    (void)state;
    enum { UNITS = 4 };
    static problem p = {.m = 2, .n = 3, .H = 2, .y = {1, -1}, .q = {.25, .75}, .p = {.5, .5}};
    static const uint8_t verdicts[UNITS] = {SURETY_VERDICT_WRONG | SURETY_VERDICT_TIED, SURETY_VERDICT_TIED,
                                            SURETY_VERDICT_PRIOR, 0};
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *a = NULL;
    surety_risk_settings s = settings_of(&p);
    check_ok(surety_risk_new(&s, &a, &err));
    add_all(a, &p);
    surety_risks r;
    check_ok(surety_risks_of_units(&r, verdicts, UNITS, a, &err));
    check_that(r.m, ==, UNITS);
    check_that(r.max_wrong, ==, 1);
    check_that(r.max_tied, ==, 1);
    check_that(r.prior_max_wrong, ==, 1);
    check_that(r.wrong, ==, UNITS * 3);
    check_that(r.prior_wrong, ==, UNITS * 3);
    check_that(r.prior_coins, ==, UNITS);
    check_that(r.rbar, ==, 1);
    check_that(r.abar, ==, 1);
    check_that(r.gmax, ==, 1);
    check_that(r.tv, ==, 1);
    check_that(r.tandem, ==, 1);
    const uint64_t one = UNITS * SURETY_LOSS_ONE;
    for (size_t h = 0; h < 2; h++) {
        check_that(r.loss[h], ==, 3 * one);
        check_that(r.anchored_loss[h], ==, 3 * one);
        check_that(r.max_loss[h], ==, one);
        check_that(r.anchored_max[h], ==, one);
        check_that(r.errors[h], ==, UNITS);
        check_that(r.anchored_errors[h], ==, UNITS);
    }
    surety_risks_free(&r);
    surety_risk_free(a);
}

/* What the bounds are given: counts where an example is right or wrong as a whole, else means. */
static void evidence_is_what_was_counted(void **state) {
    (void)state;
    static problem p = {.m = 2,
                        .n = 2,
                        .H = 2,
                        .signed_votes = 1,
                        .y = {1, 1},
                        .q = {.25, .75},
                        .p = {.5, .5},
                        .votes = {1, 1, 1, -1, -1, -1, -1, -1}};
    surety_risks r;
    surety_evidence all, most;
    run(&p, &r);
    check_that(r.prior_wrong, ==, 3);
    check_that(r.prior_max_wrong, ==, 2);
    surety_risks_evidence(&r, SURETY_RISK_AVERAGED, &all);
    surety_risks_evidence(&r, SURETY_RISK_AVERAGED_MAX, &most);
    check_that(all.gibbs, ==, r.rbar);
    check_that(most.gibbs, ==, r.gmax);
    assert_ptr_equal(all.loss, r.mean_loss);
    assert_ptr_equal(most.loss, r.mean_max_loss);
    assert_true(!all.loss_sum);
    assert_ptr_equal(most.loss_sum, r.errors);
    assert_true(!all.kept_sum);
    assert_ptr_equal(most.kept_sum, r.anchored_errors);
    assert_ptr_equal(all.kept, r.mean_anchored_loss);
    assert_ptr_equal(most.kept, r.mean_anchored_max);
    check_that(all.prior_risk, ==, .75);
    check_that(most.prior_risk, ==, 1);
    check_that(all.prior_wrong, ==, SURETY_ABSENT);
    check_that(all.prior_coins, ==, SURETY_ABSENT);
    check_that(most.prior_wrong, ==, 2);
    r.n = 1; /* one vote is the whole example */
    surety_risks_evidence(&r, SURETY_RISK_AVERAGED, &all);
    assert_ptr_equal(all.loss_sum, r.errors);
    assert_ptr_equal(all.kept_sum, r.anchored_errors);
    check_that(all.prior_wrong, ==, 2);
    surety_risks_free(&r);
}

/* Means of several votes: e^(-m kl(q||p)), not below it where the exponent is large. */
static void refuted_by_means(void **state) {
    (void)state;
    surety_risks t = {.m = 1200, .n = 4, .wrong = 2000, .tied = 400};
    surety_refutation r = surety_risks_refute(&t, SURETY_RISK_AVERAGED, .1);
    long double p = .1, exact = -1200 * (logl(.5L / p) + logl(.5L / (1 - p))) / 2;
    check_that(r.m, ==, 4800);
    check_that(r.failed, ==, 2400);
    check_that(logl((long double)r.chance), >, exact);
    check_that(logl((long double)r.chance), <, exact + 1e-9L);
    assert_true(r.refuted);
    t.wrong = 80;
    r = surety_risks_refute(&t, SURETY_RISK_AVERAGED, .1);
    check_that(r.chance, ==, 1);
}

/* Without examples, or against a limit of 1, nothing is refuted. */
static void nothing_refutes_nothing(void **state) {
    (void)state;
    surety_risks none = {0}, all = {.m = 10, .n = 1, .max_wrong = 10};
    surety_refutation r = surety_risks_refute(&none, SURETY_RISK_AVERAGED_MAX, .1);
    assert_true(!r.refuted);
    check_that(r.chance, ==, 1);
    r = surety_risks_refute(&all, SURETY_RISK_AVERAGED_MAX, 1);
    assert_true(!r.refuted);
    check_that(r.chance, ==, 1);
    r = surety_risks_refute(&all, SURETY_RISK_AVERAGED_MAX, .1);
    assert_true(r.refuted);
    check_that(r.chance, >=, 1e-10);
    check_that(r.chance, <, 1.001e-10);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static problem p = {.m = 1, .n = 2, .H = 3, .y = {1}, .q = {.5, .25, .25}, .p = {.5, .25, .25}};
    surety_risk_settings s = settings_of(&p);
    surety_status status = SURETY_E_MEMORY;
    for (int k = 0; status != SURETY_OK; k++) {
        long left = k;
        surety_error err = SURETY_ERROR_NONE;
        surety_risk *a = NULL;
        surety_risks r = {0};
        surety_memory_hook(check_fail_at, &left);
        status = surety_risk_new(&s, &a, &err);
        if (status == SURETY_OK) status = surety_risk_add(a, p.votes, 3, 1, &err);
        if (status == SURETY_OK) status = surety_risk_result(a, &r, &err);
        surety_memory_hook(NULL, NULL);
        if (status != SURETY_OK) assert_int_equal(status, SURETY_E_MEMORY);
        surety_risks_free(&r);
        surety_risk_free(a);
        check_that(k, <, 50);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(agrees_with_the_naive_twin),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(ways_in_agree),
        cmocka_unit_test(grows_with_nested_samples),
        cmocka_unit_test(gradients_by_differences),
        cmocka_unit_test(extreme_weights),
        cmocka_unit_test(refusals),
        cmocka_unit_test(stops_before_overflow),
        cmocka_unit_test(margins_cover_the_roundings),
        cmocka_unit_test(units_know_their_failures_only),
        cmocka_unit_test(evidence_is_what_was_counted),
        cmocka_unit_test(refuted_by_means),
        cmocka_unit_test(nothing_refutes_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("risk", tests, NULL, NULL);
}
