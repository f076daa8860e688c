/* Limits of voters over a ball: nothing found in the ball may lie outside of them (the program's own float
 * outputs at random points, at the ends where the arguments are extreme, and wherever strong attacks lead;
 * the exact values in MPFR); and they must be no wider than the mathematics (an independent bottom-up bound
 * in MPFR intervals; closed forms of the support function). */
#include "check.h"
#include "voters/kind.h"

#include <math.h>
#include <mpfr.h>

#include "limits.h"
#include "spread.h"
#include "voters/forest_kernel.h"
#include "voters/range_kernel.h"

/* ---- random voters and examples ---- */

/* Half of them of two classes, the others of 3 to 12. */
static surety_voters *spread_voters(draw *r, size_t most_depth, size_t most_d, size_t most_H, double spread) {
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    size_t d = draw_size(r, 1, most_d), H = draw_size(r, 1, most_H),
           K = draw_size(r, 0, 1) ? 2 : draw_size(r, 3, 12);
    surety_voters_settings s = {.kind = "soft-forest",
                                .count = H,
                                .depth = draw_size(r, 1, most_depth),
                                .mask = draw_real(r, 0, 0.9),
                                .classes = K};
    if (draw_size(r, 0, 3) == 0) s = (surety_voters_settings){.kind = "linear", .count = H, .classes = K};
    check_ok(surety_voters_new(&s, d, draw_bits(r) >> 1, &v, &err));
    spread_parameters(r, v, spread);
    return v;
}

static surety_voters *random_voters(draw *r, size_t most_depth, size_t most_d, size_t most_H) {
    return spread_voters(r, most_depth, most_d, most_H, draw_real(r, 0.5, 6));
}

static void nothing_found_lies_outside(void **state) {
    (void)state;
    draw r = {1};
    for (long round = 0; round < check_count(300, 20000); round++) {
        block k;
        surety_voters *v = random_voters(&r, 4, 40, 8);
        fill(&k, &r, v, random_ball(&r, surety_voters_features(v)));
        memcpy(k.point, k.x, L * k.stride * sizeof(float));
        check_points(&k, "x itself");
        for (int draws = 0; draws < 6; draws++) {
            for (size_t i = 0; i < L; i++) place_point(&k, &r, i, draws % 3 == 0);
            check_points(&k, draws % 3 == 0 ? "noise" : "the end of an argument");
        }
        empty(&k);
    }
}

/* ---- attacks ---- */

static void no_attack_beats_the_limits(void **state) {
    (void)state;
    draw r = {2};
    long tries = 0;
    for (; tries < check_count(20000, 1000000);) { /* one try: one start against one voter on one example */
        block k;
        surety_voters *v = random_voters(&r, 3, 30, 6);
        fill(&k, &r, v, random_ball(&r, surety_voters_features(v)));
        attack_block(&k, &r, 5);
        tries += (long)(L * 5 * k.H);
        empty(&k);
    }
}

/* ---- the same bound in MPFR intervals ---- */

enum { BITS = 200 };

