/* base: errors, memory, addressed random numbers, parallel loops. */
#include "check.h"

#include <math.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/text.h"
#include "comma.h"

static void first_error_wins(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    assert_int_equal(surety_fail(&err, SURETY_E_INPUT, "short by %d", 3), SURETY_E_INPUT);
    surety_fail_file(&err, "a.idx");
    surety_fail_place(&err, "byte %d", 16);
    surety_fail(&err, SURETY_E_MEMORY, "later");
    surety_fail_file(&err, "b.idx");
    assert_int_equal(err.code, SURETY_E_INPUT);
    assert_string_equal(err.what, "short by 3");
    assert_string_equal(err.file, "a.idx");
    assert_string_equal(err.place, "byte 16");
    assert_int_equal(surety_fail(NULL, SURETY_E_USAGE, "nobody listens"), SURETY_E_USAGE);
    assert_int_equal(surety_status_exit(SURETY_E_STOPPED), 4);
}

static void nearest_names(void **state) {
    (void)state;
    const char *const names[] = {"none", "unif", "fgsm", "ifgsm", "pgd", "ifgsmu", "pgdu"};
    assert_string_equal(surety_nearest("pdg", names, 7), "pgd");
    assert_string_equal(surety_nearest("ifgsmuu", names, 7), "ifgsmu");
    assert_string_equal(surety_nearest("pdgu", names, 7), "pgdu"); /* a swap is one mistake, not two */
    assert_null(surety_nearest("carlini", names, 7));
}

static void memory_is_aligned_zero_and_can_fail(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    float *x = NULL;
    check_ok(surety_alloc(&x, 17, sizeof *x, &err));
    assert_int_equal((uintptr_t)x % SURETY_ALIGN, 0);
    for (int i = 0; i < 17; i++) check_that(x[i], ==, 0);
    surety_free(x);
    assert_int_equal(surety_alloc(&x, SIZE_MAX / 2, 4, &err), SURETY_E_MEMORY);
    assert_null(x);
    long left = 1;
    surety_memory_hook(check_fail_at, &left);
    err = (surety_error)SURETY_ERROR_NONE;
    check_ok(surety_alloc(&x, 1, 1, &err));
    void *y = x;
    assert_int_equal(surety_alloc(&y, 1, 1, &err), SURETY_E_MEMORY);
    surety_memory_hook(NULL, NULL);
    assert_null(y);
    surety_free(x);
}

typedef struct numbered {
    int key, place;
    char more[4]; /* 12 bytes: no power of two */
} numbered;

static int by_key(const void *a, const void *b) {
    return ((const numbered *)a)->key - ((const numbered *)b)->key;
}

/* Elements of equal keys keep their order; in memory and in files the same. */
static void sorting_is_stable_and_can_fail(void **state) {
    (void)state;
    enum { MOST = 120000 }; /* more than SURETY_LARGE_BLOCK bytes */
    numbered *list;
    assert_int_equal(surety_alloc(&list, MOST, sizeof *list, NULL), SURETY_OK);
    static const size_t counts[] = {0, 1, 2, 3, 64, 65, 1000, MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int streaming = 0; streaming < 2; streaming++) {
            const surety_address address = {.purpose = SURETY_FOR_SPLIT};
            for (size_t i = 0; i < counts[c]; i++)
                list[i] = (numbered){(int)surety_random_below(c, address, (uint32_t)i, 97), (int)i, ""};
            surety_streaming(streaming);
            assert_int_equal(surety_sort(list, counts[c], sizeof *list, by_key, NULL), SURETY_OK);
            surety_streaming(0);
            for (size_t i = 1; i < counts[c]; i++)
                check(list[i - 1].key < list[i].key ||
                          (list[i - 1].key == list[i].key && list[i - 1].place < list[i].place),
                      "%d of place %d before %d of place %d", list[i - 1].key, list[i - 1].place, list[i].key,
                      list[i].place);
        }
    long left = 0;
    surety_memory_hook(check_fail_at, &left);
    assert_int_equal(surety_sort(list, 10, sizeof *list, by_key, NULL), SURETY_E_MEMORY);
    surety_memory_hook(NULL, NULL);
    surety_free(list);
}

