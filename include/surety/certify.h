/* surety/certify.h - guarantees that can be defended: certificates, and their recheck from raw data
 * (docs/theory.md 4.6, docs/certificates.md).
 *
 * A certificate is one claim about one model ("with confidence 95 % the vote fails on at most 2.2 % of new
 * inputs, where ..") with every number that the claim rests on: the inputs of the formula, the settings of
 * the attack, checksums of data, model and vote counts, and the ledger of delta. Verifying it trusts none of
 * these numbers: the perturbations are drawn again, the votes counted again, the bound computed again, the
 * sentence written again.
 *
 * What must be fixed before S is looked at is fixed by the model (seed, split, voters, masks, candidate
 * priors) or by the caller's word (attack, radius, delta, bound); the caller's word is part of the claim.
 *
 * In short:
 *     surety_certify_settings settings = surety_certify_defaults(model);
 *     settings.looks = 1;
 *     surety_certificate certificate;
 *     if (surety_certify(model, data, &settings, &certificate, NULL, &err)) ...
 *     puts(certificate.claim);
 *     surety_certificate_save(&certificate, "c.json", &err);
 *     surety_certificate_free(&certificate);
 */
#ifndef SURETY_CERTIFY_H
#define SURETY_CERTIFY_H

#include "surety/attack.h"
#include "surety/bound.h"
#include "surety/data.h"
#include "surety/model.h"
#include "surety/risk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is asked ---- */

/* What a certificate states (docs/theory.md 12): one form each. All but the first are about a vote that S did
 * not choose (vote_frozen_max, worst_case_frozen). */
typedef enum surety_statement {
    SURETY_SAY_LIMIT,   /* "limit": one limit on the risk */
    SURETY_SAY_CLASSES, /* "classes": a limit for each class, all at once: delta split evenly over the K */
    SURETY_SAY_GROUPS,  /* "groups": the same for the groups of the data (surety_data_settings.group) in S */
    SURETY_SAY_RADIUS,  /* "radius": the largest radius at which at most `promise` fail; worst case */
    SURETY_SAY_CURVE, /* "curve": a limit at each of `points`, all at once, delta split evenly; worst case */
    SURETY_SAY_PROMISES, /* "promises": the limits of `points`, in this order, up to the first that fails */
    SURETY_STATEMENTS
} surety_statement;

/* Its name, static. */
SURETY_API const char *surety_statement_name(surety_statement statement);

enum { SURETY_POINTS = 64, SURETY_GROUPS = 64 };

/* A radius, and (PROMISES) the limit that is promised there. */
typedef struct surety_promise {
    double radius, limit;
} surety_promise;

typedef struct surety_certify_settings {
    surety_threat threat; /* its seed, epoch and slack are not read: seed and slack are the model's and the
                             epoch is 0, so that no random number can be chosen by looking at S. A tolerance
                             must live as long */
    const char *bound;    /* a name of surety/bound.h, or "best", or NULL: surety_certify_default_bound */
    double delta;         /* in (0,1): 1 - confidence */
    uint64_t looks; /* how many certificates you might have issued after seeing S, this one included: every
                       model and every setting that could have been chosen by what was seen of S, counted
                       before S was seen. At least 1; 0 (not said) is refused */
    surety_statement statement;
    double promise;                       /* RADIUS: in (0,1) */
    surety_promise points[SURETY_POINTS]; /* CURVE: radii that grow; PROMISES: limits in (0,1) */
    size_t point_count;                   /* at least 1 of CURVE and PROMISES */
    /* For LIMIT and RADIUS: further assumptions. The limit that holds under them is stated too, as a
     * conditional (docs/theory.md 12.9, 12.10). Zero: none. */
    surety_label_noise noise; /* the labels of S may be wrong; ROWS: LIMIT only, by a bound that counts */
    double noise_share;       /* in (0,1) */
    surety_shift shift;       /* new inputs may follow another law */
    double shift_budget;      /* at least 0; RATIO: at least 1 */
    int despite_test;         /* 1: also if T refutes it, which the certificate then says */
    const char *model_file;   /* the model's file; its base name is kept so that verify finds it beside the
                                 certificate. NULL: no name */
} surety_certify_settings;

/* The model's own: its defense as threat (the worst case if that is "certified", pgdu if it is unknown), its
 * ball and delta, 100 samples; default bound; looks 0: whoever calls must say. */
