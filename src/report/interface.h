/* report/interface.h - the page and the figures of a study (study/interface.h), the page of a model and its
 * certificates.
 *
 * The page is one file that needs nothing else: no network, no script, no font. It reads on a phone and in
 * print, in light and dark. Nothing in it or in the figures depends on the time or the machine's paths: the
 * same results give the same bytes (PNG and PDF: with the same cairo and fonts).
 */
#ifndef SURETY_REPORT_INTERFACE_H
#define SURETY_REPORT_INTERFACE_H

#include "surety/attack.h"
#include "surety/model.h"

typedef struct surety_report_info {
    size_t compared, agree; /* printed values that have one of ours; of these, how many agree */
    size_t tables, figures; /* on the page; files in FOLDER/figures are SVG, PNG and PDF of each */
    size_t bytes;           /* of the page */
} surety_report_info;

/* Reads FOLDER/results.csv and FOLDER/results.json, writes FOLDER/report.html and FOLDER/figures/, safely. A
 * results file that is absent, damaged or of another version is SURETY_E_INPUT with the line. */
surety_status surety_report_make(const char *folder, surety_report_info *info, const surety_run *run,
                                 surety_error *err);

/* ---- the page of a model and its certificates ---- */

/* All is the caller's. */
typedef struct surety_page_settings {
    const surety_model *model; /* NULL: the certificates speak for themselves */
    const char *model_file;    /* its path; NULL with it */
    const surety_data *data;   /* whose T, or fresh rows if there is no T, is measured and drawn; S is not
                                  looked at. NULL: nothing is */
    const char *missing;       /* without data: why, and how to get them */
    surety_threat threat;      /* ball and settings of what is measured; radius 0: the ball is not known */
    const char *const *certificates; /* paths: of the model, or all of votes and no model */
    size_t count;
    int dossier; /* 1: with the section for an auditor, which verifies the certificates */
} surety_page_settings;

enum { SURETY_PAGE_CERTIFICATES = 8 };

typedef struct surety_page_info {
    size_t certificates; /* on the page */
    size_t measured;     /* examples that were measured */
    size_t bytes;
} surety_page_info;

/* Writes one page about a model, about certificates, or both. Certificates of another model than the one that
 * is given: SURETY_E_CHECK. */
surety_status surety_page_make(const char *out, const surety_page_settings *settings, surety_page_info *info,
                               const surety_run *run, surety_error *err);

/* The ball of a certificate, for the features of its model; *tolerance is the caller's
 * (surety_tolerance_free), NULL where there is none. */
surety_status surety_page_ball(surety_ball *ball, surety_tolerance **tolerance, const char *certificate,
                               const surety_model *model, surety_error *err);

/* What a report of this build leaves out, in a sentence; NULL: nothing. */
const char *surety_report_left_out(void);

#endif
