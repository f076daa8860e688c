#include "io/sha256.h"

#include <openssl/evp.h>

#include "io/read.h"

#define PIECE ((size_t)16 << 20) /* bytes between two looks at stop */

struct surety_sha256_sum {
    EVP_MD_CTX *context;
};

static surety_status failed(surety_error *err) {
    return surety_fail(err, SURETY_E_SYSTEM, "the SHA-256 of the system's libcrypto does not work");
}

surety_status surety_sha256_new(surety_sha256_sum **out, surety_error *err) {
    SURETY_TRY(surety_alloc(out, 1, sizeof **out, err));
    (*out)->context = EVP_MD_CTX_new();
    if ((*out)->context && EVP_DigestInit_ex((*out)->context, EVP_sha256(), NULL) == 1) return SURETY_OK;
    surety_sha256_free(*out);
    *out = NULL;
    return failed(err);
}

surety_status surety_sha256_add(surety_sha256_sum *sum, const void *data, size_t size, surety_error *err) {
    return EVP_DigestUpdate(sum->context, data, size) == 1 ? SURETY_OK : failed(err);
}

surety_status surety_sha256_bytes(surety_sha256_sum *sum, uint8_t bytes[SURETY_SHA256_BYTES],
                                  surety_error *err) {
    unsigned count = 0;
    if (EVP_DigestFinal_ex(sum->context, bytes, &count) != 1 || count != SURETY_SHA256_BYTES ||
        EVP_DigestInit_ex(sum->context, NULL, NULL) != 1)
        return failed(err);
    return SURETY_OK;
}

surety_status surety_sha256_text(surety_sha256_sum *sum, char text[SURETY_SHA256_TEXT], surety_error *err) {
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SURETY_SHA256_BYTES];
    text[0] = 0;
    SURETY_TRY(surety_sha256_bytes(sum, bytes, err));
    for (size_t i = 0; i < sizeof bytes; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[64] = 0;
    return SURETY_OK;
}

void surety_sha256_free(surety_sha256_sum *sum) {
    if (!sum) return;
    EVP_MD_CTX_free(sum->context);
    surety_free(sum);
}

surety_status surety_sha256(const void *data, size_t size, char text[SURETY_SHA256_TEXT], surety_error *err) {
    surety_sha256_sum *sum = NULL;
    text[0] = 0;
    SURETY_TRY(surety_sha256_new(&sum, err));
    surety_status status = SURETY_OK;
    for (size_t at = 0; status == SURETY_OK && at < size; at += PIECE) {
        if (at) status = surety_reading_poll(at, size, err);
        if (status == SURETY_OK)
            status = surety_sha256_add(sum, (const uint8_t *)data + at, size - at < PIECE ? size - at : PIECE,
                                       err);
    }
    if (status == SURETY_OK) status = surety_sha256_text(sum, text, err);
    surety_sha256_free(sum);
    return status;
}
