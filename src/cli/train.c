/* surety train: Algorithm 1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/classes.h"
#include "cli/cli.h"
#include "cli/mpi.h"
#include "cli/shared.h"
#include "surety/train.h"

/* What is not given is as in the paper, or as suits tables of one's own. */
typedef enum preset { PRESET_AUTO, PRESET_PAPER, PRESET_TABLE } preset;

typedef struct options {
    surety_data_settings data;
    preset preset;
    surety_train_settings train;
    bool keep_last, decay, balance;
    size_t epochs;
    const char *out;
    surety_checkpointing checkpointing;
    char beside[4096]; /* the checkpoint that was not asked for */
    bool resume, timing;
} options;

static surety_status read_defense(const char *text, void *target, surety_error *err) {
    return surety_defense_parse(text, target, err);
}

static const char *show_defense(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return surety_defense_name(*(const surety_threat_kind *)target);
}

static const char *const presets[] = {"auto", "paper", "table"};

static surety_status read_preset(const char *text, void *target, surety_error *err) {
    for (int i = PRESET_AUTO; i <= PRESET_TABLE; i++)
        if (!strcmp(text, presets[i])) return *(preset *)target = (preset)i, SURETY_OK;
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not auto, paper or table", text);
    return SURETY_E_USAGE;
}

static const char *show_preset(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return presets[*(const preset *)target];
}

static surety_status read_keep(const char *text, void *target, surety_error *err) {
    *(bool *)target = !strcmp(text, "last");
    if (*(bool *)target || !strcmp(text, "best")) return SURETY_OK;
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not best or last", text);
    return SURETY_E_USAGE;
}

static const char *show_keep(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return *(const bool *)target ? "last" : "best";
}

static surety_status read_objective(const char *text, void *target, surety_error *err) {
    return surety_objective_parse(text, target, err);
}

static const char *show_objective(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return surety_objective_name(*(const surety_objective *)target);
}

static surety_status read_loss(const char *text, void *target, surety_error *err) {
    return surety_loss_parse(text, target, err);
}

static const char *show_loss(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return surety_loss_name(*(const surety_loss *)target);
}

static surety_status read_augment(const char *text, void *target, surety_error *err) {
    return surety_augment_parse(text, target, err);
}

static const char *show_augment(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return surety_augment_name(*(const surety_augment *)target);
}

/* Units of layers: numbers with commas between them. */
static surety_status read_layers(const char *text, void *target, surety_error *err) {
    size_t *layers = target, n = 0;
    const char *at = text;
    memset(layers, 0, SURETY_LAYERS * sizeof *layers);
    while (n < SURETY_LAYERS && *at >= '1' && *at <= '9') {
        char *end;
        layers[n++] = strtoul(at, &end, 10);
        at = end + (*end == ',');
        if (*end != ',') break;
    }
    if (n && !*at && at[-1] != ',') return SURETY_OK;
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not a list of 1 to %d layers, such as 128,128", text,
             SURETY_LAYERS);
    return SURETY_E_USAGE;
}

