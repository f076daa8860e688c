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
#include "base/names.h"
#include "bound/binomial.h"
#include "bound/table.h"

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

/* sum_h Q_h limit_h, rounded up. A voter of weight 0 need not be looked at. */
static double mean_of_limits(const surety_bound_input *in, const double *mean, const uint64_t *sum,
                             double C) {
    surety_mixture mix = {0, 0};
    for (size_t h = 0; h < in->H; h++) {
        if (in->posterior[h] == 0) continue;
        double U = limit(in, mean ? mean[h] : (double)NAN, sum ? sum[h] : SURETY_ABSENT, C);
        surety_mixture_add(&mix, in->posterior[h], U);
    }
    return fmin(1, surety_mixture_mean(&mix));
}

/* kl_inv(risk, complexity), times factor for the vote. */
static void invert(const surety_bound_input *in, double risk, double copies, double ln_factor, double factor,
                   surety_bound_value *v) {
    double dq, dc, p = surety_kl_inv(raised_risk(risk), complexity(in, copies, ln_factor), &dq, &dc);
    v->surrogate = p;
    v->vote = factor * p;
    v->d_risk = factor * dq;
    v->d_kl = factor * dc * copies / (double)in->m;
}

/* risk + sqrt(complexity / 2), by Pinsker's inequality kl(a||b) >= 2 (a-b)^2. */
static void add_root(const surety_bound_input *in, double risk, double ln_factor, surety_bound_value *v) {
    double root = surety_sqrt_up(complexity(in, 1, ln_factor) / 2);
    v->surrogate = surety_add_up(risk, root);
    v->vote = 2 * v->surrogate;
    v->d_risk = 2;
    v->d_kl = 1 / (2 * root * (double)in->m);
}

/* ---- the rules ---- */

/* chromatic_seeger. Theorem "chromatic" of the paper (from Ralaivola, Szafranski and Stempfel 2010): for all
 * Q kl(Rbar_S || Rbar_D) <= (KL + ln(T_p (m+1)/delta)) / m. Conditions: perturbations of example i depend on
 * example i, the candidate prior and draws of i's own only. Proof: the dependency graph of the m n perturbed
 * examples has fractional chromatic number n; or from seeger below, because 2 sqrt(m) <= m + 1. */
static void rule_chromatic_seeger(const surety_bound_input *in, const surety_evidence *e,
                                  surety_bound_value *v) {
    invert(in, e->gibbs, 1, surety_log_up((double)(in->m + 1)), 2, v);
}

/* chromatic_mcallester. The same theorem, second line:
 *     Rbar_D <= Rbar_S + sqrt((KL + ln(T_p (m+1)/delta)) / (2m)).
 * Proof: chromatic_seeger and Pinsker's inequality. */
static void rule_chromatic_mcallester(const surety_bound_input *in, const surety_evidence *e,
                                      surety_bound_value *v) {
    add_root(in, raised_risk(e->gibbs), surety_log_up((double)(in->m + 1)), v);
}

/* average_max. Theorem "average-max" of the paper, first line:
 *     Abar_D <= Gmax_S + sqrt((KL + ln(2 T_p sqrt(m)/delta)) / (2m)).
 * Conditions as above; L_i(h) = max_j l_ij(h).
 * Proof: (PAC-Bayes) on E_Q L, Pinsker, and Abar_D <= E_Q L_D: the maximum of a mean is at most the mean of
 * the maxima. */
static void rule_average_max(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    add_root(in, raised_risk(e->gibbs), ln_two_root_m(in), v);
}

/* average_max_tv. The same theorem, second line:
 *     Abar_D <= Abar_S + mean_i E_Q TV(rho_i^h, pi_i) + the same root,
 * for any pi_i on the n perturbations that does not look at h (it may look at Q, S and i).
 * Proof: max_j l_ij(h) <= TV(rho_i^h, pi_i) + E_{j~pi_i} l_ij(h), for each S, and E_Q of the last term is at
 * most the i-th term of Abar. */
static void rule_average_max_tv(const surety_bound_input *in, const surety_evidence *e,
                                surety_bound_value *v) {
    (void)e;
    double risk = surety_add_up(raised_risk(in->abar), raised_risk(in->tv));
    add_root(in, risk, ln_two_root_m(in), v);
}

