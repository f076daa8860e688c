#include "base/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

static const struct {
    const char *name;
    int exit_code;
} codes[] = {
    [SURETY_OK] = {"ok", 0},
    [SURETY_E_CHECK] = {"check_failed", 1},
    [SURETY_E_USAGE] = {"wrong_usage", 2},
    [SURETY_E_INPUT] = {"bad_input", 3},
    [SURETY_E_MEMORY] = {"no_memory", 4},
    [SURETY_E_SYSTEM] = {"system", 4},
    [SURETY_E_STOPPED] = {"stopped", 4},
};

const char *surety_status_name(surety_status code) {
    return (size_t)code < sizeof codes / sizeof *codes ? codes[code].name : "unknown";
}

int surety_status_exit(surety_status code) {
    return (size_t)code < sizeof codes / sizeof *codes ? codes[code].exit_code : 4;
}

surety_status surety_fail(surety_error *err, surety_status code, const char *what, ...) {
    if (!err || err->code != SURETY_OK) return code;
    err->code = code;
    va_list args;
    va_start(args, what);
    surety_vformat(err->what, sizeof err->what, what, args);
    va_end(args);
    return code;
}

void surety_fail_file(surety_error *err, const char *file) {
    if (err && !err->file[0]) snprintf(err->file, sizeof err->file, "%s", file);
}

void surety_fail_place(surety_error *err, const char *place, ...) {
    if (!err || err->place[0]) return;
    va_list args;
    va_start(args, place);
    surety_vformat(err->place, sizeof err->place, place, args);
    va_end(args);
}

void surety_fail_expected(surety_error *err, const char *expected, ...) {
    if (!err || err->expected[0]) return;
    va_list args;
    va_start(args, expected);
    surety_vformat(err->expected, sizeof err->expected, expected, args);
    va_end(args);
}

/* Levenshtein distance, one row of the table at a time; words longer than the row count as far away. */
static size_t edit_distance(const char *a, const char *b) {
    enum { LONGEST = 63 };
    size_t na = strlen(a), nb = strlen(b), row[LONGEST + 1];
    if (na > LONGEST || nb > LONGEST) return LONGEST;
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

const char *surety_nearest(const char *word, const char *const *names, size_t count) {
    const char *best = NULL;
    size_t limit = strlen(word) / 3 > 2 ? strlen(word) / 3 : 2, least = limit + 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, names[i]);
        if (distance < least) least = distance, best = names[i];
    }
    return best;
}

const char *surety_version(void) {
    return SURETY_VERSION;
}
