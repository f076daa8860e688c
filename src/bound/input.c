/* What goes into a bound: everything unknown at first, and in range before a rule sees it. */
#include <inttypes.h>

#include "bound/table.h"

surety_bound_input surety_bound_input_defaults(void) {
    const double unknown = (double)NAN;
    const surety_evidence none = {.gibbs = unknown,
                                  .prior_risk = unknown,
                                  .prior_wrong = SURETY_ABSENT,
                                  .prior_coins = SURETY_ABSENT,
                                  .held_out_m = SURETY_ABSENT,
                                  .held_out_wrong = SURETY_ABSENT};
    return (surety_bound_input){.delta = 0.05,
                                .priors_compared = 1,
                                .looks = 1,
                                .kl = unknown,
                                .averaged = none,
                                .averaged_max = none,
                                .worst_case = none,
                                .abar = unknown,
                                .tv = unknown,
                                .tandem = unknown};
}

static surety_status refuse(surety_error *err, const char *place, double got, const char *expected) {
    surety_fail(err, SURETY_E_INPUT, "%s is %g", place, got);
    surety_fail_place(err, "%s", place);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

static surety_status check_risk(double risk, const char *place, surety_error *err) {
    if (isnan(risk) || (risk >= 0 && risk <= 1)) return SURETY_OK;
    return refuse(err, place, risk, "a number in [0, 1]");
}

static surety_status check_count(uint64_t count, uint64_t most, const char *place, surety_error *err) {
    if (count == SURETY_ABSENT || count <= most) return SURETY_OK;
    return refuse(err, place, (double)count, "a count that is not above the number of examples");
}

/* The array of means or of counts of one voter each; in an array, NaN is an error too. */
static surety_status check_voters(const double *mean, const uint64_t *sum, const surety_bound_input *in,
                                  const char *what, surety_error *err) {
    for (size_t h = 0; h < in->H; h++) {
        int good = (!mean || (mean[h] >= 0 && mean[h] <= 1)) && (!sum || sum[h] <= in->m);
        if (good) continue;
        surety_fail(err, SURETY_E_INPUT, "the %s of a voter is out of range", what);
        surety_fail_place(err, "voter %zu", h);
        surety_fail_expected(err, "a mean in [0, 1], a count of at most %" PRIu64, in->m);
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

static surety_status check_evidence(const surety_evidence *e, const surety_bound_input *in,
                                    surety_error *err) {
    SURETY_TRY(check_risk(e->gibbs, "gibbs", err));
    SURETY_TRY(check_risk(e->prior_risk, "prior_risk", err));
    SURETY_TRY(check_count(e->prior_wrong, in->m, "prior_wrong", err));
    SURETY_TRY(check_voters(e->loss, e->loss_sum, in, "loss", err));
    SURETY_TRY(check_count(e->prior_coins, in->m, "prior_coins", err));
    SURETY_TRY(check_voters(NULL, e->coin_sum, in, "coins", err));
    SURETY_TRY(check_voters(e->kept, e->kept_sum, in, "loss where the prior is right", err));
    if (e->held_out_m == SURETY_ABSENT) return SURETY_OK;
    if (e->held_out_m < 1 || e->held_out_m > SURETY_M_LIMIT)
        return refuse(err, "held_out_m", (double)e->held_out_m, "1 to 4294967296 examples");
    return check_count(e->held_out_wrong, e->held_out_m, "held_out_wrong", err);
}

surety_status surety_bound_input_check(const surety_bound_input *in, const surety_evidence *e,
                                       surety_error *err) {
    if (!(in->delta > 0 && in->delta < 1)) return refuse(err, "delta", in->delta, "a number inside (0, 1)");
    if (in->m < 1 || in->m > SURETY_M_LIMIT)
        return refuse(err, "m", (double)in->m, "1 to 4294967296 examples");
    if (in->H < 1) return refuse(err, "H", 0, "at least one voter");
    if (in->priors_compared < 1 || in->priors_compared > SURETY_PRIORS_MOST)
        return refuse(err, "priors_compared", (double)in->priors_compared, "at least 1, at most 10^9");
    if (in->looks < 1) return refuse(err, "looks", 0, "at least 1");
    if (!isnan(in->kl) && !(in->kl >= 0 && in->kl <= DBL_MAX))
        return refuse(err, "kl", in->kl, "a finite number that is not negative");
    if (in->frozen && in->kl > 0) return refuse(err, "kl", in->kl, "0, because Q is said to be the prior");
    SURETY_TRY(check_risk(in->abar, "abar", err));
    SURETY_TRY(check_risk(in->tv, "tv", err));
    SURETY_TRY(check_risk(in->tandem, "tandem", err));
    if (in->posterior) SURETY_TRY(surety_distribution_validate(in->posterior, in->H, "posterior", err));
    return check_evidence(e, in, err);
}
