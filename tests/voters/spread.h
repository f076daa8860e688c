/* Voters whose parameters were drawn by the library, made more extreme. */
#ifndef SURETY_TESTS_SPREAD_H
#define SURETY_TESTS_SPREAD_H

#include "draw.h"
#include "surety/voters.h"

/* Every parameter that may move times spread; to all but those of the first tensor comes noise. */
static inline void spread_parameters(draw *r, surety_voters *v, double spread) {
    for (size_t k = 0; k < surety_voters_tensors(v); k++) {
        surety_tensor t = surety_voters_tensor(v, k);
        for (size_t i = 0; i < t.rows; i++)
            for (size_t j = 0; j < t.length; j++)
                if (!t.mask || t.mask[i * t.stride + j])
                    t.values[i * t.stride + j] =
                        (float)(spread * (double)t.values[i * t.stride + j] + (k ? 0.3 * draw_normal(r) : 0));
    }
    surety_voters_changed(v);
}

#endif
