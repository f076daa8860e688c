/* The format `c`: one C99 file. Its parts, in order: head comment, what it demands of the compiler,
 * declarations, the voters (their kind writes them), the vote, the preparation of columns, the self-check.
 *
 * Operations of the vote are those of voters/vote.c and forest_kernel.c, in their order: products and sums in
 * double, rounded apart. Those of the preparation are data/preparation.c's.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "model/export.h"

/* Bytes that all functions of a file are below, compiled by gcc or clang for x86 or ARM at any level of
 * optimisation: their text hardly depends on the model (tests/model/test_export.py measures it). */
enum { CODE = 16384 };

typedef struct writing {
    const surety_model *m;
    const surety_export_settings *s;
    surety_c_text *out;
    const char *p;                    /* prefix, and */
    char P[SURETY_EXPORT_PREFIX + 1]; /* in capitals */
    size_t H, K, width, d, columns;
    int prepared; /* columns are not simply features */
    int keeps;    /* features may be NaN */
} writing;

/* One line per feature. */
static void put_tolerances(const writing *w) {
    const surety_export_settings *s = w->s;
    char text[400], numbers[3][32];
    if (s->tolerance_count)
        surety_c_comment(w->out,
                         "Its tolerances: how far each feature may move either way, in the units of the "
                         "table, and the range in which it stays:");
    for (size_t j = 0; j < s->tolerance_count; j++) {
        int length = surety_format(text, sizeof text, "  %.200s: %s", s->tolerance_features[j],
                                   surety_shortest(s->tolerance_radius[j], numbers[0]));
        if (!isnan(s->tolerance_lo[j]) || !isnan(s->tolerance_hi[j]))
            snprintf(text + length, sizeof text - (size_t)length, ", %s .. %s",
                     isnan(s->tolerance_lo[j]) ? "" : surety_shortest(s->tolerance_lo[j], numbers[1]),
                     isnan(s->tolerance_hi[j]) ? "" : surety_shortest(s->tolerance_hi[j], numbers[2]));
        surety_c_comment(w->out, text);
    }
}

static void put_certificate(const writing *w) {
    char text[128];
    if (!w->s->digest) {
        surety_c_comment(w->out, "Certificate: none was given.");
        return;
    }
    snprintf(text, sizeof text, "Certificate, digest %.64s:", w->s->digest);
    surety_c_comment(w->out, text);
    surety_c_comment(w->out, w->s->claim);
    put_tolerances(w);
}

static void put_head(const writing *w, const surety_export_result *r, const char *sum) {
    surety_c_text *out = w->out;
    const surety_voters *v = w->m->voters;
    char number[4], text[512];
    surety_c_put(out, "/* %s: written by surety export --format c --prefix %s\n *\n", w->p, w->p);
    surety_format(text, sizeof text,
                  "A vote of %zu voter%s (%s) over %zu features, made from %zu columns; %zu classes. Model, "
                  "SHA-256: %s",
                  w->H, w->H == 1 ? "" : "s", surety_voters_kind(v), w->d, w->columns, w->K, sum);
    surety_c_comment(out, text);
    surety_c_put(out, " *\n");
    put_certificate(w);
    surety_c_put(out, " *\n");
    surety_format(text, sizeof text,
                  "Arrays of constants: %llu bytes; on the stack: %llu bytes; code: below %d bytes. One "
                  "prediction: at most %llu comparisons with thresholds, %llu multiply-adds.",
                  (unsigned long long)r->data, (unsigned long long)r->stack, CODE,
                  (unsigned long long)r->comparisons, (unsigned long long)r->products);
    surety_c_comment(out, text);
    surety_c_comment(out,
                     "Demanded: IEEE-754 binary32 and binary64, rounding to nearest, no excess precision, no "
                     "contraction (a*b + c keeps both roundings), subnormal numbers, no -ffast-math.");
    surety_c_put(out, " *\n");
    for (size_t k = 0; k < w->K; k++) {
        snprintf(text, sizeof text, "class %zu: %.300s", k, surety_model_class(w->m, k, number));
        surety_c_comment(out, text);
    }
    surety_c_put(out, " */\n");
}

