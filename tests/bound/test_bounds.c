/* Every bound: against values made outside the library (reference.csv), closed forms, a table computed by
 * hand, and what the theory says of their order and direction. */
#include "check.h"

#include <inttypes.h>
#include <mpfr.h>

#include "bound/table.h"
#include "points.h"

enum { H_MOST = 8, COLUMNS = 64 };

static double vote_of(surety_bound_id id, const surety_bound_input *in) {
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_value v;
    surety_bound_input crowned = *in;
    static const double crown[32] = {1};
    if (surety_bound_list()[id].evidence & SURETY_NEEDS_DICTATOR) crowned.posterior = crown;
    check_ok(surety_bound_compute(id, &crowned, &v, &err));
    check(v.available, "%s: %s is missing", surety_bound_list()[id].name, v.missing);
    check_that(v.vote_clipped, ==, fmin(1, v.vote));
    if (surety_bound_list()[id].has_surrogate)
        check_that(v.vote, ==, 2 * v.surrogate);
    else
        check_is(isnan, v.surrogate);
    return v.vote;
}

/* ---- reference.csv ---- */

typedef struct arrays {
    double posterior[H_MOST], loss[H_MOST], kept[H_MOST];
    uint64_t loss_sum[H_MOST], kept_sum[H_MOST], coin_sum[H_MOST];
} arrays;

static char *names[COLUMNS];

/* Splits a line at its commas, in place. */
static int split(char *line, char **cells) {
    int count = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *next = line; next && count < COLUMNS; count++) {
        cells[count] = next;
        next = strchr(next, ',');
        if (next) *next++ = 0;
    }
    return count;
}

static const char *cell(char **cells, const char *name) {
    for (int i = 0; i < COLUMNS && names[i]; i++)
        if (strcmp(names[i], name) == 0) return cells[i];
    fail_msg("reference.csv has no column %s", name);
    return "";
}

static double number(char **cells, const char *name) {
    return strtod(cell(cells, name), NULL);
}

static uint64_t whole(char **cells, const char *name) {
    const char *text = cell(cells, name);
    return *text ? strtoull(text, NULL, 10) : SURETY_ABSENT;
}

static const double *reals(char **cells, const char *name, double *out) {
    const char *text = cell(cells, name);
    if (!*text) return NULL;
    for (int h = 0; h < H_MOST && *text; h++) {
        char *end;
        out[h] = strtod(text, &end);
        text = *end ? end + 1 : end;
    }
    return out;
}

