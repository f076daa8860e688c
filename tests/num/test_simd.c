/* v16 at every level that the CPU has, bit by bit against scalar C, lane by lane; the elementary functions
 * against SLEEF's scalar versions of the same deterministic sets, whose promise is that all vector lengths
 * agree. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <sleef.h>
#include <stdbool.h>

#include "base/cpu.h"
#include "base/random.h"
#include "num/simd_check.h"

/* sleef.h declares these only to files compiled for a CPU with FMA. */
float Sleef_finz_expf1_u10purecfma(float a);
float Sleef_finz_tanhf1_u10purecfma(float a);
float Sleef_finz_logf1_u10purecfma(float a);
Sleef_float_2 Sleef_finz_sincospif1_u35purecfma(float a);

typedef void (*simd_fn)(simd_op op, const float *a, const float *b, const float *c, float *out);
#define ENTRY(level) surety_simd_check_##level,
static const simd_fn levels[] = {SURETY_EACH_LEVEL(ENTRY)};
#define NAME(op) #op,
static const char *const names[] = {SIMD_OPS(NAME)};

/* The tree of v16_sum and v16_largest. */
static float tree(const float *a, bool add) {
    float x[16];
    memcpy(x, a, sizeof x);
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++)
            x[i] = add ? x[i] + x[i + half] : x[i] > x[i + half] ? x[i] : x[i + half];
    return x[0];
}

static float sigmoid_twin(float a, float e) {
    return (a < 0 ? e : 1) / (1 + e);
}

static float elementary_twin(simd_op op, float a, bool fused) {
    switch (op) {
        case SIMD_exp:
            return fused ? Sleef_finz_expf1_u10purecfma(a) : Sleef_cinz_expf1_u10purec(a);
        case SIMD_tanh:
            return fused ? Sleef_finz_tanhf1_u10purecfma(a) : Sleef_cinz_tanhf1_u10purec(a);
        case SIMD_log:
            return fused ? Sleef_finz_logf1_u10purecfma(a) : Sleef_cinz_logf1_u10purec(a);
        case SIMD_sine:
            return fused ? Sleef_finz_sincospif1_u35purecfma(a).x : Sleef_cinz_sincospif1_u35purec(a).x;
        case SIMD_cosine:
            return fused ? Sleef_finz_sincospif1_u35purecfma(a).y : Sleef_cinz_sincospif1_u35purec(a).y;
        default:
            return sigmoid_twin(a, elementary_twin(SIMD_exp, -fabsf(a), fused));
    }
}

static float top23_twin(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return (float)(bits >> 9);
}

/* Of the larger of |a| and FLT_MIN = m 2^n, n or m. */
static float split_twin(float a, bool mantissa) {
    int n;
    float m = frexpf(fabsf(a) > FLT_MIN ? fabsf(a) : FLT_MIN, &n); /* 0.5 <= m < 1 */
    if (m < 0.75f) m *= 2, n--;
    return mantissa ? m : (float)n;
}

/* Lane i of the operation. */
static float twin(simd_op op, const float *a, const float *b, const float *c, int i, bool fused) {
    unsigned bits = 0;
    switch (op) {
        case SIMD_zero:
            return 0;
        case SIMD_set1:
            return a[3];
        case SIMD_add:
            return a[i] + b[i];
        case SIMD_sub:
            return a[i] - b[i];
        case SIMD_mul:
            return a[i] * b[i];
        case SIMD_div:
            return a[i] / b[i];
        case SIMD_fma:
            return fused ? fmaf(a[i], b[i], c[i]) : a[i] * b[i] + c[i];
        case SIMD_fnma:
            return fused ? fmaf(-a[i], b[i], c[i]) : c[i] - a[i] * b[i];
        case SIMD_min:
            return a[i] < b[i] ? a[i] : b[i];
        case SIMD_max:
            return a[i] > b[i] ? a[i] : b[i];
        case SIMD_sqrt:
            return sqrtf(a[i]);
        case SIMD_abs:
            return fabsf(a[i]);
        case SIMD_neg:
            return -a[i];
        case SIMD_flip:
            return signbit(b[i]) ? -a[i] : a[i];
        case SIMD_exponent:
            return split_twin(a[i], false);
        case SIMD_mantissa:
            return split_twin(a[i], true);
        case SIMD_lt:
            return a[i] < b[i];
        case SIMD_le:
            return a[i] <= b[i];
        case SIMD_eq:
            return a[i] == b[i];
        case SIMD_bits:
            for (int j = 0; j < 16; j++) bits |= (unsigned)(a[j] < b[j]) << j;
            return (float)bits;
        case SIMD_top23:
            return top23_twin(a[i]);
        case SIMD_load_part:
            return i < 5 ? a[i] : 0;
        case SIMD_store_part:
            return i < 5 ? a[i] : c[i];
        case SIMD_sum:
            return tree(a, true);
        case SIMD_largest:
            return tree(a, false);
        default:
            return elementary_twin(op, a[i], fused);
    }
}

/* A NaN may differ from a NaN in its payload. */
static bool same(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* Random words: any float at all, plain numbers, or one of the special ones. */
static float draw(uint32_t bits, uint32_t kind) {
    const float special[] = {0,        -0.f,      INFINITY,   -INFINITY, NAN, FLT_MAX,
                             -FLT_MAX, 0x1p-149f, -0x1p-149f, FLT_MIN,   1,   -1};
    float any;
    memcpy(&any, &bits, sizeof any);
    if (kind % 4 == 0) return any;
    if (kind % 16 == 1) return special[bits % 12];
    return ((float)(int32_t)bits) * (kind % 4 == 2 ? 0x1p-31f : 0x1p-26f);
}

static void draw_lanes(uint32_t cell, float *lanes) {
    surety_address a = {0, 0, 0, 0, 0};
    for (uint32_t i = 0; i < 48; i++) {
        uint32_t bits[4];
        surety_random_bits(5, &a, cell * 48 + i, bits);
        lanes[i] = draw(bits[0], bits[1]);
    }
}

static void every_operation_at_every_level(void **state) {
    (void)state;
    long count = check_count(2000, 400000);
    for (long n = 0; n < count; n++) {
        float in[48], out[16];
        draw_lanes((uint32_t)n, in);
        if (n % 8 == 0) memcpy(in + 16, in, 8 * sizeof *in); /* equal lanes for the comparisons */
        for (surety_level level = 0; level <= surety_cpu_highest(); level++)
            for (simd_op op = 0; op < SIMD_COUNT; op++) {
                levels[level](op, in, in + 16, in + 32, out);
                for (int i = 0; i < 16; i++) {
                    if ((op == SIMD_exponent || op == SIMD_mantissa) && !isfinite(in[i])) continue;
                    float expected = twin(op, in, in + 16, in + 32, i, level != SURETY_GENERIC);
                    check(same(out[i], expected), "%s %s(%a, %a, %a): %a, not %a", surety_level_name(level),
                          names[op], (double)in[i], (double)in[16 + i], (double)in[32 + i], (double)out[i],
                          (double)expected);
                }
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_operation_at_every_level)};
    return cmocka_run_group_tests_name("simd", tests, NULL, NULL);
}
