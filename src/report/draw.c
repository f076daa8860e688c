#include "report/draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

void surety_grow(surety_growing *text, const void *bytes, size_t count) {
    if (text->used + count + 1 > text->room) {
        size_t room = 2 * (text->used + count) + 4096;
        char *more = text->failed ? NULL : realloc(text->bytes, room);
        if (!more) {
            text->failed = 1;
            return;
        }
        text->bytes = more;
        text->room = room;
    }
    memcpy(text->bytes + text->used, bytes, count);
    text->used += count;
    text->bytes[text->used] = 0;
}

void surety_print(surety_growing *text, const char *format, ...) {
    char piece[4096];
    va_list args;
    va_start(args, format);
    int length = surety_vformat(piece, sizeof piece, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof piece)
        text->failed = 1;
    else
        surety_grow(text, piece, (size_t)length);
}

void surety_print_html(surety_growing *out, const char *text) {
    static const char special[] = "<>&\"'";
    static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (; *text; text++) {
        const char *found = strchr(special, *text);
        if (found)
            surety_print(out, "%s", names[found - special]);
        else
            surety_grow(out, text, 1);
    }
}

void surety_grow_base64(surety_growing *text, const uint8_t *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i < 3 ? count - i : 3;
        uint32_t three = (uint32_t)bytes[i] << 16;
        if (left > 1) three |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2) three |= bytes[i + 2];
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                        left > 1 ? digits[three >> 6 & 63] : '=', left > 2 ? digits[three & 63] : '='};
        surety_grow(text, four, 4);
    }
}

void surety_growing_free(surety_growing *text) {
    free(text->bytes);
    *text = (surety_growing){0};
}

/* Coordinates come from files: whatever stands there, the drawing stays a drawing. */
static double within_paper(double at) {
    return isnan(at) ? 0 : fmin(fmax(at, -10000), 10000);
}

void surety_draw(surety_drawing *d, surety_mark mark) {
    mark.x = within_paper(mark.x), mark.y = within_paper(mark.y);
    mark.x2 = within_paper(mark.x2), mark.y2 = within_paper(mark.y2);
    if (d->count == d->room) {
        size_t room = 2 * d->room + 64;
        surety_mark *more = d->failed ? NULL : realloc(d->marks, room * sizeof mark);
        if (!more) {
            d->failed = 1;
            return;
        }
        d->marks = more;
        d->room = room;
    }
    d->marks[d->count++] = mark;
}

void surety_draw_all(surety_drawing *d, const surety_drawing *other, double dx, double dy) {
    d->failed |= other->failed;
    for (size_t i = 0; i < other->count; i++) {
        surety_mark mark = other->marks[i];
        mark.x += dx;
        mark.y += dy;
        if (mark.shape == SURETY_LINE) mark.x2 += dx, mark.y2 += dy;
        surety_draw(d, mark);
    }
}

void surety_drawing_free(surety_drawing *d) {
    free(d->marks);
    *d = (surety_drawing){0};
}

const char *surety_ink_colour(surety_ink ink, int dark) {
    static const char *const colours[SURETY_INKS][2] = {
        {"#1b1e23", "#e8e6e3"}, {"#c9ced6", "#3d434c"}, /* ink, faint */
        {"#0072b2", "#5ab4f0"}, {"#d55e00", "#ff9b57"}, {"#009e73", "#3fd0a4"},
        {"#a3558a", "#e69fce"}, {"#b58900", "#ecc94b"}, {"#56707d", "#a9bfca"}};
    return colours[ink][dark];
}
