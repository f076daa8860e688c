/* What an MPI module offers to the command. */
#ifndef SURETY_MPI_MODULE_H
#define SURETY_MPI_MODULE_H

#include "surety/base.h"

/* Begins MPI; 0 if it cannot. What it fills keeps its place; the thread that began it calls sum and share.
 */
int surety_mpi_start(surety_everyone *everyone);

/* For a process that has failed: 1 if it should say why. The first process tells the others that it has
 * failed; those wait two seconds for its word, since the reason is most often the same. */
int surety_mpi_speaks(void);

/* Ends MPI. A code other than 0 ends the other processes too, wherever they are. */
void surety_mpi_stop(int exit_code);

#endif
