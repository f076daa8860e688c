/* The claim in one English sentence, written from the certificate's own fields (docs/theory.md 4.6): with
 * which confidence, how many inputs, what "fails" means, against which attack, and under which assumptions.
 * Percentages are rounded to the safe side. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "certify/certifying.h"
#include "voters/voters.h"

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

const char *surety_percent_up(double x, char text[32]) {
    int decimals = x < 0.001 ? 4 : x < 0.01 ? 3 : 2;
    double scale = pow(10, decimals);
    surety_format(text, 32, "%.*f", decimals, ceil(nextafter(x * 100 * scale, HUGE_VAL)) / scale);
    return text;
}

/* 0.05 is not quite 5/100, the 0.01 forgives that. */
const char *surety_confidence(double delta, char text[32]) {
    if (delta < 1e-9)
        snprintf(text, 32, "99.9999999");
    else
        surety_format(text, 32, "%.12g", floor(1e10 * (100 - 100 * delta) + 0.01) / 1e10);
    return text;
}

static int is_risk(const surety_certificate *c, surety_risk_kind kind) {
    return !strcmp(c->risk, surety_risk_kind_name(kind));
}

/* The attack's row of the table of threats; its name was checked. */
static const surety_threat_info *attack_of(const surety_certificate *c) {
    surety_threat_kind kind = SURETY_ATTACK_NONE;
    surety_threat_parse(c->attack.name, &kind, NULL);
    return surety_threat_about(kind);
}

static int is_imported(const surety_certificate *c) {
    return !strcmp(c->model.objective, "imported");
}

/* No weighted vote but duels: a model is read only if that is so (train/settings.c). */
static int is_duel(const surety_certificate *c) {
    return surety_kind_duels(c->model.kind, c->data.class_count) && !is_imported(c);
}

int surety_limits_are_few(const surety_class_limit *limits, size_t count) {
    enum { FEW = 10, LETTERS = 400 };
    size_t letters = 0;
    for (size_t k = 0; k < count; k++) letters += strlen(limits[k].label);
    return count <= FEW && letters <= LETTERS;
}

static const char *counted(const surety_certificate *c) {
    return c->data.unit[0] ? "units" : "inputs";
}

static void say_of_classes(surety_certificate *c) {
    if (c->data.class_count > 2)
        say(c, "of its %zu classes", c->data.class_count);
    else
        say(c, "of its two classes");
}

/* A limit for each class or group; of many, where they are listed. */
static void say_each(surety_certificate *c, const surety_class_limit *limits, size_t count, const char *what,
                     const char *where) {
    char text[32];
    int few = surety_limits_are_few(limits, count);
    if (!few) say(c, "that share of the new inputs of each %s that is listed for it (%s)", what, where);
    for (size_t k = 0; k < count && few; k++) {
        const char *before = !k ? "" : k + 1 < count ? ", " : " and ";
        if (limits[k].value < 1)
            say(c, "%s%s %% of the new inputs of %s %s", before, surety_percent_up(limits[k].value, text),
                what, limits[k].label);
        else
            say(c, "%sall of those of %s %s", before, what, limits[k].label);
    }
}

static void say_classes(surety_certificate *c) {
    char text[32];
    say(c, "fails, for all of its %zu classes at once, on at most ", c->limit_count);
    say_each(c, c->limits, c->limit_count, "class", "classes");
    if (c->value < 1) say(c, ", so on at most %s %% of all", surety_percent_up(c->value, text));
    say(c, ", ");
}

static void say_groups(surety_certificate *c) {
    if (c->group_count == 1)
        say(c, "fails, for the one group by '%s' that S has, on at most ", c->group_column);
    else
        say(c, "fails, for all %zu groups by '%s' that S has at once, on at most ", c->group_count,
            c->group_column);
    say_each(c, c->groups, c->group_count, "group", "groups");
    say(c, " (inputs ");
    say_of_classes(c);
    say(c, " alone; of other groups nothing is said), ");
}

