/* The loop. For each batch: attack it under the current vote (n = 1) and ask the voters at the points, or
 * take their worst over the ball (docs/theory.md 8.3), or both by weight; compute the objective and its
 * gradients; move. Examples whose attack took many steps in the last epoch are attacked first, so that few
 * are left alone at the end; everything else goes by blocks. Whatever the order of attacks, an example's
 * results lie in its slot, sums run in slot order, and the gradient of the voters is split by voters: no
 * result depends on the number of threads.
 *
 * Several processes (surety_everyone) cut a batch by blocks. Each attacks and asks its own examples, and all
 * receive the results of every example; each moves its own voters, and all receive all voters. So they do the
 * same sums in the same order as one process. Where each has the features of its own rows alone
 * (surety_data_settings.own_rows), all receive those of the batch first.
 *
 * With r_t the mean loss of voter t on the batch and Q = softmax(theta) (docs/theory.md 4.4):
 *   Rbar = sum_t Q_t r_t,  dRbar/dtheta_t = Q_t (r_t - Rbar),  dKL/dtheta_t = Q_t (ln(Q_t/P_t) - KL).
 * With one perturbation per example, Abar and Gmax are Rbar. */
#include "train/phase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/parallel.h"
#include "evaluate/perturbed.h"
#include "evaluate/vote.h"
#include "train/adam.h"
#include "train/rows.h"
#include "voters/robust.h"

typedef struct loop {
    const surety_phase *phase;
    const surety_train_settings *s;
    surety_train_state *state;
    surety_threat attack; /* on batches: the defense, or what is mixed into the worst case */
    int grows;            /* an epoch grows the voters, without batches */
    double grown_value;   /* the risk after such an epoch, NaN if the kind does not tell it */
    surety_sampler *sampler;
    size_t width; /* outputs of a voter */
    int logistic; /* 1: step 1 lowers the logistic or the bounded loss, and weights stay uniform */
    surety_loss_shape shape;
    double balance[SURETY_CLASSES_MOST]; /* (K) weight of an example's loss, by its class */
    double *margins;                     /* per thread: (width, lanes) */
    float *asking; /* per thread: v (H, lanes) | pull (width, lanes) | h (H, width, lanes) | scratch */
    size_t asking_floats;
    size_t threads, stride, terms;
    uint32_t *order;               /* of the epoch, over phase->train */
    size_t first, count;           /* the batch: order[first .. first + count) */
    size_t begin_block, end_block; /* those of its blocks that this process takes */
    size_t begin_voter, end_voter; /* voters that it moves */
    uint32_t *steps;               /* (train->m) of the last attack on each */
    int scattered;                 /* 1: each process has rows of its own of phase->train */
    surety_set batch;              /* its examples by slots, in the three arrays that follow */
    float *x;                      /* (batch, stride) */
    uint8_t *y;                    /* (batch) */
    uint32_t *source;              /* (batch) their rows in the file */
    uint32_t *slots;               /* (batch) as they are attacked */
    size_t most, *begins;          /* steps; (most + 2) where in the queue those with fewer begin */
    double *Q, *P;                 /* (H) */
    double *r, *d_theta;           /* (H) mean losses of the voters on the batch, gradient */
    size_t attacked, certified; /* rows of the batch that are attacked points, then rows of the worst case */
    float *points;              /* (batch, stride) */
    const float **rows;         /* (2 batch) the points, then the examples themselves */
    double *losses;             /* (batch, H) */
    float *g;                   /* (2 batch, terms) */
    double radius;              /* of the worst case of this batch */
    surety_robust *robust;      /* NULL unless phase->certified, by ranges of arguments; then all of these */
    float *g_even, *g_odd;      /* (batch, padded N) */
    float *room_rows, **even, **odd; /* (2 batch, stride), and its rows */
    float *room;                     /* (2, N, stride) */
    double epoch_loss;               /* sum over the epoch's examples */
    double *table_loss;              /* (H) mean losses of phase->votes */
    float *gradients[SURETY_TENSORS];
    surety_adam_step adam;
    surety_timing *work; /* per block of the batch: busy and rows */
    uint32_t epoch;      /* of the whole training: addresses random numbers */
} loop;

/* One thread's part of a loop's memory. */
typedef struct workspace {
    float *v, *pull, *h, *scratch;
    double *margins;
} workspace;

static workspace workspace_of(const loop *l, int thread) {
    size_t lanes = surety_padded(l->state->H * SURETY_LANES);
    float *v = l->asking + (size_t)thread * l->asking_floats, *pull = v + lanes,
          *h = pull + l->width * SURETY_LANES;
    return (workspace){v, pull, h, h + l->width * lanes,
                       l->margins + (size_t)thread * l->width * SURETY_LANES};
}

/* ---- one batch ---- */

static surety_examples batch_block(const loop *l, size_t block) {
    surety_examples e = {.which = l->batch.which};
    for (size_t i = block * SURETY_LANES; e.rows < SURETY_LANES && i < l->count; i++)
        surety_examples_put(&e, e.rows++, &l->batch, i);
    return e;
}

