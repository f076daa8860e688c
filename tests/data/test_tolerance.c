/* Tolerances: every bad table gets a sentence with its place; good ones read back as they are, by name, in
 * any order; radii are rounded up and ranges scaled as features are; JSON and copies keep every bit; no
 * allocation may be missed. */
#include "data/tolerance.h"

#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "draw.h"

static const char *const names[] = {"age", "blood, pressure", "say \"x\"", "flag"};
static const uint8_t moves[] = {1, 1, 1, 0};
static const surety_features features = {.d = 4, .names = names, .moves = moves};

static char path[] = "/tmp/surety-tolerance-XXXXXX";

static void write_file(const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static surety_status read_text(const char *text, surety_tolerance **out, surety_error *err) {
    write_file(text);
    return surety_tolerance_read(path, &features, out, err);
}

#define REST "\"blood, pressure\",1,,\n\"say \"\"x\"\"\",2,,\nflag,0,,\n"

static void good_tables_are_read(void **state) {
    (void)state;
    static const char *const texts[] = {
        "feature,radius,lo,hi\nage,0.1,-1,2.5\n" REST,
        "\xef\xbb\xbfhi,unit, feature ,radius,lo\r\n2.5,years, age , 0.1 ,-1\r\n\r\n,\"a,b\",\"blood, "
        "pressure\",1,\r\n"
        ",,\"say \"\"x\"\"\",2\r\n,,flag,0",
        "feature,radius,lo,hi\nflag,0,,\n\"say \"\"x\"\"\",2,,\n\"blood, pressure\",1,,\nage,1e-1,-1,2.5"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_tolerance *t = NULL;
        check_ok(read_text(texts[k], &t, &err));
        assert_int_equal(t->d, 4);
        assert_int_equal(t->moving, 3);
        for (size_t j = 0; j < 4; j++) assert_string_equal(t->names[j], names[j]);
        check_that(t->radius[0], ==, 0.1);
        check_that(t->unit[0], ==, 0.1);
        check_that(t->lo[0], ==, -1);
        check_that(t->hi[0], ==, 2.5);
        check_that(t->least[0], ==, -1);
        check_that(t->most[0], ==, 2.5f);
        check_that(t->radius[2], ==, 2);
        check_that(t->unit[3], ==, 0);
        check_is(isinf, t->lo[1]);
        check_that(t->lo[1], <, 0);
        check_is(isinf, t->most[2]);
        check_that(t->most[2], >, 0);
        surety_tolerance_free(t);
    }
}

static void bad_tables_get_a_sentence(void **state) {
    (void)state;
    static const struct {
        const char *text, *what, *place;
    } cases[] = {
        {"", "without a column 'feature'", "line 1"},
        {"age,0.1\n", "without a column 'feature'", "line 1"},
        {"feature,lo\nage,1\n", "without a column 'radius'", "line 1"},
        {"feature,radius,radius\n", "two columns are called 'radius'", "line 1"},
        {"feature,radius\nage,\n", "the radius of 'age' is not filled in", "line 2"},
        {"feature,radius\nage,1\n", "no line for the feature 'blood, pressure'", ""},
        {"feature,radius\nAge,1\n", "the data have no feature 'Age': did you mean 'age'?", "line 2"},
        {"feature,radius\nage,1\nage,1\n", "the feature 'age' has two lines", "line 3"},
        {"feature,radius\nage,many\n", "the radius of 'age' is 'many'", "line 2"},
        {"feature,radius\nage,nan\n", "the radius of 'age' is 'nan'", "line 2"},
        {"feature,radius\nage,inf\n", "the radius of 'age' is 'inf'", "line 2"},
        {"feature,radius,lo,hi\nage,1,x,\n", "the lo of 'age' is 'x'", "line 2"},
        {"feature,radius\nage,-1\n" REST, "the radius is -1", "feature 'age'"},
        {"feature,radius\nage,1e31\n" REST, "the radius is 1e+31", "feature 'age'"},
        {"feature,radius,lo,hi\nage,1,3,2\n" REST, "lo is above hi, which is 2", "feature 'age'"},
        {"feature,radius\nage,1\n\"blood, pressure\",1\n\"say \"\"x\"\"\",2\nflag,0.5\n", "the radius is 0.5",
         "feature 'flag'"},
        {"feature,radius\nage,0\n\"blood, pressure\",0\n\"say \"\"x\"\"\",0\nflag,0\n", "every radius is 0",
         ""},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_tolerance *t = NULL;
        assert_int_equal(read_text(cases[k].text, &t, &err), SURETY_E_INPUT);
        check(strstr(err.what, cases[k].what) && !strcmp(err.place, cases[k].place) && err.expected[0] && !t,
              "case %zu: '%s', '%s', expected '%s'", k, err.what, err.place, err.expected);
        assert_string_equal(err.file, path);
    }
    surety_error err = SURETY_ERROR_NONE;
    surety_tolerance *t = NULL;
    write_file("feature,radius\n");
    assert_int_equal(truncate(path, 40), 0); /* zero bytes behind it */
    assert_int_equal(surety_tolerance_read(path, &features, &t, &err), SURETY_E_INPUT);
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_tolerance_read("/nowhere/t.csv", &features, &t, &err), SURETY_E_INPUT);
}

/* Every value of the range lands in the scaled one, a radius is never too small, and neither is wider than
 * the last bits: with features scaled as readers do. */
