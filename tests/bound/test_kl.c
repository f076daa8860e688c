/* kl, kl_inv, KL and the rounding toolbox against MPFR. */
#include "check.h"

#include <inttypes.h>
#include <mpfr.h>

#include "bound/kl.h"
#include "points.h"

enum { BITS = 640 }; /* kl at q = 1e-300 and c = 1e-18 needs fewer than 120 + 53 */

/* kl(a||b) in MPFR to the precision of out, 0 < b < 1. */
static void exact_kl(mpfr_t out, double a, const mpfr_t b) {
    mpfr_t t, rest;
    mpfr_inits2(mpfr_get_prec(out), t, rest, (mpfr_ptr)0);
    mpfr_set_d(out, 0, MPFR_RNDN);
    if (a > 0) {
        mpfr_d_div(t, a, b, MPFR_RNDN);
        mpfr_log(t, t, MPFR_RNDN);
        mpfr_mul_d(out, t, a, MPFR_RNDN);
    }
    if (a < 1) {
        mpfr_set_d(rest, 1, MPFR_RNDN);
        mpfr_sub_d(rest, rest, a, MPFR_RNDN);
        mpfr_ui_sub(t, 1, b, MPFR_RNDN);
        mpfr_div(t, rest, t, MPFR_RNDN);
        mpfr_log(t, t, MPFR_RNDN);
        mpfr_mul(t, t, rest, MPFR_RNDN);
        mpfr_add(out, out, t, MPFR_RNDN);
    }
    mpfr_clears(t, rest, (mpfr_ptr)0);
}

/* How far above the exact value kl_inv was, in u: (kl(q||p) - c) / kl'(p) / p. Reported at the end. */
static double least_margin = 1e9, largest_margin = -1e9;

static void measure_margin(const mpfr_t kl, double q, double c, double p) {
    mpfr_t t;
    mpfr_init2(t, BITS);
    mpfr_sub_d(t, kl, c, MPFR_RNDN);
    double margin = mpfr_get_d(t, MPFR_RNDN) * (1 - p) / (p - q) / SURETY_U;
    mpfr_clear(t);
    if (p > 0.999) return; /* the derivative is too steep there for one step */
    least_margin = fmin(least_margin, margin);
    largest_margin = fmax(largest_margin, margin);
}

/* Both claims of kl_inv: the returned p has kl(q||p) >= c (or is 1), and p / (1 + 1e-14) has kl <= c or lies
 * below q. */
static void check_inverse(double q, double c) {
    double p = surety_kl_inv(q, c, NULL, NULL);
    check(p >= q && p <= 1, "kl_inv(%a, %a) = %a", q, c, p);
    if (c == 0 || q == 1) {
        check(p == q, "kl_inv(%a, %a) = %a is not q", q, c, p);
        return;
    }
    mpfr_t b, kl;
    mpfr_inits2(BITS, b, kl, (mpfr_ptr)0);
    mpfr_set_d(b, p, MPFR_RNDN);
    if (p < 1) {
        exact_kl(kl, q, b);
        check(mpfr_cmp_d(kl, c) >= 0, "kl_inv(%a, %a) = %a is below the exact value", q, c, p);
        measure_margin(kl, q, c, p);
    }
    mpfr_div_d(b, b, 1 + 0x1.6849b86a12b9bp-47, MPFR_RNDN); /* 1 + 9.99e-15 */
    if (mpfr_cmp_d(b, q) > 0) {
        exact_kl(kl, q, b);
        check(mpfr_cmp_d(kl, c) <= 0, "kl_inv(%a, %a) = %a is more than 1e-14 above", q, c, p);
    }
    mpfr_clears(b, kl, (mpfr_ptr)0);
}

