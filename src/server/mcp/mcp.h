/* mcp: a server of the Model Context Protocol, independent of the transport.
 *
 *   transport (stdio.c, http.c)        service (gym.h)
 *        │ JSON text                                ▲ tools, resources, prompts
 *        ▼                                          │
 *   exchange ── a message, or a batch of them ──► calls ── on separate threads if they block
 *        ▲                                          │
 *        └── notifications while they run, then one answer
 *
 * The protocol is independent of kernels: it serves a struct mcp_service. Quick methods are
 * answered within mcp_exchange_receive; methods that read files and methods that evaluate run in
 * two lanes of threads, so that neither waits for the other and `ping` never waits.
 *
 * A session is what a client agreed on by `initialize`: one for a process on stdio, one for each
 * Mcp-Session-Id over HTTP; and what a service keeps between calls. Stateless requests (message.h)
 * have none: a tool makes one for them, whose handle later requests name. A session that is unused
 * for `mcp.idle_ms` ends.
 *
 * A cancelled call gets no answer, and its work is asked to stop (mcp_call_stop). A client that
 * sent a progress token gets a notification with the elapsed time each second.
 *
 * Ownership: settings and service are borrowed for the server's life. Threads: any thread may
 * call every function; callbacks of a sink come from any thread, never two at a time for one
 * sink, and `done` is the last. Stopping: mcp_stop, then the transport's own end, then mcp_free. */
#pragma once

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCP_CLIENT_BYTES 128
#define MCP_SESSION_BYTES 33

struct mcp;
struct mcp_session;
struct mcp_exchange;
struct mcp_call;

/* A tool's result. */
struct mcp_answer {
    char *text;         /* for a model to read; mem_free */
    json_t *structured; /* an object as the tool's outputSchema has it */
};

struct mcp_tool {
    const char *name;
    /* Arguments are checked against the tool's inputSchema. */
    int (*run)(void *context, struct mcp_call *call, const json_t *arguments,
               struct mcp_answer *answer, struct err *err);
    bool is_long; /* it runs an evaluation */
};

/* Errors of these: ERR_INPUT and ERR_MISSING (in the request), ERR_CANCELLED, others. A tool's
 * error is a result with isError; a resource's or prompt's is an error of the protocol. */
struct mcp_service {
    void *context;
    /* {"title", "instructions", "tools", "resourceTemplates", "prompts"}: the lists as the newest
     * version has them. */
    const json_t *catalogue;
    const struct mcp_tool
        *tools; /* one for each of the catalogue's; ends with a row without name */
    /* Appends up to `count` resources, starting at number `from`; *more: there are more. */
    int (*list_resources)(void *context, size_t from, size_t count, json_t *resources, bool *more,
                          struct err *err);
    int (*read_resource)(void *context, const char *uri, json_t **contents, struct err *err);
    /* *messages: [{"role", "content": {"type", "text"}}, …] */
    int (*get_prompt)(void *context, const char *name, const json_t *arguments, json_t **messages,
                      struct err *err);
    /* A session has ended, and its last call: frees what mcp_session_state holds. */
    void (*session_over)(void *context, void *state);
};

/* Non-zero: the call's result is no longer wanted. */
const _Atomic int *mcp_call_stop(const struct mcp_call *call);
/* Whether the client's connection has no session. */
bool mcp_call_is_stateless(const struct mcp_call *call);
/* The session with that handle, or with NULL the client's own one; with `make` also a new one of a
 * stateless request. It outlasts the call. NULL: none, or LIMIT_MCP_SESSIONS is reached. */
struct mcp_session *mcp_call_join(struct mcp_call *call, const char *handle, bool make);
const char *mcp_session_handle(const struct mcp_session *session);
/* Where the service keeps what belongs to the session, NULL at first. The service locks it. */
void **mcp_session_state(struct mcp_session *session);
/* "name version" of the client, "" if unknown. */
const char *mcp_call_client(const struct mcp_call *call);
/* What the call is doing, for progress notifications: sent at once, and again each second.
 * `what` is a literal. */
