/* The figures: the share of the TV term (bars), risks and bounds against R_att (scatter), risk against
 * radius. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/write.h"
#include "report/axes.h"
#include "report/report.h"

enum { POINTS = 1000 /* of a curve */ };

static const surety_threat_kind defenses[] = {SURETY_ATTACK_NONE,   SURETY_ATTACK_UNIF, SURETY_ATTACK_PGDU,
                                              SURETY_ATTACK_IFGSMU, SURETY_ATTACK_PGD,  SURETY_ATTACK_IFGSM};

/* ---- the share of the TV term ---- */

/* The TV part of average_max_tv (seed 0), as a part of the vote's value: twice the mean TV. */
static double tv_part(const surety_shown *shown, const surety_cell *cell, const char *attack) {
    size_t at;
    const json_t *row;
    json_array_foreach(json_object_get(surety_shown_cell(shown, cell), "rows"), at, row) {
        const char *algorithm = json_string_value(json_object_get(row, "algorithm"));
        const char *of = json_string_value(json_object_get(row, "attack"));
        const json_t *tv = json_object_get(row, "tv");
        if (algorithm && of && !strcmp(algorithm, "average-max") && !strcmp(of, attack) && json_is_number(tv))
            return 2 * json_number_value(tv);
    }
    return (double)NAN;
}

typedef struct bar {
    double total, tv, printed;
    char label[32];
} bar;

static size_t list_bars(const surety_shown *shown, size_t task, surety_norm norm, surety_voter_set set,
                        bar bars[8]) {
    static const surety_threat_kind attacks[] = {SURETY_ATTACK_PGDU, SURETY_ATTACK_IFGSMU};
    size_t count = 0;
    for (size_t d = 0; d < 4; d++)
        for (size_t a = 0; a < 2; a++) {
            surety_printed key = {task,       norm, SURETY_OBJECTIVE_AVERAGE_MAX, defenses[d],
                                  attacks[a], set,  SURETY_BOUND_OF_TV,           0};
            surety_cell cell = {task, norm, set, defenses[d], 0, 0};
            bar b;
            surety_compared c = surety_shown_value(shown, &key, &b.printed);
            b.total = c.first;
            b.tv = tv_part(shown, &cell, surety_threat_name(attacks[a]));
            snprintf(b.label, sizeof b.label, "%s / %s", surety_threat_name(defenses[d]),
                     surety_threat_name(attacks[a]));
            if (c.seeds && !isnan(b.tv)) bars[count++] = b;
        }
    return count;
}

static void draw_bars(surety_drawing *d, const bar *bars, size_t count, surety_voter_set set) {
    char title[64];
    snprintf(title, sizeof title, "%s voters", surety_voter_set_name(set));
    surety_draw_panel(d, title);
    surety_axes a = {.d = d, .x_max = (double)count, .y_max = 0.1, .bottom = 110};
    for (size_t i = 0; i < count; i++)
        surety_axis_reach(&a.y_max, 1.05 * fmax(bars[i].total, bars[i].printed));
    surety_draw_y_axis(&a);
    for (size_t i = 0; i < count; i++) {
        const bar *b = &bars[i];
        double x = surety_x_at(&a, (double)i + 0.15), width = surety_x_at(&a, 0.7) - SURETY_PANEL_LEFT,
               rest = fmax(0, b->total - b->tv);
        surety_draw(d, (surety_mark){.shape = SURETY_BAR,
                                     .x = x,
                                     .y = surety_y_at(&a, rest),
                                     .x2 = width,
                                     .y2 = surety_y_at(&a, 0) - surety_y_at(&a, rest),
                                     .ink = SURETY_SERIES});
        surety_draw(d, (surety_mark){.shape = SURETY_BAR,
                                     .x = x,
                                     .y = surety_y_at(&a, rest + b->tv),
                                     .x2 = width,
                                     .y2 = surety_y_at(&a, rest) - surety_y_at(&a, rest + b->tv),
                                     .ink = SURETY_SERIES + 1});
        surety_draw_line(d, (surety_spot){x - 3, surety_y_at(&a, b->printed)},
                         (surety_spot){x + width + 3, surety_y_at(&a, b->printed)}, 2, SURETY_INK, 0);
        surety_draw_text(d, x + width / 2 + 4, SURETY_PANEL_HEIGHT - a.bottom + 8, SURETY_END, 1, b->label);
    }
    surety_draw_line(d, (surety_spot){SURETY_PANEL_LEFT, SURETY_PANEL_HEIGHT - a.bottom},
                     (surety_spot){SURETY_PANEL_WIDTH - SURETY_PANEL_RIGHT, SURETY_PANEL_HEIGHT - a.bottom},
                     1, SURETY_INK, 0);
}

