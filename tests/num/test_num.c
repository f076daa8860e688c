/* num: the products against scalar chains and OpenBLAS, elementary functions against MPFR, draws against
 * base. Every check runs at every level that the CPU has. */
#include "check.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>

#include "base/parallel.h"
#include "num/kernels.h"

#define EACH_LEVEL(level) for (surety_level level = 0; level <= surety_cpu_highest(); level++)

/* One step of a chain at a level: fused, or product and sum rounded one after the other. */
static float step(surety_level level, float a, float b, float c) {
    return level == SURETY_GENERIC ? a * b + c : fmaf(a, b, c);
}

/* Numbers in [-1, 1], some of them 0, by position. */
static void fill(float *x, size_t count, uint32_t row) {
    surety_address a = {row, 0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        float u = surety_random_uniform(11, &a, i);
        x[i] = u < 0.1f ? 0 : 2 * u - 1;
    }
}

static float *floats(size_t count) {
    surety_error err = SURETY_ERROR_NONE;
    float *x = NULL;
    check_ok(surety_alloc(&x, count, sizeof *x, &err));
    return x;
}

/* Same bits, or both NaN. */
static bool same(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* The most rows of a block in these tests. */
enum { MOST = 256, STRANGE = 77 };

/* A weight matrix, rows of features x and of gradients g, and what the products must give for each of them at
 * one level, from scalar loops. */
typedef struct fixture {
    size_t N, d, ldz, ldx, rows;
    surety_weights *weights;
    float *W, *bias, *x, *g; /* (N, d), (N), (rows, ldx), (rows, ldz) */
    float *z, *dx;           /* expected, (rows, N) and (rows, d) */
} fixture;

static void expect(fixture *f, surety_level level) {
    for (size_t r = 0; r < f->rows; r++) {
        const float *x = f->x + r * f->ldx, *g = f->g + r * f->ldz;
        for (size_t i = 0; i < f->N; i++) {
            float sum = f->bias[i];
            for (size_t j = 0; j < f->d; j++) sum = step(level, x[j], f->W[i * f->d + j], sum);
            f->z[r * f->N + i] = sum;
        }
        for (size_t j = 0; j < f->d; j++) {
            float sum = 0;
            for (size_t i = 0; i < f->N; i++) sum = step(level, g[i], f->W[i * f->d + j], sum);
            f->dx[r * f->d + j] = sum;
        }
    }
}

static fixture fixture_new(size_t N, size_t d, size_t rows) {
    surety_error err = SURETY_ERROR_NONE;
    fixture f = {N, d, surety_padded(N), surety_padded(d), rows, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    check_ok(surety_weights_new(&f.weights, N, d, &err));
    f.W = floats(N * d), f.bias = floats(N), f.z = floats(rows * N), f.dx = floats(rows * d);
    f.x = floats(rows * f.ldx), f.g = floats(rows * f.ldz);
    fill(f.W, N * d, 1000);
    fill(f.bias, N, 1001);
    for (size_t r = 0; r < rows; r++)
        fill(f.x + r * f.ldx, d, (uint32_t)r), fill(f.g + r * f.ldz, N, (uint32_t)r);
    surety_weights_pack(f.weights, f.W, d);
    return f;
}

static void fixture_free(fixture *f) {
    surety_weights_free(f->weights);
    float *all[] = {f->W, f->bias, f->x, f->g, f->z, f->dx};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) surety_free(all[i]);
}

/* A result row: the expected values, then zeros up to the padded width, then what was there before. */
static void check_row(const char *what, const float *got, const float *expected, size_t count, size_t width) {
    for (size_t i = 0; i < width; i++) {
        float value = i < count ? expected[i] : i < surety_padded(count) ? 0 : STRANGE;
        check(same(got[i], value), "%s[%zu] of %zu is %a, not %a", what, i, count, (double)got[i],
              (double)value);
    }
}

/* Both products on the rows which[0..rows) of the fixture. */
static void check_products(const fixture *f, surety_level level, const size_t *which, size_t rows) {
    const float *x[MOST];
    float *dx[MOST], *out = floats(rows * (f->ldz + f->ldx + 32)), *g = floats(rows * (f->ldz + 16));
    size_t ldz = f->ldz + 16; /* wider than needed */
    float *z = out, *dx0 = out + rows * ldz;
    for (size_t i = 0; i < rows * (f->ldz + f->ldx + 32); i++) out[i] = STRANGE;
    for (size_t r = 0; r < rows; r++) {
        x[r] = f->x + which[r] * f->ldx;
        dx[r] = dx0 + r * (f->ldx + 16);
        memcpy(g + r * ldz, f->g + which[r] * f->ldz, f->N * sizeof *g);
    }
    surety_product forward = surety_forward_job(f->weights, x, rows, f->bias, z, ldz);
    surety_product backward =
        surety_backward_job(f->weights, g, ldz, rows, &(surety_gradient_use){.out = dx});
    surety_kernels_at(level)->product(&forward);
    surety_kernels_at(level)->product(&backward);
    for (size_t r = 0; r < rows; r++) {
        check_row("z", z + r * ldz, f->z + which[r] * f->N, f->N, ldz);
        check_row("dx", dx[r], f->dx + which[r] * f->d, f->d, f->ldx + 16);
    }
    surety_free(out);
    surety_free(g);
}

/* The ends of the backward product: squares as sixteen chains of fma, added pairwise; steps along signs. */
static void check_ends(const fixture *f, surety_level level, const size_t *which, size_t rows) {
    float *memory = floats(5 * SURETY_LANES * f->ldx), *g = floats(SURETY_LANES * f->ldz);
    float squares[SURETY_LANES], *part[5][SURETY_LANES]; /* out, stepped, x, lo, hi */
    for (size_t i = 0; i < 5; i++)
        for (size_t r = 0; r < rows; r++) part[i][r] = memory + (i * SURETY_LANES + r) * f->ldx;
    for (size_t r = 0; r < rows; r++) {
        memcpy(g + r * f->ldz, f->g + which[r] * f->ldz, f->N * sizeof *g);
        memcpy(part[2][r], f->x + which[r] * f->ldx, f->d * sizeof *g);
        fill(part[3][r], f->d, (uint32_t)r + 500), fill(part[4][r], f->d, (uint32_t)r + 600);
    }
    const float *const *fixed[3] = {(const float *const *)part[2], (const float *const *)part[3],
                                    (const float *const *)part[4]};
    surety_gradient_use squared = {.out = part[0], .squares = squares};
    float steps[SURETY_LANES];
    for (size_t r = 0; r < SURETY_LANES; r++) steps[r] = 0.3f + 0.1f * (float)r;
    surety_gradient_use stepped = {
        .out = part[1], .x = fixed[0], .lo = fixed[1], .hi = fixed[2], .step = steps};
    surety_product jobs[] = {surety_backward_job(f->weights, g, f->ldz, rows, &squared),
                             surety_backward_job(f->weights, g, f->ldz, rows, &stepped)};
    for (int i = 0; i < 2; i++) surety_kernels_at(level)->product(&jobs[i]);
    for (size_t r = 0; r < rows; r++) {
        const float *dx = f->dx + which[r] * f->d;
        float lanes[16] = {0};
        for (size_t j = 0; j < f->d; j++) {
            float sign = (float)((dx[j] > 0) - (dx[j] < 0)), to = step(level, steps[r], sign, part[2][r][j]);
            to = fminf(fmaxf(to, part[3][r][j]), part[4][r][j]);
            check(part[1][r][j] == to, "feature %zu steps to %a, not %a", j, (double)part[1][r][j],
                  (double)to);
            lanes[j % 16] = step(level, dx[j], dx[j], lanes[j % 16]);
        }
        for (int half = 8; half; half /= 2)
            for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
        check_row("dx", part[0][r], dx, f->d, f->ldx);
        check(same(squares[r], lanes[0]), "squares of row %zu are %a, not %a", r, (double)squares[r],
              (double)lanes[0]);
    }
    surety_free(memory);
    surety_free(g);
}

/* Every number of rows, in order; then random rows in random order, so that every row meets every place. */
static void products_are_chains(void **state) {
    (void)state;
    const size_t shapes[][2] = {{75, (size_t)check_count(50, 784)},
                                {1, 1},
                                {3, 784},
                                {16, 16},
                                {17, 5},
                                {80, 33},
                                {255, 7},
                                {33, 1},
                                {1, 100},
                                {100, 160}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t most = s == 0 ? MOST : 40, which[MOST];
        fixture f = fixture_new(shapes[s][0], shapes[s][1], most);
        EACH_LEVEL(level) {
            expect(&f, level);
            for (size_t rows = 0; rows <= most; rows++) {
                for (size_t r = 0; r < rows; r++) which[r] = r;
                check_products(&f, level, which, rows);
                if (rows <= SURETY_LANES) check_ends(&f, level, which, rows);
            }
            for (uint32_t n = 0; n < check_count(20, 400); n++) {
                surety_address a = {n, 0, 0, 0, 1};
                size_t rows = 1 + surety_random_below(3, a, 0, (uint32_t)most);
                for (size_t r = 0; r < rows; r++) which[r] = surety_random_below(3, a, r + 1, (uint32_t)most);
                check_products(&f, level, which, rows);
            }
        }
        fixture_free(&f);
    }
}

/* Many tiles of outputs, few features: forests of deep trees. */
static void products_of_wide_forests(void **state) {
    (void)state;
    fixture f = fixture_new((size_t)check_count(2550, 25500), 5, 7);
    const size_t which[] = {0, 1, 2, 3, 4, 5, 6};
    EACH_LEVEL(level) {
        expect(&f, level);
        for (size_t rows = 1; rows <= 7; rows++) check_products(&f, level, which, rows);
    }
    fixture_free(&f);
}

/* Tiles of two widths: sums of squares go on from tile to tile. */
static void products_of_many_features(void **state) {
    (void)state;
    fixture f = fixture_new(75, 2500, SURETY_LANES);
    size_t which[SURETY_LANES];
    for (size_t r = 0; r < SURETY_LANES; r++) which[r] = SURETY_LANES - 1 - r;
    EACH_LEVEL(level) {
        expect(&f, level);
        check_products(&f, level, which, SURETY_LANES);
        check_ends(&f, level, which, SURETY_LANES);
    }
    fixture_free(&f);
}

/* Without bias the chain starts at 0; pads are 0 even where x is not finite. */
static void forward_without_bias(void **state) {
    (void)state;
    fixture f = fixture_new(20, 30, 9);
    float z[9 * 32];
    const float *x[9];
    memset(f.bias, 0, 20 * sizeof *f.bias);
    for (size_t r = 0; r < 9; r++) x[r] = f.x + r * f.ldx;
    f.x[4 * f.ldx + 2] = INFINITY;
    f.x[5 * f.ldx + 2] = NAN;
    EACH_LEVEL(level) {
        expect(&f, level);
        surety_product job = surety_forward_job(f.weights, x, 9, NULL, z, 32);
        surety_kernels_at(level)->product(&job);
        for (size_t r = 0; r < 9; r++) check_row("z", z + r * 32, f.z + r * 20, 20, 32);
    }
    fixture_free(&f);
}

/* D = g^T x for rows of D in [first, end), nothing else touched; D is as narrow as d. */
static void check_outer(size_t N, size_t d, size_t rows, size_t first, size_t end, surety_level level) {
    fixture f = fixture_new(N, d, rows);
    size_t ldd = d + 3;
    float *D = floats(N * ldd);
    const float *x[MOST];
    for (size_t r = 0; r < rows; r++) x[r] = f.x + r * f.ldx;
    for (size_t i = 0; i < N * ldd; i++) D[i] = STRANGE;
    surety_product job = surety_outer_job(&(surety_outer){.g = f.g,
                                                          .ldg = f.ldz,
                                                          .x = x,
                                                          .rows = rows,
                                                          .first = first,
                                                          .end = end,
                                                          .d = d,
                                                          .D = D,
                                                          .ldd = ldd});
    surety_kernels_at(level)->product(&job);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < ldd; j++) {
            float sum = i >= first && i < end && j < d ? 0 : STRANGE;
            if (sum == 0)
                for (size_t r = 0; r < rows; r++) sum = step(level, f.g[r * f.ldz + i], x[r][j], sum);
            check(same(D[i * ldd + j], sum), "D[%zu][%zu] is %a, not %a", i, j, (double)D[i * ldd + j],
                  (double)sum);
        }
    surety_free(D);
    fixture_free(&f);
}

