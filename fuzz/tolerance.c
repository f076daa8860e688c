/* Tolerances for the features of the small world. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_tolerance *tolerance = NULL;
    surety_features features = surety_data_features(surety_data_describe(fuzz_the_world()->data));
    fuzz_accepts(surety_tolerance_read(fuzz_file("t.csv", bytes, size), &features, &tolerance, &err), &err);
    surety_tolerance_free(tolerance);
    return 0;
}

void fuzz_seeds(fuzz_take take) {
    static const char text[] = "feature,radius,lo,hi\n1,0.5,0,1\n2,0,,\n3,1e-3,-1,\n";
    take(text, sizeof text - 1);
}
