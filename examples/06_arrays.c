/* 06: rows that a program has in memory: two clouds of points become a data set, a model, a limit on its
 * risk, and bytes that can travel or be saved. */
#include <stdio.h>
#include <stdlib.h>
#include <surety/evaluate.h>
#include <surety/train.h>

enum { ROWS = 2000, FEATURES = 8 };

static int fail(const surety_error *err) {
    fprintf(stderr, "%s%s%s %s\n", err->file, err->file[0] ? ": " : "", err->what, err->expected);
    return surety_status_exit(err->code);
}

/* Label 10 lies around 0.3, label 20 around 0.7, in the box [0, 1]. */
static void make_rows(float *x, int64_t *y) {
    uint32_t state = 1;
    for (int i = 0; i < ROWS; i++) {
        y[i] = i % 2 ? 20 : 10;
        for (int j = 0; j < FEATURES; j++) {
            state = 1664525 * state + 1013904223;
            x[i * FEATURES + j] = (i % 2 ? 0.4f : 0.0f) + 0.6f * (float)(state >> 8) / 16777216.0f;
        }
    }
}

/* S' learns the voters, S the posterior and the bound, T is for estimates. The call copies: x and y may go.
 */
static surety_status open_data(surety_data **data, surety_error *err) {
    float *x = malloc(ROWS * FEATURES * sizeof *x);
    int64_t *y = malloc(ROWS * sizeof *y);
    if (!x || !y) exit(4);
    make_rows(x, y);
    surety_arrays arrays = {.m = ROWS, .d = FEATURES, .features = x, .labels = y};
    surety_data_settings settings = surety_data_defaults();
    settings.learn_size = 1000;
    settings.test_size = 400;
    settings.scaling = SURETY_SCALE_NONE; /* radius and box below are in the units of the rows */
    surety_status status = surety_data_from_arrays(&arrays, &settings, data, err);
    free(x);
    free(y);
    return status;
}

static surety_status train(surety_model **model, const surety_data *data, surety_error *err) {
    surety_train_settings settings = surety_train_defaults();
    surety_train_result result;
    settings.defense.kind = SURETY_ATTACK_IFGSMU;
    settings.defense.ball =
        (surety_ball){.norm = SURETY_LINF, .radius = 0.05, .has_box = 1, .lo = 0, .hi = 1};
    settings.step1_epochs = settings.step2_epochs = 20;
    surety_status status = surety_train(&settings, data, NULL, model, &result, NULL, err);
    surety_train_result_free(&result);
    return status;
}

/* How often the vote fails under attack: estimated on T, and limited with confidence 95 % by S. */
static surety_status evaluate(const surety_model *model, const surety_data *data, surety_error *err) {
    surety_row_settings settings = surety_row_defaults(model);
    surety_row row;
    settings.threat.kind = SURETY_ATTACK_IFGSMU;
    settings.threat.samples = 10;
    surety_status status = surety_evaluate_row(model, data, &settings, &row, NULL, err);
    if (status != SURETY_OK) return status;
    printf("averaged-max risk %.3f on T, at most %.3f\n", row.averaged_max,
           row.bounds[SURETY_BOUND_AVERAGE_MAX_SEEGER].vote_clipped);
    surety_row_free(&row);
    return SURETY_OK;
}

int main(int argc, char **argv) {
    const char *file = argc > 1 ? argv[1] : "model.safetensors";
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data;
    surety_model *model, *copy;
    if (open_data(&data, &err)) return fail(&err);
    if (train(&model, data, &err) || evaluate(model, data, &err)) return fail(&err);

    uint8_t *bytes; /* what the file holds: to send, to embed, to pickle */
    size_t size;
    if (surety_model_encode(model, &bytes, &size, &err)) return fail(&err);
    if (surety_model_decode(bytes, size, "the bytes", &copy, &err)) return fail(&err);
    if (surety_model_save(copy, file, &err)) return fail(&err);
    printf("%zu bytes of model in %s; its rows of S: %s\n", size, file,
           surety_model_text(copy, "data.learn"));
    surety_bytes_free(bytes);
    surety_model_free(copy);
    surety_model_free(model);
    surety_data_free(data);
    return 0;
}
