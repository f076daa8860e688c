/* Exports: one file per format, one line of the table in export.c. */
#ifndef SURETY_MODEL_EXPORT_H
#define SURETY_MODEL_EXPORT_H

#include "model/model.h"
#include "voters/export.h"

enum { SURETY_EXPORT_PREFIX = 32 };

/* Test vectors: points of the table, as a device gives them, and what predict says of them. */
typedef struct surety_vectors {
    size_t count, columns, width;
    float *x;      /* (count, columns): of a category its number, -1 for another one; NaN is missing */
    double *votes; /* (count, width) */
    uint8_t *classes;
} surety_vectors;

surety_status surety_vectors_make(surety_vectors *out, const surety_model *model, surety_error *err);
void surety_vectors_free(surety_vectors *vectors); /* all zero is fine */

/* Writes the text of a format. */
typedef surety_status (*surety_export_fn)(const surety_model *model, const surety_export_settings *settings,
                                          surety_c_text *out, surety_export_result *result,
                                          surety_error *err);
surety_status surety_export_c(const surety_model *model, const surety_export_settings *settings,
                              surety_c_text *out, surety_export_result *result, surety_error *err);

/* The text of an export. */
surety_status surety_export_text(const surety_model *model, const surety_export_settings *settings,
                                 surety_c_text *out, surety_export_result *result, surety_error *err);

#endif
