#include "data/columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/preparation.h"

enum { NUMBER = 24 }; /* characters of a column's number and the 0 behind it */

void surety_columns_free(surety_columns *c) {
    surety_free(c->names);
    surety_free(c->roles);
    surety_free(c->from);
    surety_free(c->text);
    *c = (surety_columns){0};
}

int surety_columns_all(const surety_columns *c) {
    size_t j = 0;
    while (j < c->count && c->from[j] == j && c->roles[j] == SURETY_ROLE_NUMBER) j++;
    return j == c->file;
}

/* ---- finding one ---- */

int surety_column_number(const char *wanted) {
    return wanted[strspn(wanted, "-0123456789")] == 0;
}

/* From 1, or negative from the end; 0: it is none. */
static long number_of(const char *text) {
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    return end == text || *end || errno ? 0 : number;
}

size_t surety_column_find(const char *wanted, const char *const *names, size_t count) {
    for (size_t i = 0; names && i < count; i++)
        if (!strcmp(names[i], wanted)) return i;
    long number = number_of(wanted);
    size_t size = number < 0 ? 0 - (size_t)number : (size_t)number;
    if (size < 1 || size > count) return SURETY_NO_COLUMN;
    return number < 0 ? count - size : size - 1;
}

static int same_letters(const char *a, const char *b) {
    for (; *a && *b; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a,
             y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y) return 0;
    }
    return *a == *b;
}

static const char *nearest(const surety_columns *c, const char *wanted) {
    if (!c->named || surety_column_number(wanted)) return NULL;
    for (size_t i = 0; i < c->file; i++)
        if (same_letters(wanted, c->names[i])) return c->names[i];
    return surety_nearest(wanted, c->names, c->file);
}

/* what: "there is no ..." */
static surety_status not_there(const surety_columns *c, const char *what, const char *wanted,
                               surety_error *err) {
    const char *near = nearest(c, wanted);
    surety_fail(err, SURETY_E_INPUT, "there is no %s '%.64s'%s%.64s%s", what, wanted,
                near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "%sa number from 1 to %zu", c->named ? "a name of the header, or " : "",
                         c->file);
    return SURETY_E_INPUT;
}

static surety_status twice(const surety_columns *c, size_t a, size_t b, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "two columns are called '%.64s': %zu and %zu", c->names[a], a + 1,
                b + 1);
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "a name for each, or one of them left out by its number (--drop %zu)",
                         (b == c->label ? a : b) + 1);
    return SURETY_E_INPUT;
}

/* The column that an option names, once. */
static surety_status find(const surety_columns *c, const char *what, const char *wanted, size_t *column,
                          surety_error *err) {
    *column = surety_column_find(wanted, c->named ? c->names : NULL, c->file);
    if (*column == SURETY_NO_COLUMN) return not_there(c, what, wanted, err);
    if (strcmp(c->names[*column], wanted) != 0) return SURETY_OK; /* by number */
    for (size_t i = *column + 1; c->named && i < c->file; i++)
        if (!strcmp(c->names[i], wanted)) return twice(c, *column, i, err);
    return SURETY_OK;
}

/* ---- names ---- */

