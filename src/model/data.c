/* clang-format off */
/* What a model remembers of its data, in texts:
 *   data.task                          its name, or empty
 *   data.prior, data.learn, data.test  digests of the three sets, and
 *   data.class_rows                    of the training rows of each class (docs/certificates.md, "Digests of rows"):
 *                                      the same whether rows came from a file or from memory
 *   data.classes                       labels by class number: A,B,.. where all are whole numbers, else a JSON list of
 *                                      texts
 *   data.box                           the box, or none
 *   data.split                         the seed of the shuffle, "file order" or "given"
 *   data.learn_size, data.test_size    as asked for
 *   data.copies                        what was done about copies: refuse, keep or drop
 *   copies.learn_in_prior, ..          how many there were, for people
 *   data.preparation                   how columns become features (data/preparation.h); absent if they are features
 *                                      as they are, without names
 *   data.label_column, data.header     of a CSV file, as asked for: where to find the labels again. The same rows may
 *                                      stand in another file, so these may differ
 * It remembers no paths and no checksums of files. The tensors rows.prior and rows.learn hold 8 bytes for each row of
 * S' and S (surety_data_info.row_digests).
 */
/* clang-format on */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
#include "data/classes.h"
#include "model/model.h"

enum { TEXT = 80 };

static const char *const keys[] = {"data.task",       "data.prior",  "data.learn",      "data.test",
                                   "data.split",      "data.box",    "data.learn_size", "data.test_size",
                                   "data.class_rows", "data.classes"};
enum { KEYS = sizeof keys / sizeof *keys, LONG = 2 }; /* the last LONG are as long as they must be */

typedef struct remembered {
    char text[KEYS - LONG][TEXT];
    char *class_rows, *classes;
} remembered;

static const char *const headers[] = {"auto", "yes", "no"}; /* surety_header */

static void describe_split(const surety_data_info *info, char text[TEXT]) {
    if (info->order == SURETY_ORDER_SHUFFLED)
        snprintf(text, TEXT, "%" PRIu64, info->seed);
    else
        snprintf(text, TEXT, "%s", info->order == SURETY_ORDER_FILE ? "file order" : "given");
}

static void describe_box(const surety_data_info *info, char text[TEXT]) {
    if (info->boxed)
        surety_format(text, TEXT, "%.17g,%.17g", info->box_lo, info->box_hi);
    else
        snprintf(text, TEXT, "none");
}

/* The digests of the classes, with commas between them. */
static char *join_digests(const surety_data_info *info) {
    char *text = malloc(info->classes * 65), *at = text;
    for (size_t k = 0; text && k < info->classes; k++, at += 65) {
        memcpy(at, info->class_sha256[k], 64);
        at[64] = k + 1 < info->classes ? ',' : 0;
    }
    return text;
}

/* The labels as JSON; without the brackets where they are whole numbers. */
static char *join_labels(const surety_data_info *info) {
    char *text = surety_json_canonical(surety_labels_json(info->labels, info->classes, info->whole));
    if (!text || !info->whole) return text;
    size_t inside = strlen(text) - 2;
    memmove(text, text + 1, inside);
    text[inside] = 0;
    return text;
}

static void forget(remembered *r) {
    free(r->class_rows);
    free(r->classes);
}

static surety_status describe(const surety_data_info *info, remembered *r, surety_error *err) {
    snprintf(r->text[0], TEXT, "%s", info->task ? info->task : "");
    for (int k = 0; k < SURETY_SETS; k++) snprintf(r->text[1 + k], TEXT, "%s", info->set_sha256[k]);
    describe_split(info, r->text[4]);
    describe_box(info, r->text[5]);
    snprintf(r->text[6], TEXT, "%zu", info->learn_size);
    snprintf(r->text[7], TEXT, "%zu", info->test_size);
    r->class_rows = join_digests(info);
    r->classes = join_labels(info);
    if (r->class_rows && r->classes) return SURETY_OK;
    forget(r);
    return surety_fail(err, SURETY_E_MEMORY, "no memory for what is remembered of the data");
}

static const char *text_of(const remembered *r, size_t i) {
    return i < KEYS - LONG ? r->text[i] : i == KEYS - LONG ? r->class_rows : r->classes;
}

static surety_status set_copies(surety_model *m, const surety_data_info *info, surety_error *err) {
    const surety_copies *c = &info->copies;
    SURETY_TRY(surety_model_set_text(m, "data.copies", surety_copies_name(info->copies_rule), err));
    SURETY_TRY(surety_model_set_count(m, "copies.learn_in_prior", c->learn_in_prior, err));
    SURETY_TRY(surety_model_set_count(m, "copies.test_in_prior", c->test_in_prior, err));
    SURETY_TRY(surety_model_set_count(m, "copies.near_learn_in_prior", c->near_learn_in_prior, err));
    SURETY_TRY(surety_model_set_count(m, "copies.near_test_in_prior", c->near_test_in_prior, err));
    SURETY_TRY(surety_model_set_count(m, "copies.dropped", c->dropped, err));
    return surety_model_set_real(m, "copies.tolerance", c->tolerance, err);
}

