/* surety report: the page and the figures of a study; the page of a model and its certificates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/shared.h"
#include "report/interface.h"
#include "surety/train.h"

/* ---- a study ---- */

static surety_status report_study(cli *c) {
    surety_report_info info;
    if (c->word_count > 1)
        return cli_wrong(c, "a study has a page of its own: give one folder and nothing else");
    if (cli_given(c, "out"))
        return cli_wrong(c, "the page of a study is report.html in its folder: leave out --out");
    surety_status status = surety_report_make(c->words[0], &info, &c->run, &c->error);
    cli_progress_end(c);
    if (status != SURETY_OK) return status;
    if (surety_report_left_out()) cli_say(c, "note: %s", surety_report_left_out());
    if (c->json) {
        cli_print("{\"compared\": %zu, \"agree\": %zu, \"tables\": %zu, \"figures\": %zu, \"bytes\": %zu}\n",
                  info.compared, info.agree, info.tables, info.figures, info.bytes);
        return SURETY_OK;
    }
    if (info.compared) cli_print("%zu of %zu values agree with print\n", info.agree, info.compared);
    cli_print("page: %s/report.html\n", c->words[0]);
    if (info.figures) cli_print("figures: %s/figures\n", c->words[0]);
    return SURETY_OK;
}

/* ---- a model and its certificates ---- */

typedef struct paper {
    surety_page_settings page;
    const char *certificates[SURETY_PAGE_CERTIFICATES];
    surety_model *model;
    surety_data *data;
    surety_data_settings data_settings;
    surety_tolerance *tolerance; /* of a certificate */
    char missing[1600];
    const char *out;
    bool dossier;
} paper;

/* A certificate is JSON, which begins with a brace; a model begins with the length of its header. */
static int is_certificate(const char *path) {
    FILE *file = fopen(path, "rb");
    int first = file ? fgetc(file) : EOF;
    if (file) fclose(file);
    return first == '{';
}

static surety_status sort_words(cli *c, paper *p) {
    for (size_t i = 0; i < c->word_count; i++) {
        if (is_certificate(c->words[i]))
            p->certificates[p->page.count++] = c->words[i];
        else if (p->page.model_file)
            return cli_wrong(c, "a page is about one model: '%s' and '%s' are two", p->page.model_file,
                             c->words[i]);
        else
            p->page.model_file = c->words[i];
    }
    p->page.certificates = p->certificates;
    size_t votes = 0;
    for (size_t i = 0; i < p->page.count; i++) votes += surety_votes_certificate_is(p->certificates[i]) != 0;
    if (votes && (p->page.model_file || votes < p->page.count))
        return cli_wrong(c,
                         "certificates of votes, of which no model is known, have a page of their own: give "
                         "them alone");
    return SURETY_OK;
}

static surety_status open_data(cli *c, paper *p) {
    surety_status status = cli_settle_model(c, p->model, &p->data_settings, &p->page.threat);
    if (status == SURETY_OK) status = cli_open_data(c, &p->data, &p->data_settings, &p->page.threat);
    return status;
}

/* Data that nobody named and that are not there leave a gap on the page, which says why. Data that were named
 * and cannot be read are an error. */
static surety_status find_data(cli *c, paper *p) {
    static const char *const named[] = {"task", "train", "test", "fresh", "data-dir"};
    surety_status status = open_data(c, p);
    int asked = 0;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) asked |= cli_given(c, named[i]);
    if (status == SURETY_OK || status == SURETY_E_MEMORY || status == SURETY_E_STOPPED || asked)
        return status;
    snprintf(p->missing, sizeof p->missing, "The data are not at hand: %s.%s%s%s", c->error.what,
             *c->error.expected ? " Expected: " : "", c->error.expected, *c->error.expected ? "." : "");
    c->error = (surety_error)SURETY_ERROR_NONE;
    surety_data_free(p->data);
    p->data = NULL;
    cli_say(c, "note: nothing was measured. %s", p->missing);
    return SURETY_OK;
}

