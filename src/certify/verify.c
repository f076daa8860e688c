/* The recheck of a certificate. From the certificate come only the settings (attack, delta, looks, which
 * bound); everything else is derived again from the data files, the model file and the model's seed by the
 * same call that makes certificates, and then compared field by field through the one table that also writes
 * and reads them. Every field is derived again, but for the name of the model's file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "certify/certifying.h"
#include "certify/exported.h"
#include "data/copies.h"
#include "data/dataset.h"
#include "io/read.h"
#include "io/sha256.h"
#include "surety/evaluate.h"
#include "surety/train.h"

/* Level numbers, counts: a CPU without FMA rounds each product and sum of the voters, so that a vote near 0
 * may come out on the other side. Measured on a dozen certificates with m = 5000, that moved no sum by as
 * much as one example; the certificate may have counted one example in a thousand too few (and always one).
 */
#define TOLERANCE 0.001
/* What follows from counts is computed in double, with functions of libm that may differ in a last bit. */
#define ROUNDING 1e-12

surety_verify_settings surety_verify_defaults(void) {
    return (surety_verify_settings){.data = surety_data_defaults()};
}

typedef struct verifying {
    surety_verification *out;
    const char *path;
    const surety_verify_settings *s;
    surety_certificate stated, found;
    surety_certificate other; /* of one function at a time: too large for a small stack */
    char *model_path;
    surety_model *model;
    surety_tolerance *tolerance; /* as the certificate states it, or NULL */
    surety_data *own;            /* data that were opened here */
    const surety_data *data;     /* own, or the caller's */
} verifying;

/* ---- differences ---- */

void surety_verification_differs(void *arg, const char *field, const char *stated, const char *found) {
    surety_verification *out = arg;
    out->agrees = 0;
    if (out->differences < SURETY_DIFFERENCES) {
        surety_difference *d = &out->difference[out->differences];
        snprintf(d->field, sizeof d->field, "%s", field);
        snprintf(d->stated, sizeof d->stated, "%s", stated);
        snprintf(d->found, sizeof d->found, "%s", found);
    }
    out->differences++;
}

/* The same where the two were exchanged. */
static void differs_back(void *arg, const char *field, const char *found, const char *stated) {
    surety_verification_differs(arg, field, stated, found);
}

static void set_reason(surety_verification *out, const char *what) {
    out->agrees = 0;
    if (!out->reason[0]) snprintf(out->reason, sizeof out->reason, "%s", what);
}

void surety_verification_explain(surety_verification *out, const char *hint) {
    const surety_difference *d = &out->difference[0];
    char text[512];
    if (!out->differences) return;
    for (size_t i = 0; i < out->differences && i < SURETY_DIFFERENCES; i++)
        if (!strncmp(out->difference[i].field, "software.", 9)) {
            d = &out->difference[i];
            hint = strcmp(d->field, "software.version")
                       ? ": with SURETY_CPU=generic in the environment, verify does as a CPU without FMA"
                       : ": verify it with the version that made it";
            break;
        }
    snprintf(text, sizeof text, "%s differs: the certificate says %s, derived again it is %s%s", d->field,
             d->stated, d->found, hint);
    set_reason(out, text);
}

/* ---- the pieces: model, data, settings ---- */

static surety_status find_model(verifying *v, surety_error *err) {
    if (v->s->model) return surety_join(&v->model_path, v->s->model, "", "", err);
    if (!v->stated.model.file[0] || strchr(v->stated.model.file, '/')) {
        surety_fail(err, SURETY_E_INPUT, "the certificate does not name a model file");
        surety_fail_file(err, v->path);
        surety_fail_place(err, "key model.file");
        surety_fail_expected(err, "--model FILE");
        return SURETY_E_INPUT;
    }
    const char *name = surety_path_name(v->path);
    char *folder;
    SURETY_TRY(surety_join(&folder, v->path, "", "", err));
    folder[name - v->path] = 0;
    surety_status status = surety_join(&v->model_path, folder, v->stated.model.file, "", err);
    surety_free(folder);
    int there = 0;
    if (status == SURETY_OK) status = surety_path_look(v->model_path, &there, err);
    if (status == SURETY_OK && !there) {
        surety_fail(err, SURETY_E_INPUT, "the model file is not there");
        surety_fail_file(err, v->model_path);
        surety_fail_expected(err, "the model beside the certificate, or --model FILE");
        status = SURETY_E_INPUT;
    }
    return status;
}

