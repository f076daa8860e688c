/* Random tolerances for tests. */
#ifndef SURETY_TESTS_TOLERANCE_H
#define SURETY_TESTS_TOLERANCE_H

#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "draw.h"
#include "surety/data.h"

/* A quarter of the features cannot change; units are 10^-spread to 10^spread; ranges cut [0, 1], hold it, lie
 * beside it, or have no ends. */
static inline surety_tolerance *random_tolerance(draw *r, size_t d, double spread) {
    surety_error err = SURETY_ERROR_NONE;
    surety_tolerance *out = NULL;
    double *all = malloc(3 * d * sizeof *all), *radius = all, *lo = all + d, *hi = lo + d;
    for (size_t j = 0; j < d; j++) {
        radius[j] = draw_size(r, 0, 3) ? pow(10, draw_real(r, -spread, spread)) : 0;
        lo[j] = draw_real(r, -0.5, 0.7), hi[j] = lo[j] + draw_real(r, 0, 1);
        if (draw_size(r, 0, 2) == 0) lo[j] = -HUGE_VAL;
        if (draw_size(r, 0, 2) == 0) hi[j] = HUGE_VAL;
    }
    radius[draw_size(r, 0, d - 1)] = pow(10, draw_real(r, -spread, spread));
    check_ok(surety_tolerance_new(&(surety_features){.d = d}, radius, lo, hi, &out, &err));
    free(all);
    return out;
}

#endif