static const uint64_t *wholes(char **cells, const char *name, uint64_t *out) {
    const char *text = cell(cells, name);
    if (!*text) return NULL;
    for (int h = 0; h < H_MOST && *text; h++) {
        char *end;
        out[h] = strtoull(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    return out;
}

/* The row's numbers, the same evidence for all three kinds of loss. */
static surety_bound_input read_input(char **cells, arrays *a) {
    surety_bound_input in = surety_bound_input_defaults();
    in.m = whole(cells, "m"), in.H = (size_t)whole(cells, "H"), in.delta = number(cells, "delta");
    in.priors_compared = whole(cells, "priors_compared"), in.looks = whole(cells, "looks");
    in.kl = number(cells, "kl"), in.frozen = (int)whole(cells, "frozen");
    in.posterior = reals(cells, "posterior", a->posterior);
    in.abar = number(cells, "abar"), in.tv = number(cells, "tv"), in.tandem = number(cells, "tandem_loss");
    in.averaged = (surety_evidence){.gibbs = number(cells, "gibbs"),
                                    .loss = reals(cells, "loss", a->loss),
                                    .loss_sum = wholes(cells, "loss_sum", a->loss_sum),
                                    .prior_risk = number(cells, "prior_risk"),
                                    .prior_wrong = whole(cells, "prior_wrong"),
                                    .kept = reals(cells, "kept", a->kept),
                                    .kept_sum = wholes(cells, "kept_sum", a->kept_sum),
                                    .held_out_m = whole(cells, "held_out_m"),
                                    .held_out_wrong = whole(cells, "held_out_wrong"),
                                    .coin_sum = wholes(cells, "coin_sum", a->coin_sum),
                                    .prior_coins = whole(cells, "prior_coins")};
    in.averaged_max = in.worst_case = in.averaged;
    return in;
}

/* Never below the reference, at most 2e-12 above it; not available exactly where the reference has none. */
static void check_row(int row, char **cells) {
    arrays a;
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_input in = read_input(cells, &a);
    mpfr_t low, high, slack;
    mpfr_inits2(300, low, high, slack, (mpfr_ptr)0);
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        surety_bound_value v;
        const char *name = surety_bound_list()[i].name, *text = cell(cells, name);
        check_ok(surety_bound_compute((surety_bound_id)i, &in, &v, &err));
        check(v.available == (*text != 0), "row %d, %s: available %d", row, name, v.available);
        if (!*text) continue;
        mpfr_set_str(low, text, 10, MPFR_RNDN);
        mpfr_mul_d(high, low, 1 + 2e-12, MPFR_RNDN);
        mpfr_mul_2si(slack, low, -95, MPFR_RNDN); /* the reference has 30 digits */
        mpfr_sub(low, low, slack, MPFR_RNDN);
        check(mpfr_cmp_d(low, v.vote) <= 0, "row %d, %s: %.17g is below %s", row, name, v.vote, text);
        check(mpfr_cmp_d(high, v.vote) >= 0, "row %d, %s: %.17g is above %s", row, name, v.vote, text);
    }
    mpfr_clears(low, high, slack, (mpfr_ptr)0);
}

static void reference_values(void **state) {
    (void)state;
    static char head[8192], line[8192];
    FILE *file = fopen(SURETY_TEST_SOURCE "/tests/bound/reference.csv", "r");
    assert_non_null(file);
    assert_non_null(fgets(head, sizeof head, file));
    memset(names, 0, sizeof names);
    split(head, names);
    int rows = 0;
    while (fgets(line, sizeof line, file)) {
        char *cells[COLUMNS] = {0};
        split(line, cells);
        check_row(++rows, cells);
    }
    fclose(file);
    assert_int_equal(rows, 60);
}

/* ---- a setting like the paper's ---- */

typedef struct setting {
    surety_bound_input in;
    double q[25], loss[25];
    uint64_t sums[25];
} setting;

/* m = 5000, delta = 0.05, T_p = 20, KL = 0.1, 25 voters of the same risk; the prior's vote has that risk too.
 */
static void paper_setting(setting *s, uint64_t wrong) {
    double risk = (double)wrong / 5000;
    s->in = surety_bound_input_defaults();
    s->in.m = 5000, s->in.H = 25, s->in.priors_compared = 20, s->in.kl = 0.1, s->in.posterior = s->q;
    s->in.abar = risk, s->in.tv = 0, s->in.tandem = risk * risk;
    for (int h = 0; h < 25; h++) s->q[h] = 1. / 25, s->loss[h] = risk, s->sums[h] = wrong;
    s->in.averaged.gibbs = s->in.averaged.prior_risk = risk;
    s->in.averaged.loss = s->in.averaged.kept = s->loss;
    s->in.averaged.held_out_m = 2500, s->in.averaged.held_out_wrong = wrong / 2;
    s->in.averaged.coin_sum = s->sums, s->in.averaged.prior_coins = wrong;
    s->in.averaged_max = s->in.averaged;
    s->in.averaged_max.loss_sum = s->in.averaged_max.kept_sum = s->sums;
    s->in.averaged_max.prior_wrong = wrong;
    s->in.worst_case = s->in.averaged_max;
}

/* The table of docs/theory.md 4.5, to the digits printed there. */
static void table_of_the_docs(void **state) {
    (void)state;
    const uint64_t wrong[3] = {25, 100, 500};
    const struct {
        surety_bound_id id;
        double vote[3], digit;
    } rows[] = {{SURETY_BOUND_AVERAGE_MAX, {.0765, .1065, .2665}, 1e-4},
                {SURETY_BOUND_AVERAGE_MAX_SEEGER, {.0225, .0615, .2422}, 1e-4},
                {SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION, {.0197, .0568, .2333}, 1e-4},
                {SURETY_BOUND_VOTE_FROZEN_MAX, {.0085, .0262, .1125}, 1e-4},
                {SURETY_BOUND_VOTE_HOLDOUT, {.0078, .0252, .1104}, 1e-4}};
    for (int j = 0; j < 3; j++) {
        setting s;
        paper_setting(&s, wrong[j]);
        for (int i = 0; i < 5; i++) {
            s.in.frozen = rows[i].id == SURETY_BOUND_VOTE_FROZEN_MAX;
            s.in.kl = s.in.frozen ? 0 : 0.1;
            double vote = vote_of(rows[i].id, &s.in);
            check(fabs(vote - rows[i].vote[j]) <= rows[i].digit / 2 * 1.001, "%s at %" PRIu64 " wrong: %.6f",
                  surety_bound_list()[rows[i].id].name, wrong[j], vote);
        }
    }
}

/* ---- closed forms ---- */

static void near(double got, double want, const char *what) {
    check(got >= want * (1 - 1e-15) && got <= want * (1 + 1e-12), "%s: %.17g, by hand %.17g", what, got,
          want);
}

/* Without an error kl_inv(0, c) is 1 - e^-c and the binomial limit 1 - delta^(1/m): every bound by hand. m =
 * 100, H = 4, delta = 1/10, T_p = 5, looks 2, KL = 1/2. */
static void closed_forms_without_errors(void **state) {
    (void)state;
    double q[4] = {.25, .25, .25, .25}, zero[4] = {0}, m = 100, T = 10;
    uint64_t none[4] = {0};
    surety_bound_input in = surety_bound_input_defaults();
    in.m = 100, in.H = 4, in.delta = 0.1, in.priors_compared = 5, in.looks = 2, in.kl = 0.5, in.posterior = q;
    in.abar = 0, in.tv = 0.25, in.tandem = 0;
    in.averaged = (surety_evidence){0, zero, NULL, 0, SURETY_ABSENT, zero, NULL, 50, 0, none, 0};
    in.averaged_max = in.worst_case = (surety_evidence){0, zero, none, 0, 0, zero, none, 50, 0, none, 0};
    double usual = (0.5 + log(20 * T / 0.1)) / m,
           chromatic = (0.5 + log(101 * T / 0.1)) / m; /* 2 sqrt(100) = 20 */
    near(vote_of(SURETY_BOUND_CHROMATIC_SEEGER, &in), -2 * expm1(-chromatic), "chromatic_seeger");
    near(vote_of(SURETY_BOUND_CHROMATIC_MCALLESTER, &in), 2 * sqrt(chromatic / 2), "chromatic_mcallester");
    near(vote_of(SURETY_BOUND_AVERAGE_MAX, &in), 2 * sqrt(usual / 2), "average_max");
    near(vote_of(SURETY_BOUND_AVERAGE_MAX_TV, &in), 2 * (0.25 + sqrt(usual / 2)), "average_max_tv");
    near(vote_of(SURETY_BOUND_SEEGER, &in), -2 * expm1(-usual), "seeger");
    near(vote_of(SURETY_BOUND_AVERAGE_MAX_SEEGER, &in), -2 * expm1(-usual), "average_max_seeger");
    near(vote_of(SURETY_BOUND_WORST_CASE, &in), -2 * expm1(-usual), "worst_case");
    double each = -expm1(-log(4 * T / 0.1) / m); /* kl and binomial agree at 0: 1 - (delta/(T H))^(1/m) */
    near(vote_of(SURETY_BOUND_VOTERS_UNION, &in), 2 * each, "voters_union");
    near(vote_of(SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION, &in), 2 * each, "average_max_voters_union");
    near(vote_of(SURETY_BOUND_WORST_CASE_UNION, &in), 2 * each, "worst_case_union");
    near(vote_of(SURETY_BOUND_VOTERS_COINS, &in), 2 * each, "voters_coins");
    near(vote_of(SURETY_BOUND_AVERAGE_MAX_VOTERS_COINS, &in), 2 * each, "average_max_voters_coins");
    near(vote_of(SURETY_BOUND_WORST_CASE_COINS, &in), 2 * each, "worst_case_coins");
    near(vote_of(SURETY_BOUND_AVERAGE_MAX_DICTATOR, &in), each, "average_max_dictator");
    near(vote_of(SURETY_BOUND_WORST_CASE_DICTATOR, &in), each, "worst_case_dictator");
    near(vote_of(SURETY_BOUND_TANDEM, &in), -4 * expm1(-(1 + log(20 * T / 0.1)) / m), "tandem");
    double anchored = -expm1(-log(2 * T / 0.1) / m) - 2 * expm1(-log(8 * T / 0.1) / m);
    near(vote_of(SURETY_BOUND_VOTE_ANCHORED_AVERAGED, &in), anchored, "vote_anchored_averaged");
    near(vote_of(SURETY_BOUND_VOTE_ANCHORED_MAX, &in), anchored, "vote_anchored_max");
    near(vote_of(SURETY_BOUND_WORST_CASE_ANCHORED, &in), anchored, "worst_case_anchored");
    near(vote_of(SURETY_BOUND_VOTE_HOLDOUT, &in), 1 - pow(0.05, 0.02),
         "vote_holdout"); /* delta / looks, m' = 50 */
    near(vote_of(SURETY_BOUND_WORST_CASE_HOLDOUT, &in), 1 - pow(0.05, 0.02), "worst_case_holdout");
    in.frozen = 1, in.kl = 0;
    near(vote_of(SURETY_BOUND_VOTE_FROZEN_AVERAGED, &in), 1 - pow(0.01, 0.01), "vote_frozen_averaged");
    near(vote_of(SURETY_BOUND_VOTE_FROZEN_MAX, &in), 1 - pow(0.01, 0.01), "vote_frozen_max");
    near(vote_of(SURETY_BOUND_WORST_CASE_FROZEN, &in), 1 - pow(0.01, 0.01), "worst_case_frozen");
    near(vote_of(SURETY_BOUND_VOTE_FROZEN_COINS, &in), 1 - pow(0.01, 0.01), "vote_frozen_coins");
}

/* All wrong: every limit is 1 (the vote value 2, 4 or 3 where a factor stands), nothing is NaN. */
static void all_wrong(void **state) {
    (void)state;
    setting s;
    paper_setting(&s, 5000);
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        s.in.frozen = surety_bound_list()[i].q == SURETY_Q_FROZEN;
        s.in.kl = s.in.frozen ? 0 : 0.1;
        double vote = vote_of((surety_bound_id)i, &s.in);
        if (s.in.frozen || surety_bound_list()[i].q == SURETY_Q_HELD_OUT) check_that(vote, ==, 1);
        check_that(vote, >=, 1);
    }
}

