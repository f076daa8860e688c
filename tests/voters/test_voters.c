/* voters: the fast way against a naive twin in double, gradients against central differences, votes against a
 * plain loop; the same bits whoever the neighbours are, at every level with FMA and for any number of
 * threads.
 */
#include "check.h"

#include <math.h>
#include <unistd.h>

#include "base/parallel.h"
#include "draw.h"
#include "levels.h"
#include "spread.h"
#include "voters/forest_kernel.h"
#include "voters/kind.h"

/* ---- the twin: tree by tree, node by node, in double, from the public tensors ---- */

typedef struct twin_answer {
    double h;
    double slack; /* what rounding may do to the float program */
} twin_answer;

/* Output k of a softmax of K numbers in float: off by (K + 8) 2^-24 of itself; or tanh(u). */
static twin_answer score(const double *u, size_t K, size_t k) {
    if (K == 1) return (twin_answer){tanh(u[0]), 0x1p-22};
    double most = u[0], sum = 0;
    for (size_t l = 1; l < K; l++) most = fmax(most, u[l]);
    for (size_t l = 0; l < K; l++) sum += exp(u[l] - most);
    return (twin_answer){exp(u[k] - most) / sum, (double)(K + 8) * 0x1p-24};
}

/* z of row i of W, off by at most (d + 2) 2^-24 (sum |w x| + |c|) in float. */
static twin_answer argument(const surety_voters *v, size_t i, const float *x) {
    const surety_tensor w = surety_voters_tensor(v, 0), c = surety_voters_tensor(v, 1);
    size_t d = surety_voters_features(v);
    double z = (double)c.values[i], size = fabs(z);
    for (size_t j = 0; j < d; j++) {
        z += (double)w.values[i * w.stride + j] * (double)x[j];
        size += fabs((double)w.values[i * w.stride + j] * (double)x[j]);
    }
    return (twin_answer){z, 0x1p-24 * (double)(d + 2) * size};
}

/* Value k of node i of tree t: p is off by a quarter of what its argument is and a few ulp, f by the sum of
 * both times the spread (at most 2) at every level. */
static twin_answer node(const surety_voters *v, const float *x, size_t t, size_t k, size_t i) {
    size_t I = ((size_t)1 << surety_voters_depth(v)) - 1, K = v->width;
    if (i >= I) {
        double u[SURETY_CLASSES_MOST];
        const float *leaf = surety_voters_tensor(v, 2).values + (t * (I + 1) + i - I) * K;
        for (size_t l = 0; l < K; l++) u[l] = (double)leaf[l];
        return score(u, K, k);
    }
    twin_answer z = argument(v, t * I + i, x);
    twin_answer left = node(v, x, t, k, 2 * i + 1), right = node(v, x, t, k, 2 * i + 2);
    double p = 1 / (1 + exp(-z.h)), slack = z.slack / 4 + 0x1p-21;
    return (twin_answer){p * left.h + (1 - p) * right.h, fmax(left.slack, right.slack) + 2 * slack};
}

/* Output k of voter t. A softmax moves by at most half of what its arguments move by. */
static twin_answer twin(const surety_voters *v, const float *x, size_t t, size_t k) {
    if (surety_voters_depth(v)) return node(v, x, t, k, 0);
    double z[SURETY_CLASSES_MOST], most = 0;
    for (size_t l = 0; l < v->width; l++) {
        twin_answer a = argument(v, t * v->width + l, x);
        z[l] = a.h, most = fmax(most, a.slack);
    }
    twin_answer h = score(z, v->width, k);
    return (twin_answer){h.h, h.slack + most + 0x1p-22};
}

/* ---- random voters ---- */

/* Any kind, shape and number of classes, half of the time two; the parameters drawn by the library, then
 * spread so that splits saturate here and there. */
static surety_voters *random_voters(draw *r, size_t most_depth, size_t most_d) {
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    size_t d = draw_size(r, 1, most_d), H = draw_size(r, 1, 40),
           K = draw_size(r, 0, 1) ? 2 : draw_size(r, 3, 12);
    double spread = draw_real(r, 0, 1) < 0.5 ? 1 : draw_real(r, 1, 8);
    if (draw_size(r, 0, 3) == 0) {
        spread = sqrt(spread); /* if all of them saturate, differences of the twin have no digits left */
        check_ok(surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = H, .classes = K}, d,
                                   draw_bits(r) >> 1, &v, &err));
    } else {
        surety_voters_settings s = {.kind = "soft-forest",
                                    .count = H,
                                    .depth = draw_size(r, 1, most_depth),
                                    .mask = draw_real(r, 0, 0.9),
                                    .classes = K};
        check_ok(surety_voters_new(&s, d, draw_bits(r) >> 1, &v, &err));
    }
    spread_parameters(r, v, spread);
    return v;
}

