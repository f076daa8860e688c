/* surety/risk.h - from the votes of any ensemble to risks and guarantees (docs/theory.md 4, docs/votes.md).
 *
 * Three layers, each usable alone:
 *   surety_risk         accumulators: votes in, one example at a time; risks and surrogates out
 *   surety_risks_*      what follows from these: inputs of every bound, gradients, a learned posterior
 *   surety_bound_votes  all of it at once, for arrays or NPY files of votes
 *
 * Letters: m examples, n perturbations each, H voters; Q the weights of the vote, P those of its prior;
 * v_ijh in [-1,1] the vote of voter h on perturbation j of example i, y_i in {-1,+1} its label,
 * l_ijh = (1 - y_i v_ijh) / 2 in [0,1] the loss. Weights are probabilities as surety/bound.h has them.
 *
 * The vote on (i,j) is the double sum_h Q_h v_ijh, each product rounded and added in the order of the voters:
 * that computed number *is* the classifier whose risk is reported. It is right if y times it is > 0; a tie
 * (exactly 0) counts as an error.
 *
 * K > 2 classes (docs/theory.md 4.7). A voter gives K scores s_0 .. s_(K-1) in [0,1], or names one class; y_i
 * is a class number. Each perturbation j becomes K - 1 columns, one for each class k other than y: there v =
 * s_y - s_k, computed in double, and the label is +1. The vote on (i,j) is right if all its K - 1 sums sum_h
 * Q_h v are > 0, wrong if one is < 0, else a tie. A voter that names class c has s_c = 1; one that cannot
 * decide (class SURETY_NO_CLASS) has v = 0 everywhere. With two classes there is one column, and class 0 is
 * the label -1, class 1 the label +1.
 */
#ifndef SURETY_RISK_H
#define SURETY_RISK_H

#include "surety/base.h"
#include "surety/bound.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- accumulators ----
 *
 * What is kept are integers: counts, and losses rounded up to multiples of 2^-32. So the sums are exact, two
 * accumulators merge in any order to the same bits, and every loss errs on the safe side, upwards, by less
 * than 2^-32 per vote. */

/* A loss of 1, in the units of the integer sums. */
#define SURETY_LOSS_ONE (UINT64_C(1) << 32)

/* More perturbations per example, or more votes m n of one voter, than this are refused: the sums stay exact.
 */
#define SURETY_RISK_SAMPLES (UINT64_C(1) << 20)
#define SURETY_RISK_VOTES ((UINT64_C(1) << 31) - 1)

/* Most classes, and the class number of a voter whose largest score is tied. */
#define SURETY_RISK_CLASSES 255
#define SURETY_NO_CLASS 255

/* What an accumulator is for. The weights are copied. */
typedef struct surety_risk_settings {
    size_t voter_count; /* H >= 1 */
    size_t samples;     /* n >= 1; n (K - 1) at most SURETY_RISK_SAMPLES */
    int signed_votes;   /* 1: sign(v) votes, sign(0) = 0, or the class of the largest score; 0: as given */
    const double *posterior; /* Q (H) */
    const double *prior;     /* P (H), or NULL: nothing about the prior's vote is counted */
    size_t classes;          /* K, at most SURETY_RISK_CLASSES; 0 means 2 */
} surety_risk_settings;

/* An accumulator: one per thread. */
typedef struct surety_risk surety_risk;

SURETY_API surety_status surety_risk_new(const surety_risk_settings *settings, surety_risk **out,
                                         surety_error *err);
SURETY_API void surety_risk_free(surety_risk *risk);

/* Empties the accumulator and gives it another Q (NULL: the same). */
SURETY_API surety_status surety_risk_reset(surety_risk *risk, const double *posterior, surety_error *err);

/* Adds one example of two classes: votes[j*stride + h] for its n perturbations, label y = -1 or +1. A vote
 * outside [-1,1] or NaN is refused with its place, and nothing is added. */
SURETY_API surety_status surety_risk_add(surety_risk *risk, const float *votes, size_t stride, int y,
                                         surety_error *err);
