/* How far a network's answer can move (docs/theory.md 11): the proof.
 *
 * In real arithmetic: layer l stretches distances by at most N_l >= ||W_l||_2, and MaxMin by none, so f moves
 * by at most N_0 N_1 .. N_(n-1) times the length of e; of K classes, f_y - f_k by N_0 .. N_(n-2) ||w_y -
 * w_k|| times that, w_y being the rows of the last layer. N_l is by Gershgorin: the square root of the
 * largest sum of |G_ij| over a row i of the Gram matrix G of the shorter side. With a tolerance r, e / r is
 * what is short, and the first layer counts as W_0 diag(r).
 *
 * The program is in float. Layer l gives z^ = W a^ + c up to an error: what enters its chain at input j goes
 * through at most k_j = n - j + 2 roundings (n inputs), the bias through n + 2, each a factor within 1 +- u,
 * u = 2^-24 (as in dense.c). With a^ and a^' the program's inputs at x and at x + e, ||a^' - a^|| <= D, the
 * error at x + e is, with gamma = u / (1 - (n + 2) u), a vector of length at most
 *
 *   gamma ( || (sum_j k_j |w_ij| |a^_j|)_i ||  +  ||(k_j w_ij)||_F D  +  (n + 2) ||c|| )
 *     + sqrt(w) (n + 2) 2^-149.
 *
 * Errors add up: E_l = N_l E_(l-1) + that of layer l, E_(-1) = 0, and D_l = N_0 .. N_(l-1) ||e|| + 2 E_(l-1)
 * for the inputs of layer l. Both answers being off by E, the program's f moves by at most Lip ||e|| + 2 E.
 * (Bounding both products by ||W||_F (||a|| + Lip b) would be simpler and larger.)
 *
 * All of this is in double, of terms that are not negative, and raised at the end by more than its roundings.
 * The vote adds up the outputs *after* they are cut to [-1,1]: limits are those of cut outputs.
 */
#include <math.h>
#include <string.h>

#include "voters/ball.h"
#include "voters/lipschitz.h"

enum { L = SURETY_LANES };

/* What is known of a layer of a network. */
typedef struct layer_facts {
    double norm;         /* N_l */
    double chained;      /* ||(k_j w_ij)||_F, in units of r_j */
    double bias;         /* (n + 2) ||c|| */
    surety_weights *abs; /* (k_j |w_ij|), not below */
} layer_facts;

typedef struct network_range {
    const surety_voters *v;
    surety_ball ball;
    layer_facts *layers; /* (H, n) */
    double *pairs;       /* (H, K, K) ||w_y - w_k||, K > 2 */
    float *memory;       /* what follows */
    float *x;            /* (lanes, widest) |a^| */
    float *sums;         /* (lanes, widest padded outputs) */
    float *scratch;
} network_range;

/* ---- what depends on the weights alone ---- */

/* More than the roundings of any chain of doubles here: sums over at most `terms` numbers that are not
 * negative, a few products and roots, twice per layer. */
static double raised(double value, size_t terms) {
    return value * (1 + ((double)terms + 64) * 0x1p-50);
}

static float float_up(double x) {
    float f = (float)x;
    return (double)f < x ? nextafterf(f, HUGE_VALF) : f;
}

/* The matrix that stretches: w_ij r_j, r_j = 1 unless it is the first layer under a tolerance. */
typedef struct stretch {
    const float *W;
    size_t rows, columns, stride;
    const double *unit; /* or NULL */
} stretch;

static double entry(const stretch *s, size_t i, size_t j) {
    double w = (double)s->W[i * s->stride + j];
    return s->unit ? w * s->unit[j] : w;
}

/* |G_ij| of rows i and j, or of columns, from above: products of floats are exact in double, sums and units
 * are not; what they lose is less than (terms + 4) 2^-52 times the sum of the sizes. */
static double gram(const stretch *s, int columns, size_t i, size_t j) {
    double sum = 0, sizes = 0;
    size_t terms = columns ? s->rows : s->columns;
    for (size_t k = 0; k < terms; k++) {
        double product = columns ? entry(s, k, i) * entry(s, k, j) : entry(s, i, k) * entry(s, j, k);
        sum += product;
        sizes += fabs(product);
    }
    return fabs(sum) + ((double)terms + 4) * 0x1p-52 * sizes;
}

