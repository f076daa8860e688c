/* attack: strength against closed forms, a naive attack in double beside the fast one, early stop, restarts,
 * the same bits for any neighbours, threads and levels with FMA; bad input. */
#include <math.h>
#include <unistd.h>

#include "attack/l1.h"
#include "base/parallel.h"
#include "cases.h"
#include "levels.h"
#include "tolerance.h"
#include "voters/ball.h"
#include "voters/kind.h"

static surety_threat settings_of(surety_threat_kind kind, surety_norm norm, double radius) {
    surety_threat s = surety_threat_defaults();
    s.kind = kind;
    s.ball.norm = norm;
    s.ball.radius = radius;
    s.samples = 3;
    return s;
}

static surety_attacker *attacker_of(const surety_threat *s, const surety_voters *v) {
    surety_error err = SURETY_ERROR_NONE;
    surety_attacker *a = NULL;
    check_ok(surety_threat_validate(s, &err));
    check_ok(surety_attacker_new(&a, s, v, &err));
    return a;
}

/* Loss and verdict at one point, by a plain loop. */
static double loss_at(const surety_vote *vote, const float *x, uint8_t y) {
    surety_vote real = {vote->voters, vote->weights, SURETY_REAL};
    return 0.5 * (1 - plain_margin(&real, x, y));
}

static int wrong_at(const surety_vote *vote, const float *x, uint8_t y) {
    return !(plain_margin(vote, x, y) > 0);
}

/* ---- strength ---- */

static double dual_norm(surety_norm norm, const float *w, size_t d) {
    double sum = 0, most = 0;
    for (size_t j = 0; j < d; j++) {
        double a = fabs((double)w[j]);
        most = fmax(most, a);
        sum += norm == SURETY_L2 ? a * a : a;
    }
    return norm == SURETY_L1 ? most : norm == SURETY_L2 ? sqrt(sum) : sum;
}

/* Voters tanh(s_t <w, x> + c_t), s_t > 0, share their worst perturbation: <w, e> = -y b ||w||_dual. */
static void linear_voters_reach_the_optimum(void **state) {
    (void)state;
    draw r = {21};
    const surety_threat_kind kinds[] = {SURETY_ATTACK_FGSM, SURETY_ATTACK_IFGSM, SURETY_ATTACK_APGD};
    for (long round = 0; round < check_count(400, 10000); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_norm norm = (surety_norm)(round % 3);
        surety_threat s = settings_of(kinds[draw_size(&r, 0, 2)], norm, draw_real(&r, 0.01, 2));
        s.steps = draw_size(&r, 1, 30);
        s.early_stop = (int)draw_size(&r, 0, 1);
        if (round % 10 == 9) { /* from anywhere in the ball it takes the length of the ball to get there */
            s.kind = SURETY_ATTACK_PGD;
            s.step_size = 3 * s.ball.radius / (double)s.steps;
            s.steps *= norm == SURETY_L2 ? 20 : norm == SURETY_L1 ? 3 : 1;
        }
        if (round % 2) s.ball.lo = -1000, s.ball.hi = 1000; /* a box that does not bind */
        s.ball.has_box = round % 2;
        size_t d = draw_size(&r, 1, 120), H = draw_size(&r, 1, 4);
        surety_voters *v = NULL;
        check_ok(surety_linear_empty(&v, H, d, 2, &err));
        surety_tensor w = surety_voters_tensor(v, 0), c = surety_voters_tensor(v, 1);
        double q[4], y = round % 4 < 2 ? 1 : -1, best = 0, dual;
        for (size_t j = 0; j < d; j++) w.values[j] = (float)(draw_normal(&r) / sqrt((double)d));
        dual = dual_norm(norm, w.values, d);
        surety_ball around = {.norm = norm};
        random_set set = random_set_new(&r, 1, d, &around, 1, 2);
        set.y[0] = y > 0;
        double z0 = 0;
        for (size_t j = 0; j < d; j++) z0 += (double)w.values[j] * (double)set.x[j];
        for (size_t t = 0; t < H; t++) {
            float scale = t ? 0.5f * (float)t : 1;
            for (size_t j = 0; j < d; j++) w.values[t * w.stride + j] = scale * w.values[j];
            /* right everywhere in the ball, so that early stop never acts */
            c.values[t] = (float)(-(double)scale * z0 +
                                  y * ((double)scale * s.ball.radius * dual + draw_real(&r, 0.1, 0.5)));
            q[t] = 1. / (double)H;
            double z = (double)c.values[t] + (double)scale * (z0 - y * s.ball.radius * dual);
            best += q[t] * 0.5 * (1 - y * tanh(z));
        }
        surety_voters_changed(v);
        surety_vote vote = {v, q, SURETY_REAL};
        surety_attacker *a = attacker_of(&s, v);
        surety_examples e = surety_examples_of(&set.set, 0);
        const surety_attacked *result = surety_attacker_run(a, &vote, &e);
        double tolerance =
            round % 10 == 9 ? 2e-3 * (1 + s.ball.radius * dual) : 2e-5 * (1 + s.ball.radius * dual);
        check(result->loss[0] >= best - tolerance && result->loss[0] <= best + 1e-5 && !result->fooled[0],
              "%s %s d %zu b %g: loss %.9g, optimum %.9g", surety_threat_name(s.kind), surety_norm_name(norm),
              d, s.ball.radius, result->loss[0], best);
        surety_attacker_free(a);
        random_set_free(&set);
        surety_voters_free(v);
    }
}

/* With a binding box: linf moves every feature to its own end; l1 spends its budget greedily on the features
 * of largest |w| that have room, and does not stall on a saturated one. */
