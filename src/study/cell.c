/* One cell by the theory: step 1 once, step 2 for each objective, the rows of the tables, risk against
 * radius, and a few examples that were fooled. What a cell of either recipe finds is one JSON object, written
 * with a SHA-256 over itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "evaluate/perturbed.h"
#include "io/sha256.h"
#include "io/write.h"
#include "study/study.h"
#include "voters/ball.h"

enum {
    RADII = 9,   /* of the curve: 0, b/4, .. 2b */
    AT_B = 4,    /* which of them is b */
    GALLERY = 4, /* fooled examples that are kept */
    SLICE = 64   /* examples attacked at a time while looking for them */
};

typedef struct work {
    const surety_study_settings *s;
    const surety_cell *cell;
    const surety_data *data;
    const char *folder;
    const surety_run *run;
    size_t count;
    surety_objective objectives[SURETY_CELL_MODELS];
    surety_trained trained[SURETY_CELL_MODELS];
    json_t *rows;
    double risk[RADII]; /* the curve, of the first model */
} work;

/* ---- rows ---- */

surety_status surety_cell_add_row(json_t *rows, json_t *row, surety_error *err) {
    if (row && json_array_append_new(rows, row) == 0) return SURETY_OK;
    return surety_fail(err, SURETY_E_MEMORY, "no memory for the rows of a cell");
}

static json_t *bounds_json(const surety_row *row) {
    json_t *bounds = json_object();
    for (size_t i = 0; i < SURETY_BOUNDS && bounds; i++)
        if (row->bounds[i].available)
            bounds =
                surety_json_put(bounds, surety_bound_list()[i].name, surety_json_real(row->bounds[i].vote));
    return bounds;
}

static json_t *row_json(surety_objective objective, const surety_row *row) {
    const surety_risks *r = &row->learn;
    return SURETY_JSON_OBJECT({"algorithm", surety_json_string(surety_objective_name(objective))},
                              {"attack", surety_json_string(surety_threat_name(row->threat))},
                              {"adversarial_risk", surety_json_real(row->adversarial_risk)},
                              {"averaged_risk", surety_json_real(row->averaged_risk)},
                              {"averaged_max_risk", surety_json_real(row->averaged_max)},
                              {"norm_max", surety_json_real(row->norm_max)},
                              {"rbar", surety_json_real(r->rbar)}, {"abar", surety_json_real(r->abar)},
                              {"gmax", surety_json_real(r->gmax)}, {"tv", surety_json_real(r->tv)},
                              {"bounds", bounds_json(row)});
}

/* A model's R_att; two points of the curve are among these. */
static void note_risk(work *w, const surety_model *model, surety_threat_kind attack, double risk) {
    if (model != w->trained[0].model) return;
    if (attack == SURETY_ATTACK_NONE) w->risk[0] = risk;
    if (surety_threat_plain(attack) == SURETY_ATTACK_PGD) w->risk[AT_B] = risk;
}

/* Both objectives of the algorithm under one attack. */
static surety_status algorithm_rows(work *w, surety_threat_kind attack, size_t count, surety_error *err) {
    surety_row rows[SURETY_CELL_MODELS];
    const surety_model *models[SURETY_CELL_MODELS];
    surety_row_settings s = surety_row_defaults(w->trained[0].model);
    s.threat.kind = attack;
    s.threat.samples = w->s->samples;
    s.threat.steps = w->s->steps;
    for (size_t k = 0; k < count; k++) models[k] = w->trained[k].model;
    SURETY_TRY(surety_evaluate_rows(models, count, w->data, &s, rows, w->run, err));
    surety_status status = SURETY_OK;
    for (size_t k = 0; k < count; k++) {
        note_risk(w, models[k], attack, rows[k].adversarial_risk);
        if (status == SURETY_OK)
            status = surety_cell_add_row(w->rows, row_json(w->objectives[k], &rows[k]), err);
        surety_row_free(&rows[k]);
    }
    return status;
}

