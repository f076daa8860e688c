/* Copies of images, against the definition; what each of several processes has of them. */
#include "meeting.h"
#include "train/rows.h"

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
    surety_made room = {0};
    surety_data_info info = {.height = HEIGHT, .width = WIDTH, .scaling = SURETY_SCALE_NONE};
    check_ok(surety_rows_make(&set, &room, SURETY_AUGMENT_SHIFT, &info, NULL, &err));
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
    surety_made_free(&room);
}

static void what_is_no_image_is_refused(void **state) {
    (void)state;
    surety_set set = images();
    surety_made room = {0};
    const surety_data_info infos[] = {{.scaling = SURETY_SCALE_NONE},
                                      {.height = HEIGHT, .width = WIDTH - 1, .scaling = SURETY_SCALE_NONE},
                                      {.height = HEIGHT, .width = WIDTH, .scaling = SURETY_SCALE_STANDARD}};
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        check(surety_rows_make(&set, &room, SURETY_AUGMENT_SHIFT, &infos[i], NULL, &err) == SURETY_E_USAGE,
              "case %zu", i);
        check_ok(surety_rows_make(&set, &room, SURETY_AUGMENT_NONE, &infos[i], NULL, &err));
        check(set.m == ROWS && set.x == x, "changed");
        surety_made_free(&room);
    }
}

/* ---- several processes ---- */

enum { MANY = 1500 }; /* rows: more than a piece */

static _Alignas(64) float many_x[MANY * STRIDE];
static uint8_t many_y[MANY];
static uint32_t many_row[MANY];

typedef struct dealing {
    surety_augment how;
    size_t from, count; /* the rows of all that are asked for */
    surety_set set;
    surety_made room;
    surety_status status;
} dealing;

/* A process that has its share of all rows, and asks for some of them. */
static void *deal(void *arg) {
    const process *p = arg;
    dealing *d = p->arg;
    const surety_everyone *e = &p->everyone;
    const surety_run run = {.everyone = e};
    surety_data_info info = {.height = HEIGHT, .width = WIDTH, .scaling = SURETY_SCALE_NONE};
    size_t first = surety_share_begin(MANY, 1, e->rank, e->size),
           end = surety_share_begin(MANY, 1, e->rank + 1, e->size);
    surety_set all = {.m = MANY,
                      .d = HEIGHT * WIDTH,
                      .stride = STRIDE,
                      .x = many_x + first * STRIDE,
                      .y = many_y,
                      .row = many_row,
                      .classes = 2,
                      .before = first,
                      .behind = MANY - end};
    d->set = surety_set_slice(&all, d->from, d->count);
    d->status = surety_rows_make(&d->set, &d->room, d->how, &info, &run, NULL);
    return NULL;
}

/* Each has its share, of the rows that one process makes. */
static void processes_have_their_share(void **state) {
    static const size_t slices[][2] = {{0, MANY}, {0, MANY - 300}, {MANY - 300, 300}, {MANY - 1, 1}};
    (void)state;
    for (size_t i = 0; i < MANY * STRIDE; i++) many_x[i] = i % STRIDE < HEIGHT * WIDTH ? (float)i : 0;
    for (uint32_t i = 0; i < MANY; i++) many_y[i] = i % 3 == 0, many_row[i] = 7 * i;
    for (size_t n = 0; n < 2 * sizeof slices / sizeof *slices; n++) {
        dealing alone = {.how = n % 2 ? SURETY_AUGMENT_SHIFT : SURETY_AUGMENT_NONE,
                         .from = slices[n / 2][0],
                         .count = slices[n / 2][1]};
        for (size_t size = 1; size <= MEETING_MOST; size++) {
            dealing of[MEETING_MOST];
            for (size_t r = 0; r < size; r++) of[r] = alone;
            meeting_run(size, deal, of, sizeof *of);
            if (size == 1) alone = of[0];
            assert_int_equal(alone.set.m, (n % 2 ? 5 : 1) * alone.count);
            for (size_t r = 0; r < size; r++) {
                const surety_set *set = &of[r].set;
                size_t begin = surety_share_begin(set->m, 1, r, size),
                       end = surety_share_begin(set->m, 1, r + 1, size);
                assert_int_equal(of[r].status, SURETY_OK);
                assert_int_equal(set->m, alone.set.m);
                assert_int_equal(set->before, begin);
                assert_int_equal(set->m - set->behind, end);
                assert_memory_equal(set->y, alone.set.y, set->m);
                assert_memory_equal(set->row, alone.set.row, set->m * sizeof *set->row);
                for (size_t i = begin; i < end; i++)
                    assert_memory_equal(surety_set_row(set, i), surety_set_row(&alone.set, i),
                                        STRIDE * sizeof(float));
                if (size > 1) surety_made_free(&of[r].room);
            }
        }
        surety_made_free(&alone.room);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_moved_by_a_pixel),
        cmocka_unit_test(what_is_no_image_is_refused),
        cmocka_unit_test(processes_have_their_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
