/* What the files of this room share about certificates: the tables of their fields, their digest and
 * sentence, and how they are compared. */
#ifndef SURETY_CERTIFY_CERTIFICATE_H
#define SURETY_CERTIFY_CERTIFICATE_H

#include "certify/record.h"
#include "surety/certify.h"

/* The whole certificate, and the part about the data, as tables of record.h. The digest is not in it. */
extern const surety_fields surety_certificate_table;
extern const surety_fields surety_certificate_data_table;
extern const surety_fields surety_class_limit_table;

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

/* 100 x, rounded up, with three digits that count; 100 (1 - delta), rounded down at the tenth decimal. */
const char *surety_percent_up(double x, char text[32]);
const char *surety_confidence(double delta, char text[32]);

/* Writes the sentence into c->claim from all that c says; SURETY_E_CHECK if there is no room for all of it.
 */
surety_status surety_certificate_word(surety_certificate *c, surety_error *err);

/* SURETY_E_CHECK if a sentence fills its place to the end: something of it may be missing. */
surety_status surety_claim_whole(const char claim[SURETY_CLAIM], surety_error *err);

/* 1 if a sentence may name each of these limits; else it names the list. */
int surety_limits_are_few(const surety_class_limit *limits, size_t count);

/* c->counts_sha256 and c->digest, from all that c says. */
surety_status surety_certificate_seal(surety_certificate *c, surety_error *err);

/* "fma" or "generic". */
const char *surety_certificate_cpu(void);

/* A field of a verification (arg) that is not what the certificate states (surety_differs_fn); and one of
 * them as the reason: another version or CPU explains all others, else the first. */
void surety_verification_differs(void *arg, const char *field, const char *stated, const char *found);
void surety_verification_explain(surety_verification *out, const char *hint);

/* The digest of its S by which looks are logged (surety_certificate_head). */
const char *surety_votes_certificate_learn(const surety_votes_certificate *c);

/* Reads a certificate; *digest_fits says whether its digest does. */
surety_status surety_certificate_read(surety_certificate *out, int *digest_fits, const char *path,
                                      surety_error *err);

#endif