SURETY_API surety_certify_settings surety_certify_defaults(const surety_model *model);

/* What "best" means, which is fixed before S is seen: the smallest of the bounds on these events (their
 * number is returned), delta split evenly among the events. They are the rows of surety/bound.h that say
 * `best`, on the averaged-max risk or the worst case, for a frozen Q if the model is a baseline (Q = P by
 * construction) and else for any. Other bounds on an event come free: average_max and average_max_tv with
 * average_max_seeger. */
SURETY_API size_t surety_certify_best_events(const surety_model *model, int worst_case,
                                             surety_bound_id events[SURETY_BOUNDS]);

/* The bound where none is named: that of the first of these events. It depends on the training's objective
 * only, never on S: vote_frozen_max for a baseline, else average_max_seeger. The same for every attack: where
 * an attack gives one perturbation, "on at least one of them" means that one. In the worst case:
 * worst_case_frozen for a baseline, else worst_case. */
SURETY_API const char *surety_certify_default_bound(const surety_model *model, int worst_case);

/* ---- what comes out ---- */

enum { SURETY_CLAIM = 4096, SURETY_CERTIFICATE_EVENTS = 256 };

/* One class of a certificate per class, or one group. */
typedef struct surety_class_limit {
    char label[128];    /* cut off if longer */
    uint64_t m, failed; /* examples of it in S, and those on which the vote failed */
    double value;       /* limit on the share of its new inputs on which the vote fails; 1 without examples */
} surety_class_limit;

/* One radius of a curve. */
typedef struct surety_curve_limit {
    double radius;
    uint64_t failed; /* examples of S on which the vote was not proved right at this radius */
    double value;    /* limit on the risk there; for radii between two points that of the larger one holds */
} surety_curve_limit;

/* One of the promises that were asked for, in order. */
typedef struct surety_promise_tested {
    double radius, limit;
    uint64_t failed; /* on S; absent behind the first that is not kept: these were not looked at */
    int kept;        /* 1: it is promised */
} surety_promise_tested;

/* A certificate: all that its file says. Names are as on the command line; a number that does not apply is
 * NaN or SURETY_ABSENT (null in the file), a text "". */
