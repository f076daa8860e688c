/* The two public datasets: their files with checksums, where they may be, and where they come from. */
#ifndef SURETY_DATA_DATASET_H
#define SURETY_DATA_DATASET_H

#include "io/path.h"
#include "surety/data.h"

/* Order of a dataset's files everywhere. */
enum { TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS, DATASET_FILES };

typedef struct surety_dataset {
    const char *name;
    const char *sha256[DATASET_FILES]; /* of the uncompressed IDX files */
    const char *mirrors[3];            /* base addresses that carry <file>.gz, NULL behind the last */
    const char *package;               /* what else carries it, in words */
} surety_dataset;

/* The files' names, the same for both, and their sizes uncompressed. */
extern const char *const surety_dataset_files[DATASET_FILES];
extern const size_t surety_dataset_bytes[DATASET_FILES];

enum { SURETY_TASK_COUNT = 8 }; /* rows of surety_tasks() */

/* By name, or NULL with an error. */
const surety_dataset *surety_dataset_named(const char *name, surety_error *err);

/* A dataset's four files in one folder, plain or .gz. */
typedef struct surety_place {
    char *folder;
    char *path[DATASET_FILES];
} surety_place;

/* The first folder that holds all four (surety_data_settings.data_dir tells the order). Their content is not
 * checked yet. Not found: SURETY_E_INPUT, saying where was looked and what to do. */
surety_status surety_dataset_find(surety_place *out, const surety_dataset *dataset, const char *data_dir,
                                  surety_error *err);
void surety_place_free(surety_place *place); /* all zero is fine */

/* SURETY_OK if sum is the right one for that file, else an error that names both. */
surety_status surety_dataset_check(const surety_dataset *dataset, int which, const char *sum,
                                   surety_error *err);

/* Reads and checks all four files of a place. */
surety_status surety_dataset_verify(const surety_dataset *dataset, const surety_place *place,
                                    surety_error *err);

/* The user's cache folder, ($XDG_CACHE_HOME or ~/.cache)/surety; NULL in *out if there is neither. */
surety_status surety_cache_folder(char **out, surety_error *err);

#endif
