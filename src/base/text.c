#include "base/text.h"

#include <stdio.h>
#include <string.h>

size_t surety_utf8_next(const char *text, uint32_t *character) {
    static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000}; /* by length */
    const unsigned char *byte = (const unsigned char *)text;
    size_t length = !byte[0]         ? 0
                    : byte[0] < 0x80 ? 1
                    : byte[0] < 0xc0 ? 0
                    : byte[0] < 0xe0 ? 2
                    : byte[0] < 0xf0 ? 3
                    : byte[0] < 0xf8 ? 4
                                     : 0;
    *character = length < 2 ? byte[0] : byte[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80) return 0; /* also the end */
        *character = *character << 6 | (byte[i] & 0x3f);
    }
    int fine =
        *character >= least[length] && *character <= 0x10ffff && (*character < 0xd800 || *character > 0xdfff);
    return fine ? length : 0;
}

int surety_utf8_valid(const char *text) {
    uint32_t character;
    for (size_t length = 1; length; text += length) length = surety_utf8_next(text, &character);
    return !*text;
}

/* Marks of direction, and line ends that terminals may know. */
static int turns(uint32_t c) {
    return c == 0x61c || (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

size_t surety_printable(const char *text, char shown[SURETY_PRINTABLE]) {
    uint32_t character;
    size_t length = surety_utf8_next(text, &character);
    shown[0] = 0;
    if (!*text) return 0;
    if (!length) {
        snprintf(shown, SURETY_PRINTABLE, "\\x%02x", (unsigned char)*text);
        return 1;
    }
    if (character < 0x20 || (character >= 0x7f && character < 0xa0) || turns(character))
        snprintf(shown, SURETY_PRINTABLE, "\\u%04x", (unsigned)character);
    else
        memcpy(shown, text, length), shown[length] = 0;
    return length;
}
