/* surety certify: model, S and attack to a certificate. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/parts.h"
#include "cli/shared.h"
#include "cli/statement.h"
#include "cli/votes.h"
#include "surety/certify.h"
#include "surety/evaluate.h"
#include "surety/train.h"

typedef struct options {
    surety_data_settings data;
    surety_certify_settings certify;
    const char *attack, *out;
    double delta;
    bool despite_test;
    cli_statement statement;
    cli_votes votes;
    char bound_help[1024];
} options;

static surety_status read_looks(const char *text, void *target, surety_error *err) {
    char *end;
    unsigned long long looks = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && looks <= INT64_MAX)
        return *(uint64_t *)target = looks, SURETY_OK;
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not a number of looks", text);
    return SURETY_E_USAGE;
}

/* "first, second, ..": the bounds that certificates use unless told otherwise. */
static const char *names_of(surety_risk_kind risk, surety_q_choice q, char text[160]) {
    surety_bound_id events[SURETY_BOUNDS];
    size_t count = surety_bound_best(risk, q, 1, events), used = 0;
    for (size_t i = 0; i < count && used < 160; i++)
        used += (size_t)snprintf(text + used, 160 - used, "%s%s", i ? ", " : "",
                                 surety_bound_list()[events[i]].name);
    return text;
}

