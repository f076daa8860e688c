/* Training: algorithm 1 of the paper (docs/theory.md 5). Settings, the two phases, the model that comes out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/parallel.h"
#include "data/classes.h"
#include "data/copies.h"
#include "evaluate/clean.h"
#include "evaluate/sampler.h"
#include "evaluate/vote.h"
#include "io/lock.h"
#include "train/checkpoint.h"
#include "train/phase.h"
#include "train/recipe.h"
#include "train/rows.h"
#include "train/settings.h"
#include "voters/ball.h"

static const char *const objectives[SURETY_OBJECTIVES] = {"chromatic",          "average-max", "seeger",
                                                          "average-max-seeger", "worst-case",  "baseline"};

surety_status surety_objective_parse(const char *name, surety_objective *objective, surety_error *err) {
    size_t index = 0;
    SURETY_TRY(surety_name_find("objective", name, objectives, SURETY_OBJECTIVES, &index, err));
    *objective = (surety_objective)index;
    return SURETY_OK;
}

const char *surety_objective_name(surety_objective objective) {
    return objectives[objective];
}

static const char *const losses[] = {"auto", "linear", "logistic", "bounded"};

surety_status surety_loss_parse(const char *name, surety_loss *loss, surety_error *err) {
    size_t index = 0;
    SURETY_TRY(surety_name_find("loss", name, losses, sizeof losses / sizeof *losses, &index, err));
    *loss = (surety_loss)index;
    return SURETY_OK;
}

const char *surety_loss_name(surety_loss loss) {
    return losses[loss];
}

static const char *const augments[] = {"none", "shift"};

surety_status surety_augment_parse(const char *name, surety_augment *augment, surety_error *err) {
    size_t index = 0;
    SURETY_TRY(
        surety_name_find("augmentation", name, augments, sizeof augments / sizeof *augments, &index, err));
    *augment = (surety_augment)index;
    return SURETY_OK;
}

const char *surety_augment_name(surety_augment augment) {
    return augments[augment];
}

surety_train_settings surety_train_defaults(void) {
    surety_train_settings s = {.objective = SURETY_OBJECTIVE_CHROMATIC,
                               .defense = surety_threat_defaults(),
                               .voter_set = SURETY_SIGNED,
                               .voters = surety_voters_defaults(),
                               .step1_epochs = 20,
                               .step2_epochs = 20,
                               .batch = 64,
                               .lr = 0.01,
                               .delta = 0.05};
    s.defense.kind = SURETY_ATTACK_PGDU;
    s.defense.samples = 1;
    return s;
}

void surety_train_table(surety_train_settings *s) {
    s->voter_set = SURETY_REAL;
    s->loss = SURETY_LOSS_LOGISTIC;
    s->objective = SURETY_OBJECTIVE_BASELINE;
    s->step1_epochs = s->step2_epochs = 0;
    s->decay = 1;
    s->keep_last = 1;
}

void surety_train_certified(surety_train_settings *s) {
    s->defense.kind = SURETY_WORST_CASE;
    s->voters.count = 10;
    s->voters.depth = 3;
    s->voters.mask = 0;
    s->voter_set = SURETY_REAL;
    s->decay = 1;
    s->keep_last = 1;
    s->objective = SURETY_OBJECTIVE_BASELINE;
}

surety_status surety_train_validate(const surety_train_settings *s, surety_error *err) {
    if ((unsigned)s->objective >= SURETY_OBJECTIVES)
        return surety_fail(err, SURETY_E_USAGE, "unknown objective %d", (int)s->objective);
    if ((unsigned)s->loss > SURETY_LOSS_BOUNDED || (unsigned)s->augment > SURETY_AUGMENT_SHIFT ||
        (unsigned)s->voter_set > SURETY_REAL)
        return surety_fail(err, SURETY_E_USAGE, "unknown loss %d, augment %d or voter set %d", (int)s->loss,
                           (int)s->augment, (int)s->voter_set);
    SURETY_TRY(surety_threat_validate(&s->defense, err));
    if (s->step1_epochs > 100000 || s->step2_epochs > 100000)
        return surety_fail(err, SURETY_E_USAGE, "a step has at most 100000 epochs, not %zu and %zu",
                           s->step1_epochs, s->step2_epochs);
    int worst = s->defense.kind == SURETY_WORST_CASE;
    if (!(s->mix >= 0 && s->mix < 1) || (s->mix > 0 && !worst))
        return surety_fail(err, SURETY_E_USAGE,
                           "a mix is the weight of pgd beside the certified defense, at least 0 and below 1, "
                           "not %g with the defense %s",
                           s->mix, surety_defense_name(s->defense.kind));
    if (worst && s->objective != SURETY_OBJECTIVE_WORST_CASE && s->objective != SURETY_OBJECTIVE_BASELINE)
        return surety_fail(err, SURETY_E_USAGE,
                           "the certified defense goes with the objective worst-case or baseline, not %s",
                           objectives[s->objective]);
    if (s->keep_last && s->holdout > 0)
        return surety_fail(err, SURETY_E_USAGE,
                           "a hold-out chooses the epoch: the last one cannot be kept beside it");
    if (s->batch < 1 || s->batch > 65536)
        return surety_fail(err, SURETY_E_USAGE, "a batch has 1 to 65536 examples, not %zu", s->batch);
    if (!(s->lr > 0) || !isfinite(s->lr))
        return surety_fail(err, SURETY_E_USAGE, "a learning rate is above 0, not %g", s->lr);
    if (!(s->delta > 0 && s->delta < 1))
        return surety_fail(err, SURETY_E_USAGE, "delta is above 0 and below 1, not %g", s->delta);
    if (!(s->holdout >= 0 && s->holdout < 1))
        return surety_fail(err, SURETY_E_USAGE,
                           "the hold-out is a share of S', at least 0 and below 1, not %g", s->holdout);
    if (s->seed >= SURETY_SEED_LIMIT) return surety_fail(err, SURETY_E_USAGE, "a seed is below 2^63");
    return surety_recipe_validate(s, err);
}

/* ---- results as JSON ---- */

