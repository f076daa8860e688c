#include "cli/shared.h"

#include "cli/mpi.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values with names ---- */

#define READ_NAME(function, type, parse)                                               \
    static surety_status function(const char *text, void *target, surety_error *err) { \
        return parse(text, (type *)target, err);                                       \
    }
#define SHOW_NAME(function, type, name)                                          \
    static const char *function(const void *target, char *buffer, size_t size) { \
        snprintf(buffer, size, "%s", name(*(const type *)target));               \
        return buffer;                                                           \
    }
READ_NAME(read_norm, surety_norm, surety_norm_parse)
SHOW_NAME(show_norm, surety_norm, surety_norm_name)
READ_NAME(read_attack, surety_threat_kind, surety_threat_parse)
SHOW_NAME(show_attack, surety_threat_kind, surety_threat_name)
READ_NAME(read_copies, surety_copies_rule, surety_copies_parse)
SHOW_NAME(show_copies, surety_copies_rule, surety_copies_name)
READ_NAME(read_missing, surety_missing, surety_missing_parse)
SHOW_NAME(show_missing, surety_missing, surety_missing_name)
READ_NAME(read_scaling, surety_scaling, surety_scaling_parse)
READ_NAME(read_set, surety_voter_set, surety_voter_set_parse)
SHOW_NAME(show_set, surety_voter_set, surety_voter_set_name)

void cli_attack_option(cli *c, const char *name, surety_threat_kind *kind, const char *help) {
    cli_other(c, name, "NAME", kind, read_attack, show_attack, help);
}

void cli_voter_set_option(cli *c, const char *name, surety_voter_set *set, const char *help) {
    cli_other(c, name, "signed|real", set, read_set, show_set, help);
}

static surety_status bad_value(surety_error *err, const char *text, const char *expected) {
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not %s", text, expected);
    return SURETY_E_USAGE;
}

/* ---- data ---- */

static surety_status read_header(const char *text, void *target, surety_error *err) {
    static const char *const names[] = {"auto", "yes", "no"};
    for (int i = SURETY_HEADER_AUTO; i <= SURETY_HEADER_NO; i++)
        if (!strcmp(text, names[i])) return *(surety_header *)target = (surety_header)i, SURETY_OK;
    return bad_value(err, text, "auto, yes or no");
}

enum { LISTS = 3, LIST_MOST = 4096 };

/* A,B,..: names, each of which may stand in double quotes. They stay in memory of their own until the command
 * ends; list: whose. */
static surety_status read_names(const char *text, int list, const char *const **names, size_t *count,
                                surety_error *err) {
    static const char *lists[LISTS][LIST_MOST];
    static char *memory[LISTS];
    free(memory[list]);
    memory[list] = strdup(text);
    *names = lists[list];
    *count = 0;
    for (char *at = memory[list]; at && *count < LIST_MOST;) {
        int quoted = *at == '"';
        char *end = at + quoted + strcspn(at + quoted, quoted ? "\"" : ",");
        lists[list][(*count)++] = at + quoted;
        at = *end == '"' ? end + 1 : end;
        if ((quoted && !*end) || (*at && *at != ',')) return bad_value(err, text, "a list A,B,..");
        at = *at ? at + 1 : NULL;
        *end = 0;
    }
    return SURETY_OK;
}

static surety_status read_classes(const char *text, void *target, surety_error *err) {
    surety_data_settings *data = target;
    return read_names(text, 0, &data->classes, &data->class_count, err);
}

static surety_status read_drop(const char *text, void *target, surety_error *err) {
    surety_data_settings *data = target;
    return read_names(text, 1, &data->drop, &data->drop_count, err);
}

void cli_drop_option(cli *c, surety_data_settings *data) {
    cli_other(c, "drop", "A,B,..", data, read_drop, NULL,
              "columns that are left out, by name or number from 1");
}

static surety_status read_categorical(const char *text, void *target, surety_error *err) {
    surety_data_settings *data = target;
    return read_names(text, 2, &data->categorical, &data->categorical_count, err);
}

static surety_status read_separator(const char *text, void *target, surety_error *err) {
    char *separator = target;
    *separator = 0;
    if (!strcmp(text, "auto")) return SURETY_OK;
    *separator = !strcmp(text, "tab") || !strcmp(text, "\\t") ? '\t' : text[0];
    if (!strcmp(text, "blank") || !strcmp(text, " ")) return *separator = ' ', SURETY_OK;
    if ((!text[1] || *separator == '\t') && *separator > 0 && !strchr("\"\n\r.+-_", *separator) &&
        !((*separator | 32) >= 'a' && (*separator | 32) <= 'z') && !(*separator >= '0' && *separator <= '9'))
        return SURETY_OK;
    return bad_value(err, text, "auto, tab, blank or one character such as , ; |");
}

