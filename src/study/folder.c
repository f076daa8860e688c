/* The folder of a study: study.json says by which version and with which settings its cells were made. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "io/lock.h"
#include "io/path.h"
#include "io/write.h"
#include "study/study.h"

surety_status surety_study_path(char **path, const char *folder, const char *room, const char *name,
                                const char *ending, surety_error *err) {
    char *inside = NULL, *file = NULL;
    *path = NULL;
    surety_status status = surety_join(&inside, folder, "/", room, err);
    if (status == SURETY_OK) status = surety_join(&file, "/", name, ending, err);
    if (status == SURETY_OK) status = surety_join(path, inside, file, "", err);
    surety_free(inside);
    surety_free(file);
    return status;
}

/* Levels with FMA agree to the bit, the one without does not. */
static const char *arithmetic(void) {
    return surety_cpu() == SURETY_GENERIC ? "without fma" : "fma";
}

static json_t *facts_json(const surety_study_settings *s) {
    return SURETY_JSON_OBJECT(
        {"version", surety_json_string(surety_version())},
        {"recipe", surety_json_string(surety_recipe_name(s->recipe))},
        {"epochs", surety_json_count(s->epochs)}, {"samples", surety_json_count(s->samples)},
        {"steps", surety_json_count(s->steps)}, {"arithmetic", surety_json_string(arithmetic())});
}

static surety_status check_facts(const json_t *was, const json_t *now, surety_error *err) {
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)now, key, value) {
        const json_t *other = json_object_get(was, key);
        if (json_equal((json_t *)(uintptr_t)value, (json_t *)(uintptr_t)other)) continue;
        char *old = other ? surety_json_dump(other, JSON_ENCODE_ANY) : NULL,
             *wanted = surety_json_dump(value, JSON_ENCODE_ANY);
        surety_fail(err, SURETY_E_INPUT,
                    "this folder holds a study with another %s (%s, not %s): nothing was changed", key,
                    old ? old : "unknown", wanted ? wanted : "?");
        surety_fail_expected(err, "the settings it was begun with, or another --out folder");
        free(old);
        free(wanted);
        return SURETY_E_INPUT;
    }
    return SURETY_OK;
}

static surety_status write_facts(const char *path, const json_t *facts, surety_error *err) {
    char *text = surety_json_text(json_incref((json_t *)(uintptr_t)facts));
    if (!text) return surety_fail(err, SURETY_E_MEMORY, "no memory for the settings");
    surety_status status = surety_write_own(path, text, strlen(text), err);
    free(text);
    return status;
}

/* Writes the facts if there are none. Of several processes that begin a folder at the same time one writes,
 * under a lock, and the others find what it wrote. */
static surety_status begin(const char *path, const json_t *facts, surety_error *err) {
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int there = 0, held = 0;; nanosleep(&pause, NULL)) {
        surety_lock lock = {0};
        surety_status status = surety_path_look(path, &there, err);
        if (status == SURETY_OK && !there) status = surety_lock_try(&lock, path, err);
        held = lock.held;
        if (held) status = surety_path_look(path, &there, err); /* one may have written it before */
        if (held && status == SURETY_OK && !there) status = write_facts(path, facts, err);
        surety_lock_release(&lock);
        if (status != SURETY_OK || there || held) return status;
    }
}

static surety_status open_file(const char *path, const surety_study_settings *settings, surety_error *err) {
    json_t *was = NULL, *now = facts_json(settings);
    surety_status status = now ? SURETY_OK : surety_fail(err, SURETY_E_MEMORY, "no memory for the settings");
    if (status == SURETY_OK) status = begin(path, now, err);
    if (status == SURETY_OK) {
        status = surety_json_load(&was, path, err);
        if (status == SURETY_OK) status = check_facts(was, now, err);
        if (status != SURETY_OK) surety_fail_file(err, path);
    }
    json_decref(was);
    json_decref(now);
    return status;
}

surety_status surety_study_open(const char *folder, const surety_study_settings *settings,
                                surety_error *err) {
    static const char *const rooms[] = {"", "/cells", "/models"};
    char *path = NULL;
    surety_status status = SURETY_OK;
    for (size_t i = 0; i < 3 && status == SURETY_OK; i++) {
        status = surety_join(&path, folder, rooms[i], "", err);
        if (status == SURETY_OK) status = surety_folder_make(path, err);
        surety_free(path);
        path = NULL;
    }
    if (status == SURETY_OK) status = surety_join(&path, folder, "/", "study.json", err);
    if (status == SURETY_OK) status = open_file(path, settings, err);
    surety_free(path);
    return status;
}