/* Adds the weighed losses (1 - v)/2 of the voters on the rows of a block, v (H, lanes). */
static void take_losses(loop *l, const surety_examples *e, size_t at, double weight, const float *v) {
    for (size_t r = 0; r < e->rows; r++)
        for (size_t t = 0; t < l->state->H; t++)
            l->losses[(at + r) * l->state->H + t] +=
                weight * l->balance[e->y[r]] * (0.5 * (1 - (double)v[t * SURETY_LANES + r]));
}

/* v (H, lanes) of the rows from their outputs h: of two classes y h_t, or its sign where only weights move.
 * Else h_ty - h_tk: with voters that move, against the class that is nearest to winning the vote, rival[r],
 * so that its margin rises; where only weights move, against the voter's own nearest, as the bounds count. */
static void take_margins(const loop *l, const surety_examples *e, const float *h, float *v, uint8_t *rival) {
    surety_vote vote = {l->state->voters, l->Q, SURETY_REAL};
    size_t K = l->width;
    double margin[SURETY_LANES];
    uint8_t y[SURETY_LANES] = {0};
    memcpy(y, e->y, e->rows);
    if (K > 1 && l->phase->moves_voters) surety_margin_lanes(&vote, h, y, margin, NULL, rival);
    for (size_t t = 0; t < l->state->H; t++)
        for (size_t r = 0; r < e->rows; r++) {
            const float *of = h + t * K * SURETY_LANES + r;
            v[t * SURETY_LANES + r] =
                !l->phase->moves_voters
                    ? (float)surety_voter_margin(of, SURETY_LANES, K, l->s->voter_set, y[r])
                : K == 1 ? (float)surety_sign(y[r]) * *of
                         : of[y[r] * SURETY_LANES] - of[rival[r] * SURETY_LANES];
        }
}

/* pull (width, lanes): the derivative of a row's loss in the outputs of the vote. Here of the loss (1 - M)/2,
 * M being the margin against the rival, times share[r] (NULL: 1). */
static void pull_rival(const loop *l, const surety_examples *e, const uint8_t *rival, const float *share,
                       float *pull) {
    memset(pull, 0, l->width * SURETY_LANES * sizeof *pull);
    for (size_t r = 0; r < e->rows; r++) {
        float half = share ? 0.5f * share[r] : 0.5f;
        if (l->width == 1) {
            pull[r] = (float)-surety_sign(e->y[r]) * half;
            continue;
        }
        pull[e->y[r] * SURETY_LANES + r] = -half;
        pull[rival[r] * SURETY_LANES + r] = half;
    }
}

/* The same of the logistic loss ln(Z) / 2C, Z = 1 + sum_k exp(-C M_k), which is close to the one above where
 * one margin is far below 0: with p_k = exp(-C M_k) / Z it is p_k / 2 for k and minus their sum for y. The
 * bounded loss (1 - p_y^q) / 2Cq, p_y = 1 / Z, is the logistic one for q = 0, and its derivative is p_y^q
 * times that. share[r] is minus twice the derivative for y. */
static void pull_logistic(loop *l, const surety_examples *e, size_t at, double weight, const double *margins,
                          float *share, float *pull) {
    double C = l->shape.C, q = l->shape.q;
    memset(pull, 0, l->width * SURETY_LANES * sizeof *pull);
    for (size_t r = 0; r < e->rows; r++) {
        double most = 0;
        for (size_t k = 0; k < l->width; k++) most = fmax(most, -margins[k * SURETY_LANES + r]);
        double own = exp(-C * most), sum = own;
        for (size_t k = 0; k < l->width; k++) {
            double p = exp(-C * (margins[k * SURETY_LANES + r] + most));
            if (l->width > 1 && k == e->y[r]) continue; /* that is own */
            sum += p;
            pull[k * SURETY_LANES + r] = (float)p;
        }
        double loss = log(sum) / C + most; /* -ln(p_y) / C */
        float kept = (float)pow(own / sum, q);
        if (q > 0) loss = -expm1(-q * C * loss) / (q * C);
        share[r] = (float)(1 - own / sum) * kept;
        l->losses[(at + r) * l->state->H] += weight * l->balance[e->y[r]] * 0.5 * loss;
        float half = (float)(0.5 / sum) * kept * (l->width == 1 ? (float)-surety_sign(e->y[r]) : 1);
        for (size_t k = 0; k < l->width; k++) pull[k * SURETY_LANES + r] *= half;
        if (l->width > 1) pull[e->y[r] * SURETY_LANES + r] = -0.5f * share[r];
    }
}

/* a (H, width, lanes): the derivative of the batch's mean loss in the voters' outputs. */
static void fill_derivative(const loop *l, const surety_examples *e, double weight, const float *pull,
                            float *a) {
    size_t each = l->width * SURETY_LANES;
    double of[SURETY_LANES];
    for (size_t r = 0; r < SURETY_LANES; r++) of[r] = r < e->rows ? weight * l->balance[e->y[r]] : weight;
    for (size_t t = 0; t < l->state->H; t++)
        for (size_t n = 0; n < each; n++)
            a[t * each + n] = (float)(of[n % SURETY_LANES] * (double)pull[n] * l->Q[t] / (double)l->count);
}

/* Queues this process's examples of the batch, longest attacks first (by their steps in the last epoch, a
 * counting sort). Returns how many they are. */
