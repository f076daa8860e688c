/* What the benchmarks share: the peak of the core's multiply-add units as a limit, measured in the same run
 * and at the CPU level in use, and the list of cases that is printed as a table or as JSON.
 *
 * Machines are shared and clocks move, so a case and its limit are measured in turns, in slices of a few
 * milliseconds where the case allows it, and the best slice of each counts. */
#ifndef SURETY_BENCH_PEAK_H
#define SURETY_BENCH_PEAK_H

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"
#include "surety/base.h"

enum { BENCH_THREADS = 2 }; /* cases run with 1 .. BENCH_THREADS threads */

/* Work to be timed: does its unit `times` times, as thread `thread` of those that run it at once. */
typedef void (*bench_fn)(void *arg, int thread, long times);

static inline double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds until all threads are done. */
static inline double bench_seconds(int threads, bench_fn fn, void *arg, long times) {
    double begin = 0, end = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
#pragma omp master
        begin = bench_now();
#pragma omp barrier
        fn(arg, omp_get_thread_num(), times);
#pragma omp barrier
#pragma omp master
        end = bench_now();
    }
    return end - begin;
}

/* The register-only loop: 12 independent chains a = a*m + c, more than latency times units of any CPU so far;
 * without fma half of them multiply and half add. times counts steps of all chains. */
