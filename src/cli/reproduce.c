/* surety reproduce: the paper's whole evaluation, beside its printed numbers. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/mpi.h"
#include "cli/parts.h"
#include "cli/shared.h"
#include "report/interface.h"
#include "study/interface.h"

/* ---- lists of names as sets of bits ---- */

typedef surety_status (*number_fn)(const char *name, unsigned *number, surety_error *err);

static surety_status task_number(const char *name, unsigned *number, surety_error *err) {
    size_t count;
    const surety_task *task = surety_task_find(name, err);
    if (!task) return SURETY_E_USAGE;
    *number = (unsigned)(task - surety_paper_tasks(&count));
    if (*number < count) return SURETY_OK;
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not a task of the paper", task->name);
    snprintf(err->expected, sizeof err->expected, "tasks of two classes: 'surety data list' names them");
    return SURETY_E_USAGE;
}

static surety_status kind_number(const char *name, unsigned *number, surety_error *err) {
    int used = snprintf(err->expected, sizeof err->expected, "one of ");
    for (*number = 0; surety_kind_name(*number); (*number)++) {
        if (!strcmp(surety_kind_name(*number), name)) return err->expected[0] = 0, SURETY_OK;
        used += snprintf(err->expected + used, sizeof err->expected - (size_t)used, "%s%s",
                         *number ? ", " : "", surety_kind_name(*number));
    }
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "unknown kind of voters '%s'", name);
    return SURETY_E_USAGE;
}

#define NUMBER(function, type, parse)                                                      \
    static surety_status function(const char *name, unsigned *number, surety_error *err) { \
        type value;                                                                        \
        surety_status status = parse(name, &value, err);                                   \
        if (status == SURETY_OK) *number = (unsigned)value;                                \
        return status;                                                                     \
    }
NUMBER(norm_number, surety_norm, surety_norm_parse)
NUMBER(set_number, surety_voter_set, surety_voter_set_parse)
NUMBER(defense_number, surety_threat_kind, surety_defense_parse)

static surety_status read_names(const char *text, uint32_t *bits, number_fn number_of, surety_error *err) {
    *bits = 0;
    do {
        char name[64];
        unsigned number;
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
        surety_status status = number_of(name, &number, err);
        if (status != SURETY_OK) return status;
        *bits |= 1u << number;
        text += length;
    } while (*text++ == ',');
    return SURETY_OK;
}

#define READ_NAMES(function, number)                                                   \
    static surety_status function(const char *text, void *target, surety_error *err) { \
        return read_names(text, target, number, err);                                  \
    }
READ_NAMES(read_tasks, task_number)
READ_NAMES(read_norms, norm_number)
READ_NAMES(read_sets, set_number)
READ_NAMES(read_defenses, defense_number)
READ_NAMES(read_kinds, kind_number)

/* ---- the command ---- */

typedef struct options {
    surety_study_settings study;
    const char *out;
    bool theory, quick, dry;
} options;

static void add_options(cli *c, options *o) {
    surety_study_settings *s = &o->study;
    cli_text(c, "out", "DIR", &o->out, "folder of the study: new, or one to go on with or to widen");
    cli_other(c, "tasks", "A,B,..", &s->tasks, read_tasks, NULL, "only these tasks; unless given all six");
    cli_other(c, "norms", "A,B", &s->norms, read_norms, NULL, "only these of l2 and linf");
    cli_other(c, "defenses", "A,B,..", &s->defenses, read_defenses, NULL,
              "only these of none, unif, pgdu, ifgsmu and, for the baseline, pgd, ifgsm; certified, beside "
              "the paper's: guarantees against every attack");
    cli_other(c, "voters", "A,B", &s->voter_sets, read_sets, NULL, "only these of signed and real");
    cli_other(c, "kinds", "A,B,..", &s->kinds, read_kinds, NULL,
              "kinds of voters of the certified cells, side by side on the page; unless given soft-forest. "
              "Others have the voters that suit them, and trees are for linf alone");
    cli_size(c, "seeds", "N", &s->seeds, "so many seeds, from 0");
    cli_size(c, "epochs", "T", &s->epochs,
             "epochs of each step; unless given, networks have 40 and trees one for each tree");
    cli_size(c, "samples", "N", &s->samples, "perturbations per example of the u-attacks");
    cli_size(c, "steps", "K", &s->steps, "steps of the iterated attacks");
    cli_flag(c, "theory", &o->theory,
             "the same grid by the theory, as all other commands compute, instead of print's recipe");
    cli_flag(
        c, "quick", &o->quick,
        "a small grid: mnist-1v7 (if it is not here, fashion-sandal-v-boot), l2, 3 epochs, 20 samples; with "
        "certified");
    cli_other(c, "part", "k/N", &c->part, cli_read_part, NULL,
              "compute only the k-th of N shares of the cells, and no tables: with all parts in one folder, "
              "the same command without --part makes them");
    cli_flag(c, "dry-run", &o->dry, "only list the cells and the time they will take");
    cli_text(c, "data-dir", "DIR", &s->data_dir,
             "where the datasets are; else $SURETY_DATA, the cache folder, /usr/share/datasets");
}

