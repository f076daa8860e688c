/* The product of num.h: C = start + A B, every output one chain of fma in the order of k.
 *
 * C is cut into tiles of R rows and P panels of 16 columns; a tile's sums stay in registers while k runs.
 * Step k loads one line of each panel of B and broadcasts A(r, k) for each row: R*P multiply-adds on R + P
 * loads. That runs at the speed of the multiply-add units when
 *
 *   - the sums, the lines and one factor fit the registers;
 *   - there are enough chains to cover the latency of an fma: 4 cycles times 2 units, better 10 than 8;
 *   - loads are clearly fewer than multiply-adds (measured: hardly more than one load of 64 bytes per cycle).
 *
 *   level    registers  of a panel  largest tiles (R x P)
 *   avx512          32           1  5 x 5: 25 sums + 5 lines + 1 factor
 *   avx2            16           2  6 x 1: 12 sums + 2 for the line + 1 factor; 3 x 2, 2 x 2, 1 x 5
 *   generic         16           4  3 x 1: 12 sums, the line from memory
 *
 * Rows are spread evenly over bands of at most ROWS (16 = 4+4+4+4, 9 = 5+4), since a band that is nearly full
 * is nearly as good as a full one, and a single row left over is not; panels likewise over tiles. A tile's
 * part of B serves all bands in turn: in a backward product of the default forest it is 24 KB and stays in
 * L1; in a forward one 250 KB, and each 4 x 5 tile takes 32 bytes of it per cycle from L2, a 5 x 5 tile 26.
 * Hence the 15 rows of SURETY_BLOCK: 0.40 loads per multiply-add instead of 0.45 with 16.
 *
 * An output's chain involves its own row of A and column of B alone, so its bits depend neither on the tile
 * nor on the level, as long as the level has fma.
 */
#include "num/kernels.h"
#include "num/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* TILES(X): X(R, P) for every tile there is.  widest[R]: most panels of a tile with R rows; never grows with
 * R. HOLD(v): keeps a line in a register. Without it gcc loads lines again for every row of a small tile,
 * which halves its speed. Tiles with HELD or more panels of sums and lines have no register left for that. */
#if defined(SURETY_LEVEL_avx512)
enum { ROWS = 5, PANELS = 5, HELD = 32 };
static const size_t widest[ROWS + 1] = {0, 5, 5, 5, 5, 5};
#define WIDTHS(X, R) X(R, 1) X(R, 2) X(R, 3) X(R, 4) X(R, 5)
#define TILES(X) WIDTHS(X, 1) WIDTHS(X, 2) WIDTHS(X, 3) WIDTHS(X, 4) WIDTHS(X, 5)
#define HOLD(v) __asm__("" : "+v"(v))
#elif defined(SURETY_LEVEL_avx2)
enum { ROWS = 6, PANELS = 5, HELD = 8 };
static const size_t widest[ROWS + 1] = {0, 5, 2, 2, 1, 1, 1};
#define TILES(X) \
    X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(2, 1) X(2, 2) X(3, 1) X(3, 2) X(4, 1) X(5, 1) X(6, 1)
#define HOLD(v) __asm__("" : "+x"((v).lo), "+x"((v).hi))
#else
enum { ROWS = 3, PANELS = 1, HELD = 0 };
static const size_t widest[ROWS + 1] = {0, 1, 1, 1};
#define TILES(X) X(1, 1) X(2, 1) X(3, 1)
#define HOLD(v) (void)(v)
#endif

/* The products of num.h. OUTER has B in rows, FORWARD begins at the bias; the others are backward products,
 * which end as surety_gradient_use says: whole panels, because rows are
 * padded. */
enum { OUTER, FORWARD, STORED, SQUARED, STEPPED, KINDS };

/* Up to ROWS rows of A and C, from row `first` of the job on. */
typedef struct band {
    size_t first, rows;
    const float *a[ROWS];
    float *c[ROWS];
} band;

/* Keeps an address in a register of its own: gcc would keep column offsets for all rows, more than there are
 * registers. */
#define AT(p) __asm__("" : "+r"(p))

/* Steps of k at a time: counters cost issue slots, which can be short (docs/notes/performance.md). */
#define SEVERAL _Pragma("GCC unroll 4")

/* Sixteen floats of a row, of which only `left` may exist. */
INLINE v16 begin_at(const float *from, size_t left) {
    return left >= SURETY_LANES ? v16_load(from) : v16_load_part(from, left);
}

