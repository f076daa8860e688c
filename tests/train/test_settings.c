/* What surety_train_validate refuses, one case per rule of the header; and that each row of settings for a
 * kind passes. */
#include <math.h>

#include "check.h"
#include "surety/train.h"

typedef struct rule {
    const char *words; /* of the message */
    void (*breaks)(surety_train_settings *s);
} rule;

#define RULE(name, change)                       \
    static void name(surety_train_settings *s) { \
        change;                                  \
    }

/* clang-format off */
RULE(objective, s->objective = SURETY_OBJECTIVES)
RULE(loss, s->loss = (surety_loss)4)
RULE(augment, s->augment = (surety_augment)2)
RULE(voter_set, s->voter_set = (surety_voter_set)2)
RULE(defense, s->defense.samples = 0)
RULE(epochs_1, s->step1_epochs = 100001)
RULE(epochs_2, s->step2_epochs = 100001)
RULE(mix_alone, s->mix = 0.5)
RULE(mix_nan, s->mix = (double)NAN)
RULE(mix_large, (surety_train_certified(s), s->mix = 1))
RULE(certified, (s->defense.kind = SURETY_WORST_CASE, s->objective = SURETY_OBJECTIVE_SEEGER))
RULE(last_and_holdout, s->keep_last = (s->holdout = 0.2) > 0)
RULE(batch_0, s->batch = 0)
RULE(batch_large, s->batch = 65537)
RULE(lr_0, s->lr = 0)
RULE(lr_large, s->lr = HUGE_VAL)
RULE(lr_nan, s->lr = (double)NAN)
RULE(delta_0, s->delta = 0)
RULE(delta_1, s->delta = 1)
RULE(delta_nan, s->delta = (double)NAN)
RULE(holdout_1, s->holdout = 1)
RULE(holdout_below, s->holdout = -0.1)
RULE(seed, s->seed = UINT64_C(1) << 63)
RULE(trees_defense, (s->voters.kind = "trees", surety_train_kind(s)))
RULE(trees_norm, (s->voters.kind = "trees", surety_train_kind(s), s->defense.kind = SURETY_WORST_CASE))
RULE(trees_signed, (s->voters.kind = "trees", surety_train_kind(s), s->defense.kind = SURETY_ATTACK_NONE,
                    s->voter_set = SURETY_SIGNED))
RULE(trees_weights, (s->voters.kind = "trees", surety_train_kind(s), s->defense.kind = SURETY_ATTACK_NONE,
                     s->objective = SURETY_OBJECTIVE_SEEGER))
RULE(trees_epochs, (s->voters.kind = "trees", surety_train_kind(s), s->defense.kind = SURETY_ATTACK_NONE,
                    s->step1_epochs++))
RULE(trees_mix, (s->voters.kind = "trees", surety_train_kind(s), s->defense.kind = SURETY_WORST_CASE,
                 s->defense.ball.norm = SURETY_LINF, s->mix = 0.5))
RULE(networks, (s->voters.kind = "lipschitz", surety_train_kind(s), s->batch = 4097))

static const rule rules[] = {
    {"unknown objective", objective}, {"unknown loss", loss}, {"augment 2", augment}, {"voter set 2", voter_set},
    {"samples", defense}, {"100000 epochs", epochs_1}, {"100000 epochs", epochs_2}, {"mix", mix_alone}, {"mix", mix_nan},
    {"mix", mix_large}, {"worst-case or baseline", certified}, {"hold-out", last_and_holdout}, {"65536", batch_0},
    {"65536", batch_large}, {"learning rate", lr_0}, {"learning rate", lr_large}, {"learning rate", lr_nan},
    {"delta", delta_0}, {"delta", delta_1}, {"delta", delta_nan}, {"hold-out", holdout_1}, {"hold-out", holdout_below},
    {"2^63", seed}, {"not with pgdu", trees_defense}, {"linf", trees_norm}, {"real votes", trees_signed},
    {"baseline", trees_weights}, {"an epoch grows a tree", trees_epochs}, {"mix", trees_mix}, {"4096", networks}};
/* clang-format on */

static void test_rules(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_train_settings s = surety_train_defaults();
        rules[i].breaks(&s);
        surety_status status = surety_train_validate(&s, &err);
        check(status == SURETY_E_USAGE && strstr(err.what, rules[i].words), "rule %zu (%s): %s, %s", i,
              rules[i].words, surety_status_name(status), err.what);
    }
}

static void test_rows_of_settings(void **state) {
    (void)state;
    for (size_t kind = 0; surety_kind_name(kind); kind++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_train_settings s = surety_train_defaults();
        check_ok(surety_train_validate(&s, &err));
        s.voters.kind = surety_kind_name(kind);
        surety_train_certified(&s);
        s.defense.ball.norm = SURETY_LINF;
        surety_train_kind(&s);
        check_ok(surety_train_validate(&s, &err));
        surety_train_own(&s);
        check_ok(surety_train_validate(&s, &err));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_rows_of_settings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
