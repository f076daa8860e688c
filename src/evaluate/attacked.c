/* Attacks on whole sets: how many votes fail, how far the points lie from the examples, and the points in
 * order. Results are integers (a distance is rounded down to a multiple of a small unit), so no thread or
 * process changes a bit. */
#include <string.h>

#include "base/parallel.h"
#include "evaluate/sampler.h"
#include "evaluate/vote.h"
#include "io/json.h"
#include "surety/evaluate.h"
#include "voters/ball.h"

/* What a thread, or a process, has found. */
typedef struct findings {
    surety_attack_result counts; /* fooled (by class), units_fooled, tied, norm_max and found_by */
    int64_t norms;               /* sum of norms, each rounded down to a multiple of 1 / scale */
} findings;

typedef struct attacking {
    const surety_threat *threat;
    const surety_vote *vote;
    const surety_set *set;
    size_t n, first; /* k of the first example of this wave */
    double scale;    /* of norms: the sum over all perturbations is at most 2^62 */
    float *points;   /* (wave, n, stride), or NULL: nobody wants them */
    findings *found; /* per thread */
    uint8_t *fooled; /* (units) 1: some row of it is fooled; NULL where a row is a unit */
} attacking;

static surety_status see_point(void *arg, const surety_ended *e, size_t j, const float *x,
                               surety_error *err) {
    const attacking *w = arg;
    const surety_set *set = w->set;
    double norm = surety_ball_distance(&w->threat->ball, x, surety_set_row(set, e->i), set->d);
    findings *f = &w->found[e->thread];
    (void)err;
    if (norm > f->counts.norm_max) f->counts.norm_max = norm;
    f->norms += (int64_t)(norm * w->scale);
    float *kept = w->points ? w->points + ((e->k - w->first) * w->n + j) * set->stride : NULL;
    for (size_t i = 0; kept && i < set->d; i++) kept[i] = x[i];
    return SURETY_OK;
}

static surety_status see_votes(void *arg, const surety_ended *e, const float *votes, size_t ld,
                               surety_error *err) {
    const attacking *w = arg;
    surety_attack_result *found = &w->found[e->thread].counts;
    int adapts = surety_threat_about(w->threat->kind)->adapts, some = 0;
    (void)err;
    for (size_t j = 0; j < e->n; j++) {
        uint8_t y = w->set->y[e->i];
        double margin = surety_margin_column(w->vote, votes + j, ld, y);
        surety_threat_kind by = adapts ? e->found : w->threat->kind; /* noise may fool by itself */
        if (!(margin > 0) && by > found->found_by) found->found_by = by;
        found->fooled += !(margin > 0);
        found->class_fooled[y] += !(margin > 0);
        found->tied += margin == 0;
        some |= !(margin > 0);
    }
    if (!w->fooled)
        found->units_fooled += (size_t)some;
    else if (some)
        __atomic_store_n(&w->fooled[w->set->unit[e->i]], 1, __ATOMIC_RELAXED);
    return SURETY_OK;
}

/* A wave of examples is attacked in parallel, then handed out in order: memory is flat in m. */
static surety_status attack_wave(const attacking *w, surety_sampler *sampler, size_t end,
                                 const surety_perturbed_sink *sink, const surety_run *run,
                                 surety_error *err) {
    surety_sampling sampling = {.set = w->set,
                                .first = w->first,
                                .end = end,
                                .vote = *w->vote,
                                .point = see_point,
                                .votes = see_votes,
                                .arg = (void *)(uintptr_t)w,
                                .phase = sink ? NULL : "attack",
                                .shared = !sink};
    SURETY_TRY(surety_sampler_run(sampler, &sampling, NULL, run, err));
    for (size_t i = 0; sink && i < end - w->first; i++)
        for (size_t j = 0; j < w->n; j++)
            SURETY_TRY(
                sink->fn(sink->arg, w->first + i, j, w->points + (i * w->n + j) * w->set->stride, err));
    if (sink) surety_report(run, "attack", end, w->set->m, "");
    return SURETY_OK;
}

/* What all processes found. Counts are summed; the flag of a unit is 0 where its rows are not; of the largest
 * norm and the attack, each process tells its own in a place of its own. */
