/* The product of num.h: C = start + A B, every output one chain of fma in the order of k.
 *
 * C is cut into tiles of up to ROWS rows and a few panels of 16 columns; a tile's sums stay in registers
 * while k runs. Step k loads one line of each panel of B and broadcasts A(r, k) for each row, so a tile of R
 * rows and P panels does R*P multiply-adds on R + P loads. It runs at the speed of the multiply-add units
 * when
 *
 *   - the sums and the lines of B fit the registers, R*P + P + 1 of them,
 *   - the chains cover the latency of an fma (4 cycles, 2 per cycle): at least 8 to 10 registers of sums,
 *   - loads are clearly fewer than multiply-adds (measured: about one load of 64 bytes per cycle).
 *
 *   avx512   32 registers, a panel is one: up to 5 x 5, 25 sums + 5 lines + 1 factor
 *   avx2     16 registers, a panel is two: 6 x 1, 12 sums + 2 halves of a line + 1 factor; or fewer, wider
 * rows generic  16 registers, a panel is four: 3 x 1
 *
 * Rows are spread evenly over the tiles (16 = 4+4+4+4, 9 = 5+4), because a nearly full tile is nearly as good
 * as a full one and a single row left over is not. Panels likewise. All row tiles pass over a group of panels
 * before the next group: the group comes from L2 (or memory) once per row tile at most, 32 bytes per cycle
 * for 4 x 5 tiles, which L2 sustains, and from L1 where the depth is small.
 *
 * An output's chain involves its own row of A and column of B alone, so its bits depend neither on the tile
 * nor on the level, as long as the level has fma.
 */
#include "num/kernels.h"
#include "num/simd.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

/* TILES(X): X(R, P) for every tile there is. WIDEST[R]: most panels of a tile with R rows. */
#if defined(SURETY_LEVEL_avx512)
enum { ROWS = 5, PANELS = 5 };
static const size_t widest[ROWS + 1] = {0, 5, 5, 5, 5, 5};
#define ONE_TO_FIVE(X, R) X(R, 1) X(R, 2) X(R, 3) X(R, 4) X(R, 5)
#define TILES(X) ONE_TO_FIVE(X, 1) ONE_TO_FIVE(X, 2) ONE_TO_FIVE(X, 3) ONE_TO_FIVE(X, 4) ONE_TO_FIVE(X, 5)
#elif defined(SURETY_LEVEL_avx2)
enum { ROWS = 6, PANELS = 5 };
static const size_t widest[ROWS + 1] = {0, 5, 3, 2, 1, 1, 1};
#define TILES(X) \
    X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(2, 1) X(2, 2) X(2, 3) X(3, 1) X(3, 2) X(4, 1) X(5, 1) X(6, 1)
#else
enum { ROWS = 3, PANELS = 1 };
static const size_t widest[ROWS + 1] = {0, 1, 1, 1};
#define TILES(X) X(1, 1) X(2, 1) X(3, 1)
#endif

/* One tile of a job. */
typedef struct tile {
    const surety_product *job;
    size_t panel;         /* its first panel */
    size_t last;          /* columns in its last panel, 1 .. 16 */
    const float *a[ROWS]; /* its rows of A */
    float *c[ROWS];       /* and of C, at the first panel */
} tile;

/* The sums before k = 0. */
INLINE v16 start(const tile *t, int r, int p, bool full) {
    const float *from = t->job->add ? t->c[r] : t->job->bias ? t->job->bias + t->panel * SURETY_LANES : NULL;
    if (!from) return v16_zero();
    return full ? v16_load(from + p * SURETY_LANES) : v16_load_part(from + p * SURETY_LANES, t->last);
}

INLINE void finish(const tile *t, int r, int p, bool full, v16 sum) {
    float *to = t->c[r] + p * SURETY_LANES;
    if (full) {
        v16_store(to, sum);
    } else {
        if (!t->job->add) v16_store(to, v16_zero());
        v16_store_part(to, sum, t->last);
    }
}

/* The tile of R rows and P panels; R, P and packed are constants where it is inlined. */
INLINE void tile_run(const tile *t, const int R, const int P, const bool packed) {
    const surety_product *job = t->job;
    const size_t depth = job->depth, step = job->a_step, width = packed ? job->b_panel : SURETY_LANES;
    const bool full = t->last == SURETY_LANES;
    const float *a[ROWS];
    v16 sum[ROWS][PANELS], line[PANELS];
    UNROLL for (int r = 0; r < R; r++) {
        a[r] = t->a[r];
        UNROLL for (int p = 0; p < P; p++) sum[r][p] = start(t, r, p, p < P - 1 || full);
    }
    const float *packed_b = packed ? job->b + t->panel * width : NULL;
    for (size_t k = 0, at = 0; k < depth; k++, at += packed ? 1 : step) {
        const float *b = packed ? packed_b + k * SURETY_LANES : job->b_rows[k] + t->panel * SURETY_LANES;
        UNROLL for (int p = 0; p < P; p++) line[p] = v16_load(b + (size_t)p * width);
        UNROLL for (int r = 0; r < R; r++) {
            v16 factor = v16_set1(a[r][at]);
            UNROLL for (int p = 0; p < P; p++) sum[r][p] = v16_fma(factor, line[p], sum[r][p]);
        }
    }
    UNROLL for (int r = 0; r < R; r++) {
        UNROLL for (int p = 0; p < P; p++) finish(t, r, p, p < P - 1 || full, sum[r][p]);
    }
}

#define DEFINE(R, P)                                \
    static void packed_##R##_##P(const tile *t) {   \
        tile_run(t, R, P, true);                    \
    }                                               \
    static void gathered_##R##_##P(const tile *t) { \
        tile_run(t, R, P, false);                   \
    }
TILES(DEFINE)

typedef void (*tile_fn)(const tile *t);
#define ENTRY(R, P) [1][R][P] = packed_##R##_##P, [0][R][P] = gathered_##R##_##P,
static const tile_fn tiles[2][ROWS + 1][PANELS + 1] = {TILES(ENTRY)};

/* part of parts when count is spread evenly: where it begins. */
static size_t begin(size_t count, size_t part, size_t parts) {
    size_t each = count / parts, more = count % parts;
    return part * each + (part < more ? part : more);
}

static size_t ratio_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

void SURETY_KERNEL(product)(const surety_product *job) {
    size_t panels = ratio_up(job->columns, SURETY_LANES), bands = ratio_up(job->rows, ROWS);
    if (!panels || !bands) return;
    size_t groups = ratio_up(panels, widest[ratio_up(job->rows, bands)]);
    tile t = {.job = job};
    for (size_t group = 0; group < groups; group++) {
        size_t end = begin(panels, group + 1, groups), rest = job->columns - (end - 1) * SURETY_LANES;
        t.panel = begin(panels, group, groups);
        t.last = rest < SURETY_LANES ? rest : SURETY_LANES;
        for (size_t band = 0; band < bands; band++) {
            size_t first = begin(job->rows, band, bands), R = begin(job->rows, band + 1, bands) - first;
            for (size_t r = 0; r < R; r++) {
                size_t row = first + r;
                t.a[r] = job->a_rows ? job->a_rows[row] : job->a + row * job->a_stride;
                t.c[r] =
                    (job->c_rows ? job->c_rows[row] : job->c + row * job->c_stride) + t.panel * SURETY_LANES;
            }
            tiles[job->b != NULL][R][end - t.panel](&t);
        }
    }
}