static size_t line_up(loop *l) {
    size_t most = l->most, *at = l->begins;
    size_t begin = l->begin_block * SURETY_LANES, end = l->end_block * SURETY_LANES;
    const uint32_t *batch = l->order + l->first;
    if (begin > l->count) begin = l->count;
    if (end > l->count) end = l->count;
    memset(at, 0, (most + 2) * sizeof *at);
    for (size_t i = begin; i < end; i++) at[most + 1 - l->steps[batch[i]]]++;
    for (size_t b = 0; b <= most; b++) at[b + 1] += at[b];
    for (size_t i = begin; i < end; i++) {
        size_t k = at[most - l->steps[batch[i]]]++;
        l->slots[k] = (uint32_t)i;
    }
    return end - begin;
}

static surety_status keep_point(void *arg, const surety_ended *e, size_t j, const float *x,
                                surety_error *err) {
    const loop *l = arg;
    (void)j, (void)err;
    uint32_t steps = (uint32_t)(e->steps < l->most ? e->steps : l->most); /* apgd takes more */
    l->steps[l->order[l->first + e->i]] = steps;
    memcpy(l->points + e->i * l->stride, x, l->stride * sizeof *x);
    return SURETY_OK;
}

/* The defense's points of the batch. */
static surety_status attack_batch(loop *l, surety_timing *timing, const surety_run *run, surety_error *err) {
    surety_sampler_work work = {0};
    surety_sampling batch = {.set = &l->batch,
                             .order = l->slots,
                             .end = line_up(l),
                             .vote = {l->state->voters, l->Q, l->s->voter_set},
                             .point = keep_point,
                             .arg = l};
    SURETY_TRY(surety_sampler_run(l->sampler, &batch, &work, run, err));
    timing->busy += work.busy;
    timing->forward_rows += work.asked;
    timing->backward_rows += work.moves;
    return SURETY_OK;
}

/* What a block's outputs w.h, of rows that lie in the batch's slots from `at` on, lose and contribute; g:
 * their terms. */
static void learn_from(loop *l, const surety_voters *v, const surety_examples *e, size_t at, double weight,
                       workspace w, float *g) {
    uint8_t rival[SURETY_LANES], y[SURETY_LANES] = {0};
    float share[SURETY_LANES];
    if (l->logistic) {
        surety_vote vote = {l->state->voters, l->Q, SURETY_REAL};
        memcpy(y, e->y, e->rows);
        surety_margin_each(&vote, w.h, y, w.margins);
        pull_logistic(l, e, at, weight, w.margins, share, w.pull);
    } else {
        take_margins(l, e, w.h, w.v, rival);
        take_losses(l, e, at, weight, w.v);
        if (!l->phase->moves_voters) return;
        pull_rival(l, e, rival, NULL, w.pull);
    }
    fill_derivative(l, e, weight, w.pull, w.h);
    surety_voters_gradient_terms(v, w.h, e->rows, g, w.scratch);
}

/* The voters at the defense's points of a block. */
static void ask_attacked(loop *l, const surety_examples *e, size_t block, int thread) {
    const surety_voters *v = surety_sampler_voters(l->sampler, thread);
    size_t at = block * SURETY_LANES;
    workspace w = workspace_of(l, thread);
    surety_voters_ask(v, l->rows + at, e->rows, w.h, w.scratch);
    l->work[block].forward_rows += e->rows;
    learn_from(l, v, e, at, 1 - l->phase->certified, w, l->g + at * l->terms);
}

/* The worst case of a block where it is a forward pass. */
static void ask_lowered(loop *l, const surety_examples *e, size_t block, int thread) {
    const surety_voters *v = l->state->voters;
    size_t at = block * SURETY_LANES;
    workspace w = workspace_of(l, thread);
    surety_voters_ask_lowered(v, &l->s->defense.ball, l->radius, e, w.h, w.scratch);
    l->work[block].forward_rows += e->rows;
    learn_from(l, v, e, at, l->phase->certified, w, l->g + (l->attacked + at) * l->terms);
}

/* The worst case of a block. Of several classes, the rival stands for all. */
static void ask_certified(loop *l, const surety_examples *e, size_t block, int thread) {
    size_t at = block * SURETY_LANES, ldz = surety_padded(surety_robust_arguments(l->robust));
    workspace w = workspace_of(l, thread);
    uint8_t y[SURETY_LANES], rival[SURETY_LANES];
    float share[SURETY_LANES];
    double weight = l->phase->certified;
    surety_robust_out out = {l->even + at, l->odd + at, w.v, w.margins, rival};
    for (size_t r = 0; r < SURETY_LANES; r++) y[r] = e->y[r < e->rows ? r : 0];
    surety_robust_forward(l->robust, e->x, e->rows, l->Q, y, &out, w.scratch);
    l->work[block].forward_rows += 3 * e->rows;
    if (l->logistic)
        pull_logistic(l, e, at, weight, w.margins, share, w.pull);
    else
        take_losses(l, e, at, weight, w.v);
    pull_rival(l, e, rival, l->logistic ? share : NULL, w.pull);
    fill_derivative(l, e, weight, w.pull, w.h);
    surety_robust_terms(l->robust, w.h, e->rows, l->g + (l->attacked + at) * l->terms, l->g_even + at * ldz,
                        l->g_odd + at * ldz, w.scratch);
}

