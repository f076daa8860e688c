/* surety monitor: outcomes of a deployed vote against its certificate. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/shared.h"
#include "surety/certify.h"

typedef struct options {
    const char *labels, *state, *model;
    surety_data_settings data; /* fresh: rows whose vote is computed */
    bool from_start;
    double alpha;
    char beside[4096]; /* the state that was not asked for */
} options;

typedef struct watch {
    surety_certificate_head certificate;
    surety_monitor monitor;
} watch;

static surety_status bad_line(cli *c, const char *file, uint64_t line, const char *text) {
    char shown[40];
    c->error.code = SURETY_E_INPUT;
    snprintf(c->error.what, sizeof c->error.what, "'%s' is not an outcome",
             cli_line(text, shown, sizeof shown));
    snprintf(c->error.place, sizeof c->error.place, "line %" PRIu64, line);
    snprintf(c->error.expected, sizeof c->error.expected,
             "1 (the vote failed) or 0 (it was right) on each line");
    snprintf(c->error.file, sizeof c->error.file, "%s", file);
    return SURETY_E_INPUT;
}

/* Outcomes of the stream that are counted already: --from-start. */
static uint64_t seen_before(const options *o, const watch *w) {
    return o->from_start ? w->monitor.seen : 0;
}

static surety_status too_few(cli *c, const char *file, uint64_t seen) {
    c->error.code = SURETY_E_INPUT;
    snprintf(c->error.what, sizeof c->error.what, "it has fewer outcomes than were seen, %" PRIu64, seen);
    snprintf(c->error.expected, sizeof c->error.expected,
             "all outcomes from the first on; or no --from-start");
    snprintf(c->error.file, sizeof c->error.file, "%s", file);
    return SURETY_E_INPUT;
}

static surety_status unreadable(cli *c, const char *file, const char *why) {
    snprintf(c->error.file, sizeof c->error.file, "%s", file);
    snprintf(c->error.what, sizeof c->error.what, "cannot read it: %s", why);
    return c->error.code = SURETY_E_INPUT;
}

/* Adds the outcomes. From a pipe the state is saved once a second too: there is no file to read again. */
static surety_status add_lines(cli *c, const options *o, watch *w, FILE *in) {
    int pipe = in == stdin;
    char text[64];
    uint64_t line = 0, seen = seen_before(o, w), skip = seen;
    time_t saved = time(NULL);
    while (fgets(text, sizeof text, in)) {
        text[strcspn(text, "\r\n")] = 0;
        line++;
        if (!*text) continue;
        if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0) return bad_line(c, o->labels, line, text);
        if (skip)
            skip--;
        else
            surety_monitor_add(&w->monitor, *text == '1');
        if (c->run.stop && *c->run.stop && !pipe) return c->error.code = SURETY_E_STOPPED;
        if (c->run.stop && *c->run.stop) break;
        if (pipe && time(NULL) != saved) {
            surety_status status =
                surety_monitor_save(&w->monitor, w->certificate.digest, o->state, &c->error);
            if (status != SURETY_OK) return status;
            saved = time(NULL);
        }
    }
    if (ferror(in) && errno != EINTR) return unreadable(c, o->labels, strerror(errno));
    return skip && !pipe ? too_few(c, o->labels, seen) : SURETY_OK;
}

static surety_status add_file(cli *c, const options *o, watch *w) {
    FILE *in = strcmp(o->labels, "-") ? fopen(o->labels, "r") : stdin;
    if (!in) return unreadable(c, o->labels, strerror(errno));
    surety_status status = add_lines(c, o, w, in);
    if (in != stdin) fclose(in);
    return status;
}

/* ---- rows with labels ---- */

/* Is the promise about this row? One by groups is about those that it lists. */
static bool is_promised(const watch *w, const surety_data *data, const surety_set *set, size_t i) {
    const surety_certificate_head *head = &w->certificate;
    for (size_t g = 0; g < head->group_count; g++)
        if (!strcmp(head->groups[g], surety_data_describe(data)->group_names[set->group[i]])) return true;
    return !head->group_count;
}

/* Rows are outcomes; of a model with units these are, in the order of their first rows. */
static surety_status count_rows(cli *c, const options *o, watch *w, const surety_model *model,
                                const surety_data *data) {
    const surety_set *set = surety_data_set(data, SURETY_SET_LEARN);
    surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
    uint8_t *classes = malloc(set->m), *failed = calloc(set->m, 1);
    uint64_t seen = seen_before(o, w);
    size_t count = set->unit ? set->units : 0, others = 0;
    c->error.code = classes && failed ? SURETY_OK : SURETY_E_MEMORY;
    surety_status status = c->error.code;
    if (status == SURETY_OK)
        status = surety_vote_classes(&vote, set->x, set->stride, set->m, classes, &c->run, &c->error);
    for (size_t i = 0; i < set->m && status == SURETY_OK; i++) {
        if (!is_promised(w, data, set, i))
            others++;
        else
            failed[set->unit ? set->unit[i] : count++] |= classes[i] != set->y[i]; /* a tie is a failure */
    }
    if (status == SURETY_OK && seen > count) status = too_few(c, o->data.train, seen);
    if (others)
        cli_warn(c, "%zu of %zu rows are of groups that the promise is not about: they are not counted",
                 others, set->m);
    for (size_t i = (size_t)seen; i < count && status == SURETY_OK; i++)
        surety_monitor_add(&w->monitor, failed[i]);
    free(classes);
    free(failed);
    return status;
}

