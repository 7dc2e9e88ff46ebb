/* The protocol over HTTP: each POST is an exchange, answered with JSON, or with events if the
 * client follows its notifications. There is no GET: the server sends nothing unsolicited. */
#include "server/mcp/internal.h"

#include "base/array.h"
#include "base/json.h"
#include "base/json_mend.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/http/http.h"

#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#define STREAM_BYTES ((size_t)64 << 20)
#define SESSION_HEADER "Mcp-Session-Id"
#define VERSION_HEADER "MCP-Protocol-Version"

struct mcp_http {
    struct mcp *mcp;
    struct http_server *server;
    char *address;
};

/* One POST. References: its handler's, its exchange's, and the HTTP layer's while it waits. */
struct post {
    atomic_int refs;
    struct mcp *mcp;
    struct mcp_session *session; /* a reference; NULL */
    struct mcp_exchange *exchange;
    bool stateless, begins; /* `begins`: it is an `initialize` */
    pthread_mutex_t lock;   /* all below */
    json_t *early;          /* notifications before the stream was opened */
    json_t *answer;
    bool over;
    struct http_waiter *waiter;
    struct http_stream *stream;
};

static int status_of(const struct post *post, const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");
    if (!answer)
        return 202;
    switch (json_integer_value(json_object_get(error, "code"))) {
    case MCP_PARSE_ERROR:
    case MCP_INVALID_REQUEST:
    case MCP_HEADER_MISMATCH:
    case MCP_UNSUPPORTED_VERSION:
        return 400;
    case MCP_INVALID_PARAMS:
        return post->stateless ? 400 : 200;
    case MCP_NO_METHOD:
        return post->stateless ? 404 : 200;
    default:
        return 200;
    }
}

static void fill_json(struct http_response *response, int status, json_t *answer)
{
    http_set_status(response, status);
    http_set_json(response, answer);
}

/* Takes the answer. */
static void post_fill(struct post *post, struct http_response *response, json_t *answer)
{
    if (post->begins && json_object_get(answer, "result")) {
        http_set_header(response, SESSION_HEADER, mcp_session_id(post->session));
        http_set_header(response, "Access-Control-Expose-Headers", SESSION_HEADER);
    } else if (post->begins) {
        mcp_session_end(post->session);
    }
    http_set_status(response, status_of(post, answer));
    if (answer)
        http_set_json(response, answer);
    else
        http_set_bytes(response, "text/plain", "", 0);
}

/* A closed connection is reported by its callback. */
static void send_event(struct http_stream *stream, const json_t *message)
{
    (void)http_stream_send_json(stream, NULL, NULL, message);
}

static void post_unref(void *context)
{
    struct post *post = context;
    if (atomic_fetch_sub(&post->refs, 1) != 1)
        return;
    mcp_exchange_unref(post->exchange);
    mcp_session_unref(post->session);
    pthread_mutex_destroy(&post->lock);
    json_decref(post->early);
    json_decref(post->answer);
    mem_free(post);
}

static void post_notify(void *context, const json_t *message)
{
    struct post *post = context;
    pthread_mutex_lock(&post->lock);
    if (post->stream)
        send_event(post->stream, message);
    else if (post->early)
        json_array_append(post->early, (json_t *)message);
    pthread_mutex_unlock(&post->lock);
}

static void post_done(void *context, json_t *answer)
{
    struct post *post = context;
    pthread_mutex_lock(&post->lock);
    struct http_waiter *waiter = post->waiter;
    struct http_stream *stream = post->stream;
    post->over = true;
    if (!waiter && !stream)
        post->answer = answer; /* the handler has not returned */
    pthread_mutex_unlock(&post->lock);
    if (waiter) {
        struct http_response *response = http_response_new(waiter);
        post_fill(post, response, answer);
        (void)http_answer(waiter, response); /* a client that disconnected needs none */
    } else if (stream) {
        if (answer)
            send_event(stream, answer);
        http_stream_close(stream);
        json_decref(answer);
    }
    post_unref(post);
}

static void post_gone(void *context)
{
    struct post *post = context;
    mcp_exchange_abandon(post->exchange);
}

static void post_late(void *context, struct http_request *request, struct http_response *response)
{
    (void)context, (void)request;
    http_refuse(response, 504, "timeout", "this took longer than a day");
}

