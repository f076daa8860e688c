/* kl, kl_inv and KL (docs/theory.md 4.4), all through the deviance
 *
 *     D(a, b) = b - a - a ln(b/a)  >= 0.
 *
 * In sums the linear parts cancel, so nothing of opposite sign is ever added:
 *
 *     kl(a||b) = D(a, b) + D(1-a, 1-b)
 *     KL(Q||P) = sum_h D(Q_h, P_h)                 for Q and P that sum to 1
 *     m kl(k/m||p) = D(k, mp) + D(m-k, m(1-p))     (binomial.c)
 *
 * The textbook forms subtract numbers of size d = b - a to obtain one of size d^2, and lose every digit where
 * d is small. C. Loader, "Fast and accurate computation of binomial probabilities" (2000), uses the same
 * idea.
 *
 * Errors of D (u = 2^-53, arguments exact, first order):
 *   |r| <= 1/2, r = d/(a+b):  ln(b/a) = 2 atanh(r), hence D = d r (1 - r(1-r) S), S = sum_k r^(2k) / (2k+3).
 *     r: 2u. S <= 0.4 to 6u, the bracket 1 - r(1-r)S to u + 0.3 (6 + 3)u. Two products: 2u. Together < 8u.
 *   else D = d - a L, L = ln(b/a): the quotient moves L by u, log is within 2u|L|, the product u|L|:
 *     a (1 + 3|L|) u + u D; against D at the seams b = 3a (D = 0.90 a) and b = a/3 (D = 0.43 a): 6u and 11u,
 *     less beyond them. Together < 12u.
 */
#include "bound/kl.h"

/* ln(b/a), also where the quotient overflows. */
static double log_ratio(double b, double a) {
    double ratio = b / a;
    return ratio > DBL_MIN && ratio <= DBL_MAX ? log(ratio) : log(b) - log(a);
}

double surety_deviance(double a, double b, double d) {
    if (a == 0) return d;
    if (b == 0) return (double)INFINITY;
    double r = d / (a + b);
    if (fabs(r) > 0.5) return d - a * log_ratio(b, a);
    double S = 0, power = 1;
    for (int k = 3; power > SURETY_U / 8; k += 2, power *= r * r) S += power / k;
    return d * r * (1 - r * (1 - r) * S);
}

double surety_kl(double a, double b) {
    if (!(a >= 0 && a <= 1 && b >= 0 && b <= 1)) return (double)NAN;
    if (a == b) return 0;
    return surety_deviance(a, b, b - a) + surety_deviance(1 - a, 1 - b, a - b);
}

/* dp/dc = p(1-p)/d and dp/dq = (p(1-p)/d) ln(1 + d/(q(1-p))), from kl(q||p) = c by implicit differentiation:
 * dkl/dp = d/(p(1-p)), dkl/dq = ln(q(1-p)/(p(1-q))). rest is 1 - p = (1-q) - d. The cases are those of the
 * header; at q = 0, d = p and dp/dc = 1 - p. */
static void gradient(double q, double d, double rest, double *dq, double *dc) {
    *dq = *dc = 0;
    if (rest <= 0) return;
    if (q == 0) {
        *dc = rest;
    } else if (d == 0) {
        *dq = 1;
        *dc = (double)INFINITY;
    } else {
        double ratio = d / q / rest;
        *dc = (q + d) * rest / d;
        *dq = *dc * (ratio <= DBL_MAX ? log1p(ratio) : log(d) - log(q) - log(rest));
    }
}

/* An upper limit of the solution d, from three that are cheap: kl(q||q+d) >= d^2 / (2(q+d)); kl >= 2 d^2
 * (Pinsker); and kl >= q ln q + (1-q) ln((1-q)/(1-p)), good near p = 1 and near q = 0. w = 1 - q. Each is
 * computed to 10u; 16u keeps it an upper limit. */
static double first_guess(double q, double w, double c) {
    double d = c + sqrt(c) * sqrt(c + 2 * q);
    d = fmin(fmin(d, sqrt(c / 2)), -w * expm1(-(c - q * log(q)) / w));
    return d * (1 + 16 * SURETY_U);
}

/* Newton's method on f(d) = kl(q||q+d), f' = d / (p(1-p)). f is convex and increasing and the start lies to
 * the right of the solution, so the iterates fall towards it; rounding ends that, and so does the loop. If
 * the start rounds to 1 - q or more, its third limit was within 17u of it, and 1 - p <= 17u e (1-q), because
 * q ln(1/q) <= 1-q: p is 1 to 6e-15. */
static double solve(double q, double w, double c) {
    enum { STEPS = 100 }; /* at most 21 were seen */
    double d = first_guess(q, w, c);
    for (int i = 0; i < STEPS && d < w && d > 0; i++) {
        double f = surety_deviance(q, q + d, d) + surety_deviance(w, w - d, -d);
        double next = d - (f - c) * (q + d) * (w - d) / d;
        if (!(next < d && next > 0)) break;
        double step = d - next;
        d = next;
        if (step <= SURETY_U * d) break;
    }
    return fmin(d, w);
}

