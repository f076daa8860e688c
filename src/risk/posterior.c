/* Learning the posterior: the Q that minimises a bound (docs/theory.md 4.3, 4.5) on all of S.
 *
 * With r_h the mean loss of voter h on S, R = sum_h Q_h r_h and K = KL(Q||P), the bounds that can be learned
 * are of two kinds (surety_bound_info.learn: SURETY_LEARN_GIBBS, SURETY_LEARN_LEAST):
 *
 * 1. B(R, K), growing in both. At a minimum over the simplex all derivatives in Q_h are equal,
 *      B_R r_h + B_K (ln(Q_h / P_h) + 1) = const,   so   Q_h = P_h exp(-beta r_h) / Z,   beta = B_R / B_K:
 *    the search is along one line, beta >= 0. There dR/dbeta = -V and dK/dbeta = beta V, V the variance of r
 * under Q, so B falls where beta < B_R / B_K and grows where it is greater: a bracket and bisection on the
 * sign find the minimum to the last bits, O(H) a step. (Gibbs posteriors: Catoni 2007; the alternation beta
 * <- B_R / B_K is the one of Thiemann et al. 2017, of which this is the solution.) If some voters have no
 * loss at all, the minimum may lie at beta = infinity: P restricted to these voters.
 * 2. sum_h Q_h U_h without KL: all weight on the voters with the least loss, in the proportions of P.
 *
 * Learning on S costs nothing here: these bounds hold for all Q at once.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "risk/simplex.h"
#include "surety/risk.h"

typedef struct search {
    size_t H;
    const double *p, *r; /* (H) prior, mean losses */
    double *q;           /* (H) */
    const surety_bound_info *objective;
    surety_bound_input input;
    double *gibbs; /* where in input R goes */
    surety_bound_value value;
    double slope; /* the sign of dB/dbeta */
    uint64_t steps;
} search;

/* q = P exp(-beta r) / Z, least loss taken out first so that Z cannot vanish; beta may be infinite. */
static void gibbs_weights(search *s, double beta) {
    double least = s->r[0];
    for (size_t h = 1; h < s->H; h++) least = s->r[h] < least ? s->r[h] : least;
    for (size_t h = 0; h < s->H; h++) {
        double excess = s->r[h] - least;
        s->q[h] = excess > 0 ? s->p[h] * exp(-beta * excess) : s->p[h];
    }
    surety_simplex_scale(s->q, s->H);
}

/* The bound at s->q. */
static surety_status measure(search *s, surety_error *err) {
    s->steps++;
    SURETY_TRY(surety_posterior_mean(s->q, s->r, s->H, s->gibbs, err));
    SURETY_TRY(surety_kl_divergence(s->q, s->p, s->H, &s->input.kl, err));
    SURETY_TRY(surety_bound_compute(s->objective->id, &s->input, &s->value, err));
    if (s->value.available) return SURETY_OK;
    return surety_fail(err, SURETY_E_USAGE, "%s cannot be learned: %s is missing", s->objective->name,
                       s->value.missing);
}

/* The bound and dB/dbeta up to the factor V at beta. Where no loss is left (d_risk is then given as 0, the
 * truth is infinite) a larger beta changes nothing any more. */
static surety_status try_beta(search *s, double beta, surety_error *err) {
    gibbs_weights(s, beta);
    SURETY_TRY(measure(s, err));
    s->slope = *s->gibbs == 0 ? 0 : beta * s->value.d_kl - s->value.d_risk;
    return SURETY_OK;
}

/* Doubles hi until the bound no longer falls there. Where kl_inv is 1 it has no slope: on, to where it has.
 */
static surety_status bracket(search *s, double *lo, double *hi, surety_error *err) {
    *lo = 0;
    *hi = 1;
    for (;;) {
        SURETY_TRY(try_beta(s, *hi, err));
        if (*s->gibbs == 0 || (s->slope >= 0 && s->value.d_kl > 0) || *hi > DBL_MAX / 4) return SURETY_OK;
        *lo = *hi;
        *hi *= 2;
    }
}

static surety_status descend(search *s, surety_error *err) {
    double lo, hi;
    SURETY_TRY(bracket(s, &lo, &hi, err));
    if (*s->gibbs == 0) return try_beta(s, INFINITY, err);
    for (;;) {
        double mid = lo + (hi - lo) / 2;
        if (mid <= lo || mid >= hi) return SURETY_OK;
        SURETY_TRY(try_beta(s, mid, err));
        if (s->slope < 0)
            lo = mid;
        else
            hi = mid;
    }
}