/* ---- order and direction ---- */

static void random_setting(setting *s, uint32_t i) {
    double sum = 0, gibbs = 0, base = pow(point_uniform(31, i), 3) * 0.6;
    s->in = surety_bound_input_defaults();
    s->in.m = (uint64_t)point_log_uniform(32, i, 200, 20000), s->in.H = 25; /* 25 <= 2 sqrt(200) */
    s->in.delta = point_log_uniform(33, i, 1e-9, 0.5), s->in.priors_compared = 1 + i % 30;
    s->in.kl = i % 4 ? point_log_uniform(34, i, 1e-6, 30) : 0;
    for (uint32_t h = 0; h < 25; h++) {
        sum += s->q[h] = -log(point_uniform(35, 32 * i + h));
        s->sums[h] = (uint64_t)((double)s->in.m * base * (0.5 + point_uniform(36, 32 * i + h)));
        s->loss[h] = surety_ratio_up(s->sums[h], s->in.m);
    }
    for (int h = 0; h < 25; h++) s->q[h] /= sum, gibbs += s->q[h] * s->loss[h];
    s->in.posterior = s->q;
    s->in.abar = gibbs * point_uniform(37, i),
    s->in.tv = fmin(1, gibbs - s->in.abar + 0.3 * point_uniform(38, i));
    s->in.tandem = gibbs * gibbs;
    s->in.averaged.gibbs = s->in.averaged.prior_risk = gibbs;
    s->in.averaged.loss = s->in.averaged.kept = s->loss;
    s->in.averaged.coin_sum = s->sums, s->in.averaged.prior_coins = s->sums[0];
    s->in.averaged_max = s->in.averaged;
    s->in.averaged_max.loss_sum = s->in.averaged_max.kept_sum = s->sums;
    s->in.averaged_max.prior_wrong = s->sums[0];
    s->in.averaged_max.held_out_m = s->in.m / 2, s->in.averaged_max.held_out_wrong = s->sums[0] / 2;
    s->in.worst_case = s->in.averaged_max;
}

