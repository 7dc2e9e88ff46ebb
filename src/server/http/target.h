/* http_target: the target of a request line, parsed and decoded.
 *
 *   /v1/evaluations/a%20b/events?after=7&name=x+y
 *
 * A path is its segments: split first, decoded after, so that an encoded '/' never separates. A
 * path that two parsers could read differently is refused: a '%' without two digits, an encoded
 * NUL, '/' or control character, bytes that are not UTF-8, a segment "." or "..". Query values
 * may contain any text but NUL. A repeated name is refused, as parsers differ in which one
 * counts. An absolute target (http://host/path) is taken for its path.
 *
 * Ownership: everything lives in the caller's arena. */
#pragma once

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"

#include <stddef.h>

struct http_pair {
    const char *name, *value;
};

struct http_target {
    const char *path; /* decoded, for people */
    const char *segments[LIMIT_HTTP_SEGMENTS];
    size_t segment_count; /* "/": one empty segment */
    struct http_pair query[LIMIT_HTTP_QUERY];
    size_t query_count;
};

/* ERR_INPUT: malformed; ERR_LIMIT: too long, or too many parts. */
NODISCARD int http_target_parse(const char *text, struct arena *arena, struct http_target *out,
                                struct err *err);
/* NULL: absent. */
const char *http_target_query(const struct http_target *target, const char *name);
