/* Drawings as PNG and PDF, grey pixels as PNG: the one file that touches cairo. */
#include "report/draw.h"

const int surety_has_cairo = SURETY_HAVE_CAIRO;

#if SURETY_HAVE_CAIRO
#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static cairo_status_t take(void *arg, const unsigned char *bytes, unsigned int count) {
    surety_growing *out = arg;
    surety_grow(out, bytes, count);
    return out->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static surety_status outcome(cairo_status_t status, const surety_growing *out, surety_error *err) {
    if (out->failed || status == CAIRO_STATUS_NO_MEMORY)
        return surety_fail(err, SURETY_E_MEMORY, "no memory for a figure");
    if (status != CAIRO_STATUS_SUCCESS)
        return surety_fail(err, SURETY_E_SYSTEM, "a figure could not be drawn: %s",
                           cairo_status_to_string(status));
    return SURETY_OK;
}

static void set_ink(cairo_t *c, surety_ink ink) {
    unsigned long rgb = strtoul(surety_ink_colour(ink, 0) + 1, NULL, 16);
    cairo_set_source_rgb(c, (double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                         (double)(rgb & 255) / 255);
}

static void draw_text(cairo_t *c, const surety_mark *m) {
    cairo_text_extents_t size;
    cairo_set_font_size(c, m->size);
    cairo_text_extents(c, m->text, &size);
    cairo_save(c);
    cairo_translate(c, m->x, m->y);
    if (m->turned) cairo_rotate(c, -pi / 2);
    cairo_move_to(c, -size.x_advance * (int)m->anchor / 2, 0);
    cairo_show_text(c, m->text);
    cairo_restore(c);
}

static void star_path(cairo_t *c, const surety_mark *m) {
    for (int i = 0; i < 10; i++) {
        double r = i % 2 ? 0.45 * m->size : 1.15 * m->size, angle = pi * (i / 5.0 - 0.5);
        cairo_line_to(c, m->x + r * cos(angle), m->y + r * sin(angle));
    }
    cairo_close_path(c);
}

static void draw_mark(cairo_t *c, const surety_mark *m) {
    const double dash[] = {4, 4};
    set_ink(c, m->ink);
    if (m->shape == SURETY_TEXT) {
        draw_text(c, m);
        return;
    }
    cairo_new_path(c);
    if (m->shape == SURETY_LINE) {
        cairo_move_to(c, m->x, m->y);
        cairo_line_to(c, m->x2, m->y2);
    } else if (m->shape == SURETY_BAR) {
        cairo_rectangle(c, m->x, m->y, m->x2, m->y2);
    } else if (m->shape == SURETY_DISC) {
        cairo_arc(c, m->x, m->y, m->size, 0, 2 * pi);
    } else {
        star_path(c, m);
    }
    cairo_set_dash(c, dash, m->dashed ? 2 : 0, 0);
    cairo_set_line_width(c, m->shape == SURETY_LINE ? m->size : 1.3);
    if (m->shape == SURETY_LINE || m->hollow)
        cairo_stroke(c);
    else
        cairo_fill(c);
}

/* Paints on a surface, which it takes over after `finish` got the bytes out. */
static cairo_status_t paint(cairo_surface_t *surface, const surety_drawing *d, double scale) {
    cairo_t *c = cairo_create(surface);
    cairo_scale(c, scale, scale);
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    for (size_t i = 0; i < d->count; i++) draw_mark(c, &d->marks[i]);
    cairo_status_t status = cairo_status(c);
    cairo_destroy(c);
    return status;
}

surety_status surety_draw_png(const surety_drawing *d, surety_growing *out, surety_error *err) {
    const double scale = 2;
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(scale * d->width), (int)(scale * d->height));
    cairo_status_t status = paint(surface, d, scale);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png_stream(surface, take, out);
    cairo_surface_destroy(surface);
    return outcome(status, out, err);
}

/* cairo writes the time of the day into a PDF. Blanks instead: lengths stay, so the table of offsets stays
 * true. */
static void remove_dates(surety_growing *pdf) {
    static const char key[] = "/CreationDate (";
    for (size_t i = 0; i + sizeof key <= pdf->used; i++) {
        if (memcmp(pdf->bytes + i, key, sizeof key - 1)) continue;
        for (int more = 1; more && i < pdf->used; i++) {
            more = pdf->bytes[i] != ')';
            pdf->bytes[i] = ' ';
        }
    }
}

surety_status surety_draw_pdf(const surety_drawing *d, surety_growing *out, surety_error *err) {
    cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(take, out, d->width, d->height);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, d->title);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
    cairo_status_t status = paint(surface, d, 1);
    cairo_surface_finish(surface);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    if (!out->failed) remove_dates(out);
    return outcome(status, out, err);
}

surety_status surety_grey_png(const uint8_t *pixels, size_t height, size_t width, surety_growing *out,
                              surety_error *err) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    cairo_status_t status = cairo_surface_status(surface);
    unsigned char *data = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (size_t y = 0; y < height && data; y++)
        for (size_t x = 0; x < width; x++) {
            uint32_t grey = pixels[y * width + x] * 0x010101u;
            memcpy(data + y * stride + 4 * x, &grey, 4);
        }
    cairo_surface_mark_dirty(surface);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png_stream(surface, take, out);
    cairo_surface_destroy(surface);
    return outcome(status, out, err);
}

#else

static surety_status no_cairo(surety_error *err) {
    return surety_fail(err, SURETY_E_SYSTEM, "this surety was built without cairo and cannot draw it");
}

surety_status surety_draw_png(const surety_drawing *d, surety_growing *out, surety_error *err) {
    (void)d, (void)out;
    return no_cairo(err);
}

surety_status surety_draw_pdf(const surety_drawing *d, surety_growing *out, surety_error *err) {
    (void)d, (void)out;
    return no_cairo(err);
}

surety_status surety_grey_png(const uint8_t *pixels, size_t height, size_t width, surety_growing *out,
                              surety_error *err) {
    (void)pixels, (void)height, (void)width, (void)out;
    return no_cairo(err);
}

#endif
