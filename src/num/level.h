/* Names of kernels. A file *_kernel.c is compiled once per CPU level, with SURETY_LEVEL set to the level's
 * name; SURETY_KERNEL(exp) is then surety_exp_avx2 and so on, and a table indexed by surety_cpu() chooses at
 * run time. */
#ifndef SURETY_NUM_LEVEL_H
#define SURETY_NUM_LEVEL_H

#define SURETY_JOIN_(name, level) surety_##name##_##level
#define SURETY_JOIN(name, level) SURETY_JOIN_(name, level)
#define SURETY_KERNEL(name) SURETY_JOIN(name, SURETY_LEVEL)

/* macro(level) for every level that this build has, to declare kernels and to fill tables. */
#if defined(__x86_64__)
#define SURETY_EACH_LEVEL(macro) macro(generic) macro(avx2) macro(avx512)
#else
#define SURETY_EACH_LEVEL(macro) macro(generic)
#endif

#endif
