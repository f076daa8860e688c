/* Dense kinds: voters that are functions of arguments z = W x + c. What they derive from their parameters,
 * and their limits over a ball, from the support function of ball-and-box (docs/theory.md 8.1).
 *
 * An argument is z = c + <w, x>. Over the ball it lies in c + <w, x> + [-fall, rise]. The program computes it
 * in float, in one chain that starts at c: what enters at feature j goes through at most k_j = d - j + 2
 * roundings (product included), the bias through d + 2, each a factor within 1 +- u, u = 2^-24. At a point
 * x + e of the ball the result is therefore off by at most
 *
 *   gamma (k_0 |c| + sum_j k_j |w_j| |x_j| + b ||k w r||_*),   gamma = u / (1 - (d + 2) u),
 *
 * with the dual norm of (k_j w_j r_j), since |x_j + e_j| <= |x_j| + r_j |e_j / r_j|, r_j the unit of feature
 * j (1 without a tolerance); and by (d + 2) 2^-149 where products underflow. This much is added on both
 * sides, and as much again as the doubles here may be off; the floats that come out are rounded outward once
 * more. From there the kind goes on (`worst` and `margin` of kind.h).
 *
 * With a tolerance, <w, e> = <w r, e / r>: the support function of the plain ball, of the weights w_j r_j
 * with the rooms of e_j / r_j. |w_j| r_j is rounded up to a float, which can only raise it, because it grows
 * with every |w_j|; the rooms are rounded up too.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/level.h"
#include "voters/kind.h"
#include "voters/range_kernel.h"

enum { L = SURETY_LANES };

/* What is known of a row of weights. */
typedef struct row_facts {
    double length; /* ||w r||_2 */
    double dual;   /* dual norm of (k_j w_j r_j), not below the exact one */
    size_t kept;   /* features with w_j r_j != 0 */
} row_facts;

typedef struct dense_range {
    const surety_voters *v;
    surety_ball ball;
    size_t N;
    row_facts *rows;      /* (N) */
    uint32_t *order;      /* l1: (N, d) features by falling |w_j| */
    const float *moves;   /* (N, stride) w_j r_j: the weights themselves, or `scaled` */
    float *scaled;        /* with a tolerance, else NULL */
    float *memory;        /* what follows */
    float *x, *up, *down; /* (d, lanes); up, down in units of r_j */
    float *z_lo, *z_hi;   /* (N, lanes) */
    float *low;           /* (H, lanes) against one class */
    float *scratch;
} dense_range;

#define DECLARE(level) void surety_span_##level(const surety_span_job *job, surety_span out);
SURETY_EACH_LEVEL(DECLARE)

surety_span_kernel surety_span_kernel_at(surety_level level) {
#define ADDRESS(name) surety_span_##name,
    static const surety_span_kernel table[] = {SURETY_EACH_LEVEL(ADDRESS)};
    return table[level];
}

/* ---- what depends on the weights alone ---- */

/* The smallest float that is not below x, and the largest not above it. */
static float float_up(double x) {
    float f = (float)x;
    return (double)f < x ? nextafterf(f, HUGE_VALF) : f;
}

static float float_down(double x) {
    return -float_up(-x);
}

typedef struct weighed {
    float size;
    uint32_t feature;
} weighed;

/* Larger first; equal ones in the order of the features. */
static int by_size(const void *a, const void *b) {
    const weighed *p = a, *q = b;
    if (p->size != q->size) return p->size < q->size ? 1 : -1;
    return (p->feature > q->feature) - (p->feature < q->feature);
}

static void look_at_row(dense_range *g, size_t i, weighed *list) {
    const float *w = g->moves + i * g->v->tensors[0].stride;
    size_t d = g->v->d;
    double squares = 0, dual = 0;
    row_facts *facts = &g->rows[i];
    for (size_t j = 0; j < d; j++) {
        double a = fabs((double)w[j]), k = a * (double)(d - j + 2);
        if (a == 0) continue;
        list[facts->kept++] = (weighed){(float)a, (uint32_t)j};
        squares += a * a;
        dual = g->ball.norm == SURETY_L2     ? dual + k * k
               : g->ball.norm == SURETY_LINF ? dual + k
                                             : fmax(dual, k);
    }
    facts->length = sqrt(squares);
    facts->dual = (g->ball.norm == SURETY_L2 ? sqrt(dual) : dual) * (1 + (double)(d + 8) * 0x1p-52);
    if (!g->order) return;
    qsort(list, facts->kept, sizeof *list, by_size);
    for (size_t k = 0; k < facts->kept; k++) g->order[i * d + k] = list[k].feature;
}

