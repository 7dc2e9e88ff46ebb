/* template_parts: what template.c (tags, blocks) and template_value.c (values, filters) share. */
#ifndef WARPGYM_GYM_PROMPT_TEMPLATE_PARTS_H
#define WARPGYM_GYM_PROMPT_TEMPLATE_PARTS_H

#include "gym/prompt/template.h"

#include <stdbool.h>
#include <stddef.h>

#define TEMPLATE_DEPTH 8     /* of includes */
#define TEMPLATE_NESTING 32  /* of blocks */
#define TEMPLATE_TEXT 4096   /* bytes of a quoted text or a name */
#define TEMPLATE_SEGMENTS 16 /* of a name: a.b.c */
#define TEMPLATE_FILTERS 8   /* of one value */

/* What names mean within a {{#each}}; the outermost one's `outer` is NULL. */
struct template_scope {
    const struct template_scope *outer;
    const json_t *element;
    size_t index;
};

/* One template on its way. */
struct template_walk {
    const char *name, *text;
    size_t count, at;
    const json_t *values;               /* the root; NULL: it is only checked */
    const struct template_scope *scope; /* NULL: outside of loops */
    const struct template_source *source;
    struct buf *out;
    unsigned depth, nesting;
    size_t *work; /* bytes gone through, of all templates */
    struct err *err;
};

/* The inside of a tag, from `at` to `end`. */
struct template_cursor {
    struct template_walk *walk;
    const char *at, *end;
};

/* An error at a place of the walk's text: "NAME:LINE:COLUMN: …". Returns code. */
int template_fail(struct template_walk *walk, const char *at, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Goes over blanks; whether something is left. */
bool template_more(struct template_cursor *cursor);
/* Goes over the mark where it is next. */
bool template_takes(struct template_cursor *cursor, const char *mark);

/* A quoted text, a number or a name, and with `filtered` the filters behind it. Where the walk is
 * `active` *value is a new reference, or NULL for a name that is missing or null; else always NULL
 */
NODISCARD int template_value(struct template_cursor *cursor, bool active, bool filtered,
                             json_t **value);
/* Of the name in [start, end), with the nearest one there is. */
int template_missing(struct template_walk *walk, const char *start, const char *end);
/* What is printed of a value: false where it is a list or an object. Appends to `out`. */
bool template_print(const json_t *value, struct buf *out);

#endif
