/* What the data are, and how the model was made. From the model, the data or, without both, the certificate.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/axes.h"
#include "report/subject.h"

enum { EPOCHS = 4096 }; /* of a learning curve, the first ones */

/* ---- data ---- */

static void print_classes(surety_growing *page, const surety_data_info *info) {
    const char *const *names = surety_class_names(info);
    surety_print(page,
                 "<div class=\"wide\" tabindex=\"0\"><table><caption>Classes</caption><thead><tr>"
                 "<th>class</th><th>examples of S'</th><th>of T</th></tr></thead><tbody>\n");
    for (size_t k = 0; k < info->classes; k++) {
        surety_print(page, "<tr><th scope=\"row\">");
        surety_print_html(page, names[k]);
        surety_print(page, "</th><td>%zu</td><td>%zu</td></tr>\n", info->class_m[SURETY_SET_PRIOR][k],
                     info->class_m[SURETY_SET_TEST][k]);
    }
    surety_print(page, "</tbody></table></div>\n");
}

static void print_opened(surety_growing *page, const surety_data_info *info) {
    char copies[SURETY_COPIES_TEXT];
    surety_print_fact(page, "source", "%s", info->task ? info->task : "own data");
    if (info->height)
        surety_print_fact(page, "inputs", "images of %zu x %zu pixels", info->height, info->width);
    else
        surety_print_fact(page, "inputs", "%zu columns, %zu features; scaling %s", info->columns, info->d,
                          surety_scaling_name(info->scaling));
    if (info->fresh)
        surety_print_fact(page, "rows", "%zu declared fresh, %zu of T", info->m[SURETY_SET_LEARN],
                          info->m[SURETY_SET_TEST]);
    else
        surety_print_fact(page, "rows", "%zu of S', %zu of S, %zu of T", info->m[SURETY_SET_PRIOR],
                          info->m[SURETY_SET_LEARN], info->m[SURETY_SET_TEST]);
    if (info->unit) surety_print_fact(page, "units", "rows with one value of %s belong together", info->unit);
    surety_print_fact(page, "split", "%s", info->split);
    surety_copies_text(&info->copies, copies);
    surety_print_fact(page, "copies", "%s", copies);
}

/* Without data the certificate knows most of it. */
static void print_certified(surety_growing *page, const surety_certificate *c) {
    char copies[SURETY_COPIES_TEXT];
    surety_print_fact(page, "source", "%s", c->data.task[0] ? c->data.task : "own data");
    surety_print_fact(page, "inputs", "%" PRIu64 " columns, %" PRIu64 " features; scaling %s",
                      c->data.columns, c->data.features, c->data.scaling);
    if (c->data.fresh)
        surety_print_fact(page, "rows", "%" PRIu64 " declared fresh, %" PRIu64 " of T", c->data.rows_learn,
                          c->data.rows_test);
    else
        surety_print_fact(page, "rows", "%" PRIu64 " of S', %" PRIu64 " of S, %" PRIu64 " of T",
                          c->data.rows_prior, c->data.rows_learn, c->data.rows_test);
    if (c->data.unit[0])
        surety_print_fact(page, "units", "rows with one value of %s belong together", c->data.unit);
    surety_print_fact(page, "classes", "%zu", c->data.class_count);
    surety_print_fact(page, "split", "%s", c->data.split);
    surety_copies_text(&c->copies, copies);
    surety_print_fact(page, "copies", "%s", copies);
}

void surety_page_data(surety_growing *page, const surety_subject *subject) {
    const surety_model *model = subject->s->model;
    surety_print(page, "<h2>The data</h2>\n");
    surety_print_facts(page, NULL);
    if (subject->data)
        print_opened(page, subject->data);
    else if (subject->count)
        print_certified(page, &subject->certificates[0]);
    else {
        const char *task = surety_model_text(model, "data.task");
        surety_print_fact(page, "source", "%s", task && *task ? task : "own data");
        surety_print_fact(page, "inputs", "%zu features", surety_voters_features(surety_model_voters(model)));
        surety_print_fact(page, "classes", "%zu", surety_voters_classes(surety_model_voters(model)));
    }
    surety_print_facts_end(page);
    if (subject->data) print_classes(page, subject->data);
}

/* ---- training ---- */