static void boxes_that_bind(void **state) {
    (void)state;
    draw r = {22};
    for (long round = 0; round < check_count(200, 5000); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_norm norm = round % 2 ? SURETY_LINF : SURETY_L1;
        surety_threat s = settings_of(SURETY_ATTACK_IFGSM, norm,
                                      round % 2 ? draw_real(&r, 0.05, 0.8) : draw_real(&r, 0.2, 4));
        s.early_stop = 0;
        size_t d = draw_size(&r, 2, 40), order[40];
        if (norm == SURETY_L1)
            s.step_size = s.ball.radius / 40, s.steps = 40 + 2 * d; /* a clip wastes part of a step */
        surety_voters *v = NULL;
        check_ok(surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = 1}, d,
                                   (uint64_t)round, &v, &err));
        const float *w = surety_voters_tensor(v, 0).values;
        random_set set = random_set_new(&r, 1, d, &s.ball, 1, 2);
        double y = surety_sign(set.y[0]), left = s.ball.radius, z = 0;
        for (size_t j = 0; j < d; j++) {
            order[j] = j;
            z += (double)w[j] * (double)set.x[j];
        }
        for (size_t i = 0; i < d; i++) /* |w| descending */
            for (size_t j = i + 1; j < d; j++)
                if (fabsf(w[order[j]]) > fabsf(w[order[i]])) {
                    size_t swap = order[i];
                    order[i] = order[j], order[j] = swap;
                }
        for (size_t i = 0; i < d; i++) {
            double wj = (double)w[order[i]], xj = (double)set.x[order[i]];
            double room = -y * wj > 0 ? 1 - xj : xj,
                   move = fmin(room, norm == SURETY_L1 ? left : s.ball.radius);
            if (norm == SURETY_L1) left -= move;
            z -= y * fabs(wj) * move;
        }
        surety_vote vote = {v, (const double[]){1}, SURETY_REAL};
        surety_attacker *a = attacker_of(&s, v);
        surety_examples e = surety_examples_of(&set.set, 0);
        double loss = surety_attacker_run(a, &vote, &e)->loss[0], best = 0.5 * (1 - y * tanh(z));
        /* projecting the last step onto the l1 ball takes a little from every feature that was moved */
        double tolerance = norm == SURETY_L1 ? s.step_size * dual_norm(SURETY_L1, w, d) / 2 : 1e-5;
        check(loss <= best + 1e-5 && loss >= best - tolerance, "%s d %zu: loss %.9g, optimum %.9g",
              surety_norm_name(norm), d, loss, best);
        surety_attacker_free(a);
        random_set_free(&set);
        surety_voters_free(v);
    }
}

/* Of every kind, a third of them apgd. */
static surety_threat any_settings(draw *r) {
    surety_threat s = settings_of((surety_threat_kind)draw_size(r, 0, SURETY_ATTACK_APGD),
                                  (surety_norm)draw_size(r, 0, 2), pow(10, draw_real(r, -2, 1)));
    if (!draw_size(r, 0, 3)) s.kind = SURETY_ATTACK_APGD;
    s.steps = draw_size(r, 1, 8);
    if (draw_size(r, 0, 1)) s.step_size = s.ball.radius * draw_real(r, 0.05, 1.5);
    s.ball.has_box = (int)draw_size(r, 0, 1);
    s.restarts = draw_size(r, 1, 3);
    s.seed = draw_bits(r) >> 1;
    return s;
}

/* What is reported of a point is what the public calls say of it. Its loss is not below the loss at x (at the
 * random start for pgd), unless it is wrong, which is what the attack wanted. */
static void the_result_is_what_it_says(void **state) {
    (void)state;
    draw r = {23};
    for (long round = 0; round < check_count(300, 6000); round++) {
        surety_threat s = any_settings(&r), start = s;
        size_t d = draw_size(&r, 1, 60);
        random_vote v = random_vote_new(&r, d, 0);
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_threat_kind plain = surety_threat_plain(s.kind);
        start.kind = plain == SURETY_ATTACK_PGD ? SURETY_ATTACK_UNIF : SURETY_ATTACK_NONE;
        start.restarts = 1;
        if (s.kind == SURETY_ATTACK_UNIF) start.kind = SURETY_ATTACK_UNIF;
        surety_attacker *a = attacker_of(&s, v.voters), *b = attacker_of(&start, v.voters);
        surety_examples e = surety_examples_of(&set.set, 0);
        const surety_attacked *result = surety_attacker_run(a, &v.vote, &e),
                              *from = surety_attacker_run(b, &v.vote, &e);
        for (size_t i = 0; i < e.rows; i++) {
            check_that(result->loss[i], ==, loss_at(&v.vote, result->x[i], e.y[i]));
            assert_int_equal(result->fooled[i], wrong_at(&v.vote, result->x[i], e.y[i]));
            if (!(result->fooled[i] && v.vote.voter_set == SURETY_SIGNED))
                check_that(result->loss[i], >=, from->loss[i]);
            check_that(result->fooled[i], >=, from->fooled[i]);
        }
        surety_attacker_free(a), surety_attacker_free(b);
        random_set_free(&set);
        random_vote_free(&v);
    }
}

/* A fixed step size: more steps never lower the loss, more restarts neither; exactly. */
static void more_work_never_hurts(void **state) {
    (void)state;
    draw r = {24};
    for (long round = 0; round < check_count(60, 1500); round++) {
        surety_threat s = any_settings(&r);
        s.kind = draw_size(&r, 0, 1) ? SURETY_ATTACK_PGD : SURETY_ATTACK_IFGSM;
        s.step_size = s.ball.radius * draw_real(&r, 0.02, 1);
        size_t d = draw_size(&r, 1, 40);
        random_vote v = random_vote_new(&r, d, 0);
        v.vote.voter_set = SURETY_REAL;
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_examples e = surety_examples_of(&set.set, 0);
        double before[SURETY_BLOCK];
        s.restarts = 1; /* with several, a wrong point of an earlier restart would end the attack */
        for (int what = 0; what < 2; what++) {
            for (size_t i = 0; i < SURETY_BLOCK; i++) before[i] = -1;
            for (size_t count = 1; count <= 8; count++) {
                *(what ? &s.restarts : &s.steps) = count;
                surety_attacker *a = attacker_of(&s, v.voters);
                const surety_attacked *result = surety_attacker_run(a, &v.vote, &e);
                for (size_t i = 0; i < SURETY_BLOCK; i++) {
                    check_that(result->loss[i], >=, before[i]);
                    before[i] = result->loss[i];
                }
                surety_attacker_free(a);
            }
            s.steps = 3;
        }
        random_set_free(&set);
        random_vote_free(&v);
    }
}

/* ---- apgd ---- */

enum { HARD = 60 };

/* Which examples an attack fools, one by one. */
typedef struct fooling {
    const surety_vote *vote;
    const surety_set *set;
    int fooled[HARD];
} fooling;

static surety_status see_fooled(void *arg, size_t i, size_t j, const float *x, surety_error *err) {
    fooling *f = arg;
    (void)err;
    f->fooled[i] = (j && f->fooled[i]) || wrong_at(f->vote, x, f->set->y[i]);
    return SURETY_OK;
}

static surety_attack_result attack_hard(fooling *f, surety_threat s, surety_threat_kind kind) {
    surety_error err = SURETY_ERROR_NONE;
    surety_attack_result result;
    s.kind = kind;
    check_ok(
        surety_attack_set(&s, f->vote, f->set, &(surety_perturbed_sink){see_fooled, f}, &result, NULL, &err));
    return result;
}

/* A radius at which some examples are fooled and some are not: voters that curve, data that is spread. */
static void sharpen(random_vote *v, double by) {
    surety_tensor w = surety_voters_tensor(v->voters, 0);
    for (size_t k = 0; k < w.rows * w.stride; k++) w.values[k] *= (float)by;
    surety_voters_changed(v->voters);
}

/* Its first passes are ifgsm and pgd, so it fools whom they fool; and it is found by the last part that
 * fooled somebody whom those before it did not. All other attacks are found by themselves. */