void cli_separator_option(cli *c, char *separator) {
    cli_other(c, "separator", "C", separator, read_separator, NULL,
              "CSV: what stands between fields: auto, tab, blank (any run of blanks) or one character");
}

/* N or P%. */
static surety_status read_share(const char *text, size_t *size, double *share, surety_error *err) {
    char *end = NULL;
    double number = surety_number(text, &end);
    *size = 0, *share = 0;
    if (end != text && !strcmp(end, "%") && number > 0 && number < 100)
        return *share = number / 100, SURETY_OK;
    if (end != text && !*end && number >= 0 && number == floor(number) && number < 0x1p52)
        return *size = (size_t)number, SURETY_OK;
    return bad_value(err, text, "a number of examples, or a share such as 40%");
}

static surety_status read_learn(const char *text, void *target, surety_error *err) {
    surety_data_settings *data = target;
    return read_share(text, &data->learn_size, &data->learn_share, err);
}

static surety_status read_test(const char *text, void *target, surety_error *err) {
    surety_data_settings *data = target;
    return read_share(text, &data->test_size, &data->test_share, err);
}

static const char *show_learn(const void *target, char *buffer, size_t size) {
    snprintf(buffer, size, "%g%%; 5000 of a task", 100 * ((const surety_data_settings *)target)->learn_share);
    return buffer;
}

static const char *show_test(const void *target, char *buffer, size_t size) {
    snprintf(buffer, size, "%g%%", 100 * ((const surety_data_settings *)target)->test_share);
    return buffer;
}

static surety_status read_import_classes(const char *text, void *target, surety_error *err) {
    surety_import_settings *import = target;
    return read_names(text, 0, &import->classes, &import->class_count, err);
}

void cli_import_classes_option(cli *c, surety_import_settings *import) {
    cli_other(c, "classes", "A,B,..", import, read_import_classes, NULL,
              "labels of the classes by class number; unless given those of the file, or 0, 1, ..");
}

surety_status cli_read_grid(const char *text, void *target, surety_error *err) {
    double numbers[3];
    if (!surety_numbers(text, ':', numbers, 3))
        return bad_value(err, text, "FIRST:LAST:STEP, such as 0:1:0.25");
    *(cli_grid *)target = (cli_grid){numbers[0], numbers[1], numbers[2]};
    return SURETY_OK;
}

const char *cli_show_grid(const void *target, char *buffer, size_t size) {
    const cli_grid *g = target;
    snprintf(buffer, size, "%g:%g:%g", g->first, g->last, g->step);
    return buffer;
}

/* LO,HI or none. */
static surety_status read_box(const char *text, void *target, surety_error *err) {
    surety_data_settings *data = target;
    double numbers[2];
    data->boxed = strcmp(text, "none") ? SURETY_BOX_GIVEN : SURETY_BOX_NONE;
    if (!data->boxed) return SURETY_OK;
    if (!surety_numbers(text, ',', numbers, 2) || !(numbers[0] < numbers[1]))
        return bad_value(err, text, "'none' or two numbers LO,HI such as 0,1");
    data->box_lo = numbers[0], data->box_hi = numbers[1];
    return SURETY_OK;
}

static const char *show_box(const void *target, char *buffer, size_t size) {
    (void)target, (void)buffer, (void)size;
    return "0,1 for bytes and tasks, else none";
}

static const char *show_scaling(const void *target, char *buffer, size_t size) {
    (void)target, (void)buffer, (void)size;
    return "standard; none for images and tasks";
}

