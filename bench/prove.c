/* Proofs of single inputs at run time (surety_vote_prove, surety_vote_radius): inputs per second of one
 * thread each, and so microseconds. A soft forest of 25 trees of depth 2, and ten linear voters, on 784
 * features. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peak.h"
#include "surety/voters.h"

enum { D = 784, INPUTS = 64 };

typedef struct bench {
    surety_prover *prover[BENCH_THREADS];
    float x[INPUTS][D];
    int radii;
} bench;

static void prove_inputs(void *arg, int thread, long times) {
    bench *b = arg;
    while (times--)
        for (int i = 0; i < INPUTS; i++) {
            if (b->radii)
                surety_vote_radius(b->prover[thread], b->x[i], NULL);
            else
                surety_vote_prove(b->prover[thread], b->x[i], NULL);
        }
}

static void run_kind(bench *b, const char *kind, size_t H, bool json, bool *first) {
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *voters = NULL;
    surety_voters_settings settings = surety_voters_defaults();
    surety_ball ball = surety_ball_defaults();
    double weights[32];
    settings.kind = kind, settings.count = H;
    ball.norm = SURETY_LINF, ball.radius = 0.01;
    for (size_t t = 0; t < H; t++) weights[t] = 1. / (double)H;
    surety_status status = surety_voters_new(&settings, D, 1, &voters, &err);
    surety_vote vote = {voters, weights, SURETY_REAL};
    for (int i = 0; i < BENCH_THREADS && !status; i++)
        status = surety_prover_new(&vote, &ball, 0, &b->prover[i], &err);
    if (status) fprintf(stderr, "bench_prove: %s\n", err.what), exit(4);
    for (b->radii = 0; b->radii < 2; b->radii++) {
        char name[48];
        snprintf(name, sizeof name, "%s-%s", b->radii ? "radius-of-one-input" : "prove-one-input", kind);
        bench_case c = bench_run(name, 1, prove_inputs, b, INPUTS, "inputs/s", false);
        bench_print(&c, json, *first);
        if (!json) printf("%34s %.1f microseconds each\n", "", 1e6 / c.rate);
        *first = false;
    }
    for (int i = 0; i < BENCH_THREADS; i++) surety_prover_free(b->prover[i]);
    surety_voters_free(voters);
}

int main(int argc, char **argv) {
    static bench b;
    bool json = argc > 1 && !strcmp(argv[1], "--json"), first = true;
    uint32_t state = 1;
    for (int k = 0; k < INPUTS * D; k++) {
        state = state * 1664525u + 1013904223u;
        (&b.x[0][0])[k] = (float)(state >> 8) * 0x1p-24f;
    }
    if (json) printf("{\"level\":\"%s\",\"cases\":[", surety_cpu_level());
    run_kind(&b, "soft-forest", 25, json, &first);
    run_kind(&b, "linear", 10, json, &first);
    bench_end(json);
    return 0;
}
