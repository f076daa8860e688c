/* The rows of print's tables for one cell, in print's way of counting.
 *
 *   R_att      T attacked with pgd or ifgsm against the posterior's vote
 *   R, A       T attacked once against the prior's vote, n noises behind it; a tie is half an error
 *   bounds     S in the same way: 2 kl_inv(Rbar, ..), 2 (Gmax + root), 2 (Abar + TV + root), where
 *              TV = mean_i sum_h Q(h) (1 - pi_i(j_ih)), j_ih the first perturbation that is worst for voter
 * h, pi_i(j) the share of voters with j_ih = j
 *
 * Noises of an example come in the order [feature][sample] from C, in the order after the attack. Every set
 * begins with the same streams. */
#include <math.h>
#include <string.h>

#include "attack/attacker.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "study/print.h"
#include "voters/ball.h"

enum {
    H = SURETY_PRINT_TREES,
    BATCH = SURETY_PRINT_BATCH,
    MODELS = SURETY_CELL_MODELS,
    RADII = 9,   /* of the curve: 0, b/4, .. 2b */
    AT_B = 4,    /* which of them is b */
    GALLERY = 4, /* fooled examples that are kept */
    TILE = 16    /* features of a noise at a time */
};

typedef struct cell_work {
    surety_print p;
    const surety_cell *cell;
    const surety_set *sets; /* S', S, T */
    size_t count;
    surety_print_model models[MODELS];
    double *criterion; /* (epochs) */
    double step1_risk, prior[H];
    size_t step1_best;
    double curve[RADII];
    json_t *rows, *gallery;
} cell_work;

/* ---- counting a perturbed set ---- */

/* Sums over the examples, for every model's Q. */
typedef struct tally {
    double wrong, wrong_max; /* ties: half */
    double rbar, abar, tv;
} tally;

typedef struct perturbed {
    size_t m, n;
    tally of[MODELS];
    double worst[H]; /* sum_i max_j (1 - y v_ijh) / 2 */
} perturbed;

/* What the n perturbations of one example give: v (n, H) times its label. */
static void count_votes(perturbed *sums, const cell_work *w, const float *v) {
    size_t n = sums->n;
    for (size_t k = 0; k < w->count; k++) {
        double least = 2, most = 0, losses = 0, wrong = 0;
        for (size_t j = 0; j < n; j++) {
            double vote = 0, error;
            for (size_t t = 0; t < H; t++) vote += w->models[k].Q[t] * (double)v[j * H + t];
            error = vote > 0 ? 0 : vote < 0 ? 1 : .5;
            wrong += error;
            most = fmax(most, error);
            least = fmin(least, vote);
            losses += .5 * (1 - vote);
        }
        tally *of = &sums->of[k];
        of->wrong += wrong / (double)n;
        of->wrong_max += most;
        of->rbar += losses / (double)n;
        of->abar += .5 * (1 - least);
    }
}

static void count_worst(perturbed *sums, const cell_work *w, const float *v) {
    size_t first[H];
    for (size_t t = 0; t < H; t++) {
        first[t] = 0;
        for (size_t j = 1; j < sums->n; j++)
            if (v[j * H + t] < v[first[t] * H + t]) first[t] = j;
        sums->worst[t] += .5 * (1 - (double)v[first[t] * H + t]);
    }
    for (size_t t = 0; t < H; t++) {
        size_t same = 0;
        for (size_t s = 0; s < H; s++) same += first[s] == first[t];
        for (size_t k = 0; k < w->count; k++) sums->of[k].tv += w->models[k].Q[t] * (1 - (double)same / H);
    }
}

/* The n points of samples_x, asked and counted. v (n, H) is room. */
static void count_example(perturbed *sums, cell_work *w, int y, float *v) {
    surety_print *p = &w->p;
    for (size_t at = 0; at < sums->n; at += SURETY_BLOCK) {
        size_t rows = sums->n - at < SURETY_BLOCK ? sums->n - at : SURETY_BLOCK;
        const float *x[SURETY_BLOCK];
        for (size_t r = 0; r < rows; r++) x[r] = p->samples_x + (at + r) * p->stride;
        surety_print_ask(p, x, rows);
        for (size_t r = 0; r < rows; r++)
            for (size_t t = 0; t < H; t++) {
                float h = p->h[r * H + t];
                if (p->voter_set == SURETY_SIGNED) h = (float)((h > 0) - (h < 0));
                v[(at + r) * H + t] = (float)y * h;
            }
    }
    count_votes(sums, w, v);
    count_worst(sums, w, v);
}

