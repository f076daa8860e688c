/* Categories of a column: from texts to a sorted list of different ones, and a number for each row. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/preparation.h"
#include "data/table.h"

int surety_text_missing(const surety_text *t) {
    static const char *const words[] = {"",    "NA",  "N/A",  "n/a",  "#N/A", "<NA>", "NaN",
                                        "nan", "NAN", "-nan", "null", "NULL", "None", "?"};
    size_t i = 0, count = sizeof words / sizeof *words;
    if (t->length > 4) return 0;
    while (i < count && (strlen(words[i]) != t->length || memcmp(words[i], t->at, t->length) != 0)) i++;
    return i < count;
}

typedef struct entry {
    surety_text text;
    uint32_t row;
} entry;

static int by_text(const void *a, const void *b) {
    const entry *x = a, *y = b;
    size_t n = x->text.length, m = y->text.length;
    int order = memcmp(x->text.at, y->text.at, n < m ? n : m);
    if (order || n != m) return order ? order : (n > m) - (n < m);
    return (x->row > y->row) - (x->row < y->row);
}

/* One of the different texts, as a category is written. */
typedef struct group {
    const char *name;
    size_t first, end; /* entries */
} group;

static int by_name(const void *a, const void *b) {
    return strcmp(((const group *)a)->name, ((const group *)b)->name);
}

static int same_text(const entry *a, const entry *b) {
    return a->text.length == b->text.length && !memcmp(a->text.at, b->text.at, a->text.length);
}

typedef struct making {
    entry *entries;
    group *groups;
    size_t count, group_count;
    char *memory; /* of names */
} making;

static surety_status name_group(making *m, size_t first, size_t end, char **at, size_t *bad,
                                surety_error *err) {
    const surety_text *t = &m->entries[first].text;
    char *copy = *at, buffer[32];
    memcpy(copy, t->at, t->length); /* zeroed behind it */
    *bad = m->entries[first].row;
    if (strlen(copy) != t->length || !surety_utf8_valid(copy)) {
        surety_fail(err, SURETY_E_INPUT, "the category is not UTF-8");
        surety_fail_expected(err, "text in UTF-8 (iconv -t UTF-8 converts a file)");
        return SURETY_E_INPUT;
    }
    const char *name = surety_category_text(copy, buffer);
    if (name == buffer) strcpy(copy, name);
    m->groups[m->group_count++] = (group){copy, first, end};
    *at += (t->length > strlen(copy) ? t->length : strlen(copy)) + 1;
    return SURETY_OK;
}

static surety_status group_all(making *m, size_t *bad, surety_error *err) {
    size_t different = 0, bytes = 0;
    SURETY_TRY(surety_sort(m->entries, m->count, sizeof *m->entries, by_text, err));
    for (size_t i = 0; i < m->count; i++)
        if (!i || !same_text(&m->entries[i - 1], &m->entries[i]))
            different++, bytes += m->entries[i].text.length + sizeof(char[32]);
    SURETY_TRY(surety_alloc(&m->groups, different, sizeof *m->groups, err));
    SURETY_TRY(surety_alloc(&m->memory, bytes, 1, err));
    char *at = m->memory;
    for (size_t i = 0, end; i < m->count; i = end) {
        for (end = i + 1; end < m->count && same_text(&m->entries[i], &m->entries[end]);) end++;
        SURETY_TRY(name_group(m, i, end, &at, bad, err));
    }
    qsort(m->groups, m->group_count, sizeof *m->groups, by_name);
    return SURETY_OK;
}

static surety_status make(surety_labels *out, making *m, const surety_text *texts, size_t rows, size_t *bad,
                          surety_error *err) {
    SURETY_TRY(surety_alloc(&out->of, rows, sizeof *out->of, err));
    SURETY_TRY(surety_alloc(&m->entries, rows, sizeof *m->entries, err));
    for (size_t i = 0; i < rows; i++) {
        out->of[i] = SURETY_NO_CATEGORY;
        if (texts[i].at) m->entries[m->count++] = (entry){texts[i], (uint32_t)i};
    }
    SURETY_TRY(group_all(m, bad, err));
    SURETY_TRY(surety_alloc(&out->names, m->group_count, sizeof *out->names, err));
    for (size_t g = 0; g < m->group_count; g++) {
        const group *one = &m->groups[g];
        if (!g || strcmp(out->names[out->count - 1], one->name) != 0) out->names[out->count++] = one->name;
        for (size_t i = one->first; i < one->end; i++)
            out->of[m->entries[i].row] = (uint32_t)(out->count - 1);
    }
    return SURETY_OK;
}

surety_status surety_categories_make(surety_labels *out, const surety_text *texts, size_t rows, size_t *bad,
                                     surety_error *err) {
    making m = {0};
    *out = (surety_labels){0};
    surety_status status = make(out, &m, texts, rows, bad, err);
    out->text = m.memory;
    surety_free(m.entries);
    surety_free(m.groups);
    if (status != SURETY_OK) surety_labels_free(out);
    return status;
}