/* The bytes of the file before anything in it is believed; then the model that was read from it. */
static surety_status open_model(verifying *v, surety_error *err) {
    surety_file file;
    char sum[65];
    SURETY_TRY(find_model(v, err));
    SURETY_TRY(surety_file_open(&file, v->model_path, err));
    surety_status status = surety_sha256(file.data, file.size, sum, err);
    surety_file_close(&file);
    if (status != SURETY_OK) return status;
    if (strcmp(sum, v->stated.model.sha256)) {
        surety_verification_differs(v->out, "model.sha256", v->stated.model.sha256, sum);
        surety_verification_explain(v->out, ": this is not the certified model");
        return SURETY_OK;
    }
    return surety_model_load(v->model_path, &v->model, err);
}

surety_status surety_certificate_tolerance(surety_tolerance **out, const surety_certificate *c,
                                           const surety_model *model, surety_error *err) {
    surety_features features = surety_model_features(model);
    const char **names = c->tolerance.features;
    const double *lo = c->tolerance.lo, *hi = c->tolerance.hi;
    double *ends = NULL;
    size_t count = c->tolerance.count, j = 0;
    *out = NULL;
    if (!count) return SURETY_OK;
    while (j < count && count == features.d && (!features.names || !strcmp(names[j], features.names[j]))) j++;
    if (j < count) return surety_fail(err, SURETY_E_INPUT, "tolerance.features are not those of the model");
    features.names = names;
    SURETY_TRY(surety_alloc(&ends, 2 * count, sizeof *ends, err));
    for (j = 0; j < count; j++) {
        ends[j] = isnan(lo[j]) ? -HUGE_VAL : lo[j];
        ends[count + j] = isnan(hi[j]) ? HUGE_VAL : hi[j];
    }
    surety_status status = surety_tolerance_new(&features, c->tolerance.radius, ends, ends + count, out, err);
    surety_free(ends);
    return status;
}

/* What makes no sense is an answer: the certificate is not true. */
static surety_status make_tolerance(verifying *v, surety_error *err) {
    surety_error refused = SURETY_ERROR_NONE;
    surety_status status = surety_certificate_tolerance(&v->tolerance, &v->stated, v->model, &refused);
    if (status == SURETY_E_INPUT) return set_reason(v->out, refused.what), SURETY_OK;
    if (status != SURETY_OK && err) *err = refused;
    return status;
}

/* A task's files were refused: if one of them has another checksum than the certificate says, that is the
 * answer. */
static void compare_task_files(verifying *v, const char *task_name) {
    const surety_task *task = surety_task_find(task_name, NULL);
    const surety_dataset *dataset = task ? surety_dataset_named(task->dataset, NULL) : NULL;
    surety_place place = {0};
    if (!dataset || surety_dataset_find(&place, dataset, v->s->data.data_dir, NULL) != SURETY_OK) return;
    for (size_t i = 0; i < DATASET_FILES && i < v->stated.data.file_count; i++) {
        surety_file file;
        char sum[65] = "", field[64];
        if (surety_file_open(&file, place.path[i], NULL) != SURETY_OK) continue;
        surety_status status = surety_sha256(file.data, file.size, sum, NULL);
        surety_file_close(&file);
        snprintf(field, sizeof field, "data.files[%zu].sha256", i);
        if (status == SURETY_OK && strcmp(sum, v->stated.data.files[i].sha256))
            surety_verification_differs(v->out, field, v->stated.data.files[i].sha256, sum);
    }
    surety_place_free(&place);
    surety_verification_explain(v->out, ": these are not the certified data");
}

/* A certificate that was made from memory names no files: those that hold its rows are not compared. */
static void forget_files(verifying *v) {
    if (v->stated.data.file_count) return;
    v->found.data.file_count = 0;
    v->found.data.scale = 1;
}

static surety_status compare_data(verifying *v, surety_error *err) {
    SURETY_TRY(surety_certificate_set_data(&v->found, surety_data_describe(v->data), err));
    surety_certificate_set_columns(&v->found, v->model);
    forget_files(v);
    surety_record_compare(&surety_certificate_data_table, &v->stated.data, &v->found.data, "data", NULL,
                          surety_verification_differs, v->out);
    surety_verification_explain(v->out, ": these are not the certified data");
    return SURETY_OK;
}