/* Limits of <w, e> over ball-and-box for one row, exactly up to BITS bits: sign * w. */
static void support_mpfr(mpfr_t out, const block *k, const float *w, const float *x, int sign) {
    size_t d = k->d;
    mpfr_t lambda, lower, upper, sum, term, e, a;
    mpfr_inits2(BITS, lambda, lower, upper, sum, term, e, a, (mpfr_ptr)0);
    mpfr_set_ui(lower, 0, MPFR_RNDN);
    mpfr_set_d(upper, 1e6, MPFR_RNDN);
    mpfr_set_inf(out, 1);
    /* bisection on the multiplier of the ball; for linf the corner */
    for (int i = 0; i < (k->ball.norm == SURETY_LINF ? 1 : 160); i++) {
        mpfr_add(lambda, lower, upper, MPFR_RNDN);
        mpfr_div_2ui(lambda, lambda, 1, MPFR_RNDN);
        mpfr_t used; /* b^2 - sum e^2, or b - sum |e|: its sign says where to go on */
        mpfr_init2(used, BITS);
        mpfr_set_d(used, k->ball.radius, MPFR_RNDN);
        if (k->ball.norm == SURETY_L2) mpfr_sqr(used, used, MPFR_RNDN);
        mpfr_mul(sum, used, lambda, MPFR_RNDN);
        if (k->ball.norm == SURETY_L2) mpfr_div_2ui(sum, sum, 1, MPFR_RNDN);
        if (k->ball.norm == SURETY_LINF) mpfr_set_ui(sum, 0, MPFR_RNDN);
        for (size_t j = 0; j < d; j++) {
            double unit = surety_ball_unit(&k->ball, j);
            float lo, hi;
            surety_ball_ends(&k->ball, j, x[j], &lo, &hi);
            if (w[j] == 0 || unit == 0) continue;
            mpfr_set_d(a, fabs((double)w[j]), MPFR_RNDN);
            mpfr_mul_d(a, a, unit, MPFR_RNDN);
            double up = fmin((double)hi, 1e30), down = fmax((double)lo, -1e30);
            mpfr_set_d(e, (float)sign * w[j] > 0 ? up - (double)x[j] : (double)x[j] - down,
                       MPFR_RNDN); /* exact */
            mpfr_div_d(e, e, unit, MPFR_RNDN);
            if (k->ball.norm == SURETY_LINF && mpfr_cmp_d(e, k->ball.radius) > 0)
                mpfr_set_d(e, k->ball.radius, MPFR_RNDN);
            if (k->ball.norm == SURETY_L2) { /* e = min(a / lambda, room), a e - lambda e^2 / 2 */
                mpfr_div(term, a, lambda, MPFR_RNDN);
                mpfr_min(e, e, term, MPFR_RNDN);
                mpfr_sqr(term, e, MPFR_RNDN);
                mpfr_sub(used, used, term, MPFR_RNDN);
                mpfr_mul(term, term, lambda, MPFR_RNDN);
                mpfr_div_2ui(term, term, 1, MPFR_RNDN);
                mpfr_mul(e, e, a, MPFR_RNDN);
                mpfr_sub(term, e, term, MPFR_RNDN);
            } else if (k->ball.norm == SURETY_L1) { /* (a - tau)+ room */
                mpfr_sub(term, a, lambda, MPFR_RNDN);
                if (mpfr_sgn(term) > 0) {
                    mpfr_sub(used, used, e, MPFR_RNDN);
                    mpfr_mul(term, term, e, MPFR_RNDN);
                } else {
                    mpfr_set_ui(term, 0, MPFR_RNDN);
                }
            } else {
                mpfr_mul(term, e, a, MPFR_RNDN);
            }
            mpfr_add(sum, sum, term, MPFR_RNDN);
        }
        mpfr_min(out, out, sum, MPFR_RNDN);
        if (mpfr_sgn(used) > 0) /* more could be spent: a smaller multiplier */
            mpfr_set(upper, lambda, MPFR_RNDN);
        else
            mpfr_set(lower, lambda, MPFR_RNDN);
        mpfr_clear(used);
    }
    mpfr_clears(lambda, lower, upper, sum, term, e, a, (mpfr_ptr)0);
}

/* z at the end where it is largest (sign +1) or smallest (-1). */
static void argument_mpfr(mpfr_t z, const block *k, size_t row, const float *x, int sign) {
    const surety_tensor w = surety_voters_tensor(k->v, 0), c = surety_voters_tensor(k->v, 1);
    const float *weights = w.values + row * w.stride;
    mpfr_t term;
    mpfr_init2(term, BITS);
    support_mpfr(z, k, weights, x, sign);
    mpfr_mul_si(z, z, sign, MPFR_RNDN);
    mpfr_add_d(z, z, (double)c.values[row], MPFR_RNDN);
    for (size_t j = 0; j < k->d; j++) {
        mpfr_set_d(term, (double)weights[j], MPFR_RNDN);
        mpfr_mul_d(term, term, (double)x[j], MPFR_RNDN);
        mpfr_add(z, z, term, MPFR_RNDN);
    }
    mpfr_clear(term);
}

/* s_y - s_c of the scores softmax(u) of K classes, of two y tanh(u). */
static void scores_mpfr(mpfr_t f, mpfr_t *u, size_t K, size_t y, size_t c) {
    mpfr_t e, sum;
    mpfr_inits2(BITS, e, sum, (mpfr_ptr)0);
    if (K == 2) {
        mpfr_tanh(f, u[0], MPFR_RNDN);
        mpfr_mul_si(f, f, y ? 1 : -1, MPFR_RNDN);
    } else {
        mpfr_set_ui(sum, 0, MPFR_RNDN);
        for (size_t l = 0; l < K; l++) {
            mpfr_exp(e, u[l], MPFR_RNDN);
            mpfr_add(sum, sum, e, MPFR_RNDN);
        }
        mpfr_exp(f, u[y], MPFR_RNDN);
        mpfr_exp(e, u[c], MPFR_RNDN);
        mpfr_sub(f, f, e, MPFR_RNDN);
        mpfr_div(f, f, sum, MPFR_RNDN);
    }
    mpfr_clears(e, sum, (mpfr_ptr)0);
}

