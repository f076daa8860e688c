#include "evaluate/perturbed.h"

#include <string.h>

#include "base/parallel.h"
#include "risk/accumulate.h"

typedef struct worker {
    surety_attacker *attacker; /* or, in the worst case, */
    surety_worst *worst;
    surety_risk **risk; /* one per posterior */
    float *points;      /* (SURETY_BLOCK, stride) */
    float *votes;       /* (H, SURETY_LANES n): of a block's examples, one after the other */
} worker;

typedef struct measuring {
    const surety_measurement *what;
    const double *const *posteriors;
    size_t posterior_count;
    const surety_set *set;
    size_t n;
    worker *workers;
    size_t count;
} measuring;

/* Perturbations of all examples of the block, one list, a block at a time through the voters. */
static void ask_voters(const measuring *w, worker *mine, size_t rows) {
    const surety_voters *v = surety_attacker_voters(mine->attacker);
    float *h = surety_attacker_outputs(mine->attacker);
    size_t total = rows * w->n;
    for (size_t first = 0; first < total; first += SURETY_BLOCK) {
        const float *x[SURETY_BLOCK] = {NULL};
        size_t count = total - first < SURETY_BLOCK ? total - first : SURETY_BLOCK;
        for (size_t k = 0; k < count; k++) {
            float *point = mine->points + k * w->set->stride;
            surety_attacker_sample(mine->attacker, (first + k) / w->n, (first + k) % w->n, point);
            x[k] = point;
        }
        v->kind->forward(v, x, count, h, surety_attacker_scratch(mine->attacker));
        for (size_t t = 0; t < v->H; t++) /* lanes behind count are those of nobody, or written again */
            memcpy(mine->votes + t * SURETY_LANES * w->n + first, h + t * SURETY_LANES,
                   SURETY_LANES * sizeof *h);
    }
}

static void ask_worst(const measuring *w, worker *mine, const surety_examples *e) {
    double radius[SURETY_BLOCK];
    size_t H = w->what->attacked->voters->H;
    for (size_t r = 0; r < SURETY_BLOCK; r++) radius[r] = w->what->attack->ball.radius;
    const float *worst = surety_worst_run(mine->worst, e, radius);
    memcpy(mine->votes, worst, H * SURETY_LANES * sizeof *worst);
}

static surety_status measure_block(void *arg, size_t block, int thread, surety_error *err) {
    const measuring *w = arg;
    worker *mine = &w->workers[thread];
    surety_examples e = surety_examples_of(w->set, block * SURETY_BLOCK);
    if (w->what->worst_case) {
        ask_worst(w, mine, &e);
    } else {
        surety_attacker_run(mine->attacker, w->what->attacked, &e);
        ask_voters(w, mine, e.rows);
    }
    for (size_t r = 0; r < e.rows; r++)
        for (size_t q = 0; q < w->posterior_count; q++)
            SURETY_TRY(surety_risk_add_columns(mine->risk[q], mine->votes + r * w->n, SURETY_LANES * w->n,
                                               e.y[r], err));
    return SURETY_OK;
}

static surety_status new_worker(const measuring *w, worker *mine, surety_error *err) {
    const surety_voters *v = w->what->attacked->voters;
    surety_risk_settings settings = {.voters = v->H,
                                     .samples = w->n,
                                     .signed_votes = w->what->set == SURETY_SIGNED,
                                     .prior = w->what->prior};
    if (w->what->worst_case)
        SURETY_TRY(surety_worst_new(&mine->worst, v, &w->what->attack->ball, w->what->set, err));
    else
        SURETY_TRY(surety_attacker_new(&mine->attacker, w->what->attack, v, err));
    SURETY_TRY(surety_alloc(&mine->risk, w->posterior_count, sizeof(surety_risk *), err));
    for (size_t q = 0; q < w->posterior_count; q++) {
        settings.posterior = w->posteriors[q];
        SURETY_TRY(surety_risk_new(&mine->risk[q], &settings, err));
    }
    SURETY_TRY(surety_alloc(&mine->points, SURETY_BLOCK * w->set->stride, sizeof(float), err));
    return surety_alloc(&mine->votes, SURETY_LANES * w->n, v->H * sizeof(float), err);
}

static surety_status measure_all(measuring *w, surety_risks *risks, const surety_run *run,
                                 surety_error *err) {
    w->count = (size_t)surety_threads(run);
    SURETY_TRY(surety_alloc(&w->workers, w->count, sizeof *w->workers, err));
    for (size_t t = 0; t < w->count; t++) SURETY_TRY(new_worker(w, &w->workers[t], err));
    size_t blocks = (w->set->m + SURETY_BLOCK - 1) / SURETY_BLOCK;
    SURETY_TRY(surety_parallel(run, w->what->phase, blocks, measure_block, w, err));
    for (size_t q = 0; q < w->posterior_count; q++) {
        surety_risk *sum = w->workers[0].risk[q];
        for (size_t t = 1; t < w->count; t++) SURETY_TRY(surety_risk_merge(sum, w->workers[t].risk[q], err));
        SURETY_TRY(surety_risk_result(sum, &risks[q], err));
    }
    return SURETY_OK;
}

static void free_worker(const measuring *w, worker *mine) {
    for (size_t q = 0; mine->risk && q < w->posterior_count; q++) surety_risk_free(mine->risk[q]);
    surety_attacker_free(mine->attacker);
    surety_worst_free(mine->worst);
    surety_free((void *)mine->risk);
    surety_free(mine->points);
    surety_free(mine->votes);
}

surety_status surety_measure_each(const surety_measurement *what, const double *const *posteriors,
                                  size_t count, const surety_set *set, surety_risks *risks,
                                  const surety_run *run, surety_error *err) {
    measuring w = {.what = what,
                   .posteriors = posteriors,
                   .posterior_count = count,
                   .set = set,
                   .n = what->worst_case ? 1 : surety_attack_samples(what->attack)};
    for (size_t q = 0; q < count; q++) risks[q] = (surety_risks){0};
    surety_status status = measure_all(&w, risks, run, err);
    for (size_t t = 0; w.workers && t < w.count; t++) free_worker(&w, &w.workers[t]);
    surety_free(w.workers);
    for (size_t q = 0; q < count && status != SURETY_OK; q++) surety_risks_free(&risks[q]);
    return status;
}

surety_status surety_measure(const surety_measurement *what, const surety_set *set, surety_risks *risks,
                             const surety_run *run, surety_error *err) {
    return surety_measure_each(what, &what->posterior, 1, set, risks, run, err);
}
