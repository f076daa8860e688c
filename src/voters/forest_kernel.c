/* Soft trees on a block of examples: sixteen rows in the sixteen lanes of a vector (docs/theory.md 2). A leaf
 * has `width` scores: one number for two classes, else one per class.
 *
 * A full binary tree of depth l has I = 2^l - 1 splits 0 .. I-1 and 2^l leaves I .. 2I; children of i are
 * 2i+1, 2i+2.
 *
 *   value        f(i) = p_i f(2i+1) + (1 - p_i) f(2i+2), f(leaf) = its score; h = f(0)
 *   derivative   w(0) = a;  w(2i+1) = w(i) p_i;  w(2i+2) = w(i) (1 - p_i)
 *                a dh/dz_i = w(i) (f(2i+1) - f(2i+2)) p_i (1 - p_i);  a dh/ds_leaf = w(leaf)
 *
 * Of several scores h_k and sum_k a_k h_k, f(leaf) = sum_k a_k s_leaf,k and w(0) = 1 give the derivatives in
 * the z_i; in s_leaf,k it is w(leaf) a_k.
 */
#include "voters/forest_kernel.h"

#include "base/memory.h"
#include "num/simd.h"

enum { DEEPEST = 8, NODES = (2 << DEEPEST) - 1, L = SURETY_LANES };

/* Into [least,1] against rounding. An argument that overflowed both ways is not a number and stays so: the
 * risks count such a vote as wrong. */
