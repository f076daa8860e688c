/* The vote on one perturbation, from a column of votes. */
#ifndef SURETY_EVALUATE_VOTE_H
#define SURETY_EVALUATE_VOTE_H

#include "surety/voters.h"

/* The smallest margin of the vote for class y (voters/voters.h), from output k of voter t at
 * votes[(t * width + k) * ld]: the bits of surety_margin_lanes. */
double surety_margin_column(const surety_vote *vote, const float *votes, size_t ld, uint8_t y);

/* The smallest v of one voter: what it alone would do. outputs[k * ld], k < width. */
double surety_voter_margin(const float *outputs, size_t ld, size_t width, surety_voter_set set, uint8_t y);

#endif