static void outer_is_a_chain(void **state) {
    (void)state;
    size_t d = (size_t)check_count(83, 784);
    EACH_LEVEL(level) {
        for (size_t rows = 0; rows <= 16; rows++) check_outer(75, d, rows, 0, 75, level);
        for (size_t first = 0; first <= 12; first++)
            for (size_t end = first; end <= 12; end++) check_outer(12, 35, 5, first, end, level);
        check_outer(75, d, 64, 30, 75, level);
        check_outer(7, 160, 200, 0, 7, level);
        check_outer(1, 1, 3, 0, 1, level);
        check_outer(300, 5, 9, 100, 299, level);
    }
}

/* Against OpenBLAS on the main shape: both are within gamma_d sum |x||w| of the exact value. */
static void products_agree_with_openblas(void **state) {
    (void)state;
    enum { N = 75, D = 784, ROWS = 37, LDZ = 80 };
    fixture f = fixture_new(N, D, ROWS);
    static float z[ROWS * LDZ], dx[ROWS * D], outer[N * D], z_blas[ROWS * LDZ], dx_blas[ROWS * D],
        outer_blas[N * D];
    const float *x[ROWS];
    float *dx_rows[ROWS];
    for (size_t r = 0; r < ROWS; r++) x[r] = f.x + r * D, dx_rows[r] = dx + r * D;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, N, D, 1, f.x, D, f.W, D, 0, z_blas, LDZ);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, D, N, 1, f.g, LDZ, f.W, D, 0, dx_blas, D);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, D, ROWS, 1, f.g, LDZ, f.x, D, 0, outer_blas, D);
    EACH_LEVEL(level) {
        surety_product jobs[] = {
            surety_forward_job(f.weights, x, ROWS, NULL, z, LDZ),
            surety_backward_job(f.weights, f.g, LDZ, ROWS, &(surety_gradient_use){.out = dx_rows}),
            surety_outer_job(&(surety_outer){
                .g = f.g, .ldg = LDZ, .x = x, .rows = ROWS, .end = N, .d = D, .D = outer, .ldd = D})};
        for (int i = 0; i < 3; i++) surety_kernels_at(level)->product(&jobs[i]);
        /* |x|, |w| <= 1, so the sums of products are below the number of terms; u = 2^-24 */
        for (size_t i = 0; i < ROWS * LDZ; i++) check_that(fabsf(z[i] - z_blas[i]), <=, 0x1p-23f * D * D / 4);
        for (size_t i = 0; i < ROWS * D; i++) check_that(fabsf(dx[i] - dx_blas[i]), <=, 0x1p-23f * N * N / 4);
        for (size_t i = 0; i < N * D; i++)
            check_that(fabsf(outer[i] - outer_blas[i]), <=, 0x1p-23f * ROWS * ROWS / 4);
    }
    fixture_free(&f);
}

