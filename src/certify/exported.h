/* An exported C file, compiled and asked again: verify --export. */
#ifndef SURETY_CERTIFY_EXPORTED_H
#define SURETY_CERTIFY_EXPORTED_H

#include "surety/certify.h"

/* What says that something differs: field, as the file has it, as it should be. */
typedef void (*surety_differs_fn)(void *arg, const char *field, const char *stated, const char *found);

/* An export beside its model and certificate. */
typedef struct surety_export_check {
    const surety_verify_settings *s;
    const surety_model *model;
    const surety_certificate *certificate;
    const surety_set *learn; /* NULL: there are no rows */
    surety_differs_fn differs;
    void *arg;
} surety_export_check;

/* Compares the export s->exported with what surety writes for this model and certificate; compiles it, and
 * compares its votes on rows of learn with those of model. Nothing is compiled unless the file is byte for
 * byte what surety writes. What differs is told; reason gets a sentence then. */
surety_status surety_exported_check(const surety_export_check *what, surety_exported *out, char reason[512],
                                    surety_error *err);

#endif