static void apgd_is_the_strongest(void **state) {
    (void)state;
    draw r = {35};
    long by[SURETY_THREATS] = {0};
    for (long round = 0; round < check_count(300, 6000); round++) {
        surety_threat s = any_settings(&r);
        s.ball.radius = pow(10, draw_real(&r, -1.5, 0.3));
        s.steps = draw_size(&r, 1, 6);
        s.restarts = 1; /* those of pgd are other starts than those of apgd's adaptive passes */
        size_t d = draw_size(&r, 2, 30);
        random_vote v = random_vote_new(&r, d, 0);
        sharpen(&v, draw_real(&r, 1, 8));
        random_set set = random_set_new(&r, HARD, d, &s.ball, 1, surety_voters_classes(v.voters));
        fooling x = {&v.vote, &set.set, {0}}, ball = x, all = x, own = x;
        surety_attack_result from_x = attack_hard(&x, s, SURETY_ATTACK_IFGSM),
                             from_ball = attack_hard(&ball, s, SURETY_ATTACK_PGD),
                             found = attack_hard(&all, s, SURETY_ATTACK_APGD);
        assert_int_equal(from_x.found_by, from_x.fooled ? SURETY_ATTACK_IFGSM : SURETY_ATTACK_NONE);
        assert_int_equal(from_ball.found_by, from_ball.fooled ? SURETY_ATTACK_PGD : SURETY_ATTACK_NONE);
        surety_threat_kind last = SURETY_ATTACK_NONE;
        for (size_t i = 0; i < HARD; i++) {
            check(all.fooled[i] >= (x.fooled[i] || ball.fooled[i]), "round %ld: apgd misses example %zu",
                  round, i);
            surety_threat_kind part = !all.fooled[i]   ? SURETY_ATTACK_NONE
                                      : x.fooled[i]    ? SURETY_ATTACK_IFGSM
                                      : ball.fooled[i] ? SURETY_ATTACK_PGD
                                                       : SURETY_ATTACK_APGD;
            if (part > last) last = part;
        }
        assert_int_equal(found.found_by, last);
        by[last]++;
        surety_attack_result other = attack_hard(&own, s, SURETY_ATTACK_UNIF);
        assert_int_equal(other.found_by, other.fooled ? SURETY_ATTACK_UNIF : SURETY_ATTACK_NONE);
        s.noise = draw_real(&r, 0, 0.5);
        other = attack_hard(&own, s, SURETY_ATTACK_PGDU);
        assert_int_equal(other.found_by, other.fooled ? SURETY_ATTACK_PGDU : SURETY_ATTACK_NONE);
        random_set_free(&set);
        random_vote_free(&v);
    }
    print_message("# found by ifgsm %ld, pgd %ld, apgd %ld\n", by[SURETY_ATTACK_IFGSM], by[SURETY_ATTACK_PGD],
                  by[SURETY_ATTACK_APGD]);
    assert_true(by[SURETY_ATTACK_IFGSM]);
    assert_true(by[SURETY_ATTACK_PGD]);
    assert_true(by[SURETY_ATTACK_APGD]);
}

/* More pairs of passes never hurt, exactly: loss of real votes, and who is fooled. */
static void more_passes_never_hurt(void **state) {
    (void)state;
    draw r = {36};
    for (long round = 0; round < check_count(60, 1500); round++) {
        surety_threat s = any_settings(&r);
        s.kind = SURETY_ATTACK_APGD;
        size_t d = draw_size(&r, 1, 40);
        random_vote v = random_vote_new(&r, d, (int)draw_size(&r, 0, 1));
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_examples e = surety_examples_of(&set.set, 0);
        double before[SURETY_BLOCK];
        int fooled[SURETY_BLOCK];
        for (s.restarts = 1; s.restarts <= 3; s.restarts++) {
            surety_attacker *a = attacker_of(&s, v.voters);
            const surety_attacked *result = surety_attacker_run(a, &v.vote, &e);
            for (size_t i = 0; i < e.rows && s.restarts > 1; i++) {
                check_that(result->fooled[i], >=, fooled[i]);
                if (result->fooled[i] == fooled[i]) check_that(result->loss[i], >=, before[i]);
            }
            for (size_t i = 0; i < e.rows; i++) before[i] = result->loss[i], fooled[i] = result->fooled[i];
            surety_attacker_free(a);
        }
        random_set_free(&set);
        random_vote_free(&v);
    }
}

/* ---- the naive attack: one example, double, straight from the text (docs/theory.md 3) ---- */

typedef struct naive {
    const surety_threat *s;
    const surety_voters *v; /* linear */
    const double *q;
    const float *x0;
    size_t y, d;
} naive;

/* Scores (K) of voter t, or (-h, h)/2 of two classes, and their slopes in x (K, d). */
static void naive_scores(const naive *n, size_t t, const double *x, double *h, double *slope) {
    surety_tensor w = surety_voters_tensor(n->v, 0), c = surety_voters_tensor(n->v, 1);
    size_t K = n->v->classes, width = n->v->width, d = n->d;
    double z[8] = {0}, sum = 0;
    for (size_t k = 0; k < width; k++) {
        size_t i = t * width + k;
        z[k] = (double)c.values[i];
        for (size_t j = 0; j < d; j++) z[k] += (double)w.values[i * w.stride + j] * x[j];
    }
    for (size_t k = 0; k < K; k++) sum += h[k] = exp(z[k]);
    for (size_t k = 0; k < K; k++) h[k] = K == 2 ? (k ? 0.5 : -0.5) * tanh(z[0]) : h[k] / sum;
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < d; j++) {
            double g = 0;
            for (size_t l = 0; l < K && K > 2; l++)
                g += h[k] * ((k == l) - h[l]) * (double)w.values[(t * K + l) * w.stride + j];
            if (K == 2) g = (k ? 0.5 : -0.5) * (1 - 4 * h[1] * h[1]) * (double)w.values[t * w.stride + j];
            slope[k * d + j] = g;
        }
}

/* The smallest margin, and the gradient of the loss up to a factor: that of the class nearest to winning. */
static double naive_vote(const naive *n, const double *x, double *gradient) {
    size_t K = n->v->classes, d = n->d, rival = 0;
    double f[8] = {0}, *slopes = calloc(2 * K * d, sizeof *slopes), *all = slopes + K * d, least = 2;
    for (size_t t = 0; t < n->v->H; t++) {
        double h[8];
        naive_scores(n, t, x, h, slopes);
        for (size_t k = 0; k < K; k++) f[k] += n->q[t] * h[k];
        for (size_t i = 0; i < K * d; i++) all[i] += n->q[t] * slopes[i];
    }
    for (size_t k = 0; k < K; k++)
        if (k != n->y && f[n->y] - f[k] < least) least = f[n->y] - f[k], rival = k;
    for (size_t j = 0; j < d; j++) gradient[j] = all[rival * d + j] - all[n->y * d + j];
    free(slopes);
    return least;
}

