/* The attacks of docs/theory.md 3: start x direction x projection x sampler.
 *
 * A run takes a block through a whole attack. Rows whose vote is wrong leave the list of live rows, so that
 * they cost nothing, or make room for the next example of a stream: rows need not be at the same step. Each
 * row has three buffers: the current point and the best one so far (which may be the same) are in one or two
 * of them, so one is always free for the next point and nothing is copied.
 *
 * Inside the ball, truly: with u = 2^-24, x0 + e is rounded to floats by a vector of length at most
 * u (||x0|| + b), and the length of e is computed in float with a relative error below (d/32 + 12) u for l2
 * (a sum of d squares in sixteen lanes, then a root; a dozen single operations) and (d/16 + 12) u for l1 (no
 * root). The radius used for l2 and l1 is smaller by just that; for linf the limits of each feature are
 * rounded towards x0. An l2 step of length s from a point at distance r ends at most at r + s, with both
 * errors added: where that is inside, the length need not be taken.
 *
 * With a tolerance all moves are made in its units (units.h), in double; lo_row and hi_row are then the box
 * and the range of every feature.
 */
#include "attack/attacker.h"

#include <math.h>
#include <string.h>

#include "attack/l1.h"
#include "attack/units.h"
#include "num/level.h"
#include "voters/ball.h"
#include "voters/range.h"

/* A row of an adaptive pass. At the end of every window of steps its step is halved, unless three quarters of
 * them raised the loss and one of them made it the largest of the pass. */
typedef struct adapting {
    double last, most, mark; /* loss at the last point, the largest of the pass, and that a window ago */
    size_t rises, window_end;
} adapting;

enum { WINDOWS = 8 }; /* of a pass */

struct surety_attacker {
    surety_threat s;
    size_t d, H, stride;
    surety_voters *voters;   /* a view of its own */
    surety_range *range;     /* of these voters: the search, for attacks that search */
    const surety_vote *vote; /* under attack */
    const surety_step_kernels *k;
    float lo, hi; /* the box, or infinities */
    float b;      /* radius, rounded down */
    size_t steps;
    surety_units *units; /* NULL: without a tolerance */
    double *differences; /* (d) scratch of l1 */
    float *memory;       /* everything below */
    float *buffer[3][SURETY_LANES], *lo_row[SURETY_LANES], *hi_row[SURETY_LANES];
    float *current[SURETY_LANES], *best[SURETY_LANES]; /* each one of the buffers of its row */
    float *random;                                     /* draws of a start, padded d + 1 */
    float *h, *a, *scratch;
    double relative;              /* error of a computed length, see above */
    float radius[SURETY_LANES];   /* of l2 and l1, see above */
    double rounded[SURETY_LANES]; /* what rounding adds to a length, see above */
    float step[SURETY_LANES];
    double reach[SURETY_LANES]; /* l2: the current point is not farther from x0, */
    double pace[SURETY_LANES];  /* and a step takes it not farther than that */
    double best_loss[SURETY_LANES];
    int fooled[SURETY_LANES];
    size_t taken[SURETY_LANES];     /* steps of this pass */
    uint32_t restart[SURETY_LANES]; /* which pass it is */
    uint32_t found[SURETY_LANES];   /* that in which the vote was wrong first */
    adapting adapt[SURETY_LANES];
    surety_examples examples; /* of the last run */
    uint8_t y[SURETY_LANES],
        rival[SURETY_LANES];   /* of the live rows: classes, and those nearest to winning */
    size_t live[SURETY_LANES]; /* rows under attack */
    size_t count;              /* of them */
    size_t at[SURETY_LANES];   /* streams: which of the stream's examples a row is */
    surety_attacked result;
};

#define DECLARE(level) extern const surety_step_kernels surety_step_##level;
SURETY_EACH_LEVEL(DECLARE)

const surety_step_kernels *surety_step_kernels_at(surety_level level) {
#define ADDRESS(name) &surety_step_##name,
    static const surety_step_kernels *const table[] = {SURETY_EACH_LEVEL(ADDRESS)};
    return table[level];
}

void surety_examples_put(surety_examples *e, size_t r, const surety_set *set, size_t i) {
    e->x[r] = surety_set_row(set, i);
    e->y[r] = set->y[i];
    e->row[r] = set->row[i];
}