INLINE void end_at(float *c, v16 sum, size_t left, const int kind) {
    if (left >= SURETY_LANES || kind >= STORED) {
        v16_store(c, sum);
    } else {
        if (kind == FORWARD) v16_store(c, v16_zero());
        v16_store_part(c, sum, left);
    }
}

/* The step of a linf attack, for one row of a tile: x + step sign(sum). The step itself is chosen, by the
 * sign: constants 1 and -1 would take registers from the sums. */
INLINE void end_stepped(const surety_gradient_use *use, size_t row, size_t column, const v16 *sums,
                        const int P) {
    const float *x = use->x[row] + column, *lo = use->lo[row] + column, *hi = use->hi[row] + column;
    float *restrict out = use->out[row] + column;
    v16 zero = v16_zero(), step = v16_set1(use->step[row]), back = v16_sub(zero, step);
    AT(x);
    AT(lo);
    AT(hi);
    AT(out);
    UNROLL for (int p = 0; p < P; p++) {
        size_t j = (size_t)p * SURETY_LANES;
        v16 up = v16_select(v16_lt(zero, sums[p]), step, zero);
        v16 to = v16_add(v16_load(x + j), v16_select(v16_lt(sums[p], zero), back, up));
        v16_store(out + j, v16_min(v16_max(to, v16_load(lo + j)), v16_load(hi + j)));
    }
}

/* Of a tile, the sums of squares so far. Pads of packed B are 0, and so are those of the sums. */
INLINE void add_squares(float *squares, const v16 *sums, const int P) {
    v16 sum = v16_load(squares);
    UNROLL for (int p = 0; p < P; p++) sum = v16_fma(sums[p], sums[p], sum);
    v16_store(squares, sum);
}

/* A tile of R rows and P panels for each of `count` bands; R, P and kind are constants where this is inlined.
 */
INLINE void tile_run(const surety_product *job, size_t panel, const band *t, size_t count, float *squares,
                     const int R, const int P, const int kind) {
    const size_t depth = job->depth, a_step = kind == OUTER ? job->a_step : 1;
    const size_t apart = kind == OUTER ? SURETY_LANES : job->b_panel;
    const size_t column = panel * SURETY_LANES, left = job->columns - column;
    const float *bias = job->bias ? job->bias + column : NULL;
    for (; count; count--, t++) {
        const float *a[ROWS], *b = kind == OUTER ? NULL : job->b + panel * apart;
        v16 sum[ROWS][PANELS], lines[PANELS];
        UNROLL for (int r = 0; r < R; r++) {
            a[r] = t->a[r];
            UNROLL for (int p = 0; p < P; p++) {
                size_t j = (size_t)p * SURETY_LANES, here = p < P - 1 ? SURETY_LANES : left - j;
                sum[r][p] = v16_zero();
                if (kind == FORWARD && bias) sum[r][p] = begin_at(bias + j, here);
            }
        }
        SEVERAL for (size_t k = 0, i = 0; k < depth; k++, i += a_step, b += SURETY_LANES) {
            if (kind == OUTER) b = job->b_rows[k] + column;
            UNROLL for (int p = 0; p < P; p++) {
                lines[p] = v16_load(b + (size_t)p * apart);
                if (R * P + P < HELD) HOLD(lines[p]);
            }
            UNROLL for (int r = 0; r < R; r++) {
                v16 factor = v16_set1(a[r][i]);
                UNROLL for (int p = 0; p < P; p++) sum[r][p] = v16_fma(factor, lines[p], sum[r][p]);
            }
        }
        UNROLL for (int r = 0; r < R; r++) {
            if (kind == STEPPED) {
                end_stepped(job->end, t->first + (size_t)r, column, sum[r], P);
                continue;
            }
            float *c = t->c[r] + column;
            AT(c);
            UNROLL for (int p = 0; p < P; p++) {
                size_t j = (size_t)p * SURETY_LANES;
                end_at(c + j, sum[r][p], p < P - 1 ? SURETY_LANES : left - j, kind);
            }
            if (kind == SQUARED) add_squares(squares + (t->first + (size_t)r) * SURETY_LANES, sum[r], P);
        }
    }
}

/* `tiles` tiles side by side from a panel on, for `count` bands with the same number of rows. */
typedef void (*tiles_fn)(const surety_product *job, size_t panel, size_t tiles, const band *bands,
                         size_t count, float *squares);
#define DEFINE_KIND(R, P, KIND)                                                                            \
    static void KIND##_##R##_##P(const surety_product *job, size_t panel, size_t tiles, const band *bands, \
                                 size_t count, float *squares) {                                           \
        for (; tiles; tiles--, panel += P) tile_run(job, panel, bands, count, squares, R, P, KIND);        \
    }
