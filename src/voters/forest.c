/* The soft forest (docs/theory.md 2): all splits of all trees are one product forward and one backward.
 *
 * Parameters, tree after tree: splits.weight (H, I, d), splits.bias (H, I), leaves u (H, 2^l), I = 2^l - 1
 * splits; for K > 2 classes leaves u (H, 2^l, K). A leaf's score is tanh(u), or its K scores are softmax(u).
 * Scratch of a block: p and 1 - p (2, N, lanes) | z, then dz (rows, padded N) | lanes of the backward pass.
 */
#include <math.h>

#include "voters/forest_kernel.h"
#include "voters/kind.h"

enum { WEIGHT, BIAS, LEAVES, DEEPEST = 8, SCORES = 1 << DEEPEST /* of a tree, or of a leaf */ };
_Static_assert((int)SCORES >= (int)SURETY_CLASSES_MOST, "a leaf's scores fit");

static size_t splits_of(const surety_voters *v) {
    return ((size_t)1 << v->depth) - 1;
}
static size_t leaves_of(const surety_voters *v) {
    return (size_t)1 << v->depth;
}
/* Scores of a tree. */
static size_t scores_of(const surety_voters *v) {
    return leaves_of(v) * v->width;
}
static surety_forest forest_of(const surety_voters *v) {
    return (surety_forest){v->H, v->depth, v->width, surety_dense_of(v)->scores};
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
    return (2 * N + surety_padded(N) + N + v->H * scores_of(v)) * SURETY_LANES;
}

/* s (K) = softmax(u), the largest taken out first, summed in order. */
static void softmax(const float *u, size_t K, float *s) {
    float most = u[0], sum = 0;
    for (size_t k = 1; k < K; k++) most = u[k] > most ? u[k] : most;
    for (size_t k = 0; k < K; k++) s[k] = u[k] - most;
    surety_vector_exp(s, s, K);
    for (size_t k = 0; k < K; k++) sum += s[k];
    for (size_t k = 0; k < K; k++) s[k] /= sum;
}

static void prepare(surety_voters *v) {
    const surety_tensor *w = &v->tensors[WEIGHT], *u = &v->tensors[LEAVES];
    size_t J = leaves_of(v), K = v->width;
    float *scores = surety_dense_of(v)->scores, s[SCORES];
    surety_weights_pack(surety_dense_of(v)->packed, w->values, w->stride);
    if (K == 1) surety_vector_tanh(u->values, scores, v->H * J);
    for (size_t leaf = 0; K > 1 && leaf < v->H * J; leaf++) {
        softmax(u->values + leaf * K, K, s);
        for (size_t k = 0; k < K; k++) scores[(leaf / J * K + k) * J + leaf % J] = s[k];
    }
}

static void forward(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch_) {
    scratch_parts s = parts(v, scratch_);
    surety_forest forest = forest_of(v);
    surety_product_forward(surety_dense_of(v)->packed, x, rows, v->tensors[BIAS].values, s.z, s.ldz);
    kernels()->forward(&forest, s.z, s.ldz, rows, s.p, h);
}

static void gradient_input(const surety_voters *v, const float *a, size_t rows, const int *keep,
                           const surety_gradient_use *use, float *scratch_) {
    scratch_parts s = parts(v, scratch_);
    surety_forest forest = forest_of(v);
    kernels()->backward(&forest, s.p, a, rows,
                        &(surety_forest_slopes){.dz = s.z, .ldz = s.ldz, .lanes = s.lanes});
    surety_product_backward(surety_dense_of(v)->packed, s.z, s.ldz, surety_rows_close(s.z, s.ldz, rows, keep),
                            use);
}

/* A row's contribution: derivatives in the split arguments, then in the leaf scores. */
static size_t terms(const surety_voters *v) {
    return surety_padded(v->H * splits_of(v)) + surety_padded(v->H * scores_of(v));
}

static void gradient_terms(const surety_voters *v, const float *a, size_t rows, float *g, float *scratch_) {
    scratch_parts s = parts(v, scratch_);
    surety_forest forest = forest_of(v);
    kernels()->backward(&forest, s.p, a, rows,
                        &(surety_forest_slopes){g, terms(v), g + s.ldz, terms(v), s.lanes});
}

/* From ds to du of a leaf's scores; those of surety_dense_of(v) may be from before a move. Two classes: s =
 * tanh(u), ds/du = 1 - s^2. Else s = softmax(u), ds_k/du_l = s_k ([k = l] - s_l). */