surety_examples surety_examples_of(const surety_set *set, size_t first) {
    surety_examples e = {.which = set->which};
    for (; e.rows < SURETY_BLOCK && first + e.rows < set->m; e.rows++)
        surety_examples_put(&e, e.rows, set, first + e.rows);
    return e;
}

static int random_start(surety_threat_kind kind) {
    return surety_threat_about(kind)->starts;
}

static size_t steps_of(const surety_threat *s) {
    int steps = surety_threat_about(s->kind)->steps;
    return steps == SURETY_STEPS_MANY ? s->steps : steps == SURETY_STEPS_ONE;
}

/* The largest float that is not above x. */
static float float_down(double x) {
    float f = (float)x;
    return (double)f > x ? nextafterf(f, -HUGE_VALF) : f;
}

surety_status surety_attacker_new(surety_attacker **out, const surety_threat *settings,
                                  const surety_voters *voters, surety_error *err) {
    *out = NULL;
    surety_attacker *a;
    SURETY_TRY(surety_threat_fits(settings->kind, voters, err));
    SURETY_TRY(surety_alloc(&a, 1, sizeof *a, err));
    size_t d = surety_voters_features(voters), H = surety_voters_count(voters), stride = surety_padded(d),
           lanes = H * surety_voters_width(voters) * SURETY_LANES;
    *a = (surety_attacker){.s = *settings, .d = d, .H = H, .stride = stride};
    a->k = surety_step_kernels_at(surety_cpu());
    a->lo = settings->ball.has_box ? (float)settings->ball.lo : -HUGE_VALF;
    a->hi = settings->ball.has_box ? (float)settings->ball.hi : HUGE_VALF;
    a->b = float_down(settings->ball.radius);
    a->steps = steps_of(settings);
    a->relative = ((double)d / (settings->ball.norm == SURETY_L1 ? 16 : 32) + 12) * 0x1p-24;
    size_t floats = 5 * SURETY_LANES * stride + surety_padded(d + 1) + 2 * surety_padded(lanes) +
                    surety_voters_scratch(voters);
    surety_status status = surety_alloc(&a->memory, floats, sizeof(float), err);
    if (status == SURETY_OK) status = surety_voters_view(&a->voters, voters, err);
    if (status == SURETY_OK) status = surety_alloc(&a->differences, d, sizeof(double), err);
    if (status == SURETY_OK && settings->ball.tolerance)
        status = surety_units_new(&a->units, &settings->ball, err);
    if (status == SURETY_OK && surety_threat_about(settings->kind)->searches)
        status = surety_range_new(&a->range, a->voters, &settings->ball, settings->budget, err);
    if (status != SURETY_OK) {
        surety_attacker_free(a);
        return status;
    }
    float *next = a->memory;
    float **rows[] = {a->buffer[0], a->buffer[1], a->buffer[2], a->lo_row, a->hi_row};
    for (size_t i = 0; i < 5; i++)
        for (size_t r = 0; r < SURETY_LANES; r++, next += stride) rows[i][r] = next;
    a->random = next;
    a->h = a->random + surety_padded(d + 1);
    a->a = a->h + surety_padded(lanes);
    a->scratch = a->a + surety_padded(lanes);
    *out = a;
    return SURETY_OK;
}

void surety_attacker_free(surety_attacker *a) {
    if (!a) return;
    surety_range_free(a->range);
    surety_voters_free(a->voters);
    surety_units_free(a->units);
    surety_free(a->differences);
    surety_free(a->memory);
    surety_free(a);
}

void surety_attacker_epoch(surety_attacker *a, uint32_t epoch) {
    a->s.epoch = epoch;
}
const surety_voters *surety_attacker_voters(surety_attacker *a) {
    surety_voters_follow(a->voters);
    return a->voters;
}
/* ---- starts ---- */

static surety_address address(const surety_attacker *a, size_t r, surety_purpose purpose, uint32_t restart,
                              uint32_t sample) {
    return (surety_address){.row = a->examples.row[r],
                            .epoch = a->s.epoch,
                            .restart = restart,
                            .sample = sample,
                            .purpose = (uint8_t)(purpose + (int)a->examples.which)};
}

/* The radius left for l2 and l1 after rounding (see the head; subnormal floats are rounded by 2^-150), for
 * linf the limits of each feature; with a tolerance their ends. */
