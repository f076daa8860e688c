#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evaluate/perturbed.h"
#include "io/json.h"
#include "risk/json.h"
#include "surety/evaluate.h"

/* ---- rows ---- */

void surety_row_defaults(surety_row_settings *settings, const surety_model *model) {
    const surety_model_facts *facts = surety_model_about(model);
    *settings =
        (surety_row_settings){.delta = facts->delta, .priors_compared = facts->priors_compared, .looks = 1};
    surety_threat_defaults(&settings->threat);
    settings->threat.kind = SURETY_ATTACK_PGDU;
    settings->threat.ball = facts->ball;
    settings->threat.seed = facts->seed;
}

/* Risks of every model's vote on the set, attacked once under the prior that they share; or of its worst
 * votes. */
static surety_status perturbed(surety_risks *risks, const surety_model *const *models, size_t count,
                               const surety_set *set, const surety_threat *threat, const surety_run *run,
                               surety_error *err) {
    surety_threat settings = *threat;
    const double *posteriors[SURETY_ROWS_MOST];
    settings.epoch = SURETY_PASS_PERTURBED;
    SURETY_TRY(surety_threat_validate(&settings, err));
    SURETY_TRY(surety_attack_check_set(&settings, surety_model_voters(models[0]), set, err));
    for (size_t k = 0; k < count; k++) posteriors[k] = surety_model_posterior(models[k]);
    surety_vote vote = surety_model_vote(models[0], SURETY_PRIOR);
    static const char *const phases[2][2] = {{"perturbed S", "perturbed T"},
                                             {"worst case S", "worst case T"}};
    surety_measurement what = {
        .threat = &settings,
        .attacked = &vote,
        .set = vote.set,
        .prior = surety_model_prior(models[0]),
        .phase = phases[threat->kind == SURETY_WORST_CASE][set->which == SURETY_SET_TEST]};
    return surety_measure_each(&what, posteriors, count, set, risks, run, err);
}

surety_status surety_evaluate_perturbed(surety_risks *risks, const surety_model *model, const surety_set *set,
                                        const surety_threat *threat, const surety_run *run,
                                        surety_error *err) {
    *risks = (surety_risks){0};
    return perturbed(risks, &model, 1, set, threat, run, err);
}

surety_status surety_evaluate_worst(surety_risks *risks, const surety_model *model, const surety_set *set,
                                    const surety_ball *ball, const surety_run *run, surety_error *err) {
    surety_threat threat;
    surety_threat_defaults(&threat);
    threat.kind = SURETY_WORST_CASE;
    threat.ball = *ball;
    *risks = (surety_risks){0};
    return perturbed(risks, &model, 1, set, &threat, run, err);
}

surety_status surety_worst_input(const surety_risks *risks, const surety_model *model,
                                 surety_bound_input *input, surety_error *err) {
    const double *q = surety_model_posterior(model), *p = surety_model_prior(model);
    input->m = risks->m;
    input->H = risks->voters;
    input->posterior = q;
    input->frozen = memcmp(q, p, risks->voters * sizeof *q) == 0;
    surety_risks_evidence(risks, SURETY_RISK_WORST_CASE, &input->worst_case);
    return surety_kl_divergence(q, p, risks->voters, &input->kl, err);
}

surety_status surety_evaluate_attacked(double *risk, double *norm_max, const surety_model *model,
                                       const surety_set *set, const surety_threat *attack,
                                       const surety_run *run, surety_error *err) {
    surety_threat settings = *attack;
    settings.kind = surety_threat_plain(attack->kind);
    settings.epoch = SURETY_PASS_ATTACKED;
    surety_vote vote = surety_model_vote(model, SURETY_POSTERIOR);
    surety_attack_result result;
    SURETY_TRY(surety_attack_set(&settings, &vote, set, NULL, NULL, &result, run, err));
    *risk = (double)result.fooled / (double)set->m;
    *norm_max = result.norm_max;
    return SURETY_OK;
}

