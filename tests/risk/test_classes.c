/* risk: K classes beside plain loops over examples, perturbations, classes and voters that follow
 * docs/theory.md 4.7 word for word; two classes by labels and scores beside the binary way in, bit for bit;
 * the ways in beside each other.
 */
#include "check.h"
#include "draw.h"

#include <math.h>

#include "base/memory.h"
#include "risk/accumulate.h"
#include "risk/simplex.h"
#include "risk/vote.h"

enum { MAX_H = 12, MAX_N = 7, MAX_M = 20, MAX_K = 10, NONE = SURETY_NO_CLASS };

typedef enum way { LABELS, SCORES, LIMITS } way;

typedef struct problem {
    size_t m, n, H, K;
    way way;
    int signed_votes, has_prior;
    uint8_t labels[MAX_M][MAX_N][MAX_H];
    float scores[MAX_M][MAX_N][MAX_H][MAX_K];
    float limits[MAX_M][MAX_H][MAX_K]; /* K - 1 of them are used */
    unsigned y[MAX_M];
    double q[MAX_H], p[MAX_H];
} problem;

/* ---- problems ---- */

static double uniform(draw *d) {
    return draw_real(d, 0, 1);
}

/* Eighths that are dealt out one by one make ties common; else any scores that sum to 1 as float32 has it. */
static void draw_scores(draw *d, size_t K, int kind, unsigned favoured, float *s) {
    double sum = 0, raw[MAX_K];
    for (size_t k = 0; k < K; k++) s[k] = 0;
    for (int i = 0; i < 8 && kind == 0; i++)
        s[uniform(d) < .3 ? favoured : (unsigned)draw_size(d, 0, K - 1)] += .125f;
    for (size_t k = 0; k < K; k++) raw[k] = -log(draw_real(d, 1e-9, 1)) + (k == favoured), sum += raw[k];
    for (size_t k = 0; k < K && kind != 0; k++) s[k] = (float)(raw[k] / sum);
}

static void draw_weights(draw *d, size_t H, double *q) {
    size_t kind = draw_size(d, 0, 3);
    for (size_t h = 0; h < H; h++) q[h] = kind == 0 ? 0 : kind == 1 ? 900 * uniform(d) : 3 * uniform(d);
    surety_simplex_softmax(q, H, q);
    if (kind == 3) memset(q, 0, H * sizeof *q), q[draw_size(d, 0, H - 1)] = 1;
}

static void draw_votes(draw *d, problem *p, size_t i, size_t j, size_t h, int kind) {
    unsigned lucky = uniform(d) < .5 ? p->y[i] : (unsigned)draw_size(d, 0, p->K - 1);
    p->labels[i][j][h] = (uint8_t)(uniform(d) < .1 ? NONE : lucky);
    draw_scores(d, p->K, kind, lucky, p->scores[i][j][h]);
}

static void draw_problem(draw *d, problem *p, way w) {
    p->m = draw_size(d, 1, MAX_M), p->H = draw_size(d, 1, MAX_H), p->K = draw_size(d, 3, MAX_K);
    p->n = w == LIMITS ? 1 : draw_size(d, 1, MAX_N);
    p->way = w;
    p->signed_votes = uniform(d) < .5, p->has_prior = uniform(d) < .7;
    int kind = (int)draw_size(d, 0, 1);
    for (size_t i = 0; i < p->m; i++) {
        p->y[i] = (unsigned)draw_size(d, 0, p->K - 1);
        for (size_t j = 0; j < p->n; j++)
            for (size_t h = 0; h < p->H; h++) draw_votes(d, p, i, j, h, kind);
        for (size_t h = 0; h < p->H; h++)
            for (size_t k = 0; k < p->K; k++)
                p->limits[i][h][k] = p->signed_votes ? (float)draw_size(d, 0, 2) - 1
                                     : kind          ? (float)draw_real(d, -.5, 1)
                                                     : (float)draw_size(d, 0, 4) / 2 - 1;
    }
    draw_weights(d, p->H, p->q);
    draw_weights(d, p->H, p->p);
}