static void inverse_at_the_edges(void **state) {
    (void)state;
    const double u = 0x1p-53;
    const double qs[] = {0,          1e-300,    1e-299,    1e-200, 1e-100,    1e-50, 1e-18, 1e-16,
                         0x1p-53,    1e-15,     1e-10,     1e-5,   1. / 5000, 0.005, 0.02,  0.1,
                         0.25,       1. / 3,    0.5,       0.75,   0.9,       0.99,  0.999, 1 - 1e-10,
                         1 - 16 * u, 1 - 4 * u, 1 - 2 * u, 1 - u,  1};
    const double cs[] = {0,   1e-18, 2e-18, 1e-17, 1e-16, 1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 2e-3, 0.01,
                         0.1, 0.5,   1,     2,     5,     10,    20,    30,    36,   37,   38,   50};
    for (size_t i = 0; i < sizeof qs / sizeof *qs; i++)
        for (size_t j = 0; j < sizeof cs / sizeof *cs; j++) {
            check_inverse(qs[i], cs[j]);
            if (cs[j] > 0) check_inverse(qs[i], nextafter(cs[j], 100));
            if (qs[i] > 0) check_inverse(nextafter(qs[i], 1), cs[j]);
        }
}

/* A fifth of the points each: q tiny, q anywhere, q near 1, c within a factor 1e6 of q, d far below q. */
static void inverse_at_random_points(void **state) {
    (void)state;
    long count = check_count(4000, 120000);
    for (long i = 0; i < count; i++) {
        uint32_t k = (uint32_t)i;
        double q = point_log_uniform(1, k, 1e-300, 1), c = point_log_uniform(2, k, 1e-18, 50);
        if (i % 5 == 1) q = point_uniform(1, k);
        if (i % 5 == 2) q = 1 - point_log_uniform(1, k, 0x1p-53, 0.5);
        if (i % 5 == 3) q = fmin(1, c * point_log_uniform(1, k, 1e-6, 1e6));
        if (i % 5 == 4) q = point_uniform(1, k), c = point_log_uniform(2, k, 1e-18, 1e-9);
        check_inverse(q, c);
    }
    print_message("# kl_inv: above the exact value by %.1f to %.1f u\n", least_margin, largest_margin);
}

/* Beyond the promised range the answer must still be safe, finite and not below q. */
static void inverse_beyond_the_range(void **state) {
    (void)state;
    const double tiny[] = {0x1p-1074, 0x1p-1073, 3e-320, 0x1p-1022, 1e-305};
    const double cs[] = {0x1p-1074, 1e-320, 1e-305, 1e-200, 1e-100, 1e-30,
                         1e-18,     1,      50,     745,    1e300,  (double)INFINITY};
    for (size_t j = 0; j < sizeof cs / sizeof *cs; j++) {
        for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
            double p = surety_kl_inv(tiny[i], cs[j], NULL, NULL);
            check(p >= tiny[i] && p <= 1, "kl_inv(%a, %a) = %a", tiny[i], cs[j], p);
            mpfr_t b, kl;
            mpfr_init2(b, 2400), mpfr_init2(kl, 2400);
            mpfr_set_d(b, p, MPFR_RNDN);
            if (p < 1) exact_kl(kl, tiny[i], b);
            if (p < 1)
                check(mpfr_cmp_d(kl, cs[j]) >= 0, "kl_inv(%a, %a) = %a is too small", tiny[i], cs[j], p);
            mpfr_clears(b, kl, (mpfr_ptr)0);
        }
        check_that(surety_kl_inv(0.3, cs[j], NULL, NULL), >=, 0.3);
        check_that(surety_kl_inv(0, cs[j], NULL, NULL), >, 0);
    }
    check_is(isnan, surety_kl_inv(-1e-9, 1, NULL, NULL));
    check_is(isnan, surety_kl_inv(1.0000001, 1, NULL, NULL));
    check_is(isnan, surety_kl_inv(0.5, -1, NULL, NULL));
    check_is(isnan, surety_kl_inv((double)NAN, 1, NULL, NULL));
    check_is(isnan, surety_kl_inv(0.5, (double)NAN, NULL, NULL));
}