static inline v16 clamp(v16 h, float least) {
    return v16_max(v16_set1(least), v16_min(v16_set1(1), h));
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

/* f(i) of one tree for all lanes, from its leaves up. */
INLINE void tree_up(const float *p, const size_t splits, v16 *f) {
    UNROLL for (size_t i = splits; i-- > 0;) f[i] =
        v16_fma(v16_load(p + i * L), v16_sub(f[2 * i + 1], f[2 * i + 2]), f[2 * i + 2]);
}

INLINE void tree_values(const float *p, const float *scores, const size_t splits, v16 *f) {
    UNROLL for (size_t i = 0; i <= splits; i++) f[splits + i] = v16_set1(scores[i]);
    tree_up(p, splits, f);
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

INLINE void values(const float *p, size_t H, size_t width, const float *scores, float *h,
                   const size_t depth) {
    const size_t splits = ((size_t)1 << depth) - 1;
    v16 f[NODES];
    for (size_t t = 0; t < H; t++)
        for (size_t k = t * width; k < (t + 1) * width; k++) {
            tree_values(p + t * splits * L, scores + k * (splits + 1), splits, f);
            v16_store(h + k * L, clamp(f[0], width == 1 ? -1 : 0));
        }
}

static void forward(const surety_forest *s, const float *z, size_t ldz, size_t rows, float *p, float *h) {
    size_t depth = s->depth, N = s->H * (((size_t)1 << depth) - 1);
    to_lanes(z, ldz, rows, N, p);
    for (size_t i = 0; i < N; i++) sigmoid_both(v16_load(p + i * L), p + i * L, p + (N + i) * L);
    AT_DEPTH(values, p, s->H, s->width, s->scores, h);
}

/* The leaves of tree t for what is proved: y s of two classes, else s_y - s_other. */
static void leaves_of(const surety_forest *s, size_t t, const uint8_t *y, const uint8_t *other, v16 *leaves) {
    size_t J = (size_t)1 << s->depth;
    const float *scores = s->scores + t * s->width * J;
    for (size_t j = 0; j < J; j++) {
        float lane[L];
        for (size_t r = 0; r < L; r++)
            lane[r] = s->width == 1 ? (y[r] ? scores[j] : -scores[j])
                                    : scores[y[r] * J + j] - scores[other[r] * J + j];
        leaves[j] = v16_load(lane);
    }
}

/* Bottom up, p f(2i+1) + (1 - p) f(2i+2) is linear in p, so its smallest value is at the lower end of p where
 * the left child is the larger one, else at the upper end. */
static void worst(const surety_forest *s, const surety_argument_range *a, float *p) {
    size_t splits = ((size_t)1 << s->depth) - 1, N = s->H * splits;
    v16 f[NODES];
    for (size_t t = 0; t < s->H; t++) {
        leaves_of(s, t, a->y, a->other, f + splits);
        for (size_t i = splits; i-- > 0;) {
            size_t at = t * splits + i;
            v16 left = f[2 * i + 1], right = f[2 * i + 2];
            v16_mask at_low = v16_lt(right, left);
            v16 z = v16_select(at_low, v16_load(a->z_lo + at * L), v16_load(a->z_hi + at * L));
            v16 pi = sigmoid_both(z, p + at * L, p + (N + at) * L);
            f[i] = v16_fma(pi, v16_sub(left, right), right);
            if (a->ends) v16_store(a->ends + at * L, v16_select(at_low, v16_set1(-1), v16_set1(1)));
        }
        v16_store(a->low + t * L, clamp(f[0], -1));
    }
}

/* w from w(0) down, and the derivatives of one tree's arguments. */
INLINE void tree_down(const float *pt, const float *qt, const size_t splits, const v16 *f, v16 *w,
                      float *lanes_z) {
    UNROLL for (size_t i = 0; i < splits; i++) {
        v16 pi = v16_load(pt + i * L), qi = v16_load(qt + i * L);
        w[2 * i + 1] = v16_mul(w[i], pi);
        w[2 * i + 2] = v16_mul(w[i], qi);
        v16 slope = v16_mul(v16_sub(f[2 * i + 1], f[2 * i + 2]), v16_mul(pi, qi));
        v16_store(lanes_z + i * L, v16_mul(w[i], slope));
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
        tree_down(pt, qt, splits, f, w, lanes_z + t * splits * L);
        if (!lanes_s) continue;
        UNROLL for (size_t i = 0; i <= splits; i++)
            v16_store(lanes_s + (t * (splits + 1) + i) * L, w[splits + i]);
    }
}

/* The same for leaves of several scores. */
INLINE void derivatives_wide(const surety_forest *s, const float *p, const float *a, float *lanes_z,
                             float *lanes_s, const size_t depth) {
    const size_t H = s->H, width = s->width;
    const float *scores = s->scores;
    const size_t splits = ((size_t)1 << depth) - 1, J = splits + 1;
    v16 f[NODES], w[NODES];
    for (size_t t = 0; t < H; t++) {
        const float *pt = p + t * splits * L, *qt = pt + H * splits * L, *at = a + t * width * L;
        UNROLL for (size_t j = 0; j < J; j++) f[splits + j] = v16_zero();
        for (size_t k = 0; k < width; k++) {
            v16 ak = v16_load(at + k * L);
            const float *sk = scores + (t * width + k) * J;
            UNROLL for (size_t j = 0; j < J; j++) f[splits + j] = v16_fma(ak, v16_set1(sk[j]), f[splits + j]);
        }
        tree_up(pt, splits, f);
        w[0] = v16_set1(1);
        tree_down(pt, qt, splits, f, w, lanes_z + t * splits * L);
        for (size_t j = 0; lanes_s && j < J; j++)
            for (size_t k = 0; k < width; k++)
                v16_store(lanes_s + ((t * J + j) * width + k) * L,
                          v16_mul(w[splits + j], v16_load(at + k * L)));
    }
}

static void backward(const surety_forest *s, const float *p, const float *a, size_t rows,
                     const surety_forest_slopes *out) {
    size_t depth = s->depth, splits = ((size_t)1 << depth) - 1, N = s->H * splits;
    float *lanes_z = out->lanes, *lanes_s = out->ds ? out->lanes + N * L : NULL;
    if (s->width == 1)
        AT_DEPTH(derivatives, p, a, s->H, s->scores, lanes_z, lanes_s);
    else
        AT_DEPTH(derivatives_wide, s, p, a, lanes_z, lanes_s);
    from_lanes(lanes_z, rows, N, out->dz, out->ldz);
    if (out->ds) from_lanes(lanes_s, rows, s->H * (splits + 1) * s->width, out->ds, out->lds);
}

/* With e = exp(-2|z|): |tanh z| = (1 - e) / (1 + e), and 1 - tanh^2 z = 4 e / (1 + e)^2. Where z is small
 * 1 - e would lose its digits: there |z| + |z|^3 P(z^2), P of degree 4 (minimax). Within 2 2^-24 of tanh; our
 * own, so that an export can do the same operations (voters/export.c). */
static inline v16 tanh_of(v16 z, v16 e) {
    static const float terms[] = {0x1.52269ap-6f, -0x1.b83c5ap-5f, 0x1.110726p-3f, -0x1.555532p-2f};
    v16 a = v16_abs(z), s = v16_mul(a, a), u = v16_set1(-0x1.75e1cap-8f), one = v16_set1(1);
    UNROLL for (int i = 0; i < 4; i++) u = v16_fma(u, s, v16_set1(terms[i]));
    v16 small = v16_fma(v16_mul(u, s), a, a), large = v16_div(v16_sub(one, e), v16_add(one, e));
    return v16_flip(v16_select(v16_lt(a, v16_set1(0.625f)), small, large), z);
}

static inline void tanh_both(v16 z, float *h, float *slope) {
    v16 e = v16_exp(v16_mul(v16_set1(-2), v16_abs(z)));
    v16 half = v16_div(v16_set1(2), v16_add(v16_set1(1), e));
    v16_store(slope, v16_mul(e, v16_mul(half, half)));
    v16_store(h, clamp(tanh_of(z, e), -1));
}

static void tanh_lanes(const float *z, size_t ldz, size_t rows, size_t count, float *h, float *slope) {
    to_lanes(z, ldz, rows, count, h);
    for (size_t i = 0; i < count; i++) tanh_both(v16_load(h + i * L), h + i * L, slope + i * L);
}

static void tanh_worst(const surety_argument_range *a, size_t count, float *slope) {
    float *low = a->low, *ends = a->ends, sign[L];
    for (size_t r = 0; r < L; r++) sign[r] = a->y[r] ? 1 : -1;
    v16 label = v16_load(sign);
    v16_mask at_low = v16_lt(v16_zero(), label);
    for (size_t i = 0; i < count; i++) {
        v16 z = v16_select(at_low, v16_load(a->z_lo + i * L), v16_load(a->z_hi + i * L));
        tanh_both(z, low + i * L, slope + i * L);
        v16_store(low + i * L, v16_mul(label, v16_load(low + i * L)));
        if (ends) v16_store(ends + i * L, v16_select(at_low, v16_set1(-1), v16_set1(1)));
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

/* ---- one score per class, of linear voters ---- */

/* h (K, lanes) = softmax of z (K, lanes), the largest taken out first; in place is fine. */
static void softmax(const float *z, size_t K, float *h) {
    v16 most = v16_load(z), sum = v16_zero();
    for (size_t k = 1; k < K; k++) most = v16_max(most, v16_load(z + k * L));
    for (size_t k = 0; k < K; k++) {
        v16 e = v16_exp(v16_sub(v16_load(z + k * L), most));
        sum = v16_add(sum, e);
        v16_store(h + k * L, e);
    }
    for (size_t k = 0; k < K; k++) v16_store(h + k * L, clamp(v16_div(v16_load(h + k * L), sum), 0));
}

static void softmax_lanes(const float *z, size_t ldz, size_t rows, size_t H, size_t K, float *h) {
    to_lanes(z, ldz, rows, H * K, h);
    for (size_t t = 0; t < H; t++) softmax(h + t * K * L, K, h + t * K * L);
}

/* h_y - h_o falls with z_o and rises with z_y; another argument weakens the difference, so it makes a
 * positive one smaller at its upper end and a negative one at its lower end. */
static void softmax_worst(const surety_argument_range *a, size_t H, size_t K, float *h) {
    const float *z_lo = a->z_lo, *z_hi = a->z_hi;
    const uint8_t *y = a->y, *other = a->other;
    float *low = a->low, *ends = a->ends;
    for (size_t t = 0; t < H; t++)
        for (size_t r = 0; r < L; r++) {
            size_t own = (t * K + y[r]) * L + r, rival = (t * K + other[r]) * L + r;
            int ahead = z_lo[own] > z_hi[rival];
            for (size_t k = 0; k < K; k++) {
                size_t at = (t * K + k) * L + r;
                int high = at == rival || (at != own && ahead);
                h[at] = high ? z_hi[at] : z_lo[at];
                if (ends) ends[at] = high ? 1 : -1;
            }
        }
    for (size_t t = 0; t < H; t++) {
        softmax(h + t * K * L, K, h + t * K * L);
        for (size_t r = 0; r < L; r++)
            low[t * L + r] = h[(t * K + y[r]) * L + r] - h[(t * K + other[r]) * L + r];
    }
}

/* dz_k = h_k (a_k - sum_l a_l h_l) = h_k (b_k - sum_l b_l h_l), b_k = a_k - a_m with m the largest score.
 * Where the softmax is saturated, h_m is 1 but for rounding and a_m - sum_l a_l h_l would have no digits
 * left; b_m is 0, and what is left has them all. */
static void softmax_backward(const float *h, const float *a, size_t rows, size_t H, size_t K, float *dz,
                             size_t ldz) {
    for (size_t t = 0; t < H; t++) {
        const float *ht = h + t * K * L, *at = a + t * K * L;
        v16 most = v16_load(ht), am = v16_load(at), mean = v16_zero();
        for (size_t k = 1; k < K; k++) {
            v16_mask larger = v16_lt(most, v16_load(ht + k * L));
            most = v16_select(larger, v16_load(ht + k * L), most);
            am = v16_select(larger, v16_load(at + k * L), am);
        }
        for (size_t k = 0; k < K; k++)
            mean = v16_fma(v16_sub(v16_load(at + k * L), am), v16_load(ht + k * L), mean);
        for (size_t k = 0; k < K; k++) {
            float lane[L];
            v16 b = v16_sub(v16_load(at + k * L), am);
            v16_store(lane, v16_mul(v16_load(ht + k * L), v16_sub(b, mean)));
            for (size_t r = 0; r < rows; r++) dz[r * ldz + t * K + k] = lane[r];
        }
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

/* ---- votes over several classes ---- */

/* What is kept of a voter while its classes are looked at: the score of class y and, of the signed set, its
 * largest score, 1 where that is the only one of its size and else 0 (nobody is named: all differences are
 * 0), and 0 or not a number, as its scores are. */
typedef struct voter_look {
    float most[L], top[L], nothing[L];
    v8d own[2]; /* in double once, for all classes */
} voter_look;

/* The score as the signed set has it: 1 for the only largest, else 0. */
INLINE v16 one_hot(v16 score, const voter_look *look) {
    v16 hot = v16_select(v16_eq(score, v16_load(look->most)), v16_load(look->top), v16_zero());
    return v16_add(hot, v16_load(look->nothing));
}

static void look_at(const float *scores, size_t K, surety_voter_set set, const uint8_t *y, voter_look *look) {
    float own[L];
    for (size_t r = 0; r < L; r++) own[r] = scores[y[r] * L + r];
    v16_doubles(v16_load(own), look->own);
    if (set == SURETY_REAL) return;
    v16 most = v16_load(scores), count = v16_zero(), nothing = v16_zero(), one = v16_set1(1);
    for (size_t k = 0; k < K; k++) {
        v16 s = v16_load(scores + k * L);
        most = v16_max(most, s);
        nothing = v16_fma(v16_zero(), s, nothing);
    }
    for (size_t k = 0; k < K; k++)
        count = v16_add(count, v16_select(v16_eq(v16_load(scores + k * L), most), one, v16_zero()));
    v16_store(look->most, most);
    v16_store(look->top, v16_select(v16_eq(count, one), one, v16_zero()));
    v16_store(look->nothing, nothing);
    v16_doubles(one_hot(v16_load(own), look), look->own);
}

/* sums (lanes) of one class += those of count voters, whose scores of it are at h. Differences, products and
 * sums are rounded apart, in double: the same numbers at every level. */
INLINE void add_class(const float *h, size_t stride, const double *q, const voter_look *look, size_t count,
                      const int hot, double *sums) {
    v8d sum[2], theirs[2];
    memcpy(sum, sums, sizeof sum);
    for (size_t t = 0; t < count; t++) {
        v16 s = v16_load(h + t * stride);
        v16_doubles(hot ? one_hot(s, &look[t]) : s, theirs);
        for (size_t i = 0; i < 2; i++) sum[i] += q[t] * (look[t].own[i] - theirs[i]);
    }
    memcpy(sums, sum, sizeof sum);
}

/* Class by class over a few voters at a time, so that sums stay in registers. */
static void margins(const float *h, const double *q, size_t H, size_t K, surety_voter_set set,
                    const uint8_t *y, double *sums) {
    enum { FEW = 32 };
    voter_look look[FEW];
    memset(sums, 0, K * L * sizeof *sums);
    for (size_t first = 0; first < H; first += FEW) {
        size_t count = H - first < FEW ? H - first : FEW;
        const float *at = h + first * K * L;
        for (size_t t = 0; t < count; t++) look_at(at + t * K * L, K, set, y, &look[t]);
        for (size_t k = 0; k < K; k++)
            if (set == SURETY_SIGNED)
                add_class(at + k * L, K * L, q + first, look, count, 1, sums + k * L);
            else
                add_class(at + k * L, K * L, q + first, look, count, 0, sums + k * L);
    }
}

const surety_forest_kernels SURETY_KERNEL(forest);
const surety_forest_kernels SURETY_KERNEL(forest) = {.forward = forward,
                                                     .backward = backward,
                                                     .worst = worst,
                                                     .tanh_lanes = tanh_lanes,
                                                     .tanh_worst = tanh_worst,
                                                     .tanh_backward = tanh_backward,
                                                     .softmax_lanes = softmax_lanes,
                                                     .softmax_worst = softmax_worst,
                                                     .softmax_backward = softmax_backward,
                                                     .mask = mask_row,
                                                     .vote = vote,
                                                     .margins = margins};
