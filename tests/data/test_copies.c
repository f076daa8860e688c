/* data: rows that occur twice are counted, equal and near, against a count of all pairs; dropped before the
 * split. */
#include "io/files.h"

#include <math.h>

#include "draw.h"
#include "meeting.h"
#include "plain.h"
#include "surety/data.h"

enum { M = 240, TEST = 60, D = 3, MOST_D = 40 };

typedef struct world {
    float x[M * MOST_D], tx[TEST * MOST_D];
    int64_t y[M], ty[TEST];
} world;

static surety_data *open_world(const world *w, size_t d, surety_copies_rule rule, uint64_t seed) {
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = plain_settings();
    s.learn_size = 60, s.copies = rule, s.seed = seed, s.boxed = 0;
    surety_arrays a = {.m = M,
                       .d = d,
                       .features = w->x,
                       .labels = w->y,
                       .test_m = TEST,
                       .test_features = w->tx,
                       .test_labels = w->ty};
    surety_data *data = NULL;
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    return data;
}

static void fill(world *w, size_t d, draw *random) {
    for (size_t i = 0; i < M * d; i++) w->x[i] = (float)draw_real(random, 0, 1);
    for (size_t i = 0; i < TEST * d; i++) w->tx[i] = (float)draw_real(random, 0, 1);
    for (size_t i = 0; i < M; i++) w->y[i] = (int64_t)(i % 2);
    for (size_t i = 0; i < TEST; i++) w->ty[i] = (int64_t)(i % 2);
}

/* ---- counting ---- */

static int near(const surety_data *data, const float *a, const float *b, size_t d, double tolerance) {
    for (size_t j = 0; j < d; j++) {
        double low = INFINITY, high = -INFINITY;
        for (int k = SURETY_SET_PRIOR; k <= SURETY_SET_LEARN; k++) {
            const surety_set *set = surety_data_set(data, (surety_set_name)k);
            for (size_t i = 0; i < set->m; i++) {
                low = fmin(low, set->x[i * set->stride + j]);
                high = fmax(high, set->x[i * set->stride + j]);
            }
        }
        if (fabs((double)a[j] - (double)b[j]) > tolerance * (high - low)) return 0;
    }
    return 1;
}

/* Rows of set a with one of set b within the tolerance, each pair asked. */
static uint64_t naive(const surety_data *data, surety_set_name a, surety_set_name b, double tolerance) {
    const surety_set *A = surety_data_set(data, a), *B = surety_data_set(data, b);
    uint64_t count = 0;
    for (size_t i = 0; i < A->m; i++) {
        size_t k = 0;
        while (k < B->m && !near(data, A->x + i * A->stride, B->x + k * B->stride, A->d, tolerance)) k++;
        count += k < B->m;
    }
    return count;
}

/* Rows of S with an earlier one of S within the tolerance. */
static uint64_t naive_repeats(const surety_data *data, double tolerance) {
    const surety_set *S = surety_data_set(data, SURETY_SET_LEARN);
    uint64_t count = 0;
    for (size_t i = 0; i < S->m; i++) {
        size_t k = 0;
        while (k < i && !near(data, S->x + i * S->stride, S->x + k * S->stride, S->d, tolerance)) k++;
        count += k < i;
    }
    return count;
}

static void compare(const surety_data *data) {
    const surety_copies *c = &surety_data_describe(data)->copies;
    assert_int_equal(c->learn_in_prior, naive(data, SURETY_SET_LEARN, SURETY_SET_PRIOR, 0));
    assert_int_equal(c->test_in_prior, naive(data, SURETY_SET_TEST, SURETY_SET_PRIOR, 0));
    assert_int_equal(c->test_in_learn, naive(data, SURETY_SET_TEST, SURETY_SET_LEARN, 0));
    assert_int_equal(c->near_learn_in_prior, naive(data, SURETY_SET_LEARN, SURETY_SET_PRIOR, c->tolerance));
    assert_int_equal(c->near_test_in_prior, naive(data, SURETY_SET_TEST, SURETY_SET_PRIOR, c->tolerance));
    assert_int_equal(c->learn_repeats, naive_repeats(data, c->tolerance));
    check_that(c->tolerance, ==, 1e-6);
    check_that(c->learn, ==, 60);
    check_that(c->test, ==, TEST);
    assert_true(!c->dropped);
}

/* Random rows, some of them others plus jitter from far below to above the tolerance, also at the ends of the
 * range, with features that never change or have a constant sum. */
