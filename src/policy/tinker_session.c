#include "policy/tinker_session.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "policy/tinker_wire.h"

#include <pthread.h>
#include <string.h>

#define PROTOCOL_VERSION "0.38.0" /* of the SDK whose protocol this is */
#define BODY_BYTES ((size_t)64 << 10)
#define HEARTBEAT_MS 10000
#define WORRY_MS 120000
#define CHUNK_COUNT 1024 /* unless the server sets another */
#define CHUNK_BYTES 5000000
#define CHUNK_MOST ((int64_t)1 << 30)

struct tinker_heartbeat {
    struct tinker_link *link;
    struct buf body;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    _Atomic int quit; /* set under the lock */
};

static bool wait_for_next_heartbeat(struct tinker_heartbeat *heartbeat)
{
    struct timespec until = clock_in_ms(HEARTBEAT_MS);
    int code = 0;
    pthread_mutex_lock(&heartbeat->lock);
    while (!heartbeat->quit && code == 0)
        code = pthread_cond_timedwait(&heartbeat->ended, &heartbeat->lock, &until);
    bool quit = heartbeat->quit;
    pthread_mutex_unlock(&heartbeat->lock);
    return !quit;
}

static void *send_heartbeat(void *argument)
{
    struct tinker_heartbeat *heartbeat = argument;
    int64_t last_ns = clock_now_ns();
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/session_heartbeat",
                                     .body = &heartbeat->body,
                                     .once = true};
    while (wait_for_next_heartbeat(heartbeat)) {
        json_t *answer = NULL;
        struct err err = {0};
        if (tinker_send(heartbeat->link, &call, &answer, NULL, &err) == 0)
            last_ns = clock_now_ns();
        else if (clock_ms_since(last_ns) > WORRY_MS)
            log_event(LOG_LEVEL_WARN, "policy", "heartbeats fail: the server may end the session",
                      "why", err.text, NULL);
        json_decref(answer);
    }
    return NULL;
}

static void free_heartbeat(struct tinker_heartbeat *heartbeat)
{
    tinker_link_close(heartbeat->link);
    pthread_cond_destroy(&heartbeat->ended);
    pthread_mutex_destroy(&heartbeat->lock);
    buf_deinit(&heartbeat->body);
    mem_free(heartbeat);
}

/* The heartbeat has its own link: saving after a Ctrl-C still needs the session, and closing the
 * session does not wait for a response. */
static int start_heartbeat(struct tinker_session *session,
                           const struct tinker_link_options *options, struct err *err)
{
    struct tinker_heartbeat *heartbeat = mem_alloc(sizeof *heartbeat);
    struct tinker_link_options own = *options;
    own.cancelled = &heartbeat->quit;
    own.at_once = 1;
    buf_init(&heartbeat->body, BODY_BYTES);
    buf_puts(&heartbeat->body, "{\"session_id\":");
    tinker_put_text(&heartbeat->body, session->id);
    buf_puts(&heartbeat->body, ",\"type\":\"session_heartbeat\"}");
    pthread_mutex_init(&heartbeat->lock, NULL);
    pthread_cond_init(&heartbeat->ended, NULL);
    int result = tinker_link_open(&heartbeat->link, &own, err);
    int error = result == 0 ? pthread_create(&heartbeat->thread, NULL, send_heartbeat, heartbeat)
                            : 0;
    if (error != 0)
        result = err_sys(err, error, "cannot start the heartbeat's thread");
    if (result < 0)
        free_heartbeat(heartbeat);
    else
        session->heartbeat = heartbeat;
    return result;
}

static void stop_heartbeat(struct tinker_heartbeat *heartbeat)
{
    if (!heartbeat)
        return;
    pthread_mutex_lock(&heartbeat->lock);
    heartbeat->quit = true;
    pthread_cond_signal(&heartbeat->ended);
    pthread_mutex_unlock(&heartbeat->lock);
    pthread_join(heartbeat->thread, NULL);
    free_heartbeat(heartbeat);
}

/* POST with a constant body; the status `accepted` (0: none) is no error, and gives NULL. */
static int post_request(struct tinker_link *link, const char *target, const char *text,
                        int accepted, json_t **answer, struct err *err)
{
    struct buf body;
    buf_init(&body, BODY_BYTES);
    buf_puts(&body, text);
    const struct tinker_call call = {.method = "POST",
                                     .target = target,
                                     .body = &body,
                                     .accepted = accepted};
    int result = tinker_send(link, &call, answer, NULL, err);
    buf_deinit(&body);
    return result;
}

