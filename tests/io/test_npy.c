/* io: NPY. Damaged files, and exchange with NumPy itself. */
#include "io/files.h"

#include "io/npy.h"

/* A file of version 1.0 with this dictionary and that many zero bytes of values. */
static size_t make(char *out, const char *dictionary, size_t bytes) {
    size_t length = strlen(dictionary);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)length;
    out[9] = (char)(length >> 8);
    memcpy(out + 10, dictionary, length);
    memset(out + 10 + length, 0, bytes);
    return 10 + length + bytes;
}

static surety_status open_close(const char *path, surety_error *err) {
    surety_npy array;
    surety_status status = surety_npy_open(&array, path, err);
    surety_npy_close(&array);
    return status;
}

static void headers(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static const struct {
        const char *dictionary;
        size_t bytes;
        const char *complaint; /* NULL: fine */
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, NULL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 24, NULL},
        {"{\"shape\":(2,3,),\"descr\":\"<f8\",\"fortran_order\":False}  \n", 48, NULL},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", 1, NULL},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (7,), }\n", 7, NULL},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (0, 5), }\n", 0, NULL},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }\n", 24, "objects"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }\n", 12, "big-endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }\n", 24, "complex"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (3,), }\n", 36, "texts"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n", 6, "not read here"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }\n", 24, "times"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }\n", 12, "records"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", 24, NULL},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }\n", 24, "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 23, "needs 24 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 25, "needs 24 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3), }\n", 12, "lacks a comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", 12, "no number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }\n", 12, "lacks a comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [3], }\n", 12, "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,3), }\n", 12, "8 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n", 0, "addressed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,), }\n", 4, "addressed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }\n", 4, "too large"},
        {"{'descr': '<f4', 'fortran_order': False, }\n", 4, "missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n", 4, "twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}\n", 4, "unknown key"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}\n", 4, "comma"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': (1,)}\n", 4, "colon"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x\n", 4, "behind the dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", 4, "missing"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", 4, "no number"},
        {"{'descr': '<f4", 4, "does not end"},
        {"[1, 2]", 4, "begin with {"},
        {"", 4, "begin with {"},
    };
    char bytes[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = files_put("case.npy", bytes, make(bytes, cases[i].dictionary, cases[i].bytes));
        err = (surety_error)SURETY_ERROR_NONE;
        surety_status status = open_close(path, &err);
        if (!cases[i].complaint) {
            check(status == SURETY_OK, "case %zu: %s", i, err.what);
            continue;
        }
        check(status == SURETY_E_INPUT && strstr(err.what, cases[i].complaint), "case %zu: '%s'", i,
              err.what);
        assert_string_equal(err.file, path);
        assert_non_null(strstr(err.place, "byte"));
    }
}

static void damaged_at_every_byte(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    char bytes[512];
    size_t size = make(bytes, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2), }\n", 4);
    for (size_t cut = 0; cut < size; cut++)
        check_bad(open_close(files_put("cut.npy", bytes, cut), &err), SURETY_E_INPUT);
    /* any byte replaced by any other: an answer, never a crash */
    for (size_t at = 0; at < size; at++) {
        char good = bytes[at];
        for (int other = 0; other < 256; other += (int)check_count(5, 1)) {
            bytes[at] = (char)other;
            surety_status status = open_close(files_put("other.npy", bytes, size), NULL);
            check(status == SURETY_OK || status == SURETY_E_INPUT, "byte %zu = %d: %s", at, other,
                  surety_status_name(status));
        }
        bytes[at] = good;
    }
    for (int version = 0; version < 256; version++) {
        bytes[6] = (char)version;
        surety_status status = open_close(files_put("version.npy", bytes, size), NULL);
        check(status == (version == 1 ? SURETY_OK : SURETY_E_INPUT), "version %d: %s", version,
              surety_status_name(status));
    }
    bytes[6] = 1;
    bytes[size - 1] = 2;
    check_bad(open_close(files_put("bool.npy", bytes, size), &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "bool is 2"));
    check_bad(open_close(files_folder, &err), SURETY_E_INPUT);
}

/* Versions 2 and 3 have a length of four bytes. */
static void later_versions(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static const char dictionary[] = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
    char bytes[256] = "\x93NUMPY";
    size_t length = sizeof dictionary - 1;
    memcpy(bytes + 12, dictionary, length);
    memcpy(bytes + 12 + length, "\x01\x00\xff\xff", 4);
    bytes[8] = (char)length;
    for (char version = 2; version <= 3; version++) {
        surety_npy array;
        double values[2];
        bytes[6] = version;
        bytes[11] = 0;
        check_ok(surety_npy_open(&array, files_put("later.npy", bytes, 16 + length), &err));
        surety_npy_doubles(&array, 0, 2, values);
        check_that(values[0], ==, 1);
        check_that(values[1], ==, -1);
        surety_npy_close(&array);
        bytes[11] = (char)0xff;
        assert_int_equal(open_close(files_put("long.npy", bytes, 16 + length), NULL), SURETY_E_INPUT);
    }
}

