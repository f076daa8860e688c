/* Networks that stretch no distance (docs/theory.md 11). Their limits over a ball against everything that
 * could show them to be wrong: points at random and wherever attacks lead, in the program's floats and
 * exactly (MPFR); a network that moves as far as the constant says; and mutants of the proof, each of which
 * must be caught. And no wider than the mathematics: the constant, and the formula for roundings, again in
 * MPFR. */
#include "check.h"
#include "voters/lipschitz.h"

#include <math.h>
#include <mpfr.h>

#include "limits.h"

enum { BITS = 200 };

/* ---- networks ---- */

static surety_voters *new_networks(const surety_voters_settings *s, size_t d, uint64_t seed) {
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    check_ok(surety_voters_new(s, d, seed, &v, &err));
    return v;
}

/* Of any shape, wide and tall layers, odd widths; orthonormal as they are made, or not at all; biases. */
static surety_voters *random_networks(draw *r, size_t most_d, size_t most_H) {
    surety_voters_settings s = {.kind = "lipschitz",
                                .count = draw_size(r, 1, most_H),
                                .classes = draw_size(r, 0, 1) ? 2 : draw_size(r, 3, 9),
                                .scale = exp2((double)draw_size(r, 0, 6) - 3)};
    for (size_t l = 0, n = draw_size(r, 1, 3); l < n; l++) s.layers[l] = draw_size(r, 1, 24);
    surety_voters *v = new_networks(&s, draw_size(r, 1, most_d), draw_bits(r) >> 1);
    double spread = draw_size(r, 0, 1) ? 0 : draw_real(r, 0, 0.3), size = exp(draw_real(r, -2, 2));
    for (size_t k = 0; k + 1 < v->tensor_count; k++)
        for (size_t i = 0; i < v->tensors[k].rows; i++)
            for (size_t j = 0; j < v->tensors[k].length; j++)
                v->tensors[k].values[i * v->tensors[k].stride + j] +=
                    (float)((k % 2 ? size : spread) * draw_normal(r));
    surety_voters_changed(v);
    return v;
}

/* f of network t at x, exactly up to BITS bits: f has room for SURETY_CLASSES_MOST, made by the caller. */
static void exact_answer(const surety_voters *v, size_t t, const float *x, mpfr_t *f) {
    size_t n = surety_layers_of(v), widest = v->d;
    for (size_t l = 0; l < n; l++)
        if (surety_layer_outputs(v, l) > widest) widest = surety_layer_outputs(v, l);
    mpfr_t *a = calloc(widest, sizeof *a), *z = calloc(widest, sizeof *z), product;
    mpfr_init2(product, BITS);
    for (size_t i = 0; i < widest; i++) mpfr_init2(a[i], BITS), mpfr_init2(z[i], BITS);
    for (size_t j = 0; j < v->d; j++) mpfr_set_flt(a[j], x[j], MPFR_RNDN);
    for (size_t l = 0; l < n; l++) {
        size_t w = surety_layer_outputs(v, l), inputs = surety_layer_inputs(v, l);
        const float *W = surety_network_weight(v, l, t), *c = surety_network_bias(v, l, t);
        for (size_t i = 0; i < w; i++) {
            mpfr_set_flt(z[i], c[i], MPFR_RNDN);
            for (size_t j = 0; j < inputs; j++) {
                mpfr_mul_d(product, a[j], (double)W[i * surety_layer_weight(v, l)->stride + j], MPFR_RNDN);
                mpfr_add(z[i], z[i], product, MPFR_RNDN);
            }
        }
        for (size_t i = 0; i < w / 2; i++) {
            mpfr_max(a[i], z[i], z[i + w / 2], MPFR_RNDN);
            mpfr_min(a[i + w / 2], z[i], z[i + w / 2], MPFR_RNDN);
        }
        if (w % 2) mpfr_set(a[w - 1], z[w - 1], MPFR_RNDN);
    }
    for (size_t k = 0; k < v->width; k++) mpfr_set(f[k], z[k], MPFR_RNDN);
    for (size_t i = 0; i < widest; i++) mpfr_clear(a[i]), mpfr_clear(z[i]);
    mpfr_clear(product);
    free(a);
    free(z);
}

