/* The exact binomial limit against MPFR: safe (the tail at the returned p is at most delta) and tight (at p
 * lowered by 1e-12 it is more), with the tail summed in 400 bits from its first term. */
#include "check.h"

#include <inttypes.h>
#include <mpfr.h>

#include "bound/binomial.h"
#include "draw.h"
#include "points.h"

enum { BITS = 400 };

/* P[Bin(m,p) >= r] if up, else P[Bin(m,p) <= r]: terms from r outward, by their ratio, until they vanish.
 * Only for r on the far side of the mean, where they fall. */
static void exact_tail(mpfr_t out, uint64_t r, uint64_t m, const mpfr_t p, int up) {
    mpfr_t t, odds, a, q;
    mpfr_inits2(BITS, t, odds, a, q, (mpfr_ptr)0);
    mpfr_ui_sub(q, 1, p, MPFR_RNDN);
    mpfr_div(odds, p, q, MPFR_RNDN);
    mpfr_set_ui(t, m + 1, MPFR_RNDN);
    mpfr_lngamma(t, t, MPFR_RNDN);
    mpfr_set_ui(a, r + 1, MPFR_RNDN);
    mpfr_lngamma(a, a, MPFR_RNDN);
    mpfr_sub(t, t, a, MPFR_RNDN);
    mpfr_set_ui(a, m - r + 1, MPFR_RNDN);
    mpfr_lngamma(a, a, MPFR_RNDN);
    mpfr_sub(t, t, a, MPFR_RNDN);
    mpfr_log(a, p, MPFR_RNDN);
    mpfr_mul_ui(a, a, r, MPFR_RNDN);
    mpfr_add(t, t, a, MPFR_RNDN);
    mpfr_log(a, q, MPFR_RNDN);
    mpfr_mul_ui(a, a, m - r, MPFR_RNDN);
    mpfr_add(t, t, a, MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDN);
    mpfr_set(out, t, MPFR_RNDN);
    for (uint64_t j = r; up ? j < m : j > 0; j += up ? 1 : -UINT64_C(1)) {
        mpfr_mul_ui(t, t, up ? m - j : j, MPFR_RNDN);
        mpfr_div_ui(t, t, up ? j + 1 : m - j + 1, MPFR_RNDN);
        (up ? mpfr_mul : mpfr_div)(t, t, odds, MPFR_RNDN);
        mpfr_add(out, out, t, MPFR_RNDN);
        if (mpfr_get_exp(t) < mpfr_get_exp(out) - 200) break;
    }
    mpfr_clears(t, odds, a, q, (mpfr_ptr)0);
}

/* 1 if P[Bin(m,p) <= k] <= delta, decided in MPFR on whichever tail falls from k. */
static int holds(uint64_t k, uint64_t m, const mpfr_t p, const mpfr_t delta) {
    mpfr_t tail;
    mpfr_init2(tail, BITS);
    int up = mpfr_cmp_d(delta, 0.5) > 0, yes;
    exact_tail(tail, up ? k + 1 : k, m, p, up);
    if (up) mpfr_ui_sub(tail, 1, tail, MPFR_RNDN);
    yes = mpfr_cmp(tail, delta) <= 0;
    mpfr_clear(tail);
    return yes;
}

static void check_both(uint64_t k, uint64_t m, const mpfr_t delta, double limit) {
    mpfr_t p;
    mpfr_init2(p, BITS);
    mpfr_set_d(p, limit, MPFR_RNDN);
    check(limit > 0 && limit <= 1, "k %" PRIu64 " m %" PRIu64 ": %a", k, m, limit);
    if (limit < 1)
        check(holds(k, m, p, delta), "k %" PRIu64 " m %" PRIu64 " delta %g: %a is too small", k, m,
              mpfr_get_d(delta, MPFR_RNDN), limit);
    mpfr_div_d(p, p, 1 + 1e-12, MPFR_RNDN);
    if (k < m)
        check(!holds(k, m, p, delta), "k %" PRIu64 " m %" PRIu64 " delta %g: %a is too large", k, m,
              mpfr_get_d(delta, MPFR_RNDN), limit);
    mpfr_clear(p);
}