static void set_ball(surety_attacker *a, size_t r) {
    const float *x0 = a->examples.x[r];
    if (a->s.kind == SURETY_ATTACK_NONE) return; /* nothing moves */
    if (a->units) {
        for (size_t j = 0; j < a->d; j++)
            surety_ball_ends(&a->s.ball, j, x0[j], &a->lo_row[r][j], &a->hi_row[r][j]);
        return;
    }
    if (a->s.ball.norm == SURETY_LINF) {
        a->k->limits(x0, a->b, a->lo, a->hi, a->d, a->lo_row[r], a->hi_row[r]);
        return;
    }
    int l1 = a->s.ball.norm == SURETY_L1;
    double b = a->s.ball.radius, length = a->k->length(x0, l1, a->d);
    a->rounded[r] = 0x1p-24 * (length + b) + (double)a->d * 0x1p-149;
    a->radius[r] = float_down(fmax(0, b * (1 - a->relative) - a->rounded[r]));
}

static void set_step(surety_attacker *a, size_t r, float step) {
    a->step[r] = step;
    a->pace[r] = (double)step * (1 + a->relative) + a->rounded[r];
}

/* ---- passes ---- */

/* Of apgd: 0 is ifgsm, 1 is pgd, then adaptive ones from the best point and from a random one in turn. */
typedef enum start { FROM_X, FROM_BALL, FROM_BEST, FROM_SEARCH } start;

static start start_of(const surety_attacker *a, uint32_t pass) {
    if (surety_threat_about(a->s.kind)->adapts) return pass == 0 ? FROM_X : pass % 2 ? FROM_BALL : FROM_BEST;
    if (surety_threat_about(a->s.kind)->searches) return FROM_SEARCH;
    return random_start(a->s.kind) ? FROM_BALL : FROM_X;
}

static int adapts(const surety_attacker *a, uint32_t pass) {
    return surety_threat_about(a->s.kind)->adapts && pass > 1;
}

static size_t passes_of(const surety_attacker *a) {
    if (surety_threat_about(a->s.kind)->adapts) return 2 + 2 * a->s.restarts;
    return random_start(a->s.kind) ? a->s.restarts : 1;
}

static size_t steps_of_pass(const surety_attacker *a, uint32_t pass) {
    return adapts(a, pass) ? 2 * a->steps : a->steps;
}

surety_threat_kind surety_attacker_found(const surety_attacker *a, size_t r) {
    if (!a->fooled[r]) return SURETY_ATTACK_NONE;
    if (!surety_threat_about(a->s.kind)->adapts) return a->s.kind;
    return a->found[r] == 0 ? SURETY_ATTACK_IFGSM : a->found[r] == 1 ? SURETY_ATTACK_PGD : SURETY_ATTACK_APGD;
}

/* Which random start a pass has. The first of apgd is that of pgd, so that it fools whom pgd fools. */
static uint32_t draw_of(const surety_attacker *a, uint32_t pass) {
    return surety_threat_about(a->s.kind)->adapts ? pass / 2 : pass;
}

static surety_row_ball ball_of(const surety_attacker *a, size_t r) {
    return (surety_row_ball){a->radius[r], a->lo, a->hi, a->d};
}
#define UNIT_BALL(count) ((surety_row_ball){1, -HUGE_VALF, HUGE_VALF, count})

/* A uniform point of the ball with a tolerance: one of the unit ball of the features that can change, drawn
 * around 0, which is in out. */
static void start_units(surety_attacker *a, size_t r, uint32_t draw, float *out) {
    size_t count = a->units->count;
    surety_address where = address(a, r, SURETY_FOR_START, draw, 0),
                   radius = address(a, r, SURETY_FOR_RADIUS, draw, 0);
    memset(out, 0, a->d * sizeof *out);
    if (a->s.ball.norm == SURETY_L2) {
        surety_vector_direction(a->s.seed, &where, a->random, count);
        a->k->l2_start(out, a->random, surety_random_uniform(a->s.seed, &radius, 0), UNIT_BALL(count), out);
    } else {
        surety_vector_uniform(a->s.seed, &where, a->random, count + 1);
        if (a->s.ball.norm == SURETY_L1) a->k->l1_start(out, a->random, UNIT_BALL(count), out);
        for (size_t i = 0; a->s.ball.norm == SURETY_LINF && i < count; i++) out[i] = 2 * a->random[i] - 1;
    }
    surety_units_start(a->units, out);
    surety_units_place(a->units, a->examples.x[r], a->lo_row[r], a->hi_row[r], out);
}