/* The losses of a block from the table. */
static void look_up(loop *l, const surety_examples *e, size_t block) {
    size_t H = l->state->H, at = block * SURETY_LANES;
    for (size_t r = 0; r < e->rows; r++)
        for (size_t t = 0; t < H; t++)
            l->losses[(at + r) * H + t] =
                0.5 * (1 - (double)l->phase->votes[l->order[l->first + at + r] * H + t]);
}

static surety_status ask_block(void *arg, size_t k, int thread, surety_error *err) {
    loop *l = arg;
    (void)err;
    double begin = surety_busy_seconds();
    size_t block = l->begin_block + k;
    surety_examples e = batch_block(l, block);
    l->work[block] = (surety_timing){0};
    memset(l->losses + block * SURETY_LANES * l->state->H, 0, e.rows * l->state->H * sizeof *l->losses);
    if (l->phase->votes) look_up(l, &e, block);
    if (l->attacked) ask_attacked(l, &e, block, thread);
    if (l->certified) (l->robust ? ask_certified : ask_lowered)(l, &e, block, thread);
    l->work[block].busy = surety_busy_seconds() - begin;
    return SURETY_OK;
}

/* What became of the batch's examples, in all processes. */
static surety_status share_batch(const loop *l, const surety_run *run, surety_error *err) {
    size_t N = l->robust ? surety_padded(surety_robust_arguments(l->robust)) : 0;
    float *proved = l->certified ? l->g + l->attacked * l->terms : NULL;
    const struct {
        void *rows;
        size_t bytes;
        int used;
    } of[] = {
        {l->losses, l->state->H * sizeof *l->losses, 1},
        {l->points, l->stride * sizeof(float), l->attacked && l->phase->moves_voters},
        {l->g, l->terms * sizeof(float), l->attacked && l->phase->moves_voters},
        {proved, l->terms * sizeof(float), l->certified > 0},
        {l->g_even, N * sizeof(float), l->robust != NULL},
        {l->g_odd, N * sizeof(float), l->robust != NULL},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].used)
            SURETY_TRY(surety_share_everyone(run, of[i].rows, l->count, SURETY_LANES, of[i].bytes, err));
    /* Every process has the rows that these follow from. */
    for (size_t i = 0; l->robust && i < l->certified; i++)
        if (i / SURETY_LANES < l->begin_block || i / SURETY_LANES >= l->end_block)
            surety_robust_rooms(l->robust, l->rows[l->attacked + i], l->even[i], l->odd[i]);
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
    input.averaged.gibbs = input.averaged_max.gibbs = input.worst_case.gibbs = fmin(fmax(risk, 0), 1);
    SURETY_TRY(surety_bound_compute(phase->objective, &input, &bound, err));
    *value = bound.surrogate;
    *d_risk = bound.d_risk / 2, *d_kl = bound.d_kl / 2; /* of the vote's value, twice the surrogate */
    return SURETY_OK;
}

static surety_status not_a_number(const loop *l, surety_error *err) {
    return surety_fail(err, SURETY_E_CHECK,
                       "%s, epoch %llu: the loss is not a number; a smaller --lr may help", l->phase->name,
                       (unsigned long long)l->state->epoch + 1);
}

/* The logistic loss is the row's first number; the weights stay. */
static surety_status sum_logistic(loop *l, surety_error *err) {
    double sum = 0;
    for (size_t i = 0; i < l->count; i++) sum += l->losses[i * l->state->H];
    l->epoch_loss += sum;
    return isfinite(sum) ? SURETY_OK : not_a_number(l, err);
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
    if (!isfinite(risk)) return not_a_number(l, err);
    kl = fmax(kl, 0);
    l->epoch_loss += risk * (double)l->count;
    SURETY_TRY(objective(l->phase, risk, kl, &value, &d_risk, &d_kl, err));
    for (size_t t = 0; t < s->H; t++)
        l->d_theta[t] = l->Q[t] * (d_risk * (r[t] - risk) + d_kl * (log(l->Q[t] / l->P[t]) - kl));
    surety_adam_move_double(l->adam, l->d_theta, s->theta_m, s->theta_v, s->theta, s->H);
    return SURETY_OK;
}

/* Slices of pieces for an update: few, since each reads all points of the batch. */
static size_t slices_of(const loop *l) {
    return l->threads > 1 ? 2 * l->threads : 1;
}

/* A tensor holds its voters one after the other. */
static size_t floats_of_voter(const loop *l, const surety_tensor *t) {
    return (t->rows == 1 ? t->length : t->rows * t->stride) / l->state->H;
}

/* The pieces of a slice: of the voters that this process moves, or of all where voters are more than a piece.
 */
static void pieces_of(const loop *l, size_t slice, size_t *first, size_t *end) {
    size_t slices = slices_of(l), begin = l->begin_voter, mine = l->end_voter - begin;
    if (surety_voters_on_surface(l->state->voters)) begin = 0, mine = surety_voters_pieces(l->state->voters);
    *first = begin + slice * mine / slices;
    *end = begin + (slice + 1) * mine / slices;
}

