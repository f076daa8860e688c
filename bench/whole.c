/* What users wait for, on real data (defense pgd, l2), here of mnist-1v7: an epoch of step 1
 * (8,007 examples, then the 5,000 that choose the epoch), an epoch of step 2 (5,000 and the same 5,000 that
 * choose), a row of the table (7,163 examples x 100 noises), the worst case of 1,000 examples, an epoch of a
 * network, reading a compressed dataset.
 *
 * The limit of all but the last is the peak of the multiply-add units, taken between batches or runs. The
 * best of twenty counts: of each batch and of choosing, which together are an epoch, of rows, of worst cases,
 * of peaks. Only the operations of the products count, rows that the attack really asked for and in step 1
 * those of the weights' gradient, so a share says how much of the time is anything else. The limit of reading
 * is what zlib's inflate does alone; a file is read by one thread, so two read it twice.
 *
 *   bench_whole [--json] [TASK]
 */
#include <math.h>
#include <stdlib.h>
#include <zlib.h>

#include "evaluate/perturbed.h"
#include "io/read.h"
#include "peak.h"
#include "train/phase.h"
#include "voters/worst.h"

enum { REPEATS = 20, PARTS = 256 };
static const char images[] = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";

typedef struct whole {
    const char *task;
    surety_data *data;
    surety_train_settings settings;
    bool json, first;
} whole;

static double product_flops(const surety_voters *v, double rows) {
    return 2. * (double)surety_voters_tensor(v, 0).rows * (double)surety_voters_features(v) * rows;
}

static void print(whole *w, const char *name, int threads, double seconds, double amount, const char *unit,
                  double limit) {
    bench_case c = {
        .threads = threads, .seconds = seconds, .rate = amount / seconds, .unit = unit, .limit = limit};
    snprintf(c.name, sizeof c.name, "%s", name);
    c.share = c.rate / limit;
    bench_print(&c, w->json, w->first);
    w->first = false;
}

/* The best of several runs of a piece of work: the time of one may be longer by whatever else the machine
 * does, never shorter. */
typedef struct best {
    double seconds, rows;
} best;

static void take(best *b, double seconds, double rows) {
    if (b->rows == 0 || rows / seconds > b->rows / b->seconds) *b = (best){seconds, rows};
}

static void take_peak(double *peak, int threads) {
    double now = bench_peak(threads, 0.5);
    *peak = now > *peak ? now : *peak;
}

/* How many rows the attack asks for (streams ask for as many). */
static surety_status count_rows(const surety_threat *attack, const surety_vote *vote, const surety_set *set,
                                double *rows, surety_error *err) {
    surety_attacker *a;
    SURETY_TRY(surety_attacker_new(&a, attack, vote->voters, err));
    for (size_t first = 0; first < set->m; first += SURETY_BLOCK) {
        surety_examples e = surety_examples_of(set, first);
        const surety_attacked *found = surety_attacker_run(a, vote, &e);
        *rows += (double)found->asked + (double)found->moves;
    }
    surety_attacker_free(a);
    return SURETY_OK;
}

/* Epochs, watched from outside: the parts of one are its batches, then choosing. */
typedef struct epoch_watch {
    const surety_train_settings *settings;
    const surety_phase *phase;
    const surety_timing *timing; /* that the phase adds to */
    int threads;
    double peak, begin, rows; /* when the part began, and rows until then */
    uint64_t done;            /* examples of the phase until then */
    double choosing;          /* seconds */
    size_t part, parts;
    best best[PARTS];
} epoch_watch;

static double rows_of(const surety_timing *t) {
    return (double)t->forward_rows + (double)t->backward_rows;
}

/* After every batch, and after an epoch, when it has a text. */
static void between(void *arg, const surety_progress *progress) {
    epoch_watch *e = arg;
    double seconds = bench_now() - e->begin, rows = rows_of(e->timing) - e->rows;
    if (e->phase->moves_voters) rows += (double)(progress->done - e->done);
    if (*progress->text)
        e->choosing = seconds;
    else
        take(&e->best[e->part++], seconds, rows);
    take_peak(&e->peak, e->threads);
    e->rows = rows_of(e->timing), e->done = progress->done;
    e->begin = bench_now();
}

