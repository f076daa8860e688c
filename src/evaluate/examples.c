/* Examples one by one, and curves of risk against radius: CSV files. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "base/parallel.h"
#include "evaluate/perturbed.h"
#include "io/write.h"
#include "surety/evaluate.h"

/* ---- per example ---- */

typedef struct example {
    double clean, attacked, norm;
    size_t fooled;
    double radius; /* for which the vote is proved right */
    const char *verdict;
} example;

typedef struct listing {
    const surety_set *set;
    surety_threat plain, noisy; /* R_att's attack, and the perturbed set's */
    surety_vote posterior, prior;
    size_t n, threads;
    surety_attacker **of_plain, **of_noisy; /* per thread */
    surety_worst **of_worst;                /* per thread */
    float *points;                          /* per thread (SURETY_BLOCK, stride) */
    example *found;                         /* (m) */
} listing;

/* Votes of the posterior at `rows` points. */
static void ask(const listing *l, surety_attacker *a, const float *const *x, size_t rows, double *votes) {
    const surety_voters *v = surety_attacker_voters(a);
    surety_voters_ask(v, x, rows, surety_attacker_outputs(a), surety_attacker_scratch(a));
    surety_vote_lanes(surety_attacker_outputs(a), l->posterior.weights, surety_voters_count(v),
                      l->posterior.set, votes, NULL);
}

static void count_noisy(const listing *l, surety_attacker *a, float *points, const surety_examples *e,
                        example *found) {
    for (size_t first = 0; first < e->rows * l->n; first += SURETY_BLOCK) {
        const float *x[SURETY_BLOCK] = {NULL};
        double votes[SURETY_LANES];
        size_t left = e->rows * l->n - first, count = left < SURETY_BLOCK ? left : SURETY_BLOCK;
        for (size_t k = 0; k < count; k++) {
            surety_attacker_sample(a, (first + k) / l->n, (first + k) % l->n, points + k * l->set->stride);
            x[k] = points + k * l->set->stride;
        }
        ask(l, a, x, count, votes);
        for (size_t k = 0; k < count; k++) {
            size_t r = (first + k) / l->n;
            found[r].fooled += !(e->y[r] * votes[k] > 0);
        }
    }
}

static surety_status judge(const surety_examples *e, size_t r, int proved, example *found,
                           surety_error *err) {
    int y = e->y[r], beaten = !(y * found->clean > 0) || found->fooled > 0 || !(y * found->attacked > 0);
    found->verdict = proved ? "robust" : beaten ? "vulnerable" : "open";
    if (!proved || !beaten) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK, "the vote was proved right and found wrong in the same ball");
    surety_fail_place(err, "row %" PRIu32, e->row[r]);
    return SURETY_E_CHECK;
}

