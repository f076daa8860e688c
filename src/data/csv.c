/* CSV: one row per line, fields separated by commas, every field a finite number, the label a number or a
 * text. The first line may hold names. A field may stand in double quotes (without quotes or line ends
 * inside), blanks around it do not count; lines end with \n or \r\n; a byte order mark is skipped.
 *
 * Two passes: the first looks at the structure (as many fields in every line), so that the size of the table
 * is known and true before memory is asked for; the second reads the numbers. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/table.h"
#include "io/sha256.h"

enum {
    LONGEST = 127,   /* characters of a number */
    POLLED = 1 << 20 /* fields between two looks at stop */
};

typedef surety_text field;

typedef struct reader {
    const char *start, *at, *end;
    size_t fields;       /* read so far */
    field whole;         /* the field read last, with the blanks around it unless it is in quotes */
    size_t line, column; /* of the field read last, from 1 */
    int more;            /* 1: the line goes on behind the field read last */
    surety_error *err;
} reader;

static surety_status bad(const reader *r, const char *expected) {
    surety_fail_place(r->err, "line %zu, column %zu", r->line, r->column);
    surety_fail_expected(r->err, "%s", expected);
    return SURETY_E_INPUT;
}

static int is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* The text between the commas, without blanks around it and without its quotes. */
static surety_status trim(const reader *r, field *f) {
    while (f->length && is_blank(f->at[0])) f->at++, f->length--;
    while (f->length && is_blank(f->at[f->length - 1])) f->length--;
    if (!f->length || f->at[0] != '"') return SURETY_OK;
    if (f->length < 2 || f->at[f->length - 1] != '"' || memchr(f->at + 1, '"', f->length - 2)) {
        surety_fail(r->err, SURETY_E_INPUT, "a CSV field with a stray quote");
        return bad(r, "quotes around a whole field only");
    }
    f->at++;
    f->length -= 2;
    return SURETY_OK;
}

/* Where the field at r->at ends: at a comma outside quotes or at the end of the line. */
static const char *field_end(const reader *r) {
    const char *p = r->at;
    int quoted = 0;
    for (; p < r->end && *p != '\n' && (quoted || *p != ','); p++)
        if (*p == '"') quoted = !quoted;
    return p;
}

static surety_status next_field(reader *r, field *f) {
    const char *stop = field_end(r);
    r->column = r->more ? r->column + 1 : 1;
    r->line += !r->more;
    r->more = stop < r->end && *stop == ',';
    size_t length = (size_t)(stop - r->at);
    if (!r->more && length && r->at[length - 1] == '\r') length--;
    *f = r->whole = (field){r->at, length};
    r->at = stop < r->end ? stop + 1 : stop;
    if (++r->fields % POLLED == 0)
        SURETY_TRY(surety_reading_poll((uint64_t)(r->at - r->start), (uint64_t)(r->end - r->start), r->err));
    SURETY_TRY(trim(r, f));
    if (f->at > r->whole.at && f->at[-1] == '"') r->whole = *f;
    return SURETY_OK;
}

static reader begin(const surety_file *file, surety_error *err) {
    const char *start = (const char *)file->data;
    reader r = {.start = start, .at = start, .end = start + file->size, .err = err};
    if (file->size >= 3 && !memcmp(r.at, "\xef\xbb\xbf", 3)) r.at += 3;
    return r;
}

/* ---- numbers ---- */

/* Short whole numbers, most of an image's pixels: the quick way. */
static int whole_number(const field *f, double *value) {
    if (f->length == 0 || f->length > 9) return 0;
    uint32_t n = 0;
    for (size_t i = 0; i < f->length; i++) {
        if (f->at[i] < '0' || f->at[i] > '9') return 0;
        n = 10 * n + (uint32_t)(f->at[i] - '0');
    }
    *value = n;
    return 1;
}

