/* Rows of equal contents in two sets. */
#ifndef SURETY_DATA_EQUAL_H
#define SURETY_DATA_EQUAL_H

#include "base/memory.h"
#include "surety/data.h"

/* shared[a][b]: rows of set a whose features are those of some row of set b (-0 equals 0). */
surety_status surety_equal_rows(const surety_set sets[SURETY_SETS], size_t shared[SURETY_SETS][SURETY_SETS],
                                surety_error *err);

#endif