static void start_point(surety_attacker *a, size_t r, uint32_t pass, float *out) {
    const float *x0 = a->examples.x[r];
    uint32_t draw = draw_of(a, pass);
    surety_address where = address(a, r, SURETY_FOR_START, draw, 0);
    a->reach[r] = 0;
    if (start_of(a, pass) == FROM_X) {
        memcpy(out, x0, a->d * sizeof *out);
    } else if (start_of(a, pass) == FROM_SEARCH) {
        surety_vote vote = {a->voters, a->vote->weights, a->vote->voter_set};
        a->fooled[r] = surety_range_find(a->range, &vote, x0, a->examples.y[r], a->s.ball.radius, out);
    } else if (start_of(a, pass) == FROM_BEST) {
        memcpy(out, a->best[r], a->d * sizeof *out);
        a->reach[r] = (double)a->radius[r];
    } else if (a->units) {
        start_units(a, r, draw, out);
    } else if (a->s.ball.norm == SURETY_LINF) {
        surety_vector_uniform(a->s.seed, &where, a->random, a->d);
        a->k->linf_start(x0, a->random, a->b, a->lo_row[r], a->hi_row[r], a->d, out);
    } else if (a->s.ball.norm == SURETY_L1) {
        surety_vector_uniform(a->s.seed, &where, a->random, a->d + 1);
        a->k->l1_start(x0, a->random, ball_of(a, r), out);
    } else {
        surety_address radius = address(a, r, SURETY_FOR_RADIUS, draw, 0);
        surety_vector_direction(a->s.seed, &where, a->random, a->d);
        double length =
            a->k->l2_start(x0, a->random, surety_random_uniform(a->s.seed, &radius, 0), ball_of(a, r), out);
        a->reach[r] = length * (1 + a->relative);
    }
}

/* ---- steps ---- */

static float *free_buffer(const surety_attacker *a, size_t r) {
    for (size_t i = 0; i < 2; i++)
        if (a->buffer[i][r] != a->current[r] && a->buffer[i][r] != a->best[r]) return a->buffer[i][r];
    return a->buffer[2][r];
}

/* The step of an l2 attack; g is in out. Where it cannot leave the ball (triangle inequality) no length is
 * taken: it would be below the radius. Returns the length if the row is still to be brought back, else -1. */
static double move_l2(surety_attacker *a, size_t r, const float *x, float inverse, float *out) {
    if ((a->reach[r] + a->pace[r]) * (1 + a->relative) <= (double)a->radius[r]) {
        a->k->l2_inside(x, out, a->step[r], inverse, ball_of(a, r), out);
        a->reach[r] += a->pace[r];
        return -1;
    }
    double length = a->k->l2_leave(x, out, a->examples.x[r], a->step[r], inverse, ball_of(a, r), out);
    a->reach[r] = length * (1 + a->relative);
    return length;
}

static void move_units(surety_attacker *a, size_t r, const float *x, float *out) {
    const float *x0 = a->examples.x[r], *lo = a->lo_row[r], *hi = a->hi_row[r];
    surety_units_at(a->units, x, x0);
    surety_units_step(a->units, x, out, (double)a->step[r], lo, hi);
    if (a->s.ball.norm == SURETY_L1) surety_units_clip(a->units, x0, lo, hi);
    surety_units_place(a->units, x0, lo, hi, out);
}

/* One step from a row's current point along the gradient of the loss, projected and clipped. The new point
 * takes the place of the gradient, whose lines are in the cache. For linf the gradient's own pass has done
 * it. Returns what move_l2 does. */
static double move(surety_attacker *a, size_t r, float inverse, float *out) {
    const float *x = a->current[r], *g = out;
    a->current[r] = out;
    a->taken[r]++;
    if (a->units) return move_units(a, r, x, out), -1;
    if (a->s.ball.norm == SURETY_L2) return move_l2(a, r, x, inverse, out);
    if (a->s.ball.norm == SURETY_L1) {
        surety_l1_step(x, g, a->step[r], a->lo, a->hi, a->d, out);
        surety_l1_project(out, a->examples.x[r], (double)a->radius[r], a->d, a->differences);
    }
    return -1;
}

static void bring_back(surety_attacker *a, size_t r, double length) {
    a->k->l2_return(a->current[r], a->examples.x[r], length, ball_of(a, r));
}