static void make_tv(surety_figure *f, const surety_shown *shown, size_t task, surety_norm norm) {
    char name[64];
    double x = 0, y = 0;
    surety_task_title(task, name, sizeof name);
    *f = (surety_figure){.name = "tv-share", .columns = 2, .legend.width = SURETY_PANEL_WIDTH};
    snprintf(f->title, sizeof f->title, "What the TV term costs: average_max_tv, %s, %s", name,
             surety_norm_name(norm));
    snprintf(f->caption, sizeof f->caption,
             "Vote bound for every pair defense / attack. Where a voter's worst perturbation is its own "
             "(real voters), "
             "the TV term is most of the bound; signed voters nearly always share one.");
    for (unsigned set = SURETY_SIGNED; set <= SURETY_REAL; set++) {
        bar bars[8];
        size_t count = list_bars(shown, task, norm, (surety_voter_set)set, bars);
        if (count) draw_bars(&f->panels[f->count++], bars, count, (surety_voter_set)set);
    }
    surety_draw_entry(&f->legend, &x, &y, (surety_mark){.shape = SURETY_BAR, .ink = SURETY_SERIES + 1},
                      "TV term");
    surety_draw_entry(&f->legend, &x, &y, (surety_mark){.shape = SURETY_BAR, .ink = SURETY_SERIES},
                      "all the rest");
    surety_draw_entry(&f->legend, &x, &y, (surety_mark){.shape = SURETY_LINE, .size = 2, .ink = SURETY_INK},
                      "print");
}

/* ---- scatter against R_att ---- */

typedef struct point {
    double x, y, printed_x, printed_y;
    size_t task;
    int star;
} point;

static size_t list_points(const surety_shown *shown, surety_norm norm, surety_objective algorithm,
                          surety_quantity quantity, point points[12]) {
    size_t tasks, count = 0;
    surety_paper_tasks(&tasks);
    for (size_t task = 0; task < tasks; task++)
        for (int star = 0; star < 2; star++) {
            surety_threat_kind kind = star ? SURETY_ATTACK_PGDU : SURETY_ATTACK_IFGSMU;
            surety_printed key = {task, norm, algorithm, kind, kind, SURETY_SIGNED, quantity, 0};
            point p = {.task = task, .star = star};
            surety_compared x = surety_shown_value(shown, &key, &p.printed_x);
            key.quantity = SURETY_ADVERSARIAL_RISK;
            surety_compared y = surety_shown_value(shown, &key, &p.printed_y);
            p.x = x.first;
            p.y = y.first;
            if (x.seeds && y.seeds) points[count++] = p;
        }
    return count;
}

static void draw_points(surety_drawing *d, const point *points, size_t count, const char *title) {
    surety_draw_panel(d, title);
    surety_axes a = {.d = d, .x_max = 0.02, .bottom = SURETY_PANEL_BOTTOM};
    for (size_t i = 0; i < count; i++)
        surety_axis_reach(&a.x_max, 1.06 * fmax(fmax(points[i].x, points[i].y),
                                                fmax(points[i].printed_x, points[i].printed_y)));
    a.y_max = a.x_max;
    surety_draw_y_axis(&a);
    surety_draw_x_axis(&a, title);
    surety_draw_line(d, surety_spot_at(&a, 0, 0), surety_spot_at(&a, a.x_max, a.y_max), 1.2, SURETY_INK, 1);
    for (size_t i = 0; i < count; i++)
        for (int printed = 1; printed >= 0; printed--) {
            const point *p = &points[i];
            surety_draw(d, (surety_mark){.shape = p->star ? SURETY_STAR : SURETY_DISC,
                                         .x = surety_x_at(&a, printed ? p->printed_x : p->x),
                                         .y = surety_y_at(&a, printed ? p->printed_y : p->y),
                                         .size = p->star ? 5.5 : 4.5,
                                         .hollow = printed,
                                         .ink = SURETY_SERIES + (surety_ink)p->task});
        }
    surety_draw_text(d, 14, (SURETY_PANEL_TOP + SURETY_PANEL_HEIGHT - SURETY_PANEL_BOTTOM) / 2.0,
                     SURETY_MIDDLE, 1, "R_att");
}

