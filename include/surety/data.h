/* surety/data.h - labelled examples, from files or from memory, and how they are split.
 *
 * A data set becomes three sets of rows that share none (docs/theory.md 1):
 *   S' (prior)  trains the voters and the prior
 *   S  (learn)  trains the posterior and gives the bound
 *   T  (test)   is for estimates only
 *
 *     surety_data_settings settings = surety_data_defaults();
 *     settings.task = "mnist-1v7";
 *     surety_data *data = NULL;
 *     surety_error err = SURETY_ERROR_NONE;
 *     if (surety_data_open(&settings, &data, &err)) ...
 *     const surety_set *learn = surety_data_set(data, SURETY_SET_LEARN);
 *     ...
 *     surety_data_free(data);
 */
#ifndef SURETY_DATA_H
#define SURETY_DATA_H

#include "surety/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum surety_set_name {
    SURETY_SET_PRIOR,
    SURETY_SET_LEARN,
    SURETY_SET_TEST,
    SURETY_SETS
} surety_set_name;

/* "prior", "learn", "test" */
SURETY_API const char *surety_set_text(surety_set_name which);

/* A view of labelled examples; who owns the arrays says so where the view is made. */
typedef struct surety_set {
    size_t m;            /* examples */
    size_t d;            /* features */
    size_t stride;       /* floats from one row of x to the next: d padded to a multiple of 16 */
    const float *x;      /* (m, stride), rows aligned to 64 bytes, zeros behind column d */
    const uint8_t *y;    /* (m): class numbers, below classes */
    const uint32_t *row; /* (m): the example's row in its source file, from 0, all classes counted */
    surety_set_name which;
    size_t classes; /* K, from 2 to SURETY_CLASSES_MOST */
    /* (m): the unit that each row belongs to, below units; NULL: every row is its own. Where rows have units,
     * a unit is what risks count: it fails if one of its rows does. */
    const uint32_t *unit;
    size_t units;
    /* (m), S only: the group that each row belongs to, below groups, where a column of groups was asked for;
     * else NULL. */
    const uint32_t *group;
    size_t groups;
    /* Rows at the beginning and at the end whose features this process does not have: x holds the m - before
     * - behind rows between them (surety_data_settings.own_rows). 0 elsewhere. */
    size_t before, behind;
} surety_set;

enum { SURETY_CLASSES_MOST = 255 };

/* Of two classes, number 0 is the label -1 of the theory and number 1 is +1. */
static inline int surety_sign(uint8_t y) {
    return y ? 1 : -1;
}

/* Whether this process has the features of the examples first .. end-1. */
static inline int surety_set_has(const surety_set *set, size_t first, size_t end) {
    return first >= end || (first >= set->before && end <= set->m - set->behind);
}

/* The features of example i; NULL if this process does not have them. */
static inline const float *surety_set_row(const surety_set *set, size_t i) {
    return surety_set_has(set, i, i + 1) ? set->x + (i - set->before) * set->stride : NULL;
}

/* Examples first .. first+count-1 of a set, as a view of the same arrays (cut off at its end). */
SURETY_API surety_set surety_set_slice(const surety_set *set, size_t first, size_t count);

/* ---- tasks: the six of the paper (docs/theory.md 6), then "mnist" and "fashion-mnist", whole ---- */

typedef struct surety_task {
    const char *name;            /* "mnist-1v7" */
    const char *dataset;         /* "mnist" or "fashion-mnist" */
    size_t train, test;          /* examples of its classes in the two files */
    size_t classes;              /* K: 2 or 10 */
    const char *labels[10];      /* (K): by class number; of two, those that become -1 and +1 */
    const char *class_names[10]; /* (K): what they show */
} surety_task;

/* The table, *count rows. */
SURETY_API const surety_task *surety_tasks(size_t *count);

/* The same table, of which the first *count rows are the paper's. */
SURETY_API const surety_task *surety_paper_tasks(size_t *count);

/* The task of that name ('_' and '-' are the same), or NULL with an error that names the nearest. */
SURETY_API const surety_task *surety_task_find(const char *name, surety_error *err);

