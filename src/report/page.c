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
    "figure{margin:1.5rem 0}.panels{display:flex;flex-wrap:wrap;gap:.5rem}",
    ".panels svg{flex:1 1 20rem;max-width:25rem;height:auto}.legend "
    "svg{max-width:25rem;width:100%;height:auto}",
    ".two{max-width:52rem}caption{text-align:left;font-weight:600;padding:.3rem 0}",
    "tbody th{position:sticky;left:0;background:var(--paper)}tbody th:first-child{min-width:4.6rem}"
    "tbody th+th{left:4.6rem}",
    ".strips{display:flex;flex-wrap:wrap;gap:1rem}.strips figure{margin:0;width:16.5rem}",
    ".strips img{width:100%;image-rendering:pixelated;border:1px solid "
    "var(--i1)}figcaption{font-size:.85rem}",
    "@media print{body{max-width:none;font-size:11px}.wide{overflow:visible}table{font-size:8px}"
    "th,td{padding:.1rem .2rem}h3,figure,tr{break-inside:avoid}}",
};

static void print_inks(surety_growing *page, int dark) {
    for (int i = 0; i < SURETY_INKS; i++)
        surety_print(page, "--i%d:%s;", i, surety_ink_colour((surety_ink)i, dark));
}

void surety_page_head(surety_growing *page) {
    surety_print(page,
                 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                 "'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n"
                 "<title>The paper's tables, reproduced</title>\n<style>\n:root{");
    print_inks(page, 0);
    surety_print(page, "}\n@media(prefers-color-scheme:dark){:root{");
    print_inks(page, 1);
    surety_print(page, "}}\n");
    for (size_t i = 0; i < sizeof style / sizeof *style; i++) surety_print(page, "%s\n", style[i]);
    surety_print(page, ".f0{fill:currentColor}.s0{fill:none;stroke:currentColor}\n");
    for (int i = 1; i < SURETY_INKS; i++)
        surety_print(page, ".f%d{fill:var(--i%d)}.s%d{fill:none;stroke:var(--i%d)}\n", i, i, i, i);
    surety_print(page, "</style>\n</head>\n<body>\n<h1>The paper's tables, reproduced</h1>\n");
}

/* ---- verdict ---- */

/* Values of one kind: risks or bounds, of hardened votes or others. */
typedef struct group {
    size_t compared, agree, in_band;
    double worst;
} group;

static int is_bound(surety_quantity quantity) {
    return quantity >= SURETY_BOUND_OF_SEEGER;
}

static void count_groups(const surety_shown *shown, group groups[2][2]) {
    memset(groups, 0, 4 * sizeof(group));
    for (size_t i = 0; i < shown->results.count; i++) {
        const surety_printed *p = &shown->results.printed[i];
        surety_compared c = surety_results_compare(&shown->results, i);
        group *g = &groups[!surety_printed_defended(p)][is_bound(p->quantity)];
        if (!c.seeds) continue;
        g->compared++;
        g->agree += (size_t)c.agrees;
        g->in_band += (size_t)c.in_band;
        g->worst = fmax(g->worst, fmax(c.min - p->value, p->value - c.max));
    }
}

static void print_groups(surety_growing *page, const surety_shown *shown) {
    static const char *const names[2][2] = {
        {"risks, hardened votes", "bounds, hardened votes"},
        {"risks, votes nobody hardened", "bounds, votes nobody hardened"}};
    group groups[2][2];
    count_groups(shown, groups);
    surety_print(
        page,
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th></th><th>compared</th><th>agree</th>"
        "<th>in the band of our seeds</th><th>farthest outside</th></tr></thead><tbody>\n");
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            const group *g = &groups[i][k];
            if (g->compared)
                surety_print(
                    page,
                    "<tr><th scope=\"row\">%s</th><td>%zu</td><td>%zu</td><td>%zu</td><td>%.3f</td></tr>\n",
                    names[i][k], g->compared, g->agree, g->in_band, g->worst);
        }
    surety_print(page, "</tbody></table></div>\n");
}

