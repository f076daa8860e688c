#include "io/npy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are copied as little endian");

enum {
    HEAD = 1 << 16, /* first bytes of a streamed file, which hold its header */
    PIECE = 1 << 13 /* bytes that are read and converted at a time, on the stack */
};

static const struct {
    const char *descr, *name;
    size_t size;
} dtypes[SURETY_DTYPES] = {
    [SURETY_F4] = {"<f4", "float32", 4}, [SURETY_F8] = {"<f8", "float64", 8},
    [SURETY_I1] = {"|i1", "int8", 1},    [SURETY_I2] = {"<i2", "int16", 2},
    [SURETY_I4] = {"<i4", "int32", 4},   [SURETY_I8] = {"<i8", "int64", 8},
    [SURETY_U1] = {"|u1", "uint8", 1},   [SURETY_U2] = {"<u2", "uint16", 2},
    [SURETY_U4] = {"<u4", "uint32", 4},  [SURETY_U8] = {"<u8", "uint64", 8},
    [SURETY_B1] = {"|b1", "bool", 1},
};

size_t surety_dtype_size(surety_dtype dtype) {
    return dtypes[dtype].size;
}

const char *surety_dtype_name(surety_dtype dtype) {
    return dtypes[dtype].name;
}

/* ---- the header: a Python dictionary of three entries, read letter by letter ---- */

typedef struct cursor {
    const uint8_t *start, *at, *end; /* the file's first byte, where we are, the header's end */
    surety_error *err;
} cursor;

static surety_status bad_header(const cursor *c, const char *what) {
    surety_fail(c->err, SURETY_E_INPUT, "NPY header: %s", what);
    surety_fail_expected(c->err, "{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }");
    surety_fail_place(c->err, "byte %td", c->at - c->start);
    return SURETY_E_INPUT;
}

static void skip_blanks(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) c->at++;
}

/* Skips blanks, then the letter if it is next. */
static int next_is(cursor *c, char letter) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != (uint8_t)letter) return 0;
    c->at++;
    return 1;
}

static surety_status read_text(cursor *c, char *text, size_t capacity) {
    char quote = next_is(c, '\'') ? '\'' : next_is(c, '"') ? '"' : 0;
    if (!quote) return bad_header(c, "a quoted text is missing");
    size_t length = 0;
    while (c->at < c->end && *c->at != (uint8_t)quote && length + 1 < capacity)
        text[length++] = (char)*c->at++;
    text[length] = 0;
    if (c->at == c->end || *c->at != (uint8_t)quote) return bad_header(c, "a quoted text does not end");
    c->at++;
    return SURETY_OK;
}

static surety_status refuse_dtype(const cursor *c, const char *descr) {
    const char *kind = strchr(descr, 'O')                         ? "objects"
                       : descr[0] == '>'                          ? "big-endian numbers"
                       : strpbrk(descr, "US")                     ? "texts"
                       : strchr(descr, 'c')                       ? "complex numbers"
                       : strchr(descr, 'M') || strchr(descr, 'm') ? "times"
                                                                  : "a type that is not read here";
    surety_fail(c->err, SURETY_E_INPUT, "an NPY array of %s ('%.16s')", kind, descr);
    surety_fail_place(c->err, "byte %td", c->at - c->start);
    surety_fail_expected(c->err, "float32, float64, integers or bool, little endian");
    return SURETY_E_INPUT;
}

static surety_status read_descr(cursor *c, surety_npy *a) {
    char descr[64];
    skip_blanks(c);
    if (c->at < c->end && *c->at == '[') {
        surety_fail(c->err, SURETY_E_INPUT, "an NPY array of records");
        surety_fail_place(c->err, "byte %td", c->at - c->start);
        surety_fail_expected(c->err, "plain numbers");
        return SURETY_E_INPUT;
    }
    SURETY_TRY(read_text(c, descr, sizeof descr));
    for (a->dtype = 0; a->dtype < SURETY_DTYPES; a->dtype++)
        if (!strcmp(descr, dtypes[a->dtype].descr)) return SURETY_OK;
    return refuse_dtype(c, descr);
}