/* ---- the definitions ---- */

/* v of voter h at perturbation j against class k. */
static double v_at(const problem *p, size_t i, size_t j, size_t k, size_t h) {
    unsigned y = p->y[i], label = p->labels[i][j][h], most = 0;
    const float *s = p->scores[i][j][h];
    if (p->way == LIMITS) return (double)p->limits[i][h][k < y ? k : k - 1];
    if (p->way == SCORES && !p->signed_votes) return (double)s[y] - (double)s[k];
    if (p->way == SCORES) {
        for (unsigned c = 0; c < p->K; c++) most = s[c] > s[most] ? c : most;
        label = most;
        for (unsigned c = 0; c < p->K; c++)
            if (c != most && s[c] >= s[most]) label = NONE;
    }
    return label == NONE ? 0 : label == y ? 1 : label == k ? -1 : 0;
}

/* The vote at (j, k): a double, in the order of the voters. */
static double vote_at(const problem *p, const double *q, size_t i, size_t j, size_t k) {
    double sum = 0;
    for (size_t h = 0; h < p->H; h++) sum += q[h] * v_at(p, i, j, k, h);
    return sum;
}

/* -1 wrong, 0 tied, 1 right. */
static int verdict(const problem *p, const double *q, size_t i, size_t j) {
    int least = 1;
    for (size_t k = 0; k < p->K; k++) {
        if (k == p->y[i]) continue;
        double vote = vote_at(p, q, i, j, k);
        if (vote <= 0 && least > 0) least = 0;
        if (vote < 0) least = -1;
    }
    return least;
}

static long double loss_at(const problem *p, size_t i, size_t j, size_t k, size_t h) {
    return (1 - (long double)v_at(p, i, j, k, h)) / 2;
}

static long double worst_class(const problem *p, size_t i, size_t j, size_t h) {
    long double most = 0;
    for (size_t k = 0; k < p->K; k++)
        if (k != p->y[i]) most = fmaxl(most, loss_at(p, i, j, k, h));
    return most;
}

typedef struct naive {
    uint64_t wrong, tied, max_wrong, max_tied, prior_wrong, prior_max_wrong;
    long double rbar, abar, gmax, tv, tandem;
    long double loss[MAX_H], max_loss[MAX_H], worst_loss[MAX_H], anchored_loss[MAX_H], anchored_max[MAX_H];
    uint64_t errors[MAX_H], anchored_errors[MAX_H], examples[MAX_K], failed[MAX_K];
} naive;

static long double total(const problem *p) {
    long double all = 0;
    for (size_t h = 0; h < p->H; h++) all += p->q[h];
    return all;
}

static void naive_vote(const problem *p, size_t i, naive *r) {
    int wrong = 0, tied = 0, prior_wrong = 0;
    for (size_t j = 0; j < p->n; j++) {
        int here = verdict(p, p->q, i, j);
        wrong += here < 0, tied += here == 0;
        prior_wrong += !p->has_prior || verdict(p, p->p, i, j) < 1;
        long double e = 0;
        for (size_t h = 0; h < p->H; h++) e += p->q[h] * worst_class(p, i, j, h);
        r->tandem += e / total(p) * (e / total(p));
    }
    r->wrong += (unsigned)wrong, r->tied += (unsigned)tied, r->prior_wrong += (unsigned)prior_wrong;
    r->max_wrong += wrong > 0, r->max_tied += !wrong && tied, r->prior_max_wrong += prior_wrong > 0;
    r->examples[p->y[i]]++, r->failed[p->y[i]] += wrong + tied > 0;
}

/* Abar, TV and the losses at the column that is worst for Q (the first of several within what 2^-32 tells
 * apart). */
