/* Linear voters: linear.weight (H, d), linear.bias (H) and h_t(x) = tanh(<w_t, x> + c_t) for two classes, the
 * smallest kind, and one whose worst perturbation is known in closed form; for K > 2 classes linear.weight
 * (H, K, d), linear.bias (H, K) and h_t = softmax of the K arguments <w_tk, x> + c_tk. N = H or H K
 * arguments. Scratch of a block: 1 - h^2, or h (N, lanes) | z, then dz (rows, padded N). */
#include <math.h>
#include <string.h>

#include "voters/forest_kernel.h"
#include "voters/kind.h"

enum { WEIGHT, BIAS };

static const surety_forest_kernels *kernels(void) {
    return surety_forest_kernels_at(surety_cpu());
}

static size_t arguments(const surety_voters *v) {
    return v->H * v->width;
}

static size_t scratch(const surety_voters *v) {
    return (arguments(v) + surety_padded(arguments(v))) * SURETY_LANES;
}

static void prepare(surety_voters *v) {
    surety_weights_pack(surety_dense_of(v)->packed, v->tensors[WEIGHT].values, v->tensors[WEIGHT].stride);
}

static void forward(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch_) {
    size_t N = arguments(v), ldz = surety_padded(N);
    float *z = scratch_ + N * SURETY_LANES;
    surety_product_forward(surety_dense_of(v)->packed, x, rows, v->tensors[BIAS].values, z, ldz);
    if (v->width == 1) {
        kernels()->tanh_lanes(z, ldz, rows, N, h, scratch_);
        return;
    }
    kernels()->softmax_lanes(z, ldz, rows, v->H, v->width, h);
    memcpy(scratch_, h, N * SURETY_LANES * sizeof *h);
}

static size_t terms(const surety_voters *v) {
    return surety_padded(arguments(v));
}

static void gradient_terms(const surety_voters *v, const float *a, size_t rows, float *g, float *scratch_) {
    if (v->width == 1)
        kernels()->tanh_backward(scratch_, a, rows, v->H, g, terms(v));
    else
        kernels()->softmax_backward(scratch_, a, rows, v->H, v->width, g, terms(v));
}

static void gradient_input(const surety_voters *v, const float *a, size_t rows, const int *keep,
                           const surety_gradient_use *use, float *scratch_) {
    float *dz = scratch_ + arguments(v) * SURETY_LANES;
    gradient_terms(v, a, rows, dz, scratch_);
    surety_product_backward(surety_dense_of(v)->packed, dz, terms(v),
                            surety_rows_close(dz, terms(v), rows, keep), use);
}

static void gradient_sum(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                         size_t first, size_t end, float *const *gradients) {
    size_t stride = v->tensors[WEIGHT].stride, from = first * v->width, to = end * v->width;
    surety_product_outer(&(surety_outer){.g = g,
                                         .ldg = terms(v),
                                         .x = x,
                                         .rows = rows,
                                         .first = from,
                                         .end = to,
                                         .d = v->d,
                                         .D = gradients[WEIGHT],
                                         .ldd = stride});
    surety_rows_sum(g + from, terms(v), rows, to - from, gradients[BIAS] + from);
}

static void worst(const surety_voters *v, const surety_argument_range *range, float *scratch_) {
    if (v->width == 1)
        kernels()->tanh_worst(range, v->H, scratch_);
    else
        kernels()->softmax_worst(range, v->H, v->width, scratch_);
}

/* With u = 2^-24. tanh is within 2u of itself, in forward and in worst; twice that for second-order terms.
 *
 * Softmax of z, t_k = max z - z_k: e_k = exp(-t_k) is off by (2 + t_k) u e_k, exp's own error and the
 * rounding of t_k. With T = sum_k t_k h_k the sum of the e_k is off by K + 1 + T times u, and h_k by 4 + t_k
 * + K + T. T is the entropy of h less ln of that sum, so T <= ln K < 6, and a difference h_y - h_o, h_y + h_o
 * <= 1, is off by at most K + 4 + 2T <= K + 16 times u. In forward and in worst, with the three roundings of
 * differences and limit: 2K + 35 < 8 (K + 8). A score that underflows is off by less than 2^-126. */
