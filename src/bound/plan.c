/* How many examples a promise needs (docs/theory.md 4.8).
 *
 * With m examples the promise r is printed iff at most k(m) of them fail, k(m) = max { k : P[Bin(m,r) <= k]
 * <= delta }. At a true risk of e its chance is P[Bin(m,e) <= k(m)]. k(m) grows by steps; while it stands
 * still the chance falls with m, so the chance is a sawtooth, and only the last m of each step, m_k - 1 with
 * m_k = min { m : k(m) >= k }, has to be looked at.
 *
 * From the top: with t between e and r and c = min(kl(t||r), kl(t||e)), Chernoff's bound gives, for every m
 * >= max(ln 1/delta, ln 1/(1 - chance)) / c, that t m failures still allow the promise and are not exceeded
 * with the wanted chance. From there the steps are walked down until one of them ends with too small a
 * chance. */
#include "bound/kl.h"

surety_plan surety_plan_defaults(void) {
    return (surety_plan){.promise = 0.05, .expected = 0.02, .chance = 0.9, .delta = 0.05};
}

static surety_status validate(const surety_plan *p, surety_error *err) {
    if (!(p->promise > 0 && p->promise < 1))
        return surety_fail(err, SURETY_E_USAGE, "a promise is above 0 and below 1, not %g", p->promise);
    if (!(p->expected >= 0 && p->expected < 1))
        return surety_fail(err, SURETY_E_USAGE, "an expected risk is at least 0 and below 1, not %g",
                           p->expected);
    if (!(p->chance > 0 && p->chance < 1))
        return surety_fail(err, SURETY_E_USAGE, "a chance is above 0 and below 1, not %g", p->chance);
    if (!(p->delta > 0 && p->delta < 1))
        return surety_fail(err, SURETY_E_USAGE, "delta is above 0 and below 1, not %g", p->delta);
    return SURETY_OK;
}

/* Do k failures among m allow the promise? P[Bin(m,r) <= k] = P[at least m - k successes, each of chance 1 -
 * r]. */
static int allows(const surety_plan *p, uint64_t k, uint64_t m) {
    return k < m && surety_binomial_tail(m - k, m, 1 - p->promise) <= p->delta;
}

/* Are at most k failures among m as likely as wanted? */
static int likely(const surety_plan *p, uint64_t k, uint64_t m) {
    return 1 - surety_binomial_tail(k + 1, m, p->expected) >= p->chance;
}

/* The smallest m that allows k failures; `enough` allows them. */
static uint64_t first_allowing(const surety_plan *p, uint64_t k, uint64_t enough) {
    uint64_t few = k;
    while (enough - few > 1) {
        uint64_t middle = few + (enough - few) / 2;
        if (allows(p, k, middle))
            enough = middle;
        else
            few = middle;
    }
    return enough;
}

/* k(m) for an m that allows 0 failures. */
static uint64_t most_allowed(const surety_plan *p, uint64_t m) {
    uint64_t k = 0, many = m;
    while (many - k > 1) {
        uint64_t middle = k + (many - k) / 2;
        if (allows(p, middle, m))
            k = middle;
        else
            many = middle;
    }
    return k;
}

/* An m from which on the promise has its chance, by Chernoff's bound; t by bisection. */
static double surely_enough(const surety_plan *p) {
    double low = p->expected, high = p->promise;
    for (int i = 0; i < 60; i++) {
        double t = low + (high - low) / 2;
        if (surety_kl(t, p->promise) > surety_kl(t, p->expected))
            low = t;
        else
            high = t;
    }
    double need = fmax(-log(p->delta), -log(1 - p->chance));
    return 1 + need / surety_kl(p->expected > 0 ? low : 0, p->promise);
}

surety_status surety_plan_examples(const surety_plan *p, uint64_t *examples, surety_error *err) {
    SURETY_TRY(validate(p, err));
    if (p->expected >= p->promise) {
        surety_fail(err, SURETY_E_USAGE,
                    "at an expected risk of %g no number of examples allows the promise %g", p->expected,
                    p->promise);
        surety_fail_expected(err, "a promise above the expected risk");
        return SURETY_E_USAGE;
    }
    double top = ceil(surely_enough(p));
    if (!(top <= SURETY_PLAN_MOST)) {
        surety_fail(err, SURETY_E_USAGE, "the promise %g is too near to the expected risk %g", p->promise,
                    p->expected);
        surety_fail_expected(err, "a larger promise: this one may need more than %g examples",
                             (double)SURETY_PLAN_MOST);
        return SURETY_E_USAGE;
    }
    uint64_t m = (uint64_t)top;
    for (uint64_t k = most_allowed(p, m);; k--) {
        m = first_allowing(p, k, m); /* every m from here on is good */
        if (k == 0 || !likely(p, k - 1, m - 1)) break;
    }
    *examples = m;
    return SURETY_OK;
}

/* The smallest promise is that of the largest number of failures that the chance has to allow for. */
surety_status surety_plan_promise(const surety_plan *p, uint64_t examples, double *promise,
                                  surety_error *err) {
    surety_plan valid = *p;
    valid.promise = 0.5; /* not read */
    SURETY_TRY(validate(&valid, err));
    if (examples < 1 || examples > SURETY_M_LIMIT)
        return surety_fail(err, SURETY_E_USAGE, "there are 1 to 2^32 examples, not %llu",
                           (unsigned long long)examples);
    uint64_t low = 0, high = examples;
    while (low < high) {
        uint64_t k = low + (high - low) / 2;
        if (k == examples || likely(p, k, examples))
            high = k;
        else
            low = k + 1;
    }
    *promise = surety_binomial_limit(low, examples, p->delta);
    return SURETY_OK;
}
