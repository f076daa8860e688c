/* Coverage with K = 3 and K = 10 classes: as test_coverage.c, for the bounds of docs/theory.md 4.7. Mutants
 * that must be found out: factor 2      losses halved: the limit on the voters' loss taken for one on the
 * risk of their vote one class     the last class left out of the maximum over k K - 1         one column per
 * perturbation instead of K - 1
 */
#include "coverage.h"
#include "draw.h"

#include "risk/accumulate.h"

enum { MOST = 10 }; /* classes */

static double uniform(draw *d) {
    return draw_real(d, 0, 1);
}

/* ---- tight laws: two voters, n = 1 ---- */

enum { PAIR = 2, EXAMPLES = 1000 };

static const double half[PAIR] = {.5, .5}, leaning[PAIR] = {.9, .1};

static surety_risk *open_pair(const double *q, const double *p, size_t K) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *risk = NULL;
    surety_risk_settings settings = {PAIR, 1, 0, q, p, K};
    check_ok(surety_risk_new(&settings, &risk, &err));
    return risk;
}

/* The input that these votes give, and the same counts as a held-out half. */
static surety_bound_input close_pair(surety_risk *risk, surety_risks *risks, const double *q, const double *p,
                                     double delta) {
    surety_error err = SURETY_ERROR_NONE;
    check_ok(surety_risk_result(risk, risks, &err));
    surety_risk_free(risk);
    surety_bound_input in = input_of(risks, q, p, delta);
    in.averaged_max.held_out_m = in.worst_case.held_out_m = risks->m;
    in.averaged_max.held_out_wrong = in.worst_case.held_out_wrong = risks->max_wrong + risks->max_tied;
    return in;
}

/* Any other class than y. */
static unsigned other(draw *d, unsigned y, unsigned K) {
    unsigned k = (unsigned)draw_size(d, 0, K - 2);
    return k + (k >= y);
}

/* All losses halved. halves is scratch. */
static surety_bound_input without_factor(const surety_bound_input *in, double halves[6][PAIR]) {
    surety_bound_input out = *in;
    surety_evidence *parts[] = {&out.averaged, &out.averaged_max, &out.worst_case};
    for (int k = 0; k < 3; k++) {
        for (int h = 0; h < PAIR; h++) {
            halves[2 * k][h] = parts[k]->loss[h] / 2;
            halves[2 * k + 1][h] = parts[k]->kept[h] / 2;
        }
        parts[k]->gibbs /= 2, parts[k]->loss = halves[2 * k], parts[k]->kept = halves[2 * k + 1];
    }
    out.abar /= 2, out.tv /= 2, out.tandem /= 4;
    return out;
}

/* The second voter errs on half of all examples. Under Q = (1/2, 1/2) that is a tie, so an error, and E_Q l
 * is 1/2 there: 2 Rbar is the risk itself. The vote of P = (0.9, 0.1) is always right. */
static void the_factor_two(void **state) {
    (void)state;
    const int through_voters[] = {PAC_BAYES, UNIONS, ANCHORED, -1};
    const truth exact = {.25, .25, .25, .125, .5, .5}, vote_only = {.averaged = .5, .averaged_max = .5};
    for (unsigned K = 3; K <= MOST; K += MOST - 3) {
        tally honest = {.delta = .05}, mutant = {.delta = .05};
        draw d = {81 + K};
        for (long t = 0; t < check_count(100, 2000); t++) {
            surety_error err = SURETY_ERROR_NONE;
            surety_risk *risk = open_pair(half, leaning, K);
            for (int i = 0; i < EXAMPLES; i++) {
                unsigned y = (unsigned)draw_size(&d, 0, K - 1);
                uint8_t labels[PAIR] = {(uint8_t)y, (uint8_t)(uniform(&d) < .5 ? other(&d, y, K) : y)};
                check_ok(surety_risk_add_labels(risk, labels, PAIR, y, &err));
            }
            surety_risks risks;
            double halves[6][PAIR];
            surety_bound_input in = close_pair(risk, &risks, half, leaning, honest.delta);
            surety_bound_input halved = without_factor(&in, halves);
            count(&honest, &in, &exact);
            count(&mutant, &halved, &vote_only);
            surety_risks_free(&risks);
        }
        holds("a tie on half of all examples", &honest);
        must_fail("the factor 2", &mutant, through_voters);
    }
}

/* Both voters give y and one other class the scores 1/2 on nine of ten examples: an error, with the loss 1/2
 * against that class and 1/4 against the others. In the first law that class is always the last, which the
 * mutant does not look at; in the second it is any, and the mutant looks at the first other class only. */
