/* Archives: an adapter as a tar file, at an address that is good for a while.
 *
 * The answer to a request for one is an address with a key, which a plain download works with and
 * needs no token for. Format: POSIX ustar (pax(1)).
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "server/tinker/files.h"
#include "server/tinker/names.h"
#include "server/tinker/routes.h"
#include "server/tinker/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 512
#define MOST_BYTES ((size_t)4 << 30) /* of one archive, in memory while it is sent */

static const char *const files[] = {"adapter_config.json", "adapter_model.safetensors"};

/* One file, or all (NULL). */
static char *address_of(const struct tinker_saved *saved, const char *file, int64_t expires_s)
{
    return mem_printf("/api/v1/archives/%s/%s/%s?expires=%" PRId64 "&file=%s", saved->run,
                      saved->kind, saved->name, expires_s, file ? file : "");
}

/* Of the address, and of the secret of this server's life. */
static void key_of(const struct tinker_service *service, const char *address,
                   char key[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    hash_update_string(hash, service->archive_secret);
    hash_update_string(hash, address);
    hash_update_string(hash, service->archive_secret);
    hash_finish(hash, key);
}

/* As the client sees this server. */
static char *signed_address(const struct tinker_service *service,
                            const struct http_request *request, const struct tinker_saved *saved,
                            const char *file, int64_t expires_s)
{
    const char *host = http_header(request, "Host");
    const char *scheme = http_header(request, "X-Forwarded-Proto");
    char *address = address_of(saved, file, expires_s), key[HASH_HEX_BYTES];
    key_of(service, address, key);
    char *out = mem_printf("%s://%s%s&key=%s",
                           scheme && strcmp(scheme, "https") == 0 ? "https" : "http",
                           host ? host : "localhost", address, key);
    mem_free(address);
    return out;
}

static int64_t expiry_s(const struct tinker_service *service)
{
    return (clock_wall_ms() + tinker_of(service)->archive_timeout_ms) / 1000;
}

static bool find_saved(const struct tinker_service *service, const struct http_request *request,
                       struct tinker_saved *saved, struct http_response *response)
{
    struct err err;
    if (!tinker_saved_of(saved, request, response))
        return false;
    if (tinker_checkpoint_exists(service, saved, &err) == 0)
        return true;
    http_refuse_err(response, &err);
    return false;
}

static void answer_archive(void *context, struct http_request *request,
                           struct http_response *response)
{
    const struct tinker_service *service = context;
    const time_t until_s = (time_t)expiry_s(service);
    struct tinker_saved saved;
    char date[64];
    struct tm utc;
    if (!find_saved(service, request, &saved, response))
        return;
    char *location = signed_address(service, request, &saved, NULL, until_s);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&until_s, &utc));
    http_set_status(response, 302);
    http_set_header(response, "Location", location);
    http_set_header(response, "Expires", date);
    http_set_json(response, json_pack("{s:s}", "url", location));
    mem_free(location);
}

static void answer_external_urls(void *context, struct http_request *request,
                                 struct http_response *response)
{
    const struct tinker_service *service = context;
    const int64_t until_s = expiry_s(service);
    struct tinker_saved saved;
    char date[CLOCK_TEXT_BYTES];
    if (!find_saved(service, request, &saved, response))
        return;
    json_t *urls = json_object();
    for (size_t i = 0; i < COUNT(files); i++) {
        char *address = signed_address(service, request, &saved, files[i], until_s);
        json_put(urls, files[i], json_text(address));
        mem_free(address);
    }
    clock_text(until_s * 1000, date);
    http_set_json(response, json_pack("{s:o, s:s}", "urls", urls, "expires", date));
}

static void put_octal(char *field, size_t size, uint64_t value)
{
    field[--size] = '\0';
    for (; size > 0; value >>= 3)
        field[--size] = (char)('0' + (value & 7));
}