/* Random123's known answers (kat_vectors of its distribution) for philox4x32 with 10 rounds. */
static void philox_known_answers(void **state) {
    (void)state;
    uint32_t bits[4];
    surety_address zero = {0, 0, 0, 0, 0};
    surety_random_bits(0, &zero, 0, bits);
    const uint32_t kat0[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    assert_memory_equal(bits, kat0, sizeof bits);
    surety_address ones = {0xffffffff, 0xfffff, 0xfff, 0xffffff, 0xff};
    surety_random_bits(UINT64_MAX, &ones, 0xffffffff, bits);
    const uint32_t kat1[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    assert_memory_equal(bits, kat1, sizeof bits);
    /* counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0 */
    surety_address pi = {0x85a308d3, 0x13198a2e >> 12, 0x13198a2e & 0xfff, 0x03707344 >> 8, 0x44};
    surety_random_bits(UINT64_C(0x299f31d0a4093822), &pi, 0x243f6a88, bits);
    const uint32_t kat2[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    assert_memory_equal(bits, kat2, sizeof bits);
}

/* The counter is a concatenation of the fields: it determines each of them, so two addresses cannot collide.
 */
static void addresses_never_collide(void **state) {
    (void)state;
    surety_address where = {9, 9, 9, 9, 9};
    for (long i = 0; i < check_count(20000, 2000000); i++) {
        uint32_t bits[4], c[4];
        surety_random_bits(1, &where, (uint32_t)i, bits);
        surety_address a = {bits[0], bits[1] % SURETY_EPOCH_LIMIT, (bits[1] >> 20) % SURETY_RESTART_LIMIT,
                            bits[2] % SURETY_SAMPLE_LIMIT, (uint8_t)(bits[2] >> 24)};
        surety_random_counter(&a, bits[3], c);
        assert_int_equal(c[0], bits[3]);
        assert_int_equal(c[1], a.row);
        assert_int_equal(c[2] >> 12, a.epoch);
        assert_int_equal(c[2] & 0xfff, a.restart);
        assert_int_equal(c[3] >> 8, a.sample);
        assert_int_equal(c[3] & 0xff, a.purpose);
    }
    check_that(surety_random_unit(0), >, 0);
    check_that(surety_random_unit(UINT32_MAX), <, 1);
    check_that(surety_random_unit(0) + surety_random_unit(UINT32_MAX), ==, 1); /* symmetric */
}

/* First four moments of u - 1/2: 0, 1/12, 0, 1/80, within 5 standard errors; neighbours uncorrelated. */
static void uniform_moments(void **state) {
    (void)state;
    long count = check_count(200000, 20000000);
    double s1 = 0, s2 = 0, s3 = 0, s4 = 0, lag = 0, before = 0;
    surety_address a = {7, 1, 0, 3, SURETY_FOR_NOISE};
    for (long cell = 0; cell < count / 4; cell++) {
        uint32_t bits[4];
        surety_random_bits(42, &a, (uint32_t)cell, bits);
        for (int i = 0; i < 4; i++) {
            double u = (double)surety_random_unit(bits[i]) - 0.5;
            s1 += u, s2 += u * u, s3 += u * u * u, s4 += u * u * u * u, lag += u * before, before = u;
        }
    }
    double n = (double)(count / 4 * 4), se = 5 / sqrt(n);
    check_that(fabs(s1 / n), <, se * sqrt(1. / 12));
    check_that(fabs(s2 / n - 1. / 12), <, se * sqrt(1. / 80 - 1. / 144));
    check_that(fabs(s3 / n), <, se * sqrt(1. / 448));
    check_that(fabs(s4 / n - 1. / 80), <, se * sqrt(1. / 2304 - 1. / 6400));
    check_that(fabs(lag / n), <, se / 12);
}

static void orders_are_permutations(void **state) {
    (void)state;
    enum { N = 5, TRIES = 60000 };
    uint32_t order[N], first[N] = {0};
    for (uint32_t t = 0; t < TRIES; t++) {
        surety_address a = {0, t, 0, 0, SURETY_FOR_ORDER};
        surety_random_order(3, &a, order, N);
        unsigned seen = 0;
        for (int i = 0; i < N; i++) seen |= 1u << order[i];
        assert_int_equal(seen, (1u << N) - 1);
        first[order[0]]++;
    }
    for (int i = 0; i < N; i++) check_that(fabs((double)first[i] - TRIES / 5.), <, 5 * sqrt(TRIES * .16));
}

static surety_status count_or_fail(void *arg, size_t block, int thread, surety_error *err) {
    (void)thread;
    ((int *)arg)[block]++;
    if (block == 13 || block == 70) return surety_fail(err, SURETY_E_INPUT, "block %zu", block);
    return SURETY_OK;
}

static surety_status count_block(void *arg, size_t block, int thread, surety_error *err) {
    (void)thread, (void)err;
    ((int *)arg)[block]++;
    return SURETY_OK;
}

static void parallel_visits_each_block_once(void **state) {
    (void)state;
    for (int threads = 1; threads <= 7; threads += 3) {
        surety_run run = {.threads = threads};
        surety_error err = SURETY_ERROR_NONE;
        int seen[100] = {0};
        check_ok(surety_parallel(&run, NULL, 100, count_block, seen, &err));
        for (int i = 0; i < 100; i++) assert_int_equal(seen[i], 1);
        check_ok(surety_parallel(&run, NULL, 0, count_block, seen, &err));
        memset(seen, 0, sizeof seen);
        assert_int_equal(surety_parallel(&run, NULL, 100, count_or_fail, seen, &err), SURETY_E_INPUT);
        assert_string_equal(err.what, "block 13");
        volatile sig_atomic_t stop = 1;
        run.stop = &stop;
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_parallel(&run, NULL, 100, count_block, seen, &err), SURETY_E_STOPPED);
    }
}

static void numbers_have_a_point(void **state) {
    (void)state;
    char text[64], *end = NULL;
    surety_error err = SURETY_ERROR_NONE;
    comma_begin();
    assert_int_equal(surety_format(text, sizeof text, "%s %.17g %.2f", "x", 0.05, -1.5), 28);
    assert_string_equal(text, "x 0.050000000000000003 -1.50");
    check_that(surety_number("0.25,7", &end), ==, 0.25);
    assert_string_equal(end, ",7");
    double numbers[3];
    assert_int_equal(surety_numbers("0.5:1:.25", ':', numbers, 3), 1);
    check_that(numbers[0] + 2 * numbers[1] + 4 * numbers[2], ==, 3.5);
    static const char *const wrong[] = {"",       "1:2",     "1:2:",      ":2:3",   "1:2:3:4",
                                        "1:2:3x", "1:2:nan", "1:2:1e999", "0,5:1:2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(!surety_numbers(wrong[i], ':', numbers, 3), "%s", wrong[i]);
    check_that(surety_number("", &end), ==, 0);
    assert_true(!*end);
    surety_fail(&err, SURETY_E_INPUT, "the label is %g", 0.5);
    assert_string_equal(err.what, "the label is 0.5");
    assert_string_equal(localeconv()->decimal_point, ","); /* the program's own is as it was */
    comma_end();
}

static void level_has_a_name(void **state) {
    (void)state;
    check_that(surety_cpu(), <=, surety_cpu_highest());
    assert_string_equal(surety_cpu_level(), surety_level_name(surety_cpu()));
}

/* Each of two blocks waits for the other to begin (relaxed: that orders nothing). What their threads do in
 * the loop after it is for ThreadSanitizer to see. */
static surety_status meet(void *arg, size_t block, int thread, surety_error *err) {
    int *begun = arg;
    (void)block, (void)thread, (void)err;
    __atomic_add_fetch(begun, 1, __ATOMIC_RELAXED);
    for (long k = 0; k < 10000000 && __atomic_load_n(begun, __ATOMIC_RELAXED) < 2; k++) sched_yield();
    return __atomic_load_n(begun, __ATOMIC_RELAXED) == 2 ? SURETY_OK : SURETY_E_CHECK;
}

static void two_threads_run_side_by_side(void **state) {
    (void)state;
    surety_run run = {.threads = 2};
    int begun = 0;
    assert_int_equal(surety_parallel(&run, NULL, 2, meet, &begun, NULL), SURETY_OK);
}

/* A child of a process that had used two threads asks for two: it must not wait for threads that are gone. */
static void a_forked_child_goes_on(void **state) {
    (void)state;
    surety_run run = {.threads = 2};
    int seen[100] = {0}, status = 0;
    assert_int_equal(surety_parallel(&run, NULL, 100, count_block, seen, NULL), SURETY_OK);
    pid_t child = fork();
    check_that(child, >=, 0);
    if (child == 0) {
        alarm(20); /* ends a child that hangs */
        int fine = surety_parallel(&run, NULL, 100, count_block, seen, NULL) == SURETY_OK;
        for (int i = 0; i < 100; i++) fine &= seen[i] == 2;
        _exit(fine ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %#x", (unsigned)status);
    assert_int_equal(surety_threads(&run), 2);
}

/* UTF-8 as the standard has it, and what a terminal may see of a text. */
static void texts_are_shown(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {{"plain ~", "plain ~"},
                 {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb3", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb3"},
                 {"\x1b[31m\n\x7f", "\\u001b[31m\\u000a\\u007f"},
                 {"\xc2\x9b\xe2\x80\xae", "\\u009b\\u202e"},
                 {"\xff\xc3", "\\xff\\xc3"},
                 {"\xc0\x80\xed\xa0\x80", "\\xc0\\x80\\xed\\xa0\\x80"}, /* too long, a surrogate */
                 {"\xf4\x90\x80\x80\xe2\x82", "\\xf4\\x90\\x80\\x80\\xe2\\x82"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char all[128] = "", shown[SURETY_PRINTABLE];
        for (const char *at = cases[i].text; *at; strcat(all, shown)) at += surety_printable(at, shown);
        assert_string_equal(all, cases[i].shown);
        assert_int_equal(surety_utf8_valid(cases[i].text), i < 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_wins),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(memory_is_aligned_zero_and_can_fail),
        cmocka_unit_test(sorting_is_stable_and_can_fail),
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(addresses_never_collide),
        cmocka_unit_test(uniform_moments),
        cmocka_unit_test(orders_are_permutations),
        cmocka_unit_test(parallel_visits_each_block_once),
        cmocka_unit_test(two_threads_run_side_by_side),
        cmocka_unit_test(a_forked_child_goes_on),
        cmocka_unit_test(numbers_have_a_point),
        cmocka_unit_test(level_has_a_name),
        cmocka_unit_test(texts_are_shown),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
