/* Adam against its closed form, the gradient of a batch against differences of its loss, and which epoch a
 * phase keeps. */
#include <math.h>
#include <unistd.h>

#include "check.h"
#include "draw.h"
#include "train/adam.h"
#include "train/phase.h"
#include "voters/kind.h"

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
    surety_train_settings s = surety_train_defaults();
    surety_timing timing = {0};
    surety_voters *voters;
    s.defense.kind = SURETY_ATTACK_NONE;
    s.voters = (surety_voters_settings){.kind = "linear", .count = 4};
    s.batch = 16;
    s.lr = 0.1;
    check_ok(surety_voters_new(&s.voters, D, 1, &voters, &err));
    check_ok(surety_train_state_new(state, voters, EPOCHS, 0, &err));
    surety_phase phase = {.name = "step 1",
                          .train = train,
                          .choose = choose,
                          .moves_voters = 1,
                          .epochs = EPOCHS,
                          .first_epoch = 1};
    check_ok(surety_phase_run(&phase, &s, state, NULL, &timing, NULL, &err));
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
        check_that(same.values[0][i], <, same.values[0][i - 1]);
        check_that(other.values[0][i], >, other.values[0][i - 1]);
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

/* ---- the gradient of a batch ---- */

/* The mean loss of the set as a function of everything that a step moves, in double, by the kind's plain
 * twin. */
typedef struct objective {
    const surety_voters *v;
    const surety_set *set;
    surety_loss loss;
    double *parameters[SURETY_TENSORS], theta[8];
} objective;

/* The loss of one example from the sums f (K) of the scores: (1 - min_k M_k)/2, or ln(1 + sum_k exp(-C M_k))
 * / 2C, M_k = f_y - f_k, or (1 - (1 + sum_k exp(-C M_k))^-q) / 2Cq, in the last of two epochs. */
static double loss_of(const double *f, size_t K, size_t y, surety_loss loss) {
    surety_loss_shape shape = surety_loss_at(loss, K, 0.5);
    double least = 2, sum = 1, C = shape.C;
    for (size_t k = 0; k < K; k++) {
        if (k == y) continue;
        least = fmin(least, f[y] - f[k]);
        sum += exp(-C * (f[y] - f[k]));
    }
    return loss == SURETY_LOSS_LINEAR     ? (1 - least) / 2
           : loss == SURETY_LOSS_LOGISTIC ? log(sum) / (2 * C)
                                          : (1 - pow(sum, -shape.q)) / (2 * C * shape.q);
}

static double value_of(const objective *o) {
    size_t H = o->v->H, K = o->v->classes, width = o->v->width;
    double total = 0, all = 0;
    for (size_t t = 0; t < H; t++) total += exp(o->theta[t]);
    for (size_t i = 0; i < o->set->m; i++) {
        double f[8] = {0}, x[D];
        for (size_t j = 0; j < D; j++) x[j] = (double)o->set->x[i * o->set->stride + j];
        for (size_t n = 0; n < H * width; n++) {
            size_t t = n / width;
            double h = o->v->kind->twin(o->v, (const double *const *)o->parameters, x, t, n % width);
            f[width == 1 ? 1 : n % width] += exp(o->theta[t]) / total * h; /* two classes: 0 and the vote */
        }
        all += loss_of(f, K, o->set->y[i], o->loss);
    }
    return all / (double)o->set->m;
}

static double slope_of(const objective *o, double *where) {
    const double s = 1e-6, was = *where;
    *where = was + s;
    double above = value_of(o);
    *where = was - s;
    double below = value_of(o);
    *where = was;
    return (above - below) / (2 * s);
}

/* Labels by thirds (or halves) of the line, so that classes can be told apart. */
static void line_of_classes(task *t, draw *r, size_t K) {
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < M; i++) {
        t->y[0][i] = (uint8_t)(i % K);
        t->row[0][i] = (uint32_t)i;
        for (size_t j = 0; j < D; j++)
            t->x[0][i * 16 + j] = (float)((double)(i % K) / (double)K + 0.2 * draw_real(r, 0, 1));
    }
    t->train = (surety_set){
        .m = M, .d = D, .stride = 16, .x = t->x[0], .y = t->y[0], .row = t->row[0], .classes = K};
}

