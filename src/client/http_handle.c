#include "client/http_handle.h"

#include "base/limits.h"
#include "base/mem.h"

#include <string.h>
#include <strings.h>

#define KEPT_CONNECTIONS 2L

static bool is_loopback(const char *host)
{
    bool numbers = host[strspn(host, "0123456789.")] == '\0';
    return strcasecmp(host, "localhost") == 0 || (numbers && strncmp(host, "127.", 4) == 0) ||
           strcmp(host, "[::1]") == 0;
}

int http_handle_check_url(const char *url, const char *token_setting, bool *loopback,
                          struct err *err)
{
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL, *none = NULL;
    int result = 0;
    if (strlen(url) > LIMIT_CLIENT_URL_BYTES ||
        curl_url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        result = err_set(
            err, ERR_INPUT,
            "'%.200s' is not a server's address: give http://HOST:PORT or https://HOST:PORT", url);
    else if (curl_url_get(parts, CURLUPART_QUERY, &none, 0) == CURLUE_OK ||
             curl_url_get(parts, CURLUPART_FRAGMENT, &none, 0) == CURLUE_OK)
        result = err_set(err, ERR_INPUT, "'%.200s' has a query; give the server's address alone",
                         url);
    else if (curl_url_get(parts, CURLUPART_USER, &none, 0) == CURLUE_OK)
        result = err_set(err, ERR_INPUT, "the server's address has a user; give its token in %s",
                         token_setting);
    else
        *loopback = is_loopback(host);
    curl_free(none);
    curl_free(host);
    curl_free(scheme);
    curl_url_cleanup(parts);
    return result;
}

static void add_header(struct http_handle *handle, const char *name, const char *value)
{
    char *line = mem_printf("%s: %s", name, value);
    handle->headers = curl_slist_append(handle->headers, line);
    mem_free(line);
}

static int make_headers(struct http_handle *handle, const struct http_handle_options *options,
                        struct err *err)
{
    const char *token = options->token ? options->token : "";
    if (strpbrk(token, "\r\n"))
        return err_set(err, ERR_INPUT, "the token has more than one line");
    add_header(handle, "Content-Type", "application/json");
    add_header(handle, "Accept", options->accept);
    handle->headers = curl_slist_append(handle->headers,
                                        "Expect:"); /* no round trip before a body */
    if (token[0] && options->token_header) {
        add_header(handle, options->token_header, token);
    } else if (token[0]) {
        char *bearer = mem_printf("Bearer %s", token);
        add_header(handle, "Authorization", bearer);
        mem_free(bearer);
    }
    return 0;
}

/* Sets the options that every call has in common. */
static void handle_set_options(struct http_handle *handle, int64_t connect_timeout_ms)
{
    CURL *easy = handle->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* do not wait for the resolver on close */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "warpgym/" WARPGYM_VERSION);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, handle->headers);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, handle->why);
    curl_multi_setopt(handle->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    if (handle->ca_file[0])
        curl_easy_setopt(easy, CURLOPT_CAINFO, handle->ca_file);
}

int http_handle_init(struct http_handle *handle, const struct http_handle_options *options,
                     struct err *err)
{
    *handle = (struct http_handle){.cancelled = options->cancelled};
    if (curl_global_init(CURL_GLOBAL_DEFAULT) !=
        CURLE_OK) /* counts its calls, and is thread-safe */
        return err_set(err, ERR_INTERNAL, "cannot start libcurl");
    handle->url = mem_strdup(options->url);
    handle->ca_file = mem_strdup(options->ca_file ? options->ca_file : "");
    for (size_t length = strlen(handle->url); length > 0 && handle->url[length - 1] == '/';)
        handle->url[--length] = '\0';
    handle->multi = curl_multi_init();
    handle->easy = curl_easy_init();
    bool loopback = false;
    int result = handle->multi && handle->easy
                     ? 0
                     : err_set(err, ERR_INTERNAL, "cannot create a handle of libcurl");
    if (result == 0)
        result = http_handle_check_url(handle->url, options->token_setting, &loopback, err);
    if (result == 0 && loopback) /* a proxy of the environment does not apply to this machine */
        curl_easy_setopt(handle->easy, CURLOPT_PROXY, "");
    if (result == 0)
        result = make_headers(handle, options, err);
    if (result < 0) {
        http_handle_deinit(handle);
        return result;
    }
    handle_set_options(handle, options->connect_timeout_ms);
    return 0;
}

void http_handle_deinit(struct http_handle *handle)
{
    curl_easy_cleanup(handle->easy);
    if (handle->multi)
        curl_multi_cleanup(handle->multi);
    curl_slist_free_all(handle->headers);
    mem_free(handle->url);
    mem_free(handle->ca_file);
    *handle = (struct http_handle){0};
    curl_global_cleanup();
}

bool http_handle_cancelled(const struct http_handle *handle)
{
    return handle->cancelled && *handle->cancelled;
}

void http_handle_set_request(struct http_handle *handle, const char *method, const char *target,
                             const char *body, size_t body_bytes)
{
    CURL *easy = handle->easy;
    char *url = mem_printf("%s%s", handle->url, target);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    mem_free(url);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (body || strcmp(method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_bytes);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body ? body : "");
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

int http_handle_failure(const struct http_handle *handle, CURLcode code, struct err *err)
{
    const char *why = handle->why[0] ? handle->why : curl_easy_strerror(code);
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_URL_MALFORMAT:
        return err_set(err, ERR_INPUT, "%.200s: %s", handle->url, why);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_TIMEOUT, "%.200s: %s", handle->url, why);
    default:
        return err_set(err, ERR_IO, "%.200s: %s", handle->url, why);
    }
}

bool http_handle_is_passing(CURLcode code)
{
    switch (code) {
    case CURLE_WRITE_ERROR:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        return true;
    default:
        return false;
    }
}

bool http_handle_is_unreached(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT;
}