enum { BENCH_CHAINS = 12 };
#define BENCH_PEAK(name, target, vector, set1, even, odd)                                               \
    target static inline void name(void *arg, int thread, long times) {                                 \
        (void)arg, (void)thread;                                                                        \
        vector m = set1(1), c = set1(0.1f), a0 = c, a1 = c, a2 = c, a3 = c, a4 = c, a5 = c;             \
        vector a6 = c, a7 = c, a8 = c, a9 = c, a10 = c, a11 = c;                                        \
        while (times--) {                                                                               \
            a0 = even(a0), a1 = odd(a1), a2 = even(a2), a3 = odd(a3), a4 = even(a4), a5 = odd(a5);      \
            a6 = even(a6), a7 = odd(a7), a8 = even(a8), a9 = odd(a9);                                   \
            a10 = even(a10), a11 = odd(a11);                                                            \
            /* the compiler must believe that each is used and none is like another */                  \
            __asm__ volatile("" : "+x"(m), "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5)); \
            __asm__ volatile("" : "+x"(a6), "+x"(a7), "+x"(a8), "+x"(a9), "+x"(a10), "+x"(a11));        \
        }                                                                                               \
    }
#if defined(__x86_64__)
#define BENCH_FMA512(a) _mm512_fmadd_ps(a, m, c)
#define BENCH_FMA256(a) _mm256_fmadd_ps(a, m, c)
#define BENCH_MUL128(a) _mm_mul_ps(a, m)
#define BENCH_ADD128(a) _mm_add_ps(a, c)
BENCH_PEAK(bench_peak_avx512, __attribute__((target("avx512f"))), __m512, _mm512_set1_ps, BENCH_FMA512,
           BENCH_FMA512)
BENCH_PEAK(bench_peak_avx2, __attribute__((target("avx2,fma"))), __m256, _mm256_set1_ps, BENCH_FMA256,
           BENCH_FMA256)
BENCH_PEAK(bench_peak_generic, , __m128, _mm_set1_ps, BENCH_MUL128, BENCH_ADD128)
static const bench_fn bench_peaks[] = {bench_peak_generic, bench_peak_avx2, bench_peak_avx512};
static const int bench_flops[] = {4, 2 * 8, 2 * 16}; /* of one step of one chain */
#else
#error "the peak loop of this architecture is not written yet"
#endif

/* What the peak loop had in all, and at its best, by number of threads. */
static struct {
    double rates, best;
    long runs;
} bench_peak_runs[BENCH_THREADS + 1];

/* Runs the peak loop, about 1 ms at `part` 1; flop/s of all threads, each by its own clock. */
static inline double bench_peak(int threads, double part) {
    surety_level level = surety_cpu();
    long times = (long)(400000 * part);
    double rate = 0, flops = (double)times * BENCH_CHAINS * bench_flops[level];
#pragma omp parallel num_threads(threads) reduction(+ : rate)
    {
#pragma omp barrier
        double begin = bench_now();
        bench_peaks[level](NULL, omp_get_thread_num(), times);
        rate = flops / (bench_now() - begin);
    }
    if (rate > bench_peak_runs[threads].best) bench_peak_runs[threads].best = rate;
    bench_peak_runs[threads].rates += rate;
    bench_peak_runs[threads].runs++;
    return rate;
}

/* How much of its best speed the peak loop kept over the run: 1 on a quiet machine. */
static inline double bench_kept(void) {
    double all = 0, best = 0;
    for (int i = 1; i <= BENCH_THREADS; i++) {
        all += bench_peak_runs[i].rates;
        best += bench_peak_runs[i].best * (double)bench_peak_runs[i].runs;
    }
    return best > 0 ? all / best : 1;
}

static inline void bench_end(bool json) {
    if (json)
        printf("\n],\"kept\":%.4f}\n", bench_kept());
    else
        printf("the peak loop kept %.0f %% of its best speed\n", 100 * bench_kept());
}

typedef struct bench_case {
    char name[48];
    int threads;
    double seconds; /* of one unit of work on one thread */
    double rate;    /* of all threads */
    const char *unit;
    double limit, share; /* the limit in the same unit, rate/limit; 0 where there is none */
} bench_case;

/* Times a case whose unit of work is worth `amount` (flop, elements, ..) per thread. Limit: the peak of these
 * threads, or none. */
static inline bench_case bench_run(const char *name, int threads, bench_fn fn, void *arg, double amount,
                                   const char *unit, bool limited) {
    bench_case c = {.threads = threads, .seconds = 1e30, .unit = unit};
    snprintf(c.name, sizeof c.name, "%s", name);
    double once = bench_seconds(1, fn, arg, 1); /* one thread: barriers would count as work */
    for (int i = 0; i < 3; i++) {
        double again = bench_seconds(1, fn, arg, 1);
        once = again < once ? again : once;
    }
    long times = once < 2e-3 ? (long)(2e-3 / once) + 1 : 1;
    for (double begin = bench_now(); bench_now() - begin < 2;) {
        double peak = limited ? bench_peak(threads, 1) : 0;
        double seconds = bench_seconds(threads, fn, arg, times) / (double)times;
        c.limit = peak > c.limit ? peak : c.limit;
        c.seconds = seconds < c.seconds ? seconds : c.seconds;
    }
    c.rate = amount * threads / c.seconds;
    c.share = limited ? c.rate / c.limit : 0;
    return c;
}

static inline void bench_print(const bench_case *c, bool json, bool first) {
    if (json) {
        printf("%s\n{\"name\":\"%s\",\"threads\":%d,\"seconds\":%.6g,\"rate\":%.6g,\"unit\":\"%s\"",
               first ? "" : ",", c->name, c->threads, c->seconds, c->rate, c->unit);
        if (c->limit > 0)
            printf(",\"limit\":%.6g,\"share\":%.4f}", c->limit, c->share);
        else
            printf(",\"limit\":null,\"share\":null}");
        return;
    }
    if (first)
        printf("%-24s %7s %12s %10s %-10s %10s %7s\n", "case", "threads", "seconds", "rate", "10^9 ..",
               "limit", "share");
    printf("%-24s %7d %12.3e %10.2f %-10s", c->name, c->threads, c->seconds, c->rate / 1e9, c->unit);
    if (c->limit > 0) printf(" %10.2f %6.1f%%", c->limit / 1e9, 100 * c->share);
    printf("\n");
}

#endif
