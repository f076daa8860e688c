/* Fetching a dataset over the network with libcurl, the only file that knows it.
 *
 * A file is received into memory, decompressed, and checked against its SHA-256; only then is it written,
 * uncompressed, through the safe writer. So neither a broken transfer nor a lying server leaves anything
 * behind, and a damaged copy in the same folder is replaced. */
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "data/dataset.h"
#include "fetch/interface.h"
#include "io/json.h"
#include "io/read.h"
#include "io/sha256.h"
#include "io/write.h"
#include "surety/version.h"

#if SURETY_HAVE_CURL
#include <curl/curl.h>
#endif

surety_fetch_settings surety_fetch_defaults(void) {
    return (surety_fetch_settings){.connect_seconds = 5, .stall_seconds = 30};
}

char *surety_fetch_info_json(const surety_fetch_info *info) {
    return surety_json_text(SURETY_JSON_OBJECT(
        {"dataset", surety_json_string(info->dataset)}, {"folder", surety_json_string(info->folder)},
        {"downloaded", surety_json_count(info->downloaded)}, {"bytes", surety_json_count(info->bytes)}));
}

#if SURETY_HAVE_CURL

enum {
    REDIRECTS = 5,
    SLOWEST = 1000,            /* bytes per second below which a transfer counts as stalled */
    LARGEST = 64 * 1024 * 1024 /* bytes of a file, received or decompressed: the largest has 47 MB */
};

typedef struct transfer {
    const surety_fetch_settings *settings;
    const surety_run *run;
    CURL *curl;
    const char *phase; /* for progress: the file's name */
    uint8_t *data;     /* received */
    size_t size, capacity;
    long answer;          /* of the server, 0: none */
    surety_status status; /* of a callback that gave up */
    surety_error *err;
} transfer;

/* ---- receiving ---- */

static size_t receive(char *bytes, size_t one, size_t count, void *arg) {
    transfer *t = arg;
    uint8_t *larger = NULL;
    (void)one; /* libcurl: always 1 */
    if (count > LARGEST - t->size) {
        t->status = surety_fail(t->err, SURETY_E_INPUT, "the server sends more than %d bytes", LARGEST);
        return 0;
    }
    if (t->size + count > t->capacity) {
        size_t capacity = 2 * (t->size + count);
        t->status = surety_alloc(&larger, capacity, 1, t->err);
        if (t->status != SURETY_OK) return 0;
        if (t->size) memcpy(larger, t->data, t->size);
        surety_free(t->data);
        t->data = larger;
        t->capacity = capacity;
    }
    memcpy(t->data + t->size, bytes, count);
    t->size += count;
    return count;
}

static int watch(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now) {
    transfer *t = arg;
    (void)up_total, (void)up_now;
    if (total > 0) surety_report(t->run, t->phase, (uint64_t)now, (uint64_t)total, "");
    if (t->status == SURETY_OK) t->status = surety_stopped(t->run, t->err);
    return t->status != SURETY_OK;
}

static int configure(transfer *t, const char *url) {
    CURLcode bad = CURLE_OK;
    CURL *c = t->curl;
    bad |= curl_easy_setopt(c, CURLOPT_URL, url);
    bad |= curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    bad |= curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    bad |= curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    bad |= curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    bad |= curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    bad |= curl_easy_setopt(c, CURLOPT_USERAGENT, "surety/" SURETY_VERSION);
    bad |= curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)t->settings->connect_seconds);
    bad |= curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, (long)SLOWEST);
    bad |= curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)t->settings->stall_seconds);
    bad |= curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, receive);
    bad |= curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    bad |= curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    bad |= curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, watch);
    bad |= curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    return bad == CURLE_OK;
}

/* Receives url into t->data. */
static surety_status download(transfer *t, const char *url) {
    t->size = 0;
    t->answer = 0;
    t->status = SURETY_OK;
    curl_easy_reset(t->curl);
    if (!configure(t, url)) return surety_fail(t->err, SURETY_E_SYSTEM, "libcurl refuses its settings");
    CURLcode code = curl_easy_perform(t->curl);
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->answer);
    if (code == CURLE_OK) return SURETY_OK;
    if (t->status == SURETY_OK) {
        t->status = t->answer >= 400
                        ? surety_fail(t->err, SURETY_E_SYSTEM, "the server answered %ld", t->answer)
                        : surety_fail(t->err, SURETY_E_SYSTEM, "download: %s", curl_easy_strerror(code));
        surety_fail_expected(t->err, "a mirror that can be reached (--mirror URL), or the files in place");
    }
    surety_fail_file(t->err, url);
    return t->status;
}