/* Moves these rows, whose gradients are in out, with these squares. */
static void move_all(surety_attacker *a, const size_t *rows, size_t count, float *const *out,
                     const float *squares) {
    float inverse[SURETY_LANES] = {0};
    size_t before = 0; /* the row that is still to be brought back */
    double length = -1;
    if (a->s.ball.norm == SURETY_L2 && !a->units)
        a->k->inverse_norms((const float *const *)out, squares, count, a->d, inverse);
    for (size_t k = 0; k < count; k++) {
        double next = move(a, rows[k], inverse[k], out[k]);
        if (!(length < 0)) bring_back(a, before, length);
        before = rows[k], length = next;
    }
    if (!(length < 0)) bring_back(a, before, length);
}

/* Asks the voters at the live rows' current points: margins of the chosen set, and of the real outputs. */
static void ask(surety_attacker *a, const surety_vote *vote, const size_t *live, size_t count, double *chosen,
                double *real) {
    const float *x[SURETY_LANES] = {NULL};
    memset(a->y, 0, sizeof a->y);
    for (size_t i = 0; i < count; i++) x[i] = a->current[live[i]], a->y[i] = a->examples.y[live[i]];
    surety_voters_ask(a->voters, x, count, a->h, a->scratch);
    surety_margin_lanes(vote, a->h, a->y, chosen, real, a->rival);
}

/* a[t, i] = d loss / dh_t of the live rows up to the factor 1/2: -y w_t, exact but for the rounding of w_t.
 */
static void fill_loss_gradient(surety_attacker *a, const surety_vote *vote) {
    float sign[SURETY_LANES];
    for (size_t i = 0; i < SURETY_LANES; i++) sign[i] = (float)-surety_sign(a->y[i]);
    for (size_t t = 0; t < a->H; t++) {
        float w = (float)vote->weights[t], *to = a->a + t * SURETY_LANES;
        for (size_t i = 0; i < SURETY_LANES; i++) to[i] = sign[i] * w;
    }
}

/* Of several classes: -w_t for the score of y, w_t for that of its rival. */
static void fill_rival_gradient(surety_attacker *a, const surety_vote *vote) {
    size_t each = surety_voters_width(a->voters) * SURETY_LANES;
    memset(a->a, 0, a->H * each * sizeof *a->a);
    for (size_t t = 0; t < a->H; t++) {
        float w = (float)vote->weights[t], *to = a->a + t * each;
        for (size_t i = 0; i < SURETY_LANES; i++)
            to[a->y[i] * SURETY_LANES + i] = -w, to[a->rival[i] * SURETY_LANES + i] = w;
    }
}

/* Into out, the free buffers of the kept rows: d loss / dx up to the factor 1/2; for l2 with its squares, for
 * linf the next point at once. */
static void ask_gradient(surety_attacker *a, const int *keep, size_t count, const size_t *rows, size_t kept,
                         float **out, float *squares) {
    const float *x[SURETY_LANES], *lo[SURETY_LANES], *hi[SURETY_LANES];
    float step[SURETY_LANES];
    for (size_t k = 0; k < kept; k++) {
        size_t r = rows[k];
        out[k] = free_buffer(a, r);
        x[k] = a->current[r], lo[k] = a->lo_row[r], hi[k] = a->hi_row[r], step[k] = a->step[r];
    }
    surety_gradient_use use = {.out = out, .step = step};
    if (a->s.ball.norm == SURETY_LINF && !a->units) use.x = x, use.lo = lo, use.hi = hi;
    if (a->s.ball.norm == SURETY_L2 && !a->units) use.squares = squares;
    surety_voters_gradient_input(a->voters, a->a, count, keep, &use, a->scratch);
}

/* What becomes of a row: its pass has ended, or it moves along its gradient, or it is asked again. */
typedef enum verdict { ENDED, MOVES, AGAIN } verdict;

/* The end of a window of an adaptive pass that brought too little: half the step; where the pass began at the
 * best point, it goes on from there. */
static verdict slow_down(surety_attacker *a, size_t r) {
    set_step(a, r, a->step[r] / 2);
    if (start_of(a, a->restart[r]) != FROM_BEST || a->current[r] == a->best[r]) return MOVES;
    a->current[r] = free_buffer(a, r);
    memcpy(a->current[r], a->best[r], a->d * sizeof(float));
    a->reach[r] = (double)a->radius[r];
    return AGAIN;
}

