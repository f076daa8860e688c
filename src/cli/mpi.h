/* The command as one of several processes under mpirun. */
#ifndef SURETY_CLI_MPI_H
#define SURETY_CLI_MPI_H

#include "cli/cli.h"

/* If this process is one of several, or --mpi is among the words: loads the module, begins MPI, and fills
 * c->run.everyone. Processes other than the first neither print nor write from here on. */
surety_status cli_mpi_start(cli *c, int argc, char **argv);

/* 1: this process prints and writes. */
bool cli_speaks(const cli *c);

/* Before the message of a failure: a silent process may speak if none before it has failed too. */
void cli_mpi_failed(const cli *c);

/* Before the program ends, with its exit code. */
void cli_mpi_stop(int exit_code, bool failed);

#endif
