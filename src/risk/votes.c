/* From votes to guarantees (docs/votes.md): streams the votes of a source through one accumulator per thread,
 * learns Q if asked to, and computes every bound.
 *
 * A learned Q needs two passes: the losses of the voters do not depend on Q and come from the first, the
 * risks of the vote of Q from the second. Examples at the end that are held out take part in neither; they
 * only see the final Q.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "risk/json.h"
#include "risk/labels.h"
#include "risk/simplex.h"
#include "risk/source.h"

/* One pass over examples first .. first+count-1. */
typedef struct pass {
    const surety_vote_source *votes;
    size_t first, count;
    const char *phase; /* for progress */
    int threads;
    surety_risk **parts; /* one accumulator per thread */
    double **rows;       /* scratch per thread */
} pass;

surety_votes_settings surety_votes_defaults(void) {
    return (surety_votes_settings){
        .objective = SURETY_BOUND_AVERAGE_MAX_SEEGER, .delta = 0.05, .priors_compared = 1, .looks = 1};
}

/* ---- reading and checking ---- */

static surety_status read_weights(const char *path, double *weights, size_t H, surety_error *err) {
    surety_npy a = {0};
    SURETY_TRY(surety_npy_open(&a, path, err));
    char expected[64];
    snprintf(expected, sizeof expected, "one weight per voter: (%zu)", H);
    surety_status status = SURETY_OK;
    if (a.ndim != 1 || a.shape[0] != H)
        status = surety_npy_shape_error(&a, path, expected, err);
    else
        surety_npy_doubles(&a, 0, H, weights);
    surety_npy_close(&a);
    return status;
}

static surety_status settings_fit(const surety_votes_settings *set, surety_error *err) {
    int binary = set->vote_array != NULL, many = (set->class_votes != NULL) + (set->score_array != NULL);
    int files = set->votes || set->labels || set->prior || set->posterior;
    int arrays =
        binary || many || set->label_array || set->class_labels || set->prior_array || set->posterior_array;
    int labels_fit = !set->label_array == !binary && !set->class_labels == !many;
    if (files == arrays || (files && (!set->votes || !set->labels)) ||
        (arrays && (binary + many != 1 || !labels_fit)))
        return surety_fail(err, SURETY_E_USAGE,
                           "votes and labels are needed, both as files or both as arrays");
    if (set->learn && (set->posterior || set->posterior_array))
        return surety_fail(err, SURETY_E_USAGE, "a posterior is either given or learned, not both");
    if (set->delta > 0 && set->delta < 1) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "delta is %g", set->delta);
    surety_fail_expected(err, "a number above 0 and below 1");
    return SURETY_E_INPUT;
}

static surety_status take_prior(const surety_votes_settings *set, double *p, size_t H, surety_error *err) {
    if (set->prior) SURETY_TRY(read_weights(set->prior, p, H, err));
    if (set->prior_array) memcpy(p, set->prior_array, H * sizeof *p);
    for (size_t h = 0; h < H && !set->prior && !set->prior_array; h++) p[h] = 1 / (double)H;
    surety_status status = surety_distribution_validate(p, H, "prior", err);
    for (size_t h = 0; h < H && status == SURETY_OK; h++) {
        if (p[h] > 0) continue;
        status = surety_fail(err, SURETY_E_INPUT, "the prior gives voter %zu no weight", h);
        surety_fail_place(err, "index [%zu]", h);
        surety_fail_expected(err, "a prior above 0 everywhere: KL(Q||P) is infinite elsewhere");
    }
    if (status != SURETY_OK && set->prior) surety_fail_file(err, set->prior);
    return status;
}

static surety_status take_posterior(const surety_votes_settings *set, const double *p, double *q, size_t H,
                                    surety_error *err) {
    memcpy(q, p, H * sizeof *q);
    if (set->posterior) SURETY_TRY(read_weights(set->posterior, q, H, err));
    if (set->posterior_array) memcpy(q, set->posterior_array, H * sizeof *q);
    surety_status status = surety_distribution_validate(q, H, "posterior", err);
    if (status != SURETY_OK && set->posterior) surety_fail_file(err, set->posterior);
    return status;
}

/* ---- passes over the votes ---- */