static void chain_leaves(const surety_voters *v, size_t first, size_t end, float *du) {
    const float *u = v->tensors[LEAVES].values;
    size_t J = leaves_of(v), K = v->width;
    float s[SCORES];
    for (size_t t = first; t < end && K == 1; t++) {
        surety_vector_tanh(u + t * J, s, J);
        for (size_t j = 0; j < J; j++) du[t * J + j] *= 1 - s[j] * s[j];
    }
    for (size_t j = first * J; j < end * J && K > 1; j++) {
        float mean = 0, *d = du + j * K;
        softmax(u + j * K, K, s);
        for (size_t k = 0; k < K; k++) mean += d[k] * s[k];
        for (size_t k = 0; k < K; k++) d[k] = s[k] * (d[k] - mean);
    }
}

static void gradient_sum(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                         size_t first, size_t end, float *const *gradients) {
    size_t I = splits_of(v), J = scores_of(v), ldg = terms(v), leaf0 = surety_padded(v->H * I);
    const surety_tensor *w = &v->tensors[WEIGHT];
    float *dw = gradients[WEIGHT], *dc = gradients[BIAS], *du = gradients[LEAVES];
    surety_product_outer(&(surety_outer){.g = g,
                                         .ldg = ldg,
                                         .x = x,
                                         .rows = rows,
                                         .first = first * I,
                                         .end = end * I,
                                         .d = v->d,
                                         .D = dw,
                                         .ldd = w->stride});
    for (size_t i = first * I; i < end * I; i++)
        kernels()->mask(w->mask + i * w->stride, v->d, dw + i * w->stride);
    surety_rows_sum(g + first * I, ldg, rows, (end - first) * I, dc + first * I);
    surety_rows_sum(g + leaf0 + first * J, ldg, rows, (end - first) * J, du + first * J);
    chain_leaves(v, first, end, du);
}

static void worst(const surety_voters *v, const surety_argument_range *range, float *scratch_) {
    surety_forest forest = forest_of(v);
    kernels()->worst(&forest, range, parts(v, scratch_).p);
}

/* With u = 2^-24, in forward and in worst alike: p = 1/(1 + e) or e/(1 + e) has a relative error below 6u (2u
 * of exp, 2u of the sum, u of the quotient), which moves a node by at most 12u; difference, product and sum
 * of a node add at most 6u, because values lie in [-1,1]. A level passes errors on as a mean over its nodes,
 * so each adds 18u, twice. The leaf scores are the same floats, or (tanh at another CPU level) 4u apart. The
 * rest is room for second-order terms and the subtraction of the margin.
 *
 * Of several classes an output lies in [0,1], so that a level adds 6u and 3u to it and twice that to a
 * difference of two; worst works on differences, in [-1,1], and adds 18u: 36u a level. Leaves add u for the
 * rounding of their difference, and where another CPU level made them, s_y - s_o is 2 (K + 16) u apart at
 * most (the softmax of linear.c). */
static float margin(const surety_voters *v) {
    size_t each = 40 * v->depth + 16, K = v->classes;
    return (float)(v->width == 1 ? each : 2 * each + 2 * (K + 16)) * 0x1p-24f;
}

/* Score k of a leaf. */
static double score_twin(const surety_voters *v, const double *u, size_t k) {
    if (v->width == 1) return tanh(u[0]);
    double sum = 0;
    for (size_t l = 0; l < v->width; l++) sum += exp(u[l] - u[k]);
    return 1 / sum;
}

/* f(i) of docs/theory.md 2, with u and c given for this tree and w row after row. */
static double tree_twin(const surety_voters *v, const double *w, const double *c, const double *u,
                        const double *x, size_t k, size_t i) {
    if (i >= splits_of(v)) return score_twin(v, u + (i - splits_of(v)) * v->width, k);
    double z = c[i];
    for (size_t j = 0; j < v->d; j++) z += w[i * v->tensors[WEIGHT].stride + j] * x[j];
    double p = 1 / (1 + exp(-z)), left = tree_twin(v, w, c, u, x, k, 2 * i + 1);
    return p * left + (1 - p) * tree_twin(v, w, c, u, x, k, 2 * i + 2);
}

