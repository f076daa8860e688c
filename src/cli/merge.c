/* surety merge: parts of evaluate, certify, curve or attack become what one process would have made. */
#include <stdlib.h>
#include <string.h>

#include "cli/parts.h"

/* Runs the parts' command again, with their counts instead of its own. */
static surety_status run_again(cli *c, surety_part *part, const char *out) {
    size_t count;
    const char *const *words = surety_part_words(part, &count);
    static char option[] = "--out";
    cli again = {.largest_file = c->largest_file,
                 .run = {.threads = c->run.threads, .stop = c->run.stop},
                 .json = c->json,
                 .quiet = c->quiet,
                 .stream = c->stream,
                 .part = {.part = part, .merging = true, .own = out ? 2 : 0}};
    for (size_t i = 0; cli_commands[i]; i++)
        if (cli_commands[i]->has_parts && !strcmp(cli_commands[i]->name, words[0]))
            again.command = cli_commands[i];
    if (!again.command) return cli_wrong(c, "'%s' is no command whose parts can be merged", words[0]);
    if (!(again.argv = calloc(count + 2, sizeof *again.argv))) return SURETY_E_MEMORY;
    if (out) again.argv[again.argc++] = option, again.argv[again.argc++] = (char *)(uintptr_t)out;
    for (size_t i = 1; i < count; i++) again.argv[again.argc++] = (char *)(uintptr_t)words[i];
    surety_status status = again.command->run(&again);
    if (again.error.code != SURETY_OK) c->error = again.error;
    c->exit_code = again.exit_code;
    free(again.words);
    free(again.argv);
    return status;
}

static surety_status run(cli *c) {
    const char *out = NULL;
    surety_part *part = NULL;
    cli_output(c, "out", "FILE", &out, "where the certificate or the curve goes");
    cli_flag(c, "stream", &c->stream, "for data larger than memory, as in the commands that made the parts");
    surety_status status = cli_parse(c, 1, SURETY_PARTS_MOST);
    if (status != SURETY_OK || c->helped) return status;
    status = surety_parts_load(c->words, c->word_count, &part, &c->error);
    if (status == SURETY_OK) status = run_again(c, part, out);
    surety_part_free(part);
    return status;
}

const cli_command cli_merge = {
    .name = "merge",
    .usage = "PART.. [--out FILE] [options]",
    .summary = "parts of evaluate, certify, curve or attack become the whole",
    .text =
        "Every part must be there once, of the same command, model, data and version. Run it in the folder "
        "in "
        "which the parts were made: model and data are opened again, and what they say must agree. The "
        "answer is, "
        "byte for byte, that of one process.",
    .example = "surety merge part1.json part2.json --out c.json",
    .run = run,
};
