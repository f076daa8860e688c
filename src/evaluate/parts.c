/* Parts of one call: the counts of each in a file, and all of them together again.
 *
 * Every sum over everyone is a list of integers, and a call makes them in an order that does not depend on
 * their values. A part keeps the lists it was asked to sum; the parts' lists, added up, are what the whole
 * call gets instead.
 *
 * The file is JSON: surety_part (the version of the program), part, of, words, about, sums (lists of
 * integers), digest (SHA-256 of all else in canonical form). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/json.h"
#include "io/sha256.h"
#include "io/write.h"
#include "surety/evaluate.h"

struct surety_part {
    surety_everyone everyone;
    json_t *lists; /* of the part; of all parts together: */
    size_t used;   /* so many of them */
    const char **words;
    size_t word_count;
    json_t *root; /* of the first file, which owns the words */
};

static surety_status no_memory(surety_error *err) {
    return surety_fail(err, SURETY_E_MEMORY, "no memory for the counts of a part");
}

/* ---- a part ---- */

static surety_status keep(void *arg, int64_t *values, size_t count, surety_error *err) {
    surety_part *p = arg;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) list = surety_json_append(list, json_integer(values[i]));
    if (!list || json_array_append_new(p->lists, list)) return no_memory(err);
    return SURETY_OK;
}

surety_status surety_part_begin(size_t k, size_t of, surety_part **out, surety_error *err) {
    surety_part *p;
    *out = NULL;
    if (k < 1 || k > of || of > SURETY_PARTS_MOST)
        return surety_fail(err, SURETY_E_USAGE, "part %zu of %zu: a part is 1/N to N/N, N at most %d", k, of,
                           SURETY_PARTS_MOST);
    SURETY_TRY(surety_alloc(&p, 1, sizeof *p, err));
    *p = (surety_part){.everyone = {.rank = k - 1, .size = of, .sum = keep, .arg = p, .apart = 1},
                       .lists = json_array()};
    if (p->lists) return *out = p, SURETY_OK;
    surety_part_free(p);
    return no_memory(err);
}

static surety_status digest(const json_t *root, char text[SURETY_SHA256_TEXT], surety_error *err) {
    json_t *rest = surety_json_copy(root);
    json_object_del(rest, "digest");
    char *canonical = surety_json_canonical(rest);
    if (!canonical) return no_memory(err);
    surety_status status = surety_sha256(canonical, strlen(canonical), text, err);
    free(canonical);
    return status;
}

surety_status surety_part_save(const surety_part *p, const char *path, const char *const *words,
                               size_t word_count, const char *about, surety_error *err) {
    char sum[SURETY_SHA256_TEXT], *text = NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < word_count; i++) list = surety_json_append(list, surety_json_string(words[i]));
    json_t *root = SURETY_JSON_OBJECT({"surety_part", surety_json_string(surety_version())},
                                      {"part", surety_json_count(p->everyone.rank + 1)},
                                      {"of", surety_json_count(p->everyone.size)}, {"words", list},
                                      {"about", surety_json_string(about)}, {"sums", json_incref(p->lists)});
    if (!root) return no_memory(err);
    surety_status status = digest(root, sum, err);
    if (status == SURETY_OK) {
        root = surety_json_put(root, "digest", surety_json_string(sum));
        text = root ? surety_json_dump(root, JSON_COMPACT) : NULL;
        status = text ? surety_write_file(path, text, strlen(text), err) : no_memory(err);
    }
    free(text);
    json_decref(root);
    return status;
}

/* ---- all parts ---- */

static surety_status wrong(const char *path, surety_status code, const char *what, const char *expected,
                           surety_error *err) {
    surety_fail(err, code, "%s", what);
    surety_fail_expected(err, "%s", expected);
    surety_fail_file(err, path);
    return code;
}

static int is_part(const json_t *root) {
    const json_t *sums = json_object_get(root, "sums"), *words = json_object_get(root, "words"), *list,
                 *value;
    size_t i, k;
    int fine = json_is_string(json_object_get(root, "surety_part")) &&
               json_is_integer(json_object_get(root, "part")) &&
               json_is_integer(json_object_get(root, "of")) && json_is_array(words) &&
               json_array_size(words) > 0 && json_is_string(json_object_get(root, "about")) &&
               json_is_array(sums) && json_is_string(json_object_get(root, "digest")) &&
               json_object_size(root) == 7;
    json_array_foreach(words, i, value) fine &= json_is_string(value);
    json_array_foreach(sums, i, list) {
        fine &= json_is_array(list);
        json_array_foreach(list, k, value) fine &= json_is_integer(value);
    }
    return fine;
}

static surety_status load(json_t **out, const char *path, surety_error *err) {
    char sum[SURETY_SHA256_TEXT];
    SURETY_TRY(surety_json_load(out, path, err));
    if (!is_part(*out))
        return wrong(path, SURETY_E_INPUT, "this is no part", "a file that surety wrote with --part", err);
    SURETY_TRY(digest(*out, sum, err));
    if (!strcmp(sum, json_string_value(json_object_get(*out, "digest")))) return SURETY_OK;
    return wrong(path, SURETY_E_CHECK, "this part was changed after it was made", "the part made again", err);
}

