/* Settings of attacks, and attacks on whole sets. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attack/attacker.h"
#include "base/names.h"
#include "base/parallel.h"
#include "io/json.h"

/* clang-format off */
static const surety_threat_info facts[SURETY_THREATS] = {
    [SURETY_ATTACK_NONE]   = {"none", "none", 0, SURETY_STEPS_NONE, 0, SURETY_ATTACK_NONE},
    [SURETY_ATTACK_UNIF]   = {"unif", "unif", 1, SURETY_STEPS_NONE, 0, SURETY_ATTACK_UNIF},
    [SURETY_ATTACK_FGSM]   = {"fgsm", "fgsm", 0, SURETY_STEPS_ONE, 0, SURETY_ATTACK_FGSM},
    [SURETY_ATTACK_IFGSM]  = {"ifgsm", "ifgsm", 0, SURETY_STEPS_MANY, 0, SURETY_ATTACK_IFGSM},
    [SURETY_ATTACK_PGD]    = {"pgd", "pgd", 1, SURETY_STEPS_MANY, 0, SURETY_ATTACK_PGD},
    [SURETY_ATTACK_IFGSMU] = {"ifgsmu", "ifgsmu", 0, SURETY_STEPS_MANY, 1, SURETY_ATTACK_IFGSM},
    [SURETY_ATTACK_PGDU]   = {"pgdu", "pgdu", 1, SURETY_STEPS_MANY, 1, SURETY_ATTACK_PGD},
    [SURETY_WORST_CASE]    = {"worst-case", "certified", 0, SURETY_STEPS_NONE, 0, SURETY_WORST_CASE},
};
/* clang-format on */

const surety_threat_info *surety_threat_about(surety_threat_kind kind) {
    return &facts[kind];
}

static surety_status parse(const char *what, const char *name, int defense, surety_threat_kind *kind,
                           surety_error *err) {
    const char *names[SURETY_THREATS];
    size_t index = 0;
    for (int k = 0; k < SURETY_THREATS; k++) names[k] = defense ? facts[k].defense : facts[k].name;
    SURETY_TRY(surety_name_find(what, name, names, SURETY_THREATS, &index, err));
    *kind = (surety_threat_kind)index;
    return SURETY_OK;
}

surety_status surety_threat_parse(const char *name, surety_threat_kind *kind, surety_error *err) {
    return parse("attack", name, 0, kind, err);
}
surety_status surety_defense_parse(const char *name, surety_threat_kind *kind, surety_error *err) {
    return parse("defense", name, 1, kind, err);
}
const char *surety_threat_name(surety_threat_kind kind) {
    return facts[kind].name;
}
const char *surety_defense_name(surety_threat_kind kind) {
    return facts[kind].defense;
}
surety_threat_kind surety_threat_plain(surety_threat_kind kind) {
    return facts[kind].plain;
}

void surety_threat_defaults(surety_threat *s) {
    *s = (surety_threat){.kind = SURETY_ATTACK_PGD,
                         .steps = 20,
                         .noise = 0.01,
                         .samples = 100,
                         .restarts = 1,
                         .early_stop = 1};
    surety_ball_defaults(&s->ball);
}

double surety_threat_step(const surety_threat *s) {
    return s->step_size > 0 ? s->step_size : s->steps ? s->ball.radius / (double)s->steps : 0;
}

size_t surety_threat_samples(const surety_threat *s) {
    return facts[s->kind].noise ? s->samples : 1;
}

surety_status surety_threat_validate(const surety_threat *s, surety_error *err) {
    if ((unsigned)s->kind >= SURETY_THREATS)
        return surety_fail(err, SURETY_E_USAGE, "unknown attack %d", (int)s->kind);
    SURETY_TRY(surety_ball_validate(&s->ball, err));
    if (s->kind == SURETY_WORST_CASE) return SURETY_OK; /* nothing else counts */
    if (facts[s->kind].steps == SURETY_STEPS_MANY && (s->steps < 1 || s->steps > 1000000))
        return surety_fail(err, SURETY_E_USAGE, "%s takes 1 to 1000000 steps, not %zu", facts[s->kind].name,
                           s->steps);
    if (!(s->step_size >= 0 && s->step_size <= SURETY_LARGEST))
        return surety_fail(err, SURETY_E_USAGE, "a step size is above 0 (0: radius / steps), not %g",
                           s->step_size);
    if (!(s->noise >= 0 && s->noise <= SURETY_LARGEST))
        return surety_fail(err, SURETY_E_USAGE, "the noise is at least 0, not %g", s->noise);
    if (s->samples < 1 || s->samples >= SURETY_SAMPLE_LIMIT)
        return surety_fail(err, SURETY_E_USAGE, "samples: 1 to %u, not %zu", SURETY_SAMPLE_LIMIT - 1,
                           s->samples);
    if (s->restarts < 1 || s->restarts >= SURETY_RESTART_LIMIT)
        return surety_fail(err, SURETY_E_USAGE, "restarts: 1 to %u, not %zu", SURETY_RESTART_LIMIT - 1,
                           s->restarts);
    if (s->seed >= SURETY_SEED_LIMIT) return surety_fail(err, SURETY_E_USAGE, "a seed is below 2^63");
    if (s->epoch >= SURETY_EPOCH_LIMIT)
        return surety_fail(err, SURETY_E_USAGE, "an epoch is below %u", SURETY_EPOCH_LIMIT);
    return SURETY_OK;
}