/* At delta as a double, and at e^-C as the bounds ask for it: there nothing but the limit's own margin is on
 * the safe side. */
static void check_limit(uint64_t k, uint64_t m, double delta) {
    mpfr_t exact;
    mpfr_init2(exact, BITS);
    mpfr_set_d(exact, delta, MPFR_RNDN);
    check_both(k, m, exact, surety_binomial_limit(k, m, delta));
    double C = -log(delta);
    mpfr_set_d(exact, -C, MPFR_RNDN);
    mpfr_exp(exact, exact, MPFR_RNDN);
    check_both(k, m, exact, surety_binomial_limit_log(k, m, C));
    mpfr_clear(exact);
}

static const double deltas[] = {0.05,          0.01,   0.05 / 20, 0.05 / 500, 1e-6,       1e-15,
                                1e-100,        1e-300, 0x1p-1074, 0.25,       0.5,        0.5 - 0x1p-54,
                                0.5 + 0x1p-53, 0.75,   0.95,      0.999999,   1 - 0x1p-53};

static void small_m_all_k(void **state) {
    (void)state;
    for (uint64_t m = 1; m <= (uint64_t)check_count(12, 60); m++)
        for (uint64_t k = 0; k <= m; k++)
            for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) check_limit(k, m, deltas[i]);
}

static void large_m_edges(void **state) {
    (void)state;
    const uint64_t ms[] = {2500, 5000, 1000000, 10000000};
    for (size_t i = 0; i < (size_t)check_count(2, 4); i++) {
        uint64_t m = ms[i];
        const uint64_t ks[] = {0, 1, 2, 15, 16, 17, m / 1000, m / 2, m - 17, m - 16, m - 3, m - 2, m - 1, m};
        for (size_t j = 0; j < sizeof ks / sizeof *ks; j++)
            for (size_t l = 0; l < sizeof deltas / sizeof *deltas; l++) check_limit(ks[j], m, deltas[l]);
    }
    check_limit(5000000, 10000000, 0.05);
    check_limit(9999998, 10000000, 1e-300);
}

static void random_points(void **state) {
    (void)state;
    for (long i = 0; i < check_count(60, 3000); i++) {
        uint32_t s = (uint32_t)i;
        uint64_t m = (uint64_t)point_log_uniform(21, s, 2, i % 10 ? 1e5 : 1e7);
        double share = i % 2 ? point_uniform(22, s) : point_log_uniform(22, s, 1 / (double)m, 1);
        double delta = i % 3 ? point_log_uniform(23, s, 1e-300, 1) : point_uniform(23, s);
        check_limit((uint64_t)(share * (double)m), m, delta);
    }
}

/* k = 0: 1 - delta^(1/m). k = m-1: (1-delta)^(1/m). m = 1. Tables: 0 of 59 at 95 % is below 0.05, 0 of 58 is
 * not. */
static void closed_forms(void **state) {
    (void)state;
    for (uint64_t m = 1; m < 100000; m = m * 3 + 1) {
        double none = surety_binomial_limit(0, m, 0.05), most = surety_binomial_limit(m - 1, m, 0.05);
        check_that(fabs(none - (1 - pow(0.05, 1. / (double)m))), <, 4e-15);
        check_that(fabs(most - pow(0.95, 1. / (double)m)), <, 4e-15);
        check_that(surety_binomial_limit(m, m, 0.05), ==, 1);
    }
    check_that(surety_binomial_limit(0, 59, 0.05), <, 0.05);
    check_that(surety_binomial_limit(0, 58, 0.05), >, 0.05);
    check_that(fabs(surety_binomial_limit(3, 10, 0.05) - 0.6066242), <, 1e-7);
}

