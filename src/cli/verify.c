/* surety verify: a certificate, derived again from raw data. */
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/shared.h"
#include "cli/votes.h"
#include "surety/certify.h"

static void print_differences(const surety_verification *v) {
    size_t shown = v->differences < SURETY_DIFFERENCES ? v->differences : SURETY_DIFFERENCES;
    cli_print("does not agree\n\n");
    cli_print_wrapped(v->reason, 0, 0);
    if (!shown) return;
    cli_print("\n%-26s %-26s %s\n", "field", "certificate", "derived again");
    for (size_t i = 0; i < shown; i++) {
        char field[27], stated[27], found[27];
        cli_print("%-26s %-26s %s\n", cli_line(v->difference[i].field, field, sizeof field),
                  cli_line(v->difference[i].stated, stated, sizeof stated),
                  cli_line(v->difference[i].found, found, sizeof found));
    }
    if (v->differences > shown) cli_print("and %zu more\n", v->differences - shown);
}

static void print_exported(const surety_exported *e) {
    if (!e->checked) return;
    cli_print(
        "\nThe export is what surety writes, byte for byte. Compiled, it passed its %llu test\n"
        "vectors and has the model's bits on ",
        (unsigned long long)e->vectors);
    cli_print(e->rows ? "%llu rows of S.\n" : "them; rows of S were not asked.\n",
              (unsigned long long)e->rows);
    if (!e->names_certificate)
        cli_print("It does not name this certificate: export it with --certificate for that.\n");
}

static void print_agreement(const surety_verification *v) {
    cli_print("agrees (%s)\n\n", v->level);
    cli_print_wrapped(v->claim, 0, 0);
    cli_print("\n");
    if (v->copies.learn) cli_print_copies(&v->copies);
    if (v->retrained) cli_print("\nTrained again, the model has the same bytes.\n");
    print_exported(&v->exported);
    if (v->tolerance > 0)
        cli_print(
            "\nThis CPU has no FMA: the certificate may have counted up to %g of the\n"
            "examples too few. Everything else follows from its counts.\n",
            v->tolerance);
    else if (v->rows_believed)
        cli_print(
            "\nThe file of rows that the certificate names was not given (--rows): how many of\n"
            "them repeat is believed. Everything else follows from votes and labels.\n");
    else if (!v->counted)
        cli_print(
            "\nThe data were not asked: the counts are believed. Everything else follows\n"
            "from them and from the model.\n");
}

/* A certificate that does not agree is the answer of this command, printed on stdout, and exit code 1. */
static surety_status answer(cli *c, const surety_verification *v) {
    surety_status status = SURETY_OK;
    if (c->json)
        status = cli_print_json(c, surety_verification_json(v));
    else if (v->agrees)
        print_agreement(v);
    else
        print_differences(v);
    if (v->test.refuted)
        cli_warn(c, "T REFUTES this certificate: %llu failures of %llu on T have a chance below %.0e",
                 (unsigned long long)v->test.failed, (unsigned long long)v->test.m, SURETY_IMPOSSIBLE);
    if (v->agrees && strcmp(v->level, "bits") != 0) c->exit_code = 5;
    if (status != SURETY_OK || v->agrees) return status;
    c->json = false; /* stdout has its one document */
    c->error.code = SURETY_E_CHECK;
    snprintf(c->error.what, sizeof c->error.what, "%s", v->reason);
    snprintf(c->error.file, sizeof c->error.file, "%s", c->words[0]);
    return SURETY_E_CHECK;
}

/* Says after the first epoch of a training how long all of it will take: rows of S' and S weigh the same. */
typedef struct estimate {
    cli *c;
    double began, rows; /* of both steps, in units of step 1 */
    bool said;
} estimate;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void estimate_progress(void *arg, const surety_progress *p) {
    estimate *e = arg;
    if (!strcmp(p->phase, "step 1") && !e->said) {
        if (!(e->began > 0)) e->began = seconds();
        if (p->text[0] && p->done) { /* an epoch has ended */
            double all = (seconds() - e->began) * (double)p->total / (double)p->done * e->rows;
            cli_progress_end(e->c);
            cli_say(e->c, "training again takes about %.0f s, judging by its first epoch", all);
            e->said = true;
        }
    }
    cli_progress(e->c, p);
}

