/* Coverage: does "with probability at least 1 - delta over the draw of S" hold? S is drawn many times from
 * laws whose true risks are known exactly, votes go through the accumulators and out of every bound, and the
 * share of draws on which a bound is below the truth is counted. It must not exceed delta significantly
 * (binomial test at 1e-6).
 *
 * A test that everything passes is worth nothing, so mutants of each bound, computed from inputs that leave
 * out one thing that the theorem asks for, must fail the same test:
 *   logarithm   m so large that (KL + ln(..)) / m vanishes: the bound is the empirical risk
 *   10 m        as if there had been ten times as many examples
 *   KL          dropped, while Q sits on the voter that happened to look best (for the unions: H dropped)
 *   T_p         dropped, while S picks the candidate prior that happened to look best
 *   delta       as good as 1, for the bounds on one fixed vote
 *
 * What a bound is held against is the sharpest thing it claims: the surrogate where it limits one, else the
 * vote.
 */
#include "coverage.h"
#include "draw.h"

#include "base/random.h"
#include "risk/simplex.h"

/* ---- fair coins: the tight laws ---- */

enum { COINS = 4096, WORDS = COINS / 32, EXAMPLES = 200 };

typedef struct coins {
    uint32_t bits[EXAMPLES][WORDS]; /* bit h of row i: is voter h right on example i? */
} coins;

static void toss(coins *c, uint32_t when, size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        surety_address a = {(uint32_t)i, when, 0, 0, 210};
        for (uint32_t cell = 0; cell < WORDS / 4; cell++)
            surety_random_bits(31, &a, cell, &c->bits[i][4 * cell]);
    }
}

static int heads(const coins *c, size_t i, size_t h) {
    return (int)(c->bits[i][h / 32] >> h % 32 & 1);
}

/* The coin that was right most often on rows [0, rows): what an optimist would choose. Counts of all coins at
 * once, one bit plane per binary digit. */
static size_t luckiest(const coins *c, size_t rows) {
    enum { DIGITS = 8 };
    static uint32_t planes[DIGITS][WORDS];
    memset(planes, 0, sizeof planes);
    for (size_t i = 0; i < rows; i++)
        for (size_t w = 0; w < WORDS; w++) {
            uint32_t carry = c->bits[i][w];
            for (int d = 0; d < DIGITS; d++) {
                uint32_t both = planes[d][w] & carry;
                planes[d][w] ^= carry, carry = both;
            }
        }
    size_t best = 0, most = 0;
    for (size_t h = 0; h < COINS; h++) {
        size_t right = 0;
        for (int d = 0; d < DIGITS; d++) right |= (size_t)(planes[d][h / 32] >> h % 32 & 1) << d;
        if (right > most) most = right, best = h;
    }
    return best;
}

/* Voters that all repeat coin h, n = 1, on rows [first, end): every risk is the coin's, 1/2. */
static void repeat(const coins *c, size_t h, size_t first, size_t end, const double *q, size_t voters,
                   int signed_votes, surety_risks *out) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *risk = NULL;
    surety_risk_settings settings = {voters, 1, signed_votes, q, q, 2};
    check_ok(surety_risk_new(&settings, &risk, &err));
    for (size_t i = first; i < end; i++) {
        float votes[8];
        for (size_t k = 0; k < voters; k++) votes[k] = heads(c, i, h) ? 1 : -1;
        check_ok(surety_risk_add(risk, votes, voters, 1, &err));
    }
    check_ok(surety_risk_result(risk, out, &err));
    surety_risk_free(risk);
}

static void hold_out(surety_bound_input *in, const surety_risks *risks) {
    in->averaged_max.held_out_m = in->worst_case.held_out_m = risks->m;
    in->averaged_max.held_out_wrong = in->worst_case.held_out_wrong = risks->max_wrong + risks->max_tied;
}

static const truth fair = {.5, .5, .5, .5, .5, .5};

/* Two voters that repeat one coin, Q = P: nothing but the size of S stands between empirical and true risk.
 * The held-out half certifies the coin that was luckiest on the first half. */
