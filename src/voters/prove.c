/* Proofs at run time: is the answer to this input the same everywhere in its ball? (docs/theory.md 8.1) */
#include "voters/prove.h"

#include <string.h>

#include "voters/worst.h"

struct surety_prover {
    surety_vote vote;
    surety_ball ball;
    surety_worst *worst;
    size_t d, stride;
    float *x, *h, *scratch; /* (SURETY_BLOCK, stride), (H, width, lanes), as the voters want it */
};

surety_status surety_prover_new(const surety_vote *vote, const surety_ball *ball, uint64_t budget,
                                surety_prover **out, surety_error *err) {
    *out = NULL;
    const surety_voters *v = vote->voters;
    size_t outputs = surety_voters_count(v) * surety_voters_width(v);
    surety_prover *p;
    SURETY_TRY(surety_ball_validate(ball, err));
    SURETY_TRY(surety_voters_need(v, SURETY_CAN_RANGE, "proofs", err));
    SURETY_TRY(surety_alloc(&p, 1, sizeof *p, err));
    *p = (surety_prover){.vote = *vote, .ball = *ball, .d = surety_voters_features(v)};
    p->stride = surety_padded(p->d);
    surety_status status = surety_worst_new(&p->worst, v, ball, budget, vote->voter_set, err);
    if (status == SURETY_OK) status = surety_alloc(&p->x, SURETY_BLOCK * p->stride, sizeof *p->x, err);
    if (status == SURETY_OK) status = surety_alloc(&p->h, outputs * SURETY_LANES, sizeof *p->h, err);
    if (status == SURETY_OK)
        status = surety_alloc(&p->scratch, surety_voters_scratch(v), sizeof *p->scratch, err);
    if (status != SURETY_OK) {
        surety_prover_free(p);
        return status;
    }
    *out = p;
    return SURETY_OK;
}

void surety_prover_free(surety_prover *p) {
    if (!p) return;
    surety_worst_free(p->worst);
    surety_free(p->x);
    surety_free(p->h);
    surety_free(p->scratch);
    surety_free(p);
}

/* Proofs are about balls inside the box, around points of it. */
static int in_box(const surety_prover *p, const float *x) {
    if (!p->ball.has_box) return 1;
    for (size_t j = 0; j < p->d; j++)
        if (x[j] < (float)p->ball.lo || x[j] > (float)p->ball.hi) return 0;
    return 1;
}

/* The rows into the prover's own memory, and their answers. */
static surety_examples take(surety_prover *p, const float *x, size_t stride, size_t rows,
                            surety_proof *proofs) {
    surety_examples e = {.rows = rows};
    uint8_t classes[SURETY_LANES];
    for (size_t r = 0; r < rows; r++) {
        memcpy(p->x + r * p->stride, x + r * stride, p->d * sizeof *x);
        e.x[r] = p->x + r * p->stride;
    }
    surety_voters_ask(p->vote.voters, e.x, rows, p->h, p->scratch);
    surety_vote_answers(&p->vote, p->h, rows, classes);
    for (size_t r = 0; r < rows; r++) {
        proofs[r] = (surety_proof){.answer = classes[r], .radius = -1};
        e.y[r] = classes[r] == SURETY_TIED ? 0 : classes[r];
    }
    return e;
}

static int can_be_proved(const surety_prover *p, const surety_examples *e, size_t r,
                         const surety_proof *proof) {
    return proof->answer != SURETY_TIED && in_box(p, e->x[r]);
}

void surety_prover_rows(surety_prover *p, const float *x, size_t stride, size_t rows, int radii,
                        surety_proof *proofs) {
    surety_examples e = take(p, x, stride, rows, proofs);
    double radius[SURETY_LANES];
    int proved[SURETY_LANES];
    for (size_t r = 0; r < SURETY_LANES; r++) radius[r] = p->ball.radius;
    if (radii)
        surety_worst_radius(p->worst, &p->vote, &e, radius, proved);
    else
        surety_worst_prove(p->worst, &p->vote, &e, radius, proved);
    for (size_t r = 0; r < rows; r++) {
        if (!can_be_proved(p, &e, r, &proofs[r])) continue;
        proofs[r].proved = proved[r];
        if (radii) proofs[r].radius = radius[r];
    }
}

int surety_vote_prove(surety_prover *p, const float *x, uint8_t *answer) {
    surety_proof proof;
    surety_prover_rows(p, x, p->d, 1, 0, &proof);
    if (answer) *answer = proof.answer;
    return proof.proved;
}

double surety_vote_radius(surety_prover *p, const float *x, uint8_t *answer) {
    surety_proof proof;
    surety_prover_rows(p, x, p->d, 1, 1, &proof);
    if (answer) *answer = proof.answer;
    return proof.radius;
}
