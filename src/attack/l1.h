/* The l1 ball: its projection and its steepest step. */
#ifndef SURETY_ATTACK_L1_H
#define SURETY_ATTACK_L1_H

#include <stddef.h>

/* e (d) = the nearest point of { e : ||e||_1 <= radius }; 0 if it is that already. */
int surety_l1_shrink(double *e, double radius, size_t d);

/* x = x0 + the nearest point of that ball to x - x0; e (d) is scratch. */
void surety_l1_project(float *x, const float *x0, double radius, size_t d, double *e);

/* out = x, except that the coordinate of largest |g| which [lo, hi] still lets move along g (lowest index on
 * ties) moves by step. A zero gradient moves nothing. out may be g. */
void surety_l1_step(const float *x, const float *g, float step, float lo, float hi, size_t d, float *out);

#endif
