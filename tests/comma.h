/* A locale with a decimal comma, which the build makes for the tests: nothing has to be installed. */
#ifndef SURETY_TESTS_COMMA_H
#define SURETY_TESTS_COMMA_H

#include <locale.h>

#include "check.h"

/* Gives the program that locale, or skips the test. */
static inline void comma_begin(void) {
    setenv("LOCPATH", SURETY_TEST_LOCALES, 1);
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        print_message("# skipped: there is no locale de_DE.UTF-8 (package locales)\n");
        skip();
    }
    assert_string_equal(localeconv()->decimal_point, ",");
}

static inline void comma_end(void) {
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}

#endif
