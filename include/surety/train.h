/* surety/train.h - average adversarial training with a guarantee (docs/theory.md 5).
 *
 * Step 1 learns the voters and the prior P from S', each batch attacked by the defense under the current
 * vote; the best of its epochs is chosen on S (which costs ln T_p in every bound) or on a hold-out of S'
 * (free). Step 2 learns the posterior Q from S by lowering a bound. The baseline is step 1 alone.
 */
#ifndef SURETY_TRAIN_H
#define SURETY_TRAIN_H

#include "surety/attack.h"
#include "surety/evaluate.h"
#include "surety/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What step 2 lowers, on each batch, with m = |S|. */
typedef enum surety_objective {
    SURETY_OBJECTIVE_CHROMATIC,          /* chromatic_seeger of Rbar */
    SURETY_OBJECTIVE_AVERAGE_MAX,        /* average_max of Abar */
    SURETY_OBJECTIVE_SEEGER,             /* seeger of Rbar */
    SURETY_OBJECTIVE_AVERAGE_MAX_SEEGER, /* average_max_seeger of Gmax */
    SURETY_OBJECTIVE_WORST_CASE,         /* worst_case, of limits over the whole ball (docs/theory.md 8.2) */
    SURETY_OBJECTIVE_BASELINE,           /* no step 2: Q = P */
    SURETY_OBJECTIVES
} surety_objective;

SURETY_API surety_status surety_objective_parse(const char *name, surety_objective *objective,
                                                surety_error *err);
SURETY_API const char *surety_objective_name(surety_objective objective);

/* What step 1 lowers.
 * linear: the mean linear loss (1 - M)/2 of the vote's smallest margin M, weights and voters together, as the
 *     paper does.
 * logistic: a logistic loss of all margins, with uniform weights, which looks most at examples that are wrong
 *     or nearly so (docs/theory.md 9.4).
 * bounded: begins as the logistic one and ends as a smooth count of errors, so that hopeless examples lose
 *     their weight. */
typedef enum surety_loss {
    SURETY_LOSS_AUTO,
    SURETY_LOSS_LINEAR,
    SURETY_LOSS_LOGISTIC,
    SURETY_LOSS_BOUNDED
} surety_loss;

SURETY_API surety_status surety_loss_parse(const char *name, surety_loss *loss, surety_error *err);
SURETY_API const char *surety_loss_name(surety_loss loss);

/* Copies of the rows of S' that train step 1; S, T and a hold-out never have any. shift: images, and each
 * moved by one pixel to its four sides. */
typedef enum surety_augment { SURETY_AUGMENT_NONE, SURETY_AUGMENT_SHIFT } surety_augment;

SURETY_API surety_status surety_augment_parse(const char *name, surety_augment *augment, surety_error *err);
SURETY_API const char *surety_augment_name(surety_augment augment);

typedef struct surety_train_settings {
    surety_objective objective;
    surety_loss loss; /* auto: bounded for networks of two classes against the worst case; else logistic for
                         networks, for more than two classes and against the worst case; else linear */
    /* What step 1 is trained against. Its samples are 1, its seed that below. The worst case (docs/theory.md
     * 8.3) goes with the objective worst-case or baseline. */
    surety_threat defense;
    double mix; /* defense worst case, 0 <= mix < 1: loss = (1 - mix) worst_case + mix attacked, by pgd with
                   the steps of the defense */
    int keep_last; /* 1: step 1 keeps its last epoch, whatever it is: nothing is chosen, T_p = 1. Not with
                      a hold-out */
    surety_voter_set voter_set;    /* signed or real */
    surety_voters_settings voters; /* their kind, and how many */
    surety_augment augment;
    int balance;         /* 1: every class has the same weight in the loss of step 1 */
    size_t step1_epochs; /* T', at most 100000; 0: as many as make SURETY_TRAIN_STEPS batches */
    size_t step2_epochs; /* T, at most 100000; 0: the same */
    size_t batch;        /* 1 to 65536; networks: to 4096 */
    double lr;           /* of Adam, above 0 */
    int decay;           /* 1: lr falls linearly to 0 over the second half of the epochs of a step */
    double delta;        /* in (0,1): used by the objective, and the certificate's default */
    double holdout;      /* 0: S chooses the epoch of step 1. Else this share of S', below 1, does and trains
                            nothing; T_p = 1 */
    uint64_t seed;       /* below 2^63 */
} surety_train_settings;