static void put_column_comments(const writing *w) {
    const surety_preparation *r = w->m->preparation;
    char text[700];
    if (!r) return;
    surety_c_put(w->out,
                 "\n/* The columns, from 0; the number of a category is its place, -1 is any other.\n");
    for (size_t j = 0; j < r->column_count; j++) {
        const surety_column_preparation *c = &r->columns[j];
        surety_format(text, sizeof text, "%zu: %.200s%s%s", j, c->name, c->categorical ? ", categories:" : "",
                      c->constant ? " (not used)" : "");
        surety_c_comment(w->out, text);
        for (size_t k = 0; c->categorical && !c->constant && k < c->category_count; k++) {
            snprintf(text, sizeof text, "   %zu: %.600s", k, c->categories[k]);
            surety_c_comment(w->out, text);
        }
    }
    surety_c_put(w->out, " */\n");
}

static void put_demands(const writing *w) {
    surety_c_put(
        w->out,
        "#include <float.h>\n#include <stdint.h>\n\n"
        "#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || FLT_MAX_EXP != 128 || FLT_MIN_EXP != -125 || \\\n"
        "    DBL_MANT_DIG != 53 || DBL_MAX_EXP != 1024 || DBL_MIN_EXP != -1021\n"
        "#error \"float and double must be IEEE-754 binary32 and binary64\"\n#endif\n"
        "#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0\n"
        "#error \"no excess precision is allowed (32-bit x86: -msse2 -mfpmath=sse)\"\n#endif\n"
        "#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)\n"
        "#error \"compile without -ffast-math\"\n#endif\n"
        "#if defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)\n"
        "#error \"compile without -funsafe-math-optimizations\"\n#endif\n"
        "#if defined(__GNUC__) && !defined(__clang__)\n"
        "#if (defined(__FP_FAST_FMA) || defined(__FP_FAST_FMAF)) && !defined(__STRICT_ANSI__) && \\\n"
        "    !defined(%s_NO_CONTRACTION)\n"
        "#error \"compile with -std=c99, or with -ffp-contract=off -D%s_NO_CONTRACTION\"\n#endif\n"
        "#else\n#pragma STDC FP_CONTRACT OFF\n#endif\n",
        w->P, w->P);
}

static void put_declarations(const writing *w) {
    const char *p = w->p, *P = w->P;
    surety_c_put(
        w->out,
        "\n#define %s_COLUMNS %zu\n#define %s_FEATURES %zu\n#define %s_CLASSES %zu\n"
        "#define %s_VOTES %zu /* 1 for two classes: the vote in [-1, 1], above 0 for class 1; else a score "
        "each */\n"
        "#define %s_TIED %d     /* the answer where no class wins */\n"
        "#define %s_REFUSED -1  /* the answer to a row with a value that is infinite, too large to be "
        "scaled,\n"
        "                        * or missing (NaN) where none may be */\n\n"
        "/* The class of a row of the table; votes (%s_VOTES) are set unless the row is refused. */\n"
        "int32_t %s_predict(const float *columns, double *votes);\n"
        "/* Its two halves. prepare returns 0, or 1 + the column that is refused. */\n"
        "int32_t %s_prepare(const float *columns, float *features);\n"
        "int32_t %s_vote(const float *features, double *votes);\n"
        "/* What people call class k. */\n"
        "const char *%s_class(int32_t k);\n"
        "/* With -D%s_SELF_CHECK: 0 if all test vectors have their bits, 1 + the first that has not; below "
        "0\n"
        " * if the machine's arithmetic is not what is demanded above. */\n"
        "int32_t %s_self_check(void);\n"
        "\n#ifndef %s_DECLARE /* defined: only the declarations above */\n\n",
        P, w->columns, P, w->d, P, w->K, P, w->width, P, SURETY_TIED, P, P, p, p, p, p, P, p, P);
}

/* ---- the vote ---- */