/* With the lock. The exchange is not over. */
static void post_wait(struct post *post, struct http_request *request)
{
    atomic_fetch_add(&post->refs, 1);
    if (post->early) {
        const struct http_stream_options options = {STREAM_BYTES, post_gone, post_unref, post};
        post->stream = http_stream_open(request, &options);
        for (size_t i = 0; i < json_array_size(post->early); i++)
            send_event(post->stream, json_array_get(post->early, i));
    } else {
        const struct http_wait wait = {LIMIT_EVALUATION_MS, post_late, post_gone, post_unref, post};
        post->waiter = http_postpone(request, &wait);
    }
}

static bool accepts_events(const struct http_request *request)
{
    const char *accept = http_header(request, "Accept");
    return accept && strstr(accept, "text/event-stream");
}

static bool begins_session(const json_t *document)
{
    return strcmp(json_text_at(document, "method"), "initialize") == 0;
}

/* Takes the reference of `session`. */
static void exchange_begin(struct mcp *mcp, struct mcp_session *session, const json_t *document,
                           struct http_request *request, struct http_response *response)
{
    struct post *post = mem_alloc(sizeof *post);
    const struct mcp_sink sink = {post_notify, post_done, post};
    atomic_init(&post->refs, 2);
    pthread_mutex_init(&post->lock, NULL);
    post->mcp = mcp;
    post->session = session;
    post->stateless = !session;
    post->begins = session && begins_session(document);
    if (accepts_events(request) && mcp_wants_notifications(session, document))
        post->early = json_array();
    post->exchange = mcp_exchange_new(mcp, session, &sink);
    mcp_exchange_receive(post->exchange, document);
    pthread_mutex_lock(&post->lock);
    bool over = post->over;
    if (!over)
        post_wait(post, request);
    pthread_mutex_unlock(&post->lock);
    if (over) {
        post_fill(post, response, post->answer);
        post->answer = NULL;
    }
    post_unref(post);
}

/* Whether a header has that text as its value, plain or in base64. */
static bool header_is(const char *value, const char *text)
{
    static const char begin[] = "=?base64?", end[] = "?=";
    size_t length = strlen(value), around = sizeof begin - 1 + sizeof end - 1;
    if (length < around || strncmp(value, begin, sizeof begin - 1) != 0 ||
        strcmp(value + length - 2, end) != 0)
        return strcmp(value, text) == 0;
    size_t bytes = strlen(text), encoded_bytes = 4 * ((bytes + 2) / 3);
    if (encoded_bytes != length - around)
        return false;
    /* base64 is unique: comparing the encoded text saves decoding untrusted input. */
    unsigned char *encoded = mem_alloc(encoded_bytes + 1);
    EVP_EncodeBlock(encoded, (const unsigned char *)text, (int)bytes);
    bool same = memcmp(encoded, value + sizeof begin - 1, encoded_bytes) == 0;
    mem_free(encoded);
    return same;
}

