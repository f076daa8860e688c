/* Worst cases of votes of 2 to 7 classes: where a vote is proved right no attack finds it wrong, at the
 * ball's radius and at the certified one; limits and verdicts are those of a naive loop over the labels that
 * are possible; smaller balls are proved too. */
#include <math.h>

#include "attack/cases.h"
#include "tolerance.h"
#include "voters/worst.h"

static surety_error err = SURETY_ERROR_NONE;

enum { D = 12, L = SURETY_LANES };

typedef struct proof_case {
    random_vote v;
    random_set set;
    surety_ball ball;
    surety_examples e;
    size_t H, others;
} proof_case;

/* Labels are what the vote answers for x itself, but for a few: then there is something to prove. */
static proof_case case_new(draw *r) {
    proof_case c = {.v = random_vote_new(r, D, draw_size(r, 0, 2) == 0)};
    size_t K = surety_voters_classes(c.v.voters);
    uint8_t answers[SURETY_BLOCK];
    c.ball = (surety_ball){.norm = (surety_norm)draw_size(r, 0, 2), .has_box = 1, .hi = 1};
    if (draw_size(r, 0, 1)) c.ball.tolerance = random_tolerance(r, D, 0.5);
    c.ball.radius = pow(10, draw_real(r, -3, c.ball.norm == SURETY_LINF ? -0.5 : 0));
    c.set = random_set_new(r, SURETY_BLOCK, D, &c.ball, 1, K);
    check_ok(surety_vote_classes(&c.v.vote, c.set.x, c.set.set.stride, SURETY_BLOCK, answers, NULL, &err));
    for (size_t i = 0; i < SURETY_BLOCK; i++)
        if (answers[i] != SURETY_TIED && draw_size(r, 0, 9)) c.set.y[i] = answers[i];
    c.e = surety_examples_of(&c.set.set, 0);
    c.H = surety_voters_count(c.v.voters), c.others = K - 1;
    return c;
}

static void case_free(proof_case *c) {
    random_set_free(&c->set);
    random_vote_free(&c->v);
    surety_tolerance_free((surety_tolerance *)(uintptr_t)c->ball.tolerance);
}

static surety_worst *worst_of(const proof_case *c) {
    surety_worst *w;
    check_ok(surety_worst_new(&w, c->v.voters, &c->ball, 0, c->v.vote.voter_set, &err));
    return w;
}

/* ---- limits ---- */

/* The smallest v against class k of a voter whose label is y or any class with a limit that is not above 0,
 * or nobody's if there are several. */
static double smallest_v(const float *low, size_t others, size_t y, size_t k) {
    size_t possible = 1;
    double least = 1; /* the label is y */
    for (size_t n = 0; n < others; n++) {
        size_t label = n + (n >= y);
        if (low[n * L] > 0) continue;
        possible++;
        least = fmin(least, label == k ? -1 : 0);
    }
    return possible > 1 ? fmin(least, 0) : least;
}

static double naive_limit(const proof_case *c, const float *low, size_t t, size_t n, size_t i) {
    const float *mine = low + t * c->others * L + i;
    size_t y = c->e.y[i];
    if (c->v.vote.voter_set == SURETY_REAL) return (double)mine[n * L];
    if (c->others == 1) return mine[0] > 0 ? 1 : -1;
    return smallest_v(mine, c->others, y, n + (n >= y));
}

static void limits_are_those_of_possible_labels(void **state) {
    (void)state;
    draw r = {61};
    for (long round = 0; round < check_count(200, 5000); round++) {
        proof_case c = case_new(&r);
        surety_worst *w = worst_of(&c);
        surety_range *range;
        double radius[L], margin[L];
        float *low = calloc(c.H * c.others * L, sizeof *low);
        for (size_t i = 0; i < L; i++) radius[i] = c.ball.radius;
        check_ok(surety_range_new(&range, c.v.voters, &c.ball, 0, &err));
        surety_range_run(range, c.e.x, c.e.rows, radius, c.e.y, low);
        const float *got = surety_worst_run(w, &c.e, radius);
        surety_margin_limits(&c.v.vote, got, margin);
        for (size_t i = 0; i < c.e.rows; i++) {
            double least = 2;
            for (size_t n = 0; n < c.others; n++) {
                double sum = 0;
                for (size_t t = 0; t < c.H; t++) {
                    double want = naive_limit(&c, low, t, n, i);
                    check_that((double)got[(t * c.others + n) * L + i], ==, want);
                    sum += c.v.weights[t] * want;
                }
                least = fmin(least, sum);
            }
            check_that(margin[i], ==, least);
        }
        free(low);
        surety_range_free(range);
        surety_worst_free(w);
        case_free(&c);
    }
}

