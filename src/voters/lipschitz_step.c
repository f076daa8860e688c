/* Staying near orthonormal rows (docs/theory.md 11): the gradient along the surface of matrices with W W^T =
 * I, and a step back to it.
 *
 *   rows      G <- G - sym(G W^T) W,    W <- 1.5 W - .5 (W W^T) W
 *   columns   G <- G - W sym(W^T G),    W <- 1.5 W - .5 W (W^T W)
 *
 * Both are X <- alpha X + beta T with T = M W or W M, M = sym(X W^T) or sym(W^T X), X being G or W. The step
 * back is Newton's for W W^T = I: singular values 1 + e become 1 - 1.5 e^2 ..
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "voters/lipschitz.h"

enum { L = SURETY_LANES };

/* Memory for the layers of one network. */
typedef struct step {
    surety_weights *packed[SURETY_LAYERS_ALL]; /* W, or M where columns are orthonormal */
    float *square, *even;                      /* (side, padded side) M before and after sym */
    float *T;                                  /* (rows, stride) */
    const float **in;                          /* (rows) */
    float **out;                               /* (rows) */
} step;

void surety_network_step_free(void *memory) {
    step *s = memory;
    if (!s) return;
    for (size_t l = 0; l < SURETY_LAYERS_ALL; l++) surety_weights_free(s->packed[l]);
    surety_free(s->square);
    surety_free(s->even);
    surety_free(s->T);
    surety_free((void *)s->in);
    surety_free((void *)s->out);
    surety_free(s);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

static surety_status fill(step *s, const surety_voters *v, surety_error *err) {
    size_t side = 0, rows = 0, floats = 0;
    for (size_t l = 0; l < surety_layers_of(v); l++) {
        size_t w = surety_layer_outputs(v, l), inputs = surety_layer_inputs(v, l);
        side = most(side, least(w, inputs));
        rows = most(rows, w);
        floats = most(floats, w * surety_layer_weight(v, l)->stride);
        SURETY_TRY(surety_weights_new(&s->packed[l], least(w, inputs), inputs, err));
    }
    SURETY_TRY(surety_alloc(&s->square, side, surety_padded(side) * sizeof(float), err));
    SURETY_TRY(surety_alloc(&s->even, side, surety_padded(side) * sizeof(float), err));
    SURETY_TRY(surety_alloc(&s->T, floats, sizeof(float), err));
    SURETY_TRY(surety_alloc(&s->in, rows, sizeof *s->in, err));
    return surety_alloc(&s->out, rows, sizeof *s->out, err);
}

static surety_status step_of(surety_voters *v, step **out, surety_error *err) {
    surety_networks *own = surety_networks_of(v);
    *out = own->step;
    if (*out) return SURETY_OK;
    SURETY_TRY(surety_alloc(&own->step, 1, sizeof(step), err));
    *out = own->step;
    surety_status status = fill(*out, v, err);
    if (status != SURETY_OK) surety_network_step_free(own->step), own->step = NULL;
    return status;
}

/* One change of X. */
typedef struct change {
    step *s;
    surety_weights *packed;
    float *X;
    const float *W;
    size_t rows, columns, stride, side, ld;
    float alpha, beta;
} change;

static int by_rows(const change *c) {
    return c->rows <= c->columns;
}

/* Sixteen rows of X W^T, or of W^T X. */
static surety_status multiply(void *arg, size_t block, int thread, surety_error *err) {
    const change *c = arg;
    size_t from = block * L, to = least(from + L, c->side);
    (void)thread, (void)err;
    if (by_rows(c))
        surety_product_forward(c->packed, c->s->in + from, to - from, NULL, c->s->square + from * c->ld,
                               c->ld);
    else
        surety_product_outer(&(surety_outer){.g = c->W,
                                             .ldg = c->stride,
                                             .x = c->s->in,
                                             .rows = c->rows,
                                             .first = from,
                                             .end = to,
                                             .d = c->columns,
                                             .D = c->s->square,
                                             .ldd = c->ld});
    return SURETY_OK;
}

static void even_out(const change *c) {
    const float *M = c->s->square;
    for (size_t i = 0; i < c->side; i++)
        for (size_t j = 0; j < c->side; j++)
            c->s->even[i * c->ld + j] = 0.5f * (M[i * c->ld + j] + M[j * c->ld + i]);
}

/* Sixteen rows of T, and of the new X. */
static surety_status move(void *arg, size_t block, int thread, surety_error *err) {
    const change *c = arg;
    size_t from = block * L, count = least(L, c->rows - from);
    const float *W[L];
    (void)thread, (void)err;
    for (size_t r = 0; r < count; r++) W[r] = c->W + (from + r) * c->stride;
    if (by_rows(c))
        surety_product_backward(c->packed, c->s->even + from * c->ld, c->ld, count,
                                &(surety_gradient_use){.out = c->s->out + from});
    else
        surety_product_forward(c->packed, W, count, NULL, c->s->out[from], c->stride);
    for (size_t r = from; r < from + count; r++)
        for (size_t j = 0; j < c->columns; j++) {
            float *x = c->X + r * c->stride + j;
            *x = c->alpha * *x + c->beta * c->s->out[r][j];
        }
    return SURETY_OK;
}

/* X, alpha and beta of c are given. */
static surety_status change_one(surety_voters *v, size_t l, size_t t, change c, const surety_run *run,
                                surety_error *err) {
    c.W = surety_network_weight(v, l, t);
    c.rows = surety_layer_outputs(v, l);
    c.columns = surety_layer_inputs(v, l);
    c.stride = surety_layer_weight(v, l)->stride;
    SURETY_TRY(step_of(v, &c.s, err));
    c.packed = c.s->packed[l];
    c.side = least(c.rows, c.columns);
    c.ld = surety_padded(c.side);
    for (size_t i = 0; i < c.rows; i++) {
        c.s->in[i] = c.X + i * c.stride;
        c.s->out[i] = c.s->T + i * c.stride;
    }
    if (by_rows(&c)) surety_weights_pack(c.packed, c.W, c.stride);
    SURETY_TRY(surety_parallel(run, NULL, c.ld / L, multiply, &c, err));
    even_out(&c);
    if (!by_rows(&c)) surety_weights_pack(c.packed, c.s->even, c.ld);
    return surety_parallel(run, NULL, surety_padded(c.rows) / L, move, &c, err);
}

surety_status surety_network_along(surety_voters *v, float *const *gradients, const surety_run *run,
                                   surety_error *err) {
    for (size_t l = 0; l < surety_layers_of(v); l++)
        for (size_t t = 0; t < v->H; t++) {
            float *G = gradients[2 * l] + (surety_network_weight(v, l, t) - v->tensors[2 * l].values);
            SURETY_TRY(change_one(v, l, t, (change){.X = G, .alpha = 1, .beta = -1}, run, err));
        }
    return SURETY_OK;
}

surety_status surety_network_back(surety_voters *v, const surety_run *run, surety_error *err) {
    for (size_t l = 0; l < surety_layers_of(v); l++)
        for (size_t t = 0; t < v->H; t++) {
            change c = {.X = surety_network_weight(v, l, t), .alpha = 1.5f, .beta = -0.5f};
            SURETY_TRY(change_one(v, l, t, c, run, err));
        }
    return SURETY_OK;
}

/* ---- the start ---- */

/* Vector i of at (.., length) loses its parts along those before it. */
static void subtract_projections(double *at, size_t i, size_t length) {
    double *own = at + i * length;
    for (size_t k = 0; k < i; k++) {
        const double *other = at + k * length;
        double dot = 0;
        for (size_t j = 0; j < length; j++) dot += own[j] * other[j];
        for (size_t j = 0; j < length; j++) own[j] -= dot * other[j];
    }
}

surety_status surety_orthonormal(float *values, size_t rows, size_t length, size_t stride,
                                 surety_error *err) {
    int by_columns = rows > length;
    size_t count = by_columns ? length : rows, terms = by_columns ? rows : length;
    double *at;
    SURETY_TRY(surety_alloc(&at, count, terms * sizeof *at, err));
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < terms; j++)
            at[i * terms + j] = (double)values[by_columns ? j * stride + i : i * stride + j];
    for (size_t i = 0; i < count; i++) {
        double squares = 0;
        subtract_projections(at, i, terms);
        subtract_projections(at, i, terms);
        for (size_t j = 0; j < terms; j++) squares += at[i * terms + j] * at[i * terms + j];
        for (size_t j = 0; j < terms; j++) at[i * terms + j] /= sqrt(squares);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < terms; j++)
            values[by_columns ? j * stride + i : i * stride + j] = (float)at[i * terms + j];
    surety_free(at);
    return SURETY_OK;
}
