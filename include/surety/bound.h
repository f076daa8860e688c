/* surety/bound.h - numbers in, guarantees out: kl and its inverse, the exact binomial limit, every bound of
 * docs/theory.md 4.3, 4.5, 8.2, 12.5 and 12.6, the ledger of delta, planning, shifts and wrong labels, the
 * monitor.
 *
 * Nothing here knows a model, a file or an array of votes: the functions take a few numbers measured on S and
 * return limits that hold with probability at least 1 - delta over the draw of S. Every limit is on the safe
 * side to the last bit: what goes in is rounded outward, so is every step, and what comes out is never below
 * the exact value of the formula on the given numbers. (Rounding to nearest is assumed, the default mode.)
 *
 * Letters: m examples in S, n perturbations of each, H voters, P prior, Q posterior, T_p candidate priors.
 *
 * In short:
 *     surety_bound_input in = surety_bound_input_defaults();
 *     in.m = 5000, in.H = 25, in.delta = 0.05, in.priors_compared = 20;
 *     surety_kl_divergence(Q, P, 25, &in.kl, &err);
 *     surety_posterior_mean(Q, mean_loss, 25, &in.averaged.gibbs, &err);
 *     surety_bound_compute(SURETY_BOUND_SEEGER, &in, &value, &err);    -> value.vote
 */
#ifndef SURETY_BOUND_H
#define SURETY_BOUND_H

#include "surety/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kl, its inverse, the binomial limit (docs/theory.md 4.4, 4.5) ---- */

/* kl(a||b) = a ln(a/b) + (1-a) ln((1-a)/(1-b)) for a, b in [0,1], with 0 ln 0 = 0; infinite where b is 0 or 1
 * and a is not. To nearest: relative error below 1e-14. NaN outside [0,1]. */
SURETY_API double surety_kl(double a, double b);

/* kl_inv(q, c) = max { p in [q,1] : kl(q||p) <= c } for q in [0,1], c >= 0, from above: never below the exact
 * value, and at most 1e-14 (relative) above it for q = 0 or q >= 1e-300 and c = 0 or c >= 1e-18. NaN outside
 * the domain. dq and dc, where not NULL, receive dp/dq and dp/dc, to 1e-11 (relative) while p <= 0.999: these
 * only steer a search. Where the derivative does not exist:
 * - q = 0: dq is 0 (the true one is infinite; a batch without a loss has no gradient to give);
 * - p = 1: both are 0;
 * - c = 0 < q < 1: dq is 1, dc infinite. */
SURETY_API double surety_kl_inv(double q, double c, double *dq, double *dc);

/* The one-sided exact binomial limit (Clopper and Pearson): the smallest p with P[Bin(m,p) <= k] <= delta,
 * from above: never below it, at most 1e-12 (relative) above it for m up to 10 million, any k <= m, any delta
 * in (0,1). k = m gives 1. NaN outside the domain (1 <= m <= SURETY_M_LIMIT). */
SURETY_API double surety_binomial_limit(uint64_t k, uint64_t m, double delta);

/* P[Bin(m,p) >= k], from above: never below it, and within 1e-9 of it (relative) where k > m p and it is
 * above 1e-300; 1 where k <= m p. NaN outside the domain (k <= m, 1 <= m <= SURETY_M_LIMIT, p in [0,1]). */
SURETY_API double surety_binomial_tail(uint64_t k, uint64_t m, double p);

/* More candidate priors than this are a mistake, and refused everywhere. */
#define SURETY_PRIORS_MOST UINT64_C(1000000000)

/* The largest m that is accepted anywhere here. */
#define SURETY_M_LIMIT (UINT64_C(1) << 32)

/* ---- planning: how many examples does a promise need? (docs/theory.md 4.8) ---- */

/* "A vote whose true risk is `expected` shall get, with this chance, a binomial limit of at most `promise` at
 * confidence 1 - delta." For a vote that is frozen before S, or in the worst case. */
typedef struct surety_plan {
    double promise;  /* in (0,1) */
    double expected; /* in [0,1) */
    double chance;   /* in (0,1); default 0.9 */
    double delta;    /* in (0,1); of one statement: where several share the confidence, its part */
} surety_plan;

