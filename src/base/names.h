/* Names of choices, as the command line and files give them. */
#ifndef SURETY_BASE_NAMES_H
#define SURETY_BASE_NAMES_H

#include "base/error.h"

/* *index = the position of name among names[count], hyphens and underscores being the same; else
 * SURETY_E_USAGE that suggests the nearest one and lists all. what: "attack", "norm", .. */
surety_status surety_name_find(const char *what, const char *name, const char *const *names, size_t count,
                               size_t *index, surety_error *err);

#endif
