/* The grid, the printed tables and how ours are compared with them. */
#include <math.h>
#include <unistd.h>

#include "base/random.h"
#include "check.h"
#include "comma.h"
#include "io/files.h"
#include "plain.h"
#include "study/study.h"

static surety_error err = SURETY_ERROR_NONE;

/* Every printed number belongs to exactly one cell, and a cell's rows have exactly the printed quantities. */
static void test_grid_covers_print(void **state) {
    surety_study_settings s = surety_study_defaults();
    surety_results r;
    surety_cell *cells;
    size_t count, covered = 0;
    (void)state;
    check_ok(surety_results_new(&r, 1, &err));
    check_ok(surety_grid_make(&cells, &count, &s, &err));
    assert_int_equal(r.count, 2304);
    assert_int_equal(count, 144);
    for (size_t i = 0; i < count; i++) {
        surety_objective objectives[SURETY_CELL_MODELS];
        size_t models = surety_cell_objectives(cells[i].defense, objectives);
        for (size_t k = 0; k < models; k++) {
            surety_threat_kind attacks[SURETY_CELL_ATTACKS];
            surety_cell_attacks(objectives[k], attacks);
            for (size_t a = 0; a < SURETY_CELL_ATTACKS; a++)
                for (int q = 0; q < SURETY_QUANTITIES; q++) {
                    surety_printed key = {
                        cells[i].task, cells[i].norm,      objectives[k],      cells[i].defense,
                        attacks[a],    cells[i].voter_set, (surety_quantity)q, 0};
                    size_t at = surety_results_find(&r, &key);
                    if (at == r.count) continue;
                    check(isnan(r.values[at]), "printed number %zu belongs to two cells", at);
                    r.values[at] = 0;
                    covered++;
                }
        }
    }
    assert_int_equal(covered, r.count);
    surety_free(cells);
    surety_results_free(&r);
}

static void test_names_differ(void **state) {
    surety_study_settings s = surety_study_defaults();
    surety_cell *cells;
    size_t count;
    (void)state;
    s.seeds = 12; /* 1 and 11 must not meet */
    check_ok(surety_grid_make(&cells, &count, &s, &err));
    assert_int_equal(count, 144 * 12);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            char a[SURETY_CELL_NAME], b[SURETY_CELL_NAME];
            surety_cell_name(&cells[i], a);
            surety_cell_name(&cells[j], b);
            check(strcmp(a, b), "two cells are named %s", a);
        }
    surety_free(cells);
}

