/* The worst that every voter can do over the whole ball (docs/theory.md 8.2): limits without a sample.
 *
 * On an example (x, y) they are lower limits of v(x + e) over all e of the ball, v being y h (two classes) or
 * h_y - h_k for every other class k; of the signed set those of its label, where "not proved right" counts as
 * wrong. A margin of the program is a sum of rounded products in a fixed order; rounding is monotone, so the
 * same sum over the limits is a lower limit of the computed margin itself: if it is above 0, the vote is
 * proved right everywhere in the ball, with no margin more. */
#ifndef SURETY_VOTERS_WORST_H
#define SURETY_VOTERS_WORST_H

#include "voters/range.h"

/* One thread's workspace; the voters are borrowed and must not change. */
typedef struct surety_worst surety_worst;

/* budget: see voters/range.h. */
surety_status surety_worst_new(surety_worst **out, const surety_voters *voters, const surety_ball *ball,
                               uint64_t budget, surety_voter_set set, surety_error *err);
void surety_worst_free(surety_worst *w);

/* The limits (H, K - 1, SURETY_LANES) of the examples, radius[r] around each; w's own until its next run. */
const float *surety_worst_run(surety_worst *w, const surety_examples *examples, const double *radius);

/* proved[r]: the vote is right everywhere within radius[r]. */
void surety_worst_prove(surety_worst *w, const surety_vote *vote, const surety_examples *examples,
                        const double *radius, int *proved);

/* proved[r]: the vote is right everywhere in the ball's own radius. radius[r]: the largest radius for which
 * the vote was proved right, by bisection to 2^-16 of it (-1: not even for x itself), at most the radius
 * beyond which a box has no more points (surety_ball_widest). */
void surety_worst_radius(surety_worst *w, const surety_vote *vote, const surety_examples *examples,
                         double *radius, int *proved);

#endif
