/* A certificate on the page: the sentence, its clauses, what it rests on, what it does not say. From the
 * certificate alone. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "certify/certificate.h"
#include "report/subject.h"

static int is_worst(const surety_certificate *c) {
    return !strcmp(c->risk, surety_risk_kind_name(SURETY_RISK_WORST_CASE));
}
static int is_averaged(const surety_certificate *c) {
    return !strcmp(c->risk, surety_risk_kind_name(SURETY_RISK_AVERAGED)) && c->inputs.n > 1;
}

static const char *inputs_of(const surety_certificate *c) {
    return c->data.unit[0] ? "units" : "inputs";
}

/* ---- headline and sentence ---- */

static int says(const surety_certificate *c, surety_statement statement) {
    return !strcmp(c->statement, surety_statement_name(statement));
}

/* The limit: one that was found is rounded up, one that was promised is what it is. */
static const char *print_value(const surety_certificate *c, char text[32]) {
    if (!says(c, SURETY_SAY_RADIUS) && !says(c, SURETY_SAY_PROMISES)) return surety_percent(c->value, text);
    surety_format(text, 32, "%.12g %%", 100 * c->value);
    return text;
}

/* What is limited, and by how much, in a few words. */
static void print_short(surety_growing *page, const surety_certificate *c) {
    char limit[32];
    print_value(c, limit);
    if (says(c, SURETY_SAY_CLASSES))
        surety_print_words(page, "At most %s of the new %s of any class fail", limit, inputs_of(c));
    else if (says(c, SURETY_SAY_GROUPS))
        surety_print_words(page, "At most %s of the new %s of any group by %s that S has fail", limit,
                           inputs_of(c), c->group_column);
    else if (says(c, SURETY_SAY_CURVE))
        surety_print_words(page, "A limit at each of %zu radii, all at once, %s at the largest",
                           c->curve_count, limit);
    else if (says(c, SURETY_SAY_PROMISES))
        surety_print_words(page, "Promises in order, the last one that is kept: at most %s of new %s fail",
                           limit, inputs_of(c));
    else
        surety_print_words(page, "At most %s of new %s fail", limit, inputs_of(c));
}

/* Within which ball. A radius that was found is rounded down: a smaller ball is covered too. */
static void print_where(surety_growing *page, const surety_certificate *c) {
    char eps[32];
    double scale = pow(10, 4 - ceil(log10(c->attack.radius)));
    surety_shortest(c->attack.radius, eps);
    if (says(c, SURETY_SAY_RADIUS) && c->attack.radius > 0 && isfinite(scale))
        surety_format(eps, sizeof eps, "%.6g", floor(c->attack.radius * scale) / scale);
    if (strcmp(c->attack.radius_unit, "tolerances") != 0) {
        surety_print_words(page, "within %s distance %s", c->attack.norm, eps);
        if (strcmp(c->attack.radius_unit, surety_scaling_unit(SURETY_SCALE_NONE)) != 0)
            surety_print_words(page, " (in %s)", c->attack.radius_unit);
    } else if (!strcmp(c->attack.norm, surety_norm_name(SURETY_LINF)) && c->attack.radius == 1) {
        surety_print(page, "with every feature within its own tolerance");
    } else {
        surety_print_words(page, "within %s distance %s, in tolerances", c->attack.norm, eps);
    }
    surety_print(page, ".");
}

static void print_headline(surety_growing *page, const surety_certificate *c) {
    char level[32];
    surety_print(page, "<div class=\"verdict\">");
    if (c->test.refuted) surety_print(page, "<strong>The test set refutes this certificate.</strong> ");
    if (c->vacuous) {
        surety_print(page, "<strong>This certificate promises nothing.</strong>");
    } else {
        surety_print(page, "<strong>");
        print_short(page, c);
        surety_print(page, "</strong>");
        surety_print_words(page, ", with confidence %s %%", surety_confidence(c->delta, level));
        surety_print_note(page, "confidence");
    }
    if (is_worst(c))
        surety_print(page, ", whatever the attack, ");
    else
        surety_print_words(page, ", under the attack %s, ", c->attack.name);
    print_where(page, c);
    surety_print(page, "</div>\n<blockquote class=\"said\">");
    surety_print_html(page, c->claim);
    surety_print(page, "</blockquote>\n");
}

/* ---- clauses ---- */

