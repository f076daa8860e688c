#include "evaluate/sampler.h"

#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "voters/worst.h"

/* One thread's part. Points of examples whose attack has ended wait until there is a block of them; votes
 * wait until there is a block of examples, which has a whole number of blocks of points. */
typedef struct worker {
    surety_attacker *attacker; /* or, in the worst case, */
    surety_worst *worst;
    float *points;      /* (SURETY_BLOCK, stride) */
    float *votes;       /* (H, width, SURETY_LANES n): of a block's examples, one after the other */
    float *h, *scratch; /* one block of voters' outputs */
    surety_ended waiting[SURETY_BLOCK]; /* examples that have ended */
    size_t examples, asked, drawn;      /* these, their points with votes and without */
    surety_sampler_work work;           /* of a run */
} worker;

struct surety_sampler {
    surety_threat threat;
    const surety_voters *voters;
    surety_voter_set voter_set;
    size_t n, d, stride, threads;
    size_t outputs; /* H width */
    worker *workers;
    /* of a run */
    const surety_sampling *what;
    const surety_run *run;
    size_t first, end, next; /* k of the first example, behind the last, and of the next */
};

/* ---- making ---- */

static surety_status new_worker(const surety_sampler *s, worker *w, surety_error *err) {
    if (s->threat.kind == SURETY_WORST_CASE)
        return surety_worst_new(&w->worst, s->voters, &s->threat.ball, s->threat.budget, s->voter_set, err);
    SURETY_TRY(surety_attacker_new(&w->attacker, &s->threat, s->voters, err));
    SURETY_TRY(surety_alloc(&w->points, SURETY_BLOCK * s->stride, sizeof(float), err));
    SURETY_TRY(surety_alloc(&w->h, s->outputs * SURETY_LANES, sizeof(float), err));
    SURETY_TRY(surety_alloc(&w->scratch, surety_voters_scratch(s->voters), sizeof(float), err));
    return surety_alloc(&w->votes, SURETY_LANES * s->n, s->outputs * sizeof(float), err);
}

surety_status surety_sampler_new(surety_sampler **out, const surety_threat *threat,
                                 const surety_voters *voters, surety_voter_set set, const surety_run *run,
                                 surety_error *err) {
    surety_sampler *s;
    *out = NULL;
    SURETY_TRY(surety_alloc(&s, 1, sizeof *s, err));
    *s = (surety_sampler){.threat = *threat,
                          .voters = voters,
                          .voter_set = set,
                          .n = surety_threat_samples(threat),
                          .outputs = surety_voters_count(voters) * surety_voters_width(voters),
                          .d = surety_voters_features(voters),
                          .threads = (size_t)surety_threads(run)};
    s->stride = surety_padded(s->d);
    surety_status status = surety_alloc(&s->workers, s->threads, sizeof *s->workers, err);
    for (size_t t = 0; t < s->threads && status == SURETY_OK; t++)
        status = new_worker(s, &s->workers[t], err);
    if (status == SURETY_OK)
        *out = s;
    else
        surety_sampler_free(s);
    return status;
}

void surety_sampler_free(surety_sampler *s) {
    if (!s) return;
    for (size_t t = 0; s->workers && t < s->threads; t++) {
        worker *w = &s->workers[t];
        surety_attacker_free(w->attacker);
        surety_worst_free(w->worst);
        float *parts[] = {w->points, w->votes, w->h, w->scratch};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    }
    surety_free(s->workers);
    surety_free(s);
}

void surety_sampler_epoch(surety_sampler *s, uint32_t epoch) {
    for (size_t t = 0; t < s->threads; t++)
        if (s->workers[t].attacker) surety_attacker_epoch(s->workers[t].attacker, epoch);
}

const surety_voters *surety_sampler_voters(surety_sampler *s, int thread) {
    return surety_attacker_voters(s->workers[thread].attacker);
}

/* ---- attacks ---- */

typedef struct share {
    surety_sampler *s;
    worker *w;
    int thread;
} share;

/* The voters at the points that were drawn. Unused lanes hold garbage, which the next block overwrites. */
static void ask_voters(const surety_sampler *s, worker *w) {
    const surety_voters *v = surety_attacker_voters(w->attacker);
    const float *x[SURETY_BLOCK] = {NULL};
    for (size_t k = 0; k < w->drawn; k++) x[k] = w->points + k * s->stride;
    surety_voters_ask(v, x, w->drawn, w->h, w->scratch);
    for (size_t t = 0; t < s->outputs; t++)
        memcpy(w->votes + t * SURETY_LANES * s->n + w->asked, w->h + t * SURETY_LANES,
               SURETY_LANES * sizeof *w->h);
    w->asked += w->drawn;
    w->drawn = 0;
}

static surety_status hand_out(const surety_sampler *s, worker *w, surety_error *err) {
    const surety_sampling *what = s->what;
    for (size_t r = 0; r < w->examples; r++)
        SURETY_TRY(what->votes(what->arg, &w->waiting[r], w->votes + r * s->n, SURETY_LANES * s->n, err));
    w->examples = w->asked = 0;
    return SURETY_OK;
}

/* Progress is the calling thread's, now and then. */
static surety_status look_up(const share *mine, size_t k, surety_error *err) {
    const surety_sampling *what = mine->s->what;
    SURETY_TRY(surety_stopped(mine->s->run, err));
    if (mine->thread || !what->phase || k % SURETY_BLOCK) return SURETY_OK;
    size_t next = __atomic_load_n(&mine->s->next, __ATOMIC_RELAXED);
    size_t first = mine->s->first, end = mine->s->end;
    surety_report(mine->s->run, what->phase, (next < end ? next : end) - first, end - first, "");
    return SURETY_OK;
}

