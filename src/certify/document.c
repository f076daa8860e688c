/* What is digested is written by surety, never taken from a file as it stands: a document is read into its
 * struct, and the digest is that of the struct written again. So spaces, the order of keys or a number
 * spelled in another way change no digest, and a key that the table does not know cannot hide behind one. */
#include "certify/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/path.h"
#include "io/sha256.h"
#include "io/write.h"

/* digest NULL: it is left out, to be computed. */
static json_t *to_json(const surety_document *kind, const void *base, const char *digest) {
    json_t *object = SURETY_JSON_OBJECT({"format", surety_json_string(kind->format)}),
           *fields = surety_record_json(kind->table, base);
    int failed = !object || !fields || json_object_update(object, fields);
    if (digest && !failed) failed = json_object_set_new(object, "digest", surety_json_string(digest)) != 0;
    json_decref(fields);
    if (!failed) return object;
    json_decref(object);
    return NULL;
}

surety_status surety_json_digest(json_t *root, char sum[65], surety_error *err) {
    char *text = surety_json_canonical(root);
    if (!text) return surety_fail(err, SURETY_E_MEMORY, "no memory for the certificate");
    surety_status status = surety_sha256(text, strlen(text), sum, err);
    free(text);
    return status;
}

surety_status surety_document_digest(const surety_document *kind, const void *base, char sum[65],
                                     surety_error *err) {
    return surety_json_digest(to_json(kind, base, NULL), sum, err);
}

char *surety_document_json(const surety_document *kind, const void *base, const char *digest) {
    return surety_json_text(to_json(kind, base, digest));
}

surety_status surety_document_save(const surety_document *kind, const void *base, const char *digest,
                                   const char *path, surety_error *err) {
    char *text = surety_document_json(kind, base, digest), *line = NULL;
    surety_status status = text ? surety_join(&line, text, "\n", "", err)
                                : surety_fail(err, SURETY_E_MEMORY, "no memory for the certificate");
    if (status == SURETY_OK) status = surety_write_file(path, line, strlen(line), err);
    surety_free(line);
    surety_text_free(text);
    return status;
}

/* Takes "format" and "digest" out of the object, so that the fields of the table are left. */
static surety_status take_frame(const surety_document *kind, json_t *object, char digest[65],
                                surety_error *err) {
    const char *stated = json_string_value(json_object_get(object, "format"));
    if (!stated || strcmp(stated, kind->format) != 0) {
        surety_fail(err, SURETY_E_INPUT, "it is not a certificate that this version reads");
        surety_fail_place(err, "key format");
        surety_fail_expected(err, "\"format\": \"%s\"", kind->format);
        return SURETY_E_INPUT;
    }
    const char *sum = json_string_value(json_object_get(object, "digest"));
    if (!sum || strlen(sum) != 64 || strspn(sum, "0123456789abcdef") != 64) {
        surety_fail(err, SURETY_E_INPUT, "it is not a SHA-256");
        surety_fail_place(err, "key digest");
        surety_fail_expected(err, "64 lower-case hexadecimal digits");
        return SURETY_E_INPUT;
    }
    memcpy(digest, sum, 65);
    json_object_del(object, "format");
    json_object_del(object, "digest");
    return SURETY_OK;
}

surety_status surety_document_read(const surety_document *kind, void *base, char digest[65], const char *path,
                                   surety_error *err) {
    json_t *object = NULL;
    SURETY_TRY(surety_json_load(&object, path, err));
    surety_status status = take_frame(kind, object, digest, err);
    if (status == SURETY_OK) status = surety_record_read(kind->table, base, object, "", err);
    json_decref(object);
    if (status != SURETY_OK) surety_fail_file(err, path);
    return status;
}
