/* Thresholds of features, and rows as cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "voters/ball.h"
#include "voters/trees_grow.h"

/* Thresholds per radius where they lie at equal distances: x +- b falls on few edges then. */
enum { PER_RADIUS = 3 };

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
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

/* The column's values that are there, and their ends; how many. */
static size_t take_column(const surety_set *set, size_t j, float *values, float *least, float *most) {
    size_t count = 0;
    *least = HUGE_VALF, *most = -HUGE_VALF;
    for (size_t i = 0; i < set->m; i++) {
        float x = set->x[i * set->stride + j];
        if (x != x) continue;
        values[count++] = x;
        *least = fminf(*least, x), *most = fmaxf(*most, x);
    }
    return count;
}

static size_t find_thresholds(const surety_set *set, size_t j, const surety_ball *ball, float *values,
                              float *t) {
    float least, most;
    size_t count = take_column(set, j, values, &least, &most);
    if (!count || !(least < most)) return 0;
    size_t n = even_thresholds(least, most, ball ? ball->radius * surety_ball_unit(ball, j) : 0, t);
    if (n) return n;
    qsort(values, count, sizeof *values, ascending);
    return quantile_thresholds(values, count, t);
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

/* One feature at work: thresholds t (n). A row that is not to the left of c of them and to the right of a
 * <= c has the raw cell a + c: both grow with x, so their sum tells both. */
typedef struct column {
    const float *t;
    size_t n;
    uint8_t a[2 * SURETY_GRID_MOST + 1];
    uint8_t seen[2 * SURETY_GRID_MOST + 1];
    uint32_t count[2 * SURETY_GRID_MOST + 1];
    uint8_t number[2 * SURETY_GRID_MOST + 1]; /* among the cells that are seen */
} column;

static void fill_raw(column *k, surety_celled *rows, size_t j, const surety_ball *ball,
                     const double *radius) {
    const surety_set *set = rows->set;
    float last = NAN;
    double last_radius = 0;
    size_t a = 0, c = 0;
    for (size_t i = 0; i < set->m; i++) {
        float x = set->x[i * set->stride + j], lo = x, hi = x;
        uint8_t *cell = &rows->cell[i * set->d + j];
        if (x != x) {
            *cell = SURETY_CELL_MISSING;
            continue;
        }
        if (x != last || radius[i] != last_radius) { /* many pixels are 0 */
            if (ball) surety_tree_ends(ball, j, x, radius[i], 0, &lo, &hi);
            a = below(k->t, k->n, lo), c = ball ? below(k->t, k->n, hi) : a;
            last = x, last_radius = radius[i];
        }
        *cell = (uint8_t)(a + c);
        k->a[a + c] = (uint8_t)a;
        k->seen[a + c] = 1;
        k->count[a + c]++;
    }
}

static void number_again(const column *k, surety_celled *rows, size_t j) {
    for (size_t i = 0; i < rows->set->m; i++) {
        uint8_t *cell = &rows->cell[i * rows->set->d + j];
        if (*cell != SURETY_CELL_MISSING) *cell = k->number[*cell];
    }
}

/* Cells that nobody is in are left out; then what thresholds say of cells. */
static void settle_column(column *k, surety_grid *g, size_t j) {
    uint32_t first = g->first[j], most = 0;
    uint8_t count = 0;
    memset(g->left + first, 0, k->n);
    memset(g->right + first, SURETY_CELL_MISSING, k->n);
    for (size_t raw = 0; raw <= 2 * k->n; raw++) {
        if (!k->seen[raw]) continue;
        size_t a = k->a[raw], c = raw - a;
        for (size_t i = c; i < k->n; i++) g->left[first + i] = (uint8_t)(count + 1);
        for (size_t i = 0; i < a; i++)
            if (g->right[first + i] == SURETY_CELL_MISSING) g->right[first + i] = count;
        if (k->count[raw] > most) most = k->count[raw], g->usual[j] = count;
        k->number[raw] = count++;
    }
    g->cells[j] = count;
    g->slot[j + 1] = g->slot[j] + count + 1u;
}

static surety_status cover_rows(const surety_set *set, const surety_ball *ball, double **radius,
                                surety_error *err) {
    SURETY_TRY(surety_alloc(radius, set->m, sizeof **radius, err));
    for (size_t i = 0; ball && i < set->m; i++)
        (*radius)[i] = surety_ball_cover(ball, ball->radius, set->x + i * set->stride, set->d);
    return SURETY_OK;
}

void surety_grid_free(surety_grid *g) {
    void *parts[] = {g->first, g->threshold, g->left, g->right, g->slot, g->cells, g->usual};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) surety_free(parts[i]);
    *g = (surety_grid){0};
}

static surety_status allocate(surety_grid *g, surety_celled *train, surety_celled *other, surety_error *err) {
    size_t d = g->d;
    SURETY_TRY(surety_alloc(&g->first, d + 1, sizeof *g->first, err));
    SURETY_TRY(surety_alloc(&g->threshold, d * SURETY_GRID_MOST, sizeof *g->threshold, err));
    SURETY_TRY(surety_alloc(&g->left, d * SURETY_GRID_MOST, 1, err));
    SURETY_TRY(surety_alloc(&g->right, d * SURETY_GRID_MOST, 1, err));
    SURETY_TRY(surety_alloc(&g->slot, d + 1, sizeof *g->slot, err));
    SURETY_TRY(surety_alloc(&g->cells, d, 1, err));
    SURETY_TRY(surety_alloc(&g->usual, d, 1, err));
    SURETY_TRY(surety_alloc(&train->cell, train->set->m * d, 1, err));
    return surety_alloc(&other->cell, other->set->m * d, 1, err);
}

surety_status surety_grid_new(surety_grid *g, surety_celled *train, surety_celled *other,
                              const surety_ball *ball, surety_error *err) {
    double *radius = NULL, *radius_other = NULL;
    float *values = NULL;
    *g = (surety_grid){.d = train->set->d};
    surety_status status = allocate(g, train, other, err);
    if (status == SURETY_OK) status = cover_rows(train->set, ball, &radius, err);
    if (status == SURETY_OK) status = cover_rows(other->set, ball, &radius_other, err);
    if (status == SURETY_OK) status = surety_alloc(&values, train->set->m, sizeof *values, err);
    for (size_t j = 0; j < g->d && status == SURETY_OK; j++) {
        float *t = g->threshold + g->first[j];
        column k = {.t = t, .n = find_thresholds(train->set, j, ball, values, t)};
        g->first[j + 1] = g->first[j] + (uint32_t)k.n;
        fill_raw(&k, other, j, ball, radius_other);
        for (size_t raw = 0; raw <= 2 * k.n; raw++) k.count[raw] = 0; /* the usual cell is that of train */
        fill_raw(&k, train, j, ball, radius);
        settle_column(&k, g, j);
        number_again(&k, train, j);
        number_again(&k, other, j);
    }
    surety_free(radius);
    surety_free(radius_other);
    surety_free(values);
    return status;
}
