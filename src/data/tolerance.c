/* Tolerances: a radius and a range for every feature, in the user's units and as voters see the features.
 *
 * A feature is read as z = fl(fl(x - shift) factor), factor > 0. The ends of a range go through the same two
 * operations: each is monotone, roundings included, so that a value in [lo, hi] is read as one in
 * [least, most]. A radius becomes factor radius, rounded up; what the roundings of z add to that is the
 * business of whoever proves something (docs/theory.md 8.1, "Scaled features"). */
#include "data/tolerance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/data.h"
#include "io/csv.h"
#include "io/looks.h"
#include "io/sha256.h"

surety_features surety_data_features(const surety_data_info *info) {
    return (surety_features){.d = info->d,
                             .names = info->feature_names,
                             .shift = info->shift,
                             .factor = info->factor,
                             .moves = info->moves};
}

/* ---- making one ---- */

static surety_status bad(const char *name, const char *what, double value, const char *expected,
                         surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "%s is %g", what, value);
    surety_fail_place(err, "feature '%.200s'", name);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

/* One block: the struct, arrays of d doubles and floats, pointers to names, names. */
typedef struct parts {
    surety_tolerance *t;
    double *radius, *lo, *hi, *unit;
    float *least, *most;
    const char **names;
    char *text;
} parts;

enum { NUMBER = 24 }; /* characters of a feature's number */

static surety_status allocate(parts *p, size_t d, const char *const *names, surety_error *err) {
    size_t text = 0, each = 4 * sizeof(double) + 2 * sizeof(float) + sizeof(char *);
    for (size_t j = 0; j < d; j++) text += names ? strlen(names[j]) + 1 : NUMBER;
    SURETY_TRY(surety_alloc(&p->t, sizeof *p->t + d * each + text, 1, err));
    p->radius = (double *)(void *)(p->t + 1);
    p->lo = p->radius + d;
    p->hi = p->lo + d;
    p->unit = p->hi + d;
    p->names = (const char **)(void *)(p->unit + d);
    p->least = (float *)(void *)(p->names + d);
    p->most = p->least + d;
    p->text = (char *)(void *)(p->most + d);
    for (size_t j = 0; j < d; j++) {
        p->names[j] = p->text;
        p->text += names ? sprintf(p->text, "%s", names[j]) + 1 : sprintf(p->text, "%zu", j + 1) + 1;
    }
    *p->t = (surety_tolerance){.d = d,
                               .names = p->names,
                               .radius = p->radius,
                               .lo = p->lo,
                               .hi = p->hi,
                               .unit = p->unit,
                               .least = p->least,
                               .most = p->most};
    return SURETY_OK;
}

static float as_read(double value, float shift, float factor) {
    float x = (float)value - shift;
    return x * factor;
}

/* Feature j, whose numbers in the user's units are set. */
static surety_status settle(const parts *p, const surety_features *c, size_t j, surety_error *err) {
    const char *name = p->names[j];
    double radius = p->radius[j], lo = p->lo[j], hi = p->hi[j];
    float factor = c->factor ? c->factor[j] : 1, shift = c->shift ? c->shift[j] : 0;
    if (!(radius >= 0 && isfinite(radius)))
        return bad(name, "the radius", radius, "a number of at least 0 (0: the feature cannot change)", err);
    if (isnan(lo) || isnan(hi)) return bad(name, "an end of the range", (double)NAN, "numbers lo, hi", err);
    if (lo > hi) return bad(name, "lo is above hi, which", hi, "lo at most hi", err);
    if (radius > 0 && c->moves && !c->moves[j])
        return bad(name, "the radius", radius, "0: flags and categories do not move under a threat", err);
    p->unit[j] = factor == 1 || radius == 0 ? radius : nextafter(radius * (double)factor, HUGE_VAL);
    p->least[j] = as_read(lo, shift, factor);
    p->most[j] = as_read(hi, shift, factor);
    if (!(p->unit[j] <= 1e30))
        return bad(name, "the radius", radius, "a radius of at most 1e30, scaled as the feature is", err);
    p->t->moving += radius > 0;
    return SURETY_OK;
}

