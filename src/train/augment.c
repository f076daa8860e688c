/* Each image that trains becomes five: itself, and itself moved by one pixel up, down, left, right. Shape: (5
 * m, stride), first the originals, then all images moved one way, and so on. A copy keeps the row number of
 * its image, so the five meet the same random numbers. They only train: nothing is counted on them. */
#include "train/augment.h"

#include <string.h>

enum { COPIES = 5 };

void surety_augmented_free(surety_augmented *room) {
    surety_free(room->x);
    surety_free(room->y);
    surety_free(room->row);
    *room = (surety_augmented){0};
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

surety_status surety_augment_rows(surety_set *set, surety_augmented *room, surety_augment how,
                                  const surety_data_info *info, surety_error *err) {
    static const int ways[COPIES][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    size_t m = set->m;
    if (how == SURETY_AUGMENT_NONE) return SURETY_OK;
    SURETY_TRY(check_images(set, info, err));
    if (m > UINT32_MAX / COPIES)
        return surety_fail(err, SURETY_E_MEMORY, "too many rows for --augment shift: %zu", m);
    SURETY_TRY(surety_alloc(&room->x, COPIES * m * set->stride, sizeof *room->x, err));
    SURETY_TRY(surety_alloc(&room->y, COPIES * m, sizeof *room->y, err));
    SURETY_TRY(surety_alloc(&room->row, COPIES * m, sizeof *room->row, err));
    for (size_t n = 0; n < COPIES; n++) {
        for (size_t i = 0; i < m; i++)
            shift(set->x + i * set->stride, info->height, info->width, ways[n][0], ways[n][1],
                  room->x + (n * m + i) * set->stride);
        memcpy(room->y + n * m, set->y, m * sizeof *room->y);
        memcpy(room->row + n * m, set->row, m * sizeof *room->row);
    }
    set->m = COPIES * m;
    set->x = room->x, set->y = room->y, set->row = room->row;
    return SURETY_OK;
}
