/* Accumulators of risks (surety/risk.h; docs/theory.md 4.1, 4.2, 4.5, 4.7).
 *
 * With t_jh = y v_jh (exact in double) for the example at hand, an example adds to the integer sums
 *   of the vote    its errors and ties; max_j e_j with e_j = E_Q l_j, sum_j e_j^2; the TV term
 *   of voter h     sum_j l_jh, max_j l_jh, l at the j with the largest e_j, and the same where P is right
 *   of its class   that it was seen, and whether the vote is right on all j.
 * With K > 2 classes it has n (K-1) columns (j,k) with t = v_jkh (add.c), and they take the place of the j
 * above, except in three sums over j: those of l_jh, also where P is right, and of e_j^2. There l_jh is max_k
 * l_jkh and e_j its mean under Q, from a second array with t_jh = min_k t_jkh; and a vote on j counts once,
 * by the least of its K - 1 sums.
 *
 * Rounding. A single loss is 2^31 - floor(2^31 t) units of 2^-32: exactly the loss rounded up, since scaling
 * by 2^31 is exact and floor is of the exact number. Sums of these integers stay below 2^53 within an example
 * (n <= 2^20), so they are exact in double too, in any order.
 * Expectations under Q are sums of terms that are >= 0, so their rounding errors are relative: k of them are
 * covered by the factor surety_simplex_raise(.., k), which also makes up for Q not summing to exactly 1,
 * before the result is rounded up to a unit. They are taken over the rounded losses, so that inequalities
 * between the surrogates (Rbar <= Abar <= Gmax <= Abar + TV) survive the rounding. With K > 2 Rbar takes its
 * maximum over k inside the mean under Q and Abar outside: Rbar <= Gmax still, but neither is below the
 * other. Since the TV term is computed as the weight of the voters that pi_i misses, and not as 1 minus the
 * rest, no mismatch gives exactly 0, for instance always for one column.
 *
 * Order. Within an example everything happens in a fixed order; between examples there is only integer
 * addition.
 */
#include "risk/example.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "num/level.h"
#include "risk/simplex.h"

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

static size_t classes_of(const surety_risk_settings *s) {
    return s->classes ? s->classes : 2;
}

static surety_status check_settings(const surety_risk_settings *s, surety_error *err) {
    size_t K = classes_of(s);
    if (s->voter_count < 1) return surety_fail(err, SURETY_E_USAGE, "a vote needs at least one voter");
    if (K < 2 || K > SURETY_RISK_CLASSES)
        return surety_fail(err, SURETY_E_USAGE, "%zu classes; 2 to %d are possible", K, SURETY_RISK_CLASSES);
    if (s->samples < 1 || s->samples > SURETY_RISK_SAMPLES / (K - 1))
        return surety_fail(err, SURETY_E_USAGE, "%zu perturbations per example; 1 to %llu are possible",
                           s->samples, (unsigned long long)SURETY_RISK_SAMPLES / (K - 1));
    if (!s->posterior) return surety_fail(err, SURETY_E_USAGE, "no posterior given");
    if (s->prior) SURETY_TRY(surety_distribution_validate(s->prior, s->voter_count, "prior", err));
    return SURETY_OK;
}

/* An empty t (H, n padded) and the arrays of c. */
static surety_status allocate_count(surety_risk *a, size_t n, surety_count *c, double **t, double **counted,
                                    surety_error *err) {
    size_t H = a->H, padded = (n + SURETY_COUNT_LANES - 1) / SURETY_COUNT_LANES * SURETY_COUNT_LANES;
    if (padded > SIZE_MAX / H) return surety_fail(err, SURETY_E_MEMORY, "%zu x %zu votes are too many", n, H);
    SURETY_TRY(surety_alloc(t, padded * H, sizeof **t, err));
    SURETY_TRY(surety_alloc(counted, 4 * padded + 3 * H, sizeof **counted, err));
    for (size_t k = 0; k < padded * H; k++) (*t)[k] = 1;
    *c = (surety_count){.H = H, .n = padded, .q = a->q, .p = a->p, .w = a->w, .t = *t};
    double *next = *counted, **rows[] = {&c->vote, &c->prior, &c->expect, &c->missed};
    double **voters[] = {&c->loss, &c->right_loss, &c->low};
    for (size_t i = 0; i < 4; i++, next += padded) *rows[i] = next;
    for (size_t i = 0; i < 3; i++, next += H) *voters[i] = next;
    return SURETY_OK;
}