/* One step over the whole set, the last epoch of two. Adam's first moment after it is (1 - 0.9) times the
 * gradient. */
static void one_step(const surety_voters_settings *kind, const task *t, surety_loss loss,
                     surety_train_state *state) {
    surety_train_settings s = surety_train_defaults();
    surety_timing timing = {0};
    surety_voters *voters;
    s.defense.kind = SURETY_ATTACK_NONE;
    s.voters = *kind;
    s.loss = loss;
    s.batch = M;
    check_ok(surety_voters_new(kind, D, 3, &voters, &err));
    check_ok(surety_train_state_new(state, voters, 2, 0, &err));
    state->epoch = 1;
    surety_phase phase = {
        .name = "step 1", .train = &t->train, .moves_voters = 1, .epochs = 2, .first_epoch = 1};
    check_ok(surety_phase_run(&phase, &s, state, NULL, &timing, NULL, &err));
}

static void check_gradient(const surety_voters_settings *kind, const task *t, surety_loss loss) {
    surety_train_state state;
    surety_voters *fresh;
    check_ok(surety_voters_new(kind, D, 3, &fresh, &err));
    one_step(kind, t, loss, &state);
    objective o = {.v = fresh, .set = &t->train, .loss = loss};
    for (size_t k = 0; k < fresh->tensor_count; k++) {
        size_t count = fresh->tensors[k].rows * fresh->tensors[k].stride;
        o.parameters[k] = malloc(count * sizeof(double));
        for (size_t n = 0; n < count; n++) o.parameters[k][n] = (double)fresh->tensors[k].values[n];
    }
    check(fabs(state.values[0][1] - value_of(&o)) < 1e-6, "%s: loss %.9g, not %.9g", kind->kind,
          state.values[0][1], value_of(&o));
    for (size_t k = 0; k < fresh->tensor_count; k++)
        for (size_t n = 0; n < fresh->tensors[k].rows * fresh->tensors[k].length; n++) {
            const surety_tensor *w = &fresh->tensors[k];
            size_t at = n / w->length * w->stride + n % w->length;
            if (w->mask && !w->mask[at]) continue;
            double want = slope_of(&o, &o.parameters[k][at]), got = (double)state.m[k][at] / 0.1;
            check(fabs(got - want) < 2e-6 + 1e-4 * fabs(want), "%s K %zu, tensor %zu [%zu]: %.9g, not %.9g",
                  kind->kind, kind->classes, k, at, got, want);
        }
    for (size_t h = 0; h < fresh->H; h++) { /* the logistic loss leaves the weights alone */
        double want = loss != SURETY_LOSS_LINEAR ? 0 : slope_of(&o, &o.theta[h]),
               got = state.theta_m[h] / 0.1;
        check(fabs(got - want) < 1e-7, "%s: weight %zu, %.9g, not %.9g", kind->kind, h, got, want);
    }
    for (size_t k = 0; k < fresh->tensor_count; k++) free(o.parameters[k]);
    surety_train_state_free(&state);
    surety_voters_free(fresh);
}

static void test_gradient_of_a_batch(void **state) {
    draw r = {11};
    task *t = aligned_alloc(64, (sizeof(task) + 63) / 64 * 64);
    (void)state;
    for (size_t K = 2; K <= 5; K++) {
        line_of_classes(t, &r, K);
        for (surety_loss loss = SURETY_LOSS_LINEAR; loss <= SURETY_LOSS_BOUNDED; loss++) {
            check_gradient(&(surety_voters_settings){.kind = "linear", .count = 4, .classes = K}, t, loss);
            check_gradient(
                &(surety_voters_settings){
                    .kind = "soft-forest", .count = 4, .depth = 2, .mask = 0.2, .classes = K},
                t, loss);
        }
    }
    free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam_constant_gradient),
        cmocka_unit_test(test_adam_definition),
        cmocka_unit_test(test_choice_of_epoch),
        cmocka_unit_test(test_gradient_of_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
