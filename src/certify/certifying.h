/* A certificate in the making: what certify.c and statements.c share. */
#ifndef SURETY_CERTIFY_CERTIFYING_H
#define SURETY_CERTIFY_CERTIFYING_H

#include "certify/certificate.h"
#include "surety/evaluate.h"

typedef struct surety_certifying {
    const surety_model *model;
    const surety_model_facts *facts;
    const surety_data *data;
    int fresh;                /* S was declared fresh: the vote of Q is fixed before it */
    int units;                /* examples are units of several rows */
    size_t stated_groups;     /* without data: groups of the certificate that is computed again */
    surety_weighting against; /* the vote that is attacked, which stands for the prior: fresh: Q, else P */
    uint64_t priors;          /* candidates among which S chose */
    const surety_certify_settings *s;
    surety_threat threat;
    int best;
    const surety_bound_info *named; /* unless best */
    surety_bound_id events[SURETY_BOUNDS];
    size_t event_count;
    surety_ledger *ledger;
    surety_risks risks;
    surety_certificate *c;
} surety_certifying;

/* ---- certify.c ---- */

/* Risks on a set at the radius of w->threat. */
surety_status surety_certifying_measure(surety_risks *risks, const surety_certifying *w,
                                        surety_set_name which, const surety_run *run, surety_error *err);

/* The share of delta of part number `part` of the statement (a class, a radius), which is spent by this. */
surety_status surety_certifying_spend(surety_certifying *w, size_t part, double *share, surety_error *err);

/* The limit of the bound, at most 1, if `failed` of m examples fail, for an event of this share. */
surety_status surety_certifying_limit(const surety_certifying *w, uint64_t m, uint64_t failed, double share,
                                      double *value, surety_error *err);

/* As much of text as there is room for, in whole UTF-8 characters. */
void surety_certificate_copy(char *out, size_t size, const char *text);

/* ---- assume.c: what remains of the limit if more is assumed ---- */

/* Does what is assumed make sense, and fit the statement? Asked before S is seen. */
surety_status surety_certifying_check_assumed(const surety_certifying *w, surety_error *err);

/* Fills w->c->assumed, from the value and counts that are there. */
surety_status surety_certifying_assume(surety_certifying *w, surety_error *err);

/* ---- statements.c: one row of a table for each statement ---- */

typedef struct surety_statement_row {
    const char *name;
    int counts; /* it needs a bound that counts failures of a vote that S did not choose */
    int worst;  /* and the worst case */
    /* Are the settings of the statement valid? Asked before S is seen. */
    surety_status (*settle)(surety_certifying *w, surety_error *err);
    size_t (*parts)(const surety_certifying *w); /* events: parts of the statement that share delta */
    /* What makes part number `part` an event of its own: words for its radius, and for what follows. */
    void (*name_part)(const surety_certifying *w, size_t part, char radius[64], char what[32]);
    /* Looks at S: fills the counts that the statement keeps in the certificate, w->risks, and the radius of
     * w->threat that the certificate speaks of. */
    surety_status (*survey)(surety_certifying *w, const surety_run *run, surety_error *err);
    /* The same from the counts of another certificate; w->risks are there. */
    surety_status (*recall)(surety_certifying *w, const surety_certificate *stated, surety_error *err);
    /* All numbers that follow from these counts, value and vacuous among them. */
    surety_status (*compute)(surety_certifying *w, surety_error *err);
    /* The settings that made this certificate. */
    void (*settings)(const surety_certificate *c, surety_certify_settings *s);
} surety_statement_row;

/* What a certificate says that it states; NULL: nothing that this version knows. */
const surety_statement_row *surety_statement_find(const char *name);
const surety_statement_row *surety_statement_about(surety_statement statement);
surety_statement surety_statement_of(const surety_statement_row *row);

#endif
