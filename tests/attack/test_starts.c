/* attack: random starts are uniform in the ball of each norm (no box). In a ball of radius b
 * the share of volume within r is (r/b)^d, so (||e||/b)^d is uniform in (0,1) for every norm; the direction
 * is tested by the marginal of a coordinate, its moments and correlations. Largest deviations are allowed
 * where a right program would pass in all but one of some 10^4 runs (the seeds are fixed). */
#include <math.h>

#include "cases.h"
#include "voters/kind.h"

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sqrt(n) times the Kolmogorov-Smirnov distance of values from the uniform distribution: above 2.2 with
 * probability 1.2e-4. */
static double ks_uniform(double *values, size_t n) {
    double most = 0;
    qsort(values, n, sizeof *values, ascending);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(values[i] - (double)i / (double)n));
        most = fmax(most, fabs(values[i] - (double)(i + 1) / (double)n));
    }
    return most * sqrt((double)n);
}

/* Distribution function of one coordinate of a uniform point in the unit ball: l1: P(|x| > t) = (1 - t)^d;
 * linf: uniform; l2: density proportional to (1 - x^2)^((d-1)/2), integrated for small d (NAN: not known
 * here). */
static double marginal(surety_norm norm, size_t d, double x) {
    if (norm == SURETY_LINF) return (1 + x) / 2;
    if (norm == SURETY_L1) return x > 0 ? 1 - pow(1 - x, (double)d) / 2 : pow(1 + x, (double)d) / 2;
    switch (d) {
        case 1:
            return (1 + x) / 2;
        case 2:
            return 0.5 + (x * sqrt(fmax(0, 1 - x * x)) + asin(fmax(-1, fmin(1, x)))) / 3.14159265358979323846;
        case 3:
            return (2 + 3 * x - x * x * x) / 4;
        case 5:
            return 0.5 + 15. / 16 * (x - 2 * x * x * x / 3 + x * x * x * x * x / 5);
        default:
            return NAN;
    }
}

/* E[x_1^2] and E[x_1^4] of the same. */
static void moments(surety_norm norm, size_t dimension, double *second, double *fourth) {
    double d = (double)dimension;
    *second = norm == SURETY_LINF ? 1. / 3 : norm == SURETY_L2 ? 1 / (d + 2) : 2 / ((d + 1) * (d + 2));
    *fourth = norm == SURETY_LINF ? 1. / 5
              : norm == SURETY_L2 ? 3 / ((d + 2) * (d + 4))
                                  : 24 / ((d + 1) * (d + 2) * (d + 3) * (d + 4));
}

/* Twice as many features, of which every second one can change, in units from 1/8 to 16. */
static surety_tolerance *every_second(size_t d) {
    surety_error err = SURETY_ERROR_NONE;
    surety_tolerance *out = NULL;
    double *radius = malloc(2 * d * sizeof *radius);
    for (size_t j = 0; j < 2 * d; j++) radius[j] = j % 2 ? ldexp(1, (int)(j / 2 % 8) - 3) : 0;
    check_ok(surety_tolerance_new(&(surety_features){.d = 2 * d}, radius, NULL, NULL, &out, &err));
    free(radius);
    return out;
}

/* e/b of n starts: rows and epochs, around points that are small beside b (their rounding is not the
 * subject). tolerance: e/r/b of its d features that can change. */
static float *draw_starts(surety_norm norm, size_t d, size_t n, uint64_t seed, surety_tolerance *tolerance) {
    surety_error err = SURETY_ERROR_NONE;
    surety_threat s = surety_threat_defaults();
    s.kind = SURETY_ATTACK_UNIF;
    s.ball = (surety_ball){.norm = norm, .radius = 0.7, .tolerance = tolerance};
    s.seed = seed;
    size_t all = tolerance ? tolerance->d : d;
    draw r = {seed};
    surety_voters *v = NULL;
    check_ok(surety_linear_empty(&v, 1, all, 2, &err));
    surety_vote vote = {v, (const double[]){1}, SURETY_REAL};
    random_set set = random_set_new(&r, SURETY_BLOCK, all, &s.ball, 1e-3, 2);
    surety_attacker *a = NULL;
    check_ok(surety_attacker_new(&a, &s, v, &err));
    float *out = malloc(n * d * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        size_t row = i % SURETY_BLOCK;
        surety_examples e = surety_examples_of(&set.set, 0);
        surety_attacker_epoch(a, (uint32_t)(i / SURETY_BLOCK));
        const surety_attacked *result = row ? NULL : surety_attacker_run(a, &vote, &e);
        if (result)
            for (size_t k = 0; k < SURETY_BLOCK && i + k < n; k++)
                for (size_t j = 0; j < d; j++) {
                    size_t at = tolerance ? 2 * j + 1 : j;
                    float unit = tolerance ? (float)tolerance->unit[at] : 1;
                    out[(i + k) * d + j] = (result->x[k][at] - e.x[k][at]) / unit / (float)s.ball.radius;
                }
    }
    surety_attacker_free(a);
    random_set_free(&set);
    surety_voters_free(v);
    surety_tolerance_free(tolerance);
    return out;
}