surety_status surety_model_set_rows(surety_model *m, surety_set_name which, const void *digests, size_t count,
                                    surety_error *err) {
    surety_free(m->rows[which]);
    m->rows[which] = NULL, m->row_count[which] = 0;
    if (!count) return SURETY_OK;
    SURETY_TRY(surety_alloc(&m->rows[which], count, sizeof(uint64_t), err));
    memcpy(m->rows[which], digests, count * sizeof(uint64_t));
    m->row_count[which] = count;
    return SURETY_OK;
}

static surety_status set_preparation(surety_model *m, const surety_data_info *info, surety_error *err) {
    if (info->preparation) return surety_model_set_text(m, "data.preparation", info->preparation, err);
    json_object_del(m->texts, "data.preparation");
    return surety_model_read_preparation(m, err);
}

surety_status surety_model_read_preparation(surety_model *m, surety_error *err) {
    const char *text = surety_model_text(m, "data.preparation");
    size_t d = surety_voters_features(m->voters);
    surety_preparation_free(m->preparation);
    m->preparation = NULL;
    if (!text) return SURETY_OK;
    SURETY_TRY(surety_preparation_decode(&m->preparation, text, err));
    if (surety_preparation_features(m->preparation) == d) return SURETY_OK;
    surety_fail(err, SURETY_E_INPUT, "the preparation makes %zu features, the voters take %zu",
                surety_preparation_features(m->preparation), d);
    surety_fail_place(err, "key data.preparation");
    return SURETY_E_INPUT;
}

surety_status surety_model_set_data(surety_model *m, const surety_data_info *info, surety_error *err) {
    remembered now;
    SURETY_TRY(describe(info, &now, err));
    surety_status status = SURETY_OK;
    for (size_t i = 0; i < KEYS && status == SURETY_OK; i++)
        status = surety_model_set_text(m, keys[i], text_of(&now, i), err);
    forget(&now);
    if (status == SURETY_OK) status = set_preparation(m, info, err);
    if (status == SURETY_OK) status = set_copies(m, info, err);
    for (int k = 0; k < SURETY_MODEL_ROWS && status == SURETY_OK; k++)
        status = surety_model_set_rows(m, (surety_set_name)k, info->row_digests[k], info->m[k], err);
    if (status == SURETY_OK)
        status =
            surety_model_set_text(m, "data.label_column", info->label_column ? info->label_column : "", err);
    return status == SURETY_OK ? surety_model_set_text(m, "data.header", headers[info->header], err) : status;
}

/* The digests of rows are those of the rows; an older model has none. */
static surety_status check_rows(const surety_model *m, const surety_data_info *info, surety_error *err) {
    for (int k = 0; k < SURETY_MODEL_ROWS; k++)
        if (m->rows[k] && (m->row_count[k] != info->m[k] ||
                           memcmp(m->rows[k], info->row_digests[k], info->m[k] * sizeof *m->rows[k])))
            return surety_fail(err, SURETY_E_CHECK, "the model's tensor rows.%s is not that of its rows",
                               surety_set_text((surety_set_name)k));
    return SURETY_OK;
}

surety_status surety_model_check_preparation(const surety_model *m, const surety_data_info *info,
                                             surety_error *err) {
    const char *was = surety_model_text(m, "data.preparation"), *is = info->preparation;
    if (!surety_model_text(m, "data.task") || (was && is ? !strcmp(was, is) : was == is)) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK, "the columns were prepared in another way than those of the model");
    surety_fail_expected(err, "data that were opened with the model's settings (surety_model_data_settings)");
    return SURETY_E_CHECK;
}

surety_status surety_model_check_data(const surety_model *m, const surety_data_info *info,
                                      surety_error *err) {
    remembered now;
    size_t i = 0;
    SURETY_TRY(describe(info, &now, err));
    while (i < KEYS && surety_model_text(m, keys[i]) &&
           !strcmp(surety_model_text(m, keys[i]), text_of(&now, i)))
        i++;
    if (i < KEYS) {
        const char *was = surety_model_text(m, keys[i]);
        surety_fail(err, SURETY_E_CHECK, "these are not the data the model was trained on: %s is '%.200s'",
                    keys[i], text_of(&now, i));
        surety_fail_expected(err, "'%.200s'", was ? was : "nothing: the model was trained on no data");
    }
    forget(&now);
    if (i < KEYS) return SURETY_E_CHECK;
    SURETY_TRY(surety_model_check_preparation(m, info, err));
    if (!info->preparation_fits)
        return surety_fail(err, SURETY_E_CHECK,
                           "the model's preparation of columns is not what its S' gives");
    return check_rows(m, info, err);
}

