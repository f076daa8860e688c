/* Certificates of votes on the page: the sentence, its clauses, what it rests on, what it does not say, and
 * the section for an auditor. From the certificate alone. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "certify/certificate.h"
#include "report/subject.h"

/* ---- the promise ---- */

static void print_headline(surety_growing *page, const surety_votes_certificate *c) {
    char level[32], limit[32];
    surety_print(page, "<div class=\"verdict\"><strong>");
    if (c->vacuous) {
        surety_print(page, "This certificate promises nothing.</strong>");
    } else {
        surety_print_words(page, "At most %s of the new inputs%s fail", surety_percent(c->value, limit),
                           c->limit_count ? " of any class" : "");
        surety_print_words(page, ", with confidence %s %%", surety_confidence(c->delta, level));
        surety_print(page, "</strong>");
        surety_print_note(page, "confidence");
        surety_print_words(page, c->threat[0] ? ", under these perturbations: %s." : ", unperturbed.",
                           c->threat);
    }
    surety_print(page, "</div>\n<blockquote class=\"said\">");
    surety_print_html(page, c->claim);
    surety_print(page, "</blockquote>\n");
}

static void print_clauses(surety_growing *page, const surety_votes_certificate *c) {
    surety_print_facts(page, "What its words mean");
    surety_print_clause(page, "the votes", "vote",
                        "The answers of a classifier on S, in a file. surety has seen the answers, never the "
                        "classifier: that they are its answers is the word of whoever made them.");
    surety_print_clause(page, "the examples of S", NULL,
                        "By the same word, no example of S had a part in making the classifier.");
    if (c->limit_count)
        surety_print_clause(page, "for all of its classes at once", NULL,
                            "A limit for each class; delta is split evenly among them, so that all hold "
                            "together.");
    if (c->threat[0])
        surety_print_clause(page, "perturbations", NULL,
                            "Each example was perturbed as the sentence says, and fails if the answer is "
                            "wrong on any of its perturbations. How they were made no vote shows.");
    surety_print_clause(page, "wrong or tied", NULL, "A tie is a failure, for every class.");
    surety_print_clause(
        page, "drawn independently from one distribution", NULL,
        "An assumption that nobody can check from the data alone: new inputs come from where S "
        "came from, in the same way.");
    surety_print_clause(page, "this certificate among at most ..", "looks",
                        "Whoever made it says that no more certificates than that might have been issued "
                        "after seeing S.");
    surety_print_facts_end(page);
}

static void print_numbers(surety_growing *page, const surety_votes_certificate *c) {
    char limit[32], share[48];
    const surety_bound_info *bound = NULL;
    surety_print_facts(page, "What it rests on");
    surety_print_fact(
        page, "failed on S", "%s of %" PRIu64 " examples, %" PRIu64 " answer%s on each",
        surety_share((size_t)(c->counts.max_wrong + c->counts.max_tied), (size_t)c->inputs.m, share),
        c->inputs.m, c->inputs.n, c->inputs.n == 1 ? "" : "s");
    surety_print_fact(page, "limit for new ones", "%s (%.10g)", surety_percent(c->value, limit), c->value);
    if (surety_bound_find(c->bound, &bound, NULL) == SURETY_OK)
        surety_print_fact(page, "bound", "%s: %s, %s", c->bound, bound->heading, bound->way);
    surety_print_fact(page, "paid for", "delta = %.6g, looks = %" PRIu64, c->delta, c->inputs.looks);
    surety_print_fact(page, "voters, classes", "%" PRIu64 ", %" PRIu64, c->inputs.voter_count,
                      c->inputs.class_count);
    surety_print_facts_end(page);
    surety_print_limits(page, c->limits, c->limit_count, "For every class, all at once", "class");
}

