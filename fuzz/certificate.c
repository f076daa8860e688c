/* Certificates whose digests were made to fit again: none is called true that says something else than what
 * the data give. */
#include "fuzz.h"
#include "io/json.h"
#include "io/sha256.h"

static int seal(json_t *root, json_t *part, const char *key) {
    char sum[SURETY_SHA256_TEXT], *text = surety_json_canonical(json_incref(part));
    if (!text) return 0;
    require(surety_sha256(text, strlen(text), sum, NULL) == SURETY_OK);
    free(text);
    return json_object_set_new(root, key, json_string(sum)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const fuzz_world *w = fuzz_the_world();
    surety_error err = SURETY_ERROR_NONE;
    json_t *root = NULL;
    surety_status status = surety_json_parse(&root, (const char *)bytes, size, "input", &err);
    if (status != SURETY_OK) return 0;
    if (json_is_object(root)) {
        json_t *counts = json_object_get(root, "counts");
        if (json_is_object(counts) || json_is_array(counts)) require(seal(root, counts, "counts_sha256"));
        json_object_del(root, "digest");
        require(seal(root, root, "digest"));
    }
    char *text = surety_json_text(root);
    require(text);
    const char *path = fuzz_file("c.json", text, strlen(text));
    free(text);
    static surety_verification found;
    surety_verify_settings s = surety_verify_defaults();
    s.model = w->model_file, s.opened = w->data;
    status = surety_verify(path, &s, &found, &fuzz_run, &err);
    if (status == SURETY_OK && !found.agrees) return 0;
    if (fuzz_accepts(status, &err)) require(!strcmp(found.claim, w->certificate.claim));
    return 0;
}

void fuzz_seeds(fuzz_take take) {
    fuzz_take_file(take, fuzz_the_world()->certificate_file);
}
