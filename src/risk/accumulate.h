/* The layout of an accumulator's integers, shared by those who fill and those who read them. */
#ifndef SURETY_RISK_ACCUMULATE_H
#define SURETY_RISK_ACCUMULATE_H

#include "base/memory.h"
#include "surety/risk.h"

/* First the sums of the vote .. */
typedef enum surety_risk_sum {
    SURETY_RISK_EXAMPLES,
    SURETY_RISK_WRONG,
    SURETY_RISK_TIED,
    SURETY_RISK_MAX_WRONG,
    SURETY_RISK_MAX_TIED,
    SURETY_RISK_PRIOR_WRONG,
    SURETY_RISK_PRIOR_MAX_WRONG,
    SURETY_RISK_ABAR,
    SURETY_RISK_TV,
    SURETY_RISK_TANDEM,
    SURETY_RISK_PRIOR_COINS,
    SURETY_RISK_HEAD /* how many */
} surety_risk_sum;

/* .. then arrays of H, one number per voter .. */
typedef enum surety_risk_array {
    SURETY_RISK_LOSS,
    SURETY_RISK_MAX_LOSS,
    SURETY_RISK_WORST_LOSS,
    SURETY_RISK_ANCHORED_LOSS,
    SURETY_RISK_ANCHORED_MAX,
    SURETY_RISK_LOSSES, /* how many of them are losses; the others count examples */
    SURETY_RISK_ERRORS = SURETY_RISK_LOSSES,
    SURETY_RISK_ANCHORED_ERRORS,
    SURETY_RISK_COINS,
    SURETY_RISK_MAX_COINS,
    SURETY_RISK_ARRAYS /* how many */
} surety_risk_array;

/* .. then two arrays of K, one number per class: its examples, and those on which the vote failed. How many
 * numbers that are. */
static inline size_t surety_risk_sums(size_t H, size_t K) {
    return SURETY_RISK_HEAD + SURETY_RISK_ARRAYS * H + 2 * K;
}

/* The coin of the next example, uniform in 0 .. 2^32 - 1 (docs/theory.md 12.5): each needs its own. An
 * accumulator that was never given one has no coins. */
void surety_risk_coin(surety_risk *risk, uint32_t coin);

/* The sums of all processes of the run (surety_everyone) instead of this one's. */
surety_status surety_risk_gather(surety_risk *risk, const surety_run *run, surety_error *err);

/* Fills out from sums and the weights q that they were made with. */
surety_status surety_risks_from_sums(surety_risks *out, const int64_t *sums, size_t H, size_t n, size_t K,
                                     const double *q, surety_error *err);

/* surety_risk_add with votes[h*stride + j]: perturbations side by side. */
surety_status surety_risk_add_columns(surety_risk *risk, const float *votes, size_t stride, int y,
                                      surety_error *err);

/* An example of class y < K: score k of voter h on perturbation j at scores[(h*K + k)*ld + j], each in [0,1].
 * What the scores of a voter sum to is not checked. */
surety_status surety_risk_add_score_columns(surety_risk *risk, const float *scores, size_t ld, unsigned y,
                                            surety_error *err);

/* An example of class y < K where n = 1: v itself, in [-1,1], for the c-th class other than y (ascending) of
 * voter h at limits[(h*(K-1) + c)*ld]. Never made signs: of signed voters they must be -1, 0 or 1, else a
 * loss could exceed the 0/1 error that counts for it. */
surety_status surety_risk_add_limits(surety_risk *risk, const float *limits, size_t ld, unsigned y,
                                     surety_error *err);

/* What the example that was added last came to: bits. */
typedef enum surety_verdict {
    SURETY_VERDICT_WRONG = 1, /* some vote of Q is wrong */
    SURETY_VERDICT_TIED = 2,  /* some is tied */
    SURETY_VERDICT_PRIOR = 4  /* some vote of the prior is not right */
} surety_verdict;

uint8_t surety_risk_verdict(const surety_risk *risk);

/* Risks where an example is a unit of several rows: verdicts (units) are the bits of all its rows together,
 * like is an accumulator of the rows. The counts of units that fail are exact; every other sum is as large as
 * it can be, so that no bound that needs it says more than is known. By class, rows are counted. */
surety_status surety_risks_of_units(surety_risks *out, const uint8_t *verdicts, size_t units,
                                    const surety_risk *like, surety_error *err);

/* The index of the first of votes[0..count) that is NaN or outside [-1,1], or count. */
size_t surety_votes_first_bad(const double *votes, size_t count);

/* The first of the K scores that is NaN or outside [0,1], or K; and the sum of those before it, in that
 * order. */
size_t surety_scores_first_bad(const double *scores, size_t K, double *sum);

/* Whether the scores of a voter may have this sum. */
int surety_scores_sum_fits(double sum);

#endif
