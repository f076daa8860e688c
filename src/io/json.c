#include "io/json.h"

#include <math.h>
#include <string.h>

#include "io/read.h"

/* jansson reads recursively and has no limit of its own that we could set, so brackets are counted first
 * (outside strings). */
static surety_status check_depth(const char *text, size_t size, surety_error *err) {
    int depth = 0, quoted = 0;
    size_t line = 1;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '\n') line++;
        if (quoted && c == '\\') i++; /* the next character cannot end the string */
        if (c == '"') quoted = !quoted;
        if (!quoted && (c == '{' || c == '[')) depth++;
        if (!quoted && (c == '}' || c == ']')) depth--;
        if (depth > SURETY_JSON_DEPTH) {
            surety_fail(err, SURETY_E_INPUT, "JSON nested deeper than %d levels", SURETY_JSON_DEPTH);
            surety_fail_place(err, "line %zu", line);
            return SURETY_E_INPUT;
        }
    }
    return SURETY_OK;
}

static surety_status parse(json_t **out, const char *text, size_t size, surety_error *err) {
    json_error_t e;
    if (size > SURETY_JSON_SIZE)
        return surety_fail(err, SURETY_E_INPUT, "JSON of %zu bytes, more than %d", size, SURETY_JSON_SIZE);
    SURETY_TRY(check_depth(text, size, err));
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &e);
    if (*out) return SURETY_OK;
    if (json_error_code(&e) == json_error_out_of_memory || !e.text[0]) /* both happen without memory */
        return surety_fail(err, SURETY_E_MEMORY, "no memory for JSON of %zu bytes", size);
    surety_fail(err, SURETY_E_INPUT, "not JSON: %s", e.text);
    surety_fail_place(err, "line %d, column %d", e.line, e.column);
    surety_fail_expected(err, "one JSON object or array");
    return SURETY_E_INPUT;
}

surety_status surety_json_parse(json_t **out, const char *text, size_t size, const char *name,
                                surety_error *err) {
    *out = NULL;
    surety_status status = parse(out, text, size, err);
    if (status != SURETY_OK) surety_fail_file(err, name);
    return status;
}

surety_status surety_json_load(json_t **out, const char *path, surety_error *err) {
    surety_file file;
    *out = NULL;
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_status status = surety_json_parse(out, (const char *)file.data, file.size, path, err);
    surety_file_close(&file);
    return status;
}

static char *dump(json_t *root, size_t flags) {
    char *text = root ? json_dumps(root, flags | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(root);
    return text;
}

char *surety_json_canonical(json_t *root) {
    return dump(root, JSON_COMPACT | JSON_SORT_KEYS);
}

char *surety_json_text(json_t *root) {
    return dump(root, JSON_INDENT(2));
}

json_t *surety_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *surety_json_count(uint64_t value) {
    return value <= INT64_MAX ? json_integer((json_int_t)value) : NULL;
}

json_t *surety_json_string(const char *text) {
    if (!text) return json_null();
    json_t *value = json_string(text);
    if (value) return value;
    char *ascii = NULL;
    if (surety_join(&ascii, text, "", "", NULL) != SURETY_OK) return NULL;
    for (char *c = ascii; *c; c++)
        if ((unsigned char)*c > 127) *c = '?';
    value = json_string(ascii);
    surety_free(ascii);
    return value;
}

json_t *surety_json_object(const surety_json_entry *entries, size_t count) {
    json_t *object = json_object();
    int failed = !object;
    for (size_t i = 0; i < count; i++) /* all of them, so that every value is taken over */
        failed |= json_object_set_new(object, entries[i].key, entries[i].value) != 0;
    if (!failed) return object;
    json_decref(object);
    return NULL;
}
