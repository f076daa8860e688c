/* A row of the table (docs/theory.md 4.1). The perturbed S and T are drawn by attacking the vote of the
 * prior, whose perturbations S cannot have chosen; several models with that prior share the drawing. R_att
 * attacks the vote of Q itself, on T alone, because nothing is concluded from it. Whose rows S and T are is
 * asked first: rows that trained the voters give no bound. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "data/classes.h"
#include "data/copies.h"
#include "evaluate/clean.h"
#include "evaluate/perturbed.h"
#include "io/json.h"
#include "risk/json.h"
#include "surety/evaluate.h"

/* ---- rows ---- */

surety_row_settings surety_row_defaults(const surety_model *model) {
    const surety_model_facts *facts = surety_model_about(model);
    surety_row_settings s = {.threat = surety_threat_defaults(),
                             .delta = facts->delta,
                             .priors_compared = facts->priors_compared,
                             .looks = 1};
    s.threat.kind = SURETY_ATTACK_PGDU;
    s.threat.ball = facts->ball;
    s.threat.seed = facts->seed;
    return s;
}

/* Models that differ in nothing but their posterior, and which vote is attacked. */
typedef struct several {
    const surety_model *const *models;
    size_t count;
    surety_weighting attacked;
} several;

/* Risks of every model's vote on the set, attacked once under the prior that they share (or under the vote of
 * the first); or of its worst votes. */
static surety_status perturbed(surety_risks *risks, const several *s, const surety_set *set,
                               const surety_threat *threat, const surety_run *run, surety_error *err) {
    surety_threat settings = *threat;
    const double *posteriors[SURETY_ROWS_MOST];
    settings.epoch = SURETY_EPOCH_PERTURBED;
    SURETY_TRY(surety_threat_validate(&settings, err));
    SURETY_TRY(surety_attack_check_rows(&settings, surety_model_voters(s->models[0]), set, run, err));
    for (size_t k = 0; k < s->count; k++) posteriors[k] = surety_model_posterior(s->models[k]);
    surety_vote vote = surety_model_vote(s->models[0], s->attacked);
    static const char *const phases[2][2] = {{"perturbed S", "perturbed T"},
                                             {"worst case S", "worst case T"}};
    surety_measurement what = {
        .threat = &settings,
        .attacked = &vote,
        .voter_set = vote.voter_set,
        .prior = vote.weights,
        .phase = phases[threat->kind == SURETY_WORST_CASE][set->which == SURETY_SET_TEST]};
    return surety_measure_each(&what, posteriors, s->count, set, risks, run, err);
}

surety_status surety_measure_model(surety_risks *risks, const surety_model *model, surety_weighting attacked,
                                   const surety_set *set, const surety_threat *threat, const surety_run *run,
                                   surety_error *err) {
    *risks = (surety_risks){0};
    return perturbed(risks, &(several){&model, 1, attacked}, set, threat, run, err);
}

surety_status surety_evaluate_perturbed(const surety_model *model, const surety_set *set,
                                        const surety_threat *threat, surety_risks *risks,
                                        const surety_run *run, surety_error *err) {
    return surety_measure_model(risks, model, SURETY_WEIGHTS_PRIOR, set, threat, run, err);
}

surety_status surety_evaluate_worst(const surety_model *model, const surety_set *set, const surety_ball *ball,
                                    surety_risks *risks, const surety_run *run, surety_error *err) {
    surety_threat threat = surety_threat_defaults();
    threat.kind = SURETY_WORST_CASE;
    threat.ball = *ball;
    return surety_measure_model(risks, model, SURETY_WEIGHTS_PRIOR, set, &threat, run, err);
}

/* From worst votes: the loss of voter h on example i is (1 - low)/2, low being its smallest y h (or h_y -
 * h_k) over the ball. Q may have been chosen by S, so KL(Q||P) is needed, unless its bits are those of P. */
static surety_status worst_input(const surety_risks *risks, const double *q, const double *p,
                                 surety_bound_input *input, surety_error *err) {
    input->m = risks->m;
    input->H = risks->voter_count;
    input->posterior = q;
    input->frozen = memcmp(q, p, risks->voter_count * sizeof *q) == 0;
    surety_risks_evidence(risks, SURETY_RISK_WORST_CASE, &input->worst_case);
    return surety_kl_divergence(q, p, risks->voter_count, &input->kl, err);
}

surety_status surety_worst_input(const surety_risks *risks, const surety_model *model,
                                 surety_bound_input *input, surety_error *err) {
    return worst_input(risks, surety_model_posterior(model), surety_model_prior(model), input, err);
}

