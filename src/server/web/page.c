/* page: the files of the page, which are the same for every reader, and what the page must know of
 * the server before its first view. */
#include "base/array.h"
#include "base/hash.h"
#include "base/json.h"
#include "server/web/assets.h"
#include "server/web/internal.h"

#include <stdio.h>
#include <string.h>

/* Nothing runs or loads but what this server has. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define SCRIPT "text/javascript; charset=utf-8"

static const struct page_file {
    const char *name, *type, *text;
} page_files[] = {
    {"page.css", "text/css; charset=utf-8", web_page_css},
    {"app.js", SCRIPT, web_app_js},
    {"charts.js", SCRIPT, web_charts_js},
    {"list.js", SCRIPT, web_list_js},
    {"runs.js", SCRIPT, web_runs_js},
    {"traces.js", SCRIPT, web_traces_js},
    {"trajectory.js", SCRIPT, web_trajectory_js},
    {"service.js", SCRIPT, web_service_js},
    {"chart.min.js", SCRIPT, web_chart_min_js},
};

static void set_page_headers(struct http_response *response)
{
    http_set_header(response, "Content-Security-Policy", POLICY);
    http_set_header(response, "X-Content-Type-Options", "nosniff");
    http_set_header(response, "Referrer-Policy", "no-referrer");
    http_set_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    /* A server of another version answers at the same address: the browser asks each time. */
    http_set_header(response, "Cache-Control", "no-cache");
}

void web_answer_page(struct http_response *response)
{
    set_page_headers(response);
    http_set_header(response, "Vary", "Accept");
    http_set_bytes(response, "text/html; charset=utf-8", web_page_html, strlen(web_page_html));
}

static void root_get(void *context, struct http_request *request, struct http_response *response)
{
    web_answer_page(response);
}

/* The browser has the file already. */
static bool is_known(const struct http_request *request, const char *tag)
{
    const char *known = http_header(request, "if-none-match");
    return known && strcmp(known, tag) == 0;
}

static void file_get(void *context, struct http_request *request, struct http_response *response)
{
    const char *name = http_parameter(request, "file");
    char hex[HASH_HEX_BYTES], tag[24];
    size_t i = 0;
    while (i < COUNT(page_files) && strcmp(page_files[i].name, name) != 0)
        i++;
    if (i == COUNT(page_files) || !*page_files[i].text) {
        http_refuse(response, 404, "not_found", "no such path");
        return;
    }
    const char *text = page_files[i].text;
    hash_bytes(text, strlen(text), hex);
    snprintf(tag, sizeof tag, "\"%.16s\"", hex);
    set_page_headers(response);
    http_set_header(response, "ETag", tag);
    if (is_known(request, tag))
        http_set_status(response, 304);
    else
        http_set_bytes(response, page_files[i].type, text, strlen(text));
}

static void dashboard_get(void *context, struct http_request *request,
                          struct http_response *response)
{
    const struct web *web = context;
    json_t *answer = json_object();
    json_put(answer, "version", json_text(WARPGYM_VERSION));
    json_put(answer, "folder", json_text(web->folder));
    json_put(answer, "queue", json_boolean(web->queue != NULL));
    json_put(answer, "charts", json_boolean(*web_chart_min_js != '\0'));
    http_set_json(response, answer);
}

const struct http_route web_page_routes[] = {
    {HTTP_GET, "/web/:file", file_get, HTTP_PUBLIC, 0, NULL},
    {HTTP_GET, "/v1/dashboard", dashboard_get, 0, 0, HTTP_NO_QUERY},
    {0},
};

const struct http_route web_root_routes[] = {
    {HTTP_GET, "/", root_get, HTTP_PUBLIC, 0, NULL},
    {0},
};
