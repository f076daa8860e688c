/* Every bound of docs/theory.md 4.3, 4.5 and 8.2. All hold with probability at least 1 - delta over the draw
 * of the m examples of S, which are independent given what was fixed before (4.6).
 *
 * Letters: L_i(h) in [0,1] the loss of voter h on example i (averaged over the perturbations j, their
 * maximum, or a limit over the whole ball), L_S(h) its mean over S, L_D(h) its expectation; E_Q the mean over
 * voters drawn from Q; C = ln(events T_p looks / delta).
 *
 * Three facts carry everything:
 *
 * - (Chernoff) One voter or vote fixed before S, one-sided: L_D <= kl_inv(L_S, C/m) but for a chance e^-C;
 *   where the losses are 0 or 1 also L_D <= binomial_limit(m L_S, m, e^-C), which is smaller.
 * - (PAC-Bayes) All Q at once: kl(E_Q L_S || E_Q L_D) <= (KL(Q||P) + ln(2 sqrt(m)/delta)) / m.
 *   E_P E_S e^(m kl(L_S||L_D)) <= 2 sqrt(m) for every m >= 1 (Maurer 2004, and docs/theory.md 4.3 for
 *   m < 8), Markov, change of measure, convexity of kl.
 * - (factor 2) Where the vote of Q is wrong, y E_Q v <= 0, so 1 <= 2 E_Q l: the risk of the vote is at most
 *   twice that of the surrogate.
 *
 * A choice of S among T_p candidate priors (or among other runs, looks) is paid by a union bound, at
 * delta / (T_p looks) each.
 *
 * Everything is rounded upward: risks that enter by one ulp (a single rounding to nearest of the caller's is
 * covered), logarithms, sums and quotients by round.h, kl_inv and the binomial limit by themselves. Doubling
 * is exact.
 */
#include <inttypes.h>

#include "bound/binomial.h"

/* A rule computes one bound from the input and its evidence and returns the first missing input, or NULL. */
typedef const char *rule(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v);

static const char missing_gibbs[] = "the mean loss of the voters under Q";
static const char missing_kl[] = "KL(Q||P)";
static const char missing_posterior[] = "the posterior";
static const char missing_losses[] = "the mean loss of each voter";
static const char missing_prior[] = "the risk of the prior's vote";
static const char missing_kept[] = "the losses of each voter where the prior's vote is right";
static const char missing_frozen[] = "a posterior that is exactly a candidate prior";
static const char missing_held_out[] = "a held-out half of S";

/* ---- what the rules share ---- */

/* A risk or divergence that enters: one ulp up, unless it is exactly 0 (or a risk at 1). */
static double raised(double x) {
    return x == 0 ? 0 : surety_up(x);
}

static double raised_risk(double x) {
    return fmin(1, raised(x));
}

/* C = ln(factor T looks / delta), rounded up; ln_factor is already. */
static double cost(const surety_bound_input *in, double ln_factor, uint64_t T) {
    double C = surety_add_up(ln_factor, surety_log_up(surety_whole_up(T)));
    C = surety_add_up(C, surety_log_up(surety_whole_up(in->looks)));
    return surety_add_up(C, -surety_log_down(in->delta));
}

/* ln(2 sqrt(m)), rounded up. */
static double ln_two_root_m(const surety_bound_input *in) {
    return surety_add_up(surety_log_up(2), surety_log_up((double)in->m) / 2);
}

/* (copies KL + ln(factor T_p looks / delta)) / m, rounded up. */
static double complexity(const surety_bound_input *in, double copies, double ln_factor) {
    double divergence = copies * raised(in->kl);
    return surety_div_up(surety_add_up(divergence, cost(in, ln_factor, in->priors_compared)), (double)in->m);
}

/* (Chernoff) for one mean over S: the binomial limit where its sum is known to be one of 0/1 losses, else
 * kl_inv. */
static double limit(const surety_bound_input *in, double mean, uint64_t sum, double C) {
    if (sum != SURETY_ABSENT) return surety_binomial_limit_log(sum, in->m, C);
    return surety_kl_inv(raised_risk(mean), surety_div_up(C, (double)in->m), NULL, NULL);
}

