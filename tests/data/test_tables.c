/* data: tables as people have them, and the way from columns to features. Every case goes through
 * surety_data_open, as a user's would. */
#include "io/files.h"

#include <math.h>

#include "data/preparation.h"
#include "plain.h"
#include "surety/data.h"

static surety_status try_open(surety_data **out, const surety_data_settings *s, surety_error *err) {
    surety_data *data = NULL;
    *err = (surety_error)SURETY_ERROR_NONE;
    surety_status status = surety_data_open(s, &data, err);
    if (out)
        *out = data;
    else
        surety_data_free(data);
    return status;
}

static surety_data *open_ok(const surety_data_settings *s) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    check_ok(surety_data_open(s, &data, &err));
    return data;
}

/* What is read, as it is: S has one row, T one, S' the rest. */
static surety_data_settings as_it_is(const char *path) {
    surety_data_settings s = plain_settings();
    s.train = path;
    s.boxed = SURETY_BOX_NONE;
    s.learn_size = s.test_size = 1;
    return s;
}

/* Features of a row of the file, in whichever set it is. */
static const float *features_of(const surety_data *data, uint32_t row, uint8_t *y) {
    for (int k = 0; k < SURETY_SETS; k++) {
        const surety_set *set = surety_data_set(data, (surety_set_name)k);
        for (size_t i = 0; i < set->m; i++)
            if (set->row[i] == row) return *y = set->y[i], set->x + i * set->stride;
    }
    fail_msg("row %u is in no set", row);
    return NULL;
}

/* ---- one table in every format ---- */

static void every_format_is_the_same_table(void **state) {
    (void)state;
    files_python(
        "import numpy as np, sys, gzip\n"
        "f = sys.argv[1] + '/'\n"
        "X = np.array([[1.5, 0, -2], [0, 0, 3], [4, 5, 6], [0, .25, 0], [7, 0, 8]])\n"
        "y = np.array([1, 2, 1, 2, 2])\n"
        "np.savez(f + 'stored.npz', X=X, y=y); np.savez_compressed(f + 'packed.npz', labels=y, features=X)\n"
        "np.save(f + 'X_f.npy', np.asfortranarray(X)); np.save(f + 'y_f.npy', y)\n"
        "np.savez(f + 'other.npz', a=X, b=y)\n"
        "for name, s in (('c.csv', ','), ('s.csv', ';'), ('t.tsv', '\\t'), ('p.txt', '|'), ('a.dat', '!')):\n"
        "    rows = [s.join(repr(float(v)) for v in x) + s + str(k) for x, k in zip(X, y)]\n"
        "    open(f + name, 'w').write(s.join('abc') + s + 'y\\n' + '\\n'.join(rows) + '\\n')\n"
        "gzip.open(f + 'c.csv.gz', 'w').write(open(f + 'c.csv', 'rb').read())\n"
        "svm = ''.join('%d %s # comment\\n' % (k, ' '.join('%d:%r' % (j + 1, float(v)) for j, v in "
        "enumerate(x)"
        " if v)) for x, k in zip(X, y))\n"
        "open(f + 'm.libsvm', 'w').write(svm); open(f + 'svm-without-a-name', 'w').write(svm)\n");
    static const struct {
        const char *name;
        char separator, found;
    } files[] = {{"stored.npz", 0, 0}, {"packed.npz", 0, 0}, {"X_f.npy", 0, 0},           {"c.csv", 0, ','},
                 {"s.csv", 0, ';'},    {"t.tsv", 0, '\t'},   {"p.txt", 0, '|'},           {"a.dat", '!', '!'},
                 {"c.csv.gz", 0, ','}, {"m.libsvm", 0, 0},   {"svm-without-a-name", 0, 0}};
    static const float X[5][3] = {{1.5f, 0, -2}, {0, 0, 3}, {4, 5, 6}, {0, .25f, 0}, {7, 0, 8}};
    static const uint8_t y[5] = {0, 1, 0, 1, 1};
    char learn[65] = "";
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        surety_data_settings s = as_it_is(files_path(files[i].name));
        s.separator = files[i].separator;
        surety_data *data = open_ok(&s);
        const surety_data_info *info = surety_data_describe(data);
        check(info->d == 3 && info->columns == 3 && info->separator == files[i].found, "%s: separator '%c'",
              files[i].name, info->separator);
        for (uint32_t row = 0; row < 5; row++) {
            uint8_t label = 9;
            assert_memory_equal(features_of(data, row, &label), X[row], sizeof X[row]);
            assert_int_equal(label, y[row]);
        }
        if (!learn[0]) memcpy(learn, info->set_sha256[SURETY_SET_LEARN], sizeof learn);
        assert_string_equal(learn, info->set_sha256[SURETY_SET_LEARN]); /* whatever the file */
        surety_data_free(data);
    }
    surety_error err;
    surety_data_settings s = as_it_is(files_path("other.npz"));
    check_bad(try_open(NULL, &s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "a.npy, b.npy"));
    s = as_it_is(files_path("stored.npz"));
    s.train_labels = files_path("y_f.npy");
    check_bad(try_open(NULL, &s, &err), SURETY_E_USAGE);
}

