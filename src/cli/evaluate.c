/* surety evaluate: a row of the paper's table for each attack. surety curve: risk against radius. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/classes.h"
#include "cli/cli.h"
#include "cli/parts.h"
#include "cli/shared.h"
#include "surety/evaluate.h"
#include "surety/train.h"

enum { MOST_ATTACKS = 16, ACROSS = 3 /* rows side by side: a line has 80 letters */ };

typedef struct attack_list {
    surety_threat_kind kinds[MOST_ATTACKS];
    size_t count;
} attack_list;

static surety_status read_list(const char *text, void *target, surety_error *err) {
    attack_list *list = target;
    list->count = 0;
    while (*text) {
        char name[32];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), text);
        if (list->count == MOST_ATTACKS) {
            err->code = SURETY_E_USAGE;
            snprintf(err->what, sizeof err->what, "at most %d attacks", MOST_ATTACKS);
            return SURETY_E_USAGE;
        }
        surety_status status = surety_threat_parse(name, &list->kinds[list->count++], err);
        if (status != SURETY_OK) return status;
        text += length + (text[length] == ',');
    }
    return SURETY_OK;
}

static const char *show_list(const void *target, char *buffer, size_t size) {
    const attack_list *list = target;
    buffer[0] = 0;
    for (size_t i = 0; i < list->count; i++) {
        size_t used = strlen(buffer);
        snprintf(buffer + used, size - used, "%s%s", i ? "," : "", surety_threat_name(list->kinds[i]));
    }
    return buffer;
}

typedef struct opened {
    surety_model *model;
    surety_data *data;
    surety_data_settings data_settings;
    surety_row_settings row;
    const char *const *names; /* of the classes, the data's */
} opened;

static void close_all(opened *o) {
    surety_model_free(o->model);
    surety_data_free(o->data);
}

/* Loads the model, then the data it was trained on unless options say otherwise, then checks the attack. */
static surety_status open_all(cli *c, opened *o) {
    surety_status status = surety_model_load(c->words[0], &o->model, &c->error);
    if (status != SURETY_OK) return status;
    status = surety_train_consistent(o->model, &c->error);
    if (status != SURETY_OK) return status;
    const surety_model_facts *facts = surety_model_about(o->model);
    o->row.priors_compared = facts->priors_compared;
    if (!cli_given(c, "delta")) o->row.delta = facts->delta;
    status = cli_settle_model(c, o->model, &o->data_settings, &o->row.threat);
    if (status == SURETY_OK) status = cli_open_data(c, &o->data, &o->data_settings, &o->row.threat);
    if (status == SURETY_OK) o->names = surety_class_names(surety_data_describe(o->data));
    if (status == SURETY_OK) status = cli_part_begin(c, o->model, o->data, &o->row.threat);
    return status;
}

/* Instead of attacks that voters of this kind do not have, once the strongest that they have. */
static void fit_attacks(const surety_voters *v, attack_list *attacks) {
    size_t kept = 0, replaced = 0;
    for (size_t i = 0; i < attacks->count; i++) {
        int fits = surety_threat_fits(attacks->kinds[i], v, NULL) == SURETY_OK;
        if (fits || !replaced++)
            attacks->kinds[kept++] = fits ? attacks->kinds[i] : surety_threat_strongest(v);
    }
    attacks->count = kept;
}

/* ---- evaluate ---- */

/* Rows side by side in one table. */
typedef struct block {
    const surety_row *rows[ACROSS];
    size_t count;
} block;

static void print_line(char letter, const char *heading, const double *values, size_t count,
                       const char *name) {
    cli_print("%c %-27s", letter, heading);
    for (size_t k = 0; k < count; k++)
        if (isnan(values[k]))
            cli_print(" %7s", "-");
        else
            cli_print(" %7.4f", values[k]);
    cli_print("%s%s\n", *name ? "  " : "", name);
}

/* The largest limit across. */
static double weakest(const block *b, int id) {
    double most = 0;
    for (size_t k = 0; k < b->count; k++) most = fmax(most, b->rows[k]->bounds[id].vote);
    return most;
}