void cli_data_file_options(cli *c, surety_data_settings *data) {
    cli_text(c, "data-dir", "DIR", &data->data_dir,
             "where the task's dataset is; else $SURETY_DATA, the cache folder, /usr/share/datasets");
    cli_input(c, "train", "FILE", &data->train, "own training data instead: CSV, NPY, NPZ, LIBSVM or IDX");
    cli_input(c, "test", "FILE", &data->test, "own test data");
    cli_input(c, "train-labels", "FILE", &data->train_labels, "labels of --train, unless they are beside it");
    cli_input(c, "test-labels", "FILE", &data->test_labels, "labels of --test, unless they are beside it");
    cli_text(c, "label-column", "NAME", &data->label_column, "CSV: the labels' column, by name or number");
    cli_other(c, "header", "auto|yes|no", &data->header, read_header, NULL,
              "CSV: whether the first line holds names");
    cli_separator_option(c, &data->separator);
    cli_drop_option(c, data);
    cli_other(c, "copies", "refuse|keep|drop", &data->copies, read_copies, show_copies,
              "rows of S that also occur in S', if they are more than 1 %; drop: of equal rows one is kept, "
              "before the split");
    cli_flag(c, "stream", &c->stream,
             "for data larger than memory: keep it in unnamed files in $TMPDIR or /var/tmp, with room for "
             "twice the data (of several processes each keeps its own rows); results are the same");
}

static surety_status read_fresh(const char *text, void *target, surety_error *err) {
    surety_data_settings *data = target;
    (void)err;
    data->train = text;
    data->fresh = 1;
    return SURETY_OK;
}

void cli_fresh_options(cli *c, surety_data_settings *data) {
    cli_other(c, "fresh", "FILE", data, read_fresh, NULL,
              "rows with labels that had no part in the training, by your word; none may be a row of the "
              "model's S' or S. They serve as S, for bounds on the vote as it is");
    cli_text(c, "fresh-labels", "FILE", &data->train_labels, "labels of --fresh, unless they are beside it");
}

/* Fresh rows stand alone: the model's data are not opened. */
static surety_status check_fresh(cli *c) {
    static const char *const others[] = {"task", "train", "learn-size", "test-size"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_given(c, others[i])) return cli_wrong(c, "--fresh and --%s do not go together", others[i]);
    return SURETY_OK;
}

void cli_box_option(cli *c, surety_data_settings *data) {
    cli_other(c, "box", "LO,HI|none", data, read_box, show_box, "features and perturbed features lie in it");
}

static const char *task_names(void) {
    static char text[512];
    size_t count, used = 0;
    const surety_task *tasks = surety_tasks(&count);
    for (size_t i = 0; i < count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "", tasks[i].name);
    return text;
}

void cli_data_options(cli *c, surety_data_settings *data) {
    cli_choice(c, "task", "NAME", &data->task, task_names(), "a task by name: 'surety data list' names them");
    cli_data_file_options(c, data);
    cli_other(c, "classes", "all|A,B,..", data, read_classes, NULL,
              "the labels that are classes; all others are left out. Of two, the first is -1, the second +1");
    cli_other(c, "learn-size", "N|P%", data, read_learn, show_learn,
              "examples in S, which learns the posterior and gives the bound");
    cli_other(c, "test-size", "N|P%", data, read_test, show_test,
              "without --test: examples of --train that are held out");
    cli_box_option(c, data);
}

void cli_preparation_options(cli *c, surety_data_settings *data) {
    cli_text(
        c, "unit", "COLUMN", &data->unit,
        "rows with the same value (of a patient, a sender, a machine) are one unit: they stay together, and "
        "risks count units");
    cli_other(c, "categorical", "A,B,..", data, read_categorical, NULL,
              "columns of categories: each becomes a feature of 0 or 1, which no threat changes");
    cli_other(c, "missing", "error|median|flag|keep", &data->missing, read_missing, show_missing,
              "empty fields, NA and NaN. error: refused. median: that of the column in S'. flag: the "
              "same, and a feature that says so. keep: left as they are, for kinds of voters that can "
              "take them");
    cli_other(c, "scale", "none|standard|minmax", &data->scaling, read_scaling, show_scaling,
              "standard: features by their mean and standard deviation in S'; minmax: by their "
              "smallest and largest value. Radii are then in that scale");
}

/* What a user should know before anything is trained. */
static void say_columns(const cli *c, const surety_data_info *info) {
    static const char *const letters[SURETY_SETS] = {"S'", "S", "T"};
    if (info->index_column)
        cli_warn(
            c,
            "the column '%s' numbers the rows, as pandas and R write it: a vote that sees it learns nothing "
            "about new rows. Leave it out with --drop '%s'",
            info->index_column, info->index_column);
    for (size_t i = 0; i < info->constants && i < 3; i++)
        cli_say(c, "note: the column '%s' is constant in S' and is left out", info->constant_names[i]);
    if (info->constants > 3) cli_say(c, "note: and %zu more columns", info->constants - 3);
    for (int k = 0; k < SURETY_SETS; k++)
        if (info->unseen[k])
            cli_say(c,
                    "note: %llu categories of rows of %s do not occur in S'; they count as none of its "
                    "categories",
                    (unsigned long long)info->unseen[k], letters[k]);
}

