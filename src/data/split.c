/* From tables, which files or arrays filled, to S', S and T: pick the classes, split, check every
 * feature (docs/theory.md 1 and 6). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "data/copies.h"
#include "data/data.h"
#include "data/digest.h"
#include "data/fit.h"

enum { TASK_LEARN = 5000 }; /* examples of S, of a task */

/* ---- two tables ---- */

/* Row by row, so that it does not matter where they come from; it ends at the first row that differs. */
static surety_status same_rows(const surety_table *a, const surety_table *b, int *same, surety_error *err) {
    float *x = NULL;
    *same = 0;
    if (a->rows != b->rows) return SURETY_OK;
    SURETY_TRY(surety_alloc(&x, 2 * a->d, sizeof *x, err));
    size_t i = 0;
    for (; i < a->rows; i++) {
        surety_table_row(a, i, x);
        surety_table_row(b, i, x + a->d);
        size_t j = 0;
        while (j < a->d && (x[j] == x[a->d + j] || (isnan(x[j]) && isnan(x[a->d + j])))) j++;
        if (j < a->d) break;
    }
    *same = i == a->rows;
    surety_free(x);
    return SURETY_OK;
}

/* No unit is in both: it would be in two sets. Both tables number units alike. */
static surety_status check_units(const surety_tables *o, surety_error *err) {
    const surety_labels *units = &o->test.units;
    size_t row = 0;
    if (!units->of) return SURETY_OK;
    while (row < o->test.rows && units->of[row] >= o->train.units.count) row++; /* also those without one */
    if (row == o->test.rows) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the unit '%.64s' is in the training file too",
                units->names[units->of[row]]);
    surety_fail_expected(err, "other units than those of %s", o->train.name);
    surety_table_file_place(&o->test, row, o->test.columns.unit, err);
    return SURETY_E_INPUT;
}

/* The two must fit, and must not be the same rows twice. */
static surety_status compare_tables(const surety_tables *o, surety_error *err) {
    int same = 0;
    if (!o->has_test) return SURETY_OK;
    if (o->train.d != o->test.d || o->train.scale != o->test.scale) {
        surety_fail(err, SURETY_E_INPUT, "%zu features%s, but the training rows have %zu%s", o->test.d,
                    o->test.scale > 1 ? " in bytes" : "", o->train.d, o->train.scale > 1 ? " in bytes" : "");
        surety_fail_expected(err, "the same features in both");
        surety_fail_file(err, o->test.name);
        return SURETY_E_INPUT;
    }
    SURETY_TRY(check_units(o, err));
    SURETY_TRY(same_rows(&o->train, &o->test, &same, err));
    if (!same) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the test rows have the same content as the training rows");
    surety_fail_expected(err, "other rows than those of %s, or a test size instead", o->train.name);
    surety_fail_file(err, o->test.name);
    return SURETY_E_INPUT;
}

/* ---- rows of the classes ---- */

/* Rows of the classes in the table's order, and by row of the table its class and digest (data/digest.h). */
typedef struct picked {
    uint32_t *rows;
    size_t count;
    uint8_t *classes, *digests;
} picked;

static surety_status pick(picked *p, const surety_table *t, surety_data_info *info, int test,
                          const surety_run *run, surety_error *err) {
    SURETY_TRY(surety_alloc(&p->rows, t->rows, sizeof *p->rows, err));
    SURETY_TRY(surety_alloc(&p->classes, t->rows, 1, err));
    SURETY_TRY(surety_classes_of_rows(info, t, p->classes, err));
    for (size_t i = 0; i < t->rows; i++)
        if (p->classes[i] < info->classes)
            p->rows[p->count++] = (uint32_t)i;
        else if (!info->left_out[test]++)
            snprintf(info->left_out_label, sizeof info->left_out_label, "%s",
                     t->labels.names[t->labels.of[i]]);
    return surety_digest_rows(&p->digests, t, p->rows, p->count, run, err);
}

/* A unit that lost rows to other units fails less often than it will in use. */
static surety_status check_whole_units(const surety_table *t, surety_error *err) {
    if (!t->units.of) return SURETY_OK;
    surety_fail(err, SURETY_E_USAGE,
                "equal rows are dropped one by one, and units are counted: a unit without some of its rows "
                "fails less often than a whole one");
    surety_fail_expected(err, "--copies keep or refuse; or rows without --unit");
    return SURETY_E_USAGE;
}