static surety_status finish(const parts *p, const surety_features *c, surety_error *err) {
    p->t->moving = 0;
    for (size_t j = 0; j < p->t->d; j++) SURETY_TRY(settle(p, c, j, err));
    if (!p->t->moving) {
        surety_fail(err, SURETY_E_INPUT, "every radius is 0: no feature can change");
        surety_fail_expected(err, "at least one radius above 0");
        return SURETY_E_INPUT;
    }
    char *text = surety_tolerance_json(p->t);
    if (!text) return surety_fail(err, SURETY_E_MEMORY, "no memory for a tolerance");
    surety_status status = surety_sha256(text, strlen(text), p->t->sha256, err);
    free(text);
    return status;
}

int surety_tolerance_is_scale(const surety_tolerance *t) {
    size_t j = 0;
    while (j < t->d && (t->unit[j] == 0 || fabs(t->unit[j] - 1) < 1e-9)) j++;
    return j == t->d;
}

const char *surety_radius_unit(const surety_tolerance *t, surety_scaling scaling) {
    return t && !surety_tolerance_is_scale(t) ? "tolerances" : surety_scaling_unit(scaling);
}

/* Takes over p->t. */
static surety_status give(surety_tolerance **out, const parts *p, const surety_features *c,
                          surety_status status, surety_error *err) {
    if (status == SURETY_OK) status = finish(p, c, err);
    if (status == SURETY_OK)
        *out = p->t;
    else
        surety_tolerance_free(p->t);
    return status;
}

surety_status surety_tolerance_new(const surety_features *c, const double *radius, const double *lo,
                                   const double *hi, surety_tolerance **out, surety_error *err) {
    parts p;
    *out = NULL;
    SURETY_TRY(allocate(&p, c->d, c->names, err));
    for (size_t j = 0; j < c->d; j++) {
        p.radius[j] = radius[j];
        p.lo[j] = lo ? lo[j] : -HUGE_VAL;
        p.hi[j] = hi ? hi[j] : HUGE_VAL;
    }
    return give(out, &p, c, SURETY_OK, err);
}

/* One unit of the scale for each feature that can change. */
static void fill_scale(double *radius, double *lo, double *hi, const surety_data_info *info) {
    for (size_t j = 0; j < info->d; j++) {
        int boxed = info->boxed && info->moves[j];
        radius[j] = info->moves[j] ? 1 / (double)info->factor[j] : 0;
        lo[j] = boxed ? info->box_lo : -HUGE_VAL;
        hi[j] = boxed ? info->box_hi : HUGE_VAL;
    }
}

surety_status surety_data_tolerance(const surety_data_info *info, surety_tolerance **out, surety_error *err) {
    size_t moving = 0;
    double *work = NULL;
    *out = NULL;
    for (size_t j = 0; j < info->d; j++) moving += info->moves[j];
    if (moving == info->d && !(info->boxed && info->scaling != SURETY_SCALE_NONE)) return SURETY_OK;
    if (!moving)
        return surety_fail(err, SURETY_E_USAGE, "no feature can change: all are categories or flags");
    SURETY_TRY(surety_alloc(&work, 3 * info->d, sizeof *work, err));
    fill_scale(work, work + info->d, work + 2 * info->d, info);
    surety_features features = surety_data_features(info);
    surety_status status =
        surety_tolerance_new(&features, work, work + info->d, work + 2 * info->d, out, err);
    surety_free(work);
    return status;
}

surety_status surety_tolerance_copy(const surety_tolerance *t, surety_tolerance **out, surety_error *err) {
    parts p;
    *out = NULL;
    SURETY_TRY(allocate(&p, t->d, t->names, err));
    memcpy(p.radius, t->radius, t->d * sizeof *p.radius);
    memcpy(p.lo, t->lo, t->d * sizeof *p.lo);
    memcpy(p.hi, t->hi, t->d * sizeof *p.hi);
    memcpy(p.unit, t->unit, t->d * sizeof *p.unit);
    memcpy(p.least, t->least, t->d * sizeof *p.least);
    memcpy(p.most, t->most, t->d * sizeof *p.most);
    memcpy(p.t->sha256, t->sha256, sizeof t->sha256);
    p.t->moving = t->moving;
    *out = p.t;
    return SURETY_OK;
}

void surety_tolerance_free(surety_tolerance *t) {
    surety_free(t);
}

int surety_tolerance_same(const surety_tolerance *a, const surety_tolerance *b) {
    if (!a || !b) return a == b;
    return a->d == b->d && !strcmp(a->sha256, b->sha256) &&
           !memcmp(a->unit, b->unit, a->d * sizeof *a->unit) &&
           !memcmp(a->least, b->least, a->d * sizeof *a->least) &&
           !memcmp(a->most, b->most, a->d * sizeof *a->most);
}

