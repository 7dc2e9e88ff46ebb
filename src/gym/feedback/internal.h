/* internal: makes texts of a verdict fit for a prompt.
 *
 * A verdict's texts may come from the candidate (its exceptions, kernel names, `#error`) or from a
 * server. Cleaned text is well-formed UTF-8 without control, invisible or reordering characters; a
 * blank breaks up words by which models and their templates separate turns, thinking and answers
 * (`< /KERNEL>`, `< |im_end| >`), and absolute paths are cut to their last part. Threads: pure.
 * Ownership: the caller frees strings (mem_free).
 */
#pragma once

#include "base/buf.h"
#include "judge/verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define FEEDBACK_LINE_BYTES 320     /* of one line of an excerpt */
#define FEEDBACK_NAME_BYTES 128     /* of an output, a kernel, sizes */
#define FEEDBACK_SENTENCE_BYTES 400 /* of a message, evidence, a note */
#define FEEDBACK_OUTPUT_BYTES 2000  /* of what the candidate printed */

enum feedback_paths { PATHS_KEEP, PATHS_CUT };

/* Appends `count` bytes as one line of at most `max_bytes`, line feeds as blanks; "..." marks a
 * cut. */
void feedback_line(struct buf *out, const char *text, size_t count, size_t max_bytes,
                   enum feedback_paths paths);
/* All lines, each as above, within `max_bytes`; then the number of omitted ones. */
char *feedback_lines(const char *text, size_t max_bytes);

/* The lines of a compiler's output or a traceback; after one that names a line of the source
 * (`name`, or candidate.*), that line, unless it is there already. `source`, `name` may be NULL. */
char *feedback_excerpt(const char *text, const char *source, const char *name, size_t max_bytes);

/* One clean line; null without a text. A new reference, as those below. */
json_t *feedback_line_json(const char *text, size_t max_bytes);

/* Whether the times of both processes and the speedup are reliable. */
bool feedback_is_timed(const struct verdict *verdict);
json_t *feedback_timing(const struct verdict *verdict);
/* The most expensive kernels. */
json_t *feedback_kernels(const struct verdict *verdict);
json_t *feedback_profile(const struct verdict *verdict);
/* What the candidate printed. */
json_t *feedback_output(const struct verdict *verdict);
