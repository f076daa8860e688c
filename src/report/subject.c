/* The page of a model and its certificates: what is gathered, what is measured, the order of the sections. */
#include "report/subject.h"

#include <math.h>
#include <string.h>

#include "certify/certificate.h"
#include "io/write.h"
#include "report/report.h"

enum { EXAMPLES = 2000 }; /* of T that are measured: the tasks of two classes whole, a fifth of ten */

/* ---- gathering ---- */

static surety_status check_model(const surety_subject *subject, const surety_certificate *c, const char *path,
                                 surety_error *err) {
    char sum[65];
    if (!subject->s->model) return SURETY_OK;
    SURETY_TRY(surety_model_sha256(subject->s->model, sum, err));
    if (!strcmp(sum, c->model.sha256)) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK, "this certificate speaks of another model: its SHA-256 is %.16s..",
                c->model.sha256);
    surety_fail_file(err, path);
    surety_fail_expected(err, "a certificate of the model with the SHA-256 %.16s..", sum);
    return SURETY_E_CHECK;
}

static surety_status load_votes(surety_subject *subject, surety_error *err) {
    const surety_page_settings *s = subject->s;
    for (size_t i = 0; i < s->count; i++) {
        SURETY_TRY(surety_votes_certificate_load(s->certificates[i], &subject->votes[i], err));
        subject->count++;
    }
    return SURETY_OK;
}

static surety_status load(surety_subject *subject, surety_error *err) {
    const surety_page_settings *s = subject->s;
    subject->of_votes = s->count && surety_votes_certificate_is(s->certificates[0]);
    if (subject->of_votes) return load_votes(subject, err);
    for (size_t i = 0; i < s->count; i++) {
        SURETY_TRY(surety_certificate_load(s->certificates[i], &subject->certificates[i], err));
        subject->count++;
        SURETY_TRY(check_model(subject, &subject->certificates[i], s->certificates[i], err));
    }
    return SURETY_OK;
}

/* Rows of T, or of the fresh ones. That they do not come from another world than the model's is asked
 * first. */
static surety_status measure(surety_subject *subject, const surety_run *run, surety_error *err) {
    const surety_page_settings *s = subject->s;
    surety_origin origin;
    surety_overlap overlap;
    if (!s->data) return SURETY_OK;
    subject->data = surety_data_describe(s->data);
    subject->set = surety_data_set(s->data, SURETY_SET_TEST);
    if (!subject->set->m && subject->data->fresh) subject->set = surety_data_set(s->data, SURETY_SET_LEARN);
    SURETY_TRY(surety_evaluate_origin(s->model, s->data, &origin, &overlap, err));
    if (!subject->set->m || !(s->threat.ball.radius > 0)) return SURETY_OK;
    return surety_profile_make(&subject->profile, s->model, subject->set, &s->threat, EXAMPLES, run, err);
}

surety_status surety_page_ball(surety_ball *ball, surety_tolerance **tolerance, const char *certificate,
                               const surety_model *model, surety_error *err) {
    surety_certificate c;
    *tolerance = NULL;
    SURETY_TRY(surety_certificate_load(certificate, &c, err));
    surety_status status = surety_norm_parse(c.attack.norm, &ball->norm, err);
    ball->radius = c.attack.radius;
    ball->slack = c.attack.slack;
    ball->has_box = !isnan(c.attack.box_lo);
    if (ball->has_box) ball->lo = c.attack.box_lo, ball->hi = c.attack.box_hi;
    if (status == SURETY_OK) status = surety_certificate_tolerance(tolerance, &c, model, err);
    ball->tolerance = *tolerance;
    surety_certificate_free(&c);
    return status;
}

const char *surety_subject_unit(const surety_subject *subject) {
    const char *unit = surety_radius_unit(subject->s->threat.ball.tolerance,
                                          subject->data ? subject->data->scaling : SURETY_SCALE_NONE);
    return strcmp(unit, surety_scaling_unit(SURETY_SCALE_NONE)) ? unit : "";
}

/* ---- writing ---- */

static void print_head(surety_growing *page, const surety_subject *subject) {
    char title[320];
    if (subject->of_votes) {
        const char *of = subject->votes[0].of;
        snprintf(title, sizeof title, "A promise about %s", *of ? of : "a classifier");
        surety_page_head(page, title);
        return;
    }
    const char *file = subject->s->model_file, *last = file ? strrchr(file, '/') : NULL;
    const char *name = last ? last + 1 : file ? file : subject->certificates[0].model.file;
    snprintf(title, sizeof title, "%s %s", subject->s->model ? "The model" : "A promise about",
             *name ? name : "a model");
    surety_page_head(page, title);
    if (!subject->count)
        surety_print(
            page,
            "<p class=\"verdict\">No promise on this page: it has no certificate. <code>surety "
            "certify</code> makes one; <code>surety report MODEL CERTIFICATE</code> shows both.</p>\n");
}

static surety_status print_model(surety_growing *page, const surety_subject *subject, const surety_run *run,
                                 surety_error *err) {
    for (size_t i = 0; i < subject->count; i++) surety_page_promise(page, subject, i);
    surety_page_data(page, subject);
    surety_page_training(page, subject);
    surety_page_risks(page, subject);
    SURETY_TRY(surety_page_examples(page, subject, err));
    return subject->s->dossier ? surety_page_dossier(page, subject, run, err) : SURETY_OK;
}

static void print_votes(surety_growing *page, const surety_subject *subject) {
    for (size_t i = 0; i < subject->count; i++) surety_page_votes_promise(page, subject, i);
    if (subject->s->dossier) surety_page_votes_dossier(page, subject);
}

static surety_status print_all(surety_growing *page, const surety_subject *subject, const surety_run *run,
                               surety_error *err) {
    print_head(page, subject);
    if (subject->of_votes)
        print_votes(page, subject);
    else
        SURETY_TRY(print_model(page, subject, run, err));
    surety_page_notes(page);
    surety_print(page,
                 "<footer><p>Made by surety %s. This page is for reading; what is checked is the "
                 "certificate: <code>surety verify</code>.</p></footer>\n</body>\n</html>\n",
                 surety_version());
    return page->failed ? surety_fail(err, SURETY_E_MEMORY, "no memory for the page") : SURETY_OK;
}

surety_status surety_page_make(const char *out, const surety_page_settings *settings, surety_page_info *info,
                               const surety_run *run, surety_error *err) {
    surety_subject *subject = NULL;
    surety_growing page = {0};
    SURETY_TRY(surety_alloc(&subject, 1, sizeof *subject, err));
    subject->s = settings;
    surety_status status = load(subject, err);
    if (status == SURETY_OK) status = measure(subject, run, err);
    if (status == SURETY_OK) status = print_all(&page, subject, run, err);
    if (status == SURETY_OK) status = surety_write_file(out, page.bytes, page.used, err);
    *info = (surety_page_info){subject->count, subject->profile.m, page.used};
    for (size_t i = 0; i < SURETY_PAGE_CERTIFICATES; i++) surety_certificate_free(&subject->certificates[i]);
    surety_profile_free(&subject->profile);
    surety_growing_free(&page);
    surety_free(subject);
    return status;
}
