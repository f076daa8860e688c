/* data: what IDX, NPY and CSV files must not do. Every case goes through surety_data_open, as a user's would:
 * the code is bad_input, the message names the file and the place, and nothing is left behind. */
#include "io/files.h"

#include <math.h>

#include "comma.h"
#include "io/npy.h"
#include "plain.h"
#include "surety/data.h"

/* Opens train and cuts T off it; *out may be NULL. */
static surety_status open_train(const char *train, const char *labels, const char *label_column,
                                surety_header header, surety_data **out, surety_error *err) {
    surety_data_settings s = plain_settings();
    surety_data *data = NULL;
    s.train = train;
    s.train_labels = labels;
    s.label_column = label_column;
    s.header = header;
    s.learn_size = 1;
    s.test_size = 1;
    surety_status status = surety_data_open(&s, &data, err);
    if (out)
        *out = data;
    else
        surety_data_free(data);
    return status;
}

static surety_status open_file(const char *train, surety_error *err) {
    return open_train(train, NULL, NULL, SURETY_HEADER_AUTO, NULL, err);
}

/* ---- IDX ---- */

/* Four images of 2 x 3 and their labels. */
static const unsigned char images[] = {0,  0,  8,  3,  0,   0,   0,   4,   0, 0, 0, 2, 0, 0,
                                       0,  3,  0,  51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6,
                                       10, 20, 30, 40, 50,  60,  9,   8,   7, 6, 5, 4};
static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 4, 7, 1, 7, 1};

static const char *put_labels(void) {
    return files_put("train-labels-idx1-ubyte", labels, sizeof labels);
}

static void idx_is_read(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    put_labels();
    const char *path = files_put("train-images-idx3-ubyte", images, sizeof images);
    check_ok(open_train(path, NULL, NULL, SURETY_HEADER_AUTO, &data, &err));
    const surety_data_info *info = surety_data_describe(data);
    check_that(info->d, ==, 6);
    check_that(info->height, ==, 2);
    check_that(info->width, ==, 3);
    check_that(info->scale, ==, 255);
    check_that(info->classes, ==, 2);
    assert_string_equal(info->labels[0], "1");
    assert_string_equal(info->labels[1], "7");
    for (int k = 0; k < SURETY_SETS; k++) {
        const surety_set *set = surety_data_set(data, (surety_set_name)k);
        for (size_t i = 0; i < set->m; i++) {
            assert_int_equal(set->y[i], set->row[i] % 2 == 0);
            for (size_t j = 0; j < 6; j++)
                check_that(set->x[i * set->stride + j], ==, (float)images[16 + 6 * set->row[i] + j] / 255.0f);
        }
    }
    surety_data_free(data);
    /* other dimensions, other names, gzip */
    unsigned char flat[36] = {0, 0, 8, 2, 0, 0, 0, 4, 0, 0, 0, 6};
    memcpy(flat + 12, images + 16, 24);
    check_ok(
        open_train(files_put("flat.idx", flat, 36), put_labels(), NULL, SURETY_HEADER_AUTO, &data, &err));
    check_that(surety_data_describe(data)->d, ==, 6);
    check_that(surety_data_describe(data)->height, ==, 0);
    surety_data_free(data);
    size_t size = 0;
    unsigned char *packed = files_gzip(images, sizeof images, &size);
    check_ok(
        open_train(files_put("no-name", packed, size), put_labels(), NULL, SURETY_HEADER_AUTO, NULL, &err));
    free(packed);
}

static void idx_cut_at_every_byte(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    size_t size = 0;
    put_labels();
    for (size_t cut = 0; cut < sizeof images; cut++) {
        check_bad(open_file(files_put("train-images-idx3-ubyte", images, cut), &err), SURETY_E_INPUT);
        check(strstr(err.place, "byte"), "cut at %zu: place '%s'", cut, err.place);
    }
    files_put("train-images-idx3-ubyte", images, sizeof images);
    for (size_t cut = 0; cut < sizeof labels; cut++) {
        files_put("train-labels-idx1-ubyte", labels, cut);
        check_bad(open_file(files_path("train-images-idx3-ubyte"), &err), SURETY_E_INPUT);
        assert_non_null(strstr(err.file, "labels"));
    }
    put_labels();
    unsigned char *packed = files_gzip(images, sizeof images, &size);
    for (size_t cut = 0; cut < size; cut++)
        check_bad(open_train(files_put("images-idx3.gz", packed, cut), put_labels(), NULL, SURETY_HEADER_AUTO,
                             NULL, &err),
                  SURETY_E_INPUT);
    free(packed);
}

