/* Threats: their facts, names and settings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attack/attacker.h"
#include "base/names.h"
#include "base/parallel.h"
#include "io/json.h"
#include "voters/ball.h"

/* clang-format off */
static const surety_threat_info facts[SURETY_THREATS] = {
    [SURETY_ATTACK_NONE]   = {"none", "none", 0, SURETY_STEPS_NONE, 0, 0, 0, SURETY_ATTACK_NONE},
    [SURETY_ATTACK_UNIF]   = {"unif", "unif", 1, SURETY_STEPS_NONE, 0, 0, 0, SURETY_ATTACK_UNIF},
    [SURETY_ATTACK_FGSM]   = {"fgsm", "fgsm", 0, SURETY_STEPS_ONE, 0, 0, 0, SURETY_ATTACK_FGSM},
    [SURETY_ATTACK_IFGSM]  = {"ifgsm", "ifgsm", 0, SURETY_STEPS_MANY, 0, 0, 0, SURETY_ATTACK_IFGSM},
    [SURETY_ATTACK_PGD]    = {"pgd", "pgd", 1, SURETY_STEPS_MANY, 0, 0, 0, SURETY_ATTACK_PGD},
    [SURETY_ATTACK_IFGSMU] = {"ifgsmu", "ifgsmu", 0, SURETY_STEPS_MANY, 1, 0, 0, SURETY_ATTACK_IFGSM},
    [SURETY_ATTACK_PGDU]   = {"pgdu", "pgdu", 1, SURETY_STEPS_MANY, 1, 0, 0, SURETY_ATTACK_PGD},
    [SURETY_ATTACK_APGD]   = {"apgd", "apgd", 1, SURETY_STEPS_MANY, 0, 1, 0, SURETY_ATTACK_APGD},
    [SURETY_ATTACK_SEARCH] = {"search", "search", 0, SURETY_STEPS_NONE, 0, 0, 1, SURETY_ATTACK_SEARCH},
    [SURETY_WORST_CASE]    = {"worst-case", "certified", 0, SURETY_STEPS_NONE, 0, 0, 1, SURETY_WORST_CASE},
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

surety_threat surety_threat_defaults(void) {
    return (surety_threat){.kind = SURETY_ATTACK_PGD,
                           .ball = surety_ball_defaults(),
                           .steps = 20,
                           .noise = 0.01,
                           .samples = 100,
                           .restarts = 1,
                           .budget = 1000,
                           .early_stop = 1};
}

double surety_threat_step(const surety_threat *s) {
    return s->step_size > 0 ? s->step_size : s->steps ? 2.5 * s->ball.radius / (double)s->steps : 0;
}

size_t surety_threat_samples(const surety_threat *s) {
    return facts[s->kind].noise ? s->samples : 1;
}

surety_status surety_threat_validate(const surety_threat *s, surety_error *err) {
    if ((unsigned)s->kind >= SURETY_THREATS)
        return surety_fail(err, SURETY_E_USAGE, "unknown attack %d", (int)s->kind);
    SURETY_TRY(surety_ball_validate(&s->ball, err));
    if (s->budget > SURETY_BUDGET_MOST)
        return surety_fail(err, SURETY_E_USAGE, "a budget is at most %u steps, not %llu", SURETY_BUDGET_MOST,
                           (unsigned long long)s->budget);
    if (s->kind == SURETY_WORST_CASE) return SURETY_OK; /* nothing else counts */
    if (facts[s->kind].steps == SURETY_STEPS_MANY && (s->steps < 1 || s->steps > 1000000))
        return surety_fail(err, SURETY_E_USAGE, "%s takes 1 to 1000000 steps, not %zu", facts[s->kind].name,
                           s->steps);
    if (!(s->step_size >= 0 && s->step_size <= SURETY_LARGEST))
        return surety_fail(err, SURETY_E_USAGE, "a step size is above 0 (0: 2.5 radius / steps), not %g",
                           s->step_size);
    if (!(s->noise >= 0 && s->noise <= SURETY_LARGEST))
        return surety_fail(err, SURETY_E_USAGE, "the noise is at least 0, not %g", s->noise);
    if (s->samples < 1 || s->samples >= SURETY_SAMPLE_LIMIT)
        return surety_fail(err, SURETY_E_USAGE, "samples: 1 to %u, not %zu", SURETY_SAMPLE_LIMIT - 1,
                           s->samples);
    if (s->restarts < 1 || s->restarts >= SURETY_RESTART_LIMIT)
        return surety_fail(err, SURETY_E_USAGE, "restarts: 1 to %u, not %zu", SURETY_RESTART_LIMIT - 1,
                           s->restarts);
    if (facts[s->kind].adapts && s->restarts > (SURETY_RESTART_LIMIT - 2) / 2)
        return surety_fail(err, SURETY_E_USAGE, "restarts of apgd: 1 to %u, not %zu",
                           (SURETY_RESTART_LIMIT - 2) / 2, s->restarts);
    if (s->seed >= SURETY_SEED_LIMIT) return surety_fail(err, SURETY_E_USAGE, "a seed is below 2^63");
    if (s->epoch >= SURETY_EPOCH_LIMIT)
        return surety_fail(err, SURETY_E_USAGE, "an epoch is below %u", SURETY_EPOCH_LIMIT);
    return SURETY_OK;
}

/* ---- which attacks fit ---- */

surety_threat_kind surety_threat_strongest(const surety_voters *v) {
    return surety_voters_can(v, SURETY_CAN_CLIMB)    ? SURETY_ATTACK_APGD
           : surety_voters_can(v, SURETY_CAN_SEARCH) ? SURETY_ATTACK_SEARCH
                                                     : SURETY_ATTACK_UNIF;
}

surety_status surety_threat_fits(surety_threat_kind kind, const surety_voters *v, surety_error *err) {
    const surety_threat_info *info = &facts[kind];
    surety_status status = SURETY_OK;
    if (info->steps != SURETY_STEPS_NONE)
        status = surety_voters_need(v, SURETY_CAN_CLIMB, info->name, err);
    else if (kind == SURETY_WORST_CASE)
        status = surety_voters_need(v, SURETY_CAN_RANGE, "the worst case", err);
    else if (info->searches)
        status = surety_voters_need(v, SURETY_CAN_SEARCH, info->name, err);
    if (status != SURETY_OK)
        surety_fail_expected(err, "the attack %s, which they have", facts[surety_threat_strongest(v)].name);
    return status;
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
    if (set->classes != surety_voters_classes(v)) {
        surety_fail(err, SURETY_E_INPUT, "the data has %zu classes", set->classes);
        surety_fail_expected(err, "%zu classes, as the model has", surety_voters_classes(v));
        return SURETY_E_INPUT;
    }
    SURETY_TRY(surety_ball_fits(&s->ball, set->d, err));
    float lo = (float)(s->ball.has_box ? s->ball.lo : -SURETY_LARGEST);
    float hi = (float)(s->ball.has_box ? s->ball.hi : SURETY_LARGEST);
    int misses = surety_voters_can(v, SURETY_CAN_MISS);
    for (size_t i = set->before; i < set->m - set->behind; i++) {
        const float *x = surety_set_row(set, i);
        int bad = 0;
        for (size_t j = 0; j < set->d; j++) bad |= !(x[j] >= lo) | !(x[j] <= hi);
        if (!bad) continue;
        size_t j = 0;
        while (j < set->d && ((x[j] >= lo && x[j] <= hi) || (misses && isnan(x[j])))) j++;
        if (j == set->d) continue;
        surety_fail(err, SURETY_E_INPUT, "feature %zu is %g, outside the box", j, (double)x[j]);
        surety_fail_place(err, "row %u", set->row[i]);
        surety_fail_expected(err, "values in [%g, %g]%s", (double)lo, (double)hi,
                             s->ball.has_box ? ", or no box (--box none)" : "");
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

surety_status surety_attack_check_rows(const surety_threat *s, const surety_voters *v, const surety_set *set,
                                       const surety_run *run, surety_error *err) {
    return surety_fail_together(run, surety_attack_check_set(s, v, set, err), err);
}
