/* data: rows from memory are rows from files; what arrays and indices must not be; what digests of rows tell
 * apart. */
#include "io/files.h"

#include <math.h>

#include "plain.h"
#include "surety/data.h"

/* ---- the same rows in a file and in memory ---- */

/* m rows "i/1000, 0.5, label", label cycles through 3, 5, 8. */
static const char *make_csv(const char *name, int m, int first) {
    char *text = malloc((size_t)m * 32), *at = text;
    for (int i = first; i < first + m; i++) at += sprintf(at, "%.3f,0.5,%d\n", i / 1000., "358"[i % 3] - '0');
    const char *path = files_text(name, text);
    free(text);
    return path;
}

static const char *const eight_three[] = {"8", "3"}, *const three_eight[] = {"3", "8"};

static surety_data_settings settings(void) {
    surety_data_settings s = plain_settings();
    s.learn_size = 10;
    s.classes = eight_three, s.class_count = 2;
    s.seed = 7;
    return s;
}

enum { WIDE = 7 }; /* floats from row to row of the arrays below; two are features */

typedef struct memory {
    float x[90 * WIDE], tx[30 * WIDE];
    int64_t y[90], ty[30];
} memory;

/* The rows of make_csv, with something else behind each of them. */
static void fill_rows(float *x, int64_t *y, int m, int first) {
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < WIDE; j++) x[i * WIDE + j] = NAN;
        x[i * WIDE] = (float)((first + i) / 1000.);
        x[i * WIDE + 1] = 0.5f;
        y[i] = "358"[(first + i) % 3] - '0';
    }
}

static surety_arrays in_memory(memory *m, int with_test) {
    fill_rows(m->x, m->y, 90, 0);
    fill_rows(m->tx, m->ty, 30, 500);
    surety_arrays a = {.m = 90, .d = 2, .features = m->x, .stride = WIDE, .labels = m->y};
    if (with_test) a.test_m = 30, a.test_features = m->tx, a.test_stride = WIDE, a.test_labels = m->ty;
    return a;
}

static void same_sets(const surety_data *a, const surety_data *b) {
    for (int k = 0; k < SURETY_SETS; k++) {
        const surety_set *s = surety_data_set(a, (surety_set_name)k),
                         *t = surety_data_set(b, (surety_set_name)k);
        check_that(s->m, ==, t->m);
        check_that(s->d, ==, t->d);
        check_that(s->stride, ==, t->stride);
        check_that(s->which, ==, t->which);
        assert_memory_equal(s->x, t->x, s->m * s->stride * sizeof *s->x);
        assert_memory_equal(s->y, t->y, s->m);
        assert_memory_equal(s->row, t->row, s->m * sizeof *s->row);
    }
    const surety_data_info *one = surety_data_describe(a), *two = surety_data_describe(b);
    assert_memory_equal(one->set_sha256, two->set_sha256, sizeof one->set_sha256);
    assert_int_equal(one->classes, two->classes);
    assert_memory_equal(one->class_sha256, two->class_sha256, one->classes * sizeof *one->class_sha256);
}

/* The same settings give the same sets, and nothing points to the arrays afterwards. */
static void arrays_are_files_without_files(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    for (int with_test = 0; with_test < 2; with_test++) {
        surety_data_settings s = settings();
        surety_data *file = NULL, *data = NULL;
        memory *m = malloc(sizeof *m);
        surety_arrays a = in_memory(m, with_test);
        s.train = make_csv("rows.csv", 90, 0);
        if (with_test)
            s.test = make_csv("rows_test.csv", 30, 500);
        else
            s.test_size = 6;
        check_ok(surety_data_open(&s, &file, &err));
        s.train = s.test = NULL;
        check_ok(surety_data_from_arrays(&a, &s, &data, &err));
        free(m);
        same_sets(file, data);
        const surety_data_info *info = surety_data_describe(data), *was = surety_data_describe(file);
        check_that(info->files, ==, 0);
        assert_true(!info->task);
        check_that(info->scale, ==, 1);
        check_that(info->height, ==, 0);
        check_that(info->order, ==, SURETY_ORDER_SHUFFLED);
        check_that(info->seed, ==, 7);
        check_that(info->train, ==, was->train);
        check_that(info->test, ==, was->test);
        check_that(info->test_size, ==, was->test_size);
        assert_string_equal(info->split, was->split);
        surety_data_free(file);
        surety_data_free(data);
    }
}

