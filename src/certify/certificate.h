/* What the files of this room share about certificates. */
#ifndef SURETY_CERTIFY_CERTIFICATE_H
#define SURETY_CERTIFY_CERTIFICATE_H

#include "certify/record.h"
#include "surety/certify.h"

/* The whole certificate, and the part about the data, as tables of record.h. The digest is not in it. */
extern const surety_fields surety_certificate_table;
extern const surety_fields surety_certificate_data_table;

/* Fills certificate->data from what was opened. */
surety_status surety_certificate_set_data(surety_certificate *c, const surety_data_info *info,
                                          surety_error *err);

/* What the model remembers of its files: label column and header, as they were asked for. */
void surety_certificate_set_columns(surety_certificate *c, const surety_model *model);

/* The certificate that follows from the counts of another one and the model alone, without data: what is not
 * in the model or the counts is copied. */
surety_status surety_certify_again(surety_certificate *out, const surety_model *model,
                                   const surety_certificate *stated, const surety_certify_settings *settings,
                                   surety_error *err);

/* The tolerance that a certificate states, for the features of its model: SURETY_E_INPUT if they are others.
 * NULL: it has none. */
surety_status surety_certificate_tolerance(surety_tolerance **out, const surety_certificate *c,
                                           const surety_model *model, surety_error *err);

/* Writes the sentence into c->claim from all that c says. */
void surety_certificate_word(surety_certificate *c);

/* c->counts_sha256 and c->digest, from all that c says. */
surety_status surety_certificate_seal(surety_certificate *c, surety_error *err);

/* "fma" or "generic". */
const char *surety_certificate_cpu(void);

/* Reads a certificate; *digest_fits says whether its digest does. */
surety_status surety_certificate_read(surety_certificate *out, int *digest_fits, const char *path,
                                      surety_error *err);

#endif
