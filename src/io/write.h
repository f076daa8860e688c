/* Safe file writing: a file appears under its name complete or not at all.
 *
 * Bytes go into a temporary file beside the target (folder/.name.part-1f0c5a2e, a new file with a name that
 * cannot be guessed; where a file is replaced, its mode is kept). Commit flushes it to the disk
 * (fsync), renames it over the target and flushes the folder, so that at every moment, also after a kill or a
 * power cut, the name holds the old content or the new one. A temporary is locked while it is written; one
 * that a killed run left behind is no longer locked, and the next writer of the same name removes it.
 * Several writers of one name do not meet: the last commit stays.
 */
#ifndef SURETY_IO_WRITE_H
#define SURETY_IO_WRITE_H

#include "io/path.h"

typedef struct surety_writer surety_writer;

/* Begins a file. bytes: the size it will have, checked against the free space of the disk now (0: not known).
 * Errors are SURETY_E_SYSTEM; a target that is a folder or a device is SURETY_E_USAGE. */
surety_status surety_writer_open(surety_writer **out, const char *path, uint64_t bytes, surety_error *err);

/* Appends count bytes. After a failure the writer can only be aborted. */
surety_status surety_writer_append(surety_writer *writer, const void *bytes, size_t count, surety_error *err);

/* Puts the file in place. Frees the writer in every case; on failure the old file is still there
 * (unless only the last step failed, flushing the folder: then the new one is, and complete). */
surety_status surety_writer_commit(surety_writer *writer, surety_error *err);

/* Gives up: removes the temporary and frees the writer. NULL is fine. */
void surety_writer_abort(surety_writer *writer);

/* What surety_writing last said. */
int surety_is_writing(void);

/* All of the above for a file that is in memory. */
surety_status surety_write_file(const char *path, const void *bytes, size_t count, surety_error *err);

/* The same for a name that the program chose, in a folder that the user named. A link of that name is
 * refused: nobody named the file behind it, and it could be one that is read. */
surety_status surety_write_own(const char *path, const void *bytes, size_t count, surety_error *err);

#endif