/* Copies are dropped here, before anything is split, so that no set decides which of them stays. */
static surety_status drop_copies(picked *p, const surety_table *t, const surety_known *known,
                                 surety_data_info *info, surety_error *err) {
    size_t count = p->count, at = 0;
    if (info->copies_rule != SURETY_COPIES_DROP) return SURETY_OK;
    SURETY_TRY(check_whole_units(t, err));
    surety_kinds kinds = {.classes = p->classes, .groups = t->groups.of};
    SURETY_TRY(surety_copies_drop(p->rows, &p->count, p->digests, known, info->seed, &kinds, err));
    info->copies.dropped += count - p->count;
    if (!known) info->dropped_other_class = kinds.other_class, info->dropped_other_group = kinds.other_group;
    for (size_t i = 0; i < t->rows; i++)
        if (at < p->count && p->rows[at] == i)
            at++;
        else
            p->classes[i] = SURETY_CLASSES_MOST;
    return SURETY_OK;
}

static void drop(picked *p) {
    surety_free(p->rows);
    surety_free(p->classes);
    surety_free(p->digests);
}

/* ---- splitting ---- */

/* The rows of the training table that each set gets, in the set's order. */
typedef struct chosen {
    uint32_t *rows;
    size_t first[SURETY_SETS], m[SURETY_SETS]; /* a set's part of rows */
} chosen;

/* A number, or a share of what there is. */
static size_t size_of(size_t size, double share, size_t count) {
    return size ? size : (size_t)(share * (double)count);
}

/* How many of count become S and T. */
static surety_status settle_sizes(surety_data_info *info, const surety_data_settings *s, int has_test,
                                  size_t count, const char *path, surety_error *err) {
    const char *what = info->unit ? "units" : "rows";
    size_t learn = info->task && !s->learn_size ? TASK_LEARN : size_of(s->learn_size, s->learn_share, count);
    size_t test = has_test ? 0 : size_of(s->test_size, s->test_share, count);
    if (!learn) learn = 1;
    if (!test && !has_test && s->test_share > 0) test = 1;
    if (s->fresh) learn = count, test = 0;
    info->learn_size = learn, info->test_size = test;
    if (s->fresh ? count > 0 : count > learn + test) return SURETY_OK;
    if (s->fresh) {
        surety_fail(err, SURETY_E_INPUT, "no row has a label that is one of the model's classes");
        surety_fail_expected(err, "rows of its classes: 'surety inspect MODEL' names them");
    } else {
        surety_fail(err, SURETY_E_INPUT, "%zu %s of the classes are too few", count, what);
        surety_fail_expected(err, "at least %zu: %zu for S (--learn-size), %zu for T, and one for S'",
                             learn + test + 1, learn, test);
    }
    surety_fail_file(err, path);
    return SURETY_E_INPUT;
}

static surety_status no_unit(const surety_table *t, size_t row, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the row has no unit: its '%.64s' is missing",
                t->columns.names[t->columns.unit]);
    surety_fail_expected(err, "a value in every row that says which rows belong together");
    surety_table_file_place(t, row, t->columns.unit, err);
    return SURETY_E_INPUT;
}

/* The group that each of these rows of a table is in, numbered as they first occur; *count of them. A row is
 * a group of its own, or the rows of a unit are one. */
static surety_status group_rows(uint32_t *group, size_t *count, const surety_table *t, const uint32_t *rows,
                                size_t m, surety_error *err) {
    uint32_t *number = NULL; /* by unit of the table: that of its group, and 1 */
    *count = m;
    for (size_t i = 0; i < m && !t->units.of; i++) group[i] = (uint32_t)i;
    if (!t->units.of) return SURETY_OK;
    SURETY_TRY(surety_alloc(&number, t->units.count, sizeof *number, err));
    *count = 0;
    surety_status status = SURETY_OK;
    for (size_t i = 0; i < m && status == SURETY_OK; i++) {
        uint32_t unit = t->units.of[rows[i]];
        if (unit == SURETY_NO_CATEGORY) {
            status = no_unit(t, rows[i], err);
            break;
        }
        if (!number[unit]) number[unit] = (uint32_t)++ * count;
        group[i] = number[unit] - 1;
    }
    surety_free(number);
    return status;
}

/* The picked rows in the order of their groups, group g being the place[g]-th, those of a group in their own;
 * end[k]: behind the rows of the k-th. */
