/* The protocol of `warpgym mcp`, with a service that knows no kernels. */
#include "../support/test.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/mcp/mcp.h"
#include "server/mcp/message.h"
#include "server/mcp/schema.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define BOUND_MS 20000

#define CATALOGUE                                                                                  \
    "{\"title\": \"T\", \"instructions\": \"I\", \"resourceTemplates\": [{\"uriTemplate\": "       \
    "\"x://{+id}\", \"name\": \"x\", \"title\": \"X\"}], \"prompts\": [{\"name\": \"solve\", "     \
    "\"description\": \"D\"}], \"tools\": [{\"name\": \"echo\", \"title\": \"E\", "                \
    "\"description\": \"D\", \"annotations\": {\"readOnlyHint\": true}, \"inputSchema\": "         \
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"text\"], "           \
    "\"properties\": {\"text\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 9}, "      \
    "\"times\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 3}, \"how\": {\"enum\": "     \
    "[\"loud\", \"low\"]}}}, \"outputSchema\": {\"type\": \"object\"}}, {\"name\": \"hang\", "     \
    "\"description\": \"D\", \"inputSchema\": {\"type\": \"object\"}}]}"

struct fixture {
    struct settings settings;
    json_t *catalogue;
    struct mcp_service service;
    struct mcp *mcp;
    _Atomic int hanging, gave_up, sessions_over;
};

static int hang(void *context, struct mcp_call *call, const json_t *arguments,
                struct mcp_answer *answer, struct err *err)
{
    struct fixture *fixture = context;
    fixture->hanging++;
    mcp_call_progress(call, "hanging");
    while (!*mcp_call_stop(call))
        usleep(2000);
    fixture->gave_up++;
    return err_set(err, ERR_CANCELLED, "cancelled");
}

/* Leaves its fixture in the session. */
static int echo(void *context, struct mcp_call *call, const json_t *arguments,
                struct mcp_answer *answer, struct err *err)
{
    const char *text = json_string_value(json_object_get(arguments, "text"));
    struct mcp_session *session = mcp_call_join(call, NULL, false);
    if (session)
        *mcp_session_state(session) = context;
    if (strcmp(text, "fail") == 0)
        return err_set(err, ERR_IO, "it failed");
    mcp_call_log(call, MCP_INFO, json_string(text));
    answer->text = mem_strdup(text);
    answer->structured = json_pack("{s:s, s:s, s:b}", "text", text, "client", mcp_call_client(call),
                                   "session", !mcp_call_is_stateless(call));
    return 0;
}

static const struct mcp_tool tools[] = {{"echo", echo, false},
                                        {"hang", hang, true},
                                        {NULL, NULL, false}};

static int list_resources(void *context, size_t from, size_t count, json_t *resources, bool *more,
                          struct err *err)
{
    (void)context, (void)err;
    for (size_t i = from; i < 150 && i < from + count; i++)
        json_array_append_new(resources, json_pack("{s:I}", "uri", (json_int_t)i));
    *more = from + count < 150;
    return 0;
}

static int read_resource(void *context, const char *uri, json_t **contents, struct err *err)
{
    if (strcmp(uri, "x://1") != 0)
        return err_set(err, ERR_MISSING, "there is no resource %s", uri);
    *contents = json_pack("[{s:s, s:s}]", "uri", uri, "text", "one");
    return 0;
}

static int get_prompt(void *context, const char *name, const json_t *arguments, json_t **messages,
                      struct err *err)
{
    (void)context, (void)name;
    if (!json_object_get(arguments, "problem"))
        return err_set(err, ERR_INPUT, "arguments.problem: is missing");
    *messages = json_pack("[{s:s, s:{s:s, s:s}}]", "role", "user", "content", "type", "text",
                          "text", "do");
    return 0;
}

static void session_over(void *context, void *state)
{
    struct fixture *fixture = context;
    assert_ptr_equal(state, fixture);
    fixture->sessions_over++;
}

FIXTURE(fixture_open)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    settings_init(&fixture->settings);
    fixture->catalogue = json_loads(CATALOGUE, 0, NULL);
    fixture->service = (struct mcp_service){.context = fixture,
                                            .catalogue = fixture->catalogue,
                                            .tools = tools,
                                            .list_resources = list_resources,
                                            .read_resource = read_resource,
                                            .get_prompt = get_prompt,
                                            .session_over = session_over};
    const struct mcp_options options = {&fixture->settings, &fixture->service, 2};
    *state = fixture;
    return fixture->catalogue ? mcp_open(&fixture->mcp, &options, NULL) : -1;
}