/* The ball on the page is that of the first certificate, unless options say otherwise. */
static surety_status find_ball(cli *c, paper *p) {
    static const char *const named[] = {"norm", "eps", "tolerance", "box"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (cli_given(c, named[i])) return SURETY_OK;
    if (!p->page.count) return SURETY_OK;
    return surety_page_ball(&p->page.threat.ball, &p->tolerance, p->certificates[0], p->model, &c->error);
}

static surety_status open_all(cli *c, paper *p) {
    if (!p->page.model_file) return SURETY_OK;
    surety_status status = surety_model_load(p->page.model_file, &p->model, &c->error);
    if (status == SURETY_OK) status = surety_train_consistent(p->model, &c->error);
    if (status == SURETY_OK) status = find_data(c, p);
    if (status == SURETY_OK) status = find_ball(c, p);
    p->page.model = p->model;
    p->page.data = p->data;
    p->page.missing = p->missing;
    return status;
}

/* Fresh rows serve as S: drawing them is a look. */
static void log_look(cli *c, const paper *p) {
    if (!p->data || !p->data_settings.fresh || surety_data_set(p->data, SURETY_SET_TEST)->m) return;
    cli_look(c, p->model, p->data, "a page that shows the fresh rows");
    cli_say(c,
            "note: this was a look at the fresh rows: what is decided now counts for certify --looks. With "
            "--test FILE a page is made of other rows");
}

static surety_status write_page(cli *c, paper *p) {
    surety_page_info info;
    surety_status status = surety_page_make(p->out, &p->page, &info, &c->run, &c->error);
    cli_progress_end(c);
    if (status != SURETY_OK) return status;
    if (info.measured) log_look(c, p);
    if (info.measured && surety_report_left_out()) cli_say(c, "note: %s", surety_report_left_out());
    if (c->json)
        cli_print("{\"certificates\": %zu, \"measured\": %zu, \"bytes\": %zu}\n", info.certificates,
                  info.measured, info.bytes);
    else
        cli_print("page: %s\n", p->out);
    return SURETY_OK;
}

static surety_status report_page(cli *c, paper *p) {
    p->page.dossier = p->dossier;
    surety_status status = sort_words(c, p);
    if (status == SURETY_OK && !p->out)
        status = cli_wrong(c, "where should the page go? Give --out FILE.html");
    if (status == SURETY_OK) status = cli_check_out(c, p->out);
    if (status == SURETY_OK) status = open_all(c, p);
    if (status == SURETY_OK) status = write_page(c, p);
    surety_tolerance_free(p->tolerance);
    surety_model_free(p->model);
    surety_data_free(p->data);
    return status;
}

static surety_status run(cli *c) {
    paper p = {.data_settings = surety_data_defaults()};
    struct stat about;
    p.page.threat = surety_threat_defaults();
    cli_data_options(c, &p.data_settings);
    cli_fresh_options(c, &p.data_settings);
    cli_ball_options(c, &p.page.threat);
    cli_output(c, "out", "FILE", &p.out, "the page of a model or of certificates");
    cli_flag(
        c, "dossier", &p.dossier,
        "with a section for an auditor: evidence chain, assumptions, verification, regulators' objectives");
    cli_model_decides(c);
    surety_status status = cli_parse(c, 1, SURETY_PAGE_CERTIFICATES);
    if (status != SURETY_OK || c->helped) return status;
    for (size_t i = 0; i < c->word_count; i++)
        if (stat(c->words[i], &about)) return cli_unreadable(c, c->words[i]);
    if (!stat(c->words[0], &about) && S_ISDIR(about.st_mode)) return report_study(c);
    return report_page(c, &p);
}

const cli_command cli_report = {
    .name = "report",
    .usage = "STUDY|MODEL|CERTIFICATE.. [--out FILE] [options]",
    .summary = "a page for a model, its certificates, or a study",
    .text =
        "A model, certificates or both: one page that needs nothing else, with what is promised and what "
        "not, "
        "the data, the training, risks, curves and examples of the test set T. Data and ball are those of "
        "the model and the first certificate unless given; without data the page says what is missing. A "
        "folder that 'surety reproduce' made: report.html and figures/ as SVG, PNG and PDF in it.",
    .example = "surety report model.safetensors c.json --out page.html",
    .run = run,
};