static void one_coin(void **state) {
    (void)state;
    static coins c;
    const double q[] = {.5, .5};
    const int logarithm[] = {PAC_BAYES, UNIONS, FROZEN, ANCHORED, HELD_OUT, -1};
    const int fixed_vote[] = {FROZEN, HELD_OUT, -1};
    const double delta = 0.02; /* small, so that a logarithm divided by ten still stands out */
    tally honest = {.delta = delta}, no_logarithm = {.delta = delta}, ten_m = {.delta = delta},
          no_delta = {.delta = delta};
    for (uint32_t t = 0; t < (uint32_t)check_count(1000, 20000); t++) {
        enum { m = 100 };
        uint64_t scaled[6][8];
        surety_risks risks, second;
        toss(&c, t, m);
        repeat(&c, 0, 0, m, q, 2, (int)(t & 1), &risks);
        repeat(&c, luckiest(&c, m / 2), m / 2, m, q, 2, 1, &second);
        surety_bound_input in = input_of(&risks, q, q, delta), mutant;
        hold_out(&in, &second);
        count(&honest, &in, &fair);
        mutant = with_m(&in, 10, scaled), count(&ten_m, &mutant, &fair);
        mutant = with_m(&in, 10000, scaled), count(&no_logarithm, &mutant, &fair);
        mutant = in, mutant.delta = 1 - 1e-12, count(&no_delta, &mutant, &fair);
        surety_risks_free(&risks), surety_risks_free(&second);
    }
    holds("one coin", &honest);
    must_fail("the logarithm", &no_logarithm, logarithm);
    must_fail("m (10 m instead)", &ten_m, logarithm);
    must_fail("delta", &no_delta, fixed_vote);
}

/* 4096 independent coins, P uniform, Q on the luckiest: KL (or the union over voters) is what it costs. */
static void adversarial_posterior(void **state) {
    (void)state;
    static coins c;
    static double p[COINS], q[COINS];
    static float votes[COINS];
    const int with_kl[] = {PAC_BAYES, -1}, with_union[] = {UNIONS, -1};
    const double delta = 0.05;
    tally honest = {.delta = delta}, no_kl = {.delta = delta}, no_union = {.delta = delta};
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *risk = NULL;
    for (size_t h = 0; h < COINS; h++) p[h] = 1. / COINS;
    for (int kind = 0; kind < 2; kind++) { /* signed votes: binomial limits; real: kl_inv */
        surety_risk_settings settings = {COINS, 1, kind == 0, p, p, 2};
        check_ok(surety_risk_new(&settings, &risk, &err));
        for (uint32_t t = 0; t < (uint32_t)check_count(100, 2000); t++) {
            enum { m = 20 };
            toss(&c, 100000 + t, m);
            size_t best = luckiest(&c, m);
            memset(q, 0, sizeof q);
            q[best] = 1;
            check_ok(surety_risk_reset(risk, q, &err));
            for (size_t i = 0; i < m; i++) {
                for (size_t h = 0; h < COINS; h++) votes[h] = heads(&c, i, h) ? 1 : -1;
                check_ok(surety_risk_add(risk, votes, COINS, 1, &err));
            }
            surety_risks risks;
            check_ok(surety_risk_result(risk, &risks, &err));
            surety_bound_input in = input_of(&risks, q, p, delta), mutant = in;
            /* The vote of P, which the anchored bounds begin with, is wrong on half of all examples as well,
             * and where it is right the best voter is still a fair coin: their truth is that of Q's vote,
             * 1/2. */
            count(&honest, &in, &fair);
            mutant.kl = 0, count(&no_kl, &mutant, &fair);
            surety_risks_free(&risks);
            repeat(&c, best, 0, m, (double[]){1}, 1, kind == 0, &risks);
            mutant = input_of(&risks, (double[]){1}, (double[]){1}, delta), count(&no_union, &mutant, &fair);
            surety_risks_free(&risks);
        }
        surety_risk_free(risk);
    }
    holds("adversarial posterior", &honest);
    must_fail("KL", &no_kl, with_kl);
    must_fail("the union over voters", &no_union, with_union);
}

