/* Inside of a preparation: for readers, which match columns with it, and for the sets, which it fills.
 *
 * As JSON (surety_data_info.preparation, key data.preparation of a model):
 *   columns  list of {name, and
 *              of a number:     shift, factor (unless nothing is scaled), median (where it stands for missing
 *                               values)
 *              of a category:   categories: texts, in the order of their bytes
 *              constant: true   it is left out, because S' has one value of it, or none
 *              flag: true       one more feature says where it is missing}
 *   named    whether columns have names of their own, not their numbers from 1
 *   label, label_column (its number from 1), unit, dropped, file_columns: the other columns of the table
 *   missing, scale           the settings
 */
#ifndef SURETY_DATA_PREPARATION_H
#define SURETY_DATA_PREPARATION_H

#include "data/columns.h"
#include "io/json.h"

enum { SURETY_CATEGORIES_MOST = 1000 }; /* of one column */

typedef struct surety_column_preparation {
    const char *name;
    int categorical, constant, flag;
    float shift, factor, median;
    size_t category_count;
    const char **categories; /* (category_count) into the JSON */
    size_t first;            /* its first feature */
} surety_column_preparation;

struct surety_preparation {
    surety_missing missing;
    surety_scaling scaling;
    int named;
    size_t column_count, features, file_columns, dropped_count, constants;
    surety_column_preparation *columns;
    const char *label, *unit; /* NULL: there was none */
    size_t label_at;          /* or SURETY_NO_COLUMN */
    const char **dropped;
    const char **constant_names;
    /* (features) */
    const char **names;
    uint8_t *moves;
    float *shift, *factor;
    char *text;              /* the JSON, or NULL: plain */
    json_t *root;            /* what texts point into */
    char *memory;            /* what names of flags and categories point into */
    const char **categories; /* of all columns */
};

/* Columns of a table before anything is fitted; scaling is not AUTO. */
surety_status surety_preparation_begin(surety_preparation **out, const surety_columns *columns,
                                       surety_missing missing, surety_scaling scaling, surety_error *err);

/* d columns as they are, without names: of models that say nothing else. */
surety_status surety_preparation_plain(surety_preparation **out, size_t d, surety_error *err);

/* From JSON that this library made, which is taken over; NULL: there was no memory for it. */
surety_status surety_preparation_read(surety_preparation **out, json_t *root, surety_error *err);

/* From its JSON, which comes from a file: everything is checked. */
surety_status surety_preparation_decode(surety_preparation **out, const char *text, surety_error *err);
void surety_preparation_free(surety_preparation *preparation); /* NULL is fine */

/* One row: values (columns); of a category its number in the preparation, -1 for one that it does not have;
 * NaN is missing. Returns SURETY_ROW_FINE, or what is wrong with column *bad. */
typedef enum surety_row_fault {
    SURETY_ROW_FINE,
    SURETY_ROW_MISSING,
    SURETY_ROW_INFINITE,
    SURETY_ROW_LARGE
} surety_row_fault;

surety_row_fault surety_preparation_row(const surety_preparation *preparation, const float *values, float *z,
                                        surety_preparation_counts *counts, size_t *bad);

/* Its features, for tolerances. */
surety_features surety_preparation_describe(const surety_preparation *preparation);

/* 1 if features are not simply the columns' values. */
int surety_preparation_changes(const surety_preparation *preparation);

/* The sentence about it; the place is the caller's. */
surety_status surety_preparation_fault(const surety_preparation *preparation, surety_row_fault fault,
                                       size_t column, surety_error *err);

/* The number of a category in column j, or -1. text ends with 0. */
float surety_preparation_category(const surety_preparation *preparation, size_t column, const char *text);

/* How a category is written: numbers in one way only ("1", "1.0" and "01" are one), texts as they are. The
 * result is in buffer or is the text; both end with 0. */
const char *surety_category_text(const char *text, char buffer[32]);

#endif