static void make_scatter(surety_figure *f, const surety_shown *shown, surety_norm norm) {
    static const struct {
        surety_objective algorithm;
        surety_quantity quantity;
        const char *title;
    } panels[] = {{SURETY_OBJECTIVE_CHROMATIC, SURETY_AVERAGED_RISK, "averaged risk R"},
                  {SURETY_OBJECTIVE_CHROMATIC, SURETY_BOUND_OF_SEEGER, "bound on R (chromatic_seeger)"},
                  {SURETY_OBJECTIVE_AVERAGE_MAX, SURETY_AVERAGED_MAX_RISK, "averaged-max risk A"},
                  {SURETY_OBJECTIVE_AVERAGE_MAX, SURETY_BOUND_OF_MAX, "bound on A (average_max)"}};
    size_t tasks;
    double x = 0, y = 0;
    *f = (surety_figure){.name = "scatter", .columns = 2, .legend.width = SURETY_PANEL_WIDTH};
    snprintf(f->title, sizeof f->title, "Risks and bounds against R_att, defense = attack, signed voters, %s",
             surety_norm_name(norm));
    snprintf(f->caption, sizeof f->caption,
             "The nearer a risk is to the diagonal, the more the averaged notion says about the classical "
             "one; the "
             "nearer a bound, the tighter. Filled: ours (seed 0). Hollow: print.");
    for (size_t i = 0; i < 4; i++) {
        point points[12];
        size_t count = list_points(shown, norm, panels[i].algorithm, panels[i].quantity, points);
        if (count) draw_points(&f->panels[f->count++], points, count, panels[i].title);
    }
    const surety_task *list = surety_paper_tasks(&tasks);
    for (size_t t = 0; t < tasks; t++)
        if (surety_shown_has(shown, t, norm))
            surety_draw_entry(&f->legend, &x, &y,
                              (surety_mark){.shape = SURETY_BAR, .ink = SURETY_SERIES + (surety_ink)t},
                              list[t].name);
    surety_draw_entry(&f->legend, &x, &y, (surety_mark){.shape = SURETY_STAR, .size = 5.5}, "pgdu");
    surety_draw_entry(&f->legend, &x, &y, (surety_mark){.shape = SURETY_DISC, .size = 4.5}, "ifgsmu");
    surety_draw_entry(&f->legend, &x, &y, (surety_mark){.shape = SURETY_DISC, .size = 4.5, .hollow = 1},
                      "print");
}

/* ---- risk against radius ---- */

/* The curve of a cell; 0 if there is none. */
static size_t curve_of(const json_t *cell, const json_t **eps, const json_t **risk) {
    const json_t *curve = json_object_get(cell, "curve");
    *eps = json_object_get(curve, "eps");
    *risk = json_object_get(curve, "risk");
    size_t count = json_array_size(*eps);
    return count >= 2 && count <= POINTS && json_array_size(*risk) == count ? count : 0;
}

static double at(const json_t *array, size_t i) {
    return json_number_value(json_array_get(array, i));
}

static void draw_curves(surety_drawing *d, const surety_shown *shown, size_t task, surety_norm norm) {
    char title[64];
    const json_t *eps, *risk;
    surety_axes a = {.d = d, .x_max = 1e-6, .y_max = 0.05, .bottom = SURETY_PANEL_BOTTOM};
    surety_task_title(task, title, sizeof title);
    surety_draw_panel(d, title);
    for (int draw = 0; draw < 2; draw++) { /* first how far the axes go */
        if (draw) {
            surety_draw_y_axis(&a);
            surety_draw_x_axis(&a, norm == SURETY_L2 ? "radius of the l2 ball" : "radius of the linf ball");
            surety_draw_line(d, surety_spot_at(&a, surety_norm_radius(norm), 0),
                             surety_spot_at(&a, surety_norm_radius(norm), a.y_max), 1, SURETY_INK, 1);
        }
        for (unsigned k = 0; k < 6; k++) {
            surety_cell cell = {task, norm, SURETY_SIGNED, defenses[k], 0, 0};
            size_t count = curve_of(surety_shown_cell(shown, &cell), &eps, &risk);
            for (size_t i = 0; i < count; i++) {
                if (!draw) surety_axis_reach(&a.x_max, at(eps, i)), surety_axis_reach(&a.y_max, at(risk, i));
                if (draw && i)
                    surety_draw_line(d, surety_spot_at(&a, at(eps, i - 1), at(risk, i - 1)),
                                     surety_spot_at(&a, at(eps, i), at(risk, i)), 2, SURETY_SERIES + k, 0);
            }
        }
    }
}

static int has_curve(const surety_shown *shown, size_t task, surety_norm norm) {
    const json_t *eps, *risk;
    for (size_t k = 0; k < 6; k++) {
        surety_cell cell = {task, norm, SURETY_SIGNED, defenses[k], 0, 0};
        if (curve_of(surety_shown_cell(shown, &cell), &eps, &risk)) return 1;
    }
    return 0;
}