/* samples_x[j] = x + .01 (2 u - 1), in [0,1], u in the order [feature][sample]. */
static void draw_samples(surety_print *p, const float *x) {
    size_t n = p->samples;
    surety_twister_floats(&p->C, p->noise, p->d * n);
    for (size_t first = 0; first < p->d; first += TILE) {
        size_t end = first + TILE < p->d ? first + TILE : p->d;
        for (size_t j = 0; j < n; j++)
            for (size_t i = first; i < end; i++) {
                float e = .01f * (2 * (p->noise[i * n + j] - .5f));
                p->samples_x[j * p->stride + i] = surety_print_clip(x[i] + e, 0, 1);
            }
    }
}

static surety_status attack_all(surety_print *p, surety_threat_kind kind, double radius,
                                const surety_set *set, float *points, int8_t *labels, surety_error *err) {
    surety_print_rewind(p);
    surety_twister_drop(&p->C, 2);
    for (size_t first = 0; first < set->m; first += BATCH) {
        size_t rows = set->m - first < BATCH ? set->m - first : BATCH;
        SURETY_TRY(surety_stopped(p->run, err));
        surety_print_attack(p, kind, radius, set, first, rows);
        for (size_t i = 0; i < rows; i++) {
            memcpy(points + (first + i) * p->stride, surety_print_point(p, i), p->stride * sizeof *points);
            labels[first + i] = (int8_t)surety_print_label(p, i);
        }
    }
    return SURETY_OK;
}

/* Room for a perturbed set. */
typedef struct perturbed_room {
    float *points;  /* (m, stride) */
    int8_t *labels; /* (m) */
    float *v;       /* (samples, H) */
} perturbed_room;

static surety_status count_all(perturbed *sums, cell_work *w, surety_threat_kind attack,
                               const surety_set *set, const perturbed_room *r, surety_error *err) {
    const char *phase = set->which == SURETY_SET_TEST ? "perturbed T" : "perturbed S";
    surety_print *p = &w->p;
    int noisy = attack != surety_threat_plain(attack);
    *sums = (perturbed){.m = set->m, .n = noisy ? p->samples : 1};
    surety_print_weigh(p, w->prior);
    SURETY_TRY(attack_all(p, surety_threat_plain(attack), p->radius, set, r->points, r->labels, err));
    surety_twister_drop(&p->C, 2);
    for (size_t i = 0; i < set->m; i++) {
        if (i % BATCH == 0) {
            SURETY_TRY(surety_stopped(p->run, err));
            surety_report(p->run, phase, i, set->m, "");
        }
        if (noisy)
            draw_samples(p, r->points + i * p->stride);
        else
            memcpy(p->samples_x, r->points + i * p->stride, p->stride * sizeof *r->points);
        count_example(sums, w, r->labels[i], r->v);
    }
    return SURETY_OK;
}

/* S or T attacked against the prior's vote, for all models at once. */
static surety_status perturb(perturbed *sums, cell_work *w, surety_threat_kind attack, surety_set_name which,
                             surety_error *err) {
    const surety_set *set = &w->sets[which];
    perturbed_room r = {0};
    surety_status status = surety_alloc(&r.points, set->m * w->p.stride, sizeof *r.points, err);
    if (status == SURETY_OK) status = surety_alloc(&r.labels, set->m, 1, err);
    if (status == SURETY_OK) status = surety_alloc(&r.v, w->p.samples * H, sizeof *r.v, err);
    if (status == SURETY_OK) status = count_all(sums, w, attack, set, &r, err);
    surety_free(r.points);
    surety_free(r.labels);
    surety_free(r.v);
    return status;
}

/* ---- R_att ---- */