/* ---- checking and writing ---- */

static surety_status check_and_write(transfer *t, const surety_dataset *dataset, int which,
                                     const char *path) {
    char sum[SURETY_SHA256_TEXT];
    uint8_t *plain = NULL;
    const uint8_t *data = t->data;
    size_t size = t->size;
    surety_status status = SURETY_OK;
    if (surety_is_gzip(t->data, t->size)) {
        status = surety_gunzip(t->data, t->size, LARGEST, &plain, &size, t->err);
        data = plain;
    }
    if (status == SURETY_OK) status = surety_sha256(data, size, sum, t->err);
    if (status == SURETY_OK) status = surety_dataset_check(dataset, which, sum, t->err);
    if (status == SURETY_OK) status = surety_write_file(path, data, size, t->err);
    surety_free(plain);
    return status;
}

static surety_status download_from(transfer *t, const surety_dataset *dataset, int which, const char *mirror,
                                   const char *suffix, const char *path) {
    char *name = NULL, *url = NULL;
    size_t length = strlen(mirror);
    const char *slash = length && mirror[length - 1] == '/' ? "" : "/";
    surety_status status = surety_join(&name, surety_dataset_files[which], suffix, "", t->err);
    if (status == SURETY_OK) status = surety_join(&url, mirror, slash, name, t->err);
    if (status == SURETY_OK) status = download(t, url);
    if (status == SURETY_OK) status = check_and_write(t, dataset, which, path);
    if (status != SURETY_OK && url) surety_fail_file(t->err, url);
    surety_free(name);
    surety_free(url);
    return status;
}

/* Gzipped; or, where the user named the mirror and it has no such file, plain. */
static surety_status try_mirror(transfer *t, const surety_dataset *dataset, int which, const char *mirror,
                                const char *path) {
    surety_status status = download_from(t, dataset, which, mirror, ".gz", path);
    if (status == SURETY_OK || t->answer < 400 || !t->settings->mirror) return status;
    *t->err = (surety_error)SURETY_ERROR_NONE;
    return download_from(t, dataset, which, mirror, "", path);
}

/* One file from the first mirror that has it right. The error is that of the last one. */
static surety_status fetch_file(transfer *t, const surety_dataset *dataset, int which, const char *path,
                                surety_error *err) {
    const char *const *mirrors = t->settings->mirror ? &t->settings->mirror : dataset->mirrors;
    size_t count = t->settings->mirror ? 1 : sizeof dataset->mirrors / sizeof *dataset->mirrors;
    surety_error tried = SURETY_ERROR_NONE;
    surety_status status = SURETY_E_SYSTEM;
    t->phase = surety_dataset_files[which];
    t->err = &tried;
    /* no memory and a stop end the search */
    for (size_t i = 0; i < count && mirrors[i] && (status == SURETY_E_SYSTEM || status == SURETY_E_INPUT);
         i++) {
        tried = (surety_error)SURETY_ERROR_NONE;
        status = try_mirror(t, dataset, which, mirrors[i], path);
    }
    t->err = NULL;
    if (status != SURETY_OK && err && err->code == SURETY_OK) *err = tried;
    return status;
}

/* 1 if the file is there and right. */
static int is_right(const surety_dataset *dataset, int which, const char *path) {
    surety_file file;
    char sum[SURETY_SHA256_TEXT];
    if (surety_file_open(&file, path, NULL) != SURETY_OK) return 0;
    int right = surety_sha256(file.data, file.size, sum, NULL) == SURETY_OK &&
                surety_dataset_check(dataset, which, sum, NULL) == SURETY_OK;
    surety_file_close(&file);
    return right;
}

static surety_status fetch_missing(transfer *t, const surety_dataset *dataset, surety_fetch_info *out,
                                   surety_error *err) {
    for (int i = 0; i < DATASET_FILES; i++) {
        char *path = NULL;
        SURETY_TRY(surety_join(&path, out->folder, "/", surety_dataset_files[i], err));
        surety_status status = SURETY_OK;
        if (!is_right(dataset, i, path)) {
            status = fetch_file(t, dataset, i, path, err);
            out->downloaded++;
            out->bytes += t->size;
        }
        surety_free(path);
        SURETY_TRY(status);
    }
    return SURETY_OK;
}

