/* What certificates of models and of votes have in common (surety_certificate_head). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "certify/certificate.h"

static void fill(surety_certificate_head *out, double value, const char *learn, const char *answers,
                 const char *digest) {
    out->value = value;
    memcpy(out->learn, learn, sizeof out->learn);
    memcpy(out->answers, answers, sizeof out->answers);
    memcpy(out->digest, digest, sizeof out->digest);
}

/* Does the input itself count? The worst case holds it. An attack that begins at it stays there if it
 * is fooled; but noise moves it on, and only the vote that is attacked is known to be fooled there. */
static int counts_clean(const surety_certificate *c) {
    surety_threat_kind kind = SURETY_ATTACK_NONE;
    surety_threat_parse(c->attack.name, &kind, NULL); /* checked when it was read */
    const surety_threat_info *info = surety_threat_about(kind);
    int begins = !info->noise && (!info->starts || info->adapts);
    return kind == SURETY_WORST_CASE || kind == SURETY_ATTACK_NONE || (begins && c->inputs.frozen);
}

static surety_status load_votes(const char *path, surety_certificate_head *out, surety_error *err) {
    surety_votes_certificate *c;
    SURETY_TRY(surety_alloc(&c, 1, sizeof *c, err));
    surety_status status = surety_votes_certificate_load(path, c, err);
    if (status == SURETY_OK) {
        fill(out, c->value, surety_votes_certificate_learn(c), c->sha256.votes, c->digest);
        out->of_votes = 1, out->assumed = (double)NAN;
    }
    surety_free(c);
    return status;
}

surety_status surety_certificate_head_load(const char *path, surety_certificate_head *out,
                                           surety_error *err) {
    surety_certificate c;
    *out = (surety_certificate_head){0};
    if (surety_votes_certificate_is(path)) return load_votes(path, out, err);
    SURETY_TRY(surety_certificate_load(path, &c, err));
    fill(out, c.value, c.data.sha256_learn, c.model.sha256, c.digest);
    out->clean = counts_clean(&c);
    out->distinct = !strcmp(c.data.copies, surety_copies_name(SURETY_COPIES_DROP));
    out->assumed = c.assumed.value;
    memcpy(out->group_column, c.group_column, sizeof out->group_column);
    out->group_count = c.group_count;
    for (size_t g = 0; g < c.group_count; g++) {
        memcpy(out->groups[g], c.groups[g].label, sizeof out->groups[g]);
        if (c.groups[g].value > c.groups[out->largest].value) out->largest = g;
    }
    surety_certificate_free(&c);
    return SURETY_OK;
}
