/* Sound limits of voters over a ball (docs/theory.md 8.1): no float point of the ball-and-box around x makes
 * these voters return an output outside of them. */
#ifndef SURETY_VOTERS_RANGE_H
#define SURETY_VOTERS_RANGE_H

#include "voters/voters.h"

/* One thread's workspace. The voters are borrowed and must not change while it lives. */
typedef struct surety_range surety_range;

/* All of the ball but its radius is kept: every row brings its own. budget: how many steps of a search may be
 * taken for a row, of kinds that search. */
surety_status surety_range_new(surety_range **out, const surety_voters *voters, const surety_ball *ball,
                               uint64_t budget, surety_error *err);
void surety_range_free(surety_range *range);

/* low (H, K - 1, SURETY_LANES): lower limits over the ball of radius[r] around row r with class number y[r]
 * (where features were scaled, over all that surety_ball_cover says), for rows <= SURETY_LANES; lanes behind
 * rows are unspecified. Two classes: of y h_t. More: of h_ty - h_tk for the classes k other than y[r],
 * ascending. A row lies in the box. Where the parameters are so large that the program could overflow, the
 * limits of all voters are -1. */
void surety_range_run(surety_range *range, const float *const *x, size_t rows, const double *radius,
                      const uint8_t *y, float *low);

/* SEARCH: looks for a float point of the ball of this radius around x, truly inside and in the box, at which
 * the vote does not answer y. 1: point (d floats) is one. 0: none was found, and point is x. */
int surety_range_find(surety_range *range, const surety_vote *vote, const float *x, uint8_t y, double radius,
                      float *point);

#endif
