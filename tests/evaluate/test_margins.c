/* The one margin of a vote (docs/theory.md 9) against a naive double loop, bit for bit: in lanes, in columns,
 * of every class, of one voter, and as an answer; signed and real, for 2 to 12 classes, with ties inside
 * voters and between classes, with what is not a number, and at every CPU level. */
#include <math.h>

#include "check.h"
#include "draw.h"
#include "evaluate/vote.h"
#include "voters/forest_kernel.h"
#include "voters/kind.h"

enum { L = SURETY_LANES, MOST_H = 70, MOST_K = 12 };

/* ---- the naive loop ---- */

/* v[k] of a voter with scores s (K) for class y; two classes have their scores too: (1 + h)/2 and (1 - h)/2
 * would round, so the difference h is given as s[1] and -h as s[0], halved. */
static void naive_v(const float *s, size_t K, int sign, size_t y, double *v) {
    size_t top = 0, count = 0, broken = 0;
    for (size_t k = 0; k < K; k++) broken += isnan(s[k]) != 0;
    for (size_t k = 1; k < K; k++)
        if (s[k] > s[top]) top = k;
    for (size_t k = 0; k < K; k++) count += s[k] == s[top];
    for (size_t k = 0; k < K; k++) {
        v[k] = (double)s[y] - (double)s[k];
        if (sign) v[k] = count > 1 ? 0 : (double)(top == y) - (double)(top == k);
        if (sign && broken) v[k] = NAN;
    }
}

/* The smallest of the sums against the classes other than y, not a number if one is; *rival has it. */
static double naive_margin(const float *scores, const double *q, size_t H, size_t K, int sign, size_t y,
                           double *sums, size_t *rival) {
    double v[MOST_K], least = HUGE_VAL;
    memset(sums, 0, K * sizeof *sums);
    for (size_t t = 0; t < H; t++) {
        naive_v(scores + t * K, K, sign, y, v);
        for (size_t k = 0; k < K; k++) {
            double product = q[t] * v[k]; /* rounded before it is added */
            sums[k] += product;
        }
    }
    for (size_t k = 0; k < K; k++) {
        if (k == y || isnan(least) || !(isnan(sums[k]) || sums[k] < least)) continue;
        least = sums[k], *rival = k;
    }
    return least > 1 ? 1 : least < -1 ? -1 : least;
}

/* ---- cases ---- */

/* Scores (lanes, H, K) of a block: of two classes (0 - h, h)/2, so that differences are y h. */
typedef struct votes {
    surety_voters *v;
    size_t H, K;
    float scores[L][MOST_H * MOST_K];
    double q[MOST_H];
    uint8_t y[L];
    float *h; /* (H, width, lanes) */
} votes;

/* One voter's scores; kind 1: few levels, many ties; 2: all of the row's voters have the same numbers in
 * another order, so that sums of classes come near to each other; 3: nearly one-hot. */
static void draw_scores(draw *r, int kind, const float *base, size_t K, float *s) {
    double sum = 0;
    size_t turn = draw_size(r, 0, K - 1);
    for (size_t k = 0; k < K; k++) {
        s[k] = (float)draw_real(r, 0, 1);
        if (kind == 1) s[k] = (float)draw_size(r, 0, 3);
        if (kind == 2) s[k] = base[(k + turn) % K];
        if (kind == 3) s[k] = (float)pow(10, draw_real(r, -40, 0));
        sum += (double)s[k];
    }
    for (size_t k = 0; k < K; k++) s[k] = sum > 0 ? (float)((double)s[k] / sum) : 1 / (float)K;
}

static void fill_lane(votes *c, draw *r, size_t i) {
    float base[MOST_K];
    int kind = (int)draw_size(r, 0, 3);
    c->y[i] = (uint8_t)draw_size(r, 0, c->K - 1);
    for (size_t k = 0; k < c->K; k++) base[k] = (float)draw_real(r, 0, 1);
    for (size_t t = 0; t < c->H; t++) {
        float *s = c->scores[i] + t * c->K;
        draw_scores(r, kind, base, c->K, s);
        if (c->K > 2) continue;
        s[1] -= s[0];
        c->h[t * L + i] = s[1];
        s[0] = -s[1] / 2, s[1] /= 2; /* exact */
    }
    for (size_t n = 0; c->K > 2 && n < c->H * c->K; n++) c->h[n * L + i] = c->scores[i][n];
}