/* The smallest f of node i of a tree, f being h_y - h_c or y h; both ends tried. */
static void node_mpfr(mpfr_t f, const block *k, size_t t, size_t i, const float *x, size_t y, size_t c) {
    size_t I = ((size_t)1 << surety_voters_depth(k->v)) - 1, width = k->v->width;
    if (i >= I) {
        const float *leaf = surety_voters_tensor(k->v, 2).values + (t * (I + 1) + i - I) * width;
        mpfr_t u[12];
        for (size_t l = 0; l < width; l++) {
            mpfr_init2(u[l], BITS);
            mpfr_set_d(u[l], (double)leaf[l], MPFR_RNDN);
        }
        scores_mpfr(f, u, k->K, y, c);
        for (size_t l = 0; l < width; l++) mpfr_clear(u[l]);
        return;
    }
    mpfr_t left, right, p, value;
    mpfr_inits2(BITS, left, right, p, value, (mpfr_ptr)0);
    node_mpfr(left, k, t, 2 * i + 1, x, y, c);
    node_mpfr(right, k, t, 2 * i + 2, x, y, c);
    mpfr_set_inf(f, 1);
    for (int sign = -1; sign <= 1; sign += 2) {
        argument_mpfr(p, k, t * I + i, x, sign);
        mpfr_neg(p, p, MPFR_RNDN);
        mpfr_exp(p, p, MPFR_RNDN);
        mpfr_add_ui(p, p, 1, MPFR_RNDN);
        mpfr_ui_div(p, 1, p, MPFR_RNDN);
        mpfr_sub(value, left, right, MPFR_RNDN);
        mpfr_mul(value, value, p, MPFR_RNDN);
        mpfr_add(value, value, right, MPFR_RNDN);
        mpfr_min(f, f, value, MPFR_RNDN);
    }
    mpfr_clears(left, right, p, value, (mpfr_ptr)0);
}

/* Of a linear voter, with every argument anywhere in its interval: (e^a - e^b) / (e^a + e^b + R) is monotone
 * in a, in b and in R, so one of the corners of a, b and all others together has the smallest value. */
static void linear_mpfr(mpfr_t f, const block *k, size_t t, const float *x, size_t y, size_t c) {
    size_t width = k->v->width;
    mpfr_t ends[2][12], u[12], value;
    mpfr_init2(value, BITS);
    for (size_t n = 0; n < 3 * width; n++)
        mpfr_init2(n < width ? u[n] : ends[n / width - 1][n % width], BITS);
    for (size_t n = 0; n < 2 * width; n++)
        argument_mpfr(ends[n / width][n % width], k, t * width + n % width, x, n < width ? -1 : 1);
    mpfr_set_inf(f, 1);
    for (unsigned corner = 0; corner < 8; corner++) {
        for (size_t l = 0; l < width; l++) {
            unsigned bit = l == y ? 0 : l == c ? 1 : 2;
            mpfr_set(u[l], ends[corner >> (width == 1 ? 0 : bit) & 1][l], MPFR_RNDN);
        }
        scores_mpfr(value, u, k->K, y, c);
        mpfr_min(f, f, value, MPFR_RNDN);
    }
    for (size_t n = 0; n < 3 * width; n++) mpfr_clear(n < width ? u[n] : ends[n / width - 1][n % width]);
    mpfr_clear(value);
}

static double worst_mpfr(const block *k, size_t t, const float *x, size_t y, size_t c) {
    mpfr_t f;
    mpfr_init2(f, BITS);
    if (surety_voters_depth(k->v))
        node_mpfr(f, k, t, 0, x, y, c);
    else
        linear_mpfr(f, k, t, x, y, c);
    double out = mpfr_get_d(f, MPFR_RNDN);
    mpfr_clear(f);
    return out;
}

/* Below the exact bound, for trees of depth 1 and linear voters of two classes that is the true optimum, and
 * above it less the margins: those of the arguments (at most (d + 2)^2 2^-24 times the largest term, here 60;
 * a slope of at most 1, spread over all levels) and the search's 2^-19. */
static void limits_are_those_of_the_mathematics(void **state) {
    (void)state;
    draw r = {3};
    for (long round = 0; round < check_count(80, 3000); round++) {
        block k;
        surety_voters *v = random_voters(&r, 3, 8, 3);
        fill(&k, &r, v, random_ball(&r, surety_voters_features(v)));
        size_t i = draw_size(&r, 0, L - 1), t = draw_size(&r, 0, k.H - 1), y = draw_size(&r, 0, k.K - 1);
        for (size_t turn = 1; turn < (k.K == 2 ? 2 : 3); turn++) { /* two of the other classes */
            size_t c = (y + turn) % k.K;
            double exact = worst_mpfr(&k, t, k.rows[i], y, c);
            double low = (double)k.low[((t * k.K + y) * k.K + c) * L + i];
            check(low <= exact && low >= fmax(exact - 3e-4, -1) - 1e-9,
                  "%s %s K %zu b %g: lower limit %.9g, exact %.9g", surety_voters_kind(v),
                  surety_norm_name(k.ball.norm), k.K, k.ball.radius, low, exact);
        }
        empty(&k);
    }
}

