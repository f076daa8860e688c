/* What follows from a limit, and the monitor: against plain scans, closed forms in MPFR and simulations with
 * known truth, each with mutants that must fail. */
#include "check.h"

#include <math.h>
#include <mpfr.h>

#include "draw.h"
#include "surety/bound.h"

static void ranks_are_the_largest(void **state) {
    (void)state;
    draw d = {7};
    for (int i = 0; i < 300; i++) {
        uint64_t m = draw_size(&d, 1, 400), k = 99, scan = 0;
        double promise = draw_real(&d, 0.001, 1.05), delta = draw_real(&d, 0.001, 0.6);
        int there = surety_radius_rank(promise, m, delta, &k);
        int wanted = promise < 1 && surety_binomial_limit(0, m, delta) <= promise;
        while (wanted && scan + 1 < m && surety_binomial_limit(scan + 1, m, delta) <= promise) scan++;
        check(there == wanted && (!there || k == scan), "m %g, promise %g, delta %g: %d %g, scanned %d %g",
              (double)m, promise, delta, there, (double)k, wanted, (double)scan);
    }
}

/* kl(p||r) - k in 200 bits. */
static double kl_excess(double p, double r, double k) {
    mpfr_t a, b, c;
    mpfr_inits2(200, a, b, c, (mpfr_ptr)0);
    mpfr_set_d(a, p, MPFR_RNDN);
    mpfr_div_d(a, a, r, MPFR_RNDN);
    mpfr_log(a, a, MPFR_RNDN);
    mpfr_mul_d(a, a, p, MPFR_RNDN);
    mpfr_set_d(b, p, MPFR_RNDN);
    mpfr_ui_sub(b, 1, b, MPFR_RNDN);
    mpfr_set_d(c, r, MPFR_RNDN);
    mpfr_ui_sub(c, 1, c, MPFR_RNDN);
    mpfr_div(c, b, c, MPFR_RNDN);
    if (mpfr_sgn(b) > 0) {
        mpfr_log(c, c, MPFR_RNDN);
        mpfr_mul(b, b, c, MPFR_RNDN);
        mpfr_add(a, a, b, MPFR_RNDN);
    }
    mpfr_sub_d(a, a, k, MPFR_RNDN);
    double out = mpfr_get_d(a, MPFR_RNDN);
    mpfr_clears(a, b, c, (mpfr_ptr)0);
    return out;
}

static void shifts_are_safe_and_tight(void **state) {
    (void)state;
    draw d = {11};
    for (int i = 0; i < 2000; i++) {
        double r = pow(10, draw_real(&d, -6, 0)), x = pow(10, draw_real(&d, -6, 1));
        double kl = surety_shift_limit(SURETY_SHIFT_KL, x, r),
               chi2 = surety_shift_limit(SURETY_SHIFT_CHI2, x, r);
        double tv = surety_shift_limit(SURETY_SHIFT_TV, x, r);
        check(kl == 1 || kl_excess(kl, r, x) >= 0, "kl: r %g, budget %g: %.17g", r, x, kl);
        check(kl <= r * (1 + 1e-5) || kl_excess(kl * (1 - 1e-9), r, x) <= 0,
              "kl is loose: r %g, budget %g: %.17g", r, x, kl);
        long double exact = (long double)r + sqrtl((long double)x * r * (1 - (long double)r));
        check(chi2 == 1 || ((long double)chi2 >= exact && chi2 <= (double)exact * (1 + 1e-14)),
              "chi2: r %g, budget %g", r, x);
        check(tv == 1 || (tv >= r + x && tv <= (r + x) * (1 + 1e-15)), "tv: r %g, budget %g", r, x);
        check(fabs(surety_shift_limit(SURETY_SHIFT_RATIO, 1 + x, r) - fmin(1, (1 + x) * r)) <= 1e-15,
              "ratio");
    }
    check_that(surety_shift_limit(SURETY_SHIFT_KL, log(1 / 0.02) + 1e-9, 0.02), ==, 1);
    check_that(surety_shift_limit(SURETY_SHIFT_KL, 0, 0.02), >=, 0.02);
    check_that(surety_shift_limit(SURETY_SHIFT_KL, 0.3, 0), ==, 0);
    check_that(surety_shift_limit(SURETY_SHIFT_TV, 0.1, 3), ==, 1);
    check_is(isnan, surety_shift_limit(SURETY_SHIFT_RATIO, 0.9, 0.1));
    check_is(isnan, surety_shift_limit(SURETY_SHIFT_TV, -0.1, 0.1));
}