static verdict adapt(surety_attacker *a, size_t r, double loss) {
    adapting *s = &a->adapt[r];
    size_t window = (steps_of_pass(a, a->restart[r]) + WINDOWS - 1) / WINDOWS;
    s->rises += loss > s->last;
    s->last = loss;
    s->most = fmax(s->most, loss);
    if (a->taken[r] < s->window_end) return MOVES;
    int slow = 4 * s->rises < 3 * window || !(s->most > s->mark);
    s->mark = s->most;
    s->rises = 0;
    s->window_end += window;
    return slow ? slow_down(a, r) : MOVES;
}

/* Looks at a row's current point and keeps it if it is the best so far: a wrong vote before a right one, then
 * the larger loss. */
static verdict judge(surety_attacker *a, size_t r, double chosen, double real) {
    double loss = 0.5 * (1 - real);
    int wrong = !(chosen > 0); /* a tie is wrong, and so is what is not a number */
    if (wrong > a->fooled[r] || (wrong == a->fooled[r] && loss > a->best_loss[r])) {
        if (wrong > a->fooled[r]) a->found[r] = a->restart[r];
        a->best[r] = a->current[r];
        a->best_loss[r] = loss;
        a->fooled[r] = wrong;
    }
    if ((wrong && a->s.early_stop) || a->taken[r] >= steps_of_pass(a, a->restart[r])) return ENDED;
    return adapts(a, a->restart[r]) ? adapt(a, r, loss) : MOVES;
}

/* The first step of a pass: of an adaptive one a quarter of the radius (docs/theory.md 3). */
static float first_step(const surety_attacker *a, uint32_t pass) {
    if (adapts(a, pass)) return a->b / 4;
    return a->s.kind == SURETY_ATTACK_FGSM ? a->b : (float)surety_threat_step(&a->s);
}

/* A pass from the start of this restart. */
static void begin_pass(surety_attacker *a, size_t r, uint32_t restart) {
    a->current[r] = free_buffer(a, r);
    a->taken[r] = 0;
    a->restart[r] = restart;
    a->adapt[r] = (adapting){.last = HUGE_VAL,
                             .most = -1,
                             .mark = -1,
                             .window_end = (steps_of_pass(a, restart) + WINDOWS - 1) / WINDOWS};
    set_step(a, r, first_step(a, restart));
    start_point(a, r, restart, a->current[r]);
}

static void begin_example(surety_attacker *a, size_t r) {
    set_ball(a, r);
    a->best[r] = a->current[r] = a->buffer[0][r];
    a->best_loss[r] = -1;
    a->fooled[r] = 0;
    begin_pass(a, r, 0);
}

/* Whether a vote decides anything. Without steps the only start is the result, and a stream tells nobody
 * whether it fools. */
static int needs_votes(const surety_attacker *a) {
    return a->steps > 0 || passes_of(a) > 1;
}

/* The next example of a stream into place r: *taken is 0 if there is none that needs votes. */
static surety_status take_next(surety_attacker *a, const surety_stream *stream, size_t r, int *taken,
                               surety_error *err) {
    for (;;) {
        size_t k = __atomic_fetch_add(stream->next, 1, __ATOMIC_RELAXED);
        *taken = k < stream->end;
        if (!*taken) return SURETY_OK;
        surety_examples_put(&a->examples, r, stream->set, stream->order ? stream->order[k] : k);
        a->at[r] = k;
        begin_example(a, r);
        if (needs_votes(a)) return SURETY_OK;
        a->best[r] = a->current[r];
        SURETY_TRY(stream->ended(stream->arg, k, r, 0, err));
    }
}

/* A row whose pass has ended: whether it or the next example goes on in its place. */
static surety_status goes_on(surety_attacker *a, size_t r, const surety_stream *stream, int *on,
                             surety_error *err) {
    *on = a->restart[r] + 1 < passes_of(a) && !(a->fooled[r] && a->s.early_stop);
    if (*on) begin_pass(a, r, a->restart[r] + 1);
    if (*on || !stream) return SURETY_OK;
    SURETY_TRY(stream->ended(stream->arg, a->at[r], r, a->taken[r], err));
    return take_next(a, stream, r, on, err);
}