/* (m, stride) with values around 0.5 and zeros behind d. */
static float *random_rows(draw *r, size_t m, size_t d, size_t stride) {
    surety_error err = SURETY_ERROR_NONE;
    float *x = NULL;
    check_ok(surety_alloc(&x, m * stride, sizeof *x, &err));
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < d; j++) x[i * stride + j] = (float)(0.5 + draw_normal(r));
    return x;
}

/* How many outputs all voters have together. */
static size_t outputs_of(const surety_voters *v) {
    return v->H * v->width;
}

static void outputs_agree_with_the_twin(void **state) {
    (void)state;
    draw r = {1};
    for (long round = 0; round < check_count(60, 1500); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = random_voters(&r, 8, 100);
        size_t H = outputs_of(v), d = surety_voters_features(v), m = draw_size(&r, 1, 40);
        size_t stride = d + draw_size(&r, 0, 3); /* any stride, no padding, no alignment */
        float *x = random_rows(&r, m, d, stride), *h = malloc(m * H * sizeof *h);
        check_ok(surety_voters_outputs(v, x, stride, m, h, NULL, &err));
        for (size_t i = 0; i < m; i++)
            for (size_t t = 0; t < H; t++) {
                twin_answer want = twin(v, x + i * stride, t / v->width, t % v->width);
                double got = (double)h[i * H + t], least = v->width == 1 ? -1 : 0;
                check(fabs(got - want.h) <= want.slack && got >= least && got <= 1,
                      "%s d %zu K %zu: %.9g, twin %.9g +- %.2g", surety_voters_kind(v), d, v->classes, got,
                      want.h, want.slack);
            }
        free(h);
        surety_free(x);
        surety_voters_free(v);
    }
}

/* ---- neighbours ---- */

typedef struct block {
    const float *x[SURETY_LANES];
    float *gx[SURETY_LANES];
    float *h, *a, *g, *scratch, *gradient_rows;
} block;

static block block_new(const surety_voters *v) {
    surety_error err = SURETY_ERROR_NONE;
    block b;
    check_ok(surety_alloc(&b.h, outputs_of(v) * SURETY_LANES, sizeof(float), &err));
    check_ok(surety_alloc(&b.a, outputs_of(v) * SURETY_LANES, sizeof(float), &err));
    check_ok(surety_alloc(&b.g, SURETY_LANES * v->kind->terms(v), sizeof(float), &err));
    check_ok(surety_alloc(&b.scratch, v->kind->scratch(v), sizeof(float), &err));
    check_ok(surety_alloc(&b.gradient_rows, SURETY_LANES * surety_padded(v->d), sizeof(float), &err));
    for (size_t i = 0; i < SURETY_LANES; i++) b.gx[i] = b.gradient_rows + i * surety_padded(v->d);
    return b;
}

static void block_free(block *b) {
    surety_free(b->h), surety_free(b->a), surety_free(b->g), surety_free(b->scratch);
    surety_free(b->gradient_rows);
}

/* A row's weights a_tk: any, but the same wherever the row is. */
static void ask_rows(const surety_voters *v, block *b, const float *x, size_t stride, const size_t *rows,
                     size_t count, const float *weights) {
    size_t H = outputs_of(v);
    for (size_t i = 0; i < count; i++) {
        b->x[i] = x + rows[i] * stride;
        for (size_t t = 0; t < H; t++) b->a[t * SURETY_LANES + i] = weights[rows[i] * H + t];
    }
    v->kind->forward(v, b->x, count, b->h, b->scratch);
    v->kind->gradient_input(v, b->a, count, NULL, &(surety_gradient_use){.out = b->gx}, b->scratch);
    v->kind->gradient_terms(v, b->a, count, b->g, b->scratch);
}

/* Outputs, gradients to the input and terms of a row have the same bits alone, among any subset of others and
 * in any lane. */
static void a_row_never_sees_its_neighbours(void **state) {
    (void)state;
    draw r = {2};
    for (long round = 0; round < check_count(40, 800); round++) {
        surety_voters *v = random_voters(&r, 6, 100);
        size_t stride = surety_padded(v->d), terms = v->kind->terms(v);
        float *x = random_rows(&r, SURETY_LANES, v->d, stride),
              *weights = random_rows(&r, SURETY_LANES, outputs_of(v), outputs_of(v));
        block alone = block_new(v), among = block_new(v);
        size_t rows[SURETY_LANES], count = draw_size(&r, 1, SURETY_LANES);
        for (size_t i = 0; i < count; i++) rows[i] = draw_size(&r, 0, SURETY_LANES - 1);
        ask_rows(v, &among, x, stride, rows, count, weights);
        for (size_t i = 0; i < count; i++) {
            ask_rows(v, &alone, x, stride, &rows[i], 1, weights);
            for (size_t t = 0; t < outputs_of(v); t++)
                assert_memory_equal(&alone.h[t * SURETY_LANES], &among.h[t * SURETY_LANES + i],
                                    sizeof(float));
            assert_memory_equal(alone.gx[0], among.gx[i], v->d * sizeof(float));
            /* terms: pads between and behind the parts are nobody's */
            for (size_t k = 0; k < v->tensors[1].length; k++)
                assert_memory_equal(&alone.g[k], &among.g[i * terms + k], sizeof(float));
        }
        block_free(&alone), block_free(&among);
        surety_free(x), surety_free(weights);
        surety_voters_free(v);
    }
}