/* Rows with a column of categories, one of units and one of groups, as a file and as texts in memory. */
typedef struct words {
    float x[60 * 4];
    int64_t y[60];
    char unit[60][16];
    const char *color[60], *of[60], *site[60];
    const char *const *columns[4];
} words;

static const char *const word_names[] = {"age", "color", "patient", "site"};

static surety_arrays in_words(words *w) {
    static const char *const colors[] = {"red", " green\t", "7.0", "07", NULL, "NA"};
    for (int i = 0; i < 60; i++) {
        w->x[4 * i] = (float)i / 8;
        w->x[4 * i + 1] = w->x[4 * i + 2] = w->x[4 * i + 3] = NAN; /* not read */
        w->y[i] = i % 2;
        snprintf(w->unit[i], sizeof w->unit[i], "p%d", i / 2);
        w->color[i] = colors[i % 6], w->of[i] = w->unit[i], w->site[i] = i % 3 ? "north" : "";
    }
    w->columns[0] = NULL, w->columns[1] = w->color, w->columns[2] = w->of, w->columns[3] = w->site;
    return (surety_arrays){
        .m = 60, .d = 4, .features = w->x, .names = word_names, .texts = w->columns, .labels = w->y};
}

static surety_data_settings word_settings(void) {
    static const char *const categorical[] = {"color"}, *const drop[] = {"site"};
    surety_data_settings s = surety_data_defaults();
    s.categorical = categorical, s.categorical_count = 1;
    s.drop = drop, s.drop_count = 1;
    s.unit = "patient", s.group = "site";
    s.missing = SURETY_MISSING_FLAG;
    s.test_share = 0;
    return s;
}

static void texts_in_memory_are_those_of_a_file(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    words w;
    surety_arrays a = in_words(&w);
    surety_data_settings s = word_settings();
    surety_data *file = NULL, *data = NULL;
    char text[60 * 64] = "age,color,patient,site,y\n", *at = text + strlen(text);
    for (int i = 0; i < 60; i++)
        at += sprintf(at, "%.3f,%s,%s,%s,%d\n", i / 8., w.color[i] ? w.color[i] : "", w.of[i], w.site[i],
                      i % 2);
    s.train = files_text("words.csv", text);
    check_ok(surety_data_open(&s, &file, &err));
    s.train = NULL;
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    same_sets(file, data);
    const surety_set *one = surety_data_set(file, SURETY_SET_LEARN),
                     *two = surety_data_set(data, SURETY_SET_LEARN);
    check_that(one->units, ==, two->units);
    check_that(one->units, <, one->m);
    assert_memory_equal(one->unit, two->unit, one->m * sizeof *one->unit);
    assert_int_equal(surety_data_describe(data)->groups, 2);
    surety_data_free(file);
    surety_data_free(data);
}

/* Texts where numbers are asked for, and texts that are none. */
static void texts_that_are_refused(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    words w;
    surety_arrays a = in_words(&w);
    surety_data_settings s = word_settings();
    surety_data *data = NULL;
    w.color[7] = "\xff";
    assert_int_equal(surety_data_from_arrays(&a, &s, &data, &err), SURETY_E_INPUT);
    assert_string_equal(err.place, "row 7, column 1 (from 0)");
    w.color[7] = "red";
    s.categorical_count = 0;
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_data_from_arrays(&a, &s, &data, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "'color' holds texts"));
}

