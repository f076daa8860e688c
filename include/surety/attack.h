/* surety/attack.h - what a vote has to withstand: perturbations that try to make it fail (docs/theory.md 3),
 * or every point of a ball at once (8).
 *
 * Every attack is a start, a number of steps along a direction of the gradient of the linear loss
 * 1/2 (1 - y sum_h Q(h) h(x)), or 1/2 (1 - min_k sum_h Q(h) (h_y(x) - h_k(x))) of K > 2 classes, a
 * projection, and for some attacks noise at the end. Every returned point lies in the box exactly and in the
 * ball: its true distance, as real arithmetic measures it, is at most the radius. A perturbation depends on
 * its own example, the vote and random numbers addressed to the example's row: never on the other examples,
 * on threads or on batches.
 */
#ifndef SURETY_ATTACK_H
#define SURETY_ATTACK_H

#include "surety/data.h"
#include "surety/voters.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum surety_threat_kind {
    SURETY_ATTACK_NONE,   /* x itself */
    SURETY_ATTACK_UNIF,   /* a point drawn uniformly from the ball */
    SURETY_ATTACK_FGSM,   /* one step of the full radius */
    SURETY_ATTACK_IFGSM,  /* k steps from x */
    SURETY_ATTACK_PGD,    /* k steps from a random point */
    SURETY_ATTACK_IFGSMU, /* ifgsm, then n points around it */
    SURETY_ATTACK_PGDU,   /* pgd, then n points around it */
    SURETY_ATTACK_APGD,   /* ifgsm, pgd, then twice as many steps of a length that adapts, from the best point
                             so far and from random ones: the strongest */
    SURETY_ATTACK_SEARCH, /* a search over thresholds for a point at which the vote is wrong: kinds that can
                             search, such as trees, which have no gradient */
    SURETY_WORST_CASE,    /* every point of the ball: no attack, nothing is sampled */
    SURETY_THREATS
} surety_threat_kind;

/* The facts about a kind. */
typedef struct surety_threat_info {
    const char *name;    /* "pgd", "worst-case" */
    const char *defense; /* the name as a training's defense: the same, or "certified" (the worst case) */
    int starts;          /* 1: from a random point of the ball */
    enum { SURETY_STEPS_NONE, SURETY_STEPS_ONE, SURETY_STEPS_MANY } steps;
    int noise;                /* 1: n points around where it ends */
    int adapts;               /* 1: several passes, see SURETY_ATTACK_APGD */
    int searches;             /* 1: takes a budget */
    surety_threat_kind plain; /* the same without noise */
} surety_threat_info;

SURETY_API const surety_threat_info *surety_threat_about(surety_threat_kind kind);

/* The kind of that name, or of that name as a defense. Unknown names are SURETY_E_USAGE with the nearest
 * known one suggested. */
SURETY_API surety_status surety_threat_parse(const char *name, surety_threat_kind *kind, surety_error *err);
SURETY_API surety_status surety_defense_parse(const char *name, surety_threat_kind *kind, surety_error *err);
SURETY_API const char *surety_threat_name(surety_threat_kind kind);
SURETY_API const char *surety_defense_name(surety_threat_kind kind);
SURETY_API surety_threat_kind surety_threat_plain(surety_threat_kind kind);

enum { SURETY_BUDGET_MOST = 1000000000 };

/* An attack with its settings, or the worst case, which reads ball and budget alone; and the ball. What is
 * out of its range is SURETY_E_USAGE (surety_threat_validate), also where the kind does not use it, but for
 * steps.
 */
typedef struct surety_threat {
    surety_threat_kind kind;
    surety_ball ball;
    /* of attacks: */
    size_t steps;     /* k, 1 to 1000000, where the kind takes many */
    double step_size; /* at least 0; 0: 2.5 radius / steps, which can cross the ball and come back */
    double noise;     /* half width of the u-attacks' noise, at least 0; in units of a tolerance */
    size_t samples;   /* n, perturbations per example of the u-attacks, 1 to 2^24 - 1; the others give 1 */
    size_t restarts;  /* attacks with a random start: so many starts, the best result is kept; 1 to 4095.
                         apgd: so many pairs of adaptive passes, 1 to 2047 */
    uint64_t budget;  /* search, and the worst case of kinds that search: steps for an example, at most
                         SURETY_BUDGET_MOST, so that a result never depends on the machine; 0: none, which
                         leaves the worst case treewise */
    uint64_t seed;    /* below 2^63 */
    uint32_t epoch;   /* below 2^20: of a training, part of the address of the random numbers */
    int early_stop;   /* 1: an example stops where its vote is wrong. 0 only for benchmarks */
} surety_threat;

/* pgd in the default ball, 20 steps, noise 0.01, 100 samples, 1 restart, a budget of 1000, seed 0. */
SURETY_API surety_threat surety_threat_defaults(void);
SURETY_API surety_status surety_threat_validate(const surety_threat *threat, surety_error *err);

/* SURETY_E_USAGE, with what to use instead, if voters of this kind cannot be attacked this way. */
SURETY_API surety_status surety_threat_fits(surety_threat_kind kind, const surety_voters *voters,
                                            surety_error *err);

/* The strongest attack on voters of this kind: apgd, search, or without either unif. */
SURETY_API surety_threat_kind surety_threat_strongest(const surety_voters *voters);

/* Perturbations per example: samples for the u-attacks, 1 for the others. */
SURETY_API size_t surety_threat_samples(const surety_threat *threat);

/* The step size in use: step_size, or 2.5 radius / steps where that is 0. (apgd: of its first two passes.) */
SURETY_API double surety_threat_step(const surety_threat *threat);

#ifdef __cplusplus
}
#endif
#endif
