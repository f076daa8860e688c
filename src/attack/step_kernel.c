/* Moves of one row (docs/theory.md 3). Sums over features run in 64 lanes, lane j mod 64, combined in one
 * fixed order: the same bits at every level with FMA, and four chains to hide the latency of an fma. */
#include "attack/step_kernel.h"

#include <math.h>

#include "num/simd.h"

/* The last vector of a row may be a part. */
static inline v16 load(const float *p, size_t j, size_t d) {
    return d - j >= 16 ? v16_load(p + j) : v16_load_part(p + j, d - j);
}
static inline void store(float *p, size_t j, size_t d, v16 x) {
    if (d - j >= 16)
        v16_store(p + j, x);
    else
        v16_store_part(p + j, x, d - j);
}

/* Loops over the vectors at j = 0, 16, .. below d; k = 0, 1, 2, 3, 0, .. is the chain of a sum. */
#define EACH_VECTOR                                   \
    for (size_t start_ = 0; start_ < d; start_ += 64) \
    UNROLL for (size_t k = 0, j = start_; k < 4 && j < d; k++, j += 16)

static inline float sum_of(const v16 *chains) {
    return v16_sum(v16_add(v16_add(chains[0], chains[1]), v16_add(chains[2], chains[3])));
}

static inline v16 clip(v16 x, v16 lo, v16 hi) {
    return v16_min(v16_max(x, lo), hi);
}

/* x0 + b to nearest is s; two-sum gives what was rounded off, exactly. If s lies beyond x0 + b (towards = +1:
 * above), it is moved back by at least one ulp. */
static inline v16 inward(v16 x0, v16 b, v16 towards) {
    v16 s = v16_add(x0, b), part = v16_sub(s, x0);
    v16 lost = v16_add(v16_sub(x0, v16_sub(s, part)), v16_sub(b, part));
    v16 back = v16_fnma(towards, v16_mul(v16_abs(s), v16_set1(0x1p-23f)), s);
    return v16_select(v16_lt(v16_mul(towards, lost), v16_zero()), back, s);
}

static void limits(const float *x0, float b, float lo, float hi, size_t d, float *lo_row, float *hi_row) {
    for (size_t j = 0; j < d; j += 16) {
        v16 x = load(x0, j, d), low = v16_set1(lo), high = v16_set1(hi);
        store(lo_row, j, d, v16_min(x, v16_max(low, inward(x, v16_set1(-b), v16_set1(-1)))));
        store(hi_row, j, d, v16_max(x, v16_min(high, inward(x, v16_set1(b), v16_set1(1)))));
    }
}

static void sign_step(const float *x, const float *g, float step, const float *lo_row, const float *hi_row,
                      size_t d, float *out) {
    for (size_t j = 0; j < d; j += 16) {
        v16 moved = v16_fma(v16_set1(step), v16_sign(load(g, j, d)), load(x, j, d));
        store(out, j, d, clip(moved, load(lo_row, j, d), load(hi_row, j, d)));
    }
}

/* x + step (inverse g) at features j ..: in this order nothing overflows, because |inverse g| <= 1. */
static inline v16 moved(const float *x, const float *g, float step, float inverse, size_t j, size_t d) {
    return v16_fma(v16_set1(step), v16_mul(v16_set1(inverse), load(g, j, d)), load(x, j, d));
}

static void box_step(const float *x, const float *g, float step, float inverse, const float *lo_row,
                     const float *hi_row, size_t d, float *out) {
    for (size_t j = 0; j < d; j += 16)
        store(out, j, d, clip(moved(x, g, step, inverse, j, d), load(lo_row, j, d), load(hi_row, j, d)));
}

/* Can the float `squares` be compared with radius^2? Else they are summed again in double. */
static inline int safe(float squares, float radius) {
    return radius > 1e-10f && radius < 1e15f && squares < 1e30f;
}
static inline float shrink(double squares, float radius) {
    double r = (double)radius;
    return squares > r * r ? (float)(r / sqrt(squares)) : 1;
}
static inline double add_squares(v16 e, size_t count, double sum) {
    float lane[16];
    v16_store(lane, e);
    for (size_t i = 0; i < count && i < 16; i++) sum += (double)lane[i] * (double)lane[i];
    return sum;
}

static void l2_step(const float *x, const float *g, const float *x0, float step, float inverse, float radius,
                    float lo, float hi, size_t d, float *out) {
    v16 low = v16_set1(lo), high = v16_set1(hi), chains[4] = {v16_zero(), v16_zero(), v16_zero(), v16_zero()};
    EACH_VECTOR {
        v16 to = moved(x, g, step, inverse, j, d), e = v16_sub(to, load(x0, j, d));
        chains[k] = v16_fma(e, e, chains[k]);
        store(out, j, d, clip(to, low, high));
    }
    double squares = (double)sum_of(chains);
    if (!safe((float)squares, radius)) {
        squares = 0;
        for (size_t j = 0; j < d; j += 16)
            squares = add_squares(v16_sub(moved(x, g, step, inverse, j, d), load(x0, j, d)), d - j, squares);
    }
    float factor = shrink(squares, radius);
    if (factor == 1) return;
    v16 f = v16_set1(factor); /* again from the unclipped point: the projection comes before the clip */
    for (size_t j = 0; j < d; j += 16) {
        v16 from = load(x0, j, d), e = v16_sub(moved(x, g, step, inverse, j, d), from);
        store(out, j, d, clip(v16_fma(f, e, from), low, high));
    }
}