/* ---- JSON ---- */

char *surety_tolerance_json(const surety_tolerance *t) {
    json_t *names = json_array();
    for (size_t j = 0; j < t->d && names; j++)
        names = surety_json_append(names, surety_json_string(t->names[j]));
    return surety_json_canonical(
        SURETY_JSON_OBJECT({"features", names}, {"radius", surety_json_reals(t->radius, t->d)},
                           {"lo", surety_json_reals(t->lo, t->d)}, {"hi", surety_json_reals(t->hi, t->d)}));
}

static surety_status no_table(const char *what, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the tolerance makes no sense: %s", what);
    surety_fail_expected(err, "lists features, radius, lo and hi, one entry for each feature");
    return SURETY_E_INPUT;
}

/* Number j of a list; an end that is null is infinite. */
static int number_at(const json_t *list, size_t j, double none, double *out) {
    const json_t *value = json_array_get(list, j);
    *out = json_is_null(value) ? none : json_number_value(value);
    return json_is_number(value) || (json_is_null(value) && !isnan(none));
}

static surety_status take_lists(const parts *p, const json_t *object, surety_error *err) {
    const json_t *names = json_object_get(object, "features"), *radius = json_object_get(object, "radius"),
                 *lo = json_object_get(object, "lo"), *hi = json_object_get(object, "hi");
    size_t d = p->t->d;
    if (json_array_size(names) != d || json_array_size(radius) != d || json_array_size(lo) != d ||
        json_array_size(hi) != d || json_object_size(object) != 4)
        return no_table("its lists are not of as many features as there are", err);
    for (size_t j = 0; j < d; j++) {
        const char *name = json_string_value(json_array_get(names, j));
        if (!name || strcmp(name, p->names[j]) != 0) return no_table("it names other features", err);
        if (!number_at(radius, j, (double)NAN, &p->radius[j]) || !number_at(lo, j, -HUGE_VAL, &p->lo[j]) ||
            !number_at(hi, j, HUGE_VAL, &p->hi[j]))
            return no_table("it holds something else than numbers", err);
    }
    return SURETY_OK;
}

surety_status surety_tolerance_parse(surety_tolerance **out, const char *text, const surety_features *c,
                                     surety_error *err) {
    json_t *object = NULL;
    parts p = {0};
    *out = NULL;
    SURETY_TRY(surety_json_parse(&object, text, strlen(text), "tolerance", err));
    surety_status status = allocate(&p, c->d, c->names, err);
    if (status == SURETY_OK) status = give(out, &p, c, take_lists(&p, object, err), err);
    json_decref(object);
    return status;
}

/* ---- the file ---- */

enum { FEATURE, RADIUS, LO, HI, WANTED };
static const char *const wanted[WANTED] = {"feature", "radius", "lo", "hi"};

typedef struct reading {
    const parts *p;
    char *at;              /* the next field; the text ends with 0 */
    int more;              /* 1: the line goes on */
    size_t line;           /* of the field read last, from 1 */
    size_t column[WANTED]; /* from 0; SIZE_MAX: not there */
    uint8_t *seen;         /* (d) */
    size_t last;           /* the feature of the last line: the next one is looked for behind it */
    surety_error *err;
} reading;

static surety_status refuse(const reading *r, const char *expected) {
    surety_fail_place(r->err, "line %zu", r->line);
    surety_fail_expected(r->err, "%s", expected);
    return SURETY_E_INPUT;
}

/* The next field as a text of its own, without blanks and quotes around it; two quotes inside are one. */
static char *cut(reading *r) {
    char *from = r->at + strspn(r->at, " \t"), *to = from, *text = from;
    int quoted = *from == '"';
    if (quoted) from++;
    for (; *from && (quoted || !strchr(",\n", *from)); from++) {
        if (quoted && *from == '"' && from[1] != '"') {
            from += strcspn(from, ",\n");
            break;
        }
        from += quoted && *from == '"';
        *to++ = *from;
    }
    r->more = *from == ',';
    r->at = *from ? from + 1 : from;
    while (!quoted && to > text && strchr(" \t\r", to[-1])) to--;
    *to = 0;
    return text;
}

