/* Networks that stretch no distance (docs/theory.md 11; lipschitz.h has the letters).
 *
 * Two classes: h = f / s cut to [-1,1]. K > 2: f has K numbers and h = softmax(f / s). The scale s is a power
 * of two, so that the division is exact. Gradients are those of f / s, through the cut: where a network is
 * sure, attacks and training still know which way is worse.
 */
#include "voters/lipschitz.h"

#include <math.h>
#include <string.h>

#include "voters/forest_kernel.h"

enum { L = SURETY_LANES };

static const surety_forest_kernels *kernels(void) {
    return surety_forest_kernels_at(surety_cpu());
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- memory of a block ---- */

/* The next floats of memory that may be NULL where sizes alone are asked for. */
static float *next(float *memory, size_t *used, size_t floats) {
    float *here = memory ? memory + *used : NULL;
    *used += floats;
    return here;
}

surety_network_parts surety_network_scratch(const surety_voters *v, float *memory) {
    surety_network_parts p = {0};
    size_t n = surety_layers_of(v), widest = 0, outputs = v->width > 1 ? v->H * v->width : 0;
    for (size_t l = 0; l < n; l++) {
        size_t w = surety_layer_outputs(v, l),
               rows = l ? v->H * L * surety_padded(w) : L * surety_padded(v->H * w);
        size_t inputs = l ? surety_padded(surety_layer_inputs(v, l)) : 0;
        p.z[l] = next(memory, &p.floats, rows);
        p.dz[l] = next(memory, &p.floats, rows);
        p.a[l] = next(memory, &p.floats, v->H * L * inputs);
        if (inputs > widest) widest = inputs;
    }
    p.da = next(memory, &p.floats, L * widest);
    p.out = next(memory, &p.floats, L * surety_padded(outputs));
    p.lanes = next(memory, &p.floats, L * outputs);
    return p;
}

static size_t scratch(const surety_voters *v) {
    return surety_network_scratch(v, NULL).floats;
}

/* ---- forward ---- */

static void max_min(const float *z, size_t w, float *a) {
    size_t half = w / 2;
    for (size_t i = 0; i < half; i++) {
        float p = z[i], q = z[i + half];
        a[i] = p > q ? p : q;
        a[i + half] = p > q ? q : p;
    }
    if (w % 2) a[w - 1] = z[w - 1];
}

static void max_min_back(const float *z, const float *da, size_t w, float *dz) {
    size_t half = w / 2;
    for (size_t i = 0; i < half; i++) {
        int kept = z[i] > z[i + half];
        float p = da[i], q = da[i + half];
        dz[i] = kept ? p : q;
        dz[i + half] = kept ? q : p;
    }
    if (w % 2) dz[w - 1] = da[w - 1];
}

void surety_network_layers(const surety_voters *v, const float *const *x, size_t rows,
                           const surety_network_parts *p) {
    size_t w = surety_layer_outputs(v, 0);
    surety_product_forward(surety_networks_of(v)->first, x, rows, surety_layer_bias(v, 0)->values, p->z[0],
                           surety_padded(v->H * w));
    for (size_t l = 1; l < surety_layers_of(v); l++)
        for (size_t t = 0; t < v->H; t++) {
            const float *a[L];
            for (size_t r = 0; r < rows; r++) {
                float *row = p->a[l] + surety_network_input(v, l, t, r);
                max_min(p->z[l - 1] + surety_network_row(v, l - 1, t, r), surety_layer_inputs(v, l), row);
                a[r] = row;
            }
            surety_product_forward(surety_network_packed(v, l, t), a, rows, surety_network_bias(v, l, t),
                                   p->z[l] + surety_network_row(v, l, t, 0),
                                   surety_padded(surety_layer_outputs(v, l)));
        }
}

/* f of network t on row r, K numbers or one. */
static const float *result(const surety_voters *v, const surety_network_parts *p, size_t t, size_t r) {
    size_t last = surety_layers_of(v) - 1;
    return p->z[last] + surety_network_row(v, last, t, r);
}

/* The outputs of f, with y's score `less[r]` lower (NULL: 0). */
static void give(const surety_voters *v, const surety_network_parts *p, size_t rows, const uint8_t *y,
                 const float *less, float *h) {
    const float *scale = surety_network_scales(v);
    size_t K = v->width, ld = surety_padded(v->H * K);
    for (size_t t = 0; t < v->H; t++)
        for (size_t r = 0; r < rows; r++) {
            const float *f = result(v, p, t, r);
            if (K == 1) {
                float z = (less ? f[0] - (float)surety_sign(y[r]) * less[r] : f[0]) / scale[t];
                h[t * L + r] = z > 1 ? 1 : z < -1 ? -1 : z;
                continue;
            }
            float *out = p->out + r * ld + t * K;
            for (size_t k = 0; k < K; k++) out[k] = f[k] / scale[t];
            if (less) out[y[r]] = (f[y[r]] - less[r]) / scale[t];
        }
    if (K == 1) return;
    kernels()->softmax_lanes(p->out, ld, rows, v->H, K, h);
    memcpy(p->lanes, h, v->H * K * L * sizeof *h);
}

static void forward(const surety_voters *v, const float *const *x, size_t rows, float *h, float *memory) {
    surety_network_parts p = surety_network_scratch(v, memory);
    surety_network_layers(v, x, rows, &p);
    give(v, &p, rows, NULL, NULL, h);
}

/* f_y moves by at most the length of e, f_y - f_k by sqrt(2) times that, if all rows are orthonormal. With a
 * tolerance the first layer stretches e / r by no more than the largest r_j. */
static void lowered(const surety_voters *v, const surety_ball *ball, double radius, const surety_examples *e,
                    float *h, float *memory) {
    surety_network_parts p = surety_network_scratch(v, memory);
    float less[L];
    double unit = 0;
    for (size_t j = 0; ball->tolerance && j < v->d; j++) unit = fmax(unit, ball->tolerance->unit[j]);
    if (!ball->tolerance) unit = 1;
    for (size_t r = 0; r < e->rows; r++)
        less[r] =
            (float)(unit * surety_ball_length(ball, e->x[r], v->d, radius) * (v->width > 1 ? sqrt(2) : 1));
    surety_network_layers(v, e->x, e->rows, &p);
    give(v, &p, e->rows, e->y, less, h);
}

/* ---- gradients ---- */

static void begin_back(const surety_voters *v, const float *a, size_t rows, const surety_network_parts *p) {
    const float *scale = surety_network_scales(v);
    size_t K = v->width, ld = surety_padded(v->H * K), last = surety_layers_of(v) - 1;
    if (K > 1) kernels()->softmax_backward(p->lanes, a, rows, v->H, K, p->out, ld);
    for (size_t t = 0; t < v->H; t++)
        for (size_t r = 0; r < rows; r++) {
            float *dz = p->dz[last] + surety_network_row(v, last, t, r);
            for (size_t k = 0; k < K; k++)
                dz[k] = (K > 1 ? p->out[r * ld + t * K + k] : a[t * L + r]) / scale[t];
        }
}

/* dz of all layers. */
static void back(const surety_voters *v, const float *a, size_t rows, const surety_network_parts *p) {
    begin_back(v, a, rows, p);
    for (size_t l = surety_layers_of(v) - 1; l > 0; l--)
        for (size_t t = 0; t < v->H; t++) {
            size_t inputs = surety_layer_inputs(v, l);
            float *da[L];
            for (size_t r = 0; r < rows; r++) da[r] = p->da + r * surety_padded(inputs);
            surety_product_backward(surety_network_packed(v, l, t), p->dz[l] + surety_network_row(v, l, t, 0),
                                    surety_padded(surety_layer_outputs(v, l)), rows,
                                    &(surety_gradient_use){.out = da});
            for (size_t r = 0; r < rows; r++) {
                size_t at = surety_network_row(v, l - 1, t, r);
                max_min_back(p->z[l - 1] + at, da[r], inputs, p->dz[l - 1] + at);
            }
        }
}

static void gradient_input(const surety_voters *v, const float *a, size_t rows, const int *keep,
                           const surety_gradient_use *use, float *memory) {
    surety_network_parts p = surety_network_scratch(v, memory);
    size_t ld = surety_padded(v->H * surety_layer_outputs(v, 0));
    back(v, a, rows, &p);
    surety_product_backward(surety_networks_of(v)->first, p.dz[0], ld,
                            surety_rows_close(p.dz[0], ld, rows, keep), use);
}

/* A row's terms: dz_0 of all networks, then a_l and dz_l of each layer l >= 1 and network. */
static size_t terms_before(const surety_voters *v, size_t l) {
    size_t floats = surety_padded(v->H * surety_layer_outputs(v, 0));
    for (size_t k = 1; k < l; k++)
        floats +=
            v->H * (surety_padded(surety_layer_inputs(v, k)) + surety_padded(surety_layer_outputs(v, k)));
    return floats;
}

static size_t terms_of(const surety_voters *v, size_t l, size_t t) {
    return terms_before(v, l) +
           t * (surety_padded(surety_layer_inputs(v, l)) + surety_padded(surety_layer_outputs(v, l)));
}

static size_t terms(const surety_voters *v) {
    return terms_before(v, surety_layers_of(v));
}

static void gradient_terms(const surety_voters *v, const float *a, size_t rows, float *g, float *memory) {
    surety_network_parts p = surety_network_scratch(v, memory);
    size_t all = terms(v), first = v->H * surety_layer_outputs(v, 0);
    back(v, a, rows, &p);
    for (size_t r = 0; r < rows; r++) {
        float *row = g + r * all;
        memcpy(row, p.dz[0] + r * surety_padded(first), first * sizeof *row);
        for (size_t l = 1; l < surety_layers_of(v); l++)
            for (size_t t = 0; t < v->H; t++) {
                float *to = row + terms_of(v, l, t);
                size_t inputs = surety_layer_inputs(v, l);
                memcpy(to, p.a[l] + surety_network_input(v, l, t, r), inputs * sizeof *to);
                memcpy(to + surety_padded(inputs), p.dz[l] + surety_network_row(v, l, t, r),
                       surety_layer_outputs(v, l) * sizeof *to);
            }
    }
}

/* The parameters come in pieces: up to sixteen units of a layer of a network. */
static size_t pieces_of(const surety_voters *v, size_t l) {
    return surety_padded(surety_layer_outputs(v, l)) / L;
}

static size_t pieces(const surety_voters *v) {
    size_t count = 0;
    for (size_t l = 0; l < surety_layers_of(v); l++) count += v->H * pieces_of(v, l);
    return count;
}

/* Units from .. to - 1 of a layer of a network. */
typedef struct units {
    size_t layer, network, from, to;
} units;

static void sum_units(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                      const units *u, float *const *gradients) {
    size_t l = u->layer, t = u->network, from = u->from, to = u->to;
    const float *inputs[SURETY_NETWORK_ROWS];
    size_t all = terms(v), d = surety_layer_inputs(v, l);
    const float *dz = l ? g + terms_of(v, l, t) + surety_padded(d) : g + t * surety_layer_outputs(v, 0);
    for (size_t r = 0; l && r < rows; r++) inputs[r] = g + r * all + terms_of(v, l, t);
    surety_product_outer(
        &(surety_outer){.g = dz,
                        .ldg = all,
                        .x = l ? inputs : x,
                        .rows = rows,
                        .first = from,
                        .end = to,
                        .d = d,
                        .D = gradients[2 * l] + (surety_network_weight(v, l, t) - v->tensors[2 * l].values),
                        .ldd = v->tensors[2 * l].stride});
    surety_rows_sum(
        dz + from, all, rows, to - from,
        gradients[2 * l + 1] + (surety_network_bias(v, l, t) - v->tensors[2 * l + 1].values) + from);
}

static void gradient_sum(const surety_voters *v, const float *g, const float *const *x, size_t rows,
                         size_t first, size_t end, float *const *gradients) {
    size_t before = 0;
    for (size_t l = 0; l < surety_layers_of(v); l++)
        for (size_t t = 0; t < v->H; t++) {
            size_t w = surety_layer_outputs(v, l), count = pieces_of(v, l);
            size_t from = first > before ? first - before : 0, to = end > before ? end - before : 0;
            before += count;
            if (from < least(to, count))
                sum_units(v, g, x, rows, &(units){l, t, from * L, least(to * L, w)}, gradients);
        }
    if (!first) memset(gradients[2 * surety_layers_of(v)], 0, v->H * sizeof(float)); /* scales stay */
}

/* ---- the naive twin ---- */

static double twin(const surety_voters *v, const double *const *parameters, const double *x, size_t t,
                   size_t k) {
    double a[SURETY_LAYER_WIDEST], z[SURETY_LAYER_WIDEST], s = (double)surety_network_scales(v)[t], sum = 0;
    size_t n = surety_layers_of(v);
    for (size_t l = 0; l < n; l++) {
        size_t w = surety_layer_outputs(v, l), inputs = surety_layer_inputs(v, l);
        const double *W = parameters[2 * l] + (surety_network_weight(v, l, t) - v->tensors[2 * l].values);
        const double *c =
            parameters[2 * l + 1] + (surety_network_bias(v, l, t) - v->tensors[2 * l + 1].values);
        for (size_t i = 0; i < w; i++) {
            z[i] = c[i];
            for (size_t j = 0; j < inputs; j++)
                z[i] += W[i * v->tensors[2 * l].stride + j] * (l ? a[j] : x[j]);
        }
        for (size_t i = 0; i < w; i++)
            a[i] = i < w / 2 ? fmax(z[i], z[i + w / 2]) : i < w / 2 * 2 ? fmin(z[i - w / 2], z[i]) : z[i];
    }
    if (v->width == 1) return z[0] / s;
    for (size_t c = 0; c < v->width; c++) sum += exp((z[c] - z[k]) / s);
    return 1 / sum;
}

/* ---- making ---- */

static surety_status attach(surety_voters *v, surety_error *err) {
    surety_networks *own;
    size_t n = surety_layers_of(v);
    SURETY_TRY(surety_alloc(&own, 1, sizeof *own, err));
    v->own = own;
    SURETY_TRY(surety_alloc(&own->further, (n - 1) * v->H, sizeof *own->further, err));
    SURETY_TRY(surety_weights_new(&own->first, v->H * surety_layer_outputs(v, 0), v->d, err));
    for (size_t i = 0; i < (n - 1) * v->H; i++)
        SURETY_TRY(surety_weights_new(&own->further[i], surety_layer_outputs(v, 1 + i / v->H),
                                      surety_layer_inputs(v, 1 + i / v->H), err));
    return SURETY_OK;
}

static void prepare(surety_voters *v) {
    surety_weights_pack(surety_networks_of(v)->first, surety_layer_weight(v, 0)->values,
                        surety_layer_weight(v, 0)->stride);
    for (size_t l = 1; l < surety_layers_of(v); l++)
        for (size_t t = 0; t < v->H; t++)
            surety_weights_pack(surety_network_packed(v, l, t), surety_network_weight(v, l, t),
                                surety_layer_weight(v, l)->stride);
}

static void detach(surety_voters *v) {
    surety_networks *own = v->own;
    if (!own) return;
    surety_weights_free(own->first);
    for (size_t i = 0; own->further && i < (surety_layers_of(v) - 1) * v->H; i++)
        surety_weights_free(own->further[i]);
    surety_free(own->further);
    surety_network_step_free(own->step);
    surety_free(own);
    v->own = NULL;
}

static const char *const weight_names[] = {"layers.0.weight", "layers.1.weight", "layers.2.weight",
                                           "layers.3.weight", "layers.4.weight", "layers.5.weight",
                                           "layers.6.weight"};
static const char *const bias_names[] = {"layers.0.bias", "layers.1.bias", "layers.2.bias", "layers.3.bias",
                                         "layers.4.bias", "layers.5.bias", "layers.6.bias"};
_Static_assert(sizeof weight_names / sizeof *weight_names == SURETY_LAYERS_ALL, "every layer has a name");
_Static_assert(2 * SURETY_LAYERS_ALL + 1 <= SURETY_TENSORS, "all tensors fit");

static surety_status fill_empty(surety_voters *v, const size_t *hidden, surety_error *err) {
    size_t inputs = v->d, n = 0;
    while (n < SURETY_LAYERS && hidden[n]) n++;
    for (size_t l = 0; l <= n; l++) {
        size_t w = l < n ? hidden[l] : v->width, shape[3] = {v->H, w, inputs};
        SURETY_TRY(surety_tensor_new(v, weight_names[l], SURETY_ELEMENT_F32, 3, shape, 2, err));
        SURETY_TRY(surety_tensor_new(v, bias_names[l], SURETY_ELEMENT_F32, 2, shape, l > 0, err));
        inputs = w;
    }
    SURETY_TRY(surety_tensor_new(v, "scale", SURETY_ELEMENT_F32, 1, &v->H, 0, err));
    return attach(v, err);
}

static surety_status new_empty(surety_voters **out, size_t H, size_t d, size_t classes, const size_t *hidden,
                               surety_error *err) {
    SURETY_TRY(surety_voters_begin(out, &surety_kind_lipschitz, H, d, classes, err));
    surety_status status = fill_empty(*out, hidden, err);
    if (status != SURETY_OK) surety_voters_free(*out), *out = NULL;
    return status;
}

/* The proof divides by scales as forward does: exactly. */
static int is_scale(double scale) {
    int exponent;
    return scale >= 0x1p-40 && scale <= 0x1p40 && frexp(scale, &exponent) == 0.5;
}

static surety_status check_layers(const surety_voters_settings *s, surety_error *err) {
    for (size_t l = 0; l < SURETY_LAYERS; l++)
        if (s->layers[l] > SURETY_LAYER_WIDEST)
            return surety_fail(err, SURETY_E_USAGE, "a layer has 1 to %d units, not %zu", SURETY_LAYER_WIDEST,
                               s->layers[l]);
    if (!s->layers[0]) return surety_fail(err, SURETY_E_USAGE, "a network needs at least one layer of units");
    if (s->scale != 0 && !is_scale(s->scale))
        return surety_fail(err, SURETY_E_USAGE,
                           "a scale is a power of two from 2^-40 to 2^40, or 0, which is 4; not %g",
                           s->scale);
    return SURETY_OK;
}

static surety_status start_weights(surety_voters *v, uint64_t seed, surety_error *err) {
    for (size_t l = 0; l < surety_layers_of(v); l++)
        for (size_t t = 0; t < v->H; t++) {
            size_t w = surety_layer_outputs(v, l), inputs = surety_layer_inputs(v, l),
                   stride = surety_layer_weight(v, l)->stride;
            float *W = surety_network_weight(v, l, t);
            for (size_t i = 0; i < w; i++)
                surety_vector_normal(seed,
                                     &(surety_address){.row = (uint32_t)i,
                                                       .epoch = (uint32_t)t,
                                                       .restart = (uint32_t)l,
                                                       .purpose = SURETY_FOR_WEIGHTS},
                                     W + i * stride, inputs);
            SURETY_TRY(surety_orthonormal(W, w, inputs, stride, err));
        }
    return SURETY_OK;
}

static surety_status make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                          uint64_t seed, surety_error *err) {
    SURETY_TRY(check_layers(settings, err));
    SURETY_TRY(new_empty(out, settings->count, d, settings->classes, settings->layers, err));
    surety_voters *v = *out;
    surety_status status = start_weights(v, seed, err);
    if (status != SURETY_OK) {
        surety_voters_free(v), *out = NULL;
        return status;
    }
    for (size_t t = 0; t < v->H; t++)
        v->tensors[v->tensor_count - 1].values[t] = settings->scale > 0 ? (float)settings->scale : 4;
    surety_voters_changed(v);
    return SURETY_OK;
}

