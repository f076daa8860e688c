/* Moves of one row (docs/theory.md 3). Sums over features run in 64 lanes, lane j mod 64, combined in one
 * fixed order: the same bits at every level with FMA, and four chains to hide the latency of an fma. */
#include "attack/step_kernel.h"

#include <math.h>

#include "num/simd.h"

/* Does what is in braces for the vectors at j = 0, 16, .. below d; k = 0, 1, 2, 3, 0, .. is the chain of a
 * sum, a constant. The last vector may be a part, which `whole` says; in rounds of four it is a constant. */
#define EACH_VECTOR(...)                                    \
    do {                                                    \
        size_t j = 0;                                       \
        while (d - j >= 64) FOUR_VECTORS(1, 1, __VA_ARGS__) \
        FOUR_VECTORS(j < d, d - j >= 16, __VA_ARGS__)       \
    } while (0)
#define FOUR_VECTORS(there, full, ...)          \
    {                                           \
        ONE_VECTOR(0, there, full, __VA_ARGS__) \
        ONE_VECTOR(1, there, full, __VA_ARGS__) \
        ONE_VECTOR(2, there, full, __VA_ARGS__) \
        ONE_VECTOR(3, there, full, __VA_ARGS__) \
    }
#define ONE_VECTOR(chain, there, full, ...) \
    if (there) {                            \
        const size_t k = chain;             \
        const int whole = full;             \
        (void)k;                            \
        __VA_ARGS__                         \
        j += 16;                            \
    }
#define LOAD(p) (whole ? v16_load((p) + j) : v16_load_part((p) + j, d - j))
#define STORE(p, x)                             \
    do {                                        \
        v16 x_ = x;                             \
        if (whole)                              \
            v16_store((p) + j, x_);             \
        else                                    \
            v16_store_part((p) + j, x_, d - j); \
    } while (0)

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
    EACH_VECTOR({
        v16 x = LOAD(x0), low = v16_set1(lo), high = v16_set1(hi);
        STORE(lo_row, v16_min(x, v16_max(low, inward(x, v16_set1(-b), v16_set1(-1)))));
        STORE(hi_row, v16_max(x, v16_min(high, inward(x, v16_set1(b), v16_set1(1)))));
    });
}

/* x + step (inverse g): in this order nothing overflows, because |inverse g| <= 1. */
static inline v16 moved(v16 x, v16 g, float step, float inverse) {
    return v16_fma(v16_set1(step), v16_mul(v16_set1(inverse), g), x);
}

/* Can the float `squares` be compared with radius^2? Else they are summed again in double. */
static inline int safe(float squares, float radius) {
    return radius > 1e-10f && radius < 1e15f && squares < 1e30f;
}
static inline double add_squares(v16 e, size_t count, double sum) {
    float lane[16];
    v16_store(lane, e);
    for (size_t i = 0; i < count && i < 16; i++) sum += (double)lane[i] * (double)lane[i];
    return sum;
}
/* ||x - x0||; squares: the float sum of ||x - x0||^2. */
static inline double distance(const float *x, const float *x0, float squares, float radius, size_t d) {
    double sum = (double)squares;
    if (!safe(squares, radius)) {
        sum = 0;
        EACH_VECTOR(sum = add_squares(v16_sub(LOAD(x), LOAD(x0)), d - j, sum););
    }
    return sqrt(sum);
}

/* Adds (to - x0)^2 to its chain. Lanes behind the end are 0 in memory's part, not in `to`. */
#define ADD_SQUARE(out, to)                                 \
    do {                                                    \
        v16 e_ = v16_sub(whole ? to : LOAD(out), LOAD(x0)); \
        chains[k] = v16_fma(e_, e_, chains[k]);             \
    } while (0)

static void l2_inside(const float *x, const float *g, float step, float inverse, surety_row_ball b,
                      float *out) {
    const size_t d = b.d;
    v16 low = v16_set1(b.lo), high = v16_set1(b.hi);
    EACH_VECTOR(STORE(out, clip(moved(LOAD(x), LOAD(g), step, inverse), low, high)););
}

static double l2_leave(const float *x, const float *g, const float *x0, float step, float inverse,
                       surety_row_ball b, float *out) {
    const size_t d = b.d;
    v16 chains[4] = {v16_zero(), v16_zero(), v16_zero(), v16_zero()};
    EACH_VECTOR({
        v16 to = moved(LOAD(x), LOAD(g), step, inverse);
        STORE(out, to);
        ADD_SQUARE(out, to);
    });
    return distance(out, x0, sum_of(chains), b.radius, d);
}

/* Clipped at the end: without fma the last rounding can lead out of the box. */
static void l2_return(float *x, const float *x0, double length, surety_row_ball b) {
    const size_t d = b.d;
    float factor = length > (double)b.radius ? (float)((double)b.radius / length) : 1;
    v16 low = v16_set1(b.lo), high = v16_set1(b.hi), f = v16_set1(factor);
    if (factor == 1) {
        EACH_VECTOR(STORE(x, clip(LOAD(x), low, high)););
        return;
    }
    EACH_VECTOR({
        v16 from = LOAD(x0);
        STORE(x, clip(v16_fma(f, v16_sub(LOAD(x), from), from), low, high));
    });
}

static void l2_project(float *x, const float *x0, surety_row_ball b) {
    const size_t d = b.d;
    v16 chains[4] = {v16_zero(), v16_zero(), v16_zero(), v16_zero()};
    EACH_VECTOR({
        v16 e = v16_sub(LOAD(x), LOAD(x0));
        chains[k] = v16_fma(e, e, chains[k]);
    });
    l2_return(x, x0, distance(x, x0, sum_of(chains), b.radius, d), b);
}

