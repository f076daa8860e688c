/* surety verify: a certificate, derived again from raw data. */
#include "cli/cli.h"
#include "cli/shared.h"
#include "surety/certify.h"

static void print_differences(const surety_verification *v) {
    size_t shown = v->differences < SURETY_DIFFERENCES ? v->differences : SURETY_DIFFERENCES;
    printf("does not agree\n\n");
    cli_print_wrapped(v->reason, 0, 0);
    if (!shown) return;
    printf("\n%-26s %-26s %s\n", "field", "certificate", "derived again");
    for (size_t i = 0; i < shown; i++)
        printf("%-26s %-26.24s %.24s\n", v->difference[i].field, v->difference[i].stated,
               v->difference[i].found);
    if (v->differences > shown) printf("and %zu more\n", v->differences - shown);
}

static void print_agreement(const surety_verification *v) {
    printf("agrees (%s)\n\n", v->level);
    cli_print_wrapped(v->claim, 0, 0);
    printf("\n");
    cli_print_copies(&v->copies);
    if (v->tolerance > 0)
        printf(
            "\nThis CPU has no FMA: the certificate may have counted up to %g of the\n"
            "examples too few; its value is %.6f, here it is %.6f.\n",
            v->tolerance, v->value, v->found);
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
    if (status != SURETY_OK || v->agrees) return status;
    c->json = false; /* stdout has its one document */
    c->error.code = SURETY_E_CHECK;
    snprintf(c->error.what, sizeof c->error.what, "%s", v->reason);
    snprintf(c->error.file, sizeof c->error.file, "%s", c->words[0]);
    return SURETY_E_CHECK;
}

static surety_status run(cli *c) {
    surety_verify_settings settings = surety_verify_defaults();
    surety_verification verification;
    cli_text(c, "model", "FILE", &settings.model,
             "the model; unless given, the file that the certificate names, beside the certificate");
    cli_data_file_options(c, &settings.data);
    cli_fresh_options(c, &settings.data);
    surety_status status = cli_parse(c, 1, 1);
    if (status != SURETY_OK || c->helped) return status;
    status = surety_verify(&verification, c->words[0], &settings, &c->run, &c->error);
    cli_progress_end(c);
    return status == SURETY_OK ? answer(c, &verification) : status;
}

const cli_command cli_verify = {
    .name = "verify",
    .usage = "C.json [--model MODEL] [options]",
    .summary = "derive a certificate again from the raw data",
    .text =
        "Opens the data files and the model, draws every perturbation again, counts, computes the bound, "
        "writes "
        "the sentence and compares every field with the certificate. Exit code 0 only if all agree; else 1, "
        "and "
        "which number differs. On a CPU without FMA, counts are compared with a tolerance that is printed "
        "(level numbers instead of bits).",
    .example = "surety verify c.json --model model.safetensors",
    .run = run,
};