/* The exact h_y - h_k (two classes: y h), from f. */
static double exact_difference(const surety_voters *v, mpfr_t *f, size_t t, size_t y, size_t k) {
    double s = (double)surety_network_scales(v)[t], sum = 0;
    if (v->width == 1) return fmin(fmax((y ? 1 : -1) * mpfr_get_d(f[0], MPFR_RNDN) / s, -1), 1);
    mpfr_t z;
    mpfr_init2(z, BITS);
    for (size_t c = 0; c < v->width; c++) {
        mpfr_sub(z, f[c], f[y], MPFR_RNDN);
        sum += exp(mpfr_get_d(z, MPFR_RNDN) / s);
    }
    mpfr_sub(z, f[k], f[y], MPFR_RNDN);
    double difference_yk = -expm1(mpfr_get_d(z, MPFR_RNDN) / s) / sum;
    mpfr_clear(z);
    return difference_yk;
}

static void for_all_exact(const block *k, void (*see)(const block *, size_t n, size_t lane, double exact)) {
    mpfr_t f[SURETY_CLASSES_MOST];
    for (size_t c = 0; c < k->v->width; c++) mpfr_init2(f[c], BITS);
    for (size_t i = 0; i < L; i++)
        for (size_t t = 0; t < k->H; t++) {
            exact_answer(k->v, t, k->point + i * k->stride, f);
            for (size_t n = t * k->K * k->K; n < (t + 1) * k->K * k->K; n++) {
                size_t y = n / k->K % k->K, c = n % k->K;
                if (y != c) see(k, n, i, exact_difference(k->v, f, t, y, c));
            }
        }
    for (size_t c = 0; c < k->v->width; c++) mpfr_clear(f[c]);
}

/* ---- forward and gradients ---- */

static void outputs_are_those_of_mpfr(void **state) {
    (void)state;
    draw r = {1};
    for (long round = 0; round < check_count(30, 2000); round++) {
        surety_voters *v = random_networks(&r, 40, 4);
        size_t stride = surety_padded(v->d);
        float *x = calloc(stride, sizeof *x), *h = calloc(v->H * v->width, sizeof *h);
        surety_error err = SURETY_ERROR_NONE;
        mpfr_t f[SURETY_CLASSES_MOST];
        for (size_t k = 0; k < v->width; k++) mpfr_init2(f[k], BITS);
        for (size_t j = 0; j < v->d; j++) x[j] = (float)draw_normal(&r);
        check_ok(surety_voters_outputs(v, x, stride, 1, h, NULL, &err));
        for (size_t t = 0; t < v->H; t++) {
            exact_answer(v, t, x, f);
            for (size_t y = 0; y < v->classes; y++)
                for (size_t k = 0; k < v->classes; k++) {
                    double got = v->width == 1 ? (y ? 1 : -1) * (double)h[t]
                                               : (double)h[t * v->width + y] - (double)h[t * v->width + k];
                    double want = exact_difference(v, f, t, y, k);
                    if (v->width == 1 && y == k) continue;
                    check(fabs(got - want) < 2e-4, "K %zu: %g, in MPFR %g", v->classes, got, want);
                }
        }
        for (size_t k = 0; k < v->width; k++) mpfr_clear(f[k]);
        free(x);
        free(h);
        surety_voters_free(v);
    }
}

static void gradients_are_those_of_differences(void **state) {
    (void)state;
    draw r = {2};
    double worst;
    long rounds = check_count(60, 2000), off = 0;
    for (long round = 0; round < rounds; round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = random_networks(&r, 40, 4);
        check_ok(surety_voters_check_gradient(v, draw_bits(&r) >> 1, &worst, &err));
        off += !(worst < 1e-4); /* two units that change places within the difference spoil it */
        surety_voters_free(v);
    }
    check(off * 10 < rounds, "%ld of %ld are off", off, rounds);
}

/* ---- limits that hold ---- */

static void see_exact(const block *k, size_t n, size_t lane, double exact) {
    double low = (double)k->low[n * L + lane];
    check(exact >= low - 1e-15, "in MPFR %.17g is below %.17g", exact, low);
}

static void nothing_found_lies_outside(void **state) {
    (void)state;
    draw r = {3};
    for (long round = 0; round < check_count(12, 1000); round++) {
        block k;
        surety_voters *v = random_networks(&r, 40, 3);
        fill(&k, &r, v, random_ball(&r, v->d));
        for (int draws = 0; draws < 5; draws++) {
            for (size_t i = 0; i < L; i++) place_point(&k, &r, i, draws % 2 == 0);
            if (!draws) memcpy(k.point, k.x, L * k.stride * sizeof(float));
            check_points(&k, draws ? "a point" : "x itself");
            if (draws == 1) for_all_exact(&k, see_exact);
        }
        empty(&k);
    }
}

