/* surety/voters.h - finite sets of voters, and weighted majority votes over them.
 *
 * Of two classes, a voter is h: R^d -> [-1,+1], whose sign is its answer (number 0 is -1, number 1 is +1). Of
 * K > 2 classes it gives K scores in [0,1], the largest being its answer. `width` below is 1 or K.
 *
 * There are several kinds of voters: soft forests (docs/theory.md 2), linear voters h(x) = tanh(<w, x> + c),
 * or softmax, decision trees (10) and networks that stretch no distance (11). Nothing else in the library
 * knows which kind it has.
 */
#ifndef SURETY_VOTERS_H
#define SURETY_VOTERS_H

#include "surety/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* H voters over d features. Owns its parameters. */
typedef struct surety_voters surety_voters;

/* The names of the kinds, from 0: "soft-forest", "linear", "trees", "lipschitz"; NULL behind the last. */
SURETY_API const char *surety_kind_name(size_t index);

enum { SURETY_LAYERS = 6 }; /* most layers of units */

/* How voters are made. */
typedef struct surety_voters_settings {
    const char *kind; /* a name of surety_kind_name */
    size_t count;     /* H, 1 to a million: trees, linear voters, or networks */
    size_t depth;     /* soft-forest: of the trees, 1 to 8; trees: 1 to 12 */
    double mask; /* soft-forest, trees: a split does not see a feature with this probability, 0 <= mask < 1 */
    size_t classes; /* K, 2 to 255 (trees: 64); 0 is 2. A training takes that of its data */
    int apart;      /* trees, two classes: 1: each tree is a voter, so that weights can be learned; 0: their
                       sum is one voter, which proofs can search as a whole */
    size_t layers[SURETY_LAYERS]; /* lipschitz: units of the layers, 1 to 4096 each; 0 behind the last */
    /* lipschitz: s of h = f / s, a power of two from 2^-40 to 2^40; 0 is 4. A training takes one that suits
     * its ball. */
    double scale;
} surety_voters_settings;

/* A soft forest of 25 trees of depth 2, mask 0.5. */
SURETY_API surety_voters_settings surety_voters_defaults(void);

/* New voters over 1 to 2^30 features with random parameters (Glorot normal), drawn by address from seed,
 * which is below 2^63. */
SURETY_API surety_status surety_voters_new(const surety_voters_settings *settings, size_t d, uint64_t seed,
                                           surety_voters **out, surety_error *err);
SURETY_API void surety_voters_free(surety_voters *voters);

SURETY_API const char *surety_voters_kind(const surety_voters *voters);
SURETY_API const char *surety_voters_words(const surety_voters *voters); /* "soft trees" */
SURETY_API size_t surety_voters_count(const surety_voters *voters);      /* H */
SURETY_API size_t surety_voters_features(const surety_voters *voters);   /* d */
SURETY_API size_t surety_voters_classes(const surety_voters *voters);    /* K */
SURETY_API size_t surety_voters_depth(const surety_voters *voters);      /* of trees, else 0 */

/* The number of layers of units of networks, and in units how many each has; 0 for other kinds. */
SURETY_API size_t surety_voters_layers(const surety_voters *voters, size_t units[SURETY_LAYERS]);

/* The number of decision trees of the kind `trees`, and in *nodes of their tests; 0 for other kinds. */
SURETY_API size_t surety_voters_trees(const surety_voters *voters, size_t *nodes);
/* 1: trees of more than two classes that were grown here (docs/theory.md 10.6): two classes at a time meet in
 * a duel, and the answer is the class that wins all of its own; where none does, the vote is tied. */
SURETY_API int surety_voters_duels(const surety_voters *voters);

/* What a tensor holds. Parameters that are learned by gradients are floats. */
typedef enum surety_element { SURETY_ELEMENT_F32, SURETY_ELEMENT_F64, SURETY_ELEMENT_I32 } surety_element;

/* A parameter of the voters: rows x length values, each row padded to `stride` of them. Borrowed; whoever
 * changes values calls surety_voters_changed afterwards. */
typedef struct surety_tensor {
    const char *name; /* as in the model file: "splits.weight" */
    size_t rank;      /* of the shape in the model file */
    size_t shape[3];  /* its product is rows * length */
    size_t rows, length, stride;
    surety_element type;
    union { /* (rows, stride), zeros behind length */
        float *values;
        double *doubles;
        int32_t *numbers;
        void *bytes;
    };
    const uint8_t *mask; /* (rows, stride): 0 where a value is fixed at 0; NULL: all may move */
} surety_tensor;

SURETY_API size_t surety_voters_tensors(const surety_voters *voters); /* how many */
SURETY_API surety_tensor surety_voters_tensor(const surety_voters *voters, size_t index);
SURETY_API void surety_voters_changed(surety_voters *voters);

/* outputs (m, H, width): h(x_i) of every voter h for m rows of x (stride >= d floats each, any alignment). */
SURETY_API surety_status surety_voters_outputs(const surety_voters *voters, const float *x, size_t stride,
                                               size_t m, float *outputs, const surety_run *run,
                                               surety_error *err);

/* How voters are asked: real votes h(x), or signed votes: sign(h(x)) with sign(0) = 0; of K > 2 classes 1 for
 * the largest score and 0 for the others, or 1/K each where several are the largest. */
typedef enum surety_voter_set { SURETY_SIGNED, SURETY_REAL } surety_voter_set;

/* A weighted majority vote. Borrowed pointers. */
typedef struct surety_vote {
    const surety_voters *voters;
    const double *weights; /* H, a probability vector: P or Q */
    surety_voter_set voter_set;
} surety_vote;

