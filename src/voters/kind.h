/* A kind of voters: one file with one such table, and a line of registry.c. Only this room looks inside; the
 * others ask through voters/voters.h, which says what the functions below promise.
 *
 * A function that a kind cannot offer is NULL: no gradient_input, no attack that climbs; no gradient_sum and
 * no grow, no training; no range, no worst case; no find, no search; no write_c, no export.
 * surety_voters_need says so in a sentence.
 */
#ifndef SURETY_VOTERS_KIND_H
#define SURETY_VOTERS_KIND_H

#include "voters/export.h"
#include "voters/forest_kernel.h"

/* Sound limits over a ball (voters/range.h); a state is one thread's workspace. The radii of run are what has
 * to be covered: the ball's slack is in them. */
typedef struct surety_range_kind {
    /* *state is NULL before; what a failure leaves there is stopped by the caller. */
    surety_status (*start)(void **state, const surety_voters *v, const surety_ball *ball, uint64_t budget,
                           surety_error *err);
    void (*stop)(void *state); /* NULL is fine */
    void (*run)(void *state, const float *const *x, size_t rows, const double *radius, const uint8_t *y,
                float *low);
    /* SEARCH, or NULL */
    int (*find)(void *state, const surety_vote *vote, const float *x, uint8_t y, double radius, float *point);
} surety_range_kind;

typedef struct surety_voter_kind {
    const char *name;  /* in files and options: "soft-forest" */
    const char *words; /* for people: "soft trees" */
    size_t classes;    /* K is from 2 to that */
    int missing;       /* 1: a feature may be NaN, which no perturbation changes */
    int duels;         /* 1: of more than two classes, voters that were trained here decide by duels */

    /* New voters with random parameters; and voters with the shapes of a file's tensors, parameters 0. */
    surety_status (*make)(surety_voters **out, const surety_voters_settings *settings, size_t d,
                          uint64_t seed, surety_error *err);
    surety_status (*open)(surety_voters **out, const surety_shape *shapes, size_t count, surety_error *err);
    /* SURETY_E_INPUT with the place unless the tensors, finite numbers, make sense; NULL: any do. */
    surety_status (*check)(const surety_voters *v, surety_error *err);

    /* v->own, what is derived from the tensors: allocates it, fills it after a change, frees it (NULL is
     * fine). A view has its own. */
    surety_status (*attach)(surety_voters *v, surety_error *err);
    void (*prepare)(surety_voters *v);
    void (*detach)(surety_voters *v);

    size_t (*scratch)(const surety_voters *v);
    void (*forward)(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch);
    /* SCORE, or NULL: surety_voters_columns, and the raw scores (rows, columns) of a block. */
    size_t (*columns)(const surety_voters *v, surety_element *type);
    void (*scores)(const surety_voters *v, const float *const *x, size_t rows, double *scores,
                   float *scratch);
    void (*gradient_input)(const surety_voters *v, const float *a, size_t rows, const int *keep,
                           const surety_gradient_use *use, float *scratch);
    size_t (*terms)(const surety_voters *v);
    void (*gradient_terms)(const surety_voters *v, const float *a, size_t rows, float *g, float *scratch);
    size_t (*pieces)(const surety_voters *v); /* of the parameters; NULL: the voters */
    void (*gradient_sum)(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                         size_t first, size_t end, float *const *gradients);
    /* Kinds whose parameters lie near a surface, or NULL: turns gradients along it, and brings parameters
     * that were moved back to it. Views do not follow by that. */
    surety_status (*along)(surety_voters *v, float *const *gradients, const surety_run *run,
                           surety_error *err);
    surety_status (*back)(surety_voters *v, const surety_run *run, surety_error *err);
    /* Kinds whose worst case is a forward pass, or NULL: as forward, with outputs as low as the ball of this
     * radius can make them for the class of each example, up to roundings. */
    void (*lowered)(const surety_voters *v, const surety_ball *ball, double radius, const surety_examples *e,
                    float *h, float *scratch);

    /* One epoch of a kind without gradients to its parameters. */
    surety_status (*grow)(surety_voters *v, surety_growth *growth, surety_error *err);
    void (*theta)(const surety_voters *v, double *theta); /* surety_voters_theta, or NULL: 0 */
    /* New voters that answer the same without the room in which they grew, or NULL: they are fine as they
     * are. */
    surety_status (*trim)(surety_voters **out, const surety_voters *v, surety_error *err);

    const surety_range_kind *range;

    /* Kinds whose voters are functions of arguments z = W x + c, W being tensor 0 and c tensor 1 (dense
     * kinds). Fills low and ends for arguments anywhere in their range. Exact in real arithmetic for voters
     * of one argument, else on the safe side. scratch is filled as by a forward at the worst ends, so that
     * gradient_terms gives the derivatives in them. All lanes are computed. */
    void (*worst)(const surety_voters *v, const surety_argument_range *range, float *scratch);
    /* What all roundings from arguments to v, in forward and in worst together, can come to. */
    float (*margin)(const surety_voters *v);

    /* Output k of h_t(x) again, naively in double: x (d), parameters[i] laid out as tensor i. What the fast
     * way is checked against; NULL: no gradient to check. */
    double (*twin)(const surety_voters *v, const double *const *parameters, const double *x, size_t t,
                   size_t k);

    /* EXPORT, or NULL: the kind as C (voters/export.h), and features on which its export is compared, for
     * kinds that have values worth a test (x has draws already; NULL: these will do). */
    surety_status (*write_c)(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                             surety_error *err);
    void (*probe)(const surety_voters *v, uint32_t sample, float *x);
} surety_voter_kind;

