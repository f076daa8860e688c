/* io: JSON read with limits, written in two forms. */
#include "io/files.h"

#include <math.h>

#include "base/random.h"
#include "io/json.h"

static void refuses(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"", "line 1"},
        {"{\"a\": 1,\n \"b\": }", "line 2"},
        {"{\"a\": 1}\n}", "line 2"},
        {"{\"a\": 1, \"a\": 2}", "line 1"},
        {"{\"a\": NaN}", "line 1"},
        {"{\"a\": 1e999}", "line 1"},
        {"{\"a\": \"\\u0000\"}", "line 1"},
        {"{\"a\": \"\xff\"}", "line 1"},
        {"{\"a\": 01}", "line 1"},
        {"1", "line 1"},
        /* a text where none can stand is bad input, not want of memory */
        {"{\"a\" \"b\"}", "line 1"},
        {"{\"a\": 1 \"b\": 2}", "line 1"},
        {"[1 \"x\"]", "line 1"},
        {"[foo\"x\"]", "line 1"},
        {"[-\"x\"]", "line 1"},
        {"[1.\"x\"]", "line 1"},
        {"[1e\"x\"]", "line 1"},
        {"{1: \"x\"}", "line 1"},
        {"[\"x\"'\"]", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *root = NULL;
        check_bad(surety_json_load(&root, files_text("bad.json", cases[i].text), &err), SURETY_E_INPUT);
        assert_null(root);
        check(strstr(err.place, cases[i].place) && strstr(err.place, "column"), "case %zu: place '%s'", i,
              err.place);
    }
    json_t *root = NULL;
    check_bad(surety_json_load(&root, files_path("absent.json"), &err), SURETY_E_INPUT);
}

/* A document cut at every byte is refused. */
static void truncated_at_every_byte(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    static const char text[] = "{\"a\": [1, -2.5e-3, true, null], \"b\": {\"c\": \"x\\\"y\\u00e9\"}}";
    json_t *root = NULL;
    for (size_t size = 0; size < sizeof text - 1; size++)
        check_bad(surety_json_parse(&root, text, size, "memory", &err), SURETY_E_INPUT);
    check_ok((err = (surety_error)SURETY_ERROR_NONE,
              surety_json_parse(&root, text, sizeof text - 1, "memory", &err)));
    json_decref(root);
}

static void nesting_has_a_limit(void **state) {
    (void)state;
    surety_error err = SURETY_ERROR_NONE;
    enum { DEEP = 1000000 };
    char *text = malloc(DEEP);
    json_t *root = NULL;
    for (int depth = SURETY_JSON_DEPTH; depth <= SURETY_JSON_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        err = (surety_error)SURETY_ERROR_NONE;
        surety_status status = surety_json_parse(&root, text, 2 * (size_t)depth, "memory", &err);
        assert_int_equal(status, depth <= SURETY_JSON_DEPTH ? SURETY_OK : SURETY_E_INPUT);
        json_decref(root);
    }
    memset(text, '[', DEEP);
    check_bad(surety_json_parse(&root, text, DEEP, "memory", &err), SURETY_E_INPUT);
    /* brackets and quotes inside strings do not count */
    memset(text, '[', 500);
    memcpy(text, "[\"\\\"", 4);
    memcpy(text + 498, "\"]", 2);
    check_ok((err = (surety_error)SURETY_ERROR_NONE, surety_json_parse(&root, text, 500, "memory", &err)));
    json_decref(root);
    free(text);
}

/* Any finite double comes back with the same bits, through both forms. */
static void reals_round_trip(void **state) {
    (void)state;
    surety_address a = {0, 0, 0, 0, 1};
    for (long i = 0; i < check_count(20000, 1000000); i++) {
        uint32_t bits[4];
        double value = 0, back = 0;
        surety_random_bits(5, &a, (uint32_t)i, bits);
        memcpy(&value, bits, sizeof value);
        if (!isfinite(value)) continue;
        json_t *list = json_pack("[o]", surety_json_real(value));
        char *text = i % 2 ? surety_json_text(list) : surety_json_canonical(list);
        json_t *root = NULL;
        assert_int_equal(surety_json_parse(&root, text, strlen(text), "memory", NULL), SURETY_OK);
        back = json_real_value(json_array_get(root, 0));
        assert_memory_equal(&value, &back, sizeof value);
        json_decref(root);
        free(text);
    }
}

