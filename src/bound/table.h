/* The rows of surety_bound_list (bounds.c) and what surety_bound_compute does with one of them. Tests give
 * rows of their own. */
#ifndef SURETY_BOUND_TABLE_H
#define SURETY_BOUND_TABLE_H

#include "bound/round.h"
#include "surety/bound.h"

/* SURETY_E_CHECK with the fact as place where one is left out without which a promise could be false, or
 * where two facts contradict each other. */
surety_status surety_bound_row_check(const surety_bound_info *row, surety_error *err);

/* surety_bound_compute for a row: its check, that of the input, the rule. */
surety_status surety_bound_row_compute(const surety_bound_info *row, const surety_bound_input *input,
                                       surety_bound_value *value, surety_error *err);

/* SURETY_E_INPUT if a number that is given is out of range; e is the evidence that the bound takes. */
surety_status surety_bound_input_check(const surety_bound_input *in, const surety_evidence *e,
                                       surety_error *err);

#endif
