/* data: labels of any kind and any number of classes, from every reader; and what is said where they make no
 * sense. */
#include "io/files.h"

#include "plain.h"
#include "surety/data.h"

enum { M = 60 };

static const char *const animals[] = {"dog", "cat, small", "\xc3\xa9lan"}; /* "elan" with an accent */

/* Row i has the features i / 100 and 0.5, and the animal i % 3. */
static const char *animals_csv(const char *name, const char *header) {
    char text[M * 64], *at = text + sprintf(text, "%s", header);
    for (int i = 0; i < M; i++) at += sprintf(at, "%.2f,0.5, \"%s\" \n", i / 100., animals[i % 3]);
    return files_text(name, text);
}

/* An NPY file with this description, of m rows. */
static const char *put_npy(const char *name, const char *descr, const char *shape, const void *data,
                           size_t size) {
    static unsigned char bytes[16384];
    int n =
        sprintf((char *)bytes + 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    while ((10 + n + 1) % 64) bytes[10 + n++] = ' ';
    bytes[10 + n++] = '\n';
    memcpy(bytes, "\x93NUMPY\1\0", 8);
    bytes[8] = (unsigned char)n, bytes[9] = (unsigned char)(n >> 8);
    memcpy(bytes + 10 + n, data, size);
    return files_put(name, bytes, 10 + (size_t)n + size);
}

static void put_features(const char *name) {
    float x[M][2];
    for (int i = 0; i < M; i++) x[i][0] = (float)(i / 100.), x[i][1] = 0.5f;
    put_npy(name, "<f4", "(60, 2)", x, sizeof x);
}

static surety_data_settings own(const char *train) {
    surety_data_settings s = plain_settings();
    s.train = train;
    s.learn_size = 20, s.test_size = 10, s.seed = 3;
    return s;
}

static surety_data *opened(const surety_data_settings *s) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    check_ok(surety_data_open(s, &data, &err));
    return data;
}

/* The error that opening this gives. */
static surety_error refused(const surety_data_settings *s, surety_status status) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    surety_status got = surety_data_open(s, &data, &err);
    check(got == status, "%s instead of %s", surety_status_name(got), surety_status_name(status));
    surety_data_free(data);
    return err;
}

static void check_labels(const surety_data *data, const char *const *labels, size_t count, int whole) {
    const surety_data_info *info = surety_data_describe(data);
    assert_int_equal(info->classes, count);
    assert_int_equal(info->whole, whole);
    assert_null(info->class_names);
    for (size_t k = 0; k < count; k++) assert_string_equal(info->labels[k], labels[k]);
    for (int s = 0; s < SURETY_SETS; s++) {
        const surety_set *set = surety_data_set(data, (surety_set_name)s);
        size_t counts[SURETY_CLASSES_MOST] = {0};
        assert_int_equal(set->classes, count);
        for (size_t i = 0; i < set->m; i++) counts[set->y[i]]++;
        for (size_t k = 0; k < count; k++) assert_int_equal(info->class_m[s][k], counts[k]);
    }
}

/* ---- the readers ---- */

static surety_data *animals_in_memory(const surety_data_settings *settings) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    surety_data_settings s = *settings;
    float x[M][2];
    int64_t y[M];
    s.train = NULL;
    for (int i = 0; i < M; i++) x[i][0] = (float)(i / 100.), x[i][1] = 0.5f, y[i] = i % 3;
    surety_arrays a = {
        .m = M, .d = 2, .features = &x[0][0], .labels = y, .label_names = animals, .label_count = 3};
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    y[4] = 3;
    surety_data *none = NULL;
    assert_int_equal(surety_data_from_arrays(&a, &s, &none, &err), SURETY_E_INPUT);
    assert_string_equal(err.what, "there is no name 3 among the 3 label_names");
    assert_string_equal(err.place, "row 4");
    return data;
}