/* Goes over the word if it is next. */
static int next_word(cursor *c, const char *word) {
    size_t length = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return 0;
    c->at += length;
    return 1;
}

static surety_status read_order(cursor *c, surety_npy *a) {
    a->fortran = next_word(c, "True");
    if (a->fortran || next_word(c, "False")) return SURETY_OK;
    return bad_header(c, "fortran_order is neither True nor False");
}

static surety_status read_length(cursor *c, size_t *length) {
    skip_blanks(c);
    if (c->at == c->end || *c->at < '0' || *c->at > '9') return bad_header(c, "shape holds no number here");
    *length = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*length, (size_t)10, length) ||
            __builtin_add_overflow(*length, (size_t)(*c->at - '0'), length))
            return bad_header(c, "a length in shape is too large");
    return SURETY_OK;
}

/* (), (3,) or (3, 4) or (3, 4,) */
static surety_status read_shape(cursor *c, surety_npy *a) {
    if (!next_is(c, '(')) return bad_header(c, "shape is not a tuple");
    a->ndim = 0;
    while (!next_is(c, ')')) {
        if (a->ndim == SURETY_NPY_DIMS) return bad_header(c, "shape has more than 8 dimensions");
        SURETY_TRY(read_length(c, &a->shape[a->ndim++]));
        skip_blanks(c);
        int last = c->at < c->end && *c->at == ')';
        if ((!last || a->ndim == 1) && !next_is(c, ',')) return bad_header(c, "shape lacks a comma");
    }
    return SURETY_OK;
}

static surety_status read_entry(cursor *c, surety_npy *a, unsigned *seen) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[64];
    unsigned which = 0;
    SURETY_TRY(read_text(c, key, sizeof key));
    while (which < 3 && strcmp(key, keys[which]) != 0) which++;
    if (which == 3) return bad_header(c, "an unknown key");
    if (*seen & 1u << which) return bad_header(c, "a key occurs twice");
    *seen |= 1u << which;
    if (!next_is(c, ':')) return bad_header(c, "a colon is missing");
    return which == 0 ? read_descr(c, a) : which == 1 ? read_order(c, a) : read_shape(c, a);
}

static surety_status read_dictionary(cursor *c, surety_npy *a) {
    unsigned seen = 0;
    if (!next_is(c, '{')) return bad_header(c, "it does not begin with {");
    while (!next_is(c, '}')) {
        SURETY_TRY(read_entry(c, a, &seen));
        skip_blanks(c);
        int last = c->at < c->end && *c->at == '}';
        if (!last && !next_is(c, ',')) return bad_header(c, "a comma or } is missing");
    }
    if (seen != 7) return bad_header(c, "descr, fortran_order or shape is missing");
    skip_blanks(c);
    return c->at == c->end ? SURETY_OK : bad_header(c, "text behind the dictionary");
}

/* Finds the header; c->end is its end and the first byte of the values. */
static surety_status find_header(cursor *c, size_t size) {
    const uint8_t *p = c->start;
    c->end = p + size;
    if (size < 10) return bad_header(c, "the file ends within it");
    if (memcmp(p, "\x93NUMPY", 6) != 0) return bad_header(c, "the file does not begin with \\x93NUMPY");
    c->at = p + 6;
    if (p[6] < 1 || p[6] > 3 || p[7] != 0) return bad_header(c, "its version is not 1.0, 2.0 or 3.0");
    size_t field = p[6] == 1 ? 2 : 4, length = 0;
    if (size < 8 + field) return bad_header(c, "the file ends within it");
    for (size_t i = 0; i < field; i++) length |= (size_t)p[8 + i] << 8 * i;
    c->at = p + 8 + field;
    if (length > size - 8 - field) return bad_header(c, "the file ends within it");
    c->end = c->at + length;
    return SURETY_OK;
}