/* What the theory promises, up to the rounding of the two sides (2e-12). Gmax <= Abar + TV holds in the
 * settings. */
static void known_order(void **state) {
    (void)state;
    for (uint32_t i = 0; i < (uint32_t)check_count(300, 20000); i++) {
        setting s;
        random_setting(&s, i);
        const surety_bound_id order[][2] = {
            {SURETY_BOUND_SEEGER, SURETY_BOUND_CHROMATIC_SEEGER},
            {SURETY_BOUND_CHROMATIC_SEEGER, SURETY_BOUND_CHROMATIC_MCALLESTER},
            {SURETY_BOUND_AVERAGE_MAX_SEEGER, SURETY_BOUND_AVERAGE_MAX},
            {SURETY_BOUND_AVERAGE_MAX, SURETY_BOUND_AVERAGE_MAX_TV},
            {SURETY_BOUND_VOTERS_UNION, SURETY_BOUND_SEEGER},
            {SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION, SURETY_BOUND_VOTERS_UNION},
            {SURETY_BOUND_VOTE_ANCHORED_MAX, SURETY_BOUND_VOTE_ANCHORED_AVERAGED}};
        for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
            /* the last pair compares binomial with kl on the same numbers: make them the same */
            s.in.averaged.prior_risk = surety_ratio_up(s.sums[0], s.in.m);
            double small = vote_of(order[k][0], &s.in), large = vote_of(order[k][1], &s.in);
            check(small <= large * (1 + 2e-12), "setting %u: %s %.17g > %s %.17g", i,
                  surety_bound_list()[order[k][0]].name, small, surety_bound_list()[order[k][1]].name, large);
        }
    }
}

/* Larger KL, delta smaller, more candidates, fewer examples (same shares; same counts for binomial limits):
 * not smaller. */
static void monotone(void **state) {
    (void)state;
    for (uint32_t i = 0; i < (uint32_t)check_count(100, 5000); i++) {
        for (int id = 0; id < SURETY_BOUNDS; id++) {
            setting s;
            random_setting(&s, i);
            const char *name = surety_bound_list()[id].name;
            if (surety_bound_list()[id].q == SURETY_Q_FROZEN) s.in.frozen = 1, s.in.kl = 0;
            const double slack = 1 + 1e-12, before = vote_of((surety_bound_id)id, &s.in);
            surety_bound_input in = s.in;
            if (!in.frozen) {
                in.kl = s.in.kl * 1.5 + 0.01;
                check(vote_of((surety_bound_id)id, &in) * slack >= before, "%s falls with KL", name);
                in.kl = s.in.kl;
            }
            in.delta /= 2;
            check(vote_of((surety_bound_id)id, &in) * slack > before || before >= 1, "%s falls with 1/delta",
                  name);
            in.delta = s.in.delta, in.priors_compared *= 3;
            double more = vote_of((surety_bound_id)id, &in);
            check(more * slack >= before, "%s falls with T_p", name);
            if (surety_bound_list()[id].q == SURETY_Q_HELD_OUT) check(more == before, "%s pays T_p", name);
            in.priors_compared = s.in.priors_compared, in.looks = 3;
            check(vote_of((surety_bound_id)id, &in) >= more / slack, "%s: looks cost less than T_p", name);
            in.looks = 1, in.m += in.m / 3;
            check(vote_of((surety_bound_id)id, &in) <= before * slack, "%s grows with m", name);
        }
    }
}

/* The derivatives in the risk and in KL against central differences. */
static void gradients(void **state) {
    (void)state;
    for (uint32_t i = 1; i < 60; i++) {
        setting s;
        random_setting(&s, 4 * i + 1); /* KL > 0 */
        for (int id = 0; id < SURETY_BOUNDS; id++) {
            surety_error err = SURETY_ERROR_NONE;
            surety_bound_value v;
            s.in.frozen = 0;
            check_ok(surety_bound_compute((surety_bound_id)id, &s.in, &v, &err));
            if (isnan(v.d_risk) || v.vote > 1.9 || s.in.averaged.gibbs < 1e-6) continue;
            double h = s.in.kl * 1e-5, side[2];
            for (int k = 0; k < 2; k++) {
                surety_bound_input in = s.in;
                in.kl += k ? h : -h;
                side[k] = vote_of((surety_bound_id)id, &in);
            }
            double slope = (side[1] - side[0]) / (2 * h), noise = 4e-15 * v.vote / h;
            check(fabs(slope - v.d_kl) <= 1e-5 * slope + noise, "%s d_kl %g, %g",
                  surety_bound_list()[id].name, v.d_kl, slope);
            double risk[2];
            for (int k = 0; k < 2; k++) {
                surety_bound_input in = s.in;
                double step = k ? 1 + 1e-5 : 1 - 1e-5;
                in.averaged.gibbs *= step, in.averaged_max.gibbs *= step, in.worst_case.gibbs *= step;
                in.abar *= step, in.tandem *= step;
                risk[k] = id == SURETY_BOUND_TANDEM           ? in.tandem
                          : id == SURETY_BOUND_AVERAGE_MAX_TV ? in.abar
                                                              : in.averaged.gibbs;
                side[k] = vote_of((surety_bound_id)id, &in);
            }
            slope = (side[1] - side[0]) / (risk[1] - risk[0]), noise = 4e-15 * v.vote / (risk[1] - risk[0]);
            check(fabs(slope - v.d_risk) <= 1e-5 * slope + noise, "%s d_risk %g, %g",
                  surety_bound_list()[id].name, v.d_risk, slope);
        }
    }
}

