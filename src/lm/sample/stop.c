#include "lm/sample/stop.h"

#include "base/limits.h"

#include <string.h>

size_t stop_find(const char *text, size_t count, const char *const *stops, size_t stop_count)
{
    size_t first = count;
    for (size_t i = 0; i < stop_count; i++) {
        const char *at = memmem(text, count, stops[i], strlen(stops[i]));
        if (at && (size_t)(at - text) < first)
            first = (size_t)(at - text);
    }
    return first;
}

size_t stop_held(const char *text, size_t count, const char *const *stops, size_t stop_count)
{
    size_t most = 0;
    for (size_t i = 0; i < stop_count; i++) {
        size_t length = strlen(stops[i]) - 1;
        length = length < count ? length : count;
        while (length > most && memcmp(text + count - length, stops[i], length) != 0)
            length--;
        most = length > most ? length : most;
    }
    return most;
}

void stop_scan_init(struct stop_scan *scan, const struct tokenizer *tokenizer,
                    const char *const *stops, size_t count)
{
    *scan = (struct stop_scan){.tokenizer = tokenizer, .stops = stops, .count = count};
    buf_init(&scan->held, LIMIT_LM_STOP_TEXT_BYTES);
}

void stop_scan_deinit(struct stop_scan *scan)
{
    buf_deinit(&scan->held);
}

static void keep_last(struct stop_scan *scan, size_t count)
{
    struct buf *held = &scan->held;
    scan->safe_bytes += held->len - count;
    memmove(held->data, held->data + held->len - count, count);
    held->len = count;
    held->data[count] = '\0';
}

int stop_scan_put(struct stop_scan *scan, int32_t id, struct err *err)
{
    struct buf *held = &scan->held;
    int result = tokenizer_stream_put(scan->tokenizer, &scan->stream, id, true, held, err);
    if (result < 0)
        return result;
    size_t at = stop_find(held->data, held->len, scan->stops, scan->count);
    scan->found = at < held->len;
    keep_last(scan, scan->found ? held->len - at
                                : stop_held(held->data, held->len, scan->stops, scan->count));
    return 0;
}

int stop_scan_end(struct stop_scan *scan, struct err *err)
{
    if (scan->found)
        return 0;
    int result = tokenizer_stream_end(&scan->stream, &scan->held, err);
    keep_last(scan, 0);
    return result;
}