static surety_status open_files(verifying *v, surety_error *err) {
    surety_data_settings s = v->s->data;
    surety_error refused = SURETY_ERROR_NONE;
    SURETY_TRY(surety_model_data_settings(v->model, &s, err));
    surety_copies_parse(v->stated.data.copies, &s.copies, NULL); /* checked when it was read */
    if (v->stated.data.fresh) s.task = NULL, s.test_size = 0;
    if (v->stated.data.fresh != v->s->data.fresh) {
        static const char *const words[] = {"false", "true"};
        surety_verification_differs(v->out, "data.fresh", words[v->stated.data.fresh],
                                    words[v->s->data.fresh]);
        surety_verification_explain(v->out, ": rows declared fresh are given with --fresh FILE");
        return SURETY_OK;
    }
    if (v->stated.group_column[0]) s.group = v->stated.group_column;
    if (v->s->data.label_column) s.label_column = v->s->data.label_column;
    if (v->s->data.header != SURETY_HEADER_AUTO) s.header = v->s->data.header;
    if (s.task)
        s.class_count = 0, s.train = s.test = s.train_labels = s.test_labels = NULL;
    else if (!s.train)
        return surety_fail(err, SURETY_E_USAGE,
                           "the model was trained on own data: give it again with --train (and --test), or "
                           "believe the counts with --numbers");
    s.own_rows = !v->s->retrain && !v->s->exported;
    surety_status status = surety_data_open(&s, &v->own, &refused);
    if (status == SURETY_E_INPUT && s.task) compare_task_files(v, s.task);
    if (status != SURETY_OK && v->out->agrees) {
        if (err) *err = refused;
        return status;
    }
    v->data = v->own;
    return SURETY_OK;
}

static surety_status open_data(verifying *v, surety_error *err) {
    v->data = v->s->opened;
    if (!v->data) SURETY_TRY(open_files(v, err));
    return v->data ? compare_data(v, err) : SURETY_OK; /* NULL: the files were refused: the answer */
}

/* What was asked for when the certificate was made. What does not apply keeps a default that is valid. */
static void settings_of(const verifying *v, surety_certify_settings *s) {
    const surety_certificate *c = &v->stated;
    surety_threat *a = &s->threat;
    *s = (surety_certify_settings){
        .delta = c->delta, .looks = c->inputs.looks, .despite_test = c->test.refuted};
    s->bound = strcmp(c->choice, "best") ? c->bound : "best";
    s->statement = surety_statement_of(surety_statement_find(c->statement)); /* checked too */
    surety_statement_about(s->statement)->settings(c, s);
    if (c->assumed.noise[0]) surety_label_noise_parse(c->assumed.noise, &s->noise, NULL); /* checked */
    if (c->assumed.shift[0]) surety_shift_parse(c->assumed.shift, &s->shift, NULL);
    s->noise_share = c->assumed.noise_share, s->shift_budget = c->assumed.shift_budget;
    *a = surety_threat_defaults();
    surety_threat_parse(c->attack.name, &a->kind, NULL); /* both were checked when it was read */
    surety_norm_parse(c->attack.norm, &a->ball.norm, NULL);
    a->ball.radius = c->attack.radius;
    a->ball.tolerance = v->tolerance;
    a->ball.has_box = !isnan(c->attack.box_lo) || !isnan(c->attack.box_hi);
    a->ball.lo = c->attack.box_lo;
    a->ball.hi = c->attack.box_hi;
    if (c->attack.steps != SURETY_ABSENT) a->steps = (size_t)c->attack.steps;
    if (!isnan(c->attack.step_size)) a->step_size = c->attack.step_size;
    if (!isnan(c->attack.noise)) a->noise = c->attack.noise;
    if (c->attack.samples != SURETY_ABSENT) a->samples = (size_t)c->attack.samples;
    if (c->attack.restarts != SURETY_ABSENT) a->restarts = (size_t)c->attack.restarts;
    if (c->attack.budget != SURETY_ABSENT) a->budget = c->attack.budget;
}

