#include "base/utf8.h"
#include "lm/tokenizer/parts.h"

#include <string.h>

static int check_length(const struct buf *out, struct err *err)
{
    return out->cut ? err_set(err, ERR_LIMIT, "the text of these tokens has more than %zu bytes",
                              out->max_bytes)
                    : 0;
}

static int put_token(const struct tokenizer *tokenizer, int32_t id, bool skip_special,
                     struct buf *out, struct err *err)
{
    size_t count;
    const char *bytes = tokenizer_bytes(tokenizer, id, &count);
    if (skip_special && tokenizer_is_special(tokenizer, id))
        return 0;
    buf_append(out, bytes, count);
    return check_length(out, err);
}

int tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, size_t count,
                     bool skip_special, struct buf *out, struct err *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = put_token(tokenizer, ids[i], skip_special, out, err);
    return result;
}

/* Whether these bytes, less than a character, may be the beginning of one: they are, if some
 * further bytes make it whole. */
static bool may_grow(const char *bytes, size_t count)
{
    static const char *const ends[] = {"\x80\x80\x80", "\xBF\xBF\xBF"};
    char whole[8];
    for (size_t end = 0; end < 2; end++) {
        memcpy(whole, bytes, count);
        memcpy(whole + count, ends[end], 3);
        size_t length = utf8_sequence(whole, count + 3);
        if (length > count)
            return true;
    }
    return false;
}

/* Writes one byte more; what cannot become a character any more is U+FFFD, one for its longest
 * beginning of a character, as Unicode recommends (table 3-8). */
static void put_byte(struct tokenizer_stream *stream, char byte, struct buf *out)
{
    char *rest = stream->rest;
    rest[stream->rest_count++] = byte;
    if (utf8_sequence(rest, stream->rest_count) == stream->rest_count) {
        buf_append(out, rest, stream->rest_count);
        stream->rest_count = 0;
    } else if (!may_grow(rest, stream->rest_count)) {
        buf_puts(out, UTF8_REPLACEMENT);
        bool again = stream->rest_count > 1;
        stream->rest_count = 0;
        if (again)
            put_byte(stream, byte, out);
    }
}

int tokenizer_stream_put(const struct tokenizer *tokenizer, struct tokenizer_stream *stream,
                         int32_t id, bool skip_special, struct buf *out, struct err *err)
{
    size_t count;
    const char *bytes = tokenizer_bytes(tokenizer, id, &count);
    if (skip_special && tokenizer_is_special(tokenizer, id))
        return 0;
    for (size_t i = 0; i < count; i++)
        put_byte(stream, bytes[i], out);
    return check_length(out, err);
}

int tokenizer_stream_end(struct tokenizer_stream *stream, struct buf *out, struct err *err)
{
    if (stream->rest_count > 0)
        buf_puts(out, UTF8_REPLACEMENT);
    stream->rest_count = 0;
    return check_length(out, err);
}