static surety_status read_header(reading *r) {
    size_t columns = 0;
    memset(r->column, 0xff, sizeof r->column);
    r->line = 1;
    do {
        const char *name = cut(r);
        for (int k = 0; k < WANTED; k++) {
            if (strcmp(name, wanted[k]) != 0) continue;
            if (r->column[k] != SIZE_MAX) {
                surety_fail(r->err, SURETY_E_INPUT, "two columns are called '%s'", name);
                return refuse(r, "one of each");
            }
            r->column[k] = columns;
        }
        columns++;
    } while (r->more);
    if (r->column[FEATURE] != SIZE_MAX && r->column[RADIUS] != SIZE_MAX) return SURETY_OK;
    surety_fail(r->err, SURETY_E_INPUT, "a table of tolerances without a column '%s'",
                wanted[r->column[FEATURE] == SIZE_MAX ? FEATURE : RADIUS]);
    return refuse(r,
                  "a first line feature,radius or feature,radius,lo,hi; 'surety data tolerances' writes one");
}

/* Which feature has this name. */
static surety_status find(reading *r, const char *name, size_t *feature) {
    size_t d = r->p->t->d, tried = 0;
    for (; tried < d; tried++) {
        *feature = (r->last + 1 + tried) % d;
        if (!strcmp(r->p->names[*feature], name)) break;
    }
    if (tried == d) {
        const char *near = surety_nearest(name, r->p->names, d);
        surety_fail(r->err, SURETY_E_INPUT, "the data have no feature '%.100s'%s%.100s%s", name,
                    near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
        surety_fail_place(r->err, "line %zu", r->line);
        surety_fail_expected(r->err, "one of their %zu features, such as '%.100s'", d, r->p->names[0]);
        return SURETY_E_INPUT;
    }
    if (r->seen[*feature]++) {
        surety_fail(r->err, SURETY_E_INPUT, "the feature '%.100s' has two lines", name);
        return refuse(r, "one line for each feature");
    }
    r->last = *feature;
    return SURETY_OK;
}

static surety_status read_number(const reading *r, const char *name, int which, const char *text,
                                 double *out) {
    if (!*text && which != RADIUS) return SURETY_OK; /* no end */
    if (!*text) {
        surety_fail(r->err, SURETY_E_INPUT, "the radius of '%.100s' is not filled in", name);
        return refuse(r, "how far this feature may move either way, in its own unit; 0: it cannot change");
    }
    if (surety_text_number(&(surety_text){text, strlen(text)}, out) && isfinite(*out)) return SURETY_OK;
    surety_fail(r->err, SURETY_E_INPUT, "the %s of '%.100s' is '%.40s'", wanted[which], name, text);
    return refuse(r, "a finite decimal number");
}

static surety_status read_line(reading *r) {
    const char *field[WANTED] = {"", "", "", ""}, *text;
    double *into[WANTED] = {NULL, r->p->radius, r->p->lo, r->p->hi};
    size_t columns = 0, j;
    r->line++;
    do {
        text = cut(r);
        for (int k = 0; k < WANTED; k++)
            if (r->column[k] == columns) field[k] = text;
        columns++;
    } while (r->more);
    if (columns == 1 && !*text) return SURETY_OK; /* an empty line */
    SURETY_TRY(find(r, field[FEATURE], &j));
    for (int k = RADIUS; k < WANTED; k++)
        SURETY_TRY(read_number(r, field[FEATURE], k, field[k], &into[k][j]));
    return SURETY_OK;
}

static surety_status read_table(reading *r) {
    size_t d = r->p->t->d, j = 0;
    for (size_t i = 0; i < d; i++) r->p->lo[i] = -HUGE_VAL, r->p->hi[i] = HUGE_VAL;
    r->last = d - 1;
    SURETY_TRY(read_header(r));
    while (*r->at) SURETY_TRY(read_line(r));
    while (j < d && r->seen[j]) j++;
    if (j == d) return SURETY_OK;
    surety_fail(r->err, SURETY_E_INPUT, "no line for the feature '%.100s'", r->p->names[j]);
    surety_fail_expected(r->err, "one line for each of the %zu features; radius 0: it cannot change", d);
    return SURETY_E_INPUT;
}

static surety_status no_text(const surety_file *file, surety_error *err) {
    const char *words = surety_looks_like(file->data, file->size);
    surety_fail(err, SURETY_E_INPUT, "this is no table of tolerances: it looks like %s",
                words ? words : "no text, because it holds zero bytes");
    surety_fail_expected(err, "a CSV file; 'surety data tolerances' writes one to fill in");
    return SURETY_E_INPUT;
}

/* The file as a text that ends with 0. */
static surety_status load(char **out, const char *path, surety_error *err) {
    surety_file file;
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_status status =
        memchr(file.data, 0, file.size) ? no_text(&file, err) : surety_alloc(out, file.size + 1, 1, err);
    size_t mark = file.size >= 3 && !memcmp(file.data, "\xef\xbb\xbf", 3) ? 3 : 0;
    if (status == SURETY_OK) memcpy(*out, file.data + mark, file.size - mark);
    surety_file_close(&file);
    return status;
}

surety_status surety_tolerance_read(const char *path, const surety_features *c, surety_tolerance **out,
                                    surety_error *err) {
    parts p = {0};
    char *text = NULL;
    reading r = {.p = &p, .err = err};
    *out = NULL;
    surety_status status = load(&text, path, err);
    if (status == SURETY_OK) status = surety_alloc(&r.seen, c->d, 1, err);
    if (status == SURETY_OK) status = allocate(&p, c->d, c->names, err);
    r.at = text;
    if (status == SURETY_OK) status = give(out, &p, c, read_table(&r), err);
    surety_free(r.seen);
    surety_free(text);
    if (status != SURETY_OK) surety_fail_file(err, path);
    return status;
}

/* ---- a template ---- */

typedef struct column_facts {
    double lo, hi, deviation; /* in the user's units */
} column_facts;

/* Of feature j in S'. */
static column_facts look(const surety_set *set, const surety_features *f, size_t j) {
    double factor = f->factor ? (double)f->factor[j] : 1, shift = f->shift ? (double)f->shift[j] : 0;
    double lo = HUGE_VAL, hi = -HUGE_VAL, sum = 0, squares = 0, m = 0;
    for (size_t i = 0; i < set->m; i++) {
        double z = (double)set->x[i * set->stride + j];
        if (!isnan(z)) lo = fmin(lo, z), hi = fmax(hi, z), sum += z, m++;
    }
    for (size_t i = 0; i < set->m; i++) {
        double z = (double)set->x[i * set->stride + j] - sum / m;
        if (!isnan(z)) squares += z * z;
    }
    lo = lo / factor + shift, hi = hi / factor + shift;
    double rounding = 1e-6 * (hi - lo); /* what scaling and back may have made of a 0 */
    return (column_facts){fabs(lo) < rounding ? 0 : lo, fabs(hi) < rounding ? 0 : hi,
                          sqrt(squares / m) / factor};
}

static surety_status write_feature(surety_writer *w, const surety_data *data, const surety_features *f,
                                   size_t j, surety_error *err) {
    column_facts facts = look(surety_data_set(data, SURETY_SET_PRIOR), f, j);
    char number[NUMBER], line[160];
    int moves = !f->moves || f->moves[j], bytes = surety_data_describe(data)->scale != 1;
    snprintf(number, sizeof number, "%zu", j + 1);
    SURETY_TRY(surety_csv_field(w, f->names ? f->names[j] : number, err));
    int length = surety_format(line, sizeof line, ",%s,%.6g,%.6g,%s,%.6g\n", moves ? "" : "0", facts.lo,
                               facts.hi, bytes ? "the file's / 255" : "the file's", facts.deviation);
    return surety_writer_append(w, line, (size_t)length, err);
}

surety_status surety_tolerance_template(const surety_data *data, const char *path, surety_error *err) {
    static const char header[] = "feature,radius,lo,hi,unit,deviation\n";
    const surety_set *prior = surety_data_set(data, SURETY_SET_PRIOR);
    surety_features f = surety_data_features(surety_data_describe(data));
    surety_writer *w;
    if (!surety_set_has(prior, 0, prior->m))
        return surety_data_usage(err, "a template from rows that other processes have",
                                 "data opened without own_rows");
    SURETY_TRY(surety_writer_open(&w, path, 0, err));
    surety_status status = surety_writer_append(w, header, sizeof header - 1, err);
    for (size_t j = 0; j < f.d && status == SURETY_OK; j++) status = write_feature(w, data, &f, j, err);
    if (status == SURETY_OK) return surety_writer_commit(w, err);
    surety_writer_abort(w);
    return status;
}
