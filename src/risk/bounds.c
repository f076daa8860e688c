/* From risks to bounds: what surety/bound.h asks for, filled from the sums (docs/theory.md 4.5). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "risk/json.h"
#include "risk/vote.h"

void surety_risks_evidence(const surety_risks *r, surety_risk_kind kind, surety_evidence *out) {
    int averaged = kind == SURETY_RISK_AVERAGED;
    int binary = !averaged || r->n == 1; /* an example of the vote is right or wrong; of a signed voter too */
    *out = surety_bound_input_defaults().averaged;
    out->gibbs = averaged ? r->rbar : r->gmax;
    out->loss = averaged ? r->mean_loss : r->mean_max_loss;
    if (r->signed_votes && binary) out->loss_sum = r->errors;
    if (r->has_coins && !out->loss_sum) out->coin_sum = averaged ? r->coins : r->max_coins;
    if (!r->has_prior) return;
    if (r->has_coins && !binary) out->prior_coins = r->prior_coins;
    out->prior_risk =
        averaged ? surety_ratio_up(r->prior_wrong, r->m * r->n) : surety_ratio_up(r->prior_max_wrong, r->m);
    if (binary) out->prior_wrong = r->prior_max_wrong;
    out->kept = averaged ? r->mean_anchored_loss : r->mean_anchored_max;
    if (r->signed_votes && binary) out->kept_sum = r->anchored_errors;
}

surety_status surety_risks_input(const surety_risks *r, const double *q, const double *p,
                                 surety_bound_input *input, surety_error *err) {
    input->m = r->m;
    input->H = r->voter_count;
    input->posterior = q;
    input->frozen = memcmp(q, p, r->voter_count * sizeof *q) == 0;
    SURETY_TRY(surety_kl_divergence(q, p, r->voter_count, &input->kl, err));
    surety_risks_evidence(r, SURETY_RISK_AVERAGED, &input->averaged);
    surety_risks_evidence(r, SURETY_RISK_AVERAGED_MAX, &input->averaged_max);
    input->abar = r->abar;
    input->tv = r->tv;
    input->tandem = r->tandem;
    return SURETY_OK;
}

surety_status surety_risks_bounds(const surety_bound_input *input, surety_bound_value values[SURETY_BOUNDS],
                                  surety_error *err) {
    double margin = surety_vote_margin(input->H);
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        surety_bound_value *value = &values[id];
        SURETY_TRY(surety_bound_compute((surety_bound_id)id, input, value, err));
        if (!value->available || surety_bound_list()[id].margin != SURETY_MARGIN_VOTE) continue;
        value->vote += margin;
        value->vote_clipped = value->vote < 1 ? value->vote : 1;
    }
    return SURETY_OK;
}

/* m means of n votes each, in [0,1], whose mean is q: P[mean >= q] <= e^(-m kl(q||p)) for p < q, as for m
 * coins (Hoeffding 1963). kl is off by 1e-14 of itself, q rounded down. */
static double mean_chance(uint64_t failed, uint64_t votes, uint64_t m, double p) {
    double q = nextafter((double)failed / (double)votes, 0);
    return q <= p ? 1 : fmin(1, exp(-(double)m * surety_kl(q, p) * (1 - 1e-13)) * (1 + 1e-13));
}

surety_refutation surety_risks_refute(const surety_risks *t, surety_risk_kind kind, double limit) {
    surety_refutation r = {.m = t->m, .failed = t->max_wrong + t->max_tied, .limit = limit, .chance = 1};
    int averaged = kind == SURETY_RISK_AVERAGED && t->n > 1;
    if (averaged) r.m = t->m * t->n, r.failed = t->wrong + t->tied;
    if (t->m && limit < 1)
        r.chance =
            averaged ? mean_chance(r.failed, r.m, t->m, limit) : surety_binomial_tail(r.failed, r.m, limit);
    r.refuted = r.chance < SURETY_IMPOSSIBLE;
    return r;
}

/* object[name] = value; on failure the object is released and NULL comes back. */
static json_t *put(json_t *object, const char *name, json_t *value) {
    if (json_object_set_new(object, name, value) == 0) return object;
    json_decref(object);
    return NULL;
}

json_t *surety_bounds_object(const surety_bound_value values[SURETY_BOUNDS]) {
    const surety_bound_info *list = surety_bound_list();
    json_t *bounds = json_object();
    for (int id = 0; id < SURETY_BOUNDS && bounds; id++) {
        const surety_bound_value *v = &values[id];
        if (!v->available) continue;
        bounds = put(bounds, list[id].name,
                     SURETY_JSON_OBJECT({"surrogate", surety_json_real(v->surrogate)},
                                        {"vote", surety_json_real(v->vote)},
                                        {"vote_clipped", surety_json_real(v->vote_clipped)},
                                        {"risk", surety_json_string(surety_risk_kind_name(list[id].risk))},
                                        {"event", surety_json_string(list[list[id].event].name)}));
    }
    return bounds;
}

json_t *surety_bounds_missing(const surety_bound_value values[SURETY_BOUNDS]) {
    json_t *missing = json_object();
    for (int id = 0; id < SURETY_BOUNDS && missing; id++)
        if (!values[id].available)
            missing = put(missing, surety_bound_list()[id].name, surety_json_string(values[id].missing));
    return missing;
}
