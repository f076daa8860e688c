/* Shorthand for the rows of the tables of record.h: one macro for each type of field. */
#ifndef SURETY_CERTIFY_FIELDS_H
#define SURETY_CERTIFY_FIELDS_H

#include "certify/record.h"

#define WHOLE 0x1p63 /* any count that a file can hold */

#define TABLE(name, rows) static const surety_fields name##_table = {name##_rows, sizeof rows / sizeof *rows}

#define TEXT(key, where, bytes) \
    { key, SURETY_FIELD_TEXT, where, bytes, 0, 0, 0, SURETY_UNIT_EXACT, NULL, 0, 0 }
#define TEXT_OR_NULL(key, where, bytes) \
    { key, SURETY_FIELD_TEXT, where, bytes, 0, 0, 1, SURETY_UNIT_EXACT, NULL, 0, 0 }
#define SHA256(key, where, unit) \
    { key, SURETY_FIELD_SHA256, where, 65, 0, 0, 0, SURETY_UNIT_##unit, NULL, 0, 0 }
#define SHA256_OR_NULL(key, where) \
    { key, SURETY_FIELD_SHA256, where, 65, 0, 0, 1, SURETY_UNIT_EXACT, NULL, 0, 0 }
#define REAL(key, where, min, max, unit) \
    { key, SURETY_FIELD_REAL, where, 0, min, max, 0, SURETY_UNIT_##unit, NULL, 0, 0 }
#define REAL_OR_NULL(key, where, min, max, unit) \
    { key, SURETY_FIELD_REAL, where, 0, min, max, 1, SURETY_UNIT_##unit, NULL, 0, 0 }
#define COUNT(key, where, min, max, unit) \
    { key, SURETY_FIELD_COUNT, where, 0, min, max, 0, SURETY_UNIT_##unit, NULL, 0, 0 }
#define COUNT_OR_NULL(key, where, min, max) \
    { key, SURETY_FIELD_COUNT, where, 0, min, max, 1, SURETY_UNIT_EXACT, NULL, 0, 0 }
#define TEXTS(key, where, least, most, number) \
    { key, SURETY_FIELD_TEXTS, where, most, least, 0, 0, SURETY_UNIT_EXACT, NULL, 0, number }
#define REALS(key, where, number) \
    { key, SURETY_FIELD_REALS, where, 0, 0, 0, 0, SURETY_UNIT_EXACT, NULL, 0, number }
#define FLAG(key, where) \
    { key, SURETY_FIELD_FLAG, where, 0, 0, 0, 0, SURETY_UNIT_EXACT, NULL, 0, 0 }
#define OBJECT(key, where, fields) \
    { key, SURETY_FIELD_OBJECT, where, 0, 0, 0, 0, SURETY_UNIT_EXACT, fields, 0, 0 }
#define LIST(key, where, least, most, fields, each, number) \
    { key, SURETY_FIELD_LIST, where, most, least, 0, 0, SURETY_UNIT_EXACT, fields, each, number }

#endif