char *surety_train_result_json(const surety_train_result *r, const char *const *names) {
    const surety_timing *t = &r->timing;
    return surety_json_text(SURETY_JSON_OBJECT(
        {"step1", SURETY_JSON_OBJECT({"best_epoch", surety_json_count(r->step1_best)},
                                     {"risk", surety_json_reals(r->step1_risk, r->step1_epochs)})},
        {"step2", SURETY_JSON_OBJECT({"best_epoch", surety_json_count(r->step2_best)},
                                     {"objective", surety_json_reals(r->step2_objective, r->step2_epochs)})},
        {"kl", surety_json_real(r->kl)}, {"priors_compared", surety_json_count(r->priors_compared)},
        {"kind", surety_json_string(r->kind)}, {"classes", surety_labels_json(names, r->clean.classes, 0)},
        {"largest_weight", surety_json_real(r->largest_weight)},
        {"clean_rows", surety_json_string(r->clean_rows)}, {"constant", json_boolean(r->constant)},
        {"clean_error", surety_json_real(r->clean.error)},
        {"majority_error", surety_json_real(r->clean.majority_error)},
        {"class_errors", surety_class_errors_json(names, &r->clean)},
        {"copies", surety_copies_json(&r->copies)}, {"seconds", surety_json_real(r->seconds)},
        {"timing",
         SURETY_JSON_OBJECT({"attack", surety_json_real(t->attack)}, {"update", surety_json_real(t->update)},
                            {"choose", surety_json_real(t->choose)}, {"busy", surety_json_real(t->busy)},
                            {"forward_rows", surety_json_count(t->forward_rows)},
                            {"backward_rows", surety_json_count(t->backward_rows)})}));
}

void surety_train_result_free(surety_train_result *r) {
    surety_free(r->step1_risk);
    surety_free(r->step2_objective);
    surety_clean_free(&r->clean);
    *r = (surety_train_result){0};
}