/* N of a layer. */
static surety_status find_norm(const stretch *s, double *norm, surety_error *err) {
    int columns = s->rows > s->columns;
    size_t side = columns ? s->columns : s->rows;
    double *sums, most = 0;
    SURETY_TRY(surety_alloc(&sums, side, sizeof *sums, err));
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j <= i; j++) {
            double g = gram(s, columns, i, j);
            sums[i] += g;
            if (j < i) sums[j] += g;
        }
    for (size_t i = 0; i < side; i++) most = sums[i] <= most ? most : sums[i]; /* NaN stays */
    surety_free(sums);
    *norm = raised(sqrt(most), s->rows + s->columns);
    return SURETY_OK;
}

/* How many roundings input j goes through. */
static double roundings(size_t inputs, size_t j) {
    return (double)(inputs - j + 2);
}

static surety_status look_at_layer(network_range *g, size_t l, size_t t, surety_error *err) {
    const surety_voters *v = g->v;
    layer_facts *facts = &g->layers[t * surety_layers_of(v) + l];
    stretch s = {surety_network_weight(v, l, t), surety_layer_outputs(v, l), surety_layer_inputs(v, l),
                 surety_layer_weight(v, l)->stride, NULL};
    const float *c = surety_network_bias(v, l, t);
    double chained = 0, bias = 0;
    float *abs;
    if (!l && g->ball.tolerance) s.unit = g->ball.tolerance->unit;
    SURETY_TRY(find_norm(&s, &facts->norm, err));
    SURETY_TRY(surety_weights_new(&facts->abs, s.rows, s.columns, err));
    SURETY_TRY(surety_alloc(&abs, s.rows, s.stride * sizeof *abs, err));
    for (size_t i = 0; i < s.rows; i++)
        for (size_t j = 0; j < s.columns; j++) {
            double k = roundings(s.columns, j), moved = k * entry(&s, i, j);
            abs[i * s.stride + j] = float_up(k * fabs((double)s.W[i * s.stride + j]));
            chained += moved * moved;
        }
    surety_weights_pack(facts->abs, abs, s.stride);
    surety_free(abs);
    for (size_t i = 0; i < s.rows; i++) bias += (double)c[i] * (double)c[i];
    facts->chained = raised(sqrt(chained), s.rows * s.columns);
    facts->bias = raised((double)(s.columns + 2) * sqrt(bias), s.rows);
    return SURETY_OK;
}

static void look_at_pairs(network_range *g, size_t t) {
    size_t K = g->v->classes, last = surety_layers_of(g->v) - 1, n = surety_layer_inputs(g->v, last),
           stride = surety_layer_weight(g->v, last)->stride;
    const float *W = surety_network_weight(g->v, last, t);
    for (size_t y = 0; y < K; y++)
        for (size_t k = 0; k < K; k++) {
            double squares = 0;
            for (size_t j = 0; j < n; j++) {
                double w = (double)W[y * stride + j] - (double)W[k * stride + j];
                squares += w * w;
            }
            g->pairs[(t * K + y) * K + k] = raised(sqrt(squares), n);
        }
}

static surety_status allocate(network_range *g, surety_error *err) {
    const surety_voters *v = g->v;
    size_t n = surety_layers_of(v), inputs = surety_padded(v->d), outputs = 0, K = v->classes;
    for (size_t l = 0; l < n; l++) {
        size_t w = surety_padded(surety_layer_outputs(v, l));
        if (w > outputs) outputs = w;
    }
    if (outputs > inputs) inputs = outputs;
    SURETY_TRY(surety_alloc(&g->layers, v->H * n, sizeof *g->layers, err));
    SURETY_TRY(surety_alloc(&g->memory, L * (inputs + outputs) + v->kind->scratch(v), sizeof(float), err));
    g->x = g->memory;
    g->sums = g->x + L * inputs;
    g->scratch = g->sums + L * outputs;
    for (size_t t = 0; t < v->H; t++)
        for (size_t l = 0; l < n; l++) SURETY_TRY(look_at_layer(g, l, t, err));
    if (v->width == 1) return SURETY_OK;
    SURETY_TRY(surety_alloc(&g->pairs, v->H * K, K * sizeof *g->pairs, err));
    for (size_t t = 0; t < v->H; t++) look_at_pairs(g, t);
    return SURETY_OK;
}

static void stop(void *state) {
    network_range *g = state;
    if (!g) return;
    for (size_t i = 0; g->layers && i < g->v->H * surety_layers_of(g->v); i++)
        surety_weights_free(g->layers[i].abs);
    surety_free(g->layers);
    surety_free(g->pairs);
    surety_free(g->memory);
    surety_free(g);
}