/* ---- gradients ---- */

static void gradients_agree_with_differences(void **state) {
    (void)state;
    draw r = {3};
    double most = 0;
    for (long round = 0; round < check_count(40, 600); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = random_voters(&r, 8, 100);
        double worst;
        check_ok(surety_voters_check_gradient(v, draw_bits(&r) >> 1, &worst, &err));
        /* the float gradient's own rounding: a sum over up to 255 x 40 splits and 100 features */
        check(worst < 2e-5, "%s H %zu depth %zu d %zu K %zu: error %g", surety_voters_kind(v), v->H, v->depth,
              v->d, v->classes, worst);
        most = fmax(most, worst);
        surety_voters_free(v);
    }
    print_message("# largest error of a gradient: %.2g\n", most);
}

/* The routine's own twin is the test's. */
static void the_library_twin_is_the_twin(void **state) {
    (void)state;
    draw r = {4};
    for (long round = 0; round < check_count(40, 400); round++) {
        surety_voters *v = random_voters(&r, 8, 60);
        float *x = random_rows(&r, 1, v->d, v->d);
        double *parameters[SURETY_TENSORS] = {NULL}, *point = malloc(v->d * sizeof *point);
        for (size_t j = 0; j < v->d; j++) point[j] = (double)x[j];
        for (size_t k = 0; k < v->tensor_count; k++) {
            size_t count = v->tensors[k].rows * v->tensors[k].stride;
            parameters[k] = malloc(count * sizeof(double));
            for (size_t i = 0; i < count; i++) parameters[k][i] = (double)v->tensors[k].values[i];
        }
        for (size_t n = 0; n < outputs_of(v); n++) {
            size_t t = n / v->width, k = n % v->width;
            double other = v->kind->twin(v, (const double *const *)parameters, point, t, k);
            check_that(fabs(other - twin(v, x, t, k).h), <, 1e-12);
        }
        for (size_t k = 0; k < v->tensor_count; k++) free(parameters[k]);
        free(point);
        surety_free(x);
        surety_voters_free(v);
    }
}

/* Where a voter is saturated its gradient is tiny, but an attack still follows it: it has full relative
 * accuracy on both sides. One feature, w = 1: dh/dx = 4 e/(1 + e)^2, e = exp(-2|z|), for a linear voter;
 * (s_left - s_right) e/(1 + e)^2, e = exp(-|z|), for a tree of depth 1. */
static void saturated_gradients_are_accurate(void **state) {
    (void)state;
    for (int forest = 0; forest < 2; forest++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = NULL;
        if (forest)
            check_ok(surety_forest_empty(&v, 1, 1, 1, 2, &err));
        else
            check_ok(surety_linear_empty(&v, 1, 1, 2, &err));
        v->tensors[0].values[0] = 1;
        if (forest) v->tensors[2].values[0] = 1, v->tensors[2].values[1] = -2;
        surety_voters_changed(v);
        block b = block_new(v);
        float row[16] = {0}, one = 1;
        for (int z = -40; z <= 40; z++) {
            row[0] = (float)z;
            ask_rows(v, &b, row, 16, (const size_t[]){0}, 1, &one);
            double e = exp((forest ? -1. : -2.) * abs(z)), slope = e / ((1 + e) * (1 + e));
            double want = forest ? (tanh(1) + tanh(2)) * slope : 4 * slope;
            check(fabs((double)b.gx[0][0] - want) <= 1e-6 * want, "z %d: %g, not %g", z, (double)b.gx[0][0],
                  want);
        }
        block_free(&b);
        surety_voters_free(v);
    }
}

/* The same for linear voters of three classes, arguments x, -x and 0 and sum_k a_k h_k: its derivative is
 * sum_kl a_k h_k h_l (s_k - s_l), s being the slopes of the arguments. */
static void saturated_scores_have_accurate_gradients(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    const double slope[3] = {1, -1, 0};
    const float a[][3] = {{-1, 1, 0}, {1, -1, 0}, {-1, 0, 1}, {0, 1, -1}};
    check_ok(surety_linear_empty(&v, 1, 1, 3, &err));
    for (size_t k = 0; k < 3; k++) v->tensors[0].values[k * v->tensors[0].stride] = (float)slope[k];
    surety_voters_changed(v);
    block b = block_new(v);
    float row[16] = {0};
    for (int x = -40; x <= 40; x++)
        for (size_t n = 0; n < 4; n++) {
            double h[3], sum = exp(x) + exp(-x) + 1, want = 0, size = 0;
            for (size_t k = 0; k < 3; k++) h[k] = exp(slope[k] * x) / sum;
            for (size_t k = 0; k < 9; k++) {
                double term = (double)a[n][k / 3] * h[k / 3] * h[k % 3] * (slope[k / 3] - slope[k % 3]);
                want += term, size += fabs(term);
            }
            row[0] = (float)x;
            ask_rows(v, &b, row, 16, (const size_t[]){0}, 1, a[n]);
            check(fabs((double)b.gx[0][0] - want) <= 2e-6 * size, "x %d: %g, not %g", x, (double)b.gx[0][0],
                  want);
        }
    block_free(&b);
    surety_voters_free(v);
}

