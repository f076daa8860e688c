#include "base/parallel.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"

/* The threads of libgomp are not there after a fork, and a child that asks for them waits forever: it gets
 * one thread if this library had several before the fork. */
static pthread_once_t watched = PTHREAD_ONCE_INIT;
static int forked;

static void note_fork(void) {
    forked = 1;
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, note_fork);
}

int surety_threads(const surety_run *run) {
    if (forked) return 1;
    return run && run->threads > 0 ? run->threads : omp_get_num_procs();
}

surety_status surety_stopped(const surety_run *run, surety_error *err) {
    if (run && run->stop && __atomic_load_n(run->stop, __ATOMIC_RELAXED))
        return surety_fail(err, SURETY_E_STOPPED, "stopped on request");
    return SURETY_OK;
}

void surety_my_share(const surety_run *run, size_t *first, size_t *end) {
    const surety_everyone *all = run ? run->everyone : NULL;
    if (!all) return;
    size_t begin = *first, count = *end - begin, next = all->rank < all->size ? all->rank + 1 : all->size;
    *first = begin + surety_share_begin(count, 1, all->rank, all->size);
    *end = begin + surety_share_begin(count, 1, next, all->size);
}

void surety_my_rows(const surety_run *run, size_t *first, size_t *end) {
    if (run && run->everyone && run->everyone->share) surety_my_share(run, first, end);
}

surety_status surety_sum_everyone(const surety_run *run, int64_t *values, size_t count, surety_error *err) {
    const surety_everyone *all = run ? run->everyone : NULL;
    return all ? all->sum(all->arg, values, count, err) : SURETY_OK;
}

surety_status surety_most_everyone(const surety_run *run, double *values, size_t count, surety_error *err) {
    const surety_everyone *all = run ? run->everyone : NULL;
    double *of;
    if (!all || !all->share) return SURETY_OK;
    SURETY_TRY(surety_alloc(&of, all->size * count, sizeof *of, err));
    memcpy(of + all->rank * count, values, count * sizeof *of);
    surety_status status = all->share(all->arg, of, all->size, 1, count * sizeof *of, err);
    for (size_t i = 0; i < all->size * count && status == SURETY_OK; i++)
        values[i % count] = fmax(values[i % count], of[i]);
    surety_free(of);
    return status;
}

surety_status surety_share_everyone(const surety_run *run, void *rows, size_t count, size_t unit,
                                    size_t bytes, surety_error *err) {
    const surety_everyone *all = run ? run->everyone : NULL;
    return all && all->share ? all->share(all->arg, rows, count, unit, bytes, err) : SURETY_OK;
}

surety_status surety_fail_together(const surety_run *run, surety_status status, surety_error *err) {
    typedef struct verdict {
        surety_status status;
        surety_error error;
    } verdict;
    const surety_everyone *all = run ? run->everyone : NULL;
    verdict *of;
    if (!all || !all->share) return status;
    SURETY_TRY(surety_alloc(&of, all->size, sizeof *of, err));
    of[all->rank].status = status;
    if (err && status != SURETY_OK) of[all->rank].error = *err;
    surety_status met = all->share(all->arg, of, all->size, 1, sizeof *of, err);
    for (size_t i = 0; i < all->size && met == SURETY_OK; i++) {
        met = of[i].status;
        if (met != SURETY_OK && err) *err = of[i].error;
    }
    surety_free(of);
    return met;
}

/* FNV-1a in 62 bits. */
static int64_t digest(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (int64_t)(hash >> 2);
}

surety_status surety_agree(const char *what, const char *text, const surety_run *run, surety_error *err) {
    const surety_everyone *all = run ? run->everyone : NULL;
    int64_t *digests;
    if (!all || !all->share) return SURETY_OK;
    SURETY_TRY(surety_alloc(&digests, all->size, sizeof *digests, err));
    digests[all->rank] = digest(text);
    surety_status status = all->share(all->arg, digests, all->size, 1, sizeof *digests, err);
    for (size_t i = 1; i < all->size && status == SURETY_OK; i++) {
        if (digests[i] == digests[0]) continue;
        status = surety_fail(err, SURETY_E_CHECK, "process %zu has another %s than process 0", i, what);
        surety_fail_expected(err, "the same program, files and options for all");
    }
    surety_free(digests);
    return status;
}

int surety_apart(const surety_run *run) {
    return run && run->everyone && run->everyone->apart;
}

surety_status surety_no_whole(surety_error *err) {
    return surety_fail(err, SURETY_E_PART, "a part of the work is done; the whole needs all parts");
}

void surety_report(const surety_run *run, const char *phase, uint64_t done, uint64_t total,
                   const char *text) {
    if (!run || !run->progress || !phase) return;
    surety_progress progress = {phase, done, total, text ? text : ""};
    run->progress(run->progress_arg, &progress);
}

surety_status surety_parallel(const surety_run *run, const char *phase, size_t blocks, surety_block_fn fn,
                              void *arg, surety_error *err) {
    surety_error first = SURETY_ERROR_NONE;
    size_t first_block = blocks; /* lowest block that failed; also ends the loop early */
    size_t done = 0;
    int threads = surety_threads(run);
    if ((size_t)threads > blocks) threads = blocks ? (int)blocks : 1;
    if (threads > 1) pthread_once(&watched, watch_forks);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t block = 0; block < blocks; block++) {
        size_t failed = __atomic_load_n(&first_block, __ATOMIC_RELAXED);
        if (failed < block) continue; /* a lower block failed: its error is the one to report */
        surety_error mine = SURETY_ERROR_NONE;
        surety_status status = surety_stopped(run, &mine);
        if (status == SURETY_OK) status = fn(arg, block, omp_get_thread_num(), &mine);
        if (status != SURETY_OK) {
#pragma omp critical(surety_first_error) /* not the nameless one, which a host program may hold */
            if (block < first_block) {
                __atomic_store_n(&first_block, block, __ATOMIC_RELAXED);
                first = mine;
                first.code = status;
            }
        }
        size_t count = __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
        if (omp_get_thread_num() == 0) surety_report(run, phase, count, blocks, "");
    }
    if (first_block == blocks) return SURETY_OK;
    if (err && err->code == SURETY_OK) *err = first;
    return first.code;
}