static void order_rows(uint32_t *rows, uint32_t *end, const uint32_t *group, const uint32_t *place,
                       size_t groups, const picked *p) {
    for (size_t i = 0; i < p->count; i++) end[place[group[i]]]++;
    for (size_t k = 0, sum = 0; k < groups; k++) { /* where its rows begin, until they are put there */
        size_t size = end[k];
        end[k] = (uint32_t)sum;
        sum += size;
    }
    for (size_t i = 0; i < p->count; i++) rows[end[place[group[i]]]++] = p->rows[i];
}

static surety_status cut(chosen *c, surety_data_info *info, const surety_data_settings *s,
                         const surety_tables *o, const picked *p, uint32_t *work, surety_error *err) {
    const surety_address address = {.purpose = SURETY_FOR_SPLIT};
    uint32_t *group = work, *order = work + p->count, *place = order + p->count, *end = place + p->count;
    size_t groups = 0;
    SURETY_TRY(group_rows(group, &groups, &o->train, p->rows, p->count, err));
    SURETY_TRY(settle_sizes(info, s, o->has_test, groups, o->train.name, err));
    for (size_t g = 0; g < groups; g++) order[g] = (uint32_t)g;
    if (info->order == SURETY_ORDER_SHUFFLED) surety_random_order(s->seed, &address, order, (uint32_t)groups);
    for (size_t g = 0; g < groups; g++) place[order[g]] = (uint32_t)g;
    order_rows(c->rows, end, group, place, groups, p);
    size_t learn = end[info->learn_size - 1], both = end[info->learn_size + info->test_size - 1];
    c->first[SURETY_SET_LEARN] = 0, c->m[SURETY_SET_LEARN] = learn;
    c->first[SURETY_SET_TEST] = learn, c->m[SURETY_SET_TEST] = both - learn;
    c->first[SURETY_SET_PRIOR] = both, c->m[SURETY_SET_PRIOR] = p->count - both;
    return SURETY_OK;
}

/* S is the first of the picked rows or units, in their order or shuffled, T the next, S' the rest. */
static surety_status choose(chosen *c, surety_data_info *info, const surety_data_settings *s,
                            const surety_tables *o, const picked *p, surety_error *err) {
    uint32_t *work = NULL;
    SURETY_TRY(surety_alloc(&c->rows, p->count, sizeof *c->rows, err));
    SURETY_TRY(surety_alloc(&work, 4 * p->count, sizeof *work, err));
    surety_status status = cut(c, info, s, o, p, work, err);
    surety_free(work);
    return status;
}

static surety_status bad_index(surety_set_name which, size_t index, const char *expected, surety_error *err) {
    static const char *const letters[SURETY_SETS] = {"S'", "S", "T"};
    surety_fail_place(err, "%s, index %zu", letters[which], index);
    surety_fail_expected(err, "%s", expected);
    surety_fail_file(err, "array split");
    return SURETY_E_INPUT;
}

/* One set's indices: in range, of the classes, and nowhere else in the split. */
static surety_status take_indices(chosen *c, surety_set_name which, const surety_split *given,
                                  const surety_table *t, const picked *p, uint8_t *seen, surety_error *err) {
    for (size_t i = 0; i < c->m[which]; i++) {
        int64_t row = given->rows[which][i];
        if (row < 0 || (uint64_t)row >= t->rows) {
            surety_fail(err, SURETY_E_INPUT, "there is no row %lld among %zu", (long long)row, t->rows);
            return bad_index(which, i, "row numbers from 0", err);
        }
        if (p->classes[row] == SURETY_CLASSES_MOST) {
            surety_fail(err, SURETY_E_INPUT, "row %lld has the label %.64s, which is none of the classes",
                        (long long)row, t->labels.names[t->labels.of[row]]);
            return bad_index(which, i, "rows of the classes", err);
        }
        if (seen[row]++) {
            surety_fail(err, SURETY_E_INPUT, "row %lld is in the split twice", (long long)row);
            return bad_index(which, i, "every row in one set at most, and once", err);
        }
        c->rows[c->first[which] + i] = (uint32_t)row;
    }
    return SURETY_OK;
}