/* max_h |dB/dtheta_h| = Q_h |B_R (r_h - R) + B_K (ln(Q_h / P_h) - K)|. */
static double gradient_norm(const search *s) {
    double R = 0, K = 0, norm = 0;
    for (size_t h = 0; h < s->H; h++) {
        R += s->q[h] * s->r[h];
        K += s->q[h] > 0 ? s->q[h] * log(s->q[h] / s->p[h]) : 0;
    }
    for (size_t h = 0; h < s->H; h++) {
        if (s->q[h] == 0) continue;
        double g = s->value.d_risk * (s->r[h] - R) + s->value.d_kl * (log(s->q[h] / s->p[h]) - K);
        norm = fmax(norm, s->q[h] * fabs(g));
    }
    return norm;
}

/* ": a, b, ..", the bounds that can be learned. */
static void learnable(char *text, size_t size) {
    size_t used = 0;
    for (int id = 0; id < SURETY_BOUNDS && used < size; id++) {
        const surety_bound_info *info = &surety_bound_list()[id];
        if (info->learn == SURETY_LEARN_NO) continue;
        used += (size_t)snprintf(text + used, size - used, "%s %s", used ? "," : ":", info->name);
    }
}

static surety_status check_objective(surety_bound_id id, surety_error *err) {
    int known = (int)id >= 0 && id < SURETY_BOUNDS;
    if (known && surety_bound_list()[id].learn != SURETY_LEARN_NO) return SURETY_OK;
    char names[256];
    learnable(names, sizeof names);
    surety_fail(err, SURETY_E_USAGE, "%s cannot be learned",
                known ? surety_bound_list()[id].name : "this bound");
    surety_fail_expected(err, "a bound on a mean over voters%s", names);
    return SURETY_E_USAGE;
}

/* Sets up the search at Q = P. losses is scratch (H): for a union bound on counts, the counts decide. */
static void set_up(search *s, const surety_risks *risks, const surety_bound_input *input, double *losses) {
    surety_risk_kind risk = s->objective->risk;
    s->input = surety_bound_input_defaults();
    s->input.m = risks->m;
    s->input.H = s->H;
    s->input.delta = input->delta;
    s->input.priors_compared = input->priors_compared;
    s->input.looks = input->looks;
    s->input.posterior = s->q;
    surety_evidence *evidence = risk == SURETY_RISK_AVERAGED ? &s->input.averaged : &s->input.averaged_max;
    surety_risks_evidence(risks, risk, evidence);
    s->gibbs = &evidence->gibbs;
    int counted = s->objective->learn == SURETY_LEARN_LEAST && evidence->loss_sum;
    for (size_t h = 0; h < s->H; h++)
        losses[h] = counted ? surety_ratio_up(evidence->loss_sum[h], risks->m) : evidence->loss[h];
    s->r = losses;
}

static int all_equal(const double *x, size_t count) {
    for (size_t k = 1; k < count; k++)
        if (x[k] != x[0]) return 0;
    return 1;
}

static surety_status learn(search *s, surety_learned *out, surety_error *err) {
    int least = s->objective->learn == SURETY_LEARN_LEAST;
    memcpy(s->q, s->p, s->H * sizeof *s->q);
    SURETY_TRY(measure(s, err));
    out->start = s->value.vote;
    if (!all_equal(s->r, s->H)) {
        SURETY_TRY(least ? try_beta(s, INFINITY, err) : descend(s, err));
        if (!(s->value.vote < out->start)) { /* the prior is as good as it gets */
            memcpy(s->q, s->p, s->H * sizeof *s->q);
            SURETY_TRY(measure(s, err));
        }
    }
    out->value = s->value.vote;
    out->gradient_norm = least ? 0 : gradient_norm(s);
    out->iterations = s->steps;
    return SURETY_OK;
}

surety_status surety_posterior_learn(const surety_risks *risks, const double *p, surety_bound_id objective,
                                     const surety_bound_input *input, double *q, surety_learned *learned,
                                     surety_error *err) {
    *learned = (surety_learned){.objective = objective};
    SURETY_TRY(check_objective(objective, err));
    double *losses = NULL;
    SURETY_TRY(surety_alloc(&losses, risks->voter_count, sizeof *losses, err));
    search s = {.H = risks->voter_count, .p = p, .q = q, .objective = &surety_bound_list()[objective]};
    set_up(&s, risks, input, losses);
    surety_status status = learn(&s, learned, err);
    surety_free(losses);
    return status;
}
