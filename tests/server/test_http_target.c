#include "../support/test.h"
#include "server/http/target.h"

#include <stdio.h>

/* Segments and pairs as one line: "a|b ? x=1 y=2". */
static void show(const struct http_target *target, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < target->segment_count; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "|" : "",
                                 target->segments[i]);
    for (size_t i = 0; i < target->query_count; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s=%s", i ? " " : " ? ",
                                 target->query[i].name, target->query[i].value);
}

TEST(accepted)
{
    static const struct {
        const char *text, *path, *shown;
    } rows[] = {
        {"/", "/", ""},
        {"/v1/evaluations", "/v1/evaluations", "v1|evaluations"},
        {"/a//b/", "/a//b/", "a||b|"},
        {"/a%20b", "/a b", "a b"},
        {"/%7eu/%C3%BC", "/~u/\xc3\xbc", "~u|\xc3\xbc"},
        {"/\xc3\xbc", "/\xc3\xbc", "\xc3\xbc"},
        {"/a+b", "/a+b", "a+b"},
        {"/a%2Bb%25", "/a+b%", "a+b%"},
        {"/...", "/...", "..."},
        {"/a?x=1&y=2", "/a", "a ? x=1 y=2"},
        {"/a?x=a+b%2B&y", "/a", "a ? x=a b+ y="},
        {"/a?&&x==&", "/a", "a ? x=="},
        {"/a?", "/a", "a"},
        {"/a?x=/../?", "/a", "a ? x=/../?"},
        {"/a?x=%0a", "/a", "a ? x=\n"},
        {"/a?x=+", "/a", "a ? x= "},
        {"/a?%78=1", "/a", "a ? x=1"},
        {"http://host:80/a?x=1", "/a", "a ? x=1"},
        {"http://host", "/", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena arena = {0};
        struct http_target target;
        struct err err = {0};
        char shown[256] = "";
        if (http_target_parse(rows[i].text, &arena, &target, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        show(&target, shown, sizeof shown);
        assert_string_equal(target.path, rows[i].path);
        assert_string_equal(shown, rows[i].shown);
        arena_deinit(&arena);
    }
}

TEST(refused)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"", "does not begin with /"},
        {"*", "does not begin with /"},
        {"a/b", "does not begin with /"},
        {"http://host?x", "does not begin with /"},
        {"/%", "two hexadecimal digits"},
        {"/%2", "two hexadecimal digits"},
        {"/%zz", "two hexadecimal digits"},
        {"/% 1", "0x20"},
        {"/a%00b", "encoded NUL"},
        {"/a%2fb", "encoded /"},
        {"/a%0ab", "encoded control character"},
        {"/a%7f", "encoded control character"},
        {"/%ff", "not UTF-8"},
        {"/%c0%af", "not UTF-8"},
        {"/%ed%a0%80", "not UTF-8"},
        {"/a/../b", "segment \"..\""},
        {"/a/%2e%2E", "segment \"..\""},
        {"/./a", "segment \".\""},
        {"/a#b", "0x23"},
        {"/a\tb", "0x09"},
        {"/a\x7f", "0x7f"},
        {"/a?x=%", "two hexadecimal digits"},
        {"/a?x=%00", "encoded NUL"},
        {"/a?x=%80", "not UTF-8"},
        {"/a?x=1&x=2", "'x' twice"},
        {"/a?x&%78", "'x' twice"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena arena = {0};
        struct http_target target;
        struct err err = {0};
        assert_int_equal(http_target_parse(rows[i].text, &arena, &target, &err), ERR_INPUT);
        if (!strstr(err.text, rows[i].error))
            fail_msg("%s: %s", rows[i].text, err.text);
        arena_deinit(&arena);
    }
}

/* One of each bound, and one more. */
TEST(bounds)
{
    enum { LENGTH, SEGMENTS, NAMES };
    static const size_t bounds[] = {
        [LENGTH] = LIMIT_HTTP_TARGET_BYTES,
        [SEGMENTS] = LIMIT_HTTP_SEGMENTS,
        [NAMES] = LIMIT_HTTP_QUERY,
    };
    for (size_t kind = LENGTH; kind <= NAMES; kind++)
        for (size_t count = bounds[kind]; count <= bounds[kind] + 1; count++) {
            struct arena arena = {0};
            struct http_target target;
            char text[LIMIT_HTTP_TARGET_BYTES + 16] = "/?";
            size_t used = 2;
            if (kind == LENGTH) {
                memset(text, 'a', count);
                text[0] = '/';
            } else if (kind == SEGMENTS) {
                for (used = 0; used < 2 * count; used += 2)
                    memcpy(text + used, "/a", 2);
            }
            for (size_t i = 0; kind == NAMES && i < count; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "n%zu&", i);
            int result = http_target_parse(text, &arena, &target, NULL);
            assert_int_equal(result, count > bounds[kind] ? ERR_LIMIT : 0);
            arena_deinit(&arena);
        }
}
