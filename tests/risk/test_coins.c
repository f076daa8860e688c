/* Coins and dictators (docs/theory.md 12.5, 12.6): counts against a plain recount, and coverage on laws whose
 * risks are known, with mutants that must fail: one coin for all examples, the luckiest of many seeds, a
 * dictator that S crowned and nobody paid for, a crown that is too light. */
#include "check.h"

#include "coverage.h"
#include "draw.h"
#include "risk/accumulate.h"

enum { H = 3, N = 4, M = 40 };
static const double q[H] = {1. / 3, 1. / 3, 1. / 3};
static const double bad_chance[H] = {.4, .3, .5};

/* An example: on perturbation 0 voter h has loss 3/4 with its own chance, else 1/8; on all others 1/8. Two
 * that fail together make the vote wrong on perturbation 0. */
static void draw_example(draw *d, float votes[N][H]) {
    for (size_t h = 0; h < H; h++)
        for (size_t j = 0; j < N; j++) votes[j][h] = !j && draw_real(d, 0, 1) < bad_chance[h] ? -.5f : .75f;
}

static truth coin_truth(void) {
    truth t = {0};
    double two = 0;
    for (int h = 0; h < H; h++) t.gmax += (.125 + bad_chance[h] * .625) / H;
    for (int bits = 0; bits < 8; bits++) {
        double chance = 1;
        for (int h = 0; h < H; h++) chance *= bits >> h & 1 ? bad_chance[h] : 1 - bad_chance[h];
        if ((bits & 1) + (bits >> 1 & 1) + (bits >> 2 & 1) >= 2) two += chance;
    }
    t.rbar = (t.gmax + (N - 1) * .125) / N;
    t.averaged = two / N, t.averaged_max = two;
    return t;
}

typedef enum tossing { HONEST, ONE_FOR_ALL } tossing;

static void measure(draw *sample, draw *coins, tossing how, surety_risks *out) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *risk = NULL;
    surety_risk_settings settings = {H, N, 0, q, q, 2};
    uint32_t coin = (uint32_t)draw_bits(coins);
    check_ok(surety_risk_new(&settings, &risk, &err));
    for (size_t i = 0; i < M; i++) {
        float votes[N][H];
        draw_example(sample, votes);
        surety_risk_coin(risk, coin);
        if (how == HONEST) coin = (uint32_t)draw_bits(coins);
        check_ok(surety_risk_add(risk, &votes[0][0], H, 1, &err));
    }
    check_ok(surety_risk_result(risk, out, &err));
    surety_risk_free(risk);
}

static void counts_are_those_of_a_recount(void **state) {
    (void)state;
    for (uint64_t t = 0; t < 50; t++) {
        surety_risks r;
        draw sample = {t}, coins = {1000 + t};
        measure(&sample, &coins, HONEST, &r);
        draw again = {t}, tossed = {1000 + t};
        uint64_t mean[H] = {0}, most[H] = {0}, prior = 0;
        for (size_t i = 0; i < M; i++) {
            float votes[N][H];
            double u = (double)(uint32_t)draw_bits(&tossed) * 0x1p-32, wrong = 0;
            draw_example(&again, votes);
            for (size_t h = 0; h < H; h++) {
                double first = (1 - (double)votes[0][h]) / 2;
                mean[h] += u < (first + (N - 1) * .125) / N;
                most[h] += u < first;
            }
            for (size_t j = 0; j < N; j++) wrong += votes[j][0] + votes[j][1] + votes[j][2] <= 0;
            prior += u < wrong / N;
        }
        assert_true(r.has_coins);
        assert_memory_equal(r.coins, mean, sizeof mean);
        assert_memory_equal(r.max_coins, most, sizeof most);
        assert_int_equal(r.prior_coins, prior);
        surety_risks_free(&r);
    }
}

#define COINS B(VOTERS_COINS), B(AVERAGE_MAX_VOTERS_COINS), B(WORST_CASE_COINS), B(VOTE_FROZEN_COINS)

