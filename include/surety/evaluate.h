/* surety/evaluate.h - how well a model withstands attacks: rows of the paper's tables, examples one by one,
 * curves.
 *
 * A row (docs/theory.md 4.1) has risks of the posterior's vote on T, risks and all bounds on S, and R_att:
 * the posterior's own vote attacked on T, without noise. The perturbed sets S and T are drawn by attacking
 * the vote of the *prior*, n perturbations per example, so that their distribution is fixed before S is used.
 *
 * Or the worst case (docs/theory.md 8): no attack and no sample, but limits over every point of the ball. */
#ifndef SURETY_EVALUATE_H
#define SURETY_EVALUATE_H

#include "surety/attack.h"
#include "surety/bound.h"
#include "surety/model.h"
#include "surety/risk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- attacks on whole sets ---- */

/* What an attack on a whole set came to. */
typedef struct surety_attack_result {
    size_t m, n;
    uint64_t fooled;       /* of the m n perturbations: the attacked vote is wrong (ties are wrong) */
    uint64_t tied;         /* of these: the vote is exactly 0 */
    uint64_t units;        /* of the set; without units, its rows */
    uint64_t units_fooled; /* those with a fooled row */
    double norm_max;       /* largest distance from the original, measured in double */
    double norm_mean;
    /* The attack without which fewer would be fooled: itself or, of apgd, the last of its parts (ifgsm, pgd,
     * apgd) that fooled a further example; none: no example was. */
    surety_threat_kind found_by;
    uint64_t class_fooled[SURETY_CLASSES_MOST]; /* fooled, by class of the example */
} surety_attack_result;

/* Called for every perturbed row in order: example i, perturbation j, its d features. Non-zero status ends
 * the call. */
typedef surety_status (*surety_perturbed_fn)(void *arg, size_t i, size_t j, const float *x,
                                             surety_error *err);
typedef struct surety_perturbed_sink {
    surety_perturbed_fn fn;
    void *arg;
} surety_perturbed_sink;

/* Attacks every example of a set under a vote. sink NULL: only the result is wanted. Data outside the box is
 * SURETY_E_INPUT with the row. */
SURETY_API surety_status surety_attack_set(const surety_threat *threat, const surety_vote *vote,
                                           const surety_set *set, const surety_perturbed_sink *sink,
                                           surety_attack_result *result, const surety_run *run,
                                           surety_error *err);

/* The files of an attack. */
typedef struct surety_attack_files {
    const char *points; /* the perturbed points, NPY float32 (m, d), or (m, n, d) for the u-attacks */
    const char *labels; /* theirs, NPY int8 (m) of -1 and +1, or uint8 of class numbers; NULL: not wanted */
    /* Where it is given, points are in the user's units (surety_preparation_undo), else as the vote sees
     * them. */
    const surety_preparation *preparation;
} surety_attack_files;

/* surety_attack_set with its points written to files. They are streamed, free space is checked before the
 * first is made, and both files appear only when all is done. */
SURETY_API surety_status surety_attack_write(const surety_threat *threat, const surety_vote *vote,
                                             const surety_set *set, const surety_attack_files *files,
                                             surety_attack_result *result, const surety_run *run,
                                             surety_error *err);

/* The result as JSON; release with surety_text_free. */
SURETY_API char *surety_attack_result_json(const surety_attack_result *result);

/* ---- the clean vote ---- */

/* What a vote answers on a set as it is, without perturbation. */
typedef struct surety_clean {
    size_t m, classes; /* examples, K */
    uint64_t *answers; /* (K, K + 1): examples by class and by answer; the last column: tied */
    double error;      /* share of the answers that is wrong or tied */
    size_t largest; /* the most frequent class of S' (without S': of the rows asked), the first of several */
    double majority_error; /* the error of always answering it. A vote with no smaller one learned nothing */
} surety_clean;

/* info: of the data whose S' trained the vote. */
SURETY_API surety_status surety_evaluate_clean(const surety_vote *vote, const surety_set *set,
                                               const surety_data_info *info, surety_clean *out,
                                               const surety_run *run, surety_error *err);
SURETY_API void surety_clean_free(surety_clean *clean);

/* 1 if the vote gave all of the examples, two or more, one answer. */
SURETY_API int surety_clean_constant(const surety_clean *clean);

/* ---- rows of a table ---- */

typedef struct surety_row_settings {
    surety_threat threat;     /* its epoch is set here */
    double delta;             /* in (0,1): of each event on its own */
    uint64_t priors_compared; /* T_p, at least 1 */
    uint64_t looks;           /* at least 1, as in surety_bound_input */
} surety_row_settings;