static surety_status allocate(surety_risk *a, surety_error *err) {
    size_t H = a->H;
    a->sum_count = surety_risk_sums(H, a->K);
    SURETY_TRY(surety_alloc(&a->q, H, sizeof *a->q, err));
    SURETY_TRY(surety_alloc(&a->p, H, sizeof *a->p, err));
    SURETY_TRY(surety_alloc(&a->w, H, sizeof *a->w, err));
    SURETY_TRY(surety_alloc(&a->sums, a->sum_count, sizeof *a->sums, err));
    SURETY_TRY(surety_alloc(&a->scores, a->K, sizeof *a->scores, err));
    SURETY_TRY(allocate_count(a, a->columns, &a->c, &a->t, &a->counted, err));
    a->by_j = a->c;
    return a->K == 2 ? SURETY_OK : allocate_count(a, a->n, &a->by_j, &a->least, &a->grouped, err);
}

surety_status surety_risk_new(const surety_risk_settings *settings, surety_risk **out, surety_error *err) {
    *out = NULL;
    SURETY_TRY(check_settings(settings, err));
    surety_risk *a = NULL;
    SURETY_TRY(surety_alloc(&a, 1, sizeof *a, err));
    a->H = settings->voter_count;
    a->n = settings->samples;
    a->K = classes_of(settings);
    a->columns = a->n * (a->K - 1);
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
    void *const parts[] = {a->q, a->p, a->w, a->sums, a->t, a->counted, a->least, a->grouped, a->scores};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    surety_free(a);
}

surety_status surety_risk_reset(surety_risk *a, const double *posterior, surety_error *err) {
    if (posterior) {
        SURETY_TRY(surety_distribution_validate(posterior, a->H, "posterior", err));
        memcpy(a->q, posterior, a->H * sizeof *a->q);
        for (size_t h = 0; h < a->H; h++) a->w[h] = surety_simplex_weight(a->q[h]);
        a->raise = surety_simplex_raise(a->q, a->H, 2 * (double)a->H + (double)a->columns + 16);
    }
    memset(a->sums, 0, a->sum_count * sizeof *a->sums);
    return SURETY_OK;
}

/* What the votes on the perturbations come to: the least of the K - 1 sums decides. */
static void take_votes(surety_risk *a) {
    const surety_count *c = &a->c;
    a->wrong = a->tied = a->prior_wrong = 0;
    a->worst = 0;
    a->e_hi = -1;
    for (size_t j = 0, k = 0; j < a->n; j++) {
        double vote = c->vote[k], prior = c->prior[k];
        for (size_t end = k + a->K - 1; k < end; k++) {
            double expect = c->expect[k] / (double)SURETY_LOSS_ONE;
            if (expect > a->e_hi) a->e_hi = expect, a->worst = k;
            vote = c->vote[k] < vote ? c->vote[k] : vote;
            prior = c->prior[k] < prior ? c->prior[k] : prior;
        }
        a->wrong += vote < 0;
        a->tied += vote == 0;
        a->prior_wrong += !(prior > 0);
        a->by_j.prior[j] = prior;
    }
}

static double sum_of_squares(const surety_risk *a) {
    double squares = 0;
    for (size_t j = 0; j < a->n; j++) {
        double expect = a->by_j.expect[j] / (double)SURETY_LOSS_ONE;
        squares += expect * expect;
    }
    return squares;
}

/* TV with the best pi_i: all mass on the column that is a worst one for most weight; what it misses. */
static double total_variation(const surety_risk *a) {
    double least = INFINITY;
    for (size_t k = 0; k < a->columns; k++) least = a->c.missed[k] < least ? a->c.missed[k] : least;
    return least;
}

