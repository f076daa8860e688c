/* Files and the small world of the targets; what seeds are for in a libFuzzer program. */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/json.h"
#include "io/sha256.h"

const surety_run fuzz_run = {.threads = 1};

static char folder[256];

void fuzz_sweep(const char *name) {
    DIR *dir = opendir(name);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[600];
        snprintf(path, sizeof path, "%.300s/%s", name, entry->d_name);
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && unlink(path) != 0) fuzz_sweep(path);
    }
    if (dir) closedir(dir);
    rmdir(name);
}

static void sweep(void) {
    fuzz_sweep(folder);
}

const char *fuzz_path(const char *name) {
    static char paths[8][400];
    static unsigned next;
    if (!folder[0]) {
        const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(folder, sizeof folder, "%s/surety-fuzz-XXXXXX", place);
        require(mkdtemp(folder));
        atexit(sweep);
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *fuzz_file(const char *name, const void *bytes, size_t size) {
    const char *path = fuzz_path(name);
    FILE *f = fopen(path, "wb");
    require(f && fwrite(bytes, 1, size, f) == size);
    require(fclose(f) == 0);
    return path;
}

void fuzz_take_file(fuzz_take take, const char *path) {
    static uint8_t bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    require(f);
    take(bytes, fread(bytes, 1, sizeof bytes, f));
    fclose(f);
}

void fuzz_take_as(fuzz_take take, char which, const char *name) {
    static char bytes[1 << 16];
    FILE *f = fopen(fuzz_path(name), "rb");
    require(f);
    bytes[0] = which;
    take(bytes, 1 + fread(bytes + 1, 1, sizeof bytes - 1, f));
    fclose(f);
}

const char *fuzz_sealed_file(const char *name, const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    json_t *root = NULL;
    char sum[SURETY_SHA256_TEXT];
    if (surety_json_parse(&root, (const char *)bytes, size, "input", &err) != SURETY_OK) return NULL;
    json_object_del(root, "digest");
    char *text = surety_json_canonical(json_incref(root));
    require(text && surety_sha256(text, strlen(text), sum, NULL) == SURETY_OK);
    free(text);
    json_object_set_new(root, "digest", json_string(sum));
    text = surety_json_text(root);
    require(text);
    const char *path = fuzz_file(name, text, strlen(text));
    free(text);
    return path;
}

size_t fuzz_npy(uint8_t *out, const char *type, const char *shape, const void *values, size_t size) {
    char head[119];
    int length =
        snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    memset(out, ' ', 128);
    memcpy(out, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(out + 10, head, (size_t)length);
    out[127] = '\n';
    memcpy(out + 128, values, size);
    return 128 + size;
}

unsigned long fuzz_accepted;

int fuzz_accepts(surety_status status, const surety_error *err) {
    fuzz_accepted += status == SURETY_OK;
    if (status == SURETY_OK) return 1;
    require(err->code == status && err->what[0]);
    require(status != SURETY_E_MEMORY && status != SURETY_E_STOPPED);
    return 0;
}

/* ---- the world ---- */

static void make_world(fuzz_world *w) {
    enum { M = 60, D = 3 };
    float x[M * D];
    int64_t y[M];
    uint32_t state = 1;
    surety_error err = SURETY_ERROR_NONE;
    for (int i = 0; i < M; i++) {
        y[i] = i % 2;
        for (int j = 0; j < D; j++) {
            state = 1664525 * state + 1013904223;
            x[i * D + j] = 0.5f * (float)(i % 2) + 0.5f * (float)(state >> 8) / 16777216.0f;
        }
    }
    surety_arrays arrays = {.m = M, .d = D, .features = x, .labels = y};
    surety_data_settings data = surety_data_defaults();
    data.learn_size = 20, data.test_size = 10, data.scaling = SURETY_SCALE_NONE;
    require(surety_data_from_arrays(&arrays, &data, &w->data, &err) == SURETY_OK);
    surety_train_settings *s = &w->settings;
    *s = surety_train_defaults();
    s->voters.count = 2, s->voters.depth = 1, s->step1_epochs = 2, s->objective = SURETY_OBJECTIVE_BASELINE;
    s->defense.kind = SURETY_ATTACK_NONE;
    s->defense.ball.radius = 0.1;
    surety_train_result result;
    require(surety_train(s, w->data, NULL, &w->model, &result, &fuzz_run, &err) == SURETY_OK);
    surety_train_result_free(&result);
    snprintf(w->model_file, sizeof w->model_file, "%s", fuzz_path("world.safetensors"));
    snprintf(w->certificate_file, sizeof w->certificate_file, "%s", fuzz_path("world.json"));
    require(surety_model_save(w->model, w->model_file, &err) == SURETY_OK);
    surety_certify_settings c = surety_certify_defaults(w->model);
    c.looks = 1, c.threat.kind = SURETY_ATTACK_UNIF, c.threat.samples = 2, c.despite_test = 1;
    c.model_file = w->model_file;
    require(surety_certify(w->model, w->data, &c, &w->certificate, &fuzz_run, &err) == SURETY_OK);
    require(surety_certificate_save(&w->certificate, w->certificate_file, &err) == SURETY_OK);
}

const fuzz_world *fuzz_the_world(void) {
    static fuzz_world world;
    if (!world.data) make_world(&world);
    return &world;
}

/* ---- seeds for libFuzzer: into the folder that SURETY_FUZZ_SEEDS names ---- */

static void keep_seed(const void *bytes, size_t size) {
    static unsigned next;
    char path[600];
    snprintf(path, sizeof path, "%s/seed-%02u", getenv("SURETY_FUZZ_SEEDS"), next++);
    FILE *f = fopen(path, "wb");
    require(f && fwrite(bytes, 1, size, f) == size);
    require(fclose(f) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    if (!getenv("SURETY_FUZZ_SEEDS")) return 0;
    fuzz_seeds(keep_seed);
    exit(0);
}