static surety_status show_fooled(cell_work *w, const surety_print_model *model, const surety_set *set,
                                 size_t first, size_t i, double attacked, surety_error *err) {
    surety_print *p = &w->p;
    size_t at = first + p->order[i];
    const float *x0 = set->x + at * set->stride, *x = surety_print_point(p, i);
    surety_print_ask(p, &x0, 1);
    double clean = surety_print_vote(p, model->Q, p->voter_set, 0);
    if (surety_sign(set->y[at]) * clean <= 0) return SURETY_OK;
    return surety_cell_add_row(
        w->gallery,
        SURETY_JSON_OBJECT(
            {"row", surety_json_count(set->row[at])}, {"label", json_integer(surety_sign(set->y[at]))},
            {"clean_vote", surety_json_real(clean)}, {"attacked_vote", surety_json_real(attacked)},
            {"distance",
             surety_json_real(surety_ball_distance(&(surety_ball){.norm = p->norm}, x, x0, p->d))},
            {"original", surety_cell_pixels(x0, p->d)}, {"attacked", surety_cell_pixels(x, p->d)}),
        err);
}

/* Errors of the vote on the attacked batch, ties half; fooled ones for the gallery where it is wanted. */
static surety_status count_batch(cell_work *w, const surety_print_model *model, const surety_set *set,
                                 size_t first, int show, double *wrong, surety_error *err) {
    surety_print *p = &w->p;
    double votes[BATCH];
    for (size_t at = 0; at < p->rows; at += SURETY_LANES) {
        const float *x[SURETY_LANES];
        size_t rows = p->rows - at < SURETY_LANES ? p->rows - at : SURETY_LANES;
        for (size_t r = 0; r < rows; r++) x[r] = surety_print_point(p, at + r);
        surety_print_ask(p, x, rows);
        for (size_t r = 0; r < rows; r++) votes[at + r] = surety_print_vote(p, model->Q, p->voter_set, r);
    }
    for (size_t i = 0; i < p->rows; i++) {
        double right = surety_print_label(p, i) * votes[i];
        *wrong += right > 0 ? 0 : right < 0 ? 1 : .5;
        if (show && right <= 0 && json_array_size(w->gallery) < GALLERY)
            SURETY_TRY(show_fooled(w, model, set, first, i, votes[i], err));
    }
    return SURETY_OK;
}

static surety_status attacked_risk(cell_work *w, const surety_print_model *model, surety_threat_kind kind,
                                   double radius, double *risk, surety_error *err) {
    surety_print *p = &w->p;
    const surety_set *test = &w->sets[SURETY_SET_TEST];
    int show = model == w->models && kind == SURETY_ATTACK_PGD && radius == p->radius;
    double wrong = 0;
    surety_print_rewind(p);
    surety_print_weigh(p, model->theta);
    for (size_t first = 0; first < test->m; first += BATCH) {
        SURETY_TRY(surety_stopped(p->run, err));
        surety_print_attack(p, kind, radius, test, first, test->m - first < BATCH ? test->m - first : BATCH);
        SURETY_TRY(count_batch(w, model, test, first, show, &wrong, err));
    }
    *risk = wrong / (double)test->m;
    return SURETY_OK;
}

/* ---- rows ---- */

static json_t *row_json(const cell_work *w, size_t k, surety_threat_kind attack, double adversarial,
                        const perturbed *T, const perturbed *S) {
    const surety_print_model *model = &w->models[k];
    size_t m = S->m, epochs = w->p.epochs;
    double rbar = S->of[k].rbar / (double)m, abar = S->of[k].abar / (double)m, tv = S->of[k].tv / (double)m,
           gmax = 0, root = surety_print_root(model->kl, m, epochs, NULL);
    for (size_t t = 0; t < H; t++) gmax += model->Q[t] * S->worst[t] / (double)m;
    double seeger = surety_print_kl_inv(rbar, surety_print_seeger_c(model->kl, m, epochs), NULL, NULL);
    return SURETY_JSON_OBJECT(
        {"algorithm", surety_json_string(surety_objective_name(model->objective))},
        {"attack", surety_json_string(surety_threat_name(attack))},
        {"adversarial_risk", surety_json_real(adversarial)},
        {"averaged_risk", surety_json_real(T->of[k].wrong / (double)T->m)},
        {"averaged_max_risk", surety_json_real(T->of[k].wrong_max / (double)T->m)},
        {"rbar", surety_json_real(rbar)}, {"abar", surety_json_real(abar)}, {"gmax", surety_json_real(gmax)},
        {"tv", surety_json_real(tv)},
        {"bounds", SURETY_JSON_OBJECT({"chromatic_seeger", surety_json_real(2 * seeger)},
                                      {"average_max", surety_json_real(2 * (gmax + root))},
                                      {"average_max_tv", surety_json_real(2 * (abar + tv + root))})});
}

