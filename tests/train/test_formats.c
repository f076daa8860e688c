/* train: the same rows give the same model, byte for byte, whether they come from a file of any format or
 * from memory; and a model knows its rows again wherever they come from. */
#include "io/files.h"
#include "plain.h"
#include "surety/evaluate.h"
#include "surety/train.h"

enum { M = 120, TEST = 30, D = 6 };

/* Bytes, so that IDX can hold them; decoded as every reader decodes bytes.. */
static uint8_t bytes[M + TEST][D], labels[M + TEST];
static float x[M + TEST][D];
static int64_t y[M + TEST];

static void make_rows(void) {
    uint32_t state = 1;
    for (int i = 0; i < M + TEST; i++) {
        labels[i] = (uint8_t)(3 + 4 * (i % 2));
        y[i] = labels[i];
        for (int j = 0; j < D; j++) {
            state = state * 1664525u + 1013904223u;
            bytes[i][j] = (uint8_t)((state >> 24) / 2 + (unsigned)(i % 2) * 60);
            x[i][j] = (float)bytes[i][j] / 255.0f;
        }
    }
}

static void put_idx(const char *images, const char *names, int first, int m) {
    uint8_t head[16] = {0, 0, 8, 3, 0, 0, 0, (uint8_t)m, 0, 0, 0, 2, 0, 0, 0, D / 2}, file[16 + M * D];
    memcpy(file, head, 16);
    memcpy(file + 16, bytes[first], (size_t)m * D);
    files_put(images, file, 16 + (size_t)m * D);
    head[3] = 1;
    memcpy(file, head, 8);
    memcpy(file + 8, labels + first, (size_t)m);
    files_put(names, file, 8 + (size_t)m);
}

static void put_csv(const char *name, int first, int m) {
    char text[M * D * 16], *at = text;
    for (int i = first; i < first + m; i++) {
        for (int j = 0; j < D; j++) at += sprintf(at, "%.9g,", (double)x[i][j]);
        at += sprintf(at, "%d\n", labels[i]);
    }
    files_text(name, text);
}

static void put_files(void) {
    put_csv("train.csv", 0, M), put_csv("test.csv", M, TEST);
    files_npy("X_f4.npy", SURETY_F4, x, M, D), files_npy("y_f4.npy", SURETY_I8, y, M, 0);
    files_npy("X_f4_test.npy", SURETY_F4, x[M], TEST, D),
        files_npy("y_f4_test.npy", SURETY_I8, y + M, TEST, 0);
    files_npy("X_u1.npy", SURETY_U1, bytes, M, D), files_npy("y_u1.npy", SURETY_U1, labels, M, 0);
    files_npy("X_u1_test.npy", SURETY_U1, bytes[M], TEST, D),
        files_npy("y_u1_test.npy", SURETY_U1, labels + M, TEST, 0);
    put_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", 0, M);
    put_idx("test-images-idx3-ubyte", "test-labels-idx1-ubyte", M, TEST);
}

static surety_data_settings split_settings(void) {
    surety_data_settings s = plain_settings();
    s.learn_size = 40, s.seed = 3;
    return s;
}

static surety_arrays in_memory(int with_test) {
    surety_arrays a = {.m = M, .d = D, .features = x[0], .labels = y};
    if (with_test) a.test_m = TEST, a.test_features = x[M], a.test_labels = y + M;
    return a;
}

static surety_train_settings training(void) {
    surety_train_settings s = surety_train_defaults();
    s.voters.count = 3;
    s.defense.ball.radius = 0.1;
    s.defense.steps = 2;
    s.step1_epochs = s.step2_epochs = 2;
    s.batch = 16;
    return s;
}

static surety_model *train(const surety_data *data, const surety_checkpointing *checkpointing) {
    surety_error err = SURETY_ERROR_NONE;
    const surety_run one = {.threads = 1};
    surety_train_settings s = training();
    surety_train_result result;
    surety_model *model = NULL;
    check_ok(surety_train(&s, data, checkpointing, &model, &result, &one, &err));
    surety_train_result_free(&result);
    return model;
}

static void same_bytes(const surety_model *a, const surety_model *b, const char *name) {
    surety_error err = SURETY_ERROR_NONE;
    uint8_t *one = NULL, *two = NULL;
    size_t one_size = 0, two_size = 0;
    check_ok(surety_model_encode(a, &one, &one_size, &err));
    check_ok(surety_model_encode(b, &two, &two_size, &err));
    check(one_size == two_size && !memcmp(one, two, one_size), "%s: other bytes", name);
    surety_bytes_free(one);
    surety_bytes_free(two);
}

static surety_data *open_arrays(const surety_arrays *a, const surety_data_settings *s) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL;
    check_ok(surety_data_from_arrays(a, s, &data, &err));
    return data;
}

