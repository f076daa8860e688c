/* model: what is written reads back bit by bit; whatever is damaged is refused with its place, before
 * anything is given out; nothing is lost when memory or the disk fails. */
#include <math.h>

#include "base/random.h"
#include "check.h"
#include "data/tolerance.h"
#include "draw.h"
#include "io/files.h"
#include "io/sha256.h"
#include "model/model.h"
#include "model/safetensors.h"
#include "plain.h"

/* ---- models and files to try ---- */

static surety_model *small_model(int forest, uint64_t seed) {
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    surety_model *m = NULL;
    surety_voters_settings s = {.kind = "soft-forest", .count = 3, .depth = 2, .mask = 0.4};
    if (forest)
        check_ok(surety_voters_new(&s, 5, seed, &v, &err));
    else
        check_ok(
            surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = 3}, 5, seed, &v, &err));
    surety_model_facts facts = surety_model_facts_defaults();
    facts.voter_set = SURETY_REAL;
    facts.seed = seed;
    facts.priors_compared = 20;
    facts.delta = 0.1 / 3;
    facts.ball = (surety_ball){.norm = SURETY_LINF, .radius = 0.1, .has_box = forest, .lo = -1. / 3, .hi = 7};
    strcpy(facts.defense, "pgdu");
    strcpy(facts.objective, "average-max");
    surety_tolerance *tolerance = NULL; /* linear ones have one */
    const double radius[] = {0.1, 0, 1. / 3, 2, 1e-9}, lo[] = {-HUGE_VAL, -1, 0.1, -HUGE_VAL, 0},
                 hi[] = {HUGE_VAL, 1. / 3, HUGE_VAL, 3, 0};
    if (!forest) {
        check_ok(surety_tolerance_new(&(surety_features){.d = 5}, radius, lo, hi, &tolerance, &err));
        facts.ball.tolerance = tolerance;
        facts.ball.slack = SURETY_SCALED;
    }
    const double prior[] = {0.2, 0.3, 0.5}, posterior[] = {0, 0.25, 0.75};
    check_ok(surety_model_new(v, prior, posterior, &facts, &m, &err));
    surety_tolerance_free(tolerance); /* the model has its own */
    check_ok(surety_model_set_text(m, "note", "t\xc3\xa4sch \"quoted\" \\ \n", &err));
    check_ok(surety_model_set_reals(m, "step1.risk", (const double[]){0.5, 0.1, 1. / 3}, 3, &err));
    check_ok(surety_model_set_count(m, "epochs", 20, &err));
    return m;
}

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static bytes read_bytes(const char *path) {
    bytes b;
    b.data = (uint8_t *)files_get(path, &b.size);
    assert_non_null(b.data);
    return b;
}

static bytes model_bytes(int forest) {
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m = small_model(forest, 3);
    check_ok(surety_model_save(m, files_path("m"), &err));
    surety_model_free(m);
    return read_bytes(files_path("m"));
}

/* Loads these bytes; the status is OK or bad input, with everything said. */
static surety_status try_bytes(const void *data, size_t size, surety_error *err) {
    surety_model *m = NULL;
    *err = (surety_error)SURETY_ERROR_NONE;
    surety_status status = surety_model_load(files_put("damaged", data, size), &m, err);
    if (status != SURETY_OK) {
        check(status == SURETY_E_INPUT && err->code == status, "status %s: %s", surety_status_name(status),
              err->what);
        assert_true(!m);
        assert_true(err->what[0]);
        check_contains(err->file, "damaged");
    }
    surety_model_free(m);
    return status;
}

/* ---- round trips ---- */

static void assert_same_model(const surety_model *a, const surety_model *b) {
    const surety_voters *v = surety_model_voters(a), *w = surety_model_voters(b);
    size_t H = surety_voters_count(v);
    assert_string_equal(surety_voters_kind(v), surety_voters_kind(w));
    assert_int_equal(H, surety_voters_count(w));
    assert_int_equal(surety_voters_depth(v), surety_voters_depth(w));
    assert_memory_equal(surety_model_prior(a), surety_model_prior(b), H * sizeof(double));
    assert_memory_equal(surety_model_posterior(a), surety_model_posterior(b), H * sizeof(double));
    for (size_t k = 0; k < surety_voters_tensors(v); k++) {
        surety_tensor s = surety_voters_tensor(v, k), t = surety_voters_tensor(w, k);
        assert_memory_equal(s.values, t.values, s.rows * s.stride * sizeof(float));
        if (s.mask) assert_memory_equal(s.mask, t.mask, s.rows * s.stride);
    }
    const surety_model_facts *f = surety_model_about(a), *g = surety_model_about(b);
    check_that(f->voter_set, ==, g->voter_set);
    check_that(f->seed, ==, g->seed);
    check_that(f->priors_compared, ==, g->priors_compared);
    check_that(f->delta, ==, g->delta);
    check_that(f->ball.norm, ==, g->ball.norm);
    check_that(f->ball.radius, ==, g->ball.radius);
    check_that(f->ball.has_box, ==, g->ball.has_box);
    check_that(f->ball.slack, ==, g->ball.slack);
    assert_true(surety_tolerance_same(f->ball.tolerance, g->ball.tolerance));
    if (f->ball.has_box) {
        check_that(f->ball.lo, ==, g->ball.lo);
        check_that(f->ball.hi, ==, g->ball.hi);
    }
    assert_string_equal(f->defense, g->defense);
    assert_string_equal(f->objective, g->objective);
    const char *keys[] = {"note", "step1.risk", "epochs"};
    for (int i = 0; i < 3; i++)
        assert_string_equal(surety_model_text(a, keys[i]), surety_model_text(b, keys[i]));
}

