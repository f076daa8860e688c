/* The command line: a line of the input is a word. The folder has a table, a model and a certificate of it.
 * The command ends, soon after it is asked to, with an exit code that is known; with --json it prints JSON;
 * and no file is changed but one that is named once (it may be the output). */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "fuzz.h"
#include "io/json.h"

enum { WORDS = 40, FILES = 3, ROWS = 60 };

static struct file {
    const char *path, *name;
    char bytes[1 << 15];
    size_t size;
} files[FILES] = {{"work/t.csv", "t.csv", "", 0}, {"work/m", "m", "", 0}, {"work/c.json", "c.json", "", 0}};

static void read_into(struct file *f) {
    FILE *file = fopen(fuzz_path(f->path), "rb");
    f->size = file ? fread(f->bytes, 1, sizeof f->bytes, file) : 0;
    if (file) fclose(file);
}

/* The rows of the small world, as a text. */
static void write_table(struct file *f) {
    FILE *file = fmemopen(f->bytes, sizeof f->bytes, "w");
    uint32_t state = 1;
    fprintf(file, "a,b,c,y\n");
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < 3; j++) {
            state = 1664525 * state + 1013904223;
            fprintf(file, "%.5f,", 0.5 * (i % 2) + 0.5 * (state >> 8) / 16777216.0);
        }
        fprintf(file, "%d\n", i % 2);
    }
    f->size = (size_t)ftell(file);
    fclose(file);
}

/* What the command writes goes into the file; returns the exit code. */
static int speak(int argc, char **argv, FILE *said) {
    int kept[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)}, none = open("/dev/null", O_WRONLY);
    fflush(NULL);
    require(dup2(fileno(said), STDOUT_FILENO) >= 0 && dup2(none, STDERR_FILENO) >= 0);
    int code = cli_main(argc, argv);
    fflush(NULL);
    require(dup2(kept[0], STDOUT_FILENO) >= 0 && dup2(kept[1], STDERR_FILENO) >= 0);
    close(kept[0]), close(kept[1]), close(none);
    return code;
}

/* The command in its folder, asked to stop after half a second; the signals are libFuzzer's again. */
static int run(int argc, char **argv, FILE *said) {
    const int signals[] = {SIGTERM, SIGINT, SIGXFSZ};
    const struct itimerspec soon = {.it_value.tv_nsec = 500000000}, never = {0};
    struct sigaction kept[3];
    struct sigevent ask = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
    timer_t timer;
    int here = open(".", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3; i++) sigaction(signals[i], NULL, &kept[i]);
    require(here >= 0 && chdir(fuzz_path("work")) == 0);
    require(timer_create(CLOCK_MONOTONIC, &ask, &timer) == 0 && timer_settime(timer, 0, &soon, NULL) == 0);
    int code = speak(argc, argv, said);
    require(timer_settime(timer, 0, &never, NULL) == 0 && timer_delete(timer) == 0);
    for (int i = 0; i < 3; i++) sigaction(signals[i], &kept[i], NULL);
    require(fchdir(here) == 0 && close(here) == 0);
    return code;
}

/* The folder as it was in the beginning. */
static void begin(void) {
    fuzz_sweep(fuzz_path("state")), fuzz_sweep(fuzz_path("work"));
    require(mkdir(fuzz_path("work"), 0700) == 0);
    for (int i = 0; i < FILES; i++)
        if (files[i].size) fuzz_file(files[i].path, files[i].bytes, files[i].size);
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Words that lead out of the folder, to the network, to large files or to other processes, and numbers that
 * are work for hours. */
static int is_outside(const char *word) {
    size_t digits = 0;
    for (const char *at = word; *at; at++) {
        digits = is_digit(*at) ? digits + 1 : 0;
        if (*at == '/' && (at == word || !is_digit(at[-1]) || !is_digit(at[1]))) return 1; /* 1/2 is a part */
        if (digits > 2 && !is_digit(at[1]) && digits < 19) return 1;
    }
    return !strcmp(word, "..") || !strcmp(word, "reproduce") || !strcmp(word, "fetch") ||
           !strcmp(word, "--mpi") || !strncmp(word, "--th", 4) || !strncmp(word, "--ta", 4);
}

static int split(char *text, char **argv) {
    static char name[] = "surety", quiet[] = "--quiet", threads[] = "--threads=1";
    int argc = 0, first = 1;
    argv[argc++] = name;
    for (char *word = text, *end; word && *word && argc < WORDS - 1; word = end) {
        if ((end = strchr(word, '\n'))) *end++ = 0;
        if (is_outside(word)) return 0;
        argv[argc++] = word;
        if (first && strcmp(word, "help") != 0) argv[argc++] = threads, argv[argc++] = quiet;
        first = 0;
    }
    argv[argc] = NULL;
    return argc;
}

static void prepare(void) {
    char make[2][100] = {
        "train\n--train\nt.csv\n--scale\nnone\n--eps\n0.1\n--trees\n2\n--epochs\n1\n--out\nm",
        "certify\nm\n--train\nt.csv\n--looks\n1\n--despite-test\n--out\nc.json"};
    char *argv[WORDS + 3];
    FILE *said = tmpfile();
    require(said && setenv("XDG_STATE_HOME", fuzz_path("state"), 1) == 0 && setenv("CC", "false", 1) == 0);
    write_table(&files[0]);
    begin();
    for (int i = 0; i < 2; i++) require(run(split(make[i], argv), argv, said) == 0);
    read_into(&files[1]), read_into(&files[2]);
    fclose(said);
}

/* How often it is a word, or the value of one. */
static int count(int argc, char **argv, const char *word) {
    int found = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        found += !strcmp(argv[i], word) || (value && !strcmp(value + 1, word));
    }
    return found;
}

