#include "server/api/openapi.h"

#include "base/array.h"
#include "base/embed.h"
#include "base/json.h"
#include "judge/request/language.h"
#include "judge/verdict_schema.h"
#include "server/evaluation_json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

extern const char openapi_json[];
EMBED_TEXT(openapi_json, "src/server/api/openapi.json");

static const char *language_word(size_t i)
{
    const struct language *language = language_at(i);
    return language ? language->name : NULL;
}

static const char *priority_word(size_t i)
{
    return i < QUEUE_PRIORITIES ? evaluation_priority_name((enum queue_priority)i) : NULL;
}

static const char *state_word(size_t i)
{
    return i < QUEUE_STATES ? queue_state_name((enum queue_state)i) : NULL;
}

/* Replaces each "enum" that names a list by its words. */
static void words_fill(json_t *object)
{
    static const struct {
        const char *name;
        const char *(*word)(size_t i); /* NULL: behind the last */
    } rows[] = {{"languages", language_word},
                {"priorities", priority_word},
                {"states", state_word}};
    const char *list = json_string_value(json_object_get(object, "enum")), *key;
    json_t *item, *names = list ? json_array() : NULL;
    size_t i;
    for (size_t row = 0; list && row < COUNT(rows); row++)
        for (i = 0; strcmp(rows[row].name, list) == 0 && rows[row].word(i); i++)
            json_array_append_new(names, json_string(rows[row].word(i)));
    if (names)
        json_put(object, "enum", names);
    json_object_foreach(object, key, item) words_fill(item);
    json_array_foreach(object, i, item) words_fill(item);
}

static json_t *reference_to(const char *kind, const char *name)
{
    char text[128];
    snprintf(text, sizeof text, "#/components/%s/%s", kind, name);
    return json_pack("{s:s}", "$ref", text);
}

static json_t *content_of(const char *type, json_t *schema)
{
    return json_pack("{s:{s:o}}", type, "schema", schema);
}

/* [text], [text, component] or [text, "events"]; an object is a response already. */
static json_t *response_of(json_t *entry)
{
    if (json_is_object(entry))
        return json_incref(entry);
    json_t *response = json_pack("{s:O}", "description", json_array_get(entry, 0));
    const char *schema = json_string_value(json_array_get(entry, 1));
    if (schema && strcmp(schema, "events") == 0)
        json_put(response, "content",
                 content_of("text/event-stream", json_pack("{s:s}", "type", "string")));
    else if (schema)
        json_put(response, "content",
                 content_of("application/json", reference_to("schemas", schema)));
    return response;
}

static void refusal_put(json_t *responses, int status)
{
    char key[8];
    snprintf(key, sizeof key, "%d", status);
    json_put(responses, key,
             reference_to("responses", status == 429 || status == 503 ? "Busy" : "Refused"));
}

static json_t *responses_of(const struct http_route *route, const json_t *described)
{
    json_t *responses = json_object(), *entry;
    const char *status;
    size_t i;
    json_object_foreach(json_object_get(described, "responses"), status, entry)
        json_put(responses, status, response_of(entry));
    json_array_foreach(json_object_get(described, "refusals"), i, entry)
        refusal_put(responses, (int)json_integer_value(entry));
    if (!(route->flags & HTTP_PUBLIC))
        refusal_put(responses, 401);
    if (strpbrk(route->pattern, ":*"))
        refusal_put(responses, 404);
    if (route->body_max_bytes > 0) {
        refusal_put(responses, 413);
        refusal_put(responses, 415);
    }
    return responses;
}