/* The gradient of the pieces of a slice. */
static surety_status sum_slice(void *arg, size_t slice, int thread, surety_error *err) {
    loop *l = arg;
    (void)thread, (void)err;
    surety_voters *v = l->state->voters;
    size_t first, end;
    pieces_of(l, slice, &first, &end);
    if (first == end) return SURETY_OK;
    surety_voters_gradient_sum(v, l->g, l->rows, l->attacked + l->certified, first, end, l->gradients);
    if (l->robust)
        surety_robust_sum(l->robust,
                          &(surety_robust_rows){l->g_even, l->g_odd, (const float *const *)l->even,
                                                (const float *const *)l->odd, l->certified},
                          first, end, l->gradients, l->room);
    return SURETY_OK;
}

/* Adam, for a slice of each tensor: that of the voters whose gradient sum_slice has made; any, where
 * gradients were made before. */
static surety_status adam_slice(void *arg, size_t slice, int thread, surety_error *err) {
    loop *l = arg;
    (void)thread, (void)err;
    int any = surety_voters_on_surface(l->state->voters);
    size_t first, end, slices = slices_of(l);
    pieces_of(l, slice, &first, &end);
    for (size_t k = 0; k < l->state->tensors; k++) {
        surety_tensor t = surety_voters_tensor(l->state->voters, k);
        size_t each = floats_of_voter(l, &t), all = each * l->state->H;
        size_t at = any ? slice * all / slices : first * each,
               to = any ? (slice + 1) * all / slices : end * each;
        surety_adam_move(l->adam, l->gradients[k] + at, l->state->m[k] + at, l->state->v[k] + at,
                         t.values + at, to - at);
    }
    return SURETY_OK;
}

/* Gradient and Adam for voters [first, end) of each tensor. */
static surety_status move_slice(void *arg, size_t slice, int thread, surety_error *err) {
    SURETY_TRY(sum_slice(arg, slice, thread, err));
    return adam_slice(arg, slice, thread, err);
}

/* The voters that each process has moved, in all of them; Adam's moments too, which a checkpoint needs. */
static surety_status share_voters(const loop *l, int moments, const surety_run *run, surety_error *err) {
    for (size_t k = 0; k < l->state->tensors; k++) {
        surety_tensor t = surety_voters_tensor(l->state->voters, k);
        float *of[] = {t.values, l->state->m[k], l->state->v[k]};
        for (size_t i = moments ? 1 : 0; i < (moments ? 3 : 1); i++)
            SURETY_TRY(surety_share_everyone(run, of[i], l->state->H, 1,
                                             floats_of_voter(l, &t) * sizeof(float), err));
    }
    return SURETY_OK;
}

/* Parameters near a surface: all gradients first, then along it, then back to it; the same in every process.
 */
static surety_status move_on_surface(loop *l, const surety_run *run, surety_error *err) {
    surety_voters *v = l->state->voters;
    SURETY_TRY(surety_parallel(run, NULL, slices_of(l), sum_slice, l, err));
    SURETY_TRY(surety_voters_along(v, l->gradients, run, err));
    SURETY_TRY(surety_parallel(run, NULL, slices_of(l), adam_slice, l, err));
    return surety_voters_back(v, run, err);
}

static surety_status move_voters(loop *l, const surety_run *run, surety_error *err) {
    surety_voters *v = l->state->voters;
    if (surety_voters_on_surface(v)) return move_on_surface(l, run, err);
    SURETY_TRY(surety_parallel(run, NULL, slices_of(l), move_slice, l, err));
    SURETY_TRY(share_voters(l, 0, run, err));
    if (l->certified)
        surety_voters_changed(v);
    else
        surety_voters_moved(v);
    return SURETY_OK;
}

/* How much of the phase is done, from 0 to 1. */
static double progress(const loop *l) {
    double epochs = (double)l->state->epoch + (double)l->first / (double)l->phase->train->m;
    return epochs / (double)l->phase->epochs;
}

/* The examples of the batch. Where each process has rows of its own, all receive them. */
static surety_status fetch_batch(loop *l, const surety_run *run, surety_error *err) {
    const surety_set *set = l->phase->train;
    for (size_t i = 0; i < l->count; i++) {
        size_t k = l->order[l->first + i], bytes = l->stride * sizeof *l->x;
        const float *x = surety_set_row(set, k);
        l->y[i] = set->y[k], l->source[i] = set->row[k];
        if (x)
            memcpy(l->x + i * l->stride, x, bytes);
        else
            memset(l->x + i * l->stride, 0, bytes);
    }
    l->batch = *set;
    l->batch.m = l->count, l->batch.before = l->batch.behind = 0;
    l->batch.x = l->x, l->batch.y = l->y, l->batch.row = l->source, l->batch.stride = l->stride;
    return l->scattered ? surety_rows_gather(l->x, l->count, l->stride, run, err) : SURETY_OK;
}

