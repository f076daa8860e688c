/* What the simulations of coverage share: the verdict on a bound, what it is held against, and inputs. */
#ifndef SURETY_TESTS_COVERAGE_H
#define SURETY_TESTS_COVERAGE_H

#include "check.h"

#include <math.h>

#include "surety/risk.h"

/* ---- the verdict ---- */

/* P[Bin(draws, delta) >= bad]. */
static inline double tail(long draws, long bad, double delta) {
    double n = (double)draws, sum = 0;
    for (long k = bad; k <= draws; k++) {
        double ln = lgamma(n + 1) - lgamma((double)k + 1) - lgamma(n - (double)k + 1) +
                    (double)k * log(delta) + (n - (double)k) * log1p(-delta);
        sum += exp(ln);
    }
    return sum;
}

typedef struct tally {
    double delta;
    long draws, bad[SURETY_BOUNDS], seen[SURETY_BOUNDS];
} tally;

static inline int fails(const tally *t, int id) {
    return tail(t->seen[id], t->bad[id], t->delta) < 1e-6;
}

static inline void holds(const char *law, const tally *t) {
    for (int id = 0; id < SURETY_BOUNDS; id++)
        check(!fails(t, id), "%s, %s: broken on %ld of %ld draws", law, surety_bound_list()[id].name,
              t->bad[id], t->seen[id]);
}

static inline int among(const int *ids, int id) {
    for (; *ids >= 0; ids++)
        if (*ids == id) return 1;
    return 0;
}

static inline void must_fail(const char *mutant, const tally *t, const int *ids) {
    for (int id = 0; id < SURETY_BOUNDS; id++)
        if (among(ids, id))
            check(fails(t, id), "%s without %s was broken on only %ld of %ld draws: the test is blind",
                  surety_bound_list()[id].name, mutant, t->bad[id], t->seen[id]);
}

#define B(NAME) SURETY_BOUND_##NAME
#define PAC_BAYES                                                                               \
    B(CHROMATIC_SEEGER), B(CHROMATIC_MCALLESTER), B(AVERAGE_MAX), B(AVERAGE_MAX_TV), B(SEEGER), \
        B(AVERAGE_MAX_SEEGER), B(TANDEM), B(WORST_CASE)
#define UNIONS B(VOTERS_UNION), B(AVERAGE_MAX_VOTERS_UNION), B(WORST_CASE_UNION)
#define FROZEN B(VOTE_FROZEN_AVERAGED), B(VOTE_FROZEN_MAX), B(WORST_CASE_FROZEN)
#define ANCHORED B(VOTE_ANCHORED_AVERAGED), B(VOTE_ANCHORED_MAX), B(WORST_CASE_ANCHORED)
/* What these simulations have no evidence for: test_coins.c does. */
static inline int needs_more(int id) {
    return (surety_bound_list()[id].evidence &
            (SURETY_NEEDS_COINS | SURETY_NEEDS_PRIOR_COINS | SURETY_NEEDS_DICTATOR)) != 0;
}

#define HELD_OUT B(VOTE_HOLDOUT), B(WORST_CASE_HOLDOUT)

/* ---- truths ---- */

typedef struct truth {
    double rbar, abar, gmax, tandem; /* what surrogates limit */
    double averaged, averaged_max;   /* risks of the vote (of the prior for frozen bounds: there Q is P) */
} truth;

static inline double truth_of_surrogate(int id, const truth *t) {
    if (id == B(AVERAGE_MAX_TV)) return t->abar;
    return surety_bound_list()[id].risk == SURETY_RISK_AVERAGED ? t->rbar : t->gmax;
}

static inline void count(tally *t, const surety_bound_input *in, const truth *truth_) {
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_bound_value v;
        check_ok(surety_bound_compute((surety_bound_id)id, in, &v, &err));
        if (!v.available) continue;
        const surety_bound_info *info = &surety_bound_list()[id];
        double risk = info->risk == SURETY_RISK_AVERAGED ? truth_->averaged : truth_->averaged_max;
        int bad = v.vote < risk;
        if (info->has_surrogate) bad |= v.surrogate < truth_of_surrogate(id, truth_);
        if (id == B(TANDEM)) bad |= v.vote < 4 * truth_->tandem;
        t->bad[id] += bad, t->seen[id]++;
    }
    t->draws++;
}

/* The input of a mutant that believes in times as many examples with the same shares. scaled is scratch. */
static inline surety_bound_input with_m(const surety_bound_input *in, uint64_t times, uint64_t scaled[6][8]) {
    surety_bound_input out = *in;
    surety_evidence *parts[] = {&out.averaged, &out.averaged_max, &out.worst_case};
    out.m *= times;
    for (int k = 0; k < 3; k++) {
        surety_evidence *e = parts[k];
        if (e->prior_wrong != SURETY_ABSENT) e->prior_wrong *= times;
        if (e->held_out_m != SURETY_ABSENT) e->held_out_m *= times, e->held_out_wrong *= times;
        const uint64_t **sums[] = {&e->loss_sum, &e->kept_sum};
        for (int s = 0; s < 2; s++) {
            if (!*sums[s]) continue;
            for (size_t h = 0; h < in->H; h++) scaled[2 * k + s][h] = (*sums[s])[h] * times;
            *sums[s] = scaled[2 * k + s];
        }
    }
    return out;
}

static inline surety_bound_input input_of(const surety_risks *risks, const double *q, const double *p,
                                          double delta) {
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_input in = surety_bound_input_defaults();
    in.delta = delta;
    check_ok(surety_risks_input(risks, q, p, &in, &err));
    surety_risks_evidence(risks, SURETY_RISK_WORST_CASE, &in.worst_case);
    return in;
}

/* E max of n independent draws from x[0..count), each with probability 1/count; count <= 8. */
static inline double mean_of_max(const double *x, int count, int n) {
    double sorted[8], mean = 0;
    memcpy(sorted, x, (size_t)count * sizeof *x);
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && sorted[k] < sorted[k - 1]; k--) {
            double swap = sorted[k];
            sorted[k] = sorted[k - 1], sorted[k - 1] = swap;
        }
    for (int i = 0; i < count; i++)
        mean += sorted[i] * (pow((i + 1.) / count, n) - pow((double)i / count, n));
    return mean;
}

#endif