/* print .500 against a first seed, and bands, that end at, just inside and just outside of what counts. */
static void test_compare(void **state) {
    static const struct {
        surety_quantity quantity;
        double first, other;
        int near, agrees, in_band;
    } cases[] = {
        {SURETY_ADVERSARIAL_RISK, 0.5, 0.6, 1, 1, 1},     {SURETY_ADVERSARIAL_RISK, 0.5015, 0.6, 1, 1, 0},
        {SURETY_ADVERSARIAL_RISK, 0.5016, 0.4, 0, 1, 1},  {SURETY_ADVERSARIAL_RISK, 0.51, 0.6, 0, 1, 0},
        {SURETY_ADVERSARIAL_RISK, 0.5101, 0.5, 0, 0, 1},  {SURETY_AVERAGED_RISK, 0.49, 0.4, 0, 1, 0},
        {SURETY_AVERAGED_MAX_RISK, 0.4899, 0.4, 0, 0, 0}, {SURETY_BOUND_OF_SEEGER, 0.48, 0.4, 0, 1, 0},
        {SURETY_BOUND_OF_TV, 0.4799, 0.49999, 0, 0, 0},   {SURETY_BOUND_OF_MAX, 0.52, 0.4, 0, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        surety_printed printed = {.quantity = cases[i].quantity, .value = 0.5};
        double values[] = {cases[i].first, (double)NAN, cases[i].other};
        surety_results r = {.count = 1, .printed = &printed, .seeds = 3, .values = values};
        surety_compared c = surety_results_compare(&r, 0);
        assert_int_equal(c.seeds, 2);
        check_that(c.first, ==, cases[i].first);
        check_that(c.min, ==, fmin(c.first, cases[i].other));
        check_that(c.max, ==, fmax(c.first, cases[i].other));
        check(c.near == cases[i].near && c.agrees == cases[i].agrees && c.in_band == cases[i].in_band,
              "case %zu: near %d, agrees %d, in band %d", i, c.near, c.agrees, c.in_band);
        surety_agreement a = surety_results_agreement(&r);
        check_that(a.compared, ==, 1);
        check_that(a.near, ==, (size_t)c.near);
        check_that(a.agree, ==, (size_t)c.agrees);
        check_that(a.in_band, ==, (size_t)c.in_band);
        check_that(a.either, ==, (size_t)(c.agrees || c.in_band));
        check_that(a.farthest, ==, fabs(c.first - 0.5));
    }
}

/* One seed is no band, and no seed is nothing. */
static void test_compare_few(void **state) {
    double value = 0.5;
    surety_printed printed = {.value = 0.5};
    surety_results r = {.count = 1, .printed = &printed, .seeds = 1, .values = &value};
    (void)state;
    surety_compared c = surety_results_compare(&r, 0);
    check_that(c.seeds, ==, 1);
    assert_true(c.near);
    assert_true(c.agrees);
    assert_true(!c.in_band);
    value = (double)NAN;
    c = surety_results_compare(&r, 0);
    assert_true(!c.seeds);
    check_is(isnan, c.first);
    assert_true(!c.near);
    assert_true(!c.in_band);
    assert_true(!c.agrees);
    assert_int_equal(surety_results_agreement(&r).compared, 0);
}

static void test_recipes(void **state) {
    surety_study_settings s = surety_study_defaults();
    (void)state;
    assert_string_equal(surety_recipe_name(s.recipe), "print");
    check_ok(surety_study_validate(&s, &err));
    s.recipe = SURETY_RECIPE_THEORY;
    assert_string_equal(surety_recipe_name(s.recipe), "theory");
    check_ok(surety_study_validate(&s, &err));
    s.recipe = (surety_recipe)2;
    surety_error wrong = SURETY_ERROR_NONE;
    assert_int_equal(surety_study_validate(&s, &wrong), SURETY_E_USAGE);
}

/* A cell with an attack costs more than one without, twice the epochs nearly twice. */
static void test_cost(void **state) {
    surety_speed speed;
    surety_study_settings s = surety_study_defaults(), longer = s;
    surety_cell none = {.defense = SURETY_ATTACK_NONE}, pgdu = {.defense = SURETY_ATTACK_PGDU};
    (void)state;
    check_ok(surety_speed_measure(&speed, &err));
    check_that(speed.step, >, 0);
    check_that(speed.sample, >, 0);
    check_that(speed.step, <, 1);
    longer.epochs *= 2;
    double short_ = surety_cell_cost(&s, &pgdu, &speed).all,
           long_ = surety_cell_cost(&longer, &pgdu, &speed).all;
    check_that(surety_cell_cost(&s, &none, &speed).all, <, short_);
    check_that(long_, >, 1.5 * short_);
    check_that(long_, <=, 2 * short_);
}

/* ---- a whole cell, on data so small that it also runs under sanitizers ---- */

static char folder[] = "/tmp/surety-study-XXXXXX";

/* 240 rows of 20 features in [0,1]; the first ones lean with the label. */
static surety_data *small_data(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/data.csv", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (uint32_t i = 0; i < 240; i++) {
        surety_address a = {.row = i, .purpose = SURETY_FOR_CHECK};
        for (uint64_t j = 0; j < 20; j++) {
            double u = (double)surety_random_uniform(1, &a, j);
            fprintf(file, "%.6f,", j < 8 && i % 2 ? 0.4 + 0.6 * u : 0.6 * u);
        }
        fprintf(file, "%u\n", i % 2);
    }
    fclose(file);
    surety_data_settings s = plain_settings();
    surety_data *data = NULL;
    s.train = path;
    s.learn_size = 70;
    s.test_size = 50;
    check_ok(surety_data_open(&s, &data, &err));
    return data;
}

static surety_study_settings small_settings(void) {
    surety_study_settings s = surety_study_defaults();
    s.recipe = SURETY_RECIPE_THEORY;
    s.epochs = 2;
    s.samples = 5;
    s.steps = 3;
    return s;
}

static double number(const json_t *row, const char *key) {
    return json_number_value(json_object_get(row, key));
}

static surety_model *saved_model(const surety_cell *cell, const char *objective) {
    char name[SURETY_CELL_NAME], path[256];
    surety_model *model = NULL;
    surety_cell_name(cell, name);
    snprintf(path, sizeof path, "%s/models/%s-%s.safetensors", folder, name, objective);
    check_ok(surety_model_load(path, &model, &err));
    return model;
}

/* Every point of the curve, also those that the cell takes from its rows, against an attack of that radius.
 */
