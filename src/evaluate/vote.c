#include "evaluate/vote.h"

double surety_vote_column(const surety_vote *vote, const float *votes, size_t ld) {
    double sum = 0;
    for (size_t t = 0; t < surety_voters_count(vote->voters); t++) {
        float v = votes[t * ld];
        if (vote->set == SURETY_SIGNED) v = v > 0 ? 1 : v < 0 ? -1 : v;
        sum += vote->weights[t] * (double)v;
    }
    return sum > 1 ? 1 : sum < -1 ? -1 : sum;
}