static void kl_to_1e_14(void **state) {
    (void)state;
    mpfr_t b, kl;
    mpfr_inits2(BITS, b, kl, (mpfr_ptr)0);
    for (long i = 0; i < check_count(2000, 50000); i++) {
        uint32_t k = (uint32_t)i;
        double p = point_uniform(3, k), a = point_log_uniform(4, k, 1e-300, 1);
        if (i % 3 == 1) a = p * (1 + point_log_uniform(4, k, 1e-15, 1e-2)), a = fmin(a, 1);
        if (i % 3 == 2) p = 1 - point_log_uniform(3, k, 0x1p-53, 1e-3);
        mpfr_set_d(b, p, MPFR_RNDN);
        exact_kl(kl, a, b);
        double want = mpfr_get_d(kl, MPFR_RNDN), got = surety_kl(a, p);
        check(fabs(got - want) <= 1e-14 * want, "kl(%a||%a) = %.17g, not %.17g", a, p, got, want);
    }
    mpfr_clears(b, kl, (mpfr_ptr)0);
    check_that(surety_kl(0, 0), ==, 0);
    check_that(surety_kl(1, 1), ==, 0);
    check_that(surety_kl(0.3, 0.3), ==, 0);
    check_is(isinf, surety_kl(0.3, 0));
    check_is(isinf, surety_kl(0.3, 1));
    check_is(isinf, surety_kl(0, 1));
    check_that(surety_kl(0, 0.5), ==, log(2));
    check_that(fabs(surety_kl(1, 0.25) - log(4)), <, 1e-15);
    check_is(isnan, surety_kl(-0.1, 0.5));
    check_is(isnan, surety_kl(0.5, 1.1));
    check_is(isnan, surety_kl((double)NAN, 0.5));
    check_is(isnan, surety_kl(-0.1, 0)); /* one of the two is no probability, and no logarithm says so */
    check_is(isnan, surety_kl(1.1, 1));
    check_is(isnan, surety_kl(0, -0.1));
    check_is(isnan, surety_kl(1, 1.1));
}

/* The derivatives against MPFR: dp/dc = p(1-p)/d, dp/dq = dp/dc ln(p(1-q) / (q(1-p))) at the exact p, which
 * Newton's method in MPFR finds from the returned one. */
static void gradients_against_mpfr(void **state) {
    (void)state;
    mpfr_t p, rest, t, slope;
    mpfr_inits2(BITS, p, rest, t, slope, (mpfr_ptr)0);
    for (long i = 0; i < check_count(1000, 20000); i++) {
        uint32_t k = (uint32_t)i;
        double q = i % 2 ? point_uniform(5, k) : point_log_uniform(5, k, 1e-300, 1), dq, dc;
        double c = point_log_uniform(6, k, 1e-18, 3), value = surety_kl_inv(q, c, &dq, &dc);
        if (value > 0.999) continue;
        mpfr_set_d(p, value, MPFR_RNDN);
        for (int step = 0; step < 8; step++) {
            exact_kl(t, q, p);
            mpfr_sub_d(t, t, c, MPFR_RNDN);
            mpfr_ui_sub(rest, 1, p, MPFR_RNDN);
            mpfr_mul(slope, p, rest, MPFR_RNDN);
            mpfr_sub_d(rest, p, q, MPFR_RNDN);
            mpfr_div(slope, slope, rest, MPFR_RNDN);
            mpfr_mul(t, t, slope, MPFR_RNDN);
            mpfr_sub(p, p, t, MPFR_RNDN);
        }
        double want = mpfr_get_d(slope, MPFR_RNDN);
        check(fabs(dc - want) <= 1e-11 * want, "dp/dc at q=%a c=%a: %.17g, not %.17g", q, c, dc, want);
        mpfr_ui_sub(rest, 1, p, MPFR_RNDN);
        mpfr_mul_d(rest, rest, q, MPFR_RNDN);
        mpfr_set_d(t, 1, MPFR_RNDN);
        mpfr_sub_d(t, t, q, MPFR_RNDN);
        mpfr_mul(t, t, p, MPFR_RNDN);
        mpfr_div(t, t, rest, MPFR_RNDN);
        mpfr_log(t, t, MPFR_RNDN);
        mpfr_mul(t, t, slope, MPFR_RNDN);
        want = mpfr_get_d(t, MPFR_RNDN);
        check(fabs(dq - want) <= 1e-11 * want, "dp/dq at q=%a c=%a: %.17g, not %.17g", q, c, dq, want);
    }
    mpfr_clears(p, rest, t, slope, (mpfr_ptr)0);
}

