/* Option groups that several commands share, with one meaning everywhere. */
#ifndef SURETY_CLI_SHARED_H
#define SURETY_CLI_SHARED_H

#include "cli/cli.h"
#include "surety/attack.h"
#include "surety/data.h"

/* --task, --train, --test, --train-labels, --test-labels, --label-column, --classes, --learn-size,
 * --test-size,
 * --data-dir, --box, --seed. */
void cli_data_options(cli *c, surety_data_settings *settings);

/* --norm, --eps, --steps, --step-size, --noise, --samples, --restarts, --profile. settings->ball.radius is
 * NaN until cli_attack_finish, which sets the default of the norm (l2: 1, linf: 0.1, l1: 10) if --eps was not
 * given, and takes the box and the seed of the data. */
void cli_attack_options(cli *c, surety_attack_settings *settings);
surety_status cli_attack_finish(cli *c, surety_attack_settings *settings, const surety_data_settings *data);

/* --voters signed|real. */
void cli_voter_option(cli *c, surety_voter_set *set);

#endif
