/* Whole files as memory, plain or gzip. */
#ifndef SURETY_IO_READ_H
#define SURETY_IO_READ_H

#include "io/path.h"

/* The content of a file after decompression. It is read, never mapped: a map of a file that somebody shortens
 * ends the program. */
typedef struct surety_file {
    const uint8_t *data; /* ours to free */
    size_t size;
} surety_file;

/* Reads path. Gzip is recognised by its first bytes; a name that ends in .gz must be gzip. The stream must be
 * whole: a truncated or damaged member, a wrong checksum, or anything behind the last member is an error that
 * names the byte of the compressed file. Absent, unreadable, a folder, not a regular file, larger than
 * surety_reading allows (unless it is not kept in memory, surety_streaming): SURETY_E_INPUT. */
surety_status surety_file_open(surety_file *out, const char *path, surety_error *err);
void surety_file_close(surety_file *file); /* all zero is fine */

/* Opens a regular file for reading; *size bytes at this moment. */
surety_status surety_open_regular(int *fd, uint64_t *size, const char *path, surety_error *err);

/* Exactly count bytes of an open file, from byte `from` on. */
surety_status surety_read_at(int fd, void *to, size_t count, uint64_t from, surety_error *err);

/* For loops over what was read: tells the progress, and SURETY_E_STOPPED if surety_reading's run asks for it.
 */
surety_status surety_reading_poll(uint64_t done, uint64_t total, surety_error *err);

/* SURETY_E_INPUT if a file of so many bytes, decompressed, is more than surety_reading allows. */
surety_status surety_reading_allows(uint64_t bytes, surety_error *err);

/* Decompresses a gzip stream of one or more members into *out (free with surety_free), *out_size bytes,
 * refusing to make more than limit of them. */
surety_status surety_gunzip(const uint8_t *data, size_t size, size_t limit, uint8_t **out, size_t *out_size,
                            surety_error *err);

/* Whether data begins like a gzip stream. */
int surety_is_gzip(const uint8_t *data, size_t size);

#endif