/* ---- the table, missing and bad inputs ---- */

static void table_is_complete(void **state) {
    (void)state;
    const surety_bound_info *info = surety_bound_list(), *found;
    surety_error err = SURETY_ERROR_NONE;
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        assert_int_equal(info[i].id, i);
        check_ok(surety_bound_row_check(&info[i], &err));
        char hyphens[64];
        snprintf(hyphens, sizeof hyphens, "%s", info[i].name);
        for (char *c = hyphens; *c; c++) *c = *c == '_' ? '-' : *c;
        check_ok(surety_bound_find(hyphens, &found, &err));
        assert_ptr_equal(found, &info[i]);
    }
    assert_int_equal(info[SURETY_BOUND_CHROMATIC_MCALLESTER].event, SURETY_BOUND_SEEGER);
    assert_int_equal(info[SURETY_BOUND_AVERAGE_MAX_TV].event, SURETY_BOUND_AVERAGE_MAX_SEEGER);
    assert_int_equal(surety_bound_find("seegr", &found, &err), SURETY_E_USAGE);
    assert_non_null(strstr(err.expected, "seeger"));
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_bound_find("seeger_", &found, &err), SURETY_E_USAGE);
    assert_null(found);
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_bound_find("", &found, &err), SURETY_E_USAGE);
}

/* Which bounds count the computed vote itself, written down a second time; all others owe the vote's margin.
 */
static void margins_are_these(void **state) {
    (void)state;
    const surety_bound_id counted[] = {SURETY_BOUND_VOTE_FROZEN_AVERAGED, SURETY_BOUND_VOTE_FROZEN_MAX,
                                       SURETY_BOUND_VOTE_HOLDOUT,         SURETY_BOUND_WORST_CASE_FROZEN,
                                       SURETY_BOUND_WORST_CASE_HOLDOUT,   SURETY_BOUND_VOTE_FROZEN_COINS};
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        surety_margin margin = SURETY_MARGIN_VOTE;
        for (size_t k = 0; k < sizeof counted / sizeof *counted; k++)
            if (counted[k] == (surety_bound_id)i) margin = SURETY_MARGIN_NONE;
        check(surety_bound_list()[i].margin == margin, "%s has the wrong margin",
              surety_bound_list()[i].name);
    }
}

/* Which bounds speak of the vote only, with no surrogate of which the vote's limit is twice. */
static void surrogates_are_these(void **state) {
    (void)state;
    const surety_bound_id alone[] = {SURETY_BOUND_TANDEM,
                                     SURETY_BOUND_VOTE_FROZEN_AVERAGED,
                                     SURETY_BOUND_VOTE_FROZEN_MAX,
                                     SURETY_BOUND_VOTE_FROZEN_COINS,
                                     SURETY_BOUND_VOTE_ANCHORED_AVERAGED,
                                     SURETY_BOUND_VOTE_ANCHORED_MAX,
                                     SURETY_BOUND_VOTE_HOLDOUT,
                                     SURETY_BOUND_WORST_CASE_FROZEN,
                                     SURETY_BOUND_WORST_CASE_ANCHORED,
                                     SURETY_BOUND_WORST_CASE_HOLDOUT,
                                     SURETY_BOUND_AVERAGE_MAX_DICTATOR,
                                     SURETY_BOUND_WORST_CASE_DICTATOR};
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        int surrogate = 1;
        for (size_t k = 0; k < sizeof alone / sizeof *alone; k++)
            if (alone[k] == (surety_bound_id)i) surrogate = 0;
        check(surety_bound_list()[i].has_surrogate == surrogate, "%s", surety_bound_list()[i].name);
    }
}

/* Which events "best" announces, written down a second time: one more would change what it pays for each. */
static void best_events_are_these(void **state) {
    (void)state;
    const struct {
        surety_risk_kind risk;
        surety_q_choice q;
        int signed_votes;
        size_t count;
        surety_bound_id events[3];
    } lists[] = {{SURETY_RISK_AVERAGED_MAX,
                  SURETY_Q_ANY,
                  1,
                  3,
                  {SURETY_BOUND_AVERAGE_MAX_SEEGER, SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION,
                   SURETY_BOUND_VOTE_ANCHORED_MAX}},
                 {SURETY_RISK_AVERAGED_MAX,
                  SURETY_Q_ANY,
                  0,
                  3,
                  {SURETY_BOUND_AVERAGE_MAX_SEEGER, SURETY_BOUND_VOTE_ANCHORED_MAX,
                   SURETY_BOUND_AVERAGE_MAX_VOTERS_COINS}},
                 {SURETY_RISK_AVERAGED_MAX, SURETY_Q_FROZEN, 1, 1, {SURETY_BOUND_VOTE_FROZEN_MAX}},
                 {SURETY_RISK_AVERAGED_MAX, SURETY_Q_FROZEN, 0, 1, {SURETY_BOUND_VOTE_FROZEN_MAX}},
                 {SURETY_RISK_WORST_CASE,
                  SURETY_Q_ANY,
                  1,
                  3,
                  {SURETY_BOUND_WORST_CASE, SURETY_BOUND_WORST_CASE_UNION, SURETY_BOUND_WORST_CASE_ANCHORED}},
                 {SURETY_RISK_WORST_CASE,
                  SURETY_Q_ANY,
                  0,
                  3,
                  {SURETY_BOUND_WORST_CASE, SURETY_BOUND_WORST_CASE_ANCHORED, SURETY_BOUND_WORST_CASE_COINS}},
                 {SURETY_RISK_WORST_CASE, SURETY_Q_FROZEN, 1, 1, {SURETY_BOUND_WORST_CASE_FROZEN}}};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        surety_bound_id events[SURETY_BOUNDS];
        assert_int_equal(surety_bound_best(lists[k].risk, lists[k].q, lists[k].signed_votes, events),
                         lists[k].count);
        assert_memory_equal(events, lists[k].events, lists[k].count * sizeof *events);
    }
}

