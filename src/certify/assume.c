/* The limit under further assumptions (docs/theory.md 12.9, 12.10): labels of S may be wrong, and then new
 * inputs may follow another law. Both are conditionals: S cannot show whether they hold. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "certify/certifying.h"

/* Whether the perturbations do not look at the label; of several random points the worst one counts. */
static int ignores_label(const surety_threat *t) {
    return t->kind == SURETY_WORST_CASE || t->kind == SURETY_ATTACK_NONE ||
           (t->kind == SURETY_ATTACK_UNIF && t->restarts == 1);
}

static surety_status check_noise(const surety_certifying *w, surety_error *err) {
    const surety_certify_settings *s = w->s;
    if (!(s->noise_share > 0 && s->noise_share < 1))
        return surety_fail(err, SURETY_E_USAGE, "a share of wrong labels is above 0 and below 1, not %g",
                           s->noise_share);
    if (s->noise == SURETY_NOISE_FLIPS && !ignores_label(&s->threat)) {
        surety_fail(err, SURETY_E_CHECK,
                    "flips of labels say nothing about %s, which looks at the label that was flipped",
                    surety_threat_name(s->threat.kind));
        surety_fail_expected(err, "--attack worst-case, none or unif; or label noise pairs or rows");
        return SURETY_E_CHECK;
    }
    if (s->noise != SURETY_NOISE_FLIPS && w->units) {
        surety_fail(err, SURETY_E_CHECK,
                    "a share of wrong labels says nothing about units: one wrong label is enough to make a "
                    "unit fail, or right");
        surety_fail_expected(err, "label noise flips");
        return SURETY_E_CHECK;
    }
    int counts = w->named && w->named->q == SURETY_Q_FROZEN && w->named->risk != SURETY_RISK_AVERAGED;
    if (s->noise != SURETY_NOISE_ROWS || (counts && s->statement == SURETY_SAY_LIMIT)) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK,
                "wrong rows of S are added to the failures that were counted, and this certificate counts "
                "none at one radius");
    surety_fail_expected(err, "one limit by vote_frozen_max or worst_case_frozen; or label noise pairs");
    return SURETY_E_CHECK;
}

surety_status surety_certifying_check_assumed(const surety_certifying *w, surety_error *err) {
    const surety_certify_settings *s = w->s;
    if (!s->noise && !s->shift) return SURETY_OK;
    if (s->statement != SURETY_SAY_LIMIT && s->statement != SURETY_SAY_RADIUS)
        return surety_fail(err, SURETY_E_USAGE,
                           "label noise and a shift change one limit, and a statement about %s has several",
                           surety_statement_name(s->statement));
    if (s->shift && !(s->shift_budget >= (s->shift == SURETY_SHIFT_RATIO ? 1 : 0) && s->shift_budget < 1e300))
        return surety_fail(err, SURETY_E_USAGE, "a shift %s is at least %d, not %g",
                           surety_shift_name(s->shift), s->shift == SURETY_SHIFT_RATIO, s->shift_budget);
    return s->noise ? check_noise(w, err) : SURETY_OK;
}

/* ROWS: the limit if so many more of S had failed. */
static surety_status add_rows(surety_certifying *w, double *limit, surety_error *err) {
    uint64_t m = w->risks.m, failed = w->risks.max_wrong + w->risks.max_tied,
             more = surety_label_noise_rows(w->s->noise_share, m);
    failed = more < m - failed ? failed + more : m;
    return surety_certifying_limit(w, m, failed, w->c->inputs.delta_share, limit, err);
}

static surety_status right_labels(surety_certifying *w, double *limit, surety_error *err) {
    const surety_certify_settings *s = w->s;
    size_t K = surety_voters_classes(surety_model_voters(w->model));
    if (s->noise == SURETY_NOISE_ROWS) return add_rows(w, limit, err);
    double found = *limit;
    *limit = surety_label_noise_limit(s->noise, s->noise_share, found, K);
    if (!isnan(*limit)) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK,
                "S refutes the label noise that is assumed: at least %g of all labels flipped, and the vote "
                "fails on at most %.4f",
                s->noise_share, ceil(found * 1e4) / 1e4);
    surety_fail_expected(err, "a share of flips that is below the limit and below (K-1)/K");
    return SURETY_E_CHECK;
}

surety_status surety_certifying_assume(surety_certifying *w, surety_error *err) {
    const surety_certify_settings *s = w->s;
    surety_certificate *c = w->c;
    double limit = fmin(c->value, 1);
    if (!s->noise && !s->shift) return SURETY_OK;
    if (s->noise) {
        SURETY_TRY(right_labels(w, &limit, err));
        snprintf(c->assumed.noise, sizeof c->assumed.noise, "%s", surety_label_noise_name(s->noise));
        c->assumed.noise_share = s->noise_share;
    }
    if (s->shift) {
        limit = surety_shift_limit(s->shift, s->shift_budget, limit);
        snprintf(c->assumed.shift, sizeof c->assumed.shift, "%s", surety_shift_name(s->shift));
        c->assumed.shift_budget = s->shift_budget;
    }
    c->assumed.value = limit;
    return SURETY_OK;
}
