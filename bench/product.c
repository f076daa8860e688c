/* The products of num on the shape of the default vote (75 splits, 784 features), the noise, and both
 * together, beside the peak of the multiply-add units and OpenBLAS. Useful operations only: pads do not
 * count.
 *
 *   bench_product [--json]
 *
 * OpenBLAS chooses its own CPU level: SURETY_CPU=avx2 OPENBLAS_CORETYPE=Haswell compares like with like.
 */
#include <cblas.h>

#include "base/memory.h"
#include "num/num.h"
#include "peak.h"

enum { N = 75, D = 784, LDZ = 80, MOST = 256 };

/* One thread's data; each has packed weights of its own, as attackers have. */
typedef struct data {
    surety_weights *weights;
    float *x, *dx, *z, *gradient;
    const float *x_rows[MOST];
    float *dx_rows[MOST];
} data;

typedef struct bench {
    float *W;
    size_t rows;
    data of[BENCH_THREADS];
} bench;

static void forward(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    while (times--) surety_product_forward(t->weights, t->x_rows, b->rows, NULL, t->z, LDZ);
}

static void backward(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    while (times--)
        surety_product_backward(t->weights, t->z, LDZ, b->rows, &(surety_gradient_use){.out = t->dx_rows});
}

static void outer(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    while (times--)
        surety_product_outer(&(surety_outer){.g = t->z,
                                             .ldg = LDZ,
                                             .x = t->x_rows,
                                             .rows = b->rows,
                                             .end = N,
                                             .d = D,
                                             .D = t->gradient,
                                             .ldd = D});
}

static void both(void *arg, int thread, long times) {
    forward(arg, thread, times);
    backward(arg, thread, times);
}

static void noise(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    while (times--)
        for (size_t r = 0; r < b->rows; r++) {
            surety_address a = {(uint32_t)r, 0, 0, (uint32_t)times, SURETY_FOR_NOISE};
            surety_vector_noise(&(surety_noise){1, a, 0.01f, 0, 1}, t->x_rows[r], t->dx_rows[r], D);
        }
}

static void noise_product(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    while (times--) {
        noise(arg, thread, 1);
        surety_product_forward(t->weights, (const float *const *)t->dx_rows, b->rows, NULL, t->z, LDZ);
    }
}

static void normal(void *arg, int thread, long times) {
    bench *b = arg;
    surety_address a = {0, 0, 0, 0, SURETY_FOR_START};
    while (times--) surety_vector_normal(1, &a, b->of[thread].dx, D);
}

static void sigmoid(void *arg, int thread, long times) {
    bench *b = arg;
    while (times--) surety_vector_sigmoid(b->of[thread].x, b->of[thread].dx, D);
}

static void blas_forward(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    while (times--)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)b->rows, N, D, 1, t->x, D, b->W, D, 0, t->z,
                    LDZ);
}

static void blas_backward(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    while (times--)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)b->rows, D, N, 1, t->z, LDZ, b->W, D, 0,
                    t->dx, D);
}

static void blas_outer(void *arg, int thread, long times) {
    bench *b = arg;
    data *t = &b->of[thread];
    while (times--)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, D, (int)b->rows, 1, t->z, LDZ, t->x, D, 1,
                    t->gradient, D);
}

static surety_status prepare(bench *b, surety_error *err) {
    surety_address a = {0, 0, 0, 0, 0};
    SURETY_TRY(surety_alloc(&b->W, N * D, sizeof(float), err));
    surety_vector_uniform(1, &a, b->W, N * D);
    for (size_t i = 0; i < N * D; i++) b->W[i] = 0.1f * (b->W[i] - 0.5f);
    for (data *t = b->of; t < b->of + BENCH_THREADS; t++) {
        SURETY_TRY(surety_weights_new(&t->weights, N, D, err));
        surety_weights_pack(t->weights, b->W, D);
        SURETY_TRY(surety_alloc(&t->x, MOST * D, sizeof(float), err));
        SURETY_TRY(surety_alloc(&t->dx, MOST * D, sizeof(float), err));
        SURETY_TRY(surety_alloc(&t->z, MOST * LDZ, sizeof(float), err));
        SURETY_TRY(surety_alloc(&t->gradient, N * D, sizeof(float), err));
        surety_vector_uniform(2, &a, t->x, MOST * D);
        for (size_t r = 0; r < MOST; r++) t->x_rows[r] = t->x + r * D, t->dx_rows[r] = t->dx + r * D;
    }
    return SURETY_OK;
}

static void release(bench *b) {
    surety_free(b->W);
    for (data *t = b->of; t < b->of + BENCH_THREADS; t++) {
        surety_weights_free(t->weights);
        surety_free(t->x);
        surety_free(t->dx);
        surety_free(t->z);
        surety_free(t->gradient);
    }
}

static void run_all(bench *b, bool json) {
    const struct {
        const char *name;
        bench_fn ours, blas;
    } products[] = {{"forward", forward, blas_forward},
                    {"backward", backward, blas_backward},
                    {"outer", outer, blas_outer}};
    const size_t rows[] = {1, 4, 8, 16, 32, 64, 256};
    const double flop = 2. * N * D;
    bool first = true;
    char name[48];
    b->rows = SURETY_BLOCK;
    for (int threads = 1; threads <= BENCH_THREADS; threads++) {
        bench_case c = bench_run("product", threads, both, b, 2 * flop * SURETY_BLOCK, "flop/s", true);
        bench_print(&c, json, first);
        first = false;
    }
    for (size_t p = 0; p < sizeof products / sizeof *products; p++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            b->rows = rows[i];
            double amount = flop * (double)rows[i];
            snprintf(name, sizeof name, "%s-%zu", products[p].name, rows[i]);
            bench_case c = bench_run(name, 1, products[p].ours, b, amount, "flop/s", true);
            bench_print(&c, json, false);
            snprintf(name, sizeof name, "openblas-%s-%zu", products[p].name, rows[i]);
            c = bench_run(name, 1, products[p].blas, b, amount, "flop/s", true);
            bench_print(&c, json, false);
        }
    b->rows = SURETY_BLOCK;
    const double block = (double)D * SURETY_BLOCK;
    bench_case last[] = {
        bench_run("noise", 1, noise, b, block, "draws/s", false),
        bench_run("noise-product", 1, noise_product, b, flop * SURETY_BLOCK, "flop/s", true),
        bench_run("noise-product", 2, noise_product, b, flop * SURETY_BLOCK, "flop/s", true),
        bench_run("normal", 1, normal, b, D, "draws/s", false),
        bench_run("sigmoid", 1, sigmoid, b, D, "values/s", false),
    };
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) bench_print(&last[i], json, false);
}

int main(int argc, char **argv) {
    bool json = argc > 1 && !strcmp(argv[1], "--json");
    static bench b;
    surety_error err = SURETY_ERROR_NONE;
    openblas_set_num_threads(1);
    surety_status status = prepare(&b, &err);
    if (status == SURETY_OK) {
        printf(json ? "{\"level\":\"%s\",\"openblas\":\"%s\",\"cases\":[" : "CPU level %s, OpenBLAS for %s\n",
               surety_cpu_level(), openblas_get_corename());
        run_all(&b, json);
        bench_end(json);
    } else {
        fprintf(stderr, "%s\n", err.what);
    }
    release(&b);
    return surety_status_exit(status);
}
