/* One thread's attack on one block of examples. */
#ifndef SURETY_ATTACK_ATTACKER_H
#define SURETY_ATTACK_ATTACKER_H

#include "attack/step_kernel.h"
#include "surety/attack.h"
#include "voters/voters.h"

/* Example i of a set into place r. */
void surety_examples_put(surety_examples *e, size_t r, const surety_set *set, size_t i);

/* Examples [first, first + SURETY_BLOCK) of a set, cut off at its end. */
surety_examples surety_examples_of(const surety_set *set, size_t first);

/* The data has the voters' d features and classes and lies in the box; else SURETY_E_INPUT with the row. */
surety_status surety_attack_check_set(const surety_threat *settings, const surety_voters *voters,
                                      const surety_set *set, surety_error *err);

/* The same of all rows where each process of the run looks at its own: all end alike. */
surety_status surety_attack_check_rows(const surety_threat *settings, const surety_voters *voters,
                                       const surety_set *set, const surety_run *run, surety_error *err);

typedef struct surety_attacker surety_attacker;

/* Memory for attacks on votes of these voters, which it borrows; settings are copied and were validated. */
surety_status surety_attacker_new(surety_attacker **out, const surety_threat *settings,
                                  const surety_voters *voters, surety_error *err);
void surety_attacker_free(surety_attacker *a);

/* The epoch that addresses the random numbers from now on. */
void surety_attacker_epoch(surety_attacker *a, uint32_t epoch);

/* What the attack without its noise found, for each row of the block. Points are the attacker's until its
 * next run. */
typedef struct surety_attacked {
    const float *x[SURETY_LANES];
    int fooled[SURETY_LANES];  /* the vote is wrong there (a tie is wrong) */
    double loss[SURETY_LANES]; /* linear loss there, real outputs */
    size_t asked, moves; /* times a row was asked for its vote, and moved along its gradient: the work */
} surety_attacked;

/* Attacks the examples under a vote of the attacker's voters. */
const surety_attacked *surety_attacker_run(surety_attacker *a, const surety_vote *vote,
                                           const surety_examples *examples);

/* The attack on the k-th example of a stream has ended in place r, after so many steps:
 * surety_attacker_sample serves this row now. A status that is not SURETY_OK ends the stream. */
typedef surety_status (*surety_ended_fn)(void *arg, size_t k, size_t r, size_t steps, surety_error *err);

/* Examples of a set one after the other: where the attack on one ends, the next takes its place. */
typedef struct surety_stream {
    const surety_set *set;
    const uint32_t *order; /* the k-th example is order[k] of the set; NULL: k */
    size_t *next, end;     /* k of the next one, which other threads' streams may share; k < end */
    size_t places;         /* used at once, at most SURETY_LANES */
    surety_ended_fn ended;
    void *arg;
    size_t asked, moves; /* gain the work, as in surety_attacked */
} surety_stream;

/* Attacks the examples of a stream; each as surety_attacker_run would. */
surety_status surety_attacker_stream(surety_attacker *a, const surety_vote *vote, surety_stream *stream,
                                     surety_error *err);

/* Which attack made the vote of row r wrong: the attacker's own or, of apgd, the part of it that did; none if
 * it is right. */
surety_threat_kind surety_attacker_found(const surety_attacker *a, size_t r);

/* out (d floats; pads are left alone) = perturbation j of row r of the last run: the attacked point itself,
 * or for the u-attacks the point with noise j, inside the ball. */
void surety_attacker_sample(const surety_attacker *a, size_t r, size_t j, float *out);

/* The voters, packed for this attacker's thread, as they are now. */
const surety_voters *surety_attacker_voters(surety_attacker *a);
#endif