/* ---- putting it together ---- */

static surety_status read_certificate(verifying *v, surety_error *err) {
    int digest_fits = 0;
    SURETY_TRY(surety_certificate_read(&v->stated, &digest_fits, v->path, err));
    snprintf(v->out->claim, sizeof v->out->claim, "%s", v->stated.claim);
    v->out->value = v->stated.value;
    v->out->copies = v->stated.copies;
    if (digest_fits) return SURETY_OK;
    v->other = v->stated; /* shares the arrays: not freed */
    SURETY_TRY(surety_certificate_seal(&v->other, err));
    surety_verification_differs(v->out, "digest", v->stated.digest, v->other.digest);
    surety_verification_explain(v->out, ": the certificate was changed after it was written");
    return SURETY_OK;
}

/* No such certificate could have been made. */
static int is_refusal(surety_status status) {
    return status == SURETY_E_CHECK || status == SURETY_E_USAGE || status == SURETY_E_INPUT;
}

static surety_refutation test_of(const surety_certificate *c) {
    return (surety_refutation){.m = c->test.m,
                               .failed = c->test.failed,
                               .limit = c->value,
                               .chance = c->test.chance,
                               .refuted = c->test.refuted};
}

static surety_status derive(verifying *v, const surety_run *run, surety_error *err) {
    surety_certify_settings settings;
    surety_error refused = SURETY_ERROR_NONE;
    settings_of(v, &settings);
    surety_certificate_free(&v->found);
    surety_status status = surety_certify(v->model, v->data, &settings, &v->found, run, &refused);
    if (is_refusal(status)) {
        set_reason(v->out, refused.what);
        return SURETY_OK;
    }
    if (status != SURETY_OK && err) *err = refused;
    memcpy(v->found.model.file, v->stated.model.file, sizeof v->found.model.file);
    forget_files(v);
    return status;
}

/* Whether everything follows from the stated counts; no tolerance but for the last bits of libm. */
static surety_status check_numbers(verifying *v, surety_error *err) {
    surety_verification *out = v->out;
    surety_certify_settings settings;
    surety_certificate *again = &v->other;
    surety_error refused = SURETY_ERROR_NONE;
    const double allowed[SURETY_UNITS] = {[SURETY_UNIT_VALUE] = ROUNDING, [SURETY_UNIT_SHARE] = ROUNDING};
    strcpy(out->level, "numbers");
    settings_of(v, &settings);
    surety_status status = surety_certify_again(again, v->model, &v->stated, &settings, &refused);
    if (is_refusal(status)) return set_reason(out, refused.what), SURETY_OK;
    if (status != SURETY_OK) {
        if (err) *err = refused;
        return status;
    }
    out->found = again->value;
    out->test = test_of(again);
    if (strcmp(again->counts_sha256, v->stated.counts_sha256) != 0)
        surety_verification_differs(out, "counts_sha256", v->stated.counts_sha256, again->counts_sha256);
    surety_record_compare(&surety_certificate_table, &v->stated, again, "", allowed,
                          surety_verification_differs, out);
    if (out->agrees) /* each comparison forgives what is too large on one side */
        surety_record_compare(&surety_certificate_table, again, &v->stated, "", allowed, differs_back, out);
    surety_verification_explain(out, "");
    surety_certificate_free(again);
    return SURETY_OK;
}

/* What is a small share of S is a large one of a class, a group or a T that has few examples: their counts
 * may exceed the stated ones by a share of their own m, or by `least`. */
static void compare_part(surety_verification *out, const char *field, uint64_t m, double least,
                         uint64_t stated, uint64_t found) {
    char texts[2][32];
    if ((double)found <= (double)stated + fmax(least, TOLERANCE * (double)m)) return;
    surety_verification_differs(out, field, surety_shortest((double)stated, texts[0]),
                                surety_shortest((double)found, texts[1]));
}

static void compare_each(surety_verification *out, const char *list, const surety_class_limit *stated,
                         const surety_class_limit *found, size_t count) {
    for (size_t k = 0; k < count; k++) {
        char field[64];
        snprintf(field, sizeof field, "%s[%zu].failed", list, k);
        compare_part(out, field, found[k].m, 1, stated[k].failed, found[k].failed);
    }
}