typedef struct surety_certificate {
    char claim[SURETY_CLAIM]; /* one English sentence; a second one for what is assumed beyond it */
    char statement[16];       /* surety_statement_name */
    char bound[40];           /* the bound that gives value */
    double value;             /* limit on the risk of the vote, factor 2 included where the bound has it; not
                                 clipped: 1 and more promise nothing. Of several limits: the largest; radius:
                                 the promised risk; promises: that of the last one kept */
    double surrogate;         /* limit on the surrogate, NaN where the bound speaks of the vote only */
    char risk[16];            /* "averaged_max": fails if wrong on some of n perturbations; "averaged": on one
                                 perturbation drawn at random; "worst_case": unless proved right on all */
    int vacuous;              /* value >= 1; per class: no class has a limit below 1 */
    double delta;             /* of the whole certificate */
    char choice[8];           /* "one": one bound, fixed before; "best": see surety_certify_best_events */

    struct {                      /* what the formula of the bound takes */
        uint64_t m, n;            /* examples of S, perturbations of each */
        uint64_t voter_count;     /* H */
        uint64_t priors_compared; /* T_p */
        uint64_t looks;
        double delta_share; /* of the event that the bound rests on */
        double kl;          /* KL(Q||P), rounded up */
        int frozen;         /* 1: Q was fixed before S: it has the bits of P, or S is fresh */
    } inputs;

    struct { /* on the perturbed S; see surety/risk.h */
        double averaged, averaged_max, rbar, abar, gmax, tv, tandem;
    } risks;

    size_t limit_count; /* 0 unless the statement is classes */
    surety_class_limit limits[SURETY_CLASSES_MOST];

    char group_column[256]; /* of the groups; "" unless they are the statement */
    size_t group_count;
    surety_class_limit groups[SURETY_GROUPS];

    double promise;        /* radius: the risk it is for; else NaN */
    double radius;         /* the largest one with that risk; attack.radius too. NaN: there is none */
    uint64_t below_radius; /* examples of S that are proved right only below it, or not at all */

    size_t curve_count, promise_count; /* 0 unless they are the statement */
    surety_curve_limit curve[SURETY_POINTS];
    surety_promise_tested promises[SURETY_POINTS];

    struct {                /* a conditional: if labels of S are wrong as `noise` says and new inputs */
        char noise[8];      /* follow another law as `shift` says, at most `value` fail; "": no such */
        double noise_share; /* NaN if noise is "" */
        char shift[8];
        double shift_budget;
        double value; /* at most 1; NaN: nothing more is assumed */
    } assumed;

    struct { /* the vote that always answers the largest class of S' */
        char label[128];
        uint64_t rows_prior, failed; /* its examples in S'; examples of S that are of another class */
    } majority;

    struct {                /* the same event counted on T (surety_risks_refute) */
        uint64_t m, failed; /* 0 if there is no T */
        double chance;      /* of so many failures, if value were true; 1 if there is no T */
        int refuted;        /* chance below SURETY_IMPOSSIBLE: despite_test was set */
    } test;

    struct {
        char name[16], norm[8];
        char radius_unit[24];       /* of radius (surety_radius_unit) */
        double radius;              /* with a tolerance: in its units; key "eps" in the file */
        double slack;               /* what the proof added for scaled features, see surety_ball */
        double box_lo, box_hi;      /* NaN: no box */
        uint64_t steps;             /* absent where the attack does not step */
        double step_size, noise;    /* NaN where it does not apply */
        uint64_t samples, restarts; /* absent where they do not apply */
        uint64_t budget; /* steps of a search, also of that in a worst case; absent where nothing searches */
        char against[8]; /* "prior": the vote that is attacked; fresh rows: "vote", that of Q; worst case:
                            "any" */
        uint64_t seed, epoch; /* the address of its random numbers */
    } attack;

    struct {             /* how far each feature may move, in the user's units */
        char sha256[65]; /* "": there is none, and no features below */
        size_t count;
        const char **features; /* names; one block of memory, the certificate's, as are the others */
        double *radius;        /* 0: it cannot change */
        double *lo, *hi;       /* NaN: the range has no such end */
    } tolerance;

    size_t event_count;
    surety_ledger_entry events[SURETY_CERTIFICATE_EVENTS]; /* the ledger */

    struct {
        char file[256]; /* base name */
        char sha256[65];
        char kind[16], voters[8], defense[32], objective[32];
        uint64_t seed;
    } model;

    struct {
        char task[64];                                            /* "" for own data */
        char sha256_prior[65], sha256_learn[65], sha256_test[65]; /* digests of the rows of S', S and T */
        size_t file_count;                                        /* 0: from memory */
        struct {
            char role[16];
            uint64_t bytes;
            char sha256[65];
        } files[4];
        size_t class_count;
        /* Texts of the labels by class number; one block of memory, the certificate's */
        const char **classes;
        char label_column[256], header[8]; /* as they were asked for: "", "auto" if not */
        double scale;
        uint64_t features, columns; /* that the columns of the table became */
        char scaling[16], missing[8];
        char preparation[65]; /* SHA-256 of the preparation of the columns, which is in the model; "": none */
        uint64_t learn_size, test_size;
        int shuffled;
        uint64_t seed; /* of the shuffle; absent in file order */
        char split[256];
        uint64_t rows_prior, rows_learn, rows_test;    /* |S'|, |S|, |T| */
        char unit[256];                                /* the column of units, which m counts; "": rows */
        uint64_t units_prior, units_learn, units_test; /* absent without units */
        int fresh;      /* 1: S was declared fresh, and none of its rows is in the model's S' or S */
        char copies[8]; /* what was to be done about them: "refuse", "keep" or "drop" */
    } data;

    surety_copies copies; /* rows that occur in two sets */

    struct {
        char version[32];
        char cpu_level[16]; /* "fma" (avx2 and avx512 give the same bits) or "generic" */
    } software;

    struct { /* the exact sums of surety/risk.h, losses in units of 2^-32 */
        uint64_t wrong, tied, max_wrong, max_tied, prior_wrong, prior_max_wrong;
        uint64_t abar_sum, tv_sum, tandem_sum, prior_coins;
        size_t voter_count; /* of the arrays below, owned by the certificate */
        uint64_t *loss, *max_loss, *errors, *anchored_loss, *anchored_max, *anchored_errors, *coins,
            *max_coins;
    } counts;
    char counts_sha256[65]; /* of counts in canonical form */

    char digest[65]; /* SHA-256 of everything above in canonical form */
} surety_certificate;

