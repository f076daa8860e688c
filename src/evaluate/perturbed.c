/* One sampling, several posteriors. The votes of an example are drawn once and added to one accumulator for
 * each posterior and thread. All that is kept are integers, counted by merging accumulators or by atomic
 * operations, so neither threads nor processes nor the order of examples can change a bit. A unit fails if
 * one of its rows does. Every example has a coin, uniform and addressed to its row, for the bounds on losses
 * that are not 0 or 1: they count the losses that lie above it. */
#include "evaluate/perturbed.h"

#include "base/parallel.h"
#include "base/random.h"
#include "risk/accumulate.h"

typedef struct measuring {
    const surety_measurement *what;
    const double *const *posteriors;
    size_t posterior_count;
    const surety_set *set;
    size_t threads;
    surety_risk **risk; /* (threads, posterior_count) */
    int64_t *groups;    /* (posterior_count, 2, groups): examples and failures; NULL without groups */
    uint8_t *verdicts;  /* (posterior_count, units): what the rows of a unit came to; NULL without units */
} measuring;

/* What the example came to, for its group. */
static void count_group(const measuring *w, size_t q, size_t i, uint8_t verdict) {
    int64_t *groups = w->groups + q * 2 * w->set->groups, *failed = groups + w->set->groups;
    __atomic_fetch_add(&groups[w->set->group[i]], 1, __ATOMIC_RELAXED);
    if (verdict & (SURETY_VERDICT_WRONG | SURETY_VERDICT_TIED))
        __atomic_fetch_add(&failed[w->set->group[i]], 1, __ATOMIC_RELAXED);
}

/* An example's votes into the risks of every posterior. */
static surety_status count_votes(void *arg, const surety_ended *e, const float *votes, size_t ld,
                                 surety_error *err) {
    const measuring *w = arg;
    surety_risk **mine = w->risk + (size_t)e->thread * w->posterior_count;
    uint8_t y = w->set->y[e->i];
    const surety_threat *threat = w->what->threat;
    const surety_address coin = {.row = w->set->row[e->i],
                                 .epoch = threat->epoch,
                                 .purpose = (uint8_t)(SURETY_FOR_COIN + w->set->which)};
    uint32_t bits[4];
    surety_random_bits(threat->seed, &coin, 0, bits);
    for (size_t q = 0; q < w->posterior_count; q++) surety_risk_coin(mine[q], bits[0]);
    for (size_t q = 0; q < w->posterior_count; q++)
        if (w->what->threat->kind == SURETY_WORST_CASE)
            SURETY_TRY(surety_risk_add_limits(mine[q], votes, ld, y, err));
        else if (w->set->classes > 2)
            SURETY_TRY(surety_risk_add_score_columns(mine[q], votes, ld, y, err));
        else
            SURETY_TRY(surety_risk_add_columns(mine[q], votes, ld, surety_sign(y), err));
    for (size_t q = 0; q < w->posterior_count && w->groups; q++)
        count_group(w, q, e->i, surety_risk_verdict(mine[q]));
    for (size_t q = 0; q < w->posterior_count && w->verdicts; q++)
        __atomic_fetch_or(&w->verdicts[q * w->set->units + w->set->unit[e->i]], surety_risk_verdict(mine[q]),
                          __ATOMIC_RELAXED); /* rows of a unit may be other threads' */
    return SURETY_OK;
}

static surety_status new_risks(measuring *w, surety_error *err) {
    surety_risk_settings settings = {.voter_count = surety_voters_count(w->what->attacked->voters),
                                     .classes = w->set->classes,
                                     .samples = surety_threat_samples(w->what->threat),
                                     .signed_votes = w->what->voter_set == SURETY_SIGNED,
                                     .prior = w->what->prior};
    SURETY_TRY(surety_alloc(&w->risk, w->threads * w->posterior_count, sizeof(surety_risk *), err));
    for (size_t i = 0; i < w->threads * w->posterior_count; i++) {
        settings.posterior = w->posteriors[i % w->posterior_count];
        SURETY_TRY(surety_risk_new(&settings, &w->risk[i], err));
        surety_risk_coin(w->risk[i], 0); /* it has coins, also where this process has no example */
    }
    return SURETY_OK;
}

/* The bits of a unit's rows, which may be other processes' too: each bit is counted, in its 16 bits of an
 * integer. */