/* The row's own part, behind the risks on the perturbed sets: R_att and the bounds. */
static surety_status fill(surety_row *row, const surety_model *model, const surety_set *test,
                          const surety_row_settings *s, const surety_run *run, surety_error *err) {
    row->threat = s->threat.kind;
    row->input = surety_bound_input_defaults();
    row->input.delta = s->delta;
    row->input.priors_compared = s->priors_compared;
    row->input.looks = s->looks;
    if (row->threat == SURETY_WORST_CASE) {
        row->adversarial_risk = row->averaged_risk = row->averaged_max = row->norm_max = NAN;
        SURETY_TRY(surety_worst_input(&row->learn, model, &row->input, err));
        return surety_risks_bounds(&row->input, row->bounds, err);
    }
    SURETY_TRY(
        surety_evaluate_attacked(&row->adversarial_risk, &row->norm_max, model, test, &s->threat, run, err));
    row->averaged_risk = row->test.averaged;
    row->averaged_max = row->test.averaged_max;
    SURETY_TRY(surety_risks_input(&row->learn, surety_model_posterior(model), surety_model_prior(model),
                                  &row->input, err));
    return surety_risks_bounds(&row->input, row->bounds, err);
}

/* One attack serves all only if it attacks the same vote: same voters, same prior, asked the same way. */
static surety_status check_kin(const surety_model *const *models, size_t count, surety_error *err) {
    const surety_voters *a = surety_model_voters(models[0]);
    if (count < 1 || count > SURETY_ROWS_MOST)
        return surety_fail(err, SURETY_E_USAGE, "1 to %d models at once, not %zu", SURETY_ROWS_MOST, count);
    for (size_t k = 1; k < count; k++) {
        const surety_voters *b = surety_model_voters(models[k]);
        size_t H = surety_voters_count(a);
        int same = surety_voters_same(a, b) &&
                   surety_model_about(models[0])->set == surety_model_about(models[k])->set &&
                   !memcmp(surety_model_prior(models[0]), surety_model_prior(models[k]), H * sizeof(double));
        if (!same) return surety_fail(err, SURETY_E_USAGE, "the models do not share their voters and prior");
    }
    return SURETY_OK;
}

static int same_text(const surety_model *model, const char *key, const char *text) {
    const char *was = surety_model_text(model, key);
    return was && !strcmp(was, text);
}

surety_status surety_evaluate_fresh(const surety_model *model, const surety_data *data, surety_error *err) {
    const surety_data_info *info = surety_data_describe(data);
    const char *rows = surety_model_text(model, "data.class_rows");
    if (!rows && surety_model_text(model, "data.task"))
        return surety_fail(err, SURETY_E_CHECK,
                           "the model does not say which rows trained it: train it again");
    size_t k = 0;
    while (rows && k < info->classes && !strstr(rows, info->class_sha256[k])) k++;
    if (!rows || k == info->classes) return SURETY_OK;
    if (same_text(model, "data.prior", info->set_sha256[SURETY_SET_PRIOR]) &&
        same_text(model, "data.learn", info->set_sha256[SURETY_SET_LEARN]))
        return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK,
                "the rows that trained the model are split another way: S or T may hold what trained it");
    if (info->files) surety_fail_file(err, info->file[0].path);
    surety_fail_expected(err, "the model's own split (surety inspect shows it), or other rows");
    return SURETY_E_CHECK;
}

static surety_status fill_all(surety_row *rows, const surety_model *const *models, size_t count,
                              const surety_data *data, const surety_row_settings *s, const surety_run *run,
                              surety_error *err) {
    const surety_set *test = surety_data_set(data, SURETY_SET_TEST);
    surety_risks risks[SURETY_ROWS_MOST];
    if (!test->m)
        return surety_fail(err, SURETY_E_INPUT, "there are no test examples: give --test or --test-size");
    SURETY_TRY(perturbed(risks, models, count, test, &s->threat, run, err));
    for (size_t k = 0; k < count; k++) rows[k].test = risks[k];
    SURETY_TRY(
        perturbed(risks, models, count, surety_data_set(data, SURETY_SET_LEARN), &s->threat, run, err));
    for (size_t k = 0; k < count; k++) rows[k].learn = risks[k];
    for (size_t k = 0; k < count; k++) SURETY_TRY(fill(&rows[k], models[k], test, s, run, err));
    return SURETY_OK;
}

