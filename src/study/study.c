/* Running the grid. The data of all tasks is read first, so that no task waits for another; tasks one after
 * the other, within a task the long cells first.
 *
 * Side by side or threads inside? A cell on one thread has no barriers at all, threads inside a cell meet
 * after every batch of 64 examples: so cells run side by side while there are at least as many as threads.
 *
 * Progress belongs to the thread that made the call, but cells finish on any thread: a finished cell only
 * sets its flag, and the calling thread tells of it when it next reports for its own cell.
 *
 * A cell is computed under its lock. One that another process holds is left to it and looked at again when
 * the own ones are finished: then its file is there, or that process has ended without it. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/parallel.h"
#include "io/lock.h"
#include "io/write.h"
#include "study/study.h"

typedef struct grid grid;

/* One cell at work. Only its own thread writes; the calling thread reads `spent`. */
typedef struct slot {
    grid *g;
    surety_cost cost;
    int tells; /* 1: on the calling thread, so it may report */
    char phase[32];
    uint64_t last;   /* done of the last report in this phase */
    double finished; /* estimated seconds of the phases that are over */
    uint64_t spent;  /* milliseconds of the estimate */
} slot;

enum { MISSING, FINISHED, ANOTHERS, TOLD }; /* finished here, by another process */

struct grid {
    const surety_study_settings *s;
    const char *folder;
    const surety_run *run;
    surety_data **data; /* per task, where cells are missing */
    size_t tasks;
    surety_cell *cells;
    size_t count;
    surety_cost *cost;
    size_t *pending; /* cells that are missing, in the order in which they are begun */
    size_t pending_count;
    int inner;   /* threads inside a cell */
    slot *slots; /* per thread */
    size_t slot_count;
    double *took; /* seconds of cells computed now, (count) */
    int *state;   /* (count) MISSING .. TOLD; flags are set with release, read with acquire */
    size_t missing, told, mine;
    uint64_t total, told_spent; /* milliseconds of the estimate */
};

static uint64_t milliseconds(double seconds) {
    return (uint64_t)(1000 * seconds) + 1;
}

/* ---- progress ---- */

/* Tells of cells that finished since the last time; on the calling thread only. */
static void tell(grid *g) {
    for (size_t i = 0; i < g->count; i++) {
        int state = __atomic_load_n(&g->state[i], __ATOMIC_ACQUIRE);
        if (state != FINISHED && state != ANOTHERS) continue;
        char name[SURETY_CELL_NAME], text[SURETY_CELL_NAME + 64];
        surety_cell_name(&g->cells[i], name);
        g->state[i] = TOLD;
        g->told_spent += milliseconds(g->cost[i].all);
        if (state == ANOTHERS) {
            g->missing--;
            continue;
        }
        surety_format(text, sizeof text, "%s: %.1f s, cell %zu of %zu", name, g->took[i], ++g->told,
                      g->missing);
        surety_report(g->run, "reproduce", g->told_spent, g->total, text);
    }
}

static double phase_cost(const slot *s) {
    if (!strcmp(s->phase, "step 1")) return s->cost.step1;
    if (!strcmp(s->phase, "step 2")) return s->cost.step2;
    if (!strcmp(s->phase, "perturbed T")) return s->cost.perturbed_test;
    if (!strcmp(s->phase, "perturbed S")) return s->cost.perturbed_learn;
    return 0;
}

/* What the library reports while a cell runs: phases one after the other, each from 0 to its total. */
static void follow(void *arg, const surety_progress *p) {
    slot *s = arg;
    if (strcmp(s->phase, p->phase) || p->done < s->last) {
        s->finished += phase_cost(s);
        snprintf(s->phase, sizeof s->phase, "%s", p->phase);
    }
    s->last = p->done;
    double now = s->finished + phase_cost(s) * (p->total ? (double)p->done / (double)p->total : 0);
    __atomic_store_n(&s->spent, (uint64_t)(1000 * (now < s->cost.all ? now : s->cost.all)), __ATOMIC_RELAXED);
    if (!s->tells) return;
    tell(s->g);
    uint64_t spent = s->g->told_spent;
    for (size_t i = 0; i < s->g->slot_count; i++)
        spent += __atomic_load_n(&s->g->slots[i].spent, __ATOMIC_RELAXED);
    surety_report(s->g->run, "reproduce", spent < s->g->total ? spent : s->g->total, s->g->total, "");
}

/* ---- cells ---- */

