/* Tables and lines about classes that several commands print. names (K): surety_class_names. */
#ifndef SURETY_CLI_CLASSES_H
#define SURETY_CLI_CLASSES_H

#include "surety/evaluate.h"

/* At most so many letters of a name are printed, so many bytes of UTF-8. */
enum { CLI_NAME = 30, CLI_NAME_BYTES = 4 * CLI_NAME + 1 };

/* A name in at most |width| <= CLI_NAME letters: cut, or filled up with blanks on the left (width > 0) or on
 * the right (width < 0) as printf does; 0: cut to CLI_NAME, not filled up. Blanks for what could steer a
 * terminal. Returns out. */
const char *cli_fit(const char *name, int width, char out[CLI_NAME_BYTES]);

/* 1 if the risks of a row are those of T, 0 if there is none and they are those of the fresh rows. */
int cli_has_test(const surety_row *row);

/* R_att of every row by class. Of many classes those with the largest risk in the last row. */
void cli_print_class_risks(const surety_row *rows, size_t count, const char *const *names);

/* What the clean vote answers to each class; of many classes the most frequent confusions. */
void cli_print_confusion(const surety_clean *clean, const char *const *names);

/* Its error beside that of always answering the largest class, and a note where it is no smaller. whose:
 * "clean error on T". */
void cli_print_clean(const surety_clean *clean, const char *whose, const char *const *names);

/* A note if one of several voters has nearly all of the weight. */
void cli_print_dictator(const surety_model *model);

#endif
