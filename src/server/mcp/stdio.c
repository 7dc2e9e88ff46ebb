/* One client's messages, a line each, on standard input and output. */
#include "server/mcp/internal.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/json_mend.h"
#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 << 10)
#define WRITE_BYTES 4096 /* PIPE_BUF: what a writable pipe accepts without blocking */
#define LOOK_MS 100
#define LAST_WORDS_MS 1000 /* longest write to a client that does not read, after the end */

struct stdio {
    struct mcp *mcp;
    struct mcp_session *session;
    int in, out;
    const _Atomic int *cancelled;
    struct buf line;
    bool overlong;        /* the rest of the line is skipped */
    pthread_mutex_t lock; /* of `out`, and all below */
    struct err broken;    /* code 0: intact */
    int64_t deadline_ns;  /* of writing; 0: none */
};

/* With the lock: waits until writing is possible. */
static bool may_write(struct stdio *stdio)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = stdio->out, .events = POLLOUT};
        int ready = poll(&poll_fd, 1, LOOK_MS);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR) {
            err_sys(&stdio->broken, errno, "standard output");
            return false;
        }
        if (*stdio->cancelled && stdio->deadline_ns == 0)
            stdio->deadline_ns = clock_now_ns() + (int64_t)LAST_WORDS_MS * 1000000;
        if (stdio->deadline_ns > 0 && clock_now_ns() > stdio->deadline_ns) {
            err_set(&stdio->broken, ERR_TIMEOUT, "standard output: the client does not read it");
            return false;
        }
    }
}

static void write_all(struct stdio *stdio, const struct buf *text)
{
    size_t done = 0;
    while (done < text->len && stdio->broken.code == 0 && may_write(stdio)) {
        size_t count = text->len - done < WRITE_BYTES ? text->len - done : WRITE_BYTES;
        ssize_t written = write(stdio->out, text->data + done, count);
        if (written >= 0)
            done += (size_t)written;
        else if (errno == EPIPE)
            err_set(&stdio->broken, ERR_CANCELLED, "standard output: the client has closed it");
        else if (errno != EINTR && errno != EAGAIN)
            err_sys(&stdio->broken, errno, "standard output");
    }
}

static void write_message(void *context, const json_t *message)
{
    struct stdio *stdio = context;
    struct buf text;
    buf_init(&text, 2 * LIMIT_PROMPT_BYTES);
    int result = json_line_write(message, &text, NULL);
    pthread_mutex_lock(&stdio->lock);
    if (result == 0)
        write_all(stdio, &text);
    pthread_mutex_unlock(&stdio->lock);
    buf_deinit(&text);
}

static void write_answer(void *context, json_t *answer)
{
    if (answer)
        write_message(context, answer);
    json_decref(answer);
}

static void stdio_refuse(struct stdio *stdio, int code, const char *text)
{
    write_answer(stdio, mcp_message_error(NULL, code, text, NULL));
}

static void take_line(struct stdio *stdio, const char *text, size_t count)
{
    const struct mcp_sink sink = {write_message, write_answer, stdio};
    struct err err;
    json_t *document = NULL;
    while (count > 0 && strchr(" \t\r", text[count - 1]))
        count--;
    if (count == 0)
        return;
    if (json_parse_mended("message", 1, text, count, &document, &err) < 0) {
        stdio_refuse(stdio, MCP_PARSE_ERROR, err.text);
        return;
    }
    struct mcp_exchange *exchange = mcp_exchange_new(stdio->mcp, stdio->session, &sink);
    mcp_exchange_receive(exchange, document);
    mcp_exchange_unref(exchange);
    json_decref(document);
}

/* A part of a line; `ends`: the last part. */
static void take_part(struct stdio *stdio, const char *part, size_t count, bool ends)
{
    if (!stdio->overlong)
        buf_append(&stdio->line, part, count);
    if (stdio->line.cut && !stdio->overlong) {
        stdio->overlong = true;
        stdio_refuse(stdio, MCP_INVALID_REQUEST, "a message has at most 8 MiB");
    }
    if (!ends)
        return;
    if (!stdio->overlong)
        take_line(stdio, stdio->line.data, stdio->line.len);
    stdio->overlong = false;
    buf_reset(&stdio->line);
}

static void take_bytes(struct stdio *stdio, const char *bytes, size_t count)
{
    while (count > 0) {
        const char *newline = memchr(bytes, '\n', count);
        size_t part = newline ? (size_t)(newline - bytes) : count;
        take_part(stdio, bytes, part, newline != NULL);
        part += newline != NULL;
        bytes += part;
        count -= part;
    }
}

static bool is_broken(struct stdio *stdio)
{
    pthread_mutex_lock(&stdio->lock);
    bool broken = stdio->broken.code != 0;
    pthread_mutex_unlock(&stdio->lock);
    return broken;
}

static void read_all(struct stdio *stdio)
{
    char *bytes = mem_alloc(READ_BYTES);
    while (!*stdio->cancelled && !is_broken(stdio)) {
        struct pollfd poll_fd = {.fd = stdio->in, .events = POLLIN};
        if (poll(&poll_fd, 1, LOOK_MS) <= 0)
            continue;
        ssize_t count = read(stdio->in, bytes, READ_BYTES);
        if (count > 0)
            take_bytes(stdio, bytes, (size_t)count);
        else if (count == 0 || (errno != EINTR && errno != EAGAIN))
            break;
    }
    mem_free(bytes);
}

int mcp_stdio_run(struct mcp *mcp, int in, int out, const _Atomic int *cancelled, struct err *err)
{
    struct stdio stdio = {.mcp = mcp, .in = in, .out = out, .cancelled = cancelled};
    int result = mcp_session_new(mcp, true, &stdio.session, err);
    if (result < 0)
        return result;
    pthread_mutex_init(&stdio.lock, NULL);
    buf_init(&stdio.line, LIMIT_MCP_MESSAGE_BYTES);
    read_all(&stdio);
    pthread_mutex_lock(&stdio.lock);
    stdio.deadline_ns = clock_now_ns() + (int64_t)LAST_WORDS_MS * 1000000;
    pthread_mutex_unlock(&stdio.lock);
    mcp_stop(mcp);
    mcp_session_unref(stdio.session);
    buf_deinit(&stdio.line);
    pthread_mutex_destroy(&stdio.lock);
    if (stdio.broken.code == ERR_IO) {
        *err = stdio.broken;
        return err->code;
    }
    return 0;
}
