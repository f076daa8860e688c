/* Tables of every format, as data: the first byte says the file's name, the second the settings. Accepted
 * data are finite, of known classes, and the same when they are read again. */
#include <math.h>

#include "fuzz.h"

static const char *const names[] = {"t.csv",        "t.npy",    "t.npz", "t.libsvm",
                                    "t-idx3-ubyte", "t.csv.gz", "t.tsv", "t"};

static void check_set(const surety_data *data, surety_set_name which, surety_missing missing) {
    const surety_set *set = surety_data_set(data, which);
    for (size_t i = 0; i < set->m; i++) {
        require(set->y[i] < set->classes);
        for (size_t j = 0; j < set->d; j++)
            require(isfinite(set->x[i * set->stride + j]) || missing == SURETY_MISSING_KEEP);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (size < 2) return 0;
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data = NULL, *again = NULL;
    surety_data_settings s = surety_data_defaults();
    s.train = fuzz_file(names[bytes[0] % 8], bytes + 2, size - 2);
    static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 6, 0, 1, 0, 1, 0, 1};
    if (bytes[0] % 8 == 1 || bytes[0] % 8 == 4)
        s.train_labels = fuzz_file("y-idx1-ubyte", labels, sizeof labels);
    s.copies = bytes[1] & 1 ? SURETY_COPIES_KEEP : SURETY_COPIES_DROP;
    s.missing = (surety_missing)(bytes[1] >> 1 & 3);
    s.scaling = bytes[1] & 8 ? SURETY_SCALE_NONE : SURETY_SCALE_AUTO;
    if (bytes[1] & 16) s.label_column = "1";
    if (bytes[1] & 32) s.header = SURETY_HEADER_YES;
    if (bytes[1] & 64) s.unit = "2";
    surety_status status = surety_data_open(&s, &data, &err);
    if (fuzz_accepts(status, &err)) {
        for (int which = 0; which < SURETY_SETS; which++) check_set(data, (surety_set_name)which, s.missing);
        require(surety_data_open(&s, &again, &err) == SURETY_OK);
        for (int which = 0; which < SURETY_SETS; which++)
            require(!strcmp(surety_data_describe(data)->set_sha256[which],
                            surety_data_describe(again)->set_sha256[which]));
        char *json = surety_data_info_json(surety_data_describe(data));
        require(json);
        surety_text_free(json);
    }
    surety_data_free(data);
    surety_data_free(again);
    return 0;
}

static void seed(fuzz_take take, uint8_t name, uint8_t how, const void *text, size_t size) {
    uint8_t bytes[2000] = {name, how};
    memcpy(bytes + 2, text, size);
    take(bytes, size + 2);
}

void fuzz_seeds(fuzz_take take) {
    static const char csv[] =
        "a,b,\"la,bel\"\n1,2,cat\n2,1,dog\n.5,3e0,cat\n-1,2,dog\n3,\"4\",cat\n5,6,dog\n7,8.5,cat\n9,1,dog\n";
    static const char gaps[] = "1;NA;x\n2;1;y\n3;2;x\n4;;y\n5;3;x\n6;1;y\n7;7;x\n";
    static const char svm[] = "+1 1:0.5 3:2\n-1 2:1\n+1 1:1 2:2\n-1 3:1 # note\n+1 1:3\n-1 1:4\n";
    static const char tsv[] = "1\t2\ta\n2\t3\tb\n3\t4\ta\n4\t5\tb\n5\t6\ta\n6\t7\tb\n";
    static const char npy[] =
        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (6, 2), }";
    seed(take, 0, 0, csv, sizeof csv - 1);
    seed(take, 0, 5, gaps, sizeof gaps - 1);
    seed(take, 0, 1 | 64, csv, sizeof csv - 1);
    seed(take, 3, 1, svm, sizeof svm - 1);
    seed(take, 6, 1, tsv, sizeof tsv - 1);
    uint8_t array[128 + 48];
    memset(array, ' ', 128);
    memcpy(array, npy, sizeof npy - 1);
    array[127] = '\n';
    for (int i = 0; i < 12; i++) memcpy(array + 128 + 4 * i, &(float){(float)i}, 4);
    seed(take, 1, 1, array, sizeof array);
    static const uint8_t idx[] = {0, 0, 8, 3, 0,  0,  0, 6, 0, 0, 0, 1, 0, 0,
                                  0, 2, 7, 9, 11, 13, 1, 2, 3, 4, 5, 6, 7, 8};
    seed(take, 4, 1, idx, sizeof idx);
}
