/* What the files of this room share. */
#ifndef SURETY_MODEL_MODEL_H
#define SURETY_MODEL_MODEL_H

#include "data/preparation.h"
#include "io/json.h"
#include "surety/model.h"
#include "voters/voters.h"

enum { SURETY_MODEL_ROWS = SURETY_SET_LEARN + 1 }; /* the sets whose rows are remembered */

struct surety_model {
    surety_voters *voters;
    double *prior, *posterior; /* (H) */
    surety_model_facts facts;
    surety_tolerance *tolerance; /* that of facts.ball, or NULL */
    /* Digests of the rows of S' and S (surety_data_info.row_digests); NULL: not remembered. */
    uint64_t *rows[SURETY_MODEL_ROWS];
    size_t row_count[SURETY_MODEL_ROWS];
    json_t *texts; /* an object of texts by key, without the facts' own */
    /* What data.classes says, read (surety_model_read_labels); class_count 0: it makes no sense or is not
     * there. */
    const char **labels;
    size_t class_count;
    json_t *label_texts; /* what labels point into */
    /* What data.preparation says, read; NULL: columns are features as they are */
    surety_preparation *preparation;
};

/* The facts as texts, and back; metadata is an object of texts. Reading takes the facts' keys out of it. */
surety_status surety_facts_write(const surety_model_facts *facts, const surety_voters *voters,
                                 json_t *metadata, surety_error *err);
surety_status surety_facts_read(surety_model_facts *facts, json_t *metadata, surety_error *err);
/* The tolerance, which is read against the model's features: when all else is known. */
surety_status surety_facts_read_tolerance(surety_model *model, const json_t *metadata, surety_error *err);

/* Copies sorted digests of rows; count 0: none. */
surety_status surety_model_set_rows(surety_model *model, surety_set_name which, const void *digests,
                                    size_t count, surety_error *err);

/* Reads data.classes or import.classes, data.preparation, which have changed. A preparation that makes other
 * features than the voters take is SURETY_E_INPUT. */
surety_status surety_model_read_labels(surety_model *model, surety_error *err);
surety_status surety_model_read_preparation(surety_model *model, surety_error *err);

/* A new object with the entries of another, keys sorted. */
json_t *surety_texts_sorted(const json_t *texts);

/* SURETY_E_USAGE unless every fact is in its range. */
surety_status surety_facts_validate(const surety_model_facts *facts, surety_error *err);

/* Is the key one of the facts' own? And may it be the key of a text? */
int surety_facts_key(const char *key);
int surety_text_key(const char *key);

#endif
