/* Adam (Kingma and Ba 2015): m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, and
 * x -= lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps). */
#ifndef SURETY_TRAIN_ADAM_H
#define SURETY_TRAIN_ADAM_H

#include <stddef.h>

#include "base/cpu.h"

#define SURETY_ADAM_BETA1 0.9
#define SURETY_ADAM_BETA2 0.999
#define SURETY_ADAM_EPS 1e-8

/* What is the same for all values of one step t = 1, 2, ..: lr / (1 - b1^t) and 1 / sqrt(1 - b2^t). */
typedef struct surety_adam_step {
    double rate, root;
} surety_adam_step;
surety_adam_step surety_adam_at(double lr, size_t t);

/* One step on count values (any count; whole vectors of 16 are fastest). */
void surety_adam_move(surety_adam_step step, const float *g, float *m, float *v, float *x, size_t count);
void surety_adam_move_double(surety_adam_step step, const double *g, double *m, double *v, double *x,
                             size_t count);

typedef void (*surety_adam_kernel)(float rate, float root, const float *g, float *m, float *v, float *x,
                                   size_t count);

#endif
