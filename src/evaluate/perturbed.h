/* Attack a set under one vote and measure another on what came out, or on the worst of a ball: what training,
 * tables, curves and certificates all need. */
#ifndef SURETY_EVALUATE_PERTURBED_H
#define SURETY_EVALUATE_PERTURBED_H

#include "evaluate/sampler.h"
#include "surety/model.h"
#include "surety/risk.h"

typedef struct surety_measurement {
    const surety_threat *threat; /* validated. Worst case: each voter casts its worst vote over the ball */
    const surety_vote *attacked; /* the vote that is attacked */
    surety_voter_set voter_set;  /* how the voters are asked when votes are measured */
    const double *posterior, *prior; /* Q, and P or NULL, as in surety_risk_settings */
    const char *phase;               /* for progress, or NULL */
} surety_measurement;

/* The attack that R_att is measured with in the row of this one: the strongest on the kind of voters. */
surety_threat_kind surety_strongest(const surety_model *model, surety_threat_kind kind);

/* Risks of Q's vote on the perturbed set. Nothing is stored: perturbations are drawn, asked, counted,
 * dropped. Free with surety_risks_free. */
surety_status surety_measure(const surety_measurement *measurement, const surety_set *set,
                             surety_risks *risks, const surety_run *run, surety_error *err);

/* The same for count posteriors at once (what->posterior is not looked at): one attack, one drawing and one
 * asking of the voters serve all. On success all risks[count] are to be freed, else none. */
surety_status surety_measure_each(const surety_measurement *what, const double *const *posteriors,
                                  size_t count, const surety_set *set, surety_risks *risks,
                                  const surety_run *run, surety_error *err);

/* Risks of Q's vote on a set that is attacked under the vote of P or of Q itself, which then stands for the
 * prior in the risks; worst case: its worst votes. Epoch 0. */
surety_status surety_measure_model(surety_risks *risks, const surety_model *model, surety_weighting attacked,
                                   const surety_set *set, const surety_threat *threat, const surety_run *run,
                                   surety_error *err);

/* Whether a bound holds where units of several rows are counted: it needs nothing but how many fail. */
static inline int surety_units_bound(const surety_bound_info *info) {
    return info->q == SURETY_Q_FROZEN && info->risk != SURETY_RISK_AVERAGED;
}

/* What bounds need of these risks. */
surety_status surety_measured_input(const surety_risks *risks, const surety_model *model,
                                    surety_weighting attacked, surety_threat_kind kind,
                                    surety_bound_input *input, surety_error *err);

#endif