static const char *name_of(const struct mcp_message *message)
{
    static const struct {
        const char *method, *key;
    } rows[] = {{"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(rows[i].method, message->method) == 0)
            return json_string_value(json_object_get(message->params, rows[i].key));
    return NULL;
}

/* The headers must agree with the body. */
static int check_headers(const struct http_request *request, const struct mcp_message *message,
                         struct err *err)
{
    const json_t *version = json_object_get(message->meta, MCP_META "protocolVersion");
    const struct {
        const char *header, *wanted;
    } rows[] = {{VERSION_HEADER, json_string_value(version)},
                {"Mcp-Method", message->method},
                {"Mcp-Name", name_of(message)}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *value = http_header(request, rows[i].header);
        if (rows[i].wanted && (!value || !header_is(value, rows[i].wanted)))
            return err_set(err, ERR_INPUT, "the header %s contradicts the body", rows[i].header);
    }
    return 0;
}

/* False: the response is a refusal. */
static bool check_stateless(const struct http_request *request, const json_t *document,
                            struct http_response *response)
{
    struct mcp_message message;
    struct err err;
    json_t *data = NULL;
    int code;
    if (mcp_message_read(document, &message, &err) < 0 || message.kind != MCP_REQUEST)
        return true; /* refused, or ignored, as all such are */
    const struct mcp_version *version = mcp_version_of(&message, &code, &data, &err);
    if ((version || code == MCP_UNSUPPORTED_VERSION) &&
        check_headers(request, &message, &err) < 0) {
        json_decref(data);
        data = NULL;
        code = MCP_HEADER_MISMATCH;
        version = NULL;
    }
    if (!version)
        fill_json(response, 400, mcp_message_error(message.id, code, err.text, data));
    return version != NULL;
}

static void refuse_message(struct http_response *response, int status, const char *text)
{
    fill_json(response, status, mcp_message_error(NULL, MCP_INVALID_REQUEST, text, NULL));
}

/* The request's session, or a new one. A reference; NULL: the response is a refusal. */
static struct mcp_session *session_of(struct mcp *mcp, const struct http_request *request,
                                      const json_t *document, struct http_response *response)
{
    const char *id = http_header(request, SESSION_HEADER);
    struct mcp_session *session = NULL;
    struct err err;
    if (begins_session(document)) {
        if (mcp_session_new(mcp, false, &session, &err) < 0)
            http_refuse_for(response, 503, 10, "full", "%s", err.text);
    } else if (!id) {
        refuse_message(response, 400,
                       "the header Mcp-Session-Id is missing: `initialize` returns one");
    } else if (!(session = mcp_session_find(mcp, id))) {
        refuse_message(response, 404,
                       "no such session (it may have ended); `initialize` begins one");
    }
    return session;
}

static bool is_json(const struct http_request *request, struct http_response *response)
{
    static const char wanted[] = "application/json";
    const char *type = http_header(request, "Content-Type");
    if (type && strncasecmp(type, wanted, sizeof wanted - 1) == 0)
        return true;
    http_refuse(response, 415, "unsupported_type", "Content-Type must be application/json");
    return false;
}

static void post_receive(struct mcp *mcp, const json_t *document, struct http_request *request,
                         struct http_response *response)
{
    const char *named = http_header(request, VERSION_HEADER);
    const struct mcp_version *version = mcp_version_named(named);
    const json_t *meta = json_object_get(json_object_get(document, "params"), "_meta");
    bool stateless = json_object_get(meta, MCP_META "protocolVersion") ||
                     (version && version->stateless);
    if (stateless) {
        if (check_stateless(request, document, response))
            exchange_begin(mcp, NULL, document, request, response);
    } else if (named && !version) {
        json_t *data = json_pack("{s:o, s:o}", "supported", mcp_version_names(), "requested",
                                 json_text(named));
        fill_json(response, 400,
                  mcp_message_error(json_object_get(document, "id"), MCP_UNSUPPORTED_VERSION,
                                    "Unsupported protocol version", data));
    } else {
        struct mcp_session *session = session_of(mcp, request, document, response);
        if (session)
            exchange_begin(mcp, session, document, request, response);
    }
}

static void post_handle(void *context, struct http_request *request, struct http_response *response)
{
    struct mcp_http *http = context;
    json_t *document = NULL;
    struct err err;
    size_t count;
    const char *body = http_body(request, &count);
    if (!is_json(request, response))
        return;
    if (json_parse_mended("body", 1, body, count, &document, &err) < 0) {
        fill_json(response, 400, mcp_message_error(NULL, MCP_PARSE_ERROR, err.text, NULL));
        return;
    }
    post_receive(http->mcp, document, request, response);
    json_decref(document);
}

static void session_delete(void *context, struct http_request *request,
                           struct http_response *response)
{
    struct mcp_http *http = context;
    const char *id = http_header(request, SESSION_HEADER);
    struct mcp_session *session = id ? mcp_session_find(http->mcp, id) : NULL;
    if (!session) {
        refuse_message(response, id ? 404 : 400, "no such session (it may have ended)");
        return;
    }
    mcp_session_end(session);
    mcp_session_unref(session);
    http_set_status(response, 204);
}

static const struct http_route routes[] = {
    {HTTP_POST, "/mcp", post_handle, HTTP_BLOCKS, LIMIT_MCP_MESSAGE_BYTES, NULL},
    {HTTP_DELETE, "/mcp", session_delete, HTTP_BLOCKS, 0, NULL},
};

int mcp_http_open(struct mcp_http **out, struct mcp *mcp, struct err *err)
{
    const struct http_options options = {0};
    struct mcp_http *http = mem_alloc(sizeof *http);
    http->mcp = mcp;
    int result = http_open(mcp_all_settings(mcp), &options, &http->server, err);
    if (result == 0)
        result = http_add(http->server, routes, COUNT(routes), http, err);
    if (result == 0)
        result = http_start(http->server, err);
    if (result < 0) {
        mcp_http_free(http);
        return result;
    }
    http->address = mem_printf("%s/mcp", http_address(http->server));
    *out = http;
    return 0;
}

const char *mcp_http_address(const struct mcp_http *http)
{
    return http->address;
}

int mcp_http_stop(struct mcp_http *http, int64_t timeout_ms, struct err *err)
{
    mcp_stop(http->mcp);
    return http_stop(http->server, timeout_ms, err);
}

void mcp_http_free(struct mcp_http *http)
{
    if (!http)
        return;
    http_free(http->server);
    mem_free(http->address);
    mem_free(http);
}
