/* Moves of one row: starts, steps, projections; per CPU level. All rows have d features (pads are not
 * touched); lo and hi are numbers, lo_row and hi_row the intersection of box and linf ball around the row's
 * original x0. */
#ifndef SURETY_ATTACK_STEP_KERNEL_H
#define SURETY_ATTACK_STEP_KERNEL_H

#include <stddef.h>

#include "base/cpu.h"

/* Where a row may be: within radius of its x0, features in [lo, hi]. */
typedef struct surety_row_ball {
    float radius, lo, hi;
    size_t d;
} surety_row_ball;

typedef struct surety_step_kernels {
    /* lo_row = max(lo, x0 - b), hi_row = min(hi, x0 + b), rounded towards x0: a point between them is in the
     * ball. */
    void (*limits)(const float *x0, float b, float lo, float hi, size_t d, float *lo_row, float *hi_row);

    /* The step of an l2 attack that cannot leave the ball: out = clip(x + step inverse g, lo, hi), inverse =
     * 1 / ||g||_2. */
    void (*l2_inside)(const float *x, const float *g, float step, float inverse, surety_row_ball b,
                      float *out);
    /* One that can, in two halves, so that one row's first half fills the wait for another one's length.
     * out = x + step inverse g; returns its length ||out - x0||_2. */
    double (*l2_leave)(const float *x, const float *g, const float *x0, float step, float inverse,
                       surety_row_ball b, float *out);
    /* x = x0 + (x - x0) min(1, radius / length), clipped to [lo, hi]. */
    void (*l2_return)(float *x, const float *x0, double length, surety_row_ball b);

    /* x = x0 + (x - x0) min(1, radius / ||x - x0||_2), clipped to [lo, hi]. */
    void (*l2_project)(float *x, const float *x0, surety_row_ball b);
    /* x = clip(x, lo_row, hi_row). */
    void (*clip_rows)(float *x, const float *lo_row, const float *hi_row, size_t d);

    /* ||x||_2, or ||x||_1 if l1, in double. */
    double (*length)(const float *x, int l1, size_t d);
    /* 1 / ||g||_2 for up to 16 rows, 0 where g is 0 or not a number; safe where squares (16), the float sums
     * of them, underflow or overflow. */
    void (*inverse_norms)(const float *const *g, const float *squares, size_t rows, size_t d, float *inverse);

    /* x0 + a uniform point of the linf ball: uniform holds uniforms in (0,1). */
    void (*linf_start)(const float *x0, const float *uniform, float b, const float *lo_row,
                       const float *hi_row, size_t d, float *out);
    /* x0 + a uniform point of the l2 ball: normal holds standard normals, u is uniform in (0,1). Returns
     * ||out - x0||_2. */
    double (*l2_start)(const float *x0, const float *normal, float u, surety_row_ball b, float *out);
    /* x0 + a uniform point of the l1 ball: uniform holds d + 1 uniforms; the last one sets the distance. */
    void (*l1_start)(const float *x0, const float *uniform, surety_row_ball b, float *out);
} surety_step_kernels;

const surety_step_kernels *surety_step_kernels_at(surety_level level);

#endif
