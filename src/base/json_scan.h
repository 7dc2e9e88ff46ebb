/* json_scan: the members of a JSON object as parts of its text, without a tree.
 *
 * For a few members of very many lines: a value that is not wanted costs one pass over its bytes.
 * The scan finds where a value ends by its quotes and brackets alone, so it accepts more than JSON
 * has ({"a": [}]}). For text that json_parse accepts and that has no NUL (jansson passes over one
 * behind a number), it yields the same members in the same order. It ends for every input, and
 * reads no byte beyond it.
 *
 * Ownership: slices are parts of the caller's text. Threads: one at a time. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct json_slice {
    const char *text; /* NULL: none */
    size_t count;
};

struct json_scan {
    const char *at, *end;
    bool first;
};

/* ERR_INPUT: it is no object. */
NODISCARD int json_scan_begin(struct json_scan *scan, struct json_slice object);
/* 1: the next member; 0: the end, and nothing but white space is behind it; ERR_INPUT: malformed.
 * `key` is what is between the quotes, escapes included. */
NODISCARD int json_scan_next(struct json_scan *scan, struct json_slice *key,
                             struct json_slice *value);

/* The first member of that name; no text: there is none, or it is no object. */
struct json_slice json_scan_member(struct json_slice object, const char *name);

bool json_slice_is(struct json_slice slice, const char *text);
/* Of a number; NAN where it is none. */
double json_slice_number(struct json_slice value);
/* Of a text, without escapes and with a NUL; the caller's (mem_free). NULL: it is none. */
char *json_slice_text(struct json_slice value);
