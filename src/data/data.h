/* What the files of this room share: the data set, and the way from tables to S', S and T. */
#ifndef SURETY_DATA_DATA_H
#define SURETY_DATA_DATA_H

#include "data/preparation.h"
#include "data/table.h"

struct surety_data {
    surety_set sets[SURETY_SETS];
    struct {
        float *x;
        uint8_t *y;
        uint32_t *row;
        uint64_t *digests;
        uint32_t *unit, *group;
    } own[SURETY_SETS]; /* what the sets point to */
    surety_data_info info;
    char *paths[4];                  /* of info.file */
    surety_preparation *preparation; /* what info says of features points into it */
    char *index_column;
    /* What info says of the classes. */
    char *label_text, *label_column;
    char *group_text;         /* the column of groups */
    const char **group_names; /* (groups), into group_texts */
    char *group_texts;
    const char *labels[SURETY_CLASSES_MOST]; /* into label_text */
    size_t class_m[SURETY_SETS][SURETY_CLASSES_MOST];
    char class_sha256[SURETY_CLASSES_MOST][SURETY_SHA256_TEXT];
};

/* What was read, whoever filled it. */
typedef struct surety_tables {
    surety_table train, test;
    int has_test; /* 0: T comes from train, test is empty */
    /* The columns of train, not fitted; or a copy of the one that was given */
    surety_preparation *preparation;
} surety_tables;

/* What the settings want of columns. */
surety_wanted surety_data_wanted(const surety_data_settings *settings);

/* When train is read: its columns as a preparation, which test must fit. */
surety_status surety_tables_begin(surety_tables *tables, const surety_data_settings *settings, int task,
                                  surety_error *err);

void surety_tables_close(surety_tables *tables); /* all zero is fine */

/* The processes that open the data together, if they meet, as a run. */
static inline surety_run surety_data_together(const surety_data_settings *s) {
    return (surety_run){.everyone = s->everyone && s->everyone->share ? s->everyone : NULL};
}

/* Which labels are classes (src/data/classes.c): fills labels and what info says of them. */
surety_status surety_classes_choose(surety_data *data, const surety_tables *tables,
                                    const surety_data_settings *settings, const surety_task *task,
                                    surety_error *err);

/* The class of each row into out (rows of the table), SURETY_CLASSES_MOST for rows of no class. */
surety_status surety_classes_of_rows(const surety_data_info *info, const surety_table *table, uint8_t *out,
                                     surety_error *err);

/* SURETY_OK if each of more than two classes occurs in S', and more than one class in a T of its own. */
surety_status surety_classes_check_sets(const surety_data_info *info, const surety_tables *tables,
                                        surety_error *err);

/* Makes the data set: checks that the tables fit, picks the classes, splits, checks every feature. task: NULL
 * for own data; given: NULL to split as the settings say. The tables are only read. */
surety_status surety_data_build(surety_data **out, const surety_tables *tables,
                                const surety_data_settings *settings, const surety_task *task,
                                const surety_split *given, surety_error *err);

/* The part of surety_data_validate that does not depend on where the rows come from. */
surety_status surety_data_check_split(const surety_data_settings *settings, surety_error *err);

/* How many classes the settings name; 0: all that occur. And SURETY_E_USAGE: one of them twice. */
size_t surety_data_named(const surety_data_settings *settings);
surety_status surety_data_class_twice(const char *label, surety_error *err);

/* SURETY_E_USAGE with these words. */
surety_status surety_data_usage(surety_error *err, const char *what, const char *expected);

#endif