/* Rows that trained the model say little about it; a few may be equal by chance. */
static void warn_if_known(const cli *c, const watch *w, const surety_model *model, const surety_data *data) {
    if (!strcmp(surety_data_describe(data)->set_sha256[SURETY_SET_LEARN], w->certificate.learn)) {
        cli_warn(c, "these rows are the S of the certificate: the promise was made of their outcomes");
        return;
    }
    if (surety_model_imported(model)) return;
    surety_error known = SURETY_ERROR_NONE;
    if (surety_model_check_fresh(model, surety_data_describe(data), &known) != SURETY_OK)
        cli_warn(c, "%s: these outcomes say less than they seem to", known.what);
}

/* The vote of the certified model on rows in their order; rows of other classes are not its inputs. */
static surety_status add_rows(cli *c, options *o, watch *w) {
    surety_model *model = NULL;
    surety_data *data = NULL;
    surety_threat threat = surety_threat_defaults();
    char sum[65];
    surety_status status = surety_model_load(o->model, &model, &c->error);
    if (status == SURETY_OK) status = surety_model_sha256(model, sum, &c->error);
    if (status == SURETY_OK && strcmp(sum, w->certificate.answers) != 0) {
        c->error.code = status = SURETY_E_CHECK;
        snprintf(c->error.what, sizeof c->error.what, "this is not the certified model: its SHA-256 is %s",
                 sum);
        snprintf(c->error.file, sizeof c->error.file, "%s", o->model);
    }
    if (status == SURETY_OK) status = cli_settle_model(c, model, &o->data, &threat);
    o->data.copies = SURETY_COPIES_KEEP; /* every row is an outcome */
    if (w->certificate.group_count) o->data.group = w->certificate.group_column;
    if (status == SURETY_OK) status = cli_open_data(c, &data, &o->data, NULL);
    if (status == SURETY_OK) warn_if_known(c, w, model, data);
    if (status == SURETY_OK) status = count_rows(c, o, w, model, data);
    cli_progress_end(c);
    surety_data_free(data);
    surety_model_free(model);
    return status;
}