static void put_vote_two(const writing *w) {
    surety_c_put(
        w->out,
        "    double sum = 0, part;\n"
        "    float h[%zu], v;\n"
        "    int32_t t;\n"
        "    if (!row_fine(features)) return %s_REFUSED;\n"
        "    voters(features, h);\n"
        "    for (t = 0; t < %zu; t++) {\n"
        "        v = h[t];\n%s"
        "        part = weight_of[t] * (double)v;\n"
        "        sum = sum + part;\n"
        "    }\n"
        "    sum = sum > 1 ? 1 : sum < -1 ? -1 : sum;\n"
        "    votes[0] = sum;\n"
        "    return sum > 0 ? 1 : sum < 0 ? 0 : %s_TIED;\n"
        "}\n\n",
        w->H, w->P, w->H,
        w->m->facts.voter_set == SURETY_SIGNED ? "        v = v > 0 ? 1.0f : v < 0 ? -1.0f : v;\n" : "",
        w->P);
}

/* One-hot scores of the signed set: 1 for the only largest; none where several are, whose votes are 1/K each;
 * what is not a number makes all of them so. */
static void put_label(const writing *w) {
    surety_c_put(w->out,
                 "/* The signed vote: adds q times the label of a voter to votes, and leaves it in h. */\n"
                 "static void label_of(float *h, double q, double *votes) {\n"
                 "    float most = h[0], nothing = 0, count = 0, named;\n"
                 "    int32_t k;\n"
                 "    double part;\n"
                 "    for (k = 0; k < %zu; k++) {\n"
                 "        most = most > h[k] ? most : h[k];\n"
                 "        nothing = nothing + 0.0f * h[k];\n"
                 "    }\n"
                 "    for (k = 0; k < %zu; k++) count += h[k] == most ? 1.0f : 0.0f;\n"
                 "    for (k = 0; k < %zu; k++) {\n"
                 "        named = count == 1.0f ? (h[k] == most ? 1.0f : 0.0f) : 0.0f;\n"
                 "        part = q * (double)(nothing + (count == 1.0f ? named : 1.0f / %zu.0f));\n"
                 "        votes[k] = votes[k] + part;\n"
                 "        h[k] = named + nothing;\n"
                 "    }\n"
                 "}\n\n",
                 w->K, w->K, w->K, w->K);
}

static void put_wins(const writing *w) {
    surety_c_put(w->out,
                 "/* Does class y beat every other one? */\n"
                 "static int wins(const float *h, int32_t y) {\n"
                 "    int32_t t, k;\n"
                 "    for (k = 0; k < %zu; k++) {\n"
                 "        double margin = 0, part;\n"
                 "        for (t = 0; t < %zu; t++) {\n"
                 "            part = (double)h[t * %zu + y] - (double)h[t * %zu + k];\n"
                 "            part = weight_of[t] * part;\n"
                 "            margin = margin + part;\n"
                 "        }\n"
                 "        if (k != y && !(margin > 0)) return 0;\n"
                 "    }\n"
                 "    return 1;\n"
                 "}\n\n",
                 w->K, w->H, w->K, w->K);
}

static void put_vote_many(const writing *w) {
    int is_signed = w->m->facts.voter_set == SURETY_SIGNED;
    surety_c_put(w->out,
                 "    float h[%zu];\n"
                 "    int32_t t, k;\n"
                 "    if (!row_fine(features)) return %s_REFUSED;\n"
                 "    voters(features, h);\n"
                 "    for (k = 0; k < %zu; k++) votes[k] = 0;\n",
                 w->H * w->K, w->P, w->K);
    if (is_signed)
        surety_c_put(w->out, "    for (t = 0; t < %zu; t++) label_of(h + t * %zu, weight_of[t], votes);\n",
                     w->H, w->K);
    else
        surety_c_put(w->out,
                     "    for (t = 0; t < %zu; t++)\n"
                     "        for (k = 0; k < %zu; k++) {\n"
                     "            double part = weight_of[t] * (double)h[t * %zu + k];\n"
                     "            votes[k] = votes[k] + part;\n"
                     "        }\n",
                     w->H, w->K, w->K);
    surety_c_put(w->out,
                 "    for (k = 0; k < %zu; k++) votes[k] = votes[k] > 1 ? 1 : votes[k];\n"
                 "    for (k = 0; k < %zu; k++) if (wins(h, k)) return k;\n"
                 "    return %s_TIED;\n"
                 "}\n\n",
                 w->K, w->K, w->P);
}