/* Planted bugs: one wrong number among many is seen. */
static const surety_voter_kind *honest;
static void wrong_input(const surety_voters *v, const float *a, size_t rows, const int *keep,
                        const surety_gradient_use *use, float *scratch) {
    honest->gradient_input(v, a, rows, keep, use, scratch);
    for (size_t j = 0; j < v->d; j++) use->out[rows - 1][j] *= 1.1f;
}
static void wrong_terms(const surety_voters *v, const float *a, size_t rows, float *g, float *scratch) {
    honest->gradient_terms(v, a, rows, g, scratch);
    for (size_t i = 0; i < v->tensors[1].length; i++) g[(rows - 1) * v->kind->terms(v) + i] *= 0.9f;
}
static void wrong_sum(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                      size_t first, size_t end, float *const *gradients) {
    honest->gradient_sum(v, g, x, rows, first, end, gradients);
    for (size_t i = 0; i < v->tensors[v->tensor_count - 1].length; i++)
        gradients[v->tensor_count - 1][i] *= 1.1f;
}
static void not_a_number(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                         size_t first, size_t end, float *const *gradients) {
    honest->gradient_sum(v, g, x, rows, first, end, gradients);
    for (size_t i = 0; i < v->tensors[1].length; i++) gradients[1][i] = NAN;
}

static void planted_bugs_are_seen(void **state) {
    (void)state;
    draw r = {5};
    for (int round = 0; round < 20; round++) {
        surety_voters *v = random_voters(&r, 3, 20);
        honest = v->kind;
        surety_voter_kind bugs[4] = {*honest, *honest, *honest, *honest};
        bugs[0].gradient_input = wrong_input;
        bugs[1].gradient_terms = wrong_terms;
        bugs[2].gradient_sum = wrong_sum;
        bugs[3].gradient_sum = not_a_number;
        for (int k = 0; k < 4; k++) {
            surety_error err = SURETY_ERROR_NONE;
            double worst;
            v->kind = &bugs[k];
            check_ok(surety_voters_check_gradient(v, 7, &worst, &err));
            v->kind = honest;
            check(worst > 2e-4, "bug %d in %s goes unseen: %g", k, honest->name, worst);
        }
        surety_voters_free(v);
    }
}

/* Any split of the voters into slices gives the bits of the whole; masked weights get exactly 0; the sum over
 * no rows is 0. */
static void slices_of_the_gradient(void **state) {
    (void)state;
    draw r = {6};
    for (long round = 0; round < check_count(30, 300); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = random_voters(&r, 4, 50);
        size_t stride = surety_padded(v->d), m = draw_size(&r, 0, 70), terms = v->kind->terms(v);
        float *x = random_rows(&r, m, v->d, stride), *g = random_rows(&r, m, terms, terms);
        const float *rows[70] = {NULL};
        float *whole[SURETY_TENSORS], *parts[SURETY_TENSORS];
        for (size_t i = 0; i < m; i++) rows[i] = x + i * stride;
        for (size_t k = 0; k < v->tensor_count; k++) {
            size_t count = v->tensors[k].rows * v->tensors[k].stride;
            check_ok(surety_alloc(&whole[k], count, sizeof(float), &err));
            check_ok(surety_alloc(&parts[k], count, sizeof(float), &err));
            for (size_t i = 0; i < v->tensors[k].rows; i++) /* whatever was there is gone */
                for (size_t j = 0; j < v->tensors[k].length; j++) whole[k][i * v->tensors[k].stride + j] = 5;
        }
        v->kind->gradient_sum(v, g, rows, m, 0, v->H, whole);
        for (size_t first = 0, end; first < v->H; first = end) {
            end = first + draw_size(&r, 1, v->H - first);
            v->kind->gradient_sum(v, g, rows, m, first, end, parts);
        }
        for (size_t k = 0; k < v->tensor_count; k++) {
            const surety_tensor *t = &v->tensors[k];
            for (size_t i = 0; i < t->rows; i++)
                for (size_t j = 0; j < t->length; j++) {
                    size_t at = i * t->stride + j;
                    assert_memory_equal(&whole[k][at], &parts[k][at], sizeof(float));
                    if (t->mask && !t->mask[at]) check_that(whole[k][at], ==, 0);
                    if (!m) check_that(whole[k][at], ==, 0);
                }
            surety_free(whole[k]), surety_free(parts[k]);
        }
        surety_free(x), surety_free(g);
        surety_voters_free(v);
    }
}

/* ---- votes ---- */