enum { SURETY_PLAN_MOST = 10000000 };

SURETY_API surety_plan surety_plan_defaults(void);

/* *examples: the smallest m_0 such that every S of m >= m_0 examples has the chance. (Some smaller m may have
 * it too: the chance is a sawtooth in m.) SURETY_E_USAGE if that is more than SURETY_PLAN_MOST. */
SURETY_API surety_status surety_plan_examples(const surety_plan *plan, uint64_t *examples, surety_error *err);

/* *promise: the smallest promise that so many examples give with the chance; plan->promise is not read. With
 * expected 0 it is the best that they can give at all. */
SURETY_API surety_status surety_plan_promise(const surety_plan *plan, uint64_t examples, double *promise,
                                             surety_error *err);

/* ---- what follows from a limit (docs/theory.md 12) ---- */

/* *k = max { k : surety_binomial_limit(k, m, delta) <= promise }, and 1; or 0 if there is none. Of m
 * certified radii of examples of S, the (k+1)-th smallest is one at which at most `promise` fail. */
SURETY_API int surety_radius_rank(double promise, uint64_t m, double delta, uint64_t *k);

/* How far new inputs may be from those that S was drawn from, P' against P. */
typedef enum surety_shift {
    SURETY_SHIFT_NONE, /* nothing is assumed */
    SURETY_SHIFT_TV,   /* "tv": total variation, at least 0 */
    SURETY_SHIFT_KL,   /* "kl": KL(P'||P), at least 0 */
    SURETY_SHIFT_CHI2, /* "chi2": chi^2(P'||P), at least 0 */
    SURETY_SHIFT_RATIO /* "ratio": the largest density ratio P'/P, at least 1 */
} surety_shift;

SURETY_API surety_status surety_shift_parse(const char *name, surety_shift *shift, surety_error *err);
SURETY_API const char *surety_shift_name(surety_shift shift);

/* What a limit on a risk becomes under a shift of at most that budget, at most 1. NaN outside the domain. */
SURETY_API double surety_shift_limit(surety_shift shift, double budget, double limit);

/* What is known about wrong labels. */
typedef enum surety_label_noise {
    SURETY_NOISE_NONE,  /* nothing is assumed */
    SURETY_NOISE_FLIPS, /* "flips": a label is replaced by another one, all others being as likely, with one
                           probability for every input and class, known to be at least eta and at most
                           (K-1)/K: no other label is more likely than the right one */
    SURETY_NOISE_PAIRS, /* "pairs": the share of wrong labels among the pairs that S is drawn from is at most
                           eta */
    SURETY_NOISE_ROWS   /* "rows": at most a share eta of the rows of S has a wrong label */
} surety_label_noise;

SURETY_API surety_status surety_label_noise_parse(const char *name, surety_label_noise *noise,
                                                  surety_error *err);
SURETY_API const char *surety_label_noise_name(surety_label_noise noise);

/* FLIPS and PAIRS: what a limit from noisy labels says about right ones, at most 1. NaN outside the domain,
 * and for FLIPS where the limit is below eta or eta is (K-1)/K or more. */
SURETY_API double surety_label_noise_limit(surety_label_noise noise, double eta, double limit,
                                           size_t classes);

/* ROWS: how many failures are added to those counted among m, before the limit is computed. */
SURETY_API uint64_t surety_label_noise_rows(double eta, uint64_t m);

/* a / b rounded up, b >= 1: the way from an integer sum to a risk. Losses summed in units of 2^-32 give
 * surety_ratio_up(sum, m) * 0x1p-32. */
SURETY_API double surety_ratio_up(uint64_t a, uint64_t b);

/* ---- weights over voters ---- */

/* Weights (H) are probabilities: finite, not negative, summing to 1 within 1e-6; else SURETY_E_INPUT with the
 * index. What they mean is the vector divided by its sum, which is how the small error of the sum is covered.
 * name ("prior", "posterior") is for the message. */
SURETY_API surety_status surety_distribution_validate(const double *weights, size_t H, const char *name,
                                                      surety_error *err);

/* KL(Q||P) = sum_h Q_h ln(Q_h / P_h), rounded up, exactly 0 when Q and P have the same bits. A P that is zero
 * where Q is not: SURETY_E_INPUT. */
