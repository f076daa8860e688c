/* surety predict: votes and classes of a model on the rows of a table. */
#include "cli/classes.h"
#include "cli/cli.h"
#include "cli/shared.h"
#include "surety/attack.h"

#include <math.h>

typedef struct options {
    surety_predict_files files;
    surety_data_settings table; /* columns to drop */
    bool prior, prove, radius;
    const char *norm;
    double eps; /* NaN: the model's */
    surety_ball ball;
} options;

/* The ball of the proofs: the model's, unless told otherwise. */
static surety_status settle_ball(cli *c, options *o, const surety_model *model) {
    if (!o->prove && !o->radius) {
        if (cli_given(c, "eps") || cli_given(c, "norm"))
            return cli_wrong(c, "--eps and --norm are of the ball in which --prove and --radius prove");
        return SURETY_OK;
    }
    if (!o->files.classes)
        return cli_wrong(c, "where should the proofs go? Give --classes C.csv, which gets their columns");
    o->ball = surety_model_about(model)->ball;
    surety_norm norm = o->ball.norm;
    surety_status status = o->norm ? surety_norm_parse(o->norm, &o->ball.norm, &c->error) : SURETY_OK;
    if (status != SURETY_OK) return status;
    if (isnan(o->eps) && (!(o->ball.radius > 0) || o->ball.norm != norm))
        return cli_wrong(c, "within which radius? Give --eps");
    if (!isnan(o->eps)) o->ball.radius = o->eps;
    o->files.prove = &o->ball;
    o->files.budget = surety_threat_defaults().budget;
    o->files.radius = o->radius;
    return SURETY_OK;
}

static surety_status check(cli *c, options *o) {
    surety_predict_files *f = &o->files;
    if (f->input && c->word_count > 1) return cli_wrong(c, "two inputs: %s and --input", c->words[1]);
    if (c->word_count > 1) f->input = c->words[1];
    if (!f->input) return cli_wrong(c, "which points? Give a table, or --input X.npy");
    f->drop = o->table.drop, f->drop_count = o->table.drop_count;
    if (!f->out && !f->classes && !f->scores)
        return cli_wrong(c,
                         "where should the votes go? Give --out VOTE.npy, --classes C.csv or --scores P.npy");
    return SURETY_OK;
}

static void print_two(const surety_predict_result *r, const surety_model *model) {
    char numbers[2][4], names[2][CLI_NAME_BYTES];
    for (size_t k = 0; k < 2; k++) cli_fit(surety_model_class(model, k, numbers[k]), 0, names[k]);
    cli_print("%llu votes: %llu for +1 (%s), %llu for -1 (%s), %llu tied; from %.6f to %.6f\n",
              (unsigned long long)r->m * r->n, (unsigned long long)r->chosen[1], names[1],
              (unsigned long long)r->chosen[0], names[0], (unsigned long long)r->tied, r->vote_min,
              r->vote_max);
}

static void print_many(const surety_predict_result *r, const surety_model *model) {
    size_t K = surety_voters_classes(surety_model_voters(model));
    char number[4], name[CLI_NAME_BYTES];
    cli_print("%llu points, %zu classes; scores from %.6f to %.6f\n", (unsigned long long)r->m * r->n, K,
              r->vote_min, r->vote_max);
    if (surety_voters_duels(surety_model_voters(model)))
        cli_print("by duels: the class that wins against every other one; tied: none does\n");
    for (size_t k = 0; k < K; k++)
        cli_print("  %s %9llu\n", cli_fit(surety_model_class(model, k, number), -CLI_NAME, name),
                  (unsigned long long)r->chosen[k]);
    cli_print("  %s %9llu\n", cli_fit("tied", -CLI_NAME, name), (unsigned long long)r->tied);
}

static void print_proved(const surety_predict_result *r, const surety_model *model, const surety_ball *ball) {
    const surety_preparation *p = surety_model_preparation(model);
    char words[160], text[256];
    snprintf(text, sizeof text, "%llu of them proved: no other answer in the %s",
             (unsigned long long)r->proved,
             cli_ball_words(ball, p ? surety_preparation_scaling(p) : SURETY_SCALE_NONE, words));
    cli_print_wrapped(text, 0, 0);
}