static void compare_parts(surety_verification *out, const surety_certificate *c,
                          const surety_certificate *found) {
    int votes = !strcmp(c->risk, surety_risk_kind_name(SURETY_RISK_AVERAGED));
    if (!out->agrees) return; /* as many of them */
    compare_each(out, "classes", c->limits, found->limits, c->limit_count);
    compare_each(out, "groups", c->groups, found->groups, c->group_count);
    compare_part(out, "test.failed", found->test.m, votes ? (double)c->inputs.n : 1, c->test.failed,
                 found->test.failed);
}

/* Bit for bit, unless this CPU cannot give the bits that one with FMA gave: then the counts may be off by the
 * tolerance, and all else must follow from the stated counts. */
static surety_status compare(verifying *v, surety_error *err) {
    surety_verification *out = v->out;
    const surety_certificate *c = &v->stated;
    out->counted = 1;
    out->found = v->found.value;
    out->test = test_of(&v->found);
    int numbers = !strcmp(c->software.cpu_level, "fma") && !strcmp(v->found.software.cpu_level, "generic");
    if (!numbers) {
        surety_record_compare(&surety_certificate_table, c, &v->found, "", NULL, surety_verification_differs,
                              out);
        surety_verification_explain(out, "");
        return SURETY_OK;
    }
    double m = (double)v->found.inputs.m, n = (double)v->found.inputs.n, t = fmax(TOLERANCE, 1 / m);
    const double allowed[SURETY_UNITS] = {
        [SURETY_UNIT_VALUE] = HUGE_VAL,      [SURETY_UNIT_SHARE] = HUGE_VAL,
        [SURETY_UNIT_EXAMPLES] = t * m,      [SURETY_UNIT_VOTES] = t * m * n,
        [SURETY_UNIT_LOSS] = t * m * 0x1p32, [SURETY_UNIT_LOSSES] = t * m * n * 0x1p32};
    out->tolerance = t;
    surety_certificate *counted = &v->other;
    *counted = v->found; /* what follows from counts is the other question; shares arrays */
    memcpy(&counted->software, &c->software, sizeof counted->software);
    memcpy(counted->claim, c->claim, sizeof counted->claim);
    memcpy(counted->bound, c->bound, sizeof counted->bound);
    counted->inputs = c->inputs;
    counted->vacuous = c->vacuous;
    counted->test.refuted = c->test.refuted;
    surety_record_compare(&surety_certificate_table, c, counted, "", allowed, surety_verification_differs,
                          out);
    compare_parts(out, c, counted);
    surety_verification_explain(out, "");
    return out->agrees ? check_numbers(v, err) : SURETY_OK;
}

/* The model's bytes, made again. */
static surety_status retrain(verifying *v, const surety_run *run, surety_error *err) {
    surety_train_settings settings;
    surety_train_result result;
    surety_model *again = NULL;
    char sum[65];
    SURETY_TRY(surety_train_recorded(v->model, &settings, err));
    SURETY_TRY(surety_train(&settings, v->data, NULL, &again, &result, run, err));
    surety_train_result_free(&result);
    surety_status status = surety_model_sha256(again, sum, err);
    surety_model_free(again);
    if (status != SURETY_OK) return status;
    v->out->retrained = 1;
    if (strcmp(sum, v->stated.model.sha256) != 0) {
        surety_verification_differs(v->out, "model.sha256", v->stated.model.sha256, sum);
        surety_verification_explain(v->out, ": its recorded settings, trained again, give another model");
    }
    return SURETY_OK;
}

static surety_status check_export(verifying *v, surety_error *err) {
    char reason[512] = "";
    surety_export_check what = {.s = v->s,
                                .model = v->model,
                                .certificate = &v->stated,
                                .learn = v->data ? surety_data_set(v->data, SURETY_SET_LEARN) : NULL,
                                .differs = surety_verification_differs,
                                .arg = v->out};
    SURETY_TRY(surety_exported_check(&what, &v->out->exported, reason, err));
    if (reason[0]) set_reason(v->out, reason);
    return SURETY_OK;
}

