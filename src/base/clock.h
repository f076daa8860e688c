/* Seconds since some moment: for progress and timing, never for results. */
#ifndef SURETY_BASE_CLOCK_H
#define SURETY_BASE_CLOCK_H

#include <time.h>

static inline double surety_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Processor seconds of this thread: does not count waiting, nor other programs. */
static inline double surety_busy_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
