#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "surety/base.h"

static const char *const names[SURETY_LEVELS] = {"generic", "avx2", "avx512"};

const char *surety_level_name(surety_level level) {
    return names[level];
}

surety_level surety_cpu_highest(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return SURETY_GENERIC;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return SURETY_AVX512;
    return SURETY_AVX2;
#else
    return SURETY_GENERIC;
#endif
}

surety_level surety_cpu(void) {
    static int known = -1; /* the same value whoever writes it first, so a race is harmless */
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (level >= 0) return (surety_level)level;
    level = surety_cpu_highest();
    const char *wanted = getenv("SURETY_CPU");
    for (int i = 0; wanted && i < level; i++)
        if (!strcmp(wanted, names[i])) level = i;
    __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    return (surety_level)level;
}

const char *surety_cpu_level(void) {
    return surety_level_name(surety_cpu());
}
