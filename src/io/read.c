#include "io/read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZLIB_CONST /* zlib's next_in is then a pointer to const */
#include "io/zlib.h"

#include "base/parallel.h"

#define PIECE ((size_t)16 << 20)       /* bytes between two looks at stop; zlib counts in 32 bits */
#define GZIP_RATIO ((size_t)1032)      /* deflate cannot compress better */
#define GZIP_START ((size_t)64 * 1024) /* bytes of the first buffer where the size is not known */

/* ---- how this thread reads ---- */

static _Thread_local struct {
    const surety_run *run;
    uint64_t largest; /* 0: the default */
} reading;

void surety_reading(const surety_run *run, uint64_t largest) {
    reading.run = run;
    reading.largest = largest;
}

surety_status surety_reading_poll(uint64_t done, uint64_t total, surety_error *err) {
    surety_report(reading.run, "reading", done, total, "");
    return surety_stopped(reading.run, err);
}

static uint64_t largest(void) {
    return reading.largest ? reading.largest : SURETY_LARGEST_FILE;
}

static surety_status too_large(uint64_t limit, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "it has more than %llu bytes, decompressed", (unsigned long long)limit);
    surety_fail_expected(err, "a smaller file, or a larger --largest-file");
    return SURETY_E_INPUT;
}

surety_status surety_reading_allows(uint64_t bytes, surety_error *err) {
    return bytes > largest() ? too_large(largest(), err) : SURETY_OK;
}

/* ---- gzip ---- */

typedef struct inflater {
    z_stream z;
    const uint8_t *data; /* compressed */
    size_t size, at;
    uint8_t *out;
    size_t used, capacity, limit;
    surety_error *err;
} inflater;

int surety_is_gzip(const uint8_t *data, size_t size) {
    return size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

static surety_status bad_gzip(inflater *f, const char *what) {
    surety_fail(f->err, SURETY_E_INPUT, "damaged gzip stream: %s", what);
    surety_fail_expected(f->err, "a whole gzip file with nothing behind it");
    surety_fail_place(f->err, "byte %zu of the compressed file", f->at);
    return SURETY_E_INPUT;
}

static surety_status grow(inflater *f) {
    uint8_t *larger = NULL;
    if (f->capacity >= f->limit) {
        too_large(f->limit, f->err);
        surety_fail_place(f->err, "byte %zu of the compressed file", f->at);
        return SURETY_E_INPUT;
    }
    size_t capacity = f->capacity < f->limit / 2 ? 2 * f->capacity : f->limit;
    SURETY_TRY(surety_alloc(&larger, capacity, 1, f->err));
    memcpy(larger, f->out, f->used);
    surety_free(f->out);
    f->out = larger;
    f->capacity = capacity;
    return SURETY_OK;
}

/* One call of inflate over at most PIECE bytes each way. Returns zlib's code. */
static int inflate_piece(inflater *f) {
    size_t in = f->size - f->at < PIECE ? f->size - f->at : PIECE;
    size_t room = f->capacity - f->used < PIECE ? f->capacity - f->used : PIECE;
    f->z.next_in = f->data + f->at;
    f->z.avail_in = (uInt)in;
    f->z.next_out = f->out + f->used;
    f->z.avail_out = (uInt)room;
    int code = inflate(&f->z, Z_NO_FLUSH);
    f->at += in - f->z.avail_in;
    f->used += room - f->z.avail_out;
    return code;
}

/* One member: header, deflated data, checksum and length, which zlib checks. */
static surety_status inflate_member(inflater *f) {
    if (!surety_is_gzip(f->data + f->at, f->size - f->at))
        return bad_gzip(f, f->at ? "bytes behind its end" : "it does not begin like one");
    inflateReset(&f->z);
    for (;;) {
        if (f->used == f->capacity) SURETY_TRY(grow(f));
        if (f->used >= PIECE) SURETY_TRY(surety_reading_poll(f->at, f->size, f->err));
        int code = inflate_piece(f);
        if (code == Z_STREAM_END) return SURETY_OK;
        if (code == Z_MEM_ERROR) return surety_fail(f->err, SURETY_E_MEMORY, "no memory for decompression");
        if (code != Z_OK && code != Z_BUF_ERROR) return bad_gzip(f, f->z.msg ? f->z.msg : "unknown code");
        if (f->at == f->size && f->used < f->capacity) return bad_gzip(f, "it ends too early");
    }
}

/* The last four bytes say the size of the last member modulo 2^32: a hint, good if it can be true. One byte
 * more, so that the end is seen without growing. */
static size_t first_capacity(const inflater *f) {
    const uint8_t *tail = f->data + (f->size < 4 ? 0 : f->size - 4);
    size_t hint =
        f->size < 18 ? 0
                     : (size_t)tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 | (size_t)tail[3] << 24;
    if (hint == 0 || hint / GZIP_RATIO > f->size) hint = GZIP_START;
    return hint < f->limit ? hint + 1 : f->limit;
}

static surety_status inflate_all(inflater *f) {
    SURETY_TRY(surety_alloc(&f->out, first_capacity(f), 1, f->err));
    f->capacity = first_capacity(f);
    f->z.zalloc = surety_zlib_alloc;
    f->z.zfree = surety_zlib_free;
    if (inflateInit2(&f->z, 15 + 16) != Z_OK) /* largest window, gzip wrapping only */
        return surety_fail(f->err, SURETY_E_MEMORY, "no memory for decompression");
    surety_status status = SURETY_OK;
    do status = inflate_member(f);
    while (status == SURETY_OK && f->at < f->size);
    inflateEnd(&f->z);
    return status;
}

surety_status surety_gunzip(const uint8_t *data, size_t size, size_t limit, uint8_t **out, size_t *out_size,
                            surety_error *err) {
    inflater f = {.data = data, .size = size, .limit = limit, .err = err};
    surety_status status = inflate_all(&f);
    if (status != SURETY_OK) {
        surety_free(f.out);
        f.out = NULL;
        f.used = 0;
    }
    *out = f.out;
    *out_size = f.used;
    return status;
}

/* ---- files ---- */

static surety_status refuse_special(const char *path, mode_t mode, surety_error *err) {
    if (S_ISREG(mode)) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "cannot read it: it is %s",
                S_ISDIR(mode) ? "a folder" : "not a regular file");
    surety_fail_expected(err, "a regular file");
    surety_fail_file(err, path);
    return SURETY_E_INPUT;
}