SURETY_API surety_status surety_kl_divergence(const double *q, const double *p, size_t H, double *kl,
                                              surety_error *err);

/* The mean of values (H, each in [0,1], upper limits themselves) under Q, rounded up and at most 1: Rbar from
 * the mean losses of the voters, Gmax from their mean largest losses. */
SURETY_API surety_status surety_posterior_mean(const double *q, const double *values, size_t H, double *mean,
                                               surety_error *err);

/* ---- the bounds ---- */

typedef enum surety_bound_id {
    SURETY_BOUND_CHROMATIC_SEEGER = 0,
    SURETY_BOUND_CHROMATIC_MCALLESTER,
    SURETY_BOUND_AVERAGE_MAX,
    SURETY_BOUND_AVERAGE_MAX_TV,
    SURETY_BOUND_SEEGER,
    SURETY_BOUND_AVERAGE_MAX_SEEGER,
    SURETY_BOUND_VOTERS_UNION,
    SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION,
    SURETY_BOUND_TANDEM,
    SURETY_BOUND_VOTE_FROZEN_AVERAGED,
    SURETY_BOUND_VOTE_FROZEN_MAX,
    SURETY_BOUND_VOTE_ANCHORED_AVERAGED,
    SURETY_BOUND_VOTE_ANCHORED_MAX,
    SURETY_BOUND_VOTE_HOLDOUT,
    SURETY_BOUND_WORST_CASE,
    SURETY_BOUND_WORST_CASE_UNION,
    SURETY_BOUND_WORST_CASE_FROZEN,
    SURETY_BOUND_WORST_CASE_ANCHORED,
    SURETY_BOUND_WORST_CASE_HOLDOUT,
    SURETY_BOUND_VOTERS_COINS,
    SURETY_BOUND_AVERAGE_MAX_VOTERS_COINS,
    SURETY_BOUND_WORST_CASE_COINS,
    SURETY_BOUND_VOTE_FROZEN_COINS,
    SURETY_BOUND_AVERAGE_MAX_DICTATOR,
    SURETY_BOUND_WORST_CASE_DICTATOR,
    SURETY_BOUNDS /* how many */
} surety_bound_id;

/* The risk of the vote that a bound limits (docs/theory.md 4.1, 8.2). */
typedef enum surety_risk_kind {
    SURETY_RISK_AVERAGED = 1, /* wrong on a perturbation drawn at random */
    SURETY_RISK_AVERAGED_MAX, /* wrong on at least one of n perturbations */
    SURETY_RISK_WORST_CASE    /* wrong somewhere in the ball */
} surety_risk_kind;

/* "averaged", "averaged_max", "worst_case": as in documents. */
SURETY_API const char *surety_risk_kind_name(surety_risk_kind kind);

/* A count that is not known. (Numbers that are not known are NaN, arrays NULL.) */
#define SURETY_ABSENT UINT64_MAX

/* What S says about one kind of loss L_i(h) in [0,1] of voter h on example i (docs/theory.md 4.5, 8.2):
 *   averaged       mean over j of l_ij(h)      where l_ij(h) = (1 - y_i v_ijh) / 2
 *   averaged_max   max over j of l_ij(h)
 *   worst_case     upper limit of the loss over the whole ball
 * and about the vote of the prior P under the same kind: "wrong" is wrong on j, wrong on some j, not proved
 * right. All numbers are upper limits: rounded up where they are not exact (one rounding to nearest is
 * covered, surety_bound_compute raises each by one ulp). A count, where it is given, replaces the mean beside
 * it and gives the binomial limit; give counts only where the losses are 0 or 1 on every example (signed
 * votes with a vote of 0 counted as loss 1, for averaged_max and worst_case; for averaged only if n = 1). */
