#include "server/http/internal.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG_BYTES ((size_t)1 << 20)
#define BLOCK_BYTES ((size_t)16 << 10)
/* heartbeats without a byte read by the client although some were pending: it is dropped */
#define HEARTBEATS_MAX 4

/* Freed with its request. The layer's reference ends when libmicrohttpd is done with the
 * response. */
struct http_stream {
    struct http_request *request;
    struct http_stream_options options;
    _Atomic int refs;

    pthread_mutex_t lock; /* all below */
    struct buf backlog;
    size_t sent;    /* of the backlog */
    int heartbeats; /* since the last byte was sent */
    bool parked;    /* libmicrohttpd has the connection suspended until there is data */
    bool closed;    /* by the handle's owner */
    bool lost;      /* the client disconnected, or was dropped */
    bool stopped;
};

struct http_stream *http_stream_open(struct http_request *request,
                                     const struct http_stream_options *options)
{
    if (request->postponed || request->stream)
        abort(); /* a defect of the handler */
    struct http_stream *stream = mem_alloc(sizeof *stream);
    size_t max_bytes = options->backlog_bytes ? options->backlog_bytes : BACKLOG_BYTES;
    stream->request = http_request_ref(request);
    stream->options = *options;
    atomic_init(&stream->refs, 2);
    pthread_mutex_init(&stream->lock, NULL);
    buf_init(&stream->backlog, max_bytes);
    buf_puts(&stream->backlog,
             ": here it begins\n\n"); /* headers without a body may be held back */
    http_set_header(&request->response, "Cache-Control", "no-store");
    http_set_header(&request->response, "X-Accel-Buffering", "no");
    request->stream = stream;
    metric_shift(request->server->streams, 1);
    return stream;
}

static void stream_unref(struct http_stream *stream)
{
    if (atomic_fetch_sub(&stream->refs, 1) != 1)
        return;
    struct http_request *request = stream->request;
    if (stream->options.release)
        stream->options.release(stream->options.context);
    http_request_unref(request); /* frees the stream, unless the watcher uses it */
}

void http_stream_free(struct http_stream *stream)
{
    if (!stream)
        return;
    buf_deinit(&stream->backlog);
    pthread_mutex_destroy(&stream->lock);
    mem_free(stream);
}

static ssize_t read_some(void *context, uint64_t position, char *out, size_t max_bytes)
{
    struct http_stream *stream = context;
    struct buf *backlog = &stream->backlog;
    pthread_mutex_lock(&stream->lock);
    size_t count = backlog->len - stream->sent;
    count = count < max_bytes ? count : max_bytes;
    ssize_t result = (ssize_t)count;
    if (stream->lost) {
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (count > 0) {
        memcpy(out, backlog->data + stream->sent, count);
        stream->sent += count;
        stream->heartbeats = 0;
        if (stream->sent == backlog->len) {
            buf_reset(backlog);
            stream->sent = 0;
        }
    } else if (stream->closed || stream->stopped) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        stream->parked = true;
        MHD_suspend_connection(stream->request->connection->mhd);
    }
    pthread_mutex_unlock(&stream->lock);
    return result;
}

struct MHD_Response *http_stream_response(struct http_request *request)
{
    struct http_connection *connection = request->connection;
    pthread_mutex_lock(&connection->lock);
    if (connection->gone)
        http_connection_watch(connection, true);
    pthread_mutex_unlock(&connection->lock);
    struct MHD_Response *made = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
                                                                  read_some, request->stream, NULL);
    if (made)
        MHD_add_response_header(made, "Content-Type", "text/event-stream");
    return made;
}

/* With the lock. A parked stream has its connection. */
static void stream_wake(struct http_stream *stream)
{
    if (!stream->parked)
        return;
    stream->parked = false;
    http_connection_resume(stream->request->connection);
}

/* With the lock. The socket's shutdown interrupts a blocked send. */
static void stream_drop(struct http_stream *stream)
{
    struct http_request *request = stream->request;
    stream->lost = true;
    pthread_mutex_lock(&request->lock);
    struct http_connection *connection = request->connection;
    if (connection) {
        pthread_mutex_lock(&connection->lock);
        if (!connection->closed)
            shutdown(connection->fd, SHUT_RDWR);
        pthread_mutex_unlock(&connection->lock);
    }
    pthread_mutex_unlock(&request->lock);
    stream_wake(stream);
}

/* One line per line of the value; "\n", "\r" and "\r\n" end a line. */
static void append_lines(struct buf *out, const char *field, const char *text)
{
    do {
        size_t length = strcspn(text, "\r\n");
        buf_printf(out, "%s: ", field);
        buf_append(out, text, length);
        buf_puts(out, "\n");
        text += length;
        if (*text == '\0')
            return;
        text += text[0] == '\r' && text[1] == '\n' ? 2 : 1;
    } while (true);
}

static void append_event(struct buf *out, const struct http_event *event)
{
    if (event->id && !event->id[strcspn(event->id, "\r\n")])
        append_lines(out, "id", event->id);
    if (event->name && !event->name[strcspn(event->name, "\r\n")])
        append_lines(out, "event", event->name);
    append_lines(out, "data", event->data);
    buf_puts(out, "\n");
}

/* Drops the part of the backlog that is sent. */
static void stream_compact(struct http_stream *stream)
{
    struct buf *backlog = &stream->backlog;
    if (stream->sent < backlog->len / 2)
        return;
    memmove(backlog->data, backlog->data + stream->sent, backlog->len - stream->sent + 1);
    backlog->len -= stream->sent;
    stream->sent = 0;
}

bool http_stream_send(struct http_stream *stream, const struct http_event *event)
{
    pthread_mutex_lock(&stream->lock);
    bool open = !stream->lost && !stream->stopped;
    if (open) {
        stream_compact(stream);
        append_event(&stream->backlog, event);
        if (stream->backlog.cut)
            stream_drop(stream);
        else
            stream_wake(stream);
        open = !stream->lost;
    }
    pthread_mutex_unlock(&stream->lock);
    return open;
}

bool http_stream_send_json(struct http_stream *stream, const char *name, const char *id,
                           const json_t *value)
{
    char *text = json_line_text(value, stream->backlog.max_bytes, NULL);
    const struct http_event event = {.id = id, .name = name, .data = text};
    bool sent = text && http_stream_send(stream, &event);
    mem_free(text);
    return sent;
}

void http_stream_close(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->closed = true;
    stream_wake(stream);
    pthread_mutex_unlock(&stream->lock);
    stream_unref(stream);
}

void http_stream_heartbeat(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->backlog.len == stream->sent && !stream->lost) {
        buf_puts(&stream->backlog, ":\n\n");
        stream_wake(stream);
    } else if (++stream->heartbeats >= HEARTBEATS_MAX && !stream->lost) {
        stream_drop(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

void http_stream_lost(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->lost = true;
    stream_wake(stream);
    pthread_mutex_unlock(&stream->lock);
}

void http_stream_stop(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->stopped = true;
    stream_wake(stream);
    pthread_mutex_unlock(&stream->lock);
}

void http_stream_over(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->lost = true;
    bool notify = !stream->closed;
    pthread_mutex_unlock(&stream->lock);
    metric_shift(stream->request->server->streams, -1);
    if (notify && stream->options.gone)
        stream->options.gone(stream->options.context);
    stream_unref(stream);
}