static surety_threat attack_of(const work *w, surety_threat_kind kind) {
    surety_row_settings s = surety_row_defaults(w->trained[0].model);
    s.threat.kind = kind;
    s.threat.steps = w->s->steps;
    return s.threat;
}

static surety_status baseline_row(work *w, const surety_model *model, surety_threat_kind kind,
                                  surety_error *err) {
    surety_attack_result found;
    surety_threat attack = attack_of(w, kind);
    SURETY_TRY(surety_evaluate_attacked(model, surety_data_set(w->data, SURETY_SET_TEST), &attack, &found,
                                        w->run, err));
    double risk = (double)found.fooled / (double)found.m;
    note_risk(w, model, kind, risk);
    return surety_cell_add_row(w->rows,
                               SURETY_JSON_OBJECT({"algorithm", surety_json_string("baseline")},
                                                  {"attack", surety_json_string(surety_threat_name(kind))},
                                                  {"adversarial_risk", surety_json_real(risk)},
                                                  {"norm_max", surety_json_real(found.norm_max)}),
                               err);
}

/* The certified defense: the vote as it is, attacked by pgd or what voters without gradients have, and over
 * the whole ball. */
static surety_status certified_rows(work *w, surety_error *err) {
    surety_row row;
    const surety_model *model = w->trained[0].model;
    const surety_voters *voters = surety_model_voters(model);
    surety_threat_kind attack = surety_threat_fits(SURETY_ATTACK_PGD, voters, NULL) == SURETY_OK
                                    ? SURETY_ATTACK_PGD
                                    : surety_threat_strongest(voters);
    SURETY_TRY(baseline_row(w, model, SURETY_ATTACK_NONE, err));
    SURETY_TRY(baseline_row(w, model, attack, err));
    surety_row_settings s = surety_row_defaults(model);
    s.threat.kind = SURETY_WORST_CASE;
    SURETY_TRY(surety_evaluate_row(model, w->data, &s, &row, w->run, err));
    surety_status status = surety_cell_add_row(
        w->rows,
        SURETY_JSON_OBJECT({"algorithm", surety_json_string("baseline")},
                           {"attack", surety_json_string(surety_threat_name(SURETY_WORST_CASE))},
                           {"not_proved", surety_json_real(row.test.averaged_max)},
                           {"bounds", bounds_json(&row)}),
        err);
    surety_row_free(&row);
    return status;
}

static surety_status all_rows(work *w, surety_error *err) {
    if (w->cell->defense == SURETY_WORST_CASE) return certified_rows(w, err);
    surety_threat_kind attacks[SURETY_CELL_ATTACKS];
    size_t algorithm = 0; /* models of the algorithm come first */
    while (algorithm < w->count && w->objectives[algorithm] != SURETY_OBJECTIVE_BASELINE) algorithm++;
    surety_cell_attacks(SURETY_OBJECTIVE_CHROMATIC, attacks);
    for (size_t i = 0; i < SURETY_CELL_ATTACKS && algorithm; i++)
        SURETY_TRY(algorithm_rows(w, attacks[i], algorithm, err));
    surety_cell_attacks(SURETY_OBJECTIVE_BASELINE, attacks);
    for (size_t i = 0; i < SURETY_CELL_ATTACKS && algorithm < w->count; i++)
        SURETY_TRY(baseline_row(w, w->trained[algorithm].model, attacks[i], err));
    return SURETY_OK;
}

/* ---- risk against radius, and fooled examples: of the first objective ---- */

