/* The log of looks at S (docs/certificates.md, "The log"): one line per event,
 *     TIME COMMAND DIGEST-OF-S SHA256-OF-MODEL WHAT
 * with one space between fields; WHAT is the rest of the line. Lines are only ever appended, each by one
 * write to a file opened with O_APPEND, so that several processes do not cut each other's lines. A line that
 * does not read so (a full disk cut it) is left out. Nothing in a certificate depends on this file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "certify/certificate.h"
#include "io/json.h"
#include "io/read.h"

/* ---- where ---- */

static surety_status folder_of(char **out, surety_error *err) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/') return surety_join(out, state, "/surety", "", err);
    if (home && home[0] == '/') return surety_join(out, home, "/.local/state/surety", "", err);
    surety_fail(err, SURETY_E_SYSTEM, "there is no folder for the log of looks");
    surety_fail_expected(err, "HOME or XDG_STATE_HOME in the environment");
    return SURETY_E_SYSTEM;
}

static surety_status path_of(char **out, int make_folder, surety_error *err) {
    char *folder = NULL;
    *out = NULL;
    SURETY_TRY(folder_of(&folder, err));
    surety_status status = make_folder ? surety_folder_make(folder, err) : SURETY_OK;
    if (status == SURETY_OK) status = surety_join(out, folder, "/looks", "", err);
    surety_free(folder);
    return status;
}

/* ---- what a certificate asked of S ---- */

static surety_look look_of(const char *learn, const char *model) {
    surety_look look = {.command = "certify"};
    memcpy(look.learn, learn, sizeof look.learn);
    memcpy(look.model, model, sizeof look.model);
    return look;
}

/* A limit, rounded up. */
static double six_digits(double limit) {
    double up = ceil(1e6 * limit) / 1e6;
    return up < limit ? up + 1e-6 : up;
}

/* Before the beginning of the SHA-256 of the file of which S is one draw: a split by another seed is another
 * S, and whoever keeps the best of several has looked as often. A task has one S. */
static const char drawn_from[] = ", of file ";
enum { FILE_DIGITS = 16 };

surety_look surety_certificate_look(const surety_certificate *c) {
    surety_look look = look_of(c->data.sha256_learn, c->model.sha256);
    int drawn = c->data.shuffled && !c->data.fresh && !c->data.task[0] && c->data.file_count;
    surety_format(look.what, sizeof look.what, "%.16s %s %.6f, %s %s %g, looks %" PRIu64 "%s%.*s", c->digest,
                  c->bound, six_digits(c->value), c->attack.name, c->attack.norm, c->attack.radius,
                  c->inputs.looks, drawn ? drawn_from : "", FILE_DIGITS,
                  drawn ? c->data.files[0].sha256 : "");
    return look;
}

surety_look surety_votes_certificate_look(const surety_votes_certificate *c) {
    surety_look look = look_of(surety_votes_certificate_learn(c), c->sha256.votes);
    char of[96] = "votes";
    if (c->of[0]) snprintf(of, sizeof of, "votes of '%.80s'", c->of);
    surety_format(look.what, sizeof look.what, "%.16s %s %.6f, %s, looks %" PRIu64, c->digest, c->bound,
                  six_digits(c->value), of, c->inputs.looks);
    return look;
}

/* ---- adding ---- */

static surety_status append(const char *path, const char *line, size_t length, surety_error *err) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return surety_fail_errno(err, SURETY_E_SYSTEM, "open", path, errno);
    errno = 0;
    ssize_t written = write(file, line, length);
    int number = errno ? errno : ENOSPC;
    if (close(file) || written != (ssize_t)length)
        return surety_fail_errno(err, SURETY_E_SYSTEM, "write", path, number);
    return SURETY_OK;
}

