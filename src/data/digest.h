/* Digests of decoded rows, so that the same rows from a file or from memory have the same name
 * (docs/certificates.md, "Digests of rows"). Numbers are little endian.
 *
 *   row    SHA-256 of its d used columns as float32, as they were given (bytes divided by 255), before
 *          they are prepared: -0 is written as 0, a missing value as the bits 7fc00000, a category as
 *          0; then for each column of categories the length of its text (4 bytes) and the text, which
 *          is empty if it is missing
 *   class  SHA-256 of d and m (8 bytes each) and the m digests of the class's rows, sorted as bytes:
 *          all rows of the training source, in whatever order they stand and however they are split
 *   set    SHA-256 of d and m (8 bytes each) and for each example in the set's order its row number
 *          and the number of its class (4 bytes each), and the digest of its row; where rows have
 *          units, then the length of the unit's text (4 bytes) and the text
 *
 * Row numbers are in the digest of a set because they address its random numbers; the order, because
 * batches follow it. */
#ifndef SURETY_DATA_DIGEST_H
#define SURETY_DATA_DIGEST_H

#include "data/table.h"

/* Digests of these rows of a table, in its order, into *out (32 bytes for every row of it, surety_free; those
 * of other rows are 0). The processes of the run share the work. */
surety_status surety_digest_rows(uint8_t **out, const surety_table *table, const uint32_t *rows, size_t count,
                                 const surety_run *run, surety_error *err);

/* digests: of the rows of the table, the set's source, as above. */
surety_status surety_digest_set(char text[SURETY_SHA256_TEXT], const surety_set *set,
                                const surety_table *table, const uint8_t *digests, surety_error *err);

/* Class k; classes: of each row of the table, which has d features. */
surety_status surety_digest_class(char text[SURETY_SHA256_TEXT], const surety_table *table, size_t k,
                                  const uint8_t *classes, const uint8_t *digests, surety_error *err);

#endif
