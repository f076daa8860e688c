/* What a certificate can state besides one limit (docs/theory.md 12): a row of the table at the end for each.
 * Everything that S must not decide is settled first, then S is looked at, then numbers follow from counts.
 */
#include "certify/certifying.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack/attacker.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/parallel.h"
#include "bound/round.h"
#include "evaluate/sampler.h"
#include "voters/worst.h"

static uint64_t failed_of(const surety_risks *r) {
    return r->max_wrong + r->max_tied;
}

static surety_status no_settings(surety_certifying *w, surety_error *err) {
    (void)w, (void)err;
    return SURETY_OK;
}

static void name_radius(const surety_certifying *w, size_t part, char radius[64], char what[32]) {
    char eps[32];
    (void)part, (void)what;
    snprintf(radius, 64, "%s", surety_shortest(w->threat.ball.radius, eps));
}

static surety_status survey_once(surety_certifying *w, const surety_run *run, surety_error *err) {
    return surety_certifying_measure(&w->risks, w, SURETY_SET_LEARN, run, err);
}

static surety_status recall_nothing(surety_certifying *w, const surety_certificate *stated,
                                    surety_error *err) {
    (void)w, (void)stated, (void)err;
    return SURETY_OK;
}

static void settings_alone(const surety_certificate *c, surety_certify_settings *s) {
    (void)c, (void)s;
}

static size_t one_part(const surety_certifying *w) {
    (void)w;
    return 1;
}

/* ---- a limit for each class (docs/theory.md 4.7) ---- */

/* Also those of which S has no example. */
static size_t class_parts(const surety_certifying *w) {
    return surety_voters_classes(surety_model_voters(w->model));
}

static void name_class(const surety_certifying *w, size_t part, char radius[64], char what[32]) {
    name_radius(w, part, radius, what);
    snprintf(what, 32, ", class %zu", part);
}

/* Given the labels, the failures of a class are coins of one rate, whatever the other classes do. The risk is
 * a mean of the risks of the classes, so the largest limit holds for it too, on the same events. */
static surety_status compute_classes(surety_certifying *w, surety_error *err) {
    surety_certificate *c = w->c;
    c->vacuous = 1;
    c->limit_count = class_parts(w);
    for (size_t k = 0; k < c->limit_count; k++) {
        surety_class_limit *limit = &c->limits[k];
        double share = 0;
        limit->m = w->risks.class_examples[k];
        limit->failed = w->risks.class_failed[k];
        SURETY_TRY(surety_certifying_spend(w, k, &share, err));
        SURETY_TRY(surety_certifying_limit(w, limit->m, limit->failed, share, &limit->value, err));
        c->value = fmax(c->value, limit->value);
        c->vacuous &= !(limit->value < 1);
    }
    return SURETY_OK;
}

/* ---- a limit for each group (12.4) ---- */

/* The groups of S, which its column of groups alone decides. */
static size_t group_parts(const surety_certifying *w) {
    return w->data ? surety_data_describe(w->data)->groups : w->stated_groups;
}

/* A name that is cut off could be that of another group. */
static surety_status names_fit(const surety_certifying *w, size_t count, surety_error *err) {
    size_t most = sizeof w->c->groups[0].label - 1;
    for (size_t g = 0; w->data && g < count; g++) {
        const char *name = surety_data_describe(w->data)->group_names[g];
        if (strlen(name) <= most) continue;
        surety_fail(err, SURETY_E_CHECK, "the group '%.40s ..' has a name that a certificate has no room for",
                    name);
        surety_fail_expected(err, "at most %zu bytes", most);
        return SURETY_E_CHECK;
    }
    return SURETY_OK;
}

