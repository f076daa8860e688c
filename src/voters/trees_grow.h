/* Growing trees (docs/theory.md 10.5): what the files trees_grow*.c share.
 *
 * A feature has thresholds t_0 < t_1 < ..; a row is to the left of one (all of its ball is <= t), to the
 * right (all of it is above), or on both sides. Where a row is for every threshold is told by its *cell*, one
 * byte per row and feature; cells ascend with x. Sums over cells are sums over whole numbers: exact, in any
 * order. */
#ifndef SURETY_VOTERS_TREES_GROW_H
#define SURETY_VOTERS_TREES_GROW_H

#include "voters/trees_set.h"

enum {
    SURETY_GRID_MOST = 63,     /* thresholds of a feature */
    SURETY_CELL_MISSING = 255, /* the cell of NaN */
    SURETY_GROW_DEPTH = 12,    /* of trees that are grown */
    SURETY_GROW_NONE = -1      /* split.feature of a leaf */
};

/* Thresholds and cells, thresholds first[j] .. first[j + 1] - 1 being those of feature j. */
typedef struct surety_grid {
    size_t d;
    uint32_t *first;        /* (d + 1) */
    float *threshold;       /* ascending */
    uint8_t *left;          /* cells below that one are to the left of the threshold */
    uint8_t *right;         /* cells from that one on are to its right */
    uint32_t *slot;         /* (d + 1): where the sums of feature j begin, one for each cell, then NaN's */
    uint8_t *cells, *usual; /* (d): how many, without NaN's; the one that most rows are in */
} surety_grid;

/* The rows of a set that this process takes, its share of them, as cells. Numbers of rows, here and below,
 * count from the first of these: limits of 32 bits are those of one process. */
typedef struct surety_celled {
    const surety_set *set;
    size_t first, m; /* of the set */
    const float *x;  /* (m, stride) */
    uint8_t *cell;   /* (m, d) */
} surety_celled;

/* Cells of the rows of train, whose values make the thresholds, and of another set (its m may be 0). Of
 * several processes each has the cells of its rows, and all have the grid of all rows. ball NULL: rows do not
 * move. Release with the two below, also after a failure. */
surety_status surety_grid_new(surety_grid *grid, surety_celled *train, surety_celled *other,
                              const surety_ball *ball, const surety_run *run, surety_error *err);
void surety_grid_free(surety_grid *grid);

/* One test of a tree that grows, at the place of a heap: children of i are 2i + 1 and 2i + 2. */
typedef struct surety_tree_split {
    int32_t feature; /* SURETY_GROW_NONE: a leaf */
    uint32_t at;     /* number of the threshold in the grid */
    uint8_t missing; /* 1: NaN goes left */
} surety_tree_split;

/* Where the cell of a row goes: SURETY_GO_LEFT, SURETY_GO_RIGHT, or both. */
enum { SURETY_GO_LEFT = 1, SURETY_GO_RIGHT = 2 };
static inline int surety_split_ways(const surety_grid *g, const surety_tree_split *s, const uint8_t *cells) {
    uint8_t cell = cells[s->feature];
    if (cell == SURETY_CELL_MISSING) return s->missing ? SURETY_GO_LEFT : SURETY_GO_RIGHT;
    return cell < g->left[s->at]     ? SURETY_GO_LEFT
           : cell >= g->right[s->at] ? SURETY_GO_RIGHT
                                     : SURETY_GO_LEFT | SURETY_GO_RIGHT;
}

/* The thresholds of feature j that still tell something at a node of a tree, from *from to before *to: not
 * those that a test above it has decided. */
static inline void surety_split_open(const surety_grid *g, const surety_tree_split *split, size_t node,
                                     size_t j, uint32_t *from, uint32_t *to) {
    *from = g->first[j], *to = g->first[j + 1];
    for (size_t at = node; at; at = (at - 1) / 2) {
        const surety_tree_split *up = &split[(at - 1) / 2];
        if (up->feature != (int32_t)j) continue;
        if (at % 2 && up->at < *to) *to = up->at; /* x is at most its threshold */
        if (at % 2 == 0 && up->at >= *from) *from = up->at + 1;
    }
}

/* The rows that a tree is grown on: this process's, while sums are those of all. A weight is a whole number,
 * in the upper half of `weight` for rows with sign 1, in the lower half for rows with sign -1: one sum serves
 * both. All together are below 2^31. */
typedef struct surety_grow_rows {
    const surety_grid *grid;
    const surety_celled *celled;
    const uint32_t *row; /* (count): which of celled */
    size_t count;
    const uint32_t *start, *slots; /* the sums that row i adds to: slots[start[i] .. start[i + 1]), those of
                                      usual cells left out */
    const int64_t *weight;         /* (m), as sign */
    const int8_t *sign;
    double smooth; /* added to every sum of weights */
    double mask;   /* a split does not see a feature with this probability */
    uint64_t seed;
    uint32_t tree; /* number, for the draws of features */
    size_t depth;
    const surety_run *run;
} surety_grow_rows;

static inline double surety_grow_plus(int64_t packed) {
    return (double)(packed >> 32);
}
static inline double surety_grow_minus(int64_t packed) {
    return (double)(packed & INT64_C(0xffffffff));
}

typedef struct surety_splitter surety_splitter;
surety_status surety_splitter_new(surety_splitter **out, const surety_grid *grid, size_t m, size_t depth,
                                  surety_error *err);
void surety_splitter_free(surety_splitter *splitter);

/* A tree: split (2^depth - 1), and first values of the nodes that are leaves (2^(depth + 1) - 1). */
surety_status surety_splitter_run(surety_splitter *splitter, const surety_grow_rows *rows,
                                  surety_tree_split *split, double *value, surety_error *err);

/* The leaves that the ball of a row may reach, in ascending order, into found; how many. */
size_t surety_tree_reachable(const surety_grid *grid, const surety_tree_split *split, size_t depth,
                             const uint8_t *cells, uint32_t *found);

/* The values of the leaves again, over the leaves that rows truly reach: each row counts in the worst of
 * them. */
surety_status surety_leaves_solve(const surety_grow_rows *rows, const surety_tree_split *split, double *value,
                                  surety_error *err);

#endif