/* One step of the live rows, and what became of each. *stale: a->a is not that of these rows. */
static void climb_once(surety_attacker *a, const surety_vote *vote, int *stale, verdict *became) {
    double chosen[SURETY_LANES], real[SURETY_LANES];
    float squares[SURETY_LANES] = {0}, *out[SURETY_LANES];
    int keep[SURETY_LANES];
    size_t *live = a->live, rows[SURETY_LANES], count = a->count, kept = 0; /* rows that move */
    ask(a, vote, live, count, chosen, real);
    a->result.asked += count;
    for (size_t i = 0; i < count; i++) {
        became[i] = judge(a, live[i], chosen[i], real[i]);
        if ((keep[i] = became[i] == MOVES)) rows[kept++] = live[i];
    }
    if (kept) {
        if (surety_voters_width(a->voters) > 1)
            fill_rival_gradient(a, vote);
        else if (*stale)
            fill_loss_gradient(a, vote);
        *stale = 0;
        ask_gradient(a, keep, count, rows, kept, out, squares);
        move_all(a, rows, kept, out, squares);
    }
    a->result.moves += kept;
}

/* Attacks the live rows, and what the stream (or NULL) puts in their places. */
static surety_status climb(surety_attacker *a, const surety_vote *vote, const surety_stream *stream,
                           surety_error *err) {
    int stale = 1;
    surety_voters_follow(a->voters);
    while (a->count) {
        verdict became[SURETY_LANES];
        size_t count = a->count;
        climb_once(a, vote, &stale, became);
        a->count = 0;
        for (size_t i = 0; i < count; i++) {
            int on = became[i] != ENDED;
            stale |= !on;
            if (!on) SURETY_TRY(goes_on(a, a->live[i], stream, &on, err));
            if (on) a->live[a->count++] = a->live[i];
        }
    }
    return SURETY_OK;
}

const surety_attacked *surety_attacker_run(surety_attacker *a, const surety_vote *vote,
                                           const surety_examples *examples) {
    a->examples = *examples;
    a->vote = vote;
    a->result.asked = a->result.moves = 0;
    a->count = 0;
    for (size_t r = 0; r < examples->rows; r++) begin_example(a, a->live[a->count++] = r);
    climb(a, vote, NULL, NULL); /* without a stream nothing can fail */
    for (size_t r = 0; r < examples->rows; r++) {
        a->result.x[r] = a->best[r];
        a->result.fooled[r] = a->fooled[r];
        a->result.loss[r] = a->best_loss[r];
    }
    return &a->result;
}

surety_status surety_attacker_stream(surety_attacker *a, const surety_vote *vote, surety_stream *stream,
                                     surety_error *err) {
    a->examples.which = stream->set->which;
    a->vote = vote;
    a->result.asked = a->result.moves = 0;
    a->count = 0;
    for (size_t r = 0; r < stream->places; r++) {
        int taken;
        SURETY_TRY(take_next(a, stream, r, &taken, err));
        if (taken) a->live[a->count++] = r;
    }
    surety_status status = climb(a, vote, stream, err);
    stream->asked += a->result.asked;
    stream->moves += a->result.moves;
    return status;
}

/* ---- samples ---- */

void surety_attacker_sample(const surety_attacker *a, size_t r, size_t j, float *out) {
    const float *x0 = a->examples.x[r];
    if (!surety_threat_about(a->s.kind)->noise) {
        memcpy(out, a->best[r], a->d * sizeof *out);
        return;
    }
    surety_address where = address(a, r, SURETY_FOR_NOISE, 0, (uint32_t)j);
    if (a->units) {
        memset(out, 0, a->d * sizeof *out);
        surety_vector_noise(&(surety_noise){a->s.seed, where, 1, -HUGE_VALF, HUGE_VALF}, out, a->random,
                            a->units->count);
        surety_units_at(a->units, a->best[r], x0);
        surety_units_shake(a->units, a->random, a->s.noise);
        surety_units_clip(a->units, x0, a->lo_row[r], a->hi_row[r]);
        surety_units_place(a->units, x0, a->lo_row[r], a->hi_row[r], out);
        return;
    }
    surety_vector_noise(&(surety_noise){a->s.seed, where, (float)a->s.noise, a->lo, a->hi}, a->best[r], out,
                        a->d);
    if (a->s.ball.norm == SURETY_L2) a->k->l2_project(out, x0, ball_of(a, r));
    if (a->s.ball.norm == SURETY_LINF) a->k->clip_rows(out, a->lo_row[r], a->hi_row[r], a->d);
    if (a->s.ball.norm == SURETY_L1) surety_l1_project(out, x0, (double)a->radius[r], a->d, a->differences);
}
