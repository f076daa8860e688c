/* Gradients against central differences of the naive twin in double.
 *
 * With weights a (H, width, rows) the gradients of F = sum_r sum_tk a_tkr h_tk(x_r) to every input and every
 * parameter are what training and attacks use. (F(p + s) - F(p - s)) / 2s is off by O(s^2) and by rounding
 * over s: at s = 1e-5 both are below 1e-9, far below the float gradient's own error. */
#include <math.h>
#include <string.h>

#include "voters/kind.h"

enum { ROWS = 3, PROBES = 48 }; /* examples, and coordinates tried in each array */

typedef struct check {
    surety_voters *v;
    uint64_t seed;
    float *x[ROWS], *gx[ROWS], *a, *h, *g, *scratch, *gradients[SURETY_TENSORS];
    double *point[ROWS], *parameters[SURETY_TENSORS];
    void *memory[3 * ROWS + 2 * SURETY_TENSORS + 4];
    size_t owned;
} check;

static surety_status take(check *k, void *out, size_t count, size_t size, surety_error *err) {
    SURETY_TRY(surety_alloc(out, count, size, err));
    memcpy(&k->memory[k->owned++], out, sizeof(void *)); /* out points to a pointer of any type */
    return SURETY_OK;
}

static surety_status allocate(check *k, surety_error *err) {
    const surety_voters *v = k->v;
    for (size_t r = 0; r < ROWS; r++) {
        SURETY_TRY(take(k, &k->x[r], surety_padded(v->d), sizeof(float), err));
        SURETY_TRY(take(k, &k->gx[r], surety_padded(v->d), sizeof(float), err));
        SURETY_TRY(take(k, &k->point[r], v->d, sizeof(double), err));
    }
    SURETY_TRY(take(k, &k->a, v->H * v->width * SURETY_LANES, sizeof(float), err));
    SURETY_TRY(take(k, &k->h, v->H * v->width * SURETY_LANES, sizeof(float), err));
    SURETY_TRY(take(k, &k->g, ROWS * v->kind->terms(v), sizeof(float), err));
    SURETY_TRY(take(k, &k->scratch, v->kind->scratch(v), sizeof(float), err));
    for (size_t i = 0; i < v->tensor_count; i++) {
        size_t count = v->tensors[i].rows * v->tensors[i].stride;
        SURETY_TRY(take(k, &k->gradients[i], count, sizeof(float), err));
        SURETY_TRY(take(k, &k->parameters[i], count, sizeof(double), err));
        for (size_t j = 0; j < count; j++) k->parameters[i][j] = (double)v->tensors[i].values[j];
    }
    return SURETY_OK;
}

/* The fast gradients at normal points, with normal weights. */
static void fast(check *k) {
    const surety_voters *v = k->v;
    for (uint32_t r = 0; r < ROWS; r++) {
        surety_vector_normal(k->seed, &(surety_address){.row = r, .purpose = SURETY_FOR_CHECK}, k->x[r],
                             v->d);
        for (size_t j = 0; j < v->d; j++) k->point[r][j] = (double)k->x[r][j];
    }
    surety_vector_normal(k->seed, &(surety_address){.row = ROWS, .purpose = SURETY_FOR_CHECK}, k->a,
                         v->H * v->width * SURETY_LANES);
    v->kind->forward(v, (const float *const *)k->x, ROWS, k->h, k->scratch);
    v->kind->gradient_input(v, k->a, ROWS, NULL, &(surety_gradient_use){.out = k->gx}, k->scratch);
    v->kind->gradient_terms(v, k->a, ROWS, k->g, k->scratch);
    v->kind->gradient_sum(v, k->g, (const float *const *)k->x, ROWS, 0, surety_voters_pieces(v),
                          k->gradients);
}

/* The part of F that a coordinate can change: rows and voters from .. to - 1. */
typedef struct part {
    size_t row_from, row_to, from, to;
} part;

static double twin_value(const check *k, part p) {
    double F = 0;
    for (size_t r = p.row_from; r < p.row_to; r++)
        for (size_t n = p.from * k->v->width; n < p.to * k->v->width; n++)
            F += (double)k->a[n * SURETY_LANES + r] *
                 k->v->kind->twin(k->v, (const double *const *)k->parameters, k->point[r], n / k->v->width,
                                  n % k->v->width);
    return F;
}

static double difference(const check *k, part p, double *where) {
    const double s = 1e-5, value = *where;
    *where = value + s;
    double above = twin_value(k, p);
    *where = value - s;
    double below = twin_value(k, p);
    *where = value;
    return (above - below) / (2 * s);
}

static size_t pick(const check *k, uint32_t which, size_t n, size_t below) {
    surety_address where = {.row = which, .sample = 1, .purpose = SURETY_FOR_CHECK};
    return (size_t)((double)surety_random_uniform(k->seed, &where, n) * (double)below);
}

static double largest(const float *values, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)values[i]));
    return most;
}

/* Errors at random coordinates, relative to the largest gradient; not a number counts as infinite. */
static double error_of(double gradient, double truth, double most) {
    double error = fabs(gradient - truth);
    if (most > 0) error /= fmax(most, fabs(truth));
    return error >= 0 ? error : HUGE_VAL;
}

static double check_input(const check *k, uint32_t r) {
    double worst = 0, most = largest(k->gx[r], k->v->d);
    for (size_t n = 0; n < PROBES; n++) {
        size_t j = pick(k, r, n, k->v->d);
        double truth = difference(k, (part){r, r + 1, 0, k->v->H}, &k->point[r][j]);
        worst = fmax(worst, error_of((double)k->gx[r][j], truth, most));
    }
    return worst;
}

/* A masked parameter cannot move: its gradient is 0. */
static double check_tensor(const check *k, uint32_t index) {
    const surety_tensor *tensor = &k->v->tensors[index];
    size_t each = tensor->rows * tensor->length / k->v->H; /* parameters of one voter */
    double worst = 0, most = largest(k->gradients[index], tensor->rows * tensor->stride);
    for (size_t n = 0; n < PROBES; n++) {
        size_t i = pick(k, ROWS + index, 2 * n, tensor->rows);
        size_t j = pick(k, ROWS + index, 2 * n + 1, tensor->length), at = i * tensor->stride + j;
        size_t t = (i * tensor->length + j) / each;
        int fixed = tensor->mask && !tensor->mask[at];
        double truth = fixed ? 0 : difference(k, (part){0, ROWS, t, t + 1}, &k->parameters[index][at]);
        worst = fmax(worst, error_of((double)k->gradients[index][at], truth, most));
    }
    return worst;
}

surety_status surety_voters_check_gradient(surety_voters *v, uint64_t seed, double *worst,
                                           surety_error *err) {
    check k = {.v = v, .seed = seed};
    *worst = HUGE_VAL;
    surety_status status = allocate(&k, err);
    if (status == SURETY_OK) {
        fast(&k);
        *worst = 0;
        for (uint32_t r = 0; r < ROWS; r++) *worst = fmax(*worst, check_input(&k, r));
        for (uint32_t i = 0; i < v->tensor_count; i++) *worst = fmax(*worst, check_tensor(&k, i));
    }
    for (size_t i = 0; i < k.owned; i++) surety_free(k.memory[i]);
    return status;
}