surety_status surety_evaluate_rows(surety_row *rows, const surety_model *const *models, size_t count,
                                   const surety_data *data, const surety_row_settings *settings,
                                   const surety_run *run, surety_error *err) {
    for (size_t k = 0; k < count; k++) rows[k] = (surety_row){0};
    SURETY_TRY(check_kin(models, count, err));
    for (size_t k = 0; k < count; k++) SURETY_TRY(surety_evaluate_fresh(models[k], data, err));
    surety_status status = fill_all(rows, models, count, data, settings, run, err);
    for (size_t k = 0; k < count && status != SURETY_OK; k++) surety_row_free(&rows[k]);
    return status;
}

surety_status surety_evaluate_row(surety_row *row, const surety_model *model, const surety_data *data,
                                  const surety_row_settings *settings, const surety_run *run,
                                  surety_error *err) {
    return surety_evaluate_rows(row, &model, 1, data, settings, run, err);
}

void surety_row_free(surety_row *row) {
    surety_risks_free(&row->test);
    surety_risks_free(&row->learn);
    *row = (surety_row){0};
}

int surety_row_refuted(const surety_row *row, surety_refutation *worst) {
    int found = -1;
    surety_refutation most = {.chance = SURETY_IMPOSSIBLE};
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        if (!row->bounds[id].available) continue;
        surety_refutation r =
            surety_risks_refute(&row->test, surety_bound_list()[id].risk, row->bounds[id].vote);
        if (r.chance < most.chance) most = r, found = id;
    }
    if (worst && found >= 0) *worst = most;
    return found;
}

/* The smallest bound on the risk that the row is about. */
static json_t *best_json(const surety_row *row) {
    surety_risk_kind risk =
        row->threat == SURETY_WORST_CASE ? SURETY_RISK_WORST_CASE : SURETY_RISK_AVERAGED_MAX;
    const surety_bound_value *best = NULL;
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        const surety_bound_value *value = &row->bounds[id];
        if (surety_bound_list()[id].risk != risk || !value->available) continue;
        if (!best || value->vote < best->vote) best = value;
    }
    if (!best) return json_null();
    return SURETY_JSON_OBJECT({"bound", surety_json_string(surety_bound_list()[best->id].name)},
                              {"vote", surety_json_real(best->vote)},
                              {"risk", surety_json_string(surety_risk_kind_name(risk))});
}

static json_t *refuted_json(const surety_row *row) {
    surety_refutation r;
    int id = surety_row_refuted(row, &r);
    if (id < 0) return json_null();
    return SURETY_JSON_OBJECT({"bound", surety_json_string(surety_bound_list()[id].name)},
                              {"limit", surety_json_real(r.limit)}, {"m", surety_json_count(r.m)},
                              {"failed", surety_json_count(r.failed)},
                              {"chance", surety_json_real(r.chance)});
}

static json_t *worst_json(const surety_risks *learn) {
    return SURETY_JSON_OBJECT(
        {"not_proved", surety_json_real(learn->averaged_max)},
        {"prior_not_proved", surety_json_real((double)learn->prior_max_wrong / (double)learn->m)},
        {"gibbs", surety_json_real(learn->gmax)});
}

static json_t *row_json(const surety_row *row) {
    int worst = row->threat == SURETY_WORST_CASE;
    return SURETY_JSON_OBJECT({"attack", surety_json_string(surety_threat_name(row->threat))},
                              {"not_proved", worst ? surety_json_real(row->test.averaged_max) : json_null()},
                              {"adversarial_risk", surety_json_real(row->adversarial_risk)},
                              {"averaged_risk", surety_json_real(row->averaged_risk)},
                              {"averaged_max_risk", surety_json_real(row->averaged_max)},
                              {"norm_max", surety_json_real(row->norm_max)},
                              {"m", surety_json_count(row->input.m)}, {"n", surety_json_count(row->learn.n)},
                              {"kl", surety_json_real(row->input.kl)},
                              {"delta", surety_json_real(row->input.delta)},
                              {"priors_compared", surety_json_count(row->input.priors_compared)},
                              {"looks", surety_json_count(row->input.looks)},
                              {"risks", worst ? worst_json(&row->learn) : surety_risks_object(&row->learn)},
                              {"refuted", refuted_json(row)}, {"best", best_json(row)},
                              {"bounds", surety_bounds_object(row->bounds)});
}

char *surety_rows_json(const surety_row *rows, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(array, row_json(&rows[i]));
    return surety_json_text(SURETY_JSON_OBJECT({"attacks", array}));
}
