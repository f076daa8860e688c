#include "io/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Errors that say nothing about the file. */
static int machine_failed(int number) {
    return number == EIO || number == EMFILE || number == ENFILE || number == ENOMEM || number == ESTALE ||
           number == ENODEV;
}

surety_status surety_fail_errno(surety_error *err, surety_status code, const char *verb, const char *path,
                                int number) {
    char text[128] = "";
    if (code == SURETY_E_INPUT && machine_failed(number)) code = SURETY_E_SYSTEM;
    if (strerror_r(number, text, sizeof text)) snprintf(text, sizeof text, "error %d", number);
    surety_fail(err, code, "cannot %s it: %s", verb, text);
    if (number == ENOSPC || number == EDQUOT) surety_fail_expected(err, "more free space: the disk is full");
    if (number == EFBIG) surety_fail_expected(err, "a file below the size limit of this process (ulimit -f)");
    surety_fail_file(err, path);
    return code;
}

surety_status surety_join(char **out, const char *a, const char *b, const char *c, surety_error *err) {
    size_t na = strlen(a), nb = strlen(b), nc = strlen(c);
    SURETY_TRY(surety_alloc(out, na + nb + nc + 1, 1, err));
    memcpy(*out, a, na);
    memcpy(*out + na, b, nb);
    memcpy(*out + na + nb, c, nc);
    return SURETY_OK;
}

surety_status surety_path_look(const char *path, int *there, surety_error *err) {
    struct stat info;
    *there = stat(path, &info) == 0;
    if (*there || errno == ENOENT) return SURETY_OK;
    return surety_fail_errno(err, SURETY_E_SYSTEM, "look for", path, errno);
}

const char *surety_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* One folder of the path; "there already" counts only for a folder. */
static surety_status make_one(const char *path, surety_error *err) {
    struct stat info;
    if (mkdir(path, 0777) == 0) return SURETY_OK;
    int number = errno;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return SURETY_OK;
    return surety_fail_errno(err, SURETY_E_SYSTEM, "make the folder, or enter", path, number);
}

surety_status surety_folder_make(const char *path, surety_error *err) {
    char *partial = NULL;
    surety_status status = surety_join(&partial, path, "", "", err);
    for (char *at = partial; status == SURETY_OK && *at; at++) {
        if (*at != '/' || at == partial) continue;
        *at = 0;
        status = make_one(partial, err);
        *at = '/';
    }
    if (status == SURETY_OK) status = make_one(path, err);
    surety_free(partial);
    return status;
}