static surety_status gather(const attacking *w, findings *f, const surety_run *run, surety_error *err) {
    const surety_everyone *all = run ? run->everyone : NULL;
    surety_attack_result *r = &f->counts;
    size_t K = w->set->classes, heads = 4 + K, size = all ? all->size : 0;
    size_t units = w->fooled ? r->units : 0, count = heads + 2 * size + units;
    int64_t *sums = NULL, *flags, *own;
    if (!all) return SURETY_OK;
    SURETY_TRY(surety_alloc(&sums, count, sizeof *sums, err));
    own = sums + heads, flags = own + 2 * size;
    sums[0] = (int64_t)r->fooled, sums[1] = (int64_t)r->tied;
    sums[2] = (int64_t)r->units_fooled, sums[3] = f->norms;
    for (size_t k = 0; k < K; k++) sums[4 + k] = (int64_t)r->class_fooled[k];
    if (all->rank < size) memcpy(&own[2 * all->rank], &r->norm_max, sizeof r->norm_max);
    if (all->rank < size) own[2 * all->rank + 1] = (int64_t)r->found_by;
    for (size_t i = 0; i < units; i++) flags[i] = w->fooled[i];
    surety_status status = surety_sum_everyone(run, sums, count, err);
    r->fooled = (uint64_t)sums[0], r->tied = (uint64_t)sums[1];
    r->units_fooled = (size_t)sums[2], f->norms = sums[3];
    for (size_t k = 0; k < K; k++) r->class_fooled[k] = (uint64_t)sums[4 + k];
    for (size_t i = 0; i < size; i++) {
        double norm;
        memcpy(&norm, &own[2 * i], sizeof norm);
        if (norm > r->norm_max) r->norm_max = norm;
        if ((surety_threat_kind)own[2 * i + 1] > r->found_by)
            r->found_by = (surety_threat_kind)own[2 * i + 1];
    }
    for (size_t i = 0; i < units; i++) w->fooled[i] = flags[i] != 0;
    surety_free(sums);
    return status;
}

/* Threads together. */
static void add_threads(const attacking *w, size_t threads, findings *all) {
    surety_attack_result *sum = &all->counts;
    for (size_t t = 0; t < threads; t++) {
        const surety_attack_result *one = &w->found[t].counts;
        sum->fooled += one->fooled;
        sum->units_fooled += one->units_fooled;
        sum->tied += one->tied;
        for (size_t k = 0; k < w->set->classes; k++) sum->class_fooled[k] += one->class_fooled[k];
        if (one->norm_max > sum->norm_max) sum->norm_max = one->norm_max;
        if (one->found_by > sum->found_by) sum->found_by = one->found_by;
        all->norms += w->found[t].norms;
    }
}

/* Waves are short where their points are kept; else there is one. */
static surety_status attack_all(attacking *w, surety_sampler *sampler, const surety_perturbed_sink *sink,
                                surety_attack_result *result, const surety_run *run, surety_error *err) {
    size_t m = w->set->m, threads = (size_t)surety_threads(run);
    size_t wave = sink ? 2 * threads * SURETY_BLOCK : m;
    findings all = {.counts = *result};
    if (wave > m) wave = m;
    if (w->set->unit) SURETY_TRY(surety_alloc(&w->fooled, result->units, 1, err));
    SURETY_TRY(surety_alloc(&w->found, threads, sizeof *w->found, err));
    if (sink) SURETY_TRY(surety_alloc(&w->points, wave * w->n, w->set->stride * sizeof(float), err));
    for (size_t end; w->first < m; w->first = end) {
        end = m - w->first < wave ? m : w->first + wave;
        SURETY_TRY(attack_wave(w, sampler, end, sink, run, err));
    }
    add_threads(w, threads, &all);
    if (!sink) SURETY_TRY(gather(w, &all, run, err));
    *result = all.counts;
    for (size_t i = 0; w->fooled && i < result->units; i++) result->units_fooled += w->fooled[i];
    result->norm_mean = (double)all.norms / w->scale / ((double)result->m * (double)result->n);
    return SURETY_OK;
}

surety_status surety_attack_set(const surety_threat *threat, const surety_vote *vote, const surety_set *set,
                                const surety_perturbed_sink *sink, surety_attack_result *result,
                                const surety_run *run, surety_error *err) {
    surety_sampler *sampler;
    *result = (surety_attack_result){0};
    SURETY_TRY(surety_threat_validate(threat, err));
    SURETY_TRY(surety_attack_check_rows(threat, vote->voters, set, sink ? NULL : run, err));
    if (threat->kind == SURETY_WORST_CASE)
        return surety_fail(err, SURETY_E_USAGE, "the worst case is no attack: it has no perturbed examples");
    if (!set->m) return surety_fail(err, SURETY_E_INPUT, "there are no examples to attack");
    *result = (surety_attack_result){
        .m = set->m, .n = surety_threat_samples(threat), .units = set->unit ? set->units : set->m};
    attacking w = {.threat = threat, .vote = vote, .set = set, .n = result->n};
    w.scale = 0x1p61 /
              ((double)result->m * (double)result->n * (threat->ball.radius > 0 ? threat->ball.radius : 1));
    SURETY_TRY(surety_sampler_new(&sampler, threat, vote->voters, vote->voter_set, run, err));
    surety_status status = attack_all(&w, sampler, sink, result, run, err);
    surety_sampler_free(sampler);
    surety_free(w.found);
    surety_free(w.fooled);
    surety_free(w.points);
    return status;
}

char *surety_attack_result_json(const surety_attack_result *result) {
    return surety_json_text(SURETY_JSON_OBJECT(
        {"m", surety_json_count(result->m)}, {"n", surety_json_count(result->n)},
        {"fooled", surety_json_count(result->fooled)}, {"units", surety_json_count(result->units)},
        {"units_fooled", surety_json_count(result->units_fooled)}, {"tied", surety_json_count(result->tied)},
        {"found_by", surety_json_string(surety_threat_name(result->found_by))},
        {"norm_max", surety_json_real(result->norm_max)},
        {"norm_mean", surety_json_real(result->norm_mean)}));
}
