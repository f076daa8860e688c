/* surety predict: votes of a model on points from an NPY file. */
#include "cli/cli.h"
#include "surety/model.h"

typedef struct options {
    const char *input, *out, *votes;
    bool prior;
} options;

static surety_status check(cli *c, const options *o) {
    if (!o->input) return cli_wrong(c, "which points? Give --input X.npy");
    if (!o->out) return cli_wrong(c, "where should the votes go? Give --out V.npy");
    return SURETY_OK;
}

static surety_status predict(cli *c, const options *o) {
    surety_model *model = NULL;
    surety_predict_result r;
    surety_status status = surety_model_load(&model, c->words[0], &c->error);
    if (status == SURETY_OK)
        status = surety_model_predict(model, o->prior ? SURETY_PRIOR : SURETY_POSTERIOR, o->input, o->out,
                                      o->votes, &r, &c->run, &c->error);
    surety_model_free(model);
    cli_progress_end(c);
    if (status != SURETY_OK) return status;
    if (c->json) return cli_print_json(c, surety_predict_result_json(&r));
    unsigned long long all = (unsigned long long)r.m * r.n, positive = r.positive, tied = r.tied;
    cli_print("%llu votes: %llu for +1, %llu for -1, %llu tied; from %.6f to %.6f\n", all, positive,
              all - positive - tied, tied, r.vote_min, r.vote_max);
    return SURETY_OK;
}

static surety_status run(cli *c) {
    options o = {0};
    cli_input(c, "input", "X.npy", &o.input, "points, real numbers (m, d) or (m, n, d)");
    cli_output(c, "out", "V.npy", &o.out, "the vote of each point in [-1,1], float64 (m) or (m, n)");
    cli_output(c, "votes", "H.npy", &o.votes,
               "also the real output of each voter, float32 (m, H) or (m, n, H)");
    cli_flag(c, "prior", &o.prior, "the vote of the prior P; else of the posterior Q");
    surety_status status = cli_parse(c, 1, 1);
    if (status != SURETY_OK || c->helped) return status;
    status = check(c, &o);
    return status == SURETY_OK ? predict(c, &o) : status;
}

const cli_command cli_predict = {
    .name = "predict",
    .usage = "MODEL --input X.npy --out V.npy [options]",
    .summary = "votes of a model on points from a file",
    .text =
        "A vote above 0 is for the second class (+1), below 0 for the first (-1); exactly 0 is a tie, which "
        "counts as an error. Points are given as the model was trained on them: images divided by 255.",
    .example = "surety predict model.safetensors --input X.npy --out V.npy --votes H.npy",
    .run = run,
};
