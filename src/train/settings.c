/* Settings of a training as the text that its model keeps, and back. What is read back is written again and
 * must give the same bytes, and it must give the facts and the data that the model states: a file in which
 * one of them was changed contradicts itself. */
#include "train/settings.h"

#include <stdlib.h>
#include <string.h>

#include "data/classes.h"
#include "io/path.h"
#include "io/sha256.h"
#include "model/model.h"

/* ---- writing ---- */

static json_t *attack_json(const surety_threat *a) {
    json_t *attack = SURETY_JSON_OBJECT(
        {"name", surety_json_string(surety_threat_name(a->kind))},
        {"norm", surety_json_string(surety_norm_name(a->ball.norm))},
        {"eps", surety_json_real(a->ball.radius)},
        {"box", a->ball.has_box ? SURETY_JSON_OBJECT({"lo", surety_json_real(a->ball.lo)},
                                                     {"hi", surety_json_real(a->ball.hi)})
                                : json_null()},
        {"steps", surety_json_count(a->steps)}, {"step_size", surety_json_real(surety_threat_step(a))},
        {"noise", surety_json_real(a->noise)}, {"restarts", surety_json_count(a->restarts)});
    if (a->ball.tolerance)
        attack = surety_json_put(attack, "tolerance", surety_json_string(a->ball.tolerance->sha256));
    if (a->ball.slack > 0) attack = surety_json_put(attack, "slack", surety_json_real(a->ball.slack));
    return attack;
}

static json_t *layers_json(const size_t *layers) {
    json_t *list = json_array();
    for (size_t l = 0; l < SURETY_LAYERS && layers[l]; l++)
        if (json_array_append_new(list, surety_json_count(layers[l]))) json_decref(list), list = NULL;
    return list;
}

char *surety_train_settings_text(const surety_train_settings *s, const surety_data_info *info) {
    json_t *data = SURETY_JSON_OBJECT(
        {"classes", surety_labels_json(info->labels, info->classes, info->whole)},
        {"learn_size", surety_json_count(info->learn_size)},
        {"test_size", surety_json_count(info->test_size)}, {"split_seed", surety_json_count(info->seed)});
    json_t *all = SURETY_JSON_OBJECT(
        {"objective", surety_json_string(surety_objective_name(s->objective))},
        {"loss", surety_json_string(surety_loss_name(s->loss))}, {"defense", attack_json(&s->defense)},
        {"voters", surety_json_string(surety_voter_set_name(s->voter_set))},
        {"kind", surety_json_string(s->voters.kind)}, {"trees", surety_json_count(s->voters.count)},
        {"depth", surety_json_count(s->voters.depth)}, {"mask", surety_json_real(s->voters.mask)},
        {"step1_epochs", surety_json_count(s->step1_epochs)},
        {"step2_epochs", surety_json_count(s->step2_epochs)}, {"batch", surety_json_count(s->batch)},
        {"lr", surety_json_real(s->lr)}, {"balance", json_boolean(s->balance)},
        {"delta", surety_json_real(s->delta)}, {"holdout", surety_json_real(s->holdout)},
        {"mix", surety_json_real(s->mix)}, {"keep_last", json_boolean(s->keep_last)},
        {"decay", json_boolean(s->decay)}, {"seed", surety_json_count(s->seed)}, {"data", data},
        {"rows_prior", surety_json_string(info->set_sha256[SURETY_SET_PRIOR])},
        {"rows_learn", surety_json_string(info->set_sha256[SURETY_SET_LEARN])});
    if (s->voters.apart) all = surety_json_put(all, "apart", json_true());
    if (s->augment != SURETY_AUGMENT_NONE)
        all = surety_json_put(all, "augment", surety_json_string(surety_augment_name(s->augment)));
    if (s->voters.layers[0]) all = surety_json_put(all, "layers", layers_json(s->voters.layers));
    char sum[SURETY_SHA256_TEXT] = "";
    const char *preparation = info->preparation; /* digests of rows do not depend on it */
    if (preparation && surety_sha256(preparation, strlen(preparation), sum, NULL) != SURETY_OK) {
        json_decref(all);
        return NULL;
    }
    if (preparation) all = surety_json_put(all, "preparation", surety_json_string(sum));
    return surety_json_canonical(all);
}

uint64_t surety_train_priors(const surety_train_settings *s) {
    return s->holdout > 0 || s->keep_last ? 1 : s->step1_epochs;
}

void surety_train_facts(const surety_train_settings *s, surety_model_facts *facts) {
    *facts = surety_model_facts_defaults();
    facts->voter_set = s->voter_set;
    facts->seed = s->seed;
    facts->priors_compared = surety_train_priors(s);
    facts->delta = s->delta;
    facts->ball = s->defense.ball;
    strcpy(facts->defense, surety_defense_name(s->defense.kind));
    strcpy(facts->objective, surety_objective_name(s->objective));
}

