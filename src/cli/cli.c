#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/parts.h"

/* ---- reading and showing values ---- */

static surety_status bad_value(surety_error *err, const char *text, const char *expected) {
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not %s", text, expected);
    return SURETY_E_USAGE;
}

static surety_status read_u64(const char *text, void *target, surety_error *err) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno) return bad_value(err, text, "a whole number");
    *(uint64_t *)target = value;
    return SURETY_OK;
}

static surety_status read_size(const char *text, void *target, surety_error *err) {
    uint64_t value;
    if (read_u64(text, &value, err) != SURETY_OK) return SURETY_E_USAGE;
    if (value > SIZE_MAX / 2) return bad_value(err, text, "a number of this machine's range");
    *(size_t *)target = (size_t)value;
    return SURETY_OK;
}

/* 4096, 512k, 500M, 16G: units of 1024. */
static surety_status read_bytes(const char *text, void *target, surety_error *err) {
    static const char units[] = "kMG";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (text[0] < '0' || text[0] > '9' || errno || (*end && (!unit || end[1])) || !value ||
        value > (UINT64_MAX / 2) >> shift)
        return bad_value(err, text, "a size in bytes such as 500M or 16G");
    *(uint64_t *)target = (uint64_t)value << shift;
    return SURETY_OK;
}

static const char *show_bytes(const void *target, char *buffer, size_t size) {
    uint64_t bytes = *(const uint64_t *)target, gigas = bytes >> 30;
    snprintf(buffer, size, gigas << 30 == bytes ? "%lluG" : "%llu",
             (unsigned long long)(gigas << 30 == bytes ? gigas : bytes));
    return buffer;
}

static surety_status read_int(const char *text, void *target, surety_error *err) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value > 1000000000 || value < -1000000000)
        return bad_value(err, text, "a whole number");
    *(int *)target = (int)value;
    return SURETY_OK;
}

static surety_status read_real(const char *text, void *target, surety_error *err) {
    char *end;
    double value = surety_number(text, &end);
    if (end == text || *end || !isfinite(value)) return bad_value(err, text, "a number");
    *(double *)target = value;
    return SURETY_OK;
}

static surety_status read_text(const char *text, void *target, surety_error *err) {
    (void)err;
    *(const char **)target = text;
    return SURETY_OK;
}

static const char *show_u64(const void *target, char *buffer, size_t size) {
    snprintf(buffer, size, "%llu", (unsigned long long)*(const uint64_t *)target);
    return buffer;
}

static const char *show_size(const void *target, char *buffer, size_t size) {
    snprintf(buffer, size, "%zu", *(const size_t *)target);
    return buffer;
}

static const char *show_int(const void *target, char *buffer, size_t size) {
    snprintf(buffer, size, "%d", *(const int *)target);
    return buffer;
}

static const char *show_real(const void *target, char *buffer, size_t size) {
    snprintf(buffer, size, "%g", *(const double *)target);
    return isnan(*(const double *)target) ? NULL : buffer;
}

static const char *show_text(const void *target, char *buffer, size_t size) {
    (void)buffer, (void)size;
    return *(const char *const *)target;
}

/* ---- options ---- */

void cli_other(cli *c, const char *name, const char *value, void *target, cli_read_fn read, cli_show_fn show,
               const char *help) {
    if (c->count < CLI_OPTIONS)
        c->options[c->count++] = (cli_option){name, value, help, target, read, show, CLI_NO_FILE, NULL};
}

void cli_flag(cli *c, const char *name, bool *target, const char *help) {
    cli_other(c, name, NULL, target, NULL, NULL, help);
}

void cli_size(cli *c, const char *name, const char *value, size_t *target, const char *help) {
    cli_other(c, name, value, target, read_size, show_size, help);
}

void cli_u64(cli *c, const char *name, const char *value, uint64_t *target, const char *help) {
    cli_other(c, name, value, target, read_u64, show_u64, help);
}

void cli_int(cli *c, const char *name, const char *value, int *target, const char *help) {
    cli_other(c, name, value, target, read_int, show_int, help);
}

