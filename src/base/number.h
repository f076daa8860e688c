/* Numbers in texts, with a decimal point whatever the locale of the program. The library writes and reads
 * numbers through these functions, and surety_number and surety_numbers of surety/base.h, only (script/lint).
 */
#ifndef SURETY_BASE_NUMBER_H
#define SURETY_BASE_NUMBER_H

#include <stdarg.h>

#include "base/error.h"

/* snprintf and vsnprintf in the C locale. */
int surety_format(char *text, size_t size, const char *format, ...) SURETY_PRINTF(3);
int surety_vformat(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* A number in as few digits as read back as the same double. */
const char *surety_shortest(double x, char text[32]);

#endif