/* IDX and NPY of bytes against their floats, NPY of other types; a file of the same rows in other types. */
static void arrays_and_other_formats(void **state) {
    (void)state;
    enum { M = 12, D = 6 };
    surety_error err = SURETY_ERROR_NONE;
    unsigned char idx[16 + M * D] = {0, 0, 8, 3, 0, 0, 0, M, 0, 0, 0, 2, 0, 0, 0, 3},
                               labels[8 + M] = {0, 0, 8, 1, 0, 0, 0, M};
    float x[M * D];
    double wide[M * D];
    int64_t y[M];
    for (int i = 0; i < M * D; i++) {
        idx[16 + i] = (unsigned char)(i * 37);
        x[i] = (float)idx[16 + i] / 255.0f;
        wide[i] = (double)x[i];
    }
    for (int i = 0; i < M; i++) y[i] = labels[8 + i] = (unsigned char)(i % 2);
    surety_data_settings s = plain_settings();
    s.learn_size = 4, s.test_size = 3, s.seed = 5;
    surety_arrays a = {.m = M, .d = D, .features = x, .labels = y};
    surety_data *in = NULL, *file = NULL;
    check_ok(surety_data_from_arrays(&a, &s, &in, &err));
    files_put("arrays-labels-idx1-ubyte", labels, sizeof labels);
    files_npy("X_bytes.npy", SURETY_U1, idx + 16, M, D),
        files_npy("y_bytes.npy", SURETY_U1, labels + 8, M, 0);
    files_npy("X_floats.npy", SURETY_F4, x, M, D), files_npy("y_floats.npy", SURETY_I8, y, M, 0);
    files_npy("X_doubles.npy", SURETY_F8, wide, M, D), files_npy("y_doubles.npy", SURETY_I8, y, M, 0);
    const char *names[] = {"arrays-images-idx3-ubyte", "X_bytes.npy", "X_floats.npy", "X_doubles.npy"};
    files_put(names[0], idx, sizeof idx);
    for (int i = 0; i < 4; i++) {
        s.train = files_path(names[i]);
        check_ok(surety_data_open(&s, &file, &err));
        same_sets(in, file);
        surety_data_free(file);
    }
    surety_data_free(in);
}

/* ---- splits by indices ---- */

/* S', S, T. Rows of class 5 are 1, 4, 7, ..: not picked. */
static const int64_t first_rows[] = {9, 0, 5, 3}, learn_rows[] = {89, 2}, test_rows[] = {6};

static surety_split some_split(void) {
    return (surety_split){{4, 2, 1}, {first_rows, learn_rows, test_rows}};
}

static void arrays_split_by_indices(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    memory m;
    json_t *root = NULL;
    surety_data *data = NULL;
    surety_arrays a = in_memory(&m, 0);
    surety_split split = some_split();
    surety_data_settings s = settings();
    a.split = &split;
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    for (int k = 0; k < SURETY_SETS; k++) {
        const surety_set *set = surety_data_set(data, (surety_set_name)k);
        assert_int_equal(set->m, split.m[k]);
        for (size_t i = 0; i < set->m; i++) {
            int64_t row = split.rows[k][i];
            check_that(set->row[i], ==, row);
            check_that(set->x[i * set->stride], ==, (float)((double)row / 1000.));
            assert_int_equal(set->y[i], row % 3 == 0);
        }
    }
    const surety_data_info *info = surety_data_describe(data);
    check_that(info->order, ==, SURETY_ORDER_GIVEN);
    check_that(info->learn_size, ==, 2);
    check_that(info->test_size, ==, 1);
    check_that(info->train, ==, 6);
    check_that(info->test, ==, 1);
    char *text = surety_data_info_json(info);
    check_ok(surety_json_parse(&root, text, strlen(text), "info", &err));
    json_t *how = json_object_get(root, "split");
    assert_string_equal(json_string_value(json_object_get(how, "order")), "given");
    assert_true(json_is_null(json_object_get(how, "seed")));
    assert_int_equal(json_array_size(json_object_get(root, "files")), 0);
    json_decref(root);
    free(text);
    surety_data_free(data);
    a = in_memory(&m, 1); /* T of its own, or none */
    split.m[SURETY_SET_TEST] = 0, split.rows[SURETY_SET_TEST] = NULL;
    a.split = &split;
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    assert_int_equal(surety_data_set(data, SURETY_SET_TEST)->m, 20);
    surety_data_free(data);
    a.test_m = 0, a.test_features = NULL;
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    assert_int_equal(surety_data_set(data, SURETY_SET_TEST)->m, 0);
    surety_data_free(data);
    a.split = NULL;
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    assert_int_equal(surety_data_describe(data)->m[SURETY_SET_PRIOR], 50);
    surety_data_free(data);
}

/* ---- digests ---- */

typedef struct digests {
    char set_sha256[SURETY_SETS][65], class_sha256[2][65];
} digests;

static digests digests_of(const surety_arrays *a, const surety_data_settings *s) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    digests all;
    check_ok(surety_data_from_arrays(a, s, &data, &err));
    const surety_data_info *info = surety_data_describe(data);
    memcpy(all.set_sha256, info->set_sha256, sizeof all.set_sha256);
    memcpy(all.class_sha256, info->class_sha256, sizeof all.class_sha256);
    surety_data_free(data);
    return all;
}

