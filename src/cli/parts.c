#include "cli/parts.h"

#include <stdlib.h>
#include <string.h>

#include "surety/evaluate.h"

surety_status cli_read_part(const char *text, void *target, surety_error *err) {
    cli_part *part = target;
    char *end = NULL;
    part->k = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    part->of = end && *end == '/' && end[1] >= '0' && end[1] <= '9' ? strtoul(end + 1, &end, 10) : 0;
    if (part->k >= 1 && part->k <= part->of && part->of <= SURETY_PARTS_MOST && !*end) return SURETY_OK;
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not k/N with 1 <= k <= N <= %d", text, SURETY_PARTS_MOST);
    return SURETY_E_USAGE;
}

void cli_part_options(cli *c) {
    cli_other(
        c, "part", "k/N", &c->part, cli_read_part, NULL,
        "count only the k-th of N shares of the examples, into --part-file; 'surety merge' puts the N parts "
        "together");
    cli_output(c, "part-file", "FILE", &c->part.file, "file of the part");
}

/* Digests of all that decides the counts besides the words of the command. */
static surety_status describe(cli *c, const surety_model *model, const surety_data *data,
                              const surety_threat *threat) {
    char sha256[65];
    const surety_data_info *info = surety_data_describe(data);
    const surety_tolerance *tolerance = threat->ball.tolerance;
    const char *level = strcmp(surety_cpu_level(), "generic") ? "fma" : "generic"; /* levels with FMA agree */
    surety_status status = surety_model_sha256(model, sha256, &c->error);
    int used = snprintf(c->part.about, sizeof c->part.about,
                        "%s %s model %s rows %s %s %s tolerance %.64s files", surety_version(), level, sha256,
                        info->set_sha256[SURETY_SET_PRIOR], info->set_sha256[SURETY_SET_LEARN],
                        info->set_sha256[SURETY_SET_TEST], tolerance ? tolerance->sha256 : "none");
    for (size_t i = 0; i < info->files; i++) /* they may hold groups, which are no features */
        used +=
            snprintf(c->part.about + used, sizeof c->part.about - (size_t)used, " %s", info->file[i].sha256);
    return status;
}

surety_status cli_part_begin(cli *c, const surety_model *model, const surety_data *data,
                             const surety_threat *threat) {
    cli_part *p = &c->part;
    if (!p->of != !p->file) return cli_wrong(c, "--part k/N and --part-file FILE go together");
    if (!p->of && !p->merging) return SURETY_OK;
    if (c->run.everyone) return cli_wrong(c, "parts and MPI are two ways to share the work: take one");
    surety_status status = describe(c, model, data, threat);
    if (status != SURETY_OK) return status;
    status = p->merging ? surety_part_check(p->part, p->about, &c->error)
                        : surety_part_begin(p->k, p->of, &p->part, &c->error);
    if (status == SURETY_OK) c->run.everyone = surety_part_everyone(p->part);
    return status;
}

bool cli_is_part(const cli *c) {
    return c->part.of > 0;
}

/* Options that do not change what is counted. */
static bool is_left_out(const cli_option *option) {
    static const char *const names[] = {"part",         "part-file", "threads", "out",
                                        "largest-file", "json",      "quiet",   "stream"};
    for (size_t i = 0; option && i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], option->name)) return true;
    return false;
}

surety_status cli_part_words(cli *c) {
    for (int i = c->part.own; c->part.merging && i < c->argc && strcmp(c->argv[i], "--"); i++) {
        const cli_option *option = cli_option_of(c, c->argv[i]);
        if (option && (option->role == CLI_WRITTEN || is_left_out(option))) {
            c->error.code = SURETY_E_INPUT;
            snprintf(c->error.what, sizeof c->error.what, "these parts say --%s, which no part does",
                     option->name);
            snprintf(c->error.expected, sizeof c->error.expected, "files that surety wrote with --part");
            return SURETY_E_INPUT;
        }
        i += option && option->read && !strchr(c->argv[i], '=');
    }
    return SURETY_OK;
}

static surety_status save(cli *c) {
    const char **words = calloc((size_t)c->argc + 1, sizeof *words);
    size_t count = 0;
    bool only_words = false;
    if (!words) return SURETY_E_MEMORY;
    words[count++] = c->command->name;
    for (int i = 0; i < c->argc; i++) {
        const cli_option *option = only_words ? NULL : cli_option_of(c, c->argv[i]);
        bool valued = option && option->read && !strchr(c->argv[i], '=');
        only_words |= !strcmp(c->argv[i], "--");
        if (!is_left_out(option)) words[count++] = c->argv[i];
        if (valued && !is_left_out(option)) words[count++] = c->argv[i + 1];
        i += valued;
    }
    surety_status status =
        surety_part_save(c->part.part, c->part.file, words, count, c->part.about, &c->error);
    free(words);
    return status;
}

surety_status cli_part_end(cli *c, surety_status status) {
    if (cli_is_part(c) && status == SURETY_E_PART) {
        c->error = (surety_error)SURETY_ERROR_NONE;
        status = save(c);
        if (status == SURETY_OK && c->json)
            cli_print("{\"part\": %zu, \"of\": %zu}\n", c->part.k, c->part.of);
        if (status == SURETY_OK && !c->json)
            cli_print("part %zu of %zu: %s\n", c->part.k, c->part.of, c->part.file);
    }
    if (!c->part.merging) surety_part_free(c->part.part);
    c->part.part = NULL;
    return status;
}