static void print_setting(surety_growing *page, const json_t *settings, const char *key, const char *words) {
    const json_t *value = json_object_get(settings, key);
    if (json_is_integer(value))
        surety_print_fact(page, words, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        surety_print_fact(page, words, "%.6g", json_real_value(value));
    else if (json_is_string(value))
        surety_print_fact(page, words, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        surety_print_fact(page, words, "%s", json_is_true(value) ? "yes" : "no");
}

static void print_settings(surety_growing *page, const surety_model *model) {
    static const char *const shown[][2] = {{"trees", "trees"},
                                           {"depth", "depth"},
                                           {"step1_epochs", "epochs of step 1"},
                                           {"step2_epochs", "epochs of step 2"},
                                           {"batch", "batch"},
                                           {"lr", "learning rate"},
                                           {"loss", "loss"},
                                           {"holdout", "share of S' held out"},
                                           {"keep_last", "last epoch is kept"},
                                           {"balance", "classes balanced"}};
    const char *text = surety_model_text(model, "settings");
    json_t *settings = NULL;
    surety_error unused = SURETY_ERROR_NONE;
    if (!text) return;
    surety_status status = surety_json_parse(&settings, text, strlen(text), "settings", &unused);
    page->failed |= status == SURETY_E_MEMORY;
    if (status != SURETY_OK) return; /* of another version */
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (strcmp(shown[i][0], "step2_epochs") != 0 ||
            strcmp(surety_model_about(model)->objective, "baseline") != 0)
            print_setting(page, settings, shown[i][0], shown[i][1]);
    json_decref(settings);
}

static void print_made(surety_growing *page, const surety_model *model) {
    const surety_model_facts *facts = surety_model_about(model);
    const surety_voters *voters = surety_model_voters(model);
    const char *imported = surety_model_imported(model);
    size_t heaviest;
    surety_print_facts(page, NULL);
    surety_print_fact(page, "kind", "%s, %zu voter%s, %s votes", surety_voters_kind(voters),
                      surety_voters_count(voters), surety_voters_count(voters) == 1 ? "" : "s",
                      surety_voter_set_name(facts->voter_set));
    if (imported)
        surety_print_fact(page, "made by", "%s, and imported. Which rows trained it is not known here",
                          imported);
    else
        surety_print_fact(page, "defense", "%s, %s ball of radius %.6g%s; objective %s", facts->defense,
                          surety_norm_name(facts->ball.norm), facts->ball.radius,
                          facts->ball.tolerance ? " (in units of each feature)" : "", facts->objective);
    if (!imported) {
        print_settings(page, model);
        surety_print_fact(page, "seed",
                          "%" PRIu64
                          ": the same settings and rows give the same file, byte for "
                          "byte",
                          facts->seed);
        surety_print_fact(page, "candidate priors (T_p)", "%" PRIu64, facts->priors_compared);
    }
    surety_print_fact(page, "largest weight", "%.4g", surety_model_largest_weight(model, &heaviest));
    surety_print_facts_end(page);
}

static int draw_curve(surety_drawing *d, const surety_model *model, const char *key, const char *title) {
    static double values[EPOCHS];
    size_t count = 0;
    surety_error unused = SURETY_ERROR_NONE;
    if (surety_model_reals(model, key, values, EPOCHS, &count, &unused) != SURETY_OK || count < 2) return 0;
    if (count > EPOCHS) count = EPOCHS;
    surety_draw_panel(d, title);
    surety_axes a = {.d = d, .x_max = (double)count, .y_max = 1e-6, .bottom = SURETY_PANEL_BOTTOM};
    for (size_t i = 0; i < count; i++) surety_axis_reach(&a.y_max, 1.05 * values[i]);
    surety_draw_y_axis(&a);
    surety_draw_x_axis(&a, "epoch");
    for (size_t i = 0; i + 1 < count; i++)
        surety_draw_line(d, surety_spot_at(&a, (double)i + 1, values[i]),
                         surety_spot_at(&a, (double)i + 2, values[i + 1]), 2, SURETY_SERIES, 0);
    return 1;
}

static void print_curves(surety_growing *page, const surety_model *model) {
    surety_drawing one = {0}, two = {0};
    int first = draw_curve(&one, model, "step1.risk", "Step 1: voters and prior learn");
    int second = draw_curve(&two, model, "step2.objective", "Step 2: the posterior learns");
    if (!first && !second) return;
    surety_print(page, "<figure><h3>Learning curves</h3>\n<div class=\"panels two\">\n");
    if (first) surety_draw_svg(&one, 1, page);
    if (second) surety_draw_svg(&two, 1, page);
    surety_print(page,
                 "</div><figcaption>As the training recorded them. Step 1: risk under the defense on the "
                 "set that chooses the epoch, or the mean loss of the batches where the last epoch is "
                 "kept.%s</figcaption></figure>\n",
                 second ? " Step 2: the bound that is lowered." : "");
    surety_drawing_free(&one);
    surety_drawing_free(&two);
}

void surety_page_training(surety_growing *page, const surety_subject *subject) {
    surety_print(page, "<h2>How it was made</h2>\n");
    if (!subject->s->model) {
        const surety_certificate *c = &subject->certificates[0];
        surety_print_facts(page, NULL);
        surety_print_fact(page, "kind", "%s, %" PRIu64 " voters, %s votes", c->model.kind,
                          c->inputs.voter_count, c->model.voters);
        surety_print_fact(page, "defense", "%s; objective %s; seed %" PRIu64, c->model.defense,
                          c->model.objective, c->model.seed);
        surety_print_fact(page, "file", "SHA-256 %s", c->model.sha256);
        surety_print_facts_end(page);
        surety_print(page,
                     "<p>More of this is in the model itself: <code>surety report MODEL CERTIFICATE"
                     "</code>.</p>\n");
        return;
    }
    print_made(page, subject->s->model);
    print_curves(page, subject->s->model);
}