/* The votes of a row: of two classes sum q h or of its sign; else of every class sum q s_k, or the shares of
 * the labels, a tied voter's in K equal parts. */
static void naive_votes(const float *h, const double *q, size_t H, size_t K, int sign, double *sums) {
    for (size_t k = 0; k < K; k++) sums[k] = 0;
    for (size_t t = 0; t < H; t++) {
        size_t top = 0, tops = 0;
        for (size_t k = 0; k < K; k++) top = h[t * K + k] > h[t * K + top] ? k : top;
        for (size_t k = 0; k < K; k++) tops += h[t * K + k] == h[t * K + top];
        for (size_t k = 0; k < K; k++) {
            double value = (double)h[t * K + k];
            if (sign && K == 1) value = value > 0 ? 1 : value < 0 ? -1 : 0;
            if (sign && K > 1) value = tops > 1 ? (double)(1 / (float)K) : k == top;
            sums[k] += q[t] * value;
        }
    }
    for (size_t k = 0; k < K; k++) sums[k] = fmin(1, fmax(-1, sums[k]));
}

static void votes_are_sums_in_voter_order(void **state) {
    (void)state;
    draw r = {7};
    for (long round = 0; round < check_count(60, 1000); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = random_voters(&r, 3, 40);
        size_t m = draw_size(&r, 1, 40), K = v->width;
        float *x = random_rows(&r, m, v->d, v->d), *h = malloc(m * outputs_of(v) * sizeof *h);
        double *q = malloc(v->H * sizeof *q), total = 0, *votes = malloc(m * K * sizeof *votes);
        for (size_t t = 0; t < v->H; t++) total += q[t] = draw_real(&r, 0, 1);
        for (size_t t = 0; t < v->H; t++) q[t] /= total;
        check_ok(surety_voters_outputs(v, x, v->d, m, h, NULL, &err));
        for (int set = SURETY_SIGNED; set <= SURETY_REAL; set++) {
            surety_vote vote = {v, q, (surety_voter_set)set};
            check_ok(surety_vote_predict(&vote, x, v->d, m, votes, NULL, &err));
            for (size_t i = 0; i < m; i++) {
                double sums[12];
                naive_votes(h + i * outputs_of(v), q, v->H, K, set == SURETY_SIGNED, sums);
                assert_memory_equal(sums, votes + i * K, K * sizeof *sums);
            }
        }
        free(h), free(q), free(votes);
        surety_free(x);
        surety_voters_free(v);
    }
}

/* Voters with known outputs: linear voters without weights, h_t = tanh(c_t). */
static surety_voters *constant_voters(const float *c, size_t H) {
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    check_ok(surety_linear_empty(&v, H, 1, 2, &err));
    for (size_t t = 0; t < H; t++) v->tensors[1].values[t] = c[t];
    surety_voters_changed(v);
    return v;
}

static double vote_of(const float *c, const double *q, size_t H, surety_voter_set set) {
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = constant_voters(c, H);
    surety_vote vote = {v, q, set};
    double value;
    check_ok(surety_vote_predict(&vote, (const float[]){0}, 1, 1, &value, NULL, &err));
    surety_voters_free(v);
    return value;
}

static void ties_are_exactly_zero(void **state) {
    (void)state;
    const double half[] = {0.5, 0.5}, quarter[] = {0.5, 0.25, 0.25};
    check_that(vote_of((const float[]){2, -2}, half, 2, SURETY_REAL), ==, 0);
    check_that(vote_of((const float[]){2, -1e-6f}, half, 2, SURETY_SIGNED), ==, 0);
    check_that(vote_of((const float[]){2, -1, -3}, quarter, 3, SURETY_SIGNED), ==, 0);
    check_that(vote_of((const float[]){0, 0}, half, 2, SURETY_SIGNED), ==, 0); /* sign(0) = 0 */
    check_that(vote_of((const float[]){0, 1}, half, 2, SURETY_SIGNED), ==, 0.5);
    check_that(vote_of((const float[]){-0.f, -1}, half, 2, SURETY_SIGNED), ==, -0.5);
    check_that(vote_of((const float[]){1e-30f, 1e-30f}, half, 2, SURETY_SIGNED), ==, 1);
    check_that(vote_of((const float[]){90, 90}, half, 2, SURETY_REAL), ==, 1);
}

/* Without fma an argument can overflow both ways. It is not a number then, and neither is the vote: nothing
 * is repaired, at any level. */