/* ---- the training ---- */

typedef struct training {
    surety_train_settings s;
    const surety_data_info *info;
    surety_set prior_set, choose, learn,
        test;         /* S' (what of it trains), the set that chooses step 1's epoch, S, T */
    surety_set train; /* prior_set with its copies */
    surety_made made_train, made_choose;
    const surety_checkpointing *checkpointing;
    surety_lock lock;       /* on the checkpoint */
    double next_checkpoint; /* not before this second */
    char *settings;         /* surety_train_settings_text */
    surety_train_state state;
    uint64_t priors_compared; /* T_p */
    float *votes;             /* (m, H) on S, see fixed_votes */
} training;

static surety_status keep(void *arg, const surety_train_state *state, surety_error *err) {
    enum { SELDOM = 20 }; /* times as long as the last checkpoint took */
    training *t = arg;
    double began = surety_seconds();
    if (!t->checkpointing || !t->checkpointing->file) return SURETY_OK;
    if (t->checkpointing->seldom && began < t->next_checkpoint) return SURETY_OK;
    SURETY_TRY(surety_checkpoint_save(t->checkpointing->file, t->settings, state, err));
    double ended = surety_seconds();
    t->next_checkpoint = ended + SELDOM * (ended - began);
    return SURETY_OK;
}

/* S' alone chooses (T_p = 1): its last share is held out and trains nothing. Else S chooses among the epochs.
 */
static surety_status split_prior_set(training *t, const surety_data *data, const surety_run *run,
                                     surety_error *err) {
    const surety_set *prior_set = surety_data_set(data, SURETY_SET_PRIOR);
    size_t held = (size_t)floor(t->s.holdout * (double)prior_set->m);
    if (t->s.holdout > 0 && held < 1) held = 1; /* of the smallest sets */
    t->learn = *surety_data_set(data, SURETY_SET_LEARN);
    t->test = *surety_data_set(data, SURETY_SET_TEST);
    if (t->s.holdout > 0 && held >= prior_set->m)
        return surety_fail(err, SURETY_E_USAGE, "a hold-out of %g leaves nothing of the %zu examples of S'",
                           t->s.holdout, prior_set->m);
    while (held && prior_set->unit &&
           prior_set->unit[prior_set->m - held] == prior_set->unit[prior_set->m - held - 1])
        held--;                    /* rows of a unit stay together */
    if (t->s.holdout > 0 && !held) /* S must not choose instead: T_p is 1 */
        return surety_fail(
            err, SURETY_E_USAGE,
            "a hold-out of %g of the %zu examples of S' has no whole unit: take a larger share", t->s.holdout,
            prior_set->m);
    t->prior_set = surety_set_slice(prior_set, 0, prior_set->m - held);
    t->choose = held ? surety_set_slice(prior_set, prior_set->m - held, held) : t->learn;
    t->prior_set.unit = t->choose.unit = t->learn.unit =
        NULL; /* a training learns from rows; promises count units */
    t->train = t->prior_set;
    if (held)
        SURETY_TRY(surety_rows_make(&t->choose, &t->made_choose, SURETY_AUGMENT_NONE, t->info, run, err));
    if (!held && t->s.augment == SURETY_AUGMENT_NONE) return SURETY_OK; /* the data's shares stand */
    return surety_rows_make(&t->train, &t->made_train, t->s.augment, t->info, run, err);
}

/* An existing checkpoint is read, or refused without touching it: it may be another training's. */
static surety_status go_on(training *t, surety_error *err) {
    const char *file = t->checkpointing->file;
    int there = 0;
    SURETY_TRY(surety_lock_take(&t->lock, file, err));
    SURETY_TRY(surety_path_look(file, &there, err));
    if (!there) return SURETY_OK;
    if (t->checkpointing->resume) return surety_checkpoint_load(file, t->settings, &t->state, err);
    surety_fail(err, SURETY_E_USAGE, "there is a checkpoint already, and this training would write over it");
    surety_fail_expected(err, "--resume, which goes on with it, or another file; or remove it first");
    surety_fail_file(err, file);
    return SURETY_E_USAGE;
}