/* Draws the perturbations of S, counts the votes, computes the bound and fills a certificate. SURETY_E_CHECK,
 * and no certificate, when
 *   - the data are not those the model was trained on, nor declared fresh (surety_model_check_fresh),
 *   - the data are fresh and the bound is not on a frozen vote,
 *   - S and S' share a row, or many rows of equal contents and nobody said that they stay
 *     (surety_data_check_copies),
 *   - T refutes it (unless despite_test),
 *   - a look at S was not paid for (looks 0, an event that was not announced),
 *   - the bound is not available for this model (vote_frozen_max for a learned posterior), or
 *   - the bound asks for a part of S that was held out, or a worst case, which no sample can prove, or a
 *     sample where the worst case is certified.
 * A value of 1 or more is no failure: the certificate then says that it promises nothing. */
SURETY_API surety_status surety_certify(const surety_model *model, const surety_data *data,
                                        const surety_certify_settings *settings, surety_certificate *out,
                                        const surety_run *run, surety_error *err);
SURETY_API void surety_certificate_free(surety_certificate *certificate); /* all zero is fine */

/* The certificate as its file has it. NULL when there is no memory; release with surety_text_free. */
SURETY_API char *surety_certificate_json(const surety_certificate *certificate);

/* Safely: the file appears complete or not at all. */
SURETY_API surety_status surety_certificate_save(const surety_certificate *certificate, const char *path,
                                                 surety_error *err);

/* Reads a file. A key that is missing or unknown, a value of the wrong type or out of range: SURETY_E_INPUT
 * with the key. A digest that does not fit: SURETY_E_CHECK. Whether the claim is true is another question:
 * surety_verify. */
SURETY_API surety_status surety_certificate_load(const char *path, surety_certificate *out,
                                                 surety_error *err);

/* Sets what an export says of a certificate (surety/model.h); the texts stay the certificate's. */
SURETY_API void surety_certificate_export(const surety_certificate *certificate,
                                          surety_export_settings *settings);

/* ---- is it true? ---- */

typedef struct surety_verify_settings {
    const char *model; /* the model's file; NULL: the name in the certificate, beside the certificate */
    surety_data_settings data; /* only where the data are is read: data_dir, or train, test and what belongs
                                  to them. The split, classes and box are the model's */
    const surety_data *opened; /* data from memory, read instead of files; NULL: the files */
    int numbers; /* 1: the data are not at hand. The stated counts are believed, and all that follows from
                    them, the model and the settings is computed again: level numbers */
    int retrain; /* 1: also trains the model again from its recorded settings and compares the bytes */
    const char *exported; /* NULL, or an export of the model (surety_model_export): it must have the bytes
                           that are written now, and is compiled and asked again about rows of S */
    const char *compiler; /* of the export: words parted by spaces; NULL: "cc" */
    const char *emulator; /* what runs the compiled export, as words; NULL: this machine does */
} surety_verify_settings;

SURETY_API surety_verify_settings surety_verify_defaults(void);

/* A number or text that is not what comes out of the data. */
typedef struct surety_difference {
    char field[96];   /* "risks.gmax", "data.files[0].sha256" */
    char stated[128]; /* by the certificate, cut off if longer */
    char found[128];  /* by this verification */
} surety_difference;

enum { SURETY_DIFFERENCES = 64 };

/* What became of an export. */
typedef struct surety_exported {
    int checked;           /* 1: there was one */
    int names_certificate; /* 1: the certificate's digest stands in its head */
    int same_bytes;        /* 1: it is what surety_model_export writes */
    uint64_t vectors;      /* its test vectors */
    uint64_t rows;         /* of S on which, compiled, it has the model's bits */
} surety_exported;

typedef struct surety_verification {
    int agrees;        /* 1: the claim follows from the data, the model and the seed */
    char level[8];     /* "bits": every field is the same, bit for bit. "numbers": everything follows from the
                          stated counts, and the counts were compared with the tolerance below, because the
                          certificate was made on a CPU with FMA and this one has none, or were believed
                          (counted 0) */
    int counted;       /* 1: the counts were made again from the data */
    int rows_believed; /* 1: of votes, the certificate names a file of rows that was not given: how many of
                          them repeat is believed; level numbers */
    int retrained;     /* 1: the model was trained again, and has these bytes if all agrees */
    surety_exported exported;
    double tolerance;   /* level numbers, counted: share of the examples (or votes) that the certificate may
                           have counted too few of, see docs/certificates.md; else 0 */
    char reason[512];   /* why it does not agree, "" if it does */
    size_t differences; /* how many; the first SURETY_DIFFERENCES of them are in difference[] */
    surety_difference difference[SURETY_DIFFERENCES];
    char claim[SURETY_CLAIM]; /* of the certificate, as it was read; "" if it could not be */
    surety_copies copies;     /* as it says */
    /* Zero and NaN below where verifying ended before them. */
    surety_refutation test; /* what T says about the certificate's value */
    double value, found;    /* the certificate's value, and the one that came out */
} surety_verification;

