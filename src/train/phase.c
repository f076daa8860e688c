/* The loop. Per batch: attack the block under the current vote (n = 1), ask the voters, take the objective
 * and its gradients, move. Examples of a batch lie in slots in batch order and are summed in that order; the
 * gradient of the voters is split by voters: no result depends on the number of threads.
 *
 * With r_t the mean loss of voter t on the batch and Q = softmax(theta) (docs/theory.md 4.4):
 *   Rbar = sum_t Q_t r_t,  dRbar/dtheta_t = Q_t (r_t - Rbar),  dKL/dtheta_t = Q_t (ln(Q_t/P_t) - KL).
 * With one perturbation per example, Abar and Gmax are Rbar. */
#include "train/phase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "evaluate/perturbed.h"
#include "train/adam.h"

enum { SLICES = 16 };

typedef struct loop {
    const surety_phase *phase;
    const surety_train_settings *s;
    surety_train_state *state;
    surety_attacker **attackers; /* per thread */
    size_t threads, stride, terms;
    uint32_t *order;     /* of the epoch, over phase->train */
    size_t first, count; /* the batch: order[first .. first + count) */
    double *Q, *P;       /* (H) */
    double *r, *d_theta; /* (H) mean losses of the voters on the batch, gradient */
    float *points;       /* (batch, stride) */
    const float **rows;  /* (batch) */
    double *losses;      /* (batch, H) */
    float *g;            /* (batch, terms) */
    float *gradients[SURETY_TENSORS];
    surety_adam_step adam;
    surety_timing *work; /* per block of the batch: counts only */
    uint32_t pass;
} loop;

/* ---- one batch ---- */

static surety_examples batch_block(const loop *l, size_t block) {
    const surety_set *set = l->phase->train;
    surety_examples e = {.which = set->which};
    for (size_t i = block * SURETY_BLOCK; e.rows < SURETY_BLOCK && i < l->count; i++, e.rows++) {
        uint32_t at = l->order[l->first + i];
        e.x[e.rows] = set->x + at * set->stride;
        e.y[e.rows] = set->y[at];
        e.row[e.rows] = set->row[at];
    }
    return e;
}

static double loss_of(float h, int y, surety_voter_set set) {
    double vote = set == SURETY_SIGNED ? (h > 0) - (h < 0) : (double)h;
    return 0.5 * (1 - y * vote);
}

static surety_status attack_block(void *arg, size_t block, int thread, surety_error *err) {
    loop *l = arg;
    (void)err;
    const surety_voters *v = l->state->voters;
    surety_attacker *a = l->attackers[thread];
    surety_examples e = batch_block(l, block);
    surety_vote vote = {v, l->Q, l->s->set};
    const surety_attacked *found = surety_attacker_run(a, &vote, &e);
    l->work[block] = (surety_timing){.forward_rows = found->asked + e.rows, .backward_rows = found->moves};
    size_t at = block * SURETY_BLOCK;
    for (size_t r = 0; r < e.rows; r++) surety_attacker_sample(a, r, 0, l->points + (at + r) * l->stride);
    float *h = surety_attacker_outputs(a), *scratch = surety_attacker_scratch(a);
    v->kind->forward(v, l->rows + at, e.rows, h, scratch);
    surety_voter_set set = l->phase->moves_voters ? SURETY_REAL : l->s->set;
    for (size_t r = 0; r < e.rows; r++)
        for (size_t t = 0; t < v->H; t++)
            l->losses[(at + r) * v->H + t] = loss_of(h[t * SURETY_BLOCK + r], e.y[r], set);
    if (!l->phase->moves_voters) return SURETY_OK;
    for (size_t t = 0; t < v->H; t++) /* d(mean loss)/dh_t; h is not needed any more and makes room */
        for (size_t r = 0; r < e.rows; r++)
            h[t * SURETY_BLOCK + r] = (float)(-0.5 * e.y[r] * l->Q[t] / (double)l->count);
    v->kind->gradient_terms(v, h, e.rows, l->g + at * l->terms, scratch);
    return SURETY_OK;
}

/* The objective at risk and KL(Q||P), and its derivatives in both. */
static surety_status objective(const surety_phase *phase, double risk, double kl, double *value,
                               double *d_risk, double *d_kl, surety_error *err) {
    *value = risk, *d_risk = 1, *d_kl = 0;
    if (!phase->has_bound) return SURETY_OK;
    surety_bound_input input = phase->input;
    surety_bound_value bound;
    input.kl = kl;
    input.averaged.gibbs = input.averaged_max.gibbs = fmin(fmax(risk, 0), 1);
    SURETY_TRY(surety_bound_compute(phase->objective, &input, &bound, err));
    *value = bound.surrogate;
    *d_risk = bound.d_risk / 2, *d_kl = bound.d_kl / 2; /* of the vote's value, twice the surrogate */
    return SURETY_OK;
}

