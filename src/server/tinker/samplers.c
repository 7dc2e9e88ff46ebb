#include "server/tinker/samplers.h"

#include "base/file.h"
#include "base/mem.h"
#include "server/tinker/body.h"
#include "server/tinker/files.h"
#include "server/tinker/records.h"
#include "server/tinker/routes.h"
#include "server/tinker/sessions.h"
#include "server/tinker/state.h"
#include "server/tinker/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char kind[] = "samplers"; /* of records */

struct tinker_sampler {
    char id[TINKER_ID_BYTES], session[TINKER_ID_BYTES];
    char *path;      /* tinker://…, or NULL: the base or unnamed */
    char *directory; /* of the adapter, or NULL: the base */
    UT_hash_handle hh;
};

TINKER_TABLE(static, sampler, tinker_sampler, samplers)

static void sampler_free(struct tinker_sampler *sampler)
{
    mem_free(sampler->path);
    mem_free(sampler->directory);
    mem_free(sampler);
}

static struct tinker_sampler *sampler_add(struct tinker_service *service, const char *id,
                                          const char *session, const char *path,
                                          const char *directory)
{
    struct tinker_sampler *sampler = mem_alloc(sizeof *sampler);
    snprintf(sampler->id, sizeof sampler->id, "%s", id);
    snprintf(sampler->session, sizeof sampler->session, "%s", session);
    sampler->path = path && *path ? mem_strdup(path) : NULL;
    sampler->directory = directory && *directory ? mem_strdup(directory) : NULL;
    sampler_put(service, sampler);
    return sampler;
}

/* With the lock. */
static struct tinker_sampler *find(struct tinker_service *service, const char *id)
{
    struct tinker_sampler *sampler = sampler_get(service, id);
    if (sampler || !tinker_is_plain(id))
        return sampler;
    json_t *record = tinker_record_read(service, kind, id);
    if (record)
        sampler = sampler_add(service, id, json_text_at(record, "session_id"),
                              json_text_at(record, "model_path"),
                              json_text_at(record, "directory"));
    json_decref(record);
    return sampler;
}

int tinker_sampler_create(struct tinker_service *service, const char *session, int64_t number,
                          const char *path, const char *directory, char id[TINKER_ID_BYTES],
                          struct err *err)
{
    pthread_mutex_lock(&service->lock);
    if (number < 0)
        number = (int64_t)(1000000000 + ++service->serial);
    pthread_mutex_unlock(&service->lock);
    snprintf(id, TINKER_ID_BYTES, "%.90s:sample:%" PRId64, session, number);
    json_t *record = json_pack("{s:s, s:s, s:s}", "session_id", session, "model_path",
                               path ? path : "", "directory", directory ? directory : "");
    int result = tinker_record_write(service, kind, id, record, err);
    json_decref(record);
    if (result < 0)
        return result;
    pthread_mutex_lock(&service->lock);
    if (!sampler_get(service, id))
        sampler_add(service, id, session, path, directory);
    pthread_mutex_unlock(&service->lock);
    return 0;
}

int tinker_sampler_find(struct tinker_service *service, const char *id, char **path,
                        char **directory, struct err *err)
{
    pthread_mutex_lock(&service->lock);
    const struct tinker_sampler *sampler = find(service, id);
    *path = sampler && sampler->path ? mem_strdup(sampler->path) : NULL;
    *directory = sampler && sampler->directory ? mem_strdup(sampler->directory) : NULL;
    pthread_mutex_unlock(&service->lock);
    return sampler ? 0 : err_set(err, ERR_MISSING, "no sampler '%.120s': its session ended", id);
}

void tinker_samplers_end(struct tinker_service *service, const char *session, json_t *unnamed)
{
    struct tinker_sampler *sampler, *next;
    for (sampler = service->samplers; sampler; sampler = next) {
        next = sampler->hh.next;
        if (strcmp(sampler->session, session) != 0)
            continue;
        sampler_remove(service, sampler);
        if (!sampler->path && sampler->directory)
            json_array_append_new(unnamed, json_string(sampler->directory));
        tinker_record_remove(service, kind, sampler->id);
        sampler_free(sampler);
    }
}