static void explain_set(surety_growing *page, const surety_certificate *c) {
    if (c->data.fresh)
        surety_print_clause(
            page, "the rows declared fresh", "S', S, T",
            "Rows that had no part in the training, by the word of whoever declared them so. They serve as "
            "S. No row of them is known to the model where the model knows its rows.");
    else
        surety_print_clause(page, "the examples of S", "S', S, T",
                            "Set aside before the training: no row of S made the voters.");
    if (c->data.unit[0])
        surety_print_clause(
            page, "units", NULL,
            "Rows of one value of the column that is named belong together; one counts as failed if any of "
            "its rows does. m counts units.");
    surety_print_clause(
        page, c->inputs.frozen ? "the weighted vote" : "the learned weighted vote", "prior, posterior",
        c->inputs.frozen ? "The vote that is certified was fixed before S was looked at."
                         : "S learned the weights of the vote that is certified; the limit pays for that.");
}

static void explain_failure(surety_growing *page, const surety_certificate *c) {
    if (is_worst(c))
        surety_print_clause(
            page, "fails if there is any point", "worst case",
            "An input counts as failed unless the vote was proved right on every point of the ball around "
            "it. The true share of inputs that can be made to fail is at most that.");
    else if (is_averaged(c))
        surety_print_clause(
            page, "one perturbation, drawn at random", "perturbation",
            "The attack makes many perturbations of an input; the promise is about one of them, drawn at "
            "random. The worst of them may do more harm.");
    else
        surety_print_clause(
            page, "at least one of the perturbations", "perturbation",
            "Every input is perturbed as often as the sentence says, by the attack that it names, and "
            "fails if the vote is wrong on any of them. A stronger attack may find more.");
    surety_print_clause(page, "wrong or tied", "vote", "A tie is a failure, for every class.");
    if (c->tolerance.count)
        surety_print_clause(
            page, "every feature within its own tolerance", NULL,
            "A table fixes for each feature how far it may move in its own unit, and its range. It is part "
            "of the certificate and listed below.");
    else if (!isnan(c->attack.box_lo))
        surety_print_clause(
            page, "and inside", NULL,
            "Points outside the range of the features are not covered: no real input lies there.");
}

static void explain_statement(surety_growing *page, const surety_certificate *c) {
    if (says(c, SURETY_SAY_CLASSES))
        surety_print_clause(
            page, "for all of its classes at once", NULL,
            "A limit for each class; delta is split evenly among them, so that all hold together.");
    if (says(c, SURETY_SAY_GROUPS))
        surety_print_clause(
            page, "for all groups that S has at once", NULL,
            "A limit for each value of the column that is named; delta is split evenly among them, so that "
            "all hold together. A group that S has no example of is not covered.");
    if (says(c, SURETY_SAY_RADIUS))
        surety_print_clause(
            page, "the radius", "certified radius",
            "The risk was fixed before S was seen, and the radius found: the largest for which the limit is "
            "no higher. Another risk would be another look.");
    if (says(c, SURETY_SAY_CURVE))
        surety_print_clause(
            page, "at each of the radii", NULL,
            "The radii were fixed before S was seen; delta is split evenly among them, so that all limits "
            "hold together.");
    if (says(c, SURETY_SAY_PROMISES))
        surety_print_clause(
            page, "promises in order", NULL,
            "Tested one after the other with the whole of delta, up to the first that fails. What is "
            "promised is what was listed, never the smaller numbers that were found.");
}

static void explain_assumptions(surety_growing *page, const surety_certificate *c) {
    surety_print_clause(
        page, "drawn independently from one distribution", NULL,
        "An assumption that nobody can check from the data alone: new inputs come from where S came from, "
        "in the same way.");
    if (!c->data.fresh)
        surety_print_clause(
            page, "the prior among .. candidates", "prior, posterior",
            "So many candidates were made from S', and S chose among them (1: it chose nothing). The limit "
            "pays for the choice.");
    surety_print_clause(
        page, "this certificate among at most ..", "looks",
        "The word of whoever made it: no more certificates than these might have been issued after S was "
        "seen.");
    if (!strcmp(c->choice, "best"))
        surety_print_clause(page, "the smallest of the bounds", "bound",
                            "Several bounds were announced before S was seen, each with its share of delta.");
    if (!isnan(c->assumed.value))
        surety_print_clause(
            page, "If, beyond that, ..", NULL,
            "A conditional: nothing of the condition can be counted on S. Whoever uses this number answers "
            "for the condition.");
    if (surety_copies_many(&c->copies))
        surety_print_clause(
            page, "also occur in S'", NULL,
            "Rows of S repeat rows that trained the model, or each other. S is then not independent, and "
            "the promise holds only if new inputs repeat as often.");
}

static void print_clauses(surety_growing *page, const surety_certificate *c) {
    char confident[128], level[32];
    surety_print_facts(page, "What its words mean");
    snprintf(confident, sizeof confident, "with confidence %s %%", surety_confidence(c->delta, level));
    surety_print_clause(
        page, confident, "confidence",
        "Of many such sentences, each from a draw of S of its own, at least this share is true.");
    explain_set(page, c);
    explain_statement(page, c);
    explain_failure(page, c);
    explain_assumptions(page, c);
    surety_print_facts_end(page);
}

