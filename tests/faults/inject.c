/* Loaded before a program (LD_PRELOAD), makes one of its calls fail. SURETY_FAULT=CALL:K:HOW
 *
 * CALL: malloc (and its kin), or a file call: open, read, write, fsync, rename, stat, close. K: which of
 * them, from 0. HOW: the number errno gets (for malloc it is not read); "short": half of what was asked for
 * is read or written; "power": power is lost before the call, which ends the process (exit 99), and what was
 * written to files and not synced is gone.
 *
 * Only calls from the program itself, jansson and zlib count, and of zlib those that the program asked for:
 * what other libraries do without memory (libgomp ends the process, cairo leaves a font out of a PDF) is not
 * ours. When the call is made, the file SURETY_FAULT_MARK appears: without it K was
 * too large. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

enum { RANGES = 32 };
static struct {
    uintptr_t begin, end;
    int zlib;
} range[RANGES];
static int ranges, short_count, power, number;
static char call[16];
static long left = -1;
static const char *mark;

static int take_range(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size, (void)arg;
    if (info->dlpi_name[0] && !strstr(info->dlpi_name, "jansson") && !strstr(info->dlpi_name, "libz."))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && ranges < RANGES; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            range[ranges].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            range[ranges].end = range[ranges].begin + info->dlpi_phdr[i].p_memsz;
            range[ranges].zlib = strstr(info->dlpi_name, "libz.") != NULL;
            ranges++;
        }
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("SURETY_FAULT");
    char how[16] = "";
    long which = -1;
    mark = getenv("SURETY_FAULT_MARK");
    if (!text || !mark || sscanf(text, "%15[^:]:%ld:%15s", call, &which, how) < 2) return;
    short_count = !strcmp(how, "short");
    power = !strcmp(how, "power");
    number = atoi(how);
    backtrace((void *[1]){NULL}, 1); /* it gets memory for itself once */
    dl_iterate_phdr(take_range, NULL);
    left = which;
}

/* ---- power ---- */

/* Files that are written: how many bytes, and how many of them are on the disk. */
enum { FILES = 64 };
static struct {
    char path[600];
    long written, synced;
} file[FILES];

static void begin_file(int fd, const char *path, int flags) {
    if (fd < 0 || fd >= FILES || !(flags & O_CREAT)) return;
    snprintf(file[fd].path, sizeof file[fd].path, "%s", path);
    file[fd].written = file[fd].synced = 0;
}

static void lose_power(void) {
    for (int fd = 0; fd < FILES; fd++)
        if (file[fd].path[0] && file[fd].synced < file[fd].written)
            (void)!syscall(SYS_truncate, file[fd].path, file[fd].synced);
    _exit(99);
}

/* A rename takes the content along, whether it is on the disk or not. */
static void renamed(const char *from, const char *to) {
    for (int fd = 0; fd < FILES; fd++)
        if (!strcmp(file[fd].path, from)) snprintf(file[fd].path, sizeof file[fd].path, "%s", to);
}

/* The range that an address lies in; -1: none. */
static int range_of(const void *address) {
    for (int i = 0; i < ranges; i++)
        if ((uintptr_t)address >= range[i].begin && (uintptr_t)address < range[i].end) return i;
    return -1;
}

/* Was zlib, which makes a call, asked by one of the others that count? */
static int zlib_was_asked(void) {
    void *frame[24];
    int count = backtrace(frame, 24), at = 0;
    while (at < count && (range_of(frame[at]) < 0 || !range[range_of(frame[at])].zlib)) at++; /* this file */
    while (at < count && range_of(frame[at]) >= 0 && range[range_of(frame[at])].zlib) at++;
    return at < count && range_of(frame[at]) >= 0;
}

/* Is this the call that fails? */
static int fails(const char *name, const void *caller) {
    if (left < 0 || strcmp(name, call) != 0) return 0;
    int of = range_of(caller);
    if (of < 0 || (range[of].zlib && !zlib_was_asked()) || left-- > 0) return 0;
    long fd = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600);
    if (fd >= 0) syscall(SYS_close, fd);
    if (power) lose_power();
    return 1;
}
#define FAILS(name) fails(name, __builtin_return_address(0))
#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

void *malloc(size_t size) {
    return FAILS("malloc") ? (errno = ENOMEM, NULL) : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return FAILS("malloc") ? (errno = ENOMEM, NULL) : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return FAILS("malloc") ? (errno = ENOMEM, NULL) : __libc_realloc(old, size);
}
void *aligned_alloc(size_t align, size_t size) {
    return FAILS("malloc") ? (errno = ENOMEM, NULL) : __libc_memalign(align, size);
}
int posix_memalign(void **out, size_t align, size_t size) {
    if (FAILS("malloc")) return ENOMEM;
    *out = __libc_memalign(align, size);
    return *out ? 0 : ENOMEM;
}

#define BROKEN(name) \
    if (FAILS(name)) return errno = number, -1

static int open_mode(int flags, __builtin_va_list args) {
    return flags & O_CREAT ? __builtin_va_arg(args, int) : 0;
}
int open(const char *path, int flags, ...) {
    __builtin_va_list args;
    BROKEN("open");
    __builtin_va_start(args, flags);
    int mode = open_mode(flags, args);
    __builtin_va_end(args);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    begin_file(fd, path, flags);
    return fd;
}
int open64(const char *path, int flags, ...) {
    __builtin_va_list args;
    BROKEN("open");
    __builtin_va_start(args, flags);
    int mode = open_mode(flags, args);
    __builtin_va_end(args);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    begin_file(fd, path, flags);
    return fd;
}
ssize_t read(int fd, void *bytes, size_t count) {
    if (FAILS("read")) {
        if (!short_count) return errno = number, -1;
        count = (count + 1) / 2;
    }
    return syscall(SYS_read, fd, bytes, count);
}
ssize_t write(int fd, const void *bytes, size_t count) {
    if (FAILS("write")) {
        if (!short_count) return errno = number, -1;
        count = (count + 1) / 2;
    }
    ssize_t done = syscall(SYS_write, fd, bytes, count);
    if (fd >= 0 && fd < FILES && done > 0) file[fd].written += done;
    return done;
}
int fsync(int fd) {
    BROKEN("fsync");
    if (fd >= 0 && fd < FILES && !getenv("SURETY_FAULT_NO_SYNC")) file[fd].synced = file[fd].written;
    return (int)syscall(SYS_fsync, fd);
}
int close(int fd) {
    if (FAILS("close")) return syscall(SYS_close, fd), errno = number, -1;
    return (int)syscall(SYS_close, fd);
}
int rename(const char *from, const char *to) {
    BROKEN("rename");
    renamed(from, to);
    return (int)syscall(SYS_rename, from, to);
}
int fstat64(int fd, struct stat64 *out) {
    BROKEN("stat");
    return REAL(fstat64)(fd, out);
}
int stat64(const char *path, struct stat64 *out) {
    BROKEN("stat");
    return REAL(stat64)(path, out);
}
int lstat64(const char *path, struct stat64 *out) {
    BROKEN("stat");
    return REAL(lstat64)(path, out);
}
DIR *opendir(const char *path) {
    return FAILS("open") ? (errno = number, NULL) : REAL(opendir)(path);
}
FILE *fopen64(const char *path, const char *mode) {
    return FAILS("open") ? (errno = number, NULL) : REAL(fopen64)(path, mode);
}
