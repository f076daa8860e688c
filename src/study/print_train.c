/* Print's training. Step 1 moves all parameters, step 2 theta alone; both take S' or S in file order, and
 * after each epoch a pass over S chooses. That pass multiplies the outputs of the reordered batches by the
 * labels in file order, so that for attacks with steps the choice is nearly random (docs/reproduction.md). */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "study/print.h"
#include "train/adam.h"

enum {
    H = SURETY_PRINT_TREES,
    LEAVES = SURETY_PRINT_LEAVES,
    BATCH = SURETY_PRINT_BATCH,
    TENSORS = SURETY_PRINT_TENSORS
};
static const double rate = .01, delta = .05;

/* ---- what both steps share ---- */

typedef struct adam_theta {
    double m[H], v[H];
    size_t t;
} adam_theta;

/* From the derivatives in the weights Q to those in theta, and one step of Adam. */
static void move_theta(surety_print *p, adam_theta *adam, const double *dQ) {
    double g[H], theta[H], mean = 0;
    for (size_t t = 0; t < H; t++) mean += p->Q[t] * dQ[t];
    for (size_t t = 0; t < H; t++) g[t] = p->Q[t] * (dQ[t] - mean);
    memcpy(theta, p->theta, sizeof theta);
    surety_adam_move_double(surety_adam_at(rate, ++adam->t), g, adam->m, adam->v, theta, H);
    surety_print_weigh(p, theta);
}

/* A pass over S: mean of (1 - y vote) / 2, y in file order. as_set: votes of the voter set, else real ones.
 */
static surety_status mixed_up_loss(surety_print *p, const surety_set *learn, int as_set, double *loss,
                                   surety_error *err) {
    double sum = 0;
    surety_twister_drop(&p->C, 2);
    for (size_t first = 0; first < learn->m; first += BATCH) {
        size_t rows = learn->m - first < BATCH ? learn->m - first : BATCH;
        SURETY_TRY(surety_stopped(p->run, err));
        surety_print_attack(p, p->defense, p->radius, learn, first, rows);
        for (size_t at = 0; at < rows; at += SURETY_LANES) {
            size_t block = rows - at < SURETY_LANES ? rows - at : SURETY_LANES;
            const float *x[SURETY_LANES];
            for (size_t r = 0; r < block; r++) x[r] = surety_print_point(p, at + r);
            surety_print_ask(p, x, block);
            for (size_t r = 0; r < block; r++) {
                double vote = surety_print_vote(p, p->Q, as_set ? p->voter_set : SURETY_REAL, r);
                sum += .5 * (1 - surety_sign(learn->y[first + at + r]) * vote);
            }
        }
    }
    *loss = sum / (double)learn->m;
    return SURETY_OK;
}

/* ---- step 1 ---- */

typedef struct adam_voters {
    float *g[TENSORS], *m[TENSORS], *v[TENSORS], *best[TENSORS];
    adam_theta theta;
    double best_theta[H];
} adam_voters;

static size_t size_of(const surety_print_tensor *t) {
    return t->rows * t->stride;
}

static surety_status adam_new(adam_voters *a, const surety_print *p, surety_error *err) {
    for (size_t i = 0; i < TENSORS; i++) {
        float **parts[] = {&a->g[i], &a->m[i], &a->v[i], &a->best[i]};
        for (size_t k = 0; k < 4; k++)
            SURETY_TRY(surety_alloc(parts[k], size_of(&p->tensor[i]), sizeof(float), err));
    }
    return SURETY_OK;
}

static void adam_free(adam_voters *a) {
    for (size_t i = 0; i < TENSORS; i++) {
        surety_free(a->g[i]);
        surety_free(a->m[i]);
        surety_free(a->v[i]);
        surety_free(a->best[i]);
    }
}