static surety_status list_block(void *arg, size_t block, int thread, surety_error *err) {
    const listing *l = arg;
    surety_attacker *plain = l->of_plain[thread], *noisy = l->of_noisy[thread];
    surety_examples e = surety_examples_of(l->set, block * SURETY_BLOCK);
    example *found = l->found + block * SURETY_BLOCK;
    double clean[SURETY_LANES], attacked[SURETY_LANES];
    const surety_attacked *result = surety_attacker_run(plain, &l->posterior, &e);
    ask(l, plain, e.x, e.rows, clean);
    ask(l, plain, result->x, e.rows, attacked);
    for (size_t r = 0; r < e.rows; r++)
        found[r] = (example){.clean = clean[r],
                             .attacked = attacked[r],
                             .norm = surety_distance(l->plain.ball.norm, result->x[r], e.x[r], l->set->d)};
    surety_attacker_run(noisy, &l->prior, &e);
    count_noisy(l, noisy, l->points + (size_t)thread * SURETY_BLOCK * l->set->stride, &e, found);
    double radius[SURETY_BLOCK];
    int proved[SURETY_BLOCK];
    surety_worst_radius(l->of_worst[thread], &l->posterior, &e, radius, proved);
    for (size_t r = 0; r < e.rows; r++) {
        found[r].radius = radius[r];
        SURETY_TRY(judge(&e, r, proved[r], &found[r], err));
    }
    return SURETY_OK;
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

static surety_status write_examples(const listing *l, surety_writer *w, surety_error *err) {
    SURETY_TRY(line(w, err,
                    "index,row,label,clean_vote,attacked_vote,norm,fooled_share,certified_radius,verdict\n"));
    for (size_t i = 0; i < l->set->m; i++) {
        const example *e = &l->found[i];
        SURETY_TRY(line(w, err, "%zu,%" PRIu32 ",%d,%.17g,%.17g,%.17g,%.17g,%.9g,%s\n", i, l->set->row[i],
                        l->set->y[i], e->clean, e->attacked, e->norm, (double)e->fooled / (double)l->n,
                        e->radius, e->verdict));
    }
    return SURETY_OK;
}

static surety_status list_all(listing *l, const char *path, const surety_run *run, surety_error *err) {
    size_t blocks = (l->set->m + SURETY_BLOCK - 1) / SURETY_BLOCK;
    const surety_voters *v = l->posterior.voters;
    SURETY_TRY(surety_alloc(&l->of_plain, l->threads, sizeof *l->of_plain, err));
    SURETY_TRY(surety_alloc(&l->of_noisy, l->threads, sizeof *l->of_noisy, err));
    SURETY_TRY(surety_alloc(&l->of_worst, l->threads, sizeof *l->of_worst, err));
    for (size_t t = 0; t < l->threads; t++) {
        SURETY_TRY(surety_worst_new(&l->of_worst[t], v, &l->plain.ball, l->posterior.set, err));
        SURETY_TRY(surety_attacker_new(&l->of_plain[t], &l->plain, v, err));
        SURETY_TRY(surety_attacker_new(&l->of_noisy[t], &l->noisy, v, err));
    }
    SURETY_TRY(surety_alloc(&l->points, l->threads * SURETY_BLOCK, l->set->stride * sizeof(float), err));
    SURETY_TRY(surety_alloc(&l->found, blocks * SURETY_BLOCK, sizeof *l->found, err));
    SURETY_TRY(surety_parallel(run, "examples", blocks, list_block, l, err));
    surety_writer *w;
    SURETY_TRY(surety_writer_open(&w, path, 0, err));
    surety_status status = write_examples(l, w, err);
    if (status == SURETY_OK) return surety_writer_commit(w, err);
    surety_writer_abort(w);
    return status;
}

surety_status surety_evaluate_examples(const char *path, const surety_model *model, const surety_set *set,
                                       const surety_threat *attack, const surety_run *run,
                                       surety_error *err) {
    listing l = {.set = set,
                 .plain = *attack,
                 .noisy = *attack,
                 .posterior = surety_model_vote(model, SURETY_POSTERIOR),
                 .prior = surety_model_vote(model, SURETY_PRIOR),
                 .n = surety_threat_samples(attack),
                 .threads = (size_t)surety_threads(run)};
    l.plain.kind = surety_threat_plain(attack->kind);
    l.plain.epoch = SURETY_PASS_ATTACKED;
    l.noisy.epoch = SURETY_PASS_PERTURBED;
    SURETY_TRY(surety_threat_validate(attack, err));
    SURETY_TRY(surety_attack_check_set(attack, surety_model_voters(model), set, err));
    surety_status status = list_all(&l, path, run, err);
    for (size_t t = 0; t < l.threads; t++) {
        if (l.of_plain) surety_attacker_free(l.of_plain[t]);
        if (l.of_noisy) surety_attacker_free(l.of_noisy[t]);
        if (l.of_worst) surety_worst_free(l.of_worst[t]);
    }
    surety_free(l.of_plain);
    surety_free(l.of_noisy);
    surety_free((void *)l.of_worst);
    surety_free(l.points);
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
        surety_threat plain = *threat;
        surety_vote vote = surety_model_vote(model, SURETY_POSTERIOR);
        surety_attack_result result;
        plain.kind = surety_threat_plain(threat->kind);
        plain.epoch = SURETY_PASS_ATTACKED;
        SURETY_TRY(surety_attack_set(&plain, &vote, set, NULL, NULL, &result, run, err));
        *risk = (double)result.fooled / (double)set->m;
        return SURETY_OK;
    }
    surety_risks risks;
    SURETY_TRY(surety_evaluate_worst(&risks, model, set, &threat->ball, run, err));
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

surety_status surety_evaluate_curve(const char *path, const surety_model *model, const surety_set *set,
                                    const surety_curve_settings *settings, const surety_run *run,
                                    surety_error *err) {
    SURETY_TRY(check_curve(settings, err));
    surety_writer *w;
    SURETY_TRY(surety_writer_open(&w, path, 0, err));
    surety_status status = write_curve(w, model, set, settings, run, err);
    if (status == SURETY_OK) return surety_writer_commit(w, err);
    surety_writer_abort(w);
    return status;
}