/* ---- a whole set ---- */

/* Data outside the box has no perturbation inside it. */
surety_status surety_attack_check_set(const surety_threat *s, const surety_voters *v, const surety_set *set,
                                      surety_error *err) {
    if (set->d != surety_voters_features(v)) {
        surety_fail(err, SURETY_E_INPUT, "the data has %zu features", set->d);
        surety_fail_expected(err, "%zu features, as the model has", surety_voters_features(v));
        return SURETY_E_INPUT;
    }
    float lo = (float)(s->ball.has_box ? s->ball.lo : -SURETY_LARGEST);
    float hi = (float)(s->ball.has_box ? s->ball.hi : SURETY_LARGEST);
    for (size_t i = 0; i < set->m; i++) {
        const float *x = set->x + i * set->stride;
        int bad = 0;
        for (size_t j = 0; j < set->d; j++) bad |= !(x[j] >= lo) | !(x[j] <= hi);
        if (!bad) continue;
        size_t j = 0;
        while (x[j] >= lo && x[j] <= hi) j++;
        surety_fail(err, SURETY_E_INPUT, "feature %zu is %g, outside the box", j, (double)x[j]);
        surety_fail_place(err, "row %u", set->row[i]);
        surety_fail_expected(err, "values in [%g, %g]%s", (double)lo, (double)hi,
                             s->ball.has_box ? ", or no box (--box none)" : "");
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

double surety_distance(surety_norm norm, const float *x, const float *x0, size_t d) {
    double sum = 0, most = 0;
    for (size_t j = 0; j < d; j++) {
        double e = fabs((double)x[j] - (double)x0[j]);
        if (e > most) most = e;
        sum += norm == SURETY_L2 ? e * e : e;
    }
    return norm == SURETY_LINF ? most : norm == SURETY_L2 ? sqrt(sum) : sum;
}

typedef struct set_attack set_attack;

/* One thread's part: points wait until there is a block of them. */
typedef struct worker {
    const set_attack *w;
    surety_attacker *attacker;
    float *points; /* (SURETY_BLOCK, stride), unless all are kept */
    const float *x[SURETY_BLOCK];
    int8_t y[SURETY_BLOCK];
    size_t drawn;               /* of x and y */
    surety_attack_result found; /* fooled, tied and norm_max */
} worker;

struct set_attack {
    const surety_threat *s;
    const surety_vote *vote;
    const surety_set *set;
    worker *workers;
    size_t threads, wave; /* examples of a wave */
    size_t n, first, end; /* examples of this wave */
    int keep;             /* somebody wants the points */
    float *points;        /* keep: (wave, n, stride); else (threads, SURETY_BLOCK, stride) */
    double *norms;        /* (wave) sums over an example's perturbations */
};

/* Asks the vote about the points that were drawn. */
static void count_wrong(worker *mine) {
    const surety_vote *vote = mine->w->vote;
    const surety_voters *v = surety_attacker_voters(mine->attacker);
    float *h = surety_attacker_outputs(mine->attacker);
    double votes[SURETY_LANES];
    if (!mine->drawn) return;
    surety_voters_ask(v, mine->x, mine->drawn, h, surety_attacker_scratch(mine->attacker));
    surety_vote_lanes(h, vote->weights, surety_voters_count(v), vote->set, votes, NULL);
    for (size_t k = 0; k < mine->drawn; k++) {
        mine->found.fooled += !(mine->y[k] * votes[k] > 0);
        mine->found.tied += votes[k] == 0;
    }
    mine->drawn = 0;
}

/* The perturbations of example i, whose attack has ended in place r. */
static void draw_points(void *arg, size_t i, size_t r, size_t steps) {
    worker *mine = arg;
    const set_attack *w = mine->w;
    const surety_set *set = w->set;
    double sum = 0;
    (void)steps;
    for (size_t j = 0; j < w->n; j++) {
        size_t slot = w->keep ? (i - w->first) * w->n + j : mine->drawn;
        float *point = (w->keep ? w->points : mine->points) + slot * set->stride;
        surety_attacker_sample(mine->attacker, r, j, point);
        double norm = surety_distance(w->s->ball.norm, point, set->x + i * set->stride, set->d);
        if (norm > mine->found.norm_max) mine->found.norm_max = norm;
        sum += norm;
        mine->x[mine->drawn] = point, mine->y[mine->drawn] = set->y[i];
        if (++mine->drawn == SURETY_BLOCK) count_wrong(mine);
    }
    w->norms[i - w->first] = sum;
}

static surety_status attack_block(void *arg, size_t block, int thread, surety_error *err) {
    const set_attack *w = arg;
    worker *mine = &w->workers[thread];
    size_t first = w->first + block * SURETY_BLOCK, left = w->end - first;
    size_t end = first + (left < SURETY_BLOCK ? left : SURETY_BLOCK);
    (void)err;
    surety_attacker_feed(mine->attacker, w->vote, w->set, first, end, draw_points, mine);
    return SURETY_OK;
}

static surety_status end_attacks(void *arg, size_t of, int thread, surety_error *err) {
    const set_attack *w = arg;
    worker *mine = &w->workers[of];
    (void)thread, (void)err;
    surety_attacker_feed(mine->attacker, w->vote, w->set, 0, 0, draw_points, mine);
    count_wrong(mine);
    return SURETY_OK;
}

/* A wave of examples is attacked in parallel, then handed out in order: memory is flat in m. */
static surety_status attack_wave(set_attack *w, surety_perturbed_fn sink, void *arg,
                                 surety_attack_result *result, const surety_run *run, surety_error *err) {
    size_t count = w->end - w->first, blocks = (count + SURETY_BLOCK - 1) / SURETY_BLOCK;
    SURETY_TRY(surety_parallel(run, NULL, blocks, attack_block, w, err));
    SURETY_TRY(surety_parallel(run, NULL, w->threads, end_attacks, w, err));
    for (size_t i = 0; i < count; i++) {
        result->norm_mean += w->norms[i];
        for (size_t j = 0; sink && j < w->n; j++)
            SURETY_TRY(sink(arg, w->first + i, j, w->points + (i * w->n + j) * w->set->stride, err));
    }
    surety_report(run, "attack", w->end, w->set->m, "");
    return SURETY_OK;
}

static surety_status allocate(set_attack *w, surety_error *err) {
    size_t points = w->keep ? w->wave * w->n : w->threads * SURETY_BLOCK;
    SURETY_TRY(surety_alloc(&w->workers, w->threads, sizeof *w->workers, err));
    SURETY_TRY(surety_alloc(&w->points, points, w->set->stride * sizeof(float), err));
    SURETY_TRY(surety_alloc(&w->norms, w->wave, sizeof *w->norms, err));
    for (size_t t = 0; t < w->threads; t++) {
        worker *mine = &w->workers[t];
        mine->w = w;
        if (!w->keep) mine->points = w->points + t * SURETY_BLOCK * w->set->stride;
        SURETY_TRY(surety_attacker_new(&mine->attacker, w->s, w->vote->voters, err));
    }
    return SURETY_OK;
}

/* Waves are short where their points are kept, and long where not: at the end of each, places are empty. */
static surety_status attack_all(set_attack *w, surety_perturbed_fn sink, void *arg,
                                surety_attack_result *result, const surety_run *run, surety_error *err) {
    size_t m = w->set->m, blocks = (m + SURETY_BLOCK - 1) / SURETY_BLOCK;
    w->threads = (size_t)surety_threads(run) < blocks ? (size_t)surety_threads(run) : blocks;
    w->wave = (w->keep ? 2 : 64) * w->threads * SURETY_BLOCK;
    if (w->wave > m) w->wave = m;
    SURETY_TRY(allocate(w, err));
    for (w->first = 0; w->first < m; w->first = w->end) {
        w->end = m - w->first < w->wave ? m : w->first + w->wave;
        SURETY_TRY(attack_wave(w, sink, arg, result, run, err));
    }
    for (size_t t = 0; t < w->threads; t++) {
        const surety_attack_result *found = &w->workers[t].found;
        result->fooled += found->fooled;
        result->tied += found->tied;
        if (found->norm_max > result->norm_max) result->norm_max = found->norm_max;
    }
    result->norm_mean /= (double)result->m * (double)result->n;
    return SURETY_OK;
}

surety_status surety_attack_set(const surety_threat *s, const surety_vote *vote, const surety_set *set,
                                surety_perturbed_fn sink, void *arg, surety_attack_result *result,
                                const surety_run *run, surety_error *err) {
    SURETY_TRY(surety_threat_validate(s, err));
    SURETY_TRY(surety_attack_check_set(s, vote->voters, set, err));
    if (s->kind == SURETY_WORST_CASE)
        return surety_fail(err, SURETY_E_USAGE, "the worst case is no attack: it has no perturbed examples");
    if (!set->m) return surety_fail(err, SURETY_E_INPUT, "there are no examples to attack");
    *result = (surety_attack_result){.m = set->m, .n = surety_threat_samples(s)};
    set_attack w = {.s = s, .vote = vote, .set = set, .n = result->n, .keep = sink != NULL};
    surety_status status = attack_all(&w, sink, arg, result, run, err);
    for (size_t t = 0; w.workers && t < w.threads; t++) surety_attacker_free(w.workers[t].attacker);
    surety_free(w.workers);
    surety_free(w.points);
    surety_free(w.norms);
    return status;
}

char *surety_attack_result_json(const surety_attack_result *result) {
    return surety_json_text(SURETY_JSON_OBJECT(
        {"m", surety_json_count(result->m)}, {"n", surety_json_count(result->n)},
        {"fooled", surety_json_count(result->fooled)}, {"tied", surety_json_count(result->tied)},
        {"norm_max", surety_json_real(result->norm_max)},
        {"norm_mean", surety_json_real(result->norm_mean)}));
}
