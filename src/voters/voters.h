/* What other rooms ask of voters, whatever their kind.
 *
 * Voters are asked for a block of at most SURETY_LANES examples at once. What belongs to an example lies in a
 * lane: h[(t*width + k)*SURETY_LANES + r] is output k of voter t on row r of the block, so that one vector
 * instruction serves all rows. Two classes have one output (width 1), K > 2 classes K scores (width K). Rows
 * of features come as pointers (num/num.h). A row's result never depends on the other rows.
 */
#ifndef SURETY_VOTERS_VOTERS_H
#define SURETY_VOTERS_VOTERS_H

#include "num/num.h"
#include "surety/data.h"
#include "surety/voters.h"

enum { SURETY_TENSORS = 16 }; /* most tensors of a kind */

/* Bytes of one value. */
static inline size_t surety_element_size(surety_element type) {
    return type == SURETY_ELEMENT_F64 ? sizeof(double) : sizeof(float);
}

/* Bytes of a tensor, padding included. */
static inline size_t surety_tensor_size(const surety_tensor *t) {
    return t->rows * t->stride * surety_element_size(t->type);
}

/* ---- what a kind can do ---- */

typedef enum surety_ability {
    SURETY_CAN_CLIMB = 1,   /* gradient to the input: attacks with steps */
    SURETY_CAN_LEARN = 2,   /* gradient to the parameters: training by batches */
    SURETY_CAN_GROW = 4,    /* training by growing, an epoch at a time */
    SURETY_CAN_RANGE = 8,   /* sound limits over a ball: worst cases */
    SURETY_CAN_HARDEN = 16, /* a differentiable worst case: the certified defense by batches */
    SURETY_CAN_SEARCH = 32, /* a search for points of a ball at which the vote is wrong */
    SURETY_CAN_MISS = 64,   /* features that are missing (NaN) */
    SURETY_CAN_SCORE = 128, /* raw scores, those of the maker of imported voters */
    SURETY_CAN_LOWER = 256  /* a worst case that is one forward pass: another way to harden */
} surety_ability;

int surety_voters_can(const surety_voters *v, surety_ability ability);

/* SURETY_E_USAGE with the kind's name and what cannot be done, unless it can. */
surety_status surety_voters_need(const surety_voters *v, surety_ability ability, const char *what_for,
                                 surety_error *err);

/* ---- asking ---- */

/* The examples of a block, rows <= SURETY_LANES of them; borrowed. Feature rows as num/num.h wants them. */
typedef struct surety_examples {
    size_t rows;
    const float *x[SURETY_LANES];
    uint8_t y[SURETY_LANES];
    uint32_t row[SURETY_LANES]; /* in the source file */
    surety_set_name which;
} surety_examples;

/* Floats of scratch for one block. ask fills it, the gradients read it. */
size_t surety_voters_scratch(const surety_voters *v);

/* 1: votes of this kind, trained here on so many classes, are duels (surety_voters_duels). */
int surety_kind_duels(const char *kind, size_t classes);

/* Outputs of a voter. */
size_t surety_voters_width(const surety_voters *v);

/* h (H, width, SURETY_LANES): outputs in [-1,1], scores in [0,1], for rows <= SURETY_LANES; lanes behind rows
 * are unspecified. */
void surety_voters_ask(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch);

/* SCORE: raw scores (m, columns) of m rows of x (stride floats each, any alignment), each exactly as its
 * maker has it, in the type in which it adds them up. columns 0: these voters have none. */
size_t surety_voters_columns(const surety_voters *v, surety_element *type);
surety_status surety_voters_score(const surety_voters *v, const float *x, size_t stride, size_t m,
                                  double *scores, const surety_run *run, surety_error *err);

/* surety_vote_predict and surety_vote_classes at once: (m, width) and (m); either may be NULL. */
typedef struct surety_asked {
    double *votes;
    uint8_t *classes;
} surety_asked;
surety_status surety_vote_ask(const surety_vote *vote, const float *x, size_t stride, size_t m,
                              surety_asked out, const surety_run *run, surety_error *err);

/* The class that the vote answers to each row of the outputs h (H, width, SURETY_LANES), or SURETY_TIED;
 * classes has room for SURETY_LANES. */
void surety_vote_answers(const surety_vote *vote, const float *h, size_t rows, uint8_t *classes);

/* What decides everything (docs/theory.md 9): the margins M_k = sum_t q_t v_tk of the vote against the other
 * classes k, in double, in voter order; v is y h_t or its sign (two classes), else h_ty - h_tk of the scores
 * or of one-hot scores. margin[r] is the smallest of row r with class number y[r]: the vote is right where it
 * is above 0. real[r], unless NULL, is that of the outputs themselves, and rival[r] the class that has it.
 * All SURETY_LANES lanes are computed; y is a class number in each. */
void surety_margin_lanes(const surety_vote *vote, const float *h, const uint8_t *y, double *margin,
                         double *real, uint8_t *rival);