static surety_status check_size(surety_npy *a, const cursor *c, size_t size) {
    size_t offset = (size_t)(c->end - c->start), bytes = 0;
    int overflow = 0;
    a->count = 1;
    for (int i = 0; i < a->ndim; i++) overflow |= __builtin_mul_overflow(a->count, a->shape[i], &a->count);
    overflow |= __builtin_mul_overflow(a->count, dtypes[a->dtype].size, &bytes);
    if (overflow) return bad_header(c, "shape has more values than can be addressed");
    if (bytes != size - offset) {
        surety_fail(c->err, SURETY_E_INPUT, "the NPY shape needs %zu bytes of values, the file has %zu",
                    bytes, size - offset);
        surety_fail_place(c->err, "byte %zu", offset);
        return SURETY_E_INPUT;
    }
    a->data = c->end;
    a->nbytes = bytes;
    return SURETY_OK;
}

static surety_status check_bools(const surety_npy *a, const cursor *c) {
    for (size_t i = 0; a->dtype == SURETY_B1 && i < a->count; i++)
        if (a->data[i] > 1) {
            surety_fail(c->err, SURETY_E_INPUT, "an NPY bool is %d", a->data[i]);
            surety_fail_place(c->err, "byte %td", a->data + i - c->start);
            surety_fail_expected(c->err, "0 or 1");
            return SURETY_E_INPUT;
        }
    return SURETY_OK;
}

/* Fortran order, where the first index runs fastest, into C order, where the last one does. */
static surety_status put_in_order(surety_npy *a, surety_error *err) {
    size_t size = dtypes[a->dtype].size, stride[SURETY_NPY_DIMS], index[SURETY_NPY_DIMS] = {0}, from = 0;
    if (!a->fortran || a->ndim < 2) return SURETY_OK;
    SURETY_TRY(surety_alloc(&a->ordered, a->nbytes, 1, err));
    for (size_t k = 0, step = size; k < (size_t)a->ndim; step *= a->shape[k++]) stride[k] = step;
    for (size_t i = 0; i < a->count; i++) {
        memcpy(a->ordered + i * size, a->data + from, size);
        for (size_t k = (size_t)a->ndim; k-- > 0;) { /* the next index, as an odometer counts */
            from += stride[k];
            if (++index[k] < a->shape[k]) break;
            from -= stride[k] * a->shape[k];
            index[k] = 0;
        }
    }
    a->data = a->ordered;
    return SURETY_OK;
}

surety_status surety_npy_parse(surety_npy *out, surety_file *file, const char *name, surety_error *err) {
    cursor c = {file->data, file->data, file->data, err};
    *out = (surety_npy){0};
    surety_status status = find_header(&c, file->size);
    if (status == SURETY_OK) status = read_dictionary(&c, out);
    if (status == SURETY_OK) status = check_size(out, &c, file->size);
    if (status == SURETY_OK) status = check_bools(out, &c);
    if (status == SURETY_OK) status = put_in_order(out, err);
    if (status != SURETY_OK) {
        *out = (surety_npy){0};
        surety_fail_file(err, name);
        return status;
    }
    out->file = *file;
    *file = (surety_file){0};
    return SURETY_OK;
}

surety_status surety_npy_open(surety_npy *out, const char *path, surety_error *err) {
    surety_file file;
    *out = (surety_npy){0};
    SURETY_TRY(surety_file_open(&file, path, err));
    surety_status status = surety_npy_parse(out, &file, path, err);
    surety_file_close(&file); /* empty if it was taken over */
    return status;
}

/* Header and size are checked, the values stay in the file; head holds its first bytes. */
static surety_status parse_head(surety_npy *out, const uint8_t *head, size_t used, uint64_t size,
                                surety_error *err) {
    cursor c = {head, head, head, err};
    SURETY_TRY(find_header(&c, used));
    SURETY_TRY(read_dictionary(&c, out));
    SURETY_TRY(check_size(out, &c, (size_t)size));
    out->begin = (uint64_t)(c.end - c.start);
    out->data = NULL;
    return SURETY_OK;
}

