/* What a training carries from batch to batch, and a checkpoint keeps: voters, theta of the weights (Q =
 * softmax(theta)), Adam's moments of both, and the best epoch so far. */
#include <math.h>
#include <string.h>

#include "train/phase.h"

surety_status surety_train_state_new(surety_train_state *state, surety_voters *voters, size_t step1_epochs,
                                     size_t step2_epochs, surety_error *err) {
    *state = (surety_train_state){.voters = voters,
                                  .H = surety_voters_count(voters),
                                  .tensors = surety_voters_tensors(voters),
                                  .epochs = {step1_epochs, step2_epochs}};
    double **weights[] = {&state->theta, &state->theta_m, &state->theta_v, &state->best_theta,
                          &state->prior_theta};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        SURETY_TRY(surety_alloc(weights[i], state->H, sizeof(double), err));
    for (size_t i = 0; i < SURETY_PHASES; i++)
        SURETY_TRY(surety_alloc(&state->values[i], state->epochs[i], sizeof(double), err));
    for (size_t k = 0; k < state->tensors; k++) {
        surety_tensor t = surety_voters_tensor(voters, k);
        size_t moments = surety_voters_can(voters, SURETY_CAN_LEARN) ? t.rows * t.stride : 0;
        SURETY_TRY(surety_alloc(&state->m[k], moments, sizeof(float), err));
        SURETY_TRY(surety_alloc(&state->v[k], moments, sizeof(float), err));
        SURETY_TRY(surety_alloc(&state->best_tensors[k], surety_tensor_size(&t), 1, err));
    }
    return SURETY_OK;
}

void surety_train_state_free(surety_train_state *state) {
    double *weights[] = {state->theta,       state->theta_m,   state->theta_v,  state->best_theta,
                         state->prior_theta, state->values[0], state->values[1]};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) surety_free(weights[i]);
    for (size_t k = 0; k < state->tensors; k++) {
        surety_free(state->m[k]);
        surety_free(state->v[k]);
        surety_free(state->best_tensors[k]);
    }
    surety_voters_free(state->voters);
    *state = (surety_train_state){0};
}

void surety_train_state_next(surety_train_state *state) {
    memcpy(state->prior_theta, state->theta, state->H * sizeof(double));
    memset(state->theta_m, 0, state->H * sizeof(double));
    memset(state->theta_v, 0, state->H * sizeof(double));
    state->phase++;
    state->epoch = state->steps = 0;
}

/* After a step 1 that several objectives share. The moments of the voters are not copied: step 2 moves theta
 * alone. */
void surety_train_state_continue(surety_train_state *into, const surety_train_state *from) {
    memcpy(into->theta, from->theta, from->H * sizeof(double));
    memcpy(into->values[SURETY_STEP1], from->values[SURETY_STEP1],
           from->epochs[SURETY_STEP1] * sizeof(double));
    into->best[SURETY_STEP1] = from->best[SURETY_STEP1];
    for (size_t k = 0; k < from->tensors; k++) {
        surety_tensor t = surety_voters_tensor(from->voters, k);
        memcpy(surety_voters_tensor(into->voters, k).bytes, t.bytes, surety_tensor_size(&t));
    }
    surety_voters_changed(into->voters);
    into->phase = SURETY_STEP1;
    surety_train_state_next(into);
}

/* exp(theta - max) / sum: nothing overflows. No weight is 0, because a prior must not have one: what would
 * underflow is the smallest normal number, far below the rounding of the sum. */
void surety_softmax(const double *theta, size_t H, double *weights) {
    double most = theta[0], sum = 0;
    for (size_t t = 1; t < H; t++) most = fmax(most, theta[t]);
    for (size_t t = 0; t < H; t++) sum += weights[t] = exp(theta[t] - most);
    for (size_t t = 0; t < H; t++) weights[t] = fmax(weights[t] / sum, 0x1p-1022);
}
