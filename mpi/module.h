/* What an MPI module offers to the command. */
#ifndef SURETY_MPI_MODULE_H
#define SURETY_MPI_MODULE_H

#include "surety/base.h"

/* Begins MPI; 0 if it cannot. sum is called by the thread that began it. */
int surety_mpi_start(surety_everyone *everyone);

/* Ends MPI. A code other than 0 ends the other processes too, wherever they are. */
void surety_mpi_stop(int exit_code);

#endif
