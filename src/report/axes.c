#include "report/axes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { LETTERS = 12, TICKS = 8 };

double surety_x_at(const surety_axes *a, double x) {
    return SURETY_PANEL_LEFT + (SURETY_PANEL_WIDTH - SURETY_PANEL_LEFT - SURETY_PANEL_RIGHT) * x / a->x_max;
}
double surety_y_at(const surety_axes *a, double y) {
    return SURETY_PANEL_HEIGHT - a->bottom -
           (SURETY_PANEL_HEIGHT - SURETY_PANEL_TOP - a->bottom) * y / a->y_max;
}

surety_spot surety_spot_at(const surety_axes *a, double x, double y) {
    return (surety_spot){surety_x_at(a, x), surety_y_at(a, y)};
}

void surety_draw_line(surety_drawing *d, surety_spot from, surety_spot to, double width, surety_ink ink,
                      int dashed) {
    surety_draw(d, (surety_mark){.shape = SURETY_LINE,
                                 .x = from.x,
                                 .y = from.y,
                                 .x2 = to.x,
                                 .y2 = to.y,
                                 .size = width,
                                 .ink = ink,
                                 .dashed = dashed});
}

void surety_draw_text(surety_drawing *d, double x, double y, surety_anchor anchor, int turned,
                      const char *words) {
    surety_mark m = {
        .shape = SURETY_TEXT, .x = x, .y = y, .size = LETTERS, .anchor = anchor, .turned = turned};
    snprintf(m.text, sizeof m.text, "%s", words);
    surety_draw(d, m);
}

void surety_axis_reach(double *end, double value) {
    if (value > *end) *end = fmin(value, 1e6);
}

/* A round step with four to eight ticks up to the end of an axis, which is within 1e-6 and 1e6. */
static double tick_step(double end) {
    double step = pow(10, floor(log10(end)));
    while (end / step > 8) step *= 2;
    while (end / step < 4) step /= 2;
    return step;
}

static void number(char *words, size_t size, double value) {
    surety_format(words, size, "%.3g", value);
}

void surety_draw_y_axis(const surety_axes *a) {
    char words[32];
    double step = tick_step(a->y_max);
    for (int i = 0; i <= TICKS && i * step <= a->y_max * 1.0001; i++) {
        double y = i * step;
        surety_draw_line(a->d, (surety_spot){SURETY_PANEL_LEFT, surety_y_at(a, y)},
                         (surety_spot){SURETY_PANEL_WIDTH - SURETY_PANEL_RIGHT, surety_y_at(a, y)}, 0.7,
                         SURETY_FAINT, 0);
        number(words, sizeof words, y);
        surety_draw_text(a->d, SURETY_PANEL_LEFT - 6, surety_y_at(a, y) + 4, SURETY_END, 0, words);
    }
}

void surety_draw_x_axis(const surety_axes *a, const char *label) {
    char words[32];
    double step = tick_step(a->x_max);
    for (int i = 0; i <= TICKS && i * step <= a->x_max * 1.0001; i++) {
        double x = i * step;
        surety_draw_line(a->d, (surety_spot){surety_x_at(a, x), SURETY_PANEL_HEIGHT - a->bottom},
                         (surety_spot){surety_x_at(a, x), SURETY_PANEL_HEIGHT - a->bottom + 4}, 1, SURETY_INK,
                         0);
        number(words, sizeof words, x);
        surety_draw_text(a->d, surety_x_at(a, x), SURETY_PANEL_HEIGHT - a->bottom + 17, SURETY_MIDDLE, 0,
                         words);
    }
    surety_draw_line(a->d, (surety_spot){SURETY_PANEL_LEFT, SURETY_PANEL_HEIGHT - a->bottom},
                     (surety_spot){SURETY_PANEL_WIDTH - SURETY_PANEL_RIGHT, SURETY_PANEL_HEIGHT - a->bottom},
                     1, SURETY_INK, 0);
    surety_draw_text(a->d, (SURETY_PANEL_LEFT + SURETY_PANEL_WIDTH - SURETY_PANEL_RIGHT) / 2.0,
                     SURETY_PANEL_HEIGHT - a->bottom + 36, SURETY_MIDDLE, 0, label);
}

void surety_draw_panel(surety_drawing *d, const char *title) {
    *d = (surety_drawing){.width = SURETY_PANEL_WIDTH, .height = SURETY_PANEL_HEIGHT};
    snprintf(d->title, sizeof d->title, "%s", title);
    surety_draw_text(d, SURETY_PANEL_LEFT, 16, SURETY_START, 0, title);
}

void surety_draw_entry(surety_drawing *d, double *x, double *y, surety_mark mark, const char *words) {
    double length = 30 + 7.0 * (double)strlen(words);
    if (*x > 0 && *x + length > d->width) *x = 0, *y += 20;
    mark.x = *x + 10;
    mark.y = *y + 10;
    if (mark.shape == SURETY_BAR) mark.x -= 6, mark.y -= 6, mark.x2 = mark.y2 = 12;
    if (mark.shape == SURETY_LINE) mark.x2 = mark.x + 8, mark.y2 = mark.y, mark.x -= 8;
    surety_draw(d, mark);
    surety_draw_text(d, *x + 22, *y + 14, SURETY_START, 0, words);
    *x += length;
    d->height = *y + 22;
}
