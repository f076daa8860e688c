/* One training loop (docs/theory.md 5). A phase says which set trains, which parameters move, what is
 * lowered, how many epochs there are and which set chooses the best of them. */
#ifndef SURETY_TRAIN_PHASE_H
#define SURETY_TRAIN_PHASE_H

#include "attack/attacker.h"
#include "surety/bound.h"
#include "surety/train.h"

typedef struct surety_phase {
    const char *name;         /* "step 1", "step 2" */
    const surety_set *train;  /* batches are drawn from it */
    const surety_set *choose; /* attacked after each epoch; the epoch with the lowest value on it is kept */
    int moves_voters; /* 1: voters and weights move (real outputs); 0: weights only (the chosen votes) */
    int has_bound;    /* 0: the mean linear loss is lowered */
    surety_bound_id objective; /* else this bound, of the batch's risk and KL(Q||P) */
    surety_bound_input input;  /* m, delta, T_p, profile of that bound */
    size_t epochs;
    uint32_t
        first_pass; /* passes over sets, numbered through the whole training: they address random numbers */
} surety_phase;

/* Everything that a training changes. It is what a checkpoint holds. */
typedef struct surety_train_state {
    surety_voters *voters;
    size_t H, tensors;
    double *theta, *theta_m, *theta_v;            /* (H), weights are softmax(theta) */
    float *m[SURETY_TENSORS], *v[SURETY_TENSORS]; /* of Adam, laid out as the tensors */
    float *best_tensors[SURETY_TENSORS];          /* of the best epoch so far */
    double *best_theta;
    double *prior_theta; /* (H) end of step 1: P = softmax */
    double *values;      /* value of every epoch of the phase */
    size_t values_size;
    uint64_t phase, epoch, best,
        steps; /* which phase, epochs done in it, best of them (from 1), Adam steps */
} surety_train_state;

/* Memory for a state around voters (which it owns from now on); theta is 0: uniform weights. */
surety_status surety_train_state_new(surety_train_state *state, surety_voters *voters, size_t most_epochs,
                                     surety_error *err);
void surety_train_state_free(surety_train_state *state);

/* weights = softmax(theta), H of them. */
void surety_softmax(const double *theta, size_t H, double *weights);

/* Called after every epoch: writes the checkpoint. */
typedef surety_status (*surety_epoch_fn)(void *arg, const surety_train_state *state, surety_error *err);

/* Runs the epochs of a phase that are still missing (state->epoch are done), then puts the best epoch's
 * parameters back into the voters and theta. *moves counts gradient steps of the defense. */
surety_status surety_phase_run(const surety_phase *phase, const surety_train_settings *settings,
                               surety_train_state *state, surety_epoch_fn after_epoch, void *arg,
                               uint64_t *moves, const surety_run *run, surety_error *err);

#endif
