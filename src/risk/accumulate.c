/* Accumulators of risks (surety/risk.h; docs/theory.md 4.1, 4.2, 4.5).
 *
 * With t_jh = y v_jh (exact in double) for the example at hand, an example adds to the integer sums
 *   of the vote    its errors and ties; max_j e_j with e_j = E_Q l_j, sum_j e_j^2; the TV term
 *   of voter h     sum_j l_jh, max_j l_jh, l at the j with the largest e_j, and the same where P is right.
 *
 * Rounding. A single loss is 2^31 - floor(2^31 t) units of 2^-32: exactly the loss rounded up, since scaling
 * by 2^31 is exact and floor is of the exact number. Sums of these integers stay below 2^53 within an example
 * (n <= 2^20), so they are exact in double too, in any order.
 * Expectations under Q are sums of terms that are >= 0, so their rounding errors are relative: k of them are
 * covered by the factor surety_simplex_raise(.., k), which also makes up for Q not summing to exactly 1,
 * before the result is rounded up to a unit. They are taken over the rounded losses, so that inequalities
 * between the surrogates (Rbar <= Abar <= Gmax <= Abar + TV) survive the rounding. Since the TV term is
 * computed as the weight of the voters that pi_i misses, and not as 1 minus the rest, no mismatch gives
 * exactly 0, for instance always for n = 1.
 *
 * Order. Within an example everything happens in a fixed order; between examples there is only integer
 * addition.
 */
#include "risk/accumulate.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "num/level.h"
#include "risk/count_kernel.h"
#include "risk/simplex.h"

struct surety_risk {
    size_t H, n;
    int signed_votes, has_prior;
    double raise;     /* covers the rounding of an expectation under Q */
    double *q, *p;    /* (H) weights of the two votes; p is 0 without a prior */
    double *w;        /* (H) Q as used in expectations: surety_simplex_weight */
    int64_t *sums;    /* (SURETY_RISK_HEAD + SURETY_RISK_ARRAYS H): all that is kept */
    size_t sum_count; /* its length */

    const surety_count_kernels *kernels;

    /* Scratch for one example. */
    double *t, *counted; /* c.t, and the arrays that c is filled with */
    surety_count c;
    size_t worst;    /* the first j with the largest e_j */
    double e_hi;     /* that largest e_j */
    double squares;  /* sum_j e_j^2 */
    int wrong, tied; /* votes over j */
    int prior_wrong; /* votes of P that are not right */
};

#define DECLARE(level) extern const surety_count_kernels surety_count_##level;
SURETY_EACH_LEVEL(DECLARE)

static const surety_count_kernels *kernels_of(surety_level level) {
#define ADDRESS(name) &surety_count_##name,
    static const surety_count_kernels *const table[] = {SURETY_EACH_LEVEL(ADDRESS)};
    return table[level];
}

/* x in loss units, rounded up, at most limit losses of 1. */
static int64_t units_up(double x, double limit) {
    double units = ceil(x * (double)SURETY_LOSS_ONE), most = limit * (double)SURETY_LOSS_ONE;
    return (int64_t)(units < most ? units : most);
}

static int64_t *array_of(const surety_risk *a, surety_risk_array which) {
    return a->sums + SURETY_RISK_HEAD + (size_t)which * a->H;
}

static surety_status check_settings(const surety_risk_settings *s, surety_error *err) {
    if (s->voters < 1) return surety_fail(err, SURETY_E_USAGE, "a vote needs at least one voter");
    if (s->samples < 1 || s->samples > SURETY_RISK_SAMPLES)
        return surety_fail(err, SURETY_E_USAGE, "%zu perturbations per example; 1 to %llu are possible",
                           s->samples, (unsigned long long)SURETY_RISK_SAMPLES);
    if (!s->posterior) return surety_fail(err, SURETY_E_USAGE, "no posterior given");
    if (s->prior) SURETY_TRY(surety_distribution_validate(s->prior, s->voters, "prior", err));
    return SURETY_OK;
}

static surety_status allocate(surety_risk *a, surety_error *err) {
    size_t H = a->H, n = a->n,
           padded = (n + SURETY_COUNT_LANES - 1) / SURETY_COUNT_LANES * SURETY_COUNT_LANES;
    a->sum_count = SURETY_RISK_HEAD + SURETY_RISK_ARRAYS * H;
    if (padded > SIZE_MAX / H) return surety_fail(err, SURETY_E_MEMORY, "%zu x %zu votes are too many", n, H);
    SURETY_TRY(surety_alloc(&a->q, H, sizeof *a->q, err));
    SURETY_TRY(surety_alloc(&a->p, H, sizeof *a->p, err));
    SURETY_TRY(surety_alloc(&a->w, H, sizeof *a->w, err));
    SURETY_TRY(surety_alloc(&a->sums, a->sum_count, sizeof *a->sums, err));
    SURETY_TRY(surety_alloc(&a->t, padded * H, sizeof *a->t, err));
    SURETY_TRY(surety_alloc(&a->counted, 4 * padded + 3 * H, sizeof *a->counted, err));
    for (size_t k = 0; k < padded * H; k++) a->t[k] = 1;
    a->c = (surety_count){.H = H, .n = padded, .q = a->q, .p = a->p, .w = a->w, .t = a->t};
    double *next = a->counted, **rows[] = {&a->c.vote, &a->c.prior, &a->c.expect, &a->c.missed};
    double **voters[] = {&a->c.loss, &a->c.right_loss, &a->c.low};
    for (size_t i = 0; i < 4; i++, next += padded) *rows[i] = next;
    for (size_t i = 0; i < 3; i++, next += H) *voters[i] = next;
    return SURETY_OK;
}