static void coins_cover(void **state) {
    (void)state;
    const truth t = coin_truth();
    const int all[] = {COINS, -1}, frozen[] = {B(VOTE_FROZEN_COINS), -1};
    tally honest = {.delta = .1}, one = {.delta = .1}, lucky = {.delta = .1};
    for (uint64_t k = 0; k < (uint64_t)check_count(4000, 100000); k++) {
        surety_risks r, best = {0};
        draw sample = {3 * k}, coins = {~k};
        measure(&sample, &coins, HONEST, &r);
        surety_bound_input in = input_of(&r, q, q, .1);
        count(&honest, &in, &t);
        surety_risks_free(&r);
        sample.state = 3 * k;
        measure(&sample, &coins, ONE_FOR_ALL, &r);
        in = input_of(&r, q, q, .1);
        count(&one, &in, &t);
        surety_risks_free(&r);
        for (int seed = 0; seed < 20; seed++) { /* the seed whose coins came out best */
            sample.state = 3 * k;
            measure(&sample, &coins, HONEST, &r);
            int better = !seed || r.prior_coins < best.prior_coins;
            if (better && seed) surety_risks_free(&best);
            if (better) best = r;
            if (!better) surety_risks_free(&r);
        }
        in = input_of(&best, q, q, .1);
        count(&lucky, &in, &t);
        surety_risks_free(&best);
    }
    holds("coins", &honest);
    for (size_t i = 0; all[i] >= 0; i++) check_that(honest.seen[all[i]], ==, honest.draws);
    must_fail("a coin for each example", &one, all);
    must_fail("a seed fixed before", &lucky, frozen);
}

/* Eight signed voters that err independently with the chance .3. S crowns the one with the fewest errors. The
 * others are wrong always, so that the vote is right only where the crown decides. */
static void dictators_cover(void **state) {
    (void)state;
    enum { VOTERS = 8, SIZE = 60 };
    const double delta = .1;
    long bad = 0, unpaid = 0, light = 0, draws = check_count(4000, 100000);
    for (long k = 0; k < draws; k++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_bound_value v;
        surety_bound_input in = surety_bound_input_defaults();
        draw d = {(uint64_t)k};
        uint64_t errors[VOTERS] = {0};
        double crown[VOTERS];
        size_t best = 0;
        for (size_t h = 0; h < VOTERS; h++) {
            for (size_t i = 0; i < SIZE; i++) errors[h] += draw_real(&d, 0, 1) < .3;
            if (errors[h] < errors[best]) best = h;
        }
        for (size_t h = 0; h < VOTERS; h++) crown[h] = h == best ? .51 : .49 / (VOTERS - 1);
        in.m = SIZE, in.H = VOTERS, in.delta = delta, in.posterior = crown;
        in.averaged_max.loss_sum = in.worst_case.loss_sum = errors;
        check_ok(surety_bound_compute(SURETY_BOUND_AVERAGE_MAX_DICTATOR, &in, &v, &err));
        assert_true(v.available);
        bad += v.vote < .3;
        in.H = 1, in.posterior = (double[]){1}, in.averaged_max.loss_sum = &errors[best];
        check_ok(surety_bound_compute(SURETY_BOUND_AVERAGE_MAX_DICTATOR, &in, &v, &err));
        unpaid += v.vote < .3;
        for (size_t h = 0; h < VOTERS; h++) crown[h] = h == best ? .5 : .5 / (VOTERS - 1);
        in.H = VOTERS, in.posterior = crown, in.averaged_max.loss_sum = errors;
        check_ok(surety_bound_compute(SURETY_BOUND_AVERAGE_MAX_DICTATOR, &in, &v, &err));
        light += v.available;
    }
    check(tail(draws, bad, delta) >= 1e-6, "dictators: broken on %ld of %ld draws", bad, draws);
    check(tail(draws, unpaid, delta) < 1e-6, "a crown that S gave, not paid for: only %ld of %ld", unpaid,
          draws);
    assert_int_equal(light, 0); /* half of the weight decides nothing */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_a_recount),
        cmocka_unit_test(coins_cover),
        cmocka_unit_test(dictators_cover),
    };
    return cmocka_run_group_tests_name("coins", tests, NULL, NULL);
}
