/* No command writes over a file that it reads. Options say whether their file is read or written (cli_input,
 * cli_output), words of the command line are read; here all of them are compared. */
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int stat_folder(const char *path, struct stat *info) {
    char folder[4096];
    size_t length = (size_t)(name_of(path) - path);
    if (length >= sizeof folder) return -1;
    snprintf(folder, sizeof folder, "%.*s", length ? (int)length : 1, length ? path : ".");
    return stat(folder, info);
}

/* Do both paths mean one file, through links or by another way to the folder? Files that are not there yet
 * are the same if folder and name are. */
static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    int there_a = stat(a, &x) == 0, there_b = stat(b, &y) == 0;
    if (there_a != there_b) return false;
    if (!there_a && (strcmp(name_of(a), name_of(b)) || stat_folder(a, &x) || stat_folder(b, &y)))
        return false;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static surety_status refuse(cli *c, const cli_file *written, const cli_file *other) {
    snprintf(c->error.file, sizeof c->error.file, "%s", written->path);
    snprintf(c->error.expected, sizeof c->error.expected, "another file for --%s", written->option);
    if (other->written)
        return cli_wrong(c, "--%s and --%s are the same file", written->option, other->option);
    return cli_wrong(c, "--%s would write over a file that this command reads%s%s", written->option,
                     other->option ? ": --" : "", other->option ? other->option : "");
}

surety_status cli_file_check(cli *c, const cli_file *file) {
    for (size_t i = 0; i < c->word_count && file->written; i++)
        if (same_file(c->words[i], file->path)) return refuse(c, file, &(cli_file){.path = c->words[i]});
    for (size_t i = 0; i < c->file_count; i++) {
        const cli_file *known = &c->files[i];
        if ((known->written || file->written) && same_file(known->path, file->path))
            return file->written ? refuse(c, file, known) : refuse(c, known, file);
    }
    return SURETY_OK;
}

surety_status cli_file_add(cli *c, const char *option, const char *path, bool written) {
    cli_file file = {option, path, written};
    surety_status status = cli_file_check(c, &file);
    if (status == SURETY_OK && c->file_count < CLI_FILES) c->files[c->file_count++] = file;
    return status;
}

surety_status cli_files_note(cli *c) {
    surety_status status = SURETY_OK;
    for (size_t i = 0; i < c->count && status == SURETY_OK; i++) {
        const cli_option *o = &c->options[i];
        const char *path = o->role == CLI_NO_FILE ? NULL : *(const char *const *)o->target;
        if (path) status = cli_file_add(c, o->name, path, o->role == CLI_WRITTEN);
    }
    return status;
}
