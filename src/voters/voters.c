/* What is the same for every kind of voters, and the majority vote. */
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/parallel.h"
#include "num/level.h"
#include "voters/forest_kernel.h"
#include "voters/kind.h"

#define DECLARE(level) extern const surety_forest_kernels surety_forest_##level;
SURETY_EACH_LEVEL(DECLARE)

const surety_forest_kernels *surety_forest_kernels_at(surety_level level) {
#define ADDRESS(name) &surety_forest_##name,
    static const surety_forest_kernels *const table[] = {SURETY_EACH_LEVEL(ADDRESS)};
    return table[level];
}

surety_status surety_voters_validate(size_t H, size_t d, uint64_t seed, surety_error *err) {
    if (H < 1 || H > SURETY_VOTERS_MOST)
        return surety_fail(err, SURETY_E_USAGE, "there are 1 to %d voters, not %zu", SURETY_VOTERS_MOST, H);
    if (d < 1 || d > SURETY_FEATURES_MOST)
        return surety_fail(err, SURETY_E_USAGE, "voters have 1 to %d features, not %zu", SURETY_FEATURES_MOST,
                           d);
    if (seed >= SURETY_SEED_LIMIT) return surety_fail(err, SURETY_E_USAGE, "a seed is below 2^63");
    return SURETY_OK;
}

surety_status surety_voters_begin(surety_voters **out, const surety_voter_kind *kind, size_t H, size_t d,
                                  size_t classes, surety_error *err) {
    *out = NULL;
    SURETY_TRY(surety_voters_validate(H, d, 0, err));
    SURETY_TRY(surety_alloc(out, 1, sizeof **out, err));
    if (!classes) classes = 2;
    **out = (surety_voters){
        .kind = kind, .H = H, .d = d, .classes = classes, .width = classes == 2 ? 1 : classes};
    return SURETY_OK;
}

surety_status surety_tensor_new(surety_voters *v, const char *name, surety_element type, size_t rank,
                                const size_t *shape, size_t row_axes, surety_error *err) {
    surety_tensor *t = &v->tensors[v->tensor_count++];
    *t = (surety_tensor){.name = name, .rank = rank, .rows = 1, .length = 1, .type = type};
    for (size_t i = 0; i < rank; i++) t->shape[i] = shape[i];
    for (size_t i = 0; i < rank; i++) *(i < row_axes ? &t->rows : &t->length) *= shape[i];
    t->stride = surety_padded(t->length);
    return surety_alloc(&t->bytes, t->rows * t->stride, surety_element_size(type), err);
}

void surety_voters_free(surety_voters *v) {
    if (!v) return;
    v->kind->detach(v);
    for (size_t i = 0; !v->of && i < v->tensor_count; i++) {
        surety_free(v->tensors[i].bytes);
        surety_free((void *)(uintptr_t)v->tensors[i].mask);
    }
    surety_free(v);
}

surety_status surety_voters_view(surety_voters **out, const surety_voters *v, surety_error *err) {
    *out = NULL;
    surety_voters *view = NULL;
    SURETY_TRY(surety_alloc(&view, 1, sizeof *view, err));
    *view = *v;
    view->of = v;
    view->own = NULL;
    surety_status status = v->kind->attach(view, err);
    if (status != SURETY_OK) {
        surety_voters_free(view);
        return status;
    }
    v->kind->prepare(view);
    *out = view;
    return SURETY_OK;
}

void surety_voters_follow(surety_voters *view) {
    if (view->version == view->of->version) return;
    view->kind->prepare(view);
    view->version = view->of->version;
}

/* ---- the kind's functions ---- */

int surety_voters_can(const surety_voters *v, surety_ability ability) {
    switch (ability) {
        case SURETY_CAN_CLIMB:
            return v->kind->gradient_input != NULL;
        case SURETY_CAN_LEARN:
            return v->kind->gradient_sum != NULL;
        case SURETY_CAN_GROW:
            return v->kind->grow != NULL;
        case SURETY_CAN_RANGE:
            return v->kind->range != NULL;
        case SURETY_CAN_HARDEN:
            return (v->kind->worst || v->kind->lowered) && v->kind->gradient_sum;
        case SURETY_CAN_SEARCH:
            return v->kind->range && v->kind->range->find;
        case SURETY_CAN_MISS:
            return v->kind->missing;
        case SURETY_CAN_SCORE:
            return surety_voters_columns(v, &(surety_element){0}) > 0;
        case SURETY_CAN_LOWER:
            return v->kind->lowered != NULL;
    }
    return 0;
}

surety_status surety_voters_need(const surety_voters *v, surety_ability ability, const char *what_for,
                                 surety_error *err) {
    static const struct {
        surety_ability ability;
        const char *missing;
    } words[] = {{SURETY_CAN_CLIMB, "a gradient to the input"},
                 {SURETY_CAN_LEARN, "a gradient to their parameters"},
                 {SURETY_CAN_GROW, "a way to grow"},
                 {SURETY_CAN_RANGE, "limits over a ball"},
                 {SURETY_CAN_HARDEN, "a worst case that can be lowered"},
                 {SURETY_CAN_SEARCH, "a search over a ball"},
                 {SURETY_CAN_MISS, "a way for missing values"},
                 {SURETY_CAN_SCORE, "raw scores"},
                 {SURETY_CAN_LOWER, "a worst case that is a forward pass"}};
    if (surety_voters_can(v, ability)) return SURETY_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].ability == ability)
            surety_fail(err, SURETY_E_USAGE, "%s needs %s, which voters of the kind %s do not have", what_for,
                        words[i].missing, v->kind->name);
    return SURETY_E_USAGE;
}

