/* The labels of a table: which there are, and which one each row has. */
#ifndef SURETY_DATA_LABELS_H
#define SURETY_DATA_LABELS_H

#include "base/memory.h"

typedef struct surety_labels {
    size_t count;       /* different ones */
    int whole;          /* all are whole numbers: ordered by value; else by bytes */
    const char **names; /* (count); whole numbers without '+' and leading zeros */
    uint32_t *of;       /* (rows): the number of each row's label */
    char *text;         /* what names point into */
} surety_labels;

/* From a number per row. */
surety_status surety_labels_from_numbers(surety_labels *out, const int64_t *values, size_t rows,
                                         surety_error *err);
void surety_labels_free(surety_labels *labels); /* all zero is fine */

#endif
