/* train: random tables and settings. Whichever rows a process has, its own or all, and however many processes
 * there are, here threads with a barrier, the model is that of one process, or its error. */
#include "draw.h"
#include "meeting.h"
#include "surety/evaluate.h"
#include "surety/train.h"

enum { MOST = 260, WIDE = 5 };

typedef struct world {
    size_t m, d, classes;
    float x[MOST][WIDE];
    int64_t y[MOST];
    surety_data_settings data;
    surety_train_settings train;
} world;

static world w;

typedef struct trained {
    int own;
    uint8_t *bytes;
    size_t size;
    surety_status status;
    surety_error err;
} trained;

/* Continuous values, a few, 0 and -0, one alone; some are missing where they may be. */
static float draw_value(draw *r, size_t column, int64_t label) {
    if (w.data.missing == SURETY_MISSING_KEEP && draw_size(r, 0, 9) == 0) return NAN;
    double pull = 0.3 * (double)label;
    switch (column % 4) {
        case 0:
            return (float)draw_real(r, 0, 1) + (float)pull;
        case 1:
            return (float)draw_size(r, 0, 6) / 8 + (float)pull;
        case 2:
            return draw_size(r, 0, 2) ? (float)(draw_size(r, 0, 1) ? -0.0 : 0.0) : (float)draw_real(r, -1, 1);
        default:
            return column == 3 && draw_size(r, 0, 30) ? 0.5F : (float)pull;
    }
}

static void draw_trees(draw *r, surety_train_settings *s) {
    s->voters.kind = "trees";
    s->defense.kind = draw_size(r, 0, 3) ? SURETY_WORST_CASE : SURETY_ATTACK_NONE;
    surety_train_kind(s);
    s->voters.count = s->step1_epochs = draw_size(r, 1, 5);
    s->voters.depth = draw_size(r, 1, 4);
    s->voters.apart = w.classes == 2 && draw_size(r, 0, 1);
    s->lr = 0.5;
    s->holdout = 0;
}

static void draw_batches(draw *r, surety_train_settings *s) {
    s->voters.kind = "soft-forest";
    s->voters.count = draw_size(r, 1, 4);
    s->step1_epochs = s->step2_epochs = draw_size(r, 1, 2);
    s->batch = draw_size(r, 1, 80);
    s->defense.steps = 2;
    s->voter_set = SURETY_REAL;
    s->objective = SURETY_OBJECTIVE_BASELINE;
    s->defense.kind = draw_size(r, 0, 1) ? SURETY_WORST_CASE : SURETY_ATTACK_PGD;
    if (draw_size(r, 0, 2) == 0)
        s->objective =
            s->defense.kind == SURETY_WORST_CASE ? SURETY_OBJECTIVE_WORST_CASE : SURETY_OBJECTIVE_CHROMATIC;
}

static void draw_world(draw *r, int trees) {
    surety_train_settings *s = &w.train;
    w.m = draw_size(r, 12, draw_size(r, 12, MOST)), w.d = draw_size(r, 1, WIDE),
    w.classes = draw_size(r, 2, 4);
    w.data = surety_data_defaults();
    w.data.missing = trees && draw_size(r, 0, 1) ? SURETY_MISSING_KEEP : SURETY_MISSING_ERROR;
    w.data.scaling = draw_size(r, 0, 1) ? SURETY_SCALE_STANDARD : SURETY_SCALE_NONE;
    w.data.copies = SURETY_COPIES_KEEP;
    w.data.test_share = draw_size(r, 0, 1) ? 0.2 : 0;
    w.data.seed = draw_size(r, 0, 1000);
    for (size_t i = 0; i < w.m; i++) {
        w.y[i] = (int64_t)draw_size(r, 0, w.classes - 1);
        for (size_t j = 0; j < w.d; j++) w.x[i][j] = draw_value(r, j, w.y[i]);
    }
    *s = surety_train_defaults();
    s->defense.ball.norm = SURETY_LINF;
    s->defense.ball.radius = (const double[]){0.001, 0.01, 0.1, 0.5}[draw_size(r, 0, 3)];
    s->defense.ball.has_box = 0;
    (trees ? draw_trees : draw_batches)(r, s);
    s->seed = draw_size(r, 0, 1000);
    s->balance = (int)draw_size(r, 0, 1);
    if (draw_size(r, 0, 1)) s->holdout = draw_real(r, 0.1, 0.6);
    s->keep_last = s->holdout > 0 ? 0 : (int)draw_size(r, 0, 1);
}

static void train(trained *t, const surety_everyone *everyone) {
    surety_data_settings s = w.data;
    surety_arrays a = {.m = w.m, .d = w.d, .features = w.x[0], .labels = w.y, .stride = WIDE};
    surety_data *data = NULL;
    surety_model *model = NULL;
    surety_train_result result = {0};
    surety_run run = {.threads = 1, .everyone = everyone};
    s.everyone = everyone, s.own_rows = t->own;
    t->status = surety_data_from_arrays(&a, &s, &data, &t->err);
    if (t->status == SURETY_OK)
        t->status = surety_train(&w.train, data, NULL, &model, &result, &run, &t->err);
    if (t->status == SURETY_OK) t->status = surety_model_encode(model, &t->bytes, &t->size, &t->err);
    surety_train_result_free(&result);
    surety_model_free(model);
    surety_data_free(data);
}

static void *run_process(void *arg) {
    const process *p = arg;
    train(p->arg, &p->everyone);
    return NULL;
}

static void check_alike(draw *r, long n, size_t *made) {
    trained alone = {0}, of[MEETING_MOST];
    size_t size = draw_size(r, 2, MEETING_MOST);
    int own = (int)draw_size(r, 0, 3) > 0;
    train(&alone, NULL);
    *made += alone.status == SURETY_OK;
    for (size_t k = 0; k < size; k++) of[k] = (trained){.own = own};
    meeting_run(size, run_process, of, sizeof *of);
    for (size_t k = 0; k < size; k++) {
        check(of[k].status == alone.status, "table %ld, process %zu of %zu: '%s', alone '%s'", n, k, size,
              of[k].err.what, alone.err.what);
        check(of[k].size == alone.size && (!alone.size || !memcmp(of[k].bytes, alone.bytes, alone.size)),
              "table %ld: process %zu of %zu has another model", n, k, size);
        surety_bytes_free(of[k].bytes);
    }
    surety_bytes_free(alone.bytes);
}

static void check_many(int trees, uint64_t seed, long count) {
    draw r = {seed};
    size_t made = 0;
    for (long n = 0; n < count; n++) {
        draw_world(&r, trees);
        check_alike(&r, n, &made);
    }
    check(2 * made > (size_t)count, "only %zu of %ld tables were trained on", made, count);
}

static void trees(void **state) {
    (void)state;
    check_many(1, 11, check_count(60, 2000));
}

static void batches(void **state) {
    (void)state;
    check_many(0, 12, check_count(20, 500));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees),
        cmocka_unit_test(batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
