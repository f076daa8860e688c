/* The files of a study, chosen by the first byte: 's' study.json, 'c' a cell with a digest that fits, 'r'
 * results.csv, 'j' results.json on its way to the page. Results that are written can be read again; no text
 * of a file becomes a tag of the page. */
#include <sys/stat.h>

#include "fuzz.h"
#include "io/json.h"
#include "report/report.h"
#include "study/study.h"

/* A cell that could be: every part that is read of one. */
static const char a_cell[] =
    "c{\"cell\": {\"task\": \"mnist-1v7\", \"norm\": \"l2\", \"voters\": \"signed\", \"defense\": \"none\", "
    "\"seed\": 0}, \"curve\": {\"eps\": [0, 0.5, 1], \"risk\": [0.01, 0.1, 0.5]}, \"gallery\": {\"height\": "
    "1, "
    "\"width\": 2, \"examples\": [{\"row\": 3, \"label\": -1, \"clean_vote\": -0.5, \"attacked_vote\": 0.1, "
    "\"distance\": 1, \"original\": \"00ff\", \"attacked\": \"10f0\"}]}, \"models\": [], \"rows\": "
    "[{\"algorithm\": "
    "\"average-max\", \"attack\": \"pgdu\", \"adversarial_risk\": 0.1, \"averaged_risk\": 0.2, "
    "\"averaged_max_risk\": 0.3, \"tv\": 0.25, \"bounds\": {\"average_max\": 0.5, \"average_max_tv\": 0.6, "
    "\"chromatic_seeger\": 0.4}}], \"seconds\": {}}";

static surety_study_settings settings(void) {
    surety_study_settings s = surety_study_defaults();
    s.epochs = 1, s.samples = 3, s.steps = 2;
    return s;
}

/* The folder of the program is that of the study. */
static const char *folder(void) {
    static char path[400];
    snprintf(path, sizeof path, "%s", fuzz_path(""));
    mkdir(fuzz_path("cells"), 0700);
    return path;
}

static void open_study(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_study_settings s = settings();
    folder(), fuzz_file("study.json", bytes, size);
    fuzz_accepts(surety_study_open(folder(), &s, &err), &err);
}

/* The file with a digest that fits; 0 if it is no JSON. */
static int seal(const uint8_t *bytes, size_t size) {
    char name[SURETY_CELL_NAME], path[SURETY_CELL_NAME + 16];
    surety_cell_name(
        &(surety_cell){.norm = SURETY_L2, .voter_set = SURETY_SIGNED, .defense = SURETY_ATTACK_NONE}, name);
    snprintf(path, sizeof path, "cells/%s.json", name);
    folder();
    return fuzz_sealed_file(path, bytes, size) != NULL;
}

static void check_counts(const surety_results *r) {
    surety_agreement a = surety_results_agreement(r);
    require(a.near <= a.agree && a.agree <= a.either && a.either <= a.compared && a.compared <= r->count);
}

static void read_cell(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_study_settings s = settings();
    surety_results r = {0};
    if (!seal(bytes, size)) return;
    if (!fuzz_accepts(surety_results_write(folder(), &s, &err), &err)) return;
    require(surety_results_load(&r, folder(), &err) == SURETY_OK);
    check_counts(&r);
    surety_results_free(&r);
}

static void read_results(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_results r = {0};
    folder(), fuzz_file("results.csv", bytes, size);
    if (fuzz_accepts(surety_results_load(&r, folder(), &err), &err)) check_counts(&r);
    surety_results_free(&r);
}

static void show(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_shown shown = {0};
    surety_figure figures[SURETY_FIGURES] = {0};
    surety_growing page = {0};
    size_t count = 0;
    if (surety_json_parse(&shown.json, (const char *)bytes, size, "input", &err) != SURETY_OK) return;
    shown.cells = json_object_get(shown.json, "cells");
    require(surety_results_new(&shown.results, 1, &err) == SURETY_OK);
    require(surety_figures_make(figures, &count, &shown, &err) == SURETY_OK);
    surety_page_verdict(&page, &shown);
    surety_page_worst_case(&page, &shown);
    surety_page_figures(&page, figures, count);
    surety_page_tables(&page, &shown);
    fuzz_accepts(surety_page_gallery(&page, &shown, &err), &err);
    surety_page_foot(&page, &shown);
    surety_grow(&page, "", 1);
    require(!page.failed && !strstr(page.bytes, "<x"));
    surety_growing_free(&page);
    surety_figures_free(figures, count);
    surety_results_free(&shown.results);
    json_decref(shown.json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static void (*const read[])(const uint8_t *, size_t) = {open_study, read_cell, read_results, show};
    const char *which = size ? memchr("scrj", bytes[0], 4) : NULL;
    if (which) read[which - "scrj"](bytes + 1, size - 1);
    return 0;
}

void fuzz_seeds(fuzz_take take) {
    surety_error err = SURETY_ERROR_NONE;
    surety_study_settings s = settings();
    require(surety_study_open(folder(), &s, &err) == SURETY_OK);
    fuzz_take_as(take, 's', "study.json");
    take(a_cell, sizeof a_cell - 1);
    read_cell((const uint8_t *)a_cell + 1, sizeof a_cell - 2);
    fuzz_take_as(take, 'r', "results.csv");
    read_cell((const uint8_t *)a_cell + 1, sizeof a_cell - 2);
    fuzz_take_as(take, 'j', "results.json");
}