static double twin(const surety_voters *v, const double *const *parameters, const double *x, size_t t,
                   size_t k) {
    size_t I = splits_of(v);
    return tree_twin(v, parameters[WEIGHT] + t * I * v->tensors[WEIGHT].stride, parameters[BIAS] + t * I,
                     parameters[LEAVES] + t * scores_of(v), x, k, 0);
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
    SURETY_TRY(
        surety_tensor_new(v, "splits.weight", SURETY_ELEMENT_F32, 3, (size_t[]){v->H, I, v->d}, 2, err));
    SURETY_TRY(surety_tensor_new(v, "splits.bias", SURETY_ELEMENT_F32, 2, (size_t[]){v->H, I}, 0, err));
    SURETY_TRY(surety_tensor_new(v, "leaves", SURETY_ELEMENT_F32, v->width == 1 ? 2 : 3,
                                 (size_t[]){v->H, J, v->width}, 0, err));
    uint8_t *mask;
    SURETY_TRY(surety_alloc(&mask, v->H * I, v->tensors[WEIGHT].stride, err));
    v->tensors[WEIGHT].mask = mask;
    for (size_t i = 0; i < v->H * I; i++)
        for (size_t j = 0; j < v->d; j++) mask[i * v->tensors[WEIGHT].stride + j] = 1;
    return surety_dense_attach(v, err);
}

surety_status surety_forest_empty(surety_voters **out, size_t H, size_t depth, size_t d, size_t classes,
                                  surety_error *err) {
    *out = NULL;
    SURETY_TRY(validate(depth, 0, err));
    SURETY_TRY(surety_voters_begin(out, &surety_kind_soft_forest, H, d, classes, err));
    (*out)->depth = depth;
    surety_status status = fill_empty(*out, err);
    if (status != SURETY_OK) surety_voters_free(*out), *out = NULL;
    return status;
}

/* The shapes must fit each other before memory is taken for them. */
static surety_status open_shapes(surety_voters **out, const surety_shape *shapes, size_t count,
                                 surety_error *err) {
    const surety_shape *w = surety_shape_find(shapes, count, "splits.weight", 3, err);
    const surety_shape *u = w ? surety_shape_find(shapes, count, "leaves", 0, err) : NULL;
    size_t depth = 1, classes;
    if (!u) return SURETY_E_INPUT;
    SURETY_TRY(surety_shape_classes(u, 2, &classes, err));
    while (depth < DEEPEST && (size_t)1 << depth < u->shape[1]) depth++;
    if ((size_t)1 << depth != u->shape[1])
        return surety_shape_wrong("leaves", "its shape is not that of trees", "2^depth leaves, depth 1 to 8",
                                  err);
    if (u->shape[0] != w->shape[0] || w->shape[1] != u->shape[1] - 1 ||
        surety_voters_validate(w->shape[0], w->shape[2], 0, NULL) != SURETY_OK)
        return surety_shape_wrong("splits.weight",
                                  "its shape does not fit the leaves or is beyond all limits",
                                  "(trees, leaves - 1, features)", err);
    return surety_forest_empty(out, w->shape[0], depth, w->shape[2], classes, err);
}

/* Two classes draw a tree's leaves at one address, more classes each leaf's scores. */
static void draw_leaves(surety_voters *v, uint64_t seed) {
    size_t J = leaves_of(v), K = v->width, each = K == 1 ? J : K;
    float leaf[SCORES];
    for (size_t n = 0; n < v->H * J * K; n += each) {
        surety_address at = {.row = (uint32_t)(n / (J * K)),
                             .sample = (uint32_t)(K == 1 ? 0 : n / K % J),
                             .purpose = SURETY_FOR_LEAVES};
        surety_vector_normal(seed, &at, leaf, each);
        for (size_t j = 0; j < each; j++)
            v->tensors[LEAVES].values[n + j] = leaf[j] * (float)sqrt(2. / (double)(1 + J));
    }
}

/* v ~ N(0, 2 / (d + I)), c = 0, u ~ N(0, 2 / (1 + 2^l)), a mask bit is 0 with probability mask. */
static void draw(surety_voters *v, double mask, uint64_t seed) {
    size_t I = splits_of(v);
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
    draw_leaves(v, seed);
}

static surety_status make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                          uint64_t seed, surety_error *err) {
    SURETY_TRY(validate(settings->depth, settings->mask, err));
    SURETY_TRY(surety_forest_empty(out, settings->count, settings->depth, d, settings->classes, err));
    draw(*out, settings->mask, seed);
    surety_voters_changed(*out);
    return SURETY_OK;
}

const surety_voter_kind surety_kind_soft_forest = {.name = "soft-forest",
                                                   .words = "soft trees",
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
                                                   .write_c = surety_forest_write_c};
