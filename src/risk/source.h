/* Where the votes of surety_bound_votes are: files or arrays, of three kinds, with their labels. */
#ifndef SURETY_RISK_SOURCE_H
#define SURETY_RISK_SOURCE_H

#include "io/npy.h"
#include "risk/accumulate.h"

typedef enum surety_ballot {
    SURETY_BALLOT_VOTES,   /* numbers in [-1,1], two classes */
    SURETY_BALLOT_CLASSES, /* class numbers, or SURETY_NO_CLASS */
    SURETY_BALLOT_SCORES   /* K scores */
} surety_ballot;

typedef struct surety_vote_source {
    surety_ballot kind;
    size_t m, n, H, K;
    const char *path; /* NULL: arrays */
    surety_npy file;
    int flat;               /* the file is (m, H) */
    int whole;              /* the votes are whole numbers: signed, whatever their number of classes */
    const float *numbers;   /* array of votes (m, n, H) or scores (m, n, H, K) .. */
    const uint8_t *classes; /* .. or of class numbers (m, n, H) */
    uint8_t *labels;        /* (m) class numbers */
    char **names;           /* (K) of the classes, in one block, or NULL */
} surety_vote_source;

/* Opens what the settings name, finds K and reads the labels. Close it in any case. */
surety_status surety_vote_source_open(surety_vote_source *out, const surety_votes_settings *settings,
                                      surety_error *err);
void surety_vote_source_close(surety_vote_source *source); /* all zero is fine */

/* How many doubles surety_vote_source_add needs as scratch. */
size_t surety_vote_source_scratch(const surety_vote_source *source);

/* Checks example i and adds it. Errors name its place in the file or array. */
surety_status surety_vote_source_add(const surety_vote_source *source, size_t i, double *scratch,
                                     surety_risk *risk, surety_error *err);

#endif
