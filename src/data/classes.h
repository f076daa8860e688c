/* Labels of classes as JSON, for whoever writes them down. */
#ifndef SURETY_DATA_CLASSES_H
#define SURETY_DATA_CLASSES_H

#include "io/json.h"

/* The labels in a list: numbers if they are whole, else texts. NULL: no memory. */
json_t *surety_labels_json(const char *const *labels, size_t count, int whole);

#endif