typedef struct surety_evidence {
    double gibbs;             /* E_{h~Q} mean_i L_i(h): Rbar, Gmax, or its worst-case twin */
    const double *loss;       /* (H) mean_i L_i(h) */
    const uint64_t *loss_sum; /* (H) sum_i L_i(h), if the losses are 0/1 */
    double prior_risk;        /* mean_i of the prior vote being wrong (averaged: mean over j too) */
    uint64_t prior_wrong;     /* examples on which it is wrong, if that is 0/1 */
    const double *kept;       /* (H) mean_i of the loss where the prior vote is right (elsewhere 0): averaged:
                                 mean_j l_ij(h) 1{right on j}; else L_i(h) 1{right on all j / proved right} */
    const uint64_t *kept_sum; /* (H) the same as a count, if it is 0/1 */
    uint64_t held_out_m;      /* examples of the held-out half, which chose nothing */
    uint64_t held_out_wrong;  /* examples of it on which the vote of Q is wrong (0/1 by nature: an example
                                 counts if it is wrong on some j, or not proved right) */
    const uint64_t *coin_sum; /* (H) examples i with a coin below L_i(h), if the losses are not 0/1: coins are
                                 independent of S, uniform in [0,1), one for each example */
    uint64_t prior_coins;     /* the same for the prior vote's share of wrong j, if that is not 0/1 */
} surety_evidence;

/* Everything a bound can need. Start from surety_bound_input_defaults() and fill what is known: a bound whose
 * inputs are missing comes out as not available. Arrays are borrowed for the call. */
typedef struct surety_bound_input {
    uint64_t m;   /* examples in S, 1 .. SURETY_M_LIMIT */
    size_t H;     /* voters, at least 1 */
    double delta; /* in (0,1): the chance that the promise fails, for this event (see the ledger) */
    uint64_t priors_compared; /* T_p, at least 1: candidate priors among which S could choose */
    uint64_t looks;          /* at least 1: runs that could have been made on the same S, whatever was seen of
                                it, this one included (4.6: a list fixed before S, not the runs that came
                                about); multiplies T_p, and the held-out bounds pay it too */
    double kl;               /* KL(Q||P), an upper limit */
    int frozen;              /* 1: Q is exactly one of the candidate priors (then kl is 0 or NaN) */
    const double *posterior; /* (H) Q */
    surety_evidence averaged, averaged_max, worst_case;
    double abar;   /* mean_i of the largest surrogate loss of the vote over j */
    double tv;     /* mean_i E_{h~Q} TV(rho_i^h, pi_i) */
    double tandem; /* E_{h,h'~Q} mean_ij l_ij(h) l_ij(h') */
} surety_bound_input;

/* Numbers NaN, counts SURETY_ABSENT, arrays NULL; delta 0.05, T_p and looks 1, m and H 0. */
SURETY_API surety_bound_input surety_bound_input_defaults(void);

/* One bound, computed. */
typedef struct surety_bound_value {
    surety_bound_id id;
    int available;       /* 0: an input is missing, all numbers are NaN */
    const char *missing; /* the first missing input in words (static), or NULL */
    double surrogate; /* the limit on Rbar_D, Abar_D or E_Q L_D; NaN where a bound speaks of the vote only */
    double vote;      /* the limit on the risk of the vote, not clipped: a value >= 1 says nothing */
    double vote_clipped; /* min(vote, 1) */
    double d_risk, d_kl; /* derivatives of vote in the empirical risk that enters (gibbs, abar, tandem) and in
                            kl, where the bound is a function of these two, else NaN. For learning Q */
} surety_bound_value;

/* ---- the table of bounds ----
 *
 * A row holds every fact about a bound; all other code asks the row. A fact without which a promise could be
 * false has no valid 0: a row that leaves it out is refused by surety_bound_compute (SURETY_E_CHECK). */

/* Whether the proof passes from the voters to their vote ("R <= 2 Rbar" and the like). If so, the limit must
 * cover the rounding of the computed vote; surety_risks_bounds adds that margin. */
typedef enum surety_margin {
    SURETY_MARGIN_VOTE = 1, /* it does: the margin is added */
    SURETY_MARGIN_NONE      /* the computed vote itself was counted */
} surety_margin;

/* How the posterior Q may depend on S. */
typedef enum surety_q_choice {
    SURETY_Q_ANY = 1, /* in any way: the bound holds for all Q at once */
    SURETY_Q_FROZEN,  /* Q is exactly one of the candidate priors */
    SURETY_Q_HELD_OUT /* in any way on one half of S; the other half, which chose nothing, is counted */
} surety_q_choice;