static surety_status move_theta(loop *l, surety_error *err) {
    surety_train_state *s = l->state;
    double *r = l->r, risk = 0, kl = 0, value, d_risk, d_kl;
    for (size_t t = 0; t < s->H; t++) {
        r[t] = 0;
        for (size_t i = 0; i < l->count; i++) r[t] += l->losses[i * s->H + t];
        r[t] /= (double)l->count;
        risk += l->Q[t] * r[t];
        kl += l->Q[t] * log(l->Q[t] / l->P[t]);
    }
    if (!isfinite(risk))
        return surety_fail(err, SURETY_E_CHECK,
                           "%s, epoch %llu: the loss is not a number; a smaller --lr may help",
                           l->phase->name, (unsigned long long)s->epoch + 1);
    kl = fmax(kl, 0);
    SURETY_TRY(objective(l->phase, risk, kl, &value, &d_risk, &d_kl, err));
    for (size_t t = 0; t < s->H; t++)
        l->d_theta[t] = l->Q[t] * (d_risk * (r[t] - risk) + d_kl * (log(l->Q[t] / l->P[t]) - kl));
    surety_adam_move_double(l->adam, l->d_theta, s->theta_m, s->theta_v, s->theta, s->H);
    return SURETY_OK;
}

/* Gradient and Adam for voters [first, end) of each tensor: a tensor holds its voters one after the other. */
static surety_status move_slice(void *arg, size_t slice, int thread, surety_error *err) {
    loop *l = arg;
    (void)thread, (void)err;
    surety_voters *v = l->state->voters;
    size_t first = slice * v->H / SLICES, end = (slice + 1) * v->H / SLICES;
    if (first == end) return SURETY_OK;
    v->kind->gradient_sum(v, l->g, l->rows, l->count, first, end, l->gradients);
    for (size_t k = 0; k < v->tensor_count; k++) {
        const surety_tensor *t = &v->tensors[k];
        size_t each = (t->rows == 1 ? t->length : t->rows * t->stride) / v->H, at = first * each;
        surety_adam_move(l->adam, l->gradients[k] + at, l->state->m[k] + at, l->state->v[k] + at,
                         t->values + at, (end - first) * each);
    }
    return SURETY_OK;
}

static surety_status run_batch(loop *l, const surety_run *run, surety_timing *timing, surety_error *err) {
    size_t blocks = (l->count + SURETY_BLOCK - 1) / SURETY_BLOCK;
    double begin = surety_seconds();
    SURETY_TRY(surety_parallel(run, NULL, blocks, attack_block, l, err));
    for (size_t b = 0; b < blocks; b++) {
        timing->forward_rows += l->work[b].forward_rows;
        timing->backward_rows += l->work[b].backward_rows;
    }
    double attacked = surety_seconds();
    timing->attack += attacked - begin;
    l->adam = surety_adam_at(l->s->lr, ++l->state->steps);
    SURETY_TRY(move_theta(l, err));
    if (l->phase->moves_voters) {
        SURETY_TRY(surety_parallel(run, NULL, SLICES, move_slice, l, err));
        surety_voters_changed(l->state->voters);
    }
    surety_softmax(l->state->theta, l->state->H, l->Q);
    timing->update += surety_seconds() - attacked;
    return SURETY_OK;
}

/* ---- epochs ---- */

static void shuffle(loop *l) {
    uint32_t m = (uint32_t)l->phase->train->m;
    for (uint32_t i = 0; i < m; i++) l->order[i] = i;
    surety_address a = {.epoch = l->pass, .purpose = SURETY_FOR_ORDER};
    if (l->s->profile == SURETY_PROFILE_THEORY) surety_random_order(l->s->seed, &a, l->order, m);
}

/* The objective on the set that chooses, freshly attacked. */
static surety_status judge_epoch(loop *l, double *value, double *kl, const surety_run *run,
                                 surety_error *err) {
    surety_attack_settings attack = l->s->defense;
    attack.epoch = l->pass + (uint32_t)l->phase->epochs;
    surety_vote vote = {l->state->voters, l->Q, l->s->set};
    surety_measurement what = {.attack = &attack,
                               .attacked = &vote,
                               .posterior = l->Q,
                               .set = l->phase->moves_voters ? SURETY_REAL : l->s->set};
    surety_risks risks;
    double d_risk, d_kl;
    *kl = 0;
    SURETY_TRY(surety_measure(&what, l->phase->choose, &risks, run, err));
    surety_status status = SURETY_OK;
    if (l->phase->has_bound) status = surety_kl_divergence(l->Q, l->P, l->state->H, kl, err);
    if (status == SURETY_OK) status = objective(l->phase, risks.rbar, *kl, value, &d_risk, &d_kl, err);
    surety_risks_free(&risks);
    return status;
}

static void keep_best(surety_train_state *s) {
    s->best[s->phase] = s->epoch;
    memcpy(s->best_theta, s->theta, s->H * sizeof(double));
    for (size_t k = 0; k < s->tensors; k++) {
        const surety_tensor *t = &s->voters->tensors[k];
        memcpy(s->best_tensors[k], t->values, t->rows * t->stride * sizeof(float));
    }
}