static void not_a_number_stays_visible(void **state) {
    (void)state;
    for (int level = SURETY_GENERIC; level <= (int)surety_cpu_highest(); level++) {
        const surety_forest_kernels *k = surety_forest_kernels_at((surety_level)level);
        float z[16] = {NAN, 1}, scores[4] = {0.5f, -0.5f, 1, -1}, p[4 * SURETY_LANES], h[2 * SURETY_LANES],
              s[2 * SURETY_LANES];
        double votes[SURETY_LANES], real[SURETY_LANES], half[] = {0.5, 0.5};
        for (int forest = 0; forest < 2; forest++) {
            memset(p, 0, sizeof p), memset(h, 0, sizeof h);
            if (forest)
                k->forward(&(surety_forest){2, 1, 1, scores}, z, 16, 1, p, h);
            else
                k->tanh_lanes(z, 16, 1, 2, h, s);
            check_is(isnan, h[0]);
            check_that(h[SURETY_LANES], >, 0);
            for (int set = SURETY_SIGNED; set <= SURETY_REAL; set++) {
                k->vote(h, half, 2, (surety_voter_set)set, votes, real);
                check_is(isnan, votes[0]);
                assert_true(!isnan(votes[1]));
                check_is(isnan, real[0]);
                assert_true(!isnan(real[1]));
            }
        }
    }
}

/* Of three classes: all scores of a voter are gone where one argument is, and only they. */
static void not_a_number_among_scores(void **state) {
    (void)state;
    for (int level = SURETY_GENERIC; level <= (int)surety_cpu_highest(); level++)
        for (int bad = 0; bad < 3; bad++) {
            const surety_forest_kernels *k = surety_forest_kernels_at((surety_level)level);
            float z[16] = {1, 2, 3, 1, 2, 3}, scores[2 * 3 * 4] = {0}, p[12 * SURETY_LANES],
                  h[6 * SURETY_LANES];
            for (size_t n = 0; n < 24; n++) scores[n] = (float)(n % 3 + 1) / 6;
            z[bad] = NAN;
            for (int forest = 0; forest < 2; forest++) {
                memset(h, 0, sizeof h);
                if (forest)
                    k->forward(&(surety_forest){2, 2, 3, scores}, z, 16, 1, p, h);
                else
                    k->softmax_lanes(z, 16, 1, 2, 3, h);
                for (size_t n = 0; n < 6; n++)
                    check(isnan(h[n * SURETY_LANES]) == (n < 3), "level %d, forest %d, output %zu: %g", level,
                          forest, n, (double)h[n * SURETY_LANES]);
            }
        }
}

/* ---- threads and levels ---- */

