/* surety data list | show | fetch. */
#include <string.h>

#include "cli/classes.h"
#include "cli/cli.h"
#include "cli/shared.h"
#include "fetch/interface.h"
#include "surety/data.h"

static surety_status list(cli *c, const char *data_dir) {
    surety_data_list all;
    surety_status status = surety_data_list_make(data_dir, &all, &c->error);
    if (status != SURETY_OK) return status;
    if (c->json) {
        status = cli_print_json(c, surety_data_list_json(&all));
    } else {
        cli_print("%-24s %7s %6s  %s\n", "task", "train", "test", "where");
        for (size_t i = 0; i < all.count; i++) {
            const surety_task_place *p = &all.places[i];
            cli_print("%-24s %7zu %6zu  %s\n", p->task->name, p->task->train, p->task->test,
                      p->found ? p->folder : "not here");
        }
        const char *said = NULL; /* the tasks of one dataset share their problem */
        for (size_t i = 0; i < all.count; i++)
            if (!all.places[i].found && (!said || strcmp(said, all.places[i].task->dataset))) {
                said = all.places[i].task->dataset;
                cli_print("\n%s: %s\n", said, all.places[i].problem);
            }
    }
    surety_data_list_free(&all);
    return status;
}

/* The classes with their examples in each set; the first of them where there are many. */
static void print_classes(const surety_data_info *info) {
    enum { SHOWN = 12 };
    size_t shown = info->classes <= SHOWN ? info->classes : SHOWN - 1;
    cli_print("\n%5s  %-*s %7s %7s %7s\n", "class", CLI_NAME, "label", "S'", "S", "T");
    for (size_t k = 0; k < shown; k++) {
        char label[512], shown_label[CLI_NAME_BYTES];
        int named = info->class_names && strcmp(info->class_names[k], info->labels[k]) != 0;
        snprintf(label, sizeof label, named ? "%s (%s)" : "%s", info->labels[k],
                 named ? info->class_names[k] : "");
        cli_print("%5zu  %s %7zu %7zu %7zu\n", k, cli_fit(label, -CLI_NAME, shown_label),
                  info->class_m[SURETY_SET_PRIOR][k], info->class_m[SURETY_SET_LEARN][k],
                  info->class_m[SURETY_SET_TEST][k]);
    }
    if (shown < info->classes) cli_print("       .. and %zu more\n", info->classes - shown);
}

/* A feature, and what its scale is made of. */
static void print_feature(const surety_data_info *info, size_t j) {
    double shift = (double)info->shift[j], unit = 1 / (double)info->factor[j];
    char name[CLI_NAME_BYTES];
    cli_print("  %s", cli_fit(info->feature_names[j], -CLI_NAME, name));
    if (!info->moves[j])
        cli_print(" 0 or 1\n");
    else if (info->scaling == SURETY_SCALE_STANDARD)
        cli_print(" mean %-11.5g deviation %.5g\n", shift, unit);
    else if (info->scaling == SURETY_SCALE_MINMAX)
        cli_print(" from %-11.5g to %.5g\n", shift, shift + unit);
    else
        cli_print(" as it is\n");
}

/* What became of the columns of an own table. */
static void print_columns(const surety_data_info *info) {
    uint64_t filled = 0, kept = 0;
    size_t fixed = 0;
    for (int k = 0; k < SURETY_SETS; k++) filled += info->filled[k], kept += info->kept[k];
    for (size_t j = 0; j < info->d; j++) fixed += !info->moves[j];
    if (info->separator == '\t')
        cli_print("%zu columns, separated by tabs", info->columns);
    else if (info->separator == ' ')
        cli_print("%zu columns, separated by blanks", info->columns);
    else if (info->separator)
        cli_print("%zu columns, separated by '%c'", info->columns, info->separator);
    else
        cli_print("%zu columns", info->columns);
    cli_print("; scale %s: a radius is in %s\n", surety_scaling_name(info->scaling),
              surety_scaling_unit(info->scaling));
    if (fixed) cli_print("%zu features are categories or flags, 0 or 1, which no threat changes\n", fixed);
    if (filled)
        cli_print("%llu missing values filled in (%s)\n", (unsigned long long)filled,
                  surety_missing_name(info->missing));
    if (kept) cli_print("%llu missing values kept\n", (unsigned long long)kept);
    if (info->rounded)
        cli_print("%llu values are rounded to float32, by at most 6e-8 of their size\n",
                  (unsigned long long)info->rounded);
    for (size_t j = 0; info->preparation && j < info->d && j < 12; j++) print_feature(info, j);
    if (info->preparation && info->d > 12) cli_print("  .. and %zu more features\n", info->d - 12);
}