static void writes_what_it_reads(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const char *path = files_path("written.npy");
    for (int ndim = 0; ndim <= SURETY_NPY_DIMS; ndim++) {
        size_t shape[SURETY_NPY_DIMS] = {2, 3, 1, 2, 2, 1, 1, 3}, count = 1;
        for (int i = 0; i < ndim; i++) count *= shape[i];
        float values[72], back[72];
        for (size_t i = 0; i < count; i++) values[i] = (float)i / 7 - 3;
        surety_npy_writer *writer = NULL;
        check_ok(surety_npy_writer_open(&writer, path, SURETY_F4, ndim, shape, &err));
        for (size_t i = 0; i < count; i++) check_ok(surety_npy_writer_append(writer, values + i, 1, &err));
        check_ok(surety_npy_writer_commit(writer, &err));
        surety_npy array;
        check_ok(surety_npy_open(&array, path, &err));
        assert_int_equal(array.ndim, ndim);
        assert_memory_equal(array.shape, shape, (size_t)ndim * sizeof *shape);
        assert_int_equal(array.count, count);
        assert_int_equal((array.data - array.file.data) % 64, 0);
        surety_npy_floats(&array, 0, count, back);
        assert_memory_equal(values, back, count * sizeof *values);
        surety_npy_close(&array);
    }
}

static void writer_keeps_its_promise(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const char *path = files_path("promise.npy");
    const size_t shape[] = {2, 2}, huge[] = {(size_t)1 << 40, (size_t)1 << 40}, big[] = {(size_t)1 << 58};
    const double values[5] = {1, 2, 3, 4, 5};
    surety_npy_writer *writer = NULL;
    check_ok(surety_npy_writer_open(&writer, path, SURETY_F8, 2, shape, &err));
    check_ok(surety_npy_writer_append(writer, values, 3, &err));
    assert_int_equal(surety_npy_writer_append(writer, values, 2, NULL), SURETY_E_USAGE);
    assert_int_equal(surety_npy_writer_commit(writer, NULL), SURETY_E_USAGE); /* one value is missing */
    assert_int_equal(surety_npy_writer_open(&writer, path, SURETY_F8, 2, huge, NULL), SURETY_E_USAGE);
    assert_null(writer);
    assert_int_equal(surety_npy_writer_open(&writer, path, SURETY_F8, 1, big, NULL), SURETY_E_SYSTEM);
    assert_int_equal(files_count("promise"), 0);
}

/* NumPy writes all types; we read the same numbers. Then the other way round. */
static void exchanges_with_numpy(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static const char writes[] =
        "import numpy as np, sys\n"
        "for t in "
        "['float32','float64','int8','int16','int32','int64','uint8','uint16','uint32','uint64','bool']:\n"
        "    a = np.array([0, 1, 100, 7, 0, 1], dtype=t).reshape(2, 3)\n"
        "    a[0, 0] -= 3 if t[0] in 'fi' else 0\n"
        "    np.save(sys.argv[1] + '/' + t + '.npy', a)\n";
    static const char reads[] =
        "import numpy as np, sys\n"
        "a = np.load(sys.argv[1] + '/ours.npy')\n"
        "assert a.dtype == np.float64 and a.shape == (4, 1, 2), a\n"
        "assert (a.ravel() == np.arange(8) / 3).all(), a\n";
    files_python(writes);
    for (surety_dtype t = 0; t < SURETY_DTYPES; t++) {
        char name[32];
        surety_npy array;
        double values[6];
        float floats[3];
        snprintf(name, sizeof name, "%s.npy", surety_dtype_name(t));
        check_ok(surety_npy_open(&array, files_path(name), &err));
        assert_int_equal(array.dtype, t);
        check_that(array.ndim, ==, 2);
        check_that(array.shape[0], ==, 2);
        check_that(array.shape[1], ==, 3);
        assert_int_equal(array.nbytes, 6 * surety_dtype_size(t));
        surety_npy_doubles(&array, 0, 6, values);
        surety_npy_floats(&array, 3, 3, floats);
        int sign = t <= SURETY_I8, logical = t == SURETY_B1;
        const double wanted[6] = {sign ? -3 : 0, 1, logical ? 1 : 100, logical ? 1 : 7, 0, 1};
        for (int i = 0; i < 6; i++) check(values[i] == wanted[i], "%s value %d is %g", name, i, values[i]);
        for (int i = 0; i < 3; i++) check_that(floats[i], ==, (float)wanted[i + 3]);
        surety_npy_close(&array);
    }
    const size_t shape[] = {4, 1, 2};
    surety_npy_writer *writer = NULL;
    check_ok(surety_npy_writer_open(&writer, files_path("ours.npy"), SURETY_F8, 3, shape, &err));
    for (int i = 0; i < 8; i++) {
        double value = i / 3.;
        check_ok(surety_npy_writer_append(writer, &value, 1, &err));
    }
    check_ok(surety_npy_writer_commit(writer, &err));
    files_python(reads);
}