static void check_said(FILE *said, int argc, char **argv) {
    static char text[1 << 20];
    surety_error err = SURETY_ERROR_NONE;
    json_t *root = NULL;
    if (count(argc, argv, "--json") != 1 || count(argc, argv, "--help") || count(argc, argv, "-h") ||
        count(argc, argv, "help"))
        return;
    rewind(said);
    size_t size = fread(text, 1, sizeof text, said);
    if (!size || size == sizeof text) return;
    require(surety_json_parse(&root, text, size, "output", &err) == SURETY_OK);
    json_decref(root);
}

static void check_files(int argc, char **argv) {
    static struct file now;
    for (int i = 0; i < FILES; i++) {
        now.path = files[i].path;
        read_into(&now);
        if (now.size == files[i].size && !memcmp(now.bytes, files[i].bytes, now.size)) continue;
        require(count(argc, argv, files[i].name) == 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static char text[4096];
    char *argv[WORDS + 3];
    if (!files[0].size) prepare();
    if (size >= sizeof text) return 0;
    memcpy(text, bytes, size), text[size] = 0;
    int argc = split(text, argv);
    if (!argc) return 0;
    FILE *said = tmpfile();
    require(said);
    begin();
    int code = run(argc, argv, said);
    require(code >= 0 && code <= 5);
    fuzz_accepted += code == 0;
    check_said(said, argc, argv);
    fclose(said);
    check_files(argc, argv);
    return 0;
}

void fuzz_seeds(fuzz_take take) {
    static const char *const lines[] = {
        "train\n--train\nt.csv\n--out\nnew\n--epochs\n1\n--trees\n2\n--norm\nl2\n--eps\n0.1\n--json",
        "train\n--train\nt.csv\n--out\nnew\n--kind\ntrees\n--trees\n1\n--depth\n2\n--holdout\n0.3",
        "certify\nm\n--train\nt.csv\n--looks\n2\n--attack\npgdu\n--samples\n2\n--steps\n1\n--out\nnew",
        "certify\nm\n--train\nt.csv\n--looks\n1\n--per-class\n--part\n1/2\n--part-file\np\n--json",
        "verify\nc.json\n--model\nm\n--train\nt.csv\n--json",
        "evaluate\nm\n--train\nt.csv\n--attacks\nnone,worst-case\n--per-example\ne.csv\n--json",
        "curve\nm\n--train\nt.csv\n--attacks\npgd\n--eps-grid\n0:0.2:0.1\n--steps\n2\n--out\nnew",
        "attack\nm\n--train\nt.csv\n--attack\npgd\n--steps\n2\n--out\nX.npy\n--json",
        "predict\nm\nt.csv\n--classes\nC.csv\n--prove\n--radius\n--json",
        "export\nm\n--out\nm.c\n--certificate\nc.json\n--json",
        "inspect\nm\n--json",
        "looks\nm\n--json",
        "monitor\nc.json\n--alpha\n0.1\n--json",
        "plan\n--promise\n0.05\n--expected\n0.02\n--rows\n99\n--json",
        "report\nm\nc.json\n--out\npage.html",
        "data\nshow\n--train\nt.csv\n--unit\na\n--json",
        "help\ncertify"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) take(lines[i], strlen(lines[i]));
}
