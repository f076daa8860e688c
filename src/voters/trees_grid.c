/* Thresholds of features, and rows as cells. Of several processes each reads its share of the rows; all get
 * the grid that one would make. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "voters/ball.h"
#include "voters/trees_grow.h"

/* Thresholds per radius where they lie at equal distances: x +- b falls on few edges then. */
enum { PER_RADIUS = 3 };

/* Byte number `byte` of a whole number that grows with x. */
static inline size_t digit_of(float x, int byte) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits ^= bits >> 31 ? UINT32_MAX : UINT32_C(1) << 31;
    return bits >> 8 * byte & 255;
}

/* Ascending, digit by digit from the last one; spare: as much room again. */
static void sort_values(float *values, float *spare, size_t count) {
    for (int byte = 0; byte < 4; byte++) {
        size_t begin[257] = {0};
        for (size_t i = 0; i < count; i++) begin[digit_of(values[i], byte) + 1]++;
        for (size_t k = 0; k < 256; k++) begin[k + 1] += begin[k];
        for (size_t i = 0; i < count; i++) spare[begin[digit_of(values[i], byte)]++] = values[i];
        float *sorted = spare;
        spare = values, values = sorted;
    }
}

/* A float t with low <= t < high, in the middle. */
static float between(float low, float high) {
    float t = (float)(0.5 * ((double)low + (double)high));
    return t < high ? (t < low ? low : t) : low;
}

/* Thresholds at equal distances of b / PER_RADIUS, if they are few; how many. */
static size_t even_thresholds(float least, float most, double b, float *t) {
    double width = b / PER_RADIUS, count = b > 0 ? floor(((double)most - (double)least) / width) : HUGE_VAL;
    if (!(count <= SURETY_GRID_MOST)) return 0;
    size_t n = 0;
    for (size_t i = 0; i < (size_t)count; i++) {
        float at = (float)((double)least + ((double)i + 0.5) * width);
        if (at < most && (!n || at > t[n - 1])) t[n++] = at;
    }
    return n;
}

/* Else between distinct values, or, where these are many, at quantiles of the rows. values (count) is sorted.
 */
static size_t quantile_thresholds(const float *values, size_t count, float *t) {
    size_t distinct = 1, n = 0;
    for (size_t i = 1; i < count; i++) distinct += values[i] != values[i - 1];
    int all = distinct <= SURETY_GRID_MOST + 1;
    for (size_t i = 1, rank = 1; i < count && n < SURETY_GRID_MOST; i++) {
        if (!(values[i] > values[i - 1])) continue;
        if (!all && i * (SURETY_GRID_MOST + 1) < rank * count) continue;
        t[n++] = between(values[i - 1], values[i]);
        rank = i * (SURETY_GRID_MOST + 1) / count + 1;
    }
    return n;
}

/* Feature j of the process's row i. */
static inline float value_at(const surety_celled *rows, size_t i, size_t j) {
    return rows->x[i * rows->set->stride + j];
}

/* What a grid is made from. */
typedef struct making {
    surety_celled *train, *other;
    const surety_ball *ball;
    const surety_run *run;
    double *radius, *radius_other; /* of their rows */
    double *ends; /* (d, 2): of each column, minus the least value that is there, and the most; infinite where
                     none is */
    float *values; /* (2, m) a column of train, and room to sort it */
} making;

static surety_status find_ends(const making *k, surety_error *err) {
    const surety_celled *rows = k->train;
    size_t d = rows->set->d;
    double *ends = k->ends;
    for (size_t n = 0; n < 2 * d; n++) ends[n] = -HUGE_VAL;
    for (size_t i = 0; i < rows->m; i++)
        for (size_t j = 0; j < d; j++) {
            double x = (double)value_at(rows, i, j);
            if (-x > ends[2 * j]) ends[2 * j] = -x;
            if (x > ends[2 * j + 1]) ends[2 * j + 1] = x;
        }
    return surety_most_everyone(k->run, ends, 2 * d, err);
}