/* ---- the radius ---- */

/* Up to the last bits of a saturated sigmoid and of the search. */
static void wider_balls_have_wider_limits(void **state) {
    (void)state;
    const float little = 0x1p-20f;
    draw r = {4};
    for (long round = 0; round < check_count(60, 1000); round++) {
        block k;
        surety_voters *v = random_voters(&r, 4, 60, 8);
        surety_ball ball = random_ball(&r, surety_voters_features(v));
        double b = ball.radius;
        ball.radius = 0;
        fill(&k, &r, v, ball);
        v->kind->forward(v, k.rows, L, k.h, k.scratch);
        float *before = malloc(pairs(&k) * L * sizeof *before);
        for (size_t n = 0; n < pairs(&k) * L; n++) { /* radius 0: the output itself, up to the margins */
            double v_n = difference(&k, n / L, n % L), low = (double)k.low[n];
            check(low <= v_n && low > v_n - 1e-3, "radius 0: %.9g, limit %.9g", v_n, low);
        }
        for (double share = 0.125; share <= 1; share *= 2) {
            memcpy(before, k.low, pairs(&k) * L * sizeof *before);
            for (size_t i = 0; i < L; i++) k.radius[i] = b * share;
            limits(&k, k.rows, L, k.radius, k.low);
            for (size_t n = 0; n < pairs(&k) * L; n++)
                check(k.low[n] <= before[n] + little, "%s: twice the radius %g, %.9g after %.9g",
                      surety_norm_name(k.ball.norm), b * share, (double)k.low[n], (double)before[n]);
        }
        free(before);
        empty(&k);
    }
}

/* ---- neighbours and levels ---- */

/* Rows with labels of their own have the limits that they have in a block of one label. */
static void other_labels_do_not_matter(const block *k, draw *r) {
    size_t K = k->K;
    float *low = calloc(k->H * (K - 1) * L, sizeof *low);
    uint8_t y[L];
    for (size_t i = 0; i < L; i++) y[i] = (uint8_t)draw_size(r, 0, K - 1);
    surety_range_run(k->range, k->rows, L, k->radius, y, low);
    for (size_t n = 0; n < k->H * (K - 1); n++)
        for (size_t i = 0; i < L; i++) {
            size_t t = n / (K - 1), other = n % (K - 1), c = other + (other >= y[i]);
            check(low[n * L + i] == k->low[((t * K + y[i]) * K + c) * L + i], "labels of neighbours");
        }
    free(low);
}

/* A row's limits do not depend on the other rows, on their radii or on how many there are. */
static void neighbours_do_not_matter(void **state) {
    (void)state;
    draw r = {5};
    for (long round = 0; round < check_count(60, 1000); round++) {
        block k;
        surety_voters *v = random_voters(&r, 4, 60, 8);
        fill(&k, &r, v, random_ball(&r, surety_voters_features(v)));
        size_t i = draw_size(&r, 0, L - 1), rows = draw_size(&r, 1, L), at = draw_size(&r, 0, rows - 1);
        const float *x[L];
        double radius[L];
        float *low = malloc(pairs(&k) * L * sizeof *low);
        for (size_t n = 0; n < L; n++) {
            x[n] = k.rows[draw_size(&r, 0, L - 1)];
            radius[n] = draw_real(&r, 0, 3 * k.ball.radius);
        }
        x[at] = k.rows[i], radius[at] = k.radius[i];
        limits(&k, x, rows, radius, low);
        for (size_t n = 0; n < pairs(&k); n++)
            check(low[n * L + at] == k.low[n * L + i], "%s: neighbours", surety_norm_name(k.ball.norm));
        free(low);
        other_labels_do_not_matter(&k, &r);
        empty(&k);
    }
}

/* A row of weights against a block, at every level that the CPU has: the support function is never below the
 * exact one, which a plain loop in long double finds, and at most 2^-19 above it. */