/* ---- what CSV may and may not hold ---- */

typedef struct table_case {
    const char *text, *label, *drop, *categorical;
    surety_missing missing;
    const char *complaint, *place; /* NULL: fine */
} table_case;

static const table_case table_cases[] = {
    {"a,b,y\n1,\"x \"\"q\"\"\",1\n2,x,2\n3,\"x, z\",1\n4,x,2\n", NULL, NULL, "b", 0, NULL, NULL},
    {"a,b,y\n1,NA,1\n2,,2\n3,?,1\n4,5,2\n5,6,1\n", NULL, NULL, NULL, SURETY_MISSING_MEDIAN, NULL, NULL},
    {"a;b;y\n1,5;2;1\n2;3;2\n3;4;1\n", NULL, NULL, NULL, 0, "'1,5' is not a number", "line 2, column 1"},
    {"a,b,y\n1,red,1\n2,3,2\n3,4,1\n", NULL, NULL, NULL, 0, "'red' is not a number", "line 2, column 2"},
    {"a,b,y\n1,red,1\n2,3,2\n3,4,1\n", NULL, "b", NULL, 0, NULL, NULL},
    {"a,b,y\n1,red,1\n2,3,2\n3,4,1\n", NULL, "2", NULL, 0, NULL, NULL},
    {"a,a,y\n1,2,1\n2,3,2\n3,4,1\n", NULL, NULL, NULL, 0, "two columns are called 'a': 1 and 2", "line 1"},
    {"a,a,y\n1,2,1\n2,3,2\n3,4,1\n", NULL, "2", NULL, 0, NULL, NULL},
    {"a,a,y\n1,2,1\n2,3,2\n3,4,1\n", NULL, "a", NULL, 0, "two columns are called 'a'", "line 1"},
    {"a,b,Kind\n1,2,1\n2,3,2\n3,4,1\n", "kind", NULL, NULL, 0, "did you mean 'Kind'?", "line 1"},
    {"a,b,y\n1,2,1\n2,3,2\n3,4,1\n", NULL, "c", NULL, 0, "no column for --drop 'c'", "line 1"},
    {"a,b,y\n1,2,1\n2,3,2\n3,4,1\n", NULL, "a,b", NULL, 0, "no column is left", "line 1"},
    {"a,b,y\n1,2,1\n2,3,2\n3,4,1\n", NULL, "y", NULL, 0, "which is the label column", ""},
    {"a,b,y\n1,2,1\n2,3,2\n3,4,1\n", NULL, "b", "b", 0, "which is left out", ""},
    {"a,b,y\n1,\"2\n\",1\n2,3,2\n", NULL, NULL, NULL, 0, "stray quote", "line 2, column 2"},
    {"a,\xff,y\n1,2,1\n2,3,2\n3,4,1\n", NULL, NULL, NULL, 0, "not UTF-8", "line 1, column 2"},
    {"a,b,y\n1,\xff,1\n2,x,2\n3,x,1\n", NULL, NULL, "b", 0, "not UTF-8", "line 2, column 2"},
    {"1,red,1\n2,blue,2\n3,red,1\n4,blue,2\n5,red,1\n", NULL, NULL, "2", 0, NULL, NULL}, /* no header */
    {"1,red,1\n2,blue,2\n3,red,1\n", NULL, NULL, NULL, 0, "mixes names and numbers", "line 1"},
    {"{\"claim\": 1}\n", NULL, NULL, NULL, 0, "looks like JSON", "byte 0"},
    {"PAR1...", NULL, NULL, NULL, 0, "looks like a Parquet file", "byte 0"},
    {"1 0:5\n2 1:3\n1 1:2\n", NULL, NULL, NULL, 0, "an index below 1", "line 1"},
    {"1 1:5\n2 2:3 1:1\n1 1:2\n", NULL, NULL, NULL, 0, "do not ascend", "line 2"},
    {"1 1:5\n2 x:3\n1 1:2\n", NULL, NULL, NULL, 0, "not index:value", "line 2"},
    {"1 1:5\n2 1:nan\n1 1:2\n", NULL, NULL, NULL, 0, "not a finite number", "line 2"},
    {"1 1:5\n\n1 1:2\n", NULL, NULL, NULL, 0, "without a label", "line 2"},
    {"1 1:5\n2 20000000:1\n1 1:2\n", NULL, NULL, NULL, 0, "more than 1048576 columns", "line 2"},
};