/* The public functions are those of the level in use, from any number of threads. */
typedef struct shared {
    const fixture *f;
    float *z, *dx;
} shared;

static surety_status run_block(void *arg, size_t block, int thread, surety_error *err) {
    (void)thread, (void)err;
    shared *s = arg;
    const fixture *f = s->f;
    size_t first = block * SURETY_LANES;
    const float *x[SURETY_LANES];
    float *dx[SURETY_LANES];
    for (size_t r = 0; r < SURETY_LANES; r++)
        x[r] = f->x + (first + r) * f->ldx, dx[r] = s->dx + (first + r) * f->ldx;
    surety_product_forward(f->weights, x, SURETY_LANES, f->bias, s->z + first * f->ldz, f->ldz);
    surety_product_backward(f->weights, f->g + first * f->ldz, f->ldz, SURETY_LANES,
                            &(surety_gradient_use){.out = dx});
    return SURETY_OK;
}

static void threads_do_not_matter(void **state) {
    (void)state;
    fixture f = fixture_new(75, (size_t)check_count(100, 784), MOST);
    expect(&f, surety_cpu());
    for (int threads = 1; threads <= 5; threads++) {
        surety_run run = {.threads = threads};
        surety_error err = SURETY_ERROR_NONE;
        shared s = {&f, floats(MOST * f.ldz), floats(MOST * f.ldx)};
        check_ok(surety_parallel(&run, NULL, MOST / SURETY_LANES, run_block, &s, &err));
        for (size_t r = 0; r < MOST; r++) {
            check_row("z", s.z + r * f.ldz, f.z + r * f.N, f.N, f.ldz);
            check_row("dx", s.dx + r * f.ldx, f.dx + r * f.d, f.d, f.ldx);
        }
        surety_free(s.z);
        surety_free(s.dx);
    }
    fixture_free(&f);
}