static surety_status add_block(void *arg, size_t block, int thread, surety_error *err) {
    const pass *work = arg;
    size_t begin = work->first + block * SURETY_BLOCK, end = work->first + work->count;
    for (size_t i = begin; i < end && i < begin + SURETY_BLOCK; i++)
        SURETY_TRY(surety_vote_source_add(work->votes, i, work->rows[thread], work->parts[thread], err));
    return SURETY_OK;
}

static void close_pass(pass *work) {
    for (int t = 0; t < work->threads; t++) {
        if (work->parts) surety_risk_free(work->parts[t]);
        if (work->rows) surety_free(work->rows[t]);
    }
    surety_free(work->parts);
    surety_free(work->rows);
}

static surety_status open_pass(pass *work, const surety_risk_settings *settings, surety_error *err) {
    SURETY_TRY(surety_alloc(&work->parts, (size_t)work->threads, sizeof *work->parts, err));
    SURETY_TRY(surety_alloc(&work->rows, (size_t)work->threads, sizeof *work->rows, err));
    for (int t = 0; t < work->threads; t++) {
        SURETY_TRY(surety_risk_new(settings, &work->parts[t], err));
        SURETY_TRY(
            surety_alloc(&work->rows[t], surety_vote_source_scratch(work->votes), sizeof(double), err));
    }
    return SURETY_OK;
}

/* The risks of the vote of the settings on the examples of a pass. */
static surety_status measure(pass work, const surety_risk_settings *settings, surety_risks *out,
                             const surety_run *run, surety_error *err) {
    size_t blocks = (work.count + SURETY_BLOCK - 1) / SURETY_BLOCK;
    work.threads = surety_threads(run);
    if ((size_t)work.threads > blocks) work.threads = (int)blocks;
    surety_status status = open_pass(&work, settings, err);
    if (status == SURETY_OK) status = surety_parallel(run, work.phase, blocks, add_block, &work, err);
    for (int t = 1; t < work.threads && status == SURETY_OK; t++)
        status = surety_risk_merge(work.parts[0], work.parts[t], err);
    if (status == SURETY_OK) status = surety_risk_result(work.parts[0], out, err);
    close_pass(&work);
    return status;
}

/* ---- the whole ---- */

static surety_status hold_out(const surety_vote_source *s, size_t m, const surety_risk_settings *settings,
                              const surety_run *run, surety_bound_input *input, surety_error *err) {
    surety_risks risks;
    pass held = {.votes = s, .first = m, .count = s->m - m, .phase = "held-out votes"};
    SURETY_TRY(measure(held, settings, &risks, run, err));
    input->averaged_max.held_out_m = risks.m;
    input->averaged_max.held_out_wrong = risks.max_wrong + risks.max_tied;
    surety_risks_free(&risks);
    return SURETY_OK;
}

static surety_status bound_source(const surety_vote_source *s, const surety_votes_settings *set,
                                  const surety_run *run, surety_votes_result *out, surety_error *err) {
    if (set->hold_out >= s->m)
        return surety_fail(err, SURETY_E_INPUT, "%llu of %zu examples held out leave none",
                           (unsigned long long)set->hold_out, s->m);
    size_t m = s->m - (size_t)set->hold_out;
    surety_bound_input *in = &out->input;
    *in = surety_bound_input_defaults();
    in->delta = set->delta, in->priors_compared = set->priors_compared, in->looks = set->looks;
    SURETY_TRY(surety_alloc(&out->prior, s->H, sizeof *out->prior, err));
    SURETY_TRY(surety_alloc(&out->posterior, s->H, sizeof *out->posterior, err));
    SURETY_TRY(take_prior(set, out->prior, s->H, err));
    SURETY_TRY(take_posterior(set, out->prior, out->posterior, s->H, err));
    surety_risk_settings settings = {.voter_count = s->H,
                                     .samples = s->n,
                                     .signed_votes = set->signed_votes || s->whole,
                                     .posterior = out->posterior,
                                     .prior = out->prior,
                                     .classes = s->K};
    pass all = {.votes = s, .count = m, .phase = "votes"};
    SURETY_TRY(measure(all, &settings, &out->risks, run, err));
    if (set->learn) {
        SURETY_TRY(surety_posterior_learn(&out->risks, out->prior, set->objective, in, out->posterior,
                                          &out->learning, err));
        out->learned = 1;
        surety_risks_free(&out->risks);
        all.phase = "votes of the learned posterior";
        SURETY_TRY(measure(all, &settings, &out->risks, run, err));
    }
    SURETY_TRY(surety_risks_input(&out->risks, out->posterior, out->prior, in, err));
    if (set->hold_out) SURETY_TRY(hold_out(s, m, &settings, run, in, err));
    return surety_risks_bounds(in, out->bounds, err);
}