/* The column's values that are there, of all rows; how many. */
static surety_status take_column(const making *k, size_t j, size_t *count, surety_error *err) {
    const surety_celled *rows = k->train;
    float *values = k->values;
    *count = 0;
    for (size_t i = 0; i < rows->m; i++) values[rows->first + i] = value_at(rows, i, j);
    SURETY_TRY(surety_share_everyone(k->run, values, rows->set->m, 1, sizeof *values, err));
    for (size_t i = 0; i < rows->set->m; i++)
        if (values[i] == values[i]) values[(*count)++] = values[i];
    return SURETY_OK;
}

/* t (n): thresholds of column j. */
static surety_status find_thresholds(const making *k, size_t j, float *t, size_t *n, surety_error *err) {
    float least = (float)-k->ends[2 * j], most = (float)k->ends[2 * j + 1];
    size_t count;
    *n = 0;
    if (!(least < most)) return SURETY_OK;
    *n = even_thresholds(least, most, k->ball ? k->ball->radius * surety_ball_unit(k->ball, j) : 0, t);
    if (*n) return SURETY_OK;
    SURETY_TRY(take_column(k, j, &count, err));
    sort_values(k->values, k->values + k->train->set->m, count);
    *n = quantile_thresholds(k->values, count, t);
    return SURETY_OK;
}