/* The model's own: its ball, box and seed in an otherwise default attack; its delta and T_p; one look. */
SURETY_API surety_row_settings surety_row_defaults(const surety_model *model);

/* Whose rows are evaluated. A bound needs an S that trained no voter, so only OWN and FRESH give bounds. */
typedef enum surety_origin {
    SURETY_ORIGIN_OWN,   /* "own": S' and S are the model's; or the model remembers no data */
    SURETY_ORIGIN_FRESH, /* "fresh": S was declared fresh, and none of its rows trained the model. The vote of
                            Q is fixed before these rows: it is attacked itself, T_p is 1, and the bounds are
                            those on a frozen vote */
    SURETY_ORIGIN_OTHER  /* "other": neither */
} surety_origin;

SURETY_API const char *surety_origin_name(surety_origin origin);

/* In the row of a worst case, test and learn hold the worst votes (n = 1), so that averaged_max of each is
 * the share of examples whose vote is not proved right; the other risks of the row are NaN, and the bounds
 * are worst_case and its kin. */
typedef struct surety_row {
    surety_threat_kind threat;
    double adversarial_risk; /* R_att on T: the most that the strongest attack found; of the row none, clean
                                errors */
    surety_threat_kind found_by;        /* as in surety_attack_result */
    double averaged_risk, averaged_max; /* R and A on the perturbed T */
    surety_risks test, learn;           /* on the perturbed T and S */
    surety_bound_input input; /* all that went into the bounds; arrays are borrowed from learn and model */
    surety_bound_value bounds[SURETY_BOUNDS];
    double norm_max;         /* largest distance of R_att's points */
    surety_copies copies;    /* of the data */
    surety_origin origin;    /* OTHER: learn is empty, no bound is available */
    surety_overlap overlap;  /* of T with the rows that trained the model */
    const char *radius_unit; /* what a radius is in (surety_radius_unit) */
    int units; /* 1: risks count units of several rows (averaged_risk is NaN), by class they count rows */
    /* By class: examples of T that count in R_att; of a worst case those not proved right. Of how many:
     * test.class_examples. */
    uint64_t class_failed[SURETY_CLASSES_MOST];
} surety_row;

/* Tells whose rows these are; and how many rows of T are rows of the model's S' and S. SURETY_E_CHECK if the
 * rows that trained the model are split another way (all training rows of one class are the same), if rows
 * declared fresh are not, if more than half of T trained the model, or if an older model remembers too little
 * to tell.
 */
SURETY_API surety_status surety_evaluate_origin(const surety_model *model, const surety_data *data,
                                                surety_origin *origin, surety_overlap *test,
                                                surety_error *err);

/* One row; first it asks whose rows these are (surety_evaluate_origin). Fresh rows without a T are their own
 * T. */
SURETY_API surety_status surety_evaluate_row(const surety_model *model, const surety_data *data,
                                             const surety_row_settings *settings, surety_row *row,
                                             const surety_run *run, surety_error *err);
SURETY_API void surety_row_free(surety_row *row);

/* The bound of the row that T contradicts most, or -1: none (surety_risks_refute, of which *worst, unless
 * NULL, is filled). */
SURETY_API int surety_row_refuted(const surety_row *row, surety_refutation *worst);

/* surety_evaluate_row for count models, at most SURETY_ROWS_MOST, that differ in nothing but their posterior:
 * the attack on the prior, which takes most of the time, serves them all. Other models are SURETY_E_USAGE. */
enum { SURETY_ROWS_MOST = 8 };
SURETY_API surety_status surety_evaluate_rows(const surety_model *const *models, size_t count,
                                              const surety_data *data, const surety_row_settings *settings,
                                              surety_row *rows, const surety_run *run, surety_error *err);

/* R_att alone: the posterior's own vote on a set under the strongest attack, apgd (or search) with the steps,
 * restarts and ball of this one (the row none: no attack; voters without gradients: this one without its
 * noise). */
SURETY_API surety_status surety_evaluate_attacked(const surety_model *model, const surety_set *set,
                                                  const surety_threat *attack, surety_attack_result *result,
                                                  const surety_run *run, surety_error *err);

/* {"attacks": [row, ..]} for count rows: attack, adversarial_risk, averaged_risk, averaged_max_risk, kl,
 * class_risks[{class, examples, failed, risk}], risks{} on S, bounds{NAME: {surrogate, vote, vote_clipped}}.
 * A worst case has not_proved, the share of T whose vote is not proved right, instead of the three risks
 * (null), and in risks{} not_proved, prior_not_proved and gibbs on S. Beside them, of the clean vote on T:
 * classes[] (K), clean_error, majority_error, confusion[K][K + 1]; refuted{bound,
 * limit, m, failed, chance} of a row if T contradicts a bound, else null; best{bound, vote, risk} of a row:
 * its smallest bound on the averaged-max risk or in the worst case, to be quoted only if it was chosen
 * before. rows: whose they are (surety_origin), test_rows{m, in_prior, in_learn}: of T those that trained the
 * model, copies{}: surety_copies. names (K): surety_class_names. */
