/* The columns of a table: what they are called and what each is for. Readers ask for it before they read
 * rows; nothing behind them knows how a file orders its columns. */
#ifndef SURETY_DATA_COLUMNS_H
#define SURETY_DATA_COLUMNS_H

#include "base/memory.h"
#include "surety/data.h"

#define SURETY_NO_COLUMN SIZE_MAX

enum {
    SURETY_COLUMNS_MOST =
        1 << 20,             /* of a text file: more are a mistake, most likely rows and columns swapped */
    SURETY_COLUMN_NAME = 200 /* bytes of a name */
};

typedef enum surety_role {
    SURETY_ROLE_NUMBER,
    SURETY_ROLE_CATEGORY,
    SURETY_ROLE_LABEL,
    SURETY_ROLE_UNIT,
    SURETY_ROLE_DROPPED
} surety_role;

typedef struct surety_columns {
    size_t file;        /* columns of the file */
    int named;          /* they have names of their own; else they are called by their numbers from 1 */
    const char **names; /* (file) */
    uint8_t *roles;     /* (file): surety_role */
    size_t label, unit; /* or SURETY_NO_COLUMN */
    size_t group;       /* the same; it may have another role too */
    size_t count;       /* numbers and categories, */
    size_t *from;       /* (count): which column of the file each is, in the order of the preparation */
    char *text;         /* what names point into */
} surety_columns;

/* What is asked of them. Names or numbers from 1, as surety_data_settings has them. */
typedef struct surety_wanted {
    const char *label;  /* NULL: the last */
    int label_beside;   /* 1: labels are in another file, no column holds them */
    int label_optional; /* 1: rows may have no labels; if they have, the column is found and left out */
    const char *unit;   /* NULL: none */
    const char *group;  /* NULL: none */
    const char *const *drop;
    size_t drop_count;
    const char *const *categorical;
    size_t categorical_count;
    const surety_preparation *preparation; /* NULL: columns are taken in the file's order */
} surety_wanted;

/* A text of the file. */
typedef struct surety_text {
    const char *at;
    size_t length;
} surety_text;

/* Makes the columns of a file; names (count): the header, or NULL. Names are UTF-8. Place and words of errors
 * are those of line 1. */
surety_status surety_columns_make(surety_columns *out, const surety_text *names, size_t count,
                                  const surety_wanted *wanted, surety_error *err);
void surety_columns_free(surety_columns *columns); /* all zero is fine */

/* Every column of the file is used, in its order, as a number. */
int surety_columns_all(const surety_columns *columns);

/* The column that is meant by a name or number, or SURETY_NO_COLUMN. names NULL: numbers only. */
size_t surety_column_find(const char *wanted, const char *const *names, size_t count);

/* 1: the text is a number, or looks like one. */
int surety_column_number(const char *wanted);

#endif
