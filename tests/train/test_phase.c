/* Adam against its closed form, and which epoch a phase keeps. */
#include <math.h>
#include <unistd.h>

#include "check.h"
#include "draw.h"
#include "train/adam.h"
#include "train/phase.h"

static surety_error err = SURETY_ERROR_NONE;

/* With one constant gradient g, m = (1 - b1^t) g and v = (1 - b2^t) g^2, so that every step moves by exactly
 * lr g / (|g| + eps). */
static void test_adam_constant_gradient(void **state) {
    static const double gradients[] = {1, -3, 1e-3, -1e-6, 2e-8, 0};
    const double lr = 0.01;
    (void)state;
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++) {
        double g = gradients[i], m = 0, v = 0, x = 0.5;
        float gf = (float)g, mf = 0, vf = 0, xf = 0.5f;
        double each = lr * g / (fabs(g) + SURETY_ADAM_EPS);
        for (size_t t = 1; t <= 50; t++) {
            surety_adam_move_double(surety_adam_at(lr, t), &g, &m, &v, &x, 1);
            surety_adam_move(surety_adam_at(lr, t), &gf, &mf, &vf, &xf, 1);
            check(fabs(x - (0.5 - each * (double)t)) < 1e-12, "g %g, step %zu: %.15g", g, t, x);
            if (fabs(g) > 1e-6 || g == 0)
                check(fabs((double)xf - (0.5 - each * (double)t)) < 1e-5, "g %g, step %zu: %.9g", g, t,
                      (double)xf);
        }
    }
}

/* Any gradients: the float kernel beside the definition in double, for every count of values. */
static void test_adam_definition(void **state) {
    enum { MOST = 50 };
    draw r = {7};
    (void)state;
    for (size_t count = 1; count <= MOST; count++) {
        float g[MOST], m[MOST] = {0}, v[MOST] = {0}, x[MOST] = {0};
        double md[MOST] = {0}, vd[MOST] = {0}, xd[MOST] = {0};
        for (size_t t = 1; t <= 5; t++) {
            for (size_t i = 0; i < count; i++) {
                g[i] = (float)draw_normal(&r);
                md[i] = 0.9 * md[i] + 0.1 * (double)g[i];
                vd[i] = 0.999 * vd[i] + 0.001 * (double)g[i] * (double)g[i];
                xd[i] -= 0.1 * (md[i] / (1 - pow(0.9, (double)t))) /
                         (sqrt(vd[i] / (1 - pow(0.999, (double)t))) + 1e-8);
            }
            surety_adam_move(surety_adam_at(0.1, t), g, m, v, x, count);
        }
        for (size_t i = 0; i < count; i++)
            check(fabs((double)x[i] - xd[i]) < 1e-5, "value %zu of %zu: %.9g, not %.9g", i, count,
                  (double)x[i], xd[i]);
    }
}

/* ---- epochs ---- */

enum { M = 48, D = 3, EPOCHS = 6 };

typedef struct task {
    float x[2][M * 16];
    uint8_t y[2][M];
    uint32_t row[2][M];
    surety_set train, choose;
} task;

/* Two sets of which one is learned easily and the other has its labels turned round: the better a vote is on
 * the first, the worse it is on the second. */
static task *opposite(draw *r) {
    task *t = aligned_alloc(64, (sizeof(task) + 63) / 64 * 64);
    memset(t, 0, sizeof *t);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < M; i++) {
            t->y[s][i] = i % 2;
            t->row[s][i] = (uint32_t)i;
            for (size_t j = 0; j < D; j++)
                t->x[s][i * 16 + j] =
                    (float)(0.5 + 0.4 * (s ? -1 : 1) * surety_sign(t->y[s][i]) + 0.1 * draw_real(r, -1, 1));
        }
    t->train = (surety_set){
        .m = M, .d = D, .stride = 16, .x = t->x[0], .y = t->y[0], .row = t->row[0], .classes = 2};
    t->choose = (surety_set){
        .m = M, .d = D, .stride = 16, .x = t->x[1], .y = t->y[1], .row = t->row[1], .classes = 2};
    return t;
}

static void run_phase(surety_train_state *state, const surety_set *train, const surety_set *choose) {
    surety_train_settings s;
    surety_timing timing = {0};
    surety_voters *voters;
    surety_train_defaults(&s);
    s.defense.kind = SURETY_ATTACK_NONE;
    s.kind = (surety_voters_settings){.kind = "linear", .voters = 4};
    s.batch = 16;
    s.lr = 0.1;
    check_ok(surety_voters_new(&voters, &s.kind, D, 1, &err));
    check_ok(surety_train_state_new(state, voters, EPOCHS, 0, &err));
    surety_phase phase = {.name = "step 1",
                          .train = train,
                          .choose = choose,
                          .moves_voters = 1,
                          .epochs = EPOCHS,
                          .first_pass = 1};
    check_ok(surety_phase_run(&phase, &s, state, NULL, NULL, &timing, NULL, &err));
}

/* On the set that it trains on the last epoch is the best, on the opposite set the first: each keeps its own,
 * and the parameters are those of the epoch kept. Where nothing chooses, the last one is kept. */
static void test_choice_of_epoch(void **state) {
    draw r = {9};
    task *t = opposite(&r);
    surety_train_state same, other, none;
    (void)state;
    run_phase(&same, &t->train, &t->train);
    run_phase(&other, &t->train, &t->choose);
    run_phase(&none, &t->train, NULL);
    for (size_t i = 1; i < EPOCHS; i++) {
        assert_true(same.values[0][i] < same.values[0][i - 1]);
        assert_true(other.values[0][i] > other.values[0][i - 1]);
    }
    assert_int_equal(same.best[0], EPOCHS);
    assert_int_equal(other.best[0], 1);
    assert_int_equal(none.best[0], EPOCHS);
    surety_tensor a = surety_voters_tensor(same.voters, 0), b = surety_voters_tensor(other.voters, 0),
                  c = surety_voters_tensor(none.voters, 0);
    assert_memory_equal(a.values, c.values, a.rows * a.stride * sizeof(float));
    assert_memory_not_equal(a.values, b.values, a.rows * a.stride * sizeof(float));
    surety_train_state_free(&same);
    surety_train_state_free(&other);
    surety_train_state_free(&none);
    free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam_constant_gradient),
        cmocka_unit_test(test_adam_definition),
        cmocka_unit_test(test_choice_of_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