/* 100 x, as whoever asked for x wrote it. */
static const char *percent(double x, char text[32]) {
    surety_format(text, 32, "%.12g", 100 * x);
    return text;
}

static int states(const surety_certificate *c, surety_statement statement) {
    return !strcmp(c->statement, surety_statement_name(statement));
}

/* Of several radii, each of them. */
static const char *radius_text(const surety_certificate *c, char text[32]) {
    if (!c->vacuous && (states(c, SURETY_SAY_CURVE) || states(c, SURETY_SAY_PROMISES)))
        snprintf(text, 32, "r");
    else
        surety_shortest(c->attack.radius, text);
    return text;
}

/* The first of several limits says what it is a share of. */
static void say_point(surety_certificate *c, const char *before, const char *limit, double radius) {
    char text[32];
    say(c, "%s%s %% ", before, limit);
    if (!*before) {
        say(c, "of the new %s ", counted(c));
        say_of_classes(c);
        say(c, " ");
    }
    say(c, "at r = %s", surety_shortest(radius, text));
}

/* A limit at each radius. */
static void say_curve(surety_certificate *c) {
    enum { FEW = 16 };
    char text[32], radius[32];
    int few = c->curve_count <= FEW;
    say(c, "fails, for all %zu radii r at once, on at most ", c->curve_count);
    if (!few) {
        say(c, "that share of the new %s ", counted(c));
        say_of_classes(c);
        say(c, " which is listed for each radius (curve)");
    }
    for (size_t i = 0; i < c->curve_count && few; i++) {
        const surety_curve_limit *p = &c->curve[i];
        const char *before = !i ? "" : i + 1 < c->curve_count ? ", " : " and ";
        if (p->value < 1)
            say_point(c, before, surety_percent_up(p->value, text), p->radius);
        else
            say(c, "%sall at r = %s", before, surety_shortest(p->radius, radius));
    }
    say(c, " (between two radii the limit of the larger one holds), ");
}

/* The promises that are kept; many where they are listed. */
static void say_promises(surety_certificate *c) {
    enum { FEW = 16 };
    char text[32];
    size_t kept = 0;
    while (kept < c->promise_count && c->promises[kept].kept) kept++;
    say(c,
        "keeps the first %zu of the %zu promises that were to be tested in this order: it fails on at most ",
        kept, c->promise_count);
    if (kept > FEW) {
        say(c, "that share of the new %s ", counted(c));
        say_of_classes(c);
        say(c, " which is listed for the radius r of each (promises)");
    }
    for (size_t i = 0; i < kept && kept <= FEW; i++)
        say_point(c,
                  !i             ? ""
                  : i + 1 < kept ? ", "
                                 : " and ",
                  percent(c->promises[i].limit, text), c->promises[i].radius);
    say(c, ", ");
}

/* An event whose bound replaces losses by coins: the confidence is over them too. */
static int tosses_coins(const surety_certificate *c) {
    for (size_t i = 0; i < c->event_count; i++) {
        char name[40];
        const surety_bound_info *bound = NULL;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(c->events[i].event, ","), c->events[i].event);
        if (surety_bound_find(name, &bound, NULL) == SURETY_OK &&
            bound->evidence & (SURETY_NEEDS_COINS | SURETY_NEEDS_PRIOR_COINS))
            return 1;
    }
    return 0;
}

/* One limit. */
static void say_share(surety_certificate *c) {
    char text[32];
    int perturbed = is_risk(c, SURETY_RISK_AVERAGED) && c->inputs.n > 1;
    if (c->vacuous)
        say(c, "fails on no more than all of the ");
    else if (states(c, SURETY_SAY_RADIUS))
        say(c, "fails on at most %s %% of the ", percent(c->promise, text));
    else
        say(c, "fails on at most %s %% of the ", surety_percent_up(c->value, text));
    say(c, "%snew %s ", perturbed ? "perturbed " : "", counted(c));
    say_of_classes(c);
    say(c, ", ");
}