/* Which rows this batch has, those that are this process's, and the radius of its worst case. */
static surety_status open_batch(loop *l, const surety_run *run, surety_error *err) {
    double done = progress(l), growth = fmin(2 * done, 1);
    l->shape = surety_loss_at(l->s->loss, surety_voters_classes(l->state->voters), done);
    l->begin_block = 0, l->end_block = (l->count + SURETY_LANES - 1) / SURETY_LANES;
    surety_my_share(run, &l->begin_block, &l->end_block);
    l->attacked = l->phase->certified < 1 && !l->phase->votes ? l->count : 0;
    l->certified = l->phase->certified > 0 ? l->count : 0;
    for (size_t i = 0; i < l->attacked; i++) l->rows[i] = l->points + i * l->stride;
    for (size_t i = 0; i < l->certified; i++) l->rows[l->attacked + i] = l->x + i * l->stride;
    l->radius = growth * l->s->defense.ball.radius;
    if (l->robust) surety_robust_prepare(l->robust, l->radius);
    return fetch_batch(l, run, err);
}

static void add_work(const loop *l, surety_timing *timing) {
    for (size_t i = l->begin_block; i < l->end_block; i++) {
        timing->busy += l->work[i].busy;
        timing->forward_rows += l->work[i].forward_rows;
        timing->backward_rows += l->work[i].backward_rows;
    }
}

static surety_status run_batch(loop *l, const surety_run *run, surety_timing *timing, surety_error *err) {
    double begin = surety_seconds();
    SURETY_TRY(open_batch(l, run, err));
    if (l->attacked) SURETY_TRY(attack_batch(l, timing, run, err));
    SURETY_TRY(surety_parallel(run, NULL, l->end_block - l->begin_block, ask_block, l, err));
    SURETY_TRY(share_batch(l, run, err));
    add_work(l, timing);
    double attacked = surety_seconds();
    timing->attack += attacked - begin;
    double rest = l->s->decay ? fmin(2 * (1 - progress(l)), 1) : 1;
    l->adam = surety_adam_at(l->s->lr * rest, ++l->state->steps);
    SURETY_TRY(l->logistic ? sum_logistic(l, err) : move_theta(l, err));
    if (l->phase->moves_voters) SURETY_TRY(move_voters(l, run, err));
    surety_softmax(l->state->theta, l->state->H, l->Q);
    timing->update += surety_seconds() - attacked;
    return SURETY_OK;
}

/* ---- epochs ---- */

static void shuffle(loop *l) {
    surety_address a = {.epoch = l->epoch, .purpose = SURETY_FOR_ORDER};
    surety_random_order(l->s->seed, &a, l->order, (uint32_t)l->phase->train->m);
}

/* The risk on the set that chooses: freshly attacked, or its worst case, or from the table (which is the same
 * in every epoch); where nothing chooses, the mean loss of the batches, or that on
 * the set that a kind grew on. */
static surety_status risk_of_epoch(const loop *l, double *risk, const surety_run *run, surety_error *err) {
    surety_threat threat = l->s->defense;
    threat.epoch = l->epoch + (uint32_t)l->phase->epochs;
    surety_vote vote = {l->state->voters, l->Q, l->s->voter_set};
    surety_measurement what = {.threat = &threat,
                               .attacked = &vote,
                               .posterior = l->Q,
                               .voter_set = l->phase->moves_voters ? SURETY_REAL : l->s->voter_set};
    *risk = l->grows ? l->grown_value : l->epoch_loss / (double)l->phase->train->m;
    if (l->grows && !isnan(*risk)) return SURETY_OK;
    if (!l->phase->choose && !l->grows) return SURETY_OK;
    surety_risks risks;
    if (l->phase->votes) {
        *risk = 0;
        for (size_t t = 0; t < l->state->H; t++) *risk += l->Q[t] * l->table_loss[t];
        return SURETY_OK;
    }
    SURETY_TRY(
        surety_measure(&what, l->phase->choose ? l->phase->choose : l->phase->train, &risks, run, err));
    /* With voters that move, that of the vote, as it was trained; of two classes they are the same. */
    *risk = l->phase->moves_voters && l->width > 1 ? risks.abar : risks.rbar;
    surety_risks_free(&risks);
    return SURETY_OK;
}

/* The objective there. */
static surety_status judge_epoch(const loop *l, double *value, double *kl, const surety_run *run,
                                 surety_error *err) {
    double risk, d_risk, d_kl;
    *kl = 0;
    SURETY_TRY(risk_of_epoch(l, &risk, run, err));
    if (l->phase->has_bound) SURETY_TRY(surety_kl_divergence(l->Q, l->P, l->state->H, kl, err));
    return objective(l->phase, risk, *kl, value, &d_risk, &d_kl, err);
}

static void keep_best(surety_train_state *s) {
    s->best[s->phase] = s->epoch;
    memcpy(s->best_theta, s->theta, s->H * sizeof(double));
    for (size_t k = 0; k < s->tensors; k++) {
        surety_tensor t = surety_voters_tensor(s->voters, k);
        memcpy(s->best_tensors[k], t.bytes, surety_tensor_size(&t));
    }
}

static void take_best(surety_train_state *s) {
    memcpy(s->theta, s->best_theta, s->H * sizeof(double));
    for (size_t k = 0; k < s->tensors; k++) {
        surety_tensor t = surety_voters_tensor(s->voters, k);
        memcpy(t.bytes, s->best_tensors[k], surety_tensor_size(&t));
    }
    surety_voters_changed(s->voters);
}