static long double plain_support(const surety_span_job *job, size_t lane, int sign) {
    long double lower = 0, upper = 1e12L, best = 0, b = (long double)job->b[lane];
    for (size_t j = 0; j < job->d; j++) /* the corner of the box, for the case that it lies in the ball */
        best += fabsl((long double)job->w[j]) *
                (long double)(job->w[j] * (float)sign > 0 ? job->up : job->down)[j * L + lane];
    for (int i = 0; i < 200; i++) {
        long double lambda = (lower + upper) / 2, used = 0, sum = 0;
        for (size_t j = 0; j < job->d; j++) {
            long double a = (long double)job->w[j] * sign, room = (a > 0 ? job->up : job->down)[j * L + lane];
            if (a < 0) a = -a;
            if (job->norm == SURETY_LINF) {
                sum += a * room;
            } else if (job->norm == SURETY_L2) {
                long double e = fminl(a / lambda, room);
                used += e * e, sum += a * e - lambda / 2 * e * e;
            } else if (a > lambda) {
                used += room, sum += (a - lambda) * room;
            }
        }
        if (job->norm == SURETY_L2) sum += lambda * b * b / 2;
        if (job->norm == SURETY_L1) sum += lambda * b;
        best = fminl(best, sum);
        if (used > (job->norm == SURETY_L2 ? b * b : b))
            lower = lambda;
        else
            upper = lambda;
    }
    return best;
}

static void fill_job(draw *r, surety_span_job *job, float *w, float *lanes, double *b, uint32_t *order) {
    size_t d = draw_size(r, 1, 200), kept = 0;
    *job = (surety_span_job){
        .d = d, .w = w, .moves = w, .norm = (surety_norm)draw_size(r, 0, 2), .order = order, .b = b};
    job->x = lanes, job->up = lanes + d * L, job->down = lanes + 2 * d * L;
    for (size_t n = 0; n < L; n++) b[n] = draw_size(r, 0, 9) ? 0.01 * exp(draw_real(r, 0, 7)) : 0;
    for (size_t j = 0; j < d; j++) {
        w[j] = draw_size(r, 0, 3) ? (float)draw_normal(r) : 0;
        job->length += (double)w[j] * (double)w[j];
        for (size_t n = 0; n < L; n++) {
            double x = fmin(fmax(draw_real(r, -1, 2), 0), 1);
            lanes[j * L + n] = (float)x;
            lanes[(d + j) * L + n] = (float)fmin(1 - x, b[n]);
            lanes[(2 * d + j) * L + n] = (float)fmin(x, b[n]);
        }
        if (w[j] == 0) continue;
        size_t at = kept++;
        for (; at > 0 && fabsf(w[order[at - 1]]) < fabsf(w[j]); at--) order[at] = order[at - 1];
        order[at] = (uint32_t)j;
    }
    job->kept = kept;
    job->length = sqrt(job->length);
}

static void support_is_exact_and_above(void **state) {
    (void)state;
    draw r = {6};
    enum { MOST = 200 };
    float *w = calloc(MOST, sizeof *w), *lanes = calloc(3 * MOST * L, sizeof *lanes);
    uint32_t order[MOST];
    double b[L], z[L], size[L], rise[L], fall[L], again[L], other[L];
    for (long round = 0; round < check_count(100, 5000); round++) {
        surety_span_job job;
        fill_job(&r, &job, w, lanes, b, order);
        surety_level top = surety_cpu_highest();
        surety_span_kernel_at(top)(&job, (surety_span){z, size, rise, fall});
        for (int sign = -1; sign <= 1; sign += 2)
            for (size_t n = 0; n < L; n++) {
                double exact = (double)plain_support(&job, n, sign), got = sign > 0 ? rise[n] : fall[n];
                check(
                    got * (1 + 232 * 0x1p-52) >= exact * (1 - 1e-18) && got <= exact * (1 + 0x1p-19) + 1e-15,
                    "%s d %zu b %g: %.17g, exact %.17g", surety_norm_name(job.norm), job.d, b[n], got, exact);
            }
        for (int level = 0; level < (int)top; level++) {
            surety_span_kernel_at((surety_level)level)(&job, (surety_span){z, size, again, other});
            for (size_t n = 0; n < L; n++) {
                if (level > 0) check(again[n] == rise[n] && other[n] == fall[n], "levels differ");
                check(fabs(again[n] - rise[n]) <= 0x1p-18 * rise[n], "generic: %.9g, %.9g", again[n],
                      rise[n]);
            }
        }
    }
    free(w);
    free(lanes);
}

/* ---- the extremes ---- */

static void what_could_overflow_is_not_limited(void **state) {
    (void)state;
    draw r = {7};
    for (int round = 0; round < 4; round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = NULL;
        surety_voters_settings s = {.kind = round / 2 ? "linear" : "soft-forest",
                                    .count = 2,
                                    .depth = 2,
                                    .mask = 0,
                                    .classes = round % 2 ? 2 : 5};
        check_ok(surety_voters_new(&s, 20, 1, &v, &err));
        surety_tensor w = surety_voters_tensor(v, 0);
        for (size_t j = 0; j < 20; j++) w.values[j] = j % 2 ? 3e37f : -3e37f;
        surety_voters_changed(v);
        block k;
        fill(&k, &r, v, (surety_ball){.norm = SURETY_L2, .radius = 1, .has_box = 1, .hi = 1});
        for (size_t n = 0; n < pairs(&k) * L; n++)
            check(k.low[n] == -1 || n / L / k.K % k.K == n / L % k.K,
                  "a limit where a vote may not be a number");
        empty(&k);
    }
}