/* Epochs over m examples that make SURETY_TRAIN_STEPS batches. */
static size_t epochs_over(size_t m, size_t batch) {
    size_t batches = (m + batch - 1) / batch;
    return batches ? (SURETY_TRAIN_STEPS + batches - 1) / batches : 1;
}

/* Bounded against a worst case that is a forward pass, of two classes: with more it gives up whole classes
 * (docs/notes/lipschitz.md). */
static surety_loss suiting_loss(const surety_train_settings *s, const surety_voters *voters) {
    int worst = s->defense.kind == SURETY_WORST_CASE, lowers = surety_voters_can(voters, SURETY_CAN_LOWER),
        many = surety_voters_classes(voters) > 2;
    return worst && lowers && !many  ? SURETY_LOSS_BOUNDED
           : worst || lowers || many ? SURETY_LOSS_LOGISTIC
                                     : SURETY_LOSS_LINEAR;
}

/* All rows, or this process's share of them. */
static surety_status need_rows(const surety_data *data, const surety_run *run, surety_error *err) {
    for (int k = 0; k < SURETY_SETS; k++) {
        const surety_set *set = surety_data_set(data, (surety_set_name)k);
        size_t first = 0, end = set->m;
        surety_my_rows(run, &first, &end);
        SURETY_TRY(surety_sampling_has(set, first, end, err));
    }
    return SURETY_OK;
}

static surety_status begin(training *t, const surety_run *run, surety_error *err) {
    surety_voters *voters;
    size_t d = t->learn.d;
    if (!t->s.step1_epochs) t->s.step1_epochs = epochs_over(t->train.m, t->s.batch);
    if (!t->s.step2_epochs) t->s.step2_epochs = epochs_over(t->learn.m, t->s.batch);
    t->priors_compared = surety_train_priors(&t->s);
    t->s.voters.classes = t->learn.classes;
    t->s.defense.ball.slack = t->info->scaling > SURETY_SCALE_NONE ? SURETY_SCALED : 0;
    t->s.voters.scale = surety_ball_scale(&t->s.defense.ball, d);
    SURETY_TRY(surety_voters_new(&t->s.voters, d, t->s.seed, &voters, err));
    if (t->s.loss == SURETY_LOSS_AUTO) t->s.loss = suiting_loss(&t->s, voters);
    surety_status can = surety_voters_can(voters, SURETY_CAN_GROW)
                            ? SURETY_OK
                            : surety_voters_need(voters, SURETY_CAN_LEARN, "a training", err);
    if (can == SURETY_OK && t->info->missing == SURETY_MISSING_KEEP)
        can = surety_voters_need(voters, SURETY_CAN_MISS, "--missing keep", err);
    if (can != SURETY_OK) {
        surety_voters_free(voters);
        return can;
    }
    size_t step2 = t->s.objective == SURETY_OBJECTIVE_BASELINE ? 0 : t->s.step2_epochs;
    SURETY_TRY(surety_train_state_new(&t->state, voters, t->s.step1_epochs, step2, err));
    SURETY_TRY(surety_attack_check_rows(&t->s.defense, voters, &t->prior_set, run, err));
    SURETY_TRY(surety_attack_check_rows(&t->s.defense, voters, &t->learn, run, err));
    if (!(t->settings = surety_train_settings_text(&t->s, t->info)))
        return surety_fail(err, SURETY_E_MEMORY, "no memory for the settings");
    return t->checkpointing && t->checkpointing->file ? go_on(t, err) : SURETY_OK;
}

static surety_phase step1(const training *t) {
    return (surety_phase){.name = "step 1",
                          .train = &t->train,
                          .choose = t->s.keep_last ? NULL : &t->choose,
                          .moves_voters = 1,
                          .certified = t->s.defense.kind == SURETY_WORST_CASE ? 1 - t->s.mix : 0,
                          .epochs = t->s.step1_epochs,
                          .first_epoch = 1};
}