static votes *votes_new(draw *r) {
    surety_error err = SURETY_ERROR_NONE;
    votes *c = calloc(1, sizeof *c);
    double sum = 0;
    c->H = draw_size(r, 1, draw_size(r, 0, 9) ? 9 : MOST_H), c->K = draw_size(r, 2, MOST_K);
    check_ok(surety_linear_empty(&c->v, c->H, 1, c->K, &err));
    check_ok(surety_alloc(&c->h, c->H * c->K * L, sizeof(float), &err));
    int equal = draw_size(r, 0, 1) != 0;
    for (size_t t = 0; t < c->H; t++) sum += c->q[t] = equal ? 1 : draw_real(r, 0, 1);
    for (size_t t = 0; t < c->H; t++) c->q[t] /= sum;
    for (size_t i = 0; i < L; i++) fill_lane(c, r, i);
    return c;
}

static void votes_free(votes *c) {
    surety_voters_free(c->v);
    surety_free(c->h);
    free(c);
}

static void same(double a, double b, const char *what) {
    check((isnan(a) && isnan(b)) || a == b, "%s: %.17g, the naive loop has %.17g", what, a, b);
}

/* ---- margins ---- */

static void check_lanes(votes *c) {
    double margin[L], real[L], each[MOST_K * L], sums[MOST_K];
    uint8_t rival[L];
    for (int sign = 0; sign < 2; sign++) {
        surety_vote vote = {c->v, c->q, sign ? SURETY_SIGNED : SURETY_REAL};
        surety_margin_lanes(&vote, c->h, c->y, margin, real, rival);
        surety_margin_each(&vote, c->h, c->y, each);
        for (size_t i = 0; i < L; i++) {
            size_t of, other;
            double want = naive_margin(c->scores[i], c->q, c->H, c->K, sign, c->y[i], sums, &of);
            same(margin[i], want, sign ? "signed" : "real");
            same(surety_margin_column(&vote, c->h + i, L, c->y[i]), want, "column");
            want = naive_margin(c->scores[i], c->q, c->H, c->K, 0, c->y[i], sums, &other);
            same(real[i], want, "real beside it");
            assert_int_equal(rival[i], other);
            if (c->K == 2) same(each[i], fmin(1, fmax(-1, sums[!c->y[i]])), "each of two");
            for (size_t k = 0; c->K > 2 && k < c->K; k++) same(each[k * L + i], sums[k], "each");
        }
    }
}

static void check_voters(votes *c) {
    size_t width = c->K == 2 ? 1 : c->K;
    for (size_t t = 0; t < c->H; t++)
        for (size_t i = 0; i < L; i++)
            for (int sign = 0; sign < 2; sign++) {
                double one = 1, sums[MOST_K];
                size_t rival;
                same(surety_voter_margin(c->h + t * width * L + i, L, width,
                                         sign ? SURETY_SIGNED : SURETY_REAL, c->y[i]),
                     naive_margin(c->scores[i] + t * c->K, &one, 1, c->K, sign, c->y[i], sums, &rival),
                     "one voter");
            }
}

/* Margins and their rivals, whatever the scores are. */
static void margins_are_the_naive_sums(void **state) {
    (void)state;
    draw r = {51};
    for (long round = 0; round < check_count(400, 20000); round++) {
        votes *c = votes_new(&r);
        check_lanes(c);
        check_voters(c);
        votes_free(c);
    }
}