/* sum_h Q_h limit_h, rounded up: 1 if it could be computed. A voter of weight 0 need not be looked at. */
static int mean_of_limits(const surety_bound_input *in, const double *mean, const uint64_t *sum, double C,
                          double *out) {
    if (!mean && !sum) return 0;
    surety_mixture mix = {0, 0};
    for (size_t h = 0; h < in->H; h++) {
        if (in->posterior[h] == 0) continue;
        double U = limit(in, mean ? mean[h] : (double)NAN, sum ? sum[h] : SURETY_ABSENT, C);
        surety_mixture_add(&mix, in->posterior[h], U);
    }
    *out = fmin(1, surety_mixture_mean(&mix));
    return 1;
}

/* kl_inv(risk, complexity), times factor for the vote. */
static const char *invert(const surety_bound_input *in, double risk, double copies, double ln_factor,
                          double factor, surety_bound_value *v) {
    if (isnan(risk)) return missing_gibbs;
    if (isnan(in->kl)) return missing_kl;
    double dq, dc, p = surety_kl_inv(raised_risk(risk), complexity(in, copies, ln_factor), &dq, &dc);
    v->surrogate = p;
    v->vote = factor * p;
    v->d_risk = factor * dq;
    v->d_kl = factor * dc * copies / (double)in->m;
    return NULL;
}

/* risk + sqrt(complexity / 2), by Pinsker's inequality kl(a||b) >= 2 (a-b)^2. */
static const char *add_root(const surety_bound_input *in, double risk, double ln_factor,
                            surety_bound_value *v) {
    if (isnan(risk)) return missing_gibbs;
    if (isnan(in->kl)) return missing_kl;
    double root = surety_sqrt_up(complexity(in, 1, ln_factor) / 2);
    v->surrogate = surety_add_up(risk, root);
    v->vote = 2 * v->surrogate;
    v->d_risk = 2;
    v->d_kl = 1 / (2 * root * (double)in->m);
    return NULL;
}

/* ---- the rules ---- */

/* chromatic_seeger. Theorem "chromatic" of the paper (from Ralaivola, Szafranski and Stempfel 2010): for all
 * Q kl(Rbar_S || Rbar_D) <= (KL + ln(T_p (m+1)/delta)) / m. Conditions: perturbations of example i depend on
 * example i, the candidate prior and draws of i's own only. Proof: the dependency graph of the m n perturbed
 * examples has fractional chromatic number n; or from seeger below, because 2 sqrt(m) <= m + 1. */
static const char *rule_chromatic_seeger(const surety_bound_input *in, const surety_evidence *e,
                                         surety_bound_value *v) {
    return invert(in, e->gibbs, 1, surety_log_up((double)(in->m + 1)), 2, v);
}

/* chromatic_mcallester. The same theorem, second line:
 *     Rbar_D <= Rbar_S + sqrt((KL + ln(T_p (m+1)/delta)) / (2m)).
 * Proof: chromatic_seeger and Pinsker's inequality. */
static const char *rule_chromatic_mcallester(const surety_bound_input *in, const surety_evidence *e,
                                             surety_bound_value *v) {
    if (isnan(e->gibbs)) return missing_gibbs;
    return add_root(in, raised_risk(e->gibbs), surety_log_up((double)(in->m + 1)), v);
}

/* average_max. Theorem "average-max" of the paper, first line:
 *     Abar_D <= Gmax_S + sqrt((KL + ln(2 T_p sqrt(m)/delta)) / (2m)).
 * Conditions as above; L_i(h) = max_j l_ij(h).
 * Proof: (PAC-Bayes) on E_Q L, Pinsker, and Abar_D <= E_Q L_D: the maximum of a mean is at most the mean of
 * the maxima. */
static const char *rule_average_max(const surety_bound_input *in, const surety_evidence *e,
                                    surety_bound_value *v) {
    if (isnan(e->gibbs)) return missing_gibbs;
    return add_root(in, raised_risk(e->gibbs), ln_two_root_m(in), v);
}

/* average_max_tv. The same theorem, second line:
 *     Abar_D <= Abar_S + mean_i E_Q TV(rho_i^h, pi_i) + the same root,
 * for any pi_i on the n perturbations that does not look at h (it may look at Q, S and i).
 * Proof: max_j l_ij(h) <= TV(rho_i^h, pi_i) + E_{j~pi_i} l_ij(h), for each S, and E_Q of the last term is at
 * most the i-th term of Abar. */