static surety_status settle_groups(surety_certifying *w, surety_error *err) {
    size_t count = group_parts(w);
    if (count >= 1 && count <= SURETY_GROUPS) return names_fit(w, count, err);
    if (!count) return surety_fail(err, SURETY_E_USAGE, "limits per group need data with a column of groups");
    surety_fail(err, SURETY_E_CHECK, "the column '%.64s' has %zu values in S, too many for a limit each",
                surety_data_describe(w->data)->group, count);
    surety_fail_expected(err, "a column with at most %d values", (int)SURETY_GROUPS);
    return SURETY_E_CHECK;
}

static void name_group(const surety_certifying *w, size_t part, char radius[64], char what[32]) {
    name_radius(w, part, radius, what);
    snprintf(what, 32, ", group %zu", part);
}

static surety_status survey_groups(surety_certifying *w, const surety_run *run, surety_error *err) {
    const surety_data_info *info = surety_data_describe(w->data);
    surety_certificate *c = w->c;
    SURETY_TRY(survey_once(w, run, err));
    if (surety_apart(run)) return SURETY_OK;
    surety_certificate_copy(c->group_column, sizeof c->group_column, info->group);
    for (size_t g = 0; g < info->groups; g++) {
        surety_certificate_copy(c->groups[g].label, sizeof c->groups[g].label, info->group_names[g]);
        c->groups[g].m = w->risks.groups[g];
        c->groups[g].failed = w->risks.groups[info->groups + g];
    }
    return SURETY_OK;
}

static surety_status recall_groups(surety_certifying *w, const surety_certificate *stated,
                                   surety_error *err) {
    surety_certificate *c = w->c;
    uint64_t m = 0, failed = 0;
    memcpy(c->group_column, stated->group_column, sizeof c->group_column);
    memcpy(c->groups, stated->groups, sizeof c->groups);
    for (size_t g = 0; g < stated->group_count; g++) {
        m += c->groups[g].m, failed += c->groups[g].failed;
        if (c->groups[g].failed > c->groups[g].m) failed = SURETY_ABSENT;
    }
    if (m == w->risks.m && failed == failed_of(&w->risks)) return SURETY_OK;
    return surety_fail(err, SURETY_E_CHECK, "the counts of the groups do not add up to those of S");
}

/* Given the column of groups, the failures of a group are coins of one rate. The risk is a mean of the risks
 * of all groups, also of those that S has none of: the largest limit says nothing about it. */
static surety_status compute_groups(surety_certifying *w, surety_error *err) {
    surety_certificate *c = w->c;
    c->vacuous = 1;
    c->group_count = group_parts(w);
    for (size_t g = 0; g < c->group_count; g++) {
        surety_class_limit *limit = &c->groups[g];
        double share = 0;
        SURETY_TRY(surety_certifying_spend(w, g, &share, err));
        SURETY_TRY(surety_certifying_limit(w, limit->m, limit->failed, share, &limit->value, err));
        c->value = fmax(c->value, limit->value);
        c->vacuous &= !(limit->value < 1);
    }
    return SURETY_OK;
}

/* ---- a radius for a promised risk (12.1) ---- */

/* Where the search for the radius of an example starts: fixed before S, as all that it depends on. */
static double first_radius(const surety_ball *ball) {
    return ball->tolerance ? 1 : surety_norm_radius(ball->norm);
}

static surety_status settle_radius(surety_certifying *w, surety_error *err) {
    if (!(w->s->promise > 0 && w->s->promise < 1))
        return surety_fail(err, SURETY_E_USAGE, "a promised risk is above 0 and below 1, not %g",
                           w->s->promise);
    w->threat.ball.radius = first_radius(&w->threat.ball);
    return SURETY_OK;
}

static void name_promise(const surety_certifying *w, size_t part, char radius[64], char what[32]) {
    char promise[32];
    (void)part, (void)what;
    snprintf(radius, 64, "radius for %s", surety_shortest(w->s->promise, promise));
}

typedef struct radii {
    const surety_set *set;
    surety_set mine; /* its rows from `first` on, which this process proves */
    size_t first;
    surety_vote vote;
    surety_worst **worst; /* per thread */
    double *radius;       /* (m) of the rows of set */
} radii;

