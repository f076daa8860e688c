#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static surety_alloc_hook the_hook;
static void *the_hook_arg;

void surety_memory_hook(surety_alloc_hook hook, void *arg) {
    the_hook = hook;
    the_hook_arg = arg;
}

surety_status surety_alloc(void *out, size_t count, size_t size, surety_error *err) {
    void *memory = NULL;
    size_t bytes = 0;
    memcpy(out, &memory, sizeof memory); /* *out may be a pointer to any type */
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return surety_fail(err, SURETY_E_MEMORY, "%zu items of %zu bytes are more than can be addressed",
                           count, size);
    bytes = bytes ? (bytes + SURETY_ALIGN - 1) / SURETY_ALIGN * SURETY_ALIGN : SURETY_ALIGN;
    if (!the_hook || the_hook(the_hook_arg, bytes)) memory = aligned_alloc(SURETY_ALIGN, bytes);
    if (memory) memset(memory, 0, bytes);
    memcpy(out, &memory, sizeof memory);
    if (!memory) return surety_fail(err, SURETY_E_MEMORY, "no memory for %zu bytes", bytes);
    return SURETY_OK;
}

void surety_free(void *memory) {
    free(memory);
}

void surety_bytes_free(uint8_t *bytes) {
    surety_free(bytes);
}
