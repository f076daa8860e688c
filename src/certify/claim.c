/* The claim in one English sentence, written from the certificate's own fields (docs/theory.md 4.6): with
 * which confidence, how many inputs, what "fails" means, against which attack, and under which assumptions.
 * Percentages are rounded to the safe side. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "certify/certificate.h"

static void say(surety_certificate *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(surety_certificate *c, const char *format, ...) {
    size_t used = strlen(c->claim);
    va_list args;
    va_start(args, format);
    surety_vformat(c->claim + used, sizeof c->claim - used, format, args);
    va_end(args);
}

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

/* 100 x, rounded up, with three digits that count. */
static const char *percent_up(double x, char text[32]) {
    int decimals = x < 0.001 ? 4 : x < 0.01 ? 3 : 2;
    double scale = pow(10, decimals);
    surety_format(text, 32, "%.*f", decimals, ceil(nextafter(x * 100 * scale, HUGE_VAL)) / scale);
    return text;
}

/* 100 (1 - delta), rounded down at the tenth decimal; 0.05 is not quite 5/100, the 0.01 forgives that. */
static const char *confidence(double delta, char text[32]) {
    if (delta < 1e-9)
        snprintf(text, 32, "99.9999999");
    else
        surety_format(text, 32, "%.12g", floor(1e10 * (100 - 100 * delta) + 0.01) / 1e10);
    return text;
}

static int is_risk(const surety_certificate *c, surety_risk_kind kind) {
    return !strcmp(c->risk, surety_risk_kind_name(kind));
}

static void say_limit(surety_certificate *c) {
    char text[32], level[32];
    int perturbed = is_risk(c, SURETY_RISK_AVERAGED) && c->inputs.n > 1;
    if (c->vacuous)
        say(c, "This certificate promises nothing: its limit of %s is not below 1; it would say that, with ",
            surety_shortest(c->value, text));
    else
        say(c, "With ");
    say(c,
        "confidence %s %% over the draw of the %" PRIu64
        " %s, the %s vote of this model (SHA-256 "
        "%.16s) ",
        confidence(c->delta, level), c->inputs.m,
        c->data.fresh ? "rows declared fresh, none of which trained the model" : "examples of S",
        c->inputs.frozen ? "weighted" : "learned weighted", c->model.sha256);
    if (c->vacuous)
        say(c, "fails on no more than all of the ");
    else
        say(c, "fails on at most %s %% of the ", percent_up(c->value, text));
    say(c, "%snew inputs of its ", perturbed ? "perturbed " : "");
    if (c->data.class_count > 2)
        say(c, "%zu classes, ", c->data.class_count);
    else
        say(c, "two classes, ");
}

static void say_where(surety_certificate *c) {
    char eps[32], lo[32], hi[32];
    say(c, " within %s distance %s of the input", c->attack.norm, surety_shortest(c->attack.eps, eps));
    if (!isnan(c->attack.box_lo))
        say(c, " and inside [%s, %s]", surety_shortest(c->attack.box_lo, lo),
            surety_shortest(c->attack.box_hi, hi));
}

/* Nothing was attacked: the vote is right on every point of the ball, or it was not proved so. */
static void say_worst(surety_certificate *c) {
    char eps[32];
    say(c, "where it fails on an input if there is any point");
    say_where(c);
    say(c,
        " on which it is wrong or tied: on all other inputs no perturbation of norm up to %s, whatever the "
        "attack, makes it fail",
        surety_shortest(c->attack.eps, eps));
}

static void say_failure(surety_certificate *c) {
    const char *target =
        c->inputs.frozen ? "against this very vote" : "against the vote of the model's prior";
    say(c, "where it fails on an input if it is wrong or tied on ");
    if (!strcmp(c->attack.name, "none")) {
        say(c, "the input itself, unperturbed");
        return;
    }
    if (c->inputs.n == 1)
        say(c, "the perturbation that attack %s makes of it %s,", c->attack.name, target);
    else if (is_risk(c, SURETY_RISK_AVERAGED))
        say(c, "one perturbation, drawn at random among those that attack %s makes of it %s,", c->attack.name,
            target);
    else
        say(c, "at least one of %" PRIu64 " perturbations that attack %s makes of it %s,", c->inputs.n,
            c->attack.name, target);
    say_where(c);
}

static void say_assumptions(surety_certificate *c) {
    uint64_t T = c->inputs.priors_compared, looks = c->inputs.looks;
    if (c->data.fresh) {
        say(c,
            "; this assumes that these rows and the new inputs are drawn independently from one "
            "distribution, "
            "and that nothing was chosen by looking at them beyond what is paid for here: ");
        if (!strcmp(c->choice, "best"))
            say(c, "the smallest of the bounds on %zu event%s, and ", c->event_count, plural(c->event_count));
        say(c, "this certificate among at most %" PRIu64 " (--looks).", looks);
        return;
    }
    say(c,
        "; this assumes that S and the new inputs are drawn independently from one distribution, and that "
        "nothing was chosen by looking at S beyond what is paid for here: the prior among %" PRIu64
        " candidate%s, ",
        T, plural(T));
    if (!c->inputs.frozen) say(c, "the posterior, ");
    if (!strcmp(c->choice, "best"))
        say(c, "the smallest of the bounds on %zu event%s, ", c->event_count, plural(c->event_count));
    say(c, "and this certificate among at most %" PRIu64 " (--looks).", looks);
}

/* What copies do to the promise; nothing where there are few and all stayed. */
static void say_copies(surety_certificate *c) {
    const surety_copies *k = &c->copies;
    double m = (double)c->inputs.m;
    if (!strcmp(c->data.copies, surety_copies_name(SURETY_COPIES_DROP)))
        say(c, "; of equal rows one was kept, so it speaks of distinct inputs, each counted once");
    if (!surety_copies_many(k)) return;
    if (k->near_learn_in_prior)
        say(c, "; %" PRIu64 " of the %" PRIu64 " examples of S (%.1f %%) also occur in S'",
            k->near_learn_in_prior, c->inputs.m, 100 * (double)k->near_learn_in_prior / m);
    if (k->learn_repeats)
        say(c, "%s%" PRIu64 " (%.1f %%) repeat an example of S", k->near_learn_in_prior ? " and " : "; of S ",
            k->learn_repeats, 100 * (double)k->learn_repeats / m);
    say(c,
        ", so S is not independent of %s: the promise holds only if rows repeat by nature, new inputs as "
        "often as these",
        k->near_learn_in_prior ? "the training" : "itself");
}

void surety_certificate_word(surety_certificate *c) {
    c->claim[0] = 0;
    say_limit(c);
    if (is_risk(c, SURETY_RISK_WORST_CASE))
        say_worst(c);
    else
        say_failure(c);
    say_copies(c);
    say_assumptions(c);
}
