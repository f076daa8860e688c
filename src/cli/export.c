/* surety export: a model for others. */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"
#include "surety/certify.h"
#include "surety/model.h"

typedef struct options {
    surety_export_settings export;
    const char *out, *certificate;
} options;

static void print(const options *o, const surety_export_result *r) {
    char upper[64] = "";
    for (size_t i = 0; o->export.prefix[i] && i + 1 < sizeof upper; i++)
        upper[i] = (char)toupper((unsigned char)o->export.prefix[i]);
    cli_print("%s: %llu bytes of constants, %llu of arrays on the stack\n", o->out,
              (unsigned long long)r->data, (unsigned long long)r->stack);
    cli_print("one prediction: at most %llu comparisons, %llu multiply-adds\n",
              (unsigned long long)r->comparisons, (unsigned long long)r->products);
    cli_print("%llu test vectors: compile with -D%s_SELF_CHECK\n", (unsigned long long)r->vectors, upper);
}

static surety_status export(cli *c, options *o) {
    surety_model *model = NULL;
    surety_certificate certificate = {0};
    surety_export_result r;
    surety_status status = surety_model_load(c->words[0], &model, &c->error);
    if (status == SURETY_OK && o->certificate) {
        status = surety_certificate_load(o->certificate, &certificate, &c->error);
        surety_certificate_export(&certificate, &o->export);
    }
    if (status == SURETY_OK) status = surety_model_export(model, o->out, &o->export, &r, &c->error);
    if (status == SURETY_OK && c->json)
        status = cli_print_json(c, surety_export_result_json(&r));
    else if (status == SURETY_OK)
        print(o, &r);
    surety_certificate_free(&certificate);
    surety_model_free(model);
    return status;
}

static surety_status run(cli *c) {
    options o = {.export = surety_export_defaults()};
    cli_text(c, "format", "NAME", &o.export.format, "c: one C99 file without libraries");
    cli_output(c, "out", "FILE", &o.out, "the file, model.c");
    cli_text(c, "prefix", "NAME", &o.export.prefix, "what the names in the file begin with");
    cli_input(c, "certificate", "C.json", &o.certificate,
              "a certificate of this model: its digest and its sentence go into the file's head");
    surety_status status = cli_parse(c, 1, 1);
    if (status != SURETY_OK || c->helped) return status;
    if (!o.out) return cli_wrong(c, "where should the export go? Give --out model.c");
    return export(c, &o);
}

const cli_command cli_export = {
    .name = "export",
    .usage = "MODEL --out model.c [--certificate C.json] [options]",
    .summary = "a model as C, for a device, with the same bits",
    .text =
        "Writes one C99 file that needs no library and allocates nothing: the preparation of columns, the "
        "voters and their vote, with the arithmetic of predict, bit for bit. The file checks what it demands "
        "of the compiler, holds test vectors and says which certificate is about it. verify --export "
        "compiles it and compares.",
    .example = "surety export model.safetensors --out model.c --certificate c.json",
    .run = run,
};
