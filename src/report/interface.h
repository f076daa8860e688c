/* report/interface.h - the page and the figures of a study (study/interface.h).
 *
 * The page is one file that needs nothing else: no network, no script, no font. It reads on a phone and in
 * print, in light and dark. Nothing in it or in the figures depends on the time or the machine's paths: the
 * same results give the same bytes (PNG and PDF: with the same cairo and fonts).
 */
#ifndef SURETY_REPORT_INTERFACE_H
#define SURETY_REPORT_INTERFACE_H

#include "surety/base.h"

typedef struct surety_report_info {
    size_t compared, agree; /* printed values that have one of ours; of these, how many agree */
    size_t tables, figures; /* on the page; files in FOLDER/figures are SVG, PNG and PDF of each */
    size_t bytes;           /* of the page */
} surety_report_info;

/* Reads FOLDER/results.csv and FOLDER/results.json, writes FOLDER/report.html and FOLDER/figures/, safely. A
 * results file that is absent, damaged or of another version is SURETY_E_INPUT with the line. */
surety_status surety_report_make(const char *folder, surety_report_info *info, const surety_run *run,
                                 surety_error *err);

/* What a report of this build leaves out, in a sentence; NULL: nothing. */
const char *surety_report_left_out(void);

#endif