/* Why it promises nothing. */
static void say_vacuous(surety_certificate *c) {
    char text[32], radius[32];
    say(c, "This certificate promises nothing: ");
    if (states(c, SURETY_SAY_RADIUS))
        say(c, "at no radius do so few examples of S fail that %s %% could be promised",
            percent(c->promise, text));
    else if (states(c, SURETY_SAY_PROMISES))
        say(c, "the first promise, %s %% at radius %s, is not kept on S", percent(c->promises[0].limit, text),
            surety_shortest(c->promises[0].radius, radius));
    else
        say(c, "its limit of %s is not below 1", surety_shortest(c->value, text));
    say(c, "; it would say that, with ");
}

static void say_limit(surety_certificate *c) {
    char level[32];
    if (c->test.refuted)
        say(c,
            "The test set T refutes this certificate, which was written all the same (--despite-test): "
            "%" PRIu64 " of %" PRIu64
            " fail on T, which has a chance below one in a million if what follows is true%s. ",
            c->test.failed, c->test.m,
            states(c, SURETY_SAY_GROUPS) ? " and T has no other groups than S" : "");
    if (c->vacuous)
        say_vacuous(c);
    else
        say(c, "With ");
    int attack = attack_of(c)->starts || attack_of(c)->noise, coins = tosses_coins(c);
    const char *drawn = attack && coins ? "of the attack's random numbers and coins"
                        : attack        ? "of the attack's random numbers"
                        : coins         ? "of the coins"
                                        : "";
    if (c->data.fresh)
        say(c, "confidence %s %% over the draw %s%sof the %" PRIu64 " %s declared fresh, %s, ",
            surety_confidence(c->delta, level), drawn, *drawn ? " and " : "", c->inputs.m,
            c->data.unit[0] ? "units" : "rows",
            is_imported(c)
                ? "which had no part in the training of this imported model by the word of whoever "
                  "declared it"
            : c->data.unit[0] ? "none of whose rows trained the model, and which are other units than those "
                                "that did by the word of whoever declared it"
                              : "none of which trained the model");
    else
        say(c, "confidence %s %% over the draw of the %" PRIu64 " %s of S%s%s, ",
            surety_confidence(c->delta, level), c->inputs.m, c->data.unit[0] ? "units" : "examples",
            *drawn ? " and " : "", drawn);
    say(c, "the %s vote of this model (SHA-256 %.16s) ",
        is_duel(c)         ? "duel"
        : c->inputs.frozen ? "weighted"
                           : "learned weighted",
        c->model.sha256);
    if (is_duel(c))
        say(c,
            "(its answer is the class that wins its duel with every other class; where none does, it is "
            "tied) ");
    if (states(c, SURETY_SAY_CLASSES) && !c->vacuous) {
        say_classes(c);
        return;
    }
    if (states(c, SURETY_SAY_GROUPS) && !c->vacuous) {
        say_groups(c);
        return;
    }
    if (states(c, SURETY_SAY_CURVE) && !c->vacuous)
        say_curve(c);
    else if (states(c, SURETY_SAY_PROMISES) && !c->vacuous)
        say_promises(c);
    else
        say_share(c);
    if (c->data.unit[0])
        say(c,
            "where a unit is all inputs with one value of '%s', and the vote fails on a unit if it fails on "
            "one "
            "of its inputs, ",
            c->data.unit);
}

static void say_box(surety_certificate *c, const char *before) {
    char lo[32], hi[32];
    if (isnan(c->attack.box_lo)) return;
    say(c, "%s [%s, %s]", before, surety_shortest(c->attack.box_lo, lo),
        surety_shortest(c->attack.box_hi, hi));
}

/* With a tolerance of the user's: every feature in its own unit. */
static void say_tolerance(surety_certificate *c, const char *eps) {
    if (strcmp(c->attack.norm, surety_norm_name(SURETY_LINF)) != 0)
        say(c, " within %s distance %s of the input, each feature measured by its own tolerance",
            c->attack.norm, eps);
    else if (!strcmp(eps, "1"))
        say(c, " with every feature within its own tolerance");
    else
        say(c, " with every feature within %s times its own tolerance", eps);
}