static void clip_rows(float *x, const float *lo_row, const float *hi_row, size_t d) {
    EACH_VECTOR(STORE(x, clip(LOAD(x), LOAD(lo_row), LOAD(hi_row))););
}

static inline float sum_squares(const float *g, float scale, size_t d) {
    v16 chains[4] = {v16_zero(), v16_zero(), v16_zero(), v16_zero()};
    EACH_VECTOR({
        v16 a = v16_mul(v16_set1(scale), LOAD(g));
        chains[k] = v16_fma(a, a, chains[k]);
    });
    return sum_of(chains);
}

/* Sixty-four chains, as for the other sums. */
static double length(const float *x, int l1, size_t d) {
    v8d chains[4][2] = {{{0}}};
    EACH_VECTOR({
        v8d e[2];
        v16_doubles(v16_abs(LOAD(x)), e);
        UNROLL for (int i = 0; i < 2; i++) chains[k][i] += l1 ? e[i] : e[i] * e[i];
    });
    v8d all = (chains[0][0] + chains[0][1]) + (chains[1][0] + chains[1][1]) +
              ((chains[2][0] + chains[2][1]) + (chains[3][0] + chains[3][1]));
    double sum = 0;
    for (int lane = 0; lane < 8; lane++) sum += all[lane];
    return l1 ? sum : sqrt(sum);
}

/* A saturated vote has a tiny gradient whose direction still counts: where squares would underflow or
 * overflow, the largest |g| is scaled to 1 first. */
static inline float inverse_norm(const float *g, float squares, size_t d) {
    if (squares > 1e-25f && squares < 1e30f) return 1 / sqrtf(squares);
    v16 most = v16_zero();
    EACH_VECTOR(most = v16_max(v16_abs(LOAD(g)), most););
    float largest = v16_largest(most);
    if (!(largest > 0x1p-126f) || !(largest < HUGE_VALF)) return 0; /* zero, subnormal, or not a number */
    return 1 / largest / sqrtf(sum_squares(g, 1 / largest, d));
}

static void inverse_norms(const float *const *g, const float *squares, size_t rows, size_t d,
                          float *inverse) {
    v16 all = v16_load(squares);
    v16_store(inverse, v16_div(v16_set1(1), v16_sqrt(all)));
    for (size_t i = 0; i < rows; i++)
        if (!(squares[i] > 1e-25f && squares[i] < 1e30f)) inverse[i] = inverse_norm(g[i], squares[i], d);
}

/* 2u - 1 is exact. */
static void linf_start(const float *x0, const float *uniform, float b, const float *lo_row,
                       const float *hi_row, size_t d, float *out) {
    EACH_VECTOR({
        v16 u = LOAD(uniform);
        v16 to = v16_fma(v16_set1(b), v16_sub(v16_add(u, u), v16_set1(1)), LOAD(x0));
        STORE(out, clip(to, LOAD(lo_row), LOAD(hi_row)));
    });
}

/* Direction normal / ||normal||, distance radius u^(1/d). */
static double l2_start(const float *x0, const float *normal, float u, surety_row_ball b, float *out) {
    const size_t d = b.d;
    v16 chains[4] = {v16_zero(), v16_zero(), v16_zero(), v16_zero()};
    float lanes[16];
    v16_store(lanes, v16_exp(v16_div(v16_log(v16_set1(u)), v16_set1((float)d))));
    v16 scale = v16_set1(b.radius * lanes[0] * inverse_norm(normal, sum_squares(normal, 1, d), d));
    EACH_VECTOR({
        v16 to = clip(v16_fma(scale, LOAD(normal), LOAD(x0)), v16_set1(b.lo), v16_set1(b.hi));
        STORE(out, to);
        ADD_SQUARE(out, to);
    });
    return distance(out, x0, sum_of(chains), b.radius, d);
}

/* With E_0 .. E_d exponential and random signs, (E_0, .., E_{d-1}) / sum_{0..d} E is uniform in the l1 ball.
 * A uniform u gives sign(t) and E = -log(1 - |t|), t = 2u - 1; both 2u - 1 and 1 - |t| are exact. */
static inline v16 laplace(v16 u) {
    v16 one = v16_set1(1), t = v16_sub(v16_add(u, u), one);
    v16 e = v16_neg(v16_log(v16_sub(one, v16_abs(t))));
    return v16_select(v16_lt(t, v16_zero()), v16_neg(e), e);
}

static void l1_start(const float *x0, const float *uniform, surety_row_ball b, float *out) {
    const size_t d = b.d;
    v16 sum = v16_zero();
    for (size_t j = 0; j < d + 1; j += 16) {
        size_t left = d + 1 - j < 16 ? d + 1 - j : 16;
        float part[16] = {0}; /* lanes behind the end draw u = 0, whose E is not wanted */
        v16_store_part(part, v16_abs(laplace(v16_load_part(uniform + j, left))), left);
        sum = v16_add(sum, v16_load(part));
    }
    v16 scale = v16_set1(b.radius / v16_sum(sum));
    EACH_VECTOR({
        v16 to = v16_fma(scale, laplace(LOAD(uniform)), LOAD(x0));
        STORE(out, clip(to, v16_set1(b.lo), v16_set1(b.hi)));
    });
}

const surety_step_kernels SURETY_KERNEL(step);
const surety_step_kernels SURETY_KERNEL(step) = {limits,     l2_inside, l2_leave, l2_return,
                                                 l2_project, clip_rows, length,   inverse_norms,
                                                 linf_start, l2_start,  l1_start};
