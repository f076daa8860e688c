#define _GNU_SOURCE /* syscall */
/* io: the safe writer. The old file or the new one, whole, whatever happens. */
#include "io/files.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "io/lock.h"
#include "io/write.h"

static void check_content(const char *path, const char *wanted) {
    size_t size = 0;
    char *got = files_get(path, &size);
    assert_non_null(got);
    assert_string_equal(got, wanted);
    free(got);
}

static void writes_and_replaces(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const char *path = files_path("plain.txt");
    check_ok(surety_write_file(path, "one", 3, &err));
    check_content(path, "one");
    check_ok(surety_write_file(path, "two!", 4, &err));
    check_content(path, "two!");
    check_ok(surety_write_file(path, "", 0, &err));
    check_content(path, "");
    assert_int_equal(files_count("part"), 0);
}

/* Pieces of all sizes around the buffer's. */
static void streams_pieces(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const char *path = files_path("stream.bin");
    static unsigned char piece[200000];
    for (size_t i = 0; i < sizeof piece; i++) piece[i] = (unsigned char)(i * 2654435761u >> 13);
    const size_t lengths[] = {0, 1, 65535, 65536, 65537, 10, 200000, 3, 131072};
    surety_writer *writer = NULL;
    check_ok(surety_writer_open(&writer, path, 0, &err));
    size_t total = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check_ok(surety_writer_append(writer, piece, lengths[i], &err));
        total += lengths[i];
    }
    assert_false(access(path, F_OK) == 0); /* not there before commit */
    check_ok(surety_writer_commit(writer, &err));
    size_t size = 0, at = 0;
    char *got = files_get(path, &size);
    assert_int_equal(size, total);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; at += lengths[i++])
        assert_memory_equal(got + at, piece, lengths[i]);
    free(got);
}

static void abort_leaves_nothing(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_writer *writer = NULL;
    const char *path = files_text("old.txt", "old");
    check_ok(surety_writer_open(&writer, path, 0, &err));
    check_ok(surety_writer_append(writer, "new", 3, &err));
    surety_writer_abort(writer);
    surety_writer_abort(NULL);
    check_content(path, "old");
    assert_int_equal(files_count("part"), 0);
}