static surety_status run_batches(loop *l, const surety_run *run, surety_timing *timing, surety_error *err) {
    const surety_set *train = l->phase->train;
    surety_sampler_epoch(l->sampler, l->epoch);
    shuffle(l);
    l->epoch_loss = 0;
    for (l->first = 0; l->first < train->m; l->first += l->count) {
        size_t left = train->m - l->first;
        l->count = left < l->s->batch ? left : l->s->batch;
        SURETY_TRY(run_batch(l, run, timing, err));
        surety_report(run, l->phase->name, l->state->epoch * train->m + l->first + l->count,
                      l->phase->epochs * train->m, "");
    }
    return l->phase->moves_voters ? share_voters(l, 1, run, err) : SURETY_OK;
}

/* An epoch of a kind that grows; the weights stay. */
static surety_status grow(loop *l, const surety_run *run, surety_error *err) {
    surety_growth growth = {.set = l->phase->train,
                            .choose = l->phase->choose,
                            .value = NAN,
                            .ball = l->phase->certified > 0 ? &l->s->defense.ball : NULL,
                            .epoch = l->state->epoch,
                            .epochs = l->phase->epochs,
                            .rate = l->s->lr,
                            .mask = l->s->voters.mask,
                            .balance = l->balance,
                            .seed = l->s->seed,
                            .run = run};
    SURETY_TRY(surety_voters_grow(l->state->voters, &growth, err));
    l->grown_value = growth.value;
    return SURETY_OK;
}

static surety_status run_epoch(loop *l, const surety_run *run, surety_timing *timing, surety_error *err) {
    surety_train_state *s = l->state;
    double value, begin = surety_seconds();
    l->epoch = l->phase->first_epoch + (uint32_t)s->epoch;
    SURETY_TRY(l->grows ? grow(l, run, err) : run_batches(l, run, timing, err));
    if (l->grows && !isnan(l->grown_value))
        surety_voters_moved(s->voters); /* nobody asks them before the end */
    else if (l->phase->moves_voters)
        surety_voters_changed(s->voters);
    double trained = surety_seconds(), kl;
    SURETY_TRY(judge_epoch(l, &value, &kl, run, err));
    timing->choose += surety_seconds() - trained;
    double *values = s->values[s->phase];
    values[s->epoch++] = value;
    if (s->epoch == 1 || !l->phase->choose || value < values[s->best[s->phase] - 1]) keep_best(s);
    char text[128], learned[32] = "";
    if (l->phase->has_bound) surety_format(learned, sizeof learned, ", KL %.3f", kl);
    surety_format(text, sizeof text, "%s %.4f%s, %.0f rows/s, %s %llu",
                  l->phase->has_bound ? "objective" : "risk", value, learned,
                  (double)l->phase->train->m / (trained - begin), l->phase->choose ? "best epoch" : "epoch",
                  (unsigned long long)s->best[s->phase]);
    surety_report(run, l->phase->name, s->epoch * l->phase->train->m, l->phase->epochs * l->phase->train->m,
                  text);
    return SURETY_OK;
}

/* What the worst case needs besides. */
static surety_status certified_new(loop *l, surety_error *err) {
    size_t batch = l->s->batch, N = surety_robust_arguments(l->robust);
    size_t stride = surety_robust_stride(l->robust);
    SURETY_TRY(surety_alloc(&l->g_even, batch * surety_padded(N), sizeof(float), err));
    SURETY_TRY(surety_alloc(&l->g_odd, batch * surety_padded(N), sizeof(float), err));
    SURETY_TRY(surety_alloc(&l->room_rows, 2 * batch * l->stride, sizeof(float), err));
    SURETY_TRY(surety_alloc(&l->even, 2 * batch, sizeof(float *), err));
    SURETY_TRY(surety_alloc(&l->room, 2 * N * stride, sizeof(float), err));
    l->odd = l->even + batch;
    for (size_t i = 0; i < 2 * batch; i++) l->even[i] = l->room_rows + i * l->stride;
    return SURETY_OK;
}

static void average_table(loop *l) {
    const surety_set *set = l->phase->train;
    size_t H = l->state->H;
    for (size_t i = 0; i < set->m; i++)
        for (size_t t = 0; t < H; t++)
            l->table_loss[t] += 0.5 * (1 - (double)l->phase->votes[i * H + t]) / (double)set->m;
}

/* In step 1, if asked for, every class has the same weight: m / (K m_k) for each example. Step 2 lowers a
 * bound, where all examples weigh the same. */
static void weigh_classes(loop *l) {
    const surety_set *set = l->phase->train;
    size_t of[SURETY_CLASSES_MOST] = {0};
    for (size_t i = 0; i < set->m; i++) of[set->y[i]]++;
    for (size_t k = 0; k < set->classes; k++)
        l->balance[k] = l->s->balance && l->phase->moves_voters && of[k]
                            ? (double)set->m / ((double)set->classes * (double)of[k])
                            : 1;
}

