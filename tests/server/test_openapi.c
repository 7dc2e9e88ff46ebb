/* The description of our API against the routes that there are. */
#include "../support/test.h"
#include "server/api/openapi.h"
#include "server/internal.h"

#include <stdio.h>

#define ROUTES_LEAST 15

/* "/v1/evaluations/:id" as "/v1/evaluations/{id}"; likewise what takes all of the rest. */
static void template_of(const char *pattern, char *out, size_t size)
{
    const char *at = strpbrk(pattern, ":*");
    if (!at) {
        snprintf(out, size, "%s", pattern);
        return;
    }
    size_t length = strcspn(at, "/");
    snprintf(out, size, "%.*s{%.*s}%s", (int)(at - pattern), pattern, (int)length - 1, at + 1,
             at + length);
}

static size_t operations(const json_t *paths)
{
    size_t count = 0;
    const char *path;
    json_t *item;
    json_object_foreach((json_t *)paths, path, item) count += json_object_size(item);
    return count;
}

static json_t *read(void)
{
    json_t *document = NULL;
    struct err err;
    assert_ok(openapi_describe(service_tables, &document, &err), &err);
    return document;
}

static void check_row(const json_t *paths, const struct http_route *row, size_t *seen)
{
    char path[256];
    template_of(row->pattern, path, sizeof path);
    const char *method = row->methods == HTTP_GET    ? "get"
                         : row->methods == HTTP_POST ? "post"
                                                     : "delete";
    const json_t *operation = json_object_get(json_object_get(paths, path), method);
    if (!operation)
        fail_msg("openapi.json has no %s %s", method, path);
    bool has_body = json_object_get(operation, "requestBody") != NULL;
    assert_int_equal(has_body, row->body_max_bytes > 0);
    ++*seen;
}

TEST(all_routes)
{
    size_t seen = 0;
    json_t *document = read();
    const json_t *paths = json_object_get(document, "paths");
    for (const struct http_route *const *table = service_tables; *table; table++)
        for (const struct http_route *row = *table; row->methods; row++)
            if (*table != kernelgym_routes && *table != kernelgym_monitoring_routes)
                check_row(paths, row, &seen);
    assert_true(seen >= ROUTES_LEAST);
    assert_int_equal(operations(paths), seen);
    json_decref(document);
}

/* Every "$ref" leads somewhere. */
static void check_references(const json_t *document, json_t *value)
{
    const char *key, *reference = json_string_value(json_object_get(value, "$ref"));
    json_t *item;
    size_t i;
    if (reference) {
        const json_t *at = document;
        char copy[256], *rest = NULL;
        assert_int_equal(strncmp(reference, "#/", 2), 0);
        snprintf(copy, sizeof copy, "%s", reference + 2);
        for (char *part = strtok_r(copy, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
            at = json_object_get(at, part);
        if (!at)
            fail_msg("%s is not there", reference);
    }
    json_object_foreach(value, key, item) check_references(document, item);
    json_array_foreach(value, i, item) check_references(document, item);
}

TEST(references)
{
    json_t *document = read();
    check_references(document, document);
    json_decref(document);
}

/* Every route of KernelGYM is served. */
TEST(kernelgym_routes)
{
    static const struct {
        const char *method, *path;
    } rows[] = {
        {"GET", "/"},
        {"POST", "/evaluate"},
        {"POST", "/evaluate/batch"},
        {"POST", "/debug/validate"},
        {"POST", "/workflow/submit"},
        {"GET", "/workflow/results/{task_id}"},
        {"GET", "/results/{task_id}"},
        {"GET", "/status/{task_id}"},
        {"DELETE", "/tasks/{task_id}"},
        {"GET", "/health"},
        {"GET", "/metrics"},
        {"GET", "/queue/status"},
        {"GET", "/workers/status"},
        {"POST", "/node/allocate"},
        {"POST", "/worker/register"},
        {"POST", "/worker/unregister"},
        {"POST", "/worker/heartbeat"},
        {"POST", "/worker/evict_from_lb"},
        {"GET", "/monitoring/problematic-codes"},
        {"GET", "/monitoring/retry-queue"},
        {"GET", "/monitoring/worker-health"},
        {"POST", "/monitoring/clear-error-history/{code_hash}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t fixed = strcspn(rows[i].path, "{");
        bool found = false;
        for (const struct http_route *const *table = service_tables; *table; table++)
            for (const struct http_route *row = *table; row->methods; row++) {
                bool parameter = row->pattern[strcspn(row->pattern, ":")] == ':';
                const char *method = http_method_name((enum http_method)row->methods);
                found = found || (strcmp(method, rows[i].method) == 0 &&
                                  strcspn(row->pattern, ":") == fixed &&
                                  strncmp(row->pattern, rows[i].path, fixed) == 0 &&
                                  parameter == (rows[i].path[fixed] == '{'));
            }
        if (!found)
            fail_msg("%s %s is not served", rows[i].method, rows[i].path);
    }
}