size_t surety_voters_scratch(const surety_voters *v) {
    return v->kind->scratch(v);
}
void surety_voters_ask(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch) {
    v->kind->forward(v, x, rows, h, scratch);
}
void surety_voters_gradient_input(const surety_voters *v, const float *a, size_t rows, const int *keep,
                                  const surety_gradient_use *use, float *scratch) {
    v->kind->gradient_input(v, a, rows, keep, use, scratch);
}
size_t surety_voters_columns(const surety_voters *v, surety_element *type) {
    return v->kind->columns ? v->kind->columns(v, type) : 0;
}
surety_status surety_voters_check(const surety_voters *v, surety_error *err) {
    return v->kind->check ? v->kind->check(v, err) : SURETY_OK;
}
size_t surety_voters_terms(const surety_voters *v) {
    return v->kind->terms ? v->kind->terms(v) : 0;
}
void surety_voters_gradient_terms(const surety_voters *v, const float *a, size_t rows, float *g,
                                  float *scratch) {
    v->kind->gradient_terms(v, a, rows, g, scratch);
}
void surety_voters_gradient_sum(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                                size_t first, size_t end, float *const *gradients) {
    v->kind->gradient_sum(v, g, x, rows, first, end, gradients);
}
size_t surety_voters_pieces(const surety_voters *v) {
    return v->kind->pieces ? v->kind->pieces(v) : v->H;
}
int surety_voters_on_surface(const surety_voters *v) {
    return v->kind->along != NULL;
}
surety_status surety_voters_along(surety_voters *v, float *const *gradients, const surety_run *run,
                                  surety_error *err) {
    return v->kind->along(v, gradients, run, err);
}
surety_status surety_voters_back(surety_voters *v, const surety_run *run, surety_error *err) {
    SURETY_TRY(v->kind->back(v, run, err));
    surety_voters_changed(v);
    return SURETY_OK;
}
void surety_voters_ask_lowered(const surety_voters *v, const surety_ball *ball, double radius,
                               const surety_examples *e, float *h, float *scratch) {
    v->kind->lowered(v, ball, radius, e, h, scratch);
}
surety_status surety_voters_grow(surety_voters *v, surety_growth *growth, surety_error *err) {
    return v->kind->grow(v, growth, err);
}
void surety_voters_theta(const surety_voters *v, double *theta) {
    for (size_t t = 0; t < v->H; t++) theta[t] = 0;
    if (v->kind->theta) v->kind->theta(v, theta);
}

surety_status surety_voters_trim(surety_voters **v, surety_error *err) {
    surety_voters *small;
    if (!(*v)->kind->trim) return SURETY_OK;
    SURETY_TRY((*v)->kind->trim(&small, *v, err));
    surety_voters_free(*v);
    *v = small;
    return SURETY_OK;
}

static int same_tensor(const surety_tensor *a, const surety_tensor *b) {
    return a->type == b->type && a->rows == b->rows && a->length == b->length &&
           !memcmp(a->bytes, b->bytes, a->rows * a->stride * surety_element_size(a->type));
}

int surety_voters_same(const surety_voters *a, const surety_voters *b) {
    int same = a->kind == b->kind && a->H == b->H && a->d == b->d && a->classes == b->classes &&
               a->depth == b->depth;
    for (size_t i = 0; same && i < a->tensor_count; i++) same = same_tensor(&a->tensors[i], &b->tensors[i]);
    return same;
}

const char *surety_voters_kind(const surety_voters *v) {
    return v->kind->name;
}
const char *surety_voters_words(const surety_voters *v) {
    return v->kind->words;
}
size_t surety_voters_count(const surety_voters *v) {
    return v->H;
}
size_t surety_voters_features(const surety_voters *v) {
    return v->d;
}
size_t surety_voters_classes(const surety_voters *v) {
    return v->classes;
}
size_t surety_voters_width(const surety_voters *v) {
    return v->width;
}
size_t surety_voters_depth(const surety_voters *v) {
    return v->depth;
}
size_t surety_voters_tensors(const surety_voters *v) {
    return v->tensor_count;
}
surety_tensor surety_voters_tensor(const surety_voters *v, size_t index) {
    return v->tensors[index];
}
void surety_voters_moved(surety_voters *v) {
    v->version++;
}
void surety_voters_changed(surety_voters *v) {
    surety_voters_moved(v);
    v->kind->prepare(v);
}

size_t surety_rows_close(float *rows, size_t ld, size_t count, const int *keep) {
    size_t kept = 0;
    for (size_t r = 0; r < count; r++) {
        if (keep && !keep[r]) continue;
        if (kept < r) memcpy(rows + kept * ld, rows + r * ld, ld * sizeof *rows);
        kept++;
    }
    return kept;
}

void surety_rows_sum(const float *rows, size_t ld, size_t count, size_t width, float *sums) {
    for (size_t i = 0; i < width; i++) sums[i] = 0;
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < width; i++) sums[i] += rows[r * ld + i];
}

/* ---- names ---- */

static const char *const norms[] = {"l2", "linf", "l1"};
static const char *const sets[] = {"signed", "real"};

#define PARSE(function, type, what, names)                                                          \
    surety_status function(const char *name, type *out, surety_error *err) {                        \
        size_t index = 0;                                                                           \
        SURETY_TRY(surety_name_find(what, name, names, sizeof names / sizeof *names, &index, err)); \
        *out = (type)index;                                                                         \
        return SURETY_OK;                                                                           \
    }
PARSE(surety_norm_parse, surety_norm, "norm", norms)
PARSE(surety_voter_set_parse, surety_voter_set, "voter set", sets)
const char *surety_norm_name(surety_norm norm) {
    return norms[norm];
}
const char *surety_voter_set_name(surety_voter_set set) {
    return sets[set];
}
