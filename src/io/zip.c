/* Layout: local header and content of each member, then the central directory, which says where they are,
 * then the end record, which says where the directory is. Sizes are taken from the directory: a local header
 * may not know them. All numbers are little endian. */
#include "io/zip.h"

#include <string.h>

#define ZLIB_CONST /* zlib's next_in is then a pointer to const */
#include "io/zlib.h"

enum {
    LOCAL = 30, /* bytes of a local header before its name */
    ENTRY = 46, /* of an entry of the directory */
    END = 22,   /* of the end record, which a comment of up to 65535 bytes follows */
    COMMENT = 65535,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1, /* bit of the flags */
    RATIO = 1032   /* deflate cannot compress better */
};

#define ZIP64 0xffffffffu /* a number that stands elsewhere */

static size_t number(const uint8_t *p, size_t bytes) {
    size_t n = 0;
    for (size_t i = bytes; i-- > 0;) n = n << 8 | p[i];
    return n;
}

int surety_is_zip(const uint8_t *data, size_t size) {
    return size >= 4 && !memcmp(data, "PK\3\4", 4);
}

static surety_status bad(size_t at, const char *what, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "damaged zip archive: %s", what);
    surety_fail_place(err, "byte %zu", at);
    surety_fail_expected(err, "a whole archive, as numpy.savez writes it");
    return SURETY_E_INPUT;
}

static surety_status refuse(size_t at, const char *what, surety_error *err) {
    surety_fail(err, SURETY_E_INPUT, "a zip archive %s", what);
    surety_fail_place(err, "byte %zu", at);
    surety_fail_expected(err, "one file of less than 4 GB, members stored or deflated, not encrypted");
    return SURETY_E_INPUT;
}

/* The end record: searched from the end, because a comment may follow it. */
static surety_status find_end(const surety_file *a, size_t *end, surety_error *err) {
    if (a->size < END) return bad(a->size, "it ends too early", err);
    size_t least = a->size > END + COMMENT ? a->size - END - COMMENT : 0;
    for (size_t at = a->size - END + 1; at-- > least;)
        if (!memcmp(a->data + at, "PK\5\6", 4) && at + END + number(a->data + at + 20, 2) == a->size)
            return *end = at, SURETY_OK;
    return bad(a->size, "it has no directory at its end", err);
}

static surety_status find_directory(const surety_file *a, size_t end, size_t *first, surety_error *err) {
    const uint8_t *p = a->data + end;
    size_t size = number(p + 12, 4), offset = number(p + 16, 4);
    if (number(p + 4, 2) || number(p + 6, 2)) return refuse(end, "in several parts", err);
    if (size == ZIP64 || offset == ZIP64 || number(p + 10, 2) == 0xffff)
        return refuse(end, "of the kind zip64", err);
    if (offset > end || size != end - offset) return bad(end, "its directory is not where it should be", err);
    *first = offset;
    return SURETY_OK;
}

surety_status surety_zip_next(const surety_file *a, size_t *at, surety_zip_member *out, surety_error *err) {
    size_t end = 0;
    *out = (surety_zip_member){0};
    SURETY_TRY(find_end(a, &end, err));
    if (!*at) SURETY_TRY(find_directory(a, end, at, err));
    const uint8_t *p = a->data + *at;
    if (*at == end) return SURETY_OK;
    if (end - *at < ENTRY || memcmp(p, "PK\1\2", 4) != 0) return bad(*at, "no entry of the directory", err);
    size_t name = number(p + 28, 2), more = number(p + 30, 2) + number(p + 32, 2);
    if (end - *at - ENTRY < name + more) return bad(*at, "an entry runs over the directory's end", err);
    *out = (surety_zip_member){.name = (const char *)p + ENTRY,
                               .length = name,
                               .packed = number(p + 20, 4),
                               .size = number(p + 24, 4),
                               .method = (unsigned)number(p + 10, 2),
                               .flags = (unsigned)number(p + 8, 2),
                               .crc = (uint32_t)number(p + 16, 4),
                               .offset = number(p + 42, 4)};
    if (out->packed == ZIP64 || out->size == ZIP64 || out->offset == ZIP64)
        return refuse(*at, "of the kind zip64", err);
    *at += ENTRY + name + more;
    return SURETY_OK;
}

/* Where the content begins. */
static surety_status find_content(const surety_file *a, const surety_zip_member *m, size_t *begin,
                                  surety_error *err) {
    const uint8_t *p = a->data + m->offset;
    if (m->offset > a->size || a->size - m->offset < LOCAL || memcmp(p, "PK\3\4", 4) != 0)
        return bad(m->offset, "there is no member where the directory says", err);
    *begin = m->offset + LOCAL + number(p + 26, 2) + number(p + 28, 2);
    if (*begin > a->size || a->size - *begin < m->packed)
        return bad(m->offset, "a member runs over the end", err);
    if (m->flags & ENCRYPTED) return refuse(m->offset, "with an encrypted member", err);
    if (m->method != STORED && m->method != DEFLATED)
        return refuse(m->offset, "with a member in another compression than deflate", err);
    if (m->method == STORED ? m->size != m->packed : m->size / RATIO > m->packed)
        return bad(m->offset, "the sizes of a member contradict each other", err);
    return SURETY_OK;
}

/* Exactly m->size bytes from exactly m->packed ones. */
static surety_status unpack(uint8_t *out, const uint8_t *from, const surety_zip_member *m,
                            surety_error *err) {
    z_stream z = {.next_in = from,
                  .avail_in = (uInt)m->packed,
                  .next_out = out,
                  .avail_out = (uInt)m->size,
                  .zalloc = surety_zlib_alloc,
                  .zfree = surety_zlib_free};
    if (inflateInit2(&z, -15) != Z_OK) /* largest window, no wrapping */
        return surety_fail(err, SURETY_E_MEMORY, "no memory for decompression");
    int code = inflate(&z, Z_FINISH), whole = code == Z_STREAM_END && !z.avail_in && !z.avail_out;
    inflateEnd(&z);
    if (code == Z_MEM_ERROR) return surety_fail(err, SURETY_E_MEMORY, "no memory for decompression");
    return whole ? SURETY_OK : bad(m->offset, "a member cannot be unpacked", err);
}

surety_status surety_zip_read(surety_file *out, const surety_file *a, const surety_zip_member *m,
                              surety_error *err) {
    size_t begin = 0;
    uint8_t *data = NULL;
    *out = (surety_file){0};
    SURETY_TRY(find_content(a, m, &begin, err));
    SURETY_TRY(surety_reading_allows(m->size, err));
    SURETY_TRY(surety_alloc(&data, m->size, 1, err));
    surety_status status = SURETY_OK;
    if (m->method == DEFLATED)
        status = unpack(data, a->data + begin, m, err);
    else
        memcpy(data, a->data + begin, m->size);
    if (status == SURETY_OK && crc32(0, data, (uInt)m->size) != m->crc)
        status = bad(m->offset, "the checksum of a member is wrong", err);
    if (status != SURETY_OK) {
        surety_free(data);
        return status;
    }
    *out = (surety_file){data, m->size};
    return SURETY_OK;
}
