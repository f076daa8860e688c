/* The ball, feature by feature. */
#ifndef SURETY_VOTERS_BALL_H
#define SURETY_VOTERS_BALL_H

#include "surety/voters.h"

/* SURETY_E_INPUT unless the ball is one for d features. */
surety_status surety_ball_fits(const surety_ball *ball, size_t d, surety_error *err);

/* r_j: 1 without a tolerance. */
double surety_ball_unit(const surety_ball *ball, size_t j);

/* The ends of feature j where its value is x: of the box, and of its own range, stretched to x. */
void surety_ball_ends(const surety_ball *ball, size_t j, float x, float *lo, float *hi);

/* The radius beyond which a box has no more points; without one, or with a tolerance, 2^20 times the ball's.
 */
double surety_ball_widest(const surety_ball *ball, size_t d);

/* The scale of voters that measure distances (docs/theory.md 11): the power of two that is next to 4 times
 * the length of the longest perturbation. */
double surety_ball_scale(const surety_ball *ball, size_t d);

/* ||(e_j / r_j)_j||_p of the ball's norm for e = x - x0, in double; infinite if a feature moved that cannot.
 */
double surety_ball_distance(const surety_ball *ball, const float *x, const float *x0, size_t d);

#endif