/* seeger, average_max_seeger, worst_case. PAC-Bayes-kl (Seeger 2002, Maurer 2004; Germain et al. 2015,
 * Theorem 20): for all Q E_Q L_D <= kl_inv(E_Q L_S, (KL + ln(2 T_p sqrt(m)/delta)) / m). Conditions: L_i(h)
 * in [0,1], independent over i for each h fixed before S. L is mean_j l (Rbar), max_j l (Abar_D <= E_Q L_D),
 * or a limit of l over the ball (then R_rob <= 2 E_Q L_D). Proof: (PAC-Bayes). The n perturbations of an
 * example are one variable: no graph is needed. */
static void rule_seeger(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    invert(in, e->gibbs, 1, ln_two_root_m(in), 2, v);
}

/* voters_union, average_max_voters_union, worst_case_union. For all Q
 *     E_Q L_D <= sum_h Q(h) U_h,   U_h = kl_inv(L_S(h), ln(T_p H/delta)/m),
 * or the binomial limit at delta/(T_p H) where the losses are 0/1. Conditions as for seeger.
 * Proof: (Chernoff) for each of the T_p H voters, then the mean. By concavity of kl_inv in q it is below
 * seeger for every Q while H <= 2 sqrt(m). */
static void rule_union(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    double C = cost(in, surety_log_up((double)in->H), in->priors_compared);
    v->surrogate = mean_of_limits(in, e->loss, e->loss_sum, C);
    v->vote = 2 * v->surrogate;
}

/* tandem. Masegosa, Lorenzen, Igel and Seldin 2020: for all Q
 *     R_D <= 4 kl_inv(E_{h,h'~Q} mean_ij l_ij(h) l_ij(h'), (2 KL + ln(2 T_p sqrt(m)/delta)) / m).
 * Conditions as for seeger; real or signed votes.
 * Proof: where the vote is wrong E_Q l >= 1/2, so 1 <= 4 (E_Q l)^2 = 4 E_{h,h'} l(h) l(h'); then (PAC-Bayes)
 * over pairs of voters, whose losses lie in [0,1], with prior P x P: KL(Q x Q||P x P) = 2 KL(Q||P). */
static void rule_tandem(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    (void)e;
    invert(in, in->tandem, 2, ln_two_root_m(in), 4, v);
}

/* vote_frozen_averaged, vote_frozen_max, worst_case_frozen. Q is exactly one of the T_p candidate priors:
 *     R_D <= kl_inv(R_S, ln(T_p/delta)/m), or the binomial limit at delta/T_p of the number of examples that
 *     the vote gets wrong (on some j; not proved right).
 * Proof: the vote is a classifier fixed before S: (Chernoff). No factor 2, no KL. */
static void rule_frozen(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    v->vote = limit(in, e->prior_risk, e->prior_wrong, cost(in, 0, in->priors_compared));
}

/* vote_anchored_averaged, vote_anchored_max, worst_case_anchored. For all Q
 *     R_D(H_Q) <= R_D(H_P) + 2 E_Q E[ l(h) 1{H_P right} ],
 * the first term by the frozen limit at delta/2, the second by the union of voters at delta/2.
 * Proof: where H_Q is wrong, H_P is wrong too, or it is right and 1 <= 2 E_Q l. With max_j: H_P wrong on some
 * j, or right on all and 1 <= 2 E_Q max_j l. In the worst case: not proved right, or proved right and
 * 1 <= 2 E_Q L. Condition: a tie of H_P is a whole error, else the first term would pay 1/2 where H_Q may
 * lose 1. */
static void rule_anchored(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    double ln_2 = surety_log_up(2);
    double first = limit(in, e->prior_risk, e->prior_wrong, cost(in, ln_2, in->priors_compared));
    double C = cost(in, surety_add_up(ln_2, surety_log_up((double)in->H)), in->priors_compared);
    double second = mean_of_limits(in, e->kept, e->kept_sum, C);
    v->vote = surety_add_up(first, 2 * second);
}

/* vote_holdout, worst_case_holdout. One half of S chose everything, the other, of m' examples, only counts:
 *     R_D <= the binomial limit at delta/looks of the number that the vote gets wrong among the m'.
 * Proof: (Chernoff) with the vote fixed before the second half. Neither KL nor T_p, and the attack may aim at
 * the vote itself. */
