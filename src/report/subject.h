/* What the sections of the page of a model and its certificates share. */
#ifndef SURETY_REPORT_SUBJECT_H
#define SURETY_REPORT_SUBJECT_H

#include "evaluate/profile.h"
#include "io/json.h"
#include "report/draw.h"
#include "report/interface.h"
#include "surety/certify.h"

typedef struct surety_subject {
    const surety_page_settings *s;
    size_t count;
    surety_certificate certificates[SURETY_PAGE_CERTIFICATES]; /* unless of_votes */
    int of_votes; /* 1: the page is about certificates of votes, there is no model and no data */
    surety_votes_certificate votes[SURETY_PAGE_CERTIFICATES];
    const surety_data_info *data; /* NULL: there are none */
    const surety_set *set;        /* T, or the fresh rows */
    surety_profile profile;       /* m = 0: nothing was measured */
} surety_subject;

/* ---- words ---- */

/* Formats, then escapes: for every text that is not written in the source itself. */
void surety_print_words(surety_growing *page, const char *format, ...) SURETY_PRINTF(2);

/* A row of a table of facts: a heading and a value that is formatted and escaped. */
void surety_print_fact(surety_growing *page, const char *heading, const char *format, ...) SURETY_PRINTF(3);

/* A table of facts (headings left) with a caption or none; and its end. */
void surety_print_facts(surety_growing *page, const char *caption);
void surety_print_facts_end(surety_growing *page);

/* A limit in percent, rounded up; a share, rounded to nearest. */
const char *surety_percent(double limit, char text[32]);
const char *surety_share(size_t part, size_t of, char text[48]);

/* The heading of one promise of the page. */
void surety_print_promise_title(surety_growing *page, const surety_subject *subject, size_t which);

/* A clause of the sentence and what it means; note: a definition, or NULL. */
void surety_print_clause(surety_growing *page, const char *words, const char *note, const char *meaning);

/* A table of limits; nothing if there are none. */
void surety_print_limits(surety_growing *page, const surety_class_limit *limits, size_t count,
                         const char *caption, const char *what);

/* A reference to a definition, and all definitions. */
void surety_print_note(surety_growing *page, const char *term);
void surety_page_notes(surety_growing *page);

/* ---- sections ---- */

void surety_page_promise(surety_growing *page, const surety_subject *subject, size_t which);
void surety_page_data(surety_growing *page, const surety_subject *subject);
void surety_page_training(surety_growing *page, const surety_subject *subject);
void surety_page_risks(surety_growing *page, const surety_subject *subject);
surety_status surety_page_examples(surety_growing *page, const surety_subject *subject, surety_error *err);
surety_status surety_page_dossier(surety_growing *page, const surety_subject *subject, const surety_run *run,
                                  surety_error *err);

/* The same for certificates of votes. */
void surety_page_votes_promise(surety_growing *page, const surety_subject *subject, size_t which);
void surety_page_votes_dossier(surety_growing *page, const surety_subject *subject);

/* For an auditor: what is assumed, what would break it, who can tell. */
typedef struct surety_assumption {
    const char *assumed, *broken_by, *evidence; /* HTML */
} surety_assumption;

void surety_print_assumptions(surety_growing *page, const surety_assumption *rows, size_t count);

/* The command that verifies a certificate, with places for files that only the reader knows. */
void surety_print_verify(surety_growing *page, const surety_subject *subject, size_t which);

/* A certificate's curve as a figure; nothing if it has none. */
void surety_print_curve(surety_growing *page, const surety_certificate *certificate);

/* What a radius is in: "standard deviations", "tolerances"; "" where it is in the features' own units. */
const char *surety_subject_unit(const surety_subject *subject);

#endif
