/* Examples as they were read, before classes are picked: labels of all rows, and columns on demand. Every
 * reader fills one, and so do arrays; nothing behind it knows the format. */
#ifndef SURETY_DATA_TABLE_H
#define SURETY_DATA_TABLE_H

#include "data/columns.h"
#include "io/npy.h"
#include "io/sha256.h"

/* The different labels of a table, and which one each row has. */
typedef struct surety_labels {
    size_t count;
    int whole;          /* all are whole numbers: ordered by value; else by bytes */
    const char **names; /* (count), UTF-8; whole numbers without '+' and leading zeros */
    uint32_t *of;       /* (rows): the number of each row's label */
    char *text;         /* what names point into */
} surety_labels;

#define SURETY_NO_CATEGORY UINT32_MAX /* the value is missing */

typedef struct surety_table {
    size_t rows, height, width; /* height = width = 0: not images */
    size_t d;                   /* columns that are used: columns.count */
    double scale;               /* values are divided by it: 255 for bytes, else 1 */
    surety_columns columns;
    surety_labels labels;      /* count 0: rows without labels, where they are optional */
    surety_labels units;       /* count 0: there is no unit column */
    surety_labels groups;      /* of NULL: there is no group column */
    surety_labels *categories; /* (d): of columns of categories; NULL: there are none */
    /* Values (rows, d), NaN where one is missing, are one of: */
    const uint8_t *bytes; /* in file or array */
    surety_npy array;     /* NPY of other types */
    const float *floats;  /* the caller's array or values, stride floats from row to row */
    size_t stride;
    const char *const *const *texts; /* by column of the file: the caller's texts, or NULL; all NULL: none */
    float *values;                   /* ours */
    surety_file file;                /* what bytes points into, if not array */
    const char *name, *labels_name;  /* what messages call the features and the labels */
    size_t first_line;               /* for messages: of row 0; 0: the format has no lines */
    char separator;                  /* CSV, else 0 */
    size_t index_column;             /* used column that numbers the rows, or SURETY_NO_COLUMN */
    uint64_t rounded;                /* values that float rounds */
    size_t files;                    /* 1 or 2: features, labels */
    surety_data_file used[2];
} surety_table;

/* What to read. */
typedef struct surety_source {
    const char *path, *labels; /* labels NULL: beside it */
    const char *role, *labels_role;
    surety_header header; /* CSV */
    char separator;       /* CSV; 0: what fits */
    surety_wanted wanted;
    /* A check of each file's SHA-256 before it is parsed (which: 0 features, 1 labels), or NULL. */
    surety_status (*check)(void *arg, int which, const char *sum, surety_error *err);
    void *check_arg;
} surety_source;

/* Reads columns and labels; rows > 0, d > 0 and one label per row, unless they are optional. used[].path are
 * the table's own. */
surety_status surety_table_open(surety_table *out, const surety_source *source, surety_error *err);
void surety_table_close(surety_table *table); /* all zero is fine */

/* The d values of a row as float, divided by scale; of a category its number among the table's. NaN: missing.
 */
void surety_table_row(const surety_table *table, size_t row, float *out);
float surety_table_value(const surety_table *table, size_t row, size_t column);

/* For readers of arrays without names, when rows, d (of the file) and the values are known: chooses the
 * columns, and counts what float rounds. */
surety_status surety_table_choose(surety_table *table, const surety_wanted *wanted, const char *const *names,
                                  surety_error *err);

/* Gives the categories of `other` the numbers that table has for them; those that it does not have come
 * behind. Both have the same columns. */
surety_status surety_table_join(const surety_table *table, surety_table *other, surety_error *err);

/* Adds to a set error where a feature stands, in the words of its format, and its file. */
void surety_table_place(const surety_table *table, size_t row, size_t column, surety_error *err);

/* The same for a column of the file, used or not. */
void surety_table_file_place(const surety_table *table, size_t row, size_t column, surety_error *err);

/* The same for a row's label. */
void surety_table_label_place(const surety_table *table, size_t row, surety_error *err);

/* ---- the readers; each takes over *file when it succeeds ---- */

/* Unsigned bytes of two or more dimensions, or labels of one. */
surety_status surety_idx_features(surety_table *table, surety_file *file, surety_error *err);
surety_status surety_idx_labels(surety_table *table, const surety_file *file, surety_error *err);

/* Labels of an NPY array of texts; *are: 0 if it is something else. */
surety_status surety_npy_texts(surety_table *table, const surety_file *file, int *are, surety_error *err);

/* Columns and labels. */
surety_status surety_csv_read(surety_table *table, const surety_file *file, const surety_source *source,
                              surety_error *err);
surety_status surety_libsvm_read(surety_table *table, const surety_file *file, const surety_source *source,
                                 surety_error *err);

/* Whether a text file looks like LIBSVM: its first line has an index:value behind the label. */
int surety_libsvm_is(const surety_file *file);

/* ---- labels, for the readers: one for each row of the table; errors say which row ---- */

surety_status surety_labels_integers(surety_table *table, const int64_t *values, surety_error *err);

/* Whole numbers below 2^53. */
surety_status surety_labels_numbers(surety_table *table, const double *values, surety_error *err);

/* Numbers if all of them are, else texts: blanks around them do not count, but two that differ only by blanks
 * or by case are an error. */
surety_status surety_labels_texts(surety_table *table, const surety_text *texts, surety_error *err);

void surety_labels_free(surety_labels *labels); /* all zero is fine */

/* Categories: numbers written in any way are one, texts are as they are without blanks around them; at NULL:
 * missing. Sorted by bytes. A text that is not UTF-8: SURETY_E_INPUT, *bad is its row. */
surety_status surety_categories_make(surety_labels *out, const surety_text *texts, size_t rows, size_t *bad,
                                     surety_error *err);

/* 1 if the text means that a value is missing. */
int surety_text_missing(const surety_text *text);

/* 1 if the text is a decimal number, also an infinite one; hexadecimal and such are not. */
int surety_text_number(const surety_text *text, double *value);

#endif
