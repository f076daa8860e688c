/* The error record as JSON: here and not in base, because only io knows JSON. */
#include <stdlib.h>

#include "io/json.h"

char *surety_error_json(const surety_error *err) {
    return surety_json_text(SURETY_JSON_OBJECT(
        {"error",
         SURETY_JSON_OBJECT({"code", surety_json_string(surety_status_name(err->code))},
                            {"what", surety_json_string(err->what)}, {"file", surety_json_string(err->file)},
                            {"place", surety_json_string(err->place)},
                            {"expected", surety_json_string(err->expected)})}));
}

void surety_text_free(char *text) {
    free(text);
}
