/* problems: the server's problems, and the description of this API. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/request/language.h"
#include "problem/suite.h"
#include "server/internal.h"

#include <string.h>

static json_t *languages_json(enum problem_format format)
{
    const struct language *language;
    json_t *names = json_array();
    for (size_t i = 0; (language = language_at(i)); i++)
        if (language->format == format)
            json_array_append_new(names, json_text(language->name));
    return names;
}

static json_t *problem_json(const struct problem *problem)
{
    json_t *object = json_object();
    json_put(object, "id", json_text(problem->id));
    json_put(object, "format", json_text(problem_format_name(problem)));
    json_put(object, "summary", json_text(problem->summary));
    json_put(object, "hash", json_text(problem->hash));
    json_put(object, "languages", languages_json(problem->format));
    return object;
}

/* An unreadable problem is listed with the reason. */
static void problems_list(void *context, struct http_request *request,
                          struct http_response *response)
{
    struct service *service = context;
    struct suite suite;
    struct err err;
    if (suite_open(&suite, service->options.search_paths, &err) < 0) {
        http_refuse_err(response, &err);
        return;
    }
    json_t *items = json_array(), *answer = json_object();
    for (size_t i = 0; i < suite.count; i++) {
        struct problem problem = {0};
        json_t *item;
        if (suite_load_id(service->options.search_paths, suite.entries[i].id, &problem, &err) ==
            0) {
            item = problem_json(&problem);
        } else {
            item = json_object();
            json_put(item, "id", json_text(suite.entries[i].id));
            json_put(item, "error", json_text(err.text));
        }
        json_array_append_new(items, item);
        problem_deinit(&problem);
    }
    suite_close(&suite);
    json_put(answer, "problems", items);
    http_set_json(response, answer);
}

static void put_text(json_t *files, const char *name, const char *text, size_t count)
{
    if (text)
        json_put(files, name, json_text_bytes(text, count));
}

static void put_yaml(json_t *files, const struct problem *problem)
{
    struct err err;
    char *text = NULL;
    size_t count = 0;
    if (problem->yaml_path &&
        file_read(problem->yaml_path, LIMIT_YAML_BYTES, &text, &count, &err) == 0)
        put_text(files, "problem.yaml", text, count);
    mem_free(text);
}

static void problems_get(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct service *service = context;
    struct problem problem = {0};
    struct err err;
    const char *id = http_parameter(request, "id");
    if (strlen(id) > LIMIT_NAME_BYTES) {
        http_refuse(response, 404, "not_found", "no problem has that id");
        return;
    }
    if (suite_load_id(service->options.search_paths, id, &problem, &err) < 0) {
        http_refuse_err(response, &err);
    } else {
        json_t *object = problem_json(&problem), *files = json_object();
        bool native = problem.format == PROBLEM_NATIVE;
        put_yaml(files, &problem);
        put_text(files, native ? "reference.c" : "problem.py", problem.reference_text,
                 problem.reference_bytes);
        put_text(files, "reference.cu", problem.cuda_text, problem.cuda_bytes);
        json_put(object, "files", files);
        http_set_json(response, object);
    }
    problem_deinit(&problem);
}

static void openapi_get(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    http_set_json(response, json_incref(service->openapi));
}

const struct http_route api_problems_routes[] = {
    {HTTP_GET, "/v1/problems", problems_list, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/v1/problems/*id", problems_get, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/openapi.json", openapi_get, 0, 0, NULL},
    {0},
};
