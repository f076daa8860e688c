/* Print's recipe against what another hand made: known words of the generator, the start weights that the
 * printed tables began from, and a naive twin in NumPy (print_twin.py) whose numbers are in
 * print_reference.csv: one training of each kind on a few rows of Fashion-MNIST. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "plain.h"
#include "study/print.h"

static surety_error err = SURETY_ERROR_NONE;

/* The 10000th word after seed 5489 is in the C++ standard; numpy gives the doubles of seed 24. */
static void test_twister(void **state) {
    surety_twister t;
    float many[2000];
    (void)state;
    surety_twister_seed(&t, 5489);
    assert_int_equal(surety_twister_word(&t), 3499211612u);
    surety_twister_drop(&t, 9998);
    assert_int_equal(surety_twister_word(&t), 4123659995u);
    static const double doubles[] = {.9600173, .6995120, .9998673};
    surety_twister_seed(&t, 24);
    for (size_t i = 0; i < 3; i++) check_that(fabs(surety_twister_double(&t) - doubles[i]), <, 1e-7);
    surety_twister_seed(&t, 7);
    surety_twister one = t;
    surety_twister_floats(&t, many, 2000);
    for (size_t i = 0; i < 2000; i++) {
        uint32_t word = surety_twister_word(&one);
        check_that((double)many[i], ==, (word % (1u << 24)) / 16777216.);
    }
}

static void near(double value, double expected, double room, const char *what) {
    check(fabs(value - expected) <= room, "%s: %.9g, expected %.9g", what, value, expected);
}

static void test_start(void **state) {
    static float W[3 * 784];
    float leaves[4];
    surety_twister t;
    (void)state;
    surety_print_start(&t, 0, 784, W, leaves);
    near((double)W[0], -.06172932, 1e-7, "W[0][0]");
    near((double)W[1], -.01387207, 1e-7, "W[0][1]");
    near((double)W[8], .05234763, 1e-7, "W[0][8]");
    static const double first[] = {-.09214434, .30408859, -.28812853, .10473219},
                        last[] = {-.8671788, -.6728594, -.9482675, .4100871};
    for (size_t j = 0; j < 4; j++) near((double)leaves[j], first[j], 1e-7, "leaf of tree 0");
    surety_print_start(&t, 24, 784, W, leaves);
    for (size_t j = 0; j < 4; j++) near((double)leaves[j], last[j], 1e-7, "leaf of tree 24");
}

/* ---- beside the twin ---- */

enum { LEARN = 500, PRIOR = 900, TEST = 300, EPOCHS = 2 };

typedef struct line {
    char quantity[64];
    size_t index;
    double value;
} line;

/* The lines of one case; how many. */
static size_t read_reference(const char *norm, const char *voters, const char *defense, line *lines,
                             size_t most) {
    FILE *file = fopen(SURETY_TEST_SOURCE "/tests/study/print_reference.csv", "r");
    char text[256], of[3][32];
    size_t count = 0;
    assert_non_null(file);
    while (fgets(text, sizeof text, file) && count < most) {
        line l;
        if (sscanf(text, "%31[^,],%31[^,],%31[^,],%63[^,],%zu,%lf", of[0], of[1], of[2], l.quantity, &l.index,
                   &l.value) == 6 &&
            !strcmp(of[0], norm) && !strcmp(of[1], voters) && !strcmp(of[2], defense))
            lines[count++] = l;
    }
    fclose(file);
    return count;
}

typedef struct twin_case {
    surety_set sets[SURETY_SETS];
    surety_cell cell;
    surety_study_settings settings;
    line lines[400];
    size_t count, seen;
    char name[64];
} twin_case;

static void expect(twin_case *c, const char *quantity, size_t index, double value, double room) {
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->lines[i].quantity, quantity) && c->lines[i].index == index) {
            check(fabs(value - c->lines[i].value) <= room, "%s %s %zu: %.9g, twin %.9g", c->name, quantity,
                  index, value, c->lines[i].value);
            c->seen++;
            return;
        }
}

/* All of the parameters after one epoch of step 1. */
static void compare_epoch(twin_case *c) {
    surety_print p;
    double criterion;
    size_t best;
    surety_study_settings s = c->settings;
    s.epochs = 1;
    check_ok(surety_print_new(&p, &s, &c->cell, c->sets[0].d, NULL, &err));
    check_ok(surety_print_step1(&p, &c->sets[SURETY_SET_PRIOR], &c->sets[SURETY_SET_LEARN], &criterion, &best,
                                &err));
    static const char *const names[] = {"weight", "bias", "leaf"};
    for (size_t k = 0; k < 3; k++) {
        surety_print_tensor t = p.tensor[k];
        for (size_t i = 0; i < t.rows * t.length; i++)
            expect(c, names[k], i, (double)t.values[i / t.length * t.stride + i % t.length], 1e-5);
    }
    for (size_t t = 0; t < SURETY_PRINT_TREES; t++) expect(c, "theta", t, p.theta[t], 1e-5);
    surety_print_free(&p);
}

/* What chooses an epoch pairs outputs with labels of other examples: one that is fooled a step earlier, for a
 * matter of the last bit, trades places and moves it by 1 / LEARN or so. */
