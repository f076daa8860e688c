#define _XOPEN_SOURCE 700 /* realpath */
#include "io/write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/lock.h"

enum {
    BUFFER = 1 << 16, /* bytes gathered before a write */
    TRIES = 100,      /* names that may be taken before we give up */
    DIGITS = 8,       /* of a temporary's name */
    SUFFIX = 24       /* room for dot, ".part-" and the digits */
};

struct surety_writer {
    char *target, *folder, *temporary;
    size_t prefix; /* letters of temporary up to its digits, the folder included */
    int mode;      /* of the file that is replaced; -1: a new one */
    int fd;        /* of the temporary, locked; -1: none */
    int nowhere;   /* surety_writing(0) */
    int failed;    /* a write failed: only abort is left */
    size_t used;
    unsigned char buffer[BUFFER];
};

/* ---- the names ---- */

/* The file that path means: links are followed, so that the link stays and its target is replaced. What is
 * there and is not a regular file (/dev/null!) must never be renamed over. */
static surety_status resolve(surety_writer *w, const char *path, surety_error *err) {
    struct stat info;
    int there = stat(path, &info) == 0;
    w->mode = there ? (int)(info.st_mode & 0777) : -1;
    if ((there && !S_ISREG(info.st_mode)) || !*surety_path_name(path)) {
        surety_fail(err, SURETY_E_USAGE, "cannot write it: it is not a regular file");
        surety_fail_expected(err, "the name of a file, new or to be replaced");
        surety_fail_file(err, path);
        return SURETY_E_USAGE;
    }
    char *real = there && lstat(path, &info) == 0 && S_ISLNK(info.st_mode) ? realpath(path, NULL) : NULL;
    surety_status status = surety_join(&w->target, real ? real : path, "", "", err);
    free(real);
    return status;
}

static surety_status split_target(surety_writer *w, surety_error *err) {
    const char *name = surety_path_name(w->target);
    SURETY_TRY(surety_join(&w->folder, name == w->target ? "." : w->target, "/", "", err));
    if (name != w->target) w->folder[name - w->target] = 0;
    SURETY_TRY(surety_alloc(&w->temporary, strlen(w->folder) + strlen(name) + SUFFIX, 1, err));
    w->prefix = (size_t)sprintf(w->temporary, "%s.%s.part-", w->folder, name);
    return SURETY_OK;
}

/* ---- the temporary ---- */

/* Removes what killed runs left behind: temporaries of this name that are ours and that nobody holds. */
static void sweep(surety_writer *w) {
    const char *name = w->temporary + strlen(w->folder);
    size_t length = w->prefix - strlen(w->folder);
    DIR *folder = opendir(w->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strncmp(entry->d_name, name, length) || strlen(entry->d_name) > length + DIGITS) continue;
        strcpy(w->temporary + w->prefix, entry->d_name + length);
        int fd = surety_lock_old(w->temporary);
        if (fd < 0) continue;
        unlink(w->temporary);
        close(fd);
    }
    if (folder) closedir(folder);
}

/* Makes a temporary of a new name that nobody can guess, and locks it. Returns 0, or the system's error
 * number; EEXIST: the name was taken, or a sweeper was quicker than our lock. */
static int make(surety_writer *w) {
    uint32_t digits = 0;
    if (getrandom(&digits, sizeof digits, 0) != sizeof digits) return errno;
    snprintf(w->temporary + w->prefix, DIGITS + 1, "%08x", (unsigned)digits);
    w->fd = open(w->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, w->mode < 0 ? 0666 : 0600);
    if (w->fd < 0) return errno;
    if (surety_lock_new(w->fd, w->temporary)) {
        if (w->mode >= 0) (void)!fchmod(w->fd, (mode_t)w->mode); /* some file systems have no modes */
        return 0;
    }
    unlink(w->temporary); /* if it is still there: nobody else chose this name */
    close(w->fd);
    w->fd = -1;
    return EEXIST;
}

static surety_status open_temporary(surety_writer *w, surety_error *err) {
    int number = EEXIST;
    sweep(w);
    for (int n = 0; n < TRIES && number == EEXIST; n++) {
        number = make(w);
        if (number == 0) return SURETY_OK;
    }
    return surety_fail_errno(err, SURETY_E_SYSTEM, "write", w->target, number);
}

static surety_status check_space(const surety_writer *w, uint64_t bytes, surety_error *err) {
    struct statvfs disk;
    if (fstatvfs(w->fd, &disk) != 0) return SURETY_OK; /* not every file system tells */
    double room = (double)disk.f_bavail * (double)disk.f_frsize;
    if ((double)bytes <= room) return SURETY_OK;
    surety_fail(err, SURETY_E_SYSTEM, "the disk is too full: %.1f MB are needed, %.1f MB are free",
                (double)bytes / 1e6, room / 1e6);
    surety_fail_file(err, w->target);
    return SURETY_E_SYSTEM;
}

