/* template: texts with holes, filled from one JSON object.
 *
 *   {{name}} {{a.b.0}}            a value: text as it is, numbers as JSON has them, true/false;
 *                                 a missing or null one is an error
 *   {{name|default:"text"}}       filters, see template.c's table: default, upper, lower, trim,
 *                                 cut:N (bytes, at a character, says what was left out), fixed:N
 *                                 (decimals), json, indent:N, fence (a Markdown fence that the text
 *                                 cannot close)
 *   {{#if a}}..{{else}}..{{/if}}  absent, null, false, 0, "", [] and {} are false; also {{#if !a}},
 *                                 {{#if a == "text"}}, {{#if a != "text"}}
 *   {{#each list}}..{{/each}}     inside: {{this}}, {{index}} (from 0), {{number}} (from 1), and
 *                                 the element's own keys
 *   {{>name}}                     another template, by the caller's finder; at most 8 deep
 *   {{! ...}}                     nothing
 *
 * A line with nothing but one block tag or comment leaves no line behind. There is no escaping of
 * values, because prompts are no HTML, and values are never read as templates.
 *
 * Errors name template, line and column: "kevin/first.txt:12:3: …". Bounded: depth, output.
 * Threads: pure functions.
 */
#ifndef WARPGYM_GYM_TEMPLATE_H
#define WARPGYM_GYM_TEMPLATE_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

struct template_source {
    /* The text of a template that another one includes; NULL with an error. Borrowed. */
    const char *(*find)(void *context, const char *name, struct err *err);
    void *context;
};

/* Appends to `out`. ERR_LIMIT when `out` is full. `source` NULL: includes are errors. */
NODISCARD int template_render(const char *name, const char *text, const json_t *values,
                              const struct template_source *source, struct buf *out,
                              struct err *err);
/* Whether it is one, without values: what `warpgym` says of a user's own templates. */
NODISCARD int template_check(const char *name, const char *text, struct err *err);

#endif
