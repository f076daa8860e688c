/* The paper's tables, ours over print, and the gallery. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "report/pictures.h"
#include "report/report.h"

/* ---- tables ---- */

typedef struct column {
    surety_quantity quantity;
    const char *title;
} column;

static const column chromatic[] = {{SURETY_ADVERSARIAL_RISK, "R_att, attack without u"},
                                   {SURETY_AVERAGED_RISK, "R on perturbed T"},
                                   {SURETY_BOUND_OF_SEEGER, "chromatic bound"}};
static const column average_max[] = {{SURETY_ADVERSARIAL_RISK, "R_att, attack without u"},
                                     {SURETY_AVERAGED_MAX_RISK, "A on perturbed T"},
                                     {SURETY_BOUND_OF_TV, "average-max bound (TV form)"},
                                     {SURETY_BOUND_OF_MAX, "average-max bound"}};
static const column baseline[] = {{SURETY_ADVERSARIAL_RISK, "R_att"}};

static const struct {
    surety_objective algorithm;
    const char *title;
    const column *columns;
    size_t count;
    surety_threat_kind defenses[4], attacks[3];
} kinds[] = {{SURETY_OBJECTIVE_CHROMATIC,
              "Objective chromatic",
              chromatic,
              3,
              {SURETY_ATTACK_NONE, SURETY_ATTACK_UNIF, SURETY_ATTACK_PGDU, SURETY_ATTACK_IFGSMU},
              {SURETY_ATTACK_NONE, SURETY_ATTACK_PGDU, SURETY_ATTACK_IFGSMU}},
             {SURETY_OBJECTIVE_AVERAGE_MAX,
              "Objective average-max",
              average_max,
              4,
              {SURETY_ATTACK_NONE, SURETY_ATTACK_UNIF, SURETY_ATTACK_PGDU, SURETY_ATTACK_IFGSMU},
              {SURETY_ATTACK_NONE, SURETY_ATTACK_PGDU, SURETY_ATTACK_IFGSMU}},
             {SURETY_OBJECTIVE_BASELINE,
              "Baseline: step 1 alone",
              baseline,
              1,
              {SURETY_ATTACK_NONE, SURETY_ATTACK_UNIF, SURETY_ATTACK_PGD, SURETY_ATTACK_IFGSM},
              {SURETY_ATTACK_NONE, SURETY_ATTACK_PGD, SURETY_ATTACK_IFGSM}}};

/* .028 as the paper prints it, bold if it is the better of signed and real. */
static void print_number(surety_growing *page, double value, double other) {
    char digits[32];
    surety_format(digits, sizeof digits, "%.3f", value);
    int better = !isnan(other) && lrint(1000 * value) < lrint(1000 * other);
    surety_print(page, better ? "<b>%s</b>" : "%s", digits[0] == '0' ? digits + 1 : digits);
}

/* The pair signed, real of one quantity. */
static void print_pair(surety_growing *page, const surety_shown *shown, surety_printed key) {
    surety_compared c[2];
    double printed[2];
    for (unsigned set = SURETY_SIGNED; set <= SURETY_REAL; set++) {
        key.voter_set = (surety_voter_set)set;
        c[set] = surety_shown_value(shown, &key, &printed[set]);
    }
    for (int i = 0; i < 2; i++) {
        const char *pair = i ? "" : "pair";
        if (!c[i].seeds) {
            surety_print(page, "<td class=\"%s\">&ndash;", pair);
        } else {
            surety_print(page, "<td class=\"%s%s\">%s", pair, c[i].agrees ? "" : " off",
                         c[i].agrees ? "" : "&ne; ");
            print_number(page, c[i].first, c[1 - i].first);
            if (c[i].seeds > 1) surety_print(page, "<small>%.3f&ndash;%.3f</small>", c[i].min, c[i].max);
        }
        surety_print(page, "<small>print ");
        print_number(page, printed[i], printed[1 - i]);
        surety_print(page, "</small></td>");
    }
}

static void print_heading(surety_growing *page, size_t kind) {
    surety_print(
        page,
        "<div class=\"wide\" tabindex=\"0\"><table>\n<caption>%s</caption>\n<thead><tr><th rowspan=\"2\">"
        "defense</th><th rowspan=\"2\">attack</th>",
        kinds[kind].title);
    for (size_t i = 0; i < kinds[kind].count; i++)
        surety_print(page, "<th colspan=\"2\" class=\"pair\">%s</th>", kinds[kind].columns[i].title);
    surety_print(page, "</tr><tr>");
    for (size_t i = 0; i < kinds[kind].count; i++)
        surety_print(page, "<th class=\"pair\">signed</th><th>real</th>");
    surety_print(page, "</tr></thead>\n<tbody>\n");
}

static void print_table(surety_growing *page, const surety_shown *shown, size_t task, surety_norm norm,
                        size_t kind) {
    print_heading(page, kind);
    for (size_t d = 0; d < 4; d++)
        for (size_t a = 0; a < 3; a++) {
            surety_threat_kind defense = kinds[kind].defenses[d], attack = kinds[kind].attacks[a];
            surety_print(page, "<tr%s><th scope=\"row\">%s</th><th scope=\"row\">%s</th>",
                         a ? "" : " class=\"first\"", surety_threat_name(defense),
                         surety_threat_name(attack));
            for (size_t i = 0; i < kinds[kind].count; i++) {
                surety_printed key = {task,   norm, kinds[kind].algorithm,           defense,
                                      attack, 0,    kinds[kind].columns[i].quantity, 0};
                print_pair(page, shown, key);
            }
            surety_print(page, "</tr>\n");
        }
    surety_print(page, "</tbody></table></div>\n");
}