surety_status surety_measured_input(const surety_risks *risks, const surety_model *model,
                                    surety_weighting attacked, surety_threat_kind kind,
                                    surety_bound_input *input, surety_error *err) {
    const double *q = surety_model_posterior(model), *p = surety_model_vote(model, attacked).weights;
    return kind == SURETY_WORST_CASE ? worst_input(risks, q, p, input, err)
                                     : surety_risks_input(risks, q, p, input, err);
}

surety_threat_kind surety_strongest(const surety_model *model, surety_threat_kind kind) {
    if (kind == SURETY_ATTACK_NONE) return SURETY_ATTACK_NONE;
    surety_threat_kind strongest = surety_threat_strongest(surety_model_voters(model));
    return strongest == SURETY_ATTACK_UNIF ? surety_threat_plain(kind) : strongest;
}

surety_status surety_evaluate_attacked(const surety_model *model, const surety_set *set,
                                       const surety_threat *attack, surety_attack_result *result,
                                       const surety_run *run, surety_error *err) {
    surety_threat settings = *attack;
    settings.kind = surety_strongest(model, attack->kind);
    settings.epoch = SURETY_EPOCH_ATTACKED;
    surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
    return surety_attack_set(&settings, &vote, set, NULL, result, run, err);
}

/* Bounds from S, as far as its origin allows. */
static surety_status bound(surety_row *row, const surety_model *model, const surety_row_settings *s,
                           surety_error *err) {
    int fresh = row->origin == SURETY_ORIGIN_FRESH;
    row->input = surety_bound_input_defaults();
    row->input.delta = s->delta;
    row->input.priors_compared = fresh ? 1 : s->priors_compared;
    row->input.looks = s->looks;
    if (row->origin == SURETY_ORIGIN_OTHER) return SURETY_OK; /* all zero: none is available */
    SURETY_TRY(surety_measured_input(&row->learn, model,
                                     fresh ? SURETY_WEIGHTS_POSTERIOR : SURETY_WEIGHTS_PRIOR, row->threat,
                                     &row->input, err));
    SURETY_TRY(surety_risks_bounds(&row->input, row->bounds, err));
    for (int id = 0; fresh && id < SURETY_BOUNDS; id++)
        if (surety_bound_list()[id].q != SURETY_Q_FROZEN)
            row->bounds[id] = (surety_bound_value){.id = (surety_bound_id)id, .missing = "the model's own S"};
    for (int id = 0; row->units && id < SURETY_BOUNDS; id++)
        if (!surety_units_bound(&surety_bound_list()[id]))
            row->bounds[id] =
                (surety_bound_value){.id = (surety_bound_id)id, .missing = "losses of whole units"};
    return SURETY_OK;
}

/* The row's own part, behind the risks on the perturbed sets: R_att and the bounds. */
static surety_status fill(surety_row *row, const surety_model *model, const surety_set *test,
                          const surety_row_settings *s, const surety_run *run, surety_error *err) {
    row->threat = s->threat.kind;
    row->adversarial_risk = row->averaged_risk = row->averaged_max = row->norm_max = NAN;
    if (row->test.class_failed) /* a part has no counts of its own */
        memcpy(row->class_failed, row->test.class_failed, row->test.classes * sizeof *row->class_failed);
    if (row->threat != SURETY_WORST_CASE) {
        surety_attack_result attacked;
        SURETY_TRY(surety_evaluate_attacked(model, test, &s->threat, &attacked, run, err));
        row->adversarial_risk = (double)attacked.units_fooled / (double)attacked.units;
        row->found_by = attacked.found_by;
        row->norm_max = attacked.norm_max;
        memcpy(row->class_failed, attacked.class_fooled, sizeof row->class_failed);
        row->averaged_risk = test->unit ? (double)NAN : row->test.averaged;
        row->averaged_max = row->test.averaged_max;
    }
    return surety_apart(run) ? SURETY_OK : bound(row, model, s, err);
}

/* One attack serves all only if it attacks the same vote: same voters, same prior, asked the same way. */
static surety_status check_kin(const surety_model *const *models, size_t count, surety_error *err) {
    if (count < 1 || count > SURETY_ROWS_MOST)
        return surety_fail(err, SURETY_E_USAGE, "1 to %d models at once, not %zu", SURETY_ROWS_MOST, count);
    const surety_voters *a = surety_model_voters(models[0]);
    for (size_t k = 1; k < count; k++) {
        const surety_voters *b = surety_model_voters(models[k]);
        size_t H = surety_voters_count(a);
        int same = surety_voters_same(a, b) &&
                   surety_model_about(models[0])->voter_set == surety_model_about(models[k])->voter_set &&
                   !memcmp(surety_model_prior(models[0]), surety_model_prior(models[k]), H * sizeof(double));
        if (!same) return surety_fail(err, SURETY_E_USAGE, "the models do not share their voters and prior");
    }
    return SURETY_OK;
}

