/* surety/report.h - the page and the figures of a study (surety/study.h).
 *
 * The page is one file that needs nothing else: no network, no script, no font. It reads on a phone and in
 * print, in light and dark. Nothing in it or in the figures depends on the time or the machine's paths: the
 * same results give the same bytes (PNG and PDF: with the same cairo and fonts).
 */
#ifndef SURETY_REPORT_H
#define SURETY_REPORT_H

#include "surety/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct surety_report_info {
    size_t compared, agree; /* printed values that have one of ours; of these, how many agree */
    size_t tables, figures; /* on the page; files in FOLDER/figures are three per figure: SVG, PNG, PDF */
    size_t bytes;           /* of the page */
} surety_report_info;

/* Reads FOLDER/results.csv and FOLDER/results.json, writes FOLDER/report.html and FOLDER/figures/, safely. A
 * results file that is absent, damaged or of another version is SURETY_E_INPUT with the line. */
SURETY_API surety_status surety_report_make(const char *folder, surety_report_info *info,
                                            const surety_run *run, surety_error *err);

#ifdef __cplusplus
}
#endif
#endif