static const char *rule_average_max_tv(const surety_bound_input *in, const surety_evidence *e,
                                       surety_bound_value *v) {
    (void)e;
    if (isnan(in->abar)) return "the averaged-max surrogate Abar";
    if (isnan(in->tv)) return "the total variation";
    double risk = surety_add_up(raised_risk(in->abar), raised_risk(in->tv));
    return add_root(in, risk, ln_two_root_m(in), v);
}

/* seeger, average_max_seeger, worst_case. PAC-Bayes-kl (Seeger 2002, Maurer 2004; Germain et al. 2015,
 * Theorem 20): for all Q E_Q L_D <= kl_inv(E_Q L_S, (KL + ln(2 T_p sqrt(m)/delta)) / m). Conditions: L_i(h)
 * in [0,1], independent over i for each h fixed before S. L is mean_j l (Rbar), max_j l (Abar_D <= E_Q L_D),
 * or a limit of l over the ball (then R_rob <= 2 E_Q L_D). Proof: (PAC-Bayes). The n perturbations of an
 * example are one variable: no graph is needed. */
static const char *rule_seeger(const surety_bound_input *in, const surety_evidence *e,
                               surety_bound_value *v) {
    return invert(in, e->gibbs, 1, ln_two_root_m(in), 2, v);
}

/* voters_union, average_max_voters_union, worst_case_union. For all Q
 *     E_Q L_D <= sum_h Q(h) U_h,   U_h = kl_inv(L_S(h), ln(T_p H/delta)/m),
 * or the binomial limit at delta/(T_p H) where the losses are 0/1. Conditions as for seeger.
 * Proof: (Chernoff) for each of the T_p H voters, then the mean. By concavity of kl_inv in q it is below
 * seeger for every Q while H <= 2 sqrt(m). */
static const char *rule_union(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    if (!in->posterior) return missing_posterior;
    double C = cost(in, surety_log_up((double)in->H), in->priors_compared);
    if (!mean_of_limits(in, e->loss, e->loss_sum, C, &v->surrogate)) return missing_losses;
    v->vote = 2 * v->surrogate;
    return NULL;
}

/* tandem. Masegosa, Lorenzen, Igel and Seldin 2020: for all Q
 *     R_D <= 4 kl_inv(E_{h,h'~Q} mean_ij l_ij(h) l_ij(h'), (2 KL + ln(2 T_p sqrt(m)/delta)) / m).
 * Conditions as for seeger; real or signed votes.
 * Proof: where the vote is wrong E_Q l >= 1/2, so 1 <= 4 (E_Q l)^2 = 4 E_{h,h'} l(h) l(h'); then (PAC-Bayes)
 * over pairs of voters, whose losses lie in [0,1], with prior P x P: KL(Q x Q||P x P) = 2 KL(Q||P). */
static const char *rule_tandem(const surety_bound_input *in, const surety_evidence *e,
                               surety_bound_value *v) {
    (void)e;
    if (isnan(in->tandem)) return "the tandem loss";
    return invert(in, in->tandem, 2, ln_two_root_m(in), 4, v);
}

/* vote_frozen_averaged, vote_frozen_max, worst_case_frozen. Q is exactly one of the T_p candidate priors:
 *     R_D <= kl_inv(R_S, ln(T_p/delta)/m), or the binomial limit at delta/T_p of the number of examples that
 *     the vote gets wrong (on some j; not proved right).
 * Proof: the vote is a classifier fixed before S: (Chernoff). No factor 2, no KL. */
static const char *rule_frozen(const surety_bound_input *in, const surety_evidence *e,
                               surety_bound_value *v) {
    if (!in->frozen) return missing_frozen;
    if (isnan(e->prior_risk) && e->prior_wrong == SURETY_ABSENT) return missing_prior;
    v->vote = limit(in, e->prior_risk, e->prior_wrong, cost(in, 0, in->priors_compared));
    return NULL;
}

