/* Margins of one column of votes: M_k = sum_h Q(h) v_hk against every class k != y, summed in double in voter
 * order, which gives the bits of the kernels that do sixteen columns at once (surety_margin_lanes). So an
 * attack, a risk and a table agree on every example. */
#include "evaluate/vote.h"

#include "voters/voters.h"

/* v of one voter against class k, or y v of two classes. A score that is not a number makes v not a
 * number, also for a signed voter: the sums must show it, as those of the attack do. */
static double v_of(const float *h, size_t ld, size_t width, surety_voter_set set, uint8_t y, size_t k,
                   uint8_t label) {
    if (width > 1 && set == SURETY_SIGNED) {
        double nothing = 0 * ((double)h[y * ld] + (double)h[k * ld]);
        return nothing + (label == SURETY_TIED ? 0 : (label == y) - (label == k));
    }
    if (width > 1) return (double)h[y * ld] - (double)h[k * ld];
    double v = (double)h[0];
    if (set == SURETY_SIGNED) v = v > 0 ? 1 : v < 0 ? -1 : v;
    return surety_sign(y) * v;
}

static uint8_t label_of(const float *h, size_t ld, size_t width, surety_voter_set set) {
    return width > 1 && set == SURETY_SIGNED ? surety_label_of(h, ld, width) : SURETY_TIED;
}

double surety_voter_margin(const float *outputs, size_t ld, size_t width, surety_voter_set set, uint8_t y) {
    double least = 2;
    uint8_t label = label_of(outputs, ld, width, set);
    for (size_t k = 0; k < width; k++) {
        double v = v_of(outputs, ld, width, set, y, k, label);
        if ((width == 1 || k != y) && least == least && !(v >= least)) least = v;
    }
    return least;
}

double surety_margin_column(const surety_vote *vote, const float *votes, size_t ld, uint8_t y) {
    size_t width = surety_voters_width(vote->voters), H = surety_voters_count(vote->voters);
    double sums[SURETY_CLASSES_MOST] = {0}, least = 2;
    for (size_t t = 0; t < H; t++) {
        const float *h = votes + t * width * ld;
        uint8_t label = label_of(h, ld, width, vote->voter_set);
        for (size_t k = 0; k < width; k++)
            sums[k] += vote->weights[t] * v_of(h, ld, width, vote->voter_set, y, k, label);
    }
    for (size_t k = 0; k < width; k++)
        if ((width == 1 || k != y) && least == least && !(sums[k] >= least)) least = sums[k];
    return least > 1 ? 1 : least < -1 ? -1 : least;
}