/* ---- numbers ---- */

static size_t failed_of(const surety_certificate *c) {
    return (size_t)(c->counts.max_wrong + c->counts.max_tied);
}

/* What remains of the limit under what is assumed beyond the sentence. */
static void print_assumed(surety_growing *page, const surety_certificate *c) {
    char limit[32], noise[64] = "", shift[64] = "";
    if (isnan(c->assumed.value)) return;
    if (c->assumed.noise[0])
        surety_format(noise, sizeof noise, "label noise %s = %.6g", c->assumed.noise, c->assumed.noise_share);
    if (c->assumed.shift[0])
        surety_format(shift, sizeof shift, "shift %s = %.6g", c->assumed.shift, c->assumed.shift_budget);
    surety_print_fact(page, "limit under a condition", "%s if %s%s%s: assumed, not measured",
                      surety_percent(c->assumed.value, limit), noise, *noise && *shift ? " and " : "", shift);
}

static void print_numbers(surety_growing *page, const surety_certificate *c) {
    char limit[32], share[48];
    const surety_bound_info *bound = NULL;
    surety_print_facts(page, "What it rests on");
    if (is_averaged(c))
        surety_print_fact(page, "counted on S",
                          "mean risk %.6g over %" PRIu64 " %s with %" PRIu64 " perturbations each",
                          c->risks.averaged, c->inputs.m, inputs_of(c), c->inputs.n);
    else
        surety_print_fact(page, is_worst(c) ? "not proved right on S" : "failed on S", "%s of %" PRIu64 " %s",
                          surety_share(failed_of(c), (size_t)c->inputs.m, share), c->inputs.m, inputs_of(c));
    if (says(c, SURETY_SAY_RADIUS))
        surety_print_fact(page, "radius for this risk",
                          "%.6g: %" PRIu64 " of %" PRIu64
                          " %s of S are proved right up to a smaller one only",
                          c->radius, c->below_radius, c->inputs.m, inputs_of(c));
    surety_print_fact(page, says(c, SURETY_SAY_RADIUS) ? "promised risk" : "limit for new ones", "%s (%.10g)",
                      print_value(c, limit), c->value);
    print_assumed(page, c);
    if (surety_bound_find(c->bound, &bound, NULL) == SURETY_OK)
        surety_print_fact(page, "bound", "%s: %s, %s", c->bound, bound->heading, bound->way);
    surety_print_fact(page, "paid for",
                      "delta = %.6g, candidate priors T_p = %" PRIu64 ", looks = %" PRIu64
                      ", KL(Q||P) = %.6g",
                      c->delta, c->inputs.priors_compared, c->inputs.looks, c->inputs.kl);
    if (c->test.m)
        surety_print_fact(page, "the same on T",
                          "%s of %" PRIu64
                          "; chance of so many or more, if the limit is true: "
                          "%.2g%s",
                          surety_share((size_t)c->test.failed, (size_t)c->test.m, share), c->test.m,
                          c->test.chance, c->test.refuted ? ". T refutes the certificate" : "");
    surety_print_fact(page, "always answering one class", "\"%s\" would fail on %s of S", c->majority.label,
                      surety_share((size_t)c->majority.failed, (size_t)c->inputs.m, share));
    surety_print_facts_end(page);
}

