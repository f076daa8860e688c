#include "io/lock.h"

#include "io/write.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum taken { TAKEN, BUSY, NO_LOCKS } taken;

static taken try_lock(int fd) {
    while (flock(fd, LOCK_EX | LOCK_NB) != 0)
        if (errno != EINTR) return errno == EWOULDBLOCK ? BUSY : NO_LOCKS;
    return TAKEN;
}

/* Is the open file still the one of that name, a regular one of this user without other names? */
static int is_named(int fd, const char *path) {
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev && S_ISREG(opened.st_mode) && opened.st_uid == geteuid() &&
           opened.st_nlink == 1;
}

int surety_lock_new(int fd, const char *path) {
    return try_lock(fd) != BUSY && is_named(fd, path);
}

int surety_lock_old(const char *path) {
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -1;
    if (try_lock(fd) == TAKEN && is_named(fd, path)) return fd;
    close(fd);
    return -1;
}

/* The file beside path, held. EAGAIN: it went away between opening and locking, so try again. */
static int hold(surety_lock *lock) {
    lock->fd = open(lock->file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock->fd < 0) return errno;
    taken t = try_lock(lock->fd);
    lock->held = t != BUSY && is_named(lock->fd, lock->file);
    if (lock->held) return 0;
    close(lock->fd);
    return t == BUSY ? EWOULDBLOCK : EBUSY;
}

surety_status surety_lock_try(surety_lock *lock, const char *path, surety_error *err) {
    *lock = (surety_lock){0};
    SURETY_TRY(surety_join(&lock->file, path, ".lock", "", err));
    int number = EBUSY;
    for (int tries = 0; tries < 100 && number == EBUSY; tries++) number = hold(lock);
    if (!number || number == EWOULDBLOCK) return SURETY_OK;
    surety_fail_errno(err, SURETY_E_SYSTEM, "lock", lock->file, number);
    surety_lock_release(lock);
    return SURETY_E_SYSTEM;
}

surety_status surety_lock_take(surety_lock *lock, const char *path, surety_error *err) {
    *lock = (surety_lock){0};
    if (!surety_is_writing()) return SURETY_OK; /* another process holds it */
    SURETY_TRY(surety_lock_try(lock, path, err));
    if (lock->held) return SURETY_OK;
    surety_lock_release(lock);
    surety_fail(err, SURETY_E_SYSTEM, "another process is at work on it");
    surety_fail_expected(err, "another file, or that process to end first");
    surety_fail_file(err, path);
    return SURETY_E_SYSTEM;
}

void surety_lock_release(surety_lock *lock) {
    if (lock->held) {
        unlink(lock->file); /* before the lock goes: it is still ours */
        close(lock->fd);
    }
    surety_free(lock->file);
    *lock = (surety_lock){0};
}