static void add_head(surety_risk *a, unsigned y) {
    int64_t *sums = a->sums, *classes = array_of(a, SURETY_RISK_ARRAYS);
    int failed = a->wrong + a->tied > 0;
    sums[SURETY_RISK_EXAMPLES]++;
    sums[SURETY_RISK_WRONG] += a->wrong;
    sums[SURETY_RISK_TIED] += a->tied;
    sums[SURETY_RISK_MAX_WRONG] += a->wrong > 0;
    sums[SURETY_RISK_MAX_TIED] += a->wrong == 0 && a->tied > 0;
    sums[SURETY_RISK_PRIOR_WRONG] += a->prior_wrong;
    sums[SURETY_RISK_PRIOR_MAX_WRONG] += a->prior_wrong > 0;
    sums[SURETY_RISK_ABAR] += units_up(a->e_hi * a->raise, 1);
    sums[SURETY_RISK_TANDEM] += units_up(sum_of_squares(a) * a->raise * a->raise, (double)a->n);
    sums[SURETY_RISK_PRIOR_COINS] += a->coin * a->n < (uint64_t)a->prior_wrong << 32;
    sums[SURETY_RISK_TV] += units_up(total_variation(a) * a->raise, 1);
    classes[y]++;
    classes[a->K + y] += failed;
}

static void add_voters(surety_risk *a) {
    int64_t *loss = array_of(a, SURETY_RISK_LOSS), *max_loss = array_of(a, SURETY_RISK_MAX_LOSS);
    int64_t *worst_loss = array_of(a, SURETY_RISK_WORST_LOSS), *errors = array_of(a, SURETY_RISK_ERRORS);
    int64_t *anchored_loss = array_of(a, SURETY_RISK_ANCHORED_LOSS);
    int64_t *anchored_max = array_of(a, SURETY_RISK_ANCHORED_MAX);
    int64_t *anchored_errors = array_of(a, SURETY_RISK_ANCHORED_ERRORS);
    int64_t *coins = array_of(a, SURETY_RISK_COINS), *max_coins = array_of(a, SURETY_RISK_MAX_COINS);
    int64_t coin = (int64_t)a->coin, n = (int64_t)a->n;
    int anchored = a->prior_wrong == 0;
    for (size_t h = 0; h < a->H; h++) {
        int64_t most = (int64_t)surety_loss_units(a->c.low[h]);
        int64_t error = a->c.low[h] <= 0;
        loss[h] += (int64_t)a->by_j.loss[h];
        max_loss[h] += most;
        worst_loss[h] += (int64_t)surety_loss_units(a->t[h * a->c.n + a->worst]);
        errors[h] += error;
        anchored_loss[h] += (int64_t)a->by_j.right_loss[h];
        anchored_max[h] += anchored ? most : 0;
        anchored_errors[h] += anchored ? error : 0;
        coins[h] += coin * n < (int64_t)a->by_j.loss[h]; /* u < mean_j l, in units: both sides are exact */
        max_coins[h] += coin < most;
    }
}

void surety_risk_coin(surety_risk *a, uint32_t coin) {
    a->has_coins = 1;
    a->coin = coin;
}

static surety_status check_count(const surety_risk *a, int64_t examples, surety_error *err) {
    if ((uint64_t)examples <= SURETY_RISK_VOTES / a->n) return SURETY_OK;
    return surety_fail(err, SURETY_E_INPUT, "more than %llu votes of a voter cannot be summed exactly",
                       (unsigned long long)SURETY_RISK_VOTES);
}

surety_status surety_risk_check(const surety_risk *a, unsigned y, surety_error *err) {
    if (y >= a->K)
        return surety_fail(err, SURETY_E_INPUT, "the label is class %u, of classes 0 to %zu", y, a->K - 1);
    return check_count(a, a->sums[SURETY_RISK_EXAMPLES] + 1, err);
}

void surety_risk_count(surety_risk *a, unsigned y) {
    a->kernels->count(&a->c);
    take_votes(a);
    if (a->K > 2) a->kernels->losses(&a->by_j);
    add_head(a, y);
    add_voters(a);
}

surety_status surety_risk_merge(surety_risk *into, const surety_risk *from, surety_error *err) {
    size_t weights = into->H * sizeof *into->q;
    if (into->H != from->H || into->n != from->n || into->K != from->K ||
        into->signed_votes != from->signed_votes || into->has_prior != from->has_prior ||
        memcmp(into->q, from->q, weights) || memcmp(into->p, from->p, weights))
        return surety_fail(err, SURETY_E_USAGE, "accumulators of different votes cannot be merged");
    SURETY_TRY(check_count(into, into->sums[SURETY_RISK_EXAMPLES] + from->sums[SURETY_RISK_EXAMPLES], err));
    into->has_coins |= from->has_coins;
    for (size_t k = 0; k < into->sum_count; k++) into->sums[k] += from->sums[k];
    return SURETY_OK;
}

