/* Certificates as files. The tables below are the format: key, type, range (docs/certificates.md has the same
 * in words). */
#include "certify/certificate.h"

#include "certify/certifying.h"
#include "certify/document.h"
#include "certify/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/random.h"
#include "io/sha256.h"
#include "io/write.h"
#include "surety/evaluate.h"

#define AT(member) offsetof(surety_certificate, member)
#define IN(group, member) (offsetof(surety_certificate, group.member) - offsetof(surety_certificate, group))
#define SIZE(member) sizeof(((surety_certificate *)0)->member)
#define COUNTS(key, unit)                                                                    \
    {                                                                                        \
#key, SURETY_FIELD_COUNTS, IN(counts, key), 0, 0, 0, 0, SURETY_UNIT_##unit, NULL, 0, \
            IN(counts, voter_count)                                                          \
    }

static const surety_field inputs_rows[] = {
    COUNT("m", IN(inputs, m), 1, 0x1p32, EXACT),
    COUNT("n", IN(inputs, n), 1, SURETY_SAMPLE_LIMIT, EXACT),
    COUNT("voter_count", IN(inputs, voter_count), 1, 0x1p32, EXACT),
    COUNT("priors_compared", IN(inputs, priors_compared), 1, SURETY_PRIORS_MOST, EXACT),
    COUNT("looks", IN(inputs, looks), 1, WHOLE, EXACT),
    REAL("delta_share", IN(inputs, delta_share), 0, 1, EXACT),
    REAL("kl", IN(inputs, kl), 0, 1e9, EXACT),
    FLAG("frozen", IN(inputs, frozen)),
};
TABLE(inputs, inputs_rows);

#define RISK(key) REAL(#key, IN(risks, key), 0, 1, SHARE)
static const surety_field risks_rows[] = {RISK(averaged), RISK(averaged_max), RISK(rbar),  RISK(abar),
                                          RISK(gmax),     RISK(tv),           RISK(tandem)};
TABLE(risks, risks_rows);

#define LIMIT(member) offsetof(surety_class_limit, member)
static const surety_field limit_rows[] = {
    TEXT("class", LIMIT(label), sizeof(((surety_class_limit *)0)->label)),
    COUNT("m", LIMIT(m), 0, 0x1p32, EXACT),
    COUNT("failed", LIMIT(failed), 0, 0x1p32, EXAMPLES),
    REAL("value", LIMIT(value), 0, 1, VALUE),
};
const surety_fields surety_class_limit_table = {limit_rows, sizeof limit_rows / sizeof *limit_rows};

static const surety_field group_rows[] = {
    TEXT("group", LIMIT(label), sizeof(((surety_class_limit *)0)->label)),
    COUNT("m", LIMIT(m), 0, 0x1p32, EXACT),
    COUNT("failed", LIMIT(failed), 0, 0x1p32, EXAMPLES),
    REAL("value", LIMIT(value), 0, 1, VALUE),
};
TABLE(group, group_rows);

#define POINT(member) offsetof(surety_curve_limit, member)
static const surety_field point_rows[] = {
    REAL("radius", POINT(radius), 0, 1e300, EXACT),
    COUNT("failed", POINT(failed), 0, 0x1p32, EXAMPLES),
    REAL("value", POINT(value), 0, 1, VALUE),
};
TABLE(point, point_rows);

#define PROMISE(member) offsetof(surety_promise_tested, member)
static const surety_field promise_rows[] = {
    REAL("radius", PROMISE(radius), 0, 1e300, EXACT),
    REAL("limit", PROMISE(limit), 0, 1, EXACT),
    COUNT_OR_NULL("failed", PROMISE(failed), 0, 0x1p32),
    FLAG("kept", PROMISE(kept)),
};
TABLE(promise, promise_rows);