static void naive_columns(const problem *p, size_t i, naive *r) {
    long double worst = -1, missed = 2, all = total(p);
    for (size_t j = 0; j < p->n; j++)
        for (size_t k = 0; k < p->K; k++) {
            if (k == p->y[i]) continue;
            long double e = 0, lost = 0;
            for (size_t h = 0; h < p->H; h++) {
                double least = 1;
                for (size_t b = 0; b < p->n; b++)
                    for (size_t c = 0; c < p->K; c++)
                        if (c != p->y[i]) least = fmin(least, v_at(p, i, b, c, h));
                e += p->q[h] * loss_at(p, i, j, k, h) / all;
                lost += v_at(p, i, j, k, h) > least ? p->q[h] / all : 0;
            }
            worst = fmaxl(worst, e), missed = fminl(missed, lost);
        }
    r->abar += worst, r->tv += missed;
}

static void naive_voters(const problem *p, size_t i, naive *r) {
    int all_right = p->has_prior;
    for (size_t j = 0; j < p->n; j++) all_right &= verdict(p, p->p, i, j) == 1;
    for (size_t h = 0; h < p->H; h++) {
        long double most = 0;
        for (size_t j = 0; j < p->n; j++) {
            long double l = worst_class(p, i, j, h);
            most = fmaxl(most, l);
            r->loss[h] += l;
            if (p->has_prior && verdict(p, p->p, i, j) == 1) r->anchored_loss[h] += l;
        }
        r->max_loss[h] += most, r->errors[h] += most >= .5L;
        if (all_right) r->anchored_max[h] += most, r->anchored_errors[h] += most >= .5L;
    }
}

static void naive_all(const problem *p, naive *r) {
    long double m = p->m, mn = m * p->n;
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < p->m; i++) naive_vote(p, i, r), naive_columns(p, i, r), naive_voters(p, i, r);
    for (size_t h = 0; h < p->H; h++) {
        r->rbar += p->q[h] * r->loss[h] / mn / total(p);
        r->gmax += p->q[h] * r->max_loss[h] / m / total(p);
    }
    r->abar /= m, r->tv /= m, r->tandem /= mn;
}

/* ---- the library ---- */

static surety_risk *open_risk(const problem *p) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *a = NULL;
    surety_risk_settings s = {p->H, p->n, p->signed_votes, p->q, p->has_prior ? p->p : NULL, p->K};
    check_ok(surety_risk_new(&s, &a, &err));
    return a;
}

static void add_example(surety_risk *a, const problem *p, size_t i) {
    surety_error err = SURETY_ERROR_NONE;
    static float packed[MAX_N * MAX_H * MAX_K];
    const float *scores = &p->scores[i][0][0][0];
    for (size_t j = 0; j < p->n; j++)
        for (size_t h = 0; h < p->H; h++)
            for (size_t k = 0; k < p->K; k++)
                packed[(j * MAX_H + h) * p->K + k] = scores[(j * MAX_H + h) * MAX_K + k];
    if (p->way == LABELS)
        check_ok(surety_risk_add_labels(a, p->labels[i][0], MAX_H, p->y[i], &err));
    else if (p->way == SCORES)
        check_ok(surety_risk_add_scores(a, packed, MAX_H * p->K, p->y[i], &err));
    else {
        for (size_t h = 0; h < p->H; h++)
            for (size_t c = 0; c < p->K - 1; c++) packed[3 * (h * (p->K - 1) + c)] = p->limits[i][h][c];
        check_ok(surety_risk_add_limits(a, packed, 3, p->y[i], &err));
    }
}

static void run(const problem *p, surety_risks *out) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *a = open_risk(p);
    for (size_t i = 0; i < p->m; i++) add_example(a, p, i);
    check_ok(surety_risk_result(a, out, &err));
    surety_risk_free(a);
}

/* Never below, and above by less than the units that were rounded up. */
static void upper(const char *what, double got, long double exact) {
    check((long double)got >= exact - 1e-18L && (long double)got <= exact + 1e-9L,
          "%s is %.17g, exactly %.20Lg", what, got, exact);
}