static void make_radius(surety_figure *f, const surety_shown *shown, surety_norm norm) {
    size_t tasks;
    double x = 0, y = 0;
    surety_paper_tasks(&tasks);
    *f = (surety_figure){.columns = 3, .legend.width = SURETY_PANEL_WIDTH};
    snprintf(f->name, sizeof f->name, "radius-%s", surety_norm_name(norm));
    snprintf(f->title, sizeof f->title, "R_att against the radius, %s, attack pgd, signed voters, seed 0",
             surety_norm_name(norm));
    snprintf(f->caption, sizeof f->caption,
             "One line per defense (pgd and ifgsm: the baseline). The dashed line is the radius that they "
             "were trained "
             "for; the tables are made there.");
    for (size_t task = 0; task < tasks && f->count < SURETY_PANELS; task++)
        if (has_curve(shown, task, norm)) draw_curves(&f->panels[f->count++], shown, task, norm);
    if (f->count < f->columns) f->columns = f->count;
    for (unsigned k = 0; k < 6; k++)
        surety_draw_entry(&f->legend, &x, &y,
                          (surety_mark){.shape = SURETY_LINE, .size = 2, .ink = SURETY_SERIES + k},
                          surety_threat_name(defenses[k]));
}

/* ---- all of them ---- */

/* mnist-1v7 in l2, as in the paper, or the first that is there. */
static void choose_tv(const surety_shown *shown, size_t *task, surety_norm *norm) {
    size_t tasks;
    surety_paper_tasks(&tasks);
    for (*task = 0; *task < tasks; ++*task)
        for (unsigned n = SURETY_L2; n <= SURETY_LINF; n++)
            if (surety_shown_has(shown, *task, *norm = (surety_norm)n)) return;
    *task = 0;
}

surety_status surety_figures_make(surety_figure figures[SURETY_FIGURES], size_t *count,
                                  const surety_shown *shown, surety_error *err) {
    size_t task, tasks;
    surety_norm norm = SURETY_L2;
    int has_l2 = 0;
    *count = 0;
    surety_paper_tasks(&tasks);
    for (size_t t = 0; t < tasks; t++) has_l2 |= surety_shown_has(shown, t, SURETY_L2);
    choose_tv(shown, &task, &norm);
    make_tv(&figures[(*count)++], shown, task, norm);
    make_scatter(&figures[(*count)++], shown, has_l2 ? SURETY_L2 : SURETY_LINF);
    make_radius(&figures[(*count)++], shown, SURETY_L2);
    make_radius(&figures[(*count)++], shown, SURETY_LINF);
    int failed = 0;
    for (size_t i = 0; i < *count; i++) {
        failed |= figures[i].legend.failed;
        for (size_t k = 0; k < figures[i].count; k++) failed |= figures[i].panels[k].failed;
    }
    if (!failed) return SURETY_OK;
    return surety_fail(err, SURETY_E_MEMORY, "no memory for the figures");
}

void surety_figures_free(surety_figure *figures, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < figures[i].count; k++) surety_drawing_free(&figures[i].panels[k]);
        surety_drawing_free(&figures[i].legend);
    }
}

/* The panels in rows, the legend below. */
static void compose(surety_drawing *all, const surety_figure *f) {
    size_t rows = (f->count + f->columns - 1) / f->columns;
    *all = (surety_drawing){.width = (double)(SURETY_PANEL_WIDTH * (int)f->columns)};
    snprintf(all->title, sizeof all->title, "%s", f->title);
    for (size_t k = 0; k < f->count; k++)
        surety_draw_all(all, &f->panels[k], (double)(k % f->columns * SURETY_PANEL_WIDTH),
                        (double)(k / f->columns * SURETY_PANEL_HEIGHT));
    surety_draw_all(all, &f->legend, SURETY_PANEL_LEFT, (double)(rows * SURETY_PANEL_HEIGHT));
    all->height = (double)(rows * SURETY_PANEL_HEIGHT) + f->legend.height + 6;
}

surety_status surety_figure_write(const surety_figure *figure, const char *folder, surety_error *err) {
    static const char *const endings[] = {".svg", ".png", ".pdf"};
    surety_drawing all;
    surety_status status = SURETY_OK;
    compose(&all, figure);
    for (int i = 0; i < (surety_has_cairo ? 3 : 1) && status == SURETY_OK; i++) {
        surety_growing bytes = {0};
        char file[64], *path = NULL;
        snprintf(file, sizeof file, "/figures/%s", figure->name);
        if (i == 0) surety_draw_svg(&all, 0, &bytes);
        if (i == 1) status = surety_draw_png(&all, &bytes, err);
        if (i == 2) status = surety_draw_pdf(&all, &bytes, err);
        if (status == SURETY_OK && bytes.failed)
            status = surety_fail(err, SURETY_E_MEMORY, "no memory for a figure");
        if (status == SURETY_OK) status = surety_join(&path, folder, file, endings[i], err);
        if (status == SURETY_OK) status = surety_write_own(path, bytes.bytes, bytes.used, err);
        surety_free(path);
        surety_growing_free(&bytes);
    }
    surety_drawing_free(&all);
    return status;
}
