/* Networks as C: each unit one chain of fma in the order of its inputs, as the product has it; MaxMin; the
 * same softmax. */
#include <stdio.h>

#include "voters/lipschitz.h"

/* The arrays of layer l, all networks one below the other. */
static surety_status write_layer(const surety_voters *v, size_t l, surety_c_text *out,
                                 surety_export_facts *facts, surety_error *err) {
    const surety_tensor *c = surety_layer_bias(v, l);
    size_t w = surety_layer_outputs(v, l), inputs = surety_layer_inputs(v, l);
    char name[32];
    if (v->H * w > INT32_MAX / inputs)
        return surety_fail(err, SURETY_E_USAGE, "the model is too large for an export");
    snprintf(name, sizeof name, "weight_%zu", l);
    surety_c_floats(out, name, surety_network_weight(v, l, 0), v->H * w, inputs,
                    surety_layer_weight(v, l)->stride);
    snprintf(name, sizeof name, "bias_%zu", l);
    surety_c_floats(out, name, c->values, v->H, w, c->rows == 1 ? w : c->stride);
    facts->products += (uint64_t)v->H * w * inputs;
    return SURETY_OK;
}

static void write_functions(surety_c_text *out) {
    surety_c_put(
        out,
        "/* z = bias + weight a, one chain for each unit */\n"
        "static void dense(const float *weight, const float *bias, const float *a, int32_t inputs,\n"
        "                  int32_t units, float *z) {\n"
        "    int32_t i, j;\n"
        "    for (i = 0; i < units; i++) {\n"
        "        float sum = bias[i];\n"
        "        for (j = 0; j < inputs; j++) sum = fma_of(a[j], weight[i * inputs + j], sum);\n"
        "        z[i] = sum;\n"
        "    }\n"
        "}\n\n"
        "/* Of each pair (i, i + half) the larger one goes first; the last of an odd number stays. */\n"
        "static void max_min(const float *z, int32_t units, float *a) {\n"
        "    int32_t i, half = units / 2;\n"
        "    for (i = 0; i < half; i++) {\n"
        "        float p = z[i], q = z[i + half];\n"
        "        a[i] = p > q ? p : q;\n"
        "        a[i + half] = p > q ? q : p;\n"
        "    }\n"
        "    if (units %% 2) a[units - 1] = z[units - 1];\n"
        "}\n\n");
}

static void write_voters(const surety_voters *v, size_t widest, surety_c_text *out) {
    size_t n = surety_layers_of(v), K = v->width;
    surety_c_put(out,
                 "static void voters(const float *x, float *h) {\n"
                 "    float a[%zu], z[%zu];\n"
                 "    int32_t t%s;\n"
                 "    for (t = 0; t < %zu; t++, h += %zu) {\n",
                 widest, widest, K > 1 ? ", k" : "", v->H, K);
    for (size_t l = 0; l < n; l++) {
        size_t w = surety_layer_outputs(v, l), inputs = surety_layer_inputs(v, l);
        if (l) surety_c_put(out, "        max_min(z, %zu, a);\n", inputs);
        surety_c_put(out, "        dense(weight_%zu + t * %zu, bias_%zu + t * %zu, %s, %zu, %zu, z);\n", l,
                     w * inputs, l, w, l ? "a" : "x", inputs, w);
    }
    if (K == 1)
        surety_c_put(out,
                     "        z[0] = z[0] / scale_of[t];\n"
                     "        h[0] = z[0] > 1 ? 1 : z[0] < -1 ? -1 : z[0];\n");
    else
        surety_c_put(out,
                     "        for (k = 0; k < %zu; k++) h[k] = z[k] / scale_of[t];\n"
                     "        softmax_of(h);\n",
                     K);
    surety_c_put(out, "    }\n}\n\n");
}

surety_status surety_network_write_c(const surety_voters *v, surety_c_text *out, surety_export_facts *facts,
                                     surety_error *err) {
    size_t widest = 0;
    for (size_t l = 0; l < surety_layers_of(v); l++) {
        SURETY_TRY(write_layer(v, l, out, facts, err));
        if (surety_layer_outputs(v, l) > widest) widest = surety_layer_outputs(v, l);
    }
    surety_c_floats(out, "scale_of", surety_network_scales(v), 1, v->H, v->H);
    facts->stack = 2 * widest * sizeof(float);
    surety_c_put(out, "\n");
    SURETY_TRY(surety_c_need_fma(v, out, err));
    if (v->width > 1) {
        surety_c_need_exp(out);
        surety_c_need_softmax(v->width, out);
    }
    write_functions(out);
    write_voters(v, widest, out);
    return SURETY_OK;
}