enum {
    SURETY_VOTERS_MOST = 1000000,  /* voters of a set */
    SURETY_FEATURES_MOST = 1 << 30 /* so that no size below can overflow */
};

struct surety_voters {
    const surety_voter_kind *kind;
    size_t H, d;
    size_t classes; /* K */
    size_t width;   /* outputs of a voter: 1 for two classes, else K */
    size_t depth;   /* of trees, else 0 */
    size_t tensor_count;
    surety_tensor tensors[SURETY_TENSORS];
    void *own;               /* the kind's, see attach */
    uint64_t version;        /* grows with every change of the parameters */
    const surety_voters *of; /* a view: whose parameters these are; else NULL */
};

/* What dense kinds derive. */
typedef struct surety_dense {
    surety_weights *packed; /* tensor 0, ready for products */
    float *scores;          /* forests: of the leaves (H, width, 2^l) */
} surety_dense;

static inline surety_dense *surety_dense_of(const surety_voters *v) {
    return v->own;
}

surety_status surety_dense_attach(surety_voters *v, surety_error *err);
void surety_dense_detach(surety_voters *v);
extern const surety_range_kind surety_dense_range;

/* A kind of that name, or NULL with the nearest named. */
const surety_voter_kind *surety_kind_find(const char *name, surety_error *err);

/* Voters of a kind with H voters of d features, K classes (0: two) and nothing else yet. */
surety_status surety_voters_begin(surety_voters **out, const surety_voter_kind *kind, size_t H, size_t d,
                                  size_t classes, surety_error *err);

/* SURETY_E_USAGE unless H and d are in their ranges and the seed below 2^63. */
surety_status surety_voters_validate(size_t H, size_t d, uint64_t seed, surety_error *err);

/* A further zeroed tensor. Its first row_axes axes become rows, padded each; the others are one row. Where
 * parameters are learned, a tensor holds its voters one after the other. */
surety_status surety_tensor_new(surety_voters *v, const char *name, surety_element type, size_t rank,
                                const size_t *shape, size_t row_axes, surety_error *err);

/* The shape of that name and rank (0: any) among a file's, or NULL with an error. */
const surety_shape *surety_shape_find(const surety_shape *shapes, size_t count, const char *name, size_t rank,
                                      surety_error *err);
/* K of a tensor that has `axes` axes for two classes and one more, of length K, for more. */
surety_status surety_shape_classes(const surety_shape *shape, size_t axes, size_t *classes,
                                   surety_error *err);
surety_status surety_shape_wrong(const char *name, const char *what, const char *expected, surety_error *err);

/* How these kinds are written as C. */
surety_status surety_forest_write_c(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                    surety_error *err);
surety_status surety_linear_write_c(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                    surety_error *err);

/* The kinds. */
extern const surety_voter_kind surety_kind_soft_forest, surety_kind_linear, surety_kind_trees,
    surety_kind_lipschitz;

/* Voters of these kinds with zero parameters and (forests) all-ones masks. */
surety_status surety_forest_empty(surety_voters **out, size_t H, size_t depth, size_t d, size_t classes,
                                  surety_error *err);
surety_status surety_linear_empty(surety_voters **out, size_t H, size_t d, size_t classes, surety_error *err);

/* Moves those of `count` rows (of ld floats) that have keep[r] together, all if keep is NULL; how many. */
size_t surety_rows_close(float *rows, size_t ld, size_t count, const int *keep);
/* sums[i] = sum over `count` rows in their order, i < width. */
void surety_rows_sum(const float *rows, size_t ld, size_t count, size_t width, float *sums);

#endif