FIXTURE(fixture_close)
{
    struct fixture *fixture = *state;
    mcp_stop(fixture->mcp);
    mcp_free(fixture->mcp);
    json_decref(fixture->catalogue);
    settings_deinit(&fixture->settings);
    mem_free(fixture);
    return 0;
}

TEST_GROUP(fixture_open, fixture_close);

struct heard {
    pthread_mutex_t lock;
    json_t *notes; /* array */
    json_t *answer;
    int done;
};

static void notify(void *context, const json_t *message)
{
    struct heard *heard = context;
    pthread_mutex_lock(&heard->lock);
    json_array_append(heard->notes, (json_t *)message);
    pthread_mutex_unlock(&heard->lock);
}

static void done(void *context, json_t *answer)
{
    struct heard *heard = context;
    pthread_mutex_lock(&heard->lock);
    heard->answer = answer;
    heard->done++;
    pthread_mutex_unlock(&heard->lock);
}

static void heard_init(struct heard *heard)
{
    *heard = (struct heard){.notes = json_array()};
    pthread_mutex_init(&heard->lock, NULL);
}

static void heard_deinit(struct heard *heard)
{
    pthread_mutex_destroy(&heard->lock);
    json_decref(heard->notes);
    json_decref(heard->answer);
}

static struct mcp_exchange *send(struct fixture *fixture, struct mcp_session *session,
                                 const char *text, struct heard *heard)
{
    const struct mcp_sink sink = {notify, done, heard};
    struct mcp_exchange *exchange = mcp_exchange_new(fixture->mcp, session, &sink);
    json_error_t error;
    json_t *document = json_loads(text, 0, &error);
    if (!document)
        fail_msg("%s: %s", text, error.text);
    mcp_exchange_receive(exchange, document);
    json_decref(document);
    return exchange;
}

static bool is_done(struct heard *heard)
{
    pthread_mutex_lock(&heard->lock);
    bool over = heard->done > 0;
    pthread_mutex_unlock(&heard->lock);
    return over;
}

static void wait_done(struct heard *heard)
{
    int64_t start_ns = clock_now_ns();
    while (!is_done(heard)) {
        if (clock_ms_since(start_ns) > BOUND_MS)
            fail_msg("never answered");
        usleep(1000);
    }
}

/* The answer to one text, as text; "" for none. The caller's (mem_free). */
static char *ask(struct fixture *fixture, struct mcp_session *session, const char *text)
{
    struct heard heard;
    struct buf out;
    heard_init(&heard);
    mcp_exchange_unref(send(fixture, session, text, &heard));
    wait_done(&heard);
    assert_int_equal(heard.done, 1);
    buf_init(&out, 1 << 20);
    if (heard.answer)
        assert_int_equal(json_line_write(heard.answer, &out, NULL), 0);
    heard_deinit(&heard);
    return buf_take(&out);
}

static struct mcp_session *new_session(struct fixture *fixture, const char *version)
{
    struct mcp_session *session;
    struct err err;
    char text[512];
    if (mcp_session_new(fixture->mcp, false, &session, &err) < 0)
        fail_msg("%s", err.text);
    if (!version)
        return session;
    snprintf(text, sizeof text,
             "{\"jsonrpc\": \"2.0\", \"id\": 0, \"method\": \"initialize\", \"params\": "
             "{\"protocolVersion\": \"%s\", \"capabilities\": {}, \"clientInfo\": {\"name\": "
             "\"tester\", \"version\": \"7\"}}}",
             version);
    mem_free(ask(fixture, session, text));
    return session;
}

static void end_session(struct mcp_session *session)
{
    mcp_session_end(session);
    mcp_session_unref(session);
}

#define CALL(method, params)                                                                       \
    "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"" method "\", \"params\": " params "}"
#define STATELESS(more)                                                                            \
    "{\"_meta\": {\"io.modelcontextprotocol/protocolVersion\": \"2026-07-28\", "                   \
    "\"io.modelcontextprotocol/clientCapabilities\": {}, "                                         \
    "\"io.modelcontextprotocol/clientInfo\": {\"name\": \"m\", \"version\": \"1\"}}" more "}"

struct row {
    const char *version;       /* NULL: not initialized */
    const char *text, *wanted; /* a part of the answer; "": there is none */
    const char *unwanted;      /* NULL */
};

