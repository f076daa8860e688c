/* The ways into an accumulator (surety/risk.h): the votes on one example become columns t
 * (docs/theory.md 4.1, 4.7).
 *
 * Two classes: t = y v, exact in double. K classes: t = s_y - s_k for each class k other than y, the double
 * nearest to that difference; it lies in [-1,1], and it is this double that the vote sums and whose loss is
 * counted. Exchanging y and k changes only the sign, so the sums with which y beats k and k beats y are each
 * other's negatives.
 */
#include <math.h>

#include "risk/example.h"

static const double SUM_SLACK =
    1e-5; /* how far the scores of a voter may be from the sum 1: float32 and K = 255 */

/* ---- two classes ---- */

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

static surety_status check_binary(const surety_risk *a, int y, surety_error *err) {
    if (a->K != 2)
        return surety_fail(err, SURETY_E_USAGE, "votes in [-1, 1] are of two classes, not of %zu", a->K);
    if (y != 1 && y != -1) return surety_fail(err, SURETY_E_INPUT, "the label is %d, not -1 or +1", y);
    return surety_risk_check(a, y > 0, err);
}

/* a->t holds y v: checked, made signs if asked for, added. */
static surety_status take_binary(surety_risk *a, int y, surety_error *err) {
    if (!a->kernels->check(a->t, a->H * a->c.n, a->signed_votes)) return bad_vote(a, y, err);
    surety_risk_count(a, y > 0);
    return SURETY_OK;
}

/* t[h, j] = y v from v[j*by_j + h*by_h]. */
#define FILL(v, by_j, by_h)               \
    for (size_t h = 0; h < a->H; h++)     \
        for (size_t j = 0; j < a->n; j++) \
    a->t[h * a->c.n + j] = (double)y * (double)(v)[j * (by_j) + h * (by_h)]

surety_status surety_risk_add(surety_risk *a, const float *votes, size_t stride, int y, surety_error *err) {
    SURETY_TRY(check_binary(a, y, err));
    FILL(votes, stride, 1);
    return take_binary(a, y, err);
}

surety_status surety_risk_add_columns(surety_risk *a, const float *votes, size_t stride, int y,
                                      surety_error *err) {
    SURETY_TRY(check_binary(a, y, err));
    FILL(votes, 1, stride);
    return take_binary(a, y, err);
}

surety_status surety_risk_add_double(surety_risk *a, const double *votes, size_t stride, int y,
                                     surety_error *err) {
    SURETY_TRY(check_binary(a, y, err));
    FILL(votes, stride, 1);
    return take_binary(a, y, err);
}

/* ---- K classes ---- */

/* The columns of voter h on perturbation j are filled: by_j gets the least of them. */
static void group(surety_risk *a, size_t h, size_t j) {
    const double *t = a->t + h * a->c.n + j * (a->K - 1);
    double least = t[0];
    for (size_t c = 1; c < a->K - 1; c++) least = t[c] < least ? t[c] : least;
    if (a->least) a->least[h * a->by_j.n + j] = least;
}

/* The voter names a class. */
static void put_label(surety_risk *a, size_t h, size_t j, unsigned y, unsigned label) {
    double *t = a->t + h * a->c.n + j * (a->K - 1);
    for (unsigned k = 0; k < a->K; k++)
        if (k != y) *t++ = (double)(label == y) - (double)(label == k);
    group(a, h, j);
}

/* The class of the largest score, or SURETY_NO_CLASS. */
static unsigned label_of(const double *scores, size_t K) {
    unsigned best = 0, tied = 0;
    for (unsigned k = 1; k < K; k++) {
        if (scores[k] == scores[best]) tied = 1;
        if (scores[k] > scores[best]) best = k, tied = 0;
    }
    return tied ? SURETY_NO_CLASS : best;
}

/* The voter gives the scores in a->scores. */
static void put_scores(surety_risk *a, size_t h, size_t j, unsigned y) {
    if (a->signed_votes) {
        put_label(a, h, j, y, label_of(a->scores, a->K));
        return;
    }
    double *t = a->t + h * a->c.n + j * (a->K - 1);
    for (unsigned k = 0; k < a->K; k++)
        if (k != y) *t++ = a->scores[y] - a->scores[k];
    group(a, h, j);
}

size_t surety_scores_first_bad(const double *scores, size_t K, double *sum) {
    *sum = 0;
    for (size_t k = 0; k < K; k++) {
        if (!(scores[k] >= 0 && scores[k] <= 1)) return k;
        *sum += scores[k];
    }
    return K;
}

int surety_scores_sum_fits(double sum) {
    return fabs(sum - 1) <= SUM_SLACK;
}

