/* JSON: reading with limits and places, writing in two forms. The only header that includes jansson's; the
 * other rooms of the library use json_t through it. */
#ifndef SURETY_IO_JSON_H
#define SURETY_IO_JSON_H

#include <jansson.h>

#include "base/error.h"

enum {
    SURETY_JSON_DEPTH = 64,              /* deepest nesting that is read */
    SURETY_JSON_SIZE = 256 * 1024 * 1024 /* largest text that is read, bytes: XGBoost writes 100 for a node */
};

/* Reads one JSON document (object or array): duplicate keys, trailing text, zero bytes and bad UTF-8 are
 * refused. The caller owns *out (json_decref). name is what the error calls the file. Errors give line and
 * column. */
surety_status surety_json_parse(json_t **out, const char *text, size_t size, const char *name,
                                surety_error *err);
surety_status surety_json_load(json_t **out, const char *path, surety_error *err);

/* Writing. Both take over root (also NULL, which stands for "no memory while building it") and return text
 * that free() releases, or NULL when there is no memory. Numbers have 17 significant digits, so that they
 * read back as the same double.
 * canonical: keys sorted, no spaces: the same value always gives the same bytes, for digests.
 * text: indented, keys in the order they were set, for people and files. */
char *surety_json_canonical(json_t *root);
char *surety_json_text(json_t *root);
/* The same with jansson's flags (JSON_COMPACT, ..); root stays the caller's. Never json_dumps: without memory
 * it leaves keys out. */
char *surety_json_dump(const json_t *root, size_t flags);

/* Values: a real that is not finite becomes null; a text that is not UTF-8 (a path may be anything) has '?'
 * for every byte beyond ASCII; a NULL text becomes null; a count is below 2^63. */
json_t *surety_json_real(double value);
json_t *surety_json_string(const char *text);
json_t *surety_json_count(uint64_t value);

/* An object with these keys in this order. Takes over the values; NULL if one of them is NULL or there is no
 * memory. */
typedef struct surety_json_entry {
    const char *key;
    json_t *value;
} surety_json_entry;

json_t *surety_json_object(const surety_json_entry *entries, size_t count);
#define SURETY_JSON_OBJECT(...)                                  \
    surety_json_object((const surety_json_entry[]){__VA_ARGS__}, \
                       sizeof((const surety_json_entry[]){__VA_ARGS__}) / sizeof(surety_json_entry))

/* The array with one more value, the object with one more key; both are taken over. NULL if one of them is
 * NULL or there is no memory, so that a loop needs no check of its own. */
json_t *surety_json_append(json_t *array, json_t *value);
json_t *surety_json_put(json_t *object, const char *key, json_t *value);
json_t *surety_json_reals(const double *values, size_t count);

/* A shallow copy with all its keys, or NULL (json_copy leaves out what it has no memory for). */
json_t *surety_json_copy(const json_t *object);

#endif
