#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static surety_alloc_hook the_hook;
static void *the_hook_arg;

void surety_memory_hook(surety_alloc_hook hook, void *arg) {
    the_hook = hook;
    the_hook_arg = arg;
}

/* ---- blocks in files ---- */

static _Thread_local int streaming;

/* Those that are there. Few, so a list will do; it begins with what was made last. */
typedef struct spilled {
    void *at;
    size_t bytes;
    struct spilled *next;
} spilled;

static spilled *the_spilled;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

void surety_streaming(int on) {
    streaming = on;
}

int surety_streams(void) {
    return streaming;
}

/* A file without a name, of so many bytes, mapped. */
static int map_file(const char *folder, size_t bytes, void **out) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/surety-XXXXXX", folder) >= (int)sizeof path) return ENAMETOOLONG;
    int fd = mkstemp(path);
    if (fd < 0) return errno;
    unlink(path);
    int number = posix_fallocate(fd, 0, (off_t)bytes); /* a full disk is told here, not by a signal later */
    void *at = number ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!number && at == MAP_FAILED) number = errno;
    close(fd);
    *out = number ? NULL : at;
    return number;
}

static surety_status spill(void **out, size_t bytes, surety_error *err) {
    const char *folder = getenv("TMPDIR");
    spilled *entry = malloc(sizeof *entry);
    if (!folder || !*folder) folder = "/var/tmp";
    int number = entry ? map_file(folder, bytes, out) : ENOMEM;
    if (number) {
        free(entry);
        surety_fail(err, SURETY_E_SYSTEM, "no file of %zu bytes can be made in %s: %s", bytes, folder,
                    strerror(number));
        surety_fail_expected(err, "room there, or another folder in TMPDIR");
        return SURETY_E_SYSTEM;
    }
    pthread_mutex_lock(&guard);
    *entry = (spilled){*out, bytes, the_spilled};
    __atomic_store_n(&the_spilled, entry, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&guard);
    return SURETY_OK;
}

/* 0 if the block lies in no file. */
static int unspill(void *memory) {
    if (!__atomic_load_n(&the_spilled, __ATOMIC_ACQUIRE)) return 0;
    pthread_mutex_lock(&guard);
    spilled **at = &the_spilled;
    while (*at && (*at)->at != memory) at = &(*at)->next;
    spilled *found = *at;
    if (found) __atomic_store_n(at, found->next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&guard);
    if (!found) return 0;
    munmap(found->at, found->bytes);
    free(found);
    return 1;
}

/* ---- all blocks ---- */

surety_status surety_alloc(void *out, size_t count, size_t size, surety_error *err) {
    void *memory = NULL;
    size_t bytes = 0;
    memcpy(out, &memory, sizeof memory); /* *out may be a pointer to any type */
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return surety_fail(err, SURETY_E_MEMORY, "%zu items of %zu bytes are more than can be addressed",
                           count, size);
    bytes = bytes ? (bytes + SURETY_ALIGN - 1) / SURETY_ALIGN * SURETY_ALIGN : SURETY_ALIGN;
    int allowed = !the_hook || the_hook(the_hook_arg, bytes);
    if (allowed && streaming && bytes >= SURETY_LARGE_BLOCK) {
        surety_status status = spill(&memory, bytes, err);
        memcpy(out, &memory, sizeof memory);
        return status;
    }
    if (allowed) memory = aligned_alloc(SURETY_ALIGN, bytes);
    if (memory) memset(memory, 0, bytes);
    memcpy(out, &memory, sizeof memory);
    if (!memory) return surety_fail(err, SURETY_E_MEMORY, "no memory for %zu bytes", bytes);
    return SURETY_OK;
}

void surety_free(void *memory) {
    if (!unspill(memory)) free(memory);
}

void surety_bytes_free(uint8_t *bytes) {
    surety_free(bytes);
}

/* ---- sorting ---- */

/* Two sorted runs, [from, middle) and [middle, end), into one. */
static void merge_runs(char *out, const char *from, const char *middle, const char *end, size_t size,
                       int (*compare)(const void *, const void *)) {
    const char *second = middle;
    for (; from < middle && second < end; out += size) {
        const char **least = compare(from, second) <= 0 ? &from : &second;
        memcpy(out, *least, size);
        *least += size;
    }
    memcpy(out, from, (size_t)(middle - from));
    memcpy(out + (middle - from), second, (size_t)(end - second));
}

surety_status surety_sort(void *list, size_t count, size_t size, int (*compare)(const void *, const void *),
                          surety_error *err) {
    char *spare = NULL, *from = list;
    SURETY_TRY(surety_alloc(&spare, count, size, err));
    char *to = spare;
    for (size_t run = 1; run < count; run *= 2) { /* runs of so many are sorted */
        for (size_t first = 0; first < count; first += 2 * run) {
            size_t middle = count - first < run ? count : first + run;
            size_t end = count - middle < run ? count : middle + run;
            merge_runs(to + first * size, from + first * size, from + middle * size, from + end * size, size,
                       compare);
        }
        char *merged = to;
        to = from;
        from = merged;
    }
    if (from != list) memcpy(list, from, count * size);
    surety_free(spare);
    return SURETY_OK;
}