/* Which of the digests are the same: a bit for each set, then one for each class. */
static unsigned same_digests(const digests *a, const digests *b) {
    unsigned same = 0;
    for (int k = 0; k < SURETY_SETS; k++) same |= (unsigned)!strcmp(a->set_sha256[k], b->set_sha256[k]) << k;
    for (int k = 0; k < 2; k++) same |= (unsigned)!strcmp(a->class_sha256[k], b->class_sha256[k]) << (3 + k);
    return same;
}

/* What a digest must notice, and what it must not. Rows 9, 0, 3 of S' are of class 3 (+1), row 5 of class 8.
 */
static void digests_tell_what_differs(void **state) {
    (void)state;
    enum { PRIOR = 1, LEARN = 2, TEST = 4, NEGATIVE = 8, POSITIVE = 16, ALL = 31 };
    memory m;
    surety_split split = some_split(), other = split;
    surety_data_settings s = settings();
    surety_arrays a = in_memory(&m, 0), none = a;
    a.split = &split;
    digests was = digests_of(&a, &s), now = was;
    m.x[3 * WIDE] = 0.25f; /* a feature */
    now = digests_of(&a, &s);
    assert_int_equal(same_digests(&was, &now), ALL & ~(PRIOR | POSITIVE));
    a = in_memory(&m, 0), a.split = &split;
    check_that(m.x[0], ==, 0);
    m.x[0] = -0.0f; /* the same number */
    now = digests_of(&a, &s);
    assert_int_equal(same_digests(&was, &now), ALL);
    a = in_memory(&m, 0), a.split = &split;
    m.y[5] = 3; /* a label */
    now = digests_of(&a, &s);
    assert_int_equal(same_digests(&was, &now), ALL & ~(PRIOR | NEGATIVE | POSITIVE));
    a = in_memory(&m, 0), a.split = &split;
    m.x[12 * WIDE] = 0.25f; /* a row of no set is a row of its class all the same */
    now = digests_of(&a, &s);
    assert_int_equal(same_digests(&was, &now), ALL & ~POSITIVE);
    a = in_memory(&m, 0), a.split = &other;
    static const int64_t turned[] = {0, 9, 5, 3};
    other.rows[SURETY_SET_PRIOR] = turned; /* the order */
    now = digests_of(&a, &s);
    assert_int_equal(same_digests(&was, &now), ALL & ~PRIOR);
    s.classes = three_eight; /* which class is which */
    a.split = &split;
    now = digests_of(&a, &s);
    assert_int_equal(same_digests(&was, &now), 0);
    assert_string_equal(was.class_sha256[0], now.class_sha256[1]);
    assert_string_equal(was.class_sha256[1], now.class_sha256[0]);
    s = settings();
    none.split = NULL; /* another split of the same rows */
    now = digests_of(&none, &s);
    assert_int_equal(same_digests(&was, &now), NEGATIVE | POSITIVE);
    for (int i = 0; i < 44; i += 3) { /* rows of one class change places */
        float x = m.x[i * WIDE];
        m.x[i * WIDE] = m.x[(87 - i) * WIDE];
        m.x[(87 - i) * WIDE] = x;
    }
    now = digests_of(&none, &s);
    assert_int_equal(same_digests(&was, &now), NEGATIVE | POSITIVE);
}

/* ---- what is refused ---- */

static surety_status try_arrays(const surety_arrays *a, const surety_data_settings *s, surety_error *err) {
    surety_data *data = (surety_data *)err;
    *err = (surety_error)SURETY_ERROR_NONE;
    surety_status status = surety_data_from_arrays(a, s, &data, err);
    check_that((status == SURETY_OK), ==, (data != NULL));
    surety_data_free(data);
    return status;
}

static void bad_values_in_arrays(void **state) {
    (void)state;
    surety_error err;
    memory m;
    surety_arrays a = in_memory(&m, 1);
    surety_data_settings s = settings();
    const float values[] = {NAN, INFINITY, -INFINITY, 1.5f, -1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        m.x[12 * WIDE + 1] = values[i];
        assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_INPUT);
        assert_string_equal(err.file, "array features");
        assert_string_equal(err.place, "row 12, column 1 (from 0)");
        assert_true(err.what[0]);
        assert_true(err.expected[0]);
    }
    a = in_memory(&m, 1);
    m.tx[1 * WIDE] = -INFINITY;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_INPUT);
    assert_string_equal(err.file, "array test_features");
    assert_string_equal(err.place, "row 1, column 0 (from 0)");
    s.boxed = 0, m.tx[1 * WIDE] = 1e30f;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_OK);
    s.classes = (const char *const[]){"4", "3"};
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_INPUT);
    assert_string_equal(err.file, "array labels");
    s = settings(), a = in_memory(&m, 1);
    for (int i = 0; i < 30; i++) m.ty[i] = 3;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_INPUT);
    assert_string_equal(err.file, "array test_labels");
    a = in_memory(&m, 0);
    a.test_m = 90, a.test_features = m.x, a.test_stride = WIDE, a.test_labels = m.y;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "same content"));
    a = in_memory(&m, 1);
    s.learn_size = 60;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.expected, "at least 61"));
    assert_string_equal(err.file, "array features");
}

