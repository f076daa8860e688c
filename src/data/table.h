/* Examples as they were read, before classes are picked: labels of all rows, and features on demand. Readers
 * of IDX, NPY and CSV fill one, and so do arrays; nothing behind it knows the format. */
#ifndef SURETY_DATA_TABLE_H
#define SURETY_DATA_TABLE_H

#include "io/npy.h"
#include "io/sha256.h"
#include "surety/data.h"

/* The different labels of a table, and which one each row has. */
typedef struct surety_labels {
    size_t count;
    int whole;          /* all are whole numbers: ordered by value; else by bytes */
    const char **names; /* (count), UTF-8; whole numbers without '+' and leading zeros */
    uint32_t *of;       /* (rows): the number of each row's label */
    char *text;         /* what names point into */
} surety_labels;

typedef struct surety_table {
    size_t rows, d, height, width; /* height = width = 0: not images */
    double scale;                  /* features are divided by it: 255 for bytes, else 1 */
    surety_labels labels;
    /* Features (rows, d) are one of: */
    const uint8_t *bytes; /* in file or array */
    surety_npy array;     /* NPY of other types */
    const float *floats;  /* the caller's array or values, stride floats from row to row */
    size_t stride;
    float *values;                  /* CSV, ours */
    surety_file file;               /* what bytes points into, if not array */
    const char *name, *labels_name; /* what messages call the features and the labels */
    /* For messages about CSV: line of row 0 (0: not CSV), label's column from 0. */
    size_t first_line, label_column;
    char names[SURETY_SHA256_TEXT]; /* CSV with a header: a sum of its names, else empty */
    size_t files;                   /* 1 or 2: features, labels */
    surety_data_file used[2];
} surety_table;

/* What to read. */
typedef struct surety_source {
    const char *path, *labels; /* labels NULL: beside it */
    const char *role, *labels_role;
    const char *label_column; /* CSV */
    surety_header header;
    /* A check of each file's SHA-256 before it is parsed (which: 0 features, 1 labels), or NULL. */
    surety_status (*check)(void *arg, int which, const char *sum, surety_error *err);
    void *check_arg;
} surety_source;

/* Reads features and labels; rows > 0, d > 0 and one label per row. used[].path are the table's own. */
surety_status surety_table_open(surety_table *out, const surety_source *source, surety_error *err);
void surety_table_close(surety_table *table); /* all zero is fine */

/* The d features of a row, scaled, as float. */
void surety_table_row(const surety_table *table, size_t row, float *out);

/* Adds to a set error where a feature stands, in the words of its format, and its file. */
void surety_table_place(const surety_table *table, size_t row, size_t column, surety_error *err);

/* The same for a row's label. */
void surety_table_label_place(const surety_table *table, size_t row, surety_error *err);

/* ---- the readers; each takes over *file when it succeeds ---- */

/* Unsigned bytes of two or more dimensions, or labels of one. */
surety_status surety_idx_features(surety_table *table, surety_file *file, surety_error *err);
surety_status surety_idx_labels(surety_table *table, const surety_file *file, surety_error *err);

/* Labels of an NPY array of texts; *are: 0 if it is something else. */
surety_status surety_npy_texts(surety_table *table, const surety_file *file, int *are, surety_error *err);

/* Features and labels. */
surety_status surety_csv_read(surety_table *table, const surety_file *file, const char *label_column,
                              surety_header header, surety_error *err);

/* ---- labels, for the readers: one for each row of the table; errors say which row ---- */

typedef struct surety_text {
    const char *at;
    size_t length;
} surety_text;

surety_status surety_labels_integers(surety_table *table, const int64_t *values, surety_error *err);

/* Whole numbers below 2^53. */
surety_status surety_labels_numbers(surety_table *table, const double *values, surety_error *err);

/* Numbers if all of them are, else texts: blanks around them do not count, but two that differ only by blanks
 * or by case are an error. */
surety_status surety_labels_texts(surety_table *table, const surety_text *texts, surety_error *err);

void surety_labels_free(surety_labels *labels); /* all zero is fine */

/* 1 if the text is a decimal number, also an infinite one; hexadecimal and such are not. */
int surety_text_number(const surety_text *text, double *value);

#endif
