/* What every test program shares: cmocka, and whether the large counts were asked for. */
#ifndef SURETY_TESTS_CHECK_H
#define SURETY_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "surety/base.h"

/* small in the quick run, large with SURETY_TEST_FULL=1. */
static inline long check_count(long small, long large) {
    const char *full = getenv("SURETY_TEST_FULL");
    return full && full[0] == '1' ? large : small;
}

/* Fails with the record's own words. */
#define check_ok(call)                                                                               \
    do {                                                                                             \
        surety_status status_ = (call);                                                              \
        if (status_ != SURETY_OK)                                                                    \
            fail_msg("%s: %s (%s) %s %s, expected %s", #call, surety_status_name(status_), err.what, \
                     err.file, err.place, err.expected);                                             \
    } while (0)

/* a op b for numbers of any type, compared as long double, which holds each of them exactly; fails with both.
 */
#define check_that(a, op, b)                                                           \
    do {                                                                               \
        long double a_ = (long double)(a), b_ = (long double)(b);                      \
        if (!(a_ op b_)) fail_msg("%s " #op " %s: %.20Lg and %.20Lg", #a, #b, a_, b_); \
    } while (0)

/* isnan(x), isfinite(x), .., with the number. */
#define check_is(what, x)                                     \
    do {                                                      \
        double x_ = (double)(x);                              \
        if (!what(x_)) fail_msg(#what "(%s): %.17g", #x, x_); \
    } while (0)

/* A text that holds a part. */
#define check_contains(text, part)                                                                    \
    do {                                                                                              \
        const char *text_ = (text), *part_ = (part);                                                  \
        if (!text_ || !strstr(text_, part_)) fail_msg("'%s' not in '%s'", part_, text_ ? text_ : ""); \
    } while (0)

/* For surety_memory_hook: the allocation behind *left more fails. */
static inline int check_fail_at(void *left, size_t bytes) {
    (void)bytes;
    return (*(long *)left)-- != 0;
}

/* Fails with a message unless the condition holds; unlike assert_true it says which numbers. */
#define check(condition, ...)                    \
    do {                                         \
        if (!(condition)) fail_msg(__VA_ARGS__); \
    } while (0)

#endif
