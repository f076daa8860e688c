/* SHA-256 of data files, rows, models and certificates. */
#ifndef SURETY_IO_SHA256_H
#define SURETY_IO_SHA256_H

#include "base/error.h"

enum {
    SURETY_SHA256_BYTES = 32,
    SURETY_SHA256_TEXT = 65 /* 64 lower-case hexadecimal digits and a zero */
};

/* A sum over pieces. Reading it, as bytes or as text, ends it and begins the next one. */
typedef struct surety_sha256_sum surety_sha256_sum;

surety_status surety_sha256_new(surety_sha256_sum **out, surety_error *err);
surety_status surety_sha256_add(surety_sha256_sum *sum, const void *data, size_t size, surety_error *err);
surety_status surety_sha256_bytes(surety_sha256_sum *sum, uint8_t bytes[SURETY_SHA256_BYTES],
                                  surety_error *err);
surety_status surety_sha256_text(surety_sha256_sum *sum, char text[SURETY_SHA256_TEXT], surety_error *err);
void surety_sha256_free(surety_sha256_sum *sum); /* NULL is fine */

/* Of one piece. */
surety_status surety_sha256(const void *data, size_t size, char text[SURETY_SHA256_TEXT], surety_error *err);

#endif