/* What is watched, where it is not one limit for all inputs. */
static void print_about(const surety_certificate_head *head) {
    char text[sizeof head->groups + 1024];
    size_t used;
    if (!isnan(head->assumed)) {
        snprintf(text, sizeof text,
                 "The certificate's limit under a condition, %.6f, is another promise and not watched.",
                 cli_limit(head->assumed, 6));
        cli_print_wrapped(text, 0, 0);
    }
    if (!head->group_count) return;
    used = (size_t)snprintf(text, sizeof text,
                            "Only inputs of the %zu group%s by '%s' that are listed in the certificate "
                            "belong to it (",
                            head->group_count, head->group_count == 1 ? "" : "s", head->group_column);
    for (size_t g = 0; g < head->group_count; g++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", g ? ", " : "", head->groups[g]);
    snprintf(text + used, sizeof text - used,
             "), and it is the largest of their limits, that of '%s': of others nothing is promised.",
             head->groups[head->largest]);
    cli_print_wrapped(text, 0, 0);
}

static void print_state(const watch *w) {
    const surety_monitor *m = &w->monitor;
    double limit = surety_monitor_limit(m);
    cli_print("%" PRIu64 " of %" PRIu64 " failed; promised: at most %.6f\n", m->failed, m->seen,
              cli_limit(w->certificate.value, 6));
    print_about(&w->certificate);
    cli_print("Evidence against the promise: %.3g times as likely under a larger risk; alarm at %g.\n",
              exp(surety_monitor_evidence(m)), 1 / m->alpha);
    if (m->promise >= 1)
        cli_print("The limit that is watched is not below 1: no outcome can refute it.\n");
    else if (m->alarm)
        cli_print("ALARM at outcome %" PRIu64
                  ": with the promised risk so many failures come, ever, with a\n"
                  "chance of %g or less. The promise no longer holds, or never did.\n",
                  m->alarm, m->alpha);
    else
        cli_print("The promise holds so far.\n");
    cli_print("By these outcomes alone at most %.6f fail, with confidence %g %%, if nothing drifts.\n",
              cli_limit(limit, 6), 100 * (1 - m->alpha));
}

static surety_status not_clean(cli *c) {
    c->error.code = SURETY_E_CHECK;
    snprintf(c->error.what, sizeof c->error.what,
             "this certificate limits failures on perturbations, which may be right where the answer to the "
             "input itself is wrong: an alarm over rows could be false");
    snprintf(c->error.expected, sizeof c->error.expected,
             "outcomes on inputs that are perturbed as its sentence says, by --labels; or a certificate with "
             "--attack worst-case or none");
    return SURETY_E_CHECK;
}

static surety_status follow(cli *c, options *o, watch *w) {
    const char *digest = w->certificate.digest;
    surety_status status = surety_certificate_head_load(c->words[0], &w->certificate, &c->error);
    if (status == SURETY_OK && w->certificate.of_votes && o->data.fresh)
        return cli_wrong(
            c,
            "a certificate of votes knows no model that could answer the rows of --fresh: give the "
            "outcomes by --labels");
    if (status == SURETY_OK && o->data.fresh && !w->certificate.clean) return not_clean(c);
    if (status == SURETY_OK && w->certificate.distinct)
        cli_warn(c, "this promise is about distinct inputs: count each once, or an alarm may be false");
    if (status == SURETY_OK)
        status = surety_monitor_start(w->certificate.value, o->alpha, &w->monitor, &c->error);
    if (status == SURETY_OK) status = surety_monitor_load(digest, o->state, &w->monitor, &c->error);
    if (status != SURETY_OK || (!o->labels && !o->data.fresh)) return status;
    status = o->labels ? add_file(c, o, w) : add_rows(c, o, w);
    return status == SURETY_OK ? surety_monitor_save(&w->monitor, digest, o->state, &c->error) : status;
}

static surety_status check(cli *c, const options *o) {
    if (o->labels && o->data.fresh)
        return cli_wrong(c, "--labels are outcomes, --fresh are rows whose outcomes are computed: give one");
    if (o->data.fresh && !o->model)
        return cli_wrong(c, "which model answers the rows of --fresh? Give --model MODEL");
    if (o->from_start && !o->labels && !o->data.fresh)
        return cli_wrong(c, "--from-start is about the outcomes: give --labels or --fresh");
    return SURETY_OK;
}

static surety_status run(cli *c) {
    options o = {.alpha = 0.05, .data = surety_data_defaults()};
    watch w = {.monitor = {.promise = 0}};
    cli_text(c, "labels", "FILE|-", &o.labels,
             "outcomes since the last call, one per line in the order of arrival: 1 the vote failed, 0 it "
             "was right");
    cli_fresh_options(c, &o.data);
    cli_input(c, "model", "MODEL", &o.model, "with --fresh: the certified model, which answers its rows");
    cli_text(c, "label-column", "NAME", &o.data.label_column,
             "CSV of --fresh: the labels' column; unless given, the model's");
    cli_flag(c, "from-start", &o.from_start,
             "the outcomes are all since deployment, not since the last call: those that were seen are "
             "skipped, so that a call can be made again after any interruption");
    cli_output(c, "state", "FILE", &o.state,
               "where the monitor keeps what it has seen; C.json.monitor unless given");
    cli_real(c, "alpha", "A", &o.alpha, "chance of a false alarm, ever");
    surety_status status = cli_parse(c, 1, 1);
    if (status == SURETY_OK && !c->helped) status = check(c, &o);
    if (status != SURETY_OK || c->helped) return status;
    if (!o.state) {
        int length = snprintf(o.beside, sizeof o.beside, "%s.monitor", c->words[0]);
        if (length >= (int)sizeof o.beside) return cli_wrong(c, "the name of the certificate is too long");
        o.state = o.beside;
        status = cli_file_add(c, "state", o.beside, true);
    }
    if (status == SURETY_OK && o.labels && strcmp(o.labels, "-") != 0)
        status = cli_file_check(c, &(cli_file){"labels", o.labels, false});
    if (status == SURETY_OK) status = follow(c, &o, &w);
    if (status == SURETY_OK && w.monitor.alarm) c->exit_code = 1;
    if (status == SURETY_OK && c->json)
        return cli_print_json(c, surety_monitor_json(&w.monitor, &w.certificate));
    if (status == SURETY_OK) print_state(&w);
    return status;
}

const cli_command cli_monitor = {
    .name = "monitor",
    .usage = "C.json [--labels FILE|- | --fresh TABLE --model MODEL] [options]",
    .summary = "does a promise still hold after deployment?",
    .text =
        "Adds outcomes of the deployed vote and says whether the certificate's promise holds so far, or is "
        "refuted "
        "(alarm, exit 1). If the promise is true, an alarm is raised, ever, with probability alpha at most. "
        "A file of "
        "outcomes counts whole or, after an error or a kill, not at all; cut the stream into files as you "
        "like. "
        "With --fresh the vote is computed from rows with labels, for a certificate by --attack worst-case "
        "or none; where units are counted, all rows of a unit belong into one file. Without both the state "
        "is "
        "shown.",
    .example = "surety monitor c.json --labels outcomes.txt --from-start",
    .run = run,
};
