/* The grid of the paper (docs/theory.md 6) as a list of cells, and what each of them will cost.
 *
 *   algorithm  {none, unif, pgdu, ifgsmu} x {none, pgdu, ifgsmu}, objectives chromatic and average-max
 *   baseline   {none, unif, pgd, ifgsm} x {none, pgd, ifgsm}, step 1 alone
 *
 * The step 1 of none and unif is the same for both, so it is one cell. Behind them, and only where it is
 * asked for, the certified defense (docs/theory.md 8.3), step 1 alone, of one kind of voters or several. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/parallel.h"
#include "evaluate/sampler.h"
#include "study/study.h"

static const surety_threat_kind defenses[] = {SURETY_ATTACK_NONE,   SURETY_ATTACK_UNIF, SURETY_ATTACK_PGDU,
                                              SURETY_ATTACK_IFGSMU, SURETY_ATTACK_PGD,  SURETY_ATTACK_IFGSM,
                                              SURETY_WORST_CASE};
enum { DEFENSES = sizeof defenses / sizeof *defenses };
enum { EPOCHS = 20 }; /* unless another number is given; kinds that have their own keep to it then */

static unsigned count_kinds(void) {
    unsigned count = 0;
    while (surety_kind_name(count)) count++;
    return count;
}

uint32_t surety_study_kinds(void) {
    return (1u << count_kinds()) - 1;
}

static int is_baseline_only(surety_threat_kind defense) {
    return defense == SURETY_ATTACK_PGD || defense == SURETY_ATTACK_IFGSM || defense == SURETY_WORST_CASE;
}

const char *surety_recipe_name(surety_recipe recipe) {
    static const char *const names[] = {"print", "theory"};
    return names[recipe];
}

surety_study_settings surety_study_defaults(void) {
    size_t tasks;
    surety_paper_tasks(&tasks);
    surety_study_settings s = {.tasks = (1u << tasks) - 1,
                               .norms = 1u << SURETY_L2 | 1u << SURETY_LINF,
                               .voter_sets = 1u << SURETY_SIGNED | 1u << SURETY_REAL,
                               .kinds = 1, /* the first is the soft forest */
                               .seeds = 1,
                               .recipe = SURETY_RECIPE_PRINT,
                               .epochs = EPOCHS,
                               .samples = 100,
                               .steps = 20};
    for (size_t i = 0; i < DEFENSES; i++)
        if (defenses[i] != SURETY_WORST_CASE) s.defenses |= 1u << defenses[i];
    return s;
}

surety_status surety_study_validate(const surety_study_settings *s, surety_error *err) {
    surety_study_settings all = surety_study_defaults();
    if (!s->tasks || s->tasks & ~all.tasks)
        return surety_fail(err, SURETY_E_USAGE, "a study needs at least one of the paper's tasks");
    if (!s->norms || s->norms & ~all.norms)
        return surety_fail(err, SURETY_E_USAGE, "the norms of the paper's tables are l2 and linf");
    if (!s->voter_sets || s->voter_sets & ~all.voter_sets)
        return surety_fail(err, SURETY_E_USAGE, "the voters are signed, real or both");
    if (!s->defenses || s->defenses & ~(all.defenses | 1u << SURETY_WORST_CASE))
        return surety_fail(err, SURETY_E_USAGE,
                           "the defenses of the paper's tables are none, unif, pgdu, ifgsmu, pgd and ifgsm; "
                           "beside them there is certified");
    if (!s->kinds || s->kinds & ~surety_study_kinds())
        return surety_fail(err, SURETY_E_USAGE, "a study needs at least one kind of voters");
    if (s->kinds != all.kinds && !(s->defenses >> SURETY_WORST_CASE & 1))
        return surety_fail(err, SURETY_E_USAGE,
                           "only the certified defense has other kinds than the paper's soft forest: "
                           "--defenses certified");
    if ((unsigned)s->recipe > SURETY_RECIPE_THEORY)
        return surety_fail(err, SURETY_E_USAGE, "unknown recipe %d", (int)s->recipe);
    if (s->seeds < 1 || s->seeds > SURETY_STUDY_SEEDS)
        return surety_fail(err, SURETY_E_USAGE, "1 to %d seeds, not %zu", SURETY_STUDY_SEEDS, s->seeds);
    if (s->part > s->parts || !s->part != !s->parts)
        return surety_fail(err, SURETY_E_USAGE, "a study has no part %zu of %zu", s->part, s->parts);
    surety_cell any = {.defense = SURETY_ATTACK_PGDU};
    surety_train_settings train = surety_cell_training(s, &any);
    if (s->epochs < 1) return surety_fail(err, SURETY_E_USAGE, "epochs of a study are 1 or more, not 0");
    return surety_train_validate(&train, err);
}