SURETY_API char *surety_rows_json(const surety_row *rows, size_t count, const surety_clean *clean,
                                  const char *const *names);

/* Risks of Q's vote on a set that is attacked under the vote of P: the perturbed set of a row, n
 * perturbations each, of which none is kept. Its random numbers are those of epoch 0. */
SURETY_API surety_status surety_evaluate_perturbed(const surety_model *model, const surety_set *set,
                                                   const surety_threat *attack, surety_risks *risks,
                                                   const surety_run *run, surety_error *err);

/* The worst votes of a set over the ball (docs/theory.md 8.2), counted under Q and P: n = 1, "wrong" is "not
 * proved right". And what bounds need of them: m, H, Q, KL, frozen and the evidence worst_case. */
SURETY_API surety_status surety_evaluate_worst(const surety_model *model, const surety_set *set,
                                               const surety_ball *ball, surety_risks *risks,
                                               const surety_run *run, surety_error *err);
SURETY_API surety_status surety_worst_input(const surety_risks *risks, const surety_model *model,
                                            surety_bound_input *input, surety_error *err);

/* One line per example of a set:
 *     index, row, label
 *     clean vote
 *     vote at the attacked point (the posterior's own vote attacked), norm of that perturbation
 *     share of the n perturbations (drawn under the prior) on which the vote is wrong
 *     certified_radius: the largest radius found (by bisection) for which the vote is proved right
 *     verdict: robust (proved right in the whole ball), vulnerable (a point of the ball was found where it is
 *         wrong) or open (neither); both at once would be SURETY_E_CHECK
 * Written safely.
 *
 * Of two classes the label is -1 or +1. Of more it is that of labels (K), NULL: class numbers; behind it
 * comes answer, the clean vote's ("tied" where there is none), and margins stand for votes. */
SURETY_API surety_status surety_evaluate_examples(const surety_model *model, const surety_set *set,
                                                  const char *const *labels, const surety_threat *attack,
                                                  const char *path, const surety_run *run, surety_error *err);

/* Risk against radius: R_att on T for every radius first, first + step, .. up to last, one column per attack;
 * for the worst case the share of T whose vote is not proved right. The true risk lies between them. Written
 * safely as CSV. */
typedef struct surety_curve_settings {
    surety_threat threat;            /* all but kind and radius */
    const surety_threat_kind *kinds; /* a column each */
    size_t kind_count;
    double first, last, step; /* 0 <= first <= last, step > 0, at most 10000 radii */
} surety_curve_settings;

SURETY_API surety_status surety_evaluate_curve(const surety_model *model, const surety_set *set,
                                               const surety_curve_settings *settings, const char *path,
                                               const surety_run *run, surety_error *err);

/* ---- parts of one call, made by processes that never meet ---- */

/* Part k of N makes its share of a call (evaluate, certify, curve) and keeps its counts in a file; when all
 * parts are there, the same call with the counts of all gives, byte for byte, what one process would have
 * given. Both sides run the whole call with surety_run.everyone = surety_part_everyone(part). */
typedef struct surety_part surety_part;

enum { SURETY_PARTS_MOST = 10000 };

/* For part k, 1 <= k <= of. The call then ends with SURETY_E_PART, or with a result that means nothing. */
SURETY_API surety_status surety_part_begin(size_t k, size_t of, surety_part **out, surety_error *err);

/* The counts of a part that was begun, as a file, with the words of the command that made them. about:
 * whatever the parts must have in common (digests of the model and the data). */
SURETY_API surety_status surety_part_save(const surety_part *part, const char *path, const char *const *words,
                                          size_t word_count, const char *about, surety_error *err);

/* The counts of all parts. SURETY_E_CHECK with the file's name if one is missing, there twice, of another
 * command or other inputs, or changed. */
SURETY_API surety_status surety_parts_load(const char *const *paths, size_t count, surety_part **out,
                                           surety_error *err);

/* Of parts that were loaded: the words of their command, which are whoever's made the files, *count of them;
 * and SURETY_E_CHECK unless they are about the same. */
SURETY_API const char *const *surety_part_words(const surety_part *part, size_t *count);
SURETY_API surety_status surety_part_check(const surety_part *part, const char *about, surety_error *err);

SURETY_API const surety_everyone *surety_part_everyone(const surety_part *part);
SURETY_API void surety_part_free(surety_part *part); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
