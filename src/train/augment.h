/* Copies of training rows, changed in ways that keep their label. */
#ifndef SURETY_TRAIN_AUGMENT_H
#define SURETY_TRAIN_AUGMENT_H

#include "base/error.h"
#include "base/memory.h"
#include "surety/train.h"

/* What augmented rows lie in. Release with surety_augmented_free, also after a failure. */
typedef struct surety_augmented {
    float *x;
    uint8_t *y;
    uint32_t *row;
} surety_augmented;

/* SURETY_AUGMENT_SHIFT: *set, rows of images, becomes these rows and, behind them, four times the same, moved
 * by one pixel to each side; the edge is repeated. A copy has the row number of its original. */
surety_status surety_augment_rows(surety_set *set, surety_augmented *room, surety_augment how,
                                  const surety_data_info *info, surety_error *err);
void surety_augmented_free(surety_augmented *room);

#endif
