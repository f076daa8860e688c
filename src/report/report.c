/* From results.csv and results.json to the page and the figures. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "io/write.h"
#include "report/report.h"

/* ---- what is shown ---- */

static int same_key(const surety_printed *a, const surety_printed *b) {
    return a->task == b->task && a->norm == b->norm && a->algorithm == b->algorithm &&
           a->defense == b->defense && a->attack == b->attack && a->voter_set == b->voter_set &&
           a->quantity == b->quantity;
}

surety_compared surety_shown_value(const surety_shown *shown, const surety_printed *key, double *printed) {
    for (size_t i = 0; i < shown->results.count; i++)
        if (same_key(&shown->results.printed[i], key)) {
            *printed = shown->results.printed[i].value;
            return surety_results_compare(&shown->results, i);
        }
    *printed = (double)NAN;
    return (surety_compared){.first = (double)NAN, .min = (double)NAN, .max = (double)NAN};
}

int surety_shown_has(const surety_shown *shown, size_t task, surety_norm norm) {
    for (size_t i = 0; i < shown->results.count; i++)
        if (shown->results.printed[i].task == task && shown->results.printed[i].norm == norm &&
            surety_results_compare(&shown->results, i).seeds)
            return 1;
    return 0;
}

static int says(const json_t *identity, const char *key, const char *value) {
    const char *text = json_string_value(json_object_get(identity, key));
    return text && !strcmp(text, value);
}

int surety_shown_is(const json_t *found, const surety_cell *cell) {
    size_t tasks;
    const json_t *id = json_object_get(found, "cell");
    return says(id, "task", surety_paper_tasks(&tasks)[cell->task].name) &&
           says(id, "norm", surety_norm_name(cell->norm)) &&
           says(id, "voters", surety_voter_set_name(cell->voter_set)) &&
           says(id, "defense", surety_defense_name(cell->defense)) &&
           (cell->kind ? says(id, "kind", surety_kind_name(cell->kind)) : !json_object_get(id, "kind"));
}

const json_t *surety_shown_cell(const surety_shown *shown, const surety_cell *cell) {
    size_t at;
    const json_t *found;
    json_array_foreach(shown->cells, at, found) {
        const json_t *seed = json_object_get(json_object_get(found, "cell"), "seed");
        if (surety_shown_is(found, cell) && json_integer_value(seed) == (json_int_t)cell->seed) return found;
    }
    return NULL;
}

static surety_status check_version(const json_t *json, surety_error *err) {
    const char *version = json_string_value(json_object_get(json, "surety"));
    if (!version || !json_is_array(json_object_get(json, "cells")))
        return surety_fail(err, SURETY_E_INPUT, "these are not the results of a study");
    if (!strcmp(version, surety_version())) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "these results are of another version: %.32s, not %s", version,
                surety_version());
    surety_fail_expected(err, "a study of this version, or surety %.32s", version);
    return SURETY_E_INPUT;
}

static surety_status load(surety_shown *shown, const char *folder, surety_error *err) {
    char *path = NULL;
    SURETY_TRY(surety_results_load(&shown->results, folder, err));
    SURETY_TRY(surety_join(&path, folder, "/", "results.json", err));
    surety_status status = surety_json_load(&shown->json, path, err);
    if (status == SURETY_OK) status = check_version(shown->json, err);
    if (status != SURETY_OK) surety_fail_file(err, path);
    surety_free(path);
    shown->cells = json_object_get(shown->json, "cells");
    return status;
}

/* ---- writing ---- */

const char *surety_report_left_out(void) {
    if (surety_has_cairo) return NULL;
    return "Built without cairo: figures are SVG only, and the pictures of fooled examples are left out.";
}

static surety_status write_page(const surety_shown *shown, const surety_figure *figures, size_t count,
                                const char *folder, surety_report_info *info, surety_error *err) {
    surety_growing page = {0};
    char *path = NULL;
    surety_status status = SURETY_OK;
    int compares = info->compared > 0; /* 0: cells of the certified defense alone */
    surety_page_head(&page, compares ? "The paper's tables, reproduced" : "Votes against every attack");
    if (compares) surety_page_verdict(&page, shown);
    surety_page_worst_case(&page, shown);
    if (compares) {
        surety_page_figures(&page, figures, count);
        info->tables = surety_page_tables(&page, shown);
        status = surety_page_gallery(&page, shown, err);
    }
    surety_page_foot(&page, shown);
    if (status == SURETY_OK && page.failed)
        status = surety_fail(err, SURETY_E_MEMORY, "no memory for the page");
    if (status == SURETY_OK) status = surety_join(&path, folder, "/", "report.html", err);
    if (status == SURETY_OK) status = surety_write_own(path, page.bytes, page.used, err);
    info->bytes = page.used;
    surety_free(path);
    surety_growing_free(&page);
    return status;
}

static surety_status make(const surety_shown *shown, const char *folder, surety_report_info *info,
                          const surety_run *run, surety_error *err) {
    surety_figure figures[SURETY_FIGURES] = {0};
    size_t count = 0;
    char *path = NULL;
    surety_status status = surety_join(&path, folder, "/", "figures", err);
    if (status == SURETY_OK) status = surety_folder_make(path, err);
    if (status == SURETY_OK) status = surety_figures_make(figures, &count, shown, err);
    for (size_t i = 0; i < count && status == SURETY_OK; i++) {
        surety_report(run, "figures", i, count, "");
        status = surety_stopped(run, err);
        if (status != SURETY_OK || !figures[i].count) continue;
        status = surety_figure_write(&figures[i], folder, err);
        info->figures++;
    }
    if (status == SURETY_OK) status = write_page(shown, figures, count, folder, info, err);
    surety_figures_free(figures, count);
    surety_free(path);
    return status;
}

surety_status surety_report_make(const char *folder, surety_report_info *info, const surety_run *run,
                                 surety_error *err) {
    surety_shown shown = {0};
    *info = (surety_report_info){0};
    surety_status status = load(&shown, folder, err);
    surety_agreement a = surety_results_agreement(&shown.results);
    info->compared = a.compared;
    info->agree = a.agree;
    if (status == SURETY_OK) status = make(&shown, folder, info, run, err);
    surety_results_free(&shown.results);
    json_decref(shown.json);
    return status;
}