/* ---- rows that trained it, in other data ---- */

static int is_among(uint64_t digest, const uint64_t *sorted, size_t count) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < digest)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && sorted[low] == digest;
}

surety_status surety_model_overlap(const surety_model *m, const surety_data_info *info, surety_set_name which,
                                   surety_overlap *out, surety_error *err) {
    *out = (surety_overlap){.m = info->m[which]};
    if (surety_model_imported(m)) return SURETY_OK; /* nobody knows; whoever says fresh answers for it */
    if (!m->rows[0]) {
        surety_fail(err, SURETY_E_CHECK,
                    "the model does not remember which rows trained it, so no row can be called new");
        surety_fail_expected(err, "the data it was trained on; or train it again");
        return SURETY_E_CHECK;
    }
    for (size_t i = 0; i < info->m[which]; i++) {
        uint64_t digest = info->row_digests[which][i];
        int prior = is_among(digest, m->rows[SURETY_SET_PRIOR], m->row_count[SURETY_SET_PRIOR]),
            learn = is_among(digest, m->rows[SURETY_SET_LEARN], m->row_count[SURETY_SET_LEARN]);
        out->in_prior += (uint64_t)prior, out->in_learn += (uint64_t)learn;
        out->known += (uint64_t)(prior || learn);
    }
    return SURETY_OK;
}

/* Rows of 0, 1, .. or, of two classes, -1 and +1 are those of an imported model whose classes have no names.
 */
static int natural(const surety_model *m, const surety_data_info *info) {
    size_t K = surety_voters_classes(m->voters), k = 0;
    char number[24];
    if (!surety_model_imported(m) || m->class_count || info->classes != K) return 0;
    if (K == 2 && !strcmp(info->labels[0], "-1") && !strcmp(info->labels[1], "1")) return 1;
    for (; k < K; k++) {
        snprintf(number, sizeof number, "%zu", k);
        if (strcmp(number, info->labels[k]) != 0) return 0;
    }
    return 1;
}

static surety_status check_labels(const surety_model *m, const surety_data_info *info, surety_error *err) {
    int same = info->classes == m->class_count;
    for (size_t k = 0; same && k < info->classes; k++) same = !strcmp(info->labels[k], m->labels[k]);
    if (same || natural(m, info)) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK, "the fresh rows have other classes than the model");
    if (surety_model_imported(m) && !m->class_count)
        surety_fail_expected(err,
                             "labels 0, 1, ..; or name the model's classes when it is imported "
                             "(import --classes A,B,..)");
    return SURETY_E_CHECK;
}

surety_status surety_model_check_fresh(const surety_model *m, const surety_data_info *info,
                                       surety_error *err) {
    surety_overlap found;
    if (!info->fresh) return surety_fail(err, SURETY_E_CHECK, "nobody declared these rows fresh");
    SURETY_TRY(surety_model_overlap(m, info, SURETY_SET_LEARN, &found, err));
    SURETY_TRY(check_labels(m, info, err));
    SURETY_TRY(surety_model_check_preparation(m, info, err));
    if (!found.known) return SURETY_OK;
    surety_fail(
        err, SURETY_E_CHECK,
        "%llu of the %llu rows declared fresh trained the model (%llu are rows of its S', %llu of its S)",
        (unsigned long long)found.known, (unsigned long long)found.m, (unsigned long long)found.in_prior,
        (unsigned long long)found.in_learn);
    if (info->files) surety_fail_file(err, info->file[0].path);
    surety_fail_expected(err, "rows that the model has never seen");
    return SURETY_E_CHECK;
}

static surety_status bad(const char *key, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "the model does not say which data it was trained on");
    surety_fail_place(err, "key %s", key);
    return SURETY_E_INPUT;
}

static surety_status no_memory_for_labels(surety_error *err) {
    return surety_fail(err, SURETY_E_MEMORY, "no memory for the labels");
}

/* Every element as text: whole numbers (A,B,..) or texts (a JSON list). *out is NULL if it is neither, or
 * none. */
static surety_status label_texts(json_t **out, const char *text, surety_error *err) {
    json_t *list = NULL, *element;
    size_t i, size = strlen(text) + 3;
    char *json = NULL;
    int numbers = text[0] != '[', wrong = 0, memory = 1;
    *out = NULL;
    SURETY_TRY(surety_alloc(&json, size, 1, err));
    snprintf(json, size, numbers ? "[%s]" : "%s", text);
    if (surety_json_parse(&list, json, strlen(json), "data.classes", NULL) == SURETY_E_MEMORY) memory = 0;
    surety_free(json);
    json_array_foreach(list, i, element) {
        char digits[24];
        if (numbers && json_is_integer(element)) {
            snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(element));
            memory &= json_array_set_new(list, i, json_string(digits)) == 0;
        } else {
            wrong |= numbers || !json_is_string(element);
        }
    }
    if (memory && !wrong && json_array_size(list) >= 2) *out = json_incref(list);
    json_decref(list);
    return memory ? SURETY_OK : no_memory_for_labels(err);
}

