/* What attacks find and what is proved on examples of a set as the radius grows. For pages; no bound comes
 * from it. */
#ifndef SURETY_EVALUATE_PROFILE_H
#define SURETY_EVALUATE_PROFILE_H

#include "surety/evaluate.h"

enum { SURETY_PROFILE_RADII = 9 };

typedef struct surety_profile {
    const surety_model *model; /* borrowed, as is set */
    const surety_set *set;
    size_t m;          /* examples that were looked at */
    uint32_t *index;   /* (m) in their set, ascending */
    double *margin;    /* (m) smallest margin of the clean vote for the true class; <= 0: wrong or tied */
    double *certified; /* (m) largest radius for which the vote was proved right, -1: not even on the example;
                          NULL: this kind of voters cannot prove */
    uint8_t *fooled_at; /* (m) number of the first radius at which the vote was found wrong (0: it is wrong
                           on the example itself); SURETY_PROFILE_RADII: at none */
    double radius[SURETY_PROFILE_RADII]; /* 0 first, ascending, evenly spaced */
    surety_threat threat; /* the attack that looked for failures; its radius is the one in question: the
                             middle one of the grid */
} surety_profile;

/* At most `most` examples, spread evenly over the set. A ball contains every smaller one around the same
 * point: an example that is fooled at one radius is not attacked again at a larger one. threat: ball and
 * settings; the strongest attack that the voters allow is used, and the radii reach to twice its radius. A
 * vote that was proved right and found wrong at the same radius is SURETY_E_CHECK. */
surety_status surety_profile_make(surety_profile *out, const surety_model *model, const surety_set *set,
                                  const surety_threat *threat, size_t most, const surety_run *run,
                                  surety_error *err);
void surety_profile_free(surety_profile *profile); /* all zero is fine */

/* How many were found wrong at a radius of the grid; how many were not proved right at any radius. */
size_t surety_profile_fooled(const surety_profile *profile, size_t radius);
size_t surety_profile_unproved(const surety_profile *profile, double radius);

/* The point to which the attack of that radius moves an example, x (d): an example that it fools ends where
 * the vote is wrong; and the margin there. */
surety_status surety_profile_point(const surety_profile *profile, uint32_t index, double radius, float *x,
                                   double *margin, surety_error *err);

#endif
