/* The l1 ball: its projection and its steepest step. */
#ifndef SURETY_ATTACK_L1_H
#define SURETY_ATTACK_L1_H

#include <stddef.h>

/* x = x0 + the nearest point of { e : ||e||_1 <= radius } to x - x0. */
void surety_l1_project(float *x, const float *x0, double radius, size_t d);

/* out = x, except that the coordinate of largest |g| which [lo, hi] still lets move along g (lowest index on
 * ties) moves by step. A zero gradient moves nothing. out may be g. */
void surety_l1_step(const float *x, const float *g, float step, float lo, float hi, size_t d, float *out);

#endif