static void two_forms(void **state) {
    (void)state;
    json_t *root = json_pack("{s:o, s:o, s:o, s:[o,o,o]}", "z", surety_json_count(3), "a",
                             surety_json_string("caf\xc3\xa9"), "path", surety_json_string("caf\xe9"), "list",
                             surety_json_real(NAN), surety_json_real(-INFINITY), surety_json_string(NULL));
    char *text = surety_json_canonical(json_incref(root));
    assert_string_equal(text, "{\"a\":\"caf\xc3\xa9\",\"list\":[null,null,null],\"path\":\"caf?\",\"z\":3}");
    free(text);
    text = surety_json_text(root);
    assert_non_null(strstr(text, "{\n  \"z\": 3,\n  \"a\""));
    free(text);
    assert_null(surety_json_text(NULL));
}

static surety_status load_for_allocations(void *arg, surety_error *err) {
    json_t *root = NULL;
    surety_status status = surety_json_load(&root, arg, err);
    json_decref(root);
    return status;
}

static void failing_allocations(void **state) {
    (void)state;
    char path[768];
    snprintf(path, sizeof path, "%s",
             files_text("ok.json", "{\"a\": [1, 2.5, \"text\"], \"b\": {\"c\": null}}"));
    files_fail_allocations(load_for_allocations, path);
}

/* Long tokens, and texts of every length around the sizes at which jansson's buffers grow. */
static json_t *long_tokens(void) {
    json_t *root = json_object();
    char key[100];
    for (size_t length = 10; length < 70; length += length == 20 ? 40 : 1) {
        memset(key, 'k', length);
        key[length] = 0;
        root = surety_json_put(root, key, surety_json_real(-1.2345678901234567e-300 * (double)length));
    }
    return surety_json_put(root, "accents", surety_json_string("caf\xc3\xa9"));
}

static surety_status written_once(void *arg, files_result *result, surety_error *failed) {
    result->bytes = *(int *)arg ? surety_json_text(long_tokens()) : surety_json_canonical(long_tokens());
    if (!result->bytes) return surety_fail(failed, SURETY_E_MEMORY, "no memory");
    result->size = strlen(result->bytes);
    return SURETY_OK;
}

static surety_status read_once(void *arg, files_result *result, surety_error *failed) {
    json_t *root = NULL;
    SURETY_TRY(surety_json_parse(&root, arg, strlen(arg), "memory", failed));
    json_t *copy = surety_json_copy(root);
    json_decref(root);
    result->bytes = surety_json_canonical(copy);
    if (!result->bytes) return surety_fail(failed, SURETY_E_MEMORY, "no memory");
    result->size = strlen(result->bytes);
    return SURETY_OK;
}

static surety_status error_once(void *arg, files_result *result, surety_error *failed) {
    result->bytes = surety_error_json(arg);
    if (!result->bytes) return surety_fail(failed, SURETY_E_MEMORY, "no memory");
    result->size = strlen(result->bytes);
    return SURETY_OK;
}

/* Success means the same bytes, whichever single allocation failed. */
static void the_same_bytes_or_an_error(void **state) {
    (void)state;
    int forms[] = {0, 1};
    files_fail_each(written_once, &forms[0], 1);
    files_fail_each(written_once, &forms[1], 1);
    char *text = surety_json_text(long_tokens());
    files_fail_each(read_once, text, 1);
    free(text);
    surety_error record = {SURETY_E_INPUT, "w\xc3\xa4s", "caf\xe9.csv", "byte 7",
                           "a text that is a good deal longer"};
    files_fail_each(error_once, &record, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),
        cmocka_unit_test(truncated_at_every_byte),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(reals_round_trip),
        cmocka_unit_test(two_forms),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(the_same_bytes_or_an_error),
    };
    return cmocka_run_group_tests_name("io json", tests, files_begin, files_end);
}