/* The bounds on a risk that are available, smallest first; returns how many. */
static int sort_bounds(const block *b, surety_risk_kind risk, int ids[SURETY_BOUNDS]) {
    int count = 0;
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        if (surety_bound_list()[id].risk != risk || !b->rows[0]->bounds[id].available) continue;
        int at = count++;
        for (; at > 0 && weakest(b, id) < weakest(b, ids[at - 1]); at--) ids[at] = ids[at - 1];
        ids[at] = id;
    }
    return count;
}

static void print_bounds(const block *b, surety_risk_kind risk, const char *heading, cli_letters *letters) {
    int ids[SURETY_BOUNDS], count = sort_bounds(b, risk, ids);
    if (count && heading)
        cli_print("Bounds on its %s risk, from %s\n", heading,
                  b->rows[0]->origin == SURETY_ORIGIN_FRESH ? "the fresh rows" : "S");
    for (int i = 0; i < count; i++) {
        const surety_bound_info *info = &surety_bound_list()[ids[i]];
        double votes[ACROSS];
        for (size_t k = 0; k < b->count; k++) votes[k] = cli_limit(b->rows[k]->bounds[info->id].vote, 4);
        print_line(cli_letter(letters, info->event), info->heading, votes, b->count, info->name);
    }
}

static void print_attacks(const block *b, cli_letters *letters) {
    double attacked[ACROSS], averaged[ACROSS], max[ACROSS];
    surety_origin origin = b->rows[0]->origin;
    cli_print("%-29s", cli_has_test(b->rows[0]) ? "Risks of the vote on T" : "Risks on the fresh rows");
    for (size_t k = 0; k < b->count; k++) {
        attacked[k] = b->rows[k]->adversarial_risk;
        averaged[k] = b->rows[k]->averaged_risk;
        max[k] = b->rows[k]->averaged_max;
        cli_print(" %7s", surety_threat_name(b->rows[k]->threat));
    }
    cli_print("\n");
    print_line(' ', "R_att, itself attacked", attacked, b->count, "");
    print_line(' ', "averaged", averaged, b->count, "");
    print_line(' ', "averaged-max", max, b->count, "");
    if (origin != SURETY_ORIGIN_OTHER) {
        print_bounds(b, SURETY_RISK_AVERAGED_MAX, "averaged-max", letters);
        print_bounds(b, SURETY_RISK_AVERAGED, "averaged", letters);
    }
    cli_print("\n");
}

static void print_worst(const surety_row *row, cli_letters *letters) {
    block one = {{row}, 1};
    cli_print("Worst case, every perturbation of the ball\n");
    if (cli_has_test(row)) print_line(' ', "not proved right, of T", &row->test.averaged_max, 1, "");
    if (row->origin == SURETY_ORIGIN_OTHER) {
        cli_print("\n");
        return;
    }
    int fresh = row->origin == SURETY_ORIGIN_FRESH;
    print_line(' ', fresh ? "not proved, fresh rows" : "not proved right, of S", &row->learn.averaged_max, 1,
               "");
    print_bounds(&one, SURETY_RISK_WORST_CASE, NULL, letters);
    cli_print("No attack whatever fools it on a larger share of new %s.\n\n",
              row->units ? "units" : "inputs");
}

/* Where the bounds come from, or why there are none; and rows of T that trained the model. */
static void print_origin(const surety_row *row, int imported) {
    const surety_overlap *o = &row->overlap;
    if (row->origin == SURETY_ORIGIN_OTHER)
        cli_print(
            "No bounds: these are not the rows that the model was trained with, so S may hold\n"
            "rows that trained it. Rows that had no part in the training: --fresh FILE.\n");
    else
        cli_print(
            "Each bound holds alone, with confidence %g; those of one attack with the same\n"
            "letter hold together. Choose one before looking: certify --bound NAME.\n"
            "This was a look at S: what is decided now counts for certify --looks.\n",
            1 - row->input.delta);
    if (row->origin == SURETY_ORIGIN_FRESH)
        cli_print("They are about the vote as it is, attacked itself, on %llu rows declared fresh,\n%s.\n",
                  (unsigned long long)row->input.m,
                  imported ? "which had no part in the training of this imported model by your word"
                           : "none of which trained the model");
    if (row->origin != SURETY_ORIGIN_OWN && o->known)
        cli_print("Of the %llu rows of T, %llu trained the model: %llu are rows of S', %llu of S.\n",
                  (unsigned long long)o->m, (unsigned long long)o->known, (unsigned long long)o->in_prior,
                  (unsigned long long)o->in_learn);
    if (row->units)
        cli_print(
            "Risks and bounds count units: one fails if one of its rows does. By class, rows are counted.\n");
    cli_print_copies(&row->copies);
}

