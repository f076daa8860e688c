/* What the files of this room share: the grid, cells as files, the printed tables. */
#ifndef SURETY_STUDY_STUDY_H
#define SURETY_STUDY_STUDY_H

#include "base/memory.h"
#include "io/json.h"
#include "study/interface.h"
#include "surety/evaluate.h"

/* ---- the grid ---- */

enum {
    SURETY_STUDY_SEEDS = 1000,
    SURETY_CELL_MODELS = 3, /* most objectives behind one step 1 */
    SURETY_CELL_ATTACKS = 3 /* attacks of an objective's rows, and of the baseline's */
};

/* What a defense's step 1 serves: which objectives, and which attacks each of them meets. */
size_t surety_cell_objectives(surety_threat_kind defense, surety_objective objectives[SURETY_CELL_MODELS]);
void surety_cell_attacks(surety_objective objective, surety_threat_kind attacks[SURETY_CELL_ATTACKS]);

/* What training and attacks are for a cell by the theory. */
surety_train_settings surety_cell_training(const surety_study_settings *settings, const surety_cell *cell);

/* All kinds that certified cells may be of. */
uint32_t surety_study_kinds(void);

/* Every cell of the settings in the order of the grid, *count of them; free with surety_free. */
surety_status surety_grid_make(surety_cell **cells, size_t *count, const surety_study_settings *settings,
                               surety_error *err);

/* Estimated seconds of the parts of a cell on one thread. */
typedef struct surety_cost {
    double step1, step2, perturbed_test, perturbed_learn,
        rest;   /* step2 of one objective, perturbed of one attack */
    double all; /* of the whole cell */
} surety_cost;

/* Seconds for one row through one attack step, and for one noise drawn and asked: measured now. */
typedef struct surety_speed {
    double step, sample;
} surety_speed;

surety_status surety_speed_measure(surety_speed *speed, surety_error *err);
surety_cost surety_cell_cost(const surety_study_settings *settings, const surety_cell *cell,
                             const surety_speed *speed);

/* ---- cells ---- */

/* Trains, evaluates and gives all that was found as JSON. By the theory, the models are saved under
 * folder/models. */
surety_status surety_cell_run(json_t **found, const surety_study_settings *settings, const surety_cell *cell,
                              const surety_data *data, const char *folder, const surety_run *run,
                              surety_error *err);

/* Writes it with a digest, safely. Takes over found. */
surety_status surety_cell_save(json_t *found, const char *folder, const surety_cell *cell, surety_error *err);

/* Reads it back: *found is NULL if there is none. A damaged one, or one of another cell, is SURETY_E_INPUT.
 */
surety_status surety_cell_load(json_t **found, const char *folder, const surety_cell *cell,
                               surety_error *err);

/* Appends a row to an array and takes it over; NULL or no room is SURETY_E_MEMORY. */
surety_status surety_cell_add_row(json_t *rows, json_t *row, surety_error *err);

/* Features in the box as bytes 0..255, two hexadecimal digits each: what a page can show. */
json_t *surety_cell_pixels(const float *x, size_t d);

/* ---- print's recipe ---- */

/* A cell of one of the paper's defenses as print has it: an object of models, rows, curve, gallery and
 * seconds, shaped as those of the theory. Saves no models. *found is NULL before, and after a failure. */
surety_status surety_print_cell(json_t **found, const surety_study_settings *settings,
                                const surety_cell *cell, const surety_data *data, const surety_run *run,
                                surety_error *err);

/* ---- the folder ---- */

/* folder/name with this ending, to be freed with surety_free: surety_study_path(&path, folder, "cells", name,
 * ".json"). */
surety_status surety_study_path(char **path, const char *folder, const char *room, const char *name,
                                const char *ending, surety_error *err);

/* Makes the folder, or checks that it was made by this version with these settings. */
surety_status surety_study_open(const char *folder, const surety_study_settings *settings, surety_error *err);

/* Writes results.csv and results.json from all cells in the folder. */
surety_status surety_results_write(const char *folder, const surety_study_settings *settings,
                                   surety_error *err);

/* ---- printed tables ---- */

/* The printed numbers, and no values yet: room for seeds of them. */
surety_status surety_results_new(surety_results *results, size_t seeds, surety_error *err);

/* The place of a printed number, or results->count. */
size_t surety_results_find(const surety_results *results, const surety_printed *key);

/* The first seven fields of a line (task .. quantity), in place; *rest is what follows them. 0 if one is
 * unknown. */
int surety_printed_parse(char *line, surety_printed *key, char **rest);

#endif
