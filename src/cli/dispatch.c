/* surety COMMAND [options]: finds the subcommand, runs it, turns its status into a message and an exit code.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/mpi.h"

#define COMMAND(name) extern const cli_command cli_##name;
#include "cli/commands.h"
#undef COMMAND

const cli_command *const cli_commands[] = {
#define COMMAND(name) &cli_##name,
#include "cli/commands.h"
#undef COMMAND
    NULL,
};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal_number) {
    (void)signal_number;
    __atomic_store_n(&stop_asked, 1, __ATOMIC_RELAXED); /* other threads poll it */
}

static void set_signals(void) {
    struct sigaction stop = {.sa_handler = ask_to_stop,
                             .sa_flags = (int)SA_RESETHAND}; /* a second one ends at once */
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit becomes an error of write(), with a message */
}

/* A program that leaves its stack ends without a word: what the library needs (surety/base.h) is asked for
 * before. */
static surety_status check_stack(cli *c) {
    enum { NEEDED = 512 }; /* kB */
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= NEEDED * 1024) return SURETY_OK;
    snprintf(c->error.what, sizeof c->error.what, "the stack of this process is limited to %llu kB",
             (unsigned long long)limit.rlim_cur / 1024);
    snprintf(c->error.expected, sizeof c->error.expected, "%d kB or more (ulimit -s)", NEEDED);
    return c->error.code = SURETY_E_SYSTEM;
}

static void list_commands(void) {
    cli_print(
        "surety %s: majority votes with a guarantee against adversarial perturbations\n\n"
        "usage: surety COMMAND [options]\n\n",
        surety_version());
    for (size_t i = 0; cli_commands[i]; i++)
        cli_print("  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    cli_print("  %-10s %s\n", "help", "help COMMAND: its options and an example");
    cli_print("\n");
    cli_print_wrapped(
        "Rows fall into three sets: S' trains, S gives the promise, T is for estimates. First steps: "
        "docs/tables.md.\n",
        0, 0);
    cli_print_wrapped("Exit codes: " CLI_EXIT_CODES, 0, 0);
}

static const cli_command *find_command(cli *c, const char *name) {
    const char *names[32];
    size_t count = 0;
    for (; cli_commands[count]; count++) {
        names[count] = cli_commands[count]->name;
        if (!strcmp(names[count], name)) return cli_commands[count];
    }
    const char *nearest = surety_nearest(name, names, count);
    if (nearest)
        cli_wrong(c, "unknown command '%s': did you mean '%s'?", name, nearest);
    else
        cli_wrong(c, "unknown command '%s': 'surety help' lists them", name);
    return NULL;
}

/* The error record as one or two lines for people, or as JSON on stdout. */
static void print_error(cli *c) {
    const surety_error *e = &c->error;
    if (c->json) {
        char *text = surety_error_json(e);
        if (text) cli_print("%s\n", text);
        surety_text_free(text);
    }
    const char *before[] = {e->file, e->place};
    char shown[4 * sizeof e->what];
    cli_print_to(stderr, "surety: ");
    for (int i = 0; i < 2; i++)
        if (before[i][0]) cli_print_to(stderr, "%s: ", cli_line(before[i], shown, sizeof shown));
    cli_print_to(stderr, "%s\n", cli_line(e->what, shown, sizeof shown));
    if (e->expected[0])
        cli_print_to(stderr, "        expected: %s\n", cli_line(e->expected, shown, sizeof shown));
}

/* help, help COMMAND, help --man, help --man COMMAND, help --completion. */
static surety_status help(cli *c, int argc, char **argv) {
    static char word[] = "--help";
    static char *words[] = {word, NULL};
    bool man = argc > 0 && !strcmp(argv[0], "--man");
    c->argc = 1;
    c->argv = words;
    if (!argc || !strcmp(argv[0], "help") || !strcmp(argv[0], "--help")) return list_commands(), SURETY_OK;
    if (!strcmp(argv[0], "--completion")) return cli_completion(c);
    if (man && argc == 1) return cli_man(), SURETY_OK;
    if (man) c->helping = CLI_MAN;
    return (c->command = find_command(c, argv[man])) ? c->command->run(c) : SURETY_E_USAGE;
}

static surety_status dispatch(cli *c, int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : NULL;
    for (int i = 2; i < argc; i++) c->json |= !strcmp(argv[i], "--json"); /* errors of parsing too */
    if (!name) {
        list_commands();
        return cli_wrong(c, "no command given");
    }
    if (!strcmp(name, "--version")) return cli_print("surety %s\n", surety_version()), SURETY_OK;
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return help(c, argc - 2, argv + 2);
    if (!(c->command = find_command(c, name))) return SURETY_E_USAGE;
    c->argc = argc - 2;
    c->argv = argv + 2;
    return c->command->run(c);
}

int cli_main(int argc, char **argv) {
    cli c = {.largest_file = SURETY_LARGEST_FILE, .run = {.stop = &stop_asked}};
    stop_asked = 0;
    set_signals();
    surety_status status = check_stack(&c);
    if (status == SURETY_OK) status = cli_mpi_start(&c, argc, argv);
    if (status == SURETY_OK) status = dispatch(&c, argc, argv);
    cli_progress_end(&c);
    if (status == SURETY_OK && (fflush(stdout) || ferror(stdout))) {
        status = c.error.code = SURETY_E_SYSTEM;
        snprintf(c.error.what, sizeof c.error.what, "standard output could not be written");
    }
    if (status != SURETY_OK) {
        if (c.error.code == SURETY_OK) c.error.code = status;
        cli_mpi_failed(&c);
        print_error(&c);
        fflush(stdout);
    }
    free(c.words);
    int exit_code = status == SURETY_OK ? c.exit_code : surety_status_exit(status);
    cli_mpi_stop(exit_code, status != SURETY_OK);
    return exit_code;
}