static void what_is_written_reads_back(void **state) {
    (void)state;
    for (int forest = 0; forest < 2; forest++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            surety_error err = SURETY_ERROR_NONE;
            surety_model *m = small_model(forest, seed), *again = NULL;
            check_ok(surety_model_save(m, files_path("a"), &err));
            check_ok(surety_model_load(files_path("a"), &again, &err));
            assert_same_model(m, again);
            check_ok(surety_model_save(again, files_path("b"), &err)); /* equal models are equal files */
            bytes a = read_bytes(files_path("a")), b = read_bytes(files_path("b"));
            assert_int_equal(a.size, b.size);
            assert_memory_equal(a.data, b.data, a.size);
            char sum[65], file_sum[65];
            check_ok(surety_model_sha256(again, sum, &err));
            check_ok(surety_sha256(a.data, a.size, file_sum, &err));
            assert_string_equal(sum, file_sum);
            /* the loaded voters answer at once */
            const float x[5] = {0.1f, 0.9f, 0.3f, 0.7f, 0.5f};
            double one, two;
            surety_vote p = surety_model_vote(m, SURETY_WEIGHTS_PRIOR),
                        q = surety_model_vote(again, SURETY_WEIGHTS_PRIOR);
            check_ok(surety_vote_predict(&p, x, 5, 1, &one, NULL, &err));
            check_ok(surety_vote_predict(&q, x, 5, 1, &two, NULL, &err));
            check_that(one, ==, two);
            check_that(q.weights[0], ==, 0.2);
            check_that(surety_model_vote(m, SURETY_WEIGHTS_POSTERIOR).weights[0], ==, 0);
            free(a.data), free(b.data);
            surety_model_free(m), surety_model_free(again);
        }
}

/* The bytes of encode are those of save, and read back from any address. */
static void bytes_are_the_file(void **state) {
    (void)state;
    for (int forest = 0; forest < 2; forest++) {
        surety_error err = SURETY_ERROR_NONE;
        surety_model *m = small_model(forest, 3), *again = NULL;
        bytes file = model_bytes(forest);
        uint8_t *encoded = NULL;
        size_t size = 0;
        check_ok(surety_model_encode(m, &encoded, &size, &err));
        assert_int_equal(size, file.size);
        assert_memory_equal(encoded, file.data, size);
        uint8_t *moved = malloc(size + 3);
        memcpy(moved + 3, encoded, size);
        surety_bytes_free(encoded);
        check_ok(surety_model_decode(moved + 3, size, NULL, &again, &err));
        free(moved);
        assert_same_model(m, again);
        surety_model_free(again);
        surety_model_free(m);
        free(file.data);
    }
    surety_bytes_free(NULL);
}

/* Texts in another order, set twice: the same file. */
static void the_file_depends_on_content_only(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_model *a = small_model(1, 1), *b = small_model(1, 1);
    check_ok(surety_model_set_text(a, "first", "1", &err));
    check_ok(surety_model_set_text(a, "second", "2", &err));
    check_ok(surety_model_set_text(b, "second", "x", &err));
    check_ok(surety_model_set_text(b, "first", "1", &err));
    check_ok(surety_model_set_text(b, "second", "2", &err));
    char one[65], two[65];
    check_ok(surety_model_sha256(a, one, &err));
    check_ok(surety_model_sha256(b, two, &err));
    assert_string_equal(one, two);
    surety_model_free(a), surety_model_free(b);
}

/* ---- damage ---- */

/* The first size bytes and not one more: a reader that went on would be caught by the sanitizer. */
static surety_status try_cut(const bytes *b, size_t size, surety_error *err) {
    surety_model *m = (surety_model *)err;
    uint8_t *part = malloc(size ? size : 1);
    memcpy(part, b->data, size);
    *err = (surety_error)SURETY_ERROR_NONE;
    surety_status status = surety_model_decode(part, size, "the bytes", &m, err);
    free(part);
    check_that((status == SURETY_OK), ==, (m != NULL));
    if (status != SURETY_OK) assert_string_equal(err->file, "the bytes");
    surety_model_free(m);
    return status;
}

static void cut_off_anywhere(void **state) {
    (void)state;
    for (int forest = 0; forest < 2; forest++) {
        surety_error err;
        bytes b = model_bytes(forest);
        assert_int_equal(try_bytes(b.data, b.size, &err), SURETY_OK);
        for (size_t size = 0; size < b.size; size++) {
            assert_int_equal(try_bytes(b.data, size, &err), SURETY_E_INPUT);
            assert_int_equal(try_cut(&b, size, &err), SURETY_E_INPUT);
        }
        assert_int_equal(try_cut(&b, b.size, &err), SURETY_OK);
        surety_model *none = (surety_model *)&err;
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_model_decode(NULL, 0, NULL, &none, &err), SURETY_E_INPUT);
        assert_true(!none);
        assert_true(err.file[0]);
        b.data[b.size] = 0; /* one byte too many */
        assert_int_equal(try_bytes(b.data, b.size + 1, &err), SURETY_E_INPUT);
        free(b.data);
    }
}

/* A flipped byte is refused or changes a number or a text: never a crash. Bytes of lengths and offsets are
 * always refused. */
static void flipped_bytes(void **state) {
    (void)state;
    const uint8_t flips[] = {0xff, 0x01, 0x80, 0x20};
    for (int forest = 0; forest < 2; forest++) {
        surety_error err;
        bytes b = model_bytes(forest);
        for (size_t i = 0; i < b.size; i++)
            for (long k = 0; k < check_count(2, sizeof flips); k++) {
                b.data[i] ^= flips[k];
                surety_status status = try_bytes(b.data, b.size, &err);
                if (i < 8) assert_int_equal(status, SURETY_E_INPUT);
                b.data[i] ^= flips[k];
            }
        free(b.data);
    }
}

static void random_damage(void **state) {
    (void)state;
    draw r = {1};
    surety_error err;
    bytes b = model_bytes(1), c = {malloc(b.size), b.size};
    for (long round = 0; round < check_count(2000, 100000); round++) {
        memcpy(c.data, b.data, b.size);
        for (size_t n = draw_size(&r, 1, 6); n; n--) {
            size_t at = draw_size(&r, 0, 1) ? draw_size(&r, 8, 900) : draw_size(&r, 0, b.size - 1);
            c.data[at] = draw_size(&r, 0, 1) ? (uint8_t)draw_bits(&r)
                                             : (uint8_t) "0123456789{}[]\",:-e"[draw_size(&r, 0, 18)];
        }
        try_bytes(c.data, c.size, &err);
    }
    free(b.data), free(c.data);
}