surety_status surety_risk_gather(surety_risk *a, const surety_run *run, surety_error *err) {
    SURETY_TRY(surety_sum_everyone(run, a->sums, a->sum_count, err));
    return check_count(a, a->sums[SURETY_RISK_EXAMPLES], err); /* of each process they were few enough */
}

surety_status surety_risk_result(const surety_risk *a, surety_risks *out, surety_error *err) {
    int64_t *sums = NULL;
    *out = (surety_risks){0};
    SURETY_TRY(surety_alloc(&sums, a->sum_count, sizeof *sums, err));
    memcpy(sums, a->sums, a->sum_count * sizeof *sums);
    surety_status status = surety_risks_from_sums(out, sums, a->H, a->n, a->K, a->q, err);
    surety_free(sums);
    if (status != SURETY_OK) return status;
    out->signed_votes = a->signed_votes;
    out->has_prior = a->has_prior;
    out->has_coins = a->has_coins;
    return SURETY_OK;
}

/* ---- units of several rows ---- */

uint8_t surety_risk_verdict(const surety_risk *a) {
    return (uint8_t)((a->wrong > 0 ? SURETY_VERDICT_WRONG : 0) | (a->tied > 0 ? SURETY_VERDICT_TIED : 0) |
                     (a->prior_wrong > 0 ? SURETY_VERDICT_PRIOR : 0));
}

/* Every loss 1, every vote wrong. */
static void fill_largest(int64_t *sums, const surety_risk *a, size_t units) {
    int64_t m = (int64_t)units, n = (int64_t)a->n, one = (int64_t)SURETY_LOSS_ONE;
    sums[SURETY_RISK_EXAMPLES] = m;
    sums[SURETY_RISK_WRONG] = sums[SURETY_RISK_PRIOR_WRONG] = m * n;
    sums[SURETY_RISK_ABAR] = sums[SURETY_RISK_TV] = m * one;
    sums[SURETY_RISK_TANDEM] = m * n * one;
    sums[SURETY_RISK_PRIOR_COINS] = m;
    for (size_t h = 0; h < a->H; h++)
        for (size_t k = 0; k < SURETY_RISK_ARRAYS; k++) {
            int each = k == SURETY_RISK_LOSS || k == SURETY_RISK_ANCHORED_LOSS; /* summed over j */
            int64_t most = k >= SURETY_RISK_LOSSES ? m : each ? m * n * one : m * one;
            sums[SURETY_RISK_HEAD + k * a->H + h] = most;
        }
}

surety_status surety_risks_of_units(surety_risks *out, const uint8_t *verdicts, size_t units,
                                    const surety_risk *like, surety_error *err) {
    int64_t *sums = NULL;
    *out = (surety_risks){0};
    if (units > SURETY_RISK_VOTES / like->n)
        return surety_fail(err, SURETY_E_INPUT, "%zu units are too many to be summed exactly", units);
    SURETY_TRY(surety_alloc(&sums, like->sum_count, sizeof *sums, err));
    fill_largest(sums, like, units);
    size_t classes = SURETY_RISK_HEAD + SURETY_RISK_ARRAYS * like->H;
    memcpy(sums + classes, like->sums + classes, 2 * like->K * sizeof *sums);
    for (size_t i = 0; i < units; i++) {
        int wrong = verdicts[i] & SURETY_VERDICT_WRONG;
        sums[SURETY_RISK_MAX_WRONG] += wrong ? 1 : 0;
        sums[SURETY_RISK_MAX_TIED] += !wrong && verdicts[i] & SURETY_VERDICT_TIED ? 1 : 0;
        sums[SURETY_RISK_PRIOR_MAX_WRONG] += verdicts[i] & SURETY_VERDICT_PRIOR ? 1 : 0;
    }
    surety_status status = surety_risks_from_sums(out, sums, like->H, like->n, like->K, like->q, err);
    surety_free(sums);
    out->signed_votes = like->signed_votes;
    out->has_prior = like->has_prior;
    out->has_coins = like->has_coins;
    return status;
}
