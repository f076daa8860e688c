/* Trees of others: XGBoost (JSON, UBJSON), LightGBM, scikit-learn. An imported model has one form in bytes.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_model *model = NULL, *again = NULL;
    uint8_t *encoded;
    size_t encoded_size;
    surety_status status = surety_model_import(fuzz_file("trees", bytes, size), NULL, &model, &err);
    if (!fuzz_accepts(status, &err)) return 0;
    require(surety_model_encode(model, &encoded, &encoded_size, &err) == SURETY_OK);
    require(surety_model_decode(encoded, encoded_size, "again", &again, &err) == SURETY_OK);
    surety_bytes_free(encoded);
    surety_model_free(again);
    surety_model_free(model);
    return 0;
}

void fuzz_seeds(fuzz_take take) {
    (void)take; /* corpus/import */
}