static void naive_project(const naive *n, double *x) {
    const surety_ball *ball = &n->s->ball;
    double b = ball->radius, squares = 0;
    int cube = ball->norm == SURETY_LINF;
    for (size_t j = 0; j < n->d; j++) squares += pow(x[j] - (double)n->x0[j], 2);
    double f = !cube && squares > b * b ? b / sqrt(squares) : 1;
    for (size_t j = 0; j < n->d; j++) {
        double x0 = (double)n->x0[j];
        x[j] = x0 + f * (x[j] - x0);
        if (cube) x[j] = fmin(x0 + b, fmax(x0 - b, x[j]));
        if (ball->has_box) x[j] = fmin(ball->hi, fmax(ball->lo, x[j]));
    }
}

/* l2 and linf, from x, real votes. out: the best iterate. */
static void naive_attack(const naive *n, double *out) {
    double x[64], g[64],
        best = -1,
        step = n->s->step_size > 0 ? n->s->step_size : 2.5 * n->s->ball.radius / (double)n->s->steps;
    for (size_t j = 0; j < n->d; j++) x[j] = (double)n->x0[j];
    for (size_t k = 0;; k++) {
        double margin = naive_vote(n, x, g), loss = 0.5 * (1 - margin), squares = 0;
        int wrong = margin <= 0;
        if (wrong || loss > best) memcpy(out, x, n->d * sizeof *x);
        best = fmax(best, loss);
        if (wrong || k == n->s->steps) return;
        for (size_t j = 0; j < n->d; j++) squares += g[j] * g[j];
        for (size_t j = 0; j < n->d; j++)
            x[j] += step * (n->s->ball.norm == SURETY_L2 ? g[j] / sqrt(squares) : (g[j] > 0) - (g[j] < 0));
        naive_project(n, x);
    }
}

static void the_naive_attack_agrees(void **state) {
    (void)state;
    draw r = {25};
    long far = 0;
    for (long round = 0; round < check_count(500, 10000); round++) {
        surety_threat s =
            settings_of(SURETY_ATTACK_IFGSM, (surety_norm)(round % 2), draw_real(&r, 0.05, 1.5));
        s.steps = draw_size(&r, 1, 25);
        if (draw_size(&r, 0, 1)) s.step_size = s.ball.radius * draw_real(&r, 0.05, 0.7);
        size_t d = draw_size(&r, 1, 60);
        random_vote v = random_vote_new(&r, d, 1);
        v.vote.voter_set = SURETY_REAL;
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_examples e = surety_examples_of(&set.set, 0);
        surety_attacker *a = attacker_of(&s, v.voters);
        const surety_attacked *result = surety_attacker_run(a, &v.vote, &e);
        for (size_t i = 0; i < e.rows; i++) {
            naive n = {&s, v.voters, v.weights, e.x[i], e.y[i], d};
            double want[64], g[64], apart = 0;
            naive_attack(&n, want);
            double loss = 0.5 * (1 - naive_vote(&n, want, g));
            for (size_t j = 0; j < d; j++) apart = fmax(apart, fabs(want[j] - (double)result->x[i][j]));
            far += apart > 1e-4; /* a sign or a comparison that rounding decided; the loss must agree still */
            check(fabs(loss - result->loss[i]) < 1e-3, "%s: loss %.9g, naive %.9g",
                  surety_norm_name(s.ball.norm), result->loss[i], loss);
        }
        surety_attacker_free(a);
        random_set_free(&set);
        random_vote_free(&v);
    }
    long all = check_count(500, 10000) * SURETY_BLOCK;
    check(far * 100 < all, "%ld of %ld points differ", far, all);
}

/* ---- early stop, zero gradients, zero radius ---- */

/* Rows that are wrong leave: with K steps a row moves until it is wrong, as runs of 0, 1, .. K steps show. */
/* Units of a tolerance are features scaled: the attack on voters whose weights are multiplied by r_j, at the
 * points x_j / r_j, without a tolerance, finds the same losses. Powers of two, so that scaling rounds
 * nothing. */
static void units_are_scaled_features(void **state) {
    (void)state;
    draw r = {32};
    long far = 0, all = 0;
    for (long round = 0; round < check_count(600, 20000); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_norm norm = (surety_norm)(round % 3);
        surety_threat_kind kinds[] = {SURETY_ATTACK_IFGSM, SURETY_ATTACK_FGSM, SURETY_ATTACK_APGD};
        surety_threat s = settings_of(kinds[draw_size(&r, 0, 2)], norm, draw_real(&r, 0.05, 1.5)), own = s;
        s.steps = own.steps = draw_size(&r, 1, 25);
        size_t d = draw_size(&r, 1, 60), stride = surety_padded(d);
        random_vote v = random_vote_new(&r, d, 1);
        v.vote.voter_set = SURETY_REAL;
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, 1, surety_voters_classes(v.voters));
        double radius[60], lo[60], hi[60];
        for (size_t j = 0; j < d; j++) {
            radius[j] = ldexp(1, (int)draw_size(&r, 0, 16) - 8);
            lo[j] = s.ball.lo * radius[j], hi[j] = s.ball.hi * radius[j];
        }
        surety_tolerance *tolerance = NULL;
        check_ok(surety_tolerance_new(&(surety_features){.d = d}, radius, lo, hi, &tolerance, &err));
        surety_examples e = surety_examples_of(&set.set, 0);
        surety_attacker *a = attacker_of(&s, v.voters);
        double plain[SURETY_BLOCK];
        memcpy(plain, surety_attacker_run(a, &v.vote, &e)->loss, sizeof plain);
        surety_attacker_free(a);
        surety_tensor w = surety_voters_tensor(v.voters, 0);
        for (size_t n = 0; n < w.rows * w.stride; n++)
            if (n % w.stride < d) w.values[n] /= (float)radius[n % w.stride];
        for (size_t n = 0; n < SURETY_BLOCK * stride; n++)
            if (n % stride < d) set.x[n] *= (float)radius[n % stride];
        surety_voters_changed(v.voters);
        own.ball.has_box = 0, own.ball.tolerance = tolerance;
        a = attacker_of(&own, v.voters);
        const surety_attacked *result = surety_attacker_run(a, &v.vote, &e);
        for (size_t i = 0; i < e.rows; i++, all++) {
            far += fabs(plain[i] - result->loss[i]) > 1e-4; /* a comparison that rounding decided */
            check(s.kind == SURETY_ATTACK_APGD || fabs(plain[i] - result->loss[i]) < 1e-3,
                  "%s %s: loss %.9g, in units %.9g", surety_threat_name(s.kind), surety_norm_name(norm),
                  plain[i], result->loss[i]);
        }
        surety_attacker_free(a);
        surety_tolerance_free(tolerance);
        random_set_free(&set);
        random_vote_free(&v);
    }
    check(far * 100 < all, "%ld of %ld losses differ", far, all);
}