/* Derives the certificate in path again from the data, the model file and the seed. SURETY_OK says that this
 * could be done: out->agrees is the answer, and 0 otherwise. What cannot be read at all is SURETY_E_INPUT. A
 * certificate that names no files was made from memory: any files that hold the same rows will do. */
SURETY_API surety_status surety_verify(const char *path, const surety_verify_settings *settings,
                                       surety_verification *out, const surety_run *run, surety_error *err);
SURETY_API char *surety_verification_json(const surety_verification *verification);

/* ---- votes of any classifier ---- */

/* What is promised about a vote that this library did not make. Its answers on S, or on n perturbations of
 * each example of S, are in a file; it was fixed before S was seen. */
typedef struct surety_votes_promise {
    /* Files alone: votes, labels and, if there are several voters, their weights (prior); classes,
     * signed_votes, delta, looks. Nothing is learned or held out. */
    surety_votes_settings votes;
    int per_class;    /* 1: a limit for each class, delta split evenly over them */
    const char *rows; /* a file with the rows of S, in any form: its SHA-256 is kept. In an NPY array (m, ..)
                         in C order, or a text of a line for each, rows that repeat are counted. NULL: none
                       */
    const char *threat; /* how perturbations were made, in at most 511 bytes; NULL: there are none, n is 1 */
    const char *of;     /* what the votes are of, in at most 127 bytes, or NULL */
} surety_votes_promise;

/* All that the file of such a certificate says. */
typedef struct surety_votes_certificate {
    char claim[SURETY_CLAIM]; /* one English sentence, and what nobody can see from the votes */
    char statement[16];       /* "limit" or "classes" */
    char bound[40];           /* vote_frozen_max */
    double value;             /* limit on the risk; per class the largest of them */
    int vacuous;              /* no limit is below 1 */
    double delta;
    struct {
        uint64_t m, n, voter_count, class_count;
        int signed_votes;
        uint64_t looks;
        double delta_share; /* of each limit */
    } inputs;
    struct { /* as in surety_risks */
        uint64_t wrong, tied, max_wrong, max_tied;
    } counts;
    double risk; /* share of S on which the vote failed */
    size_t limit_count;
    surety_class_limit limits[SURETY_CLASSES_MOST];
    char of[128], threat[512];
    struct { /* of the files, uncompressed; "": there is none */
        char votes[65], labels[65], weights[65], rows[65];
    } sha256;
    uint64_t repeats; /* rows of S that equal an earlier one, byte by byte; absent if the file of rows is not
                         there or does not show them */
    char version[32];
    char digest[65];
} surety_votes_certificate;

/* 1 if more than 1 % of the rows of S repeat an earlier one: too many for independent draws. The sentence
 * says so. */
SURETY_API int surety_votes_certificate_repeats(const surety_votes_certificate *certificate);

/* SURETY_E_CHECK: looks is 0. SURETY_E_USAGE: several votes on an example, and no threat in words. */
SURETY_API surety_status surety_certify_votes(const surety_votes_promise *settings,
                                              surety_votes_certificate *out, const surety_run *run,
                                              surety_error *err);
SURETY_API char *surety_votes_certificate_json(const surety_votes_certificate *certificate);
SURETY_API surety_status surety_votes_certificate_save(const surety_votes_certificate *certificate,
                                                       const char *path, surety_error *err);
/* A digest that does not fit is SURETY_E_CHECK. */
SURETY_API surety_status surety_votes_certificate_load(const char *path, surety_votes_certificate *out,
                                                       surety_error *err);

/* 1 if the file is such a certificate. */
SURETY_API int surety_votes_certificate_is(const char *path);

/* Derives it again from the files of votes, labels, weights and (unless NULL) rows; all other settings are
 * the certificate's. Without the rows that it names the level is "numbers". */
