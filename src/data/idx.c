/* IDX, the format of MNIST: two zero bytes, the type of the values (8: unsigned bytes), the number of
 * dimensions, each dimension as a big-endian 32-bit number, then the values, row by row. */
#include <string.h>

#include "data/table.h"

enum { UNSIGNED_BYTES = 8 };

typedef struct header {
    size_t ndim, length[256], offset, product; /* product of all dimensions but the first */
} header;

static surety_status bad(size_t byte, const char *what, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "not an IDX file of this kind: %s", what);
    surety_fail_place(err, "byte %zu", byte);
    surety_fail_expected(
        err, "0, 0, 8 (unsigned bytes), the number of dimensions, their lengths, then the values");
    return SURETY_E_INPUT;
}

static surety_status read_header(header *h, const surety_file *file, surety_error *err) {
    const uint8_t *p = file->data;
    if (file->size < 4) return bad(file->size, "it ends within the header", err);
    if (p[0] != 0 || p[1] != 0) return bad(0, "it does not begin with two zero bytes", err);
    if (p[2] != UNSIGNED_BYTES) return bad(2, "its values are not unsigned bytes", err);
    h->ndim = p[3];
    h->offset = 4 + 4 * h->ndim;
    if (h->ndim == 0) return bad(3, "it has no dimensions", err);
    if (file->size < h->offset) return bad(file->size, "it ends within the header", err);
    for (size_t i = 0; i < h->ndim; i++) {
        const uint8_t *n = p + 4 + 4 * i;
        h->length[i] = (size_t)n[0] << 24 | (size_t)n[1] << 16 | (size_t)n[2] << 8 | n[3];
        if (h->length[i] == 0) return bad(4 + 4 * i, "a dimension is 0", err);
    }
    return SURETY_OK;
}

static surety_status check_size(header *h, const surety_file *file, surety_error *err) {
    size_t total = 0;
    int overflow = 0;
    h->product = 1;
    for (size_t i = 1; i < h->ndim; i++)
        overflow |= __builtin_mul_overflow(h->product, h->length[i], &h->product);
    overflow |= __builtin_mul_overflow(h->product, h->length[0], &total);
    if (overflow) return bad(4, "its dimensions multiply to more than can be addressed", err);
    if (total == file->size - h->offset) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the IDX header promises %zu values, the file has %zu", total,
                file->size - h->offset);
    surety_fail_place(err, "byte %zu", file->size);
    return SURETY_E_INPUT;
}

surety_status surety_idx_features(surety_table *table, surety_file *file, surety_error *err) {
    header h = {0};
    SURETY_TRY(read_header(&h, file, err));
    if (h.ndim < 2) return bad(3, "features have two dimensions or more, these have one", err);
    SURETY_TRY(check_size(&h, file, err));
    table->rows = h.length[0];
    table->d = h.product;
    if (h.ndim == 3) table->height = h.length[1], table->width = h.length[2];
    table->scale = 255;
    table->file = *file;
    table->bytes = table->file.data + h.offset;
    *file = (surety_file){0};
    return SURETY_OK;
}

surety_status surety_idx_labels(surety_table *table, const surety_file *file, surety_error *err) {
    header h = {0};
    SURETY_TRY(read_header(&h, file, err));
    if (h.ndim != 1) return bad(3, "labels have one dimension, these have more", err);
    SURETY_TRY(check_size(&h, file, err));
    if (h.length[0] != table->rows) {
        surety_fail(err, SURETY_E_INPUT, "%zu labels for %zu rows of features", h.length[0], table->rows);
        surety_fail_expected(err, "one label per row");
        surety_fail_place(err, "byte 4");
        return SURETY_E_INPUT;
    }
    int64_t *values = NULL;
    SURETY_TRY(surety_alloc(&values, table->rows, sizeof *values, err));
    for (size_t i = 0; i < table->rows; i++) values[i] = file->data[h.offset + i];
    surety_status status = surety_labels_integers(table, values, err);
    surety_free(values);
    return status;
}