static void no_attack_beats_the_limits(void **state) {
    (void)state;
    draw r = {4};
    for (long tries = 0; tries < check_count(20000, 1000000);) {
        block k;
        surety_voters *v = random_networks(&r, 30, 3);
        fill(&k, &r, v, random_ball(&r, v->d));
        attack_block(&k, &r, 5);
        tries += (long)(L * 5 * k.H);
        empty(&k);
    }
}

/* ---- limits that are no wider than the mathematics ---- */

/* sqrt of Gershgorin's limit for W diag(r), of the shorter side; of a square W that of its rows, as the
 * program does: the sums over its columns are others. */
static double exact_norm(const surety_voters *v, size_t l, size_t t, const surety_tolerance *tolerance) {
    size_t w = surety_layer_outputs(v, l), inputs = surety_layer_inputs(v, l);
    int rows = w <= inputs;
    size_t stride = surety_layer_weight(v, l)->stride, side = rows ? w : inputs, terms = rows ? inputs : w;
    const float *W = surety_network_weight(v, l, t);
    mpfr_t dot, product, sum, most;
    mpfr_inits2(BITS, dot, product, sum, most, (mpfr_ptr)0);
    mpfr_set_ui(most, 0, MPFR_RNDN);
    for (size_t i = 0; i < side; i++) {
        mpfr_set_ui(sum, 0, MPFR_RNDN);
        for (size_t j = 0; j < side; j++) {
            mpfr_set_ui(dot, 0, MPFR_RNDN);
            for (size_t k = 0; k < terms; k++) {
                size_t p = rows ? i * stride + k : k * stride + i, q = rows ? j * stride + k : k * stride + j;
                mpfr_set_flt(product, W[p], MPFR_RNDN);
                mpfr_mul_d(product, product, (double)W[q], MPFR_RNDN);
                if (tolerance && !l) {
                    mpfr_mul_d(product, product, tolerance->unit[p % stride], MPFR_RNDN);
                    mpfr_mul_d(product, product, tolerance->unit[q % stride], MPFR_RNDN);
                }
                mpfr_add(dot, dot, product, MPFR_RNDN);
            }
            mpfr_abs(dot, dot, MPFR_RNDN);
            mpfr_add(sum, sum, dot, MPFR_RNDN);
        }
        mpfr_max(most, most, sum, MPFR_RNDN);
    }
    mpfr_sqrt(most, most, MPFR_RNDU);
    double norm = mpfr_get_d(most, MPFR_RNDU);
    mpfr_clears(dot, product, sum, most, (mpfr_ptr)0);
    return norm;
}

static double length_of(const float *values, size_t count) {
    double squares = 0;
    for (size_t i = 0; i < count; i++) squares += (double)values[i] * (double)values[i];
    return sqrt(squares);
}

/* Lip and the formula for roundings of network t around x, in its plain form (docs/theory.md 11): E_l =
 * ||W_l|| E_(l-1) + gamma_(n+2) (||W_l||_F (||a_(l-1)|| + Lip b + 2 E_(l-1)) + ||c_l||). */
typedef struct plain {
    double lip, inner, error;
} plain;

static plain plain_formula(const block *k, const surety_network_parts *p, size_t t, size_t i, double length) {
    const surety_voters *v = k->v;
    double units = 1;
    plain out = {1, 1, 0};
    for (size_t j = 0; k->ball.tolerance && j < v->d; j++) units = fmax(units, k->ball.tolerance->unit[j]);
    for (size_t l = 0; l < surety_layers_of(v); l++) {
        size_t w = surety_layer_outputs(v, l), inputs = surety_layer_inputs(v, l);
        double norm = exact_norm(v, l, t, k->ball.tolerance), fro = 0, u = (double)(inputs + 2) * 0x1p-24;
        for (size_t n = 0; n < w; n++)
            fro += pow(
                length_of(surety_network_weight(v, l, t) + n * surety_layer_weight(v, l)->stride, inputs), 2);
        double a = length_of(l ? p->a[l] + surety_network_input(v, l, t, i) : k->rows[i], inputs);
        double moved = (l ? 1 : units) * out.lip * length + 2 * out.error;
        out.error = norm * out.error +
                    u / (1 - u) * (sqrt(fro) * (a + moved) + length_of(surety_network_bias(v, l, t), w));
        out.inner = out.lip;
        out.lip *= norm;
    }
    return out;
}

