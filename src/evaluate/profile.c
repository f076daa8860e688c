/* The profile of a set (profile.h): first the strongest attack at growing radii, each on the examples that
 * the smaller ones did not fool, then the largest proved radius of every example. The two must not contradict
 * each other. */
#include "evaluate/profile.h"

#include <inttypes.h>
#include <string.h>

#include "base/parallel.h"
#include "evaluate/perturbed.h"
#include "evaluate/vote.h"
#include "voters/worst.h"

enum { MIDDLE = SURETY_PROFILE_RADII / 2 };

/* ---- attacks ---- */

typedef struct attacked {
    surety_vote vote;
    const surety_set *set;
    double *margin; /* of the k-th example of the run */
    float *x;       /* (d) NULL: points are not wanted */
} attacked;

static surety_status see_votes(void *arg, const surety_ended *e, const float *votes, size_t ld,
                               surety_error *err) {
    const attacked *a = arg;
    (void)err;
    a->margin[e->k] = surety_margin_column(&a->vote, votes, ld, a->set->y[e->i]);
    return SURETY_OK;
}

static surety_status see_point(void *arg, const surety_ended *e, size_t j, const float *x,
                               surety_error *err) {
    const attacked *a = arg;
    (void)e, (void)j, (void)err;
    memcpy(a->x, x, a->set->d * sizeof *x);
    return SURETY_OK;
}

/* The margins of the examples order[0..count) at the ends of an attack with this radius; 0: of the clean
 * vote. */
static surety_status attack_at(attacked *a, const surety_profile *p, const uint32_t *order, size_t count,
                               double radius, const surety_run *run, surety_error *err) {
    surety_threat threat = p->threat;
    surety_sampling what = {.set = a->set,
                            .order = order,
                            .end = count,
                            .vote = a->vote,
                            .point = a->x ? see_point : NULL,
                            .votes = see_votes,
                            .arg = a};
    threat.ball.radius = radius;
    if (!(radius > 0)) threat.kind = SURETY_ATTACK_NONE;
    return surety_sample_set(&threat, &what, run, err);
}

/* Attacks those that still stand with one radius after the other. order (m), which (m), margin (m): room. */
static surety_status fall(surety_profile *p, attacked *a, uint32_t *order, uint32_t *which,
                          const surety_run *run, surety_error *err) {
    memset(p->fooled_at, SURETY_PROFILE_RADII, p->m);
    for (size_t r = 0; r < SURETY_PROFILE_RADII; r++) {
        size_t count = 0;
        for (size_t k = 0; k < p->m; k++)
            if (p->fooled_at[k] == SURETY_PROFILE_RADII)
                order[count] = p->index[k], which[count++] = (uint32_t)k;
        SURETY_TRY(surety_stopped(run, err));
        surety_report(run, "page: attacked at growing radii", r, SURETY_PROFILE_RADII, "");
        if (!count) return SURETY_OK;
        SURETY_TRY(attack_at(a, p, order, count, p->radius[r], run, err));
        for (size_t k = 0; k < count; k++) {
            if (!r) p->margin[which[k]] = a->margin[k];
            if (!(a->margin[k] > 0)) p->fooled_at[which[k]] = (uint8_t)r;
        }
    }
    return SURETY_OK;
}

static surety_status find_fooled(surety_profile *p, const surety_model *model, const surety_set *set,
                                 const surety_run *run, surety_error *err) {
    attacked a = {.vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR), .set = set};
    uint32_t *order = NULL, *which = NULL;
    surety_status status = surety_alloc(&a.margin, p->m, sizeof *a.margin, err);
    if (status == SURETY_OK) status = surety_alloc(&order, p->m, sizeof *order, err);
    if (status == SURETY_OK) status = surety_alloc(&which, p->m, sizeof *which, err);
    if (status == SURETY_OK) status = fall(p, &a, order, which, run, err);
    surety_free(a.margin);
    surety_free(order);
    surety_free(which);
    return status;
}

surety_status surety_profile_point(const surety_profile *p, uint32_t index, double radius, float *x,
                                   double *margin, surety_error *err) {
    attacked a = {.vote = surety_model_vote(p->model, SURETY_WEIGHTS_POSTERIOR),
                  .set = p->set,
                  .margin = margin,
                  .x = x};
    return attack_at(&a, p, &index, 1, radius, NULL, err);
}

/* ---- proofs ---- */

typedef struct proving {
    surety_profile *p;
    const surety_set *set;
    surety_vote vote;
    surety_worst **worst; /* per thread */
} proving;