static float margin(const surety_voters *v) {
    return v->width == 1 ? 8 * 0x1p-24f : (float)(8 * (v->width + 8)) * 0x1p-24f;
}

static double argument_twin(const surety_voters *v, const double *const *parameters, const double *x,
                            size_t i) {
    const double *w = parameters[WEIGHT] + i * v->tensors[WEIGHT].stride;
    double z = parameters[BIAS][i];
    for (size_t j = 0; j < v->d; j++) z += w[j] * x[j];
    return z;
}

static double twin(const surety_voters *v, const double *const *parameters, const double *x, size_t t,
                   size_t k) {
    double own = argument_twin(v, parameters, x, t * v->width + k), sum = 0;
    if (v->width == 1) return tanh(own);
    for (size_t l = 0; l < v->width; l++) sum += exp(argument_twin(v, parameters, x, t * v->width + l) - own);
    return 1 / sum;
}

static surety_status fill_empty(surety_voters *v, surety_error *err) {
    size_t H = v->H, K = v->width, d = v->d, wide = K > 1;
    size_t weight[3] = {H, wide ? K : d, d}, bias[2] = {H, K};
    SURETY_TRY(surety_tensor_new(v, "linear.weight", SURETY_ELEMENT_F32, 2 + wide, weight, 1 + wide, err));
    SURETY_TRY(surety_tensor_new(v, "linear.bias", SURETY_ELEMENT_F32, 1 + wide, bias, 0, err));
    return surety_dense_attach(v, err);
}

surety_status surety_linear_empty(surety_voters **out, size_t H, size_t d, size_t classes,
                                  surety_error *err) {
    SURETY_TRY(surety_voters_begin(out, &surety_kind_linear, H, d, classes, err));
    surety_status status = fill_empty(*out, err);
    if (status != SURETY_OK) surety_voters_free(*out), *out = NULL;
    return status;
}

static surety_status open_shapes(surety_voters **out, const surety_shape *shapes, size_t count,
                                 surety_error *err) {
    const surety_shape *c = surety_shape_find(shapes, count, "linear.bias", 0, err);
    size_t classes;
    if (!c) return SURETY_E_INPUT;
    SURETY_TRY(surety_shape_classes(c, 1, &classes, err));
    const surety_shape *w = surety_shape_find(shapes, count, "linear.weight", c->rank + 1, err);
    if (!w) return SURETY_E_INPUT;
    if (surety_voters_validate(w->shape[0], w->shape[c->rank], 0, NULL) != SURETY_OK)
        return surety_shape_wrong("linear.weight", "its shape is beyond all limits", "(voters, features)",
                                  err);
    return surety_linear_empty(out, w->shape[0], w->shape[c->rank], classes, err);
}

static surety_status make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                          uint64_t seed, surety_error *err) {
    SURETY_TRY(surety_linear_empty(out, settings->count, d, settings->classes, err));
    surety_tensor *w = &(*out)->tensors[WEIGHT];
    for (size_t i = 0; i < w->rows; i++) {
        float *row = w->values + i * w->stride;
        surety_vector_normal(seed, &(surety_address){.row = (uint32_t)i, .purpose = SURETY_FOR_WEIGHTS}, row,
                             d);
        for (size_t j = 0; j < d; j++) row[j] *= (float)sqrt(2. / (double)(d + 1));
    }
    surety_voters_changed(*out);
    return SURETY_OK;
}

const surety_voter_kind surety_kind_linear = {.name = "linear",
                                              .words = "linear voters",
                                              .classes = SURETY_CLASSES_MOST,
                                              .make = make,
                                              .open = open_shapes,
                                              .attach = surety_dense_attach,
                                              .prepare = prepare,
                                              .detach = surety_dense_detach,
                                              .scratch = scratch,
                                              .forward = forward,
                                              .gradient_input = gradient_input,
                                              .terms = terms,
                                              .gradient_terms = gradient_terms,
                                              .gradient_sum = gradient_sum,
                                              .range = &surety_dense_range,
                                              .worst = worst,
                                              .margin = margin,
                                              .twin = twin,
                                              .write_c = surety_linear_write_c};