static void print_limits(surety_growing *page, const surety_votes_certificate *c) {
    surety_print(page, "<h3>What it does not promise</h3>\n<ul>\n");
    surety_print(page, "<li>Nothing about %s.</li>\n",
                 c->threat[0] ? "other perturbations than those it names: worse ones may exist"
                              : "inputs that someone or something perturbs");
    surety_print(page,
                 "<li>Nothing about inputs that are drawn in another way than S: another source, another "
                 "year, a class that S does not have.</li>\n<li>Nothing about a single input%s.</li>\n",
                 c->limit_count ? ", nor about groups other than the classes"
                                : ", nor about a class or a group: it limits a share of all");
    surety_print(
        page,
        "<li>Nothing with certainty: a share delta = %.3g of such certificates may be false."
        "</li>\n<li>Nothing about another classifier than the one that gave these answers, and "
        "nothing if that one had seen S.</li>\n<li>Nothing if S was looked at more often than is paid "
        "for.</li>\n</ul>\n",
        c->delta);
}

/* With places for files that only the reader knows. */
static void print_verify(surety_growing *page, const surety_subject *subject, size_t which) {
    const surety_votes_certificate *c = &subject->votes[which];
    const char *path = subject->s->certificates[which], *last = strrchr(path, '/');
    surety_print(page,
                 "<h3>How to verify it</h3>\n<p>With the files of votes and labels, anyone can compute it "
                 "again:</p>\n<pre>surety verify ");
    surety_print_html(page, last ? last + 1 : path);
    surety_print(page, " --votes VOTES --labels LABELS%s%s</pre>\n",
                 c->sha256.weights[0] ? " --weights WEIGHTS" : "", c->sha256.rows[0] ? " --rows ROWS" : "");
    surety_print(page,
                 "<p>Exit code 0: every number is the same, bit for bit. 1: something differs. The files are "
                 "known by their SHA-256 (in the certificate), not by names.</p>\n");
}

void surety_page_votes_promise(surety_growing *page, const surety_subject *subject, size_t which) {
    const surety_votes_certificate *c = &subject->votes[which];
    surety_print_promise_title(page, subject, which);
    print_headline(page, c);
    print_clauses(page, c);
    print_numbers(page, c);
    print_limits(page, c);
    print_verify(page, subject, which);
}

/* ---- for an auditor ---- */

static const surety_assumption assumptions[] = {
    {"S and new inputs are drawn independently from one distribution",
     "another source, season, sensor or user; rows of one person in several sets; a sample chosen by hand",
     "how S was collected; monitoring after deployment (surety monitor)"},
    {"The votes are the answers of the classifier that is used", "another version, other preprocessing",
     "asking it again about the rows, whose SHA-256 is above where they were given"},
    {"No example of S had a part in making the classifier",
     "S in its training set, or in a choice of settings", "the word of whoever made it"},
    {"Each perturbation was made from its own example and random numbers of its own",
     "perturbations that were picked, or made by looking at other rows", "the program that made them"},
    {"Nothing was chosen by looking at S beyond what is paid for",
     "classifiers or settings tried on S and not counted in --looks", "the log of looks (surety looks)"},
};

static void print_file(surety_growing *page, const char *heading, const char *sha256) {
    if (*sha256) surety_print_fact(page, heading, "%s", sha256);
}

void surety_page_votes_dossier(surety_growing *page, const surety_subject *subject) {
    surety_print(page, "<h2>Dossier</h2>\n");
    for (size_t i = 0; i < subject->count; i++) {
        const surety_votes_certificate *c = &subject->votes[i];
        surety_print(page, "<h3>Certificate %.16s</h3>\n", c->digest);
        surety_print_facts(page, "Evidence chain (SHA-256)");
        print_file(page, "file of votes", c->sha256.votes);
        print_file(page, "file of labels", c->sha256.labels);
        print_file(page, "file of weights", c->sha256.weights);
        print_file(page, "file of rows", c->sha256.rows);
        print_file(page, "certificate", c->digest);
        surety_print_fact(page, "delta of each limit", "%.6g", c->inputs.delta_share);
        surety_print_fact(page, "software", "surety %s", c->version);
        surety_print_facts_end(page);
    }
    surety_print(
        page,
        "<p>Not verified for this page: votes and labels were not given. Looks that were logged on the "
        "machine: <code>surety looks CERTIFICATE</code>.</p>\n");
    surety_print_assumptions(page, assumptions, sizeof assumptions / sizeof *assumptions);
}