static void tables_of_people(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof table_cases / sizeof *table_cases; i++) {
        const table_case *c = &table_cases[i];
        surety_error err;
        surety_data_settings s = as_it_is(files_text("table.dat", c->text));
        const char *drop[2] = {c->drop, "b"}, *categorical[1] = {c->categorical};
        int two = c->drop && !strcmp(c->drop, "a,b");
        if (two) drop[0] = "a";
        s.label_column = c->label, s.missing = c->missing;
        s.drop = drop, s.drop_count = two ? 2 : c->drop != NULL;
        s.categorical = categorical, s.categorical_count = c->categorical != NULL;
        surety_status status = try_open(NULL, &s, &err);
        if (!c->complaint)
            check(status == SURETY_OK, "case %zu: %s at %s", i, err.what, err.place);
        else
            check(status != SURETY_OK && strstr(err.what, c->complaint) &&
                      (!c->place || !strcmp(err.place, c->place)),
                  "case %zu: %s: '%s' at '%s'", i, surety_status_name(status), err.what, err.place);
    }
}

static void too_many(void **state) {
    (void)state;
    surety_error err;
    size_t columns = 1100000;
    char *wide = malloc(2 * columns * 3 + 10), *at = wide;
    for (int row = 0; row < 3; row++)
        for (size_t j = 0; j < columns; j++) *at++ = '1', *at++ = j + 1 < columns ? ',' : '\n';
    surety_data_settings s = as_it_is(files_put("wide.csv", wide, (size_t)(at - wide)));
    check_bad(try_open(NULL, &s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "1100000 columns are too many"));
    at = wide;
    at += sprintf(at, "name,y\n");
    for (int i = 0; i < 3000; i++) at += sprintf(at, "n%d,label %d\n", i, i % 1000);
    s = as_it_is(files_put("names.csv", wide, (size_t)(at - wide)));
    const char *name[] = {"name"};
    s.categorical = name, s.categorical_count = 1;
    check_bad(try_open(NULL, &s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "1000 different labels are too many"));
    s.classes = (const char *const[]){"label 1", "label 2"}, s.class_count = 2;
    surety_data_free(open_ok(&s)); /* few rows, few categories */
    at = wide;
    at += sprintf(at, "name,y\n");
    for (int i = 0; i < 3000; i++) at += sprintf(at, "n%d,%d\n", i, i % 2);
    s = as_it_is(files_put("names.csv", wide, (size_t)(at - wide)));
    s.categorical = name, s.categorical_count = 1;
    check_bad(try_open(NULL, &s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "has 2998 categories in 2998 rows of S'"));
    free(wide);
}

