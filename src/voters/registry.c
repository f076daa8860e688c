/* The kinds of voters. A further kind is one file and one line here. */
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "voters/kind.h"

#ifdef SURETY_TEST_KIND /* tests/voters/test_kinds.c shows that one line is enough */
extern const surety_voter_kind SURETY_TEST_KIND;
#define TEST_KIND &SURETY_TEST_KIND,
#else
#define TEST_KIND
#endif

/* clang-format off */
static const surety_voter_kind *const kinds[] = {
    &surety_kind_soft_forest,
    &surety_kind_linear,
    &surety_kind_trees,
    &surety_kind_lipschitz,
    TEST_KIND
};
/* clang-format on */
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *surety_kind_name(size_t index) {
    return index < KINDS ? kinds[index]->name : NULL;
}

const surety_voter_kind *surety_kind_find(const char *name, surety_error *err) {
    const char *names[KINDS];
    size_t index = 0;
    for (size_t i = 0; i < KINDS; i++) names[i] = kinds[i]->name;
    return surety_name_find("kind of voters", name, names, KINDS, &index, err) == SURETY_OK ? kinds[index]
                                                                                            : NULL;
}

int surety_kind_duels(const char *name, size_t classes) {
    const surety_voter_kind *kind = surety_kind_find(name, NULL);
    return kind && kind->duels && classes > 2;
}

surety_voters_settings surety_voters_defaults(void) {
    return (surety_voters_settings){
        .kind = surety_kind_soft_forest.name, .count = 25, .depth = 2, .mask = 0.5};
}

surety_status surety_voters_new(const surety_voters_settings *settings, size_t d, uint64_t seed,
                                surety_voters **out, surety_error *err) {
    *out = NULL;
    const surety_voter_kind *kind = surety_kind_find(settings->kind, err);
    if (!kind) return SURETY_E_USAGE;
    SURETY_TRY(surety_voters_validate(settings->count, d, seed, err));
    if (settings->classes == 1 || settings->classes > kind->classes)
        return surety_fail(err, SURETY_E_USAGE, "%s tell 2 to %zu classes apart, not %zu", kind->words,
                           kind->classes, settings->classes);
    return kind->make(out, settings, d, seed, err);
}

surety_status surety_voters_open(surety_voters **out, const char *name, const surety_shape *shapes,
                                 size_t count, surety_error *err) {
    *out = NULL;
    surety_error inner = SURETY_ERROR_NONE;
    const surety_voter_kind *kind = name ? surety_kind_find(name, &inner) : NULL;
    if (kind) return kind->open(out, shapes, count, err);
    surety_fail(err, SURETY_E_INPUT, "the model does not say which voters it has");
    surety_fail_place(err, "key kind");
    char names[256] = "";
    for (size_t i = 0; i < KINDS; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? (i + 1 < KINDS ? ", " : " or ") : "",
                 kinds[i]->name);
    }
    surety_fail_expected(err, "%s", names);
    return SURETY_E_INPUT;
}

/* ---- shapes of a file ---- */

surety_status surety_shape_wrong(const char *name, const char *what, const char *expected,
                                 surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "%s", what);
    surety_fail_place(err, "tensor '%s'", name);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

const surety_shape *surety_shape_find(const surety_shape *shapes, size_t count, const char *name, size_t rank,
                                      surety_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(shapes[i].name, name)) continue;
        if (!rank || shapes[i].rank == rank) return &shapes[i];
        surety_shape_wrong(name, "its shape has another number of axes", "as many as its kind has", err);
        return NULL;
    }
    surety_shape_wrong(name, "it is missing", "a model of this kind to have it", err);
    return NULL;
}

surety_status surety_shape_classes(const surety_shape *shape, size_t axes, size_t *classes,
                                   surety_error *err) {
    *classes = shape->rank == axes ? 2 : shape->shape[axes];
    if (shape->rank == axes || (shape->rank == axes + 1 && *classes > 2 && *classes <= SURETY_CLASSES_MOST))
        return SURETY_OK;
    return surety_shape_wrong(shape->name, "its shape is not that of voters of some classes",
                              "two classes without an axis of their own, or 3 to 255 in the last one", err);
}
