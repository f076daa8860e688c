/* The frame of the command: options with defaults that cannot drift (help prints the variable), messages,
 * progress, exit codes. A subcommand is one file: it fills a settings struct with the library's defaults,
 * adds options that point into it, parses, calls the library, prints. Only public headers of the library are
 * used here.
 */
#ifndef SURETY_CLI_CLI_H
#define SURETY_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "surety/base.h"
#include "surety/evaluate.h"

typedef struct cli cli;

/* surety WORD..: runs a command, says what went wrong, and gives the exit code. */
int cli_main(int argc, char **argv);

/* A subcommand. run gets the words after the command's name. */
typedef struct cli_command {
    const char *name;
    const char *usage;   /* what follows the name: "MODEL --out FILE [options]" */
    const char *summary; /* one line for `surety help` */
    const char *text;    /* a paragraph for `surety help NAME`, or NULL */
    const char *example; /* a command that works */
    surety_status (*run)(cli *c);
    bool has_parts;    /* --part makes parts of it, which merge puts together (parts.h) */
    const char *first; /* what its first word is chosen from, for the completion; NULL: a file */
} cli_command;

/* Reads a value from the command line into target / shows a value as the command line would give it (for
 * help). */
typedef surety_status (*cli_read_fn)(const char *text, void *target, surety_error *err);
typedef const char *(*cli_show_fn)(const void *target, char *buffer, size_t size);

typedef struct cli_option {
    const char *name;  /* without the dashes */
    const char *value; /* the placeholder in help; NULL for a flag */
    const char *help;
    void *target;
    cli_read_fn read; /* NULL for a flag: sets the bool target */
    cli_show_fn show;
    enum { CLI_NO_FILE, CLI_READ, CLI_WRITTEN } role; /* of the file that the text target names */
    const char *choices; /* "a, b, c" of a text: for the completion, which asks read of all others; or NULL */
} cli_option;

/* A file that the command reads or writes. */
typedef struct cli_file {
    const char *option; /* that names it; NULL: a word, or a file of the data */
    const char *path;
    bool written;
} cli_file;

enum { CLI_OPTIONS = 64, CLI_FILES = 32 };

#define CLI_EXIT_CODES                                                                                     \
    "0 done, 1 a check said no, 2 wrong usage, 3 bad input, 4 the machine failed (disk, memory, signal), " \
    "5 verify: agrees at level numbers."

/* A part of a command's work, or all parts together (parts.h). */
typedef struct cli_part {
    size_t k, of;      /* of --part; of is 0 without it */
    const char *file;  /* of --part-file */
    surety_part *part; /* of this run */
    bool merging;      /* it holds all parts, and is merge's */
    int own;           /* merging: so many words of argv are merge's own, all others are the parts' */
    char about[1024];  /* what parts must have in common */
} cli_part;

struct cli {
    const cli_command *command;
    int argc;
    char **argv; /* the words after the command's name */
    cli_option options[CLI_OPTIONS];
    size_t count;
    const char *given[CLI_OPTIONS]; /* names of options that were given */
    size_t given_count;
    const char **words; /* what is left: MODEL, FILE, ..; allocated by cli_parse */
    size_t word_count;
    cli_file files[CLI_FILES];
    size_t file_count;
    bool json, quiet, helped; /* helped: --help was asked for and printed; return SURETY_OK at once */
    bool stream;              /* --stream, of commands that have it: see surety_streaming */
    enum { CLI_HELP, CLI_MAN, CLI_COMPLETION } helping; /* what --help prints, see cli_help */
    uint64_t largest_file;                              /* bytes, see surety_reading */
    cli_part part;
    int exit_code; /* of a command that succeeded; 0 unless there is more to say */
    surety_run run;
    surety_error error;
};

/* Options. The value that target holds at parse time is the default that help prints; pass an empty
 * name_value "" as default text by leaving a text target NULL. */
void cli_flag(cli *c, const char *name, bool *target, const char *help);
void cli_size(cli *c, const char *name, const char *value, size_t *target, const char *help);
void cli_u64(cli *c, const char *name, const char *value, uint64_t *target, const char *help);
void cli_int(cli *c, const char *name, const char *value, int *target, const char *help);
void cli_real(cli *c, const char *name, const char *value, double *target, const char *help);
void cli_text(cli *c, const char *name, const char *value, const char **target, const char *help);
/* Texts that name a file to be read, a file to be written: cli_parse refuses to write over what is read. */
void cli_input(cli *c, const char *name, const char *value, const char **target, const char *help);
void cli_output(cli *c, const char *name, const char *value, const char **target, const char *help);
/* A text, with the words that it is chosen from. */
void cli_choice(cli *c, const char *name, const char *value, const char **target, const char *choices,
                const char *help);
void cli_other(cli *c, const char *name, const char *value, void *target, cli_read_fn read, cli_show_fn show,
               const char *help);

/* The comparison of files (files.c): of one file with those known, and made known; with those known only; all
 * of the command line, which cli_parse does. Words are files that are read. */
surety_status cli_file_add(cli *c, const char *option, const char *path, bool written);
surety_status cli_file_check(cli *c, const cli_file *file);
surety_status cli_files_note(cli *c);

/* Adds the options every command has, parses, prints help if asked (then c->helped). Wants between min and
 * max words besides the options. */
surety_status cli_parse(cli *c, size_t min_words, size_t max_words);

/* What a command and its options are (help.c): for people, as a man page, or as its part of the completion.
 * Then of all commands: the man page surety(1), the completion for bash. */
void cli_help(const cli *c);
void cli_man(void);
surety_status cli_completion(cli *c);

/* The option that a word of the command line means, by its whole name or a beginning; NULL: none. */
const cli_option *cli_option_of(const cli *c, const char *word);

/* Was the option given on the command line? */
bool cli_given(const cli *c, const char *name);

/* A file that could not be opened or looked at, errno telling why: SURETY_E_INPUT if it is absent, else
 * SURETY_E_SYSTEM. */
surety_status cli_unreadable(cli *c, const char *file);

/* Wrong usage, with a sentence; goes into c->error. */
surety_status cli_wrong(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Printing (print.c): control characters and the like are made visible, whatever the text; line ends stay. */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_print_to(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_put(FILE *to, const char *text);

/* A text from outside as one line, cut where the buffer ends. */
const char *cli_line(const char *text, char *buffer, size_t size);

/* A message for people, on stderr unless --quiet. */
void cli_say(const cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, with --quiet too: what makes a promise doubtful is never left out. */
void cli_warn(const cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints text wrapped to 80 columns behind an indent; the first line starts at column `at`. */
void cli_print_wrapped(const char *text, int indent, int at);

/* One line of a list: a name, padded to width, and what is true of it, wrapped behind it. */
void cli_print_fact(const char *name, int width, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints a JSON text that the library made on stdout and frees it; NULL is "no memory". */
surety_status cli_print_json(cli *c, char *json);

/* Can a file be made there? Asked before long work, so that its result has somewhere to go. */
surety_status cli_check_out(cli *c, const char *path);

/* A limit as it may be quoted with so many digits behind the point: rounded up, because a limit rounded to
 * nearest would promise too much. For printing with "%.*f". */
double cli_limit(double value, int digits);

/* Ends the progress line before anything else is printed. */
void cli_progress_end(cli *c);
void cli_progress(void *arg, const surety_progress *progress);

/* The subcommands. */
extern const cli_command *const cli_commands[];

#endif