static void limits_are_no_wider_than_the_formula(void **state) {
    (void)state;
    draw r = {5};
    for (long round = 0; round < check_count(12, 500); round++) {
        block k;
        surety_voters *v = random_networks(&r, 30, 2);
        fill(&k, &r, v, random_ball(&r, v->d));
        surety_network_parts p = surety_network_scratch(v, k.scratch);
        mpfr_t f[SURETY_CLASSES_MOST];
        for (size_t c = 0; c < v->width; c++) mpfr_init2(f[c], BITS);
        surety_network_layers(v, k.rows, L, &p);
        for (size_t i = 0; i < L; i++)
            for (size_t t = 0; t < v->H; t++) {
                double length = surety_ball_length(&k.ball, k.rows[i], v->d, k.ball.radius);
                plain formula = plain_formula(&k, &p, t, i, length);
                double s = (double)surety_network_scales(v)[t];
                exact_answer(v, t, k.rows[i], f);
                if (v->width > 1) continue; /* two classes have it in the open */
                double y = mpfr_get_d(f[0], MPFR_RNDN), exact = (y - formula.lip * length) / s,
                       low = (double)k.low[((t * 2 + 1) * 2 + 0) * L + i];
                check(low <= fmin(fmax(exact, -1), 1), "%.17g is above the exact limit %.17g", low, exact);
                double widest = (y - formula.lip * length - 3 * formula.error) / s - 1e-6;
                check(low >= fmin(fmax(widest, -1), 1 - 1e-6), "%.9g, the plain formula has %.9g, exact %.9g",
                      low, widest, exact);
            }
        for (size_t c = 0; c < v->width; c++) mpfr_clear(f[c]);
        empty(&k);
    }
}

/* ---- the constant is reached; mutants are caught ---- */

/* A network whose units never change places around x: f is linear there, f(x + e) = f(x) + <g, e>. */
static surety_voters *linear_network(size_t d, size_t classes, uint64_t seed) {
    surety_voters_settings s = {
        .kind = "lipschitz", .count = 1, .classes = classes, .layers = {16, 8}, .scale = 64};
    surety_voters *v = new_networks(&s, d, seed);
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < s.layers[l] / 2; i++) surety_network_bias(v, l, 0)[i] = l ? 400 : 20;
    surety_voters_changed(v);
    return v;
}

/* to (inputs) = W_l^T from (outputs). */
static void pull_back(const surety_voters *v, size_t l, const double *from, double *to) {
    for (size_t j = 0; j < surety_layer_inputs(v, l); j++) {
        to[j] = 0;
        for (size_t i = 0; i < surety_layer_outputs(v, l); i++)
            to[j] +=
                from[i] * (double)surety_network_weight(v, l, 0)[i * surety_layer_weight(v, l)->stride + j];
    }
}

/* The point of the l2 ball at which the first score (of two classes: f) has fallen most against the second.
 */
static void worst_point(const block *k, const float *x, float *point) {
    double top[SURETY_CLASSES_MOST] = {1, -1}, second[64], first[64], g[64], length = 0;
    pull_back(k->v, 2, top, second);
    pull_back(k->v, 1, second, first);
    pull_back(k->v, 0, first, g);
    for (size_t j = 0; j < k->d; j++) g[j] *= surety_ball_unit(&k->ball, j), length += g[j] * g[j];
    for (size_t j = 0; j < k->d; j++)
        point[j] =
            (float)((double)x[j] - surety_ball_unit(&k->ball, j) * k->ball.radius * g[j] / sqrt(length));
}

/* f of the first network, or f_0 - f_1, in the program. */
static double score(const block *k, const float *x) {
    surety_network_parts p = surety_network_scratch(k->v, k->scratch);
    surety_network_layers(k->v, &x, 1, &p);
    return (double)p.z[2][0] - (k->v->width > 1 ? (double)p.z[2][1] : 0);
}

