/* Print's recipe: what the program behind the paper's printed tables did (docs/reproduction.md), so that its
 * numbers come out again. It deviates from the paper's text and exists for nothing else: no other room knows
 * of it, and it uses of the others little more than the products of num and the formulas of bound.
 *
 * Letters: d features, H = 25 trees of depth 2, B examples still attacked, b radius, k steps, n samples,
 * Q weights of the vote = softmax(theta). */
#ifndef SURETY_STUDY_PRINT_H
#define SURETY_STUDY_PRINT_H

#include "num/num.h"
#include "study/study.h"

/* ---- streams: two generators, consumed in order ---- */

enum { SURETY_TWISTER_WORDS = 624 };

/* MT19937 (Matsumoto and Nishimura 1998), 32-bit tempered words. */
typedef struct surety_twister {
    uint32_t state[SURETY_TWISTER_WORDS],
        words[SURETY_TWISTER_WORDS]; /* words: tempered, ready to be taken */
    size_t used;
} surety_twister;

void surety_twister_seed(surety_twister *t, uint32_t seed);
uint32_t surety_twister_word(surety_twister *t);
void surety_twister_drop(surety_twister *t, size_t words);
double surety_twister_double(surety_twister *t);                         /* of two words, in [0,1) */
float surety_twister_float(surety_twister *t);                           /* of one word, in [0,1) */
void surety_twister_floats(surety_twister *t, float *out, size_t count); /* the same, many at once */

/* Start weights of tree i: W (3, d) rows root, left, right, and four leaves; t is its generator, left behind
 * its last word. 3 d must be a multiple of 16. */
void surety_print_start(surety_twister *t, uint32_t tree, size_t d, float *W, float leaves[4]);

/* ---- the workshop of one cell ---- */

enum {
    SURETY_PRINT_TREES = 25,
    SURETY_PRINT_SPLITS = 3, /* of a tree: root, left, right */
    SURETY_PRINT_LEAVES = 4,
    SURETY_PRINT_BATCH = 64,
    SURETY_PRINT_TENSORS = 3 /* weights, biases, leaves */
};

/* A tensor of the forest: rows x length values, rows `stride` floats apart. */
typedef struct surety_print_tensor {
    size_t rows, length, stride;
    float *values;
} surety_print_tensor;

typedef struct surety_print {
    size_t epochs, steps, samples;
    surety_norm norm;
    surety_voter_set voter_set;
    surety_threat_kind defense;
    double radius;
    const surety_run *run;

    size_t d, stride, ldz;
    surety_print_tensor tensor[SURETY_PRINT_TENSORS];       /* W (75, d), c (1, 75), u (1, 100) */
    surety_weights *packed;                                 /* W, ready for products */
    float scores[SURETY_PRINT_TREES * SURETY_PRINT_LEAVES]; /* tanh(u) */
    double theta[SURETY_PRINT_TREES], Q[SURETY_PRINT_TREES];

    /* Random streams. After the first forward pass of a program both are reset to what making tree 24 left
     * behind. */
    surety_twister N, C, C_reset;
    int before_first_pass;

    /* One batch: rows of `stride` floats. After an attack, order[i] is the row that comes i-th. */
    size_t rows, order[SURETY_PRINT_BATCH];
    const float *x0[SURETY_PRINT_BATCH];
    const uint8_t *y;
    float *points, *lo, *hi, *gradients;
    double *move; /* (d), of a start */

    float *z;         /* (lanes, ldz) of the last block that was asked: p = sigmoid(W x + c) */
    float *h;         /* (lanes, H): its outputs */
    float *dz;        /* (batch, ldz): derivatives in W x + c */
    float *dscore;    /* (batch, H * leaves): derivatives in the leaves' scores */
    float *noise;     /* (d, n) uniforms of one example */
    float *samples_x; /* (n, stride) its noisy copies */
} surety_print;

/* Voters at print's start; seed 0 is print's own, seeds 1, 2, .. have W jittered by a relative 1e-7. */
surety_status surety_print_new(surety_print *p, const surety_study_settings *settings,
                               const surety_cell *cell, size_t d, const surety_run *run, surety_error *err);
void surety_print_free(surety_print *p);

/* Both streams as they are at the beginning of step 2 and of every evaluation. */
void surety_print_rewind(surety_print *p);

/* Q = softmax(theta). */
void surety_print_weigh(surety_print *p, const double *theta);

/* ---- attack ---- */

/* Attacks examples first .. first + rows - 1 of set (rows <= 64) with the current vote in lockstep. */
void surety_print_attack(surety_print *p, surety_threat_kind kind, double radius, const surety_set *set,
                         size_t first, size_t rows);

/* x in [lo, hi], in a form that compilers turn into vectors. */
static inline float surety_print_clip(float x, float lo, float hi) {
    float up = x > lo ? x : lo;
    return up < hi ? up : hi;
}

/* Row i in the order after the attack, and its label. */
static inline float *surety_print_point(const surety_print *p, size_t i) {
    return p->points + p->order[i] * p->stride;
}
static inline int surety_print_label(const surety_print *p, size_t i) {
    return surety_sign(p->y[p->order[i]]);
}

/* Outputs of all trees at `rows` <= 16 rows into p->h. */
void surety_print_ask(surety_print *p, const float *const *x, size_t rows);

/* sum_t Q_t h_t or sum_t Q_t sign(h_t) of row r of the last block. */
double surety_print_vote(const surety_print *p, const double *Q, surety_voter_set set, size_t r);

/* dz = slope Q_t dh_t/dz of row r of the last block; dscore, unless NULL, the same for the leaves' scores. */
void surety_print_slopes(const surety_print *p, size_t r, double slope, float *dz, float *dscore);

/* Packs the parameters after a change. */
void surety_print_changed(surety_print *p);

/* ---- training ---- */

typedef struct surety_print_model {
    surety_objective objective;
    double theta[SURETY_PRINT_TREES], Q[SURETY_PRINT_TREES];
    double kl;
    size_t best_epoch; /* of step 2, from 1; baseline: 0 */
} surety_print_model;

/* Step 1 on S': leaves the voters and theta of the best epoch in p. criterion (epochs) is what chose it. */
surety_status surety_print_step1(surety_print *p, const surety_set *prior_set, const surety_set *learn,
                                 double *criterion, size_t *best, surety_error *err);

/* Step 2 on S from the prior `theta`. criterion (epochs). */
surety_status surety_print_step2(surety_print *p, const surety_set *learn, const double *theta,
                                 surety_print_model *model, double *criterion, surety_error *err);

/* ---- the whole cell ---- */

/* What surety_print_cell gives, of any three sets; the gallery without the size of its pictures. */
surety_status surety_print_sets(json_t **found, const surety_study_settings *settings,
                                const surety_cell *cell, const surety_set sets[SURETY_SETS],
                                const surety_run *run, surety_error *err);

/* kl_inv as print cut it; the root of average_max, over m instead of 2m. */
double surety_print_kl_inv(double q, double c, double *dq, double *dc);
double surety_print_seeger_c(double kl, size_t m, size_t epochs);
double surety_print_root(double kl, size_t m, size_t epochs, double *dkl);

#endif
