/* replay CORPUS REGRESSIONS: a target without libFuzzer. Runs its own seeds and those of the folder CORPUS,
 * which must be accepted, with some mutations of each by a fixed generator (SURETY_TEST_FULL=1: many), and
 * past crashes. TAP on stdout. */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { MOST = 1 << 20 };
static uint8_t input[MOST];
static unsigned tests, mutations = 300;
static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

/* One to four changes: a bit, a byte, a piece that goes, comes twice or moves, a number at its limits. */
static size_t mutate(uint8_t *bytes, size_t size) {
    static const char *const words[] = {"1e308", "-1", "18446744073709551615", "nan",
                                        "\"\"",  "[[", "\xff\xff\xff\xff"};
    for (uint32_t times = 1 + draw(4); times && size; times--) {
        size_t at = draw((uint32_t)size), length = 1 + draw(16);
        if (at + length > size) length = size - at;
        const char *word = words[draw(7)];
        switch (draw(6)) {
            case 0:
                bytes[at] ^= (uint8_t)(1 << draw(8));
                break;
            case 1:
                bytes[at] = (uint8_t)draw(256);
                break;
            case 2:
                memmove(bytes + at, bytes + at + length, size - at - length), size -= length;
                break;
            case 3:
                if (size + length > MOST) break;
                memmove(bytes + at + length, bytes + at, size - at), size += length;
                break;
            case 4:
                size = at;
                break;
            default:
                if (at + strlen(word) <= size) memcpy(bytes + at, word, strlen(word));
        }
    }
    return size;
}

static void replay(const void *bytes, size_t size) {
    require(size <= MOST);
    memcpy(input, bytes, size);
    unsigned long accepted = fuzz_accepted;
    LLVMFuzzerTestOneInput(input, size);
    require(fuzz_accepted > accepted);
    for (unsigned k = 0; k < mutations; k++) {
        memcpy(input, bytes, size);
        LLVMFuzzerTestOneInput(input, mutate(input, size));
    }
    printf("ok %u - seed of %zu bytes and %u mutations\n", ++tests, size, mutations);
    fflush(stdout);
}

static void crash_again(const void *bytes, size_t size) {
    memcpy(input, bytes, size);
    LLVMFuzzerTestOneInput(input, size);
    printf("ok %u - past crash of %zu bytes\n", ++tests, size);
}

static void each_file(const char *path, fuzz_take take) {
    DIR *dir = opendir(path);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char name[1000];
        struct stat about;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (stat(name, &about) != 0 || !S_ISREG(about.st_mode)) continue;
        printf("# %s\n", name);
        fflush(stdout);
        fuzz_take_file(take, name);
    }
    closedir(dir);
}

int main(int argc, char **argv) {
    const char *full = getenv("SURETY_TEST_FULL");
    if (full && !strcmp(full, "1")) mutations = 20000;
    require(argc == 3);
    LLVMFuzzerTestOneInput(input, 0);
    fuzz_seeds(replay);
    each_file(argv[1], replay);
    each_file(argv[2], crash_again);
    printf("1..%u\n", tests);
    return 0;
}
