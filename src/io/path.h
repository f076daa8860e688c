/* Paths and folders, and errors of the operating system in words. */
#ifndef SURETY_IO_PATH_H
#define SURETY_IO_PATH_H

#include "base/memory.h"

/* Records "cannot <verb> it: <the system's text for number>" about path. A full disk, a quota and a file size
 * limit get a sentence of their own. Where the machine failed and not the file (EIO, EMFILE, ENOMEM, ..),
 * SURETY_E_INPUT becomes SURETY_E_SYSTEM. */
surety_status surety_fail_errno(surety_error *err, surety_status code, const char *verb, const char *path,
                                int number);

/* a b c joined into *out (free with surety_free). */
surety_status surety_join(char **out, const char *a, const char *b, const char *c, surety_error *err);

/* *there: whether path names something that exists. Only "there is no such file" is absence; whatever else
 * keeps the system from telling is SURETY_E_SYSTEM. */
surety_status surety_path_look(const char *path, int *there, surety_error *err);

/* The part of path behind the last '/'. */
const char *surety_path_name(const char *path);

/* Makes a folder and the folders above it; one that is there already is fine. */
surety_status surety_folder_make(const char *path, surety_error *err);

#endif
