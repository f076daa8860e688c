/* 04: a row of the paper's table: risks on perturbed test data, and bounds from perturbed S. */
#include <math.h>
#include <stdio.h>
#include <surety/evaluate.h>

static int fail(const surety_error *err) {
    fprintf(stderr, "%s %s\n", err->what, err->expected);
    return surety_status_exit(err->code);
}

int main(int argc, char **argv) {
    surety_error err = SURETY_ERROR_NONE;
    surety_model *model;
    surety_data *data;
    surety_data_settings which = surety_data_defaults();
    which.task = "fashion-sandal-v-boot";
    if (surety_model_load(argc > 1 ? argv[1] : "model.safetensors", &model, &err)) return fail(&err);
    if (surety_data_open(&which, &data, &err)) return fail(&err);

    surety_row_settings settings = surety_row_defaults(model); /* the model's ball, seed, delta and T_p */
    surety_row row;
    settings.threat.kind = SURETY_ATTACK_IFGSMU;
    settings.threat.samples = 10;
    if (surety_evaluate_row(model, data, &settings, &row, NULL, &err)) return fail(&err);
    printf("on T: R_att %.4f, averaged %.4f, averaged-max %.4f\n", row.adversarial_risk, row.averaged_risk,
           row.averaged_max);
    const surety_bound_value *bound = &row.bounds[SURETY_BOUND_AVERAGE_MAX_SEEGER];
    printf("from S: with confidence %g, the averaged-max risk is at most %.4f\n", 1 - settings.delta,
           ceil(1e4 * bound->vote) / 1e4); /* a limit is rounded up */
    surety_row_free(&row);
    surety_model_free(model);
    surety_data_free(data);
    return 0;
}
