/* Labels from a file: an NPY array of numbers, or a text with one label per line. */
#ifndef SURETY_RISK_LABELS_H
#define SURETY_RISK_LABELS_H

#include "base/memory.h"
#include "io/npy.h"

typedef struct surety_vote_labels {
    size_t count;
    double *values;    /* (count) the numbers of the file; where it has names, their places in sorted order */
    int text;          /* a text file: places are lines */
    size_t name_count; /* 0: the labels are numbers */
    char **names;      /* (name_count), in one block with what they point at, or NULL */
} surety_vote_labels;

/* Reads exactly count labels. Lines that are all numbers are numbers; else every line is a name, at most
 * SURETY_RISK_CLASSES different ones, sorted by their bytes. Names that differ only by blanks or case, empty
 * lines and several columns are refused. Free with surety_vote_labels_free; after a failure it is empty. */
surety_status surety_vote_labels_read(surety_vote_labels *out, const char *path, size_t count,
                                      surety_error *err);
void surety_vote_labels_free(surety_vote_labels *labels); /* all zero is fine */

/* The place of label i, for errors. */
void surety_vote_labels_place(const surety_vote_labels *labels, size_t i, surety_error *err);

/* The array is not as expected: tells its shape. */
surety_status surety_npy_shape_error(const surety_npy *array, const char *path, const char *expected,
                                     surety_error *err);

#endif
