/* The facts of a model as texts by key, and back. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
#include "data/tolerance.h"
#include "model/model.h"
#include "surety/bound.h"

static const char *const keys[] = {"kind", "voters", "seed", "priors_compared", "delta",
                                   "norm", "eps",    "box",  "defense",         "objective"};
/* Only where there are any: */
static const char tolerance_key[] = "tolerance", slack_key[] = "slack";

int surety_facts_key(const char *key) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(key, keys[i])) return 1;
    return !strcmp(key, tolerance_key) || !strcmp(key, slack_key);
}

surety_model_facts surety_model_facts_defaults(void) {
    return (surety_model_facts){.voter_set = SURETY_SIGNED,
                                .priors_compared = 1,
                                .delta = 0.05,
                                .ball = surety_ball_defaults(),
                                .defense = "none",
                                .objective = "baseline"};
}

surety_status surety_facts_validate(const surety_model_facts *f, surety_error *err) {
    if (f->seed >= SURETY_SEED_LIMIT) return surety_fail(err, SURETY_E_USAGE, "a seed is below 2^63");
    if (f->priors_compared < 1 || f->priors_compared > SURETY_PRIORS_MOST)
        return surety_fail(err, SURETY_E_USAGE, "at least one prior was compared, and at most 10^9, not %llu",
                           (unsigned long long)f->priors_compared);
    if (!(f->delta > 0 && f->delta < 1))
        return surety_fail(err, SURETY_E_USAGE, "delta is above 0 and below 1, not %g", f->delta);
    if (!f->defense[0] || !memchr(f->defense, 0, sizeof f->defense) || !f->objective[0] ||
        !memchr(f->objective, 0, sizeof f->objective))
        return surety_fail(err, SURETY_E_USAGE, "a model names its defense and its objective");
    return surety_ball_validate(&f->ball, err);
}

static int write_tolerance(const surety_ball *ball, json_t *metadata) {
    char slack[32];
    surety_format(slack, sizeof slack, "%.17g", ball->slack);
    if (ball->slack > 0 && json_object_set_new(metadata, slack_key, surety_json_string(slack))) return 1;
    if (!ball->tolerance) return 0;
    char *text = surety_tolerance_json(ball->tolerance);
    int failed = json_object_set_new(metadata, tolerance_key, text ? surety_json_string(text) : NULL);
    free(text);
    return failed;
}

surety_status surety_facts_write(const surety_model_facts *f, const surety_voters *voters, json_t *metadata,
                                 surety_error *err) {
    char seed[32], priors[32], delta[32], eps[32], box[64] = "none";
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)f->seed);
    snprintf(priors, sizeof priors, "%llu", (unsigned long long)f->priors_compared);
    surety_format(delta, sizeof delta, "%.17g", f->delta);
    surety_format(eps, sizeof eps, "%.17g", f->ball.radius);
    if (f->ball.has_box) surety_format(box, sizeof box, "%.17g,%.17g", f->ball.lo, f->ball.hi);
    const char *values[] = {surety_voters_kind(voters),
                            surety_voter_set_name(f->voter_set),
                            seed,
                            priors,
                            delta,
                            surety_norm_name(f->ball.norm),
                            eps,
                            box,
                            f->defense,
                            f->objective};
    int failed = write_tolerance(&f->ball, metadata);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        failed |= json_object_set_new(metadata, keys[i], surety_json_string(values[i]));
    return failed ? surety_fail(err, SURETY_E_MEMORY, "no memory for the model's facts") : SURETY_OK;
}