/* w_j r_j, away from 0. */
static void scale_row(const surety_tolerance *tolerance, const float *w, float *out) {
    for (size_t j = 0; j < tolerance->d; j++)
        out[j] = copysignf(float_up(fabs((double)w[j]) * tolerance->unit[j] * (1 + 0x1p-52)), w[j]);
}

static surety_status scale(dense_range *g, surety_error *err) {
    const surety_tensor *t = &g->v->tensors[0];
    g->moves = t->values;
    if (!g->ball.tolerance) return SURETY_OK;
    SURETY_TRY(surety_alloc(&g->scaled, g->N, t->stride * sizeof *g->scaled, err));
    g->moves = g->scaled;
    for (size_t i = 0; i < g->N; i++)
        scale_row(g->ball.tolerance, t->values + i * t->stride, g->scaled + i * t->stride);
    return SURETY_OK;
}

static surety_status allocate(dense_range *g, surety_error *err) {
    size_t d = g->v->d, lanes = d * L, scratch = g->v->kind->scratch(g->v);
    SURETY_TRY(scale(g, err));
    SURETY_TRY(surety_alloc(&g->rows, g->N, sizeof *g->rows, err));
    if (g->ball.norm == SURETY_L1) SURETY_TRY(surety_alloc(&g->order, g->N, d * sizeof *g->order, err));
    SURETY_TRY(surety_alloc(&g->memory, 3 * lanes + (2 * g->N + g->v->H) * L + scratch, sizeof(float), err));
    g->x = g->memory;
    g->up = g->x + lanes;
    g->down = g->up + lanes;
    g->z_lo = g->down + lanes;
    g->z_hi = g->z_lo + g->N * L;
    g->low = g->z_hi + g->N * L;
    g->scratch = g->low + g->v->H * L;
    weighed *list;
    SURETY_TRY(surety_alloc(&list, d, sizeof *list, err));
    for (size_t i = 0; i < g->N; i++) look_at_row(g, i, list);
    surety_free(list);
    return SURETY_OK;
}

static void stop(void *state) {
    dense_range *g = state;
    if (!g) return;
    surety_free(g->scaled);
    surety_free(g->rows);
    surety_free(g->order);
    surety_free(g->memory);
    surety_free(g);
}

static surety_status start(void **state, const surety_voters *v, const surety_ball *ball, uint64_t budget,
                           surety_error *err) {
    dense_range *g;
    (void)budget; /* nothing is searched */
    SURETY_TRY(surety_alloc(&g, 1, sizeof *g, err));
    *g = (dense_range){.v = v, .ball = *ball, .N = v->tensors[0].rows};
    *state = g;
    return allocate(g, err);
}

/* ---- a block ---- */

/* The room in units of r_j that `left` leaves; a double times 1 + 2^-51 is not below the exact quotient. */
static double room(const surety_tolerance *t, size_t j, double left) {
    if (!t || !(left > 0)) return fmax(left, 0);
    return t->unit[j] > 0 ? left / t->unit[j] * (1 + 0x1p-51) : 0;
}

/* The rows in lanes, and the room of every feature. The box is that of the program too, which rounds its ends
 * to floats. */
static void place(dense_range *g, const float *const *x, size_t rows, const double *radius) {
    const surety_tolerance *t = g->ball.tolerance;
    double lo = -HUGE_VAL, hi = HUGE_VAL;
    if (g->ball.has_box) {
        lo = fmin(g->ball.lo, (double)(float)g->ball.lo);
        hi = fmax(g->ball.hi, (double)(float)g->ball.hi);
    }
    for (size_t r = 0; r < L; r++) {
        const float *row = x[r < rows ? r : 0];
        for (size_t j = 0; j < g->v->d; j++) {
            double value = (double)row[j], b = radius[r < rows ? r : 0];
            double least = t ? fmax(lo, fmin(value, (double)t->least[j])) : lo,
                   most = t ? fmin(hi, fmax(value, (double)t->most[j])) : hi;
            g->x[j * L + r] = row[j];
            g->up[j * L + r] = float_up(fmin(b, room(t, j, most - value)));
            g->down[j * L + r] = float_up(fmin(b, room(t, j, value - least)));
        }
    }
}