static void early_stop_counts_moves(void **state) {
    (void)state;
    draw r = {26};
    for (long round = 0; round < check_count(60, 1000); round++) {
        surety_threat s = any_settings(&r);
        s.kind = SURETY_ATTACK_IFGSM;
        s.step_size = s.ball.radius * draw_real(&r, 0.05, 0.4);
        size_t d = draw_size(&r, 1, 40), K = draw_size(&r, 1, 8), expected = 0;
        random_vote v = random_vote_new(&r, d, 0);
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_examples e = surety_examples_of(&set.set, 0);
        for (size_t steps = 0; steps < K;
             steps++) { /* one move for every row that is still right after `steps` */
            surety_threat t = s;
            t.kind = steps ? s.kind : SURETY_ATTACK_NONE;
            t.steps = steps ? steps : 1;
            surety_attacker *a = attacker_of(&t, v.voters);
            const surety_attacked *result = surety_attacker_run(a, &v.vote, &e);
            for (size_t i = 0; i < e.rows; i++) {
                expected += !result->fooled[i];
                if (!steps && result->fooled[i]) assert_memory_equal(result->x[i], e.x[i], d * sizeof(float));
            }
            surety_attacker_free(a);
        }
        s.steps = K;
        surety_attacker *a = attacker_of(&s, v.voters);
        assert_int_equal(surety_attacker_run(a, &v.vote, &e)->moves, expected);
        surety_attacker_free(a);
        s.early_stop = 0;
        a = attacker_of(&s, v.voters);
        assert_int_equal(surety_attacker_run(a, &v.vote, &e)->moves, SURETY_BLOCK * K);
        surety_attacker_free(a);
        random_set_free(&set);
        random_vote_free(&v);
    }
}

static void zero_gradients_move_nothing(void **state) {
    (void)state;
    draw r = {27};
    enum { D = 21 };
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    check_ok(surety_linear_empty(&v, 2, D, 2, &err));
    surety_vote vote = {v, (const double[]){0.5, 0.5}, SURETY_REAL};
    for (int half = 0; half < 2; half++)
        for (int norm = 0; norm < 3; norm++)
            for (int huge = 0; huge < 2; huge++) {
                surety_threat s = settings_of(SURETY_ATTACK_IFGSM, (surety_norm)norm, huge ? 1e29 : 0.5);
                s.early_stop = 0;
                if (huge) s.step_size = 1e29;
                random_set set = random_set_new(&r, SURETY_BLOCK, D, &s.ball, 1, 2);
                surety_tensor w = surety_voters_tensor(v, 0);
                for (size_t j = 0; j < D; j += 2) w.values[j] = half ? (float)draw_normal(&r) : 0;
                surety_voters_changed(v);
                surety_examples e = surety_examples_of(&set.set, 0);
                surety_attacker *a = attacker_of(&s, v);
                const surety_attacked *result = surety_attacker_run(a, &vote, &e);
                for (size_t i = 0; i < SURETY_BLOCK; i++)
                    for (size_t j = half ? 1 : 0; j < D; j += half ? 2 : 1)
                        assert_memory_equal(&result->x[i][j], &e.x[i][j], sizeof(float));
                surety_attacker_free(a);
                random_set_free(&set);
            }
    surety_voters_free(v);
}

/* A gradient near the smallest or the largest floats still gives a direction; a zero one gives none. */
static void tiny_gradients_give_directions(void **state) {
    (void)state;
    for (int level = SURETY_GENERIC; level <= (int)surety_cpu_highest(); level++)
        for (int exponent = -37; exponent <= 37; exponent++) {
            const surety_step_kernels *k = surety_step_kernels_at((surety_level)level);
            float g[3] = {(float)pow(10, exponent)}, zero[3] = {0}, out[2][3];
            g[1] = 2 * g[0], g[2] = -2 * g[0];
            float squares[16] = {g[0] * g[0] + g[1] * g[1] + g[2] * g[2]}, inverse[16];
            const float *rows[2] = {g, zero};
            k->inverse_norms(rows, squares, 2, 3, inverse);
            surety_row_ball ball = {200, -1000, 1000, 3};
            double length = k->l2_leave(zero, g, zero, 100, inverse[0], ball, out[0]);
            k->l2_return(out[0], zero, length, ball);
            k->l2_inside(zero, g, 100, inverse[0], ball, out[1]);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 3; j++) {
                    double want = 100. / 3 * (j == 0 ? 1 : j == 1 ? 2 : -2);
                    check(fabs((double)out[i][j] - want) < 1e-4, "1e%d: %g, not %g", exponent,
                          (double)out[i][j], want);
                }
            check_that(inverse[1], ==, 0);
        }
}

/* Starts near the sphere, then short steps outward: those that are not measured must be the ones that cannot
 * leave the ball. In few dimensions many starts point the way of the gradient. */
static void short_steps_stay_in_the_ball(void **state) {
    (void)state;
    draw r = {29};
    enum { D = 2 };
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    check_ok(surety_linear_empty(&v, 1, D, 2, &err));
    surety_vote vote = {v, (const double[]){1}, SURETY_REAL};
    for (long round = 0; round < check_count(200, 5000); round++) {
        surety_threat s =
            settings_of(round % 2 ? SURETY_ATTACK_APGD : SURETY_ATTACK_PGD, SURETY_L2, draw_real(&r, 0.1, 1));
        s.steps = draw_size(&r, 1, 5);
        s.step_size = s.ball.radius * draw_real(&r, 0.001, 0.3);
        s.early_stop = s.ball.has_box = 0;
        s.seed = (uint64_t)round;
        random_set set = random_set_new(&r, SURETY_BLOCK, D, &s.ball, 1, 2);
        surety_tensor w = surety_voters_tensor(v, 0);
        for (size_t j = 0; j < D; j++) w.values[j] = (float)(0.1 * draw_normal(&r));
        surety_voters_changed(v);
        surety_examples e = surety_examples_of(&set.set, 0);
        surety_attacker *a = attacker_of(&s, v);
        const surety_attacked *result = surety_attacker_run(a, &vote, &e);
        for (size_t i = 0; i < SURETY_BLOCK; i++) {
            double far = surety_ball_distance(&(surety_ball){.norm = SURETY_L2}, result->x[i], e.x[i], D);
            check(far <= s.ball.radius, "round %ld: %.9g, radius %.9g", round, far, s.ball.radius);
        }
        surety_attacker_free(a);
        random_set_free(&set);
    }
    surety_voters_free(v);
}