/* The printed values that ours miss although the vote was hardened, farthest first, at most `most`. */
static void print_misses(surety_growing *page, const surety_shown *shown) {
    enum { MOST = 20 };
    size_t worst[MOST], count = 0, all = 0, tasks;
    double far[MOST];
    for (size_t i = 0; i < shown->results.count; i++) {
        const surety_printed *p = &shown->results.printed[i];
        surety_compared c = surety_results_compare(&shown->results, i);
        if (!c.seeds || c.agrees || !surety_printed_defended(p)) continue;
        double distance = fmax(c.min - p->value, p->value - c.max);
        size_t at = count < MOST ? count++ : MOST - 1;
        all++;
        if (all > MOST && far[at] >= distance) continue;
        for (; at && far[at - 1] < distance; at--) far[at] = far[at - 1], worst[at] = worst[at - 1];
        far[at] = distance;
        worst[at] = i;
    }
    if (!all) {
        surety_print(page, "<p>Every value of a hardened vote agrees.</p>\n");
        return;
    }
    surety_print(
        page,
        "<h3>Hardened votes that do not agree: %zu</h3>\n<div class=\"wide\" tabindex=\"0\"><table><thead>"
        "<tr><th>task</th><th>norm</th><th>objective</th><th>defense</th><th>attack</th><th>voters</th>"
        "<th>quantity</th><th>ours</th><th>print</th></tr></thead><tbody>\n",
        all);
    for (size_t k = 0; k < count; k++) {
        const surety_printed *p = &shown->results.printed[worst[k]];
        surety_compared c = surety_results_compare(&shown->results, worst[k]);
        surety_print(
            page,
            "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s"
            "</td><td>%.3f",
            surety_tasks(&tasks)[p->task].name, surety_norm_name(p->norm),
            surety_objective_name(p->algorithm), surety_attack_kind_name(p->defense),
            surety_attack_kind_name(p->attack), surety_voter_set_name(p->set),
            surety_quantity_name(p->quantity), c.mean);
        if (c.seeds > 1) surety_print(page, " (%.3f to %.3f)", c.min, c.max);
        surety_print(page, "</td><td>%.3f</td></tr>\n", p->value);
    }
    surety_print(page, "</tbody></table></div>\n");
    if (all > count) surety_print(page, "<p>The %zu farthest are listed; results.csv has all.</p>\n", count);
}

static long setting(const surety_shown *shown, const char *name) {
    return (long)json_integer_value(json_object_get(json_object_get(shown->json, "settings"), name));
}

static const char *recipe_of(const surety_shown *shown) {
    const char *name = json_string_value(json_object_get(json_object_get(shown->json, "settings"), "recipe"));
    return name ? name : "unknown";
}

static void print_reasons(surety_growing *page, const surety_shown *shown) {
    int print = !strcmp(recipe_of(shown), "print");
    surety_print(page, "<h3>Known reasons</h3>\n<ul>\n");
    if (setting(shown, "epochs") != 20 || setting(shown, "samples") != 100 || setting(shown, "steps") != 20)
        surety_print(
            page,
            "<li><strong>This study is smaller than the paper's</strong> (epochs %ld, perturbations %ld, "
            "attack steps %ld instead of 20, 100, 20): its numbers are not expected to agree.</li>\n",
            setting(shown, "epochs"), setting(shown, "samples"), setting(shown, "steps"));
    surety_print(
        page,
        "<li>A vote that nobody hardened (defense none or unif) breaks under attack by chance: its rows "
        "move by 0.1 and more from seed to seed. One seed says little there, and even the band of three "
        "often misses print.</li>\n<li>With real voters, average_max_tv rests on which of n nearly equal "
        "outputs is a voter's worst, and that is a matter of the last bit: the same sums in another order "
        "move the bound by up to 0.17. Print's own arithmetic is not known.</li>\n"
        "<li>In step 1 the weights of the prior end on one tree here, and seem to have moved less in print: "
        "with a "
        "slower prior, bounds with real voters and rows nobody hardened come closer.</li>\n"
        "<li>Print has three digits and one unknown seed. One seed of ours is a point, not a band: on "
        "fashion-coat-v-shirt, l2, signed, 24 of 48 values of hardened votes agree with one seed, 46 with "
        "five.</li>\n");
    if (print)
        surety_print(
            page,
            "<li>Profile <em>published</em> repeats what the printed tables did, not what the text says: no "
            "feature masks; for l2 only the box [x-b, x+b] limits a step, so pgd leaves the ball (up to norm "
            "1.7 "
            "b); the noise of the u-attacks may leave it too; the root in the average_max bounds is over m, "
            "not "
            "2m; batches in file order; a tie is half an error; the last iterate counts; the TV term takes "
            "the "
            "mean over voters. Where the original's random numbers enter, ours are others.</li>\n");
    else
        surety_print(
            page,
            "<li>Profile <em>theory</em> follows the mathematics, the printed tables did not: other masks, "
            "a true l2 ball, another root in the average_max bounds, reshuffled batches, ties as errors. "
            "Most values differ for that reason; profile published is the one to compare.</li>\n");
    surety_print(page, "</ul>\n");
}

