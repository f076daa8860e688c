/* The curve of a certificate as a figure: limits as a stair, since between two radii the limit of the larger
 * one holds, and what was counted on S. From the certificate alone. */
#include <math.h>
#include <stdio.h>

#include "report/axes.h"
#include "report/subject.h"

static void draw_stair(const surety_axes *a, const surety_certificate *c) {
    double x = 0;
    for (size_t i = 0; i < c->curve_count; i++) {
        double to = c->curve[i].radius, y = surety_y_at(a, c->curve[i].value);
        surety_draw_line(a->d, (surety_spot){surety_x_at(a, x), y}, (surety_spot){surety_x_at(a, to), y}, 2,
                         SURETY_SERIES + 2, 0);
        if (i + 1 < c->curve_count)
            surety_draw_line(a->d, (surety_spot){surety_x_at(a, to), y},
                             surety_spot_at(a, to, c->curve[i + 1].value), 2, SURETY_SERIES + 2, 0);
        x = to;
    }
}

static void draw_counted(const surety_axes *a, const surety_certificate *c) {
    for (size_t i = 0; i < c->curve_count; i++)
        surety_draw(a->d, (surety_mark){.shape = SURETY_DISC,
                                        .x = surety_x_at(a, c->curve[i].radius),
                                        .y = surety_y_at(a, (double)c->curve[i].failed / (double)c->inputs.m),
                                        .size = 3,
                                        .ink = SURETY_SERIES});
}

static void draw_legend(surety_drawing *d) {
    double x = 0, y = 0;
    *d = (surety_drawing){.width = SURETY_PANEL_WIDTH};
    snprintf(d->title, sizeof d->title, "Legend");
    surety_draw_entry(d, &x, &y, (surety_mark){.shape = SURETY_LINE, .size = 2, .ink = SURETY_SERIES + 2},
                      "promised limit");
    surety_draw_entry(d, &x, &y, (surety_mark){.shape = SURETY_DISC, .size = 3, .ink = SURETY_SERIES},
                      "not proved right on S");
}

void surety_print_curve(surety_growing *page, const surety_certificate *c) {
    surety_drawing panel = {0}, legend = {0};
    char label[64];
    if (!c->curve_count || !(c->curve[c->curve_count - 1].radius > 0)) return;
    surety_draw_panel(&panel, "Share that fails");
    surety_axes a = {.d = &panel,
                     .x_max = c->curve[c->curve_count - 1].radius,
                     .y_max = 0.05,
                     .bottom = SURETY_PANEL_BOTTOM};
    surety_axis_reach(&a.y_max, fmin(1, 1.05 * c->curve[c->curve_count - 1].value));
    snprintf(label, sizeof label, "radius, %s", c->attack.norm);
    surety_draw_y_axis(&a);
    surety_draw_x_axis(&a, label);
    draw_stair(&a, c);
    draw_counted(&a, c);
    draw_legend(&legend);
    surety_print(page, "<figure class=\"alone\">\n<div class=\"panels\">\n");
    surety_draw_svg(&panel, 1, page);
    surety_print(page, "</div>\n<div class=\"legend\">\n");
    surety_draw_svg(&legend, 1, page);
    surety_print(page,
                 "</div>\n<figcaption>All limits hold at once. Between two radii the limit of the larger one "
                 "holds; beyond the last nothing is said.</figcaption></figure>\n");
    surety_drawing_free(&panel);
    surety_drawing_free(&legend);
}