/* How surety_posterior_learn finds the Q that minimises the bound on drawn perturbations, if it can. */
typedef enum surety_q_learning {
    SURETY_LEARN_NO = 0,
    SURETY_LEARN_GIBBS, /* a function of the mean loss under Q and KL(Q||P): Q = P exp(-beta loss) / Z */
    SURETY_LEARN_LEAST  /* a mean of limits under Q, no KL: all weight on the voters with the least loss */
} surety_q_learning;

/* For which votes "best" takes the bound: signed or real is fixed before S. */
typedef enum surety_best {
    SURETY_BEST_NO = 0,
    SURETY_BEST_ALL,
    SURETY_BEST_SIGNED,
    SURETY_BEST_REAL
} surety_best;

/* The inputs that a bound needs beyond m, H, delta, T_p and looks: bits of surety_bound_info.evidence. */
enum {
    SURETY_NEEDS_POSTERIOR = 1 << 0, /* of surety_bound_input: posterior, .. */
    SURETY_NEEDS_ABAR = 1 << 1,
    SURETY_NEEDS_TV = 1 << 2,
    SURETY_NEEDS_TANDEM = 1 << 3,
    SURETY_NEEDS_GIBBS = 1 << 4, /* of the evidence on its risk: gibbs */
    SURETY_NEEDS_KL = 1 << 5,
    SURETY_NEEDS_LOSS = 1 << 6,         /* loss or loss_sum */
    SURETY_NEEDS_PRIOR = 1 << 7,        /* prior_risk or prior_wrong */
    SURETY_NEEDS_KEPT = 1 << 8,         /* kept or kept_sum */
    SURETY_NEEDS_HELD_OUT = 1 << 9,     /* held_out_m and held_out_wrong */
    SURETY_NEEDS_COINS = 1 << 10,       /* coin_sum */
    SURETY_NEEDS_PRIOR_COINS = 1 << 11, /* prior_coins */
    SURETY_NEEDS_DICTATOR = 1 << 12     /* loss_sum, and a voter with more weight than all others together */
};

/* The formula: fills surrogate, vote and derivatives of a value whose needs are met. */
typedef void surety_bound_rule(const surety_bound_input *input, const surety_evidence *evidence,
                               surety_bound_value *value);

/* A row: what is known of a bound without numbers. Strings are static. */
typedef struct surety_bound_info {
    surety_bound_id id;
    const char *name;      /* "average_max_seeger" */
    const char *heading;   /* its name for people: "average-max bound (kl form)" */
    const char *way;       /* how it gets there, in a few words */
    const char *promise;   /* one sentence for the reader of a table; "this share" is the vote value */
    const char *needs;     /* evidence and q in words */
    surety_risk_kind risk; /* the risk it speaks of, whose evidence the rule takes */
    surety_bound_id event; /* the random event it rests on, named by its tightest bound. Bounds with the same
                              event hold together for one delta, and their minimum is free */
    surety_q_choice q;
    surety_margin margin;
    unsigned evidence; /* SURETY_NEEDS_* */
    int has_surrogate; /* 0: it speaks of the vote only */
    surety_best best;  /* whether certificates with the bound "best" announce its event */
    surety_q_learning learn;
    surety_bound_rule *rule; /* for surety_bound_compute, which checks the input first */
} surety_bound_info;

/* The table of all bounds, SURETY_BOUNDS rows in the order of the enum, and one row of it by name (hyphens
 * and underscores alike; an unknown name is SURETY_E_USAGE with the nearest one). */
SURETY_API const surety_bound_info *surety_bound_list(void);
SURETY_API surety_status surety_bound_find(const char *name, const surety_bound_info **info,
                                           surety_error *err);

/* The events (their number is returned) of this risk and choice of Q whose rows say `best` for signed or real
 * votes, in the order of the table. The first of them is the bound to use where none is named. */
SURETY_API size_t surety_bound_best(surety_risk_kind risk, surety_q_choice q, int signed_votes,
                                    surety_bound_id events[SURETY_BOUNDS]);