surety_status surety_bound_votes(const surety_votes_settings *settings, surety_votes_result *out,
                                 const surety_run *run, surety_error *err) {
    *out = (surety_votes_result){0};
    SURETY_TRY(settings_fit(settings, err));
    surety_vote_source s;
    surety_status status = surety_vote_source_open(&s, settings, err);
    if (status == SURETY_OK) status = bound_source(&s, settings, run, out, err);
    out->class_names = s.names, s.names = NULL;
    out->flat = s.flat;
    surety_vote_source_close(&s);
    if (status != SURETY_OK) surety_votes_result_free(out);
    return status;
}

void surety_votes_result_free(surety_votes_result *result) {
    if (!result) return;
    surety_risks_free(&result->risks);
    surety_free(result->prior);
    surety_free(result->posterior);
    surety_free(result->class_names);
    *result = (surety_votes_result){0};
}

/* ---- JSON ---- */

static json_t *weights_array(const double *weights, size_t H) {
    json_t *array = json_array();
    for (size_t h = 0; h < H && array; h++) {
        if (json_array_append_new(array, surety_json_real(weights[h])) == 0) continue;
        json_decref(array);
        array = NULL;
    }
    return array;
}

static json_t *names_array(const surety_votes_result *r) {
    json_t *array = r->class_names ? json_array() : json_null();
    for (size_t k = 0; k < r->risks.classes && r->class_names && array; k++) {
        if (json_array_append_new(array, surety_json_string(r->class_names[k])) == 0) continue;
        json_decref(array);
        array = NULL;
    }
    return array;
}

static json_t *learning_object(const surety_votes_result *r) {
    if (!r->learned) return json_null();
    const surety_learned *l = &r->learning;
    return SURETY_JSON_OBJECT({"objective", surety_json_string(surety_bound_list()[l->objective].name)},
                              {"start", surety_json_real(l->start)}, {"value", surety_json_real(l->value)},
                              {"gradient_norm", surety_json_real(l->gradient_norm)},
                              {"iterations", surety_json_count(l->iterations)});
}

char *surety_votes_result_json(const surety_votes_result *r) {
    const surety_bound_input *in = &r->input;
    uint64_t held_out = in->averaged_max.held_out_m;
    return surety_json_text(SURETY_JSON_OBJECT(
        {"m", surety_json_count(r->risks.m)}, {"n", surety_json_count(r->risks.n)},
        {"voter_count", surety_json_count(r->risks.voter_count)},
        {"voters", surety_json_string(r->risks.signed_votes ? "signed" : "real")},
        {"class_count", surety_json_count(r->risks.classes)}, {"class_names", names_array(r)},
        {"delta", surety_json_real(in->delta)}, {"priors_compared", surety_json_count(in->priors_compared)},
        {"looks", surety_json_count(in->looks)},
        {"held_out", surety_json_count(held_out == SURETY_ABSENT ? 0 : held_out)},
        {"kl", surety_json_real(in->kl)}, {"risks", surety_risks_object(&r->risks)},
        {"bounds", surety_bounds_object(r->bounds)}, {"unavailable", surety_bounds_missing(r->bounds)},
        {"posterior", weights_array(r->posterior, r->risks.voter_count)}, {"learning", learning_object(r)}));
}

surety_status surety_posterior_write(const double *q, size_t H, const char *path, surety_error *err) {
    surety_npy_writer *writer = NULL;
    SURETY_TRY(surety_npy_writer_open(&writer, path, SURETY_F8, 1, &H, err));
    surety_status status = surety_npy_writer_append(writer, q, H, err);
    if (status == SURETY_OK) return surety_npy_writer_commit(writer, err);
    surety_npy_writer_abort(writer);
    return status;
}
