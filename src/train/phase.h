/* One training loop (docs/theory.md 5). A phase says which set trains, which parameters move, what is
 * lowered, how many epochs there are and which set chooses the best of them. */
#ifndef SURETY_TRAIN_PHASE_H
#define SURETY_TRAIN_PHASE_H

#include <math.h>

#include "evaluate/sampler.h"
#include "surety/bound.h"
#include "surety/train.h"

typedef struct surety_phase {
    const char *name;         /* "step 1", "step 2" */
    const surety_set *train;  /* batches are drawn from it */
    const surety_set *choose; /* attacked after each epoch; the epoch with the lowest value on it is kept.
                                 NULL: the last epoch is kept */
    int moves_voters; /* 1: voters and weights move (real outputs); 0: weights only (the chosen votes) */
    double certified; /* loss = certified * worst case over the defense's ball + (1 - certified) * loss at the
                         defense's points. The ball's radius grows from 0 over the first half of the epochs */
    const float *votes; /* (m, H) cached votes of every voter on train, used instead of attacking; or NULL */
    int has_bound;      /* 0: the mean linear loss is lowered */
    surety_bound_id objective; /* else this bound, of the batch's risk and KL(Q||P) */
    surety_bound_input input;  /* m, delta, T_p of that bound */
    size_t epochs;
    uint32_t first_epoch; /* epochs are numbered through the whole training: they address random numbers */
} surety_phase;

/* The logistic and the bounded loss (docs/theory.md 9.4) where this share of a phase is done: a larger
 * C lets go of right examples sooner, a larger q of hopeless ones. Chosen on hold-outs of S'
 * (docs/notes/classes.md, docs/notes/lipschitz.md). */
typedef struct surety_loss_shape {
    double C, q;
} surety_loss_shape;

static inline surety_loss_shape surety_loss_at(surety_loss loss, size_t classes, double done) {
    int bounded = loss == SURETY_LOSS_BOUNDED;
    double C = bounded ? 2 * pow(10, done) : 5;
    return (surety_loss_shape){classes == 2 ? C : 8 * C, bounded ? fmin(fmax(2 * done - 0.5, 0), 1) : 0};
}

enum { SURETY_STEP1, SURETY_STEP2, SURETY_PHASES };

/* Everything that a training changes. It is what a checkpoint holds. */
typedef struct surety_train_state {
    surety_voters *voters;
    size_t H, tensors;
    double *theta, *theta_m, *theta_v;            /* (H), weights are softmax(theta); Adam's moments */
    float *m[SURETY_TENSORS], *v[SURETY_TENSORS]; /* Adam's moments, laid out as the tensors, where gradients
                                                     move them */
    void *best_tensors[SURETY_TENSORS];           /* of the best epoch so far */
    double *best_theta;                           /* (H) */
    double *prior_theta;                          /* (H) end of step 1: P = softmax */
    size_t epochs[SURETY_PHASES];                 /* planned */
    double *values[SURETY_PHASES];                /* value of every epoch on the set that chooses */
    uint64_t best[SURETY_PHASES];                 /* best epoch so far, from 1 */
    uint64_t phase, epoch, steps;                 /* phase at work, its finished epochs, its Adam steps */
} surety_train_state;

/* Memory for a state around voters (which it owns from now on); theta is 0: uniform weights. */
surety_status surety_train_state_new(surety_train_state *state, surety_voters *voters, size_t step1_epochs,
                                     size_t step2_epochs, surety_error *err);
void surety_train_state_free(surety_train_state *state);

/* Puts `into`, a fresh state of the same shape, at the beginning of step 2 of `from`, which has ended its
 * step 1: same voters, P and history. */
void surety_train_state_continue(surety_train_state *into, const surety_train_state *from);

/* weights = softmax(theta), H of them. */
void surety_softmax(const double *theta, size_t H, double *weights);

/* Called after every epoch: writes the checkpoint. */
typedef struct surety_after_epoch {
    surety_status (*fn)(void *arg, const surety_train_state *state, surety_error *err);
    void *arg;
} surety_after_epoch;

/* The state at the beginning of step 2: P is where theta is now, Adam starts afresh. */
void surety_train_state_next(surety_train_state *state);

/* Runs the epochs of a phase that are still missing (state->epoch are done), then puts the best epoch's
 * parameters back into the voters and theta. after may be NULL; *timing gains what it took. */
surety_status surety_phase_run(const surety_phase *phase, const surety_train_settings *settings,
                               surety_train_state *state, const surety_after_epoch *after,
                               surety_timing *timing, const surety_run *run, surety_error *err);

#endif