/* All bounds, in the order of their list. */
static const char *bound_names(void) {
    static char text[1024];
    size_t used = (size_t)snprintf(text, sizeof text, "best");
    for (int i = 0; i < SURETY_BOUNDS && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %s", surety_bound_list()[i].name);
    return text;
}

/* "none, unif, ..": the library's list, without a word before it. */
static const char *attack_names(void) {
    static surety_error err;
    surety_threat_kind kind;
    return surety_threat_parse("?", &kind, &err) == SURETY_OK ? "" : err.expected + strlen("one of ");
}

static void word_bound_help(options *o) {
    char learned[160], baseline[160], worst_learned[160], worst_baseline[160];
    snprintf(
        o->bound_help, sizeof o->bound_help,
        "the bound; unless given, the first of %s (baseline: %s; worst-case: %s; both: %s). best: the "
        "smallest of this list and of others on the same events, delta split evenly among the events; of "
        "real votes, the union over the voters is that of their coins",
        names_of(SURETY_RISK_AVERAGED_MAX, SURETY_Q_ANY, learned),
        names_of(SURETY_RISK_AVERAGED_MAX, SURETY_Q_FROZEN, baseline),
        names_of(SURETY_RISK_WORST_CASE, SURETY_Q_ANY, worst_learned),
        names_of(SURETY_RISK_WORST_CASE, SURETY_Q_FROZEN, worst_baseline));
}

static void add_options(cli *c, options *o) {
    word_bound_help(o);
    cli_choice(
        c, "attack", "NAME", &o->attack, attack_names(),
        "none, unif, fgsm, ifgsm, pgd, ifgsmu, pgdu, apgd or, of trees, search; worst-case: every point "
        "of the ball, "
        "whatever the "
        "attack; unless given, the model's defense (worst-case for certified)");
    cli_choice(c, "bound", "NAME|best", &o->certify.bound, bound_names(), o->bound_help);
    cli_other(c, "looks", "N", &o->certify.looks, read_looks, NULL,
              "needed: how many certificates you might have issued after seeing S, this one included; 1 if "
              "model and "
              "settings were decided before anything was seen of S");
    cli_statement_options(c, &o->statement);
    cli_flag(c, "despite-test", &o->despite_test,
             "write a certificate that T refutes: it will say so. Without this it is refused");
    cli_output(c, "out", "C.json", &o->out, "file of the certificate");
    cli_real(c, "delta", "D", &o->delta, "1 - confidence");
    cli_ball_options(c, &o->certify.threat);
    cli_data_file_options(c, &o->data);
    cli_fresh_options(c, &o->data);
    cli_box_option(c, &o->data);
    cli_part_options(c);
    cli_model_decides(c);
    cli_votes_options(c, &o->votes);
}

/* The model's own settings, unless options say otherwise. */
static surety_status settle(cli *c, options *o, const surety_model *model) {
    const surety_model_facts *facts = surety_model_about(model);
    surety_certify_settings own = surety_certify_defaults(model);
    surety_threat *threat = &o->certify.threat;
    threat->kind = own.threat.kind;
    surety_status status = o->attack ? surety_threat_parse(o->attack, &threat->kind, &c->error) : SURETY_OK;
    if (status != SURETY_OK) return status;
    o->certify.delta = isnan(o->delta) ? own.delta : o->delta;
    o->certify.model_file = c->words[0];
    o->certify.despite_test = o->despite_test;
    o->data.group = o->statement.groups;
    if (cli_given(c, "seed") && threat->seed != facts->seed)
        return cli_wrong(c, "a certificate's random numbers are those of the model's seed, %llu",
                         (unsigned long long)facts->seed);
    status = cli_settle_model(c, model, &o->data, threat);
    if (status != SURETY_OK || cli_statement_has_radii(&o->certify)) return status;
    return cli_need_radius(c, threat);
}

enum { NAMES = 22 }; /* columns of the names in the list below the sentence */

static void print_counts(const surety_certificate *c) {
    if (!strcmp(c->risk, surety_risk_kind_name(SURETY_RISK_WORST_CASE))) {
        if (c->data.unit[0])
            cli_print_fact("not proved right", NAMES, "vote %.6f of S", c->risks.averaged_max);
        else
            cli_print_fact("not proved right", NAMES, "vote %.6f of S, voters %.6f under Q",
                           c->risks.averaged_max, c->risks.gmax);
    } else if (c->data.unit[0]) {
        cli_print_fact("risk on perturbed S", NAMES, "averaged-max %.6f", c->risks.averaged_max);
    } else {
        cli_print_fact("risks on perturbed S", NAMES, "averaged %.6f, averaged-max %.6f", c->risks.averaged,
                       c->risks.averaged_max);
        cli_print_fact("surrogates", NAMES, "Rbar %.6f, Gmax %.6f", c->risks.rbar, c->risks.gmax);
    }
}

static void print_inputs(const surety_certificate *c) {
    cli_print("\n");
    cli_print_fact("bound", NAMES, "%s (on the risk of the vote%s)", c->bound,
                   isnan(c->surrogate) ? "" : ", factor 2 included");
    cli_print_fact("value", NAMES, "%.6f", cli_limit(c->value, 6));
    char each[64] = "";
    if (strcmp(c->risk, surety_risk_kind_name(SURETY_RISK_WORST_CASE)) != 0)
        snprintf(each, sizeof each, "n = %" PRIu64 " perturbation%s each, ", c->inputs.n,
                 c->inputs.n == 1 ? "" : "s");
    cli_print_fact("sizes", NAMES, "m = %" PRIu64 "%s of S, %sH = %" PRIu64 " voter%s", c->inputs.m,
                   c->data.unit[0] ? " units" : "", each, c->inputs.voter_count,
                   c->inputs.voter_count == 1 ? "" : "s");
    cli_print_fact("prior", NAMES, "T_p = %" PRIu64 " candidate%s, KL(Q||P) = %.6f%s",
                   c->inputs.priors_compared, c->inputs.priors_compared == 1 ? "" : "s", c->inputs.kl,
                   c->data.fresh      ? " (Q was fixed before the fresh rows)"
                   : c->inputs.frozen ? " (Q is P)"
                                      : "");
    print_counts(c);
    cli_print_fact("delta", NAMES, "%.6g, spent on", c->delta);
    size_t parts = c->limit_count + c->group_count + c->curve_count;
    if (parts)
        cli_print_fact("", NAMES, "%.6g for each of %zu %s: %s; %" PRIu64 " look%s", c->inputs.delta_share,
                       parts,
                       c->limit_count   ? "classes"
                       : c->group_count ? "groups"
                                        : "radii",
                       c->bound, c->inputs.looks, c->inputs.looks == 1 ? "" : "s");
    for (size_t i = 0; i < c->event_count && !parts; i++)
        cli_print_fact("", NAMES, "%.6g: %s; %" PRIu64 " look%s", c->events[i].share, c->events[i].event,
                       c->events[i].looks, c->events[i].looks == 1 ? "" : "s");
}

static void print_copies(const surety_copies *copies) {
    char text[SURETY_COPIES_TEXT];
    surety_copies_text(copies, text);
    cli_print_fact("copies", NAMES, "%s", text);
}

static void print_command(const cli *c, const options *o) {
    cli_print("\ncertificate: %s\nverify it:   surety verify %s --model %s", o->out, o->out, c->words[0]);
    if (o->data.data_dir) cli_print(" --data-dir %s", o->data.data_dir);
    const char *role = o->data.fresh ? "fresh" : "train";
    if (o->data.train) cli_print(" --%s %s", role, o->data.train);
    if (o->data.train_labels) cli_print(" --%s-labels %s", role, o->data.train_labels);
    if (o->data.test) cli_print(" --test %s", o->data.test);
    if (o->data.test_labels) cli_print(" --test-labels %s", o->data.test_labels);
    if (o->data.label_column) cli_print(" --label-column '%s'", o->data.label_column);
    if (o->data.separator) cli_print(" --separator '%c'", o->data.separator);
    cli_print("\n");
}

static surety_status certify(cli *c, options *o, const surety_model *model) {
    surety_data *data = NULL;
    surety_certificate certificate = {0};
    o->data.own_rows = 1;
    surety_status status = settle(c, o, model);
    if (status == SURETY_OK) status = cli_open_data(c, &data, &o->data, &o->certify.threat);
    if (status == SURETY_OK) status = cli_part_begin(c, model, data, &o->certify.threat);
    if (status == SURETY_OK)
        status = surety_certify(model, data, &o->certify, &certificate, &c->run, &c->error);
    cli_progress_end(c);
    if (status == SURETY_OK) {
        surety_look look = surety_certificate_look(&certificate);
        cli_look_certificate(c, &look, certificate.inputs.looks,
                             o->data.fresh ? o->out : c->words[0]); /* which knows its own S alone */
    }
    const char *refused =
        strstr(c->error.what, " refutes"); /* S was looked at, and the message tells of it */
    if (status == SURETY_E_CHECK && refused && refused == c->error.what + 1)
        cli_look(c, model, data, *c->error.what == 'T' ? "refused: T refutes it" : "refused: S refutes it");
    if (status == SURETY_OK) status = surety_certificate_save(&certificate, o->out, &c->error);
    if (status == SURETY_OK && certificate.test.refuted)
        cli_warn(c,
                 "T REFUTES this certificate: %" PRIu64 " failures of %" PRIu64
                 " on T have a chance below %.0e if it is true",
                 certificate.test.failed, certificate.test.m, SURETY_IMPOSSIBLE);
    if (status == SURETY_OK && certificate.vacuous)
        cli_say(c, "note: the limit is %.3f, not below 1: this certificate promises nothing",
                certificate.value);
    if (status == SURETY_OK && c->json) {
        status = cli_print_json(c, surety_certificate_json(&certificate));
    } else if (status == SURETY_OK) {
        cli_print_wrapped(certificate.claim, 0, 0);
        cli_statement_print(&certificate);
        print_inputs(&certificate);
        print_copies(&certificate.copies);
        print_command(c, o);
    }
    surety_certificate_free(&certificate);
    surety_data_free(data);
    return status;
}

/* Of --votes: what is not about a model. */
static surety_status certify_votes(cli *c, options *o) {
    static const char *const fits[] = {"votes",   "labels",  "weights",   "rows",        "threat", "of",
                                       "classes", "voters",  "looks",     "delta",       "out",    "json",
                                       "quiet",   "threads", "per-class", "largest-file"};
    for (size_t i = 0; i < c->given_count; i++) {
        size_t k = 0;
        while (k < sizeof fits / sizeof *fits && strcmp(c->given[i], fits[k]) != 0) k++;
        if (k == sizeof fits / sizeof *fits)
            return cli_wrong(c, "--%s is about a model, and --votes stands for one", c->given[i]);
    }
    surety_votes_settings *votes = &o->votes.promise.votes;
    votes->looks = o->certify.looks;
    if (!isnan(o->delta)) votes->delta = o->delta;
    o->votes.promise.per_class = o->statement.per_class;
    return cli_votes_certify(c, &o->votes, o->out);
}

static surety_status run(cli *c) {
    options o = {.data = surety_data_defaults(), .delta = (double)NAN, .votes = cli_votes_defaults()};
    surety_model *model = NULL;
    o.certify.threat = surety_threat_defaults();
    add_options(c, &o);
    surety_status status = cli_parse(c, 0, 1);
    if (status != SURETY_OK || c->helped) return status;
    if (!c->word_count == !o.votes.promise.votes.votes)
        return cli_wrong(c, "what shall be certified? Give MODEL, or --votes V --labels Y of any classifier");
    if (!o.out && !cli_is_part(c)) return cli_wrong(c, "where should the certificate go? Give --out C.json");
    if (!cli_given(c, "looks"))
        return cli_wrong(
            c,
            "how often could S have been looked at? Say with --looks N how many certificates "
            "you might have issued after seeing S, this one included: the promise pays for each. The "
            "usual answer is --looks 1: model, attack, radius, delta and bound were all decided "
            "before anything was seen of S");
    if (o.votes.promise.votes.votes) return certify_votes(c, &o);
    status = cli_statement_settle(c, &o.statement, &o.certify);
    if (status == SURETY_OK) status = surety_model_load(c->words[0], &model, &c->error);
    if (status == SURETY_OK) status = surety_train_consistent(model, &c->error);
    if (status == SURETY_OK) status = certify(c, &o, model);
    surety_model_free(model);
    return cli_part_end(c, status);
}

const cli_command cli_certify = {
    .name = "certify",
    .usage = "(MODEL | --votes V --labels Y) --looks N --out C.json [options]",
    .summary = "write a certificate: how often the vote can fail, and why",
    .text =
        "Perturbs S by attacking the prior's vote, counts how the posterior's vote fares, computes the bound "
        "and writes a certificate: the claim in one sentence with every number it rests on, which 'surety "
        "verify' derives again. Attack, radius, delta and bound must be decided before S is looked at; seed, "
        "data and split are the model's. Refused: other data than the model's (unless they are declared "
        "fresh), looks that are not paid for. With --votes the certificate is about any classifier, from its "
        "answers on an S that had no part in making it.",
    .example = "surety certify model.safetensors --attack pgdu --looks 1 --out c.json",
    .run = run,
    .has_parts = true,
};