static void every_class_counts(void **state) {
    (void)state;
    const int all[] = {PAC_BAYES, UNIONS, FROZEN, ANCHORED, HELD_OUT, -1};
    const truth exact = {.45, .45, .45, .225, .9, .9};
    for (unsigned K = 3; K <= MOST; K += MOST - 3)
        for (int last = 0; last < 2; last++) {
            tally honest = {.delta = .05}, mutant = {.delta = .05};
            draw d = {83 + K};
            for (long t = 0; t < check_count(100, 2000); t++) {
                surety_error err = SURETY_ERROR_NONE;
                surety_risk *risk = open_pair(half, half, K),
                            *blind = open_pair(half, half, last ? K - 1 : 2);
                for (int i = 0; i < EXAMPLES; i++) {
                    unsigned y = (unsigned)draw_size(&d, 0, last ? K - 2 : K - 1);
                    unsigned wrong = last ? K - 1 : other(&d, y, K), first = y == 0;
                    float scores[PAIR * MOST] = {0}, seen[PAIR * MOST];
                    for (unsigned h = 0; h < PAIR; h++) scores[h * K + y] = 1;
                    for (unsigned h = 0, err_here = uniform(&d) < .9; h < PAIR && err_here; h++)
                        scores[h * K + y] = scores[h * K + wrong] = .5f;
                    for (unsigned h = 0; h < PAIR; h++)
                        for (unsigned k = 0; k < (last ? K - 1 : 2); k++)
                            seen[last ? h * (K - 1) + k : h * 2 + k] = scores[h * K + (last ? k
                                                                                       : k  ? y
                                                                                            : first)];
                    check_ok(surety_risk_add_score_columns(risk, scores, 1, y, &err));
                    check_ok(surety_risk_add_score_columns(blind, seen, 1, last ? y : 1, &err));
                }
                surety_risks risks, less;
                surety_bound_input in = close_pair(risk, &risks, half, half, honest.delta);
                surety_bound_input part = close_pair(blind, &less, half, half, honest.delta);
                count(&honest, &in, &exact);
                count(&mutant, &part, &exact);
                surety_risks_free(&risks), surety_risks_free(&less);
            }
            holds("two classes share the scores", &honest);
            must_fail(last ? "the last class" : "all columns but one", &mutant, all);
        }
}

/* ---- a realistic law ----
 *
 * As in test_coverage.c: an example is one of ATOMS types, a perturbation one of PATTERNS; voter h gives the
 * scores table[type][pattern][h]. */

enum { ATOMS = 40, PATTERNS = 5, VOTERS = 6, SAMPLES = 4, SIZE = 80 };

typedef struct law {
    size_t K;
    float table[ATOMS][PATTERNS][VOTERS][MOST];
    unsigned y[ATOMS];
    int signed_votes;
} law;

typedef struct sample {
    float scores[SIZE][SAMPLES][VOTERS * MOST];
    unsigned y[SIZE];
} sample;

/* Two classes share what is left of the largest score now and then: such a voter is tied. */
static void make_law(law *l, size_t K, int signed_votes) {
    draw d = {91};
    l->K = K, l->signed_votes = signed_votes;
    for (int a = 0; a < ATOMS; a++) {
        double easy = 3.5 * uniform(&d);
        l->y[a] = (unsigned)draw_size(&d, 0, K - 1);
        for (int b = 0; b < PATTERNS; b++)
            for (int h = 0; h < VOTERS; h++) {
                double raw[MOST], sum = 0;
                for (size_t k = 0; k < K; k++) {
                    raw[k] = exp(draw_normal(&d) + (k == l->y[a] ? easy + .2 * h : 0));
                    sum += raw[k];
                }
                for (size_t k = 0; k < K; k++) l->table[a][b][h][k] = (float)(raw[k] / sum);
                if (uniform(&d) < .05) l->table[a][b][h][0] = l->table[a][b][h][1] = .5f;
                for (size_t k = 2; k < K && l->table[a][b][h][0] == .5f; k++) l->table[a][b][h][k] = 0;
            }
    }
}

static double v_of(const law *l, int a, int b, int h, size_t k) {
    const float *s = l->table[a][b][h];
    size_t most = 0, tied = 0;
    if (!l->signed_votes) return (double)s[l->y[a]] - (double)s[k];
    for (size_t c = 1; c < l->K; c++) {
        tied = s[c] == s[most] || (tied && s[c] < s[most]);
        if (s[c] > s[most]) most = c;
    }
    return tied ? 0 : most == l->y[a] ? 1 : most == k ? -1 : 0;
}