static const char *show_layers(const void *target, char *buffer, size_t size) {
    const size_t *layers = target;
    size_t used = 0;
    for (size_t l = 0; l < SURETY_LAYERS && layers[l] && used < size; l++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%zu", l ? "," : "", layers[l]);
    return used ? buffer : NULL;
}

enum { KINDS_HEAD = 16 }; /* "kind of voters: " */

/* The kinds of voters, as the library has them. */
static const char *kinds_help(void) {
    static char text[256];
    size_t used = (size_t)snprintf(text, sizeof text, "kind of voters:");
    for (size_t i = 0; surety_kind_name(i) && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s", i ? "," : "", surety_kind_name(i));
    return text;
}

static void add_options(cli *c, options *o) {
    surety_train_settings *t = &o->train;
    cli_data_options(c, &o->data);
    cli_preparation_options(c, &o->data);
    cli_other(
        c, "preset", "auto|paper|table", &o->preset, read_preset, show_preset,
        "where the other defaults come from. paper: those below. table: real votes, logistic loss, no step "
        "2, 2500 "
        "batches, the last epoch kept, and the certified defense if a radius is given, else none. auto: "
        "paper for tasks, table for own data");
    cli_other(c, "defense", "NAME", &t->defense.kind, read_defense, show_defense,
              "attack applied to each batch of step 1. certified: the worst case over the whole ball "
              "is lowered instead. The defaults are then those that gave the smallest worst case "
              "(docs/notes/worst-case.md): --objective baseline, --voters real, --trees 10, --depth "
              "3, --mask 0, --decay, --keep last");
    cli_real(c, "mix", "W", &t->mix, "defense certified: weight of the loss at pgd's points beside it");
    cli_other(
        c, "objective", "NAME", &t->objective, read_objective, show_objective,
        "what step 2 lowers: chromatic, average-max, seeger, average-max-seeger, worst-case; baseline: no "
        "step 2, and the default for more than two classes");
    cli_other(c, "loss", "NAME", &t->loss, read_loss, show_loss,
              "what step 1 lowers. linear: as the paper. logistic: with uniform weights. bounded: "
              "logistic at first, a count of errors at the end. auto: bounded for certified networks "
              "of two classes; logistic for other networks, for more than two classes and against the "
              "worst case; else linear");
    cli_voter_set_option(c, "voters", &t->voter_set,
                         "signed: a voter only names a class; real: its value counts. Unless given, real for "
                         "more than two classes");
    cli_ball_options(c, &t->defense);
    cli_choice(c, "kind", "NAME", &t->voters.kind, kinds_help() + KINDS_HEAD, kinds_help());
    cli_size(
        c, "trees", "H", &t->voters.count,
        "how many voters: trees of the forest, linear ones, or networks (default 1); kind trees: at most so "
        "many are grown, one in an epoch (default 400; own data: 200, all kept)");
    cli_size(c, "depth", "L", &t->voters.depth,
             "depth of soft trees, 1 to 8, or of grown ones, 1 to 12 (default 6; own data: 8)");
    cli_other(c, "layers", "N,N,..", t->voters.layers, read_layers, show_layers,
              "kind lipschitz: units of the layers (default 128,128)");
    cli_real(
        c, "mask", "P", &t->voters.mask,
        "a split does not see a feature with this probability (kind trees, of more than 8 features: 0.5, own "
        "data 0.75)");
    cli_size(c, "epochs", "T", &o->epochs,
             "epochs of each step; 0: as many as make 2500 batches; kind lipschitz: 40 unless given");
    cli_size(c, "batch", "B", &t->batch, "examples per batch; kind lipschitz: 32 unless given");
    cli_real(c, "lr", "R", &t->lr,
             "learning rate of Adam (kind lipschitz: 0.003); kind trees: what a tree counts (default 0.1)");
    cli_flag(c, "balance", &o->balance, "every class counts the same in step 1, however rare it is");
    cli_other(c, "augment", "none|shift", &t->augment, read_augment, show_augment,
              "images: step 1 also trains on copies that are moved by a pixel to each side");
    cli_flag(c, "decay", &o->decay, "the learning rate falls to 0 over the second half of the epochs");
    cli_real(c, "delta", "D", &t->delta, "1 - confidence");
    cli_real(c, "holdout", "SHARE", &t->holdout,
             "this share of S' chooses the epoch of step 1, instead of S: then T_p is 1");
    cli_other(c, "keep", "best|last", &o->keep_last, read_keep, show_keep,
              "epoch of step 1 that is kept; last: nothing is chosen, T_p is 1");
    cli_output(c, "out", "MODEL", &o->out, "file of the model (safetensors)");
    cli_output(
        c, "checkpoint", "FILE", &o->checkpointing.file,
        "keep the state here after every epoch; unless given, now and then in MODEL.checkpoint, which is "
        "removed at the end. One that is there already needs --resume");
    cli_flag(c, "resume", &o->resume, "go on from the checkpoint, if it is there");
    cli_flag(c, "timing", &o->timing, "say where the time went");
}

/* What was not given follows from the preset, from the kind, or from the certified defense. */
static void settle_rest(const cli *c, options *o) {
    surety_train_settings *t = &o->train, own = o->train;
    if (o->preset == PRESET_TABLE)
        surety_train_own(&own);
    else if (!surety_train_kind(&own)) {
        if (t->defense.kind != SURETY_WORST_CASE) return;
        surety_train_certified(&own);
    }
    if (!cli_given(c, "defense")) t->defense.kind = own.defense.kind;
    if (!cli_given(c, "mask")) t->voters.mask = own.voters.mask;
    if (!cli_given(c, "voters")) t->voter_set = own.voter_set;
    if (!cli_given(c, "depth")) t->voters.depth = own.voters.depth;
    if (!cli_given(c, "trees")) t->voters.count = own.voters.count;
    if (!cli_given(c, "loss")) t->loss = own.loss;
    if (!cli_given(c, "epochs")) t->step1_epochs = own.step1_epochs, t->step2_epochs = own.step2_epochs;
    if (!cli_given(c, "lr")) t->lr = own.lr;
    if (!cli_given(c, "batch")) t->batch = own.batch;
    if (!cli_given(c, "layers")) memcpy(t->voters.layers, own.voters.layers, sizeof own.voters.layers);
    if (!cli_given(c, "holdout") && !cli_given(c, "keep")) t->holdout = own.holdout;
    t->decay = own.decay;
    if (!cli_given(c, "objective")) t->objective = own.objective;
    surety_train_follow(t, 2, cli_given(c, "voters"));
    if (!cli_given(c, "keep") && !cli_given(c, "holdout")) t->keep_last = own.keep_last;
}

/* Tables have no usual radius: with one the default is the certified defense, without one there is none. */
static surety_status settle_radius(cli *c, options *o) {
    surety_threat *defense = &o->train.defense;
    if (o->preset == PRESET_PAPER) return SURETY_OK;
    if (cli_radius_given(c)) {
        if (!cli_given(c, "defense")) defense->kind = SURETY_WORST_CASE;
        return SURETY_OK;
    }
    if (!cli_given(c, "defense")) defense->kind = SURETY_ATTACK_NONE;
    defense->ball.radius = 0;
    return cli_need_radius(c, defense);
}

/* Without --checkpoint there is one beside the model, so that a signal loses little. */
static surety_status settle_checkpoint(cli *c, options *o) {
    o->checkpointing.resume = o->resume;
    if (o->checkpointing.file) return SURETY_OK;
    int length = snprintf(o->beside, sizeof o->beside, "%s.checkpoint", o->out);
    if (length >= (int)sizeof o->beside) return cli_wrong(c, "the name of the model is too long");
    o->checkpointing.file = o->beside;
    o->checkpointing.seldom = 1;
    return cli_file_add(c, "checkpoint", o->beside, true);
}

static surety_status settle(cli *c, options *o) {
    surety_train_settings *t = &o->train;
    if (!o->out) return cli_wrong(c, "where should the model go? Give --out MODEL");
    if (!o->data.task && !o->data.train) return cli_wrong(c, "which data? Give --task NAME, or --train FILE");
    if (o->preset == PRESET_AUTO) o->preset = o->data.task ? PRESET_PAPER : PRESET_TABLE;
    surety_status status = settle_checkpoint(c, o);
    if (status != SURETY_OK) return status;
    status = cli_settle(c, &o->data, &t->defense);
    if (status == SURETY_OK) status = settle_radius(c, o);
    if (status != SURETY_OK) return status;
    t->seed = t->defense.seed;
    t->step1_epochs = t->step2_epochs = o->epochs;
    t->keep_last = o->keep_last;
    t->decay = o->decay;
    t->balance = o->balance;
    settle_rest(c, o);
    if (t->mix != 0 && t->defense.kind != SURETY_WORST_CASE)
        return cli_wrong(c, "--mix goes with --defense certified");
    return surety_train_validate(t, &c->error);
}

static void print_classes(const surety_train_result *r, const char *const *names) {
    char whose[128];
    cli_print("%s, %zu classes\n", r->kind, r->clean.classes);
    if (!strcmp(r->clean_rows, "test"))
        snprintf(whose, sizeof whose, "clean error on the %zu rows of T", r->clean.m);
    else
        snprintf(whose, sizeof whose, "clean error of the prior's vote on %zu %s rows of S'", r->clean.m,
                 !strcmp(r->clean_rows, "held_out") ? "held-out" : "training");
    cli_print_clean(&r->clean, whose, names);
    cli_print_confusion(&r->clean, names);
}

/* What makes a model useless, said even with --quiet. */
static void warn(const cli *c, const options *o, const surety_train_result *r, const char *const *names) {
    size_t answer = 0;
    if (surety_train_warning(&o->train)) cli_warn(c, "%s", surety_train_warning(&o->train));
    if (!r->constant) return;
    for (size_t k = 0; k < r->clean.classes; k++)
        for (size_t y = 0; y < r->clean.classes; y++)
            if (r->clean.answers[y * (r->clean.classes + 1) + k]) answer = k;
    cli_warn(c,
             "the vote answers '%s' to every row: it has learned nothing. A smaller radius, more "
             "--epochs or --balance may help",
             names[answer]);
}

static void print_result(const options *o, const surety_train_result *r) {
    cli_print("step 1: epoch %zu of %zu is %s, risk %.4f\n", r->step1_best, r->step1_epochs,
              o->train.keep_last ? "kept" : "the best", r->step1_risk[r->step1_best - 1]);
    if (!o->train.keep_last && r->step1_best == r->step1_epochs)
        cli_print("note: the last epoch was the best: with more --epochs the vote may get better\n");
    if (r->step2_best)
        cli_print("step 2: epoch %zu of %zu is the best, objective %.4f\n", r->step2_best, r->step2_epochs,
                  r->step2_objective[r->step2_best - 1]);
    cli_print("for its bounds: T_p = %llu candidate prior%s, KL(Q||P) = %.4f%s; %.1f s\n",
              (unsigned long long)r->priors_compared, r->priors_compared == 1 ? "" : "s", r->kl,
              r->priors_compared == 1 && !r->step2_best ? " (S chose nothing)" : "", r->seconds);
    cli_print_copies(&r->copies);
    if (o->timing) {
        const surety_timing *t = &r->timing;
        cli_print("time: attack %.1f s, update %.1f s, choosing epochs %.1f s\n", t->attack, t->update,
                  t->choose);
    }
}

/* Hold-outs of S' spoke for trees on six of eight tables (docs/notes/tables.md). */
static void print_kinds(const cli *c, const options *o) {
    const surety_threat *defense = &o->train.defense;
    if (o->preset == PRESET_TABLE && !cli_given(c, "kind") && defense->kind == SURETY_WORST_CASE &&
        defense->ball.norm == SURETY_LINF)
        cli_print(
            "note: against linf, --kind trees often gives a smaller limit. Choose before you certify\n");
}

static void print_all(const cli *c, const options *o, const surety_train_result *r, const surety_model *model,
                      const char *const *names) {
    print_result(o, r);
    print_classes(r, names);
    cli_print_dictator(model);
    print_kinds(c, o);
    cli_print("model: %s\n", o->out);
}

/* The checkpoint beside the model goes when it is of no more use: the model is there, or the training
 * diverged. After a signal or a full disk it is told how to go on. */
static void end_checkpoint(cli *c, const options *o, surety_status status) {
    const char *file = o->checkpointing.file;
    if (file == o->beside && (status == SURETY_OK || status == SURETY_E_CHECK) && cli_speaks(c)) remove(file);
    if (status != SURETY_E_STOPPED && (status != SURETY_E_SYSTEM || c->error.expected[0])) return;
    if (access(file, F_OK) == 0)
        snprintf(c->error.expected, sizeof c->error.expected, "to go on, the same command with --resume");
}

/* With more classes than leaves a tree cannot name them all: what single voters do well says little about the
 * vote, and a step 2 that looks at them alone gives one of them all the weight (docs/notes/classes.md). */
static void settle_classes(const cli *c, options *o, const surety_data *data) {
    if (surety_data_describe(data)->classes == 2) return;
    if (!cli_given(c, "voters")) o->train.voter_set = SURETY_REAL;
    if (!cli_given(c, "objective")) o->train.objective = SURETY_OBJECTIVE_BASELINE;
}

/* A training looks at S where S chooses the epoch of step 1, or learns the posterior. */
static void log_look(cli *c, const options *o, const surety_model *model, const surety_data *data) {
    const surety_train_settings *t = &o->train;
    int chose = !t->keep_last && !(t->holdout > 0), learned = t->objective != SURETY_OBJECTIVE_BASELINE;
    char what[200];
    if (!chose && !learned) return;
    snprintf(what, sizeof what, "defense %s, S%s%s%s", surety_defense_name(t->defense.kind),
             chose ? " chose the epoch" : "", chose && learned ? "," : "",
             learned ? " learned the posterior" : "");
    cli_look(c, model, data, what);
}

static surety_status train(cli *c, options *o) {
    surety_data *data = NULL;
    surety_model *model = NULL;
    surety_train_result result = {0};
    surety_status status = cli_check_out(c, o->out);
    o->data.own_rows = c->stream;
    if (status == SURETY_OK) status = cli_open_data(c, &data, &o->data, &o->train.defense);
    if (status == SURETY_OK) settle_classes(c, o, data);
    if (status == SURETY_OK)
        status = surety_train(&o->train, data, &o->checkpointing, &model, &result, &c->run, &c->error);
    cli_progress_end(c);
    if (status == SURETY_OK) log_look(c, o, model, data);
    if (status == SURETY_OK) status = surety_model_save(model, o->out, &c->error);
    end_checkpoint(c, o, status);
    if (status == SURETY_OK && c->json)
        status = cli_print_json(
            c, surety_train_result_json(&result, surety_class_names(surety_data_describe(data))));
    else if (status == SURETY_OK)
        print_all(c, o, &result, model, surety_class_names(surety_data_describe(data)));
    if (status == SURETY_OK) {
        warn(c, o, &result, surety_class_names(surety_data_describe(data)));
        cli_warn_few(c, surety_data_describe(data)->units[SURETY_SET_LEARN], o->train.delta);
    }
    surety_train_result_free(&result);
    surety_model_free(model);
    surety_data_free(data);
    return status;
}

static surety_status run(cli *c) {
    options o = {.data = surety_data_defaults()};
    o.train = surety_train_defaults();
    o.epochs = o.train.step1_epochs;
    add_options(c, &o);
    surety_status status = cli_parse(c, 0, 0);
    if (status != SURETY_OK || c->helped) return status;
    status = settle(c, &o);
    return status == SURETY_OK ? train(c, &o) : status;
}

const cli_command cli_train = {
    .name = "train",
    .usage = "--task NAME|--train FILE --out MODEL [options]",
    .summary = "train a vote that resists attacks (Algorithm 1)",
    .text =
        "Step 1 learns voters and prior from S', every batch attacked by the defense under the current vote. "
        "As in the paper, S chooses the best epoch of a task, and step 2 learns the posterior from S by "
        "lowering a bound. Own tables keep the last epoch, and S chooses nothing. The same seed gives the "
        "same file, for any number of threads and after any interruption.",
    .example = "surety train --task fashion-sandal-v-boot --epochs 2 --out model.safetensors",
    .run = run,
};