static void rule_holdout(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    v->vote = surety_binomial_limit_log(e->held_out_wrong, e->held_out_m, cost(in, 0, 1));
}

/* voters_coins, average_max_voters_coins, worst_case_coins. Of each example a coin u_i, uniform and
 * independent of everything: [u_i < L_i(h)] is 0 or 1, independent over i, with the mean of L_i(h). So E_Q
 * L_D <= sum_h Q(h) U_h,   U_h the binomial limit at delta/(T_p H) of the coins that are below. One coin
 * serves all voters and candidates: the union bound asks for no independence among them. */
static void rule_coins(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    double C = cost(in, surety_log_up((double)in->H), in->priors_compared);
    v->surrogate = mean_of_limits(in, NULL, e->coin_sum, C);
    v->vote = 2 * v->surrogate;
}

/* vote_frozen_coins. The same for the one vote of a candidate prior: X_i its share of wrong j. No factor 2.
 */
static void rule_frozen_coins(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    v->vote = limit(in, (double)NAN, e->prior_coins, cost(in, 0, in->priors_compared));
}

/* The voter that has more weight than all others together, by more than roundings of the computed vote can
 * move it, 2^-52 (H+3) (risk/vote.h); H: there is none. */
static size_t dictator(const surety_bound_input *in) {
    size_t h = 0;
    double others = 0;
    for (size_t k = 1; k < in->H; k++)
        if (in->posterior[k] > in->posterior[h]) h = k;
    for (size_t k = 0; k < in->H; k++)
        if (k != h) others = surety_add_up(others, in->posterior[k]);
    double margin = ((double)in->H + 3) * 0x1p-52;
    return in->posterior[h] > surety_add_up(others, margin) ? h : in->H;
}

/* average_max_dictator, worst_case_dictator. Signed votes. Where Q(h*) exceeds the sum of all others, the
 * vote is right wherever h* is, for every such Q at once: R_D(H_Q) <= the binomial limit at delta/(T_p H) of
 * the examples on which h* errs (h* = 0 is an error). Proof: y sum_h Q(h) v_h >= Q(h*) - sum of the others >
 * 0 where y v_h* = 1. The event is that of the union over the voters, whose limits U_h these are. No
 * factor 2. */
static void rule_dictator(const surety_bound_input *in, const surety_evidence *e, surety_bound_value *v) {
    double C = cost(in, surety_log_up((double)in->H), in->priors_compared);
    v->vote = limit(in, (double)NAN, e->loss_sum[dictator(in)], C);
}

/* ---- the table ---- */

#define WRONG_DRAWN \
    "is wrong on at most this share of new examples, each with one perturbation drawn at random"
#define WRONG_ON_SOME "is wrong on at least one of n perturbations of at most this share of new examples"
#define WRONG_SOMEWHERE \
    "the vote is wrong somewhere in the ball on at most this share of new examples, whatever the attack"