/* CSV with and without a header, NPY of both kinds and arrays: the same classes, the same rows. */
static void texts_from_every_reader(void **state) {
    (void)state;
    static const char *const sorted[] = {"cat, small", "dog", "\xc3\xa9lan"};
    uint32_t wide[M][12] = {0};
    char narrow[M][11] = {0};
    for (int i = 0; i < M; i++) {
        strncpy(narrow[i], animals[i % 3], sizeof narrow[i]);
        const char *p = animals[i % 3];
        size_t n = 0;
        if (i % 3 == 2) wide[i][n++] = 0xe9, p += 2;
        while (*p) wide[i][n++] = (unsigned char)*p++;
    }
    put_features("X_wide.npy"), put_features("X_narrow.npy");
    put_npy("y_wide.npy", "<U12", "(60,)", wide, sizeof wide);
    put_npy("y_narrow.npy", "|S11", "(60,)", narrow, sizeof narrow);
    const char *files[] = {animals_csv("plain.csv", ""), animals_csv("named.csv", "a,b,label\n"),
                           files_path("X_wide.npy"), files_path("X_narrow.npy")};
    surety_data_settings s = own(NULL);
    surety_data *first = animals_in_memory(&s);
    const surety_data_info *was = surety_data_describe(first);
    check_labels(first, sorted, 3, 0);
    for (size_t f = 0; f < 4; f++) {
        s.train = files[f];
        surety_data *data = opened(&s);
        const surety_data_info *info = surety_data_describe(data);
        check_labels(data, sorted, 3, 0);
        assert_memory_equal(info->set_sha256, was->set_sha256, sizeof info->set_sha256);
        assert_memory_equal(info->class_sha256, was->class_sha256, 3 * sizeof *info->class_sha256);
        const surety_set *set = surety_data_set(data, SURETY_SET_PRIOR);
        for (size_t i = 0; i < set->m; i++)
            assert_string_equal(info->labels[set->y[i]], animals[set->row[i] % 3]);
        surety_data_free(data);
    }
    surety_data_free(first);
}