static int missing_is(const surety_certificate *c, surety_missing rule) {
    return !strcmp(c->data.missing, surety_missing_name(rule));
}

/* 1 if all features that move have one range, with both ends. */
static int one_range(const surety_certificate *c, double *lo, double *hi) {
    int found = 0;
    for (size_t j = 0; j < c->tolerance.count; j++) {
        if (c->tolerance.radius[j] == 0) continue;
        if (!found++) *lo = c->tolerance.lo[j], *hi = c->tolerance.hi[j];
        if (!(c->tolerance.lo[j] == *lo && c->tolerance.hi[j] == *hi)) return 0; /* NaN: no end */
    }
    return found > 0;
}

/* A range for each feature in the user's table, or one box for all in the user's units. */
static void say_range(surety_certificate *c) {
    char from[32], to[32];
    double lo = 0, hi = 0;
    if (strcmp(c->attack.radius_unit, "tolerances") && one_range(c, &lo, &hi))
        say(c, " and inside [%s, %s] in the units of the data", surety_shortest(lo, from),
            surety_shortest(hi, to));
    else
        say(c, " and inside the range that the table gives it");
    say(c, " (or no farther outside than the input is)");
}

/* Features that cannot change, and ranges. */
static void say_features(surety_certificate *c) {
    size_t fixed = 0, ends = 0;
    for (size_t j = 0; j < c->tolerance.count; j++) {
        fixed += c->tolerance.radius[j] == 0;
        ends += !isnan(c->tolerance.lo[j]) || !isnan(c->tolerance.hi[j]);
    }
    if (c->tolerance.count && !strcmp(c->attack.radius_unit, "tolerances"))
        say(c, " (table of %zu feature%s, of which %zu cannot change)", c->tolerance.count,
            plural(c->tolerance.count), fixed);
    else if (fixed) /* by themselves, only those */
        say(c, " (%zu of %zu features, categories or flags of missing values, cannot change)", fixed,
            c->tolerance.count);
    if (missing_is(c, SURETY_MISSING_KEEP)) say(c, ", what is missing staying missing,");
    if (missing_is(c, SURETY_MISSING_MEDIAN) || missing_is(c, SURETY_MISSING_FLAG))
        say(c, ", what is missing counting as the median of S',");
    if (ends) say_range(c);
}

static void say_where(surety_certificate *c) {
    char eps[32];
    radius_text(c, eps);
    if (!strcmp(c->attack.radius_unit, "tolerances")) {
        say_tolerance(c, eps);
    } else {
        say(c, " within %s distance %s", c->attack.norm, eps);
        if (strcmp(c->attack.radius_unit, surety_scaling_unit(SURETY_SCALE_NONE)) != 0)
            say(c, " (in %s of each feature in S')", c->attack.radius_unit);
        say(c, " of the input");
    }
    say_features(c);
    say_box(c, " and inside");
}

/* Nothing was attacked: the vote is right on every point of the ball, or it was not proved so. */
static void say_worst(surety_certificate *c) {
    char eps[32], text[32];
    say(c, "where it fails on an input if there is any point");
    say_where(c);
    say(c, " on which it is wrong or tied: on all other inputs no ");
    if (c->tolerance.count)
        say(c, "such perturbation");
    else
        say(c, "perturbation of norm up to %s", radius_text(c, eps));
    say_box(c, " that keeps the input inside");
    say(c, ", whatever the attack, makes it fail");
    if (states(c, SURETY_SAY_RADIUS) && !c->vacuous)
        say(c, "; this radius is the largest, rounded down, at which S allows the promised %s %%",
            percent(c->promise, text));
}