static surety_phase step2(const training *t) {
    static const surety_bound_id bounds[] = {SURETY_BOUND_CHROMATIC_SEEGER, SURETY_BOUND_AVERAGE_MAX,
                                             SURETY_BOUND_SEEGER, SURETY_BOUND_AVERAGE_MAX_SEEGER,
                                             SURETY_BOUND_WORST_CASE};
    surety_phase phase = {.name = "step 2",
                          .train = &t->learn,
                          .choose = &t->learn,
                          .has_bound = 1,
                          .objective = bounds[t->s.objective],
                          .input = surety_bound_input_defaults(),
                          .epochs = t->s.step2_epochs,
                          .first_epoch = 1 + 2 * (uint32_t)t->s.step1_epochs};
    phase.input.m = t->learn.m;
    phase.input.H = t->state.H;
    phase.input.delta = t->s.delta;
    phase.input.priors_compared = t->priors_compared;
    return phase;
}

static surety_status keep_votes(void *arg, const surety_ended *e, const float *votes, size_t ld,
                                surety_error *err) {
    const training *t = arg;
    size_t width = surety_voters_width(t->state.voters);
    uint8_t y = t->learn.y[e->i];
    (void)err;
    for (size_t h = 0; h < t->state.H; h++)
        t->votes[e->i * t->state.H + h] =
            (float)surety_voter_margin(votes + h * width * ld, ld, width, t->s.voter_set, y);
    return SURETY_OK;
}

/* The same from limits: the smallest. */
static surety_status keep_limits(void *arg, const surety_ended *e, const float *low, size_t ld,
                                 surety_error *err) {
    const training *t = arg;
    size_t others = t->learn.classes - 1;
    (void)err;
    for (size_t h = 0; h < t->state.H; h++) {
        float least = 1;
        for (size_t k = 0; k < others; k++) least = fminf(least, low[(h * others + k) * ld]);
        t->votes[e->i * t->state.H + h] = least;
    }
    return SURETY_OK;
}

/* Voters are frozen in step 2. Where no example moves either, their votes are cached: the worst ones of the
 * objective worst-case, those on S itself for the defense none. (Neither asks for a vote's weights.) */
static surety_status fixed_votes(training *t, const surety_run *run, surety_error *err) {
    const surety_set *S = &t->learn;
    surety_threat threat = t->s.defense;
    if (t->s.objective == SURETY_OBJECTIVE_WORST_CASE) threat.kind = SURETY_WORST_CASE;
    if (threat.kind != SURETY_WORST_CASE && threat.kind != SURETY_ATTACK_NONE) return SURETY_OK;
    surety_sampling all = {.set = S,
                           .end = S->m,
                           .vote = {t->state.voters, NULL, t->s.voter_set},
                           .votes = threat.kind == SURETY_WORST_CASE ? keep_limits : keep_votes,
                           .arg = t,
                           .shared = 1};
    SURETY_TRY(surety_alloc(&t->votes, S->m, t->state.H * sizeof(float), err));
    SURETY_TRY(surety_sample_set(&threat, &all, run, err));
    return surety_share_everyone(run, t->votes, S->m, 1, t->state.H * sizeof(float), err);
}

static surety_status run_phases(training *t, surety_timing *timing, const surety_run *run,
                                surety_error *err) {
    surety_after_epoch after = {keep, t};
    if (t->state.phase == SURETY_STEP1) {
        surety_phase phase = step1(t);
        SURETY_TRY(surety_phase_run(&phase, &t->s, &t->state, &after, timing, run, err));
        if (surety_voters_can(t->state.voters, SURETY_CAN_GROW))
            surety_voters_theta(t->state.voters, t->state.theta);
        surety_train_state_next(&t->state);
    }
    if (t->s.objective == SURETY_OBJECTIVE_BASELINE) return SURETY_OK;
    surety_phase phase = step2(t);
    SURETY_TRY(fixed_votes(t, run, err));
    phase.votes = t->votes;
    return surety_phase_run(&phase, &t->s, &t->state, &after, timing, run, err);
}

