/* io: plain and gzipped files, their damage, SHA-256. */
#include "io/files.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "io/read.h"
#include "io/sha256.h"

static const char *const kinds[] = {"", "x", "some text\nin two lines\n"};

static void reads_plain(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    for (size_t i = 0; i < 3; i++) {
        surety_file file;
        check_ok(surety_file_open(&file, files_text("plain", kinds[i]), &err));
        assert_int_equal(file.size, strlen(kinds[i]));
        assert_memory_equal(file.data, kinds[i], file.size);
        surety_file_close(&file);
        surety_file_close(&file);
    }
}

/* Large, plain and gzipped. */
static void reads_large(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    size_t size = (size_t)9 << 20, packed_size = 0;
    unsigned char *bytes = malloc(size);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(i * i >> 7);
    unsigned char *packed = files_gzip(bytes, size, &packed_size);
    const char *names[] = {"large", "large.gz"};
    files_put(names[0], bytes, size);
    files_put(names[1], packed, packed_size);
    for (int i = 0; i < 2; i++) {
        surety_file file;
        check_ok(surety_file_open(&file, files_path(names[i]), &err));
        assert_int_equal(file.size, size);
        assert_memory_equal(file.data, bytes, size);
        surety_file_close(&file);
    }
    free(packed);
    free(bytes);
}

static void refuses_what_cannot_be_read(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_file file;
    check_bad(surety_file_open(&file, files_path("absent"), &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "No such file"));
    check_bad(surety_file_open(&file, files_folder, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "a folder"));
    check_bad(surety_file_open(&file, "/dev/zero", &err), SURETY_E_INPUT);
    const char *pipe = files_path("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    check_bad(surety_file_open(&file, pipe, &err), SURETY_E_INPUT); /* does not wait for a writer */
    assert_null(file.data);
}

/* Root may read everything, so another user tries. */
static void refuses_what_may_not_be_read(void **state) {
    (void)state;
    const char *locked = files_text("unreadable", "x");
    assert_int_equal(chmod(locked, 0), 0);
    fflush(NULL);
    pid_t child = fork();
    check_that(child, >=, 0);
    if (child == 0) {
        surety_error err = SURETY_ERROR_NONE;
        surety_file file;
        if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
        surety_status status = surety_file_open(&file, locked, &err);
        _exit(status == SURETY_E_INPUT && strstr(err.what, "Permission denied") ? 0 : 2);
    }
    int result = -1;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
}

/* ---- gzip ---- */

static unsigned char *packed;
static size_t packed_size;
static const char content[] =
    "A small content, packed into one gzip member; it repeats, it repeats, it repeats.";

static int pack(void **state) {
    (void)state;
    packed = files_gzip(content, sizeof content, &packed_size);
    return 0;
}

static int unpack(void **state) {
    (void)state;
    free(packed);
    return 0;
}

static surety_status read_gz(const char *path, surety_error *err) {
    surety_file file;
    surety_status status = surety_file_open(&file, path, err);
    if (status == SURETY_OK) {
        assert_int_equal(file.size, sizeof content);
        assert_memory_equal(file.data, content, sizeof content);
        surety_file_close(&file);
    }
    return status;
}

static void gzip_whole(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    check_ok(read_gz(files_put("whole.gz", packed, packed_size), &err));
    check_ok(read_gz(files_put("whole.idx", packed, packed_size), &err)); /* by content, not by name */
    surety_file file;
    check_bad(surety_file_open(&file, files_text("not.gz", "plain text"), &err), SURETY_E_INPUT);
}

static void gzip_truncated_at_every_byte(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    for (size_t size = 0; size < packed_size; size++) {
        check_bad(read_gz(files_put("cut.gz", packed, size), &err), SURETY_E_INPUT);
        assert_non_null(strstr(err.place, "byte"));
    }
}

/* Every bit: the content comes out unchanged (only time, flags of no effect or the system were hit) or not at
 * all. */
static void gzip_flipped_at_every_bit(void **state) {
    (void)state;
    int harmless = 0;
    for (size_t bit = 0; bit < 8 * packed_size; bit++) {
        surety_error err = SURETY_ERROR_NONE;
        packed[bit / 8] ^= (unsigned char)(1u << bit % 8);
        surety_status status = read_gz(files_put("flipped.gz", packed, packed_size), &err);
        packed[bit / 8] ^= (unsigned char)(1u << bit % 8);
        check(status == SURETY_OK || status == SURETY_E_INPUT, "bit %zu: %s", bit, err.what);
        check(status == SURETY_OK || strstr(err.place, "byte"), "bit %zu: no place", bit);
        harmless += status == SURETY_OK;
    }
    check(harmless <= 8 * 7, "%d flips went unnoticed", harmless); /* flags, mtime, xfl, os */
}

static void gzip_behind_the_end(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const struct {
        const char *bytes;
        size_t size;
    } tails[] = {{"\0", 1},   {"\0\0\0\0", 4}, {"garbage", 7},
                 {"\x1f", 1}, {"\x1f\x8b", 2}, {"\x1f\x8b\x08", 3}};
    unsigned char *bytes = malloc(2 * packed_size + 8);
    memcpy(bytes, packed, packed_size);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        memcpy(bytes + packed_size, tails[i].bytes, tails[i].size);
        check_bad(read_gz(files_put("tail.gz", bytes, packed_size + tails[i].size), &err), SURETY_E_INPUT);
    }
    /* a second member is part of the format */
    memcpy(bytes + packed_size, packed, packed_size);
    surety_file file;
    check_ok((err = (surety_error)SURETY_ERROR_NONE,
              surety_file_open(&file, files_put("two.gz", bytes, 2 * packed_size), &err)));
    assert_int_equal(file.size, 2 * sizeof content);
    assert_memory_equal(file.data + sizeof content, content, sizeof content);
    surety_file_close(&file);
    free(bytes);
}

