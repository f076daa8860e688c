/* The clean vote and risks by class, as JSON: new jansson references, NULL if there is no memory. */
#ifndef SURETY_EVALUATE_CLEAN_H
#define SURETY_EVALUATE_CLEAN_H

#include "io/json.h"
#include "surety/evaluate.h"

/* [{class, examples, failed, risk}]; the risk of no examples is null. */
json_t *surety_class_risks_json(const char *const *names, const uint64_t *examples, const uint64_t *failed,
                                size_t classes);

/* The same for a clean vote: its errors. */
json_t *surety_class_errors_json(const char *const *names, const surety_clean *clean);

/* answers, row by row. */
json_t *surety_confusion_json(const surety_clean *clean);

#endif