/* What the attack does (docs/theory.md 3): start, steps, noise. */
static void say_attack(surety_certificate *c) {
    const surety_threat_info *info = attack_of(c);
    char size[32], noise[32];
    uint64_t steps = c->attack.steps, starts = c->attack.restarts;
    say(c, "attack %s (", c->attack.name);
    if (info->steps == SURETY_STEPS_ONE)
        say(c, "one step of size %s", surety_shortest(c->attack.radius, size));
    if (info->steps == SURETY_STEPS_MANY)
        say(c, "%" PRIu64 " step%s of size %s", steps, plural(steps),
            surety_shortest(c->attack.step_size, size));
    if (info->searches)
        say(c, "a search of at most %" PRIu64 " steps", c->attack.budget);
    else if (!info->starts)
        say(c, " from the input itself");
    else if (info->steps == SURETY_STEPS_NONE && starts == 1)
        say(c, "one random point of the ball");
    else if (info->steps == SURETY_STEPS_NONE)
        say(c, "the best of %" PRIu64 " random points of the ball", starts);
    else if (starts == 1)
        say(c, " from one random start");
    else
        say(c, " from each of %" PRIu64 " random starts, of which the best counts", starts);
    if (info->noise)
        say(c, ", then noise of at most %s per feature", surety_shortest(c->attack.noise, noise));
    if (c->tolerance.count && (info->noise || info->steps != SURETY_STEPS_NONE))
        say(c, ", lengths in tolerances");
    say(c, ")");
}

static void say_failure(surety_certificate *c) {
    say(c, "where it fails on an input if it is wrong or tied on ");
    if (attack_of(c) == surety_threat_about(SURETY_ATTACK_NONE)) {
        say(c, "the input itself, unperturbed");
        return;
    }
    if (c->inputs.n == 1)
        say(c, "the perturbation that ");
    else if (is_risk(c, SURETY_RISK_AVERAGED))
        say(c, "one perturbation, drawn at random among the %" PRIu64 " that ", c->inputs.n);
    else
        say(c, "at least one of %" PRIu64 " perturbations that ", c->inputs.n);
    say_attack(c);
    say(c, " makes of it against %s,", c->inputs.frozen ? "this very vote" : "the vote of the model's prior");
    say_where(c);
}

static void say_assumptions(surety_certificate *c) {
    uint64_t T = c->inputs.priors_compared, looks = c->inputs.looks;
    const char *inputs = counted(c);
    if (c->data.fresh) {
        say(c,
            "; this assumes that these %s and the new %s are drawn independently from one distribution, and "
            "that nothing was chosen by looking at them beyond what is paid for here: ",
            c->data.unit[0] ? "units" : "rows", inputs);
        if (!strcmp(c->choice, "best"))
            say(c, "the smallest of the bounds on %zu event%s, and ", c->event_count, plural(c->event_count));
        say(c, "this certificate among at most %" PRIu64 " (--looks).", looks);
        return;
    }
    say(c,
        "; this assumes that %s and the new %s are drawn independently from one distribution, and that "
        "nothing was chosen by looking at S beyond what is paid for here: the prior among %" PRIu64
        " candidate%s, ",
        c->data.unit[0] ? "the units of S" : "S", inputs, T, plural(T));
    if (!c->inputs.frozen) say(c, "the posterior, ");
    if (!strcmp(c->choice, "best"))
        say(c, "the smallest of the bounds on %zu event%s, ", c->event_count, plural(c->event_count));
    say(c, "and this certificate among at most %" PRIu64 " (--looks).", looks);
}

/* Of a curve: from which radius on. */
static void say_majority_curve(surety_certificate *c) {
    char radius[32];
    size_t i = 0;
    while (i < c->curve_count && c->curve[i].failed < c->majority.failed) i++;
    if (i == c->curve_count) return;
    say(c,
        "; on S, from r = %s on, this model is no better than always answering %s, which fails on %" PRIu64
        " of its %" PRIu64 " %s at every radius",
        surety_shortest(c->curve[i].radius, radius), c->majority.label, c->majority.failed, c->inputs.m,
        c->data.unit[0] ? "units" : "examples");
}

