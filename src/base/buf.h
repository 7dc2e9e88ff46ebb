/* buf: a growable byte string with a ceiling.
 *
 * `data` is always NUL-terminated (the NUL is not counted in `len`) and never NULL after buf_init.
 * Bytes beyond `max_bytes` are cut off and set `cut`: a flood of output costs a bounded amount of
 * memory and is not an error by itself. Ownership: the caller's storage; buf_deinit frees the
 * bytes, buf_take hands them to the caller (mem_free).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t len;
    size_t capacity;
    size_t max_bytes;
    bool cut;
};

void buf_init(struct buf *buf, size_t max_bytes);
void buf_deinit(struct buf *buf);
void buf_reset(struct buf *buf);
char *buf_take(struct buf *buf);
void buf_append(struct buf *buf, const void *bytes, size_t count);
void buf_puts(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The shortest decimal, of at least 6 digits, that reads back to the same double. */
void buf_double(struct buf *buf, double value);