static surety_status choose_given(chosen *c, const surety_split *given, const surety_table *t,
                                  const picked *p, surety_error *err) {
    uint8_t *seen = NULL;
    size_t count = 0;
    for (int k = 0; k < SURETY_SETS; k++) {
        c->first[k] = count, c->m[k] = given->m[k];
        if (given->m[k] > t->rows || (given->m[k] && !given->rows[k]))
            return surety_data_usage(err, "a split with more indices than rows, or without indices",
                                     "m row numbers for each set");
        count += given->m[k];
    }
    if (!c->m[SURETY_SET_PRIOR] || !c->m[SURETY_SET_LEARN])
        return surety_data_usage(err, "a split without S' or without S", "at least one row in each");
    SURETY_TRY(surety_alloc(&c->rows, count, sizeof *c->rows, err));
    SURETY_TRY(surety_alloc(&seen, t->rows, 1, err));
    surety_status status = SURETY_OK;
    for (int k = 0; k < SURETY_SETS && status == SURETY_OK; k++)
        status = take_indices(c, (surety_set_name)k, given, t, p, seen, err);
    surety_free(seen);
    return status;
}

/* The split in words, when the sizes are known. */
static void word_split(surety_data_info *info, int has_test) {
    const char *test = has_test ? "rows of its own" : "none";
    char classes[32] = "two";
    const char *rows = info->unit ? "units" : "rows";
    size_t size = sizeof info->split;
    if (info->classes > 2) snprintf(classes, sizeof classes, "%zu", info->classes);
    if (info->fresh)
        snprintf(info->split, size, "S: all rows of the %s classes, declared fresh; T: %s", classes, test);
    else if (info->order == SURETY_ORDER_FILE)
        snprintf(info->split, size,
                 "S: the first %zu training rows of the %s classes in file order; S': the rest; T: the test "
                 "file",
                 info->learn_size, classes);
    else if (info->order == SURETY_ORDER_GIVEN)
        snprintf(info->split, size, "training rows by the caller's indices; T: %s",
                 info->test_size ? "by indices too" : test);
    else
        snprintf(info->split, size,
                 "training %s of the %s classes shuffled by seed %llu; S: the first %zu; T: %s; S': the rest",
                 rows, classes, (unsigned long long)info->seed, info->learn_size,
                 info->test_size ? "the next" : test);
}

/* ---- filling the sets ---- */

