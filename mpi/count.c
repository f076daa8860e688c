/* Calls, bytes and seconds of the two collective operations, which each process writes into count.RANK at its
 * end (docs/notes/many-machines.md):
 *
 *   mpicc.openmpi -O2 -shared -fPIC -o count.so mpi/count.c
 *   mpirun -n 2 -x LD_PRELOAD=./count.so surety train ..
 */
#include <mpi.h>
#include <stdio.h>

static struct {
    long calls;
    double bytes, seconds;
} sums, shares;

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int size, status;
    double begin = MPI_Wtime();
    MPI_Type_size(type, &size);
    status = PMPI_Allreduce(in, out, count, type, op, comm);
    sums.calls++, sums.bytes += (double)count * size, sums.seconds += MPI_Wtime() - begin;
    return status;
}

/* bytes: of the process's own share, which every other one gets. */
int MPI_Allgatherv(const void *in, int n, MPI_Datatype sent, void *out, const int *counts, const int *begins,
                   MPI_Datatype type, MPI_Comm comm) {
    int size, rank, status;
    double begin = MPI_Wtime();
    MPI_Type_size(type, &size);
    MPI_Comm_rank(comm, &rank);
    status = PMPI_Allgatherv(in, n, sent, out, counts, begins, type, comm);
    shares.calls++, shares.bytes += (double)counts[rank] * size, shares.seconds += MPI_Wtime() - begin;
    return status;
}

int MPI_Finalize(void) {
    int rank;
    FILE *out;
    char name[64];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "count.%d", rank);
    if ((out = fopen(name, "w"))) {
        fprintf(out, "sums %ld calls, %.0f bytes, %.3f s; shares %ld calls, %.0f bytes sent, %.3f s\n",
                sums.calls, sums.bytes, sums.seconds, shares.calls, shares.bytes, shares.seconds);
        fclose(out);
    }
    return PMPI_Finalize();
}
