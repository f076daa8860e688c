/* Rows of S that repeat, counted in a file of rows of which nothing but the bytes is known. */
#ifndef SURETY_CERTIFY_REPEATS_H
#define SURETY_CERTIFY_REPEATS_H

#include "io/read.h"

/* *repeats: of the m rows of the file those that have the bytes of an earlier one; SURETY_ABSENT where the
 * file does not show its rows. It shows those of an NPY array (m, ..) in C order, and a text's lines, of
 * which there are m, or m + 1 with a header. */
surety_status surety_rows_repeat(const surety_file *file, size_t m, uint64_t *repeats, surety_error *err);

#endif
