/* Options that several commands share. A command fills its settings with the library's defaults, adds the
 * groups it wants, parses, and then calls one of the settle functions: they work out what depends on other
 * options and validate the attack (surety_data_open validates the data).
 */
#ifndef SURETY_CLI_SHARED_H
#define SURETY_CLI_SHARED_H

#include "cli/cli.h"
#include "surety/attack.h"
#include "surety/bound.h"
#include "surety/certify.h"
#include "surety/data.h"
#include "surety/model.h"

/* FIRST:LAST:STEP, as an option. */
typedef struct cli_grid {
    double first, last, step;
} cli_grid;
surety_status cli_read_grid(const char *text, void *target, surety_error *err);
const char *cli_show_grid(const void *target, char *buffer, size_t size);

/* Where data are: --data-dir, --train and --test with what belongs to them. For commands that take all else
 * from a model. */
void cli_data_file_options(cli *c, surety_data_settings *data);

/* The same, and which data: --task, --classes, --learn-size, --test-size, --box. */
void cli_data_options(cli *c, surety_data_settings *data);

/* How columns become features: --categorical, --missing, --scale. For commands that make a model, or only
 * look. */
void cli_preparation_options(cli *c, surety_data_settings *data);

/* Of the options about a table, --drop alone. */
void cli_drop_option(cli *c, surety_data_settings *data);

/* --separator alone; 0: it is found out. */
void cli_separator_option(cli *c, char *separator);

/* --classes A,B,.. of a model that is imported. */
void cli_import_classes_option(cli *c, surety_import_settings *import);

/* --box alone: for certificates of models that know of no box. */
void cli_box_option(cli *c, surety_data_settings *data);

/* --fresh, --fresh-labels: for commands whose bounds may come from rows that trained nothing. */
void cli_fresh_options(cli *c, surety_data_settings *data);

/* Opens the data, says what is odd about their columns, and refuses to write over one of their files. *data
 * is the caller's in every case. attack, or NULL: its ball gets the data's box, and the tolerance that
 * --tolerance names or that the data bring (surety_data_tolerance), which lives until the command ends. */
surety_status cli_open_data(cli *c, surety_data **data, const surety_data_settings *settings,
                            surety_threat *attack);

/* --norm --eps --tolerance --steps --step-size --noise --samples --restarts --seed. */
void cli_ball_options(cli *c, surety_threat *attack);

/* For commands with a model, when all options are added: help says which ones the model decides unless they
 * are given (cli_settle_model). */
void cli_model_decides(cli *c);

/* One option whose value is the name of an attack, of a voter set. */
void cli_attack_option(cli *c, const char *name, surety_threat_kind *kind, const char *help);
void cli_voter_set_option(cli *c, const char *name, surety_voter_set *set, const char *help);

/* After cli_parse, for commands without a model: the radius follows the norm, the data's box is the ball's,
 * one seed serves both. */
surety_status cli_settle(cli *c, surety_data_settings *data, surety_threat *attack);

/* The same for commands with a model: what was not given on the command line is taken from the model (its
 * data, ball and seed). The strings stay the model's. */
surety_status cli_settle_model(cli *c, const surety_model *model, surety_data_settings *data,
                               surety_threat *attack);

/* The ball in words: "linf ball of radius 1, in tolerances of 57 features (3 cannot change)". */
const char *cli_ball_words(const surety_ball *ball, surety_scaling scaling, char buffer[160]);

/* Was a radius given on the command line? */
bool cli_radius_given(const cli *c);

/* SURETY_E_USAGE, which says how to give one, if the threat needs a radius and none is known: own data have
 * no usual one. Radius 0 means that it is not known, unless it was given. */
surety_status cli_need_radius(cli *c, const surety_threat *threat);

/* Warns if S is so small that even without a failure the limit would be large. */
void cli_warn_few(const cli *c, size_t m, double delta);

/* A line that counts rows that occur in two sets. */
void cli_print_copies(const surety_copies *copies);

/* Writes a line into the log of looks at S (surety/certify.h). A log that cannot be written is a note, never
 * an error. */
void cli_look(cli *c, const surety_model *model, const surety_data *data, const char *what);

/* The same for a certificate that was made (surety_certificate_look), and a warning if more of this S are in
 * the log than paid says. file: which 'surety looks' lists them. */
void cli_look_certificate(cli *c, const surety_look *look, uint64_t paid, const char *file);

/* A letter for each random event of a table of bounds, in the order in which it meets them: bounds with the
 * same letter hold together. Start with count 0. */
typedef struct cli_letters {
    surety_bound_id events[SURETY_BOUNDS];
    int count;
} cli_letters;

char cli_letter(cli_letters *letters, surety_bound_id event);

#endif