surety_status surety_looks_add(const surety_look *look, surety_error *err) {
    char line[sizeof *look + 8], now[sizeof look->time], *path;
    time_t seconds = time(NULL);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || !strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return surety_fail(err, SURETY_E_SYSTEM, "the clock does not say what time it is");
    int length = snprintf(line, sizeof line, "%s %s %s %s %s", look->time[0] ? look->time : now,
                          look->command, look->learn, look->model, look->what);
    for (int i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ') line[i] = ' ';
    line[length] = '\n';
    SURETY_TRY(path_of(&path, 1, err));
    surety_status status = append(path, line, (size_t)length + 1, err);
    surety_free(path);
    return status;
}

/* ---- reading ---- */

/* The next word of a line into field; 0 if it does not fit or nothing follows it. */
static int take(const char **at, const char *end, char *field, size_t size) {
    const char *space = memchr(*at, ' ', (size_t)(end - *at));
    size_t length = space ? (size_t)(space - *at) : 0;
    if (!length || length >= size) return 0;
    memcpy(field, *at, length);
    field[length] = 0;
    *at = space + 1;
    return 1;
}

static int read_line(surety_look *look, const char *at, const char *end) {
    *look = (surety_look){0};
    if (!take(&at, end, look->time, sizeof look->time) ||
        !take(&at, end, look->command, sizeof look->command) ||
        !take(&at, end, look->learn, sizeof look->learn) || !take(&at, end, look->model, sizeof look->model))
        return 0;
    size_t length = (size_t)(end - at);
    if (!length || length >= sizeof look->what || strlen(look->learn) != 64 || strlen(look->model) != 64)
        return 0;
    memcpy(look->what, at, length);
    return 1;
}

static surety_status read_lines(surety_looks *out, const surety_file *file, const char *learn,
                                surety_error *err) {
    const char *at = (const char *)file->data, *end = at + file->size, *line_end;
    size_t lines = 0;
    for (const char *p = at; p < end; p++) lines += *p == '\n';
    SURETY_TRY(surety_alloc(&out->look, lines + 1, sizeof *out->look, err));
    for (; at < end && (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1) {
        surety_look *look = &out->look[out->count];
        out->count += read_line(look, at, line_end) && (!learn || !strcmp(look->learn, learn));
    }
    return SURETY_OK;
}

surety_status surety_looks_read(const char *learn, surety_looks *out, surety_error *err) {
    char *path;
    int there = 0;
    surety_file file = {0};
    *out = (surety_looks){0};
    SURETY_TRY(path_of(&path, 0, err));
    surety_status status = surety_path_look(path, &there, err);
    if (status == SURETY_OK && there) {
        status = surety_file_open(&file, path, err);
        if (status == SURETY_OK) status = read_lines(out, &file, learn, err);
        surety_file_close(&file);
    }
    surety_free(path);
    return status;
}

void surety_looks_free(surety_looks *looks) {
    surety_free(looks->look);
    *looks = (surety_looks){0};
}

/* ---- counting ---- */

/* The same certificate made twice is one. */
static int is_first(const surety_looks *looks, size_t i) {
    const surety_look *look = looks->look;
    for (size_t k = 0; k < i; k++)
        if (!strcmp(look[k].learn, look[i].learn) && !strcmp(look[k].command, look[i].command) &&
            !strcmp(look[k].model, look[i].model) && !strcmp(look[k].what, look[i].what))
            return 0;
    return 1;
}

/* The file of which the S of a certificate is a draw; NULL: none is named. */
static const char *file_of(const surety_look *look) {
    const char *at = strcmp(look->command, "certify") ? NULL : strstr(look->what, drawn_from);
    return at && strlen(at) == sizeof drawn_from - 1 + FILE_DIGITS ? at : NULL;
}

/* Certificates of other draws from the file of which this S is one. */
static uint64_t count_draws(const surety_looks *looks, const char *learn) {
    const char *file = NULL;
    uint64_t count = 0;
    for (size_t i = 0; i < looks->count && !file; i++)
        if (!strcmp(looks->look[i].learn, learn)) file = file_of(&looks->look[i]);
    for (size_t i = 0; i < looks->count && file; i++) {
        const char *other = strcmp(looks->look[i].learn, learn) ? file_of(&looks->look[i]) : NULL;
        count += other && !strcmp(other, file) && is_first(looks, i);
    }
    return count;
}

surety_look_count surety_looks_count(const surety_looks *looks, const char *learn) {
    surety_look_count count = {.other_draws = count_draws(looks, learn)};
    for (size_t i = 0; i < looks->count; i++) {
        const surety_look *look = &looks->look[i];
        if (strcmp(look->learn, learn) != 0) continue;
        if (!strcmp(look->command, "certify"))
            count.certificates += (uint64_t)is_first(looks, i);
        else if (!strcmp(look->command, "train"))
            count.trainings++;
        else
            count.evaluations++;
    }
    return count;
}

static json_t *event_json(const surety_look *look) {
    return SURETY_JSON_OBJECT(
        {"time", surety_json_string(look->time)}, {"command", surety_json_string(look->command)},
        {"model", surety_json_string(look->model)}, {"what", surety_json_string(look->what)});
}

static json_t *set_json(const surety_looks *looks, const char *learn) {
    surety_look_count count = surety_looks_count(looks, learn);
    json_t *events = json_array();
    for (size_t i = 0; i < looks->count; i++)
        if (!strcmp(looks->look[i].learn, learn) &&
            json_array_append_new(events, event_json(&looks->look[i])) != 0) {
            json_decref(events);
            events = NULL;
        }
    return SURETY_JSON_OBJECT({"sha256_learn", surety_json_string(learn)},
                              {"certificates", surety_json_count(count.certificates)},
                              {"evaluations", surety_json_count(count.evaluations)},
                              {"trainings", surety_json_count(count.trainings)}, {"events", events});
}

int surety_looks_begins(const surety_looks *looks, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (!strcmp(looks->look[k].learn, looks->look[i].learn)) return 0;
    return 1;
}

char *surety_looks_json(const surety_looks *looks) {
    json_t *sets = json_array();
    int failed = !sets;
    for (size_t i = 0; i < looks->count && !failed; i++)
        if (surety_looks_begins(looks, i))
            failed = json_array_append_new(sets, set_json(looks, looks->look[i].learn)) != 0;
    if (!failed) return surety_json_text(SURETY_JSON_OBJECT({"sets", sets}));
    json_decref(sets);
    return NULL;
}
