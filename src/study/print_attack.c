/* Print's attacks: batches of 64 in lockstep, because the length of an l2 step depends on how many examples
 * of the batch are still attacked.
 *
 *   g        gradient of the mean loss over the B examples that are still attacked: (-y / 2B) grad vote
 *   l2       x + (b/k) g / max(||g||_2, 1e-6): the floor shortens the steps of saturated votes
 *   linf     x + (b/k) sign(g)
 *   both     then clipped to [x0 - b, x0 + b] and to [0,1]; never projected onto the l2 ball
 *
 * An example whose vote is wrong (a tie is) leaves before the step. The batch comes back reordered: those who
 * stayed in their order, then those who left in the order of leaving. Nobody asks for a vote after the last
 * step. */
#include <math.h>
#include <string.h>

#include "study/print.h"

enum {
    H = SURETY_PRINT_TREES,
    SPLITS = SURETY_PRINT_SPLITS,
    LEAVES = SURETY_PRINT_LEAVES,
    BATCH = SURETY_PRINT_BATCH,
    RESET_SEED = H - 1
};

/* ---- the workshop ---- */

/* seed > 0: W times 1 + 1e-7 N(0,1), from an addressed stream that touches neither N nor C. */
static void jitter(float *row, size_t d, uint64_t seed, size_t index, float *normal) {
    surety_address a = {.row = (uint32_t)index, .purpose = SURETY_FOR_WEIGHTS};
    if (!seed) return;
    surety_vector_normal(seed, &a, normal, d);
    for (size_t j = 0; j < d; j++) row[j] = (float)((double)row[j] * (1 + 1e-7 * (double)normal[j]));
}

/* W is drawn into `rows` (3 d) first: a tensor's rows are padded. normal (d) is scratch. */
static void start_forest(surety_print *p, uint64_t seed, float *rows, float *normal) {
    const surety_print_tensor *W = &p->tensor[0];
    for (uint32_t t = 0; t < H; t++) {
        surety_print_start(&p->C_reset, t, p->d, rows, p->tensor[2].values + t * LEAVES);
        for (size_t i = 0; i < SPLITS; i++) {
            jitter(rows + i * p->d, p->d, seed, t * SPLITS + i, normal);
            memcpy(W->values + (t * SPLITS + i) * W->stride, rows + i * p->d, p->d * sizeof *rows);
        }
    }
    surety_print_changed(p);
}

