/* Votes of any model (surety bound): one byte of settings, two bytes with the length of the labels, labels,
 * votes. A bound is never below what was counted. */
#include "fuzz.h"

static double counted(const surety_risks *r, surety_risk_kind kind) {
    return kind == SURETY_RISK_AVERAGED       ? r->averaged
           : kind == SURETY_RISK_AVERAGED_MAX ? r->averaged_max
                                              : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (size < 3 || (size_t)bytes[1] + 256u * bytes[2] + 3 > size) return 0;
    size_t labels = (size_t)bytes[1] + 256u * bytes[2];
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_settings s = surety_votes_defaults();
    surety_votes_result r;
    s.labels = fuzz_file(bytes[0] & 1 ? "y.npy" : "y.txt", bytes + 3, labels);
    s.votes = fuzz_file("v.npy", bytes + 3 + labels, size - 3 - labels);
    s.signed_votes = bytes[0] >> 1 & 1;
    s.learn = bytes[0] >> 2 & 1;
    surety_status status = surety_bound_votes(&s, &r, &fuzz_run, &err);
    if (!fuzz_accepts(status, &err)) return 0;
    require(r.risks.averaged <= r.risks.averaged_max);
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        const surety_bound_value *v = &r.bounds[id];
        if (v->available && surety_bound_list()[id].q != SURETY_Q_HELD_OUT)
            require(v->vote >= counted(&r.risks, surety_bound_list()[id].risk));
    }
    char *json = surety_votes_result_json(&r);
    require(json);
    surety_text_free(json);
    surety_votes_result_free(&r);
    return 0;
}

static void seed(fuzz_take take, uint8_t how, const char *labels, const char *type, const char *shape,
                 const void *values, size_t size) {
    uint8_t bytes[1000] = {how, (uint8_t)strlen(labels)}, *at = bytes + 3 + strlen(labels);
    memcpy(bytes + 3, labels, strlen(labels));
    take(bytes, (size_t)(at - bytes) + fuzz_npy(at, type, shape, values, size));
}

void fuzz_seeds(fuzz_take take) {
    const float votes[12] = {1, -1, .5f, .25f, -1, 1, 0, -.5f, 1, 1, -1, .125f};
    const uint8_t classes[12] = {0, 1, 2, 0, 1, 2, 0, 0, 1, 255, 2, 2};
    const float scores[18] = {.5f, .25f, .25f, 1, 0, 0, 0, 0, 1, .25f, .5f, .25f, 1, 0, 0, 0, 1, 0};
    seed(take, 0, "1\n-1\n1\n", "<f4", "3, 2, 2", votes, sizeof votes);
    seed(take, 4, "1\n-1\n1\n", "<f4", "3, 2, 2", votes, sizeof votes);
    seed(take, 0, "a\nb\nc\n", "|u1", "3, 4", classes, sizeof classes);
    seed(take, 4, "a\nb\nc\n", "<f4", "3, 1, 2, 3", scores, sizeof scores);
}