static surety_status curve_json(work *w, json_t **out, surety_error *err) {
    double eps[RADII] = {0};
    surety_status status = SURETY_OK;
    for (int i = 0; i < RADII && status == SURETY_OK; i++) {
        surety_threat attack = attack_of(w, SURETY_ATTACK_PGD);
        attack.ball.radius *= (double)i / AT_B;
        if (isnan(w->risk[i])) {
            surety_attack_result found;
            status = surety_evaluate_attacked(w->trained[0].model, surety_data_set(w->data, SURETY_SET_TEST),
                                              &attack, &found, w->run, err);
            if (status == SURETY_OK) w->risk[i] = (double)found.fooled / (double)found.m;
        }
        eps[i] = attack.ball.radius;
    }
    *out = SURETY_JSON_OBJECT({"attack", surety_json_string("apgd")}, {"eps", surety_json_reals(eps, RADII)},
                              {"risk", surety_json_reals(w->risk, RADII)});
    if (status == SURETY_OK && !*out) status = surety_fail(err, SURETY_E_MEMORY, "no memory for a curve");
    return status;
}

typedef struct looking {
    const work *w;
    surety_set slice;
    surety_vote vote;
    json_t *found;
} looking;

json_t *surety_cell_pixels(const float *x, size_t d) {
    char *text = malloc(2 * d + 1);
    if (!text) return NULL;
    for (size_t i = 0; i < d; i++) {
        int byte = (int)lrint(255 * fmin(fmax((double)x[i], 0), 1));
        snprintf(text + 2 * i, 3, "%02x", (unsigned)byte);
    }
    json_t *json = json_string(text);
    free(text);
    return json;
}

/* Keeps an example whose vote was right and is wrong now. */
static surety_status look(void *arg, size_t i, size_t j, const float *x, surety_error *err) {
    looking *l = arg;
    const surety_set *set = &l->slice;
    const float *original = set->x + i * set->stride;
    double clean, attacked;
    (void)j;
    if (json_array_size(l->found) >= GALLERY) return SURETY_OK;
    SURETY_TRY(surety_vote_predict(&l->vote, original, set->stride, 1, &clean, NULL, err));
    SURETY_TRY(surety_vote_predict(&l->vote, x, set->stride, 1, &attacked, NULL, err));
    if (surety_sign(set->y[i]) * clean <= 0 || surety_sign(set->y[i]) * attacked > 0) return SURETY_OK;
    double distance = surety_ball_distance(&(surety_ball){.norm = l->w->cell->norm}, x, original, set->d);
    return surety_cell_add_row(
        l->found,
        SURETY_JSON_OBJECT(
            {"row", surety_json_count(set->row[i])}, {"label", json_integer(surety_sign(set->y[i]))},
            {"clean_vote", surety_json_real(clean)}, {"attacked_vote", surety_json_real(attacked)},
            {"distance", surety_json_real(distance)}, {"original", surety_cell_pixels(original, set->d)},
            {"attacked", surety_cell_pixels(x, set->d)}),
        err);
}

static surety_status gallery_json(const work *w, json_t **out, surety_error *err) {
    const surety_set *test = surety_data_set(w->data, SURETY_SET_TEST);
    looking l = {.w = w,
                 .vote = surety_model_vote(w->trained[0].model, SURETY_WEIGHTS_POSTERIOR),
                 .found = json_array()};
    surety_threat attack = attack_of(w, SURETY_ATTACK_PGD);
    attack.epoch = SURETY_EPOCH_ATTACKED; /* the points of R_att */
    surety_run silent = {.threads = w->run->threads, .stop = w->run->stop};
    surety_status status = SURETY_OK;
    for (size_t first = 0; first < test->m && json_array_size(l.found) < GALLERY; first += SLICE) {
        surety_attack_result result;
        l.slice = surety_set_slice(test, first, SLICE);
        if (status == SURETY_OK)
            status = surety_attack_set(&attack, &l.vote, &l.slice, &(surety_perturbed_sink){look, &l},
                                       &result, &silent, err);
    }
    const surety_data_info *info = surety_data_describe(w->data);
    *out =
        SURETY_JSON_OBJECT({"attack", surety_json_string("pgd")}, {"height", surety_json_count(info->height)},
                           {"width", surety_json_count(info->width)}, {"examples", l.found});
    if (status == SURETY_OK && !*out) status = surety_fail(err, SURETY_E_MEMORY, "no memory for a gallery");
    return status;
}

