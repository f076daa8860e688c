/* Fitting a preparation, and rows of a table as it takes them. */
#ifndef SURETY_DATA_FIT_H
#define SURETY_DATA_FIT_H

#include "data/preparation.h"
#include "data/table.h"

/* A preparation for the columns and settings of another, with what these rows of a table (S', in any order)
 * say. SURETY_E_INPUT where nothing is left, or a column cannot be scaled. */
surety_status surety_preparation_fit(surety_preparation **out, const surety_preparation *like,
                                     const surety_table *table, const uint32_t *rows, size_t count,
                                     surety_error *err);

/* How a preparation calls the categories of a table: by column, the number of each of the table's categories.
 */
typedef struct surety_binding {
    const surety_preparation *preparation;
    const surety_table *table;
    float **numbers; /* (columns), NULL for numbers */
    float *row;      /* (columns) */
} surety_binding;

surety_status surety_bind(surety_binding *out, const surety_preparation *preparation,
                          const surety_table *table, surety_error *err);
void surety_unbind(surety_binding *binding); /* all zero is fine */

/* Features (d) of a row of the table; errors have its place. */
surety_status surety_bound_row(const surety_binding *binding, size_t row, float *z,
                               surety_preparation_counts *counts, surety_error *err);

#endif