static void check_rows(struct fixture *fixture, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct mcp_session *session = new_session(fixture, rows[i].version);
        char *answer = ask(fixture, session, rows[i].text);
        if (*rows[i].wanted ? !strstr(answer, rows[i].wanted) : *answer != '\0')
            fail_msg("%s\nanswers %s\nnot %s", rows[i].text, answer, rows[i].wanted);
        if (rows[i].unwanted && strstr(answer, rows[i].unwanted))
            fail_msg("%s\nanswers %s\nwith %s", rows[i].text, answer, rows[i].unwanted);
        mem_free(answer);
        end_session(session);
    }
}

TEST(forms)
{
    static const struct row rows[] = {
        {NULL, "{}", "-32600", NULL},
        {NULL, "{\"jsonrpc\": \"1.0\", \"id\": 1, \"method\": \"ping\"}", "-32600", NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}", "\"result\":{}", NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"id\": \"a\", \"method\": \"ping\"}", "\"id\":\"a\"", NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}", "-32600", NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": \"ping\"}", "-32600", NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": 5}", "-32600", NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", \"params\": []}", "-32600",
         NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"method\": \"ping\"}", "", NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\"}", "", NULL},
        {NULL, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}", "", NULL},
        {NULL, CALL("tools/list", "{}"), "`initialize` must come first", NULL},
        {NULL, CALL("nonsense", "{}"), "-32601", NULL},
        {NULL, CALL("initialize", "{}"), "-32602", NULL},
        {NULL, "[]", "-32600", NULL},
        {"2025-06-18", CALL("initialize", "{\"protocolVersion\": \"2025-06-18\"}"), "already",
         NULL},
        {"2025-06-18", "[" CALL("ping", "{}") "]", "not support batches", NULL},
        {"2025-03-26", "[]", "1 to 100", NULL},
        {"2025-03-26", "[" CALL("ping", "{}") ", 5]", "-32600", NULL},
        {"2025-03-26", "[" CALL("ping", "{}") "]", "[{\"jsonrpc\"", NULL},
        {"2025-03-26", "[{\"jsonrpc\": \"2.0\", \"method\": \"x\"}]", "", NULL},
    };
    check_rows(*state, rows, COUNT(rows));
}

TEST(versions)
{
    static const struct row rows[] = {
        {NULL, CALL("initialize", "{\"protocolVersion\": \"2024-11-05\"}"),
         "\"protocolVersion\":\"2024-11-05\"", "title"},
        {NULL, CALL("initialize", "{\"protocolVersion\": \"2025-11-25\"}"),
         "\"protocolVersion\":\"2025-11-25\"", NULL},
        {NULL, CALL("initialize", "{\"protocolVersion\": \"1999-01-01\"}"),
         "\"protocolVersion\":\"2025-11-25\"", NULL},
        {NULL, CALL("initialize", "{\"protocolVersion\": \"2026-07-28\"}"),
         "\"protocolVersion\":\"2025-11-25\"", NULL},
        {"2024-11-05", CALL("tools/list", "{}"), "inputSchema", "annotations"},
        {"2025-03-26", CALL("tools/list", "{}"), "annotations", "outputSchema"},
        {"2025-06-18", CALL("tools/list", "{}"), "outputSchema", "ttlMs"},
        {"2025-03-26", CALL("tools/call", "{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}"),
         "{\\\"text\\\":\\\"a\\\"", "structuredContent"},
        {"2025-06-18", CALL("tools/call", "{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}"),
         "\"structuredContent\":{\"text\":\"a\",\"client\":\"tester 7\",\"session\":true}", NULL},
        {NULL, CALL("server/discover", STATELESS("")), "\"supportedVersions\":[\"2024-11-05\"",
         NULL},
        {NULL, CALL("server/discover", STATELESS("")), "io.modelcontextprotocol/serverInfo", NULL},
        {NULL, CALL("server/discover", "{}"), "protocolVersion", "result"},
        {NULL, CALL("tools/list", STATELESS("")), "\"cacheScope\":\"public\"", NULL},
        {NULL, CALL("ping", STATELESS("")), "-32601", NULL},
        {NULL, CALL("initialize", STATELESS("")), "-32601", NULL},
        {"2025-06-18",
         CALL("tools/call", STATELESS(", \"name\": \"echo\", \"arguments\": "
                                      "{\"text\": \"a\"}")),
         "\"client\":\"m 1\",\"session\":false", NULL},
        {NULL,
         CALL("tools/list", "{\"_meta\": {\"io.modelcontextprotocol/protocolVersion\": "
                            "\"2025-06-18\", \"io.modelcontextprotocol/clientCapabilities\": {}}}"),
         "-32022", NULL},
        {NULL, CALL("tools/list", "{\"_meta\": {\"io.modelcontextprotocol/protocolVersion\": 5}}"),
         "-32602", NULL},
        {NULL,
         CALL("tools/list", "{\"_meta\": {\"io.modelcontextprotocol/protocolVersion\": "
                            "\"2026-07-28\"}}"),
         "clientCapabilities", NULL},
    };
    check_rows(*state, rows, COUNT(rows));
}

