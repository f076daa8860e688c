/* Proofs at run time: nothing is allocated, no drawn point of a proved ball has another answer, and radii
 * agree with proofs. Likewise the monitor allocates nothing. */
#include "check.h"

#include <math.h>

#include "base/memory.h"
#include "draw.h"
#include "surety/bound.h"
#include "surety/voters.h"

enum { D = 6, INPUTS = 40, POINTS = 60 };

static int count_allocation(void *arg, size_t bytes) {
    (void)bytes;
    ++*(long *)arg;
    return 1;
}

/* A point of the ball around x: a corner, or inside. */
static void draw_point(draw *d, const surety_ball *ball, double radius, const float *x, float *out) {
    double e[D], length = 0, to = radius * (1 - 1e-6) * (draw_size(d, 0, 1) ? 1 : draw_real(d, 0, 1));
    for (int j = 0; j < D; j++) {
        e[j] = ball->norm == SURETY_LINF ? (draw_size(d, 0, 1) ? 1 : -1) : draw_normal(d);
        length += ball->norm == SURETY_L1 ? fabs(e[j]) : e[j] * e[j];
    }
    length = ball->norm == SURETY_LINF ? 1 : ball->norm == SURETY_L1 ? length : sqrt(length);
    for (int j = 0; j < D; j++) out[j] = (float)((double)x[j] + e[j] / length * to);
}

static long prove_all(const surety_vote *vote, surety_ball ball, draw *d) {
    surety_error err = SURETY_ERROR_NONE;
    surety_prover *prover = NULL;
    long proved_ones = 0, allocated = 0;
    uint8_t answer, again, other[1];
    check_ok(surety_prover_new(vote, &ball, 100, &prover, &err));
    for (int i = 0; i < INPUTS; i++) {
        float x[D], moved[D];
        for (int j = 0; j < D; j++) x[j] = (float)draw_real(d, -1, 1);
        surety_memory_hook(count_allocation, &allocated);
        int proved = surety_vote_prove(prover, x, &answer);
        double radius = surety_vote_radius(prover, x, &again);
        surety_memory_hook(NULL, NULL);
        assert_int_equal(answer, again);
        check(proved == (radius >= ball.radius), "radius %g, proved %d at %g", radius, proved, ball.radius);
        check_ok(surety_vote_classes(vote, x, D, 1, other, NULL, &err));
        assert_int_equal(other[0], answer);
        proved_ones += proved;
        for (int k = 0; k < POINTS && radius > 0; k++) {
            draw_point(d, &ball, radius, x, moved);
            check_ok(surety_vote_classes(vote, moved, D, 1, other, NULL, &err));
            check(other[0] == answer, "a point within %g has another answer", radius);
        }
    }
    assert_int_equal(allocated, 0);
    surety_prover_free(prover);
    return proved_ones;
}

static void no_point_of_a_proved_ball_differs(void **state) {
    (void)state;
    static const char *const kinds[] = {"soft-forest", "linear"};
    draw d = {5};
    long proved = 0, asked = 0;
    for (size_t k = 0; k < 2; k++)
        for (int norm = 0; norm < 3; norm++)
            for (int set = 0; set < 2; set++)
                for (size_t K = 2; K <= 3; K++) {
                    surety_error err = SURETY_ERROR_NONE;
                    surety_voters_settings s = surety_voters_defaults();
                    surety_voters *voters = NULL;
                    surety_ball ball = surety_ball_defaults();
                    double weights[7];
                    s.kind = kinds[k], s.count = 7, s.classes = K;
                    ball.norm = (surety_norm)norm, ball.radius = 0.05, ball.has_box = 0;
                    for (int h = 0; h < 7; h++) weights[h] = 1. / 7;
                    check_ok(surety_voters_new(&s, D, 1, &voters, &err));
                    surety_vote vote = {voters, weights, set ? SURETY_SIGNED : SURETY_REAL};
                    proved += prove_all(&vote, ball, &d);
                    asked += INPUTS;
                    surety_voters_free(voters);
                }
    check(proved > asked / 4 && proved < asked, "%ld of %ld were proved", proved, asked);
}

static void a_monitor_allocates_nothing(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_monitor m;
    long allocated = 0;
    surety_memory_hook(count_allocation, &allocated);
    check_ok(surety_monitor_start(0.1, 0.05, &m, &err));
    for (int i = 0; i < 1000; i++) surety_monitor_add(&m, i % 7 == 0);
    check_that(surety_monitor_limit(&m), <, 1);
    surety_memory_hook(NULL, NULL);
    assert_int_equal(allocated, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_point_of_a_proved_ball_differs),
        cmocka_unit_test(a_monitor_allocates_nothing),
    };
    return cmocka_run_group_tests_name("voters/prove", tests, NULL, NULL);
}
