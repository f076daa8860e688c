/* surety import: trees that others made become a model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/shared.h"
#include "surety/model.h"

typedef struct options {
    surety_import_settings import;
    const char *out, *check, *expect, *iterations;
    bool each_tree;
} options;

static surety_status check(cli *c, options *o) {
    if (!o->out) return cli_wrong(c, "where should the model go? Give --out MODEL");
    if (!o->check != !o->expect) return cli_wrong(c, "--check X.npy and --expect P.npy go together");
    if (strcmp(o->iterations, "best") && strcmp(o->iterations, "all"))
        return cli_wrong(c, "'%s' is not best or all", o->iterations);
    if (cli_given(c, "threshold") && !(o->import.threshold > 0 && o->import.threshold < 1))
        return cli_wrong(c, "a threshold is a probability above 0 and below 1, not %g", o->import.threshold);
    o->import.all_iterations = !strcmp(o->iterations, "all");
    o->import.each_tree = o->each_tree;
    return SURETY_OK;
}

static void print(const cli *c, const options *o, const surety_model *m, const surety_replay *replay) {
    const surety_voters *v = surety_model_voters(m);
    size_t nodes, trees = surety_voters_trees(v, &nodes);
    cli_print("%s: %zu tree%s, %zu tests, %zu features, %zu classes\n", surety_model_imported(m), trees,
              trees == 1 ? "" : "s", nodes, surety_voters_features(v), surety_voters_classes(v));
    if (replay)
        cli_print("replayed: the raw scores of %llu rows are those of its maker, bit for bit\n",
                  (unsigned long long)replay->rows);
    else
        cli_print(
            "nothing was replayed: whether it predicts as its maker does was not compared\n"
            "(--check X.npy --expect P.npy)\n");
    if (replay && replay->rounded)
        cli_warn(c, "%llu values of the rows are no floats and were rounded: here features are floats",
                 (unsigned long long)replay->rounded);
    cli_print("model: %s\n", o->out);
}

static surety_status import(cli *c, const options *o) {
    surety_model *model = NULL;
    surety_replay replay;
    surety_status status = surety_model_import(c->words[0], &o->import, &model, &c->error);
    if (status == SURETY_OK && o->check)
        status = surety_model_replay(model, o->check, o->expect, &replay, &c->run, &c->error);
    cli_progress_end(c);
    if (status == SURETY_OK) status = surety_model_save(model, o->out, &c->error);
    if (status == SURETY_OK && c->json)
        status = cli_print_json(c, surety_import_json(model, o->check ? &replay : NULL));
    else if (status == SURETY_OK)
        print(c, o, model, o->check ? &replay : NULL);
    surety_model_free(model);
    return status;
}

static surety_status run(cli *c) {
    options o = {.import = {.format = "auto"}, .iterations = "best"};
    cli_text(c, "format", "auto|xgboost|lightgbm|sklearn", &o.import.format,
             "what wrote the file; auto: the file tells");
    cli_output(c, "out", "MODEL", &o.out, "file of the model");
    cli_input(c, "check", "X.npy", &o.check, "rows (m, d) whose raw scores are compared with its maker's");
    cli_input(c, "expect", "P.npy", &o.expect,
              "the maker's raw scores of these rows, (m) or (m, classes): XGBoost's and LightGBM's margins, "
              "scikit-learn's decision_function or, of forests, predict_proba");
    cli_real(c, "threshold", "P", &o.import.threshold,
             "two classes: the second is answered where its probability is above P; 0: as its maker "
             "does");
    cli_text(c, "iterations", "best|all", &o.iterations,
             "XGBoost with early stopping: trees up to best_iteration, as XGBClassifier predicts, or all, as "
             "Booster does");
    cli_import_classes_option(c, &o.import);
    cli_flag(c, "each-tree", &o.each_tree,
             "a random forest: each tree is a voter, all with the same weight, instead of one voter that "
             "decides as its maker does");
    surety_status status = cli_parse(c, 1, 1);
    if (status != SURETY_OK || c->helped) return status;
    status = check(c, &o);
    return status == SURETY_OK ? import(c, &o) : status;
}

const cli_command cli_import = {
    .name = "import",
    .usage = "FILE --out MODEL [options]",
    .summary = "trees of XGBoost, LightGBM or scikit-learn become a model",
    .text =
        "Reads a model of XGBoost (JSON or UBJSON), LightGBM (text) or scikit-learn (what "
        "python/surety_sklearn.py writes). The model that it makes predicts with the arithmetic "
        "and the decisions of its maker; predict, attack, evaluate, curve, certify and verify "
        "take it. Bounds come from rows that had no part in its training, by your word "
        "(--fresh). What is not supported is named and refused. With --check nothing is written "
        "unless all raw scores are equal, bit for bit.",
    .example = "surety import model.json --out trees.model \\\n    --check X.npy --expect margins.npy",
    .run = run,
};