static void counts_are_those_of_all_pairs(void **state) {
    (void)state;
    static world w;
    draw random = {1};
    for (int round = 0; round < check_count(6, 100); round++) {
        size_t d = round % 3 == 0 ? 1 : draw_size(&random, 2, MOST_D);
        fill(&w, d, &random);
        double size = pow(10, draw_real(&random, -8, -5));
        for (int k = 0; k < 90; k++) {
            int to_test = k % 3 == 0;
            float *to =
                to_test ? w.tx + draw_size(&random, 0, TEST - 1) * d : w.x + draw_size(&random, 0, M - 1) * d;
            const float *from = w.x + draw_size(&random, 0, M - 1) * d;
            for (size_t j = 0; j < d; j++)
                to[j] = (float)((double)from[j] + (k % 5 ? draw_real(&random, -size, size) : 0));
        }
        for (size_t i = 0; d > 2 && i < M; i++) w.x[i * d] = 0.25f, w.x[i * d + 1] = 1 - w.x[i * d + 2];
        surety_data *data = open_world(&w, d, SURETY_COPIES_REFUSE, (uint64_t)round);
        compare(data);
        surety_data_free(data);
    }
}

/* Rows that are multiplied with a little noise, of which none is in S': S has fewer examples than it seems.
 */
static void noise_hides_no_repeats(void **state) {
    (void)state;
    static world w;
    draw random = {5};
    fill(&w, 5, &random);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < 5; j++)
            w.x[i * 5 + j] = w.x[i % 60 * 5 + j] + (float)draw_real(&random, 1e-7, 4e-7);
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = plain_settings();
    s.fresh = 1, s.boxed = 0;
    surety_arrays a = {.m = M, .d = 5, .features = w.x, .labels = w.y};
    surety_data *data = NULL;
    check_ok(surety_data_from_arrays(&a, &s, &data, &err));
    const surety_data_info *info = surety_data_describe(data);
    assert_int_equal(info->copies.learn_repeats, M - 60);
    assert_int_equal(surety_data_check_copies(info, &err), SURETY_E_CHECK);
    check_contains(err.what, "180 of the 240 examples of S (75.0 %) repeat another example of S");
    surety_data_free(data);
}

/* Eight rows, four of them in S. The last feature is missing but in the first row and the last. */
static surety_status open_few(surety_data **out, const surety_everyone *everyone, surety_error *err) {
    enum { FEW = 8 };
    float x[FEW * D];
    int64_t y[FEW];
    surety_data_settings s = plain_settings();
    surety_arrays a = {.m = FEW, .d = D, .features = x, .labels = y};
    s.learn_size = 4, s.boxed = 0, s.missing = SURETY_MISSING_MEDIAN, s.everyone = everyone;
    for (int i = 0; i < FEW; i++) {
        y[i] = i % 2;
        for (int j = 0; j < D; j++) x[i * D + j] = (float)(i * (j + 1));
        if (i && i < FEW - 1) x[i * D + D - 1] = NAN;
    }
    return surety_data_from_arrays(&a, &s, out, err);
}

static void *count_few(void *arg) {
    const process *p = arg;
    surety_data *data = NULL;
    if (open_few(&data, &p->everyone, NULL) == SURETY_OK)
        *(surety_copies *)p->arg = surety_data_describe(data)->copies;
    surety_data_free(data);
    return NULL;
}

/* A process without rows, or without a value of a feature, knows nothing of its range. */
static void more_processes_than_rows(void **state) {
    surety_data *data = NULL;
    surety_error err = SURETY_ERROR_NONE;
    (void)state;
    check_ok(open_few(&data, NULL, &err));
    const surety_copies *alone = &surety_data_describe(data)->copies;
    assert_true(!alone->near_learn_in_prior);
    for (size_t size = 1; size <= MEETING_MOST; size++) {
        surety_copies of[MEETING_MOST] = {0};
        meeting_run(size, count_few, of, sizeof *of);
        for (size_t r = 0; r < size; r++) {
            check_that(of[r].learn, ==, alone->learn);
            check_that(of[r].near_learn_in_prior, ==, alone->near_learn_in_prior);
        }
    }
    surety_data_free(data);
}

/* The share that is too much, and what is said. */
static void one_in_a_hundred_may_be_a_copy(void **state) {
    (void)state;
    surety_data_info info = {.copies = {.learn = 500, .near_learn_in_prior = 5, .learn_repeats = 5}};
    surety_error err = SURETY_ERROR_NONE;
    check_ok(surety_data_check_copies(&info, &err));
    info.copies.near_learn_in_prior = info.copies.learn_in_prior = 6;
    assert_int_equal(surety_data_check_copies(&info, &err), SURETY_E_CHECK);
    assert_non_null(
        strstr(err.what, "6 of the 500 examples of S (1.2 %) also occur in S', so S is not indep"));
    check_contains(err.expected, "--copies drop");
    check_contains(err.expected, "--copies keep");
    info.copies_rule = SURETY_COPIES_DROP, info.copies.learn_in_prior = 0,
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_data_check_copies(&info, &err), SURETY_E_CHECK); /* near ones are not dropped */
    check_contains(err.what, "up to 1e-6");
    assert_true(!strstr(err.expected, "--copies drop"));
    info.copies_rule = SURETY_COPIES_KEEP;
    check_ok(surety_data_check_copies(&info, &err));
    info.copies_rule = SURETY_COPIES_REFUSE, info.copies.near_learn_in_prior = 0;
    info.copies.learn_repeats = 6, err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_data_check_copies(&info, &err), SURETY_E_CHECK);
    assert_non_null(strstr(err.what, "repeat another example of S"));
    check_contains(err.expected, "--copies drop");
    info.unit = "who", err = (surety_error)SURETY_ERROR_NONE; /* of units no row is dropped */
    assert_int_equal(surety_data_check_copies(&info, &err), SURETY_E_CHECK);
    assert_true(!strstr(err.expected, "--copies drop"));
}

