/* The certified defense's loss: its outputs against a naive twin in double, its gradients in every parameter
 * against central differences of that twin; for linf it is the sound range itself, up to margins. */
#include "check.h"
#include "voters/kind.h"

#include <math.h>

#include "draw.h"
#include "tolerance.h"
#include "voters/ball.h"
#include "voters/range.h"
#include "voters/robust.h"

enum { L = SURETY_LANES };

/* ---- the twin ---- */

typedef struct twin {
    const surety_voters *v;
    surety_ball ball;
    double *parameters[SURETY_TENSORS]; /* laid out as the tensors */
    const float *tau;                   /* l1: (N), held fixed as the gradient holds it */
} twin;

static double support(const twin *k, size_t row, const float *x, int sign) {
    const double *w = k->parameters[0] + row * k->v->tensors[0].stride, b = k->ball.radius;
    double sum = 0, rho = b / 16;
    for (size_t j = 0; j < k->v->d; j++) {
        float lo, hi;
        double unit = surety_ball_unit(&k->ball, j), a = fabs(w[j]) * unit;
        surety_ball_ends(&k->ball, j, x[j], &lo, &hi);
        double room = (sign * w[j] > 0 ? (double)hi - (double)x[j] : (double)x[j] - (double)lo) / unit;
        if (unit == 0) continue;
        if (k->ball.tolerance) room = fmin(room, b);
        if (k->ball.norm == SURETY_LINF) sum += a * fmin(room, b);
        if (k->ball.norm == SURETY_L2) sum += a * a * fmin(room, rho) / rho;
        if (k->ball.norm == SURETY_L1)
            sum += fmax(a - (double)k->tau[row], 0) * fmin(room, k->ball.has_box ? HUGE_VAL : b);
    }
    if (k->ball.norm == SURETY_L2) return b * sqrt(sum);
    return k->ball.norm == SURETY_L1 ? (double)k->tau[row] * b + sum : sum;
}

static double argument(const twin *k, size_t row, const float *x, int sign) {
    const double *w = k->parameters[0] + row * k->v->tensors[0].stride;
    double z = k->parameters[1][row] + sign * support(k, row, x, sign);
    for (size_t j = 0; j < k->v->d; j++) z += w[j] * (double)x[j];
    return z;
}

/* y s of two classes, else s_y - s_o. */
typedef struct pair {
    uint8_t y, o;
} pair;

static double leaf(const twin *k, const double *u, pair c) {
    double sum = 0;
    if (k->v->classes == 2) return surety_sign(c.y) * tanh(u[0]);
    for (size_t l = 0; l < k->v->classes; l++) sum += exp(u[l]);
    return (exp(u[c.y]) - exp(u[c.o])) / sum;
}

static double node(const twin *k, size_t t, size_t i, const float *x, pair y) {
    size_t I = ((size_t)1 << k->v->depth) - 1;
    if (i >= I) return leaf(k, k->parameters[2] + (t * (I + 1) + i - I) * k->v->width, y);
    double left = node(k, t, 2 * i + 1, x, y), right = node(k, t, 2 * i + 2, x, y), worst = HUGE_VAL;
    for (int sign = -1; sign <= 1; sign += 2) {
        double p = 1 / (1 + exp(-argument(k, t * I + i, x, sign)));
        worst = fmin(worst, p * left + (1 - p) * right);
    }
    return worst;
}

/* Every corner of the box of a linear voter's arguments. */
static double corners(const twin *k, size_t t, const float *x, pair c) {
    size_t width = k->v->width;
    double worst = HUGE_VAL, z[2][8];
    for (size_t l = 0; l < width; l++)
        for (int end = 0; end < 2; end++) z[end][l] = argument(k, t * width + l, x, 2 * end - 1);
    for (size_t corner = 0; corner < (size_t)1 << width; corner++) {
        double own[8] = {0};
        for (size_t l = 0; l < width; l++) own[l] = z[corner >> l & 1][l];
        worst = fmin(worst, leaf(k, own, c));
    }
    return worst;
}

/* The smallest v of voter t. */
static double output(const twin *k, size_t t, const float *x, pair c) {
    return k->v->depth ? node(k, t, 0, x, c) : corners(k, t, x, c);
}

/* ---- a block ---- */