static void print_rows(const surety_row *rows, size_t count, int imported) {
    block b = {.count = 0};
    cli_letters letters = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        if (rows[i].threat != SURETY_WORST_CASE) b.rows[b.count++] = &rows[i];
        if (b.count < ACROSS && i + 1 < count) continue;
        if (b.count) print_attacks(&b, &letters);
        b.count = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i].threat == SURETY_WORST_CASE) print_worst(&rows[i], &letters);
    print_origin(&rows[0], imported);
}

/* What cannot be true of both S and T. */
static void warn_refuted(const cli *c, const surety_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        surety_refutation r;
        int id = surety_row_refuted(&rows[i], &r);
        if (id >= 0)
            cli_warn(c,
                     "T REFUTES S (%s): under the bound %s, at most %.4f, %llu failures of %llu on T have a "
                     "chance below %.0e. S or T is not what it should be (copies of rows, another source), "
                     "and no bound from this S can be believed",
                     surety_threat_name(rows[i].threat), surety_bound_list()[id].name, cli_limit(r.limit, 4),
                     (unsigned long long)r.failed, (unsigned long long)r.m, SURETY_IMPOSSIBLE);
    }
}

/* T, or the fresh rows where there is none. */
static const surety_set *test_set(const opened *o) {
    const surety_set *test = surety_data_set(o->data, SURETY_SET_TEST);
    return test->m || !o->data_settings.fresh ? test : surety_data_set(o->data, SURETY_SET_LEARN);
}

static void log_look(cli *c, const opened *o, const attack_list *attacks) {
    char what[200], list[160];
    snprintf(what, sizeof what, "bounds for %s", show_list(attacks, list, sizeof list));
    cli_look(c, o->model, o->data, what);
    if (c->json) cli_say(c, "note: this was a look at S: what is decided now counts for certify --looks");
}

/* A row for each attack; *done of them are to be freed. */
static surety_status make_rows(cli *c, opened *o, const attack_list *attacks, surety_row *rows,
                               size_t *done) {
    for (; *done < attacks->count; ++*done) {
        o->row.threat.kind = attacks->kinds[*done];
        surety_status status =
            surety_evaluate_row(o->model, o->data, &o->row, &rows[*done], &c->run, &c->error);
        if (status != SURETY_OK) return status;
    }
    return SURETY_OK;
}

/* For the last threat that is an attack; pgd if none is. */
static surety_status list_examples(cli *c, const opened *o, const attack_list *attacks, const char *path) {
    surety_threat threat = o->row.threat;
    threat.kind = surety_threat_fits(SURETY_ATTACK_PGD, surety_model_voters(o->model), NULL) == SURETY_OK
                      ? SURETY_ATTACK_PGD
                      : surety_threat_strongest(surety_model_voters(o->model));
    for (size_t i = 0; i < attacks->count; i++)
        if (attacks->kinds[i] != SURETY_WORST_CASE) threat.kind = attacks->kinds[i];
    return surety_evaluate_examples(o->model, test_set(o), surety_data_describe(o->data)->labels, &threat,
                                    path, &c->run, &c->error);
}

/* What was attacked, in which unit; nothing without a radius. */
static void print_ball(const opened *o) {
    const surety_ball *ball = &o->row.threat.ball;
    char words[160];
    if (ball->radius > 0)
        cli_print("Perturbed in the %s.\n",
                  cli_ball_words(ball, surety_data_describe(o->data)->scaling, words));
}

static void print_all(const opened *o, const surety_row *rows, size_t count, const surety_clean *clean) {
    const char *const *names = o->names;
    print_rows(rows, count, surety_model_imported(o->model) != NULL);
    print_ball(o);
    cli_print("\n");
    cli_print_class_risks(rows, count, names);
    if (clean->classes > 2) cli_print_confusion(clean, names);
    cli_print_clean(clean, cli_has_test(rows) ? "clean error on T" : "clean error on the fresh rows", names);
}