/* Computes one bound. Numbers out of range (delta outside (0,1), m = 0, a risk outside [0,1], a count above
 * m, a posterior that is none) are SURETY_E_INPUT; a missing input is no error: value->available is 0. On
 * failure value holds NaN. */
SURETY_API surety_status surety_bound_compute(surety_bound_id id, const surety_bound_input *input,
                                              surety_bound_value *value, surety_error *err);

/* ---- the ledger of delta (docs/theory.md 4.6) ---- */

/* Delta is spent on random events. Before S is looked at, every event that will be quoted is announced; the
 * first spending closes the list and splits delta evenly among the announced events, shares rounded down so
 * that their sum, rounded up, is at most delta. Spending the same event again is free; spending one that was
 * not announced, or with more candidates or looks than announced, is SURETY_E_CHECK. */
typedef struct surety_ledger surety_ledger;

#define SURETY_EVENT_TEXT 192 /* bytes of an event's name, its NUL included */

/* One event: what its bound must be computed with (delta = share, priors_compared, looks). */
typedef struct surety_ledger_entry {
    /* what makes it an event of its own: bound's event, attack, radius, voter set */
    char event[SURETY_EVENT_TEXT];
    double share;             /* its part of delta; NaN before the list is closed */
    uint64_t priors_compared; /* T_p budgeted */
    uint64_t looks;           /* looks budgeted */
    int spent;                /* 1: it was spent */
} surety_ledger_entry;

SURETY_API surety_status surety_ledger_new(double delta, surety_ledger **out, surety_error *err);
SURETY_API void surety_ledger_free(surety_ledger *ledger);

/* Announces an event. The same event twice, or after the list is closed: SURETY_E_CHECK. */
SURETY_API surety_status surety_ledger_announce(surety_ledger *ledger, const char *event,
                                                uint64_t priors_compared, uint64_t looks, surety_error *err);

/* Spends an announced event of which priors_compared candidates and looks were really used, and copies its
 * entry (entry may be NULL). */
SURETY_API surety_status surety_ledger_spend(surety_ledger *ledger, const char *event,
                                             uint64_t priors_compared, uint64_t looks,
                                             surety_ledger_entry *entry, surety_error *err);

/* The entries in the order of announcement, borrowed until the next call on the ledger; and the whole delta.
 */
SURETY_API const surety_ledger_entry *surety_ledger_entries(const surety_ledger *ledger, size_t *count);
SURETY_API double surety_ledger_delta(const surety_ledger *ledger);

/* ---- after deployment: does a promise still hold? (docs/theory.md 12.8) ----
 *
 * Outcomes of the deployed vote are added in the order in which they arrive. While the promise is true, a
 * monitor raises a false alarm *ever* with probability alpha at most; the promise itself is false with
 * probability delta at most. No memory is allocated; the state is the struct, which may be kept in any way.
 *
 *     surety_monitor m;
 *     surety_monitor_start(certificate_value, 0.05, &m, &err);
 *     if (surety_monitor_add(&m, failed)) ...      the promise is refuted
 *     surety_monitor_limit(&m)                     what the outcomes alone say about the risk
 */
typedef struct surety_monitor {
    double promise;        /* r: at most this share fails; 1 or more promises nothing and is never refuted */
    double alpha;          /* chance of a false alarm, ever */
    uint64_t seen, failed; /* outcomes so far */
    uint64_t alarm;        /* the outcome, from 1, at which the promise was refuted; 0: it holds so far */
} surety_monitor;

SURETY_API surety_status surety_monitor_start(double promise, double alpha, surety_monitor *monitor,
                                              surety_error *err);

/* One outcome: failed is 1 if the vote was wrong. Returns 1 if the promise is refuted, now or before. */
SURETY_API int surety_monitor_add(surety_monitor *monitor, int failed);

/* ln M_t: the evidence against the promise; it is refuted at ln(1/alpha). */
SURETY_API double surety_monitor_evidence(const surety_monitor *monitor);

/* A limit on the risk from the outcomes alone. With probability 1 - alpha it is right at every moment, if the
 * risk does not change. */
SURETY_API double surety_monitor_limit(const surety_monitor *monitor);

#ifdef __cplusplus
}
#endif
#endif