static void sums_up(const char *what, size_t h, uint64_t got, long double exact, size_t terms) {
    long double units = exact * 0x1p32L;
    check((long double)got >= units - 1e-6L && (long double)got <= units + (long double)terms,
          "%s of voter %zu is %llu units, exactly %.9Lf", what, h, (unsigned long long)got, units);
}

static void compare(const problem *p, const surety_risks *r) {
    static naive e;
    naive_all(p, &e);
    check_that(r->m, ==, p->m);
    check_that(r->classes, ==, p->K);
    check_that(r->n, ==, p->n);
    check_that(r->wrong, ==, e.wrong);
    check_that(r->tied, ==, e.tied);
    check_that(r->max_wrong, ==, e.max_wrong);
    check_that(r->max_tied, ==, e.max_tied);
    check_that(r->prior_wrong, ==, e.prior_wrong);
    check_that(r->prior_max_wrong, ==, e.prior_max_wrong);
    upper("Rbar", r->rbar, e.rbar), upper("Abar", r->abar, e.abar), upper("Gmax", r->gmax, e.gmax);
    upper("TV", r->tv, e.tv), upper("tandem", r->tandem, e.tandem);
    for (size_t h = 0; h < p->H; h++) {
        sums_up("loss", h, r->loss[h], e.loss[h], p->m * p->n);
        sums_up("max_loss", h, r->max_loss[h], e.max_loss[h], p->m);
        sums_up("anchored_loss", h, r->anchored_loss[h], e.anchored_loss[h], p->m * p->n);
        sums_up("anchored_max", h, r->anchored_max[h], e.anchored_max[h], p->m);
        assert_int_equal(r->errors[h], e.errors[h]);
        assert_int_equal(r->anchored_errors[h], e.anchored_errors[h]);
        check_that(r->worst_loss[h], <=, r->max_loss[h]);
    }
    assert_memory_equal(r->class_examples, e.examples, p->K * sizeof *e.examples);
    assert_memory_equal(r->class_failed, e.failed, p->K * sizeof *e.failed);
}

/* What docs/theory.md 4.7 promises for every set of votes. Rbar <= Abar is not among it. */
static void promised(const problem *p, const surety_risks *r) {
    double slack = surety_vote_margin(p->H), at_worst = 0;
    check_that(r->averaged, <=, r->averaged_max);
    check_that(r->abar, <=, r->gmax);
    check_that(r->rbar, <=, r->gmax);
    check_that(r->gmax, <=, r->abar + r->tv);
    check_that(r->averaged, <=, 2 * r->rbar + slack);
    check_that(r->averaged_max, <=, 2 * r->abar + slack);
    check_that(r->tandem, <=, r->rbar + 1e-9);
    check_that(r->averaged, <=, 4 * r->tandem + 2 * slack);
    for (size_t h = 0; h < p->H; h++) at_worst += p->q[h] * r->mean_worst_loss[h];
    check_that(fabs(at_worst - r->abar), <, 1e-8);
}

static void agrees_with_plain_loops(void **state) {
    (void)state;
    draw d = {71};
    static problem p;
    for (long t = 0; t < check_count(300, 20000); t++) {
        draw_problem(&d, &p, (way)(t % 3));
        surety_risks r;
        run(&p, &r);
        compare(&p, &r);
        promised(&p, &r);
        surety_risks_free(&r);
    }
}

/* One example of class 1, K = 3, two voters, Q = (3/4, 1/4), two perturbations:
 *   j=0: scores (1/4, 1/2, 1/4) and (1/2, 1/4, 1/4): v against 0: 1/4, -1/4; against 2: 1/4, 0.
 *        Votes 1/8 and 3/16: right. Losses 3/8, 5/8 and 3/8, 1/2; max over k 3/8, 5/8.
 *   j=1: scores (0, 1/2, 1/2) and (0, 0, 1): v against 0: 1/2, 0; against 2: 0, -1. Votes 3/8 and -1/4:
 * wrong. Losses 1/4, 1/2 and 1/2, 1; max over k 1/2, 1. */
