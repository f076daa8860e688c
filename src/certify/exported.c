/* A C file that was exported, against its model: the same bytes as an export made now and, compiled, the same
 * bits.
 *
 * The text of an export is a function of model, certificate and the prefix of its names, so comparing it with
 * one made now shows every change. A file that differs is never compiled or run. Otherwise the compiler's
 * work is checked: by the file's self-check (its test vectors), and by the votes on rows of S. */
#include "certify/exported.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "evaluate/sampler.h"
#include "io/program.h"
#include "io/read.h"
#include "io/write.h"
#include "model/export.h"

enum { ROWS = 1000, WORD = 160 };

typedef struct checking {
    surety_exported *out;
    const surety_verify_settings *s;
    const surety_model *model;
    const surety_certificate *certificate;
    const surety_set *learn;
    surety_differs_fn differs;
    void *arg;
    char *reason;
    surety_file file;
    char prefix[SURETY_EXPORT_PREFIX + 1], digest[65];
    char *folder, *names[6]; /* the temporary folder, and files in it */
    size_t rows, width, d;
    float *x;         /* (rows, d) */
    double *votes;    /* (rows, width) */
    uint8_t *classes; /* (rows) */
} checking;

void surety_certificate_export(const surety_certificate *c, surety_export_settings *s) {
    s->digest = c->digest, s->claim = c->claim, s->certified = c->model.sha256;
    s->tolerance_count = c->tolerance.count;
    s->tolerance_features = c->tolerance.features;
    s->tolerance_radius = c->tolerance.radius, s->tolerance_lo = c->tolerance.lo;
    s->tolerance_hi = c->tolerance.hi;
}

/* ---- the text ---- */

static const char begins[] = ": written by surety export --format c --prefix ";

static surety_status no_export(const checking *c, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "this is no C file that surety export wrote");
    surety_fail_file(err, c->s->exported);
    surety_fail_place(err, "line 1");
    surety_fail_expected(err, "\"/* model%smodel\"", begins);
    return SURETY_E_INPUT;
}

/* Prefix and certificate of the head. */
static surety_status read_head(checking *c, surety_error *err) {
    static const char digest[] = "\n * Certificate, digest ";
    const char *text = (const char *)c->file.data, *at, *end;
    size_t length = c->file.size < 16384 ? c->file.size : 16384;
    char *head;
    SURETY_TRY(surety_alloc(&head, length + 1, 1, err));
    memcpy(head, text, length);
    at = strstr(head, begins);
    end = strstr(head, "*/");
    const char *first = strchr(head, '\n'), *named = strstr(head, digest);
    int fine = at && first && at < first && !strncmp(head, "/* ", 3) && at - head > 3 &&
               at - head <= 3 + SURETY_EXPORT_PREFIX;
    if (fine) memcpy(c->prefix, head + 3, (size_t)(at - head) - 3);
    if (fine && named && (!end || named < end)) snprintf(c->digest, 65, "%.64s", named + sizeof digest - 1);
    surety_free(head);
    return fine ? SURETY_OK : no_export(c, err);
}

static void copy_line(const char *text, size_t size, size_t from, char line[WORD]) {
    size_t length = 0;
    while (from + length < size && text[from + length] != '\n' && length < WORD - 1) length++;
    memcpy(line, text + from, length);
    line[length] = 0;
}

static void compare_text(checking *c, const surety_c_text *made) {
    const char *file = (const char *)c->file.data;
    size_t at = 0, line = 1, from = 0;
    char place[64], stated[WORD], found[WORD];
    while (at < made->length && at < c->file.size && made->text[at] == file[at])
        if (file[at++] == '\n') line++, from = at;
    c->out->same_bytes = at == made->length && at == c->file.size;
    if (c->out->same_bytes) return;
    copy_line(file, c->file.size, from, stated);
    copy_line(made->text, made->length, from, found);
    snprintf(place, sizeof place, "export, line %zu", line);
    c->differs(c->arg, place, stated, found);
    snprintf(
        c->reason, 512,
        "line %zu of the export is not what surety writes for this model: it was changed, or is an export "
        "of another model or by another version. Nothing of it was compiled",
        line);
}

static surety_status check_text(checking *c, surety_error *err) {
    surety_export_settings settings = {.format = "c", .prefix = c->prefix};
    surety_export_result result;
    surety_c_text made;
    if (c->digest[0]) surety_certificate_export(c->certificate, &settings);
    c->out->names_certificate = c->digest[0] != 0;
    if (c->digest[0] && strcmp(c->digest, c->certificate->digest) != 0) {
        c->differs(c->arg, "export, certificate", c->digest, c->certificate->digest);
        snprintf(c->reason, 512, "the export names another certificate");
        return SURETY_OK;
    }
    SURETY_TRY(surety_export_text(c->model, &settings, &made, &result, err));
    c->out->vectors = result.vectors;
    compare_text(c, &made);
    surety_c_free(&made);
    return SURETY_OK;
}