static void index_columns_are_named(void **state) {
    (void)state;
    static const struct {
        const char *header;
        int first, found;
    } cases[] = {
        {",a,y", 0, 1}, {"Unnamed: 0,a,y", 1, 1}, {"\"\",a,y", 1, 1}, {"id,a,y", 0, 0}, {",a,y", 2, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[400];
        int at = sprintf(text, "%s\n", cases[k].header);
        for (int i = 0; i < 9; i++)
            at += sprintf(text + at, "%d,%d.5,%d\n", i + cases[k].first, i * i, i % 2);
        surety_data_settings s = as_it_is(files_text("index.csv", text));
        surety_data *data = open_ok(&s);
        check((surety_data_describe(data)->index_column != NULL) == cases[k].found, "case %zu", k);
        surety_data_free(data);
    }
}

/* ---- the preparation ---- */

enum { ROWS = 60 };

/* Numbers of different sizes, some missing; a text; a constant. */
static const char *write_table(void) {
    char text[6000];
    int at = sprintf(text, "size,weight,color,same,y\n");
    for (int i = 0; i < ROWS; i++) {
        at += i % 7 == 3 ? sprintf(text + at, "NA") : sprintf(text + at, "%d.%d", i * 37 % 101, i % 10);
        at += sprintf(text + at, ",%g,", 1e5 + 3.7 * i * i);
        at += sprintf(text + at, "%s",
                      i % 11 == 5  ? ""
                      : i % 3 == 0 ? "red"
                      : i % 3 == 1 ? "1.0"
                                   : "b,l\"ue");
        if (i % 3 == 2 && i % 11 != 5) { /* in quotes */
            at -= 6;
            at += sprintf(text + at, "\"b,l\"\"ue\"");
        }
        at += sprintf(text + at, ",5,%d\n", i % 2);
    }
    return files_text("prepared.csv", text);
}

static surety_data_settings prepared(surety_missing missing, surety_scaling scaling) {
    static const char *const color[] = {"color"};
    surety_data_settings s = surety_data_defaults();
    s.train = files_path("prepared.csv");
    s.categorical = color, s.categorical_count = 1;
    s.missing = missing, s.scaling = scaling;
    return s;
}

static void features_are_what_the_manual_says(void **state) {
    (void)state;
    write_table();
    for (int scaling = SURETY_SCALE_NONE; scaling <= SURETY_SCALE_MINMAX; scaling++) {
        surety_data_settings s = prepared(SURETY_MISSING_FLAG, (surety_scaling)scaling);
        surety_data *data = open_ok(&s);
        const surety_data_info *info = surety_data_describe(data);
        static const char *const scaled[] = {"size",          "size missing", "weight",       "color=1",
                                             "color=b,l\"ue", "color=red",    "color missing"};
        static const uint8_t moves[] = {1, 0, 1, 0, 0, 0, 0};
        int none = scaling == SURETY_SCALE_NONE;
        assert_int_equal(info->d, none ? 8 : 7); /* a constant is a feature where nothing is scaled */
        assert_int_equal(info->constants, none ? 0 : 1);
        assert_memory_equal(info->moves, moves, sizeof moves);
        for (size_t j = 0; j < 7; j++) assert_string_equal(info->feature_names[j], scaled[j]);
        assert_true(info->preparation);
        assert_true(info->preparation_fits);
        assert_true(!info->boxed);
        for (uint32_t row = 0; row < ROWS; row++) {
            uint8_t y = 0;
            const float *z = features_of(data, row, &y);
            float weight = (float)(1e5 + 3.7 * row * row), moved;
            char text[32];
            snprintf(text, sizeof text, "%g", 1e5 + 3.7 * row * row);
            weight = strtof(text, NULL);
            moved = weight - info->shift[2];
            check_that(z[2], ==, moved * info->factor[2]); /* bit for bit */
            check_that(z[1], ==, (float)(row % 7 == 3));
            check_that(z[6], ==, (float)(row % 11 == 5));
            int color = row % 11 == 5 ? -1 : row % 3 == 0 ? 2 : row % 3 == 1 ? 0 : 1;
            for (int k = 0; k < 3; k++) check_that(z[3 + k], ==, (float)(k == color));
        }
        uint64_t filled = info->filled[0] + info->filled[1] + info->filled[2];
        assert_int_equal(filled, 9 + 5);
        surety_data_free(data);
    }
}

/* The same rows from memory, through the model's JSON, one by one and by text: the same bits. */
static void applied_by_hand(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = prepared(SURETY_MISSING_MEDIAN, SURETY_SCALE_STANDARD);
    surety_data *data = open_ok(&s);
    surety_preparation *again = NULL;
    check_ok(surety_preparation_decode(&again, surety_data_describe(data)->preparation, &err));
    assert_int_equal(surety_preparation_columns(again), 4);
    assert_string_equal(surety_preparation_column(again, 2), "color");
    assert_null(surety_preparation_column(again, 4));
    size_t d = surety_preparation_features(again);
    for (uint32_t row = 0; row < ROWS; row++) {
        char size[32], weight[32], color[32];
        snprintf(size, sizeof size, "%d.%d", (int)row * 37 % 101, (int)row % 10);
        snprintf(weight, sizeof weight, "%g", 1e5 + 3.7 * row * row);
        strcpy(color, row % 3 == 0 ? "red" : row % 3 == 1 ? "1" : "b,l\"ue");
        const float values[4] = {row % 7 == 3 ? NAN : strtof(size, NULL), strtof(weight, NULL),
                                 row % 11 == 5 || row % 3 != 1 ? NAN : 1, 5};
        const char *const texts[4] = {NULL, NULL, row % 11 == 5 || row % 3 == 1 ? NULL : color, NULL};
        float x[16], back[16];
        uint8_t y;
        surety_preparation_counts counts = {0};
        check_ok(
            surety_preparation_apply(again, &(surety_raw_rows){1, values, texts, 0}, x, 16, &counts, &err));
        assert_memory_equal(x, features_of(data, row, &y), d * sizeof *x);
        assert_int_equal(counts.filled, (row % 7 == 3) + (row % 11 == 5));
        surety_preparation_undo(again, x, back);
        if (row % 7 != 3) check_that(fabsf(back[0] - values[0]), <=, 1e-5f * (1 + fabsf(values[0])));
        surety_preparation_scale(again, back, back);
        for (size_t j = 0; j < d; j++) check_that(fabsf(back[j] - x[j]), <=, 1e-5f);
    }
    /* a category that S' does not have, a value that is infinite */
    const char *const unseen[4] = {NULL, NULL, "green", NULL};
    float x[16];
    surety_preparation_counts counts = {0};
    check_ok(surety_preparation_apply(again, &(surety_raw_rows){1, (const float[]){1, 1, 0, 5}, unseen, 0}, x,
                                      16, &counts, &err));
    check_that(counts.unseen, ==, 1);
    check_that(x[2], ==, 0);
    check_that(x[3], ==, 0);
    check_that(x[4], ==, 0);
    assert_int_equal(
        surety_preparation_apply(again, &(surety_raw_rows){1, (const float[]){1, INFINITY, 0, 5}, unseen, 0},
                                 x, 16, &counts, &err),
        SURETY_E_INPUT);
    assert_string_equal(err.place, "row 0, column 1 (from 0)");
    surety_preparation_free(again);
    surety_data_free(data);
}

/* Another table for the same model: columns in another order, further ones that are named. */
static void matched_by_name(void **state) {
    (void)state;
    surety_error err;
    surety_data_settings s = prepared(SURETY_MISSING_MEDIAN, SURETY_SCALE_STANDARD);
    surety_data *data = open_ok(&s);
    surety_data_settings other = as_it_is(NULL);
    other.preparation = surety_data_preparation(data);
    other.fresh = 1;
    other.test_size = 0;
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"y,same,color,weight,size\n1,5,red,100010,3\n0,6,green,100020,NA\n", NULL},
        {"y,same,color,weight\n1,5,red,100010\n0,5,red,100020\n", "lacks the column 'size'"},
        {"y,same,color,weight,Size\n1,5,red,100010,1\n0,5,red,100020,1\n", "it has 'Size'"},
        {"y,same,color,weight,size,more\n1,5,red,100010,1,1\n0,5,red,100020,1,1\n", "'more' is none"},
        {"size,weight,color,same\n1,100010,red,5\n1,100010,red,5\n", "no label column 'y'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        surety_data *fresh = NULL;
        other.train = files_text("other.csv", cases[i].text);
        surety_status status = try_open(&fresh, &other, &err);
        if (cases[i].complaint) {
            check(status == SURETY_E_INPUT && strstr(err.what, cases[i].complaint), "case %zu: %s", i,
                  err.what);
            continue;
        }
        check(status == SURETY_OK, "case %zu: %s", i, err.what);
        const surety_data_info *info = surety_data_describe(fresh);
        const surety_set *set = surety_data_set(fresh, SURETY_SET_LEARN);
        check_that(info->unseen[SURETY_SET_LEARN], ==, 1);
        check_that(info->filled[SURETY_SET_LEARN], ==, 1);
        check_that(set->x[4], ==, 1);
        check_that(set->x[set->stride + 4], ==, 0);
        assert_true(!info->preparation_fits);
        assert_string_equal(info->preparation, surety_data_describe(data)->preparation);
        surety_data_free(fresh);
    }
    surety_data_free(data);
}