static surety_status radius_block(void *arg, size_t block, int thread, surety_error *err) {
    const radii *r = arg;
    surety_examples e = surety_examples_of(&r->mine, block * SURETY_BLOCK);
    int proved[SURETY_LANES];
    double radius[SURETY_LANES];
    (void)err;
    surety_worst_radius(r->worst[thread], &r->vote, &e, radius, proved);
    memcpy(r->radius + r->first + block * SURETY_BLOCK, radius, e.rows * sizeof *radius);
    return SURETY_OK;
}

static surety_status find_radii(surety_certifying *w, radii *r, const surety_run *run, surety_error *err) {
    size_t threads = (size_t)surety_threads(run), end = r->set->m;
    surety_my_rows(run, &r->first, &end);
    r->mine = surety_set_slice(r->set, r->first, end - r->first);
    SURETY_TRY(surety_sampling_has(r->set, r->first, end, err));
    SURETY_TRY(surety_attack_check_rows(&w->threat, r->vote.voters, r->set, run, err));
    SURETY_TRY(surety_alloc(&r->worst, threads, sizeof *r->worst, err));
    SURETY_TRY(surety_alloc(&r->radius, r->set->m, sizeof *r->radius, err));
    surety_status status = SURETY_OK;
    for (size_t t = 0; t < threads && status == SURETY_OK; t++)
        status = surety_worst_new(&r->worst[t], r->vote.voters, &w->threat.ball, w->threat.budget,
                                  r->vote.voter_set, err);
    if (status == SURETY_OK)
        status = surety_parallel(run, "certified radii of S", (r->mine.m + SURETY_BLOCK - 1) / SURETY_BLOCK,
                                 radius_block, r, err);
    if (status == SURETY_OK)
        status = surety_share_everyone(run, r->radius, r->set->m, 1, sizeof *r->radius, err);
    for (size_t t = 0; t < threads; t++) surety_worst_free(r->worst[t]);
    return status;
}

/* A unit is proved up to the smallest radius of its rows. *m: how many examples there are. */
static surety_status radii_of_units(radii *r, size_t *m, surety_error *err) {
    const surety_set *set = r->set;
    double *least = NULL;
    *m = set->unit ? set->units : set->m;
    if (!set->unit) return SURETY_OK;
    SURETY_TRY(surety_alloc(&least, set->units, sizeof *least, err));
    for (size_t u = 0; u < set->units; u++) least[u] = HUGE_VAL;
    for (size_t i = 0; i < set->m; i++) least[set->unit[i]] = fmin(least[set->unit[i]], r->radius[i]);
    memcpy(r->radius, least, set->units * sizeof *least);
    surety_free(least);
    return SURETY_OK;
}