static surety_status bad_name(size_t column, const char *what, const char *expected, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the name of column %zu %s", column + 1, what);
    surety_fail_place(err, "line 1, column %zu", column + 1);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

/* skipped: a column of the numbering that the file does not have, or SURETY_NO_COLUMN. */
static surety_status name_all(surety_columns *c, const surety_text *names, size_t skipped,
                              surety_error *err) {
    size_t bytes = 0;
    for (size_t i = 0; i < c->file; i++) bytes += (names ? names[i].length : 0) + NUMBER;
    SURETY_TRY(surety_alloc(&c->names, c->file, sizeof *c->names, err));
    SURETY_TRY(surety_alloc(&c->roles, c->file, 1, err));
    SURETY_TRY(surety_alloc(&c->from, c->file, sizeof *c->from, err));
    SURETY_TRY(surety_alloc(&c->text, bytes, 1, err));
    char *at = c->text;
    for (size_t i = 0; i < c->file; i++) {
        c->names[i] = at;
        if (names && names[i].length) {
            if (names[i].length > SURETY_COLUMN_NAME)
                return bad_name(i, "is too long", "at most 200 bytes; or --header no", err);
            memcpy(at, names[i].at, names[i].length); /* zeroed behind it */
            if (strlen(at) != names[i].length || !surety_utf8_valid(at))
                return bad_name(i, "is not UTF-8", "text in UTF-8 (iconv -t UTF-8 converts a file)", err);
        } else {
            snprintf(at, NUMBER, names ? "column %zu" : "%zu", i + 1 + (i >= skipped));
        }
        at += strlen(at) + 1;
    }
    return SURETY_OK;
}

/* ---- what each is for ---- */

static surety_status take(surety_columns *c, size_t column, surety_role role, const char *option,
                          surety_error *err) {
    static const char *const words[] = {"a feature", "a column of categories", "the label column",
                                        "the unit column", "left out"};
    if (c->roles[column] != SURETY_ROLE_NUMBER && c->roles[column] != role) {
        surety_fail(err, SURETY_E_USAGE, "--%s names the column '%.64s', which is %s", option,
                    c->names[column], words[c->roles[column]]);
        surety_fail_expected(err, "one use for each column");
        return SURETY_E_USAGE;
    }
    c->roles[column] = (uint8_t)role;
    return SURETY_OK;
}

static surety_status take_list(surety_columns *c, const char *const *list, size_t count, surety_role role,
                               const char *option, surety_error *err) {
    char what[64];
    snprintf(what, sizeof what, "column for --%s", option);
    for (size_t i = 0; i < count; i++) {
        size_t column = 0;
        SURETY_TRY(find(c, what, list[i], &column, err));
        SURETY_TRY(take(c, column, role, option, err));
    }
    return SURETY_OK;
}

static surety_status take_label(surety_columns *c, const surety_wanted *w, surety_error *err) {
    c->label = c->unit = SURETY_NO_COLUMN;
    if (!w->label_beside) {
        c->label = c->file - 1;
        if (w->label) SURETY_TRY(find(c, "label column", w->label, &c->label, err));
        SURETY_TRY(take(c, c->label, SURETY_ROLE_LABEL, "label-column", err));
    }
    if (!w->unit) return SURETY_OK;
    SURETY_TRY(find(c, "unit column", w->unit, &c->unit, err));
    return take(c, c->unit, SURETY_ROLE_UNIT, "unit", err);
}

/* ---- in the file's order ---- */

/* Columns by name. */
typedef struct named {
    const char *name;
    size_t column;
} named;

static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

static int by_name_only(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Columns that are used, sorted by name; no two of one name, nor one that is called as the label is: a later
 * table is asked for its columns by name. */
static surety_status sort_used(const surety_columns *c, named **out, size_t *count, surety_error *err) {
    SURETY_TRY(surety_alloc(out, c->file, sizeof **out, err));
    *count = 0;
    for (size_t i = 0; i < c->file; i++)
        if (c->roles[i] <= SURETY_ROLE_CATEGORY) (*out)[(*count)++] = (named){c->names[i], i};
    qsort(*out, *count, sizeof **out, by_name);
    for (size_t i = 1; i < *count; i++)
        if (!strcmp((*out)[i - 1].name, (*out)[i].name))
            return twice(c, (*out)[i - 1].column, (*out)[i].column, err);
    if (!c->named || c->label == SURETY_NO_COLUMN) return SURETY_OK;
    named label = {c->names[c->label], 0}, *same = bsearch(&label, *out, *count, sizeof label, by_name_only);
    return same ? twice(c, same->column, c->label, err) : SURETY_OK;
}

static surety_status use_all(surety_columns *c, surety_error *err) {
    named *sorted = NULL;
    size_t count = 0;
    surety_status status = sort_used(c, &sorted, &count, err);
    surety_free(sorted);
    for (size_t i = 0; i < c->file && status == SURETY_OK; i++)
        if (c->roles[i] <= SURETY_ROLE_CATEGORY) c->from[c->count++] = i;
    if (status != SURETY_OK || c->count) return status;
    surety_fail(err, SURETY_E_INPUT, "no column is left for features");
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "at least one column besides the label");
    return SURETY_E_INPUT;
}

static surety_status follow_wishes(surety_columns *c, const surety_wanted *w, surety_error *err) {
    SURETY_TRY(take_label(c, w, err));
    SURETY_TRY(take_list(c, w->drop, w->drop_count, SURETY_ROLE_DROPPED, "drop", err));
    SURETY_TRY(take_list(c, w->categorical, w->categorical_count, SURETY_ROLE_CATEGORY, "categorical", err));
    return use_all(c, err);
}

/* ---- in the order of a preparation ---- */

/* Columns that a preparation's table had and this one may have: found or not. */
static void take_known(surety_columns *c, const char *name, surety_role role, size_t *column) {
    size_t found = 0;
    while (name && found < c->file && strcmp(c->names[found], name) != 0) found++;
    if (!name || found == c->file || c->roles[found] != SURETY_ROLE_NUMBER) return;
    c->roles[found] = (uint8_t)role;
    if (column) *column = found;
}

/* The label's name: a name that was asked for, else the one that the preparation knows. A number counts only
 * where columns have no names: their order may differ. */
static const char *label_name(const surety_columns *c, const surety_wanted *w) {
    const surety_preparation *r = w->preparation;
    int by_name = c->named && r->named && r->label && (!w->label || surety_column_number(w->label));
    return by_name ? r->label : w->label;
}

/* The last column that is none of the preparation's, and how many these are. */
static surety_status stranger(const surety_columns *c, const surety_preparation *r, size_t *found,
                              size_t *strangers, surety_error *err) {
    named *sorted = NULL;
    size_t count = 0;
    *strangers = 0;
    surety_status status = sort_used(c, &sorted, &count, err);
    for (size_t j = 0; j < r->column_count && status == SURETY_OK; j++) {
        named key = {r->columns[j].name, 0}, *known = bsearch(&key, sorted, count, sizeof key, by_name_only);
        if (known) known->column = SURETY_NO_COLUMN;
    }
    for (size_t i = 0; i < count && status == SURETY_OK; i++)
        if (sorted[i].column != SURETY_NO_COLUMN) *found = sorted[i].column, ++*strangers;
    surety_free(sorted);
    return status;
}

/* The label of a table whose preparation was made without one (of an imported model): the only column that
 * is new; of several the table's last, or none where none is needed. */
static surety_status new_label(const surety_columns *c, const surety_wanted *w, size_t *found,
                               surety_error *err) {
    size_t strangers = 0;
    SURETY_TRY(stranger(c, w->preparation, found, &strangers, err));
    if (strangers == 1) return SURETY_OK;
    *found = w->label_optional ? SURETY_NO_COLUMN : c->file - 1;
    if (strangers || w->label_optional) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "every column is a feature of the model: there is none of labels");
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "one more column, with the labels");
    return SURETY_E_INPUT;
}