/* Why 1 + 16u is enough. An error e in f moves p by e p(1-p)/d, relative e (1-p)/d. With z = p/q and
 * y = (1-p)/w:
 *
 * - D(q, p): outside the series (z >= 3) q (2 + 3 ln z) u / d + u <= 3.7u; inside 9u D (1-p)/d <= 9u 0.45.
 * - D(w, 1-p): outside (y <= 1/3, where w - d is exact) u (2 + 3 ln(1/y)) y/(1-y) <= 2.7u; inside 9u 0.22.
 * - w = 1 - q rounded: |dD/dw| <= d/(1-p), so u. Adding the two: u.
 *
 * Together below 9u; q + d and the product with 1 + 16u add 2u; the last Newton step leaves less than u. The
 * neighbour above covers numbers so small that 16u of them vanishes. In all at most 28u + ulp < 1e-14. */
static double finish(double p) {
    return fmin(1, surety_up(p * (1 + 16 * SURETY_U)));
}

/* Smaller q and c are raised to this, so that no product of small numbers underflows: p grows with both. */
#define SMALLEST 0x1p-1000

double surety_kl_inv(double q, double c, double *dq, double *dc) {
    double unused = 0;
    dq = dq ? dq : &unused;
    dc = dc ? dc : &unused;
    *dq = *dc = (double)NAN;
    if (!(q >= 0 && q <= 1 && c >= 0)) return (double)NAN;
    double d = 0;
    if (c > 0 && q == 0) d = -expm1(-c);
    if (c > 0 && q > 0 && q < 1) {
        q = fmax(q, SMALLEST);
        d = solve(q, 1 - q, fmax(c, SMALLEST));
    }
    gradient(q, d, (1 - q) - d, dq, dc);
    return c == 0 || q == 1 ? q : finish(q + d);
}

double surety_ratio_up(uint64_t a, uint64_t b) {
    return surety_div_up(surety_whole_up(a), surety_whole_down(b));
}

surety_status surety_distribution_validate(const double *weights, size_t H, const char *name,
                                           surety_error *err) {
    double sum = 0;
    if (!weights || H == 0) {
        surety_fail(err, SURETY_E_INPUT, "the %s is empty", name);
        surety_fail_expected(err, "one weight per voter");
        return SURETY_E_INPUT;
    }
    for (size_t h = 0; h < H; h++) {
        if (!(weights[h] >= 0 && weights[h] <= DBL_MAX)) {
            surety_fail(err, SURETY_E_INPUT, "weight %g in the %s is no probability", weights[h], name);
            surety_fail_place(err, "voter %zu", h);
            surety_fail_expected(err, "finite numbers, none negative, that sum to 1");
            return SURETY_E_INPUT;
        }
        sum += weights[h];
    }
    if (fabs(sum - 1) <= 1e-6) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the %s sums to %.9g", name, sum);
    surety_fail_expected(err, "a sum of 1 within 1e-6");
    return SURETY_E_INPUT;
}

/* With s_Q, s_P the sums as given, the normalised vectors have
 *     KL = (1/s_Q) sum_h D(Q_h, P_h) - (x - ln(1+x)),  x = s_P/s_Q - 1,  where the last bracket is >= 0,
 * so leaving it out is an upper limit, and at |x| <= 2e-6 costs at most 2e-12. Each D is raised by 32u: 12u
 * of its own, 2u + 1u for the rounded difference, the rest to spare; the neighbour above covers underflow. */
surety_status surety_kl_divergence(const double *q, const double *p, size_t H, double *kl,
                                   surety_error *err) {
    *kl = (double)NAN;
    SURETY_TRY(surety_distribution_validate(q, H, "posterior", err));
    SURETY_TRY(surety_distribution_validate(p, H, "prior", err));
    surety_mixture mix = {0, 0};
    int equal = 1;
    for (size_t h = 0; h < H; h++) {
        if (q[h] > 0 && p[h] == 0) {
            surety_fail(err, SURETY_E_INPUT, "the prior is 0 where the posterior is %g", q[h]);
            surety_fail_place(err, "voter %zu", h);
            surety_fail_expected(err, "a prior that is positive wherever the posterior is");
            return SURETY_E_INPUT;
        }
        if (q[h] != p[h]) {
            equal = 0;
            double raised = surety_deviance(q[h], p[h], p[h] - q[h]) * (1 + 32 * SURETY_U);
            mix.sum = surety_add_up(mix.sum, surety_up(raised));
        }
        mix.weight = surety_add_down(mix.weight, q[h]);
    }
    *kl = equal ? 0 : surety_mixture_mean(&mix);
    return SURETY_OK;
}

surety_status surety_posterior_mean(const double *q, const double *values, size_t H, double *mean,
                                    surety_error *err) {
    *mean = (double)NAN;
    SURETY_TRY(surety_distribution_validate(q, H, "posterior", err));
    surety_mixture mix = {0, 0};
    for (size_t h = 0; h < H; h++) {
        if (!(values[h] >= 0 && values[h] <= 1)) {
            surety_fail(err, SURETY_E_INPUT, "the value %g of a voter is out of range", values[h]);
            surety_fail_place(err, "voter %zu", h);
            surety_fail_expected(err, "a number in [0, 1]");
            return SURETY_E_INPUT;
        }
        surety_mixture_add(&mix, q[h], values[h]);
    }
    *mean = fmin(1, surety_mixture_mean(&mix));
    return SURETY_OK;
}