/* ---- opening files ---- */

/* Whether a CSV file's first line holds names. AUTO: yes if no field of it is a number; no if all are, or all
 * but the label, which then must be the label of another row too. Any other line is an error, because
 * dropping a damaged first row would be a silent repair. */
typedef enum surety_header { SURETY_HEADER_AUTO, SURETY_HEADER_YES, SURETY_HEADER_NO } surety_header;

/* What to do about copies, rows of equal features (docs/data.md, "Copies"): an S with rows that trained the
 * voters says little about new inputs. */
typedef enum surety_copies_rule {
    SURETY_COPIES_REFUSE, /* "refuse": no training and no certificate if more than 1 % of S are copies */
    SURETY_COPIES_KEEP,   /* "keep": they stay, and every certificate says so */
    SURETY_COPIES_DROP /* "drop": of equal training rows one, drawn by the seed, is kept before the split; of
                          the test rows those that are new. Promises are then about distinct rows */
} surety_copies_rule;

SURETY_API surety_status surety_copies_parse(const char *name, surety_copies_rule *rule, surety_error *err);
SURETY_API const char *surety_copies_name(surety_copies_rule rule);

/* What becomes of a missing value: an empty field or NA, N/A, #N/A, <NA>, NaN, null, NULL, None, ? of a
 * table, NaN of an array. */
typedef enum surety_missing {
    SURETY_MISSING_ERROR,  /* "error": refused, with its place */
    SURETY_MISSING_MEDIAN, /* "median": the median of its column in S' stands for it; a missing category is
                              none of the known ones */
    SURETY_MISSING_FLAG,   /* "flag": the same, and a column that misses values in S' gets one more feature, 1
                              where the value is missing, else 0 */
    SURETY_MISSING_KEEP    /* "keep": NaN stays in the row, for kinds of voters that can take it */
} surety_missing;

SURETY_API surety_status surety_missing_parse(const char *name, surety_missing *rule, surety_error *err);
SURETY_API const char *surety_missing_name(surety_missing rule);

/* From the values of a column of numbers to a feature: z = (x - shift) * factor, both steps rounded to float.
 */
typedef enum surety_scaling {
    SURETY_SCALE_AUTO, /* "auto": none for tasks, for bytes and for rows of more than one axis, else standard
                        */
    SURETY_SCALE_NONE, /* "none": shift 0, factor 1 */
    SURETY_SCALE_STANDARD, /* "standard": mean and 1 / standard deviation of the values in S' */
    SURETY_SCALE_MINMAX    /* "minmax": smallest value and 1 / (largest - smallest) in S' */
} surety_scaling;

SURETY_API surety_status surety_scaling_parse(const char *name, surety_scaling *scaling, surety_error *err);
SURETY_API const char *surety_scaling_name(surety_scaling scaling);

/* What a radius of 1 means: "standard deviations", "shares of the range" or "units of the data". */
SURETY_API const char *surety_scaling_unit(surety_scaling scaling);

/* From the columns of a table to features: which columns, what becomes of missing values and categories,
 * scales. Fitted on S' alone, kept by the model, applied to every table and row that the model is asked
 * about.
 */
typedef struct surety_preparation surety_preparation;

/* Whether features have limits. */
typedef enum surety_box_rule {
    SURETY_BOX_AUTO = -1, /* [0, 1] for tasks and bytes, else none */
    SURETY_BOX_NONE = 0,
    SURETY_BOX_GIVEN = 1
} surety_box_rule;