/* A vote has no answer to other labels: whoever meets such rows should know that they were not counted. That
 * training rows are left out was decided by --classes; of test and fresh rows nobody may have known it. */
static void say_left_out(const cli *c, const surety_data_info *info, int fresh) {
    static const char *const of[2] = {"training", "test"};
    for (int k = 0; k < 2 && !info->task; k++) {
        int known = cli_given(c, "classes") || (k == 0 && !fresh);
        if (info->left_out[k])
            (known ? cli_say : cli_warn)(
                c, "%s%llu %s rows are left out: their labels, such as '%s', are none of the classes",
                known ? "note: " : "", (unsigned long long)info->left_out[k],
                k == 0 && fresh ? "fresh" : of[k], info->left_out_label);
    }
}

static const char *tolerance_file; /* --tolerance */

/* What of a ball depends on the data. Its tolerance stays in memory until the command ends. */
static surety_status settle_ball(cli *c, const surety_data_info *info, surety_threat *attack) {
    static surety_tolerance *given, *brought;
    surety_features features = surety_data_features(info);
    if (!attack) return SURETY_OK;
    if (!tolerance_file && attack->ball.tolerance && !cli_given(c, "box")) { /* the model's, and its box */
        attack->ball.slack = info->scaling == SURETY_SCALE_NONE ? 0 : SURETY_SCALED;
        return SURETY_OK;
    }
    surety_tolerance_free(given);
    surety_tolerance_free(brought);
    given = brought = NULL;
    surety_status status = SURETY_OK;
    if (tolerance_file) status = surety_tolerance_read(tolerance_file, &features, &given, &c->error);
    return status == SURETY_OK ? surety_ball_settle(&attack->ball, given, info, &brought, &c->error) : status;
}

surety_status cli_open_data(cli *c, surety_data **data, const surety_data_settings *settings,
                            surety_threat *attack) {
    if (settings->test && cli_given(c, "test-size"))
        return cli_wrong(c, "--test and --test-size do not go together: T is one of the two");
    surety_data_settings own = *settings;
    own.everyone = c->run.everyone;
    surety_status status = surety_data_open(&own, data, &c->error);
    const surety_data_info *info = status == SURETY_OK ? surety_data_describe(*data) : NULL;
    for (size_t i = 0; info && i < info->files && status == SURETY_OK; i++)
        status = cli_file_check(c, &(cli_file){NULL, info->file[i].path, false});
    if (status != SURETY_OK) return status;
    say_columns(c, info);
    say_left_out(c, info, settings->fresh);
    status = settle_ball(c, info, attack);
    if (status != SURETY_OK) return status;
    const surety_tolerance *tolerance = attack ? attack->ball.tolerance : NULL;
    return surety_agree("tolerance", tolerance ? tolerance->sha256 : "", &c->run, &c->error);
}

/* ---- ball ---- */

void cli_ball_options(cli *c, surety_threat *attack) {
    cli_other(c, "norm", "l2|linf|l1", &attack->ball.norm, read_norm, show_norm, "norm of the ball");
    cli_real(c, "eps", "B", &attack->ball.radius,
             "radius of the ball; tasks: unless given 1 for l2, 0.1 for linf, 10 for l1; with a tolerance 1");
    cli_input(c, "tolerance", "FILE", &tolerance_file,
              "CSV with the columns feature, radius and, if wanted, lo and hi: how far each feature "
              "may move, in its own unit (0: it cannot change). 'surety data tolerances' writes one "
              "to fill in. Radius, steps and noise are then multiples of these");
    cli_size(c, "steps", "K", &attack->steps, "steps of the iterated attacks");
    cli_real(c, "step-size", "S", &attack->step_size, "length of a step; 0 is 2.5 radius / steps");
    cli_real(c, "noise", "W", &attack->noise,
             "half width of the noise of the u-attacks; in units of a tolerance");
    cli_size(c, "samples", "N", &attack->samples, "perturbations per example of the u-attacks");
    cli_size(c, "restarts", "N", &attack->restarts,
             "random starts of unif, pgd and apgd; the best one counts");
    cli_u64(c, "budget", "N", &attack->budget,
            "trees: steps of the search for an example, in the worst case and of the attack search; 0: none");
    cli_u64(c, "seed", "N", &attack->seed, "seed of all random numbers, below 2^63");
}