/* ---- the cell ---- */

static json_t *identity_json(const surety_cell *cell) {
    size_t tasks;
    json_t *identity =
        SURETY_JSON_OBJECT({"task", surety_json_string(surety_paper_tasks(&tasks)[cell->task].name)},
                           {"norm", surety_json_string(surety_norm_name(cell->norm))},
                           {"voters", surety_json_string(surety_voter_set_name(cell->voter_set))},
                           {"defense", surety_json_string(surety_defense_name(cell->defense))},
                           {"seed", surety_json_count(cell->seed)});
    if (cell->kind) /* else the paper's */
        identity = surety_json_put(identity, "kind", surety_json_string(surety_kind_name(cell->kind)));
    return identity;
}

static surety_status save_models(const work *w, surety_error *err) {
    for (size_t k = 0; k < w->count; k++) {
        char name[SURETY_CELL_NAME], both[SURETY_CELL_NAME + 32], *path = NULL;
        surety_cell_name(w->cell, name);
        snprintf(both, sizeof both, "%s-%s", name, surety_objective_name(w->objectives[k]));
        SURETY_TRY(surety_study_path(&path, w->folder, "models", both, ".safetensors", err));
        surety_status status = surety_model_save(w->trained[k].model, path, err);
        surety_free(path);
        if (status != SURETY_OK) return status;
    }
    return SURETY_OK;
}

static json_t *models_json(const work *w) {
    json_t *models = json_array();
    for (size_t k = 0; k < w->count && models; k++) {
        const surety_train_result *r = &w->trained[k].result;
        models = surety_json_append(
            models,
            SURETY_JSON_OBJECT({"objective", surety_json_string(surety_objective_name(w->objectives[k]))},
                               {"step1_best_epoch", surety_json_count(r->step1_best)},
                               {"step1_risk", surety_json_real(r->step1_risk[r->step1_best - 1])},
                               {"step2_best_epoch", surety_json_count(r->step2_best)},
                               {"kl", surety_json_real(r->kl)}));
    }
    return models;
}

static surety_status compute(work *w, json_t **found, surety_error *err) {
    surety_train_settings train = surety_cell_training(w->s, w->cell);
    double began = surety_seconds();
    json_t *curve = json_null(), *gallery = json_null(); /* certified: none */
    surety_status status = SURETY_OK;
    SURETY_TRY(surety_train_objectives(&train, w->data, w->objectives, w->count, w->trained, w->run, err));
    SURETY_TRY(save_models(w, err));
    double trained = surety_seconds();
    SURETY_TRY(all_rows(w, err));
    double evaluated = surety_seconds();
    if (w->cell->defense != SURETY_WORST_CASE) {
        status = curve_json(w, &curve, err);
        if (status == SURETY_OK) status = gallery_json(w, &gallery, err);
    }
    if (status != SURETY_OK) {
        json_decref(curve);
        json_decref(gallery);
        return status;
    }
    *found = SURETY_JSON_OBJECT(
        {"models", models_json(w)}, {"rows", json_incref(w->rows)}, {"curve", curve}, {"gallery", gallery},
        {"seconds", SURETY_JSON_OBJECT({"train", surety_json_real(trained - began)},
                                       {"rows", surety_json_real(evaluated - trained)},
                                       {"all", surety_json_real(surety_seconds() - began)})});
    return *found ? SURETY_OK : surety_fail(err, SURETY_E_MEMORY, "no memory for the results of a cell");
}