/* The header with `from` replaced by `to`, its length corrected and padding kept. */
static surety_status try_header(const bytes *b, const char *from, const char *to, surety_error *err) {
    size_t header = 0;
    for (size_t i = 0; i < 8; i++) header |= (size_t)b->data[i] << (8 * i);
    char *text = malloc(header + 1);
    memcpy(text, b->data + 8, header);
    text[header] = 0;
    size_t end = header;
    while (text[end - 1] == ' ') end--; /* drop the padding, put new one */
    text[end] = 0;
    char *at = strstr(text, from);
    check(at != NULL, "'%s' is not in the header", from);
    size_t before = (size_t)(at - text), length = end - strlen(from) + strlen(to);
    size_t padded = (8 + length + 63) / 64 * 64 - 8, body = b->size - 8 - header;
    uint8_t *file = malloc(8 + padded + body);
    for (size_t i = 0; i < 8; i++) file[i] = (uint8_t)(padded >> (8 * i));
    memset(file + 8, ' ', padded);
    memcpy(file + 8, text, before);
    memcpy(file + 8 + before, to, strlen(to));
    memcpy(file + 8 + before + strlen(to), at + strlen(from), strlen(at + strlen(from)));
    memcpy(file + 8 + padded, b->data + 8 + header, body);
    surety_status status = try_bytes(file, 8 + padded + body, err);
    free(text), free(file);
    return status;
}

/* Every field of the header, damaged. The forest has H = 3, 3 splits, d = 5: prior [0,24), posterior [24,48),
 * splits.weight [48,228), splits.bias [228,264), leaves [264,312), mask [312,357). */
static void damaged_headers(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says; /* says: in what, place or expected */
    } damages[] = {
        /* types */
        {"\"F64\"", "\"F16\"", "dtype"},
        {"\"F64\"", "64", "described"},
        {"\"F64\"", "\"F32\"", "data_offsets"},
        {"\"dtype\":\"U8\"", "\"dtype\":\"BOOL\"", "dtype"},
        {"\"dtype\":\"U8\",", "", "described"},
        {"\"dtype\":\"U8\",", "\"dtype\":\"U8\",\"more\":1,", "described"},
        /* shapes */
        {"\"shape\":[3,3,5]", "\"shape\":[3,5,3]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[9,5]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[45]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[3,3,5,1]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[3,3,-5]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[3,3,5.0]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[3,3,0]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":\"3,3,5\"", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[3,3,9223372036854775807]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[4294967296,4294967296,5]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[3,3,4611686018427387909]", "shape"},
        {"\"shape\":[3,3,5]", "\"shape\":[3,3,99999999999999999999]", "JSON"},
        {"\"shape\":[3,4]", "\"shape\":[4,3]", "shape"},
        {"\"shape\":[3,4]", "\"shape\":[2,6]", "shape"},
        {"\"shape\":[3,4]", "\"shape\":[1,12]", "shape"},
        {"\"shape\":[3,4]", "\"shape\":[12,1]", "shape"},
        {"\"shape\":[3]", "\"shape\":[2]", "data_offsets"},
        {"\"shape\":[3]", "\"shape\":[1,3]", "axes"},
        /* offsets */
        {"[0,24]", "[0,25]", "data_offsets"},
        {"[0,24]", "[8,32]", "hole"},
        {"[0,24]", "[24,0]", "data_offsets"},
        {"[0,24]", "[-1,23]", "data_offsets"},
        {"[0,24]", "[0.0,24]", "data_offsets"},
        {"[0,24]", "[0]", "data_offsets"},
        {"[0,24]", "[0,24,24]", "data_offsets"},
        {"[0,24]", "24", "described"},
        {"[24,48]", "[0,24]", "overlap"},
        {"[24,48]", "[23,47]", "overlap"},
        {"[312,357]", "[313,358]", "data_offsets"},
        {"[312,357]", "[9223372036854775762,9223372036854775807]", "data_offsets"},
        {"[48,228]", "[9223372036854775807,179]", "data_offsets"},
        /* names */
        {"\"mask\":", "\"musk\":", "mask"},
        {"\"prior\":", "\"posterior\":", "JSON"}, /* twice */
        {"\"prior\":", "\"prior_\":", "prior"},
        {"\"leaves\":", "\"leaves.of.a.tree.whose.name.goes.on.and.on.and.on.and.on.and.on.and.on\":",
         "name"},
        {"\"mask\":", "\"more\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[357,358]},\"mask\":",
         "more"},
        {"\"mask\":", "\"more\":{},\"mask\":", "described"},
        {"\"mask\":", "\"more\":[],\"mask\":", "described"},
        /* metadata */
        {"\"__metadata__\":", "\"__metadata_\":", "described"},
        {"\"epochs\":\"20\"", "\"epochs\":20", "epochs"},
        {"\"epochs\":\"20\"", "\"epochs\":[\"20\"]", "epochs"},
        {"\"epochs\":\"20\"", "\"epochs\":\"20\",\"epochs\":\"20\"", "JSON"},
        {"\"epochs\":\"20\"", "\"Epochs!\":\"20\"", "Epochs!"},
        {"\"epochs\":\"20\"", "\"epochs\":\"2\\u0000\"", "JSON"},
        {"\"epochs\":\"20\"", "\"epochs\":\"\xff\"", "JSON"},
        {"\"kind\":\"soft-forest\"", "\"kind\":\"linear\"", "linear.bias"},
        {"\"kind\":\"soft-forest\"", "\"kind\":\"wood\"", "kind"},
        {"\"kind\":\"soft-forest\",", "", "kind"},
        {"\"voters\":\"real\"", "\"voters\":\"unreal\"", "voters"},
        {"\"seed\":\"3\"", "\"seed\":\"-3\"", "seed"},
        {"\"seed\":\"3\"", "\"seed\":\"9223372036854775808\"", "seed"},
        {"\"seed\":\"3\"", "\"seed\":\"3x\"", "seed"},
        {"\"priors_compared\":\"20\"", "\"priors_compared\":\"0\"", "priors_compared"},
        {"\"priors_compared\":\"20\"", "\"priors_compared\":\"\"", "priors_compared"},
        {"\"delta\":\"0", "\"delta\":\"1", "delta"},
        {"\"delta\":\"0", "\"delta\":\"-0", "delta"},
        {"\"delta\":\"0", "\"delta\":\"nan", "delta"},
        {"\"norm\":\"linf\"", "\"norm\":\"l3\"", "norm"},
        {"\"eps\":\"0", "\"eps\":\"-0", "eps"},
        {"\"eps\":\"0", "\"eps\":\"x", "eps"},
        {"\"eps\":\"0", "\"eps\":\"1e31", "eps"},
        {"\"box\":\"-", "\"box\":\"9", "box"},
        {"\"box\":\"-", "\"box\":\"inf,", "box"},
        {"\"defense\":\"pgdu\"", "\"defense\":\"\"", "defense"},
        {"\"objective\":\"average-max\"", "\"objective\":\"an objective whose name is far too long\"",
         "objective"},
        /* JSON */
        {"{\"__meta", "[\"__meta", "JSON"},
        {"{\"__meta", "{{\"__meta", "JSON"},
        {"}}", "}} x", "JSON"},
        {"\"epochs\":", "\"epochs\"=", "JSON"},
    };
    bytes b = model_bytes(1);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        surety_error err;
        check(try_header(&b, damages[i].from, damages[i].to, &err) == SURETY_E_INPUT,
              "'%s' -> '%s' is accepted", damages[i].from, damages[i].to);
        check(strstr(err.what, damages[i].says) || strstr(err.place, damages[i].says) ||
                  strstr(err.expected, damages[i].says),
              "'%s' -> '%s': %s | %s | %s", damages[i].from, damages[i].to, err.what, err.place,
              err.expected);
    }
    free(b.data);
}

