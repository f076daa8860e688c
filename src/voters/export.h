/* C source text, and what a kind of voters writes into it: its own evaluation, with the bits of its forward.
 *
 * The text is one C99 file that includes <stdint.h> and <float.h> only. A kind writes its arrays and
 *
 *   static void voters(const float *x, float *h)      x (d) features, h (H, width) outputs
 *
 * and calls what it asked for by surety_c_need_... Names of its own start with the kind's name
 * or are plain; none is that of a function of the C library.
 */
#ifndef SURETY_VOTERS_EXPORT_H
#define SURETY_VOTERS_EXPORT_H

#include "voters/voters.h"

/* A growing text. The first failure stays; surety_c_end reports it. */
typedef struct surety_c_text {
    char *text;
    size_t length, room;
    uint64_t data; /* bytes of all arrays so far */
    int failed;    /* no memory */
} surety_c_text;

void surety_c_put(surety_c_text *out, const char *format, ...) SURETY_PRINTF(2);
void surety_c_free(surety_c_text *out);
surety_status surety_c_end(const surety_c_text *out, surety_error *err);

/* static const TYPE name[count] = {..}; floats and doubles as hexadecimal constants (exact). An empty array
 * has one element, 0. Rows of `width` values of which `stride` are apart. */
void surety_c_floats(surety_c_text *out, const char *name, const float *values, size_t rows, size_t width,
                     size_t stride);
void surety_c_doubles(surety_c_text *out, const char *name, const double *values, size_t count);
/* Whole numbers in the smallest of int16_t and int32_t that holds them all. */
void surety_c_numbers(surety_c_text *out, const char *name, const int32_t *values, size_t count);

/* One constant. */
const char *surety_c_float(float value, char text[32]);
const char *surety_c_double(double value, char text[32]);

/* A text inside a comment: printable ASCII that neither ends nor begins one; all else as \uXXXX. Broken at
 * spaces to lines of at most 100 characters, each behind " * ". */
void surety_c_comment(surety_c_text *out, const char *text);
/* A string constant with its quotes. */
void surety_c_string(surety_c_text *out, const char *text);

/* Functions of the text that only some kinds call, each with the bits of num's: fma_of(a, b, c), exp_of(a)
 * and clamp_of(h, least), and with these tanh_of(a) and softmax_of(h), of K scores in place. SURETY_E_USAGE:
 * this CPU has no fma, and predicts with other bits. */
surety_status surety_c_need_fma(const surety_voters *v, surety_c_text *out, surety_error *err);
void surety_c_need_exp(surety_c_text *out);
void surety_c_need_tanh(surety_c_text *out);
void surety_c_need_softmax(size_t K, surety_c_text *out);

/* What a prediction costs at most. */
typedef struct surety_export_facts {
    uint64_t comparisons, products; /* comparisons with thresholds; multiply-adds */
    uint64_t stack;                 /* bytes of arrays on the stack */
} surety_export_facts;

/* SURETY_E_USAGE with a sentence if the kind has no export or this CPU cannot give its bits. */
surety_status surety_voters_export(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                   surety_error *err);

/* Features x (d) at which an export is worth comparing: test vector number `sample`. Kinds with thresholds
 * put features on and beside them. */
void surety_voters_probe(const surety_voters *v, uint32_t sample, float *x);

#endif