/* The label's column, if it is there. A table without labels has one column less. */
static surety_status known_label(surety_columns *c, const surety_wanted *w, int absent, surety_error *err) {
    c->label = c->unit = SURETY_NO_COLUMN;
    if (w->label_beside || absent) return SURETY_OK;
    const surety_preparation *r = w->preparation;
    const char *label = label_name(c, w);
    size_t found = label ? surety_column_find(label, c->named ? c->names : NULL, c->file) : c->file - 1;
    if (!label && c->named && r->named) SURETY_TRY(new_label(c, w, &found, err));
    if (found == SURETY_NO_COLUMN && !c->named && c->file == r->file_columns) found = r->label_at;
    if (found == SURETY_NO_COLUMN && w->label_optional) return SURETY_OK;
    if (found == SURETY_NO_COLUMN) return not_there(c, "label column", label, err);
    c->label = found;
    c->roles[found] = SURETY_ROLE_LABEL;
    return SURETY_OK;
}

static surety_status lacks(const surety_columns *c, const char *name, surety_error *err) {
    const char *near = nearest(c, name);
    if (near && !strcmp(near, name)) {
        surety_fail(err, SURETY_E_USAGE, "the column '%.64s' is a feature of the model", name);
        surety_fail_expected(err, "this column to be neither dropped nor a label or a unit");
        return SURETY_E_USAGE;
    }
    surety_fail(err, SURETY_E_INPUT, "the table lacks the column '%.64s'%s%.64s%s", name,
                near ? "; it has '" : "", near ? near : "", near ? "'" : "");
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "the columns of the first table, of which the features are made, in any order");
    return SURETY_E_INPUT;
}

static surety_status one_more(const surety_columns *c, size_t column, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the column '%.64s' is none of the columns before it", c->names[column]);
    surety_fail_place(err, "line 1, column %zu", column + 1);
    surety_fail_expected(err, "the same columns, in any order; --drop '%.64s' leaves it out",
                         c->names[column]);
    return SURETY_E_INPUT;
}

