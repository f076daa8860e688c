/* Risks per class on T, and the figure of what was found and what was proved over the radius. */
#include <stdio.h>

#include "report/axes.h"
#include "report/subject.h"

enum { STEPS = 200, MIDDLE = SURETY_PROFILE_RADII / 2 }; /* of the certified curve; the radius in question */

/* ---- why there is nothing ---- */

static void print_missing(surety_growing *page, const surety_subject *subject) {
    surety_print(page, "<p>Not measured. ");
    if (!subject->s->model)
        surety_print(page,
                     "A certificate does not hold what these need: give its model too, <code>surety "
                     "report MODEL CERTIFICATE</code>.");
    else if (!subject->data)
        surety_print_html(page, subject->s->missing);
    else if (!subject->set->m)
        surety_print(page, "These data have no test set T: give one with <code>--test FILE</code>.");
    else
        surety_print(page, "No radius is known: give <code>--norm linf --eps B</code>.");
    surety_print(page, "</p>\n");
}

/* ---- per class ---- */

typedef struct counted {
    size_t m, clean, fooled, unproved;
} counted;

static void count(counted *c, const surety_profile *p, size_t k) {
    double b = p->radius[MIDDLE];
    c->m++;
    c->clean += p->fooled_at[k] == 0;
    c->fooled += p->fooled_at[k] <= MIDDLE;
    c->unproved += p->certified && p->certified[k] < b;
}

static void print_counted(surety_growing *page, const char *name, const counted *c, int proved) {
    char text[48];
    surety_print(page, "<tr><th scope=\"row\">");
    surety_print_html(page, name);
    surety_print(page, "</th><td>%zu</td>", c->m);
    surety_print(page, "<td>%s</td>", surety_share(c->clean, c->m, text));
    surety_print(page, "<td>%s</td>", surety_share(c->fooled, c->m, text));
    if (proved) surety_print(page, "<td>%s</td>", surety_share(c->unproved, c->m, text));
    surety_print(page, "</tr>\n");
}

static void print_table(surety_growing *page, const surety_subject *subject) {
    const surety_profile *p = &subject->profile;
    counted classes[SURETY_CLASSES_MOST] = {{0}}, all = {0};
    for (size_t k = 0; k < p->m; k++) {
        count(&classes[subject->set->y[p->index[k]]], p, k);
        count(&all, p, k);
    }
    surety_print(page,
                 "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>class</th><th>examples</th>"
                 "<th>wrong</th><th>fooled");
    surety_print_note(page, "attacked");
    if (p->certified) {
        surety_print(page, "</th><th>not proved");
        surety_print_note(page, "worst case");
    }
    surety_print(page, "</th></tr></thead><tbody>\n");
    for (size_t k = 0; k < subject->data->classes; k++)
        print_counted(page, surety_class_names(subject->data)[k], &classes[k], p->certified != NULL);
    print_counted(page, "all", &all, p->certified != NULL);
    surety_print(page, "</tbody></table></div>\n");
}

/* ---- over the radius ---- */

static void draw_limit(const surety_axes *a, double radius, double value) {
    if (!(radius <= a->x_max) || !(value <= a->y_max)) return;
    surety_draw(a->d, (surety_mark){.shape = SURETY_STAR,
                                    .x = surety_x_at(a, radius),
                                    .y = surety_y_at(a, value),
                                    .size = 6,
                                    .ink = SURETY_SERIES + 2});
}

static void draw_limits(const surety_axes *a, const surety_subject *subject) {
    for (size_t i = 0; i < subject->count; i++) {
        const surety_certificate *c = &subject->certificates[i];
        for (size_t k = 0; k < c->curve_count; k++) draw_limit(a, c->curve[k].radius, c->curve[k].value);
        for (size_t k = 0; k < c->promise_count; k++)
            if (c->promises[k].kept) draw_limit(a, c->promises[k].radius, c->promises[k].limit);
        if (!c->curve_count && !c->promise_count) draw_limit(a, c->attack.radius, c->value);
    }
}

static void draw_proved(const surety_axes *a, const surety_profile *p) {
    double before = (double)surety_profile_unproved(p, 0) / (double)p->m;
    for (int i = 1; i <= STEPS; i++) {
        double x = a->x_max * i / STEPS, y = (double)surety_profile_unproved(p, x) / (double)p->m;
        surety_draw_line(a->d, surety_spot_at(a, a->x_max * (i - 1) / STEPS, before), surety_spot_at(a, x, y),
                         2, SURETY_SERIES, 0);
        before = y;
    }
}

static void draw_fooled(const surety_axes *a, const surety_profile *p) {
    double before = 0;
    for (size_t r = 0; r < SURETY_PROFILE_RADII; r++) {
        double y = (double)surety_profile_fooled(p, r) / (double)p->m;
        if (r)
            surety_draw_line(a->d, surety_spot_at(a, p->radius[r - 1], before),
                             surety_spot_at(a, p->radius[r], y), 2, SURETY_SERIES + 1, 0);
        surety_draw(a->d, (surety_mark){.shape = SURETY_DISC,
                                        .x = surety_x_at(a, p->radius[r]),
                                        .y = surety_y_at(a, y),
                                        .size = 3,
                                        .ink = SURETY_SERIES + 1});
        before = y;
    }
}

