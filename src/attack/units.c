/* Inside the ball, truly: ||u|| is computed in double, where each of the norms is off by less than (count +
 * 8) 2^-52 of itself, u by a few roundings more. The radius used is smaller by (count + 64) 2^-52. Then e_j =
 * r_j u_j, and x0 + e_j is rounded to a float *towards x0*: whatever the sizes of x0 and r are, the distance
 * does not grow by more than 2^-50 of itself. Clipping to a range that holds x0 only shrinks it. */
#include "attack/units.h"

#include <math.h>
#include <string.h>

#include "attack/l1.h"
#include "base/memory.h"

surety_status surety_units_new(surety_units **out, const surety_ball *ball, surety_error *err) {
    const surety_tolerance *t = ball->tolerance;
    surety_units *k;
    *out = NULL;
    SURETY_TRY(surety_alloc(&k, sizeof *k + t->d * (2 * sizeof(double) + sizeof(uint32_t)), 1, err));
    *k = (surety_units){.norm = ball->norm, .d = t->d};
    k->unit = (double *)(void *)(k + 1);
    k->u = k->unit + t->d;
    k->feature = (uint32_t *)(void *)(k->u + t->d);
    for (size_t j = 0; j < t->d; j++) {
        if (t->unit[j] == 0) continue;
        k->unit[k->count] = t->unit[j];
        k->feature[k->count++] = (uint32_t)j;
    }
    k->radius = ball->radius * (1 - (double)(k->count + 64) * 0x1p-52);
    *out = k;
    return SURETY_OK;
}

void surety_units_free(surety_units *k) {
    surety_free(k);
}

void surety_units_at(surety_units *k, const float *x, const float *x0) {
    for (size_t i = 0; i < k->count; i++) {
        size_t j = k->feature[i];
        k->u[i] = ((double)x[j] - (double)x0[j]) / k->unit[i];
    }
}

void surety_units_start(surety_units *k, const float *drawn) {
    for (size_t i = 0; i < k->count; i++) k->u[i] = k->radius * (double)drawn[i];
}

void surety_units_shake(surety_units *k, const float *noise, double scale) {
    for (size_t i = 0; i < k->count; i++) k->u[i] += scale * (double)noise[i];
}

static void step_l2(surety_units *k, const float *g, double step) {
    double squares = 0;
    for (size_t i = 0; i < k->count; i++) {
        double a = k->unit[i] * (double)g[k->feature[i]];
        squares += a * a;
    }
    if (!(squares > 0 && squares < HUGE_VAL)) return;
    double scale = step / sqrt(squares);
    for (size_t i = 0; i < k->count; i++) k->u[i] += scale * (k->unit[i] * (double)g[k->feature[i]]);
}

static void step_l1(surety_units *k, const float *x, const float *g, double step, const float *lo,
                    const float *hi) {
    size_t best = k->count;
    double most = 0;
    for (size_t i = 0; i < k->count; i++) {
        size_t j = k->feature[i];
        double size = k->unit[i] * fabs((double)g[j]);
        if (size > most && (g[j] > 0 ? x[j] < hi[j] : x[j] > lo[j])) most = size, best = i;
    }
    if (best < k->count) k->u[best] += copysign(step, (double)g[k->feature[best]]);
}

void surety_units_step(surety_units *k, const float *x, const float *g, double step, const float *lo,
                       const float *hi) {
    if (k->norm == SURETY_L2) step_l2(k, g, step);
    if (k->norm == SURETY_L1) step_l1(k, x, g, step, lo, hi);
    for (size_t i = 0; k->norm == SURETY_LINF && i < k->count; i++) {
        float along = g[k->feature[i]];
        k->u[i] += step * (double)((along > 0) - (along < 0));
    }
}

static double within(double u, double lo, double hi) {
    return u < lo ? lo : u > hi ? hi : u;
}

void surety_units_clip(surety_units *k, const float *x0, const float *lo, const float *hi) {
    for (size_t i = 0; i < k->count; i++) {
        size_t j = k->feature[i];
        double x = (double)x0[j], unit = k->unit[i];
        k->u[i] = within(k->u[i], ((double)lo[j] - x) / unit, ((double)hi[j] - x) / unit);
    }
}

/* u into the ball. */
static void project(surety_units *k) {
    double squares = 0;
    if (k->norm == SURETY_L1) surety_l1_shrink(k->u, k->radius, k->count);
    for (size_t i = 0; k->norm == SURETY_LINF && i < k->count; i++)
        k->u[i] = within(k->u[i], -k->radius, k->radius);
    if (k->norm != SURETY_L2) return;
    for (size_t i = 0; i < k->count; i++) squares += k->u[i] * k->u[i];
    double length = sqrt(squares);
    if (!(length > k->radius)) return;
    for (size_t i = 0; i < k->count; i++) k->u[i] *= k->radius / length;
}

/* x0 + e as a float, not farther from x0 than e but for 2^-50 of it. */
static float towards(float x0, double e) {
    float x = (float)((double)x0 + e);
    return fabs((double)x - (double)x0) > fabs(e) * (1 + 0x1p-50) ? nextafterf(x, x0) : x;
}

void surety_units_place(surety_units *k, const float *x0, const float *lo, const float *hi, float *out) {
    project(k);
    memcpy(out, x0, k->d * sizeof *out);
    for (size_t i = 0; i < k->count; i++) {
        size_t j = k->feature[i];
        float x = towards(x0[j], k->u[i] * k->unit[i]);
        out[j] = x < lo[j] ? lo[j] : x > hi[j] ? hi[j] : x;
    }
}