/* votes (m, width) = sum_h weights[h] v_h, with v_h = h(x_i) or its signed form, summed in double in voter
 * order, clamped to [-1,1]. */
SURETY_API surety_status surety_vote_predict(const surety_vote *vote, const float *x, size_t stride, size_t m,
                                             double *votes, const surety_run *run, surety_error *err);

/* The class number that the vote answers, or SURETY_TIED. It is the y whose margins sum_h weights[h] (h_y -
 * h_k) are above 0 for every other k (of two classes: the sign of the vote): what risks, attacks and proofs
 * look at. Where scores differ by no more than roundings, there may be no such y. */
enum { SURETY_TIED = 255 };
SURETY_API surety_status surety_vote_classes(const surety_vote *vote, const float *x, size_t stride, size_t m,
                                             uint8_t *classes, const surety_run *run, surety_error *err);

/* The ball of allowed perturbations: { e : ||e||_p <= radius }, and x + e in [lo, hi]^d where there is a box.
 *
 * With a tolerance every feature has its own unit r_j: { e : ||(e_j / r_j)_j||_p <= radius, e_j = 0 where
 * r_j = 0 }, and its own range, in which x_j + e_j stays (or no farther outside than x_j is). Radii, steps,
 * noise and distances are then in these units. */
typedef enum surety_norm { SURETY_L2, SURETY_LINF, SURETY_L1 } surety_norm;

typedef struct surety_ball {
    surety_norm norm;
    double radius; /* b >= 0 */
    int has_box;
    double lo, hi; /* the box, if there is one: lo < hi; its ends are taken as floats, like the features */
    const surety_tolerance *tolerance; /* borrowed; NULL: one unit for all */
    /* What proofs add to the radius for features that were scaled in float when they were read, in shares of
     * |x_j| + b r_j (docs/theory.md 8.1, "Scaled features"): SURETY_SCALED, or 0 (the default) if they were
     * not; below 1. Attacks do not use it. */
    double slack;
} surety_ball;

#define SURETY_SCALED 0x1p-21

/* Radii, boxes and features beyond this (in size) are refused, so that no sum of floats overflows. */
#define SURETY_LARGEST 1e30

/* l2, radius 1, box [0,1]. */
SURETY_API surety_ball surety_ball_defaults(void);

/* The radius where none is given: 1 for l2 and 0.1 for linf (docs/theory.md 3), 10 for l1 (usual for images
 * of 28 x 28). */
SURETY_API double surety_norm_radius(surety_norm norm);
SURETY_API surety_status surety_ball_validate(const surety_ball *ball, surety_error *err);

/* What a ball takes from the data: their box, the slack of scaled features, and a tolerance: the given one
 * (borrowed) or, where that is NULL and the radius is above 0, the one that the data bring
 * (surety_data_tolerance). *brought is that one, to be freed when the ball is of no more use, or NULL. */
SURETY_API surety_status surety_ball_settle(surety_ball *ball, const surety_tolerance *given,
                                            const surety_data_info *info, surety_tolerance **brought,
                                            surety_error *err);

/* The radius that a proof about the row x (d) has to cover so that every perturbation of the user's features
 * within radius is covered: radius itself if slack is 0, else more. Rounded up. */
SURETY_API double surety_ball_cover(const surety_ball *ball, double radius, const float *x, size_t d);

/* ---- proofs at run time ----
 *
 * A prover belongs to one thread; it allocates when it is made, never when it proves. Vote, voters and
 * tolerance are borrowed and must not change while it lives. budget: steps of a search that may be taken for
 * an input, of kinds that search (surety_threat_defaults has the usual number).
 *
 *     surety_prover *prover;
 *     if (surety_prover_new(&vote, &ball, 1000, &prover, &err)) ...
 *     uint8_t answer;
 *     if (surety_vote_prove(prover, x, &answer)) ...     no point of the ball around x has another answer
 */
typedef struct surety_prover surety_prover;

SURETY_API surety_status surety_prover_new(const surety_vote *vote, const surety_ball *ball, uint64_t budget,
                                           surety_prover **out, surety_error *err);
SURETY_API void surety_prover_free(surety_prover *prover); /* NULL is fine */

/* 1: the vote gives the answer that it gives at x (d floats) at every point of the ball around x. 0: that was
 * not proved (it may still be so), or x is tied or outside the box. answer, unless NULL: the class number, or
 * SURETY_TIED. */
SURETY_API int surety_vote_prove(surety_prover *prover, const float *x, uint8_t *answer);

/* The largest radius for which that was proved, by bisection to 2^-16 of it; -1: not even at x itself. */
SURETY_API double surety_vote_radius(surety_prover *prover, const float *x, uint8_t *answer);

/* Names as the command line and files give them ("l2", "signed"); hyphens and underscores are the same.
 * Unknown names are SURETY_E_USAGE with the nearest known one suggested. */
SURETY_API surety_status surety_norm_parse(const char *name, surety_norm *norm, surety_error *err);
SURETY_API const char *surety_norm_name(surety_norm norm);
SURETY_API surety_status surety_voter_set_parse(const char *name, surety_voter_set *set, surety_error *err);
SURETY_API const char *surety_voter_set_name(surety_voter_set set);

/* Checks the gradients of the voters against central differences in double at random points: returns the
 * largest error relative to the largest gradient, for the input and for every parameter. */
SURETY_API surety_status surety_voters_check_gradient(surety_voters *voters, uint64_t seed, double *worst,
                                                      surety_error *err);

#ifdef __cplusplus
}
#endif
#endif