/* A voter whose scores are not numbers is seen in every margin that it has a part in, and in no other row. */
static void not_a_number_stays_visible(void **state) {
    (void)state;
    draw r = {52};
    for (long round = 0; round < check_count(200, 5000); round++) {
        votes *c = votes_new(&r);
        size_t i = draw_size(&r, 0, L - 1), t = draw_size(&r, 0, c->H - 1), width = c->K == 2 ? 1 : c->K;
        int all = draw_size(&r, 0, 1) != 0; /* of its scores, or one */
        size_t one = draw_size(&r, 0, c->K - 1);
        c->q[t] += 1e-3;
        for (size_t k = 0; k < c->K; k++)
            if (all || k == one || c->K == 2) c->scores[i][t * c->K + k] = NAN;
        for (size_t k = 0; k < width; k++)
            if (all || k == one || c->K == 2) c->h[(t * width + k) * L + i] = NAN;
        for (int sign = 0; sign < 2; sign++) {
            double margin[L], real[L];
            surety_vote vote = {c->v, c->q, sign ? SURETY_SIGNED : SURETY_REAL};
            surety_margin_lanes(&vote, c->h, c->y, margin, real, NULL);
            for (size_t n = 0; n < L; n++) {
                check(isnan(margin[n]) == (n == i) && isnan(real[n]) == (n == i), "lane %zu, set %d", n,
                      sign);
                double column = surety_margin_column(&vote, c->h + n, L, c->y[n]);
                check(isnan(column) == (n == i), "column %zu, set %d: %g", n, sign, column);
            }
            check(isnan(surety_voter_margin(c->h + t * width * L + i, L, width, vote.voter_set, c->y[i])),
                  "one voter, set %d", sign);
        }
        if (c->K > 2) assert_int_equal(surety_label_of(c->h + t * width * L + i, L, c->K), SURETY_TIED);
        votes_free(c);
    }
}

/* The sums of every class: the same bits at every level, fma or not. */
static void levels_agree(void **state) {
    (void)state;
    draw r = {53};
    for (long round = 0; round < check_count(200, 5000); round++) {
        votes *c = votes_new(&r);
        for (int level = SURETY_GENERIC; c->K > 2 && level <= (int)surety_cpu_highest(); level++)
            for (int sign = 0; sign < 2; sign++) {
                double sums[MOST_K * L], want[MOST_K];
                surety_forest_kernels_at((surety_level)level)
                    ->margins(c->h, c->q, c->H, c->K, sign ? SURETY_SIGNED : SURETY_REAL, c->y, sums);
                for (size_t i = 0; i < L; i++) {
                    size_t rival;
                    naive_margin(c->scores[i], c->q, c->H, c->K, sign, c->y[i], want, &rival);
                    for (size_t k = 0; k < c->K; k++) same(sums[k * L + i], want[k], "a level");
                }
            }
        votes_free(c);
    }
}

/* ---- answers ---- */

/* Voters without weights: their scores are softmax of their biases. kind 0: any; 1: classes 0 and 1 have the
 * same scores in the opposite order of voters, so that with equal weights their sums are equal but for
 * rounding; 2: all scores are equal. */
static surety_voters *constant_voters(draw *r, int kind, size_t H, size_t K) {
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    double base[MOST_H];
    check_ok(surety_linear_empty(&v, H, 2, K, &err));
    for (size_t t = 0; t < H; t++) base[t] = draw_normal(r);
    for (size_t t = 0; t < H; t++)
        for (size_t k = 0; k < v->width; k++) {
            double c = kind == 0 ? draw_normal(r) : 0, back = base[H - 1 - t];
            if (kind == 1) c = K == 2 ? base[t] - back : k == 0 ? base[t] : k == 1 ? back : -3;
            v->tensors[1].values[t * v->width + k] = (float)c;
        }
    surety_voters_changed(v);
    return v;
}

/* The class that beats every other, or nobody. */
static uint8_t naive_answer(const float *scores, const double *q, size_t H, size_t K, int sign) {
    uint8_t answer = SURETY_TIED;
    for (size_t y = 0; y < K; y++) {
        double sums[MOST_K];
        size_t rival;
        if (!(naive_margin(scores, q, H, K, sign, y, sums, &rival) > 0)) continue;
        check(answer == SURETY_TIED, "two answers");
        answer = (uint8_t)y;
    }
    return answer;
}

