/* CSV files: examples one by one, and curves of risk against radius. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "base/parallel.h"
#include "evaluate/perturbed.h"
#include "evaluate/vote.h"
#include "io/csv.h"
#include "surety/evaluate.h"
#include "voters/ball.h"
#include "voters/worst.h"

/* ---- per example ---- */

typedef struct example {
    double clean, attacked, norm;
    size_t fooled;
    double radius; /* for which the vote is proved right */
    const char *verdict;
} example;

typedef struct listing {
    const surety_set *set;
    const char *const *labels;  /* (K) or NULL */
    uint8_t *answers;           /* (m) of the clean vote; only where K > 2 */
    surety_threat plain, noisy; /* R_att's attack, and the perturbed set's */
    surety_vote posterior, prior;
    size_t n;
    surety_worst **worst; /* per thread */
    example *found;       /* (m) */
} listing;

static surety_status see_point(void *arg, const surety_ended *e, size_t j, const float *x,
                               surety_error *err) {
    const listing *l = arg;
    (void)j, (void)err;
    l->found[e->i].norm = surety_ball_distance(&l->plain.ball, x, surety_set_row(l->set, e->i), l->set->d);
    return SURETY_OK;
}

static surety_status see_attacked(void *arg, const surety_ended *e, const float *votes, size_t ld,
                                  surety_error *err) {
    const listing *l = arg;
    (void)err;
    l->found[e->i].attacked = surety_margin_column(&l->posterior, votes, ld, l->set->y[e->i]);
    return SURETY_OK;
}

static surety_status see_noisy(void *arg, const surety_ended *e, const float *votes, size_t ld,
                               surety_error *err) {
    const listing *l = arg;
    (void)err;
    for (size_t j = 0; j < e->n; j++)
        l->found[e->i].fooled += !(surety_margin_column(&l->posterior, votes + j, ld, l->set->y[e->i]) > 0);
    return SURETY_OK;
}

static surety_status judge(const surety_set *set, size_t i, int proved, example *found, surety_error *err) {
    int beaten = !(found->clean > 0) || found->fooled > 0 || !(found->attacked > 0);
    found->verdict = proved ? "robust" : beaten ? "vulnerable" : "open";
    if (!proved || !beaten) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK, "the vote was proved right and found wrong in the same ball");
    surety_fail_place(err, "row %" PRIu32, set->row[i]);
    return SURETY_E_CHECK;
}

static surety_status prove_block(void *arg, size_t block, int thread, surety_error *err) {
    const listing *l = arg;
    surety_examples e = surety_examples_of(l->set, block * SURETY_BLOCK);
    double radius[SURETY_BLOCK];
    int proved[SURETY_BLOCK];
    surety_worst_radius(l->worst[thread], &l->posterior, &e, radius, proved);
    for (size_t r = 0; r < e.rows; r++) {
        size_t i = block * SURETY_BLOCK + r;
        l->found[i].radius = fmax(0, radius[r]);
        SURETY_TRY(judge(l->set, i, proved[r], &l->found[i], err));
    }
    return SURETY_OK;
}

static surety_status see_clean(void *arg, const surety_ended *e, const float *votes, size_t ld,
                               surety_error *err) {
    const listing *l = arg;
    (void)err;
    l->found[e->i].clean = surety_margin_column(&l->posterior, votes, ld, l->set->y[e->i]);
    return SURETY_OK;
}

/* Clean votes, R_att's points, the perturbed set, and last what is proved, which is judged by all of them. */
static surety_status see_all(listing *l, const surety_run *run, surety_error *err) {
    size_t m = l->set->m, blocks = (m + SURETY_BLOCK - 1) / SURETY_BLOCK;
    surety_sampling plain = {.set = l->set,
                             .end = m,
                             .vote = l->posterior,
                             .point = see_point,
                             .votes = see_attacked,
                             .arg = l,
                             .phase = "examples, attacked"};
    surety_sampling noisy = {.set = l->set,
                             .end = m,
                             .vote = l->prior,
                             .votes = see_noisy,
                             .arg = l,
                             .phase = "examples, perturbed"};
    surety_sampling clean = {.set = l->set, .end = m, .vote = l->posterior, .votes = see_clean, .arg = l};
    surety_threat none = l->plain;
    none.kind = SURETY_ATTACK_NONE;
    SURETY_TRY(surety_sample_set(&none, &clean, run, err));
    SURETY_TRY(surety_sample_set(&l->plain, &plain, run, err));
    SURETY_TRY(surety_sample_set(&l->noisy, &noisy, run, err));
    return surety_parallel(run, "examples, proved", blocks, prove_block, l, err);
}