static void print_curve(surety_growing *page, const surety_certificate *c) {
    char limit[32], share[48];
    if (!c->curve_count) return;
    surety_print(
        page,
        "<div class=\"wide\" tabindex=\"0\"><table><caption>At every radius, all at once</caption><thead><tr>"
        "<th>radius</th><th>not proved on S</th><th>limit</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < c->curve_count; i++)
        surety_print(page, "<tr><td>%.12g</td><td>%s</td><td>%s</td></tr>\n", c->curve[i].radius,
                     surety_share((size_t)c->curve[i].failed, (size_t)c->inputs.m, share),
                     surety_percent(c->curve[i].value, limit));
    surety_print(page, "</tbody></table></div>\n");
    surety_print_curve(page, c);
}

static void print_promises(surety_growing *page, const surety_certificate *c) {
    char limit[32];
    if (!c->promise_count) return;
    surety_print(page,
                 "<div class=\"wide\" tabindex=\"0\"><table><caption>In the order that was fixed before; the "
                 "first that fails ends it</caption><thead><tr><th>radius</th><th>at most"
                 "</th><th>failed on S</th><th>promised</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < c->promise_count; i++) {
        const surety_promise_tested *p = &c->promises[i];
        surety_print(page, "<tr><td>%.12g</td><td>%s</td>", p->radius, surety_percent(p->limit, limit));
        if (p->failed == SURETY_ABSENT)
            surety_print(page, "<td>not looked at</td>");
        else
            surety_print(page, "<td>%" PRIu64 "</td>", p->failed);
        surety_print(page, "<td>%s</td></tr>\n", p->kept ? "yes" : "no");
    }
    surety_print(page, "</tbody></table></div>\n");
}

static void print_end(surety_growing *page, double end, const char *none) {
    if (isnan(end))
        surety_print(page, "<td>%s</td>", none);
    else
        surety_print(page, "<td>%.6g</td>", end);
}

static void print_tolerance(surety_growing *page, const surety_certificate *c) {
    if (!c->tolerance.count) return;
    surety_print(page,
                 "<details><summary>How far each of the %zu features may move</summary>\n<div "
                 "class=\"wide\" tabindex=\"0\"><table><thead><tr><th>feature</th><th>radius</th>"
                 "<th>from</th><th>to</th></tr></thead><tbody>\n",
                 c->tolerance.count);
    for (size_t j = 0; j < c->tolerance.count; j++) {
        surety_print(page, "<tr><th scope=\"row\">");
        surety_print_html(page, c->tolerance.features[j]);
        surety_print(page, "</th>");
        if (c->tolerance.radius[j] > 0)
            surety_print(page, "<td>%.6g</td>", c->tolerance.radius[j] * c->attack.radius);
        else
            surety_print(page, "<td>cannot change</td>");
        print_end(page, c->tolerance.lo[j], "&minus;&infin;");
        print_end(page, c->tolerance.hi[j], "&infin;");
        surety_print(page, "</tr>\n");
    }
    surety_print(page, "</tbody></table></div></details>\n");
}

/* ---- what it does not say, how to check it ---- */

static void print_limits(surety_growing *page, const surety_certificate *c) {
    surety_print(page, "<h3>What it does not promise</h3>\n<ul>\n");
    if (is_worst(c))
        surety_print(page,
                     "<li>Nothing about larger changes than the ball's, or changes of another sort "
                     "(rotations, other cameras): only points of the ball are covered.</li>\n");
    else
        surety_print(page,
                     "<li>Nothing about another attack than the one it names, nor about more steps or "
                     "starts. A stronger attack can find more failures.</li>\n");
    surety_print(page,
                 "<li>Nothing about inputs that are drawn in another way than S: another source, "
                 "another year, a class that S does not have.</li>\n");
    surety_print(page, "<li>Nothing about a single input%s.</li>\n",
                 c->limit_count   ? ", nor about groups other than the classes"
                 : c->group_count ? ", nor about other groups than those that are listed"
                                  : ", nor about a class or a group: it limits a share of all");
    surety_print(page,
                 "<li>Nothing with certainty: a share delta = %.3g of such certificates may be false.</li>\n",
                 c->delta);
    surety_print(page, "<li>Nothing about a copy of the model in other arithmetic.</li>\n");
    surety_print(page, "<li>Nothing if S was looked at more often than is paid for.</li>\n</ul>\n");
}

void surety_print_verify(surety_growing *page, const surety_subject *subject, size_t which) {
    const surety_certificate *c = &subject->certificates[which];
    const char *path = subject->s->certificates[which], *last = strrchr(path, '/');
    surety_print(page, "<pre>surety verify ");
    surety_print_html(page, last ? last + 1 : path);
    surety_print_words(page, " --model %s", c->model.file[0] ? c->model.file : "MODEL");
    if (c->data.fresh)
        surety_print(page, " --fresh ROWS");
    else if (!c->data.task[0])
        surety_print(page, " --train ROWS%s", c->data.test_size ? "" : " --test ROWS");
    if (!c->data.task[0] && c->data.label_column[0])
        surety_print_words(page, " --label-column %s", c->data.label_column);
    surety_print(page, "</pre>\n");
}

void surety_page_promise(surety_growing *page, const surety_subject *subject, size_t which) {
    const surety_certificate *c = &subject->certificates[which];
    surety_print_promise_title(page, subject, which);
    print_headline(page, c);
    print_clauses(page, c);
    print_numbers(page, c);
    surety_print_limits(page, c->limits, c->limit_count, "For every class, all at once", "class");
    surety_print_limits(page, c->groups, c->group_count, "For every group of S, all at once",
                        c->group_column);
    print_curve(page, c);
    print_promises(page, c);
    print_tolerance(page, c);
    print_limits(page, c);
    surety_print(page,
                 "<h3>How to verify it</h3>\n<p>With the model and the data, anyone can compute it again:"
                 "</p>\n");
    surety_print_verify(page, subject, which);
    surety_print(page,
                 "<p>Exit code 0: every number is the same, bit for bit. 1: something differs. The data "
                 "are known by their SHA-256 (in the certificate), not by names. Without the data, "
                 "<code>--numbers</code> believes the counts and checks all that follows from them.</p>\n");
}