/* A lying length in the trailer is only a hint, but zlib compares it; a bomb meets the limit. */
static void gzip_limits(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    size_t size = 5000000, bomb_size = 0, out_size = 1;
    uint8_t *zeros = calloc(size, 1), *out = zeros;
    unsigned char *bomb = files_gzip(zeros, size, &bomb_size);
    for (size_t limit = 1; limit < size; limit = limit * 3 + 1) {
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_gunzip(bomb, bomb_size, limit, &out, &out_size, &err), SURETY_E_INPUT);
        assert_null(out);
        assert_int_equal(out_size, 0);
    }
    check_ok((err = (surety_error)SURETY_ERROR_NONE,
              surety_gunzip(bomb, bomb_size, size + 1, &out, &out_size, &err)));
    assert_int_equal(out_size, size);
    assert_memory_equal(out, zeros, size);
    surety_free(out);
    memset(bomb + bomb_size - 4, 0xff, 4);
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_gunzip(bomb, bomb_size, 2 * size, &out, &out_size, &err), SURETY_E_INPUT);
    free(bomb);
    free(zeros);
}

/* FIPS 180-4 and NIST's examples. */
static void sha256_known_answers(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    char text[SURETY_SHA256_TEXT];
    check_ok(surety_sha256("", 0, text, &err));
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_ok(surety_sha256("abc", 3, text, &err));
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    surety_sha256_sum *sum = NULL;
    check_ok(surety_sha256_new(&sum, &err));
    char a[997];
    memset(a, 'a', sizeof a);
    for (size_t left = 1000000, piece; left; left -= piece) {
        piece = left < sizeof a ? left : sizeof a;
        check_ok(surety_sha256_add(sum, a, piece, &err));
    }
    check_ok(surety_sha256_text(sum, text, &err));
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    uint8_t bytes[SURETY_SHA256_BYTES]; /* reading a sum begins the next */
    check_ok(surety_sha256_add(sum, "abc", 3, &err));
    check_ok(surety_sha256_bytes(sum, bytes, &err));
    check_that(bytes[0], ==, 0xba);
    check_that(bytes[1], ==, 0x78);
    check_that(bytes[31], ==, 0xad);
    surety_sha256_free(sum);
}