static surety_status read_all(int fd, uint8_t *to, size_t size, surety_error *err) {
    for (size_t done = 0; done < size;) {
        if (done) SURETY_TRY(surety_reading_poll(done, size, err));
        ssize_t got = read(fd, to + done, size - done < PIECE ? size - done : PIECE);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return surety_fail_errno(err, SURETY_E_INPUT, "read", "", errno);
        if (got == 0) return surety_fail(err, SURETY_E_INPUT, "it became shorter while it was read");
        done += (size_t)got;
    }
    return SURETY_OK;
}

surety_status surety_read_at(int fd, void *to, size_t count, uint64_t from, surety_error *err) {
    for (size_t done = 0; done < count;) {
        ssize_t got = pread(fd, (uint8_t *)to + done, count - done, (off_t)(from + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return surety_fail_errno(err, SURETY_E_INPUT, "read", "", errno);
        if (got == 0) return surety_fail(err, SURETY_E_INPUT, "it became shorter while it was read");
        done += (size_t)got;
    }
    return SURETY_OK;
}

static surety_status load(surety_file *file, int fd, uint64_t size, surety_error *err) {
    uint8_t *memory = NULL;
    if (!surety_streams()) SURETY_TRY(surety_reading_allows(size, err));
    SURETY_TRY(surety_alloc(&memory, (size_t)size, 1, err));
    *file = (surety_file){memory, (size_t)size};
    return read_all(fd, memory, (size_t)size, err);
}

static surety_status unzip(surety_file *file, surety_error *err) {
    surety_file plain = {0};
    uint8_t *data = NULL;
    size_t limit = largest() < SIZE_MAX ? (size_t)largest() : SIZE_MAX;
    SURETY_TRY(surety_gunzip(file->data, file->size, limit, &data, &plain.size, err));
    plain.data = data;
    surety_file_close(file);
    *file = plain;
    return SURETY_OK;
}

surety_status surety_open_regular(int *fd, uint64_t *size, const char *path, surety_error *err) {
    struct stat info;
    if (stat(path, &info) != 0) return surety_fail_errno(err, SURETY_E_INPUT, "read", path, errno);
    SURETY_TRY(refuse_special(path, info.st_mode, err)); /* before opening: a pipe would wait */
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0) return surety_fail_errno(err, SURETY_E_INPUT, "read", path, errno);
    *size = fstat(*fd, &info) == 0 ? (uint64_t)info.st_size : 0;
    return SURETY_OK;
}

/* The file as it is on the disk. */
static surety_status open_raw(surety_file *file, const char *path, surety_error *err) {
    int fd = -1;
    uint64_t size = 0;
    SURETY_TRY(surety_open_regular(&fd, &size, path, err));
    surety_status status = load(file, fd, size, err);
    close(fd);
    return status;
}

surety_status surety_file_open(surety_file *out, const char *path, surety_error *err) {
    *out = (surety_file){0};
    surety_status status = open_raw(out, path, err);
    size_t length = strlen(path);
    int named = length > 3 && !strcmp(path + length - 3, ".gz");
    if (status == SURETY_OK && (named || surety_is_gzip(out->data, out->size))) status = unzip(out, err);
    if (status != SURETY_OK) {
        surety_file_close(out);
        surety_fail_file(err, path);
    }
    return status;
}

void surety_file_close(surety_file *file) {
    union {
        const uint8_t *data;
        void *memory;
    } cast = {file->data}; /* the view is const, the memory is ours */
    surety_free(cast.memory);
    *file = (surety_file){0};
}