/* Huge weights and leaves: scores at 0 and 1, arguments up to 1e4. */
static void extreme_parameters(void **state) {
    (void)state;
    draw r = {9};
    for (long round = 0; round < check_count(200, 10000); round++) {
        block k;
        surety_voters *v = spread_voters(&r, 4, 20, 4, pow(10, draw_real(&r, 0, 4)));
        fill(&k, &r, v, random_ball(&r, surety_voters_features(v)));
        memcpy(k.point, k.x, L * k.stride * sizeof(float));
        check_points(&k, "x itself");
        for (int draws = 0; draws < 4; draws++) {
            for (size_t i = 0; i < L; i++) place_point(&k, &r, i, draws == 0);
            check_points(&k, draws ? "the end of an argument" : "noise");
        }
        empty(&k);
    }
}

/* ---- the margin of the last step ---- */

/* From arguments to v: forward at z, at one CPU level, against worst with z in its intervals, at another.
 * What rounding does may use up the margin of the kind, not more. */
typedef struct last_step {
    surety_voters *v;
    size_t N, ldz;
    float *z, *z_lo, *z_hi, *h, *low, *scratch;
} last_step;

static last_step last_step_new(draw *r) {
    surety_error err = SURETY_ERROR_NONE;
    last_step k = {0};
    size_t K = draw_size(r, 0, 9) ? draw_size(r, 2, 12) : draw_size(r, 13, 255), H = draw_size(r, 1, 3);
    surety_voters_settings s = {.kind = draw_size(r, 0, 1) ? "linear" : "soft-forest",
                                .count = H,
                                .depth = draw_size(r, 1, 8),
                                .mask = 0,
                                .classes = K};
    check_ok(surety_voters_new(&s, 1, draw_bits(r) >> 1, &k.v, &err));
    double spread = pow(10, draw_real(r, -2, 2));
    for (size_t n = 0; k.v->depth && n < k.v->tensors[2].length; n++)
        k.v->tensors[2].values[n] = (float)(spread * draw_normal(r));
    surety_voters_changed(k.v);
    k.N = k.v->tensors[0].rows, k.ldz = surety_padded(k.N);
    float **parts[] = {&k.z, &k.z_lo, &k.z_hi};
    for (size_t i = 0; i < 3; i++) check_ok(surety_alloc(parts[i], k.ldz * L, sizeof(float), &err));
    check_ok(surety_alloc(&k.h, H * k.v->width * L, sizeof(float), &err));
    check_ok(surety_alloc(&k.low, H * L, sizeof(float), &err));
    check_ok(surety_alloc(&k.scratch, k.v->kind->scratch(k.v), sizeof(float), &err));
    return k;
}

static void last_step_free(last_step *k) {
    float *parts[] = {k->z, k->z_lo, k->z_hi, k->h, k->low, k->scratch};
    for (size_t i = 0; i < 6; i++) surety_free(parts[i]);
    surety_voters_free(k->v);
}

/* Intervals of any width, points anywhere in them or at their ends. */
static void place_arguments(last_step *k, draw *r) {
    double size = pow(10, draw_real(r, -2, 4)), width = draw_size(r, 0, 1) ? 0 : pow(10, draw_real(r, -8, 2));
    for (size_t n = 0; n < k->N * L; n++) {
        double z = draw_size(r, 0, 3) ? size * draw_normal(r) : 0;
        float lo = (float)(z - width * draw_real(r, 0, 1)), hi = (float)(z + width * draw_real(r, 0, 1));
        float at = (float)draw_real(r, (double)lo, (double)hi);
        if (draw_size(r, 0, 1)) at = draw_size(r, 0, 1) ? lo : hi;
        k->z_lo[n] = lo, k->z_hi[n] = hi;
        k->z[n % L * k->ldz + n / L] = fminf(fmaxf(at, lo), hi);
    }
}

static void ask_at(last_step *k, surety_level level) {
    const surety_forest_kernels *f = surety_forest_kernels_at(level);
    surety_forest forest = {k->v->H, k->v->depth, k->v->width, surety_dense_of(k->v)->scores};
    if (k->v->depth)
        f->forward(&forest, k->z, k->ldz, L, k->scratch, k->h);
    else if (k->v->width == 1)
        f->tanh_lanes(k->z, k->ldz, L, k->N, k->h, k->scratch);
    else
        f->softmax_lanes(k->z, k->ldz, L, k->v->H, k->v->width, k->h);
}

