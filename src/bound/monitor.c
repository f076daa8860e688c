/* After deployment: does the promise still hold? (docs/theory.md 12.8)
 *
 * Outcomes arrive one by one; k of t failed. For a rival risk q > r with odds e^c times those of r, the
 * likelihood ratio is
 *     (q/r)^k ((1-q)/(1-r))^(t-k) = exp(c k - t ln(1 + r (e^c - 1))),
 * and M_t is its mean over the rivals c = 1/4, 2/4, .. 32/4 with equal weights. While the risk is r or less,
 * E[M_t] <= 1 whenever one stops (Ville): M_t ever reaches 1/alpha with probability alpha at most.
 *
 * The same against p, with rivals of smaller odds:
 *     exp(-c k - t ln(1 - p (1 - e^-c))),
 * which grows in p, so the risks p that are not refuted are those up to one number: the limit. */
#include "bound/kl.h"

enum { RIVALS = 32 };

static double rival(int j) {
    return (double)(j + 1) / 4;
}

/* ln of the mean of e^s over the rivals. */
static double log_mean(const double s[RIVALS]) {
    double most = s[0], sum = 0;
    for (int j = 1; j < RIVALS; j++) most = fmax(most, s[j]);
    for (int j = 0; j < RIVALS; j++) sum += exp(s[j] - most);
    return most + log(sum / RIVALS);
}

/* What roundings can add up to in s: c k and t ln(..) to 4u each, their difference, exp, sum and log: 64u of
 * the largest, and 1e-13. */
static double slack(const surety_monitor *m) {
    return 64 * SURETY_U * (8 * ((double)m->failed + (double)m->seen)) + 1e-13;
}

double surety_monitor_evidence(const surety_monitor *m) {
    double s[RIVALS], k = (double)m->failed, t = (double)m->seen;
    for (int j = 0; j < RIVALS; j++) s[j] = rival(j) * k - t * log1p(m->promise * expm1(rival(j)));
    return log_mean(s);
}

surety_status surety_monitor_start(double promise, double alpha, surety_monitor *m, surety_error *err) {
    if (!(promise >= 0)) return surety_fail(err, SURETY_E_USAGE, "a promise is at least 0, not %g", promise);
    if (!(alpha > 0 && alpha < 1))
        return surety_fail(err, SURETY_E_USAGE, "alpha is above 0 and below 1, not %g", alpha);
    *m = (surety_monitor){.promise = fmin(promise, 1), .alpha = alpha};
    return SURETY_OK;
}

/* promise 1: ln(1 + e^c - 1) = c, so that no evidence is above 0. promise 0: the first failure is an alarm,
 * s = c k. */
int surety_monitor_add(surety_monitor *m, int failed) {
    if (m->seen >= SURETY_M_LIMIT) return m->alarm > 0;
    m->seen++;
    m->failed += failed != 0;
    if (m->alarm || !failed) return m->alarm > 0; /* evidence falls where nothing fails */
    int refuted =
        m->promise == 0 || surety_monitor_evidence(m) - slack(m) >= -log(m->alpha) * (1 + 4 * SURETY_U);
    if (refuted && m->promise < 1) m->alarm = m->seen;
    return m->alarm > 0;
}

static int refutes(const surety_monitor *m, double p) {
    double s[RIVALS], k = (double)m->failed, t = (double)m->seen;
    for (int j = 0; j < RIVALS; j++) s[j] = -rival(j) * k - t * log1p(p * expm1(-rival(j)));
    return log_mean(s) - slack(m) >= -log(m->alpha) * (1 + 4 * SURETY_U);
}

double surety_monitor_limit(const surety_monitor *m) {
    double low = m->seen ? (double)m->failed / (double)m->seen : 0, high = 1;
    if (!m->seen || !refutes(m, 1 - 0x1p-53)) return 1;
    high = 1 - 0x1p-53;
    for (int i = 0; i < 200 && surety_up(low) < high; i++) {
        double p = low + (high - low) / 2;
        if (refutes(m, p))
            high = p;
        else
            low = p;
    }
    return high;
}