TEST(methods)
{
    static const struct row rows[] = {
        {"2025-06-18", CALL("logging/setLevel", "{\"level\": \"info\"}"), "\"result\":{}", NULL},
        {"2025-06-18", CALL("logging/setLevel", "{\"level\": \"shout\"}"), "-32602", NULL},
        {"2025-06-18", CALL("tools/list", "{\"cursor\": \"1\"}"), "-32602", NULL},
        {"2025-06-18", CALL("resources/list", "{}"), "\"nextCursor\":\"100\"", NULL},
        {"2025-06-18", CALL("resources/list", "{\"cursor\": \"100\"}"), "{\"uri\":149}",
         "nextCursor"},
        {"2025-06-18", CALL("resources/list", "{\"cursor\": \"-1\"}"), "-32602", NULL},
        {"2025-06-18", CALL("resources/list", "{\"cursor\": \"1x\"}"), "-32602", NULL},
        {"2025-06-18", CALL("resources/templates/list", "{}"), "x://{+id}", NULL},
        {"2025-06-18", CALL("resources/read", "{\"uri\": \"x://1\"}"), "\"text\":\"one\"", NULL},
        {"2025-06-18", CALL("resources/read", "{\"uri\": \"x://2\"}"), "-32002", NULL},
        {NULL, CALL("resources/read", STATELESS(", \"uri\": \"x://2\"")), "-32602", NULL},
        {"2025-06-18", CALL("resources/read", "{}"), "-32602", NULL},
        {"2025-06-18", CALL("prompts/list", "{}"), "solve", NULL},
        {"2025-06-18", CALL("prompts/get", "{\"name\": \"solve\"}"), "-32602", NULL},
        {"2025-06-18", CALL("prompts/get", "{\"name\": \"sovle\"}"), "did you mean 'solve'", NULL},
        {"2025-06-18",
         CALL("prompts/get", "{\"name\": \"solve\", \"arguments\": {\"problem\": \"p\"}}"),
         "\"messages\":[{", NULL},
        {"2025-06-18", CALL("tools/call", "{}"), "-32602", NULL},
        {"2025-06-18", CALL("tools/call", "{\"name\": \"eco\"}"), "did you mean 'echo'", "result"},
        {"2025-06-18", CALL("tools/call", "{\"name\": \"echo\"}"),
         "arguments.text: is missing\"}],\"isError\":true", NULL},
        {"2025-06-18",
         CALL("tools/call", "{\"name\": \"echo\", \"arguments\": {\"text\": \"fail\"}}"),
         "it failed\"}],\"isError\":true", NULL},
    };
    check_rows(*state, rows, COUNT(rows));
}

TEST(schema)
{
    static const struct {
        const char *value, *wanted; /* NULL: it fits */
    } rows[] = {
        {"{\"text\": \"a\"}", NULL},
        {"{\"text\": \"a\", \"times\": 3, \"how\": \"low\"}", NULL},
        {"[]", "arguments: must be object"},
        {"{\"text\": 5}", "arguments.text: must be string"},
        {"{\"text\": \"\"}", "must not be empty"},
        {"{\"text\": \"0123456789\"}", "longer than 9"},
        {"{\"text\": \"a\", \"times\": 0}", "at least 1"},
        {"{\"text\": \"a\", \"times\": 4}", "at most 3"},
        {"{\"text\": \"a\", \"times\": 1.0}", "must be integer"},
        {"{\"text\": \"a\", \"how\": \"mid\"}", "one of loud, low"},
        {"{\"text\": \"a\", \"txet\": 1}", "text"},
    };
    struct fixture *fixture = *state;
    const json_t *tool = json_array_get(json_object_get(fixture->catalogue, "tools"), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *value = json_loads(rows[i].value, 0, NULL);
        struct err err = {0};
        int result = mcp_schema_check(json_object_get(tool, "inputSchema"), value, &err);
        assert_int_equal(result, rows[i].wanted ? ERR_INPUT : 0);
        if (rows[i].wanted && !strstr(err.text, rows[i].wanted))
            fail_msg("%s: %s", rows[i].value, err.text);
        json_decref(value);
    }
}