/* --quick decides what was not given. */
static surety_status settle_quick(cli *c, options *o) {
    surety_study_settings *s = &o->study;
    surety_data_list list = {0};
    unsigned mnist = 0, fashion = 0;
    surety_status status = surety_data_list_make(s->data_dir, &list, &c->error);
    if (status == SURETY_OK) status = task_number("mnist-1v7", &mnist, &c->error);
    if (status == SURETY_OK) status = task_number("fashion-sandal-v-boot", &fashion, &c->error);
    if (status == SURETY_OK) {
        if (!cli_given(c, "tasks")) s->tasks = 1u << (list.places[mnist].found ? mnist : fashion);
        if (!cli_given(c, "norms")) s->norms = 1u << SURETY_L2;
        if (!cli_given(c, "epochs")) s->epochs = 3;
        if (!cli_given(c, "samples")) s->samples = 20;
        if (!cli_given(c, "defenses")) s->defenses |= 1u << SURETY_WORST_CASE;
    }
    surety_data_list_free(&list);
    return status;
}

static void print_time(double seconds) {
    long rest = (long)(seconds + 0.5);
    cli_print("%ld:%02ld:%02ld", rest / 3600, rest / 60 % 60, rest % 60);
}

static surety_status dry_run(cli *c, const options *o) {
    surety_study_plan plan;
    surety_status status = surety_study_plan_make(&plan, &o->study, o->out, &c->run, &c->error);
    if (status != SURETY_OK) return status;
    if (c->json) {
        status = cli_print_json(c, surety_study_plan_json(&plan));
    } else {
        size_t done = 0;
        for (size_t i = 0; i < plan.count; i++) {
            char name[SURETY_CELL_NAME];
            surety_cell_name(&plan.cells[i], name);
            cli_print("%-46s %6.0f s%s\n", name, plan.seconds[i], plan.done[i] ? "  finished" : "");
            done += (size_t)plan.done[i];
        }
        cli_print("%zu cells, %zu of them finished, %zu printed values; about ", plan.count, done,
                  plan.values);
        print_time(plan.left);
        cli_print(" left\n");
    }
    surety_study_plan_free(&plan);
    return status;
}

/* The bar of the frame, and a line of its own for every finished cell. */
static void progress(void *arg, const surety_progress *p) {
    cli *c = arg;
    if (p->text[0]) {
        cli_progress_end(c);
        cli_print_to(stderr, "%s\n", p->text);
    } else if (isatty(STDERR_FILENO)) {
        cli_progress(c, p);
    }
}

static void print_summary(const options *o, const surety_study_summary *summary, const surety_agreement *a) {
    cli_print("%zu cells, %zu computed now in %.1f s\n", summary->cells, summary->computed, summary->seconds);
    if (a->compared)
        cli_print(
            "%zu of %zu printed values are within 0.0015 of ours, %zu within the tolerance (0.01 for a risk, "
            "0.02 for a bound)\n",
            a->near, a->compared, a->agree);
    if (a->in_band) cli_print("%zu are within the tolerance or inside the band of our seeds\n", a->either);
    cli_print("results: %s/results.csv\npage: %s/report.html\n", o->out, o->out);
}