/* All margins of the outputs themselves, sums (width, SURETY_LANES): of two classes y times the vote, else
 * M_k for every k; that of k = y is 0. */
void surety_margin_each(const surety_vote *vote, const float *h, const uint8_t *y, double *sums);

/* The class of the only largest of a voter's scores[k * ld], k < K, or SURETY_TIED: also where a score is not
 * a number. */
uint8_t surety_label_of(const float *scores, size_t ld, size_t K);

/* The same from lower limits of v (voters/range.h), as they are. */
void surety_margin_limits(const surety_vote *vote, const float *low, double *margin);

/* CLIMB: sum_t a[t, r] dh_t/dx at the rows of the last ask into this scratch, or at those with keep[r] if it
 * is not NULL; used as `use` says (num/num.h), whose arrays are of the rows kept. a (H, width, SURETY_LANES).
 */
void surety_voters_gradient_input(const surety_voters *v, const float *a, size_t rows, const int *keep,
                                  const surety_gradient_use *use, float *scratch);

/* LEARN: the gradient to the parameters is a sum over examples of products, taken in two halves so that no
 * float sum is shared between threads. First half, per block: g[r*ldg ..] = what row r contributes, ldg =
 * terms(v) floats. */
size_t surety_voters_terms(const surety_voters *v);
void surety_voters_gradient_terms(const surety_voters *v, const float *a, size_t rows, float *g,
                                  float *scratch);

/* Second half, per slice of pieces [first, end), of which there are surety_voters_pieces (one per voter,
 * unless a kind has more): gradients[k] (laid out as tensor k) = sum over all rows of the batch, in row
 * order, of the contributions g (rows, terms) at the points x. */
size_t surety_voters_pieces(const surety_voters *v);
void surety_voters_gradient_sum(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                                size_t first, size_t end, float *const *gradients);

/* Kinds whose parameters lie near a surface: 1 if this is one. `along` turns gradients along it, `back`
 * brings parameters that a step has moved back and packs them. */
int surety_voters_on_surface(const surety_voters *v);
surety_status surety_voters_along(surety_voters *v, float *const *gradients, const surety_run *run,
                                  surety_error *err);
surety_status surety_voters_back(surety_voters *v, const surety_run *run, surety_error *err);

/* LOWER: as surety_voters_ask, with outputs as low as the ball with this radius can make them for the class
 * of each example, up to roundings: what the certified defense lowers. Gradients follow as behind an
 * ask. */
void surety_voters_ask_lowered(const surety_voters *v, const surety_ball *ball, double radius,
                               const surety_examples *e, float *h, float *scratch);

/* GROW: epoch number `epoch` (from 0) of `epochs`. ball: the whole ball is to be resisted, or NULL. */
typedef struct surety_growth {
    const surety_set *set, *choose; /* choose: what the epoch is judged on; NULL: set itself */
    const surety_ball *ball;
    size_t epoch, epochs;
    double rate;
    double mask;           /* a split does not see a feature with this probability */
    const double *balance; /* (K) weight of an example's loss, by its class */
    uint64_t seed;
    const surety_run *run;
    double value; /* out: the risk behind this epoch, if the kind knows it */
} surety_growth;
surety_status surety_voters_grow(surety_voters *v, surety_growth *growth, surety_error *err);

/* theta (H): the softmax of it gives the weights with which the voters were grown; 0 unless the kind says
 * otherwise. */
void surety_voters_theta(const surety_voters *v, double *theta);

/* What the voters are once nothing grows any more: *v is freed and replaced where there is a smaller form. */
surety_status surety_voters_trim(surety_voters **v, surety_error *err);

/* ---- views, one per thread ---- */

/* Voters that borrow the parameters of others and pack them for themselves. Per-thread copies: sharing slows
 * reads (measured: 81 against 92 % of peak). Freed by surety_voters_free, before v. */
surety_status surety_voters_view(surety_voters **out, const surety_voters *v, surety_error *err);

/* Packs again if v has changed since. */
void surety_voters_follow(surety_voters *view);

/* The parameters of v have changed; views will follow, v itself is packed by the next surety_voters_changed.
 */
void surety_voters_moved(surety_voters *v);

/* ---- files ---- */

/* A tensor as a file has it. */
typedef struct surety_shape {
    const char *name;
    surety_element type;
    size_t rank, shape[3];
} surety_shape;

/* Voters of a kind with these tensors, parameters 0: SURETY_E_INPUT if they do not fit each other. */
surety_status surety_voters_open(surety_voters **out, const char *kind, const surety_shape *shapes,
                                 size_t count, surety_error *err);

/* SURETY_E_INPUT with the place if parameters, all finite, do not make sense together (a cycle of tree
 * nodes). Asked before voters are used. */
surety_status surety_voters_check(const surety_voters *v, surety_error *err);

/* Are kind and parameters equal? */
int surety_voters_same(const surety_voters *a, const surety_voters *b);

#endif