static surety_status match_names(surety_columns *c, const surety_preparation *r, surety_error *err) {
    named *sorted = NULL;
    size_t count = 0;
    surety_status status = sort_used(c, &sorted, &count, err);
    for (size_t i = 0; i < c->file && status == SURETY_OK; i++)
        if (c->roles[i] == SURETY_ROLE_NUMBER) c->roles[i] = SURETY_ROLE_DROPPED; /* until it is found */
    for (size_t j = 0; j < r->column_count && status == SURETY_OK; j++) {
        named key = {r->columns[j].name, 0}, *found = bsearch(&key, sorted, count, sizeof key, by_name_only);
        if (!found) {
            status = lacks(c, key.name, err);
            break;
        }
        c->from[j] = found->column;
        c->roles[found->column] = r->columns[j].categorical ? SURETY_ROLE_CATEGORY : SURETY_ROLE_NUMBER;
    }
    for (size_t i = 0; i < count && status == SURETY_OK; i++)
        if (c->roles[sorted[i].column] == SURETY_ROLE_DROPPED) status = one_more(c, sorted[i].column, err);
    surety_free(sorted);
    c->count = r->column_count;
    return status;
}

static surety_status match_places(surety_columns *c, const surety_preparation *r, surety_error *err) {
    for (size_t i = 0; i < c->file; i++)
        if (c->roles[i] == SURETY_ROLE_NUMBER) c->from[c->count++] = i;
    if (c->count != r->column_count) {
        surety_fail(err, SURETY_E_INPUT, "%zu columns of features, but there were %zu before", c->count,
                    r->column_count);
        surety_fail_expected(err, "the same columns in the same order%s",
                             r->named ? ", or a header with their names" : "");
        return SURETY_E_INPUT;
    }
    for (size_t j = 0; j < c->count; j++)
        if (r->columns[j].categorical) c->roles[c->from[j]] = SURETY_ROLE_CATEGORY;
    return SURETY_OK;
}

static surety_status follow_preparation(surety_columns *c, const surety_wanted *w, int absent,
                                        surety_error *err) {
    const surety_preparation *r = w->preparation;
    SURETY_TRY(known_label(c, w, absent, err));
    take_known(c, w->unit ? w->unit : r->unit, SURETY_ROLE_UNIT, &c->unit);
    if (r->unit && c->unit == SURETY_NO_COLUMN && !w->label_optional)
        return not_there(c, "unit column", w->unit ? w->unit : r->unit, err);
    for (size_t i = 0; i < r->dropped_count; i++) take_known(c, r->dropped[i], SURETY_ROLE_DROPPED, NULL);
    for (size_t i = 0; i < w->drop_count; i++) { /* a table may lack what is to be left out */
        size_t found = surety_column_find(w->drop[i], c->named ? c->names : NULL, c->file);
        if (found != SURETY_NO_COLUMN) SURETY_TRY(take(c, found, SURETY_ROLE_DROPPED, "drop", err));
    }
    return c->named && r->named ? match_names(c, r, err) : match_places(c, r, err);
}

/* ---- all of it ---- */

/* Without names, a table of rows without labels is known by the number of its columns. */
static int label_absent(const surety_wanted *w, const surety_text *names, size_t count) {
    const surety_preparation *r = w->preparation;
    return r && w->label_optional && !w->label_beside && !(names && r->named) &&
           (count + 1 == r->file_columns || count == r->column_count);
}

surety_status surety_columns_make(surety_columns *c, const surety_text *names, size_t count,
                                  const surety_wanted *w, surety_error *err) {
    int absent = label_absent(w, names, count);
    size_t skipped = absent ? w->preparation->label_at : SURETY_NO_COLUMN;
    *c = (surety_columns){.file = count, .named = names != NULL};
    surety_status status = name_all(c, names, skipped, err);
    if (status == SURETY_OK)
        status = w->preparation ? follow_preparation(c, w, absent, err) : follow_wishes(c, w, err);
    c->group = SURETY_NO_COLUMN;
    if (status == SURETY_OK && w->group) status = find(c, "group column", w->group, &c->group, err);
    if (status != SURETY_OK) surety_columns_free(c);
    return status;
}