int surety_text_number(const surety_text *f, double *value) {
    char text[LONGEST + 1], *end = NULL;
    if (whole_number(f, value)) return 1;
    if (f->length == 0 || f->length > LONGEST) return 0;
    memcpy(text, f->at, f->length);
    text[f->length] = 0;
    if (strpbrk(text, "xXpP()") || strlen(text) != f->length || text[0] == '\r' || text[0] == '\v' ||
        text[0] == '\f')
        return 0;
    *value = surety_number(text, &end);
    return *end == 0;
}

static surety_status read_number(const reader *r, const field *f, double *value) {
    if (!surety_text_number(f, value)) {
        surety_fail(r->err, SURETY_E_INPUT, "'%.*s' is not a number", f->length > 40 ? 40 : (int)f->length,
                    f->at);
        return bad(r, "a decimal number in every field");
    }
    if (isfinite(*value) && fabs(*value) <= (double)FLT_MAX) return SURETY_OK;
    surety_fail(r->err, SURETY_E_INPUT, "'%.*s' is not finite", f->length > 40 ? 40 : (int)f->length, f->at);
    return bad(r, "finite numbers that a float can hold");
}

/* ---- first pass: structure ---- */

typedef struct shape {
    size_t lines, fields, numbers; /* lines; fields per line; those of line 1 that are numbers */
    size_t named;                  /* from 1: the column whose name was asked for; 0: none */
    size_t odd;                    /* from 1: the last column of line 1 that is no number; 0: none */
} shape;

static int is_text(const field *f, const char *text) {
    return f->length == strlen(text) && !memcmp(f->at, text, f->length);
}

static surety_status first_line(reader *r, shape *s, const char *name) {
    field f;
    do {
        double ignored;
        SURETY_TRY(next_field(r, &f));
        if (surety_text_number(&f, &ignored))
            s->numbers++;
        else
            s->odd = r->column;
        if (name && !s->named && is_text(&f, name)) s->named = r->column;
    } while (r->more);
    s->fields = r->column;
    s->lines = 1;
    return SURETY_OK;
}

static surety_status look(reader *r, shape *s, const char *name) {
    if (r->at == r->end) return surety_fail(r->err, SURETY_E_INPUT, "an empty CSV file");
    SURETY_TRY(first_line(r, s, name));
    while (r->at < r->end) {
        field f;
        do SURETY_TRY(next_field(r, &f));
        while (r->more);
        s->lines++;
        if (r->column == s->fields) continue;
        surety_fail(r->err, SURETY_E_INPUT, "fields in this CSV line: %zu", r->column);
        surety_fail_place(r->err, "line %zu", r->line);
        surety_fail_expected(r->err, "%zu fields, as in line 1", s->fields);
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

/* The label's column, from 0: named, or numbered from 1, or from the end if negative. */
static surety_status decide_label(const shape *s, const char *wanted, int header, size_t *column,
                                  surety_error *err) {
    char *end = NULL;
    *column = s->fields - 1;
    if (!wanted) return SURETY_OK;
    if (header && s->named) return *column = s->named - 1, SURETY_OK;
    long number = strtol(wanted, &end, 10);
    size_t size = number < 0 ? 0 - (size_t)number : (size_t)number;
    if (end != wanted && *end == 0 && size >= 1 && size <= s->fields)
        return *column = number < 0 ? s->fields - size : size - 1, SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "there is no label column '%.64s'", wanted);
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "%sa number from 1 to %zu", header ? "a name of the header, or " : "",
                         s->fields);
    return SURETY_E_INPUT;
}

static surety_status mixed(surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the first CSV line mixes names and numbers");
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "names only, or a row; or say whether it is a header (--header yes or no)");
    return SURETY_E_INPUT;
}

/* Whether line 1 holds names: see surety_header. *unsure: only its label is not a number, so it is a row if
 * that is the label of another row too. */
