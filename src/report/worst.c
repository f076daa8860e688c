/* Guarantees against every attack (docs/theory.md 8): the cells of the certified defense, the kinds of voters
 * below each other, beside the printed bounds of the same task, ball and voters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "report/report.h"

/* Means over the seeds, in the order of the table. */
enum { CLEAN, ATTACKED, NOT_PROVED, FROZEN, ANCHORED, NUMBERS };

typedef struct line {
    surety_cell cell;
    size_t seeds;
    double mean[NUMBERS];
} line;

enum { LINES = 64 }; /* of a task and norm: kinds, each with two voter sets */

/* A number of the row with this attack (NULL: with neither of the other two), of the row itself or of its
 * bounds; NaN if there is none. */
static double number_of(const json_t *found, const char *attack, const char *name) {
    size_t at;
    const json_t *row;
    json_array_foreach(json_object_get(found, "rows"), at, row) {
        const char *its = json_string_value(json_object_get(row, "attack"));
        const json_t *value = json_object_get(row, name);
        if (!value) value = json_object_get(json_object_get(row, "bounds"), name);
        int is = its && (attack ? !strcmp(its, attack) : strcmp(its, "none") && strcmp(its, "worst-case"));
        if (is && json_is_number(value)) return json_number_value(value);
    }
    return (double)NAN;
}

static line line_of(const surety_shown *shown, const surety_cell *cell) {
    static const char *const names[NUMBERS][2] = {{"none", "adversarial_risk"},
                                                  {NULL, "adversarial_risk"},
                                                  {"worst-case", "not_proved"},
                                                  {"worst-case", "worst_case_frozen"},
                                                  {"worst-case", "worst_case_anchored"}};
    line l = {.cell = *cell};
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

/* .028; a limit is rounded up; the smallest of several is bold. */
static void print_cell(surety_growing *page, double value, int limit, int bold) {
    char digits[32];
    surety_format(digits, sizeof digits, "%.3f", limit ? ceil(1000 * value) / 1000 : value);
    surety_print(page, bold ? "<td><b>%s</b></td>" : "<td>%s</td>",
                 isnan(value)       ? "&ndash;"
                 : digits[0] == '0' ? digits + 1
                                    : digits);
}

static void print_printed(surety_growing *page, const surety_shown *shown, const surety_cell *cell,
                          surety_objective algorithm, surety_quantity bound) {
    surety_printed key = {cell->task,         cell->norm,      algorithm, SURETY_ATTACK_PGDU,
                          SURETY_ATTACK_PGDU, cell->voter_set, bound,     0};
    double printed;
    surety_shown_value(shown, &key, &printed);
    print_cell(page, printed, 0, 0);
}

static void print_line(surety_growing *page, const surety_shown *shown, const line *l, int smallest) {
    size_t tasks;
    const surety_cell *cell = &l->cell;
    surety_print(page, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%s</td><td>%zu</td>",
                 surety_paper_tasks(&tasks)[cell->task].name, surety_norm_name(cell->norm),
                 surety_kind_name(cell->kind), surety_voter_set_name(cell->voter_set), l->seeds);
    for (int i = 0; i < NUMBERS; i++) print_cell(page, l->mean[i], i >= NOT_PROVED, smallest && i == FROZEN);
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
        "Errors are on T, as it is and attacked (voters with gradients by pgd, trees by their search); not "
        "proved: the share of T whose vote is "
        "not proved right on the whole ball. Where several votes share a task and a norm, the smallest "
        "<code>worst_case_frozen</code> is bold: whoever takes that vote because of it has looked at S. The "
        "printed bounds (defense pgdu, attack pgdu) speak of that "
        "one attack. Limits are rounded up; over several seeds a number is the mean, to compare by and no "
        "promise.</p>\n",
        surety_norm_radius(SURETY_L2), surety_norm_radius(SURETY_LINF));
    surety_print(
        page,
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>task</th><th>norm</th><th>kind</th><th>"
        "voters</th>"
        "<th>seeds</th><th>clean error</th><th>attacked</th><th>not proved</th><th>worst_case_<br>frozen</th>"
        "<th>worst_case_<br>anchored</th><th>printed<br>bound_seeger</th><th>printed<br>bound_tv</th></tr></"
        "thead>"
        "<tbody>\n");
}

/* The lines of a task and norm, kind by kind; how many. */
static size_t gather(const surety_shown *shown, size_t task, surety_norm norm, line lines[LINES]) {
    size_t count = 0;
    for (size_t kind = 0; surety_kind_name(kind); kind++)
        for (unsigned set = SURETY_SIGNED; set <= SURETY_REAL && count < LINES; set++) {
            surety_cell cell = {task, norm, (surety_voter_set)set, SURETY_WORST_CASE, 0, kind};
            line l = line_of(shown, &cell);
            if (l.seeds) lines[count++] = l;
        }
    return count;
}

void surety_page_worst_case(surety_growing *page, const surety_shown *shown) {
    size_t tasks, all = 0;
    surety_paper_tasks(&tasks);
    for (size_t task = 0; task < tasks; task++)
        for (unsigned norm = SURETY_L2; norm <= SURETY_LINF; norm++) {
            line lines[LINES];
            size_t count = gather(shown, task, (surety_norm)norm, lines), least = 0;
            if (count && !all) print_heading(page);
            for (size_t i = 1; i < count; i++)
                if (lines[i].mean[FROZEN] < lines[least].mean[FROZEN]) least = i;
            for (size_t i = 0; i < count; i++) print_line(page, shown, &lines[i], count > 1 && i == least);
            all += count;
        }
    if (all) surety_print(page, "</tbody></table></div>\n");
}
