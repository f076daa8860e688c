/* 02: train a vote and save it. The same seed gives the same file, for any number of threads. */
#include <stdio.h>
#include <surety/train.h>

static int fail(const surety_error *err) {
    fprintf(stderr, "%s %s\n", err->what, err->expected);
    return surety_status_exit(err->code);
}

int main(int argc, char **argv) {
    const char *out = argc > 1 ? argv[1] : "model.safetensors";
    surety_error err = SURETY_ERROR_NONE;
    surety_data_settings which = surety_data_defaults();
    surety_data *data;
    which.task = "fashion-sandal-v-boot";
    if (surety_data_open(&which, &data, &err)) return fail(&err);

    surety_train_settings settings = surety_train_defaults(); /* the paper's, but shorter */
    settings.step1_epochs = settings.step2_epochs = 1;
    settings.defense.steps = 5;

    surety_model *model;
    surety_train_result result;
    if (surety_train(&settings, data, NULL, &model, &result, NULL, &err)) return fail(&err);
    printf("risk on S after epoch %zu: %.4f; KL(Q||P) %.4f\n", result.step1_best,
           result.step1_risk[result.step1_best - 1], result.kl);
    if (surety_model_save(model, out, &err)) return fail(&err);
    printf("saved as %s\n", out);
    surety_train_result_free(&result);
    surety_model_free(model);
    surety_data_free(data);
    return 0;
}