static void by_hand(void **state) {
    (void)state;
    const float scores[] = {.25f, .5f, .25f, .5f, .25f, .25f, 0, .5f, .5f, 0, 0, 1};
    const double q[] = {.75, .25};
    const uint64_t one = SURETY_LOSS_ONE;
    surety_risk_settings s = {.voter_count = 2, .samples = 2, .posterior = q, .prior = q, .classes = 3};
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *a = NULL;
    surety_risks r;
    check_ok(surety_risk_new(&s, &a, &err));
    check_ok(surety_risk_add_scores(a, scores, 6, 1, &err));
    check_ok(surety_risk_result(a, &r, &err));
    check_that(r.wrong, ==, 1);
    check_that(r.tied, ==, 0);
    check_that(r.max_wrong, ==, 1);
    check_that(r.prior_wrong, ==, 1);
    check_that(r.loss[0], ==, one / 8 * 7);
    check_that(r.loss[1], ==, one / 8 * 13);
    check_that(r.max_loss[0], ==, one / 2);
    check_that(r.max_loss[1], ==, one);
    check_that(r.worst_loss[0], ==, one / 2);
    check_that(r.worst_loss[1], ==, one); /* column (1, 2): e = 5/8 */
    check_that(r.anchored_loss[0], ==, one / 8 * 3);
    check_that(r.anchored_loss[1], ==, one / 8 * 5);
    check_that(fabs(r.abar - .625), <, 1e-9);
    check_that(r.tv_sum, <, 4);
    double e0 = .75 * 3 / 8 + .25 * 5 / 8, e1 = .75 / 2 + .25;
    check_that(fabs(r.rbar - (e0 + e1) / 2), <, 1e-9);
    check_that(fabs(r.tandem - (e0 * e0 + e1 * e1) / 2), <, 1e-9);
    check_that(r.class_examples[1], ==, 1);
    check_that(r.class_failed[1], ==, 1);
    check_that(r.class_examples[0], ==, 0);
    surety_risks_free(&r);
    surety_risk_free(a);
}

/* ---- bits ---- */

static void same(const surety_risks *a, const surety_risks *b) {
    size_t arrays = SURETY_RISK_ARRAYS * a->voter_count + 2 * a->classes;
    check_that(a->m, ==, b->m);
    check_that(a->classes, ==, b->classes);
    assert_memory_equal(&a->wrong, &b->wrong, 9 * sizeof(uint64_t));
    assert_memory_equal(&a->averaged, &b->averaged, 7 * sizeof(double));
    assert_memory_equal(a->loss, b->loss, arrays * sizeof *a->loss);
}

/* Two classes: labels and scores give the sums of the binary votes that they are, in every bit. */
static void two_classes_are_the_binary_vote(void **state) {
    (void)state;
    draw d = {72};
    static problem p;
    for (long t = 0; t < check_count(60, 3000); t++) {
        draw_problem(&d, &p, t % 2 ? LABELS : SCORES);
        p.K = 2;
        surety_error err = SURETY_ERROR_NONE;
        surety_risk *binary = open_risk(&p), *classes = open_risk(&p);
        for (size_t i = 0; i < p.m; i++) {
            float votes[MAX_N * MAX_H];
            p.y[i] %= 2;
            for (size_t k = 0; k < p.n * MAX_H; k++) {
                float v = (float)draw_size(&d, 0, 64) / 32 - 1; /* (1 + v)/2 and its complement are exact */
                if (t % 2) v = (float)((int)draw_size(&d, 0, 2) - 1);
                votes[k] = v;
                p.labels[i][k / MAX_H][k % MAX_H] = v > 0 ? 1 : v < 0 ? 0 : NONE;
                p.scores[i][k / MAX_H][k % MAX_H][0] = (1 - v) / 2;
                p.scores[i][k / MAX_H][k % MAX_H][1] = (1 + v) / 2;
            }
            check_ok(surety_risk_add(binary, votes, MAX_H, p.y[i] ? 1 : -1, &err));
            add_example(classes, &p, i);
        }
        surety_risks x, z;
        check_ok(surety_risk_result(binary, &x, &err));
        check_ok(surety_risk_result(classes, &z, &err));
        same(&x, &z);
        surety_risks_free(&x), surety_risks_free(&z);
        surety_risk_free(binary), surety_risk_free(classes);
    }
}