static surety_status evaluate(cli *c, opened *o, const attack_list *attacks, const char *per_example) {
    surety_row rows[MOST_ATTACKS];
    surety_clean clean = {0};
    surety_vote vote = surety_model_vote(o->model, SURETY_WEIGHTS_POSTERIOR);
    size_t done = 0;
    surety_status status = make_rows(c, o, attacks, rows, &done);
    if (status == SURETY_OK && cli_is_part(c)) status = SURETY_E_PART;
    if (status == SURETY_OK)
        status = surety_evaluate_clean(&vote, test_set(o), surety_data_describe(o->data), &clean, &c->run,
                                       &c->error);
    if (status == SURETY_OK && per_example) status = list_examples(c, o, attacks, per_example);
    cli_progress_end(c);
    if (status == SURETY_OK && rows[0].origin != SURETY_ORIGIN_OTHER) log_look(c, o, attacks);
    if (status == SURETY_OK && c->json)
        status = cli_print_json(c, surety_rows_json(rows, done, &clean, o->names));
    else if (status == SURETY_OK)
        print_all(o, rows, done, &clean);
    if (status == SURETY_OK) warn_refuted(c, rows, done);
    for (size_t i = 0; i < done; i++) surety_row_free(&rows[i]);
    surety_clean_free(&clean);
    return status;
}

/* Which attacks, unless they are given: the worst case where the model was trained for it or imported, none
 * where there is no radius. */
static surety_status settle_attacks(cli *c, const opened *o, attack_list *attacks) {
    surety_threat threat = o->row.threat;
    if (!cli_given(c, "attacks")) {
        if (surety_model_imported(o->model) ||
            !strcmp(surety_model_about(o->model)->defense, surety_defense_name(SURETY_WORST_CASE)))
            *attacks = (attack_list){{SURETY_ATTACK_NONE, SURETY_ATTACK_PGD, SURETY_WORST_CASE}, 3};
        fit_attacks(surety_model_voters(o->model), attacks);
        threat.kind = SURETY_ATTACK_PGD;
        surety_error unused = c->error;
        if (cli_need_radius(c, &threat) == SURETY_OK) return SURETY_OK;
        c->error = unused;
        attacks->count = 1;
        cli_say(c, "note: without a radius there is nothing to attack: give --norm linf --eps B");
        return SURETY_OK;
    }
    for (size_t i = 0; i < attacks->count; i++) {
        threat.kind = attacks->kinds[i];
        surety_status status = cli_need_radius(c, &threat);
        if (status != SURETY_OK) return status;
    }
    return SURETY_OK;
}

static surety_status run_evaluate(cli *c) {
    opened o = {.data_settings = surety_data_defaults(), .row = {.delta = 0.05, .looks = 1}};
    attack_list attacks = {{SURETY_ATTACK_NONE, SURETY_ATTACK_PGDU, SURETY_ATTACK_IFGSMU}, 3};
    const char *per_example = NULL;
    o.row.threat = surety_threat_defaults();
    cli_data_options(c, &o.data_settings);
    cli_fresh_options(c, &o.data_settings);
    cli_ball_options(c, &o.row.threat);
    cli_other(c, "attacks", "A,B,..", &attacks, read_list, show_list,
              "attacks, one row each; worst-case: limits over the whole ball");
    cli_output(
        c, "per-example", "FILE", &per_example,
        "also a CSV line for each example of T, for the last attack, with certified radius and verdict; of "
        "more than two classes with the clean vote's answer");
    cli_real(c, "delta", "D", &o.row.delta, "1 - confidence of each bound");
    cli_u64(c, "looks", "N", &o.row.looks, "runs you might have reported after seeing S, this one included");
    cli_part_options(c);
    cli_model_decides(c);
    surety_status status = cli_parse(c, 1, 1);
    if (status == SURETY_OK && !c->helped) {
        status = attacks.count ? SURETY_OK : cli_wrong(c, "no attack given");
        if (status == SURETY_OK && cli_is_part(c) && per_example)
            status = cli_wrong(c, "a part counts, and --per-example lists: they do not go together");
        o.data_settings.own_rows = !per_example;
        if (status == SURETY_OK) status = open_all(c, &o);
        if (status == SURETY_OK) status = settle_attacks(c, &o, &attacks);
        if (status == SURETY_OK) status = evaluate(c, &o, &attacks, per_example);
        status = cli_part_end(c, status);
    }
    close_all(&o);
    return status;
}

