/* num: the one matrix product shape of the house, and elementary functions over vectors. Each is compiled per
 * CPU level; all levels with FMA give the same bits, because every output is one fma chain in a fixed order
 * and every elementary function comes from SLEEF's deterministic set. A row's result never depends on its
 * neighbours.
 *
 * Letters: N outputs (splits of all trees, or linear voters), d features, rows = examples of a block.
 * Rows of features are given as pointers, so that a caller can leave rows out without copying. They are
 * aligned to SURETY_ALIGN and padded with zeros to surety_padded(d) floats; outputs are written over the
 * whole padded width.
 */
#ifndef SURETY_NUM_NUM_H
#define SURETY_NUM_NUM_H

#include "base/memory.h"
#include "base/random.h"

/* A weight matrix W (N, d), packed for both products. */
typedef struct surety_weights surety_weights;

surety_status surety_weights_new(surety_weights **out, size_t N, size_t d, surety_error *err);
void surety_weights_free(surety_weights *weights);

/* Copies W (N rows of stride ldw) into the packed form; again after every change of W. */
void surety_weights_pack(surety_weights *weights, const float *W, size_t ldw);

/* z[r*ldz + i] = bias[i] + sum_j x[r][j] W[i][j], one chain over j = 0 .. d-1 that starts at bias[i] (NULL:
 * 0). ldz >= surety_padded(N); z[r*ldz + N ..] is set to 0 up to surety_padded(N). */
void surety_product_forward(const surety_weights *weights, const float *const *x, size_t rows,
                            const float *bias, float *z, size_t ldz);

/* What becomes of the rows dx of a backward product. Alone, out: out[r] = dx. */
typedef struct surety_gradient_use {
    float *const *out;
    /* Or NULL; squares[r] = sum_j dx_j^2 too: sixteen chains j mod 16, added as v16_sum does */
    float *squares;
    const float *const *x, *const *lo,
                               *const *hi; /* or NULL; out[r] = clip(x[r] + step[r] sign(dx), lo[r], hi[r]) */
    const float *step;
} surety_gradient_use;

/* dx[r][j] = sum_i g[r*ldg + i] W[i][j], one chain over i = 0 .. N-1 that starts at 0, used as `use` says. At
 * most SURETY_LANES rows if squares are wanted. */
void surety_product_backward(const surety_weights *weights, const float *g, size_t ldg, size_t rows,
                             const surety_gradient_use *use);

/* D[i*ldd + j] = sum_r g[r*ldg + i] x[r][j] for i in [first, end), j < d: one chain over r = 0 .. rows-1
 * that starts at 0. The gradient of the weights; threads split it by i, so that no sum is shared. */
typedef struct surety_outer {
    const float *g; /* (rows, ldg) */
    size_t ldg;
    const float *const *x; /* (rows) of d floats */
    size_t rows, d;
    size_t first, end;
    float *D; /* (.., ldd) */
    size_t ldd;
} surety_outer;
void surety_product_outer(const surety_outer *outer);

/* out[i] = exp(x[i]), 1/(1+exp(-x[i])), tanh(x[i]); in place is fine. Within 4 ulp, subnormal results too;
 * NaN gives NaN. */
void surety_vector_exp(const float *x, float *out, size_t count);
void surety_vector_sigmoid(const float *x, float *out, size_t count);
void surety_vector_tanh(const float *x, float *out, size_t count);

/* Draws by address (base/random.h) for coordinates 0 .. count-1: uniform in (0,1) with exactly the bits of
 * surety_random_uniform, and standard normal (Box-Muller on the pairs of coordinates (2i, 2i+1)). */
void surety_vector_uniform(uint64_t seed, const surety_address *a, float *out, size_t count);
void surety_vector_normal(uint64_t seed, const surety_address *a, float *out, size_t count);

/* A direction, uniform: standard normal draws from half a word each, which is enough for a start and takes
 * two fifths of the time. Words 16i .. 16i+15 have high halves k and low halves l; with u = (k + 1/2) / 2^16,
 * v = (l + 1/2) / 2^16 and r = sqrt(-2 ln u), coordinates 32i .. 32i+15 are r cos(2 pi v), the next sixteen
 * -r sin(2 pi v). */
void surety_vector_direction(uint64_t seed, const surety_address *a, float *out, size_t count);

/* out[j] = clip(x[j] + scale * n_j, lo, hi), n_j = surety_random_noise at coordinate j < count: the noise of
 * the u-attacks, drawn, added (one fma) and clipped in one pass. A NaN in x stays; in place is fine. */
typedef struct surety_noise {
    uint64_t seed;
    surety_address at;
    float scale, lo, hi;
} surety_noise;
void surety_vector_noise(const surety_noise *noise, const float *x, float *out, size_t count);

#endif
