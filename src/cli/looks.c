/* surety looks: the log of what looked at S on this machine. */
#include <string.h>

#include "cli/cli.h"
#include "surety/certify.h"

/* The digest of S that a certificate or a model names. */
static surety_status find_learn(cli *c, const char *path, char learn[65]) {
    FILE *file = fopen(path, "rb");
    int first = file ? fgetc(file) : 0;
    if (file) fclose(file);
    if (first == '{') {
        surety_certificate_head head;
        surety_status status = surety_certificate_head_load(path, &head, &c->error);
        if (status == SURETY_OK) memcpy(learn, head.learn, 65);
        return status;
    }
    surety_model *model = NULL;
    surety_status status = surety_model_load(path, &model, &c->error);
    if (status != SURETY_OK) return status;
    const char *text = surety_model_text(model, "data.learn");
    snprintf(learn, 65, "%s", text ? text : "");
    surety_model_free(model);
    return text ? SURETY_OK : cli_wrong(c, "the model does not say which S it was trained with");
}

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

enum { AT = 40 }; /* where the last column begins */

static void print_set(const surety_looks *looks, const char *learn) {
    surety_look_count n = surety_looks_count(looks, learn);
    cli_print("S %.16s: %llu certificate%s, %llu evaluation%s, %llu training%s\n", learn,
              (unsigned long long)n.certificates, plural(n.certificates), (unsigned long long)n.evaluations,
              plural(n.evaluations), (unsigned long long)n.trainings, plural(n.trainings));
    cli_print("  %-16s  %-8s  %-8s  %s\n", "time (UTC)", "command", "model", "what");
    for (size_t i = 0; i < looks->count; i++) {
        const surety_look *look = &looks->look[i];
        if (strcmp(look->learn, learn) != 0) continue;
        cli_print("  %.10s %.5s  %-8s  %.8s  ", look->time, look->time + 11, look->command, look->model);
        cli_print_wrapped(look->what, AT, AT);
    }
}

static void print_looks(const surety_looks *looks) {
    if (!looks->count) cli_print("no look is logged\n");
    for (size_t i = 0; i < looks->count; i++) {
        if (!surety_looks_begins(looks, i)) continue;
        if (i) cli_print("\n");
        print_set(looks, looks->look[i].learn);
    }
}

static surety_status run(cli *c) {
    char learn[65] = "";
    surety_looks looks = {0};
    surety_status status = cli_parse(c, 0, 1);
    if (status != SURETY_OK || c->helped) return status;
    if (c->word_count) status = find_learn(c, c->words[0], learn);
    if (status == SURETY_OK) status = surety_looks_read(*learn ? learn : NULL, &looks, &c->error);
    if (status == SURETY_OK && c->json)
        status = cli_print_json(c, surety_looks_json(&looks));
    else if (status == SURETY_OK)
        print_looks(&looks);
    surety_looks_free(&looks);
    return status;
}

const cli_command cli_looks = {
    .name = "looks",
    .usage = "[MODEL|C.json] [options]",
    .summary = "what looked at S on this machine",
    .text =
        "Certificates, evaluations and trainings that looked at a set S are logged in the user's state "
        "folder, ($XDG_STATE_HOME or ~/.local/state)/surety/looks, keyed by the digest of S (of votes, by "
        "the "
        "file of rows, or of labels where there is none). With a model or a certificate, only looks at its S "
        "are shown. The log is a memory aid: it does not know other "
        "machines, and no certificate depends on it.",
    .example = "surety looks model.safetensors",
    .run = run,
};
