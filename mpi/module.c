/* The processes of an MPI run as a surety_everyone. The command links no MPI: it loads this file, built once
 * against Open MPI and once against MPICH, when it runs under mpirun (src/cli/mpi.c). */
#include "mpi/module.h"

#include <mpi.h>

static surety_status sum(void *arg, int64_t *values, size_t count, surety_error *err) {
    enum { MOST = 1 << 30 }; /* of one call; MPI counts in int */
    (void)arg, (void)err;    /* MPI ends the program where a process is lost */
    for (size_t at = 0; at < count; at += MOST) {
        size_t left = count - at;
        MPI_Allreduce(MPI_IN_PLACE, values + at, left < MOST ? (int)left : MOST, MPI_INT64_T, MPI_SUM,
                      MPI_COMM_WORLD);
    }
    return SURETY_OK;
}

int surety_mpi_start(surety_everyone *everyone) {
    int provided, rank, size;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *everyone = (surety_everyone){.rank = (size_t)rank, .size = (size_t)size, .sum = sum};
    return 1;
}

void surety_mpi_stop(int exit_code) {
    if (exit_code) MPI_Abort(MPI_COMM_WORLD, exit_code); /* the others may wait for a sum */
    MPI_Finalize();
}