/* A value that is not in the box, which is in the units of the table. Compared as floats. */
static surety_status check_box(const surety_data *data, const surety_table *t, size_t row,
                               surety_error *err) {
    const surety_data_info *info = &data->info;
    const surety_preparation *r = data->preparation;
    float lo = (float)info->box_lo, hi = (float)info->box_hi;
    for (size_t j = 0; info->boxed && j < r->column_count; j++) {
        if (r->columns[j].categorical || r->columns[j].constant) continue;
        float x = surety_table_value(t, row, j);
        if (isnan(x) || (x >= lo && x <= hi)) continue;
        surety_fail(err, SURETY_E_INPUT, "the feature %g is outside the box [%g, %g]", (double)x,
                    info->box_lo, info->box_hi);
        surety_fail_expected(err, "scaled features, another box (--box LO,HI), or none (--box none)");
        surety_table_place(t, row, j, err);
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* What a model keeps of the rows: 8 bytes each, sorted, so that their order tells nothing. */
static surety_status keep_digests(surety_data *data, const surety_set *set, const uint8_t *digests,
                                  surety_error *err) {
    uint64_t **own = &data->own[set->which].digests;
    SURETY_TRY(surety_alloc(own, set->m, sizeof **own, err));
    for (size_t i = 0; i < set->m; i++)
        memcpy(*own + i, digests + SURETY_SHA256_BYTES * (size_t)set->row[i], sizeof **own);
    SURETY_TRY(surety_sort(*own, set->m, sizeof **own, by_number, err));
    data->info.row_digests[set->which] = *own;
    return SURETY_OK;
}

typedef struct filling {
    surety_data *data;
    const surety_tables *tables;
    const surety_run *run;  /* the processes that open the data together */
    const surety_run *mine; /* those of whose rows each fills its share; NULL: each fills all */
} filling;

/* Features of these rows of a table, as the preparation makes them, of this process's share. */
static surety_status fill_rows(const filling *f, surety_set_name which, const surety_table *t,
                               const uint32_t *rows, size_t m, surety_error *err) {
    surety_data *data = f->data;
    surety_binding binding;
    surety_preparation_counts counts = {0};
    size_t stride = surety_padded(data->info.d), first = 0, end = m, floats = 0;
    surety_my_share(f->mine, &first, &end);
    data->sets[which].before = first, data->sets[which].behind = m - end;
    if (__builtin_mul_overflow(end - first, stride, &floats))
        return surety_fail(err, SURETY_E_MEMORY, "%zu rows of %zu features are too many", m, data->info.d);
    SURETY_TRY(surety_alloc(&data->own[which].x, floats, sizeof(float), err));
    SURETY_TRY(surety_bind(&binding, data->preparation, t, err));
    surety_status status = SURETY_OK;
    for (size_t i = first; i < end && status == SURETY_OK; i++) {
        float *x = data->own[which].x + (i - first) * stride;
        status = surety_bound_row(&binding, rows[i], x, &counts, err);
        if (status == SURETY_OK) status = check_box(data, t, rows[i], err);
    }
    surety_unbind(&binding);
    status = surety_fail_together(f->mine, status, err);
    int64_t sums[] = {(int64_t)counts.filled, (int64_t)counts.unseen, (int64_t)counts.kept};
    if (status == SURETY_OK) status = surety_sum_everyone(f->mine, sums, 3, err);
    data->info.filled[which] = (uint64_t)sums[0];
    data->info.unseen[which] = (uint64_t)sums[1];
    data->info.kept[which] = (uint64_t)sums[2];
    return status;
}

/* The groups that rows of S are of, numbered in the order of their names; no value is the last one. */
static surety_status note_groups(surety_data *data, const surety_table *t, const uint32_t *rows, size_t m,
                                 surety_error *err) {
    static const char missing[] = "(missing)";
    size_t count = t->groups.count, bytes = 0, used = 0;
    uint32_t *number = NULL, *group;
    SURETY_TRY(surety_alloc(&data->own[SURETY_SET_LEARN].group, m, sizeof *group, err));
    SURETY_TRY(surety_join(&data->group_text, t->columns.names[t->columns.group], "", "", err));
    SURETY_TRY(surety_alloc(&data->group_names, count + 1, sizeof *data->group_names, err));
    for (size_t k = 0; k < count; k++) bytes += strlen(t->groups.names[k]) + 1;
    SURETY_TRY(surety_alloc(&data->group_texts, bytes + sizeof missing, 1, err));
    SURETY_TRY(surety_alloc(&number, count + 1, sizeof *number, err)); /* 1: it occurs */
    group = data->own[SURETY_SET_LEARN].group;
    for (size_t i = 0; i < m; i++) {
        uint32_t of = t->groups.of[rows[i]];
        group[i] = of == SURETY_NO_CATEGORY ? (uint32_t)count : of;
        number[group[i]] = 1;
    }
    for (size_t k = 0; k <= count; k++) {
        if (!number[k]) continue;
        const char *name = k < count ? t->groups.names[k] : missing;
        data->group_names[data->info.groups] = strcpy(data->group_texts + used, name);
        used += strlen(name) + 1;
        number[k] = (uint32_t)data->info.groups++;
    }
    for (size_t i = 0; i < m; i++) group[i] = number[group[i]];
    surety_free(number);
    data->info.group = data->group_text;
    data->info.group_names = data->group_names;
    return SURETY_OK;
}

/* Fills one set with these rows of a table; p: what was picked of it. */
static surety_status fill_set(const filling *f, surety_set_name which, const surety_table *t, const picked *p,
                              const uint32_t *rows, size_t m, surety_error *err) {
    surety_data *data = f->data;
    surety_set *set = &data->sets[which];
    SURETY_TRY(surety_alloc(&data->own[which].y, m, sizeof(uint8_t), err));
    SURETY_TRY(surety_alloc(&data->own[which].row, m, sizeof(uint32_t), err));
    SURETY_TRY(fill_rows(f, which, t, rows, m, err));
    data->info.units[which] = m;
    if (t->units.of) {
        SURETY_TRY(surety_alloc(&data->own[which].unit, m, sizeof(uint32_t), err));
        SURETY_TRY(group_rows(data->own[which].unit, &data->info.units[which], t, rows, m, err));
    }
    if (t->groups.of && which == SURETY_SET_LEARN) SURETY_TRY(note_groups(data, t, rows, m, err));
    for (size_t i = 0; i < m; i++) {
        data->own[which].y[i] = p->classes[rows[i]];
        data->own[which].row[i] = rows[i];
        data->class_m[which][p->classes[rows[i]]]++;
    }
    *set = (surety_set){.m = m,
                        .d = data->info.d,
                        .stride = surety_padded(data->info.d),
                        .x = data->own[which].x,
                        .y = data->own[which].y,
                        .row = data->own[which].row,
                        .which = which,
                        .classes = data->info.classes,
                        .unit = data->own[which].unit,
                        .units = data->info.units[which],
                        .group = data->own[which].group,
                        .groups = data->own[which].group ? data->info.groups : 0,
                        .before = set->before,
                        .behind = set->behind};
    data->info.m[which] = m;
    SURETY_TRY(keep_digests(data, set, p->digests, err));
    return surety_digest_set(data->info.set_sha256[which], set, t, p->digests, err);
}

/* train: what was picked of the training rows, which a T without copies does not have. */
static surety_status fill_test(const filling *f, const picked *train, surety_error *err) {
    picked p = {0};
    const surety_table *test = &f->tables->test;
    const surety_known known = {train->rows, train->count, train->digests};
    surety_status status = pick(&p, test, &f->data->info, 1, f->run, err);
    if (status == SURETY_OK) status = drop_copies(&p, test, &known, &f->data->info, err);
    if (status == SURETY_OK) status = fill_set(f, SURETY_SET_TEST, test, &p, p.rows, p.count, err);
    drop(&p);
    return status;
}

static surety_status fill_chosen(const filling *f, const picked *p, const chosen *c, surety_error *err) {
    static const surety_set_name order[SURETY_SETS] = {SURETY_SET_LEARN, SURETY_SET_PRIOR, SURETY_SET_TEST};
    for (int k = 0; k < SURETY_SETS; k++) {
        surety_set_name which = order[k];
        if (which == SURETY_SET_TEST && f->tables->has_test) return fill_test(f, p, err);
        SURETY_TRY(fill_set(f, which, &f->tables->train, p, c->rows + c->first[which], c->m[which], err));
    }
    return SURETY_OK;
}

/* ---- the preparation ---- */

static void note_preparation(surety_data *data) {
    surety_data_info *info = &data->info;
    const surety_preparation *r = data->preparation;
    info->d = r->features;
    info->unit = r->unit;
    info->scaling = r->scaling, info->missing = r->missing;
    info->feature_names = r->names, info->moves = r->moves;
    info->shift = r->shift, info->factor = r->factor;
    info->preparation = r->text;
    info->constants = r->constants, info->constant_names = r->constant_names;
    if (r->features != info->columns) info->height = info->width = 0;
}

/* The one that was given, or what S' says. */
static surety_status settle_preparation(surety_data *data, const surety_tables *o,
                                        const surety_data_settings *s, const chosen *c, surety_error *err) {
    surety_preparation *fitted = NULL;
    size_t m = c->m[SURETY_SET_PRIOR];
    surety_error ignored = SURETY_ERROR_NONE;
    if (m) {
        surety_status status =
            surety_preparation_fit(&fitted, o->preparation, &o->train, c->rows + c->first[SURETY_SET_PRIOR],
                                   m, s->preparation ? &ignored : err);
        if (status != SURETY_OK && (!s->preparation || status != SURETY_E_INPUT)) return status;
    }
    data->info.preparation_fits =
        fitted && (!s->preparation ||
                   (fitted->text && s->preparation->text ? !strcmp(fitted->text, s->preparation->text)
                                                         : fitted->text == s->preparation->text));
    if (s->preparation || !fitted) {
        surety_preparation_free(fitted);
        SURETY_TRY(surety_preparation_read(&data->preparation, json_incref(o->preparation->root), err));
    } else {
        data->preparation = fitted;
    }
    note_preparation(data);
    return SURETY_OK;
}

static surety_status split(surety_data *data, const surety_tables *o, const surety_data_settings *s,
                           const surety_split *given, const surety_run *run, surety_error *err) {
    picked p = {0};
    chosen c = {0};
    surety_data_info *info = &data->info;
    surety_status status = pick(&p, &o->train, info, 0, run, err);
    if (status == SURETY_OK) status = drop_copies(&p, &o->train, NULL, info, err);
    for (size_t k = 0; k < info->classes && status == SURETY_OK; k++)
        status = surety_digest_class(data->class_sha256[k], &o->train, k, p.classes, p.digests, err);
    if (status == SURETY_OK)
        status = given ? choose_given(&c, given, &o->train, &p, err) : choose(&c, info, s, o, &p, err);
    if (status == SURETY_OK) status = settle_preparation(data, o, s, &c, err);
    if (status == SURETY_OK) word_split(info, o->has_test);
    const filling f = {data, o, run, s->own_rows ? run : NULL};
    if (status == SURETY_OK) status = fill_chosen(&f, &p, &c, err);
    if (status == SURETY_OK) status = surety_classes_check_sets(info, o, err);
    drop(&p);
    surety_free(c.rows);
    info->train = info->m[SURETY_SET_PRIOR] + info->m[SURETY_SET_LEARN];
    info->test = info->m[SURETY_SET_TEST];
    return status;
}

/* ---- what was opened ---- */

static surety_status note_files(surety_data *data, const surety_table *t, surety_error *err) {
    surety_data_info *info = &data->info;
    for (size_t i = 0; i < t->files; i++) {
        SURETY_TRY(surety_join(&data->paths[info->files], t->used[i].path, "", "", err));
        info->file[info->files] = t->used[i];
        info->file[info->files].path = data->paths[info->files];
        info->files++;
    }
    return SURETY_OK;
}

static surety_status note(surety_data *data, const surety_tables *o, const surety_data_settings *s,
                          const surety_task *task, const surety_split *given, surety_error *err) {
    surety_data_info *info = &data->info;
    info->task = task ? task->name : NULL;
    info->scale = o->train.scale;
    info->boxed = s->boxed == SURETY_BOX_AUTO ? task || info->scale > 1 : s->boxed;
    info->box_lo = s->box_lo, info->box_hi = s->box_hi;
    info->columns = o->train.d, info->height = o->train.height, info->width = o->train.width;
    info->rounded = o->train.rounded + o->test.rounded;
    info->separator = o->train.separator;
    info->unit = o->preparation->unit; /* until data has its own */
    info->fresh = s->fresh;
    info->order = task || s->fresh ? SURETY_ORDER_FILE : given ? SURETY_ORDER_GIVEN : SURETY_ORDER_SHUFFLED;
    info->seed = info->order == SURETY_ORDER_SHUFFLED ? s->seed : 0;
    if (given) info->learn_size = given->m[SURETY_SET_LEARN], info->test_size = given->m[SURETY_SET_TEST];
    if (o->train.index_column != SURETY_NO_COLUMN)
        SURETY_TRY(surety_join(&data->index_column, o->preparation->columns[o->train.index_column].name, "",
                               "", err));
    info->index_column = data->index_column;
    info->copies_rule = s->copies;
    info->header = s->header;
    if (s->label_column) SURETY_TRY(surety_join(&data->label_column, s->label_column, "", "", err));
    info->label_column = data->label_column;
    SURETY_TRY(note_files(data, &o->train, err));
    return note_files(data, &o->test, err);
}

/* Rows are compared as they were given, before the preparation: what is a copy must not depend on the split.
 */
static surety_status count_copies(surety_data *data, const surety_tables *o, const surety_run *run,
                                  surety_error *err) {
    surety_copies *copies = &data->info.copies;
    uint64_t dropped = copies->dropped;
    surety_given_rows given[SURETY_SETS];
    for (int k = 0; k < SURETY_SETS; k++)
        given[k] = (surety_given_rows){k == SURETY_SET_TEST && o->has_test ? &o->test : &o->train,
                                       data->sets[k].row, data->sets[k].m};
    surety_status status = surety_copies_count(copies, given, run, err);
    copies->dropped = dropped;
    return status;
}

static surety_status build(surety_data *data, const surety_tables *o, const surety_data_settings *s,
                           const surety_task *task, const surety_split *given, surety_error *err) {
    SURETY_TRY(compare_tables(o, err));
    SURETY_TRY(surety_classes_choose(data, o, s, task, err));
    SURETY_TRY(note(data, o, s, task, given, err));
    const surety_run run = surety_data_together(s);
    SURETY_TRY(split(data, o, s, given, &run, err));
    return count_copies(data, o, &run, err);
}

surety_status surety_data_build(surety_data **out, const surety_tables *tables,
                                const surety_data_settings *settings, const surety_task *task,
                                const surety_split *given, surety_error *err) {
    surety_data *data = NULL;
    SURETY_TRY(surety_alloc(&data, 1, sizeof *data, err));
    surety_status status = build(data, tables, settings, task, given, err);
    if (status == SURETY_OK)
        *out = data;
    else
        surety_data_free(data);
    return status;
}