/* The rows that choosing this epoch asked for: attacks, and the votes at the points found. */
static surety_status count_choice(void *arg, const surety_train_state *state, surety_error *err) {
    epoch_watch *e = arg;
    double Q[64], rows = (double)e->phase->choose->m;
    surety_threat attack = e->settings->defense;
    attack.epoch = e->phase->first_epoch + (uint32_t)(state->epoch - 1 + e->phase->epochs);
    surety_softmax(state->theta, state->H, Q);
    surety_vote vote = {state->voters, Q, e->settings->voter_set};
    SURETY_TRY(count_rows(&attack, &vote, e->phase->choose, &rows, err));
    take(&e->best[e->part], e->choosing, rows);
    e->parts = e->part + 1;
    e->part = 0;
    e->begin = bench_now();
    return SURETY_OK;
}

static surety_status epochs(whole *w, const char *name, const surety_phase *phase, surety_train_state *state,
                            int threads, surety_error *err) {
    surety_timing timing = {0};
    epoch_watch e = {.settings = &w->settings,
                     .phase = phase,
                     .timing = &timing,
                     .threads = threads,
                     .begin = bench_now()};
    surety_run run = {.threads = threads, .progress = between, .progress_arg = &e};
    if (phase->train->m / w->settings.batch + 2 > PARTS)
        return surety_fail(err, SURETY_E_INPUT, "an epoch has more than %d batches", PARTS - 2);
    SURETY_TRY(surety_phase_run(phase, &w->settings, state, &(surety_after_epoch){count_choice, &e}, &timing,
                                &run, err));
    best sum = {0};
    for (size_t i = 0; i < e.parts; i++) sum.seconds += e.best[i].seconds, sum.rows += e.best[i].rows;
    print(w, name, threads, sum.seconds, product_flops(state->voters, sum.rows), "flop/s", e.peak);
    return SURETY_OK;
}

static surety_status train(whole *w, surety_train_state *state, int threads, surety_error *err) {
    const surety_set *prior_set = surety_data_set(w->data, SURETY_SET_PRIOR);
    const surety_set *learn = surety_data_set(w->data, SURETY_SET_LEARN);
    surety_phase step1 = {.name = "step 1",
                          .train = prior_set,
                          .choose = learn,
                          .moves_voters = 1,
                          .epochs = REPEATS,
                          .first_epoch = 1};
    surety_phase step2 = {.name = "step 2",
                          .train = learn,
                          .choose = learn,
                          .has_bound = 1,
                          .objective = SURETY_BOUND_CHROMATIC_SEEGER,
                          .input = surety_bound_input_defaults(),
                          .epochs = REPEATS,
                          .first_epoch = 1 + 2 * REPEATS};
    step2.input.m = learn->m;
    step2.input.H = state->H;
    SURETY_TRY(epochs(w, "step1-epoch", &step1, state, threads, err));
    surety_train_state_next(state);
    return epochs(w, "step2-epoch", &step2, state, threads, err);
}

/* S and T attacked under the prior, 100 noises each, counted. */
static surety_status row(whole *w, const surety_train_state *state, const surety_run *run,
                         surety_error *err) {
    double P[64], rows = 0;
    surety_threat attack = w->settings.defense;
    attack.kind = SURETY_ATTACK_PGDU;
    attack.samples = 100;
    surety_softmax(state->prior_theta, state->H, P);
    surety_vote vote = {state->voters, P, SURETY_SIGNED};
    surety_measurement what = {
        .threat = &attack, .attacked = &vote, .voter_set = SURETY_SIGNED, .posterior = P, .prior = P};
    const surety_set *sets[] = {surety_data_set(w->data, SURETY_SET_LEARN),
                                surety_data_set(w->data, SURETY_SET_TEST)};
    for (int i = 0; i < 2; i++) {
        SURETY_TRY(count_rows(&attack, &vote, sets[i], &rows, err));
        rows += 100 * (double)sets[i]->m;
    }
    best b = {0};
    double peak = 0;
    for (int k = 0; k < REPEATS; k++) {
        for (int i = 0; i < 40; i++) take_peak(&peak, run->threads);
        double begin = bench_now();
        for (int i = 0; i < 2; i++) {
            surety_risks risks;
            SURETY_TRY(surety_measure(&what, sets[i], &risks, run, err));
            surety_risks_free(&risks);
        }
        take(&b, bench_now() - begin, rows);
    }
    print(w, "evaluate-row", run->threads, b.seconds, product_flops(state->voters, b.rows), "flop/s", peak);
    return SURETY_OK;
}