/* Characters of one to four bytes, and those that are none. */
static void npy_characters(void **state) {
    (void)state;
    surety_data_settings s = own(files_path("X_char.npy"));
    uint32_t letters[M][2] = {0};
    put_features("X_char.npy");
    const uint32_t wide[] = {'z', 0x7ff, 0xffff, 0x10ffff};
    for (int i = 0; i < M; i++) letters[i][0] = wide[i % 4];
    put_npy("y_char.npy", "<U2", "(60,)", letters, sizeof letters);
    surety_data *data = opened(&s);
    const char *const sorted[] = {"z", "\xdf\xbf", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"};
    check_labels(data, sorted, 4, 0);
    surety_data_free(data);
    const uint32_t none[] = {0x110000, 0xd800, 0xffffffff};
    for (size_t k = 0; k < 3; k++) {
        letters[7][0] = none[k];
        put_npy("y_char.npy", "<U2", "(60,)", letters, sizeof letters);
        surety_error err = refused(&s, SURETY_E_INPUT);
        assert_string_equal(err.what, "the label is not UTF-8");
        assert_string_equal(err.place, "row 7");
        assert_non_null(strstr(err.file, "y_char.npy"));
    }
    letters[7][0] = 0, letters[7][1] = 'a';
    put_npy("y_char.npy", "<U2", "(60,)", letters, sizeof letters);
    assert_string_equal(refused(&s, SURETY_E_INPUT).what, "the label holds a zero byte");
    letters[7][1] = 0;
    put_npy("y_char.npy", "<U2", "(60,)", letters, sizeof letters);
    assert_string_equal(refused(&s, SURETY_E_INPUT).what, "the label is empty");
    put_npy("y_char.npy", "<U2", "(59,)", letters, sizeof letters - sizeof *letters);
    assert_string_equal(refused(&s, SURETY_E_INPUT).what, "59 labels for 60 rows of features");
    const char *const bad[][2] = {{"<U2", "(61,)"},
                                  {"<U0", "(60,)"},
                                  {">U2", "(60,)"},
                                  {"<U2", "(60, 1)"},
                                  {"<U999999999", "(999999999999,)"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        put_npy("y_char.npy", bad[k][0], bad[k][1], letters, sizeof letters);
        assert_non_null(strstr(refused(&s, SURETY_E_INPUT).file, "y_char.npy"));
    }
}

/* Numbers are ordered by value, however they are written; with one text among them all are texts. */
static void order_of_labels(void **state) {
    (void)state;
    static const struct {
        const char *text, *labels[4];
        size_t count;
        int whole;
    } cases[] = {
        {"0,10\n0,9\n0,-3\n0,9.0\n0,+10\n0,-3e0\n0,010\n0,9\n0,-3\n0,10", {"-3", "9", "10"}, 3, 1},
        {"0,10\n0,9\n0,x\n0,10\n0,9\n0,x\n0,10\n0,9\n0,x\n0,x\n0,9\n0,10", {"10", "9", "x"}, 3, 0},
        {"0,b\n0,B1\n0,a\n0,b\n0,B1\n0,a\n0,b\n0,B1\n0,a\n0,a\n0,b\n0,B1", {"B1", "a", "b"}, 3, 0},
        {"0, b\n0,a\n0, b\n0,a\n0, b\n0,a\n0, b\n0,a\n0, b", {"a", "b"}, 2, 0}, /* blanks do not count */
        {"0,inf\n0,b\n0,inf\n0,b\n0,inf\n0,b\n0,inf\n0,b", {"b", "inf"}, 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        surety_data_settings s = own(files_text("order.csv", cases[i].text));
        s.learn_size = 1, s.test_size = 1;
        surety_data *data = opened(&s);
        check_labels(data, cases[i].labels, cases[i].count, cases[i].whole);
        surety_data_free(data);
    }
}

static void idx_of_many_classes(void **state) {
    (void)state;
    unsigned char images[12 + 2 * M] = {0, 0, 8, 2, 0, 0, 0, M, 0, 0, 0, 2},
                                  labels[8 + M] = {0, 0, 8, 1, 0, 0, 0, M};
    static const char *const sorted[] = {"2", "7", "255"};
    for (int i = 0; i < M; i++)
        images[12 + 2 * i] = (unsigned char)i, labels[8 + i] = "\xff\7\2"[i % 3] & 0xff;
    files_put("three-labels-idx1-ubyte", labels, sizeof labels);
    surety_data_settings s = own(files_put("three-images-idx2-ubyte", images, sizeof images));
    surety_data *data = opened(&s);
    check_labels(data, sorted, 3, 1);
    surety_data_free(data);
}

/* ---- which labels are classes ---- */

static void classes_that_are_named(void **state) {
    (void)state;
    surety_data_settings s = own(animals_csv("named.csv", "a,b,label\n"));
    const char *const order[] = {"\xc3\xa9lan", "dog", "cat, small"}, *const all[] = {"all"};
    s.classes = order, s.class_count = 3;
    surety_data *data = opened(&s);
    check_labels(data, order, 3, 0);
    surety_data_free(data);
    s.class_count = 2; /* rows of the third are left out */
    data = opened(&s);
    check_labels(data, order, 2, 0);
    assert_int_equal(surety_data_describe(data)->train + surety_data_describe(data)->test, 40);
    assert_non_null(strstr(surety_data_describe(data)->split, "the two classes"));
    surety_data_free(data);
    s.classes = all, s.class_count = 1;
    data = opened(&s);
    assert_int_equal(surety_data_describe(data)->classes, 3);
    assert_non_null(strstr(surety_data_describe(data)->split, "the 3 classes"));
    surety_data_free(data);
    s.classes = (const char *const[]){"dog", "cat,small"}, s.class_count = 2;
    surety_error err = refused(&s, SURETY_E_INPUT);
    assert_string_equal(err.what, "the class 'cat,small' does not occur: did you mean 'cat, small'?");
    assert_non_null(strstr(err.expected, "'cat, small', 'dog', '\xc3\xa9lan'"));
    s.classes = (const char *const[]){"dog", "dog"};
    assert_string_equal(refused(&s, SURETY_E_USAGE).what, "the class 'dog' is named twice");
    s.class_count = 1;
    assert_non_null(strstr(refused(&s, SURETY_E_USAGE).expected, "2 to 255"));
    s.train = files_text("whole.csv", "0,7\n0,8\n0,7\n0,8\n0,7\n0,8\n");
    s.learn_size = s.test_size = 1, s.class_count = 2;
    s.classes = (const char *const[]){"7", "07"};
    assert_string_equal(refused(&s, SURETY_E_USAGE).what, "the class '07' is named twice");
    s.classes = (const char *const[]){"08", "+7"};
    data = opened(&s);
    check_labels(data, (const char *const[]){"8", "7"}, 2, 1);
    surety_data_free(data);
    s.classes = (const char *const[]){"7", "cat"};
    assert_string_equal(refused(&s, SURETY_E_INPUT).what, "the class cat does not occur");
}

/* count rows, each of another class, eight times over. */
static const char *many_csv(const char *name, int count) {
    char *text = malloc((size_t)count * 8 * 16), *at = text;
    for (int i = 0; i < 8 * count; i++) at += sprintf(at, "%.3f,%d\n", i % 1000 / 1000., i % count);
    const char *path = files_text(name, text);
    free(text);
    return path;
}

static void how_many_classes(void **state) {
    (void)state;
    surety_data_settings s = own(many_csv("most.csv", 255));
    surety_data *data = opened(&s);
    assert_int_equal(surety_data_describe(data)->classes, 255);
    assert_string_equal(surety_data_describe(data)->labels[254], "254");
    char *text = surety_data_info_json(surety_data_describe(data));
    json_t *root = NULL;
    assert_int_equal(surety_json_parse(&root, text, strlen(text), "info", NULL), SURETY_OK);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(root, "classes"), 254)), 254);
    json_t *counts = json_object_get(root, "class_counts");
    assert_int_equal(json_array_size(json_object_get(counts, "prior")), 255);
    assert_int_equal(json_array_size(json_object_get(json_object_get(root, "sha256"), "classes")), 255);
    json_decref(root);
    free(text);
    surety_data_free(data);
    s.train = many_csv("more.csv", 256);
    surety_error err = refused(&s, SURETY_E_INPUT);
    assert_string_equal(err.what, "256 different labels are too many for classes");
    assert_non_null(strstr(err.expected, "regression"));
    s.classes = (const char *const[]){"255", "0", "17"}, s.class_count = 3;
    s.learn_size = 4, s.test_size = 2;
    data = opened(&s);
    check_labels(data, s.classes, 3, 1);
    surety_data_free(data);
    s = own(files_text("one.csv", "0,cat\n0,cat\n0,cat\n"));
    assert_string_equal(refused(&s, SURETY_E_INPUT).what, "all labels are 'cat'");
}

