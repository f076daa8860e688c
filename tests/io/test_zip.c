/* io: zip archives. What Python writes, and damage at every byte. */
#include "io/files.h"

#include "io/zip.h"

/* Reads all members: how many, and their bytes together. */
static surety_status read_all(const surety_file *a, size_t *members, size_t *bytes, surety_error *err) {
    *members = *bytes = 0;
    for (size_t at = 0;; ++*members) {
        surety_zip_member m;
        surety_file content;
        SURETY_TRY(surety_zip_next(a, &at, &m, err));
        if (!m.name) return SURETY_OK;
        SURETY_TRY(surety_zip_read(&content, a, &m, err));
        for (size_t i = 0; i < content.size; i++) assert_int_equal(content.data[i], "surety"[i % 6]);
        *bytes += content.size;
        surety_file_close(&content);
    }
}

static surety_file get(const char *name) {
    surety_file file;
    surety_error err = SURETY_ERROR_NONE;
    check_ok(surety_file_open(&file, files_path(name), &err));
    return file;
}

static void reads_what_python_writes(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    size_t members, bytes;
    files_python(
        "import zipfile, sys\n"
        "for name, how in (('stored', zipfile.ZIP_STORED), ('deflated', zipfile.ZIP_DEFLATED)):\n"
        "    z = zipfile.ZipFile(sys.argv[1] + '/' + name + '.zip', 'w', how)\n"
        "    for k in (0, 1, 5, 70000):\n"
        "        with z.open('m%d.npy' % k, 'w', force_zip64=True) as f:\n" /* as numpy.savez does */
        "            f.write((b'surety' * 20000)[:k])\n"
        "    z.comment = b'a comment PK'\n"
        "    z.close()\n"
        "zipfile.ZipFile(sys.argv[1] + '/empty.zip', 'w').close()\n"
        "z = zipfile.ZipFile(sys.argv[1] + '/bzip2.zip', 'w', zipfile.ZIP_BZIP2)\n"
        "z.writestr('x', b'surety'); z.close()\n");
    for (int k = 0; k < 2; k++) {
        surety_file file = get(k ? "deflated.zip" : "stored.zip");
        assert_true(surety_is_zip(file.data, file.size));
        check_ok(read_all(&file, &members, &bytes, &err));
        check_that(members, ==, 4);
        check_that(bytes, ==, 70006);
        surety_file_close(&file);
    }
    surety_file file = get("empty.zip");
    check_ok(read_all(&file, &members, &bytes, &err));
    assert_int_equal(members, 0);
    surety_file_close(&file);
    file = get("bzip2.zip");
    assert_int_equal(read_all(&file, &members, &bytes, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "another compression"));
    surety_file_close(&file);
}

/* Any byte replaced by any other, and any length: an answer, never a crash; a changed content is seen. */
static void damaged_at_every_byte(void **state) {
    (void)state;
    size_t members, bytes;
    files_python(
        "import zipfile, sys\n"
        "z = zipfile.ZipFile(sys.argv[1] + '/small.zip', 'w', zipfile.ZIP_DEFLATED)\n"
        "z.writestr('a', b'surety' * 9); z.writestr('b', b'surety', zipfile.ZIP_STORED); z.close()\n");
    surety_file whole = get("small.zip");
    for (size_t cut = 0; cut < whole.size; cut++) {
        surety_file part = {whole.data, cut};
        assert_int_equal(read_all(&part, &members, &bytes, NULL), SURETY_E_INPUT);
    }
    uint8_t *copy = malloc(whole.size);
    surety_file other = {copy, whole.size};
    for (size_t at = 0; at < whole.size; at++)
        for (int value = 0; value < 256; value += (int)check_count(3, 1)) {
            memcpy(copy, whole.data, whole.size);
            copy[at] = (uint8_t)value;
            surety_status status = read_all(&other, &members, &bytes, NULL);
            check(status == SURETY_OK ? bytes <= 60 : status == SURETY_E_INPUT,
                  "byte %zu = %d: %s, %zu bytes", at, value, surety_status_name(status), bytes);
        }
    free(copy);
    surety_file_close(&whole);
}

static void encrypted_and_large(void **state) {
    (void)state;
    size_t members, bytes;
    surety_error err = SURETY_ERROR_NONE;
    surety_file whole = get("small.zip");
    uint8_t *copy = malloc(whole.size);
    surety_file other = {copy, whole.size};
    for (int k = 0; k < 2; k++) {
        memcpy(copy, whole.data, whole.size);
        uint8_t *entry = copy;
        while (memcmp(entry, "PK\1\2", 4) != 0) entry++;
        if (k)
            memset(entry + 24, 255, 4);
        else
            entry[8] |= 1;
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(read_all(&other, &members, &bytes, &err), SURETY_E_INPUT);
        check(strstr(err.what, k ? "zip64" : "encrypted") != NULL, "%s", err.what);
    }
    err = (surety_error)SURETY_ERROR_NONE;
    surety_reading(NULL, 20);
    assert_int_equal(read_all(&whole, &members, &bytes, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "more than 20 bytes"));
    surety_reading(NULL, 0);
    free(copy);
    surety_file_close(&whole);
}

static surety_status read_for_allocations(void *arg, surety_error *err) {
    size_t members, bytes;
    return read_all(arg, &members, &bytes, err);
}

static void failing_allocations(void **state) {
    (void)state;
    surety_file file = get("small.zip");
    files_fail_allocations(read_for_allocations, &file);
    surety_file_close(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_python_writes),
        cmocka_unit_test(damaged_at_every_byte),
        cmocka_unit_test(encrypted_and_large),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("io zip", tests, files_begin, files_end);
}