/* A voter decides alone only if its weight is above the exact sum of all others and the vote's margin, to the
 * last bit. */
static void a_dictator_outweighs_all_others(void **state) {
    (void)state;
    enum { H = 8 };
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_value v;
    uint64_t sums[H] = {0};
    double q[H];
    surety_bound_input in = surety_bound_input_defaults();
    in.m = 100, in.H = H, in.posterior = q, in.averaged_max.loss_sum = sums;
    for (uint32_t k = 0; k < 2000; k++) {
        long double others = 0;
        for (uint32_t h = 1; h < H; h++) {
            q[h] = 0.5 / (H - 1) * (1 + 1e-7 * (2 * point_uniform(13 + h, k) - 1));
            others += (long double)q[h]; /* exact: 56 bits of 64 */
        }
        long double least = others + (H + 3) * 0x1p-52L;
        q[0] = (double)least;
        if ((long double)q[0] > least) q[0] = surety_down(q[0]);
        check_ok(surety_bound_compute(SURETY_BOUND_AVERAGE_MAX_DICTATOR, &in, &v, &err));
        check(!v.available, "%a decides against %.20Lg", q[0], others);
        q[0] += 16 * SURETY_U;
        check_ok(surety_bound_compute(SURETY_BOUND_AVERAGE_MAX_DICTATOR, &in, &v, &err));
        check(v.available, "%a does not decide against %.20Lg", q[0], others);
    }
}

static void row_refused(const surety_bound_info *row, const char *fact) {
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_value v;
    setting s;
    paper_setting(&s, 25);
    surety_status status = surety_bound_row_compute(row, &s.in, &v, &err);
    check(status == SURETY_E_CHECK && !strcmp(err.place, fact), "%s without %s: %s, place %s",
          row->name ? row->name : "?", fact, surety_status_name(status), err.place);
    assert_true(!v.available);
    check_is(isnan, v.vote);
    check_is(isnan, v.surrogate);
    check_is(isnan, v.vote_clipped);
}

/* Mutants of every row with one fact left out, as somebody who adds a bound might. */
static void a_forgotten_fact_is_refused(void **state) {
    (void)state;
#define FORGOTTEN(fact, place)                          \
    do {                                                \
        surety_bound_info row = surety_bound_list()[i]; \
        memset(&row.fact, 0, sizeof row.fact);          \
        row_refused(&row, place);                       \
    } while (0)
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        FORGOTTEN(margin, "margin");
        FORGOTTEN(risk, "risk");
        FORGOTTEN(event, "event");
        FORGOTTEN(q, "q");
        FORGOTTEN(evidence, "evidence");
        FORGOTTEN(rule, "rule");
        FORGOTTEN(name, "words");
        FORGOTTEN(heading, "words");
        FORGOTTEN(way, "words");
        FORGOTTEN(promise, "words");
        FORGOTTEN(needs, "words");
    }
#undef FORGOTTEN
    row_refused(&(surety_bound_info){.id = SURETY_BOUND_TANDEM}, "words"); /* an id without a row */
}

/* Mutants with a wrong fact, where that contradicts another one. */
static void a_contradiction_is_refused(void **state) {
    (void)state;
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        const surety_bound_info *row = &surety_bound_list()[i];
        surety_bound_info mutant = *row;
        mutant.margin = SURETY_MARGIN_NONE;
        if (row->q == SURETY_Q_ANY) row_refused(&mutant, "margin");
        mutant = *row, mutant.has_surrogate = 1, mutant.margin = SURETY_MARGIN_NONE;
        row_refused(&mutant, "margin");
        for (int q = SURETY_Q_ANY; q <= SURETY_Q_HELD_OUT; q++) {
            mutant = *row, mutant.q = (surety_q_choice)q, mutant.event = mutant.id;
            mutant.margin = SURETY_MARGIN_VOTE, mutant.learn = SURETY_LEARN_NO;
            if (mutant.q != row->q && mutant.event) row_refused(&mutant, "evidence");
        }
        mutant = *row, mutant.event = SURETY_BOUND_WORST_CASE;
        if (row->risk != SURETY_RISK_WORST_CASE) row_refused(&mutant, "event");
        mutant = *row, mutant.learn = SURETY_LEARN_LEAST;
        if (row->q != SURETY_Q_ANY) row_refused(&mutant, "learn");
        mutant = *row, mutant.best = 1;
        if (row->event != row->id) row_refused(&mutant, "best");
    }
}

