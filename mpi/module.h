/* What an MPI module offers to the command. */
#ifndef SURETY_MPI_MODULE_H
#define SURETY_MPI_MODULE_H

#include "surety/base.h"

/* Begins MPI; 0 if it cannot. What it fills keeps its place; the thread that began it calls sum and share.
 */
int surety_mpi_start(surety_everyone *everyone);

/* For a process that has failed: 1 if it should say why. It tells the processes behind it that it has failed,
 * and waits two seconds for such a word from those before it, since the reason is most often the same. The
 * first that failed speaks, and then ends the others. */
int surety_mpi_speaks(void);

/* Ends MPI, with the code that this process will end with. Failed: the other processes end too, wherever they
 * are. */
void surety_mpi_stop(int exit_code, int failed);

#endif