static surety_status prove_block(void *arg, size_t block, int thread, surety_error *err) {
    const proving *w = arg;
    const surety_profile *p = w->p;
    size_t first = block * SURETY_BLOCK;
    surety_examples e = {.which = w->set->which};
    double radius[SURETY_BLOCK];
    int proved[SURETY_BLOCK];
    for (; e.rows < SURETY_BLOCK && first + e.rows < p->m; e.rows++)
        surety_examples_put(&e, e.rows, w->set, p->index[first + e.rows]);
    surety_worst_radius(w->worst[thread], &w->vote, &e, radius, proved);
    for (size_t r = 0; r < e.rows; r++) {
        size_t k = first + r;
        p->certified[k] = radius[r];
        if (p->fooled_at[k] == SURETY_PROFILE_RADII || radius[r] < p->radius[p->fooled_at[k]]) continue;
        surety_fail(err, SURETY_E_CHECK, "the vote was proved right and found wrong in the same ball");
        surety_fail_place(err, "row %" PRIu32, w->set->row[p->index[k]]);
        return SURETY_E_CHECK;
    }
    return SURETY_OK;
}

static surety_status prove_all(surety_profile *p, const surety_model *model, const surety_set *set,
                               const surety_run *run, surety_error *err) {
    size_t threads = (size_t)surety_threads(run), blocks = (p->m + SURETY_BLOCK - 1) / SURETY_BLOCK;
    proving w = {.p = p, .set = set, .vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR)};
    surety_status status = surety_alloc(&p->certified, p->m, sizeof *p->certified, err);
    if (status == SURETY_OK) status = surety_alloc(&w.worst, threads, sizeof *w.worst, err);
    for (size_t t = 0; t < threads && status == SURETY_OK; t++)
        status = surety_worst_new(&w.worst[t], w.vote.voters, &p->threat.ball, p->threat.budget,
                                  w.vote.voter_set, err);
    if (status == SURETY_OK) status = surety_parallel(run, "page: proved", blocks, prove_block, &w, err);
    for (size_t t = 0; w.worst && t < threads; t++) surety_worst_free(w.worst[t]);
    surety_free((void *)w.worst);
    return status;
}

/* ---- both ---- */

static surety_status make(surety_profile *p, const surety_model *model, const surety_set *set,
                          const surety_run *run, surety_error *err) {
    SURETY_TRY(surety_threat_validate(&p->threat, err));
    SURETY_TRY(surety_attack_check_set(&p->threat, surety_model_voters(model), set, err));
    SURETY_TRY(surety_alloc(&p->index, p->m, sizeof *p->index, err));
    SURETY_TRY(surety_alloc(&p->margin, p->m, sizeof *p->margin, err));
    SURETY_TRY(surety_alloc(&p->fooled_at, p->m, sizeof *p->fooled_at, err));
    for (size_t k = 0; k < p->m; k++) p->index[k] = (uint32_t)((uint64_t)k * set->m / p->m);
    for (size_t r = 0; r < SURETY_PROFILE_RADII; r++)
        p->radius[r] = p->threat.ball.radius * (double)r / MIDDLE;
    SURETY_TRY(find_fooled(p, model, set, run, err));
    if (surety_threat_fits(SURETY_WORST_CASE, surety_model_voters(model), NULL) != SURETY_OK)
        return SURETY_OK;
    return prove_all(p, model, set, run, err);
}

surety_status surety_profile_make(surety_profile *out, const surety_model *model, const surety_set *set,
                                  const surety_threat *threat, size_t most, const surety_run *run,
                                  surety_error *err) {
    *out =
        (surety_profile){.model = model, .set = set, .m = set->m < most ? set->m : most, .threat = *threat};
    out->threat.kind = surety_threat_strongest(surety_model_voters(model));
    out->threat.epoch = SURETY_EPOCH_ATTACKED;
    surety_status status = make(out, model, set, run, err);
    if (status != SURETY_OK) surety_profile_free(out);
    return status;
}

void surety_profile_free(surety_profile *p) {
    surety_free(p->index);
    surety_free(p->margin);
    surety_free(p->certified);
    surety_free(p->fooled_at);
    *p = (surety_profile){0};
}

size_t surety_profile_fooled(const surety_profile *p, size_t radius) {
    size_t count = 0;
    for (size_t k = 0; k < p->m; k++) count += p->fooled_at[k] <= radius;
    return count;
}

size_t surety_profile_unproved(const surety_profile *p, double radius) {
    size_t count = 0;
    for (size_t k = 0; k < p->m; k++) count += p->certified[k] < radius;
    return count;
}
