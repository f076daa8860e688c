/* Zip archives in memory, as numpy.savez writes them: members that are stored or deflated. Refused: encrypted
 * members, archives in several parts or of more than 4 GB (zip64), other ways of compression. */
#ifndef SURETY_IO_ZIP_H
#define SURETY_IO_ZIP_H

#include "io/read.h"

/* Whether data begins like a zip archive. */
int surety_is_zip(const uint8_t *data, size_t size);

/* One member of an archive's directory. */
typedef struct surety_zip_member {
    const char *name; /* length bytes of the archive, not ended by 0 */
    size_t length;
    size_t packed, size; /* bytes in the archive, and when it is unpacked */
    unsigned method, flags;
    uint32_t crc;
    size_t offset; /* of its local header */
} surety_zip_member;

/* Walks over the directory: *at is 0 for the first call. *out is the next member, or its name NULL behind the
 * last. Errors say the byte. */
surety_status surety_zip_next(const surety_file *archive, size_t *at, surety_zip_member *out,
                              surety_error *err);

/* The member's content: unpacked, its checksum compared. Close it with surety_file_close. */
surety_status surety_zip_read(surety_file *out, const surety_file *archive, const surety_zip_member *member,
                              surety_error *err);

#endif