/* ---- the program ---- */

enum { MODEL, MAIN, PROGRAM, INPUT, OUTPUT, MESSAGES };
static const char *const files[] = {"model.c", "main.c", "program", "input", "output", "messages"};

static surety_status make_folder(checking *c, surety_error *err) {
    const char *where = getenv("TMPDIR");
    SURETY_TRY(surety_join(&c->folder, where && where[0] ? where : "/tmp", "/surety-XXXXXX", "", err));
    if (!mkdtemp(c->folder)) {
        surety_fail(err, SURETY_E_SYSTEM, "cannot make a temporary folder");
        surety_fail_file(err, c->folder);
        surety_free(c->folder);
        c->folder = NULL;
        return SURETY_E_SYSTEM;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        SURETY_TRY(surety_join(&c->names[i], c->folder, "/", files[i], err));
    return SURETY_OK;
}

static void remove_folder(checking *c) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (c->names[i]) unlink(c->names[i]);
        surety_free(c->names[i]);
    }
    if (c->folder) rmdir(c->folder);
    surety_free(c->folder);
}

/* Rows spread evenly over S, and what the model says of them. */
static surety_status take_rows(checking *c, surety_error *err) {
    surety_vote vote = surety_model_vote(c->model, SURETY_WEIGHTS_POSTERIOR);
    c->width = surety_voters_width(c->model->voters), c->d = surety_voters_features(c->model->voters);
    c->rows = c->learn ? c->learn->m < ROWS ? c->learn->m : ROWS : 0;
    SURETY_TRY(surety_alloc(&c->x, c->rows * c->d, sizeof *c->x, err));
    SURETY_TRY(surety_alloc(&c->votes, c->rows * c->width, sizeof *c->votes, err));
    SURETY_TRY(surety_alloc(&c->classes, c->rows, 1, err));
    if (c->learn) SURETY_TRY(surety_sampling_has(c->learn, 0, c->learn->m, err));
    for (size_t i = 0; i < c->rows; i++)
        memcpy(c->x + i * c->d, surety_set_row(c->learn, i * c->learn->m / c->rows), c->d * sizeof *c->x);
    return surety_vote_ask(&vote, c->x, c->d, c->rows, (surety_asked){c->votes, c->classes}, NULL, err);
}

/* A program that writes, as doubles: what the self-check says, then class and votes of each row it reads. */
static surety_status write_sources(checking *c, surety_error *err) {
    surety_c_text text = {0};
    char P[SURETY_EXPORT_PREFIX + 1] = "";
    for (size_t i = 0; c->prefix[i]; i++)
        P[i] = (char)(c->prefix[i] >= 'a' ? c->prefix[i] - 'a' + 'A' : c->prefix[i]);
    surety_c_put(&text,
                 "#include <stdio.h>\n"
                 "#define %s_SELF_CHECK\n"
                 "#include \"model.c\"\n"
                 "static float x[%s_FEATURES];\n"
                 "static double v[1 + %s_VOTES];\n"
                 "int main(void) {\n"
                 "    v[0] = %s_self_check();\n"
                 "    fwrite(v, sizeof v[0], 1, stdout);\n"
                 "    while (fread(x, sizeof x, 1, stdin) == 1) {\n"
                 "        v[0] = %s_vote(x, v + 1);\n"
                 "        fwrite(v, sizeof v, 1, stdout);\n"
                 "    }\n"
                 "    return fflush(stdout) != 0;\n"
                 "}\n",
                 P, P, P, c->prefix, c->prefix);
    surety_status status = surety_c_end(&text, err);
    if (status == SURETY_OK) status = surety_write_file(c->names[MAIN], text.text, text.length, err);
    if (status == SURETY_OK) status = surety_write_file(c->names[MODEL], c->file.data, c->file.size, err);
    if (status == SURETY_OK)
        status = surety_write_file(c->names[INPUT], c->x, c->rows * c->d * sizeof *c->x, err);
    surety_c_free(&text);
    return status;
}

/* What a program said, for the reason: its first line with an error, else the first. */
static void first_message(const checking *c, char line[WORD]) {
    surety_file said = {0};
    line[0] = 0;
    if (surety_file_open(&said, c->names[MESSAGES], NULL) != SURETY_OK) return;
    const char *text = (const char *)said.data;
    copy_line(text, said.size, 0, line);
    for (size_t at = 0; at < said.size; at++) {
        char next[WORD];
        if (at && text[at - 1] != '\n') continue;
        copy_line(text, said.size, at, next);
        if (!strstr(next, "error:")) continue;
        memcpy(line, next, sizeof next);
        break;
    }
    surety_file_close(&said);
}