static surety_status read_for_allocations(void *arg, surety_error *err) {
    return read_gz(arg, err);
}

static surety_status sha_for_allocations(void *arg, surety_error *err) {
    char text[SURETY_SHA256_TEXT];
    return surety_sha256(arg, 3, text, err);
}

static void failing_allocations(void **state) {
    (void)state;
    char path[768];
    snprintf(path, sizeof path, "%s", files_put("allocations.gz", packed, packed_size));
    files_fail_allocations(read_for_allocations, path);
    snprintf(path, sizeof path, "%s", files_put("allocations", content, sizeof content));
    files_fail_allocations(read_for_allocations, path);
    files_fail_allocations(sha_for_allocations, path);
}

/* ---- long files ---- */

static volatile sig_atomic_t stop;
static uint64_t seen;

static void stop_at_once(void *arg, const surety_progress *p) {
    (void)arg;
    seen = p->done;
    stop = 1;
}

/* 100 MB of zeros in 100 kB: told of while they come, stopped in the middle, and refused above the limit. */
static void a_bomb_can_be_stopped(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_run run = {.progress = stop_at_once, .stop = &stop};
    surety_file file;
    size_t size = (size_t)100 << 20, small = 0;
    unsigned char *zeros = calloc(size, 1), *bomb = files_gzip(zeros, size, &small);
    free(zeros);
    files_put("bomb.gz", bomb, small);
    free(bomb);
    surety_reading(&run, 0);
    check_bad(surety_file_open(&file, files_path("bomb.gz"), &err), SURETY_E_STOPPED);
    check_that(seen, >, 0);
    check_that(seen, <, small);
    surety_reading(NULL, (uint64_t)20 << 20);
    check_bad(surety_file_open(&file, files_path("bomb.gz"), &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.expected, "--largest-file"));
    surety_reading(NULL, (uint64_t)100 << 20);
    check_ok((err = (surety_error)SURETY_ERROR_NONE, surety_file_open(&file, files_path("bomb.gz"), &err)));
    surety_file_close(&file);
    surety_reading(NULL, 0);
}

/* A plain file above the limit is not even begun: this one has 8 GB on paper. */
static void a_plain_file_above_the_limit(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_file file;
    const char *path = files_text("sparse", "x");
    assert_int_equal(truncate(path, (off_t)8 << 30), 0);
    check_bad(surety_file_open(&file, path, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.expected, "--largest-file"));
}

/* The machine's failures are not the file's. */
static void no_descriptors_left(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_file file;
    struct rlimit before, none;
    const char *path = files_text("fine", "fine");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    surety_status status = surety_file_open(&file, path, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, SURETY_E_SYSTEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plain),
        cmocka_unit_test(reads_large),
        cmocka_unit_test(refuses_what_cannot_be_read),
        cmocka_unit_test(refuses_what_may_not_be_read),
        cmocka_unit_test_setup_teardown(gzip_whole, pack, unpack),
        cmocka_unit_test_setup_teardown(gzip_truncated_at_every_byte, pack, unpack),
        cmocka_unit_test_setup_teardown(gzip_flipped_at_every_bit, pack, unpack),
        cmocka_unit_test_setup_teardown(gzip_behind_the_end, pack, unpack),
        cmocka_unit_test(gzip_limits),
        cmocka_unit_test(sha256_known_answers),
        cmocka_unit_test_setup_teardown(failing_allocations, pack, unpack),
        cmocka_unit_test(a_bomb_can_be_stopped),
        cmocka_unit_test(a_plain_file_above_the_limit),
        cmocka_unit_test(no_descriptors_left),
    };
    return cmocka_run_group_tests_name("io read", tests, files_begin, files_end);
}