static size_t limit_of(const json_t *answer, const char *key, size_t standard)
{
    const json_t *value = json_object_get(answer, key);
    json_int_t found = json_is_integer(value) ? json_integer_value(value) : 0;
    return found > 0 && found < CHUNK_MOST ? (size_t)found : standard;
}

static void read_sizes(struct tinker_session *session, const json_t *answer)
{
    session->chunk_count = limit_of(answer, "fwdbwd_max_chunk_len", CHUNK_COUNT);
    session->chunk_bytes = limit_of(answer, "fwdbwd_max_chunk_bytes_count", CHUNK_BYTES);
    if (session->chunk_bytes > TINKER_CHUNK_BYTES_MAX)
        session->chunk_bytes = TINKER_CHUNK_BYTES_MAX;
}

/* Servers before 0.18 lack this. */
int tinker_session_configure(struct tinker_session *session, struct tinker_link *link,
                             const struct tinker_link_options *options, struct err *err)
{
    json_t *answer = NULL;
    int result = post_request(link, "/api/v1/client/config",
                              "{\"sdk_version\":\"" PROTOCOL_VERSION "\"}", 404, &answer, err);
    const json_t *unpaid = json_object_get(answer, "billing_exception_max_pause_duration_sec");
    if (session)
        read_sizes(session, answer);
    if (json_is_number(unpaid))
        tinker_link_set_unpaid(link, json_number_value(unpaid));
    if (result == 0 && options->token)
        options->token->wanted = json_is_true(json_object_get(answer, "pjwt_auth_enabled"));
    json_decref(answer);
    return result;
}

static int create_session(struct tinker_session *session, struct tinker_link *link, struct err *err)
{
    static const char *const levels[] = {"info_message", "warning_message", "error_message"};
    json_t *answer = NULL;
    int result = post_request(link, "/api/v1/create_session",
                              "{\"tags\":[\"warpgym\"],\"sdk_version\":\"" PROTOCOL_VERSION
                              "\",\"type\":\"create_session\"}",
                              0, &answer, err);
    for (size_t i = 0; i < COUNT(levels); i++)
        if (json_text_at(answer, levels[i])[0])
            log_event(i == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "policy", "the server says", "text",
                      json_text_at(answer, levels[i]), NULL);
    if (result == 0)
        result = tinker_read_text(answer, "create_session", "session_id", &session->id, err);
    json_decref(answer);
    return result;
}

static int find_model(struct tinker_session *session, const json_t *models, const char *model,
                      struct err *err)
{
    const size_t count = json_array_size(models);
    const char **names = mem_alloc((count + 1) * sizeof *names);
    const json_t *found = NULL;
    for (size_t i = 0; i < count; i++) {
        names[i] = json_text_at(json_array_get(models, i), "model_name");
        if (strcmp(names[i], model) == 0)
            found = json_array_get(models, i);
    }
    int result = !found && count > 0 ? err_unknown(err, "model", model, names, count) : 0;
    session->context = limit_of(found, "max_context_length", 0);
    mem_free(names);
    return result;
}

static int check_model_offered(struct tinker_session *session, struct tinker_link *link,
                               const char *model, struct err *err)
{
    const struct tinker_call call = {.method = "GET",
                                     .target = "/api/v1/get_server_capabilities",
                                     .accepted = 404};
    json_t *answer = NULL;
    int result = tinker_send(link, &call, &answer, NULL, err);
    if (result == 0)
        result = find_model(session, json_object_get(answer, "supported_models"), model, err);
    json_decref(answer);
    return result;
}

int tinker_session_open(struct tinker_session *session, struct tinker_link *link,
                        const struct tinker_link_options *options, const char *model,
                        struct err *err)
{
    *session = (struct tinker_session){0};
    int result = tinker_session_configure(session, link, options, err);
    if (result == 0)
        result = check_model_offered(session, link, model, err);
    if (result == 0)
        result = create_session(session, link, err);
    if (result == 0)
        result = start_heartbeat(session, options, err);
    if (result < 0)
        tinker_session_close(session);
    return result;
}

void tinker_session_close(struct tinker_session *session)
{
    stop_heartbeat(session->heartbeat);
    mem_free(session->id);
    *session = (struct tinker_session){0};
}
