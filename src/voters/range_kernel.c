/* The support function of ball-and-box, from above (docs/theory.md 8.1).
 *
 * Wanted: s = max <w, e> over ||e||_p <= b with 0 <= sign(w_j) e_j <= r_j, r_j the room of feature j in the
 * direction of w_j (an e_j against w_j never helps). Here e_j is what the caller calls e_j / r_j, and w_j its
 * w_j r_j (`moves`). With a_j = |w_j|:
 *
 *   corner   s <= sum_j a_j min(r_j, b): every norm is at least |e_j|. Exact for p = infinity.
 *   p = 2    s <= g(lambda) = lambda b^2/2 + sum_j t_j,  t_j = max_e a_j e - lambda e^2/2 = e_j (a_j - lambda
 *            e_j / 2) at e_j = min(a_j / lambda, r_j), for every lambda > 0.
 *   p = 1    s <= g(tau) = tau b + sum_j max(a_j - tau, 0) r_j for every tau >= 0.
 *
 * Both g are dual values: a search in float finds a good multiplier, and the value there, in double, is an
 * upper limit whatever the search did. (A value that is not a number loses against the corner.) At the best
 * multiplier they are the exact maximum; g is flat there, so a multiplier that is right to 2^-10 costs 2^-20.
 *
 * Rounding, u = 2^-53. All terms are not negative. With e_j = min(fl(a_j mu), r_j), lambda = fl(1/mu), t_j is
 * low by at most 8u of itself: a_j - lambda e_j/2 >= a_j/2 at worst doubles the rounding of its parts, and
 * the e_j that is off by 2u from the best one costs the square of that. A sum of d of these loses (d - 1) u
 * more. The caller adds (d + 32) 2^-52.
 *
 * The search for p = 2 solves n(mu) = sum_j min(a_j mu, r_j)^2 = b^2, mu = 1/lambda. In mu^2, n is concave
 * and piecewise linear: Newton from the left (mu = b / ||w||) rises to the root and ends there after finitely
 * many steps, usually three. The search for p = 1 spends b on the features in the order of a_j.
 */
#include "voters/range_kernel.h"

#include <math.h>

#include "base/memory.h"
#include "num/simd.h"

enum { L = SURETY_LANES, Q = L / 4, SWEEPS = 24 };

/* Four doubles, the same bits at every level: no fma is asked for and none is made. */
typedef double v4d __attribute__((vector_size(32)));
typedef long long v4l __attribute__((vector_size(32)));
typedef float v4f __attribute__((vector_size(16)));

#define INLINE static inline __attribute__((always_inline))

INLINE void widen(const float *p, v4d *out) {
    UNROLL
    for (int q = 0; q < Q; q++) {
        v4f f;
        memcpy(&f, p + 4 * q, sizeof f);
        out[q] = __builtin_convertvector(f, v4d);
    }
}

INLINE void keep(double *out, const v4d *sum) {
    memcpy(out, sum, L * sizeof *out);
}

INLINE void smaller(v4d *a, const v4d *b) {
    v4l less = *a < *b;
    *a = (v4d)((less & (v4l)*a) | (~less & (v4l)*b));
}

static void arguments(const surety_span_job *job, double *z, double *size) {
    v4d sum[Q] = {{0}}, sizes[Q] = {{0}}, x[Q];
    for (size_t j = 0; j < job->d; j++) {
        double w = (double)job->w[j], a = fabs(w) * (double)(job->d - j + 2);
        if (w == 0) continue;
        widen(job->x + j * L, x);
        UNROLL
        for (int q = 0; q < Q; q++) {
            sum[q] += w * x[q];
            sizes[q] += a * (v4d)((v4l)x[q] & INT64_MAX);
        }
    }
    keep(z, sum);
    keep(size, sizes);
}

/* The room of feature j for <w, e> and for <-w, e>. */
INLINE void rooms(const surety_span_job *job, size_t j, const float **rise, const float **fall) {
    int positive = job->moves[j] > 0;
    *rise = (positive ? job->up : job->down) + j * L;
    *fall = (positive ? job->down : job->up) + j * L;
}

