/* NPY arrays (NumPy's format, versions 1 to 3): reading as a whole or piece by piece, and streamed writing.
 *
 * Layout: "\x93NUMPY", major, minor, header length (2 or 4 bytes, little endian), the header (a Python
 * dictionary with descr, fortran_order, shape), then the values. Read: both orders (Fortran order is put into
 * C order at once), little endian or single bytes, numbers only; the size of the file must be exactly what
 * the shape says. */
#ifndef SURETY_IO_NPY_H
#define SURETY_IO_NPY_H

#include "io/read.h"
#include "io/write.h"

typedef enum surety_dtype {
    SURETY_F4,
    SURETY_F8,
    SURETY_I1,
    SURETY_I2,
    SURETY_I4,
    SURETY_I8,
    SURETY_U1,
    SURETY_U2,
    SURETY_U4,
    SURETY_U8,
    SURETY_B1,
    SURETY_DTYPES
} surety_dtype;

enum { SURETY_NPY_DIMS = 8 };

typedef struct surety_npy {
    surety_dtype dtype;
    int ndim; /* 0: one number */
    size_t shape[SURETY_NPY_DIMS];
    size_t count;        /* product of the shape */
    const uint8_t *data; /* count values; may lie at any byte, so read them with the calls below. NULL if
                          * streamed */
    size_t nbytes;       /* of data */
    surety_file file;    /* the whole file; empty if streamed */
    int fortran;         /* it was in Fortran order, and more than a list: */
    uint8_t *ordered;    /* its values in C order, or NULL */
    int streamed, fd;    /* 1: values are read from fd when asked for, from byte `begin` on */
    uint64_t begin;
} surety_npy;

surety_status surety_npy_open(surety_npy *out, const char *path, surety_error *err);
/* The same over a file that is open already: takes it over when it succeeds. name: what errors call it. */
surety_status surety_npy_parse(surety_npy *out, surety_file *file, const char *name, surety_error *err);
/* The same without reading the values, for arrays that need not fit into memory (gzip and Fortran order are
 * read as a whole). */
surety_status surety_npy_stream(surety_npy *out, const char *path, surety_error *err);
void surety_npy_close(surety_npy *array); /* all zero is fine */

/* Values first .. first+count-1 in C order, converted (a 64-bit integer may round). The first two are for
 * arrays in memory, the others for streamed ones too: a file that became shorter is SURETY_E_INPUT. Any
 * number of threads may read at a time. */
void surety_npy_doubles(const surety_npy *array, size_t first, size_t count, double *out);
void surety_npy_floats(const surety_npy *array, size_t first, size_t count, float *out);
surety_status surety_npy_read_doubles(const surety_npy *array, size_t first, size_t count, double *out,
                                      surety_error *err);
surety_status surety_npy_read_floats(const surety_npy *array, size_t first, size_t count, float *out,
                                     surety_error *err);

size_t surety_dtype_size(surety_dtype dtype);      /* bytes of one value */
const char *surety_dtype_name(surety_dtype dtype); /* "float32" */

/* Writes an array of known shape, piece by piece, through a safe writer: the file appears with commit, and
 * only if exactly the promised number of values was appended. Free space is checked when it is opened. */
typedef struct surety_npy_writer surety_npy_writer;

surety_status surety_npy_writer_open(surety_npy_writer **out, const char *path, surety_dtype dtype, int ndim,
                                     const size_t *shape, surety_error *err);
/* count values of the writer's dtype. */
surety_status surety_npy_writer_append(surety_npy_writer *writer, const void *values, size_t count,
                                       surety_error *err);
surety_status surety_npy_writer_commit(surety_npy_writer *writer, surety_error *err); /* frees it always */
void surety_npy_writer_abort(surety_npy_writer *writer);                              /* NULL is fine */

#endif
