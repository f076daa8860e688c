/* zlib's memory from the library's own allocator, which tests make fail. */
#ifndef SURETY_IO_ZLIB_H
#define SURETY_IO_ZLIB_H

#include <zlib.h>

#include "base/memory.h"

static inline voidpf surety_zlib_alloc(voidpf opaque, uInt items, uInt size) {
    void *memory = NULL;
    (void)opaque;
    return surety_alloc(&memory, items, size, NULL) == SURETY_OK ? memory : Z_NULL;
}

static inline void surety_zlib_free(voidpf opaque, voidpf memory) {
    (void)opaque;
    surety_free(memory);
}

#endif
