/* LIBSVM, also called SVMlight: lines "label index:value index:value ..", indices from 1 and ascending, what
 * is not there is 0. A '#' begins a comment. Two passes: sizes first, values after memory is known to be
 * there. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/preparation.h"
#include "data/table.h"

typedef struct reader {
    const char *at, *end; /* of the file */
    size_t line;          /* from 1 */
    surety_error *err;
} reader;

static surety_status bad(const reader *r, const char *what, const surety_text *word) {
    surety_fail(r->err, SURETY_E_INPUT, "%s: '%.*s'", what, word->length > 40 ? 40 : (int)word->length,
                word->at);
    surety_fail_place(r->err, "line %zu", r->line);
    surety_fail_expected(r->err,
                         "label index:value .., indices from 1 and ascending, finite values (scikit-learn: "
                         "dump_svmlight_file(.., zero_based=False))");
    return SURETY_E_INPUT;
}

/* The next word of the line; length 0 at its end. */
static surety_text next_word(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) r->at++;
    if (r->at < r->end && *r->at == '#')
        while (r->at < r->end && *r->at != '\n') r->at++;
    surety_text word = {r->at, 0};
    while (r->at < r->end && *r->at != ' ' && *r->at != '\t' && *r->at != '\r' && *r->at != '\n') r->at++;
    word.length = (size_t)(r->at - word.at);
    return word;
}

/* index:value */
static surety_status read_pair(const reader *r, const surety_text *word, size_t before, size_t *index,
                               double *value) {
    const char *colon = memchr(word->at, ':', word->length);
    surety_text first = {word->at, colon ? (size_t)(colon - word->at) : 0},
                second = {colon ? colon + 1 : word->at, colon ? word->length - first.length - 1 : 0};
    double number = 0;
    if (!colon || !surety_text_number(&first, &number) || number != floor(number))
        return bad(r, "not index:value", word);
    if (number < 1) return bad(r, "an index below 1", word);
    if (number > SURETY_COLUMNS_MOST) return bad(r, "more than 1048576 columns", word);
    if (number <= (double)before) return bad(r, "indices that do not ascend", word);
    if (!surety_text_number(&second, value) || !(fabs(*value) <= (double)FLT_MAX))
        return bad(r, "the value is not a finite number", word);
    *index = (size_t)number;
    return SURETY_OK;
}

/* One line: its label, and its values into x unless that is NULL. *most: the largest index so far. */
static surety_status read_line(reader *r, surety_text *label, float *x, size_t *most, uint64_t *rounded) {
    r->line++;
    *label = next_word(r);
    if (!label->length || memchr(label->at, ':', label->length))
        return bad(r, "a line without a label", label);
    for (size_t index = 0;;) {
        surety_text word = next_word(r);
        double value = 0;
        if (!word.length) break;
        SURETY_TRY(read_pair(r, &word, index, &index, &value));
        if (index > *most) *most = index;
        if (x) x[index - 1] = (float)value;
        *rounded += (double)(float)value != value;
    }
    if (r->at < r->end) r->at++;
    return SURETY_OK;
}

static reader begin(const surety_file *file, surety_error *err) {
    const char *start = (const char *)file->data;
    return (reader){start, start + file->size, 0, err};
}

int surety_libsvm_is(const surety_file *file) {
    reader r = begin(file, NULL);
    surety_text label = next_word(&r), pair = next_word(&r);
    const char *colon = pair.length ? memchr(pair.at, ':', pair.length) : NULL;
    double ignored;
    surety_text index = {pair.at, colon ? (size_t)(colon - pair.at) : 0};
    return label.length && surety_text_number(&label, &ignored) && surety_text_number(&index, &ignored);
}

/* A table that is to fit another one has its columns; where that one held its labels, those that it used. */
static surety_status check_width(const surety_source *source, size_t most, size_t *d, surety_error *err) {
    const surety_preparation *preparation = source->wanted.preparation;
    int same = preparation && preparation->file_columns && preparation->label_at == SURETY_NO_COLUMN;
    *d = same ? preparation->file_columns : preparation ? preparation->column_count : most;
    if (*d && most <= *d) return SURETY_OK;
    if (!most) return surety_fail(err, SURETY_E_INPUT, "a LIBSVM file without a single value");
    surety_fail(err, SURETY_E_INPUT, "index %zu, but there were %zu columns before", most, *d);
    surety_fail_expected(err, "the same columns in all files");
    return SURETY_E_INPUT;
}

static surety_status read_rows(surety_table *t, const surety_file *file, surety_text *labels,
                               surety_error *err) {
    reader r = begin(file, err);
    size_t ignored = 0;
    t->rounded = 0;
    for (size_t i = 0; i < t->rows; i++)
        SURETY_TRY(read_line(&r, &labels[i], t->values + i * t->d, &ignored, &t->rounded));
    return surety_labels_texts(t, labels, err);
}

surety_status surety_libsvm_read(surety_table *t, const surety_file *file, const surety_source *source,
                                 surety_error *err) {
    reader r = begin(file, err);
    surety_text *labels = NULL;
    size_t most = 0, values = 0;
    t->first_line = 1;
    t->scale = 1;
    for (; r.at < r.end; t->rows++) {
        surety_text label;
        SURETY_TRY(read_line(&r, &label, NULL, &most, &t->rounded));
    }
    if (!t->rows) return surety_fail(err, SURETY_E_INPUT, "an empty LIBSVM file");
    SURETY_TRY(check_width(source, most, &t->d, err));
    if (__builtin_mul_overflow(t->rows, t->d, &values))
        return surety_fail(err, SURETY_E_MEMORY, "%zu rows of %zu columns are too many", t->rows, t->d);
    SURETY_TRY(surety_alloc(&t->values, values, sizeof *t->values, err));
    SURETY_TRY(surety_alloc(&labels, t->rows, sizeof *labels, err));
    t->floats = t->values;
    t->stride = t->d;
    surety_status status = read_rows(t, file, labels, err);
    surety_free(labels);
    return status;
}