/* How far the score falls in the ball: more than `wrong` proofs would allow, no more than ours does. */
static void caught(surety_voters *v, surety_ball ball, double wrong, const char *mutant) {
    draw r = {6};
    block k;
    fill(&k, &r, v, ball);
    for (size_t i = 0; i < L; i++) worst_point(&k, k.rows[i], k.point + i * k.stride);
    double before = score(&k, k.rows[0]), found = before - score(&k, k.point);
    check(found > wrong, "%s: the score falls by %.9g, and the mutant allows %.9g", mutant, found, wrong);
    check(found < 1.001 * wrong * sqrt(2) * 2.5, "%s: it falls by %.9g", mutant, found);
    check_points(&k, mutant);
    empty(&k);
}

static void mutants_of_the_constant_are_caught(void **state) {
    (void)state;
    surety_ball ball = {.norm = SURETY_L2, .radius = 1};
    caught(linear_network(20, 2, 7), ball, 0.9999, "a constant that is a little too small");
    caught(linear_network(20, 3, 8), ball, 1.4, "scores that fall by less than sqrt(2) Lip b");

    surety_error err = SURETY_ERROR_NONE;
    surety_tolerance *tolerance;
    double radius[20], lo[20], hi[20];
    for (size_t j = 0; j < 20; j++) radius[j] = 2, lo[j] = -HUGE_VAL, hi[j] = HUGE_VAL;
    check_ok(surety_tolerance_new(&(surety_features){.d = 20}, radius, lo, hi, &tolerance, &err));
    ball.tolerance = tolerance;
    caught(linear_network(20, 2, 9), ball, 1.99, "units of a tolerance that do not count");
}

/* Near 400 a float is off by 2^-16: within a ball that is smaller than that, roundings are all that moves. */
static void roundings_count(void **state) {
    (void)state;
    draw r = {7};
    block k;
    double found = 0;
    fill(&k, &r, linear_network(20, 2, 10), (surety_ball){.norm = SURETY_L2, .radius = 1e-6});
    double before = score(&k, k.rows[0]);
    for (int tries = 0; tries < 300; tries++) {
        memcpy(k.point, k.x, L * k.stride * sizeof(float));
        for (size_t n = 0; n < 5 * L; n++) { /* |x| < 1.7: a step to the next float is at most 2^-23 */
            float *p = k.point + n % L * k.stride + draw_size(&r, 0, k.d - 1);
            *p = nextafterf(*p, draw_size(&r, 0, 1) ? HUGE_VALF : -HUGE_VALF);
        }
        found = fmax(found, fabs(score(&k, k.point) - before));
        check_points(&k, "roundings");
    }
    check(found > 1.2e-6, "a proof without roundings would not be caught: %g", found);
    empty(&k);
}

/* Two networks, f = 10 and -.5, weights 1/2 and s = 1: the vote is (1 - .5)/2, right for +1. Over a ball of
 * radius 1 the sum of f stays above 0: (9 - 1.5)/2. But the vote's outputs are cut: at the point where the
 * second falls to -1.5 it is (1 - 1)/2 = 0, wrong. */
static void summing_before_the_cut_is_no_proof(void **state) {
    (void)state;
    draw r = {8};
    surety_voters_settings s = {.kind = "lipschitz", .count = 2, .layers = {2}, .scale = 1};
    surety_voters *v = new_networks(&s, 2, 1);
    const float identity[] = {1, 0, 0, 1};
    for (size_t t = 0; t < 2; t++) {
        float *W = surety_network_weight(v, 0, t), *w = surety_network_weight(v, 1, t);
        for (size_t i = 0; i < 4; i++) W[i / 2 * surety_layer_weight(v, 0)->stride + i % 2] = identity[i];
        w[0] = 1, w[1] = 0; /* f = max(x_0, x_1 - 100) + bias */
        surety_network_bias(v, 0, t)[1] = -100;
        surety_network_bias(v, 1, t)[0] = t ? -0.5f : 10;
    }
    surety_voters_changed(v);
    double weights[] = {0.5, 0.5}, margin[L], sums = 0;
    surety_vote vote = {v, weights, SURETY_REAL};
    block k;
    fill(&k, &r, v, (surety_ball){.norm = SURETY_L2, .radius = 1});
    memset(k.x, 0, L * k.stride * sizeof(float));
    uint8_t y[L];
    memset(y, 1, sizeof y);
    v->kind->forward(v, k.rows, L, k.h, k.scratch);
    surety_margin_lanes(&vote, k.h, y, margin, NULL, NULL);
    check(margin[0] == 0.25, "the vote at x is %g", margin[0]);
    for (size_t t = 0; t < 2; t++) sums += weights[t] * (t ? -0.5 - 1 : 10 - 1.);
    check(sums > 0, "the sum of f before the cut is above 0 all over the ball: %g", sums);
    surety_range_run(k.range, k.rows, 1, k.radius, y, k.low);
    surety_margin_limits(&vote, k.low, margin);
    check(margin[0] <= 0, "proved, and wrong: %g", margin[0]);
    memset(k.point, 0, L * k.stride * sizeof(float));
    k.point[0] = -1;
    v->kind->forward(v, (const float *const[]){k.point}, 1, k.h, k.scratch);
    surety_margin_lanes(&vote, k.h, y, margin, NULL, NULL);
    check(margin[0] <= 0, "the vote is right at the worst point: %g", margin[0]);
    empty(&k);
}

