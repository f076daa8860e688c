/* Certificates of votes that any classifier gave: the answers on S are in a file, and nothing else is known
 * of whoever gave them. What was fixed before S is one vote, so the exact binomial limit on its failures
 * holds (docs/theory.md 4.5, vote_frozen_max); for each class the same with its share of delta (12.4).
 *
 * A recheck opens the same files again. What no file can show, the sentence names as a condition. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "certify/certificate.h"
#include "certify/document.h"
#include "certify/fields.h"
#include "certify/repeats.h"
#include "io/read.h"
#include "io/sha256.h"

typedef surety_votes_certificate certificate;

/* ---- the format ---- */

#define AT(member) offsetof(certificate, member)
#define SIZE(member) sizeof(((certificate *)0)->member)

#define INPUT(member) (AT(inputs.member) - AT(inputs))
static const surety_field inputs_rows[] = {
    COUNT("m", INPUT(m), 1, 0x1p32, EXACT),
    COUNT("n", INPUT(n), 1, SURETY_RISK_SAMPLES, EXACT),
    COUNT("voter_count", INPUT(voter_count), 1, 0x1p32, EXACT),
    COUNT("class_count", INPUT(class_count), 2, SURETY_RISK_CLASSES, EXACT),
    FLAG("signed", INPUT(signed_votes)),
    COUNT("looks", INPUT(looks), 1, WHOLE, EXACT),
    REAL("delta_share", INPUT(delta_share), 0, 1, EXACT),
};
TABLE(inputs, inputs_rows);

#define COUNTED(member) COUNT(#member, AT(counts.member) - AT(counts), 0, WHOLE, EXACT)
static const surety_field counts_rows[] = {COUNTED(wrong), COUNTED(tied), COUNTED(max_wrong),
                                           COUNTED(max_tied)};
TABLE(counts, counts_rows);

#define FILES(member) SHA256_OR_NULL(#member, AT(sha256.member) - AT(sha256))
static const surety_field sha256_rows[] = {FILES(votes), FILES(labels), FILES(weights), FILES(rows)};
TABLE(sha256, sha256_rows);

static const surety_field certificate_rows[] = {
    TEXT("claim", AT(claim), SIZE(claim)),
    TEXT("statement", AT(statement), SIZE(statement)),
    TEXT("bound", AT(bound), SIZE(bound)),
    REAL("value", AT(value), 0, 1, EXACT),
    FLAG("vacuous", AT(vacuous)),
    REAL("delta", AT(delta), 0, 1, EXACT),
    OBJECT("inputs", AT(inputs), &inputs_table),
    OBJECT("counts", AT(counts), &counts_table),
    REAL("risk", AT(risk), 0, 1, EXACT),
    LIST("classes", AT(limits), 0, SURETY_CLASSES_MOST, &surety_class_limit_table, sizeof(surety_class_limit),
         AT(limit_count)),
    TEXT_OR_NULL("of", AT(of), SIZE(of)),
    TEXT_OR_NULL("threat", AT(threat), SIZE(threat)),
    OBJECT("sha256", AT(sha256), &sha256_table),
    COUNT_OR_NULL("repeats", AT(repeats), 0, WHOLE),
    TEXT("version", AT(version), SIZE(version)),
};
static const surety_fields certificate_table = {certificate_rows,
                                                sizeof certificate_rows / sizeof *certificate_rows};
static const surety_document document = {"surety-votes-1", &certificate_table};

char *surety_votes_certificate_json(const certificate *c) {
    return surety_document_json(&document, c, c->digest);
}

surety_status surety_votes_certificate_save(const certificate *c, const char *path, surety_error *err) {
    return surety_document_save(&document, c, c->digest, path, err);
}