static void corner(const surety_span_job *job, surety_span out) {
    v4d rise[Q] = {{0}}, fall[Q] = {{0}}, r[Q], f[Q];
    for (size_t j = 0; j < job->d; j++) {
        double a = fabs((double)job->moves[j]);
        const float *to_rise, *to_fall;
        if (a == 0) continue;
        rooms(job, j, &to_rise, &to_fall);
        widen(to_rise, r);
        widen(to_fall, f);
        UNROLL
        for (int q = 0; q < Q; q++) {
            rise[q] += a * r[q];
            fall[q] += a * f[q];
        }
    }
    keep(out.rise, rise);
    keep(out.fall, fall);
}

/* ---- l2 ---- */

typedef struct newton {
    v16 mu, live; /* live: 1 while the lane still moves, else 0 */
    v16 free_squares, clipped_squares;
} newton;

INLINE void count(newton *n, v16 a, const float *room) {
    v16 r = v16_load(room), e = v16_mul(a, n->mu), zero = v16_zero();
    v16_mask is_free = v16_lt(e, r);
    n->free_squares = v16_add(n->free_squares, v16_select(is_free, v16_mul(a, a), zero));
    n->clipped_squares = v16_add(n->clipped_squares, v16_select(is_free, zero, v16_mul(r, r)));
}

/* Each lane stops by itself, so that its result does not depend on the others. */
INLINE unsigned step(newton *n, v16 b) {
    v16 zero = v16_zero(), left = v16_sub(v16_mul(b, b), n->clipped_squares);
    v16 next = v16_sqrt(v16_div(v16_max(left, zero), n->free_squares));
    next = v16_select(v16_lt(zero, n->free_squares), next, n->mu);
    v16 change = v16_abs(v16_sub(next, n->mu)), little = v16_mul(n->mu, v16_set1(0x1p-10f));
    n->mu = v16_select(v16_lt(zero, n->live), next, n->mu);
    n->live = v16_select(v16_lt(little, change), n->live, zero);
    n->free_squares = n->clipped_squares = zero;
    return v16_bits(v16_lt(zero, n->live));
}

static void search_l2(const surety_span_job *job, float *mu_rise, float *mu_fall) {
    float radius[L];
    for (int r = 0; r < L; r++) radius[r] = (float)job->b[r];
    v16 b = v16_load(radius), start = v16_div(b, v16_set1((float)job->length)), zero = v16_zero();
    newton rise = {start, v16_set1(1), zero, zero}, fall = rise;
    unsigned live = 1;
    for (int sweep = 0; live && sweep < SWEEPS; sweep++) {
        for (size_t j = 0; j < job->d; j++) {
            const float *to_rise, *to_fall;
            if (job->moves[j] == 0) continue;
            v16 a = v16_set1(fabsf(job->moves[j]));
            rooms(job, j, &to_rise, &to_fall);
            count(&rise, a, to_rise);
            count(&fall, a, to_fall);
        }
        live = step(&rise, b) | step(&fall, b);
    }
    v16_store(mu_rise, rise.mu);
    v16_store(mu_fall, fall.mu);
}

typedef struct dual2 {
    v4d mu[Q], half[Q], sum[Q]; /* half: lambda / 2 */
} dual2;

INLINE void begin2(dual2 *g, const float *mu, const double *b) {
    widen(mu, g->mu);
    UNROLL
    for (int q = 0; q < Q; q++) {
        v4d radius;
        memcpy(&radius, b + 4 * q, sizeof radius);
        g->half[q] = 0.5 / g->mu[q];
        g->sum[q] = g->half[q] * radius * radius;
    }
}

INLINE void add2(dual2 *g, double a, const float *room) {
    v4d r[Q];
    widen(room, r);
    UNROLL
    for (int q = 0; q < Q; q++) {
        v4d e = a * g->mu[q];
        smaller(&e, &r[q]);
        g->sum[q] += e * (a - g->half[q] * e);
    }
}

/* out = min(out, sum), where sum is a number. */
INLINE void improve(double *out, const v4d *sum) {
    double found[L];
    keep(found, sum);
    for (int r = 0; r < L; r++) out[r] = found[r] < out[r] ? found[r] : out[r];
}

