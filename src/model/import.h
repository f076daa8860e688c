/* Ensembles of trees that others made: what every format is read into, and how it becomes a model. A further
 * format is one file and one line of the table in import.c. */
#ifndef SURETY_MODEL_IMPORT_H
#define SURETY_MODEL_IMPORT_H

#include "io/json.h"
#include "io/read.h"
#include "surety/model.h"
#include "voters/trees.h"

/* A list that grows. */
typedef struct surety_list {
    void *at;
    size_t count, room;
} surety_list;

typedef struct surety_ensemble {
    const surety_import_settings *settings;
    char source[64]; /* "xgboost 1.7.4" */
    surety_element type;
    size_t d, columns, vector; /* features; C; values of a leaf, 1 or C */
    double start[SURETY_CLASSES_MOST];
    surety_tree_rule rule;
    double cut, slack, divide;
    int undivided;                       /* raw scores are not divided */
    int probability;                     /* of two classes: --threshold makes sense */
    int forest;                          /* each tree is a vote of its own: its leaves are class shares */
    json_t *feature_names, *class_names; /* lists of texts, or NULL; this struct's */
    surety_list threshold, feature, missing, left, right, roots, tree_columns, leaves, most;
} surety_ensemble;

/* One tree as its file has it: node 0 is the root, left[i] < 0 a leaf. */
typedef struct surety_raw_tree {
    size_t nodes;
    int64_t *left, *right, *feature;
    float *threshold; /* x <= threshold goes left */
    uint8_t *missing; /* 1: NaN goes left */
    double *value;    /* (nodes, vector), of leaves */
} surety_raw_tree;

/* Adds a tree whose leaves go to this column (0 where they are vectors). What does not make sense is
 * SURETY_E_INPUT with tree and node. */
surety_status surety_ensemble_add(surety_ensemble *e, const surety_raw_tree *tree, size_t column,
                                  surety_error *err);

/* A zeroed tree with room for so many nodes and values of a leaf; free it, also after a failure. */
surety_status surety_raw_tree_new(surety_raw_tree *tree, size_t nodes, size_t vector, surety_error *err);
void surety_raw_tree_free(surety_raw_tree *tree);

/* The decision "class 1 iff sigmoid(steep * score) > threshold", where the sigmoid is computed in type: sets
 * rule, cut and slack. */
surety_status surety_ensemble_sigmoid(surety_ensemble *e, double steep, surety_error *err);

/* SURETY_E_INPUT: this file has something that is not supported. */
surety_status surety_import_refuse(surety_error *err, const char *place, const char *what, ...)
    __attribute__((format(printf, 3, 4)));

/* The readers: each fills a zeroed ensemble but for settings. */
typedef surety_status (*surety_import_fn)(surety_ensemble *e, const surety_file *file, const char *path,
                                          surety_error *err);
surety_status surety_import_xgboost(surety_ensemble *e, const surety_file *file, const char *path,
                                    surety_error *err);
surety_status surety_import_lightgbm(surety_ensemble *e, const surety_file *file, const char *path,
                                     surety_error *err);
surety_status surety_import_sklearn(surety_ensemble *e, const surety_file *file, const char *path,
                                    surety_error *err);

/* UBJSON, as XGBoost writes it, into the tree of values that the same JSON would be. */
surety_status surety_ubjson_parse(json_t **out, const uint8_t *data, size_t size, const char *name,
                                  surety_error *err);

#endif
