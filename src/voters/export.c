/* C source text (voters/export.h): constants, comments, strings, and the arithmetic that kinds share.
 *
 * fma without libm. p = (double)a * b is exact: 24 + 24 <= 53 bits, and |p| >= 2^-298 is far from a double's
 * underflow. s = p + c rounded, and its error e = (p + c) - s, exactly, by Knuth's two-sum (no overflow:
 * |p|, |c| < 2^256). Where e is not 0, s is made *odd*: if its last bit is 0, it moves one place towards e.
 * That is p + c rounded to odd with 53 bits, and rounding it to the 24 bits of a float (fewer where the
 * result is subnormal) gives what rounding p + c at once gives, since 53 >= 24 + 2 (Boldo, Melquiond 2008).
 * s = 0 has e = 0. Infinite or not a number: e is not a number, and s is the answer.
 *
 * exp is v16_exp of num/simd.h, operation by operation; 2^n is a product in double, which is exact, and one
 * rounding to float.
 */
#include "voters/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/number.h"
#include "base/text.h"
#include "voters/kind.h"

/* ---- text ---- */

static int grow(surety_c_text *out, size_t more) {
    if (out->failed) return 0;
    if (out->length + more + 1 <= out->room) return 1;
    size_t room = 2 * (out->length + more + 1);
    char *text = realloc(out->text, room);
    if (!text) return out->failed = 1, 0;
    out->text = text, out->room = room;
    return 1;
}