static void limit_at(last_step *k, surety_level level, const uint8_t *y, const uint8_t *other) {
    const surety_forest_kernels *f = surety_forest_kernels_at(level);
    surety_forest forest = {k->v->H, k->v->depth, k->v->width, surety_dense_of(k->v)->scores};
    surety_argument_range range = {k->z_lo, k->z_hi, y, other, k->low, NULL};
    if (k->v->depth)
        f->worst(&forest, &range, k->scratch);
    else if (k->v->width == 1)
        f->tanh_worst(&range, k->N, k->scratch);
    else
        f->softmax_worst(&range, k->v->H, k->v->width, k->scratch);
}

static void margins_cover_the_last_step(void **state) {
    (void)state;
    draw r = {10};
    double most[2][2] = {{0}}; /* share of the margin used: linear or not, two classes or more */
    for (long round = 0; round < check_count(3000, 200000); round++) {
        last_step k = last_step_new(&r);
        size_t K = k.v->classes;
        float margin = k.v->kind->margin(k.v);
        uint8_t y[L], other[L];
        for (size_t i = 0; i < L; i++) {
            y[i] = (uint8_t)draw_size(&r, 0, K - 1);
            other[i] = (uint8_t)((y[i] + draw_size(&r, 1, K - 1)) % K);
        }
        place_arguments(&k, &r);
        ask_at(&k, (surety_level)draw_size(&r, 0, (size_t)surety_cpu_highest()));
        limit_at(&k, (surety_level)draw_size(&r, 0, (size_t)surety_cpu_highest()), y, other);
        block as = {.K = K, .h = k.h};
        for (size_t t = 0; t < k.v->H; t++)
            for (size_t i = 0; i < L; i++) {
                double v = difference(&as, (t * K + y[i]) * K + other[i], i), low = (double)k.low[t * L + i];
                double share = (low - v) / (double)margin;
                most[!k.v->depth][K > 2] = fmax(most[!k.v->depth][K > 2], share);
                check((double)(k.low[t * L + i] - margin) <= v, "%s K %zu: %.9g, limit %.9g - %.3g",
                      surety_voters_kind(k.v), K, v, low, (double)margin);
            }
        last_step_free(&k);
    }
    print_message("# share of the margin used: trees %.2f, %.2f of more classes; linear %.2f, %.2f\n",
                  most[0][0], most[0][1], most[1][0], most[1][1]);
    for (int i = 0; i < 4; i++) check(most[i / 2][i % 2] < 0.75, "a margin is nearly used up");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    draw r = {8};
    surety_voters *v = random_voters(&r, 2, 20, 3);
    surety_tolerance *tolerance = random_tolerance(&r, surety_voters_features(v), 1);
    surety_ball ball = {.norm = SURETY_L1, .radius = 1, .has_box = 1, .hi = 1, .tolerance = tolerance};
    surety_status status = SURETY_E_MEMORY;
    for (long n = 0; status != SURETY_OK; n++) {
        long left = n;
        surety_range *range;
        surety_error err = SURETY_ERROR_NONE;
        surety_memory_hook(check_fail_at, &left);
        status = surety_range_new(&range, v, &ball, 0, &err);
        surety_memory_hook(NULL, NULL);
        check(status == SURETY_OK || (status == SURETY_E_MEMORY && !range), "allocation %ld", n);
        surety_range_free(range);
    }
    surety_tolerance_free(tolerance);
    surety_voters_free(v);
}

/* Limits with slack cover every float point that lies outside the plain ball by what the slack says. */
static void slack_covers_scaled_features(void **state) {
    (void)state;
    draw r = {11};
    for (long round = 0; round < check_count(200, 5000); round++) {
        block k;
        surety_voters *v = random_voters(&r, 3, 12, 4);
        surety_ball ball = random_ball(&r, surety_voters_features(v));
        ball.has_box = 0;
        ball.slack = pow(10, draw_real(&r, -6, -1));
        fill(&k, &r, v, ball);
        for (int draws = 0; draws < 4; draws++) {
            for (size_t i = 0; i < L; i++) {
                const float *x = k.rows[i];
                float *p = k.point + i * k.stride;
                place_point(&k, &r, i, 0);
                for (size_t j = 0; j < k.d; j++) { /* farther out, as the roundings of scaling could do */
                    double unit = surety_ball_unit(&ball, j), e = (double)p[j] - (double)x[j];
                    double more = ball.slack * (fabs((double)x[j]) + ball.radius * unit) * (1 - 1e-6);
                    float lo, hi;
                    surety_ball_ends(&ball, j, x[j], &lo, &hi);
                    if (unit > 0) p[j] = fminf(fmaxf((float)((double)p[j] + copysign(more, e)), lo), hi);
                }
            }
            check_points(&k, "outside by the slack");
        }
        empty(&k);
    }
}

