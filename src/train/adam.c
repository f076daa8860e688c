#include "train/adam.h"

#include <math.h>

#include "num/level.h"

#define DECLARE(level) extern const surety_adam_kernel surety_adam_##level;
SURETY_EACH_LEVEL(DECLARE)

surety_adam_step surety_adam_at(double lr, size_t t) {
    return (surety_adam_step){.rate = lr / (1 - pow(SURETY_ADAM_BETA1, (double)t)),
                              .root = 1 / sqrt(1 - pow(SURETY_ADAM_BETA2, (double)t))};
}

void surety_adam_move(surety_adam_step step, const float *g, float *m, float *v, float *x, size_t count) {
#define ADDRESS(name) &surety_adam_##name,
    static const surety_adam_kernel *const table[] = {SURETY_EACH_LEVEL(ADDRESS)};
    (*table[surety_cpu()])((float)step.rate, (float)step.root, g, m, v, x, count);
}

void surety_adam_move_double(surety_adam_step step, const double *g, double *m, double *v, double *x,
                             size_t count) {
    for (size_t i = 0; i < count; i++) {
        m[i] = SURETY_ADAM_BETA1 * m[i] + (1 - SURETY_ADAM_BETA1) * g[i];
        v[i] = SURETY_ADAM_BETA2 * v[i] + (1 - SURETY_ADAM_BETA2) * g[i] * g[i];
        x[i] -= step.rate * m[i] / (sqrt(v[i]) * step.root + SURETY_ADAM_EPS);
    }
}