static surety_status start(void **state, const surety_voters *v, const surety_ball *ball, uint64_t budget,
                           surety_error *err) {
    network_range *g;
    (void)budget; /* nothing is searched */
    SURETY_TRY(surety_alloc(&g, 1, sizeof *g, err));
    *g = (network_range){.v = v, .ball = *ball};
    *state = g;
    return allocate(g, err);
}

/* ---- the length of e ---- */

/* How far feature j can go from x, in its unit: at most `radius`. Boxes as the program has them, whose ends
 * are floats; features that were scaled in float may be off by the ball's slack, so their ends do not count.
 */
static double reach(const surety_ball *ball, float x, size_t j, double radius) {
    double unit = surety_ball_unit(ball, j), lo = -HUGE_VAL, hi = HUGE_VAL;
    if (ball->has_box) {
        lo = fmin(ball->lo, (double)(float)ball->lo);
        hi = fmax(ball->hi, (double)(float)ball->hi);
    }
    if (ball->tolerance) {
        lo = fmax(lo, fmin((double)x, (double)ball->tolerance->least[j]));
        hi = fmin(hi, fmax((double)x, (double)ball->tolerance->most[j]));
    }
    if (!(unit > 0)) return 0;
    if (ball->slack > 0) return radius;
    return fmin(radius, fmax(hi - (double)x, (double)x - lo) / unit * (1 + 0x1p-50));
}

/* l1: sum e_j^2 <= max |e_j| sum |e_j|. linf: every feature may be at its end at once, about b sqrt(d). */
double surety_ball_length(const surety_ball *ball, const float *x, size_t d, double radius) {
    double most = 0, squares = 0;
    if (ball->norm == SURETY_L2) return radius;
    for (size_t j = 0; j < d; j++) {
        double e = reach(ball, x[j], j, radius);
        most = fmax(most, e);
        squares += e * e;
    }
    return raised(ball->norm == SURETY_L1 ? sqrt(most * radius) : sqrt(squares), d);
}

/* ---- a block ---- */

/* || sum_j k_j |w_ij| |a_j| ||_i of each row of inputs, not below it. */
static void size_of_sums(network_range *g, const layer_facts *facts, size_t inputs, size_t outputs,
                         const float *const *a, size_t rows, double *sizes) {
    size_t ld = surety_padded(inputs), ldz = surety_padded(outputs);
    const float *at[L];
    for (size_t r = 0; r < rows; r++) {
        float *row = g->x + r * ld;
        for (size_t j = 0; j < inputs; j++) row[j] = fabsf(a[r][j]);
        for (size_t j = inputs; j < ld; j++) row[j] = 0;
        at[r] = row;
    }
    surety_product_forward(facts->abs, at, rows, NULL, g->sums, ldz);
    for (size_t r = 0; r < rows; r++) {
        double squares = 0;
        for (size_t i = 0; i < outputs; i++) {
            /* the float chain itself loses at most n + 2 roundings */
            double sum = (double)g->sums[r * ldz + i] * (1 + 2 * (double)(inputs + 2) * 0x1p-24) +
                         (double)(inputs + 2) * 0x1p-149;
            squares += sum * sum;
        }
        sizes[r] = sqrt(squares);
    }
}

/* Behind some layers of a network. */
typedef struct drift {
    double lip;    /* N_0 .. N_(l-1) */
    double inner;  /* the same without the last of them */
    double error;  /* E_(l-1) */
    double length; /* of a perturbation, at most */
    int wide;      /* the program could overflow, or chains are too long for gamma */
} drift;

static void pass_layer(const layer_facts *facts, size_t inputs, size_t outputs, double sizes, double length,
                       drift *at) {
    double k = (double)(inputs + 2), chain = k * 0x1p-24, gamma = 0x1p-24 / (1 - chain);
    double sum = sizes + facts->chained * (at->lip * length + 2 * at->error) + facts->bias;
    at->wide |= chain > 0.25 || !(sum < 1e37);
    at->error = facts->norm * at->error + gamma * sum + sqrt((double)outputs) * k * 0x1p-149;
    at->inner = at->lip;
    at->lip *= facts->norm;
}