typedef struct block {
    surety_voters *v;
    surety_robust *robust;
    twin twin;
    float *x, *even, *odd, *low, *a, *g, *g_even, *g_odd, *room, *scratch, *gradients[SURETY_TENSORS], *tau;
    const float *rows[L];
    float *evens[L], *odds[L];
    double *q;
    uint8_t y[L], rival[L];
} block;

static float *floats(size_t count) {
    surety_error err = SURETY_ERROR_NONE;
    float *out = NULL;
    check_ok(surety_alloc(&out, count, sizeof *out, &err));
    return out;
}

static void fill(block *k, draw *r, surety_norm norm, int box) {
    surety_error err = SURETY_ERROR_NONE;
    size_t d = draw_size(r, norm == SURETY_L2 ? 20 : 3, 40), /* a root near 0 has no digits */
        H = draw_size(r, 1, 5), stride = surety_padded(d), K = draw_size(r, 0, 1) ? 2 : draw_size(r, 3, 5);
    *k = (block){0};
    surety_voters_settings s = {.kind = "soft-forest",
                                .count = H,
                                .depth = draw_size(r, 1, 3),
                                .mask = draw_size(r, 0, 1) ? 0.4 : 0,
                                .classes = K};
    if (draw_size(r, 0, 3))
        check_ok(surety_voters_new(&s, d, draw_bits(r) >> 1, &k->v, &err));
    else
        check_ok(surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = H, .classes = K}, d,
                                   draw_bits(r) >> 1, &k->v, &err));
    double most = norm == SURETY_L2 ? 1.5 : norm == SURETY_LINF ? 0.3 : 4;
    k->twin = (twin){.v = k->v, .ball = {norm, draw_real(r, 0.1, 1) * most, box, 0, 1, NULL, 0}};
    if (draw_size(r, 0, 2) == 0) k->twin.ball.tolerance = random_tolerance(r, d, 0.3);
    check_ok(surety_robust_new(&k->robust, k->v, &k->twin.ball, &err));
    surety_robust_prepare(k->robust, k->twin.ball.radius);
    size_t N = k->v->tensors[0].rows, ldz = surety_padded(N);
    k->x = floats(L * stride), k->even = floats(L * stride), k->odd = floats(L * stride);
    k->low = floats(H * L), k->a = floats(H * k->v->width * L), k->g = floats(L * k->v->kind->terms(k->v));
    k->g_even = floats(L * ldz), k->g_odd = floats(L * ldz), k->room = floats(2 * N * stride);
    k->scratch = floats(surety_robust_scratch(k->robust)), k->tau = floats(N);
    for (size_t i = 0; i < k->v->tensor_count; i++) {
        const surety_tensor *t = &k->v->tensors[i];
        k->gradients[i] = floats(t->rows * t->stride);
        check_ok(surety_alloc(&k->twin.parameters[i], t->rows * t->stride, sizeof(double), &err));
        for (size_t n = 0; n < t->rows * t->stride; n++) k->twin.parameters[i][n] = (double)t->values[n];
    }
    for (size_t i = 0; i < L; i++) {
        k->rows[i] = k->x + i * stride, k->evens[i] = k->even + i * stride, k->odds[i] = k->odd + i * stride;
        k->y[i] = (uint8_t)draw_size(r, 0, K - 1);
        for (size_t j = 0; j < d; j++)
            k->x[i * stride + j] = (float)fmin(fmax(draw_real(r, -0.5, 1.5), 0), 1);
    }
    check_ok(surety_alloc(&k->q, H, sizeof *k->q, &err));
    for (size_t t = 0; t < H; t++) k->q[t] = draw_real(r, 0, 1);
}

static void empty(block *k) {
    float *parts[] = {k->x,      k->even,  k->odd,  k->low,     k->a,  k->g,
                      k->g_even, k->g_odd, k->room, k->scratch, k->tau};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    for (size_t i = 0; i < SURETY_TENSORS; i++)
        surety_free(k->gradients[i]), surety_free(k->twin.parameters[i]);
    surety_free(k->q);
    surety_robust_free(k->robust);
    surety_voters_free(k->v);
    surety_tolerance_free((surety_tolerance *)(uintptr_t)k->twin.ball.tolerance);
}