#define HANG(id, meta)                                                                             \
    "{\"jsonrpc\": \"2.0\", \"id\": " id ", \"method\": \"tools/call\", \"params\": {\"name\": "   \
    "\"hang\", \"_meta\": " meta "}}"

static void wait_for(_Atomic int *value, int wanted)
{
    int64_t start_ns = clock_now_ns();
    while (*value < wanted) {
        if (clock_ms_since(start_ns) > BOUND_MS)
            fail_msg("never happened");
        usleep(1000);
    }
}

/* More calls hang than there are threads; other requests are still answered. */
TEST(cancel)
{
    struct fixture *fixture = *state;
    struct mcp_session *session = new_session(fixture, "2025-06-18");
    struct mcp_session *other = new_session(fixture, "2025-06-18");
    struct heard heard[4];
    static const char *const texts[] = {HANG("1", "{}"), HANG("\"b\"", "{}"), HANG("3", "{}"),
                                        HANG("1", "{}")};
    fixture->hanging = fixture->gave_up = 0;
    for (int i = 0; i < 4; i++) {
        heard_init(&heard[i]);
        mcp_exchange_unref(send(fixture, i < 3 ? session : other, texts[i], &heard[i]));
    }
    wait_for(&fixture->hanging, 2);
    mem_free(ask(fixture, session, CALL("ping", "{}")));
    mem_free(ask(fixture, session,
                 CALL("tools/call", "{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}")));
    static const char *const cancels[] = {"9", "1", "\"b\"", "3"};
    for (int i = 0; i < 4; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": "
                 "{\"requestId\": %s}}",
                 cancels[i]);
        mem_free(ask(fixture, session, text));
    }
    for (int i = 0; i < 3; i++) {
        wait_done(&heard[i]);
        assert_null(heard[i].answer);
    }
    assert_false(is_done(&heard[3])); /* another session's 1 */
    end_session(other);
    wait_done(&heard[3]);
    end_session(session);
    for (int i = 0; i < 4; i++)
        heard_deinit(&heard[i]);
}

TEST(progress)
{
    struct fixture *fixture = *state;
    struct mcp_session *session = new_session(fixture, "2025-06-18");
    struct heard heard;
    double last = -1;
    heard_init(&heard);
    struct mcp_exchange *exchange = send(fixture, session, HANG("1", "{\"progressToken\": \"t\"}"),
                                         &heard);
    for (size_t count = 0; count < 2; usleep(1000)) {
        pthread_mutex_lock(&heard.lock);
        count = json_array_size(heard.notes);
        pthread_mutex_unlock(&heard.lock);
    }
    mcp_exchange_abandon(exchange); /* a lost connection is no cancellation here */
    assert_false(is_done(&heard));
    end_session(session);
    wait_done(&heard);
    for (size_t i = 0; i < json_array_size(heard.notes); i++) {
        const json_t *params = json_object_get(json_array_get(heard.notes, i), "params");
        double now = json_number_value(json_object_get(params, "progress"));
        assert_string_equal(json_string_value(json_object_get(params, "progressToken")), "t");
        assert_true(now > last);
        last = now;
    }
    mcp_exchange_unref(exchange);
    heard_deinit(&heard);
}

/* A stateless request is cancelled when its client is gone. */
TEST(abandon)
{
    struct fixture *fixture = *state;
    struct heard heard;
    fixture->hanging = 0;
    heard_init(&heard);
    struct mcp_exchange *exchange = send(fixture, NULL,
                                         CALL("tools/call", STATELESS(", \"name\": \"hang\"")),
                                         &heard);
    wait_for(&fixture->hanging, 1);
    mcp_exchange_abandon(exchange);
    wait_done(&heard);
    assert_null(heard.answer);
    mcp_exchange_unref(exchange);
    heard_deinit(&heard);
}

TEST(log)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *level;
        size_t wanted;
    } rows[] = {{NULL, 0}, {"debug", 1}, {"info", 1}, {"notice", 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct mcp_session *session = new_session(fixture, "2025-06-18");
        struct heard heard;
        char text[256];
        snprintf(text, sizeof text, CALL("logging/setLevel", "{\"level\": \"%s\"}"),
                 rows[i].level ? rows[i].level : "");
        if (rows[i].level)
            mem_free(ask(fixture, session, text));
        heard_init(&heard);
        mcp_exchange_unref(
            send(fixture, session,
                 CALL("tools/call", "{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}"),
                 &heard));
        wait_done(&heard);
        assert_int_equal(json_array_size(heard.notes), rows[i].wanted);
        heard_deinit(&heard);
        end_session(session);
    }
}

