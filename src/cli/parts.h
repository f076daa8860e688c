/* A command whose examples several processes share, each making a part (--part k/N); merge.c puts the parts
 * together. A command adds the options, begins when model and data are open, and ends with what the library
 * said. */
#ifndef SURETY_CLI_PARTS_H
#define SURETY_CLI_PARTS_H

#include "cli/cli.h"
#include "surety/attack.h"
#include "surety/model.h"

void cli_part_options(cli *c);

/* k/N into a cli_part. */
surety_status cli_read_part(const char *text, void *target, surety_error *err);

/* While parts are merged: SURETY_E_INPUT unless their words could be those of a part. A part may be anybody's
 * file: its words name no file that is written, and nothing that is for merge to say. cli_parse asks. */
surety_status cli_part_words(cli *c);

/* From here on c->run is that of a part, if one was asked for, or that of all parts. */
surety_status cli_part_begin(cli *c, const surety_model *model, const surety_data *data,
                             const surety_threat *threat);

/* 1: this run makes a part. There is nothing to print and nothing to log. */
bool cli_is_part(const cli *c);

/* The status of the command. Of a part, SURETY_E_PART is success: its file is written. Frees the part, unless
 * it is merge's. */
surety_status cli_part_end(cli *c, surety_status status);

#endif
