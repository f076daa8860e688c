/* Parallel loops over blocks, and the calls behind which many processes stand (surety_everyone): a loop gets
 * its share of the examples, results get the sum over everyone, the largest, or the rows of all. */
#ifndef SURETY_BASE_PARALLEL_H
#define SURETY_BASE_PARALLEL_H

#include "base/error.h"

/* Threads that a run will use: run->threads, or one per core; one in a child of fork(), if its parent had
 * used several. run may be NULL. */
int surety_threads(const surety_run *run);

/* Works on one block. thread is in [0, surety_threads) and tells which workspace is this call's own. */
typedef surety_status (*surety_block_fn)(void *arg, size_t block, int thread, surety_error *err);

/* Calls fn for every block in [0, blocks), each once, in any order, on surety_threads(run) threads. Results
 * must go into slots per block or into integers. If calls fail, the error of the lowest failed block is
 * reported; blocks not yet begun are skipped. Polls run->stop between blocks; reports progress under phase
 * (NULL: silent). */
surety_status surety_parallel(const surety_run *run, const char *phase, size_t blocks, surety_block_fn fn,
                              void *arg, surety_error *err);

/* SURETY_E_STOPPED if run->stop asks for it. */
surety_status surety_stopped(const surety_run *run, surety_error *err);

/* The share of [*first, *end) that this process takes (surety_share_begin). The shares of all are the whole,
 * each once. */
void surety_my_share(const surety_run *run, size_t *first, size_t *end);

/* The same for rows that all shall know in the end, by surety_share_everyone: a process that never meets the
 * others (surety_everyone.share) takes all of them. */
void surety_my_rows(const surety_run *run, size_t *first, size_t *end);

/* Replaces values[0..count) by their sum over all processes: integers, so the order cannot matter. A value
 * that one process alone knows, where the others have 0, becomes known to all. */
surety_status surety_sum_everyone(const surety_run *run, int64_t *values, size_t count, surety_error *err);

/* Replaces values[0..count) by the largest of all processes. */
surety_status surety_most_everyone(const surety_run *run, double *values, size_t count, surety_error *err);

/* Rows that each process has made of its own share of rows [0, count), cut at multiples of unit, become known
 * to all. */
surety_status surety_share_everyone(const surety_run *run, void *rows, size_t count, size_t unit,
                                    size_t bytes, surety_error *err);

/* One status for all: the first that is not SURETY_OK in the order of the processes, and its error. For what
 * each finds in rows of its own, so that all end, with the words of one process for all rows. */
surety_status surety_fail_together(const surety_run *run, surety_status status, surety_error *err);

/* 1 if sums are this process's own (surety_everyone.apart). */
int surety_apart(const surety_run *run);

/* SURETY_E_PART: what a call returns that is apart and would conclude now. */
surety_status surety_no_whole(surety_error *err);

/* Reports progress, if anyone listens. */
void surety_report(const surety_run *run, const char *phase, uint64_t done, uint64_t total, const char *text);

#endif