/* What to open. Either task, or train with test or a share of it for T. Strings are the caller's; nothing is
 * kept.
 *
 * A task's sets are fixed: S is the first learn_size training examples of its classes in file order, S' the
 * rest, T the test file.
 *
 * Own files: the rows of the classes are shuffled by seed; the first learn_size become S, the next
 * test_size T (where there is no test file), the rest S'. Formats, plain or gzip:
 *   IDX     unsigned bytes. The labels file is labels, or the usual name beside it: "train-images-idx3-ubyte"
 *           finds "train-labels-idx1-ubyte".
 *   NPY     (m, d) or (m, ...). The labels (m) are in labels, or in a file beside it whose name has "labels"
 *           for "images" or "features", or "y" for "X" ("X_train.npy" finds "y_train.npy"), or has "_labels"
 *           before ".npy".
 *   NPZ     members X and y, or features and labels.
 *   LIBSVM  lines "label index:value ..", indices from 1 and ascending; what is not there is 0.
 *   CSV     rows of fields between separators; labels are a column of it.
 * The format is told by the name (.npy, .npz, .csv, .tsv, .libsvm, .svm, "idx"), else by the first bytes.
 * Bytes are divided by 255 before anything else. A column is named as its header does, or by its number
 * from 1.
 *
 * Labels are whole numbers or, from CSV and NPY ('<U' or '|S'), texts in UTF-8. If all are whole numbers,
 * they are ordered by value, else by bytes. Blanks around a text do not count; two labels that differ only by
 * blanks or by case are an error, and so is an empty one. */
typedef struct surety_data_settings {
    const char *task; /* NULL: own files */
    /* The one folder in which to look for a task's dataset. NULL: $SURETY_DATA, the user's cache folder
     * ($XDG_CACHE_HOME or ~/.cache)/surety, /usr/share/datasets; in each of them in a folder of the dataset's
     * name, then directly. */
    const char *data_dir;
    const char *train, *test;               /* own files */
    const char *train_labels, *test_labels; /* NULL: beside them */
    const char *label_column; /* CSV: name in the header, or number from 1 (-1: last); NULL: the last */
    surety_header header;     /* CSV; default AUTO */
    char separator;           /* CSV: between fields; 0: the first of tab ; | , that cuts all lines alike;
                               * ' ': any run of blanks and tabs */
    /* Columns, by name or number from 1 (-1: last): left out; taken as categories, each of which becomes a
     * feature of 0 or 1 (a category that S' does not have is all zeros). */
    const char *const *drop;
    size_t drop_count;
    const char *const *categorical;
    size_t categorical_count;
    /* A column, by name or number: rows with the same value of it (a patient, a sender, a machine) are one
     * unit. They stay in one set, and sizes and shares count units. NULL: every row is its own. Not with a
     * split by indices. */
    const char *unit;
    /* A column, by name or number, whose values are groups of examples (a site, a sex), which certificates
     * can limit one by one. It may be a feature, or left out, or the label. NULL: none. */
    const char *group;
    surety_missing missing; /* default ERROR */
    surety_scaling scaling; /* default AUTO */
    /* A model's preparation: columns are matched with its own by name, and it is applied instead of one that
     * is fitted. The settings drop, categorical, missing and scaling are then not read, but for further
     * columns that drop leaves out. NULL: one is fitted on S'. */
    const surety_preparation *preparation;
    /* (class_count): texts of the labels that become class 0, 1, ..; rows of all others are left out. Of two,
     * the first becomes -1 and the second +1. {"all"}: all labels that occur, in ascending order, at most
     * SURETY_CLASSES_MOST. class_count 0: a task's own, else all. */
    const char *const *classes;
    size_t class_count;
    /* Examples in S; 0: learn_share of the rows, rounded down, at least one; 5000 of a task. */
    size_t learn_size;
    double learn_share; /* default 0.4 */
    /* Without test: examples of train in T; 0: test_share of the rows. Both 0: T is empty. */
    size_t test_size;
    double test_share;     /* default 0.2 */
    surety_box_rule boxed; /* GIVEN: values must lie in [box_lo, box_hi], compared as floats; default AUTO.
                              Not together with a scaling: limits of single features are tolerances */
    double box_lo, box_hi; /* default 0, 1 */
    uint64_t seed;         /* of the shuffle, below 2^63; default 0. Tasks do not use it */
    surety_copies_rule copies; /* default REFUSE; DROP does not go with a split by indices */
    int fresh; /* 1: the training rows are declared fresh, they trained nothing: all of them become S, in
                  their order, S' is empty, and T too unless it has rows of its own. For bounds on a vote
                  that was fixed before (surety_model_check_fresh). Default 0 */
    /* Processes that meet and all open the same data now: SURETY_E_CHECK unless their files are the same;
     * each digests and compares its share of the rows. NULL: this process is alone. */
    const surety_everyone *everyone;
    /* 1, with everyone: a process has the features of its own share of the rows of each set alone
     * (surety_my_share), and surety_set_row reads them. For calls that share examples: evaluation,
     * certificates, trainings. */
    int own_rows;
} surety_data_settings;

