/* The rows that train or choose, where they are no view of the data. */
#ifndef SURETY_TRAIN_ROWS_H
#define SURETY_TRAIN_ROWS_H

#include "base/error.h"
#include "base/memory.h"
#include "surety/train.h"

/* What such rows lie in. Release with surety_made_free, also after a failure. */
typedef struct surety_made {
    float *x;
    uint8_t *y;
    uint32_t *row;
} surety_made;

/* SURETY_AUGMENT_SHIFT: *set, rows of images, becomes these rows and, behind them, four times the same, moved
 * by one pixel to each side; the edge is repeated. A copy has the row number of its original.
 *
 * Of several processes with rows of their own, each has its share (surety_my_share) of what *set becomes,
 * also with SURETY_AUGMENT_NONE, whichever rows it had. Otherwise NONE changes nothing. */
surety_status surety_rows_make(surety_set *set, surety_made *room, surety_augment how,
                               const surety_data_info *info, const surety_run *run, surety_error *err);
void surety_made_free(surety_made *room);

/* *is becomes 1 if a process lacks rows of the set. */
surety_status surety_rows_scattered(const surety_set *set, int *is, const surety_run *run, surety_error *err);

/* x (count, stride), zeros for rows that this process lacks, becomes the rows of all: the sum of the bits. Of
 * several processes one alone has a row. */
surety_status surety_rows_gather(float *x, size_t count, size_t stride, const surety_run *run,
                                 surety_error *err);

#endif
