/* What a certificate states: options, settings and tables of 'surety certify'. */
#ifndef SURETY_CLI_STATEMENT_H
#define SURETY_CLI_STATEMENT_H

#include "cli/shared.h"
#include "surety/certify.h"

typedef struct cli_statement {
    bool per_class;
    const char *groups; /* a column */
    double promise;
    cli_grid curve;
    const char *promises; /* a file */
    surety_shift shift;
    surety_label_noise noise;
    double shift_budget, noise_share;
} cli_statement;

void cli_statement_options(cli *c, cli_statement *s);

/* After cli_parse: which statement is asked for, and its settings. Two at once are refused. */
surety_status cli_statement_settle(cli *c, const cli_statement *s, surety_certify_settings *settings);

/* Does the statement name its own radii? Then --eps is refused. */
bool cli_statement_has_radii(const surety_certify_settings *settings);

/* The numbers of the statement as a table, unless it is one limit. */
void cli_statement_print(const surety_certificate *certificate);

#endif