/* Refuses a->scores if they are none. */
static surety_status check_scores(const surety_risk *a, size_t h, size_t j, int with_sum, surety_error *err) {
    double sum;
    size_t bad = surety_scores_first_bad(a->scores, a->K, &sum);
    if (bad < a->K) {
        surety_fail(err, SURETY_E_INPUT, "a score is %g", a->scores[bad]);
        surety_fail_place(err, "perturbation %zu, voter %zu, class %zu", j, h, bad);
        surety_fail_expected(err, "scores in [0, 1]");
        return SURETY_E_INPUT;
    }
    if (!with_sum || surety_scores_sum_fits(sum)) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the scores of a voter sum to %g", sum);
    surety_fail_place(err, "perturbation %zu, voter %zu", j, h);
    surety_fail_expected(err, "%zu scores with the sum 1, within 1e-5", a->K);
    return SURETY_E_INPUT;
}

/* Lays an example out, perturbation by perturbation, from s[j*by_j + h*by_h + k*by_k]. */
#define FILL_SCORES(s, by_j, by_h, by_k, with_sum)                                \
    for (size_t j = 0; j < a->n; j++)                                             \
        for (size_t h = 0; h < a->H; h++) {                                       \
            for (size_t k = 0; k < a->K; k++)                                     \
                a->scores[k] = (double)(s)[j * (by_j) + h * (by_h) + k * (by_k)]; \
            SURETY_TRY(check_scores(a, h, j, with_sum, err));                     \
            put_scores(a, h, j, y);                                               \
        }

surety_status surety_risk_add_scores(surety_risk *a, const float *scores, size_t stride, unsigned y,
                                     surety_error *err) {
    SURETY_TRY(surety_risk_check(a, y, err));
    FILL_SCORES(scores, stride, a->K, 1, 1)
    surety_risk_count(a, y);
    return SURETY_OK;
}

surety_status surety_risk_add_scores_double(surety_risk *a, const double *scores, size_t stride, unsigned y,
                                            surety_error *err) {
    SURETY_TRY(surety_risk_check(a, y, err));
    FILL_SCORES(scores, stride, a->K, 1, 1)
    surety_risk_count(a, y);
    return SURETY_OK;
}

surety_status surety_risk_add_score_columns(surety_risk *a, const float *scores, size_t ld, unsigned y,
                                            surety_error *err) {
    SURETY_TRY(surety_risk_check(a, y, err));
    FILL_SCORES(scores, 1, a->K * ld, ld, 0)
    surety_risk_count(a, y);
    return SURETY_OK;
}

surety_status surety_risk_add_labels(surety_risk *a, const uint8_t *labels, size_t stride, unsigned y,
                                     surety_error *err) {
    SURETY_TRY(surety_risk_check(a, y, err));
    for (size_t j = 0; j < a->n; j++)
        for (size_t h = 0; h < a->H; h++) {
            unsigned label = labels[j * stride + h];
            if (label >= a->K && label != SURETY_NO_CLASS) {
                surety_fail(err, SURETY_E_INPUT, "a voter names class %u", label);
                surety_fail_place(err, "perturbation %zu, voter %zu", j, h);
                surety_fail_expected(err, "classes 0 to %zu, or %d for none", a->K - 1, SURETY_NO_CLASS);
                return SURETY_E_INPUT;
            }
            put_label(a, h, j, y, label);
        }
    surety_risk_count(a, y);
    return SURETY_OK;
}

surety_status surety_risk_add_limits(surety_risk *a, const float *limits, size_t ld, unsigned y,
                                     surety_error *err) {
    if (a->n != 1)
        return surety_fail(err, SURETY_E_USAGE, "limits are one per voter and class, not %zu", a->n);
    SURETY_TRY(surety_risk_check(a, y, err));
    for (size_t h = 0; h < a->H; h++) {
        for (size_t c = 0; c < a->K - 1; c++) {
            double v = (double)limits[(h * (a->K - 1) + c) * ld];
            if (!(fabs(v) <= 1) || (a->signed_votes && v != -1 && v != 0 && v != 1)) {
                surety_fail(err, SURETY_E_INPUT, "a limit is %g", v);
                surety_fail_place(err, "voter %zu, class %zu", h, c + (c >= y));
                surety_fail_expected(err, a->signed_votes ? "limits -1, 0 or 1" : "limits in [-1, 1]");
                return SURETY_E_INPUT;
            }
            a->t[h * a->c.n + c] = v;
        }
        group(a, h, 0);
    }
    surety_risk_count(a, y);
    return SURETY_OK;
}
