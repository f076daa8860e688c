/* Only "there is no such file" is absence; whatever else keeps the system from telling is an error. */
#include <unistd.h>

#include "check.h"
#include "io/path.h"

static void test_look(void **state) {
    char folder[] = "/tmp/surety-path-XXXXXX", loop[64], file[64], below[96], most[5000];
    surety_error err = SURETY_ERROR_NONE;
    int there = -1;
    (void)state;
    assert_non_null(mkdtemp(folder));
    check_ok(surety_path_look(folder, &there, &err));
    assert_int_equal(there, 1);
    snprintf(file, sizeof file, "%s/file", folder);
    check_ok(surety_path_look(file, &there, &err));
    assert_int_equal(there, 0);
    snprintf(loop, sizeof loop, "%s/loop", folder);
    assert_int_equal(symlink(loop, loop), 0);
    fclose(fopen(file, "w"));
    snprintf(below, sizeof below, "%s/below", file);
    memset(most, 'x', sizeof most);
    most[sizeof most - 1] = 0;
    const char *const untold[] = {loop, below, most};
    for (size_t i = 0; i < 3; i++) {
        surety_error why = SURETY_ERROR_NONE;
        assert_int_equal(surety_path_look(untold[i], &there, &why), SURETY_E_SYSTEM);
        check_that(there, ==, 0);
        check_contains(why.what, "cannot look for it");
    }
    unlink(loop);
    unlink(file);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_look)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
