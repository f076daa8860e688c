/* What the files of this room share. */
#ifndef SURETY_REPORT_REPORT_H
#define SURETY_REPORT_REPORT_H

#include "io/json.h"
#include "report/draw.h"
#include "report/interface.h"
#include "study/interface.h"

/* A study as it is shown. */
typedef struct surety_shown {
    surety_results results; /* of results.csv */
    json_t *json;           /* results.json */
    const json_t *cells;    /* its cells */
} surety_shown;

/* Ours over the seeds beside print; seeds = 0 if there is none. */
surety_compared surety_shown_value(const surety_shown *shown, const surety_printed *key, double *printed);

/* Is there any value for a task and norm? */
int surety_shown_has(const surety_shown *shown, size_t task, surety_norm norm);

/* Is this what a cell found, whatever its seed? */
int surety_shown_is(const json_t *found, const surety_cell *cell);

/* What a cell found, or NULL. */
const json_t *surety_shown_cell(const surety_shown *shown, const surety_cell *cell);

/* ---- figures ---- */

enum { SURETY_PANELS = 6, SURETY_FIGURES = 4 };

/* Panels that stand side by side, in files in `columns` columns. */
typedef struct surety_figure {
    char name[32]; /* of its files */
    char title[128];
    char caption[512]; /* HTML */
    size_t count, columns;
    surety_drawing panels[SURETY_PANELS];
    surety_drawing legend;
} surety_figure;

/* All figures that the results allow, *count of them. */
surety_status surety_figures_make(surety_figure figures[SURETY_FIGURES], size_t *count,
                                  const surety_shown *shown, surety_error *err);
void surety_figures_free(surety_figure *figures, size_t count);

/* FOLDER/figures/NAME.svg; with cairo also .png and .pdf */
surety_status surety_figure_write(const surety_figure *figure, const char *folder, surety_error *err);

/* ---- the page ---- */

/* Its parts, in order. */
void surety_page_head(surety_growing *page, const char *title);
void surety_page_verdict(surety_growing *page, const surety_shown *shown);
void surety_page_worst_case(surety_growing *page, const surety_shown *shown); /* nothing if there is none */
size_t surety_page_tables(surety_growing *page, const surety_shown *shown);   /* how many */
void surety_page_figures(surety_growing *page, const surety_figure *figures, size_t count);
surety_status surety_page_gallery(surety_growing *page, const surety_shown *shown, surety_error *err);
void surety_page_foot(surety_growing *page, const surety_shown *shown);

/* A task's name in words ("Fashion-MNIST: sandal vs boot"). */
void surety_task_title(size_t task, char *title, size_t size);

#endif