static surety_status bad(const char *key, const char *expected, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the model does not say what it is");
    surety_fail_place(err, "key %s", key);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

static int read_u64(const char *text, uint64_t *out) {
    char *end = NULL;
    errno = 0;
    *out = text ? strtoull(text, &end, 10) : 0;
    return text && text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

static int read_real(const char *text, char **end, double *out) {
    *out = text ? surety_number(text, end) : 0;
    return text && *end != text && isfinite(*out);
}

static int read_box(const char *text, surety_ball *ball) {
    double box[2];
    ball->has_box = text && strcmp(text, "none");
    if (!text || !ball->has_box) return text != NULL;
    if (!surety_numbers(text, ',', box, 2)) return 0;
    ball->lo = box[0], ball->hi = box[1];
    return 1;
}

static int read_name(const char *text, char *out, size_t size) {
    if (!text || !text[0] || strlen(text) >= size) return 0;
    strcpy(out, text);
    return 1;
}

static surety_status read_slack(surety_ball *ball, json_t *metadata, surety_error *err) {
    const char *text = json_string_value(json_object_get(metadata, slack_key));
    char *end = NULL;
    if (!json_object_get(metadata, slack_key)) return SURETY_OK;
    if (!read_real(text, &end, &ball->slack) || *end || !(ball->slack > 0 && ball->slack < 1))
        return bad(slack_key, "a number above 0 and below 1", err);
    json_object_del(metadata, slack_key);
    return SURETY_OK;
}

surety_status surety_facts_read_tolerance(surety_model *m, const json_t *metadata, surety_error *err) {
    const char *text = json_string_value(json_object_get(metadata, tolerance_key));
    surety_features features = surety_model_features(m);
    if (!json_object_get(metadata, tolerance_key)) return SURETY_OK;
    if (!text) return bad(tolerance_key, "a text", err);
    surety_error inner = SURETY_ERROR_NONE;
    surety_status status = surety_tolerance_parse(&m->tolerance, text, &features, &inner);
    if (status != SURETY_OK) {
        surety_fail(err, status, "the model's tolerance: %s%s%s", inner.what, *inner.place ? ", " : "",
                    inner.place);
        surety_fail_place(err, "key %s", tolerance_key);
        surety_fail_expected(err, "%s", inner.expected);
        return status;
    }
    m->facts.ball.tolerance = m->tolerance;
    return SURETY_OK;
}

surety_status surety_facts_read(surety_model_facts *f, json_t *metadata, surety_error *err) {
    const char *text[sizeof keys / sizeof *keys];
    surety_error inner = SURETY_ERROR_NONE;
    char *end = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        text[i] = json_string_value(json_object_get(metadata, keys[i]));
        if (!text[i]) return bad(keys[i], "a text", err);
    }
    *f = surety_model_facts_defaults();
    if (surety_voter_set_parse(text[1], &f->voter_set, &inner)) return bad("voters", "signed or real", err);
    if (!read_u64(text[2], &f->seed) || f->seed >= SURETY_SEED_LIMIT)
        return bad("seed", "a number below 2^63", err);
    if (!read_u64(text[3], &f->priors_compared) || !f->priors_compared ||
        f->priors_compared > SURETY_PRIORS_MOST)
        return bad("priors_compared", "a whole number, at least 1 and at most 10^9", err);
    if (!read_real(text[4], &end, &f->delta) || *end || !(f->delta > 0 && f->delta < 1))
        return bad("delta", "a number above 0 and below 1", err);
    if (surety_norm_parse(text[5], &f->ball.norm, &inner)) return bad("norm", "l2, linf or l1", err);
    if (!read_real(text[6], &end, &f->ball.radius) || *end || !(f->ball.radius >= 0) ||
        f->ball.radius > SURETY_LARGEST)
        return bad("eps", "a number of at least 0", err);
    if (!read_box(text[7], &f->ball) || surety_ball_validate(&f->ball, NULL) != SURETY_OK)
        return bad("box", "LO,HI or none", err);
    if (!read_name(text[8], f->defense, sizeof f->defense)) return bad("defense", "a name", err);
    if (!read_name(text[9], f->objective, sizeof f->objective)) return bad("objective", "a name", err);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) json_object_del(metadata, keys[i]);
    return read_slack(&f->ball, metadata, err);
}
