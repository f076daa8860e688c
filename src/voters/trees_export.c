/* Trees as C: their tensors as arrays, a walk, and the maker's sums, in its type and order. */
#include <math.h>

#include "voters/trees_set.h"

static const surety_tensor *tensor(const surety_voters *v, size_t which) {
    return &v->tensors[which];
}

/* The arrays: tests (feature, 2x, + 1 where NaN goes left), thresholds, links, leaves. */
static surety_status write_arrays(const surety_voters *v, surety_c_text *out, surety_error *err) {
    static const struct {
        const char *name;
        int which;
    } links[] = {{"tree_left", SURETY_TREES_LEFT},
                 {"tree_right", SURETY_TREES_RIGHT},
                 {"tree_root", SURETY_TREES_ROOTS},
                 {"tree_column", SURETY_TREES_COLUMNS},
                 {"tree_first", SURETY_TREES_GROUPS}};
    const surety_tensor *leaves = tensor(v, SURETY_TREES_LEAVES),
                        *threshold = tensor(v, SURETY_TREES_THRESHOLD);
    size_t N = threshold->length;
    int32_t *test;
    SURETY_TRY(surety_alloc(&test, N, sizeof *test, err));
    for (size_t i = 0; i < N; i++)
        test[i] =
            tensor(v, SURETY_TREES_FEATURE)->numbers[i] * 2 + tensor(v, SURETY_TREES_MISSING)->numbers[i];
    surety_c_numbers(out, "tree_test", test, N);
    surety_free(test);
    surety_c_floats(out, "tree_threshold", threshold->values, 1, N, N);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        surety_c_numbers(out, links[i].name, tensor(v, links[i].which)->numbers,
                         tensor(v, links[i].which)->length);
    if (leaves->type == SURETY_ELEMENT_F32)
        surety_c_floats(out, "tree_leaf", leaves->values, 1, leaves->length, leaves->length);
    else
        surety_c_doubles(out, "tree_leaf", leaves->doubles, leaves->length);
    surety_c_doubles(out, "tree_start", tensor(v, SURETY_TREES_START)->doubles,
                     tensor(v, SURETY_TREES_START)->length);
    surety_c_doubles(out, "tree_scale", tensor(v, SURETY_TREES_SCALE)->doubles, v->H);
    return SURETY_OK;
}

static void write_sums(const surety_voters *v, surety_c_text *out) {
    const surety_tree_set *s = surety_tree_set_of(v);
    int wide = tensor(v, SURETY_TREES_LEAVES)->type == SURETY_ELEMENT_F64;
    const char *type = wide ? "double" : "float";
    double divide = surety_trees_fact(v, SURETY_TREES_DIVIDE);
    char number[32];
    surety_c_put(
        out,
        "\n/* The leaf of a tree that x reaches. x <= threshold goes left. */\n"
        "static int32_t tree_walk(int32_t at, const float *x) {\n"
        "    while (at >= 0) {\n"
        "        float value = x[tree_test[at] >> 1];\n"
        "        int left = value <= tree_threshold[at] || (value != value && (tree_test[at] & 1));\n"
        "        at = left ? tree_left[at] : tree_right[at];\n"
        "    }\n"
        "    return -1 - at;\n"
        "}\n\n"
        "/* The scores of trees first .. end - 1, one rounding per tree. */\n"
        "static void tree_scores(int32_t first, int32_t end, const float *x, double *scores) {\n"
        "    %s sum[%zu];\n"
        "    int32_t t, c;\n"
        "    for (c = 0; c < %zu; c++) sum[c] = (%s)tree_start[c];\n"
        "    for (t = first; t < end; t++) {\n"
        "        int32_t leaf = tree_walk(tree_root[t], x);\n",
        type, s->C, s->C, type);
    if (s->vector > 1)
        surety_c_put(out, "        for (c = 0; c < %zu; c++) sum[c] += tree_leaf[leaf * %zu + c];\n",
                     s->vector, s->vector);
    else
        surety_c_put(out, "        sum[tree_column[t]] += tree_leaf[leaf];\n");
    surety_c_put(out, "    }\n    for (c = 0; c < %zu; c++) {\n", s->C);
    if (divide != 1)
        surety_c_put(out, "        sum[c] = sum[c] / (%s)%s;\n", type, surety_c_double(divide, number));
    surety_c_put(out, "        scores[c] = sum[c];\n    }\n}\n\n");
}

