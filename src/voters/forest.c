/* The soft forest (docs/theory.md 2): all splits of all trees are one product forward and one backward.
 *
 * Parameters, tree after tree: splits.weight (H, I, d), splits.bias (H, I), leaves u (H, 2^l), I = 2^l - 1
 * splits. Scratch of a block: p and 1 - p (2, N, lanes) | z, then dz (rows, padded N) | lanes of the backward
 * pass.
 */
#include <math.h>

#include "voters/forest_kernel.h"
#include "voters/kind.h"

enum { WEIGHT, BIAS, LEAVES, DEEPEST = 8 };

static size_t splits_of(const surety_voters *v) {
    return ((size_t)1 << v->depth) - 1;
}
static size_t leaves_of(const surety_voters *v) {
    return (size_t)1 << v->depth;
}

static const surety_forest_kernels *kernels(void) {
    return surety_forest_kernels_at(surety_cpu());
}

typedef struct scratch_parts {
    float *p, *z, *lanes;
    size_t ldz;
} scratch_parts;

static scratch_parts parts(const surety_voters *v, float *scratch) {
    size_t N = v->H * splits_of(v), ldz = surety_padded(N);
    float *z = scratch + 2 * N * SURETY_LANES;
    return (scratch_parts){scratch, z, z + ldz * SURETY_LANES, ldz};
}

static size_t scratch(const surety_voters *v) {
    size_t N = v->H * splits_of(v);
    return (2 * N + surety_padded(N) + N + v->H * leaves_of(v)) * SURETY_LANES;
}

static void prepare(surety_voters *v) {
    const surety_tensor *w = &v->tensors[WEIGHT];
    surety_weights_pack(surety_dense_of(v)->packed, w->values, w->stride);
    surety_vector_tanh(v->tensors[LEAVES].values, surety_dense_of(v)->scores, v->H * leaves_of(v));
}

static void forward(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch_) {
    scratch_parts s = parts(v, scratch_);
    surety_product_forward(surety_dense_of(v)->packed, x, rows, v->tensors[BIAS].values, s.z, s.ldz);
    kernels()->forward(s.z, s.ldz, rows, v->H, v->depth, surety_dense_of(v)->scores, s.p, h);
}

static void gradient_input(const surety_voters *v, const float *a, size_t rows, const int *keep,
                           const surety_gradient_use *use, float *scratch_) {
    scratch_parts s = parts(v, scratch_);
    kernels()->backward(s.p, a, rows, v->H, v->depth, surety_dense_of(v)->scores, s.z, s.ldz, NULL, 0,
                        s.lanes);
    surety_product_backward(surety_dense_of(v)->packed, s.z, s.ldz, surety_rows_close(s.z, s.ldz, rows, keep),
                            use);
}

/* A row's contribution: derivatives in the split arguments, then in the leaf scores. */
static size_t terms(const surety_voters *v) {
    return surety_padded(v->H * splits_of(v)) + surety_padded(v->H * leaves_of(v));
}

static void gradient_terms(const surety_voters *v, const float *a, size_t rows, float *g, float *scratch_) {
    scratch_parts s = parts(v, scratch_);
    kernels()->backward(s.p, a, rows, v->H, v->depth, surety_dense_of(v)->scores, g, terms(v), g + s.ldz,
                        terms(v), s.lanes);
}

