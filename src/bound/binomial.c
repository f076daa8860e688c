/* The one-sided exact binomial limit of Clopper and Pearson (docs/theory.md 4.5): the smallest p with
 * F(p) = P[Bin(m,p) <= k] <= delta, from above.
 *
 * Both tails are written as "at least r successes among m, each with chance x":
 *     F(p)     = at least m-k successes with x = 1-p     solved where delta <= 1/2: then p >= k/m
 *     1 - F(p) = at least k+1 successes with x = p       solved where delta > 1/2: then p <= (k+1)/m
 * (where mx is whole it is the median), so the probability that is computed is always the small one, and it
 * is a sum that falls from its first term: t_r (1 + ratio_r + ratio_r ratio_(r+1) + ..) = t_r S, with
 *     t_(j+1) / t_j = ratio_j = (m-j)/(j+1) x/(1-x),   ratio_r < 1,
 *     ln t_r = - m kl(r/m||x) + stirling(m) - stirling(r) - stirling(m-r) + ln(m / (2 pi r (m-r))) / 2
 * (C. Loader 2000), stirling(n) = ln n! - ((n + 1/2) ln n - n + ln(2 pi)/2). Its derivative needs no second
 * sum:
 *     d ln(tail) / d ln x = r / S,   falling in x,
 * so the logarithm of the tail is concave in ln x and Newton's method needs no safeguard.
 *
 * Soundness does not rest on the search: the last step accepts p only if the tail plus a bound on its
 * rounding error is on the right side of delta (the true tail is monotone in p), and raises p until it is.
 */
#include "bound/binomial.h"

typedef struct tail {
    double ln;    /* logarithm of the probability, as computed */
    double slack; /* |ln - exact| is at most this */
    double slope; /* its derivative in ln x */
} tail;

/* stirling(n), n >= 1, within 2u. From 16 on its series, whose first omitted term is 1.1e-16 there. */
static double stirling(double n) {
    static const double table[16] = {0,
                                     0x1.4c071bcda0a5bp-4,
                                     0x1.52a9b923ea649p-5,
                                     0x1.c579a268d80b3p-6,
                                     0x1.54a2662fd78a9p-6,
                                     0x1.10b4e513fcbedp-6,
                                     0x1.c6b167bebdf36p-7,
                                     0x1.85d4d612e4a86p-7,
                                     0x1.552805e7b3076p-7,
                                     0x1.2f4871b12ab64p-7,
                                     0x1.10f9d4c0743a7p-7,
                                     0x1.f0593088014f8p-8,
                                     0x1.c7018733aa9c6p-8,
                                     0x1.a40514700f36cp-8,
                                     0x1.86076c002d4a7p-8,
                                     0x1.6c08f6f194a10p-8};
    if (n < 16) return table[(int)n];
    double s = 1 / (n * n);
    return (1. / 12 - s * (1. / 360 - s * (1. / 1260 - s * (1. / 1680 - s / 1188)))) / n;
}

/* S of the head comment, and in *terms how many were added. The rest is left out once it is below 2^-60 S
 * (the ratios fall, so it is at most the last term / (1 - ratio)). */
static double tail_sum(double r, double m, double odds, double *terms) {
    double S = 1, t = 1, j = r;
    while (j < m) {
        double ratio = (m - j) * odds / (j + 1);
        t *= ratio;
        S += t;
        j++;
        if (t < 0x1p-60 * S * (1 - ratio)) break;
    }
    *terms = j - r + 1;
    return S;
}

/* P[at least r successes], 1 <= r < m, chance x, y = 1 - x (one of them rounded), excess = m x - r to u. The
 * slack, in u:
 *
 * - D + D' = m kl: 12 of its own, 4 (excess enters squared, and by r), 7 (m x and m y rounded: 3u in a
 *   logarithm, against D >= 0.43 a); 3 for adding to the rest: 26. Taken as 32.
 * - The constants: Stirling 6; the argument of the logarithm 5, halved, its value below 12 (m <= 2^32) times
 *   2; ln S <= 23 times 2; additions; what is left out of S: below 120. Taken as 160.
 * - S: each ratio is off by 4 (odds 2, two operations), each product and each addition by 1: 6 per term.
 *   Taken as 8. */
static tail at_least(double r, double m, double x, double y, double excess) {
    const double two_pi = 0x1.921fb54442d18p+2;
    double terms, S = tail_sum(r, m, x / y, &terms);
    double D = surety_deviance(r, m * x, excess) + surety_deviance(m - r, m * y, -excess);
    double constant = stirling(m) - stirling(r) - stirling(m - r) + log(m / (two_pi * r * (m - r))) / 2;
    return (tail){constant + log(S) - D, SURETY_U * (32 * D + 160 + 8 * terms), r / S};
}

