/* Rows are cut out of the file, sorted by their bytes, and compared with their neighbours. */
#include "certify/repeats.h"

#include <string.h>

#include "base/memory.h"
#include "surety/bound.h"

typedef struct row {
    const uint8_t *at;
    size_t size;
} row;

static int by_bytes(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return memcmp(x->at, y->at, x->size);
}

/* 1 if the text stands in the first `size` bytes. */
static int holds(const uint8_t *data, size_t size, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= size; i++)
        if (!memcmp(data + i, text, n)) return 1;
    return 0;
}

/* Behind the header of an NPY file lie m rows of equally many bytes. */
static int cut_array(const surety_file *file, row *rows, size_t m) {
    const uint8_t *p = file->data;
    if (file->size < 12 || memcmp(p, "\x93NUMPY", 6) != 0) return 0;
    size_t at = p[6] > 1 ? 12 : 10, length = p[8] | (size_t)p[9] << 8;
    if (at == 12) length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (length > file->size - at || !holds(p + at, length, "'fortran_order': False")) return 0;
    size_t bytes = file->size - at - length;
    if (bytes % m != 0 || bytes == 0) return 0;
    for (size_t i = 0; i < m; i++) rows[i] = (row){p + at + length + i * (bytes / m), bytes / m};
    return 1;
}

/* Lines of a text; the first is a header if there is one more than rows. */
static int cut_text(const surety_file *file, row *rows, size_t m) {
    const uint8_t *p = file->data, *end = p + file->size;
    size_t lines = 0;
    if (memchr(p, 0, file->size)) return 0;
    for (const uint8_t *at = p; at < end; lines++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (lines <= m) rows[lines] = (row){at, (size_t)(stop - at)};
        at = stop + 1;
    }
    if (lines == m + 1) memmove(rows, rows + 1, m * sizeof *rows);
    return lines == m || lines == m + 1;
}

surety_status surety_rows_repeat(const surety_file *file, size_t m, uint64_t *repeats, surety_error *err) {
    row *rows;
    *repeats = SURETY_ABSENT;
    SURETY_TRY(surety_alloc(&rows, m + 1, sizeof *rows, err));
    surety_status status = SURETY_OK;
    if (file->size && (cut_array(file, rows, m) || cut_text(file, rows, m))) {
        status = surety_sort(rows, m, sizeof *rows, by_bytes, err);
        *repeats = 0;
        for (size_t i = 1; i < m && status == SURETY_OK; i++) *repeats += !by_bytes(&rows[i - 1], &rows[i]);
    }
    surety_free(rows);
    return status;
}