/* vote_anchored_averaged, vote_anchored_max, worst_case_anchored. For all Q
 *     R_D(H_Q) <= R_D(H_P) + 2 E_Q E[ l(h) 1{H_P right} ],
 * the first term by the frozen limit at delta/2, the second by the union of voters at delta/2.
 * Proof: where H_Q is wrong, H_P is wrong too, or it is right and 1 <= 2 E_Q l. With max_j: H_P wrong on some
 * j, or right on all and 1 <= 2 E_Q max_j l. In the worst case: not proved right, or proved right and
 * 1 <= 2 E_Q L. Condition: a tie of H_P is a whole error, else the first term would pay 1/2 where H_Q may
 * lose 1. */
static const char *rule_anchored(const surety_bound_input *in, const surety_evidence *e,
                                 surety_bound_value *v) {
    if (!in->posterior) return missing_posterior;
    if (isnan(e->prior_risk) && e->prior_wrong == SURETY_ABSENT) return missing_prior;
    double ln_2 = surety_log_up(2), second;
    double first = limit(in, e->prior_risk, e->prior_wrong, cost(in, ln_2, in->priors_compared));
    double C = cost(in, surety_add_up(ln_2, surety_log_up((double)in->H)), in->priors_compared);
    if (!mean_of_limits(in, e->kept, e->kept_sum, C, &second)) return missing_kept;
    v->vote = surety_add_up(first, 2 * second);
    return NULL;
}

/* vote_holdout, worst_case_holdout. One half of S chose everything, the other, of m' examples, only counts:
 *     R_D <= the binomial limit at delta/looks of the number that the vote gets wrong among the m'.
 * Proof: (Chernoff) with the vote fixed before the second half. Neither KL nor T_p, and the attack may aim at
 * the vote itself. */
static const char *rule_holdout(const surety_bound_input *in, const surety_evidence *e,
                                surety_bound_value *v) {
    if (e->held_out_m == SURETY_ABSENT || e->held_out_wrong == SURETY_ABSENT) return missing_held_out;
    v->vote = surety_binomial_limit_log(e->held_out_wrong, e->held_out_m, cost(in, 0, 1));
    return NULL;
}

/* ---- the tables ---- */

#define WRONG_DRAWN \
    "is wrong on at most this share of new examples, each with one perturbation drawn at random"
#define WRONG_ON_SOME "is wrong on at least one of n perturbations of at most this share of new examples"
#define WRONG_SOMEWHERE \
    "the vote is wrong somewhere in the ball on at most this share of new examples, whatever the attack"