static const surety_field assumed_rows[] = {
    TEXT_OR_NULL("label_noise", IN(assumed, noise), SIZE(assumed.noise)),
    REAL_OR_NULL("label_noise_share", IN(assumed, noise_share), 0, 1, EXACT),
    TEXT_OR_NULL("shift", IN(assumed, shift), SIZE(assumed.shift)),
    REAL_OR_NULL("shift_budget", IN(assumed, shift_budget), 0, 1e300, EXACT),
    REAL_OR_NULL("value", IN(assumed, value), 0, 1, VALUE),
};
TABLE(assumed, assumed_rows);

static const surety_field majority_rows[] = {
    TEXT("class", IN(majority, label), SIZE(majority.label)),
    COUNT("rows_prior", IN(majority, rows_prior), 0, WHOLE, EXACT),
    COUNT("failed", IN(majority, failed), 0, WHOLE, EXACT),
};
TABLE(majority, majority_rows);

static const surety_field test_rows[] = {
    COUNT("m", IN(test, m), 0, WHOLE, EXACT),
    COUNT("failed", IN(test, failed), 0, WHOLE, EXAMPLES),
    REAL("chance", IN(test, chance), 0, 1, SHARE),
    FLAG("refuted", IN(test, refuted)),
};
TABLE(test, test_rows);

static const surety_field attack_rows[] = {
    TEXT("name", IN(attack, name), SIZE(attack.name)),
    TEXT("norm", IN(attack, norm), SIZE(attack.norm)),
    REAL("eps", IN(attack, radius), 0, 1e300, EXACT),
    TEXT("radius_unit", IN(attack, radius_unit), SIZE(attack.radius_unit)),
    REAL("slack", IN(attack, slack), 0, 1, EXACT),
    REAL_OR_NULL("box_lo", IN(attack, box_lo), -1e300, 1e300, EXACT),
    REAL_OR_NULL("box_hi", IN(attack, box_hi), -1e300, 1e300, EXACT),
    COUNT_OR_NULL("steps", IN(attack, steps), 1, 1e6),
    REAL_OR_NULL("step_size", IN(attack, step_size), 0, 1e300, EXACT),
    REAL_OR_NULL("noise", IN(attack, noise), 0, 1e300, EXACT),
    COUNT_OR_NULL("samples", IN(attack, samples), 1, SURETY_SAMPLE_LIMIT),
    COUNT_OR_NULL("restarts", IN(attack, restarts), 1, SURETY_RESTART_LIMIT),
    COUNT_OR_NULL("budget", IN(attack, budget), 0, SURETY_BUDGET_MOST),
    TEXT("against", IN(attack, against), SIZE(attack.against)),
    COUNT("seed", IN(attack, seed), 0, WHOLE, EXACT),
    COUNT("epoch", IN(attack, epoch), 0, SURETY_EPOCH_LIMIT, EXACT),
};
TABLE(attack, attack_rows);

static const surety_field tolerance_rows[] = {
    SHA256_OR_NULL("sha256", IN(tolerance, sha256)),
    TEXTS("features", IN(tolerance, features), 0, 1 << 30, IN(tolerance, count)),
    REALS("radius", IN(tolerance, radius), IN(tolerance, count)),
    REALS("lo", IN(tolerance, lo), IN(tolerance, count)),
    REALS("hi", IN(tolerance, hi), IN(tolerance, count)),
};
TABLE(tolerance, tolerance_rows);

#define ENTRY(member) offsetof(surety_ledger_entry, member)
static const surety_field event_rows[] = {
    TEXT("event", ENTRY(event), sizeof(((surety_ledger_entry *)0)->event)),
    REAL("share", ENTRY(share), 0, 1, EXACT),
    COUNT("priors_compared", ENTRY(priors_compared), 1, SURETY_PRIORS_MOST, EXACT),
    COUNT("looks", ENTRY(looks), 1, WHOLE, EXACT),
    FLAG("spent", ENTRY(spent)),
};
TABLE(event, event_rows);