void cli_real(cli *c, const char *name, const char *value, double *target, const char *help) {
    cli_other(c, name, value, target, read_real, show_real, help);
}

void cli_text(cli *c, const char *name, const char *value, const char **target, const char *help) {
    cli_other(c, name, value, (void *)target, read_text, show_text, help);
}

void cli_choice(cli *c, const char *name, const char *value, const char **target, const char *choices,
                const char *help) {
    cli_text(c, name, value, target, help);
    c->options[c->count - 1].choices = choices;
}

void cli_input(cli *c, const char *name, const char *value, const char **target, const char *help) {
    cli_text(c, name, value, target, help);
    c->options[c->count - 1].role = CLI_READ;
}

void cli_output(cli *c, const char *name, const char *value, const char **target, const char *help) {
    cli_text(c, name, value, target, help);
    c->options[c->count - 1].role = CLI_WRITTEN;
}

surety_status cli_wrong(cli *c, const char *format, ...) {
    if (c->error.code == SURETY_OK) {
        va_list args;
        va_start(args, format);
        c->error.code = SURETY_E_USAGE;
        vsnprintf(c->error.what, sizeof c->error.what, format, args);
        va_end(args);
        if (c->command && !c->error.expected[0])
            snprintf(c->error.expected, sizeof c->error.expected, "see 'surety help %s'", c->command->name);
    }
    return SURETY_E_USAGE;
}

void cli_print_wrapped(const char *text, int indent, int at) {
    int blanks = 0; /* before the next word, printed with it: no line ends with one */
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (at + blanks > indent && at + blanks + (int)length > 79) {
            cli_print("\n");
            at = blanks = 0;
        }
        if (at < indent) {
            cli_print("%*s", indent - at, "");
            at = indent;
        }
        cli_print("%*s%.*s", blanks, "", (int)length, text);
        at += blanks + (int)length;
        text += length;
        blanks = 0;
        if (*text == '\n') {
            cli_print("\n");
            at = 0;
        } else if (*text) {
            blanks = 1;
        }
        text += *text != 0;
    }
    cli_print("\n");
}

void cli_print_fact(const char *name, int width, const char *format, ...) {
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_print("%-*s ", width, name);
    cli_print_wrapped(text, width + 1, width + 1);
}

/* The option of that name; an unambiguous beginning is enough, as with getopt_long. */
static const cli_option *find_option(const cli *c, const char *name, size_t length, size_t *matches) {
    const cli_option *found = NULL;
    *matches = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (strncmp(c->options[i].name, name, length)) continue;
        if (strlen(c->options[i].name) == length) return *matches = 1, &c->options[i];
        found = &c->options[i];
        (*matches)++;
    }
    return *matches == 1 ? found : NULL;
}

/* What people write who know another command, or another program. */
static const struct {
    const char *word, *option;
} other_words[] = {
    {"attack", "defense"},    {"attack", "attacks"},      {"attacks", "defense"},    {"attacks", "attack"},
    {"defense", "attack"},    {"defense", "attacks"},     {"epsilon", "eps"},        {"radius", "eps"},
    {"alpha", "delta"},       {"confidence", "delta"},    {"output", "out"},         {"save", "out"},
    {"linear", "kind"},       {"model", "kind"},          {"n-estimators", "trees"}, {"max-depth", "depth"},
    {"learning-rate", "lr"},  {"target", "label-column"}, {"label", "label-column"}, {"data", "train"},
    {"input", "train"},       {"random-state", "seed"},   {"jobs", "threads"},       {"batch-size", "batch"},
    {"standardize", "scale"}, {"normalize", "scale"},     {"group", "unit"},         {"id", "unit"}};

static const char *other_word(const cli *c, const char *name) {
    for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
        for (size_t k = 0; k < c->count && !strcmp(name, other_words[i].word); k++)
            if (!strcmp(c->options[k].name, other_words[i].option)) return other_words[i].option;
    return NULL;
}

