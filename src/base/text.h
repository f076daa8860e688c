/* Texts from outside: files, arguments, paths. */
#ifndef SURETY_BASE_TEXT_H
#define SURETY_BASE_TEXT_H

#include "surety/base.h"

/* Bytes of the UTF-8 character at text, and the character; 0 if there is none (an end, a wrong byte, a longer
 * form than needed, a surrogate, beyond U+10FFFF). */
size_t surety_utf8_next(const char *text, uint32_t *character);

int surety_utf8_valid(const char *text);

#endif
