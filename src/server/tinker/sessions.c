#include "server/tinker/sessions.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "server/tinker/body.h"
#include "server/tinker/names.h"
#include "server/tinker/records.h"
#include "server/tinker/routes.h"
#include "server/tinker/runs.h"
#include "server/tinker/samplers.h"
#include "server/tinker/state.h"
#include "server/tinker/table.h"

#include <inttypes.h>
#include <stdio.h>

#define WRITE_EVERY_MS 60000 /* how often a heartbeat is written down */

static const char kind[] = "sessions"; /* of records */

struct tinker_session {
    char id[TINKER_ID_BYTES];
    int64_t seen_ns, touched_ns; /* last heartbeat; last time it was written down */
    UT_hash_handle hh;
};

TINKER_TABLE(static, session, tinker_session, sessions)

static struct tinker_session *session_add(struct tinker_service *service, const char *id)
{
    struct tinker_session *session = mem_alloc(sizeof *session);
    snprintf(session->id, sizeof session->id, "%s", id);
    session->seen_ns = session->touched_ns = clock_now_ns();
    session_put(service, session);
    return session;
}

/* With the lock. */
static struct tinker_session *find(struct tinker_service *service, const char *id)
{
    struct tinker_session *session = session_get(service, id);
    if (!session && tinker_session_known(service, id))
        session = session_add(service, id);
    return session;
}

bool tinker_session_find(struct tinker_service *service, const char *id)
{
    return find(service, id) != NULL;
}

bool tinker_session_known(const struct tinker_service *service, const char *id)
{
    json_t *record = tinker_record_read(service, kind, id);
    const bool known = record != NULL;
    json_decref(record);
    return known;
}

/* Without the lock. */
static void session_end(struct tinker_service *service, const char *id)
{
    json_t *unnamed = json_array();
    pthread_mutex_lock(&service->lock);
    struct tinker_session *session = session_get(service, id);
    if (session)
        session_remove(service, session);
    tinker_runs_close(service, id);
    tinker_samplers_end(service, id, unnamed);
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
        session_end(service, id);
}

static void end_if_old(struct tinker_service *service, const char *id)
{
    json_t *record = tinker_record_read(service, kind, id);
    const int64_t seen_ms = json_integer_value(json_object_get(record, "seen_ms"));
    if (clock_wall_ms() - seen_ms > tinker_of(service)->session_timeout_ms)
        tinker_record_remove(service, kind, id);
    json_decref(record);
}

void tinker_sessions_clean(struct tinker_service *service)
{
    tinker_records_each(service, kind, end_if_old);
}

void tinker_sessions_free(struct tinker_service *service)
{
    for (struct tinker_session *session; (session = service->sessions);) {
        session_remove(service, session);
        mem_free(session);
    }
}

/* --- handlers --- */

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
    struct tinker_session *session = find(service, id);
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

static void answer_finish_session(void *context, struct http_request *request,
                                  struct http_response *response)
{
    const char *id = http_parameter(request, "session");
    if (!tinker_is_plain(id)) {
        http_refuse(response, 400, "invalid", "'%.60s' is no session", id);
        return;
    }
    session_end(context, id);
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
    pthread_mutex_lock(&service->lock);
    json_t *runs = tinker_runs_of(service, id), *samplers = tinker_samplers_of(service, id);
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
