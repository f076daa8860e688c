/* What the fuzz targets share. A target is one file: LLVMFuzzerTestOneInput, which gets bytes and must come
 * back whatever they are, and fuzz_seeds, which offers valid inputs to start from. Built by clang it is a
 * libFuzzer program (script/fuzz); built with the tests it replays seeds, past crashes and a few mutations
 * (replay.c). What must be true of accepted input is said by require(): a lie ends the program as a crash
 * does. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "surety/certify.h"
#include "surety/train.h"

typedef void (*fuzz_take)(const void *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
void fuzz_seeds(fuzz_take take);

#define require(fact)                                                            \
    do {                                                                         \
        if (!(fact)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #fact); \
            abort();                                                             \
        }                                                                        \
    } while (0)

/* A file of this name in the program's own folder; with bytes, written anew. */
const char *fuzz_path(const char *name);
const char *fuzz_file(const char *name, const void *bytes, size_t size);
void fuzz_sweep(const char *folder);                             /* removes it and what is in it */
void fuzz_take_file(fuzz_take take, const char *path);           /* its bytes are a seed */
void fuzz_take_as(fuzz_take take, char which, const char *name); /* which, then the bytes of our own file */

/* As fuzz_file, for JSON, with a digest that fits; NULL if it is no JSON. */
const char *fuzz_sealed_file(const char *name, const uint8_t *bytes, size_t size);

/* An NPY array of size bytes of values: 128 bytes more. Returns its size. */
size_t fuzz_npy(uint8_t *out, const char *type, const char *shape, const void *values, size_t size);

/* Counts input that is accepted; of input that is refused, checks that it says why. 1 if accepted. */
int fuzz_accepts(surety_status status, const surety_error *err);
extern unsigned long fuzz_accepted;

/* A small world, made once: 60 rows of three features in two classes, a model of two soft trees, a
 * certificate of it. */
typedef struct fuzz_world {
    surety_data *data;
    surety_train_settings settings;
    surety_model *model;
    char model_file[300], certificate_file[300];
    surety_certificate certificate;
} fuzz_world;
const fuzz_world *fuzz_the_world(void);
extern const surety_run fuzz_run; /* one thread */

#endif
