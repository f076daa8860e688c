/* The voter interface: all that the rest of the house may know of a kind of voters.
 *
 * Voters are asked for a block of at most SURETY_LANES examples at once. What belongs to an example lies in a
 * lane: h[t*SURETY_LANES + r] is voter t on row r of the block, so that one vector instruction serves all
 * rows. Rows of features come as pointers (num/num.h). A row's result never depends on the other rows.
 */
#ifndef SURETY_VOTERS_KIND_H
#define SURETY_VOTERS_KIND_H

#include "num/num.h"
#include "surety/voters.h"

typedef struct surety_voter_kind {
    const char *name;

    /* Floats of scratch for one block. forward fills it, the gradients read it. */
    size_t (*scratch)(const surety_voters *v);

    /* Packs the parameters after a change. */
    void (*prepare)(surety_voters *v);

    /* h (H, SURETY_LANES): outputs in [-1,1] for rows <= SURETY_LANES; lanes behind rows are unspecified. */
    void (*forward)(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch);

    /* sum_t a[t, r] dh_t/dx at the rows of the last forward into this scratch, or at those with keep[r] if it
     * is not NULL; used as `use` says (num/num.h), whose arrays are of the rows kept. a (H, SURETY_LANES). */
    void (*gradient_input)(const surety_voters *v, const float *a, size_t rows, const int *keep,
                           const surety_gradient_use *use, float *scratch);

    /* The gradient to the parameters is a sum over examples of products, taken in two halves so that no float
     * sum is shared between threads. First half, per block: g[r*ldg ..] = what row r contributes, ldg =
     * terms(v) floats. */
    size_t (*terms)(const surety_voters *v);
    void (*gradient_terms)(const surety_voters *v, const float *a, size_t rows, float *g, float *scratch);

    /* Second half, per slice of voters [first, end): gradients[k] (laid out as tensor k) = sum over all rows
     * of the batch, in row order, of the contributions g (rows, terms) at the points x. */
    void (*gradient_sum)(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                         size_t first, size_t end, float *const *gradients);

    /* The worst outputs for labels y (lanes of +1 or -1) when every argument (a row of tensor 0 and its bias)
     * may lie anywhere in [z_lo, z_hi], each (N, SURETY_LANES): h[t, r] has the smallest y h_t. Exact in real
     * arithmetic for voters of one argument, else on the safe side. scratch is filled as by a forward at the
     * worst ends, so that gradient_terms gives the derivatives in them; ends (N, SURETY_LANES), or NULL, says
     * which end it is: +1 or -1. All lanes are computed. */
    void (*worst)(const surety_voters *v, const float *z_lo, const float *z_hi, const float *y, float *h,
                  float *ends, float *scratch);

    /* What all roundings from arguments to outputs, in forward and in worst together, can come to. */
    float (*margin)(const surety_voters *v);

    /* h_t(x) again, naively in double: x (d), parameters[k] laid out as tensor k. What the fast way is
     * checked against. */
    double (*twin)(const surety_voters *v, const double *const *parameters, const double *x, size_t t);

    void (*free)(surety_voters *v);
} surety_voter_kind;

enum {
    SURETY_TENSORS = 3,
    SURETY_VOTERS_MOST = 1000000,  /* voters of a set */
    SURETY_FEATURES_MOST = 1 << 30 /* so that no size below can overflow */
};

struct surety_voters {
    const surety_voter_kind *kind;
    size_t H, d;
    size_t tensor_count;
    surety_tensor tensors[SURETY_TENSORS];
    surety_weights *packed;  /* tensors[0], ready for products */
    size_t depth;            /* forest: l */
    float *scores;           /* forest: tanh(u) (H, 2^l) */
    uint64_t version;        /* grows with every change of the parameters */
    const surety_voters *of; /* a view: whose parameters these are; else NULL */
};

/* Voters that borrow the parameters of others and pack them for themselves: one per thread, since a core
 * reads packed weights clearly slower while another core reads the same ones. Freed by surety_voters_free,
 * before v. */
surety_status surety_voters_view(surety_voters **out, const surety_voters *v, surety_error *err);

/* Packs again if v has changed since. */
void surety_voters_follow(surety_voters *view);

/* The parameters of v have changed; views will follow, v itself is packed by the next surety_voters_changed.
 */
void surety_voters_moved(surety_voters *v);

/* SURETY_E_USAGE unless H and d are in their ranges and the seed below 2^63. */
surety_status surety_voters_validate(size_t H, size_t d, uint64_t seed, surety_error *err);

/* A zeroed tensor in voters->tensors[index]. Tensor 0 holds the weights, a row per output; the others are one
 * row. */
surety_status surety_tensor_new(surety_voters *v, size_t index, const char *name, size_t rank,
                                const size_t *shape, surety_error *err);

/* An empty set of voters of a kind with zero parameters and (forests) all-ones masks, for the model reader.
 */
surety_status surety_forest_empty(surety_voters **out, size_t H, size_t depth, size_t d, surety_error *err);
surety_status surety_linear_empty(surety_voters **out, size_t H, size_t d, surety_error *err);

/* Moves those of `count` rows (of ld floats) that have keep[r] together, all if keep is NULL; how many. */
size_t surety_rows_close(float *rows, size_t ld, size_t count, const int *keep);
/* sums[i] = sum over `count` rows in their order, i < width. */
void surety_rows_sum(const float *rows, size_t ld, size_t count, size_t width, float *sums);

/* votes[r] = sum_t q[t] * (h[t, r] or its sign), in double, in voter order, for all SURETY_LANES lanes;
 * real[r], unless NULL, the same without the sign. */
void surety_vote_lanes(const float *h, const double *q, size_t H, surety_voter_set set, double *votes,
                       double *real);

#endif
