/* The ball of allowed perturbations, with or without a tolerance per feature. */
#include "voters/ball.h"

#include <math.h>

#include "base/error.h"

double surety_norm_radius(surety_norm norm) {
    return norm == SURETY_L2 ? 1 : norm == SURETY_LINF ? 0.1 : 10;
}

surety_ball surety_ball_defaults(void) {
    return (surety_ball){.radius = surety_norm_radius(SURETY_L2), .has_box = 1, .hi = 1};
}

surety_status surety_ball_validate(const surety_ball *ball, surety_error *err) {
    if ((unsigned)ball->norm > SURETY_L1)
        return surety_fail(err, SURETY_E_USAGE, "unknown norm %d", (int)ball->norm);
    if (!(ball->radius >= 0 && ball->radius <= SURETY_LARGEST))
        return surety_fail(err, SURETY_E_USAGE, "a radius is a number of at least 0, not %g", ball->radius);
    if (ball->has_box &&
        !(ball->lo >= -SURETY_LARGEST && ball->hi <= SURETY_LARGEST && (float)ball->lo < (float)ball->hi))
        return surety_fail(err, SURETY_E_USAGE, "a box needs two numbers LO < HI, not %g and %g", ball->lo,
                           ball->hi);
    if (!(ball->slack >= 0 && ball->slack < 1))
        return surety_fail(err, SURETY_E_USAGE, "a slack is at least 0 and below 1, not %g", ball->slack);
    return SURETY_OK;
}

surety_status surety_ball_fits(const surety_ball *ball, size_t d, surety_error *err) {
    if (!ball->tolerance || ball->tolerance->d == d) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the tolerance is one for %zu features", ball->tolerance->d);
    surety_fail_expected(err, "%zu features, as the data have", d);
    return SURETY_E_INPUT;
}

double surety_ball_unit(const surety_ball *ball, size_t j) {
    return ball->tolerance ? ball->tolerance->unit[j] : 1;
}

void surety_ball_ends(const surety_ball *ball, size_t j, float x, float *lo, float *hi) {
    *lo = ball->has_box ? (float)ball->lo : -HUGE_VALF;
    *hi = ball->has_box ? (float)ball->hi : HUGE_VALF;
    if (!ball->tolerance) return;
    *lo = fmaxf(*lo, fminf(x, ball->tolerance->least[j]));
    *hi = fminf(*hi, fmaxf(x, ball->tolerance->most[j]));
}

/* A running ||.||_p. */
typedef struct norm_sum {
    surety_norm norm;
    double sum, most;
} norm_sum;

static void add(norm_sum *s, double e) {
    if (!(e <= s->most)) s->most = e;
    s->sum += s->norm == SURETY_L2 ? e * e : e;
}

static double value(const norm_sum *s) {
    return s->norm == SURETY_LINF ? s->most : s->norm == SURETY_L2 ? sqrt(s->sum) : s->sum;
}

double surety_ball_distance(const surety_ball *ball, const float *x, const float *x0, size_t d) {
    norm_sum s = {ball->norm, 0, 0};
    for (size_t j = 0; j < d; j++) {
        double e = isnan(x[j]) && isnan(x0[j]) ? 0 : fabs((double)x[j] - (double)x0[j]); /* missing */
        add(&s, ball->tolerance && e > 0 ? e / ball->tolerance->unit[j] : e);
    }
    return value(&s);
}

double surety_ball_widest(const surety_ball *ball, size_t d) {
    if (!ball->has_box || ball->tolerance) return 0x1p20 * (ball->radius > 0 ? ball->radius : 1);
    double side = ball->hi - ball->lo;
    return ball->norm == SURETY_LINF ? side : side * (ball->norm == SURETY_L2 ? sqrt((double)d) : (double)d);
}

double surety_ball_scale(const surety_ball *ball, size_t d) {
    double length = ball->radius, unit = ball->tolerance ? 0 : 1;
    for (size_t j = 0; ball->tolerance && j < d; j++) unit = fmax(unit, ball->tolerance->unit[j]);
    double side = ball->has_box && !ball->tolerance ? fmin(length, ball->hi - ball->lo) : length;
    if (ball->norm == SURETY_L1) length = sqrt(side * length);
    length *= unit;
    if (!(length > 0x1p-30 && length < 0x1p30)) length = 1;
    return exp2(round(log2(4 * length)));
}

surety_status surety_ball_settle(surety_ball *ball, const surety_tolerance *given,
                                 const surety_data_info *info, surety_tolerance **brought,
                                 surety_error *err) {
    int scaled = info->scaling != SURETY_SCALE_NONE;
    *brought = NULL;
    if (given && info->boxed && scaled) {
        surety_fail(err, SURETY_E_USAGE, "a box and a tolerance, of scaled features");
        surety_fail_expected(err, "the ranges in the tolerance, lo and hi");
        return SURETY_E_USAGE;
    }
    if (!given && ball->radius > 0) SURETY_TRY(surety_data_tolerance(info, brought, err));
    ball->slack = scaled ? SURETY_SCALED : 0;
    ball->tolerance = given ? given : *brought;
    ball->has_box = info->boxed && !scaled && !*brought;
    ball->lo = info->box_lo, ball->hi = info->box_hi;
    return SURETY_OK;
}

/* b + ||eps_j / r_j||_p over the features that can move, eps_j = slack (|x_j| + b r_j) + 2^-148, the last for
 * results that underflow. What is missing does not move. All terms are not negative: d + 8 roundings of
 * doubles. */
double surety_ball_cover(const surety_ball *ball, double radius, const float *x, size_t d) {
    norm_sum s = {ball->norm, 0, 0};
    if (ball->slack == 0) return radius;
    for (size_t j = 0; j < d; j++) {
        double unit = surety_ball_unit(ball, j);
        if (unit > 0 && !isnan(x[j]))
            add(&s, (ball->slack * (fabs((double)x[j]) + radius * unit) + 0x1p-148) / unit);
    }
    return (radius + value(&s)) * (1 + (double)(d + 8) * 0x1p-52);
}
