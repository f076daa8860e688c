/* Small files that commands keep for the next time, chosen by the first byte: 'm' the state of a monitor, 'l'
 * the log of looks, 'v' a certificate of votes with a digest that fits. What is accepted is written and read
 * again as the same. */
#include <sys/stat.h>

#include "fuzz.h"

static char digest[65] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static surety_monitor a_monitor(void) {
    surety_error err = SURETY_ERROR_NONE;
    surety_monitor m;
    require(surety_monitor_start(0.1, 0.05, &m, &err) == SURETY_OK);
    return m;
}

static void read_monitor(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_monitor m = a_monitor(), again = a_monitor();
    if (!fuzz_accepts(surety_monitor_load(digest, fuzz_file("monitor.json", bytes, size), &m, &err), &err))
        return;
    require(m.failed <= m.seen && m.alarm <= m.seen);
    require(surety_monitor_save(&m, digest, fuzz_path("again.json"), &err) == SURETY_OK);
    require(surety_monitor_load(digest, fuzz_path("again.json"), &again, &err) == SURETY_OK);
    require(m.seen == again.seen && m.failed == again.failed && m.alarm == again.alarm);
    surety_monitor_add(&m, 1); /* one more, whatever was seen */
}

/* The log lies where the user's state does. */
static const char *log_file(void) {
    require(setenv("XDG_STATE_HOME", fuzz_path("state"), 1) == 0);
    mkdir(fuzz_path("state"), 0700), mkdir(fuzz_path("state/surety"), 0700);
    return "state/surety/looks";
}

static void read_log(const uint8_t *bytes, size_t size) {
    surety_error err = SURETY_ERROR_NONE;
    surety_looks looks;
    fuzz_file(log_file(), bytes, size);
    if (!fuzz_accepts(surety_looks_read(NULL, &looks, &err), &err)) return;
    for (size_t i = 0; i < looks.count && i < 4; i++) {
        const char *learn = looks.look[i].learn;
        surety_look_count before = surety_looks_count(&looks, learn);
        require(before.certificates + before.evaluations + before.trainings);
        surety_looks all;
        fuzz_file(log_file(), "", 0);
        require(surety_looks_add(&looks.look[i], &err) == SURETY_OK);
        require(surety_looks_read(learn, &all, &err) == SURETY_OK && all.count <= 1);
        surety_looks_free(&all);
    }
    char *text = surety_looks_json(&looks);
    require(text);
    surety_text_free(text);
    surety_looks_free(&looks);
}

static void read_certificate(const uint8_t *bytes, size_t size) {
    static surety_votes_certificate c, again;
    surety_error err = SURETY_ERROR_NONE;
    surety_certificate_head head;
    const char *path = fuzz_sealed_file("votes.json", bytes, size);
    if (!path) return;
    if (!fuzz_accepts(surety_votes_certificate_load(path, &c, &err), &err)) return;
    require(surety_certificate_head_load(path, &head, &err) == SURETY_OK && head.value == c.value);
    require(surety_votes_certificate_save(&c, fuzz_path("again.json"), &err) == SURETY_OK);
    require(surety_votes_certificate_load(fuzz_path("again.json"), &again, &err) == SURETY_OK);
    require(!strcmp(c.digest, again.digest) && !strcmp(c.claim, again.claim) && c.value == again.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static void (*const read[])(const uint8_t *, size_t) = {read_monitor, read_log, read_certificate};
    const char *which = size ? memchr("mlv", bytes[0], 3) : NULL;
    if (which) read[which - "mlv"](bytes + 1, size - 1);
    return 0;
}

/* A class for each of four rows. */
static void make_certificate(void) {
    const uint8_t answers[4] = {0, 1, 1, 0};
    static surety_votes_certificate c;
    surety_error err = SURETY_ERROR_NONE;
    surety_votes_promise p = {.votes = surety_votes_defaults(), .of = "a net"};
    uint8_t votes[200];
    p.votes.votes = fuzz_file("v.npy", votes, fuzz_npy(votes, "|u1", "4, 1", answers, 4));
    p.votes.labels = fuzz_file("y.txt", "0\n1\n0\n0\n", 8);
    p.votes.looks = 1;
    require(surety_certify_votes(&p, &c, &fuzz_run, &err) == SURETY_OK);
    require(surety_votes_certificate_save(&c, fuzz_path("seed.json"), &err) == SURETY_OK);
}

void fuzz_seeds(fuzz_take take) {
    surety_error err = SURETY_ERROR_NONE;
    surety_monitor m = a_monitor();
    for (int i = 0; i < 9; i++) surety_monitor_add(&m, i % 4 == 0);
    require(surety_monitor_save(&m, digest, fuzz_path("seed.json"), &err) == SURETY_OK);
    fuzz_take_as(take, 'm', "seed.json");
    surety_look look = {.command = "certify", .what = "0.05"};
    memcpy(look.learn, digest, sizeof digest), memcpy(look.model, digest, sizeof digest);
    const char *name = log_file();
    require(surety_looks_add(&look, &err) == SURETY_OK && surety_looks_add(&look, &err) == SURETY_OK);
    fuzz_take_as(take, 'l', name);
    make_certificate();
    fuzz_take_as(take, 'v', "seed.json");
}
