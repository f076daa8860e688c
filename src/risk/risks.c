/* Risks and surrogates from the integer sums (docs/theory.md 4.1, 4.2), and what the bounds need of them
 * (4.5).
 *
 * Rbar and Gmax are linear in Q, so the means of each voter give them for every Q:
 *   Rbar = sum_h Q_h r_h,  r_h = loss[h] / (m n),       Gmax the same with max_loss[h] / m.
 * In theta, Q = softmax(theta), dQ_k/dtheta_h = Q_k ([k = h] - Q_h) gives d/dtheta_h = Q_h (r_h - sum_k Q_k
 * r_k). Abar = mean_i max_j E_Q l_ij has, where the maximum is attained once, the gradient of the j that
 * attains it.
 */
#include <math.h>
#include <string.h>

#include "risk/accumulate.h"
#include "risk/json.h"

static double mean_up(uint64_t sum, uint64_t count) {
    double mean = surety_ratio_up(sum, count) * 0x1p-32;
    return mean < 1 ? mean : 1;
}

static void name_sums(surety_risks *out, const uint64_t *sums) {
    out->wrong = sums[SURETY_RISK_WRONG];
    out->tied = sums[SURETY_RISK_TIED];
    out->max_wrong = sums[SURETY_RISK_MAX_WRONG];
    out->max_tied = sums[SURETY_RISK_MAX_TIED];
    out->prior_wrong = sums[SURETY_RISK_PRIOR_WRONG];
    out->prior_max_wrong = sums[SURETY_RISK_PRIOR_MAX_WRONG];
    out->abar_sum = sums[SURETY_RISK_ABAR];
    out->tv_sum = sums[SURETY_RISK_TV];
    out->tandem_sum = sums[SURETY_RISK_TANDEM];
    out->prior_coins = sums[SURETY_RISK_PRIOR_COINS];
    const uint64_t *arrays = sums + SURETY_RISK_HEAD;
    size_t H = out->voter_count;
    out->loss = arrays + SURETY_RISK_LOSS * H;
    out->max_loss = arrays + SURETY_RISK_MAX_LOSS * H;
    out->worst_loss = arrays + SURETY_RISK_WORST_LOSS * H;
    out->anchored_loss = arrays + SURETY_RISK_ANCHORED_LOSS * H;
    out->anchored_max = arrays + SURETY_RISK_ANCHORED_MAX * H;
    out->errors = arrays + SURETY_RISK_ERRORS * H;
    out->anchored_errors = arrays + SURETY_RISK_ANCHORED_ERRORS * H;
    out->coins = arrays + SURETY_RISK_COINS * H;
    out->max_coins = arrays + SURETY_RISK_MAX_COINS * H;
    out->class_examples = arrays + SURETY_RISK_ARRAYS * H;
    out->class_failed = out->class_examples + out->classes;
}

static void name_means(surety_risks *out, double *means, const uint64_t *sums) {
    size_t H = out->voter_count;
    for (size_t k = 0; k < SURETY_RISK_LOSSES * H; k++) {
        size_t array = k / H;
        int over_j = array == SURETY_RISK_LOSS || array == SURETY_RISK_ANCHORED_LOSS;
        means[k] = mean_up(sums[SURETY_RISK_HEAD + k], over_j ? out->m * out->n : out->m);
    }
    out->mean_loss = means + SURETY_RISK_LOSS * H;
    out->mean_max_loss = means + SURETY_RISK_MAX_LOSS * H;
    out->mean_worst_loss = means + SURETY_RISK_WORST_LOSS * H;
    out->mean_anchored_loss = means + SURETY_RISK_ANCHORED_LOSS * H;
    out->mean_anchored_max = means + SURETY_RISK_ANCHORED_MAX * H;
}

static surety_status fill_risks(surety_risks *r, const double *q, surety_error *err) {
    double m = (double)r->m, votes = m * (double)r->n;
    r->averaged = (double)(r->wrong + r->tied) / votes;
    r->averaged_max = (double)(r->max_wrong + r->max_tied) / m;
    SURETY_TRY(surety_posterior_mean(q, r->mean_loss, r->voter_count, &r->rbar, err));
    SURETY_TRY(surety_posterior_mean(q, r->mean_max_loss, r->voter_count, &r->gmax, err));
    r->abar = mean_up(r->abar_sum, r->m);
    if (r->abar > r->gmax) r->abar = r->gmax; /* Abar <= Gmax, and both are upper limits */
    r->tv = mean_up(r->tv_sum, r->m);
    r->tandem = mean_up(r->tandem_sum, r->m * r->n);
    return SURETY_OK;
}

surety_status surety_risks_from_sums(surety_risks *out, const int64_t *sums, size_t H, size_t n, size_t K,
                                     const double *q, surety_error *err) {
    *out = (surety_risks){0};
    if (sums[SURETY_RISK_EXAMPLES] == 0)
        return surety_fail(err, SURETY_E_USAGE, "no example was added: there is no risk to report");
    size_t count = surety_risk_sums(H, K);
    uint64_t *facts = NULL;
    SURETY_TRY(surety_alloc(&facts, count + SURETY_RISK_LOSSES * H, sizeof *facts, err));
    *out = (surety_risks){
        .m = (uint64_t)sums[SURETY_RISK_EXAMPLES], .n = n, .voter_count = H, .classes = K, .memory = facts};
    double *means = (double *)(void *)(facts + count);
    memcpy(facts, sums, count * sizeof *facts);
    name_sums(out, facts);
    name_means(out, means, facts);
    surety_status status = fill_risks(out, q, err);
    if (status != SURETY_OK) surety_risks_free(out);
    return status;
}

void surety_risks_free(surety_risks *risks) {
    if (!risks) return;
    surety_free(risks->memory);
    surety_free(risks->groups);
    *risks = (surety_risks){0};
}

void surety_risks_gradient(const surety_risks *r, surety_surrogate which, const double *q, double *gradient) {
    const double *means = which == SURETY_RBAR   ? r->mean_loss
                          : which == SURETY_GMAX ? r->mean_max_loss
                                                 : r->mean_worst_loss;
    double mean = 0;
    for (size_t h = 0; h < r->voter_count; h++) mean += q[h] * means[h];
    for (size_t h = 0; h < r->voter_count; h++) gradient[h] = q[h] * (means[h] - mean);
}

static json_t *classes_array(const surety_risks *r) {
    json_t *array = json_array();
    for (size_t k = 0; k < r->classes && array; k++) {
        json_t *one = SURETY_JSON_OBJECT({"examples", surety_json_count(r->class_examples[k])},
                                         {"failed", surety_json_count(r->class_failed[k])});
        if (json_array_append_new(array, one) == 0) continue;
        json_decref(array);
        array = NULL;
    }
    return array;
}

json_t *surety_risks_object(const surety_risks *r) {
    return SURETY_JSON_OBJECT({"averaged", surety_json_real(r->averaged)},
                              {"averaged_max", surety_json_real(r->averaged_max)},
                              {"rbar", surety_json_real(r->rbar)}, {"abar", surety_json_real(r->abar)},
                              {"gmax", surety_json_real(r->gmax)}, {"tv", surety_json_real(r->tv)},
                              {"tandem", surety_json_real(r->tandem)}, {"classes", classes_array(r)});
}

char *surety_risks_json(const surety_risks *r) {
    return surety_json_text(surety_risks_object(r));
}