/* JSON nested deeper than any honest header; a header that claims to be larger than the file or the memory.
 */
/* The texts of a tolerance and a slack. */
static void damaged_tolerances(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
    } damages[] = {
        {"\\\"radius\\\":[0.1", "\\\"radius\\\":[-0.1"},
        {"\\\"radius\\\":[0.1", "\\\"radius\\\":[null"},
        {"\\\"radius\\\":[0.1", "\\\"radius\\\":[\\\"a\\\""},
        {"\\\"hi\\\":[", "\\\"hi\\\":[1,"},
        {"\\\"features\\\":[\\\"1", "\\\"features\\\":[\\\"6"},
        {"\\\"lo\\\"", "\\\"low\\\""},
        {"\"slack\":\"", "\"slack\":\"-"},
        {"\"slack\":\"", "\"slack\":\"x"},
        {"\"slack\":\"", "\"slack\":\"9999999999"},
    };
    bytes b = model_bytes(0);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        surety_error err;
        check(try_header(&b, damages[i].from, damages[i].to, &err) == SURETY_E_INPUT, "damage %zu: %s", i,
              damages[i].to);
        check(strstr(err.place, "tolerance") || strstr(err.place, "slack"), "damage %zu: %s", i, err.place);
    }
    free(b.data);
}

static void hostile_headers(void **state) {
    (void)state;
    surety_error err;
    enum { DEEP = 100000 };
    uint8_t *file = malloc(8 + DEEP);
    for (size_t i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)DEEP >> (8 * i));
    memset(file + 8, '[', DEEP);
    memcpy(file + 8, "{\"a\":", 5);
    assert_int_equal(try_bytes(file, 8 + DEEP, &err), SURETY_E_INPUT);
    for (int bit = 0; bit < 64; bit++) {
        for (size_t i = 0; i < 8; i++) file[i] = (uint8_t)((UINT64_C(1) << bit) >> (8 * i));
        assert_int_equal(try_bytes(file, 8 + 1000, &err), SURETY_E_INPUT);
    }
    memset(file, 0xff, 8);
    assert_int_equal(try_bytes(file, 8 + 1000, &err), SURETY_E_INPUT);
    free(file);
}

/* A small file cannot ask for much memory: shapes that fit their bytes, but not each other. */
static size_t asked_for;
static int watch(void *arg, size_t size) {
    (void)arg;
    if (size > asked_for) asked_for = size;
    return 1;
}

static void small_files_take_little_memory(void **state) {
    (void)state;
    surety_error err;
    /* one tree of one split over 1000 features, but 256 leaves */
    const char *header =
        "{\"__metadata__\":{\"kind\":\"soft-forest\"},\"splits.weight\":{\"dtype\":\"F32\",\"shape\":[1,1,"
        "1000],"
        "\"data_offsets\":[0,4000]},\"leaves\":{\"dtype\":\"F32\",\"shape\":[1,256],\"data_offsets\":[4000,"
        "5024]}}";
    size_t length = (strlen(header) + 63) / 64 * 64 + 56;
    uint8_t *file = calloc(8 + length + 5024, 1);
    for (size_t i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)length >> (8 * i));
    memset(file + 8, ' ', length);
    memcpy(file + 8, header, strlen(header));
    asked_for = 0;
    surety_memory_hook(watch, NULL);
    surety_status status = try_bytes(file, 8 + length + 5024, &err);
    surety_memory_hook(NULL, NULL);
    assert_int_equal(status, SURETY_E_INPUT);
    check(asked_for < 100000, "%zu bytes for a file of %zu", asked_for, 8 + length + 5024);
    free(file);
}