/* FNV-1a over outputs, votes and gradients of a fixed set of voters and rows. */
static uint64_t digest_add(uint64_t digest, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static uint64_t digest_everything(int threads) {
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    draw r = {8};
    for (int round = 0; round < 20; round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_run run = {.threads = threads};
        surety_voters *v = random_voters(&r, 5, 100);
        size_t m = draw_size(&r, 1, 200), stride = surety_padded(v->d);
        float *x = random_rows(&r, m, v->d, stride), *h = malloc(m * outputs_of(v) * sizeof *h);
        float *weights = random_rows(&r, SURETY_LANES, outputs_of(v), outputs_of(v));
        double *q = malloc(v->H * sizeof *q), *votes = malloc(m * v->width * sizeof *votes);
        for (size_t t = 0; t < v->H; t++) q[t] = 1. / (double)v->H;
        surety_vote vote = {v, q, SURETY_REAL};
        check_ok(surety_voters_outputs(v, x, stride, m, h, &run, &err));
        check_ok(surety_vote_predict(&vote, x, stride, m, votes, &run, &err));
        digest = digest_add(digest, h, m * outputs_of(v) * sizeof *h);
        digest = digest_add(digest, votes, m * v->width * sizeof *votes);
        block b = block_new(v);
        size_t rows[SURETY_LANES], count = m < SURETY_LANES ? m : SURETY_LANES;
        for (size_t i = 0; i < count; i++) rows[i] = i;
        ask_rows(v, &b, x, stride, rows, count, weights);
        for (size_t i = 0; i < count; i++) digest = digest_add(digest, b.gx[i], v->d * sizeof(float));
        block_free(&b);
        free(h), free(q), free(votes);
        surety_free(x), surety_free(weights);
        surety_voters_free(v);
    }
    return digest;
}

static void same_bits_for_any_number_of_threads(void **state) {
    (void)state;
    const int threads[] = {1, 2, 3, 7};
    uint64_t first = digest_everything(1);
    for (int i = 0; i < 4; i++) check_that(digest_everything(threads[i]), ==, first);
}

enum { GH = 3, GDEPTH = 3, GI = 7, GJ = 8, GK = 5, GLD = 128 };

/* What the kernels between the products give at one level. */
typedef struct between {
    float p[2 * GH * GI * SURETY_LANES], h[GH * GK * SURETY_LANES], soft[GH * GK * SURETY_LANES];
    float dz[SURETY_LANES * GLD], ds[SURETY_LANES * GLD], dsoft[SURETY_LANES * GLD];
    float lanes[GH * (GI + GJ * GK) * SURETY_LANES];
} between;

static void run_level(surety_level level, size_t width, const float *z, const float *scores, const float *a,
                      between *out) {
    const surety_forest_kernels *k = surety_forest_kernels_at(level);
    surety_forest forest = {GH, GDEPTH, width, scores};
    k->forward(&forest, z, GLD, SURETY_LANES, out->p, out->h);
    k->backward(&forest, out->p, a, SURETY_LANES,
                &(surety_forest_slopes){out->dz, GLD, out->ds, GLD, out->lanes});
    k->softmax_lanes(z, GLD, SURETY_LANES, GH, GK, out->soft);
    k->softmax_backward(out->soft, a, SURETY_LANES, GH, GK, out->dsoft, GLD);
}

/* generic has no fma: the kernels between the products agree up to rounding. */
static void generic_agrees_up_to_rounding(void **state) {
    (void)state;
    draw r = {9};
    static between best, generic;
    for (int round = 0; round < 200; round++) {
        size_t width = round % 2 ? GK : 1;
        float z[SURETY_LANES * GLD], scores[GH * GK * GJ], a[GH * GK * SURETY_LANES];
        for (size_t i = 0; i < SURETY_LANES * GLD; i++) z[i] = (float)(3 * draw_normal(&r));
        for (size_t i = 0; i < GH * GK * GJ; i++)
            scores[i] = (float)(width == 1 ? tanh(draw_normal(&r)) : draw_real(&r, 0, 1));
        for (size_t i = 0; i < GH * GK * SURETY_LANES; i++) a[i] = (float)draw_normal(&r);
        run_level(surety_cpu_highest(), width, z, scores, a, &best);
        run_level(SURETY_GENERIC, width, z, scores, a, &generic);
        for (size_t i = 0; i < GH * width * SURETY_LANES; i++)
            check_that(fabsf(best.h[i] - generic.h[i]), <, 1e-6f);
        for (size_t i = 0; i < GH * GK * SURETY_LANES; i++)
            check_that(fabsf(best.soft[i] - generic.soft[i]), <, 1e-6f);
        for (size_t i = 0; i < SURETY_LANES * GLD; i++) {
            size_t k = i % GLD;
            if (k < GH * GI) check_that(fabsf(best.dz[i] - generic.dz[i]), <, 3e-6f);
            if (k < GH * GJ * width) check_that(fabsf(best.ds[i] - generic.ds[i]), <, 3e-6f);
            if (k < GH * GK) check_that(fabsf(best.dsoft[i] - generic.dsoft[i]), <, 3e-6f);
        }
    }
}

/* ---- making ---- */

/* Weights ~ N(0, 2/(d + I)) where the mask lets them be, leaves ~ N(0, 2/(1 + 2^l)), biases 0, a feature is
 * masked with the given probability; moments within 5 standard errors. */
static void new_forests_are_glorot_normal(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_voters_settings s = {.kind = "soft-forest", .count = 400, .depth = 3, .mask = 0.3};
    size_t d = 77, I = 7, J = 8;
    surety_voters *v = NULL, *again = NULL, *other = NULL;
    check_ok(surety_voters_new(&s, d, 5, &v, &err));
    check_ok(surety_voters_new(&s, d, 5, &again, &err));
    check_ok(surety_voters_new(&s, d, 6, &other, &err));
    surety_tensor w = surety_voters_tensor(v, 0), u = surety_voters_tensor(v, 2);
    double kept = 0, sum = 0, squares = 0, leaves = 0;
    for (size_t i = 0; i < w.rows; i++)
        for (size_t j = 0; j < d; j++) {
            double value = (double)w.values[i * w.stride + j];
            if (!w.mask[i * w.stride + j]) check_that(value, ==, 0);
            kept += w.mask[i * w.stride + j];
            sum += value, squares += value * value;
        }
    for (size_t i = 0; i < u.length; i++) leaves += (double)u.values[i] * (double)u.values[i];
    for (size_t i = 0; i < 400 * I; i++) check_that(surety_voters_tensor(v, 1).values[i], ==, 0);
    double n = (double)(w.rows * d), variance = 2. / (double)(d + I);
    check_that(fabs(kept / n - 0.7), <, 5 * sqrt(0.21 / n));
    check_that(fabs(sum / kept), <, 5 * sqrt(variance / kept));
    check_that(fabs(squares / kept - variance), <, 5 * variance * sqrt(2 / kept));
    check_that(fabs(leaves / (double)u.length - 2. / (1 + (double)J)), <,
               5 * 2. / 9 * sqrt(2 / (double)u.length));
    assert_memory_equal(w.values, surety_voters_tensor(again, 0).values, w.rows * w.stride * sizeof(float));
    assert_memory_not_equal(w.values, surety_voters_tensor(other, 0).values,
                            w.rows * w.stride * sizeof(float));
    surety_voters_free(v), surety_voters_free(again), surety_voters_free(other);
}

static void wrong_settings_get_a_sentence(void **state) {
    (void)state;
    const struct {
        surety_voters_settings s;
        size_t d;
    } bad[] = {{{.kind = "soft-forest", .count = 0, .depth = 2, .mask = 0.5}, 4},
               {{.kind = "soft-forest", .count = 2000000, .depth = 2, .mask = 0.5}, 4},
               {{.kind = "soft-forest", .count = 5, .depth = 0, .mask = 0.5}, 4},
               {{.kind = "soft-forest", .count = 5, .depth = 9, .mask = 0.5}, 4},
               {{.kind = "soft-forest", .count = 5, .depth = 2, .mask = -0.1}, 4},
               {{.kind = "soft-forest", .count = 5, .depth = 2, .mask = 1}, 4},
               {{.kind = "soft-forest", .count = 5, .depth = 2, .mask = NAN}, 4},
               {{.kind = "soft-forest", .count = 5, .depth = 2, .mask = 0.5}, 0},
               {{.kind = "soft-forest", .count = 5, .depth = 2, .mask = 0.5}, SIZE_MAX},
               {{.kind = "soft-forest", .count = 5, .depth = 2, .mask = 0.5}, (size_t)1 << 60},
               {{.kind = "lipschitz", .count = 1}, 4},
               {{.kind = "lipschitz", .count = 1, .layers = {4, 5000}}, 4},
               {{.kind = "lipschitz", .count = 0, .layers = {4}}, 4},
               {{.kind = "lipschitz", .count = 1, .layers = {4}, .scale = 3}, 4},
               {{.kind = "lipschitz", .count = 1, .layers = {4}, .scale = -4}, 4},
               {{.kind = "lipschitz", .count = 1, .layers = {4}, .scale = 0x1p41}, 4},
               {{.kind = "lipschitz", .count = 1, .layers = {4}, .scale = NAN}, 4},
               {{.kind = "soft-forest", .count = 5, .depth = 2, .classes = 1}, 4},
               {{.kind = "soft-forest", .count = 5, .depth = 2, .classes = 256}, 4}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = NULL;
        assert_int_equal(surety_voters_new(&bad[i].s, bad[i].d, 0, &v, &err), SURETY_E_USAGE);
        assert_true(err.what[0]);
        assert_true(!v);
    }
    const size_t linear[][2] = {{0, 3}, {3, 0}, {2000000, 3}, {3, SIZE_MAX - 3}};
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = NULL;
        assert_int_equal(surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = linear[i][0]},
                                           linear[i][1], 0, &v, &err),
                         SURETY_E_USAGE);
        assert_true(err.what[0]);
        assert_true(!v);
    }
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    assert_int_equal(surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = 2}, 2,
                                       UINT64_C(1) << 63, &v, &err),
                     SURETY_E_USAGE);
    surety_norm norm;
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_norm_parse("l_2", &norm, &err), SURETY_E_USAGE);
    assert_non_null(strstr(err.what, "'l2'"));
}