static void take_best(surety_train_state *s) {
    memcpy(s->theta, s->best_theta, s->H * sizeof(double));
    for (size_t k = 0; k < s->tensors; k++) {
        const surety_tensor *t = &s->voters->tensors[k];
        memcpy(t->values, s->best_tensors[k], t->rows * t->stride * sizeof(float));
    }
    surety_voters_changed(s->voters);
}

static surety_status run_epoch(loop *l, const surety_run *run, surety_timing *timing, surety_error *err) {
    surety_train_state *s = l->state;
    double value, begin = surety_seconds();
    l->pass = l->phase->first_pass + (uint32_t)s->epoch;
    for (size_t t = 0; t < l->threads; t++) surety_attacker_epoch(l->attackers[t], l->pass);
    shuffle(l);
    for (l->first = 0; l->first < l->phase->train->m; l->first += l->count) {
        size_t left = l->phase->train->m - l->first;
        l->count = left < l->s->batch ? left : l->s->batch;
        SURETY_TRY(run_batch(l, run, timing, err));
        surety_report(run, l->phase->name, s->epoch * l->phase->train->m + l->first + l->count,
                      l->phase->epochs * l->phase->train->m, "");
    }
    double trained = surety_seconds(), kl;
    SURETY_TRY(judge_epoch(l, &value, &kl, run, err));
    timing->choose += surety_seconds() - trained;
    double *values = s->values[s->phase];
    values[s->epoch++] = value;
    if (s->epoch == 1 || value < values[s->best[s->phase] - 1]) keep_best(s);
    char text[128];
    snprintf(text, sizeof text, "%s %.4f, KL %.3f, %.0f/s, best epoch %llu",
             l->phase->has_bound ? "objective" : "risk", value, kl,
             (double)l->phase->train->m / (trained - begin), (unsigned long long)s->best[s->phase]);
    surety_report(run, l->phase->name, s->epoch * l->phase->train->m, l->phase->epochs * l->phase->train->m,
                  text);
    return SURETY_OK;
}

static surety_status loop_new(loop *l, const surety_run *run, surety_error *err) {
    const surety_voters *v = l->state->voters;
    size_t batch = l->s->batch;
    l->threads = (size_t)surety_threads(run);
    l->stride = surety_padded(v->d);
    l->terms = v->kind->terms(v);
    SURETY_TRY(surety_alloc(&l->attackers, l->threads, sizeof *l->attackers, err));
    for (size_t t = 0; t < l->threads; t++)
        SURETY_TRY(surety_attacker_new(&l->attackers[t], &l->s->defense, v, err));
    SURETY_TRY(surety_alloc(&l->order, l->phase->train->m, sizeof *l->order, err));
    SURETY_TRY(surety_alloc(&l->Q, v->H, sizeof *l->Q, err));
    SURETY_TRY(surety_alloc(&l->P, v->H, sizeof *l->P, err));
    SURETY_TRY(surety_alloc(&l->r, v->H, sizeof *l->r, err));
    SURETY_TRY(surety_alloc(&l->d_theta, v->H, sizeof *l->d_theta, err));
    SURETY_TRY(surety_alloc(&l->points, batch * l->stride, sizeof *l->points, err));
    SURETY_TRY(surety_alloc(&l->rows, batch, sizeof *l->rows, err));
    SURETY_TRY(surety_alloc(&l->losses, batch * v->H, sizeof *l->losses, err));
    SURETY_TRY(surety_alloc(&l->g, batch * l->terms, sizeof *l->g, err));
    SURETY_TRY(surety_alloc(&l->work, batch, sizeof *l->work, err));
    for (size_t k = 0; k < v->tensor_count; k++)
        SURETY_TRY(
            surety_alloc(&l->gradients[k], v->tensors[k].rows * v->tensors[k].stride, sizeof(float), err));
    for (size_t i = 0; i < batch; i++) l->rows[i] = l->points + i * l->stride;
    surety_softmax(l->state->theta, v->H, l->Q);
    surety_softmax(l->state->prior_theta, v->H, l->P);
    return SURETY_OK;
}

static void loop_free(loop *l) {
    for (size_t t = 0; l->attackers && t < l->threads; t++) surety_attacker_free(l->attackers[t]);
    for (size_t k = 0; k < SURETY_TENSORS; k++) surety_free(l->gradients[k]);
    void *parts[] = {l->attackers, l->order,        l->Q,      l->P, l->r,   l->d_theta,
                     l->points,    (void *)l->rows, l->losses, l->g, l->work};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

surety_status surety_phase_run(const surety_phase *phase, const surety_train_settings *settings,
                               surety_train_state *state, surety_epoch_fn after_epoch, void *arg,
                               surety_timing *timing, const surety_run *run, surety_error *err) {
    loop l = {.phase = phase, .s = settings, .state = state};
    surety_status status = loop_new(&l, run, err);
    while (status == SURETY_OK && state->epoch < phase->epochs) {
        status = run_epoch(&l, run, timing, err);
        if (status == SURETY_OK && after_epoch) status = after_epoch(arg, state, err);
    }
    loop_free(&l);
    if (status == SURETY_OK) take_best(state);
    return status;
}