/* Half a room: of the box, or the mean of the ranges in their units, none above b. */
static double half_room(const surety_ball *ball, size_t d) {
    double sum = 0, count = 0;
    if (!ball->tolerance) return ball->has_box ? 0.5 : ball->radius;
    for (size_t j = 0; j < d; j++) {
        const surety_tolerance *t = ball->tolerance;
        double lo = ball->has_box ? fmax(0, (double)t->least[j]) : (double)t->least[j],
               hi = ball->has_box ? fmin(1, (double)t->most[j]) : (double)t->most[j];
        if (t->unit[j] == 0) continue;
        sum += fmin(ball->radius, fmax(0, hi - lo) / 2 / t->unit[j]), count++;
    }
    return sum / count;
}

/* The rank of tau, found again by counting: as many |w| are larger as the ball buys half rooms. */
static void find_tau(block *k) {
    size_t d = k->v->d;
    double room = half_room(&k->twin.ball, d), ranks = room > 0 ? ceil(k->twin.ball.radius / room) : 1;
    size_t rank = (size_t)fmax(1, ranks),
           moving = k->twin.ball.tolerance ? k->twin.ball.tolerance->moving : d;
    for (size_t i = 0; i < k->v->tensors[0].rows; i++) {
        const float *w = k->v->tensors[0].values + i * k->v->tensors[0].stride;
        float size[64];
        k->tau[i] = 0;
        for (size_t j = 0; j < d; j++) size[j] = fabsf(w[j]) * (float)surety_ball_unit(&k->twin.ball, j);
        for (size_t j = 0; rank <= moving && j < d; j++) {
            size_t above = 0, equal = 0;
            for (size_t n = 0; n < d; n++) above += size[n] > size[j], equal += size[n] == size[j];
            if (above < rank && rank <= above + equal) k->tau[i] = size[j];
        }
    }
    k->twin.tau = k->tau;
}

/* The loss is sum_t q_t v_t, so that a is q_t y, or q_t for y and -q_t for its rival. */
static void run(block *k) {
    size_t H = k->v->H, width = k->v->width;
    find_tau(k);
    double margins[8 * L];
    surety_robust_out out = {k->evens, k->odds, k->low, margins, k->rival};
    surety_robust_forward(k->robust, k->rows, L, k->q, k->y, &out, k->scratch);
    for (size_t t = 0; t < H; t++)
        for (size_t i = 0; i < L; i++) {
            float *a = k->a + t * width * L + i;
            if (width == 1)
                *a = (float)(surety_sign(k->y[i]) * k->q[t]);
            else
                a[k->y[i] * L] = (float)k->q[t], a[k->rival[i] * L] = (float)-k->q[t];
        }
    surety_robust_terms(k->robust, k->a, L, k->g, k->g_even, k->g_odd, k->scratch);
    k->v->kind->gradient_sum(k->v, k->g, k->rows, L, 0, H, k->gradients);
    surety_robust_rows through = {k->g_even, k->g_odd, (const float *const *)k->evens,
                                  (const float *const *)k->odds, L};
    surety_robust_sum(k->robust, &through, 0, H, k->gradients, k->room);
}

static double loss(const block *k, size_t t) {
    double sum = 0;
    for (size_t i = 0; i < L; i++)
        sum += k->q[t] * output(&k->twin, t, k->rows[i], (pair){k->y[i], k->rival[i]});
    return sum;
}

/* No other class has a smaller sum. */
static void rivals_are_nearest(const block *k) {
    for (size_t i = 0; i < L; i++) {
        double least = HUGE_VAL, found = 0;
        for (size_t c = 0; c < k->v->classes; c++) {
            double sum = 0;
            if (c == k->y[i]) continue;
            for (size_t t = 0; t < k->v->H; t++)
                sum += k->q[t] * output(&k->twin, t, k->rows[i], (pair){k->y[i], (uint8_t)c});
            least = fmin(least, sum);
            if (c == k->rival[i]) found = sum;
        }
        check(k->rival[i] != k->y[i] && found < least + 1e-4, "rival %d: %.9g, least %.9g", k->rival[i],
              found, least);
    }
}