/* Any byte of the header replaced by any other: right only if it is the same file. */
static void idx_with_other_header(void **state) {
    (void)state;
    unsigned char bytes[sizeof images];
    put_labels();
    for (size_t at = 0; at < 16; at++)
        for (int other = 0; other < 256; other++) {
            surety_error err = SURETY_ERROR_NONE;
            memcpy(bytes, images, sizeof images);
            bytes[at] = (unsigned char)other;
            surety_status status = open_file(files_put("train-images-idx3-ubyte", bytes, sizeof bytes), &err);
            check(status == (other == images[at] ? SURETY_OK : SURETY_E_INPUT), "byte %zu = %d: %s", at,
                  other, err.what);
            check(status == SURETY_OK || (err.file[0] && err.place[0]),
                  "byte %zu = %d: file '%s', place '%s'", at, other, err.file, err.place);
        }
}

static void idx_cases(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static const struct {
        const char *bytes;
        size_t size;
        const char *complaint;
    } cases[] = {
        /* 2^32-1 in each of four dimensions, and 2^16 in each: products that wrap to other values and to 0 */
        {"\0\0\x08\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 20, "multiply"},
        {"\0\0\x08\x04\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0", 20, "multiply"},
        {"\0\0\x08\x02\0\0\0\0\0\0\0\5", 12, "dimension is 0"},
        {"\0\0\x08\x02\0\0\0\5\0\0\0\0", 12, "dimension is 0"},
        {"\0\0\x0d\x02\0\0\0\1\0\0\0\1\0\0\0\0", 16, "unsigned bytes"},
        {"\0\0\x08\x00", 4, "no dimensions"},
        {"\0\0\x08\x01\0\0\0\1\0", 9, "two dimensions or more"},
        {"\0\0\x08\xff\0\0\0\1\0", 9, "ends within"},
        {"PK\3\4not an idx file", 18, "two zero bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_bad(open_train(files_put("case-idx", cases[i].bytes, cases[i].size), put_labels(), NULL,
                             SURETY_HEADER_AUTO, NULL, &err),
                  SURETY_E_INPUT);
        check(strstr(err.what, cases[i].complaint), "case %zu: %s", i, err.what);
    }
    /* counts that disagree; labels that are images; no labels */
    static const unsigned char five[] = {0, 0, 8, 1, 0, 0, 0, 5, 7, 1, 7, 1, 1};
    const char *path = files_put("train-images-idx3-ubyte", images, sizeof images);
    files_put("train-labels-idx1-ubyte", five, sizeof five);
    check_bad(open_file(path, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "5 labels for 4 rows"));
    check_bad(open_train(path, path, NULL, SURETY_HEADER_AUTO, NULL, &err), SURETY_E_INPUT);
    assert_int_equal(remove(files_path("train-labels-idx1-ubyte")), 0);
    check_bad(open_file(path, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.expected, "--train-labels"));
}

/* Absent, a folder, unreadable: whichever file it is. */
static void what_is_no_file(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const char *path = files_put("train-images-idx3-ubyte", images, sizeof images);
    const char *none = files_path("absent.npy"), *secret = files_text("secret.csv", "0,1\n");
    assert_int_equal(chmod(secret, 0), 0);
    check_bad(open_file(none, &err), SURETY_E_INPUT);
    check_bad(open_file(files_folder, &err), SURETY_E_INPUT);
    check_bad(open_train(path, none, NULL, SURETY_HEADER_AUTO, NULL, &err), SURETY_E_INPUT);
    check_bad(open_train(path, files_folder, NULL, SURETY_HEADER_AUTO, NULL, &err), SURETY_E_INPUT);
    if (geteuid() != 0) check_bad(open_file(secret, &err), SURETY_E_INPUT);
}

