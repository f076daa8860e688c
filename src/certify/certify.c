/* From model, S and attack to a certificate. The order matters (docs/theory.md 4.6): everything that S must
 * not decide is settled first (the checks, the attack, the events and their shares of delta), then S is
 * looked at once, then the numbers are put together.
 *
 * Why the claim holds. The candidate priors come from S' and the seed alone. The n perturbations of an
 * example of S come from the example, the prior's vote and random numbers addressed to its row in an epoch
 * (0) that no training uses, so for each candidate the m lists of losses are independent, as the proofs of
 * bound/bounds.c want (in the worst case there is nothing to draw, and each loss is a function of its example
 * alone); the union over candidates and looks is in their C. The posterior may depend on S
 * in any way: the bounds hold for all Q at once, or (vote_frozen_*) Q is a candidate itself.
 *
 * Fresh rows trained nothing, so for them Q is a vote that was fixed before, however it was learned: a list
 * of one candidate (T_p = 1, KL = 0). It is attacked itself, and the exact limit for a frozen vote holds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/parallel.h"
#include "certify/certifying.h"
#include "data/preparation.h"
#include "evaluate/perturbed.h"
#include "io/read.h"
#include "io/sha256.h"
#include "risk/accumulate.h"
#include "surety/evaluate.h"
#include "surety/train.h"
#include "voters/voters.h"

/* ---- what is fixed before S is seen ---- */

static int is_baseline(const surety_model *model) {
    return !strcmp(surety_model_about(model)->objective, "baseline");
}

surety_certify_settings surety_certify_defaults(const surety_model *model) {
    const surety_model_facts *facts = surety_model_about(model);
    surety_certify_settings s = {.delta = facts->delta, .threat = surety_threat_defaults()};
    s.threat.ball = facts->ball;
    if (surety_defense_parse(facts->defense, &s.threat.kind, NULL) != SURETY_OK)
        s.threat.kind = SURETY_ATTACK_PGDU;
    if (surety_model_imported(model)) s.threat.kind = SURETY_WORST_CASE;
    return s;
}

size_t surety_certify_best_events(const surety_model *model, int worst_case,
                                  surety_bound_id events[SURETY_BOUNDS]) {
    return surety_bound_best(worst_case ? SURETY_RISK_WORST_CASE : SURETY_RISK_AVERAGED_MAX,
                             is_baseline(model) ? SURETY_Q_FROZEN : SURETY_Q_ANY,
                             surety_model_about(model)->voter_set == SURETY_SIGNED, events);
}

const char *surety_certify_default_bound(const surety_model *model, int worst_case) {
    surety_bound_id events[SURETY_BOUNDS];
    surety_certify_best_events(model, worst_case, events);
    return surety_bound_list()[events[0]].name;
}

typedef surety_certifying certifying;

static const surety_statement_row *form(const certifying *w) {
    return surety_statement_about(w->s->statement);
}

static int is_worst(const certifying *w) {
    return w->s->threat.kind == SURETY_WORST_CASE;
}

static surety_status check_model(const certifying *w, surety_error *err) {
    size_t H = surety_voters_count(surety_model_voters(w->model));
    const double *P = surety_model_prior(w->model), *Q = surety_model_posterior(w->model);
    if (is_baseline(w->model) && memcmp(P, Q, H * sizeof *P))
        return surety_fail(err, SURETY_E_CHECK,
                           "the model says that it is a baseline, but its posterior is not its prior");
    return surety_train_consistent(w->model, err);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* S and S' come from one file: no row may be in both, and none twice in S. */
static surety_status check_rows(const surety_data *data, surety_error *err) {
    const surety_set *S = surety_data_set(data, SURETY_SET_LEARN);
    const surety_set *prior_set = surety_data_set(data, SURETY_SET_PRIOR);
    uint32_t *rows;
    SURETY_TRY(surety_alloc(&rows, S->m, sizeof *rows, err));
    memcpy(rows, S->row, S->m * sizeof *rows);
    surety_status status = surety_sort(rows, S->m, sizeof *rows, by_number, err);
    for (size_t i = 1; i < S->m && status == SURETY_OK; i++)
        if (rows[i] == rows[i - 1])
            status = surety_fail(err, SURETY_E_CHECK, "row %" PRIu32 " is in S twice", rows[i]);
    for (size_t i = 0; i < prior_set->m && status == SURETY_OK; i++)
        if (bsearch(&prior_set->row[i], rows, S->m, sizeof *rows, by_number))
            status = surety_fail(err, SURETY_E_CHECK, "row %" PRIu32 " is in S and in S': S is not fresh",
                                 prior_set->row[i]);
    surety_free(rows);
    return status;
}

/* Of equal rows one is left, which has one class and one group: the others of that input lost it, and with it
 * perhaps what fails most. */
static surety_status check_distinct(const certifying *w, const surety_data_info *info, surety_error *err) {
    int groups = w->s->statement == SURETY_SAY_GROUPS;
    uint64_t lost = groups                                  ? info->dropped_other_group
                    : w->s->statement == SURETY_SAY_CLASSES ? info->dropped_other_class
                                                            : 0;
    if (!lost) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK,
                "%" PRIu64
                " rows that were dropped are of another %s than the equal row that stayed: the "
                "inputs of a %s are not all there, and no limit for each can be said",
                lost, groups ? "group" : "class", groups ? "group" : "class");
    surety_fail_expected(err, "one limit for all; or a model that was trained with --copies keep");
    return SURETY_E_CHECK;
}

