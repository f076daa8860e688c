/* Adam on sixteen values at a time (train/adam.h has the formula), rate = lr / (1 - b1^t) and root = 1 /
 * sqrt(1 - b2^t) taken out of the loop. Every value goes its own way, so cutting the tensors into slices
 * changes no bit. */
#include "num/simd.h"
#include "train/adam.h"

static inline __attribute__((always_inline)) void move_vector(float rate, float root, const float *g,
                                                              float *m, float *v, float *x, const size_t n) {
    v16 b1 = v16_set1((float)SURETY_ADAM_BETA1), c1 = v16_set1((float)(1 - SURETY_ADAM_BETA1));
    v16 b2 = v16_set1((float)SURETY_ADAM_BETA2), c2 = v16_set1((float)(1 - SURETY_ADAM_BETA2));
    v16 gi = v16_load_part(g, n), mi = v16_load_part(m, n), vi = v16_load_part(v, n);
    mi = v16_fma(c1, gi, v16_mul(b1, mi));
    vi = v16_fma(v16_mul(c2, gi), gi, v16_mul(b2, vi));
    v16 under = v16_fma(v16_sqrt(vi), v16_set1(root), v16_set1((float)SURETY_ADAM_EPS));
    v16 xi = v16_fnma(v16_set1(rate), v16_div(mi, under), v16_load_part(x, n));
    v16_store_part(m, mi, n);
    v16_store_part(v, vi, n);
    v16_store_part(x, xi, n);
}

static void move(float rate, float root, const float *g, float *m, float *v, float *x, size_t count) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) move_vector(rate, root, g + i, m + i, v + i, x + i, 16);
    if (i < count) move_vector(rate, root, g + i, m + i, v + i, x + i, count - i);
}

const surety_adam_kernel SURETY_KERNEL(adam);
const surety_adam_kernel SURETY_KERNEL(adam) = move;