static surety_status run_one(grid *g, size_t index, int thread, surety_error *err) {
    slot *s = &g->slots[thread];
    double began = surety_seconds();
    *s = (slot){.g = g, .cost = g->cost[index], .tells = thread == 0};
    surety_run run = {
        .threads = g->inner, .progress = follow, .progress_arg = s, .stop = g->run ? g->run->stop : NULL};
    json_t *found;
    SURETY_TRY(
        surety_cell_run(&found, g->s, &g->cells[index], g->data[g->cells[index].task], g->folder, &run, err));
    SURETY_TRY(surety_cell_save(found, g->folder, &g->cells[index], err));
    g->took[index] = surety_seconds() - began;
    __atomic_store_n(&s->spent, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&g->state[index], FINISHED, __ATOMIC_RELEASE);
    return SURETY_OK;
}

/* Under the lock: unless another process has finished it meanwhile. */
static surety_status run_missing_one(grid *g, size_t index, int thread, surety_error *err) {
    json_t *found;
    SURETY_TRY(surety_cell_load(&found, g->folder, &g->cells[index], err));
    if (!found) return run_one(g, index, thread, err);
    json_decref(found);
    __atomic_store_n(&g->state[index], ANOTHERS, __ATOMIC_RELEASE);
    return SURETY_OK;
}

static surety_status run_pending(void *arg, size_t block, int thread, surety_error *err) {
    grid *g = arg;
    char name[SURETY_CELL_NAME], *path = NULL;
    surety_lock lock = {0};
    surety_cell_name(&g->cells[g->pending[block]], name);
    surety_status status = surety_study_path(&path, g->folder, "cells", name, ".json", err);
    if (status == SURETY_OK) status = surety_lock_try(&lock, path, err);
    if (status == SURETY_OK && lock.held) status = run_missing_one(g, g->pending[block], thread, err);
    surety_lock_release(&lock);
    surety_free(path);
    return status;
}

/* Does cell a begin before cell b? */
static int comes_first(const grid *g, size_t a, size_t b) {
    if (g->cells[a].task != g->cells[b].task) return g->cells[a].task < g->cells[b].task;
    return g->cost[a].all > g->cost[b].all;
}

static void list_pending(grid *g) {
    g->pending_count = 0;
    for (size_t i = 0; i < g->count; i++) {
        if (g->state[i]) continue;
        size_t at = g->pending_count++;
        for (; at && comes_first(g, i, g->pending[at - 1]); at--) g->pending[at] = g->pending[at - 1];
        g->pending[at] = i;
    }
}

static surety_status read_data(void *arg, size_t task, int thread, surety_error *err) {
    grid *g = arg;
    size_t count, at = 0;
    (void)thread;
    while (at < g->pending_count && g->cells[g->pending[at]].task != task) at++;
    if (at == g->pending_count) return SURETY_OK;
    surety_data_settings settings = surety_data_defaults();
    settings.task = surety_paper_tasks(&count)[task].name;
    settings.data_dir = g->s->data_dir;
    return surety_data_open(&settings, &g->data[task], err);
}

static surety_status run_list(grid *g, surety_error *err) {
    int threads = surety_threads(g->run);
    surety_run run = {.threads = threads, .stop = g->run ? g->run->stop : NULL};
    surety_status status = SURETY_OK;
    int alone = g->s->recipe == SURETY_RECIPE_PRINT; /* its cells are made on one thread each */
    if (alone || g->pending_count >= (size_t)threads) {
        g->inner = 1;
        status = surety_parallel(&run, NULL, g->pending_count, run_pending, g, err);
    } else {
        g->inner = threads;
        for (size_t i = 0; i < g->pending_count && status == SURETY_OK; i++)
            status = run_pending(g, i, 0, err);
    }
    tell(g);
    return status;
}

/* Until none is missing: what others are at work on is looked at again every half second. */
static surety_status run_missing(grid *g, surety_error *err) {
    const struct timespec pause = {.tv_nsec = 500000000};
    surety_run run = {.threads = surety_threads(g->run), .stop = g->run ? g->run->stop : NULL};
    surety_paper_tasks(&g->tasks);
    SURETY_TRY(surety_alloc(&g->data, g->tasks, sizeof *g->data, err));
    list_pending(g);
    SURETY_TRY(surety_parallel(&run, NULL, g->tasks, read_data, g, err));
    SURETY_TRY(run_list(g, err));
    for (list_pending(g); g->pending_count; list_pending(g)) {
        surety_report(g->run, "waiting for cells of other processes", g->told_spent, g->total, "");
        SURETY_TRY(surety_stopped(g->run, err));
        nanosleep(&pause, NULL);
        SURETY_TRY(run_list(g, err));
    }
    return SURETY_OK;
}

/* Cells are dealt in turn, and the turn moves on with every round: neighbours in the grid cost the same. */
static int is_mine(const grid *g, size_t i) {
    return !g->s->parts || (i + i / g->s->parts) % g->s->parts == g->s->part - 1;
}