/* Numbers that a model cannot have. Offsets as in damaged_headers. */
static void damaged_numbers(void **state) {
    (void)state;
    bytes b = model_bytes(1);
    size_t header = 0;
    for (size_t i = 0; i < 8; i++) header |= (size_t)b.data[i] << (8 * i);
    uint8_t *body = b.data + 8 + header;
    uint8_t *masked = memchr(body + 312, 0, 45);
    assert_non_null(masked);
    size_t masked_weight = 48 + 4 * (size_t)(masked - (body + 312));
    const struct {
        size_t at, size;
        double value;
        const char *place;
    } damages[] = {
        {0, 8, NAN, "prior"},
        {0, 8, 0, "prior"},
        {8, 8, -0.3, "prior"},
        {0, 8, HUGE_VAL, "prior"},
        {0, 8, 0.2 + 2e-9, "prior"},
        {24, 8, -1e-300, "posterior"},
        {32, 8, NAN, "posterior"},
        {40, 8, 0.74, "posterior"},
        {masked_weight, 4, NAN, "splits.weight"},
        {masked_weight, 4, 1e-30, "splits.weight"},
        {228, 4, NAN, "splits.bias"},
        {232, 4, -HUGE_VAL, "splits.bias"},
        {308, 4, HUGE_VAL, "leaves"},
        {356, 1, 2, "mask"},
        {312, 1, 255, "mask"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        surety_error err;
        uint8_t was[8];
        float value = (float)damages[i].value;
        memcpy(was, body + damages[i].at, damages[i].size);
        if (damages[i].size == 8) memcpy(body + damages[i].at, &damages[i].value, 8);
        if (damages[i].size == 4) memcpy(body + damages[i].at, &value, 4);
        if (damages[i].size == 1) body[damages[i].at] = (uint8_t)damages[i].value;
        check(try_bytes(b.data, b.size, &err) == SURETY_E_INPUT, "damage %zu is accepted", i);
        check(strstr(err.place, damages[i].place) != NULL, "damage %zu: place '%s'", i, err.place);
        memcpy(body + damages[i].at, was, damages[i].size);
    }
    free(b.data);
}

/* ---- texts ---- */

static void texts_and_numbers(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    draw r = {2};
    surety_model *m = small_model(0, 0), *again = NULL;
    const char *bad_keys[] = {
        "",     "Upper",    "a b",
        "a-b",  "\xc3\xa4", "seed",
        "kind", "eps",      "a_key_of_more_than_sixty_three_characters_is_more_than_anyone_needs"};
    for (size_t i = 0; i < sizeof bad_keys / sizeof *bad_keys; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_model_set_text(m, bad_keys[i], "x", &err), SURETY_E_USAGE);
    }
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_model_set_text(m, "key", "\xff", &err), SURETY_E_USAGE);
    double values[64], back[64], one;
    size_t count;
    uint64_t whole;
    for (int i = 0; i < 64; i++) {
        uint64_t bits = draw_bits(&r);
        memcpy(&values[i], &bits, sizeof bits);
        if (!isfinite(values[i])) values[i] = i ? 5e-324 : -0.0;
    }
    err = (surety_error)SURETY_ERROR_NONE;
    check_ok(surety_model_set_reals(m, "list", values, 64, &err));
    check_ok(surety_model_set_reals(m, "none", NULL, 0, &err));
    check_ok(surety_model_set_real(m, "one", values[7], &err));
    check_ok(surety_model_set_count(m, "whole", UINT64_MAX, &err));
    check_ok(surety_model_save(m, files_path("t"), &err));
    check_ok(surety_model_load(files_path("t"), &again, &err));
    check_ok(surety_model_reals(again, "list", back, 64, &count, &err));
    assert_int_equal(count, 64);
    assert_memory_equal(values, back, sizeof values);
    check_ok(surety_model_reals(again, "list", back, 3, &count, &err)); /* room for 3 */
    assert_int_equal(count, 64);
    check_ok(surety_model_reals(again, "none", back, 64, &count, &err));
    assert_int_equal(count, 0);
    check_ok(surety_model_real(again, "one", &one, &err));
    assert_memory_equal(&one, &values[7], sizeof one);
    check_ok(surety_model_count(again, "whole", &whole, &err));
    check_that(whole, ==, UINT64_MAX);
    assert_null(surety_model_text(again, "absent"));
    const char *not_counts[] = {"absent", "note", "one", "list", "none"};
    for (int i = 0; i < 5; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_model_count(again, not_counts[i], &whole, &err), SURETY_E_INPUT);
        assert_non_null(strstr(err.place, not_counts[i]));
    }
    const char *not_reals[] = {"absent", "note", "list", "none"};
    for (int i = 0; i < 4; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_model_real(again, not_reals[i], &one, &err), SURETY_E_INPUT);
    }
    char *json = surety_model_json(again);
    assert_non_null(strstr(json, "\"voter_count\": 3"));
    surety_text_free(json);
    surety_model_free(m), surety_model_free(again);
}

/* ---- what cannot be a model ---- */

static void wrong_models_are_refused(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_voters *v = NULL;
    surety_model *m = NULL;
    check_ok(surety_voters_new(&(surety_voters_settings){.kind = "linear", .count = 2}, 3, 0, &v, &err));
    surety_model_facts facts[9];
    for (int i = 0; i < 9; i++) facts[i] = surety_model_facts_defaults();
    facts[1].delta = 0;
    facts[2].delta = 1;
    facts[3].delta = NAN;
    facts[4].priors_compared = 0;
    facts[5].seed = SURETY_SEED_LIMIT;
    facts[6].ball.radius = -1;
    facts[7].defense[0] = 0;
    facts[8].objective[0] = 0;
    const double half[] = {0.5, 0.5}, zero[] = {0, 1}, short_sum[] = {0.5, 0.4}, nan[] = {NAN, 1};
    for (int i = 1; i < 9; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        check(surety_model_new(v, half, half, &facts[i], &m, &err) != SURETY_OK && !m && err.what[0],
              "facts %d pass", i);
    }
    const double *bad[][2] = {{zero, half}, {short_sum, half}, {nan, half}, {half, short_sum}, {half, nan}};
    for (int i = 0; i < 5; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        assert_int_equal(surety_model_new(v, bad[i][0], bad[i][1], &facts[0], &m, &err), SURETY_E_INPUT);
    }
    surety_voters_tensor(v, 1).values[1] = NAN;
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_model_new(v, half, zero, &facts[0], &m, &err), SURETY_E_INPUT);
    surety_voters_tensor(v, 1).values[1] = 0;
    err = (surety_error)SURETY_ERROR_NONE;
    check_ok(surety_model_new(v, half, zero, &facts[0], &m, &err)); /* takes over the voters */
    surety_model_free(m);
}

