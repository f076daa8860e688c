/* What the kind `trees` derives from its tensors. */
#ifndef SURETY_VOTERS_TREES_SET_H
#define SURETY_VOTERS_TREES_SET_H

#include "voters/kind.h"
#include "voters/trees.h"

/* A node of a tree, leaves included; the right child lies behind the left one. A leaf is its own left child,
 * where every x, also NaN, goes. */
typedef struct surety_tree_node {
    float threshold;
    uint32_t test; /* feature, and SURETY_TREE_MISSING: NaN goes left */
    uint32_t left;
} surety_tree_node;

#define SURETY_TREE_MISSING (UINT32_C(1) << 31)
#define SURETY_TREE_FEATURE(test) ((test) & ~SURETY_TREE_MISSING)

/* What growing keeps from epoch to epoch (trees_grow.c). */
typedef struct surety_tree_growth surety_tree_growth;
void surety_tree_growth_free(surety_tree_growth *growth);

typedef struct surety_tree_set {
    size_t T, C, nodes;
    size_t vector;              /* values of a leaf: 1, or C */
    surety_tree_node *node;     /* (nodes), tree after tree, parents before children */
    uint32_t *parent, *leaf;    /* (nodes): of a root itself; which leaf, of leaves only */
    uint32_t *root, *steps;     /* (T): first node, longest way */
    double *most;               /* (T): largest |value| of a leaf */
    double *size;               /* (H, C): |start| and most of all trees that may add to the score */
    uint32_t *count;            /* (H, C): how many these are */
    surety_tree_growth *growth; /* of voters in training, else NULL */
} surety_tree_set;

static inline surety_tree_set *surety_tree_set_of(const surety_voters *v) {
    return v->own;
}

/* Tensors by number. */
enum {
    SURETY_TREES_START,
    SURETY_TREES_RULES,
    SURETY_TREES_SCALE,
    SURETY_TREES_LEAVES,
    SURETY_TREES_THRESHOLD,
    SURETY_TREES_FEATURE,
    SURETY_TREES_MISSING,
    SURETY_TREES_LEFT,
    SURETY_TREES_RIGHT,
    SURETY_TREES_ROOTS,
    SURETY_TREES_COLUMNS,
    SURETY_TREES_GROUPS,
    SURETY_TREES_USES,
    SURETY_TREES_TENSORS
};

/* Value k of a leaf, k < vector. */
static inline double surety_leaf_value(const surety_voters *v, uint32_t leaf, size_t k) {
    const surety_tensor *t = &v->tensors[SURETY_TREES_LEAVES];
    size_t at = leaf * surety_tree_set_of(v)->vector + k;
    return t->type == SURETY_ELEMENT_F32 ? (double)t->values[at] : t->doubles[at];
}

/* The trees of voter g: from the first to before the second. */
static inline size_t surety_trees_first(const surety_voters *v, size_t g) {
    return g < v->H ? (size_t)v->tensors[SURETY_TREES_GROUPS].numbers[g] : surety_tree_set_of(v)->T;
}

static inline double surety_trees_fact(const surety_voters *v, size_t which) {
    return v->tensors[SURETY_TREES_RULES].doubles[which];
}

/* The class of C scores by the rule of v. */
uint8_t surety_trees_decide(const surety_voters *v, const double *scores);

static inline int surety_trees_duel(const surety_voters *v) {
    return v->tensors[SURETY_TREES_START].rank == 2;
}

/* The column of the duel of two of K classes. */
static inline size_t surety_duel_column(size_t K, size_t a, size_t b) {
    return a < b ? a * K + b : b * K + a;
}

extern const surety_range_kind surety_trees_range;

surety_status surety_trees_write_c(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                   surety_error *err);
void surety_trees_probe(const surety_voters *v, uint32_t sample, float *x);

/* The ends of feature j over the ball of radius b around a row whose value is x, rounded outward or (inward)
 * into the ball (docs/theory.md 10.2). */
void surety_tree_ends(const surety_ball *ball, size_t j, float x, double b, int inward, float *lo, float *hi);

/* Functions of the kind (voters/kind.h). */
surety_status surety_trees_make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                                uint64_t seed, surety_error *err);
surety_status surety_trees_grow(surety_voters *v, surety_growth *to, surety_error *err);
void surety_trees_theta(const surety_voters *v, double *theta);
surety_status surety_trees_trim(surety_voters **out, const surety_voters *v, surety_error *err);

#endif