static void say_columns(const cli *c, const surety_predict_result *r) {
    if (r->label_column[0]) cli_say(c, "note: the label column '%s' is left out", r->label_column);
    if (r->counts.filled)
        cli_say(c, "note: %llu missing values were filled in", (unsigned long long)r->counts.filled);
    if (r->counts.unseen)
        cli_say(c, "note: %llu categories are not those of the training; they count as none of them",
                (unsigned long long)r->counts.unseen);
}

static surety_status predict(cli *c, options *o) {
    surety_model *model = NULL;
    surety_predict_result r;
    surety_status status = surety_model_load(c->words[0], &model, &c->error);
    if (status == SURETY_OK) status = settle_ball(c, o, model);
    if (status == SURETY_OK)
        status = surety_model_predict(model, o->prior ? SURETY_WEIGHTS_PRIOR : SURETY_WEIGHTS_POSTERIOR,
                                      &o->files, &r, &c->run, &c->error);
    cli_progress_end(c);
    if (status == SURETY_OK) say_columns(c, &r);
    if (status == SURETY_OK && c->json)
        status = cli_print_json(c, surety_predict_result_json(&r, model));
    else if (status == SURETY_OK && surety_voters_classes(surety_model_voters(model)) == 2)
        print_two(&r, model);
    else if (status == SURETY_OK)
        print_many(&r, model);
    if (status == SURETY_OK && o->files.prove && !c->json) print_proved(&r, model, &o->ball);
    surety_model_free(model);
    return status;
}

static surety_status run(cli *c) {
    options o = {.eps = (double)NAN};
    cli_input(c, "input", "FILE", &o.files.input,
              "the table, unless it is a word: CSV, NPY, NPZ, LIBSVM or IDX; NPY also (m, n, columns)");
    cli_text(c, "label-column", "NAME", &o.files.label_column,
             "CSV: a column of labels that is left out; unless given, the model's");
    cli_separator_option(c, &o.files.separator);
    cli_drop_option(c, &o.table);
    cli_output(
        c, "out", "VOTE.npy", &o.files.out,
        "the vote of each point in [-1,1], float64 (m) or (m, n); of K > 2 classes its K scores: (m, K) or "
        "(m, n, K)");
    cli_output(c, "classes", "C.csv", &o.files.classes,
               "the class that the vote answers to each point, by name, or 'tied': lines row,class, or "
               "row,point,class");
    cli_output(
        c, "votes", "V.npy", &o.files.votes,
        "also the real output of each voter, float32 (m, H) or (m, n, H), which bound --votes reads; of K > "
        "2 classes (.., H, K)");
    cli_output(c, "scores", "P.npy", &o.files.scores,
               "raw scores of imported trees, bit for bit those of their maker, (m) or (m, C)");
    cli_flag(c, "prior", &o.prior, "the vote of the prior P; else of the posterior Q");
    cli_flag(c, "prove", &o.prove,
             "a column 'proved' for --classes: 1 if the answer is the same everywhere in the ball around the "
             "point");
    cli_flag(c, "radius", &o.radius,
             "also a column 'radius': the largest one for which that is proved, or -1");
    cli_text(c, "norm", "l2|linf|l1", &o.norm, "of the ball; unless given, the model's");
    cli_real(c, "eps", "B", &o.eps, "radius of the ball; unless given, the model's");
    surety_status status = cli_parse(c, 1, 2);
    if (status != SURETY_OK || c->helped) return status;
    status = check(c, &o);
    return status == SURETY_OK ? predict(c, &o) : status;
}

const cli_command cli_predict = {
    .name = "predict",
    .usage = "MODEL TABLE [--out VOTE.npy] [--classes C.csv] [options]",
    .summary = "votes and classes of a model on points from a file",
    .text =
        "Of two classes, a vote above 0 is for the second (+1), below 0 for the first (-1); exactly 0 is a "
        "tie, which counts as an error. Of more, each has a score, and the answer is the one that beats "
        "every "
        "other; of trees that were grown, the class that wins its duel with every other one, and 'tied' "
        "where none "
        "does. A table's columns are found by name and prepared as those of the training were; bytes are "
        "divided "
        "by 255.",
    .example = "surety predict model.safetensors X.npy --classes C.csv --prove --radius",
    .run = run,
};