static void draw_radius(surety_drawing *d, const surety_subject *subject) {
    const surety_profile *p = &subject->profile;
    char label[64];
    const char *unit = surety_subject_unit(subject);
    surety_draw_panel(d, "Share of T that fails");
    surety_axes a = {
        .d = d, .x_max = p->radius[SURETY_PROFILE_RADII - 1], .y_max = 0.05, .bottom = SURETY_PANEL_BOTTOM};
    surety_axis_reach(&a.y_max,
                      1.05 * (double)surety_profile_fooled(p, SURETY_PROFILE_RADII - 1) / (double)p->m);
    if (p->certified)
        surety_axis_reach(&a.y_max, 1.05 * (double)surety_profile_unproved(p, a.x_max) / (double)p->m);
    for (size_t i = 0; i < subject->count; i++)
        if (subject->certificates[i].value < 1 && subject->certificates[i].attack.radius <= a.x_max)
            surety_axis_reach(&a.y_max, 1.05 * subject->certificates[i].value);
    if (a.y_max > 1) a.y_max = 1;
    snprintf(label, sizeof label, "radius, %s%s%s", surety_norm_name(p->threat.ball.norm),
             *unit ? ", in " : "", unit);
    surety_draw_y_axis(&a);
    surety_draw_x_axis(&a, label);
    surety_draw_line(d, surety_spot_at(&a, p->radius[MIDDLE], 0),
                     surety_spot_at(&a, p->radius[MIDDLE], a.y_max), 1, SURETY_INK, 1);
    draw_fooled(&a, p);
    if (p->certified) draw_proved(&a, p);
    draw_limits(&a, subject);
}

static void draw_legend(surety_drawing *d, const surety_subject *subject) {
    double x = 0, y = 0;
    *d = (surety_drawing){.width = SURETY_PANEL_WIDTH};
    snprintf(d->title, sizeof d->title, "Legend");
    if (subject->profile.certified)
        surety_draw_entry(d, &x, &y, (surety_mark){.shape = SURETY_LINE, .size = 2, .ink = SURETY_SERIES},
                          "not proved right");
    surety_draw_entry(d, &x, &y, (surety_mark){.shape = SURETY_LINE, .size = 2, .ink = SURETY_SERIES + 1},
                      "fooled by an attack");
    if (subject->count)
        surety_draw_entry(d, &x, &y, (surety_mark){.shape = SURETY_STAR, .size = 6, .ink = SURETY_SERIES + 2},
                          "promised limit for new inputs");
}

static void print_figure(surety_growing *page, const surety_subject *subject) {
    surety_drawing panel = {0}, legend = {0};
    draw_radius(&panel, subject);
    draw_legend(&legend, subject);
    surety_print(page, "<figure class=\"alone\"><h3>Over the radius</h3>\n<div class=\"panels\">\n");
    surety_draw_svg(&panel, 1, page);
    surety_print(page, "</div>\n<div class=\"legend\">\n");
    surety_draw_svg(&legend, 1, page);
    surety_print(page, "</div>\n<figcaption>%s The dashed line is the radius of the table above.",
                 subject->profile.certified
                     ? "The truth about these examples lies between the two lines: attacks find failures, "
                       "proofs exclude them."
                     : "The truth lies on or above the line. This kind of voters has no proofs.");
    surety_print(page,
                 " One test set is one draw: the lines are estimates, only a certificate promises."
                 "</figcaption></figure>\n");
    surety_drawing_free(&panel);
    surety_drawing_free(&legend);
}

void surety_page_risks(surety_growing *page, const surety_subject *subject) {
    const surety_profile *p = &subject->profile;
    surety_print(page, "<h2>What was measured</h2>\n");
    if (!p->m) {
        print_missing(page, subject);
        return;
    }
    surety_print(page, "<p>On %zu of the %zu rows of %s", p->m, subject->set->m,
                 subject->set->which == SURETY_SET_TEST ? "T" : "the fresh set");
    surety_print_note(page, "S', S, T");
    surety_print_words(page, ", %s ball of radius %.6g%s%s, attack %s at growing radii.",
                       surety_norm_name(p->threat.ball.norm), p->radius[MIDDLE],
                       *surety_subject_unit(subject) ? " in " : "", surety_subject_unit(subject),
                       surety_threat_name(p->threat.kind));
    surety_print(page, "%s</p>\n", subject->data->unit ? " Rows are counted here, not units." : "");
    surety_print(
        page,
        "<p>Wrong: as they are. Fooled: by that attack inside the ball. Not proved: somewhere in the "
        "ball the vote may be wrong.</p>\n");
    print_table(page, subject);
    print_figure(page, subject);
}
