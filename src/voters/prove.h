/* Proofs about blocks of inputs (surety/voters.h has one input at a time). */
#ifndef SURETY_VOTERS_PROVE_H
#define SURETY_VOTERS_PROVE_H

#include "voters/voters.h"

typedef struct surety_proof {
    uint8_t answer; /* a class number, or SURETY_TIED */
    int proved;     /* 1: the vote answers this everywhere in the prover's ball */
    double radius;  /* up to which it is proved; -1: not even at the input, or radii were not wanted */
} surety_proof;

/* proofs (rows), rows <= SURETY_BLOCK, of rows of x (stride >= d floats each, any alignment). */
void surety_prover_rows(surety_prover *prover, const float *x, size_t stride, size_t rows, int radii,
                        surety_proof *proofs);

#endif