static double length(surety_norm norm, const float *e, size_t d) {
    static const float zero[784];
    return (double)true_distance(&(surety_ball){.norm = norm}, e, zero, d);
}

static void check_radius(surety_norm norm, const float *e, size_t d, size_t n, double *u) {
    for (size_t i = 0; i < n; i++) u[i] = pow(length(norm, e + i * d, d), (double)d);
    double ks = ks_uniform(u, n);
    check(ks < 2.2, "%s d %zu: radius, KS %g", surety_norm_name(norm), d, ks);
}

static void check_coordinates(surety_norm norm, const float *e, size_t d, size_t n, double *u) {
    double second, fourth, count = (double)n;
    moments(norm, d, &second, &fourth);
    size_t tried[] = {0, d / 2, d - 1};
    for (size_t k = 0; k < 3; k++) {
        double sum = 0, squares = 0, positive = 0, quads = 0;
        for (size_t i = 0; i < n; i++) {
            double x = (double)e[i * d + tried[k]];
            sum += x, squares += x * x, quads += x * x * x * x, positive += x > 0;
            u[i] = marginal(norm, d, x);
        }
        check(fabs(sum) < 5 * sqrt(count * second), "%s d %zu: mean", surety_norm_name(norm), d);
        check(fabs(positive - count / 2) < 5 * sqrt(count / 4), "%s d %zu: sign", surety_norm_name(norm), d);
        check(fabs(squares / count - second) < 5 * sqrt((fourth - second * second) / count),
              "%s d %zu: second moment %g, not %g", surety_norm_name(norm), d, squares / count, second);
        check(fabs(quads / count / fourth - 1) < 45 / sqrt(count),
              /* l1: E x^8 = 70 (E x^4)^2 */ "%s d %zu: fourth moment", surety_norm_name(norm), d);
        double ks = isnan(u[0]) ? 0 : ks_uniform(u, n);
        check(ks < 2.2, "%s d %zu: coordinate %zu, KS %g", surety_norm_name(norm), d, tried[k], ks);
    }
}

/* Signs of two coordinates of a point, and of one coordinate of two points, are independent. */
static void check_independence(surety_norm norm, const float *e, size_t d, size_t n) {
    double within = 0, between = 0, count = (double)n;
    for (size_t i = 0; i + 1 < n; i++) {
        size_t j = i % d, k = (i + 1 + i / 7 % (d > 1 ? d - 1 : 1)) % d;
        double x = (double)e[i * d + j];
        if (j != k) within += x * (double)e[i * d + k] > 0 ? 1 : -1;
        between += x * (double)e[(i + 1) * d + j] > 0 ? 1 : -1;
    }
    check(fabs(within) < 5 * sqrt(count), "%s d %zu: signs within a point", surety_norm_name(norm), d);
    check(fabs(between) < 5 * sqrt(count), "%s d %zu: signs of neighbours", surety_norm_name(norm), d);
}

static void starts_are_uniform(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 3, 5, 17, 100, 784}, count = sizeof sizes / sizeof *sizes;
    for (int norm = SURETY_L2; norm <= SURETY_L1; norm++)
        for (size_t k = 0; k < 2 * count; k++) {
            size_t d = sizes[k % count],
                   n = (size_t)(d > 50 ? check_count(2000, 100000) : check_count(20000, 500000));
            float *e = draw_starts((surety_norm)norm, d, n, 100 + k, k < count ? NULL : every_second(d));
            double *u = malloc(n * sizeof *u);
            check_radius((surety_norm)norm, e, d, n, u);
            check_coordinates((surety_norm)norm, e, d, n, u);
            check_independence((surety_norm)norm, e, d, n);
            free(e), free(u);
        }
}