static surety_status open_shapes(surety_voters **out, const surety_shape *shapes, size_t count,
                                 surety_error *err) {
    static const char expected[] =
        "(networks, units, inputs), each layer with the inputs that the last gives";
    size_t hidden[SURETY_LAYERS + 1] = {0}, n = (count - 1) / 2, classes = 2;
    const surety_shape *first = surety_shape_find(shapes, count, weight_names[0], 3, err);
    if (!first) return SURETY_E_INPUT;
    for (n = 0; n < SURETY_LAYERS_ALL; n++) {
        const surety_shape *w = NULL;
        for (size_t i = 0; i < count && !w; i++)
            if (!strcmp(shapes[i].name, weight_names[n])) w = &shapes[i];
        if (!w) break;
        if (w->rank != 3 || w->shape[0] != first->shape[0] || w->shape[1] < 1 ||
            w->shape[1] > SURETY_LAYER_WIDEST || (n && w->shape[2] != hidden[n - 1]))
            return surety_shape_wrong(w->name, "its shape does not fit the other layers", expected, err);
        hidden[n] = w->shape[1];
    }
    if (n < 2) return surety_shape_wrong(weight_names[1], "it is missing", "at least two layers", err);
    classes = hidden[n - 1] == 1 ? 2 : hidden[n - 1];
    if (hidden[n - 1] == 2 || classes > SURETY_CLASSES_MOST ||
        surety_voters_validate(first->shape[0], first->shape[2], 0, NULL) != SURETY_OK)
        return surety_shape_wrong(weight_names[n - 1], "its shape is not that of voters of some classes",
                                  "one unit for two classes, else as many as classes, 3 to 255", err);
    hidden[n - 1] = 0;
    return new_empty(out, first->shape[0], first->shape[2], classes, hidden, err);
}