static int same_text(const surety_model *model, const char *key, const char *text) {
    const char *was = surety_model_text(model, key);
    return was && !strcmp(was, text);
}

const char *surety_origin_name(surety_origin origin) {
    static const char *const names[] = {"own", "fresh", "other"};
    return names[origin];
}

/* The rows of one class, all of them, trained the model: they must be split as they were. */
static surety_status check_classes(const char *rows, const surety_data_info *info, surety_error *err) {
    size_t k = 0;
    while (k < info->classes && !strstr(rows, info->class_sha256[k])) k++;
    if (k == info->classes) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK,
                "the rows that trained the model are split another way: S or T may hold what trained it");
    if (info->files) surety_fail_file(err, info->file[0].path);
    surety_fail_expected(err, "the model's own split (surety inspect shows it), or other rows");
    return SURETY_E_CHECK;
}

/* A few rows of T may have trained the model (copies); of more than half, the files were probably swapped. */
static surety_status check_test(surety_overlap *test, const surety_model *model, const surety_data_info *info,
                                surety_error *err) {
    SURETY_TRY(surety_model_overlap(model, info, SURETY_SET_TEST, test, err));
    if (2 * test->known <= test->m) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK, "%llu of the %llu test rows trained the model",
                (unsigned long long)test->known, (unsigned long long)test->m);
    surety_fail_expected(err, "other rows in T (are --train and --test swapped?)");
    return SURETY_E_CHECK;
}

surety_status surety_evaluate_origin(const surety_model *model, const surety_data *data,
                                     surety_origin *origin, surety_overlap *test, surety_error *err) {
    const surety_data_info *info = surety_data_describe(data);
    const char *rows = surety_model_text(model, "data.class_rows");
    int own = same_text(model, "data.prior", info->set_sha256[SURETY_SET_PRIOR]) &&
              same_text(model, "data.learn", info->set_sha256[SURETY_SET_LEARN]);
    *test =
        (surety_overlap){info->m[SURETY_SET_TEST], info->copies.test_in_prior, info->copies.test_in_learn, 0};
    *origin = info->fresh ? SURETY_ORIGIN_FRESH : SURETY_ORIGIN_OWN;
    SURETY_TRY(surety_model_check_preparation(model, info, err));
    own = own && info->preparation_fits;
    if (info->fresh) {
        SURETY_TRY(surety_model_check_fresh(model, info, err));
        return check_test(test, model, info, err);
    }
    int unknown = !rows && !surety_model_text(model, "data.task") && !surety_model_imported(model);
    if (own || unknown) return SURETY_OK;
    *origin = SURETY_ORIGIN_OTHER;
    if (rows) SURETY_TRY(check_classes(rows, info, err));
    return check_test(test, model, info, err);
}

/* Risks of all models on one set. A fresh S chose nothing: there the vote of each Q is attacked itself, which
 * models cannot share. */
static surety_status measure_all(surety_row *rows, const surety_model *const *models, size_t count,
                                 const surety_set *set, const surety_row_settings *s, const surety_run *run,
                                 surety_error *err) {
    surety_risks risks[SURETY_ROWS_MOST];
    int fresh = rows[0].origin == SURETY_ORIGIN_FRESH, learn = set->which == SURETY_SET_LEARN;
    several all = {models, count, SURETY_WEIGHTS_PRIOR};
    if (!fresh) SURETY_TRY(perturbed(risks, &all, set, &s->threat, run, err));
    for (size_t k = 0; k < count; k++) {
        if (fresh)
            SURETY_TRY(surety_measure_model(&risks[k], models[k], SURETY_WEIGHTS_POSTERIOR, set, &s->threat,
                                            run, err));
        *(learn ? &rows[k].learn : &rows[k].test) = risks[k];
    }
    return SURETY_OK;
}