static void check_curve(const json_t *curve, const surety_model *model, const surety_data *data,
                        size_t steps) {
    surety_row_settings settings = surety_row_defaults(model);
    settings.threat.kind = SURETY_ATTACK_PGD;
    settings.threat.steps = steps;
    const json_t *eps = json_object_get(curve, "eps"), *risks = json_object_get(curve, "risk");
    assert_int_equal(json_array_size(eps), 9);
    check_that(json_number_value(json_array_get(eps, 4)), ==, settings.threat.ball.radius);
    for (size_t i = 0; i < 9; i++) {
        surety_attack_result found;
        settings.threat.ball.radius = json_number_value(json_array_get(eps, i));
        check_ok(surety_evaluate_attacked(model, surety_data_set(data, SURETY_SET_TEST), &settings.threat,
                                          &found, NULL, &err));
        check_that(json_number_value(json_array_get(risks, i)), ==, (double)found.fooled / (double)found.m);
    }
}

/* Every row against surety_evaluate_row of the model that the cell saved; one thread against three. */
static void check_cell(unsigned defense, surety_voter_set set, const surety_data *data) {
    surety_study_settings s = small_settings();
    surety_cell cell = {.norm = SURETY_L2, .voter_set = set, .defense = defense, .seed = 3};
    surety_run one = {.threads = 1}, three = {.threads = 3};
    json_t *found, *again, *row;
    size_t at;
    check_ok(surety_cell_run(&found, &s, &cell, data, folder, &three, &err));
    check_ok(surety_cell_run(&again, &s, &cell, data, folder, &one, &err));
    assert_true(json_equal(json_object_get(found, "rows"), json_object_get(again, "rows")));
    assert_true(json_equal(json_object_get(found, "curve"), json_object_get(again, "curve")));
    assert_true(json_equal(json_object_get(found, "gallery"), json_object_get(again, "gallery")));
    json_array_foreach(json_object_get(found, "rows"), at, row) {
        surety_model *model = saved_model(&cell, json_string_value(json_object_get(row, "algorithm")));
        surety_row mine;
        surety_row_settings settings = surety_row_defaults(model);
        settings.threat.samples = s.samples;
        settings.threat.steps = s.steps;
        check_ok(surety_threat_parse(json_string_value(json_object_get(row, "attack")), &settings.threat.kind,
                                     &err));
        int worst = settings.threat.kind == SURETY_WORST_CASE;
        check_ok(surety_evaluate_row(model, data, &settings, &mine, &one, &err));
        if (worst)
            check_that(number(row, "not_proved"), ==, mine.test.averaged_max);
        else
            check_that(number(row, "adversarial_risk"), ==, mine.adversarial_risk);
        json_t *bounds = json_object_get(row, "bounds");
        assert_true(!worst || json_object_size(bounds));
        if (bounds) {
            if (!worst) {
                check_that(number(row, "averaged_risk"), ==, mine.averaged_risk);
                check_that(number(row, "averaged_max_risk"), ==, mine.averaged_max);
                check_that(number(row, "tv"), ==, mine.learn.tv);
            }
            for (int id = 0; id < SURETY_BOUNDS; id++)
                if (mine.bounds[id].available)
                    check_that(number(bounds, surety_bound_list()[id].name), ==, mine.bounds[id].vote);
        }
        surety_row_free(&mine);
        surety_model_free(model);
    }
    surety_objective objectives[SURETY_CELL_MODELS];
    assert_int_equal(at, 3 * surety_cell_objectives(defense, objectives));
    if (defense != SURETY_WORST_CASE) {
        surety_model *first = saved_model(&cell, surety_objective_name(objectives[0]));
        check_curve(json_object_get(found, "curve"), first, data, s.steps);
        surety_model_free(first);
    }
    json_decref(again);
    check_ok(surety_cell_save(json_incref(found), folder, &cell, &err));
    check_ok(surety_cell_load(&again, folder, &cell, &err));
    assert_true(json_equal(found, again));
    json_decref(found);
    json_decref(again);
}

static size_t left_allocations;

static int fail_late(void *arg, size_t bytes) {
    (void)arg, (void)bytes;
    return left_allocations-- != 0;
}

/* No memory at the k-th request: an error and no leak (sanitizers look), for every k until the cell gets
 * through. */