SURETY_API surety_data_settings surety_data_defaults(void);

/* SURETY_E_USAGE with the admissible range if a setting, or a combination, makes no sense: neither task nor
 * train; a task with files, fresh, or label_column, drop, categorical, classes or test_size; test_size with
 * test or fresh; test_labels without test; one class, or one that is named twice; a size of 2^32 or more, a
 * learn_share outside (0, 1), a test_share outside [0, 1); a box that is empty or not finite. What arrays do
 * not go with, surety_data_from_arrays refuses in the same way. */
SURETY_API surety_status surety_data_validate(const surety_data_settings *settings, surety_error *err);

typedef struct surety_data surety_data;

/* Reads, checks, picks the classes and splits. Everything is checked before anything is given out: the files
 * of a task against their SHA-256, features for NaN, infinities and the box. */
SURETY_API surety_status surety_data_open(const surety_data_settings *settings, surety_data **out,
                                          surety_error *err);
SURETY_API void surety_data_free(surety_data *data); /* NULL is fine */

/* ---- from memory ---- */

/* Rows of the training array in S', S and T, in this order (surety_set_name): numbers from 0, each in one set
 * at most and once; at least one row in S' and in S. The sets keep the order of the indices. */
typedef struct surety_split {
    size_t m[SURETY_SETS];
    const int64_t *rows[SURETY_SETS]; /* (m); may be NULL where m is 0 */
} surety_split;

/* Arrays of the caller. All that is needed is copied: they may be freed after the call. */
typedef struct surety_arrays {
    size_t m, d;              /* training rows, columns of features */
    const float *features;    /* (m, d), row after row; NaN: missing */
    const char *const *names; /* (d): of the columns, or NULL: their numbers from 1 */
    size_t stride;            /* floats from one row to the next, at least d; 0: d */
    /* (d): of a column of texts, which can hold categories, units or groups, its (m) texts, as if they were
     * read from a file (NULL: missing); features are not read there. NULL: the column is of numbers; all are.
     */
    const char *const *const *texts;
    const int64_t *labels; /* (m) */
    /* (label_count) Labels that are texts: labels are numbers into this list, from 0, and a row's label is
     * the text there, as if it were read from a file. NULL: labels are whole numbers of any kind. */
    const char *const *label_names;
    size_t label_count;
    /* Rows for T alone; test_m = 0: T comes from the training rows, or is empty. */
    size_t test_m;
    const float *test_features; /* (test_m, d) */
    size_t test_stride;
    const char *const *const *test_texts;
    const int64_t *test_labels;
    const surety_split *split; /* NULL: as settings say */
} surety_arrays;

/* The same as surety_data_open for rows in memory: same checks, same split, so that the same rows with the
 * same settings are the same sets. Messages name the array ("array features"), row and column. Of the
 * settings, everyone, own_rows, classes, box, copies, fresh, drop, categorical, unit, group, missing,
 * scaling, preparation and, without a split, sizes, shares and seed are read; those that name files must be
 * NULL. */
SURETY_API surety_status surety_data_from_arrays(const surety_arrays *arrays,
                                                 const surety_data_settings *settings, surety_data **out,
                                                 surety_error *err);

/* ---- what was opened ---- */

/* One of the three sets, owned by data. */
SURETY_API const surety_set *surety_data_set(const surety_data *data, surety_set_name which);

typedef struct surety_data_file {
    const char *role; /* "train", "train_labels", "test", "test_labels"; "fresh", "fresh_labels" */
    const char *path;
    uint64_t bytes;  /* uncompressed */
    char sha256[65]; /* of the uncompressed bytes */
} surety_data_file;