static surety_status loop_new(loop *l, const surety_run *run, surety_error *err) {
    const surety_voters *v = l->state->voters;
    size_t batch = l->s->batch;
    weigh_classes(l);
    l->attack = l->s->defense;
    if (l->attack.kind == SURETY_WORST_CASE)
        l->attack.kind = l->s->mix > 0 ? SURETY_ATTACK_PGD : SURETY_ATTACK_NONE;
    l->grows = l->phase->moves_voters && surety_voters_can(v, SURETY_CAN_GROW);
    l->threads = (size_t)surety_threads(run);
    l->width = surety_voters_width(v);
    l->logistic = l->phase->moves_voters && l->s->loss != SURETY_LOSS_LINEAR;
    l->stride = surety_padded(surety_voters_features(v));
    l->terms = surety_voters_terms(v);
    l->end_voter = l->state->H;
    surety_my_share(run, &l->begin_voter, &l->end_voter);
    SURETY_TRY(surety_sampler_new(&l->sampler, &l->attack, v, l->s->voter_set, run, err));
    if (l->phase->certified > 0 && !l->grows)
        SURETY_TRY(surety_voters_need(v, SURETY_CAN_HARDEN, "the certified defense", err));
    if (l->phase->certified > 0 && !l->grows &&
        !surety_voters_can(v, SURETY_CAN_LOWER)) /* both blocks of a thread use the same memory, one by one */
        SURETY_TRY(surety_robust_new(&l->robust, l->state->voters, &l->s->defense.ball, err));
    size_t scratch = surety_voters_scratch(v), worst = l->robust ? surety_robust_scratch(l->robust) : 0;
    l->asking_floats = (1 + l->width) * surety_padded(l->state->H * SURETY_LANES) + l->width * SURETY_LANES +
                       surety_padded(scratch > worst ? scratch : worst);
    SURETY_TRY(surety_alloc(&l->margins, l->threads * l->width * SURETY_LANES, sizeof(double), err));
    SURETY_TRY(surety_alloc(&l->asking, l->threads * l->asking_floats, sizeof *l->asking, err));
    SURETY_TRY(surety_alloc(&l->order, l->phase->train->m, sizeof *l->order, err));
    SURETY_TRY(surety_alloc(&l->steps, l->phase->train->m, sizeof *l->steps, err));
    SURETY_TRY(surety_rows_scattered(l->phase->train, &l->scattered, run, err));
    SURETY_TRY(surety_alloc(&l->x, batch * l->stride, sizeof *l->x, err));
    SURETY_TRY(surety_alloc(&l->y, batch, sizeof *l->y, err));
    SURETY_TRY(surety_alloc(&l->source, batch, sizeof *l->source, err));
    SURETY_TRY(surety_alloc(&l->slots, batch, sizeof *l->slots, err));
    l->most = surety_threat_about(l->attack.kind)->steps == SURETY_STEPS_MANY ? l->attack.steps : 1;
    SURETY_TRY(surety_alloc(&l->begins, l->most + 2, sizeof *l->begins, err));
    double **weights[] = {&l->Q, &l->P, &l->r, &l->d_theta, &l->table_loss};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        SURETY_TRY(surety_alloc(weights[i], l->state->H, sizeof(double), err));
    SURETY_TRY(surety_alloc(&l->points, batch * l->stride, sizeof *l->points, err));
    SURETY_TRY(surety_alloc(&l->rows, 2 * batch, sizeof *l->rows, err));
    SURETY_TRY(surety_alloc(&l->losses, batch * l->state->H, sizeof *l->losses, err));
    SURETY_TRY(surety_alloc(&l->g, 2 * batch * l->terms, sizeof *l->g, err));
    SURETY_TRY(surety_alloc(&l->work, batch, sizeof *l->work, err));
    for (size_t k = 0; !l->grows && k < l->state->tensors; k++) {
        surety_tensor t = surety_voters_tensor(v, k);
        SURETY_TRY(surety_alloc(&l->gradients[k], t.rows * t.stride, sizeof(float), err));
    }
    if (l->robust) SURETY_TRY(certified_new(l, err));
    if (l->phase->votes) average_table(l);
    surety_softmax(l->state->theta, l->state->H, l->Q);
    surety_softmax(l->state->prior_theta, l->state->H, l->P);
    return SURETY_OK;
}

static void loop_free(loop *l) {
    surety_sampler_free(l->sampler);
    for (size_t k = 0; k < SURETY_TENSORS; k++) surety_free(l->gradients[k]);
    surety_robust_free(l->robust);
    void *parts[] = {l->asking, l->order,        l->steps,        l->slots,  l->x,
                     l->y,      l->source,       l->begins,       l->Q,      l->P,
                     l->r,      l->d_theta,      l->points,       l->losses, l->table_loss,
                     l->g,      l->work,         l->g_even,       l->g_odd,  l->room_rows,
                     l->room,   (void *)l->rows, (void *)l->even, l->margins};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
}

surety_status surety_phase_run(const surety_phase *phase, const surety_train_settings *settings,
                               surety_train_state *state, const surety_after_epoch *after,
                               surety_timing *timing, const surety_run *run, surety_error *err) {
    loop l = {.phase = phase, .s = settings, .state = state};
    surety_status status = loop_new(&l, run, err);
    while (status == SURETY_OK && state->epoch < phase->epochs) {
        status = run_epoch(&l, run, timing, err);
        if (status == SURETY_OK && after) status = after->fn(after->arg, state, err);
    }
    loop_free(&l);
    if (status == SURETY_OK) take_best(state);
    return status;
}
