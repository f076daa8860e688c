#include "cli/classes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

enum {
    MANY = 12,  /* more classes than this are not all shown */
    SHOWN = 10, /* but these */
    ACROSS = 5, /* rows side by side: a line has 80 letters */
    NAME = 15,  /* letters of a class's name in a table */
};

const char *cli_fit(const char *name, int width, char out[CLI_NAME_BYTES]) {
    int room = width ? abs(width) : CLI_NAME;
    size_t length = 0;
    for (; name[length]; length++)
        if ((name[length] & 0xc0) != 0x80 && room-- == 0) break;
    if (!width || room < 0) room = 0;
    snprintf(out, CLI_NAME_BYTES, "%*s%.*s%*s", width > 0 ? room : 0, "", (int)length, name,
             width > 0 ? 0 : room, "");
    for (char *at = out; *at; at++)
        if (iscntrl((unsigned char)*at)) *at = ' ';
    return out;
}

/* ---- the largest of many numbers ---- */

typedef struct top {
    size_t count, index[SHOWN];
    double value[SHOWN];
} top;

/* Keeps the largest, in order; of equal ones the first. */
static void keep(top *t, size_t index, double value) {
    size_t at = t->count < SHOWN ? t->count++ : SHOWN;
    for (; at > 0 && t->value[at - 1] < value; at--)
        if (at < SHOWN) t->value[at] = t->value[at - 1], t->index[at] = t->index[at - 1];
    if (at < SHOWN) t->value[at] = value, t->index[at] = index;
}

/* ---- risks by class ---- */

static double class_risk(const surety_row *row, size_t k) {
    return (double)row->class_failed[k] / (double)row->test.class_examples[k];
}

static void print_class(const surety_row *rows, size_t count, size_t k, const char *name) {
    char text[CLI_NAME_BYTES];
    unsigned long long examples = rows[0].test.class_examples[k];
    cli_print("  %s %6llu", cli_fit(name, -NAME, text), examples);
    for (size_t i = 0; i < count; i++)
        if (examples)
            cli_print(" %10.4f", class_risk(&rows[i], k));
        else
            cli_print(" %10s", "-");
    cli_print("\n");
}

static void print_some(const surety_row *rows, size_t count, const top *worst, const char *const *names) {
    size_t K = rows[0].test.classes, shown = K > MANY ? worst->count : K;
    char text[CLI_NAME_BYTES];
    cli_print("  %s %6s", cli_fit("class", -NAME, text), "rows");
    for (size_t i = 0; i < count; i++) cli_print(" %10s", surety_threat_name(rows[i].threat));
    cli_print("\n");
    for (size_t i = 0; i < shown; i++) {
        size_t k = K > MANY ? worst->index[i] : i;
        print_class(rows, count, k, names[k]);
    }
    if (shown < K) cli_print("  .. and %zu more: --json has them\n", K - shown);
}

int cli_has_test(const surety_row *row) {
    return row->overlap.m > 0;
}

void cli_print_class_risks(const surety_row *rows, size_t count, const char *const *names) {
    top worst = {0};
    const surety_row *last = &rows[count - 1];
    int proofs = 0;
    for (size_t i = 0; i < count; i++) proofs |= rows[i].threat == SURETY_WORST_CASE;
    for (size_t k = 0; k < last->test.classes; k++)
        if (last->test.class_examples[k]) keep(&worst, k, class_risk(last, k));
    cli_print("R_att by class of %s%s\n", cli_has_test(last) ? "T" : "the fresh rows",
              proofs ? "; worst-case: what is not proved right" : "");
    for (size_t i = 0; i < count; i += ACROSS)
        print_some(rows + i, count - i < ACROSS ? count - i : ACROSS, &worst, names);
    cli_print("\n");
}

/* ---- the clean vote ---- */

static const char *answer_name(const surety_clean *c, size_t k, const char *const *names) {
    return k < c->classes ? names[k] : "tied";
}

static void print_matrix(const surety_clean *c, const char *const *names) {
    enum { LINE = 79, WIDEST = 11 };
    int K = (int)c->classes, width = (LINE - 2 - NAME) / (K + 1);
    char text[CLI_NAME_BYTES];
    if (width > WIDEST) width = WIDEST;
    cli_print("Clean vote: classes down, answers across\n  %*s", NAME, "");
    for (int k = 0; k <= K; k++) cli_print(" %s", cli_fit(answer_name(c, (size_t)k, names), width - 1, text));
    cli_print("\n");
    for (int y = 0; y < K; y++) {
        cli_print("  %s", cli_fit(names[y], -NAME, text));
        for (int k = 0; k <= K; k++)
            cli_print(" %*llu", width - 1, (unsigned long long)c->answers[y * (K + 1) + k]);
        cli_print("\n");
    }
}

static void print_confusions(const surety_clean *c, const char *const *names) {
    size_t columns = c->classes + 1;
    top most = {0};
    char one[CLI_NAME_BYTES], other[CLI_NAME_BYTES];
    for (size_t n = 0; n < c->classes * columns; n++)
        if (n / columns != n % columns && c->answers[n]) keep(&most, n, (double)c->answers[n]);
    if (!most.count) return;
    cli_print("Clean vote: its most frequent confusions\n");
    for (size_t i = 0; i < most.count; i++) {
        size_t y = most.index[i] / columns, k = most.index[i] % columns;
        cli_print("  %s %s%s: %llu\n", cli_fit(names[y], 0, one), k < c->classes ? "answered as " : "",
                  cli_fit(answer_name(c, k, names), 0, other), (unsigned long long)c->answers[most.index[i]]);
    }
}

void cli_print_confusion(const surety_clean *c, const char *const *names) {
    if (c->classes <= MANY)
        print_matrix(c, names);
    else
        print_confusions(c, names);
    cli_print("\n");
}

void cli_print_clean(const surety_clean *c, const char *whose, const char *const *names) {
    char text[512], name[CLI_NAME_BYTES];
    cli_fit(names[c->largest], 0, name);
    snprintf(text, sizeof text, "%s: %.4f (always answering '%s': %.4f)", whose, c->error, name,
             c->majority_error);
    cli_print_wrapped(text, 0, 0);
    if (c->error < c->majority_error) return;
    snprintf(text, sizeof text, "note: this vote is no better than always answering '%s'", name);
    cli_print_wrapped(text, 0, 0);
}

void cli_print_dictator(const surety_model *model) {
    double weight = surety_model_largest_weight(model, NULL);
    if (weight > 0.9 && surety_voters_count(surety_model_voters(model)) > 1)
        cli_print("note: one voter has %.2f of the weight: the vote is that voter\n", weight);
}