/* Appends one formatted line. */
static surety_status line(surety_writer *w, surety_error *err, const char *format, ...) SURETY_PRINTF(3);
static surety_status line(surety_writer *w, surety_error *err, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    int length = surety_vformat(text, sizeof text, format, args);
    va_end(args);
    return surety_writer_append(w, text, (size_t)length, err);
}

/* A class, or that there is none. */
static surety_status write_class(const listing *l, surety_writer *w, uint8_t y, surety_error *err) {
    SURETY_TRY(line(w, err, ","));
    if (y == SURETY_TIED) return line(w, err, "tied");
    return l->labels ? surety_csv_field(w, l->labels[y], err) : line(w, err, "%d", y);
}

/* Label, and answer where there are more than two classes. */
static surety_status write_label(const listing *l, surety_writer *w, size_t i, surety_error *err) {
    uint8_t y = l->set->y[i];
    if (!l->answers) return line(w, err, ",%d", surety_sign(y));
    SURETY_TRY(write_class(l, w, y, err));
    return write_class(l, w, l->answers[i], err);
}

static surety_status write_examples(const listing *l, surety_writer *w, surety_error *err) {
    const char *answer = l->answers ? ",answer" : "", *what = l->answers ? "margin" : "vote";
    SURETY_TRY(line(w, err,
                    "index,row,label%s,clean_%s,attacked_%s,norm,fooled_share,certified_radius,verdict\n",
                    answer, what, what));
    for (size_t i = 0; i < l->set->m; i++) {
        const example *e = &l->found[i];
        int sign = l->answers ? 1 : surety_sign(l->set->y[i]);
        SURETY_TRY(line(w, err, "%zu,%" PRIu32, i, l->set->row[i]));
        SURETY_TRY(write_label(l, w, i, err));
        SURETY_TRY(line(w, err, ",%.17g,%.17g,%.17g,%.17g,%.9g,%s\n", sign * e->clean, sign * e->attacked,
                        e->norm, (double)e->fooled / (double)l->n, e->radius, e->verdict));
    }
    return SURETY_OK;
}

static surety_status list_all(listing *l, const char *path, const surety_run *run, surety_error *err) {
    size_t threads = (size_t)surety_threads(run);
    SURETY_TRY(surety_alloc(&l->worst, threads, sizeof *l->worst, err));
    for (size_t t = 0; t < threads; t++)
        SURETY_TRY(surety_worst_new(&l->worst[t], l->posterior.voters, &l->plain.ball, l->plain.budget,
                                    l->posterior.voter_set, err));
    SURETY_TRY(surety_alloc(&l->found, l->set->m, sizeof *l->found, err));
    SURETY_TRY(see_all(l, run, err));
    if (l->set->classes > 2) {
        const surety_set *set = l->set;
        SURETY_TRY(surety_alloc(&l->answers, set->m, sizeof *l->answers, err));
        SURETY_TRY(surety_sampling_has(set, 0, set->m, err));
        SURETY_TRY(surety_vote_classes(&l->posterior, set->x, set->stride, set->m, l->answers, run, err));
    }
    surety_writer *w;
    SURETY_TRY(surety_writer_open(&w, path, 0, err));
    surety_status status = write_examples(l, w, err);
    if (status == SURETY_OK) return surety_writer_commit(w, err);
    surety_writer_abort(w);
    return status;
}

