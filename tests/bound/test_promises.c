/* Coverage of the statements of docs/theory.md 12.1 to 12.4: S is drawn again and again from a law whose
 * truth is known, and a statement may be false on a share delta of the draws. Each has mutants that must
 * fail: a rank too far, delta not split, limits printed that were found and not those listed, a list that
 * goes on behind a failure. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "draw.h"
#include "surety/bound.h"

enum { M = 60, RADII = 12 };
static const double delta = 0.1;

/* Binomial probability of so many or more false statements, were each false with probability delta. */
static int too_many(long bad, long draws) {
    double sum = 0, n = (double)draws;
    for (long k = bad; k <= draws; k++)
        sum += exp(lgamma(n + 1) - lgamma((double)k + 1) - lgamma(n - (double)k + 1) +
                   (double)k * log(delta) + (n - (double)k) * log1p(-delta));
    return sum < 1e-6;
}

/* S: certified radii of M examples, uniform on [0,1), so that the risk at eps is eps; -1 (wrong already at
 * the example) with probability `wrong`. */
static double risk_at(double eps, double wrong) {
    return wrong + (1 - wrong) * fmin(1, eps);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void draw_radii(draw *d, double wrong, double radius[M]) {
    for (size_t i = 0; i < M; i++) radius[i] = draw_real(d, 0, 1) < wrong ? -1 : draw_real(d, 0, 1);
    qsort(radius, M, sizeof *radius, by_size);
}

static uint64_t failed_at(const double radius[M], double eps) {
    uint64_t failed = 0;
    while (failed < M && radius[failed] < eps) failed++;
    return failed;
}

/* ---- a radius for a promised risk ---- */

static long false_radii(double alpha, double wrong, size_t further, long draws) {
    long bad = 0;
    draw d = {1};
    for (long i = 0; i < draws; i++) {
        double radius[M];
        uint64_t k = 0;
        draw_radii(&d, wrong, radius);
        if (!surety_radius_rank(alpha, M, delta, &k)) continue;
        double eps = radius[k + further < M ? k + further : M - 1];
        bad += eps >= 0 && risk_at(eps, wrong) > alpha;
    }
    return bad;
}

static void a_radius_for_a_risk(void **state) {
    (void)state;
    long draws = check_count(20000, 500000);
    for (double alpha = 0.1; alpha < 0.6; alpha += 0.2)
        for (double wrong = 0; wrong < 0.1; wrong += 0.05) {
            long bad = false_radii(alpha, wrong, 0, draws);
            check(!too_many(bad, draws), "promise %g: false on %ld of %ld", alpha, bad, draws);
            if (wrong == 0) /* a continuous law: nearly all of delta is used */
                check((double)bad > 0.4 * delta * (double)draws, "promise %g: false on only %ld", alpha, bad);
            check(too_many(false_radii(alpha, wrong, 2, draws), draws), "two ranks further pass at %g",
                  alpha);
        }
}

/* ---- a whole curve ---- */

/* `cells` radii, 1 to 12 twelfths; between them and the next one the limit of the larger radius is claimed.
 */
static long false_curves(double share, int smaller, long draws) {
    long bad = 0;
    draw d = {2};
    for (long i = 0; i < draws; i++) {
        double radius[M];
        int wrong = 0;
        draw_radii(&d, 0, radius);
        for (size_t g = 1; g <= RADII; g++) {
            double eps = (double)g / (RADII + 1),
                   limit = surety_binomial_limit(failed_at(radius, eps), M, share);
            wrong |= risk_at(smaller ? (double)(g + 1) / (RADII + 1) - 1e-9 : eps, 0) > limit;
        }
        bad += wrong;
    }
    return bad;
}

static void a_curve(void **state) {
    (void)state;
    long draws = check_count(4000, 100000);
    check(!too_many(false_curves(delta / RADII, 0, draws), draws), "the curve is false too often");
    check(too_many(false_curves(delta, 0, draws), draws), "a curve that does not split delta passes");
    check(too_many(false_curves(delta / RADII, 1, draws), draws),
          "the limit of the smaller radius, claimed up to the next, passes");
}

/* ---- promises in order ---- */

typedef enum promising { LISTED, FOUND, GOES_ON } promising;

/* Promises at radii 1, 2, .. twelfths, all a little too small (odd ones) or true by far. FOUND prints the
 * smaller limits that S gave, GOES_ON tests all of them. */
static long false_promises(promising how, double slack, long draws) {
    long bad = 0;
    draw d = {3};
    for (long i = 0; i < draws; i++) {
        double radius[M];
        int wrong = 0;
        draw_radii(&d, 0, radius);
        for (size_t g = 1; g <= RADII; g++) {
            double eps = (double)g / (RADII + 1), promise = fmin(0.9999, eps + slack),
                   limit = surety_binomial_limit(failed_at(radius, eps), M, delta);
            if (limit > promise && how != GOES_ON) break;
            if (limit <= promise) wrong |= risk_at(eps, 0) > (how == FOUND ? limit : promise);
        }
        bad += wrong;
    }
    return bad;
}

static void promises_in_order(void **state) {
    (void)state;
    long draws = check_count(4000, 100000);
    const double just_false = -1e-9, true_by_far = 0.25;
    check(!too_many(false_promises(LISTED, just_false, draws), draws), "false promises pass too often");
    check(false_promises(LISTED, true_by_far, draws) == 0, "a true promise is false");
    check(too_many(false_promises(GOES_ON, just_false, draws), draws), "a list that goes on passes");
    check(too_many(false_promises(FOUND, true_by_far, draws), draws), "limits that were found pass");
}

/* ---- groups ---- */

/* Groups 0 to 5, the last so rare that S often has none of it. The limits are of the groups that S has, at
 * delta over their number. */
static long false_groups(int split, long draws) {
    enum { GROUPS = 6 };
    static const double share[GROUPS] = {0.4, 0.25, 0.15, 0.1, 0.08, 0.02},
                        risk[GROUPS] = {0.02, 0.5, 0.2, 0.1, 0.3, 0.4};
    long bad = 0;
    draw d = {4};
    for (long i = 0; i < draws; i++) {
        uint64_t m[GROUPS] = {0}, failed[GROUPS] = {0};
        int wrong = 0, count = 0;
        for (size_t j = 0; j < 4 * M; j++) {
            double u = draw_real(&d, 0, 1);
            size_t g = 0;
            while (g + 1 < GROUPS && u >= share[g]) u -= share[g++];
            m[g]++;
            failed[g] += draw_real(&d, 0, 1) < risk[g];
        }
        for (size_t g = 0; g < GROUPS; g++) count += m[g] > 0;
        for (size_t g = 0; g < GROUPS; g++)
            if (m[g])
                wrong |= surety_binomial_limit(failed[g], m[g], split ? delta / count : delta) < risk[g];
        bad += wrong;
    }
    return bad;
}

static void groups_of_s(void **state) {
    (void)state;
    long draws = check_count(4000, 100000);
    check(!too_many(false_groups(1, draws), draws), "the limits of groups are false too often");
    check(too_many(false_groups(0, draws), draws), "groups that do not split delta pass");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_radius_for_a_risk),
        cmocka_unit_test(a_curve),
        cmocka_unit_test(promises_in_order),
        cmocka_unit_test(groups_of_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