void surety_c_put(surety_c_text *out, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = surety_vformat(NULL, 0, format, args);
    if (length >= 0 && grow(out, (size_t)length)) {
        surety_vformat(out->text + out->length, (size_t)length + 1, format, again);
        out->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void surety_c_free(surety_c_text *out) {
    free(out->text);
    *out = (surety_c_text){0};
}

surety_status surety_c_end(const surety_c_text *out, surety_error *err) {
    return out->failed ? surety_fail(err, SURETY_E_MEMORY, "no memory for the exported text") : SURETY_OK;
}

const char *surety_c_float(float value, char text[32]) {
    surety_format(text, 32, "%af", (double)value);
    return text;
}

const char *surety_c_double(double value, char text[32]) {
    surety_format(text, 32, "%a", value);
    return text;
}

/* A constant of an array: commas and lines. */
static void element(surety_c_text *out, size_t i, size_t per_line, const char *text) {
    surety_c_put(out, "%s%s", i % per_line ? ", " : i ? ",\n    " : "\n    ", text);
}

void surety_c_floats(surety_c_text *out, const char *name, const float *values, size_t rows, size_t width,
                     size_t stride) {
    size_t count = rows * width;
    char text[32];
    surety_c_put(out, "static const float %s[%zu] = {", name, count ? count : 1);
    for (size_t i = 0; i < count; i++)
        element(out, i, 6, surety_c_float(values[i / width * stride + i % width], text));
    surety_c_put(out, "%s};\n", count ? "" : "0");
    out->data += (count ? count : 1) * sizeof *values;
}

void surety_c_doubles(surety_c_text *out, const char *name, const double *values, size_t count) {
    char text[32];
    surety_c_put(out, "static const double %s[%zu] = {", name, count ? count : 1);
    for (size_t i = 0; i < count; i++) element(out, i, 4, surety_c_double(values[i], text));
    surety_c_put(out, "%s};\n", count ? "" : "0");
    out->data += (count ? count : 1) * sizeof *values;
}

void surety_c_numbers(surety_c_text *out, const char *name, const int32_t *values, size_t count) {
    size_t i = 0;
    char text[32];
    while (i < count && values[i] >= INT16_MIN && values[i] <= INT16_MAX) i++;
    int small = i == count;
    surety_c_put(out, "static const %s %s[%zu] = {", small ? "int16_t" : "int32_t", name, count ? count : 1);
    for (i = 0; i < count; i++) {
        surety_format(text, sizeof text, "%ld", (long)values[i]);
        element(out, i, 16, text);
    }
    surety_c_put(out, "%s};\n", count ? "" : "0");
    out->data += (count ? count : 1) * (small ? sizeof(int16_t) : sizeof(int32_t));
}

/* ---- texts of others ---- */

/* One character as a comment may hold it, after `last`. */
static size_t comment_character(const char *text, char last, char shown[16]) {
    uint32_t c = 0;
    size_t bytes = surety_utf8_next(text, &c);
    if (!bytes) bytes = 1, c = 0xfffd;
    if (c == '\n' || c == '\t') c = ' ';
    if (c < 32 || c > 126)
        snprintf(shown, 16, c < 0x10000 ? "\\u%04lx" : "\\U%08lx", (unsigned long)c);
    else if ((c == '/' && last == '*') || (c == '*' && last == '/') || (c == '?' && last == '?') ||
             (c == '\\'))
        snprintf(shown, 16, c == '\\' ? "\\u005c" : " %c", (int)c);
    else
        snprintf(shown, 16, "%c", (int)c);
    return bytes;
}

void surety_c_comment(surety_c_text *out, const char *text) {
    char last = ' ', shown[16];
    size_t column = 0;
    surety_c_put(out, " * ");
    while (*text) {
        text += comment_character(text, last, shown);
        size_t word = strcspn(text, " \n\t");
        if (*shown == ' ' && !shown[1] && column && column + 1 + word > 96) {
            surety_c_put(out, "\n * ");
            column = 0, last = ' ';
            continue;
        }
        surety_c_put(out, "%s", shown);
        column += strlen(shown);
        last = shown[strlen(shown) - 1];
    }
    surety_c_put(out, "\n");
}

void surety_c_string(surety_c_text *out, const char *text) {
    surety_c_put(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    (c && strchr(" _-+.,:;()=<>", c));
        if (plain)
            surety_c_put(out, "%c", c);
        else
            surety_c_put(out, "\\%03o", c);
    }
    surety_c_put(out, "\"");
}

/* ---- arithmetic ---- */

surety_status surety_c_need_fma(const surety_voters *v, surety_c_text *out, surety_error *err) {
    if (surety_cpu() == SURETY_GENERIC) {
        surety_fail(err, SURETY_E_USAGE,
                    "at the CPU level generic, %s predict with other bits than an export", v->kind->words);
        surety_fail_expected(err, "a CPU with FMA, and no SURETY_CPU=generic");
        return SURETY_E_USAGE;
    }
    surety_c_put(
        out,
        "/* a b + c with one rounding. The product is exact in double; the sum is rounded to odd, so that\n"
        " * the second rounding, to float, is the only one that counts. */\n"
        "static float fma_of(float a, float b, float c) {\n"
        "    union { double value; uint64_t bits; } s;\n"
        "    double p = (double)a * (double)b, d = (double)c, t, e;\n"
        "    s.value = p + d;\n"
        "    t = s.value - p;\n"
        "    e = (p - (s.value - t)) + (d - t);\n"
        "    if ((e > 0 || e < 0) && !(s.bits & 1)) {\n"
        "        if ((e > 0) == (s.value > 0)) s.bits += 1;\n"
        "        else s.bits -= 1;\n"
        "    }\n"
        "    return (float)s.value;\n"
        "}\n\n");
    return SURETY_OK;
}

void surety_c_need_exp(surety_c_text *out) {
    surety_c_put(out,
                 "/* exp(a), a <= 0: 2^n exp(s), a = n ln 2 + s */\n"
                 "static float exp_of(float a) {\n"
                 "    union { double value; uint64_t bits; } power;\n"
                 "    float n, s, u;\n"
                 "    if (a != a) return a;\n"
                 "    if (a < -104.0f) a = -104.0f;\n"
                 "    n = a * 0x1.715476p+0f;\n"
                 "    n = n + 12582912.0f; /* 1.5 2^23: rounds to a whole number */\n"
                 "    n = n - 12582912.0f;\n"
                 "    s = fma_of(-n, 0x1.7f7d1cp-20f, fma_of(-n, 0x1.62e4p-1f, a));\n"
                 "    u = 0x1.a057b4p-13f;\n"
                 "    u = fma_of(u, s, 0x1.6d2d92p-10f);\n"
                 "    u = fma_of(u, s, 0x1.11114cp-7f);\n"
                 "    u = fma_of(u, s, 0x1.5554f4p-5f);\n"
                 "    u = fma_of(u, s, 0x1.555556p-3f);\n"
                 "    u = fma_of(u, s, 0.5f);\n"
                 "    u = fma_of(s * s, u, s);\n"
                 "    u = u + 1.0f;\n"
                 "    power.bits = (uint64_t)(1023 + (int32_t)n) << 52;\n"
                 "    return (float)((double)u * power.value);\n"
                 "}\n\n"
                 "static float clamp_of(float h, float least) {\n"
                 "    h = 1.0f < h ? 1.0f : h;\n"
                 "    return least > h ? least : h;\n"
                 "}\n\n");
}

void surety_c_need_tanh(surety_c_text *out) {
    surety_c_put(out,
                 "static float tanh_of(float z) {\n"
                 "    float a = z < 0 ? -z : z, s = a * a, e, u;\n"
                 "    if (a < 0.625f) {\n"
                 "        u = -0x1.75e1cap-8f;\n"
                 "        u = fma_of(u, s, 0x1.52269ap-6f);\n"
                 "        u = fma_of(u, s, -0x1.b83c5ap-5f);\n"
                 "        u = fma_of(u, s, 0x1.110726p-3f);\n"
                 "        u = fma_of(u, s, -0x1.555532p-2f);\n"
                 "        u = fma_of(u * s, a, a);\n"
                 "    } else {\n"
                 "        e = exp_of(-2.0f * a);\n"
                 "        u = (1.0f - e) / (1.0f + e);\n"
                 "    }\n"
                 "    return z < 0 ? -u : u;\n"
                 "}\n\n");
}

void surety_c_need_softmax(size_t K, surety_c_text *out) {
    surety_c_put(out,
                 "/* softmax in place, the largest taken out first */\n"
                 "static void softmax_of(float *h) {\n"
                 "    float most = h[0], sum = 0;\n"
                 "    int32_t k;\n"
                 "    for (k = 1; k < %zu; k++) most = most > h[k] ? most : h[k];\n"
                 "    for (k = 0; k < %zu; k++) {\n"
                 "        h[k] = exp_of(h[k] - most);\n"
                 "        sum += h[k];\n"
                 "    }\n"
                 "    for (k = 0; k < %zu; k++) h[k] = clamp_of(h[k] / sum, 0.0f);\n"
                 "}\n\n",
                 K, K, K);
}

/* ---- asking the kind ---- */

surety_status surety_voters_export(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                   surety_error *err) {
    *facts = (surety_export_facts){0};
    if (v->kind->write_c) return v->kind->write_c(v, out, facts, err);
    surety_fail(err, SURETY_E_USAGE, "voters of the kind %s cannot be exported", v->kind->name);
    surety_fail_expected(err, "a model of another kind");
    return SURETY_E_USAGE;
}

/* Sums of three uniform draws, of several sizes: the same bits at every CPU level. */
void surety_voters_probe(const surety_voters *v, uint32_t sample, float *x) {
    static const float sizes[] = {1, 0.25f, 4, 0.0625f, 16};
    for (size_t j = 0; j < v->d; j++) {
        float sum = 0;
        for (uint32_t i = 0; i < 3; i++)
            sum += surety_random_uniform(
                0, &(surety_address){.row = sample, .sample = i, .purpose = SURETY_FOR_EXPORT}, j);
        x[j] = (sum - 1.5f) * sizes[sample % (sizeof sizes / sizeof *sizes)];
    }
    if (v->kind->probe) v->kind->probe(v, sample, x);
}