/* ---- the life of a writer ---- */

static void release(surety_writer *w) {
    if (w->fd >= 0) close(w->fd); /* the lock goes with it */
    surety_free(w->target);
    surety_free(w->folder);
    surety_free(w->temporary);
    surety_free(w);
}

static int writing = 1;

void surety_writing(int on) {
    writing = on;
}

int surety_is_writing(void) {
    return writing;
}

void surety_writer_abort(surety_writer *w) {
    if (!w) return;
    if (w->fd >= 0 && !w->nowhere) unlink(w->temporary); /* before the lock goes: it is still ours */
    release(w);
}

surety_status surety_writer_open(surety_writer **out, const char *path, uint64_t bytes, surety_error *err) {
    surety_writer *w = NULL;
    *out = NULL;
    SURETY_TRY(surety_alloc(&w, 1, sizeof *w, err));
    w->fd = -1;
    if (!writing) {
        w->nowhere = 1;
        w->fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        *out = w;
        return SURETY_OK;
    }
    surety_status status = resolve(w, path, err);
    if (status == SURETY_OK) status = split_target(w, err);
    if (status == SURETY_OK) status = open_temporary(w, err);
    if (status == SURETY_OK) status = check_space(w, bytes, err);
    if (status != SURETY_OK) {
        surety_writer_abort(w);
        return status;
    }
    *out = w;
    return SURETY_OK;
}

static surety_status write_all(surety_writer *w, const unsigned char *bytes, size_t count,
                               surety_error *err) {
    while (count > 0) {
        ssize_t done = write(w->fd, bytes, count);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            w->failed = 1;
            return surety_fail_errno(err, SURETY_E_SYSTEM, "write", w->target, done < 0 ? errno : ENOSPC);
        }
        bytes += done;
        count -= (size_t)done;
    }
    return SURETY_OK;
}

static surety_status flush(surety_writer *w, surety_error *err) {
    size_t used = w->used;
    w->used = 0;
    return write_all(w, w->buffer, used, err);
}

surety_status surety_writer_append(surety_writer *w, const void *bytes, size_t count, surety_error *err) {
    if (w->failed) return surety_fail(err, SURETY_E_SYSTEM, "an earlier write to %s failed", w->target);
    if (count > BUFFER - w->used) SURETY_TRY(flush(w, err));
    if (count > BUFFER) return write_all(w, bytes, count, err);
    if (count) memcpy(w->buffer + w->used, bytes, count);
    w->used += count;
    return SURETY_OK;
}

/* Makes the rename itself last. Some file systems cannot flush a folder (EINVAL): nothing more can be done.
 */
static surety_status flush_folder(const surety_writer *w, surety_error *err) {
    int fd = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int number = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) close(fd);
    if (number && number != EINVAL)
        return surety_fail_errno(err, SURETY_E_SYSTEM, "flush the folder of", w->target, number);
    return SURETY_OK;
}

surety_status surety_writer_commit(surety_writer *w, surety_error *err) {
    surety_status status = surety_writer_append(w, "", 0, err);
    if (status == SURETY_OK) status = flush(w, err);
    if (status == SURETY_OK && w->nowhere) {
        release(w);
        return SURETY_OK;
    }
    if (status == SURETY_OK && fsync(w->fd) != 0)
        status = surety_fail_errno(err, SURETY_E_SYSTEM, "flush", w->target, errno);
    if (status == SURETY_OK && rename(w->temporary, w->target) != 0)
        status = surety_fail_errno(err, SURETY_E_SYSTEM, "put in place", w->target, errno);
    if (status != SURETY_OK) {
        surety_writer_abort(w);
        return status;
    }
    status = flush_folder(w, err);
    release(w);
    return status;
}

surety_status surety_write_file(const char *path, const void *bytes, size_t count, surety_error *err) {
    surety_writer *w = NULL;
    SURETY_TRY(surety_writer_open(&w, path, count, err));
    surety_status status = surety_writer_append(w, bytes, count, err);
    if (status == SURETY_OK) return surety_writer_commit(w, err);
    surety_writer_abort(w);
    return status;
}

surety_status surety_write_own(const char *path, const void *bytes, size_t count, surety_error *err) {
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        surety_fail(err, SURETY_E_USAGE, "this is a link to another file, which would be overwritten");
        surety_fail_expected(err, "no link of this name: remove it, or take another folder");
        surety_fail_file(err, path);
        return SURETY_E_USAGE;
    }
    return surety_write_file(path, bytes, count, err);
}
