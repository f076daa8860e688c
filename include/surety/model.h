/* surety/model.h - trained votes as files or bytes: the voters, prior P, posterior Q, and how they were made.
 *
 * The file is a safetensors file, which Python, Rust and JavaScript read too: tensors `prior`, `posterior`
 * (H) float64, `rows.prior`, `rows.learn` (m) uint64, sorted, the first 8 bytes of the digest of each row of
 * S' and S, then the voters' own (a forest: `splits.weight` (H, 2^l - 1, d) float32 with the mask applied,
 * `splits.bias` (H, 2^l - 1), `leaves` (H, 2^l) before tanh, `mask` (H, 2^l - 1, d) uint8; linear voters:
 * `linear.weight` (H, d), `linear.bias` (H); networks: docs/networks.md; trees: docs/trees.md), and texts by
 * key. It holds no time, no path and no thread count: equal models are equal files, byte for byte.
 *
 * In short:
 *     surety_model *model = NULL;
 *     surety_error err = SURETY_ERROR_NONE;
 *     if (surety_model_load("m.safetensors", &model, &err)) ...
 *     surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
 *     surety_vote_predict(&vote, x, stride, m, votes, NULL, &err);
 *     surety_model_free(model);
 * x are features. Rows of a table become features by the model's own preparation, which scales them:
 * surety_preparation_apply(surety_model_preparation(model), ..), see examples/07_raw_rows.c.
 */
#ifndef SURETY_MODEL_H
#define SURETY_MODEL_H

#include "surety/data.h"
#include "surety/voters.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct surety_model surety_model;

/* What every model says of itself, because a bound or a certificate needs it. */
typedef struct surety_model_facts {
    surety_voter_set voter_set; /* how its vote asks the voters */
    uint64_t seed;              /* below 2^63 */
    uint64_t priors_compared;   /* T_p >= 1: candidate priors among which S chose; 1 if S chose nothing */
    double delta;               /* in (0,1): what the training's objective used */
    surety_ball ball;           /* it was trained against; the model has its own copy of a tolerance */
    char defense[32];           /* name of the defense: "pgdu", "certified" */
    char objective[32];         /* name of what step 2 lowered: "chromatic", "baseline" */
} surety_model_facts;

/* signed votes, seed 0, one prior, delta 0.05, default ball, "none", "baseline". */
SURETY_API surety_model_facts surety_model_facts_defaults(void);

/* A model over voters, which it takes over when this succeeds; weights (H) and facts are copied. The prior is
 * positive everywhere, both sum to 1 within 1e-9; parameters are finite, and 0 where they are masked: else
 * SURETY_E_INPUT with the place. */
SURETY_API surety_status surety_model_new(surety_voters *voters, const double *prior, const double *posterior,
                                          const surety_model_facts *facts, surety_model **out,
                                          surety_error *err);
SURETY_API void surety_model_free(surety_model *model); /* NULL is fine */

/* All of these are the model's own. */
SURETY_API const surety_voters *surety_model_voters(const surety_model *model);
SURETY_API const double *surety_model_prior(const surety_model *model);     /* (H) */
SURETY_API const double *surety_model_posterior(const surety_model *model); /* (H) */
SURETY_API const surety_model_facts *surety_model_about(const surety_model *model);

/* The features as its data were read: what a tolerance for this model is made against. */
SURETY_API surety_features surety_model_features(const surety_model *model);

typedef enum surety_weighting { SURETY_WEIGHTS_POSTERIOR, SURETY_WEIGHTS_PRIOR } surety_weighting;

/* Its vote under Q or P. */
SURETY_API surety_vote surety_model_vote(const surety_model *model, surety_weighting weighting);

/* The largest weight of Q, and in *voter, unless NULL, whose it is. Near 1 the vote is that voter. */
SURETY_API double surety_model_largest_weight(const surety_model *model, size_t *voter);

/* What people call class k < K: the name in its task, else the label it was trained with; written to number
 * where the model says neither: k, or of two classes -1 and +1. */
SURETY_API const char *surety_model_class(const surety_model *model, size_t k, char number[4]);

