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
static int (*speaks)(void);
static void (*stop)(int, int);
static int own_output = -1, own_errors = -1; /* where the words of a silent process went */

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
    size_t size = 64, used;
    for (int i = 1; i < argc; i++) size += strlen(argv[i]) + 1;
    char *words = malloc(size);
    if (!words) return SURETY_E_MEMORY;
    used = (size_t)snprintf(words, size, "%s %s", surety_version(),
                            strcmp(surety_cpu_level(), "generic") ? "fma" : "generic");
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--threads") && ++i) continue;
        if (strncmp(argv[i], "--threads=", 10))
            used += (size_t)snprintf(words + used, size - used, "\n%s", argv[i]);
    }
    surety_status status = surety_agree("version or settings", words, &c->run, &c->error);
    free(words);
    return status;
}

surety_status cli_mpi_start(cli *c, int argc, char **argv) {
    bool asked = false;
    for (int i = 1; i < argc; i++) asked |= !strcmp(argv[i], "--mpi");
    const char *module = find_launcher(asked);
    if (!module) return SURETY_OK;
    void *library = load(module);
    union { /* functions as dlsym gives them */
        void *object[3];
        struct {
            int (*start)(surety_everyone *);
            int (*speaks)(void);
            void (*stop)(int, int);
        } as;
    } entry = {{NULL}};
    static const char *const names[] = {"surety_mpi_start", "surety_mpi_speaks", "surety_mpi_stop"};
    for (int i = 0; i < 3; i++)
        if (!library || !(entry.object[i] = dlsym(library, names[i]))) return not_there(c, module);
    if (!entry.as.start(&everyone)) return not_there(c, module);
    speaks = entry.as.speaks, stop = entry.as.stop;
    c->run.everyone = &everyone;
    if (!cli_speaks(c)) {
        surety_writing(0);
        own_output = dup(STDOUT_FILENO), own_errors = dup(STDERR_FILENO);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) return SURETY_E_SYSTEM;
    }
    return compare_words(c, argc, argv);
}

bool cli_speaks(const cli *c) {
    return !stop || c->run.everyone->rank == 0;
}

void cli_mpi_failed(const cli *c) {
    if (!stop || !speaks() || cli_speaks(c)) return;
    fflush(stdout);
    if (own_output >= 0 && own_errors >= 0 && dup2(own_output, STDOUT_FILENO) >= 0 &&
        dup2(own_errors, STDERR_FILENO) >= 0)
        cli_print_to(stderr, "surety: process %zu failed\n", everyone.rank);
}

void cli_mpi_stop(int exit_code, bool failed) {
    if (!stop) return;
    fflush(NULL);
    stop(exit_code, failed);
}
