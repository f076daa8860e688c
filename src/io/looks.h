/* What a file looks like, for messages about files that were given in the wrong place. */
#ifndef SURETY_IO_LOOKS_H
#define SURETY_IO_LOOKS_H

#include "io/read.h"

#define SURETY_LOOKS_MODEL "a model (safetensors)"
#define SURETY_LOOKS_TEXT "a table in text"

/* SURETY_LOOKS_MODEL, "a table in text", ..; NULL: nothing that is known here. */
const char *surety_looks_like(const uint8_t *data, size_t size);

/* The same where it is none of the tables that are read. */
const char *surety_looks_like_no_table(const uint8_t *data, size_t size);

#endif
