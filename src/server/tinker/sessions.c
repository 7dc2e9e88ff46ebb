#include "base/clock.h"
#include "base/file.h"
#include "server/tinker/internal.h"

#include <inttypes.h>
#include <string.h>

#define WRITE_EVERY_MS 60000 /* how often a heartbeat is written down */
static const char kind[] = "sessions";

/* --- the server --- */

void tinker_healthz(void *context, struct http_request *request, struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, json_pack("{s:s}", "status", "ok"));
}

void tinker_root(void *context, struct http_request *request, struct http_response *response)
{
    const struct tinker_service *service = context;
    http_set_json(response, json_pack("{s:s, s:s}", "name", "warpgym", "model", service->model));
}

/* Bodies come as they are: the SDK compresses them only where a server asks for it. */
void tinker_client_config(void *context, struct http_request *request,
                          struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, json_pack("{s:b, s:b, s:b, s:I, s:I}", "pjwt_auth_enabled", 0,
                                      "proto_compress_fwdbwd", 0, "parallel_fwdbwd_chunks", 1,
                                      "fwdbwd_max_chunk_len", (json_int_t)1024,
                                      "fwdbwd_max_chunk_bytes_count", (json_int_t)5000000));
}

void tinker_dynamic_config(void *context, struct http_request *request,
                           struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response,
                  json_pack("{s:i, s:b}", "refresh_interval_sec", 300, "sample_cancel_enabled", 1));
}

void tinker_capabilities(void *context, struct http_request *request,
                         struct http_response *response)
{
    const struct tinker_service *service = context;
    http_set_json(response, json_pack("{s:[{s:s, s:I, s:b, s:b}]}", "supported_models",
                                      "model_name", service->model, "max_context_length",
                                      (json_int_t)service->options.positions, "trainable", 1,
                                      "sampleable", 1));
}

/* It may hold texts of the user's errors: it is not kept. */
void tinker_telemetry(void *context, struct http_request *request, struct http_response *response)
{
    (void)context, (void)request;
    http_set_json(response, json_pack("{s:s}", "status", "accepted"));
}

/* --- sessions --- */

static struct tinker_session *session_add(struct tinker_service *service, const char *id)
{
    struct tinker_session *session = mem_alloc(sizeof *session);
    snprintf(session->id, sizeof session->id, "%s", id);
    session->seen_ns = session->touched_ns = clock_now_ns();
    tinker_session_put(service, session);
    return session;
}

/* One of before a restart is taken up again. */
struct tinker_session *tinker_session_find(struct tinker_service *service, const char *id)
{
    struct tinker_session *session = tinker_session_get(service, id);
    if (session)
        return session;
    json_t *record = tinker_record_read(service, kind, id);
    if (record)
        session = session_add(service, id);
    json_decref(record);
    return session;
}

void tinker_create_session(void *context, struct http_request *request,
                           struct http_response *response)
{
    struct tinker_service *service = context;
    const json_t *body = tinker_body(request, response);
    char id[TINKER_ID_BYTES];
    struct err err;
    if (!body)
        return;
    snprintf(id, sizeof id, "%016" PRIx64, clock_secret());
    json_t *record = json_object();
    json_put(record, "seen_ms", json_integer(clock_wall_ms()));
    int result = tinker_record_write(service, kind, id, record, &err);
    json_decref(record);
    if (result < 0) {
        http_refuse_err(response, &err);
        return;
    }
    pthread_mutex_lock(&service->lock);
    session_add(service, id);
    pthread_mutex_unlock(&service->lock);
    http_set_json(response, json_pack("{s:s, s:s, s:s}", "type", "create_session", "session_id", id,
                                      "info_message",
                                      "warpgym: adapters have no matrices on the unembedding layer "
                                      "(train_unembed is read as false)"));
}