static surety_status open_for_allocations(void *arg, surety_error *err) {
    return open_close(arg, err);
}

/* Arrays in Fortran order, of any rank, are read as NumPy reads them, also when streamed. */
static void reads_fortran_order(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static const char writes[] =
        "import numpy as np, sys\n"
        "for k, (t, shape) in enumerate([('float64', (5, 7)), ('int16', (2, 3, 4)), ('bool', (3, 2)),\n"
        "                                ('float32', (4, 1, 3, 2)), ('uint8', (6,)), ('int8', (0, 3))]):\n"
        "    a = np.asfortranarray((np.arange(np.prod(shape)) % 2 if t == 'bool' else "
        "np.arange(np.prod(shape))).reshape(shape).astype(t))\n"
        "    np.save(sys.argv[1] + '/f%d.npy' % k, a)\n";
    files_python(writes);
    for (int k = 0; k < 6; k++)
        for (int streamed = 0; streamed < 2; streamed++) {
            char name[32];
            surety_npy array;
            double values[64];
            snprintf(name, sizeof name, "f%d.npy", k);
            check_ok(streamed ? surety_npy_stream(&array, files_path(name), &err)
                              : surety_npy_open(&array, files_path(name), &err));
            check_ok(surety_npy_read_doubles(&array, 0, array.count, values, &err));
            for (size_t i = 0; i < array.count; i++)
                check(values[i] == (double)(k == 2 ? i % 2 : i), "array %d value %zu is %g", k, i, values[i]);
            surety_npy_close(&array);
        }
    files_fail_allocations(open_for_allocations, (void *)(uintptr_t)files_path("f1.npy"));
}

static surety_status write_for_allocations(void *arg, surety_error *err) {
    const size_t shape[] = {1};
    const float value = 1;
    surety_npy_writer *writer = NULL;
    SURETY_TRY(surety_npy_writer_open(&writer, arg, SURETY_F4, 1, shape, err));
    surety_status status = surety_npy_writer_append(writer, &value, 1, err);
    if (status == SURETY_OK) return surety_npy_writer_commit(writer, err);
    surety_npy_writer_abort(writer);
    return status;
}

static void failing_allocations(void **state) {
    (void)state;
    char path[768];
    snprintf(path, sizeof path, "%s", files_path("allocations.npy"));
    files_fail_allocations(write_for_allocations, path);
    files_fail_allocations(open_for_allocations, path);
}

/* Any slice of a streamed array is that of the array in memory; a file that becomes shorter is an error, and
 * the program lives on. */
static void streams(void **state) {
    (void)state;
    enum { ROWS = 3000, WIDTH = 7 };
    surety_error err = SURETY_ERROR_NONE;
    surety_npy whole = {0}, streamed = {0};
    float *values = malloc(sizeof *values * ROWS * WIDTH), *some = malloc(sizeof *some * ROWS * WIDTH);
    double *doubles = malloc(sizeof *doubles * ROWS * WIDTH);
    for (size_t i = 0; i < ROWS * WIDTH; i++) values[i] = (float)i / 3;
    surety_npy_writer *w = NULL;
    const char *path = files_path("streamed.npy");
    check_ok(surety_npy_writer_open(&w, path, SURETY_F4, 2, (const size_t[]){ROWS, WIDTH}, &err));
    check_ok(surety_npy_writer_append(w, values, ROWS * WIDTH, &err));
    check_ok(surety_npy_writer_commit(w, &err));
    check_ok(surety_npy_open(&whole, path, &err));
    check_ok(surety_npy_stream(&streamed, path, &err));
    assert_true(streamed.streamed);
    check_that(streamed.count, ==, whole.count);
    check_that(streamed.ndim, ==, 2);
    for (size_t first = 0; first < ROWS * WIDTH; first = 2 * first + 1)
        for (size_t count = 0; first + count <= ROWS * WIDTH; count = 3 * count + 1) {
            check_ok(surety_npy_read_floats(&streamed, first, count, some, &err));
            check_ok(surety_npy_read_doubles(&streamed, first, count, doubles, &err));
            assert_memory_equal(some, values + first, count * sizeof *some);
            for (size_t i = 0; i < count; i++) check_that(doubles[i], ==, (double)values[first + i]);
        }
    assert_int_equal(truncate(path, 5000), 0);
    check_ok(surety_npy_read_floats(&streamed, 0, 1000, some, &err));
    assert_int_equal(surety_npy_read_floats(&streamed, 0, ROWS * WIDTH, some, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "shorter"));
    surety_npy_close(&whole);
    surety_npy_close(&streamed);
    check_bad(surety_npy_stream(&whole, path, &err), SURETY_E_INPUT);
    free(values), free(some), free(doubles);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(damaged_at_every_byte),
        cmocka_unit_test(later_versions),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(writer_keeps_its_promise),
        cmocka_unit_test(exchanges_with_numpy),
        cmocka_unit_test(reads_fortran_order),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(streams),
    };
    return cmocka_run_group_tests_name("io npy", tests, files_begin, files_end);
}