TEST(sessions)
{
    struct fixture *fixture = *state;
    struct mcp_session *session = new_session(fixture, "2025-06-18"), *found;
    char id[MCP_SESSION_BYTES];
    fixture->sessions_over = 0;
    snprintf(id, sizeof id, "%s", mcp_session_id(session));
    found = mcp_session_find(fixture->mcp, id);
    assert_ptr_equal(found, session);
    mcp_session_unref(found);
    assert_null(mcp_session_find(fixture->mcp, "no"));
    mem_free(ask(fixture, session,
                 CALL("tools/call", "{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}")));
    assert_int_equal(strlen(id), 32);
    assert_int_equal(fixture->sessions_over, 0);
    end_session(session);
    assert_null(mcp_session_find(fixture->mcp, id));
    assert_int_equal(fixture->sessions_over, 1);
}

struct pipes {
    struct fixture *fixture;
    int in[2], out[2];
    _Atomic int cancelled;
    int result;
};

static void *run_stdio(void *argument)
{
    struct pipes *pipes = argument;
    pipes->result = mcp_stdio_run(pipes->fixture->mcp, pipes->in[0], pipes->out[1],
                                  &pipes->cancelled, NULL);
    close(pipes->out[1]);
    return NULL;
}

static void say(const struct pipes *pipes, const char *text)
{
    assert_int_equal(write(pipes->in[1], text, strlen(text)), (ssize_t)strlen(text));
}

TEST_GROUP(NULL, NULL);
TEST_EACH(fixture_open, fixture_close);

/* All that comes, whole. */
TEST(stdio)
{
    struct pipes pipes = {.fixture = *state};
    struct buf out;
    pthread_t thread;
    char part[4096], *overlong = mem_alloc(LIMIT_MCP_MESSAGE_BYTES + 2);
    ssize_t count;
    assert_int_equal(pipe(pipes.in) | pipe(pipes.out), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_stdio, &pipes), 0);
    say(&pipes, "nonsense\n\n  \r\n{\"jsonrpc\": \"2.0\", \"id\": \"first\", \"meth");
    say(&pipes, "od\": \"ping\"}\r\n");
    memset(overlong, ' ', LIMIT_MCP_MESSAGE_BYTES + 1);
    for (size_t done = 0; done < LIMIT_MCP_MESSAGE_BYTES + 1;)
        done += (size_t)write(pipes.in[1], overlong, LIMIT_MCP_MESSAGE_BYTES + 1 - done);
    say(&pipes, "\n{\"jsonrpc\": \"2.0\", \"id\": \"second\", \"method\": \"ping\"}\n");
    say(&pipes, "{\"jsonrpc\": \"2.0\", \"id\": \"cut off");
    close(pipes.in[1]);
    buf_init(&out, 1 << 20);
    while ((count = read(pipes.out[0], part, sizeof part)) > 0)
        buf_append(&out, part, (size_t)count);
    pthread_join(thread, NULL);
    assert_int_equal(pipes.result, 0);
    const char *parse = strstr(out.data, "-32700"), *first = strstr(out.data, "\"first\"");
    const char *large = strstr(out.data, "8 MiB"), *second = strstr(out.data, "\"second\"");
    assert_true(parse && parse < first && first < large && large < second);
    assert_null(strstr(out.data, "cut off"));
    buf_deinit(&out);
    mem_free(overlong);
    close(pipes.in[0]);
    close(pipes.out[0]);
}

/* The client goes while a call runs, and nothing reads. */
TEST(stdio_end)
{
    struct pipes pipes = {.fixture = *state};
    pthread_t thread;
    pipes.fixture->hanging = pipes.fixture->gave_up = 0;
    assert_int_equal(pipe(pipes.in) | pipe(pipes.out), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_stdio, &pipes), 0);
    say(&pipes, CALL("tools/call", STATELESS(", \"name\": \"hang\"")) "\n");
    wait_for(&pipes.fixture->hanging, 1);
    pipes.cancelled = 1;
    pthread_join(thread, NULL);
    assert_int_equal(pipes.result, 0);
    assert_int_equal(pipes.fixture->gave_up, 1);
    close(pipes.in[0]);
    close(pipes.in[1]);
    close(pipes.out[0]);
}