static surety_status fill_result(const training *t, surety_train_result *r, surety_error *err) {
    const surety_train_state *s = &t->state;
    r->step1_epochs = s->epochs[0], r->step1_best = s->best[0];
    r->step2_epochs = s->epochs[1], r->step2_best = s->best[1];
    r->priors_compared = t->priors_compared;
    r->copies = t->info->copies;
    SURETY_TRY(surety_alloc(&r->step1_risk, s->epochs[0], sizeof(double), err));
    SURETY_TRY(surety_alloc(&r->step2_objective, s->epochs[1], sizeof(double), err));
    memcpy(r->step1_risk, s->values[0], s->epochs[0] * sizeof(double));
    if (s->epochs[1]) memcpy(r->step2_objective, s->values[1], s->epochs[1] * sizeof(double));
    return SURETY_OK;
}

static surety_status make_model(training *t, surety_model **model, surety_train_result *r,
                                surety_error *err) {
    surety_train_state *s = &t->state;
    surety_model_facts facts;
    surety_train_facts(&t->s, &facts);
    double *P, *Q;
    SURETY_TRY(surety_voters_trim(&s->voters, err));
    SURETY_TRY(surety_alloc(&P, 2 * s->H, sizeof *P, err));
    Q = P + s->H;
    surety_softmax(s->prior_theta, s->H, P);
    surety_softmax(s->theta, s->H, Q);
    surety_status status = surety_kl_divergence(Q, P, s->H, &r->kl, err);
    if (status == SURETY_OK) status = surety_model_new(s->voters, P, Q, &facts, model, err);
    surety_free(P);
    if (status != SURETY_OK) return status;
    s->voters = NULL; /* the model's now */
    SURETY_TRY(surety_model_set_data(*model, t->info, err));
    SURETY_TRY(surety_model_set_text(*model, "settings", t->settings, err));
    SURETY_TRY(surety_model_set_reals(*model, "step1.risk", r->step1_risk, r->step1_epochs, err));
    SURETY_TRY(surety_model_set_count(*model, "step1.best_epoch", r->step1_best, err));
    SURETY_TRY(surety_model_set_reals(*model, "step2.objective", r->step2_objective, r->step2_epochs, err));
    SURETY_TRY(surety_model_set_count(*model, "step2.best_epoch", r->step2_best, err));
    return surety_model_set_real(*model, "kl", r->kl, err);
}

static surety_status look_back(const training *t, const surety_model *model, surety_train_result *r,
                               const surety_run *run, surety_error *err) {
    int test = t->test.m > 0, held_out = !test && t->s.holdout > 0;
    surety_vote vote = surety_model_vote(model, test ? SURETY_WEIGHTS_POSTERIOR : SURETY_WEIGHTS_PRIOR);
    r->kind = surety_voters_kind(vote.voters);
    r->largest_weight = surety_model_largest_weight(model, NULL);
    r->clean_rows = held_out ? "held_out" : test ? "test" : "training";
    SURETY_TRY(surety_evaluate_clean(&vote,
                                     held_out ? &t->choose
                                     : test   ? &t->test
                                              : &t->prior_set,
                                     t->info, &r->clean, run, err));
    r->constant = surety_clean_constant(&r->clean);
    return SURETY_OK;
}

/* All processes begin at the same place of the same training. (The one that writes goes on behind this only:
 * its first checkpoint must not meet another process's look for one.) */
static surety_status meet(const training *t, const surety_run *run, surety_error *err) {
    char place[80];
    snprintf(place, sizeof place, "%llu %llu %llu", (unsigned long long)t->state.phase,
             (unsigned long long)t->state.epoch, (unsigned long long)t->state.steps);
    SURETY_TRY(surety_agree("settings or data", t->settings, run, err));
    return surety_agree("checkpoint", place, run, err);
}