void surety_cell_name(const surety_cell *cell, char name[SURETY_CELL_NAME]) {
    size_t tasks;
    snprintf(name, SURETY_CELL_NAME, "%s-%s-%s-%s%s%s-%llu", surety_paper_tasks(&tasks)[cell->task].name,
             surety_norm_name(cell->norm), surety_voter_set_name(cell->voter_set),
             surety_defense_name(cell->defense), cell->kind ? "-" : "",
             cell->kind ? surety_kind_name(cell->kind) : "", (unsigned long long)cell->seed);
}

size_t surety_cell_objectives(surety_threat_kind defense, surety_objective objectives[SURETY_CELL_MODELS]) {
    size_t count = 0;
    if (!is_baseline_only(defense)) {
        objectives[count++] = SURETY_OBJECTIVE_CHROMATIC;
        objectives[count++] = SURETY_OBJECTIVE_AVERAGE_MAX;
    }
    if (defense != SURETY_ATTACK_PGDU && defense != SURETY_ATTACK_IFGSMU)
        objectives[count++] = SURETY_OBJECTIVE_BASELINE;
    return count;
}

void surety_cell_attacks(surety_objective objective, surety_threat_kind attacks[SURETY_CELL_ATTACKS]) {
    int baseline = objective == SURETY_OBJECTIVE_BASELINE;
    attacks[0] = SURETY_ATTACK_NONE;
    attacks[1] = baseline ? SURETY_ATTACK_PGD : SURETY_ATTACK_PGDU;
    attacks[2] = baseline ? SURETY_ATTACK_IFGSM : SURETY_ATTACK_IFGSMU;
}

surety_train_settings surety_cell_training(const surety_study_settings *s, const surety_cell *cell) {
    surety_train_settings t = surety_train_defaults();
    t.voters.kind = surety_kind_name(cell->kind);
    int suited = cell->defense == SURETY_WORST_CASE && surety_train_kind(&t);
    if (cell->defense == SURETY_WORST_CASE && !suited) surety_train_certified(&t);
    t.defense.kind = cell->defense;
    t.defense.ball.norm = cell->norm;
    t.defense.ball.radius = surety_norm_radius(cell->norm);
    t.defense.steps = s->steps;
    t.voter_set = cell->voter_set;
    if (!suited || s->epochs != EPOCHS) t.step1_epochs = t.step2_epochs = s->epochs;
    t.seed = cell->seed;
    surety_train_follow(&t, 2, !cell->kind);
    return t;
}

/* Is it a cell of the settings? The certified ones of other kinds than the soft forest: not those that cannot
 * be trained so, nor those with another voter set than suits the kind. */
static int is_cell(const surety_study_settings *s, const surety_cell *cell) {
    if (!(s->tasks >> cell->task & s->norms >> cell->norm & s->defenses >> cell->defense & 1)) return 0;
    if (!cell->kind)
        return s->voter_sets >> cell->voter_set & (cell->defense != SURETY_WORST_CASE || s->kinds & 1) & 1;
    surety_train_settings t = surety_cell_training(s, cell);
    return cell->defense == SURETY_WORST_CASE && s->kinds >> cell->kind & 1 &&
           t.voter_set == cell->voter_set && surety_train_validate(&t, NULL) == SURETY_OK;
}

surety_status surety_grid_make(surety_cell **cells, size_t *count, const surety_study_settings *s,
                               surety_error *err) {
    size_t tasks, at = 0, kinds = count_kinds();
    surety_paper_tasks(&tasks);
    size_t all = tasks * 2 * 2 * DEFENSES * kinds; /* counted through in the order of the cells, kinds last */
    SURETY_TRY(surety_alloc(cells, all * s->seeds, sizeof **cells, err));
    for (size_t i = 0; i < all; i++) {
        size_t outer = i / kinds / DEFENSES;
        surety_cell cell = {.task = outer / 4,
                            .norm = outer / 2 % 2 ? SURETY_LINF : SURETY_L2,
                            .voter_set = outer % 2 ? SURETY_REAL : SURETY_SIGNED,
                            .defense = defenses[i / kinds % DEFENSES],
                            .kind = i % kinds};
        if (!is_cell(s, &cell)) continue;
        for (cell.seed = 0; cell.seed < s->seeds; cell.seed++) (*cells)[at++] = cell;
    }
    *count = at;
    return SURETY_OK;
}