/* More errors, fewer examples, more confidence: never a smaller limit. Never above the Chernoff limit. */
static void monotone_and_below_chernoff(void **state) {
    (void)state;
    for (uint64_t k = 0; k < 40; k++) {
        double p = surety_binomial_limit(k, 500, 0.05);
        check_that(p, <, surety_binomial_limit(k + 1, 500, 0.05));
        check_that(p, >, surety_binomial_limit(k, 501, 0.05));
        check_that(p, <, surety_binomial_limit(k, 500, 0.049));
        check_that(p, <=, surety_kl_inv(surety_ratio_up(k, 500), -log(0.05) / 500, NULL, NULL) * (1 + 1e-14));
    }
}

static void outside_the_domain(void **state) {
    (void)state;
    check_is(isnan, surety_binomial_limit(2, 1, 0.05));
    check_is(isnan, surety_binomial_limit(0, 0, 0.05));
    check_is(isnan, surety_binomial_limit(0, 1, 0));
    check_is(isnan, surety_binomial_limit(0, 1, 1));
    check_is(isnan, surety_binomial_limit(0, 1, (double)NAN));
    check_is(isnan, surety_binomial_limit(0, SURETY_M_LIMIT + 1, 0.05));
    double p = surety_binomial_limit(SURETY_M_LIMIT / 3, SURETY_M_LIMIT, 0.05);
    check_that(p, >, 1. / 3);
    check_that(p, <, 1. / 3 + 2e-5);
    check_that(surety_binomial_limit_log(3, 100, 900), >,
               surety_binomial_limit_log(3, 100, 700)); /* e^-900 underflows */
}

/* P[Bin(m,p) >= k] is never below the exact one, and close to it. */
static void test_tail(void **state) {
    (void)state;
    draw d = {11};
    for (long i = 0; i < check_count(2000, 100000); i++) {
        uint64_t m = 1 + (uint64_t)pow(10, draw_real(&d, 0, 5));
        double p = pow(10, draw_real(&d, -8, -0.001)), mean = (double)m * p;
        uint64_t k = (uint64_t)(mean + 1 + draw_real(&d, 0, 12) * sqrt(mean + 1));
        if (k > m || (double)k <= mean) continue;
        mpfr_t exact, chance;
        mpfr_inits2(BITS, exact, chance, (mpfr_ptr)0);
        mpfr_set_d(chance, p, MPFR_RNDN);
        exact_tail(exact, k, m, chance, 1);
        double tail = surety_binomial_tail(k, m, p);
        check(mpfr_cmp_d(exact, tail) <= 0, "k %" PRIu64 " m %" PRIu64 " p %a: %a is too small", k, m, p,
              tail);
        mpfr_mul_d(exact, exact, 1 + 1e-9, MPFR_RNDN);
        check(tail < 1e-300 || mpfr_cmp_d(exact, tail) >= 0,
              "k %" PRIu64 " m %" PRIu64 " p %a: %a is too large", k, m, p, tail);
        mpfr_clears(exact, chance, (mpfr_ptr)0);
    }
    check_that(surety_binomial_tail(0, 9, 0.5), ==, 1);
    check_that(surety_binomial_tail(4, 9, 0.5), ==, 1);
    check_that(surety_binomial_tail(1, 9, 0), ==, 0);
    check_that(surety_binomial_tail(9, 9, 1), ==, 1);
    for (uint64_t m = 1; m <= 40; m++)
        for (double p = 0.1; p < 1; p += 0.2) { /* all of them: p^m */
            long double exact = powl((long double)p, (long double)m);
            check_that(surety_binomial_tail(m, m, p), >, exact);
            check_that(surety_binomial_tail(m, m, p), <, exact * (1 + 1e-12L));
        }
    check_is(isnan, surety_binomial_tail(10, 9, 0.5));
    check_is(isnan, surety_binomial_tail(1, 9, (double)NAN));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_m_all_k),
        cmocka_unit_test(large_m_edges),
        cmocka_unit_test(random_points),
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(monotone_and_below_chernoff),
        cmocka_unit_test(outside_the_domain),
        cmocka_unit_test(test_tail),
    };
    return cmocka_run_group_tests_name("bound/binomial", tests, NULL, NULL);
}