/* Rows that differ in a category or in what is missing are no copies; the scale does not matter. */
static void copies_before_the_scale(void **state) {
    (void)state;
    static const char text[] =
        "a,b,y\n16777216,x,0\n16777216,x,1\n16777216,y,0\n,x,1\n,x,0\n16777218,x,1\n1,x,0\n2,z,1\n3,y,0\n4,x,"
        "1\n";
    static const char *const b[] = {"b"};
    for (int scaling = SURETY_SCALE_NONE; scaling <= SURETY_SCALE_MINMAX; scaling++) {
        surety_data_settings s = as_it_is(files_text("copies.csv", text));
        s.categorical = b, s.categorical_count = 1;
        s.missing = SURETY_MISSING_MEDIAN;
        s.scaling = (surety_scaling)scaling;
        s.copies = SURETY_COPIES_DROP;
        surety_data *data = open_ok(&s);
        assert_int_equal(surety_data_describe(data)->copies.dropped, 2);
        assert_int_equal(surety_data_describe(data)->copies.learn_in_prior, 0);
        surety_data_free(data);
    }
}

/* A preparation comes from a file: it is believed as far as it makes sense. */
static void preparations_that_make_no_sense(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"columns\":[],\"file_columns\":1,\"missing\":\"error\",\"scale\":\"none\"}",
        "{\"columns\":[{\"name\":\"a\",\"factor\":0}],\"file_columns\":1,\"missing\":\"error\",\"scale\":"
        "\"standard\"}",
        "{\"columns\":[{\"name\":\"a\",\"factor\":1e99}],\"file_columns\":1,\"missing\":\"error\",\"scale\":"
        "\"minmax\"}",
        "{\"columns\":[{\"name\":\"a\",\"shift\":\"x\"}],\"file_columns\":1,\"missing\":\"error\",\"scale\":"
        "\"minmax\"}",
        "{\"columns\":[{\"name\":\"\"}],\"file_columns\":1,\"missing\":\"median\",\"scale\":\"none\"}",
        "{\"columns\":[{\"name\":\"a\",\"categories\":[\"b\",\"a\"]}],\"file_columns\":1,\"missing\":"
        "\"error\",\"scale\":"
        "\"none\"}",
        "{\"columns\":[{\"name\":\"a\",\"categories\":[1]}],\"file_columns\":1,\"missing\":\"error\","
        "\"scale\":\"none\"}",
        "{\"columns\":[{\"name\":\"a\",\"constant\":true}],\"file_columns\":1,\"missing\":\"flag\",\"scale\":"
        "\"none\"}",
        "{\"columns\":[{\"name\":\"a\"}],\"file_columns\":1,\"missing\":\"often\",\"scale\":\"none\"}",
        "{\"columns\":[{\"name\":\"a\"}],\"file_columns\":1,\"missing\":\"flag\",\"scale\":\"auto\"}",
        "{\"columns\":[{\"name\":\"a\"}],\"file_columns\":1,\"label_column\":2,\"missing\":\"flag\","
        "\"scale\":\"none\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        surety_preparation *p = NULL;
        surety_error err = SURETY_ERROR_NONE;
        check(surety_preparation_decode(&p, texts[i], &err) == SURETY_E_INPUT && !p && err.what[0],
              "case %zu", i);
    }
}

