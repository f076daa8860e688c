/* Files for tests: a temporary folder of the program's own, and ways to make damaged files. */
#ifndef SURETY_TESTS_FILES_H
#define SURETY_TESTS_FILES_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/memory.h"
#include "check.h"
#include "io/json.h"
#include "io/npy.h"

static char files_folder[256];

static inline int files_begin(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(files_folder, sizeof files_folder, "%.200s/surety-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(files_folder) ? 0 : -1;
}

static inline int files_end(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", files_folder);
    return system(command);
}

/* The path of a name in the folder; a few may be in use at a time. */
static inline const char *files_path(const char *name) {
    static char paths[16][768];
    static int next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", files_folder, name);
    return path;
}

static inline const char *files_put(const char *name, const void *bytes, size_t size) {
    const char *path = files_path(name);
    remove(path); /* some file systems flush a file that is emptied and written again: slow */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* An NPY file of shape (m, d), or (m) where d is 0. */
static inline void files_npy(const char *name, surety_dtype dtype, const void *values, size_t m, size_t d) {
    surety_error err = SURETY_ERROR_NONE;
    surety_npy_writer *writer = NULL;
    const size_t shape[2] = {m, d};
    check_ok(surety_npy_writer_open(&writer, files_path(name), dtype, d ? 2 : 1, shape, &err));
    check_ok(surety_npy_writer_append(writer, values, d ? m * d : m, &err));
    check_ok(surety_npy_writer_commit(writer, &err));
}

static inline const char *files_text(const char *name, const char *text) {
    return files_put(name, text, strlen(text));
}

/* The whole file into memory that free() releases; NULL if it is absent. */
static inline char *files_get(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

/* Gzips into memory that free() releases. */
static inline unsigned char *files_gzip(const void *bytes, size_t size, size_t *out_size) {
    unsigned char *out = malloc(size + size / 1000 + 64);
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (z_const Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)(size + size / 1000 + 64);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *out_size = z.total_out;
    deflateEnd(&z);
    return out;
}

/* Entries below the folder whose paths contain part. */
static inline int files_count(const char *part) {
    char command[1024];
    int count = -1;
    snprintf(command, sizeof command, "find '%s' -path '%s/*%s*' | wc -l", files_folder, files_folder, part);
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

/* Runs a Python program with the folder as its argument; it must succeed. */
static inline void files_python(const char *program) {
    char command[1024];
    const char *python = getenv("PYTHON");
    snprintf(command, sizeof command, "'%s' '%s' '%s'", python ? python : "/usr/bin/python3",
             files_text("program.py", program), files_folder);
    assert_int_equal(system(command), 0);
}

/* ---- failing allocations ---- */

static long files_allocations_left; /* of the library and of jansson together */

static inline int files_may_allocate(void *arg, size_t bytes) {
    (void)arg, (void)bytes;
    return files_allocations_left-- > 0;
}

static inline void *files_json_malloc(size_t size) {
    return files_may_allocate(NULL, size) ? malloc(size) : NULL;
}

static inline int files_no_memory(surety_status status, const surety_error *err) {
    return err->code == status && status == SURETY_E_MEMORY;
}

/* Runs call(arg, err) with only k allocations allowed, for k = 0, 1, .. until it succeeds: every failure must
 * be "no memory" and nothing else. Under AddressSanitizer leaks of the failing paths are found too. */
static inline void files_fail_allocations(surety_status (*call)(void *arg, surety_error *err), void *arg) {
    surety_status status = SURETY_E_MEMORY;
    long k = 0;
    for (; status != SURETY_OK; k++) {
        surety_error err = SURETY_ERROR_NONE;
        check(k < 100000, "still no success after %ld allocations", k);
        files_allocations_left = k;
        json_set_alloc_funcs(files_json_malloc, free);
        surety_memory_hook(files_may_allocate, NULL);
        status = call(arg, &err);
        surety_memory_hook(NULL, NULL);
        json_set_alloc_funcs(malloc, free);
        check(status == SURETY_OK || files_no_memory(status, &err), "with %ld allocations: %s %s", k,
              surety_status_name(status), err.what);
    }
    check_that(k, >, 1);
}

/* What a call made, as text or bytes: free() releases it. */
typedef struct files_result {
    char *bytes;
    size_t size;
} files_result;

static long files_allocation_fails; /* this one, counted from 0, and no other */
static long files_allocation;

static inline int files_one_fails(void *arg, size_t bytes) {
    (void)arg, (void)bytes;
    return files_allocation++ != files_allocation_fails;
}

static inline void *files_json_malloc_one(size_t size) {
    return files_one_fails(NULL, size) ? malloc(size) : NULL;
}

/* Runs call(arg, &result, err) with the k-th allocation failing and all others served, for every
 * step-th k: a success must give the bytes of a run without failures. */
static inline void files_fail_each(surety_status (*call)(void *arg, files_result *result, surety_error *err),
                                   void *arg, long step) {
    files_result wanted = {0};
    surety_error none = SURETY_ERROR_NONE;
    assert_int_equal(call(arg, &wanted, &none), SURETY_OK);
    for (long k = 0; k == 0 || files_allocation > k - step; k += step) {
        surety_error err = SURETY_ERROR_NONE;
        files_result got = {0};
        files_allocation = 0;
        files_allocation_fails = k;
        json_set_alloc_funcs(files_json_malloc_one, free);
        surety_memory_hook(files_one_fails, NULL);
        surety_status status = call(arg, &got, &err);
        surety_memory_hook(NULL, NULL);
        json_set_alloc_funcs(malloc, free);
        check(status != SURETY_OK || (got.size == wanted.size && !memcmp(got.bytes, wanted.bytes, got.size)),
              "allocation %ld failed, and success was reported with other bytes:\n%.*s", k, (int)got.size,
              got.bytes);
        check(status == SURETY_OK || files_no_memory(status, &err), "allocation %ld: %s %s", k,
              surety_status_name(status), err.what);
        free(got.bytes);
    }
    free(wanted.bytes);
}

/* The call must fail with code, and say what, in which file, and where or what was expected. */
#define check_bad(call, wanted)                                                                           \
    do {                                                                                                  \
        err = (surety_error)SURETY_ERROR_NONE;                                                            \
        surety_status got_ = (call);                                                                      \
        if (got_ != (wanted) || err.code != (wanted) || !err.what[0] || !err.file[0])                     \
            fail_msg("%s: %s, '%s' in '%s' at '%s'", #call, surety_status_name(got_), err.what, err.file, \
                     err.place);                                                                          \
    } while (0)

#endif
