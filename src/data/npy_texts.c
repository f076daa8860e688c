/* NPY arrays of texts, as labels: '<U5' (five characters of 4 bytes each) or '|S5' (five bytes), one
 * dimension, zeros behind shorter texts. The header is taken in the words in which NumPy writes it. */
#include <string.h>

#include "data/table.h"

typedef struct layout {
    const uint8_t *data;
    size_t rows, bytes; /* bytes of a text */
    int wide;           /* '<U' */
} layout;

/* Goes over these words if they are next. */
static int next_is(const char **at, const char *words) {
    size_t n = strlen(words);
    if (strncmp(*at, words, n) != 0) return 0;
    *at += n;
    return 1;
}

static size_t next_number(const char **at) {
    size_t n = 0;
    for (; **at >= '0' && **at <= '9' && n < SIZE_MAX / 100; ++*at) n = 10 * n + (size_t)(**at - '0');
    return n;
}

static int parse(layout *l, const char *header) {
    if (!next_is(&header, "{'descr': '")) return 0;
    l->wide = next_is(&header, "<U");
    if (!l->wide && !next_is(&header, "|S")) return 0;
    l->bytes = next_number(&header) * (l->wide ? 4 : 1);
    if (!next_is(&header, "', 'fortran_order': False, 'shape': (")) return 0;
    l->rows = next_number(&header);
    return next_is(&header, ",), }");
}

/* 1 if the file is such an array. */
static int read_header(layout *l, const surety_file *file) {
    char header[129] = "";
    size_t total;
    if (file->size < 12 || memcmp(file->data, "\x93NUMPY", 6) != 0) return 0;
    const uint8_t *p = file->data + 8;
    size_t at = file->data[6] > 1 ? 12 : 10, length = p[0] | (size_t)p[1] << 8;
    if (at == 12) length |= (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (length > file->size - at) return 0;
    memcpy(header, file->data + at, length < sizeof header - 1 ? length : sizeof header - 1);
    l->data = file->data + at + length;
    return parse(l, header) && l->bytes && !__builtin_mul_overflow(l->bytes, l->rows, &total) &&
           total == file->size - at - length;
}

/* One character as UTF-8; one that is none becomes a byte that UTF-8 does not have. */
static size_t encode(uint32_t c, char *out) {
    if (c < 0x80) return out[0] = (char)c, 1;
    if (c > 0x10ffff) return out[0] = (char)0xff, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> n & 0xf0) | c);
    return n;
}

/* Text i, without the zeros behind it, at `at`. */
static surety_text take(const layout *l, size_t i, char *at) {
    const uint8_t *p = l->data + i * l->bytes;
    surety_text text = {at, 0};
    size_t end = 0;
    for (size_t j = 0; j < l->bytes; j += l->wide ? 4 : 1) {
        uint32_t c = p[j];
        if (l->wide) memcpy(&c, p + j, 4);
        text.length += l->wide ? encode(c, at + text.length) : (at[text.length] = (char)c, 1u);
        if (c) end = text.length;
    }
    text.length = end;
    return text;
}

surety_status surety_npy_texts(surety_table *t, const surety_file *file, int *are, surety_error *err) {
    layout l = {0};
    char *memory = NULL;
    surety_text *texts = NULL;
    *are = read_header(&l, file);
    if (!*are) return SURETY_OK;
    if (l.rows != t->rows) {
        surety_fail(err, SURETY_E_INPUT, "%zu labels for %zu rows of features", l.rows, t->rows);
        surety_fail_expected(err, "one label per row");
        return SURETY_E_INPUT;
    }
    SURETY_TRY(surety_alloc(&memory, l.rows, l.bytes, err));
    surety_status status = surety_alloc(&texts, l.rows, sizeof *texts, err);
    for (size_t i = 0; i < l.rows && status == SURETY_OK; i++) texts[i] = take(&l, i, memory + i * l.bytes);
    if (status == SURETY_OK) status = surety_labels_texts(t, texts, err);
    surety_free(texts);
    surety_free(memory);
    return status;
}
