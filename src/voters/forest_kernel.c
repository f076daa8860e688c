/* Soft trees on a block of examples: sixteen rows in the sixteen lanes of a vector (docs/theory.md 2).
 *
 * A full binary tree of depth l has I = 2^l - 1 splits 0 .. I-1 and 2^l leaves I .. 2I; children of i are
 * 2i+1, 2i+2.
 *
 *   value        f(i) = p_i f(2i+1) + (1 - p_i) f(2i+2), f(leaf) = its score; h = f(0)
 *   derivative   w(0) = a;  w(2i+1) = w(i) p_i;  w(2i+2) = w(i) (1 - p_i)
 *                a dh/dz_i = w(i) (f(2i+1) - f(2i+2)) p_i (1 - p_i);  a dh/ds_leaf = w(leaf)
 */
#include "voters/forest_kernel.h"

#include "base/memory.h"
#include "num/simd.h"

enum { DEEPEST = 8, NODES = (2 << DEEPEST) - 1, L = SURETY_LANES };

/* Into [-1,1] against rounding. An argument that overflowed both ways is not a number and stays so: the risks
 * count such a vote as wrong. */
static inline v16 clamp(v16 h) {
    return v16_max(v16_set1(-1), v16_min(v16_set1(1), h));
}

/* Rows to lanes and back, sixteen columns at a time: out[c*L + r] = in[r*ld + c]. Rows are padded to whole
 * vectors; lanes behind rows, and columns behind count, become 0. */
static void to_lanes(const float *in, size_t ld, size_t rows, size_t count, float *out) {
    for (size_t c = 0; c < count; c += L) {
        v16 block[L];
        for (size_t r = 0; r < L; r++) block[r] = r < rows ? v16_load(in + r * ld + c) : v16_zero();
        v16_transpose(block);
        for (size_t k = 0; k < L && c + k < count; k++) v16_store(out + (c + k) * L, block[k]);
    }
}

static void from_lanes(const float *in, size_t rows, size_t count, float *out, size_t ld) {
    for (size_t c = 0; c < count; c += L) {
        v16 block[L];
        for (size_t k = 0; k < L; k++) block[k] = c + k < count ? v16_load(in + (c + k) * L) : v16_zero();
        v16_transpose(block);
        for (size_t r = 0; r < rows; r++) v16_store(out + r * ld + c, block[r]);
    }
}

/* Calls function(.., depth), inlined for the usual depths as a constant: then a tree lives in registers. */
#define AT_DEPTH(function, ...)           \
    do {                                  \
        if (depth == 1)                   \
            function(__VA_ARGS__, 1);     \
        else if (depth == 2)              \
            function(__VA_ARGS__, 2);     \
        else if (depth == 3)              \
            function(__VA_ARGS__, 3);     \
        else                              \
            function(__VA_ARGS__, depth); \
    } while (0)
#define INLINE static inline __attribute__((always_inline))

/* f(i) of one tree for all lanes. */
INLINE void tree_values(const float *p, const float *scores, const size_t splits, v16 *f) {
    UNROLL for (size_t i = 0; i <= splits; i++) f[splits + i] = v16_set1(scores[i]);
    UNROLL for (size_t i = splits; i-- > 0;) f[i] =
        v16_fma(v16_load(p + i * L), v16_sub(f[2 * i + 1], f[2 * i + 2]), f[2 * i + 2]);
}

/* p (lanes) = 1/(1 + exp(-z)) and q = 1 - p: with e = exp(-|z|) they are 1/(1 + e) and e/(1 + e). */
static inline v16 sigmoid_both(v16 z, float *p, float *q) {
    v16 one = v16_set1(1), e = v16_exp(v16_neg(v16_abs(z))), sum = v16_add(one, e);
    v16_mask negative = v16_lt(z, v16_zero());
    v16 left = v16_div(v16_select(negative, e, one), sum);
    v16_store(p, left);
    v16_store(q, v16_div(v16_select(negative, one, e), sum));
    return left;
}

