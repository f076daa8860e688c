#include "base/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "surety/version.h"

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
    [SURETY_E_PART] = {"part", 4},
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

static int same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* How many letters must be changed, added, left out, or swapped with their neighbour; three rows of the table
 * at a time. Words longer than a row count as far away. */
static size_t edit_distance(const char *a, const char *b) {
    enum { LONGEST = 63 };
    size_t na = strlen(a), nb = strlen(b), rows[3][LONGEST + 1];
    if (na > LONGEST || nb > LONGEST) return LONGEST;
    for (size_t j = 0; j <= nb; j++) rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[na % 3][nb];
}

const char *surety_nearest(const char *word, const char *const *names, size_t count) {
    const char *best = NULL;
    size_t limit = strlen(word) / 3 > 2 ? strlen(word) / 3 : 2, least = limit + 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, names[i]);
        if (distance < least) least = distance, best = names[i];
    }
    for (size_t i = 0; i < count && !best && strlen(word) > 2; i++)
        if (strstr(names[i], word)) best = names[i]; /* forest: soft-forest */
    return best;
}

const char *surety_version(void) {
    return SURETY_VERSION;
}