static void follows_links(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const char *target = files_text("target.txt", "old"), *name = files_path("link.txt");
    assert_int_equal(symlink("target.txt", name), 0);
    check_ok(surety_write_file(name, "new", 3, &err));
    check_content(target, "new");
    struct stat info;
    assert_int_equal(lstat(name, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    /* but not where the program chose the name */
    check_bad(surety_write_own(name, "own", 3, &err), SURETY_E_USAGE);
    check_content(target, "new");
    check_ok(surety_write_own(target, "own", 3, &err));
    check_content(target, "own");
}

static void refuses_what_is_no_file(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    check_bad(surety_write_file("/dev/null", "x", 1, &err), SURETY_E_USAGE);
    check_bad(surety_write_file(files_folder, "x", 1, &err), SURETY_E_USAGE);
    check_bad(surety_write_file(files_path("absent/"), "x", 1, &err), SURETY_E_USAGE);
    check_bad(surety_write_file(files_path("absent/file"), "x", 1, &err), SURETY_E_SYSTEM);
    check_bad(surety_folder_make("/dev/null/below", &err), SURETY_E_SYSTEM);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void makes_folders(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    check_ok(surety_folder_make(files_path("a/b//c"), &err));
    check_ok(surety_folder_make(files_path("a/b/c/"), &err));
    check_ok(surety_write_file(files_path("a/b/c/file"), "x", 1, &err));
}

/* Two writers of one name, and the leftover of a third that died: nobody meets, the last commit stays. */
static void writers_do_not_meet(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const char *path = files_path("shared.txt");
    files_text(".shared.txt.part-0", "leftover of a run that was killed");
    surety_writer *a = NULL, *b = NULL;
    check_ok(surety_writer_open(&a, path, 0, &err));
    check_ok(surety_writer_open(&b, path, 0, &err));
    check_ok(surety_writer_append(a, "first", 5, &err));
    check_ok(surety_writer_append(b, "2nd", 3, &err));
    assert_int_equal(files_count(".shared.txt.part-"), 2);
    check_ok(surety_writer_commit(a, &err));
    check_content(path, "first");
    check_ok(surety_writer_commit(b, &err));
    check_content(path, "2nd");
    assert_int_equal(files_count(".shared.txt.part-"), 0);
}

static int no_locks;

/* In the place of libc's: a file system without locks. */
int flock(int fd, int operation) {
    if (!no_locks) return (int)syscall(SYS_flock, fd, operation);
    errno = ENOTSUP;
    return -1;
}

static void works_without_locks(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_writer *a = NULL, *b = NULL;
    surety_lock lock = {0};
    no_locks = 1;
    check_ok(surety_writer_open(&a, files_path("unlocked"), 0, &err));
    check_ok(surety_writer_open(&b, files_path("unlocked"), 0, &err));
    check_ok(surety_writer_append(a, "one", 3, &err));
    check_ok(surety_writer_append(b, "two", 3, &err));
    check_ok(surety_writer_commit(a, &err));
    check_content(files_path("unlocked"), "one");
    check_ok(surety_writer_commit(b, &err));
    check_content(files_path("unlocked"), "two");
    check_ok(surety_lock_take(&lock, files_path("unlocked"), &err));
    surety_lock_release(&lock);
    no_locks = 0;
    assert_int_equal(files_count("unlocked"), 1);
}

/* A file that replaces another has its mode, also while it is written; a new one has that of the umask. */
static void keeps_the_mode(void **state) {
    (void)state;
    static const mode_t modes[] = {0600, 0640, 0644, 0666, 0400};
    surety_error err = SURETY_ERROR_NONE;
    struct stat info;
    mode_t before = umask(022);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        surety_writer *w = NULL;
        const char *path = files_text("secret", "old");
        assert_int_equal(chmod(path, modes[i]), 0);
        check_ok(surety_writer_open(&w, path, 0, &err));
        char command[1024];
        snprintf(command, sizeof command, "test $(stat -c %%a '%s'/.secret.part-*) = %o", files_folder,
                 modes[i]);
        assert_int_equal(system(command), 0);
        check_ok(surety_writer_commit(w, &err));
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 07777, modes[i]);
    }
    check_ok(surety_write_file(files_path("fresh"), "new", 3, &err));
    assert_int_equal(stat(files_path("fresh"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0644);
    umask(before);
}

/* What others put where a temporary might be is neither written through nor removed. */
static void others_files_are_safe(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    char victim[768];
    snprintf(victim, sizeof victim, "%s", files_text("victim", "precious"));
    for (int n = 0; n < 100; n++) {
        char name[64];
        snprintf(name, sizeof name, ".trap.part-%d", n);
        assert_int_equal(n % 2 ? link(victim, files_path(name)) : symlink(victim, files_path(name)), 0);
    }
    check_ok(surety_write_file(files_path("trap"), "mine", 4, &err));
    check_content(files_path("trap"), "mine");
    check_content(victim, "precious");
    assert_int_equal(files_count(".trap.part-"), 100);
}

/* Root can be another user: a temporary of that user is not taken. */
static void others_temporaries_stay(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    if (geteuid() != 0) skip();
    const char *theirs = files_text(".mixed.part-00000001", "theirs");
    assert_int_equal(chown(theirs, 65534, 65534), 0);
    files_text(".mixed.part-00000002", "ours, left behind");
    check_ok(surety_write_file(files_path("mixed"), "mine", 4, &err));
    check_content(files_path(".mixed.part-00000001"), "theirs");
    assert_int_equal(files_count(".mixed.part-"), 1);
}

/* One holder at a time; a holder that is killed holds no more. */
static void one_holder(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_lock a = {0}, b = {0};
    char path[768];
    snprintf(path, sizeof path, "%s", files_path("held"));
    check_ok(surety_lock_take(&a, path, &err));
    check_bad(surety_lock_take(&b, path, &err), SURETY_E_SYSTEM);
    assert_string_equal(err.file, path);
    surety_lock_release(&b);
    surety_lock_release(&a);
    assert_int_equal(files_count("held"), 0);
    files_text("held.lock", ""); /* as a killed process leaves it */
    check_ok((err = (surety_error)SURETY_ERROR_NONE, surety_lock_take(&a, path, &err)));
    surety_lock_release(&a);
    assert_int_equal(files_count("held"), 0);
}

/* kill -9 at any moment of many rewrites: the file is always one of the two whole contents. */
static void survives_kill(void **state) {
    (void)state;
    enum { SIZE = 300000 };
    static char content[2][SIZE + 1];
    memset(content[0], 'a', SIZE);
    memset(content[1], 'b', SIZE);
    const char *path = files_put("killed.bin", content[0], SIZE);
    for (long round = 0; round < check_count(20, 300); round++) {
        fflush(NULL);
        pid_t child = fork();
        check_that(child, >=, 0);
        if (child == 0) {
            alarm(30); /* should the parent die first */
            for (int i = 1;; i = !i) surety_write_file(path, content[i], SIZE, NULL);
        }
        struct timespec pause = {0, (500 + round * 7919 % 9000) * 1000};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        size_t size = 0;
        char *got = files_get(path, &size);
        assert_non_null(got);
        check(size == SIZE && (!memcmp(got, content[0], SIZE) || !memcmp(got, content[1], SIZE)),
              "round %ld: neither the old content nor the new one (%zu bytes)", round, size);
        free(got);
        check_that(files_count(".killed.bin.part-"), <=, 1); /* leftovers are removed, not piled up */
    }
}

/* The limit on the size of files stands for a full disk: the same path through write. */
static void full_disk(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    const char *path = files_text("full.bin", "old");
    static const char zeros[1 << 20];
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    for (small.rlim_cur = 0; small.rlim_cur <= 100000; small.rlim_cur += 50000) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        check_bad(surety_write_file(path, zeros, sizeof zeros, &err), SURETY_E_SYSTEM);
        assert_non_null(strstr(err.expected, "size limit"));
        /* small pieces: the failure shows in append or, at the latest, in commit */
        surety_writer *writer = NULL;
        surety_status status = surety_writer_open(&writer, path, 0, NULL);
        for (int i = 0; status == SURETY_OK && i < 200; i++)
            status = surety_writer_append(writer, zeros, 1000, NULL);
        assert_int_equal(status, SURETY_E_SYSTEM);
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_writer_commit(writer, &err), SURETY_E_SYSTEM);
        check_content(path, "old");
        assert_int_equal(files_count(".full.bin"), 0);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    surety_writer *writer = NULL;
    check_bad(surety_writer_open(&writer, path, UINT64_C(1) << 62, &err), SURETY_E_SYSTEM);
    assert_non_null(strstr(err.what, "too full"));
    assert_null(writer);
    assert_int_equal(files_count(".full.bin"), 0);
}

static surety_status write_for_allocations(void *arg, surety_error *err) {
    return surety_write_file(arg, "content", 7, err);
}

static surety_status folder_for_allocations(void *arg, surety_error *err) {
    return surety_folder_make(arg, err);
}

static void failing_allocations(void **state) {
    (void)state;
    char path[768];
    snprintf(path, sizeof path, "%s", files_path("allocations.txt"));
    files_fail_allocations(write_for_allocations, path);
    check_content(path, "content");
    assert_int_equal(files_count("allocations.txt.part"), 0);
    snprintf(path, sizeof path, "%s", files_path("x/y"));
    files_fail_allocations(folder_for_allocations, path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_and_replaces),     cmocka_unit_test(streams_pieces),
        cmocka_unit_test(abort_leaves_nothing),    cmocka_unit_test(follows_links),
        cmocka_unit_test(refuses_what_is_no_file), cmocka_unit_test(makes_folders),
        cmocka_unit_test(writers_do_not_meet),     cmocka_unit_test(works_without_locks),
        cmocka_unit_test(keeps_the_mode),          cmocka_unit_test(others_files_are_safe),
        cmocka_unit_test(others_temporaries_stay), cmocka_unit_test(one_holder),
        cmocka_unit_test(survives_kill),           cmocka_unit_test(full_disk),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("io write", tests, files_begin, files_end);
}
