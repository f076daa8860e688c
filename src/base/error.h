/* Filling the error record (surety/base.h). The first error wins: later calls leave a set record alone. */
#ifndef SURETY_BASE_ERROR_H
#define SURETY_BASE_ERROR_H

#include "surety/base.h"

#define SURETY_PRINTF(at) __attribute__((format(printf, at, at + 1)))

/* Records what went wrong and returns code, so that `return surety_fail(...)` reads well: code whether or not
 * there is a record, and whether or not it was set before. */
surety_status surety_fail(surety_error *err, surety_status code, const char *what, ...) SURETY_PRINTF(3);

/* Add to a set record what it does not say yet: the file, the place in it, what was expected. They return
 * nothing: a status must not depend on whether there is a record. */
void surety_fail_file(surety_error *err, const char *file);
void surety_fail_place(surety_error *err, const char *place, ...) SURETY_PRINTF(2);
void surety_fail_expected(surety_error *err, const char *expected, ...) SURETY_PRINTF(2);

/* Runs the call; on failure returns its status from the calling function. */
#define SURETY_TRY(call)                          \
    do {                                          \
        surety_status status_ = (call);           \
        if (status_ != SURETY_OK) return status_; \
    } while (0)

#endif
