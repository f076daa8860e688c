/* Words, tables of facts and definitions of the page of a model. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "report/subject.h"

enum { LONGEST = SURETY_CLAIM + 512 };

__attribute__((format(printf, 2, 0))) static void print_escaped(surety_growing *page, const char *format,
                                                                va_list args) {
    char text[LONGEST];
    int length = surety_vformat(text, sizeof text, format, args);
    if (length < 0 || length >= LONGEST)
        page->failed = 1;
    else
        surety_print_html(page, text);
}

void surety_print_words(surety_growing *page, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_escaped(page, format, args);
    va_end(args);
}

void surety_print_facts(surety_growing *page, const char *caption) {
    surety_print(page, "<div class=\"wide\" tabindex=\"0\"><table class=\"facts\">\n");
    if (caption) surety_print(page, "<caption>%s</caption>\n", caption);
    surety_print(page, "<tbody>\n");
}

void surety_print_fact(surety_growing *page, const char *heading, const char *format, ...) {
    va_list args;
    surety_print(page, "<tr><th scope=\"row\">%s</th><td>", heading);
    va_start(args, format);
    print_escaped(page, format, args);
    va_end(args);
    surety_print(page, "</td></tr>\n");
}

void surety_print_facts_end(surety_growing *page) {
    surety_print(page, "</tbody></table></div>\n");
}

const char *surety_percent(double limit, char text[32]) {
    int decimals = limit < 0.001 ? 4 : limit < 0.01 ? 3 : 2;
    double scale = pow(10, decimals);
    surety_format(text, 32, "%.*f %%", decimals, ceil(nextafter(limit * 100 * scale, HUGE_VAL)) / scale);
    return text;
}

const char *surety_share(size_t part, size_t of, char text[48]) {
    surety_format(text, 48, "%.1f %% (%zu)", of ? 100 * (double)part / (double)of : 0.0, part);
    return text;
}

void surety_print_promise_title(surety_growing *page, const surety_subject *subject, size_t which) {
    if (subject->count > 1)
        surety_print(page, "<h2>Promise %zu of %zu</h2>\n", which + 1, subject->count);
    else
        surety_print(page, "<h2>The promise</h2>\n");
}

void surety_print_limits(surety_growing *page, const surety_class_limit *limits, size_t count,
                         const char *caption, const char *what) {
    char limit[32], share[48];
    if (!count) return;
    surety_print(page, "<div class=\"wide\" tabindex=\"0\"><table><caption>%s</caption><thead><tr><th>",
                 caption);
    surety_print_html(page, what);
    surety_print(page, "</th><th>examples of S</th><th>failed</th><th>limit</th></tr></thead><tbody>\n");
    for (size_t k = 0; k < count; k++) {
        const surety_class_limit *l = &limits[k];
        surety_print(page, "<tr><th scope=\"row\">");
        surety_print_html(page, l->label);
        surety_print(page, "</th><td>%" PRIu64 "</td><td>%s</td><td>%s</td></tr>\n", l->m,
                     surety_share((size_t)l->failed, (size_t)l->m, share), surety_percent(l->value, limit));
    }
    surety_print(page, "</tbody></table></div>\n");
}

void surety_print_clause(surety_growing *page, const char *words, const char *note, const char *meaning) {
    surety_print(page, "<tr><th scope=\"row\">%s", words);
    if (note) surety_print_note(page, note);
    surety_print(page, "</th><td>%s</td></tr>\n", meaning);
}

/* ---- definitions ---- */

static const struct {
    const char *term, *text;
} notes[] = {
    {"vote",
     "A weighted majority vote: every voter gives its opinion on an input, the opinions are added with "
     "weights, the class with the largest sum is the answer. No clear largest sum is a tie, and a tie counts "
     "as a failure."},
    {"S', S, T",
     "Three sets of examples that share no row. S' trains the voters. S gives the promise; it may choose "
     "among what S' made, and every choice is paid for. T is for estimates only: the numbers and drawings of "
     "this page come from T, because a look at S would have to be paid for."},
    {"confidence",
     "Of many certificates made in this way, each with an S of its own, at most the share 100 % minus the "
     "confidence makes a false promise. Nobody can tell which."},
    {"perturbation",
     "A change of an input within the ball: no farther than the radius in the norm that is named, and inside "
     "the box or range where there is one. linf: every feature may change by the radius. l2: the root of the "
     "sum of squares is at most the radius. l1: the sum of all changes is."},
    {"worst case",
     "Nothing is attacked and nothing sampled: a proof covers every point of the ball. An input that is "
     "<em>proved right</em> cannot be made to fail there by any attack. One that is not proved may still be "
     "safe."},
    {"attacked",
     "A search for a perturbation that makes the vote fail. What it finds is certain; what it does not find "
     "may still be there."},
    {"looks",
     "How many certificates might have been issued after seeing S, counted before S was seen. The promise "
     "pays for "
     "all of them. This number is the word of whoever made the certificate."},
    {"bound",
     "The theorem that turns what was counted on S into a limit for new inputs. All of them are stated and "
     "proved in docs/theory.md of surety."},
    {"prior, posterior",
     "The prior is the weights of the voters before S had a say, the posterior those that S learned. KL "
     "measures how far apart they are, and is paid for. Where S learns nothing they are the same."},
    {"certified radius",
     "The largest radius at which the vote was proved right on this example. A smallest perturbation that "
     "fools it is at least as long."},
};
enum { NOTES = sizeof notes / sizeof *notes };

void surety_print_note(surety_growing *page, const char *term) {
    for (size_t i = 0; i < NOTES; i++)
        if (!strcmp(notes[i].term, term))
            surety_print(page, "<sup><a href=\"#note-%zu\" title=\"%s: definition below\">%zu</a></sup>",
                         i + 1, term, i + 1);
}

void surety_page_notes(surety_growing *page) {
    surety_print(page, "<h2>Definitions</h2>\n<ol class=\"notes\">\n");
    for (size_t i = 0; i < NOTES; i++)
        surety_print(page, "<li id=\"note-%zu\"><strong>%s</strong>. %s</li>\n", i + 1, notes[i].term,
                     notes[i].text);
    surety_print(page, "</ol>\n");
}