static surety_status download_all(surety_fetch_info *out, const surety_dataset *dataset,
                                  const surety_fetch_settings *settings, const surety_run *run,
                                  surety_error *err) {
    transfer t = {.settings = settings, .run = run};
    SURETY_TRY(surety_folder_make(out->folder, err));
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return surety_fail(err, SURETY_E_SYSTEM, "libcurl does not start");
    t.curl = curl_easy_init();
    surety_status status = t.curl ? fetch_missing(&t, dataset, out, err)
                                  : surety_fail(err, SURETY_E_MEMORY, "no memory for libcurl");
    curl_easy_cleanup(t.curl);
    curl_global_cleanup();
    surety_free(t.data);
    return status;
}

#else

static surety_status download_all(surety_fetch_info *out, const surety_dataset *dataset,
                                  const surety_fetch_settings *settings, const surety_run *run,
                                  surety_error *err) {
    (void)settings, (void)run;
    surety_fail(err, SURETY_E_SYSTEM, "this surety was built without libcurl and cannot download");
    surety_fail_expected(err, "the four IDX files in that folder; %s", dataset->package);
    surety_fail_file(err, out->folder);
    return SURETY_E_SYSTEM;
}

#endif

/* ---- the call ---- */

static surety_status check_settings(const surety_fetch_settings *s, surety_error *err) {
    if (s->dataset && s->connect_seconds >= 1 && s->stall_seconds >= 1) return SURETY_OK;
    surety_fail(err, SURETY_E_USAGE, "fetch needs a dataset and timeouts of a second or more");
    return SURETY_E_USAGE;
}

/* Where a download goes: data_dir or the cache, under the dataset's name. */
static surety_status choose_folder(surety_fetch_info *out, const surety_dataset *dataset,
                                   const char *data_dir, surety_error *err) {
    char *cache = NULL;
    if (!data_dir) SURETY_TRY(surety_cache_folder(&cache, err));
    const char *base = data_dir ? data_dir : cache;
    int length = base ? snprintf(out->folder, sizeof out->folder, "%s/%s", base, dataset->name) : -1;
    surety_free(cache);
    if (length > 0 && (size_t)length < sizeof out->folder) return SURETY_OK;
    surety_fail(err, SURETY_E_SYSTEM, "there is no folder to write to");
    surety_fail_expected(err, "a data folder (--data-dir), or HOME or XDG_CACHE_HOME in the environment");
    return SURETY_E_SYSTEM;
}

/* Finds and verifies; out->folder says where. */
static surety_status locate(surety_fetch_info *out, const surety_dataset *dataset, const char *data_dir,
                            surety_error *err) {
    surety_place place = {0};
    surety_status status = surety_dataset_find(&place, dataset, data_dir, err);
    if (status == SURETY_OK) status = surety_dataset_verify(dataset, &place, err);
    if (status == SURETY_OK) snprintf(out->folder, sizeof out->folder, "%s", place.folder);
    surety_place_free(&place);
    return status;
}

surety_status surety_fetch(surety_fetch_info *out, const surety_fetch_settings *settings,
                           const surety_run *run, surety_error *err) {
    surety_error missing = SURETY_ERROR_NONE;
    *out = (surety_fetch_info){0};
    SURETY_TRY(check_settings(settings, err));
    const surety_dataset *dataset = surety_dataset_named(settings->dataset, err);
    if (!dataset) return SURETY_E_USAGE;
    out->dataset = dataset->name;
    surety_status status = locate(out, dataset, settings->data_dir, &missing);
    if (status != SURETY_OK && status != SURETY_E_INPUT) { /* not "absent" or "damaged": no memory, disk */
        if (err && err->code == SURETY_OK) *err = missing;
        return status;
    }
    if (status == SURETY_OK) return SURETY_OK;
    SURETY_TRY(choose_folder(out, dataset, settings->data_dir, err));
    SURETY_TRY(download_all(out, dataset, settings, run, err));
    return locate(out, dataset, settings->data_dir, err); /* a damaged copy that is found first still harms */
}
