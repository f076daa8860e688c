/* The numbers that the paper prints, data/published.csv, which the build turns into lines of text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "study/study.h"

static const char *const printed_lines[] = {
#include "published_lines.h"
};
enum { LINES = sizeof printed_lines / sizeof *printed_lines, NORMS = 2, FIELDS = 7 };

const char *surety_quantity_name(surety_quantity quantity) {
    static const char *const names[SURETY_QUANTITIES] = {
        "adversarial_risk", "averaged_risk", "averaged_max_risk", "bound_seeger", "bound_max", "bound_tv"};
    return names[quantity];
}

static int parse_quantity(const char *name, surety_quantity *quantity) {
    for (int i = 0; i < SURETY_QUANTITIES; i++)
        if (!strcmp(name, surety_quantity_name((surety_quantity)i))) return *quantity = (surety_quantity)i, 1;
    return 0;
}

int surety_printed_parse(char *line, surety_printed *key, char **rest) {
    char *field[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        field[i] = line;
        line = strchr(line, ',');
        if (!line) return 0;
        *line++ = 0;
    }
    *rest = line;
    size_t count;
    const surety_task *task = surety_task_find(field[0], NULL);
    if (!task) return 0;
    key->task = (size_t)(task - surety_paper_tasks(&count));
    return key->task < count && surety_norm_parse(field[1], &key->norm, NULL) == SURETY_OK &&
           surety_objective_parse(field[2], &key->algorithm, NULL) == SURETY_OK &&
           surety_threat_parse(field[3], &key->defense, NULL) == SURETY_OK &&
           surety_threat_parse(field[4], &key->attack, NULL) == SURETY_OK &&
           surety_voter_set_parse(field[5], &key->voter_set, NULL) == SURETY_OK &&
           parse_quantity(field[6], &key->quantity);
}

surety_status surety_results_new(surety_results *results, size_t seeds, surety_error *err) {
    *results = (surety_results){.count = LINES, .seeds = seeds};
    SURETY_TRY(surety_alloc(&results->printed, LINES, sizeof *results->printed, err));
    SURETY_TRY(surety_alloc(&results->values, LINES * (seeds ? seeds : 1), sizeof *results->values, err));
    for (size_t i = 0; i < LINES * seeds; i++) results->values[i] = (double)NAN;
    for (size_t i = 0; i < LINES; i++) {
        char line[128], *rest = NULL, *end = NULL;
        snprintf(line, sizeof line, "%s", printed_lines[i]);
        int fine = surety_printed_parse(line, &results->printed[i], &rest);
        if (fine) results->printed[i].value = surety_number(rest, &end);
        if (!fine || end == rest || *end)
            return surety_fail(err, SURETY_E_INPUT, "line %zu of the printed tables does not read: %s", i + 2,
                               printed_lines[i]);
    }
    return SURETY_OK;
}

void surety_results_free(surety_results *results) {
    surety_free(results->printed);
    surety_free(results->values);
    *results = (surety_results){0};
}

static int same_key(const surety_printed *a, const surety_printed *b) {
    return a->task == b->task && a->norm == b->norm && a->algorithm == b->algorithm &&
           a->defense == b->defense && a->attack == b->attack && a->voter_set == b->voter_set &&
           a->quantity == b->quantity;
}

size_t surety_results_find(const surety_results *results, const surety_printed *key) {
    size_t i = 0;
    while (i < results->count && !same_key(&results->printed[i], key)) i++;
    return i;
}

/* ---- comparing ---- */

static int is_bound(surety_quantity quantity) {
    return quantity >= SURETY_BOUND_OF_SEEGER;
}

surety_compared surety_results_compare(const surety_results *results, size_t index) {
    const double rounding = 1e-9; /* of differences of numbers with three digits */
    const surety_printed *p = &results->printed[index];
    surety_compared c = {.first = (double)NAN, .min = (double)NAN, .max = (double)NAN};
    for (size_t seed = 0; seed < results->seeds; seed++) {
        double value = results->values[index * results->seeds + seed];
        if (isnan(value)) continue;
        if (!c.seeds++) c.first = c.min = c.max = value;
        c.min = fmin(c.min, value);
        c.max = fmax(c.max, value);
    }
    double away = fabs(c.first - p->value);
    c.near = away <= 0.0015 + rounding;
    c.agrees = away <= (is_bound(p->quantity) ? 0.02 : 0.01) + rounding;
    c.in_band = c.seeds > 1 && c.min <= p->value && p->value <= c.max;
    return c;
}

void surety_agreement_add(surety_agreement *a, const surety_compared *c, double printed) {
    if (!c->seeds) return;
    a->compared++;
    a->near += (size_t)c->near;
    a->agree += (size_t)c->agrees;
    a->in_band += (size_t)c->in_band;
    a->either += (size_t)(c->agrees || c->in_band);
    a->farthest = fmax(a->farthest, fabs(c->first - printed));
}

surety_agreement surety_results_agreement(const surety_results *results) {
    surety_agreement a = {0};
    for (size_t i = 0; i < results->count; i++) {
        surety_compared c = surety_results_compare(results, i);
        surety_agreement_add(&a, &c, results->printed[i].value);
    }
    return a;
}