#define INFO(ID, name, risk, event, surrogate, held_out, promise, needs)                                 \
    [SURETY_BOUND_##ID] = {SURETY_BOUND_##ID,    name,     promise, needs, SURETY_RISK_##risk, held_out, \
                           SURETY_BOUND_##event, surrogate}

static const surety_bound_info infos[SURETY_BOUNDS] = {
    INFO(CHROMATIC_SEEGER, "chromatic_seeger", AVERAGED, SEEGER, 1, 0,
         "the vote " WRONG_DRAWN ", for every posterior (the paper's)", "KL and Rbar"),
    INFO(CHROMATIC_MCALLESTER, "chromatic_mcallester", AVERAGED, SEEGER, 1, 0,
         "as chromatic_seeger, in the looser form with a square root", "KL and Rbar"),
    INFO(AVERAGE_MAX, "average_max", AVERAGED_MAX, AVERAGE_MAX_SEEGER, 1, 0,
         "the vote " WRONG_ON_SOME ", for every posterior (the paper's)", "KL and Gmax"),
    INFO(AVERAGE_MAX_TV, "average_max_tv", AVERAGED_MAX, AVERAGE_MAX_SEEGER, 1, 0,
         "as average_max, through the surrogate of the vote and a total variation", "KL, Abar and TV"),
    INFO(SEEGER, "seeger", AVERAGED, SEEGER, 1, 0, "the vote " WRONG_DRAWN ", for every posterior",
         "KL and Rbar"),
    INFO(AVERAGE_MAX_SEEGER, "average_max_seeger", AVERAGED_MAX, AVERAGE_MAX_SEEGER, 1, 0,
         "the vote " WRONG_ON_SOME ", for every posterior", "KL and Gmax"),
    INFO(VOTERS_UNION, "voters_union", AVERAGED, VOTERS_UNION, 1, 0,
         "as seeger, from a limit for each voter: no KL", "the posterior and each voter's mean loss"),
    INFO(AVERAGE_MAX_VOTERS_UNION, "average_max_voters_union", AVERAGED_MAX, AVERAGE_MAX_VOTERS_UNION, 1, 0,
         "as average_max_seeger, from a limit for each voter: no KL",
         "the posterior and each voter's mean largest loss, or its count of errors"),
    INFO(TANDEM, "tandem", AVERAGED, TANDEM, 0, 0,
         "the vote " WRONG_DRAWN ", from errors that two voters share", "KL and the tandem loss"),
    INFO(VOTE_FROZEN_AVERAGED, "vote_frozen_averaged", AVERAGED, VOTE_FROZEN_AVERAGED, 0, 0,
         "the prior's own vote " WRONG_DRAWN, "Q = P and the averaged risk of its vote"),
    INFO(VOTE_FROZEN_MAX, "vote_frozen_max", AVERAGED_MAX, VOTE_FROZEN_MAX, 0, 0,
         "the prior's own vote " WRONG_ON_SOME,
         "Q = P and the number of examples on which its vote is wrong for some perturbation"),
    INFO(VOTE_ANCHORED_AVERAGED, "vote_anchored_averaged", AVERAGED, VOTE_ANCHORED_AVERAGED, 0, 0,
         "the vote " WRONG_DRAWN ", from the prior's vote and the losses where that is right",
         "the posterior, the averaged risk of the prior's vote, each voter's loss where that vote is right"),
    INFO(VOTE_ANCHORED_MAX, "vote_anchored_max", AVERAGED_MAX, VOTE_ANCHORED_MAX, 0, 0,
         "the vote " WRONG_ON_SOME ", from the prior's vote and the losses where that is right",
         "the posterior, the errors of the prior's vote, each voter's loss where that vote is right"),
    INFO(VOTE_HOLDOUT, "vote_holdout", AVERAGED_MAX, VOTE_HOLDOUT, 0, 1,
         "the vote " WRONG_ON_SOME ", counted on examples that chose nothing",
         "a held-out half of S and the errors of the vote on it"),
    INFO(WORST_CASE, "worst_case", WORST_CASE, WORST_CASE, 1, 0, WRONG_SOMEWHERE ", for every posterior",
         "KL and the proved losses under Q"),
    INFO(WORST_CASE_UNION, "worst_case_union", WORST_CASE, WORST_CASE_UNION, 1, 0,
         WRONG_SOMEWHERE ", from a limit for each voter: no KL",
         "the posterior and each voter's proved loss"),
    INFO(WORST_CASE_FROZEN, "worst_case_frozen", WORST_CASE, WORST_CASE_FROZEN, 0, 0,
         WRONG_SOMEWHERE " (the prior's own vote)",
         "Q = P and the number of examples on which its vote is not proved right"),
    INFO(WORST_CASE_ANCHORED, "worst_case_anchored", WORST_CASE, WORST_CASE_ANCHORED, 0, 0,
         WRONG_SOMEWHERE ", from the prior's vote and the losses where that is proved right",
         "the posterior, the unproved examples of the prior's vote, each voter's proved loss on the others"),
    INFO(WORST_CASE_HOLDOUT, "worst_case_holdout", WORST_CASE, WORST_CASE_HOLDOUT, 0, 1,
         WRONG_SOMEWHERE ", counted on examples that chose nothing",
         "a held-out half of S and the number of its examples on which the vote is not proved right"),
};

static rule *const rules[SURETY_BOUNDS] = {
    [SURETY_BOUND_CHROMATIC_SEEGER] = rule_chromatic_seeger,
    [SURETY_BOUND_CHROMATIC_MCALLESTER] = rule_chromatic_mcallester,
    [SURETY_BOUND_AVERAGE_MAX] = rule_average_max,
    [SURETY_BOUND_AVERAGE_MAX_TV] = rule_average_max_tv,
    [SURETY_BOUND_SEEGER] = rule_seeger,
    [SURETY_BOUND_AVERAGE_MAX_SEEGER] = rule_seeger,
    [SURETY_BOUND_VOTERS_UNION] = rule_union,
    [SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION] = rule_union,
    [SURETY_BOUND_TANDEM] = rule_tandem,
    [SURETY_BOUND_VOTE_FROZEN_AVERAGED] = rule_frozen,
    [SURETY_BOUND_VOTE_FROZEN_MAX] = rule_frozen,
    [SURETY_BOUND_VOTE_ANCHORED_AVERAGED] = rule_anchored,
    [SURETY_BOUND_VOTE_ANCHORED_MAX] = rule_anchored,
    [SURETY_BOUND_VOTE_HOLDOUT] = rule_holdout,
    [SURETY_BOUND_WORST_CASE] = rule_seeger,
    [SURETY_BOUND_WORST_CASE_UNION] = rule_union,
    [SURETY_BOUND_WORST_CASE_FROZEN] = rule_frozen,
    [SURETY_BOUND_WORST_CASE_ANCHORED] = rule_anchored,
    [SURETY_BOUND_WORST_CASE_HOLDOUT] = rule_holdout,
};

const surety_bound_info *surety_bound_list(void) {
    return infos;
}

static int same_name(const char *word, const char *name) {
    while (*word && (*word == '-' ? '_' : *word) == *name) word++, name++;
    return !*word && !*name;
}

surety_status surety_bound_find(const char *name, const surety_bound_info **info, surety_error *err) {
    const char *names[SURETY_BOUNDS];
    *info = NULL;
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        names[i] = infos[i].name;
        if (same_name(name, infos[i].name)) *info = &infos[i];
    }
    if (*info) return SURETY_OK;
    const char *near = surety_nearest(name, names, SURETY_BOUNDS);
    surety_fail(err, SURETY_E_USAGE, "there is no bound named '%s'", name);
    if (near) surety_fail_expected(err, "did you mean '%s'?", near);
    return SURETY_E_USAGE;
}

