/* Structs that are JSON objects, described by tables: one row per key says its type, its range and where in
 * the struct it lies. Writing, strict reading and comparing all walk the same table, so that no key can be
 * written and not checked, or checked and not compared.
 */
#ifndef SURETY_CERTIFY_RECORD_H
#define SURETY_CERTIFY_RECORD_H

#include "io/json.h"

typedef enum surety_field_kind {
    SURETY_FIELD_TEXT,   /* char[size]; may_be_null: "" is null, else it must not be empty */
    SURETY_FIELD_SHA256, /* char[65], 64 lower-case hexadecimal digits */
    SURETY_FIELD_REAL,   /* double in [min, max]; may_be_null: NaN */
    SURETY_FIELD_COUNT,  /* uint64_t in [min, max]; may_be_null: SURETY_ABSENT */
    SURETY_FIELD_FLAG,   /* int, 0 or 1 */
    SURETY_FIELD_OBJECT, /* a struct of its own table */
    SURETY_FIELD_LIST,   /* an array of `min` to `size` structs; how many is a size_t at `count` */
    SURETY_FIELD_COUNTS, /* uint64_t *, an array that is allocated; as many as the size_t at `count`, which
                            several arrays of a struct share */
    SURETY_FIELD_TEXTS,  /* const char **, `min` to `size` texts in one block of memory, as many as the size_t
                            at `count` */
    SURETY_FIELD_REALS   /* double *, an array that is allocated, finite numbers or (null) NaN; as many as the
                            size_t at `count`, which a list of texts before it has set */
} surety_field_kind;

/* In which unit a number that was measured with floating point may be off (surety_record_compare). */
typedef enum surety_field_unit {
    SURETY_UNIT_EXACT,
    SURETY_UNIT_VALUE,    /* a limit on a risk */
    SURETY_UNIT_SHARE,    /* a risk */
    SURETY_UNIT_EXAMPLES, /* a count of examples */
    SURETY_UNIT_VOTES,    /* a count of votes */
    SURETY_UNIT_LOSS,     /* a sum of losses over examples, in units of 2^-32 */
    SURETY_UNIT_LOSSES,   /* a sum of losses over votes, in units of 2^-32 */
    SURETY_UNIT_ANY,      /* a checksum of measured numbers */
    SURETY_UNITS
} surety_field_unit;

typedef struct surety_field surety_field;

typedef struct surety_fields {
    const surety_field *fields;
    size_t count;
} surety_fields;

struct surety_field {
    const char *key;
    surety_field_kind kind;
    size_t offset;
    size_t size;
    double min, max;
    int may_be_null;
    surety_field_unit unit;
    const surety_fields *table; /* OBJECT, LIST */
    size_t element, count; /* LIST: bytes of an element; LIST, COUNTS, TEXTS, REALS: offset of how many */
};

/* The struct as an object, keys in the order of the table. NULL: no memory. */
json_t *surety_record_json(const surety_fields *table, const void *base);

/* Fills a zeroed struct from an object that must have exactly the keys of the table. path ("" at the top) is
 * put before the key that an error names. After a failure the struct can be freed. */
surety_status surety_record_read(const surety_fields *table, void *base, const json_t *object,
                                 const char *path, surety_error *err);

/* Frees the arrays of a struct. */
void surety_record_free(const surety_fields *table, void *base);

/* Called for every field that differs, with both values as text. */
typedef void (*surety_differs_fn)(void *arg, const char *path, const char *stated, const char *found);

/* Compares all fields of two structs. A field agrees if it is the same, bit for bit, or if it has a unit and
 * found exceeds stated by at most allowed[unit] (one-sided; allowed NULL: only bits count). */
void surety_record_compare(const surety_fields *table, const void *stated, const void *found,
                           const char *path, const double allowed[SURETY_UNITS], surety_differs_fn differs,
                           void *arg);

/* A copy of texts in one block of memory (surety_free). */
surety_status surety_record_texts(const char ***out, const char *const *texts, size_t count,
                                  surety_error *err);

/* The decimal number with the fewest digits that reads back as x. */
const char *surety_shortest(double x, char text[32]);

#endif