/* W may be wider than d, and may be packed again. */
static void packing_again(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_weights *weights = NULL;
    float W[18 * 9], *x = floats(16), z[32];
    check_ok(surety_weights_new(&weights, 18, 4, &err));
    for (float scale = 1; scale <= 2; scale++) {
        for (size_t i = 0; i < 18; i++)
            for (size_t j = 0; j < 9; j++) W[i * 9 + j] = scale * (float)(10 * i + j);
        surety_weights_pack(weights, W, 9);
        for (size_t j = 0; j < 4; j++) {
            memset(x, 0, 16 * sizeof *x);
            x[j] = 1;
            surety_product_forward(weights, (const float *const[]){x}, 1, NULL, z, 32);
            for (size_t i = 0; i < 18; i++) check_that(z[i], ==, scale * (float)(10 * i + j));
        }
    }
    surety_free(x);
    surety_weights_free(weights);
}

static void weights_can_fail(void **state) {
    (void)state;
    surety_weights *weights = NULL;
    for (int k = 0; k < 3; k++) {
        surety_error err = SURETY_ERROR_NONE;
        long at = k;
        surety_memory_hook(check_fail_at, &at);
        assert_int_equal(surety_weights_new(&weights, 75, 784, &err), SURETY_E_MEMORY);
        surety_memory_hook(NULL, NULL);
        assert_null(weights);
    }
    const size_t bad[][2] = {{0, 5}, {5, 0}, {SIZE_MAX, 2}, {2, SIZE_MAX}, {SIZE_MAX / 64, SIZE_MAX / 64}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_not_equal(surety_weights_new(&weights, bad[i][0], bad[i][1], NULL), SURETY_OK);
    assert_null(weights);
    surety_weights_free(NULL);
}

typedef void (*map_fn)(const float *x, float *out, size_t count);

static map_fn map_of(surety_level level, int which) {
    const surety_kernels *k = surety_kernels_at(level);
    return which == 0 ? k->exp : which == 1 ? k->sigmoid : k->tanh;
}

static const char *const map_names[] = {"exp", "sigmoid", "tanh"};

/* The exact value to 80 bits. */
static void exact(mpfr_t out, float x, int which) {
    mpfr_set_flt(out, x, MPFR_RNDN);
    if (which == 0) mpfr_exp(out, out, MPFR_RNDN);
    if (which == 2) mpfr_tanh(out, out, MPFR_RNDN);
    if (which == 1) { /* 1/(1+exp(-x)) */
        mpfr_neg(out, out, MPFR_RNDN);
        mpfr_exp(out, out, MPFR_RNDN);
        mpfr_add_ui(out, out, 1, MPFR_RNDN);
        mpfr_ui_div(out, 1, out, MPFR_RNDN);
    }
}

/* |got - value| in units of the last place of value, where infinity stands for 2^128 and units do not fall
 * below the smallest subnormal. */
static double ulps(float got, mpfr_t value) {
    if (isnan(got)) return INFINITY;
    double v = mpfr_get_d(value, MPFR_RNDN);
    if (v > 0x1p128) return isinf(got) ? 0 : INFINITY;
    int exponent = v == 0 ? -149 : ilogb(v) - 23;
    double unit = ldexp(1, exponent < -149 ? -149 : exponent);
    return fabs((isinf(got) ? copysign(0x1p128, (double)got) : (double)got) - v) / unit;
}

/* Arguments: any float at all, and evenly over the range where the functions are neither 0, 1 nor infinite.
 */
static float argument(uint32_t bits, long n) {
    float any;
    memcpy(&any, &bits, sizeof any);
    return n % 2 ? any : (surety_random_unit(bits) - 0.5f) * (n % 4 ? 220.f : 20.f);
}

static void elementary_within_4_ulp(void **state) {
    (void)state;
    enum { CHUNK = 1000 };
    float x[CHUNK], out[CHUNK];
    double worst[SURETY_LEVELS][3] = {{0}};
    surety_address a = {3, 0, 0, 0, 0};
    mpfr_t value;
    mpfr_init2(value, 80);
    for (long n = 0; n < check_count(10, 600); n++) {
        for (uint32_t i = 0; i < CHUNK; i++) {
            uint32_t bits[4];
            surety_random_bits(9, &a, (uint32_t)n * CHUNK + i, bits);
            x[i] = argument(bits[0], i);
        }
        for (int which = 0; which < 3; which++) EACH_LEVEL(level) {
                map_of(level, which)(x, out, CHUNK);
                for (size_t i = 0; i < CHUNK; i++) {
                    if (isnan(x[i])) {
                        check(isnan(out[i]), "%s(NaN) is %g", map_names[which], (double)out[i]);
                        continue;
                    }
                    exact(value, x[i], which);
                    double error = ulps(out[i], value);
                    check(error <= 4, "%s %s(%a) = %a is wrong by %g ulp", surety_level_name(level),
                          map_names[which], (double)x[i], (double)out[i], error);
                    if (error > worst[level][which]) worst[level][which] = error;
                }
            }
    }
    mpfr_clear(value);
    EACH_LEVEL(level)
    print_message("# %s: worst error exp %.2f, sigmoid %.2f, tanh %.2f ulp\n", surety_level_name(level),
                  worst[level][0], worst[level][1], worst[level][2]);
}

static void elementary_special_values(void **state) {
    (void)state;
    const float x[] = {0, -0.f, INFINITY, -INFINITY, NAN, 1000, -1000, 0x1p-149f, -0x1p-149f, -103.5f, 88.7f};
    const float expected[3][8] = {{1, 1, INFINITY, 0, NAN, INFINITY, 0, 1},
                                  {0.5f, 0.5f, 1, 0, NAN, 1, 0, 0.5f},
                                  {0, -0.f, 1, -1, NAN, 1, -1, 0x1p-149f}};
    float out[11];
    EACH_LEVEL(level)
    for (int which = 0; which < 3; which++) {
        map_of(level, which)(x, out, 11);
        for (int i = 0; i < 8; i++)
            check(same(out[i], expected[which][i]), "%s %s(%g) is %g", surety_level_name(level),
                  map_names[which], (double)x[i], (double)out[i]);
    }
    EACH_LEVEL(level) {
        map_of(level, 1)(&x[9], out, 1);
        check_that(out[0], >, 0);
        check_that(out[0], <, FLT_MIN); /* a subnormal, not 0 */
    }
}

/* Any count, in place, nothing beyond; all levels with FMA agree to the bit. */
static void elementary_counts_and_levels(void **state) {
    (void)state;
    enum { LONGEST = 70 };
    float x[LONGEST + 1], out[LONGEST + 1], first[LONGEST + 1];
    for (uint32_t n = 0; n < check_count(300, 30000); n++) {
        surety_address a = {n, 0, 0, 0, 7};
        size_t count = n % LONGEST;
        for (size_t i = 0; i < count; i++) {
            uint32_t bits[4];
            surety_random_bits(2, &a, (uint32_t)i, bits);
            x[i] = argument(bits[0], (long)i);
        }
        for (int which = 0; which < 3; which++) EACH_LEVEL(level) {
                memcpy(out, x, sizeof out);
                out[count] = STRANGE;
                map_of(level, which)(out, out, count);
                check_that(out[count], ==, STRANGE);
                if (level == SURETY_AVX2) memcpy(first, out, sizeof out);
                for (size_t i = 0; level > SURETY_AVX2 && i < count; i++) assert_true(same(out[i], first[i]));
            }
    }
}

static surety_address some_address(uint32_t n) {
    surety_address where = {n, 1, 2, 3, 4};
    uint32_t bits[4];
    surety_random_bits(77, &where, 0, bits);
    return (surety_address){bits[0], bits[1] % SURETY_EPOCH_LIMIT, bits[1] >> 20,
                            bits[2] % SURETY_SAMPLE_LIMIT, (uint8_t)bits[3]};
}

static uint64_t some_seed(uint32_t n) {
    return n == 0 ? 0 : n == 1 ? SURETY_SEED_LIMIT - 1 : n * UINT64_C(0x9E3779B97F4A7C15) >> 1;
}

static void uniform_has_the_bits_of_base(void **state) {
    (void)state;
    enum { LONGEST = 300 };
    float out[LONGEST + 2];
    for (uint32_t n = 0; n < check_count(1000, 20000); n++) {
        size_t count = n % LONGEST, offset = n / 7 % 2; /* aligned or not */
        surety_address a = some_address(n);
        uint64_t seed = some_seed(n);
        EACH_LEVEL(level) {
            out[count + offset] = STRANGE;
            surety_kernels_at(level)->uniform(seed, &a, out + offset, count);
            check_that(out[count + offset], ==, STRANGE);
            for (size_t j = 0; j < count; j++)
                check_that(out[offset + j], ==, surety_random_uniform(seed, &a, j));
        }
    }
}

static float noisy(surety_level level, float x, float n, float scale, float lo, float hi) {
    float moved = step(level, scale, n, x);
    return moved < lo ? lo : moved > hi ? hi : moved;
}

static void noise_is_drawn_added_and_clipped(void **state) {
    (void)state;
    enum { LONGEST = 300 };
    float x[LONGEST + 2], out[LONGEST + 2];
    const float scales[] = {0.01f, 0, 1, 3e38f, 1e-40f};
    for (uint32_t n = 0; n < check_count(1000, 20000); n++) {
        size_t count = n % LONGEST, offset = n / 7 % 2;
        surety_address a = some_address(n);
        uint64_t seed = some_seed(n);
        float scale = scales[n % 5], lo = n % 3 ? 0 : -INFINITY, hi = n % 3 ? 1 : INFINITY;
        fill(x, LONGEST + 2, n);
        x[offset + 3] = NAN;
        EACH_LEVEL(level) {
            bool in_place = n % 2;
            memcpy(out, x, sizeof out);
            out[count + offset] = STRANGE;
            surety_kernels_at(level)->noise(&(surety_noise){seed, a, scale, lo, hi},
                                            (in_place ? out : x) + offset, out + offset, count);
            check_that(out[count + offset], ==, STRANGE);
            for (size_t j = 0; j < count; j++) {
                float u = surety_random_noise(seed, &a, j);
                assert_true(same(out[offset + j], noisy(level, x[offset + j], u, scale, lo, hi)));
            }
        }
    }
}

/* Coordinate j of a draw in double, and the radius that its error is measured by. */
typedef double (*exact_fn)(uint64_t seed, const surety_address *a, size_t j, double *radius);

static const double tau = 6.283185307179586;

static double exact_normal(uint64_t seed, const surety_address *a, size_t j, double *radius) {
    double u = (double)surety_random_uniform(seed, a, j / 2 * 2);
    double v = (double)surety_random_uniform(seed, a, j / 2 * 2 + 1);
    *radius = sqrt(-2 * log(u));
    return *radius * (j % 2 ? sin(tau * v) : cos(tau * v));
}

static double exact_direction(uint64_t seed, const surety_address *a, size_t j, double *radius) {
    size_t word = j / 32 * 16 + j % 16;
    uint32_t bits[4];
    surety_random_bits(seed, a, (uint32_t)(word / 4), bits);
    double u = ((bits[word % 4] >> 16) + 0.5) / 65536, v = ((bits[word % 4] & 65535) + 0.5) / 65536;
    *radius = sqrt(-2 * log(u));
    return *radius * (j % 32 < 16 ? cos(tau * v) : -sin(tau * v));
}

/* Against Box-Muller in double on the same words; same bits on all levels with FMA; any count. */
static void check_box_muller(bool direction, size_t longest, uint32_t rounds) {
    float out[601], first[601];
    exact_fn value_at = direction ? exact_direction : exact_normal;
    for (uint32_t n = 0; n < rounds; n++) {
        size_t count = n % longest;
        surety_address a = some_address(n);
        uint64_t seed = some_seed(n);
        EACH_LEVEL(level) {
            const surety_kernels *k = surety_kernels_at(level);
            out[count] = STRANGE;
            (direction ? k->direction : k->normal)(seed, &a, out, count);
            check_that(out[count], ==, STRANGE);
            for (size_t j = 0; j < count; j++) {
                double radius, value = value_at(seed, &a, j, &radius);
                check_that(fabs((double)out[j] - value), <=, 8 * 0x1p-24 * radius);
            }
            if (level == SURETY_AVX2) memcpy(first, out, sizeof out);
            for (size_t j = 0; level > SURETY_AVX2 && j < count; j++) assert_true(same(out[j], first[j]));
        }
    }
}

static void normal_is_box_muller(void **state) {
    (void)state;
    check_box_muller(false, 100, (uint32_t)check_count(1000, 40000));
}

static void direction_is_box_muller(void **state) {
    (void)state;
    check_box_muller(true, 600, (uint32_t)check_count(600, 20000));
}

/* Moments 0, 1, 0, 3 within 5 standard errors (variances 1, 2, 15, 96); tails beyond 2, 3, 4; the two of a
 * pair, which lie so far apart, uncorrelated, also in their squares. */
static void check_moments(void (*draw)(uint64_t, const surety_address *, float *, size_t), size_t apart) {
    enum { CHUNK = 1000 };
    float z[CHUNK];
    double s[5] = {0}, pair = 0, squares = 0, beyond[3] = {0}, n = 0, both = 0;
    const double p[3] = {0.04550026389635842, 0.002699796063260207, 6.334248366623996e-05};
    for (uint32_t row = 0; row < check_count(300, 30000); row++) {
        surety_address a = {row, 0, 0, 0, SURETY_FOR_START};
        draw(1, &a, z, CHUNK);
        for (size_t j = 0; j < CHUNK; j++) {
            double v = (double)z[j];
            for (int k = 1; k <= 4; k++) s[k] += pow(v, k);
            for (int k = 0; k < 3; k++) beyond[k] += fabs(v) > k + 2;
            if (j / apart % 2 == 0) continue;
            double other = (double)z[j - apart];
            pair += v * other, squares += (v * v - 1) * (other * other - 1), both++;
        }
        n += CHUNK;
    }
    double se = 5 / sqrt(n), pairs = 5 / sqrt(both);
    check_that(fabs(s[1] / n), <, se);
    check_that(fabs(s[2] / n - 1), <, se * sqrt(2));
    check_that(fabs(s[3] / n), <, se * sqrt(15));
    check_that(fabs(s[4] / n - 3), <, se * sqrt(96));
    for (int k = 0; k < 3; k++) check_that(fabs(beyond[k] / n - p[k]), <, se * sqrt(p[k]));
    check_that(fabs(pair / both), <, pairs);
    check_that(fabs(squares / both), <, pairs * 2);
}

static void normal_moments(void **state) {
    (void)state;
    check_moments(surety_vector_normal, 1);
    check_moments(surety_vector_direction, 16);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Half a word is enough: the largest of 784 normal |z| has the distribution function erf(t / sqrt 2)^784, by
 * Kolmogorov and Smirnov (above 2.2 with probability 1.2e-4). Uniform draws of 16 bits fail such a test. */
static void directions_are_fine_enough(void **state) {
    (void)state;
    enum { D = 784 };
    float z[D];
    size_t n = (size_t)check_count(20000, 1000000);
    double *u = malloc(n * sizeof *u), distance = 0, count = (double)n;
    for (uint32_t i = 0; i < n; i++) {
        surety_address a = {i, 0, 0, 0, SURETY_FOR_START};
        surety_vector_direction(1, &a, z, D);
        float most = 0;
        for (size_t j = 0; j < D; j++) most = fmaxf(most, fabsf(z[j]));
        u[i] = pow(erf((double)most / sqrt(2)), D);
    }
    qsort(u, n, sizeof *u, ascending);
    for (size_t i = 0; i < n; i++)
        distance = fmax(distance, fmax((double)(i + 1) / count - u[i], u[i] - (double)i / count));
    check_that(distance * sqrt(count), <, 2.2);
    free(u);
}

/* The public names reach the kernels of the level in use. */
static void public_functions_use_the_level(void **state) {
    (void)state;
    const surety_kernels *k = surety_kernels_at(surety_cpu());
    float x[50], a[50], b[50];
    surety_address where = some_address(5);
    fill(x, 50, 1);
#define SAME(call_a, call_b) call_a, call_b, assert_memory_equal(a, b, sizeof a)
    SAME(surety_vector_exp(x, a, 50), k->exp(x, b, 50));
    SAME(surety_vector_sigmoid(x, a, 50), k->sigmoid(x, b, 50));
    SAME(surety_vector_tanh(x, a, 50), k->tanh(x, b, 50));
    SAME(surety_vector_uniform(1, &where, a, 50), k->uniform(1, &where, b, 50));
    SAME(surety_vector_normal(1, &where, a, 50), k->normal(1, &where, b, 50));
    SAME(surety_vector_direction(1, &where, a, 50), k->direction(1, &where, b, 50));
    surety_noise noise = {1, where, 1, 0, 1};
    SAME(surety_vector_noise(&noise, x, a, 50), k->noise(&noise, x, b, 50));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_chains),
        cmocka_unit_test(products_of_wide_forests),
        cmocka_unit_test(products_of_many_features),
        cmocka_unit_test(forward_without_bias),
        cmocka_unit_test(outer_is_a_chain),
        cmocka_unit_test(products_agree_with_openblas),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(packing_again),
        cmocka_unit_test(weights_can_fail),
        cmocka_unit_test(elementary_within_4_ulp),
        cmocka_unit_test(elementary_special_values),
        cmocka_unit_test(elementary_counts_and_levels),
        cmocka_unit_test(uniform_has_the_bits_of_base),
        cmocka_unit_test(noise_is_drawn_added_and_clipped),
        cmocka_unit_test(normal_is_box_muller),
        cmocka_unit_test(direction_is_box_muller),
        cmocka_unit_test(normal_moments),
        cmocka_unit_test(directions_are_fine_enough),
        cmocka_unit_test(public_functions_use_the_level),
    };
    return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
