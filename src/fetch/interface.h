/* Datasets over the network: what the command uses of this room. */
#ifndef SURETY_FETCH_INTERFACE_H
#define SURETY_FETCH_INTERFACE_H

#include "surety/data.h"

typedef struct surety_fetch_settings {
    const char *dataset;  /* "mnist" or "fashion-mnist" */
    const char *mirror;   /* base address; NULL: the known public mirrors in turn */
    const char *data_dir; /* folder to look in and to write to (under its dataset's name); NULL: look where
                             surety_data_settings says, write to the user's cache folder */
    int connect_seconds;  /* to reach a server; default 5 */
    int stall_seconds;    /* a transfer below 1 kB/s for so long is given up; default 30 */
} surety_fetch_settings;

typedef struct surety_fetch_info {
    const char *dataset;
    char folder[4096]; /* where the dataset is now */
    size_t downloaded; /* files that had to be downloaded; 0: all was there already */
    uint64_t bytes;    /* received */
} surety_fetch_info;

surety_fetch_settings surety_fetch_defaults(void);

/* Makes sure that a dataset is there: nothing to do if it is found with the right checksums, else its four
 * files are downloaded. A file is written only after its SHA-256 has been checked. Network trouble is
 * SURETY_E_SYSTEM; wrong content SURETY_E_INPUT. */
surety_status surety_fetch(surety_fetch_info *out, const surety_fetch_settings *settings,
                           const surety_run *run, surety_error *err);

/* Release with free(). */
char *surety_fetch_info_json(const surety_fetch_info *info);

#endif
