/* Settings that suit a kind, one row per kind: trees that grow (docs/theory.md 10.5) and networks (11). A row
 * sets, refuses and warns. */
#include "train/recipe.h"

#include <string.h>

#include "base/error.h"

typedef struct recipe {
    const char *kind;
    void (*settle)(surety_train_settings *s);
    void (*own)(surety_train_settings *s); /* the same for own data */
    void (*follow)(surety_train_settings *s, size_t classes, int set_chosen);
    surety_status (*validate)(const surety_train_settings *s, surety_error *err);
    const char *(*warning)(const surety_train_settings *s);
} recipe;

/* ---- trees that grow: one voter, a sum of trees; or, for a step 2, as many voters ---- */

static void settle_trees(surety_train_settings *s) {
    s->voters.count = s->step1_epochs = SURETY_GROWN_TREES;
    s->voters.depth = SURETY_GROWN_DEPTH;
    s->voters.mask = SURETY_GROWN_MASK;
    s->voter_set = SURETY_REAL;
    s->lr = SURETY_GROWN_RATE;
    s->decay = s->keep_last = 0;
    s->holdout = SURETY_GROWN_HOLDOUT;
    s->objective = SURETY_OBJECTIVE_BASELINE;
}

/* Tables are small: no row is held out to choose, and deeper trees that see fewer features of a split err
 * less. */
static void own_trees(surety_train_settings *s) {
    settle_trees(s);
    s->voters.count = s->step1_epochs = SURETY_TABLE_TREES;
    s->voters.depth = SURETY_TABLE_DEPTH;
    s->voters.mask = SURETY_TABLE_MASK;
    s->holdout = 0;
    s->keep_last = 1;
}

static void follow_trees(surety_train_settings *s, size_t classes, int set_chosen) {
    (void)classes, (void)set_chosen;
    s->step1_epochs = s->voters.count;
    s->voters.apart = s->objective != SURETY_OBJECTIVE_BASELINE;
}

static surety_status validate_trees(const surety_train_settings *s, surety_error *err) {
    if (s->defense.kind != SURETY_ATTACK_NONE && s->defense.kind != SURETY_WORST_CASE)
        return surety_fail(err, SURETY_E_USAGE,
                           "trees are grown with the defense none or certified, not with %s",
                           surety_defense_name(s->defense.kind));
    if (s->defense.kind == SURETY_WORST_CASE && s->defense.ball.norm != SURETY_LINF) {
        surety_fail(err, SURETY_E_USAGE, "trees are grown against linf balls, not against %s",
                    surety_norm_name(s->defense.ball.norm));
        surety_fail_expected(err,
                             "--norm linf, or another kind: one feature that moves by the whole radius "
                             "of an l2 or l1 ball crosses any threshold");
        return SURETY_E_USAGE;
    }
    if (s->voter_set != SURETY_REAL)
        return surety_fail(err, SURETY_E_USAGE,
                           "grown trees add up: they go with real votes, as signed ones are another "
                           "classifier");
    if (s->objective != SURETY_OBJECTIVE_BASELINE && !s->voters.apart)
        return surety_fail(err, SURETY_E_USAGE,
                           "a sum of trees is one voter and has no weights to learn: the objective is "
                           "baseline, or trees are made apart");
    if (s->mix > 0) return surety_fail(err, SURETY_E_USAGE, "trees that grow have no --mix");
    if (s->step1_epochs != s->voters.count)
        return surety_fail(err, SURETY_E_USAGE, "an epoch grows a tree: %zu trees need as many, not %zu",
                           s->voters.count, s->step1_epochs);
    return SURETY_OK;
}

static const char *nothing_to_say(const surety_train_settings *s) {
    (void)s;
    return NULL;
}

/* ---- networks ---- */

/* Own data keep the loss and the epochs of surety_train_table: on small tables the bounded loss is no better
 * (docs/notes/lipschitz.md). */
static void settle_lipschitz(surety_train_settings *s) {
    s->defense.kind = SURETY_WORST_CASE;
    s->voters.count = 1;
    s->voters.depth = 0;
    s->voters.mask = 0;
    memset(s->voters.layers, 0, sizeof s->voters.layers);
    s->voters.layers[0] = s->voters.layers[1] = SURETY_NETWORK_UNITS;
    s->voter_set = SURETY_REAL;
    if (s->step1_epochs) s->step1_epochs = SURETY_NETWORK_EPOCHS;
    s->lr = SURETY_NETWORK_RATE;
    s->batch = SURETY_NETWORK_BATCH;
    s->decay = s->keep_last = 1;
    s->objective = SURETY_OBJECTIVE_BASELINE;
}

static void own_lipschitz(surety_train_settings *s) {
    surety_train_table(s);
    settle_lipschitz(s);
}

static void follow_lipschitz(surety_train_settings *s, size_t classes, int set_chosen) {
    if (!set_chosen) s->voter_set = s->voters.count == 1 && classes == 2 ? SURETY_SIGNED : SURETY_REAL;
}

/* A batch's sums have no more rows than lipschitz.h says. */
static surety_status validate_lipschitz(const surety_train_settings *s, surety_error *err) {
    enum { LARGEST = 4096 };
    if (s->batch <= LARGEST) return SURETY_OK;
    return surety_fail(err, SURETY_E_USAGE, "networks are trained with batches of at most %d, not %zu",
                       LARGEST, s->batch);
}

static const char *warn_lipschitz(const surety_train_settings *s) {
    if (s->defense.ball.norm != SURETY_LINF) return NULL;
    return "these networks measure l2 distances, and a linf ball reaches radius times sqrt(features): little "
           "will be proved. --kind trees is the kind for linf";
}

/* ---- the table ---- */

static const recipe recipes[] = {
    {"trees", settle_trees, own_trees, follow_trees, validate_trees, nothing_to_say},
    {"lipschitz", settle_lipschitz, own_lipschitz, follow_lipschitz, validate_lipschitz, warn_lipschitz},
};

static const recipe *find(const surety_train_settings *s) {
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (!strcmp(s->voters.kind, recipes[i].kind)) return &recipes[i];
    return NULL;
}

int surety_train_kind(surety_train_settings *s) {
    const recipe *r = find(s);
    if (r) r->settle(s);
    return r != NULL;
}

void surety_train_own(surety_train_settings *s) {
    const recipe *r = find(s);
    surety_threat_kind defense = s->defense.kind;
    if (r)
        r->own(s);
    else
        surety_train_table(s);
    s->defense.kind = defense;
}

void surety_train_follow(surety_train_settings *s, size_t classes, int set_chosen) {
    const recipe *r = find(s);
    if (r) r->follow(s, classes, set_chosen);
}

const char *surety_train_warning(const surety_train_settings *s) {
    const recipe *r = find(s);
    return r ? r->warning(s) : NULL;
}

surety_status surety_recipe_validate(const surety_train_settings *s, surety_error *err) {
    const recipe *r = find(s);
    return r ? r->validate(s, err) : SURETY_OK;
}
