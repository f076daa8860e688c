#include "risk/simplex.h"

#include <math.h>

surety_status surety_simplex_check(const double *weights, size_t H, double slack, const char *name,
                                   surety_error *err) {
    double sum = 0;
    for (size_t h = 0; h < H; h++) {
        if (!(weights[h] >= 0) || isinf(weights[h])) {
            surety_fail(err, SURETY_E_INPUT, "the %s gives voter %zu the weight %g", name, h, weights[h]);
            surety_fail_place(err, "index %zu", h);
            surety_fail_expected(err, "finite weights, none below 0");
            return SURETY_E_INPUT;
        }
        sum += weights[h];
    }
    if (fabs(sum - 1) <= slack) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the weights of the %s sum to %.9g", name, sum);
    surety_fail_expected(err, "a sum of 1 within %g", slack);
    return SURETY_E_INPUT;
}

void surety_simplex_scale(double *weights, size_t H) {
    double sum = 0;
    for (size_t h = 0; h < H; h++) sum += weights[h];
    for (size_t h = 0; h < H; h++) weights[h] /= sum;
}

void surety_simplex_softmax(const double *theta, size_t H, double *q) {
    double most = theta[0];
    for (size_t h = 1; h < H; h++) most = theta[h] > most ? theta[h] : most;
    for (size_t h = 0; h < H; h++) q[h] = exp(theta[h] - most);
    surety_simplex_scale(q, H);
}

double surety_simplex_raise(const double *q, size_t H, double k) {
    double sum = 0;
    for (size_t h = 0; h < H; h++) sum += q[h];
    return (1 + (k + (double)H + 4) * 0x1p-52) / sum;
}