static void files_and_arrays_give_the_same_bytes(void **state) {
    (void)state;
    static const char *const files[][2] = {{"train.csv", "test.csv"},
                                           {"X_f4.npy", "X_f4_test.npy"},
                                           {"X_u1.npy", "X_u1_test.npy"},
                                           {"train-images-idx3-ubyte", "test-images-idx3-ubyte"}};
    for (int with_test = 0; with_test < 2; with_test++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_data_settings s = split_settings();
        surety_arrays a = in_memory(with_test);
        if (!with_test) s.test_size = 20;
        surety_data *data = open_arrays(&a, &s);
        surety_model *model = train(data, NULL);
        surety_data_free(data);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            s.train = files_path(files[i][0]);
            s.test = with_test ? files_path(files[i][1]) : NULL;
            check_ok(surety_data_open(&s, &data, &err));
            surety_model *other = train(data, NULL);
            same_bytes(model, other, files[i][0]);
            check_ok(surety_model_check_data(model, surety_data_describe(data), &err));
            surety_model_free(other);
            surety_data_free(data);
        }
        surety_model_free(model);
    }
}

/* A checkpoint of a training on a file goes on with arrays, and not with other rows. */
static void checkpoints_know_rows(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = split_settings();
    surety_arrays a = in_memory(1);
    surety_data *file = NULL, *data = open_arrays(&a, &s);
    surety_checkpointing to = {.file = files_path("checkpoint")};
    s.train = files_path("train.csv"), s.test = files_path("test.csv");
    check_ok(surety_data_open(&s, &file, &err));
    surety_model *whole = train(file, &to);
    to.resume = 1;
    surety_model *resumed = train(data, &to);
    same_bytes(whole, resumed, "resumed");
    surety_data_free(data);
    float was = x[0][0];
    x[0][0] = 0.75f;
    s.train = s.test = NULL;
    data = open_arrays(&a, &s);
    surety_train_settings t = training();
    surety_train_result result;
    surety_model *none = NULL;
    check_bad(surety_train(&t, data, &to, &none, &result, NULL, &err), SURETY_E_USAGE);
    check(strstr(err.what, "rows_"), "%s", err.what);
    x[0][0] = was;
    surety_model_free(whole), surety_model_free(resumed);
    surety_data_free(data), surety_data_free(file);
}

static surety_origin origin; /* what was found by the last call of fresh */

static surety_status fresh(const surety_model *model, const surety_arrays *a, const surety_data_settings *s) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = open_arrays(a, s);
    surety_overlap overlap;
    surety_status status = surety_evaluate_origin(model, data, &origin, &overlap, &err);
    check(status == SURETY_OK || (strstr(err.what, "another way") && err.expected[0]) ||
              strstr(err.what, "other classes"),
          "%s", err.what);
    surety_data_free(data);
    return status;
}

/* Trained on a file; the rows come back in memory. */
static void rows_are_known_again(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = split_settings(), other = s;
    surety_data *data = NULL;
    s.train = files_path("train-images-idx3-ubyte"), s.test = files_path("test-images-idx3-ubyte");
    check_ok(surety_data_open(&s, &data, &err));
    surety_model *model = train(data, NULL);
    surety_data_free(data);
    surety_arrays a = in_memory(1), none = in_memory(0);
    assert_int_equal(fresh(model, &a, &other), SURETY_OK);
    assert_int_equal(fresh(model, &none, &other), SURETY_OK); /* S is what it was; T is another matter */
    assert_int_equal(origin, SURETY_ORIGIN_OWN);
    other.learn_size = 41;
    assert_int_equal(fresh(model, &a, &other), SURETY_E_CHECK);
    other = split_settings(), other.seed = 4;
    assert_int_equal(fresh(model, &a, &other), SURETY_E_CHECK);
    other = split_settings(), other.test_size = 10;
    assert_int_equal(fresh(model, &none, &other), SURETY_E_CHECK);
    other = split_settings(), other.class_count = 2, other.classes = (const char *const[]){"7", "3"};
    assert_int_equal(fresh(model, &a, &other), SURETY_E_CHECK);
    static const int64_t prior[] = {0, 1, 2, 3}, learn[] = {4, 5, 6, 7};
    surety_split few = {{4, 4, 0}, {prior, learn, NULL}};
    none.split = &few; /* some of the rows */
    other = split_settings();
    assert_int_equal(fresh(model, &none, &other), SURETY_E_CHECK);
    static float turned[M][D];
    static int64_t turned_y[M];
    for (int i = 0; i < M; i++) {
        memcpy(turned[i], x[M - 1 - i], sizeof turned[i]);
        turned_y[i] = y[M - 1 - i];
    }
    surety_arrays back = {.m = M, .d = D, .features = turned[0], .labels = turned_y};
    assert_int_equal(fresh(model, &back, &other), SURETY_E_CHECK); /* in another order */
    for (int i = 0; i < M; i++)
        if (turned_y[i] == 7) turned_y[i] = 8, turned[i][0] = 1;
    assert_int_equal(fresh(model, &back, &other), SURETY_E_CHECK); /* one of the classes */
    for (int i = 0; i < M; i++) turned[i][1] = 1;
    assert_int_equal(fresh(model, &back, &other), SURETY_OK); /* other rows */
    assert_int_equal(origin, SURETY_ORIGIN_OTHER);
    other.fresh = 1;
    assert_int_equal(fresh(model, &back, &other), SURETY_E_CHECK); /* of other classes */
    surety_model_free(model);
}

static int begin(void **state) {
    if (files_begin(state)) return -1;
    make_rows();
    put_files();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_arrays_give_the_same_bytes),
        cmocka_unit_test(checkpoints_know_rows),
        cmocka_unit_test(rows_are_known_again),
    };
    return cmocka_run_group_tests_name("rows", tests, begin, files_end);
}
