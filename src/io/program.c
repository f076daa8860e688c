#include "io/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

surety_status surety_program_word(surety_program *p, const char *word, surety_error *err) {
    if (p->count == SURETY_PROGRAM_WORDS)
        return surety_fail(err, SURETY_E_USAGE, "a command of more than %d words", SURETY_PROGRAM_WORDS);
    p->words[p->count++] = word;
    return SURETY_OK;
}

surety_status surety_program_add(surety_program *p, char *text, surety_error *err) {
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest))
        SURETY_TRY(surety_program_word(p, word, err));
    return SURETY_OK;
}

static int open_files(posix_spawn_file_actions_t *files, const char *in, const char *out,
                      const char *errors) {
    const char *nothing = "/dev/null";
    int write = O_WRONLY | O_CREAT | O_TRUNC;
    int failed = posix_spawn_file_actions_addopen(files, 0, in ? in : nothing, O_RDONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_addopen(files, 1, out ? out : nothing, write, 0600);
    if (!failed) failed = posix_spawn_file_actions_addopen(files, 2, errors ? errors : nothing, write, 0600);
    return failed;
}

surety_status surety_program_run(const surety_program *p, const char *in, const char *out, const char *errors,
                                 int *code, surety_error *err) {
    posix_spawn_file_actions_t files;
    pid_t child = 0;
    int failed = posix_spawn_file_actions_init(&files), state = 0;
    if (failed) return surety_fail_errno(err, SURETY_E_SYSTEM, "run", p->words[0], failed);
    failed = open_files(&files, in, out, errors);
    if (!failed)
        failed = posix_spawnp(&child, p->words[0], &files, NULL, (char *const *)(uintptr_t)p->words, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed) return surety_fail_errno(err, SURETY_E_SYSTEM, "run", p->words[0], failed);
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return surety_fail_errno(err, SURETY_E_SYSTEM, "wait for", p->words[0], errno);
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return SURETY_OK;
}