static void scaled_outward(void **state) {
    (void)state;
    draw r = {1};
    for (long round = 0; round < check_count(20000, 1000000); round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_tolerance *t = NULL;
        float shift = (float)(draw_normal(&r) * pow(10, draw_real(&r, -3, 3))),
              factor = (float)pow(10, draw_real(&r, -4, 4));
        double radius = pow(10, draw_real(&r, -4, 4)), lo = draw_normal(&r) * pow(10, draw_real(&r, -3, 3)),
               hi = lo + pow(10, draw_real(&r, -8, 3));
        surety_features one = {.d = 1, .shift = &shift, .factor = &factor};
        check_ok(surety_tolerance_new(&one, &radius, &lo, &hi, &t, &err));
        long double exact = (long double)radius * (long double)factor;
        check_that((long double)t->unit[0], >=, exact);
        check_that((long double)t->unit[0], <=, exact * (1 + 0x1p-51L));
        for (int k = 0; k < 6; k++) {
            double value = k == 0 ? lo : k == 1 ? hi : draw_real(&r, lo, hi);
            float x = (float)value, centred = x - shift, z = centred * factor;
            check(z >= t->least[0] && z <= t->most[0], "%.17g: %.9g is outside [%.9g, %.9g]", value,
                  (double)z, (double)t->least[0], (double)t->most[0]);
        }
        surety_tolerance_free(t);
    }
}

static void json_and_copies_keep_every_bit(void **state) {
    (void)state;
    draw r = {2};
    for (int round = 0; round < 300; round++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_tolerance *t = NULL, *again = NULL, *copy = NULL;
        float shift[4], factor[4];
        double radius[4], lo[4], hi[4];
        for (size_t j = 0; j < 4; j++) {
            shift[j] = (float)draw_normal(&r), factor[j] = (float)draw_real(&r, 0.1, 10);
            radius[j] = j < 3 ? draw_real(&r, 0.1, 1) : 0;
            lo[j] = draw_size(&r, 0, 1) ? draw_normal(&r) : -HUGE_VAL;
            hi[j] = draw_size(&r, 0, 1) ? draw_normal(&r) + 9 : HUGE_VAL;
        }
        surety_features f = {4, names, shift, factor, moves};
        check_ok(surety_tolerance_new(&f, radius, lo, hi, &t, &err));
        char *text = surety_tolerance_json(t);
        check_ok(surety_tolerance_parse(&again, text, &f, &err));
        check_ok(surety_tolerance_copy(t, &copy, &err));
        assert_true(surety_tolerance_same(t, again));
        assert_true(surety_tolerance_same(t, copy));
        assert_memory_equal(t->radius, again->radius, sizeof radius);
        assert_memory_equal(t->lo, copy->lo, sizeof lo);
        radius[0] = nextafter(radius[0], 2);
        surety_tolerance_free(copy);
        check_ok(surety_tolerance_new(&f, radius, lo, hi, &copy, &err));
        assert_false(surety_tolerance_same(t, copy));
        assert_true(surety_tolerance_same(NULL, NULL));
        assert_true(!surety_tolerance_same(t, NULL));
        free(text);
        surety_tolerance_free(t), surety_tolerance_free(again), surety_tolerance_free(copy);
    }
}

static void bad_texts_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"features\":[\"age\"],\"radius\":[1],\"lo\":[null],\"hi\":[null]}",
        "{\"features\":[1,2,3,4],\"radius\":[1,1,1,0],\"lo\":[null,0,0,0],\"hi\":[1,1,1,1]}",
        "{\"features\":[\"age\",\"blood, pressure\",\"say "
        "\\\"x\\\"\",\"flags\"],\"radius\":[1,1,1,0],\"lo\":[0,0,0,0],"
        "\"hi\":[1,1,1,1]}",
        "{\"features\":[\"age\",\"blood, pressure\",\"say "
        "\\\"x\\\"\",\"flag\"],\"radius\":[null,1,1,0],\"lo\":[0,0,0,0],"
        "\"hi\":[1,1,1,1]}",
        "{\"features\":[\"age\",\"blood, pressure\",\"say "
        "\\\"x\\\"\",\"flag\"],\"radius\":[1,1,1,1],\"lo\":[0,0,0,0],"
        "\"hi\":[1,1,1,1]}"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_tolerance *t = NULL;
        assert_int_equal(surety_tolerance_parse(&t, texts[k], &features, &err), SURETY_E_INPUT);
        assert_null(t);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    surety_status status = SURETY_E_MEMORY;
    write_file("feature,radius,lo,hi\nage,0.1,-1,2.5\n" REST);
    for (long n = 0; status != SURETY_OK; n++) {
        long left = n;
        surety_tolerance *t = NULL;
        surety_error err = SURETY_ERROR_NONE;
        surety_memory_hook(check_fail_at, &left);
        status = surety_tolerance_read(path, &features, &t, &err);
        surety_memory_hook(NULL, NULL);
        check(status == SURETY_OK || (status == SURETY_E_MEMORY && !t), "allocation %ld: %s", n, err.what);
        surety_tolerance_free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_tables_are_read),  cmocka_unit_test(bad_tables_get_a_sentence),
        cmocka_unit_test(scaled_outward),        cmocka_unit_test(json_and_copies_keep_every_bit),
        cmocka_unit_test(bad_texts_are_refused), cmocka_unit_test(every_allocation_may_fail),
    };
    close(mkstemp(path));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