surety_status surety_model_read_labels(surety_model *m, surety_error *err) {
    const char *own = surety_model_text(m, "data.classes"),
               *text = own ? own : surety_model_text(m, "import.classes");
    json_decref(m->label_texts);
    surety_free(m->labels);
    m->label_texts = NULL, m->labels = NULL, m->class_count = 0;
    if (text) SURETY_TRY(label_texts(&m->label_texts, text, err));
    if (!m->label_texts) return SURETY_OK;
    size_t count = json_array_size(m->label_texts);
    SURETY_TRY(surety_alloc(&m->labels, count, sizeof *m->labels, err));
    for (size_t k = 0; k < count; k++) m->labels[k] = json_string_value(json_array_get(m->label_texts, k));
    m->class_count = count;
    return SURETY_OK;
}

/* LO,HI or none */
static int read_box(const char *text, surety_data_settings *s) {
    double box[2];
    if (!text) return 0;
    s->boxed = strcmp(text, "none") ? SURETY_BOX_GIVEN : SURETY_BOX_NONE;
    if (!s->boxed) return 1;
    if (!surety_numbers(text, ',', box, 2) || !(box[0] < box[1])) return 0;
    s->box_lo = box[0], s->box_hi = box[1];
    return 1;
}

/* The seed of a shuffle; 0 for file order, where it is not used. */
static int read_split(const char *text, uint64_t *seed) {
    char *end = NULL;
    *seed = 0;
    if (!text || !strcmp(text, "file order")) return text != NULL;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *seed < SURETY_SEED_LIMIT;
}

/* Not there: the model is of another version, which did not ask. */
static int read_csv(const surety_model *m, surety_data_settings *s) {
    const char *column = surety_model_text(m, "data.label_column"),
               *header = surety_model_text(m, "data.header");
    int k = SURETY_HEADER_AUTO;
    if (column) s->label_column = column[0] ? column : NULL;
    while (header && k <= SURETY_HEADER_NO && strcmp(header, headers[k]) != 0) k++;
    if (k > SURETY_HEADER_NO) return 0;
    if (header) s->header = (surety_header)k;
    return 1;
}

/* An imported model knows nothing of its data: no box, and the classes only by their names. */
static surety_status imported_settings(const surety_model *m, surety_data_settings *s) {
    s->task = NULL;
    s->boxed = 0;
    s->classes = m->labels;
    s->class_count = m->class_count;
    s->preparation = m->preparation; /* names of columns; and rows as their maker saw them: */
    s->missing = SURETY_MISSING_KEEP, s->scaling = SURETY_SCALE_NONE;
    return SURETY_OK;
}

surety_status surety_model_data_settings(const surety_model *m, surety_data_settings *s, surety_error *err) {
    if (surety_model_imported(m)) return imported_settings(m, s);
    const char *task = surety_model_text(m, "data.task");
    const char *split = surety_model_text(m, "data.split");
    uint64_t learn, test;
    if (!task) return bad("data.task", err);
    if (split && !strcmp(split, "given")) {
        surety_fail(err, SURETY_E_USAGE, "the model's sets were split by indices, which no setting repeats");
        surety_fail_expected(err, "the arrays and the indices that trained it, from a program");
        return SURETY_E_USAGE;
    }
    if (!m->class_count) return bad("data.classes", err);
    if (!read_split(split, &s->seed)) return bad("data.split", err);
    if (!read_box(surety_model_text(m, "data.box"), s)) return bad("data.box", err);
    if (!read_csv(m, s)) return bad("data.header", err);
    const char *copies = surety_model_text(m, "data.copies"); /* not there: of another version */
    if (copies && surety_copies_parse(copies, &s->copies, NULL) != SURETY_OK) return bad("data.copies", err);
    SURETY_TRY(surety_model_count(m, "data.learn_size", &learn, err));
    SURETY_TRY(surety_model_count(m, "data.test_size", &test, err));
    s->task = task[0] ? task : NULL;
    s->classes = m->labels;
    s->class_count = m->class_count;
    s->learn_size = (size_t)learn;
    s->test_size = (size_t)test;
    s->test_share = 0;
    s->preparation = m->preparation;
    s->missing = SURETY_MISSING_ERROR, s->scaling = SURETY_SCALE_NONE; /* of models without one */
    return SURETY_OK;
}
