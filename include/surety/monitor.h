/* surety/monitor.h - after deployment: does a promise still hold? (docs/theory.md 12.8)
 *
 * Outcomes of the deployed vote are added in the order in which they arrive. While the promise is true, a
 * monitor raises a false alarm *ever* with probability alpha at most; the promise itself is false with
 * probability delta at most. No memory is allocated; the state is the struct, which may be kept in any way.
 *
 *     surety_monitor m;
 *     surety_monitor_start(&m, certificate_value, 0.05, &err);
 *     if (surety_monitor_add(&m, failed)) ...      the promise is refuted
 *     surety_monitor_limit(&m)                     what the outcomes alone say about the risk
 */
#ifndef SURETY_MONITOR_H
#define SURETY_MONITOR_H

#include "surety/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct surety_monitor {
    double promise;        /* r: at most this share fails; 1 or more promises nothing and is never refuted */
    double alpha;          /* chance of a false alarm, ever */
    uint64_t seen, failed; /* outcomes so far */
    uint64_t alarm;        /* the outcome, from 1, at which the promise was refuted; 0: it holds so far */
} surety_monitor;

SURETY_API surety_status surety_monitor_start(surety_monitor *monitor, double promise, double alpha,
                                              surety_error *err);

/* One outcome: failed is 1 if the vote was wrong. Returns 1 if the promise is refuted, now or before. */
SURETY_API int surety_monitor_add(surety_monitor *monitor, int failed);

/* ln M_t: the evidence against the promise; it is refuted at ln(1/alpha). */
SURETY_API double surety_monitor_evidence(const surety_monitor *monitor);

/* A limit on the risk from the outcomes alone. With probability 1 - alpha it is right at every moment, if the
 * risk does not change. */
SURETY_API double surety_monitor_limit(const surety_monitor *monitor);

#ifdef __cplusplus
}
#endif
#endif