static int by_radius(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* *k: how many of m may fail, the largest number whose limit is at most the promise; *some: there is one. */
static surety_status may_fail(surety_certifying *w, uint64_t m, uint64_t *k, int *some, surety_error *err) {
    double share = 0, limit = 0;
    SURETY_TRY(surety_certifying_spend(w, 0, &share, err));
    SURETY_TRY(surety_certifying_limit(w, m, 0, share, &limit, err)); /* can the bound be computed at all? */
    share = surety_div_down(surety_div_down(share, surety_whole_up(w->priors)), surety_whole_up(w->s->looks));
    *some = surety_radius_rank(w->s->promise, m, share, k);
    return SURETY_OK;
}

/* With four digits that count, rounded down: a smaller ball is proved too. */
static double rounded_down(double radius) {
    char text[32];
    if (!(radius > 0)) return radius;
    double unit = pow(10, floor(log10(radius)) - 3);
    surety_format(text, sizeof text, "%.4g", floor(radius / unit * (1 + 1e-12)) * unit);
    double down = surety_number(text, NULL);
    return down >= 0 && down <= radius ? down : radius;
}

/* The (k+1)-th smallest radius, if it is one: then at most k have a smaller one. */
static surety_status take_radius(surety_certifying *w, radii *r, surety_error *err) {
    surety_certificate *c = w->c;
    size_t m = 0;
    uint64_t k = 0;
    int some = 0;
    SURETY_TRY(radii_of_units(r, &m, err));
    SURETY_TRY(surety_sort(r->radius, m, sizeof *r->radius, by_radius, err));
    SURETY_TRY(may_fail(w, m, &k, &some, err));
    some = some && r->radius[k] >= 0;
    c->radius = some ? rounded_down(r->radius[k]) : (double)NAN;
    w->threat.ball.radius = some ? c->radius : 0;
    c->below_radius = 0;
    while (c->below_radius < m && r->radius[c->below_radius] < w->threat.ball.radius) c->below_radius++;
    return SURETY_OK;
}

static surety_status survey_radius(surety_certifying *w, const surety_run *run, surety_error *err) {
    radii r = {.set = surety_data_set(w->data, SURETY_SET_LEARN),
               .vote = surety_model_vote(w->model, w->against)};
    surety_status status = find_radii(w, &r, run, err);
    if (status == SURETY_OK) status = take_radius(w, &r, err);
    surety_free((void *)r.worst);
    surety_free(r.radius);
    return status == SURETY_OK ? survey_once(w, run, err) : status;
}

static surety_status recall_radius(surety_certifying *w, const surety_certificate *stated,
                                   surety_error *err) {
    (void)err;
    w->c->radius = stated->radius;
    w->c->below_radius = stated->below_radius;
    w->threat.ball.radius = isnan(stated->radius) ? 0 : stated->radius;
    return SURETY_OK;
}

static surety_status compute_radius(surety_certifying *w, surety_error *err) {
    surety_certificate *c = w->c;
    uint64_t k = 0;
    int some = 0;
    c->promise = w->s->promise;
    SURETY_TRY(may_fail(w, w->risks.m, &k, &some, err));
    if (!isnan(c->radius) && (!some || c->below_radius > k))
        return surety_fail(err, SURETY_E_CHECK,
                           "%" PRIu64 " examples below the radius are more than the promise allows",
                           c->below_radius);
    c->vacuous = isnan(c->radius);
    c->value = c->vacuous ? 1 : c->promise;
    return SURETY_OK;
}

static void settings_of_radius(const surety_certificate *c, surety_certify_settings *s) {
    s->promise = c->promise;
}

/* ---- a whole curve (12.2) ---- */

static surety_status check_points(const surety_certifying *w, const char *what, surety_error *err) {
    if (w->s->point_count >= 1 && w->s->point_count <= SURETY_POINTS) return SURETY_OK;
    return surety_fail(err, SURETY_E_USAGE, "%s has 1 to %d radii, not %zu", what, (int)SURETY_POINTS,
                       w->s->point_count);
}

static surety_status settle_curve(surety_certifying *w, surety_error *err) {
    const surety_promise *p = w->s->points;
    SURETY_TRY(check_points(w, "a curve", err));
    for (size_t i = 0; i < w->s->point_count; i++)
        if (!(p[i].radius >= 0 && p[i].radius <= SURETY_LARGEST && (!i || p[i].radius > p[i - 1].radius)))
            return surety_fail(err, SURETY_E_USAGE, "the radii of a curve are at least 0 and grow, not %g",
                               p[i].radius);
    w->threat.ball.radius = p[w->s->point_count - 1].radius;
    return SURETY_OK;
}

static size_t curve_parts(const surety_certifying *w) {
    return w->s->point_count;
}

static void name_point(const surety_certifying *w, size_t part, char radius[64], char what[32]) {
    char eps[32];
    (void)what;
    snprintf(radius, 64, "%s", surety_shortest(w->s->points[part].radius, eps));
}

/* Risks of S at the radius of a point, in w->risks. */
static surety_status survey_point(surety_certifying *w, size_t i, const surety_run *run, surety_error *err) {
    surety_risks_free(&w->risks);
    w->threat.ball.radius = w->s->points[i].radius;
    return survey_once(w, run, err);
}

static surety_status survey_curve(surety_certifying *w, const surety_run *run, surety_error *err) {
    for (size_t i = 0; i < w->s->point_count; i++) {
        SURETY_TRY(survey_point(w, i, run, err));
        w->c->curve[i].failed = failed_of(&w->risks);
    }
    return SURETY_OK;
}

static surety_status recall_curve(surety_certifying *w, const surety_certificate *stated, surety_error *err) {
    for (size_t i = 0; i < w->s->point_count; i++) w->c->curve[i].failed = stated->curve[i].failed;
    if (stated->curve[w->s->point_count - 1].failed == failed_of(&w->risks)) return SURETY_OK;
    return surety_fail(err, SURETY_E_CHECK, "the last count of the curve is not that of S");
}

/* All limits hold at once and the risk grows with the radius: a limit holds for smaller radii too. */
static surety_status compute_curve(surety_certifying *w, surety_error *err) {
    surety_certificate *c = w->c;
    double share = 0, above = 1;
    c->curve_count = w->s->point_count;
    for (size_t i = c->curve_count; i-- > 0;) {
        surety_curve_limit *p = &c->curve[i];
        p->radius = w->s->points[i].radius;
        if (p->failed > w->risks.m)
            return surety_fail(err, SURETY_E_CHECK, "more examples failed than there are");
        SURETY_TRY(surety_certifying_spend(w, i, &share, err));
        SURETY_TRY(surety_certifying_limit(w, w->risks.m, p->failed, share, &p->value, err));
        above = p->value = fmin(p->value, above);
    }
    c->value = c->curve[c->curve_count - 1].value;
    c->vacuous = !(c->curve[0].value < 1);
    return SURETY_OK;
}

static void settings_of_curve(const surety_certificate *c, surety_certify_settings *s) {
    s->point_count = c->curve_count;
    for (size_t i = 0; i < c->curve_count; i++) s->points[i].radius = c->curve[i].radius;
}

/* ---- promises in order (12.3) ---- */

static surety_status settle_promises(surety_certifying *w, surety_error *err) {
    const surety_promise *p = w->s->points;
    SURETY_TRY(check_points(w, "a list of promises", err));
    for (size_t i = 0; i < w->s->point_count; i++)
        if (!(p[i].radius >= 0 && p[i].radius <= SURETY_LARGEST && p[i].limit > 0 && p[i].limit < 1))
            return surety_fail(err, SURETY_E_USAGE,
                               "promise %zu: its radius is at least 0 and its limit above 0 and below 1, not "
                               "%g and %g",
                               i + 1, p[i].radius, p[i].limit);
    w->threat.ball.radius = p[0].radius;
    return SURETY_OK;
}

static void name_promises(const surety_certifying *w, size_t part, char radius[64], char what[32]) {
    (void)w, (void)part;
    snprintf(radius, 64, "ordered promises");
    what[0] = 0;
}

static surety_status promise_kept(surety_certifying *w, uint64_t m, size_t i, surety_error *err) {
    double share = 0, limit = 1;
    surety_promise_tested *p = &w->c->promises[i];
    if (p->failed > m) return surety_fail(err, SURETY_E_CHECK, "more examples failed than there are");
    SURETY_TRY(surety_certifying_spend(w, 0, &share, err));
    SURETY_TRY(surety_certifying_limit(w, m, p->failed, share, &limit, err));
    p->kept = limit <= w->s->points[i].limit;
    return SURETY_OK;
}

/* The first promise that is not kept ends the list; S is not looked at for those behind it. The certificate
 * speaks of the last one kept, or of the first if none is. */
static surety_status survey_promises(surety_certifying *w, const surety_run *run, surety_error *err) {
    surety_certificate *c = w->c;
    size_t i = 0, last;
    if (surety_apart(run))
        return surety_fail(
            err, SURETY_E_USAGE,
            "ordered promises have no parts: which of them S is asked for depends on all counts");
    do {
        SURETY_TRY(survey_point(w, i, run, err));
        c->promises[i].failed = failed_of(&w->risks);
        SURETY_TRY(promise_kept(w, w->risks.m, i, err));
    } while (c->promises[i].kept && ++i < w->s->point_count);
    last = i ? i - 1 : 0;
    for (size_t k = i + 1; k < w->s->point_count; k++) c->promises[k].failed = SURETY_ABSENT;
    if (i == last || i == w->s->point_count) return SURETY_OK; /* w->risks are of the last one */
    return survey_point(w, last, run, err);
}

static surety_status recall_promises(surety_certifying *w, const surety_certificate *stated,
                                     surety_error *err) {
    surety_certificate *c = w->c;
    size_t i = 0;
    for (size_t k = 0; k < w->s->point_count; k++) c->promises[k].failed = stated->promises[k].failed;
    do SURETY_TRY(promise_kept(w, w->risks.m, i, err));
    while (c->promises[i].kept && ++i < w->s->point_count);
    size_t last = i ? i - 1 : 0;
    for (size_t k = i + 1; k < w->s->point_count; k++) c->promises[k].failed = SURETY_ABSENT;
    w->threat.ball.radius = w->s->points[last].radius;
    if (c->promises[last].failed == failed_of(&w->risks)) return SURETY_OK;
    return surety_fail(err, SURETY_E_CHECK, "the count of the last promise kept is not that of S");
}

static surety_status compute_promises(surety_certifying *w, surety_error *err) {
    surety_certificate *c = w->c;
    (void)err;
    c->promise_count = w->s->point_count;
    c->vacuous = !c->promises[0].kept;
    c->value = 1;
    for (size_t i = 0; i < c->promise_count; i++) {
        c->promises[i].radius = w->s->points[i].radius;
        c->promises[i].limit = w->s->points[i].limit;
        if (c->promises[i].kept) c->value = c->promises[i].limit;
    }
    return SURETY_OK;
}

static void settings_of_promises(const surety_certificate *c, surety_certify_settings *s) {
    s->point_count = c->promise_count;
    for (size_t i = 0; i < c->promise_count; i++)
        s->points[i] = (surety_promise){c->promises[i].radius, c->promises[i].limit};
}

/* ---- the table ---- */

static const surety_statement_row rows[SURETY_STATEMENTS] = {
    [SURETY_SAY_LIMIT] = {"limit", 0, 0, no_settings, one_part, name_radius, survey_once, recall_nothing,
                          NULL, settings_alone},
    [SURETY_SAY_CLASSES] = {"classes", 1, 0, no_settings, class_parts, name_class, survey_once,
                            recall_nothing, compute_classes, settings_alone},
    [SURETY_SAY_GROUPS] = {"groups", 1, 0, settle_groups, group_parts, name_group, survey_groups,
                           recall_groups, compute_groups, settings_alone},
    [SURETY_SAY_RADIUS] = {"radius", 1, 1, settle_radius, one_part, name_promise, survey_radius,
                           recall_radius, compute_radius, settings_of_radius},
    [SURETY_SAY_CURVE] = {"curve", 1, 1, settle_curve, curve_parts, name_point, survey_curve, recall_curve,
                          compute_curve, settings_of_curve},
    [SURETY_SAY_PROMISES] = {"promises", 1, 1, settle_promises, one_part, name_promises, survey_promises,
                             recall_promises, compute_promises, settings_of_promises},
};

const surety_statement_row *surety_statement_about(surety_statement statement) {
    return &rows[statement];
}

surety_statement surety_statement_of(const surety_statement_row *row) {
    return (surety_statement)(row - rows);
}

const surety_statement_row *surety_statement_find(const char *name) {
    for (size_t i = 0; i < SURETY_STATEMENTS; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

const char *surety_statement_name(surety_statement statement) {
    return rows[statement].name;
}