SURETY_API surety_status surety_risk_add_double(surety_risk *risk, const double *votes, size_t stride, int y,
                                                surety_error *err);

/* Adds one example of class y < K: scores[j*stride + h*K + k], each in [0,1], the K of a voter with the sum 1
 * within 1e-5. Anything else is refused with its place, and nothing is added. */
SURETY_API surety_status surety_risk_add_scores(surety_risk *risk, const float *scores, size_t stride,
                                                unsigned y, surety_error *err);
SURETY_API surety_status surety_risk_add_scores_double(surety_risk *risk, const double *scores, size_t stride,
                                                       unsigned y, surety_error *err);

/* Adds one example of class y < K: labels[j*stride + h], the class that voter h names, or SURETY_NO_CLASS. */
SURETY_API surety_status surety_risk_add_labels(surety_risk *risk, const uint8_t *labels, size_t stride,
                                                unsigned y, surety_error *err);

/* into += from, exactly. Both must have the same H, n, K, Q, P and kind of votes. */
SURETY_API surety_status surety_risk_merge(surety_risk *into, const surety_risk *from, surety_error *err);

/* What came out. Integers are exact facts about the votes (rounded up to units where they are losses); the
 * doubles follow from the integers and Q. Doubles that may enter a bound are rounded up: never below the
 * exact value, and within 1e-9 of it. `averaged` and `averaged_max` are plain quotients of counts. */
typedef struct surety_risks {
    uint64_t m;
    size_t n, voter_count, classes;
    int signed_votes, has_prior, has_coins;

    /* Where K > 2: a vote is the least of its K - 1 sums, j runs over all n (K - 1) columns wherever
     * something is the worst over j, and l_ijh in loss, anchored_loss and tandem_sum is the largest over k.
     */
    uint64_t wrong, tied;         /* of the m n votes: y vote < 0, y vote = 0 */
    uint64_t max_wrong, max_tied; /* examples with some vote < 0; else with some vote = 0 */
    uint64_t prior_wrong;         /* of the m n votes of the prior: not right, ties included */
    uint64_t prior_max_wrong;     /* examples where the prior's vote is not right on all n */

    uint64_t abar_sum;    /* sum_i max_j E_Q l_ij, in units of 1 / SURETY_LOSS_ONE, as all losses below */
    uint64_t tv_sum;      /* sum_i TV with the best pi_i, ties shared */
    uint64_t tandem_sum;  /* sum_ij (E_Q l_ij)^2 */
    uint64_t prior_coins; /* examples whose coin is below the prior vote's share of wrong j (has_coins) */

    /* Per voter, (H) each, owned by this struct. */
    const uint64_t *loss;              /* sum_ij l_ijh */
    const uint64_t *max_loss;          /* sum_i max_j l_ijh */
    const uint64_t *worst_loss;        /* sum_i l_ijh at the j that is worst for the vote of Q */
    const uint64_t *anchored_loss;     /* loss over the (i,j) where the prior's vote is right */
    const uint64_t *anchored_max;      /* max_loss over the i where it is right on all j */
    const uint64_t *errors;            /* examples with some y v_ijh <= 0 (a count) */
    const uint64_t *anchored_errors;   /* errors over the i of anchored_max (a count) */
    const uint64_t *coins, *max_coins; /* examples whose coin is below mean_j l_ijh, below max_j l_ijh */
    const double *mean_loss, *mean_max_loss, *mean_worst_loss; /* the same as means, rounded up */
    const double *mean_anchored_loss, *mean_anchored_max;

    /* Per class, (K) each, owned by this struct; class 0 is the label -1, 1 is +1. */
    const uint64_t *class_examples; /* examples of the class */
    const uint64_t *class_failed;   /* those on which the vote is not right on all n */

    /* Per group of the set, (group_count) examples, then as many failures; NULL: it has no groups. Owned. */
    size_t group_count;
    uint64_t *groups;

    double averaged, averaged_max; /* R, A: a tie is an error */
    double rbar, abar, gmax;       /* rounded up; abar <= gmax, rbar <= gmax, and rbar <= abar if K = 2 */
    double tv, tandem;             /* rounded up */
    void *memory;                  /* holds the arrays */
} surety_risks;