/* clang-format off */
static const surety_bound_info rows[SURETY_BOUNDS] = {
    [SURETY_BOUND_CHROMATIC_SEEGER] = {
        .id = SURETY_BOUND_CHROMATIC_SEEGER, .name = "chromatic_seeger",
        .heading = "chromatic bound", .way = "the paper's, any posterior",
        .promise = "the vote " WRONG_DRAWN ", for every posterior (the paper's)",
        .needs = "KL and Rbar",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_SEEGER,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .learn = SURETY_LEARN_GIBBS,
        .evidence = SURETY_NEEDS_GIBBS | SURETY_NEEDS_KL, .rule = rule_chromatic_seeger},
    [SURETY_BOUND_CHROMATIC_MCALLESTER] = {
        .id = SURETY_BOUND_CHROMATIC_MCALLESTER, .name = "chromatic_mcallester",
        .heading = "chromatic bound (root form)", .way = "the paper's, looser form",
        .promise = "as chromatic_seeger, in the looser form with a square root",
        .needs = "KL and Rbar",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_SEEGER,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .learn = SURETY_LEARN_GIBBS,
        .evidence = SURETY_NEEDS_GIBBS | SURETY_NEEDS_KL, .rule = rule_chromatic_mcallester},
    [SURETY_BOUND_AVERAGE_MAX] = {
        .id = SURETY_BOUND_AVERAGE_MAX, .name = "average_max",
        .heading = "average-max bound", .way = "the paper's, any posterior",
        .promise = "the vote " WRONG_ON_SOME ", for every posterior (the paper's)",
        .needs = "KL and Gmax",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_AVERAGE_MAX_SEEGER,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .learn = SURETY_LEARN_GIBBS,
        .evidence = SURETY_NEEDS_GIBBS | SURETY_NEEDS_KL, .rule = rule_average_max},
    [SURETY_BOUND_AVERAGE_MAX_TV] = {
        .id = SURETY_BOUND_AVERAGE_MAX_TV, .name = "average_max_tv",
        .heading = "average-max bound (TV form)", .way = "the paper's, with total variation",
        .promise = "as average_max, through the surrogate of the vote and a total variation",
        .needs = "KL, Abar and TV",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_AVERAGE_MAX_SEEGER,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1,
        .evidence = SURETY_NEEDS_ABAR | SURETY_NEEDS_TV | SURETY_NEEDS_KL, .rule = rule_average_max_tv},
    [SURETY_BOUND_SEEGER] = {
        .id = SURETY_BOUND_SEEGER, .name = "seeger",
        .heading = "averaged bound (kl form)", .way = "any posterior",
        .promise = "the vote " WRONG_DRAWN ", for every posterior",
        .needs = "KL and Rbar",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_SEEGER,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .learn = SURETY_LEARN_GIBBS,
        .evidence = SURETY_NEEDS_GIBBS | SURETY_NEEDS_KL, .rule = rule_seeger},
    [SURETY_BOUND_AVERAGE_MAX_SEEGER] = {
        .id = SURETY_BOUND_AVERAGE_MAX_SEEGER, .name = "average_max_seeger",
        .heading = "average-max bound (kl form)", .way = "any posterior",
        .promise = "the vote " WRONG_ON_SOME ", for every posterior",
        .needs = "KL and Gmax",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_AVERAGE_MAX_SEEGER,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .learn = SURETY_LEARN_GIBBS,
        .evidence = SURETY_NEEDS_GIBBS | SURETY_NEEDS_KL, .best = SURETY_BEST_ALL, .rule = rule_seeger},
    [SURETY_BOUND_VOTERS_UNION] = {
        .id = SURETY_BOUND_VOTERS_UNION, .name = "voters_union",
        .heading = "union over the voters", .way = "a limit for each voter, no KL",
        .promise = "as seeger, from a limit for each voter: no KL",
        .needs = "the posterior and each voter's mean loss",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_VOTERS_UNION,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .learn = SURETY_LEARN_LEAST,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_LOSS, .rule = rule_union},
    [SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION] = {
        .id = SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION, .name = "average_max_voters_union",
        .heading = "union over the voters", .way = "a limit for each voter, no KL",
        .promise = "as average_max_seeger, from a limit for each voter: no KL",
        .needs = "the posterior and each voter's mean largest loss, or its count of errors",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .learn = SURETY_LEARN_LEAST,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_LOSS, .best = SURETY_BEST_SIGNED, .rule = rule_union},
    [SURETY_BOUND_TANDEM] = {
        .id = SURETY_BOUND_TANDEM, .name = "tandem",
        .heading = "tandem bound", .way = "errors that two voters share",
        .promise = "the vote " WRONG_DRAWN ", from errors that two voters share",
        .needs = "KL and the tandem loss",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_TANDEM,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE,
        .evidence = SURETY_NEEDS_TANDEM | SURETY_NEEDS_KL, .rule = rule_tandem},
    [SURETY_BOUND_VOTE_FROZEN_AVERAGED] = {
        .id = SURETY_BOUND_VOTE_FROZEN_AVERAGED, .name = "vote_frozen_averaged",
        .heading = "prior's vote, counted", .way = "this one vote, fixed beforehand",
        .promise = "the prior's own vote " WRONG_DRAWN,
        .needs = "Q = P and the averaged risk of its vote",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_VOTE_FROZEN_AVERAGED,
        .q = SURETY_Q_FROZEN, .margin = SURETY_MARGIN_NONE,
        .evidence = SURETY_NEEDS_PRIOR, .rule = rule_frozen},
    [SURETY_BOUND_VOTE_FROZEN_MAX] = {
        .id = SURETY_BOUND_VOTE_FROZEN_MAX, .name = "vote_frozen_max",
        .heading = "prior's vote, counted", .way = "this one vote, fixed beforehand",
        .promise = "the prior's own vote " WRONG_ON_SOME,
        .needs = "Q = P and the number of examples on which its vote is wrong for some perturbation",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_VOTE_FROZEN_MAX,
        .q = SURETY_Q_FROZEN, .margin = SURETY_MARGIN_NONE,
        .evidence = SURETY_NEEDS_PRIOR, .best = SURETY_BEST_ALL, .rule = rule_frozen},
    [SURETY_BOUND_VOTE_ANCHORED_AVERAGED] = {
        .id = SURETY_BOUND_VOTE_ANCHORED_AVERAGED, .name = "vote_anchored_averaged",
        .heading = "prior's vote, and losses", .way = "the prior's vote, and losses beside it",
        .promise = "the vote " WRONG_DRAWN ", from the prior's vote and the losses where that is right",
        .needs = "the posterior, the averaged risk of the prior's vote, each voter's loss where that vote "
                 "is right",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_VOTE_ANCHORED_AVERAGED,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_PRIOR | SURETY_NEEDS_KEPT, .rule = rule_anchored},
    [SURETY_BOUND_VOTE_ANCHORED_MAX] = {
        .id = SURETY_BOUND_VOTE_ANCHORED_MAX, .name = "vote_anchored_max",
        .heading = "prior's vote, and losses", .way = "the prior's vote, and losses beside it",
        .promise = "the vote " WRONG_ON_SOME ", from the prior's vote and the losses where that is right",
        .needs = "the posterior, the errors of the prior's vote, each voter's loss where that vote is right",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_VOTE_ANCHORED_MAX,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .best = SURETY_BEST_ALL,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_PRIOR | SURETY_NEEDS_KEPT, .rule = rule_anchored},
    [SURETY_BOUND_VOTE_HOLDOUT] = {
        .id = SURETY_BOUND_VOTE_HOLDOUT, .name = "vote_holdout",
        .heading = "held-out examples, counted", .way = "counted on the held-out examples",
        .promise = "the vote " WRONG_ON_SOME ", counted on examples that chose nothing",
        .needs = "a held-out half of S and the errors of the vote on it",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_VOTE_HOLDOUT,
        .q = SURETY_Q_HELD_OUT, .margin = SURETY_MARGIN_NONE,
        .evidence = SURETY_NEEDS_HELD_OUT, .rule = rule_holdout},
    [SURETY_BOUND_WORST_CASE] = {
        .id = SURETY_BOUND_WORST_CASE, .name = "worst_case",
        .heading = "worst-case bound (kl form)", .way = "any posterior",
        .promise = WRONG_SOMEWHERE ", for every posterior",
        .needs = "KL and the proved losses under Q",
        .risk = SURETY_RISK_WORST_CASE, .event = SURETY_BOUND_WORST_CASE,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1,
        .evidence = SURETY_NEEDS_GIBBS | SURETY_NEEDS_KL, .best = SURETY_BEST_ALL, .rule = rule_seeger},
    [SURETY_BOUND_WORST_CASE_UNION] = {
        .id = SURETY_BOUND_WORST_CASE_UNION, .name = "worst_case_union",
        .heading = "union over the voters", .way = "a limit for each voter, no KL",
        .promise = WRONG_SOMEWHERE ", from a limit for each voter: no KL",
        .needs = "the posterior and each voter's proved loss",
        .risk = SURETY_RISK_WORST_CASE, .event = SURETY_BOUND_WORST_CASE_UNION,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_LOSS, .best = SURETY_BEST_SIGNED, .rule = rule_union},
    [SURETY_BOUND_WORST_CASE_FROZEN] = {
        .id = SURETY_BOUND_WORST_CASE_FROZEN, .name = "worst_case_frozen",
        .heading = "prior's vote, counted", .way = "this one vote, fixed beforehand",
        .promise = WRONG_SOMEWHERE " (the prior's own vote)",
        .needs = "Q = P and the number of examples on which its vote is not proved right",
        .risk = SURETY_RISK_WORST_CASE, .event = SURETY_BOUND_WORST_CASE_FROZEN,
        .q = SURETY_Q_FROZEN, .margin = SURETY_MARGIN_NONE,
        .evidence = SURETY_NEEDS_PRIOR, .best = SURETY_BEST_ALL, .rule = rule_frozen},
    [SURETY_BOUND_WORST_CASE_ANCHORED] = {
        .id = SURETY_BOUND_WORST_CASE_ANCHORED, .name = "worst_case_anchored",
        .heading = "prior's vote, and losses", .way = "the prior's vote, and losses beside it",
        .promise = WRONG_SOMEWHERE ", from the prior's vote and the losses where that is proved right",
        .needs = "the posterior, the unproved examples of the prior's vote, each voter's proved loss on the "
                 "others",
        .risk = SURETY_RISK_WORST_CASE, .event = SURETY_BOUND_WORST_CASE_ANCHORED,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .best = SURETY_BEST_ALL,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_PRIOR | SURETY_NEEDS_KEPT, .rule = rule_anchored},
    [SURETY_BOUND_WORST_CASE_HOLDOUT] = {
        .id = SURETY_BOUND_WORST_CASE_HOLDOUT, .name = "worst_case_holdout",
        .heading = "held-out examples, counted", .way = "counted on the held-out examples",
        .promise = WRONG_SOMEWHERE ", counted on examples that chose nothing",
        .needs = "a held-out half of S and the number of its examples on which the vote is not proved right",
        .risk = SURETY_RISK_WORST_CASE, .event = SURETY_BOUND_WORST_CASE_HOLDOUT,
        .q = SURETY_Q_HELD_OUT, .margin = SURETY_MARGIN_NONE,
        .evidence = SURETY_NEEDS_HELD_OUT, .rule = rule_holdout},
    [SURETY_BOUND_VOTERS_COINS] = {
        .id = SURETY_BOUND_VOTERS_COINS, .name = "voters_coins",
        .heading = "union over voters (coins)", .way = "a limit for each voter, by coins",
        .promise = "as voters_union, losses replaced by coins of the same mean",
        .needs = "the posterior and each voter's coins",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_VOTERS_COINS,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_COINS, .rule = rule_coins},
    [SURETY_BOUND_AVERAGE_MAX_VOTERS_COINS] = {
        .id = SURETY_BOUND_AVERAGE_MAX_VOTERS_COINS, .name = "average_max_voters_coins",
        .heading = "union over voters (coins)", .way = "a limit for each voter, by coins",
        .promise = "as average_max_voters_union, losses replaced by coins of the same mean",
        .needs = "the posterior and each voter's coins",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_AVERAGE_MAX_VOTERS_COINS,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .best = SURETY_BEST_REAL,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_COINS, .rule = rule_coins},
    [SURETY_BOUND_WORST_CASE_COINS] = {
        .id = SURETY_BOUND_WORST_CASE_COINS, .name = "worst_case_coins",
        .heading = "union over voters (coins)", .way = "a limit for each voter, by coins",
        .promise = WRONG_SOMEWHERE ", from a limit for each voter: no KL, losses replaced by coins",
        .needs = "the posterior and each voter's coins",
        .risk = SURETY_RISK_WORST_CASE, .event = SURETY_BOUND_WORST_CASE_COINS,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE, .has_surrogate = 1, .best = SURETY_BEST_REAL,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_COINS, .rule = rule_coins},
    [SURETY_BOUND_VOTE_FROZEN_COINS] = {
        .id = SURETY_BOUND_VOTE_FROZEN_COINS, .name = "vote_frozen_coins",
        .heading = "prior's vote, by coins", .way = "this one vote, fixed beforehand",
        .promise = "the prior's own vote " WRONG_DRAWN ", shares replaced by coins of the same mean",
        .needs = "Q = P and the coins of its vote",
        .risk = SURETY_RISK_AVERAGED, .event = SURETY_BOUND_VOTE_FROZEN_COINS,
        .q = SURETY_Q_FROZEN, .margin = SURETY_MARGIN_NONE,
        .evidence = SURETY_NEEDS_PRIOR_COINS, .rule = rule_frozen_coins},
    [SURETY_BOUND_AVERAGE_MAX_DICTATOR] = {
        .id = SURETY_BOUND_AVERAGE_MAX_DICTATOR, .name = "average_max_dictator",
        .heading = "the dictator's errors", .way = "one voter that outweighs all others",
        .promise = "the vote " WRONG_ON_SOME ", counted for the one voter that decides it",
        .needs = "signed votes, and a voter with more weight than all others",
        .risk = SURETY_RISK_AVERAGED_MAX, .event = SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_DICTATOR, .rule = rule_dictator},
    [SURETY_BOUND_WORST_CASE_DICTATOR] = {
        .id = SURETY_BOUND_WORST_CASE_DICTATOR, .name = "worst_case_dictator",
        .heading = "the dictator's errors", .way = "one voter that outweighs all others",
        .promise = WRONG_SOMEWHERE ", counted for the one voter that decides it",
        .needs = "signed votes, and a voter with more weight than all others",
        .risk = SURETY_RISK_WORST_CASE, .event = SURETY_BOUND_WORST_CASE_UNION,
        .q = SURETY_Q_ANY, .margin = SURETY_MARGIN_VOTE,
        .evidence = SURETY_NEEDS_POSTERIOR | SURETY_NEEDS_DICTATOR, .rule = rule_dictator},
};
/* clang-format on */