/* How rows got into their sets. */
typedef enum surety_order {
    SURETY_ORDER_FILE,     /* "file": a task's, S first */
    SURETY_ORDER_SHUFFLED, /* "shuffled": by seed */
    SURETY_ORDER_GIVEN     /* "given": by the caller's indices */
} surety_order;

/* Copies that were found. Equal: the same features, -0 is 0, whatever the labels. Near: equal, or every
 * feature at most tolerance times its range (over S' and S) away. */
typedef struct surety_copies {
    uint64_t learn, test;                                  /* rows of S and T */
    uint64_t learn_in_prior, test_in_prior, test_in_learn; /* rows of S that equal one of S', .. */
    uint64_t learn_repeats;                                /* rows of S that are near an earlier one of S */
    uint64_t near_learn_in_prior, near_test_in_prior;      /* near ones, the equal ones included */
    double tolerance;
    uint64_t dropped; /* rows that DROP left out */
} surety_copies;

/* 1 if more than 1 % of S are near rows of S', or repeat rows of S: too many to call S fresh. */
SURETY_API int surety_copies_many(const surety_copies *copies);

/* The counts in one sentence for people. */
enum { SURETY_COPIES_TEXT = 400 };
SURETY_API void surety_copies_text(const surety_copies *copies, char text[SURETY_COPIES_TEXT]);

typedef struct surety_data_info {
    const char *task; /* NULL: own data */
    size_t files;     /* 0: arrays */
    surety_data_file file[4];
    size_t classes;                 /* K, from 2 to SURETY_CLASSES_MOST */
    const char *const *labels;      /* (K): the labels' texts, by class number */
    int whole;                      /* 1: all labels are whole numbers, without '+' and leading zeros */
    const char *const *class_names; /* (K): of a task, else NULL */
    const char *label_column;       /* as asked for, or NULL */
    surety_header header;           /* as asked for */
    double scale;                   /* values were divided by it: 255 (bytes) or 1 */
    char separator;                 /* of the CSV file; 0: there is none */
    size_t columns;                 /* of the table that are used */
    const char *index_column;       /* a used column that numbers the rows, as pandas writes it; else NULL */
    uint64_t rounded; /* values of used columns that float32 rounds, in all rows of the sources */
    /* What the preparation made of the columns (docs/data.md). */
    surety_scaling scaling; /* never AUTO */
    surety_missing missing;
    const char *const *feature_names; /* (d): "age", "age missing", "color=red" */
    const uint8_t *moves;             /* (d): 0 for categories and flags, which no threat changes */
    const float *shift, *factor;      /* (d): z = (x - shift) * factor; 0 and 1 where nothing is scaled */
    const char *preparation; /* as JSON, which models keep; NULL: every column as it is, without names */
    int preparation_fits;    /* 1: it is what S' gives; 0: another, or there is no S' */
    size_t constants;        /* columns that are left out because they are constant in S' */
    const char *const *constant_names;
    uint64_t filled[SURETY_SETS]; /* missing values that medians (or no category) stand for */
    uint64_t unseen[SURETY_SETS]; /* categories that S' does not have */
    uint64_t kept[SURETY_SETS];   /* missing values that stay */
    /* Rows whose label is none of the classes, which belong to no set: of the training rows, of the test
     * rows; and such a label, empty if there is none. */
    uint64_t left_out[2];
    char left_out_label[64];
    int boxed;
    double box_lo, box_hi;
    size_t d, height, width; /* height = width = 0: not images */
    size_t train, test;      /* examples in S' and S together, and in T */
    size_t m[SURETY_SETS];
    const char *unit;                   /* the column of units, or NULL */
    size_t units[SURETY_SETS];          /* that the rows of the sets are of; without units, the rows */
    const char *group;                  /* the column of groups, or NULL */
    size_t groups;                      /* values of it in S; one more if some are missing */
    const char *const *group_names;     /* (groups), sorted; "(missing)" comes last */
    const size_t *class_m[SURETY_SETS]; /* (K): examples of each class */
    /* Digests of the decoded rows (docs/certificates.md, "Digests of rows"), the same from a file or from
     * memory: of each set with its order, labels and row numbers; and of all training rows of each class,
     * in whatever order they stand and however they are split. */
    char set_sha256[SURETY_SETS][65];
    char (*class_sha256)[65]; /* (K) */
    /* (m) of each set, sorted: the first 8 bytes of the digest of every row, as a little-endian number. */
    const uint64_t *row_digests[SURETY_SETS];
    int fresh; /* as asked for */
    surety_order order;
    uint64_t seed;                  /* of the shuffle, else 0 */
    size_t learn_size, test_size;   /* as asked for; test_size is 0 where T has rows of its own */
    char split[256];                /* the same in words */
    surety_copies_rule copies_rule; /* as asked for */
    surety_copies copies;
    /* Training rows that DROP left out although they are of another class, or group, than the equal row that
     * stayed: what a class or group has left is not what it has in use. */
    uint64_t dropped_other_class, dropped_other_group;
} surety_data_info;

