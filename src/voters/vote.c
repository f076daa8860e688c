/* The weighted majority vote: margins, answers, whole arrays. */
#include <string.h>

#include "base/parallel.h"
#include "voters/forest_kernel.h"
#include "voters/kind.h"

enum { L = SURETY_LANES };

static const surety_forest_kernels *kernels(void) {
    return surety_forest_kernels_at(surety_cpu());
}

/* ---- margins ---- */

/* The smallest of sums (K, lanes), without that of y; one that is not a number wins for good. */
static void smallest(const double *sums, size_t K, const uint8_t *y, double *margin, uint8_t *rival) {
    for (size_t r = 0; r < L; r++) {
        size_t best = y[r] == 0;
        for (size_t k = best + 1; k < K; k++) {
            double m = sums[k * L + r], least = sums[best * L + r];
            if (k != y[r] && (m < least || (m != m && least == least))) best = k;
        }
        double m = sums[best * L + r];
        margin[r] = m > 1 ? 1 : m < -1 ? -1 : m;
        if (rival) rival[r] = (uint8_t)best;
    }
}

static void margin_two(const surety_vote *vote, const float *h, const uint8_t *y, double *margin,
                       double *real, uint8_t *rival) {
    kernels()->vote(h, vote->weights, vote->voters->H, vote->voter_set, margin, real);
    for (size_t r = 0; r < L; r++) {
        margin[r] *= surety_sign(y[r]);
        if (real) real[r] *= surety_sign(y[r]);
        if (rival) rival[r] = !y[r];
    }
}

void surety_margin_lanes(const surety_vote *vote, const float *h, const uint8_t *y, double *margin,
                         double *real, uint8_t *rival) {
    const surety_voters *v = vote->voters;
    double sums[SURETY_CLASSES_MOST * L];
    if (v->width == 1) {
        margin_two(vote, h, y, margin, real, rival);
        return;
    }
    kernels()->margins(h, vote->weights, v->H, v->classes, SURETY_REAL, y, sums);
    smallest(sums, v->classes, y, margin, rival);
    if (real) memcpy(real, margin, L * sizeof *real);
    if (vote->voter_set == SURETY_REAL) return;
    kernels()->margins(h, vote->weights, v->H, v->classes, SURETY_SIGNED, y, sums);
    smallest(sums, v->classes, y, margin, NULL);
}

void surety_margin_each(const surety_vote *vote, const float *h, const uint8_t *y, double *sums) {
    const surety_voters *v = vote->voters;
    surety_vote real = {v, vote->weights, SURETY_REAL};
    if (v->width == 1)
        margin_two(&real, h, y, sums, NULL, NULL);
    else
        kernels()->margins(h, vote->weights, v->H, v->classes, SURETY_REAL, y, sums);
}

void surety_margin_limits(const surety_vote *vote, const float *low, double *margin) {
    size_t others = vote->voters->classes - 1;
    double sums[SURETY_CLASSES_MOST * L] = {0};
    for (size_t t = 0; t < vote->voters->H; t++)
        for (size_t n = 0; n < others * L; n++) sums[n] += vote->weights[t] * (double)low[t * others * L + n];
    for (size_t r = 0; r < L; r++) margin[r] = sums[r];
    for (size_t n = L; n < others * L; n++)
        if (sums[n] < margin[n % L]) margin[n % L] = sums[n];
}

/* ---- answers ---- */

/* classes[r] = y[r] where all margins of that class are above 0. */
static void try_class(const surety_vote *vote, const float *h, const uint8_t *y, uint8_t *classes) {
    double margin[L];
    surety_margin_lanes(vote, h, y, margin, NULL, NULL);
    for (size_t r = 0; r < L; r++)
        if (margin[r] > 0) classes[r] = y[r];
}

/* The class that a glance at the scores suggests is nearly always the one; else each is tried. */
static void answer(const surety_vote *vote, const float *h, const double *votes, size_t rows,
                   uint8_t *classes) {
    size_t K = vote->voters->classes, width = vote->voters->width, open = 0;
    uint8_t y[L] = {0};
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 1; k < width; k++)
            if (votes[r * width + k] > votes[r * width + y[r]]) y[r] = (uint8_t)k;
        if (width == 1) y[r] = votes[r] > 0;
    }
    memset(classes, SURETY_TIED, L);
    try_class(vote, h, y, classes);
    for (size_t r = 0; r < rows; r++) open += classes[r] == SURETY_TIED;
    for (size_t k = 0; open && k < K; k++) {
        memset(y, (int)k, sizeof y);
        try_class(vote, h, y, classes);
    }
}

/* ---- whole arrays ---- */

typedef struct asking {
    const surety_voters *v;
    const surety_vote *vote; /* or NULL: outputs are wanted */
    const float *x;
    size_t stride, m, row_floats, thread_floats;
    float *memory; /* per thread: rows | h | scratch */
    float *outputs;
    double *votes;
    uint8_t *classes;
    double *scores; /* or NULL: raw scores are not wanted */
    size_t columns;
} asking;

/* The scores s (K) of a voter as the signed set has them; what is not a number stays so. */
static void label_scores(float *s, size_t K) {
    uint8_t top = surety_label_of(s, 1, K);
    float nothing = 0;
    for (size_t k = 0; k < K; k++) nothing += 0 * s[k];
    for (size_t k = 0; k < K; k++) s[k] = nothing + (top == SURETY_TIED ? 1 / (float)K : (float)(k == top));
}