/* l1 in a box: ||e||_2 <= sqrt(b max |e_j|); linf: sqrt(d) b. */
static void other_norms_go_through_l2(void **state) {
    (void)state;
    float x[100];
    for (size_t j = 0; j < 100; j++) x[j] = j % 2 ? 1 : 0;
    surety_ball ball = {.norm = SURETY_L1, .radius = 9, .has_box = 1, .hi = 1};
    assert_float_equal(surety_ball_length(&ball, x, 100, 9), 3, 1e-9);
    assert_float_equal(surety_ball_length(&ball, x, 100, 0.25), 0.25, 1e-9);
    ball.has_box = 0;
    assert_float_equal(surety_ball_length(&ball, x, 100, 9), 9, 1e-9);
    ball.norm = SURETY_LINF;
    assert_float_equal(surety_ball_length(&ball, x, 100, 0.1), 1, 1e-9);
    ball.norm = SURETY_L2;
    assert_float_equal(surety_ball_length(&ball, x, 100, 0.1), 0.1, 0);
}

/* ---- steps ---- */

/* The largest |G_ij - (i == j)| of the Gram matrix of the shorter side, G of X and Y. */
static double off_identity(const float *X, const float *Y, size_t rows, size_t columns, size_t stride,
                           int zero) {
    size_t side = rows < columns ? rows : columns, terms = rows < columns ? columns : rows;
    double most = 0;
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j < side; j++) {
            double dot = 0, other = 0;
            for (size_t k = 0; k < terms; k++) {
                size_t p = rows < columns ? i * stride + k : k * stride + i,
                       q = rows < columns ? j * stride + k : k * stride + j;
                dot += (double)X[p] * (double)Y[q];
                other += (double)X[q] * (double)Y[p];
            }
            most = fmax(most, fabs(zero ? dot + other : dot - (i == j)));
        }
    return most;
}

static void steps_stay_on_the_surface(void **state) {
    (void)state;
    draw r = {9};
    for (long round = 0; round < check_count(30, 300); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = random_networks(&r, 60, 2), *w;
        size_t layers[SURETY_LAYERS] = {0}, d = v->d;
        surety_voters_settings s = {.kind = "lipschitz", .count = v->H, .classes = v->classes};
        surety_voters_layers(v, layers);
        memcpy(s.layers, layers, sizeof layers);
        surety_voters_free(v);
        uint64_t seed = draw_bits(&r) >> 1;
        v = new_networks(&s, d, seed), w = new_networks(&s, d, seed);
        float *g[2][SURETY_TENSORS] = {{NULL}};
        for (size_t k = 0; k < v->tensor_count; k++) {
            size_t count = v->tensors[k].rows * v->tensors[k].stride;
            for (int who = 0; who < 2; who++) check_ok(surety_alloc(&g[who][k], count, sizeof(float), &err));
            for (size_t i = 0; i < v->tensors[k].rows; i++)
                for (size_t j = 0; j < v->tensors[k].length; j++)
                    g[0][k][i * v->tensors[k].stride + j] = g[1][k][i * v->tensors[k].stride + j] =
                        (float)draw_normal(&r);
        }
        check_ok(surety_voters_along(v, g[0], &(surety_run){.threads = 1}, &err));
        check_ok(surety_voters_along(w, g[1], &(surety_run){.threads = 3}, &err));
        for (size_t k = 0; k + 1 < v->tensor_count; k++) {
            size_t count = v->tensors[k].rows * v->tensors[k].stride;
            assert_memory_equal(g[0][k], g[1][k], count * sizeof(float));
            for (size_t i = 0; i < count; i++) {
                v->tensors[k].values[i] += 0.02f * g[0][k][i];
                w->tensors[k].values[i] += 0.02f * g[1][k][i];
            }
        }
        for (int step = 0; step < 4; step++) {
            check_ok(surety_voters_back(v, &(surety_run){.threads = 1}, &err));
            check_ok(surety_voters_back(w, &(surety_run){.threads = 3}, &err));
        }
        for (size_t l = 0; l < surety_layers_of(v); l++)
            for (size_t t = 0; t < v->H; t++) {
                const float *W = surety_network_weight(v, l, t);
                double off = off_identity(W, W, surety_layer_outputs(v, l), surety_layer_inputs(v, l),
                                          surety_layer_weight(v, l)->stride, 0);
                check(off < 2e-6, "layer %zu is off by %g", l, off);
            }
        check(surety_voters_same(v, w), "threads changed bits");
        for (size_t k = 0; k < v->tensor_count; k++) surety_free(g[0][k]), surety_free(g[1][k]);
        surety_voters_free(v);
        surety_voters_free(w);
    }
}