static void put_vote(const writing *w) {
    surety_c_doubles(w->out, "weight_of", w->m->posterior, w->H);
    surety_c_put(w->out,
                 "\n/* No feature is infinite%s. */\n"
                 "static int row_fine(const float *features) {\n"
                 "    int32_t j;\n"
                 "    for (j = 0; j < %zu; j++) {\n"
                 "        float v = features[j];\n"
                 "        if (%sv - v != 0) return 0;\n"
                 "    }\n"
                 "    return 1;\n"
                 "}\n\n",
                 w->keeps ? "" : " or missing", w->d, w->keeps ? "v == v && " : "");
    if (w->width > 1 && w->m->facts.voter_set == SURETY_SIGNED) put_label(w);
    if (w->width > 1) put_wins(w);
    surety_c_put(w->out, "int32_t %s_vote(const float *features, double *votes) {\n", w->p);
    if (w->width == 1)
        put_vote_two(w);
    else
        put_vote_many(w);
}

/* ---- columns ---- */

static surety_status put_column_arrays(const writing *w, surety_error *err) {
    const surety_preparation *r = w->m->preparation;
    size_t C = w->columns;
    int32_t *numbers;
    float *floats;
    SURETY_TRY(surety_alloc(&numbers, 3 * C, sizeof *numbers, err));
    surety_status status = surety_alloc(&floats, 3 * C, sizeof *floats, err);
    for (size_t j = 0; j < C && status == SURETY_OK; j++) {
        const surety_column_preparation *c = &r->columns[j];
        numbers[j] = c->categorical | c->constant << 1 | c->flag << 2;
        numbers[C + j] = (int32_t)c->first;
        numbers[2 * C + j] = c->constant ? 0 : (int32_t)c->category_count;
        floats[j] = c->shift, floats[C + j] = c->factor, floats[2 * C + j] = c->median;
    }
    if (status == SURETY_OK) {
        surety_c_put(
            w->out, "/* 1: a category, 2: constant, not used, 4: has a feature that says it is missing */\n");
        surety_c_numbers(w->out, "column_kind", numbers, C);
        surety_c_numbers(w->out, "column_first", numbers + C, C);
        surety_c_numbers(w->out, "column_categories", numbers + 2 * C, C);
        surety_c_floats(w->out, "column_shift", floats, 1, C, C);
        surety_c_floats(w->out, "column_factor", floats + C, 1, C, C);
        surety_c_floats(w->out, "column_median", floats + 2 * C, 1, C, C);
        surety_free(floats);
    }
    surety_free(numbers);
    return status;
}

static void put_prepare_columns(const writing *w) {
    surety_missing missing = w->m->preparation->missing;
    surety_c_put(
        w->out,
        "\nint32_t %s_prepare(const float *columns, float *features) {\n"
        "    int32_t j, k;\n"
        "    for (j = 0; j < %zu; j++) {\n"
        "        float value = columns[j], *z = features + column_first[j];\n"
        "        int kind = column_kind[j], missing = value != value;\n%s"
        "        if (kind & 1) {\n"
        "            for (k = 0; k < column_categories[j]; k++) z[k] = value == (float)k ? 1.0f : 0.0f;\n"
        "            if (kind & 4) z[column_categories[j]] = missing ? 1.0f : 0.0f;\n"
        "            continue;\n"
        "        }\n"
        "        if (!missing && value - value != 0) return 1 + j;\n"
        "        if (kind & 4) z[kind & 2 ? 0 : 1] = missing ? 1.0f : 0.0f;\n"
        "        if (kind & 2) continue;\n",
        w->p, w->columns, missing == SURETY_MISSING_ERROR ? "        if (missing) return 1 + j;\n" : "");
    if (missing == SURETY_MISSING_KEEP)
        surety_c_put(w->out,
                     "        if (missing) {\n            z[0] = value;\n            continue;\n        }\n");
    surety_c_put(w->out,
                 "        if (missing) value = column_median[j];\n"
                 "        value = value - column_shift[j];\n"
                 "        value = value * column_factor[j];\n"
                 "        if (value - value != 0) return 1 + j;\n"
                 "        z[0] = value;\n"
                 "    }\n"
                 "    return 0;\n"
                 "}\n\n");
}

