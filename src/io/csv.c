#include "io/csv.h"

#include <string.h>

surety_status surety_csv_field(surety_writer *w, const char *text, surety_error *err) {
    if (!text[strcspn(text, ",\"\r\n")]) return surety_writer_append(w, text, strlen(text), err);
    SURETY_TRY(surety_writer_append(w, "\"", 1, err));
    for (size_t part; *text; text += part) {
        part = strcspn(text, "\"") + 1; /* up to a quote, which comes twice */
        int quote = text[part - 1] == '"';
        if (!quote) part--;
        SURETY_TRY(surety_writer_append(w, text, part, err));
        if (quote) SURETY_TRY(surety_writer_append(w, "\"", 1, err));
    }
    return surety_writer_append(w, "\"", 1, err);
}