/* ---- units ---- */

static void units_stay_together(void **state) {
    (void)state;
    char text[4000];
    int at = sprintf(text, "who,a,y\n");
    for (int i = 0; i < 120; i++) at += sprintf(text + at, "p%d,%d,%d\n", i * 7 % 30, i * i % 97, i % 2);
    for (uint64_t seed = 0; seed < 20; seed++) {
        surety_data_settings s = surety_data_defaults();
        s.train = files_text("units.csv", text);
        s.unit = "who";
        s.seed = seed;
        surety_data *data = open_ok(&s);
        const surety_data_info *info = surety_data_describe(data);
        int seen[30] = {0};
        check_that(info->units[SURETY_SET_LEARN], ==, 12);
        check_that(info->units[SURETY_SET_TEST], ==, 6);
        check_that(info->units[SURETY_SET_PRIOR], ==, 12);
        check_that(info->d, ==, 1);
        for (int k = 0; k < SURETY_SETS; k++) {
            const surety_set *set = surety_data_set(data, (surety_set_name)k);
            for (size_t i = 0; i < set->m; i++) {
                int who = (int)set->row[i] * 7 % 30;
                check_that(set->unit[i], <, set->units);
                check(!seen[who] || seen[who] == k + 1, "unit %d is in sets %d and %d", who, seen[who] - 1,
                      k);
                seen[who] = k + 1;
                for (size_t j = 0; j < i; j++)
                    check_that((set->unit[i] == set->unit[j]), ==, ((int)set->row[j] * 7 % 30 == who));
            }
        }
        surety_data_free(data);
    }
    surety_error err;
    surety_data_settings s = surety_data_defaults();
    s.unit = "who";
    s.train = files_text("units.csv", "who,a,y\nx,1,0\nx,2,1\n,3,0\nz,4,1\nw,5,0\nv,6,1\n");
    check_bad(try_open(NULL, &s, &err), SURETY_E_INPUT);
    assert_string_equal(err.place, "line 4, column 1");
    s.train = files_text("units.csv", "who,a,y\nx,1,0\nx,2,1\nu,3,0\nz,4,1\nw,5,0\nv,6,1\n");
    s.test = files_text("units_test.csv", "who,a,y\nq,1,0\nx,9,1\n");
    check_bad(try_open(NULL, &s, &err), SURETY_E_INPUT);
    assert_string_equal(err.what, "the unit 'x' is in the training file too");
    s.test = files_text("units_test.csv", "who,a,y\nq,1,0\nr,9,1\n");
    surety_data_free(open_ok(&s));
}