/* The same against central differences, and where no derivative exists. */
static void gradients_against_differences(void **state) {
    (void)state;
    const double qs[] = {0.001, 0.02, 0.1, 0.4, 0.8}, cs[] = {1e-3, 2e-3, 0.01, 0.3};
    double dq, dc;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 4; j++) {
            double q = qs[i], c = cs[j], eq = q * 1e-6, ec = c * 1e-6;
            surety_kl_inv(q, c, &dq, &dc);
            double nq =
                (surety_kl_inv(q + eq, c, NULL, NULL) - surety_kl_inv(q - eq, c, NULL, NULL)) / (2 * eq);
            double nc =
                (surety_kl_inv(q, c + ec, NULL, NULL) - surety_kl_inv(q, c - ec, NULL, NULL)) / (2 * ec);
            check(fabs(dq - nq) < 1e-6 * nq, "dq at %g %g: %.10g, differences give %.10g", q, c, dq, nq);
            check(fabs(dc - nc) < 1e-6 * nc, "dc at %g %g: %.10g, differences give %.10g", q, c, dc, nc);
        }
    surety_kl_inv(0, 0.5, &dq, &dc);
    check_that(dq, ==, 0);
    check_that(fabs(dc - exp(-0.5)), <, 1e-15);
    surety_kl_inv(0, 0, &dq, &dc);
    check_that(dq, ==, 0);
    check_that(dc, ==, 1);
    surety_kl_inv(1, 0.5, &dq, &dc);
    check_that(dq, ==, 0);
    check_that(dc, ==, 0);
    surety_kl_inv(0.5, 50, &dq, &dc);
    check_that(dq, ==, 0);
    check_that(dc, ==, 0);
    surety_kl_inv(0.5, 0, &dq, &dc);
    check_that(dq, ==, 1);
    check_is(isinf, dc);
    surety_kl_inv(1e-300, 40, &dq, &dc);
    check_is(isfinite, dq);
    check_that(dq, >=, 0);
    check_is(isfinite, dc);
}

/* q = 0: 1 - e^-c, and a case by hand: kl(1/4||1/2) = ln 2 - (3/4) ln 3 + .. = (1/4) ln(1/2) + (3/4) ln(3/2).
 */
static void inverse_closed_forms(void **state) {
    (void)state;
    for (double c = 1e-18; c < 30; c *= 3) {
        double p = surety_kl_inv(0, c, NULL, NULL), want = -expm1(-c);
        check_that(p, >, want);
        check_that(p, <, want * (1 + 1e-14));
    }
    double c = 0.25 * log(0.5) + 0.75 * log(1.5);
    check_that(fabs(surety_kl_inv(0.25, c, NULL, NULL) - 0.5), <, 1e-14);
}

/* The deviance's stated error, and each toolbox function against MPFR's directed rounding: the same double.
 */
static void deviance_error(void **state) {
    (void)state;
    mpfr_t a, b, t;
    mpfr_inits2(BITS, a, b, t, (mpfr_ptr)0);
    double worst = 0;
    for (long i = 0; i < check_count(5000, 200000); i++) {
        uint32_t k = (uint32_t)i;
        double x = point_log_uniform(7, k, 1e-10, 1e7), y = x * point_log_uniform(8, k, 1e-3, 1e3);
        if (i % 2) y = x * (1 + 0.7 * (2 * point_uniform(8, k) - 1));
        double d = y - x;
        if (surety_sum_error(y, -x, d) != 0 || d == 0) continue; /* only exact arguments */
        mpfr_set_d(a, x, MPFR_RNDN);
        mpfr_set_d(b, y, MPFR_RNDN);
        mpfr_div(t, b, a, MPFR_RNDN);
        mpfr_log(t, t, MPFR_RNDN);
        mpfr_mul(t, t, a, MPFR_RNDN);
        mpfr_sub(b, b, a, MPFR_RNDN);
        mpfr_sub(t, b, t, MPFR_RNDN);
        double want = mpfr_get_d(t, MPFR_RNDN), error = fabs(surety_deviance(x, y, d) - want) / want;
        worst = fmax(worst, error);
        check(error <= SURETY_DEVIANCE_ERROR + SURETY_U, "D(%a, %a) is off by %g u", x, y, error / SURETY_U);
    }
    mpfr_clears(a, b, t, (mpfr_ptr)0);
    print_message("# deviance: largest relative error %.1f u\n", worst / SURETY_U);
}