void tinker_heartbeat(void *context, struct http_request *request, struct http_response *response)
{
    struct tinker_service *service = context;
    const json_t *body = tinker_body(request, response);
    const char *id = body ? tinker_word(body, "session_id", response) : NULL;
    bool write = false;
    if (!id)
        return;
    pthread_mutex_lock(&service->lock);
    struct tinker_session *session = tinker_session_find(service, id);
    if (session) {
        session->seen_ns = clock_now_ns();
        write = clock_ms_since(session->touched_ns) > WRITE_EVERY_MS;
        if (write)
            session->touched_ns = session->seen_ns;
    }
    pthread_mutex_unlock(&service->lock);
    if (write) {
        json_t *record = json_object();
        json_put(record, "seen_ms", json_integer(clock_wall_ms()));
        (void)!tinker_record_write(service, kind, id, record, NULL);
        json_decref(record);
    }
    if (session)
        http_set_json(response, json_pack("{s:s}", "type", "session_heartbeat"));
    else
        http_refuse(response, 404, "not_found", "no session '%.120s': it ended", id);
}

/* With the lock. Appends directories of weights that no other sampler can name. */
static void end_samplers(struct tinker_service *service, const char *session, json_t *unnamed)
{
    struct tinker_sampler *sampler, *next;
    for (sampler = service->samplers; sampler; sampler = next) {
        next = sampler->hh.next;
        if (strcmp(sampler->session, session) != 0)
            continue;
        tinker_sampler_remove(service, sampler);
        if (!sampler->path && sampler->directory)
            json_array_append_new(unnamed, json_string(sampler->directory));
        tinker_record_remove(service, "samplers", sampler->id);
        tinker_sampler_free(sampler);
    }
}

void tinker_session_end(struct tinker_service *service, const char *id)
{
    json_t *unnamed = json_array();
    pthread_mutex_lock(&service->lock);
    struct tinker_session *session = tinker_session_get(service, id);
    if (session)
        tinker_session_remove(service, session);
    for (struct tinker_run *run = service->runs; run; run = run->hh.next)
        run->closed |= strcmp(run->session, id) == 0;
    end_samplers(service, id, unnamed);
    pthread_cond_signal(&service->work);
    pthread_mutex_unlock(&service->lock);
    for (size_t i = 0; i < json_array_size(unnamed); i++)
        file_remove_tree(json_string_value(json_array_get(unnamed, i)));
    json_decref(unnamed);
    tinker_record_remove(service, kind, id);
    mem_free(session);
}

void tinker_sessions_expire(struct tinker_service *service)
{
    const double limit_ms = (double)tinker_of(service)->session_timeout_ms;
    const struct tinker_session *session;
    char id[TINKER_ID_BYTES] = "";
    pthread_mutex_lock(&service->lock);
    for (session = service->sessions; session; session = session->hh.next)
        if (clock_ms_since(session->seen_ns) > limit_ms)
            snprintf(id, sizeof id, "%s", session->id);
    pthread_mutex_unlock(&service->lock);
    if (id[0])
        tinker_session_end(service, id);
}

void tinker_finish_session(void *context, struct http_request *request,
                           struct http_response *response)
{
    const char *id = http_parameter(request, "session");
    if (!tinker_is_plain(id)) {
        http_refuse(response, 400, "invalid", "'%.60s' is no session", id);
        return;
    }
    tinker_session_end(context, id);
    http_set_json(response, json_pack("{s:s}", "type", "finish_session"));
}

void tinker_list_sessions(void *context, struct http_request *request,
                          struct http_response *response)
{
    struct tinker_service *service = context;
    const struct tinker_session *session;
    json_t *list = json_array();
    pthread_mutex_lock(&service->lock);
    for (session = service->sessions; session; session = session->hh.next)
        json_array_append_new(list, json_string(session->id));
    pthread_mutex_unlock(&service->lock);
    http_set_json(response, json_pack("{s:o}", "sessions", list));
}

void tinker_show_session(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct tinker_service *service = context;
    const char *id = http_parameter(request, "session");
    const struct tinker_run *run;
    const struct tinker_sampler *sampler;
    json_t *runs = json_array(), *samplers = json_array();
    pthread_mutex_lock(&service->lock);
    for (run = service->runs; run; run = run->hh.next)
        if (strcmp(run->session, id) == 0)
            json_array_append_new(runs, json_string(run->id));
    for (sampler = service->samplers; sampler; sampler = sampler->hh.next)
        if (strcmp(sampler->session, id) == 0)
            json_array_append_new(samplers, json_string(sampler->id));
    pthread_mutex_unlock(&service->lock);
    http_set_json(response,
                  json_pack("{s:o, s:o}", "training_run_ids", runs, "sampler_ids", samplers));
}
