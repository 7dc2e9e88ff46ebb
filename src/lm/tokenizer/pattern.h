/* pattern: the regular expressions of a tokenizer.json, on PCRE2.
 *
 * Files are written for Oniguruma. What both read alike is taken over, what differs is written anew
 * (\s, \d, \v, properties with what Unicode 15 and 16 added to the tables of PCRE2 10.42), and the
 * rest is refused by name: word boundaries, back references, named groups, verbs. So a pattern
 * never means something else here.
 *
 * Patterns are untrusted: compilation, and the steps and memory of each search, are bounded.
 *
 * Threads: a pattern is read-only; a struct pattern_search belongs to one thread.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct pattern;
struct pattern_search;

/* With `literal` the text itself is looked for. */
NODISCARD int pattern_compile(struct pattern **out, const char *text, size_t count, bool literal,
                              struct err *err);
void pattern_free(struct pattern *pattern);
/* The same pattern as PCRE2 gets it; for pattern_compile and tests. */
NODISCARD int pattern_translate(const char *text, size_t count, struct buf *out, struct err *err);

struct pattern_search *pattern_search_new(void);
void pattern_search_free(struct pattern_search *search);

/* The first match at or behind `from` in valid UTF-8: 1 found, 0 none, or an error. */
NODISCARD int pattern_find(const struct pattern *pattern, struct pattern_search *search,
                           const char *text, size_t count, size_t from, size_t *start, size_t *end,
                           struct err *err);