static estimate estimate_of(cli *c) {
    estimate e = {.c = c, .rows = 1};
    surety_certificate certificate;
    if (surety_certificate_load(c->words[0], &certificate, NULL) != SURETY_OK) return e;
    if (strcmp(certificate.model.objective, "baseline") != 0 && certificate.data.rows_prior)
        e.rows += (double)certificate.data.rows_learn / (double)certificate.data.rows_prior;
    surety_certificate_free(&certificate);
    return e;
}

static surety_status verify_votes(cli *c, const surety_votes_promise *files) {
    surety_verification verification;
    if (!files->votes.votes || !files->votes.labels)
        return cli_wrong(c, "this certificate is about votes: give them again with --votes V and --labels Y");
    surety_status status = surety_verify_votes(c->words[0], files, &verification, &c->run, &c->error);
    cli_progress_end(c);
    return status == SURETY_OK ? answer(c, &verification) : status;
}

static surety_status run(cli *c) {
    surety_verify_settings settings = surety_verify_defaults();
    surety_verification verification;
    bool numbers = false, retrain = false;
    cli_input(c, "model", "FILE", &settings.model,
              "the model; unless given, the file that the certificate names, beside the certificate");
    cli_flag(
        c, "numbers", &numbers,
        "the data are not at hand: the counts are believed, all that follows from them is computed again");
    cli_flag(c, "retrain", &retrain,
             "also train the model again from its recorded settings, and compare the bytes of the two");
    cli_input(
        c, "export", "model.c", &settings.exported,
        "also an export of the model: must be what surety writes, is compiled and asked about rows of S");
    cli_text(c, "cc", "WORDS", &settings.compiler, "its compiler with flags; unless given, cc");
    cli_text(c, "emulator", "WORDS", &settings.emulator,
             "what runs the compiled export: qemu-arm; unless given, this machine");
    surety_votes_promise votes = {.votes = surety_votes_defaults()};
    cli_votes_file_options(c, &votes);
    cli_data_file_options(c, &settings.data);
    cli_fresh_options(c, &settings.data);
    surety_status status = cli_parse(c, 1, 1);
    if (status != SURETY_OK || c->helped) return status;
    if (!settings.exported && (settings.compiler || settings.emulator))
        return cli_wrong(c, "--cc and --emulator are for an export: give --export model.c");
    if (surety_votes_certificate_is(c->words[0]) || votes.votes.votes) return verify_votes(c, &votes);
    estimate e = estimate_of(c);
    settings.numbers = numbers;
    settings.data.everyone = c->run.everyone;
    settings.retrain = retrain;
    if (retrain && !c->quiet) c->run.progress = estimate_progress, c->run.progress_arg = &e;
    status = surety_verify(c->words[0], &settings, &verification, &c->run, &c->error);
    cli_progress_end(c);
    return status == SURETY_OK ? answer(c, &verification) : status;
}

const cli_command cli_verify = {
    .name = "verify",
    .usage = "C.json [--model MODEL] [options]",
    .summary = "derive a certificate again from the raw data",
    .text =
        "Opens the data files and the model, draws every perturbation again, counts, computes "
        "the bound, writes the sentence and compares every field with the certificate. Exit "
        "code 0: all agree, bit for bit. 1: something differs, and what. 5, level numbers: "
        "everything follows from the stated counts, and these were compared with a tolerance "
        "that is printed (this CPU has no FMA), or believed (--numbers; of votes, the rows that "
        "repeat, without --rows). --retrain trusts the model file no further than its settings. "
        "--export also checks the C file of a device (docs/embedded.md).",
    .example = "surety verify c.json --model model.safetensors",
    .run = run,
};
