/* Copies of images, against the definition. */
#include "train/augment.h"

#include "check.h"

enum { ROWS = 3, HEIGHT = 4, WIDTH = 3, STRIDE = 16 };

static surety_error err = SURETY_ERROR_NONE;
static _Alignas(64) float x[ROWS * STRIDE];
static const uint8_t y[ROWS] = {1, 0, 1};
static const uint32_t row[ROWS] = {7, 2, 9};

static surety_set images(void) {
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < HEIGHT * WIDTH; j++) x[i * STRIDE + j] = (float)(100 * i + j);
    return (surety_set){
        .m = ROWS, .d = HEIGHT * WIDTH, .stride = STRIDE, .x = x, .y = y, .row = row, .classes = 2};
}

static int inside(int at, int size) {
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static void copies_are_moved_by_a_pixel(void **state) {
    (void)state;
    static const int ways[5][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    surety_set set = images();
    surety_augmented room = {0};
    surety_data_info info = {.height = HEIGHT, .width = WIDTH, .scaling = SURETY_SCALE_NONE};
    check_ok(surety_augment_rows(&set, &room, SURETY_AUGMENT_SHIFT, &info, &err));
    check(set.m == 5 * ROWS, "%zu rows", set.m);
    for (size_t i = 0; i < set.m; i++) {
        const int *way = ways[i / ROWS];
        check(set.y[i] == y[i % ROWS] && set.row[i] == row[i % ROWS], "label or number of row %zu", i);
        for (int r = 0; r < HEIGHT; r++)
            for (int c = 0; c < WIDTH; c++) {
                int from = inside(r + way[0], HEIGHT) * WIDTH + inside(c + way[1], WIDTH);
                float is = set.x[i * STRIDE + (size_t)(r * WIDTH + c)];
                check(is == (float)((int)(100 * (i % ROWS)) + from), "row %zu, point %d %d: %g", i, r, c,
                      (double)is);
            }
        for (size_t j = HEIGHT * WIDTH; j < STRIDE; j++) check(set.x[i * STRIDE + j] == 0, "padding");
    }
    surety_augmented_free(&room);
}

static void what_is_no_image_is_refused(void **state) {
    (void)state;
    surety_set set = images();
    surety_augmented room = {0};
    const surety_data_info infos[] = {{.scaling = SURETY_SCALE_NONE},
                                      {.height = HEIGHT, .width = WIDTH - 1, .scaling = SURETY_SCALE_NONE},
                                      {.height = HEIGHT, .width = WIDTH, .scaling = SURETY_SCALE_STANDARD}};
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        check(surety_augment_rows(&set, &room, SURETY_AUGMENT_SHIFT, &infos[i], &err) == SURETY_E_USAGE,
              "case %zu", i);
        check_ok(surety_augment_rows(&set, &room, SURETY_AUGMENT_NONE, &infos[i], &err));
        check(set.m == ROWS && set.x == x, "changed");
        surety_augmented_free(&room);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_moved_by_a_pixel),
        cmocka_unit_test(what_is_no_image_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