/* ---- reading ---- */

/* What is not there or of another type becomes 0 or "": writing it again will show it. */
static const char *text_at(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}
static double real_at(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}
static uint64_t count_at(const json_t *object, const char *key) {
    json_int_t count = json_integer_value(json_object_get(object, key));
    return count > 0 ? (uint64_t)count : 0;
}
static int flag_at(const json_t *object, const char *key) {
    return json_is_true(json_object_get(object, key));
}

static void read_threat(surety_threat *t, const json_t *from) {
    const json_t *box = json_object_get(from, "box");
    *t = surety_threat_defaults();
    surety_threat_parse(text_at(from, "name"), &t->kind, NULL);
    surety_norm_parse(text_at(from, "norm"), &t->ball.norm, NULL);
    t->ball.radius = real_at(from, "eps");
    t->ball.slack = real_at(from, "slack");
    t->ball.has_box = json_is_object(box);
    if (t->ball.has_box) t->ball.lo = real_at(box, "lo"), t->ball.hi = real_at(box, "hi");
    t->steps = (size_t)count_at(from, "steps");
    t->step_size = real_at(from, "step_size");
    t->noise = real_at(from, "noise");
    t->restarts = (size_t)count_at(from, "restarts");
    t->samples = 1;
}

static void read_settings(surety_train_settings *s, const json_t *from) {
    const char *kind = text_at(from, "kind");
    *s = surety_train_defaults();
    surety_objective_parse(text_at(from, "objective"), &s->objective, NULL);
    surety_loss_parse(text_at(from, "loss"), &s->loss, NULL);
    read_threat(&s->defense, json_object_get(from, "defense"));
    surety_voter_set_parse(text_at(from, "voters"), &s->voter_set, NULL);
    for (size_t i = 0; surety_kind_name(i); i++)
        if (!strcmp(surety_kind_name(i), kind)) s->voters.kind = surety_kind_name(i);
    s->voters.count = (size_t)count_at(from, "trees");
    s->voters.depth = (size_t)count_at(from, "depth");
    s->voters.mask = real_at(from, "mask");
    s->voters.apart = flag_at(from, "apart");
    const json_t *layers = json_object_get(from, "layers");
    for (size_t l = 0; l < SURETY_LAYERS; l++) {
        json_int_t units = json_integer_value(json_array_get(layers, l));
        s->voters.layers[l] = units > 0 ? (size_t)units : 0;
    }
    s->step1_epochs = (size_t)count_at(from, "step1_epochs");
    s->step2_epochs = (size_t)count_at(from, "step2_epochs");
    s->batch = (size_t)count_at(from, "batch");
    s->lr = real_at(from, "lr");
    s->delta = real_at(from, "delta");
    s->holdout = real_at(from, "holdout");
    s->mix = real_at(from, "mix");
    s->keep_last = flag_at(from, "keep_last");
    s->decay = flag_at(from, "decay");
    s->balance = flag_at(from, "balance");
    surety_augment_parse(text_at(from, "augment"), &s->augment, NULL);
    s->seed = s->defense.seed = count_at(from, "seed");
}

/* ---- does the model contradict itself? ---- */

static surety_status contradiction(const char *key, const char *says, surety_error *err) {
    surety_fail(err, SURETY_E_CHECK, "the model contradicts itself: its %s is not that of its settings%s%s",
                key, *says ? ", " : "", says);
    surety_fail_place(err, "key %s", key);
    return SURETY_E_CHECK;
}

/* Are the networks of the layers that the settings say? */
static int same_layers(const surety_voters *voters, const size_t *layers) {
    size_t units[SURETY_LAYERS] = {0};
    surety_voters_layers(voters, units);
    return !memcmp(units, layers, sizeof units);
}

static surety_status check_facts(const surety_model *model, const surety_train_settings *s,
                                 surety_error *err) {
    const surety_model_facts *is = surety_model_about(model);
    const surety_voters *voters = surety_model_voters(model);
    surety_model_facts must;
    surety_train_facts(s, &must);
    size_t depth = surety_voters_depth(voters), nodes, count = surety_voters_count(voters);
    size_t grown = surety_voters_trees(voters, &nodes), columns = surety_voters_classes(voters);
    columns = columns * (columns - 1) / 2; /* a tree for each pair of classes */
    const struct {
        const char *key;
        int same;
    } facts[] = {
        {"priors_compared", is->priors_compared == must.priors_compared},
        {"seed", is->seed == must.seed},
        {"delta", is->delta == must.delta},
        {"norm", is->ball.norm == must.ball.norm},
        {"eps", is->ball.radius == must.ball.radius},
        {"slack", is->ball.slack == must.ball.slack},
        {"box", is->ball.has_box == must.ball.has_box &&
                    (!is->ball.has_box || (is->ball.lo == must.ball.lo && is->ball.hi == must.ball.hi))},
        {"defense", !strcmp(is->defense, must.defense)},
        {"objective", !strcmp(is->objective, must.objective)},
        {"voters", is->voter_set == must.voter_set},
        {"kind", !strcmp(surety_voters_kind(voters), s->voters.kind) &&
                     (!grown || surety_voters_duels(voters) == (surety_voters_classes(voters) > 2))},
        {"trees", grown ? grown <= s->voters.count * columns : count == s->voters.count},
        {"layers", same_layers(voters, s->voters.layers)},
        {"depth", grown ? depth <= s->voters.depth : !depth || depth == s->voters.depth},
    };
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
        if (!facts[k].same) return contradiction(facts[k].key, "", err);
    return SURETY_OK;
}