static double directed(int op, double x, double y, mpfr_rnd_t mode) {
    mpfr_t a, b;
    mpfr_init2(a, 53), mpfr_init2(b, 53);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    if (op == 0) mpfr_add(a, a, b, mode);
    if (op == 1) mpfr_mul(a, a, b, mode);
    if (op == 2) mpfr_div(a, a, b, mode);
    if (op == 3) mpfr_sqrt(a, a, mode);
    if (op == 4) mpfr_log(a, a, mode);
    double out = mpfr_get_d(a, mode);
    mpfr_clears(a, b, (mpfr_ptr)0);
    return out;
}

static void toolbox_rounds_outward(void **state) {
    (void)state;
    for (long i = 0; i < check_count(5000, 200000); i++) {
        uint32_t k = (uint32_t)i;
        double x = point_log_uniform(9, k, 1e-140, 1e140), y = point_log_uniform(10, k, 1e-140, 1e140);
        if (i % 2) y = x * point_log_uniform(10, k, 1e-3, 1e3);
        if (i % 7 == 0)
            x = floor(point_log_uniform(9, k, 1, 1e6)), y = floor(point_log_uniform(10, k, 1, 1e6));
        check_that(surety_add_up(x, y), ==, directed(0, x, y, MPFR_RNDU));
        check_that(surety_add_up(x, -y), ==, directed(0, x, -y, MPFR_RNDU));
        check_that(surety_add_down(x, y), ==, directed(0, x, y, MPFR_RNDD));
        check_that(surety_mul_up(x, y), ==, directed(1, x, y, MPFR_RNDU));
        check_that(surety_div_up(x, y), ==, directed(2, x, y, MPFR_RNDU));
        check_that(surety_div_down(x, y), ==, directed(2, x, y, MPFR_RNDD));
        check_that(surety_sqrt_up(x), ==, directed(3, x, 0, MPFR_RNDU));
        check_that(surety_log_up(x), >=, directed(4, x, 0, MPFR_RNDU));
        check_that(surety_log_down(x), <=, directed(4, x, 0, MPFR_RNDD));
    }
    const double small = 0x1p-1074;
    check_that(surety_mul_up(small, 0.5), >=, small);
    check_that(surety_mul_up(0, 3), ==, 0);
    check_that(surety_div_up(0, 3), ==, 0);
    check_that(surety_div_up(small, 3), >=, small);
    check_that(surety_div_down(small, 3), ==, 0);
    check_that(surety_div_up(small, 3 * small), ==, directed(2, 1, 3, MPFR_RNDU)); /* no remainder is left */
    check_that(surety_div_down(5 * small, 3 * small), ==, directed(2, 5, 3, MPFR_RNDD));
    check_that(surety_sqrt_up(small) * surety_sqrt_up(small), >=, small);
    check_that(surety_log_up(1), ==, 0);
    const uint64_t whole[] = {0, 1, UINT64_C(9007199254740993), UINT64_MAX - 1, UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        mpfr_t n;
        mpfr_init2(n, 80);
        mpfr_set_uj(n, whole[i], MPFR_RNDN);
        check_that(surety_whole_up(whole[i]), ==, mpfr_get_d(n, MPFR_RNDU));
        check_that(surety_whole_down(whole[i]), ==, mpfr_get_d(n, MPFR_RNDD));
        mpfr_clear(n);
    }
}

/* a/b rounded up for sums of losses in units of 2^-32 and beyond: never below the exact fraction, at most 4
 * ulp above it, and the nearest such double while both are exact. */