size_t surety_page_tables(surety_growing *page, const surety_shown *shown) {
    size_t tasks, count = 0;
    surety_paper_tasks(&tasks);
    surety_print(
        page,
        "<h2>Tables</h2>\n<p>Ours first (seed 0, then the lowest and highest of several seeds), print below "
        "it. Bold: the better of signed and real voters. <span class=\"off\">&ne; marked</span>: seed 0 does "
        "not agree. Bounds are on the vote, twice the surrogate, not clipped at 1.</p>\n");
    for (size_t task = 0; task < tasks; task++)
        for (unsigned norm = SURETY_L2; norm <= SURETY_LINF; norm++) {
            char title[64];
            if (!surety_shown_has(shown, task, (surety_norm)norm)) continue;
            surety_task_title(task, title, sizeof title);
            surety_print(page, "<h3>%s, %s ball of radius %g</h3>\n", title,
                         surety_norm_name((surety_norm)norm), surety_norm_radius((surety_norm)norm));
            for (size_t kind = 0; kind < 3; kind++, count++)
                print_table(page, shown, task, (surety_norm)norm, kind);
        }
    return count;
}

/* ---- gallery ---- */

enum { SIDE = SURETY_STRIP_SIDE };

/* Two hexadecimal digits per pixel, exactly count of them. */
static int read_pixels(const json_t *text, uint8_t *pixels, size_t count) {
    const char *hex = json_string_value(text);
    if (!hex || strlen(hex) != 2 * count) return 0;
    for (size_t i = 0; i < count; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        if (strspn(two, "0123456789abcdef") != 2) return 0;
        pixels[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return 1;
}

static surety_status print_strip(surety_growing *page, const json_t *example, size_t height, size_t width,
                                 const surety_task *task, surety_norm norm, surety_error *err) {
    static const size_t most = SIDE * SIDE;
    uint8_t original[SIDE * SIDE], attacked[SIDE * SIDE];
    if (height * width > most ||
        !read_pixels(json_object_get(example, "original"), original, height * width) ||
        !read_pixels(json_object_get(example, "attacked"), attacked, height * width))
        return surety_fail(err, SURETY_E_INPUT, "an example of a gallery is no picture of %zu x %zu", height,
                           width);
    int label = (int)json_integer_value(json_object_get(example, "label"));
    char words[256], title[300];
    surety_format(
        words, sizeof words, "%s in test row %lld: vote %+.2f before, %+.2f after; %s distance %.2f",
        task->class_names[label > 0], (long long)json_integer_value(json_object_get(example, "row")),
        label * json_number_value(json_object_get(example, "clean_vote")),
        label * json_number_value(json_object_get(example, "attacked_vote")), surety_norm_name(norm),
        json_number_value(json_object_get(example, "distance")));
    snprintf(title, sizeof title, "original, perturbation, fooled: %s", words);
    surety_print(page, "<figure>");
    SURETY_TRY(surety_print_pixels(page, original, attacked, height, width, title, err));
    surety_print(page, "<figcaption>");
    surety_print_html(page, words);
    surety_print(page, "</figcaption></figure>\n");
    return SURETY_OK;
}

static surety_status print_cell(surety_growing *page, const surety_shown *shown, const surety_cell *cell,
                                surety_error *err) {
    size_t tasks, at;
    const json_t *gallery = json_object_get(surety_shown_cell(shown, cell), "gallery"), *example;
    const json_t *examples = json_object_get(gallery, "examples");
    size_t height = (size_t)json_integer_value(json_object_get(gallery, "height"));
    size_t width = (size_t)json_integer_value(json_object_get(gallery, "width"));
    char title[64];
    if (!json_array_size(examples) || !height || !width || height > SIDE || width > SIDE) return SURETY_OK;
    surety_task_title(cell->task, title, sizeof title);
    surety_print(page, "<h3>%s, %s, defense %s</h3>\n<div class=\"strips\">\n", title,
                 surety_norm_name(cell->norm), surety_defense_name(cell->defense));
    json_array_foreach(examples, at, example) SURETY_TRY(
        print_strip(page, example, height, width, &surety_paper_tasks(&tasks)[cell->task], cell->norm, err));
    surety_print(page, "</div>\n");
    return SURETY_OK;
}

surety_status surety_page_gallery(surety_growing *page, const surety_shown *shown, surety_error *err) {
    static const surety_threat_kind defenses[] = {SURETY_ATTACK_NONE, SURETY_ATTACK_PGDU};
    size_t tasks;
    surety_paper_tasks(&tasks);
    if (!surety_has_cairo) {
        surety_print(page, "<p>%s</p>\n", surety_report_left_out());
        return SURETY_OK;
    }
    surety_print(
        page,
        "<h2>Fooled</h2>\n<p>The first test examples that the vote (signed voters, objective chromatic, seed "
        "0) gets right and pgd gets wrong: original, perturbation (grey is no change, contrast times four), "
        "and the image that fools it. A vote is given towards the true class: below 0 is wrong.</p>\n");
    for (size_t task = 0; task < tasks; task++)
        for (unsigned norm = SURETY_L2; norm <= SURETY_LINF; norm++)
            for (size_t d = 0; d < 2; d++) {
                surety_cell cell = {task, (surety_norm)norm, SURETY_SIGNED, defenses[d], 0, 0};
                SURETY_TRY(print_cell(page, shown, &cell, err));
            }
    return SURETY_OK;
}
