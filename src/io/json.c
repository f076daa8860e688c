#include "io/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "io/looks.h"

/* jansson reads recursively and has no limit of its own that we could set, so brackets are counted first
 * (outside strings). *longest: at least the bytes of the longest text or number. */
static surety_status check_depth(const char *text, size_t size, size_t *longest, surety_error *err) {
    int depth = 0, quoted = 0;
    size_t line = 1, token = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        token = quoted || !c || !strchr(" \t\r\n{}[],:", c) ? token + 1 : 0;
        if (c == '\n') line++;
        if (quoted && c == '\\') i++, token++; /* the next character cannot end the string */
        if (c == '"') quoted = !quoted;
        if (!quoted && (c == '{' || c == '[')) depth++;
        if (!quoted && (c == '}' || c == ']')) depth--;
        if (token > *longest) *longest = token;
        if (depth > SURETY_JSON_DEPTH) {
            surety_fail(err, SURETY_E_INPUT, "JSON nested deeper than %d levels", SURETY_JSON_DEPTH);
            surety_fail_place(err, "line %zu", line);
            return SURETY_E_INPUT;
        }
    }
    return SURETY_OK;
}

/* jansson gathers each token in one buffer and does not look whether the buffer could grow: without memory a
 * text loses a letter and a number a digit, silently. So we read
 *     ["   .. pad spaces .. ",
 *     the document]
 * where the pad is longer than every token. If it comes back whole, the buffer had grown enough for all that
 * follows. The buffer doubles from 16 bytes; a pad of 2^k spaces has its closing quote where it need not
 * grow.
 */
static surety_status wrap(char **out, size_t *out_size, size_t pad, const char *text, size_t size,
                          surety_error *err) {
    *out_size = pad + size + 6;
    SURETY_TRY(surety_alloc(out, *out_size + 1, 1, err));
    memcpy(*out, "[\"", 2);
    memset(*out + 2, ' ', pad);
    memcpy(*out + 2 + pad, "\",\n", 3);
    memcpy(*out + 5 + pad, text, size);
    (*out)[5 + pad + size] = ']';
    return SURETY_OK;
}

static surety_status no_memory(size_t size, surety_error *err) {
    return surety_fail(err, SURETY_E_MEMORY, "no memory for JSON of %zu bytes", size);
}

static surety_status not_json(const char *text, int line, int column, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "not JSON: %s", text);
    surety_fail_place(err, "line %d, column %d", line, column);
    surety_fail_expected(err, "one JSON object or array");
    return SURETY_E_INPUT;
}

static surety_status wrong_file(const char *text, size_t size, surety_error *err) {
    const char *words = surety_looks_like((const uint8_t *)text, size);
    char what[120];
    if (!words || !strcmp(words, SURETY_LOOKS_TEXT))
        return not_json("it does not begin with { or [", 1, 1, err);
    snprintf(what, sizeof what, "it looks like %s", words);
    return not_json(what, 1, 1, err);
}

/* Did jansson fail for want of memory? It says so, or says nothing, or takes a text that it could not copy
 * for a token that cannot stand there, although a text can: the last byte it read is then the closing quote.
 */
static int was_memory(const json_error_t *e, const char *wrapped) {
    if (!e->text[0] || e->line <= 1) return 1; /* then there may be no code either */
    if (json_error_code(e) == json_error_out_of_memory) return 1;
    int wants_text =
        !strncmp(e->text, "invalid token", 13) || !strncmp(e->text, "string or '}' expected", 22);
    return wants_text && e->position > 0 && wrapped[e->position - 1] == '"';
}

static surety_status parse(json_t **out, const char *text, size_t size, surety_error *err) {
    json_error_t e;
    char *wrapped = NULL;
    size_t longest = 0, pad = 64, wrapped_size = 0;
    if (size > SURETY_JSON_SIZE)
        return surety_fail(err, SURETY_E_INPUT, "JSON of %zu bytes, more than %d", size, SURETY_JSON_SIZE);
    size_t begin = 0;
    while (begin < size && text[begin] && strchr(" \t\r\n", text[begin])) begin++;
    if (begin == size || (text[begin] != '{' && text[begin] != '[')) return wrong_file(text, size, err);
    SURETY_TRY(check_depth(text, size, &longest, err));
    while (pad < longest) pad *= 2;
    SURETY_TRY(wrap(&wrapped, &wrapped_size, pad, text, size, err));
    json_t *list = json_loadb(wrapped, wrapped_size, JSON_REJECT_DUPLICATES, &e);
    json_t *root = json_array_get(list, 1);
    surety_status status = SURETY_OK;
    if (!list)
        status = was_memory(&e, wrapped) ? no_memory(size, err) : not_json(e.text, e.line - 1, e.column, err);
    else if (json_string_length(json_array_get(list, 0)) != pad)
        status = no_memory(size, err);
    else if (json_array_size(list) != 2)
        status = not_json("there is more than one object or array", 1, 1, err);
    surety_free(wrapped);
    if (status == SURETY_OK) *out = json_incref(root);
    json_decref(list);
    return status;
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

/* json_dumps forgets a key whose write failed for lack of memory; json_dumpb fills memory that is there, and
 * two passes that agree have written all. */
char *surety_json_dump(const json_t *root, size_t flags) {
    char *text = NULL;
    flags |= JSON_REAL_PRECISION(17);
    size_t size = root ? json_dumpb(root, NULL, 0, flags) : 0;
    if (!size || surety_alloc(&text, size + 1, 1, NULL) != SURETY_OK) return NULL;
    if (json_dumpb(root, text, size, flags) == size) return text;
    surety_free(text);
    return NULL;
}

static char *dump(json_t *root, size_t flags) {
    char *text = surety_json_dump(root, flags);
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
    if (surety_utf8_valid(text)) return json_string(text);
    char *ascii = NULL;
    if (surety_join(&ascii, text, "", "", NULL) != SURETY_OK) return NULL;
    for (char *c = ascii; *c; c++)
        if ((unsigned char)*c > 127) *c = '?';
    json_t *value = json_string(ascii);
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

json_t *surety_json_append(json_t *array, json_t *value) {
    if (json_array_append_new(array, value) == 0) return array;
    json_decref(array);
    return NULL;
}

json_t *surety_json_put(json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value) == 0) return object;
    json_decref(object);
    return NULL;
}

json_t *surety_json_reals(const double *values, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count && array; i++)
        array = surety_json_append(array, surety_json_real(values[i]));
    return array;
}

json_t *surety_json_copy(const json_t *object) {
    json_t *copy = json_copy((json_t *)(uintptr_t)object);
    if (json_object_size(copy) == json_object_size(object)) return copy;
    json_decref(copy);
    return NULL;
}