uint8_t surety_label_of(const float *scores, size_t ld, size_t K) {
    size_t best = 0, ties = scores[0] != scores[0];
    for (size_t k = 1; k < K; k++) {
        if (scores[k * ld] != scores[k * ld]) return SURETY_TIED;
        if (scores[k * ld] == scores[best * ld]) ties++;
        if (scores[k * ld] > scores[best * ld]) best = k, ties = 0;
    }
    return (uint8_t)(ties ? SURETY_TIED : best);
}

/* votes (rows, width). */
static void sum_votes(const surety_vote *vote, const float *h, size_t rows, double *votes) {
    size_t H = vote->voters->H, width = vote->voters->width;
    double lanes[L];
    if (width == 1) {
        kernels()->vote(h, vote->weights, H, vote->voter_set, lanes, NULL);
        memcpy(votes, lanes, rows * sizeof *votes);
        return;
    }
    memset(votes, 0, rows * width * sizeof *votes);
    for (size_t t = 0; t < H; t++)
        for (size_t r = 0; r < rows; r++) {
            float s[SURETY_CLASSES_MOST];
            for (size_t k = 0; k < width; k++) s[k] = h[(t * width + k) * L + r];
            if (vote->voter_set == SURETY_SIGNED) label_scores(s, width);
            for (size_t k = 0; k < width; k++) votes[r * width + k] += vote->weights[t] * (double)s[k];
        }
    for (size_t n = 0; n < rows * width; n++) votes[n] = votes[n] > 1 ? 1 : votes[n];
}

void surety_vote_answers(const surety_vote *vote, const float *h, size_t rows, uint8_t *classes) {
    double votes[SURETY_LANES * SURETY_CLASSES_MOST];
    sum_votes(vote, h, rows, votes);
    answer(vote, h, votes, rows, classes);
}

static surety_status ask_block(void *arg, size_t block, int thread, surety_error *err) {
    const asking *a = arg;
    (void)err;
    size_t first = block * SURETY_BLOCK, rows = a->m - first < SURETY_BLOCK ? a->m - first : SURETY_BLOCK;
    size_t width = a->v->width, each = a->v->H * width;
    float *copy = a->memory + (size_t)thread * a->thread_floats, *h = copy + SURETY_BLOCK * a->row_floats;
    const float *x[SURETY_BLOCK] = {NULL};
    for (size_t r = 0; r < rows; r++) { /* the caller's rows need not be aligned or padded */
        for (size_t j = 0; j < a->v->d; j++) copy[r * a->row_floats + j] = a->x[(first + r) * a->stride + j];
        x[r] = copy + r * a->row_floats;
    }
    if (a->scores) {
        a->v->kind->scores(a->v, x, rows, a->scores + first * a->columns, h + each * L);
        return SURETY_OK;
    }
    a->v->kind->forward(a->v, x, rows, h, h + each * L);
    for (size_t r = 0; a->outputs && r < rows; r++)
        for (size_t n = 0; n < each; n++) a->outputs[(first + r) * each + n] = h[n * L + r];
    if (!a->vote) return SURETY_OK;
    double votes[SURETY_BLOCK * SURETY_CLASSES_MOST];
    uint8_t classes[L];
    sum_votes(a->vote, h, rows, votes);
    if (a->votes) memcpy(a->votes + first * width, votes, rows * width * sizeof *votes);
    if (!a->classes) return SURETY_OK;
    answer(a->vote, h, votes, rows, classes);
    memcpy(a->classes + first, classes, rows);
    return SURETY_OK;
}

static surety_status ask(asking *a, const surety_run *run, surety_error *err) {
    a->row_floats = surety_padded(a->v->d);
    a->thread_floats =
        surety_padded(SURETY_BLOCK * a->row_floats + a->v->H * a->v->width * L + a->v->kind->scratch(a->v));
    SURETY_TRY(surety_alloc(&a->memory, (size_t)surety_threads(run) * a->thread_floats, sizeof(float), err));
    surety_status status =
        surety_parallel(run, NULL, (a->m + SURETY_BLOCK - 1) / SURETY_BLOCK, ask_block, a, err);
    surety_free(a->memory);
    return status;
}

surety_status surety_voters_outputs(const surety_voters *v, const float *x, size_t stride, size_t m,
                                    float *outputs, const surety_run *run, surety_error *err) {
    return ask(&(asking){.v = v, .x = x, .stride = stride, .m = m, .outputs = outputs}, run, err);
}

surety_status surety_voters_score(const surety_voters *v, const float *x, size_t stride, size_t m,
                                  double *scores, const surety_run *run, surety_error *err) {
    asking a = {.v = v, .x = x, .stride = stride, .m = m, .scores = scores};
    surety_element type;
    a.columns = surety_voters_columns(v, &type);
    return ask(&a, run, err);
}

surety_status surety_vote_ask(const surety_vote *vote, const float *x, size_t stride, size_t m,
                              surety_asked out, const surety_run *run, surety_error *err) {
    asking a = {.v = vote->voters,
                .vote = vote,
                .x = x,
                .stride = stride,
                .m = m,
                .votes = out.votes,
                .classes = out.classes};
    return ask(&a, run, err);
}

surety_status surety_vote_predict(const surety_vote *vote, const float *x, size_t stride, size_t m,
                                  double *votes, const surety_run *run, surety_error *err) {
    return surety_vote_ask(vote, x, stride, m, (surety_asked){.votes = votes}, run, err);
}

surety_status surety_vote_classes(const surety_vote *vote, const float *x, size_t stride, size_t m,
                                  uint8_t *classes, const surety_run *run, surety_error *err) {
    return surety_vote_ask(vote, x, stride, m, (surety_asked){.classes = classes}, run, err);
}