static void gradient_sum(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                         size_t first, size_t end, float *const *gradients) {
    size_t I = splits_of(v), J = leaves_of(v), ldg = terms(v), leaf0 = surety_padded(v->H * I);
    const surety_tensor *w = &v->tensors[WEIGHT];
    float *dw = gradients[WEIGHT], *dc = gradients[BIAS], *du = gradients[LEAVES];
    surety_product_outer(g, ldg, x, rows, first * I, end * I, v->d, dw, w->stride);
    for (size_t i = first * I; i < end * I; i++)
        kernels()->mask(w->mask + i * w->stride, v->d, dw + i * w->stride);
    surety_rows_sum(g + first * I, ldg, rows, (end - first) * I, dc + first * I);
    surety_rows_sum(g + leaf0 + first * J, ldg, rows, (end - first) * J, du + first * J);
    for (size_t t = first; t < end; t++) {
        float scores[1 << DEEPEST]; /* s = tanh(u), ds/du = 1 - s^2; surety_dense_of(v)->scores may be those
                                       before a move */
        surety_vector_tanh(v->tensors[LEAVES].values + t * J, scores, J);
        for (size_t j = 0; j < J; j++) du[t * J + j] *= 1 - scores[j] * scores[j];
    }
}

static void worst(const surety_voters *v, const float *z_lo, const float *z_hi, const float *y, float *h,
                  float *ends, float *scratch_) {
    kernels()->worst(z_lo, z_hi, y, v->H, v->depth, surety_dense_of(v)->scores, parts(v, scratch_).p, h,
                     ends);
}

/* With u = 2^-24, in forward and in worst alike: p = 1/(1 + e) or e/(1 + e) has a relative error below 6u (2u
 * of exp, 2u of the sum, u of the quotient), which moves a node by at most 12u; difference, product and sum
 * of a node add at most 6u, because values lie in [-1,1]. A level passes errors on as a mean over its nodes,
 * so each adds 18u, twice. The leaf scores are the same floats, or (tanh at another CPU level) 4u apart. The
 * rest is room for second-order terms and the subtraction of the margin. */
static float margin(const surety_voters *v) {
    return (float)(40 * v->depth + 16) * 0x1p-24f;
}

/* f(i) of docs/theory.md 2, with u and c given for this tree and w row after row. */
static double tree_twin(const surety_voters *v, const double *w, const double *c, const double *u,
                        const double *x, size_t i) {
    if (i >= splits_of(v)) return tanh(u[i - splits_of(v)]);
    double z = c[i];
    for (size_t j = 0; j < v->d; j++) z += w[i * v->tensors[WEIGHT].stride + j] * x[j];
    double p = 1 / (1 + exp(-z)), left = tree_twin(v, w, c, u, x, 2 * i + 1);
    return p * left + (1 - p) * tree_twin(v, w, c, u, x, 2 * i + 2);
}

static double twin(const surety_voters *v, const double *const *parameters, const double *x, size_t t) {
    size_t I = splits_of(v);
    return tree_twin(v, parameters[WEIGHT] + t * I * v->tensors[WEIGHT].stride, parameters[BIAS] + t * I,
                     parameters[LEAVES] + t * leaves_of(v), x, 0);
}

static surety_status validate(size_t depth, double mask, surety_error *err) {
    if (depth < 1 || depth > DEEPEST)
        return surety_fail(err, SURETY_E_USAGE, "trees have a depth of 1 to %d, not %zu", DEEPEST, depth);
    if (!(mask >= 0 && mask < 1))
        return surety_fail(err, SURETY_E_USAGE, "a mask is at least 0 and below 1, not %g", mask);
    return SURETY_OK;
}

static surety_status fill_empty(surety_voters *v, surety_error *err) {
    size_t I = splits_of(v), J = leaves_of(v);
    SURETY_TRY(surety_tensor_new(v, "splits.weight", 3, (size_t[]){v->H, I, v->d}, 2, err));
    SURETY_TRY(surety_tensor_new(v, "splits.bias", 2, (size_t[]){v->H, I}, 0, err));
    SURETY_TRY(surety_tensor_new(v, "leaves", 2, (size_t[]){v->H, J}, 0, err));
    uint8_t *mask;
    SURETY_TRY(surety_alloc(&mask, v->H * I, v->tensors[WEIGHT].stride, err));
    v->tensors[WEIGHT].mask = mask;
    for (size_t i = 0; i < v->H * I; i++)
        for (size_t j = 0; j < v->d; j++) mask[i * v->tensors[WEIGHT].stride + j] = 1;
    return surety_dense_attach(v, err);
}