static surety_status settle_attack(certifying *w, surety_error *err) {
    w->threat = w->s->threat;
    w->threat.seed = w->facts->seed; /* fixed by the training, which S cannot have chosen */
    w->threat.epoch = 0;
    const surety_preparation *prepared = surety_model_preparation(w->model);
    w->threat.ball.slack = w->facts->ball.slack; /* a fact about how its features are read */
    if (prepared && prepared->scaling != SURETY_SCALE_NONE)
        w->threat.ball.slack = fmax(w->threat.ball.slack, SURETY_SCALED);
    w->threat.early_stop = 1;
    return surety_threat_validate(&w->threat, err);
}

/* Whether the bound can state what is asked for. */
static surety_status check_form(const certifying *w, surety_error *err) {
    int counts = w->named->q == SURETY_Q_FROZEN && w->named->risk != SURETY_RISK_AVERAGED;
    if (form(w)->counts && !counts) {
        surety_fail(err, SURETY_E_CHECK,
                    "%s gives no statement about %s: it does not count failures of a vote fixed before S",
                    w->named->name, form(w)->name);
        surety_fail_expected(err,
                             "%sworst_case_frozen, of a model with the objective baseline or on fresh rows",
                             form(w)->worst ? "" : "vote_frozen_max or ");
        return SURETY_E_CHECK;
    }
    if (!form(w)->worst || w->named->risk == SURETY_RISK_WORST_CASE) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK,
                "a statement about %s needs proofs: perturbations that were drawn do not fail more often as "
                "the radius grows",
                form(w)->name);
    surety_fail_expected(err, "--attack worst-case");
    return SURETY_E_CHECK;
}

static surety_status settle_bound(certifying *w, surety_error *err) {
    surety_bound_id best[SURETY_BOUNDS];
    size_t count = surety_bound_best(is_worst(w) ? SURETY_RISK_WORST_CASE : SURETY_RISK_AVERAGED_MAX,
                                     w->fresh || is_baseline(w->model) ? SURETY_Q_FROZEN : SURETY_Q_ANY,
                                     w->facts->voter_set == SURETY_SIGNED, best);
    const char *name = w->s->bound ? w->s->bound : surety_bound_list()[best[0]].name;
    int classes = w->s->statement == SURETY_SAY_CLASSES || w->s->statement == SURETY_SAY_GROUPS;
    if (w->units && (classes || !strcmp(name, "best"))) {
        surety_fail(err, SURETY_E_CHECK, "where units are counted, %s cannot be certified",
                    classes ? "limits per class or group" : "the best of several bounds");
        surety_fail_expected(err, classes ? "one limit for all, or a model trained without --unit"
                                          : "--bound vote_frozen_max or worst_case_frozen");
        return SURETY_E_CHECK;
    }
    if (form(w)->counts && !strcmp(name, "best"))
        return surety_fail(err, SURETY_E_USAGE,
                           "a statement about %s is of one bound, not the best of several", form(w)->name);
    if ((w->best = !strcmp(name, "best"))) {
        w->event_count = count;
        memcpy(w->events, best, sizeof best);
        return SURETY_OK;
    }
    SURETY_TRY(surety_bound_find(name, &w->named, err));
    if (w->units && !surety_units_bound(w->named)) {
        surety_fail(err, SURETY_E_CHECK, "%s is about losses of rows, and units are counted", w->named->name);
        surety_fail_expected(err,
                             "vote_frozen_max or worst_case_frozen, of a model with the objective baseline");
        return SURETY_E_CHECK;
    }
    if (w->named->q == SURETY_Q_HELD_OUT)
        return surety_fail(err, SURETY_E_CHECK,
                           "%s needs a half of S that chose nothing; training used all of it",
                           w->named->name);
    if (w->fresh && w->named->q != SURETY_Q_FROZEN)
        return surety_fail(err, SURETY_E_CHECK, "%s is about a vote that S chose; fresh rows choose none: %s",
                           w->named->name, surety_bound_list()[best[0]].name);
    if (w->named->risk != SURETY_RISK_WORST_CASE && is_worst(w)) {
        surety_fail(err, SURETY_E_CHECK, "%s is about perturbations that were drawn, not the worst case",
                    w->named->name);
        surety_fail_expected(err, "a bound on the worst case, such as worst_case_frozen");
        return SURETY_E_CHECK;
    }
    if (w->named->risk == SURETY_RISK_WORST_CASE && !is_worst(w)) {
        surety_fail(err, SURETY_E_CHECK,
                    "%s is about every point of the ball, which perturbations that were drawn cannot prove",
                    w->named->name);
        surety_fail_expected(err, "--attack worst-case, or a bound on what was drawn");
        return SURETY_E_CHECK;
    }
    w->events[0] = w->named->event;
    w->event_count = 1;
    return check_form(w, err);
}

/* What makes an event one of its own: the losses (bound, attack, ball, voters) that it is about, and which
 * part of the statement. */