/* out = x0 + f (x - x0) with f <= 1 that brings it to distance <= radius, clipped: without fma the last
 * rounding can lead out of the box. */
static void l2_bring(const float *x, const float *x0, float radius, float lo, float hi, size_t d,
                     float *out) {
    v16 chains[4] = {v16_zero(), v16_zero(), v16_zero(), v16_zero()};
    EACH_VECTOR {
        v16 e = v16_sub(load(x, j, d), load(x0, j, d));
        chains[k] = v16_fma(e, e, chains[k]);
    }
    double squares = (double)sum_of(chains);
    if (!safe((float)squares, radius)) {
        squares = 0;
        for (size_t j = 0; j < d; j += 16)
            squares = add_squares(v16_sub(load(x, j, d), load(x0, j, d)), d - j, squares);
    }
    float factor = shrink(squares, radius);
    for (size_t j = 0; j < d; j += 16) {
        v16 from = load(x0, j, d), e = v16_sub(load(x, j, d), from);
        v16 to = factor == 1 ? load(x, j, d) : v16_fma(v16_set1(factor), e, from);
        store(out, j, d, clip(to, v16_set1(lo), v16_set1(hi)));
    }
}

static void l2_project(float *x, const float *x0, float radius, float lo, float hi, size_t d) {
    l2_bring(x, x0, radius, lo, hi, d, x);
}

static void clip_rows(float *x, const float *lo_row, const float *hi_row, size_t d) {
    for (size_t j = 0; j < d; j += 16)
        store(x, j, d, clip(load(x, j, d), load(lo_row, j, d), load(hi_row, j, d)));
}

static inline float sum_squares(const float *g, float scale, size_t d) {
    v16 chains[4] = {v16_zero(), v16_zero(), v16_zero(), v16_zero()};
    EACH_VECTOR {
        v16 a = v16_mul(v16_set1(scale), load(g, j, d));
        chains[k] = v16_fma(a, a, chains[k]);
    }
    return sum_of(chains);
}

/* A saturated vote has a tiny gradient whose direction still counts: where squares would underflow or
 * overflow, the largest |g| is scaled to 1 first. */
static float inverse_norm(const float *g, size_t d) {
    float squares = sum_squares(g, 1, d);
    if (squares > 1e-25f && squares < 1e30f) return 1 / sqrtf(squares);
    v16 most = v16_zero();
    for (size_t j = 0; j < d; j += 16) most = v16_max(v16_abs(load(g, j, d)), most);
    float largest = v16_largest(most);
    if (!(largest > 0x1p-126f) || !(largest < HUGE_VALF)) return 0; /* zero, subnormal, or not a number */
    return 1 / largest / sqrtf(sum_squares(g, 1 / largest, d));
}

/* Direction normal / ||normal||, distance radius u^(1/d). */
static void l2_start(const float *x0, const float *normal, float u, float radius, float lo, float hi,
                     size_t d, float *out) {
    float lanes[16];
    v16_store(lanes, v16_exp(v16_div(v16_log(v16_set1(u)), v16_set1((float)d))));
    v16 scale = v16_set1(radius * lanes[0] * inverse_norm(normal, d));
    for (size_t j = 0; j < d; j += 16)
        store(out, j, d,
              clip(v16_fma(scale, load(normal, j, d), load(x0, j, d)), v16_set1(lo), v16_set1(hi)));
}

/* With E_0 .. E_d exponential and random signs, (E_0, .., E_{d-1}) / sum_{0..d} E is uniform in the l1 ball.
 * A uniform u gives sign(t) and E = -log(1 - |t|), t = 2u - 1; both 2u - 1 and 1 - |t| are exact. */
static inline v16 laplace(v16 u) {
    v16 one = v16_set1(1), t = v16_sub(v16_add(u, u), one);
    v16 e = v16_neg(v16_log(v16_sub(one, v16_abs(t))));
    return v16_select(v16_lt(t, v16_zero()), v16_neg(e), e);
}

static void l1_start(const float *x0, const float *uniform, float radius, float lo, float hi, size_t d,
                     float *out) {
    v16 sum = v16_zero();
    for (size_t j = 0; j < d + 1; j += 16) {
        v16 e = v16_abs(laplace(load(uniform, j, d + 1)));
        if (d + 1 - j < 16) { /* lanes behind the end hold u = 0 here, whose E is not wanted */
            float part[16] = {0};
            v16_store_part(part, e, d + 1 - j);
            e = v16_load(part);
        }
        sum = v16_add(sum, e);
    }
    v16 scale = v16_set1(radius / v16_sum(sum));
    for (size_t j = 0; j < d; j += 16)
        store(out, j, d,
              clip(v16_fma(scale, laplace(load(uniform, j, d)), load(x0, j, d)), v16_set1(lo), v16_set1(hi)));
}

static void published_start(const float *x0, const float *uniform, float b, float lo, float hi, size_t d,
                            float *out) {
    for (size_t j = 0; j < d; j += 16)
        store(out, j, d, v16_fma(v16_set1(hi - lo), load(uniform, j, d), v16_set1(lo)));
    l2_bring(out, x0, b, lo, hi, d, out);
}

const surety_step_kernels SURETY_KERNEL(step);
const surety_step_kernels SURETY_KERNEL(step) = {limits,     sign_step,      box_step,     l2_step,
                                                 l2_project, clip_rows,      inverse_norm, l2_start,
                                                 l1_start,   published_start};
