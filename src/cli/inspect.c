/* surety inspect: what a model file says of itself. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/classes.h"
#include "cli/cli.h"
#include "surety/bound.h"
#include "surety/model.h"

static void print_voters(const surety_model *m) {
    const surety_voters *v = surety_model_voters(m);
    size_t kept = 0, all = 0;
    surety_tensor w = surety_voters_tensor(v, 0);
    for (size_t i = 0; w.mask && i < w.rows; i++)
        for (size_t j = 0; j < w.length; j++) kept += w.mask[i * w.stride + j], all++;
    printf("%-16s %zu %s", "voters", surety_voters_count(v), surety_voters_words(v));
    if (surety_voters_depth(v)) printf(" of depth %zu", surety_voters_depth(v));
    printf(" over %zu features", surety_voters_features(v));
    if (all) printf(", each split sees %.0f %% of them", 100. * (double)kept / (double)all);
    printf("\n");
}

/* How many classes, and their names as far as a line goes. */
static void print_classes(const surety_model *m) {
    enum { LINE = 75 };
    size_t K = surety_voters_classes(surety_model_voters(m)), k = 0;
    int used = printf("%-16s %zu:", "classes", K);
    for (; k < K; k++) {
        char number[4], name[CLI_NAME_BYTES];
        cli_fit(surety_model_class(m, k, number), 0, name);
        if (used + 2 + (int)strlen(name) > LINE) break;
        used += printf("%s %s", k ? "," : "", name);
    }
    printf("%s\n", k < K ? ", .." : "");
}

static void print_weight(const surety_model *m) {
    size_t voter;
    double weight = surety_model_largest_weight(m, &voter);
    printf("%-16s %.4g, of voter %zu\n", "largest weight", weight, voter);
    cli_print_dictator(m);
}

static void print_facts(const surety_model *m, double kl, const char *sha256) {
    const surety_model_facts *f = surety_model_about(m);
    printf("%-16s %s\n", "kind", surety_voters_kind(surety_model_voters(m)));
    print_voters(m);
    print_classes(m);
    printf("%-16s %s votes; KL(Q||P) = %.6g\n", "vote", surety_voter_set_name(f->set), kl);
    print_weight(m);
    printf("%-16s %s ball of radius %g, ", "trained against", surety_norm_name(f->ball.norm), f->ball.radius);
    if (f->ball.has_box)
        printf("box [%g, %g]\n", f->ball.lo, f->ball.hi);
    else
        printf("no box\n");
    printf("%-16s %s\n%-16s %s\n", "defense", f->defense, "objective", f->objective);
    printf("%-16s T_p = %llu candidate priors, delta = %g\n", "for its bounds",
           (unsigned long long)f->priors_compared, f->delta);
    printf("%-16s %llu\n", "seed", (unsigned long long)f->seed);
    printf("%-16s %s\n", "sha256", sha256);
}

/* One line, at most WIDTH bytes, whole UTF-8 characters, nothing that could steer a terminal. */
static void print_texts(const surety_model *m) {
    enum { WIDTH = 110 };
    for (size_t i = 0; surety_model_key(m, i); i++) {
        char shown[WIDTH + 1];
        const char *text = surety_model_text(m, surety_model_key(m, i));
        size_t length = strlen(text), used = length < WIDTH ? length : WIDTH;
        while (used < length && ((unsigned char)text[used] & 0xc0) == 0x80) used--;
        for (size_t k = 0; k < used; k++) shown[k] = iscntrl((unsigned char)text[k]) ? ' ' : text[k];
        shown[used] = 0;
        printf("%-16s %s%s\n", surety_model_key(m, i), shown, used < length ? " .." : "");
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
    status = surety_model_load(&model, c->words[0], &c->error);
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
