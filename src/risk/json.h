/* Risks and bounds as JSON objects, for every document that reports them. New references, NULL without
 * memory. */
#ifndef SURETY_RISK_JSON_H
#define SURETY_RISK_JSON_H

#include "io/json.h"
#include "surety/risk.h"

/* {averaged, averaged_max, rbar, abar, gmax, tv, tandem, classes: [{examples, failed}]} */
json_t *surety_risks_object(const surety_risks *risks);

/* {NAME: {surrogate, vote, vote_clipped, risk, event}} of those that are available. */
json_t *surety_bounds_object(const surety_bound_value values[SURETY_BOUNDS]);

/* {NAME: what is missing} of those that are not. */
json_t *surety_bounds_missing(const surety_bound_value values[SURETY_BOUNDS]);

#endif
