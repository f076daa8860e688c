/* The ledger of delta: what may be spent, and that no more is. */
#include "check.h"

#include "base/memory.h"
#include "bound/round.h"
#include "surety/bound.h"

static surety_ledger *new_ledger(double delta, int events) {
    surety_error err = SURETY_ERROR_NONE;
    surety_ledger *ledger = NULL;
    check_ok(surety_ledger_new(delta, &ledger, &err));
    for (int i = 0; i < events; i++) {
        char name[32];
        snprintf(name, sizeof name, "event %d", i);
        check_ok(surety_ledger_announce(ledger, name, 20, 1, &err));
    }
    return ledger;
}

/* For any number of events the shares, added upward, stay within delta, and waste less than 1e-12 of it. */
static void shares_stay_within_delta(void **state) {
    (void)state;
    const double deltas[] = {0.05, 0.1, 0.01, 1e-300, 1 - 0x1p-53, 0x1p-1070};
    for (size_t d = 0; d < sizeof deltas / sizeof *deltas; d++) {
        for (int events = 1; events <= 200; events += events < 20 ? 1 : 45) {
            surety_error err = SURETY_ERROR_NONE;
            surety_ledger *ledger = new_ledger(deltas[d], events);
            check_ok(surety_ledger_spend(ledger, "event 0", 20, 1, NULL, &err));
            size_t count;
            const surety_ledger_entry *entries = surety_ledger_entries(ledger, &count);
            assert_int_equal(count, events);
            double sum = 0;
            for (size_t i = 0; i < count; i++) {
                sum = surety_add_up(sum, entries[i].share);
                check_that(entries[i].priors_compared, ==, 20);
                check_that(entries[i].looks, ==, 1);
                check_that(entries[i].spent, ==, (i == 0));
            }
            check(sum <= deltas[d], "%d shares of %g add up to more", events, deltas[d]);
            if (deltas[d] > 1e-305) check_that(sum, >=, deltas[d] * (1 - 1e-12));
            check_that(surety_ledger_delta(ledger), ==, deltas[d]);
            surety_ledger_free(ledger);
        }
    }
}

static void one_event_keeps_all(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_ledger_entry entry;
    surety_ledger *ledger = new_ledger(0.05, 1);
    size_t count;
    check_is(isnan, surety_ledger_entries(ledger, &count)->share);
    check_ok(surety_ledger_spend(ledger, "event 0", 20, 1, &entry, &err));
    check_that(entry.share, ==, 0.05);
    assert_true(entry.spent);
    check_that(entry.priors_compared, ==, 20);
    check_ok(
        surety_ledger_spend(ledger, "event 0", 3, 1, &entry, &err)); /* again: free, at the budgeted T_p */
    check_that(entry.share, ==, 0.05);
    check_that(entry.priors_compared, ==, 20);
    surety_ledger_free(ledger);
}

static void what_is_not_budgeted_is_refused(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_ledger *ledger = new_ledger(0.05, 2);
    assert_int_equal(surety_ledger_spend(ledger, "event 2", 1, 1, NULL, &err), SURETY_E_CHECK);
    assert_non_null(strstr(err.what, "event 2"));
    assert_int_equal(surety_ledger_spend(ledger, "event 0", 21, 1, NULL, NULL), SURETY_E_CHECK);
    assert_int_equal(surety_ledger_spend(ledger, "event 0", 20, 2, NULL, NULL), SURETY_E_CHECK);
    assert_int_equal(surety_ledger_announce(ledger, "event 1", 20, 1, NULL), SURETY_E_CHECK);
    check_ok(surety_ledger_announce(ledger, "event 2", 1, 1, &err)); /* a refused spending closes nothing */
    check_ok(surety_ledger_spend(ledger, "event 2", 1, 1, NULL, &err));
    assert_int_equal(surety_ledger_announce(ledger, "event 3", 1, 1, NULL), SURETY_E_CHECK);
    surety_ledger_free(ledger);
    ledger = new_ledger(0.05, 0);
    assert_int_equal(surety_ledger_spend(ledger, "anything", 1, 1, NULL, NULL), SURETY_E_CHECK);
    surety_ledger_free(ledger);
}

static void bad_arguments(void **state) {
    (void)state;
    const double bad[] = {0, 1, -1, (double)NAN};
    surety_ledger *ledger = NULL;
    for (int i = 0; i < 4; i++) assert_int_equal(surety_ledger_new(bad[i], &ledger, NULL), SURETY_E_INPUT);
    assert_null(ledger);
    surety_ledger_free(NULL);
    ledger = new_ledger(0.05, 1);
    char longest[SURETY_EVENT_TEXT + 1];
    memset(longest, 'x', sizeof longest);
    longest[SURETY_EVENT_TEXT] = 0;
    surety_error err = SURETY_ERROR_NONE;
    assert_int_equal(surety_ledger_announce(ledger, longest, 1, 1, &err), SURETY_E_INPUT);
    char words[64];
    snprintf(words, sizeof words, "1 to %d letters, not %d", SURETY_EVENT_TEXT - 1, SURETY_EVENT_TEXT);
    check_contains(err.what, words);
    longest[SURETY_EVENT_TEXT - 1] = 0;
    assert_int_equal(surety_ledger_announce(ledger, longest, 1, 1, NULL), SURETY_OK);
    assert_int_equal(surety_ledger_announce(ledger, "", 1, 1, NULL), SURETY_E_INPUT);
    assert_int_equal(surety_ledger_announce(ledger, "a", 0, 1, NULL), SURETY_E_INPUT);
    assert_int_equal(surety_ledger_announce(ledger, "a", 1, 0, NULL), SURETY_E_INPUT);
    assert_int_equal(surety_ledger_announce(ledger, "a", SURETY_PRIORS_MOST + 1, 1, NULL), SURETY_E_INPUT);
    assert_int_equal(surety_ledger_announce(ledger, "a", SURETY_PRIORS_MOST, 1, NULL), SURETY_OK);
    surety_ledger_free(ledger);
}

/* Every allocation fails once; nothing leaks and the entries so far stay. */
static void memory_can_fail(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        long left = k;
        surety_ledger *ledger = NULL;
        surety_memory_hook(check_fail_at, &left);
        surety_status status = surety_ledger_new(0.05, &ledger, NULL);
        for (int i = 0; i < 20 && status == SURETY_OK; i++) {
            char name[16];
            snprintf(name, sizeof name, "%d", i);
            status = surety_ledger_announce(ledger, name, 1, 1, NULL);
        }
        surety_memory_hook(NULL, NULL);
        assert_int_equal(status, SURETY_E_MEMORY);
        size_t count = 0;
        if (ledger) surety_ledger_entries(ledger, &count);
        assert_int_equal(count, k == 2 ? 8 : k == 3 ? 16 : 0);
        surety_ledger_free(ledger);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_stay_within_delta),
        cmocka_unit_test(one_event_keeps_all),
        cmocka_unit_test(what_is_not_budgeted_is_refused),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(memory_can_fail),
    };
    return cmocka_run_group_tests_name("bound/ledger", tests, NULL, NULL);
}
