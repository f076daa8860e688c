/* The ledger of delta (docs/theory.md 4.6): which random events were announced before S was looked at, what
 * each was budgeted, and what was spent. By the union bound all promises hold together with probability 1 -
 * sum of the shares. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "bound/round.h"
#include "surety/bound.h"

struct surety_ledger {
    double delta;
    surety_ledger_entry *entries;
    size_t count, room;
    int closed;
};

surety_status surety_ledger_new(double delta, surety_ledger **out, surety_error *err) {
    *out = NULL;
    if (!(delta > 0 && delta < 1)) {
        surety_fail(err, SURETY_E_INPUT, "delta is %g", delta);
        surety_fail_expected(err, "a number inside (0, 1)");
        return SURETY_E_INPUT;
    }
    SURETY_TRY(surety_alloc(out, 1, sizeof **out, err));
    (*out)->delta = delta;
    return SURETY_OK;
}

void surety_ledger_free(surety_ledger *ledger) {
    if (ledger) surety_free(ledger->entries);
    surety_free(ledger);
}

static surety_ledger_entry *find(surety_ledger *ledger, const char *event) {
    for (size_t i = 0; i < ledger->count; i++)
        if (strcmp(ledger->entries[i].event, event) == 0) return &ledger->entries[i];
    return NULL;
}

static surety_status make_room(surety_ledger *ledger, surety_error *err) {
    if (ledger->count < ledger->room) return SURETY_OK;
    size_t room = ledger->room ? 2 * ledger->room : 8;
    surety_ledger_entry *entries = NULL;
    SURETY_TRY(surety_alloc(&entries, room, sizeof *entries, err));
    if (ledger->count) memcpy(entries, ledger->entries, ledger->count * sizeof *entries);
    surety_free(ledger->entries);
    ledger->entries = entries;
    ledger->room = room;
    return SURETY_OK;
}

surety_status surety_ledger_announce(surety_ledger *ledger, const char *event, uint64_t priors_compared,
                                     uint64_t looks, surety_error *err) {
    size_t length = strlen(event);
    if (length == 0 || length >= sizeof ledger->entries->event)
        return surety_fail(err, SURETY_E_INPUT, "an event needs a name of 1 to %zu letters, not %zu",
                           sizeof ledger->entries->event - 1, length);
    if (priors_compared < 1 || looks < 1 || priors_compared > SURETY_PRIORS_MOST)
        return surety_fail(err, SURETY_E_INPUT,
                           "event '%s': candidates and looks are at least 1, candidates at most 10^9", event);
    if (ledger->closed)
        return surety_fail(err, SURETY_E_CHECK, "event '%s' was announced after delta was first spent",
                           event);
    if (find(ledger, event))
        return surety_fail(err, SURETY_E_CHECK, "event '%s' was announced before", event);
    SURETY_TRY(make_room(ledger, err));
    surety_ledger_entry *entry = &ledger->entries[ledger->count++];
    memcpy(entry->event, event, length + 1);
    entry->share = (double)NAN;
    entry->priors_compared = priors_compared;
    entry->looks = looks;
    return SURETY_OK;
}

/* The largest equal share found whose sum, each addition rounded up, is at most delta. */
static void close_list(surety_ledger *ledger) {
    double share = surety_div_down(ledger->delta, (double)ledger->count), sum;
    do {
        sum = 0;
        for (size_t i = 0; i < ledger->count; i++) sum = surety_add_up(sum, share);
    } while (sum > ledger->delta && (share = surety_down(share)) > 0);
    for (size_t i = 0; i < ledger->count; i++) ledger->entries[i].share = share;
    ledger->closed = 1;
}

surety_status surety_ledger_spend(surety_ledger *ledger, const char *event, uint64_t priors_compared,
                                  uint64_t looks, surety_ledger_entry *entry, surety_error *err) {
    surety_ledger_entry *found = find(ledger, event);
    if (!found) {
        surety_fail(err, SURETY_E_CHECK, "event '%s' was not announced: its share of delta was not budgeted",
                    event);
        surety_fail_expected(err, "every event announced before S is looked at");
        return SURETY_E_CHECK;
    }
    if (priors_compared > found->priors_compared || looks > found->looks) {
        surety_fail(err, SURETY_E_CHECK, "event '%s' used %" PRIu64 " candidates and %" PRIu64 " looks",
                    event, priors_compared, looks);
        surety_fail_expected(err, "at most the %" PRIu64 " and %" PRIu64 " that were budgeted",
                             found->priors_compared, found->looks);
        return SURETY_E_CHECK;
    }
    if (!ledger->closed) close_list(ledger);
    found->spent = 1;
    if (entry) *entry = *found;
    return SURETY_OK;
}

const surety_ledger_entry *surety_ledger_entries(const surety_ledger *ledger, size_t *count) {
    *count = ledger->count;
    return ledger->entries;
}

double surety_ledger_delta(const surety_ledger *ledger) {
    return ledger->delta;
}