/* Limits of argument i in all lanes. wide[r] becomes 1 where the program could overflow. */
static void limit_argument(dense_range *g, size_t i, const double *radius, int *wide) {
    const surety_tensor *t = &g->v->tensors[0];
    size_t d = g->v->d;
    double z[L], size[L], rise[L], fall[L], c = (double)g->v->tensors[1].values[i];
    surety_span_job job = {.d = d,
                           .w = t->values + i * t->stride,
                           .moves = g->moves + i * t->stride,
                           .length = g->rows[i].length,
                           .order = g->order ? g->order + i * d : NULL,
                           .kept = g->rows[i].kept,
                           .norm = g->ball.norm,
                           .x = g->x,
                           .up = g->up,
                           .down = g->down,
                           .b = radius};
    surety_span_kernel_at(surety_cpu())(&job, (surety_span){z, size, rise, fall});
    double k = (double)(d + 2), chain = k * 0x1p-24, gamma = 0x1p-24 / (1 - chain), own = (k + 32) * 0x1p-52;
    for (size_t r = 0; r < L; r++) {
        double sizes = k * fabs(c) + size[r] + radius[r] * g->rows[i].dual;
        double margin = sizes * (gamma + own) + k * 0x1p-149;
        wide[r] |= chain > 0.5 || !(sizes < 1e38);
        g->z_lo[i * L + r] = nextafterf(float_down(c + z[r] - fall[r] * (1 + own) - margin), -HUGE_VALF);
        g->z_hi[i * L + r] = nextafterf(float_up(c + z[r] + rise[r] * (1 + own) + margin), HUGE_VALF);
    }
}

/* Of all voters against class k, from the limits of their arguments. */
static void limit_outputs(const dense_range *g, size_t k, const uint8_t *y, const int *wide, float *low) {
    float margin = g->v->kind->margin(g->v);
    uint8_t other[L];
    for (size_t r = 0; r < L; r++) other[r] = (uint8_t)k;
    surety_argument_range range = {g->z_lo, g->z_hi, y, other, g->low, NULL};
    g->v->kind->worst(g->v, &range, g->scratch);
    for (size_t t = 0; t < g->v->H; t++)
        for (size_t r = 0; r < L; r++) {
            float worst = g->low[t * L + r] - margin;
            if (g->v->width > 1 && y[r] == k) continue;
            low[(t * (g->v->classes - 1) + k - (k > y[r])) * L + r] = !wide[r] && worst > -1 ? worst : -1;
        }
}

static void run(void *state, const float *const *x, size_t rows, const double *radius, const uint8_t *y,
                float *low) {
    dense_range *g = state;
    double b[L];
    uint8_t label[L];
    int wide[L] = {0};
    for (size_t r = 0; r < L; r++) b[r] = radius[r < rows ? r : 0], label[r] = y[r < rows ? r : 0];
    place(g, x, rows, b);
    for (size_t i = 0; i < g->N; i++) limit_argument(g, i, b, wide);
    for (size_t k = 0; k < g->v->width; k++) limit_outputs(g, k, label, wide, low);
}

const surety_range_kind surety_dense_range = {start, stop, run, NULL};

/* ---- what is derived from the parameters ---- */

surety_status surety_dense_attach(surety_voters *v, surety_error *err) {
    surety_dense *dense;
    SURETY_TRY(surety_alloc(&dense, 1, sizeof *dense, err));
    v->own = dense;
    if (v->depth)
        SURETY_TRY(
            surety_alloc(&dense->scores, surety_padded((v->H * v->width) << v->depth), sizeof(float), err));
    return surety_weights_new(&dense->packed, v->tensors[0].rows, v->d, err);
}

void surety_dense_detach(surety_voters *v) {
    surety_dense *dense = v->own;
    if (!dense) return;
    surety_weights_free(dense->packed);
    surety_free(dense->scores);
    surety_free(dense);
    v->own = NULL;
}