/* Limits over the whole l2 ball for 1,000 examples of S, counted as one forward product each: the share says
 * how many products a proof costs. */
static surety_status worst(whole *w, const surety_train_state *state, const surety_run *run,
                           surety_error *err) {
    surety_set few = surety_set_slice(surety_data_set(w->data, SURETY_SET_LEARN), 0, 1000);
    double P[64];
    surety_threat threat = w->settings.defense;
    threat.kind = SURETY_WORST_CASE;
    surety_softmax(state->prior_theta, state->H, P);
    surety_vote vote = {state->voters, P, SURETY_SIGNED};
    surety_measurement what = {
        .threat = &threat, .attacked = &vote, .voter_set = SURETY_SIGNED, .posterior = P};
    best b = {0};
    double peak = 0;
    for (int k = 0; k < REPEATS; k++) {
        surety_risks risks;
        for (int i = 0; i < 40; i++) take_peak(&peak, run->threads);
        double begin = bench_now();
        SURETY_TRY(surety_measure(&what, &few, &risks, run, err));
        take(&b, bench_now() - begin, (double)few.m);
        surety_risks_free(&risks);
    }
    print(w, "worst-case", run->threads, b.seconds, product_flops(state->voters, b.rows), "flop/s", peak);
    return SURETY_OK;
}

/* A compressed file, read whole by each of the threads, and its bytes inflated by zlib alone. */
typedef struct reading {
    uint8_t packed[40 << 20], plain[BENCH_THREADS][64 << 20];
    size_t size;
    surety_file files[BENCH_THREADS];
    surety_error errors[BENCH_THREADS];
} reading;

static void open_file(void *arg, int thread, long times) {
    reading *r = arg;
    (void)times;
    surety_file_open(&r->files[thread], images, &r->errors[thread]);
}

static void inflate_alone(void *arg, int thread, long times) {
    reading *r = arg;
    (void)times;
    z_stream z = {.next_in = r->packed,
                  .avail_in = (unsigned)r->size,
                  .next_out = r->plain[thread],
                  .avail_out = sizeof r->plain[thread]};
    inflateInit2(&z, 16 + 15);
    inflate(&z, Z_FINISH);
    inflateEnd(&z);
}

static surety_status read_gz(whole *w, int threads, surety_error *err) {
    static reading r;
    FILE *f = fopen(images, "rb");
    r.size = f ? fread(r.packed, 1, sizeof r.packed, f) : 0;
    if (f) fclose(f);
    double ours = 1e30, zlib = 1e30, bytes = 0;
    for (int i = 0; i < REPEATS; i++) {
        double seconds = bench_seconds(threads, open_file, &r, 1);
        double alone = bench_seconds(threads, inflate_alone, &r, 1);
        bytes = 0;
        for (int t = 0; t < threads; t++) {
            if (r.errors[t].code != SURETY_OK) {
                *err = r.errors[t];
                return err->code;
            }
            bytes += (double)r.files[t].size;
            surety_file_close(&r.files[t]);
        }
        ours = seconds < ours ? seconds : ours;
        zlib = alone < zlib ? alone : zlib;
    }
    print(w, "read-gz", threads, ours, bytes, "byte/s", bytes / zlib);
    return SURETY_OK;
}

/* Operations of the products in an epoch of a network's certified training: of every example forward, the
 * gradient of the weights and, behind the first layer, of the inputs; of every batch four products of a Gram
 * matrix, along the surface and back to it. */
static double network_flops(const surety_voters *v, double examples, double batches) {
    double flops = 0;
    for (size_t k = 0; k + 1 < surety_voters_tensors(v); k += 2) {
        surety_tensor t = surety_voters_tensor(v, k);
        double rows = (double)t.rows, columns = (double)t.length, side = rows < columns ? rows : columns;
        flops += 2 * rows * columns * ((k ? 3 : 2) * examples + 4 * side * batches);
    }
    return flops;
}