static void print_info(const surety_data_info *info) {
    static const char *const letters[SURETY_SETS] = {"S'", "S", "T"};
    static const char *const uses[SURETY_SETS] = {"trains the voters and the prior",
                                                  "trains the posterior and gives the guarantee",
                                                  "is for estimates only"};
    if (info->classes == 2)
        cli_print("%s: %s (-1) against %s (+1)\n", info->task ? info->task : "own files",
                  info->class_names ? info->class_names[0] : info->labels[0],
                  info->class_names ? info->class_names[1] : info->labels[1]);
    else
        cli_print("%s: %zu classes\n", info->task ? info->task : "own files", info->classes);
    cli_print("%zu features", info->d);
    if (info->height) cli_print(" (%zu x %zu)", info->height, info->width);
    if (info->scale != 1) cli_print(", divided by %g", info->scale);
    if (info->boxed) cli_print(", in [%g, %g]", info->box_lo, info->box_hi);
    cli_print("\n");
    if (!info->task) print_columns(info);
    if (info->unit)
        cli_print("units: rows of one '%s' are one; %zu in S', %zu in S, %zu in T\n", info->unit,
                  info->units[SURETY_SET_PRIOR], info->units[SURETY_SET_LEARN], info->units[SURETY_SET_TEST]);
    cli_print("\n%-3s %7s  %s\n", "set", "rows", "it");
    for (size_t i = 0; i < SURETY_SETS; i++) cli_print("%-3s %7zu  %s\n", letters[i], info->m[i], uses[i]);
    print_classes(info);
    cli_print("\nsplit: %s\n", info->split);
    for (size_t i = 0; i < info->files; i++)
        cli_print("%s: %s\n  sha256 %s\n", info->file[i].role, info->file[i].path, info->file[i].sha256);
    cli_print_copies(&info->copies);
}

static surety_status show(cli *c, const surety_data_settings *settings) {
    if (!settings->task && !settings->train)
        return cli_wrong(c, "which data? Give --task NAME, or --train FILE");
    surety_data *data = NULL;
    surety_status status = cli_open_data(c, &data, settings, NULL);
    if (status != SURETY_OK) {
        surety_data_free(data);
        return status;
    }
    if (c->json)
        status = cli_print_json(c, surety_data_info_json(surety_data_describe(data)));
    else
        print_info(surety_data_describe(data));
    surety_data_free(data);
    return status;
}

/* A table of tolerances to fill in. */
static surety_status tolerances(cli *c, const surety_data_settings *settings, const char *out) {
    surety_data *data = NULL;
    if (!settings->task && !settings->train)
        return cli_wrong(c, "tolerances of which data? Give --train FILE, or --task NAME");
    if (!out) return cli_wrong(c, "where should the table go? Give --out FILE");
    surety_status status = cli_open_data(c, &data, settings, NULL);
    if (status == SURETY_OK) status = surety_tolerance_template(data, out, &c->error);
    surety_data_free(data);
    if (status == SURETY_OK)
        cli_say(
            c,
            "%s: fill in the column radius, how far each feature may move either way (0: it cannot change); "
            "lo and hi are the range in S', widen them or leave them empty; then --tolerance %s",
            out, out);
    return status;
}

static surety_status fetch(cli *c, const char *data_dir, const char *mirror) {
    if (c->word_count < 2) return cli_wrong(c, "fetch what? mnist or fashion-mnist");
    surety_fetch_settings settings = surety_fetch_defaults();
    settings.dataset = c->words[1];
    settings.data_dir = data_dir;
    settings.mirror = mirror;
    surety_fetch_info info;
    surety_status status = surety_fetch(&info, &settings, &c->run, &c->error);
    if (status != SURETY_OK) return status;
    if (c->json) return cli_print_json(c, surety_fetch_info_json(&info));
    cli_progress_end(c);
    cli_print("%s is in %s, checksums right%s\n", info.dataset, info.folder,
              info.downloaded ? "" : " (nothing to download)");
    return SURETY_OK;
}

static surety_status run(cli *c) {
    surety_data_settings settings = surety_data_defaults();
    const char *mirror = NULL, *out = NULL;
    cli_data_options(c, &settings);
    cli_preparation_options(c, &settings);
    cli_u64(c, "seed", "N", &settings.seed, "own data: of the shuffle that splits it");
    cli_text(c, "mirror", "URL", &mirror, "fetch: the folder on a web server that has the four files");
    cli_output(c, "out", "FILE", &out, "tolerances: the CSV file to write");
    surety_status status = cli_parse(c, 1, 2);
    if (status != SURETY_OK || c->helped) return status;
    if (strcmp(c->words[0], "fetch") && c->word_count > 1)
        return cli_wrong(c, "'%s' is one word too many: an own file is given by --train", c->words[1]);
    if (!strcmp(c->words[0], "list")) return list(c, settings.data_dir);
    if (!strcmp(c->words[0], "show")) return show(c, &settings);
    if (!strcmp(c->words[0], "fetch")) return fetch(c, settings.data_dir, mirror);
    if (!strcmp(c->words[0], "tolerances")) return tolerances(c, &settings, out);
    static const char *const words[] = {"list", "show", "fetch", "tolerances"};
    const char *nearest = surety_nearest(c->words[0], words, 4);
    return cli_wrong(c, nearest ? "unknown word '%s': did you mean '%s'?" : "unknown word '%s': %s",
                     c->words[0], nearest ? nearest : "list, show, fetch or tolerances");
}

const cli_command cli_data = {
    .name = "data",
    .usage = "list | show | fetch NAME | tolerances [options]",
    .summary = "datasets and tasks: where they are, what is in them",
    .text =
        "list: the tasks, and where their data are. show: what is understood of a task or of "
        "own files, with columns, classes, split and checksums. fetch mnist, fetch "
        "fashion-mnist: looks for the dataset, and downloads it if it is not there; every file "
        "is checked against its SHA-256 before it is used. tolerances: writes a table to fill "
        "in, how far each feature may move, for --tolerance of the other commands.",
    .example = "surety data show --task fashion-sandal-v-boot",
    .run = run,
    .first = "list show fetch tolerances",
};