/* softmax by exp_of of trees.c, operation by operation; 2^n from its bits is exact. */
static void write_softmax(size_t C, int wide, surety_c_text *out) {
    surety_c_put(out,
                 "/* exp(a), a <= 0: 2^n times the series of exp(r), a = n ln 2 + r */\n"
                 "static double exp_of(double a) {\n"
                 "    union { double value; uint64_t bits; } power;\n"
                 "    double factorial = 6227020800.0, u = 1 / factorial, n, r;\n"
                 "    int32_t k;\n"
                 "    a = a < -700 ? -700 : a;\n"
                 "    n = a * 0x1.71547652b82fep0 + 0x1.8p52 - 0x1.8p52;\n"
                 "    r = a - n * 0x1.62e42feep-1 - n * 0x1.a39ef35793c76p-33;\n"
                 "    for (k = 13; k > 0; k--) {\n"
                 "        factorial /= k;\n"
                 "        u = u * r + 1 / factorial;\n"
                 "    }\n"
                 "    power.bits = (uint64_t)(1023 + (int32_t)n) << 52;\n"
                 "    return u * power.value;\n"
                 "}\n\n"
                 "/* The first of the largest after a softmax in %s. */\n"
                 "static int32_t tree_decide(const double *scores) {\n"
                 "    double most = scores[0], sum = 0, best = -1, p[%zu], share;\n"
                 "    int32_t k, found = 0;\n"
                 "    for (k = 1; k < %zu; k++) if (scores[k] > most) most = scores[k];\n"
                 "    for (k = 0; k < %zu; k++) sum += p[k] = %s;\n"
                 "    for (k = 0; k < %zu; k++) {\n"
                 "        share = %s;\n"
                 "        if (share > best) {\n"
                 "            best = share;\n"
                 "            found = k;\n"
                 "        }\n"
                 "    }\n"
                 "    return found;\n"
                 "}\n\n",
                 wide ? "double" : "float", C, C, C,
                 wide ? "exp_of(scores[k] - most)" : "(float)exp_of((float)(scores[k] - most))", C,
                 wide ? "p[k] / sum" : "(float)p[k] / (float)sum");
}

/* The class of the scores. */
static void write_decision(const surety_voters *v, surety_c_text *out) {
    const surety_tree_set *s = surety_tree_set_of(v);
    surety_tree_rule rule = (surety_tree_rule)surety_trees_fact(v, SURETY_TREES_RULE);
    char number[32];
    if (rule == SURETY_TREES_CUT)
        surety_c_put(out, "static int32_t tree_decide(const double *scores) { return scores[%zu] > %s; }\n\n",
                     s->C - 1, surety_c_double(surety_trees_fact(v, SURETY_TREES_AT), number));
    else if (rule == SURETY_TREES_LARGEST)
        surety_c_put(out,
                     "static int32_t tree_decide(const double *scores) {\n"
                     "    int32_t k, best = 0;\n"
                     "    for (k = 1; k < %zu; k++) if (scores[k] > scores[best]) best = k;\n"
                     "    return best;\n}\n\n",
                     s->C);
    else
        write_softmax(s->C, rule == SURETY_TREES_SOFTMAX64, out);
}

static void write_two(const surety_voters *v, surety_c_text *out) {
    const surety_tree_set *s = surety_tree_set_of(v);
    surety_tree_rule rule = (surety_tree_rule)surety_trees_fact(v, SURETY_TREES_RULE);
    char number[32];
    surety_c_put(out,
                 "/* The margin over the scale%s. */\nstatic void tree_output(int32_t g, const double "
                 "*scores, float *h) {\n",
                 rule == SURETY_TREES_SHARE ? "" : ", with the sign of the decision");
    if (s->C == 1 || rule == SURETY_TREES_CUT)
        surety_c_put(out, "    double margin = scores[%zu] - %s;\n", s->C - 1,
                     surety_c_double(surety_trees_fact(v, SURETY_TREES_AT), number));
    else
        surety_c_put(out, "    double margin = scores[1] - scores[0];\n");
    surety_c_put(out,
                 "    float value = (float)(margin / tree_scale[g]);\n"
                 "    value = value > 1 ? 1 : value < -1 ? -1 : value;\n");
    if (rule != SURETY_TREES_SHARE)
        surety_c_put(out,
                     "    if (tree_decide(scores)) value = value > FLT_MIN ? value : FLT_MIN;\n"
                     "    else value = value < -FLT_MIN ? value : -FLT_MIN;\n");
    surety_c_put(out, "    h[0] = value;\n}\n\n");
}

static void write_many(const surety_voters *v, surety_c_text *out) {
    size_t K = v->classes;
    surety_c_put(out,
                 "/* Scores of the sum 1. */\n"
                 "static void tree_output(int32_t g, const double *scores, float *h) {\n"
                 "    double least = scores[0], sum = 0, share, scale = tree_scale[g];\n"
                 "    int32_t k;\n"
                 "    for (k = 1; k < %zu; k++) if (scores[k] < least) least = scores[k];\n"
                 "    for (k = 0; k < %zu; k++) sum += scores[k] - least;\n"
                 "    for (k = 0; k < %zu; k++) {\n"
                 "        share = (scores[k] - least + (scale - sum) / %zu.0) / scale;\n"
                 "        h[k] = (float)(share < 0 ? 0 : share > 1 ? 1 : share);\n"
                 "    }\n",
                 K, K, K, K);
    if ((surety_tree_rule)surety_trees_fact(v, SURETY_TREES_RULE) != SURETY_TREES_SHARE)
        surety_c_put(
            out,
            "    { /* the class that was decided has the only largest */\n"
            "        union { float value; uint32_t bits; } most;\n"
            "        int32_t best = tree_decide(scores);\n"
            "        most.value = 0;\n"
            "        for (k = 0; k < %zu; k++) if (k != best && h[k] > most.value) most.value = h[k];\n"
            "        if (!(h[best] > most.value)) {\n"
            "            most.bits += 1;\n"
            "            h[best] = most.value;\n"
            "        }\n"
            "    }\n",
            K);
    surety_c_put(out, "}\n\n");
}