static surety_status gather_verdicts(uint8_t *verdicts, size_t count, const surety_run *run,
                                     surety_error *err) {
    enum { BITS = 3, WIDTH = 16 };
    int64_t *sums = NULL;
    if (!run || !run->everyone) return SURETY_OK;
    SURETY_TRY(surety_alloc(&sums, count, sizeof *sums, err));
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < BITS; k++) sums[i] |= (int64_t)(verdicts[i] >> k & 1) << k * WIDTH;
    surety_status status = surety_sum_everyone(run, sums, count, err);
    for (size_t i = 0; i < count && status == SURETY_OK; i++) {
        verdicts[i] = 0;
        for (int k = 0; k < BITS; k++) verdicts[i] |= (uint8_t)(((sums[i] >> k * WIDTH & 0xffff) != 0) << k);
    }
    surety_free(sums);
    return status;
}

/* Counts per group into the risks, of all processes. */
static surety_status take_groups(const measuring *w, size_t q, surety_risks *risks, const surety_run *run,
                                 surety_error *err) {
    size_t count = w->set->groups;
    int64_t *sums = w->groups + q * 2 * count;
    SURETY_TRY(surety_sum_everyone(run, sums, 2 * count, err));
    if (surety_apart(run)) return SURETY_OK;
    SURETY_TRY(surety_alloc(&risks->groups, 2 * count, sizeof *risks->groups, err));
    for (size_t k = 0; k < 2 * count; k++) risks->groups[k] = (uint64_t)sums[k];
    risks->group_count = count;
    return SURETY_OK;
}

/* Threads and processes together, for posterior q. */
static surety_status conclude(measuring *w, size_t q, surety_risks *risks, const surety_run *run,
                              surety_error *err) {
    surety_risk *sum = w->risk[q];
    size_t units = w->set->units;
    for (size_t t = 1; t < w->threads; t++)
        SURETY_TRY(surety_risk_merge(sum, w->risk[t * w->posterior_count + q], err));
    SURETY_TRY(surety_risk_gather(sum, run, err));
    if (w->verdicts) SURETY_TRY(gather_verdicts(w->verdicts + q * units, units, run, err));
    if (!surety_apart(run))
        SURETY_TRY(w->verdicts ? surety_risks_of_units(risks, w->verdicts + q * units, units, sum, err)
                               : surety_risk_result(sum, risks, err));
    return w->groups ? take_groups(w, q, risks, run, err) : SURETY_OK;
}

static surety_status measure_all(measuring *w, surety_risks *risks, const surety_run *run,
                                 surety_error *err) {
    surety_sampler *sampler;
    surety_sampling sampling = {.set = w->set,
                                .end = w->set->m,
                                .vote = *w->what->attacked,
                                .votes = count_votes,
                                .arg = w,
                                .phase = w->what->phase,
                                .shared = 1};
    SURETY_TRY(new_risks(w, err));
    if (w->set->group)
        SURETY_TRY(surety_alloc(&w->groups, w->posterior_count * 2 * w->set->groups, sizeof *w->groups, err));
    if (w->set->unit) SURETY_TRY(surety_alloc(&w->verdicts, w->posterior_count * w->set->units, 1, err));
    SURETY_TRY(surety_sampler_new(&sampler, w->what->threat, w->what->attacked->voters, w->what->voter_set,
                                  run, err));
    surety_status status = surety_sampler_run(sampler, &sampling, NULL, run, err);
    surety_sampler_free(sampler);
    for (size_t q = 0; q < w->posterior_count && status == SURETY_OK; q++)
        status = conclude(w, q, &risks[q], run, err);
    return status;
}

surety_status surety_measure_each(const surety_measurement *what, const double *const *posteriors,
                                  size_t count, const surety_set *set, surety_risks *risks,
                                  const surety_run *run, surety_error *err) {
    measuring w = {.what = what,
                   .posteriors = posteriors,
                   .posterior_count = count,
                   .set = set,
                   .threads = (size_t)surety_threads(run)};
    for (size_t q = 0; q < count; q++) risks[q] = (surety_risks){0};
    surety_status status = measure_all(&w, risks, run, err);
    for (size_t i = 0; w.risk && i < w.threads * count; i++) surety_risk_free(w.risk[i]);
    surety_free((void *)w.risk);
    surety_free(w.verdicts);
    surety_free(w.groups);
    for (size_t q = 0; q < count && status != SURETY_OK; q++) surety_risks_free(&risks[q]);
    return status;
}

surety_status surety_measure(const surety_measurement *what, const surety_set *set, surety_risks *risks,
                             const surety_run *run, surety_error *err) {
    return surety_measure_each(what, &what->posterior, 1, set, risks, run, err);
}
