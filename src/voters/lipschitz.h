/* Networks of the kind `lipschitz` (docs/theory.md 11): what its three files share.
 *
 * H networks, each a chain of n dense layers with MaxMin units between them:
 *
 *   z_0 = W_0 x + c_0,   a_l = MaxMin(z_(l-1)),   z_l = W_l a_l + c_l,   f = z_(n-1).
 *
 * MaxMin of w numbers: of each pair (i, i + w/2), i < w/2, the larger goes first; of an odd w the last stays.
 * It stretches no distance. Training keeps every W_l near one with orthonormal rows, or columns where it has
 * more rows than columns; how near is what the proof looks at.
 *
 * Tensors: layers.l.weight (H, w_l, inputs) and layers.l.bias (H, w_l) for l = 0 .. n - 1, then scale (H).
 */
#ifndef SURETY_VOTERS_LIPSCHITZ_H
#define SURETY_VOTERS_LIPSCHITZ_H

#include "voters/kind.h"

enum {
    SURETY_LAYERS_ALL = SURETY_LAYERS + 1, /* hidden ones and the last */
    SURETY_LAYER_WIDEST = 4096,
    SURETY_NETWORK_ROWS = 8192 /* most rows of a gradient_sum */
};

/* What is derived from the tensors. */
typedef struct surety_networks {
    surety_weights *first;    /* layer 0 of all networks, one below the other */
    surety_weights **further; /* (n - 1, H) the other layers */
    void *step;               /* of lipschitz_step.c; NULL until a training takes one */
} surety_networks;

static inline surety_networks *surety_networks_of(const surety_voters *v) {
    return v->own;
}
static inline size_t surety_layers_of(const surety_voters *v) {
    return (v->tensor_count - 1) / 2;
}
static inline const surety_tensor *surety_layer_weight(const surety_voters *v, size_t l) {
    return &v->tensors[2 * l];
}
static inline const surety_tensor *surety_layer_bias(const surety_voters *v, size_t l) {
    return &v->tensors[2 * l + 1];
}
static inline const float *surety_network_scales(const surety_voters *v) {
    return v->tensors[v->tensor_count - 1].values;
}
static inline size_t surety_layer_inputs(const surety_voters *v, size_t l) {
    return v->tensors[2 * l].length;
}
static inline size_t surety_layer_outputs(const surety_voters *v, size_t l) {
    return v->tensors[2 * l].shape[1];
}
/* W_l of network t, (w_l, stride). */
static inline float *surety_network_weight(const surety_voters *v, size_t l, size_t t) {
    const surety_tensor *w = &v->tensors[2 * l];
    return w->values + t * w->shape[1] * w->stride;
}
static inline float *surety_network_bias(const surety_voters *v, size_t l, size_t t) {
    const surety_tensor *c = &v->tensors[2 * l + 1];
    return c->values + t * (c->rows == 1 ? c->length / v->H : c->stride);
}
static inline surety_weights *surety_network_packed(const surety_voters *v, size_t l, size_t t) {
    return surety_networks_of(v)->further[(l - 1) * v->H + t]; /* l >= 1 */
}

/* The scratch of a block. Rows of layer 0 hold all networks, (SURETY_LANES, padded H w_0); those of the other
 * layers one network each, (H, SURETY_LANES, padded width). */
typedef struct surety_network_parts {
    float *z[SURETY_LAYERS_ALL], *a[SURETY_LAYERS_ALL]; /* a[0] is not used */
    float *dz[SURETY_LAYERS_ALL];
    float *da;    /* (SURETY_LANES, padded inputs) of one network's layer */
    float *out;   /* (SURETY_LANES, padded H K) f / scale, then its derivative: K > 2 classes */
    float *lanes; /* (H K, SURETY_LANES) the outputs: K > 2 classes */
    size_t floats;
} surety_network_parts;
surety_network_parts surety_network_scratch(const surety_voters *v, float *memory); /* NULL: its size */

/* Where row r of network t lies in z or dz of layer l. */
static inline size_t surety_network_row(const surety_voters *v, size_t l, size_t t, size_t r) {
    size_t w = surety_layer_outputs(v, l);
    return l ? (t * SURETY_LANES + r) * surety_padded(w) : r * surety_padded(v->H * w) + t * w;
}
/* .. and in a of layer l >= 1. */
static inline size_t surety_network_input(const surety_voters *v, size_t l, size_t t, size_t r) {
    return (t * SURETY_LANES + r) * surety_padded(surety_layer_inputs(v, l));
}

/* z and a of a block. */
void surety_network_layers(const surety_voters *v, const float *const *x, size_t rows,
                           const surety_network_parts *p);

/* How long e can be, in the units of the ball: not below ||(e_j / r_j)_j||_2 for any e of the ball of this
 * radius around x inside the box. */
double surety_ball_length(const surety_ball *ball, const float *x, size_t d, double radius);

extern const surety_range_kind surety_network_range;

surety_status surety_network_write_c(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                     surety_error *err);

/* See `along` and `back` of kind.h, and the memory that they keep. */
surety_status surety_network_along(surety_voters *v, float *const *gradients, const surety_run *run,
                                   surety_error *err);
surety_status surety_network_back(surety_voters *v, const surety_run *run, surety_error *err);
void surety_network_step_free(void *step);

/* Rows (rows, stride) with at most `length` floats each become orthonormal, or their columns if there are
 * fewer of these; in double, by Gram and Schmidt, twice. */
surety_status surety_orthonormal(float *values, size_t rows, size_t length, size_t stride, surety_error *err);

#endif
