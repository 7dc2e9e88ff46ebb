#include "server/exporter.h"

#include "base/array.h"
#include "base/mem.h"
#include "server/http/http.h"

#define STOP_MS 5000

struct exporter {
    struct exporter_options options;
    struct settings settings; /* a copy; the caller owns its texts */
    struct http_server *http;
};

static void show_metrics(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct exporter *exporter = context;
    http_set_metrics(response, exporter->options.metrics);
}

static void show_health(void *context, struct http_request *request, struct http_response *response)
{
    struct exporter *exporter = context;
    struct err err;
    if (exporter->options.why_not(exporter->options.context, &err) < 0)
        http_refuse(response, 503, "unhealthy", "%s", err.text);
    else
        http_set_json(response, json_pack("{s:s}", "status", "healthy"));
}

static const struct http_route routes[] = {
    {HTTP_GET, "/metrics", show_metrics, 0, 0, NULL},
    {HTTP_GET, "/health", show_health, HTTP_PUBLIC, 0, NULL},
};

int exporter_start(struct exporter **out, const struct exporter_options *options, struct err *err)
{
    struct exporter *exporter = mem_alloc(sizeof *exporter);
    const struct http_options http = {.metrics = options->metrics};
    exporter->options = *options;
    settings_copy(&exporter->settings, options->settings);
    int result = settings_set(&exporter->settings, "server.listen", options->listen,
                              ORIGIN_COMMAND_LINE, err);
    if (result == 0)
        result = http_open(&exporter->settings, &http, &exporter->http, err);
    if (result == 0)
        result = http_add(exporter->http, routes, COUNT(routes), exporter, err);
    if (result == 0)
        result = http_start(exporter->http, err);
    if (result < 0) {
        http_free(exporter->http);
        settings_deinit(&exporter->settings);
        mem_free(exporter);
        return result;
    }
    *out = exporter;
    return 0;
}

const char *exporter_address(const struct exporter *exporter)
{
    return http_address(exporter->http);
}

void exporter_stop(struct exporter *exporter)
{
    struct err ignored;
    if (!exporter)
        return;
    (void)!http_stop(exporter->http, STOP_MS, &ignored);
    http_free(exporter->http);
    settings_deinit(&exporter->settings);
    mem_free(exporter);
}