/* ---- data ---- */

static char class_rows[2][65];
static const char *const one_seven[] = {"1", "7"}, *const one_eight[] = {"1", "8"};

static surety_data_info some_info(void) {
    surety_data_info info = {.task = "mnist-1v7",
                             .files = 2, /* files and their scale are not remembered: rows are */
                             .classes = 2,
                             .labels = one_seven,
                             .whole = 1,
                             .class_sha256 = class_rows,
                             .scale = 255,
                             .preparation_fits = 1,
                             .boxed = 1,
                             .box_hi = 1,
                             .learn_size = 5000,
                             .test_size = 0};
    for (int k = 0; k < SURETY_SETS; k++) memset(info.set_sha256[k], 'a' + k, 64);
    for (int k = 0; k < 2; k++) memset(class_rows[k], 'd' + k, 64);
    return info;
}

static void classes_have_names(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m = small_model(1, 0);
    surety_data_info info = some_info();
    char number[4];
    size_t voter;
    assert_string_equal(surety_model_class(m, 0, number), "-1"); /* it says nothing */
    assert_string_equal(surety_model_class(m, 1, number), "+1");
    info.task = NULL;
    check_ok(surety_model_set_data(m, &info, &err));
    assert_string_equal(surety_model_class(m, 1, number), "7"); /* its label */
    check_ok(surety_model_set_text(m, "data.task", "fashion-sandal-v-boot", &err));
    assert_string_equal(surety_model_class(m, 1, number), "ankle boot");
    check_ok(surety_model_set_text(m, "data.task", "fashion-mnist", &err)); /* not of two classes */
    assert_string_equal(surety_model_class(m, 0, number), "1");
    check_that(surety_model_largest_weight(m, &voter), ==, 0.75);
    check_that(voter, ==, 2);
    surety_model_free(m);
}

