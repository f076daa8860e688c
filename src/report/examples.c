/* The most fragile and the most robust examples: images as images, rows of a table with what changed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/pictures.h"
#include "report/subject.h"

enum { SHOWN = 4, CHANGES = 6 };

/* ---- which ---- */

/* Smaller is shown first; HUGE_VAL: not one of these. Fragile: right as it is, fooled at the smallest radius,
 * then proved least far. Robust: never fooled, proved farthest or, without proofs, with the largest margin.
 */
static double rank(const surety_profile *p, size_t k, int robust) {
    double proved = p->certified ? p->certified[k] : p->margin[k];
    if (!(p->margin[k] > 0)) return HUGE_VAL;
    if (robust) return p->fooled_at[k] < SURETY_PROFILE_RADII ? HUGE_VAL : -proved;
    if (p->fooled_at[k] == SURETY_PROFILE_RADII) return HUGE_VAL;
    double step = p->radius[1] - p->radius[0];
    return p->radius[p->fooled_at[k]] + step * proved / (1 + proved) / 2;
}

static size_t choose(const surety_profile *p, int robust, size_t chosen[SHOWN]) {
    double best[SHOWN];
    size_t count = 0;
    for (size_t k = 0; k < p->m; k++) {
        double r = rank(p, k, robust);
        if (isinf(r) || (count == SHOWN && r >= best[SHOWN - 1])) continue;
        size_t at = count < SHOWN ? count++ : SHOWN - 1;
        for (; at && best[at - 1] > r; at--) best[at] = best[at - 1], chosen[at] = chosen[at - 1];
        best[at] = r;
        chosen[at] = k;
    }
    return count;
}

/* ---- one of them ---- */

typedef struct moved {
    size_t k;        /* of the profile */
    double radius;   /* of the attack */
    const float *x;  /* (d) the example */
    float *attacked; /* (d) where the attack ended */
    float *was, *is; /* (d) both in the user's units */
    uint8_t answer;  /* of the vote there */
} moved;

static void print_words(surety_growing *page, const surety_subject *subject, const moved *e) {
    const surety_profile *p = &subject->profile;
    const char *const *names = surety_class_names(subject->data);
    uint8_t y = subject->set->y[p->index[e->k]];
    surety_print_words(page, "%s, row %" PRIu32 ": ", names[y], subject->set->row[p->index[e->k]]);
    if (p->fooled_at[e->k] < SURETY_PROFILE_RADII)
        surety_print_words(page, "at radius %.4g the vote answers %s", e->radius,
                           e->answer == SURETY_TIED ? "nothing (tied)" : names[e->answer]);
    else
        surety_print_words(page, "still right when attacked at radius %.4g", e->radius);
    if (p->certified) surety_print_words(page, "; proved right up to %.4g", fmax(0, p->certified[e->k]));
}

static surety_status print_image(surety_growing *page, const surety_subject *subject, const moved *e,
                                 surety_error *err) {
    surety_print(page, "<figure>");
    SURETY_TRY(surety_print_strip(page, e->was, e->is, subject->data, err));
    surety_print(page, "<figcaption>");
    print_words(page, subject, e);
    surety_print(page, "</figcaption></figure>\n");
    return SURETY_OK;
}

/* The feature that moved most, among those that were not printed yet, in units of the ball; d: none. */
static size_t largest(const surety_subject *subject, const moved *e, const uint8_t *printed) {
    const surety_tolerance *t = subject->s->threat.ball.tolerance;
    size_t best = subject->set->d;
    double most = 0;
    for (size_t j = 0; j < subject->set->d; j++) {
        double unit = t ? t->unit[j] : 1, move = fabs((double)e->attacked[j] - (double)e->x[j]);
        if (printed[j] || !(move > 0) || !(unit > 0) || move / unit <= most) continue;
        most = move / unit;
        best = j;
    }
    return best;
}

