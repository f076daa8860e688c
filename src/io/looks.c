#include "io/looks.h"

#include <string.h>

#include "io/zip.h"

typedef struct look {
    const char *words, *bytes; /* at the beginning of the file */
    int table;                 /* a format that tables come in here */
} look;

static const look looks[] = {
    {"an array of NumPy (NPY)", "\x93NUMPY", 1},
    {"JSON, as certificates are", "{", 0},
    {"a Parquet file", "PAR1", 0},
    {"an HDF5 file", "\x89HDF\r\n", 0},
    {"a file of R (.rda; in R, write.csv makes a table of it)", "RDX", 0},
    {"an SQLite database", "SQLite format 3", 0},
    {"a PDF", "%PDF", 0},
    {"a picture (PNG)", "\x89PNG", 0},
    {"a picture (JPEG)", "\xff\xd8\xff", 0},
    {"a web page", "<!DOCTYPE", 0},
    {"a web page", "<html", 0},
    {"a program (ELF)",
     "\x7f"
     "ELF",
     0},
    {"a Python pickle", "\x80\x04\x95", 0},
};

/* A header of safetensors: 8 bytes of its length, then JSON. */
static int is_safetensors(const uint8_t *data, size_t size) {
    uint64_t length = 0;
    if (size < 10) return 0;
    memcpy(&length, data, 8);
    return length >= 2 && length <= size - 8 && data[8] == '{';
}

/* Rows of printable text. */
static int is_text(const uint8_t *data, size_t size) {
    size_t i = 0, look_at = size < 4096 ? size : 4096;
    while (i < look_at && (data[i] >= ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t')) i++;
    return size > 0 && i == look_at;
}

static const look *find(const uint8_t *data, size_t size) {
    static const look model = {SURETY_LOOKS_MODEL, "", 0}, zip = {"a zip archive, as NPZ is", "", 1},
                      idx = {"an IDX file", "", 1}, text = {SURETY_LOOKS_TEXT, "", 1};
    if (is_safetensors(data, size)) return &model;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        size_t n = strlen(looks[i].bytes);
        if (size >= n && !memcmp(data, looks[i].bytes, n)) return &looks[i];
    }
    if (surety_is_zip(data, size)) return &zip;
    if (size >= 4 && !data[0] && !data[1] && data[2] == 8) return &idx;
    return is_text(data, size) ? &text : NULL;
}

const char *surety_looks_like(const uint8_t *data, size_t size) {
    const look *found = find(data, size);
    return found ? found->words : NULL;
}

const char *surety_looks_like_no_table(const uint8_t *data, size_t size) {
    const look *found = find(data, size);
    return found && !found->table ? found->words : NULL;
}