static void zero_radius_is_no_attack(void **state) {
    (void)state;
    draw r = {28};
    for (int kind = 0; kind <= SURETY_ATTACK_APGD; kind++)
        for (int norm = 0; norm < 3; norm++) {
            surety_threat s = settings_of((surety_threat_kind)kind, (surety_norm)norm, 0);
            random_vote v = random_vote_new(&r, 13, 0);
            random_set set =
                random_set_new(&r, SURETY_BLOCK, 13, &s.ball, 1, surety_voters_classes(v.voters));
            surety_examples e = surety_examples_of(&set.set, 0);
            surety_attacker *a = attacker_of(&s, v.voters);
            surety_attacker_run(a, &v.vote, &e);
            for (size_t i = 0; i < SURETY_BLOCK; i++)
                for (size_t j = 0; j < 3; j++) {
                    float out[16];
                    surety_attacker_sample(a, i, j, out);
                    assert_memory_equal(out, e.x[i], 13 * sizeof(float));
                }
            surety_attacker_free(a);
            random_set_free(&set);
            random_vote_free(&v);
        }
}

/* ---- streams ---- */

enum { STREAMED = 40, WIDEST = 48 };

typedef struct streaming {
    surety_attacker *attacker;
    const uint32_t *order;
    size_t ended, fails_at;
    float x[STREAMED][WIDEST + 16];
} streaming;

static surety_status keep_sample(void *arg, size_t k, size_t r, size_t steps, surety_error *error) {
    streaming *s = arg;
    (void)steps;
    surety_attacker_sample(s->attacker, r, 0, s->x[s->order ? s->order[k] : k]);
    if (++s->ended == s->fails_at) return surety_fail(error, SURETY_E_CHECK, "enough");
    return SURETY_OK;
}

/* Does no vote decide anything? There is one start and no step. */
static int votes_idle(const surety_threat *s) {
    return s->kind == SURETY_ATTACK_NONE || (s->kind == SURETY_ATTACK_UNIF && s->restarts == 1);
}

/* Each example of a stream ends where it does in a block of its own, whoever was beside it and in whatever
 * order they come; and the voters may change between two streams of an attacker. A stream asks as often, but
 * for votes that decide nothing. Who listens may end it, and the attacker is as good as new. */
