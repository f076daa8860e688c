/* Which CPU level the kernels run at (surety_cpu_level in surety/base.h is its name). */
#ifndef SURETY_BASE_CPU_H
#define SURETY_BASE_CPU_H

typedef enum surety_level { SURETY_GENERIC, SURETY_AVX2, SURETY_AVX512, SURETY_LEVELS } surety_level;

/* The level in use: the highest that this CPU has, lowered by SURETY_CPU=generic|avx2|avx512 when the process
 * starts (a name that is unknown, or a level that the CPU lacks, changes nothing). */
surety_level surety_cpu(void);

/* The highest level of this CPU, and a level's name. For tests that run all of them. */
surety_level surety_cpu_highest(void);
const char *surety_level_name(surety_level level);

#endif