static void arrays_that_are_none(void **state) {
    (void)state;
    enum { CASES = 14 };
    surety_error err;
    memory m;
    surety_arrays a[CASES];
    surety_data_settings s[CASES];
    for (int i = 0; i < CASES; i++) a[i] = in_memory(&m, 1), s[i] = settings();
    a[0].features = NULL;
    a[1].m = 0;
    a[2].d = 0;
    a[3].labels = NULL;
    a[4].stride = 1;
    a[5].test_stride = 1;
    a[6].test_labels = NULL;
    a[7].test_m = 0;
    a[8].m = (size_t)1 << 32;
    s[9].task = "mnist-1v7";
    s[10].train = "train.csv";
    s[11].test_size = 3;
    s[12].learn_size = 0, s[12].learn_share = 0;
    s[13].classes = (const char *const[]){"3", "3"};
    for (int i = 0; i < CASES; i++) {
        check(try_arrays(&a[i], &s[i], &err) == SURETY_E_USAGE, "case %d passes", i);
        check(err.what[0] && err.expected[0] && (i > 8 || !strncmp(err.file, "array ", 6)), "case %d: %s", i,
              err.what);
    }
}

static void bad_indices(void **state) {
    (void)state;
    static const int64_t wrong[] = {-1, 90, INT64_MAX, INT64_MIN, 4, 5, 89, 2};
    static const char *const says[] = {"row -1",
                                       "row 90",
                                       "no row 9223372036854775807",
                                       "no row -9223372036854775808",
                                       "label 5",
                                       "row 5 is in the split twice",
                                       "row 89",
                                       "row 2 is"};
    surety_error err;
    memory m;
    surety_arrays a = in_memory(&m, 0);
    surety_data_settings s = settings();
    surety_split split = some_split();
    a.split = &split;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        split.rows[SURETY_SET_TEST] = &wrong[i];
        assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_INPUT);
        check(strstr(err.what, says[i]), "%zu: %s", i, err.what);
        assert_string_equal(err.file, "array split");
        assert_string_equal(err.place, "T, index 0");
    }
    split = some_split(), split.m[SURETY_SET_PRIOR] = 0;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_USAGE);
    split = some_split(), split.m[SURETY_SET_LEARN] = 0;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_USAGE);
    split = some_split(), split.m[SURETY_SET_LEARN] = SIZE_MAX;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_USAGE);
    split = some_split(), split.rows[SURETY_SET_LEARN] = NULL;
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_USAGE);
    split = some_split();
    a = in_memory(&m, 1), a.split = &split; /* T twice */
    assert_int_equal(try_arrays(&a, &s, &err), SURETY_E_USAGE);
}

/* ---- failing allocations ---- */

static surety_status arrays_for_allocations(void *arg, surety_error *err) {
    const surety_arrays *a = arg;
    surety_data_settings s = settings();
    surety_data *data = NULL;
    surety_status status = surety_data_from_arrays(a, &s, &data, err);
    surety_data_free(data);
    return status;
}

static void failing_allocations(void **state) {
    (void)state;
    memory m;
    surety_arrays a = in_memory(&m, 1);
    files_fail_allocations(arrays_for_allocations, &a);
    surety_split split = some_split();
    a = in_memory(&m, 0), a.split = &split;
    files_fail_allocations(arrays_for_allocations, &a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_files_without_files),
        cmocka_unit_test(texts_in_memory_are_those_of_a_file),
        cmocka_unit_test(texts_that_are_refused),
        cmocka_unit_test(arrays_and_other_formats),
        cmocka_unit_test(arrays_split_by_indices),
        cmocka_unit_test(digests_tell_what_differs),
        cmocka_unit_test(bad_values_in_arrays),
        cmocka_unit_test(arrays_that_are_none),
        cmocka_unit_test(bad_indices),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("arrays", tests, files_begin, files_end);
}