/* ---- texts by key ---- */

/* Whatever else should be in the file: settings, the history of the training. Keys are 1 to 63 characters of
 * a-z, 0-9, '_' and '.', and not one of the facts' own; values are UTF-8. Setting a key again replaces it.
 * Numbers are written so that they read back as the same double. */
SURETY_API surety_status surety_model_set_text(surety_model *model, const char *key, const char *value,
                                               surety_error *err);
SURETY_API surety_status surety_model_set_count(surety_model *model, const char *key, uint64_t value,
                                                surety_error *err);
SURETY_API surety_status surety_model_set_real(surety_model *model, const char *key, double value,
                                               surety_error *err);
SURETY_API surety_status surety_model_set_reals(surety_model *model, const char *key, const double *values,
                                                size_t count, surety_error *err);

/* The text of a key, or NULL; the model's own until the key is set again. */
SURETY_API const char *surety_model_text(const surety_model *model, const char *key);

/* The key of the text at this index, or NULL behind the last. */
SURETY_API const char *surety_model_key(const surety_model *model, size_t index);

/* Numbers. An absent key or one that holds something else is SURETY_E_INPUT with the key. */
SURETY_API surety_status surety_model_count(const surety_model *model, const char *key, uint64_t *value,
                                            surety_error *err);
SURETY_API surety_status surety_model_real(const surety_model *model, const char *key, double *value,
                                           surety_error *err);
/* *count values of the list, the first `room` of them into values. */
SURETY_API surety_status surety_model_reals(const surety_model *model, const char *key, double *values,
                                            size_t room, size_t *count, surety_error *err);

/* ---- the data it was trained on ---- */

/* Remembers the data: task, digests of the rows, classes, box, split, rule for copies, label column, header
 * and preparation (keys "data.*"), and how many copies there were ("copies.*"). The same rows from a file or
 * from memory are remembered in the same bytes, unless columns have names, or a label column or a header was
 * asked for. */
SURETY_API surety_status surety_model_set_data(surety_model *model, const surety_data_info *info,
                                               surety_error *err);

/* Sets task, classes, sizes, box, seed of the split, copies, preparation, label column and header as they
 * were; the rest of settings is left alone. The texts are the model's own. Own data have no task: paths are
 * not remembered. Data that were split by indices are SURETY_E_USAGE: no setting repeats that. */
SURETY_API surety_status surety_model_data_settings(const surety_model *model, surety_data_settings *settings,
                                                    surety_error *err);

/* How columns become the features that its votes take (surety_preparation_apply); the model's own. NULL:
 * every column is a feature as it is. */
SURETY_API const surety_preparation *surety_model_preparation(const surety_model *model);

/* SURETY_OK if these are the very data the model was trained on, split and prepared the same way; else
 * SURETY_E_CHECK, which says what differs. */
SURETY_API surety_status surety_model_check_data(const surety_model *model, const surety_data_info *info,
                                                 surety_error *err);

/* SURETY_OK if these columns became features in the model's way, or if the model knows no data; else
 * SURETY_E_CHECK. */
SURETY_API surety_status surety_model_check_preparation(const surety_model *model,
                                                        const surety_data_info *info, surety_error *err);

/* Rows of one set of any data that are rows of the model's S' and S, by their digests. */
typedef struct surety_overlap {
    uint64_t m;                  /* rows of the set */
    uint64_t in_prior, in_learn; /* that are in the model's S', in its S */
    uint64_t known;              /* in either */
} surety_overlap;

/* SURETY_E_CHECK: the model remembers no rows. (Models of older versions do not: train them again.) */
SURETY_API surety_status surety_model_overlap(const surety_model *model, const surety_data_info *info,
                                              surety_set_name which, surety_overlap *out, surety_error *err);

/* SURETY_OK if the rows were declared fresh (surety_data_settings.fresh), are of the model's classes and none
 * of them is a row of its S' or S; else SURETY_E_CHECK. */
SURETY_API surety_status surety_model_check_fresh(const surety_model *model, const surety_data_info *info,
                                                  surety_error *err);