/* 4096 candidate priors, each a coin of its own; S picks the luckiest, Q = P: T_p is what it costs. */
static void picked_prior(void **state) {
    (void)state;
    static coins c;
    const int small_m[] = {PAC_BAYES, UNIONS, FROZEN, -1}, large_m[] = {FROZEN, ANCHORED, -1};
    for (int large = 0; large < 2; large++) {
        size_t m = large ? 200 : 20; /* anchored bounds pay for two events: below m = 100 they say nothing */
        const double delta = 0.05;
        tally honest = {.delta = delta}, no_candidates = {.delta = delta};
        for (uint32_t t = 0; t < (uint32_t)check_count(200, 4000); t++) {
            toss(&c, 200000 + t, m);
            surety_risks risks;
            repeat(&c, luckiest(&c, m), 0, m, (double[]){1}, 1, (int)(t & 1), &risks);
            surety_bound_input in = input_of(&risks, (double[]){1}, (double[]){1}, delta);
            count(&no_candidates, &in, &fair);
            in.priors_compared = COINS, count(&honest, &in, &fair);
            surety_risks_free(&risks);
        }
        holds("picked prior", &honest);
        must_fail("T_p", &no_candidates, large ? large_m : small_m);
    }
}

/* ---- a realistic law ----
 *
 * An example is one of ATOMS types, a perturbation of it one of PATTERNS ways to be perturbed, drawn
 * independently given the type (so perturbations of one example are correlated through it); voter h votes
 * table[type][pattern][h], better on easy types. True risks are finite sums; the maximum over n draws has the
 * law P[max <= x]^n. */

enum { ATOMS = 40, PATTERNS = 5, VOTERS = 6, SAMPLES = 4, SIZE = 80 };

typedef struct law {
    float table[ATOMS][PATTERNS][VOTERS]; /* y v, the label is drawn with the type */
    int y[ATOMS];
    int signed_votes;
} law;

static double uniform(draw *d) {
    return draw_real(d, 0, 1);
}

static void make_law(law *l, int signed_votes) {
    draw s = {41};
    l->signed_votes = signed_votes;
    for (int a = 0; a < ATOMS; a++) {
        double easy = 1.6 * uniform(&s) - .3;
        l->y[a] = uniform(&s) < .5 ? -1 : 1;
        for (int b = 0; b < PATTERNS; b++)
            for (int h = 0; h < VOTERS; h++) {
                double v = easy + .1 * h * uniform(&s) + .8 * (uniform(&s) - .5);
                l->table[a][b][h] = (float)fmax(-1, fmin(1, uniform(&s) < .05 ? 0 : v));
            }
    }
}

static double table_vote(const law *l, int a, int b, int h) {
    double v = (double)l->table[a][b][h];
    return l->signed_votes ? (double)((v > 0) - (v < 0)) : v;
}

static truth truth_of(const law *l, const double *q) {
    truth t = {0};
    for (int a = 0; a < ATOMS; a++) {
        double e[PATTERNS], wrong[PATTERNS], loss[VOTERS][PATTERNS];
        for (int b = 0; b < PATTERNS; b++) {
            double margin = 0, all = 0;
            e[b] = 0;
            for (int h = 0; h < VOTERS; h++) {
                double v = table_vote(l, a, b, h);
                margin += q[h] * v, all += q[h];
                loss[h][b] = (1 - v) / 2;
                e[b] += q[h] * loss[h][b];
            }
            e[b] /= all;
            wrong[b] = margin <= 0;
            t.rbar += e[b] / PATTERNS / ATOMS;
            t.tandem += e[b] * e[b] / PATTERNS / ATOMS;
            t.averaged += wrong[b] / PATTERNS / ATOMS;
        }
        t.abar += mean_of_max(e, PATTERNS, SAMPLES) / ATOMS;
        t.averaged_max += mean_of_max(wrong, PATTERNS, SAMPLES) / ATOMS;
        for (int h = 0; h < VOTERS; h++) t.gmax += q[h] * mean_of_max(loss[h], PATTERNS, SAMPLES) / ATOMS;
    }
    return t;
}

typedef struct sample {
    float votes[SIZE][SAMPLES][VOTERS];
    int y[SIZE];
} sample;

static void draw_sample(const law *l, draw *s, sample *out) {
    for (int i = 0; i < SIZE; i++) {
        int a = (int)(uniform(s) * ATOMS);
        out->y[i] = l->y[a];
        for (int j = 0; j < SAMPLES; j++) {
            int b = (int)(uniform(s) * PATTERNS);
            for (int h = 0; h < VOTERS; h++) out->votes[i][j][h] = (float)l->y[a] * l->table[a][b][h];
        }
    }
}