/* Gradients of all tensors from what each row of the batch adds. */
static void sum_gradients(const surety_print *p, const float *const *x, float *const *g) {
    size_t splits = p->tensor[1].length, scores = H * LEAVES;
    surety_product_outer(&(surety_outer){.g = p->dz,
                                         .ldg = p->ldz,
                                         .x = x,
                                         .rows = p->rows,
                                         .end = splits,
                                         .d = p->d,
                                         .D = g[0],
                                         .ldd = p->tensor[0].stride});
    memset(g[1], 0, splits * sizeof(float));
    memset(g[2], 0, scores * sizeof(float));
    for (size_t r = 0; r < p->rows; r++) {
        for (size_t i = 0; i < splits; i++) g[1][i] += p->dz[r * p->ldz + i];
        for (size_t i = 0; i < scores; i++) g[2][i] += p->dscore[r * scores + i];
    }
    for (size_t i = 0; i < scores; i++) g[2][i] *= 1 - p->scores[i] * p->scores[i];
}

/* One step of Adam on the mean of (1 - y vote) / 2 over the attacked batch, real outputs. */
static void learn_batch(surety_print *p, adam_voters *a) {
    const float *x[BATCH];
    double dQ[H] = {0};
    for (size_t i = 0; i < p->rows; i++) x[i] = surety_print_point(p, i);
    for (size_t at = 0; at < p->rows; at += SURETY_LANES) {
        size_t block = p->rows - at < SURETY_LANES ? p->rows - at : SURETY_LANES;
        surety_print_ask(p, x + at, block);
        for (size_t r = 0; r < block; r++) {
            double slope = -.5 * surety_print_label(p, at + r) / (double)p->rows;
            surety_print_slopes(p, r, slope, p->dz + (at + r) * p->ldz, p->dscore + (at + r) * H * LEAVES);
            for (size_t t = 0; t < H; t++) dQ[t] += slope * (double)p->h[r * H + t];
        }
    }
    sum_gradients(p, x, a->g);
    move_theta(p, &a->theta, dQ);
    surety_adam_step step = surety_adam_at(rate, a->theta.t);
    for (size_t i = 0; i < TENSORS; i++)
        surety_adam_move(step, a->g[i], a->m[i], a->v[i], p->tensor[i].values, size_of(&p->tensor[i]));
    surety_print_changed(p);
}

static void keep_best(const surety_print *p, adam_voters *a) {
    for (size_t i = 0; i < TENSORS; i++)
        memcpy(a->best[i], p->tensor[i].values, size_of(&p->tensor[i]) * sizeof(float));
    memcpy(a->best_theta, p->theta, sizeof a->best_theta);
}

static void take_best(surety_print *p, const adam_voters *a) {
    for (size_t i = 0; i < TENSORS; i++)
        memcpy(p->tensor[i].values, a->best[i], size_of(&p->tensor[i]) * sizeof(float));
    surety_print_changed(p);
    surety_print_weigh(p, a->best_theta);
}

static surety_status step1(surety_print *p, adam_voters *a, const surety_set *prior_set,
                           const surety_set *learn, double *criterion, size_t *best, surety_error *err) {
    for (size_t epoch = 0; epoch < p->epochs; epoch++) {
        surety_twister_drop(&p->C, 2);
        for (size_t first = 0; first < prior_set->m; first += BATCH) {
            SURETY_TRY(surety_stopped(p->run, err));
            surety_print_attack(p, p->defense, p->radius, prior_set, first,
                                prior_set->m - first < BATCH ? prior_set->m - first : BATCH);
            learn_batch(p, a);
        }
        SURETY_TRY(mixed_up_loss(p, learn, 0, &criterion[epoch], err));
        if (!epoch || (float)criterion[epoch] < (float)criterion[*best - 1]) {
            *best = epoch + 1;
            keep_best(p, a);
        }
        surety_report(p->run, "step 1", epoch + 1, p->epochs, "");
    }
    take_best(p, a);
    return SURETY_OK;
}

surety_status surety_print_step1(surety_print *p, const surety_set *prior_set, const surety_set *learn,
                                 double *criterion, size_t *best, surety_error *err) {
    adam_voters a = {0};
    surety_status status = adam_new(&a, p, err);
    if (status == SURETY_OK) status = step1(p, &a, prior_set, learn, criterion, best, err);
    adam_free(&a);
    return status;
}

/* ---- step 2 ---- */

double surety_print_kl_inv(double q, double c, double *dq, double *dc) {
    q = fmax(q, 1e-9);
    double up = fmin(fmax(surety_kl_inv(q, c, NULL, NULL), 1e-9), 1 - 1e-4);
    double a = (1 - q) / (1 - up), b = q / up;
    if (dq) *dq = log(a / b) / (a - b);
    if (dc) *dc = 1 / (a - b);
    return up;
}

