/* The page around the tables: style, verdict, figures, foot. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

/* ---- head ---- */

static const char *const style[] = {
    ":root{color-scheme:light dark;--paper:#fff;--soft:#f3f5f8;--off:#fde9dc}",
    "@media(prefers-color-scheme:dark){:root{--paper:#15181c;--soft:#20252b;--off:#4a2a17}}",
    "*{box-sizing:border-box}",
    "body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--paper);color:var(--i0);"
    "font:16px/1.5 system-ui,sans-serif}",
    "h1{font-size:1.6rem;line-height:1.2}h2{margin-top:2.5rem;border-bottom:2px solid var(--i1)}",
    "a{color:var(--i2)}.verdict{font-size:1.15rem;background:var(--soft);padding:1rem;border-radius:.5rem}",
    ".wide{overflow-x:auto;margin:.5rem 0 1rem}.wide:focus{outline:2px solid var(--i2)}",
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}",
    "th,td{padding:.2rem .5rem;text-align:right;border-bottom:1px solid var(--i1);white-space:nowrap}",
    "th{font-weight:600}tbody th{text-align:left}thead th{text-align:center;vertical-align:bottom}",
    "td small{display:block;color:inherit;opacity:.75}",
    ".pair{border-left:1px solid var(--i1)}.off{background:var(--off)}tr.first>*{border-top:2px solid "
    "var(--i0)}",
    ".words td{text-align:left;white-space:normal}",
    ".said{border-left:4px solid var(--i2);margin:1rem 0;padding:.2rem 1rem;max-width:52rem}",
    ".facts{max-width:60rem}.facts th,.facts td{text-align:left;vertical-align:top;white-space:normal}",
    ".facts th{min-width:9rem;font-weight:600}code{overflow-wrap:anywhere}p,li{max-width:52rem}",
    "sup a{text-decoration:none;padding:0 .15em}.notes :target{background:var(--soft)}",
    "pre{background:var(--soft);padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere}",
    "figure{margin:1.5rem 0}.panels{display:flex;flex-wrap:wrap;gap:.5rem}",
    ".panels svg{flex:1 1 20rem;max-width:25rem;height:auto}.legend "
    "svg{max-width:25rem;width:100%;height:auto}",
    ".two{max-width:52rem}caption{text-align:left;font-weight:600;padding:.3rem 0}",
    "tbody th{position:sticky;left:0;background:var(--paper)}tbody th:first-child{min-width:4.6rem}"
    "tbody th+th{left:4.6rem}",
    ".cards{display:flex;flex-wrap:wrap;gap:1rem 2rem}.cards caption{max-width:22rem}.alone "
    "svg{max-width:34rem!important}",
    ".strips{display:flex;flex-wrap:wrap;gap:1rem}.strips figure{margin:0;width:16.5rem}",
    ".strips img{width:100%;image-rendering:pixelated;border:1px solid "
    "var(--i1)}figcaption{font-size:.85rem}",
    "@media print{body{max-width:none;font-size:11px}.wide{overflow:visible}table{font-size:8px}"
    "th,td{padding:.1rem .2rem}h3,figure,tr{break-inside:avoid}h1,h2,h3,h4,caption{break-after:avoid}",
    ".facts,.words,.alone table{font-size:10px}.verdict{font-size:13px}figcaption{font-size:10px}.alone "
    "svg{max-width:22rem!important}.strips figure{width:9.6rem}h2{margin-top:1.2rem}}",
};

static void print_inks(surety_growing *page, int dark) {
    for (int i = 0; i < SURETY_INKS; i++)
        surety_print(page, "--i%d:%s;", i, surety_ink_colour((surety_ink)i, dark));
}

void surety_page_head(surety_growing *page, const char *title) {
    surety_print(page,
                 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                 "'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n"
                 "<title>");
    surety_print_html(page, title);
    surety_print(page, "</title>\n<style>\n:root{");
    print_inks(page, 0);
    surety_print(page, "}\n@media(prefers-color-scheme:dark){:root{");
    print_inks(page, 1);
    surety_print(page, "}}\n");
    for (size_t i = 0; i < sizeof style / sizeof *style; i++) surety_print(page, "%s\n", style[i]);
    surety_print(page, ".f0{fill:currentColor}.s0{fill:none;stroke:currentColor}\n");
    for (int i = 1; i < SURETY_INKS; i++)
        surety_print(page, ".f%d{fill:var(--i%d)}.s%d{fill:none;stroke:var(--i%d)}\n", i, i, i, i);
    surety_print(page, "</style>\n</head>\n<body>\n<h1>");
    surety_print_html(page, title);
    surety_print(page, "</h1>\n");
}

/* ---- verdict ---- */

