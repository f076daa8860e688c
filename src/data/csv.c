/* CSV: one row per line, fields between separators. What a column is for says how its fields are read
 * (data/columns.h): a number, which may be missing; a category; a label, a number or a text. The first line
 * may hold names. A field may stand in double quotes, inner ones doubled, without line ends inside; blanks
 * around a field do not count; lines end with \n or \r\n; a byte order mark is skipped. The separator ' '
 * stands for any run of blanks and tabs; those at the ends of a line do not count.
 *
 * Two passes: the first looks at the structure (as many fields in every line), so that the size of the table
 * is known and true before memory is asked for; the second reads the fields. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/preparation.h"
#include "data/table.h"

enum {
    LONGEST = 127,    /* characters of a number */
    POLLED = 1 << 20, /* fields between two looks at stop */
    SNIFFED = 20      /* lines that show the separator */
};

typedef surety_text field;

typedef struct reader {
    const char *start, *at, *end;
    char separator;
    size_t fields;       /* read so far */
    field whole;         /* the field read last, with the blanks around it unless it is in quotes */
    size_t line, column; /* of the field read last, from 1 */
    int more;            /* 1: the line goes on behind the field read last */
    char *plain;         /* room for texts whose quotes were doubled, and where the next one goes */
    size_t plain_used;
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

/* Inner quotes come in pairs. */
static int all_doubled(const field *f) {
    size_t i = 0;
    while (i < f->length && (f->at[i] != '"' || (i + 1 < f->length && f->at[i + 1] == '"')))
        i += f->at[i] == '"' ? 2 : 1;
    return i == f->length;
}

/* The text between the separators, without blanks around it and without its quotes. */
static surety_status trim(const reader *r, field *f) {
    while (f->length && is_blank(f->at[0])) f->at++, f->length--;
    while (f->length && is_blank(f->at[f->length - 1])) f->length--;
    if (!f->length || f->at[0] != '"') return SURETY_OK;
    field inside = {f->at + 1, f->length < 2 ? 0 : f->length - 2};
    if (f->length < 2 || f->at[f->length - 1] != '"' || !all_doubled(&inside)) {
        surety_fail(r->err, SURETY_E_INPUT, "a CSV field with a stray quote");
        return bad(r, "quotes around a whole field, inner ones doubled, no line end inside");
    }
    *f = inside;
    return SURETY_OK;
}

/* Where the field at p ends: at a separator outside quotes or at the end of the line. */
static const char *field_end(const char *p, const char *end, char separator) {
    int quoted = 0;
    char other = separator == ' ' ? '\t' : separator;
    for (; p < end && *p != '\n' && (quoted || (*p != separator && *p != other)); p++)
        if (*p == '"') quoted = !quoted;
    return p;
}

/* Where a run of blanks ends that is a separator: at a field or at the end of the line. */
static const char *skip_blanks(const reader *r, const char *p) {
    if (r->separator != ' ') return p;
    while (p < r->end && is_blank(*p)) p++;
    return p + (r->end - p > 1 && p[0] == '\r' && p[1] == '\n');
}

static surety_status next_field(reader *r, field *f) {
    r->at = skip_blanks(r, r->at);
    const char *stop = field_end(r->at, r->end, r->separator), *next = skip_blanks(r, stop);
    r->column = r->more ? r->column + 1 : 1;
    r->line += !r->more;
    size_t length = (size_t)(stop - r->at);
    r->more = next < r->end && *next != '\n';
    if (!r->more && length && r->at[length - 1] == '\r') length--;
    *f = r->whole = (field){r->at, length};
    r->at = next + (next < r->end && (next == stop || !r->more)); /* behind the separator */
    if (++r->fields % POLLED == 0)
        SURETY_TRY(surety_reading_poll((uint64_t)(r->at - r->start), (uint64_t)(r->end - r->start), r->err));
    SURETY_TRY(trim(r, f));
    if (f->at > r->whole.at && f->at[-1] == '"') r->whole = *f;
    return SURETY_OK;
}

/* A text with its doubled quotes made single; where there are some, a copy. */
static surety_status plain(reader *r, field *f) {
    if (!f->length || !memchr(f->at, '"', f->length)) return SURETY_OK;
    if (!r->plain) SURETY_TRY(surety_alloc(&r->plain, (size_t)(r->end - r->start), 1, r->err));
    char *copy = r->plain + r->plain_used;
    size_t length = 0;
    for (size_t i = 0; i < f->length; i++) {
        copy[length++] = f->at[i];
        if (f->at[i] == '"' && i + 1 < f->length && f->at[i + 1] == '"') i++;
    }
    r->plain_used += length;
    *f = (field){copy, length};
    return SURETY_OK;
}

static void rewind_to(reader *r, const surety_file *file) {
    const char *start = (const char *)file->data;
    r->start = r->at = start;
    r->end = start + file->size;
    r->fields = r->line = r->column = r->plain_used = 0;
    r->more = 0;
    if (file->size >= 3 && !memcmp(start, "\xef\xbb\xbf", 3)) r->at += 3;
}

/* ---- the separator ---- */

/* Fields of every one of the first lines, if they are as many in each; else 0. */
static size_t fields_alike(const reader *r, char separator) {
    const char *p = r->at;
    size_t alike = 0;
    for (int line = 0; line < SNIFFED && p < r->end; line++) {
        size_t fields = 1;
        while ((p = field_end(p, r->end, separator)) < r->end && *p == separator) p++, fields++;
        if (line && fields != alike) return 0;
        alike = fields;
        p += p < r->end;
    }
    return alike;
}

/* The first that cuts all lines alike, the comma last: it may stand in numbers and texts of the others. Where
 * none does, the comma, so that the message names the line that differs. */
static char sniff(const reader *r) {
    static const char candidates[] = "\t;|";
    for (const char *c = candidates; *c; c++)
        if (fields_alike(r, *c) > 1) return *c;
    return ',';
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

static const char *shown(const field *f, int *length) {
    *length = f->length > 40 ? 40 : (int)f->length;
    return f->at;
}

/* A number of a column of features; NaN where it is missing. */
static surety_status read_number(const reader *r, const field *f, const char *name, double *value) {
    int length;
    const char *text = shown(f, &length);
    if (surety_text_missing(f)) return *value = (double)NAN, SURETY_OK;
    if (!surety_text_number(f, value)) {
        surety_fail(r->err, SURETY_E_INPUT, "'%.*s' is not a number", length, text);
        surety_fail_place(r->err, "line %zu, column %zu", r->line, r->column);
        if (memchr(f->at, ',', f->length))
            surety_fail_expected(r->err, "a decimal point, not a comma");
        else
            surety_fail_expected(
                r->err,
                "numbers in the column '%.64s'; or say what it is: --categorical '%.64s' (each text "
                "becomes a feature), --label-column, --unit, or --drop '%.64s' (left out)",
                name, name, name);
        return SURETY_E_INPUT;
    }
    if (isfinite(*value) && fabs(*value) <= (double)FLT_MAX) return SURETY_OK;
    surety_fail(r->err, SURETY_E_INPUT, "'%.*s' is %s", length, text,
                isfinite(*value) ? "too large" : "not finite");
    return bad(r, "finite numbers that a float can hold");
}

/* ---- first pass: structure ---- */

static surety_status count_lines(reader *r, size_t *lines, size_t *fields) {
    if (r->at == r->end) return surety_fail(r->err, SURETY_E_INPUT, "an empty CSV file");
    for (*lines = 0; r->at < r->end; ++*lines) {
        field f;
        do SURETY_TRY(next_field(r, &f));
        while (r->more);
        if (!*lines) *fields = r->column;
        if (r->column == *fields) continue;
        if (r->column == 1 && !f.length)
            surety_fail(r->err, SURETY_E_INPUT, "an empty line");
        else
            surety_fail(r->err, SURETY_E_INPUT, "fields in this CSV line: %zu", r->column);
        surety_fail_place(r->err, "line %zu", r->line);
        surety_fail_expected(
            r->err, "%zu field%s, as in line 1%s", *fields, *fields == 1 ? "" : "s",
            *fields == 1 ? " (a title or comment? remove it; another separator? --separator)" : "");
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

static surety_status check_shape(size_t fields, size_t least, surety_error *err) {
    if (fields > SURETY_COLUMNS_MOST) {
        surety_fail(err, SURETY_E_INPUT, "%zu columns are too many", fields);
        surety_fail_expected(err, "at most %d columns, one row per line (are rows and columns swapped?)",
                             SURETY_COLUMNS_MOST);
    } else if (fields < least) {
        surety_fail(err, SURETY_E_INPUT, "a CSV file of one column");
        surety_fail_expected(
            err, "features and a label, with a separator between them (--separator; --separator blank)");
    } else {
        return SURETY_OK;
    }
    surety_fail_place(err, "line 1");
    return SURETY_E_INPUT;
}

/* ---- names ---- */

typedef struct first_line {
    field *names; /* (fields), plain */
    size_t fields;
} first_line;

static surety_status read_first(reader *r, first_line *line, surety_error *err) {
    SURETY_TRY(surety_alloc(&line->names, line->fields, sizeof *line->names, err));
    for (size_t i = 0; i < line->fields; i++) {
        SURETY_TRY(next_field(r, &line->names[i]));
        SURETY_TRY(plain(r, &line->names[i]));
    }
    return SURETY_OK;
}

static int has_name(const first_line *line, const char *name) {
    size_t i = 0;
    while (name && i < line->fields &&
           (strlen(name) != line->names[i].length || memcmp(name, line->names[i].at, strlen(name)) != 0))
        i++;
    return name && i < line->fields;
}

/* Some option names a field of line 1, by a name that is no number. */
static int is_named(const first_line *line, const surety_wanted *w) {
    const char *const *const lists[] = {&w->label, &w->unit, &w->group, w->drop, w->categorical};
    const size_t counts[] = {1, 1, 1, w->drop_count, w->categorical_count};
    for (size_t k = 0; k < 5; k++)
        for (size_t i = 0; i < counts[k]; i++)
            if (lists[k][i] && !surety_column_number(lists[k][i]) && has_name(line, lists[k][i])) return 1;
    return w->preparation && w->preparation->named && has_name(line, w->preparation->columns[0].name);
}

static surety_status mixed(surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the first CSV line mixes names and numbers");
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "names only, or a row; or say whether it is a header (--header yes or no)");
    return SURETY_E_INPUT;
}

/* Whether line 1 holds names: see surety_header. */
static int guess_header(const first_line *line, const surety_source *source) {
    size_t numbers = 0;
    double ignored;
    if (source->header != SURETY_HEADER_AUTO) return source->header == SURETY_HEADER_YES;
    if (is_named(line, &source->wanted)) return 1;
    for (size_t i = 0; i < line->fields; i++)
        numbers += (size_t)surety_text_number(&line->names[i], &ignored);
    return !numbers;
}

/* A line 1 that is taken for a row: its numbers are numbers. *unsure: its label is a text, so it is a row
 * only if another row has that label too. */
static surety_status check_row(const first_line *line, const surety_columns *c, int *unsure,
                               surety_error *err) {
    double ignored;
    *unsure = 0;
    for (size_t i = 0; i < line->fields; i++) {
        const field *f = &line->names[i];
        if (surety_text_number(f, &ignored) || surety_text_missing(f)) continue;
        if (c->roles[i] == SURETY_ROLE_NUMBER) return mixed(err);
        *unsure |= i == c->label;
    }
    return SURETY_OK;
}

/* ---- second pass: fields ---- */

/* Texts of one column. */
typedef struct texts {
    surety_text *of; /* (rows) */
    size_t column;   /* of the file */
    surety_labels *out;
} texts;

typedef struct reading {
    surety_table *t;
    const surety_source *source;
    surety_text *labels; /* (rows), or NULL: there is no label column */
    texts *texts;        /* columns of categories, the unit, the group */
    size_t text_count;
    size_t group;    /* the group's place among texts */
    size_t *place;   /* (fields): the used column, or among texts, that a column of the file is */
    uint8_t *counts; /* (d): 1: it may still be numbering the rows, from 0 or from 1 */
} reading;

/* Texts are kept without the blanks around them. */
static surety_status keep_text(reader *r, const field *f, surety_text *out) {
    *out = *f;
    if (surety_text_missing(f)) return *out = (surety_text){0}, SURETY_OK;
    return plain(r, out);
}

static surety_status read_field(reading *a, reader *r, size_t row, size_t column, const field *f) {
    surety_table *t = a->t;
    const surety_columns *c = &t->columns;
    size_t j = a->place[column];
    double value = 0;
    if (column == c->group) SURETY_TRY(keep_text(r, f, &a->texts[a->group].of[row]));
    switch (c->roles[column]) {
        case SURETY_ROLE_LABEL:
            a->labels[row] = r->whole;
            return plain(r, &a->labels[row]);
        case SURETY_ROLE_CATEGORY:
        case SURETY_ROLE_UNIT:
            return keep_text(r, f, &a->texts[j].of[row]);
        case SURETY_ROLE_NUMBER:
            SURETY_TRY(read_number(r, f, c->names[column], &value));
            t->values[row * t->d + j] = (float)value;
            t->rounded += !isnan(value) && (double)(float)value != value;
            a->counts[j] &= (uint8_t)((value == (double)row) | (value == (double)row + 1) << 1);
            return SURETY_OK;
        default:
            return SURETY_OK;
    }
}

static surety_status read_rows(reading *a, reader *r) {
    for (size_t i = 0; i < a->t->rows; i++)
        for (size_t k = 0; k < a->t->columns.file; k++) {
            field f;
            SURETY_TRY(next_field(r, &f));
            SURETY_TRY(read_field(a, r, i, k, &f));
        }
    return SURETY_OK;
}

/* What each column of the file needs; a column that pandas or R would write in front counts the rows. */
static surety_status prepare(reading *a, surety_error *err) {
    surety_table *t = a->t;
    const surety_columns *c = &t->columns;
    SURETY_TRY(surety_alloc(&t->values, t->rows * t->d, sizeof *t->values, err)); /* fields that exist */
    SURETY_TRY(surety_alloc(&t->categories, t->d, sizeof *t->categories, err));
    SURETY_TRY(surety_alloc(&a->place, c->file, sizeof *a->place, err));
    SURETY_TRY(surety_alloc(&a->counts, t->d, 1, err));
    SURETY_TRY(surety_alloc(&a->texts, t->d + 2, sizeof *a->texts, err));
    if (c->label != SURETY_NO_COLUMN) SURETY_TRY(surety_alloc(&a->labels, t->rows, sizeof *a->labels, err));
    for (size_t j = 0; j < t->d; j++) {
        const char *name = c->names[c->from[j]];
        a->place[c->from[j]] = c->roles[c->from[j]] == SURETY_ROLE_CATEGORY ? a->text_count : j;
        if (c->roles[c->from[j]] == SURETY_ROLE_CATEGORY)
            a->texts[a->text_count++] = (texts){NULL, c->from[j], &t->categories[j]};
        a->counts[j] = c->named && (!strncmp(name, "Unnamed: ", 9) || !strncmp(name, "column ", 7)) ? 3 : 0;
    }
    if (c->unit != SURETY_NO_COLUMN) {
        a->place[c->unit] = a->text_count;
        a->texts[a->text_count++] = (texts){NULL, c->unit, &t->units};
    }
    if (c->group != SURETY_NO_COLUMN) {
        a->group = a->text_count;
        a->texts[a->text_count++] = (texts){NULL, c->group, &t->groups};
    }
    for (size_t k = 0; k < a->text_count; k++)
        SURETY_TRY(surety_alloc(&a->texts[k].of, t->rows, sizeof *a->texts[k].of, err));
    t->floats = t->values;
    t->stride = t->d;
    return SURETY_OK;
}

static surety_status name_categories(reading *a, surety_error *err) {
    for (size_t k = 0; k < a->text_count; k++) {
        size_t row = 0;
        surety_status status = surety_categories_make(a->texts[k].out, a->texts[k].of, a->t->rows, &row, err);
        if (status == SURETY_OK) continue;
        surety_fail_place(err, "line %zu, column %zu", row + a->t->first_line, a->texts[k].column + 1);
        return status;
    }
    for (size_t j = 0; j < a->t->d; j++)
        if (a->counts[j] && a->t->rows > 1) a->t->index_column = j;
    return SURETY_OK;
}

static surety_status read_all(reading *a, reader *r, int unsure) {
    surety_table *t = a->t;
    size_t like_first = 0;
    SURETY_TRY(prepare(a, r->err));
    SURETY_TRY(read_rows(a, r));
    SURETY_TRY(name_categories(a, r->err));
    if (a->source->wanted.label_optional) return SURETY_OK;
    SURETY_TRY(surety_labels_texts(t, a->labels, r->err));
    for (size_t i = 0; unsure && i < t->rows; i++) like_first += t->labels.of[i] == t->labels.of[0];
    return unsure && like_first == 1 ? mixed(r->err) : SURETY_OK;
}

static void forget(reading *a) {
    for (size_t k = 0; k < a->text_count; k++) surety_free(a->texts[k].of);
    surety_free(a->texts);
    surety_free(a->labels);
    surety_free(a->place);
    surety_free(a->counts);
}

/* ---- all of it ---- */

static void take_shape(surety_table *t, size_t lines, int header) {
    t->rows = lines - (size_t)header;
    t->d = t->columns.count;
    t->first_line = 1 + (size_t)header;
    t->scale = 1;
    t->index_column = SURETY_NO_COLUMN;
}

static surety_status read_with(surety_table *t, reader *r, first_line *line, const surety_file *file,
                               const surety_source *source, surety_error *err) {
    size_t lines = 0;
    int unsure = 0;
    rewind_to(r, file);
    t->separator = r->separator = source->separator ? source->separator : sniff(r);
    SURETY_TRY(count_lines(r, &lines, &line->fields));
    rewind_to(r, file);
    SURETY_TRY(read_first(r, line, err));
    int header = guess_header(line, source);
    if (lines == (size_t)header)
        return surety_fail(err, SURETY_E_INPUT, "a CSV file with a header and no rows");
    SURETY_TRY(check_shape(line->fields, source->wanted.label_optional ? 1 : 2, err));
    SURETY_TRY(
        surety_columns_make(&t->columns, header ? line->names : NULL, line->fields, &source->wanted, err));
    take_shape(t, lines, header);
    if (!header && source->header == SURETY_HEADER_AUTO)
        SURETY_TRY(check_row(line, &t->columns, &unsure, err));
    if (!header) rewind_to(r, file);
    reading a = {.t = t, .source = source};
    surety_status status = read_all(&a, r, unsure);
    forget(&a);
    return status;
}

surety_status surety_csv_read(surety_table *t, const surety_file *file, const surety_source *source,
                              surety_error *err) {
    reader r = {.err = err};
    first_line line = {0};
    surety_status status = read_with(t, &r, &line, file, source, err);
    surety_free(line.names);
    surety_free(r.plain);
    return status;
}