#define KIND_EACH(X, R, P) X(R, P, OUTER) X(R, P, FORWARD) X(R, P, STORED) X(R, P, SQUARED) X(R, P, STEPPED)
#define DEFINE(R, P) KIND_EACH(DEFINE_KIND, R, P)
TILES(DEFINE)

#define ENTRY_KIND(R, P, KIND) [KIND][R][P] = KIND##_##R##_##P,
#define ENTRY(R, P) KIND_EACH(ENTRY_KIND, R, P)
static const tiles_fn tiles_of[KINDS][ROWS + 1][PANELS + 1] = {TILES(ENTRY)};

static int kind_of(const surety_product *job) {
    if (!job->b) return OUTER;
    if (!job->end) return FORWARD;
    return job->end->squares ? SQUARED : job->end->x ? STEPPED : STORED;
}

/* All panels, in tiles of two widths that differ by one. */
static void bands_run(const surety_product *job, const band *bands, size_t count, float *squares) {
    size_t panels = (job->columns + SURETY_LANES - 1) / SURETY_LANES, R = bands->rows;
    size_t tiles = (panels + widest[R] - 1) / widest[R], P = panels / tiles, wider = panels % tiles;
    const tiles_fn *by_width = tiles_of[kind_of(job)][R];
    if (wider) by_width[P + 1](job, 0, wider, bands, count, squares);
    by_width[P](job, wider * (P + 1), tiles - wider, bands, count, squares);
}

static band band_at(const surety_product *job, size_t first, size_t rows) {
    band t;
    t.first = first, t.rows = rows;
    for (size_t r = 0; r < rows && r < ROWS; r++) {
        size_t row = first + r;
        t.a[r] = job->a_rows ? job->a_rows[row] : job->a + row * job->a_stride;
        t.c[r] = job->c_rows ? job->c_rows[row] : job->c + row * job->c_stride;
    }
    return t;
}

/* Of up to sixteen rows of sixteen lanes, v16_sum. */
static void sum_rows(const float *lanes, size_t rows, float *sums) {
    v16 all[SURETY_LANES];
    for (size_t r = 0; r < SURETY_LANES; r++) all[r] = v16_load(lanes + r * SURETY_LANES);
    v16_transpose(all);
    UNROLL for (size_t half = SURETY_LANES / 2; half; half /= 2) UNROLL for (size_t i = 0; i < half; i++)
        all[i] = v16_add(all[i], all[i + half]);
    v16_store_part(sums, all[0], rows);
}

/* Bands that go through B together. */
enum { TOGETHER = 16 };

void SURETY_KERNEL(product)(const surety_product *job) {
    size_t total = job->columns ? (job->rows + ROWS - 1) / ROWS : 0, first = 0;
    size_t few = total ? job->rows / total : 0, larger = job->rows - few * total; /* rows of a band */
    bool squared = job->b && kind_of(job) == SQUARED;
    float squares[SURETY_LANES * SURETY_LANES];
    for (size_t r = 0; squared && r < SURETY_LANES; r++) v16_store(squares + r * SURETY_LANES, v16_zero());
    for (size_t begin = 0; begin < total; begin += TOGETHER) {
        band bands[TOGETHER];
        size_t count = total - begin < TOGETHER ? total - begin : TOGETHER, same;
        for (size_t i = 0; i < count; first += bands[i].rows, i++)
            bands[i] = band_at(job, first, begin + i < larger ? few + 1 : few);
        for (size_t i = 0; i < count; i += same) {
            for (same = 1; i + same < count && bands[i + same].rows == bands[i].rows;) same++;
            bands_run(job, bands + i, same, squares);
        }
    }
    if (squared) sum_rows(squares, job->rows, job->end->squares);
}

void SURETY_KERNEL(pack)(const float *W, size_t ldw, size_t rows, size_t d, float *panel, float *lines,
                         size_t apart) {
    for (size_t j = 0; j < d; j += SURETY_LANES, lines += apart) {
        v16 block[SURETY_LANES];
        size_t part = d - j < SURETY_LANES ? d - j : SURETY_LANES;
        for (size_t r = 0; r < SURETY_LANES; r++) {
            block[r] = r < rows ? v16_load_part(W + r * ldw + j, part) : v16_zero();
            if (r < rows) v16_store(lines + r * SURETY_LANES, block[r]);
        }
        v16_transpose(block);
        for (size_t k = 0; k < part; k++) v16_store(panel + (j + k) * SURETY_LANES, block[k]);
    }
}
