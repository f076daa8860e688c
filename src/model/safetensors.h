/* The safetensors format: 8 bytes little-endian length of the header, a JSON header {"__metadata__": {text:
 * text}, NAME: {"dtype", "shape", "data_offsets": [begin, end]}, ..}, then the bytes of the tensors without
 * holes. */
#ifndef SURETY_MODEL_SAFETENSORS_H
#define SURETY_MODEL_SAFETENSORS_H

#include "io/json.h"

enum { SURETY_TENSOR_RANK = 3, SURETY_TENSOR_NAME = 64, SURETY_TENSORS_MOST = 24 };

typedef enum surety_stored_type {
    SURETY_STORED_F64,
    SURETY_STORED_F32,
    SURETY_STORED_U8,
    SURETY_STORED_U64,
    SURETY_STORED_I32,
    SURETY_STORED_TYPES
} surety_stored_type;

/* One tensor of a file. */
typedef struct surety_stored {
    char name[SURETY_TENSOR_NAME];
    surety_stored_type dtype;
    size_t rank, shape[SURETY_TENSOR_RANK];
    size_t count, bytes, begin; /* begin: offset behind the header */
    const uint8_t *data;        /* borrowed */
} surety_stored;

/* Takes a file apart. Everything is checked before anything is given out: length, JSON, names, types, shapes,
 * sizes, order, holes, overlaps, alignment. *metadata is the caller's (json_decref), list has room for
 * SURETY_TENSORS_MOST. */
surety_status surety_safetensors_parse(const uint8_t *data, size_t size, const char *name, json_t **metadata,
                                       surety_stored *list, size_t *count, surety_error *err);

/* The header of a file with these tensors in this order (begin is set here), padded so that the data begins
 * at a multiple of 64 bytes: *out with its 8 bytes of length, *size bytes, surety_free. */
surety_status surety_safetensors_header(json_t *metadata, surety_stored *list, size_t count, uint8_t **out,
                                        size_t *size, surety_error *err);

#endif