static const char *show_models(const void *target, char *buffer, size_t size) {
    (void)target, (void)buffer, (void)size;
    return "the model's";
}

void cli_model_decides(cli *c) {
    static const char *const own[] = {"task",      "classes", "label-column", "header", "learn-size",
                                      "test-size", "copies",  "box",          "norm",   "eps",
                                      "seed",      "delta",   "tolerance"};
    for (size_t i = 0; i < c->count; i++) {
        cli_option *o = &c->options[i];
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            if (!strcmp(o->name, own[k])) o->show = show_models;
        if (!strcmp(o->name, "eps"))
            o->help =
                "radius of the ball; of a task, for another norm than the model's, 1 for l2, 0.1 for linf, "
                "10 for l1; with a tolerance 1";
    }
}

surety_status cli_settle(cli *c, surety_data_settings *data, surety_threat *attack) {
    if (!cli_given(c, "eps"))
        attack->ball.radius = tolerance_file ? 1 : surety_norm_radius(attack->ball.norm);
    attack->ball.has_box = 0; /* the data's, when they are open */
    data->seed = attack->seed;
    return surety_threat_validate(attack, &c->error);
}

surety_status cli_settle_model(cli *c, const surety_model *model, surety_data_settings *data,
                               surety_threat *attack) {
    const surety_model_facts *facts = surety_model_about(model);
    surety_data_settings own = *data;
    char sha256[65];
    surety_status status = surety_model_data_settings(model, &own, &c->error);
    if (status == SURETY_OK) status = surety_model_sha256(model, sha256, &c->error);
    if (status == SURETY_OK) status = surety_agree("model", sha256, &c->run, &c->error);
    if (status != SURETY_OK) return status;
    if (data->fresh && (status = check_fresh(c)) != SURETY_OK) return status;
    if (!cli_given(c, "task") && !cli_given(c, "train") && !data->fresh) data->task = own.task;
    if (!data->task && !data->train && surety_model_imported(model))
        return cli_wrong(c,
                         "an imported model has no data of its own: give rows that its makers never saw with "
                         "--fresh FILE");
    if (!data->task && !data->train)
        return cli_wrong(c, "the model was trained on own data: give it again with --train (and --test)");
    if (data->test && own.test_size && !data->fresh && !cli_given(c, "test-size"))
        return cli_wrong(c,
                         "the model's T are rows of --train: give other rows that should be judged by "
                         "--fresh, not --test");
    if (!cli_given(c, "classes") && !data->task) {
        data->classes = own.classes;
        data->class_count = own.class_count;
    }
    if (!cli_given(c, "label-column") && !data->task) data->label_column = own.label_column;
    if (!cli_given(c, "header")) data->header = own.header;
    data->preparation = own.preparation, data->scaling = own.scaling, data->missing = own.missing;
    if (!cli_given(c, "learn-size")) data->learn_size = own.learn_size;
    if (!cli_given(c, "test-size")) data->test_size = data->fresh ? 0 : own.test_size, data->test_share = 0;
    if (!cli_given(c, "copies")) data->copies = own.copies;
    if (!cli_given(c, "box")) data->boxed = own.boxed, data->box_lo = own.box_lo, data->box_hi = own.box_hi;
    data->seed = own.seed; /* of the split: --seed is the attack's */
    if (!cli_given(c, "seed")) attack->seed = facts->seed;
    if (!cli_given(c, "norm")) attack->ball.norm = facts->ball.norm;
    attack->ball.tolerance = facts->ball.tolerance;
    attack->ball.slack = facts->ball.slack;
    int given =
        tolerance_file || (facts->ball.tolerance && !surety_tolerance_is_scale(facts->ball.tolerance));
    if (!cli_given(c, "eps") && !tolerance_file && attack->ball.norm == facts->ball.norm)
        attack->ball.radius = facts->ball.radius;
    else if (!cli_given(c, "eps"))
        attack->ball.radius = given ? 1 : data->task ? surety_norm_radius(attack->ball.norm) : 0;
    attack->ball.has_box = facts->ball.has_box; /* or the data's, when they are open */
    attack->ball.lo = facts->ball.lo, attack->ball.hi = facts->ball.hi;
    return surety_threat_validate(attack, &c->error);
}