static surety_status run(checking *c, const surety_program *program, const char *in, const char *out,
                         const char *what, surety_error *err) {
    int code = 0;
    char line[WORD];
    surety_status status = surety_program_run(program, in, out, c->names[MESSAGES], &code, err);
    if (status != SURETY_OK) {
        surety_fail_expected(err, "a C compiler: --cc 'gcc', and --emulator 'qemu-arm' for other machines");
        return status;
    }
    if (!code) return SURETY_OK;
    first_message(c, line);
    snprintf(c->reason, 512, "%s ended with code %d: %s", what, code, line[0] ? line : "it said nothing");
    return SURETY_OK;
}

static surety_status compile(checking *c, surety_error *err) {
    const char *own[] = {"-std=c99", "-O2", c->names[MAIN], "-o", c->names[PROGRAM]};
    surety_program compiler = {0}, program = {0};
    char *words, *before = NULL;
    SURETY_TRY(surety_join(&words, c->s->compiler ? c->s->compiler : "cc", "", "", err));
    surety_status status = surety_program_add(&compiler, words, err);
    for (size_t i = 0; i < sizeof own / sizeof *own && status == SURETY_OK; i++)
        status = surety_program_word(&compiler, own[i], err);
    if (status == SURETY_OK) status = run(c, &compiler, NULL, NULL, "the compiler", err);
    if (status == SURETY_OK) status = surety_join(&before, c->s->emulator ? c->s->emulator : "", "", "", err);
    if (status == SURETY_OK) status = surety_program_add(&program, before, err);
    if (status == SURETY_OK) status = surety_program_word(&program, c->names[PROGRAM], err);
    if (status == SURETY_OK && !c->reason[0])
        status = run(c, &program, c->names[INPUT], c->names[OUTPUT], "the compiled export", err);
    surety_free(words);
    surety_free(before);
    return status;
}

/* ---- its answers ---- */

/* Bits; what is not a number has no bits to compare. */
static int same(double a, double b) {
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

static void compare_row(checking *c, size_t i, const double *said) {
    char place[64], stated[32], found[32];
    if (c->reason[0]) return;
    for (size_t k = 0; k < c->width; k++)
        if (!same(said[1 + k], c->votes[i * c->width + k])) {
            snprintf(place, sizeof place, "export, vote %zu of row %zu", k, i);
            c->differs(c->arg, place, surety_shortest(said[1 + k], stated),
                       surety_shortest(c->votes[i * c->width + k], found));
            snprintf(c->reason, 512, "the compiled export has another vote than the model");
            return;
        }
    if (said[0] == (double)c->classes[i]) return;
    snprintf(place, sizeof place, "export, class of row %zu", i);
    c->differs(c->arg, place, surety_shortest(said[0], stated),
               surety_shortest((double)c->classes[i], found));
    snprintf(c->reason, 512, "the compiled export has another answer than the model");
}

static surety_status compare_answers(checking *c, surety_error *err) {
    surety_file said;
    SURETY_TRY(surety_file_open(&said, c->names[OUTPUT], err));
    const double *numbers = (const double *)(const void *)said.data;
    size_t each = 1 + c->width;
    if (said.size != (1 + c->rows * each) * sizeof *numbers)
        snprintf(c->reason, 512, "the compiled export did not answer every row");
    else if (numbers[0] != 0)
        snprintf(c->reason, 512,
                 numbers[0] < 0
                     ? "the self-check of the compiled export says that the machine's arithmetic is "
                       "not what the file demands (%d)"
                     : "the self-check of the compiled export says that test vector %d has other bits",
                 (int)numbers[0] - (numbers[0] > 0));
    for (size_t i = 0; i < c->rows && !c->reason[0]; i++) compare_row(c, i, numbers + 1 + i * each);
    surety_file_close(&said);
    if (!c->reason[0]) c->out->rows = c->rows;
    return SURETY_OK;
}

static surety_status check(checking *c, surety_error *err) {
    SURETY_TRY(surety_file_open(&c->file, c->s->exported, err));
    SURETY_TRY(read_head(c, err));
    SURETY_TRY(check_text(c, err));
    if (c->reason[0]) return SURETY_OK;
    SURETY_TRY(make_folder(c, err));
    SURETY_TRY(take_rows(c, err));
    SURETY_TRY(write_sources(c, err));
    SURETY_TRY(compile(c, err));
    return c->reason[0] ? SURETY_OK : compare_answers(c, err);
}

surety_status surety_exported_check(const surety_export_check *what, surety_exported *out, char reason[512],
                                    surety_error *err) {
    checking c = {.out = out,
                  .s = what->s,
                  .model = what->model,
                  .certificate = what->certificate,
                  .learn = what->learn,
                  .differs = what->differs,
                  .arg = what->arg,
                  .reason = reason};
    out->checked = 1;
    surety_status status = check(&c, err);
    remove_folder(&c);
    surety_file_close(&c.file);
    surety_free(c.x);
    surety_free(c.votes);
    surety_free(c.classes);
    return status;
}