static const surety_field model_rows[] = {
    TEXT_OR_NULL("file", IN(model, file), SIZE(model.file)),
    SHA256("sha256", IN(model, sha256), EXACT),
    TEXT("kind", IN(model, kind), SIZE(model.kind)),
    TEXT("voters", IN(model, voters), SIZE(model.voters)),
    TEXT("defense", IN(model, defense), SIZE(model.defense)),
    TEXT("objective", IN(model, objective), SIZE(model.objective)),
    COUNT("seed", IN(model, seed), 0, WHOLE, EXACT),
};
TABLE(model, model_rows);

#define FILE_AT(member) (AT(data.files[0].member) - AT(data.files))
static const surety_field file_rows[] = {
    TEXT("role", FILE_AT(role), SIZE(data.files[0].role)),
    COUNT("bytes", FILE_AT(bytes), 0, WHOLE, EXACT),
    SHA256("sha256", FILE_AT(sha256), EXACT),
};
TABLE(file, file_rows);

static const surety_field data_rows[] = {
    TEXT_OR_NULL("task", IN(data, task), SIZE(data.task)),
    LIST("files", IN(data, files), 0, 4, &file_table, SIZE(data.files[0]), IN(data, file_count)),
    SHA256("sha256_prior", IN(data, sha256_prior), EXACT),
    SHA256("sha256_learn", IN(data, sha256_learn), EXACT),
    SHA256("sha256_test", IN(data, sha256_test), EXACT),
    TEXTS("classes", IN(data, classes), 2, SURETY_CLASSES_MOST, IN(data, class_count)),
    TEXT_OR_NULL("label_column", IN(data, label_column), SIZE(data.label_column)),
    TEXT("header", IN(data, header), SIZE(data.header)),
    REAL("scale", IN(data, scale), 0, 1e300, EXACT),
    COUNT("features", IN(data, features), 1, 0x1p32, EXACT),
    COUNT("columns", IN(data, columns), 1, 0x1p32, EXACT),
    TEXT("scaling", IN(data, scaling), SIZE(data.scaling)),
    TEXT("missing", IN(data, missing), SIZE(data.missing)),
    SHA256_OR_NULL("preparation", IN(data, preparation)),
    COUNT("learn_size", IN(data, learn_size), 1, WHOLE, EXACT),
    COUNT("test_size", IN(data, test_size), 0, WHOLE, EXACT),
    FLAG("shuffled", IN(data, shuffled)),
    COUNT_OR_NULL("seed", IN(data, seed), 0, WHOLE),
    TEXT("split", IN(data, split), SIZE(data.split)),
    COUNT("rows_prior", IN(data, rows_prior), 0, WHOLE, EXACT),
    COUNT("rows_learn", IN(data, rows_learn), 1, WHOLE, EXACT),
    COUNT("rows_test", IN(data, rows_test), 0, WHOLE, EXACT),
    TEXT_OR_NULL("unit", IN(data, unit), SIZE(data.unit)),
    COUNT_OR_NULL("units_prior", IN(data, units_prior), 0, WHOLE),
    COUNT_OR_NULL("units_learn", IN(data, units_learn), 1, WHOLE),
    COUNT_OR_NULL("units_test", IN(data, units_test), 0, WHOLE),
    FLAG("fresh", IN(data, fresh)),
    TEXT("copies", IN(data, copies), SIZE(data.copies)),
};
const surety_fields surety_certificate_data_table = {data_rows, sizeof data_rows / sizeof *data_rows};

#define COPIES(key) COUNT(#key, offsetof(surety_copies, key), 0, WHOLE, EXACT)
static const surety_field copies_rows[] = {
    COPIES(learn_in_prior),
    COPIES(test_in_prior),
    COPIES(test_in_learn),
    COPIES(learn_repeats),
    COPIES(near_learn_in_prior),
    COPIES(near_test_in_prior),
    REAL("tolerance", offsetof(surety_copies, tolerance), 0, 1, EXACT),
    COPIES(dropped),
};
TABLE(copies, copies_rows);

static const surety_field software_rows[] = {
    TEXT("version", IN(software, version), SIZE(software.version)),
    TEXT("cpu_level", IN(software, cpu_level), SIZE(software.cpu_level)),
};
TABLE(software, software_rows);