const char *cli_ball_words(const surety_ball *ball, surety_scaling scaling, char buffer[160]) {
    const surety_tolerance *t = ball->tolerance;
    int used = snprintf(buffer, 160, "%s ball of radius %g", surety_norm_name(ball->norm), ball->radius);
    if (t && !surety_tolerance_is_scale(t))
        used += snprintf(buffer + used, 160 - (size_t)used, ", in tolerances of %zu features", t->d);
    else if (scaling != SURETY_SCALE_NONE)
        used += snprintf(buffer + used, 160 - (size_t)used, ", in %s", surety_scaling_unit(scaling));
    if (t && t->moving < t->d)
        snprintf(buffer + used, 160 - (size_t)used, " (%zu of %zu features cannot change)", t->d - t->moving,
                 t->d);
    return buffer;
}

bool cli_radius_given(const cli *c) {
    return cli_given(c, "eps") || cli_given(c, "tolerance");
}

surety_status cli_need_radius(cli *c, const surety_threat *threat) {
    if (threat->kind == SURETY_ATTACK_NONE || threat->ball.radius > 0 || cli_radius_given(c))
        return SURETY_OK;
    snprintf(c->error.expected, sizeof c->error.expected,
             "--norm linf --eps B: how far each feature may move; or --tolerance FILE, a radius for each: "
             "'surety data "
             "tolerances' writes one to fill in. What is harmless in your data, nobody else can know");
    return cli_wrong(c, "own data have no usual radius, and %s needs one", surety_threat_name(threat->kind));
}

void cli_warn_few(const cli *c, size_t m, double delta) {
    surety_plan plan = surety_plan_defaults();
    double best = 0;
    plan.expected = 0;
    plan.delta = delta;
    if (surety_plan_promise(&plan, m, &best, NULL) != SURETY_OK || best <= 0.05) return;
    cli_warn(c,
             "S has %zu examples: even without a failure no limit below %.3f can be promised. 'surety "
             "plan' says how many a promise needs",
             m, cli_limit(best, 3));
}

void cli_print_copies(const surety_copies *copies) {
    char text[SURETY_COPIES_TEXT];
    surety_copies_text(copies, text);
    cli_print("copies: ");
    cli_print_wrapped(text, 2, 8);
}

/* ---- looks ---- */

static void note_unlogged(const cli *c, const surety_error *err) {
    cli_say(c, "note: this look at S is not in the log: %s%s%s", err->file, *err->file ? ": " : "",
            err->what);
}

void cli_look(cli *c, const surety_model *model, const surety_data *data, const char *what) {
    surety_look look = {0};
    surety_error err = SURETY_ERROR_NONE;
    if (!cli_speaks(c)) return;
    snprintf(look.command, sizeof look.command, "%s", c->command->name);
    snprintf(look.learn, sizeof look.learn, "%s", surety_data_describe(data)->set_sha256[SURETY_SET_LEARN]);
    snprintf(look.what, sizeof look.what, "%s", what);
    surety_status status = surety_model_sha256(model, look.model, &err);
    if (status == SURETY_OK) status = surety_looks_add(&look, &err);
    if (status != SURETY_OK) note_unlogged(c, &err);
}

void cli_look_certificate(cli *c, const surety_look *look, uint64_t paid, const char *file) {
    surety_error err = SURETY_ERROR_NONE;
    surety_looks looks;
    if (!cli_speaks(c)) return;
    if (surety_looks_add(look, &err) != SURETY_OK) note_unlogged(c, &err);
    if (surety_looks_read(NULL, &looks, NULL) != SURETY_OK) return;
    surety_look_count count = surety_looks_count(&looks, look->learn);
    uint64_t logged = count.certificates;
    if (count.other_draws && logged + count.other_draws > paid)
        cli_warn(c,
                 "%" PRIu64
                 " certificate%s from another split of the same file %s made "
                 "on this machine ('surety looks' lists them), and --looks says %" PRIu64
                 ": whoever keeps the best of them has looked as often, and this one promises too much",
                 count.other_draws, count.other_draws == 1 ? "" : "s",
                 count.other_draws == 1 ? "was" : "were", paid);
    if (logged > paid)
        cli_warn(c,
                 "%" PRIu64
                 " certificates from this S were made on this machine ('surety looks %s' lists "
                 "them), and --looks says %" PRIu64
                 ": if what was seen of S led to any of them, this one promises too much",
                 logged, file, paid);
    surety_looks_free(&looks);
}

/* ---- tables of bounds ---- */

char cli_letter(cli_letters *letters, surety_bound_id event) {
    int k = 0;
    while (k < letters->count && letters->events[k] != event) k++;
    if (k == letters->count) letters->events[letters->count++] = event;
    return (char)('a' + k);
}
