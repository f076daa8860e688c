/* Axis-parallel decision trees as voters (docs/theory.md 10): what whoever fills their tensors has to know.
 *
 * A voter is a group of consecutive trees. It adds up the values of the leaves that a row reaches, from
 * `start` on, one tree after the other, in the type of `leaves`: C scores, which are divided by `divide`.
 * What becomes of them is said by `rule`. Tensors, T trees, N inner nodes and M leaves:
 *
 *   start            F64 (C)           where each score begins, as the type of leaves has it; duels: (K, K)
 *   rule             F64 (5)           rule, cut, slack, divide, undivided: the enum below
 *   scale            F64 (H)           what a voter's margins are divided by
 *   leaves           F32 or F64        (M): each tree adds to the score of its column; (M, C): to all
 *   nodes.threshold  F32 (N)           finite. x <= threshold goes left, else right
 *   nodes.feature    I32 (N)
 *   nodes.missing    I32 (N)           1: NaN goes left, 0: right
 *   nodes.left, nodes.right  I32 (N)   inner node i is i, larger than its parent's; leaf j is -1 - j
 *   roots            I32 (T)           the same for the first node of a tree
 *   columns          I32 (T)           the score that it adds to; 0 where leaves have all
 *   groups           I32 (H)           the first tree of each voter, ascending from 0
 *   uses             I32 (d)           how many nodes test each feature
 *
 * C is 1 or 2 for two classes, else K; of duels K K, the score of classes a < b being that of column a K + b,
 * above 0 where b wins. */
#ifndef SURETY_VOTERS_TREES_H
#define SURETY_VOTERS_TREES_H

#include "voters/voters.h"

enum { SURETY_TREE_DEPTH = 64, SURETY_TREE_NODES = 1 << 26, SURETY_DUEL_CLASSES = 64 };

/* How scores become an answer. All but the first and the last are the decision of whoever made the voter: its
 * output has one largest score, or a sign, even where scores are equal. */
typedef enum surety_tree_rule {
    SURETY_TREES_SHARE,     /* no decision: outputs are the scores over scale */
    SURETY_TREES_CUT,       /* two classes: the second iff the last score is above `cut` */
    SURETY_TREES_LARGEST,   /* the first of the largest scores */
    SURETY_TREES_SOFTMAX32, /* the first of the largest after a softmax in float */
    SURETY_TREES_SOFTMAX64, /* the same in double */
    SURETY_TREES_DUELS,     /* the class that wins against each other one; if none does, a tie */
    SURETY_TREE_RULES
} surety_tree_rule;

/* The elements of the tensor `rule`. A proof demands a margin of slack, because `cut` and softmax stand for
 * functions of a C library that may be off by a last bit elsewhere. */
enum {
    SURETY_TREES_RULE,
    SURETY_TREES_AT,
    SURETY_TREES_SLACK,
    SURETY_TREES_DIVIDE,
    SURETY_TREES_UNDIVIDED, /* 1: what its maker calls raw scores is not divided yet */
    SURETY_TREES_FACTS
};

#endif