/* Scores as float, as double, side by side; in two parts that are merged; labels as one-hot scores. */
static void ways_in_agree(void **state) {
    (void)state;
    draw d = {73};
    static problem p;
    static float columns[MAX_H * MAX_K * (MAX_N + 2)];
    static double doubles[MAX_N * MAX_H * MAX_K];
    for (long t = 0; t < check_count(60, 3000); t++) {
        draw_problem(&d, &p, SCORES);
        surety_error err = SURETY_ERROR_NONE;
        enum { PARTS = 3 };
        surety_risk *part[PARTS], *one_hot = open_risk(&p);
        surety_risks r[3];
        for (int k = 0; k < PARTS; k++) part[k] = open_risk(&p);
        for (size_t i = 0; i < p.m; i++) {
            for (size_t k = 0; k < p.n * p.H * p.K; k++) {
                size_t c = k % p.K, h = k / p.K % p.H, j = k / p.K / p.H;
                doubles[k] = (double)p.scores[i][j][h][c];
                columns[(h * p.K + c) * (p.n + 2) + j] = p.scores[i][j][h][c];
            }
            if (i % PARTS == 0) add_example(part[0], &p, i);
            if (i % PARTS == 1)
                check_ok(surety_risk_add_scores_double(part[1], doubles, p.H * p.K, p.y[i], &err));
            if (i % PARTS == 2)
                check_ok(surety_risk_add_score_columns(part[2], columns, p.n + 2, p.y[i], &err));
        }
        check_ok(surety_risk_merge(part[2], part[1], &err));
        check_ok(surety_risk_merge(part[0], part[2], &err));
        check_ok(surety_risk_result(part[0], &r[0], &err));
        run(&p, &r[1]);
        same(&r[0], &r[1]);
        for (size_t k = 0; k < sizeof p.labels; k++) (&p.labels[0][0][0])[k] %= (uint8_t)p.K;
        for (size_t k = 0; k < sizeof p.scores / sizeof(float); k++)
            (&p.scores[0][0][0][0])[k] = (&p.labels[0][0][0])[k / MAX_K] == k % MAX_K;
        for (size_t i = 0; i < p.m; i++) add_example(one_hot, &p, i);
        check_ok(surety_risk_result(one_hot, &r[2], &err));
        surety_risks_free(&r[1]);
        p.way = LABELS, run(&p, &r[1]);
        same(&r[2], &r[1]);
        for (int k = 0; k < 3; k++) surety_risks_free(&r[k]), surety_risk_free(part[k]);
        surety_risk_free(one_hot);
    }
}

/* ---- refusals ---- */

static void refused(surety_status got, surety_error *err, surety_status code, const char *place) {
    check(got == code && !strcmp(err->place, place), "%s at '%s': %s", surety_status_name(got), err->place,
          err->what);
    *err = (surety_error)SURETY_ERROR_NONE;
}

