#include "risk/simplex.h"

#include <math.h>

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