/* SURETY_E_CHECK, with the ways out, if there are many copies and the settings did not say KEEP. Trainings
 * and certificates ask. */
SURETY_API surety_status surety_data_check_copies(const surety_data_info *info, surety_error *err);

/* The preparation that made the features; owned by data. */
SURETY_API const surety_preparation *surety_data_preparation(const surety_data *data);

/* The columns that a preparation takes: how many, and the name of one (NULL behind the last). */
SURETY_API size_t surety_preparation_columns(const surety_preparation *preparation);
SURETY_API const char *surety_preparation_column(const surety_preparation *preparation, size_t column);
SURETY_API surety_scaling surety_preparation_scaling(const surety_preparation *preparation);
SURETY_API size_t surety_preparation_features(const surety_preparation *preparation);

/* Values of all rows: medians put in for missing ones, unknown categories, missing ones that stayed NaN. */
typedef struct surety_preparation_counts {
    uint64_t filled, unseen, kept;
} surety_preparation_counts;

/* Rows as they come: (m, columns) of a preparation. */
typedef struct surety_raw_rows {
    size_t m;
    const float *values;      /* (m, columns); NaN: missing */
    const char *const *texts; /* (m, columns): of a category, where it is not NULL; NULL: numbers alone */
    size_t first;             /* what errors call the first row, usually 0 */
} surety_raw_rows;

/* Rows into features x (m, stride), stride at least their number. A column of categories has its text where
 * there is one, else its number. A missing value that the preparation refuses, or one that is infinite or too
 * large to scale: SURETY_E_INPUT with row and column. counts may be NULL. */
SURETY_API surety_status surety_preparation_apply(const surety_preparation *preparation,
                                                  const surety_raw_rows *rows, float *x, size_t stride,
                                                  surety_preparation_counts *counts, surety_error *err);

/* Features in the user's units, as surety_preparation_undo gives them, into features of the model. */
SURETY_API void surety_preparation_scale(const surety_preparation *preparation, const float *x, float *z);

/* Back to the user's units, feature by feature: x = z / factor + shift. The last bits are lost: scaled again,
 * the feature may differ by a few roundings. */
SURETY_API void surety_preparation_undo(const surety_preparation *preparation, const float *z, float *x);

/* Owned by data. */
SURETY_API const surety_data_info *surety_data_describe(const surety_data *data);

/* (K) What people call the classes: the names of a task's, else the labels. */
static inline const char *const *surety_class_names(const surety_data_info *info) {
    return info->class_names ? info->class_names : info->labels;
}

/* The same as JSON text, or NULL when there is no memory; surety_text_free. */
SURETY_API char *surety_data_info_json(const surety_data_info *info);

/* ---- tolerances: how far each feature may move (docs/tolerances.md) ---- */

/* The features as they were read: z_j = (x_j - shift_j) * factor_j in float, x_j being what the user has. Any
 * array may be NULL. Borrowed. */
typedef struct surety_features {
    size_t d;
    const char *const *names; /* (d); NULL: "1" to "d" */
    const float *shift;       /* (d); NULL: 0 */
    const float *factor;      /* (d), above 0; NULL: 1 */
    const uint8_t *moves;     /* (d); 0: this one never moves (a flag, a category); NULL: all may */
} surety_features;

