/* num: packing, and the choice of the CPU level. The arithmetic is in product_kernel.c and vector_kernel.c.
 */
#include "num/num.h"

#include "num/kernels.h"

#define KERNELS(level)                                                         \
    {surety_product_##level, surety_pack_##level,      surety_exp_##level,     \
     surety_sigmoid_##level, surety_tanh_##level,      surety_uniform_##level, \
     surety_normal_##level,  surety_direction_##level, surety_noise_##level},
static const surety_kernels table[] = {SURETY_EACH_LEVEL(KERNELS)}; /* in the order of surety_level */
#undef KERNELS

const surety_kernels *surety_kernels_at(surety_level level) {
    return &table[level];
}

static const surety_kernels *kernels(void) {
    return &table[surety_cpu()];
}

/* Both packed forms are panels of 16 columns, each panel the lines of 16 floats in the order in which the sum
 * runs over them. Pads are 0. */
struct surety_weights {
    size_t N, d;
    float *forward;  /* (panels of N, d, 16): columns are outputs, the sum runs over features */
    float *backward; /* (panels of d, N, 16): columns are features, the sum runs over outputs */
};

surety_status surety_weights_new(surety_weights **out, size_t N, size_t d, surety_error *err) {
    *out = NULL;
    const size_t most = SIZE_MAX / SURETY_ALIGN; /* so that padding and bytes of a row cannot overflow */
    if (!N || !d || N > most || d > most)
        return surety_fail(err, SURETY_E_USAGE, "a weight matrix cannot have %zu rows and %zu columns", N, d);
    surety_weights *weights = NULL;
    SURETY_TRY(surety_alloc(&weights, 1, sizeof *weights, err));
    weights->N = N;
    weights->d = d;
    surety_status status = surety_alloc(&weights->forward, surety_padded(N), d * sizeof(float), err);
    if (status == SURETY_OK)
        status = surety_alloc(&weights->backward, surety_padded(d), N * sizeof(float), err);
    if (status != SURETY_OK) {
        surety_weights_free(weights);
        return status;
    }
    *out = weights;
    return SURETY_OK;
}

void surety_weights_free(surety_weights *weights) {
    if (!weights) return;
    surety_free(weights->forward);
    surety_free(weights->backward);
    surety_free(weights);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

void surety_weights_pack(surety_weights *weights, const float *W, size_t ldw) {
    size_t N = weights->N, d = weights->d;
    for (size_t i0 = 0; i0 < N; i0 += SURETY_LANES)
        kernels()->pack(W + i0 * ldw, ldw, least(SURETY_LANES, N - i0), d, weights->forward + i0 * d,
                        weights->backward + i0 * SURETY_LANES, N * SURETY_LANES);
}

surety_product surety_forward_job(const surety_weights *weights, const float *const *x, size_t rows,
                                  const float *bias, float *z, size_t ldz) {
    surety_product job = {.rows = rows, .columns = weights->N, .depth = weights->d};
    job.a_rows = x;
    job.b = weights->forward, job.b_panel = SURETY_LANES * weights->d;
    job.bias = bias;
    job.c = z, job.c_stride = ldz;
    return job;
}

surety_product surety_backward_job(const surety_weights *weights, const float *g, size_t ldg, size_t rows,
                                   const surety_gradient_use *use) {
    surety_product job = {.rows = rows, .columns = weights->d, .depth = weights->N};
    job.a = g, job.a_stride = ldg;
    job.b = weights->backward, job.b_panel = SURETY_LANES * weights->N;
    job.c_rows = use->out;
    job.end = use;
    return job;
}

/* Rows of the result are the outputs i, so A is g transposed: row i begins at g + i and steps by ldg. */
surety_product surety_outer_job(const surety_outer *o) {
    surety_product job = {
        .rows = o->end > o->first ? o->end - o->first : 0, .columns = o->d, .depth = o->rows};
    job.a = o->g + o->first, job.a_stride = 1, job.a_step = o->ldg;
    job.b_rows = o->x;
    job.c = o->D + o->first * o->ldd, job.c_stride = o->ldd;
    return job;
}

void surety_product_forward(const surety_weights *weights, const float *const *x, size_t rows,
                            const float *bias, float *z, size_t ldz) {
    surety_product job = surety_forward_job(weights, x, rows, bias, z, ldz);
    kernels()->product(&job);
}

void surety_product_backward(const surety_weights *weights, const float *g, size_t ldg, size_t rows,
                             const surety_gradient_use *use) {
    surety_product job = surety_backward_job(weights, g, ldg, rows, use);
    kernels()->product(&job);
}

void surety_product_outer(const surety_outer *outer) {
    surety_product job = surety_outer_job(outer);
    kernels()->product(&job);
}

void surety_vector_exp(const float *x, float *out, size_t count) {
    kernels()->exp(x, out, count);
}

void surety_vector_sigmoid(const float *x, float *out, size_t count) {
    kernels()->sigmoid(x, out, count);
}

void surety_vector_tanh(const float *x, float *out, size_t count) {
    kernels()->tanh(x, out, count);
}

void surety_vector_uniform(uint64_t seed, const surety_address *a, float *out, size_t count) {
    kernels()->uniform(seed, a, out, count);
}

void surety_vector_normal(uint64_t seed, const surety_address *a, float *out, size_t count) {
    kernels()->normal(seed, a, out, count);
}

void surety_vector_direction(uint64_t seed, const surety_address *a, float *out, size_t count) {
    kernels()->direction(seed, a, out, count);
}

void surety_vector_noise(const surety_noise *noise, const float *x, float *out, size_t count) {
    kernels()->noise(noise, x, out, count);
}