static surety_status print_row(surety_growing *page, const surety_subject *subject, const moved *e,
                               surety_error *err) {
    size_t d = subject->set->d, changed = 0;
    uint8_t *printed = NULL;
    SURETY_TRY(surety_alloc(&printed, d, 1, err));
    for (size_t j = 0; j < d; j++) changed += e->attacked[j] != e->x[j];
    surety_print(page, "<div class=\"wide\" tabindex=\"0\"><table><caption>");
    print_words(page, subject, e);
    surety_print(page,
                 "</caption><thead><tr><th>feature</th><th>is</th><th>moved to</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < CHANGES; i++) {
        size_t j = largest(subject, e, printed);
        if (j == d) break;
        printed[j] = 1;
        surety_print(page, "<tr><th scope=\"row\">");
        surety_print_html(page, subject->data->feature_names[j]);
        surety_print(page, "</th><td>%.6g</td><td>%.6g</td></tr>\n", (double)e->was[j], (double)e->is[j]);
    }
    surety_print(page, "</tbody></table></div>\n<p>%zu of %zu features moved%s.</p>\n", changed, d,
                 changed > CHANGES ? "; those that moved most are listed" : "");
    surety_free(printed);
    return SURETY_OK;
}

static surety_status show(surety_growing *page, const surety_subject *subject, moved *e, surety_error *err) {
    const surety_profile *p = &subject->profile;
    const surety_preparation *preparation = surety_data_preparation(subject->s->data);
    uint32_t index = p->index[e->k];
    double margin;
    int fooled = p->fooled_at[e->k] < SURETY_PROFILE_RADII;
    surety_vote vote = surety_model_vote(subject->s->model, SURETY_WEIGHTS_POSTERIOR);
    e->x = surety_set_row(subject->set, index);
    e->radius = p->radius[fooled ? p->fooled_at[e->k] : SURETY_PROFILE_RADII - 1];
    SURETY_TRY(surety_profile_point(p, index, e->radius, e->attacked, &margin, err));
    SURETY_TRY(surety_vote_classes(&vote, e->attacked, subject->set->d, 1, &e->answer, NULL, err));
    surety_preparation_undo(preparation, e->x, e->was);
    surety_preparation_undo(preparation, e->attacked, e->is);
    return subject->data->height ? print_image(page, subject, e, err) : print_row(page, subject, e, err);
}

/* ---- all ---- */

static surety_status show_all(surety_growing *page, const surety_subject *subject, int robust, moved *e,
                              surety_error *err) {
    size_t chosen[SHOWN], count = choose(&subject->profile, robust, chosen);
    surety_print(page, "<h3>Most %s</h3>\n", robust ? "robust" : "fragile");
    if (!count) {
        surety_print(page, "<p>%s</p>\n",
                     robust ? "None: every example was wrong or fooled at some radius."
                            : "None: no example that is right as it is was fooled at any radius.");
        return SURETY_OK;
    }
    surety_print(page, "<div class=\"%s\">\n", subject->data->height ? "strips" : "cards");
    for (size_t i = 0; i < count; i++) {
        e->k = chosen[i];
        if (!subject->data->height) surety_print(page, "<div>");
        SURETY_TRY(show(page, subject, e, err));
        if (!subject->data->height) surety_print(page, "</div>");
    }
    surety_print(page, "</div>\n");
    return SURETY_OK;
}

surety_status surety_page_examples(surety_growing *page, const surety_subject *subject, surety_error *err) {
    size_t d = subject->profile.m ? subject->set->d : 0;
    float *room = NULL;
    if (!d) return SURETY_OK;
    surety_print(page, "<h2>Examples</h2>\n");
    if (subject->data->height && !surety_has_cairo) {
        surety_print(page, "<p>%s</p>\n", surety_report_left_out());
        return SURETY_OK;
    }
    surety_print(page,
                 subject->data->height
                     ? "<p>The image, the change that the attack makes (grey is none, contrast times "
                       "four) and the attacked image.</p>\n"
                     : "<p>Rows of the table and where the attack moves them, in their own units.</p>\n");
    SURETY_TRY(surety_alloc(&room, 3 * d, sizeof *room, err));
    moved e = {.attacked = room, .was = room + d, .is = room + 2 * d};
    surety_status status = show_all(page, subject, 0, &e, err);
    if (status == SURETY_OK) status = show_all(page, subject, 1, &e, err);
    surety_free(room);
    return status;
}
