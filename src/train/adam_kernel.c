#include "num/simd.h"
#include "train/adam.h"

static void move(float rate, float root, const float *g, float *m, float *v, float *x, size_t count) {
    v16 b1 = v16_set1((float)SURETY_ADAM_BETA1), c1 = v16_set1((float)(1 - SURETY_ADAM_BETA1));
    v16 b2 = v16_set1((float)SURETY_ADAM_BETA2), c2 = v16_set1((float)(1 - SURETY_ADAM_BETA2));
    for (size_t i = 0; i < count; i += 16) {
        size_t n = count - i < 16 ? count - i : 16;
        v16 gi = v16_load_part(g + i, n), mi = v16_load_part(m + i, n), vi = v16_load_part(v + i, n);
        mi = v16_fma(c1, gi, v16_mul(b1, mi));
        vi = v16_fma(v16_mul(c2, gi), gi, v16_mul(b2, vi));
        v16 under = v16_fma(v16_sqrt(vi), v16_set1(root), v16_set1((float)SURETY_ADAM_EPS));
        v16 xi = v16_fnma(v16_set1(rate), v16_div(mi, under), v16_load_part(x + i, n));
        v16_store_part(m + i, mi, n);
        v16_store_part(v + i, vi, n);
        v16_store_part(x + i, xi, n);
    }
}

const surety_adam_kernel SURETY_KERNEL(adam);
const surety_adam_kernel SURETY_KERNEL(adam) = move;