static void event_name(const certifying *w, surety_bound_id id, size_t part, char text[SURETY_EVENT_TEXT]) {
    char radius[64] = "", of[32] = "", by[40] = "";
    const surety_ball *ball = &w->threat.ball;
    form(w)->name_part(w, part, radius, of);
    if (ball->tolerance) snprintf(by, sizeof by, " of tolerance %.16s", ball->tolerance->sha256);
    snprintf(text, SURETY_EVENT_TEXT, "%s, %s, %s %s%s, %s votes%s", surety_bound_list()[id].name,
             surety_threat_name(w->threat.kind), surety_norm_name(ball->norm), radius, by,
             surety_voter_set_name(w->facts->voter_set), of);
}

static surety_status announce_one(certifying *w, surety_bound_id id, size_t part, surety_error *err) {
    char event[SURETY_EVENT_TEXT];
    event_name(w, id, part, event);
    return surety_ledger_announce(w->ledger, event, w->priors, w->s->looks, err);
}

static surety_status spend(certifying *w, surety_bound_id id, size_t part, double *share, surety_error *err) {
    char event[SURETY_EVENT_TEXT];
    surety_ledger_entry entry = {0};
    event_name(w, id, part, event);
    SURETY_TRY(surety_ledger_spend(w->ledger, event, w->priors, w->s->looks, &entry, err));
    *share = entry.share;
    return SURETY_OK;
}

surety_status surety_certifying_spend(certifying *w, size_t part, double *share, surety_error *err) {
    SURETY_TRY(spend(w, w->named->id, part, share, err));
    w->c->inputs.delta_share = *share;
    return SURETY_OK;
}

static surety_status announce(certifying *w, surety_error *err) {
    if (!w->s->looks) {
        surety_fail(err, SURETY_E_CHECK,
                    "how often S was looked at is not said: a look that is not paid for");
        surety_fail_expected(
            err,
            "--looks N: how many certificates you might have issued after seeing S, 1 if all "
            "was decided before");
        return SURETY_E_CHECK;
    }
    SURETY_TRY(surety_ledger_new(w->s->delta, &w->ledger, err));
    for (size_t k = 0; form(w)->compute && k < form(w)->parts(w); k++)
        SURETY_TRY(announce_one(w, w->named->id, k, err));
    for (size_t i = 0; !form(w)->compute && i < w->event_count; i++)
        SURETY_TRY(announce_one(w, w->events[i], 0, err));
    return SURETY_OK;
}

static void settle_origin(certifying *w, int fresh) {
    w->fresh = fresh;
    w->against = fresh ? SURETY_WEIGHTS_POSTERIOR : SURETY_WEIGHTS_PRIOR;
    w->priors = fresh ? 1 : w->facts->priors_compared;
}

static surety_status prepare(certifying *w, surety_error *err) {
    if (!(w->s->delta > 0 && w->s->delta < 1))
        return surety_fail(err, SURETY_E_USAGE, "delta is above 0 and below 1, not %g", w->s->delta);
    SURETY_TRY(check_model(w, err));
    if (w->data) {
        const surety_data_info *info = surety_data_describe(w->data);
        SURETY_TRY(w->fresh ? surety_model_check_fresh(w->model, info, err)
                            : surety_model_check_data(w->model, info, err));
        SURETY_TRY(check_rows(w->data, err));
        SURETY_TRY(surety_data_check_copies(info, err));
        SURETY_TRY(check_distinct(w, info, err));
    }
    SURETY_TRY(settle_attack(w, err));
    SURETY_TRY(form(w)->settle(w, err));
    SURETY_TRY(settle_bound(w, err));
    SURETY_TRY(surety_certifying_check_assumed(w, err));
    return announce(w, err);
}

/* ---- the bound ---- */

/* The best available bound among those that rest on event and may be used. */
static void take_smallest(const certifying *w, surety_bound_id event, double share,
                          const surety_bound_value values[SURETY_BOUNDS]) {
    surety_certificate *c = w->c;
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        const surety_bound_info *info = &surety_bound_list()[id];
        int wanted = w->best ? info->event == event : info == w->named;
        if (!wanted || !values[id].available || (c->bound[0] && values[id].vote >= c->value)) continue;
        snprintf(c->bound, sizeof c->bound, "%s", info->name);
        snprintf(c->risk, sizeof c->risk, "%s", surety_risk_kind_name(info->risk));
        c->value = values[id].vote;
        c->surrogate = values[id].surrogate;
        c->inputs.delta_share = share;
    }
}

static surety_status not_available(const certifying *w, const char *missing, surety_error *err) {
    surety_fail(err, SURETY_E_CHECK, "%s cannot be computed for this model: %s is missing",
                w->named ? w->named->name : "the best bound", missing ? missing : "an input");
    surety_fail_expected(err, "a bound that fits, such as %s",
                         surety_certify_default_bound(w->model, is_worst(w)));
    return SURETY_E_CHECK;
}

/* The bound on m examples of which so many fail, and none of the evidence about voters. Without examples the
 * limit is 1. */
surety_status surety_certifying_limit(const certifying *w, uint64_t m, uint64_t failed, double share,
                                      double *limit, surety_error *err) {
    surety_bound_input input = surety_bound_input_defaults();
    surety_bound_value value = {.vote_clipped = 1};
    size_t H = surety_voters_count(surety_model_voters(w->model));
    const double *q = surety_model_posterior(w->model), *p = surety_model_vote(w->model, w->against).weights;
    input.m = m, input.H = H, input.delta = share;
    input.priors_compared = w->priors, input.looks = w->s->looks;
    input.frozen = memcmp(q, p, H * sizeof *q) == 0;
    *(is_worst(w) ? &input.worst_case.prior_wrong : &input.averaged_max.prior_wrong) = failed;
    if (m) SURETY_TRY(surety_bound_compute(w->named->id, &input, &value, err));
    if (m && !value.available) return not_available(w, value.missing, err);
    *limit = value.vote_clipped;
    return SURETY_OK;
}

