#include "cli/shared.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static surety_status bad(surety_error *err, const char *text, const char *expected) {
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not %s", text, expected);
    return SURETY_E_USAGE;
}

/* "A,B": two whole numbers. */
static surety_status read_classes(const char *text, void *target, surety_error *err) {
    surety_data_settings *s = target;
    char *comma, *end;
    errno = 0;
    s->classes[0] = strtoll(text, &comma, 10);
    if (comma == text || *comma != ',') return bad(err, text, "two labels A,B");
    s->classes[1] = strtoll(comma + 1, &end, 10);
    if (end == comma + 1 || *end || errno) return bad(err, text, "two labels A,B");
    s->classes_given = 1;
    return SURETY_OK;
}

/* "LO,HI" or "none". */
static surety_status read_box(const char *text, void *target, surety_error *err) {
    surety_data_settings *s = target;
    char *comma, *end;
    s->boxed = strcmp(text, "none") != 0;
    if (!s->boxed) return SURETY_OK;
    s->box_lo = strtod(text, &comma);
    if (comma == text || *comma != ',') return bad(err, text, "LO,HI or none");
    s->box_hi = strtod(comma + 1, &end);
    if (end == comma + 1 || *end || !(s->box_lo < s->box_hi) || !isfinite(s->box_hi - s->box_lo))
        return bad(err, text, "LO,HI with LO < HI, or none");
    return SURETY_OK;
}

static const char *show_box(const void *target, char *buffer, size_t size) {
    const surety_data_settings *s = target;
    snprintf(buffer, size, s->boxed ? "%g,%g" : "none", s->box_lo, s->box_hi);
    return buffer;
}

void cli_data_options(cli *c, surety_data_settings *s) {
    cli_text(c, "task", "NAME", &s->task, "one of the six tasks that 'surety data list' shows");
    cli_text(c, "train", "FILE", &s->train, "own data instead: IDX, NPY or CSV, plain or .gz");
    cli_text(c, "test", "FILE", &s->test, "own test data");
    cli_text(c, "train-labels", "FILE", &s->train_labels, "labels, if they are not beside the features");
    cli_text(c, "test-labels", "FILE", &s->test_labels, "the same for the test data");
    cli_text(c, "label-column", "NAME", &s->label_column,
             "CSV: name or number (from 1) of the labels [the last]");
    cli_other(c, "classes", "A,B", s, read_classes, NULL,
              "labels that become -1 and +1 [the two that occur]");
    cli_size(c, "learn-size", "M", &s->learn_size, "examples in S, which give the guarantee");
    cli_size(c, "test-size", "M", &s->test_size, "own data without --test: examples in T");
    cli_text(c, "data-dir", "DIR", &s->data_dir,
             "where datasets are [$SURETY_DATA, the user's cache folder, /usr/share/datasets]");
    cli_other(c, "box", "LO,HI", s, read_box, show_box, "range of every feature; none: unbounded");
    cli_u64(c, "seed", "N", &s->seed, "of all random numbers");
}

static surety_status read_norm(const char *text, void *target, surety_error *err) {
    return surety_norm_parse(text, target, err);
}
static const char *show_norm(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return surety_norm_name(*(const surety_norm *)target);
}
static surety_status read_profile(const char *text, void *target, surety_error *err) {
    return surety_profile_parse(text, target, err);
}
static const char *show_profile(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return surety_profile_name(*(const surety_profile *)target);
}
static surety_status read_set(const char *text, void *target, surety_error *err) {
    return surety_voter_set_parse(text, target, err);
}
static const char *show_set(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return surety_voter_set_name(*(const surety_voter_set *)target);
}

void cli_attack_options(cli *c, surety_attack_settings *s) {
    s->ball.radius = NAN;
    cli_other(c, "norm", "NORM", &s->ball.norm, read_norm, show_norm, "l2, linf or l1");
    cli_real(c, "eps", "B", &s->ball.radius, "radius of the ball [l2: 1, linf: 0.1, l1: 10]");
    cli_size(c, "steps", "K", &s->steps, "steps of an attack");
    cli_real(c, "step-size", "S", &s->step_size, "length of a step; 0 is eps / steps");
    cli_real(c, "noise", "A", &s->noise, "noise of pgdu and ifgsmu, uniform in [-A, A]");
    cli_size(c, "samples", "N", &s->samples, "perturbations per example of pgdu and ifgsmu");
    cli_size(c, "restarts", "N", &s->restarts, "random starts of unif, pgd and pgdu; the best counts");
    cli_other(c, "profile", "NAME", &s->profile, read_profile, show_profile,
              "theory, or published: as the paper's tables were really made");
}

surety_status cli_attack_finish(cli *c, surety_attack_settings *s, const surety_data_settings *data) {
    static const double usual[] = {[SURETY_L2] = 1, [SURETY_LINF] = 0.1, [SURETY_L1] = 10};
    if (!cli_given(c, "eps")) s->ball.radius = usual[s->ball.norm];
    s->ball.has_box = data->boxed;
    s->ball.lo = data->box_lo;
    s->ball.hi = data->box_hi;
    s->seed = data->seed;
    return surety_attack_validate(s, &c->error);
}

void cli_voter_option(cli *c, surety_voter_set *set) {
    cli_other(c, "voters", "SET", set, read_set, show_set, "signed: sign(h) votes, real: h votes");
}
