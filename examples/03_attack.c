/* 03: attack a saved vote, and look at what came out. Every perturbed point lies in the ball and in the box.
 */
#include <stdio.h>
#include <surety/evaluate.h>
#include <surety/model.h>

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

    surety_vote vote = surety_model_vote(model, SURETY_WEIGHTS_POSTERIOR);
    surety_set some = surety_set_slice(surety_data_set(data, SURETY_SET_TEST), 0, 200);
    const surety_threat_kind kinds[] = {SURETY_ATTACK_NONE, SURETY_ATTACK_FGSM, SURETY_ATTACK_PGD};
    for (int i = 0; i < 3; i++) {
        surety_threat attack = surety_threat_defaults(); /* l2, radius 1, 20 steps */
        surety_attack_result result;
        attack.kind = kinds[i];
        if (surety_attack_set(&attack, &vote, &some, NULL, &result, NULL, &err)) return fail(&err);
        printf("%-5s fools %3llu of %zu examples; the farthest point is %.6f away\n",
               surety_threat_name(kinds[i]), (unsigned long long)result.fooled, result.m, result.norm_max);
    }
    surety_model_free(model);
    surety_data_free(data);
    return 0;
}
