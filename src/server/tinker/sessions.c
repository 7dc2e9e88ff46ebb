#include "base/clock.h"
#include "base/file.h"
#include "server/tinker/internal.h"
#include "server/tinker/routes.h"

#include <inttypes.h>
#include <string.h>

#define WRITE_EVERY_MS 60000 /* how often a heartbeat is written down */
static const char kind[] = "sessions";

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

static void answer_create_session(void *context, struct http_request *request,
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

static void answer_heartbeat(void *context, struct http_request *request,
                             struct http_response *response)
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

static void answer_finish_session(void *context, struct http_request *request,
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

static void answer_list_sessions(void *context, struct http_request *request,
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

static void answer_show_session(void *context, struct http_request *request,
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

const struct http_route tinker_sessions_routes[] = {
    TINKER_POST("/create_session", create_session, TINKER_SMALL),
    TINKER_POST("/session_heartbeat", heartbeat, TINKER_SMALL),
    TINKER_POST("/sessions/:session/finish", finish_session, TINKER_SMALL),
    TINKER_GET("/sessions", list_sessions),
    TINKER_GET("/sessions/:session", show_session),
    {0},
};