static void outputs_agree_with_the_twin(void **state) {
    (void)state;
    draw r = {1};
    for (long round = 0; round < check_count(150, 5000); round++) {
        block k;
        fill(&k, &r, (surety_norm)(round % 3), round % 4 > 0);
        run(&k);
        for (size_t t = 0; t < k.v->H; t++)
            for (size_t i = 0; i < L; i++) {
                double want = output(&k.twin, t, k.rows[i], (pair){k.y[i], k.rival[i]}),
                       got = (double)k.low[t * L + i];
                check(fabs(got - want) < 2e-5, "%s: %.9g, twin %.9g", surety_norm_name(k.twin.ball.norm), got,
                      want);
            }
        rivals_are_nearest(&k);
        empty(&k);
    }
}

/* 1 if l2 leaves some example hardly any room on a side of this split: the program takes the root of a
 * difference of two sums there, and near 0 that has no digits. */
static int has_no_room(const block *k, size_t row) {
    double most = 0, least = HUGE_VAL;
    if (k->twin.ball.norm != SURETY_L2) return 0;
    for (size_t i = 0; i < 2 * L; i++) {
        double room = support(&k->twin, row, k->rows[i / 2], i % 2 ? 1 : -1);
        most = fmax(most, room), least = fmin(least, room);
    }
    return least < 0.03 * most;
}

/* Central differences. Where a kink (a weight near 0 or tau, a change of the worst end) lies within the step,
 * the two sides differ: those probes are left out, and few may be. */
static void gradients_agree_with_differences(void **state) {
    (void)state;
    draw r = {2};
    long probes = 0, kinks = 0;
    for (long round = 0; round < check_count(90, 3000); round++) {
        block k;
        fill(&k, &r, (surety_norm)(round % 3), round % 4 > 0);
        run(&k);
        for (size_t i = 0; i < k.v->tensor_count; i++) {
            const surety_tensor *tensor = &k.v->tensors[i];
            for (int n = 0; n < 12; n++, probes++) {
                size_t row = draw_size(&r, 0, tensor->rows - 1),
                       at = row * tensor->stride + draw_size(&r, 0, tensor->length - 1);
                size_t each = tensor->rows * tensor->length / k.v->H;
                size_t t = (row * tensor->length + at % tensor->stride) / each;
                if (tensor->mask && !tensor->mask[at]) {
                    check(k.gradients[i][at] == 0, "a masked weight moves");
                    continue;
                }
                double *where = &k.twin.parameters[i][at], value = *where, s = 1e-5, F = loss(&k, t);
                *where = value + s;
                double above = (loss(&k, t) - F) / s;
                *where = value - s;
                double below = (F - loss(&k, t)) / s, got = (double)k.gradients[i][at];
                *where = value;
                if (fabs(above - below) > 1e-3 * (1 + fabs(above)) || (i == 0 && has_no_room(&k, row))) {
                    kinks++;
                    continue;
                }
                check(fabs(got - (above + below) / 2) < 1e-3 * (1 + fabs(above)),
                      "%s, %s: %.6g, differences %.6g", surety_norm_name(k.twin.ball.norm), tensor->name, got,
                      (above + below) / 2);
            }
        }
        empty(&k);
    }
    check(kinks * 20 < probes, "%ld kinks in %ld probes", kinks, probes);
}

static void for_linf_it_is_the_range(void **state) {
    (void)state;
    draw r = {3};
    for (long round = 0; round < check_count(50, 2000); round++) {
        surety_error err = SURETY_ERROR_NONE;
        block k;
        fill(&k, &r, SURETY_LINF, round % 4 > 0);
        run(&k);
        surety_range *range;
        double radius[L];
        size_t others = k.v->classes - 1;
        float *low = floats(k.v->H * others * L);
        for (size_t i = 0; i < L; i++) radius[i] = k.twin.ball.radius;
        check_ok(surety_range_new(&range, k.v, &k.twin.ball, 0, &err));
        surety_range_run(range, k.rows, L, radius, k.y, low);
        for (size_t n = 0; n < k.v->H * L; n++) {
            size_t row = n % L, at = others == 1 ? 0 : k.rival[row] - (k.rival[row] > k.y[row]);
            double limit = (double)low[(n / L * others + at) * L + row], got = (double)k.low[n];
            check(fabs(limit - got) < 3e-4 && got - limit > -1e-6, "%.9g, limit %.9g", got, limit);
        }
        surety_range_free(range);
        surety_free(low);
        empty(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_agree_with_the_twin),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(for_linf_it_is_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