/* What is left behind step 1, or behind a checkpoint: the rest of it, step 2, the model. */
static surety_status finish(training *t, surety_model **model, surety_train_result *result,
                            const surety_run *run, surety_error *err) {
    SURETY_TRY(meet(t, run, err));
    SURETY_TRY(run_phases(t, &result->timing, run, err));
    SURETY_TRY(fill_result(t, result, err));
    SURETY_TRY(make_model(t, model, result, err));
    return look_back(t, *model, result, run, err);
}

static training training_of(const surety_train_settings *settings, const surety_data *data,
                            const surety_checkpointing *checkpointing) {
    training t = {.s = *settings, .info = surety_data_describe(data), .checkpointing = checkpointing};
    t.s.defense.seed = settings->seed;
    t.s.defense.samples = 1;
    t.s.defense.epoch = 0;
    return t;
}

static surety_status open_training(training *t, const surety_data *data, const surety_run *run,
                                   surety_error *err) {
    SURETY_TRY(surety_train_validate(&t->s, err));
    if (run && run->everyone && !run->everyone->share)
        return surety_fail(err, SURETY_E_USAGE, "a training cannot be made in parts");
    SURETY_TRY(surety_data_check_copies(t->info, err));
    SURETY_TRY(need_rows(data, run, err));
    SURETY_TRY(split_prior_set(t, data, run, err));
    return begin(t, run, err);
}

static void close_training(training *t) {
    surety_lock_release(&t->lock);
    surety_train_state_free(&t->state);
    surety_made_free(&t->made_train);
    surety_made_free(&t->made_choose);
    surety_free(t->votes);
    free(t->settings);
}

static void drop(surety_model **model, surety_train_result *result) {
    surety_model_free(*model);
    *model = NULL;
    surety_train_result_free(result);
}

surety_status surety_train(const surety_train_settings *settings, const surety_data *data,
                           const surety_checkpointing *checkpointing, surety_model **model,
                           surety_train_result *result, const surety_run *run, surety_error *err) {
    double began = surety_seconds();
    *model = NULL;
    *result = (surety_train_result){0};
    training t = training_of(settings, data, checkpointing);
    surety_status status = open_training(&t, data, run, err);
    if (status == SURETY_OK) status = finish(&t, model, result, run, err);
    close_training(&t);
    result->seconds = surety_seconds() - began;
    if (status != SURETY_OK) drop(model, result);
    return status;
}

/* One objective behind the step 1 of another training. */
static surety_status train_behind(const training *first, surety_objective objective, const surety_data *data,
                                  surety_trained *out, const surety_run *run, surety_error *err) {
    double began = surety_seconds();
    training t = training_of(&first->s, data, NULL);
    t.s.objective = objective;
    surety_status status = open_training(&t, data, run, err);
    if (status == SURETY_OK) {
        surety_train_state_continue(&t.state, &first->state);
        status = finish(&t, &out->model, &out->result, run, err);
    }
    close_training(&t);
    out->result.seconds = surety_seconds() - began;
    return status;
}

surety_status surety_train_objectives(const surety_train_settings *settings, const surety_data *data,
                                      const surety_objective *wanted, size_t count, surety_trained *out,
                                      const surety_run *run, surety_error *err) {
    double began = surety_seconds(), seconds = 0;
    surety_timing timing = {0};
    for (size_t i = 0; i < count; i++) out[i] = (surety_trained){0};
    training first = training_of(settings, data, NULL);
    first.s.objective = SURETY_OBJECTIVE_BASELINE;
    surety_status status = open_training(&first, data, run, err);
    if (status == SURETY_OK) status = run_phases(&first, &timing, run, err);
    seconds = surety_seconds() - began;
    for (size_t i = 0; i < count && status == SURETY_OK; i++)
        status = train_behind(&first, wanted[i], data, &out[i], run, err);
    if (status == SURETY_OK && count) out[0].result.seconds += seconds; /* the step 1 of all of them */
    close_training(&first);
    for (size_t i = 0; i < count && status != SURETY_OK; i++) drop(&out[i].model, &out[i].result);
    return status;
}
