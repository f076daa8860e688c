/* Drawings as lists of marks, and where they can go: SVG text, PNG and PDF. */
#ifndef SURETY_REPORT_DRAW_H
#define SURETY_REPORT_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* ---- a text that grows ---- */

/* Appending never fails at once: a text without memory is `failed`, which is looked at when it is finished.
 */
typedef struct surety_growing {
    char *bytes;
    size_t used, room;
    int failed;
} surety_growing;

void surety_grow(surety_growing *text, const void *bytes, size_t count);
void surety_print(surety_growing *text, const char *format, ...) SURETY_PRINTF(2);
/* Text between tags or in a quoted attribute of HTML and SVG: every text that is not written in the source
 * itself goes this way. */
void surety_print_html(surety_growing *out, const char *text);
void surety_grow_base64(surety_growing *text, const uint8_t *bytes, size_t count);
void surety_growing_free(surety_growing *text);

/* ---- marks ---- */

/* Colours by what they are for: the text's own, a faint one for grids, then series that stay apart for people
 * who see few colours (Okabe and Ito). */
typedef enum surety_ink {
    SURETY_INK,
    SURETY_FAINT,
    SURETY_SERIES,
    SURETY_INKS = SURETY_SERIES + 6
} surety_ink;

typedef enum surety_shape { SURETY_LINE, SURETY_BAR, SURETY_DISC, SURETY_STAR, SURETY_TEXT } surety_shape;
typedef enum surety_anchor { SURETY_START, SURETY_MIDDLE, SURETY_END } surety_anchor;

typedef struct surety_mark {
    surety_shape shape;
    double x, y;   /* first point, centre, corner, or where the text is anchored */
    double x2, y2; /* line: second point; bar: size */
    double size;   /* width of a line, radius, height of letters */
    surety_ink ink;
    int hollow, dashed, turned; /* turned: text upwards */
    surety_anchor anchor;
    char text[64]; /* ASCII */
} surety_mark;

typedef struct surety_drawing {
    double width, height;
    char title[128];
    surety_mark *marks;
    size_t count, room;
    int failed; /* no memory */
} surety_drawing;

void surety_draw(surety_drawing *drawing, surety_mark mark);
/* All marks of another drawing, moved. */
void surety_draw_all(surety_drawing *drawing, const surety_drawing *other, double dx, double dy);
void surety_drawing_free(surety_drawing *drawing);

/* SVG without ids. inlined: colours are classes of the page's style; else the light ones, and a name space.
 */
void surety_draw_svg(const surety_drawing *drawing, int inlined, surety_growing *out);

/* The colour of an ink as #rrggbb, for light and dark paper. */
const char *surety_ink_colour(surety_ink ink, int dark);

/* Whether this build has cairo: without it the three functions below fail. */
extern const int surety_has_cairo;

/* Bytes of a PNG (on white, two pixels per unit) and of a PDF without dates. */
surety_status surety_draw_png(const surety_drawing *drawing, surety_growing *out, surety_error *err);
surety_status surety_draw_pdf(const surety_drawing *drawing, surety_growing *out, surety_error *err);

/* Grey pixels (height, width), 0 black, as PNG. */
surety_status surety_grey_png(const uint8_t *pixels, size_t height, size_t width, surety_growing *out,
                              surety_error *err);

#endif
