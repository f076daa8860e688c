/* surety report: the page and the figures of a study. */
#include "cli/cli.h"
#include "report/interface.h"

static surety_status run(cli *c) {
    surety_report_info info;
    surety_status status = cli_parse(c, 1, 1);
    if (status != SURETY_OK || c->helped) return status;
    status = surety_report_make(c->words[0], &info, &c->run, &c->error);
    cli_progress_end(c);
    if (status != SURETY_OK) return status;
    if (surety_report_left_out()) cli_say(c, "note: %s", surety_report_left_out());
    if (c->json)
        cli_print("{\"compared\": %zu, \"agree\": %zu, \"tables\": %zu, \"figures\": %zu, \"bytes\": %zu}\n",
                  info.compared, info.agree, info.tables, info.figures, info.bytes);
    else
        cli_print("%zu of %zu values agree with print\npage: %s/report.html\nfigures: %s/figures\n",
                  info.agree, info.compared, c->words[0], c->words[0]);
    return SURETY_OK;
}

const cli_command cli_report = {
    .name = "report",
    .usage = "DIR [options]",
    .summary = "the page and the figures of a study",
    .text =
        "Reads results.csv and results.json of a folder that 'surety reproduce' made and writes report.html, "
        "one "
        "file that needs nothing else, and figures/ as SVG, PNG and PDF.",
    .example = "surety report study",
    .run = run,
};