const cli_command cli_evaluate = {
    .name = "evaluate",
    .usage = "MODEL [--attacks A,B,..] [options]",
    .summary = "risks and bounds of a model under attacks",
    .text =
        "For each attack, first R_att: the posterior's vote itself is attacked, on T. Then the "
        "prior's vote is attacked, n perturbations for each example: the risks of the "
        "posterior's vote on T perturbed so, and every bound, from S perturbed so. Last, R_att "
        "of each class, and the clean vote's answers beside always giving the most frequent "
        "class. Data, ball and seed are the model's unless given. Where S' and S are not the "
        "model's, there are risks on T but no bounds, unless the rows are new to the model and "
        "declared so (--fresh).",
    .example = "surety evaluate model.safetensors --attacks none,pgdu",
    .run = run_evaluate,
    .has_parts = true,
};

/* ---- curve ---- */

static surety_status run_curve(cli *c) {
    opened o = {.data_settings = surety_data_defaults()};
    attack_list attacks = {{SURETY_ATTACK_IFGSM, SURETY_ATTACK_PGD}, 2};
    cli_grid g = {0, 1, 0.25};
    const char *out = NULL;
    o.row.threat = surety_threat_defaults();
    cli_data_options(c, &o.data_settings);
    cli_fresh_options(c, &o.data_settings);
    cli_ball_options(c, &o.row.threat);
    cli_other(c, "attacks", "A,B,..", &attacks, read_list, show_list,
              "attacks, one column each; worst-case: the share not proved right");
    cli_other(c, "eps-grid", "A:B:STEP", &g, cli_read_grid, cli_show_grid, "radii");
    cli_output(c, "out", "FILE", &out, "CSV file");
    cli_part_options(c);
    cli_model_decides(c);
    surety_status status = cli_parse(c, 1, 1);
    if (status == SURETY_OK && !c->helped) {
        if (!out && cli_is_part(c)) out = c->part.file; /* nothing but the part is written */
        o.data_settings.own_rows = 1;
        status = out ? open_all(c, &o) : cli_wrong(c, "where should the curve go? Give --out FILE.csv");
        surety_origin origin;
        surety_overlap overlap;
        if (status == SURETY_OK && !cli_given(c, "attacks"))
            fit_attacks(surety_model_voters(o.model), &attacks);
        if (status == SURETY_OK)
            status = surety_evaluate_origin(o.model, o.data, &origin, &overlap, &c->error);
        surety_curve_settings s = {.threat = o.row.threat,
                                   .kinds = attacks.kinds,
                                   .kind_count = attacks.count,
                                   .first = g.first,
                                   .last = g.last,
                                   .step = g.step};
        if (status == SURETY_OK)
            status = surety_evaluate_curve(o.model, test_set(&o), &s, out, &c->run, &c->error);
        cli_progress_end(c);
        if (status == SURETY_OK && !c->json)
            cli_print("curve: %s, radii in %s\n", out,
                      surety_radius_unit(o.row.threat.ball.tolerance, surety_data_describe(o.data)->scaling));
        if (status == SURETY_OK && c->json)
            cli_print("{\"done\": true, \"radius_unit\": \"%s\"}\n",
                      surety_radius_unit(o.row.threat.ball.tolerance, surety_data_describe(o.data)->scaling));
        status = cli_part_end(c, status);
    }
    close_all(&o);
    return status;
}

const cli_command cli_curve = {
    .name = "curve",
    .usage = "MODEL [--attacks A,B,..] [--eps-grid A:B:STEP] --out FILE [options]",
    .summary = "risk of a model against the radius, as CSV",
    .text = "R_att on T, the posterior's vote attacked, for each radius of a grid and each attack.",
    .example = "surety curve model.safetensors --attacks pgd --eps-grid 0:1:0.5 \\\n    --out curve.csv",
    .run = run_curve,
    .has_parts = true,
};