static surety_agreement agreement_of(const surety_shown *shown, size_t task, surety_norm norm) {
    surety_agreement a = {0};
    for (size_t i = 0; i < shown->results.count; i++) {
        const surety_printed *p = &shown->results.printed[i];
        surety_compared c = surety_results_compare(&shown->results, i);
        if (p->task == task && p->norm == norm) surety_agreement_add(&a, &c, p->value);
    }
    return a;
}

/* How ours compare, a line for each of the paper's tables; bands where there are several seeds. */
static void print_counts(surety_growing *page, const surety_shown *shown) {
    size_t tasks;
    int bands = shown->results.seeds > 1;
    surety_print(page,
                 "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>task</th><th>norm</th>"
                 "<th>values</th><th>within 0.0015</th><th>within the tolerance</th>%s<th>farthest</th></tr>"
                 "</thead><tbody>\n",
                 bands ? "<th>inside the band</th><th>tolerance or band</th>" : "");
    surety_paper_tasks(&tasks);
    for (size_t task = 0; task < tasks; task++)
        for (unsigned norm = SURETY_L2; norm <= SURETY_LINF; norm++) {
            surety_agreement a = agreement_of(shown, task, (surety_norm)norm);
            if (!a.compared) continue;
            surety_print(page, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%zu</td><td>%zu</td><td>%zu</td>",
                         surety_paper_tasks(&tasks)[task].name, surety_norm_name((surety_norm)norm),
                         a.compared, a.near, a.agree);
            if (bands) surety_print(page, "<td>%zu</td><td>%zu</td>", a.in_band, a.either);
            surety_print(page, "<td>%.3f</td></tr>\n", a.farthest);
        }
    surety_print(page, "</tbody></table></div>\n");
}

enum { MISSES = 20 }; /* that are listed */

typedef struct misses {
    size_t all, count, index[MISSES];
    double away[MISSES];
} misses;

/* The printed values that are neither within the tolerance nor inside the band, farthest first. */
static misses find_misses(const surety_shown *shown) {
    misses m = {0};
    for (size_t i = 0; i < shown->results.count; i++) {
        surety_compared c = surety_results_compare(&shown->results, i);
        double away = fabs(c.first - shown->results.printed[i].value);
        if (!c.seeds || c.agrees || c.in_band) continue;
        size_t at = m.count < MISSES ? m.count++ : MISSES - 1;
        if (m.all++ >= MISSES && m.away[at] >= away) continue;
        for (; at && m.away[at - 1] < away; at--) m.away[at] = m.away[at - 1], m.index[at] = m.index[at - 1];
        m.away[at] = away;
        m.index[at] = i;
    }
    return m;
}

static void print_miss(surety_growing *page, const surety_shown *shown, size_t index) {
    size_t tasks;
    const surety_printed *p = &shown->results.printed[index];
    surety_compared c = surety_results_compare(&shown->results, index);
    surety_print(page,
                 "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s"
                 "</td><td>%.3f",
                 surety_paper_tasks(&tasks)[p->task].name, surety_norm_name(p->norm),
                 surety_objective_name(p->algorithm), surety_threat_name(p->defense),
                 surety_threat_name(p->attack), surety_voter_set_name(p->voter_set),
                 surety_quantity_name(p->quantity), c.first);
    if (c.seeds > 1) surety_print(page, " (%.3f to %.3f)", c.min, c.max);
    surety_print(page, "</td><td>%.3f</td></tr>\n", p->value);
}

static void print_misses(surety_growing *page, const surety_shown *shown) {
    misses m = find_misses(shown);
    if (!m.all) {
        surety_print(page, "<p>No value is farther from print than that.</p>\n");
        return;
    }
    surety_print(
        page,
        "<h3>Values that do not agree: %zu</h3>\n<div class=\"wide\" tabindex=\"0\"><table><thead>"
        "<tr><th>task</th><th>norm</th><th>objective</th><th>defense</th><th>attack</th><th>voters</th>"
        "<th>quantity</th><th>ours</th><th>print</th></tr></thead><tbody>\n",
        m.all);
    for (size_t k = 0; k < m.count; k++) print_miss(page, shown, m.index[k]);
    surety_print(page, "</tbody></table></div>\n");
    if (m.all > m.count)
        surety_print(page, "<p>The %zu farthest are listed; results.csv has all.</p>\n", m.count);
}

static long setting(const surety_shown *shown, const char *name) {
    return (long)json_integer_value(json_object_get(json_object_get(shown->json, "settings"), name));
}

static const char *recipe_of(const surety_shown *shown) {
    const char *name = json_string_value(json_object_get(json_object_get(shown->json, "settings"), "recipe"));
    return name ? name : "unknown";
}