/* A law for which each shift is reached: inputs that fail, of weight r, become heavier. */
static void shifts_are_reached(void **state) {
    (void)state;
    double r = 0.03, p = 0.05; /* the weight of failures under the new law */
    double tv = p - r, chi2 = (p - r) * (p - r) / r + (p - r) * (p - r) / (1 - r);
    check(fabs(surety_shift_limit(SURETY_SHIFT_TV, tv, r) - p) < 1e-12, "tv");
    check(fabs(surety_shift_limit(SURETY_SHIFT_KL, surety_kl(p, r), r) - p) < 1e-9, "kl");
    check(fabs(surety_shift_limit(SURETY_SHIFT_CHI2, chi2, r) - p) < 1e-12, "chi2");
    check(fabs(surety_shift_limit(SURETY_SHIFT_RATIO, p / r, r) - p) < 1e-12, "ratio");
}

/* Flips that are drawn as the name says turn a risk R into R (1 - eta K/(K-1)) + eta. */
static void label_noise(void **state) {
    (void)state;
    for (size_t K = 2; K <= 10; K += 4) {
        double R = 0.04, eta = 0.1, noisy = R * (1 - eta * (double)K / ((double)K - 1)) + eta;
        check(fabs(surety_label_noise_limit(SURETY_NOISE_FLIPS, eta, noisy, K) - R) < 1e-12, "K = %zu", K);
        double right = R * (1 - eta) + R * eta * ((double)K - 2) / ((double)K - 1) + (1 - R) * eta;
        check(fabs(right - noisy) < 1e-15, "the law itself, K = %zu: %g %g", K, right, noisy);
    }
    check_is(isnan, surety_label_noise_limit(SURETY_NOISE_FLIPS, 0.1, 0.05, 2)); /* below the noise */
    check_is(isnan, surety_label_noise_limit(SURETY_NOISE_FLIPS, 0.5, 0.7, 2));
    check_that(surety_label_noise_limit(SURETY_NOISE_FLIPS, 0.1, 0.55, 2), ==, 1); /* more flips, more risk */
    for (double more = 0.1; more < 0.45; more += 0.05) { /* "at least": more flips mean less risk */
        double noisy = 0.2 * (1 - 2 * more) + more;
        check(surety_label_noise_limit(SURETY_NOISE_FLIPS, 0.1, noisy, 2) >= 0.2 - 1e-15, "flips %g", more);
    }
    /* Why more than half may not be flipped: all wrong, nine of ten flipped, and the noisy risk is 0.1. */
    check_that(surety_label_noise_limit(SURETY_NOISE_FLIPS, 0.05, 1 * (1 - 0.9), 2), <, 1);
    /* Why the rate must be the same for both classes: class 0 always right, class 1 (a fifth) always wrong,
     * flipped at 0.1 and 0.4: noisy 0.2, and the formula would give less than the true 0.2. */
    double noisy = 0.8 * 0.1 + 0.2 * (1 - 0.4);
    check_that(surety_label_noise_limit(SURETY_NOISE_FLIPS, 0.1, noisy, 2), <, 0.2);
    check_that(surety_label_noise_limit(SURETY_NOISE_PAIRS, 0.1, 0.05, 2), >=, 0.15);
    check_that(surety_label_noise_limit(SURETY_NOISE_PAIRS, 0.1, 0.95, 2), ==, 1);
    check_that(surety_label_noise_limit(SURETY_NOISE_PAIRS, 0, 0.05, 2), ==, 0.05);
    check_that(surety_label_noise_limit(SURETY_NOISE_PAIRS, 0.05, 0, 2), ==, 0.05);
    check_is(isnan, surety_label_noise_limit(SURETY_NOISE_PAIRS, -0.1, 0.05, 2));
    assert_int_equal(surety_label_noise_rows(0.01, 1001), 11);
    assert_int_equal(surety_label_noise_rows(0.01, 1000), 10);
    assert_int_equal(surety_label_noise_rows(0, 1000), 0);
}

/* Names are found again, and others refused; "none" is no choice. */
static void names(void **state) {
    (void)state;
    for (int i = SURETY_NOISE_FLIPS; i <= SURETY_NOISE_ROWS; i++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_label_noise noise = SURETY_NOISE_NONE;
        check_ok(surety_label_noise_parse(surety_label_noise_name((surety_label_noise)i), &noise, &err));
        assert_int_equal(noise, i);
    }
    for (int i = SURETY_SHIFT_TV; i <= SURETY_SHIFT_RATIO; i++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_shift shift = SURETY_SHIFT_NONE;
        check_ok(surety_shift_parse(surety_shift_name((surety_shift)i), &shift, &err));
        assert_int_equal(shift, i);
    }
    const char *const others[] = {"none", "", "flip", "tvv"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_label_noise noise = SURETY_NOISE_NONE;
        surety_shift shift = SURETY_SHIFT_NONE;
        assert_int_equal(surety_label_noise_parse(others[i], &noise, &err), SURETY_E_USAGE);
        assert_int_equal(surety_shift_parse(others[i], &shift, &err), SURETY_E_USAGE);
        check_that(noise, ==, SURETY_NOISE_NONE);
        check_that(shift, ==, SURETY_SHIFT_NONE);
    }
}

