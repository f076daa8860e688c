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
 * is nearly as good as a full one, and a single row left over is not; panels likewise over the tiles of a
 * band. A band takes its rows of A, which stay in L1, through all panels of a slab of B, which stays in L2
 * for the next band: 4 x 5 tiles need 32 bytes of it per cycle, which L2 sustains without software prefetch.
 *
 * An output's chain involves its own row of A and column of B alone, so its bits depend neither on the tile
 * nor on the level, as long as the level has fma.
 */
#include "num/kernels.h"
#include "num/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* Bytes of a slab of B: with the rows of A and C it should fit L2. */
enum { SLAB = 1 << 19 };

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

/* What is made of the sums (surety_gradient_use): stored; stored and squared; a step along their signs.
 * GATHERED is STORED with B in rows. */
enum { GATHERED, STORED, SQUARED, STEPPED, ENDS };

/* A band of up to ROWS rows of a job: its rows of A and of C, and what its end needs. */
typedef struct band {
    const surety_product *job;
    size_t first; /* row of the job */
    const float *a[ROWS];
    float *c[ROWS];
    float (*squares)[SURETY_LANES]; /* of all rows of the job */
} band;

/* The sum of row r and panel `panel` before k = 0; full if all 16 columns exist. */
INLINE v16 start(const band *t, int r, size_t panel, bool full) {
    const surety_product *job = t->job;
    const float *from = job->add ? t->c[r] : job->bias;
    size_t column = panel * SURETY_LANES;
    if (!from) return v16_zero();
    return full ? v16_load(from + column) : v16_load_part(from + column, job->columns - column);
}

INLINE void finish(const band *t, int r, size_t panel, bool full, v16 sum) {
    size_t column = panel * SURETY_LANES;
    float *to = t->c[r] + column;
    if (full) {
        v16_store(to, sum);
    } else {
        if (!t->job->add) v16_store(to, v16_zero());
        v16_store_part(to, sum, t->job->columns - column);
    }
}

/* Row r, panel .. panel + P - 1, stored and squared. Pads of packed B are 0, and so are those of the sums. */
INLINE void finish_squared(const band *t, int r, size_t panel, const v16 *sums, const int P) {
    v16 squares = v16_load(t->squares[t->first + (size_t)r]);
    UNROLL for (int p = 0; p < P; p++) {
        v16_store(t->c[r] + (panel + (size_t)p) * SURETY_LANES, sums[p]);
        squares = v16_fma(sums[p], sums[p], squares);
    }
    v16_store(t->squares[t->first + (size_t)r], squares);
}

INLINE void finish_stepped(const band *t, int r, size_t panel, const v16 *sums, const int P) {
    const surety_gradient_use *use = t->job->end;
    const float *x = use->x[t->first + (size_t)r], *lo = use->lo[t->first + (size_t)r],
                *hi = use->hi[t->first + (size_t)r];
    UNROLL for (int p = 0; p < P; p++) {
        size_t j = (panel + (size_t)p) * SURETY_LANES;
        v16 to = v16_fma(v16_set1(use->step), v16_sign(sums[p]), v16_load(x + j));
        v16_store(t->c[r] + j, v16_min(v16_max(to, v16_load(lo + j)), v16_load(hi + j)));
    }
}

/* `count` tiles of R rows and P panels side by side; R, P and end are constants where this is inlined. */
INLINE void tiles_run(const band *t, size_t panel, size_t count, const int R, const int P, const int end) {
    const surety_product *job = t->job;
    const bool packed = end != GATHERED;
    const size_t depth = job->depth, step = job->a_step, width = packed ? job->b_panel : SURETY_LANES;
    const float *a[ROWS];
    v16 sum[ROWS][PANELS], line[PANELS];
    UNROLL for (int r = 0; r < R; r++) a[r] = t->a[r];
    for (; count; count--, panel += (size_t)P) {
        const bool full = (panel + (size_t)P) * SURETY_LANES <= job->columns;
        const float *tile_b = packed ? job->b + panel * width : NULL;
        UNROLL for (int r = 0; r < R; r++) {
            UNROLL for (int p = 0; p < P; p++) sum[r][p] = start(t, r, panel + (size_t)p, p < P - 1 || full);
        }
        for (size_t k = 0, at = 0; k < depth; k++, at += packed ? 1 : step) {
            const float *b = packed ? tile_b + k * SURETY_LANES : job->b_rows[k] + panel * SURETY_LANES;
            UNROLL for (int p = 0; p < P; p++) {
                line[p] = v16_load(b + (size_t)p * width);
                if (R * P + P < HELD) HOLD(line[p]);
            }
            UNROLL for (int r = 0; r < R; r++) {
                v16 factor = v16_set1(a[r][at]);
                UNROLL for (int p = 0; p < P; p++) sum[r][p] = v16_fma(factor, line[p], sum[r][p]);
            }
        }
        UNROLL for (int r = 0; r < R; r++) {
            if (end == SQUARED) {
                finish_squared(t, r, panel, sum[r], P);
            } else if (end == STEPPED) {
                finish_stepped(t, r, panel, sum[r], P);
            } else {
                UNROLL for (int p = 0; p < P; p++)
                    finish(t, r, panel + (size_t)p, p < P - 1 || full, sum[r][p]);
            }
        }
    }
}

