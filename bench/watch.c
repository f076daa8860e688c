/* Runs a command and tells what the multiply-add units had to give meanwhile: once a second on each core the
 * peak loop, for about half a millisecond and ahead of all else. A share over minutes means little beside the
 * best peak where machines are shared (docs/notes/performance.md).
 *
 *   bench_watch COMMAND [ARGUMENT ..]
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peak.h"

enum { MOST = 256 };
static const long WARM = 20000, TIMES = 200000; /* steps of the loop before and during a sample */

/* Of one core: flop/s, summed over samples and the best. The mean of rates is what the core would have had to
 * give over the whole time; that of seconds would give most weight to the worst moments. */
typedef struct core {
    double rates, best;
    long samples;
} core;

/* This thread onto that core, before all that do not ask for real time; false if it may not. */
static bool stay_on(int index) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(index, &set);
    struct sched_param first = {.sched_priority = 1};
    return sched_setaffinity(0, sizeof set, &set) == 0 && sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

static void sample(core *c) {
    surety_level level = surety_cpu();
    bench_peaks[level](NULL, 0, WARM);
    double begin = bench_now();
    bench_peaks[level](NULL, 0, TIMES);
    double rate = (double)TIMES * BENCH_CHAINS * bench_flops[level] / (bench_now() - begin);
    c->rates += rate;
    c->best = rate > c->best ? rate : c->best;
    c->samples++;
}

/* Samples until the child has ended; its exit code. */
static int watch(pid_t child, core *of, int cores) {
    int status = 0, ended = 0, allowed = 1;
#pragma omp parallel num_threads(cores)
    {
        int me = omp_get_thread_num();
        if (!stay_on(me)) __atomic_store_n(&allowed, 0, __ATOMIC_RELAXED);
        for (int i = 0; !__atomic_load_n(&ended, __ATOMIC_RELAXED); i++) {
            if (i % 20 == 0) sample(&of[me]);
            usleep(50000);
#pragma omp master
            if (waitpid(child, &status, WNOHANG)) __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
        }
    }
    if (!allowed) fprintf(stderr, "bench_watch: no real-time priority, so samples were interrupted\n");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
    static core of[MOST];
    int cores = omp_get_num_procs() < MOST ? omp_get_num_procs() : MOST;
    if (argc < 2) {
        fprintf(stderr, "usage: bench_watch COMMAND [ARGUMENT ..]\n");
        return 2;
    }
    double begin = bench_now(), mean = 0, best = 0;
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (child < 0) {
        perror("bench_watch");
        return 1;
    }
    int code = watch(child, of, cores);
    double seconds = bench_now() - begin;
    for (int i = 0; i < cores; i++) mean += of[i].rates / (double)of[i].samples, best += of[i].best;
    fprintf(stderr, "%.0f s; %d cores at %s: mean peak %.1f GFLOP/s of %ld samples each, best %.1f\n",
            seconds, cores, surety_cpu_level(), mean / 1e9, of[0].samples, best / 1e9);
    return code;
}