surety_status surety_risk_new(surety_risk **out, const surety_risk_settings *settings, surety_error *err) {
    *out = NULL;
    SURETY_TRY(check_settings(settings, err));
    surety_risk *a = NULL;
    SURETY_TRY(surety_alloc(&a, 1, sizeof *a, err));
    a->H = settings->voters;
    a->n = settings->samples;
    a->signed_votes = settings->signed_votes != 0;
    a->has_prior = settings->prior != NULL;
    a->kernels = kernels_of(surety_cpu());
    surety_status status = allocate(a, err);
    if (status == SURETY_OK && settings->prior) memcpy(a->p, settings->prior, a->H * sizeof *a->p);
    if (status == SURETY_OK) status = surety_risk_reset(a, settings->posterior, err);
    if (status != SURETY_OK) {
        surety_risk_free(a);
        return status;
    }
    *out = a;
    return SURETY_OK;
}

void surety_risk_free(surety_risk *a) {
    if (!a) return;
    void *const parts[] = {a->q, a->p, a->w, a->sums, a->t, a->counted};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    surety_free(a);
}

surety_status surety_risk_reset(surety_risk *a, const double *posterior, surety_error *err) {
    if (posterior) {
        SURETY_TRY(surety_distribution_validate(posterior, a->H, "posterior", err));
        memcpy(a->q, posterior, a->H * sizeof *a->q);
        for (size_t h = 0; h < a->H; h++) a->w[h] = surety_simplex_weight(a->q[h]);
        a->raise = surety_simplex_raise(a->q, a->H, 2 * (double)a->H + (double)a->n + 16);
    }
    memset(a->sums, 0, a->sum_count * sizeof *a->sums);
    return SURETY_OK;
}

/* What the votes on the perturbations come to. */
static void take_votes(surety_risk *a) {
    const surety_count *c = &a->c;
    a->wrong = a->tied = a->prior_wrong = 0;
    a->worst = 0;
    a->e_hi = -1;
    a->squares = 0;
    for (size_t j = 0; j < a->n; j++) {
        double expect = c->expect[j] / (double)SURETY_LOSS_ONE;
        a->wrong += c->vote[j] < 0;
        a->tied += c->vote[j] == 0;
        a->prior_wrong += !(c->prior[j] > 0);
        if (expect > a->e_hi) a->e_hi = expect, a->worst = j;
        a->squares += expect * expect;
    }
}

/* TV with the best pi_i: all mass on the j that is a worst perturbation for most weight; what it misses. */
static double total_variation(const surety_risk *a) {
    double least = INFINITY;
    for (size_t j = 0; j < a->n; j++) least = a->c.missed[j] < least ? a->c.missed[j] : least;
    return least;
}

static void add_head(surety_risk *a) {
    int64_t *sums = a->sums;
    sums[SURETY_RISK_EXAMPLES]++;
    sums[SURETY_RISK_WRONG] += a->wrong;
    sums[SURETY_RISK_TIED] += a->tied;
    sums[SURETY_RISK_MAX_WRONG] += a->wrong > 0;
    sums[SURETY_RISK_MAX_TIED] += a->wrong == 0 && a->tied > 0;
    sums[SURETY_RISK_PRIOR_WRONG] += a->prior_wrong;
    sums[SURETY_RISK_PRIOR_MAX_WRONG] += a->prior_wrong > 0;
    sums[SURETY_RISK_ABAR] += units_up(a->e_hi * a->raise, 1);
    sums[SURETY_RISK_TANDEM] += units_up(a->squares * a->raise * a->raise, (double)a->n);
    sums[SURETY_RISK_TV] += units_up(total_variation(a) * a->raise, 1);
}

static void add_voters(surety_risk *a) {
    int64_t *loss = array_of(a, SURETY_RISK_LOSS), *max_loss = array_of(a, SURETY_RISK_MAX_LOSS);
    int64_t *worst_loss = array_of(a, SURETY_RISK_WORST_LOSS), *errors = array_of(a, SURETY_RISK_ERRORS);
    int64_t *anchored_loss = array_of(a, SURETY_RISK_ANCHORED_LOSS);
    int64_t *anchored_max = array_of(a, SURETY_RISK_ANCHORED_MAX);
    int64_t *anchored_errors = array_of(a, SURETY_RISK_ANCHORED_ERRORS);
    int anchored = a->prior_wrong == 0;
    for (size_t h = 0; h < a->H; h++) {
        int64_t most = (int64_t)surety_loss_units(a->c.low[h]);
        int64_t error = a->c.low[h] <= 0;
        loss[h] += (int64_t)a->c.loss[h];
        max_loss[h] += most;
        worst_loss[h] += (int64_t)surety_loss_units(a->t[h * a->c.n + a->worst]);
        errors[h] += error;
        anchored_loss[h] += (int64_t)a->c.right_loss[h];
        anchored_max[h] += anchored ? most : 0;
        anchored_errors[h] += anchored ? error : 0;
    }
}

