/* Whole attacks on the default vote (25 trees of depth 2, 784 features), of two classes and of ten: PGD with
 * 20 steps and no early stop, and the votes on 100 noisy copies of an example, beside the peak of the
 * multiply-add units and OpenBLAS on the same two products. Useful operations only: a step is counted as 4 x
 * 75 x 784 per example, a vote on a copy, or on the last point of an attack, as 2 x 75 x 784.
 *
 *   bench_attack [--json]
 */
#include <cblas.h>

#include "attack/attacker.h"
#include "peak.h"

enum { H = 25, N = 75, D = 784, STEPS = 20, COPIES = 100 };

/* One thread's data. */
typedef struct data {
    surety_attacker *attacker;
    surety_examples examples;
    float *x, *dx, *z, *points, *h, *scratch;
} data;

typedef struct bench {
    surety_voters *voters;
    double weights[H];
    data of[BENCH_THREADS];
} bench;

static void attack(void *arg, int thread, long times) {
    bench *b = arg;
    surety_vote vote = {b->voters, b->weights, SURETY_SIGNED};
    while (times--) surety_attacker_run(b->of[thread].attacker, &vote, &b->of[thread].examples);
}

/* The part of evaluate that asks voters about noisy copies. */
static void noise_votes(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    const surety_voters *v = surety_attacker_voters(t->attacker);
    while (times--)
        for (size_t first = 0; first < SURETY_BLOCK * COPIES; first += SURETY_BLOCK) {
            const float *x[SURETY_BLOCK];
            for (size_t k = 0; k < SURETY_BLOCK; k++) {
                float *point = t->points + k * D;
                surety_attacker_sample(t->attacker, (first + k) / COPIES, (first + k) % COPIES, point);
                x[k] = point;
            }
            surety_voters_ask(v, x, SURETY_BLOCK, t->h, t->scratch);
        }
}

/* On sixteen rows, which it likes better than fifteen. */
static void openblas(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    const float *W = surety_voters_tensor(b->voters, 0).values;
    while (times--) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, SURETY_LANES, N, D, 1, t->x, D, W, D, 0, t->z,
                    N);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SURETY_LANES, D, N, 1, t->z, N, W, D, 0, t->dx,
                    D);
    }
}

static surety_status prepare(bench *b, const surety_threat *settings, surety_error *err) {
    for (int i = 0; i < BENCH_THREADS; i++) {
        data *t = &b->of[i];
        surety_attacker_free(t->attacker);
        SURETY_TRY(surety_attacker_new(&t->attacker, settings, b->voters, err));
    }
    return SURETY_OK;
}

static surety_status make(bench *b, size_t classes, surety_error *err) {
    surety_voters_settings forest = surety_voters_defaults();
    forest.classes = classes;
    SURETY_TRY(surety_voters_new(&forest, D, 1, &b->voters, err));
    for (int h = 0; h < H; h++) b->weights[h] = 1. / H;
    for (int i = 0; i < BENCH_THREADS; i++) {
        data *t = &b->of[i];
        float **parts[] = {&t->x, &t->dx, &t->points};
        for (int k = 0; k < 3; k++) SURETY_TRY(surety_alloc(parts[k], SURETY_LANES * D, sizeof(float), err));
        SURETY_TRY(surety_alloc(&t->z, SURETY_LANES * N, sizeof(float), err));
        SURETY_TRY(
            surety_alloc(&t->h, SURETY_LANES * H * surety_voters_width(b->voters), sizeof(float), err));
        SURETY_TRY(surety_alloc(&t->scratch, surety_voters_scratch(b->voters), sizeof(float), err));
        t->examples = (surety_examples){.rows = SURETY_BLOCK, .which = SURETY_SET_TEST};
        for (uint32_t r = 0; r < SURETY_LANES; r++) {
            surety_address a = {.row = r, .purpose = SURETY_FOR_NOISE};
            surety_vector_uniform(7, &a, t->x + r * D, D);
            t->examples.x[r] = t->x + r * D;
            t->examples.y[r] = (uint8_t)(r % classes);
            t->examples.row[r] = r;
        }
    }
    return SURETY_OK;
}

static int fail(const surety_error *err) {
    fprintf(stderr, "bench_attack: %s\n", err->what);
    return 4;
}

static void empty(bench *b) {
    for (int i = 0; i < BENCH_THREADS; i++) {
        data *t = &b->of[i];
        surety_attacker_free(t->attacker);
        surety_free(t->x), surety_free(t->dx), surety_free(t->z);
        surety_free(t->points), surety_free(t->h), surety_free(t->scratch);
    }
    surety_voters_free(b->voters);
}

/* The attacks, each followed by the votes on noisy copies. */
static const struct {
    const char *name, *votes;
    surety_norm norm;
    double radius;
    int ten; /* classes, not two */
} cases[] = {{"attack-pgd-l2", "noise-votes", SURETY_L2, 1, 0},
             {"attack-pgd-linf", "noise-votes-linf", SURETY_LINF, 0.1, 0},
             {"attack-pgd-linf-10", "noise-votes-10", SURETY_LINF, 0.1, 1}};

static surety_status run_case(bench *b, size_t i, int threads, bool json, bool first, surety_error *err) {
    const double step = 4. * N * D * SURETY_BLOCK;
    surety_threat s = surety_threat_defaults();
    s.kind = SURETY_ATTACK_PGDU;
    s.ball.norm = cases[i].norm;
    s.ball.radius = cases[i].radius;
    s.steps = STEPS;
    s.early_stop = 0;
    SURETY_TRY(prepare(b, &s, err));
    bench_case c = bench_run(cases[i].name, threads, attack, b, step * (STEPS + 0.5), "flop/s", true);
    bench_print(&c, json, first);
    c = bench_run(cases[i].votes, threads, noise_votes, b, step / 2 * COPIES, "flop/s", true);
    bench_print(&c, json, false);
    return SURETY_OK;
}

int main(int argc, char **argv) {
    bool json = argc > 1 && !strcmp(argv[1], "--json");
    static bench two, ten;
    surety_error err = SURETY_ERROR_NONE;
    if (make(&two, 2, &err) || make(&ten, 10, &err)) return fail(&err);
    openblas_set_num_threads(1);
    if (json) printf("{\"level\":\"%s\",\"cases\":[", surety_cpu_level());
    for (int threads = 1; threads <= BENCH_THREADS; threads++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (run_case(cases[i].ten ? &ten : &two, i, threads, json, threads == 1 && i == 0, &err))
                return fail(&err);
        bench_case c = bench_run("openblas, two products", threads, openblas, &two, 4. * N * D * SURETY_LANES,
                                 "flop/s", true);
        bench_print(&c, json, false);
    }
    bench_end(json);
    empty(&two), empty(&ten);
    return 0;
}