static surety_status check_scales(const surety_voters *v, surety_error *err) {
    for (size_t t = 0; t < v->H; t++)
        if (!is_scale((double)surety_network_scales(v)[t]))
            return surety_shape_wrong("scale", "it holds something else than a power of two",
                                      "powers of two from 2^-40 to 2^40", err);
    return SURETY_OK;
}

size_t surety_voters_layers(const surety_voters *v, size_t widths[SURETY_LAYERS]) {
    if (v->kind != &surety_kind_lipschitz) return 0;
    for (size_t l = 0; l + 1 < surety_layers_of(v); l++) widths[l] = surety_layer_outputs(v, l);
    return surety_layers_of(v) - 1;
}

const surety_voter_kind surety_kind_lipschitz = {.name = "lipschitz",
                                                 .words = "Lipschitz networks",
                                                 .classes = SURETY_CLASSES_MOST,
                                                 .make = make,
                                                 .open = open_shapes,
                                                 .check = check_scales,
                                                 .attach = attach,
                                                 .prepare = prepare,
                                                 .detach = detach,
                                                 .scratch = scratch,
                                                 .forward = forward,
                                                 .gradient_input = gradient_input,
                                                 .terms = terms,
                                                 .gradient_terms = gradient_terms,
                                                 .pieces = pieces,
                                                 .gradient_sum = gradient_sum,
                                                 .along = surety_network_along,
                                                 .back = surety_network_back,
                                                 .lowered = lowered,
                                                 .range = &surety_network_range,
                                                 .twin = twin,
                                                 .write_c = surety_network_write_c};