/* The part of the data's description that settings repeat, from the model's texts. */
static void describe_data(const surety_model *m, surety_data_info *info) {
    static const char *const keys[] = {"data.prior", "data.learn"};
    const char *split = surety_model_text(m, "data.split"), *classes = surety_model_text(m, "data.classes");
    uint64_t learn = 0, test = 0;
    surety_model_count(m, "data.learn_size", &learn, NULL);
    surety_model_count(m, "data.test_size", &test, NULL);
    *info = (surety_data_info){.classes = m->class_count,
                               .labels = m->labels,
                               .whole = classes && classes[0] != '[',
                               .preparation = surety_model_text(m, "data.preparation"),
                               .learn_size = (size_t)learn,
                               .test_size = (size_t)test,
                               .seed = split ? strtoull(split, NULL, 10) : 0};
    for (int k = SURETY_SET_PRIOR; k <= SURETY_SET_LEARN; k++) {
        const char *digest = surety_model_text(m, keys[k]);
        size_t length = digest ? strlen(digest) : 0;
        if (length < sizeof info->set_sha256[k])
            memcpy(info->set_sha256[k], digest ? digest : "", length + 1);
    }
}

/* The first key of the settings that is not what it would be if they were written again. */
static surety_status check_text(const surety_model *model, const surety_train_settings *s,
                                const json_t *stated, const char *text, surety_error *err) {
    surety_data_info info;
    describe_data(model, &info);
    char *again = surety_train_settings_text(s, &info);
    json_t *written = NULL, *value;
    const char *key, *which = "text";
    if (!again) return surety_fail(err, SURETY_E_MEMORY, "no memory for the settings");
    int same = !strcmp(again, text);
    if (!same) surety_json_parse(&written, again, strlen(again), "settings", NULL);
    free(again);
    if (same) return SURETY_OK;
    json_object_foreach(written, key, value) {
        if (json_equal(value, json_object_get(stated, key))) continue;
        which = key;
        break;
    }
    surety_status status = contradiction(
        !strcmp(which, "data") || !strncmp(which, "rows_", 5) ? "data" : "settings", which, err);
    json_decref(written);
    return status;
}

/* jansson asserts where memory ends inside the first number that makes its buffer grow: a long text comes
 * first. (Whatever else text could be, written again it is not the same.) And it takes a lack of memory for
 * bad JSON: whether there is some is asked again. */
static surety_status parse(const char *text, json_t **list, surety_error *err) {
    char *wrapped = NULL;
    surety_error inner = SURETY_ERROR_NONE;
    SURETY_TRY(surety_join(&wrapped, "[\"a text longer than any number, which has twenty-four digits\",",
                           text, "]", err));
    surety_status status = surety_json_parse(list, wrapped, strlen(wrapped), "settings", &inner);
    surety_free(wrapped);
    if (status == SURETY_OK) return SURETY_OK;
    json_t *probe = inner.code == SURETY_E_MEMORY ? NULL : json_string("memory");
    if (!probe) return surety_fail(err, SURETY_E_MEMORY, "no memory for the settings");
    json_decref(probe);
    return contradiction("settings", inner.what, err);
}

surety_status surety_train_recorded(const surety_model *model, surety_train_settings *out,
                                    surety_error *err) {
    const char *text = surety_model_text(model, "settings");
    json_t *list = NULL;
    if (!text) {
        surety_fail(err, SURETY_E_INPUT, "the model does not say how it was trained");
        surety_fail_place(err, "key settings");
        return SURETY_E_INPUT;
    }
    SURETY_TRY(parse(text, &list, err));
    const json_t *stated = json_array_get(list, 1);
    read_settings(out, stated);
    out->defense.ball.tolerance = surety_model_about(model)->ball.tolerance;
    surety_status status = check_facts(model, out, err);
    if (status == SURETY_OK) status = check_text(model, out, stated, text, err);
    json_decref(list);
    return status == SURETY_OK ? surety_train_validate(out, err) : status;
}

surety_status surety_train_consistent(const surety_model *model, surety_error *err) {
    surety_train_settings settings;
    return surety_model_text(model, "settings") ? surety_train_recorded(model, &settings, err) : SURETY_OK;
}
