/* fetch: from a server on loopback that behaves, and from one that does not. */
#include "io/files.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "fetch/interface.h"
#include "plain.h"

static const char source[] = "/usr/share/datasets/fashion-mnist"; /* Debian's package */
static pid_t server;
static int server_input; /* closing it ends the server */
static int port;

static void start_server(void) {
    int in[2], out[2];
    char script[1024], text[32] = "";
    const char *python = getenv("PYTHON");
    snprintf(script, sizeof script, "%s/tests/fetch/server.py", SURETY_TEST_SOURCE);
    check_that(pipe(in), ==, 0);
    check_that(pipe(out), ==, 0);
    fflush(NULL);
    server = fork();
    if (server == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl(python ? python : "/usr/bin/python3", "python3", script, source, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    server_input = in[1];
    for (size_t n = 0; n + 1 < sizeof text && read(out[0], text + n, 1) == 1 && text[n] != '\n';) n++;
    close(out[0]);
    port = atoi(text);
}

static int begin(void **state) {
    setenv("no_proxy", "*", 1);
    unsetenv("SURETY_DATA");
    if (files_begin(state) != 0) return -1;
    if (access(source, F_OK) == 0) start_server();
    return 0;
}

static int end(void **state) {
    if (server > 0) {
        close(server_input);
        waitpid(server, NULL, 0);
    }
    return files_end(state);
}

static surety_status fetch(const char *mode, const char *folder, surety_fetch_info *info, surety_error *err) {
    static char mirror[128];
    surety_fetch_settings s = surety_fetch_defaults();
    if (port == 0) {
        print_message("# skipped: %s is not installed (Debian's package dataset-fashion-mnist)\n", source);
        skip();
    }
    snprintf(mirror, sizeof mirror, "http://127.0.0.1:%d/%s", port, mode);
    s.dataset = "fashion-mnist";
    s.mirror = mirror;
    s.data_dir = folder;
    s.stall_seconds = !strcmp(mode, "hang") || !strcmp(mode, "drip") ? 1 : 20;
    surety_status status = surety_fetch(info, &s, NULL, err);
    if (status == SURETY_E_SYSTEM && strstr(err->what, "without libcurl")) {
        print_message("# skipped: built without libcurl\n");
        skip();
    }
    return status;
}

static surety_status open_fetched(const char *folder, surety_error *err) {
    surety_data_settings s = plain_settings();
    surety_data *data = NULL;
    s.task = "fashion-sandal-v-boot";
    s.data_dir = folder;
    surety_status status = surety_data_open(&s, &data, err);
    surety_data_free(data);
    return status;
}

static void fetches_from(const char *mode, const char *name) {
    surety_error err = SURETY_ERROR_NONE;
    surety_fetch_info info;
    char folder[768];
    snprintf(folder, sizeof folder, "%s", files_path(name));
    check_ok(fetch(mode, folder, &info, &err));
    assert_int_equal(info.downloaded, 4);
    check_that(info.bytes, >, 1000000);
    assert_non_null(strstr(info.folder, "fashion-mnist"));
    check_ok(open_fetched(folder, &err));
    check_ok(fetch("missing", folder, &info, &err)); /* there already: the server is not asked */
    assert_int_equal(info.downloaded, 0);
    char *text = surety_fetch_info_json(&info);
    assert_non_null(strstr(text, "\"downloaded\": 0"));
    free(text);
}

static void good_mirror(void **state) {
    (void)state;
    fetches_from("good", "good");
}

static void plain_mirror(void **state) {
    (void)state;
    fetches_from("plain", "plain");
}

static void redirected_mirror(void **state) {
    (void)state;
    fetches_from("moved/", "moved");
}

/* A damaged copy is replaced; what was right is not fetched again. */
static void repairs(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_fetch_info info;
    const char *file = files_path("good/fashion-mnist/t10k-labels-idx1-ubyte");
    if (access(file, F_OK) != 0) skip();
    char folder[768];
    snprintf(folder, sizeof folder, "%s", files_path("good"));
    assert_int_equal(truncate(file, 100), 0);
    assert_int_equal(open_fetched(folder, NULL), SURETY_E_INPUT);
    check_ok(fetch("good", folder, &info, &err));
    assert_int_equal(info.downloaded, 1);
    check_ok(open_fetched(folder, &err));
}

/* Every way to misbehave: an error of the right kind within seconds, and no file. */
static void bad_mirrors(void **state) {
    (void)state;
    static const struct {
        const char *mode;
        surety_status code;
        const char *complaint;
    } cases[] = {
        {"missing", SURETY_E_SYSTEM, "404"},        {"wrong", SURETY_E_INPUT, "SHA-256"},
        {"flipped", SURETY_E_INPUT, "gzip"},        {"cut", SURETY_E_INPUT, "gzip"},
        {"truncated", SURETY_E_SYSTEM, "download"}, {"hang", SURETY_E_SYSTEM, "download"},
        {"drip", SURETY_E_SYSTEM, "download"},      {"loop", SURETY_E_SYSTEM, "download"},
        {"elsewhere", SURETY_E_SYSTEM, "download"}, {"endless", SURETY_E_INPUT, "more than"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_fetch_info info;
        time_t start = time(NULL);
        surety_status status = fetch(cases[i].mode, files_path("bad"), &info, &err);
        check(status == cases[i].code && strstr(err.what, cases[i].complaint), "%s: %s '%s'", cases[i].mode,
              surety_status_name(status), err.what);
        check(strstr(err.file, cases[i].mode), "%s: about '%s'", cases[i].mode, err.file);
        check(time(NULL) - start < 30, "%s took %ld s", cases[i].mode, (long)(time(NULL) - start));
        check(files_count("bad/fashion-mnist/") == 0, "%s left a file", cases[i].mode);
    }
    assert_int_equal(files_count(".part-"), 0);
}

/* Both sums are named. */
static void wrong_content_names_both_sums(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_fetch_info info;
    assert_int_equal(fetch("wrong", files_path("sums"), &info, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "SHA-256 is "));
    assert_non_null(strstr(err.expected, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"));
}

static void nobody_there(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_fetch_info info;
    surety_fetch_settings s = surety_fetch_defaults();
    check_that(s.connect_seconds, ==, 5);
    check_that(s.stall_seconds, ==, 30);
    s.data_dir = files_path("nobody");
    s.dataset = "mnist";
    s.mirror = "http://127.0.0.1:9"; /* discard: nobody listens */
    check_bad(surety_fetch(&info, &s, NULL, &err), SURETY_E_SYSTEM);
    s.mirror = "file:///etc";
    check_bad(surety_fetch(&info, &s, NULL, &err), SURETY_E_SYSTEM);
    s.dataset = "minst";
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_fetch(&info, &s, NULL, &err), SURETY_E_USAGE);
    assert_non_null(strstr(err.what, "did you mean 'mnist'"));
    s.dataset = "mnist";
    s.stall_seconds = 0;
    assert_int_equal(surety_fetch(&info, &s, NULL, NULL), SURETY_E_USAGE);
}

static void hear(void *arg, const surety_progress *progress) {
    if (progress->total && progress->done <= progress->total) (*(int *)arg)++;
}

static void stops_and_reports(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_fetch_info info;
    char mirror[128];
    int heard = 0;
    volatile sig_atomic_t stop = 1;
    surety_run run = {.stop = &stop, .progress = hear, .progress_arg = &heard};
    surety_fetch_settings s = surety_fetch_defaults();
    if (port == 0) skip();
    snprintf(mirror, sizeof mirror, "http://127.0.0.1:%d/good", port);
    s.dataset = "fashion-mnist", s.mirror = mirror, s.data_dir = files_path("stopped");
    surety_status status = surety_fetch(&info, &s, &run, &err);
    if (strstr(err.what, "without libcurl")) skip();
    assert_int_equal(status, SURETY_E_STOPPED);
    stop = 0;
    check_ok((err = (surety_error)SURETY_ERROR_NONE, surety_fetch(&info, &s, &run, &err)));
    check_that(heard, >, 4);
}

/* Without a folder of its own: what the system has is enough, else the user's cache is filled. */
static void system_and_cache(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_fetch_info info;
    char *before = getenv("XDG_CACHE_HOME") ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
    setenv("XDG_CACHE_HOME", files_path("cache"), 1);
    check_ok(fetch("missing", NULL, &info, &err));
    assert_string_equal(info.folder, source);
    surety_fetch_settings s = surety_fetch_defaults();
    s.dataset = "mnist";
    s.mirror = "http://127.0.0.1:9";
    check_bad(surety_fetch(&info, &s, NULL, &err), SURETY_E_SYSTEM);
    if (!strstr(err.what, "without libcurl"))
        assert_int_equal(access(files_path("cache/surety/mnist"), F_OK), 0);
    if (before)
        setenv("XDG_CACHE_HOME", before, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    free(before);
}

/* Up to the point where the content turns out wrong, every allocation fails once. */
static void failing_allocations(void **state) {
    (void)state;
    surety_status status = SURETY_E_MEMORY;
    long k = 0;
    char folder[768];
    surety_fetch_info info;
    surety_error err = SURETY_ERROR_NONE;
    snprintf(folder, sizeof folder, "%s", files_path("allocations"));
    fetch("missing", folder, &info, &err); /* skips where nothing can be fetched */
    for (; status == SURETY_E_MEMORY; k++) {
        err = (surety_error)SURETY_ERROR_NONE;
        files_allocations_left = k;
        surety_memory_hook(files_may_allocate, NULL);
        status = fetch("wrong", folder, &info, &err);
        surety_memory_hook(NULL, NULL);
        assert_int_equal(err.code, status);
    }
    assert_int_equal(status, SURETY_E_INPUT);
    check_that(k, >, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_mirror),       cmocka_unit_test(plain_mirror),
        cmocka_unit_test(redirected_mirror), cmocka_unit_test(repairs),
        cmocka_unit_test(bad_mirrors),       cmocka_unit_test(wrong_content_names_both_sums),
        cmocka_unit_test(nobody_there),      cmocka_unit_test(stops_and_reports),
        cmocka_unit_test(system_and_cache),  cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("data fetch", tests, begin, end);
}