static void ratios_round_up(void **state) {
    (void)state;
    mpfr_t exact;
    mpfr_init2(exact, BITS);
    for (long i = 0; i < check_count(2000, 50000); i++) {
        uint32_t k = (uint32_t)i;
        uint64_t m = 1 + (uint64_t)(point_uniform(11, k) * (i % 2 ? 1e7 : 1e19));
        uint64_t sum = (uint64_t)(point_uniform(12, k) * (i % 2 ? (double)m * 4294967296. : 1e19));
        double ratio = surety_ratio_up(sum, m);
        mpfr_set_uj(exact, sum, MPFR_RNDN);
        mpfr_div_ui(exact, exact, m, MPFR_RNDN);
        check(mpfr_cmp_d(exact, ratio) <= 0, "%" PRIu64 " / %" PRIu64, sum, m);
        check_that(mpfr_cmp_d(exact, ratio * (1 - 8 * SURETY_U)), >=, 0);
        if (sum >> 53 == 0 && m >> 53 == 0) check_that(ratio, ==, mpfr_get_d(exact, MPFR_RNDU));
    }
    mpfr_clear(exact);
    check_that(surety_ratio_up(0, 7), ==, 0);
    check_that(surety_ratio_up(7, 7), ==, 1);
    check_that(surety_ratio_up(1, 3), >, 1. / 3);
    check_that(surety_ratio_up(UINT64_MAX, 1), ==, 0x1p64);
    check_that(surety_ratio_up(1, UINT64_MAX), >, 0x1p-64);
}

/* KL of the normalised vectors in MPFR. */
static double exact_divergence(const double *q, const double *p, int H, mpfr_rnd_t mode) {
    mpfr_t sum, sq, sp, t;
    mpfr_inits2(BITS, sum, sq, sp, t, (mpfr_ptr)0);
    mpfr_set_d(sq, 0, MPFR_RNDN), mpfr_set_d(sp, 0, MPFR_RNDN), mpfr_set_d(sum, 0, MPFR_RNDN);
    for (int h = 0; h < H; h++) mpfr_add_d(sq, sq, q[h], MPFR_RNDN), mpfr_add_d(sp, sp, p[h], MPFR_RNDN);
    for (int h = 0; h < H; h++) {
        if (q[h] == 0) continue;
        mpfr_set_d(t, q[h], MPFR_RNDN);
        mpfr_div_d(t, t, p[h], MPFR_RNDN);
        mpfr_log(t, t, MPFR_RNDN);
        mpfr_mul_d(t, t, q[h], MPFR_RNDN);
        mpfr_add(sum, sum, t, MPFR_RNDN);
    }
    mpfr_div(sum, sum, sq, MPFR_RNDN);
    mpfr_div(t, sp, sq, MPFR_RNDN);
    mpfr_log(t, t, MPFR_RNDN);
    mpfr_add(sum, sum, t, MPFR_RNDN);
    double out = mpfr_get_d(sum, mode);
    mpfr_clears(sum, sq, sp, t, (mpfr_ptr)0);
    return out;
}

static void softmax(const double *theta, double *q, int H) {
    double sum = 0, most = theta[0];
    for (int h = 1; h < H; h++) most = fmax(most, theta[h]);
    for (int h = 0; h < H; h++) sum += q[h] = exp(theta[h] - most);
    for (int h = 0; h < H; h++) q[h] /= sum;
}

static void divergence_against_mpfr(void **state) {
    (void)state;
    enum { H = 25 };
    surety_error err = SURETY_ERROR_NONE;
    double a[H], b[H], q[H], p[H], kl;
    for (long i = 0; i < check_count(300, 10000); i++) {
        double spread = point_log_uniform(13, (uint32_t)i, 1e-9, 600);
        for (int h = 0; h < H; h++) {
            b[h] = point_uniform(14, (uint32_t)i * H + (uint32_t)h);
            a[h] = b[h] + spread * (point_uniform(15, (uint32_t)i * H + (uint32_t)h) - 0.5);
        }
        softmax(a, q, H);
        softmax(b, p, H);
        check_ok(surety_kl_divergence(q, p, H, &kl, &err));
        double low = exact_divergence(q, p, H, MPFR_RNDU);
        check(kl >= low && kl <= low * (1 + 1e-13) + 1e-30, "KL %.17g, exactly %.17g (spread %g)", kl, low,
              spread);
    }
}

