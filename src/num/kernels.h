/* What each CPU level provides (level.h) and the table that num.c chooses from. Only num.c and the tests,
 * which run every level that the CPU has, look behind it. */
#ifndef SURETY_NUM_KERNELS_H
#define SURETY_NUM_KERNELS_H

#include <stdbool.h>

#include "base/cpu.h"
#include "num/level.h"
#include "num/num.h"

/* C (rows, columns) = start + A B, the shape behind all three products of num.h; B comes in panels of
 * SURETY_LANES columns. Row r of A and of C is a_rows[r] and c_rows[r], or a + r*a_stride and c + r*c_stride
 * where these are NULL.
 *
 *   A(r, k)       row r of A, at k if B is packed, else at k*a_step
 *   B(k, panel)   packed: b + panel*b_panel + k*SURETY_LANES; where b is NULL: b_rows[k] + panel*SURETY_LANES
 *   start         bias in every row, or (NULL) 0
 *
 * Where columns end inside a panel, the rest of C's panel is set to 0, or left alone if B is not packed.
 *
 * end (packed B, no bias): what is made of C while it is in registers, see surety_gradient_use. Its
 * sums of squares pass through memory in sixteen lanes per row, which the kernel clears and adds up. */
typedef struct surety_product {
    size_t rows, columns, depth; /* depth: length of the sum over k */
    const float *const *a_rows;
    const float *a;
    size_t a_stride, a_step;
    const float *b;
    size_t b_panel;
    const float *const *b_rows;
    const float *bias;
    float *const *c_rows;
    float *c;
    size_t c_stride;
    const surety_gradient_use *end;
} surety_product;

/* The three products of num.h as jobs for a kernel. */
surety_product surety_forward_job(const surety_weights *weights, const float *const *x, size_t rows,
                                  const float *bias, float *z, size_t ldz);
surety_product surety_backward_job(const surety_weights *weights, const float *g, size_t ldg, size_t rows,
                                   const surety_gradient_use *use);
surety_product surety_outer_job(const surety_outer *outer);

/* One level's kernels; the vector functions are those of num.h. */
typedef struct surety_kernels {
    void (*product)(const surety_product *job);
    /* Up to SURETY_LANES rows of W, d long: transposed as the lines of one panel, where rows that are missing
     * become 0; and as they are, sixteen columns each, as lines of panels that lie `apart` floats apart. */
    void (*pack)(const float *W, size_t ldw, size_t rows, size_t d, float *panel, float *lines, size_t apart);
    void (*exp)(const float *x, float *out, size_t count);
    void (*sigmoid)(const float *x, float *out, size_t count);
    void (*tanh)(const float *x, float *out, size_t count);
    void (*uniform)(uint64_t seed, const surety_address *a, float *out, size_t count);
    void (*normal)(uint64_t seed, const surety_address *a, float *out, size_t count);
    void (*direction)(uint64_t seed, const surety_address *a, float *out, size_t count);
    void (*noise)(const surety_noise *noise, const float *x, float *out, size_t count);
} surety_kernels;

/* The kernels of a level, which must not be above surety_cpu_highest(). */
const surety_kernels *surety_kernels_at(surety_level level);

#define SURETY_DECLARE(level)                                                                               \
    void surety_product_##level(const surety_product *job);                                                 \
    void surety_pack_##level(const float *W, size_t ldw, size_t rows, size_t d, float *panel, float *lines, \
                             size_t apart);                                                                 \
    void surety_exp_##level(const float *x, float *out, size_t count);                                      \
    void surety_sigmoid_##level(const float *x, float *out, size_t count);                                  \
    void surety_tanh_##level(const float *x, float *out, size_t count);                                     \
    void surety_uniform_##level(uint64_t seed, const surety_address *a, float *out, size_t count);          \
    void surety_normal_##level(uint64_t seed, const surety_address *a, float *out, size_t count);           \
    void surety_direction_##level(uint64_t seed, const surety_address *a, float *out, size_t count);        \
    void surety_noise_##level(const surety_noise *noise, const float *x, float *out, size_t count);
SURETY_EACH_LEVEL(SURETY_DECLARE)
#undef SURETY_DECLARE

#endif
