/* Running another program. */
#ifndef SURETY_IO_PROGRAM_H
#define SURETY_IO_PROGRAM_H

#include "io/path.h"

enum { SURETY_PROGRAM_WORDS = 64 };

/* A program, found in $PATH, and its arguments. */
typedef struct surety_program {
    const char *words[SURETY_PROGRAM_WORDS + 1]; /* NULL behind the last */
    size_t count;
} surety_program;

/* Appends the words of text, which are parted by spaces; text is cut into them and must live as long. More
 * than SURETY_PROGRAM_WORDS are SURETY_E_USAGE. */
surety_status surety_program_add(surety_program *program, char *text, surety_error *err);
/* Appends one word, which may have spaces. */
surety_status surety_program_word(surety_program *program, const char *word, surety_error *err);

/* Runs it and waits. Standard input, output and error are these files (NULL: nothing). SURETY_E_SYSTEM: it
 * cannot be started. *code: its exit code, or 128 + the signal that ended it. */
surety_status surety_program_run(const surety_program *program, const char *in, const char *out,
                                 const char *errors, int *code, surety_error *err);

#endif