/* ---- cost ---- */

static surety_status drop(void *arg, const surety_ended *e, const float *votes, size_t ld,
                          surety_error *err) {
    (void)arg, (void)e, (void)votes, (void)ld, (void)err;
    return SURETY_OK;
}

/* Seconds of one sampler's run over a block, n samples each; best of several. */
static surety_status time_block(double *seconds, surety_threat threat, size_t n, const surety_vote *vote,
                                const surety_set *set, surety_error *err) {
    enum { TRIES = 5 };
    surety_sampler *sampler;
    surety_run one = {.threads = 1};
    surety_sampling all = {.set = set, .end = set->m, .vote = *vote, .votes = drop};
    threat.samples = n;
    *seconds = 1e30;
    SURETY_TRY(surety_sampler_new(&sampler, &threat, vote->voters, vote->voter_set, &one, err));
    surety_status status = SURETY_OK;
    for (int i = 0; i < TRIES && status == SURETY_OK; i++) {
        double began = surety_seconds(), took;
        status = surety_sampler_run(sampler, &all, NULL, &one, err);
        took = surety_seconds() - began;
        if (took < *seconds) *seconds = took;
    }
    surety_sampler_free(sampler);
    return status;
}

static surety_status time_votes(surety_speed *speed, const surety_voters *voters, float *x,
                                surety_error *err) {
    enum { SAMPLES = 9 };
    double weights[64], one = 0, several = 0, rows = SURETY_BLOCK;
    uint8_t y[SURETY_BLOCK] = {0};
    uint32_t row[SURETY_BLOCK] = {0};
    size_t d = surety_voters_features(voters), H = surety_voters_count(voters);
    surety_set set = {
        .m = SURETY_BLOCK, .d = d, .stride = surety_padded(d), .x = x, .y = y, .row = row, .classes = 2};
    surety_vote vote = {voters, weights, SURETY_REAL};
    surety_threat threat = surety_threat_defaults();
    threat.kind = SURETY_ATTACK_PGDU;
    threat.early_stop = 0;
    for (size_t t = 0; t < H; t++) weights[t] = 1 / (double)H;
    for (uint32_t r = 0; r < SURETY_BLOCK; r++) y[r] = r % 2, row[r] = r;
    SURETY_TRY(time_block(&one, threat, 1, &vote, &set, err));
    SURETY_TRY(time_block(&several, threat, SAMPLES, &vote, &set, err));
    speed->sample = fmax((several - one) / (rows * (SAMPLES - 1)), 1e-9);
    speed->step = fmax((one - rows * speed->sample) / (rows * (double)(threat.steps + 1)), 1e-9);
    return SURETY_OK;
}

surety_status surety_speed_measure(surety_speed *speed, surety_error *err) {
    enum { D = 784 };
    surety_voters_settings forest = surety_voters_defaults();
    surety_voters *voters = NULL;
    float *x = NULL;
    surety_status status = surety_alloc(&x, SURETY_BLOCK * surety_padded(D), sizeof *x, err);
    if (status == SURETY_OK) status = surety_voters_new(&forest, D, 0, &voters, err);
    if (status == SURETY_OK) status = time_votes(speed, voters, x, err);
    surety_voters_free(voters);
    surety_free(x);
    return status;
}