INLINE void values(const float *p, size_t H, const float *scores, float *h, const size_t depth) {
    const size_t splits = ((size_t)1 << depth) - 1;
    v16 f[NODES];
    for (size_t t = 0; t < H; t++) {
        tree_values(p + t * splits * L, scores + t * (splits + 1), splits, f);
        v16_store(h + t * L, clamp(f[0]));
    }
}

static void forward(const float *z, size_t ldz, size_t rows, size_t H, size_t depth, const float *scores,
                    float *p, float *h) {
    size_t N = H * (((size_t)1 << depth) - 1);
    to_lanes(z, ldz, rows, N, p);
    for (size_t i = 0; i < N; i++) sigmoid_both(v16_load(p + i * L), p + i * L, p + (N + i) * L);
    AT_DEPTH(values, p, H, scores, h);
}

/* Bottom up, f(i) of y h: p f(2i+1) + (1 - p) f(2i+2) is linear in p, so its smallest value is at the lower
 * end of p where the left child is the larger one, else at the upper end. */
static void worst(const float *z_lo, const float *z_hi, const float *y, size_t H, size_t depth,
                  const float *scores, float *p, float *h, float *ends) {
    size_t splits = ((size_t)1 << depth) - 1, N = H * splits;
    v16 f[NODES], label = v16_load(y);
    for (size_t t = 0; t < H; t++) {
        for (size_t i = 0; i <= splits; i++)
            f[splits + i] = v16_mul(label, v16_set1(scores[t * (splits + 1) + i]));
        for (size_t i = splits; i-- > 0;) {
            size_t at = t * splits + i;
            v16 left = f[2 * i + 1], right = f[2 * i + 2];
            v16_mask low = v16_lt(right, left);
            v16 z = v16_select(low, v16_load(z_lo + at * L), v16_load(z_hi + at * L));
            v16 pi = sigmoid_both(z, p + at * L, p + (N + at) * L);
            f[i] = v16_fma(pi, v16_sub(left, right), right);
            if (ends) v16_store(ends + at * L, v16_select(low, v16_set1(-1), v16_set1(1)));
        }
        v16_store(h + t * L, clamp(v16_mul(label, f[0])));
    }
}

/* The derivatives in lanes; lanes_s may be NULL. */
INLINE void derivatives(const float *p, const float *a, size_t H, const float *scores, float *lanes_z,
                        float *lanes_s, const size_t depth) {
    const size_t splits = ((size_t)1 << depth) - 1;
    v16 f[NODES], w[NODES];
    for (size_t t = 0; t < H; t++) {
        const float *pt = p + t * splits * L, *qt = pt + H * splits * L;
        tree_values(pt, scores + t * (splits + 1), splits, f);
        w[0] = v16_load(a + t * L);
        UNROLL for (size_t i = 0; i < splits; i++) {
            v16 pi = v16_load(pt + i * L), qi = v16_load(qt + i * L);
            w[2 * i + 1] = v16_mul(w[i], pi);
            w[2 * i + 2] = v16_mul(w[i], qi);
            v16 slope = v16_mul(v16_sub(f[2 * i + 1], f[2 * i + 2]), v16_mul(pi, qi));
            v16_store(lanes_z + (t * splits + i) * L, v16_mul(w[i], slope));
        }
        if (!lanes_s) continue;
        UNROLL for (size_t i = 0; i <= splits; i++)
            v16_store(lanes_s + (t * (splits + 1) + i) * L, w[splits + i]);
    }
}