static void data_is_remembered(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m = small_model(1, 0), *again = NULL;
    surety_data_settings s = plain_settings();
    assert_int_equal(surety_model_data_settings(m, &s, &err), SURETY_E_INPUT); /* nothing was said */
    err = (surety_error)SURETY_ERROR_NONE;
    surety_data_info info = some_info();
    check_ok(surety_model_set_data(m, &info, &err));
    check_ok(surety_model_save(m, files_path("d"), &err));
    check_ok(surety_model_load(files_path("d"), &again, &err));
    check_ok(surety_model_check_data(again, &info, &err));
    check_ok(surety_model_data_settings(again, &s, &err));
    assert_string_equal(s.task, "mnist-1v7");
    check_that(s.class_count, ==, 2);
    assert_string_equal(s.classes[0], "1");
    assert_string_equal(s.classes[1], "7");
    check_that(s.learn_size, ==, 5000);
    assert_true(s.boxed);
    check_that(s.box_lo, ==, 0);
    check_that(s.box_hi, ==, 1);
    surety_data_info others[14], same = info;
    same.files = 0, same.scale = 1, same.height = 28;
    check_ok(surety_model_check_data(again, &same, &err));
    for (int i = 0; i < 14; i++) others[i] = info;
    others[0].set_sha256[SURETY_SET_PRIOR][3] = '0';
    others[1].task = NULL;
    others[2].labels = one_eight;
    others[3].set_sha256[SURETY_SET_LEARN][3] = '0';
    others[4].boxed = 0;
    others[5].learn_size = 4999;
    others[6].order = SURETY_ORDER_SHUFFLED, others[6].seed = 5;
    others[7].box_hi = 1.0000000001;
    others[8].test_size = 1;
    others[9].set_sha256[SURETY_SET_TEST][3] = '0';
    char rows[2][2][65];
    for (int i = 0; i < 2; i++) {
        memcpy(rows[i], class_rows, sizeof class_rows);
        rows[i][i][63 * i] = '0';
        others[10 + i].class_sha256 = rows[i];
    }
    others[12].order = SURETY_ORDER_GIVEN;
    others[13].boxed = 0, others[13].task = NULL;
    for (int i = 0; i < 14; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        check(surety_model_check_data(again, &others[i], &err) == SURETY_E_CHECK && err.what[0],
              "data %d pass", i);
        assert_int_equal(surety_model_check_data(again, &others[i], NULL), SURETY_E_CHECK);
    }
    err = (surety_error)SURETY_ERROR_NONE;
    check_ok(surety_model_set_data(again, &others[6], &err)); /* a shuffle has a seed; no box, no task */
    check_ok(surety_model_data_settings(again, &s, &err));
    check_that(s.seed, ==, 5);
    check_ok(surety_model_set_data(again, &others[13], &err));
    check_ok(surety_model_data_settings(again, &s, &err));
    assert_true(!s.task);
    assert_true(!s.boxed);
    check_ok(surety_model_set_data(again, &others[12], &err));
    assert_int_equal(surety_model_data_settings(again, &s, &err), SURETY_E_USAGE); /* no setting repeats it */
    static const char *const bad[][2] = {
        {"data.classes", "1"},       {"data.classes", ","},       {"data.classes", "1,x"},
        {"data.classes", "1,2,[3]"}, {"data.classes", "[1,2]"},   {"data.classes", "[\"a\"]"},
        {"data.classes", "[\"a\""},  {"data.box", "0"},           {"data.box", "1,0"},
        {"data.box", "nan,1"},       {"data.split", "sorted"},    {"data.split", "-1"},
        {"data.header", "perhaps"},  {"data.learn_size", "many"}, {"data.test_size", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (surety_error)SURETY_ERROR_NONE;
        check_ok(surety_model_set_data(again, &info, &err));
        check_ok(surety_model_set_text(again, bad[i][0], bad[i][1], &err));
        check(surety_model_data_settings(again, &s, &err) == SURETY_E_INPUT && strstr(err.place, bad[i][0]),
              "%s '%s' is accepted", bad[i][0], bad[i][1]);
    }
    surety_model_free(m), surety_model_free(again);
}

/* Labels of any kind and number come back as they were; so do label column and header, which are not
 * compared.
 */
static void labels_are_remembered(void **state) {
    (void)state;
    static const char *const texts[] = {"a,b", "say \"no\"", "\xc3\xa9lan", "[1]", "7", "back\\slash"};
    static char digits[255][8], digests[255][65];
    const char *numbers[255];
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings s = plain_settings();
    surety_data_info info = some_info();
    surety_model *m = small_model(1, 0), *again = NULL;
    for (int k = 0; k < 255; k++) {
        sprintf(digits[k], "%d", 3 * k - 300);
        numbers[k] = digits[k];
        memset(digests[k], 'a' + k % 6, 64);
    }
    info.task = NULL, info.class_sha256 = digests;
    for (int whole = 0; whole < 2; whole++) {
        info.labels = whole ? numbers : texts;
        info.classes = whole ? 255 : 6;
        info.whole = whole;
        info.label_column = whole ? NULL : "kind, of";
        info.header = whole ? SURETY_HEADER_AUTO : SURETY_HEADER_NO;
        check_ok(surety_model_set_data(m, &info, &err));
        check_ok(surety_model_save(m, files_path("labels"), &err));
        check_ok(surety_model_load(files_path("labels"), &again, &err));
        check_ok(surety_model_data_settings(again, &s, &err));
        assert_int_equal(s.class_count, info.classes);
        for (size_t k = 0; k < s.class_count; k++) assert_string_equal(s.classes[k], info.labels[k]);
        check_that(s.header, ==, info.header);
        check_that(!s.label_column, ==, !info.label_column);
        if (s.label_column) assert_string_equal(s.label_column, info.label_column);
        assert_int_equal(strlen(surety_model_text(again, "data.class_rows")), 65 * info.classes - 1);
        surety_data_info other = info;
        other.label_column = "elsewhere", other.header = SURETY_HEADER_YES;
        check_ok(surety_model_check_data(again, &other, &err));
        other.classes--;
        assert_int_equal(surety_model_check_data(again, &other, NULL), SURETY_E_CHECK);
        other = info, other.whole = !whole;
        if (whole) assert_int_equal(surety_model_check_data(again, &other, NULL), SURETY_E_CHECK);
        surety_model_free(again);
    }
    surety_model_free(m);
}

/* Digests of the rows of S' and S go into the file and back; data that hold such rows are told, forged
 * digests refused. */
static void rows_are_remembered(void **state) {
    (void)state;
    static const uint64_t prior[] = {3, 5, 5, UINT64_MAX}, learn[] = {1, 7}, other[] = {1, 2, 5, 5, 7, 8};
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m = small_model(1, 3), *again = NULL;
    surety_data_info info = some_info(), elsewhere = info;
    surety_overlap found;
    check_ok(surety_model_set_data(m, &info, &err));
    assert_int_equal(surety_model_overlap(m, &info, SURETY_SET_TEST, &found, &err),
                     SURETY_E_CHECK); /* none */
    assert_non_null(strstr(err.expected, "train it again"));
    err = (surety_error)SURETY_ERROR_NONE;
    info.m[SURETY_SET_PRIOR] = 4, info.row_digests[SURETY_SET_PRIOR] = prior;
    info.m[SURETY_SET_LEARN] = 2, info.row_digests[SURETY_SET_LEARN] = learn;
    check_ok(surety_model_set_data(m, &info, &err));
    check_ok(surety_model_save(m, files_path("rows"), &err));
    check_ok(surety_model_load(files_path("rows"), &again, &err));
    check_ok(surety_model_check_data(again, &info, &err));
    elsewhere.m[SURETY_SET_TEST] = 6, elsewhere.row_digests[SURETY_SET_TEST] = other;
    check_ok(surety_model_overlap(again, &elsewhere, SURETY_SET_TEST, &found, &err));
    check_that(found.m, ==, 6);
    check_that(found.in_prior, ==, 2);
    check_that(found.in_learn, ==, 2);
    check_that(found.known, ==, 4);
    elsewhere.m[SURETY_SET_LEARN] = 6, elsewhere.row_digests[SURETY_SET_LEARN] = other, elsewhere.fresh = 1;
    assert_int_equal(surety_model_check_fresh(again, &elsewhere, NULL), SURETY_E_CHECK);
    elsewhere.row_digests[SURETY_SET_LEARN] = (const uint64_t[]){2};
    elsewhere.m[SURETY_SET_LEARN] = 1;
    check_ok(surety_model_check_fresh(again, &elsewhere, &err));
    elsewhere.fresh = 0;
    assert_int_equal(surety_model_check_fresh(again, &elsewhere, NULL), SURETY_E_CHECK); /* nobody said so */
    surety_data_info forged = info;
    forged.row_digests[SURETY_SET_LEARN] = (const uint64_t[]){1, 8};
    assert_int_equal(surety_model_check_data(again, &forged, NULL), SURETY_E_CHECK);
    surety_model_free(m), surety_model_free(again);
    static const char *const damages[][3] = {{"\"rows.learn\"", "\"rows.lean\"", "rows.learn"},
                                             {"\"rows.prior\"", "\"row\"", "rows.prior"},
                                             {"\"U64\",\"shape\":[2]", "\"F64\",\"shape\":[2]", "dtype"},
                                             {"\"shape\":[4]", "\"shape\":[2,2]", "axes"}};
    bytes b = read_bytes(files_path("rows"));
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        check(try_header(&b, damages[i][0], damages[i][1], &err) == SURETY_E_INPUT, "%s", damages[i][1]);
        check(strstr(err.place, damages[i][2]) || strstr(err.what, damages[i][2]), "%s: %s", err.place,
              err.what);
    }
    size_t at = 0;
    while (memcmp(b.data + at, prior, sizeof prior)) at++;
    b.data[at] = 6; /* 6, 5, .. */
    assert_int_equal(try_bytes(b.data, b.size, &err), SURETY_E_INPUT);
    assert_non_null(strstr(err.what, "not sorted"));
    free(b.data);
}