/* A parameter of one operation alone is the component OPERATION.NAME. */
static json_t *parameters_of(const struct http_route *route, const char *operation,
                             const json_t *components)
{
    json_t *parameters = json_array();
    for (const char *at = route->pattern; (at = strpbrk(at, ":*")); at++)
        json_array_append_new(parameters, json_pack("{s:s#, s:s, s:b, s:{s:s}}", "name", at + 1,
                                                    strcspn(at + 1, "/"), "in", "path", "required",
                                                    1, "schema", "type", "string"));
    for (const char *const *name = route->query; name && *name; name++) {
        char own[64];
        snprintf(own, sizeof own, "%s.%s", operation, *name);
        bool special = json_object_get(components, own) != NULL;
        json_array_append_new(parameters, reference_to("parameters", special ? own : *name));
    }
    return parameters;
}

static json_t *operation_of(const struct http_route *route, const json_t *described,
                            const json_t *components)
{
    const char *name = json_text_at(described, "operationId");
    json_t *operation = json_pack("{s:s, s:O}", "operationId", name, "summary",
                                  json_object_get(described, "summary"));
    if (route->flags & HTTP_PUBLIC)
        json_put(operation, "security", json_pack("[{}]"));
    json_put(operation, "parameters", parameters_of(route, name, components));
    if (route->body_max_bytes > 0)
        json_put(operation, "requestBody",
                 json_pack("{s:b, s:o}", "required", 1, "content",
                           content_of("application/json",
                                      reference_to("schemas", json_text_at(described, "body")))));
    json_put(operation, "responses", responses_of(route, described));
    return operation;
}

/* "/v1/evaluations/:id" as "/v1/evaluations/{id}"; likewise a name that takes all of the rest. */
static void path_write(const char *pattern, char path[128])
{
    const char *name = strpbrk(pattern, ":*");
    int before = (int)strcspn(pattern, ":*");
    int length = name ? (int)strcspn(name, "/") : 0;
    if (name)
        snprintf(path, 128, "%.*s{%.*s}%s", before, pattern, length - 1, name + 1, name + length);
    else
        snprintf(path, 128, "%s", pattern);
}

/* Takes the row's entry out of `described`. */
static void row_describe(const struct http_route *route, json_t *described, json_t *document)
{
    char key[128], path[128], method[8] = "";
    const char *name = http_method_name((enum http_method)route->methods);
    snprintf(key, sizeof key, "%s %s", name, route->pattern);
    const json_t *entry = json_object_get(described, key);
    if (!entry)
        return;
    for (size_t i = 0; name[i] && i + 1 < sizeof method; i++)
        method[i] = (char)tolower((unsigned char)name[i]);
    path_write(route->pattern, path);
    json_t *paths = json_object_get(document, "paths");
    if (!json_object_get(paths, path))
        json_put(paths, path, json_object());
    const json_t *components = json_object_get(document, "components");
    json_put(json_object_get(paths, path), method,
             operation_of(route, entry, json_object_get(components, "parameters")));
    json_object_del(described, key);
}

int openapi_describe(const struct http_route *const *tables, json_t **out, struct err *err)
{
    json_t *document, *parameter;
    const char *name;
    int result = json_parse("openapi.json", openapi_json, strlen(openapi_json), &document, err);
    if (result < 0)
        return result;
    json_t *described = json_incref(json_object_get(document, "operations"));
    json_object_del(document, "operations");
    json_put(document, "paths", json_object());
    words_fill(document);
    json_object_update_new(json_object_get(json_object_get(document, "components"), "schemas"),
                           verdict_schema_types("#/components/schemas/"));
    for (; *tables; tables++)
        for (const struct http_route *route = *tables; route->methods; route++)
            row_describe(route, described, document);
    json_object_foreach(json_object_get(json_object_get(document, "components"), "parameters"),
                        name, parameter)
        json_object_update_new(parameter,
                               json_pack("{s:s, s:s}", "name",
                                         strchr(name, '.') ? strchr(name, '.') + 1 : name, "in",
                                         "query"));
    const char *left = json_object_iter_key(json_object_iter(described));
    if (left)
        result = err_set(err, ERR_INTERNAL, "openapi.json: no route is '%s'", left);
    json_decref(described);
    if (result == 0)
        *out = document;
    else
        json_decref(document);
    return result;
}
