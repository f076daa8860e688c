/* surety inspect: what a model file says of itself. */
#include <stdio.h>
#include <string.h>

#include "cli/classes.h"
#include "cli/cli.h"
#include "cli/shared.h"
#include "surety/bound.h"
#include "surety/model.h"

enum { NAMES = 15 }; /* columns of the names; a SHA-256 behind them ends in column 80 */

static void print_voters(const surety_model *m) {
    const surety_voters *v = surety_model_voters(m);
    size_t kept = 0, all = 0;
    surety_tensor w = surety_voters_tensor(v, 0);
    for (size_t i = 0; w.mask && i < w.rows; i++)
        for (size_t j = 0; j < w.length; j++) kept += w.mask[i * w.stride + j], all++;
    char depth[40 + 24 * SURETY_LAYERS] = "", seen[60] = "";
    size_t units[SURETY_LAYERS], layers = surety_voters_layers(v, units), used = 0;
    if (surety_voters_depth(v)) snprintf(depth, sizeof depth, " of depth %zu", surety_voters_depth(v));
    for (size_t l = 0; l < layers; l++)
        used += (size_t)snprintf(depth + used, sizeof depth - used, "%s%zu%s", l ? "," : " of ", units[l],
                                 l + 1 == layers ? " units" : "");
    if (all)
        snprintf(seen, sizeof seen, ", each split sees %.0f %% of them", 100. * (double)kept / (double)all);
    cli_print_fact("voters", NAMES, "%zu (%s%s) over %zu features%s", surety_voters_count(v),
                   surety_voters_words(v), depth, surety_voters_features(v), seen);
}

/* How many classes, and their names as far as a line goes. */
static void print_classes(const surety_model *m) {
    enum { LINE = 75 };
    size_t K = surety_voters_classes(surety_model_voters(m)), k = 0;
    size_t used = 20;
    cli_print("%-*s %zu:", NAMES, "classes", K);
    for (; k < K; k++) {
        char number[4], name[CLI_NAME_BYTES];
        cli_fit(surety_model_class(m, k, number), 0, name);
        if (used + 2 + strlen(name) > LINE) break;
        cli_print("%s %s", k ? "," : "", name);
        used += 2 + strlen(name);
    }
    cli_print("%s\n", k < K ? ", .." : "");
}

static void print_weight(const surety_model *m) {
    size_t voter;
    double weight = surety_model_largest_weight(m, &voter);
    cli_print_fact("largest weight", NAMES, "%.4g, of voter %zu", weight, voter);
    cli_print_dictator(m);
}

static void print_training(const surety_model *m) {
    const surety_model_facts *f = surety_model_about(m);
    const surety_preparation *prepared = surety_model_preparation(m);
    char ball[160], box[80] = "no box";
    if (surety_model_imported(m)) {
        cli_print_fact("trained", NAMES, "elsewhere: imported from %s", surety_model_imported(m));
        return;
    }
    if (f->ball.has_box) snprintf(box, sizeof box, "box [%g, %g]", f->ball.lo, f->ball.hi);
    cli_print_fact(
        "trained against", NAMES, "%s, %s",
        cli_ball_words(&f->ball, prepared ? surety_preparation_scaling(prepared) : SURETY_SCALE_NONE, ball),
        box);
    cli_print_fact("defense", NAMES, "%s", f->defense);
    cli_print_fact("objective", NAMES, "%s", f->objective);
}

static void print_facts(const surety_model *m, double kl, const char *sha256) {
    const surety_model_facts *f = surety_model_about(m);
    cli_print_fact("kind", NAMES, "%s", surety_voters_kind(surety_model_voters(m)));
    print_voters(m);
    print_classes(m);
    cli_print_fact("vote", NAMES, "%s votes; KL(Q||P) = %.6g",
                   surety_voters_duels(surety_model_voters(m)) ? "duels of two classes, real"
                                                               : surety_voter_set_name(f->voter_set),
                   kl);
    print_weight(m);
    print_training(m);
    cli_print_fact("for its bounds", NAMES, "T_p = %llu candidate prior%s, delta = %g",
                   (unsigned long long)f->priors_compared, f->priors_compared == 1 ? "" : "s", f->delta);
    cli_print_fact("seed", NAMES, "%llu", (unsigned long long)f->seed);
    cli_print_fact("sha256", NAMES, "%s", sha256);
}

static void print_texts(const surety_model *m) {
    for (size_t i = 0; surety_model_key(m, i); i++) {
        const char *key = surety_model_key(m, i);
        size_t length = strlen(key), used = length > NAMES ? length : NAMES;
        char shown[81 - NAMES];
        cli_print("%-*s %s\n", NAMES, key,
                  cli_line(surety_model_text(m, key), shown, used < 60 ? 80 - used : 20));
    }
}

static surety_status print_model(cli *c, const surety_model *m) {
    double kl;
    char sha256[65];
    if (c->json) return cli_print_json(c, surety_model_json(m));
    surety_status status = surety_model_sha256(m, sha256, &c->error);
    if (status == SURETY_OK)
        status = surety_kl_divergence(surety_model_posterior(m), surety_model_prior(m),
                                      surety_voters_count(surety_model_voters(m)), &kl, &c->error);
    if (status != SURETY_OK) return status;
    print_facts(m, kl, sha256);
    print_texts(m);
    return SURETY_OK;
}

static surety_status run(cli *c) {
    surety_model *model = NULL;
    surety_status status = cli_parse(c, 1, 1);
    if (status != SURETY_OK || c->helped) return status;
    status = surety_model_load(c->words[0], &model, &c->error);
    if (status == SURETY_OK) status = print_model(c, model);
    surety_model_free(model);
    return status;
}

const cli_command cli_inspect = {
    .name = "inspect",
    .usage = "MODEL [options]",
    .summary = "what a model file says of itself",
    .text =
        "Reads and checks a model file, then prints its voters and classes, how they were trained, on which "
        "data and with which history. --json has all of it, the weights of the voters too.",
    .example = "surety inspect model.safetensors",
    .run = run,
};