surety_status surety_npy_stream(surety_npy *out, const char *path, surety_error *err) {
    uint64_t size = 0;
    uint8_t *head = NULL;
    *out = (surety_npy){0};
    SURETY_TRY(surety_open_regular(&out->fd, &size, path, err));
    out->streamed = 1;
    size_t used = size < HEAD ? (size_t)size : HEAD;
    surety_status status = surety_alloc(&head, HEAD, 1, err);
    if (status == SURETY_OK) status = surety_read_at(out->fd, head, used, 0, err);
    int whole = status == SURETY_OK && surety_is_gzip(head, used);
    if (status == SURETY_OK && !whole) status = parse_head(out, head, used, size, err);
    surety_free(head);
    whole |= out->dtype == SURETY_B1 || (out->fortran && out->ndim > 1); /* checked, put in order at once */
    if (status == SURETY_OK && !whole) return SURETY_OK;
    surety_npy_close(out);
    if (status == SURETY_OK) return surety_npy_open(out, path, err);
    surety_fail_file(err, path);
    return status;
}

void surety_npy_close(surety_npy *array) {
    if (array->streamed) close(array->fd);
    surety_file_close(&array->file);
    surety_free(array->ordered);
    *array = (surety_npy){0};
}

/* ---- values: copied out, because a header of odd length leaves them unaligned ---- */

#define CONVERT(type)                                          \
    for (size_t i = 0; i < count; i++) {                       \
        type value;                                            \
        memcpy(&value, from + i * sizeof value, sizeof value); \
        out[i] = (TO)value;                                    \
    }                                                          \
    break

#define CONVERT_ANY(dtype)     \
    switch (dtype) {           \
        case SURETY_F4:        \
            CONVERT(float);    \
        case SURETY_F8:        \
            CONVERT(double);   \
        case SURETY_I1:        \
            CONVERT(int8_t);   \
        case SURETY_I2:        \
            CONVERT(int16_t);  \
        case SURETY_I4:        \
            CONVERT(int32_t);  \
        case SURETY_I8:        \
            CONVERT(int64_t);  \
        case SURETY_B1:        \
        case SURETY_U1:        \
            CONVERT(uint8_t);  \
        case SURETY_U2:        \
            CONVERT(uint16_t); \
        case SURETY_U4:        \
            CONVERT(uint32_t); \
        case SURETY_U8:        \
            CONVERT(uint64_t); \
        default:               \
            break;             \
    }

static void to_doubles(surety_dtype dtype, const uint8_t *from, size_t count, double *out) {
    typedef double TO;
    CONVERT_ANY(dtype)
}

static void to_floats(surety_dtype dtype, const uint8_t *from, size_t count, float *out) {
    typedef float TO;
    CONVERT_ANY(dtype)
}

void surety_npy_doubles(const surety_npy *array, size_t first, size_t count, double *out) {
    to_doubles(array->dtype, array->data + first * dtypes[array->dtype].size, count, out);
}

void surety_npy_floats(const surety_npy *array, size_t first, size_t count, float *out) {
    to_floats(array->dtype, array->data + first * dtypes[array->dtype].size, count, out);
}

/* Values first, first + 1, .. of a streamed array, as many as the buffer holds. */
static surety_status read_piece(const surety_npy *array, size_t first, size_t *count, uint8_t buffer[PIECE],
                                surety_error *err) {
    size_t size = dtypes[array->dtype].size;
    if (*count > PIECE / size) *count = PIECE / size;
    return surety_read_at(array->fd, buffer, *count * size, array->begin + (uint64_t)first * size, err);
}

surety_status surety_npy_read_doubles(const surety_npy *array, size_t first, size_t count, double *out,
                                      surety_error *err) {
    uint8_t buffer[PIECE];
    if (!array->streamed) return surety_npy_doubles(array, first, count, out), SURETY_OK;
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done;
        SURETY_TRY(read_piece(array, first + done, &n, buffer, err));
        to_doubles(array->dtype, buffer, n, out + done);
    }
    return SURETY_OK;
}