/* The results so far. Needs at least one example. */
SURETY_API surety_status surety_risk_result(const surety_risk *risk, surety_risks *out, surety_error *err);
SURETY_API void surety_risks_free(surety_risks *risks);

/* {averaged, averaged_max, rbar, abar, gmax, tv, tandem, classes: [{examples, failed}]} as text (free with
 * surety_text_free; NULL: no memory). */
SURETY_API char *surety_risks_json(const surety_risks *risks);

/* ---- what follows from risks ---- */

/* The three surrogates as functions of Q. */
typedef enum surety_surrogate { SURETY_RBAR, SURETY_ABAR, SURETY_GMAX } surety_surrogate;

/* gradient[h] = d surrogate / d theta_h at Q = softmax(theta): Q_h (r_h - sum_k Q_k r_k) with r_h the voter's
 * own mean loss. Rbar and Gmax: for any Q. Abar: at the Q of the accumulator, the worst perturbation of each
 * example held fixed. (Rbar and Gmax themselves, for any Q: surety_posterior_mean of mean_loss,
 * mean_max_loss.) */
SURETY_API void surety_risks_gradient(const surety_risks *risks, surety_surrogate which, const double *q,
                                      double *gradient);

/* What S says about one kind of loss. The arrays are those of risks. For SURETY_RISK_WORST_CASE, risks must
 * come from n = 1 "votes" that are the lower limits of y h over the ball (times y), or of s_y - s_k. */
SURETY_API void surety_risks_evidence(const surety_risks *risks, surety_risk_kind kind, surety_evidence *out);

/* Fills an input of surety_risks_bounds: m, H, KL, whether Q is P, Q, both evidences, abar, tv, tandem. q is
 * the Q of the accumulator, p its prior (every weight above 0). delta, priors_compared, looks and worst_case
 * are left alone. Arrays are borrowed. */
SURETY_API surety_status surety_risks_input(const surety_risks *risks, const double *q, const double *p,
                                            surety_bound_input *input, surety_error *err);

/* Every bound, in the order of surety_bound_id. To those whose row says SURETY_MARGIN_VOTE it adds what the
 * rounding of the computed vote may cost, about 2^-52 per voter. */
SURETY_API surety_status surety_risks_bounds(const surety_bound_input *input,
                                             surety_bound_value values[SURETY_BOUNDS], surety_error *err);

/* Whether T contradicts a limit on the vote's risk that was computed from S (docs/certificates.md, "T refutes
 * S"). The event that the limit is about is counted on T: examples on which the vote fails on some of their n
 * perturbations (averaged_max), or is not proved right (worst_case); all m n votes (averaged). chance: an
 * upper limit of the probability of so many or more, if the limit were true. */
typedef struct surety_refutation {
    uint64_t m, failed; /* m examples, or m n votes */
    double limit, chance;
    int refuted; /* chance < SURETY_IMPOSSIBLE */
} surety_refutation;

#define SURETY_IMPOSSIBLE 1e-6

SURETY_API surety_refutation surety_risks_refute(const surety_risks *test, surety_risk_kind kind,
                                                 double limit);

/* How learning a posterior ended. */
typedef struct surety_learned {
    surety_bound_id objective;
    double start, value;  /* the vote bound at the prior and at the learned Q */
    double gradient_norm; /* largest |d bound / d theta_h| at the learned Q */
    uint64_t iterations;
} surety_learned;

/* The Q (H) that minimises the bound `objective` from the prior p, on the mean losses of the voters in risks
 * (of any Q). Possible for the bounds on drawn perturbations that depend on Q through a mean over voters,
 * those whose row has a `learn`; others are SURETY_E_USAGE. From input it takes delta, priors_compared and
 * looks. */
SURETY_API surety_status surety_posterior_learn(const surety_risks *risks, const double *p,
                                                surety_bound_id objective, const surety_bound_input *input,
                                                double *q, surety_learned *learned, surety_error *err);

/* ---- from votes to guarantees ---- */

