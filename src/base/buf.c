#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *buf, size_t max_bytes)
{
    *buf = (struct buf){.data = mem_alloc(1), .capacity = 1, .max_bytes = max_bytes};
}

void buf_deinit(struct buf *buf)
{
    mem_free(buf->data);
    *buf = (struct buf){0};
}

void buf_reset(struct buf *buf)
{
    buf->len = 0;
    buf->cut = false;
    buf->data[0] = '\0';
}

char *buf_take(struct buf *buf)
{
    char *data = buf->data;
    *buf = (struct buf){0};
    return data;
}

void buf_append(struct buf *buf, const void *bytes, size_t count)
{
    size_t capacity = buf->max_bytes - buf->len;
    if (count > capacity) {
        count = capacity;
        buf->cut = true;
    }
    size_t needed = buf->len + count + 1;
    if (needed > buf->capacity) {
        size_t doubled = buf->capacity * 2;
        buf->capacity = needed > doubled ? needed : doubled;
        buf->data = mem_resize(buf->data, buf->capacity);
    }
    if (count > 0) /* `bytes` may be NULL otherwise */
        memcpy(buf->data + buf->len, bytes, count);
    buf->len += count;
    buf->data[buf->len] = '\0';
}

void buf_puts(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length > 0)
        buf_append(buf, text, (size_t)length);
    mem_free(text);
}

void buf_double(struct buf *buf, double value)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_puts(buf, text);
}