static surety_status fill_all(surety_row *rows, const surety_model *const *models, size_t count,
                              const surety_data *data, const surety_row_settings *s, const surety_run *run,
                              surety_error *err) {
    const surety_set *learn = surety_data_set(data, SURETY_SET_LEARN);
    surety_set test = *surety_data_set(data, SURETY_SET_TEST);
    if (!test.m && rows[0].origin == SURETY_ORIGIN_FRESH) test = *learn, test.which = SURETY_SET_TEST;
    if (!test.m)
        return surety_fail(err, SURETY_E_INPUT, "there are no test examples: give --test or --test-size");
    SURETY_TRY(measure_all(rows, models, count, &test, s, run, err));
    if (rows[0].origin != SURETY_ORIGIN_OTHER)
        SURETY_TRY(measure_all(rows, models, count, learn, s, run, err));
    for (size_t k = 0; k < count; k++) {
        rows[k].copies = surety_data_describe(data)->copies;
        rows[k].units = learn->unit != NULL;
        rows[k].radius_unit =
            surety_radius_unit(s->threat.ball.tolerance, surety_data_describe(data)->scaling);
        SURETY_TRY(fill(&rows[k], models[k], &test, s, run, err));
    }
    return SURETY_OK;
}

surety_status surety_evaluate_rows(const surety_model *const *models, size_t count, const surety_data *data,
                                   const surety_row_settings *settings, surety_row *rows,
                                   const surety_run *run, surety_error *err) {
    for (size_t k = 0; k < count; k++) rows[k] = (surety_row){0};
    surety_status status = check_kin(models, count, err);
    for (size_t k = 0; k < count && status == SURETY_OK; k++) {
        status = surety_evaluate_origin(models[k], data, &rows[k].origin, &rows[k].overlap, err);
        if (status == SURETY_OK && rows[k].origin != rows[0].origin)
            status = surety_fail(err, SURETY_E_USAGE, "the models were not trained on the same rows");
    }
    if (status == SURETY_OK) status = fill_all(rows, models, count, data, settings, run, err);
    for (size_t k = 0; k < count && status != SURETY_OK; k++) surety_row_free(&rows[k]);
    return status;
}

surety_status surety_evaluate_row(const surety_model *model, const surety_data *data,
                                  const surety_row_settings *settings, surety_row *row, const surety_run *run,
                                  surety_error *err) {
    return surety_evaluate_rows(&model, 1, data, settings, row, run, err);
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

static json_t *overlap_json(const surety_overlap *o) {
    return SURETY_JSON_OBJECT({"m", surety_json_count(o->m)}, {"in_prior", surety_json_count(o->in_prior)},
                              {"in_learn", surety_json_count(o->in_learn)});
}

static json_t *row_json(const surety_row *row, const char *const *names) {
    int worst = row->threat == SURETY_WORST_CASE, bounded = row->origin != SURETY_ORIGIN_OTHER;
    return SURETY_JSON_OBJECT(
        {"attack", surety_json_string(surety_threat_name(row->threat))},
        {"not_proved", worst ? surety_json_real(row->test.averaged_max) : json_null()},
        {"adversarial_risk", surety_json_real(row->adversarial_risk)},
        {"found_by", surety_json_string(surety_threat_name(row->found_by))},
        {"averaged_risk", surety_json_real(row->averaged_risk)},
        {"averaged_max_risk", surety_json_real(row->averaged_max)},
        {"class_risks",
         surety_class_risks_json(names, row->test.class_examples, row->class_failed, row->test.classes)},
        {"norm_max", surety_json_real(row->norm_max)}, {"radius_unit", surety_json_string(row->radius_unit)},
        {"counts", surety_json_string(row->units ? "units" : "rows")},
        {"m", bounded ? surety_json_count(row->input.m) : json_null()}, {"n", surety_json_count(row->test.n)},
        {"kl", surety_json_real(row->input.kl)}, {"delta", surety_json_real(row->input.delta)},
        {"priors_compared", surety_json_count(row->input.priors_compared)},
        {"looks", surety_json_count(row->input.looks)},
        {"risks", !bounded ? json_null()
                  : worst  ? worst_json(&row->learn)
                           : surety_risks_object(&row->learn)},
        {"refuted", refuted_json(row)}, {"best", best_json(row)},
        {"bounds", surety_bounds_object(row->bounds)});
}

char *surety_rows_json(const surety_row *rows, size_t count, const surety_clean *clean,
                       const char *const *names) {
    json_t *array = json_array();
    for (size_t i = 0; i < count && array; i++) array = surety_json_append(array, row_json(&rows[i], names));
    return surety_json_text(SURETY_JSON_OBJECT(
        {"attacks", array}, {"classes", surety_labels_json(names, clean->classes, 0)},
        {"clean_error", surety_json_real(clean->error)},
        {"majority_error", surety_json_real(clean->majority_error)},
        {"confusion", surety_confusion_json(clean)},
        {"rows", surety_json_string(surety_origin_name(rows[0].origin))},
        {"test_rows", overlap_json(&rows[0].overlap)}, {"copies", surety_copies_json(&rows[0].copies)}));
}
