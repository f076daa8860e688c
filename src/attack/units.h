/* Moves in the units of a tolerance: u_k = e_j / r_j of the features that can change, feature j being the
 * k-th of them. Starts, steps and noise are made in u; one function brings u back into the ball and makes a
 * point of it. */
#ifndef SURETY_ATTACK_UNITS_H
#define SURETY_ATTACK_UNITS_H

#include "surety/voters.h"

typedef struct surety_units {
    surety_norm norm;
    size_t d, count;   /* features, and those that can change */
    double radius;     /* of the ball, less what the doubles here may be off */
    double *unit;      /* (count) r_j */
    uint32_t *feature; /* (count) */
    double *u;         /* (count) the point that is being made */
} surety_units;

/* The ball has a tolerance, which is copied. */
surety_status surety_units_new(surety_units **out, const surety_ball *ball, surety_error *err);
void surety_units_free(surety_units *units); /* NULL is fine */

/* u = (x - x0) / r. */
void surety_units_at(surety_units *units, const float *x, const float *x0);

/* u = the radius times a point (count) drawn from the unit ball; u += scale times noise (count) in [-1, 1].
 */
void surety_units_start(surety_units *units, const float *drawn);
void surety_units_shake(surety_units *units, const float *noise, double scale);

/* u += a step of this length along the gradient g (d) of the loss at x: r g / ||r g||_2 for l2, sign g for
 * linf, for l1 the feature of largest r_j |g_j| that [lo_j, hi_j] still lets move. A zero gradient moves
 * nothing. */
void surety_units_step(surety_units *units, const float *x, const float *g, double step, const float *lo,
                       const float *hi);

/* u where x0 + r u lies in [lo, hi], the nearest: before a projection, so that no length is spent on what the
 * range cuts off (steps of l1, noise). */
void surety_units_clip(surety_units *units, const float *x0, const float *lo, const float *hi);

/* out = x0 + r u, u brought back into the ball and x into [lo, hi], which holds x0. Features that cannot
 * change keep their bits. */
void surety_units_place(surety_units *units, const float *x0, const float *lo, const float *hi, float *out);

#endif
