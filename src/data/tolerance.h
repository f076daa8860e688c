/* Tolerances as JSON, for models and settings. */
#ifndef SURETY_DATA_TOLERANCE_H
#define SURETY_DATA_TOLERANCE_H

#include "io/json.h"
#include "surety/data.h"

/* The text of surety_tolerance_json again, against the features it was made for. */
surety_status surety_tolerance_parse(surety_tolerance **out, const char *text,
                                     const surety_features *features, surety_error *err);

/* Are all numbers and names the same? NULL: none. */
int surety_tolerance_same(const surety_tolerance *a, const surety_tolerance *b);

#endif