/* All layers of network t. */
static void follow(network_range *g, const surety_network_parts *p, const float *const *x, size_t t,
                   size_t rows, const double *length, drift *drifts) {
    const surety_voters *v = g->v;
    size_t n = surety_layers_of(v);
    double sizes[L];
    for (size_t r = 0; r < L; r++) drifts[r] = (drift){.lip = 1, .length = r < rows ? length[r] : 0};
    for (size_t l = 0; l < n; l++) {
        const layer_facts *facts = &g->layers[t * n + l];
        const float *a[L];
        size_t inputs = surety_layer_inputs(v, l), outputs = surety_layer_outputs(v, l);
        for (size_t r = 0; r < rows; r++) a[r] = l ? p->a[l] + surety_network_input(v, l, t, r) : x[r];
        size_of_sums(g, facts, inputs, outputs, a, rows, sizes);
        for (size_t r = 0; r < rows; r++) pass_layer(facts, inputs, outputs, sizes[r], length[r], &drifts[r]);
    }
}

/* margin - moved, from below. */
static double less(double margin, double moved) {
    return margin - moved - (fabs(margin) + moved) * 0x1p-50;
}

static float float_down(double x) {
    return nextafterf(-float_up(-x), -HUGE_VALF);
}

/* Of y h = (y f) / s, cut. */
static float limit_two(double f, double moved, double scale) {
    double low = less(f, moved) / scale;
    return low > -1 ? (low < 1 ? float_down(low) : 1) : -1;
}

/* Of h_y - h_k, low[k], from lower limits D_k of (f_y - f_k) / s, 0 for k = y: with e_k = exp(-D_k) it is at
 * least (1 - e_k) / sum_j e_j where D_k is not negative, because h_y >= 1 / sum_j e_j and h_k <= h_y e_k; and
 * where it is, at least -tanh(-D_k / 2), because h_y + h_k <= 1. The program's softmax is off by the margin
 * of linear.c. */
static void limit_many(const double *D, size_t K, size_t y, float *low) {
    double sum = 0, margin = 8 * (double)(K + 8) * 0x1p-24;
    for (size_t k = 0; k < K; k++) sum += exp(-D[k]);
    for (size_t k = 0; k < K; k++) {
        if (k == y) continue;
        double limit = (D[k] >= 0 ? -expm1(-D[k]) / sum : tanh(D[k] / 2)) - margin;
        low[(k - (k > y)) * L] = limit > -1 ? float_down(limit) : -1;
    }
}

/* Network t on row r. */
static void limit_outputs(const network_range *g, const surety_network_parts *p, size_t t, size_t r,
                          const drift *at, size_t y, float *low) {
    const surety_voters *v = g->v;
    size_t n = surety_layers_of(v), K = v->classes, terms = v->d + n * SURETY_LAYER_WIDEST;
    const float *f = p->z[n - 1] + surety_network_row(v, n - 1, t, r);
    double scale = (double)surety_network_scales(v)[t], D[SURETY_CLASSES_MOST] = {0};
    if (at->wide) {
        for (size_t k = 0; k + 1 < K; k++) low[k * L] = -1;
        return;
    }
    if (v->width == 1) {
        double moved = raised(at->lip * at->length + 2 * at->error, terms);
        *low = limit_two(surety_sign((uint8_t)y) * (double)f[0], moved, scale);
        return;
    }
    for (size_t k = 0; k < K; k++) {
        double moved =
            raised(at->inner * g->pairs[(t * K + y) * K + k] * at->length + 2 * sqrt(2) * at->error, terms);
        if (k != y) D[k] = less((double)f[y] - (double)f[k], moved) / scale;
    }
    limit_many(D, K, y, low);
}

static void run(void *state, const float *const *x, size_t rows, const double *radius, const uint8_t *y,
                float *low) {
    network_range *g = state;
    size_t others = g->v->classes - 1;
    surety_network_parts p = surety_network_scratch(g->v, g->scratch);
    double length[L];
    drift drifts[L];
    for (size_t r = 0; r < rows; r++) length[r] = surety_ball_length(&g->ball, x[r], g->v->d, radius[r]);
    surety_network_layers(g->v, x, rows, &p);
    for (size_t t = 0; t < g->v->H; t++) {
        follow(g, &p, x, t, rows, length, drifts);
        for (size_t r = 0; r < rows; r++)
            limit_outputs(g, &p, t, r, &drifts[r], y[r], low + t * others * L + r);
    }
}

const surety_range_kind surety_network_range = {start, stop, run, NULL};