static void divergence_at_the_edges(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const double half[2] = {0.5, 0.5}, sure[2] = {1, 0}, near[2] = {1 - 0x1p-53, 1e-16}, nothing[2] = {0, 0};
    double kl, third[3] = {1. / 3, 1. / 3, 1. / 3}, bad[2] = {0.5, (double)NAN}, minus[2] = {1.5, -0.5};
    check_ok(surety_kl_divergence(third, third, 3, &kl, &err));
    check_that(kl, ==, 0);
    check_ok(surety_kl_divergence(sure, half, 2, &kl, &err));
    check_that(kl, >=, log(2));
    check_that(kl, <, log(2) * (1 + 1e-14));
    check_ok(surety_kl_divergence(near, half, 2, &kl, &err)); /* one voter with weight 1 - 1e-16 */
    check_that(kl, >=, exact_divergence(near, half, 2, MPFR_RNDU));
    check_that(kl, <, 0.6931471805599454);
    check_ok(surety_kl_divergence(half, near, 2, &kl, &err));
    check_that(kl, >=, exact_divergence(half, near, 2, MPFR_RNDU));
    check_that(kl, <, 17.8);
    assert_int_equal(surety_kl_divergence(half, sure, 2, &kl, &err), SURETY_E_INPUT);
    assert_string_equal(err.place, "voter 1");
    check_contains(err.what, "the prior is 0 where the posterior is 0.5");
    check_is(isnan, kl);
    const double *wrong[] = {nothing, bad, minus, NULL};
    for (int i = 0; i < 4; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_kl_divergence(wrong[i], half, 2, &kl, &err), SURETY_E_INPUT);
        assert_true(err.expected[0]);
        check_contains(err.what, "posterior");
    }
    err = (surety_error)SURETY_ERROR_NONE;
    const double off[2] = {0.5, 0.500002}, close[2] = {0.5, 0.5000009};
    assert_int_equal(surety_kl_divergence(half, off, 2, &kl, &err), SURETY_E_INPUT);
    err = (surety_error)SURETY_ERROR_NONE;
    check_ok(surety_kl_divergence(half, close, 2, &kl, &err));
    check_that(kl, >=, 0);
    check_that(kl, <, 1e-11);
}

static void means_round_up(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const double third[3] = {1. / 3, 1. / 3, 1. / 3}, ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0},
                 bad[3] = {0, 1.1, 0};
    const double q[2] = {0.1, 0.9}, v[2] = {0.3, 0.7};
    double mean;
    check_ok(surety_posterior_mean(third, ones, 3, &mean, &err));
    check_that(mean, ==, 1);
    check_ok(surety_posterior_mean(third, zeros, 3, &mean, &err));
    check_that(mean, ==, 0);
    check_ok(surety_posterior_mean(q, v, 2, &mean, &err));
    check_that(mean, >=, 0.66);
    check_that(mean, <, 0.66 * (1 + 1e-15));
    assert_int_equal(surety_posterior_mean(third, bad, 3, &mean, &err), SURETY_E_INPUT);
    assert_string_equal(err.place, "voter 1");
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_posterior_mean(ones, zeros, 3, &mean, &err), SURETY_E_INPUT);
    check_contains(err.what, "the posterior sums to 3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_at_the_edges),
        cmocka_unit_test(inverse_at_random_points),
        cmocka_unit_test(inverse_beyond_the_range),
        cmocka_unit_test(inverse_closed_forms),
        cmocka_unit_test(kl_to_1e_14),
        cmocka_unit_test(gradients_against_mpfr),
        cmocka_unit_test(gradients_against_differences),
        cmocka_unit_test(deviance_error),
        cmocka_unit_test(toolbox_rounds_outward),
        cmocka_unit_test(ratios_round_up),
        cmocka_unit_test(divergence_against_mpfr),
        cmocka_unit_test(divergence_at_the_edges),
        cmocka_unit_test(means_round_up),
    };
    return cmocka_run_group_tests_name("bound/kl", tests, NULL, NULL);
}
