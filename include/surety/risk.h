/* surety/risk.h - risks of a weighted vote, from the votes of its voters (docs/theory.md 4.1, 4.2).
 *
 * Votes come in one example at a time, with all its perturbations; what is kept are integers: counts, and
 * losses rounded up to multiples of 2^-32. So the sums are exact, two accumulators merge in any order to the
 * same bits, and every loss errs on the safe side, upwards, by less than 2^-32 per vote.
 *
 * Letters: m examples, n perturbations each, H voters; Q the weights of the vote, P those of its prior;
 * v_ijh in [-1,1] the vote of voter h on perturbation j of example i, y_i in {-1,+1} its label,
 * l_ijh = (1 - y_i v_ijh) / 2 in [0,1] the loss. The vote on (i,j) is the double sum_h Q_h v_ijh, each
 * product rounded and added in the order of the voters: that computed number *is* the classifier whose risk
 * is reported. It is right if y times it is > 0; a tie (exactly 0) counts as an error.
 */
#ifndef SURETY_RISK_H
#define SURETY_RISK_H

#include "surety/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A loss of 1, in the units of the integer sums. */
#define SURETY_LOSS_ONE (INT64_C(1) << 32)

/* More perturbations per example, or more votes m n of one voter, than this are refused: the int64 sums stay
 * exact. */
#define SURETY_RISK_SAMPLES (UINT64_C(1) << 20)
#define SURETY_RISK_VOTES ((UINT64_C(1) << 31) - 1)

/* What an accumulator is for. The weights are copied. Each must be finite, not negative, and sum to 1 within
 * 1e-9; they are used as they are, the outputs account for what is missing to 1. */
typedef struct surety_risk_settings {
    size_t voters;           /* H >= 1 */
    size_t samples;          /* n >= 1, at most SURETY_RISK_SAMPLES */
    int signed_votes;        /* 1: sign(v) votes, sign(0) = 0; 0: v itself */
    const double *posterior; /* Q (H) */
    const double *prior;     /* P (H), or NULL: nothing about the prior's vote is counted */
} surety_risk_settings;

/* An accumulator: one per thread. */
typedef struct surety_risk surety_risk;

SURETY_API surety_status surety_risk_new(surety_risk **out, const surety_risk_settings *settings,
                                         surety_error *err);
SURETY_API void surety_risk_free(surety_risk *risk);

/* Empties the accumulator and gives it another Q (NULL: the same). */
SURETY_API surety_status surety_risk_reset(surety_risk *risk, const double *posterior, surety_error *err);

/* Adds one example: votes[j*stride + h] for its n perturbations, label y = -1 or +1. A vote outside [-1,1] or
 * NaN is refused with its (j,h) as place, and nothing is added. */
SURETY_API surety_status surety_risk_add(surety_risk *risk, const float *votes, size_t stride, int y,
                                         surety_error *err);
SURETY_API surety_status surety_risk_add_double(surety_risk *risk, const double *votes, size_t stride, int y,
                                                surety_error *err);

/* into += from, exactly. Both must have the same H, n, Q, P and kind of votes. */
SURETY_API surety_status surety_risk_merge(surety_risk *into, const surety_risk *from, surety_error *err);

/* What came out. Integers are exact facts about the votes; the doubles below them follow from the integers
 * and Q, and where they may enter a bound they are rounded up, so never below the exact value and within
 * 1e-9 of it. `averaged` and `averaged_max` are plain quotients of counts. */
typedef struct surety_risks {
    uint64_t m;
    size_t n, voters;
    int signed_votes, has_prior;

    int64_t wrong, tied;         /* of the m n votes: y vote < 0, y vote = 0 */
    int64_t max_wrong, max_tied; /* examples with some vote < 0; else with some vote = 0 */
    int64_t prior_wrong;         /* of the m n votes of the prior: not right, ties included */
    int64_t prior_max_wrong;     /* examples where the prior's vote is not right on all n */

    int64_t abar_sum;         /* sum_i max_j E_Q l_ij, in units of 1 / SURETY_LOSS_ONE, as all below */
    int64_t tv_sum;           /* sum_i TV with the best pi_i, ties shared */
    int64_t tv_published_sum; /* sum_i TV with pi_i = mean of the rho_i^h, first worst index */
    int64_t tandem_sum;       /* sum_ij (E_Q l_ij)^2 */

    /* Per voter (H each), owned by this struct. */
    const int64_t *loss;            /* sum_ij l_ijh */
    const int64_t *max_loss;        /* sum_i max_j l_ijh */
    const int64_t *worst_loss;      /* sum_i l_ijh at the j that is worst for the vote of Q */
    const int64_t *errors;          /* examples with some y v_ijh <= 0 (a count) */
    const int64_t *anchored_loss;   /* loss over the (i,j) where the prior's vote is right */
    const int64_t *anchored_max;    /* max_loss over the i where it is right on all j */
    const int64_t *anchored_errors; /* errors over the same i (a count) */

    double averaged, averaged_max;                     /* R, A: a tie is an error */
    double averaged_half_ties, averaged_max_half_ties; /* R, A as in print: a tie is half an error */
    double rbar, abar, gmax;                           /* rounded up */
    double tv, tv_published, tandem;                   /* rounded up */
    void *memory;                                      /* holds the arrays */
} surety_risks;

/* The results so far. Needs at least one example. On failure out is emptied. */
SURETY_API surety_status surety_risk_result(const surety_risk *risk, surety_risks *out, surety_error *err);
SURETY_API void surety_risks_free(surety_risks *risks);

/* The three surrogates as functions of Q. */
typedef enum surety_surrogate { SURETY_RBAR, SURETY_ABAR, SURETY_GMAX } surety_surrogate;

/* The surrogate at Q (H weights, as in the settings), rounded up: Rbar and Gmax for any Q; Abar only for the
 * Q of the accumulator. */
SURETY_API double surety_risks_surrogate(const surety_risks *risks, surety_surrogate which, const double *q);

/* gradient[h] = d surrogate / d theta_h at Q = softmax(theta): Q_h (r_h - sum_k Q_k r_k) with r_h the voter's
 * own mean loss. For Abar, the worst perturbation of each example is held fixed. */
SURETY_API void surety_risks_gradient(const surety_risks *risks, surety_surrogate which, const double *q,
                                      double *gradient);

#ifdef __cplusplus
}
#endif
#endif
