/* The section for an auditor: evidence chain, assumptions, verification, and where evidence for what
 * regulators ask for is. It never says that anything complies. */
#include <inttypes.h>
#include <string.h>

#include "report/subject.h"

/* ---- evidence chain ---- */

static void print_digest(surety_growing *page, const char *heading, const char *sha256) {
    surety_print(page, "<tr><th scope=\"row\">%s</th><td><code>", heading);
    surety_print_html(page, sha256);
    surety_print(page, "</code></td></tr>\n");
}

static void print_chain(surety_growing *page, const surety_certificate *c) {
    surety_print_facts(page, "Evidence chain (SHA-256)");
    for (size_t i = 0; i < c->data.file_count; i++) {
        surety_print(page, "<tr><th scope=\"row\">data file ");
        surety_print_html(page, c->data.files[i].role);
        surety_print(page, "</th><td><code>");
        surety_print_html(page, c->data.files[i].sha256);
        surety_print(page, "</code>, %" PRIu64 " bytes</td></tr>\n", c->data.files[i].bytes);
    }
    print_digest(page, "rows of S'", c->data.sha256_prior);
    print_digest(page, "rows of S", c->data.sha256_learn);
    print_digest(page, "rows of T", c->data.sha256_test);
    surety_print_fact(page, "split", "%s", c->data.split);
    print_digest(page, "model file", c->model.sha256);
    surety_print_fact(page, "seeds", "model %" PRIu64 "; attack %" PRIu64 ", epoch %" PRIu64, c->model.seed,
                      c->attack.seed, c->attack.epoch);
    print_digest(page, "vote counts", c->counts_sha256);
    print_digest(page, "certificate", c->digest);
    surety_print_fact(page, "software", "surety %s, CPU level %s", c->software.version,
                      c->software.cpu_level);
    surety_print_facts_end(page);
}

static void print_ledger(surety_growing *page, const surety_certificate *c) {
    surety_print(
        page,
        "<div class=\"wide\" tabindex=\"0\"><table class=\"words\"><caption>Ledger of delta</caption>"
        "<thead><tr><th>event</th><th>share of delta</th><th>T_p</th><th>looks</th><th>used</th>"
        "</tr></thead><tbody>\n");
    for (size_t i = 0; i < c->event_count; i++) {
        const surety_ledger_entry *e = &c->events[i];
        surety_print(page, "<tr><td>");
        surety_print_html(page, e->event);
        surety_print(page, "</td><td>%.6g</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%s</td></tr>\n",
                     e->share, e->priors_compared, e->looks, e->spent ? "yes" : "no");
    }
    surety_print(page,
                 "</tbody></table></div>\n<p>Looks that the command saw on its machine: <code>surety "
                 "looks CERTIFICATE</code>.</p>\n");
}

/* ---- assumptions ---- */

static const surety_assumption assumptions[] = {
    {"S and new inputs are drawn independently from one distribution",
     "another source, season, sensor or user; rows of one person in several sets; a sample chosen by hand",
     "how S was collected; monitoring after deployment (surety monitor)"},
    {"Labels of S are what \"right\" means", "labels that are noisy or follow another rule than in use",
     "the labelling procedure"},
    {"Nothing was chosen by looking at S beyond what is paid for",
     "settings, seeds, bounds or radii tried on S and not counted in --looks; S used for training elsewhere",
     "the log of looks; the word of whoever made the certificate"},
    {"The model file tells the truth about itself (split, T_p, seed)", "a file that was edited",
     "surety verify --retrain builds it again from its settings"},
    {"Changes of inputs stay inside the ball that is named", "larger changes, changes of another sort",
     "an analysis of the operating conditions; not in the certificate"},
    {"The deployed program computes this vote", "another runtime, other precision, other preprocessing",
     "comparison of predictions on the target"},
};

