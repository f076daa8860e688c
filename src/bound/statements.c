/* What follows from a limit, or from a list of radii, with a few numbers more (docs/theory.md 12). All
 * results are on the safe side. */
#include "base/names.h"
#include "bound/kl.h"

/* ---- a radius for a promised risk ---- */

int surety_radius_rank(double promise, uint64_t m, double delta, uint64_t *k) {
    uint64_t none = m; /* failures that are too many: the limit of m failures is 1 */
    *k = 0;
    if (!(promise < 1) || !(surety_binomial_limit(0, m, delta) <= promise)) return 0;
    while (none - *k > 1) {
        uint64_t middle = *k + (none - *k) / 2;
        if (surety_binomial_limit(middle, m, delta) <= promise)
            *k = middle;
        else
            none = middle;
    }
    return 1;
}

/* ---- under a shift ---- */

static const char *const shifts[] = {"none", "tv", "kl", "chi2", "ratio"};

surety_status surety_shift_parse(const char *name, surety_shift *shift, surety_error *err) {
    size_t index = 0;
    SURETY_TRY(surety_name_find("shift", name, shifts + 1, sizeof shifts / sizeof *shifts - 1, &index, err));
    *shift = (surety_shift)(index + 1);
    return SURETY_OK;
}

const char *surety_shift_name(surety_shift shift) {
    return shifts[shift];
}

/* max { p : kl(p||r) <= k }, 0 < r < 1, from above: kl grows in p on [r,1], up to ln(1/r). kl is computed to
 * 1e-14; `high` is only lowered to a p whose kl is above k by more than that. */
static double kl_first(double r, double k) {
    double low = r, high = 1;
    for (int i = 0; i < 200 && surety_up(low) < high; i++) {
        double p = low + (high - low) / 2;
        if (surety_kl(p, r) * (1 - 1e-13) > k)
            high = p;
        else
            low = p;
    }
    return high;
}

double surety_shift_limit(surety_shift shift, double budget, double limit) {
    double r = limit, out = (double)NAN;
    if (!(r >= 0) || !(budget >= (shift == SURETY_SHIFT_RATIO ? 1 : 0))) return out;
    if (r >= 1) return 1;
    switch (shift) {
        case SURETY_SHIFT_NONE:
            return r;
        case SURETY_SHIFT_TV:
            out = surety_add_up(r, budget);
            break;
        case SURETY_SHIFT_KL:
            out = r == 0 ? 0 : kl_first(r, budget);
            break;
        case SURETY_SHIFT_CHI2:
            out = surety_add_up(r, surety_sqrt_up(surety_mul_up(surety_mul_up(budget, r), surety_up(1 - r))));
            break;
        case SURETY_SHIFT_RATIO:
            out = surety_mul_up(budget, r);
            break;
    }
    return fmin(1, out);
}

/* ---- with noisy labels ---- */

static const char *const noises[] = {"none", "flips", "pairs", "rows"};

surety_status surety_label_noise_parse(const char *name, surety_label_noise *noise, surety_error *err) {
    size_t index = 0;
    SURETY_TRY(
        surety_name_find("label noise", name, noises + 1, sizeof noises / sizeof *noises - 1, &index, err));
    *noise = (surety_label_noise)(index + 1);
    return SURETY_OK;
}

const char *surety_label_noise_name(surety_label_noise noise) {
    return noises[noise];
}

/* (a - eta) / (1 - eta K/(K-1)); the divisor from below: eta K/(K-1) from above. */
static double without_flips(double eta, double a, size_t classes) {
    double K = (double)classes, less = surety_div_up(surety_mul_up(eta, K), K - 1);
    double divisor = surety_add_down(1, -less), above = surety_add_up(a, -eta);
    if (!(above >= 0) || !(divisor > 0)) return (double)NAN;
    if (a >= (K - 1) / K) return 1; /* from there on more flips would mean a larger risk */
    return surety_div_up(above, divisor);
}

double surety_label_noise_limit(surety_label_noise noise, double eta, double limit, size_t classes) {
    if (!(eta >= 0 && eta < 1) || !(limit >= 0) || classes < 2) return (double)NAN;
    if (limit >= 1) return 1;
    double out = noise == SURETY_NOISE_FLIPS ? without_flips(eta, limit, classes) : surety_add_up(limit, eta);
    return isnan(out) ? out : fmin(1, out);
}

uint64_t surety_label_noise_rows(double eta, uint64_t m) {
    double rows = ceil(eta * (double)m); /* to nearest: 0.01 of 1000 rows are 10 */
    return rows < (double)m ? (uint64_t)rows : m;
}