static void risks_on(const law *l, const sample *s, int first, int end, const double *q, const double *p,
                     surety_risks *out) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *risk = NULL;
    surety_risk_settings settings = {VOTERS, SAMPLES, l->signed_votes, q, p, 2};
    check_ok(surety_risk_new(&settings, &risk, &err));
    for (int i = first; i < end; i++)
        check_ok(surety_risk_add(risk, &s->votes[i][0][0], VOTERS, s->y[i], &err));
    check_ok(surety_risk_result(risk, out, &err));
    surety_risk_free(risk);
}

static void learn(const surety_risks *risks, const double *p, surety_bound_id objective, double *q) {
    surety_error err = SURETY_ERROR_NONE;
    surety_learned learned;
    surety_bound_input in = surety_bound_input_defaults();
    check_ok(surety_posterior_learn(risks, p, objective, &in, q, &learned, &err));
}

/* Q learned on all of S by the bound `objective`; the candidate prior that looks best on S; the held-out
 * half. */
static void one_draw(const law *l, const sample *s, surety_bound_id objective, tally *learned, tally *frozen,
                     tally *held_out) {
    static const double priors[3][VOTERS] = {{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6},
                                             {.3, .25, .2, .1, .1, .05},
                                             {.05, .05, .1, .2, .25, .35}};
    const double *p = priors[0];
    double q[VOTERS];
    surety_risks risks, second;
    risks_on(l, s, 0, SIZE, p, p, &risks);
    learn(&risks, p, objective, q);
    surety_risks_free(&risks);
    risks_on(l, s, 0, SIZE, q, p, &risks);
    truth t = truth_of(l, q);
    surety_bound_input in = input_of(&risks, q, p, learned->delta);
    in.worst_case = surety_bound_input_defaults().worst_case; /* these votes say nothing about a whole ball */
    count(learned, &in, &t);
    surety_risks_free(&risks);

    risks_on(l, s, 0, SIZE, priors[0], priors[0], &risks);
    for (int k = 1; k < 3; k++) {
        risks_on(l, s, 0, SIZE, priors[k], priors[k], &second);
        int better = second.averaged_max < risks.averaged_max;
        if (better) p = priors[k];
        surety_risks_free(better ? &risks : &second);
        if (better) risks = second;
    }
    t = truth_of(l, p), in = input_of(&risks, p, p, frozen->delta), in.priors_compared = 3;
    in.worst_case = surety_bound_input_defaults().worst_case;
    count(frozen, &in, &t);
    surety_risks_free(&risks);

    risks_on(l, s, 0, SIZE / 2, priors[0], priors[0], &risks);
    learn(&risks, priors[0], objective, q);
    risks_on(l, s, SIZE / 2, SIZE, q, priors[0], &second);
    t = truth_of(l, q), in = surety_bound_input_defaults(), in.delta = held_out->delta;
    in.m = SIZE / 2, in.H = VOTERS;
    in.averaged_max.held_out_m = second.m;
    in.averaged_max.held_out_wrong = second.max_wrong + second.max_tied;
    count(held_out, &in, &t);
    surety_risks_free(&risks), surety_risks_free(&second);
}

static void realistic(void **state) {
    (void)state;
    static law l;
    static sample s;
    const surety_bound_id objectives[] = {B(AVERAGE_MAX_SEEGER), B(SEEGER), B(AVERAGE_MAX),
                                          B(CHROMATIC_SEEGER), B(AVERAGE_MAX_VOTERS_UNION)};
    tally learned = {.delta = .05}, frozen = {.delta = .05}, held_out = {.delta = .05};
    for (uint32_t t = 0; t < (uint32_t)check_count(1000, 20000); t++) {
        draw draws = {1000 + t};
        make_law(&l, (int)(t & 1));
        draw_sample(&l, &draws, &s);
        one_draw(&l, &s, objectives[t / 2 % 5], &learned, &frozen, &held_out);
    }
    holds("realistic, learned", &learned);
    holds("realistic, picked prior", &frozen);
    holds("realistic, held out", &held_out);
    for (int id = 0; id < SURETY_BOUNDS; id++) /* every bound was really tried */
        if (surety_bound_list()[id].risk != SURETY_RISK_WORST_CASE && !needs_more(id))
            check_that(learned.seen[id] + frozen.seen[id] + held_out.seen[id], >=, learned.draws);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_coin),
        cmocka_unit_test(adversarial_posterior),
        cmocka_unit_test(picked_prior),
        cmocka_unit_test(realistic),
    };
    return cmocka_run_group_tests_name("coverage", tests, NULL, NULL);
}