#define DEFINE_END(R, P, END)                                                \
    static void END##_##R##_##P(const band *t, size_t panel, size_t count) { \
        tiles_run(t, panel, count, R, P, END);                               \
    }
#define DEFINE(R, P)           \
    DEFINE_END(R, P, GATHERED) \
    DEFINE_END(R, P, STORED)   \
    DEFINE_END(R, P, SQUARED)  \
    DEFINE_END(R, P, STEPPED)
TILES(DEFINE)

typedef void (*tiles_fn)(const band *t, size_t panel, size_t count);
#define ENTRY_END(R, P, END) [END][R][P] = END##_##R##_##P,
#define ENTRY(R, P) \
    ENTRY_END(R, P, GATHERED) ENTRY_END(R, P, STORED) ENTRY_END(R, P, SQUARED) ENTRY_END(R, P, STEPPED)
static const tiles_fn tiles[ENDS][ROWS + 1][PANELS + 1] = {TILES(ENTRY)};

static size_t ratio_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

/* Where part begins when count is spread evenly over parts, the larger parts first. */
static size_t begin(size_t count, size_t part, size_t parts) {
    size_t more = count % parts;
    return part * (count / parts) + (part < more ? part : more);
}

/* R rows, panels [panel, end): tiles of two widths that differ by one. */
static void band_run(const band *t, size_t R, size_t panel, size_t end) {
    size_t count = ratio_up(end - panel, widest[R]), P = (end - panel) / count, wider = (end - panel) % count;
    const surety_product *job = t->job;
    const tiles_fn *by_width = tiles[!job->b                         ? GATHERED
                                     : job->end && job->end->squares ? SQUARED
                                     : job->end && job->end->x       ? STEPPED
                                                                     : STORED][R];
    if (wider) by_width[P + 1](t, panel, wider);
    by_width[P](t, panel + wider * (P + 1), count - wider);
}

void SURETY_KERNEL(product)(const surety_product *job) {
    size_t panels = ratio_up(job->columns, SURETY_LANES), bands = ratio_up(job->rows, ROWS);
    if (!panels || !bands) return;
    size_t slabs = ratio_up(panels * job->depth * sizeof(v16) + 1, SLAB);
    if (slabs > panels) slabs = panels;
    float squares[SURETY_BLOCK][SURETY_LANES] = {{0}};
    band t = {.job = job, .squares = squares};
    for (size_t slab = 0; slab < slabs; slab++)
        for (size_t i = 0; i < bands; i++) {
            size_t first = begin(job->rows, i, bands), R = begin(job->rows, i + 1, bands) - first;
            t.first = first;
            for (size_t r = 0; r < R; r++) {
                size_t row = first + r;
                t.a[r] = job->a_rows ? job->a_rows[row] : job->a + row * job->a_stride;
                t.c[r] = job->c_rows ? job->c_rows[row] : job->c + row * job->c_stride;
            }
            band_run(&t, R, begin(panels, slab, slabs), begin(panels, slab + 1, slabs));
        }
    for (size_t r = 0; job->end && job->end->squares && r < job->rows; r++)
        job->end->squares[r] = v16_sum(v16_load(squares[r]));
}

void SURETY_KERNEL(pack)(const float *W, size_t ldw, size_t rows, size_t d, float *panel) {
    for (size_t j = 0; j < d; j += SURETY_LANES) {
        v16 block[SURETY_LANES];
        size_t part = d - j < SURETY_LANES ? d - j : SURETY_LANES;
        for (size_t r = 0; r < SURETY_LANES; r++)
            block[r] = r < rows ? v16_load_part(W + r * ldw + j, part) : v16_zero();
        v16_transpose(block);
        for (size_t k = 0; k < part; k++) v16_store(panel + (j + k) * SURETY_LANES, block[k]);
    }
}