SURETY_API surety_status surety_verify_votes(const char *path, const surety_votes_promise *files,
                                             surety_verification *out, const surety_run *run,
                                             surety_error *err);

/* ---- any certificate ---- */

/* What every certificate says, of a model or of votes. */
typedef struct surety_certificate_head {
    int of_votes;     /* 1: of votes; which model gave them is not known */
    double value;     /* limit on the risk */
    char learn[65];   /* digest of S, by which its looks are logged. Of votes: SHA-256 of the file of rows, or
                         of labels where there is none */
    char answers[65]; /* SHA-256 of the model, or of the file of votes */
    char digest[65];
    int clean;      /* 1: a wrong answer on the input itself is one of the failures that are limited. 0: the
                       perturbations may miss it (random starts, noise, another vote), or nobody knows (votes) */
    int distinct;   /* 1: of equal rows one was kept: the limit speaks of distinct inputs */
    double assumed; /* the limit under a condition, which is another promise; NaN: there is none */
    char group_column[256];          /* by groups: the column; else "" */
    size_t group_count;              /* 0 unless by groups */
    size_t largest;                  /* the group whose limit is value */
    char groups[SURETY_GROUPS][128]; /* value is about inputs of these alone */
} surety_certificate_head;

/* Reads a certificate of either format, with the checks of its own reader. */
SURETY_API surety_status surety_certificate_head_load(const char *path, surety_certificate_head *out,
                                                      surety_error *err);

/* ---- does it still hold? ---- */

/* What a monitor that was started (surety/bound.h) has seen, from the file of its state; nothing if there is
 * no such file. digest: of the certificate whose value it watches. The state of another certificate, or for
 * another promise or alpha, is SURETY_E_INPUT, and the monitor is as it was. */
SURETY_API surety_status surety_monitor_load(const char *digest, const char *path, surety_monitor *monitor,
                                             surety_error *err);
/* Safely: the file is the old one or the new one. */
SURETY_API surety_status surety_monitor_save(const surety_monitor *monitor, const char *digest,
                                             const char *path, surety_error *err);

/* What it says, with what the watched promise is about. NULL when there is no memory; release with
 * surety_text_free. */
SURETY_API char *surety_monitor_json(const surety_monitor *monitor,
                                     const surety_certificate_head *certificate);

/* ---- the log of looks at S ---- */

/* What looked at S on this machine, kept for people: a text file in the user's state folder
 * ($XDG_STATE_HOME or ~/.local/state)/surety/looks, to which the command and the Python package append. No
 * other call of the library reads or writes it, and no number depends on it. */
typedef struct surety_look {
    char time[24];    /* 2026-01-31T23:59:59Z; "" when adding: now */
    char command[16]; /* "certify", "train"; all others count as evaluations */
    char learn[65];   /* digest of S: surety_data_info.set_sha256, or surety_certificate_head.learn */
    char model[65];   /* SHA-256 of the model, or of the votes */
    char what[200];   /* not empty: what was asked or came out, in words */
} surety_look;

/* The line for a certificate that was made: all but the time. */
SURETY_API surety_look surety_certificate_look(const surety_certificate *certificate);
SURETY_API surety_look surety_votes_certificate_look(const surety_votes_certificate *certificate);

/* Appends a line: safe beside other processes that do the same. */
SURETY_API surety_status surety_looks_add(const surety_look *look, surety_error *err);

typedef struct surety_looks {
    size_t count;
    surety_look *look; /* in the order of the file */
} surety_looks;

/* The log, or what it says of one S (learn, NULL: of all). No log is no error: count is 0. */
SURETY_API surety_status surety_looks_read(const char *learn, surety_looks *out, surety_error *err);
SURETY_API void surety_looks_free(surety_looks *looks); /* all zero is fine */

/* How often S was looked at. A certificate that was made again is counted once. */
typedef struct surety_look_count {
    uint64_t certificates, evaluations, trainings;
    uint64_t other_draws; /* certificates of another S that was drawn from the same file; of those in looks */
} surety_look_count;

SURETY_API surety_look_count surety_looks_count(const surety_looks *looks, const char *learn);

/* Whether look i is the first of its S. */
SURETY_API int surety_looks_begins(const surety_looks *looks, size_t i);

/* {"sets": [{sha256_learn, certificates, evaluations, trainings, events: [{time, command, model, what}]}]} */
SURETY_API char *surety_looks_json(const surety_looks *looks);

#ifdef __cplusplus
}
#endif
#endif
