/* A kind without gradients and without a matrix: voter t says c_t whatever x is, constant (H). It grows:
 * epoch e sets voter e mod H to the mean label. */
#include "voters/constant.h"

static surety_status attach(surety_voters *v, surety_error *err) {
    (void)v, (void)err;
    return SURETY_OK;
}
static void nothing(surety_voters *v) {
    (void)v;
}
static size_t scratch(const surety_voters *v) {
    (void)v;
    return 0;
}

static surety_status empty(surety_voters **out, size_t H, size_t d, surety_error *err) {
    SURETY_TRY(surety_voters_begin(out, &surety_kind_constant, H, d, 2, err));
    surety_status status = surety_tensor_new(*out, "constant", SURETY_ELEMENT_F32, 1, (size_t[]){H}, 0, err);
    if (status != SURETY_OK) surety_voters_free(*out), *out = NULL;
    return status;
}

static surety_status make(surety_voters **out, const surety_voters_settings *settings, size_t d,
                          uint64_t seed, surety_error *err) {
    (void)seed;
    return empty(out, settings->count, d, err);
}

/* The number of features is nowhere in this kind: one. */
static surety_status open_shapes(surety_voters **out, const surety_shape *shapes, size_t count,
                                 surety_error *err) {
    const surety_shape *c = surety_shape_find(shapes, count, "constant", 1, err);
    return c ? empty(out, c->shape[0], 1, err) : SURETY_E_INPUT;
}

static void forward(const surety_voters *v, const float *const *x, size_t rows, float *h, float *scratch_) {
    (void)x, (void)scratch_;
    for (size_t t = 0; t < v->H; t++)
        for (size_t r = 0; r < rows; r++) h[t * SURETY_LANES + r] = v->tensors[0].values[t];
}

static surety_status grow(surety_voters *v, surety_growth *growth, surety_error *err) {
    (void)err;
    double sum = 0;
    for (size_t i = 0; i < growth->set->m; i++) sum += surety_sign(growth->set->y[i]);
    v->tensors[0].values[growth->epoch % v->H] = (float)(sum / (double)growth->set->m);
    return SURETY_OK;
}

static surety_status start(void **state, const surety_voters *v, const surety_ball *ball, uint64_t budget,
                           surety_error *err) {
    (void)ball, (void)budget, (void)err;
    *state = (void *)(uintptr_t)v;
    return SURETY_OK;
}
static void stop(void *state) {
    (void)state;
}
static void run(void *state, const float *const *x, size_t rows, const double *radius, const uint8_t *y,
                float *low) {
    const surety_voters *v = state;
    (void)radius;
    forward(v, x, rows, low, NULL);
    for (size_t n = 0; n < v->H * SURETY_LANES; n++)
        if (n % SURETY_LANES < rows) low[n] *= (float)surety_sign(y[n % SURETY_LANES]);
}
static const surety_range_kind range = {start, stop, run, NULL};

const surety_voter_kind surety_kind_constant = {.name = "constant",
                                                .words = "constant voters",
                                                .classes = 2,
                                                .make = make,
                                                .open = open_shapes,
                                                .attach = attach,
                                                .prepare = nothing,
                                                .detach = nothing,
                                                .scratch = scratch,
                                                .forward = forward,
                                                .grow = grow,
                                                .range = &range};