static void put_prepare_plain(const writing *w) {
    surety_c_put(w->out,
                 "int32_t %s_prepare(const float *columns, float *features) {\n"
                 "    int32_t j;\n"
                 "    for (j = 0; j < %zu; j++) {\n"
                 "        float value = columns[j];\n"
                 "        if (%svalue - value != 0) return 1 + j;\n"
                 "        features[j] = value;\n"
                 "    }\n"
                 "    return 0;\n"
                 "}\n\n",
                 w->p, w->columns, w->keeps ? "value == value && " : "");
}

static surety_status put_columns(const writing *w, surety_error *err) {
    if (w->prepared) {
        SURETY_TRY(put_column_arrays(w, err));
        put_prepare_columns(w);
    } else {
        put_prepare_plain(w);
    }
    surety_c_put(w->out,
                 "int32_t %s_predict(const float *columns, double *votes) {\n"
                 "    float features[%zu];\n"
                 "    if (%s_prepare(columns, features)) return %s_REFUSED;\n"
                 "    return %s_vote(features, votes);\n"
                 "}\n\n",
                 w->p, w->d, w->p, w->P, w->p);
    return SURETY_OK;
}

static void put_classes(const writing *w) {
    char number[4];
    surety_c_put(w->out, "const char *%s_class(int32_t k) {\n    static const char *const names[%zu] = {",
                 w->p, w->K);
    for (size_t k = 0; k < w->K; k++) {
        surety_c_put(w->out, "%s\n        ", k ? "," : "");
        surety_c_string(w->out, surety_model_class(w->m, k, number));
    }
    surety_c_put(w->out,
                 "};\n    return k >= 0 && k < %zu ? names[k] : k == %d ? \"tied\" : \"refused\";\n}\n", w->K,
                 SURETY_TIED);
}

/* ---- the self-check ---- */

static void put_words(surety_c_text *out, const char *type, const char *name, const void *values,
                      size_t count, size_t bytes) {
    surety_c_put(out, "static const %s %s[%zu] = {", type, name, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        if (bytes == 4) {
            uint32_t small;
            memcpy(&small, (const char *)values + i * 4, 4);
            word = small;
        } else {
            memcpy(&word, (const char *)values + i * 8, 8);
        }
        surety_c_put(out, bytes == 4 ? "%s0x%08llx" : "%s0x%016llx",
                     i % 8 ? ", "
                     : i   ? ",\n    "
                           : "\n    ",
                     (unsigned long long)word);
        if (bytes == 8) surety_c_put(out, "ULL");
    }
    surety_c_put(out, "};\n");
}