/* What the statement's own numbers are, beside counts. */
static surety_status compute_form(certifying *w, surety_error *err) {
    surety_certificate *c = w->c;
    c->surrogate = (double)NAN;
    snprintf(c->bound, sizeof c->bound, "%s", w->named->name);
    snprintf(c->risk, sizeof c->risk, "%s", surety_risk_kind_name(w->named->risk));
    return form(w)->compute(w, err);
}

static surety_status compute_all(certifying *w, surety_bound_input *input, surety_error *err) {
    surety_bound_value values[SURETY_BOUNDS];
    for (size_t i = 0; i < w->event_count; i++) {
        SURETY_TRY(spend(w, w->events[i], 0, &input->delta, err));
        SURETY_TRY(surety_risks_bounds(input, values, err));
        take_smallest(w, w->events[i], input->delta, values);
    }
    if (!w->c->bound[0]) return not_available(w, w->named ? values[w->named->id].missing : NULL, err);
    w->c->vacuous = !(w->c->value < 1);
    return SURETY_OK;
}

static surety_status compute(certifying *w, surety_error *err) {
    surety_certificate *c = w->c;
    surety_bound_input input = surety_bound_input_defaults();
    SURETY_TRY(surety_measured_input(&w->risks, w->model, w->against, w->threat.kind, &input, err));
    input.priors_compared = w->priors;
    input.looks = w->s->looks;
    SURETY_TRY(form(w)->compute ? compute_form(w, err) : compute_all(w, &input, err));
    c->inputs.kl = input.kl;
    c->inputs.frozen = input.frozen;
    return SURETY_OK;
}

/* ---- what T says ---- */

surety_status surety_certifying_measure(surety_risks *risks, const certifying *w, surety_set_name which,
                                        const surety_run *run, surety_error *err) {
    return surety_measure_model(risks, w->model, w->against, surety_data_set(w->data, which), &w->threat, run,
                                err);
}

/* T chooses nothing: it can only forbid. (A certificate that is withheld breaks no promise.) */
static surety_status ask_test(certifying *w, const surety_risks *test, surety_error *err) {
    surety_certificate *c = w->c;
    const surety_bound_info *info;
    SURETY_TRY(surety_bound_find(c->bound, &info, err));
    surety_refutation r = surety_risks_refute(test, info->risk, c->value);
    c->test.m = r.m, c->test.failed = r.failed, c->test.chance = r.chance, c->test.refuted = r.refuted;
    if (!r.refuted || w->s->despite_test) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK,
                "T refutes this certificate: it would promise at most %.4f, and the vote fails on %" PRIu64
                " of %" PRIu64 " of T, which has a chance below %.0e",
                ceil(c->value * 1e4) / 1e4, r.failed, r.m, SURETY_IMPOSSIBLE);
    surety_fail_expected(err,
                         "an S whose rows are new to the model and from the same source as T; or "
                         "--despite-test, which the certificate will say");
    return SURETY_E_CHECK;
}

/* ---- filling the certificate ---- */

static void set_attack(surety_certificate *c, const surety_threat *a, int fresh, const surety_model *model) {
    const surety_preparation *prepared = surety_model_preparation(model);
    snprintf(c->attack.radius_unit, sizeof c->attack.radius_unit, "%s",
             surety_radius_unit(a->ball.tolerance, prepared ? prepared->scaling : SURETY_SCALE_NONE));
    const surety_voters *v = surety_model_voters(model);
    const surety_threat_info *info = surety_threat_about(a->kind);
    int random = info->starts;
    int noisy = info->noise, worst_case = a->kind == SURETY_WORST_CASE;
    int steps = info->steps == SURETY_STEPS_MANY;
    snprintf(c->attack.name, sizeof c->attack.name, "%s", surety_threat_name(a->kind));
    snprintf(c->attack.norm, sizeof c->attack.norm, "%s", surety_norm_name(a->ball.norm));
    snprintf(c->attack.against, sizeof c->attack.against, "%s",
             worst_case ? "any"
             : fresh    ? "vote"
                        : "prior");
    c->attack.radius = a->ball.radius;
    c->attack.slack = a->ball.slack;
    c->attack.box_lo = a->ball.has_box ? a->ball.lo : (double)NAN;
    c->attack.box_hi = a->ball.has_box ? a->ball.hi : (double)NAN;
    c->attack.steps = steps ? a->steps : SURETY_ABSENT;
    c->attack.step_size = steps ? surety_threat_step(a) : (double)NAN;
    c->attack.noise = noisy ? a->noise : (double)NAN;
    c->attack.samples = noisy ? a->samples : SURETY_ABSENT;
    c->attack.restarts = random ? a->restarts : SURETY_ABSENT;
    c->attack.budget = info->searches && surety_voters_can(v, SURETY_CAN_SEARCH) ? a->budget : SURETY_ABSENT;
    c->attack.seed = a->seed;
    c->attack.epoch = a->epoch;
}

