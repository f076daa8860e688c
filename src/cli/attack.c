/* surety attack: perturbed examples of a model's data. */
#include <string.h>

#include "cli/parts.h"
#include "cli/shared.h"
#include "surety/evaluate.h"

typedef struct options {
    surety_data_settings data;
    surety_threat attack;
    surety_set_name split;
    const char *out, *labels;
    bool prior;
} options;

static surety_status read_split(const char *text, void *target, surety_error *err) {
    const char *names[SURETY_SETS];
    for (int i = 0; i < SURETY_SETS; i++) {
        names[i] = surety_set_text((surety_set_name)i);
        if (!strcmp(text, names[i])) return *(surety_set_name *)target = (surety_set_name)i, SURETY_OK;
    }
    const char *nearest = surety_nearest(text, names, SURETY_SETS);
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "unknown split '%s': %s%s%s", text,
             nearest ? "did you mean '" : "test, learn or prior", nearest ? nearest : "",
             nearest ? "'?" : "");
    return SURETY_E_USAGE;
}

static const char *show_split(const void *target, char *buffer, size_t size) {
    snprintf(buffer, size, "%s", surety_set_text(*(const surety_set_name *)target));
    return buffer;
}

static surety_status attack(cli *c, options *o, const surety_model *model, const surety_data *data) {
    const surety_set *set = surety_data_set(data, o->split);
    surety_vote vote = surety_model_vote(model, o->prior ? SURETY_WEIGHTS_PRIOR : SURETY_WEIGHTS_POSTERIOR);
    surety_attack_files files = {o->out, o->labels, surety_data_preparation(data)};
    surety_attack_result r;
    surety_status status = o->out
                               ? surety_attack_write(&o->attack, &vote, set, &files, &r, &c->run, &c->error)
                               : surety_attack_set(&o->attack, &vote, set, NULL, &r, &c->run, &c->error);
    cli_progress_end(c);
    if (status == SURETY_OK && cli_is_part(c)) return SURETY_E_PART;
    if (status != SURETY_OK) return status;
    if (o->split == SURETY_SET_LEARN) cli_look(c, model, data, surety_threat_name(o->attack.kind));
    if (c->json) return cli_print_json(c, surety_attack_result_json(&r));
    char ball[160];
    cli_print("%s, %s: %llu of %llu perturbed examples are voted wrong\n", surety_threat_name(o->attack.kind),
              cli_ball_words(&o->attack.ball, surety_data_describe(data)->scaling, ball),
              (unsigned long long)r.fooled, (unsigned long long)r.m * r.n);
    cli_print("distance from the original: at most %.9g, %.6g on average\n", r.norm_max, r.norm_mean);
    return SURETY_OK;
}

static surety_status open_and_attack(cli *c, options *o) {
    surety_model *model = NULL;
    surety_data *data = NULL;
    o->data.own_rows = !o->out;
    surety_status status = surety_model_load(c->words[0], &model, &c->error);
    if (status == SURETY_OK) status = cli_settle_model(c, model, &o->data, &o->attack);
    if (status == SURETY_OK) status = cli_need_radius(c, &o->attack);
    if (status == SURETY_OK) status = cli_open_data(c, &data, &o->data, &o->attack);
    if (status == SURETY_OK) status = cli_part_begin(c, model, data, &o->attack);
    if (status == SURETY_OK) status = attack(c, o, model, data);
    surety_data_free(data);
    surety_model_free(model);
    return status;
}

static surety_status run(cli *c) {
    options o = {.data = surety_data_defaults(), .split = SURETY_SET_TEST};
    o.attack = surety_threat_defaults();
    cli_attack_option(c, "attack", &o.attack.kind,
                      "none, unif, fgsm, ifgsm, pgd, ifgsmu, pgdu or apgd, the strongest; of trees search");
    cli_other(c, "split", "test|learn|prior", &o.split, read_split, show_split, "T, S or S'");
    cli_output(c, "out", "X.npy", &o.out,
               "the perturbed examples, float32 (m, d), or (m, n, d) for ifgsmu and pgdu");
    cli_output(c, "labels", "Y.npy", &o.labels,
               "their labels, int8 (m): -1 or +1; of more than two classes uint8: class numbers");
    cli_flag(c, "prior", &o.prior, "attack the vote of the prior P; else of the posterior Q");
    cli_ball_options(c, &o.attack);
    cli_data_options(c, &o.data);
    cli_fresh_options(c, &o.data);
    cli_model_decides(c);
    cli_part_options(c);
    surety_status status = cli_parse(c, 1, 1);
    if (status != SURETY_OK || c->helped) return status;
    if (o.data.fresh && !cli_given(c, "split")) o.split = SURETY_SET_LEARN;
    if (o.labels && !o.out) return cli_wrong(c, "--labels goes with --out X.npy");
    if (cli_is_part(c) && o.out)
        return cli_wrong(c, "a part counts, and --out writes the examples: they do not go together");
    return cli_part_end(c, open_and_attack(c, &o));
}

const cli_command cli_attack = {
    .name = "attack",
    .usage = "MODEL [--attack NAME] [--out X.npy] [options]",
    .summary = "perturbed examples that try to make a model's vote fail",
    .text =
        "Attacks the vote on every example of a split of the data. Data, ball and seed are the model's "
        "unless given. Points are written in the units of the table, feature by feature; the last bits of a "
        "scaled "
        "feature are lost in that, so its vote may differ in a near tie. Every perturbed example lies in the "
        "box exactly and in the ball: the largest distance "
        "is printed.",
    .example = "surety attack model.safetensors --attack pgd --split test \\\n    --out X.npy --labels Y.npy",
    .run = run,
    .has_parts = true,
};
