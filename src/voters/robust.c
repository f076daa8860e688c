#include "voters/robust.h"

#include <math.h>

#include "voters/ball.h"
#include "voters/kind.h"

enum { L = SURETY_LANES };

struct surety_robust {
    surety_voters *v;
    surety_ball ball; /* its radius is that of the last prepare */
    size_t N, ldz, stride;
    float *E, *O;               /* (N, stride) */
    surety_weights *even, *odd; /* the same, packed */
    float *tau;                 /* l1: (N) */
    float *sizes;               /* l1: (d) scratch of prepare */
    float *unit, *per;          /* (stride) r_j, 1 without a tolerance, and 1 / r_j, 0 where r_j is 0 */
    float *lo, *hi;             /* (stride) box and range */
    size_t moving;              /* features that can change */
};

/* The ball, feature by feature. */
static void spread(surety_robust *k) {
    const surety_tolerance *t = k->ball.tolerance;
    for (size_t j = 0; j < k->stride; j++) {
        k->unit[j] = t ? 0 : 1;
        k->lo[j] = k->ball.has_box ? (float)k->ball.lo : -HUGE_VALF;
        k->hi[j] = k->ball.has_box ? (float)k->ball.hi : HUGE_VALF;
    }
    for (size_t j = 0; t && j < t->d; j++) {
        k->unit[j] = (float)t->unit[j];
        k->lo[j] = fmaxf(k->lo[j], t->least[j]);
        k->hi[j] = fminf(k->hi[j], t->most[j]);
    }
    for (size_t j = 0; j < k->stride; j++) k->per[j] = k->unit[j] > 0 ? 1 / k->unit[j] : 0;
    k->moving = t ? t->moving : k->v->d;
}

surety_status surety_robust_new(surety_robust **out, surety_voters *voters, const surety_ball *ball,
                                surety_error *err) {
    *out = NULL;
    surety_robust *k;
    const surety_tensor *w = &voters->tensors[0];
    SURETY_TRY(surety_voters_need(voters, SURETY_CAN_HARDEN, "the certified defense", err));
    SURETY_TRY(surety_ball_fits(ball, voters->d, err));
    SURETY_TRY(surety_alloc(&k, 1, sizeof *k, err));
    *k = (surety_robust){.v = voters, .ball = *ball, .N = w->rows, .stride = w->stride};
    k->ldz = surety_padded(k->N);
    surety_status status = surety_alloc(&k->E, 2 * k->N, k->stride * sizeof(float), err);
    if (status == SURETY_OK) status = surety_alloc(&k->tau, k->ldz + 5 * k->stride, sizeof(float), err);
    if (status == SURETY_OK) status = surety_weights_new(&k->even, k->N, voters->d, err);
    if (status == SURETY_OK) status = surety_weights_new(&k->odd, k->N, voters->d, err);
    if (status != SURETY_OK) {
        surety_robust_free(k);
        return status;
    }
    k->O = k->E + k->N * k->stride;
    k->sizes = k->tau + k->ldz;
    k->unit = k->sizes + k->stride;
    k->per = k->unit + k->stride;
    k->lo = k->per + k->stride;
    k->hi = k->lo + k->stride;
    spread(k);
    *out = k;
    return SURETY_OK;
}

void surety_robust_free(surety_robust *k) {
    if (!k) return;
    surety_weights_free(k->even);
    surety_weights_free(k->odd);
    surety_free(k->E);
    surety_free(k->tau);
    surety_free(k);
}

/* The value of the given rank (0: the largest), by Hoare's selection; reorders the values. A good guess, such
 * as the last answer, saves most of the work and changes nothing else. */
static float select_largest(float *values, size_t count, size_t rank, float guess) {
    float pivot = guess;
    for (size_t lo = 0, hi = count; hi - lo > 1; pivot = values[lo + (hi - lo) / 2]) { /* it is in [lo, hi) */
        size_t above = lo, below = hi; /* larger ones to the front, smaller ones to the back */
        for (size_t k = lo; k < below;) {
            float value = values[k];
            if (value > pivot)
                values[k++] = values[above], values[above++] = value;
            else if (value < pivot)
                values[k] = values[--below], values[below] = value;
            else
                k++;
        }
        if (rank < above)
            hi = above;
        else if (rank >= below)
            lo = below;
        else
            return pivot;
    }
    return values[rank];
}

/* Half the box, or half of the mean range in units of r_j, each at most b; without ends b. */
static double half_room(const surety_robust *k) {
    double sum = 0, b = k->ball.radius;
    if (!k->ball.tolerance) return k->ball.has_box ? (k->ball.hi - k->ball.lo) / 2 : b;
    for (size_t j = 0; j < k->v->d; j++)
        if (k->unit[j] > 0) sum += fmin(b, fmax(0, (double)(k->hi[j] - k->lo[j])) / 2 / (double)k->unit[j]);
    return sum / (double)k->moving;
}

