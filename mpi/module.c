/* The processes of an MPI run as a surety_everyone. The command links no MPI: it loads this file, built once
 * against Open MPI and once against MPICH, when it runs under mpirun (src/cli/mpi.c). */
#include "mpi/module.h"

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

static surety_status share(void *arg, void *rows, size_t count, size_t unit, size_t bytes,
                           surety_error *err) {
    const surety_everyone *all = arg;
    MPI_Datatype row;
    int *counts = malloc(2 * all->size * sizeof *counts), *begins = counts + all->size;
    if (!counts || count > INT_MAX || bytes > INT_MAX) {
        err->code = SURETY_E_MEMORY;
        snprintf(err->what, sizeof err->what, "no memory to share %zu rows of %zu bytes", count, bytes);
        free(counts);
        return SURETY_E_MEMORY;
    }
    for (size_t i = 0; i < all->size; i++) {
        begins[i] = (int)surety_share_begin(count, unit, i, all->size);
        counts[i] = (int)surety_share_begin(count, unit, i + 1, all->size) - begins[i];
    }
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &row);
    MPI_Type_commit(&row);
    MPI_Allgatherv(MPI_IN_PLACE, 0, row, rows, counts, begins, row, MPI_COMM_WORLD);
    MPI_Type_free(&row);
    free(counts);
    return SURETY_OK;
}

int surety_mpi_start(surety_everyone *everyone) {
    int provided, rank, size;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *everyone = (surety_everyone){
        .rank = (size_t)rank, .size = (size_t)size, .sum = sum, .share = share, .arg = everyone};
    return 1;
}

int surety_mpi_speaks(void) {
    enum { FAILED = 1, TRIES = 200 };
    const struct timespec pause = {.tv_nsec = 10000000}, until_ended = {.tv_sec = 10};
    int rank, size, told = 0;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = rank + 1; i < size; i++) MPI_Isend(NULL, 0, MPI_BYTE, i, FAILED, MPI_COMM_WORLD, &request);
    for (int i = 0; rank && !told && i < TRIES; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, FAILED, MPI_COMM_WORLD, &told, MPI_STATUS_IGNORE);
        nanosleep(&pause, NULL);
    }
    if (told) nanosleep(&until_ended, NULL); /* by the one that speaks, when it has spoken */
    return !told;
}

/* Each process hears from each other one, and goes on listening for a second. MPICH 4.0 over UCX's TCP may
 * wait for ever in MPI_Finalize where two processes are still about to connect: one of them is then behind
 * its last look at the network (pmodels/mpich 6596). */
static void meet_all(void) {
#ifdef MPICH_VERSION
    enum { LOOKS = 100 };
#else
    enum { LOOKS = 0 };
#endif
    const struct timespec pause = {.tv_nsec = 10000000};
    int size, there;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *bytes = calloc((size_t)size, 2);
    if (bytes) MPI_Alltoall(bytes, 1, MPI_BYTE, bytes + size, 1, MPI_BYTE, MPI_COMM_WORLD);
    free(bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < LOOKS && size > 1; i++, nanosleep(&pause, NULL))
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

static int code_of_end;

static void end(int signal_number) {
    (void)signal_number;
    _exit(code_of_end);
}

void surety_mpi_stop(int exit_code, int failed) {
    enum { PATIENCE = 10 };
    const struct timespec passed_on = {.tv_nsec = 200000000}; /* MPICH's launcher may lose the last words */
    if (failed) nanosleep(&passed_on, NULL);
    if (failed) MPI_Abort(MPI_COMM_WORLD, exit_code); /* the others may wait for a sum */
    meet_all();
    code_of_end = exit_code; /* all is done and written: nobody waits for ever */
    signal(SIGALRM, end);
    alarm(PATIENCE);
    MPI_Finalize();
    alarm(0);
}
