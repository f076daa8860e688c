/* Guarantees against every attack (docs/theory.md 8): the cells of the certified defense, beside the printed
 * bounds of the same task, ball and voters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "report/report.h"

/* Means over the seeds, in the order of the table. */
enum { CLEAN, PGD, NOT_PROVED, FROZEN, ANCHORED, NUMBERS };

typedef struct line {
    size_t seeds;
    double mean[NUMBERS];
} line;

/* A number of the row with this attack, of the row itself or of its bounds; NaN if there is none. */
static double number_of(const json_t *found, const char *attack, const char *name) {
    size_t at;
    const json_t *row;
    json_array_foreach(json_object_get(found, "rows"), at, row) {
        const char *its = json_string_value(json_object_get(row, "attack"));
        const json_t *value = json_object_get(row, name);
        if (!value) value = json_object_get(json_object_get(row, "bounds"), name);
        if (its && !strcmp(its, attack) && json_is_number(value)) return json_number_value(value);
    }
    return (double)NAN;
}

static line line_of(const surety_shown *shown, const surety_cell *cell) {
    static const char *const names[NUMBERS][2] = {{"none", "adversarial_risk"},
                                                  {"pgd", "adversarial_risk"},
                                                  {"worst-case", "not_proved"},
                                                  {"worst-case", "worst_case_frozen"},
                                                  {"worst-case", "worst_case_anchored"}};
    line l = {0};
    size_t at;
    const json_t *found;
    json_array_foreach(shown->cells, at, found) {
        if (!surety_shown_is(found, cell)) continue;
        for (int i = 0; i < NUMBERS; i++) l.mean[i] += number_of(found, names[i][0], names[i][1]);
        l.seeds++;
    }
    for (int i = 0; i < NUMBERS && l.seeds; i++) l.mean[i] /= (double)l.seeds;
    return l;
}

/* .028; a limit is rounded up. */
static void print_cell(surety_growing *page, double value, int limit) {
    char digits[32];
    surety_format(digits, sizeof digits, "%.3f", limit ? ceil(1000 * value) / 1000 : value);
    surety_print(page, "<td>%s</td>", isnan(value) ? "&ndash;" : digits[0] == '0' ? digits + 1 : digits);
}

static void print_printed(surety_growing *page, const surety_shown *shown, const surety_cell *cell,
                          surety_objective algorithm, surety_quantity bound) {
    surety_printed key = {cell->task,         cell->norm,      algorithm, SURETY_ATTACK_PGDU,
                          SURETY_ATTACK_PGDU, cell->voter_set, bound,     0};
    double printed;
    surety_shown_value(shown, &key, &printed);
    print_cell(page, printed, 0);
}

static void print_line(surety_growing *page, const surety_shown *shown, const surety_cell *cell,
                       const line *l) {
    size_t tasks;
    surety_print(page, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%zu</td>",
                 surety_paper_tasks(&tasks)[cell->task].name, surety_norm_name(cell->norm),
                 surety_voter_set_name(cell->voter_set), l->seeds);
    for (int i = 0; i < NUMBERS; i++) print_cell(page, l->mean[i], i >= NOT_PROVED);
    print_printed(page, shown, cell, SURETY_OBJECTIVE_CHROMATIC, SURETY_BOUND_OF_SEEGER);
    print_printed(page, shown, cell, SURETY_OBJECTIVE_AVERAGE_MAX, SURETY_BOUND_OF_TV);
    surety_print(page, "</tr>\n");
}

static void print_heading(surety_growing *page) {
    surety_print(
        page,
        "<h2>Against every attack</h2>\n<p>The promise: with probability 95 %% over the draw of S, the share "
        "of new inputs for which <em>any</em> point of the ball (l2: radius %g, linf: radius %g) makes the "
        "vote wrong is at most <code>worst_case_frozen</code>, whoever attacks and however; and likewise at "
        "most <code>worst_case_anchored</code>, each on its own. The votes are of the certified defense. "
        "Errors are on T, as it is and under pgd; not proved: the share of T whose vote is "
        "not proved right on the whole ball. The printed bounds (defense pgdu, attack pgdu) speak of that "
        "one attack. Limits are rounded up; over several seeds a number is the mean, to compare by and no "
        "promise.</p>\n",
        surety_norm_radius(SURETY_L2), surety_norm_radius(SURETY_LINF));
    surety_print(
        page,
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>task</th><th>norm</th><th>voters</th>"
        "<th>seeds</th><th>clean error</th><th>pgd error</th><th>not proved</th><th>worst_case_frozen</th>"
        "<th>worst_case_anchored</th><th>printed<br>bound_seeger</th><th>printed<br>bound_tv</th></tr></"
        "thead>"
        "<tbody>\n");
}

void surety_page_worst_case(surety_growing *page, const surety_shown *shown) {
    size_t tasks, lines = 0;
    surety_paper_tasks(&tasks);
    for (size_t task = 0; task < tasks; task++)
        for (unsigned norm = SURETY_L2; norm <= SURETY_LINF; norm++)
            for (unsigned set = SURETY_SIGNED; set <= SURETY_REAL; set++) {
                surety_cell cell = {task, (surety_norm)norm, (surety_voter_set)set, SURETY_WORST_CASE, 0};
                line l = line_of(shown, &cell);
                if (!l.seeds) continue;
                if (!lines++) print_heading(page);
                print_line(page, shown, &cell, &l);
            }
    if (lines) surety_print(page, "</tbody></table></div>\n");
}