static surety_status unknown_option(cli *c, const char *word, size_t length, size_t matches) {
    const char *names[CLI_OPTIONS];
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    for (size_t i = 0; i < c->count; i++) names[i] = c->options[i].name;
    const char *other = other_word(c, name), *nearest = other ? other : surety_nearest(name, names, c->count);
    if (matches > 1) return cli_wrong(c, "option --%s could mean several: write it out", name);
    if (nearest) return cli_wrong(c, "unknown option --%s: did you mean --%s?", name, nearest);
    return cli_wrong(c, "unknown option --%s", name);
}

static surety_status take_option(cli *c, int *at) {
    const char *word = c->argv[*at] + 2, *equals = strchr(word, '=');
    size_t matches, length = equals ? (size_t)(equals - word) : strlen(word);
    const cli_option *o = find_option(c, word, length, &matches);
    if (!o) return unknown_option(c, word, length, matches);
    if (c->given_count < CLI_OPTIONS) c->given[c->given_count++] = o->name;
    if (!o->read) {
        if (equals) return cli_wrong(c, "option --%s takes no value", o->name);
        *(bool *)o->target = true;
        return SURETY_OK;
    }
    const char *value = equals ? equals + 1 : *at + 1 < c->argc ? c->argv[++*at] : NULL;
    if (!value) return cli_wrong(c, "option --%s needs a value: %s", o->name, o->value);
    surety_error err = SURETY_ERROR_NONE;
    if (o->read(value, o->target, &err) == SURETY_OK) return SURETY_OK;
    snprintf(c->error.expected, sizeof c->error.expected, "%s", err.expected);
    return cli_wrong(c, "option --%s: %s", o->name, err.what);
}

surety_status cli_parse(cli *c, size_t min_words, size_t max_words) {
    bool help = false, mpi = false;
    cli_int(c, "threads", "N", &c->run.threads, "threads; 0 is one per core; results never depend on it");
    cli_other(c, "largest-file", "SIZE", &c->largest_file, read_bytes, show_bytes,
              "files that are larger, decompressed, are refused; in bytes, or as 500M, 16G");
    cli_flag(c, "mpi", &mpi, "one of several processes; under mpirun this is noticed without it");
    cli_flag(c, "json", &c->json, "print one JSON document instead of text");
    cli_flag(c, "quiet", &c->quiet, "no progress and no messages");
    cli_flag(c, "help", &help, "this text");
    for (int i = 0; i < c->argc; i++)
        if (!strcmp(c->argv[i], "--help") || !strcmp(c->argv[i], "-h")) help = true;
    if (help) {
        cli_help(c);
        c->helped = true;
        return SURETY_OK;
    }
    bool only_words = false;
    surety_status status = cli_part_words(c);
    if (status != SURETY_OK) return status;
    if (!(c->words = calloc((size_t)c->argc + 1, sizeof *c->words))) return SURETY_E_MEMORY;
    for (int i = 0; i < c->argc; i++) {
        if (!only_words && !strcmp(c->argv[i], "--")) {
            only_words = true;
        } else if (!only_words && !strncmp(c->argv[i], "--", 2)) {
            if (take_option(c, &i) != SURETY_OK) return SURETY_E_USAGE;
        } else if (!only_words && c->argv[i][0] == '-' && c->argv[i][1]) {
            return cli_wrong(c, "unknown option %s: options are written --name", c->argv[i]);
        } else if (c->word_count < max_words) {
            c->words[c->word_count++] = c->argv[i];
        } else {
            return cli_wrong(c, "'%s' is one word too many: surety %s %s", c->argv[i], c->command->name,
                             c->command->usage);
        }
    }
    if (c->word_count < min_words)
        return cli_wrong(c, "something is missing: surety %s %s", c->command->name, c->command->usage);
    if (c->run.threads < 0 || c->run.threads > 4096)
        return cli_wrong(c, "option --threads takes 0 to 4096, not %d", c->run.threads);
    if (!c->quiet) c->run.progress = cli_progress, c->run.progress_arg = c;
    surety_reading(&c->run, c->largest_file);
    surety_streaming(c->stream);
    return cli_files_note(c);
}

