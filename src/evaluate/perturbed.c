#include "evaluate/perturbed.h"

#include <string.h>

#include "base/parallel.h"
#include "risk/accumulate.h"

typedef struct measuring measuring;

/* One thread's part. Points of examples whose attack has ended wait until there is a block of them; votes
 * wait until there is a block of examples. */
typedef struct worker {
    const measuring *w;
    surety_attacker *attacker; /* or, in the worst case, */
    surety_worst *worst;
    surety_risk **risk; /* one per posterior */
    float *points;      /* (SURETY_BLOCK, stride) */
    float *votes;       /* (H, SURETY_LANES n): of a block's examples, one after the other */
    int8_t y[SURETY_BLOCK];
    size_t rows, asked, drawn; /* examples that have ended, their points with votes and without */
    surety_status status;      /* of the calls that counted votes */
    surety_error error;
} worker;

struct measuring {
    const surety_measurement *what;
    const double *const *posteriors;
    size_t posterior_count;
    const surety_set *set;
    size_t n;
    worker *workers;
    size_t count;
};

static int is_worst(const surety_measurement *what) {
    return what->threat->kind == SURETY_WORST_CASE;
}

/* The voters at the points that were drawn. */
static void ask_voters(worker *mine) {
    const surety_voters *v = surety_attacker_voters(mine->attacker);
    const float *x[SURETY_BLOCK] = {NULL};
    float *h = surety_attacker_outputs(mine->attacker);
    for (size_t k = 0; k < mine->drawn; k++) x[k] = mine->points + k * mine->w->set->stride;
    surety_voters_ask(v, x, mine->drawn, h, surety_attacker_scratch(mine->attacker));
    for (size_t t = 0; t < surety_voters_count(v);
         t++) /* lanes behind the last point are those of nobody, or written again */
        memcpy(mine->votes + t * SURETY_LANES * mine->w->n + mine->asked, h + t * SURETY_LANES,
               SURETY_LANES * sizeof *h);
    mine->asked += mine->drawn;
    mine->drawn = 0;
}

/* Votes of the examples that have ended, into the risks of every posterior. */
static void count_votes(worker *mine) {
    const measuring *w = mine->w;
    for (size_t r = 0; r < mine->rows; r++)
        for (size_t q = 0; q < w->posterior_count && mine->status == SURETY_OK; q++)
            mine->status = surety_risk_add_columns(mine->risk[q], mine->votes + r * w->n, SURETY_LANES * w->n,
                                                   mine->y[r], &mine->error);
    mine->rows = mine->asked = 0;
}

/* A block of examples has a whole number of blocks of points. */
static void draw_points(void *arg, size_t k, size_t r, size_t steps) {
    worker *mine = arg;
    (void)steps;
    mine->y[mine->rows++] = mine->w->set->y[k];
    for (size_t j = 0; j < mine->w->n; j++) {
        surety_attacker_sample(mine->attacker, r, j, mine->points + mine->drawn * mine->w->set->stride);
        if (++mine->drawn == SURETY_BLOCK) ask_voters(mine);
    }
    if (mine->rows == SURETY_BLOCK) count_votes(mine);
}

static surety_status status_of(const worker *mine, surety_error *err) {
    if (mine->status != SURETY_OK) *err = mine->error;
    return mine->status;
}

static surety_status end_attacks(void *arg, size_t of, int thread, surety_error *err) {
    const measuring *w = arg;
    worker *mine = &w->workers[of];
    (void)thread;
    surety_attacker_feed(mine->attacker, w->what->attacked, w->set, 0, 0, draw_points, mine);
    if (mine->drawn) ask_voters(mine);
    count_votes(mine);
    return status_of(mine, err);
}

static surety_status measure_worst(worker *mine, size_t block, surety_error *err) {
    const measuring *w = mine->w;
    surety_examples e = surety_examples_of(w->set, block * SURETY_BLOCK);
    double radius[SURETY_BLOCK];
    for (size_t r = 0; r < SURETY_BLOCK; r++) radius[r] = w->what->threat->ball.radius;
    const float *worst = surety_worst_run(mine->worst, &e, radius);
    for (size_t r = 0; r < e.rows; r++)
        for (size_t q = 0; q < w->posterior_count; q++)
            SURETY_TRY(surety_risk_add_columns(mine->risk[q], worst + r, SURETY_LANES, e.y[r], err));
    return SURETY_OK;
}

static surety_status measure_block(void *arg, size_t block, int thread, surety_error *err) {
    const measuring *w = arg;
    worker *mine = &w->workers[thread];
    size_t first = block * SURETY_BLOCK, left = w->set->m - first;
    size_t end = first + (left < SURETY_BLOCK ? left : SURETY_BLOCK);
    if (is_worst(w->what)) return measure_worst(mine, block, err);
    surety_attacker_feed(mine->attacker, w->what->attacked, w->set, first, end, draw_points, mine);
    return status_of(mine, err);
}

static surety_status new_worker(const measuring *w, worker *mine, surety_error *err) {
    const surety_voters *v = w->what->attacked->voters;
    mine->w = w;
    surety_risk_settings settings = {.voters = surety_voters_count(v),
                                     .samples = w->n,
                                     .signed_votes = w->what->set == SURETY_SIGNED,
                                     .prior = w->what->prior};
    if (is_worst(w->what))
        SURETY_TRY(surety_worst_new(&mine->worst, v, &w->what->threat->ball, w->what->set, err));
    else
        SURETY_TRY(surety_attacker_new(&mine->attacker, w->what->threat, v, err));
    SURETY_TRY(surety_alloc(&mine->risk, w->posterior_count, sizeof(surety_risk *), err));
    for (size_t q = 0; q < w->posterior_count; q++) {
        settings.posterior = w->posteriors[q];
        SURETY_TRY(surety_risk_new(&mine->risk[q], &settings, err));
    }
    SURETY_TRY(surety_alloc(&mine->points, SURETY_BLOCK * w->set->stride, sizeof(float), err));
    return surety_alloc(&mine->votes, SURETY_LANES * w->n, surety_voters_count(v) * sizeof(float), err);
}

static surety_status measure_all(measuring *w, surety_risks *risks, const surety_run *run,
                                 surety_error *err) {
    w->count = (size_t)surety_threads(run);
    SURETY_TRY(surety_alloc(&w->workers, w->count, sizeof *w->workers, err));
    for (size_t t = 0; t < w->count; t++) SURETY_TRY(new_worker(w, &w->workers[t], err));
    size_t blocks = (w->set->m + SURETY_BLOCK - 1) / SURETY_BLOCK;
    SURETY_TRY(surety_parallel(run, w->what->phase, blocks, measure_block, w, err));
    if (!is_worst(w->what)) SURETY_TRY(surety_parallel(run, NULL, w->count, end_attacks, w, err));
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
                   .n = is_worst(what) ? 1 : surety_threat_samples(what->threat)};
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