SURETY_API surety_features surety_data_features(const surety_data_info *info);

/* A radius and a range for every feature. Made by the functions below, of one block of memory; read only. */
typedef struct surety_tolerance {
    size_t d, moving; /* features, and those that can change */
    /* In the user's units: */
    const char *const *names;
    const double *radius;  /* at least 0; 0: it cannot change */
    const double *lo, *hi; /* its range, infinite where it has no end. A value that lies outside already may
                              come back, but not go farther out */
    /* As voters see the features: */
    const double *unit;        /* r_j: radius * factor, rounded up */
    const float *least, *most; /* the ends of the range, scaled as features are */
    char sha256[65];           /* of names, radius, lo and hi */
} surety_tolerance;

/* radius (d), and lo, hi (d) or NULL: no ends; all in the user's units. SURETY_E_INPUT with the feature if a
 * number makes no sense. */
SURETY_API surety_status surety_tolerance_new(const surety_features *features, const double *radius,
                                              const double *lo, const double *hi, surety_tolerance **out,
                                              surety_error *err);

/* What the data themselves say: categories and flags cannot change, a box in the user's units is the range of
 * every other feature, and one unit of the scale is the radius (so that a ball of radius b reaches b standard
 * deviations). *out is NULL where a ball without a tolerance says the same: all features move, and there is
 * no box, or nothing is scaled. SURETY_E_USAGE: no feature can change. */
SURETY_API surety_status surety_data_tolerance(const surety_data_info *info, surety_tolerance **out,
                                               surety_error *err);

/* 1 if every feature that moves has one unit of the scale as its radius. */
SURETY_API int surety_tolerance_is_scale(const surety_tolerance *tolerance);

/* What a radius is in: "tolerances" where the tolerance (or NULL) is the user's, else surety_scaling_unit. */
SURETY_API const char *surety_radius_unit(const surety_tolerance *tolerance, surety_scaling scaling);

/* From a CSV file whose first line names its columns: feature, radius and, if they are there, lo and hi;
 * other columns are not read. One line for each feature, in any order, by its name. */
SURETY_API surety_status surety_tolerance_read(const char *path, const surety_features *features,
                                               surety_tolerance **out, surety_error *err);

/* Writes such a file to fill in: radius empty, but 0 for features that never move; lo and hi the range in S',
 * then, not read, the unit and the standard deviation in S'. As it is it is refused. */
SURETY_API surety_status surety_tolerance_template(const surety_data *data, const char *path,
                                                   surety_error *err);
SURETY_API surety_status surety_tolerance_copy(const surety_tolerance *tolerance, surety_tolerance **out,
                                               surety_error *err);
SURETY_API void surety_tolerance_free(surety_tolerance *tolerance); /* NULL is fine */

/* {features, radius, lo, hi}: lists in the user's units, null where a range has no end; surety_text_free. */
SURETY_API char *surety_tolerance_json(const surety_tolerance *tolerance);

/* ---- where the tasks' data are ---- */

typedef struct surety_task_place {
    const surety_task *task;
    int found;           /* all four files are there and have the right SHA-256 */
    const char *folder;  /* where, or NULL */
    const char *problem; /* why not, and what to do; NULL if found */
} surety_task_place;

typedef struct surety_data_list {
    size_t count;
    surety_task_place *places; /* one per task, in the order of the table */
    void *owned;
} surety_data_list;

/* Looks for all tasks; data_dir as in the settings. A dataset that is not there is not an error. */
SURETY_API surety_status surety_data_list_make(const char *data_dir, surety_data_list *out,
                                               surety_error *err);
SURETY_API void surety_data_list_free(surety_data_list *list); /* all zero is fine */

/* {"tasks":[{name,dataset,classes,class_names,train,test,found,folder,problem},..]}; surety_text_free. */
SURETY_API char *surety_data_list_json(const surety_data_list *list);

#ifdef __cplusplus
}
#endif
#endif