/* Nothing but m and H: every bound says what it lacks. Each input taken away in turn: the bound is not
 * available, or it has the value that it has with all inputs. */
static void missing_inputs(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_value v;
    setting s;
    surety_bound_input in = surety_bound_input_defaults();
    in.m = 10, in.H = 2;
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        check_ok(surety_bound_compute((surety_bound_id)i, &in, &v, &err));
        assert_true(!v.available);
        assert_true(v.missing);
        check_is(isnan, v.vote);
        check_is(isnan, v.vote_clipped);
        check_is(isnan, v.surrogate);
    }
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        for (int take = 0; take < 10; take++) {
            paper_setting(&s, 25);
            s.in.frozen = surety_bound_list()[i].q == SURETY_Q_FROZEN;
            if (s.in.frozen) s.in.kl = 0;
            double whole = vote_of((surety_bound_id)i, &s.in);
            surety_evidence *all[] = {&s.in.averaged, &s.in.averaged_max, &s.in.worst_case};
            for (int k = 0; k < 3; k++) {
                if (take == 0) all[k]->gibbs = (double)NAN;
                if (take == 1) all[k]->loss = NULL, all[k]->loss_sum = NULL;
                if (take == 2) all[k]->prior_risk = (double)NAN, all[k]->prior_wrong = SURETY_ABSENT;
                if (take == 3) all[k]->kept = NULL, all[k]->kept_sum = NULL;
                if (take == 4) all[k]->held_out_wrong = SURETY_ABSENT;
            }
            if (take == 5) s.in.kl = (double)NAN;
            if (take == 6) s.in.abar = (double)NAN;
            if (take == 7) s.in.tv = (double)NAN;
            if (take == 8) s.in.tandem = (double)NAN;
            if (take == 9) s.in.posterior = NULL;
            check_ok(surety_bound_compute((surety_bound_id)i, &s.in, &v, &err));
            check(v.available ? v.vote == whole && !v.missing : isnan(v.vote) && v.missing,
                  "bound %d without input %d: %.17g, whole %.17g, missing %s", i, take, v.vote, whole,
                  v.missing ? v.missing : "nothing");
        }
    }
    paper_setting(&s, 25);
    check_ok(surety_bound_compute(SURETY_BOUND_VOTE_FROZEN_MAX, &s.in, &v, &err));
    assert_true(!v.available);     /* not frozen */
    s.in.averaged_max.loss = NULL; /* counts alone are enough */
    check_ok(surety_bound_compute(SURETY_BOUND_AVERAGE_MAX_VOTERS_UNION, &s.in, &v, &err));
    assert_true(v.available);
}

static void refused(surety_bound_id id, const surety_bound_input *in, const char *place) {
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_value v;
    assert_int_equal(surety_bound_compute(id, in, &v, &err), SURETY_E_INPUT);
    assert_string_equal(err.place, place);
    assert_true(err.expected[0]);
    assert_true(err.what[0]);
    assert_true(!v.available);
    check_is(isnan, v.vote);
}

static void bad_inputs(void **state) {
    (void)state;
    setting s;
    const double bad_delta[] = {0, 1, -0.1, 1.5, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 6; i++) {
        paper_setting(&s, 25);
        s.in.delta = bad_delta[i];
        refused(SURETY_BOUND_SEEGER, &s.in, "delta");
    }
#define REFUSED(id, change, place)                \
    do {                                          \
        paper_setting(&s, 25);                    \
        change;                                   \
        refused(SURETY_BOUND_##id, &s.in, place); \
    } while (0)
    REFUSED(SEEGER, s.in.m = 0, "m");
    REFUSED(SEEGER, s.in.m = SURETY_M_LIMIT + 1, "m");
    REFUSED(SEEGER, s.in.H = 0, "H");
    REFUSED(SEEGER, s.in.priors_compared = 0, "priors_compared");
    REFUSED(SEEGER, s.in.priors_compared = SURETY_PRIORS_MOST + 1, "priors_compared");
    REFUSED(SEEGER, s.in.priors_compared = UINT64_MAX, "priors_compared");
    REFUSED(SEEGER, s.in.looks = 0, "looks");
    REFUSED(SEEGER, s.in.kl = -1e-300, "kl");
    REFUSED(SEEGER, s.in.kl = (double)INFINITY, "kl");
    REFUSED(SEEGER, s.in.frozen = 1, "kl");
    REFUSED(SEEGER, s.in.averaged.gibbs = 1 + 1e-15, "gibbs");
    REFUSED(SEEGER, s.in.averaged.gibbs = -1e-15, "gibbs");
    REFUSED(AVERAGE_MAX_TV, s.in.abar = 2, "abar");
    REFUSED(AVERAGE_MAX_TV, s.in.tv = -1, "tv");
    REFUSED(TANDEM, s.in.tandem = 1.5, "tandem");
    REFUSED(VOTERS_UNION, s.loss[3] = 1.1, "voter 3");
    REFUSED(VOTERS_UNION, s.loss[0] = -0.1, "voter 0");
    REFUSED(VOTERS_UNION, s.loss[24] = (double)NAN, "voter 24");
    REFUSED(VOTERS_UNION, s.q[7] = -0.1, "voter 7");
    REFUSED(VOTERS_UNION, s.q[7] = 0.5, "");
    REFUSED(AVERAGE_MAX_VOTERS_UNION, s.sums[2] = 5001, "voter 2");
    REFUSED(VOTE_ANCHORED_AVERAGED, s.in.averaged.prior_risk = 3, "prior_risk");
    REFUSED(VOTE_ANCHORED_MAX, s.in.averaged_max.prior_wrong = 5001, "prior_wrong");
    REFUSED(VOTE_HOLDOUT, s.in.averaged_max.held_out_m = 0, "held_out_m");
    REFUSED(VOTE_HOLDOUT, s.in.averaged_max.held_out_wrong = 2501, "held_out_wrong");
#undef REFUSED
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_value v;
    paper_setting(&s, 25);
    assert_int_equal(surety_bound_compute(SURETY_BOUNDS, &s.in, &v, &err), SURETY_E_USAGE);
}

/* One example, one voter, and a confidence of 1 - 1e-300 with 10^9 candidates: numbers, never below the
 * risk. */
static void extremes(void **state) {
    (void)state;
    double q[1] = {1}, loss[1] = {1e-300};
    uint64_t none[1] = {0};
    surety_bound_input in = surety_bound_input_defaults();
    in.m = 1, in.H = 1, in.delta = 1e-300, in.priors_compared = SURETY_PRIORS_MOST, in.looks = UINT64_MAX,
    in.kl = 1e300;
    in.posterior = q, in.abar = in.tv = in.tandem = 1e-300;
    in.averaged = (surety_evidence){1e-300, loss, NULL, 0, SURETY_ABSENT, loss, NULL, 1, 0, none, 0};
    in.averaged_max = in.worst_case = (surety_evidence){1e-300, loss, none, 0, 0, loss, none, 1, 0, none, 0};
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        in.frozen = surety_bound_list()[i].q == SURETY_Q_FROZEN;
        in.kl = in.frozen ? 0 : 1e300;
        double vote = vote_of((surety_bound_id)i, &in);
        check_that(vote, >=, 0.99);
    }
    in.frozen = 0, in.kl = 0, in.delta = 1 - 0x1p-53,
    in.priors_compared = in.looks = 1; /* no confidence at all */
    for (int i = 0; i < SURETY_BOUNDS; i++) {
        in.frozen = surety_bound_list()[i].q == SURETY_Q_FROZEN;
        check_that(vote_of((surety_bound_id)i, &in), >, 0);
    }
}