/* k = 0: (1-p)^m = delta, p = 1 - e^(-C/m). k = m-1: p^m = 1 - delta. Each step is off by at most 2u of
 * itself (ulp); l = ln(1 - delta) / m <= 0 is lowered in size by 16u, the results raised by 16u. */
static double limit_none(double m, double C) {
    return fmin(1, -expm1(-surety_div_up(C, m)) * (1 + 16 * SURETY_U));
}

static double limit_all_but_one(double m, double C) {
    double l = (C < 0.5 ? log(-expm1(-C)) : log1p(-exp(-C))) / m;
    return fmin(1, exp(l * (1 - 16 * SURETY_U)) * (1 + 16 * SURETY_U));
}

/* delta <= 1/2: how far ln F(p) is above ln delta at worst; p is safe if that is not positive. Its slope is
 * in ln(1-p). */
static double above_lower(double k, double m, double C, double p, double *slope) {
    tail F = at_least(m - k, m, 1 - p, p, -fma(m, p, -k));
    *slope = F.slope;
    return F.ln + F.slack + C;
}

/* delta > 1/2: how far ln(1 - F(p)) is below ln(1 - delta) at worst. Its slope is in ln p. ln(1 - delta) is
 * off by 2u for expm1 and 2u of itself for log; taken as 4u and 4u. */
static double below_upper(double k, double m, double C, double p, double *slope) {
    tail G = at_least(k + 1, m, p, 1 - p, fma(m, p, -(k + 1)));
    double l = log(-expm1(-C));
    *slope = G.slope;
    return l + 4 * SURETY_U * (1 - l) - (G.ln - G.slack);
}

/* Newton's method. Lower tail: in ln(1-p), from the Chernoff limit, which is above the solution. Upper tail:
 * in ln p from (k+1)/m; the first step may pass far below. A step below 2^-40 p is the last: the one after it
 * would be rounding noise (convergence is quadratic). At most 8 steps were seen. */
static double newton(double k, double m, double C, int lower) {
    enum { STEPS = 60 };
    double p = lower ? surety_kl_inv(k / m, C / m, NULL, NULL) : (k + 1) / m, slope;
    for (int i = 0; i < STEPS && p < 1; i++) {
        double before = p;
        if (lower) {
            double excess = above_lower(k, m, C, p, &slope);
            p += (1 - p) * -expm1(-excess / slope);
        } else {
            double lack = below_upper(k, m, C, p, &slope);
            p *= exp(lack / slope);
        }
        if (fabs(p - before) <= 0x1p-40 * p) break;
    }
    return p;
}

double surety_binomial_limit_log(uint64_t k, uint64_t m, double C) {
    if (k >= m) return 1;
    double kd = (double)k, md = (double)m, slope;
    if (k == 0) return limit_none(md, C);
    if (k == m - 1) return limit_all_but_one(md, C);
    const double ln_2 = 0x1.62e42fefa39efp-1; /* on which side a C next to it falls does not matter */
    int lower = C >= ln_2;
    double p = newton(kd, md, C, lower);
    for (double raise = 2 * SURETY_U; p < 1; raise *= 2) { /* three times at most were seen */
        double wrong = lower ? above_lower(kd, md, C, p, &slope) : below_upper(kd, md, C, p, &slope);
        if (wrong <= 0) return p;
        p = surety_up(p * (1 + raise));
    }
    return 1;
}

double surety_binomial_limit(uint64_t k, uint64_t m, double delta) {
    if (k > m || m < 1 || m > SURETY_M_LIMIT || !(delta > 0 && delta < 1)) return (double)NAN;
    return surety_binomial_limit_log(k, m, -surety_log_down(delta));
}

/* ln p^m <= 0 is off by 3u of itself; exp and the last product by 3u: 16u each. */
double surety_binomial_tail(uint64_t k, uint64_t m, double p) {
    if (k > m || m < 1 || m > SURETY_M_LIMIT || !(p >= 0 && p <= 1)) return (double)NAN;
    double kd = (double)k, md = (double)m, ln;
    if (kd <= md * p) return 1;
    if (p == 0) return 0;
    if (k == m) {
        ln = md * log(p) * (1 - 16 * SURETY_U);
    } else {
        tail T = at_least(kd, md, p, 1 - p, fma(md, p, -kd));
        ln = T.ln + T.slack;
    }
    return fmin(1, surety_up(exp(ln) * (1 + 16 * SURETY_U)));
}