/* A class of one row that lands in S or T; whichever row it is, and whichever set. */
static void rare_classes(void **state) {
    (void)state;
    int found = 0, refusals = 0;
    for (unsigned seed = 0; seed < 20; seed++) {
        surety_data_settings s =
            own(files_text("rare.csv", "0,a\n0,b\n0,a\n0,b\n0,rare\n0,a\n0,b\n0,a\n0,b\n0,a\n0,b\n"));
        surety_error err = SURETY_ERROR_NONE;
        surety_data *data = NULL;
        s.learn_size = 2, s.test_size = 1, s.seed = seed;
        if (surety_data_open(&s, &data, &err) == SURETY_OK) {
            found++;
            assert_int_equal(surety_data_describe(data)->class_m[SURETY_SET_PRIOR][2], 1);
        } else if (strstr(err.what, "no row of the class 'rare' is left for S'")) {
            refusals++;
            assert_non_null(strstr(err.expected, "--learn-size"));
            assert_non_null(strstr(err.file, "rare.csv"));
        }
        surety_data_free(data);
    }
    check_that(found, >, 0);
    check_that(refusals, >, 0);
}

static void labels_of_test_files(void **state) {
    (void)state;
    surety_data_settings s = own(animals_csv("named.csv", "a,b,label\n"));
    s.test_size = 0;
    s.test = files_text("test.csv", "a,b,label\n.999,0,dog\n.998,0,\xc3\xa9lan\n"); /* not every class */
    surety_data *data = opened(&s);
    assert_int_equal(surety_data_describe(data)->class_m[SURETY_SET_TEST][0], 0);
    assert_int_equal(surety_data_describe(data)->class_m[SURETY_SET_TEST][1], 1);
    surety_data_free(data);
    s.test = files_text("test.csv", "a,b,label\n.999,0,dog\n.998,0,cow\n.997,0,cow\n");
    surety_error err = refused(&s, SURETY_E_INPUT);
    assert_string_equal(err.what, "the label 'cow' does not occur in the training rows");
    assert_string_equal(err.place, "line 3, column 3");
    assert_non_null(strstr(err.file, "test.csv"));
    s.classes = (const char *const[]){"dog", "cat, small"}, s.class_count = 2;
    assert_string_equal(refused(&s, SURETY_E_INPUT).what, "all test rows are of the class 'dog'");
    s.test = files_text("test.csv", "a,b,label\n.999,0,cow\n");
    assert_string_equal(refused(&s, SURETY_E_INPUT).what, "no test row is of any of the classes");
}

/* ---- what is refused ---- */

