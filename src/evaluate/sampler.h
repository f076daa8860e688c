/* Set + vote + threat -> points and votes, handed to whoever counts: the one way of training, tables, curves,
 * certificates and lists of examples. Nothing is stored: perturbations are drawn, asked, counted, dropped.
 *
 * Each thread takes the next example where an attack of its own has ended, so that its places stay full. A
 * result never depends on threads, on neighbours or on the order in which attacks end: counters keep what
 * they find in slots per example, or in integers. */
#ifndef SURETY_EVALUATE_SAMPLER_H
#define SURETY_EVALUATE_SAMPLER_H

#include "attack/attacker.h"

/* Epochs that address random numbers: the perturbed sets of rows and certificates are epoch 0, which no
 * training uses; R_att, which nothing is concluded from, has the last one. */
enum { SURETY_EPOCH_PERTURBED = 0, SURETY_EPOCH_ATTACKED = SURETY_EPOCH_LIMIT - 1 };

/* The workspaces of all threads of a run. The voters are borrowed; they may change between runs, except that
 * limits of the worst case are those of the voters as they were when it was made. */
typedef struct surety_sampler surety_sampler;

/* The threat is copied; it was validated. set: how the worst case asks voters. */
surety_status surety_sampler_new(surety_sampler **out, const surety_threat *threat,
                                 const surety_voters *voters, surety_voter_set set, const surety_run *run,
                                 surety_error *err);
void surety_sampler_free(surety_sampler *sampler); /* NULL is fine */

/* The epoch that addresses the random numbers from now on. */
void surety_sampler_epoch(surety_sampler *sampler, uint32_t epoch);

/* A thread's view of the voters, packed as they are now. */
const surety_voters *surety_sampler_voters(surety_sampler *sampler, int thread);

/* One example's attack has ended. */
typedef struct surety_ended {
    size_t k, i; /* the k-th of the run, example i of its set */
    size_t n;    /* perturbations */
    size_t steps;
    int thread;               /* which counter's slot may be used without asking */
    surety_threat_kind found; /* which attack made the attacked vote wrong (surety_attacker_found) */
} surety_ended;

/* Perturbation j of it. Not called in the worst case, which has none. */
typedef surety_status (*surety_point_fn)(void *arg, const surety_ended *e, size_t j, const float *x,
                                         surety_error *err);
/* All its votes: output k of voter t on perturbation j is votes[(t * width + k) * ld + j]. In the worst case
 * n = 1, and there are the limits of voters/worst.h instead, at votes[(t * (K - 1) + c) * ld]. */
typedef surety_status (*surety_votes_fn)(void *arg, const surety_ended *e, const float *votes, size_t ld,
                                         surety_error *err);

typedef struct surety_sampling {
    const surety_set *set;
    const uint32_t *order; /* the k-th example is order[k] of the set; NULL: k */
    size_t first, end;     /* first <= k < end */
    surety_vote vote;      /* that is attacked, of the sampler's voters */
    surety_point_fn point; /* NULL: nobody wants the points */
    surety_votes_fn votes; /* NULL: the voters are not asked at them */
    void *arg;
    const char *phase; /* for progress, or NULL */
    int shared;        /* 1: only the share of this process (surety_my_share); whoever counts gathers */
} surety_sampling;

/* SURETY_E_USAGE unless this process has the features of the examples first .. end-1 (surety_set). */
surety_status surety_sampling_has(const surety_set *set, size_t first, size_t end, surety_error *err);

/* What a run took. */
typedef struct surety_sampler_work {
    double busy;           /* processor seconds of all threads */
    uint64_t asked, moves; /* rows that were asked, and moved along their gradient, by attacks */
} surety_sampler_work;

/* *work, unless NULL, gains. A counter's failure ends it, and the first one in the order of threads is told.
 */
surety_status surety_sampler_run(surety_sampler *sampler, const surety_sampling *what,
                                 surety_sampler_work *work, const surety_run *run, surety_error *err);

/* Whole set, under one vote, with a sampler of its own. */
surety_status surety_sample_set(const surety_threat *threat, const surety_sampling *what,
                                const surety_run *run, surety_error *err);

#endif
