/* Counting votes: one example with 100 perturbations and 25 voters through the accumulator, which is all that
 * is done for each of the 5000 examples of a perturbed set beyond producing its votes.
 *
 *   bench_risk [--json]
 */
#include "surety/risk.h"
#include "base/memory.h"
#include "peak.h"

enum { H = 25, N = 100, EXAMPLES = 16 };

typedef struct bench {
    surety_risk *risk[BENCH_THREADS];
    float votes[EXAMPLES][N][H];
    double q[H];
} bench;

static void count_votes(void *arg, int thread, long times) {
    bench *b = arg;
    while (times--)
        for (int i = 0; i < EXAMPLES; i++) surety_risk_add(b->risk[thread], &b->votes[i][0][0], H, 1, NULL);
    surety_risk_reset(b->risk[thread], NULL, NULL);
}

static surety_status make(bench *b, int signed_votes, surety_error *err) {
    surety_risk_settings settings = {H, N, signed_votes, b->q, b->q, 2};
    for (int h = 0; h < H; h++) b->q[h] = 1. / H;
    uint32_t state = 1;
    for (int k = 0; k < EXAMPLES * N * H; k++) {
        state = state * 1664525u + 1013904223u;
        (&b->votes[0][0][0])[k] = (float)state * 0x1p-31f - 1;
    }
    for (int i = 0; i < BENCH_THREADS; i++) {
        surety_risk_free(b->risk[i]);
        SURETY_TRY(surety_risk_new(&settings, &b->risk[i], err));
    }
    return SURETY_OK;
}

int main(int argc, char **argv) {
    static bench b;
    bool json = argc > 1 && !strcmp(argv[1], "--json"), first = true;
    surety_error err = SURETY_ERROR_NONE;
    if (json) printf("{\"level\":\"%s\",\"cases\":[", surety_cpu_level());
    for (int threads = 1; threads <= BENCH_THREADS; threads++)
        for (int kind = 0; kind < 2; kind++) {
            if (make(&b, kind, &err)) return fprintf(stderr, "bench_risk: %s\n", err.what), 4;
            bench_case c = bench_run(kind ? "count-votes-signed" : "count-votes-real", threads, count_votes,
                                     &b, (double)EXAMPLES * N * H, "votes/s", false);
            bench_print(&c, json, first);
            first = false;
        }
    bench_end(json);
    for (int i = 0; i < BENCH_THREADS; i++) surety_risk_free(b.risk[i]);
    return 0;
}