const surety_bound_info *surety_bound_list(void) {
    return rows;
}

const char *surety_risk_kind_name(surety_risk_kind kind) {
    static const char *const names[] = {[SURETY_RISK_AVERAGED] = "averaged",
                                        [SURETY_RISK_AVERAGED_MAX] = "averaged_max",
                                        [SURETY_RISK_WORST_CASE] = "worst_case"};
    return names[kind];
}

surety_status surety_bound_find(const char *name, const surety_bound_info **info, surety_error *err) {
    const char *names[SURETY_BOUNDS];
    size_t index;
    *info = NULL;
    for (int i = 0; i < SURETY_BOUNDS; i++) names[i] = rows[i].name;
    SURETY_TRY(surety_name_find("bound", name, names, SURETY_BOUNDS, &index, err));
    *info = &rows[index];
    return SURETY_OK;
}

size_t surety_bound_best(surety_risk_kind risk, surety_q_choice q, int signed_votes,
                         surety_bound_id events[SURETY_BOUNDS]) {
    size_t count = 0;
    surety_best other = signed_votes ? SURETY_BEST_REAL : SURETY_BEST_SIGNED;
    for (int i = 0; i < SURETY_BOUNDS; i++)
        if (rows[i].best && rows[i].best != other && rows[i].risk == risk && rows[i].q == q)
            events[count++] = rows[i].id;
    return count;
}