/* Batches of a step of training where epochs are 0: about as many as the paper's tasks take in 20 epochs. */
enum { SURETY_TRAIN_STEPS = 2500 };

/* Turns settings into those of the certified defense, as docs/notes/worst-case.md found them best: the worst
 * case, 10 trees of depth 3 without masks, real votes, a learning rate that falls to 0, the last epoch kept,
 * objective baseline. */
SURETY_API void surety_train_certified(surety_train_settings *settings);

/* Turns settings, whose kind is set, into those that suit the kind; 0, and nothing, for kinds that are
 * trained as soft trees are.
 * trees (docs/theory.md 10.5), which go with the defense none or the worst case over a linf ball, real votes,
 * no mix, and the objective baseline unless voters.apart is 1:
 * SURETY_GROWN_TREES of depth SURETY_GROWN_DEPTH, mask SURETY_GROWN_MASK, real votes, no step 2, a hold-out
 * of S' that chooses how many trees are kept. voters.count, the number of trees, is that of the epochs of
 * step 1. lipschitz (docs/theory.md 11): the worst case, one network with two layers of SURETY_NETWORK_UNITS
 * units, real votes, no step 2, SURETY_NETWORK_EPOCHS epochs unless they are 0, a learning rate
 * that falls to 0, the last epoch kept. */
SURETY_API int surety_train_kind(surety_train_settings *settings);
enum { SURETY_GROWN_TREES = 400, SURETY_GROWN_DEPTH = 6 };
enum { SURETY_NETWORK_UNITS = 128, SURETY_NETWORK_BATCH = 32, SURETY_NETWORK_EPOCHS = 40 };
#define SURETY_GROWN_MASK 0.5
#define SURETY_GROWN_RATE 0.1
#define SURETY_GROWN_HOLDOUT 0.15
#define SURETY_NETWORK_RATE 0.003

/* Turns settings, whose defense stays, into those for tables that are not images: real votes, logistic loss,
 * no step 2, SURETY_TRAIN_STEPS batches, a learning rate that falls to 0, the last epoch kept
 * (docs/notes/tables.md). */
SURETY_API void surety_train_table(surety_train_settings *settings);

/* Turns settings, whose kind and defense are set, into those that suit own data, the defense kept:
 * surety_train_table, then surety_train_kind; but of trees SURETY_TABLE_TREES of depth SURETY_TABLE_DEPTH,
 * all of them kept, mask SURETY_TABLE_MASK (docs/notes/tables.md). */
enum { SURETY_TABLE_TREES = 200, SURETY_TABLE_DEPTH = 8 };
#define SURETY_TABLE_MASK 0.75
SURETY_API void surety_train_own(surety_train_settings *settings);

/* Sets what follows from the number of voters and the objective, when these are final. trees: one epoch per
 * tree, and each tree is a voter if there is a step 2. lipschitz: signed votes for a single network of two
 * classes (the same answers, better bounds), else real ones, unless the caller chose (set_chosen). */
SURETY_API void surety_train_follow(surety_train_settings *settings, size_t classes, int set_chosen);

/* A warning about settings that are allowed but will give poor results, in a sentence for people; NULL: none.
 */
SURETY_API const char *surety_train_warning(const surety_train_settings *settings);

/* The paper's: pgdu in the l2 ball of radius 1, objective chromatic, signed votes, 25 trees of depth 2, mask
 * 0.5, 20 epochs, batches of 64, lr 0.01, delta 0.05. */
SURETY_API surety_train_settings surety_train_defaults(void);
/* SURETY_E_USAGE with the admissible range if a setting, or a combination, makes no sense. */
SURETY_API surety_status surety_train_validate(const surety_train_settings *settings, surety_error *err);