#define SUM(key, unit) COUNT(#key, IN(counts, key), 0, WHOLE, unit)
static const surety_field counts_rows[] = {
    SUM(wrong, VOTES),          SUM(tied, VOTES),
    SUM(max_wrong, EXAMPLES),   SUM(max_tied, EXAMPLES),
    SUM(prior_wrong, VOTES),    SUM(prior_max_wrong, EXAMPLES),
    SUM(abar_sum, LOSS),        SUM(tv_sum, LOSS),
    SUM(tandem_sum, LOSSES),    SUM(prior_coins, EXAMPLES),
    COUNTS(loss, LOSSES),       COUNTS(max_loss, LOSS),
    COUNTS(errors, EXAMPLES),   COUNTS(anchored_loss, LOSSES),
    COUNTS(anchored_max, LOSS), COUNTS(anchored_errors, EXAMPLES),
    COUNTS(coins, EXAMPLES),    COUNTS(max_coins, EXAMPLES),
};
TABLE(counts, counts_rows);

static const surety_field certificate_rows[] = {
    TEXT("claim", AT(claim), SURETY_CLAIM),
    TEXT("statement", AT(statement), SIZE(statement)),
    TEXT("bound", AT(bound), SIZE(bound)),
    REAL("value", AT(value), 0, 1e9, VALUE),
    REAL_OR_NULL("surrogate", AT(surrogate), 0, 1e9, VALUE),
    TEXT("risk", AT(risk), SIZE(risk)),
    FLAG("vacuous", AT(vacuous)),
    REAL("delta", AT(delta), 0, 1, EXACT),
    TEXT("choice", AT(choice), SIZE(choice)),
    OBJECT("inputs", AT(inputs), &inputs_table),
    OBJECT("risks", AT(risks), &risks_table),
    LIST("classes", AT(limits), 0, SURETY_CLASSES_MOST, &surety_class_limit_table, sizeof(surety_class_limit),
         AT(limit_count)),
    TEXT_OR_NULL("group_column", AT(group_column), SIZE(group_column)),
    LIST("groups", AT(groups), 0, SURETY_GROUPS, &group_table, sizeof(surety_class_limit), AT(group_count)),
    REAL_OR_NULL("promised_risk", AT(promise), 0, 1, EXACT),
    REAL_OR_NULL("radius", AT(radius), 0, 1e300, EXACT),
    COUNT_OR_NULL("below_radius", AT(below_radius), 0, 0x1p32),
    LIST("curve", AT(curve), 0, SURETY_POINTS, &point_table, sizeof(surety_curve_limit), AT(curve_count)),
    LIST("promises", AT(promises), 0, SURETY_POINTS, &promise_table, sizeof(surety_promise_tested),
         AT(promise_count)),
    OBJECT("assumed", AT(assumed), &assumed_table),
    OBJECT("majority", AT(majority), &majority_table),
    OBJECT("test", AT(test), &test_table),
    OBJECT("attack", AT(attack), &attack_table),
    OBJECT("tolerance", AT(tolerance), &tolerance_table),
    LIST("ledger", AT(events), 1, SURETY_CERTIFICATE_EVENTS, &event_table, sizeof(surety_ledger_entry),
         AT(event_count)),
    OBJECT("model", AT(model), &model_table),
    OBJECT("data", AT(data), &surety_certificate_data_table),
    OBJECT("copies", AT(copies), &copies_table),
    OBJECT("software", AT(software), &software_table),
    OBJECT("counts", AT(counts), &counts_table),
    SHA256("counts_sha256", AT(counts_sha256), ANY),
};
const surety_fields surety_certificate_table = {certificate_rows,
                                                sizeof certificate_rows / sizeof *certificate_rows};

/* ---- from struct to text ---- */

const char *surety_certificate_cpu(void) {
    return surety_cpu() == SURETY_GENERIC ? "generic" : "fma";
}

static const surety_document document = {"surety-certificate-1", &surety_certificate_table};

