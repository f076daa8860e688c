/* Soft forests and linear voters as C: the same chains of fma, the same exp. Only a CPU with fma predicts
 * with these bits, so that the level without it exports neither. */
#include "voters/kind.h"

enum { WEIGHT, BIAS };

static surety_status write_product(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                   surety_error *err) {
    const surety_tensor *w = &v->tensors[WEIGHT], *c = &v->tensors[BIAS];
    if (w->rows > INT32_MAX / v->d)
        return surety_fail(err, SURETY_E_USAGE, "the model is too large for an export");
    facts->products = (uint64_t)w->rows * v->d;
    surety_c_floats(out, "weight", w->values, w->rows, v->d, w->stride);
    surety_c_floats(out, "bias", c->values, 1, c->length, c->length);
    surety_c_put(out, "\n");
    SURETY_TRY(surety_c_need_fma(v, out, err));
    surety_c_need_exp(out);
    surety_c_put(out,
                 "/* bias + weight x of row i, one chain in the order of features */\n"
                 "static float argument(int32_t i, const float *x) {\n"
                 "    const float *w = weight + i * %zu;\n"
                 "    float z = bias[i];\n"
                 "    int32_t j;\n"
                 "    for (j = 0; j < %zu; j++) z = fma_of(x[j], w[j], z);\n"
                 "    return z;\n"
                 "}\n\n",
                 v->d, v->d);
    return SURETY_OK;
}

surety_status surety_forest_write_c(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                    surety_error *err) {
    size_t splits = ((size_t)1 << v->depth) - 1, leaves = splits + 1;
    surety_c_floats(out, "leaf", surety_dense_of(v)->scores, 1, v->H * v->width * leaves, 0);
    SURETY_TRY(write_product(v, out, facts, err));
    facts->products += (uint64_t)v->H * v->width * splits;
    facts->stack = (3 * splits + 1) * sizeof(float);
    surety_c_put(out,
                 "/* the probability to go left */\n"
                 "static float sigmoid_of(float z) {\n"
                 "    float e = exp_of(z < 0 ? z : -z), sum = 1.0f + e;\n"
                 "    return (z < 0 ? e : 1.0f) / sum;\n"
                 "}\n\n"
                 "static void voters(const float *x, float *h) {\n"
                 "    float p[%zu], f[%zu];\n"
                 "    int32_t t, k, i;\n"
                 "    for (t = 0; t < %zu; t++) {\n"
                 "        for (i = 0; i < %zu; i++) p[i] = sigmoid_of(argument(t * %zu + i, x));\n"
                 "        for (k = t * %zu; k < (t + 1) * %zu; k++) {\n"
                 "            for (i = 0; i < %zu; i++) f[%zu + i] = leaf[k * %zu + i];\n"
                 "            for (i = %zu; i-- > 0;) {\n"
                 "                float apart = f[2 * i + 1] - f[2 * i + 2];\n"
                 "                f[i] = fma_of(p[i], apart, f[2 * i + 2]);\n"
                 "            }\n"
                 "            h[k] = clamp_of(f[0], %s);\n"
                 "        }\n"
                 "    }\n"
                 "}\n\n",
                 splits, 2 * splits + 1, v->H, splits, splits, v->width, v->width, leaves, splits, leaves,
                 splits, v->width == 1 ? "-1.0f" : "0.0f");
    return SURETY_OK;
}

surety_status surety_linear_write_c(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                    surety_error *err) {
    size_t K = v->width;
    SURETY_TRY(write_product(v, out, facts, err));
    if (K == 1) {
        surety_c_need_tanh(out);
        surety_c_put(out,
                     "static void voters(const float *x, float *h) {\n"
                     "    int32_t t;\n"
                     "    for (t = 0; t < %zu; t++) h[t] = clamp_of(tanh_of(argument(t, x)), -1.0f);\n"
                     "}\n\n",
                     v->H);
        return SURETY_OK;
    }
    surety_c_need_softmax(K, out);
    surety_c_put(out,
                 "static void voters(const float *x, float *h) {\n"
                 "    int32_t t, k;\n"
                 "    for (t = 0; t < %zu; t++, h += %zu) {\n"
                 "        for (k = 0; k < %zu; k++) h[k] = argument(t * %zu + k, x);\n"
                 "        softmax_of(h);\n"
                 "    }\n"
                 "}\n\n",
                 v->H, K, K, K);
    return SURETY_OK;
}