/* A missing value does not move: the radius that a proof covers is that of the other features, wherever the
 * missing one stands. */
static void missing_values_need_no_slack(void **state) {
    (void)state;
    draw r = {13};
    for (int round = 0; round < 300; round++) {
        size_t d = draw_size(&r, 2, 9), at = draw_size(&r, 0, d - 1), kept = 0;
        float x[9], rest[9];
        for (size_t j = 0; j < d; j++) x[j] = (float)draw_real(&r, -30, 30);
        x[at] = NAN;
        for (size_t j = 0; j < d; j++)
            if (j != at) rest[kept++] = x[j];
        for (int norm = SURETY_L2; norm <= SURETY_L1; norm++) {
            surety_ball ball = {.norm = (surety_norm)norm, .radius = 0.25, .slack = 1e-4};
            double with = surety_ball_cover(&ball, 0.25, x, d),
                   without = surety_ball_cover(&ball, 0.25, rest, kept);
            if (!(with >= without && with <= without * (1 + 1e-14)))
                fail_msg("norm %d, feature %zu of %zu missing: %.17g, not %.17g", norm, at, d, with, without);
        }
    }
}

/* The same with a tolerance that is 1 everywhere, or with features and weights scaled by powers of two. */
static void units_are_scaled_weights(void **state) {
    (void)state;
    draw r = {12};
    for (long round = 0; round < check_count(100, 5000); round++) {
        surety_error err = SURETY_ERROR_NONE;
        block k, scaled;
        surety_voters *v = random_voters(&r, 3, 20, 4);
        size_t d = surety_voters_features(v), stride = surety_padded(d);
        double radius[20], lo[20], hi[20];
        surety_tolerance *tolerance = NULL;
        surety_ball plain = random_ball(&r, d);
        free_ball(&plain);
        plain.tolerance = NULL;
        fill(&k, &r, v, plain);
        for (size_t j = 0; j < d; j++) {
            radius[j] = round % 2 ? 1 : ldexp(1, (int)draw_size(&r, 0, 20) - 10);
            lo[j] = plain.has_box ? 0 : -HUGE_VAL, hi[j] = plain.has_box ? radius[j] : HUGE_VAL;
        }
        check_ok(surety_tolerance_new(&(surety_features){.d = d}, radius, lo, hi, &tolerance, &err));
        surety_ball own = plain;
        own.tolerance = tolerance, own.has_box = 0;
        scaled = k;
        check_ok(surety_alloc(&scaled.x, L * stride, sizeof(float), &err));
        check_ok(surety_alloc(&scaled.low, pairs(&k) * L, sizeof(float), &err));
        for (size_t i = 0; i < L; i++) scaled.rows[i] = scaled.x + i * stride;
        for (size_t n = 0; n < L * stride; n++)
            if (n % stride < d) scaled.x[n] = k.x[n] * (float)radius[n % stride];
        for (size_t n = 0; n < v->tensors[0].rows * stride; n++)
            if (n % stride < d) v->tensors[0].values[n] /= (float)radius[n % stride];
        surety_voters_changed(v);
        check_ok(surety_range_new(&scaled.range, v, &own, 0, &err));
        limits(&scaled, scaled.rows, L, k.radius, scaled.low);
        for (size_t n = 0; n < pairs(&k) * L; n++)
            check(fabsf(scaled.low[n] - k.low[n]) <= 1e-5f, "%s: %.9g, scaled %.9g",
                  surety_norm_name(plain.norm), (double)k.low[n], (double)scaled.low[n]);
        surety_range_free(scaled.range);
        surety_free(scaled.x), surety_free(scaled.low);
        surety_tolerance_free(tolerance);
        empty(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_found_lies_outside),
        cmocka_unit_test(no_attack_beats_the_limits),
        cmocka_unit_test(limits_are_those_of_the_mathematics),
        cmocka_unit_test(wider_balls_have_wider_limits),
        cmocka_unit_test(neighbours_do_not_matter),
        cmocka_unit_test(support_is_exact_and_above),
        cmocka_unit_test(what_could_overflow_is_not_limited),
        cmocka_unit_test(extreme_parameters),
        cmocka_unit_test(margins_cover_the_last_step),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(slack_covers_scaled_features),
        cmocka_unit_test(missing_values_need_no_slack),
        cmocka_unit_test(units_are_scaled_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