/* Whether one more example fits. */
static surety_status check_example(const surety_risk *a, int y, surety_error *err) {
    if (y != 1 && y != -1) return surety_fail(err, SURETY_E_INPUT, "the label is %d, not -1 or +1", y);
    if ((uint64_t)(a->sums[SURETY_RISK_EXAMPLES] + 1) > SURETY_RISK_VOTES / a->n)
        return surety_fail(err, SURETY_E_INPUT, "more than %llu votes of a voter cannot be summed exactly",
                           (unsigned long long)SURETY_RISK_VOTES);
    return SURETY_OK;
}

/* Says where the first vote outside [-1,1] is. */
static surety_status bad_vote(const surety_risk *a, int y, surety_error *err) {
    size_t k = 0;
    while (fabs(a->t[k % a->H * a->c.n + k / a->H]) <= 1) k++;
    surety_fail(err, SURETY_E_INPUT, "a vote is %g", a->t[k % a->H * a->c.n + k / a->H] * (double)y);
    surety_fail_place(err, "perturbation %zu, voter %zu", k / a->H, k % a->H);
    surety_fail_expected(err, "votes in [-1, 1]");
    return SURETY_E_INPUT;
}

size_t surety_votes_first_bad(const double *votes, size_t count) {
    int bad = 0;
    for (size_t k = 0; k < count; k++) bad |= !(fabs(votes[k]) <= 1);
    if (!bad) return count;
    size_t k = 0;
    while (fabs(votes[k]) <= 1) k++;
    return k;
}

/* a->t holds y v: checked, made signs if asked for, added. */
static surety_status take_example(surety_risk *a, int y, surety_error *err) {
    SURETY_TRY(check_example(a, y, err));
    if (!a->kernels->check(a->t, a->H * a->c.n, a->signed_votes)) return bad_vote(a, y, err);
    a->kernels->count(&a->c);
    take_votes(a);
    add_head(a);
    add_voters(a);
    return SURETY_OK;
}

/* t[h, j] = y v from v[j*by_j + h*by_h]. */
#define FILL(v, by_j, by_h)               \
    for (size_t h = 0; h < a->H; h++)     \
        for (size_t j = 0; j < a->n; j++) \
    a->t[h * a->c.n + j] = (double)y * (double)(v)[j * (by_j) + h * (by_h)]

surety_status surety_risk_add(surety_risk *a, const float *votes, size_t stride, int y, surety_error *err) {
    FILL(votes, stride, 1);
    return take_example(a, y, err);
}

surety_status surety_risk_add_columns(surety_risk *a, const float *votes, size_t stride, int y,
                                      surety_error *err) {
    FILL(votes, 1, stride);
    return take_example(a, y, err);
}

surety_status surety_risk_add_double(surety_risk *a, const double *votes, size_t stride, int y,
                                     surety_error *err) {
    FILL(votes, stride, 1);
    return take_example(a, y, err);
}

surety_status surety_risk_merge(surety_risk *into, const surety_risk *from, surety_error *err) {
    size_t weights = into->H * sizeof *into->q;
    if (into->H != from->H || into->n != from->n || into->signed_votes != from->signed_votes ||
        into->has_prior != from->has_prior || memcmp(into->q, from->q, weights) ||
        memcmp(into->p, from->p, weights))
        return surety_fail(err, SURETY_E_USAGE, "accumulators of different votes cannot be merged");
    uint64_t m = (uint64_t)(into->sums[SURETY_RISK_EXAMPLES] + from->sums[SURETY_RISK_EXAMPLES]);
    if (m > SURETY_RISK_VOTES / into->n)
        return surety_fail(err, SURETY_E_INPUT, "more than %llu votes of a voter cannot be summed exactly",
                           (unsigned long long)SURETY_RISK_VOTES);
    for (size_t k = 0; k < into->sum_count; k++) into->sums[k] += from->sums[k];
    return SURETY_OK;
}

surety_status surety_risk_result(const surety_risk *a, surety_risks *out, surety_error *err) {
    int64_t *sums = NULL;
    *out = (surety_risks){0};
    SURETY_TRY(surety_alloc(&sums, a->sum_count, sizeof *sums, err));
    memcpy(sums, a->sums, a->sum_count * sizeof *sums);
    surety_sum_everyone(sums, a->sum_count);
    surety_status status = surety_risks_from_sums(out, sums, a->H, a->n, a->q, err);
    surety_free(sums);
    out->signed_votes = a->signed_votes;
    out->has_prior = a->has_prior;
    return status;
}
