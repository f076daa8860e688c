/* Imported trees, one thread: rows per second of predicting, and examples per second of proving (linf, box
 * [0, 1], default budget), with the share that is decided: proved, or fooled by the search. The best of some
 * repeats counts. bench/trees.py makes the model and sets XGBoost's own predictor beside it.
 *
 *   bench_trees MODEL X.npy Y.npy EPS   ->  {"predict": rows/s, "prove": examples/s, "decided": share}
 */
#include <stdlib.h>

#include "attack/attacker.h"
#include "io/npy.h"
#include "peak.h"
#include "surety/model.h"
#include "voters/worst.h"

enum { REPEATS = 5 };

typedef struct bench {
    surety_model *model;
    surety_npy x, y;
    surety_set set;
    float *rows;
    uint8_t *labels;
    uint32_t *numbers;
    double *votes;
} bench;

static surety_status open_all(bench *b, char **argv, surety_error *err) {
    SURETY_TRY(surety_model_load(argv[1], &b->model, err));
    SURETY_TRY(surety_npy_open(&b->x, argv[2], err));
    SURETY_TRY(surety_npy_open(&b->y, argv[3], err));
    size_t m = b->x.shape[0], d = surety_voters_features(surety_model_voters(b->model)),
           stride = surety_padded(d);
    SURETY_TRY(surety_alloc(&b->rows, m * stride, sizeof(float), err));
    SURETY_TRY(surety_alloc(&b->labels, m, 1, err));
    SURETY_TRY(surety_alloc(&b->numbers, m, sizeof(uint32_t), err));
    SURETY_TRY(surety_alloc(&b->votes, m, sizeof(double), err));
    for (size_t i = 0; i < m; i++) {
        double label;
        surety_npy_floats(&b->x, i * d, d, b->rows + i * stride);
        surety_npy_doubles(&b->y, i, 1, &label);
        b->labels[i] = label > 0;
    }
    b->set = (surety_set){
        .m = m, .d = d, .stride = stride, .x = b->rows, .y = b->labels, .row = b->numbers, .classes = 2};
    return SURETY_OK;
}

/* Proves every example, and attacks those that are not proved. */
static surety_status prove(const bench *b, double eps, double *seconds, double *decided, surety_error *err) {
    surety_vote vote = surety_model_vote(b->model, SURETY_WEIGHTS_POSTERIOR);
    surety_threat threat = surety_threat_defaults();
    surety_worst *worst;
    surety_attacker *attacker;
    threat.kind = SURETY_ATTACK_SEARCH;
    threat.ball = (surety_ball){.norm = SURETY_LINF, .radius = eps, .has_box = 1, .hi = 1};
    SURETY_TRY(surety_worst_new(&worst, vote.voters, &threat.ball, threat.budget, vote.voter_set, err));
    SURETY_TRY(surety_attacker_new(&attacker, &threat, vote.voters, err));
    size_t known = 0;
    *seconds = 0;
    for (size_t first = 0; first < b->set.m; first += SURETY_BLOCK) {
        surety_examples e = surety_examples_of(&b->set, first);
        double radius[SURETY_LANES], margin[SURETY_LANES], begin = bench_now();
        for (size_t r = 0; r < SURETY_LANES; r++) radius[r] = eps;
        surety_margin_limits(&vote, surety_worst_run(worst, &e, radius), margin);
        *seconds += bench_now() - begin;
        const surety_attacked *found = surety_attacker_run(attacker, &vote, &e);
        for (size_t r = 0; r < e.rows; r++) known += margin[r] > 0 || found->fooled[r];
    }
    *decided = (double)known / (double)b->set.m;
    surety_worst_free(worst);
    surety_attacker_free(attacker);
    return SURETY_OK;
}

static surety_status run_all(bench *b, double eps, surety_error *err) {
    double predict = 1e30, proving = 1e30, decided = 0;
    surety_vote vote = surety_model_vote(b->model, SURETY_WEIGHTS_POSTERIOR);
    const surety_run one = {.threads = 1};
    for (int i = 0; i < REPEATS; i++) {
        double begin = bench_now(), seconds;
        SURETY_TRY(surety_vote_predict(&vote, b->rows, b->set.stride, b->set.m, b->votes, &one, err));
        seconds = bench_now() - begin;
        predict = seconds < predict ? seconds : predict;
        SURETY_TRY(prove(b, eps, &seconds, &decided, err));
        proving = seconds < proving ? seconds : proving;
    }
    printf("{\"predict\": %.17g, \"prove\": %.17g, \"decided\": %.17g}\n", (double)b->set.m / predict,
           (double)b->set.m / proving, decided);
    return SURETY_OK;
}

int main(int argc, char **argv) {
    bench b = {0};
    surety_error err = SURETY_ERROR_NONE;
    if (argc != 5) return fprintf(stderr, "usage: bench_trees MODEL X.npy Y.npy EPS\n"), 2;
    surety_status status = open_all(&b, argv, &err);
    if (status == SURETY_OK) status = run_all(&b, strtod(argv[4], NULL), &err);
    if (status != SURETY_OK) fprintf(stderr, "bench_trees: %s; expected: %s\n", err.what, err.expected);
    surety_model_free(b.model);
    surety_npy_close(&b.x);
    surety_npy_close(&b.y);
    surety_free(b.rows);
    surety_free(b.labels);
    surety_free(b.numbers);
    surety_free(b.votes);
    return surety_status_exit(status);
}