/* ---- is a row complete? ---- */

/* The event is one of the table, of the same risk and the same kind of Q, and names itself. Bound 0 rests on
 * another one's event, so that 0 says that it was left out. */
static int event_fits(const surety_bound_info *row) {
    if (row->event < 1 || row->event >= SURETY_BOUNDS) return 0;
    if (row->event == row->id) return 1;
    const surety_bound_info *event = &rows[row->event];
    return event->event == event->id && event->risk == row->risk && event->q == row->q;
}

/* A bound for all Q looks at Q; one that does not is about a vote that S did not choose. */
static int evidence_fits(const surety_bound_info *row) {
    int looks_at_q = (row->evidence & (SURETY_NEEDS_KL | SURETY_NEEDS_POSTERIOR)) != 0;
    int held_out = row->evidence == SURETY_NEEDS_HELD_OUT;
    return row->evidence && looks_at_q == (row->q == SURETY_Q_ANY) &&
           held_out == (row->q == SURETY_Q_HELD_OUT);
}

/* What holds for all Q at once was shown for the voters, and so was every surrogate. */
static int margin_fits(const surety_bound_info *row) {
    int through_voters = row->q == SURETY_Q_ANY || row->has_surrogate;
    return row->margin == SURETY_MARGIN_VOTE || (row->margin == SURETY_MARGIN_NONE && !through_voters);
}