/* ---- NPY ---- */

static const char *put_npy(const char *name, surety_dtype dtype, int ndim, const size_t *shape,
                           const void *values) {
    surety_error err = SURETY_ERROR_NONE;
    surety_npy_writer *writer = NULL;
    size_t count = 1;
    for (int i = 0; i < ndim; i++) count *= shape[i];
    check_ok(surety_npy_writer_open(&writer, files_path(name), dtype, ndim, shape, &err));
    check_ok(surety_npy_writer_append(writer, values, count, &err));
    check_ok(surety_npy_writer_commit(writer, &err));
    return files_path(name);
}

static void npy_is_read(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    const float x[8] = {0, .125f, .25f, .375f, .5f, .625f, .75f, 1};
    const uint8_t bytes[8] = {0, 51, 255, 3, 4, 5, 6, 7};
    const int64_t y[4] = {-1, 1, 1, -1};
    const double y_whole[4] = {-1, 1, 1, -1};
    const size_t flat[] = {4, 2}, deep[] = {4, 1, 2}, one[] = {4};
    put_npy("y_train.npy", SURETY_I8, 1, one, y);
    check_ok(open_train(put_npy("X_train.npy", SURETY_F4, 2, flat, x), NULL, NULL, SURETY_HEADER_AUTO, &data,
                        &err));
    check_that(surety_data_describe(data)->scale, ==, 1);
    check_that(surety_data_describe(data)->d, ==, 2);
    assert_non_null(strstr(surety_data_describe(data)->file[1].path, "y_train.npy"));
    const surety_set *set = surety_data_set(data, SURETY_SET_LEARN);
    check_that(set->x[0], ==, x[2 * set->row[0]]);
    check_that(set->x[1], ==, x[2 * set->row[0] + 1]);
    assert_int_equal(surety_sign(set->y[0]), y[set->row[0]]);
    surety_data_free(data);
    put_npy("pixels_labels.npy", SURETY_F8, 1, one, y_whole);
    check_ok(open_train(put_npy("pixels.npy", SURETY_U1, 3, deep, bytes), NULL, NULL, SURETY_HEADER_AUTO,
                        &data, &err));
    check_that(surety_data_describe(data)->scale, ==, 255);
    check_that(surety_data_describe(data)->width, ==, 2);
    set = surety_data_set(data, SURETY_SET_LEARN);
    check_that(set->x[1], ==, (float)bytes[2 * set->row[0] + 1] / 255.0f);
    surety_data_free(data);
}

static void npy_cases(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const size_t flat[] = {4, 2}, one[] = {4}, five[] = {5}, column[] = {4, 1}, none[] = {0, 2};
    double x[8] = {0, .125, .25, .375, .5, .625, .75, 1};
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e39, -.001, 1.001};
    const int64_t y[5] = {0, 1, 0, 1, 1};
    const double halves[4] = {0, .5, 1, 1}, nan_label[4] = {0, 1, (double)NAN, 1};
    put_npy("y.npy", SURETY_I8, 1, one, y);
    for (size_t i = 0; i < sizeof bad / sizeof *bad;
         i++) { /* only reached if its row's class is picked: it is */
        double good = x[5];
        x[5] = bad[i];
        check_bad(open_file(put_npy("X.npy", SURETY_F8, 2, flat, x), &err), SURETY_E_INPUT);
        assert_string_equal(err.place, "row 2, column 1 (from 0)");
        assert_non_null(strstr(err.what, i < 2 + 2 ? (i == 0 ? "NaN" : "infinite") : "outside the box"));
        x[5] = good;
    }
    const char *path = put_npy("X.npy", SURETY_F8, 2, flat, x);
    check_ok((err = (surety_error)SURETY_ERROR_NONE, open_file(path, &err)));
    put_npy("y.npy", SURETY_I8, 1, five, y);
    check_bad(open_file(path, &err), SURETY_E_INPUT);
    put_npy("y.npy", SURETY_I8, 2, column, y);
    check_bad(open_file(path, &err), SURETY_E_INPUT);
    put_npy("y.npy", SURETY_F8, 1, one, halves);
    check_bad(open_file(path, &err), SURETY_E_INPUT);
    assert_string_equal(err.place, "row 1");
    put_npy("y.npy", SURETY_F8, 1, one, nan_label);
    check_bad(open_file(path, &err), SURETY_E_INPUT);
    files_text("y.npy", "not npy");
    check_bad(open_file(path, &err), SURETY_E_INPUT);
    put_npy("y.npy", SURETY_I8, 1, one, y);
    check_bad(open_file(put_npy("X.npy", SURETY_F8, 1, one, x), &err), SURETY_E_INPUT);
    check_bad(open_file(put_npy("X.npy", SURETY_F8, 2, none, x), &err), SURETY_E_INPUT);
    assert_int_equal(remove(files_path("y.npy")), 0);
    check_bad(open_file(put_npy("X.npy", SURETY_F8, 2, flat, x), &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "no file of labels"));
}

