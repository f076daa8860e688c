/* Documents: a struct of record.h as a JSON file {"format", all fields, "digest"}. The digest is SHA-256 of
 * the canonical form without it: keys sorted, no spaces, numbers with 17 digits. */
#ifndef SURETY_CERTIFY_DOCUMENT_H
#define SURETY_CERTIFY_DOCUMENT_H

#include "certify/record.h"

typedef struct surety_document {
    const char *format; /* "surety-certificate-1" */
    const surety_fields *table;
} surety_document;

/* Indented text with this digest; NULL: no memory. Release with surety_text_free. */
char *surety_document_json(const surety_document *kind, const void *base, const char *digest);
surety_status surety_document_save(const surety_document *kind, const void *base, const char *digest,
                                   const char *path, surety_error *err);
surety_status surety_document_digest(const surety_document *kind, const void *base, char sum[65],
                                     surety_error *err);

/* SHA-256 of the canonical form; root is taken over. */
surety_status surety_json_digest(json_t *root, char sum[65], surety_error *err);

/* Fills a zeroed struct from a file; digest gets what the file states. After a failure it can be freed. */
surety_status surety_document_read(const surety_document *kind, void *base, char digest[65], const char *path,
                                   surety_error *err);

#endif