static void put_self_check(const writing *w, const surety_vectors *v) {
    surety_c_put(w->out, "\n#ifdef %s_SELF_CHECK\n/* %zu rows of the table, their votes and classes. */\n",
                 w->P, v->count);
    put_words(w->out, "uint32_t", "vector_columns", v->x, v->count * v->columns, 4);
    put_words(w->out, "uint64_t", "vector_votes", v->votes, v->count * v->width, 8);
    surety_c_put(w->out, "static const uint8_t vector_class[%zu] = {", v->count);
    for (size_t i = 0; i < v->count; i++) surety_c_put(w->out, "%s%d", i ? ", " : "", v->classes[i]);
    surety_c_put(
        w->out,
        "};\n\n"
        "/* (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, and 0 if its product is rounded first. Subnormal numbers\n"
        " * exist. Ties are rounded to even. */\n"
        "static int32_t check_machine(void) {\n"
        "    volatile float a = 1.000244140625f, c = -1.00048828125f, least = FLT_MIN;\n"
        "    volatile double b = 0x1.0000000000001p+0, big = 0x1p+53;\n"
        "    float half = least / 2, sum = a * a + c;\n"
        "    double product = b * b - 0x1.0000000000002p+0;\n"
        "    if (sum != 0 || product != 0) return -1;\n"
        "    if (!(half > 0) || half * 2 != least) return -2;\n"
        "    if (big + 1 != 0x1p+53 || big + 3 != 0x1.0000000000002p+53) return -3;\n"
        "    return 0;\n"
        "}\n\n"
        "int32_t %s_self_check(void) {\n"
        "    union { float value; uint32_t bits; } narrow;\n"
        "    union { double value; uint64_t bits; } wide;\n"
        "    float columns[%zu];\n"
        "    double votes[%zu];\n"
        "    int32_t i, j;\n"
        "    if (check_machine()) return check_machine();\n"
        "    for (i = 0; i < %zu; i++) {\n"
        "        for (j = 0; j < %zu; j++) {\n"
        "            narrow.bits = vector_columns[i * %zu + j];\n"
        "            columns[j] = narrow.value;\n"
        "        }\n"
        "        if (%s_predict(columns, votes) != vector_class[i]) return 1 + i;\n"
        "        for (j = 0; j < %zu; j++) {\n"
        "            wide.value = votes[j];\n"
        "            if (wide.bits != vector_votes[i * %zu + j]) return 1 + i;\n"
        "        }\n"
        "    }\n"
        "    return 0;\n"
        "}\n"
        "#endif\n",
        w->p, w->columns, w->width, v->count, w->columns, w->columns, w->p, w->width, w->width);
}

/* ---- putting it together ---- */

/* The parts behind the head, which tells their sizes. */
static surety_status put_body(const writing *w, surety_export_result *r, surety_error *err) {
    surety_export_facts facts;
    surety_vectors vectors;
    SURETY_TRY(surety_voters_export(w->m->voters, w->out, &facts, err));
    put_vote(w);
    SURETY_TRY(put_columns(w, err));
    put_classes(w);
    SURETY_TRY(surety_vectors_make(&vectors, w->m, err));
    put_self_check(w, &vectors);
    surety_c_put(w->out, "#endif\n");
    r->data = w->out->data;
    r->stack = (w->d + w->H * w->width) * sizeof(float) + facts.stack;
    r->comparisons = facts.comparisons;
    r->products = facts.products;
    r->vectors = vectors.count;
    surety_vectors_free(&vectors);
    return SURETY_OK;
}

static writing begin(const surety_model *m, const surety_export_settings *s, surety_c_text *out) {
    const surety_preparation *r = m->preparation;
    writing w = {.m = m, .s = s, .out = out, .p = s->prefix};
    for (size_t i = 0; s->prefix[i]; i++)
        w.P[i] = (char)(s->prefix[i] >= 'a' ? s->prefix[i] - 'a' + 'A' : s->prefix[i]);
    w.H = surety_voters_count(m->voters), w.K = surety_voters_classes(m->voters);
    w.width = surety_voters_width(m->voters), w.d = surety_voters_features(m->voters);
    w.columns = r ? r->column_count : w.d;
    w.prepared = r && (surety_preparation_changes(r) || r->missing == SURETY_MISSING_ERROR);
    w.keeps = surety_voters_can(m->voters, SURETY_CAN_MISS) || (r && r->missing == SURETY_MISSING_KEEP);
    return w;
}

surety_status surety_export_c(const surety_model *m, const surety_export_settings *s, surety_c_text *out,
                              surety_export_result *result, surety_error *err) {
    surety_c_text body = {0};
    writing w = begin(m, s, &body);
    char sum[65];
    SURETY_TRY(surety_model_sha256(m, sum, err));
    surety_status status = put_body(&w, result, err);
    if (status == SURETY_OK) status = surety_c_end(&body, err);
    if (status == SURETY_OK) {
        w.out = out;
        put_head(&w, result, sum);
        put_column_comments(&w);
        put_demands(&w);
        put_declarations(&w);
        surety_c_put(out, "%s", body.text);
    }
    surety_c_free(&body);
    return status;
}
