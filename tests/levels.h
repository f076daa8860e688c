/* Test programs that give the same bits at every CPU level with FMA: they call themselves again with
 * SURETY_CPU set and --digest, which prints the level and a digest of all that they compute. */
#ifndef SURETY_TESTS_LEVELS_H
#define SURETY_TESTS_LEVELS_H

#include "base/cpu.h"
#include "check.h"

static char *levels_program;

/* In main, first: 1 if this is such a call, which has printed its answer. */
static inline int levels_begin(int argc, char **argv, uint64_t (*digest)(void)) {
    levels_program = argv[0];
    if (argc < 2 || strcmp(argv[1], "--digest") != 0) return 0;
    printf("%s %016llx\n", surety_cpu_level(), (unsigned long long)digest());
    return 1;
}

static inline void levels_ask(const char *level, char *answer, int size) {
    char command[4400];
    snprintf(command, sizeof command, "SURETY_CPU=%s '%s' --digest", level, levels_program);
    FILE *child = popen(command, "r"); /* NOLINT: own path */
    assert_non_null(child);
    assert_non_null(fgets(answer, size, child));
    assert_int_equal(pclose(child), 0);
}

static inline void same_bits_at_every_level_with_fma(void **state) {
    (void)state;
    char avx2[64], avx512[64];
    if (surety_cpu_highest() < SURETY_AVX512) skip();
    levels_ask("avx2", avx2, sizeof avx2);
    levels_ask("avx512", avx512, sizeof avx512);
    assert_memory_equal(avx2, "avx2 ", 5);
    assert_memory_equal(avx512, "avx512 ", 7);
    assert_string_equal(strchr(avx2, ' '), strchr(avx512, ' '));
}

#endif
