#include "server/http/target.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = (char)(byte | 0x20);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* `what` is "path" or "query"; '+' is a space only in a query. *out is a string of the arena. */
static int percent_decode(const char *what, const char *text, size_t count, struct arena *arena,
                          const char **out, struct err *err)
{
    bool query = *what == 'q';
    char *decoded = arena_alloc(arena, count + 1);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        char byte = text[i];
        if (byte == '%') {
            int high = i + 1 < count ? hex_digit(text[i + 1]) : -1;
            int low = high >= 0 && i + 2 < count ? hex_digit(text[i + 2]) : -1;
            if (low < 0)
                return err_set(err, ERR_INPUT,
                               "a %% in the %s is not followed by two hexadecimal digits", what);
            byte = (char)(high << 4 | low);
            i += 2;
            if (byte == '/' && !query)
                return err_set(err, ERR_INPUT, "the path contains an encoded /");
        } else if (byte == '+' && query) {
            byte = ' ';
        }
        if (byte == '\0' || (!query && ((unsigned char)byte < ' ' || byte == 0x7F)))
            return err_set(err, ERR_INPUT, "the %s contains an encoded %s", what,
                           byte ? "control character" : "NUL");
        decoded[used++] = byte;
    }
    *out = decoded;
    if (!utf8_is_valid(decoded, used))
        return err_set(err, ERR_INPUT, "the %s is not UTF-8", what);
    return 0;
}

static int parse_path(const char *text, size_t count, struct arena *arena, struct http_target *out,
                      struct err *err)
{
    size_t start = 1;
    for (;;) {
        size_t length = 0;
        while (start + length < count && text[start + length] != '/')
            length++;
        if (out->segment_count == LIMIT_HTTP_SEGMENTS)
            return err_set(err, ERR_LIMIT, "the path has more than %d segments",
                           LIMIT_HTTP_SEGMENTS);
        const char **segment = &out->segments[out->segment_count++];
        int result = percent_decode("path", text + start, length, arena, segment, err);
        if (result < 0)
            return result;
        if (strcmp(*segment, ".") == 0 || strcmp(*segment, "..") == 0)
            return err_set(err, ERR_INPUT, "the path contains a segment \"%s\"", *segment);
        start += length + 1;
        if (start > count)
            return 0;
    }
}

static void join_path(struct arena *arena, size_t count, struct http_target *out)
{
    char *path = arena_alloc(arena, count + 1), *at = path;
    for (size_t i = 0; i < out->segment_count; i++) {
        size_t length = strlen(out->segments[i]);
        *at++ = '/';
        memcpy(at, out->segments[i], length);
        at += length;
    }
    out->path = path;
}

static int add_pair(const char *text, size_t count, struct arena *arena, struct http_target *out,
                    struct err *err)
{
    struct http_pair pair = {"", ""};
    const char *equals = memchr(text, '=', count);
    size_t length = equals ? (size_t)(equals - text) : count;
    int result = percent_decode("query", text, length, arena, &pair.name, err);
    if (result < 0)
        return result;
    size_t rest = equals ? length + 1 : count;
    result = percent_decode("query", text + rest, count - rest, arena, &pair.value, err);
    if (result < 0)
        return result;
    if (http_target_query(out, pair.name))
        return err_set(err, ERR_INPUT, "the query has '%.64s' twice", pair.name);
    if (out->query_count == LIMIT_HTTP_QUERY)
        return err_set(err, ERR_LIMIT, "the query has more than %d names", LIMIT_HTTP_QUERY);
    out->query[out->query_count++] = pair;
    return 0;
}

static int parse_query(const char *text, struct arena *arena, struct http_target *out,
                       struct err *err)
{
    while (*text) {
        size_t count = strcspn(text, "&");
        int result = count > 0 ? add_pair(text, count, arena, out, err) : 0;
        if (result < 0)
            return result;
        text += count;
        text += *text == '&';
    }
    return 0;
}

int http_target_parse(const char *text, struct arena *arena, struct http_target *out,
                      struct err *err)
{
    *out = (struct http_target){.path = "/"};
    if (strnlen(text, LIMIT_HTTP_TARGET_BYTES + 1) > LIMIT_HTTP_TARGET_BYTES)
        return err_set(err, ERR_LIMIT, "the target is longer than %zu bytes",
                       LIMIT_HTTP_TARGET_BYTES);
    if (strncasecmp(text, "http://", 7) == 0) {
        text += 7 + strcspn(text + 7, "/?");
        text = *text ? text : "/";
    }
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7F || *at == '#')
            return err_set(err, ERR_INPUT, "the target contains a byte 0x%02x", (unsigned char)*at);
    size_t count = strcspn(text, "?");
    if (*text != '/')
        return err_set(err, ERR_INPUT, "the target does not begin with /");
    out->path = arena_strndup(arena, text, count); /* as received, for refusals */
    int result = parse_path(text, count, arena, out, err);
    if (result < 0)
        return result;
    join_path(arena, count, out);
    return text[count] ? parse_query(text + count + 1, arena, out, err) : 0;
}

const char *http_target_query(const struct http_target *target, const char *name)
{
    for (size_t i = 0; i < target->query_count; i++)
        if (strcmp(target->query[i].name, name) == 0)
            return target->query[i].value;
    return NULL;
}
