/* Several processes that meet, played by threads with a barrier: their surety_everyone. */
#ifndef SURETY_TESTS_MEETING_H
#define SURETY_TESTS_MEETING_H

#include <pthread.h>
#include <string.h>

#include "check.h"
#include "surety/base.h"

enum { MEETING_MOST = 5 };

struct meeting_place;

typedef struct process {
    struct meeting_place *with;
    surety_everyone everyone;
    void *arg; /* of what it runs */
} process;

typedef struct meeting_place {
    pthread_barrier_t barrier;
    size_t size;
    void *of[MEETING_MOST]; /* what each one brought */
} meeting_place;

static surety_status meeting_sum(void *arg, int64_t *values, size_t count, surety_error *err) {
    const process *p = arg;
    meeting_place *m = p->with;
    (void)err;
    m->of[p->everyone.rank] = values;
    pthread_barrier_wait(&m->barrier);
    if (p->everyone.rank == 0)
        for (size_t i = 0; i < count; i++)
            for (size_t r = 1; r < m->size; r++) values[i] += ((const int64_t *)m->of[r])[i];
    pthread_barrier_wait(&m->barrier);
    if (p->everyone.rank) memcpy(values, m->of[0], count * sizeof *values);
    pthread_barrier_wait(&m->barrier);
    return SURETY_OK;
}

static surety_status meeting_share(void *arg, void *rows, size_t count, size_t unit, size_t bytes,
                                   surety_error *err) {
    const process *p = arg;
    meeting_place *m = p->with;
    (void)err;
    m->of[p->everyone.rank] = rows;
    pthread_barrier_wait(&m->barrier);
    for (size_t r = 0; r < m->size; r++) {
        size_t begin = surety_share_begin(count, unit, r, m->size),
               end = surety_share_begin(count, unit, r + 1, m->size);
        if (r != p->everyone.rank)
            memcpy((char *)rows + begin * bytes, (const char *)m->of[r] + begin * bytes,
                   (end - begin) * bytes);
    }
    pthread_barrier_wait(&m->barrier);
    return SURETY_OK;
}

/* run(&process) in each of so many; args + r * bytes is the arg of process r. */
static void meeting_run(size_t size, void *(*run)(void *), void *args, size_t bytes) {
    meeting_place m = {.size = size};
    process of[MEETING_MOST];
    pthread_t threads[MEETING_MOST];
    assert_int_equal(pthread_barrier_init(&m.barrier, NULL, (unsigned)size), 0);
    for (size_t r = 0; r < size; r++) {
        of[r] = (process){.with = &m, .arg = (char *)args + r * bytes};
        of[r].everyone = (surety_everyone){
            .rank = r, .size = size, .sum = meeting_sum, .share = meeting_share, .arg = &of[r]};
        assert_int_equal(pthread_create(&threads[r], NULL, run, &of[r]), 0);
    }
    for (size_t r = 0; r < size; r++) pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&m.barrier);
}

#endif
