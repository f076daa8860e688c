/* Drawings as SVG. No ids anywhere, so that any number of drawings can stand in one page. */
#include <math.h>

#include "report/draw.h"

/* The points of a star with five rays around (x, y). */
static void print_star(surety_growing *out, double x, double y, double size) {
    surety_print(out, "<path d=\"");
    for (int i = 0; i < 10; i++) {
        double r = i % 2 ? 0.45 * size : 1.15 * size, angle = 3.14159265358979 * (i / 5.0 - 0.5);
        surety_print(out, "%c%.2f %.2f", i ? 'L' : 'M', x + r * cos(angle), y + r * sin(angle));
    }
    surety_print(out, "Z\"");
}

/* How a mark is painted: by classes of the page's style, or by colours of its own. */
static void print_paint(surety_growing *out, const surety_mark *m, int inlined) {
    int stroke = m->shape == SURETY_LINE || m->hollow;
    if (inlined)
        surety_print(out, " class=\"%c%d\"", stroke ? 's' : 'f', (int)m->ink);
    else
        surety_print(out, stroke ? " fill=\"none\" stroke=\"%s\"" : " fill=\"%s\"",
                     surety_ink_colour(m->ink, 0));
    if (stroke) surety_print(out, " stroke-width=\"%.2f\"", m->shape == SURETY_LINE ? m->size : 1.3);
    if (m->dashed) surety_print(out, " stroke-dasharray=\"4 4\"");
}

static void print_text(surety_growing *out, const surety_mark *m, int inlined) {
    static const char *const anchors[] = {"start", "middle", "end"};
    surety_print(out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" text-anchor=\"%s\"", m->x, m->y,
                 m->size, anchors[m->anchor]);
    if (m->turned) surety_print(out, " transform=\"rotate(-90 %.2f %.2f)\"", m->x, m->y);
    print_paint(out, m, inlined);
    surety_print(out, ">");
    surety_print_html(out, m->text);
    surety_print(out, "</text>\n");
}

static void print_mark(surety_growing *out, const surety_mark *m, int inlined) {
    if (m->shape == SURETY_TEXT) {
        print_text(out, m, inlined);
        return;
    }
    if (m->shape == SURETY_LINE)
        surety_print(out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"", m->x, m->y, m->x2, m->y2);
    else if (m->shape == SURETY_BAR)
        surety_print(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", m->x, m->y, m->x2,
                     m->y2);
    else if (m->shape == SURETY_DISC)
        surety_print(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"", m->x, m->y, m->size);
    else
        print_star(out, m->x, m->y, m->size);
    print_paint(out, m, inlined);
    surety_print(out, "/>\n");
}

void surety_draw_svg(const surety_drawing *d, int inlined, surety_growing *out) {
    surety_print(out, "<svg%s viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-family=\"sans-serif\"",
                 inlined ? "" : " xmlns=\"http://www.w3.org/2000/svg\"", d->width, d->height);
    if (!inlined) surety_print(out, " width=\"%.0f\" height=\"%.0f\"", d->width, d->height);
    surety_print(out, "><title>");
    surety_print_html(out, d->title);
    surety_print(out, "</title>\n");
    if (!inlined)
        surety_print(out, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", d->width, d->height);
    for (size_t i = 0; i < d->count; i++) print_mark(out, &d->marks[i], inlined);
    surety_print(out, "</svg>\n");
    out->failed |= d->failed;
}