/* A header, the bytes, and zeros up to a whole block. */
static void put_file(struct buf *out, const char *name, const char *bytes, size_t count)
{
    char header[BLOCK] = "";
    unsigned sum = 0;
    snprintf(header, 100, "%s", name);
    put_octal(header + 100, 8, 0644);
    put_octal(header + 108, 8, 0);
    put_octal(header + 116, 8, 0);
    put_octal(header + 124, 12, count);
    put_octal(header + 136, 12, (uint64_t)clock_wall_ms() / 1000);
    memset(header + 148, ' ', 8);
    header[156] = '0';
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    put_octal(header + 148, 7, sum);
    header[155] = ' ';
    buf_append(out, header, BLOCK);
    buf_append(out, bytes, count);
    memset(header, 0, BLOCK);
    buf_append(out, header, (BLOCK - count % BLOCK) % BLOCK);
}

static int make_archive(const char *directory, struct buf *out, struct err *err)
{
    static const char end[2 * BLOCK];
    int result = 0;
    for (size_t i = 0; i < COUNT(files) && result == 0; i++) {
        char *path = mem_printf("%s/%s", directory, files[i]), *bytes = NULL;
        size_t count = 0;
        result = file_read(path, MOST_BYTES, &bytes, &count, err);
        if (result == 0)
            put_file(out, files[i], bytes, count);
        mem_free(bytes);
        mem_free(path);
    }
    buf_append(out, end, sizeof end);
    return result == 0 && out->cut ? err_set(err, ERR_LIMIT, "the archive is too large") : result;
}

static bool check_key(const struct tinker_service *service, const struct http_request *request,
                      const struct tinker_saved *saved, struct http_response *response)
{
    const char *expires = http_query(request, "expires"), *given = http_query(request, "key");
    const int64_t until_s = strtoll(expires ? expires : "0", NULL, 10);
    char *address = address_of(saved, http_query(request, "file"), until_s);
    char key[HASH_HEX_BYTES];
    key_of(service, address, key);
    mem_free(address);
    if (!given || strcmp(given, key) != 0)
        http_refuse(response, 403, "forbidden", "the key of this address is wrong");
    else if (until_s * 1000 < clock_wall_ms())
        http_refuse(response, 410, "gone", "this address has expired: ask for the archive again");
    else
        return true;
    return false;
}

static int make_file(const char *directory, const char *file, struct buf *out, struct err *err)
{
    char *path = mem_printf("%s/%s", directory, file), *bytes = NULL;
    size_t count = 0;
    int result = file_read(path, MOST_BYTES, &bytes, &count, err);
    buf_append(out, bytes, count);
    mem_free(bytes);
    mem_free(path);
    return result;
}

static void answer_download(void *context, struct http_request *request,
                            struct http_response *response)
{
    const struct tinker_service *service = context;
    const char *file = http_query(request, "file");
    struct tinker_saved saved;
    struct err err;
    struct buf out;
    if (!tinker_saved_of(&saved, request, response) ||
        !check_key(service, request, &saved, response))
        return;
    char *directory = tinker_saved_directory(service, &saved);
    buf_init(&out, MOST_BYTES);
    int result = file && *file ? make_file(directory, file, &out, &err)
                               : make_archive(directory, &out, &err);
    if (result < 0) {
        http_refuse_err(response, &err);
    } else {
        const size_t count = out.len;
        http_set_taken(response, file && *file ? "application/octet-stream" : "application/x-tar",
                       buf_take(&out), count);
    }
    buf_deinit(&out);
    mem_free(directory);
}

const struct http_route tinker_archive_routes[] = {
    {HTTP_GET, TINKER_CHECKPOINT "/archive", answer_archive, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, TINKER_CHECKPOINT "/external_weights_urls", answer_external_urls, HTTP_BLOCKS, 0,
     NULL},
    {HTTP_GET, TINKER_API "/archives/:run/:kind/:name", answer_download, HTTP_BLOCKS | HTTP_PUBLIC,
     0, HTTP_QUERY("expires", "file", "key")},
    {0},
};
