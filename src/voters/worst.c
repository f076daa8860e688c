#include "voters/worst.h"

#include <math.h>

#include "voters/ball.h"

enum { L = SURETY_LANES, HALVINGS = 16 };

struct surety_worst {
    surety_range *range;
    surety_ball ball;
    surety_voter_set voter_set;
    size_t H, others; /* voters, classes but one */
    float *low;       /* (H, others, lanes) */
};

surety_status surety_worst_new(surety_worst **out, const surety_voters *voters, const surety_ball *ball,
                               uint64_t budget, surety_voter_set set, surety_error *err) {
    *out = NULL;
    surety_worst *w;
    SURETY_TRY(surety_alloc(&w, 1, sizeof *w, err));
    *w = (surety_worst){.ball = *ball,
                        .voter_set = set,
                        .H = surety_voters_count(voters),
                        .others = surety_voters_classes(voters) - 1};
    surety_status status = surety_range_new(&w->range, voters, ball, budget, err);
    if (status == SURETY_OK) status = surety_alloc(&w->low, w->H * w->others * L, sizeof *w->low, err);
    if (status != SURETY_OK) {
        surety_worst_free(w);
        return status;
    }
    *out = w;
    return SURETY_OK;
}

void surety_worst_free(surety_worst *w) {
    if (!w) return;
    surety_range_free(w->range);
    surety_free(w->low);
    surety_free(w);
}

/* A voter's limits (others, lanes) become those of its label, for one example. Where all are above 0 the
 * label is y everywhere. Else a class whose limit is above 0 is never the label, and v >= 0 against it;
 * against the others nothing is known, v >= -1. */
static void sign_limits(float *low, size_t others) {
    int proved = 1;
    for (size_t k = 0; k < others; k++) proved &= low[k * L] > 0;
    for (size_t k = 0; k < others; k++) low[k * L] = (float)(proved ? 1 : low[k * L] > 0 ? 0 : -1);
}

const float *surety_worst_run(surety_worst *w, const surety_examples *e, const double *radius) {
    surety_range_run(w->range, e->x, e->rows, radius, e->y, w->low);
    for (size_t t = 0; t < w->H && w->voter_set == SURETY_SIGNED; t++)
        for (size_t r = 0; r < e->rows; r++) sign_limits(w->low + t * w->others * L + r, w->others);
    return w->low;
}

void surety_worst_prove(surety_worst *w, const surety_vote *vote, const surety_examples *e,
                        const double *radius, int *proved) {
    double margin[L];
    surety_margin_limits(vote, surety_worst_run(w, e, radius), margin);
    for (size_t r = 0; r < e->rows; r++) proved[r] = margin[r] > 0;
}

void surety_worst_radius(surety_worst *w, const surety_vote *vote, const surety_examples *e, double *radius,
                         int *proved) {
    double most = surety_ball_widest(&w->ball, surety_voters_features(vote->voters)),
           b = fmin(w->ball.radius, most);
    double least =
        fmin(most * 0x1p-10, w->ball.radius > 0 ? w->ball.radius : HUGE_VAL); /* first try from 0 */
    double good[L], bad[L], probe[L];
    int at_zero[L] = {0}, right[L] = {0};
    for (size_t r = 0; r < L; r++) good[r] = 0, bad[r] = HUGE_VAL, probe[r] = 0;
    surety_worst_prove(w, vote, e, probe, at_zero);
    for (size_t r = 0; r < L; r++) probe[r] = b;
    surety_worst_prove(w, vote, e, probe, proved);
    for (size_t r = 0; r < e->rows; r++) {
        *(proved[r] ? &good[r] : &bad[r]) = b;
        if (!at_zero[r]) good[r] = bad[r] = 0; /* nothing to find; a ball of radius 0 is cheap to look at */
    }
    for (int step = 0, open = 1; open && step < 64; step++) { /* doubles until it fails */
        open = 0;
        for (size_t r = 0; r < e->rows; r++)
            probe[r] = isinf(bad[r]) ? fmin(fmax(2 * good[r], least), most) : 0;
        surety_worst_prove(w, vote, e, probe, right);
        for (size_t r = 0; r < e->rows; r++) {
            if (!isinf(bad[r])) continue;
            *(right[r] ? &good[r] : &bad[r]) = probe[r];
            if (good[r] >= most) bad[r] = good[r];
            open |= isinf(bad[r]);
        }
    }
    for (int step = 0; step < HALVINGS; step++) {
        for (size_t r = 0; r < e->rows; r++) probe[r] = (good[r] + bad[r]) / 2;
        surety_worst_prove(w, vote, e, probe, right);
        for (size_t r = 0; r < e->rows; r++) *(right[r] ? &good[r] : &bad[r]) = probe[r];
    }
    for (size_t r = 0; r < e->rows; r++) radius[r] = at_zero[r] ? good[r] : -1;
}