static surety_status derive_all(verifying *v, const surety_run *run, surety_error *err) {
    SURETY_TRY(read_certificate(v, err));
    SURETY_TRY(surety_agree("certificate", v->stated.digest, run, err));
    if (!v->out->agrees) return SURETY_OK;
    SURETY_TRY(open_model(v, err));
    if (v->out->agrees) SURETY_TRY(make_tolerance(v, err));
    if (!v->out->agrees) return SURETY_OK;
    if (v->s->numbers) return check_numbers(v, err);
    if (v->s->retrain && v->stated.data.fresh)
        return surety_fail(err, SURETY_E_USAGE, "fresh rows trained nothing: verify it without --retrain");
    SURETY_TRY(open_data(v, err));
    if (!v->out->agrees) return SURETY_OK;
    SURETY_TRY(derive(v, run, err));
    if (v->out->agrees) SURETY_TRY(compare(v, err));
    return v->out->agrees && v->s->retrain ? retrain(v, run, err) : SURETY_OK;
}

static surety_status verify(verifying *v, const surety_run *run, surety_error *err) {
    SURETY_TRY(derive_all(v, run, err));
    /* others than the first write nothing (surety_writing), so they have nothing to compile */
    int first = !run || !run->everyone || !run->everyone->rank;
    return v->out->agrees && v->s->exported && first ? check_export(v, err) : SURETY_OK;
}

surety_status surety_verify(const char *path, const surety_verify_settings *settings,
                            surety_verification *out, const surety_run *run, surety_error *err) {
    verifying *v;
    *out = (surety_verification){.level = "bits", .value = (double)NAN, .found = (double)NAN};
    if (settings->numbers && settings->retrain)
        return surety_fail(err, SURETY_E_USAGE, "to train the model again its data are needed");
    SURETY_TRY(surety_alloc(&v, 1, sizeof *v, err));
    *v = (verifying){.out = out, .path = path, .s = settings};
    out->agrees = 1; /* until something differs */
    surety_status status = verify(v, run, err);
    surety_certificate_free(&v->stated);
    surety_certificate_free(&v->found);
    surety_free(v->model_path);
    surety_tolerance_free(v->tolerance);
    surety_model_free(v->model);
    surety_data_free(v->own);
    surety_free(v);
    if (status != SURETY_OK) out->agrees = 0;
    return status;
}

static json_t *refuted_json(const surety_refutation *r) {
    if (!r->refuted) return json_null();
    return SURETY_JSON_OBJECT({"limit", surety_json_real(r->limit)}, {"m", surety_json_count(r->m)},
                              {"failed", surety_json_count(r->failed)},
                              {"chance", surety_json_real(r->chance)});
}

static json_t *exported_json(const surety_exported *e) {
    if (!e->checked) return json_null();
    return SURETY_JSON_OBJECT({"names_certificate", json_boolean(e->names_certificate)},
                              {"same_bytes", json_boolean(e->same_bytes)},
                              {"vectors", surety_json_count(e->vectors)},
                              {"rows", surety_json_count(e->rows)});
}

char *surety_verification_json(const surety_verification *out) {
    json_t *list = json_array();
    size_t shown = out->differences < SURETY_DIFFERENCES ? out->differences : SURETY_DIFFERENCES;
    int failed = !list;
    for (size_t i = 0; i < shown && !failed; i++) {
        const surety_difference *d = &out->difference[i];
        failed = json_array_append_new(list, SURETY_JSON_OBJECT({"field", surety_json_string(d->field)},
                                                                {"stated", surety_json_string(d->stated)},
                                                                {"found", surety_json_string(d->found)}));
    }
    if (failed) {
        json_decref(list);
        list = NULL;
    }
    return surety_json_text(SURETY_JSON_OBJECT(
        {"agrees", json_boolean(out->agrees)}, {"level", surety_json_string(out->level)},
        {"counted", json_boolean(out->counted)}, {"rows_believed", json_boolean(out->rows_believed)},
        {"retrained", json_boolean(out->retrained)}, {"export", exported_json(&out->exported)},
        {"tolerance", surety_json_real(out->tolerance)}, {"reason", surety_json_string(out->reason)},
        {"claim", surety_json_string(out->claim)}, {"refuted", refuted_json(&out->test)},
        {"copies", surety_copies_json(&out->copies)}, {"value", surety_json_real(out->value)},
        {"found", surety_json_real(out->found)}, {"difference_count", surety_json_count(out->differences)},
        {"differences", list}));
}
