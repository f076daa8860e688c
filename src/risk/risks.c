/* Risks and surrogates from the integer sums (docs/theory.md 4.1, 4.2).
 *
 * Rbar and Gmax are linear in Q, so the sums of each voter give them for every Q:
 *   Rbar = sum_h Q_h r_h,  r_h = loss[h] / (m n),       Gmax the same with max_loss[h] / m.
 * In theta, Q = softmax(theta), dQ_k/dtheta_h = Q_k ([k = h] - Q_h) gives d/dtheta_h = Q_h (r_h - sum_k Q_k
 * r_k). Abar = mean_i max_j E_Q l_ij has, where the maximum is attained once, the gradient of the j that
 * attains it.
 */
#include <math.h>

#include "risk/accumulate.h"
#include "risk/simplex.h"

void surety_risks_fill(surety_risks *out, int64_t *sums, size_t H, size_t n) {
    *out = (surety_risks){
        .m = (uint64_t)sums[SURETY_RISK_EXAMPLES],
        .n = n,
        .voters = H,
        .wrong = sums[SURETY_RISK_WRONG],
        .tied = sums[SURETY_RISK_TIED],
        .max_wrong = sums[SURETY_RISK_MAX_WRONG],
        .max_tied = sums[SURETY_RISK_MAX_TIED],
        .prior_wrong = sums[SURETY_RISK_PRIOR_WRONG],
        .prior_max_wrong = sums[SURETY_RISK_PRIOR_MAX_WRONG],
        .abar_sum = sums[SURETY_RISK_ABAR],
        .tv_sum = sums[SURETY_RISK_TV],
        .tv_published_sum = sums[SURETY_RISK_TV_PUBLISHED],
        .tandem_sum = sums[SURETY_RISK_TANDEM],
    };
    const int64_t *arrays = sums + SURETY_RISK_HEAD;
    out->loss = arrays + SURETY_RISK_LOSS * H;
    out->max_loss = arrays + SURETY_RISK_MAX_LOSS * H;
    out->worst_loss = arrays + SURETY_RISK_WORST_LOSS * H;
    out->errors = arrays + SURETY_RISK_ERRORS * H;
    out->anchored_loss = arrays + SURETY_RISK_ANCHORED_LOSS * H;
    out->anchored_max = arrays + SURETY_RISK_ANCHORED_MAX * H;
    out->anchored_errors = arrays + SURETY_RISK_ANCHORED_ERRORS * H;
    out->memory = sums;
}

void surety_risks_free(surety_risks *risks) {
    if (!risks) return;
    surety_free(risks->memory);
    *risks = (surety_risks){0};
}

static double at_most_one(double x) {
    return x < 1 ? x : 1;
}

/* sum / (count 2^32), rounded up: the conversion, the product and the quotient are each off by at most 2^-53.
 */
static double mean_up(int64_t sum, double count) {
    return at_most_one((double)sum * (1 + 0x1p-50) / (count * (double)SURETY_LOSS_ONE));
}

static const int64_t *sums_of(const surety_risks *r, surety_surrogate which) {
    return which == SURETY_RBAR ? r->loss : which == SURETY_GMAX ? r->max_loss : r->worst_loss;
}

static double votes_of(const surety_risks *r, surety_surrogate which) {
    return which == SURETY_RBAR ? (double)r->m * (double)r->n : (double)r->m;
}

double surety_risks_surrogate(const surety_risks *r, surety_surrogate which, const double *q) {
    if (which == SURETY_ABAR) return r->abar;
    const int64_t *sums = sums_of(r, which);
    double total = 0;
    for (size_t h = 0; h < r->voters; h++) total += surety_simplex_weight(q[h]) * (double)sums[h];
    total *= surety_simplex_raise(q, r->voters, 2 * (double)r->voters + 8);
    return at_most_one(total / (votes_of(r, which) * (double)SURETY_LOSS_ONE));
}

void surety_risks_gradient(const surety_risks *r, surety_surrogate which, const double *q, double *gradient) {
    const int64_t *sums = sums_of(r, which);
    double scale = 1 / (votes_of(r, which) * (double)SURETY_LOSS_ONE), mean = 0;
    for (size_t h = 0; h < r->voters; h++) mean += q[h] * ((double)sums[h] * scale);
    for (size_t h = 0; h < r->voters; h++) gradient[h] = q[h] * ((double)sums[h] * scale - mean);
}

void surety_risks_finish(surety_risks *r, const double *q) {
    double m = (double)r->m, votes = m * (double)r->n;
    r->averaged = (double)(r->wrong + r->tied) / votes;
    r->averaged_max = (double)(r->max_wrong + r->max_tied) / m;
    r->averaged_half_ties = (double)(2 * r->wrong + r->tied) / (2 * votes);
    r->averaged_max_half_ties = (double)(2 * r->max_wrong + r->max_tied) / (2 * m);
    r->rbar = surety_risks_surrogate(r, SURETY_RBAR, q);
    r->gmax = surety_risks_surrogate(r, SURETY_GMAX, q);
    r->abar = mean_up(r->abar_sum, m);
    if (r->abar > r->gmax) r->abar = r->gmax; /* Abar <= Gmax, and both are upper limits */
    r->tv = mean_up(r->tv_sum, m);
    r->tv_published = mean_up(r->tv_published_sum, m);
    r->tandem = mean_up(r->tandem_sum, votes);
}