static surety_status ended(void *arg, size_t k, size_t r, size_t steps, surety_error *err) {
    const share *mine = arg;
    const surety_sampler *s = mine->s;
    const surety_sampling *what = s->what;
    worker *w = mine->w;
    surety_ended e = {k,
                      what->order ? what->order[k] : k,
                      s->n,
                      steps,
                      mine->thread,
                      surety_attacker_found(w->attacker, r)};
    SURETY_TRY(look_up(mine, k, err));
    for (size_t j = 0; j < s->n; j++) {
        float *point = w->points + w->drawn * s->stride;
        surety_attacker_sample(w->attacker, r, j, point);
        if (what->point) SURETY_TRY(what->point(what->arg, &e, j, point, err));
        if (what->votes && ++w->drawn == SURETY_BLOCK) ask_voters(s, w);
    }
    if (!what->votes) return SURETY_OK;
    w->waiting[w->examples++] = e;
    return w->examples == SURETY_BLOCK ? hand_out(s, w, err) : SURETY_OK;
}

static surety_status attack(surety_sampler *s, worker *w, int thread, surety_error *err) {
    const surety_sampling *what = s->what;
    size_t left = s->end - s->first, each = (left + s->threads - 1) / s->threads;
    /* long sets in blocks that the products are fastest with; a batch takes what it can */
    size_t most = left > 4 * s->threads * SURETY_LANES ? SURETY_BLOCK : SURETY_LANES;
    share mine = {s, w, thread};
    w->examples = w->asked = w->drawn = 0;
    surety_stream stream = {.set = what->set,
                            .order = what->order,
                            .next = &s->next,
                            .end = s->end,
                            .places = each < most ? each : most,
                            .ended = ended,
                            .arg = &mine};
    SURETY_TRY(surety_attacker_stream(w->attacker, &what->vote, &stream, err));
    w->work.asked += stream.asked;
    w->work.moves += stream.moves;
    if (w->drawn) ask_voters(s, w);
    return what->votes ? hand_out(s, w, err) : SURETY_OK;
}

/* ---- the worst case ---- */

static surety_status prove(surety_sampler *s, worker *w, int thread, surety_error *err) {
    const surety_sampling *what = s->what;
    share mine = {s, w, thread};
    double radius[SURETY_BLOCK];
    for (size_t r = 0; r < SURETY_BLOCK; r++) radius[r] = s->threat.ball.radius;
    for (;;) {
        size_t first = __atomic_fetch_add(&s->next, SURETY_BLOCK, __ATOMIC_RELAXED);
        surety_examples e = {.which = what->set->which};
        surety_ended of[SURETY_BLOCK];
        if (first >= s->end) return SURETY_OK;
        SURETY_TRY(look_up(&mine, first - s->first, err));
        for (size_t k = first; k < s->end && e.rows < SURETY_BLOCK; k++) {
            of[e.rows] =
                (surety_ended){k, what->order ? what->order[k] : k, 1, 0, thread, SURETY_ATTACK_NONE};
            surety_examples_put(&e, e.rows, what->set, of[e.rows].i);
            e.rows++;
        }
        const float *worst = surety_worst_run(w->worst, &e, radius);
        for (size_t r = 0; r < e.rows; r++)
            SURETY_TRY(what->votes(what->arg, &of[r], worst + r, SURETY_LANES, err));
    }
}

/* ---- running ---- */

static surety_status run_share(void *arg, size_t part, int thread, surety_error *err) {
    surety_sampler *s = arg;
    worker *w = &s->workers[thread];
    double begin = surety_busy_seconds();
    (void)part;
    surety_status status = w->worst ? prove(s, w, thread, err) : attack(s, w, thread, err);
    if (status != SURETY_OK) __atomic_store_n(&s->next, s->end, __ATOMIC_RELAXED); /* others end too */
    w->work.busy += surety_busy_seconds() - begin;
    return status;
}

surety_status surety_sampling_has(const surety_set *set, size_t first, size_t end, surety_error *err) {
    if (surety_set_has(set, first, end)) return SURETY_OK;
    surety_fail(err, SURETY_E_USAGE, "features of rows that other processes have are asked for");
    surety_fail_expected(err, "data opened without own_rows");
    return SURETY_E_USAGE;
}

surety_status surety_sampler_run(surety_sampler *s, const surety_sampling *what, surety_sampler_work *work,
                                 const surety_run *run, surety_error *err) {
    s->what = what;
    s->run = run;
    s->first = what->first;
    s->end = what->end;
    if (what->shared) surety_my_share(run, &s->first, &s->end);
    SURETY_TRY(what->order ? surety_sampling_has(what->set, 0, what->set->m, err)
                           : surety_sampling_has(what->set, s->first, s->end, err));
    s->next = s->first;
    size_t count = s->end - s->first, shares = s->threads < count ? s->threads : count;
    for (size_t t = 0; t < s->threads; t++) s->workers[t].work = (surety_sampler_work){0};
    surety_run quiet = {.threads = (int)s->threads};
    SURETY_TRY(surety_parallel(&quiet, NULL, shares, run_share, s, err));
    if (what->phase) surety_report(run, what->phase, count, count, "");
    for (size_t t = 0; work && t < s->threads; t++) {
        work->busy += s->workers[t].work.busy;
        work->asked += s->workers[t].work.asked;
        work->moves += s->workers[t].work.moves;
    }
    return SURETY_OK;
}

surety_status surety_sample_set(const surety_threat *threat, const surety_sampling *what,
                                const surety_run *run, surety_error *err) {
    surety_sampler *s;
    SURETY_TRY(surety_sampler_new(&s, threat, what->vote.voters, what->vote.voter_set, run, err));
    surety_status status = surety_sampler_run(s, what, NULL, run, err);
    surety_sampler_free(s);
    return status;
}