/* Whichever allocation fails: an error, nothing lost (the sanitizer build would tell). */
static surety_status use_everything(surety_error *err) {
    surety_voters_settings s = {.kind = "soft-forest", .count = 3, .depth = 2, .mask = 0.5};
    surety_voters *forest = NULL, *linear = NULL;
    const float x[5] = {1, 2, 3, 4, 5};
    float h[3];
    double worst;
    surety_status status = surety_voters_new(&s, 5, 0, &forest, err);
    if (status == SURETY_OK)
        status =
            surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = 3}, 5, 0, &linear, err);
    if (status == SURETY_OK) status = surety_voters_outputs(forest, x, 5, 1, h, NULL, err);
    if (status == SURETY_OK) status = surety_voters_check_gradient(linear, 0, &worst, err);
    surety_voters_free(forest), surety_voters_free(linear);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    surety_status status = SURETY_E_MEMORY;
    for (int k = 0; status != SURETY_OK; k++) {
        surety_error err = SURETY_ERROR_NONE;
        long left = k;
        surety_memory_hook(check_fail_at, &left);
        status = use_everything(&err);
        surety_memory_hook(NULL, NULL);
        check(status == SURETY_OK || (status == SURETY_E_MEMORY && err.what[0]), "%s, '%s'",
              surety_status_name(status), err.what);
        check_that(k, <, 1000);
    }
}

static uint64_t digest(void) {
    return digest_everything(2);
}

int main(int argc, char **argv) {
    if (levels_begin(argc, argv, digest)) return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_agree_with_the_twin),
        cmocka_unit_test(a_row_never_sees_its_neighbours),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(the_library_twin_is_the_twin),
        cmocka_unit_test(saturated_gradients_are_accurate),
        cmocka_unit_test(saturated_scores_have_accurate_gradients),
        cmocka_unit_test(planted_bugs_are_seen),
        cmocka_unit_test(slices_of_the_gradient),
        cmocka_unit_test(votes_are_sums_in_voter_order),
        cmocka_unit_test(ties_are_exactly_zero),
        cmocka_unit_test(not_a_number_stays_visible),
        cmocka_unit_test(not_a_number_among_scores),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(same_bits_at_every_level_with_fma),
        cmocka_unit_test(generic_agrees_up_to_rounding),
        cmocka_unit_test(new_forests_are_glorot_normal),
        cmocka_unit_test(wrong_settings_get_a_sentence),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("voters", tests, NULL, NULL);
}