static truth truth_of(const law *l, const double *q) {
    truth t = {0};
    const double cells = ATOMS * PATTERNS;
    for (int a = 0; a < ATOMS; a++) {
        double e[PATTERNS], wrong[PATTERNS] = {0}, loss[VOTERS][PATTERNS] = {{0}};
        for (int b = 0; b < PATTERNS; b++) {
            double mean = 0;
            e[b] = 0;
            for (size_t k = 0; k < l->K; k++) {
                double margin = 0, expect = 0;
                for (int h = 0; h < VOTERS && k != l->y[a]; h++) {
                    double v = v_of(l, a, b, h, k);
                    margin += q[h] * v, expect += q[h] * (1 - v) / 2;
                    loss[h][b] = fmax(loss[h][b], (1 - v) / 2);
                }
                if (k != l->y[a] && margin <= 0) wrong[b] = 1;
                e[b] = fmax(e[b], expect);
            }
            for (int h = 0; h < VOTERS; h++) mean += q[h] * loss[h][b];
            t.rbar += mean / cells, t.tandem += mean * mean / cells, t.averaged += wrong[b] / cells;
        }
        t.abar += mean_of_max(e, PATTERNS, SAMPLES) / ATOMS;
        t.averaged_max += mean_of_max(wrong, PATTERNS, SAMPLES) / ATOMS;
        for (int h = 0; h < VOTERS; h++) t.gmax += q[h] * mean_of_max(loss[h], PATTERNS, SAMPLES) / ATOMS;
    }
    return t;
}

static void draw_sample(const law *l, draw *d, sample *out) {
    for (int i = 0; i < SIZE; i++) {
        int a = (int)(uniform(d) * ATOMS);
        out->y[i] = l->y[a];
        for (int j = 0; j < SAMPLES; j++) {
            int b = (int)(uniform(d) * PATTERNS);
            for (size_t h = 0; h < VOTERS; h++)
                memcpy(out->scores[i][j] + h * l->K, l->table[a][b][h], l->K * sizeof(float));
        }
    }
}

static void risks_on(const law *l, const sample *s, int first, int end, const double *q, const double *p,
                     surety_risks *out) {
    surety_error err = SURETY_ERROR_NONE;
    surety_risk *risk = NULL;
    surety_risk_settings settings = {VOTERS, SAMPLES, l->signed_votes, q, p, l->K};
    check_ok(surety_risk_new(&settings, &risk, &err));
    for (int i = first; i < end; i++)
        check_ok(surety_risk_add_scores(risk, s->scores[i][0], VOTERS * MOST, s->y[i], &err));
    check_ok(surety_risk_result(risk, out, &err));
    surety_risk_free(risk);
}

/* The vote of Q on [0, SIZE), Q given or learned on [0, learn) of it; and what a held-out half says. */
static void one_draw(const law *l, const sample *s, const surety_bound_id *objective, tally *into) {
    static const double p[VOTERS] = {.3, .25, .2, .1, .1, .05};
    double q[VOTERS];
    surety_error err = SURETY_ERROR_NONE;
    surety_risks risks, second;
    surety_learned learned;
    surety_bound_input in = surety_bound_input_defaults();
    int held_out = objective && *objective == B(AVERAGE_MAX_SEEGER), end = held_out ? SIZE / 2 : SIZE;
    memcpy(q, p, sizeof q);
    risks_on(l, s, 0, end, p, p, &risks);
    if (objective) {
        check_ok(surety_posterior_learn(&risks, p, *objective, &in, q, &learned, &err));
        surety_risks_free(&risks);
        risks_on(l, s, 0, end, q, p, &risks);
    }
    in = input_of(&risks, q, p, into->delta);
    in.worst_case = surety_bound_input_defaults().worst_case; /* these votes say nothing about a whole ball */
    if (held_out) {
        risks_on(l, s, end, SIZE, q, p, &second);
        in.averaged_max.held_out_m = second.m;
        in.averaged_max.held_out_wrong = second.max_wrong + second.max_tied;
        surety_risks_free(&second);
    }
    truth t = truth_of(l, q);
    count(into, &in, &t);
    surety_risks_free(&risks);
}

static void realistic(void **state) {
    (void)state;
    static law l;
    static sample s;
    static const surety_bound_id objectives[] = {B(AVERAGE_MAX_SEEGER), B(SEEGER),
                                                 B(AVERAGE_MAX_VOTERS_UNION)};
    for (size_t K = 3; K <= MOST; K += MOST - 3) {
        tally learned = {.delta = .05}, frozen = {.delta = .05};
        for (uint32_t t = 0; t < (uint32_t)check_count(400, 20000); t++) {
            draw d = {1000 + t};
            make_law(&l, K, (int)(t & 1));
            draw_sample(&l, &d, &s);
            one_draw(&l, &s, &objectives[t / 2 % 3], &learned);
            one_draw(&l, &s, NULL, &frozen);
        }
        holds("realistic, learned", &learned);
        holds("realistic, frozen", &frozen);
        for (int id = 0; id < SURETY_BOUNDS; id++) /* every bound was really tried */
            if (surety_bound_list()[id].risk != SURETY_RISK_WORST_CASE && !needs_more(id))
                check_that(learned.seen[id] + frozen.seen[id], >=, learned.draws / 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_factor_two),
        cmocka_unit_test(every_class_counts),
        cmocka_unit_test(realistic),
    };
    return cmocka_run_group_tests_name("class_coverage", tests, NULL, NULL);
}