void mcp_call_progress(struct mcp_call *call, const char *what);

#define MCP_LEVELS(X)                                                                              \
    X(MCP_DEBUG, "debug")                                                                          \
    X(MCP_INFO, "info")                                                                            \
    X(MCP_NOTICE, "notice")                                                                        \
    X(MCP_WARNING, "warning")                                                                      \
    X(MCP_ERROR, "error")                                                                          \
    X(MCP_CRITICAL, "critical")                                                                    \
    X(MCP_ALERT, "alert")                                                                          \
    X(MCP_EMERGENCY, "emergency")

enum mcp_level {
#define X(symbol, name) symbol,
    MCP_LEVELS(X)
#undef X
        MCP_LEVEL_COUNT /* the client requested no log */
};

/* notifications/message, if the client requested that level. Takes `data`. */
void mcp_call_log(struct mcp_call *call, enum mcp_level level, json_t *data);

struct mcp_options {
    const struct settings *settings;
    const struct mcp_service *service;
    size_t max_in_flight; /* concurrent evaluations */
};

NODISCARD int mcp_open(struct mcp **out, const struct mcp_options *options, struct err *err);
/* Asks running calls to stop and waits for them, ends sessions, refuses new messages. */
void mcp_stop(struct mcp *mcp);
/* After mcp_stop. NULL is fine. */
void mcp_free(struct mcp *mcp);
const struct settings *mcp_all_settings(const struct mcp *mcp);

/* `lasting`: does not end when idle. ERR_LIMIT: LIMIT_MCP_SESSIONS. *out is a reference of the
 * caller's (mcp_session_unref). */
NODISCARD int mcp_session_new(struct mcp *mcp, bool lasting, struct mcp_session **out,
                              struct err *err);
/* A reference; NULL: no such session (it may have ended). */
struct mcp_session *mcp_session_find(struct mcp *mcp, const char *id);
const char *mcp_session_id(const struct mcp_session *session);
/* Cancels its calls; mcp_session_find no longer returns it. */
void mcp_session_end(struct mcp_session *session);
void mcp_session_unref(struct mcp_session *session);

struct mcp_sink {
    /* Sends a notification of a running call. Borrowed. */
    void (*notify)(void *context, const json_t *message);
    /* The whole answer: an object, or an array for a batch; NULL: none. Takes it. */
    void (*done)(void *context, json_t *answer);
    void *context;
};

/* `session` NULL: none; `sink` is copied. One reference, the caller's. */
struct mcp_exchange *mcp_exchange_new(struct mcp *mcp, struct mcp_session *session,
                                      const struct mcp_sink *sink);
/* Once. `done` is called within, or later. */
void mcp_exchange_receive(struct mcp_exchange *exchange, const json_t *document);
/* The client is gone; cancels stateless calls. */
void mcp_exchange_abandon(struct mcp_exchange *exchange);
void mcp_exchange_unref(struct mcp_exchange *exchange);

/* Whether the client wants notifications: it sent a progress token or a log level. */
bool mcp_wants_notifications(struct mcp_session *session, const json_t *document);

/* Reads messages, one per line, until the end of `in` or until *cancelled, and answers on `out`.
 * Then the server is stopped. ERR_IO: `out` failed. Both descriptors are the caller's. */
NODISCARD int mcp_stdio_run(struct mcp *mcp, int in, int out, const _Atomic int *cancelled,
                            struct err *err);

struct mcp_http;

/* Serves POST and DELETE /mcp at the setting server.listen (http.h). ERR_INPUT, ERR_IO. */
NODISCARD int mcp_http_open(struct mcp_http **out, struct mcp *mcp, struct err *err);
/* "http://127.0.0.1:10907/mcp" */
const char *mcp_http_address(const struct mcp_http *http);
/* Stops answering; the server is stopped. ERR_TIMEOUT: a handler is still running, and nothing
 * can be freed. */
NODISCARD int mcp_http_stop(struct mcp_http *http, int64_t timeout_ms, struct err *err);
void mcp_http_free(struct mcp_http *http);