static void write_duels(const surety_voters *v, surety_c_text *out) {
    size_t K = v->classes;
    surety_c_put(
        out,
        "/* The score of class c in its duel with class k. */\n"
        "static double tree_duel(const double *scores, int32_t c, int32_t k) {\n"
        "    return c > k ? scores[k * %zu + c] : -scores[c * %zu + k];\n"
        "}\n\n"
        "/* Equal scores, unless a class wins all its duels. */\n"
        "static void tree_output(int32_t g, const double *scores, float *h) {\n"
        "    int32_t c, k;\n"
        "    for (k = 0; k < %zu; k++) h[k] = 1 / (float)%zu;\n"
        "    for (c = 0; c < %zu; c++) {\n"
        "        double least = DBL_MAX, ahead;\n"
        "        union { float value; uint32_t bits; } rest;\n"
        "        for (k = 0; k < %zu; k++)\n"
        "            if (k != c && tree_duel(scores, c, k) < least) least = tree_duel(scores, c, k);\n"
        "        if (!(least > 0)) continue;\n"
        "        ahead = least / tree_scale[g] < 1 ? least / tree_scale[g] : 1;\n"
        "        for (k = 0; k < %zu; k++)\n"
        "            h[k] = (float)((k == c ? 1 + ahead * (double)%zu : 1 - ahead) / (double)%zu);\n"
        "        rest.value = h[c ? 0 : 1];\n"
        "        if (!(h[c] > rest.value)) {\n"
        "            rest.bits += 1;\n"
        "            h[c] = rest.value;\n"
        "        }\n"
        "    }\n"
        "}\n\n",
        K, K, K, K, K, K, K, K - 1, K);
}

surety_status surety_trees_write_c(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                   surety_error *err) {
    const surety_tree_set *s = surety_tree_set_of(v);
    surety_tree_rule rule = (surety_tree_rule)surety_trees_fact(v, SURETY_TREES_RULE);
    if (v->d > INT32_MAX / 2 || tensor(v, SURETY_TREES_LEAVES)->length > INT32_MAX)
        return surety_fail(err, SURETY_E_USAGE, "the model is too large for an export");
    for (size_t t = 0; t < s->T; t++) facts->comparisons += s->steps[t];
    facts->stack = 3 * s->C * sizeof(double);
    SURETY_TRY(write_arrays(v, out, err));
    write_sums(v, out);
    if (rule != SURETY_TREES_SHARE && rule != SURETY_TREES_DUELS) write_decision(v, out);
    if (rule == SURETY_TREES_DUELS)
        write_duels(v, out);
    else if (v->width == 1)
        write_two(v, out);
    else
        write_many(v, out);
    surety_c_put(out,
                 "static void voters(const float *x, float *h) {\n"
                 "    double scores[%zu];\n"
                 "    int32_t g;\n"
                 "    for (g = 0; g < %zu; g++) {\n"
                 "        int32_t end = g + 1 < %zu ? tree_first[g + 1] : %zu;\n"
                 "        tree_scores(tree_first[g], end, x, scores);\n"
                 "        tree_output(g, scores, h + g * %zu);\n"
                 "    }\n"
                 "}\n\n",
                 s->C, v->H, v->H, s->T, v->width);
    return SURETY_OK;
}

/* On thresholds and the floats behind them, where a wrong comparison would show. */
void surety_trees_probe(const surety_voters *v, uint32_t sample, float *x) {
    const surety_tensor *threshold = tensor(v, SURETY_TREES_THRESHOLD);
    for (size_t i = 0; i < threshold->length; i++) {
        float u = surety_random_uniform(1, &(surety_address){.row = sample, .purpose = SURETY_FOR_EXPORT}, i);
        float t = threshold->values[i];
        size_t f = (size_t)tensor(v, SURETY_TREES_FEATURE)->numbers[i];
        if (u < 0.25f)
            x[f] = t;
        else if (u < 0.5f && isfinite(nextafterf(t, HUGE_VALF)))
            x[f] = nextafterf(t, HUGE_VALF);
        else if (u < 0.75f && isfinite(t * 1.01f))
            x[f] = t * 1.01f;
    }
}