static surety_status allocate(surety_print *p, surety_error *err) {
    size_t block = BATCH * p->stride;
    struct {
        float **memory;
        size_t count;
    } parts[] = {{&p->tensor[0].values, H * SPLITS * p->stride},
                 {&p->tensor[1].values, p->ldz},
                 {&p->tensor[2].values, H * LEAVES},
                 {&p->points, block},
                 {&p->lo, block},
                 {&p->hi, block},
                 {&p->gradients, block},
                 {&p->z, SURETY_LANES * p->ldz},
                 {&p->h, SURETY_LANES * H},
                 {&p->dz, BATCH * p->ldz},
                 {&p->dscore, BATCH * H * LEAVES},
                 {&p->noise, p->d * p->samples},
                 {&p->samples_x, p->stride * p->samples}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        SURETY_TRY(surety_alloc(parts[i].memory, parts[i].count, sizeof(float), err));
    SURETY_TRY(surety_alloc(&p->move, p->d, sizeof(double), err));
    return surety_weights_new(&p->packed, H * SPLITS, p->d, err);
}

surety_status surety_print_new(surety_print *p, const surety_study_settings *s, const surety_cell *cell,
                               size_t d, const surety_run *run, surety_error *err) {
    double zero[H] = {0};
    *p = (surety_print){.epochs = s->epochs,
                        .steps = s->steps,
                        .samples = s->samples,
                        .norm = cell->norm,
                        .voter_set = cell->voter_set,
                        .defense = (surety_threat_kind)cell->defense,
                        .radius = surety_norm_radius(cell->norm),
                        .run = run,
                        .d = d,
                        .stride = surety_padded(d),
                        .ldz = surety_padded(H * SPLITS),
                        .before_first_pass = 1};
    p->tensor[0] = (surety_print_tensor){.rows = H * SPLITS, .length = d, .stride = p->stride};
    p->tensor[1] = (surety_print_tensor){.rows = 1, .length = H * SPLITS, .stride = p->ldz};
    p->tensor[2] = (surety_print_tensor){.rows = 1, .length = H * LEAVES, .stride = H * LEAVES};
    if (SPLITS * d % 16)
        return surety_fail(err, SURETY_E_USAGE,
                           "print's start needs three times the features to be a multiple of 16");
    SURETY_TRY(allocate(p, err));
    start_forest(p, cell->seed, p->points, p->gradients);
    surety_twister_seed(&p->N, 0);
    surety_twister_seed(&p->C, 0);
    surety_print_weigh(p, zero);
    return SURETY_OK;
}

void surety_print_free(surety_print *p) {
    float *parts[] = {p->tensor[0].values,
                      p->tensor[1].values,
                      p->tensor[2].values,
                      p->points,
                      p->lo,
                      p->hi,
                      p->gradients,
                      p->z,
                      p->h,
                      p->dz,
                      p->dscore,
                      p->noise,
                      p->samples_x};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    surety_free(p->move);
    surety_weights_free(p->packed);
    *p = (surety_print){0};
}

void surety_print_rewind(surety_print *p) {
    surety_twister_seed(&p->N, RESET_SEED);
    p->C = p->C_reset;
    p->before_first_pass = 0;
}

void surety_print_weigh(surety_print *p, const double *theta) {
    double most = theta[0], sum = 0;
    for (size_t t = 0; t < H; t++) most = fmax(most, theta[t]);
    for (size_t t = 0; t < H; t++) {
        p->theta[t] = theta[t];
        sum += p->Q[t] = exp(theta[t] - most);
    }
    for (size_t t = 0; t < H; t++) p->Q[t] /= sum;
}

/* ---- the forest ----
 *
 * Leaf scores s = tanh(u), splits p_i = sigmoid(z_i), q_i = 1 - p_i, both as rounded floats: where p_i rounds
 * to 1, q_i and the slope p_i q_i are 0, and an attack finds no way.
 *
 *   h = p0 (p1 s0 + q1 s1) + q0 (p2 s2 + q2 s3) */

void surety_print_changed(surety_print *p) {
    surety_weights_pack(p->packed, p->tensor[0].values, p->tensor[0].stride);
    surety_vector_tanh(p->tensor[2].values, p->scores, H * LEAVES);
}

void surety_print_ask(surety_print *p, const float *const *x, size_t rows) {
    surety_product_forward(p->packed, x, rows, p->tensor[1].values, p->z, p->ldz);
    surety_vector_sigmoid(p->z, p->z, rows * p->ldz);
    for (size_t r = 0; r < rows; r++)
        for (size_t t = 0; t < H; t++) {
            const float *d = p->z + r * p->ldz + t * SPLITS, *s = p->scores + t * LEAVES;
            float q0 = 1 - d[0], q1 = 1 - d[1], q2 = 1 - d[2];
            p->h[r * H + t] = d[0] * d[1] * s[0] + d[0] * q1 * s[1] + q0 * d[2] * s[2] + q0 * q2 * s[3];
        }
}

double surety_print_vote(const surety_print *p, const double *Q, surety_voter_set set, size_t r) {
    const float *h = p->h + r * H;
    double vote = 0;
    for (size_t t = 0; t < H; t++)
        vote += Q[t] * (set == SURETY_SIGNED ? (double)((h[t] > 0) - (h[t] < 0)) : (double)h[t]);
    return vote;
}

void surety_print_slopes(const surety_print *p, size_t r, double slope, float *dz, float *dscore) {
    for (size_t t = 0; t < H; t++) {
        const float *d = p->z + r * p->ldz + t * SPLITS, *s = p->scores + t * LEAVES;
        float q0 = 1 - d[0], q1 = 1 - d[1], q2 = 1 - d[2], a = (float)(slope * p->Q[t]);
        float left = d[1] * s[0] + q1 * s[1], right = d[2] * s[2] + q2 * s[3];
        dz[t * SPLITS] = a * (left - right) * q0 * d[0];
        dz[t * SPLITS + 1] = a * d[0] * (s[0] - s[1]) * q1 * d[1];
        dz[t * SPLITS + 2] = a * q0 * (s[2] - s[3]) * q2 * d[2];
        if (!dscore) continue;
        float *ds = dscore + t * LEAVES;
        ds[0] = a * d[0] * d[1], ds[1] = a * d[0] * q1, ds[2] = a * q0 * d[2], ds[3] = a * q0 * q2;
    }
}

/* ---- where an attack begins ---- */

/* move = (U - x0) min(1, b / ||U - x0||_2), U uniform in the box, in double. */
static void draw_move(surety_print *p, double b, const float *x0) {
    double squares = 0;
    for (size_t j = 0; j < p->d; j++) {
        p->move[j] = surety_twister_double(&p->N) - (double)x0[j];
        squares += p->move[j] * p->move[j];
    }
    double factor = fmin(b / sqrt(squares), 1);
    for (size_t j = 0; j < p->d; j++) p->move[j] *= factor;
}

/* x0 - b + 2 b U, or x0 + move, in double, in the box. */
static void pgd_start(surety_print *p, double b, const float *x0, float *x) {
    if (p->norm == SURETY_L2)
        draw_move(p, b, x0);
    else
        for (size_t j = 0; j < p->d; j++) p->move[j] = -b + 2 * b * surety_twister_double(&p->N);
    for (size_t j = 0; j < p->d; j++) x[j] = surety_print_clip((float)((double)x0[j] + p->move[j]), 0, 1);
}

/* The same for l2, but added in float; for linf b (2 u - 1) of C. */
static void unif_start(surety_print *p, double b, const float *x0, float *x) {
    if (p->norm == SURETY_L2) draw_move(p, b, x0);
    for (size_t j = 0; j < p->d; j++) {
        float e =
            p->norm == SURETY_L2 ? (float)p->move[j] : (float)b * (2 * (surety_twister_float(&p->C) - .5f));
        x[j] = surety_print_clip(x0[j] + e, 0, 1);
    }
}

static void limits(const float *x0, float b, size_t d, float *lo, float *hi) {
    for (size_t j = 0; j < d; j++) {
        lo[j] = surety_print_clip(x0[j] - b, 0, 1);
        hi[j] = surety_print_clip(x0[j] + b, 0, 1);
    }
}

static void begin(surety_print *p, surety_threat_kind kind, double b, const surety_set *set, size_t first) {
    surety_threat_kind plain = surety_threat_plain(kind);
    for (size_t r = 0; r < p->rows; r++) {
        const float *x0 = set->x + (first + r) * set->stride;
        float *x = p->points + r * p->stride;
        p->x0[r] = x0;
        p->order[r] = r;
        if (plain == SURETY_ATTACK_PGD)
            pgd_start(p, b, x0, x);
        else if (plain == SURETY_ATTACK_UNIF)
            unif_start(p, b, x0, x);
        else
            memcpy(x, x0, p->d * sizeof *x);
        limits(x0, (float)b, p->d, p->lo + r * p->stride, p->hi + r * p->stride);
    }
    p->y = set->y + first;
    if (p->before_first_pass) surety_print_rewind(p);
}

/* ---- steps ---- */

/* x + step g / max(||g||, 1e-6), clipped. */
static void l2_step(float *x, const float *g, float square, float step, const float *lo, const float *hi,
                    size_t d) {
    float length = step / fmaxf(sqrtf(square), 1e-6f);
    for (size_t j = 0; j < d; j++) x[j] = surety_print_clip(x[j] + length * g[j], lo[j], hi[j]);
}

/* Moves those rows of a block (members of the batch) that the vote still has right; wrong[r] says which are
 * not. B counts all that are still attacked in this pass. */
static void step_block(surety_print *p, const size_t *members, size_t rows, size_t B, float step,
                       int *wrong) {
    const float *x[SURETY_LANES], *lo[SURETY_LANES], *hi[SURETY_LANES];
    float *points[SURETY_LANES], *gradients[SURETY_LANES], squares[SURETY_LANES];
    size_t kept = 0;
    for (size_t r = 0; r < rows; r++) x[r] = p->points + members[r] * p->stride;
    surety_print_ask(p, x, rows);
    for (size_t r = 0; r < rows; r++) {
        size_t at = members[r] * p->stride;
        int y = surety_sign(p->y[members[r]]);
        wrong[r] = !(y * surety_print_vote(p, p->Q, p->voter_set, r) > 0);
        if (wrong[r]) continue;
        surety_print_slopes(p, r, -.5 * y / (double)B, p->dz + kept * p->ldz, NULL);
        points[kept] = p->points + at, gradients[kept] = p->gradients + at;
        lo[kept] = p->lo + at, hi[kept] = p->hi + at;
        kept++;
    }
    int linf = p->norm == SURETY_LINF;
    surety_gradient_use use = {.out = linf ? points : gradients, .squares = linf ? NULL : squares};
    float steps[SURETY_LANES];
    for (size_t r = 0; r < SURETY_LANES; r++) steps[r] = step;
    if (linf) use.x = (const float *const *)points, use.lo = lo, use.hi = hi, use.step = steps;
    if (kept) surety_product_backward(p->packed, p->dz, p->ldz, kept, &use);
    for (size_t k = 0; k < kept && !linf; k++)
        l2_step(points[k], gradients[k], squares[k], step, lo[k], hi[k], p->d);
}

static void steps(surety_print *p, double b) {
    float step = (float)(b / (double)p->steps);
    size_t live[BATCH], left[BATCH] = {0}, B = p->rows, left_count = 0;
    memcpy(live, p->order, sizeof live);
    for (size_t k = 0; k < p->steps && B; k++) {
        int wrong[BATCH] = {0};
        for (size_t at = 0; at < B; at += SURETY_LANES)
            step_block(p, live + at, B - at < SURETY_LANES ? B - at : SURETY_LANES, B, step, wrong + at);
        size_t stay = 0;
        for (size_t i = 0; i < B; i++) {
            if (wrong[i])
                left[left_count++] = live[i];
            else
                live[stay++] = live[i];
        }
        B = stay;
    }
    memcpy(p->order, live, B * sizeof *live);
    memcpy(p->order + B, left, left_count * sizeof *left);
}

/* .01 (2 u - 1) of C for every feature, in the order after the attack. */
static void add_noise(surety_print *p) {
    for (size_t i = 0; i < p->rows; i++) {
        float *x = surety_print_point(p, i);
        for (size_t j = 0; j < p->d; j++) {
            float e = .01f * (2 * (surety_twister_float(&p->C) - .5f));
            x[j] = surety_print_clip(x[j] + e, 0, 1);
        }
    }
}

void surety_print_attack(surety_print *p, surety_threat_kind kind, double radius, const surety_set *set,
                         size_t first, size_t rows) {
    surety_threat_kind plain = surety_threat_plain(kind);
    p->rows = rows;
    begin(p, kind, radius, set, first);
    if (plain == SURETY_ATTACK_PGD || plain == SURETY_ATTACK_IFGSM) steps(p, radius);
    if (kind != plain) add_noise(p);
}