static void limit_l2(const surety_span_job *job, surety_span out) {
    float mu_rise[L], mu_fall[L];
    dual2 rise, fall;
    search_l2(job, mu_rise, mu_fall);
    begin2(&rise, mu_rise, job->b);
    begin2(&fall, mu_fall, job->b);
    for (size_t j = 0; j < job->d; j++) {
        const float *to_rise, *to_fall;
        double a = fabs((double)job->moves[j]);
        if (a == 0) continue;
        rooms(job, j, &to_rise, &to_fall);
        add2(&rise, a, to_rise);
        add2(&fall, a, to_fall);
    }
    improve(out.rise, rise.sum);
    improve(out.fall, fall.sum);
}

/* ---- l1 ---- */

/* tau is |w_j| of the feature on which the last of b is spent, 0 if b buys every room. */
INLINE unsigned spend(v16 *spent, v16 *tau, v16 b, v16 a, const float *room) {
    v16_mask had = v16_lt(*spent, b);
    *spent = v16_add(*spent, v16_load(room));
    *tau = v16_select(had, v16_select(v16_lt(*spent, b), *tau, a), *tau);
    return v16_bits(v16_lt(*spent, b));
}

static void search_l1(const surety_span_job *job, float *tau_rise, float *tau_fall) {
    float radius[L];
    for (int r = 0; r < L; r++) radius[r] = (float)job->b[r];
    v16 b = v16_load(radius), rise = v16_zero(), fall = rise, spent_rise = rise, spent_fall = rise;
    unsigned live = 1;
    for (size_t k = 0; live && k < job->kept; k++) {
        const float *to_rise, *to_fall;
        v16 a = v16_set1(fabsf(job->moves[job->order[k]]));
        rooms(job, job->order[k], &to_rise, &to_fall);
        live = spend(&spent_rise, &rise, b, a, to_rise);
        live |= spend(&spent_fall, &fall, b, a, to_fall);
    }
    v16_store(tau_rise, rise);
    v16_store(tau_fall, fall);
}

typedef struct dual1 {
    v4d tau[Q], sum[Q];
} dual1;

INLINE void begin1(dual1 *g, const float *tau, const double *b) {
    widen(tau, g->tau);
    UNROLL
    for (int q = 0; q < Q; q++) {
        v4d radius;
        memcpy(&radius, b + 4 * q, sizeof radius);
        g->sum[q] = g->tau[q] * radius;
    }
}

INLINE void add1(dual1 *g, double a, const float *room) {
    v4d r[Q];
    widen(room, r);
    UNROLL
    for (int q = 0; q < Q; q++) {
        v4d over = a - g->tau[q];
        v4l positive = over > 0;
        g->sum[q] += (v4d)((v4l)over & positive) * r[q];
    }
}

static void limit_l1(const surety_span_job *job, surety_span out) {
    float tau_rise[L], tau_fall[L], least = HUGE_VALF;
    dual1 rise, fall;
    search_l1(job, tau_rise, tau_fall);
    begin1(&rise, tau_rise, job->b);
    begin1(&fall, tau_fall, job->b);
    for (int r = 0; r < L; r++) least = fminf(least, fminf(tau_rise[r], tau_fall[r]));
    for (size_t k = 0; k < job->kept; k++) {
        const float *to_rise, *to_fall;
        float a = fabsf(job->moves[job->order[k]]);
        if (a <= least) break; /* from here on all terms are 0 */
        rooms(job, job->order[k], &to_rise, &to_fall);
        add1(&rise, (double)a, to_rise);
        add1(&fall, (double)a, to_fall);
    }
    improve(out.rise, rise.sum);
    improve(out.fall, fall.sum);
}

void SURETY_KERNEL(span)(const surety_span_job *job, surety_span out);
void SURETY_KERNEL(span)(const surety_span_job *job, surety_span out) {
    arguments(job, out.z, out.size);
    corner(job, out);
    if (job->norm == SURETY_L2) limit_l2(job, out);
    if (job->norm == SURETY_L1) limit_l1(job, out);
}