/* ---- models that others made ---- */

/* How a file of trees becomes a model (docs/trees.md). */
typedef struct surety_import_settings {
    const char *format;         /* "auto", or a name of surety_import_format */
    double threshold;           /* of two classes: the second is answered where its probability is above this,
                                   which lies in (0,1); 0: as its maker does */
    int all_iterations;         /* XGBoost: 1: all trees, also those behind best_iteration */
    int each_tree;              /* a forest: each tree becomes a voter, its class shares are its vote */
    const char *const *classes; /* (class_count): labels by class number; class_count 0: those of the file, or
                                   0, 1, .. (of two also -1, +1) in whatever rows it meets */
    size_t class_count;
} surety_import_settings;

/* The names of the formats, from 0; NULL behind the last. */
SURETY_API const char *surety_import_format(size_t index);

/* Reads a file of XGBoost (JSON, UBJSON), LightGBM (text) or scikit-learn (python/surety_sklearn.py): kind
 * `trees`, one voter that decides as its maker does, objective "imported". settings NULL: automatic. What is
 * not supported is SURETY_E_INPUT by name. */
SURETY_API surety_status surety_model_import(const char *path, const surety_import_settings *settings,
                                             surety_model **out, surety_error *err);

/* What it was imported from ("xgboost 1.7.4"), or NULL. Which rows trained it is then not known. */
SURETY_API const char *surety_model_imported(const surety_model *model);

/* The comparison of an imported model with its maker. */
typedef struct surety_replay {
    uint64_t rows;    /* whose raw scores were compared with the maker's; all were equal, bit for bit */
    uint64_t rounded; /* values of them that are no floats, and were rounded */
} surety_replay;

/* Compares raw scores with those of the maker: points (m, d) and scores (m) or (m, C), NPY. The first
 * difference is SURETY_E_CHECK with the row and both. */
SURETY_API surety_status surety_model_replay(const surety_model *model, const char *points,
                                             const char *scores, surety_replay *out, const surety_run *run,
                                             surety_error *err);

/* kind, source, voter_count, trees, nodes, features, classes, depth, replayed, equal_bits, rounded; replay
 * NULL: nothing was compared. */
SURETY_API char *surety_import_json(const surety_model *model, const surety_replay *replay);

/* ---- models for others ---- */

/* A model as one C99 file without allocation, libm or any other library, that predicts with the bits of
 * surety_model_predict (docs/embedded.md). */
typedef struct surety_export_settings {
    const char *format; /* a name of surety_export_format */
    const char *prefix; /* of the file's public names: 1 to 32 of a-z, 0-9 and _, a letter first */
    /* Of a certificate whose digest, sentence and tolerances stand in the file's head
     * (surety_certificate_export sets them); digest NULL: none. certified is the SHA-256 of the model it is
     * about; another model is SURETY_E_CHECK. */
    const char *digest, *claim, *certified;
    size_t tolerance_count; /* features that have one; 0: the sentence speaks of none */
    const char *const *tolerance_features;
    const double *tolerance_radius, *tolerance_lo, *tolerance_hi; /* NaN: no such end */
} surety_export_settings;

/* C, names that begin with model_, no certificate. */
SURETY_API surety_export_settings surety_export_defaults(void);

/* The names of the formats, from 0; NULL behind the last. */
SURETY_API const char *surety_export_format(size_t index);

typedef struct surety_export_result {
    uint64_t bytes;       /* of the file */
    uint64_t data, stack; /* bytes of its constants, and of the arrays on its stack */
    uint64_t comparisons; /* with thresholds, most of one prediction */
    uint64_t products;    /* multiply-adds with one rounding of one prediction */
    uint64_t vectors;     /* test vectors */
} surety_export_result;

/* Writes the file, safely; the same model gives the same bytes. SURETY_E_USAGE: its kind has no export. */
SURETY_API surety_status surety_model_export(const surety_model *model, const char *path,
                                             const surety_export_settings *settings,
                                             surety_export_result *result, surety_error *err);
SURETY_API char *surety_export_result_json(const surety_export_result *result);

