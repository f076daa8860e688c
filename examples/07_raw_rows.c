/* 07: a model answers rows as they come, in the units of its table. Scaling, categories and missing values
 * are the model's own preparation: rows go through it, then to the vote. Rows are read from the standard
 * input, numbers alone, in the order of the columns that are said; bytes of images are divided by 255 before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <surety/model.h>

static int fail(const surety_error *err) {
    fprintf(stderr, "%s%s%s %s\n", err->file, err->file[0] ? ": " : "", err->what, err->expected);
    return surety_status_exit(err->code);
}

/* One raw row into features x (d). NULL: every column is a feature as it is. */
static surety_status prepare(const surety_preparation *preparation, const float *raw, size_t d, float *x,
                             surety_error *err) {
    surety_raw_rows row = {.m = 1, .values = raw};
    if (preparation) return surety_preparation_apply(preparation, &row, x, d, NULL, err);
    memcpy(x, raw, d * sizeof *x);
    return SURETY_OK;
}

static surety_status answer(const surety_model *model, surety_error *err) {
    const surety_preparation *preparation = surety_model_preparation(model);
    surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
    size_t d = surety_voters_features(vote.voters), K = surety_voters_classes(vote.voters),
           width = K > 2 ? K : 1, /* one vote, or K scores */
        columns = preparation ? surety_preparation_columns(preparation) : d;
    float *raw = calloc(columns, sizeof *raw), *x = calloc(d, sizeof *x);
    double *votes = calloc(width, sizeof *votes);
    surety_status status = SURETY_OK;
    if (!raw || !x || !votes) exit(4);
    for (size_t at = 0; status == SURETY_OK && scanf("%f", &raw[at]) == 1;) {
        if (++at < columns) continue;
        at = 0;
        status = prepare(preparation, raw, d, x, err);
        if (status == SURETY_OK) status = surety_vote_predict(&vote, x, d, 1, votes, NULL, err);
        for (size_t k = 0; status == SURETY_OK && k < width; k++) printf("%s%.17g", k ? " " : "", votes[k]);
        if (status == SURETY_OK) printf("\n");
    }
    free(raw);
    free(x);
    free(votes);
    return status;
}

int main(int argc, char **argv) {
    surety_error err = SURETY_ERROR_NONE;
    surety_model *model;
    if (surety_model_load(argc > 1 ? argv[1] : "model.safetensors", &model, &err)) return fail(&err);
    const surety_preparation *preparation = surety_model_preparation(model);
    for (size_t j = 0; preparation && j < surety_preparation_columns(preparation); j++)
        fprintf(stderr, "column %zu: %s\n", j + 1, surety_preparation_column(preparation, j));
    surety_status status = answer(model, &err);
    surety_model_free(model);
    return status == SURETY_OK ? 0 : fail(&err);
}