/* Rows, epochs, restarts and sets all have their own starts; the same address has the same one. */
static void addresses_separate_starts(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    enum { D = 9, CASES = 7 };
    float first[CASES][D];
    draw r = {1};
    surety_voters *v = NULL;
    check_ok(surety_linear_empty(&v, 1, D, 2, &err));
    surety_vote vote = {v, (const double[]){1}, SURETY_REAL};
    for (int norm = SURETY_L2; norm <= SURETY_L1; norm++) {
        surety_threat s = surety_threat_defaults();
        s.kind = SURETY_ATTACK_UNIF;
        s.ball = (surety_ball){.norm = (surety_norm)norm, .radius = 1};
        random_set set = random_set_new(&r, 1, D, &s.ball, 0, 2);
        for (int k = 0; k < CASES; k++) { /* 0 and 6 are the same */
            surety_threat t = s;
            if (k == 1) t.epoch = 1;
            if (k == 2) t.seed = 1;
            surety_attacker *a = NULL;
            check_ok(surety_attacker_new(&a, &t, v, &err));
            surety_examples e = surety_examples_of(&set.set, 0);
            if (k == 3) e.row[0]++;
            if (k == 4) e.which = SURETY_SET_TEST;
            if (k == 5) e.which = SURETY_SET_PRIOR;
            memcpy(first[k], surety_attacker_run(a, &vote, &e)->x[0], sizeof first[k]);
            surety_attacker_free(a);
        }
        for (int k = 1; k < CASES - 1; k++)
            for (int i = 0; i < k; i++) assert_memory_not_equal(first[i], first[k], sizeof first[k]);
        assert_memory_equal(first[0], first[CASES - 1], sizeof first[0]);
        random_set_free(&set);
    }
    surety_voters_free(v);
}

/* The noise of the u-attacks: uniform in [-w, w]^d around the attacked point, independent between samples.
 * Far inside a large ball, so that neither projection nor box changes it. */
static void noise_is_uniform(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    enum { D = 6 };
    surety_threat s = surety_threat_defaults();
    s.kind = SURETY_ATTACK_IFGSMU;
    s.steps = 1;
    s.step_size = 0.01;
    s.noise = 0.25;
    s.samples = (size_t)check_count(20000, 500000);
    draw r = {3};
    surety_voters *v = NULL;
    check_ok(surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = 1}, D, 1, &v, &err));
    surety_vote vote = {v, (const double[]){1}, SURETY_REAL};
    for (int norm = SURETY_L2; norm <= SURETY_L1; norm++) {
        s.ball = (surety_ball){.norm = (surety_norm)norm, .radius = 100};
        random_set set = random_set_new(&r, 1, D, &s.ball, 1, 2);
        surety_attacker *a = NULL;
        check_ok(surety_attacker_new(&a, &s, v, &err));
        surety_examples e = surety_examples_of(&set.set, 0);
        const float *x = surety_attacker_run(a, &vote, &e)->x[0];
        double *u = malloc(s.samples * sizeof *u), product = 0, before = 0;
        for (size_t j = 0; j < D; j++) {
            float out[16];
            for (size_t i = 0; i < s.samples; i++) {
                surety_attacker_sample(a, 0, i, out);
                u[i] = ((double)out[j] - (double)x[j]) / s.noise / 2 + 0.5;
                product += (u[i] - 0.5) * (before - 0.5);
                before = u[i];
            }
            check_that(ks_uniform(u, s.samples), <, 2.2);
        }
        check_that(fabs(product), <, 5 * sqrt((double)(D * s.samples)) / 12 + 1);
        free(u);
        surety_attacker_free(a);
        random_set_free(&set);
    }
    surety_voters_free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_are_uniform),
        cmocka_unit_test(addresses_separate_starts),
        cmocka_unit_test(noise_is_uniform),
    };
    return cmocka_run_group_tests_name("starts", tests, NULL, NULL);
}
