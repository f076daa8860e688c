/* Locks that end with the process that holds them (flock). Where a file system has none, nothing is refused
 * and nothing is removed. */
#ifndef SURETY_IO_LOCK_H
#define SURETY_IO_LOCK_H

#include "io/path.h"

/* Locks a file that this process has just made: 1, or 0 if its name belongs to another file by now. */
int surety_lock_new(int fd, const char *path);

/* Opens and locks a file that is there, if it is a regular one of this user with one name and nobody holds
 * it. Returns its descriptor, or -1. */
int surety_lock_old(const char *path);

/* A lock on path for as long as it is held, through a file beside it (path.lock), which goes with the lock.
 * Held by another: SURETY_E_SYSTEM, with a sentence about path. All zero holds nothing. */
typedef struct surety_lock {
    int held, fd;
    char *file;
} surety_lock;

surety_status surety_lock_take(surety_lock *lock, const char *path, surety_error *err);

/* The same, but held by another is SURETY_OK: lock->held tells. */
surety_status surety_lock_try(surety_lock *lock, const char *path, surety_error *err);
void surety_lock_release(surety_lock *lock);

#endif