static void labels_that_make_no_sense(void **state) {
    (void)state;
    static const struct {
        const char *text, *what, *place;
    } cases[] = {
        {"a,l\n0,cat\n0,dog\n0,Cat\n", "the labels 'cat' and 'Cat' differ only by blanks or by case",
         "line 4, column 2"},
        {"a,l\n0,cat\n0,dog\n0,cat \n", "the labels 'cat' and 'cat ' differ only by blanks or by case",
         "line 4, column 2"},
        {"a,l\n0,\" cat\"\n0,dog\n0,cat\n", "the labels ' cat' and 'cat' differ only by blanks or by case",
         "line 4, column 2"},
        {"a,l\n0,black cat\n0,dog\n0,blackCat\n",
         "the labels 'black cat' and 'blackCat' differ only by blanks or by case", "line 4, column 2"},
        {"a,l\n0,cat\n0,\n0,dog\n", "the label is empty", "line 3, column 2"},
        {"a,l\n0,1\n0,\"  \"\n0,2\n", "the label is empty", "line 3, column 2"},
        {"a,l\n0,cat\n0,NA\n0,dog\n", "the label 'NA' says that a value is missing", "line 3, column 2"},
        {"a,l\n0,1\n0,?\n0,2\n", "the label '?' says that a value is missing", "line 3, column 2"},
        {"a,l\n0,cat\n0,d\xffg\n0,dog\n", "the label is not UTF-8", "line 3, column 2"},
        {"a,l\n0,1\n0,2.5\n0,2\n", "the label 2.5 is not a whole number", "line 3, column 2"},
        {"a,l\n0,1\n0,nan\n0,2\n", "the label nan is not a whole number", "line 3, column 2"},
        {"a,l\n0,cat\ncat,1\n0,2\n", "'cat' is not a number", "line 3, column 1"},
        /* a line that may be names, or may be a row */
        {"0,1,label\n0,0,cat\n0,0,dog\n0,0,cat\n", "the first CSV line mixes names and numbers", "line 1"},
        {"0,label\n0,1\n0,2\n0,1\n", "the first CSV line mixes names and numbers", "line 1"},
        {"a,1\n0,1\n0,2\n0,1\n", "the first CSV line mixes names and numbers", "line 1"},
        {"a,1,cat\n0,1,cat\n0,2,dog\n", "the first CSV line mixes names and numbers", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        surety_data_settings s = own(files_text("sense.csv", cases[i].text));
        s.learn_size = s.test_size = 1;
        surety_error err = refused(&s, SURETY_E_INPUT);
        check(!strcmp(err.what, cases[i].what) && !strcmp(err.place, cases[i].place) && err.expected[0],
              "case %zu: '%s' at '%s'", i, err.what, err.place);
        assert_non_null(strstr(err.file, "sense.csv"));
    }
}

/* The label's column anywhere; and what is remembered of it. */
static void where_labels_are(void **state) {
    (void)state;
    surety_data_settings s = own(files_text("first.csv", "cat,0\ndog,0\ncat,.5\ndog,1\ncat,0\ndog,0\n"));
    s.learn_size = s.test_size = 1;
    s.label_column = "1";
    surety_data *data = opened(&s);
    check_labels(data, (const char *const[]){"cat", "dog"}, 2, 0);
    assert_string_equal(surety_data_describe(data)->label_column, "1");
    assert_int_equal(surety_data_describe(data)->header, SURETY_HEADER_AUTO);
    surety_data_free(data);
    s.train = files_text("unique.csv", "once,0\ndog,0\ncat,.5\ndog,1\ncat,0\ndog,0\ncat,0\n");
    s.header = SURETY_HEADER_NO;
    s.classes = (const char *const[]){"cat", "dog"}, s.class_count = 2;
    data = opened(&s);
    assert_int_equal(surety_data_describe(data)->header, SURETY_HEADER_NO);
    surety_data_free(data);
    s.train = files_text("titled.csv", "kind,0\ndog,0\ncat,.5\ndog,1\ncat,0\ndog,0\ncat,0\n");
    s.header = SURETY_HEADER_YES, s.label_column = "kind";
    data = opened(&s);
    assert_string_equal(surety_data_describe(data)->label_column, "kind");
    surety_data_free(data);
}

/* ---- failing allocations ---- */

static void failing_allocations(void **state) {
    (void)state;
    surety_data_settings s = own(animals_csv("alloc.csv", "a,b,label\n"));
    s.label_column = "label";
    files_fail_allocations(plain_open, &s);
    char texts[M][4] = {0};
    for (int i = 0; i < M; i++) strcpy(texts[i], i % 2 ? "one" : "two");
    put_features("X_alloc.npy");
    put_npy("y_alloc.npy", "|S4", "(60,)", texts, sizeof texts);
    s = own(files_path("X_alloc.npy"));
    files_fail_allocations(plain_open, &s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_from_every_reader),
        cmocka_unit_test(npy_characters),
        cmocka_unit_test(order_of_labels),
        cmocka_unit_test(idx_of_many_classes),
        cmocka_unit_test(classes_that_are_named),
        cmocka_unit_test(how_many_classes),
        cmocka_unit_test(rare_classes),
        cmocka_unit_test(labels_of_test_files),
        cmocka_unit_test(labels_that_make_no_sense),
        cmocka_unit_test(where_labels_are),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("labels", tests, files_begin, files_end);
}