double surety_print_seeger_c(double kl, size_t m, size_t epochs) {
    return (kl + log((double)epochs * ((double)m + 1) / delta)) / (double)m;
}

double surety_print_root(double kl, size_t m, size_t epochs, double *dkl) {
    double root = sqrt((kl + log(2 * (double)epochs * sqrt((double)m) / delta)) / (double)m);
    if (dkl) *dkl = 1 / (2 * (double)m * root);
    return root;
}

/* Twice the bound, and its derivatives in the risk and in KL. */
static double objective(surety_objective which, double risk, double kl, size_t m, size_t epochs,
                        double *drisk, double *dkl) {
    if (which == SURETY_OBJECTIVE_AVERAGE_MAX) {
        double root = surety_print_root(kl, m, epochs, dkl);
        *drisk = 2, *dkl *= 2;
        return 2 * (risk + root);
    }
    double bound = surety_print_kl_inv(risk, surety_print_seeger_c(kl, m, epochs), drisk, dkl);
    *drisk *= 2, *dkl *= 2 / (double)m;
    return 2 * bound;
}

static double divergence(const double *Q, const double *P) {
    double sum = 0;
    for (size_t t = 0; t < H; t++) sum += Q[t] * log(Q[t] / P[t]);
    return sum;
}

static void learn_weights(surety_print *p, adam_theta *adam, surety_objective which, const double *P,
                          size_t m) {
    double loss[H] = {0}, dQ[H], risk = 0, drisk, dkl;
    for (size_t at = 0; at < p->rows; at += SURETY_LANES) {
        size_t block = p->rows - at < SURETY_LANES ? p->rows - at : SURETY_LANES;
        const float *x[SURETY_LANES];
        for (size_t r = 0; r < block; r++) x[r] = surety_print_point(p, at + r);
        surety_print_ask(p, x, block);
        for (size_t t = 0; t < H; t++)
            for (size_t r = 0; r < block; r++) {
                double v = (double)p->h[r * H + t];
                if (p->voter_set == SURETY_SIGNED) v = (v > 0) - (v < 0);
                loss[t] += .5 * (1 - surety_print_label(p, at + r) * v) / (double)p->rows;
            }
    }
    for (size_t t = 0; t < H; t++) risk += p->Q[t] * loss[t];
    objective(which, risk, divergence(p->Q, P), m, p->epochs, &drisk, &dkl);
    for (size_t t = 0; t < H; t++) dQ[t] = drisk * loss[t] + dkl * log(p->Q[t] / P[t]);
    move_theta(p, adam, dQ);
}

surety_status surety_print_step2(surety_print *p, const surety_set *learn, const double *theta,
                                 surety_print_model *model, double *criterion, surety_error *err) {
    adam_theta adam = {.t = 0};
    double P[H], risk, drisk, dkl;
    surety_print_rewind(p);
    surety_print_weigh(p, theta);
    memcpy(P, p->Q, sizeof P);
    for (size_t epoch = 0; epoch < p->epochs; epoch++) {
        surety_twister_drop(&p->C, 2);
        for (size_t first = 0; first < learn->m; first += BATCH) {
            SURETY_TRY(surety_stopped(p->run, err));
            surety_print_attack(p, p->defense, p->radius, learn, first,
                                learn->m - first < BATCH ? learn->m - first : BATCH);
            learn_weights(p, &adam, model->objective, P, learn->m);
        }
        SURETY_TRY(mixed_up_loss(p, learn, 1, &risk, err));
        double kl = divergence(p->Q, P);
        criterion[epoch] = objective(model->objective, risk, kl, learn->m, p->epochs, &drisk, &dkl);
        if (!epoch || (float)criterion[epoch] < (float)criterion[model->best_epoch - 1]) {
            model->best_epoch = epoch + 1;
            model->kl = kl;
            memcpy(model->theta, p->theta, sizeof model->theta);
            memcpy(model->Q, p->Q, sizeof model->Q);
        }
        surety_report(p->run, "step 2", epoch + 1, p->epochs, "");
    }
    return SURETY_OK;
}