surety_status surety_evaluate_examples(const surety_model *model, const surety_set *set,
                                       const char *const *labels, const surety_threat *attack,
                                       const char *path, const surety_run *run, surety_error *err) {
    listing l = {.set = set,
                 .labels = labels,
                 .plain = *attack,
                 .noisy = *attack,
                 .posterior = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR),
                 .prior = surety_model_vote(model, SURETY_WEIGHTS_PRIOR),
                 .n = surety_threat_samples(attack)};
    l.plain.kind = surety_strongest(model, attack->kind);
    l.plain.epoch = SURETY_EPOCH_ATTACKED;
    l.noisy.epoch = SURETY_EPOCH_PERTURBED;
    SURETY_TRY(surety_threat_validate(attack, err));
    SURETY_TRY(surety_attack_check_set(attack, surety_model_voters(model), set, err));
    surety_status status = list_all(&l, path, run, err);
    for (size_t t = 0; l.worst && t < (size_t)surety_threads(run); t++) surety_worst_free(l.worst[t]);
    surety_free((void *)l.worst);
    surety_free(l.answers);
    surety_free(l.found);
    return status;
}

/* ---- curves ---- */

enum { MOST_RADII = 10000 };

static surety_status check_curve(const surety_curve_settings *s, surety_error *err) {
    if (!(s->first >= 0 && s->last >= s->first && s->step > 0 && isfinite(s->last)) ||
        (s->last - s->first) / s->step > MOST_RADII)
        return surety_fail(err, SURETY_E_USAGE,
                           "a grid of radii is FIRST:LAST:STEP with 0 <= FIRST <= LAST, STEP > 0 "
                           "and at most %d radii, not %g:%g:%g",
                           MOST_RADII, s->first, s->last, s->step);
    if (!s->kind_count) return surety_fail(err, SURETY_E_USAGE, "a curve needs at least one attack");
    return SURETY_OK;
}

/* One number of a curve. */
static surety_status curve_risk(double *risk, const surety_threat *threat, const surety_model *model,
                                const surety_set *set, const surety_run *run, surety_error *err) {
    if (threat->kind != SURETY_WORST_CASE) {
        surety_attack_result result;
        SURETY_TRY(surety_evaluate_attacked(model, set, threat, &result, run, err));
        *risk = (double)result.units_fooled / (double)result.units;
        return SURETY_OK;
    }
    surety_risks risks;
    SURETY_TRY(surety_measure_model(&risks, model, SURETY_WEIGHTS_PRIOR, set, threat, run, err));
    *risk = risks.averaged_max;
    surety_risks_free(&risks);
    return SURETY_OK;
}

static surety_status write_curve(surety_writer *w, const surety_model *model, const surety_set *set,
                                 const surety_curve_settings *s, const surety_run *run, surety_error *err) {
    size_t radii = (size_t)((s->last - s->first) / s->step + 1e-9) + 1;
    SURETY_TRY(line(w, err, "eps"));
    for (size_t k = 0; k < s->kind_count; k++)
        SURETY_TRY(line(w, err, ",%s", surety_threat_name(s->kinds[k])));
    for (size_t i = 0; i < radii; i++) {
        surety_threat threat = s->threat;
        threat.ball.radius = s->first + (double)i * s->step;
        SURETY_TRY(line(w, err, "\n%.10g", threat.ball.radius));
        for (size_t k = 0; k < s->kind_count; k++) {
            double risk;
            threat.kind = s->kinds[k];
            SURETY_TRY(curve_risk(&risk, &threat, model, set, run, err));
            SURETY_TRY(line(w, err, ",%.10g", risk));
        }
        surety_report(run, "curve", i + 1, radii, "");
    }
    return line(w, err, "\n");
}

surety_status surety_evaluate_curve(const surety_model *model, const surety_set *set,
                                    const surety_curve_settings *settings, const char *path,
                                    const surety_run *run, surety_error *err) {
    SURETY_TRY(check_curve(settings, err));
    surety_writer *w;
    SURETY_TRY(surety_writer_open(&w, path, 0, err));
    surety_status status = write_curve(w, model, set, settings, run, err);
    if (status == SURETY_OK && surety_apart(run)) status = surety_no_whole(err);
    if (status == SURETY_OK) return surety_writer_commit(w, err);
    surety_writer_abort(w);
    return status;
}
