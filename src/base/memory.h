/* Aligned, zeroed memory, of which large blocks may lie in files, with a hook through which a test can fail
 * the k-th allocation. */
#ifndef SURETY_BASE_MEMORY_H
#define SURETY_BASE_MEMORY_H

#include "base/error.h"

enum {
    SURETY_ALIGN = 64, /* bytes: a cache line, and the widest vector */
    SURETY_LANES = 16, /* floats in SURETY_ALIGN bytes; rows are padded to a multiple of it. Also the most
                        * examples of a block, one in each lane. */
    SURETY_BLOCK = 15  /* examples of a full block where there are plenty of them: three bands of five rows,
                        * the largest tiles of the products (num/product_kernel.c) */
};

/* Floats in a row of d features after padding. */
static inline size_t surety_padded(size_t d) {
    return (d + SURETY_LANES - 1) / SURETY_LANES * SURETY_LANES;
}

/* count * size zeroed bytes, aligned to SURETY_ALIGN, into *out (NULL on failure; count 0 gives one line).
 * The product is checked for overflow. Free with surety_free. */
surety_status surety_alloc(void *out, size_t count, size_t size, surety_error *err);
void surety_free(void *memory);

/* Whether surety_streaming is on: blocks of SURETY_LARGE_BLOCK bytes or more then lie in mapped files without
 * a name. Nobody else can reach such a file, so nobody can shorten or change it; room on the disk is taken at
 * once, and lack of it is SURETY_E_SYSTEM. */
enum { SURETY_LARGE_BLOCK = 1 << 20 };
int surety_streams(void);

/* qsort, but stable, and with its second copy in such a block: memory of its own does not grow with count. */
surety_status surety_sort(void *list, size_t count, size_t size, int (*compare)(const void *, const void *),
                          surety_error *err);

/* Asked before every allocation; returning 0 makes it fail. NULL removes it. Not for use beside running
 * calls. */
typedef int (*surety_alloc_hook)(void *arg, size_t bytes);
void surety_memory_hook(surety_alloc_hook hook, void *arg);

#endif