/* ---- the input ---- */

surety_bound_input surety_bound_input_defaults(void) {
    const double unknown = (double)NAN;
    const surety_evidence none = {.gibbs = unknown,
                                  .prior_risk = unknown,
                                  .prior_wrong = SURETY_ABSENT,
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
    SURETY_TRY(check_voters(e->kept, e->kept_sum, in, "loss where the prior is right", err));
    if (e->held_out_m == SURETY_ABSENT) return SURETY_OK;
    if (e->held_out_m < 1 || e->held_out_m > SURETY_M_LIMIT)
        return refuse(err, "held_out_m", (double)e->held_out_m, "1 to 4294967296 examples");
    return check_count(e->held_out_wrong, e->held_out_m, "held_out_wrong", err);
}

static surety_status check_input(const surety_bound_input *in, const surety_evidence *e, surety_error *err) {
    if (!(in->delta > 0 && in->delta < 1)) return refuse(err, "delta", in->delta, "a number inside (0, 1)");
    if (in->m < 1 || in->m > SURETY_M_LIMIT)
        return refuse(err, "m", (double)in->m, "1 to 4294967296 examples");
    if (in->H < 1) return refuse(err, "H", 0, "at least one voter");
    if (in->priors_compared < 1) return refuse(err, "priors_compared", 0, "at least 1");
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

surety_status surety_bound_compute(surety_bound_id id, const surety_bound_input *input,
                                   surety_bound_value *value, surety_error *err) {
    const double none = (double)NAN;
    *value = (surety_bound_value){
        .id = id, .surrogate = none, .vote = none, .vote_clipped = none, .d_risk = none, .d_kl = none};
    if ((int)id < 0 || id >= SURETY_BOUNDS)
        return surety_fail(err, SURETY_E_USAGE, "there is no bound %d", (int)id);
    const surety_evidence *evidence[] = {[SURETY_RISK_AVERAGED] = &input->averaged,
                                         [SURETY_RISK_AVERAGED_MAX] = &input->averaged_max,
                                         [SURETY_RISK_WORST_CASE] = &input->worst_case};
    const surety_evidence *e = evidence[infos[id].risk];
    SURETY_TRY(check_input(input, e, err));
    value->missing = rules[id](input, e, value);
    value->available = !value->missing;
    if (!infos[id].has_surrogate) value->surrogate = none;
    if (value->available) value->vote_clipped = fmin(value->vote, 1);
    return SURETY_OK;
}