/* How many of the thresholds are below x. */
static size_t below(const float *t, size_t n, float x) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (t[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

enum { RAW = 2 * SURETY_GRID_MOST + 1 };

/* One feature at work: thresholds t (n). A row that is not to the left of c of them and to the right of a
 * <= c has the raw cell a + c: both grow with x, so their sum tells both. (Where rows have radii of their
 * own, two with the same sum may differ: the wider way of being on both sides, the least a, stands for both.)
 */
typedef struct column {
    const float *t;
    size_t n;
    double wide[RAW];    /* -a; -infinity: nobody is there */
    int64_t count[RAW];  /* rows of train */
    uint8_t number[RAW]; /* among the cells that somebody is in */
} column;

/* count NULL: they are not counted. */
static void fill_raw(column *k, surety_celled *rows, size_t j, const surety_ball *ball, const double *radius,
                     int64_t *count) {
    float last = NAN;
    double last_radius = 0;
    size_t a = 0, c = 0;
    for (size_t i = 0; i < rows->m; i++) {
        float x = value_at(rows, i, j), lo = x, hi = x;
        uint8_t *cell = &rows->cell[i * rows->set->d + j];
        if (x != x) {
            *cell = SURETY_CELL_MISSING;
            continue;
        }
        if (x != last || radius[i] != last_radius) { /* many pixels are 0 */
            if (ball) surety_tree_ends(ball, j, x, radius[i], 0, &lo, &hi);
            a = below(k->t, k->n, lo), c = ball ? below(k->t, k->n, hi) : a;
            last = x, last_radius = radius[i];
            if (-(double)a > k->wide[a + c]) k->wide[a + c] = -(double)a;
        }
        *cell = (uint8_t)(a + c);
        if (count) count[a + c]++;
    }
}

/* Raw cells of all rows, and what all processes say of them. */
static surety_status fill_column(column *k, const making *from, size_t j, surety_error *err) {
    for (size_t raw = 0; raw < RAW; raw++) k->wide[raw] = -HUGE_VAL;
    fill_raw(k, from->train, j, from->ball, from->radius, k->count);
    fill_raw(k, from->other, j, from->ball, from->radius_other, NULL);
    SURETY_TRY(surety_most_everyone(from->run, k->wide, RAW, err));
    return surety_sum_everyone(from->run, k->count, RAW, err);
}

static void number_again(const column *k, surety_celled *rows, size_t j) {
    for (size_t i = 0; i < rows->m; i++) {
        uint8_t *cell = &rows->cell[i * rows->set->d + j];
        if (*cell != SURETY_CELL_MISSING) *cell = k->number[*cell];
    }
}

/* Cells that nobody is in are left out; then what thresholds say of cells. */
static void settle_column(column *k, surety_grid *g, size_t j) {
    uint32_t first = g->first[j];
    int64_t most = 0;
    uint8_t count = 0;
    memset(g->left + first, 0, k->n);
    memset(g->right + first, SURETY_CELL_MISSING, k->n);
    for (size_t raw = 0; raw <= 2 * k->n; raw++) {
        if (isinf(k->wide[raw])) continue;
        size_t a = (size_t)-k->wide[raw], c = raw - a;
        for (size_t i = c; i < k->n; i++) g->left[first + i] = (uint8_t)(count + 1);
        for (size_t i = 0; i < a; i++)
            if (g->right[first + i] == SURETY_CELL_MISSING) g->right[first + i] = count;
        if (k->count[raw] > most) most = k->count[raw], g->usual[j] = count;
        k->number[raw] = count++;
    }
    g->cells[j] = count;
    g->slot[j + 1] = g->slot[j] + count + 1u;
}

/* This process's share, and the radius of each of its rows. */
static surety_status open_rows(surety_celled *rows, const surety_ball *ball, double **radius,
                               const surety_run *run, surety_error *err) {
    size_t end = rows->set->m, d = rows->set->d;
    rows->first = 0;
    surety_my_share(run, &rows->first, &end);
    rows->m = end - rows->first;
    rows->x = rows->m ? surety_set_row(rows->set, rows->first) : NULL;
    SURETY_TRY(surety_alloc(&rows->cell, rows->m * d, 1, err));
    SURETY_TRY(surety_alloc(radius, rows->m, sizeof **radius, err));
    for (size_t i = 0; ball && i < rows->m; i++)
        (*radius)[i] = surety_ball_cover(ball, ball->radius, rows->x + i * rows->set->stride, d);
    return SURETY_OK;
}

void surety_grid_free(surety_grid *g) {
    void *parts[] = {g->first, g->threshold, g->left, g->right, g->slot, g->cells, g->usual};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    *g = (surety_grid){0};
}

static surety_status grid_room(surety_grid *g, surety_error *err) {
    size_t d = g->d;
    SURETY_TRY(surety_alloc(&g->first, d + 1, sizeof *g->first, err));
    SURETY_TRY(surety_alloc(&g->threshold, d * SURETY_GRID_MOST, sizeof *g->threshold, err));
    SURETY_TRY(surety_alloc(&g->left, d * SURETY_GRID_MOST, 1, err));
    SURETY_TRY(surety_alloc(&g->right, d * SURETY_GRID_MOST, 1, err));
    SURETY_TRY(surety_alloc(&g->slot, d + 1, sizeof *g->slot, err));
    SURETY_TRY(surety_alloc(&g->cells, d, 1, err));
    return surety_alloc(&g->usual, d, 1, err);
}

static surety_status open_making(making *k, surety_error *err) {
    SURETY_TRY(open_rows(k->train, k->ball, &k->radius, k->run, err));
    SURETY_TRY(open_rows(k->other, k->ball, &k->radius_other, k->run, err));
    SURETY_TRY(surety_alloc(&k->ends, 2 * k->train->set->d, sizeof *k->ends, err));
    SURETY_TRY(surety_alloc(&k->values, 2 * k->train->set->m, sizeof *k->values, err));
    return find_ends(k, err);
}

static surety_status make_column(surety_grid *g, const making *from, size_t j, surety_error *err) {
    float *t = g->threshold + g->first[j];
    column k = {.t = t};
    SURETY_TRY(find_thresholds(from, j, t, &k.n, err));
    g->first[j + 1] = g->first[j] + (uint32_t)k.n;
    SURETY_TRY(fill_column(&k, from, j, err));
    settle_column(&k, g, j);
    number_again(&k, from->train, j);
    number_again(&k, from->other, j);
    return SURETY_OK;
}

surety_status surety_grid_new(surety_grid *g, surety_celled *train, surety_celled *other,
                              const surety_ball *ball, const surety_run *run, surety_error *err) {
    making k = {.train = train, .other = other, .ball = ball, .run = run};
    *g = (surety_grid){.d = train->set->d};
    surety_status status = grid_room(g, err);
    if (status == SURETY_OK) status = open_making(&k, err);
    for (size_t j = 0; j < g->d && status == SURETY_OK; j++) status = make_column(g, &k, j, err);
    void *parts[] = {k.radius, k.radius_other, k.ends, k.values};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    return status;
}