static void check_memory(unsigned defense, const surety_data *data) {
    surety_study_settings s = small_settings();
    surety_cell cell = {.norm = SURETY_LINF, .defense = defense, .seed = 1};
    surety_run one = {.threads = 1};
    surety_status status = SURETY_E_MEMORY;
    size_t k = 0;
    s.epochs = 1;
    for (; status == SURETY_E_MEMORY; k += (size_t)check_count(11, 1)) {
        surety_error mine = SURETY_ERROR_NONE;
        json_t *found = NULL;
        left_allocations = k;
        surety_memory_hook(fail_late, NULL);
        status = surety_cell_run(&found, &s, &cell, data, folder, &one, &mine);
        surety_memory_hook(NULL, NULL);
        check(status == SURETY_OK || (status == SURETY_E_MEMORY && !found), "allocation %zu: %s", k,
              mine.what);
        json_decref(found);
    }
    check_that(k, >, 100);
}

typedef struct cell_to_run {
    surety_study_settings s;
    surety_cell cell;
    const surety_data *data;
} cell_to_run;

static surety_status cell_once(void *arg, files_result *result, surety_error *failed) {
    cell_to_run *c = arg;
    surety_run one = {.threads = 1};
    json_t *found = NULL;
    SURETY_TRY(surety_cell_run(&found, &c->s, &c->cell, c->data, folder, &one, failed));
    json_object_del(found, "seconds");
    result->bytes = surety_json_text(found);
    if (!result->bytes) return surety_fail(failed, SURETY_E_MEMORY, "no memory");
    result->size = strlen(result->bytes);
    return SURETY_OK;
}

/* One allocation fails and the others do not: success means the same bytes. */
static void check_bytes(const surety_data *data) {
    cell_to_run c = {.s = small_settings(), .cell = {.norm = SURETY_LINF, .seed = 1}, .data = data};
    c.s.epochs = 1;
    files_fail_each(cell_once, &c, check_count(17, 1));
}

static surety_status results_once(void *arg, files_result *result, surety_error *failed) {
    cell_to_run *c = arg;
    json_t *found = NULL;
    char path[320];
    SURETY_TRY(surety_cell_load(&found, folder, &c->cell, failed));
    SURETY_TRY(surety_cell_save(found, folder, &c->cell, failed));
    SURETY_TRY(surety_results_write(folder, &c->s, failed));
    snprintf(path, sizeof path, "%s/results.json", folder);
    result->bytes = files_get(path, &result->size);
    return SURETY_OK;
}

static void check_results(void) {
    cell_to_run c = {.s = small_settings(),
                     .cell = {.norm = SURETY_L2, .voter_set = SURETY_SIGNED, .seed = 3}};
    files_fail_each(results_once, &c, check_count(101, 7));
}

static void test_cells(void **state) {
    surety_study_settings s = small_settings();
    (void)state;
    assert_non_null(mkdtemp(folder));
    check_ok(surety_study_open(folder, &s, &err));
    surety_data *data = small_data();
    check_cell(SURETY_ATTACK_NONE, SURETY_SIGNED, data);
    check_cell(SURETY_ATTACK_PGDU, SURETY_REAL, data);
    check_cell(SURETY_ATTACK_IFGSM, SURETY_REAL, data);
    check_cell(SURETY_WORST_CASE, SURETY_SIGNED, data);
    check_cell(SURETY_WORST_CASE, SURETY_REAL, data);
    check_memory(SURETY_ATTACK_NONE, data);
    check_memory(SURETY_WORST_CASE, data);
    check_bytes(data);
    check_results();
    surety_data_free(data);
    surety_cell other = {.norm = SURETY_LINF, .seed = 3};
    json_t *found;
    check_ok(surety_cell_load(&found, folder, &other, &err));
    assert_null(found);
}

/* Results are written and read with a decimal point, whatever the locale of the program. */
static void test_decimal_comma(void **state) {
    surety_study_settings s = small_settings();
    surety_results with_point, with_comma;
    (void)state;
    comma_begin();
    check_ok(surety_results_write(folder, &s, &err));
    check_ok(surety_results_load(&with_comma, folder, &err));
    comma_end();
    check_ok(surety_results_write(folder, &s, &err));
    check_ok(surety_results_load(&with_point, folder, &err));
    check_that(surety_results_agreement(&with_point).compared, >, 0);
    check_that(with_point.count, ==, with_comma.count);
    check_that(with_point.seeds, ==, with_comma.seeds);
    assert_memory_equal(with_point.values, with_comma.values,
                        with_point.count * with_point.seeds * sizeof *with_point.values);
    for (size_t i = 0; i < with_point.count; i++)
        check_that(with_point.printed[i].value, ==, with_comma.printed[i].value);
    surety_results_free(&with_point);
    surety_results_free(&with_comma);
}

static int remove_folder(void **state) {
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid_covers_print),
        cmocka_unit_test(test_names_differ),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_compare_few),
        cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_decimal_comma),
    };
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