surety_status surety_bound_row_check(const surety_bound_info *row, surety_error *err) {
    const struct {
        const char *fact;
        int fits;
    } facts[] = {
        {"words", row->name && row->heading && row->way && row->promise && row->needs},
        {"risk", row->risk >= SURETY_RISK_AVERAGED && row->risk <= SURETY_RISK_WORST_CASE},
        {"q", row->q >= SURETY_Q_ANY && row->q <= SURETY_Q_HELD_OUT},
        {"event", event_fits(row)},
        {"margin", margin_fits(row)},
        {"evidence", evidence_fits(row)},
        {"learn", row->learn == SURETY_LEARN_NO || row->q == SURETY_Q_ANY},
        {"best", !row->best || row->event == row->id},
        {"rule", row->rule != NULL},
    };
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++) {
        if (facts[k].fits) continue;
        surety_fail(err, SURETY_E_CHECK, "the table of bounds lacks a fact about %s, or contradicts itself",
                    row->name ? row->name : "a bound");
        surety_fail_place(err, "%s", facts[k].fact);
        return SURETY_E_CHECK;
    }
    return SURETY_OK;
}

/* ---- computing ---- */

static const surety_evidence *evidence_on(const surety_bound_input *in, surety_risk_kind risk) {
    if (risk == SURETY_RISK_AVERAGED) return &in->averaged;
    return risk == SURETY_RISK_AVERAGED_MAX ? &in->averaged_max : &in->worst_case;
}

