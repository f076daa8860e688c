/* study/interface.h - the paper's whole evaluation (docs/theory.md 6), beside its printed numbers.
 *
 * A cell is one step 1 and all that hangs on it: a task, a norm, a voter set, a defense and a seed. Its
 * voters and prior serve both objectives, and the attack on its prior serves the rows of both. Cells know
 * nothing of each other: they run in any order, each is written safely into one file of the folder when it is
 * finished, and a finished cell is never computed again. So a study can be killed at any moment and started
 * again, and its results depend on nothing but its settings. Several processes may work in one folder: each
 * cell is locked by the one that computes it, and the lock ends with that process, however it ends.
 *
 *     FOLDER/study.json    version and settings that decide the numbers
 *     FOLDER/cells/        one JSON file per finished cell
 *     FOLDER/models/       the models of cells by the theory, for all other commands
 *     FOLDER/results.csv   one line per value: ours, the printed one, the difference
 *     FOLDER/results.json  the same over seeds, and what else the cells found
 */
#ifndef SURETY_STUDY_INTERFACE_H
#define SURETY_STUDY_INTERFACE_H

#include "surety/train.h"

/* A defense is a surety_threat_kind. The worst case ("certified", docs/theory.md 8.3) is not in the paper:
 * its cells train with surety_train_certified, meet none, pgd and the worst case, and stand beside no printed
 * number. They alone may be of other kinds than the paper's soft forest: these train with surety_train_kind,
 * each with the voter set that suits it and against the norms that it knows, and kinds without gradients meet
 * the strongest attack that they have instead of pgd. */

/* ---- which part of the grid, and how ---- */

/* How the cells of the paper's defenses are computed: print's recipe regenerates the printed numbers and
 * serves for nothing else (docs/theory.md 7), the theory is what all other commands do. Certified cells are
 * of the theory in both. */
typedef enum surety_recipe { SURETY_RECIPE_PRINT, SURETY_RECIPE_THEORY } surety_recipe;

const char *surety_recipe_name(surety_recipe recipe); /* "print" or "theory" */

typedef struct surety_study_settings {
    /* What is computed. Sets of small numbers are bits: 1u << number. A folder may be widened later. */
    uint32_t tasks;      /* numbers of surety_paper_tasks() */
    uint32_t norms;      /* surety_norm: l2 and linf */
    uint32_t voter_sets; /* surety_voter_set */
    uint32_t defenses;   /* none, unif (algorithm and baseline), pgdu, ifgsmu (algorithm), pgd, ifgsm
                            (baseline): these by default; certified */
    uint32_t kinds;      /* numbers of surety_kind_name(), of the certified cells; default the soft forest */
    size_t seeds;        /* seeds 0 .. seeds - 1; at most 1000 */

    /* What decides the numbers: a folder keeps to the ones it was begun with. */
    surety_recipe recipe; /* default print */
    size_t epochs;        /* of each step; default 20, or what suits the kind */
    size_t samples;       /* n of the perturbed sets; default 100 */
    size_t steps;         /* k of the attacks; default 20 */

    const char *data_dir; /* as in surety_data_settings */

    size_t part, parts; /* only share part (from 1) of so many shares of the cells, and no results; 0: all */
} surety_study_settings;

surety_study_settings surety_study_defaults(void);
surety_status surety_study_validate(const surety_study_settings *settings, surety_error *err);

typedef struct surety_cell {
    size_t task; /* number in surety_paper_tasks() */
    surety_norm norm;
    surety_voter_set voter_set;
    surety_threat_kind defense;
    uint64_t seed;
    size_t kind; /* number of surety_kind_name(); 0, the soft forest, unless certified */
} surety_cell;

enum { SURETY_CELL_NAME = 96 };

/* "mnist-1v7-l2-signed-pgdu-0", "mnist-1v7-linf-real-certified-trees-0": its files are named so. */
void surety_cell_name(const surety_cell *cell, char name[SURETY_CELL_NAME]);

/* ---- planning ---- */

typedef struct surety_study_plan {
    size_t count;
    surety_cell *cells; /* in the order of the grid */
    double *seconds;    /* estimate for each, on one thread of this machine */
    int *done;          /* whether its file is in the folder */
    double left;        /* seconds that the missing ones will take on the threads of the run */
    size_t values;      /* printed numbers that these cells stand beside, all seeds counted */
} surety_study_plan;