void surety_page_verdict(surety_growing *page, const surety_shown *shown) {
    surety_agreement a = surety_results_agreement(&shown->results);
    surety_print(page, "<p class=\"verdict\"><strong>%zu of %zu printed values agree with ours</strong>",
                 a.agree, a.compared);
    if (a.defended)
        surety_print(page, "; among votes that were hardened, or not attacked, <strong>%zu of %zu</strong>",
                     a.defended_agree, a.defended);
    surety_print(page, ".%s</p>\n",
                 a.compared < shown->results.count ? " The paper prints 2304; this study holds a part of "
                                                     "its grid."
                                                   : "");
    surety_print(
        page,
        "<p>A value agrees when print lies within the band of our %zu seed%s, widened by 0.01 for a risk and "
        "0.02 for a bound. Recipe %s; epochs %ld, perturbations n = %ld, attack steps %ld.</p>\n",
        shown->results.seeds, shown->results.seeds == 1 ? "" : "s (where a task has so many)",
        recipe_of(shown), setting(shown, "epochs"), setting(shown, "samples"), setting(shown, "steps"));
    print_groups(page, shown);
    print_misses(page, shown);
    print_reasons(page, shown);
}

/* ---- figures and foot ---- */

void surety_page_figures(surety_growing *page, const surety_figure *figures, size_t count) {
    surety_print(page, "<h2>Figures</h2>\n");
    for (size_t i = 0; i < count; i++) {
        const surety_figure *f = &figures[i];
        if (!f->count) continue;
        surety_print(page, "<figure>\n<h3>%s</h3>\n<div class=\"panels%s\">\n", f->title,
                     f->columns == 2 ? " two" : "");
        for (size_t k = 0; k < f->count; k++) surety_draw_svg(&f->panels[k], 1, page);
        surety_print(page, "</div>\n<div class=\"legend\">\n");
        surety_draw_svg(&f->legend, 1, page);
        surety_print(page, "</div>\n<figcaption>%s</figcaption>\n</figure>\n", f->caption);
    }
}

void surety_page_foot(surety_growing *page, const surety_shown *shown) {
    const char *version = json_string_value(json_object_get(shown->json, "surety"));
    surety_print(
        page,
        "<footer><p>Made by surety %s from results.csv and results.json of this folder; models/ holds the "
        "votes themselves, figures/ the drawings as SVG, PNG and PDF.</p></footer>\n</body>\n</html>\n",
        version ? version : "");
}

void surety_task_title(size_t task, char *title, size_t size) {
    size_t tasks;
    const surety_task *t = &surety_tasks(&tasks)[task];
    snprintf(title, size, "%s: %s vs %s", !strcmp(t->dataset, "mnist") ? "MNIST" : "Fashion-MNIST",
             t->class_names[0], t->class_names[1]);
}
