/* The vote on one perturbation, from a column of votes. */
#ifndef SURETY_EVALUATE_VOTE_H
#define SURETY_EVALUATE_VOTE_H

#include "surety/voters.h"

/* sum_t weights[t] votes[t * ld], or of the signs: the bits of surety_vote_predict. */
double surety_vote_column(const surety_vote *vote, const float *votes, size_t ld);

#endif