/* The |w_j r_j| of the rank at which b is spent if every room is half the box; without a box the largest. */
static float find_tau(const surety_robust *k, const float *w, double room, float guess) {
    size_t d = k->v->d;
    double rank = room > 0 ? ceil(k->ball.radius / room) : 1;
    if (rank > (double)k->moving) return 0;
    for (size_t j = 0; j < d; j++) k->sizes[j] = fabsf(w[j]) * k->unit[j];
    return select_largest(k->sizes, d, rank < 1 ? 0 : (size_t)rank - 1, guess);
}

void surety_robust_prepare(surety_robust *k, double radius) {
    k->ball.radius = radius;
    double room = half_room(k);
    for (size_t i = 0; i < k->N; i++) {
        const float *w = k->v->tensors[0].values + i * k->stride;
        float *E = k->E + i * k->stride, *O = k->O + i * k->stride;
        if (k->ball.norm == SURETY_L1) k->tau[i] = find_tau(k, w, room, k->tau[i]);
        float tau = k->ball.norm == SURETY_L1 ? k->tau[i] : 0;
        for (size_t j = 0; j < k->stride; j++) {
            float a = fabsf(w[j]) * k->unit[j];
            E[j] = a > tau ? a - tau : 0;
        }
        for (size_t j = 0; k->ball.norm == SURETY_L2 && j < k->stride; j++)
            E[j] = E[j] < 1e-15f ? 0 : E[j] * E[j]; /* subnormals are slow */
        for (size_t j = 0; j < k->stride; j++) O[j] = w[j] < 0 ? -E[j] : E[j];
    }
    surety_weights_pack(k->even, k->E, k->stride);
    surety_weights_pack(k->odd, k->O, k->stride);
}

/* ---- a block ---- */

typedef struct parts {
    float *z, *e, *o;           /* (rows, ldz) */
    float *z_lo, *z_hi, *ends;  /* (N, lanes) */
    float *slope_lo, *slope_hi; /* (N, lanes): F' at both ends */
    float *kind;                /* scratch of the kind */
} parts;

static parts parts_of(const surety_robust *k, float *scratch) {
    size_t rows = L * k->ldz, lanes = k->N * L;
    float *z_lo = scratch + 3 * rows;
    return (parts){scratch,         scratch + rows,   scratch + 2 * rows, z_lo,
                   z_lo + lanes,    z_lo + 2 * lanes, z_lo + 3 * lanes,   z_lo + 4 * lanes,
                   z_lo + 5 * lanes};
}

size_t surety_robust_arguments(const surety_robust *k) {
    return k->N;
}
size_t surety_robust_stride(const surety_robust *k) {
    return k->stride;
}

size_t surety_robust_scratch(const surety_robust *k) {
    return L * (3 * k->ldz + 5 * k->N) + k->v->kind->scratch(k->v);
}

/* The room that `left` is in units of r_j, at most `most`; what is not a number (no end, r_j = 0) is that. */
static float cut(float left, float per, float most) {
    float room = (left > 0 ? left : 0) * per;
    return room < most ? room : most;
}

/* (u + v)/2 and (u - v)/2 of one row. */
void surety_robust_rooms(const surety_robust *k, const float *x, float *even, float *odd) {
    double b = k->ball.radius, widest = k->ball.norm == SURETY_L2     ? b / 16
                                        : k->ball.norm == SURETY_LINF ? b
                                                                      : HUGE_VAL;
    float most = k->ball.has_box || isfinite(widest) ? (float)widest : (float)b;
    if (k->ball.tolerance) most = fminf(most, (float)b);
    float half = k->ball.norm == SURETY_L2 && most > 0 ? 0.5f / most : 0.5f;
    for (size_t j = 0; j < k->v->d; j++) {
        float up = cut(k->hi[j] - x[j], k->per[j], most), down = cut(x[j] - k->lo[j], k->per[j], most);
        even[j] = (up + down) * half;
        odd[j] = (up - down) * half;
    }
}

/* F and F' at a. */
static float reach(const surety_robust *k, size_t i, float a, float *slope) {
    float b = (float)k->ball.radius;
    *slope = 1;
    if (k->ball.norm == SURETY_LINF) return a;
    if (k->ball.norm == SURETY_L1) return k->tau[i] * b + a;
    float root = sqrtf(a > 0 ? a : 0);
    *slope = b / (2 * root + 1e-12f);
    return b * root;
}

/* The limits of every argument of the rows. */
static void limit_arguments(const surety_robust *k, const float *const *x, size_t rows, float *const *even,
                            float *const *odd, const parts *at) {
    parts p = *at;
    for (size_t r = 0; r < rows; r++) surety_robust_rooms(k, x[r], even[r], odd[r]);
    surety_product_forward(surety_dense_of(k->v)->packed, x, rows, k->v->tensors[1].values, p.z, k->ldz);
    surety_product_forward(k->even, (const float *const *)even, rows, NULL, p.e, k->ldz);
    surety_product_forward(k->odd, (const float *const *)odd, rows, NULL, p.o, k->ldz);
    for (size_t i = 0; i < k->N; i++)
        for (size_t r = 0; r < L; r++) {
            size_t from = (r < rows ? r : 0) * k->ldz + i, to = i * L + r;
            float z = p.z[from], e = p.e[from], o = p.o[from];
            p.z_hi[to] = z + reach(k, i, e + o, &p.slope_hi[to]);
            p.z_lo[to] = z - reach(k, i, e - o, &p.slope_lo[to]);
        }
}