/* ---- bytes and files ---- */

/* The model as its file holds it: *size bytes, the caller's (surety_bytes_free). */
SURETY_API surety_status surety_model_encode(const surety_model *model, uint8_t **bytes, size_t *size,
                                             surety_error *err);

/* Reads bytes and checks everything that surety_model_new checks, and the order of the file itself, before
 * anything is given out. The bytes are only read. name: what errors call them, or NULL. */
SURETY_API surety_status surety_model_decode(const uint8_t *bytes, size_t size, const char *name,
                                             surety_model **out, surety_error *err);

/* Writes the same bytes to a file, which appears complete or not at all; and reads such a file. */
SURETY_API surety_status surety_model_save(const surety_model *model, const char *path, surety_error *err);
SURETY_API surety_status surety_model_load(const char *path, surety_model **out, surety_error *err);

/* SHA-256 of the file that surety_model_save writes: 64 hexadecimal digits. */
SURETY_API surety_status surety_model_sha256(const surety_model *model, char text[65], surety_error *err);

/* What the file says of itself, as JSON: kind, sizes, classes, checksum, KL(Q||P), facts, texts, weights.
 * NULL when there is no memory; release with surety_text_free. */
SURETY_API char *surety_model_json(const surety_model *model);

/* ---- predicting from file to file ---- */

/* The input and what to write; NULL: not wanted. Where the input is (m, n, ..), the shapes below have n
 * behind m. */
typedef struct surety_predict_files {
    /* A table in any format, prepared as the model's own; labels are left out. NPY may have a third axis,
     * (m, n, columns); with as many columns as the model has features, it holds features in the user's units,
     * as surety_attack_write gives them. */
    const char *input;
    const char *label_column; /* of a table; NULL: the model's */
    char separator;           /* of CSV, as in surety_data_settings; 0: it is found out */
    const char *const *drop;  /* (drop_count): further columns of a table that are left out */
    size_t drop_count;
    const char *out;    /* NPY float64: the vote of each, (m); of K > 2 classes its scores, (m, K) */
    const char *votes;  /* NPY float32: each voter's real output, (m, H), or its scores, (m, H, K) */
    const char *scores; /* NPY float32 or float64: raw scores of imported trees, bit for bit as their maker
                           has them, (m), or (m, C) where there are several */
    /* CSV row,class or row,point,class: the class that the vote answers, "tied" where there is none. With
     * prove a column proved (1 or 0), with radius also a column radius. */
    const char *classes;
    const surety_ball *prove; /* NULL, or: is the answer the same everywhere in this ball? */
    uint64_t budget;          /* steps of a search for a proof, see surety_threat */
    int radius;               /* with prove, 1: also the largest radius for which that is proved, or -1 */
} surety_predict_files;

typedef struct surety_predict_result {
    size_t m, n;                          /* rows, and points per row: n = 1 for an input (m, d) */
    uint64_t tied;                        /* of the m n points: those without an answer */
    uint64_t chosen[SURETY_CLASSES_MOST]; /* (K): those with this answer */
    double vote_min, vote_max;            /* votes; of K > 2 classes, scores */
    int proves;                           /* 1: proofs were wanted */
    uint64_t proved;                      /* points whose answer was proved */
    surety_preparation_counts counts;     /* missing and unknown values */
    char label_column[64];                /* that was left out; "": there was none */
} surety_predict_result;

/* Memory does not grow with m, where the input is NPY. Numbers that are not finite are SURETY_E_INPUT with
 * the row; NaN is a missing value for voters that can take it. */
SURETY_API surety_status surety_model_predict(const surety_model *model, surety_weighting weighting,
                                              const surety_predict_files *files,
                                              surety_predict_result *result, const surety_run *run,
                                              surety_error *err);
/* m, n, tied, proved (null: not wanted), vote_min, vote_max, classes[{class, points}], filled, unseen,
 * label_column; positive: of two classes those voted +1. */
SURETY_API char *surety_predict_result_json(const surety_predict_result *result, const surety_model *model);

#ifdef __cplusplus
}
#endif
#endif