static surety_status prepare(grid *g, surety_error *err) {
    surety_speed speed;
    SURETY_TRY(surety_study_open(g->folder, g->s, err));
    SURETY_TRY(surety_grid_make(&g->cells, &g->count, g->s, err));
    g->slot_count = (size_t)surety_threads(g->run);
    SURETY_TRY(surety_alloc(&g->slots, g->slot_count, sizeof *g->slots, err));
    SURETY_TRY(surety_alloc(&g->cost, g->count, sizeof *g->cost, err));
    SURETY_TRY(surety_alloc(&g->pending, g->count, sizeof *g->pending, err));
    SURETY_TRY(surety_alloc(&g->took, g->count, sizeof *g->took, err));
    SURETY_TRY(surety_alloc(&g->state, g->count, sizeof *g->state, err));
    SURETY_TRY(surety_speed_measure(&speed, err));
    for (size_t i = 0; i < g->count; i++) {
        json_t *found = NULL;
        if (is_mine(g, i)) SURETY_TRY(surety_cell_load(&found, g->folder, &g->cells[i], err));
        g->state[i] = found || !is_mine(g, i) ? TOLD : MISSING;
        g->mine += (size_t)is_mine(g, i);
        json_decref(found);
        g->cost[i] = surety_cell_cost(g->s, &g->cells[i], &speed);
        if (g->state[i]) continue;
        g->missing++;
        g->total += milliseconds(g->cost[i].all);
    }
    return SURETY_OK;
}

/* The cells that are this process's own. */
static surety_status run_cells(const surety_study_settings *settings, const char *folder,
                               surety_study_summary *summary, const surety_run *run, surety_error *err) {
    grid g = {.s = settings, .folder = folder, .run = run};
    surety_status status = prepare(&g, err);
    if (status == SURETY_OK) status = run_missing(&g, err);
    summary->cells = g.mine;
    summary->computed = g.told;
    for (size_t i = 0; i < g.count && g.took; i++) summary->cell_seconds += g.took[i];
    for (size_t i = 0; i < g.tasks && g.data; i++) surety_data_free(g.data[i]);
    void *parts[] = {g.slots, g.cells, g.cost, g.pending, g.took, g.state, (void *)g.data};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    return status;
}

/* Several processes that meet work in one folder, and the last to know would be the first one, when it looks
 * for the cells of the others: so it puts a file there, and all look for it. */
static surety_status check_same_folder(const char *folder, const surety_run *run, surety_error *err) {
    const surety_everyone *all = run->everyone;
    char *path = NULL;
    int there = 0;
    surety_status status = surety_join(&path, folder, "/", "together", err);
    if (status == SURETY_OK && all->rank == 0) status = surety_folder_make(folder, err);
    if (status == SURETY_OK && all->rank == 0) status = surety_write_own(path, "", 0, err);
    status = surety_fail_together(run, status, err);
    if (status == SURETY_OK) status = surety_path_look(path, &there, err);
    if (status == SURETY_OK && !there) {
        status =
            surety_fail(err, SURETY_E_INPUT, "process %zu sees another folder than process 0", all->rank);
        surety_fail_expected(err,
                             "one folder for all, on a file system that all machines share; or parts "
                             "(--part k/N), whose folders can be copied together");
        surety_fail_file(err, folder);
    }
    status = surety_fail_together(run, status, err);
    if (path && all->rank == 0) unlink(path);
    surety_free(path);
    return status;
}

/* As one of several processes that meet: every one writes its own cells. */
static surety_status run_share(surety_study_settings settings, const char *folder,
                               surety_study_summary *summary, const surety_run *run, surety_error *err) {
    int writes = surety_is_writing();
    settings.part = run->everyone->rank + 1, settings.parts = run->everyone->size;
    surety_writing(1);
    surety_status status = check_same_folder(folder, run, err);
    if (status == SURETY_OK) status = run_cells(&settings, folder, summary, run, err);
    surety_writing(writes);
    int64_t sums[] = {(int64_t)summary->cells, (int64_t)summary->computed};
    if (status == SURETY_OK) status = surety_sum_everyone(run, sums, 2, err);
    summary->cells = (size_t)sums[0], summary->computed = (size_t)sums[1];
    return status;
}

surety_status surety_study_run(const surety_study_settings *settings, const char *folder,
                               surety_study_summary *summary, const surety_run *run, surety_error *err) {
    double began = surety_seconds();
    *summary = (surety_study_summary){0};
    SURETY_TRY(surety_study_validate(settings, err));
    surety_status status = run && run->everyone && run->everyone->share
                               ? run_share(*settings, folder, summary, run, err)
                               : run_cells(settings, folder, summary, run, err);
    if (status == SURETY_OK && !settings->parts) status = surety_results_write(folder, settings, err);
    if (status == SURETY_E_STOPPED && !settings->parts)
        surety_results_write(folder, settings, NULL); /* as far as it is known */
    summary->seconds = surety_seconds() - began;
    return status;
}
