/* Each image that trains becomes five: itself, and itself moved by one pixel up, down, left, right. Shape: (5
 * m, stride), first the originals, then all images moved one way, and so on. A copy keeps the row number of
 * its image, so the five meet the same random numbers. They only train: nothing is counted on them.
 *
 * Where each process has rows of its own, all see them piece by piece, and each keeps its share. */
#include "train/rows.h"

#include <string.h>

#include "base/parallel.h"

enum { COPIES = 5, PIECE = 1024 /* rows */ };

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
    size_t height, width;
    int scattered;
    size_t first, end; /* of the rows that are made, this process's */
    float *x;          /* these: (end - first, stride) */
    float *piece;      /* (PIECE, stride) */
} making;

/* Row k of those that are made, if this process has what it is made from. */
static void make_row(const making *k, size_t row, float *to) {
    static const int ways[COPIES][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    const float *x = surety_set_row(&k->from, row % k->from.m);
    const int *way = ways[row / k->from.m];
    if (!x) return;
    if (k->how == SURETY_AUGMENT_NONE)
        memcpy(to, x, k->from.d * sizeof *to);
    else
        shift(x, k->height, k->width, way[0], way[1], to);
}

/* Rows begin .. begin + count - 1, at most PIECE of them. */
static surety_status make_piece(const making *k, size_t begin, size_t count, const surety_run *run,
                                surety_error *err) {
    size_t stride = k->from.stride, from = begin > k->first ? begin : k->first,
           end = begin + count < k->end ? begin + count : k->end;
    memset(k->piece, 0, count * stride * sizeof *k->piece);
    for (size_t i = 0; i < count; i++) make_row(k, begin + i, k->piece + i * stride);
    if (k->scattered) SURETY_TRY(surety_rows_gather(k->piece, count, stride, run, err));
    if (from < end)
        memcpy(k->x + (from - k->first) * stride, k->piece + (from - begin) * stride,
               (end - from) * stride * sizeof *k->x);
    return SURETY_OK;
}

static surety_status make_rows(making *k, surety_set *set, surety_made *room, const surety_run *run,
                               surety_error *err) {
    size_t m = set->m, copies = k->how == SURETY_AUGMENT_NONE ? 1 : COPIES, all = copies * m;
    k->end = all;
    if (k->scattered) surety_my_share(run, &k->first, &k->end);
    SURETY_TRY(surety_alloc(&room->x, (k->end - k->first) * set->stride, sizeof *room->x, err));
    SURETY_TRY(surety_alloc(&room->y, all, sizeof *room->y, err));
    SURETY_TRY(surety_alloc(&room->row, all, sizeof *room->row, err));
    SURETY_TRY(surety_alloc(&k->piece, PIECE * set->stride, sizeof *k->piece, err));
    k->x = room->x;
    for (size_t begin = 0; begin < all; begin += PIECE)
        SURETY_TRY(make_piece(k, begin, all - begin < PIECE ? all - begin : PIECE, run, err));
    for (size_t n = 0; n < copies; n++) {
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
    if (how != SURETY_AUGMENT_NONE) SURETY_TRY(check_images(set, info, err));
    if (how != SURETY_AUGMENT_NONE && set->m > UINT32_MAX / COPIES)
        return surety_fail(err, SURETY_E_MEMORY, "too many rows for --augment shift: %zu", set->m);
    SURETY_TRY(surety_rows_scattered(set, &k.scattered, run, err));
    if (how == SURETY_AUGMENT_NONE && !k.scattered) return SURETY_OK;
    surety_status status = make_rows(&k, set, room, run, err);
    surety_free(k.piece);
    return status;
}
