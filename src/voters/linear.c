/* Linear voters h_t(x) = tanh(<w_t, x> + c_t): linear.weight (H, d), linear.bias (H). The smallest kind, and
 * the one whose worst perturbation is known in closed form. Scratch of a block: 1 - h^2 (H, lanes) | z, then
 * dz (rows, padded H). */
#include <math.h>

#include "voters/forest_kernel.h"
#include "voters/kind.h"

enum { WEIGHT, BIAS };

static const surety_forest_kernels *kernels(void) {
    return surety_forest_kernels_at(surety_cpu());
}

static size_t scratch(const surety_voters *v) {
    return (v->H + surety_padded(v->H)) * SURETY_LANES;
}

static void prepare(surety_voters *v) {
    surety_weights_pack(surety_dense_of(v)->packed, v->tensors[WEIGHT].values, v->tensors[WEIGHT].stride);
}

static void forward(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch_) {
    float *z = scratch_ + v->H * SURETY_LANES;
    surety_product_forward(surety_dense_of(v)->packed, x, rows, v->tensors[BIAS].values, z,
                           surety_padded(v->H));
    kernels()->tanh_lanes(z, surety_padded(v->H), rows, v->H, h, scratch_);
}

static size_t terms(const surety_voters *v) {
    return surety_padded(v->H);
}

static void gradient_terms(const surety_voters *v, const float *a, size_t rows, float *g, float *scratch_) {
    kernels()->tanh_backward(scratch_, a, rows, v->H, g, terms(v));
}

static void gradient_input(const surety_voters *v, const float *a, size_t rows, const int *keep,
                           const surety_gradient_use *use, float *scratch_) {
    float *dz = scratch_ + v->H * SURETY_LANES;
    gradient_terms(v, a, rows, dz, scratch_);
    surety_product_backward(surety_dense_of(v)->packed, dz, terms(v),
                            surety_rows_close(dz, terms(v), rows, keep), use);
}

static void gradient_sum(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                         size_t first, size_t end, float *const *gradients) {
    size_t stride = v->tensors[WEIGHT].stride;
    surety_product_outer(g, terms(v), x, rows, first, end, v->d, gradients[WEIGHT], stride);
    surety_rows_sum(g + first, terms(v), rows, end - first, gradients[BIAS] + first);
}

static void worst(const surety_voters *v, const float *z_lo, const float *z_hi, const float *y, float *h,
                  float *ends, float *scratch_) {
    kernels()->tanh_worst(z_lo, z_hi, y, v->H, h, scratch_, ends);
}

/* tanh is within 2 2^-24 of itself, in forward and in worst; twice that for second-order terms. */
static float margin(const surety_voters *v) {
    (void)v;
    return 8 * 0x1p-24f;
}

static double twin(const surety_voters *v, const double *const *parameters, const double *x, size_t t) {
    const double *w = parameters[WEIGHT] + t * v->tensors[WEIGHT].stride;
    double z = parameters[BIAS][t];
    for (size_t j = 0; j < v->d; j++) z += w[j] * x[j];
    return tanh(z);
}

static surety_status fill_empty(surety_voters *v, surety_error *err) {
    SURETY_TRY(surety_tensor_new(v, "linear.weight", 2, (size_t[]){v->H, v->d}, 1, err));
    SURETY_TRY(surety_tensor_new(v, "linear.bias", 1, (size_t[]){v->H}, 0, err));
    return surety_dense_attach(v, err);
}

surety_status surety_linear_empty(surety_voters **out, size_t H, size_t d, surety_error *err) {
    SURETY_TRY(surety_voters_begin(out, &surety_kind_linear, H, d, err));
    surety_status status = fill_empty(*out, err);
    if (status != SURETY_OK) surety_voters_free(*out), *out = NULL;
    return status;
}

static surety_status open_shapes(surety_voters **out, const surety_shape *shapes, size_t count,
                                 surety_error *err) {
    const surety_shape *w = surety_shape_find(shapes, count, "linear.weight", 2, err);
    if (!w) return SURETY_E_INPUT;
    if (surety_voters_validate(w->shape[0], w->shape[1], 0, NULL) != SURETY_OK)
        return surety_shape_wrong("linear.weight", "its shape is beyond all limits", "(voters, features)",
                                  err);
    return surety_linear_empty(out, w->shape[0], w->shape[1], err);
}

static surety_status make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                          uint64_t seed, surety_error *err) {
    SURETY_TRY(surety_linear_empty(out, settings->voters, d, err));
    surety_tensor *w = &(*out)->tensors[WEIGHT];
    for (size_t t = 0; t < settings->voters; t++) {
        float *row = w->values + t * w->stride;
        surety_vector_normal(seed, &(surety_address){.row = (uint32_t)t, .purpose = SURETY_FOR_WEIGHTS}, row,
                             d);
        for (size_t j = 0; j < d; j++) row[j] *= (float)sqrt(2. / (double)(d + 1));
    }
    surety_voters_changed(*out);
    return SURETY_OK;
}

const surety_voter_kind surety_kind_linear = {.name = "linear",
                                              .words = "linear voters",
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
                                              .twin = twin};