static void backward(const float *p, const float *a, size_t rows, size_t H, size_t depth, const float *scores,
                     float *dz, size_t ldz, float *ds, size_t lds, float *lanes) {
    size_t splits = ((size_t)1 << depth) - 1, N = H * splits;
    float *lanes_z = lanes, *lanes_s = ds ? lanes + N * L : NULL;
    AT_DEPTH(derivatives, p, a, H, scores, lanes_z, lanes_s);
    from_lanes(lanes_z, rows, N, dz, ldz);
    if (ds) from_lanes(lanes_s, rows, H * (splits + 1), ds, lds);
}

/* With e = exp(-2|z|): 1 - tanh^2 z = 4 e / (1 + e)^2. */
static inline void tanh_both(v16 z, float *h, float *slope) {
    v16 e = v16_exp(v16_mul(v16_set1(-2), v16_abs(z)));
    v16 half = v16_div(v16_set1(2), v16_add(v16_set1(1), e));
    v16_store(slope, v16_mul(e, v16_mul(half, half)));
    v16_store(h, clamp(v16_tanh(z)));
}

static void tanh_lanes(const float *z, size_t ldz, size_t rows, size_t count, float *h, float *slope) {
    to_lanes(z, ldz, rows, count, h);
    for (size_t i = 0; i < count; i++) tanh_both(v16_load(h + i * L), h + i * L, slope + i * L);
}

static void tanh_worst(const float *z_lo, const float *z_hi, const float *y, size_t count, float *h,
                       float *slope, float *ends) {
    v16_mask low = v16_lt(v16_zero(), v16_load(y));
    for (size_t i = 0; i < count; i++) {
        v16 z = v16_select(low, v16_load(z_lo + i * L), v16_load(z_hi + i * L));
        tanh_both(z, h + i * L, slope + i * L);
        if (ends) v16_store(ends + i * L, v16_select(low, v16_set1(-1), v16_set1(1)));
    }
}

static void tanh_backward(const float *slope, const float *a, size_t rows, size_t count, float *dz,
                          size_t ldz) {
    for (size_t i = 0; i < count; i++) {
        float lane[L];
        v16_store(lane, v16_mul(v16_load(a + i * L), v16_load(slope + i * L)));
        for (size_t r = 0; r < rows; r++) dz[r * ldz + i] = lane[r];
    }
}

static void mask_row(const uint8_t *mask, size_t count, float *g) {
    for (size_t j = 0; j < count; j++) g[j] *= (float)mask[j];
}

/* sums (2) of eight lanes += q v. Product and sum are rounded apart: the same doubles at every level. */
static inline void add_weighed(double q, v16 v, v8d *sums) {
    v8d wide[2];
    v16_doubles(v, wide);
    for (int i = 0; i < 2; i++) sums[i] += q * wide[i];
}

/* -1 or +1, what is neither stays: 0, or not a number. */
static inline v16 sign_of(v16 v) {
    v16 up = v16_select(v16_lt(v16_zero(), v), v16_set1(1), v);
    return v16_select(v16_lt(v, v16_zero()), v16_set1(-1), up);
}

static inline void store_vote(const v8d *sums, double *votes) {
    double sum[L];
    memcpy(sum, sums, sizeof sum);
    for (size_t r = 0; r < L; r++) votes[r] = sum[r] > 1 ? 1 : sum[r] < -1 ? -1 : sum[r];
}

static void vote(const float *h, const double *q, size_t H, surety_voter_set set, double *votes,
                 double *real) {
    v8d chosen[2] = {0}, plain[2] = {0};
    for (size_t t = 0; t < H; t++) {
        v16 v = v16_load(h + t * L);
        add_weighed(q[t], v, plain);
        if (set == SURETY_SIGNED) add_weighed(q[t], sign_of(v), chosen);
    }
    store_vote(set == SURETY_SIGNED ? chosen : plain, votes);
    if (real) store_vote(plain, real);
}

const surety_forest_kernels SURETY_KERNEL(forest);
const surety_forest_kernels SURETY_KERNEL(forest) = {forward,    backward,      worst,    tanh_lanes,
                                                     tanh_worst, tanh_backward, mask_row, vote};
