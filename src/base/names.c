#include "base/names.h"

#include <stdio.h>
#include <string.h>

static int same(const char *a, const char *b) {
    for (; *a && *b; a++, b++) {
        char x = *a == '_' ? '-' : *a, y = *b == '_' ? '-' : *b;
        if (x != y) return 0;
    }
    return *a == *b;
}

surety_status surety_name_find(const char *what, const char *name, const char *const *names, size_t count,
                               size_t *index, surety_error *err) {
    char all[sizeof err->expected - sizeof "one of "] = "";
    for (size_t i = 0; i < count; i++) {
        if (same(name, names[i])) return *index = i, SURETY_OK;
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
    }
    const char *nearest = surety_nearest(name, names, count);
    if (nearest)
        surety_fail(err, SURETY_E_USAGE, "unknown %s '%s': did you mean '%s'?", what, name, nearest);
    else
        surety_fail(err, SURETY_E_USAGE, "unknown %s '%s'", what, name);
    surety_fail_expected(err, "one of %s", all);
    return SURETY_E_USAGE;
}