static const char *const print_reasons[] = {
    "The printed tables were made by a program that differs from the paper's text. <em>Print's recipe</em> "
    "repeats that program: its start weights, its random numbers in their order, batches in file order, an "
    "l2 attack that may leave the ball, half errors for ties, and a root over m instead of 2m.",
    "<strong>A floor under the gradient.</strong> An l2 step divides the gradient of the mean loss of a "
    "batch by its length, but by no less than 0.000001. A vote that is very sure has a smaller gradient, so "
    "attacks on it take shorter steps. Votes that nobody hardened look stronger in print than they are.",
    "<strong>A choice that mixes up labels.</strong> The best epoch is chosen on attacked examples that "
    "come back in another order than their labels. For pgd and ifgsm the choice is nearly random.",
    "<strong>Rounding decides some cells.</strong> Seeds 1, 2, .. repeat seed 0 with start weights changed "
    "by about one part in ten million. Where that moves a value by 0.1, print is one of many values that "
    "the same program gives on other machines: there the band is what to compare.",
    NULL};
static const char *const theory_reasons[] = {
    "This study follows the mathematics; the printed tables did not. It has a true l2 ball, feature masks, "
    "another root in the average_max bounds, shuffled batches, ties as errors and other random numbers. "
    "Most values differ for that reason. To compare with print, run <code>surety reproduce</code> without "
    "<code>--theory</code>.",
    NULL};

static void print_known(surety_growing *page, const surety_shown *shown) {
    int print = !strcmp(recipe_of(shown), "print");
    surety_print(page, "<h3>Known reasons</h3>\n<ul>\n");
    if (setting(shown, "epochs") != 20 || setting(shown, "samples") != 100 || setting(shown, "steps") != 20)
        surety_print(
            page,
            "<li><strong>This study is smaller than the paper's</strong> (epochs %ld, perturbations %ld, "
            "attack steps %ld instead of 20, 100, 20): its numbers are not expected to agree.</li>\n",
            setting(shown, "epochs"), setting(shown, "samples"), setting(shown, "steps"));
    for (const char *const *reason = print ? print_reasons : theory_reasons; *reason; reason++)
        surety_print(page, "<li>%s</li>\n", *reason);
    surety_print(page, "</ul>\n");
}

void surety_page_verdict(surety_growing *page, const surety_shown *shown) {
    surety_agreement a = surety_results_agreement(&shown->results);
    surety_print(
        page,
        "<p class=\"verdict\"><strong>%zu of %zu printed values agree with ours</strong>; %zu of them "
        "to within 0.0015",
        a.agree, a.compared, a.near);
    if (shown->results.seeds > 1)
        surety_print(page, ". <strong>%zu</strong> agree or lie inside the band of our seeds", a.either);
    surety_print(page, ".%s</p>\n",
                 a.compared < shown->results.count ? " The paper prints 2304; this study holds a part of "
                                                     "its grid."
                                                   : "");
    surety_print(
        page, "<p>A value agrees when seed 0 is within the tolerance: 0.01 for a risk, 0.02 for a bound. ");
    if (shown->results.seeds > 1)
        surety_print(
            page, "The band is the lowest to the highest value of our seeds (at most %zu), nothing added. ",
            shown->results.seeds);
    surety_print(page, "Recipe %s; epochs %ld, perturbations n = %ld, attack steps %ld.</p>\n",
                 strcmp(recipe_of(shown), "print") ? "theory" : "print", setting(shown, "epochs"),
                 setting(shown, "samples"), setting(shown, "steps"));
    print_counts(page, shown);
    print_misses(page, shown);
    print_known(page, shown);
}

/* ---- figures and foot ---- */

void surety_page_figures(surety_growing *page, const surety_figure *figures, size_t count) {
    surety_print(page, "<h2>Figures</h2>\n");
    for (size_t i = 0; i < count; i++) {
        const surety_figure *f = &figures[i];
        if (!f->count) continue;
        surety_print(page, "<figure>\n<h3>");
        surety_print_html(page, f->title);
        surety_print(page, "</h3>\n<div class=\"panels%s\">\n", f->columns == 2 ? " two" : "");
        for (size_t k = 0; k < f->count; k++) surety_draw_svg(&f->panels[k], 1, page);
        surety_print(page, "</div>\n<div class=\"legend\">\n");
        surety_draw_svg(&f->legend, 1, page);
        surety_print(page, "</div>\n<figcaption>");
        surety_print_html(page, f->caption);
        surety_print(page, "</figcaption>\n</figure>\n");
    }
}

void surety_page_foot(surety_growing *page, const surety_shown *shown) {
    (void)shown;
    surety_print(
        page,
        "<footer><p>Made by surety %s from results.csv and results.json of this folder; figures/ holds the "
        "drawings as SVG, PNG and PDF, models/ the votes of a study by the theory.</p></footer>\n</body>\n"
        "</html>\n",
        surety_version());
}

void surety_task_title(size_t task, char *title, size_t size) {
    size_t tasks;
    const surety_task *t = &surety_paper_tasks(&tasks)[task];
    snprintf(title, size, "%s: %s vs %s", !strcmp(t->dataset, "mnist") ? "MNIST" : "Fashion-MNIST",
             t->class_names[0], t->class_names[1]);
}
