/* 00: a guarantee from four numbers.
 *
 * A vote of 25 voters was learned; on m = 5000 examples that trained none of them its voters are wrong 1 % of
 * the time on average, and its weights are 0.1 away from the prior in KL. What can be promised? No model is
 * needed for this. */
#include <math.h>
#include <stdio.h>
#include <surety/bound.h>

int main(void) {
    surety_bound_input in = surety_bound_input_defaults();
    surety_error err = SURETY_ERROR_NONE;
    in.m = 5000;
    in.H = 25;
    in.kl = 0.1;
    in.delta = 0.05;          /* confidence 95 % */
    in.priors_compared = 20;  /* S chose among 20 priors: that is paid for */
    in.averaged.gibbs = 0.01; /* mean loss of a voter drawn from Q */
    const surety_bound_id ids[] = {SURETY_BOUND_CHROMATIC_SEEGER, SURETY_BOUND_SEEGER};
    for (int i = 0; i < 2; i++) {
        surety_bound_value value;
        if (surety_bound_compute(ids[i], &in, &value, &err)) {
            fprintf(stderr, "%s\n", err.what);
            return surety_status_exit(err.code);
        }
        printf("%-18s the vote fails on at most %.2f %% of inputs\n", surety_bound_list()[ids[i]].name,
               ceil(1e4 * value.vote) / 100); /* a limit is rounded up */
    }
    return 0;
}