/* ---- memory and disk ---- */

static bytes wanted; /* what use_everything saves */

static surety_status use_everything(void *arg, surety_error *err) {
    (void)arg;
    surety_model *m = NULL;
    char sum[65];
    surety_data_info info = some_info();
    remove(files_path("saved"));
    surety_status status = surety_model_load(files_path("full"), &m, err);
    if (status == SURETY_OK) status = surety_model_set_reals(m, "list", (const double[]){1}, 1, err);
    if (status == SURETY_OK) status = surety_model_set_data(m, &info, err);
    if (status == SURETY_OK) status = surety_model_sha256(m, sum, err);
    if (status == SURETY_OK) status = surety_model_save(m, files_path("saved"), err);
    if (status == SURETY_OK) {
        char *json = surety_model_json(m);
        if (!json) status = surety_fail(err, SURETY_E_MEMORY, "no JSON");
        surety_text_free(json);
    }
    surety_model_free(m);
    if (wanted.data && access(files_path("saved"), F_OK) == 0) { /* never a wrong file */
        bytes got = read_bytes(files_path("saved"));
        assert_int_equal(got.size, wanted.size);
        assert_memory_equal(got.data, wanted.data, got.size);
        free(got.data);
    }
    return status;
}

/* Whichever allocation fails, ours or the JSON library's: an error, nothing lost, and never a wrong file. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m = small_model(1, 4);
    check_ok(surety_model_save(m, files_path("full"), &err));
    surety_model_free(m);
    check_ok(use_everything(NULL, &err));
    wanted = read_bytes(files_path("saved"));
    files_fail_allocations(use_everything, NULL);
    free(wanted.data);
    wanted.data = NULL;
}

static surety_status encode_once(void *arg, files_result *result, surety_error *err) {
    return surety_model_encode(arg, (uint8_t **)&result->bytes, &result->size, err);
}

static surety_status words_once(void *arg, files_result *result, surety_error *err) {
    result->bytes = surety_model_json(arg);
    if (!result->bytes) return surety_fail(err, SURETY_E_MEMORY, "no memory");
    result->size = strlen(result->bytes);
    return SURETY_OK;
}

static surety_status read_once(void *arg, files_result *result, surety_error *err) {
    surety_model *m = NULL;
    SURETY_TRY(surety_model_load(arg, &m, err));
    surety_status status = surety_model_encode(m, (uint8_t **)&result->bytes, &result->size, err);
    surety_model_free(m);
    return status;
}

/* What is said of a model that was read: the names of its classes too. */
static surety_status told_once(void *arg, files_result *result, surety_error *err) {
    surety_model *m = NULL;
    SURETY_TRY(surety_model_load(arg, &m, err));
    surety_status status = words_once(m, result, err);
    surety_model_free(m);
    return status;
}

/* One allocation fails and the others do not: success means the same bytes. */
static void the_same_bytes_or_an_error(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m = small_model(1, 4);
    check_ok(surety_model_set_text(m, "a.key.of.many.letters", "a text of many letters, so that buffers grow",
                                   &err));
    char path[768];
    snprintf(path, sizeof path, "%s", files_path("full"));
    check_ok(surety_model_save(m, path, &err));
    files_fail_each(encode_once, m, 1);
    files_fail_each(words_once, m, 1);
    files_fail_each(read_once, path, 1);
    check_ok(surety_model_set_text(m, "data.classes", "[\"ant\",\"bee\"]", &err));
    check_ok(surety_model_save(m, path, &err));
    files_fail_each(told_once, path, 1);
    check_ok(surety_model_set_text(m, "data.classes", "3,7", &err));
    check_ok(surety_model_save(m, path, &err));
    files_fail_each(told_once, path, 1);
    surety_model_free(m);
}

static void a_failed_save_leaves_the_old_file(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    surety_model *m = small_model(1, 5);
    assert_int_equal(surety_model_save(m, files_path("absent/folder/m"), &err), SURETY_E_SYSTEM);
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_model_save(m, files_folder, &err), SURETY_E_USAGE);
    surety_model *none = m;
    err = (surety_error)SURETY_ERROR_NONE;
    assert_int_equal(surety_model_load(files_path("nothing"), &none, &err), SURETY_E_INPUT);
    assert_null(none);
    surety_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(bytes_are_the_file),
        cmocka_unit_test(the_file_depends_on_content_only),
        cmocka_unit_test(cut_off_anywhere),
        cmocka_unit_test(flipped_bytes),
        cmocka_unit_test(random_damage),
        cmocka_unit_test(damaged_headers),
        cmocka_unit_test(damaged_tolerances),
        cmocka_unit_test(hostile_headers),
        cmocka_unit_test(small_files_take_little_memory),
        cmocka_unit_test(damaged_numbers),
        cmocka_unit_test(texts_and_numbers),
        cmocka_unit_test(wrong_models_are_refused),
        cmocka_unit_test(data_is_remembered),
        cmocka_unit_test(classes_have_names),
        cmocka_unit_test(labels_are_remembered),
        cmocka_unit_test(rows_are_remembered),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_same_bytes_or_an_error),
        cmocka_unit_test(a_failed_save_leaves_the_old_file),
    };
    return cmocka_run_group_tests_name("model", tests, files_begin, files_end);
}
