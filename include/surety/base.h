/* surety/base.h - what every other header uses: status codes, the error record, how a long call runs.
 *
 * Every function that can fail returns a surety_status and takes a surety_error that the caller owns (NULL:
 * the caller does not care). The library never prints and never ends the program. A thread that calls it
 * needs a stack of 512 kB; threads that it starts are OpenMP's, with stacks of OMP_STACKSIZE.
 */
#ifndef SURETY_BASE_H
#define SURETY_BASE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#if defined(SURETY_BUILDING) && defined(__GNUC__)
#define SURETY_API __attribute__((visibility("default")))
#else
#define SURETY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Status codes. Each belongs to one exit code of the command: see surety_status_exit. */
typedef enum surety_status {
    SURETY_OK = 0,
    SURETY_E_CHECK,   /* a check said no: a certificate does not agree, a look was not paid for */
    SURETY_E_USAGE,   /* a setting or an argument is out of its range */
    SURETY_E_INPUT,   /* a file or an array does not hold what it should */
    SURETY_E_MEMORY,  /* no memory */
    SURETY_E_SYSTEM,  /* disk, network or operating system */
    SURETY_E_STOPPED, /* the caller asked to stop (see surety_run.stop) */
    SURETY_E_PART     /* a part of the work is done, and has no result of its own (surety_everyone.apart) */
} surety_status;

/* The error record. Initialise with SURETY_ERROR_NONE; the first error that is set stays. */
typedef struct surety_error {
    surety_status code;
    char what[512];     /* one sentence: what went wrong */
    char file[512];     /* the file, or empty */
    char place[128];    /* where in it ("byte 16", "row 3", "key delta"), or empty */
    char expected[512]; /* what was expected, or what to do, or empty */
} surety_error;

#define SURETY_ERROR_NONE \
    { SURETY_OK, "", "", "", "" }

/* The name of a code as JSON and messages print it ("bad_input"), a static string. */
SURETY_API const char *surety_status_name(surety_status code);

/* The exit code of the command for a status: 0 done, 1 a check said no, 2 wrong usage, 3 bad input, 4 the
 * machine. */
SURETY_API int surety_status_exit(surety_status code);

/* The record as JSON, {"error": {"code", "what", "file", "place", "expected"}}. Free with surety_text_free;
 * NULL if there is no memory. Every surety_<noun>_json() of the other headers returns its text in this way.
 */
SURETY_API char *surety_error_json(const surety_error *err);
SURETY_API void surety_text_free(char *text);

/* Frees bytes that a call has handed over (surety_model_encode). NULL is fine. */
SURETY_API void surety_bytes_free(uint8_t *bytes);

/* The name among names[count] that is nearest to word by edit distance, NULL if none is near. For messages
 * such as "unknown attack 'pgdd': did you mean 'pgd'?". */
SURETY_API const char *surety_nearest(const char *word, const char *const *names, size_t count);

/* The next character of a text from outside (an error record, a claim, a path) in a form that cannot steer a
 * terminal. Control characters, line ends and marks that turn the direction of writing become \u001b and the
 * like, a byte that is not UTF-8 becomes \xff; all others stay. Returns how many bytes of text it took; 0 at
 * the end. */
enum { SURETY_PRINTABLE = 12 };
SURETY_API size_t surety_printable(const char *text, char shown[SURETY_PRINTABLE]);

/* Numbers in texts, with a decimal point whatever the locale of the program. surety_number is strtod in the C
 * locale: *end == text if there is no number; end may be NULL. surety_numbers reads count finite numbers with
 * separators between them ("0,1"): 1 if the text is that and nothing else. */
SURETY_API double surety_number(const char *text, char **end);
SURETY_API int surety_numbers(const char *text, char separator, double *numbers, size_t count);

/* What a long call reports while it runs. Strings live only during the callback. */
typedef struct surety_progress {
    const char *phase;    /* "step 1", "attack S", .. */
    uint64_t done, total; /* work units of this phase */
    const char *text;     /* numbers worth showing ("epoch 3 risk 0.012"), or "" */
} surety_progress;

typedef void (*surety_progress_fn)(void *arg, const surety_progress *progress);

/* Several processes that share the examples of one call. Each takes its share, and counts are summed: they
 * are integers, so results have the same bits for any number of processes. Processes that meet make the same
 * calls of sum and share in the same order, with the same sizes. */
typedef struct surety_everyone {
    size_t rank, size; /* this one takes share rank of size; rank == size: none */
    /* values[0..count) become their sums over everyone. */
    surety_status (*sum)(void *arg, int64_t *values, size_t count, surety_error *err);
    /* rows[0..count) of so many bytes each, cut by surety_share_begin: each process has made its own share
     * and gets those of all others. NULL: the processes never meet (parts), so they cannot train. */
    surety_status (*share)(void *arg, void *rows, size_t count, size_t unit, size_t bytes, surety_error *err);
    void *arg;
    int apart; /* 1: the sums are this process's own, so nothing is concluded from them: a call that would
                * conclude ends with SURETY_E_PART */
} surety_everyone;

/* The first row of a rank's share of count rows, which are cut at multiples of unit, as evenly as that goes;
 * of rank == size: behind the last row. */
static inline size_t surety_share_begin(size_t count, size_t unit, size_t rank, size_t size) {
    size_t units = (count + unit - 1) / unit, each = units / size, more = units % size;
    size_t begin = unit * (rank * each + (rank < more ? rank : more)); /* the first shares have one more */
    return begin < count ? begin : count;
}

/* How a long call runs. All zero is valid: every core, silent, cannot be stopped. Results never depend on it.
 */
typedef struct surety_run {
    int threads; /* 0: one per core. A child of fork() has one, if its parent had used several here */
    surety_progress_fn progress; /* called from the thread that made the call, or NULL */
    void *progress_arg;
    const volatile sig_atomic_t *stop; /* non-zero ends the call soon with SURETY_E_STOPPED, or NULL */
    const surety_everyone *everyone;   /* NULL: this process is alone */
} surety_run;

/* SURETY_E_CHECK, with `what` in the message, unless all processes of the run that meet have the same text
 * here: versions, settings, digests of files. */
SURETY_API surety_status surety_agree(const char *what, const char *text, const surety_run *run,
                                      surety_error *err);

/* How the calling thread reads files from now on. run (NULL: none) is polled and told of progress while a
 * long file is read, also by calls that take no run of their own; it must live until the next call. largest
 * is the most bytes that a file may have in memory, decompressed (0: SURETY_LARGEST_FILE); a larger one is
 * SURETY_E_INPUT.
 */
#define SURETY_LARGEST_FILE ((uint64_t)4 << 30)
SURETY_API void surety_reading(const surety_run *run, uint64_t largest);

/* For data that is larger than memory. 1: from now on blocks of a megabyte or more that the calling thread
 * asks for, and all that it reads, lie in files without a name, in $TMPDIR or else /var/tmp; and files may
 * have any size. Results are the same. 0, the default: in memory. */
SURETY_API void surety_streaming(int on);

/* 0: from now on this process writes no file: what calls would write goes nowhere, and they succeed. For
 * processes that leave writing to another one (surety_run.everyone). 1, the default: files are written. */
SURETY_API void surety_writing(int on);

/* Version of the library, "0.3.0". */
SURETY_API const char *surety_version(void);

/* The CPU level in use: "generic", "avx2" or "avx512". The environment variable SURETY_CPU forces a lower
 * one. All levels with FMA (avx2, avx512) give the same bits; generic agrees up to rounding. */
SURETY_API const char *surety_cpu_level(void);

#ifdef __cplusplus
}
#endif
#endif