static void print_part(const cli *c, const options *o, const surety_study_summary *s) {
    if (c->json)
        cli_print("{\"part\": %zu, \"of\": %zu, \"cells\": %zu, \"computed\": %zu, \"seconds\": %.3f}\n",
                  c->part.k, c->part.of, s->cells, s->computed, s->seconds);
    else
        cli_print("part %zu of %zu: %zu cells in %s, %zu computed now in %.1f s\n", c->part.k, c->part.of,
                  s->cells, o->out, s->computed, s->seconds);
}

static surety_status reproduce(cli *c, const options *o) {
    surety_study_summary summary;
    surety_results results = {0};
    surety_report_info page;
    if (c->run.progress) c->run.progress = progress;
    surety_status status = surety_study_run(&o->study, o->out, &summary, &c->run, &c->error);
    cli_progress_end(c);
    if (status == SURETY_OK && cli_is_part(c)) return print_part(c, o, &summary), SURETY_OK;
    if (status == SURETY_OK && !cli_speaks(c)) return SURETY_OK; /* the first process goes on */
    if (status == SURETY_OK) status = surety_report_make(o->out, &page, NULL, &c->error);
    if (status == SURETY_OK) status = surety_results_load(&results, o->out, &c->error);
    if (status == SURETY_E_STOPPED || status == SURETY_E_SYSTEM) {
        size_t used = strlen(c->error.expected);
        snprintf(c->error.expected + used, sizeof c->error.expected - used,
                 "%sthe same command goes on with the cells that are missing", used ? "; then " : "");
    }
    if (status != SURETY_OK) return status;
    if (surety_report_left_out()) cli_say(c, "note: %s", surety_report_left_out());
    surety_agreement a = surety_results_agreement(&results);
    if (c->json)
        cli_print(
            "{\"cells\": %zu, \"computed\": %zu, \"seconds\": %.3f, \"compared\": %zu, \"near\": %zu, "
            "\"agree\": %zu, \"in_band\": %zu, \"agree_or_in_band\": %zu}\n",
            summary.cells, summary.computed, summary.seconds, a.compared, a.near, a.agree, a.in_band,
            a.either);
    else
        print_summary(o, &summary, &a);
    surety_results_free(&results);
    return SURETY_OK;
}

static surety_status run(cli *c) {
    options o = {.study = surety_study_defaults()};
    add_options(c, &o);
    surety_status status = cli_parse(c, 0, 0);
    if (status != SURETY_OK || c->helped) return status;
    if (!o.out && !o.dry) return cli_wrong(c, "where should the study go? Give --out DIR");
    if (cli_is_part(c) && c->run.everyone)
        return cli_wrong(c, "parts and MPI are two ways to share the work: take one");
    o.study.part = c->part.k, o.study.parts = c->part.of;
    if (o.theory) o.study.recipe = SURETY_RECIPE_THEORY;
    if (o.quick) status = settle_quick(c, &o);
    if (status == SURETY_OK) status = surety_study_validate(&o.study, &c->error);
    if (status != SURETY_OK) return status;
    return o.dry ? dry_run(c, &o) : reproduce(c, &o);
}

const cli_command cli_reproduce = {
    .name = "reproduce",
    .usage = "--out DIR [options]",
    .summary = "the paper's tables and figures, beside print",
    .text =
        "Trains and evaluates every cell of the paper's grid, by the recipe that made the printed tables or "
        "with --theory by the theory, and puts each number beside the printed one. Safe to kill: the same "
        "command goes on with what is missing, and the same folder can be widened with other tasks, norms, "
        "defenses, voters or seeds. Results depend on nothing but the settings. Several processes may work "
        "in "
        "one folder: each takes cells that no other is at work on.",
    .example = "surety reproduce --out study --quick --epochs 1 --samples 5 --steps 5",
    .run = run,
};
