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
    surety_weights_pack(v->packed, v->tensors[WEIGHT].values, v->tensors[WEIGHT].stride);
}

static void forward(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch_) {
    float *z = scratch_ + v->H * SURETY_LANES;
    surety_product_forward(v->packed, x, rows, v->tensors[BIAS].values, z, surety_padded(v->H));
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
    surety_product_backward(v->packed, dz, terms(v), surety_rows_close(dz, terms(v), rows, keep), use);
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

static void free_own(surety_voters *v) {
    (void)v;
}

static const surety_voter_kind linear_kind = {.name = "linear",
                                              .scratch = scratch,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .gradient_input = gradient_input,
                                              .terms = terms,
                                              .gradient_terms = gradient_terms,
                                              .gradient_sum = gradient_sum,
                                              .worst = worst,
                                              .margin = margin,
                                              .twin = twin,
                                              .free = free_own};

static surety_status fill_empty(surety_voters *v, surety_error *err) {
    SURETY_TRY(surety_tensor_new(v, WEIGHT, "linear.weight", 2, (size_t[]){v->H, v->d}, err));
    SURETY_TRY(surety_tensor_new(v, BIAS, "linear.bias", 1, (size_t[]){v->H}, err));
    return surety_weights_new(&v->packed, v->H, v->d, err);
}

surety_status surety_linear_empty(surety_voters **out, size_t H, size_t d, surety_error *err) {
    *out = NULL;
    SURETY_TRY(surety_voters_validate(H, d, 0, err));
    SURETY_TRY(surety_alloc(out, 1, sizeof **out, err));
    **out = (surety_voters){.kind = &linear_kind, .H = H, .d = d};
    surety_status status = fill_empty(*out, err);
    if (status != SURETY_OK) surety_voters_free(*out), *out = NULL;
    return status;
}

surety_status surety_linear_new(surety_voters **out, size_t H, size_t d, uint64_t seed, surety_error *err) {
    *out = NULL;
    SURETY_TRY(surety_voters_validate(H, d, seed, err));
    SURETY_TRY(surety_linear_empty(out, H, d, err));
    surety_tensor *w = &(*out)->tensors[WEIGHT];
    for (size_t t = 0; t < H; t++) {
        float *row = w->values + t * w->stride;
        surety_vector_normal(seed, &(surety_address){.row = (uint32_t)t, .purpose = SURETY_FOR_WEIGHTS}, row,
                             d);
        for (size_t j = 0; j < d; j++) row[j] *= (float)sqrt(2. / (double)(d + 1));
    }
    surety_voters_changed(*out);
    return SURETY_OK;
}
