/* internal: what template.c (tags, blocks) and template_value.c (values, filters) share. Threads:
 * pure.
 */
#pragma once

#include "gym/prompt/template.h"

#include <stdbool.h>
#include <stddef.h>

#define TEMPLATE_DEPTH 8     /* of includes */
#define TEMPLATE_NESTING 32  /* of blocks */
#define TEMPLATE_TEXT 4096   /* bytes of a quoted text or a name */
#define TEMPLATE_SEGMENTS 16 /* of a name: a.b.c */
#define TEMPLATE_FILTERS 8   /* of one value */

/* The names inside a {{#each}}; the outermost scope's `outer` is NULL. */
struct template_scope {
    const struct template_scope *outer;
    const json_t *element;
    size_t index;
};

/* The rendering of one template. */
struct template_walk {
    const char *name, *text;
    size_t count, at;
    const json_t *values;               /* the root; NULL: check only */
    const struct template_scope *scope; /* NULL: outside of loops */
    const struct template_source *source;
    struct buf *out;
    unsigned depth, nesting;
    size_t *work; /* bytes processed, of all templates */
    struct err *err;
};

/* The inside of a tag, from `at` to `end`. */
struct template_cursor {
    struct template_walk *walk;
    const char *at, *end;
};

/* Sets an error at a position of the text: "NAME:LINE:COLUMN: …". Returns code. */
int template_fail(struct template_walk *walk, const char *at, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Skips blanks; whether something is left. */
bool template_more(struct template_cursor *cursor);
/* Skips the mark if it is next. */
bool template_takes(struct template_cursor *cursor, const char *mark);

/* Reads a quoted text, a number or a name, and with `filtered` the filters after it. If `active`,
 * *value is a new reference, or NULL for a missing or null name; else NULL. */
NODISCARD int template_value(struct template_cursor *cursor, bool active, bool filtered,
                             json_t **value);
/* The error for the name in [start, end), with the nearest valid one. */
int template_missing(struct template_walk *walk, const char *start, const char *end);
/* Appends the printed form of a value; false: it is a list or an object. */
bool template_print(const json_t *value, struct buf *out);
