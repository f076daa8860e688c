/* 05: a certificate: one sentence with every number it rests on, in a file that `surety verify` derives
 * again. */
#include <stdio.h>
#include <surety/certify.h>

static int fail(const surety_error *err) {
    fprintf(stderr, "%s %s\n", err->what, err->expected);
    return surety_status_exit(err->code);
}

int main(int argc, char **argv) {
    const char *file = argc > 1 ? argv[1] : "model.safetensors",
               *out = argc > 2 ? argv[2] : "certificate.json";
    surety_error err = SURETY_ERROR_NONE;
    surety_model *model;
    surety_data *data;
    surety_data_settings which = surety_data_defaults();
    which.task = "fashion-sandal-v-boot";
    if (surety_model_load(file, &model, &err)) return fail(&err);
    if (surety_data_open(&which, &data, &err)) return fail(&err);

    surety_certify_settings settings =
        surety_certify_defaults(model); /* decided before anything is seen of S */
    surety_certificate certificate = {0};
    settings.threat.kind = SURETY_ATTACK_IFGSMU;
    settings.threat.samples = 10;
    settings.looks = 1;
    settings.model_file = file;
    if (surety_certify(model, data, &settings, &certificate, NULL, &err)) return fail(&err);
    if (surety_certificate_save(&certificate, out, &err)) return fail(&err);
    printf("%s\n", certificate.claim);
    surety_certificate_free(&certificate);
    surety_model_free(model);
    surety_data_free(data);
    return 0;
}