typedef struct network_watch {
    double begin, seconds, peak;
    int threads;
} network_watch;

static surety_status after_network(void *arg, const surety_train_state *state, surety_error *err) {
    network_watch *e = arg;
    double seconds = bench_now() - e->begin;
    (void)state, (void)err;
    e->seconds = e->seconds == 0 || seconds < e->seconds ? seconds : e->seconds;
    for (int i = 0; i < 10; i++) take_peak(&e->peak, e->threads);
    e->begin = bench_now();
    return SURETY_OK;
}

/* An epoch of the default network, without choosing. */
static surety_status network(whole *w, int threads, surety_error *err) {
    const surety_set *prior_set = surety_data_set(w->data, SURETY_SET_PRIOR);
    surety_train_settings s = w->settings;
    surety_voters *voters;
    surety_train_state state;
    surety_timing timing = {0};
    surety_phase step1 = {.name = "step 1",
                          .train = prior_set,
                          .moves_voters = 1,
                          .certified = 1,
                          .epochs = REPEATS / 4,
                          .first_epoch = 1};
    s.voters.kind = "lipschitz";
    surety_train_kind(&s);
    SURETY_TRY(surety_voters_new(&s.voters, prior_set->d, 0, &voters, err));
    SURETY_TRY(surety_train_state_new(&state, voters, step1.epochs, 0, err));
    network_watch e = {.threads = threads, .begin = bench_now()};
    surety_status status = surety_phase_run(&step1, &s, &state, &(surety_after_epoch){after_network, &e},
                                            &timing, &(surety_run){.threads = threads}, err);
    double batches = ceil((double)prior_set->m / (double)s.batch);
    if (status == SURETY_OK)
        print(w, "lipschitz-epoch", threads, e.seconds, network_flops(voters, (double)prior_set->m, batches),
              "flop/s", e.peak);
    surety_train_state_free(&state);
    return status;
}

/* The task's data; without a task that of mnist-1v7, or where there is no MNIST of Fashion-MNIST. */
static surety_status open_data(whole *w, const char *task, surety_error *err) {
    surety_data_settings which = surety_data_defaults();
    which.task = w->task = task ? task : "mnist-1v7";
    surety_status status = surety_data_open(&which, &w->data, err);
    if (status == SURETY_OK || task) return status;
    fprintf(stderr, "bench_whole: %s; going on with Fashion-MNIST\n", err->what);
    *err = (surety_error)SURETY_ERROR_NONE;
    which.task = w->task = "fashion-sandal-v-boot";
    return surety_data_open(&which, &w->data, err);
}

static surety_status run_all(whole *w, surety_error *err) {
    for (int threads = 1; threads <= BENCH_THREADS; threads++) {
        surety_run run = {.threads = threads};
        surety_voters *voters;
        surety_train_state state;
        SURETY_TRY(surety_voters_new(&w->settings.voters, surety_data_set(w->data, SURETY_SET_LEARN)->d, 0,
                                     &voters, err));
        SURETY_TRY(surety_train_state_new(&state, voters, REPEATS, REPEATS, err));
        SURETY_TRY(train(w, &state, threads, err));
        SURETY_TRY(row(w, &state, &run, err));
        SURETY_TRY(worst(w, &state, &run, err));
        surety_train_state_free(&state);
        SURETY_TRY(network(w, threads, err));
        SURETY_TRY(read_gz(w, threads, err));
    }
    return SURETY_OK;
}

int main(int argc, char **argv) {
    whole w = {.json = argc > 1 && !strcmp(argv[1], "--json"), .first = true};
    surety_error err = SURETY_ERROR_NONE;
    w.settings = surety_train_defaults();
    w.settings.defense.kind = SURETY_ATTACK_PGD;
    surety_status status = open_data(&w, argv[1 + w.json], &err);
    if (status == SURETY_OK) {
        if (w.json) printf("{\"level\":\"%s\",\"task\":\"%s\",\"cases\":[", surety_cpu_level(), w.task);
        status = run_all(&w, &err);
        bench_end(w.json);
    }
    if (status != SURETY_OK) fprintf(stderr, "bench_whole: %s; expected: %s\n", err.what, err.expected);
    surety_data_free(w.data);
    return surety_status_exit(status);
}