surety_status surety_npy_read_floats(const surety_npy *array, size_t first, size_t count, float *out,
                                     surety_error *err) {
    uint8_t buffer[PIECE];
    if (!array->streamed) return surety_npy_floats(array, first, count, out), SURETY_OK;
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done;
        SURETY_TRY(read_piece(array, first + done, &n, buffer, err));
        to_floats(array->dtype, buffer, n, out + done);
    }
    return SURETY_OK;
}

/* ---- writing ---- */

struct surety_npy_writer {
    surety_writer *file;
    surety_dtype dtype;
    uint64_t left; /* values still to come */
};

/* The whole header: its length is a multiple of 64, so that the values are aligned. */
static size_t make_header(char header[512], surety_dtype dtype, int ndim, const size_t *shape) {
    char text[400];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     dtypes[dtype].descr);
    for (int i = 0; i < ndim; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%zu%s", i ? ", " : "", shape[i],
                      ndim == 1 ? "," : "");
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    size_t total = (10 + (size_t)n + 1 + 63) / 64 * 64, length = total - 10;
    memset(header, ' ', total);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(length & 255);
    header[9] = (char)(length >> 8);
    memcpy(header + 10, text, (size_t)n);
    header[total - 1] = '\n';
    return total;
}

static surety_status begin(surety_npy_writer *w, const char *path, int ndim, const size_t *shape,
                           surety_error *err) {
    char header[512];
    uint64_t bytes = 0;
    int overflow = ndim < 0 || ndim > SURETY_NPY_DIMS;
    w->left = 1;
    for (int i = 0; i < ndim && !overflow; i++)
        overflow = __builtin_mul_overflow(w->left, (uint64_t)shape[i], &w->left);
    overflow = overflow || __builtin_mul_overflow(w->left, (uint64_t)dtypes[w->dtype].size, &bytes) ||
               bytes > INT64_MAX - sizeof header;
    if (overflow) return surety_fail(err, SURETY_E_USAGE, "an NPY array of this shape is too large");
    size_t length = make_header(header, w->dtype, ndim, shape);
    SURETY_TRY(surety_writer_open(&w->file, path, bytes + length, err));
    return surety_writer_append(w->file, header, length, err);
}

surety_status surety_npy_writer_open(surety_npy_writer **out, const char *path, surety_dtype dtype, int ndim,
                                     const size_t *shape, surety_error *err) {
    surety_npy_writer *w = NULL;
    *out = NULL;
    SURETY_TRY(surety_alloc(&w, 1, sizeof *w, err));
    w->dtype = dtype;
    surety_status status = begin(w, path, ndim, shape, err);
    if (status == SURETY_OK)
        *out = w;
    else
        surety_npy_writer_abort(w);
    return status;
}

surety_status surety_npy_writer_append(surety_npy_writer *w, const void *values, size_t count,
                                       surety_error *err) {
    if (count > w->left)
        return surety_fail(err, SURETY_E_USAGE, "%zu values for an NPY array that lacks %llu", count,
                           (unsigned long long)w->left);
    w->left -= count;
    return surety_writer_append(w->file, values, count * dtypes[w->dtype].size, err);
}

surety_status surety_npy_writer_commit(surety_npy_writer *w, surety_error *err) {
    if (w->left) {
        surety_fail(err, SURETY_E_USAGE, "an NPY array still lacks %llu values", (unsigned long long)w->left);
        surety_npy_writer_abort(w);
        return SURETY_E_USAGE;
    }
    surety_status status = surety_writer_commit(w->file, err);
    surety_free(w);
    return status;
}

void surety_npy_writer_abort(surety_npy_writer *w) {
    if (!w) return;
    surety_writer_abort(w->file);
    surety_free(w);
}