/* ---- CSV ---- */

typedef struct csv_case {
    const char *text, *label_column;
    surety_header header;
    const char *complaint, *place; /* NULL: fine */
} csv_case;

static const csv_case csv_cases[] = {
    {"0,.5,1\n1,0,2\n.25,1e-3,1\n", NULL, SURETY_HEADER_AUTO, NULL, NULL},
    {"0,.5,1\r\n1,0,2\r\n.25,1,1", NULL, SURETY_HEADER_AUTO, NULL, NULL},
    {"\xef\xbb\xbf"
     "a,b,c\n0,1,1\n\"1\", 0 ,\t2\n0,0,1\n",
     "c", SURETY_HEADER_AUTO, NULL, NULL},
    {"\"a,x\",b\n0,1\n1,2\n0,1\n", "-1", SURETY_HEADER_AUTO, NULL, NULL},
    {"0,1,label\n1,3,1\n.5,4,1\n1,3,0\n", "1", SURETY_HEADER_YES, NULL, NULL}, /* a name comes first */
    {"5,0\n6,0\n5,1\n", "-2", SURETY_HEADER_NO, NULL, NULL},
    {"1,0\n-1,0.000\n+1,1\n", "1", SURETY_HEADER_AUTO, NULL, NULL},
    {"", NULL, SURETY_HEADER_AUTO, "empty", ""},
    {"\n", NULL, SURETY_HEADER_AUTO, "no rows", ""},
    {"a,b\n", NULL, SURETY_HEADER_AUTO, "no rows", ""},
    {"1\n2\n", NULL, SURETY_HEADER_AUTO, "one column", "line 1"},
    {"0,1\n1,2,3\n", NULL, SURETY_HEADER_AUTO, "fields in this CSV line: 3", "line 2"},
    {"0,1\n1\n", NULL, SURETY_HEADER_AUTO, "fields in this CSV line: 1", "line 2"},
    {"0,1\n\n1,2\n", NULL, SURETY_HEADER_AUTO, "an empty line", "line 2"},
    {"0,1\n1,2\n\n", NULL, SURETY_HEADER_AUTO, "an empty line", "line 3"},
    {"0,1\n1,2,\n", NULL, SURETY_HEADER_AUTO, "fields in this CSV line: 3", "line 2"},
    {"0,1\nx,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "'x' is not a number", "line 2, column 1"},
    {"0,1\n,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "is missing", "line 2, column 1"},
    {"0,1\n0x1p-1,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "is not a number", "line 2, column 1"},
    {"0,1\n1 0,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "is not a number", "line 2, column 1"},
    {"0,1\n0_5,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "is not a number", "line 2, column 1"},
    {"0,1\nnan,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "is missing", "line 2, column 1"},
    {"0,1\n-inf,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "not finite", "line 2, column 1"},
    {"0,1\n1e999,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "not finite", "line 2, column 1"},
    {"0,1\n1e39,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "too large", "line 2, column 1"},
    {"0,1\n0,1.5\n0,1\n", NULL, SURETY_HEADER_AUTO, "not a whole number", "line 2, column 2"},
    {"0,1\n0,1e300\n0,1\n", NULL, SURETY_HEADER_AUTO, "not a whole number", "line 2, column 2"},
    {"0,1\n0,1e20\n0,1\n", NULL, SURETY_HEADER_AUTO, "not a whole number", "line 2, column 2"},
    {"0,1\n\"0,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "stray quote", "line 2, column 1"},
    {"0,1\n0\"5\",2\n0,1\n", NULL, SURETY_HEADER_AUTO, "is not a number", "line 2, column 1"},
    {"0,1\n\"0\"\"5\",2\n0,1\n", NULL, SURETY_HEADER_AUTO, "is not a number", "line 2, column 1"},
    {"0,1\n\"0\"5\"\",2\n0,1\n", NULL, SURETY_HEADER_AUTO, "stray quote", "line 2, column 1"},
    {"a,1\n0,2\n0,1\n", NULL, SURETY_HEADER_AUTO, "mixes names and numbers", "line 1"},
    {"a,1\n0,2\n0,1\n", NULL, SURETY_HEADER_NO, "'a' is not a number", "line 1, column 1"},
    {"a,b\n0,1\n1,2\n0,1\n", "c", SURETY_HEADER_AUTO, "no label column 'c'", "line 1"},
    {"a,b\n0,1\n1,2\n0,1\n", "3", SURETY_HEADER_AUTO, "no label column '3'", "line 1"},
    {"0,1\n1,2\n0,1\n", "0", SURETY_HEADER_AUTO, "no label column '0'", "line 1"},
    {"0,1\n1,2\n0,1\n", "-3", SURETY_HEADER_AUTO, "no label column '-3'", "line 1"},
    {"0,1\n1,2\n0,1\n", "-9223372036854775808", SURETY_HEADER_AUTO, "no label column", "line 1"},
    {"0,1\n1,2\n0,1\n", "", SURETY_HEADER_AUTO, "no label column ''", "line 1"},
};

static void csv_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof csv_cases / sizeof *csv_cases; i++) {
        const csv_case *c = &csv_cases[i];
        surety_error err = SURETY_ERROR_NONE;
        const char *path = files_text("case.csv", c->text);
        surety_status status = open_train(path, NULL, c->label_column, c->header, NULL, &err);
        if (!c->complaint) {
            check(status == SURETY_OK, "case %zu: %s at %s", i, err.what, err.place);
            continue;
        }
        check(status == SURETY_E_INPUT && strstr(err.what, c->complaint) && !strcmp(err.place, c->place),
              "case %zu: %s: '%s' at '%s'", i, surety_status_name(status), err.what, err.place);
        assert_string_equal(err.file, path);
    }
    surety_error err = SURETY_ERROR_NONE;
    const char *path = files_text("own.csv", "0,1\n1,2\n0,1\n");
    check_bad(open_train(path, path, NULL, SURETY_HEADER_AUTO, NULL, &err), SURETY_E_USAGE);
    check_bad(open_file(files_put("zero.csv", "0,1\n0\0000,2\n0,1\n", 14), &err), SURETY_E_INPUT);
}

/* Values come out as strtod and a cast give them, whatever the locale of the program. */
static void csv_values(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    static const char text[] =
        "0.1,00012,1e-3,123456789,1234567890,2\n-0.25,.5,5.,1E+2,0.30000000000000004,1\n"
        "0,0,0,0,0,1\n";
    static const float wanted[2][5] = {{0.1f, 12, 1e-3f, 123456789.f, 1234567890.f},
                                       {-0.25f, .5f, 5, 100, 0.30000000000000004f}};
    comma_begin();
    surety_data_settings s = plain_settings();
    s.train = files_text("values.csv", text);
    s.learn_size = 1;
    s.test_size = 1;
    s.boxed = 0;
    check_ok(surety_data_open(&s, &data, &err));
    for (int k = 0; k < SURETY_SETS; k++) {
        const surety_set *set = surety_data_set(data, (surety_set_name)k);
        for (size_t i = 0; i < set->m; i++)
            if (set->row[i] < 2)
                assert_memory_equal(set->x + i * set->stride, wanted[set->row[i]], sizeof wanted[0]);
    }
    surety_data_free(data);
    comma_end();
}

/* Cut at every byte: an error, or (where the rest is still a table) fewer or shorter rows, never a crash. */
static void csv_cut_at_every_byte(void **state) {
    (void)state;
    static const char text[] = "a,b,label\n0.5,0.25,1\n\"0.125\",1,2\n0,0,1\n1,1,2\n";
    size_t size = 0;
    for (size_t cut = 0; cut < sizeof text; cut++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_status status = open_file(files_put("cut.csv", text, cut), &err);
        check(status == SURETY_OK || (status == SURETY_E_INPUT && err.what[0] && err.file[0]),
              "cut at %zu: %s, %s, file '%s'", cut, surety_status_name(status), err.what, err.file);
        int whole_lines = 0; /* three rows are needed: S', S and T */
        for (size_t i = 0; i < cut; i++) whole_lines += text[i] == '\n';
        check(status != SURETY_OK || whole_lines >= 3, "cut at %zu was accepted", cut);
    }
    unsigned char *packed = files_gzip(text, sizeof text - 1, &size);
    for (size_t cut = 0; cut < size; cut++) {
        surety_error err = SURETY_ERROR_NONE;
        check_bad(open_file(files_put("cut.csv.gz", packed, cut), &err), SURETY_E_INPUT);
    }
    surety_error err = SURETY_ERROR_NONE;
    check_ok(open_file(files_put("whole.csv.gz", packed, size), &err));
    free(packed);
}

/* Random texts of the letters that matter: an answer for each. */
static void csv_noise(void **state) {
    (void)state;
    static const char letters[] = "01.,,\n\n\r\"-e \tax";
    uint64_t seed = 12345;
    for (long n = 0; n < check_count(3000, 300000); n++) {
        char text[48];
        size_t size = 0;
        for (; size < sizeof text; size++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            if (seed >> 58 == 0) break;
            text[size] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        surety_status status = open_file(files_put("noise.csv", text, size), NULL);
        check(status == SURETY_OK || status == SURETY_E_INPUT, "%s: %.*s", surety_status_name(status),
              (int)size, text);
    }
}

/* ---- failing allocations ---- */

typedef struct pair {
    char train[768], labels[768];
} pair;

static surety_status open_for_allocations(void *arg, surety_error *err) {
    const pair *p = arg;
    return open_train(p->train, p->labels[0] ? p->labels : NULL, NULL, SURETY_HEADER_AUTO, NULL, err);
}

static void failing_allocations(void **state) {
    (void)state;
    pair p = {"", ""};
    size_t size = 0;
    put_labels();
    snprintf(p.train, sizeof p.train, "%s", files_put("train-images-idx3-ubyte", images, sizeof images));
    files_fail_allocations(open_for_allocations, &p); /* labels found beside it */
    unsigned char *packed = files_gzip(images, sizeof images, &size);
    snprintf(p.labels, sizeof p.labels, "%s", put_labels());
    snprintf(p.train, sizeof p.train, "%s", files_put("images-idx3.gz", packed, size));
    files_fail_allocations(open_for_allocations, &p);
    free(packed);
    const size_t flat[] = {4, 2}, one[] = {4};
    const float x[8] = {0};
    const int64_t y[4] = {0, 1, 0, 1};
    snprintf(p.labels, sizeof p.labels, "%s", put_npy("y.npy", SURETY_I8, 1, one, y));
    snprintf(p.train, sizeof p.train, "%s", put_npy("X.npy", SURETY_F4, 2, flat, x));
    files_fail_allocations(open_for_allocations, &p);
    p.labels[0] = 0;
    snprintf(p.train, sizeof p.train, "%s", files_text("x.csv", "a,b\n0,1\n1,2\n0,1\n"));
    files_fail_allocations(open_for_allocations, &p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idx_is_read),
        cmocka_unit_test(idx_cut_at_every_byte),
        cmocka_unit_test(idx_with_other_header),
        cmocka_unit_test(idx_cases),
        cmocka_unit_test(what_is_no_file),
        cmocka_unit_test(npy_is_read),
        cmocka_unit_test(npy_cases),
        cmocka_unit_test(csv_table),
        cmocka_unit_test(csv_values),
        cmocka_unit_test(csv_cut_at_every_byte),
        cmocka_unit_test(csv_noise),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("data readers", tests, files_begin, files_end);
}