static surety_status set_ends(double **out, const double *ends, size_t count, surety_error *err) {
    SURETY_TRY(surety_alloc(out, count, sizeof **out, err));
    for (size_t j = 0; j < count; j++) (*out)[j] = isfinite(ends[j]) ? ends[j] : (double)NAN;
    return SURETY_OK;
}

static surety_status set_tolerance(surety_certificate *c, const surety_tolerance *t, surety_error *err) {
    if (!t) return SURETY_OK;
    memcpy(c->tolerance.sha256, t->sha256, sizeof c->tolerance.sha256);
    c->tolerance.count = t->d;
    SURETY_TRY(surety_record_texts(&c->tolerance.features, t->names, t->d, err));
    SURETY_TRY(set_ends(&c->tolerance.radius, t->radius, t->d, err));
    SURETY_TRY(set_ends(&c->tolerance.lo, t->lo, t->d, err));
    return set_ends(&c->tolerance.hi, t->hi, t->d, err);
}

/* The file must hold the very bytes that stand for this model, or nobody could check it by its checksum. */
static surety_status check_file(const char *path, const char *sha256, surety_error *err) {
    surety_file file;
    char sum[65];
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_status status = surety_sha256(file.data, file.size, sum, err);
    surety_file_close(&file);
    if (status != SURETY_OK || !strcmp(sum, sha256)) return status;
    surety_fail(err, SURETY_E_CHECK, "the file is not the model as it is written: its SHA-256 is %s", sum);
    surety_fail_file(err, path);
    surety_fail_expected(err, "%s", sha256);
    return SURETY_E_CHECK;
}

static surety_status set_model(certifying *w, surety_error *err) {
    surety_certificate *c = w->c;
    const char *path = w->s->model_file;
    snprintf(c->model.file, sizeof c->model.file, "%s", path ? surety_path_name(path) : "");
    snprintf(c->model.kind, sizeof c->model.kind, "%s", surety_voters_kind(surety_model_voters(w->model)));
    snprintf(c->model.voters, sizeof c->model.voters, "%s", surety_voter_set_name(w->facts->voter_set));
    snprintf(c->model.defense, sizeof c->model.defense, "%s", w->facts->defense);
    snprintf(c->model.objective, sizeof c->model.objective, "%s", w->facts->objective);
    c->model.seed = w->facts->seed;
    SURETY_TRY(surety_model_sha256(w->model, c->model.sha256, err));
    return path ? check_file(path, c->model.sha256, err) : SURETY_OK;
}

static surety_status set_preparation(surety_certificate *c, const char *text, size_t columns,
                                     surety_scaling scaling, surety_missing missing, surety_error *err) {
    c->data.columns = columns;
    snprintf(c->data.scaling, sizeof c->data.scaling, "%s", surety_scaling_name(scaling));
    snprintf(c->data.missing, sizeof c->data.missing, "%s", surety_missing_name(missing));
    c->data.preparation[0] = 0;
    return text ? surety_sha256(text, strlen(text), c->data.preparation, err) : SURETY_OK;
}

void surety_certificate_copy(char *out, size_t size, const char *text) {
    size_t length = strlen(text), used = length < size ? length : size - 1;
    while (used < length && used && ((unsigned char)text[used] & 0xc0) == 0x80) used--;
    memcpy(out, text, used);
    out[used] = 0;
}

static void set_units(surety_certificate *c, const surety_data_info *info) {
    surety_certificate_copy(c->data.unit, sizeof c->data.unit, info->unit ? info->unit : "");
    c->data.units_prior = info->unit ? info->units[SURETY_SET_PRIOR] : SURETY_ABSENT;
    c->data.units_learn = info->unit ? info->units[SURETY_SET_LEARN] : SURETY_ABSENT;
    c->data.units_test = info->unit ? info->units[SURETY_SET_TEST] : SURETY_ABSENT;
}

surety_status surety_certificate_set_data(surety_certificate *c, const surety_data_info *info,
                                          surety_error *err) {
    snprintf(c->data.task, sizeof c->data.task, "%s", info->task ? info->task : "");
    c->data.file_count = info->files;
    for (size_t i = 0; i < info->files; i++) {
        snprintf(c->data.files[i].role, sizeof c->data.files[i].role, "%s", info->file[i].role);
        c->data.files[i].bytes = info->file[i].bytes;
        memcpy(c->data.files[i].sha256, info->file[i].sha256, sizeof info->file[i].sha256);
    }
    memcpy(c->data.sha256_prior, info->set_sha256[SURETY_SET_PRIOR], sizeof c->data.sha256_prior);
    memcpy(c->data.sha256_learn, info->set_sha256[SURETY_SET_LEARN], sizeof c->data.sha256_learn);
    memcpy(c->data.sha256_test, info->set_sha256[SURETY_SET_TEST], sizeof c->data.sha256_test);
    c->data.scale = info->scale;
    c->data.features = info->d;
    c->data.learn_size = info->learn_size;
    c->data.test_size = info->test_size;
    c->data.shuffled = info->order == SURETY_ORDER_SHUFFLED;
    c->data.seed = c->data.shuffled ? info->seed : SURETY_ABSENT;
    snprintf(c->data.split, sizeof c->data.split, "%s", info->split);
    c->data.rows_prior = info->m[SURETY_SET_PRIOR];
    c->data.rows_learn = info->m[SURETY_SET_LEARN];
    c->data.rows_test = info->m[SURETY_SET_TEST];
    set_units(c, info);
    snprintf(c->data.copies, sizeof c->data.copies, "%s", surety_copies_name(info->copies_rule));
    c->copies = info->copies;
    c->data.fresh = info->fresh;
    c->data.class_count = info->classes;
    SURETY_TRY(set_preparation(c, info->preparation, info->columns, info->scaling, info->missing, err));
    return surety_record_texts(&c->data.classes, info->labels, info->classes, err);
}