/* Lists the cells; the speed of this machine is measured for a moment. folder may be NULL or absent. */
surety_status surety_study_plan_make(surety_study_plan *plan, const surety_study_settings *settings,
                                     const char *folder, const surety_run *run, surety_error *err);
void surety_study_plan_free(surety_study_plan *plan); /* all zero is fine */
char *surety_study_plan_json(const surety_study_plan *plan);

/* ---- running ---- */

typedef struct surety_study_summary {
    size_t cells, computed; /* asked for; of these computed now, the others were there or another process's */
    double seconds;         /* of this call */
    double cell_seconds;    /* of the cells computed now, summed */
} surety_study_summary;

/* Computes the cells that are missing, waits for those that other processes are at work on, and writes the
 * results of all cells in the folder. Of several processes that meet (run->everyone) each takes a share of
 * the cells, and the first writes the results. Cells run side by
 * side, one thread each, as long as there are enough of them, else one after the other with all threads
 * inside. Progress is reported over all missing cells (done and total are milliseconds of the estimate); a
 * report with a text is one finished cell. A folder of another version or with other settings, or with a
 * damaged file, is SURETY_E_INPUT. */
surety_status surety_study_run(const surety_study_settings *settings, const char *folder,
                               surety_study_summary *summary, const surety_run *run, surety_error *err);

/* ---- results ---- */

typedef enum surety_quantity {
    SURETY_ADVERSARIAL_RISK,  /* R_att on T */
    SURETY_AVERAGED_RISK,     /* R on the perturbed T */
    SURETY_AVERAGED_MAX_RISK, /* A on the perturbed T */
    SURETY_BOUND_OF_SEEGER,   /* vote bounds on the perturbed S: chromatic_seeger, .. */
    SURETY_BOUND_OF_MAX,      /* .. average_max, .. */
    SURETY_BOUND_OF_TV,       /* .. average_max_tv */
    SURETY_QUANTITIES
} surety_quantity;

const char *surety_quantity_name(surety_quantity quantity); /* "adversarial_risk" */

/* One printed number. */
typedef struct surety_printed {
    size_t task;
    surety_norm norm;
    surety_objective algorithm; /* chromatic, average-max or baseline */
    surety_threat_kind defense, attack;
    surety_voter_set voter_set;
    surety_quantity quantity;
    double value;
} surety_printed;

/* Ours beside one printed number. Seed 0 is print's own start; the others say how far rounding alone can move
 * a value. */
typedef struct surety_compared {
    size_t seeds;    /* how many there are; 0: none, and the numbers below are NaN */
    double first;    /* of the lowest seed: seed 0, unless its cell is missing */
    double min, max; /* the band of all seeds */
    int near;        /* print is at most 0.0015 from first: half a unit of its last digit, and one more */
    int agrees;      /* .. at most the tolerance: 0.01 for a risk, 0.02 for a bound */
    int in_band;     /* print lies in [min, max], and there are two seeds or more */
} surety_compared;

/* All printed numbers in the order of the paper's tables, and ours. */
typedef struct surety_results {
    size_t count;
    surety_printed *printed; /* (count) */
    size_t seeds;            /* seeds 0 .. seeds - 1 have a place */
    double *values;          /* (count, seeds); NaN: not computed */
} surety_results;

/* Reads FOLDER/results.csv. A line that is damaged, or of no table, is SURETY_E_INPUT with its number. */
surety_status surety_results_load(surety_results *results, const char *folder, surety_error *err);
void surety_results_free(surety_results *results); /* all zero is fine */
surety_compared surety_results_compare(const surety_results *results, size_t index);

/* How many printed numbers have a value of ours, and how they compare. */
typedef struct surety_agreement {
    size_t compared, near, agree, in_band;
    size_t either;   /* agree, or in the band */
    double farthest; /* largest |first - print| */
} surety_agreement;

/* Adds one comparison to the counts; nothing if it has no seeds. */
void surety_agreement_add(surety_agreement *a, const surety_compared *c, double printed);
surety_agreement surety_results_agreement(const surety_results *results);

#endif
