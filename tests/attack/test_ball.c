/* attack: every returned point lies in the box exactly and in the ball, as real arithmetic measures it; for
 * all norms, attacks and sizes, from radii far below a float's rounding to far above the data. */
#include <math.h>

#include "cases.h"
#include "tolerance.h"

/* Half of them with a tolerance, which free_settings frees. */
static surety_threat random_settings(draw *r, size_t d) {
    surety_threat s = surety_threat_defaults();
    if (draw_size(r, 0, 1)) s.ball.tolerance = random_tolerance(r, d, draw_size(r, 0, 3) ? 2 : 20);
    s.kind = (surety_threat_kind)draw_size(r, 0, SURETY_ATTACK_APGD);
    s.ball.norm = (surety_norm)draw_size(r, 0, 2);
    switch (draw_size(r, 0, 3)) {
        case 0: /* no box */
            s.ball.has_box = 0;
            break;
        case 1: /* any box: away from 0, around it, narrow, wide */
            s.ball.lo = draw_normal(r) * pow(10, draw_real(r, -3, 3));
            s.ball.hi = s.ball.lo + pow(10, draw_real(r, -2, 3));
            break;
        default:
            break; /* [0, 1] */
    }
    switch (draw_size(r, 0, 5)) {
        case 0:
            s.ball.radius = 0;
            break;
        case 1:
            s.ball.radius = pow(10, draw_real(r, -45, 29.5));
            break; /* absurd */
        case 2:
            s.ball.radius = pow(10, draw_real(r, -8, -4));
            break; /* near the rounding */
        default:
            s.ball.radius = pow(10, draw_real(r, -3, 1.5));
    }
    if (draw_size(r, 0, 2) == 0) s.step_size = fmin(1e30, s.ball.radius * pow(10, draw_real(r, -2, 3)));
    if (draw_size(r, 0, 19) == 0) s.step_size = pow(10, draw_real(r, -40, 29.5));
    s.steps = draw_size(r, 1, 6);
    s.samples = draw_size(r, 1, 12);
    s.noise = draw_size(r, 0, 4) ? 0.01 : pow(10, draw_real(r, -6, 3));
    s.restarts = draw_size(r, 1, 2);
    s.early_stop = draw_size(r, 0, 3) > 0;
    s.seed = draw_bits(r) >> 1;
    s.epoch = (uint32_t)draw_size(r, 0, 40);
    return s;
}

static void free_settings(const surety_threat *s) {
    surety_tolerance_free((surety_tolerance *)(uintptr_t)s->ball.tolerance);
}

static void check_point(const surety_threat *s, const float *x, const float *x0, size_t d) {
    float lo = (float)s->ball.lo, hi = (float)s->ball.hi;
    for (size_t j = 0; j < d; j++) {
        check_is(isfinite, x[j]);
        if (s->ball.tolerance) {
            float least = s->ball.tolerance->least[j], most = s->ball.tolerance->most[j];
            check(x[j] >= fminf(least, x0[j]) && x[j] <= fmaxf(most, x0[j]), "%.9g is outside its range",
                  (double)x[j]);
            check(s->ball.tolerance->unit[j] > 0 || !memcmp(&x[j], &x0[j], sizeof *x),
                  "feature %zu cannot change", j);
        }
        if (s->ball.has_box)
            check(x[j] >= lo && x[j] <= hi, "%.9g is outside [%.9g, %.9g]", (double)x[j], (double)lo,
                  (double)hi);
    }
    long double norm = true_distance(&s->ball, x, x0, d);
    check(norm <= (long double)s->ball.radius, "%s %s d %zu: distance %.17Lg, radius %.17g, step %g",
          surety_threat_name(s->kind), surety_norm_name(s->ball.norm), d, norm, s->ball.radius, s->step_size);
}

static void points_stay_in_ball_and_box(void **state) {
    (void)state;
    draw r = {11};
    long points = 0, wanted = check_count(20000, 12000000);
    float *out = NULL;
    surety_error err = SURETY_ERROR_NONE;
    check_ok(surety_alloc(&out, surety_padded(784), sizeof *out, &err));
    while (points < wanted) {
        size_t d = draw_size(&r, 0, 9) ? (size_t)pow(10, draw_real(&r, 0, 2)) : draw_size(&r, 1, 784);
        surety_threat s = random_settings(&r, d);
        check_ok(surety_threat_validate(&s, &err));
        random_vote v = random_vote_new(&r, d, draw_size(&r, 0, 1) != 0);
        random_set set = random_set_new(&r, SURETY_BLOCK, d, &s.ball, pow(10, draw_real(&r, -3, 3)),
                                        surety_voters_classes(v.voters));
        check_ok(surety_attack_check_set(&s, v.voters, &set.set, &err));
        surety_attacker *a = NULL;
        check_ok(surety_attacker_new(&a, &s, v.voters, &err));
        for (int again = 0; again < 3; again++) { /* other epochs, other random numbers */
            surety_attacker_epoch(a, s.epoch + (uint32_t)again);
            surety_examples e = surety_examples_of(&set.set, 0);
            const surety_attacked *result = surety_attacker_run(a, &v.vote, &e);
            for (size_t i = 0; i < e.rows; i++) {
                check_point(&s, result->x[i], e.x[i], d);
                points++;
                for (size_t j = 0; j < surety_threat_samples(&s); j++, points++) {
                    surety_attacker_sample(a, i, j, out);
                    check_point(&s, out, e.x[i], d);
                }
            }
        }
        surety_attacker_free(a);
        random_set_free(&set);
        random_vote_free(&v);
        free_settings(&s);
    }
    surety_free(out);
    print_message("# %ld points\n", points);
}

/* norm_max of a whole set is the largest of these distances. */
typedef struct seen {
    const surety_set *set;
    const surety_ball *ball;
    long double most;
    size_t next, n;
} seen;

static surety_status see(void *arg, size_t i, size_t j, const float *x, surety_error *err) {
    seen *s = arg;
    (void)err;
    assert_int_equal(i * s->n + j, s->next++); /* in order */
    s->most = fmaxl(s->most, true_distance(s->ball, x, s->set->x + i * s->set->stride, s->set->d));
    return SURETY_OK;
}

static void the_result_reports_the_largest_norm(void **state) {
    (void)state;
    draw r = {12};
    for (long round = 0; round < check_count(60, 600); round++) {
        surety_error err = SURETY_ERROR_NONE;
        size_t d = draw_size(&r, 1, 60), m = draw_size(&r, 1, 100);
        surety_threat s = random_settings(&r, d);
        random_vote v = random_vote_new(&r, d, 0);
        random_set set = random_set_new(&r, m, d, &s.ball, 1, surety_voters_classes(v.voters));
        seen look = {&set.set, &s.ball, 0, 0, surety_threat_samples(&s)};
        surety_attack_result result;
        check_ok(surety_attack_set(&s, &v.vote, &set.set, &(surety_perturbed_sink){see, &look}, &result, NULL,
                                   &err));
        assert_int_equal(look.next, m * look.n);
        check_that(fabs(result.norm_max - (double)look.most), <=, 1e-14 * result.norm_max);
        check_that(result.norm_mean, <=, result.norm_max * (1 + 1e-14));
        check_that(result.norm_max, <=, s.ball.radius);
        random_set_free(&set);
        random_vote_free(&v);
        free_settings(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_stay_in_ball_and_box),
        cmocka_unit_test(the_result_reports_the_largest_norm),
    };
    return cmocka_run_group_tests_name("ball", tests, NULL, NULL);
}