/* ---- failing allocations ---- */

static void failing_allocations(void **state) {
    (void)state;
    static const char *const b[] = {"b"}, *const c[] = {"c"};
    surety_data_settings s = surety_data_defaults();
    s.train =
        files_text("fail.csv", "u,a,b,c,y\n1,1,x,0,0\n2,2,\"y\"\"\",0,1\n3,4,x,0,0\n4,,y,0,1\n5,3,x,0,0\n");
    s.test = files_text("fail_test.csv", "c,b,a,u,y\n0,x,1,7,0\n0,q,2,8,1\n");
    s.unit = "u";
    s.categorical = b, s.categorical_count = 1;
    s.drop = c, s.drop_count = 1;
    s.missing = SURETY_MISSING_FLAG;
    files_fail_allocations(plain_open, &s);
    s = as_it_is(files_path("packed.npz"));
    files_fail_allocations(plain_open, &s);
    s = as_it_is(files_path("m.libsvm"));
    files_fail_allocations(plain_open, &s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_the_same_table),
        cmocka_unit_test(tables_of_people),
        cmocka_unit_test(too_many),
        cmocka_unit_test(index_columns_are_named),
        cmocka_unit_test(features_are_what_the_manual_says),
        cmocka_unit_test(applied_by_hand),
        cmocka_unit_test(matched_by_name),
        cmocka_unit_test(copies_before_the_scale),
        cmocka_unit_test(preparations_that_make_no_sense),
        cmocka_unit_test(units_stay_together),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("tables", tests, files_begin, files_end);
}
