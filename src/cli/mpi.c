#include "cli/mpi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/module.h"

/* What a launcher sets for the processes that it starts, and the module that can talk to it. */
static const struct {
    const char *size, *module;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "surety-openmpi.so"}, {"PMI_SIZE", "surety-mpich.so"}};

static surety_everyone everyone;
static void (*stop)(int);

/* The module of this launcher, or NULL if this process is alone. */
static const char *find_launcher(bool asked) {
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *size = getenv(launchers[i].size);
        if (size && (asked || strtol(size, NULL, 10) > 1)) return launchers[i].module;
    }
    return asked ? launchers[0].module : NULL;
}

/* Beside the command, or where it was installed. */
static void *load(const char *module) {
    static const char *const places[] = {"", "../lib/surety/"};
    char self[2048], path[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return NULL;
    self[length] = 0;
    *(strrchr(self, '/') + 1) = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%s%s", self, places[i], module);
        void *found = access(path, R_OK) ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (found) return found;
    }
    return NULL;
}

static surety_status not_there(cli *c, const char *module) {
    const char *why = dlerror();
    c->error.code = SURETY_E_SYSTEM;
    snprintf(c->error.what, sizeof c->error.what,
             "this is one of several MPI processes, and %s cannot be loaded%s%.200s", module, why ? ": " : "",
             why ? why : "");
    snprintf(c->error.expected, sizeof c->error.expected,
             "a build with MPI (script/setup mpi, then build again), or one process");
    return SURETY_E_SYSTEM;
}

/* All words but those that may differ. */
static surety_status compare_words(cli *c, int argc, char **argv) {
    char words[8192] = "";
    size_t used = (size_t)snprintf(words, sizeof words, "%s %s", surety_version(),
                                   strcmp(surety_cpu_level(), "generic") ? "fma" : "generic");
    for (int i = 1; i < argc && used < sizeof words; i++) {
        if (!strcmp(argv[i], "--threads") && ++i) continue;
        used += (size_t)snprintf(words + used, sizeof words - used, "\n%s", argv[i]);
    }
    return cli_mpi_agree(c, "version or settings", words);
}

surety_status cli_mpi_start(cli *c, int argc, char **argv) {
    bool asked = false;
    for (int i = 1; i < argc; i++) asked |= !strcmp(argv[i], "--mpi");
    const char *module = find_launcher(asked);
    if (!module) return SURETY_OK;
    void *library = load(module);
    union { /* a function as dlsym gives it */
        void *object;
        int (*start)(surety_everyone *);
        void (*stop)(int);
    } entry = {library ? dlsym(library, "surety_mpi_start") : NULL};
    if (!entry.object || !entry.start(&everyone)) return not_there(c, module);
    entry.object = dlsym(library, "surety_mpi_stop");
    stop = entry.stop;
    c->run.everyone = &everyone;
    if (!cli_speaks(c)) {
        surety_writing(0);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) return SURETY_E_SYSTEM;
    }
    return compare_words(c, argc, argv);
}

bool cli_speaks(const cli *c) {
    return !stop || c->run.everyone->rank == 0;
}

/* FNV-1a, in 62 bits so that it is a count. */
static int64_t digest(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (int64_t)(hash >> 2);
}

surety_status cli_mpi_agree(cli *c, const char *what, const char *text) {
    if (!stop) return SURETY_OK;
    int64_t *all = calloc(everyone.size, sizeof *all);
    if (!all) return SURETY_E_MEMORY;
    all[everyone.rank] = digest(text);
    surety_status status = everyone.sum(everyone.arg, all, everyone.size, &c->error);
    for (size_t i = 1; i < everyone.size && status == SURETY_OK; i++) {
        if (all[i] == all[0]) continue;
        status = c->error.code = SURETY_E_CHECK;
        snprintf(c->error.what, sizeof c->error.what, "process %zu has another %s than process 0", i, what);
        snprintf(c->error.expected, sizeof c->error.expected, "the same program, files and options for all");
    }
    free(all);
    return status;
}

void cli_mpi_stop(const cli *c, int exit_code) {
    (void)c;
    if (!stop) return;
    fflush(NULL);
    stop(exit_code);
}