static surety_status theory_cell(json_t **found, const surety_study_settings *settings,
                                 const surety_cell *cell, const surety_data *data, const char *folder,
                                 const surety_run *run, surety_error *err) {
    work w = {.s = settings, .cell = cell, .data = data, .folder = folder, .run = run, .rows = json_array()};
    for (size_t i = 0; i < RADII; i++) w.risk[i] = NAN;
    w.count = surety_cell_objectives(cell->defense, w.objectives);
    surety_status status = w.rows ? compute(&w, found, err)
                                  : surety_fail(err, SURETY_E_MEMORY, "no memory for the rows of a cell");
    for (size_t k = 0; k < w.count; k++) {
        surety_model_free(w.trained[k].model);
        surety_train_result_free(&w.trained[k].result);
    }
    json_decref(w.rows);
    return status;
}

surety_status surety_cell_run(json_t **found, const surety_study_settings *settings, const surety_cell *cell,
                              const surety_data *data, const char *folder, const surety_run *run,
                              surety_error *err) {
    int print = settings->recipe == SURETY_RECIPE_PRINT && cell->defense != SURETY_WORST_CASE;
    *found = NULL;
    SURETY_TRY(print ? surety_print_cell(found, settings, cell, data, run, err)
                     : theory_cell(found, settings, cell, data, folder, run, err));
    if (json_object_set_new(*found, "cell", identity_json(cell)) == 0) return SURETY_OK;
    json_decref(*found);
    *found = NULL;
    return surety_fail(err, SURETY_E_MEMORY, "no memory for the results of a cell");
}

/* ---- the file ---- */

static surety_status digest_of(const json_t *found, char digest[SURETY_SHA256_TEXT], surety_error *err) {
    json_t *copy = surety_json_copy(found);
    json_object_del(copy, "digest");
    char *text = surety_json_canonical(copy);
    if (!text) return surety_fail(err, SURETY_E_MEMORY, "no memory for the digest of a cell");
    surety_status status = surety_sha256(text, strlen(text), digest, err);
    free(text);
    return status;
}

surety_status surety_cell_save(json_t *found, const char *folder, const surety_cell *cell,
                               surety_error *err) {
    char name[SURETY_CELL_NAME], digest[SURETY_SHA256_TEXT], *path = NULL, *text = NULL;
    surety_cell_name(cell, name);
    surety_status status = digest_of(found, digest, err);
    if (status == SURETY_OK) status = surety_study_path(&path, folder, "cells", name, ".json", err);
    if (status == SURETY_OK) {
        text = surety_json_text(surety_json_put(found, "digest", json_string(digest)));
        status = text ? surety_write_own(path, text, strlen(text), err)
                      : surety_fail(err, SURETY_E_MEMORY, "no memory for the file of a cell");
    } else {
        json_decref(found);
    }
    free(text);
    surety_free(path);
    return status;
}

static surety_status check(const json_t *found, const surety_cell *cell, surety_error *err) {
    char digest[SURETY_SHA256_TEXT];
    SURETY_TRY(digest_of(found, digest, err));
    const char *written = json_string_value(json_object_get(found, "digest"));
    json_t *identity = identity_json(cell);
    if (!identity) return surety_fail(err, SURETY_E_MEMORY, "no memory to compare a cell");
    int same = json_equal(identity, json_object_get(found, "cell"));
    json_decref(identity);
    if (written && !strcmp(written, digest) && same) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT,
                same ? "the results of this cell were changed or damaged after they were written"
                     : "these are the results of another cell");
    surety_fail_expected(err, "the file as it was written; without it, the cell is computed again");
    return SURETY_E_INPUT;
}

surety_status surety_cell_load(json_t **found, const char *folder, const surety_cell *cell,
                               surety_error *err) {
    char name[SURETY_CELL_NAME], *path = NULL;
    *found = NULL;
    surety_cell_name(cell, name);
    SURETY_TRY(surety_study_path(&path, folder, "cells", name, ".json", err));
    int there = 0;
    surety_status status = surety_path_look(path, &there, err);
    if (there) {
        status = surety_json_load(found, path, err);
        if (status == SURETY_OK) status = check(*found, cell, err);
    }
    if (status != SURETY_OK) {
        surety_fail_file(err, path);
        json_decref(*found);
        *found = NULL;
    }
    surety_free(path);
    return status;
}