/* What summing the scores first and comparing afterwards would answer. */
static uint8_t sum_first(const float *scores, const double *q, size_t H, size_t K) {
    double f[MOST_K] = {0};
    size_t best = 0, ties = 0;
    for (size_t t = 0; t < H; t++)
        for (size_t k = 0; k < K; k++) f[k] += q[t] * (double)scores[t * K + k];
    for (size_t k = 1; k < K; k++) {
        ties += f[k] == f[best];
        if (f[k] > f[best]) best = k, ties = 0;
    }
    return (uint8_t)(ties ? SURETY_TIED : best);
}

static void answers_are_those_of_the_margin(void **state) {
    (void)state;
    draw r = {54};
    long other = 0, tied = 0;
    for (long round = 0; round < check_count(3000, 100000); round++) {
        surety_error err = SURETY_ERROR_NONE;
        size_t H = draw_size(&r, 1, MOST_H), K = draw_size(&r, 2, MOST_K);
        surety_voters *v = constant_voters(&r, (int)draw_size(&r, 0, 2), H, K);
        float h[MOST_H * MOST_K], scores[MOST_H * MOST_K];
        const float x[2] = {0};
        double q[MOST_H], sum = 0;
        int equal = draw_size(&r, 0, 1) != 0;
        for (size_t t = 0; t < H; t++) sum += q[t] = equal ? 1 : draw_real(&r, 0, 1);
        for (size_t t = 0; t < H; t++) q[t] /= sum;
        check_ok(surety_voters_outputs(v, x, 2, 1, h, NULL, &err));
        for (size_t n = 0; n < H * K; n++) scores[n] = K > 2 ? h[n] : (n % 2 ? h[n / 2] : -h[n / 2]) / 2;
        for (int sign = 0; sign < 2; sign++) {
            surety_vote vote = {v, q, sign ? SURETY_SIGNED : SURETY_REAL};
            uint8_t answer;
            check_ok(surety_vote_classes(&vote, x, 2, 1, &answer, NULL, &err));
            assert_int_equal(answer, naive_answer(scores, q, H, K, sign));
            if (!sign) other += answer != sum_first(scores, q, H, K);
            tied += answer == SURETY_TIED;
        }
        surety_voters_free(v);
    }
    print_message("# %ld ties, %ld answers that summing first would change\n", tied, other);
    check(other > 0 && tied > 0, "the cases are too easy");
}

/* An argument that overflows, so that its softmax is not a number: nobody is the answer, and the votes show
 * it. */
static void an_overflow_has_no_answer(void **state) {
    (void)state;
    draw r = {55};
    for (size_t K = 3; K <= MOST_K; K++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_voters *v = constant_voters(&r, 0, 3, K);
        float *w = v->tensors[0].values + v->width * v->tensors[0].stride; /* an argument of voter 1 */
        const float x[2] = {2, 2};
        const double q[3] = {0.6, 0.1, 0.3};
        w[0] = 3e38f, w[1] = 3e38f;
        for (size_t k = 0; k < v->width; k++) v->tensors[1].values[k] = k ? 0 : 5; /* voter 0 is sure */
        surety_voters_changed(v);
        for (int sign = 0; sign < 2; sign++) {
            surety_vote vote = {v, q, sign ? SURETY_SIGNED : SURETY_REAL};
            uint8_t answer;
            double sums[MOST_K];
            check_ok(surety_vote_classes(&vote, x, 2, 1, &answer, NULL, &err));
            check_ok(surety_vote_predict(&vote, x, 2, 1, sums, NULL, &err));
            assert_int_equal(answer, SURETY_TIED);
            for (size_t k = 0; k < v->width; k++) check(isnan(sums[k]), "K %zu: %g", K, sums[k]);
        }
        surety_voters_free(v);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(margins_are_the_naive_sums),
        cmocka_unit_test(not_a_number_stays_visible),
        cmocka_unit_test(levels_agree),
        cmocka_unit_test(answers_are_those_of_the_margin),
        cmocka_unit_test(an_overflow_has_no_answer),
    };
    return cmocka_run_group_tests_name("margins", tests, NULL, NULL);
}