static void compare_choices(twin_case *c) {
    int steps = c->cell.defense != SURETY_ATTACK_NONE && c->cell.defense != SURETY_ATTACK_UNIF;
    double room = steps ? 4. / LEARN : 1e-5;
    surety_print p;
    double criterion[EPOCHS], prior[SURETY_PRINT_TREES];
    size_t best;
    surety_objective objectives[SURETY_CELL_MODELS];
    size_t count = surety_cell_objectives(c->cell.defense, objectives);
    check_ok(surety_print_new(&p, &c->settings, &c->cell, c->sets[0].d, NULL, &err));
    check_ok(surety_print_step1(&p, &c->sets[SURETY_SET_PRIOR], &c->sets[SURETY_SET_LEARN], criterion, &best,
                                &err));
    for (size_t i = 0; i < EPOCHS; i++) expect(c, "criterion1", i, criterion[i], room);
    expect(c, "best1", 0, (double)best - 1, 0);
    memcpy(prior, p.theta, sizeof prior);
    for (size_t k = 0; k < count && objectives[k] != SURETY_OBJECTIVE_BASELINE; k++) {
        char name[64];
        surety_print_model model = {.objective = objectives[k]};
        check_ok(surety_print_step2(&p, &c->sets[SURETY_SET_LEARN], prior, &model, criterion, &err));
        snprintf(name, sizeof name, "criterion2-%s", surety_objective_name(objectives[k]));
        for (size_t i = 0; i < EPOCHS; i++) expect(c, name, i, criterion[i], 2 * room);
        snprintf(name, sizeof name, "kl-%s", surety_objective_name(objectives[k]));
        expect(c, name, 0, model.kl, 1e-5);
        snprintf(name, sizeof name, "best2-%s", surety_objective_name(objectives[k]));
        expect(c, name, 0, (double)model.best_epoch - 1, 0);
    }
    surety_print_free(&p);
}

/* A risk may differ by an example or two whose vote is a matter of the last bit, a bound accordingly. */
static void compare_rows(twin_case *c) {
    static const char *const bounds[][2] = {
        {"bound_seeger", "chromatic_seeger"}, {"bound_max", "average_max"}, {"bound_tv", "average_max_tv"}};
    static const char *const risks[] = {"adversarial_risk", "averaged_risk", "averaged_max_risk"};
    json_t *found;
    const json_t *row;
    size_t at;
    check_ok(surety_print_sets(&found, &c->settings, &c->cell, c->sets, NULL, &err));
    json_array_foreach(json_object_get(found, "rows"), at, row) {
        char name[96];
        for (size_t i = 0; i < 3; i++) {
            const char *algorithm = json_string_value(json_object_get(row, "algorithm"));
            const char *attack = json_string_value(json_object_get(row, "attack"));
            const json_t *bound = json_object_get(json_object_get(row, "bounds"), bounds[i][1]);
            snprintf(name, sizeof name, "%s-%s-%s", risks[i], algorithm, attack);
            expect(c, name, 0, json_number_value(json_object_get(row, risks[i])), 2.01 / TEST);
            snprintf(name, sizeof name, "%s-%s-%s", bounds[i][0], algorithm, attack);
            expect(c, name, 0, json_number_value(bound), .01);
        }
    }
    json_decref(found);
}

static void compare_case(const surety_data *data, surety_norm norm, surety_voter_set set,
                         surety_threat_kind defense, size_t *seen) {
    twin_case c = {.cell = {.norm = norm, .voter_set = set, .defense = defense},
                   .settings = surety_study_defaults()};
    static const size_t sizes[] = {PRIOR, LEARN, TEST};
    c.settings.epochs = EPOCHS, c.settings.steps = 5, c.settings.samples = 7;
    for (int i = 0; i < SURETY_SETS; i++)
        c.sets[i] = surety_set_slice(surety_data_set(data, (surety_set_name)i), 0, sizes[i]);
    snprintf(c.name, sizeof c.name, "%s %s %s", surety_norm_name(norm), surety_voter_set_name(set),
             surety_threat_name(defense));
    c.count = read_reference(surety_norm_name(norm), surety_voter_set_name(set), surety_threat_name(defense),
                             c.lines, sizeof c.lines / sizeof *c.lines);
    check_that(c.count, >, 30);
    compare_epoch(&c);
    compare_choices(&c);
    compare_rows(&c);
    check(c.seen == c.count, "%s: %zu of %zu numbers were compared", c.name, c.seen, c.count);
    *seen += c.seen;
}

static void test_twin(void **state) {
    static const surety_threat_kind defenses[] = {SURETY_ATTACK_NONE, SURETY_ATTACK_UNIF,
                                                  SURETY_ATTACK_PGDU, SURETY_ATTACK_IFGSMU,
                                                  SURETY_ATTACK_PGD,  SURETY_ATTACK_IFGSM};
    surety_data_settings s = plain_settings();
    surety_data *data = NULL;
    size_t seen = 0;
    (void)state;
    s.task = "fashion-sandal-v-boot";
    if (surety_data_open(&s, &data, &err)) {
        print_message("Fashion-MNIST is not here\n");
        skip();
    }
    const char *sanitized = getenv("SURETY_SANITIZED"); /* thirty times slower: one case */
    int few = sanitized && sanitized[0] == '1';
    if (few) compare_case(data, SURETY_L2, SURETY_SIGNED, SURETY_ATTACK_PGDU, &seen);
    for (unsigned norm = SURETY_L2; norm <= SURETY_LINF && !few; norm++)
        for (unsigned set = SURETY_SIGNED; set <= SURETY_REAL; set++)
            for (size_t d = 0; d < sizeof defenses / sizeof *defenses; d++)
                compare_case(data, (surety_norm)norm, (surety_voter_set)set, defenses[d], &seen);
    assert_int_equal(seen, few ? 128 : 2768);
    surety_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twister),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
