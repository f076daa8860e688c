/* JSON: what is accepted is written, read and written again to the same bytes. */
#include "io/json.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    json_t *root = NULL, *again = NULL;
    surety_status status = surety_json_parse(&root, (const char *)bytes, size, "input", &err);
    if (!fuzz_accepts(status, &err)) return 0;
    char *once = surety_json_canonical(root);
    require(once);
    require(surety_json_parse(&again, once, strlen(once), "again", &err) == SURETY_OK);
    char *twice = surety_json_canonical(again);
    require(twice && !strcmp(once, twice));
    free(once);
    free(twice);
    return 0;
}

void fuzz_seeds(fuzz_take take) {
    static const char *const texts[] = {
        "{\"a\": [1, -2.5e-3, true, null], \"b\": {\"c\": \"x\\\"y\\u00e9\"}}", "[]",
        "[1e308, 9007199254740993, -0.0, \"\\ud83d\\ude00\", [[[[[[]]]]]]]"};
    for (int i = 0; i < 3; i++) take(texts[i], strlen(texts[i]));
}
