/* From the cells of a folder to results.csv and results.json, and back from the CSV. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "io/read.h"
#include "io/write.h"
#include "study/study.h"

static const char header[] =
    "task,norm,algorithm,defense,attack,voters,quantity,value,seed,published,difference";

/* ---- collecting ---- */

typedef struct collection {
    surety_results results;
    json_t *cells; /* what results.json repeats of them */
} collection;

/* The value that a row of a cell has for a quantity of the tables. */
static double value_of(const json_t *row, surety_quantity quantity) {
    static const char *const bounds[] = {"chromatic_seeger", "average_max", "average_max_tv"};
    const json_t *value =
        quantity < SURETY_BOUND_OF_SEEGER
            ? json_object_get(row, surety_quantity_name(quantity))
            : json_object_get(json_object_get(row, "bounds"), bounds[quantity - SURETY_BOUND_OF_SEEGER]);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static surety_status take_rows(surety_results *r, const surety_cell *cell, const json_t *found,
                               surety_error *err) {
    size_t at;
    const json_t *row;
    if (cell->defense == SURETY_WORST_CASE) return SURETY_OK; /* not in print */
    json_array_foreach(json_object_get(found, "rows"), at, row) {
        const char *algorithm = json_string_value(json_object_get(row, "algorithm"));
        const char *attack = json_string_value(json_object_get(row, "attack"));
        surety_printed key = {.task = cell->task,
                              .norm = cell->norm,
                              .defense = (surety_threat_kind)cell->defense,
                              .voter_set = cell->voter_set};
        SURETY_TRY(surety_objective_parse(algorithm ? algorithm : "", &key.algorithm, err));
        SURETY_TRY(surety_threat_parse(attack ? attack : "", &key.attack, err));
        for (int q = 0; q < SURETY_QUANTITIES; q++) {
            key.quantity = (surety_quantity)q;
            size_t index = surety_results_find(r, &key);
            if (index < r->count) r->values[index * r->seeds + cell->seed] = value_of(row, key.quantity);
        }
    }
    return SURETY_OK;
}

static surety_status collect(collection *c, const char *folder, const surety_cell *cells, size_t count,
                             surety_error *err) {
    for (size_t i = 0; i < count; i++) {
        json_t *found;
        SURETY_TRY(surety_cell_load(&found, folder, &cells[i], err));
        if (!found) continue;
        surety_status status = take_rows(&c->results, &cells[i], found, err);
        json_object_del(found, "seconds"); /* all that is left depends on the settings only */
        json_object_del(found, "digest");
        if (json_array_append_new(c->cells, found))
            status = surety_fail(err, SURETY_E_MEMORY, "no memory for results");
        if (status != SURETY_OK) return status;
    }
    return SURETY_OK;
}

/* One more than the largest seed among the files of the cells, which end in -SEED.json. */
static surety_status count_seeds(size_t *seeds, const char *folder, surety_error *err) {
    char *path = NULL;
    *seeds = 1;
    SURETY_TRY(surety_join(&path, folder, "/", "cells", err));
    DIR *entries = opendir(path);
    const struct dirent *entry;
    surety_status status = SURETY_OK;
    if (!entries && errno != ENOENT) status = surety_fail_errno(err, SURETY_E_SYSTEM, "list", path, errno);
    while (entries && (entry = readdir(entries))) {
        const char *dash = strrchr(entry->d_name, '-');
        char *end = NULL;
        unsigned long long seed = dash && entry->d_name[0] != '.' ? strtoull(dash + 1, &end, 10) : 0;
        if (end && !strcmp(end, ".json") && seed < SURETY_STUDY_SEEDS && seed >= *seeds) *seeds = seed + 1;
    }
    if (entries) closedir(entries);
    surety_free(path);
    return status;
}

/* Every cell that the folder may hold. */
static surety_status whole_grid(surety_cell **cells, size_t *count, size_t *seeds, const char *folder,
                                surety_error *err) {
    surety_study_settings all = surety_study_defaults();
    SURETY_TRY(count_seeds(seeds, folder, err));
    all.seeds = *seeds;
    all.defenses |= 1u << SURETY_WORST_CASE;
    all.kinds = surety_study_kinds();
    return surety_grid_make(cells, count, &all, err);
}

/* ---- writing ---- */

/* A text that grows. */
typedef struct text {
    char *bytes;
    size_t used, room;
} text;

static surety_status append(text *t, const char *bytes, surety_error *err) {
    size_t length = strlen(bytes);
    if (t->used + length + 1 > t->room) {
        size_t room = 2 * t->room + length + 4096;
        char *more = realloc(t->bytes, room);
        if (!more) return surety_fail(err, SURETY_E_MEMORY, "no memory for results");
        t->bytes = more;
        t->room = room;
    }
    memcpy(t->bytes + t->used, bytes, length + 1);
    t->used += length;
    return SURETY_OK;
}

static surety_status csv_line(text *t, const surety_printed *p, double value, size_t seed,
                              surety_error *err) {
    char line[256];
    size_t tasks;
    surety_format(line, sizeof line, "%s,%s,%s,%s,%s,%s,%s,%.6f,%zu,%.3f,%.6f\n",
                  surety_paper_tasks(&tasks)[p->task].name, surety_norm_name(p->norm),
                  surety_objective_name(p->algorithm), surety_threat_name(p->defense),
                  surety_threat_name(p->attack), surety_voter_set_name(p->voter_set),
                  surety_quantity_name(p->quantity), value, seed, p->value, value - p->value);
    return append(t, line, err);
}

static surety_status write_csv(const surety_results *r, const char *folder, surety_error *err) {
    text t = {0};
    char *path = NULL;
    surety_status status = append(&t, header, err);
    if (status == SURETY_OK) status = append(&t, "\n", err);
    for (size_t i = 0; i < r->count; i++)
        for (size_t seed = 0; seed < r->seeds && status == SURETY_OK; seed++)
            if (!isnan(r->values[i * r->seeds + seed]))
                status = csv_line(&t, &r->printed[i], r->values[i * r->seeds + seed], seed, err);
    if (status == SURETY_OK) status = surety_join(&path, folder, "/", "results.csv", err);
    if (status == SURETY_OK) status = surety_write_own(path, t.bytes, t.used, err);
    surety_free(path);
    free(t.bytes);
    return status;
}

static json_t *compared_json(const surety_results *r) {
    json_t *array = json_array();
    size_t tasks;
    for (size_t i = 0; i < r->count && array; i++) {
        const surety_printed *p = &r->printed[i];
        surety_compared c = surety_results_compare(r, i);
        if (!c.seeds) continue;
        array = surety_json_append(
            array,
            SURETY_JSON_OBJECT({"task", surety_json_string(surety_paper_tasks(&tasks)[p->task].name)},
                               {"norm", surety_json_string(surety_norm_name(p->norm))},
                               {"algorithm", surety_json_string(surety_objective_name(p->algorithm))},
                               {"defense", surety_json_string(surety_threat_name(p->defense))},
                               {"attack", surety_json_string(surety_threat_name(p->attack))},
                               {"voters", surety_json_string(surety_voter_set_name(p->voter_set))},
                               {"quantity", surety_json_string(surety_quantity_name(p->quantity))},
                               {"seeds", surety_json_count(c.seeds)}, {"value", surety_json_real(c.first)},
                               {"min", surety_json_real(c.min)}, {"max", surety_json_real(c.max)},
                               {"published", surety_json_real(p->value)}, {"near", json_boolean(c.near)},
                               {"agrees", json_boolean(c.agrees)}, {"in_band", json_boolean(c.in_band)}));
    }
    return array;
}

static json_t *agreement_json(const surety_results *r) {
    surety_agreement a = surety_results_agreement(r);
    return SURETY_JSON_OBJECT(
        {"compared", surety_json_count(a.compared)}, {"near", surety_json_count(a.near)},
        {"agree", surety_json_count(a.agree)}, {"in_band", surety_json_count(a.in_band)},
        {"agree_or_in_band", surety_json_count(a.either)}, {"farthest", surety_json_real(a.farthest)});
}

static surety_status write_json(const collection *c, const surety_study_settings *s, const char *folder,
                                surety_error *err) {
    char *path = NULL;
    char *json = surety_json_canonical(SURETY_JSON_OBJECT(
        {"surety", surety_json_string(surety_version())},
        {"settings", SURETY_JSON_OBJECT({"recipe", surety_json_string(surety_recipe_name(s->recipe))},
                                        {"epochs", surety_json_count(s->epochs)},
                                        {"samples", surety_json_count(s->samples)},
                                        {"steps", surety_json_count(s->steps)})},
        {"agreement", agreement_json(&c->results)}, {"values", compared_json(&c->results)},
        {"cells", json_incref(c->cells)}));
    surety_status status = json ? surety_join(&path, folder, "/", "results.json", err)
                                : surety_fail(err, SURETY_E_MEMORY, "no memory for results.json");
    if (status == SURETY_OK) status = surety_write_own(path, json, strlen(json), err);
    surety_free(path);
    free(json);
    return status;
}

surety_status surety_results_write(const char *folder, const surety_study_settings *settings,
                                   surety_error *err) {
    surety_cell *cells = NULL;
    size_t count, seeds;
    collection c = {.cells = json_array()};
    surety_status status = whole_grid(&cells, &count, &seeds, folder, err);
    if (status == SURETY_OK) status = surety_results_new(&c.results, seeds, err);
    if (status == SURETY_OK) status = collect(&c, folder, cells, count, err);
    if (status == SURETY_OK) status = write_json(&c, settings, folder, err);
    if (status == SURETY_OK) status = write_csv(&c.results, folder, err);
    surety_results_free(&c.results);
    json_decref(c.cells);
    surety_free(cells);
    return status;
}

/* ---- reading ---- */

#define MOST 1e6 /* no risk and no bound is larger */

/* value,seed,published,difference behind the key of a line. */
static int parse_numbers(const char *rest, double *value, size_t *seed) {
    char *end;
    *value = surety_number(rest, &end);
    if (end == rest || *end != ',' || !(fabs(*value) <= MOST)) return 0;
    const char *number = end + 1;
    unsigned long long n = strtoull(number, &end, 10);
    if (*number < '0' || *number > '9' || *end != ',' || n >= SURETY_STUDY_SEEDS) return 0;
    *seed = (size_t)n;
    for (int i = 0; i < 2; i++) {
        number = end + 1;
        double other = surety_number(number, &end);
        if (end == number || *end != (i ? 0 : ',') || !isfinite(other)) return 0;
    }
    return 1;
}

/* One line into the results, if they have room for seeds already; *seeds becomes what they need. */
static surety_status take_line(surety_results *r, char *line, size_t number, size_t *seeds,
                               surety_error *err) {
    surety_printed key;
    char copy[256], *rest = NULL;
    double value = 0;
    size_t seed = 0, index = r->count;
    snprintf(copy, sizeof copy, "%s", line);
    if (number == 1) {
        if (!strcmp(line, header)) return SURETY_OK;
    } else {
        int fine = surety_printed_parse(line, &key, &rest) && parse_numbers(rest, &value, &seed);
        if (fine) index = surety_results_find(r, &key);
        if (index < r->count && seed + 1 > *seeds) *seeds = seed + 1;
        if (index < r->count && r->seeds) r->values[index * r->seeds + seed] = value;
        if (index < r->count) return SURETY_OK;
    }
    surety_fail(err, SURETY_E_INPUT, "this line is not a result: '%.100s'", copy);
    surety_fail_place(err, "line %zu", number);
    surety_fail_expected(err, number == 1 ? "%s" : "%s, each of the paper's tables", header);
    return SURETY_E_INPUT;
}

static surety_status take_lines(surety_results *r, const surety_file *file, size_t *seeds,
                                surety_error *err) {
    size_t number = 0;
    for (const char *at = (const char *)file->data, *end = at + file->size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        char line[256];
        number++;
        if (!stop || length >= sizeof line || memchr(at, 0, length)) {
            surety_fail(err, SURETY_E_INPUT,
                        stop ? "the line is no text, or too long" : "the last line is cut off");
            surety_fail_place(err, "line %zu", number);
            return SURETY_E_INPUT;
        }
        memcpy(line, at, length);
        line[length] = 0;
        SURETY_TRY(take_line(r, line, number, seeds, err));
        at = stop + 1;
    }
    return number ? SURETY_OK : surety_fail(err, SURETY_E_INPUT, "the file is empty");
}

surety_status surety_results_load(surety_results *results, const char *folder, surety_error *err) {
    char *path = NULL;
    size_t seeds = 0;
    surety_file file = {0};
    *results = (surety_results){0};
    SURETY_TRY(surety_join(&path, folder, "/", "results.csv", err));
    surety_status status = surety_file_open(&file, path, err);
    if (status == SURETY_OK) status = surety_results_new(results, 0, err);
    if (status == SURETY_OK) status = take_lines(results, &file, &seeds, err);
    surety_results_free(results);
    if (status == SURETY_OK) status = surety_results_new(results, seeds, err);
    if (status == SURETY_OK) status = take_lines(results, &file, &seeds, err);
    if (status != SURETY_OK) {
        surety_fail_file(err, path);
        surety_results_free(results);
    }
    surety_file_close(&file);
    surety_free(path);
    return status;
}