/* A model's R_att; two points of the curve are among these. */
static surety_status risk_of_row(cell_work *w, size_t k, surety_threat_kind attack, double *risk,
                                 surety_error *err) {
    surety_threat_kind plain = surety_threat_plain(attack);
    SURETY_TRY(attacked_risk(w, &w->models[k], plain, w->p.radius, risk, err));
    if (k == 0 && plain == SURETY_ATTACK_NONE) w->curve[0] = *risk;
    if (k == 0 && plain == SURETY_ATTACK_PGD) w->curve[AT_B] = *risk;
    return SURETY_OK;
}

static surety_status algorithm_rows(cell_work *w, surety_threat_kind attack, surety_error *err) {
    perturbed T, S;
    SURETY_TRY(perturb(&T, w, attack, SURETY_SET_TEST, err));
    SURETY_TRY(perturb(&S, w, attack, SURETY_SET_LEARN, err));
    for (size_t k = 0; k < w->count; k++) {
        double risk;
        if (w->models[k].objective == SURETY_OBJECTIVE_BASELINE) continue;
        SURETY_TRY(risk_of_row(w, k, attack, &risk, err));
        SURETY_TRY(surety_cell_add_row(w->rows, row_json(w, k, attack, risk, &T, &S), err));
    }
    return SURETY_OK;
}

static surety_status baseline_row(cell_work *w, size_t k, surety_threat_kind attack, surety_error *err) {
    double risk;
    SURETY_TRY(risk_of_row(w, k, attack, &risk, err));
    return surety_cell_add_row(w->rows,
                               SURETY_JSON_OBJECT({"algorithm", surety_json_string("baseline")},
                                                  {"attack", surety_json_string(surety_threat_name(attack))},
                                                  {"adversarial_risk", surety_json_real(risk)}),
                               err);
}

static surety_status all_rows(cell_work *w, surety_error *err) {
    surety_threat_kind attacks[SURETY_CELL_ATTACKS];
    surety_cell_attacks(SURETY_OBJECTIVE_CHROMATIC, attacks);
    for (size_t i = 0; i < SURETY_CELL_ATTACKS && w->models[0].objective != SURETY_OBJECTIVE_BASELINE; i++)
        SURETY_TRY(algorithm_rows(w, attacks[i], err));
    surety_cell_attacks(SURETY_OBJECTIVE_BASELINE, attacks);
    for (size_t k = 0; k < w->count; k++)
        for (size_t i = 0; i < SURETY_CELL_ATTACKS && w->models[k].objective == SURETY_OBJECTIVE_BASELINE;
             i++)
            SURETY_TRY(baseline_row(w, k, attacks[i], err));
    return SURETY_OK;
}

/* ---- the cell ---- */

static surety_status train(cell_work *w, surety_error *err) {
    surety_print *p = &w->p;
    surety_objective objectives[MODELS];
    const surety_set *learn = &w->sets[SURETY_SET_LEARN];
    w->count = surety_cell_objectives(w->cell->defense, objectives);
    SURETY_TRY(surety_print_step1(p, &w->sets[SURETY_SET_PRIOR], learn, w->criterion, &w->step1_best, err));
    w->step1_risk = w->criterion[w->step1_best - 1];
    memcpy(w->prior, p->theta, sizeof w->prior);
    for (size_t k = 0; k < w->count; k++) {
        surety_print_model *model = &w->models[k];
        *model = (surety_print_model){.objective = objectives[k]};
        surety_print_weigh(p, w->prior);
        memcpy(model->theta, p->theta, sizeof model->theta);
        memcpy(model->Q, p->Q, sizeof model->Q);
        if (model->objective != SURETY_OBJECTIVE_BASELINE)
            SURETY_TRY(surety_print_step2(p, learn, w->prior, model, w->criterion, err));
    }
    return SURETY_OK;
}

