#include "cli/votes.h"

#include <inttypes.h>
#include <string.h>

#include "cli/shared.h"

cli_votes cli_votes_defaults(void) {
    return (cli_votes){.promise.votes = surety_votes_defaults(), .voter_set = SURETY_REAL};
}

void cli_votes_file_options(cli *c, surety_votes_promise *p) {
    cli_input(
        c, "votes", "V.npy", &p->votes.votes,
        "instead of a model: the answers of any classifier on S, as 'surety bound' takes them: class numbers "
        "of shape (m, 1), or (m, n, 1) on n perturbations of each; votes of several voters");
    cli_input(c, "labels", "Y.npy|Y.txt", &p->votes.labels,
              "with --votes: class numbers of shape (m), or a text with a number or name per line");
    cli_input(c, "weights", "P.npy", &p->votes.prior,
              "with --votes of several voters: their weights, fixed before S was seen; else uniform");
    cli_input(
        c, "rows", "FILE", &p->rows,
        "with --votes: the rows of S, in any form; their SHA-256 is kept, and rows that repeat are counted");
}

void cli_votes_options(cli *c, cli_votes *v) {
    cli_votes_file_options(c, &v->promise);
    cli_text(c, "threat", "TEXT", &v->promise.threat,
             "with --votes: how the perturbations were made, for the sentence. Unless given there are none");
    cli_text(c, "of", "TEXT", &v->promise.of, "with --votes: the name of the classifier, for the sentence");
    cli_size(c, "classes", "K", &v->promise.votes.classes,
             "with --votes: number of classes; 0: found in votes and labels");
    cli_voter_set_option(c, "voters", &v->voter_set, "with --votes: whether a voter only names a class");
}

static void print(const surety_votes_certificate *c, const cli_votes *v, const char *out) {
    cli_print_wrapped(c->claim, 0, 0);
    cli_print("\n%-22s %s\n", "bound", c->bound);
    cli_print("%-22s %.6f\n", "value", cli_limit(c->value, 6));
    cli_print("%-22s m = %" PRIu64 " examples of S, n = %" PRIu64 " votes on each\n", "sizes", c->inputs.m,
              c->inputs.n);
    cli_print("%-22s %" PRIu64 " of %" PRIu64 "\n", "failed", c->counts.max_wrong + c->counts.max_tied,
              c->inputs.m);
    if (c->repeats != SURETY_ABSENT)
        cli_print("%-22s %" PRIu64 " of %" PRIu64 " rows of S\n", "repeat an earlier one", c->repeats,
                  c->inputs.m);
    cli_print("%-22s %.6g%s; %" PRIu64 " look%s\n", "delta", c->delta,
              c->limit_count ? ", split evenly over the classes" : "", c->inputs.looks,
              c->inputs.looks == 1 ? "" : "s");
    for (size_t k = 0; k < c->limit_count; k++)
        cli_print("  class %-20s %8" PRIu64 " of %8" PRIu64 " failed, limit %.6f\n", c->limits[k].label,
                  c->limits[k].failed, c->limits[k].m, cli_limit(c->limits[k].value, 6));
    cli_print("\ncertificate: %s\nverify it:   surety verify %s --votes %s --labels %s", out, out,
              v->promise.votes.votes, v->promise.votes.labels);
    if (v->promise.votes.prior) cli_print(" --weights %s", v->promise.votes.prior);
    if (v->promise.rows) cli_print(" --rows %s", v->promise.rows);
    cli_print("\n");
}

surety_status cli_votes_certify(cli *c, cli_votes *v, const char *out) {
    static surety_votes_certificate certificate;
    v->promise.votes.signed_votes = v->voter_set == SURETY_SIGNED;
    surety_status status = surety_certify_votes(&v->promise, &certificate, &c->run, &c->error);
    cli_progress_end(c);
    if (status == SURETY_OK) {
        surety_look look = surety_votes_certificate_look(&certificate);
        cli_look_certificate(c, &look, certificate.inputs.looks, out);
    }
    if (status == SURETY_OK) status = surety_votes_certificate_save(&certificate, out, &c->error);
    if (status != SURETY_OK) return status;
    if (surety_votes_certificate_repeats(&certificate))
        cli_warn(c,
                 "%" PRIu64 " of the %" PRIu64
                 " rows of S repeat an earlier one. If rows were copied, this certificate promises too much",
                 certificate.repeats, certificate.inputs.m);
    if (certificate.vacuous) cli_say(c, "note: no limit is below 1: this certificate promises nothing");
    if (c->json) return cli_print_json(c, surety_votes_certificate_json(&certificate));
    print(&certificate, v, out);
    return SURETY_OK;
}
