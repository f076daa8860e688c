/* Parts of a call with a digest that fits: they are put together or refused. */
#include "fuzz.h"
#include "surety/evaluate.h"

static void evaluate(const surety_part *part) {
    const fuzz_world *w = fuzz_the_world();
    surety_error err = SURETY_ERROR_NONE;
    surety_row_settings s = surety_row_defaults(w->model);
    surety_row row;
    surety_run run = fuzz_run;
    run.everyone = surety_part_everyone(part);
    s.threat.kind = SURETY_ATTACK_UNIF, s.threat.samples = 2;
    if (surety_evaluate_row(w->model, w->data, &s, &row, &run, &err) == SURETY_OK) surety_row_free(&row);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    const char *path = fuzz_sealed_file("part.json", bytes, size);
    if (!path) return 0;
    surety_part *part = NULL;
    surety_status status = surety_parts_load(&path, 1, &part, &err);
    if (fuzz_accepts(status, &err)) evaluate(part);
    surety_part_free(part);
    return 0;
}

void fuzz_seeds(fuzz_take take) {
    surety_error err = SURETY_ERROR_NONE;
    surety_part *part = NULL;
    const char *path = fuzz_path("seed-part.json"), *words[] = {"evaluate", "m"};
    require(surety_part_begin(1, 1, &part, &err) == SURETY_OK);
    evaluate(part);
    require(surety_part_save(part, path, words, 2, "the same", &err) == SURETY_OK);
    surety_part_free(part);
    fuzz_take_file(take, path);
}