static void streams_are_runs(void **state) {
    (void)state;
    draw r = {33};
    static streaming one;
    for (long round = 0; round < check_count(150, 3000); round++) {
        surety_threat s = any_settings(&r);
        s.early_stop = (int)draw_size(&r, 0, 1);
        size_t d = draw_size(&r, 1, WIDEST);
        random_vote v = random_vote_new(&r, d, 0);
        random_set set = random_set_new(&r, STREAMED, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_attacker *a = attacker_of(&s, v.voters), *alone = attacker_of(&s, v.voters);
        for (int changed = 0; changed < 2; changed++) {
            uint32_t order[STREAMED];
            for (uint32_t i = 0; i < STREAMED; i++) order[i] = STREAMED - 1 - i;
            one = (streaming){.attacker = a, .order = draw_size(&r, 0, 1) ? order : NULL};
            size_t next = 0, asked = 0, pieces = draw_size(&r, 1, 4);
            surety_stream part = {.set = &set.set,
                                  .order = one.order,
                                  .next = &next,
                                  .ended = keep_sample,
                                  .arg = &one,
                                  .places = draw_size(&r, 1, SURETY_LANES)};
            surety_error err = SURETY_ERROR_NONE, failed = SURETY_ERROR_NONE;
            one.fails_at = draw_size(&r, 1, STREAMED), part.end = STREAMED;
            assert_int_equal(surety_attacker_stream(a, &v.vote, &part, &failed), SURETY_E_CHECK);
            check_that(one.ended, ==, one.fails_at);
            assert_string_equal(failed.what, "enough");
            one.ended = one.fails_at = next = part.asked = 0;
            for (size_t piece = 1; piece <= pieces; piece++, next = part.end) {
                part.end = piece * STREAMED / pieces;
                check_ok(surety_attacker_stream(a, &v.vote, &part, &err));
            }
            asked = part.asked;
            check(one.ended == STREAMED, "%zu of %d ended", one.ended, STREAMED);
            for (size_t i = 0; i < STREAMED; i++) {
                float out[WIDEST];
                surety_examples e = surety_examples_of(&set.set, i);
                e.rows = 1;
                const surety_attacked *found = surety_attacker_run(alone, &v.vote, &e);
                if (!votes_idle(&s)) asked -= found->asked;
                surety_attacker_sample(alone, 0, 0, out);
                assert_memory_equal(one.x[i], out, d * sizeof *out);
            }
            check(asked == 0, "a stream asks %zu times more", asked);
            surety_tensor w = surety_voters_tensor(v.voters, 0);
            for (size_t k = 0; k < w.rows * w.stride; k++) w.values[k] *= -0.5f;
            surety_voters_changed(v.voters);
        }
        surety_attacker_free(a);
        surety_attacker_free(alone);
        random_set_free(&set);
        random_vote_free(&v);
    }
}

/* ---- samples of the u-attacks ---- */

/* Sample j is the attacked point + noise, clipped to the box, then projected: recomputed in double from the
 * addressed draws. It does not depend on n. */
static void samples_are_noise_around_the_result(void **state) {
    (void)state;
    draw r = {29};
    for (long round = 0; round < check_count(150, 3000); round++) {
        surety_threat s = any_settings(&r), more;
        s.kind = draw_size(&r, 0, 1) ? SURETY_ATTACK_PGDU : SURETY_ATTACK_IFGSMU;
        s.noise = draw_real(&r, 0, 0.2);
        more = s;
        more.samples = 50;
        size_t d = draw_size(&r, 1, 48);
        random_vote v = random_vote_new(&r, d, 0);
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_examples e = surety_examples_of(&set.set, 0);
        surety_attacker *a = attacker_of(&s, v.voters), *b = attacker_of(&more, v.voters);
        const surety_attacked *result = surety_attacker_run(a, &v.vote, &e);
        surety_attacker_run(b, &v.vote, &e);
        for (size_t i = 0; i < SURETY_BLOCK; i++)
            for (size_t j = 0; j < s.samples; j++) {
                float out[48], other[48];
                double x[48], squares = 0, b0 = s.ball.radius;
                surety_attacker_sample(a, i, j, out);
                surety_attacker_sample(b, i, j, other);
                assert_memory_equal(out, other, d * sizeof(float));
                surety_address where = {
                    .row = e.row[i], .sample = (uint32_t)j, .purpose = SURETY_FOR_NOISE + SURETY_SET_LEARN};
                for (size_t k = 0; k < d; k++) {
                    x[k] = (double)result->x[i][k] + s.noise * (double)surety_random_noise(s.seed, &where, k);
                    if (s.ball.has_box) x[k] = fmin(s.ball.hi, fmax(s.ball.lo, x[k]));
                    x[k] -= (double)e.x[i][k];
                    squares += x[k] * x[k];
                }
                if (s.ball.norm == SURETY_L1) continue; /* see test of l1 */
                double f = squares > b0 * b0 ? b0 / sqrt(squares) : 1;
                for (size_t k = 0; k < d; k++) {
                    x[k] = s.ball.norm == SURETY_L2 ? f * x[k] : fmin(b0, fmax(-b0, x[k]));
                    check(fabs((double)out[k] - (double)e.x[i][k] - x[k]) < 5e-6 * (1 + b0),
                          "%s: %.9g, not %.9g", surety_norm_name(s.ball.norm), (double)out[k],
                          (double)e.x[i][k] + x[k]);
                }
            }
        surety_attacker_free(a), surety_attacker_free(b);
        random_set_free(&set);
        random_vote_free(&v);
    }
}

/* ---- the l1 ball ---- */

/* The projection is the nearest point: in the ball, and by convexity <e - p, q - p> <= 0 for every q of the
 * ball, whose extreme points are +-b along the axes. */
static void l1_projection_is_nearest(void **state) {
    (void)state;
    draw r = {30};
    for (long round = 0; round < check_count(2000, 100000); round++) {
        float x[50], x0[50], was[50];
        double differences[50];
        size_t d = draw_size(&r, 1, 50);
        double b = pow(10, draw_real(&r, -2, 1)), spread = pow(10, draw_real(&r, -2, 1)), inner = 0, most = 0,
               size = 0;
        for (size_t j = 0; j < d; j++) {
            x0[j] = (float)draw_real(&r, 0, 1);
            x[j] = was[j] = draw_size(&r, 0, 3) ? x0[j] + (float)(spread * draw_normal(&r)) : x0[j];
        }
        surety_l1_project(x, x0, b, d, differences);
        long double inside = true_distance(&(surety_ball){.norm = SURETY_L1}, was, x0, d);
        check_that(true_distance(&(surety_ball){.norm = SURETY_L1}, x, x0, d), <=, (long double)(b + 1e-5));
        if (inside <= (long double)b) assert_memory_equal(x, was, d * sizeof(float));
        for (size_t j = 0; j < d; j++) {
            double g = (double)was[j] - (double)x[j], p = (double)x[j] - (double)x0[j];
            inner += g * p, most = fmax(most, fabs(g)), size += g * g;
        }
        check(most * b - inner <= 1e-5 * (1 + b) * (1 + sqrt(size)), "not the nearest point: %g",
              most * b - inner);
    }
}

/* ---- neighbours, threads, levels ---- */

static void an_example_never_sees_its_neighbours(void **state) {
    (void)state;
    draw r = {31};
    for (long round = 0; round < check_count(100, 2000); round++) {
        surety_threat s = any_settings(&r);
        size_t d = draw_size(&r, 1, 60);
        random_vote v = random_vote_new(&r, d, 0);
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_examples all = surety_examples_of(&set.set, 0), some = {.which = all.which};
        size_t from[SURETY_BLOCK];
        for (size_t i = draw_size(&r, 0, SURETY_BLOCK - 1); i < SURETY_BLOCK; i += draw_size(&r, 1, 5)) {
            from[some.rows] = i;
            some.x[some.rows] = all.x[i], some.y[some.rows] = all.y[i], some.row[some.rows++] = all.row[i];
        }
        surety_attacker *a = attacker_of(&s, v.voters), *b = attacker_of(&s, v.voters);
        const surety_attacked *p = surety_attacker_run(a, &v.vote, &all),
                              *q = surety_attacker_run(b, &v.vote, &some);
        for (size_t i = 0; i < some.rows; i++) {
            float one[64], two[64];
            assert_memory_equal(p->x[from[i]], q->x[i], d * sizeof(float));
            check_that(p->loss[from[i]], ==, q->loss[i]);
            check_that(p->fooled[from[i]], ==, q->fooled[i]);
            surety_attacker_sample(a, from[i], 2, one);
            surety_attacker_sample(b, i, 2, two);
            assert_memory_equal(one, two, d * sizeof(float));
        }
        surety_attacker_free(a), surety_attacker_free(b);
        random_set_free(&set);
        random_vote_free(&v);
    }
}

static uint64_t digest_add(uint64_t digest, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return digest;
}

typedef struct collected {
    uint64_t digest, fooled;
    const surety_vote *vote;
    const surety_set *set;
} collected;

static surety_status collect(void *arg, size_t i, size_t j, const float *x, surety_error *err) {
    collected *c = arg;
    (void)j, (void)err;
    c->digest = digest_add(c->digest, x, c->set->d * sizeof *x);
    c->fooled += (uint64_t)wrong_at(c->vote, x, c->set->y[i]);
    return SURETY_OK;
}

/* Everything that surety_attack_set gives, for many settings; the counts are right besides. */
static uint64_t digest_sets(int threads, long rounds) {
    draw r = {32};
    collected c = {.digest = UINT64_C(0xcbf29ce484222325)};
    for (long round = 0; round < rounds; round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_threat s = any_settings(&r);
        surety_run run = {.threads = threads};
        size_t d = draw_size(&r, 1, 60), m = draw_size(&r, 1, 150);
        random_vote v = random_vote_new(&r, d, 0);
        random_set set = random_set_new(&r, m, d, &s.ball, 1, surety_voters_classes(v.voters));
        surety_attack_result result, silent;
        c.vote = &v.vote, c.set = &set.set, c.fooled = 0;
        check_ok(surety_attack_set(&s, &v.vote, &set.set, &(surety_perturbed_sink){collect, &c}, &result,
                                   &run, &err));
        check_ok(surety_attack_set(&s, &v.vote, &set.set, NULL, &silent, &run, &err));
        assert_memory_equal(&result, &silent, sizeof result);
        assert_int_equal(result.fooled, c.fooled);
        assert_int_equal(result.m, m);
        c.digest = digest_add(c.digest, &result, sizeof result);
        random_set_free(&set);
        random_vote_free(&v);
    }
    return c.digest;
}

static void same_bits_for_any_number_of_threads(void **state) {
    (void)state;
    const int threads[] = {2, 3, 7};
    long rounds = check_count(20, 200);
    uint64_t first = digest_sets(1, rounds);
    for (int i = 0; i < 3; i++) check_that(digest_sets(threads[i], rounds), ==, first);
}

/* ---- bad input, stopping, memory ---- */

static void wrong_settings_get_a_sentence(void **state) {
    (void)state;
    surety_threat good = settings_of(SURETY_ATTACK_PGDU, SURETY_L2, 1);
    surety_error err = SURETY_ERROR_NONE;
    check_ok(surety_threat_validate(&good, &err));
    enum { CASES = 25 };
    surety_threat bad[CASES];
    for (size_t i = 0; i < CASES; i++) bad[i] = good;
    bad[0].ball.radius = -1;
    bad[1].ball.radius = NAN;
    bad[2].ball.radius = HUGE_VAL;
    bad[3].steps = 0;
    bad[4].step_size = -0.1;
    bad[5].step_size = NAN;
    bad[6].noise = -0.01;
    bad[7].noise = NAN;
    bad[8].samples = 0;
    bad[9].samples = SURETY_SAMPLE_LIMIT;
    bad[10].restarts = 0;
    bad[11].restarts = SURETY_RESTART_LIMIT;
    bad[12].seed = UINT64_C(1) << 63;
    bad[13].epoch = SURETY_EPOCH_LIMIT;
    bad[14].ball.lo = 1;
    bad[15].ball.hi = NAN;
    bad[16].kind = SURETY_THREATS;
    bad[17].ball.norm = (surety_norm)3;
    bad[18].steps = 1000001;
    bad[19].kind = SURETY_ATTACK_APGD, bad[19].restarts = SURETY_RESTART_LIMIT / 2;
    bad[20].budget = SURETY_BUDGET_MOST + UINT64_C(1);
    bad[21] = bad[20], bad[21].kind = SURETY_WORST_CASE;
    bad[22].ball.slack = 1;
    bad[23].step_size = 2 * SURETY_LARGEST;
    bad[24].noise = 2 * SURETY_LARGEST;
    for (size_t i = 0; i < CASES; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        check(surety_threat_validate(&bad[i], &err) == SURETY_E_USAGE && err.what[0], "case %zu passes", i);
    }
    good.kind = SURETY_ATTACK_NONE, good.steps = 0; /* it takes none */
    err = (surety_error)SURETY_ERROR_NONE;
    check_ok(surety_threat_validate(&good, &err));
    surety_threat_kind kind;
    assert_int_equal(surety_threat_parse("pgdd", &kind, &err), SURETY_E_USAGE);
    assert_non_null(strstr(err.what, "did you mean 'pgd'"));
}

static void data_that_cannot_be_attacked(void **state) {
    (void)state;
    draw r = {33};
    surety_threat s = settings_of(SURETY_ATTACK_NONE, SURETY_L2, 1), open = s;
    open.ball.has_box = 0;
    random_vote v = random_vote_new(&r, 5, 0);
    random_set set = random_set_new(&r, 40, 5, &s.ball, 1, surety_voters_classes(v.voters));
    surety_attack_result result;
    const float bad[] = {1.0001f, -1e-7f, NAN, HUGE_VALF, -HUGE_VALF, 2e30f};
    for (size_t i = 0; i < 6; i++)
        for (int boxed = 0; boxed < 2; boxed++) {
            surety_error err = SURETY_ERROR_NONE;
            float was = set.x[33 * 16 + 2];
            set.x[33 * 16 + 2] = bad[i];
            surety_status status =
                surety_attack_set(boxed ? &s : &open, &v.vote, &set.set, NULL, &result, NULL, &err);
            set.x[33 * 16 + 2] = was;
            assert_int_equal(status, boxed || i > 1 ? SURETY_E_INPUT : SURETY_OK);
            if (status) {
                assert_non_null(strstr(err.what, "feature 2"));
                assert_string_equal(err.place, "row 234"); /* 7 * 33 + 3, as the set says */
            }
        }
    surety_error err = SURETY_ERROR_NONE;
    surety_set other = set.set;
    other.d = 4;
    assert_int_equal(surety_attack_set(&s, &v.vote, &other, NULL, &result, NULL, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.expected, "5 features"));
    err = (surety_error)SURETY_ERROR_NONE;
    other = set.set;
    other.m = 0;
    assert_int_equal(surety_attack_set(&s, &v.vote, &other, NULL, &result, NULL, &err), SURETY_E_INPUT);
    random_set_free(&set);
    random_vote_free(&v);
}

static surety_status refuse(void *arg, size_t i, size_t j, const float *x, surety_error *err) {
    (void)arg, (void)j, (void)x;
    return i == 20 ? surety_fail(err, SURETY_E_SYSTEM, "full") : SURETY_OK;
}

static void failing_along_the_way(void **state) {
    (void)state;
    draw r = {34};
    surety_threat s = settings_of(SURETY_ATTACK_PGDU, SURETY_L2, 1);
    random_vote v = random_vote_new(&r, 5, 0);
    random_set set = random_set_new(&r, 40, 5, &s.ball, 1, surety_voters_classes(v.voters));
    surety_attack_result result;
    surety_error err = SURETY_ERROR_NONE;
    assert_int_equal(
        surety_attack_set(&s, &v.vote, &set.set, &(surety_perturbed_sink){refuse, NULL}, &result, NULL, &err),
        SURETY_E_SYSTEM);
    assert_string_equal(err.what, "full");
    volatile sig_atomic_t stop = 1;
    surety_run run = {.threads = 2, .stop = &stop};
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_attack_set(&s, &v.vote, &set.set, NULL, &result, &run, &err), SURETY_E_STOPPED);
    run.stop = NULL;
    surety_status status = SURETY_E_MEMORY;
    for (int k = 0; status != SURETY_OK; k++) {
        long left = k;
        err = (surety_error)SURETY_ERROR_NONE;
        surety_memory_hook(check_fail_at, &left);
        status = surety_attack_set(&s, &v.vote, &set.set, NULL, &result, &run, &err);
        surety_memory_hook(NULL, NULL);
        check(status == SURETY_OK || status == SURETY_E_MEMORY, "allocation %d: %s, %s", k,
              surety_status_name(status), err.what);
    }
    char *json = surety_attack_result_json(&result);
    assert_non_null(strstr(json, "\"norm_max\": "));
    assert_non_null(strstr(json, "\"fooled\": "));
    surety_text_free(json);
    random_set_free(&set);
    random_vote_free(&v);
}

