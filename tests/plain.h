/* Settings for tests of what comes behind the columns: values as they are, in the box [0, 1], and a T only
 * where it is asked for. */
#ifndef SURETY_TESTS_PLAIN_H
#define SURETY_TESTS_PLAIN_H

#include "surety/data.h"

static inline surety_data_settings plain_settings(void) {
    surety_data_settings s = surety_data_defaults();
    s.scaling = SURETY_SCALE_NONE;
    s.boxed = SURETY_BOX_GIVEN;
    s.test_share = 0;
    return s;
}

/* Opens the data of such settings and frees them again: for files_fail_allocations. */
static inline surety_status plain_open(void *settings, surety_error *err) {
    surety_data *data = NULL;
    surety_status status = surety_data_open(settings, &data, err);
    surety_data_free(data);
    return status;
}

#endif