static surety_status decide_header(const shape *s, const char *wanted, surety_header header, size_t *skip,
                                   int *unsure, surety_error *err) {
    size_t label = 0;
    *unsure = 0;
    *skip = header == SURETY_HEADER_YES || (header == SURETY_HEADER_AUTO && s->numbers == 0);
    if (header != SURETY_HEADER_AUTO || s->numbers == 0 || s->numbers == s->fields) return SURETY_OK;
    *unsure = s->numbers + 1 == s->fields && decide_label(s, wanted, 0, &label, NULL) == SURETY_OK &&
              label + 1 == s->odd;
    return *unsure ? SURETY_OK : mixed(err);
}

/* ---- second pass: names and numbers ---- */

/* Skips the names, keeping a sum of them: the test file must have the same. */
static surety_status read_names(surety_table *t, reader *r) {
    surety_sha256_sum *sum = NULL;
    SURETY_TRY(surety_sha256_new(&sum, r->err));
    surety_status status = SURETY_OK;
    do {
        field f = {0};
        status = next_field(r, &f);
        if (status == SURETY_OK) status = surety_sha256_add(sum, f.at, f.length, r->err);
        if (status == SURETY_OK) status = surety_sha256_add(sum, "\n", 1, r->err);
    } while (status == SURETY_OK && r->more);
    if (status == SURETY_OK) status = surety_sha256_text(sum, t->names, r->err);
    surety_sha256_free(sum);
    return status;
}

static surety_status read_rows(surety_table *t, reader *r, surety_text *labels) {
    for (size_t i = 0; i < t->rows; i++) {
        float *x = t->values + i * t->d;
        for (size_t j = 0; j <= t->d; j++) {
            field f;
            double value = 0;
            SURETY_TRY(next_field(r, &f));
            if (j == t->label_column) {
                labels[i] = r->whole;
                continue;
            }
            SURETY_TRY(read_number(r, &f, &value));
            *x++ = (float)value;
        }
    }
    return SURETY_OK;
}

static surety_status read_labels(surety_table *t, reader *r, int unsure) {
    surety_text *labels = NULL;
    size_t like_first = 0;
    SURETY_TRY(surety_alloc(&labels, t->rows, sizeof *labels, r->err));
    surety_status status = read_rows(t, r, labels);
    if (status == SURETY_OK) status = surety_labels_texts(t, labels, r->err);
    surety_free(labels);
    if (status != SURETY_OK) return status;
    for (size_t i = 0; i < t->rows; i++) like_first += t->labels.of[i] == t->labels.of[0];
    return unsure && like_first == 1 ? mixed(r->err) : SURETY_OK;
}

static surety_status take_shape(surety_table *t, const shape *s, size_t skip, surety_error *err) {
    t->rows = s->lines - skip;
    t->d = s->fields - 1;
    t->first_line = 1 + skip;
    t->scale = 1;
    if (t->rows == 0) return surety_fail(err, SURETY_E_INPUT, "a CSV file with a header and no rows");
    if (t->d > 0) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "a CSV file of one column");
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "features and a label, separated by commas");
    return SURETY_E_INPUT;
}

surety_status surety_csv_read(surety_table *t, const surety_file *file, const char *label_column,
                              surety_header header, surety_error *err) {
    shape s = {0};
    size_t skip = 0;
    int unsure = 0;
    reader r = begin(file, err);
    SURETY_TRY(look(&r, &s, label_column));
    SURETY_TRY(decide_header(&s, label_column, header, &skip, &unsure, err));
    SURETY_TRY(decide_label(&s, label_column, (int)skip, &t->label_column, err));
    SURETY_TRY(take_shape(t, &s, skip, err));
    SURETY_TRY(surety_alloc(&t->values, t->rows * t->d, sizeof *t->values, err)); /* fields that exist */
    t->floats = t->values;
    t->stride = t->d;
    r = begin(file, err);
    if (skip) SURETY_TRY(read_names(t, &r));
    return read_labels(t, &r, unsure);
}
