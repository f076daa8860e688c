/* Models: what is accepted has one form in bytes, predicts, and is certified only if the certificate can be
 * read again. */
#include "fuzz.h"

static void use(const surety_model *model) {
    const fuzz_world *w = fuzz_the_world();
    surety_error err = SURETY_ERROR_NONE;
    surety_certify_settings s = surety_certify_defaults(model);
    surety_certificate made, again;
    s.looks = 1, s.threat.kind = SURETY_ATTACK_UNIF, s.threat.samples = 2, s.despite_test = 1;
    if (surety_certify(model, w->data, &s, &made, &fuzz_run, &err) != SURETY_OK) return;
    const char *path = fuzz_path("model.json");
    require(made.value >= made.risks.averaged_max);
    require(surety_certificate_save(&made, path, &err) == SURETY_OK);
    require(surety_certificate_load(path, &again, &err) == SURETY_OK);
    require(!strcmp(made.claim, again.claim) && !strcmp(made.digest, again.digest));
    surety_certificate_free(&again);
    surety_certificate_free(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_model *model = NULL, *again = NULL;
    uint8_t *once, *twice;
    size_t once_size, twice_size;
    surety_status status = surety_model_decode(bytes, size, "input", &model, &err);
    if (!fuzz_accepts(status, &err)) return 0;
    require(surety_model_encode(model, &once, &once_size, &err) == SURETY_OK);
    require(surety_model_decode(once, once_size, "again", &again, &err) == SURETY_OK);
    require(surety_model_encode(again, &twice, &twice_size, &err) == SURETY_OK);
    require(once_size == twice_size && !memcmp(once, twice, once_size));
    char *json = surety_model_json(model);
    require(json);
    surety_text_free(json);
    use(model);
    surety_bytes_free(once);
    surety_bytes_free(twice);
    surety_model_free(model);
    surety_model_free(again);
    return 0;
}

void fuzz_seeds(fuzz_take take) {
    fuzz_take_file(take, fuzz_the_world()->model_file);
}