/* Units of a set with a row of another class than k; without units, such rows. */
static surety_status count_others(const surety_set *set, size_t k, uint64_t *others, surety_error *err) {
    uint8_t *other = NULL;
    size_t units = set->unit ? set->units : set->m;
    SURETY_TRY(surety_alloc(&other, units, 1, err));
    *others = 0;
    for (size_t i = 0; i < set->m; i++)
        if (set->y[i] != k) other[set->unit ? set->unit[i] : i] = 1;
    for (size_t i = 0; i < units; i++) *others += other[i];
    surety_free(other);
    return SURETY_OK;
}

/* The class that S' has most of (without S', the class that S has most of), and on how many examples of S it
 * is the wrong answer. */
static surety_status set_majority(surety_certificate *c, const surety_data *data, surety_error *err) {
    const surety_data_info *info = surety_data_describe(data);
    const size_t *prior = info->class_m[SURETY_SET_PRIOR];
    const size_t *rows = info->m[SURETY_SET_PRIOR] ? prior : info->class_m[SURETY_SET_LEARN];
    size_t most = 0;
    for (size_t k = 1; k < info->classes; k++)
        if (rows[k] > rows[most]) most = k;
    surety_certificate_copy(c->majority.label, sizeof c->majority.label, info->labels[most]);
    c->majority.rows_prior = prior[most];
    return count_others(surety_data_set(data, SURETY_SET_LEARN), most, &c->majority.failed, err);
}

static void name_limits(surety_certificate *c) {
    for (size_t k = 0; k < c->limit_count && k < c->data.class_count; k++)
        surety_certificate_copy(c->limits[k].label, sizeof c->limits[k].label, c->data.classes[k]);
}

void surety_certificate_set_columns(surety_certificate *c, const surety_model *model) {
    const char *column = surety_model_text(model, "data.label_column"),
               *header = surety_model_text(model, "data.header");
    surety_certificate_copy(c->data.label_column, sizeof c->data.label_column, column ? column : "");
    surety_certificate_copy(c->data.header, sizeof c->data.header, header ? header : "auto");
}

static surety_status copy_counts(uint64_t **out, const uint64_t *from, size_t count, surety_error *err) {
    SURETY_TRY(surety_alloc(out, count, sizeof **out, err));
    memcpy(*out, from, count * sizeof **out);
    return SURETY_OK;
}

static surety_status set_counts(surety_certificate *c, const surety_risks *r, surety_error *err) {
    c->risks.averaged = r->averaged, c->risks.averaged_max = r->averaged_max;
    c->risks.rbar = r->rbar, c->risks.abar = r->abar, c->risks.gmax = r->gmax;
    c->risks.tv = r->tv, c->risks.tandem = r->tandem;
    c->counts.wrong = r->wrong, c->counts.tied = r->tied;
    c->counts.max_wrong = r->max_wrong, c->counts.max_tied = r->max_tied;
    c->counts.prior_wrong = r->prior_wrong, c->counts.prior_max_wrong = r->prior_max_wrong;
    c->counts.prior_coins = r->prior_coins;
    c->counts.abar_sum = r->abar_sum, c->counts.tv_sum = r->tv_sum, c->counts.tandem_sum = r->tandem_sum;
    size_t H = c->counts.voter_count = r->voter_count;
    SURETY_TRY(copy_counts(&c->counts.loss, r->loss, H, err));
    SURETY_TRY(copy_counts(&c->counts.max_loss, r->max_loss, H, err));
    SURETY_TRY(copy_counts(&c->counts.errors, r->errors, H, err));
    SURETY_TRY(copy_counts(&c->counts.anchored_loss, r->anchored_loss, H, err));
    SURETY_TRY(copy_counts(&c->counts.anchored_max, r->anchored_max, H, err));
    SURETY_TRY(copy_counts(&c->counts.coins, r->coins, H, err));
    SURETY_TRY(copy_counts(&c->counts.max_coins, r->max_coins, H, err));
    return copy_counts(&c->counts.anchored_errors, r->anchored_errors, H, err);
}

static void set_ledger(certifying *w) {
    const surety_ledger_entry *entries = surety_ledger_entries(w->ledger, &w->c->event_count);
    memcpy(w->c->events, entries, w->c->event_count * sizeof *entries);
}

