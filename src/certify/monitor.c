/* The state of a monitor as a JSON file: checked when it is read, and replaced as a whole. */
#include "io/json.h"
#include "io/path.h"
#include "io/read.h"
#include "io/write.h"
#include "surety/certify.h"

#include <stdlib.h>
#include <string.h>

static surety_status wrong(const char *path, const char *what, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "not the state of this monitor: %s", what);
    surety_fail_expected(err,
                         "a file that 'surety monitor' wrote for this certificate and this alpha, or none");
    surety_fail_file(err, path);
    return SURETY_E_INPUT;
}

static int count_of(const json_t *root, const char *key, uint64_t *count) {
    const json_t *value = json_object_get(root, key);
    *count = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static surety_status read_state(surety_monitor *m, const json_t *root, const char *digest, const char *path,
                                surety_error *err) {
    const char *of = json_string_value(json_object_get(root, "certificate"));
    if (!of || strcmp(of, digest) != 0) return wrong(path, "it belongs to another certificate", err);
    if (json_real_value(json_object_get(root, "promise")) != m->promise ||
        json_real_value(json_object_get(root, "alpha")) != m->alpha)
        return wrong(path, "it has another promise or another alpha", err);
    if (!count_of(root, "seen", &m->seen) || !count_of(root, "failed", &m->failed) ||
        !count_of(root, "alarm", &m->alarm) || m->failed > m->seen || m->alarm > m->seen ||
        m->seen > SURETY_M_LIMIT)
        return wrong(path, "its counts are not possible", err);
    return SURETY_OK;
}

surety_status surety_monitor_load(const char *digest, const char *path, surety_monitor *m,
                                  surety_error *err) {
    int there = 0;
    json_t *root = NULL;
    SURETY_TRY(surety_path_look(path, &there, err));
    if (!there) return SURETY_OK;
    surety_monitor read = *m;
    SURETY_TRY(surety_json_load(&root, path, err));
    surety_status status = read_state(&read, root, digest, path, err);
    if (status == SURETY_OK) *m = read;
    json_decref(root);
    return status;
}

surety_status surety_monitor_save(const surety_monitor *m, const char *digest, const char *path,
                                  surety_error *err) {
    char *text = surety_json_text(SURETY_JSON_OBJECT(
        {"certificate", surety_json_string(digest)}, {"promise", surety_json_real(m->promise)},
        {"alpha", surety_json_real(m->alpha)}, {"seen", surety_json_count(m->seen)},
        {"failed", surety_json_count(m->failed)}, {"alarm", surety_json_count(m->alarm)}));
    if (!text) return surety_fail(err, SURETY_E_MEMORY, "no memory for the state of the monitor");
    surety_status status = surety_write_file(path, text, strlen(text), err);
    free(text);
    return status;
}

static json_t *groups_json(const surety_certificate_head *head) {
    json_t *list = json_array();
    for (size_t g = 0; g < head->group_count; g++)
        list = surety_json_append(list, surety_json_string(head->groups[g]));
    return list;
}

char *surety_monitor_json(const surety_monitor *m, const surety_certificate_head *head) {
    return surety_json_text(SURETY_JSON_OBJECT(
        {"state", surety_json_string(m->alarm ? "alarm" : "holds")}, {"seen", surety_json_count(m->seen)},
        {"failed", surety_json_count(m->failed)}, {"limit", surety_json_real(surety_monitor_limit(m))},
        {"promise", surety_json_real(head->value)},
        {"group_column", head->group_count ? surety_json_string(head->group_column) : json_null()},
        {"groups", groups_json(head)}, {"assumed", surety_json_real(head->assumed)},
        {"alpha", surety_json_real(m->alpha)}, {"evidence", surety_json_real(surety_monitor_evidence(m))},
        {"alarm_at", m->alarm ? surety_json_count(m->alarm) : json_null()}));
}
