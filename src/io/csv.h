/* Texts in CSV files that are written (data/csv.c reads them). */
#ifndef SURETY_IO_CSV_H
#define SURETY_IO_CSV_H

#include "io/write.h"

/* Appends one field; in double quotes, inner ones doubled, if it holds a comma, a quote or a line break. */
surety_status surety_csv_field(surety_writer *writer, const char *text, surety_error *err);

#endif