/* ---- attacks ---- */

/* pgd on the rows at this radius; wrong[i]: it found a point where the vote errs. */
static void attack(const proof_case *c, draw *r, const surety_examples *e, double radius, int *wrong) {
    surety_threat s = surety_threat_defaults();
    surety_attacker *a;
    s.kind = SURETY_ATTACK_PGD;
    s.ball = c->ball;
    s.ball.radius = radius;
    s.steps = 15;
    s.step_size = radius / 4;
    s.restarts = 4;
    s.seed = draw_bits(r) >> 1;
    check_ok(surety_attacker_new(&a, &s, c->v.voters, &err));
    const surety_attacked *found = surety_attacker_run(a, &c->v.vote, e);
    memcpy(wrong, found->fooled, sizeof found->fooled);
    surety_attacker_free(a);
}

/* One example at a share of its certified radius: proved there, and not to be beaten. */
static void check_radius(const proof_case *c, draw *r, surety_worst *w, size_t i, double radius) {
    surety_examples one = {.rows = 1, .x = {c->e.x[i]}, .y = {c->e.y[i]}, .row = {c->e.row[i]}};
    int wrong[L];
    attack(c, r, &one, radius, wrong);
    check(!wrong[0], "beaten at the certified radius %g", radius);
    for (double share = 0.9; share > 0.05; share -= 0.2) {
        double margin[L], b[L] = {share * radius};
        surety_margin_limits(&c->v.vote, surety_worst_run(w, &one, b), margin);
        check(margin[0] > 0, "%s: proved at %g, not at %g", surety_norm_name(c->ball.norm), radius, b[0]);
    }
}

static void no_attack_beats_a_proof(void **state) {
    (void)state;
    draw r = {62};
    long proofs[2][2] = {{0}}, defeats = 0; /* signed or real, two classes or more */
    for (long round = 0; round < check_count(150, 5000); round++) {
        proof_case c = case_new(&r);
        surety_worst *w = worst_of(&c);
        double radius[L];
        int proved[L], wrong[L];
        surety_worst_radius(w, &c.v.vote, &c.e, radius, proved);
        attack(&c, &r, &c.e, c.ball.radius, wrong);
        for (size_t i = 0; i < c.e.rows; i++) {
            check(!(proved[i] && wrong[i]), "robust and vulnerable at once");
            check(proved[i] == (radius[i] >= c.ball.radius), "proved %d, radius %g of %g", proved[i],
                  radius[i], c.ball.radius);
            proofs[c.v.vote.voter_set == SURETY_REAL][c.others > 1] += proved[i];
            defeats += wrong[i];
            if (radius[i] > 0 && i % 5 == 0) check_radius(&c, &r, w, i, radius[i]);
        }
        surety_worst_free(w);
        case_free(&c);
    }
    print_message("# proved: signed %ld, %ld of more classes; real %ld, %ld; %ld defeats\n", proofs[0][0],
                  proofs[0][1], proofs[1][0], proofs[1][1], defeats);
    for (int n = 0; n < 4; n++) check(proofs[n / 2][n % 2] > 50, "too few proofs");
    check(defeats > 100, "too few defeats");
}

/* Twice the ball: never more proofs, and the certified radius stays where it was, to 2^-12 of it. */
static void radii_do_not_depend_on_the_ball(void **state) {
    (void)state;
    draw r = {63};
    for (long round = 0; round < check_count(60, 2000); round++) {
        proof_case c = case_new(&r), wide = c;
        wide.ball.radius *= 2;
        surety_worst *w[2] = {worst_of(&c), worst_of(&wide)};
        double radius[2][L];
        int proved[2][L];
        for (int k = 0; k < 2; k++) surety_worst_radius(w[k], &c.v.vote, &c.e, radius[k], proved[k]);
        for (size_t i = 0; i < c.e.rows; i++) {
            check(proved[1][i] <= proved[0][i], "proved in the wider ball only");
            if (c.ball.tolerance && radius[0][i] >= 0x1p20 * c.ball.radius) continue; /* without end */
            check(fabs(radius[0][i] - radius[1][i]) <= 0x1p-12 * fabs(radius[0][i]) + 0x1p-14 * c.ball.radius,
                  "radius %g, or %g", radius[0][i], radius[1][i]);
        }
        surety_worst_free(w[0]), surety_worst_free(w[1]);
        case_free(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_those_of_possible_labels),
        cmocka_unit_test(no_attack_beats_a_proof),
        cmocka_unit_test(radii_do_not_depend_on_the_ball),
    };
    return cmocka_run_group_tests_name("proofs", tests, NULL, NULL);
}