/* All that follows from w->risks and the risks on T. */
static surety_status conclude(certifying *w, const surety_risks *test, surety_error *err) {
    surety_certificate *c = w->c;
    SURETY_TRY(compute(w, err));
    SURETY_TRY(surety_certifying_assume(w, err));
    SURETY_TRY(ask_test(w, test, err));
    c->delta = w->s->delta;
    snprintf(c->statement, sizeof c->statement, "%s", form(w)->name);
    snprintf(c->choice, sizeof c->choice, "%s", w->best ? "best" : "one");
    c->inputs.m = w->risks.m;
    c->inputs.n = w->risks.n;
    c->inputs.voter_count = w->risks.voter_count;
    c->inputs.priors_compared = w->priors;
    c->inputs.looks = w->s->looks;
    set_attack(c, &w->threat, w->fresh, w->model);
    SURETY_TRY(set_tolerance(c, w->threat.ball.tolerance, err));
    set_ledger(w);
    SURETY_TRY(set_model(w, err));
    snprintf(c->software.version, sizeof c->software.version, "%s", surety_version());
    snprintf(c->software.cpu_level, sizeof c->software.cpu_level, "%s", surety_certificate_cpu());
    return set_counts(c, &w->risks, err);
}

/* Statements that are not made have no numbers. */
static void empty(surety_certificate *c) {
    const double none = (double)NAN;
    *c = (surety_certificate){.promise = none,
                              .radius = none,
                              .below_radius = SURETY_ABSENT,
                              .assumed = {.noise_share = none, .shift_budget = none, .value = none}};
}

static surety_status certify(certifying *w, surety_risks *test, const surety_run *run, surety_error *err) {
    surety_certificate *c = w->c;
    settle_origin(w, surety_data_describe(w->data)->fresh);
    w->units = surety_data_describe(w->data)->unit != NULL;
    SURETY_TRY(prepare(w, err));
    SURETY_TRY(form(w)->survey(w, run, err));
    if (surety_data_set(w->data, SURETY_SET_TEST)->m)
        SURETY_TRY(surety_certifying_measure(test, w, SURETY_SET_TEST, run, err));
    if (surety_apart(run)) return surety_no_whole(err);
    SURETY_TRY(conclude(w, test, err));
    SURETY_TRY(surety_certificate_set_data(c, surety_data_describe(w->data), err));
    surety_certificate_set_columns(c, w->model);
    SURETY_TRY(set_majority(c, w->data, err));
    name_limits(c);
    SURETY_TRY(surety_certificate_word(c, err));
    return surety_certificate_seal(c, err);
}

surety_status surety_certify(const surety_model *model, const surety_data *data,
                             const surety_certify_settings *settings, surety_certificate *out,
                             const surety_run *run, surety_error *err) {
    empty(out);
    certifying w = {
        .model = model, .facts = surety_model_about(model), .data = data, .s = settings, .c = out};
    surety_risks test = {0};
    surety_status status = certify(&w, &test, run, err);
    surety_ledger_free(w.ledger);
    surety_risks_free(&w.risks);
    surety_risks_free(&test);
    if (status != SURETY_OK) surety_certificate_free(out);
    return status;
}

/* ---- from stated counts ---- */

/* Classes of a certificate per class: their counts add up to those of all. */
static surety_status stated_classes(const surety_certificate *c, int64_t *examples, surety_error *err) {
    size_t K = c->data.class_count;
    uint64_t m = 0, failed = 0;
    if (!c->limit_count) return SURETY_OK;
    for (size_t k = 0; k < K && k < c->limit_count; k++) {
        examples[k] = (int64_t)c->limits[k].m, examples[K + k] = (int64_t)c->limits[k].failed;
        m += c->limits[k].m, failed += c->limits[k].failed;
    }
    if (K == c->limit_count && m == c->inputs.m && failed == c->counts.max_wrong + c->counts.max_tied)
        return SURETY_OK;
    return surety_fail(err, SURETY_E_CHECK, "the counts of the classes do not add up to those of S");
}

/* The risks that gave these counts. */
static surety_status stated_risks(surety_risks *out, const surety_certificate *c, const surety_model *model,
                                  surety_error *err) {
    size_t H = c->counts.voter_count, K = c->data.class_count;
    int64_t *sums = NULL;
    if (H != surety_voters_count(surety_model_voters(model)))
        return surety_fail(err, SURETY_E_CHECK, "the counts are of %zu voters, the model has %zu", H,
                           surety_voters_count(surety_model_voters(model)));
    const uint64_t head[SURETY_RISK_HEAD] = {c->inputs.m,
                                             c->counts.wrong,
                                             c->counts.tied,
                                             c->counts.max_wrong,
                                             c->counts.max_tied,
                                             c->counts.prior_wrong,
                                             c->counts.prior_max_wrong,
                                             c->counts.abar_sum,
                                             c->counts.tv_sum,
                                             c->counts.tandem_sum,
                                             c->counts.prior_coins};
    const uint64_t *arrays[SURETY_RISK_ARRAYS] = {[SURETY_RISK_LOSS] = c->counts.loss,
                                                  [SURETY_RISK_MAX_LOSS] = c->counts.max_loss,
                                                  [SURETY_RISK_ANCHORED_LOSS] = c->counts.anchored_loss,
                                                  [SURETY_RISK_ANCHORED_MAX] = c->counts.anchored_max,
                                                  [SURETY_RISK_ERRORS] = c->counts.errors,
                                                  [SURETY_RISK_ANCHORED_ERRORS] = c->counts.anchored_errors,
                                                  [SURETY_RISK_COINS] = c->counts.coins,
                                                  [SURETY_RISK_MAX_COINS] = c->counts.max_coins};
    SURETY_TRY(surety_alloc(&sums, surety_risk_sums(H, K), sizeof *sums, err));
    memcpy(sums, head, sizeof head);
    for (size_t k = 0; k < SURETY_RISK_ARRAYS; k++)
        if (arrays[k]) memcpy(sums + SURETY_RISK_HEAD + k * H, arrays[k], H * sizeof *sums);
    surety_status status = stated_classes(c, sums + SURETY_RISK_HEAD + SURETY_RISK_ARRAYS * H, err);
    if (status == SURETY_OK)
        status = surety_risks_from_sums(out, sums, H, c->inputs.n, K, surety_model_posterior(model), err);
    surety_free(sums);
    out->signed_votes = surety_model_about(model)->voter_set == SURETY_SIGNED;
    out->has_prior = out->has_coins = 1;
    return status;
}