/* A risk of 1/3, rounded down by a division to nearest, is covered: the surrogate of average_max_tv less its
 * root, which at m = 2^32 is too small to hide an ulp, is at least 1/3. */
static void one_rounding_is_covered(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_bound_value v;
    surety_bound_input in = surety_bound_input_defaults();
    in.m = SURETY_M_LIMIT, in.H = 1, in.kl = 0, in.abar = 0, in.tv = 1. / 3;
    check_ok(surety_bound_compute(SURETY_BOUND_AVERAGE_MAX_TV, &in, &v, &err));
    mpfr_t root, third;
    mpfr_inits2(300, root, third, (mpfr_ptr)0);
    mpfr_set_d(root, 2 * 65536, MPFR_RNDN);
    mpfr_div_d(root, root, 0.05, MPFR_RNDN);
    mpfr_log(root, root, MPFR_RNDN);
    mpfr_div_d(root, root, 0x1p33, MPFR_RNDN);
    mpfr_sqrt(root, root, MPFR_RNDN);
    mpfr_d_sub(root, v.surrogate, root, MPFR_RNDN);
    mpfr_set_ui(third, 1, MPFR_RNDN);
    mpfr_div_ui(third, third, 3, MPFR_RNDN);
    check_that(in.tv, <, 0x1.5555555555556p-2);
    check_that(mpfr_cmp_d(third, in.tv), >, 0); /* it was rounded down */
    check_that(mpfr_cmp(root, third), >=, 0);
    mpfr_clears(root, third, (mpfr_ptr)0);
}

/* Fact 1 of docs/theory.md 4.3 where Maurer's proof does not reach: sum_k C(m,k) (k/m)^k (1-k/m)^(m-k) is at
 * most 2 sqrt(m), with equality at m = 1. C(m,k) is a double without rounding. */
static void moments_of_few_examples(void **state) {
    (void)state;
    for (int m = 1; m <= 40; m++) {
        double sum = 0, choose = 1;
        for (int k = 0; k <= m; choose = choose * (m - k) / (k + 1), k++)
            sum += choose * pow((double)k / m, k) * pow(1 - (double)k / m, m - k);
        check(m == 1 ? sum == 2 : sum < 2 * sqrt(m), "m = %d: %.17g", m, sum);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_values),
        cmocka_unit_test(table_of_the_docs),
        cmocka_unit_test(closed_forms_without_errors),
        cmocka_unit_test(all_wrong),
        cmocka_unit_test(known_order),
        cmocka_unit_test(monotone),
        cmocka_unit_test(gradients),
        cmocka_unit_test(table_is_complete),
        cmocka_unit_test(margins_are_these),
        cmocka_unit_test(surrogates_are_these),
        cmocka_unit_test(best_events_are_these),
        cmocka_unit_test(a_dictator_outweighs_all_others),
        cmocka_unit_test(a_forgotten_fact_is_refused),
        cmocka_unit_test(a_contradiction_is_refused),
        cmocka_unit_test(missing_inputs),
        cmocka_unit_test(bad_inputs),
        cmocka_unit_test(extremes),
        cmocka_unit_test(one_rounding_is_covered),
        cmocka_unit_test(moments_of_few_examples),
    };
    return cmocka_run_group_tests_name("bound/bounds", tests, NULL, NULL);
}