/* Where the time of a training went, in seconds, and how many rows went through the two products. */
typedef struct surety_timing {
    double attack;                        /* batches attacked and asked */
    double update;                        /* gradients of the voters, Adam, packing */
    double choose;                        /* the set that chooses attacked after each epoch */
    double busy;                          /* processor seconds of all threads in attack */
    uint64_t forward_rows, backward_rows; /* in attack */
} surety_timing;

/* How a training went. Epochs count from 1; arrays have one number per epoch. */
typedef struct surety_train_result {
    size_t step1_epochs, step1_best;
    double *step1_risk; /* Rbar (real outputs) on the set that chooses, attacked after each epoch; certified:
                           its worst case; keep_last: the mean loss of the epoch's batches */
    size_t step2_epochs, step2_best; /* 0 for the baseline */
    double *step2_objective;         /* the objective on S, attacked after each epoch */
    double kl;                       /* KL(Q||P) */
    uint64_t priors_compared;        /* T_p */
    surety_copies copies;            /* of the data */
    const char *kind;                /* of the voters */
    double largest_weight;           /* of Q */
    surety_clean clean;     /* the vote without attacks, for information only: the posterior's on T; if T is
                               empty, the prior's on the rows of S' that are held out, or that trained it. Never
                               on S */
    const char *clean_rows; /* "test", "held_out", "training" */
    int constant;           /* 1: it gives every one of these rows the same answer */
    double seconds;         /* of this call; a resumed training counts what came after */
    surety_timing timing;
} surety_train_result;

SURETY_API void surety_train_result_free(surety_train_result *result);
/* names (K): surety_class_names. */
SURETY_API char *surety_train_result_json(const surety_train_result *result, const char *const *names);

/* Where a training keeps its state, so that a kill at any moment loses at most one epoch. */
typedef struct surety_checkpointing {
    const char *file; /* written after every epoch; NULL: no checkpoints. A second training that uses it at
                       * the same time is SURETY_E_SYSTEM (file.lock, which goes when the first one ends) */
    int resume;       /* 1: go on from file if it is there; other settings or data than it was made with are
                       * refused. 0: a file that is there already is refused */
    int seldom; /* 1: not after every epoch, but so that checkpoints take at most a twentieth of the time
                 */
} surety_checkpointing;

/* Trains a model on S' and S of the data. The same seed gives the same model, byte for byte, for any number
 * of threads and after any interruption. A loss that is not a number ends it with SURETY_E_CHECK, and so do
 * copies (surety_data_check_copies), before it begins. */
SURETY_API surety_status surety_train(const surety_train_settings *settings, const surety_data *data,
                                      const surety_checkpointing *checkpointing, surety_model **model,
                                      surety_train_result *result, const surety_run *run, surety_error *err);

/* The settings that trained a model, from what it says of itself; surety_train with them gives its bytes
 * again. A model whose facts, voters or data are not those of its settings contradicts itself: SURETY_E_CHECK
 * with the key. One that does not say how it was trained: SURETY_E_INPUT. A tolerance stays the model's. */
SURETY_API surety_status surety_train_recorded(const surety_model *model, surety_train_settings *settings,
                                               surety_error *err);

/* The check of surety_train_recorded alone. A model without settings, which no training made, is fine. */
SURETY_API surety_status surety_train_consistent(const surety_model *model, surety_error *err);

/* A model, and how its training went: each is freed on its own. */
typedef struct surety_trained {
    surety_model *model;
    surety_train_result result;
} surety_trained;

/* surety_train for several objectives that share one step 1: out[i] is, byte for byte, what surety_train
 * gives for settings with objectives[i]. The time of step 1 counts for the first. */
SURETY_API surety_status surety_train_objectives(const surety_train_settings *settings,
                                                 const surety_data *data, const surety_objective *objectives,
                                                 size_t count, surety_trained *out, const surety_run *run,
                                                 surety_error *err);

#ifdef __cplusplus
}
#endif
#endif