surety_status surety_votes_certificate_load(const char *path, certificate *out, surety_error *err) {
    char sum[65];
    *out = (certificate){0};
    surety_status status = surety_document_read(&document, out, out->digest, path, err);
    if (status == SURETY_OK) status = surety_document_digest(&document, out, sum, err);
    if (status == SURETY_OK && strcmp(sum, out->digest) != 0) {
        status = surety_fail(err, SURETY_E_CHECK,
                             "the digest does not belong to the content: the file was changed");
        surety_fail_place(err, "key digest");
        surety_fail_file(err, path);
    }
    if (status != SURETY_OK) *out = (certificate){0};
    return status;
}

int surety_votes_certificate_is(const char *path) {
    json_t *object = NULL;
    if (surety_json_load(&object, path, NULL) != SURETY_OK) return 0;
    const char *stated = json_string_value(json_object_get(object, "format"));
    int is = stated && !strcmp(stated, document.format);
    json_decref(object);
    return is;
}

const char *surety_votes_certificate_learn(const certificate *c) {
    return c->sha256.rows[0] ? c->sha256.rows : c->sha256.labels;
}

/* ---- the sentence ---- */

static void say(certificate *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(certificate *c, const char *format, ...) {
    size_t used = strlen(c->claim);
    va_list args;
    va_start(args, format);
    surety_vformat(c->claim + used, sizeof c->claim - used, format, args);
    va_end(args);
}

static void say_limits(certificate *c) {
    char text[32];
    int few = surety_limits_are_few(c->limits, c->limit_count);
    if (!c->limit_count) {
        say(c, "fails on at most %s %% of the new inputs of its %" PRIu64 " classes, ",
            surety_percent_up(c->value, text), c->inputs.class_count);
        return;
    }
    say(c, "fails, for all of its %zu classes at once, on at most ", c->limit_count);
    if (!few) say(c, "that share of the new inputs of each class that is listed for it (classes)");
    for (size_t k = 0; k < c->limit_count && few; k++) {
        const surety_class_limit *limit = &c->limits[k];
        const char *before = !k ? "" : k + 1 < c->limit_count ? ", " : " and ";
        if (limit->value < 1)
            say(c, "%s%s %% of the new inputs of class %s", before, surety_percent_up(limit->value, text),
                limit->label);
        else
            say(c, "%sall of those of class %s", before, limit->label);
    }
    say(c, ", ");
}

/* The class whose constant answer fails least on these examples, and how often. */
static uint64_t constant_failures(const surety_risks *risks, size_t *answer) {
    *answer = 0;
    for (size_t k = 1; k < risks->classes; k++)
        if (risks->class_examples[k] > risks->class_examples[*answer]) *answer = k;
    return risks->m - risks->class_examples[*answer];
}

int surety_votes_certificate_repeats(const certificate *c) {
    return c->repeats != SURETY_ABSENT &&
           surety_copies_many(&(surety_copies){.learn = c->inputs.m, .learn_repeats = c->repeats});
}

/* What the votes do not show. */
static void say_assumptions(certificate *c) {
    const char *maker = c->inputs.voter_count > 1 ? "vote" : "classifier";
    say(c,
        "; this assumes that S and the new inputs are drawn independently from one distribution, and that "
        "nothing "
        "was chosen by looking at S beyond what is paid for here: this certificate among at most %" PRIu64
        " (--looks). By the word of whoever made the votes, which do not show it: they are the answers of "
        "this %s, "
        "no example of S had a part in making it",
        c->inputs.looks, maker);
    if (c->threat[0])
        say(c,
            ", and the perturbations of each example were made as said, from that example and random numbers "
            "of "
            "its own");
    say(c, ".");
}

static surety_status word(certificate *c, const surety_risks *risks, const char *const *names,
                          surety_error *err) {
    char level[32];
    size_t answer;
    uint64_t constant = constant_failures(risks, &answer);
    c->claim[0] = 0;
    say(c, c->vacuous ? "This certificate promises nothing: no limit is below 1; it would say that, with "
                      : "With ");
    say(c, "confidence %s %% over the draw of the %" PRIu64 " examples of S%s, the ",
        surety_confidence(c->delta, level), c->inputs.m, c->threat[0] ? " and of the perturbations" : "");
    if (c->inputs.voter_count == 1)
        say(c, "classifier ");
    else
        say(c, "weighted vote of %" PRIu64 " voters%s ", c->inputs.voter_count,
            c->inputs.signed_votes ? ", of which each only names a class," : "");
    if (c->of[0]) say(c, "'%s' ", c->of);
    say(c, "whose answers are in the votes (SHA-256 %.16s) ", c->sha256.votes);
    say_limits(c);
    say(c, "where it fails on an input if it is wrong or tied on ");
    if (!c->threat[0])
        say(c, "the input itself, unperturbed");
    else if (c->inputs.n == 1)
        say(c, "the perturbation that is made of it so: %s", c->threat);
    else
        say(c, "at least one of the %" PRIu64 " perturbations that are made of it so: %s", c->inputs.n,
            c->threat);
    if (c->counts.max_wrong + c->counts.max_tied >= constant)
        say(c, "; on S it is no better than always answering %s, which fails on %" PRIu64 " of the examples",
            names[answer], constant);
    if (surety_votes_certificate_repeats(c))
        say(c,
            "; %" PRIu64 " of the %" PRIu64
            " rows of S (%.1f %%) repeat an earlier one, so these are not independent draws: the promise "
            "holds only if rows repeat by nature, new inputs as often as these",
            c->repeats, c->inputs.m, 100 * (double)c->repeats / (double)c->inputs.m);
    say_assumptions(c);
    return surety_claim_whole(c->claim, err);
}

/* ---- making one ---- */

static surety_status hash(const char *path, char sum[65], surety_error *err) {
    surety_file file;
    if (!path) return SURETY_OK;
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_status status = surety_sha256(file.data, file.size, sum, err);
    surety_file_close(&file);
    return status;
}

static surety_status check(const surety_votes_promise *s, surety_error *err) {
    const surety_votes_settings *v = &s->votes;
    if (!v->votes || !v->labels || v->posterior || v->learn || v->hold_out || v->priors_compared != 1)
        return surety_fail(
            err, SURETY_E_USAGE,
            "a certificate of votes is about one vote, fixed before S, whose votes and labels are files");
    if (!(v->delta > 0 && v->delta < 1))
        return surety_fail(err, SURETY_E_USAGE, "delta is above 0 and below 1, not %g", v->delta);
    if (!v->looks) {
        surety_fail(err, SURETY_E_CHECK,
                    "how often S was looked at is not said: a look that is not paid for");
        surety_fail_expected(
            err,
            "--looks N: how many certificates you might have issued after seeing S, 1 if all was decided "
            "before");
        return SURETY_E_CHECK;
    }
    if (s->threat && strlen(s->threat) >= sizeof((certificate *)0)->threat)
        return surety_fail(err, SURETY_E_USAGE, "the words about the threat are longer than %zu characters",
                           sizeof((certificate *)0)->threat - 1);
    if (s->of && strlen(s->of) >= sizeof((certificate *)0)->of)
        return surety_fail(err, SURETY_E_USAGE, "the name of the classifier is longer than %zu characters",
                           sizeof((certificate *)0)->of - 1);
    return SURETY_OK;
}

/* The limit on m examples of which so many fail. */
static surety_status limit(uint64_t m, uint64_t failed, double share, const surety_votes_promise *s,
                           double *value, surety_error *err) {
    surety_bound_input input = surety_bound_input_defaults();
    surety_bound_value found = {.vote_clipped = 1};
    input.m = m, input.H = 1, input.delta = share, input.looks = s->votes.looks, input.frozen = 1;
    input.averaged_max.prior_wrong = failed;
    if (m) SURETY_TRY(surety_bound_compute(SURETY_BOUND_VOTE_FROZEN_MAX, &input, &found, err));
    *value = found.vote_clipped;
    return SURETY_OK;
}

/* One event for all, or one for each class. */
static surety_status share_delta(const surety_votes_promise *s, size_t parts, double *share,
                                 surety_error *err) {
    surety_ledger *ledger;
    surety_ledger_entry entry = {0};
    char event[32];
    SURETY_TRY(surety_ledger_new(s->votes.delta, &ledger, err));
    surety_status status = SURETY_OK;
    for (size_t k = 0; k < parts && status == SURETY_OK; k++) {
        snprintf(event, sizeof event, "class %zu", k);
        status = surety_ledger_announce(ledger, event, 1, s->votes.looks, err);
    }
    if (status == SURETY_OK) status = surety_ledger_spend(ledger, "class 0", 1, s->votes.looks, &entry, err);
    surety_ledger_free(ledger);
    *share = entry.share;
    return status;
}

static surety_status fill(certificate *c, const surety_votes_promise *s, const surety_votes_result *r,
                          surety_error *err) {
    const surety_risks *risks = &r->risks;
    size_t K = risks->classes, parts = s->per_class ? K : 1;
    char numbers[SURETY_RISK_CLASSES][4];
    const char *names[SURETY_RISK_CLASSES];
    for (size_t k = 0; k < K; k++) {
        snprintf(numbers[k], sizeof numbers[k], "%u", (unsigned)k & 255);
        names[k] = r->class_names ? r->class_names[k] : numbers[k];
    }
    snprintf(c->statement, sizeof c->statement, "%s",
             surety_statement_name(s->per_class ? SURETY_SAY_CLASSES : SURETY_SAY_LIMIT));
    snprintf(c->bound, sizeof c->bound, "%s", surety_bound_list()[SURETY_BOUND_VOTE_FROZEN_MAX].name);
    c->delta = s->votes.delta;
    c->inputs.m = risks->m, c->inputs.n = risks->n, c->inputs.voter_count = risks->voter_count;
    c->inputs.class_count = K, c->inputs.looks = s->votes.looks, c->inputs.signed_votes = risks->signed_votes;
    c->counts.wrong = risks->wrong, c->counts.tied = risks->tied;
    c->counts.max_wrong = risks->max_wrong, c->counts.max_tied = risks->max_tied;
    c->risk = risks->averaged_max;
    if (s->threat) snprintf(c->threat, sizeof c->threat, "%s", s->threat);
    if (s->of) snprintf(c->of, sizeof c->of, "%s", s->of);
    snprintf(c->version, sizeof c->version, "%s", surety_version());
    if (risks->n > 1 && !c->threat[0]) {
        surety_fail(err, SURETY_E_USAGE, "there are %zu votes on each example, and nothing says why",
                    risks->n);
        surety_fail_expected(err, "--threat TEXT: how the perturbations were made");
        return SURETY_E_USAGE;
    }
    if (c->threat[0] && r->flat && risks->voter_count > 1) {
        surety_fail(err, SURETY_E_USAGE,
                    "votes of the shape (%" PRIu64
                    ", %zu) on perturbed examples: %zu voters on one "
                    "perturbation of each, or one classifier on %zu?",
                    risks->m, risks->voter_count, risks->voter_count, risks->voter_count);
        surety_fail_expected(err, "(m, 1, H) for H voters, (m, n, 1) for n perturbations");
        return SURETY_E_USAGE;
    }
    SURETY_TRY(share_delta(s, parts, &c->inputs.delta_share, err));
    for (size_t k = 0; k < K && s->per_class; k++) {
        surety_class_limit *one = &c->limits[k];
        snprintf(one->label, sizeof one->label, "%s", names[k]);
        one->m = risks->class_examples[k], one->failed = risks->class_failed[k];
        SURETY_TRY(limit(one->m, one->failed, c->inputs.delta_share, s, &one->value, err));
        c->limit_count = k + 1;
        c->value = fmax(c->value, one->value);
        c->vacuous = (k == 0 || c->vacuous) && one->value >= 1;
    }
    if (!s->per_class) {
        SURETY_TRY(
            limit(risks->m, risks->max_wrong + risks->max_tied, c->inputs.delta_share, s, &c->value, err));
        c->vacuous = c->value >= 1;
    }
    SURETY_TRY(word(c, risks, names, err));
    return surety_document_digest(&document, c, c->digest, err);
}

/* The file of rows; where it is not at hand, what a certificate says of it. */
static surety_status take_rows(const surety_votes_promise *s, size_t m, const certificate *stated,
                               certificate *c, surety_error *err) {
    surety_file file;
    c->repeats = SURETY_ABSENT;
    if (!s->rows && stated && stated->sha256.rows[0]) {
        memcpy(c->sha256.rows, stated->sha256.rows, sizeof c->sha256.rows);
        c->repeats = stated->repeats;
    }
    if (!s->rows) return SURETY_OK;
    SURETY_TRY(surety_file_open(&file, s->rows, err));
    surety_status status = surety_sha256(file.data, file.size, c->sha256.rows, err);
    if (status == SURETY_OK) status = surety_rows_repeat(&file, m, &c->repeats, err);
    surety_file_close(&file);
    return status;
}

/* stated: NULL, or the certificate that is made again. */
static surety_status make(const surety_votes_promise *s, const certificate *stated, certificate *out,
                          const surety_run *run, surety_error *err) {
    surety_votes_result result = {0};
    *out = (certificate){0};
    surety_status status = check(s, err);
    if (status == SURETY_OK) status = hash(s->votes.votes, out->sha256.votes, err);
    if (status == SURETY_OK) status = hash(s->votes.labels, out->sha256.labels, err);
    if (status == SURETY_OK) status = hash(s->votes.prior, out->sha256.weights, err);
    if (status == SURETY_OK) status = surety_bound_votes(&s->votes, &result, run, err);
    if (status == SURETY_OK) status = take_rows(s, result.risks.m, stated, out, err);
    if (status == SURETY_OK) status = fill(out, s, &result, err);
    surety_votes_result_free(&result);
    if (status != SURETY_OK) *out = (certificate){0};
    return status;
}

surety_status surety_certify_votes(const surety_votes_promise *s, certificate *out, const surety_run *run,
                                   surety_error *err) {
    return make(s, NULL, out, run, err);
}

/* ---- is it true? ---- */

surety_status surety_verify_votes(const char *path, const surety_votes_promise *files,
                                  surety_verification *out, const surety_run *run, surety_error *err) {
    certificate *stated, *found;
    surety_error refused = SURETY_ERROR_NONE;
    *out = (surety_verification){.level = "bits", .value = (double)NAN, .found = (double)NAN};
    SURETY_TRY(surety_alloc(&stated, 2, sizeof *stated, err));
    found = stated + 1;
    surety_status status = surety_votes_certificate_load(path, stated, err);
    surety_votes_promise s = *files;
    s.votes.classes = (size_t)stated->inputs.class_count;
    s.votes.signed_votes = stated->inputs.signed_votes;
    s.votes.delta = stated->delta, s.votes.looks = stated->inputs.looks;
    s.per_class = !strcmp(stated->statement, surety_statement_name(SURETY_SAY_CLASSES));
    s.threat = stated->threat[0] ? stated->threat : NULL, s.of = stated->of[0] ? stated->of : NULL;
    if (status == SURETY_OK) status = make(&s, stated, found, run, &refused);
    if (status != SURETY_OK && refused.code != SURETY_OK && err) *err = refused;
    if (status == SURETY_OK) {
        out->agrees = out->counted = 1;
        out->rows_believed = !s.rows && stated->sha256.rows[0];
        if (out->rows_believed) strcpy(out->level, "numbers");
        if (stated->repeats != SURETY_ABSENT) out->copies.learn_repeats = stated->repeats;
        out->value = stated->value, out->found = found->value;
        memcpy(out->claim, stated->claim, sizeof out->claim);
        surety_record_compare(&sha256_table, &stated->sha256, &found->sha256, "sha256", NULL,
                              surety_verification_differs, out);
        surety_verification_explain(out, ": this is not the file that was certified");
        if (out->agrees)
            surety_record_compare(&certificate_table, stated, found, "", NULL, surety_verification_differs,
                                  out);
        surety_verification_explain(out, "");
    }
    surety_free(stated);
    return status;
}
