/* The error record as JSON: here and not in base, because only io knows JSON. */
#include <jansson.h>
#include <stdlib.h>

#include "surety/base.h"

char *surety_error_json(const surety_error *err) {
    json_t *json =
        json_pack("{s:{s:s,s:s,s:s,s:s,s:s}}", "error", "code", surety_status_name(err->code), "what",
                  err->what, "file", err->file, "place", err->place, "expected", err->expected);
    char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    return text;
}

void surety_text_free(char *text) {
    free(text);
}