static uint64_t digest(void) {
    return digest_sets(2, 60);
}

int main(int argc, char **argv) {
    if (levels_begin(argc, argv, digest)) return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_voters_reach_the_optimum),
        cmocka_unit_test(boxes_that_bind),
        cmocka_unit_test(the_result_is_what_it_says),
        cmocka_unit_test(more_work_never_hurts),
        cmocka_unit_test(apgd_is_the_strongest),
        cmocka_unit_test(more_passes_never_hurt),
        cmocka_unit_test(the_naive_attack_agrees),
        cmocka_unit_test(units_are_scaled_features),
        cmocka_unit_test(early_stop_counts_moves),
        cmocka_unit_test(zero_gradients_move_nothing),
        cmocka_unit_test(tiny_gradients_give_directions),
        cmocka_unit_test(short_steps_stay_in_the_ball),
        cmocka_unit_test(zero_radius_is_no_attack),
        cmocka_unit_test(streams_are_runs),
        cmocka_unit_test(samples_are_noise_around_the_result),
        cmocka_unit_test(l1_projection_is_nearest),
        cmocka_unit_test(an_example_never_sees_its_neighbours),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(same_bits_at_every_level_with_fma),
        cmocka_unit_test(wrong_settings_get_a_sentence),
        cmocka_unit_test(data_that_cannot_be_attacked),
        cmocka_unit_test(failing_along_the_way),
    };
    return cmocka_run_group_tests_name("attack", tests, NULL, NULL);
}