/* The risks on T that gave its counts, as far as surety_risks_refute asks. */
static surety_risks stated_test(const surety_certificate *c) {
    int votes = !strcmp(c->risk, surety_risk_kind_name(SURETY_RISK_AVERAGED)) && c->inputs.n > 1;
    return (surety_risks){.m = votes ? c->test.m / c->inputs.n : c->test.m,
                          .n = c->inputs.n,
                          .wrong = c->test.failed,
                          .max_wrong = c->test.failed};
}

static surety_status set_model_preparation(surety_certificate *c, const surety_model *model,
                                           surety_error *err) {
    const surety_preparation *p = surety_model_preparation(model);
    surety_certificate_copy(c->data.unit, sizeof c->data.unit, p && p->unit ? p->unit : "");
    return set_preparation(c, p ? p->text : NULL, p ? p->column_count : (size_t)c->data.features,
                           p ? p->scaling : SURETY_SCALE_NONE, p ? p->missing : SURETY_MISSING_ERROR, err);
}

/* What the model knows of its data; the rest is copied. */
static surety_status copy_data(surety_certificate *c, const surety_certificate *stated,
                               const surety_model *model, surety_error *err) {
    surety_data_settings s = surety_data_defaults();
    const char *prior = surety_model_text(model, "data.prior"),
               *learn = surety_model_text(model, "data.learn"), *test = surety_model_text(model, "data.test");
    SURETY_TRY(surety_model_data_settings(model, &s, err));
    c->copies = stated->copies;
    c->data = stated->data;
    c->data.classes = NULL;
    c->data.features = surety_voters_features(surety_model_voters(model));
    *(stated->data.unit[0] ? &c->data.units_learn : &c->data.rows_learn) = c->inputs.m;
    surety_certificate_set_columns(c, model);
    if (!surety_model_imported(model))
        SURETY_TRY(set_model_preparation(c, model, err)); /* else it knows none */
    if (!s.class_count) s.classes = stated->data.classes, s.class_count = stated->data.class_count;
    c->data.class_count = s.class_count;
    SURETY_TRY(surety_record_texts(&c->data.classes, s.classes, s.class_count, err));
    if (stated->data.fresh) return SURETY_OK; /* of which the model knows nothing */
    snprintf(c->data.task, sizeof c->data.task, "%s", s.task ? s.task : "");
    snprintf(c->data.sha256_prior, sizeof c->data.sha256_prior, "%s", prior ? prior : "");
    snprintf(c->data.sha256_learn, sizeof c->data.sha256_learn, "%s", learn ? learn : "");
    snprintf(c->data.sha256_test, sizeof c->data.sha256_test, "%s", test ? test : "");
    c->data.learn_size = s.learn_size;
    c->data.test_size = s.test_size;
    c->data.shuffled = strcmp(surety_model_text(model, "data.split"), "file order") != 0;
    c->data.seed = c->data.shuffled ? s.seed : SURETY_ABSENT;
    return SURETY_OK;
}

static surety_status certify_again(certifying *w, const surety_certificate *stated, surety_error *err) {
    surety_risks test = stated_test(stated);
    settle_origin(w, stated->data.fresh);
    w->units = stated->data.unit[0] != 0;
    w->stated_groups = stated->group_count;
    SURETY_TRY(prepare(w, err));
    if (stated->inputs.n != surety_threat_samples(&w->threat))
        return surety_fail(err, SURETY_E_CHECK,
                           "the attack makes %zu perturbations of an example, not %" PRIu64,
                           surety_threat_samples(&w->threat), stated->inputs.n);
    SURETY_TRY(stated_risks(&w->risks, stated, w->model, err));
    SURETY_TRY(form(w)->recall(w, stated, err));
    SURETY_TRY(conclude(w, &test, err));
    SURETY_TRY(copy_data(w->c, stated, w->model, err));
    memcpy(&w->c->majority, &stated->majority, sizeof w->c->majority);
    name_limits(w->c);
    memcpy(&w->c->software, &stated->software, sizeof w->c->software);
    memcpy(w->c->model.file, stated->model.file, sizeof w->c->model.file);
    SURETY_TRY(surety_certificate_word(w->c, err));
    return surety_certificate_seal(w->c, err);
}

surety_status surety_certify_again(surety_certificate *out, const surety_model *model,
                                   const surety_certificate *stated, const surety_certify_settings *settings,
                                   surety_error *err) {
    empty(out);
    certifying w = {.model = model, .facts = surety_model_about(model), .s = settings, .c = out};
    surety_status status = certify_again(&w, stated, err);
    surety_ledger_free(w.ledger);
    surety_risks_free(&w.risks);
    if (status != SURETY_OK) surety_certificate_free(out);
    return status;
}