/* What surety_bound_votes is asked. Start from surety_votes_defaults(). Either files (votes and labels are
 * paths) or arrays (votes NULL). */
typedef struct surety_votes_settings {
    /* NPY, read piece by piece. Floats (m, n, H) or (m, H): votes in [-1,1], two classes. Floats (m, n, H,
     * K): scores in [0,1], the K of a voter with the sum 1 within 1e-5. Whole numbers (m, n, H) or (m, H):
     * signed votes if one of them is negative, else class numbers, SURETY_NO_CLASS for none. */
    const char *votes;
    /* NPY (m) or a text of m lines: class numbers, or -1/+1 for two classes; in a text also names, which are
     * numbered in sorted order. */
    const char *labels;
    const char *prior;     /* NPY (H), every weight above 0; NULL: uniform */
    const char *posterior; /* NPY (H); NULL: the prior itself, or learned */

    const float *vote_array;       /* instead of the files: (m, n, H) in [-1,1] .. */
    const int8_t *label_array;     /* .. with (m), -1 or +1; or .. */
    const uint8_t *class_votes;    /* .. (m, n, H) class numbers, or .. */
    const float *score_array;      /* .. (m, n, H, K) scores, either .. */
    const uint8_t *class_labels;   /* .. with (m) class numbers; and .. */
    const double *prior_array;     /* .. (H) or NULL .. */
    const double *posterior_array; /* .. (H) or NULL */
    size_t m, n, H;                /* shape of the votes */
    size_t classes;                /* K: needed by score_array; else 0 finds it in the votes and labels */

    int learn;                 /* 1: learn Q; no posterior may be given */
    surety_bound_id objective; /* the bound that learning minimises */
    int signed_votes;  /* 1: sign(v) votes, or the class of the largest score. Class numbers always are */
    uint64_t hold_out; /* the last so many examples chose nothing (neither the prior nor Q): they give
                          vote_holdout, the others everything else. 0: none. The order of the examples
                          must be random: the end of a file sorted by class is no sample */
    double delta;      /* in (0,1) */
    uint64_t priors_compared; /* T_p >= 1 */
    uint64_t looks;           /* >= 1, as in surety_bound_input */
} surety_votes_settings;

/* Real votes, objective average_max_seeger, delta 0.05, T_p = looks = 1, all else zero. */
SURETY_API surety_votes_settings surety_votes_defaults(void);

/* The answer. */
typedef struct surety_votes_result {
    surety_risks risks; /* on the examples that are not held out */
    double *prior;      /* (H) P */
    double *posterior;  /* (H) Q */
    char **class_names; /* (K) if the labels are names, else NULL */
    int learned;        /* whether learning says something */
    surety_learned learning;
    surety_bound_input input;                 /* all that went into the bounds; its arrays are those above */
    surety_bound_value bounds[SURETY_BOUNDS]; /* in the order of surety_bound_id */
    int flat;                                 /* the file of votes has the shape (m, H) */
} surety_votes_result;

/* Risks and every bound for these votes. Votes that are NaN or outside [-1,1], scores that do not sum to 1,
 * shapes that do not fit, labels that are no class, weights that are no distribution, a prior with zeros, a
 * delta outside (0,1), empty arrays: SURETY_E_INPUT with the index. The same bits for any run. */
SURETY_API surety_status surety_bound_votes(const surety_votes_settings *settings, surety_votes_result *out,
                                            const surety_run *run, surety_error *err);
SURETY_API void surety_votes_result_free(surety_votes_result *result);

/* The answer as JSON text (free with surety_text_free; NULL: no memory): m, n, voter_count, class_count, kl,
 * delta, .., risks{}, bounds{NAME: {surrogate, vote, vote_clipped, risk, event}}, unavailable{NAME: why},
 * posterior[], and learning{} if Q was learned. */
SURETY_API char *surety_votes_result_json(const surety_votes_result *result);

/* Writes weights (H) as NPY float64, the form in which surety_votes_settings takes them. */
SURETY_API surety_status surety_posterior_write(const double *q, size_t H, const char *path,
                                                surety_error *err);

#ifdef __cplusplus
}
#endif
#endif
