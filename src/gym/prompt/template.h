/* template: texts with holes, filled from one JSON object.
 *
 *   {{name}} {{a.b.0}}            a value: text as it is, numbers as JSON has them, true/false;
 *                                 a missing or null one is an error. {{"{{"}} is text itself
 *   {{name|default:"text"}}       filters, see template_value.c's table: default, upper, lower,
 *                                 trim, cut:N (bytes, at a character, says what was left out),
 *                                 fixed:N (decimals), json (json:N indented), indent:N, fence (a
 *                                 Markdown fence that the text cannot close; fence:"c" labels it).
 *                                 An argument is a text, a number, or the name of a value
 *   {{#if a}}..{{else}}..{{/if}}  absent, null, false, 0, "", [] and {} are false; also {{#if !a}},
 *                                 {{#if a == "text"}}, {{#if a != "text"}}
 *   {{#each list}}..{{/each}}     inside: {{this}}, {{index}} (from 0), {{number}} (from 1), and
 *                                 the element's own keys; an absent or null list is empty
 *   {{>name}}                     another template, by the caller's finder; at most 8 deep. It ends
 *                                 as its line does: its own last line break counts only where
 *                                 {{>name}} stands alone
 *   {{! ...}}                     nothing
 *
 * A line with nothing but one block tag, include or comment leaves no line behind. There is no
 * escaping of values, because prompts are no HTML, and values are never read as templates.
 *
 * Errors name template, line and column: "kevin/first.txt:12:3: …". Bounded: depth, output, and the
 * text that is gone through, loops and all (LIMIT_TEMPLATE_WORK_BYTES).
 * Threads: pure functions.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

struct template_source {
    /* The text of a template that another one includes; NULL with an error. *name comes as the
     * include has it and may leave as errors are to call the template. Both borrowed. */
    const char *(*find)(void *context, const char **name, struct err *err);
    void *context;
};

/* Appends to `out`. ERR_LIMIT when `out` is full. `source` NULL: includes are errors. */
NODISCARD int template_render(const char *name, const char *text, const json_t *values,
                              const struct template_source *source, struct buf *out,
                              struct err *err);
/* Whether it is one, without values: what `warpgym` says of a user's own templates. */
NODISCARD int template_check(const char *name, const char *text, struct err *err);