json_t *tinker_samplers_of(const struct tinker_service *service, const char *session)
{
    json_t *ids = json_array();
    const struct tinker_sampler *sampler;
    for (sampler = service->samplers; sampler; sampler = sampler->hh.next)
        if (strcmp(sampler->session, session) == 0)
            json_array_append_new(ids, json_string(sampler->id));
    return ids;
}

/* Samplers without a session are used by no client, and their unnamed weights neither. */
static void drop_if_alone(struct tinker_service *service, const char *id)
{
    json_t *record = tinker_record_read(service, kind, id);
    const char *directory = json_text_at(record, "directory");
    if (!tinker_session_known(service, json_text_at(record, "session_id"))) {
        if (!json_text_at(record, "model_path")[0] && strstr(directory, "/unnamed/") &&
            strncmp(directory, service->directory, strlen(service->directory)) == 0 &&
            !strstr(directory, ".."))
            file_remove_tree(directory);
        tinker_record_remove(service, kind, id);
    }
    json_decref(record);
}

void tinker_samplers_clean(struct tinker_service *service)
{
    tinker_records_each(service, kind, drop_if_alone);
}

void tinker_samplers_free(struct tinker_service *service)
{
    for (struct tinker_sampler *sampler; (sampler = service->samplers);) {
        sampler_remove(service, sampler);
        sampler_free(sampler);
    }
}

/* --- handlers --- */

/* The adapter of a path; NULL: the base. */
static int directory_of(const struct tinker_service *service, const char *path, char **directory,
                        struct err *err)
{
    struct tinker_saved saved;
    *directory = NULL;
    if (!path[0])
        return 0;
    int result = tinker_saved_parse(&saved, path, err);
    if (result == 0)
        result = tinker_checkpoint_exists(service, &saved, err);
    if (result == 0)
        *directory = tinker_saved_directory(service, &saved);
    return result;
}

static int check_model(const struct tinker_service *service, const char *base, const char *path,
                       struct err *err)
{
    if (base[0] ? strcmp(base, service->model) != 0 : !path[0])
        return err_set(err, ERR_MISSING, "no base model '%.200s'; this server has '%.200s'", base,
                       service->model);
    return 0;
}

static void answer_create_sampling_session(void *context, struct http_request *request,
                                           struct http_response *response)
{
    struct tinker_service *service = context;
    const json_t *body = tinker_body(request, response);
    const char *session = body ? tinker_word(body, "session_id", response) : NULL;
    char id[TINKER_ID_BYTES], *directory = NULL;
    struct err err;
    if (!session)
        return;
    const char *path = json_text_at(body, "model_path");
    pthread_mutex_lock(&service->lock);
    int result = tinker_session_find(service, session)
                     ? 0
                     : err_set(&err, ERR_MISSING, "no session '%.120s': it ended", session);
    pthread_mutex_unlock(&service->lock);
    if (result == 0)
        result = check_model(service, json_text_at(body, "base_model"), path, &err);
    if (result == 0)
        result = directory_of(service, path, &directory, &err);
    if (result == 0)
        result = tinker_sampler_create(service, session,
                                       tinker_number(body, "sampling_session_seq_id"), path,
                                       directory, id, &err);
    if (result < 0)
        http_refuse_err(response, &err);
    else
        http_set_json(response, json_pack("{s:s, s:s}", "type", "create_sampling_session",
                                          "sampling_session_id", id));
    mem_free(directory);
}

static void answer_show_sampler(void *context, struct http_request *request,
                                struct http_response *response)
{
    struct tinker_service *service = context;
    const char *id = http_parameter(request, "sampler");
    char *path, *directory;
    struct err err;
    if (tinker_sampler_find(service, id, &path, &directory, &err) < 0)
        http_refuse_err(response, &err);
    else
        http_set_json(response, json_pack("{s:s, s:s, s:s?}", "sampler_id", id, "base_model",
                                          service->model, "model_path", path));
    mem_free(path);
    mem_free(directory);
}

const struct http_route tinker_samplers_routes[] = {
    TINKER_POST("/create_sampling_session", create_sampling_session, TINKER_SMALL),
    TINKER_GET("/samplers/:sampler", show_sampler),
    {0},
};