/* The first input that the row needs and nobody gave, in words, or NULL. */
static const char *missing_input(const surety_bound_info *row, const surety_bound_input *in,
                                 const surety_evidence *e) {
    const struct {
        unsigned need;
        int given;
        const char *words;
    } inputs[] = {
        {SURETY_NEEDS_POSTERIOR, in->posterior != NULL, "the posterior"},
        {SURETY_NEEDS_ABAR, !isnan(in->abar), "the averaged-max surrogate Abar"},
        {SURETY_NEEDS_TV, !isnan(in->tv), "the total variation"},
        {SURETY_NEEDS_TANDEM, !isnan(in->tandem), "the tandem loss"},
        {SURETY_NEEDS_GIBBS, !isnan(e->gibbs), "the mean loss of the voters under Q"},
        {SURETY_NEEDS_KL, !isnan(in->kl), "KL(Q||P)"},
        {SURETY_NEEDS_LOSS, e->loss || e->loss_sum, "the mean loss of each voter"},
        {SURETY_NEEDS_PRIOR, !isnan(e->prior_risk) || e->prior_wrong != SURETY_ABSENT,
         "the risk of the prior's vote"},
        {SURETY_NEEDS_KEPT, e->kept || e->kept_sum,
         "the losses of each voter where the prior's vote is right"},
        {SURETY_NEEDS_HELD_OUT, e->held_out_m != SURETY_ABSENT && e->held_out_wrong != SURETY_ABSENT,
         "a held-out half of S"},
        {SURETY_NEEDS_COINS, e->coin_sum != NULL, "coins of losses that are not 0 or 1"},
        {SURETY_NEEDS_PRIOR_COINS, e->prior_coins != SURETY_ABSENT, "coins of the prior's vote"},
        {SURETY_NEEDS_DICTATOR, e->loss_sum && in->posterior && dictator(in) < in->H,
         "a signed voter with more weight than all others"},
    };
    if (row->q == SURETY_Q_FROZEN && !in->frozen) return "a posterior that is exactly a candidate prior";
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        if (row->evidence & inputs[k].need && !inputs[k].given) return inputs[k].words;
    return NULL;
}

static surety_bound_value no_value(surety_bound_id id) {
    const double none = (double)NAN;
    return (surety_bound_value){
        .id = id, .surrogate = none, .vote = none, .vote_clipped = none, .d_risk = none, .d_kl = none};
}

surety_status surety_bound_row_compute(const surety_bound_info *row, const surety_bound_input *input,
                                       surety_bound_value *value, surety_error *err) {
    *value = no_value(row->id);
    SURETY_TRY(surety_bound_row_check(row, err));
    const surety_evidence *e = evidence_on(input, row->risk);
    SURETY_TRY(surety_bound_input_check(input, e, err));
    value->missing = missing_input(row, input, e);
    value->available = !value->missing;
    if (!value->available) return SURETY_OK;
    row->rule(input, e, value);
    if (!row->has_surrogate) value->surrogate = (double)NAN;
    value->vote_clipped = fmin(value->vote, 1);
    return SURETY_OK;
}

surety_status surety_bound_compute(surety_bound_id id, const surety_bound_input *input,
                                   surety_bound_value *value, surety_error *err) {
    if ((int)id >= 0 && id < SURETY_BOUNDS) return surety_bound_row_compute(&rows[id], input, value, err);
    *value = no_value(id);
    return surety_fail(err, SURETY_E_USAGE, "there is no bound %d", (int)id);
}
