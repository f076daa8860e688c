#include "voters/range.h"

#include "voters/ball.h"
#include "voters/kind.h"

struct surety_range {
    const surety_range_kind *kind;
    void *state;
    surety_ball ball;
    size_t d;
};

surety_status surety_range_new(surety_range **out, const surety_voters *voters, const surety_ball *ball,
                               uint64_t budget, surety_error *err) {
    *out = NULL;
    SURETY_TRY(surety_voters_need(voters, SURETY_CAN_RANGE, "the worst case", err));
    SURETY_TRY(surety_ball_validate(ball, err));
    SURETY_TRY(surety_ball_fits(ball, voters->d, err));
    surety_range *g;
    SURETY_TRY(surety_alloc(&g, 1, sizeof *g, err));
    *g = (surety_range){.kind = voters->kind->range, .ball = *ball, .d = voters->d};
    surety_status status = g->kind->start(&g->state, voters, ball, budget, err);
    if (status == SURETY_OK)
        *out = g;
    else
        surety_range_free(g);
    return status;
}

void surety_range_free(surety_range *g) {
    if (!g) return;
    g->kind->stop(g->state);
    surety_free(g);
}

void surety_range_run(surety_range *g, const float *const *x, size_t rows, const double *radius,
                      const uint8_t *y, float *low) {
    double cover[SURETY_LANES];
    for (size_t r = 0; r < rows; r++) cover[r] = surety_ball_cover(&g->ball, radius[r], x[r], g->d);
    g->kind->run(g->state, x, rows, cover, y, low);
}

int surety_range_find(surety_range *g, const surety_vote *vote, const float *x, uint8_t y, double radius,
                      float *point) {
    return g->kind->find(g->state, vote, x, y, radius, point);
}