/* ---- dropping ---- */

/* 40 inputs, each six times, one of the copies with another label and -0 for 0; T: ten of them, and others.
 */
static void repeat(world *w) {
    draw random = {2};
    fill(w, D, &random);
    for (size_t i = 0; i < M; i++) {
        float *x = w->x + i * D;
        if (i >= 40) memcpy(x, w->x + (i % 40) * D, D * sizeof *x);
        x[1] = i < 40 ? 0.f : -0.f;
        w->y[i] = (i % 40 % 2) ^ (i < 40);
    }
    for (size_t i = 0; i < 10; i++) memcpy(w->tx + i * D, w->x + i * D, D * sizeof *w->x);
    memcpy(w->tx + 11 * D, w->tx + 10 * D, D * sizeof *w->tx);
}

static void equal_rows_are_dropped_before_the_split(void **state) {
    (void)state;
    static world w;
    repeat(&w);
    surety_data *data = open_world(&w, D, SURETY_COPIES_REFUSE, 3);
    assert_true(surety_copies_many(&surety_data_describe(data)->copies));
    surety_data_free(data);
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = plain_settings();
    surety_arrays a = {.m = M,
                       .d = D,
                       .features = w.x,
                       .labels = w.y,
                       .test_m = TEST,
                       .test_features = w.tx,
                       .test_labels = w.ty};
    s.learn_size = 10, s.copies = SURETY_COPIES_DROP;
    size_t odd = 0, rounds = 200;
    for (s.seed = 0; s.seed < rounds; s.seed++) {
        check_ok(surety_data_from_arrays(&a, &s, &data, &err));
        const surety_data_info *info = surety_data_describe(data);
        assert_int_equal(info->m[SURETY_SET_PRIOR], 30);
        assert_int_equal(info->m[SURETY_SET_LEARN], 10);
        assert_int_equal(info->m[SURETY_SET_TEST], TEST - 11);
        assert_int_equal(info->copies.dropped, M - 40 + 11);
        assert_false(surety_copies_many(&info->copies));
        assert_true(!info->copies.learn_in_prior);
        assert_true(!info->copies.test_in_prior);
        assert_true(!info->copies.test_in_learn);
        const surety_set *learn = surety_data_set(data, SURETY_SET_LEARN);
        for (size_t i = 0; i < learn->m; i++) odd += learn->row[i] < 40;
        surety_data_free(data);
    }
    /* Which copy stays is drawn: each sixth time the one with the other label. 2000 draws, five sigma. */
    check(fabs((double)odd - 10. * (double)rounds / 6) < 84, "%zu of %zu", odd, 10 * rounds);
}

/* What has no copies is split as ever; a split by indices cannot be changed. */
static void nothing_to_drop_changes_nothing(void **state) {
    (void)state;
    static world w;
    draw random = {4};
    fill(&w, D, &random);
    surety_data *kept = open_world(&w, D, SURETY_COPIES_REFUSE, 5),
                *dropped = open_world(&w, D, SURETY_COPIES_DROP, 5);
    for (int k = 0; k < SURETY_SETS; k++)
        assert_string_equal(surety_data_describe(kept)->set_sha256[k],
                            surety_data_describe(dropped)->set_sha256[k]);
    surety_data_free(kept);
    surety_data_free(dropped);
    surety_error err = SURETY_ERROR_NONE;
    static const int64_t one[] = {0}, two[] = {1};
    const surety_split split = {{1, 1, 0}, {one, two, NULL}};
    surety_arrays a = {.m = M, .d = D, .features = w.x, .labels = w.y, .split = &split};
    surety_data_settings s = plain_settings();
    s.copies = SURETY_COPIES_DROP;
    assert_int_equal(surety_data_from_arrays(&a, &s, &kept, &err), SURETY_E_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_all_pairs),
        cmocka_unit_test(noise_hides_no_repeats),
        cmocka_unit_test(more_processes_than_rows),
        cmocka_unit_test(one_in_a_hundred_may_be_a_copy),
        cmocka_unit_test(equal_rows_are_dropped_before_the_split),
        cmocka_unit_test(nothing_to_drop_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