/* A vote that answers one class whatever it sees is robust against everything, and S' alone chose which. */
static void say_majority(surety_certificate *c) {
    int votes = is_risk(c, SURETY_RISK_AVERAGED);
    uint64_t other = c->majority.failed, failed = c->counts.max_wrong + c->counts.max_tied;
    int no_better = votes ? c->counts.wrong + c->counts.tied >= other * c->inputs.n : failed >= other;
    if (c->curve_count)
        say_majority_curve(c);
    else if (no_better)
        say(c,
            "; on S this model is no better than always answering %s, which fails on %" PRIu64
            " of its %" PRIu64 " %s",
            c->majority.label, other, c->inputs.m, c->data.unit[0] ? "units" : "examples");
    else if (c->value >= surety_binomial_limit(other, c->inputs.m, c->delta / (double)c->inputs.looks))
        say(c, "; this limit is no better than always answering %s would have", c->majority.label);
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

/* Another sentence, for what is assumed beyond the first: the condition, then what remains. */
static void say_noise(surety_certificate *c) {
    char share[32], end[32];
    percent(c->assumed.noise_share, share);
    if (!strcmp(c->assumed.noise, surety_label_noise_name(SURETY_NOISE_FLIPS))) {
        uint64_t most =
            1000 * (c->data.class_count - 1) / c->data.class_count; /* (K-1)/K: no label is lost */
        say(c,
            "each label of S was replaced by another one%s with one probability, the same for every input "
            "and class, at least %s %% and at most %s %%",
            c->data.class_count > 2 ? ", all others being as likely," : "", share,
            percent((double)most / 1000, end));
    } else if (!strcmp(c->assumed.noise, surety_label_noise_name(SURETY_NOISE_PAIRS)))
        say(c, "at most %s %% of the labels where S was drawn from are wrong", share);
    else
        say(c, "at most %s %% of the labels of S are wrong", share);
}

static void say_shift(surety_certificate *c) {
    static const char *const distances[] = {[SURETY_SHIFT_TV] = "total variation from",
                                            [SURETY_SHIFT_KL] = "KL divergence from",
                                            [SURETY_SHIFT_CHI2] = "chi-square divergence from",
                                            [SURETY_SHIFT_RATIO] = "density relative to"};
    char budget[32];
    surety_shift shift = SURETY_SHIFT_TV;
    surety_shift_parse(c->assumed.shift, &shift, NULL);
    say(c, "new %s with their labels come from another distribution, whose %s that of S is at most %s",
        counted(c), distances[shift], surety_shortest(c->assumed.shift_budget, budget));
}

static void say_assumed(surety_certificate *c) {
    char text[32];
    if (isnan(c->assumed.value) || c->vacuous) return;
    say(c, " If, beyond that, ");
    if (c->assumed.noise[0]) say_noise(c);
    if (c->assumed.noise[0] && c->assumed.shift[0]) say(c, ", and ");
    if (c->assumed.shift[0]) say_shift(c);
    if (c->assumed.value < 1)
        say(c, ", then it fails on at most %s %%", surety_percent_up(c->assumed.value, text));
    else
        say(c, ", then it may fail on all");
    say(c, "%s; this condition was assumed, not measured.",
        c->assumed.noise[0] ? ", judged by right labels" : "");
}

surety_status surety_claim_whole(const char claim[SURETY_CLAIM], surety_error *err) {
    if (strlen(claim) < SURETY_CLAIM - 1) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK,
                "the sentence would be cut off behind %d letters, and conditions stand at its end",
                SURETY_CLAIM - 1);
    surety_fail_expected(err, "shorter names of columns, classes and groups");
    return SURETY_E_CHECK;
}

surety_status surety_certificate_word(surety_certificate *c, surety_error *err) {
    c->claim[0] = 0;
    say_limit(c);
    if (is_risk(c, SURETY_RISK_WORST_CASE))
        say_worst(c);
    else
        say_failure(c);
    say_majority(c);
    say_copies(c);
    say_assumptions(c);
    say_assumed(c);
    return surety_claim_whole(c->claim, err);
}