void surety_print_assumptions(surety_growing *page, const surety_assumption *rows, size_t count) {
    surety_print(page,
                 "<div class=\"wide\" tabindex=\"0\"><table class=\"words facts\"><caption>Assumptions, what "
                 "would break them, who can tell</caption><thead><tr><th>assumed</th><th>broken by</th>"
                 "<th>evidence</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; i++)
        surety_print(page, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", rows[i].assumed, rows[i].broken_by,
                     rows[i].evidence);
    surety_print(page, "</tbody></table></div>\n");
}

/* ---- verification ---- */

/* Are the rows at hand those of the certificate? */
static int has_rows(const surety_subject *subject, const surety_certificate *c) {
    return subject->data && !strcmp(subject->data->set_sha256[SURETY_SET_LEARN], c->data.sha256_learn) &&
           !strcmp(subject->data->set_sha256[SURETY_SET_PRIOR], c->data.sha256_prior) &&
           !strcmp(subject->data->set_sha256[SURETY_SET_TEST], c->data.sha256_test);
}

static void print_outcome(surety_growing *page, const surety_verification *v) {
    surety_print_facts(page, NULL);
    surety_print_fact(page, "agrees", "%s", v->agrees ? "yes" : "NO");
    surety_print_fact(page, "level", "%s", v->level);
    surety_print_fact(page, "counts", "%s",
                      v->counted ? "made again from the data" : "believed: the data were not at hand");
    surety_print_fact(page, "value stated, found", "%.17g, %.17g", v->value, v->found);
    if (!v->agrees) surety_print_fact(page, "reason", "%s", v->reason);
    for (size_t i = 0; i < v->differences && i < SURETY_DIFFERENCES; i++) {
        const surety_difference *d = &v->difference[i];
        surety_print_fact(page, "differs", "%s: stated %s, found %s", d->field, d->stated, d->found);
    }
    surety_print_facts_end(page);
}

static surety_status print_verification(surety_growing *page, const surety_subject *subject, size_t which,
                                        const surety_run *run, surety_error *err) {
    surety_verification v;
    surety_verify_settings settings = surety_verify_defaults();
    surety_print(page, "<h4>Verification transcript</h4>\n");
    surety_print_verify(page, subject, which);
    if (!subject->s->model) {
        surety_print(page, "<p>Not run for this page: the model was not given.</p>\n");
        return SURETY_OK;
    }
    int rows = has_rows(subject, &subject->certificates[which]);
    settings.model = subject->s->model_file;
    settings.opened = rows ? subject->s->data : NULL;
    settings.numbers = !rows;
    SURETY_TRY(surety_verify(subject->s->certificates[which], &settings, &v, run, err));
    surety_print(page, "<p>Run while this page was made, with surety %s:</p>\n", surety_version());
    print_outcome(page, &v);
    return SURETY_OK;
}

/* ---- what regulators ask for ---- */

static void print_objective(surety_growing *page, const char *id, const char *asked, const char *evidence) {
    surety_print(page, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", id, asked,
                 evidence ? evidence : "<em>not covered</em>");
}

static void print_objectives(surety_growing *page, const surety_subject *subject) {
    int promised = 0, worst = 0, drawn = subject->profile.m > 0, tested = 0;
    int imported = subject->s->model && surety_model_imported(subject->s->model);
    for (size_t i = 0; i < subject->count; i++) {
        const surety_certificate *c = &subject->certificates[i];
        promised |= !c->vacuous && !c->test.refuted;
        worst |= !strcmp(c->risk, surety_risk_kind_name(SURETY_RISK_WORST_CASE));
        tested |= c->test.m > 0;
        imported |= !strcmp(c->model.objective, "imported");
    }
    surety_print(page,
                 "<div class=\"wide\" tabindex=\"0\"><table class=\"words facts\"><caption>Evidence for what "
                 "the EASA concept paper on machine learning asks for</caption><thead><tr><th>objective</th>"
                 "<th>about</th><th>where the evidence is</th></tr></thead><tbody>\n");
    print_objective(page, "LM-04", "quantifiable generalisation bounds",
                    promised ? "&ldquo;The promise&rdquo;: limit, confidence, theorem, counts" : NULL);
    print_objective(page, "LM-07", "reproducible training",
                    imported
                        ? NULL
                        : "seeds and settings in the model; <code>surety verify --retrain</code> compares "
                          "the bytes");
    print_objective(page, "LM-12", "stability of the model",
                    worst && promised ? "&ldquo;The promise&rdquo;, worst case: small changes of inputs"
                    : drawn           ? "&ldquo;Over the radius&rdquo;: an estimate, no promise"
                                      : NULL);
    print_objective(page, "LM-13", "robustness in adverse conditions",
                    worst && promised
                        ? "&ldquo;The promise&rdquo; inside its ball only; other conditions are "
                          "not covered"
                    : promised ? "&ldquo;The promise&rdquo; against the one attack that it names"
                    : drawn    ? "&ldquo;What was measured&rdquo;: an estimate, no promise"
                               : NULL);
    print_objective(page, "LM-14", "verification on the test set",
                    tested  ? "&ldquo;What it rests on&rdquo;, row &ldquo;the same on T&rdquo;"
                    : drawn ? "&ldquo;What was measured&rdquo;"
                            : NULL);
    print_objective(page, "DM-06", "independent data sets",
                    subject->count && !imported
                        ? "&ldquo;Evidence chain&rdquo;: digests of S', S and T, which "
                          "share no row; copies under &ldquo;The data&rdquo;"
                        : NULL);
    print_objective(
        page, "IMP-06 to IMP-10", "nothing lost on the target",
        "<em>not covered</em> by this page. Of a C export, <code>surety verify --export FILE</code> "
        "says whether it is what surety writes and has the model's bits");
    surety_print(page,
                 "</tbody></table></div>\n<p>This table says where evidence can be found. Whether it is "
                 "enough is for the auditor to decide. Everything else that the concept paper asks for is "
                 "not covered by this page.</p>\n");
}

surety_status surety_page_dossier(surety_growing *page, const surety_subject *subject, const surety_run *run,
                                  surety_error *err) {
    surety_print(page, "<h2>Dossier</h2>\n");
    for (size_t i = 0; i < subject->count; i++) {
        const surety_certificate *c = &subject->certificates[i];
        surety_print(page, "<h3>Certificate ");
        surety_print_words(page, "%.16s", c->digest);
        surety_print(page, "</h3>\n");
        print_chain(page, c);
        print_ledger(page, c);
        SURETY_TRY(print_verification(page, subject, i, run, err));
    }
    if (!subject->count)
        surety_print(page,
                     "<p>Without a certificate there is no evidence chain: <code>surety certify</code>."
                     "</p>\n");
    surety_print_assumptions(page, assumptions, sizeof assumptions / sizeof *assumptions);
    print_objectives(page, subject);
    return SURETY_OK;
}