/* Along the surface W W^T = I a step E has E W^T + W E^T = 0 (or the same of columns). */
static void gradients_lie_along_the_surface(void **state) {
    (void)state;
    draw r = {10};
    const size_t shapes[][2] = {{5, 20}, {20, 5}, {16, 16}, {1, 7}, {33, 17}};
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters_settings s = {.kind = "lipschitz", .count = 1, .layers = {shapes[n][0]}};
        surety_voters *v = new_networks(&s, shapes[n][1], n);
        float *g[SURETY_TENSORS];
        for (size_t k = 0; k < v->tensor_count; k++) {
            check_ok(surety_alloc(&g[k], v->tensors[k].rows * v->tensors[k].stride, sizeof(float), &err));
            for (size_t i = 0; i < v->tensors[k].rows; i++)
                for (size_t j = 0; j < v->tensors[k].length; j++)
                    g[k][i * v->tensors[k].stride + j] = (float)draw_normal(&r);
        }
        check_ok(surety_voters_along(v, g, NULL, &err));
        double off =
            off_identity(g[0], v->tensors[0].values, shapes[n][0], shapes[n][1], v->tensors[0].stride, 1);
        check(off < 1e-4, "%zu x %zu: E W^T + W E^T has %g", shapes[n][0], shapes[n][1], off);
        for (size_t k = 0; k < v->tensor_count; k++) surety_free(g[k]);
        surety_voters_free(v);
    }
}

/* ---- files ---- */

static void scales_are_powers_of_two(void **state) {
    (void)state;
    surety_voters_settings s = {.kind = "lipschitz", .count = 2, .layers = {3}};
    surety_voters *v = new_networks(&s, 4, 1);
    const float bad[] = {3, 0, -2, 0x1p-60f, 1.0000001f};
    surety_error err = SURETY_ERROR_NONE;
    check_ok(surety_voters_check(v, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        v->tensors[v->tensor_count - 1].values[1] = bad[i];
        assert_int_equal(surety_voters_check(v, &err), SURETY_E_INPUT);
        check(strstr(err.expected, "power"), "%s", err.expected);
    }
    surety_voters_free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(outputs_are_those_of_mpfr),
                                       cmocka_unit_test(gradients_are_those_of_differences),
                                       cmocka_unit_test(nothing_found_lies_outside),
                                       cmocka_unit_test(no_attack_beats_the_limits),
                                       cmocka_unit_test(limits_are_no_wider_than_the_formula),
                                       cmocka_unit_test(mutants_of_the_constant_are_caught),
                                       cmocka_unit_test(roundings_count),
                                       cmocka_unit_test(summing_before_the_cut_is_no_proof),
                                       cmocka_unit_test(other_norms_go_through_l2),
                                       cmocka_unit_test(steps_stay_on_the_surface),
                                       cmocka_unit_test(gradients_lie_along_the_surface),
                                       cmocka_unit_test(scales_are_powers_of_two)};
    return cmocka_run_group_tests_name("lipschitz", tests, NULL, NULL);
}