/* The mean likelihood ratio, factor by factor as the theory writes it. */
static double evidence(double r, uint64_t k, uint64_t t) {
    double sum = 0;
    for (int j = 1; j <= 32; j++) {
        double odds = r / (1 - r) * exp(j / 4.0), q = odds / (1 + odds);
        sum += pow(q / r, (double)k) * pow((1 - q) / (1 - r), (double)(t - k)) / 32;
    }
    return log(sum);
}

static void evidence_is_the_mixture(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    draw d = {3};
    for (int i = 0; i < 1000; i++) {
        surety_monitor m;
        double r = draw_real(&d, 0.001, 0.9);
        check_ok(surety_monitor_start(r, 0.05, &m, &err));
        m.seen = draw_size(&d, 1, 60), m.failed = draw_size(&d, 0, m.seen);
        double is = surety_monitor_evidence(&m), must = evidence(r, m.failed, m.seen);
        check(fabs(is - must) < 1e-8 * (1 + fabs(must)), "r %g, %g of %g: %g, not %g", r, (double)m.failed,
              (double)m.seen, is, must);
    }
}

/* Shares of runs in which the promise was refuted, and in which the limit was ever below the true risk. */
typedef struct runs {
    double alarms, wrong;
} runs;

static runs simulate(double risk, double promise, double alpha, long count, uint64_t seed) {
    surety_error err = SURETY_ERROR_NONE;
    draw d = {seed};
    runs out = {0, 0};
    for (long i = 0; i < count; i++) {
        surety_monitor m;
        int wrong = 0;
        check_ok(surety_monitor_start(promise, alpha, &m, &err));
        for (int t = 1; t <= 1000; t++) {
            surety_monitor_add(&m, draw_real(&d, 0, 1) < risk);
            if (t % 50 == 0) wrong |= surety_monitor_limit(&m) < risk;
        }
        out.alarms += (m.alarm > 0) / (double)count, out.wrong += wrong / (double)count;
    }
    return out;
}

static void false_alarms_are_rare_and_true_ones_come(void **state) {
    (void)state;
    long count = check_count(400, 10000);
    double alpha = 0.1, spread = 3 * sqrt(alpha * (1 - alpha) / (double)count);
    for (double risk = 0.02; risk < 0.5; risk *= 3) {
        runs true_promise = simulate(risk, risk, alpha, count, 1),
             broken = simulate(fmin(1, 2 * risk), risk, alpha, count, 2);
        check(true_promise.alarms <= alpha + spread, "risk %g: %g alarms", risk, true_promise.alarms);
        check(true_promise.wrong <= alpha + spread, "risk %g: the limit is wrong in %g", risk,
              true_promise.wrong);
        check(broken.alarms > 0.8 || risk < 0.03, "risk %g: only %g alarms", risk, broken.alarms);
        /* mutant: a promise that is a half too small must be refuted more often than alpha allows */
        check(simulate(risk, risk / 2, alpha, count, 3).alarms > alpha + spread, "the mutant passes at %g",
              risk);
    }
}

static void edges(void **state) {
    (void)state;
    surety_error none = SURETY_ERROR_NONE, err = none;
    surety_monitor m;
    assert_int_equal(surety_monitor_start(-1, 0.05, &m, &err), SURETY_E_USAGE);
    err = none;
    assert_int_equal(surety_monitor_start(0.1, 1, &m, &err), SURETY_E_USAGE);
    err = none;
    check_ok(surety_monitor_start(1.3, 0.05, &m, &err)); /* promises nothing */
    for (int i = 0; i < 10000; i++) assert_int_equal(surety_monitor_add(&m, 1), 0);
    check_that(surety_monitor_limit(&m), ==, 1);
    check_ok(surety_monitor_start(0, 0.05, &m, &err));
    check_that(surety_monitor_limit(&m), ==, 1);
    assert_int_equal(surety_monitor_add(&m, 0), 0);
    assert_int_equal(surety_monitor_add(&m, 1), 1);
    assert_int_equal(surety_monitor_add(&m, 0), 1); /* an alarm stays */
    assert_int_equal(m.alarm, 2);
    m.seen = SURETY_M_LIMIT; /* no more are counted */
    assert_int_equal(surety_monitor_add(&m, 1), 1);
    check_that(m.seen, ==, SURETY_M_LIMIT);
    check_that(m.failed, ==, 1);
    check_ok(surety_monitor_start(0, 0.05, &m, &err));
    m.seen = SURETY_M_LIMIT;
    assert_int_equal(surety_monitor_add(&m, 1), 0);
    check_that(m.failed, ==, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_the_largest),
        cmocka_unit_test(shifts_are_safe_and_tight),
        cmocka_unit_test(shifts_are_reached),
        cmocka_unit_test(label_noise),
        cmocka_unit_test(names),
        cmocka_unit_test(evidence_is_the_mixture),
        cmocka_unit_test(false_alarms_are_rare_and_true_ones_come),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
