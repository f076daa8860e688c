/* Panels with axes, and their legends: what all figures are drawn with. */
#ifndef SURETY_REPORT_AXES_H
#define SURETY_REPORT_AXES_H

#include "report/draw.h"

enum {
    SURETY_PANEL_WIDTH = 360,
    SURETY_PANEL_HEIGHT = 300,
    SURETY_PANEL_LEFT = 60,
    SURETY_PANEL_RIGHT = 10,
    SURETY_PANEL_TOP = 28,
    SURETY_PANEL_BOTTOM = 44
};

typedef struct surety_axes {
    surety_drawing *d;
    double x_max, y_max; /* both begin at 0 */
    double bottom;       /* room below, for labels */
} surety_axes;

/* An empty panel with its title; then its axes. */
void surety_draw_panel(surety_drawing *d, const char *title);
void surety_draw_x_axis(const surety_axes *a, const char *label);
void surety_draw_y_axis(const surety_axes *a);

/* How far an axis goes: as far as its values do, within limits that keep its arithmetic finite. */
void surety_axis_reach(double *end, double value);

/* Values of the axes as places of the drawing. */
double surety_x_at(const surety_axes *a, double x);
double surety_y_at(const surety_axes *a, double y);

/* In places of the drawing. */
typedef struct surety_spot {
    double x, y;
} surety_spot;
surety_spot surety_spot_at(const surety_axes *a, double x, double y); /* of values of the axes */
void surety_draw_line(surety_drawing *d, surety_spot from, surety_spot to, double width, surety_ink ink,
                      int dashed);
void surety_draw_text(surety_drawing *d, double x, double y, surety_anchor anchor, int turned,
                      const char *words);

/* One entry of a legend; x and y move on to the place of the next. */
void surety_draw_entry(surety_drawing *d, double *x, double *y, surety_mark mark, const char *words);

#endif