static json_t *models_json(const cell_work *w) {
    json_t *models = json_array();
    for (size_t k = 0; k < w->count && models; k++)
        models = surety_json_append(
            models, SURETY_JSON_OBJECT(
                        {"objective", surety_json_string(surety_objective_name(w->models[k].objective))},
                        {"step1_best_epoch", surety_json_count(w->step1_best)},
                        {"step1_risk", surety_json_real(w->step1_risk)},
                        {"step2_best_epoch", surety_json_count(w->models[k].best_epoch)},
                        {"kl", surety_json_real(w->models[k].kl)}));
    return models;
}

/* R_att of the first model under pgd, against the radius. */
static surety_status curve(cell_work *w, surety_error *err) {
    for (size_t i = 0; i < RADII; i++)
        if (isnan(w->curve[i]))
            SURETY_TRY(attacked_risk(w, w->models, SURETY_ATTACK_PGD, w->p.radius * (double)i / AT_B,
                                     &w->curve[i], err));
    return SURETY_OK;
}

static json_t *curve_json(const cell_work *w) {
    double eps[RADII];
    for (size_t i = 0; i < RADII; i++) eps[i] = w->p.radius * (double)i / AT_B;
    return SURETY_JSON_OBJECT({"attack", surety_json_string("pgd")}, {"eps", surety_json_reals(eps, RADII)},
                              {"risk", surety_json_reals(w->curve, RADII)});
}

static surety_status compute(cell_work *w, json_t **found, surety_error *err) {
    double began = surety_seconds();
    SURETY_TRY(surety_alloc(&w->criterion, w->p.epochs, sizeof *w->criterion, err));
    SURETY_TRY(train(w, err));
    double trained = surety_seconds();
    SURETY_TRY(all_rows(w, err));
    double evaluated = surety_seconds();
    SURETY_TRY(curve(w, err));
    *found = SURETY_JSON_OBJECT(
        {"models", models_json(w)}, {"rows", json_incref(w->rows)}, {"curve", curve_json(w)},
        {"gallery",
         SURETY_JSON_OBJECT({"attack", surety_json_string("pgd")}, {"examples", json_incref(w->gallery)})},
        {"seconds", SURETY_JSON_OBJECT({"train", surety_json_real(trained - began)},
                                       {"rows", surety_json_real(evaluated - trained)},
                                       {"all", surety_json_real(surety_seconds() - began)})});
    return *found ? SURETY_OK : surety_fail(err, SURETY_E_MEMORY, "no memory for the results of a cell");
}

surety_status surety_print_sets(json_t **found, const surety_study_settings *settings,
                                const surety_cell *cell, const surety_set sets[SURETY_SETS],
                                const surety_run *run, surety_error *err) {
    cell_work *w = NULL;
    *found = NULL;
    SURETY_TRY(surety_alloc(&w, 1, sizeof *w, err));
    w->cell = cell;
    w->sets = sets;
    w->rows = json_array();
    w->gallery = json_array();
    for (size_t i = 0; i < RADII; i++) w->curve[i] = (double)NAN;
    surety_status status = surety_print_new(&w->p, settings, cell, sets[0].d, run, err);
    if (status == SURETY_OK) status = compute(w, found, err);
    surety_print_free(&w->p);
    surety_free(w->criterion);
    json_decref(w->rows);
    json_decref(w->gallery);
    surety_free(w);
    return status;
}

surety_status surety_print_cell(json_t **found, const surety_study_settings *settings,
                                const surety_cell *cell, const surety_data *data, const surety_run *run,
                                surety_error *err) {
    const surety_data_info *info = surety_data_describe(data);
    surety_set sets[SURETY_SETS];
    for (int i = 0; i < SURETY_SETS; i++) sets[i] = *surety_data_set(data, (surety_set_name)i);
    SURETY_TRY(surety_print_sets(found, settings, cell, sets, run, err));
    json_t *gallery = json_object_get(*found, "gallery");
    if (json_object_set_new(gallery, "height", surety_json_count(info->height)) == 0 &&
        json_object_set_new(gallery, "width", surety_json_count(info->width)) == 0)
        return SURETY_OK;
    json_decref(*found);
    *found = NULL;
    return surety_fail(err, SURETY_E_MEMORY, "no memory for the results of a cell");
}
