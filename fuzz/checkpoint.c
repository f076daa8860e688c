/* Checkpoints with a checksum that fits: a training that goes on from one ends, with a model or a sentence.
 */
#include <unistd.h>

#include "fuzz.h"
#include "io/sha256.h"

static surety_status train(const char *file, int resume, const surety_run *run, surety_error *err) {
    const fuzz_world *w = fuzz_the_world();
    surety_model *model = NULL;
    surety_train_result result;
    surety_checkpointing keep = {.file = file, .resume = resume};
    surety_status status = surety_train(&w->settings, w->data, &keep, &model, &result, run, err);
    if (status == SURETY_OK) surety_train_result_free(&result);
    surety_model_free(model);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static uint8_t sealed[1 << 20];
    surety_error err = SURETY_ERROR_NONE;
    if (size < 65 || size > sizeof sealed) return 0;
    char sum[SURETY_SHA256_TEXT];
    memcpy(sealed, bytes, size);
    require(surety_sha256(bytes, size - 64, sum, &err) == SURETY_OK);
    memcpy(sealed + size - 64, sum, 64);
    fuzz_accepts(train(fuzz_file("t.checkpoint", sealed, size), 1, &fuzz_run, &err), &err);
    return 0;
}

static volatile sig_atomic_t stop;

/* Stops when the first checkpoint is there. */
static void look(void *path, const surety_progress *progress) {
    (void)progress;
    stop = access(path, F_OK) == 0;
}

void fuzz_seeds(fuzz_take take) {
    surety_error err = SURETY_ERROR_NONE;
    char path[400];
    snprintf(path, sizeof path, "%s", fuzz_path("seed.checkpoint"));
    surety_run run = {.threads = 1, .progress = look, .progress_arg = path, .stop = &stop};
    train(path, 0, &run, &err);
    fuzz_take_file(take, path);
}