/* sums (lanes) = sum_t q_t low_t. */
static void weigh(const surety_robust *k, const double *q, const float *low, double *sums) {
    for (size_t r = 0; r < L; r++) sums[r] = 0;
    for (size_t n = 0; n < k->v->H * L; n++) sums[n % L] += q[n / L] * (double)low[n];
}

/* The class that is nearest to winning in each lane: the smallest margin. */
static void find_rivals(const surety_robust *k, const double *q, const uint8_t *y, const parts *p, float *low,
                        double *margins, uint8_t *rival) {
    for (size_t r = 0; r < L; r++) rival[r] = y[r] == 0;
    for (size_t c = 0; c < k->v->classes; c++) {
        uint8_t other[L];
        double *sums = margins + c * L;
        for (size_t r = 0; r < L; r++) other[r] = (uint8_t)c;
        surety_argument_range range = {p->z_lo, p->z_hi, y, other, low, NULL};
        k->v->kind->worst(k->v, &range, p->kind);
        weigh(k, q, low, sums);
        for (size_t r = 0; r < L; r++) {
            if (y[r] == c)
                sums[r] = 0;
            else if (sums[r] < margins[rival[r] * L + r])
                rival[r] = (uint8_t)c;
        }
    }
}

void surety_robust_forward(const surety_robust *k, const float *const *x, size_t rows, const double *q,
                           const uint8_t *y, const surety_robust_out *out, float *scratch) {
    parts p = parts_of(k, scratch);
    limit_arguments(k, x, rows, out->even, out->odd, &p);
    for (size_t r = 0; r < L; r++) out->rival[r] = !y[r];
    if (k->v->width > 1) find_rivals(k, q, y, &p, out->low, out->margins, out->rival);
    surety_argument_range range = {p.z_lo, p.z_hi, y, out->rival, out->low, p.ends};
    k->v->kind->worst(k->v, &range, p.kind);
    if (k->v->width == 1) weigh(k, q, out->low, out->margins);
}

/* dz at the upper end is dz F' for both products; at the lower end, z - F(e - o), it is -dz F' for e. */
void surety_robust_terms(const surety_robust *k, const float *a, size_t rows, float *g, float *g_even,
                         float *g_odd, float *scratch) {
    parts p = parts_of(k, scratch);
    size_t terms = k->v->kind->terms(k->v);
    k->v->kind->gradient_terms(k->v, a, rows, g, p.kind);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < k->N; i++) {
            int high = p.ends[i * L + r] > 0;
            float d = g[r * terms + i] * (high ? p.slope_hi : p.slope_lo)[i * L + r];
            g_odd[r * k->ldz + i] = d;
            g_even[r * k->ldz + i] = high ? d : -d;
        }
}

/* E' and O' at w, a = |w r|: r times (2w r, 2a), (sign w, 1), or the same where a > tau and 0 elsewhere. */
void surety_robust_sum(const surety_robust *k, const surety_robust_rows *b, size_t first, size_t end,
                       float *const *gradients, float *room) {
    const surety_tensor *t = &k->v->tensors[0];
    size_t each = k->N / k->v->H, from = first * each, to = end * each;
    float *of_even = room, *of_odd = room + k->N * k->stride;
    surety_product_outer(&(surety_outer){.g = b->g_even,
                                         .ldg = k->ldz,
                                         .x = b->even,
                                         .rows = b->rows,
                                         .first = from,
                                         .end = to,
                                         .d = k->v->d,
                                         .D = of_even,
                                         .ldd = k->stride});
    surety_product_outer(&(surety_outer){.g = b->g_odd,
                                         .ldg = k->ldz,
                                         .x = b->odd,
                                         .rows = b->rows,
                                         .first = from,
                                         .end = to,
                                         .d = k->v->d,
                                         .D = of_odd,
                                         .ldd = k->stride});
    for (size_t i = from; i < to; i++)
        for (size_t j = 0, n = i * k->stride; j < k->stride; j++, n++) {
            float w = t->values[n], r = k->unit[j], sign = (float)((w > 0) - (w < 0));
            float scale = k->ball.norm == SURETY_L2 ? 2 * fabsf(w) * r * r : r;
            if (k->ball.norm == SURETY_L1 && k->E[n] == 0) scale = 0;
            if (t->mask && !t->mask[n]) scale = 0;
            gradients[0][n] += scale * (sign * of_even[n] + of_odd[n]);
        }
}