const cli_option *cli_option_of(const cli *c, const char *word) {
    size_t matches;
    if (strncmp(word, "--", 2) || !word[2]) return NULL;
    return find_option(c, word + 2, strcspn(word + 2, "="), &matches);
}

bool cli_given(const cli *c, const char *name) {
    for (size_t i = 0; i < c->given_count; i++)
        if (!strcmp(c->given[i], name)) return true;
    return false;
}

/* ---- messages and progress ---- */

surety_status cli_print_json(cli *c, char *json) {
    if (!json) {
        c->error.code = SURETY_E_MEMORY;
        snprintf(c->error.what, sizeof c->error.what, "no memory for the answer");
        return SURETY_E_MEMORY;
    }
    cli_put(stdout, json);
    cli_put(stdout, "\n");
    surety_text_free(json);
    return SURETY_OK;
}

surety_status cli_unreadable(cli *c, const char *file) {
    c->error.code = errno == ENOENT || errno == ENOTDIR ? SURETY_E_INPUT : SURETY_E_SYSTEM;
    snprintf(c->error.what, sizeof c->error.what, "it cannot be read: %s", strerror(errno));
    snprintf(c->error.file, sizeof c->error.file, "%s", file);
    return c->error.code;
}

surety_status cli_check_out(cli *c, const char *path) {
    const char *slash = strrchr(path, '/');
    char folder[4096];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    if (!access(folder, W_OK | X_OK)) return SURETY_OK;
    c->error.code = SURETY_E_SYSTEM;
    snprintf(c->error.what, sizeof c->error.what, "nothing can be written to the folder %.300s: %.80s",
             folder, strerror(errno));
    snprintf(c->error.file, sizeof c->error.file, "%s", path);
    return SURETY_E_SYSTEM;
}

double cli_limit(double value, int digits) {
    double scale = pow(10, digits), up = ceil(value * scale) / scale;
    return up < value ? up + 1 / scale : up;
}

/* The progress line: phase, bar, share, time left. Drawn at most ten times a second, on a terminal only. What
 * a phase wants to say gets a line of its own, on every 5 % of the way or after 10 seconds: hundreds of
 * epochs are not hundreds of lines. */
static struct {
    char phase[64];
    double began, drawn, said; /* seconds */
    int percent;               /* of the line said last */
    bool open;
} line;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress_end(cli *c) {
    (void)c;
    if (line.open) fprintf(stderr, "\r\033[K");
    line.open = false;
}

static void draw(const surety_progress *p, double now) {
    enum { WIDTH = 20 };
    char left[32] = "";
    double share = p->total ? (double)p->done / (double)p->total : 0, spent = now - line.began;
    int filled = (int)(share * WIDTH);
    if (share > 0 && spent > 1) {
        long rest = (long)(spent * (1 - share) / share + 0.5);
        snprintf(left, sizeof left, "%ld:%02ld:%02ld left", rest / 3600, rest / 60 % 60, rest % 60);
    }
    fprintf(stderr, "\r%-24.24s [%.*s%.*s] %3d%% %s\033[K", p->phase, filled, "####################",
            WIDTH - filled, "....................", (int)(share * 100), left);
    line.open = true;
    line.drawn = now;
}

void cli_progress(void *arg, const surety_progress *p) {
    cli *c = arg;
    double now = seconds();
    if (strcmp(line.phase, p->phase)) {
        snprintf(line.phase, sizeof line.phase, "%s", p->phase);
        line.began = now;
        line.drawn = 0;
        line.percent = -5;
    }
    bool terminal = isatty(STDERR_FILENO);
    int percent = p->total ? (int)(100 * p->done / p->total) : 0;
    if (p->text[0] && (percent >= line.percent + 5 || p->done == p->total || now >= line.said + 10)) {
        if (terminal) cli_progress_end(c);
        cli_print_to(stderr, "%s %d %%: %s\n", p->phase, percent, p->text);
        line.drawn = 0;
        line.said = now;
        line.percent = percent;
    }
    if (terminal && p->done < p->total && now - line.drawn >= 0.1) draw(p, now);
    if (terminal && p->done == p->total) cli_progress_end(c);
}
