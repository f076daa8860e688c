#include "risk/labels.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "surety/risk.h"

/* A piece of the file. */
typedef struct span {
    const char *at;
    size_t length;
} span;

typedef struct text {
    const char *path;
    const char *data, *end; /* without the empty lines at the end */
    size_t lines;
    span names[SURETY_RISK_CLASSES]; /* different ones, sorted */
    size_t name_count;
} text;

surety_status surety_npy_shape_error(const surety_npy *a, const char *path, const char *expected,
                                     surety_error *err) {
    char shape[SURETY_NPY_DIMS * 24] = "";
    size_t used = 0;
    for (int k = 0; k < a->ndim; k++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%zu", k ? ", " : "", a->shape[k]);
    surety_fail(err, SURETY_E_INPUT, "the array has the shape (%s)", shape);
    surety_fail_file(err, path);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

void surety_vote_labels_place(const surety_vote_labels *labels, size_t i, surety_error *err) {
    if (labels->text)
        surety_fail_place(err, "line %zu", i + 1);
    else
        surety_fail_place(err, "index [%zu]", i);
}

static int is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The line that starts at *at, without its end; *at moves behind it. */
static span next_line(const char **at, const char *end) {
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    span line = {*at, (size_t)((stop ? stop : end) - *at)};
    *at = stop ? stop + 1 : end;
    if (line.length && line.at[line.length - 1] == '\r') line.length--;
    return line;
}

static surety_status bad_line(const text *t, size_t i, const char *what, const char *expected,
                              surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "%s", what);
    surety_fail_file(err, t->path);
    surety_fail_place(err, "line %zu", i + 1);
    surety_fail_expected(err, "%s", expected);
    return SURETY_E_INPUT;
}

static surety_status check_line(const text *t, span line, size_t i, surety_error *err) {
    size_t blanks = 0;
    while (blanks < line.length && is_blank(line.at[blanks])) blanks++;
    if (blanks == line.length) return bad_line(t, i, "the line is empty", "one label per line", err);
    for (size_t k = 0; k < line.length; k++) {
        if (!line.at[k]) return bad_line(t, i, "a zero byte", "an NPY array, or a text of labels", err);
        if (line.at[k] == ',' || line.at[k] == ';' || (line.at[k] == '\t' && k >= blanks))
            return bad_line(t, i, "the line has several columns", "one label per line", err);
    }
    return SURETY_OK;
}

/* Whether the line is a number and nothing else. */
static int is_number(span line, double *value) {
    char copy[32], *stop;
    while (line.length && is_blank(*line.at)) line.at++, line.length--;
    while (line.length && is_blank(line.at[line.length - 1])) line.length--;
    if (!line.length || line.length >= sizeof copy) return 0;
    if (!strchr("+-.0123456789", *line.at)) return 0;
    memcpy(copy, line.at, line.length);
    copy[line.length] = 0;
    *value = surety_number(copy, &stop);
    return stop == copy + line.length;
}

/* Below, at or above 0 as a sorts before b, is b, or sorts after it. */
static int compare(span a, span b) {
    int order = memcmp(a.at, b.at, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* Where the name is in the sorted table, or would be. */
static size_t find(const text *t, span name) {
    size_t lo = 0, hi = t->name_count;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (compare(t->names[mid], name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static surety_status add_name(text *t, span name, size_t i, surety_error *err) {
    size_t at = find(t, name);
    if (at < t->name_count && !compare(t->names[at], name)) return SURETY_OK;
    if (t->name_count == SURETY_RISK_CLASSES)
        return bad_line(t, i, "this is the 256th different label", "at most 255 classes", err);
    memmove(t->names + at + 1, t->names + at, (t->name_count - at) * sizeof *t->names);
    t->names[at] = name;
    t->name_count++;
    return SURETY_OK;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether a and b are the same letters without blanks, and in one case if that is asked for. */
static int alike(span a, span b, int fold) {
    for (size_t i = 0, k = 0;; i++, k++) {
        while (i < a.length && is_blank(a.at[i])) i++;
        while (k < b.length && is_blank(b.at[k])) k++;
        if (i == a.length || k == b.length) return i == a.length && k == b.length;
        char x = a.at[i], y = b.at[k];
        if (fold ? lower(x) != lower(y) : x != y) return 0;
    }
}

/* Names that differ by blanks or case are nearly always one class that was typed in two ways. */
static surety_status check_names(const text *t, surety_error *err) {
    for (size_t i = 0; i < t->name_count; i++)
        for (size_t k = i + 1; k < t->name_count; k++) {
            span a = t->names[i], b = t->names[k];
            if (!alike(a, b, 1)) continue;
            surety_fail(err, SURETY_E_INPUT, "the labels '%.*s' and '%.*s' differ by %s only",
                        (int)(a.length < 60 ? a.length : 60), a.at, (int)(b.length < 60 ? b.length : 60),
                        b.at, alike(a, b, 0) ? "blanks" : "case");
            surety_fail_file(err, t->path);
            surety_fail_expected(err, "one way to write each class");
            return SURETY_E_INPUT;
        }
    return SURETY_OK;
}

/* The names as texts of their own: pointers first, then what they point at. */
static surety_status keep_names(const text *t, surety_vote_labels *out, surety_error *err) {
    size_t bytes = t->name_count * sizeof(char *);
    for (size_t k = 0; k < t->name_count; k++) bytes += t->names[k].length + 1;
    SURETY_TRY(surety_alloc(&out->names, bytes, 1, err));
    char *next = (char *)(out->names + t->name_count);
    for (size_t k = 0; k < t->name_count; k++) {
        memcpy(next, t->names[k].at, t->names[k].length);
        out->names[k] = next;
        next += t->names[k].length + 1;
    }
    out->name_count = t->name_count;
    return SURETY_OK;
}

static surety_status take_names(text *t, surety_vote_labels *out, surety_error *err) {
    const char *at = t->data;
    for (size_t i = 0; i < out->count; i++) SURETY_TRY(add_name(t, next_line(&at, t->end), i, err));
    SURETY_TRY(check_names(t, err));
    at = t->data;
    for (size_t i = 0; i < out->count; i++) out->values[i] = (double)find(t, next_line(&at, t->end));
    return keep_names(t, out, err);
}

static surety_status wrong_count(const text *t, size_t count, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the file has %zu lines", t->lines);
    surety_fail_file(err, t->path);
    surety_fail_expected(err, "one label per example: %zu lines%s", count,
                         t->lines == count + 1 ? ", without a heading" : "");
    return SURETY_E_INPUT;
}

static surety_status read_text(surety_vote_labels *out, const surety_file *file, const char *path,
                               surety_error *err) {
    text t = {.path = path, .data = (const char *)file->data, .end = (const char *)file->data + file->size};
    if (file->size >= 3 && !memcmp(t.data, "\xef\xbb\xbf", 3)) t.data += 3; /* UTF-8's mark */
    while (t.end > t.data && (t.end[-1] == '\n' || t.end[-1] == '\r')) t.end--;
    int numbers = 1;
    double value = 0;
    for (const char *at = t.data; at < t.end; t.lines++) {
        span line = next_line(&at, t.end);
        SURETY_TRY(check_line(&t, line, t.lines, err));
        numbers = numbers && is_number(line, &value);
        if (numbers && t.lines < out->count) out->values[t.lines] = value;
    }
    if (t.lines != out->count) return wrong_count(&t, out->count, err);
    out->text = 1;
    return numbers ? SURETY_OK : take_names(&t, out, err);
}

static surety_status read_npy(surety_vote_labels *out, surety_file *file, const char *path,
                              surety_error *err) {
    surety_npy a = {0};
    char expected[64];
    SURETY_TRY(surety_npy_parse(&a, file, path, err));
    snprintf(expected, sizeof expected, "one label per example: (%zu)", out->count);
    surety_status status = SURETY_OK;
    if (a.ndim != 1 || a.shape[0] != out->count)
        status = surety_npy_shape_error(&a, path, expected, err);
    else
        surety_npy_doubles(&a, 0, out->count, out->values);
    surety_npy_close(&a);
    return status;
}

surety_status surety_vote_labels_read(surety_vote_labels *out, const char *path, size_t count,
                                      surety_error *err) {
    static const char magic[] = "\x93NUMPY";
    surety_file file = {0};
    *out = (surety_vote_labels){.count = count};
    SURETY_TRY(surety_file_open(&file, path, err));
    int is_npy = file.size >= 6 && !memcmp(file.data, magic, 6);
    surety_status status = surety_alloc(&out->values, count, sizeof *out->values, err);
    if (status == SURETY_OK)
        status = is_npy ? read_npy(out, &file, path, err) : read_text(out, &file, path, err);
    surety_file_close(&file); /* empty if it was taken over */
    if (status != SURETY_OK) surety_vote_labels_free(out);
    return status;
}

void surety_vote_labels_free(surety_vote_labels *labels) {
    surety_free(labels->values);
    surety_free(labels->names);
    *labels = (surety_vote_labels){0};
}