/* Like the first one in all that parts share. */
static surety_status check_kin(const json_t *first, const json_t *other, const char *path,
                               surety_error *err) {
    static const char *const keys[] = {"surety_part", "of", "words", "about"};
    static const char *const differs[] = {
        "this part was made by another version of surety", "this part is of another number of parts",
        "this part was made by another command",
        "this part was made with another model, other data or another CPU level"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_equal(json_object_get(first, keys[i]), json_object_get(other, keys[i])))
            return wrong(path, SURETY_E_CHECK, differs[i], "the parts of one command", err);
    return SURETY_OK;
}

static surety_status add_lists(json_t *sums, const json_t *more, const char *path, surety_error *err) {
    size_t i, k, count = json_array_size(sums);
    const json_t *list, *value;
    int fits = json_array_size(more) == count;
    json_array_foreach(more, i, list) {
        json_t *into = json_array_get(sums, i);
        fits = fits && json_array_size(into) == json_array_size(list);
        for (k = 0; fits && k < json_array_size(list); k++) {
            int64_t sum;
            value = json_array_get(list, k);
            json_t *old = json_array_get(into, k);
            fits = !__builtin_add_overflow(json_integer_value(old), json_integer_value(value), &sum) &&
                   !json_integer_set(old, sum);
        }
    }
    return fits ? SURETY_OK
                : wrong(path, SURETY_E_CHECK, "this part counts other things than the first one",
                        "the parts of one command", err);
}

/* Adds a file to those that are there; seen[k] says which parts are. */
static surety_status add_file(surety_part *p, const char *path, uint8_t *seen, surety_error *err) {
    json_t *root = NULL;
    surety_status status = load(&root, path, err);
    json_int_t k = json_integer_value(json_object_get(root, "part")),
               of = json_integer_value(json_object_get(root, "of"));
    if (status == SURETY_OK && (k < 1 || k > of || of > SURETY_PARTS_MOST))
        status = wrong(path, SURETY_E_INPUT, "there is no such part", "part 1/N to N/N", err);
    if (status == SURETY_OK && p->root) status = check_kin(p->root, root, path, err);
    if (status == SURETY_OK && seen[k - 1]++)
        status = wrong(path, SURETY_E_CHECK, "this part is there twice", "each part once", err);
    if (status == SURETY_OK && p->root)
        status = add_lists(p->lists, json_object_get(root, "sums"), path, err);
    if (status == SURETY_OK && !p->root) {
        p->everyone.rank = p->everyone.size = (size_t)of;
        p->lists = json_incref(json_object_get(root, "sums"));
        p->root = json_incref(root);
    }
    json_decref(root);
    return status;
}

static surety_status take_words(surety_part *p, surety_error *err) {
    const json_t *words = json_object_get(p->root, "words");
    SURETY_TRY(surety_alloc(&p->words, json_array_size(words), sizeof *p->words, err));
    for (; p->word_count < json_array_size(words); p->word_count++)
        p->words[p->word_count] = json_string_value(json_array_get(words, p->word_count));
    return SURETY_OK;
}

/* The sums of all parts instead of this process's, which took no example. */
static surety_status give(void *arg, int64_t *values, size_t count, surety_error *err) {
    surety_part *p = arg;
    const json_t *list = json_array_get(p->lists, p->used++);
    int fits = list && json_array_size(list) == count;
    for (size_t i = 0; fits && i < count; i++)
        fits = !__builtin_add_overflow(values[i], json_integer_value(json_array_get(list, i)), &values[i]);
    if (fits) return SURETY_OK;
    return surety_fail(err, SURETY_E_CHECK, "the parts were made by a command that counts other things");
}

surety_status surety_parts_load(const char *const *paths, size_t count, surety_part **out,
                                surety_error *err) {
    surety_part *p;
    uint8_t seen[SURETY_PARTS_MOST] = {0};
    *out = NULL;
    if (!count) return surety_fail(err, SURETY_E_USAGE, "there are no parts");
    SURETY_TRY(surety_alloc(&p, 1, sizeof *p, err));
    *p = (surety_part){.everyone = {.sum = give, .arg = p}};
    surety_status status = SURETY_OK;
    for (size_t i = 0; i < count && status == SURETY_OK; i++) status = add_file(p, paths[i], seen, err);
    for (size_t k = 0; k < p->everyone.size && status == SURETY_OK; k++)
        if (!seen[k])
            status = surety_fail(err, SURETY_E_CHECK, "part %zu/%zu is missing", k + 1, p->everyone.size);
    if (status == SURETY_OK) status = take_words(p, err);
    if (status == SURETY_OK)
        *out = p;
    else
        surety_part_free(p);
    return status;
}

const char *const *surety_part_words(const surety_part *p, size_t *count) {
    *count = p->word_count;
    return p->words;
}

surety_status surety_part_check(const surety_part *p, const char *about, surety_error *err) {
    const char *stated = json_string_value(json_object_get(p->root, "about"));
    if (stated && !strcmp(about, stated)) return SURETY_OK;
    surety_fail(err, SURETY_E_CHECK, "model, data or CPU level are not those that the parts were made with");
    surety_fail_expected(err, "the same files, in the folder in which the parts were made");
    return SURETY_E_CHECK;
}

const surety_everyone *surety_part_everyone(const surety_part *p) {
    return &p->everyone;
}

void surety_part_free(surety_part *p) {
    if (!p) return;
    json_decref(p->lists);
    json_decref(p->root);
    surety_free((void *)p->words);
    surety_free(p);
}
