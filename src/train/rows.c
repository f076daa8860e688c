/* The rows that train or choose. Where each process has rows of its own, all see them piece by piece, and
 * each makes its share.
 *
 * Each image that trains becomes five: itself, and itself moved by one pixel up, down, left, right. Shape: (5
 * m, stride), first the originals, then all images moved one way, and so on. A copy keeps the row number of
 * its image, so the five meet the same random numbers. They only train: nothing is counted on them. */
#include "train/rows.h"

#include <string.h>

#include "base/parallel.h"

enum { COPIES = 5, PIECE = 1 << 18 /* floats */ };

void surety_made_free(surety_made *room) {
    surety_free(room->x);
    surety_free(room->y);
    surety_free(room->row);
    *room = (surety_made){0};
}

/* An image whose point (r, c) is that of (r + down, c + right), or the nearest one on the edge. */
static void shift(const float *from, size_t height, size_t width, int down, int right, float *to) {
    for (size_t r = 0; r < height; r++)
        for (size_t c = 0; c < width; c++) {
            size_t at_r = (r == 0 && down < 0) || (r + 1 == height && down > 0) ? r : r + (size_t)down;
            size_t at_c = (c == 0 && right < 0) || (c + 1 == width && right > 0) ? c : c + (size_t)right;
            to[r * width + c] = from[at_r * width + at_c];
        }
}

static surety_status check_images(const surety_set *set, const surety_data_info *info, surety_error *err) {
    if (info->height && info->height * info->width == set->d && info->scaling == SURETY_SCALE_NONE)
        return SURETY_OK;
    surety_fail(err, SURETY_E_USAGE, "--augment shift moves images by a pixel, and these rows are none");
    surety_fail_expected(err, "a task, IDX images or an NPY array (m, height, width), with --scale none");
    return SURETY_E_USAGE;
}

surety_status surety_rows_scattered(const surety_set *set, int *is, const surety_run *run,
                                    surety_error *err) {
    int64_t lacking = set->before + set->behind > 0;
    SURETY_TRY(surety_sum_everyone(run, &lacking, 1, err));
    *is = lacking > 0;
    return SURETY_OK;
}

surety_status surety_rows_gather(float *x, size_t count, size_t stride, const surety_run *run,
                                 surety_error *err) {
    return surety_sum_everyone(run, (void *)x, count * stride / 2, err);
}

/* What rows are made from, and where they go. */
typedef struct making {
    surety_set from;
    surety_augment how;
    size_t height, width, copies;
    int scattered;
    size_t first, end; /* of the rows that are made, this process's */
    float *x;          /* these: (end - first, stride) */
    size_t most;       /* rows in a piece */
    float *piece;      /* (most, stride): rows of all processes; NULL where each has all */
} making;

/* Copy number `copy` of a row. */
static void make_row(const making *k, size_t copy, const float *x, float *to) {
    static const int ways[COPIES][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    if (k->how == SURETY_AUGMENT_NONE)
        memcpy(to, x, k->from.d * sizeof *to);
    else
        shift(x, k->height, k->width, ways[copy][0], ways[copy][1], to);
}

/* Rows begin .. begin + count - 1 of all processes, into the piece. */
static surety_status fill_piece(const making *k, size_t begin, size_t count, const surety_run *run,
                                surety_error *err) {
    size_t stride = k->from.stride;
    memset(k->piece, 0, count * stride * sizeof *k->piece);
    for (size_t i = 0; i < count; i++) {
        const float *x = surety_set_row(&k->from, begin + i);
        if (x) memcpy(k->piece + i * stride, x, stride * sizeof *x);
    }
    return surety_rows_gather(k->piece, count, stride, run, err);
}

/* This process's rows among the copies of rows begin .. begin + count - 1. */
static surety_status make_piece(const making *k, size_t begin, size_t count, const surety_run *run,
                                surety_error *err) {
    size_t stride = k->from.stride;
    if (k->scattered) SURETY_TRY(fill_piece(k, begin, count, run, err));
    const float *from = k->scattered ? k->piece : surety_set_row(&k->from, begin);
    for (size_t copy = 0; copy < k->copies; copy++)
        for (size_t i = 0; i < count; i++) {
            size_t row = copy * k->from.m + begin + i;
            if (row < k->first || row >= k->end) continue;
            make_row(k, copy, from + i * stride, k->x + (row - k->first) * stride);
        }
    return SURETY_OK;
}

static surety_status make_rows(making *k, surety_set *set, surety_made *room, const surety_run *run,
                               surety_error *err) {
    size_t m = set->m, all = k->copies * m;
    k->end = all;
    if (k->scattered) surety_my_share(run, &k->first, &k->end);
    SURETY_TRY(surety_alloc(&room->x, (k->end - k->first) * set->stride, sizeof *room->x, err));
    SURETY_TRY(surety_alloc(&room->y, all, sizeof *room->y, err));
    SURETY_TRY(surety_alloc(&room->row, all, sizeof *room->row, err));
    k->x = room->x;
    k->most = 1 + PIECE / set->stride;
    if (k->scattered) SURETY_TRY(surety_alloc(&k->piece, k->most * set->stride, sizeof *k->piece, err));
    for (size_t begin = 0; begin < m; begin += k->most)
        SURETY_TRY(make_piece(k, begin, m - begin < k->most ? m - begin : k->most, run, err));
    for (size_t n = 0; n < k->copies; n++) {
        memcpy(room->y + n * m, set->y, m * sizeof *room->y);
        memcpy(room->row + n * m, set->row, m * sizeof *room->row);
    }
    set->m = all, set->x = room->x, set->y = room->y, set->row = room->row;
    set->before = k->first, set->behind = all - k->end;
    return SURETY_OK;
}

surety_status surety_rows_make(surety_set *set, surety_made *room, surety_augment how,
                               const surety_data_info *info, const surety_run *run, surety_error *err) {
    making k = {.from = *set, .how = how, .height = info->height, .width = info->width};
    k.copies = how == SURETY_AUGMENT_NONE ? 1 : COPIES;
    if (how != SURETY_AUGMENT_NONE) SURETY_TRY(check_images(set, info, err));
    if (how != SURETY_AUGMENT_NONE && set->m > UINT32_MAX / COPIES)
        return surety_fail(err, SURETY_E_MEMORY, "too many rows for --augment shift: %zu", set->m);
    SURETY_TRY(surety_rows_scattered(set, &k.scattered, run, err));
    if (how == SURETY_AUGMENT_NONE && !k.scattered) return SURETY_OK;
    surety_status status = make_rows(&k, set, room, run, err);
    surety_free(k.piece);
    return status;
}
