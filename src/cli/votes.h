/* Certificates of votes that any classifier gave: options and answers of 'surety certify' and 'surety
 * verify'. */
#ifndef SURETY_CLI_VOTES_H
#define SURETY_CLI_VOTES_H

#include "cli/cli.h"
#include "surety/certify.h"

/* --votes, --labels, --weights, --rows: the files. */
void cli_votes_file_options(cli *c, surety_votes_promise *p);

/* The same for making one: --threat, --of, --classes, --voters. */
typedef struct cli_votes {
    surety_votes_promise promise;
    surety_voter_set voter_set;
} cli_votes;

cli_votes cli_votes_defaults(void);
void cli_votes_options(cli *c, cli_votes *v);

/* After cli_parse, where --votes was given: makes the certificate and writes it to out. */
surety_status cli_votes_certify(cli *c, cli_votes *v, const char *out);

#endif
