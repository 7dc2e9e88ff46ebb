#include "policy/sse.h"

#include <string.h>

static const char byte_order_mark[] = "\xEF\xBB\xBF";

void sse_init(struct sse *sse, size_t max_bytes, sse_on_event on_event, void *context)
{
    *sse = (struct sse){.on_event = on_event, .context = context};
    buf_init(&sse->line, max_bytes);
    buf_init(&sse->data, max_bytes);
}

void sse_deinit(struct sse *sse)
{
    buf_deinit(&sse->line);
    buf_deinit(&sse->data);
}

void sse_reset(struct sse *sse)
{
    buf_reset(&sse->line);
    buf_reset(&sse->data);
    sse->begun = sse->after_cr = sse->has_data = false;
}

static int end_event(struct sse *sse, struct err *err)
{
    int result = 0;
    if (sse->has_data)
        result = sse->on_event(sse->context, sse->data.data, sse->data.len, err);
    sse->has_data = false;
    buf_reset(&sse->data);
    return result;
}

/* "data", "data:" and "data: " begin a line of data; other fields are ignored. */
static void read_field(struct sse *sse, const char *line, size_t count)
{
    static const char name[] = "data";
    const size_t length = sizeof name - 1;
    if (strncmp(line, name, length) != 0 || (count > length && line[length] != ':'))
        return;
    size_t at = count > length ? length + 1 : length;
    if (at < count && line[at] == ' ')
        at++;
    if (sse->has_data)
        buf_puts(&sse->data, "\n");
    buf_append(&sse->data, line + at, count - at);
    sse->has_data = true;
}

static int end_line(struct sse *sse, struct err *err)
{
    const char *line = sse->line.data;
    size_t count = sse->line.len;
    if (!sse->begun && strncmp(line, byte_order_mark, 3) == 0) {
        line += 3;
        count -= 3;
    }
    sse->begun = true;
    int result = 0;
    if (count == 0)
        result = end_event(sse, err);
    else
        read_field(sse, line, count);
    if (result == 0 && (sse->line.cut || sse->data.cut))
        result = err_set(err, ERR_LIMIT, "an event of the stream has more than %zu bytes",
                         sse->data.max_bytes);
    buf_reset(&sse->line);
    return result;
}

int sse_feed(struct sse *sse, const char *bytes, size_t count, struct err *err)
{
    const char *end = bytes + count;
    while (bytes < end) {
        if (sse->after_cr && *bytes == '\n')
            bytes++;
        sse->after_cr = false;
        const char *stop = bytes;
        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        buf_append(&sse->line, bytes, (size_t)(stop - bytes));
        bytes = stop;
        if (sse->line.cut)
            return err_set(err, ERR_LIMIT, "a line of the stream has more than %zu bytes",
                           sse->line.max_bytes);
        if (stop == end)
            break;
        sse->after_cr = *stop == '\r';
        bytes++;
        int result = end_line(sse, err);
        if (result < 0)
            return result;
    }
    return 0;
}