surety_status surety_certificate_seal(surety_certificate *c, surety_error *err) {
    SURETY_TRY(surety_json_digest(surety_record_json(&counts_table, &c->counts), c->counts_sha256, err));
    return surety_document_digest(&document, c, c->digest, err);
}

char *surety_certificate_json(const surety_certificate *c) {
    return surety_document_json(&document, c, c->digest);
}

surety_status surety_certificate_save(const surety_certificate *c, const char *path, surety_error *err) {
    return surety_document_save(&document, c, c->digest, path, err);
}

void surety_certificate_free(surety_certificate *c) {
    surety_record_free(&surety_certificate_table, c);
    *c = (surety_certificate){0};
}

/* ---- from text to struct ---- */

/* Names that mean something must be known; what they mean is checked by verifying. */
static surety_status check_names(const surety_certificate *c, surety_error *err) {
    static const char *const choices[] = {"one", "best"};
    surety_error inner = SURETY_ERROR_NONE;
    surety_copies_rule rule;
    const surety_bound_info *info;
    surety_threat_kind threat;
    surety_norm norm;
    const char *place = NULL;
    surety_label_noise noise;
    surety_shift shift;
    if (c->assumed.noise[0] && surety_label_noise_parse(c->assumed.noise, &noise, &inner) != SURETY_OK)
        place = "assumed.label_noise";
    else if (c->assumed.shift[0] && surety_shift_parse(c->assumed.shift, &shift, &inner) != SURETY_OK)
        place = "assumed.shift";
    else if (!surety_statement_find(c->statement)) {
        surety_fail(&inner, SURETY_E_INPUT, "unknown statement '%s'", c->statement);
        place = "statement";
    } else if (surety_bound_find(c->bound, &info, &inner) != SURETY_OK)
        place = "bound";
    else if (surety_threat_parse(c->attack.name, &threat, &inner) != SURETY_OK)
        place = "attack.name";
    else if (surety_norm_parse(c->attack.norm, &norm, &inner) != SURETY_OK)
        place = "attack.norm";
    else if (surety_copies_parse(c->data.copies, &rule, &inner) != SURETY_OK)
        place = "data.copies";
    if (place) {
        surety_fail(err, SURETY_E_INPUT, "%s", inner.what);
        surety_fail_place(err, "key %s", place);
        return SURETY_E_INPUT;
    }
    if (!strcmp(c->choice, choices[0]) || !strcmp(c->choice, choices[1])) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "unknown choice '%s'", c->choice);
    surety_fail_place(err, "key choice");
    surety_fail_expected(err, "one or best");
    return SURETY_E_INPUT;
}

static surety_status check_content(surety_certificate *c, int *digest_fits, surety_error *err) {
    char sum[65];
    SURETY_TRY(check_names(c, err));
    c->copies.learn = c->data.rows_learn, c->copies.test = c->data.rows_test;
    SURETY_TRY(surety_document_digest(&document, c, sum, err));
    *digest_fits = !strcmp(c->digest, sum);
    return SURETY_OK;
}

surety_status surety_certificate_read(surety_certificate *out, int *digest_fits, const char *path,
                                      surety_error *err) {
    *out = (surety_certificate){0};
    surety_status status = surety_document_read(&document, out, out->digest, path, err);
    if (status == SURETY_OK) status = check_content(out, digest_fits, err);
    if (status == SURETY_OK) return SURETY_OK;
    surety_fail_file(err, path);
    surety_certificate_free(out);
    return status;
}

surety_status surety_certificate_load(const char *path, surety_certificate *out, surety_error *err) {
    int digest_fits = 0;
    SURETY_TRY(surety_certificate_read(out, &digest_fits, path, err));
    if (digest_fits) return SURETY_OK;
    surety_certificate_free(out);
    surety_fail(err, SURETY_E_CHECK, "the digest does not belong to the content: the file was changed");
    surety_fail_place(err, "key digest");
    surety_fail_file(err, path);
    return SURETY_E_CHECK;
}