static void bad_votes_are_refused(void **state) {
    (void)state;
    const double q[] = {.5, .5};
    surety_risk_settings s = {.voter_count = 2, .samples = 2, .posterior = q, .classes = 3};
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *a = NULL, *one = NULL;
    surety_risks r;
    check_ok(surety_risk_new(&s, &a, &err));
    const float bad[] = {NAN, -1e-7f, 1.5f, INFINITY};
    for (int k = 0; k < 4; k++) {
        float scores[12] = {1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0};
        scores[11] = bad[k];
        refused(surety_risk_add_scores(a, scores, 6, 0, &err), &err, SURETY_E_INPUT,
                "perturbation 1, voter 1, class 2");
        refused(surety_risk_add_score_columns(a, scores, 2, 0, &err), &err, SURETY_E_INPUT,
                "perturbation 1, voter 1, class 2");
    }
    float scores[12] = {1, 0, 0, 1, 0, 0, 1, 0, 0, .5f, 0, .499f};
    refused(surety_risk_add_scores(a, scores, 6, 0, &err), &err, SURETY_E_INPUT, "perturbation 1, voter 1");
    refused(surety_risk_add_scores(a, scores, 6, 3, &err), &err, SURETY_E_INPUT, "");
    uint8_t labels[] = {0, 1, 255, 3};
    refused(surety_risk_add_labels(a, labels, 2, 0, &err), &err, SURETY_E_INPUT, "perturbation 1, voter 1");
    refused(surety_risk_add(a, scores, 2, 1, &err), &err, SURETY_E_USAGE, "");
    refused(surety_risk_add_limits(a, scores, 1, 1, &err), &err, SURETY_E_USAGE, "");
    refused(surety_risk_result(a, &r, &err), &err, SURETY_E_USAGE, ""); /* nothing was added */
    s.samples = 1;
    check_ok(surety_risk_new(&s, &one, &err));
    const float limits[] = {1, -1, 0, NAN};
    refused(surety_risk_add_limits(one, limits, 1, 2, &err), &err, SURETY_E_INPUT, "voter 1, class 1");
    refused(surety_risk_add_limits(one, limits, 1, 1, &err), &err, SURETY_E_INPUT, "voter 1, class 2");
    refused(surety_risk_merge(one, a, &err), &err, SURETY_E_USAGE, "");
    surety_risk_free(a), surety_risk_free(one);
    s.signed_votes = 1;
    check_ok(surety_risk_new(&s, &one, &err));
    const float not_signs[] = {1, -1, .5f, 0};
    refused(surety_risk_add_limits(one, not_signs, 1, 2, &err), &err, SURETY_E_INPUT, "voter 1, class 0");
    surety_risk_free(one);
    s.classes = 1;
    refused(surety_risk_new(&s, &a, &err), &err, SURETY_E_USAGE, "");
    s.classes = 256;
    refused(surety_risk_new(&s, &a, &err), &err, SURETY_E_USAGE, "");
    s.classes = 255, s.samples = (size_t)SURETY_RISK_SAMPLES / 254 + 1;
    refused(surety_risk_new(&s, &a, &err), &err, SURETY_E_USAGE, "");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const double q[] = {.5, .5};
    const uint8_t labels[] = {0, 1, 255, 2};
    surety_risk_settings s = {.voter_count = 2, .samples = 2, .posterior = q, .classes = 3};
    surety_status status = SURETY_E_MEMORY;
    for (int k = 0; status != SURETY_OK; k++) {
        long left = k;
        surety_error err = SURETY_ERROR_NONE;
        surety_risk *a = NULL;
        surety_risks r = {0};
        surety_memory_hook(check_fail_at, &left);
        status = surety_risk_new(&s, &a, &err);
        if (status == SURETY_OK) status = surety_risk_add_labels(a, labels, 2, 1, &err);
        if (status == SURETY_OK) status = surety_risk_result(a, &r, &err);
        surety_memory_hook(NULL, NULL);
        if (status != SURETY_OK) assert_int_equal(status, SURETY_E_MEMORY);
        surety_risks_free(&r);
        surety_risk_free(a);
        check_that(k, <, 50);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(agrees_with_plain_loops),
        cmocka_unit_test(two_classes_are_the_binary_vote),
        cmocka_unit_test(ways_in_agree),
        cmocka_unit_test(bad_votes_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}
