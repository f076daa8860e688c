/* Fields of CSV files as RFC 4180 has them. */
#include "io/csv.h"
#include "io/files.h"

static void fields_are_quoted_where_they_must_be(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"plain text", "plain text"},
                                           {"", ""},
                                           {"a,b", "\"a,b\""},
                                           {"\"", "\"\"\"\""},
                                           {"say \"hi\"!", "\"say \"\"hi\"\"!\""},
                                           {"two\nlines", "\"two\nlines\""},
                                           {"t\xc3\xa4sch", "t\xc3\xa4sch"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_writer *w;
        size_t size = 0;
        check_ok(surety_writer_open(&w, files_path("field"), 0, &err));
        check_ok(surety_csv_field(w, cases[i][0], &err));
        check_ok(surety_writer_commit(w, &err));
        char *got = files_get(files_path("field"), &size);
        check(size == strlen(cases[i][1]) && !memcmp(got, cases[i][1], size), "%s: %.*s", cases[i][0],
              (int)size, got);
        free(got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_are_quoted_where_they_must_be)};
    return cmocka_run_group_tests_name("io csv", tests, files_begin, files_end);
}