surety_status surety_forest_empty(surety_voters **out, size_t H, size_t depth, size_t d, surety_error *err) {
    *out = NULL;
    SURETY_TRY(validate(depth, 0, err));
    SURETY_TRY(surety_voters_begin(out, &surety_kind_soft_forest, H, d, err));
    (*out)->depth = depth;
    surety_status status = fill_empty(*out, err);
    if (status != SURETY_OK) surety_voters_free(*out), *out = NULL;
    return status;
}

/* The shapes must fit each other before memory is taken for them. */
static surety_status open_shapes(surety_voters **out, const surety_shape *shapes, size_t count,
                                 surety_error *err) {
    const surety_shape *w = surety_shape_find(shapes, count, "splits.weight", 3, err);
    const surety_shape *u = w ? surety_shape_find(shapes, count, "leaves", 2, err) : NULL;
    size_t depth = 1;
    if (!u) return SURETY_E_INPUT;
    while (depth < DEEPEST && (size_t)1 << depth < u->shape[1]) depth++;
    if ((size_t)1 << depth != u->shape[1])
        return surety_shape_wrong("leaves", "its shape is not that of trees", "2^depth leaves, depth 1 to 8",
                                  err);
    if (u->shape[0] != w->shape[0] || w->shape[1] != u->shape[1] - 1 ||
        surety_voters_validate(w->shape[0], w->shape[2], 0, NULL) != SURETY_OK)
        return surety_shape_wrong("splits.weight",
                                  "its shape does not fit the leaves or is beyond all limits",
                                  "(trees, leaves - 1, features)", err);
    return surety_forest_empty(out, w->shape[0], depth, w->shape[2], err);
}

/* v ~ N(0, 2 / (d + I)), c = 0, u ~ N(0, 2 / (1 + 2^l)), a mask bit is 0 with probability mask. */
static void draw(surety_voters *v, double mask, uint64_t seed) {
    size_t I = splits_of(v), J = leaves_of(v);
    surety_tensor *w = &v->tensors[WEIGHT];
    uint8_t *bits = (uint8_t *)(uintptr_t)w->mask;
    float scale = (float)sqrt(2. / (double)(v->d + I));
    for (size_t i = 0; i < w->rows; i++) {
        float *row = w->values + i * w->stride;
        surety_vector_normal(seed, &(surety_address){.row = (uint32_t)i, .purpose = SURETY_FOR_WEIGHTS}, row,
                             v->d);
        for (size_t j = 0; j < v->d; j++) {
            surety_address a = {.row = (uint32_t)i, .purpose = SURETY_FOR_MASK};
            bits[i * w->stride + j] = (double)surety_random_uniform(seed, &a, j) >= mask;
            row[j] = bits[i * w->stride + j] ? row[j] * scale : 0;
        }
    }
    for (size_t t = 0; t < v->H; t++) {
        float leaf[1 << DEEPEST];
        surety_vector_normal(seed, &(surety_address){.row = (uint32_t)t, .purpose = SURETY_FOR_LEAVES}, leaf,
                             J);
        for (size_t j = 0; j < J; j++)
            v->tensors[LEAVES].values[t * J + j] = leaf[j] * (float)sqrt(2. / (double)(1 + J));
    }
}

static surety_status make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                          uint64_t seed, surety_error *err) {
    SURETY_TRY(validate(settings->depth, settings->mask, err));
    SURETY_TRY(surety_forest_empty(out, settings->voters, settings->depth, d, err));
    draw(*out, settings->mask, seed);
    surety_voters_changed(*out);
    return SURETY_OK;
}

const surety_voter_kind surety_kind_soft_forest = {.name = "soft-forest",
                                                   .words = "soft trees",
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