surety_cost surety_cell_cost(const surety_study_settings *s, const surety_cell *cell,
                             const surety_speed *speed) {
    /* the certified defense and the limits over a ball, in steps of an attack on as many rows: roughly */
    enum { LEARN = 5000, RADII = 7, ATTACKS = 2, CERTIFIED = 3, LIMITS = 50 };
    size_t count;
    const surety_task *task = &surety_paper_tasks(&count)[cell->task];
    surety_objective objectives[SURETY_CELL_MODELS];
    double m = LEARN, prior = (double)task->train - m, test = (double)task->test, epochs = (double)s->epochs;
    double k = (double)s->steps, n = (double)s->samples,
           models = (double)surety_cell_objectives(cell->defense, objectives);
    int certified = cell->defense == SURETY_WORST_CASE;
    double steps = cell->defense == SURETY_ATTACK_NONE || cell->defense == SURETY_ATTACK_UNIF ? 0
                   : certified                                                                ? CERTIFIED
                                                                                              : k;
    if (certified) {
        surety_train_settings t = surety_cell_training(s, cell);
        epochs = (double)t.step1_epochs;
        if (t.step1_epochs == t.voters.count) steps = -1; /* each grows one tree: as much as a step */
    }
    int algorithm = objectives[0] != SURETY_OBJECTIVE_BASELINE;
    surety_cost c = {.step1 = epochs * (prior + m) * (steps + 2) * speed->step};
    if (algorithm) {
        if (cell->defense != SURETY_ATTACK_NONE) c.step2 = epochs * 2 * m * (steps + 1) * speed->step;
        c.perturbed_test = test * (k * speed->step + n * speed->sample);
        c.perturbed_learn = m * (k * speed->step + n * speed->sample);
    }
    if (!certified) c.rest += RADII * test * k * speed->step;
    c.rest += models * ATTACKS * test * k * speed->step;
    if (certified) c.rest += LIMITS * (test + m) * speed->step;
    c.all =
        c.step1 + c.rest + (algorithm ? 2 * c.step2 + ATTACKS * (c.perturbed_test + c.perturbed_learn) : 0);
    return c;
}

/* ---- plan ---- */

/* Printed numbers beside the cell: two risks and a bound, two risks and two bounds for the algorithm's two
 * objectives, one risk for the baseline, for each of three attacks. */
static size_t values_of(const surety_cell *cell) {
    surety_objective objectives[SURETY_CELL_MODELS];
    size_t count = surety_cell_objectives(cell->defense, objectives), values = 0;
    if (cell->defense == SURETY_WORST_CASE) return 0;
    for (size_t i = 0; i < count; i++)
        values += SURETY_CELL_ATTACKS * (objectives[i] == SURETY_OBJECTIVE_BASELINE    ? 1
                                         : objectives[i] == SURETY_OBJECTIVE_CHROMATIC ? 3
                                                                                       : 4);
    return values;
}

static surety_status fill_plan(surety_study_plan *plan, const surety_study_settings *s, const char *folder,
                               const surety_run *run, surety_error *err) {
    surety_speed speed;
    SURETY_TRY(surety_grid_make(&plan->cells, &plan->count, s, err));
    SURETY_TRY(surety_alloc(&plan->seconds, plan->count, sizeof(double), err));
    SURETY_TRY(surety_alloc(&plan->done, plan->count, sizeof(int), err));
    SURETY_TRY(surety_speed_measure(&speed, err));
    for (size_t i = 0; i < plan->count; i++) {
        plan->seconds[i] = surety_cell_cost(s, &plan->cells[i], &speed).all;
        plan->values += values_of(&plan->cells[i]);
        json_t *found = NULL;
        if (folder) SURETY_TRY(surety_cell_load(&found, folder, &plan->cells[i], err));
        plan->done[i] = found != NULL;
        json_decref(found);
        if (!plan->done[i]) plan->left += plan->seconds[i] / surety_threads(run);
    }
    return SURETY_OK;
}

surety_status surety_study_plan_make(surety_study_plan *plan, const surety_study_settings *settings,
                                     const char *folder, const surety_run *run, surety_error *err) {
    *plan = (surety_study_plan){0};
    SURETY_TRY(surety_study_validate(settings, err));
    surety_status status = fill_plan(plan, settings, folder, run, err);
    if (status != SURETY_OK) surety_study_plan_free(plan);
    return status;
}

void surety_study_plan_free(surety_study_plan *plan) {
    surety_free(plan->cells);
    surety_free(plan->seconds);
    surety_free(plan->done);
    *plan = (surety_study_plan){0};
}

char *surety_study_plan_json(const surety_study_plan *plan) {
    json_t *cells = json_array();
    for (size_t i = 0; i < plan->count && cells; i++) {
        char name[SURETY_CELL_NAME];
        surety_cell_name(&plan->cells[i], name);
        cells = surety_json_append(cells, SURETY_JSON_OBJECT({"name", surety_json_string(name)},
                                                             {"seconds", surety_json_real(plan->seconds[i])},
                                                             {"done", json_boolean(plan->done[i])}));
    }
    return surety_json_text(SURETY_JSON_OBJECT({"cells", cells}, {"values", surety_json_count(plan->values)},
                                               {"seconds_left", surety_json_real(plan->left)}));
}
